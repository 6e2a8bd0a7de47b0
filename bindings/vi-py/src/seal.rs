//! Seals of texts, by which the command `rvi` and Python tell a damaged model file.

use pyo3::prelude::*;
use vi_core::checkpoint::Seal;

use crate::fault::Fault;

/// The seal of a text, as JSON.
#[pyfunction]
pub(crate) fn seal(text: &str) -> PyResult<String> {
    let sealed = || -> Result<String, Fault> { Ok(serde_json::to_string(&Seal::of(&text)?)?) };
    sealed().map_err(PyErr::from)
}

/// Checks that a seal is that of a text.
#[pyfunction]
pub(crate) fn check_seal(seal: &str, text: &str) -> PyResult<()> {
    let checked = || -> Result<(), Fault> { Ok(serde_json::from_str::<Seal>(seal)?.check(&text)?) };
    checked().map_err(PyErr::from)
}
