//! More than two classes, one row at a time.

use rand::Rng;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::{DenseGaussian, Error};
use vi_linalg::faer::{Mat, MatRef, Par};

use super::belief::{AnyBelief, BeliefKind, DesignRow};
use super::design::RowSpace;
use super::engine::{Engine, EngineWire, Family, Member, RowWork, prior_variances};
use super::info::Diagnosis;
use super::observation::{Observation, Size};
use super::settings::Memory;
use super::{Draw, OnlineInfo, OnlineSettings, Row, Rows};
use crate::ModelError;
use crate::metrics::gaussian_psis_of;
use crate::softmax::{Softmax, SoftmaxPrediction, SoftmaxRefineInfo, SoftmaxRefineSettings, SoftmaxRows};

/// `p(y=c|x) = softmax(0, η)_c`, `η_c = intercept_c + xᵀw_c` for `c = 1, …, C−1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "usize", into = "usize")]
pub(super) struct Classes(Softmax);

impl TryFrom<usize> for Classes {
    type Error = ModelError;

    fn try_from(classes: usize) -> Result<Self, ModelError> {
        Softmax::new(classes).map(Self)
    }
}

impl From<Classes> for usize {
    fn from(Classes(model): Classes) -> Self {
        model.classes()
    }
}

impl Family for Classes {
    type State = ();

    fn initial(&self) {}

    fn check(&self, settings: &OnlineSettings) -> Result<(), ModelError> {
        if settings.belief == BeliefKind::Full {
            Ok(())
        } else {
            Err(ModelError::Unsupported { what: "softmax regression with another belief than a full covariance" })
        }
    }

    fn check_state(&self, (): &()) -> Result<(), Error> {
        Ok(())
    }

    fn check_observation(&self, observed: &Observation) -> Result<(), Error> {
        observed.size(Size::None)?;
        let Observation { label, offset, weight, .. } = *observed;
        if !(label >= 0.0 && label.fract() == 0.0 && label < self.0.classes() as f64) {
            return Err(Error::Label { label, family: "softmax (classes 0 to C − 1)" });
        }
        if offset != 0.0 {
            return Err(Error::Setting { name: "offset", value: offset, requirement: "0 for a softmax regression" });
        }
        if weight >= 0.0 && weight.is_finite() {
            Ok(())
        } else {
            Err(Error::Setting { name: "weight", value: weight, requirement: "finite and not negative" })
        }
    }

    fn weights(&self, columns: usize) -> Option<usize> {
        columns.checked_mul(self.0.classes() - 1)
    }

    /// All classes alike: weights `N(0, v)` for each of the `C`, seen relative to class 0.
    fn prior(&self, settings: &OnlineSettings, prior_scale: f64, columns: usize) -> Result<AnyBelief, Error> {
        let variances = prior_variances(settings, prior_scale, columns);
        let dim = columns * (self.0.classes() - 1);
        let covariance = Mat::from_fn(dim, dim, |i, j| {
            let shared = if i % columns == j % columns { variances[i % columns] } else { 0.0 };
            if i == j { 2.0 * shared } else { shared }
        });
        Ok(AnyBelief::Full(DenseGaussian::new(&vec![0.0; dim], covariance.as_ref())?))
    }

    fn learn_row(
        &self,
        member: &mut Member<()>,
        row: DesignRow<'_>,
        observed: &Observation,
        work: &mut RowWork,
    ) -> Result<(), Error> {
        let x = row.written_out(work.dense());
        self.learn_block(member, MatRef::from_row_major_slice(x, 1, x.len()), std::slice::from_ref(observed)).map_err(
            |error| match error {
                Error::Row { source, .. } => *source,
                other => other,
            },
        )
    }

