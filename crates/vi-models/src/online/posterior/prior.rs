//! The prior of all weights, averaged over the prior scale.

use vi_core::special::HALF_LN_2PI;
use vi_core::{Belief, Error};
use vi_linalg::faer::Mat;

use crate::ModelError;
use crate::marginal::log_sum_exp;
use crate::online::PriorScale;
use crate::online::belief::AnyBelief;
use crate::online::engine::{Engine, Family, moves};
use crate::online::scale::ScalePrior;

/// The prior `p(θ) = ∫ p(s)·N(θ | 0, (F + G/s²)⁻¹) ds`: `G` belongs to the weights that have the scale, `F` to the others (the
/// intercept).
///
/// It depends on two quadratic forms, `log p(θ) = c − ½θᵀFθ + h(θᵀGθ)`, `h(r) = log ∫ p(s)·s⁻ᵐ·exp(−r/2s²) ds` for `m` scaled
/// weights.
#[derive(Debug, Clone)]
pub(super) struct Prior {
    /// `F` and `G`, with both triangles.
    pub(super) fixed: Mat<f64>,
    pub(super) scaled: Mat<f64>,
    constant: f64,
    /// `log(p(s_k)·s_k⁻ᵐ)` and `s_k⁻²` at the nodes of the sum that replaces the integral.
    nodes: Vec<(f64, f64)>,
}

/// How many steps the trapezoid rule takes for each standard deviation `1/√2m` of the narrowest integrand in `log s`: its error
/// is then below rounding.
const STEPS_EACH: f64 = 1.5;

/// The least number of steps.
const LEAST_STEPS: usize = 100;

impl Prior {
    /// The prior of an engine that keeps full covariances.
    ///
    /// # Errors
    /// [`ModelError::NotKept`] for another belief.
    pub(super) fn of<F: Family>(engine: &Engine<F>) -> Result<Self, ModelError> {
        let (columns, inputs) = (engine.design.columns(), engine.design.inputs);
        let family = engine.family.whole();
        let AnyBelief::Full(unit) = family.prior(&engine.settings, 1.0, columns)? else {
            return Err(ModelError::NotKept);
        };
        let weights = family.scaled_weights(columns, inputs);
        let d = unit.dim();
        let mut is_scaled = vec![false; d];
        weights.positions().for_each(|j| is_scaled[j] = true);
        let cholesky = unit.cholesky()?;
        let precision = cholesky.inverse();
        let part = |of: bool| {
            Mat::from_fn(d, d, |i, j| if is_scaled[i] == of && is_scaled[j] == of { precision[(i, j)] } else { 0.0 })
        };
        let m = is_scaled.iter().filter(|scaled| **scaled).count() as f64;
        let nodes = scales(&engine.settings.prior_scale, &engine.family.scale_prior(), moves(&engine.settings), m)?;
        Ok(Self {
            fixed: part(false),
            scaled: part(true),
            constant: -0.5 * cholesky.log_det() - d as f64 * HALF_LN_2PI,
            nodes: nodes.into_iter().map(|(log_mass, log)| (log_mass - m * log, (-2.0 * log).exp())).collect(),
        })
    }

    /// `log p(θ)` from `θᵀFθ` and `θᵀGθ = r`, and `−2h′(r)`, the average precision `s⁻²` of the scaled weights.
    pub(super) fn at(&self, fixed: f64, r: f64) -> (f64, f64) {
        let log = |&(log, precision): &(f64, f64)| log - 0.5 * r * precision;
        let total = log_sum_exp(self.nodes.iter().map(log));
        let precision = self.nodes.iter().map(|node| (log(node) - total).exp() * node.1).sum();
        (self.constant - 0.5 * fixed + total, precision)
    }
}

/// The prior scales as `(log mass, log s)`.
fn scales(setting: &PriorScale, prior: &ScalePrior, moves: bool, m: f64) -> Result<Vec<(f64, f64)>, Error> {
    let equal = |scales: &[f64]| scales.iter().map(|s| (-(scales.len() as f64).ln(), s.ln())).collect();
    Ok(match setting {
        PriorScale::Given(scale) => equal(&[*scale]),
        PriorScale::Among(scales) => equal(scales),
        PriorScale::Learned if moves => {
            let (low, high) = (prior.lowest.ln(), prior.highest.ln());
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive count")]
            let steps = ((STEPS_EACH * (high - low) * (2.0 * m).sqrt()) as usize).max(LEAST_STEPS);
            let h = (high - low) / steps as f64;
            let node = |k: usize| {
                let u = low + h * k as f64;
                let end = if k == 0 || k == steps { 0.5 } else { 1.0 };
                (prior.log_density(u) + (end * h / prior.mass()).ln(), u)
            };
            (0..=steps).map(node).collect()
        }
        PriorScale::Learned => return Err(Error::Empty { argument: "prior scales" }),
    })
}
