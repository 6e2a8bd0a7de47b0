//! How a file is written: told by its option, by its name, or by how it begins.

use std::path::Path;

use crate::args::InputFormat;

/// The format that the end of a file's name says, that of a compressed file by what stands before.
pub(super) fn by_name(path: &Path) -> Option<InputFormat> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    Some(match name.rsplit_once('.')?.1 {
        "csv" => InputFormat::Csv,
        "tsv" | "tab" => InputFormat::Tsv,
        "jsonl" | "ndjson" | "json" => InputFormat::Jsonl,
        "libsvm" | "svm" | "svmlight" => InputFormat::Libsvm,
        "vw" => InputFormat::Vw,
        "parquet" | "pq" => InputFormat::Parquet,
        "arrow" | "arrows" | "feather" | "ipc" => InputFormat::Arrow,
        _ => return None,
    })
}

/// The format that the first bytes of a file of which no name tells suggest.
pub(super) fn by_start(start: &[u8]) -> InputFormat {
    if start.starts_with(b"PAR1") {
        InputFormat::Parquet
    } else if start.starts_with(b"ARROW1") || start.starts_with(&[0xff; 4]) {
        InputFormat::Arrow
    } else if start.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
        InputFormat::Jsonl
    } else {
        InputFormat::Csv
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_first_bytes_tell_the_format() {
        let name = |name: &str| by_name(Path::new(name));
        assert_eq!(name("a/b.c/flights.CSV"), Some(InputFormat::Csv));
        assert_eq!(name("x.tsv.gz"), Some(InputFormat::Tsv));
        assert_eq!(name("x.vw.zst"), Some(InputFormat::Vw));
        assert_eq!((name("-"), name("x.gz"), name("x.txt")), (None, None, None));
        assert_eq!(by_start(b"\n {\"a\": 1}"), InputFormat::Jsonl);
        assert_eq!(by_start(b"PAR1\x15\x04"), InputFormat::Parquet);
        assert_eq!(by_start(b"a;b\n"), InputFormat::Csv);
    }
}
