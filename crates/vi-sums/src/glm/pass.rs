//! The statistics of one pass of the batch variational optimum, as a fold at a given Gaussian.

use serde::{Deserialize, Serialize};
use vi_core::batch::{InformationGaussian, Statistics};
use vi_core::{DenseGaussian, Error, Fingerprint, check};
use vi_linalg::faer::{Mat, MatRef};

use super::{GlmPosterior, GlmPrior};
use crate::linear::{check_columns, check_count, count};
use crate::{Family, Posterior, SumsError, packed};

/// The number of rows of one product: a tile of some tens of columns stays in the first-level cache.
const TILE: usize = 256;
/// The number of entries before the slope in the flat form.
const HEAD: usize = 5;
/// The index of the two halves of the place's fingerprint in the flat form.
const PLACE: usize = 3;

/// The place at which the statistics of a pass are taken: the family, the prior (for its intercept) and the Gaussian `N(μ, Λ⁻¹)`.
///
/// A driver sends it to wherever the rows are, once for each pass.
///
/// ```
/// use vi_core::batch::{BatchSettings, optimum_of};
/// use vi_sums::{At, Family, GlmPrior, PassSums};
/// let (x, y) = ([0.2, -1.3, 2.1, -0.4], [1.0, 0.0, 1.0, 0.0]);
/// let (family, prior) = (Family::Logistic, GlmPrior::default());
/// let start = prior.belief(1)?;
/// let (best, info) = optimum_of(&start, &start, &BatchSettings::default(), |q| {
///     // Two machines, which know nothing but what is sent to them.
///     let here = At::new(family, prior, q.clone()).unwrap();
///     let part = |rows: std::ops::Range<usize>| {
///         let at = At::decode(here.record()).unwrap();
///         let mut sums = PassSums::new(&at);
///         sums.update_columns(&at, &[&x[rows.clone()]], &y[rows]).unwrap();
///         sums
///     };
///     let mut sums = part(0..1);
///     sums.merge(&part(1..4)).unwrap();
///     Ok(sums.statistics(&here).unwrap())
/// })?;
/// assert!(info.bound() < 0.0 && vi_core::Belief::mean(&best)[1] > 0.0);
/// # Ok::<(), vi_sums::SumsError>(())
/// ```
#[derive(Debug, Clone)]
pub struct At {
    pub(super) family: Family,
    pub(super) prior: GlmPrior,
    pub(super) q: InformationGaussian,
    record: Vec<u8>,
}

/// The stored form of an [`At`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AtWire {
    family: (u32, f64),
    prior: GlmPrior,
    mean: Vec<f64>,
    /// The precision Λ: its lower triangle row by row.
    precision: Vec<f64>,
}

impl At {
    /// The [`kind`](crate::kind) of the record of a place.
    pub const KIND: &'static str = "vi-sums/at";

    /// The place given by the Gaussian `q` over the intercept (first, if there is one) and the weights.
    ///
    /// # Errors
    /// Those of [`GlmPrior::check`]; [`vi_core::Error::Empty`] for a Gaussian over an intercept alone; [`vi_core::Error::Checkpoint`].
    pub fn new(family: Family, prior: GlmPrior, q: InformationGaussian) -> Result<Self, SumsError> {
        let precision = packed::pack(q.precision_lower());
        let wire = AtWire { family: family.to_code(), prior, mean: q.mean().to_vec(), precision };
        let record = crate::posterior::record(Self::KIND, &wire)?;
        Self::of_record(family, prior, q, record)
    }

    fn of_record(family: Family, prior: GlmPrior, q: InformationGaussian, record: Vec<u8>) -> Result<Self, SumsError> {
        prior.check()?;
        check::not_empty("x", q.dim().saturating_sub(prior.parameters(0)))?;
        Ok(Self { family, prior, q, record })
    }

    /// The place given by a belief with its covariance. Cost `d³`.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`vi_core::Error::NotPositiveDefinite`].
    pub fn belief(family: Family, prior: GlmPrior, belief: &DenseGaussian) -> Result<Self, SumsError> {
        Self::new(family, prior, InformationGaussian::of(belief)?)
    }

