//! Each component's points with the target's values there, and averages that need no further values.

use vi_core::Estimate;

use super::line::Line;
use crate::BoostError;
use crate::block::{self, Block};
use crate::component::Component;
use crate::mixture::{GaussianMixture, Scratch};
use crate::objective::{Reference, Rest};
use crate::target::{LogDensity, Probe};

/// The points of one component.
#[derive(Debug, Clone)]
pub(crate) struct Cloud {
    pub(crate) z: Vec<Block>,
    pub(crate) x: Vec<Block>,
    pub(crate) log_f: Vec<Vec<f64>>,
}

impl Cloud {
    /// `n` points of `component`.
    pub(crate) fn new<T: LogDensity + ?Sized>(
        probe: &Probe<'_, T>,
        component: &Component,
        n: usize,
        seed: u64,
    ) -> Result<Self, BoostError> {
        let mut cloud = Self::resting(block::quasi(n, component.latent_dim(), seed)?);
        cloud.move_to(probe, component);
        Ok(cloud)
    }

    /// Standard normal points that belong to no component yet.
    pub(crate) fn resting(z: Vec<Block>) -> Self {
        Self { x: vec![Block::default(); z.len()], log_f: vec![Vec::new(); z.len()], z }
    }

    /// Moves the points to another component.
    pub(crate) fn move_to<T: LogDensity + ?Sized>(&mut self, probe: &Probe<'_, T>, component: &Component) {
        for ((z, x), log_f) in self.z.iter().zip(&mut self.x).zip(&mut self.log_f) {
            component.map(z, x);
            log_f.resize(x.rows(), 0.0);
            probe.values(x, log_f);
        }
    }

    /// Whether the target is finite at every point.
    pub(crate) fn is_finite(&self) -> bool {
        self.log_f.iter().flatten().all(|f| f.is_finite())
    }

    pub(crate) fn len(&self) -> usize {
        self.x.iter().map(Block::rows).sum()
    }
}

/// About `total` points of the mixture, taken from the clouds in proportion to the weights.
pub(crate) fn reference(q: &GaussianMixture, clouds: &[Cloud], total: usize) -> Reference {
    let mut reference = Reference::default();
    let mut scratch = Scratch::default();
    for (cloud, weight) in clouds.iter().zip(q.weights()) {
        if weight == 0.0 {
            continue;
        }
        // The beginning of the sequence is evenly spread if its length is a power of two.
        let wanted = (weight * total as f64).ceil().max(LEAST_ROWS as f64);
        let rows = cloud.len().min(if wanted < cloud.len() as f64 { next_power(wanted) } else { cloud.len() });
        let mut left = rows;
        for (x, log_f) in cloud.x.iter().zip(&cloud.log_f) {
            let take = x.rows().min(left);
            if take == 0 {
                break;
            }
            left -= take;
            let x = if take == x.rows() { x.clone() } else { Block::of_rows(x.as_ref(), 0, take) };
            q.evaluate(&x, &mut scratch, false);
            reference.weight.push(vec![weight / rows as f64; take]);
            reference.log_q.push(scratch.total.clone());
            reference.log_f.push(log_f[..take].to_vec());
            reference.x.push(x);
        }
    }
    reference
}

/// The least number of points that a component contributes.
const LEAST_ROWS: usize = 32;

fn next_power(wanted: f64) -> usize {
    let mut power = LEAST_ROWS;
    while (power as f64) < wanted {
        power *= 2;
    }
    power
}

/// Averages under the mixture of `ℓ = log(q/f)` and of `f/q`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Summary {
    /// `E_q ℓ`.
    pub(crate) objective: Estimate,
    /// `log E_q[f/q]`.
    pub(crate) log_evidence: Estimate,
    /// The effective share of the points, `(E_q[f/q])²/E_q[(f/q)²]`.
    pub(crate) effective_share: f64,
    /// The share of the points, by weight, at which `f` is zero.
    pub(crate) zero: f64,
    /// The number of points.
    pub(crate) points: usize,
}

/// The summary of points with weights `c` (which sum to 1) and losses `ℓ`. Standard errors are those of as many
/// independent points.
pub(crate) fn summary(weights: &[f64], losses: &[f64]) -> Summary {
    let least = losses.iter().fold(f64::INFINITY, |a, b| a.min(*b));
    let (mut mean, mut ratio, mut ratio_square, mut zero) = (0.0, 0.0, 0.0, 0.0);
    for (c, loss) in weights.iter().zip(losses) {
        mean += c * loss;
        // f/q relative to its largest value.
        let v = (least - loss).exp();
        ratio += c * v;
        ratio_square += c * v * v;
        zero += if *loss == f64::INFINITY { *c } else { 0.0 };
    }
    let (mut variance, mut ratio_variance) = (0.0, 0.0);
    for (c, loss) in weights.iter().zip(losses) {
        variance += (c * (loss - mean)).powi(2);
        ratio_variance += (c * ((least - loss).exp() / ratio - 1.0)).powi(2);
    }
    Summary {
        objective: Estimate { value: mean, standard_error: variance.sqrt() },
        log_evidence: Estimate { value: ratio.ln() - least, standard_error: ratio_variance.sqrt() },
        effective_share: ratio * ratio / ratio_square,
        zero,
        points: losses.len(),
    }
}