    fn learn_block(&self, member: &mut Member<()>, x: MatRef<'_, f64>, observed: &[Observation]) -> Result<(), Error> {
        let AnyBelief::Full(belief) = &mut member.belief else {
            return Err(Error::Dimension { argument: "softmax belief", expected: x.ncols(), found: 0 });
        };
        let labels: Vec<f64> = observed.iter().map(|observed| observed.label).collect();
        let weights: Vec<f64> = observed.iter().map(|observed| observed.weight).collect();
        let rows = SoftmaxRows::new(x, &labels).with_weights(&weights);
        let mut learned = belief.clone();
        let score = self.0.run(&mut learned, rows, Par::Seq, |_, _, _| {}).map_err(core)?;
        if score.is_nan() {
            return Err(Error::NonFinite { argument: "log predictive density", index: 0, value: score });
        }
        *belief = learned;
        member.evidence += score;
        Ok(())
    }

    fn forget(&self, (): &mut (), _memory: Memory) {}
}

/// What softmax regression can find wrong with checked rows are errors of the core.
fn core(error: ModelError) -> Error {
    match error {
        ModelError::Core(error) => error,
        _ => Error::NonFinite { argument: "softmax site", index: 0, value: f64::NAN },
    }
}

/// Softmax regression on a stream: labels `0, 1, …, C−1`, a probability for each class with its doubt.
///
/// A full covariance over the weights of `C−1` classes: with `p` columns a row costs some `2((C−1)p)²` flops and a pass over
/// 256 nodes. See [`softmax`](crate::softmax).
///
/// ```
/// use vi_models::online::OnlineSoftmax;
/// let mut model = OnlineSoftmax::new(1, 3)?;
/// for t in 0..90 {
///     let x = f64::from(t % 9) - 4.0;
///     model.update(&[x], if x < -1.0 { 0.0 } else if x < 1.5 { 1.0 } else { 2.0 })?;
/// }
/// let seen = model.predict(&[3.5])?;
/// assert_eq!(seen.most_probable(), 2);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineSoftmax {
    engine: Engine<Classes>,
}

impl OnlineSoftmax {
    /// A model of `inputs` columns and `classes = C` classes with default settings.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings).
    pub fn new(inputs: usize, classes: usize) -> Result<Self, ModelError> {
        Self::with_settings(inputs, classes, OnlineSettings::default())
    }

    /// A model of `inputs` columns and `classes = C` classes.
    ///
    /// # Errors
    /// `Setting`, `Empty` and `Dimension` for settings that cannot be; [`ModelError::Unsupported`] for another belief than a
    /// full covariance.
    pub fn with_settings(inputs: usize, classes: usize, settings: OnlineSettings) -> Result<Self, ModelError> {
        Ok(Self { engine: Engine::new(inputs, Classes(Softmax::new(classes)?), settings)? })
    }

