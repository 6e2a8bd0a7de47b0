//! Algorithm 1 of L-RVGA line by line, with its equations: where a reader begins, and the oracle of the tests.
//!
//! [`LowRankGaussian`](crate::LowRankGaussian) does the same in passes over tiles of rows, by blocks, from better starts and without
//! cancellation; use it for everything else. Here every product is written as in the paper, and nothing is in place.
//!
//! L-RVGA: M. Lambert, S. Bonnabel, F. Bach, *The limited-memory recursive variational Gaussian approximation*, 2023.

use vi_linalg::faer::linalg::solvers::Solve;
use vi_linalg::faer::{Mat, MatRef};
use vi_linalg::kernels::dot;

use super::settings::{MeanMoves, check_loops};
use crate::{Error, SiteRule, check};

/// A matrix `WWᵀ + Ψ` (5), with `W` of `d × p` and `Ψ` the diagonal matrix of `psi`.
#[derive(Debug, Clone, PartialEq)]
pub struct FactorAnalysis {
    /// `W`.
    pub w: Mat<f64>,
    /// The diagonal `ψ` of `Ψ`, positive.
    pub psi: Vec<f64>,
}

impl FactorAnalysis {
    /// `Ψ⁻¹A` for `A` of `d` rows.
    fn scaled(&self, a: &Mat<f64>) -> Mat<f64> {
        Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)] / self.psi[i])
    }

    /// `M = 𝕀 + WᵀΨ⁻¹W` (14), `p × p`.
    fn m(&self) -> Mat<f64> {
        let p = self.w.ncols();
        Mat::<f64>::identity(p, p) + self.w.transpose() * self.scaled(&self.w)
    }

    /// One turn of the inner loop: from this `(W, Ψ)` towards `α(W₀W₀ᵀ + Ψ₀) + βXXᵀ` with `before = (W₀, Ψ₀)` and the columns of
    /// `x` (`d × k`). It is the fixed-point equation (20)-(21) with that matrix as `S`, multiplied out so that no `d × d` matrix is
    /// made.
    fn turn(&self, before: &Self, x: MatRef<'_, f64>, (alpha, beta): (f64, f64)) -> Self {
        let p = self.w.ncols();
        let a = self.scaled(&self.w); //                                                  Ψ⁻¹W
        let m = self.m();
        // V = βx(xᵀΨ⁻¹W) + α(W₀(W₀ᵀΨ⁻¹W) + Ψ₀Ψ⁻¹W)
        let kept =
            &before.w * (before.w.transpose() * &a) + Mat::from_fn(a.nrows(), p, |i, j| before.psi[i] * a[(i, j)]);
        let v = x * (x.transpose() * &a) * beta + kept * alpha;
        // W⁺ = V(𝕀 + M⁻¹WᵀΨ⁻¹V)⁻¹                                                        (20)
        let inner = Mat::<f64>::identity(p, p) + m.partial_piv_lu().solve(a.transpose() * &v);
        let w = inner.transpose().partial_piv_lu().solve(v.transpose()).transpose().to_owned();
        // Ψ⁺ = βx∗x + α(W₀∗W₀ + Ψ₀) − W⁺M⁻¹∗V, where A∗B = diag(ABᵀ)                      (21)
        let taken = m.transpose().partial_piv_lu().solve(w.transpose());
        let along = |a: MatRef<'_, f64>, b: MatRef<'_, f64>, i: usize| a.row(i) * b.row(i).transpose();
        let psi = (0..a.nrows()).map(|i| {
            beta * along(x, x, i) + alpha * (along(before.w.as_ref(), before.w.as_ref(), i) + before.psi[i])
                - along(taken.transpose(), v.as_ref(), i)
        });
        let psi = psi.collect();
        Self { w, psi }
    }

    /// Algorithm 1 for one input: `WWᵀ + Ψ ← FA of α(WWᵀ + Ψ) + βXXᵀ` (28), the columns of `x` (`d × k`) being the input. Cost
    /// `O(dp(p + k))` for each inner loop.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`]; [`Error::Setting`] unless `1 ≤ inner_loops ≤ 1000`; [`Error::NotPositiveDefinite`]
    /// with the coordinate whose `ψ` is not positive afterwards. Nothing has changed then.
    ///
    /// ```
    /// use vi_core::low_rank::as_printed::FactorAnalysis;
    /// use vi_linalg::faer::mat;
    /// let mut s = FactorAnalysis { w: mat![[1.0], [0.5]], psi: vec![1.0, 2.0] };
    /// s.update(mat![[2.0], [-1.0]].as_ref(), (1.0, 0.5), 100)?;
    /// // At the fixed point the trace of WWᵀ + Ψ + ½xxᵀ is kept.
    /// assert!((s.w.squared_norm_l2() + s.psi.iter().sum::<f64>() - 6.75).abs() < 1e-12);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn update(&mut self, x: MatRef<'_, f64>, weights: (f64, f64), inner_loops: usize) -> Result<(), Error> {
        check::length("psi", self.w.nrows(), self.psi.len())?;
        check::rows(self.w.nrows(), x.transpose())?;
        check_loops(1, inner_loops)?;
        let mut next = self.clone();
        for _ in 0..inner_loops {
            next = next.turn(self, x, weights);
        }
        if let Some(pivot) = next.psi.iter().position(|psi| !(*psi > 0.0 && psi.is_finite())) {
            return Err(Error::NotPositiveDefinite { argument: "psi after the EM step", pivot });
        }
        *self = next;
        Ok(())
    }

    /// `(WWᵀ + Ψ)⁻¹x = Ψ⁻¹(x − WM⁻¹(WᵀΨ⁻¹x))`, as in (27), for `x` of length `d`. Cost `O(dp + p³)`.
    pub(crate) fn solve(&self, x: &[f64]) -> Vec<f64> {
        let x = MatRef::from_column_major_slice(x, x.len(), 1).to_owned();
        let inner = self.m().partial_piv_lu().solve(self.w.transpose() * self.scaled(&x));
        let left = x - &self.w * inner;
        self.scaled(&left).col(0).iter().copied().collect()
    }
}

