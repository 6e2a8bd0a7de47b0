//! What is kept of the prediction at each row.

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use rand_chacha::ChaCha8Rng;
use vi_models::ModelError;

use crate::predicted::{Predicted, Visitor};
use crate::rows::array;

/// Two numbers of each prediction.
pub(crate) struct Ends {
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Ends {
    pub(crate) fn new(n: usize) -> Self {
        Self { first: vec![0.0; n], second: vec![0.0; n] }
    }

    pub(crate) fn set(&mut self, row: usize, first: f64, second: f64) {
        (self.first[row], self.second[row]) = (first, second);
    }

    /// Those of the first row.
    pub(crate) fn first(&self) -> (f64, f64) {
        (self.first[0], self.second[0])
    }

    #[expect(clippy::type_complexity, reason = "two arrays")]
    pub(crate) fn arrays(self, py: Python<'_>) -> PyResult<(Bound<'_, PyArrayDyn<f64>>, Bound<'_, PyArrayDyn<f64>>)> {
        let n = self.first.len();
        Ok((array(py, self.first, &[n])?, array(py, self.second, &[n])?))
    }
}

/// Mean and standard deviation.
pub(crate) struct Moments {
    pub(crate) ends: Ends,
}

impl Visitor for Moments {
    fn visit<P: Predicted>(&mut self, row: usize, predicted: &P) -> Result<(), ModelError> {
        self.ends.set(row, predicted.mean(), predicted.deviation());
        Ok(())
    }
}

/// Central intervals.
pub(crate) struct Intervals {
    pub(crate) level: f64,
    pub(crate) ends: Ends,
}

impl Visitor for Intervals {
    fn visit<P: Predicted>(&mut self, row: usize, predicted: &P) -> Result<(), ModelError> {
        let interval = predicted.interval(self.level)?;
        self.ends.set(row, interval.lower, interval.upper);
        Ok(())
    }
}

/// Log densities of labels.
pub(crate) struct LogDensities<'a> {
    pub(crate) labels: &'a [f64],
    pub(crate) values: Vec<f64>,
}

impl Visitor for LogDensities<'_> {
    fn visit<P: Predicted>(&mut self, row: usize, predicted: &P) -> Result<(), ModelError> {
        self.values[row] = predicted.log_density(self.labels[row])?;
        Ok(())
    }
}

/// Draws of labels, those of a row together.
pub(crate) struct Draws {
    pub(crate) count: usize,
    pub(crate) rng: ChaCha8Rng,
    pub(crate) values: Vec<f64>,
}

impl Visitor for Draws {
    fn visit<P: Predicted>(&mut self, _row: usize, predicted: &P) -> Result<(), ModelError> {
        for _ in 0..self.count {
            self.values.push(predicted.draw(&mut self.rng)?);
        }
        Ok(())
    }
}
