//! A model for streams on NumPy arrays.

mod ask;

use std::sync::Mutex;

use numpy::{PyArrayDyn, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_models::online::{
    BeliefKind, Certificate, Kind, Model, OnlineLinear, OnlineSettings, Prediction, RefineSettings, Trial,
};
use vi_models::{Interval, ModelError, Transform};
use vi_terms::table::of_model;

use crate::certified::Record;
use crate::fault::{Fault, freely, locked, threads};
use crate::learn::learn;
use crate::parts::{Flat, MOST, OwnRow, memory_for, numbers_of, observe, observed, parts, room, told};
use crate::record::{self, Beside};
use crate::rows::{Numbers, RowsArgument, array, numbers};

type Array<'py> = Bound<'py, PyArrayDyn<f64>>;
type Drawn<'py> = (Array<'py>, Array<'py>, Array<'py>);

/// One of the front door's models: `kind` is its name, with the numbers that belong to it, `settings` the JSON of their Rust form.
#[pyclass(frozen, module = "rvi._rvi")]
pub(crate) struct Online {
    inputs: usize,
    model: Mutex<Model>,
    /// A copy whose first rows are fitted together, until the model changes.
    answering: Mutex<Option<Py<Online>>>,
}

impl Online {
    fn of(model: Model) -> Self {
        Self { inputs: model.inputs(), model: Mutex::new(model), answering: Mutex::new(None) }
    }

    pub(crate) fn model(&self) -> &Mutex<Model> {
        &self.model
    }
}

/// The expected label and its standard deviation.
fn moments(seen: &Prediction) -> Option<(f64, f64)> {
    seen.mean().zip(seen.standard_deviation())
}

/// How labels vary about their mean: the standard deviation of the noise (of heavy tails its scale), the degrees of freedom of heavy tails, and the size
/// of a negative binomial.
fn spread(model: &Model) -> [Option<f64>; 3] {
    match model {
        Model::Number(_) => [Some(model.prior_unit()), None, None],
        Model::Robust(model) => {
            let (freedom, scale) = model.noise();
            [Some(scale), Some(freedom), None]
        }
        Model::Varying(model) => {
            let (freedom, scale) = model.noise();
            [Some(scale), Some(freedom), None]
        }
        Model::Spread(model) => [None, None, Some(model.family().size)],
        Model::LearnedSpread(model) => [None, None, Some(model.log_size().mean().exp())],
        Model::ZeroInflated(model) => [None, None, Some(model.log_size().mean().exp())],
        _ => [None; 3],
    }
}

fn none_of(kind: &str) -> PyErr {
    PyValueError::new_err(format!("there is no kind of model {kind} with these numbers"))
}

fn ends(interval: Interval) -> (f64, f64) {
    (interval.lower, interval.upper)
}

/// Two arrays of a pair of numbers for each row.
fn pairs(py: Python<'_>, found: Vec<(f64, f64)>) -> PyResult<(Array<'_>, Array<'_>)> {
    let n = found.len();
    let (first, second) = found.into_iter().unzip();
    Ok((array(py, first, &[n])?, array(py, second, &[n])?))
}

#[pymethods]
impl Online {
    #[new]
    #[pyo3(signature = (kind, inputs, settings, noise=None, size=None, classes=None, joint=None))]
    fn new(
        kind: &str,
        inputs: usize,
        settings: &str,
        noise: Option<(f64, f64)>,
        size: Option<f64>,
        classes: Option<usize>,
        joint: Option<bool>,
    ) -> PyResult<Self> {
        let unit = (0.0, 1.0);
        let (transform, of) = match (kind.strip_prefix("Logit"), kind.strip_prefix("Log")) {
            (Some(of), _) => (Transform::Logit, of),
            (_, Some(of)) => (Transform::Log, of),
            _ => (Transform::Identity, kind),
        };
        let kind = match (of, noise, size, classes) {
            ("Number", noise, None, None) => {
                Kind::Number { noise: noise.unwrap_or(OnlineLinear::DEFAULT_NOISE), transform }
            }
            ("Robust", None, None, None) => Kind::Robust { unit, transform },
            ("Varying", None, None, None) => Kind::Varying { unit, transform },
            _ if transform != Transform::Identity => return Err(none_of(kind)),
            ("Count", None, None, None) => Kind::Count,
            ("Two", None, None, None) => Kind::Two,
            ("Classes", None, None, Some(classes)) => Kind::Classes { classes, joint },
            ("Probit", None, None, None) => Kind::Probit,
            ("Trials", None, None, None) => Kind::Trials,
            ("Spread", None, Some(size), None) => Kind::Spread { size },
            ("LearnedSpread", None, None, None) => Kind::LearnedSpread,
            ("ZeroInflated", None, None, None) => Kind::ZeroInflated,
            _ => return Err(none_of(kind)),
        };
        let settings: OnlineSettings = serde_json::from_str(settings).map_err(Fault::from)?;
        // What is larger still the model refuses in words of its own.
        let numbers = inputs.saturating_mul(match settings.belief {
            BeliefKind::Full | BeliefKind::SquareRoot => inputs,
            BeliefKind::LowRank { rank } | BeliefKind::LowRankInBlocks { rank, .. } => rank,
            _ => 2,
        });
        if numbers <= MOST {
            memory_for(numbers)?;
        }
        Ok(Self::of(Model::new(kind, inputs, settings).map_err(Fault::from)?))
    }

