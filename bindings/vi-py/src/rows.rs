//! NumPy arrays and compressed sparse rows as the front door's rows, in place.

use numpy::ndarray::Dimension;
use numpy::{
    Element, PyArrayDyn, PyArrayMethods, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
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

/// The numbers of an array in the order in which they lie.
///
/// # Errors
/// `ValueError` for numbers that are not in one piece, or that begin between two places where a number may lie, as those of a file's
/// bytes can.
pub(crate) fn in_place<'a, T: Element, D: Dimension>(
    name: &str,
    array: &'a PyReadonlyArray<'_, T, D>,
) -> Result<&'a [T], Fault> {
    if !array.data().is_aligned() {
        return Err(Fault::Value(format!("{name} is not aligned")));
    }
    array.as_slice().map_err(|_| Fault::Value(format!("{name} is not contiguous")))
}

impl RowsArgument<'_> {
    /// The rows, of `d` inputs each, nothing copied.
    ///
    /// # Errors
    /// `ValueError` for another number of columns; those of [`in_place`].
    pub(crate) fn rows(&self, d: usize) -> Result<Rows<'_>, Fault> {
        match self {
            Self::Dense(array) => {
                let [n, columns] = [array.shape()[0], array.shape()[1]];
                if columns != d {
                    return Err(Fault::Value(format!("X has {columns} features, but {d} are expected")));
                }
                let values = in_place("X", array)?;
                debug_assert_eq!(values.len(), n * columns);
                // NumPy calls one row or one column contiguous both ways.
                Ok(if array.is_c_contiguous() {
                    Rows::Dense(values)
                } else {
                    Rows::Matrix(MatRef::from_column_major_slice(values, n, d))
                })
            }
            Self::Sparse(starts, positions, values) => {
                const WHAT: &str = "an array of the sparse rows";
                Ok(Rows::Sparse {
                    starts: in_place(WHAT, starts)?,
                    positions: in_place(WHAT, positions)?,
                    values: in_place(WHAT, values)?,
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

/// The numbers as a slice of length `n`, where there are any.
///
/// # Errors
/// `ValueError` for another length; those of [`in_place`].
pub(crate) fn numbers<'a>(name: &str, array: &'a Numbers<'_>, n: usize) -> Result<Option<&'a [f64]>, Fault> {
    let Some(array) = array else { return Ok(None) };
    let values = in_place(name, array)?;
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