    /// The number `d` of inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.q.dim() - self.prior.parameters(0)
    }

    /// The family.
    #[must_use]
    pub fn family(&self) -> Family {
        self.family
    }

    /// The place as one record, see [`encode`](crate::Posterior::encode); for a place that was read, the bytes that it was read
    /// from.
    #[must_use]
    pub fn record(&self) -> &[u8] {
        &self.record
    }

    /// The fingerprint by which statistics identify this place: the checksum at the end of its [record](Self::record), which is
    /// the same on every machine.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_checksum(self.record.last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }

    /// Reads a place from its record, or from that of a generalised linear model's posterior, which is then the place itself.
    /// Cost some `d³`.
    ///
    /// # Errors
    /// [`SumsError::Kind`], [`vi_core::Error::Checkpoint`]; [`vi_core::Error::Dimension`], [`vi_core::Error::NonFinite`],
    /// [`vi_core::Error::NotPositiveDefinite`] for bytes that are not the [`record`](Self::record) of a place.
    pub fn decode(bytes: &[u8]) -> Result<Self, SumsError> {
        if crate::kind(bytes) == Some(Posterior::GLM)
            && let Posterior::Glm(own) = Posterior::decode(bytes)?
        {
            // The mean is a solution, whose last bits may differ on another machine; the bytes are the same.
            return Self::of_record(own.family(), *own.prior(), own.information()?, bytes.to_vec());
        }
        let wire: AtWire = crate::posterior::read(bytes, Self::KIND, "vi-sums/at or vi-sums/glm, the place of a pass")?;
        let m = wire.mean.len();
        check::room("parameters", &[m, m + 1])?;
        check::length("precision", packed::len(m), wire.precision.len())?;
        check::finite("precision", &wire.precision)?;
        let family = Family::from_code(wire.family.0, wire.family.1)?;
        let q = InformationGaussian::new(wire.mean, packed::matrix(&wire.precision, m))?;
        Self::of_record(family, wire.prior, q, bytes.to_vec())
    }
}

/// The statistics of one pass, which [`vi_core::batch::optimum_of`] needs, and the number of rows that were left out.
///
/// Its flat form is: rows, skipped rows, `ΣE[log p]`, the upper and the lower 32 bits of the place's
/// [fingerprint](At::fingerprint) as whole numbers, `Σgᵢxᵢ`, the lower triangle of `Σhᵢxᵢxᵢᵀ` row by row. After a step that is
/// too long the sums may overflow, as the mean of a count can; the search then takes a shorter one.
#[derive(Debug, Clone, PartialEq)]
pub struct PassSums {
    parameters: usize,
    state: Vec<f64>,
}

impl PassSums {
    /// The [`kind`](crate::kind) of the record of a pass.
    pub const KIND: &'static str = "vi-sums/pass-2";
    /// The kind of records that lack the place.
    const FIRST: &'static str = "vi-sums/pass";

    /// The sums over no rows, at the place `at`.
    #[must_use]
    pub fn new(at: &At) -> Self {
        let m = at.q.dim();
        let mut state = vec![0.0; HEAD + m + packed::len(m)];
        let place = at.fingerprint().bits();
        state[PLACE] = (place >> 32) as f64;
        state[PLACE + 1] = (place & u64::from(u32::MAX)) as f64;
        Self { parameters: m, state }
    }

    /// The flat form, which [`from_flat`](Self::from_flat) reads.
    #[must_use]
    pub fn flat(&self) -> &[f64] {
        &self.state
    }

    /// Reads the sums from a flat form over `parameters` parameters.
    ///
    /// # Errors
    /// [`vi_core::Error::Dimension`], [`vi_core::Error::Setting`] for invalid counts or halves of a fingerprint.
    pub fn from_flat(parameters: usize, flat: &[f64]) -> Result<Self, SumsError> {
        check::room("parameters", &[parameters, parameters.saturating_add(1)])?;
        check::length("sums", HEAD + parameters + packed::len(parameters), flat.len())?;
        check_count("rows", flat[0])?;
        check_count("skipped", flat[1])?;
        let is_half = |value: f64| value >= 0.0 && value <= f64::from(u32::MAX) && value.fract() == 0.0;
        if let Some(&value) = flat[PLACE..HEAD].iter().find(|value| !is_half(**value)) {
            return Err(Error::Setting { name: "place", value, requirement: "a whole number below 2³²" }.into());
        }
        Ok(Self { parameters, state: flat.to_vec() })
    }

