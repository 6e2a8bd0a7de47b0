//! A Gaussian with a diagonal covariance, for dense and sparse rows.

use std::sync::OnceLock;

use super::{Belief, Projection};
use crate::check;
use crate::{Error, Row, Site};

/// The number of partial sums of a projection; entry `i` is added to sum `i mod LANES`, so that a sparse row adds the same terms
/// in the same order as a dense one.
const LANES: usize = 8;

/// A scale below this is multiplied into the numbers that it scales: a pass over all weights, after some 35,000 rows at `λ =
/// 0.99`.
const SMALLEST_SCALE: f64 = 1e-154;

/// The belief `θ ~ N(μ, P)` with diagonal `P`: `O(d)` memory, and work for the entries of a row alone.
///
/// ```text
/// a = xᵀμ,  ν = Σ xᵢ²Pᵢ;   μᵢ ← μᵢ + e·xᵢPᵢ,   1/Pᵢ ← 1/Pᵢ + h·xᵢ²
/// ```
///
/// The precision of a site's exact update is diagonal plus `h·xxᵀ`; this belief keeps only its diagonal (as does a low-rank
/// belief of rank 0). For rows of one nonzero that is exact.
///
/// What is kept is the prior and what observations have added to it, each with a scale of its own:
///
/// ```text
/// 1/Pᵢ = α·Λ₀ᵢ + s·eᵢ,    μᵢ = μ₀ᵢ + s·nᵢ·Pᵢ
/// ```
///
/// so that forgetting changes two numbers, `α ← λα` and `s ← λs`, and not `d`. The mean is computed when it is asked for: the
/// first call of [`mean`](Belief::mean) after a change costs `d` divisions.
///
/// ```
/// use vi_core::{Belief, BernoulliLogit, DiagonalGaussian, Implicit, Mixture8, filter};
/// let mut belief = DiagonalGaussian::isotropic(&[0.0; 5], 2.0)?;
/// let rule = Implicit(BernoulliLogit(Mixture8));
/// filter::step(&mut belief, &rule, (&[1, 4], &[1.0, -2.0]), 1.0, &mut filter::Scratch::default())?;
/// assert!(belief.mean()[1] > 0.0 && belief.mean()[4] < 0.0 && belief.mean()[0] == 0.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DiagonalGaussian {
    weights: Vec<Weight>,
    scales: Scales,
    /// The mean `μ`, computed when first asked for.
    shown: OnceLock<Vec<f64>>,
}

/// The numbers of one coordinate, side by side in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Weight {
    prior_mean: f64,
    prior_precision: f64,
    /// `e`.
    excess: f64,
    /// `n`.
    shift: f64,
}

/// `(α, s)`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scales {
    prior: f64,
    data: f64,
}

impl Scales {
    const ONE: Self = Self { prior: 1.0, data: 1.0 };

    fn faded(self, lambda: f64) -> Self {
        Self { prior: lambda * self.prior, data: lambda * self.data }
    }
}

impl Weight {
    fn precision(&self, scales: Scales) -> f64 {
        scales.prior * self.prior_precision + scales.data * self.excess
    }

    /// `μ − μ₀`, for `inverse = P`.
    fn deviation(&self, scales: Scales, inverse: f64) -> f64 {
        scales.data * self.shift * inverse
    }

    fn mean(&self, scales: Scales) -> f64 {
        self.prior_mean + self.deviation(scales, 1.0 / self.precision(scales))
    }
}

/// Memory for a step of a [`DiagonalGaussian`]: two numbers for each entry of a row.
#[derive(Debug, Clone)]
pub struct DiagonalStep {
    scales: Scales,
    projection: Projection,
    site: Site,
    /// `Pᵢ` after forgetting, for each entry of the row.
    variances: Vec<f64>,
}

impl Default for DiagonalStep {
    fn default() -> Self {
        Self { scales: Scales::ONE, projection: Projection::default(), site: Site::default(), variances: Vec::new() }
    }
}

