//! Families of labels 0, 1, 2, … and the parts of their predictions.

use rand::{Rng, RngExt};
use rand_distr::{Binomial as BinomialDraw, Distribution, Gamma, Poisson as PoissonDraw};
use vi_core::expectation::LogisticExpectation;
use vi_core::special::{normal_cdf, sigmoid};
use vi_core::{BernoulliLogit, Error, GaussianExpectation, Mixture8, quadrature};

use super::ProbabilityVariance;
use super::crossing::Crossing;
use crate::likelihood::{BernoulliProbit, Binomial, NegativeBinomial, Offset, Poisson, ZeroInflated};

/// A family of labels 0, 1, 2, … whose predictive distribution is known: moments, distribution function and draws.
pub trait CountPrediction: GaussianExpectation {
    /// Mean and variance of `y` under `t ~ N(a, ν)`; infinite where they overflow.
    fn predictive_moments(&self, a: f64, nu: f64) -> (f64, f64);

    /// `P(Y ≤ y | t)` for a whole number `y ≥ 0`.
    fn cdf(&self, y: f64, t: f64) -> f64;

    /// `P(Y ≤ y)` for a whole number `y ≥ 0` below the largest, under `t ~ N(a, ν)`. By default [`cdf`](Self::cdf) averaged by
    /// [`quadrature::average`].
    ///
    /// # Errors
    /// `Quadrature`.
    fn predictive_cdf(&self, y: f64, a: f64, nu: f64) -> Result<f64, Error> {
        quadrature::average(|t| self.cdf(y, t), a, nu)
    }

    /// The largest possible label; infinite for counts without a limit.
    fn largest(&self) -> f64;

    /// The probability of a 0 whatever the predictor, which the [recurrence](Self::recurrence) leaves out; 0 by default.
    fn excess(&self) -> f64 {
        0.0
    }

    /// `(log P(Y = 0 | t), q)` at `e^t`, in a family with `P(Y = y+1 | t) = P(Y = y | t)·q(t)·s(y)` but for the [excess](Self::excess); `None`,
    /// the default, in other families. With it intervals of small counts cost a tenth.
    fn recurrence(&self, _exp_t: f64) -> Option<(f64, f64)> {
        None
    }

    /// `s(y)` of the [recurrence](Self::recurrence).
    fn recurrence_step(&self, _y: f64) -> f64 {
        0.0
    }

    /// About the most information on the predictor that a count up to `y` has where it is likely: by default its mean.
    fn most_information(&self, y: f64) -> f64 {
        y + 1.0
    }

    /// A draw of `y` given `t`.
    ///
    /// # Errors
    /// `Overflow` for a mean too large for the generator of counts.
    fn draw<R: Rng + ?Sized>(&self, t: f64, rng: &mut R) -> Result<f64, Error>;
}

/// Mean and variance of the successes in `n` trials, if their probability has mean `p` and variance `v`: `np`, `n·E[p(1−p)] +
/// n²v`.
fn trials_moments(n: f64, p: f64, v: f64) -> (f64, f64) {
    (n * p, n * (p * (1.0 - p) - v).max(0.0) + n * n * v)
}

impl CountPrediction for BernoulliLogit<Mixture8> {
    fn predictive_moments(&self, a: f64, nu: f64) -> (f64, f64) {
        binomial_moments(1.0, a, nu)
    }

    fn cdf(&self, y: f64, t: f64) -> f64 {
        if y >= 1.0 { 1.0 } else { sigmoid(-t) }
    }

    fn predictive_cdf(&self, _y: f64, a: f64, nu: f64) -> Result<f64, Error> {
        Ok(Mixture8.sigmoid(-a, nu).0.clamp(0.0, 1.0))
    }

    fn largest(&self) -> f64 {
        1.0
    }

    fn draw<R: Rng + ?Sized>(&self, t: f64, rng: &mut R) -> Result<f64, Error> {
        Ok(f64::from(rng.random::<f64>() < sigmoid(t)))
    }
}

impl CountPrediction for BernoulliProbit {
    fn predictive_moments(&self, a: f64, nu: f64) -> (f64, f64) {
        let p = normal_cdf(a / (1.0 + nu).sqrt());
        (p, p * (1.0 - p))
    }

    fn cdf(&self, y: f64, t: f64) -> f64 {
        if y >= 1.0 { 1.0 } else { normal_cdf(-t) }
    }

    fn predictive_cdf(&self, _y: f64, a: f64, nu: f64) -> Result<f64, Error> {
        Ok(normal_cdf(-a / (1.0 + nu).sqrt()))
    }

