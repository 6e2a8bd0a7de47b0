//! Two numbers and a level at the peak of a density, the level eliminated.
//!
//! Of `F(z, δ) = f(z, δ) − ½|z|²` with the second derivatives `−H` by `z`, `−h` by `z` and `δ`, `−a` by `δ`, Newton's method takes the steps
//!
//! ```text
//! P = H − hhᵀ/a,   Δz = P⁻¹(∂_z F − h·∂_δ F/a),   Δδ = (∂_δ F − hᵀΔz)/a.
//! ```
//!
//! About the peak `z ~ N(ẑ, P⁻¹)` whatever the level, which follows `z` by `δ = δ̂ + κᵀ(z − ẑ)`, `κ = −h/a`: beside this the level and `z` have no
//! information in common.

use super::pair::{Pair, inverse, times, with_eigenvalues};

/// The step of differences by `z`, which is small beside its prior.
const STEP: f64 = 0.02;

/// The most that `z` and the level move at once, and how often they do.
const FARTHEST: [f64; 2] = [1.0, 2.0];
const MOST_STEPS: usize = 20;
const MOST_HALVINGS: usize = 6;

/// Newton's method ends with a step that is this small beside the deviations.
const SETTLED: f64 = 0.03;

/// The least curvature by the level, that of a prior with the deviation 10.
const LEAST: f64 = 0.01;

/// The peak.
#[derive(Debug, Clone, Copy)]
pub(super) struct Profile {
    /// `N(ẑ, P⁻¹)`.
    pub(super) about: Pair,
    /// `δ̂`.
    pub(super) level: f64,
    /// `κ`.
    pub(super) response: [f64; 2],
    /// `F(ẑ, δ̂)`.
    pub(super) value: f64,
}

impl Profile {
    /// The level at `z`.
    pub(super) fn level_at(&self, z: [f64; 2]) -> f64 {
        let Self { about, level, response, .. } = self;
        level + response[0] * (z[0] - about.mean[0]) + response[1] * (z[1] - about.mean[1])
    }
}

/// The peak of `f(z, δ) − ½|z|²` from `start`, where `f` returns `f`, `∂_δ f` and `−∂²_δ f`; of `z` alone if `is_level` is false.
///
/// # Errors
/// Those of `f`.
pub(super) fn profile<E>(
    (mut z, mut level): ([f64; 2], f64),
    is_level: bool,
    f: impl Fn([f64; 2], f64) -> Result<[f64; 3], E>,
) -> Result<Profile, E> {
    let penalised = |z: [f64; 2], value: f64| value - 0.5 * (z[0] * z[0] + z[1] * z[1]);
    let mut middle = f(z, level)?;
    let (mut covariance, mut response) = (Pair::BEFORE.covariance, [0.0; 2]);
    for _ in 0..MOST_STEPS {
        let at = |u: f64, v: f64| f([z[0] + STEP * u, z[1] + STEP * v], level);
        let sides = [[at(-1.0, 0.0)?, at(1.0, 0.0)?], [at(0.0, -1.0)?, at(0.0, 1.0)?]];
        let across = at(1.0, 1.0)?[0] + at(-1.0, -1.0)?[0];
        let first = |i: usize, k: usize| (sides[i][1][k] - sides[i][0][k]) / (2.0 * STEP);
        let second = |i: usize| (sides[i][1][0] + sides[i][0][0] - 2.0 * middle[0]) / (STEP * STEP);
        let both =
            (across + 2.0 * middle[0] - sides.iter().flatten().map(|side| side[0]).sum::<f64>()) / (2.0 * STEP * STEP);
        let bend = middle[2].max(LEAST);
        let [joint, slope] = if is_level { [[-first(0, 1), -first(1, 1)], [middle[1]; 2]] } else { [[0.0; 2]; 2] };
        let left = |i: usize, j: usize| -joint[i] * joint[j] / bend;
        let precision = [1.0 - second(0) + left(0, 0), -both + left(1, 0), 1.0 - second(1) + left(1, 1)];
        // Where the profile is not concave the prior alone bends.
        covariance = inverse(with_eigenvalues(precision, |own| own.max(1.0)));
        response = joint.map(|joint| -joint / bend);
        let climb = [0, 1].map(|i| first(i, 0) - z[i] - joint[i] * slope[0] / bend);
        let mut step = times(covariance, climb).map(|step| step.clamp(-FARTHEST[0], FARTHEST[0]));
        let mut rise =
            (slope[0] / bend + response[0] * step[0] + response[1] * step[1]).clamp(-FARTHEST[1], FARTHEST[1]);
        let small =
            (0..2).all(|i| step[i].abs() < SETTLED * covariance[2 * i].sqrt()) && rise.abs() * bend.sqrt() < SETTLED;
        for _ in 0..MOST_HALVINGS {
            let there = [z[0] + step[0], z[1] + step[1]];
            let found = f(there, level + rise)?;
            if penalised(there, found[0]) >= penalised(z, middle[0]) {
                (z, level, middle) = (there, level + rise, found);
                break;
            }
            (step, rise) = (step.map(|step| 0.5 * step), 0.5 * rise);
        }
        if small {
            break;
        }
    }
    Ok(Profile { about: Pair { mean: z, covariance }, level, response, value: penalised(z, middle[0]) })
}
