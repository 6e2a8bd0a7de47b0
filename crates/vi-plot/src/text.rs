//! Text of unknown origin, made fit to be shown.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character moves what is around it in place of being seen: control characters (those of terminals among them) and marks of the direction of
/// writing.
fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with every character that would move what is around it written out, `\n` and `\u{1b}`; all else as it is. Cost: linear in the text.
///
/// ```
/// assert_eq!(vi_plot::visible("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
/// assert_eq!(vi_plot::visible("Köln ≥ 3"), "Köln ≥ 3");
/// ```
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    written_out(text, |out, c| out.extend(c.escape_default()))
}

/// The same within the strings of a JSON text, which stays one: `\u001b`. Ends of lines stay as they are, for those within strings are written out already.
///
/// ```
/// assert_eq!(vi_plot::visible_json("{\"a\u{9b}b\": 1}\n"), "{\"a\\u009bb\": 1}\n");
/// ```
#[must_use]
pub fn visible_json(text: &str) -> Cow<'_, str> {
    written_out(text, |out, c| {
        // Writing to a text cannot fail, and no hidden character is beyond four digits.
        let _written = if c == '\n' { out.write_char(c) } else { write!(out, "\\u{:04x}", u32::from(c)) };
    })
}

/// The lines of a text within markup: [`visible`], and nothing that would be a tag or end an attribute.
///
/// ```
/// assert_eq!(vi_plot::markup("<a & \"b\">\n\u{7}"), "&lt;a &amp; &quot;b&quot;&gt;\n\\u{7}");
/// ```
#[must_use]
pub fn markup(text: &str) -> String {
    let line = |line: &str| {
        visible(line).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn written_out(text: &str, write: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            write(&mut out, c);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}