impl DiagonalGaussian {
    /// The belief `N(mean, diag(variances))`, both of length `d`; variances in squared units of `θ`.
    ///
    /// # Errors
    /// [`Error::Empty`] for `d = 0`, [`Error::Dimension`], [`Error::NonFinite`], [`Error::NotPositiveDefinite`] with the
    /// index of a variance that is not positive or has no finite inverse.
    pub fn new(mean: &[f64], variances: &[f64]) -> Result<Self, Error> {
        check::length("variances", mean.len(), variances.len())?;
        check::finite("variances", variances)?;
        Self::from_precisions(mean, variances.iter().map(|variance| 1.0 / variance), "variances")
    }

    /// The belief `N(mean, diag(1/precisions))`, as a prior; as many precisions as means.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn from_precisions(
        mean: &[f64],
        precisions: impl Iterator<Item = f64>,
        argument: &'static str,
    ) -> Result<Self, Error> {
        if mean.is_empty() {
            return Err(Error::Empty { argument: "mean" });
        }
        check::finite("mean", mean)?;
        let weights: Vec<Weight> = mean
            .iter()
            .zip(precisions)
            .map(|(&prior_mean, prior_precision)| Weight { prior_mean, prior_precision, excess: 0.0, shift: 0.0 })
            .collect();
        match weights.iter().position(|weight| !(weight.prior_precision > 0.0 && weight.prior_precision.is_finite())) {
            None => Ok(Self { weights, scales: Scales::ONE, shown: OnceLock::new() }),
            Some(pivot) => Err(Error::NotPositiveDefinite { argument, pivot }),
        }
    }

    /// The belief `N(mean, σ₀²·I)`; `sigma0` is a standard deviation, in units of `θ`.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::NonFinite`], or [`Error::Setting`] unless `σ₀ > 0` and `σ₀²` and its inverse are finite.
    pub fn isotropic(mean: &[f64], sigma0: f64) -> Result<Self, Error> {
        check::positive("sigma0", sigma0)?;
        check::positive("sigma0²", sigma0 * sigma0)?;
        check::positive("1/sigma0²", 1.0 / (sigma0 * sigma0))?;
        Self::new(mean, &vec![sigma0 * sigma0; mean.len()])
    }

    /// The precisions `1/Pᵢ`, length `d` (a new vector).
    #[must_use]
    pub fn precisions(&self) -> Vec<f64> {
        self.weights.iter().map(|weight| weight.precision(self.scales)).collect()
    }

    /// The variances `Pᵢ`, length `d` (a new vector).
    #[must_use]
    pub fn variances(&self) -> Vec<f64> {
        self.weights.iter().map(|weight| 1.0 / weight.precision(self.scales)).collect()
    }

    /// The belief with the same prior and other means and precisions now, those of coordinate `i` being `moments(i)`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`], [`Error::NonFinite`].
    pub(crate) fn with_moments(&self, moments: impl Fn(usize) -> (f64, f64)) -> Result<Self, Error> {
        let scales = Scales { data: 1.0, ..self.scales };
        let mut next = Self { weights: self.weights.clone(), scales, shown: OnceLock::new() };
        for (i, weight) in next.weights.iter_mut().enumerate() {
            let (mean, precision) = moments(i);
            if !(precision > 0.0 && precision.is_finite()) {
                return Err(Error::NotPositiveDefinite { argument: "precisions", pivot: i });
            }
            if !mean.is_finite() {
                return Err(Error::NonFinite { argument: "mean", index: i, value: mean });
            }
            weight.excess = precision - scales.prior * weight.prior_precision;
            weight.shift = precision * (mean - weight.prior_mean);
        }
        Ok(next)
    }

    /// `(μᵢ, 1/Pᵢ)`.
    pub(crate) fn moments(&self, i: usize) -> (f64, f64) {
        (self.weights[i].mean(self.scales), self.weights[i].precision(self.scales))
    }

    /// Fades the belief, `P ← P/λ`, in `O(1)` but for the check of every variance.
    ///
    /// # Errors
    /// [`Error::NonFinite`] with the first variance that overflows.
    pub(crate) fn fade_by(&mut self, lambda: f64) -> Result<(), Error> {
        let faded = self.scales.faded(lambda);
        match self.weights.iter().position(|weight| !(1.0 / weight.precision(faded)).is_finite()) {
            None => {
                self.scales = faded;
                self.settle();
                Ok(())
            }
            Some(index) => Err(Error::NonFinite { argument: "variance", index, value: f64::INFINITY }),
        }
    }

    /// `α`.
    pub(crate) fn prior_left(&self) -> f64 {
        self.scales.prior
    }

    /// Returns the belief towards the prior that it was made with: `Λ ← λΛ + (1−λ)Λ₀`, `Λμ ← λΛμ + (1−λ)Λ₀μ₀`, `0 < λ ≤ 1`, as
    /// [`Forgetting::towards`](crate::Forgetting::towards) does, in `O(1)`.
    ///
    /// # Errors
    /// [`Error::Setting`].
    ///
    /// ```
    /// use vi_core::{Belief, DiagonalGaussian, Explicit, GaussianLikelihood, filter};
    /// let mut belief = DiagonalGaussian::isotropic(&[0.0], 1.0)?;
    /// let rule = Explicit(GaussianLikelihood::new(1.0)?);
    /// filter::step(&mut belief, &rule, &[1.0], 3.0, &mut filter::Scratch::default())?;
    /// belief.return_to_start(0.5)?;
    /// // Λ = ½·2 + ½·1, Λμ = ½·3.
    /// assert_eq!((belief.precisions()[0], belief.mean()[0]), (1.5, 1.0));
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn return_to_start(&mut self, lambda: f64) -> Result<(), Error> {
        if !(lambda > 0.0 && lambda <= 1.0) {
            return Err(Error::Setting { name: "lambda", value: lambda, requirement: "above 0 and at most 1" });
        }
        let Scales { prior, data } = self.scales;
        self.scales = Scales { prior: lambda * prior + (1.0 - lambda), data: lambda * data };
        self.settle();
        Ok(())
    }

    /// The numbers to store: `α`, `s` and, for each coordinate, `[μ₀, Λ₀, e, n]`.
    pub(crate) fn stored(&self) -> (f64, f64, impl Iterator<Item = [f64; 4]> + '_) {
        let weights = self.weights.iter().map(|w| [w.prior_mean, w.prior_precision, w.excess, w.shift]);
        (self.scales.prior, self.scales.data, weights)
    }

    /// The belief from its [`stored`](Self::stored) numbers.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::Setting`], [`Error::NonFinite`], [`Error::NotPositiveDefinite`].
    pub(crate) fn from_stored(prior: f64, data: f64, stored: &[[f64; 4]]) -> Result<Self, Error> {
        if stored.is_empty() {
            return Err(Error::Empty { argument: "mean" });
        }
        check::positive("scale of the prior", prior)?;
        check::positive("scale of the data", data)?;
        check::finite("weights", stored.as_flattened())?;
        let weights = stored
            .iter()
            .map(|&[prior_mean, prior_precision, excess, shift]| Weight { prior_mean, prior_precision, excess, shift })
            .collect();
        let belief = Self { weights, scales: Scales { prior, data }, shown: OnceLock::new() };
        let bad = |weight: &Weight, scales| {
            let precision = weight.precision(scales);
            !(precision > 0.0 && precision.is_finite() && weight.mean(scales).is_finite())
        };
        match belief.weights.iter().position(|weight| bad(weight, belief.scales)) {
            None => Ok(belief),
            Some(pivot) => Err(Error::NotPositiveDefinite { argument: "precisions", pivot }),
        }
    }

    /// Call this after any change: it drops the computed mean, and multiplies in a scale that has become small.
    fn settle(&mut self) {
        self.shown.take();
        if self.scales.data < SMALLEST_SCALE {
            for weight in &mut self.weights {
                weight.excess *= self.scales.data;
                weight.shift *= self.scales.data;
            }
            self.scales.data = 1.0;
        }
    }
}

