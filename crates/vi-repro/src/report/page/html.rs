//! Pieces of HTML that the pages share.

use std::fmt::Write as _;

use super::super::check::Kind;
use super::super::record::{self, Record, State};
use super::super::verdict::{Tally, Verdict};

const STYLE: &str = include_str!("style.css");

pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// A whole document.
pub(super) fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escape(title)
    )
}

/// The class that a verdict goes by in the style sheet.
pub(super) const fn class(v: Verdict) -> &'static str {
    match v {
        Verdict::Holds => "holds",
        Verdict::Partly => "partly",
        Verdict::DoesNotHold => "fails",
    }
}

pub(super) fn badge(v: Verdict) -> String {
    let mark = match v {
        Verdict::Holds => "✓",
        Verdict::Partly => "◐",
        Verdict::DoesNotHold => "✗",
    };
    format!("<span class=\"badge {}\">{mark} {}</span>", class(v), v.label())
}

/// How many of an item's claims hold; of its promises where the paper claims nothing.
pub(super) fn share(r: &Record) -> String {
    match r.state {
        State::Skipped(_) => return "<span class=\"badge none\">skipped</span>".to_owned(),
        State::Failed(_) => return "<span class=\"badge fails\">✗ failed</span>".to_owned(),
        State::Made => {}
    }
    let (claims, promises) = (r.tally(Kind::Claim), r.tally(Kind::Promise));
    if claims.total() > 0 {
        share_of(claims, "claims hold")
    } else if promises.total() > 0 {
        share_of(promises, "promises kept")
    } else {
        "<span class=\"badge none\">findings</span>".to_owned()
    }
}

/// `✓ 3 of 4 claims hold`, coloured by all, some or none.
pub(super) fn share_of(tally: Tally, what: &str) -> String {
    let (mark, class) = if tally.holds == tally.total() {
        ("✓", "holds")
    } else if tally.holds + tally.partly == 0 {
        ("✗", "fails")
    } else {
        ("◐", "partly")
    };
    format!("<span class=\"badge {class}\">{mark} {} of {} {what}</span>", tally.holds, tally.total())
}

/// What the filter goes by: the verdicts among an item's claims, and whether a promise is broken.
pub(super) fn classes(r: &Record) -> String {
    let tally = r.tally(Kind::Claim);
    let broken = r.broken().next().is_some() || matches!(r.state, State::Failed(_));
    let marks = [
        ("has-holds", tally.holds > 0),
        ("has-partly", tally.partly > 0),
        ("has-fails", tally.fails > 0),
        ("has-broken", broken),
    ];
    marks.iter().filter(|(_, there)| *there).map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
}

/// `fig9` reads as “Fig 9”, `breast-cancer` as “breast cancer”.
pub(super) fn name(id: &str) -> String {
    for (prefix, word) in [("fig", "Fig"), ("table", "Table"), ("theorem", "Theorem")] {
        if let Some(n) = id.strip_prefix(prefix)
            && n.starts_with(|c: char| c.is_ascii_digit())
        {
            return format!("{word} {n}");
        }
    }
    id.replace('-', " ")
}

/// A link to an item.
pub(super) fn link(r: &Record) -> String {
    format!("<a href=\"#{}-{}\">{}</a>", r.paper, r.id, escape(&name(&r.id)))
}

pub(super) const fn mode(quick: bool) -> &'static str {
    if quick { "quick run" } else { "full run" }
}

/// How the run was made, in a line.
pub(super) fn provenance(page: &mut String, run: &record::Provenance) {
    let commit = run.commit.as_deref().unwrap_or("unknown");
    let _ = writeln!(
        page,
        "<p class=\"small\">Last run: commit <code>{}</code>, seed {}, {} threads, {}, {:.0} s. \
         <a href=\"manifest.json\">manifest.json</a> has the same for every item.</p>",
        escape(commit),
        run.seed,
        run.threads,
        mode(run.quick),
        run.seconds
    );
}
