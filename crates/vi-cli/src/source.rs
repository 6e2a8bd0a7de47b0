//! Records from a file, which a thread reads ahead, or from standard input, read as they come.

use std::fs;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use vi_data::records::Record;
use vi_data::records::{Format, Records};
use vi_terms::TermsError;
use vi_terms::table::{Begun, Columns, FileRows, Input, Source};

use crate::error::CliError;
use crate::interrupt;
use crate::progress::Progress;

/// Bytes looked at to find out what a file is.
const LOOK: usize = 1 << 16;

/// A file of records, all with the same columns.
pub(crate) struct File {
    rows: FileRows<'static>,
    bytes: Bytes,
    /// The line on how far it has been read, if there is to be one.
    progress: Option<Progress>,
}

impl File {
    /// # Errors
    /// A file that cannot be read, without columns, or with two of one name.
    pub(crate) fn open(input: &Input) -> Result<Self, CliError> {
        let bytes = Bytes::default();
        let records = if fs::metadata(&input.data).is_ok_and(|file| file.is_file()) {
            let (input, bytes) = (input.clone(), bytes.clone());
            Records::ahead(move || open(&input, &bytes))?
        } else {
            open(input, &bytes)?
        };
        Ok(Self { rows: FileRows::new(records, input), bytes, progress: None })
    }

    /// The same for a further pass, which a line tells of.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn again(input: &Input) -> Result<Self, CliError> {
        Ok(Self { progress: Some(Progress::new()), ..Self::open(input)? })
    }

    pub(crate) fn path(&self) -> &Path {
        self.rows.path()
    }

    /// Rows that were skipped since they could not be read.
    pub(crate) fn skipped(&self) -> u64 {
        self.rows.skipped()
    }

    /// The share of the file that has been read, if that is known.
    pub(crate) fn share(&self) -> Option<f64> {
        self.bytes.share()
    }
}

impl Source for File {
    type Error = CliError;

    fn columns(&self) -> &Columns {
        self.rows.columns()
    }

    fn row(&self) -> u64 {
        self.rows.row()
    }

    /// Records that cannot be read are skipped, if such records are.
    fn next(&mut self, record: &mut Record) -> Result<bool, CliError> {
        loop {
            interrupt::check()?;
            if let Some(progress) = &mut self.progress {
                progress.row(|| self.bytes.share());
            }
            match self.rows.read(record) {
                Err(error) => self.rows.skip(error)?,
                Ok(more) => return Ok(more),
            }
        }
    }

    fn refused(&self, error: TermsError) -> CliError {
        self.rows.refused(error).into()
    }

    fn cause(error: &CliError) -> Option<&TermsError> {
        error.cause()
    }

    fn forgive(&mut self, error: TermsError) -> Result<(), CliError> {
        Ok(self.rows.forgive(error)?)
    }
}

/// Bytes of a file, as it was when it was opened, and those read.
#[derive(Clone, Default)]
struct Bytes {
    all: Arc<AtomicU64>,
    read: Arc<AtomicU64>,
}

impl Bytes {
    fn share(&self) -> Option<f64> {
        let [all, read] = [&self.all, &self.read].map(|bytes| bytes.load(Ordering::Relaxed));
        // Files of columns are read in another way than the bytes of which their beginning was told.
        let known = all > 0 && read > LOOK as u64;
        known.then(|| (read as f64 / all as f64).min(1.0))
    }
}

/// A file whose bytes are counted as they are read.
struct Counted {
    file: fs::File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// The records of a file.
fn open(input: &Input, bytes: &Bytes) -> Result<Records<'static>, CliError> {
    let path = input.data.as_path();
    let cannot = |source| CliError::file(path, source);
    let is_stream = path == Path::new("-");
    let reader: Box<dyn Read> = if is_stream {
        Box::new(io::stdin().lock())
    } else {
        let file = fs::File::open(path).map_err(cannot)?;
        bytes.all.store(file.metadata().map_err(cannot)?.len(), Ordering::Relaxed);
        Box::new(Counted { file, read: Arc::clone(&bytes.read) })
    };
    let begun = Begun::new(BufReader::with_capacity(LOOK, reader), input)?;
    #[cfg(feature = "columnar")]
    if begun.format == Format::Parquet || begun.format == Format::Arrow && begun.is_arrow_file {
        if begun.packed || is_stream {
            let what = "the index of this format is at the end of the file, so it needs an uncompressed file on disk: store it first";
            return Err(cannot(io::Error::new(io::ErrorKind::Unsupported, what)));
        }
        let file = fs::File::open(path).map_err(cannot)?;
        let open = if begun.format == Format::Parquet { Records::parquet } else { Records::arrow_file };
        return Ok(open(file).map_err(|error| vi_terms::table::FileError::of_data(path, error))?);
    }
    #[cfg(not(feature = "columnar"))]
    if matches!(begun.format, Format::Parquet | Format::Arrow) {
        let what = "this `rvi` was built without Parquet and Arrow; build it with `--features columnar`";
        return Err(cannot(io::Error::new(io::ErrorKind::Unsupported, what)));
    }
    Ok(begun.records(input)?)
}