impl PartialEq for DiagonalGaussian {
    fn eq(&self, other: &Self) -> bool {
        self.scales == other.scales && self.weights == other.weights
    }
}

impl Belief for DiagonalGaussian {
    type Step = DiagonalStep;

    fn dim(&self) -> usize {
        self.weights.len()
    }

    /// The first call after a change costs `d` divisions and a vector.
    fn mean(&self) -> &[f64] {
        self.shown.get_or_init(|| self.weights.iter().map(|weight| weight.mean(self.scales)).collect())
    }

    /// Cost one division and `7` flops for each entry of the row.
    fn project(&self, x: Row<'_>, fade: f64, step: &mut DiagonalStep) -> Result<Projection, Error> {
        let scales = self.scales.faded(fade);
        step.scales = scales;
        step.variances.clear();
        let (mut means, mut variances) = ([0.0; LANES], [0.0; LANES]);
        x.for_each(|i, x| {
            let weight = &self.weights[i];
            let inverse = 1.0 / weight.precision(scales);
            step.variances.push(inverse);
            means[i % LANES] += x * (weight.prior_mean + weight.deviation(scales, inverse));
            variances[i % LANES] += x * (x * inverse);
        });
        step.projection = Projection::new(means.iter().sum(), variances.iter().sum(), 0.0)?;
        Ok(step.projection)
    }