    /// Learns all rows or, where one cannot be learned, none.
    #[pyo3(signature = (rows, y, weight=None, offset=None, size=None))]
    fn update(
        &self,
        py: Python<'_>,
        rows: RowsArgument<'_>,
        y: PyReadonlyArray1<'_, f64>,
        weight: Numbers<'_>,
        offset: Numbers<'_>,
        size: Numbers<'_>,
    ) -> PyResult<()> {
        let n = rows.count();
        let given = rows.rows(self.inputs)?;
        let y = Some(y);
        let parts = parts(n, [&y, &weight, &offset, &size])?;
        self.change(py, |model| {
            let observed = observed(model, n, parts);
            learn(model, given, self.inputs, &observed)
        })
    }

    /// The position of the model that the first rows prefer, this one or one of `others`, and how many nats each is behind it; none has
    /// learned anything, and none does. Models of counts beside one of numbers are left out where the labels may not be counts.
    #[pyo3(signature = (others, rows, y, weight=None, offset=None, size=None))]
    #[expect(clippy::too_many_arguments, reason = "the arrays of a call")]
    fn preferred(
        &self,
        py: Python<'_>,
        others: Vec<Py<Self>>,
        rows: RowsArgument<'_>,
        y: PyReadonlyArray1<'_, f64>,
        weight: Numbers<'_>,
        offset: Numbers<'_>,
        size: Numbers<'_>,
    ) -> PyResult<(usize, Vec<f64>)> {
        let n = rows.count();
        let given = rows.rows(self.inputs)?;
        let y = Some(y);
        let parts = parts(n, [&y, &weight, &offset, &size])?;
        let others: Vec<Model> =
            others.iter().map(|other| other.get().look(py, |model| Ok(model.clone()))).collect::<PyResult<_>>()?;
        self.look(py, |model| {
            let observed = observed(model, n, parts);
            let counted = model.kind().is_of_counts() || parts.0.is_some_and(Trial::may_be_counts);
            let taken: Vec<bool> = others.iter().map(|other| counted || !other.kind().is_of_counts()).collect();
            let others = others.into_iter().zip(&taken).filter_map(|(other, taken)| taken.then_some(other)).collect();
            let mut trial = Trial::new(model.clone(), others);
            let mut memory = Vec::new();
            let rows = given.split(n, self.inputs, &mut memory).map_err(ModelError::from)?;
            let rows: Vec<_> = rows.into_iter().zip(observed).take(Trial::MOST_ROWS).collect();
            trial.learn_all(&rows, threads());
            let mut tried = trial.behind().into_iter();
            let left_out = (Kind::Count, f64::INFINITY);
            let behind: Vec<(Kind, f64)> = std::iter::once(true)
                .chain(taken)
                .map(|taken| taken.then(|| tried.next()).flatten().unwrap_or(left_out))
                .collect();
            let place = behind.iter().position(|(kind, nats)| *kind == trial.chosen() && nats.is_finite()).unwrap_or(0);
            Ok((place, behind.into_iter().map(|(_, nats)| nats).collect()))
        })
    }

    /// Learns one row: all entries, or a tuple of positions and values; a record learns where the label fell in the prediction before.
    #[pyo3(signature = (row, y, weight=1.0, offset=0.0, size=None, record=None))]
    #[expect(clippy::too_many_arguments, reason = "the numbers of a row")]
    fn update_row(
        &self,
        py: Python<'_>,
        row: &Bound<'_, PyAny>,
        y: f64,
        weight: f64,
        offset: f64,
        size: Option<f64>,
        record: Option<Py<Record>>,
    ) -> PyResult<()> {
        let row = OwnRow::of(row)?;
        self.change(py, |model| {
            let observed = observe(model, y, offset, weight, size);
            match &record {
                None => Ok(model.update(row.row(), observed)?),
                Some(record) => record.get().add(model.predict_and_update(row.row(), observed)?, observed),
            }
        })
    }

