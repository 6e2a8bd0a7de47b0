//! Regression with a horseshoe prior on plain slices: a scale of its own for each weight, integrated over by sampling.

mod linear;
mod logit;
mod polya_gamma;
mod sampler;

pub use linear::HorseshoeLinear;
pub use logit::{DrawnProbability, HorseshoeLogit};

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use vi_core::Error;
use vi_core::special::normal_quantile;
use vi_linalg::faer::MatRef;

use self::sampler::{Response, Sampler};
use super::scaling::Scaling;
use super::{Coefficients, drawn};
use crate::online::Draw;
use crate::{ModelError, check};

/// The settings of [`HorseshoeLinear`] and [`HorseshoeLogit`]; start from [`default`](Self::default).
///
/// ```
/// use vi_models::vb::HorseshoeSettings;
/// let settings = HorseshoeSettings { draws: 4000, ..HorseshoeSettings::default() };
/// assert!(settings.check().is_ok());
/// assert!(HorseshoeSettings { draws: 0, ..settings }.check().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HorseshoeSettings {
    /// Whether there is an intercept: with a flat prior, integrated out exactly, for numbers; with `N(0, 5²)` for classes.
    pub intercept: bool,
    /// The draws that are kept, one a sweep.
    pub draws: usize,
    /// The sweeps from the prior to the posterior before them, which also give the evidence.
    pub warm_up: usize,
}

impl Default for HorseshoeSettings {
    /// The default is an intercept, and 1000 draws after 1000 sweeps.
    fn default() -> Self {
        Self { intercept: true, draws: 1000, warm_up: 1000 }
    }
}

impl HorseshoeSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless both numbers of sweeps are between 10 and a million.
    pub fn check(&self) -> Result<(), ModelError> {
        for (name, sweeps) in [("draws", self.draws), ("warm_up", self.warm_up)] {
            if !(10..=vi_core::check::MOST_STEPS).contains(&sweeps) {
                let requirement = "between 10 and 1000000";
                return Err(Error::Setting { name, value: sweeps as f64, requirement }.into());
            }
        }
        Ok(())
    }
}

/// A report of the sampling, with advice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HorseshoeInfo {
    /// The log evidence `log p(y)` in nats, in the units of `y`, by path sampling along the warm-up: after 1000 sweeps it is about a nat off, falling
    /// with the root of their number.
    pub evidence: f64,
    /// All sweeps.
    pub sweeps: usize,
    /// The least number of independent draws that the draws of a weight are worth, by the means of batches.
    pub effective_draws: f64,
    /// For each column the share `E[w]²/E[w²]`: near 1 where the weight is known to its sign, near 0 where the column tells nothing. At its fixed point
    /// the `γ_j = 1 − E[α_j]·V_jj` of [`Relevance`](super::super::Relevance) is this.
    pub determined: Vec<f64>,
    /// Columns with a single value (or with zeros only, without an intercept): they are centred, not scaled.
    pub constant_columns: Vec<usize>,
    /// Advice on what to do next, in one line.
    pub advice: String,
}

/// Draws of a posterior on scaled columns, with the scales.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Draws {
    settings: HorseshoeSettings,
    columns: Scaling,
    target: Scaling,
    /// Weights, draw by draw.
    weights: Vec<f64>,
    /// The predictor at the centre of the columns.
    centres: Vec<f64>,
    /// `σ²`; 1 for classes.
    noises: Vec<f64>,
    info: HorseshoeInfo,
}

/// `E[w]²/E[w²]`; 0 for a weight that is 0.
fn determined(draws: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares, count) = draws.fold((0.0, 0.0, 0.0), |(sum, squares, n), w| (sum + w, squares + w * w, n + 1.0));
    if squares > 0.0 { (sum * sum / (count * squares)).min(1.0) } else { 0.0 }
}

/// The effective number of draws by the means of `√draws` batches.
fn effective(draws: impl Iterator<Item = f64> + Clone, count: usize) -> f64 {
    let batch = count.isqrt();
    let n = count as f64;
    let mean = draws.clone().sum::<f64>() / n;
    let variance = draws.clone().map(|draw| (draw - mean).powi(2)).sum::<f64>() / n;
    let values: Vec<f64> = draws.collect();
    let batches = values.chunks_exact(batch);
    let means = batches.len() as f64;
    let spread = batches.map(|own| (own.iter().sum::<f64>() / batch as f64 - mean).powi(2)).sum::<f64>() / means;
    if spread > 0.0 { (n * variance / (batch as f64 * spread)).min(n) } else { n }
}

