//! The posterior of one number: a mixture of Gaussians, of Student-t distributions, or of their sums, or the label whose transform is such a number.

mod logistic;

use std::f64::consts::PI;

use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use vi_core::Projection;
use vi_core::special::{HALF_LN_2PI, mills_ratio, normal_cdf, normal_density, normal_quantile};

pub(crate) use vi_core::special::log_sum_exp;

use crate::student::Truncated;
use crate::student::between::told_of;
use crate::student::blurred::{DOF, TAILS, Tail};
use crate::{Interval, ModelError, Student, Transform, check};

/// How near, as a share of the tail, a quantile of sums is found; the sums themselves are good to some 10⁻⁶.
const OF_SUMS: f64 = 1e-9;

/// The probability of the quantile at which an exponential of heavy tails ends for its mean and variance.
const CAPPED: f64 = 0.97;

/// The most Newton steps; a bracket that is halved 200 times has no float left inside.
const MAX_STEPS: usize = 200;

/// The distribution of one number under a posterior that averages several models: a weight, a linear predictor, a new label.
///
/// ```text
/// p(t) = Σ_k w_k·p_k(t),   p_k Gaussian, Student-t or the sum of both,   Σ_k w_k = 1
/// ```
///
/// or that of the label `y` with `g(y) = t`, where a [`Transform`] `g` is learned. The exponential of a Student-t number has no mean: that of [`mean`](Self::mean) stands for it; quantiles and
/// densities are exact.
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
    /// The parts are of this transform of the number.
    transform: Transform,
    /// The largest exponent that counts in mean and variance of an exponential of heavy tails.
    most: f64,
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
    /// `N(mean, variance)` plus `scale` times a Student-t number with the degrees of freedom of one of [`TAILS`].
    Blurred {
        mean: f64,
        variance: f64,
        scale: f64,
        tail: usize,
    },
}

impl Part {
    fn centre(&self) -> f64 {
        match self {
            Self::Gaussian { mean, .. } | Self::Blurred { mean, .. } => *mean,
            Self::Student(part) => part.location(),
        }
    }

    fn variance(&self) -> f64 {
        match self {
            Self::Gaussian { deviation, .. } => deviation * deviation,
            Self::Student(part) => part.variance(),
            Self::Blurred { variance, scale, tail, .. } => variance + scale * scale * TAILS[*tail].variance(),
        }
    }

    fn deviation(&self) -> f64 {
        match self {
            Self::Gaussian { deviation, .. } => *deviation,
            Self::Student(part) => part.standard_deviation(),
            Self::Blurred { variance, scale, tail, .. } => {
                variance.sqrt().hypot(scale * TAILS[*tail].variance().sqrt())
            }
        }
    }

    /// Mean and variance of the Gaussian that stands for the part where its exponential has no mean.
    fn core(&self) -> (f64, f64) {
        match self {
            Self::Gaussian { .. } => (self.centre(), self.variance()),
            Self::Student(part) => (part.location(), part.scale() * part.scale()),
            Self::Blurred { mean, variance, scale, .. } => (*mean, variance + scale * scale),
        }
    }

