//! What is asked of a model, and changed in it, while other threads of the interpreter run.

use pyo3::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_core::{Row, Rows};
use vi_models::online::{Certificate, Model, Observation, Prediction, Sandwich};
use vi_models::{Marginal, ModelError};

use super::Online;
use crate::certified::Record;
use crate::fault::{Fault, freely, locked};
use crate::parts::{OwnRow, observe, observed, parts, room};
use crate::rows::{Numbers, RowsArgument, numbers};

impl Online {
    /// What `look` finds at the model, other threads running.
    pub(super) fn look<T: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&Model) -> Result<T, Fault> + Send,
    ) -> PyResult<T> {
        freely(py, || look(&*locked(&self.model)?))
    }

    pub(super) fn change<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Model) -> Result<T, Fault> + Send,
    ) -> PyResult<T> {
        let changed = freely(py, || change(&mut *locked(&self.model)?))?;
        *locked(&self.answering)? = None;
        Ok(changed)
    }

    /// What `read` finds in the prediction at every row.
    pub(super) fn seen<T: Send>(
        &self,
        py: Python<'_>,
        (rows, offset, size): (RowsArgument<'_>, Numbers<'_>, Numbers<'_>),
        read: impl FnMut(usize, &Prediction) -> Result<Option<T>, ModelError> + Send,
    ) -> PyResult<Vec<T>> {
        let n = rows.count();
        let given = rows.rows(self.inputs)?;
        let (offset, size) = (numbers("offset", &offset, n)?, numbers("size", &size, n)?);
        self.look(py, |model| {
            if n == 0 {
                return Ok(Vec::new());
            }
            let mut memory = Vec::new();
            let rows = given.split(n, self.inputs, &mut memory)?;
            each(model, &rows, &observed(model, n, (None, None, offset, size)), read)
        })
    }

    /// Robust standard errors of the coefficients by the rows, of clusters where those are given.
    pub(super) fn robust(
        &self,
        py: Python<'_>,
        rows: RowsArgument<'_>,
        [y, weight, offset, size]: [Numbers<'_>; 4],
        clusters: Option<Vec<u64>>,
    ) -> PyResult<Vec<f64>> {
        let n = rows.count();
        let given = rows.rows(self.inputs)?;
        let parts = parts(n, [&y, &weight, &offset, &size])?;
        self.look(py, |model| {
            let (mut memory, mut sums) = (Vec::new(), Sandwich::new(model)?);
            let rows = given.split(n, self.inputs, &mut memory)?;
            for (i, (row, at)) in rows.iter().zip(observed(model, n, parts)).enumerate() {
                let cluster = clusters.as_ref().and_then(|clusters| clusters.get(i).copied());
                sums.add(*row, at, cluster).map_err(|error| at_row(i, &error))?;
            }
            Ok(sums.deviations())
        })
    }

    /// The expected label at every row, or the position of its most probable class.
    pub(super) fn at_points(
        &self,
        py: Python<'_>,
        (rows, offset, size): (RowsArgument<'_>, Numbers<'_>, Numbers<'_>),
        classes: bool,
    ) -> PyResult<Vec<f64>> {
        let n = rows.count();
        let given = rows.rows(self.inputs)?;
        let (offset, size) = (numbers("offset", &offset, n)?, numbers("size", &size, n)?);
        self.look(py, |model| {
            if n == 0 {
                return Ok(Vec::new());
            }
            let (mut memory, points) = (Vec::new(), model.points());
            let rows = match given {
                // Each row is checked where it is used: one pass over the memory.
                Rows::Dense(values) if self.inputs > 0 => values.chunks_exact(self.inputs).map(Row::Dense).collect(),
                given => given.split(n, self.inputs, &mut memory)?,
            };
            let of = |values: Option<&[f64]>, i: usize| values.map(|values| values[i]);
            let found = rows.into_iter().enumerate().map(|(i, row)| {
                let at = observe(model, 0.0, of(offset, i).unwrap_or(0.0), 1.0, of(size, i));
                let found = if classes {
                    points.class(row, at).map(|class| class.map(|class| class as f64))
                } else {
                    points.mean(row, at)
                };
                found.map_err(|error| at_row(i, &error))?.ok_or_else(without)
            });
            found.collect()
        })
    }

    /// The log density of `y`, or a drawn label, at every row under each of the draws that begin with `seed`.
    pub(super) fn given_draws(
        &self,
        py: Python<'_>,
        (rows, offset, size): (RowsArgument<'_>, Numbers<'_>, Numbers<'_>),
        (draws, seed): (usize, u64),
        y: &Numbers<'_>,
    ) -> PyResult<Vec<f64>> {
        let n = rows.count();
        let given = rows.rows(self.inputs)?;
        let (offset, size) = (numbers("offset", &offset, n)?, numbers("size", &size, n)?);
        let y = numbers("y", y, n)?;
        let room = room(&[draws, n])?;
        self.look(py, |model| {
            let mut found = Vec::with_capacity(room);
            if n == 0 {
                return Ok(found);
            }
            let (mut memory, mut rng) = (Vec::new(), ChaCha8Rng::seed_from_u64(seed));
            // Labels have a generator of their own, so that the draws are those of `sample`.
            let mut labels = ChaCha8Rng::seed_from_u64(seed ^ 1);
            let rows = given.split(n, self.inputs, &mut memory)?;
            let at = observed(model, n, (None, None, offset, size));
            for _ in 0..draws {
                let draw = model.sample(&mut rng)?.remove(0);
                for (i, (row, at)) in rows.iter().zip(&at).enumerate() {
                    let seen = model.predict_given(&draw, *row, *at);
                    let own = seen.and_then(|seen| match y {
                        Some(y) => seen.log_density(y[i]),
                        None => seen.draw(&mut labels),
                    });
                    found.push(own.map_err(|error| at_row(i, &error))?);
                }
            }
            Ok(found)
        })
    }

    /// The same at one row.
    pub(super) fn seen_row<T: Send>(
        &self,
        py: Python<'_>,
        (row, offset, size): (&Bound<'_, PyAny>, f64, Option<f64>),
        read: impl Fn(&Prediction) -> Result<Option<T>, ModelError> + Send + Sync,
    ) -> PyResult<T> {
        let row = OwnRow::of(row)?;
        self.look(py, |model| {
            let at = [observe(model, 0.0, offset, 1.0, size)];
            Ok(each(model, &[row.row()], &at, |_, seen| read(seen))?.remove(0))
        })
    }

    /// The answer of a record to the prediction at one row; `None` while the record has too few labels.
    pub(super) fn certified_row<T: Send>(
        &self,
        py: Python<'_>,
        row: &Bound<'_, PyAny>,
        record: &Py<Record>,
        of: impl FnOnce(&Certificate, &Prediction) -> Result<Option<T>, ModelError> + Send,
    ) -> PyResult<Option<T>> {
        let (row, record) = (OwnRow::of(row)?, record.get());
        self.look(py, |model| {
            let seen = model.predict(row.row(), 0.0.into())?;
            record.certified(|own| of(own, &seen))
        })
    }

    /// Two numbers of the posterior of the linear predictor at every row.
    pub(super) fn predictors(
        &self,
        py: Python<'_>,
        rows: RowsArgument<'_>,
        offset: Numbers<'_>,
        of: impl Fn(&Marginal) -> Result<(f64, f64), ModelError> + Send + Sync,
    ) -> PyResult<Vec<(f64, f64)>> {
        let n = rows.count();
        let given = rows.rows(self.inputs)?;
        let offset = numbers("offset", &offset, n)?;
        self.look(py, |model| {
            if n == 0 {
                return Ok(Vec::new());
            }
            if let Model::Classes(_) = model {
                return Err(Fault::Type("a model of several classes has no one predictor".to_owned()));
            }
            let mut memory = Vec::new();
            let rows = given.split(n, self.inputs, &mut memory)?;
            let found = rows.into_iter().enumerate().map(|(i, row)| {
                let seen = model.predictors(row, Observation::new(0.0).offset(offset.map_or(0.0, |offset| offset[i])));
                Ok(of(&seen.map_err(|error| at_row(i, &error))?[0])?)
            });
            found.collect()
        })
    }
}

fn without() -> Fault {
    Fault::Type("a model of classes has no such number: probabilities are for them".to_owned())
}

fn at_row(i: usize, error: &ModelError) -> Fault {
    Fault::Value(format!("row {i}: {error}"))
}

/// What `read` finds in the prediction at each row.
///
/// # Errors
/// `TypeError` where it finds nothing, at a model of several classes; those of the model, told of the row.
fn each<T>(
    model: &Model,
    rows: &[Row<'_>],
    at: &[Observation],
    mut read: impl FnMut(usize, &Prediction) -> Result<Option<T>, ModelError>,
) -> Result<Vec<T>, Fault> {
    let found = rows.iter().zip(at).enumerate().map(|(i, (row, at))| {
        let found = model.predict(*row, *at).and_then(|seen| read(i, &seen)).map_err(|error| at_row(i, &error))?;
        found.ok_or_else(without)
    });
    found.collect()
}
