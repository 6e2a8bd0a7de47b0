//! Predictions of models that average over prior scales.

use rand::{Rng, RngExt};
use vi_core::expectation::LogisticExpectation;
use vi_core::special::sigmoid;
use vi_core::{Mixture8, Projection};

use crate::marginal::{log_sum_exp, pick};
use crate::predict::{CountPrediction, CountsPredicted, LogisticPrediction, Mixture, Predictive};
use crate::softmax::SoftmaxPrediction;
use crate::{Interval, Marginal, ModelError, check};

/// The prediction of a label 0 or 1 by a logistic regression.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProbabilityPredicted {
    /// The posterior of the log odds `t = offset + intercept + xᵀw`.
    pub predictor: Marginal,
    /// `E s(t)`, the probability of label 1.
    pub probability: f64,
    /// `Var s(t)`, the uncertainty of the probability that comes from the weights.
    pub variance: f64,
    /// `s(E t)`, the probability at the mean of the weights; further from ½ than [`probability`](Self::probability).
    pub plug_in: f64,
}

/// Below this probability of a label its logarithm is computed directly, not from the rounded probability.
const FEW_DIGITS: f64 = 1e-3;

impl ProbabilityPredicted {
    pub(super) fn new(seen: &[(f64, Projection)]) -> Self {
        let parts: Vec<(f64, LogisticPrediction)> =
            seen.iter().map(|(weight, seen)| (*weight, LogisticPrediction::new(*seen, &Mixture8))).collect();
        let predictor = Marginal::of_gaussians(seen);
        let (probability, variance) =
            moments(parts.iter().map(|(weight, part)| (*weight, part.probability, part.variance)));
        Self { plug_in: sigmoid(predictor.mean()), predictor, probability: probability.clamp(0.0, 1.0), variance }
    }

    /// The probability `q` with `P(s(t) ≤ q) = p`: `s` of the quantile of the log odds, since `s` increases.
    ///
    /// # Errors
    /// `Setting` unless `0 < p < 1`.
    pub fn quantile(&self, p: f64) -> Result<f64, ModelError> {
        Ok(sigmoid(self.predictor.quantile(p)?))
    }

    /// The central interval that holds `s(t)` with probability `level`.
    ///
    /// # Errors
    /// `Setting` unless `0 < level < 1`.
    pub fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        let Interval { lower, upper } = self.predictor.interval(level)?;
        Ok(Interval { lower: sigmoid(lower), upper: sigmoid(upper) })
    }

    /// `log p(y)` of a label 0 or 1, in nats.
    ///
    /// # Errors
    /// [`ModelError::BinaryLabel`].
    pub fn log_density(&self, label: f64) -> Result<f64, ModelError> {
        check::binary(&[label])?;
        let (own, sign) = if label == 1.0 { (self.probability, 1.0) } else { (1.0 - self.probability, -1.0) };
        if own > FEW_DIGITS {
            return Ok(own.ln());
        }
        // The probability of a label that is nearly impossible has lost its digits, or rounded to 0.
        let log =
            |(weight, mean, variance): (f64, f64, f64)| weight.ln() + Mixture8.log_sigmoid_mean(sign * mean, variance);
        Ok(log_sum_exp(self.predictor.gaussians().map(log)).min(0.0))
    }

    /// One draw of the probability `s(t)`, as from a draw of the weights.
    ///
    /// # Errors
    /// As [`Marginal::draw`].
    pub fn draw_probability<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<f64, ModelError> {
        Ok(sigmoid(self.predictor.draw(rng)?))
    }

    /// One draw of the label: 1 with the predictive [`probability`](Self::probability), else 0.
    pub fn draw_label<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        f64::from(rng.random::<f64>() < self.probability)
    }
}

