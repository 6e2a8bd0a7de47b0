//! What is believed of Student-t noise: its degrees of freedom and its scale.
//!
//! For each of a few degrees of freedom `k` there is a share `w_k` and a Gaussian of the log scale, `u = log s ~ N(m_k, v_k)`. A label `y` at a
//! predictor `t ~ N(a, ν)`, apart from them, multiplies
//!
//! ```text
//! w_k·N(u; m_k, v_k)   by   p(y | k, u) = ∫ N(t; a, ν)·St_k(y; t, eᵘ) dt,
//! ```
//!
//! and each product becomes `w_k′·N(u; m_k′, v_k′)` with its mass and moments (assumed density filtering), by the rule of Gauss and Hermite.
//! Of rows whose predictors `t_i ~ N(a_i, ν_i)` were fitted together, the mass is `exp f(u)` with
//!
//! ```text
//! f(u) = Σ_i w_i·E log St_k(y_i; t_i, eᵘ) + log N(u; m, v),   f′ = Σ w_i(E q_i − 1) + …,   q = (k+1)r²/(k·e²ᵘ + r²),
//! ```
//!
//! which is concave in `u`, so that Newton's method finds its peak, where a Gaussian is put. Since the fitted predictors follow the scale, a row
//! tells less of it by the share `Σν_i/(ν_i+s²)` of the weights, as in a linear model. A label that is known to lie in a range has the probability of the
//! range in place of its density, which need not be concave.

use serde::{Deserialize, Serialize};
use vi_core::special::HALF_LN_2PI;
use vi_core::{Error, Projection};

use crate::marginal::log_sum_exp;
use crate::online::spread::{FIVE, THREE};
use crate::online::summed::few;
use crate::student::between::told_of;
use crate::student::beyond::BEYOND;
use crate::student::blurred::{DOF, TAILS};

/// The number of degrees of freedom that are averaged over.
const K: usize = DOF.len();

/// The prior of `log s`, for labels of unit spread: most of its mass is between a fortieth of that and ten times as much.
const BEFORE: LogScale = LogScale { mean: -0.7, variance: 2.25 };

/// The farthest mean of `log s` from 0.
const FARTHEST: f64 = 30.0;

/// The share of the answers below which degrees of freedom are left out of them, except for labels far out.
const NEGLIGIBLE: f64 = 1e-3;

/// The least log share: heavy tails can return, and a label far out is never left to a Gaussian alone.
const LEAST: f64 = -30.0;

/// The variance of `log s` below which its mean stands for it: the error of a log density is some twice that squared.
const KNOWN: f64 = 0.02;

/// The variance of `log s` below which a label's density is taken for a Gaussian's in `log s`, by its derivatives at the mean, if its slope moves the mean
/// by at most this share of the deviation.
const KNOWN_WELL: f64 = 0.002;
const NEAR: f64 = 0.25;

/// A factor of the noise that is 1.
pub(in crate::online) const KNOWN_FACTOR: Projection = Projection { mean: 0.0, variance: 0.0 };

/// The width of a cell of errors that are taken together, by `log(e² + the least)`.
const CELL: f64 = 0.25;

/// Newton's method ends with a step that is this small beside the deviation of `log s`.
const SETTLED: f64 = 1e-3;
const MOST_STEPS: usize = 60;

/// `u = log s ~ N(mean, variance)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::online) struct LogScale {
    mean: f64,
    variance: f64,
}

impl LogScale {
    /// The precision, and the precision times the mean.
    fn natural(self) -> (f64, f64) {
        (self.variance.recip(), self.mean / self.variance)
    }

    fn from_natural((precision, product): (f64, f64)) -> Self {
        let precision = precision.max(BEFORE.variance.recip());
        Self { mean: (product / precision).clamp(-FARTHEST, FARTHEST), variance: precision.recip() }
    }

    /// `log ∫ exp(ηu − ½λu²) du` without the constant, of `λ` and `η`.
    fn log_mass((precision, product): (f64, f64)) -> f64 {
        0.5 * (product * (product / precision) - precision.ln())
    }