    /// `E[min(e^(T − cap), 1)^k]`.
    fn capped_moment(&self, k: f64, cap: f64) -> f64 {
        if let Self::Blurred { mean, variance, scale, tail } = *self {
            let parts = TAILS[tail].gaussians(variance, scale);
            return parts.map(|(weight, variance)| weight * capped_moment(k, mean - cap, variance)).sum();
        }
        let (mean, variance) = self.core();
        capped_moment(k, mean - cap, variance)
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
            Self::Blurred { mean, variance, scale, tail } => TAILS[tail].told(t - mean, variance, scale).log_density,
        }
    }

    fn cdf(&self, t: f64) -> f64 {
        match *self {
            Self::Gaussian { mean, deviation } if deviation > 0.0 => normal_cdf((t - mean) / deviation),
            Self::Gaussian { mean, .. } => f64::from(t >= mean),
            Self::Student(part) => part.cdf(t),
            Self::Blurred { mean, variance, scale, tail } => TAILS[tail].cdf(t - mean, variance, scale),
        }
    }

    fn log_probability(&self, low: f64, high: f64) -> f64 {
        match *self {
            Self::Gaussian { mean, deviation } if deviation > 0.0 => {
                Truncated::new((low - mean) / deviation, (high - mean) / deviation).log_mass
            }
            Self::Gaussian { mean, .. } => {
                if low < mean && mean <= high {
                    0.0
                } else {
                    f64::NEG_INFINITY
                }
            }
            Self::Student(part) => {
                // Above the middle by the upper tails, which keep their digits.
                let mirrored = |t: f64| 2.0 * part.location() - t;
                let (low, high) = if low > part.location() { (mirrored(high), mirrored(low)) } else { (low, high) };
                let cdf = |t: f64| if t.is_finite() { part.cdf(t) } else { f64::from(t > 0.0) };
                (cdf(high) - cdf(low)).ln()
            }
            Self::Blurred { mean, variance, scale, tail } => {
                let (near, reach) = if low.is_finite() { (low, high - low) } else { (high, low) };
                told_of(tail, (near - mean, reach), variance, scale).log_density
            }
        }
    }

    /// [`cdf`](Self::cdf), and the density.
    fn cdf_and_density(&self, t: f64) -> (f64, f64) {
        match *self {
            Self::Blurred { mean, variance, scale, tail } => TAILS[tail].cdf_and_density(t - mean, variance, scale),
            _ => (self.cdf(t), self.log_density(t).exp()),
        }
    }

    /// Two numbers with the quantile between them, `0 < p < 1`: a sum is beyond `u + v` no more often than one of its terms is beyond `u` or
    /// the other beyond `v`. `units` has the quantiles of tails of unit scale that were found for this `p`.
    fn bracket(&self, p: f64, units: &mut [Option<f64>; DOF.len()]) -> Result<[f64; 2], ModelError> {
        match self {
            Self::Gaussian { mean, deviation } => Ok([mean + deviation * normal_quantile(p); 2]),
            Self::Student(part) => Ok([part.quantile(p)?; 2]),
            Self::Blurred { mean, variance, scale, tail } => {
                let share = 0.5 * p.min(1.0 - p);
                let unit = match (units[*tail], TAILS[*tail].dof) {
                    (Some(unit), _) => unit,
                    (None, dof) if dof.is_finite() => -Student::new(0.0, 1.0, dof)?.quantile(share)?,
                    _ => -normal_quantile(share),
                };
                units[*tail] = Some(unit);
                let most = scale * unit - variance.sqrt() * normal_quantile(share);
                Ok(if p < 0.5 { [mean - most, *mean] } else { [*mean, mean + most] })
            }
        }
    }
}

/// `E[min(e^t, 1)^k] = e^(km + ½k²v)·Φ(−(m + kv)/√v) + Φ(m/√v)` of `t ~ N(m, v)`.
fn capped_moment(k: f64, m: f64, v: f64) -> f64 {
    if v <= 0.0 {
        return (k * m).exp().min(1.0);
    }
    let deviation = v.sqrt();
    let above = (m + k * v) / deviation;
    let below_cap = if above > 0.0 {
        normal_density(m / deviation) * mills_ratio(above)
    } else {
        (k * (m + 0.5 * k * v)).exp() * normal_cdf(-above)
    };
    below_cap + normal_cdf(m / deviation)
}

impl Marginal {
    /// The mixture of `N(mean, variance)` with weights that are positive and sum to 1.
    pub(crate) fn of_gaussians(parts: &[(f64, Projection)]) -> Self {
        let gaussian = |seen: &Projection| Part::Gaussian { mean: seen.mean, deviation: seen.variance.sqrt() };
        Self::of_parts(parts.iter().map(|(weight, seen)| (*weight, gaussian(seen))))
    }

    /// `(w_k, mean, variance)` of the parts that are Gaussian.
    pub(crate) fn gaussians(&self) -> impl Iterator<Item = (f64, f64, f64)> + Clone {
        self.parts.iter().filter_map(|(weight, part)| match part {
            Part::Gaussian { mean, deviation } => Some((*weight, *mean, deviation * deviation)),
            Part::Student(_) | Part::Blurred { .. } => None,
        })
    }

