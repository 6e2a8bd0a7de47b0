//! Sums of a linear regression on NumPy arrays, and the effects that they tell.

use std::sync::Mutex;

use numpy::{PyArrayDyn, PyReadonlyArray1};
use pyo3::prelude::*;
use vi_sums::LinearSums;

use crate::fault::{Fault, freely, locked};
use crate::parts::room;
use crate::rows::{RowsArgument, array, in_place, numbers};

/// Estimate, log e-value, and the ends of the interval, if it is not the whole line.
type Told = (f64, f64, Option<(f64, f64)>);

/// Number, means and scatter of rows.
#[pyclass(frozen, module = "rvi._rvi")]
pub(crate) struct Sums {
    sums: Mutex<LinearSums>,
}

/// Number of inputs, and the list of sums.
type Stored<'py> = (usize, Bound<'py, PyArrayDyn<f64>>);

#[pymethods]
impl Sums {
    #[new]
    fn new(py: Python<'_>, inputs: usize) -> PyResult<Self> {
        freely(py, || {
            room(&[inputs.saturating_add(1), inputs.saturating_add(2)])?;
            Ok(Self { sums: Mutex::new(LinearSums::new(inputs)?) })
        })
    }

    /// Adds rows, all or none.
    fn update(&self, py: Python<'_>, rows: RowsArgument<'_>, labels: PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        let (n, labels) = (rows.count(), Some(labels));
        let y = numbers("y", &labels, n)?.unwrap_or_default();
        let inputs = locked(&self.sums)?.inputs();
        let rows = rows.rows(inputs)?;
        freely(py, || {
            let mut sums = locked(&self.sums)?;
            let mut next = sums.clone();
            rows.check(n, inputs)?;
            let (mut memory, mut dense) = (Vec::new(), Vec::new());
            for (i, (row, y)) in rows.split(n, inputs, &mut memory)?.into_iter().zip(y).enumerate() {
                let row = row.written_out(inputs, &mut dense);
                next.update(row, *y).map_err(|error| Fault::Value(format!("row {i}: {error}")))?;
            }
            *sums = next;
            Ok(())
        })
    }

    /// Adds the rows of other sums.
    fn merge(&self, py: Python<'_>, other: &Self) -> PyResult<()> {
        freely(py, || {
            let other = locked(&other.sums)?.clone();
            Ok(locked(&self.sums)?.merge(&other)?)
        })
    }

    /// The number of rows.
    fn rows(&self) -> PyResult<u64> {
        Ok(locked(&self.sums)?.rows())
    }

    /// The effect of a contrast.
    fn effect(
        &self,
        py: Python<'_>,
        contrast: PyReadonlyArray1<'_, f64>,
        null: f64,
        mixture: f64,
        level: f64,
    ) -> PyResult<Told> {
        let contrast = in_place("contrast", &contrast)?;
        freely(py, || {
            let effect = locked(&self.sums)?.effect(contrast)?;
            let interval = effect.interval(level, mixture)?.map(|own| (own.lower, own.upper));
            Ok((effect.estimate(), effect.log_e_value(null, mixture)?, interval))
        })
    }

    /// The sums as a list of numbers.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let flat = locked(&self.sums)?.flat().to_vec();
        let n = flat.len();
        array(py, flat, &[n])
    }

    /// Sums from their list.
    #[staticmethod]
    fn from_state(inputs: usize, state: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let sums = LinearSums::from_flat(inputs, in_place("state", &state)?).map_err(Fault::from)?;
        Ok(Self { sums: Mutex::new(sums) })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Stored<'py>)> {
        let py = slf.py();
        let inputs = locked(&slf.get().sums)?.inputs();
        Ok((py.get_type::<Self>().getattr("from_state")?, (inputs, slf.get().state(py)?)))
    }
}
