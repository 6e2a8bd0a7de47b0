//! Numerical health: how many digits a belief has left, before it has lost them all.
//!
//! A belief is kept as a matrix, which is rounded. In a prediction rounding makes an error of `ε·κ` relative to the prior's part
//! of it, `κ` being the condition number of the matrix in units in which every coordinate has variance (or precision) 1: units do
//! not cost digits, collinear inputs do. A square root has twice the digits, `ε·√κ`.
//!
//! ```
//! use vi_core::{DenseGaussian, SquareRootGaussian};
//! use vi_linalg::faer::mat;
//! // Two weights that the data tell apart by one part in 10⁸.
//! let alike = DenseGaussian::new(&[0.0, 0.0], mat![[1.0, 1.0 - 1e-8], [1.0 - 1e-8, 1.0]].as_ref())?;
//! let health = alike.health();
//! assert!((health.condition / 2e8 - 1.0).abs() < 1e-6 && health.digits < 8.0);
//! assert!((health.smallest_pivot / 2e-8 - 1.0).abs() < 1e-6);
//! // The square root keeps half as many more.
//! assert!(SquareRootGaussian::from_dense(&alike)?.health().digits > 11.0);
//! # Ok::<(), vi_core::Error>(())
//! ```

use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::{Cholesky, cholesky};

use crate::belief::{Belief, DenseGaussian, DiagonalGaussian, SquareRootGaussian};
use crate::low_rank::LowRankGaussian;

/// The numerical state of a belief: how many digits it has left.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Health {
    /// An estimate, from below and rarely by more than three times, of the condition number in the 1-norm of the matrix that the
    /// belief keeps, scaled to a unit diagonal; infinite where rounding has destroyed the matrix.
    pub condition: f64,
    /// The smallest squared pivot of the matrix's Cholesky factor: the least share of a coordinate's variance (or precision) that
    /// the coordinates before it do not explain. Rounding destroys it when it is of the order `ε·d`. For a low-rank belief it is
    /// the least share of a coordinate's precision that is in `Ψ`.
    pub smallest_pivot: f64,
    /// The decimal digits left, out of sixteen: `−log₁₀(ε·κ)`, for a square root `−log₁₀(ε·√κ)`; 0 if none are left.
    pub digits: f64,
    /// How many entries a projection had to lift to a floor; always 0 except for a low-rank belief.
    pub lifted: u64,
}

impl Health {
    /// Whether the belief has more than four digits left: predictions are good to about a part in a thousand of a standard
    /// deviation.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.digits > 4.0
    }

    fn new(condition: f64, smallest_pivot: f64, rounding: f64) -> Self {
        let digits = -rounding.log10();
        Self { condition, smallest_pivot, digits: if digits > 0.0 { digits } else { 0.0 }, lifted: 0 }
    }

    fn destroyed() -> Self {
        Self::new(f64::INFINITY, 0.0, 1.0)
    }

    /// The worse of two healths.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        let worst = if other.digits < self.digits { other } else { self };
        Self { lifted: self.lifted + other.lifted, ..worst }
    }
}

impl DenseGaussian {
    /// The health of the covariance. Cost `d³/3` flops and `d²` numbers.
    #[must_use]
    pub fn health(&self) -> Health {
        let covariance = self.covariance_lower();
        let lower = Mat::as_ref(&covariance);
        let d = self.dim();
        let roots: Vec<f64> = (0..d).map(|i| lower[(i, i)].sqrt()).collect();
        let scaled = Mat::from_fn(d, d, |i, j| if i >= j { lower[(i, j)] / (roots[i] * roots[j]) } else { 0.0 });
        of_correlations(scaled.as_ref()).unwrap_or_else(Health::destroyed)
    }
}

/// The health of a matrix of unit diagonal (lower triangle); `None` if it is not positive definite.
fn of_correlations(lower: MatRef<'_, f64>) -> Option<Health> {
    let d = lower.nrows();
    let factor = Cholesky::new(lower).ok()?;
    let root = factor.factor();
    let pivot = (0..d).map(|i| root[(i, i)] * root[(i, i)]).fold(f64::INFINITY, f64::min);
    let mut sums = vec![0.0; d];
    for j in 0..d {
        for i in j..d {
            sums[i] += lower[(i, j)].abs();
            sums[j] += if i > j { lower[(i, j)].abs() } else { 0.0 };
        }
    }
    let norm = sums.iter().copied().fold(0.0, f64::max);
    let condition = norm * norm_estimate(d, |x| factor.solve_vec_in_place(x).is_ok())?;
    Some(Health::new(condition, pivot, f64::EPSILON * condition))
}