    /// The certified interval at one row; `None` while the record has too few labels.
    fn certified_interval_row(
        &self,
        py: Python<'_>,
        row: &Bound<'_, PyAny>,
        level: f64,
        record: Py<Record>,
    ) -> PyResult<Option<(f64, f64)>> {
        let found = self.certified_row(py, row, &record, |own, seen| own.interval(seen, level))?;
        Ok(found.map(ends))
    }

    /// The positions of the classes in the certified set at one row; `None` while the record has too few labels.
    fn certified_set_row(
        &self,
        py: Python<'_>,
        row: &Bound<'_, PyAny>,
        level: f64,
        record: Py<Record>,
    ) -> PyResult<Option<Vec<usize>>> {
        self.certified_row(py, row, &record, |own, seen| own.classes(seen, level))
    }

    /// Expected label and standard deviation at one row, as [`predict`](Self::predict).
    #[pyo3(signature = (row, offset=0.0, size=None))]
    fn predict_row(
        &self,
        py: Python<'_>,
        row: &Bound<'_, PyAny>,
        offset: f64,
        size: Option<f64>,
    ) -> PyResult<(f64, f64)> {
        self.seen_row(py, (row, offset, size), |seen| Ok(moments(seen)))
    }

    /// Probabilities of the classes at one row.
    fn probabilities_row(&self, py: Python<'_>, row: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
        let row = OwnRow::of(row)?;
        self.look(py, |model| match model {
            Model::Classes(model) => Ok(model.predict(row.row())?.probabilities),
            _ => Err(Fault::Type("a model of one predictor has no classes".to_owned())),
        })
    }

