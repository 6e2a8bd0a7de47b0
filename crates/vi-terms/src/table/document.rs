//! A stored model: its document, the schema that feeds it, and how far it has read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use vi_core::checkpoint::Seal;
use vi_data::fnv;
use vi_models::online::{Model, Order};

use crate::TermsError;
use crate::table::choose::Chosen;
use crate::table::grouped::Groups;
use crate::table::means::Means;
use crate::table::options::Input;
use crate::table::plan::is_of;
use crate::table::refine::Refined;
use crate::table::relevance::Relevance;
use crate::table::reorder::{AWAITS_ORDER, Reordered};
use crate::table::schema::Schema;
use crate::table::scores::Scores;
use crate::table::target::Target;

/// The version of model files that this command writes.
const FORMAT: u32 = 3;
/// The one before, which it reads too: of its parts the model alone is sealed.
const UNSEALED: u32 = 2;

/// All that a model file holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The seal of the text that follows it.
    #[serde(default, skip_serializing)]
    seal: Option<Seal>,
    /// The version of the format that it was read in, or is to be written in.
    #[serde(serialize_with = "latest")]
    pub rvi: u32,
    /// The column that is predicted.
    pub target: Target,
    /// The columns that are its inputs.
    pub schema: Schema,
    /// The files that have been learned, the last perhaps in part.
    pub passes: Vec<Pass>,
    /// Rows without a target, over all files.
    pub(crate) unlabelled: u64,
    /// Numbers that were missing, over all files.
    pub(crate) imputed: u64,
    /// Entries of sparse files whose inputs the model does not have, over all files.
    #[serde(default)]
    pub(crate) unknown: u64,
    /// Rows in which a column was not what it had been in all first rows, over all files.
    pub(crate) changed: BTreeMap<String, u64>,
    /// The scores of all rows, each predicted before it was learned.
    pub scores: Scores,
    /// Shape and rate of what was believed of the precision of a number's noise at first.
    pub noise: (f64, f64),
    /// The mean labels of the levels of columns that have many.
    #[serde(default, skip_serializing_if = "Means::is_empty")]
    pub(crate) means: Means,
    /// The groups, where their effects are kept by the model itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) groups: Option<Groups>,
    /// What gave each input its prior scale, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) relevance: Option<Relevance>,
    /// The family that the first rows preferred, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) chosen: Option<Chosen>,
    /// Rows of the record that the model was made of, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<u64>,
    /// The last of the rows by whose labels family, curves or scales were chosen, so that predictions up to it are made with hindsight; none where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) foreseen: Option<u64>,
    /// What the passes after the first have done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refined: Option<Refined>,
    /// That the rows were learned again in a random order, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reordered: Option<Reordered>,
    /// Whether [`reorder`](crate::table::reorder) is still to come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub to_reorder: bool,
    /// The model beneath.
    pub model: Model,
}

/// How far a file has been read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pass {
    /// The table.
    pub input: Input,
    /// Records that have been read, whether they were learned or left out.
    pub rows: u64,
    /// The hash of those that could be read.
    pub fingerprint: u64,
    /// Whether the pass was stopped before the end of the table.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}

impl Pass {
    /// The fingerprint of no row.
    pub(crate) const START: u64 = fnv::START;

    /// A pass about to begin.
    #[must_use]
    pub fn new(input: &Input) -> Self {
        Self { input: input.clone(), rows: 0, fingerprint: Self::START, stopped: false }
    }
}

