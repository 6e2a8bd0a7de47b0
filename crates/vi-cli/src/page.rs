//! One page with all that is to be seen of a model; it needs no other file.

use std::fmt::Write as _;
use std::path::Path;

use vi_plot::{Layout, markup};
use vi_terms::table::{Document, summary};

use crate::error::CliError;
use crate::files::whole_file;
use crate::pictures::{pictures, svg};

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c2024;--pale:#667;--line:#d5d9de;--ground:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e8ebee;--pale:#9aa4ae;--line:#394048;--ground:#14171a}}
body{margin:0 auto;padding:1rem;max-width:1080px;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground)}
h1{font-size:1.6rem;margin:.5rem 0}h2{font-size:1.2rem;margin:2rem 0 .5rem;border-top:1px solid var(--line);padding-top:1rem}
pre{overflow-x:auto;font:14px/1.45 ui-monospace,monospace}p{max-width:70ch}p.small,footer{color:var(--pale);font-size:.9rem}
svg{max-width:100%;height:auto}.narrow{display:none}
@media (max-width:640px){.wide{display:none}.narrow{display:block}pre{font-size:11px}}
";

/// Writes the page of a model.
///
/// # Errors
/// Coefficients that are no numbers; a disk that does not take it.
pub(crate) fn write(document: &Document, path: &Path) -> Result<(), CliError> {
    let html = page(document)?;
    whole_file(path, |out| out.write_all(html.as_bytes()).map_err(|error| CliError::file(path, error)))
}

fn page(document: &Document) -> Result<String, CliError> {
    let title = markup(&format!("Model of {}", document.target.column));
    let (scores, beliefs) = summary::summary(document)?;
    let mut body = format!("<h1>{title}</h1>\n<pre>{}</pre>\n", markup(&scores));
    for drawn in pictures(document)? {
        let heading = drawn.name[..1].to_uppercase() + &drawn.name[1..];
        // Writing to a text cannot fail.
        let _written = write!(
            body,
            "<h2>{heading}</h2>\n<p>{}</p>\n<div class=\"wide\">{}</div>\n<div class=\"narrow\">{}</div>\n",
            markup(drawn.caption),
            svg(&drawn, Layout::Wide)?,
            svg(&drawn, Layout::Narrow)?,
        );
    }
    let version = env!("CARGO_PKG_VERSION");
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n{body}<h2>Coefficients and health</h2>\n<pre>{}</pre>\n<footer>rvi {version}</footer>\n</body>\n</html>\n",
        markup(&beliefs)
    ))
}
