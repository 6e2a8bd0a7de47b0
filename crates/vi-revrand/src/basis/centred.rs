//! Bases about centres: bumps and steps.

use serde::{Deserialize, Serialize};
use vi_core::special::{sigmoid, sigmoid_derivative};
use vi_linalg::faer::{Mat, MatMut, MatRef, Par};

use super::composed::one_part;
use super::length_scale::Scales;
use super::{Basis, Bound, LengthScale, Parameter, Regulariser, wire};
use crate::{RevrandError, check};

/// Centres `c_j` (`M × d`) and length scales; `ρ² = Σᵢ ((xᵢ − c_ji)/lᵢ)²` is the squared distance of `x` from `c_j`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "CentresWire")]
struct Centres {
    #[serde(serialize_with = "wire::serialize")]
    centres: Mat<f64>,
    scales: Scales,
}

#[derive(Deserialize)]
struct CentresWire {
    #[serde(deserialize_with = "wire::deserialize")]
    centres: Mat<f64>,
    scales: Scales,
}

impl TryFrom<CentresWire> for Centres {
    type Error = RevrandError;

    fn try_from(wire: CentresWire) -> Result<Self, RevrandError> {
        wire.scales.check(wire.centres.ncols())?;
        check::not_empty("centres", wire.centres.nrows())?;
        Ok(Self { centres: wire.centres, scales: wire.scales })
    }
}

impl Centres {
    fn new(centres: MatRef<'_, f64>, length_scale: LengthScale) -> Result<Self, RevrandError> {
        let scales = Scales::new(centres.ncols(), length_scale)?;
        check::not_empty("centres", centres.nrows())?;
        check::matrix("centres", centres)?;
        Ok(Self { centres: centres.to_owned(), scales })
    }

    fn bounded(self, bound: Bound) -> Result<Self, RevrandError> {
        Ok(Self { scales: self.scales.bounded(bound)?, ..self })
    }

    fn count(&self) -> usize {
        self.centres.nrows()
    }

    /// `(xᵢ − c_ji)²/lᵢ²` of row `row` and centre `j`.
    fn squared(&self, theta: &[f64], x: MatRef<'_, f64>, row: usize, j: usize, i: usize) -> f64 {
        let difference = (x[(row, i)] - self.centres[(j, i)]) / Scales::at(theta, i);
        difference * difference
    }

    /// `ρ²`.
    fn squared_distance(&self, theta: &[f64], x: MatRef<'_, f64>, row: usize, j: usize) -> f64 {
        (0..x.ncols()).map(|i| self.squared(theta, x, row, j, i)).sum()
    }

    fn fill(&self, theta: &[f64], x: MatRef<'_, f64>, mut out: MatMut<'_, f64>, of: impl Fn(f64) -> f64) {
        assert_eq!(theta.len(), self.scales.len(), "length of theta");
        assert_eq!(x.ncols(), self.scales.inputs(), "columns of x");
        assert_eq!(out.shape(), (x.nrows(), self.count()), "shape of the features");
        for j in 0..self.count() {
            for row in 0..x.nrows() {
                out[(row, j)] = of(self.squared_distance(theta, x, row, j));
            }
        }
    }

    /// Calls `visit(row, j, p, ∂φ_j/∂θ_p)` for each term of each derivative; `rate(ρ², φ)` is `−dφ/d(½ρ²)`, so that
    /// `∂φ/∂lᵢ = rate·(xᵢ − cᵢ)²/lᵢ³`.
    fn derivatives(
        &self,
        theta: &[f64],
        x: MatRef<'_, f64>,
        features: MatRef<'_, f64>,
        rate: impl Fn(f64, f64) -> f64,
        mut visit: impl FnMut(usize, usize, usize, f64),
    ) {
        assert_eq!(features.shape(), (x.nrows(), self.count()), "shape of the features");
        for j in 0..self.count() {
            for row in 0..x.nrows() {
                let rate = rate(self.squared_distance(theta, x, row, j), features[(row, j)]);
                for i in 0..x.ncols() {
                    let derivative = rate * self.squared(theta, x, row, j, i) / Scales::at(theta, i);
                    visit(row, j, if theta.len() == 1 { 0 } else { i }, derivative);
                }
            }
        }
    }

    fn contract(
        &self,
        theta: &[f64],
        x: MatRef<'_, f64>,
        features: MatRef<'_, f64>,
        weights: MatRef<'_, f64>,
        rate: impl Fn(f64, f64) -> f64,
        out: &mut [f64],
    ) {
        assert_eq!(out.len(), self.scales.len(), "length of the gradient");
        assert_eq!(weights.shape(), features.shape(), "shape of the weights");
        out.fill(0.0);
        self.derivatives(theta, x, features, rate, |row, j, p, derivative| out[p] += weights[(row, j)] * derivative);
    }