    /// Expected label and standard deviation at every row; of a probability that of what is believed of it.
    #[pyo3(signature = (rows, offset=None, size=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
        offset: Numbers<'_>,
        size: Numbers<'_>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        pairs(py, self.seen(py, (rows, offset, size), |_, seen| Ok(moments(seen)))?)
    }

    /// The central interval of the label at every row; of a probability that of what is believed of it.
    #[pyo3(signature = (rows, level, offset=None, size=None))]
    fn interval<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
        level: f64,
        offset: Numbers<'_>,
        size: Numbers<'_>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        pairs(py, self.seen(py, (rows, offset, size), |_, seen| Ok(seen.interval(level)?.map(ends)))?)
    }

    /// The central interval at one row, as [`interval`](Self::interval).
    #[pyo3(signature = (row, level, offset=0.0, size=None))]
    fn interval_row(
        &self,
        py: Python<'_>,
        row: &Bound<'_, PyAny>,
        level: f64,
        offset: f64,
        size: Option<f64>,
    ) -> PyResult<(f64, f64)> {
        self.seen_row(py, (row, offset, size), |seen| Ok(seen.interval(level)?.map(ends)))
    }

    /// The robust standard error of each coefficient by these rows, of as many clusters, or of none.
    #[pyo3(signature = (rows, y, weight=None, offset=None, size=None, clusters=None))]
    #[expect(clippy::too_many_arguments, reason = "the arrays of a call")]
    fn robust_errors<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
        y: PyReadonlyArray1<'_, f64>,
        weight: Numbers<'_>,
        offset: Numbers<'_>,
        size: Numbers<'_>,
        clusters: Option<Vec<u64>>,
    ) -> PyResult<Array<'py>> {
        let found = self.robust(py, rows, [Some(y), weight, offset, size], clusters)?;
        let n = found.len();
        array(py, found, &[n])
    }

    /// Mean and standard deviation of what is believed of the linear predictor at every row.
    #[pyo3(signature = (rows, offset=None))]
    fn predictor<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
        offset: Numbers<'_>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        pairs(py, self.predictors(py, rows, offset, |seen| Ok((seen.mean(), seen.standard_deviation())))?)
    }

    /// The central interval of what is believed of the linear predictor at every row.
    #[pyo3(signature = (rows, level, offset=None))]
    fn predictor_interval<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
        level: f64,
        offset: Numbers<'_>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        pairs(py, self.predictors(py, rows, offset, |seen| seen.interval(level).map(ends))?)
    }

    /// `log p` of the labels, in nats.
    #[pyo3(signature = (rows, y, offset=None, size=None))]
    fn log_density<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
        y: PyReadonlyArray1<'_, f64>,
        offset: Numbers<'_>,
        size: Numbers<'_>,
    ) -> PyResult<Array<'py>> {
        let n = rows.count();
        let y = Some(y);
        let labels = numbers("y", &y, n)?.unwrap_or_default();
        let found = self.seen(py, (rows, offset, size), |i, seen| seen.log_density(labels[i]).map(Some))?;
        array(py, found, &[n])
    }

    /// Quantiles of the label at every row, `rows × probabilities`; of two classes of the probability.
    #[pyo3(signature = (rows, probabilities, offset=None, size=None))]
    fn quantiles<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
        probabilities: Vec<f64>,
        offset: Numbers<'_>,
        size: Numbers<'_>,
    ) -> PyResult<Array<'py>> {
        let (n, width) = (rows.count(), probabilities.len());
        let mut values = Vec::with_capacity(room(&[n, width])?);
        self.seen(py, (rows, offset, size), |_, seen| {
            for p in &probabilities {
                let Some(value) = seen.quantile(*p)? else { return Ok(None) };
                values.push(value);
            }
            Ok(Some(()))
        })?;
        array(py, values, &[n, width])
    }

    /// `P(Y ≤ y)`, or the continuous ranked probability score of `y`, at every row.
    #[pyo3(signature = (rows, y, score=false, offset=None, size=None))]
    fn below<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
        y: PyReadonlyArray1<'_, f64>,
        score: bool,
        offset: Numbers<'_>,
        size: Numbers<'_>,
    ) -> PyResult<Array<'py>> {
        let n = rows.count();
        let y = Some(y);
        let labels = numbers("y", &y, n)?.unwrap_or_default();
        let found = self.seen(py, (rows, offset, size), |i, seen| {
            if score { seen.crps(labels[i]) } else { Ok(seen.below(labels[i])?.map(|(_, to)| to)) }
        })?;
        array(py, found, &[n])
    }

    /// The expected label at every row, or the position of its most probable class, without the uncertainty where this takes longer.
    #[pyo3(signature = (rows, classes=false, offset=None, size=None))]
    fn points<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
        classes: bool,
        offset: Numbers<'_>,
        size: Numbers<'_>,
    ) -> PyResult<Array<'py>> {
        let n = rows.count();
        array(py, self.at_points(py, (rows, offset, size), classes)?, &[n])
    }

    /// Draws of the label at every row, `rows × draws`.
    #[pyo3(signature = (rows, draws, seed, offset=None, size=None))]
    fn draw_labels<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
        draws: usize,
        seed: u64,
        offset: Numbers<'_>,
        size: Numbers<'_>,
    ) -> PyResult<Array<'py>> {
        let n = rows.count();
        let (mut rng, mut values) = (ChaCha8Rng::seed_from_u64(seed), Vec::with_capacity(room(&[n, draws])?));
        self.seen(py, (rows, offset, size), |_, seen| {
            (0..draws).try_for_each(|_| seen.draw(&mut rng).map(|label| values.push(label))).map(Some)
        })?;
        array(py, values, &[n, draws])
    }

    /// Probabilities of the classes at every row and their variances, `rows × classes` each.
    fn probabilities<'py>(&self, py: Python<'py>, rows: RowsArgument<'_>) -> PyResult<(Array<'py>, Array<'py>)> {
        let n = rows.count();
        let given = rows.rows(self.inputs)?;
        let (probabilities, variances, classes) = self.look(py, |model| {
            let Model::Classes(model) = model else {
                return Err(Fault::Type("a model of one predictor has no classes".to_owned()));
            };
            let classes = model.classes();
            let (mut probabilities, mut variances) = (Vec::new(), Vec::new());
            if n > 0 {
                let mut memory = Vec::new();
                for row in given.split(n, self.inputs, &mut memory)? {
                    let seen = model.predict(row)?;
                    probabilities.extend(seen.probabilities);
                    variances.extend(seen.variances);
                }
            }
            Ok((probabilities, variances, classes))
        })?;
        Ok((array(py, probabilities, &[n, classes])?, array(py, variances, &[n, classes])?))
    }

    /// Draws of the intercepts (`draws × predictors`), weights (`draws × predictors × inputs`) and of the noise of a number (`draws`, else empty).
    fn sample<'py>(&self, py: Python<'py>, draws: usize, seed: u64) -> PyResult<Drawn<'py>> {
        let (predictors, found) = self.look(py, |model| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let predictors = model.weights().len();
            room(&[draws, predictors, self.inputs])?;
            let mut found = Flat::default();
            for _ in 0..draws {
                found.extend(model.sample(&mut rng)?);
            }
            Ok((predictors, found))
        })?;
        let weights = array(py, found.weights, &[draws, predictors, self.inputs])?;
        let noise = found.noise.len();
        Ok((array(py, found.intercepts, &[draws, predictors])?, weights, array(py, found.noise, &[noise])?))
    }

    /// At every row under each of the draws that `sample` makes of this seed, `draws × rows`: the log densities of `y`, or without it a label.
    #[pyo3(signature = (rows, draws, seed, y=None, offset=None, size=None))]
    #[expect(clippy::too_many_arguments, reason = "the arrays of a call")]
    fn under_draws<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
        draws: usize,
        seed: u64,
        y: Numbers<'_>,
        offset: Numbers<'_>,
        size: Numbers<'_>,
    ) -> PyResult<Array<'py>> {
        let n = rows.count();
        let found = self.given_draws(py, (rows, offset, size), (draws, seed), &y)?;
        array(py, found, &[draws, n])
    }

    /// Posterior means of the intercepts (`predictors`) and weights (`predictors × inputs`).
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<(Array<'py>, Array<'py>)> {
        let found = self.look(py, |model| {
            let mut found = Flat::default();
            found.extend(model.weights());
            Ok(found)
        })?;
        let predictors = found.intercepts.len();
        Ok((array(py, found.intercepts, &[predictors])?, array(py, found.weights, &[predictors, self.inputs])?))
    }

    /// Names, then mean, standard deviation, interval and probability above 0 of each coefficient of each predictor (`predictors × coefficients × 5`).
    fn coefficients<'py>(&self, py: Python<'py>, level: f64) -> PyResult<(Vec<String>, Array<'py>)> {
        let (names, predictors, values) = self.look(py, |model| {
            let all = model.coefficients()?;
            let names: Vec<String> = all.first().into_iter().flatten().map(|own| own.name.clone()).collect();
            let mut values = Vec::new();
            for own in all.iter().flatten() {
                values.extend(numbers_of(own, level)?);
            }
            Ok((names, all.len(), values))
        })?;
        let width = names.len();
        Ok((names, array(py, values, &[predictors, width, 5])?))
    }

    /// The scale of each input, by which the model divides it; none where inputs are used as they are.
    fn input_scales(&self, py: Python<'_>) -> PyResult<Option<Vec<f64>>> {
        self.look(py, |model| Ok(model.input_scales().map(<[f64]>::to_vec)))
    }

    /// The posterior covariance of the weights, `inputs × inputs`.
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let d = self.inputs;
        let values = self.look(py, |model| {
            if let Model::Classes(_) = model {
                return Err(Fault::Type("weights of several classes have no one covariance".to_owned()));
            }
            let mut values = vec![0.0; room(&[d, d])?];
            for j in 0..d {
                for k in 0..=j {
                    let own = model.covariance(j, k)?;
                    (values[j * d + k], values[k * d + j]) = (own, own);
                }
            }
            Ok(values)
        })?;
        array(py, values, &[d, d])
    }

    /// What the model says of itself.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (info, label) = self.look(py, |model| Ok((model.info(), spread(model))))?;
        let told = told(py, &info)?;
        for (name, value) in ["noise", "degrees_of_freedom", "size"].into_iter().zip(label) {
            told.set_item(name, value)?;
        }
        Ok(told)
    }

    /// The findings about the model that have a consequence, as JSON; with rows that it has not learned, or a record, also those about its predictions.
    #[pyo3(signature = (rows=None, y=None, offset=None, size=None, record=None))]
    fn certificate(
        &self,
        py: Python<'_>,
        rows: Option<RowsArgument<'_>>,
        y: Numbers<'_>,
        offset: Numbers<'_>,
        size: Numbers<'_>,
        record: Option<Py<Record>>,
    ) -> PyResult<String> {
        let kept = record.map(|record| record.get().certificate()).transpose()?;
        let record = rows.map(|rows| {
            let labels = numbers("y", &y, rows.count())?;
            let labels = labels.ok_or_else(|| PyValueError::new_err("rows need their labels y"))?;
            let mut record = Certificate::default();
            self.seen(py, (rows, offset, size), |i, seen| record.add(seen, labels[i]).map(Some))?;
            Ok::<_, PyErr>(record)
        });
        let record = record.transpose()?.or(kept);
        self.look(py, |model| Ok(serde_json::to_string(&of_model(model, record.as_ref()))?))
    }

    /// Sweeps over the kept rows.
    fn refine<'py>(&self, py: Python<'py>, tolerance: f64, max_sweeps: usize) -> PyResult<Bound<'py, PyDict>> {
        let info = self.change(py, |model| {
            let exact = || Fault::Value("a linear model is exact: there is nothing to refine".to_owned());
            model.refine(&RefineSettings { tolerance, max_sweeps, ..RefineSettings::default() })?.ok_or_else(exact)
        })?;
        let told = PyDict::new(py);
        told.set_item("sweeps", info.sweeps)?;
        told.set_item("bounds", info.bounds)?;
        told.set_item("stop", format!("{:?}", info.stop))?;
        Ok(told)
    }

    /// How near the posterior is to the true one, by draws.
    fn diagnose<'py>(&self, py: Python<'py>, draws: usize, seed: u64) -> PyResult<Bound<'py, PyDict>> {
        room(&[draws, self.inputs.saturating_add(1)])?;
        let info = self.change(py, |model| Ok(model.diagnose(draws, &mut ChaCha8Rng::seed_from_u64(seed))?))?;
        told(py, &info)
    }

    /// Brings in what other models of the same make have learned.
    fn merge(&self, py: Python<'_>, others: Vec<Py<Self>>) -> PyResult<()> {
        // Copies first: two locks held at once could wait for each other, and one model may stand there twice.
        let others: Vec<Model> =
            others.iter().map(|other| other.get().look(py, |model| Ok(model.clone()))).collect::<PyResult<_>>()?;
        self.change(py, |model| match others.iter().find(|other| other.name() != model.name()) {
            Some(other) => {
                Err(Fault::Type(format!("a model of the kind {} cannot be merged into this one", other.name())))
            }
            None => Ok(model.merge(&others.iter().collect::<Vec<_>>())?),
        })
    }

    /// The log evidence of all rows so far, in nats.
    fn evidence(&self, py: Python<'_>) -> PyResult<f64> {
        self.look(py, |model| Ok(model.evidence()))
    }

    /// The settings, as JSON.
    fn settings(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |model| Ok(serde_json::to_string(model.settings())?))
    }

    /// Number of inputs.
    #[getter]
    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    /// The kind of model, as it is stored.
    fn kind(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.look(py, |model| Ok(model.name()))
    }

    /// The state: the document that Rust's `serde` writes.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.look(py, |model| Ok(serde_json::to_vec(model)?))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A model from its state.
    #[staticmethod]
    fn from_state(py: Python<'_>, state: &[u8]) -> PyResult<Self> {
        freely(py, || Ok(Self::of(serde_json::from_slice(state)?)))
    }

    /// What it believes, as the record of a posterior.
    fn record<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.look(py, record::write)?))
    }

    /// A model of a record, and what the record says beside: means of the inputs, numbers of the kind.
    #[staticmethod]
    fn from_record(py: Python<'_>, record: &[u8], names: Vec<String>) -> PyResult<(Self, Beside)> {
        let (model, beside) = freely(py, || record::read(record, names))?;
        Ok((Self::of(model), beside))
    }

    /// Another with the same state.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::of(self.look(py, |model| Ok(model.clone()))?))
    }

    /// The model that answers for all rows so far: this one, or while the first rows are still being gathered a copy that fits them together.
    fn answering(slf: &Bound<'_, Self>) -> PyResult<Py<Self>> {
        let (py, own) = (slf.py(), slf.get());
        if !own.look(py, |model| Ok(model.info().warming_up))? {
            return Ok(slf.clone().unbind());
        }
        if let Some(known) = locked(&own.answering).map_err(PyErr::from)?.as_ref() {
            return Ok(known.clone_ref(py));
        }
        let model = own.look(py, |model| {
            let mut fitted = model.clone();
            fitted.catch_up()?;
            Ok(fitted)
        })?;
        let answering = Py::new(py, Self::of(model))?;
        *locked(&own.answering).map_err(PyErr::from)? = Some(answering.clone_ref(py));
        Ok(answering)
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        Ok((py.get_type::<Self>().getattr("from_state")?, (slf.get().state(py)?,)))
    }
}
