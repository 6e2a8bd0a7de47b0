//! What a run keeps on disk: a temporary file, synced, then renamed, the generation before kept.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use vi_core::checkpoint;
use vi_models::online::Model;

use super::{SoakError, models};

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
        for (name, kind, settings) in models() {
            let model = Model::new(kind, super::INPUTS, settings)?;
            state.documents.push(serde_json::to_string(&model)?);
            state.counts.push(Learner { name, learned: 0, refused: 0, refused_good: 0, refused_running: 0 });
        }
        Ok(state)
    }

    /// The models.
    ///
    /// # Errors
    /// A document that is refused.
    pub fn learners(&self) -> Result<Vec<Model>, SoakError> {
        self.documents.iter().map(|text| Ok(serde_json::from_str(text)?)).collect()
    }

    /// Takes the models' documents.
    ///
    /// # Errors
    /// A model that cannot be stored.
    pub fn keep(&mut self, learners: &[Model]) -> Result<(), SoakError> {
        self.documents = learners.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
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
