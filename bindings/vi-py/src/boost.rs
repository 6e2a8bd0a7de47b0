//! The posterior of a log-density that Python code computes.

use std::sync::Mutex;

use numpy::{PyArrayDyn, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_boost::transform::Constrained;
use vi_boost::{BoostError, BoostSettings, FitSettings, LogDensity};
use vi_core::psis::psis;
use vi_linalg::faer::{MatMut, MatRef};

use crate::fault::{Fault, freely};
use crate::latent::{Blocks, parameters};
use crate::mixture::{Mixture, row_major};
use crate::parts::room;
use crate::rows::{array, in_place};

/// A log-density of batches of points, and perhaps its gradients, as Python callables.
struct Callables {
    dim: usize,
    /// `(n × d) → n`.
    values: Py<PyAny>,
    /// `(n × d) → (n, n × d)`.
    both: Option<Py<PyAny>>,
    /// What a callable raised first; from then on there is nothing to be had.
    raised: Mutex<Option<PyErr>>,
}

impl Callables {
    fn failed(&self) -> bool {
        self.raised.lock().map_or(true, |raised| raised.is_some())
    }

    fn keep(&self, error: PyErr) {
        if let Ok(mut raised) = self.raised.lock() {
            raised.get_or_insert(error);
        }
    }

    /// The result of `call` on the points, or nothing after an exception.
    fn ask<T>(
        &self,
        points: MatRef<'_, f64>,
        call: impl FnOnce(Python<'_>, Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        if self.failed() {
            return None;
        }
        Python::attach(|py| {
            let shape = [points.nrows(), points.ncols()];
            let asked = array(py, row_major(points), &shape).and_then(|points| call(py, points.into_any()));
            asked.map_err(|error| self.keep(error)).ok()
        })
    }

    /// The density of free coordinates: this one, or with blocks of parameters the one that these make of it.
    fn free(&self, blocks: Option<&Blocks>) -> Result<Box<dyn LogDensity + '_>, Fault> {
        Ok(match blocks {
            Some(blocks) => Box::new(Constrained::new(parameters(blocks)?, self)?),
            None => Box::new(self),
        })
    }

    /// What a callable raised, before what came of it.
    fn unless_raised<T>(&self, found: Result<T, BoostError>) -> Result<T, Fault> {
        match self.raised.lock().ok().and_then(|mut raised| raised.take()) {
            Some(error) => Err(Fault::Raised(error)),
            None => Ok(found?),
        }
    }

    fn ask_values(&self, points: MatRef<'_, f64>, values: &mut [f64]) {
        let done = self.ask(points, |py, points| copy(&self.values.bind(py).call1((points,))?, values));
        if done.is_none() {
            values.fill(f64::NAN);
        }
    }
}

fn copy(found: &Bound<'_, PyAny>, values: &mut [f64]) -> PyResult<()> {
    let array: PyReadonlyArray1<'_, f64> = found.extract()?;
    let found = in_place("what the log-density returned", &array)?;
    if found.len() != values.len() {
        return Err(Fault::Value(format!("{} values were returned for {} points", found.len(), values.len())).into());
    }
    values.copy_from_slice(found);
    Ok(())
}

impl LogDensity for Callables {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        let mut value = [f64::NAN];
        self.ask_values(MatRef::from_row_major_slice(theta, 1, self.dim), &mut value);
        value[0]
    }

    fn value_and_gradient(&self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
        let mut value = [f64::NAN];
        let points = MatRef::from_row_major_slice(theta, 1, self.dim);
        let out = MatMut::from_row_major_slice_mut(out, 1, self.dim);
        self.log_densities_and_gradients(points, &mut value, out).then_some(value[0])
    }

    fn log_densities(&self, points: MatRef<'_, f64>, values: &mut [f64]) {
        self.ask_values(points, values);
    }

    fn log_densities_and_gradients(
        &self,
        points: MatRef<'_, f64>,
        values: &mut [f64],
        mut gradients: MatMut<'_, f64>,
    ) -> bool {
        let Some(both) = &self.both else { return false };
        let done = self.ask(points, |py, asked| {
            let (value, gradient): (Bound<'_, PyAny>, PyReadonlyArray2<'_, f64>) =
                both.bind(py).call1((asked,))?.extract()?;
            copy(&value, values)?;
            let (n, d) = (points.nrows(), points.ncols());
            if gradient.shape() != [n, d] {
                let message = format!("gradients of shape {:?} were returned, not {:?}", gradient.shape(), [n, d]);
                return Err(Fault::Value(message).into());
            }
            let found = in_place("the gradients", &gradient)?;
            gradients.copy_from(if gradient.is_c_contiguous() {
                MatRef::from_row_major_slice(found, n, d)
            } else {
                MatRef::from_column_major_slice(found, n, d)
            });
            Ok(())
        });
        if done.is_none() {
            values.fill(f64::NAN);
        }
        true
    }
}

