//! The data sets: real ones, out of the Python packages that carry them; one split for all methods.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_data::{CsvSettings, Dataset, read_csv};

use crate::BenchError;

/// What a label is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// 0 or 1.
    Two,
    /// One of so many classes.
    Many(usize),
    /// A number.
    Number,
    /// 0, 1, 2, ….
    Count,
}

impl Kind {
    /// Its name in the script of the peers.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Two => "two",
            Self::Many(_) => "many",
            Self::Number => "number",
            Self::Count => "count",
        }
    }

    pub(super) fn is_class(self) -> bool {
        matches!(self, Self::Two | Self::Many(_))
    }
}

/// Which rows are learned, and which predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    /// Three quarters, drawn, are learned; the others predicted.
    Drawn,
    /// Of so many rows at most the first three quarters are learned; the others predicted.
    First(usize),
    /// So many rows at most, each predicted and then learned, in their order.
    Stream(usize),
}

/// A task.
#[derive(Debug, Clone, Copy)]
pub(super) struct Set {
    pub(super) name: &'static str,
    /// The file in `target/data`, as `xtask/data.py` calls it.
    pub(super) file: &'static str,
    pub(super) about: &'static str,
    pub(super) kind: Kind,
    pub(super) split: Split,
    /// Where given, the label is whether the file's is above this.
    pub(super) above: Option<f64>,
}

const fn set(name: &'static str, file: &'static str, about: &'static str, kind: Kind, split: Split) -> Set {
    Set { name, file, about, kind, split, above: None }
}

/// Flights that are taken, in their order.
const FLIGHTS: usize = 120_000;

/// The tasks of the suite.
pub(super) const SETS: [Set; 12] = [
    set("phishing", "phishing", "websites, 9 inputs: phishing or not", Kind::Two, Split::Drawn),
    set("bananas", "bananas", "2 inputs: two banana-shaped classes, which no line parts", Kind::Two, Split::Drawn),
    set("tumours", "tumours", "breast cancer, 30 inputs: benign or malignant", Kind::Two, Split::Drawn),
    set("digits", "digits", "images of 8 by 8 pixels: which of ten digits", Kind::Many(10), Split::Drawn),
    set("segments", "segments", "patches of images, 18 inputs: one of seven kinds", Kind::Many(7), Split::Drawn),
    set("diabetes", "diabetes", "10 inputs: progression of the disease", Kind::Number, Split::Drawn),
    set("randhie", "randhie", "health insurance, 9 inputs: number of visits to a doctor", Kind::Count, Split::Drawn),
    set(
        "delay",
        "flights",
        "flights from New York in 2013, 28 inputs: minutes late, the last quarter of the first 120,000 by those before",
        Kind::Number,
        Split::First(FLIGHTS),
    ),
    Set {
        above: Some(15.0),
        ..set("late", "flights", "the same flights: more than 15 minutes late or not", Kind::Two, Split::First(FLIGHTS))
    },
    set("phishing_stream", "phishing", "phishing, in its order", Kind::Two, Split::Stream(usize::MAX)),
    set(
        "shuttle_stream",
        "shuttle",
        "sensors of a space shuttle, 9 inputs: anomaly or not",
        Kind::Two,
        Split::Stream(usize::MAX),
    ),
    Set {
        above: Some(15.0),
        ..set("late_stream", "flights", "the first 50,000 flights: late or not", Kind::Two, Split::Stream(50_000))
    },
];

impl Set {
    pub(super) fn is_stream(&self) -> bool {
        matches!(self.split, Split::Stream(_))
    }

    /// Whether it is learned in a second or so by every method.
    pub(super) fn is_small(&self) -> bool {
        !matches!(self.file, "flights" | "shuttle" | "randhie")
    }

    /// The file of the rows that are learned.
    pub(super) fn train(&self) -> PathBuf {
        folder().join(format!("{}-train.csv", self.name))
    }

    /// The file of the rows that are predicted; of a stream that of those that are learned.
    pub(super) fn test(&self) -> PathBuf {
        if self.is_stream() { self.train() } else { folder().join(format!("{}-test.csv", self.name)) }
    }

    /// Writes the files of the split from that in `data`, each also in Vowpal Wabbit's format; the numbers of rows and of the labels
    /// that are predicted.
    ///
    /// # Errors
    /// `Data` for a file that cannot be read, `Write`.
    pub(super) fn write(&self, data: &Path) -> Result<(usize, Vec<f64>), BenchError> {
        let rows = read(&data.join(format!("{}.csv", self.file)))?;
        let rows = if self.split == Split::Drawn { rows.shuffled(&mut ChaCha8Rng::seed_from_u64(17)) } else { rows };
        let y: Vec<f64> = match self.above {
            Some(limit) => rows.y().iter().map(|y| f64::from(u8::from(*y > limit))).collect(),
            None => rows.y().to_vec(),
        };
        let learned = match self.split {
            Split::Drawn => rows.n() * 3 / 4,
            Split::First(most) => rows.n().min(most) * 3 / 4,
            Split::Stream(most) => rows.n().min(most),
        };
        self.write_part(&rows, &y, 0..learned, &self.train())?;
        if self.is_stream() {
            return Ok((learned, y[..learned].to_vec()));
        }
        let end = if let Split::First(most) = self.split { rows.n().min(most) } else { rows.n() };
        self.write_part(&rows, &y, learned..end, &self.test())?;
        Ok((learned, y[learned..end].to_vec()))
    }

    fn write_part(
        &self,
        rows: &Dataset,
        y: &[f64],
        part: std::ops::Range<usize>,
        path: &Path,
    ) -> Result<(), BenchError> {
        let mut csv = rows.columns().join(",") + ",label\n";
        let mut vw = String::new();
        for i in part {
            for value in rows.row(i) {
                let _ = write!(csv, "{value},");
            }
            let _ = writeln!(csv, "{}", y[i]);
            let label = match self.kind {
                Kind::Two => 2.0 * y[i] - 1.0,
                Kind::Many(_) => y[i] + 1.0,
                Kind::Number | Kind::Count => y[i],
            };
            let _ = write!(vw, "{label} |");
            for (j, value) in rows.row(i).iter().enumerate().filter(|(_, value)| **value != 0.0) {
                let _ = write!(vw, " {j}:{value}");
            }
            vw.push('\n');
        }
        for (path, text) in [(path.to_path_buf(), csv), (path.with_extension("vw"), vw)] {
            fs::write(&path, text).map_err(|source| BenchError::Write { path, source })?;
        }
        Ok(())
    }
}

/// Where the split files and the predictions go.
pub(super) fn folder() -> PathBuf {
    crate::folder().join("peers")
}

/// A file of numbers with a header and the label in its last column.
pub(super) fn read(path: &Path) -> Result<Dataset, BenchError> {
    let file = File::open(path).map_err(|_| BenchError::Missing { what: format!("the data, {}", path.display()) })?;
    Ok(read_csv(BufReader::new(file), &CsvSettings::default())?)
}