impl Draws {
    /// Samples rows `x` of scaled columns, the first `free` of which are an intercept.
    fn sampled<R: Rng + ?Sized>(
        settings: HorseshoeSettings,
        (x, response, free): (MatRef<'_, f64>, Response, usize),
        (columns, target): (Scaling, Scaling),
        rng: &mut R,
    ) -> Result<Self, ModelError> {
        let d = x.ncols() - free;
        let size = vi_core::check::room("draws", &[settings.draws, d])?;
        let mut sampler = Sampler::new(x, response, free);
        let evidence = check::result("log evidence", sampler.anneal(settings.warm_up, rng))?;
        let mut weights = Vec::with_capacity(size);
        let (mut centres, mut noises) = (Vec::new(), Vec::new());
        for _ in 0..settings.draws {
            sampler.sweep(1.0, rng);
            weights.extend_from_slice(&sampler.w[free..]);
            centres.push(if free > 0 { sampler.w[0] } else { 0.0 });
            noises.push(sampler.noise);
        }
        check::results("drawn weight", weights.iter().chain(&centres).chain(&noises).copied())?;
        let of = |j: usize| weights.iter().skip(j).step_by(d).copied();
        let effective_draws = (0..d).map(|j| effective(of(j), settings.draws)).fold(f64::INFINITY, f64::min);
        let advice = if effective_draws < Self::FEW {
            format!(
                "A weight has only {effective_draws:.0} independent draws, perhaps since columns are collinear: more `draws` make its interval exact."
            )
        } else {
            "Nothing to do.".to_owned()
        };
        let info = HorseshoeInfo {
            evidence,
            sweeps: settings.warm_up + settings.draws,
            effective_draws,
            determined: (0..d).map(|j| determined(of(j))).collect(),
            constant_columns: columns.constant.clone(),
            advice,
        };
        Ok(Self { settings, columns, target, weights, centres, noises, info })
    }

    /// Independent draws that give an interval to a tenth of its width.
    const FEW: f64 = 20.0;

    /// Checks a stored form.
    fn check(&self) -> Result<(), ModelError> {
        self.settings.check()?;
        let d = self.columns.scales.len();
        let draws = self.settings.draws;
        self.columns.check(d)?;
        self.target.check(1)?;
        check::count("columns", d)?;
        check::length("weights", vi_core::check::room("draws", &[draws, d])?, self.weights.len())?;
        check::length("centres", draws, self.centres.len())?;
        check::length("noises", draws, self.noises.len())?;
        check::length("determined", d, self.info.determined.len())?;
        check::values("weights", &self.weights)?;
        check::values("centres", &self.centres)?;
        Ok(vi_core::check::positive_entries("noises", &self.noises)?)
    }

    fn dim(&self) -> usize {
        self.columns.scales.len()
    }

    fn draw(&self, s: usize) -> Result<Draw, Error> {
        let (d, unit) = (self.dim(), self.target.scales[0]);
        let weights = self.weights[s * d..(s + 1) * d].iter().copied();
        drawn(self.target.centres[0] + unit * self.centres[s], unit, weights, &self.columns)
    }

    fn samples<R: Rng + ?Sized>(&self, draws: usize, rng: &mut R) -> Result<Vec<Draw>, ModelError> {
        (0..draws).map(|_| Ok(self.draw(rng.random_range(0..self.settings.draws))?)).collect()
    }

    fn coefficients(&self) -> Result<Coefficients, ModelError> {
        let (d, n) = (self.dim(), self.settings.draws as f64);
        let (mut weights, mut standard_deviations) = (vec![0.0; d], vec![0.0; d]);
        for own in self.weights.chunks_exact(d) {
            weights.iter_mut().zip(own).for_each(|(mean, own)| *mean += own / n);
        }
        for own in self.weights.chunks_exact(d) {
            let squares = own.iter().zip(&weights).map(|(own, mean)| (own - mean).powi(2));
            standard_deviations.iter_mut().zip(squares).for_each(|(sum, square)| *sum += square / n);
        }
        let unit = self.target.scales[0];
        for (j, scale) in self.columns.scales.iter().enumerate() {
            weights[j] *= unit / scale;
            standard_deviations[j] = standard_deviations[j].sqrt() * (unit / scale);
        }
        let centre = self.target.centres[0] + unit * self.centres.iter().sum::<f64>() / n;
        let shift: f64 = weights.iter().zip(&self.columns.centres).map(|(weight, centre)| weight * centre).sum();
        let found = Coefficients { intercept: centre - shift, weights, standard_deviations };
        found.check(true)?;
        Ok(found)
    }

    /// The quantile of `|w_j|/σ` of each scaled column that `share` of the draws are below, over that of a standard Gaussian.
    fn sizes(&self, share: f64) -> Vec<f64> {
        let (d, of_gaussian) = (self.dim(), normal_quantile(0.5 + 0.5 * share));
        let size = |j: usize| {
            let own = self.weights.iter().skip(j).step_by(d);
            let mut own: Vec<f64> = own.zip(&self.noises).map(|(w, noise)| w.abs() / noise.sqrt()).collect();
            own.sort_by(f64::total_cmp);
            central(&own, 2.0 * share - 1.0).upper / of_gaussian
        };
        (0..d).map(size).collect()
    }

    /// For each row of `x` what `answer` makes of the scaled predictors of all draws.
    fn predict<T>(
        &self,
        x: &[f64],
        mut answer: impl FnMut(Vec<f64>) -> Result<T, ModelError>,
    ) -> Result<Vec<T>, ModelError> {
        let d = self.dim();
        let scaled = self.columns.apply(super::scaling::rows(x, d)?, false)?;
        let mut row = vec![0.0; d];
        (0..scaled.nrows())
            .map(|i| {
                row.iter_mut().enumerate().for_each(|(j, value)| *value = scaled[(i, j)]);
                let draws = self.weights.chunks_exact(d).zip(&self.centres);
                answer(draws.map(|(w, centre)| centre + vi_linalg::kernels::dot(w, &row)).collect())
                    .map_err(|error| error.at_row(i))
            })
            .collect()
    }
}

/// The public methods of both models and their sealed stored form; `$share` is the quantile that sizes of weights are taken from.
macro_rules! horseshoe {
    ($model:ident, $share:literal) => {
        impl $model {
            /// The weights in the units of the data: means and standard deviations of the draws. Cost `draws·d`.
            ///
            /// # Errors
            /// `Overflow` if a weight is not finite in those units.
            pub fn coefficients(&self) -> Result<Coefficients, ModelError> {
                self.draws.coefficients()
            }

            /// Draws of weights and intercept in the units of the data, each one of the kept ones at random.
            ///
            /// # Errors
            /// `Overflow` if a weight is not finite in those units.
            pub fn samples<R: Rng + ?Sized>(&self, draws: usize, rng: &mut R) -> Result<Vec<Draw>, ModelError> {
                self.draws.samples(draws, rng)
            }

            /// The central interval of each weight in the units of the data, from the quantiles of the draws. Length `d`.
            ///
            /// # Errors
            /// [`ModelError::Core`] with `Setting` unless `0 < level < 1`.
            pub fn weight_intervals(&self, level: f64) -> Result<Vec<Interval>, ModelError> {
                check::probability("level", level)?;
                let (d, unit) = (self.draws.dim(), self.draws.target.scales[0]);
                let interval = |(j, scale): (usize, &f64)| {
                    let mut own: Vec<f64> = self.draws.weights.iter().skip(j).step_by(d).copied().collect();
                    own.sort_by(f64::total_cmp);
                    let Interval { lower, upper } = central(&own, level);
                    Interval { lower: lower * (unit / scale), upper: upper * (unit / scale) }
                };
                Ok(self.draws.columns.scales.iter().enumerate().map(interval).collect())
            }

            /// The size of each weight, of a column of unit spread and in units of the noise (of the log odds for classes): the deviation of the
            /// Gaussian about 0 whose absolute value has the same 90 % quantile as the draws, for classes the same 95 % quantile.
            /// As prior scales they lead a ridge regression near this posterior. Length `d`.
            #[must_use]
            pub fn sizes(&self) -> Vec<f64> {
                self.draws.sizes($share)
            }

            /// The settings.
            #[must_use]
            pub fn settings(&self) -> HorseshoeSettings {
                self.draws.settings
            }

            /// How the sampling went, and a line of advice.
            #[must_use]
            pub fn info(&self) -> &HorseshoeInfo {
                &self.draws.info
            }

            /// The number of columns.
            #[must_use]
            pub fn dim(&self) -> usize {
                self.draws.dim()
            }
        }

        impl Serialize for $model {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut stored =
                    Stored { seal: Seal::default(), kind: stringify!($model).to_owned(), draws: self.draws.clone() };
                stored.seal = Seal::of(&stored).map_err(S::Error::custom)?;
                stored.serialize(serializer)
            }
        }

        impl TryFrom<Stored> for $model {
            type Error = ModelError;

            fn try_from(mut stored: Stored) -> Result<Self, ModelError> {
                std::mem::take(&mut stored.seal).check(&stored)?;
                if stored.kind != stringify!($model) {
                    return Err(ModelError::Document { what: "kind of model" });
                }
                stored.draws.check()?;
                Ok(Self { draws: stored.draws })
            }
        }
    };
}

use horseshoe;

/// The stored form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    seal: vi_core::checkpoint::Seal,
    kind: String,
    draws: Draws,
}

/// The central interval of sorted values, between those next to its ends.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place among the values")]
fn central(sorted: &[f64], level: f64) -> crate::Interval {
    let at = |p: f64| {
        let place = (p * sorted.len() as f64 - 0.5).clamp(0.0, sorted.len() as f64 - 1.0);
        let (low, part) = (place as usize, place.fract());
        sorted[low] * (1.0 - part) + sorted[(low + 1).min(sorted.len() - 1)] * part
    };
    let tail = 0.5 * (1.0 - level);
    crate::Interval { lower: at(tail), upper: at(1.0 - tail) }
}

#[cfg(test)]
mod tests;
