//! Student's t distribution, the prediction of a Gaussian with unknown variance.

pub(crate) mod between;
pub(crate) mod beyond;
pub(crate) mod blurred;
mod tail;
mod truncated;

use rand::Rng;
use rand_distr::{ChiSquared, Distribution, StandardNormal};
use vi_core::Error;

use self::tail::{upper_quantile, upper_tail};
pub(crate) use self::truncated::Truncated;
use crate::{Interval, ModelError, check};

const LN_PI: f64 = 1.144_729_885_849_400_2;

/// The distribution of `y = m + s·t`, `t` being Student's with `k` degrees of freedom.
///
/// ```
/// use vi_models::Student;
/// let predicted = Student::new(1.0, 2.0, 3.0)?;
/// assert_eq!((predicted.mean(), predicted.variance()), (1.0, 12.0));
/// assert!((predicted.cdf(1.0 + 2.0 * 3.18244630528371) - 0.975).abs() < 1e-14);
/// assert!((predicted.interval(0.95)?.upper - (1.0 + 2.0 * 3.18244630528371)).abs() < 1e-12);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Student {
    location: f64,
    scale: f64,
    dof: f64,
}

impl Student {
    /// The distribution with location `m`, scale `s` and `dof = k` degrees of freedom.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `NonFinite` for `m`, `Setting` unless `s` and `k` are positive and finite.
    pub fn new(location: f64, scale: f64, dof: f64) -> Result<Self, ModelError> {
        check::values("location", &[location])?;
        check::positive("scale", scale)?;
        check::positive("dof", dof)?;
        Ok(Self { location, scale, dof })
    }

    /// The location `m`: median, mode and, for `k > 1`, mean.
    #[must_use]
    pub fn location(&self) -> f64 {
        self.location
    }

    /// The scale `s`.
    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }

    /// The degrees of freedom `k`.
    pub(crate) fn dof(&self) -> f64 {
        self.dof
    }

    /// The mean, `m` for `k > 1`; NaN otherwise, since it does not exist.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.dof > 1.0 { self.location } else { f64::NAN }
    }

    /// The variance, `s²k/(k−2)` for `k > 2`, infinite otherwise.
    #[must_use]
    pub fn variance(&self) -> f64 {
        if self.dof > 2.0 { self.scale * self.scale * (self.dof / (self.dof - 2.0)) } else { f64::INFINITY }
    }

    /// The standard deviation, `s√(k/(k−2))` for `k > 2`, infinite otherwise.
    #[must_use]
    pub fn standard_deviation(&self) -> f64 {
        if self.dof > 2.0 { self.scale * (self.dof / (self.dof - 2.0)).sqrt() } else { f64::INFINITY }
    }

    /// The log density `log p(y)`, in nats.
    #[must_use]
    pub fn log_density(&self, y: f64) -> f64 {
        let t = (y - self.location) / self.scale;
        log_density(t, self.dof) - self.scale.ln()
    }

    /// The distribution function `P(Y ≤ y)`, to about 1e-13 relative in the left tail, down to 1e-300. From 20 degrees of freedom
    /// on the cost does not depend on them.
    #[must_use]
    pub fn cdf(&self, y: f64) -> f64 {
        let t = (y - self.location) / self.scale;
        if t > 0.0 { 1.0 - upper_tail(t, self.dof) } else { upper_tail(-t, self.dof) }
    }

    /// The value `y` with `P(Y ≤ y) = p`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < p < 1`.
    pub fn quantile(&self, p: f64) -> Result<f64, ModelError> {
        check::probability("p", p)?;
        Ok(self.location
            + self.scale * if p < 0.5 { -upper_quantile(p, self.dof) } else { upper_quantile(1.0 - p, self.dof) })
    }

    /// The central interval that holds `level` of the mass.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < level < 1`.
    pub fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        check::probability("level", level)?;
        let half = self.scale * upper_quantile(0.5 * (1.0 - level), self.dof);
        Ok(Interval { lower: self.location - half, upper: self.location + half })
    }

    /// One draw from the distribution.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` if the generator refuses the degrees of freedom, which a checked value excludes.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<f64, ModelError> {
        let refused = |_| Error::Setting { name: "dof", value: self.dof, requirement: "one that can be drawn with" };
        let chi_squared = ChiSquared::new(self.dof).map_err(refused)?;
        let z: f64 = StandardNormal.sample(rng);
        Ok(self.location + self.scale * z / (chi_squared.sample(rng) / self.dof).sqrt())
    }
}

