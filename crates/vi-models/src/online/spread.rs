//! Counts whose variance beyond a Poisson's is learned too.
//!
//! The size `r` of a negative binomial is believed to be `u = log r ~ N(m, v)`, apart from the weights. A row whose predictor now
//! has the posterior `t | y ~ N(a, ν)`, at the size `r̂ = eᵐ`, has the likelihood
//!
//! ```text
//! p(y | u) / p(y | log r̂) = E_{t|y}[ NB(y | t, eᵘ) / NB(y | t, r̂) ],
//! ```
//!
//! and `N(m, v)` becomes the Gaussian with the moments of `N(m, v)·p(y | u)` (assumed density filtering), both integrals by the rule of
//! Gauss and Hermite. Predictions average over three sizes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vi_core::special::{HALF_LN_2PI, gauss_hermite};
use vi_core::{Error, Likelihood, Mixture8, Projection, Site};

use super::engine::{Pass, ScalarFamily, Stateful, row_likelihood};
use super::family::GlmFamily;
use super::observation::{Observation, Size};
use super::summed::few;
use crate::likelihood::NegativeBinomial;
use crate::marginal::log_sum_exp;

/// The prior of `log r`: sizes mostly between 0.1 and 200.
const BEFORE: SizeBelief = SizeBelief { mean: 1.5, variance: 4.0 };

/// The value of `|log r|` beyond which a size makes no further difference.
const FARTHEST: f64 = 16.0;

/// `(node, weight)` of the Gauss-Hermite rule for `N(0, 1)`: for `u`, for a row's predictor, and for the sizes that predictions
/// average over.
pub(super) const FIVE: [(f64, f64); 5] = [
    (-2.856_970_013_872_806, 0.011_257_411_327_720_69),
    (-1.355_626_179_974_266, 0.222_075_922_005_612_6),
    (0.0, 8.0 / 15.0),
    (1.355_626_179_974_266, 0.222_075_922_005_612_6),
    (2.856_970_013_872_806, 0.011_257_411_327_720_69),
];
pub(super) const THREE: [(f64, f64); 3] =
    [(-1.732_050_807_568_877_2, 1.0 / 6.0), (0.0, 2.0 / 3.0), (1.732_050_807_568_877_2, 1.0 / 6.0)];

/// The values of `u` that the first rows are evaluated at, in deviations of the posterior as it is thought to be. Sums over points `.8` deviations apart
/// are integrals of a Gaussian to 1e-13, and to 1e-4 where it is narrower by [`FITS`]`.0`.
const LOOKS: [f64; 11] = [-4.0, -3.2, -2.4, -1.6, -0.8, 0.0, 0.8, 1.6, 2.4, 3.2, 4.0];

/// The limits of a deviation as a share of the expected one, and of the number of searches.
const FITS: (f64, f64) = (0.56, 1.3);
const MOST_SEARCHES: usize = 8;

/// The width of a cell of predictors in which the rows of a label are taken together.
const CELL: f64 = 0.25;

/// Counts with mean `m = exposure·eᵗ` and variance `m + m²/size`, the size learned with the weights, so that no number has to be
/// given.
///
/// The size has the prior `log size ~ N(1.5, 2²)`. See [`OnlineGlm::log_size`](super::OnlineGlm::log_size). A row costs some four
/// times what it does when the size is given, as in [`SpreadCounts`](super::family::SpreadCounts).
///
/// ```
/// use vi_models::online::{Observation, OnlineGlm, family::LearnedSpread};
/// let mut visits = OnlineGlm::new(1, LearnedSpread)?;
/// for t in 0..200 {
///     let count = [0.0, 9.0, 1.0, 4.0, 0.0][t % 5];
///     visits.update(&[t as f64 % 3.0], count)?;
/// }
/// // Mean 2.8 and variance 11.8: a size near 2.8²/(11.8 − 2.8) = 0.9.
/// let size = visits.log_size().mean().exp();
/// assert!(0.4 < size && size < 1.8, "{size}");
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LearnedSpread;

/// The posterior of the size, `log r ~ N(mean, variance)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeBelief {
    pub(super) mean: f64,
    pub(super) variance: f64,
}

