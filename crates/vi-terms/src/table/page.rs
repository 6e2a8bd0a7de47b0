//! One page with all that is to be seen of a model; it needs no other file.

use std::fmt::Write as _;

use vi_plot::{Layout, markup};

use crate::TermsError;
use crate::table::certificate::{as_html, certificate};
use crate::table::document::Document;
use crate::table::pictures::{Drawn, pictures};
use crate::table::summary::summary;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c2024;--pale:#667;--line:#d5d9de;--ground:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e8ebee;--pale:#9aa4ae;--line:#394048;--ground:#14171a}}
body{margin:0 auto;padding:1rem;max-width:1080px;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground)}
h1{font-size:1.6rem;margin:.5rem 0}h2{font-size:1.2rem;margin:2rem 0 .5rem;border-top:1px solid var(--line);padding-top:1rem}
pre{overflow-x:auto;font:14px/1.45 ui-monospace,monospace}p{max-width:70ch}p.small,footer{color:var(--pale);font-size:.9rem}
table.certificate{border-collapse:collapse;font-size:.95rem}.certificate th,.certificate td{padding:.25rem .75rem .25rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
svg{max-width:100%;height:auto}.narrow{display:none}
@media (max-width:640px){.wide{display:none}.narrow{display:block}pre{font-size:11px}.certificate thead{display:none}.certificate td{display:block}.certificate td:not(:last-child){border:0}}
";

/// The page of a model, as HTML.
///
/// # Errors
/// Intervals beyond the range of floats; numbers that cannot be drawn.
pub fn page(document: &Document) -> Result<String, TermsError> {
    let title = markup(&format!("Model of {}", document.target.column));
    let version = env!("CARGO_PKG_VERSION");
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{}</main>\n<footer>rvi {version}</footer>\n</body>\n</html>\n",
        sections(document, 2)?
    ))
}

/// The body of a model's page below its title: the summary, for each picture a heading of this level with a wide and a narrow drawing (classes `wide`
/// and `narrow`), the coefficients, and the certificate.
///
/// # Errors
/// As [`page`].
pub fn sections(document: &Document, level: u8) -> Result<String, TermsError> {
    let (scores, beliefs) = summary(document)?;
    let mut body = preformatted(&scores);
    for drawn in pictures(document)? {
        let heading = drawn.name[..1].to_uppercase() + &drawn.name[1..];
        // Writing to a text cannot fail.
        let _written =
            write!(body, "<h{level}>{heading}</h{level}>\n<p>{}</p>\n{}", markup(drawn.caption), drawing(&drawn)?);
    }
    let certificate = as_html(&certificate(document));
    let beliefs = preformatted(&beliefs);
    Ok(body
        + &format!(
            "<h{level}>Table of coefficients</h{level}>\n{beliefs}<h{level}>Certificate</h{level}>\n{certificate}"
        ))
}

/// Lines as they are, which a keyboard can scroll where the screen is narrow.
fn preformatted(text: &str) -> String {
    format!("<pre tabindex=\"0\">{}</pre>\n", markup(text))
}

/// A picture for wide screens and one for narrow ones, whose name a screen reader says.
///
/// # Errors
/// Numbers that cannot be drawn.
pub fn drawing(drawn: &Drawn) -> Result<String, TermsError> {
    let one = |class: &str, layout: Layout| {
        let svg = drawn.svg(layout)?;
        Ok::<_, TermsError>(format!("<div class=\"{class}\" role=\"img\" aria-label=\"{}\">{svg}</div>\n", drawn.name))
    };
    Ok(one("wide", Layout::Wide)? + &one("narrow", Layout::Narrow)?)
}