/// `log Γ(a+h) − log Γ(a)` without the cancellation of two large numbers, for `a > 0`, `a + h > 0`.
pub(crate) fn ln_gamma_ratio(a: f64, h: f64) -> f64 {
    const STIRLING: f64 = 30.0;
    if a < STIRLING || a + h < STIRLING {
        return libm::lgamma(a + h) - libm::lgamma(a);
    }
    // log Γ(z) = (z−½)·log z − z + ½·log 2π + S(z); S is cut off at 1e-15 for z ≥ 30.
    let series = |z: f64| {
        let w = 1.0 / (z * z);
        (1.0 / 12.0 - w * (1.0 / 360.0 - w * (1.0 / 1260.0 - w / 1680.0))) / z
    };
    (a + h - 0.5) * (h / a).ln_1p() + h * a.ln() - h + (series(a + h) - series(a))
}

/// The log density of the standard distribution: `Γ((k+1)/2)/(Γ(k/2)√(kπ))·(1+t²/k)^(−(k+1)/2)`.
fn log_density(t: f64, dof: f64) -> f64 {
    ln_gamma_ratio(0.5 * dof, 0.5) - 0.5 * (dof.ln() + LN_PI) - 0.5 * (dof + 1.0) * log_one_plus_square(t, dof)
}

/// `log(1 + t²/k)`, also where `t²` overflows.
fn log_one_plus_square(t: f64, dof: f64) -> f64 {
    let ratio = t.abs() / dof.sqrt();
    if ratio > 1e8 { 2.0 * ratio.ln() } else { (ratio * ratio).ln_1p() }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn quantiles_invert_the_distribution() {
        for dof in [0.2, 1.0, 3.0, 50.0, 1e5, 1e9] {
            let student = Student::new(0.3, 2.0, dof).unwrap();
            for p in [1e-12, 1e-3, 0.05, 0.3, 0.5, 0.6, 0.99] {
                let y = student.quantile(p).unwrap();
                assert!((student.cdf(y) / p - 1.0).abs() < 1e-10, "{dof}, {p}: {y}");
            }
            let interval = student.interval(0.9).unwrap();
            assert!((student.cdf(interval.upper) - 0.95).abs() < 1e-12);
            assert!((interval.upper + interval.lower - 0.6).abs() < 1e-12 * interval.upper);
        }
    }

    #[test]
    fn gamma_ratios_are_those_of_a_recurrence() {
        for a in [0.3, 5.0, 29.9, 30.1, 500.0, 1e7] {
            assert!((ln_gamma_ratio(a, 1.0) - f64::ln(a)).abs() < 1e-12 * (1.0 + a.ln().abs()), "{a}");
            let halves = ln_gamma_ratio(a, 0.5) + ln_gamma_ratio(a + 0.5, 0.5);
            assert!((halves - f64::ln(a)).abs() < 1e-12 * (1.0 + a.ln().abs()), "{a}");
        }
    }

    #[test]
    fn draws_have_the_stated_quartiles() {
        let (student, mut rng) = (Student::new(-1.0, 0.5, 3.0).unwrap(), ChaCha8Rng::seed_from_u64(3));
        let below = student.quantile(0.25).unwrap();
        let n = 20_000_u32;
        let count = (0..n).filter(|_| student.draw(&mut rng).unwrap() < below).count();
        // 6 standard errors of a frequency of ¼.
        assert!((count as f64 / f64::from(n) - 0.25).abs() < 6.0 * (0.1875 / f64::from(n)).sqrt());
    }

    #[test]
    fn moments_that_do_not_exist_are_not_made_up() {
        assert!(Student::new(0.0, 1.0, 1.0).unwrap().mean().is_nan());
        assert_eq!(Student::new(0.0, 1.0, 2.0).unwrap().variance(), f64::INFINITY);
        assert!(Student::new(f64::NAN, 1.0, 2.0).is_err() && Student::new(0.0, 0.0, 2.0).is_err());
        assert!(Student::new(0.0, 1.0, f64::INFINITY).is_err());
        let student = Student::new(0.0, 1.0, 2.0).unwrap();
        assert!(student.quantile(0.0).is_err() && student.interval(1.0).is_err());
    }
}