impl SizeBelief {
    fn at(u: f64) -> Self {
        Self { mean: u, variance: 0.0 }
    }

    /// The posterior of `log r` as a projection.
    pub(super) fn projection(self) -> Projection {
        Projection { mean: self.mean, variance: self.variance }
    }

    fn size(self) -> f64 {
        self.mean.clamp(-FARTHEST, FARTHEST).exp()
    }

    /// `(weight, u)`, the weights summing to 1.
    fn nodes<const K: usize>(self, rule: [(f64, f64); K]) -> impl Iterator<Item = (f64, f64)> {
        let deviation = self.variance.sqrt();
        rule.into_iter().map(move |(z, weight)| (weight, self.mean + deviation * z))
    }

    /// The Gaussian with the moments of the points `(log mass, u)`, no wider than the prior, and the log of the total mass.
    fn of(masses: &[(f64, f64)]) -> (Self, f64) {
        let total = log_sum_exp(masses.iter().map(|(log, _)| *log));
        let share = |log: f64| (log - total).exp();
        let mean: f64 = masses.iter().map(|(log, u)| share(*log) * u).sum();
        let variance: f64 = masses.iter().map(|(log, u)| share(*log) * (u - mean) * (u - mean)).sum();
        (Self { mean, variance: variance.min(BEFORE.variance) }, total)
    }

    /// The precision, and the precision times the mean.
    fn natural(self) -> (f64, f64) {
        (self.variance.recip(), self.mean / self.variance)
    }

    fn from_natural((precision, product): (f64, f64)) -> Self {
        let precision = precision.max(BEFORE.variance.recip());
        Self { mean: product / precision, variance: precision.recip() }
    }
}

impl Stateful for LearnedSpread {
    type State = SizeBelief;

    fn initial(&self) -> SizeBelief {
        BEFORE
    }

    fn check_state(&self, state: &SizeBelief) -> Result<(), Error> {
        let SizeBelief { mean, variance } = *state;
        if !mean.is_finite() {
            return Err(Error::Setting { name: "mean of the log size", value: mean, requirement: "finite" });
        }
        if !(variance > 0.0 && variance <= BEFORE.variance) {
            let requirement = "positive, and at most the prior's";
            return Err(Error::Setting { name: "variance of the log size", value: variance, requirement });
        }
        Ok(())
    }

    /// The precision and its product with the mean return towards those of the prior.
    fn forget(&self, state: &mut SizeBelief, lambda: f64, _spread: f64) {
        let (own, before) = (state.natural(), BEFORE.natural());
        let faded = |own: f64, before: f64| lambda * own + (1.0 - lambda) * before;
        *state = SizeBelief::from_natural((faded(own.0, before.0), faded(own.1, before.1)));
    }

    /// The prior times what each shard has gained over it; the log evidence gains the log of that product's integral.
    fn merge(&self, states: &[&SizeBelief], spread: f64) -> (f64, SizeBelief) {
        // Of exp(ηu − ½λu²), given as (λ, η).
        let mass = |(precision, first): (f64, f64)| 0.5 * (first * first / precision - precision.ln());
        let before = BEFORE.natural();
        let (mut merged, mut gained) = (before, -0.5 * spread);
        for state in states {
            let own = state.natural();
            merged = (merged.0 + own.0 - before.0, merged.1 + own.1 - before.1);
            gained -= mass(own) - mass(before);
        }
        (gained + mass(merged) - mass(before), SizeBelief::from_natural(merged))
    }
}

impl ScalarFamily for LearnedSpread {
    type Likelihood = NegativeBinomial<Mixture8>;

    const SIZE: Size = Size::Exposure;

    const PASS: Pass = Pass::ByRows { rounds: 3 };

    fn likelihood(&self, state: &SizeBelief, size: f64) -> Result<Self::Likelihood, Error> {
        NegativeBinomial::new(state.size())?.with_exposure(size)
    }

