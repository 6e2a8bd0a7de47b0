//! A linear predictor of the logarithm of the noise's scale.
//!
//! A label at the distance `r` from a predictor of variance `ν` has, given the log scale `t ~ N(a, v)`, the density
//!
//! ```text
//! p(r | t) = ∫ N(η; 0, ν)·St_k(r; η, s·eᵗ) dη,
//! ```
//!
//! with the degrees of freedom and the scale that [`Noise`] has in the mean. It has slopes in closed form; a surprising label has a negative curvature and widens the belief.

use serde::{Deserialize, Serialize};
use vi_core::quadrature::{self, Quadrature};
use vi_core::special::HALF_LN_2PI;
use vi_core::{Error, Expected, GaussianExpectation, Likelihood, Projection, Site, Tilted};

use crate::online::BeliefKind;
use crate::online::engine::{Pass, ScalarFamily};
use crate::online::observation::{Observation, Size};
use crate::online::robust::noise::{Away, Noise, moments, state_is_noise};
use crate::online::spread::FIVE;
use crate::online::target::Target;
use crate::student::blurred::{DOF, TAILS};
use crate::{ModelError, check};

/// The largest `|t|`: the spread of one row is at most `e⁸` times that of another, beside the noise's own scale.
pub(super) const FARTHEST: f64 = 8.0;

/// The variance of `t` up to which the rule of Gauss and Hermite serves, as long as the tilted mean stays within a deviation; an outlier would leave
/// it one node.
const NARROW: f64 = 0.1;
const NEAR: f64 = 1.0;
/// The largest of the equal steps `h` of the rule that serves otherwise, in units of `t` and of the tilted deviation: the trapezoidal rule is off by
/// `exp(−π²/(2h))` of `p(r | t)` and by `exp(−2π²/h²)` of a Gaussian.
const STEPS: [f64; 2] = [0.5, 0.9];
/// The steps end that many nats below the mode, that many deviations of `t` from it, and after that many.
const AS_LOW: f64 = 18.0;
const AS_FAR: f64 = 8.0;
const MOST_STEPS: u32 = 200;
/// The search for the mode ends with a step of this share of the deviation of `t`, or after so many looks.
const SETTLED: f64 = 0.01;
const MOST_LOOKS: usize = 40;

/// `p(r | t)`.
#[derive(Debug, Clone)]
pub(in crate::online) struct Told {
    scale: f64,
    tail: usize,
    nu: f64,
}

impl Told {
    fn scale_at(&self, t: f64) -> f64 {
        self.scale * t.clamp(-FARTHEST, FARTHEST).exp()
    }
}

impl Likelihood for Told {
    fn family(&self) -> &'static str {
        "distance of a number from its expectation"
    }

    fn supports(&self, label: f64) -> bool {
        label.is_finite()
    }

    fn is_log_concave(&self) -> bool {
        false
    }

    fn log_density(&self, r: f64, t: f64) -> f64 {
        TAILS[self.tail].told(r, self.nu, self.scale_at(t)).log_density
    }

    fn slope(&self, r: f64, t: f64) -> f64 {
        self.derivatives(r, t)[1]
    }

    fn curvature(&self, r: f64, t: f64) -> f64 {
        self.derivatives(r, t)[2]
    }

    fn derivatives(&self, r: f64, t: f64) -> [f64; 3] {
        let [log_density, slope, bend] = TAILS[self.tail].by_log_scale(r, self.nu, self.scale_at(t));
        if t.abs() > FARTHEST { [log_density, 0.0, 0.0] } else { [log_density, slope, bend] }
    }

    /// `2k/(k+3)`, where the predictor is known.
    fn fisher_information(&self, _t: f64) -> f64 {
        let k = DOF[self.tail];
        if k.is_finite() { 2.0 * k / (k + 3.0) } else { 2.0 }
    }
}

impl GaussianExpectation for Told {
    fn expected(&self, r: f64, a: f64, v: f64) -> Expected {
        Quadrature(self).expected(r, a, v)
    }

    fn log_predictive(&self, r: f64, a: f64, v: f64) -> f64 {
        match self.tilted(r, a, v) {
            Ok(tilted) => tilted.log_normaliser,
            Err(_) => Quadrature(self).log_predictive(r, a, v),
        }
    }