impl Document {
    /// A model that has learned no row; `noise` is the shape and rate of what is believed of the precision of a number's noise.
    #[must_use]
    pub fn new(target: Target, schema: Schema, model: Model, noise: (f64, f64)) -> Self {
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
            means: Means::default(),
            groups: None,
            relevance: None,
            chosen: None,
            imported: None,
            foreseen: None,
            refined: None,
            reordered: None,
            to_reorder: false,
            model,
        }
    }

    /// The first other pass over the rows of `pass`, whatever the files are called.
    #[must_use]
    pub fn learned_before<'a>(&'a self, pass: &Pass) -> Option<&'a Pass> {
        let same = |own: &&Pass| own.rows > 0 && (own.rows, own.fingerprint) == (pass.rows, pass.fingerprint);
        self.passes.iter().find(same).filter(|own| !std::ptr::eq(*own, pass))
    }

    /// The scores on the way to the model that there is: of the random order, where the rows were learned again in one.
    #[must_use]
    pub fn own_scores(&self) -> &Scores {
        self.reordered.as_ref().map_or(&self.scores, |again| &again.scores)
    }

    /// Why the order of the rows makes the model unreliable, if it does.
    #[must_use]
    pub fn unreliable(&self) -> Option<String> {
        if self.awaits_order() {
            return Some(format!("the model is unreliable: {AWAITS_ORDER}"));
        }
        let order = self.model.info().order.filter(Order::matters)?;
        Some(format!("the model is unreliable: {order}"))
    }

    /// Records of the last file that have been read.
    #[must_use]
    pub fn row(&self) -> u64 {
        self.passes.last().map_or(0, |pass| pass.rows)
    }

    /// Checks the number and the fingerprint of the records of a table against those of the last table that was learned.
    ///
    /// # Errors
    /// [`TermsError::Changed`].
    pub(crate) fn check_read(&self, read: (u64, u64)) -> Result<(), TermsError> {
        match self.passes.last().map(|pass| (pass.rows, pass.fingerprint)) {
            Some(known) if known != read => Err(TermsError::Changed { rows: known.0 }),
            _ => Ok(()),
        }
    }

    /// Adds what another model has counted; the models themselves are not brought together here.
    pub(crate) fn add_counts(&mut self, other: &Self) {
        self.passes.extend(other.passes.iter().cloned());
        self.imported = self.imported.into_iter().chain(other.imported).reduce(u64::saturating_add);
        self.unlabelled += other.unlabelled;
        self.imputed += other.imputed;
        self.foreseen = self.foreseen.max(other.foreseen);
        self.unknown += other.unknown;
        for (column, rows) in &other.changed {
            *self.changed.entry(column.clone()).or_default() += rows;
        }
        self.scores.merge(&other.scores);
        self.to_reorder |= other.to_reorder;
    }

    /// Reads the bytes of a model file.
    ///
    /// # Errors
    /// [`TermsError::Document`] for what is no model, of a later version, or whose parts do not belong together.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, TermsError> {
        #[derive(Deserialize)]
        struct Version {
            rvi: u32,
        }
        let fail = |what: String| TermsError::Document { what };
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
        document.schema.check()?;
        let width = document.schema.width();
        let grouped = match (&document.groups, &document.model) {
            (Some(groups), Model::Grouped(model)) => groups.is_of(model.groups()),
            (None, Model::Grouped(_)) | (Some(_), _) => false,
            (None, _) => !document.schema.columns.is_empty(),
        };
        let relevant = document.relevance.as_ref().is_none_or(|relevance| relevance.is_of(width));
        let meant = document.means.is_of(&document.target, &document.schema);
        if !grouped || !relevant || !meant || !is_of(&document.model, &document.target.kind, width) {
            return Err(damaged(&"its parts contradict each other"));
        }
        Ok(document)
    }

    /// The text of the model file: the seal, and what it is of.
    ///
    /// # Errors
    /// [`TermsError::Document`] for a model that cannot be stored.
    pub fn text(&self) -> Result<String, TermsError> {
        let failed = |error: &dyn std::fmt::Display| TermsError::Document { what: error.to_string() };
        let mut rest = serde_json::to_string(self).map_err(|error| failed(&error))?;
        rest.replace_range(..1, ",");
        let seal = Seal::of(&rest).map_err(|error| failed(&error))?;
        let seal = serde_json::to_string(&seal).map_err(|error| failed(&error))?;
        Ok(format!("{{\"seal\":{seal}{rest}"))
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
