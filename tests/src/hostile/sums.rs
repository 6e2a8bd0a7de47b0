//! Records of `vi-sums`, which are of one piece: nothing may follow.

use vi_sums::{At, PassSums, Posterior, Predictor, SumsError};

use super::{Finding, ensure};

/// What was read has to be written as the same bytes.
fn same(kind: &str, bytes: &[u8], written: Result<Vec<u8>, SumsError>) -> Result<(), Finding> {
    let written = written.map_err(|error| Finding::new(format!("{kind}: read and not written: {error}")))?;
    ensure(written == bytes, || format!("{kind}: written as other bytes than were read"))
}

fn numbers(name: &str, values: &[f64]) -> Result<(), Finding> {
    ensure(values.iter().all(|value| !value.is_nan()), || format!("{name} is NaN: {values:?}"))
}

/// A posterior answers, is added to itself, and is taken off again.
pub(super) fn posterior(bytes: &[u8]) -> Result<bool, Finding> {
    let Ok(read) = Posterior::decode(bytes) else { return Ok(false) };
    same("a posterior", bytes, read.encode())?;
    if let Ok(evidence) = read.log_evidence() {
        numbers("evidence", &[evidence])?;
    }
    if let Ok(predictor) = Predictor::new(&read) {
        if let Ok(seen) = predictor.predict(&vec![0.5; read.inputs()], 0.9) {
            numbers("a prediction", &[seen.mean, seen.variance, seen.lower, seen.upper])?;
        }
        if let Ok(drawn) = predictor.sample(1) {
            numbers("a draw", &drawn)?;
        }
        for weight in predictor.weights(0.9).unwrap_or_default() {
            numbers("a weight", &[weight.mean, weight.deviation, weight.lower, weight.upper])?;
        }
    }
    let mut twice = read.clone();
    if twice.merge(&read).is_ok() {
        ensure(twice.rows() == 2 * read.rows(), || "a merge lost rows".to_owned())?;
        if twice.subtract(&read).is_ok() {
            ensure(twice.rows() == read.rows(), || "a subtraction lost rows".to_owned())?;
        }
    }
    Ok(true)
}

/// The statistics of a pass are added to themselves; what they hold may be beyond the floats.
pub(super) fn pass(bytes: &[u8]) -> Result<bool, Finding> {
    let Ok(read) = PassSums::decode(bytes) else { return Ok(false) };
    same("a pass", bytes, read.encode())?;
    let mut twice = read.clone();
    ensure(twice.merge(&read).is_ok(), || "a pass is unlike itself".to_owned())?;
    ensure(twice.place() == read.place(), || "a merge has moved its place".to_owned())?;
    Ok(true)
}

/// A row is seen from a place, and a step taken.
pub(super) fn place(bytes: &[u8]) -> Result<bool, Finding> {
    let Ok(read) = At::decode(bytes) else { return Ok(false) };
    ensure(read.record() == bytes, || "a place: another record than was read".to_owned())?;
    let mut sums = PassSums::new(&read);
    if sums.update_rows(&read, &vec![0.5; read.inputs()], &[1.0]).is_ok()
        && let Ok(Some(told)) = sums.newton(&read, 0.5)
    {
        numbers("bound and size", &[told.bound, told.size])?;
        Posterior::from(told.posterior)
            .encode()
            .map_err(|error| Finding::new(format!("a step was taken and not written: {error}")))?;
    }
    Ok(true)
}
