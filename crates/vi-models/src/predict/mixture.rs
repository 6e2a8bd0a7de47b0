//! The weighted average of several predictions.

use vi_core::Error;
use vi_core::special::{log_sum_exp, normal_quantile};

use super::Predictive;
use super::count_quantile::secant;
use crate::{ModelError, check};

/// How far from 1 the weights may sum: a generous allowance for rounding.
const ROUNDING: f64 = 1e-9;
/// The most halvings in the search for a quantile.
const MOST_HALVINGS: usize = 200;
/// The relative width at which the search for a quantile of a real number ends.
const WIDTH: f64 = 1e-13;

/// The mixture `Σ w_k·p_k` of several predictions of one quantity, such as those of models that differ in a prior scale, weighted
/// by their evidence.
///
/// ```text
/// E = Σ w_k·m_k      Var = Σ w_k·[v_k + (m_k − E)²]      log p(y) = log Σ w_k·p_k(y)      P(Y ≤ y) = Σ w_k·P_k(Y ≤ y)
/// ```
///
/// A quantile lies between the least and the largest of the components' quantiles and is found there by bisection and secants on
/// the distribution function, in some 5 to 10 evaluations.
///
/// ```
/// use vi_core::{GaussianLikelihood, Projection};
/// use vi_models::predict::{LinearPrediction, Mixture, Predictive};
/// let noise = GaussianLikelihood::new(1.0)?;
/// let at = |mean| LinearPrediction::new(Projection { mean, variance: 0.0 }, noise);
/// let mixture = Mixture::new(vec![at(-2.0), at(2.0)], vec![0.5, 0.5])?;
/// assert_eq!((mixture.mean(), mixture.variance()), (0.0, 5.0));
/// assert!(mixture.quantile(0.5)?.abs() < 1e-12);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture<P> {
    components: Vec<P>,
    weights: Vec<f64>,
}

impl<P: Predictive> Mixture<P> {
    /// The mixture of `components` with as many `weights`, which are not negative and sum to 1.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Empty`, `Dimension`, `Entry` for a weight that is negative or not finite, `Setting` for their
    /// sum.
    pub fn new(components: Vec<P>, weights: Vec<f64>) -> Result<Self, ModelError> {
        if components.is_empty() {
            return Err(Error::Empty { argument: "components" }.into());
        }
        check::length("weights", components.len(), weights.len())?;
        if let Some(index) = weights.iter().position(|weight| !(*weight >= 0.0 && weight.is_finite())) {
            let (value, requirement) = (weights[index], "finite and not negative");
            return Err(Error::Entry { argument: "weights", index, value, requirement }.into());
        }
        let sum: f64 = weights.iter().sum();
        if (sum - 1.0).abs() > ROUNDING {
            return Err(Error::Setting { name: "sum of the weights", value: sum, requirement: "1" }.into());
        }
        Ok(Self { components, weights })
    }

    /// The components.
    pub(crate) fn components(&self) -> &[P] {
        &self.components
    }

    /// The weights of the components, which sum to 1.
    pub(crate) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The components of positive weight.
    pub(super) fn weighted(&self) -> impl Iterator<Item = (f64, &P)> + Clone {
        self.weights.iter().copied().zip(&self.components).filter(|(weight, _)| *weight > 0.0)
    }

    /// The smallest whole number in `(below, above]` with `P(Y ≤ y) ≥ p`, which holds at `above` and not at `below`: secants of
    /// `Φ⁻¹(cdf)`, every third time the middle.
    fn whole_quantile(&self, p: f64, (below, above): (f64, f64)) -> Result<f64, ModelError> {
        let z = normal_quantile(p);
        let (mut below, mut above) = ((below, self.cdf(below)?), (above, self.cdf(above)?));
        for step in 1.. {
            if above.0 - below.0 <= 1.0 {
                break;
            }
            let middle = if step % 3 == 0 { halfway(below.0.max(0.5), above.0) } else { secant(below, above, z) };
            let middle = middle.floor().max(below.0 + 1.0).min(above.0 - 1.0);
            if middle <= below.0 || middle >= above.0 {
                break; // beyond 2⁵³, where whole numbers are further apart than 1
            }
            let here = (middle, self.cdf(middle)?);
            if here.1 >= p {
                above = here;
            } else {
                below = here;
            }
        }
        Ok(above.0)
    }