    /// The log mass and the Gaussian of `log s` after a label, by the derivatives of its density; `None` where these do not suffice. The label is at the
    /// distance `r` from a predictor of variance `nu`, the noise has tail `k`, and with the weight `w`, `f = w·log p`, `g = f′` and `h = 1 − v·f″` at the mean
    ///
    /// ```text
    /// log ∫ N(u; m, v)·e^f du = f + ½(v·g²/h − log h),   m′ = m + v·g/h,   v′ = v/h.
    /// ```
    fn by_derivatives(self, k: usize, (r, nu, weight): (f64, f64, f64)) -> Option<(f64, Self)> {
        let Self { mean, variance } = self;
        if variance > KNOWN_WELL {
            return None;
        }
        let [log_density, slope, bend] = TAILS[k].by_log_scale(r, nu, mean.exp()).map(|value| weight * value);
        let h = 1.0 + variance * bend;
        let moved = variance * slope / h;
        let is_near = moved * moved <= NEAR * NEAR * variance && (0.5..=2.0).contains(&h) && log_density.is_finite();
        let after =
            Self { mean: (mean + moved).clamp(-FARTHEST, FARTHEST), variance: (variance / h).min(BEFORE.variance) };
        is_near.then(|| (log_density + 0.5 * (moved * slope - h.ln()), after))
    }

    /// `(weight, s)`.
    fn scales(self, rule: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
        let deviation = self.variance.sqrt();
        rule.iter().map(move |(z, weight)| (*weight, (self.mean + deviation * z).exp()))
    }
}

/// The posterior of the noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::online) struct Noise {
    /// The log share of each number of degrees of freedom; their exponentials sum to 1.
    log_shares: Vec<f64>,
    scales: Vec<LogScale>,
}

/// A label that lies `r` from a predictor of variance `nu`, or up to `reach` from there where that is not 0.
#[derive(Debug, Clone, Copy)]
pub(in crate::online) struct Away {
    pub(in crate::online) r: f64,
    pub(in crate::online) reach: f64,
    pub(in crate::online) nu: f64,
}

/// A component of the noise: its share, its scale, and its tail.
pub(in crate::online) type Component = (f64, f64, usize);

impl Noise {
    /// What is believed before any row.
    pub(in crate::online) fn before() -> Self {
        Self { log_shares: vec![-(K as f64).ln(); K], scales: vec![BEFORE; K] }
    }

    pub(in crate::online) fn check(&self) -> Result<(), Error> {
        crate::check::length("degrees of freedom", K, self.log_shares.len())?;
        crate::check::length("scales of the noise", K, self.scales.len())?;
        crate::check::values("log shares of the degrees of freedom", &self.log_shares)?;
        for LogScale { mean, variance } in &self.scales {
            if mean.is_nan() || mean.abs() > FARTHEST {
                let requirement = "at most 30 from 0";
                return Err(Error::Setting { name: "mean of the log scale", value: *mean, requirement });
            }
            if variance.is_nan() || *variance <= 0.0 || *variance > BEFORE.variance {
                let requirement = "positive, and at most the prior's";
                return Err(Error::Setting { name: "variance of the log scale", value: *variance, requirement });
            }
        }
        Ok(())
    }

    fn normalise(&mut self) -> f64 {
        let total = log_sum_exp(self.log_shares.iter().copied());
        self.log_shares.iter_mut().for_each(|share| *share = (*share - total).max(LEAST));
        total
    }

    /// The components that answers average over, the likely ones first, and how many those are; whose shares sum to 1. The log scale has the
    /// Gaussian part `more` besides.
    pub(in crate::online) fn components(&self, more: Projection) -> (Vec<Component>, usize) {
        let counted = |k: &usize| self.log_shares[*k] > f64::ln(NEGLIGIBLE);
        let total: f64 = (0..K).filter(counted).map(|k| self.log_shares[k].exp()).sum();
        let of = |k: usize| {
            let LogScale { mean, variance } = self.scales[k];
            let scale = LogScale { mean: mean + more.mean, variance: variance + more.variance };
            let known = scale.variance < KNOWN || !counted(&k);
            let rule: &[(f64, f64)] = if known { &[(0.0, 1.0)] } else { &THREE };
            let share = self.log_shares[k].exp() / total;
            scale.scales(rule).map(move |(weight, scale)| (share * weight, scale, k))
        };
        let mut components: Vec<Component> = (0..K).filter(counted).flat_map(of).collect();
        let likely = components.len();
        components.extend((0..K).filter(|k| !counted(k)).flat_map(of));
        (components, likely)
    }

