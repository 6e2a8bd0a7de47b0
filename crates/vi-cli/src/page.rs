//! Files of pictures and pages of a model.

use std::fs;
use std::path::Path;

use vi_plot::Layout;
use vi_terms::table::{Document, page, pictures};

use crate::error::CliError;
use crate::files::whole_file;

/// Writes the page of a model.
///
/// # Errors
/// Coefficients that are no numbers; a disk that does not take it.
pub(crate) fn write(document: &Document, path: &Path) -> Result<(), CliError> {
    write_text(path, &page(document)?)
}

/// Writes the pictures of a model into a folder.
///
/// # Errors
/// As [`write()`].
pub(crate) fn write_pictures(document: &Document, folder: &Path) -> Result<(), CliError> {
    fs::create_dir_all(folder).map_err(|error| CliError::file(folder, error))?;
    for drawn in pictures(document)? {
        write_text(&folder.join(drawn.name).with_extension("svg"), &drawn.svg(Layout::Wide)?)?;
    }
    Ok(())
}

fn write_text(path: &Path, text: &str) -> Result<(), CliError> {
    whole_file(path, |out| out.write_all(text.as_bytes()).map_err(|error| CliError::file(path, error)))
}
