//! What a run keeps on disk: a temporary file, synced, then renamed, the generation before kept.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use vi_core::checkpoint;

use super::{SoakError, models};
use crate::hostile::AnyModel;

const KIND: &str = "vi-tests/soak";

/// No state of a run is longer.
const LIMIT: u64 = 1 << 28;

/// What is counted of one model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learner {
    /// Its name.
    pub name: String,
    /// Rows learned.
    pub learned: u64,
    /// Rows refused.
    pub refused: u64,
    /// Rows refused that hold finite numbers.
    pub refused_good: u64,
    /// Of those, the last ones without a row learned between.
    pub refused_running: u64,
}

/// All of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The stream's seed.
    pub seed: u64,
    /// Rows that have passed.
    pub passed: u64,
    /// One for each model.
    pub counts: Vec<Learner>,
    /// The models as documents.
    pub documents: Vec<String>,
}

impl State {
    /// Before the first row.
    ///
    /// # Errors
    /// Those of the models.
    pub fn start(seed: u64) -> Result<Self, SoakError> {
        let mut state = Self { seed, passed: 0, counts: Vec::new(), documents: Vec::new() };
        for (name, family, settings) in models() {
            let model = AnyModel::new(family, super::INPUTS, settings)?;
            state.documents.push(model.text()?);
            state.counts.push(Learner { name, learned: 0, refused: 0, refused_good: 0, refused_running: 0 });
        }
        Ok(state)
    }

    /// The models.
    ///
    /// # Errors
    /// A document that is refused.
    pub fn learners(&self) -> Result<Vec<AnyModel>, SoakError> {
        let models = models();
        let read = |((_, family, _), text): (&(_, usize, _), &String)| Ok(AnyModel::read(*family, text)?);
        models.iter().zip(&self.documents).map(read).collect()
    }

    /// Takes the models' documents.
    ///
    /// # Errors
    /// A model that cannot be stored.
    pub fn keep(&mut self, learners: &[AnyModel]) -> Result<(), SoakError> {
        self.documents = learners.iter().map(AnyModel::text).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Writes it into `folder`: a crash at any moment leaves this state or the one before.
    ///
    /// # Errors
    /// Those of the files.
    pub fn write(&self, folder: &Path) -> Result<(), SoakError> {
        let (temporary, current) = (folder.join("state.new"), folder.join("state"));
        let mut bytes = Vec::new();
        checkpoint::write(&mut bytes, KIND, self)?;
        let mut file = File::create(&temporary)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        if current.exists() {
            fs::rename(&current, folder.join("state.previous"))?;
        }
        fs::rename(&temporary, &current)?;
        Ok(File::open(folder)?.sync_all()?)
    }

    /// The newest state in `folder` that is whole; none in an empty folder.
    ///
    /// # Errors
    /// That of the older state, where neither can be read.
    pub fn read(folder: &Path) -> Result<Option<Self>, SoakError> {
        let mut failure = None;
        for name in ["state", "state.previous"] {
            let path = folder.join(name);
            if !path.exists() {
                continue;
            }
            match checkpoint::read(&mut File::open(path)?, KIND, LIMIT) {
                Ok(state) => return Ok(Some(state)),
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(None), |error| Err(error.into()))
    }
}
