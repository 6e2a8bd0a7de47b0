//! Variational logistic regression one row at a time (note §2.5.1).

use vi_core::special::{jaakkola_jordan, log_sigmoid};
use vi_core::{Belief, DenseGaussian, DenseStep, Projection, Row, Site};
use vi_linalg::faer::MatRef;

use super::super::settings::{StopRule, VbSettings};
use crate::ModelError;

/// The posterior after all rows, with the bound and `ξ` of each step.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct IncrementalFit {
    belief: DenseGaussian,
    log_det: f64,
    energy: f64,
    log_evidence: f64,
    step_bounds: Vec<f64>,
    xi: Vec<f64>,
}

impl IncrementalFit {
    /// The posterior `N(w_n, V_n)`.
    #[must_use]
    pub fn belief(&self) -> &DenseGaussian {
        &self.belief
    }

    /// `ln|V_n|`, by its recursion (86).
    #[must_use]
    pub fn log_det(&self) -> f64 {
        self.log_det
    }

    /// `w_nᵀV_n⁻¹w_n`, by its recursion.
    #[must_use]
    pub fn energy(&self) -> f64 {
        self.energy
    }

    /// The bound `ℒ_j(ξ_j)` of each step (90), length `n`, in nats. It lacks terms of step `j−1`: it is enough to choose `ξ_j`,
    /// and no bound on any evidence.
    #[must_use]
    pub fn step_bounds(&self) -> &[f64] {
        &self.step_bounds
    }

    /// A lower bound on the log evidence, in nats: the sum over steps of (90) with the terms of step `j−1` added, each a bound on
    /// `log E σ(±x_jᵀw)` under the belief before it.
    #[must_use]
    pub fn log_evidence(&self) -> f64 {
        self.log_evidence
    }

    /// The parameter `ξ_j` of each step, length `n`.
    #[must_use]
    pub fn xi(&self) -> &[f64] {
        &self.xi
    }
}

/// The relative change of (90) at which the authors stop.
const AUTHORS_TOLERANCE: f64 = 1e-5;

/// Logistic regression one row at a time, each `ξ_j` optimised as its row arrives, prior `N(0, I/d)` and no hyper-prior (note §2.5.1).
///
/// ```text
/// V₀⁻¹ = d·I, ln|V₀| = −d·ln d
/// V_j = V − h/(1+hν)·(Vx)(Vx)ᵀ     ln|V_j| = ln|V| − ln(1+hν)     h = 2λ(ξ), ν = xᵀVx       (84), (86)
/// ξ² ← xᵀ(V_j + w_jw_jᵀ)x                                                                    (63)
/// ```
///
/// `x` is `n × d`, `y` has length `n` and holds 0 and 1. The search for `ξ_j` starts at 0 (87)-(89) and needs only `(xᵀw, xᵀVx)`.
/// Under [`VbSettings::authors`] it stops by their rule on (90), otherwise when `ξ²` changes by less than the tolerance; in
/// either case after the settings' largest number of updates, which the authors' rule does reach if a row is long and `ξ` far
/// from 0. The posterior depends on the rows' order. Cost `3d²` flops a row.
///
/// # Errors
/// Those of [`logit`](super::logit).
///
/// ```
/// use vi_core::Belief;
/// use vi_linalg::faer::MatRef;
/// use vi_models::vb::{self, VbSettings};
/// let x = MatRef::from_row_major_slice(&[1.0, 0.2, 1.0, -1.3, 1.0, 2.1, 1.0, -0.4], 4, 2);
/// let fit = vb::logit_incremental(x, &[1.0, 0.0, 1.0, 0.0], &VbSettings::authors())?;
/// assert!((fit.log_det() - fit.belief().cholesky()?.log_det()).abs() < 1e-14);
/// assert!(fit.belief().mean()[1] > 0.0);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn logit_incremental(x: MatRef<'_, f64>, y: &[f64], settings: &VbSettings) -> Result<IncrementalFit, ModelError> {
    settings.check()?;
    super::check_data(x, y)?;
    let d = x.ncols() as f64;
    let mut fit = IncrementalFit {
        belief: DenseGaussian::isotropic(&vec![0.0; x.ncols()], d.sqrt().recip())?,
        log_det: -d * d.ln(),
        energy: 0.0,
        log_evidence: 0.0,
        step_bounds: Vec::with_capacity(y.len()),
        xi: Vec::with_capacity(y.len()),
    };
    let mut memory = DenseStep::default();
    for (j, &y) in y.iter().enumerate() {
        let row: Vec<f64> = x.row(j).iter().copied().collect();
        let row = Row::Dense(&row);
        let seen = fit.belief.project(row, 1.0, &mut memory).map_err(|error| error.at_row(j))?;
        let before = (fit.energy, fit.log_det);
        let step = Step::optimal(seen, y - 0.5, before, settings);
        fit.belief.absorb(row, step.site(seen), &mut memory).map_err(|error| error.at_row(j))?;
        fit.energy = step.energy;
        fit.log_det = step.log_det;
        fit.log_evidence += step.bound - 0.5 * (before.0 + before.1);
        fit.step_bounds.push(step.bound);
        fit.xi.push(step.xi);
    }
    Ok(fit)
}

/// The step of one row with one value of `ξ`.
struct Step {
    xi: f64,
    r: f64,
    h: f64,
    /// `w_jᵀV_j⁻¹w_j`.
    energy: f64,
    /// `ln|V_j|` (86).
    log_det: f64,
    /// (90).
    bound: f64,
}

impl Step {
    fn at(xi: f64, seen: Projection, r: f64, (energy, log_det): (f64, f64)) -> Self {
        let Projection { mean: a, variance: nu } = seen;
        let h = jaakkola_jordan(xi);
        let grown = 1.0 + h * nu;
        let energy = energy + (2.0 * r * a + r * r * nu - h * a * a) / grown;
        let log_det = log_det - grown.ln();
        let bound = 0.5 * (energy + log_det) + log_sigmoid(xi) - 0.5 * xi + 0.5 * h * xi * xi;
        Self { xi, r, h, energy, log_det, bound }
    }

    fn optimal(seen: Projection, r: f64, before: (f64, f64), settings: &VbSettings) -> Self {
        let mut step = Self::at(0.0, seen, r, before);
        for _ in 0..settings.max_iterations {
            let next = Self::at(step.next_xi(seen), seen, r, before);
            let done = match settings.rule() {
                StopRule::Authors => {
                    step.bound > next.bound || (step.bound - next.bound).abs() < (AUTHORS_TOLERANCE * next.bound).abs()
                }
                StopRule::Parameters { tolerance } => {
                    (next.xi * next.xi - step.xi * step.xi).abs() <= tolerance * next.xi * next.xi
                }
            };
            step = next;
            if done {
                break;
            }
        }
        step
    }

    /// `ξ² = x_jᵀ(V_j + w_jw_jᵀ)x_j`.
    fn next_xi(&self, seen: Projection) -> f64 {
        let grown = 1.0 + self.h * seen.variance;
        let mean = (seen.mean + self.r * seen.variance) / grown;
        (seen.variance / grown + mean * mean).sqrt()
    }

    fn site(&self, seen: Projection) -> Site {
        Site { slope: self.r - self.h * seen.mean, curvature: self.h }
    }
}
