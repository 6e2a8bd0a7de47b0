//! Latent Gaussian models whose field and prior Python code computes.

use std::sync::Mutex;

use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_boost::BoostError;
use vi_boost::latent::{Field, Inner, Latent, LatentSettings, Observed, Outer, Spread, fit_latent};
use vi_boost::transform::Parameters;
use vi_core::{BernoulliLogit, Error, GaussianExpectation, GaussianLikelihood, Likelihood, Mixture8, Tilted};
use vi_linalg::faer::MatRef;
use vi_models::likelihood::{BernoulliProbit, NegativeBinomial, Poisson, StudentT};

use crate::fault::{Fault, freely};
use crate::mixture::row_major;
use crate::parts::room;
use crate::rows::{Numbers, RowsArgument, array, in_place, numbers};

/// One of the likelihoods by name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Named {
    Gaussian(GaussianLikelihood),
    Logit(BernoulliLogit<Mixture8>),
    Probit(BernoulliProbit),
    Poisson(Poisson),
    NegativeBinomial(NegativeBinomial),
    StudentT(StudentT),
}

macro_rules! each {
    ($of:expr, $likelihood:ident => $do:expr) => {
        match $of {
            Named::Gaussian($likelihood) => $do,
            Named::Logit($likelihood) => $do,
            Named::Probit($likelihood) => $do,
            Named::Poisson($likelihood) => $do,
            Named::NegativeBinomial($likelihood) => $do,
            Named::StudentT($likelihood) => $do,
        }
    };
}

impl Likelihood for Named {
    fn family(&self) -> &'static str {
        each!(self, of => of.family())
    }

    fn supports(&self, label: f64) -> bool {
        each!(self, of => of.supports(label))
    }

    fn is_log_concave(&self) -> bool {
        each!(self, of => of.is_log_concave())
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        each!(self, of => of.log_density(y, t))
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        each!(self, of => of.slope(y, t))
    }

    fn curvature(&self, y: f64, t: f64) -> f64 {
        each!(self, of => of.curvature(y, t))
    }

    fn derivatives(&self, y: f64, t: f64) -> [f64; 3] {
        each!(self, of => of.derivatives(y, t))
    }

    fn peak(&self, y: f64) -> Option<f64> {
        each!(self, of => of.peak(y))
    }

    fn fisher_information(&self, t: f64) -> f64 {
        each!(self, of => of.fisher_information(t))
    }
}

impl GaussianExpectation for Named {
    fn expected(&self, y: f64, a: f64, nu: f64) -> vi_core::Expected {
        each!(self, of => of.expected(y, a, nu))
    }

    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        each!(self, of => of.log_predictive(y, a, nu))
    }

    fn tilted(&self, y: f64, a: f64, nu: f64) -> Result<Tilted, Error> {
        each!(self, of => of.tilted(y, a, nu))
    }
}

/// The second number of a likelihood: known, one a row, or a hyper-parameter.
enum Scale {
    Known(Vec<f64>),
    Hyper(usize),
}

/// A model with what its callables raised first; from then on there is nothing to be had.
struct Callables {
    parameters: Parameters,
    dim: usize,
    /// `ψ → log p(ψ)`.
    log_prior: Py<PyAny>,
    /// `ψ → (mean, variances, covariance or precision)`.
    field: Py<PyAny>,
    precision: bool,
    likelihood: String,
    scale: Option<Scale>,
    dof: f64,
    raised: Mutex<Option<PyErr>>,
}

impl Callables {
    /// The result of a callable at `hyper`; an exception ends the fit.
    fn ask<T>(&self, call: &Py<PyAny>, hyper: &[f64], take: impl FnOnce(Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        if self.raised.lock().map_or(true, |raised| raised.is_some()) {
            return None;
        }
        let found = Python::attach(|py| {
            let hyper = array(py, hyper.to_vec(), &[hyper.len()])?;
            call.bind(py).call1((hyper,)).and_then(take)
        });
        let keep = |error| self.raised.lock().map(|mut raised| *raised = Some(error));
        found.map_err(keep).ok()
    }
}

/// The result of a callable that raised.
fn nothing() -> BoostError {
    Error::Overflow { quantity: "the result of a callable that raised", value: f64::NAN }.into()
}

impl Latent for Callables {
    type Likelihood = Named;

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn log_prior(&self, hyper: &[f64]) -> f64 {
        self.ask(&self.log_prior, hyper, |value| value.extract()).unwrap_or(f64::NAN)
    }

    fn field(&self, hyper: &[f64]) -> Result<Field, BoostError> {
        let take = |found: Bound<'_, PyAny>| {
            let (mean, spread): (PyReadonlyArray1<'_, f64>, PyReadonlyArrayDyn<'_, f64>) = found.extract()?;
            let values = in_place("the covariance", &spread)?;
            let spread = match (spread.shape(), self.precision) {
                ([_], _) => Spread::Variances(values.to_vec()),
                // By rows, of which the lower triangle is read.
                (&[n, m], precision) => {
                    let matrix = MatRef::from_row_major_slice(values, n, m).to_owned();
                    if precision { Spread::Precision(matrix) } else { Spread::Covariance(matrix) }
                }
                (shape, _) => return Err(Fault::Value(format!("a covariance of shape {shape:?}")).into()),
            };
            Ok(Field { mean: in_place("the mean", &mean)?.to_vec(), spread })
        };
        self.ask(&self.field, hyper, take).ok_or_else(nothing)
    }