/// Mean and variance of a mixture from `(weight, mean, variance)` of its parts.
pub(super) fn moments(parts: impl Iterator<Item = (f64, f64, f64)> + Clone) -> (f64, f64) {
    let mean: f64 = parts.clone().map(|(weight, mean, _)| weight * mean).sum();
    // Deviations from an infinite mean are not defined.
    let spread = |own: f64| if own.is_finite() && mean.is_finite() { (own - mean) * (own - mean) } else { 0.0 };
    (mean, parts.map(|(weight, own, variance)| weight * (variance + spread(own))).sum())
}

/// The prediction of a label of an [`OnlineGlm`](super::OnlineGlm): a class or a count.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LabelPredicted<L> {
    /// The posterior of the predictor `t = offset + intercept + xᵀw`.
    pub predictor: Marginal,
    /// The predictive mean `E[y]`.
    pub mean: f64,
    /// The predictive variance `Var[y]`: the label's own plus that from uncertain weights.
    pub variance: f64,
    label: Mixture<CountsPredicted<L>>,
}

impl<L: CountPrediction> LabelPredicted<L> {
    /// The prediction from the members' projections, and from `(weight, projection, likelihood)` of the parts that labels average
    /// over.
    pub(super) fn new(seen: &[(f64, Projection)], parts: Vec<(f64, Projection, L)>) -> Result<Self, ModelError> {
        let (weights, parts): (Vec<f64>, Vec<CountsPredicted<L>>) = parts
            .into_iter()
            .map(|(weight, seen, likelihood)| (weight, CountsPredicted::new(seen, likelihood)))
            .unzip();
        let label = Mixture::new(parts, weights)?;
        let mean = check::result("expected label", label.mean())?;
        let variance = check::result("variance of the label", label.variance())?;
        Ok(Self { predictor: Marginal::of_gaussians(seen), mean, variance, label })
    }

    /// The probability that the label is an excess zero; 0 in families that have none.
    #[must_use]
    pub fn excess(&self) -> f64 {
        let parts = self.label.weights().iter().zip(self.label.components());
        parts.map(|(weight, part)| weight * part.likelihood().excess()).sum()
    }

    /// The predictive density `log p(y)` in nats, averaged over the posterior of the weights.
    ///
    /// # Errors
    /// `Label`, `NonFinite`, `Quadrature`.
    pub fn log_density(&self, y: f64) -> Result<f64, ModelError> {
        self.label.log_density(y)
    }

    /// The predictive distribution function `P(Y ≤ y)`; see [`CountsPredicted::cdf`].
    ///
    /// # Errors
    /// `NonFinite`, `Quadrature`.
    pub fn cdf(&self, y: f64) -> Result<f64, ModelError> {
        self.label.cdf(y)
    }

    /// The smallest label `y` with `P(Y ≤ y) ≥ p`.
    ///
    /// # Errors
    /// `Setting` unless `0 < p < 1`; `Overflow` for a quantile beyond 2⁵³; `Quadrature`.
    pub fn quantile(&self, p: f64) -> Result<f64, ModelError> {
        self.label.label_quantile(p)
    }

    /// The central interval of labels: it holds at least `level` of the mass, and more where few labels are likely.
    ///
    /// # Errors
    /// As [`quantile`](Self::quantile).
    pub fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        self.label.label_interval(level)
    }

    /// The continuous ranked probability score of a label, `∫ (F(x) − 1[x ≥ y])² dx`, for whole `y` the sum `Σ_k (P(Y ≤ k) − 1[k ≥ y])²`: an error in counts, lower is better; of a label 0 or 1
    /// Brier's score. Where more than 256 counts are likely, sums go by strides, good to a thousandth of the spread.
    ///
    /// # Errors
    /// Those of [`cdf`](Self::cdf) and [`quantile`](Self::quantile).
    pub fn crps(&self, y: f64) -> Result<f64, ModelError> {
        const LEFT: f64 = 1e-7;
        const TERMS: f64 = 256.0;
        let likely = [self.quantile(LEFT)?, self.quantile(1.0 - LEFT)? + 1.0];
        // Sums on either side of the label, beyond which the distribution function steps.
        let side = |from: f64, to: f64, of: &dyn Fn(f64) -> f64| -> Result<f64, ModelError> {
            let stride = ((to - from) / TERMS).ceil().max(1.0);
            let (mut at, mut sum) = (from, 0.0);
            while at < to {
                // Pieces end at whole numbers, where the distribution function steps.
                let next = (at.floor() + stride).min(to);
                let middle = (at.floor() + 0.5 * (next.ceil() - at.floor() - 1.0)).floor();
                sum += (next - at) * of(self.cdf(middle)?).powi(2);
                at = next;
            }
            Ok(sum)
        };
        // Between a label far out and the likely ones every term is 1.
        let inside = y.clamp(likely[0], likely[1]);
        Ok((inside - y).abs() + side(likely[0], inside, &|p| p)? + side(inside, likely[1], &|p| 1.0 - p)?)
    }

    /// A draw of the label.
    ///
    /// # Errors
    /// `Overflow` for a mean too large for the generator of counts.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<f64, ModelError> {
        self.label.components()[pick(self.label.weights().iter().copied(), rng)].draw(rng)
    }
}

