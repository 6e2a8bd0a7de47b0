//! The posterior of one number: a mixture of Gaussians or of Student-t distributions.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use vi_core::Projection;
use vi_core::special::{HALF_LN_2PI, normal_cdf, normal_quantile};

pub(crate) use vi_core::special::log_sum_exp;

use crate::{Interval, ModelError, Student, check};

/// The most Newton steps; a bracket that is halved 200 times has no float left inside.
const MAX_STEPS: usize = 200;

/// The distribution of one number under a posterior that averages several models: a weight, a linear predictor, a new label.
///
/// ```text
/// p(t) = Σ_k w_k·p_k(t),   p_k Gaussian or Student-t,   Σ_k w_k = 1
/// ```
///
/// ```
/// use vi_models::online::OnlineLinear;
/// let mut model = OnlineLinear::new(1)?;
/// for t in 0..60 {
///     let x = f64::from(t % 10);
///     model.update(&[x], 3.0 - 2.0 * x + 0.1 * f64::from(t % 3))?;
/// }
/// let slope = model.weight(0)?;
/// let interval = slope.interval(0.9)?;
/// assert!(interval.contains(-2.0) && interval.contains(slope.mean()));
/// assert!((slope.cdf(interval.upper) - 0.95).abs() < 1e-12);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Marginal {
    parts: Vec<(f64, Part)>,
}

/// One distribution of a mixture.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// A point mass if the deviation is 0.
    Gaussian {
        mean: f64,
        deviation: f64,
    },
    Student(Student),
}

impl Part {
    fn centre(&self) -> f64 {
        match self {
            Self::Gaussian { mean, .. } => *mean,
            Self::Student(part) => part.location(),
        }
    }

    fn variance(&self) -> f64 {
        match self {
            Self::Gaussian { deviation, .. } => deviation * deviation,
            Self::Student(part) => part.variance(),
        }
    }

    fn deviation(&self) -> f64 {
        match self {
            Self::Gaussian { deviation, .. } => *deviation,
            Self::Student(part) => part.standard_deviation(),
        }
    }

    fn log_density(&self, t: f64) -> f64 {
        match *self {
            Self::Gaussian { mean, deviation } if deviation > 0.0 => {
                let z = (t - mean) / deviation;
                -0.5 * z * z - deviation.ln() - HALF_LN_2PI
            }
            Self::Gaussian { mean, .. } if t == mean => f64::INFINITY,
            Self::Gaussian { .. } => f64::NEG_INFINITY,
            Self::Student(part) => part.log_density(t),
        }
    }

    fn cdf(&self, t: f64) -> f64 {
        match *self {
            Self::Gaussian { mean, deviation } if deviation > 0.0 => normal_cdf((t - mean) / deviation),
            Self::Gaussian { mean, .. } => f64::from(t >= mean),
            Self::Student(part) => part.cdf(t),
        }
    }

    /// `0 < p < 1`.
    fn quantile(&self, p: f64) -> Result<f64, ModelError> {
        match self {
            Self::Gaussian { mean, deviation } => Ok(mean + deviation * normal_quantile(p)),
            Self::Student(part) => part.quantile(p),
        }
    }
}

impl Marginal {
    /// The mixture of `N(mean, variance)` with weights that are positive and sum to 1.
    pub(crate) fn of_gaussians(parts: &[(f64, Projection)]) -> Self {
        let gaussian = |seen: &Projection| Part::Gaussian { mean: seen.mean, deviation: seen.variance.sqrt() };
        Self { parts: parts.iter().map(|(weight, seen)| (*weight, gaussian(seen))).collect() }
    }

    /// `(w_k, mean, variance)` of the parts that are Gaussian.
    pub(crate) fn gaussians(&self) -> impl Iterator<Item = (f64, f64, f64)> + Clone {
        self.parts.iter().filter_map(|(weight, part)| match part {
            Part::Gaussian { mean, deviation } => Some((*weight, *mean, deviation * deviation)),
            Part::Student(_) => None,
        })
    }

