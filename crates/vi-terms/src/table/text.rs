//! Words and numbers in lines of 80 columns.

use serde_json::Value;
use vi_plot::visible;

/// Appends a line, which stays one whatever the names in it hold.
pub fn add(text: &mut String, line: &str) {
    text.push_str(&visible(line.strip_suffix('\n').unwrap_or(line)));
    text.push('\n');
}

/// Four digits, without an exponent where that is readable.
#[must_use]
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if (1e-3..1e5).contains(&size) {
        let whole = size.log10().floor().clamp(0.0, 3.0);
        let digits = if size < 1.0 { 4 } else { usize::try_from(rounded(3.0 - whole)).unwrap_or(0) };
        format!("{value:.digits$}")
    } else {
        format!("{value:.2e}")
    }
}

/// A share in percent, with one digit after the point and no sign of a zero.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    format!("{:.1} %", if percent.abs() < 0.05 { 0.0 } else { percent })
}

/// A count near `value`.
#[must_use]
pub fn rounded(value: f64) -> u64 {
    // A count of rows, or of digits: far below 2⁵³.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 2^53")]
    let whole = value.clamp(0.0, 9e15) as u64;
    whole
}

/// Digits in groups of three.
#[must_use]
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A text, of whole numbers the same with and without the `.0` that a column with gaps gets.
pub(crate) fn whole(text: &str) -> &str {
    let whole = text.strip_suffix(".0").filter(|whole| whole.bytes().all(|byte| byte.is_ascii_digit()));
    whole.unwrap_or(text)
}

/// So many of something.
#[must_use]
pub fn many(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

pub(crate) fn bar(share: f64) -> String {
    "#".repeat(usize::try_from(rounded((20.0 * share).round())).unwrap_or(0))
}

/// A name of at most `most` characters.
pub(crate) fn shortened(name: &str, most: usize) -> String {
    let name = visible(name);
    if name.chars().count() <= most {
        return name.into_owned();
    }
    name.chars().take(most - 1).chain(['…']).collect()
}

/// The end of a path, of at most `most` characters: that is where paths differ.
#[must_use]
pub fn ending(path: &str, most: usize) -> String {
    let path = visible(path);
    let beyond = path.chars().count().saturating_sub(most);
    if beyond == 0 {
        return path.into_owned();
    }
    std::iter::once('…').chain(path.chars().skip(beyond + 1)).collect()
}

/// The first words of many, and how many more there are.
pub(crate) fn first_of(words: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    const MOST: usize = 40;
    let more = words.len().saturating_sub(MOST);
    let last = (more > 0).then(|| format!("and {} more", grouped(more as u64)));
    words.take(MOST).chain(last).collect()
}

/// Words after a heading, with commas between them, in lines of 80 columns.
#[must_use]
pub fn wrapped(heading: &str, words: &[String]) -> String {
    joined(heading, words, ", ")
}

/// A sentence after a heading, in lines of 80 columns.
pub(crate) fn flowing(heading: &str, sentence: &str) -> String {
    joined(heading, &sentence.split(' ').map(str::to_owned).collect::<Vec<_>>(), " ")
}

fn joined(heading: &str, words: &[String], between: &str) -> String {
    let mut text = String::new();
    let mut line = heading.to_owned();
    for (k, word) in words.iter().enumerate() {
        let word = visible(word) + if k + 1 < words.len() { between } else { "" };
        if line.chars().count() > heading.len() && line.chars().count() + word.trim_end().chars().count() > 80 {
            text += line.trim_end();
            text.push('\n');
            line = " ".repeat(heading.len());
        }
        line += &word;
    }
    text + line.trim_end() + "\n"
}

/// A line of CSV.
#[must_use]
pub fn csv_line(fields: &[Value]) -> String {
    let text = |value: &Value| match value {
        Value::String(text) if text.contains([',', '"', '\n', '\r']) => format!("\"{}\"", text.replace('"', "\"\"")),
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    fields.iter().map(text).collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(0.123_456), "0.1235");
        assert_eq!(number(-12.3456), "-12.35");
        assert_eq!(number(1234.5), "1234");
        assert_eq!(number(1.5e7), "1.50e7");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(12), "12");
        assert_eq!((many(1, "row"), many(2000, "row")), ("1 row".to_owned(), "2,000 rows".to_owned()));
        assert_eq!(shortened("abcdef", 4), "abc…");
        assert_eq!((ending("abcdef", 4), ending("abcd", 4)), ("…def".to_owned(), "abcd".to_owned()));
    }

    #[test]
    fn a_share_near_zero_has_no_sign() {
        let shares = [-0.0004, -0.0, -0.0006, 0.0004, 0.943];
        assert_eq!(shares.map(percent), ["0.0 %", "0.0 %", "-0.1 %", "0.0 %", "94.3 %"]);
    }

    #[test]
    fn fields_of_csv_are_quoted_where_they_have_to_be() {
        let fields = [Value::from("a"), Value::from("b,\"c\""), Value::Null, Value::from(1.5)];
        assert_eq!(csv_line(&fields), "a,\"b,\"\"c\"\"\",,1.5\n");
    }

    #[test]
    fn lines_end_before_column_80() {
        let words: Vec<String> = (0..40).map(|k| format!("column{k}")).collect();
        let text = wrapped("columns  ", &words);
        assert!(text.lines().all(|line| line.chars().count() <= 80) && text.lines().count() > 3);
        let text = flowing("  →  ", &"a sentence of many words ".repeat(9));
        assert!(
            text.lines().all(|line| line.chars().count() <= 80) && text.lines().count() == 4 && !text.contains(',')
        );
    }
}
