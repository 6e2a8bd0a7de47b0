//! Sites of several logits: what one row says to a belief, `m` slopes and `C(C−1)/2` curvatures.

use vi_core::Error;
use vi_linalg::Cholesky;
use vi_linalg::faer::linalg::solvers::Solve;
use vi_linalg::faer::{Mat, MatRef};

use super::logits::{Counts, Logits, Moments, Pairs};
use super::nodes::Nodes;

/// The most iterations of Böhning's rule.
const MAX_ITERATIONS: usize = 50;
/// A change of the logits below this ends the iterations: of means in standard deviations, of variances relative.
const SETTLED: f64 = 1e-7;
/// The largest variance of a logit that the fixed nodes of four and more classes resolve.
const WIDE: f64 = 30.0;

/// The factor `exp(rᵀη − ½ηᵀKη)`.
#[derive(Debug, Clone)]
pub(super) struct LogitSite {
    /// `r`.
    pub(super) slope: Vec<f64>,
    pub(super) pairs: Pairs,
}

/// The effect of a site on the logits: `e`, `S` and the new logits.
pub(super) struct Absorbed {
    /// `e = (I+KN)⁻¹(r − Ka)`.
    pub(super) shift: Vec<f64>,
    /// `S = (I+KN)⁻¹K`, full.
    pub(super) shrinkage: Mat<f64>,
    /// The diagonal of `K`.
    pub(super) curvatures: Vec<f64>,
    /// `det(I+KN)`.
    pub(super) factor: f64,
}

/// The effect of a site given as plain numbers `r` and `K`, where `K` may be a difference of curvatures and so indefinite.
pub(super) fn absorb(logits: &Logits, slope: &[f64], curvature: MatRef<'_, f64>) -> Option<Absorbed> {
    let (m, covariance) = (logits.dim(), logits.covariance());
    let ka: Vec<f64> = (0..m).map(|i| (0..m).map(|j| curvature[(i, j)] * logits.mean[j]).sum()).collect();
    let system = Mat::<f64>::identity(m, m) + curvature * &covariance;
    let right = Mat::from_fn(m, m + 1, |i, j| if j < m { curvature[(i, j)] } else { slope[i] - ka[i] });
    let solved = system.partial_piv_lu().solve(&right);
    let shift: Vec<f64> = (0..m).map(|i| solved[(i, m)]).collect();
    let shrinkage = Mat::from_fn(m, m, |i, j| 0.5 * (solved[(i, j)] + solved[(j, i)]));
    let finite = (0..=m).all(|j| (0..m).all(|i| solved[(i, j)].is_finite()));
    let curvatures = (0..m).map(|i| curvature[(i, i)]).collect();
    finite.then(|| Absorbed { shift, shrinkage, curvatures, factor: system.determinant() })
}

/// The logits after the factor `exp(rᵀη − ½ηᵀKη)`: `N* = L(I + LᵀKL)⁻¹Lᵀ`, `a* = a + N*(r − Ka)`. Returns `None` if the result is
/// not a Gaussian.
pub(super) fn moved(logits: &Logits, slope: &[f64], curvature: MatRef<'_, f64>) -> Option<Logits> {
    let m = logits.dim();
    let root = logits.root.as_ref();
    let system = Mat::<f64>::identity(m, m) + root.transpose() * curvature * root;
    let cholesky = Cholesky::new(system.as_ref()).ok()?;
    let half = cholesky.whiten(root.transpose()).ok()?; // N* = halfᵀ·half
    let covariance = half.transpose() * &half;
    let pull: Vec<f64> =
        (0..m).map(|i| slope[i] - (0..m).map(|j| curvature[(i, j)] * logits.mean[j]).sum::<f64>()).collect();
    let mean = (0..m).map(|i| logits.mean[i] + (0..m).map(|j| covariance[(i, j)] * pull[j]).sum::<f64>()).collect();
    Logits::new(mean, covariance.as_ref(), 0.0).ok()
}

impl LogitSite {
    /// The explicit site of `counts`, under the logits themselves.
    pub(super) fn explicit(nodes: &Nodes, logits: &Logits, counts: &Counts) -> Self {
        Self::of_moments(Moments::at(nodes, logits), logits, counts)
    }

    /// The explicit site from known expectations.
    fn of_moments(moments: Moments, logits: &Logits, counts: &Counts) -> Self {
        let (gradient, pairs) = (moments.slope(counts), moments.curvature(counts));
        let curvature = pairs.matrix();
        let m = logits.dim();
        let slope =
            (0..m).map(|i| gradient[i] + (0..m).map(|j| curvature[(i, j)] * logits.mean[j]).sum::<f64>()).collect();
        Self { slope, pairs }
    }

    /// The site of a row that has no tilted moments: `(g, K) = (E∂, −E∂²)` of `log p(y|η)` under the explicit step's `N(â, N̂)`, natural slope
    /// `g + Kâ` (L-RVGA (37), corrected). `moments` are those under the logits themselves.
    ///
    /// # Errors
    /// [`Error::ImproperSite`] when a number overflows on the way.
    pub(super) fn mirror_prox(
        nodes: &Nodes,
        logits: &Logits,
        counts: &Counts,
        moments: Moments,
    ) -> Result<Self, Error> {
        let first = Self::predictor(moments, logits, counts)?;
        Ok(Self::explicit(nodes, &first.applied(logits)?, counts))
    }