/// L-RVGA's belief `θ ~ N(μ, (WWᵀ + Ψ)⁻¹)`.
#[derive(Debug, Clone, PartialEq)]
pub struct AsPrinted {
    /// `μ`, length `d`.
    pub mean: Vec<f64>,
    /// `WWᵀ + Ψ`, with `W ≠ 0`: a column of zeros stays one (Appendix D says how to begin).
    pub precision: FactorAnalysis,
}

impl AsPrinted {
    /// Learns a row `x` of length `d` with label `y`: `(α, β) = (1, h)` in (28), and the mean by (31) before the factor analysis or
    /// by (27) after it. Of a linear model with noise of variance 1, `h = 1` and `g = y − xᵀμ`.
    ///
    /// # Errors
    /// As [`FactorAnalysis::update`] and the rule; nothing has changed then.
    ///
    /// ```
    /// use vi_core::low_rank::as_printed::{AsPrinted, FactorAnalysis};
    /// use vi_core::{Explicit, GaussianLikelihood, MeanMoves};
    /// use vi_linalg::faer::mat;
    /// let precision = FactorAnalysis { w: mat![[0.1], [-0.1]], psi: vec![0.99, 0.99] };
    /// let mut belief = AsPrinted { mean: vec![0.0; 2], precision };
    /// belief.step(&Explicit(GaussianLikelihood::new(1.0)?), &[1.0, 0.0], 2.0, 3, MeanMoves::AfterProjection)?;
    /// assert!((belief.mean[0] - 1.0).abs() < 0.01);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn step<R: SiteRule>(
        &mut self,
        rule: &R,
        x: &[f64],
        y: f64,
        inner_loops: usize,
        moves: MeanMoves,
    ) -> Result<(), Error> {
        check::length("x", self.mean.len(), x.len())?;
        rule.check_label(y)?;
        let before = self.precision.solve(x); //                                           P₋x
        let variance = dot(x, &before);
        let site = rule.site(dot(x, &self.mean), variance, y)?;
        let column = MatRef::from_column_major_slice(x, x.len(), 1);
        self.precision.update(column, (1.0, site.curvature), inner_loops)?; //             (26), (30)
        let (gain, along) = match moves {
            MeanMoves::BeforeProjection => (site.gain(variance), before), //               (31)
            MeanMoves::AfterProjection => (site.slope, self.precision.solve(x)), //        (25), (27)
        };
        self.mean.iter_mut().zip(along).for_each(|(mean, along)| *mean += gain * along);
        Ok(())
    }
}
