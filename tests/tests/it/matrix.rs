//! The bad-input matrix: every entry point with every kind of bad input. Each answer is an error that says what is wrong, the state
//! is as it was to the bit, and `docs/bad-input.md` is the table of the answers.

mod counts;
mod rows;
mod settings;
mod stored;

use std::fmt::{Debug, Write as _};
use std::fs;
use std::path::PathBuf;

/// What an error is called: the variant, inside `Row` where a row is named.
fn called(error: &impl Debug) -> String {
    let text = format!("{error:?}");
    let mut rest = text.as_str();
    let mut of_row = false;
    loop {
        while let Some(inner) = ["Core(", "Checkpoint("].iter().find_map(|outer| rest.strip_prefix(outer)) {
            rest = inner;
        }
        match rest.strip_prefix("Row { row: 1, source: ") {
            Some(inner) => (rest, of_row) = (inner, true),
            None => break,
        }
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    format!("{}{}", &rest[..end], if of_row { ", row" } else { "" })
}

/// A line for each entry point, a column for each kind of input.
struct Table {
    title: &'static str,
    words: &'static str,
    head: &'static [&'static str],
    lines: Vec<(String, Vec<Option<String>>)>,
}

impl Table {
    fn markdown(&self) -> String {
        let Self { title, words, head, lines } = self;
        let mut text = format!("## {title}\n\n{words}\n\n| entry point |");
        head.iter().for_each(|head| write!(text, " {head} |").unwrap());
        text += "\n|:--|";
        head.iter().for_each(|_| text += ":--|");
        text += "\n";
        for (name, cells) in lines {
            assert_eq!(cells.len(), head.len(), "{name}");
            write!(text, "| `{name}` |").unwrap();
            for cell in cells {
                write!(text, " {} |", cell.as_deref().unwrap_or("")).unwrap();
            }
            text += "\n";
        }
        text
    }
}

const INTRODUCTION: &str = "# Bad input\n\nThe error of every entry point for each kind of invalid input: its variant, with \
\"row\" if it names the row. After each of these the state is as it was, to the bit. An empty cell: the entry has no such input. \
Written by the test that asserts it, `VI_WRITE_TABLES=1 cargo test -p vi-tests --test it matrix`; the ordinary run compares.\n";

#[test]
fn the_table_of_bad_input_is_what_happens() {
    let tables = [rows::table(), settings::table(), counts::table(), stored::table()];
    let entries: usize = tables.iter().map(|table| table.lines.len()).sum();
    let cells: usize =
        tables.iter().flat_map(|table| &table.lines).map(|(_, cells)| cells.iter().flatten().count()).sum();
    let mut text = INTRODUCTION.to_owned();
    write!(text, "\n{entries} entry points, {cells} answers.\n").unwrap();
    for table in &tables {
        write!(text, "\n{}", table.markdown()).unwrap();
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join("docs").join("bad-input.md");
    if std::env::var_os("VI_WRITE_TABLES").is_some_and(|value| value == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &text).unwrap();
    }
    assert!(fs::read_to_string(&path).unwrap() == text, "docs/bad-input.md is not what happens: {text}");
}
