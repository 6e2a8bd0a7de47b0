//! Models with effects for each group, on NumPy arrays.

use std::sync::Mutex;

use numpy::{PyArrayDyn, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use vi_core::Rows;
use vi_models::online::family::{Counts, Logit, Probit, Trials};
use vi_models::online::{Component, GroupEffects, GroupedGlm, GroupedLinear, GroupedSettings, Observation, Row};
use vi_models::{Interval, Marginal, ModelError};

use crate::fault::{Fault, freely, locked};
use crate::parts::{numbers_of, parts};
use crate::rows::{Numbers, RowsArgument, array, in_place, numbers};

type Array<'py> = Bound<'py, PyArrayDyn<f64>>;
type Keys<'py> = PyReadonlyArray1<'py, u64>;
type Pair<'py> = (Array<'py>, Array<'py>);

#[derive(Clone)]
enum Model {
    Number(GroupedLinear),
    Two(GroupedGlm<Logit>),
    Probit(GroupedGlm<Probit>),
    Trials(GroupedGlm<Trials>),
    Count(GroupedGlm<Counts>),
}

/// Calls the same method of whichever model it is.
macro_rules! each {
    ($model:expr, $of:ident => $call:expr) => {
        match $model {
            Model::Number($of) => $call,
            Model::Two($of) => $call,
            Model::Probit($of) => $call,
            Model::Trials($of) => $call,
            Model::Count($of) => $call,
        }
    };
}

/// Expected label, standard deviation, and the ends of an interval.
type Answer = [f64; 4];

impl Model {
    fn observe(&self, label: f64, offset: f64, weight: f64, size: Option<f64>) -> Observation {
        let observed = Observation::new(label).offset(offset).weight(weight);
        match (self, size) {
            (_, None) => observed,
            (Self::Trials(_), Some(size)) => observed.trials(size),
            (_, Some(size)) => observed.exposure(size),
        }
    }

    /// The label at a row; for classes the interval is that of the probability.
    fn answer(&self, row: Row<'_>, group: u64, at: Observation, offset: f64, level: f64) -> Result<Answer, ModelError> {
        let classes =
            |mean: f64, variance: f64, interval: Interval| [mean, variance.sqrt(), interval.lower, interval.upper];
        let sigmoid = |t: f64| 1.0 / (1.0 + (-t).exp());
        Ok(match self {
            Self::Number(model) => {
                let seen = model.predict_at(row, group, offset)?;
                let Interval { lower, upper } = seen.interval(level)?;
                [seen.mean(), seen.standard_deviation(), lower, upper]
            }
            Self::Two(model) => {
                let seen = model.predict(row, group, at)?;
                let Interval { lower, upper } = seen.predictor.interval(level)?;
                classes(seen.mean, seen.variance, Interval { lower: sigmoid(lower), upper: sigmoid(upper) })
            }
            Self::Probit(model) => {
                let seen = model.predict(row, group, at)?;
                let Interval { lower, upper } = seen.predictor.interval(level)?;
                let cdf = vi_core::special::normal_cdf;
                classes(seen.mean, seen.variance, Interval { lower: cdf(lower), upper: cdf(upper) })
            }
            Self::Trials(model) => {
                let seen = model.predict(row, group, at)?;
                classes(seen.mean, seen.variance, seen.interval(level)?)
            }
            Self::Count(model) => {
                let seen = model.predict(row, group, at)?;
                classes(seen.mean, seen.variance, seen.interval(level)?)
            }
        })
    }
}

/// A model with effects for each group: `kind` is that of its labels, `settings` the JSON of their Rust form.
#[pyclass(frozen, module = "rvi._rvi")]
pub(crate) struct Grouped {
    inputs: usize,
    kind: String,
    model: Mutex<Model>,
}

fn no_kind(kind: &str) -> PyErr {
    PyValueError::new_err(format!("there is no kind of grouped model {kind}"))
}

#[pymethods]
impl Grouped {
    #[new]
    fn new(kind: &str, inputs: usize, settings: &str) -> PyResult<Self> {
        let settings: GroupedSettings = serde_json::from_str(settings).map_err(Fault::from)?;
        let model = match kind {
            "Number" => GroupedLinear::with_settings(inputs, settings).map(Model::Number),
            "Two" => GroupedGlm::with_settings(inputs, Logit, settings).map(Model::Two),
            "Probit" => GroupedGlm::with_settings(inputs, Probit, settings).map(Model::Probit),
            "Trials" => GroupedGlm::with_settings(inputs, Trials, settings).map(Model::Trials),
            "Count" => GroupedGlm::with_settings(inputs, Counts, settings).map(Model::Count),
            _ => return Err(no_kind(kind)),
        };
        Ok(Self { inputs, kind: kind.to_owned(), model: Mutex::new(model.map_err(Fault::from)?) })
    }

    /// Learns all rows or, where one cannot be learned, none.
    #[pyo3(signature = (rows, groups, y, weight=None, offset=None, size=None))]
    #[expect(clippy::too_many_arguments, reason = "the arrays of a call")]
    fn update(
        &self,
        py: Python<'_>,
        rows: RowsArgument<'_>,
        groups: Keys<'_>,
        y: PyReadonlyArray1<'_, f64>,
        weight: Numbers<'_>,
        offset: Numbers<'_>,
        size: Numbers<'_>,
    ) -> PyResult<()> {
        let n = rows.count();
        let keys = keys(&groups, n)?;
        let given = rows.rows(self.inputs)?;
        let y = Some(y);
        let (y, weight, offset, size) = parts(n, [&y, &weight, &offset, &size])?;
        freely(py, || {
            let mut model = locked(&self.model)?;
            let mut next = model.clone();
            let mut memory = Vec::new();
            let rows = given.split(n, self.inputs, &mut memory)?;
            for (i, row) in rows.into_iter().enumerate() {
                let of = |values: Option<&[f64]>, default| values.map_or(default, |values| values[i]);
                let observed = next.observe(of(y, 0.0), of(offset, 0.0), of(weight, 1.0), size.map(|size| size[i]));
                each!(&mut next, own => own.update(row, keys[i], observed)).map_err(|error| match error {
                    ModelError::Core(error) => ModelError::Core(error.at_row(i)),
                    error => error,
                })?;
                if i % 16_384 == 16_383 {
                    #[expect(
                        clippy::redundant_closure_for_method_calls,
                        reason = "the method alone is of one lifetime"
                    )]
                    Python::attach(|py| py.check_signals())?;
                }
            }
            *model = next;
            Ok(())
        })
    }

    /// Four columns for each row: expected label, standard deviation, and the ends of the interval of probability `level`.
    #[pyo3(signature = (rows, groups, level, offset=None, size=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'py>,
        groups: Keys<'py>,
        level: f64,
        offset: Numbers<'py>,
        size: Numbers<'py>,
    ) -> PyResult<Array<'py>> {
        let n = rows.count();
        let keys = keys(&groups, n)?;
        let given = rows.rows(self.inputs)?;
        let [offset, size] = [numbers("offset", &offset, n)?, numbers("size", &size, n)?];
        let found = freely(py, || {
            let model = locked(&self.model)?;
            let mut memory = Vec::new();
            let rows: Vec<Row<'_>> = if n == 0 { Vec::new() } else { Rows::split(given, n, self.inputs, &mut memory)? };
            let mut found = Vec::with_capacity(4 * n);
            for (i, row) in rows.into_iter().enumerate() {
                let offset = offset.map_or(0.0, |offset| offset[i]);
                let at = model.observe(0.0, offset, 1.0, size.map(|size| size[i]));
                found.extend(model.answer(row, keys[i], at, offset, level)?);
            }
            Ok(found)
        })?;
        array(py, found, &[n, 4])
    }

    /// Finds the components of variance for the rows so far; sweeps over the rows where they are kept.
    fn refine(&self, py: Python<'_>) -> PyResult<()> {
        freely(py, || {
            let mut model = locked(&self.model)?;
            Ok(each!(&mut *model, own => own.refine())?)
        })
    }

    /// Names, then mean, standard deviation, interval and probability above 0 of each common weight (`coefficients × 5`).
    fn coefficients<'py>(&self, py: Python<'py>, level: f64) -> PyResult<(Vec<String>, Array<'py>)> {
        let (names, values) = freely(py, || {
            let found = each!(&*locked(&self.model)?, own => own.coefficients())?;
            let values: Vec<[f64; 5]> = found.iter().map(|own| numbers_of(own, level)).collect::<Result<_, _>>()?;
            Ok((found.into_iter().map(|own| own.name).collect::<Vec<_>>(), values))
        })?;
        let width = names.len();
        Ok((names, array(py, values.into_iter().flatten().collect(), &[width, 5])?))
    }

    /// `(name, value, lower, upper)` of each component of variance.
    fn components(&self, py: Python<'_>, level: f64) -> PyResult<Vec<(String, f64, f64, f64)>> {
        freely(py, || {
            let found: Vec<Component> = each!(&*locked(&self.model)?, own => own.components())?;
            let of = |component: &Component| {
                let Interval { lower, upper } = component.interval(level)?;
                Ok::<_, Fault>((component.name.clone(), component.value, lower, upper))
            };
            found.iter().map(of).collect()
        })
    }

    /// Means and standard deviations of the effects of groups, a row for each.
    fn effects<'py>(&self, py: Python<'py>, groups: Keys<'py>) -> PyResult<Pair<'py>> {
        let keys = in_place("groups", &groups)?;
        let found: Vec<GroupEffects> = freely(py, || {
            let model = locked(&self.model)?;
            Ok(each!(&*model, own => keys.iter().map(|key| own.effects(*key)).collect::<Result<_, _>>())?)
        })?;
        let shape = [found.len(), found.first().map_or(0, |of| of.effects.len())];
        let all = || found.iter().flat_map(|of| &of.effects);
        let (mean, deviation) =
            (all().map(Marginal::mean).collect(), all().map(Marginal::standard_deviation).collect());
        Ok((array(py, mean, &shape)?, array(py, deviation, &shape)?))
    }

    /// The intraclass correlation with the ends of its interval; `None` for other effects than one intercept or for counts.
    fn intraclass_correlation(&self, py: Python<'_>, level: f64) -> PyResult<Option<(f64, f64, f64)>> {
        let logistic = std::f64::consts::PI.powi(2) / 3.0;
        let found = freely(py, || {
            Ok(match &*locked(&self.model)? {
                Model::Number(model) => model.intraclass_correlation(level)?,
                Model::Two(model) => model.intraclass_correlation(logistic, level)?,
                Model::Trials(model) => model.intraclass_correlation(logistic, level)?,
                Model::Probit(model) => model.intraclass_correlation(1.0, level)?,
                Model::Count(_) => None,
            })
        })?;
        Ok(found.map(|(value, Interval { lower, upper })| (value, lower, upper)))
    }

    /// The standard deviation of the noise; `None` for other labels than numbers.
    fn noise(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        freely(py, || match &*locked(&self.model)? {
            Model::Number(model) => {
                let noise = model.noise()?;
                Ok(Some((noise.rate() / noise.shape()).sqrt()))
            }
            _ => Ok(None),
        })
    }

    #[getter]
    fn evidence(&self, py: Python<'_>) -> PyResult<f64> {
        freely(py, || Ok(each!(&*locked(&self.model)?, own => own.evidence())))
    }

    #[getter]
    fn observations(&self, py: Python<'_>) -> PyResult<u64> {
        freely(py, || Ok(each!(&*locked(&self.model)?, own => own.observations())))
    }

    /// The model as JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        freely(py, || Ok(each!(&*locked(&self.model)?, own => serde_json::to_string(own))?))
    }

    /// The model that was stored as JSON, of the kind it had.
    #[staticmethod]
    fn from_json(py: Python<'_>, kind: &str, inputs: usize, text: &str) -> PyResult<Self> {
        let read = || -> Result<Option<Model>, Fault> {
            Ok(Some(match kind {
                "Number" => Model::Number(serde_json::from_str(text)?),
                "Two" => Model::Two(serde_json::from_str(text)?),
                "Probit" => Model::Probit(serde_json::from_str(text)?),
                "Trials" => Model::Trials(serde_json::from_str(text)?),
                "Count" => Model::Count(serde_json::from_str(text)?),
                _ => return Ok(None),
            }))
        };
        let model = freely(py, read)?.ok_or_else(|| no_kind(kind))?;
        Ok(Self { inputs, kind: kind.to_owned(), model: Mutex::new(model) })
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, (String, usize, String))> {
        let read = py.get_type::<Self>().getattr("from_json")?.unbind();
        Ok((read, (self.kind.clone(), self.inputs, self.to_json(py)?)))
    }
}

fn keys<'a>(groups: &'a Keys<'_>, n: usize) -> Result<&'a [u64], Fault> {
    let keys = in_place("groups", groups)?;
    if keys.len() == n {
        Ok(keys)
    } else {
        Err(Fault::Value(format!("groups has length {}, expected {n}", keys.len())))
    }
}