    /// The number of parameters: of inputs, plus 1 if there is an intercept.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        count(self.state[0])
    }

    /// The number of rows that were left out.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        count(self.state[1])
    }

    /// The [fingerprint](At::fingerprint) of the place where the statistics are taken.
    #[must_use]
    pub fn place(&self) -> Fingerprint {
        Fingerprint::of_checksum(count(self.state[PLACE]) << 32 | count(self.state[PLACE + 1]))
    }

    /// Checks that the number of parameters and the fingerprint are those of these statistics.
    pub(super) fn check_place(&self, parameters: usize, expected: Fingerprint) -> Result<(), SumsError> {
        check::length("parameters", self.parameters, parameters)?;
        let found = self.place();
        if found == expected { Ok(()) } else { Err(SumsError::OtherPlace { expected, found }) }
    }

    /// Counts rows that are left out: those with a missing value.
    pub fn skip(&mut self, rows: u64) {
        self.state[1] += rows as f64;
    }

    /// Adds rows given by columns: `x[j][t]` is input `j` of row `t`. Cost `2nd²` flops and `n` expectations.
    ///
    /// # Errors
    /// [`vi_core::Error::Dimension`], [`SumsError::OtherPlace`]; [`vi_core::Error::Row`] with [`vi_core::Error::NonFinite`] or
    /// [`vi_core::Error::Label`]. On an error the sums are unchanged.
    pub fn update_columns(&mut self, at: &At, x: &[&[f64]], y: &[f64]) -> Result<(), SumsError> {
        check_columns(at.inputs(), x, y)?;
        self.add(at, y, |t, j| x[j][t])
    }

    /// Adds rows that lie end to end: `x[t·d + j]` is input `j` of row `t`. Cost as of [`update_columns`](Self::update_columns).
    ///
    /// # Errors
    /// As [`update_columns`](Self::update_columns).
    pub fn update_rows(&mut self, at: &At, x: &[f64], y: &[f64]) -> Result<(), SumsError> {
        let d = at.inputs();
        check::length("x", d * y.len(), x.len())?;
        self.add(at, y, |t, j| x[t * d + j])
    }

    fn add(&mut self, at: &At, y: &[f64], x: impl Fn(usize, usize) -> f64) -> Result<(), SumsError> {
        self.check_place(at.q.dim(), at.fingerprint())?;
        let (m, first) = (self.parameters, at.prior.parameters(0));
        let mut next = self.state.clone();
        let mut rows = vec![1.0; m * TILE.min(y.len())];
        for start in (0..y.len()).step_by(TILE) {
            let n = TILE.min(y.len() - start);
            for (t, row) in rows.chunks_exact_mut(m).take(n).enumerate() {
                for (j, value) in row[first..].iter_mut().enumerate() {
                    *value = x(start + t, j);
                }
            }
            let view = MatRef::from_row_major_slice(&rows[..m * n], n, m);
            let found = at
                .family
                .statistics(&at.q, view, &y[start..start + n])
                .map_err(|error| SumsError::from(error).shift_row(start))?;
            next[0] += n as f64;
            next[2] += found.expected_log_likelihood;
            for (sum, more) in next[HEAD..].iter_mut().zip(&found.slope) {
                *sum += more;
            }
            let information = packed::pack(found.information.as_ref());
            for (sum, more) in next[HEAD + m..].iter_mut().zip(&information) {
                *sum += more;
            }
        }
        self.state = next;
        Ok(())
    }

    /// Adds the sums over other rows at the same place.
    ///
    /// # Errors
    /// [`vi_core::Error::Dimension`], [`SumsError::OtherPlace`].
    pub fn merge(&mut self, other: &Self) -> Result<(), SumsError> {
        other.check_place(self.parameters, self.place())?;
        for (k, (sum, more)) in self.state.iter_mut().zip(&other.state).enumerate() {
            if !(PLACE..HEAD).contains(&k) {
                *sum += more;
            }
        }
        Ok(())
    }

    /// The sums in the form that [`vi_core::batch::optimum_of`] takes; `at` is their place.
    ///
    /// # Errors
    /// [`vi_core::Error::Dimension`], [`SumsError::OtherPlace`].
    pub fn statistics(&self, at: &At) -> Result<Statistics, SumsError> {
        self.check_place(at.q.dim(), at.fingerprint())?;
        let m = self.parameters;
        let information: Mat<f64> = packed::matrix(&self.state[HEAD + m..], m);
        Ok(Statistics {
            rows: usize::try_from(self.rows()).unwrap_or(usize::MAX),
            expected_log_likelihood: self.state[2],
            slope: self.state[HEAD..HEAD + m].to_vec(),
            information,
        })
    }

    /// The Gaussian factors of these rows at that place, as a posterior of these rows alone. Subtracted from the optimum they
    /// make it forget the rows; those of all rows are Newton's full step from the place.
    ///
    /// ```text
    /// G = Σhᵢxᵢxᵢᵀ      η = Σgᵢxᵢ + Gμ      c = ΣE[log pᵢ] − ηᵀμ + ½tr G(Λ⁻¹ + μμᵀ)
    /// ```
    ///
    /// At the optimum of all rows the factors of all rows are the optimum again, with its bound as the evidence. Cost `d³`.
    ///
    /// # Errors
    /// [`vi_core::Error::Dimension`], [`SumsError::OtherPlace`]; [`vi_core::Error::NonFinite`] for statistics that are not
    /// finite.
    pub fn factors(&self, at: &At) -> Result<GlmPosterior, SumsError> {
        self.check_place(at.q.dim(), at.fingerprint())?;
        let m = self.parameters;
        let (slope, gain) = self.state[HEAD..].split_at(m);
        let mean = at.q.mean();
        let eta: Vec<f64> = packed::multiply(gain, mean).iter().zip(slope).map(|(bent, slope)| bent + slope).collect();
        let covariance = at.q.cholesky().inverse();
        let mut bent = 0.0;
        for i in 0..m {
            for (j, entry) in packed::row(gain, i).iter().enumerate() {
                let twice = if i == j { 1.0 } else { 2.0 };
                bent += twice * entry * (covariance[(i, j)] + mean[i] * mean[j]);
            }
        }
        let along: f64 = eta.iter().zip(mean).map(|(eta, mean)| eta * mean).sum();
        let runs = f64::from(u8::from(self.state[0] > 0.0));
        let mut flat = vec![self.state[0], self.state[1], runs, self.state[2] - along + 0.5 * bent];
        flat.extend_from_slice(&eta);
        flat.extend_from_slice(gain);
        GlmPosterior::from_flat(at.family, at.prior, at.inputs(), &flat)
    }

    /// The sums as one record, see [`encode`](crate::Posterior::encode).
    ///
    /// # Errors
    /// [`vi_core::Error::Checkpoint`].
    pub fn encode(&self) -> Result<Vec<u8>, SumsError> {
        crate::posterior::record(Self::KIND, &(self.parameters as u64, &self.state))
    }

    /// Reads the sums from one record.
    ///
    /// # Errors
    /// [`SumsError::Kind`], [`SumsError::Earlier`], [`vi_core::Error::Checkpoint`]; those of [`from_flat`](Self::from_flat).
    pub fn decode(bytes: &[u8]) -> Result<Self, SumsError> {
        if crate::kind(bytes) == Some(Self::FIRST) {
            return Err(SumsError::Earlier { found: Self::FIRST, missing: "the place of its statistics" });
        }
        let (parameters, state): (u64, Vec<f64>) =
            crate::posterior::read(bytes, Self::KIND, "vi-sums/pass-2, the statistics of a pass")?;
        Self::from_flat(usize::try_from(parameters).unwrap_or(usize::MAX), &state)
    }
}
