//! The posterior of the common weights and the evidence from the sums, at any prior, and the slope of the evidence by `Λ`.
//!
//! ```text
//! D_g = I + ΛᵀG_gΛ = L_gL_gᵀ,   V_g = L_g⁻¹ΛᵀC_g,   v_g = L_g⁻¹Λᵀc_g
//! S = V₀⁻¹ + A − Σ V_gᵀV_g,     m = S⁻¹(a − Σ V_gᵀv_g)
//! log Z = ½(−log|V₀| − log|S| − Σ log|D_g|) + ½(Σ‖v_g‖² + mᵀSm)
//! ```
//!
//! With `P = S⁻¹`, `b̂ = L⁻ᵀ(v − Vm)`, `e = c − Cm − GΛb̂` and the sums `T_ab` over the groups (`tile`), the slopes by the entries of `Λ` are
//!
//! ```text
//! ∂/∂Λ_ab of ½(Σ‖v‖² + mᵀSm) = Σ e_a·b̂_b = [−m 1]·T_ab·[−m 1]ᵀ
//! ∂/∂Λ_ab of ½(−log|S| − Σ log|D|) = tr(P·T_ab without its last row and column) − Σ (GΛD⁻¹)_ab
//! ```

use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatRef, Par};

use super::factor::{read_root, triangle};
use super::tile::Totals;
use super::{Arrow, Grouped, Sums};
use crate::check;
use crate::{Error, belief};

/// What the sums say at one prior.
#[derive(Debug, Clone)]
pub struct GroupedSolution {
    /// `½ log` of the ratio of determinants, posterior over prior covariance.
    pub log_det: f64,
    /// `½(Σ‖v_g‖² + mᵀSm)`: the log evidence of the sites is `log_det + quadratic` plus what no prior changes.
    pub quadratic: f64,
    /// `m`, length `p`.
    pub mean: Vec<f64>,
    /// The factor of `S`.
    pub(super) factor: Cholesky,
}

/// The slopes of the two parts of the log evidence by the entries of `Λ` (`q × q`, lower).
#[derive(Debug, Clone)]
pub struct GroupedSlopes {
    /// Those of [`GroupedSolution::log_det`].
    pub log_det: Mat<f64>,
    /// Those of [`GroupedSolution::quadratic`].
    pub quadratic: Mat<f64>,
}

impl Grouped {
    /// Posterior and evidence at another prior, with the sums as they stand; an infinite variance is a flat prior, which then has no part in
    /// the determinants. Cost `O(m(q³ + pq² + p²q) + p³)` for `m` groups; the same bits for any number of threads.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`]; [`Error::Entry`] for a variance that is not positive; [`Error::NotPositiveDefinite`] where
    /// the sums determine no posterior.
    ///
    /// ```
    /// use vi_core::{Grouped, GroupedRow};
    /// use vi_linalg::faer::{Par, mat};
    /// let mut belief = Grouped::new(&[100.0], mat![[2.0]].as_ref())?;
    /// belief.absorb_all(Par::Seq, |add| {
    ///     let labels = [(7, 1.0), (7, 1.4), (8, -0.5), (8, -0.2)];
    ///     labels.iter().try_for_each(|&(group, y)| add(GroupedRow { x: &[1.0], z: &[1.0], group }, 1.0, y))
    /// })?;
    /// let evidence = |spread: f64| {
    ///     let solution = belief.solve(belief.variances(), mat![[spread]].as_ref(), Par::Seq)?;
    ///     Ok::<f64, vi_core::Error>(solution.log_det + solution.quadratic)
    /// };
    /// assert!(evidence(1.0)? > evidence(0.01)? && evidence(1.0)? > evidence(100.0)?);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn solve(&self, variances: &[f64], root: MatRef<'_, f64>, par: Par) -> Result<GroupedSolution, Error> {
        Ok(self.totals_at(variances, root, false, par)?.0)
    }

    /// As [`solve`](Self::solve), and the slopes of the evidence by `Λ`, in the same pass over the groups. Cost `O(m(q³ + p²q²) + p³)`.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_with_slopes(
        &self,
        variances: &[f64],
        root: MatRef<'_, f64>,
        par: Par,
    ) -> Result<(GroupedSolution, GroupedSlopes), Error> {
        let (solution, totals) = self.totals_at(variances, root, true, par)?;
        let Sums { p, q, .. } = self.sums;
        let covariance = solution.factor.inverse();
        let common = |j: usize, k: usize| covariance[(j.max(k), j.min(k))];
        let along = |j: usize| if j < p { -solution.mean[j] } else { 1.0 };
        let mut slopes = GroupedSlopes { log_det: Mat::zeros(q, q), quadratic: Mat::zeros(q, q) };
        let entries = (0..q).flat_map(|a| (0..=a).map(move |b| (a, b)));
        for (at, (turn, own)) in entries.zip(totals.turns.iter().zip(&totals.own)) {
            slopes.log_det[at] -= own;
            for k in 0..=p {
                for j in 0..=p {
                    slopes.quadratic[at] += along(j) * turn[(j, k)] * along(k);
                    if j < p && k < p {
                        slopes.log_det[at] += common(j, k) * turn[(j, k)];
                    }
                }
            }
        }
        Ok((solution, slopes))
    }

    fn totals_at(
        &self,
        variances: &[f64],
        root: MatRef<'_, f64>,
        slopes: bool,
        par: Par,
    ) -> Result<(GroupedSolution, Totals), Error> {
        let Sums { p, q, .. } = self.sums;
        check::length("prior variances", p, variances.len())?;
        if let Some(index) = variances.iter().position(|variance| variance.is_nan() || *variance <= 0.0) {
            let (argument, value) = ("prior variances", variances[index]);
            return Err(Error::Entry { argument, index, value, requirement: "positive" });
        }
        let root = read_root(root)?;
        check::length("rows of the effects' prior", q * q, root.len())?;
        let totals = Totals::of(&self.sums, &root, slopes, par)?;
        let mut curvature = self.sums.curvature.clone();
        for i in 0..p {
            (0..=i).for_each(|j| curvature[i * (i + 1) / 2 + j] -= totals.gram[(i, j)]);
        }
        let right: Vec<f64> = (0..p).map(|i| self.sums.slope[i] - totals.gram[(p, i)]).collect();
        let (mut log_det, mut quadratic) = (-0.5 * totals.log_det, 0.5 * totals.gram[(p, p)]);
        for (i, variance) in variances.iter().enumerate() {
            curvature[i * (i + 3) / 2] += 1.0 / variance;
            if variance.is_finite() {
                log_det -= 0.5 * variance.ln();
            }
        }
        let precision = Mat::from_fn(p, p, |i, j| if i < j { 0.0 } else { triangle(&curvature, i, j) });
        let factor = belief::factor("precision of the common weights", precision.as_ref())?;
        log_det -= 0.5 * factor.log_det();
        let mut mean = right.clone();
        factor.solve_vec_in_place(&mut mean)?;
        quadratic += 0.5 * mean.iter().zip(&right).map(|(m, a)| m * a).sum::<f64>();
        check::results("evidence of the groups", [log_det, quadratic].into_iter())?;
        Ok((GroupedSolution { log_det, quadratic, mean, factor }, totals))
    }

    /// The arrow at another prior, from its [`solve`](Self::solve).
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn arrow(&self, solution: &GroupedSolution, root: MatRef<'_, f64>) -> Result<Arrow, Error> {
        Arrow::of(solution, &read_root(root)?)
    }
}