    /// The mixture of Student-t distributions with weights that are positive and sum to 1.
    pub(crate) fn of_students(parts: &[(f64, Student)]) -> Self {
        Self::of_parts(parts.iter().map(|(weight, part)| (*weight, Part::Student(*part))))
    }

    /// The mixture of `N(mean, variance)` plus `scale` times a Student-t number with the degrees of freedom `DOF[tail]`, given as
    /// `(weight, seen, scale, tail)`, with weights that are positive and sum to 1.
    pub(crate) fn of_sums(parts: impl Iterator<Item = (f64, Projection, f64, usize)>) -> Self {
        let sum = |(weight, Projection { mean, variance }, scale, tail)| {
            (weight, Part::Blurred { mean, variance, scale, tail })
        };
        Self::of_parts(parts.map(sum))
    }

    fn of_parts(parts: impl Iterator<Item = (f64, Part)>) -> Self {
        Self { parts: parts.collect(), transform: Transform::Identity, most: f64::INFINITY }
    }

    /// The distribution of the label of which this is the transform.
    pub(crate) fn transformed(self, transform: Transform) -> Self {
        self.transformed_below(transform, f64::INFINITY)
    }

    /// The distribution of the label of which this is the transform; mean and variance of an exponential are those of the smaller of it and `e^most`, if tails are heavy.
    pub(crate) fn transformed_below(self, transform: Transform, most: f64) -> Self {
        Self { transform, most, ..self }
    }

    /// The mean of the exponential of Gaussians; with heavier tails, whose exponential has none, that of the smaller of it and `e` to the
    /// [`log_cap`](Self::log_cap).
    fn exponential_mean(&self, log_cap: Option<f64>) -> f64 {
        let capped = |log_cap: f64| log_cap.exp() * self.average(|part| part.capped_moment(1.0, log_cap));
        log_cap.map_or_else(|| self.log_moment(1.0).exp(), capped)
    }

    /// The variance of the same over its squared mean.
    fn exponential_ratio(&self, log_cap: Option<f64>) -> f64 {
        let Some(log_cap) = log_cap else {
            return (self.log_moment(2.0) - 2.0 * self.log_moment(1.0)).exp_m1().max(0.0);
        };
        let [first, second] = [1.0, 2.0].map(|k| self.average(|part| part.capped_moment(k, log_cap)));
        (second / (first * first) - 1.0).max(0.0)
    }

    /// `log E[e^(kt)]` of Gaussians.
    fn log_moment(&self, k: f64) -> f64 {
        log_sum_exp(self.parts.iter().map(|(weight, part)| {
            let (mean, variance) = part.core();
            weight.ln() + k * (mean + 0.5 * k * variance)
        }))
    }

    /// The largest exponent that counts in the mean of an exponential of heavy tails, if it is one.
    fn log_cap(&self) -> Option<f64> {
        let heavy = self.parts.iter().any(|(_, part)| matches!(part, Part::Blurred { .. }));
        let quantile = if heavy { self.inner_quantile(CAPPED).ok() } else { None };
        quantile.map(|quantile| quantile.min(self.most))
    }

    fn average(&self, of: impl Fn(&Part) -> f64) -> f64 {
        match self.parts.as_slice() {
            [(_, part)] => of(part),
            // A part of weight 0 may have an infinite variance.
            parts => parts.iter().filter(|(weight, _)| *weight > 0.0).map(|(weight, part)| weight * of(part)).sum(),
        }
    }

    /// The transform of the number that was learned.
    #[must_use]
    pub fn transform(&self) -> Transform {
        self.transform
    }

