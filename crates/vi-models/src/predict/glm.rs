//! Predictions of classes and counts, labels that are not the predictor itself.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::{DenseGaussian, Error, Likelihoods, Projection};
use vi_linalg::faer::MatRef;

use super::count_families::CountPrediction;
use super::{Predictive, count_quantile, few};
use crate::{Interval, ModelError, check};

/// The prediction of a label by a generalised linear model at one row.
///
/// ```
/// use vi_core::Projection;
/// use vi_models::likelihood::Poisson;
/// use vi_models::predict::{CountsPredicted, Predictive};
/// let seen = Projection { mean: f64::ln(4.0), variance: 0.0 };
/// let visits = CountsPredicted::new(seen, Poisson::default());
/// assert!((visits.mean - 4.0).abs() < 1e-14 && (visits.variance - 4.0).abs() < 1e-14);
/// // P(Y ≤ 1) = 5e⁻⁴ = 0.092, P(Y ≤ 7) = 0.949, P(Y ≤ 8) = 0.979.
/// assert_eq!(visits.quantile(0.05)?, 1.0);
/// assert_eq!(visits.interval(0.9)?.upper, 8.0);
/// assert!((visits.log_density(0.0)? + 4.0).abs() < 1e-13);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CountsPredicted<L> {
    /// The predictor `t = xᵀθ ~ N(a, ν)`.
    pub projection: Projection,
    /// The predictive mean `E[y]`.
    pub mean: f64,
    /// The predictive variance `Var[y]`: the label's own plus that from uncertain `θ`.
    pub variance: f64,
    likelihood: L,
}

impl<L: CountPrediction> CountsPredicted<L> {
    /// The prediction from `xᵀθ ~ N(a, ν)`, `ν ≥ 0`.
    #[must_use]
    pub fn new(seen: Projection, likelihood: L) -> Self {
        let (mean, variance) = likelihood.predictive_moments(seen.mean, seen.variance);
        Self { projection: seen, mean, variance, likelihood }
    }

    /// The family, with what is known of this label's offset, exposure or trials.
    pub(crate) fn likelihood(&self) -> &L {
        &self.likelihood
    }

    /// A draw of the label.
    ///
    /// # Errors
    /// `Overflow` for a mean beyond what a generator of counts can take.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<f64, ModelError> {
        let z: f64 = StandardNormal.sample(rng);
        Ok(self.likelihood.draw(self.projection.mean + self.projection.variance.sqrt() * z, rng)?)
    }
}

impl<L: CountPrediction> Predictive for CountsPredicted<L> {
    fn mean(&self) -> f64 {
        self.mean
    }

    fn variance(&self) -> f64 {
        self.variance
    }

    fn is_discrete(&self) -> bool {
        true
    }

    /// The log predictive density `log p(y)` in nats, averaged over the posterior of `θ`.
    ///
    /// # Errors
    /// `Label`, `NonFinite`; `Quadrature`.
    fn log_density(&self, y: f64) -> Result<f64, ModelError> {
        self.likelihood.check_label(y)?;
        let Projection { mean, variance } = self.projection;
        let log_density = self.likelihood.log_predictive(y, mean, variance);
        if log_density.is_nan() {
            // A failed quadrature gives its own error.
            self.likelihood.tilted(y, mean, variance)?;
            return Err(Error::NonFinite { argument: "log predictive density", index: 0, value: log_density }.into());
        }
        Ok(log_density)
    }

    /// The distribution function `P(Y ≤ y)`, to 1e-10 for counts and to 2.1e-9 for a logistic class. A count is at most `y` if
    /// the predictor lies below a variable of known density, so the cost does not grow with the count: some 1 µs.
    ///
    /// # Errors
    /// `NonFinite`, `Quadrature`.
    fn cdf(&self, y: f64) -> Result<f64, ModelError> {
        check::values("y", &[y])?;
        if y < 0.0 {
            return Ok(0.0);
        }
        let y = y.floor();
        if y >= self.likelihood.largest() {
            return Ok(1.0);
        }
        Ok(self.likelihood.predictive_cdf(y, self.projection.mean, self.projection.variance)?)
    }