    fn largest(&self) -> f64 {
        1.0
    }

    fn draw<R: Rng + ?Sized>(&self, t: f64, rng: &mut R) -> Result<f64, Error> {
        Ok(f64::from(rng.random::<f64>() < normal_cdf(t)))
    }
}

fn binomial_moments(n: f64, a: f64, nu: f64) -> (f64, f64) {
    trials_moments(n, Mixture8.sigmoid(a, nu).0.clamp(0.0, 1.0), Mixture8.probability_variance(a, nu))
}

impl CountPrediction for Binomial<Mixture8> {
    fn predictive_moments(&self, a: f64, nu: f64) -> (f64, f64) {
        binomial_moments(self.trials(), a, nu)
    }

    /// `I_{1−p}(n−y, y+1)`.
    fn cdf(&self, y: f64, t: f64) -> f64 {
        if y >= self.trials() { 1.0 } else { self.crossing(y).above(t) }
    }

    fn predictive_cdf(&self, y: f64, a: f64, nu: f64) -> Result<f64, Error> {
        self.crossing(y).above_gaussian(a, nu)
    }

    fn largest(&self) -> f64 {
        self.trials()
    }

    fn recurrence(&self, exp_t: f64) -> Option<(f64, f64)> {
        Some((-self.trials() * exp_t.ln_1p(), exp_t))
    }

    fn recurrence_step(&self, y: f64) -> f64 {
        (self.trials() - y) / (y + 1.0)
    }

    fn draw<R: Rng + ?Sized>(&self, t: f64, rng: &mut R) -> Result<f64, Error> {
        // A whole number up to 2⁵³, checked by the likelihood.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a checked whole number")]
        let trials = self.trials() as u64;
        let counts = BinomialDraw::new(trials, sigmoid(t)).map_err(|_| not_drawable(t))?;
        Ok(counts.sample(rng) as f64)
    }
}

impl CountPrediction for Poisson {
    /// `E m = E·e^(a+ν/2)`, `Var y = E m + (E m)²(e^ν − 1)`.
    fn predictive_moments(&self, a: f64, nu: f64) -> (f64, f64) {
        let mean = (self.exposure().ln() + a + 0.5 * nu).exp();
        (mean, mean + lognormal_variance(mean, nu))
    }

    /// `Q(y+1, m)`.
    fn cdf(&self, y: f64, t: f64) -> f64 {
        self.crossing(y).above(t)
    }

    fn predictive_cdf(&self, y: f64, a: f64, nu: f64) -> Result<f64, Error> {
        self.crossing(y).above_gaussian(a, nu)
    }

    fn largest(&self) -> f64 {
        f64::INFINITY
    }

    fn recurrence(&self, exp_t: f64) -> Option<(f64, f64)> {
        let m = self.exposure() * exp_t;
        Some((-m, m))
    }

    fn recurrence_step(&self, y: f64) -> f64 {
        (y + 1.0).recip()
    }

    fn draw<R: Rng + ?Sized>(&self, t: f64, rng: &mut R) -> Result<f64, Error> {
        poisson_draw(self.exposure() * t.exp(), t, rng)
    }
}

impl CountPrediction for NegativeBinomial<Mixture8> {
    /// `E m` as Poisson's, `Var y = E m + E m²/r + Var m`, `E m² = (E m)²e^ν`.
    fn predictive_moments(&self, a: f64, nu: f64) -> (f64, f64) {
        let mean = (self.exposure().ln() + a + 0.5 * nu).exp();
        let spread = lognormal_variance(mean, nu);
        (mean, mean + (mean * mean + spread) / self.size() + spread)
    }

    /// `I_q(r, y+1)`, `q = r/(r+m)`.
    fn cdf(&self, y: f64, t: f64) -> f64 {
        self.crossing(y).above(t)
    }

    fn predictive_cdf(&self, y: f64, a: f64, nu: f64) -> Result<f64, Error> {
        self.crossing(y).above_gaussian(a, nu)
    }

    fn largest(&self) -> f64 {
        f64::INFINITY
    }

    fn recurrence(&self, exp_t: f64) -> Option<(f64, f64)> {
        let odds = self.exposure() * exp_t / self.size();
        Some((-self.size() * odds.ln_1p(), odds / (1.0 + odds)))
    }

    fn recurrence_step(&self, y: f64) -> f64 {
        (self.size() + y) / (y + 1.0)
    }

    /// `m·r/(m + r)` is less than `r`.
    fn most_information(&self, y: f64) -> f64 {
        (y + 1.0).min(self.size() + 1.0)
    }