    /// The explicit site, or Böhning's if fixed nodes are too coarse for it.
    fn predictor(moments: Moments, logits: &Logits, counts: &Counts) -> Result<Self, Error> {
        let widest = (0..logits.dim()).map(|i| logits.variance(i)).fold(0.0, f64::max);
        if !logits.are_few() && widest > WIDE {
            Self::bohning(logits, counts)
        } else {
            Ok(Self::of_moments(moments, logits, counts))
        }
    }

    /// The site of Böhning's bound, `K = ½(I − 11ᵀ/C)` for every row, with `ψ` the new mean; each iteration raises the bound (Böhning 1992).
    fn bohning(logits: &Logits, counts: &Counts) -> Result<Self, Error> {
        let mut site = Self::bohning_at(&logits.mean, counts);
        let mut here = site.applied(logits)?;
        for _ in 0..MAX_ITERATIONS {
            let next = Self::bohning_at(&here.mean, counts);
            let there = next.applied(logits)?;
            let change = distance(&there, &here, logits);
            (site, here) = (next, there);
            if change <= SETTLED {
                break;
            }
        }
        Ok(site)
    }

    /// `K = (n/2)(I − 11ᵀ/C)`, `r = y − n·π(ψ) + Kψ`.
    fn bohning_at(psi: &[f64], counts: &Counts) -> Self {
        let classes = psi.len() + 1;
        let pairs = Pairs::constant(classes, 0.5 * counts.total / classes as f64);
        let largest = psi.iter().copied().fold(0.0, f64::max);
        let exps: Vec<f64> = psi.iter().map(|psi| (psi - largest).exp()).collect();
        let total = (-largest).exp() + exps.iter().sum::<f64>();
        let k = pairs.matrix();
        let slope = (0..psi.len())
            .map(|i| {
                let kpsi: f64 = (0..psi.len()).map(|j| k[(i, j)] * psi[j]).sum();
                counts.of[i + 1] - counts.total * exps[i] / total + kpsi
            })
            .collect();
        Self { slope, pairs }
    }

    /// `(1−ρ)·self + ρ·other`.
    pub(super) fn mixed(&self, other: &Self, rho: f64) -> Self {
        let slope = self.slope.iter().zip(&other.slope).map(|(a, b)| (1.0 - rho) * a + rho * b).collect();
        Self { slope, pairs: self.pairs.mixed(&other.pairs, rho) }
    }

    fn applied(&self, logits: &Logits) -> Result<Logits, Error> {
        moved(logits, &self.slope, self.pairs.matrix().as_ref()).ok_or(self.improper(logits))
    }

    pub(super) fn improper(&self, logits: &Logits) -> Error {
        let largest =
            |values: &[f64]| values.iter().copied().fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
        let m = logits.dim();
        let diagonal: Vec<f64> = (0..m).map(|i| logits.variance(i)).collect();
        let curvatures: Vec<f64> = (1..=m).map(|c| self.pairs.degree(c)).collect();
        Error::ImproperSite {
            slope: largest(&self.slope),
            curvature: largest(&curvatures),
            variance: largest(&diagonal),
        }
    }

    /// `e` and `S`, the latter as `C(I + CᵀNC)⁻¹Cᵀ` with `K = CCᵀ`, which loses no digits with a vague prior.
    ///
    /// # Errors
    /// [`Error::ImproperSite`] when a number overflows.
    pub(super) fn absorb(&self, logits: &Logits) -> Result<Absorbed, Error> {
        let m = logits.dim();
        let factor = self.pairs.factor();
        let absorbed = absorb(logits, &self.slope, self.pairs.matrix().as_ref());
        let inner = Mat::<f64>::identity(m, m) + factor.transpose() * logits.covariance() * &factor;
        let (Some(absorbed), Ok(cholesky)) = (absorbed, Cholesky::new(inner.as_ref())) else {
            return Err(self.improper(logits));
        };
        let half = cholesky.whiten(factor.transpose())?;
        Ok(Absorbed { shrinkage: half.transpose() * &half, factor: cholesky.log_det().exp(), ..absorbed })
    }
}

/// How far apart two beliefs about logits are: means in standard deviations of `prior`, variances relative to each other.
fn distance(a: &Logits, b: &Logits, prior: &Logits) -> f64 {
    // A logit that is known exactly does not change.
    let share = |gap: f64, of: f64| if gap == 0.0 { 0.0 } else { gap / of };
    (0..a.dim())
        .map(|i| {
            let by_mean = share((a.mean[i] - b.mean[i]).abs(), prior.variance(i).sqrt());
            by_mean.max(share((a.variance(i) - b.variance(i)).abs(), b.variance(i)))
        })
        .fold(0.0, f64::max)
}
