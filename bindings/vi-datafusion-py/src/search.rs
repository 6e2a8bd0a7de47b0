//! The search for the best Gaussian: where the next pass is to be made, and what it answers.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vi_core::batch::{self, BatchSettings};
use vi_sums::{At, GlmPosterior, GlmSpec, PassSums, Posterior, SumsError};

/// A search that is told the sums of each pass that it asks for.
#[pyclass(module = "rvi_datafusion._functions")]
pub(crate) struct Search {
    model: GlmSpec,
    /// None once the search is finished.
    own: Option<batch::Search>,
    /// Where the next pass is to be made.
    at: Option<At>,
    /// Rows and skipped rows of the last pass.
    counts: (u64, u64),
}

fn value(error: SumsError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn finished() -> PyErr {
    PyRuntimeError::new_err("the search is finished")
}

#[pymethods]
impl Search {
    #[new]
    fn new(model: &str, inputs: usize, tolerance: f64, max_passes: usize) -> PyResult<Self> {
        let model = GlmSpec::parse(model).map_err(value)?;
        let start = model.prior.belief(inputs).map_err(|error| value(error.into()))?;
        let settings = BatchSettings { tolerance, max_passes };
        let search = batch::Search::new(&start, &start, &settings).map_err(|error| value(error.into()))?;
        Ok(Self { model, own: Some(search), at: None, counts: (0, 0) })
    }

    /// The record of the place of the next pass; none where the search has ended.
    fn wanted<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let search = self.own.as_ref().ok_or_else(finished)?;
        let Some(q) = search.wanted() else { return Ok(None) };
        let at = self.at.insert(At::new(self.model.family, self.model.prior, q.clone()).map_err(value)?);
        Ok(Some(PyBytes::new(py, at.record())))
    }

    /// Takes what a pass has answered.
    fn tell(&mut self, py: Python<'_>, pass_: &[u8]) -> PyResult<()> {
        let search = self.own.as_mut().ok_or_else(finished)?;
        let at = self.at.as_ref().ok_or_else(|| PyRuntimeError::new_err("no pass has been asked for"))?;
        let sums = PassSums::decode(pass_).map_err(value)?;
        let statistics = sums.statistics(at).map_err(value)?;
        py.detach(|| search.tell(statistics)).map_err(|error| value(error.into()))?;
        self.counts = (sums.rows(), sums.skipped());
        Ok(())
    }

    /// The record of the posterior, the number of passes, the bound on the log evidence, and why the search stopped.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, usize, f64, String)> {
        let (belief, info) = self.own.take().ok_or_else(finished)?.finish();
        let posterior =
            GlmPosterior::of_belief(self.model.family, self.model.prior, &belief, info.bound(), self.counts);
        let record = posterior.and_then(|posterior| Posterior::from(posterior).encode()).map_err(value)?;
        Ok((PyBytes::new(py, &record), info.passes, info.bound(), format!("{:?}", info.stop).to_lowercase()))
    }
}