    /// Checks that every new precision is positive and finite (overflow, or rounding at a strongly negative curvature, may
    /// prevent it), and every new mean finite.
    fn prepare(&self, x: Row<'_>, site: Site, step: &mut DiagonalStep) -> Result<(), Error> {
        site.check(step.projection.variance)?;
        step.site = site;
        let gain = site.gain(step.projection.variance);
        let (mut found, mut k) = (Ok(()), 0);
        x.for_each(|i, x| {
            let weight = &self.weights[i];
            let (excess, shift) = weight.learned(x, site, gain, step.scales, step.variances[k]);
            k += 1;
            let next = Weight { excess, shift, ..*weight };
            let (precision, mean) = (next.precision(step.scales), next.mean(step.scales));
            if !(precision > 0.0 && precision.is_finite() && excess.is_finite()) && found.is_ok() {
                found = Err(Error::NotPositiveDefinite { argument: "precisions", pivot: i });
            } else if !(mean.is_finite() && shift.is_finite()) && found.is_ok() {
                found = check::result("μ + e·Px", mean).and_then(|_| check::result("Λμ", shift)).map(drop);
            }
        });
        found
    }

    fn commit(&mut self, x: Row<'_>, step: &mut DiagonalStep) {
        let DiagonalStep { scales, projection, site, ref variances } = *step;
        let gain = site.gain(projection.variance);
        let mut k = 0;
        x.for_each(|i, x| {
            let weight = &mut self.weights[i];
            (weight.excess, weight.shift) = weight.learned(x, site, gain, scales, variances[k]);
            k += 1;
        });
        self.scales = scales;
        self.settle();
    }
}

impl Weight {
    /// `(e, n)` after the site, for a coordinate with entry `x` and `inverse = P` before: with `δ = μ − μ₀`, `(Λ + h·x²)(δ +
    /// g̃·x·P) = Λδ + g̃·x + h·x²(δ + g̃·x·P)`, where `g̃ = g/(1+hν)`.
    fn learned(&self, x: f64, site: Site, gain: f64, scales: Scales, inverse: f64) -> (f64, f64) {
        let square = site.curvature * (x * x);
        let deviation = self.deviation(scales, inverse) + gain * (x * inverse);
        (self.excess + square / scales.data, self.shift + (gain * x + square * deviation) / scales.data)
    }
}