/// The average of predictions of a class.
pub(super) fn average(parts: &[(f64, SoftmaxPrediction)]) -> SoftmaxPrediction {
    let classes = parts.first().map_or(0, |(_, part)| part.probabilities.len());
    let of =
        |c: usize| moments(parts.iter().map(move |(weight, part)| (*weight, part.probabilities[c], part.variances[c])));
    let (probabilities, variances) = (0..classes).map(of).unzip();
    SoftmaxPrediction { probabilities, variances }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: [(f64, Projection); 2] =
        [(0.25, Projection { mean: 1.0, variance: 0.2 }), (0.75, Projection { mean: 0.2, variance: 1.5 })];

    #[test]
    fn a_probability_is_the_average_of_its_draws() {
        use rand::SeedableRng;
        let predicted = ProbabilityPredicted::new(&SEEN);
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(2);
        let n = 40_000;
        let draws: Vec<f64> = (0..n).map(|_| predicted.draw_probability(&mut rng).unwrap()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / f64::from(n);
        // 6 standard errors; of the variance below (1/4)/√n, as probabilities are within [0, 1].
        assert!((mean - predicted.probability).abs() < 6.0 * (predicted.variance / f64::from(n)).sqrt());
        assert!((variance - predicted.variance).abs() < 6.0 * 0.25 / f64::from(n).sqrt());
        let inside = predicted.interval(0.9).unwrap();
        let share = draws.iter().filter(|p| inside.contains(**p)).count() as f64 / f64::from(n);
        assert!((share - 0.9).abs() < 6.0 * (0.09 / f64::from(n)).sqrt());
        assert!(
            (predicted.log_density(1.0).unwrap().exp() + predicted.log_density(0.0).unwrap().exp() - 1.0).abs() < 1e-15
        );
        assert!(predicted.log_density(0.5).is_err());
    }

    #[test]
    fn what_is_all_but_impossible_keeps_its_digits() {
        for (label, sign) in [(0.0, 1.0), (1.0, -1.0)] {
            let at = |mean: f64| {
                let parts = [
                    (0.25, Projection { mean: sign * mean, variance: 1.0 }),
                    (0.75, Projection { mean: sign * 900.0, variance: 1.0 }),
                ];
                ProbabilityPredicted::new(&parts).log_density(label).unwrap()
            };
            // E e^(−t) = e^(½ − mean), and s(−t) is that but for e^(−mean) of it.
            assert!((at(60.0) - (0.5 - 60.0 + 0.25_f64.ln())).abs() < 1e-12 * 60.0, "{}", at(60.0));
            assert!((at(700.0) - (0.5 - 700.0 + 0.25_f64.ln())).abs() < 1e-12 * 700.0);
            // Where the two ways meet, they agree to the mixture's error.
            let (above, below) = (at(FEW_DIGITS.recip().ln() + 0.499), at(FEW_DIGITS.recip().ln() + 0.501));
            assert!((above - below).abs() < 0.01, "{above} {below}");
        }
    }
}