    /// The scale and the tail nearest to the expected `1/k`, for a caller with a single tail.
    pub(in crate::online) fn typical(&self) -> (f64, usize) {
        let (inverse, _) = self.told();
        let away = |k: &usize| (DOF[*k].recip() - inverse).abs();
        let tail = (0..K).min_by(|a, b| away(a).total_cmp(&away(b))).unwrap_or(K - 1);
        (self.scales[tail].mean.exp(), tail)
    }

    /// Learns a label whose density counts to the power `weight`.
    ///
    /// # Errors
    /// `Overflow` where no degrees of freedom give the label a density within floats.
    pub(in crate::online) fn learn(&mut self, Away { r, reach, nu }: Away, weight: f64) -> Result<(), Error> {
        let before = self.clone();
        for k in 0..K {
            let own = self.scales[k];
            let near = if reach == 0.0 { own.by_derivatives(k, (r, nu, weight)) } else { None };
            if let Some((total, scale)) = near {
                self.log_shares[k] += total;
                self.scales[k] = scale;
                continue;
            }
            let rule: &[(f64, f64)] = if own.variance < KNOWN { &THREE } else { &FIVE };
            let (mut points, deviation) = ([(0.0, 0.0); 5], own.variance.sqrt());
            let points = &mut points[..rule.len()];
            for (point, (z, mass)) in points.iter_mut().zip(rule) {
                let u = own.mean + deviation * z;
                *point = (mass.ln() + weight * told_of(k, (r, reach), nu, u.exp()).log_density, u);
            }
            let [total, mean, variance] = moments(points);
            if !total.is_finite() {
                self.log_shares[k] = LEAST;
                continue;
            }
            self.log_shares[k] += total;
            self.scales[k] = LogScale {
                mean: mean.clamp(-FARTHEST, FARTHEST),
                // A far outlier leaves one of the nodes, which tell no deviation below a quarter of the one before.
                variance: variance.clamp((own.variance / 16.0).max(f64::MIN_POSITIVE), BEFORE.variance),
            };
        }
        if !self.normalise().is_finite() {
            *self = before;
            return Err(Error::Overflow { quantity: "squared error of the label", value: r * r });
        }
        Ok(())
    }

    /// The posterior of the noise from rows, with their weights, that were fitted together and have these errors, and the log of the whole
    /// mass, in nats; the search begins at `self`.
    fn fitted(&self, rows: &[(Away, f64)], Errors { squares, ranges }: &Errors) -> (Self, f64) {
        let mut found = Self::before();
        for k in 0..K {
            let dof = DOF[k];
            let mut u = self.scales[k].mean;
            let mut curvature = BEFORE.variance.recip();
            for _ in 0..MOST_STEPS {
                let own = (2.0 * u).exp();
                let (mut slope, mut bend) = (-(u - BEFORE.mean) / BEFORE.variance, BEFORE.variance.recip());
                for (square, weight) in squares {
                    let (q, rest) = if dof.is_infinite() {
                        (square / own, 1.0)
                    } else {
                        let all = dof * own + square;
                        ((dof + 1.0) * square / all, dof * own / all)
                    };
                    slope += weight * (q - 1.0);
                    bend += 2.0 * weight * q * rest;
                }
                for (range, weight) in ranges {
                    let [_, of_range, bent] = BEYOND[k].by_log_scale(*range, u.exp());
                    slope += weight * of_range;
                    bend += weight * bent;
                }
                bend = bend.max(BEFORE.variance.recip());
                curvature = bend;
                let step = (slope / bend).clamp(-1.0, 1.0);
                u = (u + step).clamp(-FARTHEST, FARTHEST);
                if step.abs() < SETTLED / bend.sqrt() || u.abs() == FARTHEST {
                    break;
                }
            }
            let own = (2.0 * u).exp();
            let counted: f64 = rows.iter().map(|(_, weight)| weight).sum();
            let taken: f64 = rows.iter().map(|(Away { nu, .. }, weight)| weight * nu / (nu + own)).sum();
            let left = if counted > 0.0 { (1.0 - taken / counted).max(0.1) } else { 1.0 };
            let told = (curvature - BEFORE.variance.recip()) * left;
            let variance = (told + BEFORE.variance.recip()).recip();
            let before = -0.5 * ((u - BEFORE.mean).powi(2) / BEFORE.variance + BEFORE.variance.ln()) - HALF_LN_2PI;
            let mut peak = before + 0.5 * variance.ln() + HALF_LN_2PI;
            let scale = u.exp();
            for (square, weight) in squares {
                peak += weight * TAILS[k].log_density(*square, scale);
            }
            for (range, weight) in ranges {
                peak += weight * BEYOND[k].by_log_scale(*range, scale)[0];
            }
            found.log_shares[k] += peak;
            found.scales[k] = LogScale { mean: u, variance };
        }
        let total = found.normalise();
        (found, total)
    }

