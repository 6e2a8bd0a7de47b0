//! Records from a file: delimited text or JSON lines, also compressed, read as they come.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use csv::{ErrorKind, ReaderBuilder, StringRecord, Trim};
use flate2::bufread::MultiGzDecoder;
use serde_json::{Map, Value};

use crate::args::Input;
use crate::error::{CliError, Place};

/// Bytes looked at to find out what a file is.
const LOOK: usize = 1 << 16;

/// A file of records, all with the same columns.
pub(crate) struct Source {
    path: PathBuf,
    columns: Vec<String>,
    lines: Lines,
    row: u64,
    skip_bad: bool,
    /// Records that were left out since they could not be read.
    pub(crate) skipped: u64,
}

enum Lines {
    Delimited(Box<csv::Reader<Box<dyn BufRead>>>),
    /// The reader, its line, and the record that told the columns.
    Json(Box<dyn BufRead>, String, Option<Map<String, Value>>),
}

impl Source {
    /// # Errors
    /// A file that cannot be read, without columns, or with two of one name.
    pub(crate) fn open(input: &Input) -> Result<Self, CliError> {
        let path = &input.data;
        let failed = |source| CliError::file(path, source);
        let mut reader = buffered(if path == Path::new("-") {
            Box::new(io::stdin().lock())
        } else {
            Box::new(File::open(path).map_err(failed)?)
        });
        if reader.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]) {
            reader = buffered(Box::new(MultiGzDecoder::new(reader)));
        }
        if reader.fill_buf().map_err(failed)?.starts_with(b"\xef\xbb\xbf") {
            reader.consume(3);
        }
        let start = reader.fill_buf().map_err(failed)?;
        let (lines, columns) = if start.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
            json(path, reader)?
        } else {
            let delimiter = match &input.delimiter {
                Some(given) => given_delimiter(given)?,
                None => likely_delimiter(start),
            };
            delimited(path, reader, delimiter, !input.no_header)?
        };
        let mut sorted: Vec<&String> = columns.iter().collect();
        sorted.sort();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(CliError::Twice { path: path.clone(), name: pair[0].clone() });
        }
        Ok(Self { path: path.clone(), columns, lines, row: 0, skip_bad: input.skip_bad, skipped: 0 })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Where column `name` is.
    pub(crate) fn position(&self, name: &str) -> Result<usize, CliError> {
        self.columns.iter().position(|column| column == name).ok_or_else(|| CliError::Column {
            path: self.path.clone(),
            wanted: name.to_owned(),
            columns: self.columns.clone(),
        })
    }

    /// The place of the record that was read last.
    pub(crate) fn place(&self) -> Place {
        Place { path: self.path.clone(), row: self.row }
    }

    /// The next record that can be read, a field for each column; `false` at the end.
    ///
    /// # Errors
    /// A file that cannot be read on; a record that cannot be, unless such records are skipped.
    pub(crate) fn next(&mut self, record: &mut StringRecord) -> Result<bool, CliError> {
        loop {
            match self.read(record) {
                Err(error) if self.skip_bad && error.is_of_a_row() => self.skipped += 1,
                other => return other,
            }
        }
    }

    /// Passes over an error of a row, and counts it, if such rows are skipped.
    pub(crate) fn forgive(&mut self, error: CliError) -> Result<(), CliError> {
        if self.skip_bad && error.is_of_a_row() {
            self.skipped += 1;
            Ok(())
        } else {
            Err(error)
        }
    }

    fn read(&mut self, record: &mut StringRecord) -> Result<bool, CliError> {
        self.row += 1;
        match &mut self.lines {
            Lines::Delimited(reader) => {
                match reader.read_record(record) {
                    Ok(more) if !more => return Ok(false),
                    Ok(_) => {}
                    Err(error) => return Err(unreadable(&self.path, self.row, error)),
                }
                let (expected, found) = (self.columns.len(), record.len());
                if found != expected {
                    return Err(CliError::Ragged { place: self.place(), expected, found });
                }
            }
            Lines::Json(reader, line, first) => {
                let object = match first.take() {
                    Some(first) => first,
                    None => match next_object(&self.path, self.row, reader, line)? {
                        Some(object) => object,
                        None => return Ok(false),
                    },
                };
                record.clear();
                for column in &self.columns {
                    match object.get(column) {
                        None | Some(Value::Null) => record.push_field(""),
                        Some(Value::String(text)) => record.push_field(text.trim()),
                        Some(Value::Bool(value)) => record.push_field(if *value { "true" } else { "false" }),
                        Some(Value::Number(number)) => record.push_field(&number.to_string()),
                        Some(_) => {
                            let what = format!("`{column}` holds more than one value");
                            return Err(CliError::Record { place: self.place(), what });
                        }
                    }
                }
            }
        }
        Ok(true)
    }
}