    /// The smallest label `y` with `P(Y ≤ y) ≥ p`. It costs as much as 1 to 3 of [`cdf`](Self::cdf) if counts are small, 3 to 6
    /// if they are large, at most some 120.
    ///
    /// # Errors
    /// `Setting` unless `0 < p < 1`; `Overflow` for a quantile beyond 2⁵³; `Quadrature`.
    fn quantile(&self, p: f64) -> Result<f64, ModelError> {
        check::probability("level", p)?;
        if let Some([y]) = few::quantiles(std::iter::once((1.0, self)), [p]) {
            return Ok(y);
        }
        let Projection { mean, variance } = self.projection;
        count_quantile::search(&self.likelihood, p, (mean, variance), |y| self.cdf(y))
    }

    /// The central interval of labels: it holds at least `level` of the mass, and more where few labels are likely.
    ///
    /// # Errors
    /// As [`quantile`](Self::quantile).
    fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        check::probability("level", level)?;
        let tail = 0.5 * (1.0 - level);
        match few::quantiles(std::iter::once((1.0, self)), [tail, 1.0 - tail]) {
            Some([lower, upper]) => Ok(Interval { lower, upper }),
            None => Ok(Interval { lower: self.quantile(tail)?, upper: self.quantile(1.0 - tail)? }),
        }
    }
}