    /// `Σ_i w_i·E log p(y_i | t_i)` with the noise averaged over in each row.
    fn expected(&self, Errors { squares, ranges }: &Errors) -> f64 {
        let (components, likely) = self.components(KNOWN_FACTOR);
        let average = |of: &dyn Fn(f64, usize) -> f64| {
            log_sum_exp(components[..likely].iter().map(|(share, scale, k)| share.ln() + of(*scale, *k)))
        };
        let density = |square: f64| average(&|scale, k| TAILS[k].log_density(square, scale));
        let probability = |range| average(&|scale, k| BEYOND[k].by_log_scale(range, scale)[0]);
        squares.iter().map(|(square, weight)| weight * density(*square)).sum::<f64>()
            + ranges.iter().map(|(range, weight)| weight * probability(*range)).sum::<f64>()
    }

    /// The noise [fitted](Self::fitted) to rows with their weights, and by how much its mass exceeds the density expected at `self`, in nats.
    ///
    /// # Errors
    /// The first error of a row; what [`check`](Self::check) finds.
    pub(in crate::online) fn fitted_to(
        &self,
        rows: impl Iterator<Item = Result<(Away, f64), Error>>,
    ) -> Result<(Self, f64), Error> {
        let rows = rows.collect::<Result<Vec<_>, Error>>()?;
        let errors = Errors::of(&rows);
        let (found, total) = self.fitted(&rows, &errors);
        found.check()?;
        Ok((found, total - self.expected(&errors)))
    }

    /// Multiplies the scales by `exp(log_factor)`, as far as their range goes.
    pub(in crate::online) fn in_units(&mut self, log_factor: f64) {
        for own in &mut self.scales {
            own.mean = (own.mean + log_factor).clamp(-FARTHEST, FARTHEST);
        }
    }

    /// Shares and scales return towards the prior: what rows have told loses the factor `lambda`.
    pub(in crate::online) fn forget(&mut self, lambda: f64) {
        let before = Self::before();
        let faded = |own: f64, before: f64| lambda * own + (1.0 - lambda) * before;
        for k in 0..K {
            self.log_shares[k] = faded(self.log_shares[k], before.log_shares[k]);
            let (own, prior) = (self.scales[k].natural(), before.scales[k].natural());
            self.scales[k] = LogScale::from_natural((faded(own.0, prior.0), faded(own.1, prior.1)));
        }
        self.normalise();
    }

    /// The prior times what each shard has gained over it, and the log of that product's mass.
    pub(in crate::online) fn merged(states: &[&Self]) -> (f64, Self) {
        let mut merged = Self::before();
        for k in 0..K {
            let (share, before) = (merged.log_shares[k], BEFORE.natural());
            let mut sum = before;
            for state in states {
                let own = state.scales[k].natural();
                sum = (sum.0 + own.0 - before.0, sum.1 + own.1 - before.1);
                merged.log_shares[k] +=
                    state.log_shares[k] - share - (LogScale::log_mass(own) - LogScale::log_mass(before));
            }
            merged.log_shares[k] += LogScale::log_mass(sum) - LogScale::log_mass(before);
            merged.scales[k] = LogScale::from_natural(sum);
        }
        let total = merged.normalise();
        (total, merged)
    }