    fn differentiate(
        &self,
        theta: &[f64],
        x: MatRef<'_, f64>,
        features: MatRef<'_, f64>,
        rate: impl Fn(f64, f64) -> f64,
    ) -> Vec<Mat<f64>> {
        let mut gradients = vec![Mat::<f64>::zeros(x.nrows(), self.count()); self.scales.len()];
        self.derivatives(theta, x, features, rate, |row, j, p, derivative| gradients[p][(row, j)] += derivative);
        gradients
    }
}

/// Implements [`Basis`] for a type around [`Centres`] with `of(ρ²) = φ` and `rate(ρ², φ) = −dφ/d(½ρ²)`.
macro_rules! basis_about_centres {
    ($name:ident, $of:path, $rate:path) => {
        impl $name {
            /// Features about `centres` (one a row, `M × d`).
            ///
            /// # Errors
            /// `Empty` (no centres or no inputs), `Dimension` and `Entry` (length scales), `Row` with `NonFinite`.
            pub fn new(centres: MatRef<'_, f64>, length_scale: LengthScale) -> Result<Self, RevrandError> {
                Ok(Self(Centres::new(centres, length_scale)?))
            }

            /// These features with other bounds of the length scales.
            ///
            /// # Errors
            /// [`RevrandError::Bounds`] for a negative lower end, [`RevrandError::OutOfBounds`] if an initial length scale is
            /// outside.
            pub fn with_length_scale_bound(self, bound: Bound) -> Result<Self, RevrandError> {
                Ok(Self(self.0.bounded(bound)?))
            }
        }

        impl Basis for $name {
            fn inputs(&self) -> Option<usize> {
                Some(self.0.scales.inputs())
            }

            fn width(&self) -> usize {
                self.0.count()
            }

            fn parameters(&self) -> Vec<Parameter> {
                self.0.scales.parameters()
            }

            fn regularisers(&self) -> Vec<Regulariser> {
                one_part(self.width())
            }

            fn fill(&self, theta: &[f64], x: MatRef<'_, f64>, out: MatMut<'_, f64>, _par: Par) {
                self.0.fill(theta, x, out, $of);
            }

            fn contract(
                &self,
                theta: &[f64],
                x: MatRef<'_, f64>,
                features: MatRef<'_, f64>,
                weights: MatRef<'_, f64>,
                out: &mut [f64],
                _par: Par,
            ) {
                self.0.contract(theta, x, features, weights, $rate, out);
            }

            fn differentiate(&self, theta: &[f64], x: MatRef<'_, f64>, features: MatRef<'_, f64>) -> Vec<Mat<f64>> {
                self.0.differentiate(theta, x, features, $rate)
            }
        }
    };
}

/// Radial bumps `φ_j(x) = exp(−½ Σᵢ (xᵢ − c_ji)²/lᵢ²)` about `M` centres. Cost `n·M·d`.
///
/// ```
/// use vi_linalg::faer::{Par, mat};
/// use vi_revrand::basis::{Basis, LengthScale, Radial};
/// let basis = Radial::new(mat![[0.0, 0.0], [1.0, 1.0]].as_ref(), LengthScale::Shared(2.0))?;
/// let features = basis.features(&[2.0], mat![[0.0, 2.0]].as_ref(), Par::Seq)?;
/// assert_eq!((features[(0, 0)], features[(0, 1)]), (f64::exp(-0.5), f64::exp(-0.25)));
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Radial(Centres);

/// Sigmoidal steps `φ_j(x) = s(ρ_j)`, `ρ_j² = Σᵢ (xᵢ − c_ji)²/lᵢ²`, about `M` centres: ½ at the centre, 1 far away.
/// Cost `n·M·d`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sigmoidal(Centres);

basis_about_centres!(Radial, bump, bump_rate);
basis_about_centres!(Sigmoidal, step, step_rate);

fn bump(squared: f64) -> f64 {
    (-0.5 * squared).exp()
}

fn bump_rate(_squared: f64, bump: f64) -> f64 {
    bump
}

fn step(squared: f64) -> f64 {
    sigmoid(squared.sqrt())
}

/// `−s′(ρ)/ρ`. At a centre `ρ` does not change with the length scales, so neither does the sigmoidal step.
fn step_rate(squared: f64, _step: f64) -> f64 {
    if squared == 0.0 {
        return 0.0;
    }
    let distance = squared.sqrt();
    -sigmoid_derivative(distance) / distance
}
