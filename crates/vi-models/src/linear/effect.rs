//! Evidence and intervals for an effect that hold however often they are looked at.

use vi_core::{Error, check};

use crate::{Interval, ModelError};

/// The least-squares estimate of one effect of a linear model, a coefficient or a contrast, and what may be said of it at any time.
///
/// Let `δ̂` be the estimate, `σ²v` its variance, `R` the sum of squared residuals and `ν` its degrees of freedom. The other coefficients are flat, the noise has the
/// prior `1/σ`, and the effect under the alternative is `N(δ₀, σ²τ²)`, with a `τ` that was fixed before the first row. The evidence ratio against `δ = δ₀` is
///
/// ```text
/// E = √k·[(1 + s)/(1 + ks)]^((ν+1)/2),   s = (δ̂ − δ₀)²/(vR),   k = v/(v + τ²)
/// ```
///
/// Where the effect is `δ₀`, `E` is a martingale of mean 1 for whatever other coefficients and noise there are, since it depends on the rows through what neither
/// changes. So it ever reaches `1/α` with probability `α` at most (Ville), and the values `δ₀` with `E < 1/α` hold the effect at all times together with probability `1 − α`:
///
/// ```text
/// δ̂ ± √(vR·(c − 1)/(1 − ck)),   c = (kα²)^(−1/(ν+1)),   the whole line where ck ≥ 1
/// ```
///
/// It is exact for Gaussian noise of one variance and inputs that do not depend on labels to come; a `τ` or a unit that is chosen by the rows breaks it, which is why no
/// learned prior enters. The interval is shortest when `τ` is about as large as the effect in deviations of the noise. Cost: a few powers. Source: Lindon, Ham, Tingley
/// and Bojinov, arXiv 2210.08589.
///
/// ```
/// use vi_models::linear::Effect;
/// // A mean of 50 differences with unknown noise: 0.6, and Σ(d − 0.6)² = 49.
/// let effect = Effect::new(0.6, 1.0 / 50.0, 49.0, 49.0)?;
/// assert!(effect.e_value(0.0, 0.5)? > 100.0); // once is enough to reject "no effect" at 1 %, whenever it was looked at
/// let interval = effect.interval(0.95, 0.5)?.unwrap();
/// assert!(interval.lower > 0.0 && interval.contains(0.6));
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    estimate: f64,
    variance: f64,
    squares: f64,
    freedom: f64,
}

impl Effect {
    /// The effect of the estimate `δ̂`, its `variance` `v` in units of the noise's, the sum of squared residuals `R`, and the degrees of freedom `ν` of that: rows less
    /// coefficients, the intercept among them.
    ///
    /// # Errors
    /// `NonFinite`, or `Setting` unless `v > 0`, `R ≥ 0` and `ν ≥ 0`.
    pub fn new(estimate: f64, variance: f64, squares: f64, freedom: f64) -> Result<Self, ModelError> {
        check::finite("estimate", &[estimate])?;
        check::positive("variance", variance)?;
        check::not_negative("squares", squares)?;
        check::not_negative("freedom", freedom)?;
        Ok(Self { estimate, variance, squares, freedom })
    }

    /// The least-squares estimate.
    #[must_use]
    pub fn estimate(&self) -> f64 {
        self.estimate
    }

    /// `k = v/(v + τ²)`.
    fn share(&self, mixture: f64) -> Result<f64, Error> {
        check::positive("mixture", mixture)?;
        Ok((1.0 + mixture * (mixture / self.variance)).recip())
    }

    /// `log E` against the effect `null`, in nats; `mixture` is `τ`, in deviations of the noise, fixed before the first row.
    ///
    /// # Errors
    /// `NonFinite`; `Setting` unless `τ > 0`.
    pub fn log_e_value(&self, null: f64, mixture: f64) -> Result<f64, ModelError> {
        check::finite("null", &[null])?;
        let share = self.share(mixture)?;
        let away = self.estimate - null;
        if self.freedom == 0.0 || away == 0.0 {
            // Without a degree of freedom the noise is unknown, and the e-value 1.
            return Ok(if self.freedom == 0.0 { 0.0 } else { 0.5 * share.ln() });
        }
        // `log (1 + s)/(1 + ks)` by `1/s`, which is finite where the residuals are 0.
        let inverse = self.variance * self.squares / (away * away);
        let ratio = ((1.0 - share) / (inverse + share)).ln_1p();
        Ok(0.5 * share.ln() + 0.5 * (self.freedom + 1.0) * ratio)
    }

    /// `E`, an e-value: where the effect is `null` it ever reaches `1/α`, over all looks, with probability `α` at most.
    ///
    /// # Errors
    /// As [`log_e_value`](Self::log_e_value); [`Error::Overflow`] beyond the range of floats.
    pub fn e_value(&self, null: f64, mixture: f64) -> Result<f64, ModelError> {
        Ok(check::result("e-value", self.log_e_value(null, mixture)?.exp())?)
    }

    /// The confidence sequence's interval: it and those of all other looks together hold the effect with probability `level` or more. `None` while that is the whole line.
    ///
    /// # Errors
    /// `Setting` unless `0 < level < 1` and `τ > 0`; [`Error::Overflow`] for ends beyond the range of floats.
    pub fn interval(&self, level: f64, mixture: f64) -> Result<Option<Interval>, ModelError> {
        crate::check::probability("level", level)?;
        let share = self.share(mixture)?;
        let alpha = 1.0 - level;
        // `log c`, so that neither `c − 1` nor `1 − ck` cancels.
        let log_c = -(2.0 * alpha.ln() + share.ln()) / (self.freedom + 1.0);
        let left = -(log_c + share.ln()).exp_m1();
        if left.is_nan() || left <= 0.0 || self.freedom == 0.0 {
            return Ok(None);
        }
        let half = (self.variance * self.squares).sqrt() * (log_c.exp_m1() / left).sqrt();
        let (lower, upper) = (self.estimate - half, self.estimate + half);
        check::results("bound of an interval", [lower, upper].into_iter())?;
        Ok(Some(Interval { lower, upper }))
    }
}

#[cfg(test)]
mod tests;
