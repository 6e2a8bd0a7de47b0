//! A neural network of one hidden layer.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_linalg::faer::{MatMut, MatRef};
use vi_linalg::kernels::dot;

use super::NaturalMap;
use super::settings::check_product;
use crate::Error;
use crate::check;

/// The network `η = B·tanh(Ax + a) + b` with `u` hidden units: `θ = (A, a, B, b)`, matrices row by row, `d = u(inputs + 1) + m(u
/// + 1)`.
///
/// ```
/// use vi_core::nonlinear::{NaturalMap, OneHiddenLayer};
/// let network = OneHiddenLayer::new(1, 1, 1)?;
/// let mut eta = [0.0];
/// network.evaluate(&[2.0, 1.0, 3.0, 0.5], &[-0.5], &mut eta);
/// assert_eq!(eta, [0.5]); // 3·tanh(2·(−0.5) + 1) + 0.5
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneHiddenLayer {
    inputs: usize,
    units: usize,
    outputs: usize,
}

/// The parts of `θ`.
struct Parts<'a> {
    a: &'a [f64],
    a0: &'a [f64],
    b: &'a [f64],
    b0: &'a [f64],
}

impl OneHiddenLayer {
    /// A network of `inputs` inputs, `units` hidden units and `outputs` outputs.
    ///
    /// # Errors
    /// [`Error::Setting`] unless all are positive and `d` fits.
    pub fn new(inputs: usize, units: usize, outputs: usize) -> Result<Self, Error> {
        check::count("inputs", inputs)?;
        check::count("units", units)?;
        check::count("outputs", outputs)?;
        check_product("inputs", inputs.saturating_add(1), units)?;
        check_product("outputs", outputs, units.saturating_add(1))?;
        Ok(Self { inputs, units, outputs })
    }

    /// Prior variances, length `d`: `scale²/inputs` for `A`, `scale²/units` for `B`, `scale²` for `a` and `b`, so that the
    /// units' arguments and the outputs have variances of order `scale²` for inputs of order one.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `scale` is positive and finite.
    ///
    /// ```
    /// use vi_core::nonlinear::OneHiddenLayer;
    /// let variances = OneHiddenLayer::new(2, 4, 1)?.prior_variances(2.0)?;
    /// assert_eq!(variances[..8], [2.0; 8]); // A
    /// assert_eq!(variances[8..12], [4.0; 4]); // a
    /// assert_eq!(variances[12..], [1.0, 1.0, 1.0, 1.0, 4.0]); // B, b
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn prior_variances(&self, scale: f64) -> Result<Vec<f64>, Error> {
        check::positive("scale", scale)?;
        check::positive("scale²", scale * scale)?;
        let square = scale * scale;
        let parts = [
            (self.units * self.inputs, square / self.inputs as f64),
            (self.units, square),
            (self.outputs * self.units, square / self.units as f64),
            (self.outputs, square),
        ];
        Ok(parts.into_iter().flat_map(|(count, variance)| std::iter::repeat_n(variance, count)).collect())
    }

    /// A mean to start from: a draw from the [prior](Self::prior_variances).
    ///
    /// At `θ = 0` all units are equal and have equal gradients; a draw breaks the tie.
    ///
    /// # Errors
    /// Those of [`prior_variances`](Self::prior_variances).
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_core::nonlinear::OneHiddenLayer;
    /// use vi_core::{LowRankGaussian, LowRankSettings};
    /// let network = OneHiddenLayer::new(2, 4, 1)?;
    /// let mean = network.random_mean(1.0, &mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
    /// let prior = LowRankGaussian::new(&mean, &network.prior_variances(1.0)?, LowRankSettings::blocked(3)?)?;
    /// assert_eq!(prior.precision().dim(), 4 * 3 + 5);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn random_mean<R: Rng + ?Sized>(&self, scale: f64, rng: &mut R) -> Result<Vec<f64>, Error> {
        let variances = self.prior_variances(scale)?;
        Ok(variances
            .into_iter()
            .map(|variance| {
                let z: f64 = StandardNormal.sample(rng);
                variance.sqrt() * z
            })
            .collect())
    }

    fn parts<'a>(&self, theta: &'a [f64]) -> Parts<'a> {
        let (a, rest) = theta.split_at(self.units * self.inputs);
        let (a0, rest) = rest.split_at(self.units);
        let (b, b0) = rest.split_at(self.outputs * self.units);
        Parts { a, a0, b, b0 }
    }

    fn hidden(&self, parts: &Parts<'_>, x: &[f64]) -> Vec<f64> {
        parts.a.chunks_exact(self.inputs).zip(parts.a0).map(|(a, a0)| (dot(a, x) + a0).tanh()).collect()
    }
}

impl NaturalMap for OneHiddenLayer {
    fn parameters(&self) -> usize {
        self.units * (self.inputs + 1) + self.outputs * (self.units + 1)
    }

    fn inputs(&self) -> usize {
        self.inputs
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn evaluate(&self, theta: &[f64], x: &[f64], eta: &mut [f64]) {
        let parts = self.parts(theta);
        let z = self.hidden(&parts, x);
        for ((eta, b), b0) in eta.iter_mut().zip(parts.b.chunks_exact(self.units)).zip(parts.b0) {
            *eta = dot(b, &z) + b0;
        }
    }

    fn pull_back(&self, theta: &[f64], x: &[f64], v: MatRef<'_, f64>, mut out: MatMut<'_, f64>) {
        let parts = self.parts(theta);
        let z = self.hidden(&parts, x);
        let (inputs, units, outputs) = (self.inputs, self.units, self.outputs);
        let (at_a0, at_b) = (units * inputs, units * (inputs + 1));
        let at_b0 = at_b + outputs * units;
        for j in 0..v.ncols() {
            for (unit, z) in z.iter().enumerate() {
                let back: f64 = (0..outputs).map(|c| v[(c, j)] * parts.b[c * units + unit]).sum();
                let slope = back * (1.0 - z) * (1.0 + z);
                for (i, x) in x.iter().enumerate() {
                    out[(unit * inputs + i, j)] = slope * x;
                }
                out[(at_a0 + unit, j)] = slope;
                for c in 0..outputs {
                    out[(at_b + c * units + unit, j)] = v[(c, j)] * z;
                }
            }
            for c in 0..outputs {
                out[(at_b0 + c, j)] = v[(c, j)];
            }
        }
    }
}
