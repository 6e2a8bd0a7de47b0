//! Natural gradient steps for one Gaussian.
//!
//! In coordinates `θ = μ + Az`, `AAᵀ = Σ`, the target's average slope and curvature are `ĝ = Aᵀ·E∇log f` and, by Stein's identity,
//! `M = −E[∇_z² log f] = −Aᵀ·E[∇log f·zᵀ]`. The natural gradient step (Khan and Rue 2023, eqs 11-12) with step length `ρ`, along the geodesic
//! instead of the straight line in the precision, is
//!
//! `μ ← μ + ρ·A·M⁻¹ĝ`, `Σ ← A·M^(−ρ)·Aᵀ`:
//!
//! One whole step fits a Gaussian target exactly, however far away and ill-conditioned it is. The fixed point `ĝ = 0`, `M = I` is
//! where the gradient of the bound on the same points vanishes, and `½‖ĝ‖² + ¼‖M−I‖²` is what a nearly Gaussian target leaves to
//! gain.

use vi_linalg::Cholesky;
use vi_linalg::eigen::eigen;
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, Par};

use super::single::{Single, entropy};
use crate::LogDensity;
use crate::block::Block;
use crate::component::{Component, Diagonal, Full, Scale};

/// A Gaussian with the slope and curvature of the target on its points.
pub(super) struct State {
    pub(super) component: Component,
    /// `F`.
    pub(super) value: f64,
    /// `ĝ`.
    slope: Vec<f64>,
    /// `M`, lower triangle; for a diagonal Gaussian only its diagonal; `None` if the family has no such step.
    curvature: Option<Mat<f64>>,
    /// The variance of `log(q/f)` over the points, divided by their number.
    scatter: f64,
    /// The size of `log f`.
    size: f64,
}

/// The least curvature that a step uses: it makes a Gaussian at most four times as wide.
const LEAST_CURVATURE: f64 = 1.0 / 16.0;

/// The most nats that are taken as overfitting of the points: far from the target their values scatter widely and say nothing
/// about it.
const COARSEST: f64 = 1e-3;

/// The step lengths that are tried.
const LENGTHS: [f64; 5] = [1.0, 0.5, 0.25, 0.1, 0.02];

/// The number of steps after which the other search is worth trying.
const MOST_STEPS: usize = 40;

impl State {
    /// The state of `component`; `None` if the target is not finite at one of the points.
    pub(super) fn new<T: LogDensity + ?Sized>(single: &Single<'_, T>, component: Component) -> Option<Self> {
        let (d, n) = (component.dim(), single.points());
        let (mut x, mut slopes, mut values) = (Block::default(), Block::default(), Vec::new());
        let (mut sum, mut losses, mut size) = (0.0, Vec::new(), 0.0_f64);
        let mut by_mean = vec![0.0; d];
        let mut by_factor = Mat::<f64>::zeros(d, d);
        for z in single.z {
            component.map(z, &mut x);
            values.resize(x.rows(), 0.0);
            single.probe.values_and_gradients(&x, &mut values, &mut slopes);
            for (i, value) in values.iter().enumerate() {
                sum += value / n;
                size = size.max(value.abs());
                let square: f64 = (0..z.columns()).map(|j| z.col(j)[i] * z.col(j)[i]).sum();
                losses.push(-0.5 * square - value);
            }
            for (j, by) in by_mean.iter_mut().enumerate() {
                *by += slopes.col(j).iter().sum::<f64>() / n;
            }
            if component.latent_dim() == d {
                matmul(by_factor.as_mut(), Accum::Add, slopes.as_ref().transpose(), z.as_ref(), 1.0 / n, Par::Seq);
            }
        }
        let value = -entropy(&component) - sum;
        if !value.is_finite() || by_mean.iter().any(|g| !g.is_finite()) || !by_factor.as_ref().norm_max().is_finite() {
            return None;
        }
        let mean = losses.iter().sum::<f64>() / n;
        let scatter = losses.iter().map(|loss| (loss - mean) * (loss - mean)).sum::<f64>() / (n * n);
        let (slope, curvature) = match &component.scale {
            Scale::Full(full) => {
                let l = full.factor();
                let whitened = l.transpose() * by_factor;
                let slope = (0..d).map(|j| (j..d).map(|i| l[(i, j)] * by_mean[i]).sum()).collect();
                (slope, Some(Mat::from_fn(d, d, |i, j| if i >= j { -whitened[(i, j)] } else { 0.0 })))
            }
            Scale::Diagonal(diagonal) => {
                let sd = diagonal.sd();
                let own = Mat::from_fn(d, 1, |j, _| -sd[j] * by_factor[(j, j)]);
                (by_mean.iter().zip(sd).map(|(g, sd)| g * sd).collect(), Some(own))
            }
            Scale::LowRank(_) => (by_mean, None),
        };
        Some(Self { component, value, slope, curvature, scatter, size })
    }

    /// The gain that is left for a nearly Gaussian target, in nats; infinite for families that cannot follow its correlations, for
    /// which the length of the step does not bound it.
    pub(super) fn remains(&self) -> f64 {
        if matches!(self.component.scale, Scale::Full(_)) { self.length() } else { f64::INFINITY }
    }

