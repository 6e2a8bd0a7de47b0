//! A stored model: its document, the schema that feeds it, and how far it has read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use vi_data::fnv;

use crate::args::Input;
use crate::error::CliError;
use crate::model::Model;
use crate::refine::Refined;
use crate::relevance::Relevance;
use crate::reorder::Reordered;
use crate::schema::Schema;
use crate::scores::Scores;
use crate::target::Target;

/// The version of model files that this command writes and reads.
const FORMAT: u32 = 2;

/// All that a model file holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    /// The version of the format.
    rvi: u32,
    pub(crate) target: Target,
    pub(crate) schema: Schema,
    /// The files that have been learned, the last perhaps in part.
    pub(crate) passes: Vec<Pass>,
    /// Rows without a target, over all files.
    pub(crate) unlabelled: u64,
    /// Numbers that were missing, over all files.
    pub(crate) imputed: u64,
    /// Entries of sparse files whose inputs the model does not have, over all files.
    #[serde(default)]
    pub(crate) unknown: u64,
    /// Rows in which a column was not what it had been in all first rows, over all files.
    pub(crate) changed: BTreeMap<String, u64>,
    pub(crate) scores: Scores,
    /// Shape and rate of what was believed of the precision of a number's noise at first.
    pub(crate) noise: (f64, f64),
    /// What gave each input its prior scale, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) relevance: Option<Relevance>,
    /// Rows of the record that the model was made of, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) imported: Option<u64>,
    /// What the passes after the first have done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refined: Option<Refined>,
    /// That the rows were learned again in a random order, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reordered: Option<Reordered>,
    pub(crate) model: Model,
}

/// How far a file has been read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pass {
    pub(crate) input: Input,
    /// Records that have been read, whether they were learned or left out.
    pub(crate) rows: u64,
    /// The hash of those that could be read.
    pub(crate) fingerprint: u64,
}

impl Pass {
    /// A pass about to begin.
    pub(crate) fn new(input: &Input) -> Self {
        Self { input: input.clone(), rows: 0, fingerprint: fnv::START }
    }
}

impl Document {
    pub(crate) fn new(target: Target, schema: Schema, model: Model, noise: (f64, f64)) -> Self {
        let scores = Scores::default();
        let passes = Vec::new();
        Self {
            rvi: FORMAT,
            target,
            schema,
            passes,
            unlabelled: 0,
            imputed: 0,
            unknown: 0,
            changed: BTreeMap::new(),
            scores,
            noise,
            relevance: None,
            imported: None,
            refined: None,
            reordered: None,
            model,
        }
    }

    /// Whether rows with the fingerprint of `pass` have been learned.
    pub(crate) fn has_learned(&self, pass: &Pass) -> bool {
        self.passes.iter().any(|own| (own.rows, own.fingerprint) == (pass.rows, pass.fingerprint))
    }

    /// The scores on the way to the model that there is: of the random order, where the rows were learned again in one.
    pub(crate) fn own_scores(&self) -> &Scores {
        self.reordered.as_ref().map_or(&self.scores, |again| &again.scores)
    }

    /// Records of the last file that have been read.
    pub(crate) fn row(&self) -> u64 {
        self.passes.last().map_or(0, |pass| pass.rows)
    }

    /// Adds what another model has counted; the models themselves are not brought together here.
    pub(crate) fn add_counts(&mut self, other: &Self) {
        self.passes.extend(other.passes.iter().cloned());
        self.imported = self.imported.into_iter().chain(other.imported).reduce(u64::saturating_add);
        self.unlabelled += other.unlabelled;
        self.imputed += other.imputed;
        self.unknown += other.unknown;
        for (column, rows) in &other.changed {
            *self.changed.entry(column.clone()).or_default() += rows;
        }
        self.scores.merge(&other.scores);
    }

    /// # Errors
    /// A file that cannot be read, is no model, is of a later version, or whose parts do not belong together.
    pub(crate) fn open(path: &Path) -> Result<Self, CliError> {
        #[derive(Deserialize)]
        struct Version {
            rvi: u32,
        }
        let fail = |what: String| CliError::Document { path: path.to_owned(), what };
        let bytes = {
            let mut bytes = Vec::new();
            let file = File::open(path).map_err(|error| CliError::file(path, error))?;
            BufReader::new(file).read_to_end(&mut bytes).map_err(|error| CliError::file(path, error))?;
            bytes
        };
        let Version { rvi } =
            serde_json::from_slice(&bytes).map_err(|_| fail("this is no model of `rvi`".to_owned()))?;
        if rvi != FORMAT {
            return Err(fail(format!("a model of version {rvi}; this `rvi` reads version {FORMAT}")));
        }
        let document: Self =
            serde_json::from_slice(&bytes).map_err(|error| fail(format!("the model is damaged: {error}")))?;
        document.schema.check(path)?;
        let width = document.schema.width();
        let relevant = document.relevance.as_ref().is_none_or(|relevance| relevance.is_of(width));
        if !relevant || !document.model.is_of(&document.target.kind, width) {
            return Err(fail("the model is damaged: its parts do not belong together".to_owned()));
        }
        Ok(document)
    }

    /// # Errors
    /// A disk that does not take it; the old file is then as it was.
    pub(crate) fn save(&self, path: &Path) -> Result<(), CliError> {
        whole_file(path, |out| serde_json::to_writer(out, self).map_err(|error| CliError::file(path, error.into())))
    }
}

/// Writes beside `path` and takes its place when all is on the disk: whoever reads finds the old file or the new one, and never a part.
///
/// # Errors
/// What `write` returns; a disk that does not take it. The old file is then as it was.
pub(crate) fn whole_file<T>(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let failed = |error| CliError::file(path, error);
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    let written = (|| {
        let mut out = BufWriter::new(File::create(&part).map_err(failed)?);
        let result = write(&mut out)?;
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().and_then(|()| fs::rename(&part, path)).map_err(failed)?;
        Ok(result)
    })();
    if written.is_err() {
        // What could not be finished is not left behind.
        let _gone = fs::remove_file(&part);
    }
    written
}
