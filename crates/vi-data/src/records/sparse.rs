//! Sparse text: LIBSVM and Vowpal Wabbit.

use super::record::{Entries, Fault, Record, Source};
use super::{LABEL, Reader, next_line};
use crate::fnv;

/// The name of the column of all inputs.
const FEATURES: &str = "features";

/// Records of one label and the inputs that are not 0, one a line.
pub(super) struct Sparse<'a> {
    reader: Reader<'a>,
    columns: Vec<String>,
    line: String,
    dialect: Dialect,
}

/// The syntax of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `label index:value index:value … # remark`.
    Libsvm,
    /// `[label [importance]] [tag]|space[:scale] name[:value] … |space …`.
    VowpalWabbit,
}

impl<'a> Sparse<'a> {
    pub(super) fn open(reader: Reader<'a>, dialect: Dialect) -> Self {
        Self { reader, columns: vec![LABEL.to_owned(), FEATURES.to_owned()], line: String::new(), dialect }
    }
}

impl Source for Sparse<'_> {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn entries(&self) -> Option<Entries> {
        Some(Entries { column: 1, named: self.dialect == Dialect::VowpalWabbit })
    }

    fn next(&mut self, record: &mut Record) -> Result<bool, Fault> {
        if !next_line(&mut *self.reader, &mut self.line)? {
            return Ok(false);
        }
        *record = Record { entries: std::mem::take(&mut record.entries), ..Record::default() };
        record.entries.clear();
        match self.dialect {
            Dialect::Libsvm => libsvm(&self.line, record)?,
            Dialect::VowpalWabbit => vowpal_wabbit(&self.line, record)?,
        }
        Ok(true)
    }
}

fn libsvm(line: &str, record: &mut Record) -> Result<(), Fault> {
    let line = line.split_once('#').map_or(line, |(line, _)| line);
    let mut words = line.split_ascii_whitespace().peekable();
    // A line that begins with an entry has no label.
    let label = words.next_if(|word| !word.contains(':')).unwrap_or("");
    record.fields.push_field(&label_text(label));
    record.fields.push_field("");
    for word in words {
        let wrong = |expected| wrong(word, expected);
        let (index, value) = word.split_once(':').ok_or_else(|| wrong("`index:value`"))?;
        if index == "qid" {
            continue;
        }
        let index = index.parse().map_err(|_| wrong("`index:value` with a whole number for an index"))?;
        record.entries.push((index, finite(value).ok_or_else(|| wrong("`index:value` with a finite value"))?));
    }
    record.entries.sort_unstable_by_key(|(index, _)| *index);
    match record.entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(wrong(&pair[0].0.to_string(), "an index that the line has once")),
        None => Ok(()),
    }
}

fn vowpal_wabbit(line: &str, record: &mut Record) -> Result<(), Fault> {
    let mut spaces = line.split('|');
    let head = spaces.next().unwrap_or_default();
    // A word that touches the first bar is a tag, and so is one that begins with an apostrophe, wherever it stands.
    let mut words: Vec<&str> = head.split_ascii_whitespace().collect();
    if !head.ends_with(|c: char| c.is_ascii_whitespace()) && words.len() > 1
        || words.last().is_some_and(|word| word.starts_with('\''))
    {
        words.pop();
    }
    if words.len() > 3 {
        return Err(wrong(head.trim(), "`label importance base tag|`"));
    }
    record.fields.push_field(&label_text(words.first().copied().unwrap_or_default()));
    record.fields.push_field("");
    if let Some(importance) = words.get(1) {
        let known = finite(importance).filter(|weight| *weight >= 0.0);
        record.weight = known.ok_or_else(|| wrong(importance, "an importance of 0 or more"))?;
    }
    for space in spaces {
        let named = !space.starts_with(|c: char| c.is_ascii_whitespace());
        let mut words = space.split_ascii_whitespace();
        let (name, scale) = match words.next() {
            Some(word) if named => value_of(word)?,
            Some(word) => {
                let (feature, value) = value_of(word)?;
                record.entries.push((hash(hash(fnv::START, ""), feature), value));
                ("", 1.0)
            }
            None => continue,
        };
        let start = hash(fnv::START, name);
        for word in words {
            let (feature, value) = value_of(word)?;
            record.entries.push((hash(start, feature), value * scale));
        }
    }
    if line.contains('|') { Ok(()) } else { Err(Fault::Record("no `|` before the inputs".to_owned())) }
}

/// A name and the value after its last colon, 1 if there is none.
fn value_of(word: &str) -> Result<(&str, f64), Fault> {
    match word.rsplit_once(':') {
        None => Ok((word, 1.0)),
        Some((name, value)) => {
            finite(value).map(|value| (name, value)).ok_or_else(|| wrong(word, "`name:value` with a finite value"))
        }
    }
}

fn wrong(text: &str, expected: &'static str) -> Fault {
    Fault::Field { column: FEATURES.to_owned(), text: text.to_owned(), expected }
}

fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// A label in one spelling: `+1` and `1.0` become `1`.
fn label_text(text: &str) -> String {
    finite(text).map_or_else(|| text.to_owned(), |value| value.to_string())
}

/// The hash of the text whose hash is `start`, followed by `text` and an end mark.
fn hash(start: u64, text: &str) -> u64 {
    fnv::extended(fnv::extended(start, text.as_bytes()), b"|")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str, dialect: Dialect) -> Result<Record, String> {
        let reader: Reader<'_> = Box::new(line.as_bytes());
        let mut record = Record::default();
        match Sparse::open(reader, dialect).next(&mut record) {
            Ok(true) => Ok(record),
            Ok(false) => Err("end".to_owned()),
            Err(fault) => Err(format!("{fault:?}")),
        }
    }

    #[test]
    fn libsvm_lines_have_a_label_and_indexes() {
        let record = read("+1 qid:3 7:0.5 2:-1e1 # remark 4:4\n", Dialect::Libsvm).unwrap();
        assert_eq!((record.field(0), &record.entries[..]), ("1", &[(2, -10.0), (7, 0.5)][..]));
        assert_eq!(read("1:1\n", Dialect::Libsvm).unwrap().field(0), "");
        assert_eq!(read("spam\n", Dialect::Libsvm).unwrap().field(0), "spam");
        for line in ["1 2", "1 -2:1", "1 2:x", "1 2:inf", "1 2:1 2:2"] {
            assert!(read(line, Dialect::Libsvm).unwrap_err().contains("Field"), "{line}");
        }
    }

    #[test]
    fn names_of_vowpal_wabbit_are_told_apart_by_their_space() {
        let vw = |line: &str| read(line, Dialect::VowpalWabbit);
        let record = vw("-1 0.5 'tag|user:2 age:3 old |ad old\n").unwrap();
        assert_eq!((record.field(0), record.weight), ("-1", 0.5));
        let values: Vec<f64> = record.entries.iter().map(|(_, value)| *value).collect();
        assert_eq!(values, [6.0, 2.0, 1.0]);
        assert_ne!(record.entries[1].0, record.entries[2].0);
        // No space, an empty one, and a tag that touches the bar.
        assert_eq!(vw("1 | a b:2").unwrap().entries, vw("1 1.0 tag| a b:2").unwrap().entries);
        assert_eq!(vw("| a").unwrap().field(0), "");
        assert_eq!(vw("3 |s a:b:2").unwrap().entries[0].1, 2.0);
        assert_eq!(vw("1 |s").unwrap().entries.len(), 0);
        for line in ["1 a b", "1 -2 | a", "1 | a:x", "1 2 3 4 5 | a"] {
            assert!(vw(line).is_err(), "{line}");
        }
    }
}
