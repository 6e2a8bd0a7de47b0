//! Tables and lists as HTML, in which names and texts of files are no markup.

use std::fmt::Write as _;

use serde_json::Value;
use vi_plot::{markup, visible};
use vi_terms::TermsError;
use vi_terms::table::{Part, Target, TargetKind, drawing, explained, text};

/// A table of rows.
pub(crate) fn table(caption: &str, columns: &[String], rows: &[Vec<Value>]) -> String {
    table_of_rows(caption, columns, rows, false)
}

/// The same, where `buttons` with one on each row by which the page asks for its explanation; the first value of a row is then its number.
pub(crate) fn table_of_rows(caption: &str, columns: &[String], rows: &[Vec<Value>], buttons: bool) -> String {
    let mut html =
        format!("<div class=\"scroll\" tabindex=\"0\"><table><caption>{}</caption><thead><tr>", written(caption));
    for (k, name) in columns.iter().enumerate() {
        let class =
            if rows.iter().any(|row| row.get(k).is_some_and(Value::is_number)) { " class=\"number\"" } else { "" };
        // Writing to a text cannot fail.
        let _written = write!(html, "<th scope=\"col\"{class}>{}</th>", written(name));
    }
    html += if buttons { "<th scope=\"col\">why</th></tr></thead><tbody>" } else { "</tr></thead><tbody>" };
    for (k, row) in rows.iter().enumerate() {
        html += "<tr>";
        for value in row {
            let _written = match value {
                Value::Number(number) if number.is_f64() => {
                    write!(html, "<td class=\"number\">{}</td>", text::number(number.as_f64().unwrap_or(f64::NAN)))
                }
                Value::Number(number) => write!(html, "<td class=\"number\">{number}</td>"),
                Value::String(words) => write!(html, "<td>{}</td>", written(words)),
                _ => write!(html, "<td></td>"),
            };
        }
        if buttons {
            let number = row.first().and_then(Value::as_u64).unwrap_or_default();
            let _written =
                write!(html, "<td><button type=\"button\" data-row=\"{k}\">explain row {number}</button></td>");
        }
        html += "</tr>";
    }
    html + "</tbody></table></div>\n"
}

/// A line above a report, none for no words.
pub(crate) fn short(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("<p class=\"short\">{}</p>\n", written(words)) }
}

/// Notes for people, none for no note.
pub(crate) fn notes(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let items: Vec<String> = lines.iter().map(|line| format!("<li>{}</li>", written(line))).collect();
    format!("<ul class=\"notes\">{}</ul>\n", items.concat())
}

/// The parts of a prediction: a picture and a table.
pub(crate) fn explanation(parts: &[Part], target: &Target, level: f64) -> Result<String, TermsError> {
    let of = match &target.kind {
        TargetKind::Number => format!("{}, or its logarithm or log odds where the model is of these", target.column),
        TargetKind::Count => format!("the logarithm of the mean of {}", target.column),
        TargetKind::Classes(classes) => format!("the log odds of {}", classes.last().map_or("", String::as_str)),
        TargetKind::Survival(_) => format!("the log hazard of {}", target.column),
        TargetKind::Ordered(classes) => {
            format!("the log odds of a class above {}", classes.first().map_or("", String::as_str))
        }
    };
    let columns = ["part", "mean", "sd", "lower", "upper"].map(str::to_owned);
    let row = |part: &Part| {
        let numbers = [part.mean, part.sd, part.lower, part.upper].map(Value::from);
        [Value::from(part.name.as_str())].into_iter().chain(numbers).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<Value>> = parts.iter().map(row).collect();
    let middle = parts.get(1..parts.len().saturating_sub(1)).unwrap_or_default();
    let picture = if middle.is_empty() { String::new() } else { drawing(&explained(middle, level))? };
    Ok(format!(
        "<p>What each column adds, in units of {}.</p>\n{picture}{}",
        written(&of),
        table(&format!("From the average row to this row, with {:.0} % intervals", 100.0 * level), &columns, &rows)
    ))
}

fn written(text: &str) -> String {
    markup(&visible(text))
}
