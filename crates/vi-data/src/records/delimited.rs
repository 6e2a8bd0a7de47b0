//! Delimited text: CSV, TSV and the like.

use std::borrow::Cow;
use std::io::{self, Read};

use csv::{ErrorKind, ReaderBuilder, Trim};

use super::record::{Fault, Record, Source};
use super::{LONGEST_LINE, MOST_COLUMNS, Reader, endless};

/// Records of delimited text.
pub(super) struct Delimited<'a> {
    reader: csv::Reader<Limited<'a>>,
    columns: Vec<String>,
    /// Whether numbers may have a decimal comma, as in files separated by semicolons.
    commas: bool,
}

impl<'a> Delimited<'a> {
    /// Reads the first line, which names the columns if it is a `header`, and finds the delimiter if none is given; `None` for a
    /// file without a first line.
    ///
    /// # Errors
    /// A file or a first line that cannot be read.
    pub(super) fn open(mut reader: Reader<'a>, delimiter: Option<u8>, header: bool) -> Result<Option<Self>, Fault> {
        let delimiter = match delimiter {
            Some(delimiter) => delimiter,
            None => likely_delimiter(reader.fill_buf()?),
        };
        let mut reader = ReaderBuilder::new()
            .has_headers(header)
            .flexible(true)
            .delimiter(delimiter)
            .trim(Trim::All)
            .from_reader(Limited { reader, left: LONGEST_LINE });
        let first = reader.headers().map_err(|error| fault(error, &[]))?;
        if first.is_empty() {
            return Ok(None);
        }
        if first.len() > MOST_COLUMNS {
            let what = format!("{} columns, of which {MOST_COLUMNS} are the most", first.len());
            return Err(io::Error::new(io::ErrorKind::InvalidData, what).into());
        }
        let columns = if header {
            let name = |(k, name): (usize, &str)| if name.is_empty() { format!("x{}", k + 1) } else { name.to_owned() };
            first.iter().enumerate().map(name).collect()
        } else {
            (1..=first.len()).map(|k| format!("x{k}")).collect()
        };
        Ok(Some(Self { reader, columns, commas: delimiter == b';' }))
    }
}

/// A file of which so many bytes may be read until the next record.
struct Limited<'a> {
    reader: Reader<'a>,
    left: usize,
}

impl Read for Limited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(endless());
        }
        let most = buffer.len().min(self.left);
        let read = self.reader.read(&mut buffer[..most])?;
        self.left -= read;
        Ok(read)
    }
}

impl Source for Delimited<'_> {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next(&mut self, record: &mut Record) -> Result<bool, Fault> {
        self.reader.get_mut().left = LONGEST_LINE;
        let more = self.reader.read_record(&mut record.fields).map_err(|error| fault(error, &self.columns))?;
        if self.commas && record.fields.as_slice().contains(',') {
            record.fields = record.fields.iter().map(decimal).collect();
        }
        let (expected, found) = (self.columns.len(), record.fields.len());
        if more && found != expected {
            return Err(Fault::Ragged { expected, found });
        }
        Ok(more)
    }
}

/// Converts `1.234,5` and `1234,5` to `1234.5`, also after a mark such as `<`; leaves any other text as it is.
fn decimal(field: &str) -> Cow<'_, str> {
    let number = field.trim_start_matches(['<', '>', '=', '≤', '≥', ' ']);
    let mark = &field[..field.len() - number.len()];
    let Some((whole, part)) = number.split_once(',') else { return Cow::Borrowed(field) };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    let mut groups = unsigned.split('.');
    let first = groups.next().unwrap_or_default();
    let grouped = unsigned.contains('.');
    let is_number = digits(part)
        && digits(first)
        && (!grouped || first.len() <= 3)
        && groups.all(|group| group.len() == 3 && digits(group));
    if is_number { Cow::Owned(format!("{mark}{}.{part}", whole.replace('.', ""))) } else { Cow::Borrowed(field) }
}

fn fault(error: csv::Error, columns: &[String]) -> Fault {
    match error.into_kind() {
        ErrorKind::Io(source) => Fault::File(source),
        ErrorKind::Utf8 { err, .. } => {
            let column = columns.get(err.field()).map_or_else(|| format!("field {}", err.field() + 1), Clone::clone);
            Fault::Record(format!(
                "the text in column `{column}` is not UTF-8; `iconv -f WINDOWS-1252 -t UTF-8` converts a file of that code"
            ))
        }
        other => Fault::Record(format!("{other:?}")),
    }
}

/// Whichever of comma, tab, semicolon and bar the first line has most of, outside quotes.
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
    }

    #[test]
    fn a_comma_may_part_the_decimals() {
        let pairs = [
            ("3,5", "3.5"),
            ("-1.234.567,25", "-1234567.25"),
            ("+0,1", "+0.1"),
            ("<0,5", "<0.5"),
            ("≥ 1.000,5", "≥ 1000.5"),
        ];
        assert!(pairs.iter().all(|(text, number)| decimal(text) == *number));
        for text in ["3.5", "a,b", "1,2,3", "12.34,5", "1234.567,8", ",5", "5,", "<1,2,3", "Ulm, 3"] {
            assert_eq!(decimal(text), text);
        }
    }
}