impl SquareRootGaussian {
    /// The health of the root of the precision. Cost some ten times `2d²` flops, and `d²` numbers.
    #[must_use]
    pub fn health(&self) -> Health {
        let (root, d) = (self.root(), self.dim());
        let lengths: Vec<f64> =
            (0..d).map(|i| (0..=i).map(|j| root[(i, j)] * root[(i, j)]).sum::<f64>().sqrt()).collect();
        let scaled = Mat::from_fn(d, d, |i, j| if i >= j { root[(i, j)] / lengths[i] } else { 0.0 });
        let pivot = (0..d).map(|i| scaled[(i, i)] * scaled[(i, i)]).fold(f64::INFINITY, f64::min);
        let product = |x: &mut [f64]| {
            let inner: Vec<f64> = (0..d).map(|j| (j..d).map(|i| scaled[(i, j)] * x[i]).sum()).collect();
            for (i, x) in x.iter_mut().enumerate() {
                *x = (0..=i).map(|j| scaled[(i, j)] * inner[j]).sum();
            }
            true
        };
        let solve = |x: &mut [f64]| {
            let mut column = Mat::from_fn(d, 1, |i, _| x[i]);
            cholesky::solve_in_place(scaled.as_ref(), column.as_mut(), Par::Seq);
            x.iter_mut().enumerate().for_each(|(i, x)| *x = column[(i, 0)]);
            true
        };
        match norm_estimate(d, product).zip(norm_estimate(d, solve)) {
            Some((norm, inverse)) => Health::new(norm * inverse, pivot, f64::EPSILON * (norm * inverse).sqrt()),
            None => Health::destroyed(),
        }
    }
}

impl DiagonalGaussian {
    /// The health of a diagonal belief, which is always good: there are no correlations.
    #[must_use]
    pub fn health(&self) -> Health {
        Health::new(1.0, 1.0, f64::EPSILON)
    }
}

impl LowRankGaussian {
    /// The health of `M = I + WᵀΨ⁻¹W`, through which every prediction goes, and `Ψ`'s share of the precision. Cost `dp` and
    /// `p³/3` flops; buffered rows are not included.
    #[must_use]
    pub fn health(&self) -> Health {
        let p = self.rank();
        let shares = self.precision().psi().iter().zip(self.precision().diagonal()).map(|(psi, whole)| psi / whole);
        let pivot = shares.fold(1.0, f64::min);
        let lifted = self.counts().lifted;
        let m = self.capacitance_lower();
        let roots: Vec<f64> = (0..p).map(|i| m[(i, i)].sqrt()).collect();
        let scaled = Mat::from_fn(p, p, |i, j| if i >= j { m[(i, j)] / (roots[i] * roots[j]) } else { 0.0 });
        let of_m = if p == 0 {
            Health::new(1.0, pivot, f64::EPSILON)
        } else {
            of_correlations(scaled.as_ref()).unwrap_or_else(Health::destroyed)
        };
        Health { smallest_pivot: pivot, lifted, ..of_m }
    }
}