    /// The mixture of Student-t distributions with weights that are positive and sum to 1.
    pub(crate) fn of_students(parts: &[(f64, Student)]) -> Self {
        Self { parts: parts.iter().map(|(weight, part)| (*weight, Part::Student(*part))).collect() }
    }

    fn average(&self, of: impl Fn(&Part) -> f64) -> f64 {
        match self.parts.as_slice() {
            [(_, part)] => of(part),
            // A part of weight 0 may have an infinite variance.
            parts => parts.iter().filter(|(weight, _)| *weight > 0.0).map(|(weight, part)| weight * of(part)).sum(),
        }
    }

    /// The mean. A Student-t distribution has one only above 1 degree of freedom; below, its centre is taken.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.average(Part::centre)
    }

    /// The variance, including the spread of the parts' means: `Σ w_k(v_k + (m_k − m)²)`. Infinite if a part's is.
    #[must_use]
    pub fn variance(&self) -> f64 {
        let mean = self.mean();
        self.average(|part| part.variance() + (part.centre() - mean).powi(2))
    }

    /// The square root of the variance; it may be finite even if its square overflows.
    #[must_use]
    pub fn standard_deviation(&self) -> f64 {
        let mean = self.mean();
        let counted = || self.parts.iter().filter(|(weight, _)| *weight > 0.0);
        let unit = counted().map(|(_, part)| part.deviation().max((part.centre() - mean).abs())).fold(0.0, f64::max);
        if unit == 0.0 || !unit.is_finite() {
            return unit;
        }
        let square = |value: f64| (value / unit).powi(2);
        let of = |part: &Part| square(part.deviation()) + square(part.centre() - mean);
        unit * counted().map(|(weight, part)| weight * of(part)).sum::<f64>().sqrt()
    }

    /// The log density `log p(t)` in nats.
    #[must_use]
    pub fn log_density(&self, t: f64) -> f64 {
        log_sum_exp(self.parts.iter().map(|(weight, part)| weight.ln() + part.log_density(t)))
    }

    /// The distribution function `P(T ≤ t)`.
    #[must_use]
    pub fn cdf(&self, t: f64) -> f64 {
        self.average(|part| part.cdf(t))
    }

    /// The quantile `t` with `P(T ≤ t) = p`: for one part in closed form, for several by Newton's method between the quantiles of
    /// the parts.
    ///
    /// # Errors
    /// `Setting` unless `0 < p < 1`; `Overflow` if the quantile is not finite.
    pub fn quantile(&self, p: f64) -> Result<f64, ModelError> {
        check::probability("p", p)?;
        if let [(_, part)] = self.parts.as_slice() {
            return Ok(check::result("quantile", part.quantile(p)?)?);
        }
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (_, part) in &self.parts {
            let quantile = check::result("quantile", part.quantile(p)?)?;
            (low, high) = (low.min(quantile), high.max(quantile));
        }
        let mut t = 0.5 * low + 0.5 * high;
        for _ in 0..MAX_STEPS {
            let excess = self.cdf(t) - p;
            if excess > 0.0 {
                high = t;
            } else {
                low = t;
            }
            let newton = t - excess / self.log_density(t).exp();
            let next = if newton > low && newton < high { newton } else { 0.5 * low + 0.5 * high };
            let settled = (next - t).abs() <= 2.0 * f64::EPSILON * t.abs().max(f64::MIN_POSITIVE);
            t = next;
            if settled {
                break;
            }
        }
        Ok(t)
    }

    /// The central interval that holds `level` of the mass.
    ///
    /// # Errors
    /// `Setting` unless `0 < level < 1`.
    pub fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        check::probability("level", level)?;
        if let [(_, Part::Student(part))] = self.parts.as_slice() {
            let found = part.interval(level)?;
            check::results("bound of an interval", [found.lower, found.upper].into_iter())?;
            return Ok(found);
        }
        let tail = 0.5 * (1.0 - level);
        Ok(Interval { lower: self.quantile(tail)?, upper: self.quantile(1.0 - tail)? })
    }

    /// One draw from the distribution.
    ///
    /// # Errors
    /// As [`Student::draw`].
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<f64, ModelError> {
        let chosen = pick(self.parts.iter().map(|(weight, _)| *weight), rng);
        match self.parts[chosen].1 {
            Part::Gaussian { mean, deviation } => {
                let z: f64 = StandardNormal.sample(rng);
                Ok(mean + deviation * z)
            }
            Part::Student(part) => part.draw(rng),
        }
    }

    /// The distribution in other units, that of `origin + unit·T`, `unit > 0`.
    pub(crate) fn in_units(mut self, origin: f64, unit: f64) -> Result<Self, ModelError> {
        for (_, part) in &mut self.parts {
            *part = match *part {
                Part::Gaussian { mean, deviation } => {
                    Part::Gaussian { mean: origin + unit * mean, deviation: unit * deviation }
                }
                Part::Student(part) => {
                    let scale = (unit * part.scale()).max(f64::MIN_POSITIVE);
                    Part::Student(Student::new(origin + unit * part.location(), scale, part.dof())?)
                }
            };
        }
        Ok(self)
    }
}

