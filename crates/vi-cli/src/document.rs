//! A stored model: its document, the schema that feeds it, and how far it has read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize, Serializer};
use vi_core::checkpoint::Seal;
use vi_data::fnv;
use vi_models::online::Model;

use crate::args::Input;
use crate::error::CliError;
use crate::files::{Held, read_whole};
use crate::model::is_of;
use crate::refine::Refined;
use crate::relevance::Relevance;
use crate::reorder::Reordered;
use crate::schema::Schema;
use crate::scores::Scores;
use crate::target::Target;

/// The version of model files that this command writes.
const FORMAT: u32 = 3;
/// The one before, which it reads too: of its parts the model alone is sealed.
const UNSEALED: u32 = 2;

/// All that a model file holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    /// The seal of the text that follows it.
    #[serde(default, skip_serializing)]
    seal: Option<Seal>,
    /// The version of the format that it was read in, or is to be written in.
    #[serde(serialize_with = "latest")]
    pub(crate) rvi: u32,
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
            seal: None,
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

    /// The first other pass over the rows of `pass`, whatever the files are called.
    pub(crate) fn learned_before<'a>(&'a self, pass: &Pass) -> Option<&'a Pass> {
        let same = |own: &&Pass| own.rows > 0 && (own.rows, own.fingerprint) == (pass.rows, pass.fingerprint);
        self.passes.iter().find(same).filter(|own| !std::ptr::eq(*own, pass))
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

    /// Reads a model that is not to be changed.
    ///
    /// # Errors
    /// A file that cannot be read, is no model, is of a later version, or whose parts do not belong together.
    pub(crate) fn open(path: &Path) -> Result<Self, CliError> {
        let mut file = File::open(path).map_err(|error| CliError::file(path, error))?;
        Self::of_bytes(&read_whole(&mut file, path)?, path)
    }

    /// Reads a model that is to be replaced, once no other process is about to.
    ///
    /// # Errors
    /// As [`open`](Self::open); a wish to stop while it waits.
    pub(crate) fn hold(path: &Path) -> Result<(Self, Held), CliError> {
        let (held, bytes) = Held::open(path)?;
        Ok((Self::of_bytes(&bytes, path)?, held))
    }

    fn of_bytes(bytes: &[u8], path: &Path) -> Result<Self, CliError> {
        #[derive(Deserialize)]
        struct Version {
            rvi: u32,
        }
        let fail = |what: String| CliError::Document { path: path.to_owned(), what };
        let damaged = |what: &dyn std::fmt::Display| fail(format!("the model is damaged: {what}"));
        let Version { rvi } = serde_json::from_slice(bytes).map_err(|_| fail("not a model of `rvi`".to_owned()))?;
        if ![FORMAT, UNSEALED].contains(&rvi) {
            let what = format!("a model of version {rvi}; this `rvi` reads versions {UNSEALED} and {FORMAT}");
            return Err(fail(what));
        }
        let mut document: Self = serde_json::from_slice(bytes).map_err(|error| damaged(&error))?;
        match (document.seal.take(), sealed_part(bytes)) {
            (Some(seal), Some(rest)) if rvi == FORMAT => seal.check(&rest).map_err(|error| damaged(&error))?,
            (None, _) if rvi == UNSEALED => {}
            _ => return Err(damaged(&"its seal is not at the start")),
        }
        document.schema.check(path)?;
        let width = document.schema.width();
        let relevant = document.relevance.as_ref().is_none_or(|relevance| relevance.is_of(width));
        if !relevant || !is_of(&document.model, &document.target.kind, width) {
            return Err(damaged(&"its parts contradict each other"));
        }
        Ok(document)
    }

    /// The text of the model file: the seal, and what it is of.
    ///
    /// # Errors
    /// A model that cannot be stored, at `path`.
    fn text(&self, path: &Path) -> Result<String, CliError> {
        let failed = |error: &dyn std::fmt::Display| CliError::file(path, io::Error::other(error.to_string()));
        let mut rest = serde_json::to_string(self).map_err(|error| failed(&error))?;
        rest.replace_range(..1, ",");
        let seal = Seal::of(&rest).map_err(|error| failed(&error))?;
        let seal = serde_json::to_string(&seal).map_err(|error| failed(&error))?;
        Ok(format!("{{\"seal\":{seal}{rest}"))
    }

    /// Stores it where there was nothing, or another model.
    ///
    /// # Errors
    /// A disk that does not take it; the old file is then as it was.
    pub(crate) fn save(&self, path: &Path) -> Result<(), CliError> {
        self.save_held(path, &mut None)
    }

    /// Stores it where it is read and written by this process alone: from the first time on if `held` is of another file.
    ///
    /// # Errors
    /// As [`save`](Self::save); a file that another program has changed meanwhile.
    pub(crate) fn save_held(&self, path: &Path, held: &mut Option<Held>) -> Result<(), CliError> {
        let text = self.text(path)?;
        match held {
            Some(held) => held.replace(text.as_bytes()),
            None => Held::create(path, text.as_bytes()).map(|created| *held = created),
        }
    }
}

/// Whatever was read, what is written is of this version.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn latest<S: Serializer>(_: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u32(FORMAT)
}

/// What of a model file its seal is of: all after it.
fn sealed_part(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    text.starts_with("{\"seal\":").then(|| text.split_once('}').map(|(_, rest)| rest)).flatten()
}
