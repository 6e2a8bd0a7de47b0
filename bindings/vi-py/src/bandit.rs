//! Choices among arms, and values of policies from logs.

use std::collections::BTreeMap;

use numpy::{PyArrayDyn, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_core::Rows;
use vi_models::ModelError;
use vi_models::bandit::{Arms, Estimator, Logged, Policy, ValueSequence};
use vi_models::online::Model;

use crate::fault::{Fault, freely, locked};
use crate::online::Online;
use crate::rows::{RowsArgument, array, in_place};

/// The place of the arm chosen at each context. Of several models each has an arm, and `rows` has the contexts; one model has all `arms`, and
/// `rows` has a row for each of them at each context.
#[pyfunction]
pub(crate) fn choose(
    py: Python<'_>,
    models: Vec<Py<Online>>,
    rows: RowsArgument<'_>,
    arms: usize,
    policy: &str,
    level: f64,
    seed: u64,
) -> PyResult<Vec<usize>> {
    let policy = match policy {
        "directed" => Policy::default(),
        "thompson" => Policy::Thompson,
        "ucb" => Policy::Bound { level },
        "greedy" => Policy::Greedy,
        _ => return Err(PyValueError::new_err(format!("there is no policy {policy:?}"))),
    };
    let Some(first) = models.first() else {
        return Err(PyValueError::new_err("there are no models"));
    };
    let (inputs, n) = (first.get().inputs(), rows.count());
    let given = rows.rows(inputs)?;
    freely(py, || {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // Every call locks in the order of the addresses, and a model that is there twice once: none waits for another.
        let own: BTreeMap<usize, &Online> =
            models.iter().map(|model| (std::ptr::from_ref(model.get()).addr(), model.get())).collect();
        let held = own.into_iter().map(|(place, model)| Ok((place, locked(model.model())?)));
        let held = held.collect::<Result<BTreeMap<_, _>, Fault>>()?;
        let all: Vec<&Model> = models.iter().map(|model| &*held[&std::ptr::from_ref(model.get()).addr()]).collect();
        let together = all.len() == 1 && arms > 1;
        if !together && all.len() != arms {
            return Err(Fault::Value(format!("{} models for {arms} arms", all.len())));
        }
        if together {
            let Rows::Dense(values) = given else {
                return Err(Fault::Value("the rows of the arms are not contiguous".to_owned()));
            };
            let contexts = values.chunks_exact((arms * inputs).max(1));
            let choose = |rows| policy.choose(Arms::Together { model: all[0], rows: Rows::Dense(rows) }, &mut rng);
            return Ok(contexts.map(choose).collect::<Result<_, _>>()?);
        }
        let mut memory = Vec::new();
        let contexts = given.split(n, inputs, &mut memory).map_err(ModelError::from)?;
        let choose = |context| policy.choose(Arms::Apart { models: &all, context }, &mut rng);
        Ok(contexts.into_iter().map(choose).collect::<Result<_, _>>()?)
    })
}

/// The arrays of a log: places of the chosen arms, their probabilities and rewards, the policy in question, `rounds × arms`, and predictions of
/// the same shape.
#[derive(FromPyObject)]
pub(crate) struct Log<'py>(
    PyReadonlyArray1<'py, usize>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray2<'py, f64>,
    Option<PyReadonlyArray2<'py, f64>>,
);

impl Log<'_> {
    fn rounds(&self) -> Result<Vec<Logged<'_>>, Fault> {
        let Self(arms, probabilities, rewards, policy, predicted) = self;
        let (arms, [n, k]) = (in_place("arms", arms)?, [policy.shape()[0], policy.shape()[1]]);
        let (probabilities, rewards) = (in_place("probabilities", probabilities)?, in_place("rewards", rewards)?);
        for (name, length) in [("arms", arms.len()), ("probabilities", probabilities.len()), ("rewards", rewards.len())]
        {
            if length != n {
                return Err(Fault::Value(format!("{name} has length {length}, expected {n}")));
            }
        }
        let by_rows = |name: &str, array: &PyReadonlyArray2<'_, f64>| {
            if array.shape() == [n, k] && array.is_c_contiguous() {
                return Ok(());
            }
            Err(Fault::Value(format!("{name} has the shape {:?}, expected [{n}, {k}]", array.shape())))
        };
        by_rows("policy", policy)?;
        let policy = in_place("policy", policy)?;
        let predicted = match predicted {
            Some(array) => {
                by_rows("predicted", array)?;
                in_place("predicted", array)?
            }
            None => &[],
        };
        let round = |t: usize| Logged {
            arm: arms[t],
            probability: probabilities[t],
            reward: rewards[t],
            policy: &policy[t * k..(t + 1) * k],
            predicted: if predicted.is_empty() { &[] } else { &predicted[t * k..(t + 1) * k] },
        };
        Ok((0..n).map(round).collect())
    }
}

/// Estimate, standard error, ends of the interval, effective number of rounds.
#[pyfunction]
pub(crate) fn value(py: Python<'_>, log: Log<'_>, estimator: &str, level: f64) -> PyResult<(f64, f64, f64, f64, f64)> {
    let estimator = match estimator {
        "ips" => Estimator::Weighted,
        "snips" => Estimator::SelfNormalised,
        "dr" => Estimator::DoublyRobust,
        _ => return Err(PyValueError::new_err(format!("there is no estimator {estimator:?}"))),
    };
    let rounds = log.rounds()?;
    let found = freely(py, || Ok(vi_models::bandit::value(&rounds, estimator, level)?))?;
    Ok((found.estimate, found.error, found.interval.lower, found.interval.upper, found.effective))
}

/// Lower and upper ends after each round; of the self-normalised estimate where `normalised`.
#[pyfunction]
pub(crate) fn value_sequence<'py>(
    py: Python<'py>,
    log: Log<'_>,
    rewards: (f64, f64),
    least: Option<f64>,
    level: f64,
    normalised: bool,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let rounds = log.rounds()?;
    let ends = freely(py, || {
        let mut sequence = match least.filter(|_| normalised) {
            Some(least) => ValueSequence::self_normalised(rewards, least, level)?,
            None => ValueSequence::new(rewards, least, level)?,
        };
        let mut ends = Vec::with_capacity(2 * rounds.len());
        for round in &rounds {
            sequence.update(round)?;
            let interval = sequence.interval();
            ends.extend([interval.lower, interval.upper]);
        }
        Ok(ends)
    })?;
    array(py, ends, &[rounds.len(), 2])
}
