//! A stored model: its document, the schema that feeds it, and how far it has read.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::CliError;
use crate::model::Model;
use crate::schema::Schema;
use crate::scores::Scores;
use crate::target::Target;

/// The version of model files that this command writes and reads.
const FORMAT: u32 = 1;

/// All that a model file holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    /// The version of the format.
    rvi: u32,
    pub(crate) target: Target,
    pub(crate) schema: Schema,
    /// Records of the last file that have been read, whether they were learned or left out.
    pub(crate) read: u64,
    /// Rows without a target, over all files.
    pub(crate) unlabelled: u64,
    /// Numbers that were missing, over all files.
    pub(crate) imputed: u64,
    /// Entries of sparse files whose inputs the model does not have, over all files.
    #[serde(default)]
    pub(crate) unknown: u64,
    pub(crate) scores: Scores,
    pub(crate) model: Model,
}

impl Document {
    pub(crate) fn new(target: Target, schema: Schema, model: Model) -> Self {
        let scores = Scores::default();
        Self { rvi: FORMAT, target, schema, read: 0, unlabelled: 0, imputed: 0, unknown: 0, scores, model }
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
        if !document.model.is_of(&document.target.kind, document.schema.width()) {
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