/// The posterior as a mixture, and what is known of its errors; `values` and `both` take points (`n × d`) as an array. With blocks of
/// parameters these are constrained, and the mixture is one of their free coordinates.
#[pyfunction]
#[pyo3(signature = (values, both, dim, components, draws, starts, rounds, evaluations, seed, blocks=None))]
#[expect(clippy::too_many_arguments, reason = "settings of a fit")]
pub(crate) fn fit(
    py: Python<'_>,
    values: Py<PyAny>,
    both: Option<Py<PyAny>>,
    dim: usize,
    components: usize,
    draws: usize,
    starts: usize,
    rounds: usize,
    evaluations: Option<u64>,
    seed: u64,
    blocks: Option<Blocks>,
) -> PyResult<(Mixture, Bound<'_, PyDict>)> {
    let target = Callables { dim, values, both, raised: Mutex::new(None) };
    let found = freely(py, || {
        if dim == 0 {
            return Err(Fault::Value("dim = 0 must be at least 1".to_owned()));
        }
        for shape in [[components, dim, dim], [draws, dim, 1], [starts, dim, 1]] {
            room(&shape)?;
        }
        let boost = BoostSettings { components, ..BoostSettings::default() };
        let settings = FitSettings { boost, starts, draws, rounds, evaluations };
        let free = target.free(blocks.as_ref())?;
        let found = vi_boost::fit(&free, &settings, &mut ChaCha8Rng::seed_from_u64(seed));
        target.unless_raised(found)
    })?;
    let told = PyDict::new(py);
    let diagnosis = found.diagnosis;
    told.set_item("kl", diagnosis.kl)?;
    told.set_item("standard_error", diagnosis.standard_error)?;
    told.set_item("log_evidence", diagnosis.log_evidence)?;
    told.set_item("k_hat", diagnosis.k_hat)?;
    told.set_item("effective_share", diagnosis.effective_share)?;
    told.set_item("verdict", format!("{:?}", diagnosis.verdict).to_lowercase())?;
    told.set_item("stop", format!("{:?}", found.stop))?;
    told.set_item("modes", found.modes)?;
    told.set_item("rounds", found.rounds)?;
    told.set_item("unseen", found.unseen)?;
    told.set_item("says", diagnosis.verdict.to_string())?;
    let spent = found.evaluations;
    told.set_item("evaluations", spent.all().total())?;
    let phases = PyDict::new(py);
    for (name, count) in spent.phases() {
        let told = PyDict::new(py);
        told.set_item("values", count.values)?;
        told.set_item("gradients", count.gradients)?;
        phases.set_item(name, told)?;
    }
    told.set_item("phases", phases)?;
    Ok((Mixture { mixture: found.mixture }, told))
}

/// The logarithms of the smoothed importance weights of the mixture's draws `free` (`n × d`) for the target of `values`, and `k̂`.
#[pyfunction]
#[pyo3(signature = (mixture, values, blocks, free))]
pub(crate) fn importance<'py>(
    py: Python<'py>,
    mixture: &Mixture,
    values: Py<PyAny>,
    blocks: Option<Blocks>,
    free: PyReadonlyArray2<'_, f64>,
) -> PyResult<(Bound<'py, PyArrayDyn<f64>>, f64)> {
    let n = free.shape()[0];
    let dim = blocks.as_ref().map_or(Ok(free.shape()[1]), |blocks| parameters(blocks).map(|own| own.dim()))?;
    let target = Callables { dim, values, both: None, raised: Mutex::new(None) };
    let draws = row_by_row(&free)?;
    let smoothed = freely(py, || {
        let (mut log_f, mut log_q) = (vec![0.0; n], vec![0.0; n]);
        mixture.mixture.log_densities(draws, &mut log_q)?;
        target.free(blocks.as_ref())?.log_densities(draws, &mut log_f);
        target.unless_raised(Ok(()))?;
        Ok(psis(&log_f.iter().zip(&log_q).map(|(f, q)| f - q).collect::<Vec<_>>())?)
    })?;
    Ok((array(py, smoothed.log_weights, &[n])?, smoothed.k_hat))
}

/// Free coordinates as a matrix.
fn row_by_row<'a>(free: &'a PyReadonlyArray2<'_, f64>) -> PyResult<MatRef<'a, f64>> {
    let values = in_place("the free coordinates", free)?;
    if !free.is_c_contiguous() {
        return Err(Fault::Value("the free coordinates are not row after row".to_owned()).into());
    }
    Ok(MatRef::from_row_major_slice(values, free.shape()[0], free.shape()[1]))
}

/// Constrained parameters (`n × dim`) at free coordinates (`n × free`), and their names.
#[pyfunction]
#[pyo3(signature = (blocks, free))]
pub(crate) fn constrain<'py>(
    py: Python<'py>,
    blocks: Blocks,
    free: PyReadonlyArray2<'_, f64>,
) -> PyResult<(Bound<'py, PyArrayDyn<f64>>, Vec<String>)> {
    let parameters = parameters(&blocks)?;
    let n = free.shape()[0];
    room(&[n, parameters.dim()])?;
    let draws = parameters.constrain_draws(row_by_row(&free)?).map_err(Fault::from)?;
    Ok((array(py, row_major(draws.as_ref()), &[n, parameters.dim()])?, parameters.names()))
}
