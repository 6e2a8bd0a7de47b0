//! NumPy arrays and compressed sparse rows as the front door's rows, in place.

use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use vi_core::Rows;
use vi_linalg::faer::MatRef;

use crate::fault::Fault;

/// A matrix of float64 in either order, or `(starts, positions, values)` of compressed sparse rows.
#[derive(FromPyObject)]
pub(crate) enum RowsArgument<'py> {
    /// `n × d`.
    Dense(PyReadonlyArray2<'py, f64>),
    /// `n + 1` starts, then a position and a value for each entry.
    Sparse(PyReadonlyArray1<'py, usize>, PyReadonlyArray1<'py, usize>, PyReadonlyArray1<'py, f64>),
}

/// Numbers, one for each row.
pub(crate) type Numbers<'py> = Option<PyReadonlyArray1<'py, f64>>;

fn not_contiguous(what: &str) -> Fault {
    Fault::Value(format!("{what} is not contiguous"))
}

impl RowsArgument<'_> {
    /// The rows, of `d` inputs each, nothing copied.
    ///
    /// # Errors
    /// `ValueError` for another number of columns, or an array that is not in one piece.
    pub(crate) fn rows(&self, d: usize) -> Result<Rows<'_>, Fault> {
        match self {
            Self::Dense(array) => {
                let [n, columns] = [array.shape()[0], array.shape()[1]];
                if columns != d {
                    return Err(Fault::Value(format!("X has {columns} features, but {d} are expected")));
                }
                let values = array.as_slice_memory_order(n, columns)?;
                Ok(match values {
                    Order::Rows(values) => Rows::Dense(values),
                    Order::Columns(values) => Rows::Matrix(MatRef::from_column_major_slice(values, n, d)),
                })
            }
            Self::Sparse(starts, positions, values) => {
                let of = |array: &'_ PyReadonlyArray1<'_, usize>| array.as_slice().is_ok();
                if !of(starts) || !of(positions) || values.as_slice().is_err() {
                    return Err(not_contiguous("an array of the sparse rows"));
                }
                Ok(Rows::Sparse {
                    starts: starts.as_slice().unwrap_or_default(),
                    positions: positions.as_slice().unwrap_or_default(),
                    values: values.as_slice().unwrap_or_default(),
                })
            }
        }
    }

    /// How many rows.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Dense(array) => array.shape()[0],
            Self::Sparse(starts, ..) => starts.shape()[0].saturating_sub(1),
        }
    }
}

/// The numbers of a matrix in the order in which they lie.
enum Order<'a> {
    Rows(&'a [f64]),
    Columns(&'a [f64]),
}

trait MemoryOrder {
    fn as_slice_memory_order(&self, n: usize, d: usize) -> Result<Order<'_>, Fault>;
}

impl MemoryOrder for PyReadonlyArray2<'_, f64> {
    fn as_slice_memory_order(&self, n: usize, d: usize) -> Result<Order<'_>, Fault> {
        // NumPy calls one row or one column contiguous both ways.
        let values = self.as_slice().map_err(|_| not_contiguous("X"))?;
        debug_assert_eq!(values.len(), n * d);
        Ok(if self.is_c_contiguous() { Order::Rows(values) } else { Order::Columns(values) })
    }
}

/// The numbers as a slice of length `n`, where there are any.
///
/// # Errors
/// `ValueError` for another length, or numbers that are not in one piece.
pub(crate) fn numbers<'a>(name: &str, array: &'a Numbers<'_>, n: usize) -> Result<Option<&'a [f64]>, Fault> {
    let Some(array) = array else { return Ok(None) };
    let values = array.as_slice().map_err(|_| not_contiguous(name))?;
    if values.len() == n {
        Ok(Some(values))
    } else {
        Err(Fault::Value(format!("{name} has length {}, expected {n}", values.len())))
    }
}

/// Numbers as an array of the given shape.
pub(crate) fn array<'py>(py: Python<'py>, values: Vec<f64>, shape: &[usize]) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    numpy::PyArray1::from_vec(py, values).reshape(shape)
}
