//! The linear map: generalised linear models.

use vi_linalg::faer::{MatMut, MatRef};
use vi_linalg::kernels::dot;

use super::NaturalMap;
use crate::Error;
use crate::check;

/// The map `η_c = xᵀθ_c` with `θ = (θ_0, …, θ_{m−1})`, where `d` is `m` times the length of `x`. An intercept is an input of
/// ones.
///
/// ```
/// use vi_core::nonlinear::{LinearMap, NaturalMap};
/// let map = LinearMap::new(2, 3)?;
/// let mut eta = [0.0; 3];
/// map.evaluate(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], &[5.0, 7.0], &mut eta);
/// assert_eq!((map.parameters(), eta), (6, [5.0, 7.0, 12.0]));
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinearMap {
    inputs: usize,
    outputs: usize,
}

impl LinearMap {
    /// A map from `inputs` numbers to `outputs`.
    ///
    /// # Errors
    /// [`Error::Setting`] unless both are positive and `d` fits.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, Error> {
        check::count("inputs", inputs)?;
        check::count("outputs", outputs)?;
        super::settings::check_product("inputs", inputs, outputs)?;
        Ok(Self { inputs, outputs })
    }
}

impl NaturalMap for LinearMap {
    fn parameters(&self) -> usize {
        self.inputs * self.outputs
    }

    fn inputs(&self) -> usize {
        self.inputs
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn evaluate(&self, theta: &[f64], x: &[f64], eta: &mut [f64]) {
        for (eta, theta) in eta.iter_mut().zip(theta.chunks_exact(self.inputs)) {
            *eta = dot(theta, x);
        }
    }

    fn pull_back(&self, _theta: &[f64], x: &[f64], v: MatRef<'_, f64>, mut out: MatMut<'_, f64>) {
        for j in 0..v.ncols() {
            for c in 0..self.outputs {
                for (i, x) in x.iter().enumerate() {
                    out[(c * self.inputs + i, j)] = v[(c, j)] * x;
                }
            }
        }
    }
}
