//! Rows, observations, draws and what a model says of itself, between Python and the front door.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use vi_core::Row;
use vi_models::online::{Coefficient, Draw, Model, Observation, OnlineInfo};

use crate::fault::Fault;
use crate::rows::{Numbers, numbers};

/// One row of Python numbers.
pub(crate) enum OwnRow {
    Dense(Vec<f64>),
    Sparse(Vec<usize>, Vec<f64>),
}

impl OwnRow {
    /// From a list or an array of all entries, or a tuple of positions and values.
    pub(crate) fn of(row: &Bound<'_, PyAny>) -> PyResult<Self> {
        if row.is_instance_of::<PyTuple>() {
            let (positions, values) = row.extract()?;
            return Ok(Self::Sparse(positions, values));
        }
        Ok(Self::Dense(row.extract()?))
    }

    pub(crate) fn row(&self) -> Row<'_> {
        match self {
            Self::Dense(values) => Row::Dense(values),
            Self::Sparse(positions, values) => Row::Sparse { positions, values },
        }
    }
}

pub(crate) type Parts<'a> = (Option<&'a [f64]>, Option<&'a [f64]>, Option<&'a [f64]>, Option<&'a [f64]>);

/// An observation; its `size` is trials or an exposure, by the kind of model.
pub(crate) fn observe(model: &Model, label: f64, offset: f64, weight: f64, size: Option<f64>) -> Observation {
    let observed = Observation::new(label).offset(offset).weight(weight);
    match (model, size) {
        (_, None) => observed,
        (Model::Trials(_), Some(size)) => observed.trials(size),
        (_, Some(size)) => observed.exposure(size),
    }
}

/// What is observed at each of `n` rows.
pub(crate) fn observed(model: &Model, n: usize, (y, weight, offset, size): Parts<'_>) -> Vec<Observation> {
    let of = |values: Option<&[f64]>, i: usize, default| values.map_or(default, |values| values[i]);
    let size = |i: usize| size.map(|size| size[i]);
    (0..n).map(|i| observe(model, of(y, i, 0.0), of(offset, i, 0.0), of(weight, i, 1.0), size(i))).collect()
}

/// Label, weight, offset and size of each of `n` rows.
///
/// # Errors
/// Those of [`numbers`].
pub(crate) fn parts<'a>(n: usize, [y, weight, offset, size]: [&'a Numbers<'_>; 4]) -> Result<Parts<'a>, Fault> {
    Ok((numbers("y", y, n)?, numbers("weight", weight, n)?, numbers("offset", offset, n)?, numbers("size", size, n)?))
}

/// Numbers of an array at most.
pub(crate) const MOST: usize = 1 << 33;

/// How many numbers an array of this shape has.
///
/// # Errors
/// `ValueError` for more than 2³³; `MemoryError` for more than can be had.
pub(crate) fn room(shape: &[usize]) -> Result<usize, Fault> {
    let count = shape.iter().try_fold(1_usize, |product, own| product.checked_mul(*own));
    let count = count
        .filter(|count| *count <= MOST)
        .ok_or_else(|| Fault::Value(format!("an array of {shape:?} numbers is too large")))?;
    memory_for(count)?;
    Ok(count)
}

/// Asks for memory for so many numbers and gives it back: an allocation that fails within the library would end the interpreter.
///
/// # Errors
/// `MemoryError`.
pub(crate) fn memory_for(count: usize) -> Result<(), Fault> {
    Vec::<f64>::new().try_reserve_exact(count).map_err(|_| Fault::Memory(format!("no memory for {count} numbers")))
}

#[derive(Default)]
pub(crate) struct Flat {
    pub(crate) intercepts: Vec<f64>,
    pub(crate) weights: Vec<f64>,
    pub(crate) noise: Vec<f64>,
}

impl Flat {
    pub(crate) fn extend(&mut self, draws: Vec<Draw>) {
        for draw in draws {
            self.intercepts.push(draw.intercept);
            self.weights.extend(draw.weights);
            self.noise.extend(draw.noise);
        }
    }
}

/// What a model says of itself, as a dictionary.
pub(crate) fn told<'py>(py: Python<'py>, info: &OnlineInfo) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("observations", info.observations)?;
    told.set_item("evidence", info.evidence)?;
    told.set_item("prior_scale", info.prior_scale)?;
    told.set_item("prior_scales", info.prior_scales.clone())?;
    told.set_item("memories", info.memories.clone())?;
    told.set_item("last_change", info.last_change)?;
    told.set_item("forgetting_held", info.forgetting_held)?;
    told.set_item("failed_fits", info.failed_fits)?;
    told.set_item("failed_moves", info.failed_moves)?;
    told.set_item("constant_columns", info.constant_columns.clone())?;
    told.set_item("warming_up", info.warming_up)?;
    let order = info.order.map(|order| {
        let told = PyDict::new(py);
        told.set_item("runs", order.runs)?;
        told.set_item("gained", order.gained)?;
        told.set_item("error", order.error)?;
        told.set_item("sampled", order.sampled)?;
        told.set_item("in_runs", order.is_in_runs())?;
        told.set_item("matters", order.matters())?;
        told.set_item("says", order.to_string())?;
        PyResult::Ok(told)
    });
    told.set_item("order", order.transpose()?)?;
    told.set_item("likelier_scale", info.likelier_scale)?;
    told.set_item("k_hat", info.k_hat)?;
    told.set_item("effective_share", info.effective_share)?;
    told.set_item("digits", info.health.digits)?;
    told.set_item("condition", info.health.condition)?;
    told.set_item("healthy", info.health.is_good())?;
    told.set_item("refused", info.refused)?;
    told.set_item("advice", info.advice.to_string())?;
    Ok(told)
}

/// Mean, standard deviation, interval and probability above 0 of a coefficient.
pub(crate) fn numbers_of(own: &Coefficient, level: f64) -> Result<[f64; 5], Fault> {
    let interval = own.belief.interval(level)?;
    let (mean, deviation) = (own.belief.mean(), own.belief.standard_deviation());
    Ok([mean, deviation, interval.lower, interval.upper, 1.0 - own.belief.cdf(0.0)])
}
