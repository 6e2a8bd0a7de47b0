//! One item on the page.

use std::fmt::Write as _;

use super::super::check::{Check, Fault, Kind};
use super::super::record::{Quantity, Record, State};
use super::html::{badge, classes, escape, mode, name, share};

/// The item as an article; `code` is where the sources are.
pub(super) fn article(page: &mut String, r: &Record, code: &str) {
    let _ = writeln!(
        page,
        "<article id=\"{}-{}\" class=\"{}\">\n<h3><span class=\"id\">{}</span> {} {}</h3>",
        r.paper,
        r.id,
        classes(r),
        escape(&name(&r.id)),
        escape(&r.title),
        share(r)
    );
    match &r.state {
        State::Made => content(page, r),
        State::Skipped(why) => {
            let _ = writeln!(page, "<p>Skipped: {}.</p>", escape(why));
        }
        State::Failed(why) => {
            let _ = writeln!(page, "<p>Failed: {}.</p>", escape(why));
        }
    }
    foot(page, r, code);
    page.push_str("</article>\n");
}

fn content(page: &mut String, r: &Record) {
    picture(page, r);
    let _ = writeln!(
        page,
        "<p class=\"summary\">{}</p>\n<p class=\"caption\">{}</p>",
        escape(&r.summary),
        escape(&r.caption)
    );
    if !r.quote.is_empty() {
        let _ = writeln!(page, "<h4>The paper says</h4>\n<blockquote>{}</blockquote>", escape(&r.quote));
    }
    checks(page, "Its claims", r, Kind::Claim);
    quantities(page, &r.quantities);
    checks(page, "What this library promises", r, Kind::Promise);
    checks(page, "What else was found", r, Kind::Finding);
    if !r.shown.rows.is_empty() {
        page.push_str("<h4>Numbers</h4>\n");
        table(page, &r.shown.head, &r.shown.rows);
    }
    if !r.notes.is_empty() {
        page.push_str("<h4>Remarks</h4>\n<ul class=\"notes\">\n");
        for n in &r.notes {
            let _ = writeln!(page, "<li>{}</li>", escape(n));
        }
        page.push_str("</ul>\n");
    }
}

/// The wide picture, or the narrow one where the screen is.
fn picture(page: &mut String, r: &Record) {
    let Some((wide, narrow)) = r.pictures.first().zip(r.pictures.last()) else { return };
    let _ = writeln!(
        page,
        "<a class=\"card\" href=\"{path}\"><picture><source media=\"(max-width: 640px)\" srcset=\"{}\" width=\"{:.0}\" height=\"{:.0}\">\
         <img src=\"{path}\" width=\"{:.0}\" height=\"{:.0}\" loading=\"lazy\" alt=\"{}\"></picture></a>",
        escape(&narrow.path),
        narrow.width,
        narrow.height,
        wide.width,
        wide.height,
        escape(&format!("{}: {}", r.title, r.caption)),
        path = escape(&wide.path)
    );
}

/// A list of checks under a heading; nothing for none.
fn checks(page: &mut String, heading: &str, r: &Record, kind: Kind) {
    if r.of(kind).next().is_none() {
        return;
    }
    let _ = writeln!(page, "<h4>{heading}</h4>\n<ul class=\"checks\">");
    for c in r.of(kind) {
        let place = if c.place.is_empty() {
            String::new()
        } else {
            format!(" <span class=\"place\">{}</span>", escape(&c.place))
        };
        let _ = writeln!(
            page,
            "<li><span>{}</span><div><p>{}{place}</p><p class=\"numbers\">{}</p>{}</div></li>",
            badge(c.verdict),
            escape(&c.claim),
            escape(&c.numbers),
            cause(c)
        );
    }
    page.push_str("</ul>\n");
}

fn cause(c: &Check) -> String {
    let Some(cause) = &c.cause else { return String::new() };
    let kind = match cause.fault {
        Fault::Paper => "The paper is wrong",
        Fault::Setting => "A setting is unknown",
        Fault::Ours => "We fall short",
        Fault::Untraced => "Cause unknown",
    };
    let link =
        cause.correction.as_ref().map_or(String::new(), |id| format!(" <a href=\"#correction-{id}\">Correction</a>"));
    format!("<p class=\"cause\"><b>{kind}.</b> {}{link}</p>", escape(&cause.why))
}

/// The paper’s number, the authors’ program’s and ours, columns that are empty left out.
fn quantities(page: &mut String, list: &[Quantity]) {
    type Column = (&'static str, fn(&Quantity) -> &str);
    let columns: [Column; 4] = [
        ("in the paper", |q| &q.paper),
        ("by the authors’ program", |q| &q.authors),
        ("ours, as printed", |q| &q.printed),
        ("ours, as it works", |q| &q.works),
    ];
    let used: Vec<&Column> = columns.iter().filter(|(_, of)| list.iter().any(|q| !of(q).is_empty())).collect();
    if used.is_empty() {
        return;
    }
    page.push_str("<h4>The published numbers and ours</h4>\n");
    let head: Vec<String> = std::iter::once("").chain(used.iter().map(|(name, _)| *name)).map(str::to_owned).collect();
    let rows: Vec<Vec<String>> = list
        .iter()
        .map(|q| std::iter::once(q.name.clone()).chain(used.iter().map(|(_, of)| of(q).to_owned())).collect())
        .collect();
    table(page, &head, &rows);
}

/// A table that becomes a list of cards on a narrow screen.
fn table(page: &mut String, head: &[String], rows: &[Vec<String>]) {
    page.push_str("<table>\n<thead><tr>");
    for h in head {
        let _ = write!(page, "<th>{}</th>", escape(h));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        page.push_str("<tr>");
        for (i, c) in row.iter().enumerate() {
            if i == 0 {
                let _ = write!(page, "<th scope=\"row\">{}</th>", escape(c));
            } else {
                let label = head.get(i).map_or("", String::as_str);
                let _ = write!(page, "<td data-head=\"{}\">{}</td>", escape(label), escape(c));
            }
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table>\n");
}

fn foot(page: &mut String, r: &Record, code: &str) {
    let _ = write!(
        page,
        "<p class=\"small foot\"><code>cargo xtask reproduce {} {}</code>, seed {}, {}, {:.1} s. Code: \
         <a href=\"{}\">{}</a>.",
        r.paper,
        r.id,
        r.provenance.seed,
        mode(r.provenance.quick),
        r.provenance.seconds,
        escape(&format!("{code}/{}", r.code)),
        escape(&r.code)
    );
    if !r.tables.is_empty() {
        page.push_str(" Files:");
        for f in r.tables.iter().chain(r.pictures.iter().take(1).map(|p| &p.path)) {
            let short = f.rsplit('/').next().unwrap_or(f);
            let _ = write!(page, " <a href=\"{}\">{}</a>", escape(f), escape(short));
        }
        page.push('.');
    }
    page.push_str(" <a href=\"#top\">Top</a></p>\n");
}
