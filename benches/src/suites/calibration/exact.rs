//! The exact posterior of a few data sets of a setting, by `benches/python/exact.py`, and what the default is worth beside it.
//!
//! A data set for which no exact posterior is stored, or only one of other numbers or of a prior in other units, is written into `target/bench/calibration` for
//! that program to read.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use rand::Rng;
use serde::Serialize;
use serde_json::Value;
use vi_data::fnv;
use vi_models::ModelError;

use super::cells::Cell;
use super::data::Drawn;
use super::worlds::World;
use crate::BenchError;

/// How many data sets of a setting are held against the exact posterior.
const SETS: usize = 4;

/// New rows at which the log loss is taken.
const TEST_ROWS: usize = 500;

/// One data set, with what the default model makes of it.
#[derive(Debug, Default, Clone, Serialize)]
pub(super) struct Held {
    /// Name of the model.
    model: &'static str,
    inputs: usize,
    classes: usize,
    /// In the order of learning, end to end.
    rows: Vec<f64>,
    labels: Vec<f64>,
    /// Centres and scales of the columns, and of the label, that the model took.
    design: Value,
    /// True weights, class after class, in the units of the rows.
    theta: Vec<f64>,
    new: Vec<f64>,
    /// The true predictors at the new rows, class after class.
    predictors: Vec<f64>,
    test: Vec<f64>,
    test_labels: Vec<f64>,
    #[serde(skip)]
    pub(super) loss: f64,
    #[serde(skip)]
    pub(super) evidence: f64,
    /// Whether the model says that rows came in an order.
    #[serde(skip)]
    pub(super) ordered: bool,
}

impl Held {
    /// The data set; `label` draws a label from the predictors of the classes.
    ///
    /// # Errors
    /// Those of `label`.
    pub(super) fn new<R: Rng>(
        cell: &Cell,
        classes: &[&Drawn],
        (rows, labels): (&[f64], Vec<f64>),
        mut label: impl FnMut(&[f64], &mut R) -> Result<f64, ModelError>,
        rng: &mut R,
    ) -> Result<Self, ModelError> {
        let test = cell.rows_of(TEST_ROWS, rng);
        let at: Vec<Vec<f64>> = classes.iter().map(|class| class.at(cell, &test)).collect();
        let test_labels = (0..TEST_ROWS).map(|i| label(&at.iter().map(|at| at[i]).collect::<Vec<_>>(), rng));
        let test_labels = test_labels.collect::<Result<_, ModelError>>()?;
        Ok(Self {
            model: cell.model.name(),
            inputs: cell.inputs,
            classes: cell.world.classes(),
            rows: rows.to_vec(),
            labels,
            theta: classes.iter().flat_map(|class| &class.theta).copied().collect(),
            new: classes.first().map(|class| class.new.clone()).unwrap_or_default(),
            predictors: classes.iter().flat_map(|class| &class.new_predictors).copied().collect(),
            test,
            test_labels,
            ..Self::default()
        })
    }

    /// With what the model says of the new rows and of its rows.
    ///
    /// # Errors
    /// Those of `log_density`.
    pub(super) fn told(
        mut self,
        model: &impl Serialize,
        (evidence, ordered): (f64, bool),
        log_density: impl Fn(&[f64], f64) -> Result<f64, ModelError>,
    ) -> Result<Self, ModelError> {
        let document = serde_json::to_value(model).unwrap_or_default();
        self.design =
            document.get("design").or_else(|| document.pointer("/engine/design")).cloned().unwrap_or_default();
        self.evidence = evidence;
        self.ordered = ordered;
        let logs = self.test.chunks(self.inputs).zip(&self.test_labels).map(|(x, y)| log_density(x, *y));
        self.loss = -logs.sum::<Result<f64, ModelError>>()? / self.test_labels.len() as f64;
        Ok(self)
    }

    /// A hash of the data set and of the units of its prior.
    fn mark(&self) -> String {
        let numbers = [&self.rows, &self.labels, &self.test, &self.test_labels];
        let bytes = numbers.into_iter().flatten().flat_map(|value| value.to_bits().to_le_bytes());
        let units = ["centres", "scales", "target"].map(|part| self.design[part].to_string());
        let marked = bytes.chain(units.concat().into_bytes());
        format!("{:016x}", marked.fold(fnv::START, |hash, byte| fnv::extended(hash, &[byte])))
    }
}

