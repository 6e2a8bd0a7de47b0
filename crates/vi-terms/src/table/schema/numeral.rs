//! Numbers as people write them.

use serde::{Deserialize, Serialize};

/// Marks of money, before or after a number.
const MONEY: [char; 5] = ['$', '€', '£', '¥', '₹'];
/// Marks between groups of three digits; a thin or fixed space is one.
const GROUPS: [char; 5] = [',', '\'', ' ', '\u{a0}', '\u{202f}'];

/// The mark before the fraction of the numbers of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Point {
    /// `1234.5`, or `1,234.5`.
    #[default]
    Dot,
    /// `1234,5`, or `1.234,5`.
    Comma,
}

impl Point {
    /// The mark of a column with these texts: the comma if it alone makes a number of some of them, the dot alone of none, and none is a list (`1,2,3`).
    pub(crate) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut found = Self::Dot;
        for text in texts {
            match (numeral(text), Self::Comma.numeral(text)) {
                (Some(_), None) => return Self::Dot,
                (None, Some(_)) => found = Self::Comma,
                (None, None) if text.matches(',').nth(1).is_some() => return Self::Dot,
                _ => {}
            }
        }
        found
    }

    /// A number with this mark, otherwise as [`numeral`] reads it. A column with decimal commas has no `1.234`: it may be 1234 or 1.234.
    pub(crate) fn numeral(self, text: &str) -> Option<f64> {
        match self {
            Self::Comma if text.contains(',') => numeral(&exchanged(text)),
            Self::Comma if text.contains('.') => None,
            _ => numeral(text),
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub(crate) fn is_dot(&self) -> bool {
        *self == Self::Dot
    }
}

/// A text with dots for commas, and commas for dots.
pub(crate) fn exchanged(text: &str) -> String {
    let other = |mark| match mark {
        ',' => '.',
        '.' => ',',
        mark => mark,
    };
    text.chars().map(other).collect()
}

/// A number: as programs write it, or with a sign of money, `%` and groups of three digits: `-1,234.5`, `$3`, `12 %` (which is 12).
pub(crate) fn numeral(text: &str) -> Option<f64> {
    text.parse().ok().or_else(|| marked(text.trim()))
}

fn marked(text: &str) -> Option<f64> {
    let (size, sign) = unsigned(text);
    let bare = size.strip_prefix(MONEY).or_else(|| size.strip_suffix(MONEY)).or_else(|| size.strip_suffix('%'));
    let bare = bare.unwrap_or(size).trim();
    // The sign stands before or after that of money, once.
    let (bare, sign) = if sign > 0.0 { unsigned(bare) } else { (bare, sign) };
    let starts = bare.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let digits = bare.parse().ok().filter(|_| starts).or_else(|| ungrouped(bare));
    digits.map(|size| sign * size)
}

/// A text without its minus, and the sign.
fn unsigned(text: &str) -> (&str, f64) {
    text.strip_prefix(['-', '−']).map_or((text, 1.0), |size| (size, -1.0))
}

/// A number whose whole part has groups of three digits, all with the same mark between them.
fn ungrouped(text: &str) -> Option<f64> {
    let mark = text.chars().find(|c| GROUPS.contains(c))?;
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let mut groups = whole.split(mark);
    let first = groups.next()?;
    let are_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let starts = (1..=3).contains(&first.len()) && are_digits(first) && !first.starts_with('0');
    let goes_on = groups.all(|group| group.len() == 3 && are_digits(group));
    (starts && goes_on && are_digits(part)).then(|| text.replace(mark, "").parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_a_decimal_comma_if_some_number_has_it_and_none_a_dot_alone() {
        let of = |texts: &[&str]| Point::of(texts.iter().copied());
        for commas in [&["0,19", "10,383", "7"][..], &["1.234,5", "12"], &["3,5 €", "x"], &["-1,25 %"]] {
            assert_eq!(of(commas), Point::Comma, "{commas:?}");
        }
        for dots in
            [&["1,234", "12"][..], &["0,19", "1.5"], &["0,19", "1.234"], &["1,234.5"], &["1,2", "1,2,3"], &["x"], &[]]
        {
            assert_eq!(of(dots), Point::Dot, "{dots:?}");
        }
        let numbers = [("0,19", 0.19), ("10,383", 10.383), ("-1.234.567,5", -1_234_567.5), ("7", 7.0), ("2e3", 2000.0)];
        for (text, number) in numbers {
            assert_eq!(Point::Comma.numeral(text), Some(number), "{text}");
        }
        for text in ["1.234", "2.5", "1,234.5", "1,2,3", ""] {
            assert_eq!(Point::Comma.numeral(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_may_have_marks() {
        let numbers = [
            ("-1e3", -1000.0),
            ("1,234", 1234.0),
            ("-12,345,678.25", -12_345_678.25),
            ("1'000", 1000.0),
            ("1 000\u{a0}€", 1000.0),
            ("$3", 3.0),
            ("-$1,200.50", -1200.5),
            ("$-3.5", -3.5),
            ("−7", -7.0),
            ("12 %", 12.0),
            ("1e5%", 1e5),
            (".5%", 0.5),
        ];
        for (text, number) in numbers {
            assert_eq!(numeral(text), Some(number), "{text}");
        }
        let others = [
            "1,5",
            "0,123",
            "1,23,456",
            "1,234 567",
            "12,",
            ",123",
            "1,234,",
            "--1",
            "$-inf",
            "%",
            "$",
            "1.234,5",
            "273b",
            "1,234.5.6",
        ];
        for text in others {
            assert_eq!(numeral(text), None, "{text}");
        }
    }
}