    /// The mean. A Student-t distribution has one only above 1 degree of freedom; below, its centre is taken. The exponential of heavy tails has none: that of the smaller of the label,
    /// its quantile .97 and two spreads of the first labels above what is likely is taken, and the same for the variance.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self.transform {
            Transform::Identity => self.average(Part::centre),
            Transform::Log => self.exponential_mean(self.log_cap()),
            Transform::Logit => logistic::mean(&self.parts),
        }
    }

    /// The variance, including the spread of the parts' means: `Σ w_k(v_k + (m_k − m)²)`. Infinite if a part's is.
    #[must_use]
    pub fn variance(&self) -> f64 {
        if self.transform != Transform::Identity {
            return self.standard_deviation().powi(2);
        }
        let mean = self.mean();
        self.average(|part| part.variance() + (part.centre() - mean).powi(2))
    }

    /// The square root of the variance; it may be finite even if its square overflows.
    #[must_use]
    pub fn standard_deviation(&self) -> f64 {
        match self.transform {
            Transform::Identity => {}
            Transform::Log => {
                let log_cap = self.log_cap();
                return self.exponential_mean(log_cap) * self.exponential_ratio(log_cap).sqrt();
            }
            Transform::Logit => return logistic::variance(&self.parts).sqrt(),
        }
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
        let at = self.transform.of(t);
        if at.is_infinite() {
            return f64::NEG_INFINITY;
        }
        let density = log_sum_exp(self.parts.iter().map(|(weight, part)| weight.ln() + part.log_density(at)));
        density - self.transform.log_slope(t)
    }

    /// `log P(low < T ≤ high)` in nats, to full precision where the probability is small; either end may be infinite.
    ///
    /// ```
    /// use vi_models::online::OnlineRobust;
    /// let mut model = OnlineRobust::new(1)?;
    /// for t in 0..50 {
    ///     model.update(&[f64::from(t % 5)], f64::from(t % 5) + 0.1 * f64::from(t % 7))?;
    /// }
    /// let label = model.predict(&[2.0])?.label;
    /// let [below, within, above] = [(f64::NEG_INFINITY, 1.0), (1.0, 3.0), (3.0, f64::INFINITY)];
    /// let sum: f64 = [below, within, above].map(|(low, high)| label.log_probability(low, high).exp()).iter().sum();
    /// // The steps of the tails.
    /// assert!((sum - 1.0).abs() < 1e-5);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    #[must_use]
    pub fn log_probability(&self, low: f64, high: f64) -> f64 {
        let (low, high) = (self.transform.of(low), self.transform.of(high));
        if low.is_nan() || high.is_nan() || low >= high {
            return f64::NEG_INFINITY;
        }
        log_sum_exp(self.parts.iter().map(|(weight, part)| weight.ln() + part.log_probability(low, high)))
    }

    /// The distribution function `P(T ≤ t)`.
    #[must_use]
    pub fn cdf(&self, t: f64) -> f64 {
        match self.transform.of(t) {
            at if at.is_infinite() => f64::from(at > 0.0),
            at => self.average(|part| part.cdf(at)),
        }
    }

    /// The quantile `t` with `P(T ≤ t) = p`: for one part in closed form, for several by Newton's method between the quantiles of
    /// the parts.
    ///
    /// # Errors
    /// `Setting` unless `0 < p < 1`; `Overflow` if the quantile is not finite.
    pub fn quantile(&self, p: f64) -> Result<f64, ModelError> {
        check::probability("p", p)?;
        Ok(check::result("quantile", self.transform.inverse(self.inner_quantile(p)?))?)
    }

    /// The quantile of the number that the parts are of.
    fn inner_quantile(&self, p: f64) -> Result<f64, ModelError> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut units = [None; DOF.len()];
        for (_, part) in &self.parts {
            for end in part.bracket(p, &mut units)? {
                let end = check::result("quantile", end)?;
                (low, high) = (low.min(end), high.max(end));
            }
        }
        if low == high {
            return Ok(low);
        }
        let sums = self.parts.iter().any(|(_, part)| matches!(part, Part::Blurred { .. }));
        let least = if sums { OF_SUMS * p.min(1.0 - p) } else { 0.0 };
        let mut t = 0.5 * low + 0.5 * high;
        if sums {
            // The brackets of sums are wide.
            let mean = self.average(Part::centre);
            let variance = self.average(|part| part.core().1 + (part.centre() - mean).powi(2));
            let likely = mean + variance.sqrt() * normal_quantile(p);
            t = if likely > low && likely < high { likely } else { t };
        }
        for _ in 0..MAX_STEPS {
            let (mut excess, mut density) = (-p, 0.0);
            for (weight, part) in &self.parts {
                // A part of weight 0 may have an infinite variance.
                let (below, own) = if *weight > 0.0 { part.cdf_and_density(t) } else { continue };
                excess += weight * below;
                density += weight * own;
            }
            if excess > 0.0 {
                high = t;
            } else {
                low = t;
            }
            let newton = t - excess / density;
            let next = if newton > low && newton < high { newton } else { 0.5 * low + 0.5 * high };
            // A step leaves about the square of the error before it.
            let settled = (excess * excess < least * p.min(1.0 - p) && next == newton)
                || (next - t).abs() <= 2.0 * f64::EPSILON * t.abs().max(f64::MIN_POSITIVE);
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
        if let ([(_, Part::Student(part))], Transform::Identity) = (self.parts.as_slice(), self.transform) {
            let found = part.interval(level)?;
            check::results("bound of an interval", [found.lower, found.upper].into_iter())?;
            return Ok(found);
        }
        let tail = 0.5 * (1.0 - level);
        Ok(Interval { lower: self.quantile(tail)?, upper: self.quantile(1.0 - tail)? })
    }

    /// The continuous ranked probability score of a label, `∫ (F(x) − 1[x ≥ y])² dx = E|T − y| − ½E|T − T′|`: an error in the units of the label,
    /// lower is better. Good to `10⁻⁵` of the spread from 1.6 degrees of freedom on, to 1 % at 1.2; infinite for a Student-t of at most one degree of freedom. The exponential of a Student-t
    /// number has none, and is scored as its mean and variance are given, with Gaussians.
    #[must_use]
    pub fn crps(&self, y: f64) -> f64 {
        match self.transform {
            Transform::Log => {
                if self.mean().is_finite() {
                    self.exponential_crps(y)
                } else {
                    f64::INFINITY
                }
            }
            Transform::Logit if !self.transform.supports(y) => {
                let (low, high) = self.transform.range();
                let end = y.clamp(low + f64::MIN_POSITIVE, high - f64::EPSILON);
                (y - end).abs() + self.integrated_crps(end)
            }
            Transform::Identity
                if self.parts.iter().any(|(_, part)| matches!(part, Part::Student(part) if part.dof() <= 1.0)) =>
            {
                f64::INFINITY
            }
            _ => self.integrated_crps(y),
        }
    }

    /// `E|Y − y| − ½E|Y − Y′| = |y − E Y| + 2∫ P(Y beyond y) dg⁻¹ − ∫ F(1 − F) dg⁻¹`.
    fn integrated_crps(&self, y: f64) -> f64 {
        let centre = self.average(Part::centre);
        let spread = self.average(|part| part.core().1 + (part.centre() - centre).powi(2)).sqrt();
        let mean = self.mean();
        if spread.is_nan() || spread <= 0.0 {
            return (y - mean).abs();
        }
        // The steps follow the slope of a transform where that varies more than the distribution.
        let unit = if self.transform == Transform::Identity { spread } else { spread.min(2.0) };
        let (at, up) = (self.transform.of(y), y >= mean);
        let beyond = |u: f64| {
            let t = if up { at + unit * u } else { at - unit * u };
            self.transform.slope(t) * self.average(|part| part.cdf(if up { 2.0 * part.centre() - t } else { t }))
        };
        let beyond = double_exponential(beyond, f64::exp);
        let between = double_exponential(
            |u| {
                let t = centre + unit * u;
                let below = self.average(|part| part.cdf(t));
                self.transform.slope(t) * below * (1.0 - below)
            },
            f64::sinh,
        );
        (y - mean).abs() + unit * (2.0 * beyond - between)
    }

    fn exponential_crps(&self, y: f64) -> f64 {
        let above = |m: f64, v: f64| if v > 0.0 { normal_cdf(m / v.sqrt()) } else { f64::from(m > 0.0) };
        let expected = |m: f64, v: f64| (m + 0.5 * v).exp();
        let cores: Vec<(f64, (f64, f64))> = self.parts.iter().map(|(weight, part)| (*weight, part.core())).collect();
        let log = self.transform.of(y);
        let mut score = 0.0;
        for (weight, (m, v)) in &cores {
            let from = expected(*m, *v) * (2.0 * above(m + v - log, *v) - 1.0) - y * (2.0 * above(m - log, *v) - 1.0);
            // E|X − X′| = 2E[X; X > X′] − E[X] summed over both orders of the parts.
            let apart: f64 = cores
                .iter()
                .map(|(other, (m2, v2))| other * expected(*m, *v) * (2.0 * above(m - m2 + v, v + v2) - 1.0))
                .sum();
            score += weight * (from - apart);
        }
        score
    }

    /// One draw from the distribution.
    ///
    /// # Errors
    /// As [`Student::draw`].
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<f64, ModelError> {
        let chosen = pick(self.parts.iter().map(|(weight, _)| *weight), rng);
        let drawn = match self.parts[chosen].1 {
            Part::Gaussian { mean, deviation } => mean + deviation * normal(rng),
            Part::Student(part) => part.draw(rng)?,
            Part::Blurred { mean, variance, scale, tail } => {
                let at = mean + variance.sqrt() * normal(rng);
                match TAILS[tail] {
                    Tail { dof, .. } if dof.is_finite() => Student::new(at, scale, dof)?.draw(rng)?,
                    _ => at + scale * normal(rng),
                }
            }
        };
        Ok(self.transform.inverse(drawn))
    }

    /// The same with distances from its centre that are `factor` times as large; those of its transform where that was learned.
    pub(crate) fn stretched(self, factor: f64) -> Result<Self, ModelError> {
        let of_part = |part: &Part| match part {
            Part::Gaussian { mean, .. } | Part::Blurred { mean, .. } => *mean,
            Part::Student(part) => part.location(),
        };
        let centre: f64 = self.parts.iter().map(|(share, part)| share * of_part(part)).sum();
        self.in_units(centre * (1.0 - factor), factor)
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
                Part::Blurred { mean, variance, scale, tail } => {
                    let (variance, scale) = (unit * unit * variance, (unit * scale).max(f64::MIN_POSITIVE));
                    Part::Blurred { mean: origin + unit * mean, variance, scale, tail }
                }
            };
        }
        Ok(self)
    }
}