/// What the exact posterior of one data set says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Known {
    /// Shares of its 90 % intervals that hold the truth.
    pub(super) weights: f64,
    pub(super) predictors: f64,
    /// Mean log loss at the new rows.
    pub(super) loss: f64,
    pub(super) evidence: f64,
}

/// What is stored of exact posteriors, by setting and data set.
#[derive(Debug, Default)]
pub(super) struct Exact {
    known: HashMap<(String, usize), (String, Known)>,
    missing: PathBuf,
}

impl Exact {
    /// Reads the table; data sets that it lacks go into the folder `missing`.
    ///
    /// # Errors
    /// [`BenchError::Missing`] for a table that cannot be read, [`BenchError::Write`].
    pub(super) fn read(table: &Path, missing: PathBuf) -> Result<Self, BenchError> {
        let lacks = || BenchError::Missing { what: format!("exact posteriors in {}", table.display()) };
        let text = fs::read_to_string(table).map_err(|_| lacks())?;
        let known = text.lines().skip(1).map(|line| entry(line).ok_or_else(lacks)).collect::<Result<_, _>>()?;
        fs::create_dir_all(&missing).map_err(|source| BenchError::Write { path: missing.clone(), source })?;
        Ok(Self { known, missing })
    }

    /// What is known of this data set; of one of the first few that is unknown, the data are written down.
    pub(super) fn of(&self, setting: &str, replication: usize, held: &Held) -> Option<Known> {
        if replication >= SETS {
            return None;
        }
        let mark = held.mark();
        match self.known.get(&(setting.to_owned(), replication)) {
            Some((stored, known)) if *stored == mark => Some(*known),
            _ => {
                let name = setting.replace('/', "~");
                let path = self.missing.join(format!("{name}~{replication}~{mark}.json"));
                let written = serde_json::to_string(held).map_err(|error| error.to_string());
                let written = written.and_then(|json| fs::write(&path, json).map_err(|error| error.to_string()));
                if let Err(error) = written {
                    eprintln!("calibration: cannot write {}: {error}", path.display());
                }
                None
            }
        }
    }
}

/// `setting,set,mark,weights,predictors,loss,evidence`, and what follows.
fn entry(line: &str) -> Option<((String, usize), (String, Known))> {
    let mut fields = line.split(',');
    let (setting, set, mark) = (fields.next()?, fields.next()?.parse().ok()?, fields.next()?);
    let numbers: Vec<f64> = fields.take(4).map(str::parse).collect::<Result<_, _>>().ok()?;
    let [weights, predictors, loss, evidence] = numbers[..] else { return None };
    Some(((setting.to_owned(), set), (mark.to_owned(), Known { weights, predictors, loss, evidence })))
}

impl Cell {
    /// Whether the setting is held against the exact posterior.
    pub(super) fn is_held(&self) -> bool {
        self.world != World::Gaussian || self.inputs > 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_and_another_data_set_is_not_mistaken_for_it() {
        let folder = std::env::temp_dir().join(format!("vi-exact-{}", std::process::id()));
        let held = Held { rows: vec![1.0], labels: vec![0.0], ..Held::default() };
        let known = Known { weights: 0.9, predictors: 0.85, loss: 0.5, evidence: -12.5 };
        let table = folder.join("exact.csv");
        fs::create_dir_all(&folder).unwrap();
        fs::write(&table, format!("setting,…\na/b,2,{},0.9,0.85,0.5,-12.5,1.01\n", held.mark())).unwrap();
        let exact = Exact::read(&table, folder.join("missing")).unwrap();
        assert_eq!(exact.of("a/b", 2, &held), Some(known));
        assert_eq!(exact.of("a/b", SETS, &held), None);
        assert_eq!(fs::read_dir(folder.join("missing")).unwrap().count(), 0);
        let of_other_units = Held { design: serde_json::json!({"scales": [2.0]}), ..held.clone() };
        let of_other_labels = Held { labels: vec![1.0], ..held };
        assert_eq!([of_other_units, of_other_labels].map(|held| exact.of("a/b", 2, &held)), [None; 2]);
        assert_eq!(fs::read_dir(folder.join("missing")).unwrap().count(), 2);
        fs::remove_dir_all(folder).unwrap();
    }
}