/// The summary of the mixture on all its points.
pub(crate) fn summarise(q: &GaussianMixture, clouds: &[Cloud]) -> Summary {
    let (mut weights, mut losses) = (Vec::new(), Vec::new());
    let mut scratch = Scratch::default();
    for (cloud, weight) in clouds.iter().zip(q.weights()) {
        let c = weight / cloud.len() as f64;
        for (x, log_f) in cloud.x.iter().zip(&cloud.log_f) {
            if c == 0.0 {
                continue;
            }
            q.evaluate(x, &mut scratch, false);
            weights.resize(weights.len() + x.rows(), c);
            losses.extend(scratch.total.iter().zip(log_f).map(|(q, f)| q - f));
        }
    }
    summary(&weights, &losses)
}

/// The points of all clouds, held fixed, as if from the mixture with weights half way to equal ones, so that a component of
/// vanishing weight still has points.
pub(crate) fn rest(q: &GaussianMixture, clouds: &[Cloud]) -> Rest {
    let count = q.len() as f64;
    let pi: Vec<f64> = q.weights().iter().map(|w| 0.5 * (w + 1.0 / count)).collect();
    let source = q.reweighted(&pi);
    let mut rest = Rest::default();
    let mut scratch = Scratch::default();
    for (cloud, pi) in clouds.iter().zip(&pi) {
        for (x, log_f) in cloud.x.iter().zip(&cloud.log_f) {
            source.evaluate(x, &mut scratch, false);
            rest.weight.push(vec![pi / cloud.len() as f64; x.rows()]);
            rest.log_m.push(scratch.total.clone());
            rest.log_f.push(log_f.clone());
            rest.x.push(x.clone());
        }
    }
    rest
}

/// The points of the mixture and those of a further component, held fixed, as if from both in proportion to their numbers; the
/// mixture itself does not change.
pub(crate) fn rest_beside(q: &GaussianMixture, reference: &Reference, h: &Component, cloud: &Cloud) -> Rest {
    let old: usize = reference.x.iter().map(Block::rows).sum();
    let beta = cloud.len() as f64 / (old + cloud.len()) as f64;
    let both = q.with(h.clone(), beta);
    let mut rest = Rest::default();
    let mut scratch = Scratch::default();
    let mut push = |x: &Block, weight: Vec<f64>, log_f: &[f64]| {
        both.evaluate(x, &mut scratch, false);
        rest.log_m.push(scratch.total.clone());
        // q = (m − βh)/(1−β), from its own components.
        let mut fixed = Vec::new();
        crate::mixture::log_sum_exp(&scratch.log[..q.len()], q.log_weights(), x.rows(), &mut fixed);
        rest.fixed.push(fixed);
        rest.weight.push(weight);
        rest.log_f.push(log_f.to_vec());
        rest.x.push(x.clone());
    };
    for (k, x) in reference.x.iter().enumerate() {
        push(x, reference.weight[k].iter().map(|w| (1.0 - beta) * w).collect(), &reference.log_f[k]);
    }
    for (x, log_f) in cloud.x.iter().zip(&cloud.log_f) {
        push(x, vec![beta / cloud.len() as f64; x.rows()], log_f);
    }
    rest
}

/// `D̃(a) − D̃(b)` on the points of both; common contributions cancel, so the error is that of the difference.
pub(crate) fn paired_gain(a: (&GaussianMixture, &[Cloud]), b: (&GaussianMixture, &[Cloud])) -> f64 {
    let mut line = Line::default();
    let (mut of_a, mut of_b) = (Scratch::default(), Scratch::default());
    for (q, clouds) in [a, b] {
        for (cloud, weight) in clouds.iter().zip(q.weights()) {
            for (x, log_f) in cloud.x.iter().zip(&cloud.log_f) {
                a.0.evaluate(x, &mut of_a, false);
                b.0.evaluate(x, &mut of_b, false);
                for i in 0..x.rows() {
                    line.push(weight / cloud.len() as f64, of_a.total[i], of_b.total[i], log_f[i]);
                }
            }
        }
    }
    line.difference()
}