/// `∫ f(u) du` in equal steps of `t`, `u = to(½π·sinh t)`, to where `f` falls into rounding: over all numbers for `to = sinh`, over positive
/// ones for `to = exp`.
fn double_exponential(f: impl Fn(f64) -> f64, to: fn(f64) -> f64) -> f64 {
    const STEP: f64 = 0.1;
    const MOST: i32 = 42;
    const ROUNDED: f64 = 1e-14;
    let odd = to(0.0) == 0.0;
    let term = |k: i32| {
        let t = STEP * f64::from(k);
        let half = 0.5 * PI * t.sinh();
        let value = f(to(half));
        let slope = if odd { half.cosh() } else { half.exp() };
        (value > ROUNDED).then(|| value * slope * 0.5 * PI * t.cosh())
    };
    let up: f64 = (0..=MOST).map_while(term).sum();
    // Towards 0 the steps of positive numbers vanish.
    let down: f64 =
        if odd { (1..=MOST).map(|k| -k).map_while(term).sum() } else { (1..=32).filter_map(|k| term(-k)).sum() };
    STEP * (up + down)
}

fn normal<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    StandardNormal.sample(rng)
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
    use crate::Transform;

    fn three() -> Marginal {
        let part = |mean, variance| Projection { mean, variance };
        Marginal::of_gaussians(&[(0.2, part(-1.0, 0.04)), (0.5, part(0.5, 1.0)), (0.3, part(4.0, 0.0001))])
    }

    /// The exponential of a sum with a Student-t number: moments below the cap by equal steps of the probability.
    #[test]
    fn the_exponential_of_heavy_tails_has_the_moments_of_the_smaller_of_it_and_a_cap() {
        let seen = |mean, variance| Projection { mean, variance };
        for (tail, scale) in [(1, 0.05), (4, 0.4), (7, 1.0)] {
            let parts = [(0.6, seen(0.3, 0.02), scale, tail), (0.4, seen(1.0, 0.3), 0.5 * scale, tail + 1)];
            for most in [1.5, f64::INFINITY] {
                let found = Marginal::of_sums(parts.into_iter()).transformed_below(Transform::Log, most);
                let cap = found.quantile(CAPPED).unwrap().min(most.exp());
                let n = 20_000;
                let at = |i: i32| found.quantile((f64::from(i) + 0.5) / f64::from(n)).unwrap().min(cap);
                let labels: Vec<f64> = (0..n).map(at).collect();
                let mean = labels.iter().sum::<f64>() / f64::from(n);
                let square = labels.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / f64::from(n);
                // The mean is off by the least labels, which the midpoints of 1/n miss by O(1/n²) of their slope; the distribution by 5·10⁻⁶.
                assert!((found.mean() / mean - 1.0).abs() < 1e-5, "{tail} {most}: {} {mean}", found.mean());
                let sd = found.standard_deviation();
                assert!((sd / square.sqrt() - 1.0).abs() < 1e-4, "{tail} {most}: {sd} {}", square.sqrt());
            }
        }
        // Without the cap a spread of e⁸ would make a mean of e^(10⁶).
        let wide = Marginal::of_sums(std::iter::once((1.0, seen(0.0, 1.0), 8_f64.exp(), 0)))
            .transformed_below(Transform::Log, 3.0);
        assert!(wide.mean() > 1.0 && wide.mean() < 3_f64.exp(), "{}", wide.mean());
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
    fn a_score_is_that_of_closed_forms_and_of_draws() {
        let density = |z: f64| (-0.5 * z * z - HALF_LN_2PI).exp();
        for (mean, deviation) in [(0.0, 1.0), (-3.0, 0.01), (1e4, 20.0)] {
            let one = Marginal::of_gaussians(&[(1.0, Projection { mean, variance: deviation * deviation })]);
            for z in [-40.0, -2.0, -0.3, 0.0, 1.0, 6.0] {
                let exact = deviation * (z * (2.0 * normal_cdf(z) - 1.0) + 2.0 * density(z) - PI.sqrt().recip());
                assert!((one.crps(mean + z * deviation) - exact).abs() < 1e-6 * deviation, "{mean} {z}");
            }
        }
        let (nu, t) = (5.0_f64, 1.3_f64);
        let student = Student::new(0.0, 1.0, nu).unwrap();
        let beta = |a: f64, b: f64| (libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b)).exp();
        // Jordan, Krüger and Lerch (2019), table 2.
        let exact = t * (2.0 * student.cdf(t) - 1.0) + 2.0 * student.log_density(t).exp() * (nu + t * t) / (nu - 1.0)
            - 2.0 * nu.sqrt() / (nu - 1.0) * beta(0.5, nu - 0.5) / beta(0.5, 0.5 * nu).powi(2);
        assert!((Marginal::of_students(&[(1.0, student)]).crps(t) - exact).abs() < 1e-6);
        let seen = |mean| Projection { mean, variance: 0.3 };
        let sums = Marginal::of_sums([(0.4, seen(0.2), 0.5, 3), (0.6, seen(0.5), 0.4, 5)].into_iter());
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let logs = Marginal::of_gaussians(&[(0.3, seen(0.1)), (0.7, seen(0.6))]).transformed(Transform::Log);
        for marginal in [three(), sums, logs] {
            let pairs: Vec<(f64, f64)> =
                (0..40_000).map(|_| (marginal.draw(&mut rng).unwrap(), marginal.draw(&mut rng).unwrap())).collect();
            for y in [-1.0, 0.4, 3.0] {
                let scores: Vec<f64> = pairs.iter().map(|(a, b)| (a - y).abs() - 0.5 * (a - b).abs()).collect();
                let n = scores.len() as f64;
                let mean = scores.iter().sum::<f64>() / n;
                let error = (scores.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / n / n).sqrt();
                // 6 standard errors.
                assert!((marginal.crps(y) - mean).abs() < 6.0 * error, "{y}: {} {mean} {error}", marginal.crps(y));
            }
        }
    }

    #[test]
    fn a_point_is_a_distribution_too() {
        let point = Marginal::of_gaussians(&[(1.0, Projection { mean: 2.0, variance: 0.0 })]);
        assert_eq!((point.cdf(1.9), point.cdf(2.0), point.quantile(0.3).unwrap()), (0.0, 1.0, 2.0));
        assert_eq!(point.crps(1.5), 0.5);
        assert_eq!(log_sum_exp(std::iter::empty()), f64::NEG_INFINITY);
    }
}
