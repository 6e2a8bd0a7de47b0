//! Many rows in pieces, between which Ctrl-C is heard.

use pyo3::prelude::*;
use vi_core::Rows;
use vi_linalg::faer::MatRef;
use vi_models::ModelError;
use vi_models::online::{Model, Observation};

use crate::fault::Fault;

/// Learns all rows or none. Beyond a piece a copy of the model learns, and takes its place at the end.
///
/// # Errors
/// Those of the model, told of the row; what a signal handler raises.
pub(crate) fn learn(model: &mut Model, rows: Rows<'_>, d: usize, observed: &[Observation]) -> Result<(), Fault> {
    let piece = piece_of(d);
    if observed.len() <= piece {
        return Ok(model.update_batch(rows, observed)?);
    }
    let mut next = model.clone();
    for (index, observed) in observed.chunks(piece).enumerate() {
        let first = index * piece;
        let mut starts = Vec::new();
        let part = part(rows, d, first, observed.len(), &mut starts)?;
        next.update_batch(part, observed).map_err(|error| shifted(error, first))?;
        #[expect(clippy::redundant_closure_for_method_calls, reason = "the method alone is of one lifetime")]
        Python::attach(|py| py.check_signals())?;
    }
    *model = next;
    Ok(())
}

/// Rows that take some tenths of a second at the price of a full covariance of `d` inputs.
fn piece_of(d: usize) -> usize {
    const FLOPS: usize = 400_000_000;
    (FLOPS / (10 * d * d).max(1)).clamp(64, 16_384)
}

/// Rows `first..first + count`.
fn part<'a>(
    rows: Rows<'a>,
    d: usize,
    first: usize,
    count: usize,
    own_starts: &'a mut Vec<usize>,
) -> Result<Rows<'a>, Fault> {
    let damaged = || Fault::Value("the starts of the sparse rows do not fit their entries".to_owned());
    Ok(match rows {
        Rows::Dense(values) => Rows::Dense(values.get(first * d..(first + count) * d).ok_or_else(damaged)?),
        Rows::Matrix(matrix) => Rows::Matrix(submatrix(matrix, first, count)),
        Rows::Sparse { starts, positions, values } => {
            let starts = starts.get(first..=first + count).ok_or_else(damaged)?;
            let (low, high) = (starts[0], starts[count]);
            own_starts.clear();
            for start in starts {
                own_starts.push(start.checked_sub(low).ok_or_else(damaged)?);
            }
            Rows::Sparse {
                starts: own_starts,
                positions: positions.get(low..high).ok_or_else(damaged)?,
                values: values.get(low..high).ok_or_else(damaged)?,
            }
        }
    })
}

fn submatrix(matrix: MatRef<'_, f64>, first: usize, count: usize) -> MatRef<'_, f64> {
    matrix.subrows(first, count)
}

fn shifted(error: ModelError, first: usize) -> ModelError {
    match error {
        ModelError::Core(error) => ModelError::Core(error.shift_row(first)),
        ModelError::Input { name, source } => ModelError::Input { name, source: source.shift_row(first) },
        other => other,
    }
}