fn buffered(reader: Box<dyn Read>) -> Box<dyn BufRead> {
    Box::new(BufReader::with_capacity(LOOK, reader))
}

fn delimited(
    path: &Path,
    reader: Box<dyn BufRead>,
    delimiter: u8,
    header: bool,
) -> Result<(Lines, Vec<String>), CliError> {
    let mut reader = ReaderBuilder::new()
        .has_headers(header)
        .flexible(true)
        .delimiter(delimiter)
        .trim(Trim::All)
        .from_reader(reader);
    let first = reader.headers().map_err(|error| unreadable(path, 0, error))?;
    if first.is_empty() {
        return Err(CliError::Empty { path: path.to_owned() });
    }
    let columns = if header {
        let name = |(k, name): (usize, &str)| if name.is_empty() { format!("x{}", k + 1) } else { name.to_owned() };
        first.iter().enumerate().map(name).collect()
    } else {
        (1..=first.len()).map(|k| format!("x{k}")).collect()
    };
    Ok((Lines::Delimited(Box::new(reader)), columns))
}

fn unreadable(path: &Path, row: u64, error: csv::Error) -> CliError {
    match error.into_kind() {
        ErrorKind::Io(source) => CliError::file(path, source),
        ErrorKind::Utf8 { .. } => {
            let place = Place { path: path.to_owned(), row };
            CliError::Record { place, what: "the text is not UTF-8".to_owned() }
        }
        other => {
            let place = Place { path: path.to_owned(), row };
            CliError::Record { place, what: format!("{other:?}") }
        }
    }
}

/// The columns are the keys of the first object.
fn json(path: &Path, mut reader: Box<dyn BufRead>) -> Result<(Lines, Vec<String>), CliError> {
    let mut line = String::new();
    let Some(first) = next_object(path, 1, &mut reader, &mut line)? else {
        return Err(CliError::Empty { path: path.to_owned() });
    };
    let columns = first.keys().cloned().collect();
    Ok((Lines::Json(reader, line, Some(first)), columns))
}

/// The object on the next line that is not blank.
fn next_object(
    path: &Path,
    row: u64,
    reader: &mut Box<dyn BufRead>,
    line: &mut String,
) -> Result<Option<Map<String, Value>>, CliError> {
    let place = || Place { path: path.to_owned(), row };
    loop {
        line.clear();
        match reader.read_line(line) {
            Ok(0) => return Ok(None),
            Ok(_) if line.trim().is_empty() => {}
            Ok(_) => {
                return serde_json::from_str(line.trim())
                    .map(Some)
                    .map_err(|error| CliError::Record { place: place(), what: format!("no JSON object: {error}") });
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(CliError::Record { place: place(), what: "the text is not UTF-8".to_owned() });
            }
            Err(error) => return Err(CliError::file(path, error)),
        }
    }
}

fn given_delimiter(given: &str) -> Result<u8, CliError> {
    match given.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [one] if one.is_ascii() && *one != b'"' && *one != b'\n' => Ok(*one),
        _ => {
            let what = "one character, or `\\t` for a tab".to_owned();
            Err(CliError::Option { option: "delimiter", value: given.to_owned(), what })
        }
    }
}

/// The one of comma, tab, semicolon and bar that the first line has most of outside quotes.
fn likely_delimiter(start: &[u8]) -> u8 {
    const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];
    let (mut counts, mut quoted) = ([0; 4], false);
    for &byte in start {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => break,
            _ if quoted => {}
            _ => {
                if let Some(k) = DELIMITERS.iter().position(|delimiter| *delimiter == byte) {
                    counts[k] += 1;
                }
            }
        }
    }
    let mut best = 0;
    for k in 1..DELIMITERS.len() {
        if counts[k] > counts[best] {
            best = k;
        }
    }
    DELIMITERS[best]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_the_delimiter() {
        assert_eq!(likely_delimiter(b"a,b,c\n1;2;3;4;5"), b',');
        assert_eq!(likely_delimiter(b"a\tb, and c\td\n"), b'\t');
        assert_eq!(likely_delimiter(b"\"a,b,c\";d\n"), b';');
        assert_eq!(likely_delimiter(b"alone\n"), b',');
        assert_eq!(given_delimiter("\\t").unwrap(), b'\t');
        assert!(given_delimiter("ab").is_err() && given_delimiter("\"").is_err());
    }
}