/// The predictions of the labels of every row of `x` (`n × d`) under one likelihood, or one for each row
/// ([`PerRow`](vi_core::PerRow)). Cost `2nd²` flops.
///
/// # Errors
/// Those of [`project`](super::project); `Dimension` for another number of likelihoods.
///
/// ```
/// use vi_core::{DenseGaussian, PerRow};
/// use vi_linalg::faer::mat;
/// use vi_models::{likelihood::Poisson, predict};
/// let belief = DenseGaussian::isotropic(&[0.5], 0.1)?;
/// let exposures = [Poisson::new(1.0)?, Poisson::new(10.0)?];
/// let predicted = predict::counts(&belief, mat![[1.0], [1.0]].as_ref(), &PerRow(&exposures))?;
/// assert!((predicted[1].mean / predicted[0].mean - 10.0).abs() < 1e-12);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn counts<L>(
    belief: &DenseGaussian,
    x: MatRef<'_, f64>,
    likelihood: &L,
) -> Result<Vec<CountsPredicted<L::Row>>, ModelError>
where
    L: Likelihoods<Row: CountPrediction + Clone>,
{
    likelihood.check_rows(x.nrows())?;
    let predict = |(t, seen)| CountsPredicted::new(seen, likelihood.likelihood_of(t).clone());
    Ok(super::project(belief, x)?.into_iter().enumerate().map(predict).collect())
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use vi_core::{BernoulliLogit, Mixture8};

    use super::*;
    use crate::likelihood::{BernoulliProbit, Binomial, NegativeBinomial, Offset, Poisson, ZeroInflated};

    const SEEN: [Projection; 4] = [
        Projection { mean: 0.3, variance: 0.0 },
        Projection { mean: -1.0, variance: 0.4 },
        Projection { mean: 1.5, variance: 0.09 },
        Projection { mean: 0.5, variance: 1.0 },
    ];

    /// Mean, variance and distribution against sums of the predictive density over labels up to `last`.
    fn against_sums<L: CountPrediction + Copy>(likelihood: L, last: u32, tolerance: f64) {
        for seen in SEEN {
            let predicted = CountsPredicted::new(seen, likelihood);
            let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
            for y in 0..=last {
                let y = f64::from(y);
                let p = predicted.log_density(y).unwrap().exp();
                total += p;
                first += p * y;
                second += p * y * y;
                let below = predicted.cdf(y).unwrap();
                assert!((below - total).abs() < tolerance, "{seen:?}, {y}: {below} {total}");
            }
            assert!(
                (predicted.mean / first - 1.0).abs() < tolerance * first.max(1.0),
                "{seen:?}: {} {first}",
                predicted.mean
            );
            let variance = second - first * first;
            assert!(
                (predicted.variance / variance - 1.0).abs() < 10.0 * tolerance * second,
                "{seen:?}: {} {variance}",
                predicted.variance
            );
            for p in [0.01, 0.3, 0.5, 0.9, 0.99] {
                let y = predicted.quantile(p).unwrap();
                assert!(predicted.cdf(y).unwrap() >= p && (y == 0.0 || predicted.cdf(y - 1.0).unwrap() < p));
            }
        }
    }

    #[test]
    fn moments_and_distributions_are_sums_of_the_predictive_density() {
        // The mixture of probits is off by 2.1e-9 in each of at most 12 factors; quadrature and the tail beyond `last` are far
        // below, but for the heavy tail of the counts at ν = 1, whose probability beyond 4000 is about Φ(−7.8)·4000.
        against_sums(BernoulliLogit(Mixture8), 1, 1e-8);
        against_sums(BernoulliProbit, 1, 1e-10);
        against_sums(Binomial::new(12.0).unwrap(), 12, 12.0 * 1e-8);
        against_sums(Poisson::new(1.5).unwrap(), 4000, 1e-9);
        let spread = NegativeBinomial::new(3.0).unwrap().with_exposure(0.7).unwrap();
        against_sums(spread, 4000, 1e-7);
        against_sums(ZeroInflated::new(0.4, spread).unwrap(), 4000, 1e-7);
    }

    #[test]
    fn draws_have_the_predictive_moments() {
        let seen = SEEN[1];
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let n = 20_000;
        let mut check = |mean: f64, variance: f64, mut draw: Box<dyn FnMut(&mut ChaCha8Rng) -> f64>| {
            let average = (0..n).map(|_| draw(&mut rng)).sum::<f64>() / f64::from(n);
            assert!((average - mean).abs() < 5.0 * (variance / f64::from(n)).sqrt(), "{average} {mean}");
        };
        let poisson = CountsPredicted::new(seen, Poisson::new(9.0).unwrap());
        check(poisson.mean, poisson.variance, Box::new(move |rng| poisson.draw(rng).unwrap()));
        let binomial = CountsPredicted::new(seen, Binomial::new(7.0).unwrap());
        check(binomial.mean, binomial.variance, Box::new(move |rng| binomial.draw(rng).unwrap()));
        let spread = CountsPredicted::new(seen, NegativeBinomial::new(2.0).unwrap());
        check(spread.mean, spread.variance, Box::new(move |rng| spread.draw(rng).unwrap()));
        let inflated = CountsPredicted::new(seen, ZeroInflated::new(0.4, NegativeBinomial::new(2.0).unwrap()).unwrap());
        check(inflated.mean, inflated.variance, Box::new(move |rng| inflated.draw(rng).unwrap()));
        let offset = CountsPredicted::new(seen, Offset::new(BernoulliProbit, 0.7).unwrap());
        check(offset.mean, offset.variance, Box::new(move |rng| offset.draw(rng).unwrap()));
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        let predicted = CountsPredicted::new(SEEN[0], Poisson::default());
        assert!(predicted.quantile(1.0).is_err() && predicted.quantile(f64::NAN).is_err());
        assert!(predicted.log_density(-1.0).is_err() && predicted.log_density(0.5).is_err());
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let beyond = CountsPredicted::new(Projection { mean: 800.0, variance: 0.0 }, Poisson::default());
        assert!(beyond.draw(&mut rng).is_err() && beyond.quantile(0.5).is_err());
        let nothing = CountsPredicted::new(Projection { mean: -800.0, variance: 0.0 }, Poisson::default());
        assert_eq!(nothing.draw(&mut rng).unwrap(), 0.0);
    }
}