    /// Draws a Poisson whose mean has a gamma distribution of shape `r`.
    fn draw<R: Rng + ?Sized>(&self, t: f64, rng: &mut R) -> Result<f64, Error> {
        let scale = self.exposure() * t.exp() / self.size();
        let rates = Gamma::new(self.size(), scale).map_err(|_| not_drawable(t))?;
        poisson_draw(rates.sample(rng), t, rng)
    }
}

impl CountPrediction for ZeroInflated {
    /// With mean `m` and variance `v` of the counts: `(1−π)m`, `(1−π)(v + πm²)`.
    fn predictive_moments(&self, a: f64, nu: f64) -> (f64, f64) {
        let (mean, variance) = self.counts().predictive_moments(a, nu);
        let rest = 1.0 - self.share();
        (rest * mean, rest * (variance + self.share() * mean * mean))
    }

    fn cdf(&self, y: f64, t: f64) -> f64 {
        self.share() + (1.0 - self.share()) * self.counts().cdf(y, t)
    }

    fn predictive_cdf(&self, y: f64, a: f64, nu: f64) -> Result<f64, Error> {
        Ok(self.share() + (1.0 - self.share()) * self.counts().predictive_cdf(y, a, nu)?)
    }

    fn largest(&self) -> f64 {
        f64::INFINITY
    }

    fn excess(&self) -> f64 {
        self.share()
    }

    fn recurrence(&self, exp_t: f64) -> Option<(f64, f64)> {
        self.counts().recurrence(exp_t).map(|(log_first, ratio)| (self.log_rest() + log_first, ratio))
    }

    fn recurrence_step(&self, y: f64) -> f64 {
        self.counts().recurrence_step(y)
    }

    fn most_information(&self, y: f64) -> f64 {
        self.counts().most_information(y)
    }

    fn draw<R: Rng + ?Sized>(&self, t: f64, rng: &mut R) -> Result<f64, Error> {
        if rng.random::<f64>() < self.share() { Ok(0.0) } else { self.counts().draw(t, rng) }
    }
}

impl<L: CountPrediction> CountPrediction for Offset<L> {
    fn predictive_moments(&self, a: f64, nu: f64) -> (f64, f64) {
        self.likelihood().predictive_moments(a + self.offset(), nu)
    }

    fn cdf(&self, y: f64, t: f64) -> f64 {
        self.likelihood().cdf(y, t + self.offset())
    }

    fn predictive_cdf(&self, y: f64, a: f64, nu: f64) -> Result<f64, Error> {
        self.likelihood().predictive_cdf(y, a + self.offset(), nu)
    }

    fn largest(&self) -> f64 {
        self.likelihood().largest()
    }

    fn excess(&self) -> f64 {
        self.likelihood().excess()
    }

    fn recurrence(&self, exp_t: f64) -> Option<(f64, f64)> {
        self.likelihood().recurrence(exp_t * self.offset().exp())
    }

    fn recurrence_step(&self, y: f64) -> f64 {
        self.likelihood().recurrence_step(y)
    }

    fn most_information(&self, y: f64) -> f64 {
        self.likelihood().most_information(y)
    }

    fn draw<R: Rng + ?Sized>(&self, t: f64, rng: &mut R) -> Result<f64, Error> {
        self.likelihood().draw(t + self.offset(), rng)
    }
}

fn lognormal_variance(mean: f64, nu: f64) -> f64 {
    // 0·∞ if the mean has underflowed.
    if mean == 0.0 { 0.0 } else { mean * mean * nu.exp_m1() }
}

/// A draw at mean `m`; 0 for a mean too small for the generator.
fn poisson_draw<R: Rng + ?Sized>(m: f64, t: f64, rng: &mut R) -> Result<f64, Error> {
    if m < f64::MIN_POSITIVE {
        return Ok(0.0);
    }
    Ok(PoissonDraw::new(m).map_err(|_| not_drawable(t))?.sample(rng))
}

fn not_drawable(t: f64) -> Error {
    Error::Overflow { quantity: "mean of a count, from the predictor", value: t }
}

impl Binomial<Mixture8> {
    fn crossing(self, y: f64) -> Crossing {
        Crossing::beta(y + 1.0, self.trials() - y, 0.0)
    }
}

impl Poisson {
    fn crossing(&self, y: f64) -> Crossing {
        Crossing::gamma(y + 1.0, self.exposure().ln())
    }
}

impl NegativeBinomial<Mixture8> {
    fn crossing(&self, y: f64) -> Crossing {
        Crossing::beta(y + 1.0, self.size(), self.exposure().ln() - self.size().ln())
    }
}