    fn tilted(&self, r: f64, a: f64, v: f64) -> Result<Tilted, Error> {
        if !(v > 0.0 && a.is_finite() && v.is_finite()) {
            return quadrature::tilted(self, r, a, v);
        }
        let narrow = (v < NARROW).then(|| self.at_nodes(r, a, v)).filter(|[_, mean, _]| mean.abs() < NEAR);
        let [log_normaliser, mean, left] = narrow.unwrap_or_else(|| self.by_steps(r, a, v));
        let (slope, curvature, variance) = (mean / v.sqrt(), (1.0 - left) / (left * v), v * left);
        match [log_normaliser, slope, curvature, variance].into_iter().find(|value| !value.is_finite()) {
            Some(value) => Err(Error::Overflow { quantity: "squared error of the label", value }),
            None => Ok(Tilted { log_normaliser, slope, curvature, variance }),
        }
    }
}

impl Told {
    /// Log normaliser, mean and variance of `z = (t − a)/√v` by the rule of Gauss and Hermite.
    fn at_nodes(&self, r: f64, a: f64, v: f64) -> [f64; 3] {
        let deviation = v.sqrt();
        moments(&FIVE.map(|(z, mass)| (mass.ln() + self.log_density(r, a + deviation * z), z)))
    }

    /// A mode of the tilted density, and `−∂_t² log p(r | t)` there: Newton's steps, and halvings of the interval that holds it where they leave it.
    fn mode(&self, r: f64, a: f64, v: f64) -> (f64, f64) {
        let (mut from, mut to, mut t) = (a.min(-FARTHEST), a.max(FARTHEST), a);
        for _ in 0..MOST_LOOKS {
            let [_, slope, bend] = self.derivatives(r, t);
            let (slope, bend) = (slope - (t - a) / v, bend + v.recip());
            (from, to) = if slope > 0.0 { (t, to) } else { (from, t) };
            let step = t + slope / bend;
            let next = if bend > 0.0 && from < step && step < to { step } else { 0.5 * (from + to) };
            if (next - t).abs() <= SETTLED * v.sqrt() {
                return (t, bend - v.recip());
            }
            t = next;
        }
        (t, self.curvature(r, t))
    }

    /// The same by equal steps about the mode, as wide as the density is there.
    fn by_steps(&self, r: f64, a: f64, v: f64) -> [f64; 3] {
        let deviation = v.sqrt();
        let (mode, curvature) = self.mode(r, a, v);
        let narrower = (1.0 + v * curvature).max(1.0).sqrt().recip();
        let step = (STEPS[1] * narrower).min(STEPS[0] / deviation);
        let centre = (mode - a) / deviation;
        let log = |z: f64| step.ln() - 0.5 * z * z - HALF_LN_2PI + self.log_density(r, a + deviation * z);
        let mut points = vec![(log(centre), centre)];
        let least = points[0].0 - AS_LOW;
        for way in [-step, step] {
            let places = (1..=MOST_STEPS).map(|i| centre + way * f64::from(i));
            let near = places.take_while(|z| (z - centre).abs() <= AS_FAR);
            points.extend(near.map(|z| (log(z), z)).take_while(|(log, _)| *log > least));
        }
        moments(&points)
    }
}

/// The family of the distances `r` of labels from their expectations, whose variance comes with each row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::online) struct LogScale {
    /// The unit of the distances where no first rows tell it.
    pub(super) unit: f64,
}

/// The distance and the variance in units in which the scale has no factor `eᵃ`.
fn standard(observed: &Observation, seen: Projection) -> Result<Away, Error> {
    let factor = seen.mean.clamp(-FARTHEST, FARTHEST).exp();
    let nu = observed.size(Size::Variance)? / (factor * factor);
    Ok(Away { r: observed.label / factor, reach: 0.0, nu })
}

state_is_noise!(LogScale);

impl ScalarFamily for LogScale {
    type Likelihood = Told;

    const SIZE: Size = Size::Variance;

    const STANDARDISES_LABELS: bool = true;

    const PASS: Pass = Pass::ByRows { rounds: 3 };

    fn label_target(&self) -> Target {
        Target { scale: self.unit, ..Target::default() }
    }

    fn label_target_of(&self, observed: &[&Observation], _centred: bool) -> Result<Target, Error> {
        Target::default().of_quartiles(observed.iter().copied(), false)
    }

    fn check(&self) -> Result<(), Error> {
        check::positive("unit of the distances", self.unit)
    }

