//! Files of models.

use std::fs::File;
use std::io;
use std::path::Path;

use vi_terms::TermsError;
use vi_terms::table::Document;

use crate::error::CliError;
use crate::files::{Held, read_whole};

/// Reads a model that is not to be changed.
///
/// # Errors
/// A file that cannot be read, is no model, is of a later version, or whose parts do not belong together.
pub(crate) fn open(path: &Path) -> Result<Document, CliError> {
    let mut file = File::open(path).map_err(|error| CliError::file(path, error))?;
    of_bytes(&read_whole(&mut file, path)?, path)
}

/// Reads a model that is to answer: its first rows, if they are still being gathered, are fitted together.
///
/// # Errors
/// As [`open`]; those of the fit.
pub(crate) fn answering(path: &Path) -> Result<Document, CliError> {
    let mut document = open(path)?;
    document.model.catch_up()?;
    Ok(document)
}

/// Reads a model that is to be replaced, once no other process is about to.
///
/// # Errors
/// As [`open`]; a wish to stop while it waits.
pub(crate) fn hold(path: &Path) -> Result<(Document, Held), CliError> {
    let (held, bytes) = Held::open(path)?;
    Ok((of_bytes(&bytes, path)?, held))
}

fn of_bytes(bytes: &[u8], path: &Path) -> Result<Document, CliError> {
    Document::of_bytes(bytes).map_err(|error| CliError::table(path, error))
}

/// Stores a model where there was nothing, or another one.
///
/// # Errors
/// A disk that does not take it; the old file is then as it was.
pub(crate) fn save(document: &Document, path: &Path) -> Result<(), CliError> {
    save_held(document, path, &mut None)
}

/// Stores a model where it is read and written by this process alone: from the first time on if `held` is of another file.
///
/// # Errors
/// As [`save`]; a file that another program has changed meanwhile.
pub(crate) fn save_held(document: &Document, path: &Path, held: &mut Option<Held>) -> Result<(), CliError> {
    let failed = |error: TermsError| CliError::file(path, io::Error::other(error.to_string()));
    let text = document.text().map_err(failed)?;
    match held {
        Some(held) => held.replace(text.as_bytes()),
        None => Held::create(path, text.as_bytes()).map(|created| *held = created),
    }
}