    fn likelihood(&self, hyper: &[f64], row: usize) -> Result<Named, BoostError> {
        let scale = match &self.scale {
            Some(Scale::Known(values)) => values[row],
            Some(Scale::Hyper(index)) => hyper[*index],
            None => 1.0,
        };
        Ok(match self.likelihood.as_str() {
            "gaussian" => Named::Gaussian(GaussianLikelihood::new(scale * scale)?),
            "student_t" => Named::StudentT(StudentT::new(self.dof, scale)?),
            "negative_binomial" => Named::NegativeBinomial(NegativeBinomial::new(scale)?),
            "poisson" => Named::Poisson(Poisson::default()),
            "probit" => Named::Probit(BernoulliProbit),
            _ => Named::Logit(BernoulliLogit(Mixture8)),
        })
    }
}

/// Blocks of parameters by `(name, constraint, size, lower, upper)`.
pub(crate) type Blocks = Vec<(String, String, usize, f64, f64)>;

/// The parameters of blocks.
///
/// # Errors
/// `ValueError` for a name that is there twice, a size or a bound that cannot be.
pub(crate) fn parameters(blocks: &Blocks) -> Result<Parameters, Fault> {
    blocks.iter().try_fold(Parameters::new(), |all, (name, kind, size, lower, upper)| {
        Ok(match kind.as_str() {
            "positive" => all.positive(name, *size)?,
            "above" => all.above(name, *size, *lower)?,
            "between" => all.between(name, *size, *lower, *upper)?,
            "ordered" => all.ordered(name, *size)?,
            "simplex" => all.simplex(name, *size)?,
            _ => all.real(name, *size)?,
        })
    })
}

/// The posterior of a latent Gaussian model: joint draws, their names, nodes (hyper-parameters, weights, means, variances), and what
/// is known of their errors.
#[pyfunction]
#[pyo3(signature = (y, likelihood, scale, dof, blocks, log_prior, field, dim, precision, design, offset, laplace, settings, seed))]
#[expect(clippy::too_many_arguments, reason = "parts of a model")]
pub(crate) fn latent<'py>(
    py: Python<'py>,
    y: PyReadonlyArray1<'_, f64>,
    likelihood: String,
    scale: Option<(Numbers<'_>, usize)>,
    dof: f64,
    blocks: Blocks,
    log_prior: Py<PyAny>,
    field: Py<PyAny>,
    dim: usize,
    precision: bool,
    design: Option<RowsArgument<'_>>,
    offset: Numbers<'_>,
    laplace: bool,
    settings: (usize, usize, usize),
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let labels = in_place("y", &y)?;
    let known = |(values, index): &(Numbers<'_>, usize)| {
        Ok::<_, Fault>(match numbers("scale", values, labels.len())? {
            Some(values) => Scale::Known(values.to_vec()),
            None => Scale::Hyper(*index),
        })
    };
    let scale = scale.as_ref().map(known).transpose()?;
    let rows = design.as_ref().map(|design| design.rows(dim)).transpose()?;
    let offsets = numbers("offset", &offset, labels.len())?;
    let parameters = parameters(&blocks)?;
    if matches!(scale, Some(Scale::Hyper(index)) if index >= parameters.dim()) {
        return Err(Fault::Value("the scale names no hyper-parameter".to_owned()).into());
    }
    let raised = Mutex::new(None);
    let model = Callables { parameters, dim, log_prior, field, precision, likelihood, scale, dof, raised };
    let (nodes, draws, starts) = settings;
    let found = freely(py, || {
        room(&[draws, dim, 1])?;
        room(&[nodes.max(draws), 4, dim])?;
        let inner = if laplace { Inner::Laplace } else { Inner::ExpectationPropagation };
        let settings =
            LatentSettings { inner, outer: Outer::Nodes { starts }, nodes, draws, ..LatentSettings::default() };
        let mut observed = Observed::of(labels);
        if let Some(rows) = rows {
            observed = observed.design(rows);
        }
        if let Some(offsets) = offsets {
            observed = observed.offsets(offsets);
        }
        let found = fit_latent(&model, &observed, &settings, &mut ChaCha8Rng::seed_from_u64(seed));
        match model.raised.lock().ok().and_then(|mut raised| raised.take()) {
            Some(error) => Err(Fault::Raised(error)),
            None => Ok(found?),
        }
    })?;
    let told = PyDict::new(py);
    let matrix = |of: fn(&vi_boost::latent::Node) -> &[f64]| {
        let width = found.nodes.first().map_or(0, |node| of(node).len());
        array(py, found.nodes.iter().flat_map(of).copied().collect(), &[found.nodes.len(), width])
    };
    told.set_item("draws", array(py, row_major(found.draws.as_ref()), &[found.draws.nrows(), found.draws.ncols()])?)?;
    told.set_item("names", found.names.clone())?;
    told.set_item("hyper", matrix(|node| &node.hyper)?)?;
    told.set_item("weights", array(py, found.nodes.iter().map(|node| node.weight).collect(), &[found.nodes.len()])?)?;
    told.set_item("means", matrix(|node| &node.mean)?)?;
    told.set_item("variances", matrix(|node| &node.variances)?)?;
    let (diagnosis, work) = (found.diagnosis, found.work);
    told.set_item("log_evidence", found.log_evidence)?;
    told.set_item("verdict", format!("{:?}", diagnosis.verdict).to_lowercase())?;
    told.set_item("says", diagnosis.verdict.to_string())?;
    told.set_item("inner", diagnosis.inner)?;
    told.set_item("effective", diagnosis.effective)?;
    told.set_item("k_hat", diagnosis.k_hat)?;
    told.set_item("evaluations", work.evaluations)?;
    told.set_item("sweeps", work.sweeps)?;
    told.set_item("differences", work.differences)?;
    told.set_item("unconverged", work.unconverged)?;
    told.set_item("refused", work.refused)?;
    told.set_item("refusal", found.refusal.map(|error| error.to_string()))?;
    Ok(told)
}