    fn likelihoods(&self, state: &SizeBelief, size: f64) -> Result<Vec<(f64, Self::Likelihood)>, Error> {
        state.nodes(THREE).map(|(weight, u)| Ok((weight, self.likelihood(&SizeBelief::at(u), size)?))).collect()
    }

    /// One row of assumed density filtering; the predictive density at `r̂` is multiplied by `E_u[p(y|u)]/p(y|log r̂)`.
    fn learn(
        &self,
        state: &mut SizeBelief,
        observed: &Observation,
        seen: Projection,
        site: Site,
    ) -> Result<f64, Error> {
        if observed.weight == 0.0 {
            return Ok(0.0);
        }
        let ratio = log_ratio(&row_likelihood(self, state, observed)?, observed.label, seen, site);
        let mut masses = Vec::with_capacity(FIVE.len());
        for (weight, u) in state.nodes(FIVE) {
            masses.push((weight.ln() + ratio(&row_likelihood(self, &SizeBelief::at(u), observed)?), u));
        }
        let (SizeBelief { mean, variance }, gained) = SizeBelief::of(&masses);
        // A far outlier leaves one of the nodes, which lie 1.4 deviations apart and tell no deviation below a quarter of the one before.
        let learned = SizeBelief { mean, variance: variance.max(state.variance / 16.0) };
        self.check_state(&learned)?;
        *state = learned;
        Ok(gained)
    }

    /// The moments of `p(u)·Π_i exp E_q log p(y_i|t_i, u)` by sums over points: coordinate ascent in the bound.
    fn fit_state(
        &self,
        at: &SizeBelief,
        observed: &[Observation],
        seen: &[Projection],
        _has_level: bool,
    ) -> Result<(SizeBelief, f64), Error> {
        let points = counts(observed, seen)?;
        let rows = |u: f64| -> Result<f64, Error> {
            let of_size = self.likelihood(&SizeBelief::at(u), 1.0)?;
            Ok(points.iter().map(|(label, t, weight)| weight * of_size.log_density(*label, *t)).sum())
        };
        let log_prior =
            |u: f64| -0.5 * (u - BEFORE.mean).powi(2) / BEFORE.variance - 0.5 * BEFORE.variance.ln() - HALF_LN_2PI;
        let (mut centre, mut width) = (at.mean, at.variance.sqrt());
        let mut masses = Vec::with_capacity(LOOKS.len());
        for _ in 0..MOST_SEARCHES {
            masses.clear();
            for z in LOOKS {
                let u = centre + width * z;
                masses.push((rows(u)? + log_prior(u) + (0.8 * width).ln(), u));
            }
            let (found, _) = SizeBelief::of(&masses);
            let (moved, deviation) = ((found.mean - centre).abs(), found.variance.sqrt());
            if moved < width && (FITS.0 * width..FITS.1 * width).contains(&deviation) {
                break;
            }
            // Points that are far apart only show where the posterior is.
            (centre, width) =
                (found.mean, if moved > 2.0 * width { 2.0 * width } else { deviation.clamp(width / 8.0, 2.0 * width) });
        }
        let (state, total) = SizeBelief::of(&masses);
        self.check_state(&state)?;
        Ok((state, total - rows(at.mean)?))
    }
}

impl GlmFamily for LearnedSpread {}

/// Points `(label, t, weight)` whose sums are those of the rows' expectations over predictors `t ~ N(a, ν)`, `seen` so: to 1e-5 a row for a softplus, and within
/// the bound of [`few`] for a log density with fourth derivatives of some units (of a negative binomial at most `(y + r)/8`). Offset and exposure are in `t`.
///
/// # Errors
/// An exposure that is not positive and finite.
pub(super) fn counts(observed: &[Observation], seen: &[Projection]) -> Result<Vec<(f64, f64, f64)>, Error> {
    let nine = gauss_hermite(9);
    let mut by_label: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
    for (observed, seen) in observed.iter().zip(seen) {
        let centre = seen.mean + observed.offset + observed.size(Size::Exposure)?.ln();
        let deviation = seen.variance.sqrt();
        // By three nodes the expectation of a softplus is off by 1.4e-6 there, by five by 1e-5, and by nine by 3e-7 at a deviation of 1.
        let rule: &[(f64, f64)] = match deviation {
            narrow if narrow < 0.3 => &THREE,
            middling if middling < 0.75 => &FIVE,
            _ => &nine,
        };
        let points = by_label.entry(observed.label.to_bits()).or_default();
        points.extend(rule.iter().map(|(z, share)| (centre + deviation * z, observed.weight * share)));
    }
    let cells = |(label, points)| {
        let few = few(points, |t| (t / CELL).floor());
        few.into_iter().map(move |(t, weight)| (f64::from_bits(label), t, weight))
    };
    Ok(by_label.into_iter().flat_map(cells).collect())
}