    /// Draws of neither weights nor predictors need the noise; a person wants to see it: the expected `1/k`, and the expected `log s`.
    pub(in crate::online) fn told(&self) -> (f64, f64) {
        let shares = self.log_shares.iter().map(|share| share.exp());
        let inverse = shares.clone().zip(DOF).map(|(share, dof)| share / dof).sum();
        (inverse, shares.zip(&self.scales).map(|(share, scale)| share * scale.mean).sum())
    }
}

/// The errors of rows that were fitted together, at nodes of their predictors, with weights.
#[derive(Debug)]
struct Errors {
    /// Squares of errors, as [`few`] points. The log density of an error `e` has the fourth derivative `3(k+1)/(ks²+e²)⁴` by `e²`, at most: a cell is as
    /// wide as a share of `e² + s²`, for scales `s` down to the smallest tenth of the errors.
    squares: Vec<(f64, f64)>,
    /// Errors that are known to lie in a range: `(r, reach)`.
    ranges: Vec<((f64, f64), f64)>,
}

impl Errors {
    fn of(rows: &[(Away, f64)]) -> Self {
        let nodes = |(own, weight): &(Away, f64)| {
            let Away { r, reach, nu } = *own;
            FIVE.map(|(z, share)| ((r + nu.sqrt() * z, reach), weight * share))
        };
        let (ranges, numbers): (Vec<_>, Vec<_>) =
            rows.iter().flat_map(nodes).partition(|((_, reach), _)| *reach != 0.0);
        let all: Vec<(f64, f64)> = numbers.into_iter().map(|((r, _), weight)| (r * r, weight)).collect();
        let mut sizes: Vec<f64> = all.iter().map(|(square, _)| *square).collect();
        let tenth = sizes.len() / 10;
        let least = if sizes.is_empty() { 0.0 } else { *sizes.select_nth_unstable_by(tenth, f64::total_cmp).1 };
        let squares = if least > 0.0 { few(all, |square| ((least + square).ln() / CELL).floor()) } else { all };
        Self { squares, ranges: few_ranges(ranges, least.sqrt()) }
    }
}

/// Ranges of the same reach as [`few`] points: cells are as wide as a share of `least + |r|`.
fn few_ranges(mut all: Vec<((f64, f64), f64)>, least: f64) -> Vec<((f64, f64), f64)> {
    if least == 0.0 {
        return all;
    }
    all.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
    let of_reach = |same: &[((f64, f64), f64)]| {
        let (reach, numbers) = (same[0].0.1, same.iter().map(|((r, _), weight)| (*r, *weight)).collect());
        let cell = |r: f64| ((r.abs() / least).ln_1p().copysign(r) / CELL).floor();
        few(numbers, cell).into_iter().map(move |(r, weight)| ((r, reach), weight))
    };
    all.chunk_by(|a, b| a.0.1 == b.0.1).flat_map(of_reach).collect()
}

/// Log of the total mass, mean and variance of points `(log mass, u)`.
pub(in crate::online) fn moments(points: &[(f64, f64)]) -> [f64; 3] {
    let total = log_sum_exp(points.iter().map(|(log, _)| *log));
    let average = |of: &dyn Fn(f64) -> f64| points.iter().map(|(log, u)| (log - total).exp() * of(*u)).sum::<f64>();
    let mean = average(&|u| u);
    [total, mean, average(&|u| (u - mean) * (u - mean))]
}