    fn check_belief(&self, belief: BeliefKind) -> Result<(), ModelError> {
        match belief {
            BeliefKind::Full => Ok(()),
            _ => Err(ModelError::Unsupported {
                what: "spread that follows the inputs with a belief that is no full covariance",
            }),
        }
    }

    /// `size` is the variance of the row's expectation.
    fn likelihood(&self, state: &Noise, size: f64) -> Result<Told, Error> {
        if !(size.is_finite() && size >= 0.0) {
            return Err(Error::NegativeVariance { value: size });
        }
        let (scale, tail) = state.typical();
        Ok(Told { scale, tail, nu: size })
    }

    fn learn(&self, state: &mut Noise, observed: &Observation, seen: Projection, _site: Site) -> Result<f64, Error> {
        if observed.weight > 0.0 {
            state.learn(standard(observed, seen)?, observed.weight)?;
        }
        Ok(0.0)
    }

    fn fit_state(
        &self,
        at: &Noise,
        observed: &[Observation],
        seen: &[Projection],
        _has_level: bool,
    ) -> Result<(Noise, f64), Error> {
        at.fitted_to(observed.iter().zip(seen).map(|(own, seen)| Ok((standard(own, *seen)?, own.weight))))
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Log normaliser, mean and variance by a fine grid.
    fn by_grid(told: &Told, (r, a, v): (f64, f64, f64), steps: i32) -> [f64; 3] {
        let (low, high) = (a.min(-FARTHEST) - 10.0 * v.sqrt(), a.max(FARTHEST) + 10.0 * v.sqrt());
        let step = (high - low) / f64::from(steps);
        let log =
            |t: f64| step.ln() - 0.5 * (t - a) * (t - a) / v - 0.5 * v.ln() - HALF_LN_2PI + told.log_density(r, t);
        moments(&(0..=steps).map(|i| low + step * f64::from(i)).map(|t| (log(t), t)).collect::<Vec<_>>())
    }

    #[test]
    fn equal_steps_are_good_to_a_thousandth() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut log_uniform = |low: f64, high: f64| rng.random_range(low..high).exp();
        for (tail, case) in (0..DOF.len()).cycle().zip(0..300) {
            let (v, r) = (log_uniform(-4.0, 3.0), log_uniform(-4.0, 4.0));
            let (nu, a) = (log_uniform(-4.0, 2.0) * f64::from(case % 2), log_uniform(-1.0, 1.0).ln() * 2.0);
            let told = Told { scale: 1.0, tail, nu };
            let [total, mean, variance] = by_grid(&told, (r, a, v), 6000);
            let found = told.by_steps(r, a, v);
            let errors =
                [found[0] - total, (a + v.sqrt() * found[1] - mean) / variance.sqrt(), found[2] * v / variance - 1.0];
            // exp(−π²/(2·0.5)), twice for a variance, and the ends.
            assert!(errors.iter().all(|error| error.abs() < 1e-3), "{told:?} {r} {a} {v}: {errors:?}");
        }
    }

    #[test]
    fn tilted_moments_are_those_of_a_fine_grid() {
        for (tail, v, a, r, nu) in [
            (8, 0.01, 0.0, 10.0, 0.0),
            (8, 0.09, 0.0, 15.0, 0.0),
            (8, 0.11, 0.0, 40.0, 0.0),
            (8, 0.03, 0.5, 1e6, 0.0),
            (7, 0.09, 0.0, 15.0, 0.3),
            (3, 0.05, 0.2, 0.7, 0.5),
            (3, 2.0, -0.5, 3.0, 1.0),
            (0, 9.0, 0.0, 100.0, 0.1),
            (5, 25.0, 1.0, 1e-3, 0.0),
        ] {
            let told = Told { scale: 1.0, tail, nu };
            let found = told.tilted(r, a, v).unwrap();
            let [total, mean, variance] = by_grid(&told, (r, a, v), 400_000);
            // Five nodes within a deviation of the mean are good to some per cent of a deviation and of a variance; nats likewise.
            assert!(
                (found.log_normaliser - total).abs() < 0.02 * (1.0 + 1e-3 * total.abs()),
                "{tail} {v} {r}: {found:?} {total}"
            );
            assert!((a + v * found.slope - mean).abs() < 0.03 * v.sqrt(), "{tail} {v} {r}: {found:?} {mean}");
            assert!((found.variance / variance - 1.0).abs() < 0.05, "{tail} {v} {r}: {found:?} {variance}");
        }
    }
}