    /// The root of `P(Y ≤ y) = p` in `[low, high]`: secants through the ends of the bracket (the Illinois rule), bisection every
    /// third time.
    fn real_quantile(&self, p: f64, (mut low, mut high): (f64, f64)) -> Result<f64, ModelError> {
        let (mut at_low, mut at_high) = (self.cdf(low)? - p, self.cdf(high)? - p);
        if at_low >= 0.0 {
            return Ok(low);
        }
        for step in 1..=MOST_HALVINGS {
            if high - low <= WIDTH * low.abs().max(high.abs()) || at_high <= 0.0 {
                break;
            }
            let secant = low - at_low * ((high - low) / (at_high - at_low));
            let inside = secant > low && secant < high && step % 3 != 0;
            let middle = if inside { secant } else { halfway(low, high) };
            let here = self.cdf(middle)? - p;
            if here.abs() <= f64::EPSILON * p {
                return Ok(middle);
            }
            if here > 0.0 {
                (high, at_high, at_low) = (middle, here, if inside { 0.5 * at_low } else { at_low });
            } else {
                (low, at_low, at_high) = (middle, here, if inside { 0.5 * at_high } else { at_high });
            }
        }
        Ok(halfway(low, high))
    }
}

/// The middle of a bracket, on a logarithmic scale if its ends differ by orders of magnitude.
fn halfway(low: f64, high: f64) -> f64 {
    if low > 0.0 && high > 4.0 * low { low.sqrt() * high.sqrt() } else { 0.5 * low + 0.5 * high }
}

impl<P: Predictive> Predictive for Mixture<P> {
    fn mean(&self) -> f64 {
        self.weighted().map(|(weight, part)| weight * part.mean()).sum()
    }

    fn variance(&self) -> f64 {
        let mean = self.mean();
        self.weighted().map(|(weight, part)| weight * (part.variance() + (part.mean() - mean).powi(2))).sum()
    }

    fn is_discrete(&self) -> bool {
        self.components[0].is_discrete()
    }

    fn log_density(&self, y: f64) -> Result<f64, ModelError> {
        let logs = self.weighted().map(|(weight, part)| Ok(weight.ln() + part.log_density(y)?));
        let logs = logs.collect::<Result<Vec<f64>, ModelError>>()?;
        Ok(log_sum_exp(logs.iter().copied()))
    }

    fn cdf(&self, value: f64) -> Result<f64, ModelError> {
        let sum = self
            .weighted()
            .try_fold(0.0, |sum, (weight, part)| part.cdf(value).map(|probability| sum + weight * probability))?;
        Ok(f64::min(sum, 1.0))
    }