    /// `½‖ĝ‖² + ¼‖M−I‖²`; infinite if the family has no natural step.
    fn length(&self) -> f64 {
        let Some(m) = &self.curvature else { return f64::INFINITY };
        let mut sum = 0.5 * self.slope.iter().map(|g| g * g).sum::<f64>();
        for j in 0..m.ncols() {
            for i in j..m.nrows() {
                // Every entry below the diagonal represents two.
                let (own, share) = if m.ncols() == 1 || i == j { (1.0, 0.25) } else { (0.0, 0.5) };
                sum += share * (m[(i, j)] - own).powi(2);
            }
        }
        sum
    }

    /// The nats, at most [`COARSEST`], below which a gain says nothing about the target: rounding of the values, and 10⁻⁵ of what
    /// overfitting of the search's own points is worth, the number of parameters times the variance of a point's `log(q/f)`
    /// divided by the number of points.
    pub(super) fn resolution(&self) -> f64 {
        let d = self.component.dim();
        let parameters = crate::component::parameters(self.component.family(), d) as f64;
        (1e-5 * parameters * self.scatter).min(COARSEST).max(self.rounding())
    }

    /// The rounding of the bound, in nats.
    pub(super) fn rounding(&self) -> f64 {
        16.0 * f64::EPSILON * self.size
    }

    /// Takes natural steps until no more than `tolerance` nats remain, a step gains nothing, or they become slow; returns the
    /// number of evaluations taken, at most `left`.
    pub(super) fn descend<T: LogDensity + ?Sized>(
        &mut self,
        single: &Single<'_, T>,
        tolerance: f64,
        left: usize,
    ) -> usize {
        // The index in `LENGTHS` of the last step, less one: a search that needs short steps does not try long ones each time.
        let (mut spent, mut longest) = (0, 0);
        for _ in 0..MOST_STEPS {
            let remains = self.length();
            if remains <= tolerance || !remains.is_finite() {
                break;
            }
            let Some(step) = self.step() else { break };
            let mut next = None;
            for (place, length) in LENGTHS.into_iter().enumerate().skip(longest) {
                if spent == left {
                    break;
                }
                let Some(component) = step.component(self, length) else { continue };
                spent += 1;
                next = Self::new(single, component).filter(|next| next.value < self.value);
                if next.is_some() {
                    longest = place.saturating_sub(1);
                    break;
                }
            }
            let Some(next) = next else { break };
            let gained = self.value - next.value;
            *self = next;
            if gained < 0.1 && self.length() > 0.5 * remains {
                break;
            }
        }
        spent
    }

    /// The step's directions: eigenvectors and eigenvalues of `M`, small or negative ones raised.
    fn step(&self) -> Option<Step> {
        let m = self.curvature.as_ref()?;
        let (values, vectors) = if m.ncols() == 1 {
            ((0..m.nrows()).map(|j| m[(j, 0)]).collect(), None)
        } else {
            let (values, vectors) = eigen(m.as_ref(), Par::Seq).ok()?;
            (values, Some(vectors))
        };
        let values: Vec<f64> = values.into_iter().map(|m: f64| m.max(LEAST_CURVATURE)).collect();
        Some(Step { values, vectors })
    }
}

struct Step {
    values: Vec<f64>,
    /// `None` for the unit vectors.
    vectors: Option<Mat<f64>>,
}

impl Step {
    /// The Gaussian after a step of length `ρ`; `None` if it is out of range.
    fn component(&self, from: &State, length: f64) -> Option<Component> {
        let d = from.slope.len();
        let mut mean = from.component.mean.clone();
        let scale = match (&from.component.scale, &self.vectors) {
            (Scale::Full(full), Some(v)) => {
                let l = full.factor();
                // ρ·V·diag(1/m)·Vᵀĝ
                let along: Vec<f64> = (0..d)
                    .map(|k| length / self.values[k] * (0..d).map(|i| v[(i, k)] * from.slope[i]).sum::<f64>())
                    .collect();
                let shift: Vec<f64> = (0..d).map(|i| (0..d).map(|k| v[(i, k)] * along[k]).sum()).collect();
                for (i, mean) in mean.iter_mut().enumerate() {
                    *mean += (0..=i).map(|j| l[(i, j)] * shift[j]).sum::<f64>();
                }
                let narrowed = Mat::from_fn(d, d, |i, k| v[(i, k)] * self.values[k].powf(-length));
                let relative = Cholesky::new((narrowed * v.transpose()).as_ref()).ok()?;
                Scale::Full(Full::from_factor(l * relative.factor()).ok()?)
            }
            (Scale::Diagonal(diagonal), _) => {
                let mut sd = diagonal.sd().to_vec();
                for j in 0..d {
                    mean[j] += length * sd[j] * from.slope[j] / self.values[j];
                    sd[j] *= self.values[j].powf(-0.5 * length);
                }
                Scale::Diagonal(Diagonal::from_sd(sd).ok()?)
            }
            _ => return None,
        };
        mean.iter().all(|m| m.is_finite()).then_some(Component { mean, scale })
    }
}
