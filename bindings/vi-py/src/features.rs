//! Random features on NumPy arrays.

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_core::Rows;
use vi_linalg::faer::{MatRef, Par};
use vi_revrand::Basis;
use vi_revrand::basis::{Kernel, LengthScale, RandomFourier};

use crate::fault::{Fault, freely};
use crate::parts::room;
use crate::rows::{RowsArgument, array};

/// Cosines and sines of random frequencies, whose inner products are a kernel, approximately.
#[pyclass(frozen, module = "rvi._rvi")]
pub(crate) struct Fourier {
    inputs: usize,
    basis: RandomFourier,
}

#[pymethods]
impl Fourier {
    /// `2·pairs` features of `inputs` inputs; the same seed gives the same.
    #[new]
    fn new(
        py: Python<'_>,
        kernel: &str,
        inputs: usize,
        pairs: usize,
        length_scales: Vec<f64>,
        orthogonal: bool,
        seed: u64,
    ) -> PyResult<Self> {
        room(&[inputs, pairs])?;
        freely(py, || {
            let kernel = Kernel::ALL.into_iter().find(|own| own.name() == kernel).ok_or_else(|| {
                let names: Vec<&str> = Kernel::ALL.iter().map(Kernel::name).collect();
                Fault::Value(format!("there is no kernel {kernel:?}; there are {}", names.join(", ")))
            })?;
            let scales = match length_scales.as_slice() {
                [scale] => LengthScale::Shared(*scale),
                _ => LengthScale::PerInput(length_scales),
            };
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let basis = if orthogonal {
                RandomFourier::orthogonal(kernel, inputs, pairs, scales, &mut rng)?
            } else {
                RandomFourier::new(kernel, inputs, pairs, scales, &mut rng)?
            };
            Ok(Self { inputs, basis })
        })
    }

    /// The features of every row, `n × 2·pairs`.
    fn features<'py>(&self, py: Python<'py>, rows: RowsArgument<'_>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let n = rows.count();
        let given = rows.rows(self.inputs)?;
        let width = self.basis.width();
        room(&[n, width])?;
        let values = freely(py, || {
            let x = match given {
                Rows::Dense(values) => MatRef::from_row_major_slice(values, n, self.inputs),
                Rows::Matrix(matrix) => matrix,
                Rows::Sparse { .. } => return Err(Fault::Type("random features take dense rows".to_owned())),
            };
            let found = self.basis.features(&self.basis.start(), x, Par::Seq)?;
            Ok((0..n).flat_map(|i| (0..width).map(move |j| (i, j))).map(|at| found[at]).collect())
        })?;
        array(py, values, &[n, width])
    }

    /// Number of features.
    #[getter]
    fn width(&self) -> usize {
        self.basis.width()
    }
}
