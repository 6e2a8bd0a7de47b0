//! The record by which intervals and sets of a stream are certified.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vi_models::online::{Certificate, Prediction};
use vi_models::{ModelError, online};

use crate::fault::{Fault, freely, locked};

/// Where labels fell in the predictions made before they were learned.
#[pyclass(frozen, module = "rvi._rvi")]
pub(crate) struct Record {
    certificate: Mutex<Certificate>,
}

impl Record {
    fn of(certificate: Certificate) -> Self {
        Self { certificate: Mutex::new(certificate) }
    }

    /// Adds a label. One whose prediction has no place within floats is left out, as no interval could have been given.
    pub(crate) fn add(
        &self,
        predicted: Result<Prediction, ModelError>,
        label: online::Observation,
    ) -> Result<(), Fault> {
        let mut certificate = locked(&self.certificate)?;
        let _left_out = predicted.and_then(|predicted| certificate.add(&predicted, label));
        Ok(())
    }

    /// The answer of the record to `of`; `None` while the record has too few labels.
    pub(crate) fn certified<T>(
        &self,
        of: impl FnOnce(&Certificate) -> Result<Option<T>, ModelError>,
    ) -> Result<Option<T>, Fault> {
        match of(&*locked(&self.certificate)?) {
            Err(ModelError::Uncertified { .. }) => Ok(None),
            found => Ok(found?),
        }
    }

    pub(crate) fn certificate(&self) -> Result<Certificate, Fault> {
        Ok(locked(&self.certificate)?.clone())
    }
}

#[pymethods]
impl Record {
    #[new]
    fn new() -> Self {
        Self::of(Certificate::default())
    }

    /// The state: the document that Rust's `serde` writes.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &serde_json::to_vec(&self.certificate()?).map_err(Fault::from)?))
    }

    /// A record from its state.
    #[staticmethod]
    fn from_state(py: Python<'_>, state: &[u8]) -> PyResult<Self> {
        freely(py, || Ok(Self::of(serde_json::from_slice(state)?)))
    }

    /// Another with the same state.
    fn copy(&self) -> PyResult<Self> {
        Ok(Self::of(self.certificate()?))
    }

    fn __copy__(&self) -> PyResult<Self> {
        self.copy()
    }

    fn __deepcopy__(&self, _memo: Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        Ok((py.get_type::<Self>().getattr("from_state")?, (slf.get().state(py)?,)))
    }
}
