//! Relevance determination for whole data sets on NumPy arrays: by sampling, and by variational Bayes.

use std::sync::Mutex;

use numpy::{PyArrayDyn, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_core::Rows;
use vi_models::ModelError;
use vi_models::predict::Predictive;
use vi_models::vb::{
    Coefficients, DrawnProbability, FitInfo, HorseshoeInfo, HorseshoeLinear, HorseshoeLogit, HorseshoeSettings,
    Relevance, VbLinear, VbLinearSettings, VbLogit, VbLogitSettings, VbSettings,
};

use crate::fault::{Fault, freely, locked};
use crate::parts::room;
use crate::rows::{RowsArgument, array, numbers};

type Array<'py> = Bound<'py, PyArrayDyn<f64>>;

/// The rows one after another, copied where they lie otherwise.
fn plain(rows: Rows<'_>, n: usize, d: usize) -> Result<std::borrow::Cow<'_, [f64]>, Fault> {
    match rows {
        Rows::Dense(values) => Ok(values.into()),
        Rows::Matrix(matrix) => Ok((0..n).flat_map(|i| (0..d).map(move |j| matrix[(i, j)])).collect::<Vec<_>>().into()),
        Rows::Sparse { .. } => Err(Fault::Type("variational Bayes takes dense rows".to_owned())),
    }
}

/// The width of dense rows.
fn width(rows: &RowsArgument<'_>) -> Result<usize, Fault> {
    use numpy::PyUntypedArrayMethods;
    match rows {
        RowsArgument::Dense(array) => Ok(array.shape()[1]),
        RowsArgument::Sparse(..) => Err(Fault::Type("variational Bayes takes dense rows".to_owned())),
    }
}

/// What a fit reports.
enum Report {
    Ascent(FitInfo, Vec<Relevance>),
    Draws(HorseshoeInfo, Vec<f64>),
}

fn told(py: Python<'_>, report: Report) -> PyResult<Bound<'_, PyDict>> {
    let told = PyDict::new(py);
    match report {
        Report::Ascent(info, relevance) => {
            let mut determined: Vec<(usize, f64, f64)> =
                relevance.iter().map(|own| (own.index, own.determined, own.precision)).collect();
            determined.sort_by_key(|own| own.0);
            told.set_item("evidence", info.iterations.bounds.last())?;
            told.set_item("bounds", info.iterations.bounds.clone())?;
            told.set_item("iterations", info.iterations.iterations)?;
            told.set_item("stop", format!("{:?}", info.iterations.stop))?;
            told.set_item("condition", info.iterations.condition)?;
            told.set_item("design_condition", info.design_condition)?;
            told.set_item("collinear_columns", info.collinear_columns)?;
            told.set_item("constant_columns", info.constant_columns)?;
            told.set_item("relevance", determined)?;
            told.set_item("advice", info.advice)?;
        }
        Report::Draws(info, sizes) => {
            let each = info.determined.iter().zip(&sizes).enumerate();
            let determined: Vec<(usize, f64, f64)> =
                each.map(|(j, (share, size))| (j, *share, size.powi(-2))).collect();
            told.set_item("evidence", info.evidence)?;
            told.set_item("iterations", info.sweeps)?;
            told.set_item("effective_draws", info.effective_draws)?;
            told.set_item("constant_columns", info.constant_columns)?;
            told.set_item("relevance", determined)?;
            told.set_item("advice", info.advice)?;
        }
    }
    Ok(told)
}

/// What all fits tell of themselves.
trait Fit {
    fn weights(&self) -> Result<Coefficients, ModelError>;

    fn report(&self) -> Report;
}

macro_rules! fits {
    ($($ascent:ident),*; $($drawn:ident),*) => {
        $(impl Fit for $ascent {
            fn weights(&self) -> Result<Coefficients, ModelError> {
                Ok(self.coefficients())
            }

            fn report(&self) -> Report {
                Report::Ascent(self.info().clone(), self.relevance())
            }
        })*
        $(impl Fit for $drawn {
            fn weights(&self) -> Result<Coefficients, ModelError> {
                self.coefficients()
            }

            fn report(&self) -> Report {
                Report::Draws(self.info().clone(), self.sizes())
            }
        })*
    };
}

fits!(VbLinear, VbLogit; HorseshoeLinear, HorseshoeLogit);

/// What `of` makes of the prediction of each row, some rows at a time: a prediction may hold a number for each draw.
fn predicted<P, T>(
    rows: &[f64],
    width: usize,
    predict: impl Fn(&[f64]) -> Result<Vec<P>, ModelError>,
    of: impl Fn(&P) -> Result<T, ModelError>,
) -> Result<Vec<T>, ModelError> {
    const AT_ONCE: usize = 256;
    let mut found = Vec::new();
    for (k, rows) in rows.chunks(width.max(1) * AT_ONCE).enumerate() {
        let seen = predict(rows).map_err(|error| match error {
            ModelError::Core(error) => ModelError::Core(error.shift_row(k * AT_ONCE)),
            other => other,
        })?;
        for prediction in &seen {
            found.push(of(prediction)?);
        }
    }
    Ok(found)
}

macro_rules! variational {
    ($(#[$doc:meta])* $class:ident, $model:ty, ($($argument:ident: $kind:ty),*), $fit:expr) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "rvi._rvi")]
        pub(crate) struct $class {
            inputs: usize,
            model: Mutex<$model>,
        }

        #[pymethods]
        impl $class {
            /// Fits rows and labels.
            #[new]
            fn new(
                py: Python<'_>,
                rows: RowsArgument<'_>,
                y: PyReadonlyArray1<'_, f64>,
                $($argument: $kind),*
            ) -> PyResult<Self> {
                let (n, inputs) = (rows.count(), width(&rows)?);
                let given = rows.rows(inputs)?;
                room(&[inputs + 1, inputs + 1])?;
                let y = Some(y);
                let y = numbers("y", &y, n)?.unwrap_or_default();
                let model = freely(py, || {
                    let fit: fn(&[f64], usize, &[f64], ($($kind),*)) -> Result<$model, ModelError> = $fit;
                    Ok(fit(&plain(given, n, inputs)?, inputs, y, ($($argument),*))?)
                })?;
                Ok(Self { inputs, model: Mutex::new(model) })
            }

            /// Mean and standard deviation at every row; of a probability that of what is believed of it.
            fn predict<'py>(&self, py: Python<'py>, rows: RowsArgument<'_>) -> PyResult<(Array<'py>, Array<'py>)> {
                let n = rows.count();
                let given = rows.rows(self.inputs)?;
                let (mean, deviation) = freely(py, || {
                    let (model, rows) = (locked(&self.model)?, plain(given, n, self.inputs)?);
                    let seen = predicted(&rows, self.inputs, |rows| model.predict(rows), |seen| Ok(moments(seen)))?;
                    Ok(seen.into_iter().unzip::<f64, f64, Vec<_>, Vec<_>>())
                })?;
                Ok((array(py, mean, &[n])?, array(py, deviation, &[n])?))
            }

            /// The central interval at every row.
            fn interval<'py>(
                &self,
                py: Python<'py>,
                rows: RowsArgument<'_>,
                level: f64,
            ) -> PyResult<(Array<'py>, Array<'py>)> {
                let n = rows.count();
                let given = rows.rows(self.inputs)?;
                let ends = freely(py, || {
                    let (model, rows) = (locked(&self.model)?, plain(given, n, self.inputs)?);
                    Ok(predicted(&rows, self.inputs, |rows| model.predict(rows), |seen| seen.interval(level))?)
                })?;
                let (lower, upper) = ends.iter().map(|own| (own.lower, own.upper)).unzip();
                Ok((array(py, lower, &[n])?, array(py, upper, &[n])?))
            }

            /// Mean of the intercept, means and standard deviations of the weights.
            fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<(f64, Array<'py>, Array<'py>)> {
                let found = freely(py, || Ok(locked(&self.model)?.weights()?))?;
                let d = self.inputs;
                Ok((found.intercept, array(py, found.weights, &[d])?, array(py, found.standard_deviations, &[d])?))
            }

            /// Draws of the intercept (`draws`) and of the weights (`draws × inputs`).
            fn sample<'py>(&self, py: Python<'py>, draws: usize, seed: u64) -> PyResult<(Array<'py>, Array<'py>)> {
                room(&[draws, self.inputs])?;
                let found = freely(py, || {
                    Ok(locked(&self.model)?.samples(draws, &mut ChaCha8Rng::seed_from_u64(seed))?)
                })?;
                let intercepts = found.iter().map(|draw| draw.intercept).collect();
                let weights = found.into_iter().flat_map(|draw| draw.weights).collect();
                Ok((array(py, intercepts, &[draws])?, array(py, weights, &[draws, self.inputs])?))
            }

            /// How the fit went.
            fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
                told(py, freely(py, || Ok(locked(&self.model)?.report()))?)
            }

            /// Number of inputs.
            #[getter]
            fn inputs(&self) -> usize {
                self.inputs
            }

            /// The state: the document that Rust's `serde` writes.
            fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
                let bytes = freely(py, || Ok(serde_json::to_vec(&*locked(&self.model)?)?))?;
                Ok(PyBytes::new(py, &bytes))
            }

            /// A model from its state.
            #[staticmethod]
            fn from_state(py: Python<'_>, state: &[u8]) -> PyResult<Self> {
                freely(py, || {
                    let model: $model = serde_json::from_slice(state)?;
                    Ok(Self { inputs: model.weights()?.weights.len(), model: Mutex::new(model) })
                })
            }

            fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
                freely(py, || Ok(Self { inputs: self.inputs, model: Mutex::new(locked(&self.model)?.clone()) }))
            }

            fn __deepcopy__(&self, py: Python<'_>, _memo: Bound<'_, PyAny>) -> PyResult<Self> {
                self.__copy__(py)
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
                let py = slf.py();
                Ok((py.get_type::<Self>().getattr("from_state")?, (slf.get().state(py)?,)))
            }
        }
    };
}

