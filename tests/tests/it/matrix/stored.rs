//! Stored forms.

use vi_models::online::Model;
use vi_tests::hostile::{AnyFit, KINDS, MODELS, examples, read_error};

use super::{Table, called};

const HEAD: [&str; 4] = ["cut anywhere", "a byte changed", "a later version", "of another kind"];

/// What reading says of `whole` cut at every place, and the one word for all of them.
fn same(name: &str, answers: impl Iterator<Item = Option<String>>) -> String {
    let mut said: Vec<String> = answers.map(|answer| answer.unwrap_or_else(|| panic!("{name}: taken"))).collect();
    said.sort();
    said.dedup();
    said.join(", ")
}

/// The record's version is in its bytes 8 to 11, the kind in 12 to 35.
fn record(kind: usize, whole: &[u8]) -> Vec<Option<String>> {
    let said = |bytes: &[u8]| read_error(kind, bytes).map(|error| called(&error));
    assert_eq!(said(whole), None, "{}", KINDS[kind]);
    let cut = same(KINDS[kind], (0..whole.len()).map(|end| said(&whole[..end])));
    let changed = same(
        KINDS[kind],
        (36..whole.len()).step_by(7).map(|at| {
            let mut other = whole.to_vec();
            other[at] ^= 0x10;
            said(&other)
        }),
    );
    let mut later = whole.to_vec();
    later[8] += 1;
    let another = (kind + 1) % KINDS.len();
    let of_another = read_error(another, whole).map(|error| called(&error));
    vec![Some(cut), Some(changed), said(&later), of_another]
}

/// A document: what `serde_json` says is one word for all, that it is no such model.
fn document(
    name: &str,
    text: &str,
    read: impl Fn(&str) -> Result<(), String>,
    other: Result<(), String>,
) -> Vec<Option<String>> {
    assert_eq!(read(text), Ok(()), "{name}");
    let refused = |text: &str| read(text).err();
    for end in 0..text.len() {
        assert!(refused(&text[..end]).is_some(), "{name}, cut at {end}");
    }
    // The first decimal of a number: the last may not reach its bits.
    let number = text.rfind('.').unwrap() + 1;
    let digit = if &text[number..=number] == "5" { "6" } else { "5" };
    let changed = format!("{}{digit}{}", &text[..number], &text[number + 1..]);
    let later = text.replacen("\"format\":1", "\"format\":2", 1);
    let words = |message: Option<String>, expected: &str, word: &str| {
        let message = message.unwrap_or_else(|| panic!("{name}: taken"));
        assert!(message.contains(expected), "{name}: {message}");
        Some(word.to_owned())
    };
    let changed = refused(&changed).unwrap_or_else(|| panic!("{name}: a changed digit was taken"));
    let changed = if changed.contains("checksum") { "Checksum" } else { "Malformed" };
    vec![
        Some("Malformed".to_owned()),
        Some(changed.to_owned()),
        words(refused(&later), "version 2", "Version"),
        Some(other.map_or_else(|_| "Malformed".to_owned(), |()| panic!("{name} is read as another model"))),
    ]
}

pub(super) fn table() -> Table {
    let mut lines = Vec::new();
    for (kind, whole) in examples::records().unwrap() {
        lines.push((format!("record {}", KINDS[kind]), record(kind, &whole)));
    }
    for (name, model) in examples::models(7).unwrap() {
        let text = serde_json::to_string(&model).unwrap();
        let read = |text: &str| serde_json::from_str::<Model>(text).map(drop).map_err(|error| error.to_string());
        let others = (*MODELS).map(|(_, kind)| Model::new(kind, 2, kind.default_settings()).unwrap().name());
        let others = others.into_iter().filter(|other| *other != model.name());
        let other = others.map(|other| read(&text.replacen(model.name(), other, 1))).find(Result::is_ok);
        let other = other.unwrap_or(Err("refused by all".to_owned()));
        lines.push((format!("document {name}"), document(&name, &text, read, other)));
    }
    for (name, fit) in examples::fits().unwrap() {
        let kind = fit.kind();
        let text = fit.text().unwrap();
        let read = |kind: usize, text: &str| AnyFit::read(kind, text).map(drop).map_err(|error| error.to_string());
        let others = (0..AnyFit::KINDS).filter(|&other| other != kind);
        let other =
            others.map(|other| read(other, &text)).find(Result::is_ok).unwrap_or(Err("refused by all".to_owned()));
        lines.push((format!("document {name}"), document(name, &text, |text| read(kind, text), other)));
    }
    let words = "A record is a frame with a checksum around bytes, a document is JSON with a seal. Cut: at every byte.";
    Table { title: "Stored forms", words, head: &HEAD, lines }
}
