//! Blocks of inputs, each with a prior scale of its own.
//!
//! The weights of block `k` have the prior `N(0, (s·r_k)²)`, with the overall scale `s` of [`PriorScale`](super::PriorScale) and the relative
//! scale `r_k`, `log r_k ~ N(0, 2²)`. With columns in units of `r_k` the prior is `N(0, s²)` for all weights again, so that all else goes on as
//! with one scale. Whenever the overall scale is placed, the `r_k` move: for one block after another the evidence, with the sites as they are
//! and the other blocks held, is known over the whole range of `r_k` from the eigenvalues of the block's marginal covariance
//! ([`rescale`](super::rescale)), and `log r_k` goes to its posterior mean. Where a block tells nothing, small scales are all alike, so that the mean is far
//! below the largest scale that the rows allow, at which the evidence is highest. Such a block returns as soon as the rows show that it tells something.

use std::ops::Range;

use vi_core::Error;
use vi_linalg::faer::{Mat, Par};
use vi_linalg::kernels::{product, symmetric_rank_r};

use super::belief::AnyBelief;
use super::rescale::{Directions, ScaleChange, ScaledWeights, Spectrum, Whitened};
use super::scale::{ScalePrior, nodes};

/// The prior of a relative scale.
const RELATIVE: ScalePrior = ScalePrior { centre: 1.0, spread: 2.0, lowest: 1e-3, highest: 1e3 };

/// The farthest stored relative scale from 1: that of the prior, and rounding.
const WITHIN: f64 = 1.1e3;

/// The size of moves that are not made.
const STILL: f64 = 0.02;

/// The nearest of the much wider scales, and the distance from one to the next, in `log r`.
const APART: f64 = 1.5;
const STEP: f64 = 0.25;

/// The nats that twice the rows would have to give a much wider scale before it counts.
const FORESEEN: f64 = 5.0;

/// The most passes over all blocks.
const PASSES: usize = 8;

/// The inputs of each block.
pub(super) fn ranges(blocks: &[usize]) -> impl Iterator<Item = Range<usize>> + '_ {
    blocks.iter().scan(0, |end, inputs| {
        let first = *end;
        *end += inputs;
        Some(first..*end)
    })
}

/// Checks that the blocks hold all inputs.
///
/// # Errors
/// `Dimension`; `Entry` for a block without inputs.
pub(super) fn check(blocks: &[usize], inputs: usize) -> Result<(), Error> {
    if blocks.is_empty() {
        return Ok(());
    }
    if let Some(index) = blocks.iter().position(|inputs| *inputs == 0) {
        return Err(Error::Entry { argument: "blocks", index, value: 0.0, requirement: "at least one input" });
    }
    let sum = blocks.iter().fold(0_usize, |sum, inputs| sum.saturating_add(*inputs));
    crate::check::length("inputs of all blocks", inputs, sum)
}

/// Checks the stored relative scales of inputs: none, or one for each, the same within a block.
///
/// # Errors
/// `Dimension`, `Entry`.
pub(super) fn check_relative(blocks: &[usize], relative: &[f64]) -> Result<(), Error> {
    if relative.is_empty() {
        return Ok(());
    }
    crate::check::length("relative prior scales", ranges(blocks).last().map_or(0, |last| last.end), relative.len())?;
    for block in ranges(blocks) {
        for index in block.clone() {
            let value = relative[index];
            if value != relative[block.start] || !(WITHIN.recip()..=WITHIN).contains(&value) {
                let requirement = "the same within a block, and within a factor of 1100 of 1";
                return Err(Error::Entry { argument: "relative prior scales", index, value, requirement });
            }
        }
    }
    Ok(())
}

/// By which factor to multiply the relative scale of each input, so that each `log r` is at its posterior mean with the others held, by the
/// evidence of `belief` with the sites as they are, and at most `reach` from where it is; `None` where no factor is far from 1, or the belief keeps no full covariance. `gain` is what a
/// change adds to the log evidence. Cost: some `4d³` flops for each of at most eight passes over the blocks.
///
/// # Errors
/// Those of the eigenvalue iteration; `NonFinite` where the evidence is.
pub(super) fn factors(
    (belief, scale): (&AnyBelief, f64),
    weights: ScaledWeights,
    (blocks, relative): (&[usize], &[f64]),
    reach: f64,
    gain: &dyn Fn(ScaleChange) -> f64,
) -> Result<Option<Vec<f64>>, Error> {
    let Some(mut parts) = Whitened::parts(belief, weights)? else { return Ok(None) };
    let predictors = weights.predictors / parts.len();
    let mut moved = vec![0.0_f64; blocks.len()];
    let mut total = ScaleChange::default();
    // How many moves there were, and had been when each block was looked at.
    let (mut moves, mut looked) = (0, vec![None; blocks.len()]);
    for _ in 0..PASSES {
        let mut largest = 0.0_f64;
        for (k, block) in ranges(blocks).enumerate() {
            // A block's own move leaves it where it belongs.
            if looked[k] == Some(moves) {
                continue;
            }
            looked[k] = Some(moves);
            let positions = positions(&block, predictors, weights);
            let marginals = directions(&parts, &positions)?;
            let own = scale * moved[k].exp();
            let from = log_relative(relative, &block);
            let near = ScalePrior {
                lowest: (from - reach).exp().max(RELATIVE.lowest),
                highest: (from + reach).exp().min(RELATIVE.highest),
                ..RELATIVE
            };
            let spectrum = Spectrum::of_directions(&marginals, own);
            let before = from + moved[k];
            let change = |to: f64| {
                let change = spectrum.change(own * (to - before).exp());
                let ScaleChange { log_det, quadratic } = total;
                ScaleChange { log_det: log_det + change.log_det, quadratic: quadratic + change.quadratic }
            };
            let found = nodes(&near, &|r| gain(change(r.ln())))?.nodes;
            let to = found.into_iter().map(|(r, share)| share * r.ln()).sum();
            let step: f64 = to - before;
            if step.abs() < STILL {
                continue;
            }
            total = change(to);
            largest = largest.max(step.abs());
            moved[k] += step;
            moves += 1;
            looked[k] = Some(moves);
            let delta = (own * step.exp()).powi(-2) - own.powi(-2);
            for (part, directions) in parts.iter_mut().zip(marginals) {
                let along = |i: usize| delta / (1.0 + delta * directions.variances[i]);
                let d = part.mean.len();
                let column = |i: usize, j: usize| part.covariance[(i.max(j), i.min(j))];
                let columns = Mat::from_fn(d, positions.len(), |i, j| column(i, positions[j]));
                let turned = product(columns.as_ref(), directions.vectors.as_ref(), Par::Seq);
                let shrunk = Mat::from_fn(d, positions.len(), |i, j| along(j) * turned[(i, j)]);
                for i in 0..positions.len() {
                    (0..d).for_each(|row| part.mean[row] -= shrunk[(row, i)] * directions.along[i]);
                }
                symmetric_rank_r(part.covariance.as_mut(), -1.0, shrunk.as_ref(), turned.as_ref(), Par::Seq);
            }
        }
        if largest < 4.0 * STILL {
            break;
        }
    }
    if moved.iter().all(|step| *step == 0.0) {
        return Ok(None);
    }
    Ok(Some(ranges(blocks).zip(moved).flat_map(|(block, step)| block.map(move |_| step.exp())).collect()))
}

