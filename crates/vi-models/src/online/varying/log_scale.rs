//! The log scale of a row's noise as a predictor.
//!
//! A label that is `r` from a predictor of variance `ν` says of the log scale `t ~ N(a, v)`
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

use crate::marginal::log_sum_exp;
use crate::online::BeliefKind;
use crate::online::engine::{Pass, ScalarFamily, Stateful};
use crate::online::observation::{Observation, Size};
use crate::online::robust::noise::Noise;
use crate::online::spread::FIVE;
use crate::online::target::Target;
use crate::student::blurred::{DOF, TAILS};
use crate::{ModelError, check};

/// The largest `|t|`: the spread of one row is at most `e⁸` times that of another, beside the noise's own scale.
pub(super) const FARTHEST: f64 = 8.0;

/// The variance of `t` up to which the rule of Gauss and Hermite serves, and the equal steps beyond, in units of `t` and of its deviation: `p(r | t)` is as
/// wide as a Gaussian of deviation 0.7, of which the trapezoidal rule is off by `exp(−2π²(0.7/0.45)²)`.
const NARROW: f64 = 0.1;
const STEPS: [f64; 2] = [0.45, 0.6];
/// How many deviations of `t` these go in either direction.
const AS_FAR: f64 = 5.5;
/// The most steps in one direction.
const MOST_STEPS: f64 = 200.0;

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
        let deviation = v.sqrt();
        // `(log p, z)` with the log mass of `z = (t − a)/√v` in it.
        let at = |z: f64, log_mass: f64| (log_mass + self.log_density(r, a + deviation * z), z);
        let points: Vec<(f64, f64)> = if v < NARROW {
            FIVE.iter().map(|(z, mass)| at(*z, mass.ln())).collect()
        } else {
            let step = STEPS[1].min(STEPS[0] / deviation);
            let most = (AS_FAR / step).ceil().min(MOST_STEPS);
            let nodes = (0..).map(|i| f64::from(i) - most).take_while(|i| *i <= most).map(|i| i * step);
            nodes.map(|z| at(z, step.ln() - 0.5 * z * z - HALF_LN_2PI)).collect()
        };
        let log_normaliser = log_sum_exp(points.iter().map(|(log, _)| *log));
        let average =
            |of: &dyn Fn(f64) -> f64| points.iter().map(|(log, z)| (log - log_normaliser).exp() * of(*z)).sum::<f64>();
        let mean = average(&|z| z);
        let left = average(&|z| (z - mean) * (z - mean));
        let (slope, curvature, variance) = (mean / deviation, (1.0 - left) / (left * v), v * left);
        match [log_normaliser, slope, curvature, variance].into_iter().find(|value| !value.is_finite()) {
            Some(value) => Err(Error::Overflow { quantity: "squared error of the label", value }),
            None => Ok(Tilted { log_normaliser, slope, curvature, variance }),
        }
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
fn standard(observed: &Observation, seen: Projection) -> Result<(f64, f64), Error> {
    let factor = seen.mean.clamp(-FARTHEST, FARTHEST).exp();
    Ok((observed.label / factor, observed.size(Size::Given)? / (factor * factor)))
}

impl Stateful for LogScale {
    type State = Noise;

    fn initial(&self) -> Noise {
        Noise::before()
    }

    fn check_state(&self, state: &Noise) -> Result<(), Error> {
        state.check()
    }

    fn forget(&self, state: &mut Noise, lambda: f64) {
        state.forget(lambda);
    }

    fn merge(&self, states: &[&Noise], spread: f64) -> (f64, Noise) {
        let (gained, merged) = Noise::merged(states);
        (gained - 0.5 * spread, merged)
    }
}

impl ScalarFamily for LogScale {
    type Likelihood = Told;

    const SIZE: Size = Size::Given;

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
            let (r, nu) = standard(observed, seen)?;
            state.learn(r, nu, observed.weight)?;
        }
        Ok(0.0)
    }

    fn fit_state(&self, at: &Noise, observed: &[Observation], seen: &[Projection]) -> Result<(Noise, f64), Error> {
        let rows = observed.iter().zip(seen).map(|(own, seen)| {
            let (r, nu) = standard(own, *seen)?;
            Ok((r, nu, own.weight))
        });
        let rows = rows.collect::<Result<Vec<_>, Error>>()?;
        let (state, total) = at.fitted(&rows);
        self.check_state(&state)?;
        Ok((state, total - at.expected(&rows)))
    }
}
