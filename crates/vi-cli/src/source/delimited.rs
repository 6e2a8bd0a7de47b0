//! Delimited text: CSV, TSV and their like.

use std::io::BufRead;

use csv::{ErrorKind, ReaderBuilder, Trim};

use super::record::{Fault, Record, Records};

/// Records of delimited text.
pub(super) struct Delimited {
    reader: csv::Reader<Box<dyn BufRead>>,
    columns: Vec<String>,
}

impl Delimited {
    /// Reads the first line, which names the columns if it is a `header`; none for a file without one.
    ///
    /// # Errors
    /// A file or a first line that cannot be read.
    pub(super) fn open(reader: Box<dyn BufRead>, delimiter: u8, header: bool) -> Result<Option<Self>, Fault> {
        let mut reader = ReaderBuilder::new()
            .has_headers(header)
            .flexible(true)
            .delimiter(delimiter)
            .trim(Trim::All)
            .from_reader(reader);
        let first = reader.headers().map_err(|error| fault(error, &[]))?;
        if first.is_empty() {
            return Ok(None);
        }
        let columns = if header {
            let name = |(k, name): (usize, &str)| if name.is_empty() { format!("x{}", k + 1) } else { name.to_owned() };
            first.iter().enumerate().map(name).collect()
        } else {
            (1..=first.len()).map(|k| format!("x{k}")).collect()
        };
        Ok(Some(Self { reader, columns }))
    }
}

impl Records for Delimited {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next(&mut self, record: &mut Record) -> Result<bool, Fault> {
        let more = self.reader.read_record(&mut record.fields).map_err(|error| fault(error, &self.columns))?;
        let (expected, found) = (self.columns.len(), record.fields.len());
        if more && found != expected {
            return Err(Fault::Ragged { expected, found });
        }
        Ok(more)
    }
}

fn fault(error: csv::Error, columns: &[String]) -> Fault {
    match error.into_kind() {
        ErrorKind::Io(source) => Fault::File(source),
        ErrorKind::Utf8 { err, .. } => {
            let column = columns.get(err.field()).map_or_else(|| format!("field {}", err.field() + 1), Clone::clone);
            Fault::Record(format!("the text in column `{column}` is not UTF-8; `iconv -t UTF-8` converts a file"))
        }
        other => Fault::Record(format!("{other:?}")),
    }
}

/// The one of comma, tab, semicolon and bar that the first line has most of outside quotes.
pub(super) fn likely_delimiter(start: &[u8]) -> u8 {
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
    }
}
