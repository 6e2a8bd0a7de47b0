//! Formats of files of records, recognised by name or by first bytes.

use std::path::Path;

/// The format of a file of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Fields between delimiters, possibly quoted. In files separated by semicolons numbers may have a decimal comma.
    Delimited {
        /// The byte between fields; `None` for whichever of comma, tab, semicolon and bar the first line has most of.
        delimiter: Option<u8>,
        /// Whether the first line names the columns.
        header: bool,
    },
    /// A JSON object on each line; the columns are the keys of the first (feature `json`).
    JsonLines,
    /// `label index:value …` on each line.
    Libsvm,
    /// `[label [importance]] [tag]|space[:scale] name[:value] …` on each line.
    VowpalWabbit,
    /// Parquet (feature `columnar`).
    Parquet,
    /// Arrow IPC (feature `columnar`).
    Arrow,
    /// The first sheet of a spreadsheet of Excel or OpenDocument, whose first row names the columns (feature `sheets`).
    Sheet,
}

impl Format {
    /// Delimited text whose first line names the columns and shows the delimiter.
    pub const CSV: Self = Self::Delimited { delimiter: None, header: true };

    /// Tab-separated text whose first line names the columns.
    pub const TSV: Self = Self::Delimited { delimiter: Some(b'\t'), header: true };

    /// The format that the extension of a file's name says, for a compressed file the extension before; `None` if it says none.
    ///
    /// ```
    /// use vi_data::records::Format;
    ///
    /// assert_eq!(Format::by_name("flights.csv.gz".as_ref()), Some(Format::CSV));
    /// assert_eq!(Format::by_name("flights.txt".as_ref()), None);
    /// ```
    #[must_use]
    pub fn by_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        Some(match name.rsplit_once('.')?.1 {
            "csv" => Self::CSV,
            "tsv" | "tab" => Self::TSV,
            "jsonl" | "ndjson" | "json" => Self::JsonLines,
            "libsvm" | "svm" | "svmlight" => Self::Libsvm,
            "vw" => Self::VowpalWabbit,
            "parquet" | "pq" => Self::Parquet,
            "arrow" | "arrows" | "feather" | "ipc" => Self::Arrow,
            "xlsx" | "xlsm" | "xlsb" | "xls" | "ods" => Self::Sheet,
            _ => return None,
        })
    }

    /// The format that the first bytes of a file suggest: Parquet, Arrow, spreadsheets, JSON lines, and delimited text for all else.
    ///
    /// ```
    /// use vi_data::records::Format;
    ///
    /// assert_eq!(Format::by_start(b"{\"a\": 1}\n"), Format::JsonLines);
    /// assert_eq!(Format::by_start(b"a;b\n1;2\n"), Format::CSV);
    /// ```
    #[must_use]
    pub fn by_start(start: &[u8]) -> Self {
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        if start.starts_with(b"PAR1") {
            Self::Parquet
        } else if Self::is_arrow_file(start) || start.starts_with(&[0xff; 4]) {
            Self::Arrow
        } else if start.starts_with(b"PK\x03\x04") || start.starts_with(b"\xd0\xcf\x11\xe0") {
            Self::Sheet
        } else if start.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
            Self::JsonLines
        } else {
            Self::CSV
        }
    }

    /// Whether bytes begin an Arrow IPC file with its index at its end, for [`Records::arrow_file`](super::Records::arrow_file).
    #[must_use]
    pub fn is_arrow_file(start: &[u8]) -> bool {
        start.starts_with(b"ARROW1")
    }

    /// Whether files of this format are text.
    pub(super) fn is_text(self) -> bool {
        !matches!(self, Self::Parquet | Self::Arrow | Self::Sheet)
    }
}

impl std::fmt::Display for Format {
    /// The name of the format.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Delimited { .. } => "delimited text",
            Self::JsonLines => "JSON lines",
            Self::Libsvm => "LIBSVM",
            Self::VowpalWabbit => "Vowpal Wabbit",
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow IPC",
            Self::Sheet => "a spreadsheet",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_first_bytes_tell_the_format() {
        let name = |name: &str| Format::by_name(Path::new(name));
        assert_eq!(name("a/b.c/flights.CSV"), Some(Format::CSV));
        assert_eq!(name("x.tsv.gz"), Some(Format::TSV));
        assert_eq!((name("x.xlsx"), Format::by_start(b"PK\x03\x04")), (Some(Format::Sheet), Format::Sheet));
        assert_eq!(name("x.vw.zst"), Some(Format::VowpalWabbit));
        assert_eq!((name("-"), name("x.gz"), name("x.txt")), (None, None, None));
        assert_eq!(Format::by_start(b"\n {\"a\": 1}"), Format::JsonLines);
        assert_eq!(Format::by_start(b"PAR1\x15\x04"), Format::Parquet);
        assert_eq!(Format::by_start(b"\xef\xbb\xbf{\"a\": 1}"), Format::JsonLines);
        assert_eq!(Format::by_start(b"a;b\n"), Format::CSV);
    }
}