/// The state of families whose only parameter besides the weights is [`Noise`].
macro_rules! state_is_noise {
    ($family:ty) => {
        impl crate::online::engine::Stateful for $family {
            type State = Noise;

            fn initial(&self) -> Noise {
                Noise::before()
            }

            fn check_state(&self, state: &Noise) -> Result<(), Error> {
                state.check()
            }

            fn forget(&self, state: &mut Noise, lambda: f64, _spread: f64) {
                state.forget(lambda);
            }

            fn merge(&self, states: &[&Noise], spread: f64) -> (f64, Noise) {
                let (gained, merged) = Noise::merged(states);
                (gained - 0.5 * spread, merged)
            }
        }
    };
}
pub(in crate::online) use state_is_noise;

#[cfg(test)]
mod tests {
    use super::{Away, BEFORE, Errors, FIVE, KNOWN_WELL, LogScale, TAILS, moments};

    #[test]
    fn derivatives_tell_of_a_scale_what_a_fine_grid_tells() {
        let own = LogScale { mean: 0.2, variance: KNOWN_WELL };
        let mut near = 0;
        for k in 0..TAILS.len() {
            for r in [0.0, 0.4, 1.0, 2.5, 4.0, 40.0] {
                for nu in [0.0, 0.01, 1.0] {
                    let step = own.variance.sqrt() / 50.0;
                    let points: Vec<(f64, f64)> = (-400..=400)
                        .map(|i| own.mean + step * f64::from(i))
                        .map(|u| {
                            let z = (u - own.mean) / own.variance.sqrt();
                            let density = TAILS[k].told(r, nu, u.exp()).log_density;
                            (density - 0.5 * z * z + (step / (own.variance * std::f64::consts::TAU).sqrt()).ln(), u)
                        })
                        .collect();
                    let [total, mean, variance] = moments(&points);
                    let Some((log_mass, found)) = own.by_derivatives(k, (r, nu, 1.0)) else { continue };
                    near += 1;
                    // Half of the third derivative, at most some 4q for q = r²/s² ≤ 16, times v^(3/2); the steps of the tails are good to 1e-5.
                    assert!((log_mass - total).abs() < 1e-3, "{k} {r} {nu}: {log_mass} {total}");
                    assert!((found.mean - mean).abs() < 0.01 * variance.sqrt(), "{k} {r} {nu}: {found:?} {mean}");
                    assert!((found.variance / variance - 1.0).abs() < 0.01, "{k} {r} {nu}: {found:?} {variance}");
                }
            }
        }
        assert!(near > 100, "{near}");
        // Far from certain of the scale, and a label that moves it far: by nodes.
        assert!(
            own.by_derivatives(8, (40.0, 0.0, 1.0)).is_none() && BEFORE.by_derivatives(3, (0.4, 0.0, 1.0)).is_none()
        );
    }

    #[test]
    fn few_squares_tell_what_all_errors_tell_of_a_scale() {
        // Errors of deviation 1 and a tenth of deviation 30.
        let row = |i: u32| {
            let (u, size) = (f64::from(i) * 0.618_034, if i.is_multiple_of(10) { 30.0 } else { 1.0 });
            let away = Away { r: size * 1.4 * (9.0 * u).sin(), reach: 0.0, nu: 0.05 + 0.1 * u.cos().powi(2) };
            (away, f64::from(1 + i % 2))
        };
        let rows: Vec<(Away, f64)> = (0..2000).map(row).collect();
        let few = Errors::of(&rows).squares;
        assert!(few.len() < 200, "{}", few.len());
        for tail in TAILS.iter() {
            for scale in [0.3, 1.0, 10.0] {
                let of_node = |(Away { r, nu, .. }, weight): (Away, f64), (z, share): (f64, f64)| {
                    weight * share * tail.log_density((r + nu.sqrt() * z).powi(2), scale)
                };
                let exact: f64 = rows.iter().flat_map(|row| FIVE.map(|node| of_node(*row, node))).sum();
                let found: f64 = few.iter().map(|(square, weight)| weight * tail.log_density(*square, scale)).sum();
                // The bound of `few` with `3(k+1)` of 25 degrees of freedom, at scales above the smallest tenth of the errors; the weights sum to 3000.
                assert!(
                    (found - exact).abs() < 3000.0 * 78.0 * super::CELL.powi(4) / 384.0,
                    "{scale}: {found} {exact}"
                );
            }
        }
    }
}