/// `log E_{t|y}[p(y|t, other)/p(y|t, own)]` as a function of the other likelihood, `t | y` being the posterior of the predictor that was `seen` before a row
/// with this site, by three points.
pub(super) fn log_ratio<L: Likelihood>(own: &L, y: f64, seen: Projection, site: Site) -> impl Fn(&L) -> f64 + use<L> {
    let left = 1.0 + site.curvature * seen.variance;
    let after =
        Projection { mean: seen.mean + seen.variance * site.gain(seen.variance), variance: seen.variance / left };
    let deviation = after.variance.sqrt();
    let predictors = THREE.map(|(z, weight)| {
        let t = after.mean + deviation * z;
        (weight.ln() - own.log_density(y, t), t)
    });
    move |other| log_sum_exp(predictors.iter().map(|(log, t)| log + other.log_density(y, *t)))
}

#[cfg(test)]
mod tests {
    use vi_core::{GaussianExpectation, Likelihood, Projection};

    use super::{CELL, FIVE, THREE, counts};
    use crate::likelihood::NegativeBinomial;
    use crate::online::observation::{Observation, Size};

    #[test]
    fn few_points_tell_what_all_rows_tell_of_a_size() {
        let row = |i: u32| {
            let u = f64::from(i) * 0.618_034;
            let observed = Observation::new(f64::from(i % 7)).weight(f64::from(i % 3)).exposure(0.5 + u.fract());
            let seen = Projection { mean: 3.0 * (7.0 * u).sin(), variance: 0.04 + 0.9 * (5.0 * u).cos().powi(2) };
            (observed.offset(0.3 * u.cos()), seen)
        };
        let (observed, seen): (Vec<_>, Vec<_>) = (0..3000).map(row).unzip();
        let points = counts(&observed, &seen).unwrap();
        assert!(points.len() < 1000, "{}", points.len());
        for size in [0.2, 3.0, 1e4] {
            let own = NegativeBinomial::new(size).unwrap();
            let of_row = |(observed, seen): (&Observation, &Projection)| {
                let exposed = own.with_exposure(observed.size(Size::Exposure).unwrap()).unwrap();
                let at = seen.mean + observed.offset;
                observed.weight * exposed.expected_log_density(observed.label, at, seen.variance)
            };
            let exact: f64 = observed.iter().zip(&seen).map(of_row).sum();
            let found: f64 = points.iter().map(|(y, t, weight)| weight * own.log_density(*y, *t)).sum();
            // The weights sum to 3000. The bound of `few` with the fourth derivative `(y + r)/8`, below that of means of e⁴, and 1e-5 a row by the nodes.
            let within = 3000.0 * (55.0 * CELL.powi(4) / 384.0 / 8.0 + 1e-5);
            assert!((found - exact).abs() < within, "{size}: {found} for {exact}");
        }
    }

    #[test]
    fn rules_are_those_of_gauss_and_hermite() {
        fn agrees<const K: usize>(rule: [(f64, f64); K]) {
            let mut expected = vi_core::special::gauss_hermite(K);
            expected.sort_by(|a, b| a.0.total_cmp(&b.0));
            for ((z, weight), (node, of)) in rule.into_iter().zip(expected) {
                // Rounding of the eigenvalues.
                assert!((z - node).abs() < 1e-14 && (weight - of).abs() < 1e-14, "{z} {weight}");
            }
        }
        agrees(THREE);
        agrees(FIVE);
    }
}