/// What predictions of both models tell.
trait Moments {
    fn moments(&self) -> (f64, f64);
}

impl Moments for vi_models::vb::StudentPrediction {
    fn moments(&self) -> (f64, f64) {
        (self.mean, self.variance().sqrt())
    }
}

impl Moments for vi_models::predict::LogisticPrediction {
    fn moments(&self) -> (f64, f64) {
        (self.probability, self.variance.max(0.0).sqrt())
    }
}

impl Moments for vi_models::Marginal {
    fn moments(&self) -> (f64, f64) {
        (self.mean(), self.standard_deviation())
    }
}

impl Moments for DrawnProbability {
    fn moments(&self) -> (f64, f64) {
        (self.probability(), self.variance().sqrt())
    }
}

fn moments<P: Moments>(predicted: &P) -> (f64, f64) {
    predicted.moments()
}

variational!(
    /// Linear regression with unknown noise and shrinkage, by variational Bayes.
    VbNumber, VbLinear, (ard: bool, intercept: bool, tolerance: f64, max_iterations: usize),
    |x, columns, y, (ard, intercept, tolerance, max_iterations)| {
        let stop = VbSettings { tolerance: Some(tolerance), max_iterations };
        VbLinear::fit(x, columns, y, &VbLinearSettings { ard, intercept, stop, ..VbLinearSettings::default() })
    }
);
variational!(
    /// Logistic regression with unknown shrinkage, by variational Bayes.
    VbClass, VbLogit, (ard: bool, intercept: bool, tolerance: f64, max_iterations: usize),
    |x, columns, y, (ard, intercept, tolerance, max_iterations)| {
        let stop = VbSettings { tolerance: Some(tolerance), max_iterations };
        VbLogit::fit(x, columns, y, &VbLogitSettings { ard, intercept, stop, ..VbLogitSettings::default() })
    }
);
variational!(
    /// Linear regression with a horseshoe prior, by sampling.
    HorseshoeNumber, HorseshoeLinear, (intercept: bool, draws: usize, seed: u64),
    |x, columns, y, (intercept, draws, seed)| {
        let settings = HorseshoeSettings { intercept, draws, ..HorseshoeSettings::default() };
        HorseshoeLinear::fit(x, columns, y, &settings, &mut ChaCha8Rng::seed_from_u64(seed))
    }
);
variational!(
    /// Logistic regression with a horseshoe prior, by sampling.
    HorseshoeClass, HorseshoeLogit, (intercept: bool, draws: usize, seed: u64),
    |x, columns, y, (intercept, draws, seed)| {
        let settings = HorseshoeSettings { intercept, draws, ..HorseshoeSettings::default() };
        HorseshoeLogit::fit(x, columns, y, &settings, &mut ChaCha8Rng::seed_from_u64(seed))
    }
);