    fn quantile(&self, p: f64) -> Result<f64, ModelError> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (_, part) in self.weighted() {
            let quantile = part.quantile(p)?;
            (low, high) = (low.min(quantile), high.max(quantile));
        }
        if low == high {
            Ok(low)
        } else if self.is_discrete() {
            self.whole_quantile(p, (low - 1.0, high))
        } else {
            self.real_quantile(p, (low, high))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use vi_core::{GaussianLikelihood, Mixture8, Projection};

    use super::*;
    use crate::likelihood::Poisson;
    use crate::predict::{CountsPredicted, LinearPrediction, LogisticPrediction};

    fn seen(mean: f64, variance: f64) -> Projection {
        Projection { mean, variance }
    }

    #[test]
    fn quantiles_invert_the_distribution_function() {
        let noise = GaussianLikelihood::new(0.3).unwrap();
        let parts = [(0.0, 1.0), (3.0, 0.01), (-40.0, 9.0)];
        let linear = parts.map(|(mean, variance)| LinearPrediction::new(seen(mean, variance), noise));
        let linear = Mixture::new(linear.to_vec(), vec![0.6, 0.3, 0.1]).unwrap();
        let logit = parts.map(|(mean, variance)| LogisticPrediction::new(seen(mean, variance), &Mixture8));
        let logit = Mixture::new(logit.to_vec(), vec![0.6, 0.3, 0.1]).unwrap();
        for p in [1e-6, 0.05, 0.1, 0.3, 0.9, 1.0 - 1e-6] {
            // A quantile is good to 1e-13 of its size; densities times the quantile are below 40.
            let (y, q) = (linear.quantile(p).unwrap(), logit.quantile(p).unwrap());
            assert!((linear.cdf(y).unwrap() - p).abs() < 1e-11, "{p}: {y}");
            assert!((logit.cdf(q).unwrap() - p).abs() < 1e-11, "{p}: {q}");
        }
        let counts = [(1.0, 0.5), (4.0, 0.01)]
            .map(|(mean, variance)| CountsPredicted::new(seen(mean, variance), Poisson::default()));
        let counts = Mixture::new(counts.to_vec(), vec![0.2, 0.8]).unwrap();
        for p in [0.01, 0.2, 0.21, 0.5, 0.99] {
            let y = counts.quantile(p).unwrap();
            assert!(counts.cdf(y).unwrap() >= p && (y == 0.0 || counts.cdf(y - 1.0).unwrap() < p), "{p}: {y}");
        }
    }

    /// A count whose distribution function counts how often it is asked.
    #[derive(Debug)]
    struct Asked(Cell<usize>, CountsPredicted<Poisson>);

    impl Predictive for Asked {
        fn mean(&self) -> f64 {
            self.1.mean()
        }
        fn variance(&self) -> f64 {
            self.1.variance()
        }
        fn is_discrete(&self) -> bool {
            true
        }
        fn log_density(&self, y: f64) -> Result<f64, ModelError> {
            self.1.log_density(y)
        }
        fn cdf(&self, y: f64) -> Result<f64, ModelError> {
            self.0.set(self.0.get() + 1);
            self.1.cdf(y)
        }
        fn quantile(&self, p: f64) -> Result<f64, ModelError> {
            self.1.quantile(p)
        }
    }

    #[test]
    fn a_quantile_of_counts_far_apart_takes_few_looks() {
        let parts = [(0.0, 1.0), (14.0, 0.3), (30.0, 2.0)].map(|(mean, variance)| {
            Asked(Cell::new(0), CountsPredicted::new(seen(mean, variance), Poisson::default()))
        });
        let mixture = Mixture::new(parts.into(), vec![0.3, 0.3, 0.4]).unwrap();
        for (k, p) in [0.01, 0.29, 0.31, 0.6, 0.65, 0.99].into_iter().enumerate() {
            let y = mixture.quantile(p).unwrap();
            assert!(mixture.cdf(y).unwrap() >= p && mixture.cdf(y - 1.0).unwrap() < p, "{p}: {y}");
            // Fifty halvings and more without secants.
            let asked = mixture.components()[0].0.get();
            assert!(asked <= 40 * (k + 1), "{p}: {asked}");
        }
    }

    #[test]
    fn one_component_and_equal_components_are_themselves() {
        let one = CountsPredicted::new(seen(1.0, 0.5), Poisson::default());
        let mixture = Mixture::new(vec![one, one, one], vec![0.25, 0.0, 0.75]).unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() <= 8.0 * f64::EPSILON * b.abs(), "{a} {b}"); // sums of two terms
        close(mixture.mean(), one.mean);
        close(mixture.variance(), one.variance);
        close(mixture.log_density(3.0).unwrap(), one.log_density(3.0).unwrap());
        close(mixture.cdf(3.0).unwrap(), one.cdf(3.0).unwrap());
        assert_eq!(mixture.interval(0.9).unwrap(), one.interval(0.9).unwrap());
    }

    #[test]
    fn weights_that_are_none_are_named() {
        let one = CountsPredicted::new(seen(1.0, 0.5), Poisson::default());
        assert!(Mixture::<CountsPredicted<Poisson>>::new(vec![], vec![]).is_err());
        for weights in [vec![1.0], vec![0.5, 0.6], vec![1.5, -0.5], vec![f64::NAN, 1.0]] {
            assert!(Mixture::new(vec![one, one], weights).is_err());
        }
    }
}
