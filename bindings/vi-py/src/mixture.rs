//! A mixture of Gaussians on NumPy arrays.

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_boost::{Component, GaussianMixture};
use vi_core::{Checkpoint, Rows, checkpoint};
use vi_linalg::faer::{Mat, MatRef};

use crate::fault::{Fault, freely};
use crate::parts::room;
use crate::rows::{RowsArgument, array};

type Array<'py> = Bound<'py, PyArrayDyn<f64>>;

/// `Σ_k w_k·N(μ_k, Σ_k)`.
#[pyclass(frozen, module = "rvi._rvi")]
pub(crate) struct Mixture {
    pub(crate) mixture: GaussianMixture,
}

/// The numbers of a matrix, row after row.
pub(crate) fn row_major(matrix: MatRef<'_, f64>) -> Vec<f64> {
    matrix.row_iter().flat_map(|row| row.iter().copied()).collect()
}

#[pymethods]
impl Mixture {
    /// Dimension.
    #[getter]
    fn dim(&self) -> usize {
        self.mixture.dim()
    }

    /// The components' weights.
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        array(py, self.mixture.weights(), &[self.mixture.len()])
    }

    /// The components' means, `K × d`.
    fn means<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let values = self.mixture.components().iter().flat_map(Component::mean).copied().collect();
        array(py, values, &[self.mixture.len(), self.dim()])
    }

    /// The components' covariances, `K × d × d`.
    fn covariances<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let of = |component: &Component| row_major(component.covariance().as_ref());
        let values = self.mixture.components().iter().flat_map(of).collect();
        array(py, values, &[self.mixture.len(), self.dim(), self.dim()])
    }

    /// The mean.
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        array(py, self.mixture.mean(), &[self.dim()])
    }

    /// The covariance, `d × d`.
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let covariance: Mat<f64> = freely(py, || Ok(self.mixture.covariance()?))?;
        array(py, row_major(covariance.as_ref()), &[self.dim(), self.dim()])
    }

    /// Draws, `n × d`.
    fn sample<'py>(&self, py: Python<'py>, n: usize, seed: u64) -> PyResult<Array<'py>> {
        room(&[n, self.dim()])?;
        let values = freely(py, || Ok(row_major(self.mixture.draw(n, &mut ChaCha8Rng::seed_from_u64(seed)).as_ref())))?;
        array(py, values, &[n, self.dim()])
    }

    /// The log-density at every row of points (`n × d`), in nats.
    fn log_density<'py>(&self, py: Python<'py>, points: RowsArgument<'_>) -> PyResult<Array<'py>> {
        let (n, d) = (points.count(), self.dim());
        let given = points.rows(d)?;
        let values = freely(py, || {
            let points = match given {
                Rows::Dense(values) => MatRef::from_row_major_slice(values, n, d),
                Rows::Matrix(matrix) => matrix,
                Rows::Sparse { .. } => return Err(Fault::Type("points are dense".to_owned())),
            };
            let mut values = vec![0.0; n];
            self.mixture.log_densities(points, &mut values)?;
            Ok(values)
        })?;
        array(py, values, &[n])
    }

    /// The mixture of some coordinates.
    fn marginal(&self, py: Python<'_>, kept: Vec<usize>) -> PyResult<Self> {
        freely(py, || Ok(Self { mixture: self.mixture.marginal(&kept)? }))
    }

    /// The state: the record that Rust writes.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = freely(py, || {
            let mut bytes = Vec::new();
            self.mixture.write_to(&mut bytes)?;
            Ok(bytes)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A mixture from its state.
    #[staticmethod]
    fn from_state(py: Python<'_>, state: &[u8]) -> PyResult<Self> {
        freely(py, || {
            let mut input = state;
            let mixture = GaussianMixture::read_from(&mut input)?;
            checkpoint::expect_end(&mut input)?;
            Ok(Self { mixture })
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        Ok((py.get_type::<Self>().getattr("from_state")?, (slf.get().state(py)?,)))
    }
}