/// A position drawn with these probabilities; a single one takes no random number.
pub(crate) fn pick<R: Rng + ?Sized>(weights: impl ExactSizeIterator<Item = f64> + Clone, rng: &mut R) -> usize {
    let last = weights.len().saturating_sub(1);
    if last == 0 {
        return 0;
    }
    let mut left: f64 = rng.random::<f64>() * weights.clone().sum::<f64>();
    for (k, weight) in weights.enumerate() {
        left -= weight;
        if left < 0.0 {
            return k;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn three() -> Marginal {
        let part = |mean, variance| Projection { mean, variance };
        Marginal::of_gaussians(&[(0.2, part(-1.0, 0.04)), (0.5, part(0.5, 1.0)), (0.3, part(4.0, 0.0001))])
    }

    #[test]
    fn quantiles_invert_the_distribution_function() {
        let student = |location, scale| Student::new(location, scale, 3.0).unwrap();
        let heavy = Marginal::of_students(&[(0.4, student(0.0, 1.0)), (0.6, student(1.0, 5.0))]);
        for marginal in [three(), heavy] {
            for p in [1e-9, 0.05, 0.2, 0.5, 0.7001, 0.95, 1.0 - 1e-9] {
                let t = marginal.quantile(p).unwrap();
                // Both functions are good to some 64 ε, and t to 2 ε of its size, which the density multiplies.
                let slope = marginal.log_density(t).exp() * t.abs();
                assert!((marginal.cdf(t) - p).abs() <= 64.0 * f64::EPSILON * (1.0 + slope), "{p}: {t}");
            }
        }
        assert!(three().quantile(0.0).is_err() && three().interval(1.0).is_err());
    }

    #[test]
    fn moments_are_those_of_draws_and_the_density_that_of_the_distribution_function() {
        let (marginal, mut rng) = (three(), ChaCha8Rng::seed_from_u64(3));
        let n = 40_000;
        let draws: Vec<f64> = (0..n).map(|_| marginal.draw(&mut rng).unwrap()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        // 6 standard errors.
        assert!((mean - marginal.mean()).abs() < 6.0 * marginal.standard_deviation() / f64::from(n).sqrt());
        assert!((marginal.mean() - (-0.2 + 0.25 + 1.2)).abs() < 4.0 * f64::EPSILON);
        // A central difference of step h: an error of h²/6 times the third derivative, below 1/0.01² here, and rounding ε/h.
        let h = 1e-5;
        for t in [-1.1, 0.0, 0.7] {
            let slope = (marginal.cdf(t + h) - marginal.cdf(t - h)) / (2.0 * h);
            assert!((slope - marginal.log_density(t).exp()).abs() < 1e4 * h * h + f64::EPSILON / h, "{t}");
        }
    }

    #[test]
    fn a_point_is_a_distribution_too() {
        let point = Marginal::of_gaussians(&[(1.0, Projection { mean: 2.0, variance: 0.0 })]);
        assert_eq!((point.cdf(1.9), point.cdf(2.0), point.quantile(0.3).unwrap()), (0.0, 1.0, 2.0));
        assert_eq!(log_sum_exp(std::iter::empty()), f64::NEG_INFINITY);
    }
}