/// `‖B‖₁` of a symmetric `B` by a few products with it (Hager 1984, Higham 1988): a lower bound, mostly the norm itself. Returns
/// `None` if a product fails or is not finite.
fn norm_estimate(d: usize, product: impl Fn(&mut [f64]) -> bool) -> Option<f64> {
    const PRODUCTS: usize = 5;
    let mut x = vec![1.0 / d.max(1) as f64; d];
    let mut best = 0.0_f64;
    for _ in 0..PRODUCTS {
        let mut y = x.clone();
        if !product(&mut y) || !y.iter().all(|value| value.is_finite()) {
            return None;
        }
        best = best.max(y.iter().map(|value| value.abs()).sum());
        let mut z: Vec<f64> = y.iter().map(|value| if *value < 0.0 { -1.0 } else { 1.0 }).collect();
        if !product(&mut z) {
            return None;
        }
        let along: f64 = z.iter().zip(&x).map(|(z, x)| z * x).sum();
        let (mut place, mut largest) = (0, 0.0);
        for (j, value) in z.iter().enumerate() {
            if value.abs() > largest {
                (place, largest) = (j, value.abs());
            }
        }
        if largest <= along {
            break;
        }
        x.fill(0.0);
        x[place] = 1.0;
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Explicit, GaussianLikelihood, LowRankSettings, filter};

    /// `κ₁` of a symmetric matrix given whole.
    fn exact(matrix: &Mat<f64>) -> f64 {
        let norm = |m: MatRef<'_, f64>| m.col_iter().map(|c| c.norm_l1()).fold(0.0, f64::max);
        norm(matrix.as_ref()) * norm(Cholesky::new(matrix.as_ref()).unwrap().inverse().as_ref())
    }

    #[test]
    fn estimates_are_near_the_condition_and_never_above() {
        for (d, wave) in [(1, 1.0), (2, 0.3), (7, 2.0), (30, 0.9)] {
            let a = Mat::from_fn(d, d, |i, j| ((i * 7 + j * 3) as f64 * wave).sin());
            let matrix = Mat::from_fn(d, d, |i, j| {
                (0..d).map(|k| a[(i, k)] * a[(j, k)]).sum::<f64>() + if i == j { 1e-6 } else { 0.0 }
            });
            let scaled = Mat::from_fn(d, d, |i, j| matrix[(i, j)] / (matrix[(i, i)] * matrix[(j, j)]).sqrt());
            let (kappa, mean) = (exact(&scaled), vec![0.0; d]);
            // The inverse itself is off by ε·κ.
            let above = 1.0 + 1e3 * f64::EPSILON * kappa;
            let dense = DenseGaussian::new(&mean, matrix.as_ref()).unwrap().health();
            assert!(dense.condition <= kappa * above && dense.condition >= kappa / 3.0, "{d}: {dense:?} {kappa:e}");
            let root = Cholesky::new(matrix.as_ref()).unwrap().factor().to_owned();
            let root = SquareRootGaussian::from_root(mean, root).unwrap().health();
            assert!(root.condition <= kappa * above && root.condition >= kappa / 9.0, "{d}: {root:?} {kappa:e}");
            assert!(root.digits >= dense.digits);
        }
    }

    /// Units change nothing, collinear inputs do; it is told before the covariance breaks.
    #[test]
    fn digits_run_out_before_the_covariance_does() {
        let rule = Explicit(GaussianLikelihood::new(1e-6).unwrap());
        for scale in [1.0, 1e6] {
            let mut belief =
                DenseGaussian::new(&[0.0; 2], Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 0.0 }).as_ref())
                    .unwrap();
            let mut scratch = filter::Scratch::default();
            let mut digits = belief.health().digits;
            assert!(digits > 15.0);
            let mut warned = false;
            for _ in 0..2000 {
                let x = [scale, scale];
                let y = 1.0;
                let told = belief.health();
                warned |= !told.is_good();
                assert!(told.digits <= digits + 1.0);
                digits = told.digits;
                if filter::step(&mut belief, &rule, &x, y, &mut scratch).is_err() || belief.cholesky().is_err() {
                    break;
                }
            }
            assert!(belief.cholesky().is_ok() || warned, "{scale:e}");
        }
    }

    #[test]
    fn a_low_rank_belief_counts_what_it_lifts() {
        let settings = LowRankSettings::blocked(1).unwrap().with_block(1).unwrap();
        let mut belief = LowRankGaussian::isotropic(&[0.0; 3], 1.0, settings).unwrap();
        assert_eq!(belief.health().condition, 1.0);
        let rule = Explicit(GaussianLikelihood::new(1e-4).unwrap());
        belief.step(&rule, &[1.0, 2.0, 0.0], 1.0, Par::Seq).unwrap();
        belief.flush(Par::Seq).unwrap();
        let health = belief.health();
        assert!(health.smallest_pivot < 1e-3 && health.is_good(), "{health:?}");
        assert_eq!(DiagonalGaussian::isotropic(&[0.0], 1.0).unwrap().health().condition, 1.0);
    }
}