    /// The predictive probability of each class at `row`.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry` (a position).
    pub fn predict<'a>(&self, row: impl Into<Row<'a>>) -> Result<SoftmaxPrediction, ModelError> {
        let row = row.into();
        row.check(self.engine.design.inputs)?;
        let (mut space, mut dense) = (RowSpace::default(), Vec::new());
        let x = self.engine.design.write(row, &mut space)?.written_out(&mut dense);
        let AnyBelief::Full(belief) = &self.engine.best().belief else {
            return Err(ModelError::Unsupported {
                what: "softmax regression with another belief than a full covariance",
            });
        };
        self.engine.family.0.predict(belief, x)
    }

    /// A draw of the weights of classes `1, …, C−1` relative to class 0, for Thompson sampling.
    ///
    /// # Errors
    /// `NotPositiveDefinite` for a covariance that rounding has destroyed.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Vec<Draw>, ModelError> {
        Ok(self.by_class(&self.engine.draw(1.0, rng)?))
    }

    /// Posterior mean of the weights of classes `1, …, C−1` relative to class 0, in the units of the inputs.
    #[must_use]
    pub fn weights(&self) -> Vec<Draw> {
        self.by_class(self.engine.best().belief.mean())
    }

    fn by_class(&self, theta: &[f64]) -> Vec<Draw> {
        theta
            .chunks(self.engine.design.columns().max(1))
            .map(|columns| Draw::new(&self.engine.design, columns))
            .collect()
    }

    /// What the model has become.
    #[must_use]
    pub fn info(&self) -> OnlineInfo {
        OnlineInfo::of(&self.engine)
    }

    /// [`info`](Self::info) with `k̂` from `draws` draws of the posterior, and what it advises; `info` tells it from
    /// then on, until the posterior changes. Cost `draws·n·C·p` for `n` rows.
    ///
    /// # Errors
    /// [`ModelError::NotKept`] unless the settings keep rows; `Setting` for fewer than 25 draws.
    pub fn diagnose<R: Rng + ?Sized>(&mut self, draws: usize, rng: &mut R) -> Result<OnlineInfo, ModelError> {
        let engine = &self.engine;
        engine.check_kept()?;
        let (x, observed) = engine.design_matrix()?;
        let best = engine.best();
        let prior = engine.family.prior(&engine.settings, best.prior_scale, x.ncols())?;
        let (AnyBelief::Full(prior), AnyBelief::Full(q)) = (prior, &best.belief) else {
            return Err(ModelError::NotKept);
        };
        let prior = prior.cholesky()?;
        let truth = |theta: &[f64]| {
            let mut log_joint = -0.5 * prior.quadratic_form_inverse(theta)?;
            for (i, observed) in observed.iter().enumerate() {
                let logits = theta.chunks(x.ncols()).map(|w| w.iter().zip(x.row(i).iter()).map(|(w, x)| w * x).sum());
                let logits: Vec<f64> = std::iter::once(0.0).chain(logits).collect();
                let largest = logits.iter().copied().fold(0.0, f64::max);
                let sum: f64 = logits.iter().map(|logit| (logit - largest).exp()).sum();
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a checked class")]
                let class = observed.label as usize;
                log_joint += observed.weight * (logits[class] - largest - sum.ln());
            }
            Ok(log_joint)
        };
        let psis = gaussian_psis_of(q, draws, rng, truth)?;
        self.engine.diagnosis = Some(Diagnosis::of(&psis));
        Ok(self.info())
    }

    /// Sweeps over all kept rows until the posterior is the best Gaussian there is; see [`Softmax::refine`]. Scales that are still
    /// being taken from the first rows are fixed as they are.
    ///
    /// # Errors
    /// [`ModelError::NotKept`] unless the settings keep rows; those of [`Softmax::refine`]. The model is then as it was.
    pub fn refine(&mut self, settings: SoftmaxRefineSettings) -> Result<SoftmaxRefineInfo, ModelError> {
        self.engine.check_kept()?;
        let (x, observed) = self.engine.design_matrix()?;
        let labels: Vec<f64> = observed.iter().map(|observed| observed.label).collect();
        let weights: Vec<f64> = observed.iter().map(|observed| observed.weight).collect();
        let rows = SoftmaxRows::new(x.as_ref(), &labels).with_weights(&weights);
        let Classes(model) = &self.engine.family;
        let mut members = self.engine.members.clone();
        let best = self.engine.best().prior_scale;
        let mut best_info = None;
        for member in &mut members {
            let prior = self.engine.family.prior(&self.engine.settings, member.prior_scale, x.ncols())?;
            let AnyBelief::Full(prior) = prior else { continue };
            let mut fit = model.first_pass(&prior, rows, Par::Seq)?;
            let info = model.refine(&prior, &mut fit, rows, settings, Par::Seq)?;
            member.belief = AnyBelief::Full(fit.belief);
            if member.prior_scale == best {
                best_info = Some(info);
            }
        }
        let info = best_info.ok_or(ModelError::NotKept)?;
        self.engine.members = members;
        self.engine.settle();
        Ok(info)
    }
}

front_door!(OnlineSoftmax, Classes);