/// The factors of all relative scales by which one block becomes much wider, where evidence and prior would be higher if there were twice the rows, all of them
/// alike; `None` where they would not, and for a belief that keeps no full covariance. The evidence is that of `belief` with the sites as they are and the other
/// blocks held: few rows say less of weights of opposing signs than a wide prior costs, and the next rows say as much again. Cost: `d³` flops at most.
///
/// # Errors
/// Those of the eigenvalue iteration.
pub(super) fn wider(
    (belief, scale): (&AnyBelief, f64),
    weights: ScaledWeights,
    (blocks, relative): (&[usize], &[f64]),
    gain: &dyn Fn(ScaleChange) -> f64,
) -> Result<Option<Vec<f64>>, Error> {
    let Some(parts) = Whitened::parts(belief, weights)? else { return Ok(None) };
    let predictors = weights.predictors / parts.len();
    let (mut most, mut best) = (FORESEEN, None);
    for (k, block) in ranges(blocks).enumerate() {
        let marginals = directions(&parts, &positions(&block, predictors, weights))?;
        let spectrum = Spectrum::of_directions(&marginals, scale);
        let from = log_relative(relative, &block);
        let mut step = APART;
        while from + step <= RELATIVE.highest.ln() {
            let ScaleChange { log_det, quadratic } = spectrum.change(scale * step.exp());
            let twice = ScaleChange { log_det, quadratic: 2.0 * quadratic };
            let foreseen = gain(twice) + RELATIVE.log_density(from + step) - RELATIVE.log_density(from);
            if foreseen > most {
                (most, best) = (foreseen, Some((k, step)));
            }
            step += STEP;
        }
    }
    Ok(best.map(|(wide, step)| {
        let factor = |k: usize| if k == wide { step.exp() } else { 1.0 };
        ranges(blocks).enumerate().flat_map(|(k, block)| block.map(move |_| factor(k))).collect()
    }))
}

/// The positions of a block's weights among those that have a scale, for all predictors of a part.
fn positions(block: &Range<usize>, predictors: usize, weights: ScaledWeights) -> Vec<usize> {
    (0..predictors).flat_map(|p| block.clone().map(move |j| p * weights.scaled + j)).collect()
}

/// The eigenvectors of the covariance of the weights at these positions, in each part.
fn directions(parts: &[Whitened], positions: &[usize]) -> Result<Vec<Directions>, Error> {
    parts.iter().map(|part| part.marginal(positions).directions()).collect()
}

/// `log r` of a block.
fn log_relative(relative: &[f64], block: &Range<usize>) -> f64 {
    relative.get(block.start).copied().unwrap_or(1.0).ln()
}

/// The log prior density of the relative scales.
pub(super) fn log_prior(blocks: &[usize], relative: &[f64]) -> f64 {
    ranges(blocks).map(|block| RELATIVE.log_density(log_relative(relative, &block))).sum()
}

/// The effective number of weights in each block, `Σ (1 − P_jj/s²)`; `None` for a belief that keeps no full covariance.
pub(super) fn freedom(
    (belief, scale): (&AnyBelief, f64),
    weights: ScaledWeights,
    blocks: &[usize],
) -> Result<Option<Vec<f64>>, Error> {
    if blocks.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let Some(parts) = Whitened::parts(belief, weights)? else { return Ok(None) };
    let of = |part: &Whitened, i: usize| 1.0 - part.covariance[(i, i)] / (scale * scale);
    let of_input = |j: usize| {
        let each = |part: &Whitened| (j..part.mean.len()).step_by(weights.scaled).map(|i| of(part, i)).sum::<f64>();
        parts.iter().map(each).sum::<f64>()
    };
    Ok(Some(ranges(blocks).map(|block| block.map(of_input).sum()).collect()))
}
