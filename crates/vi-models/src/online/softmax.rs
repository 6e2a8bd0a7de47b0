//! More than two classes, one row at a time.

use std::sync::Arc;

use rand::Rng;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::batch::BatchSettings;
use vi_core::{Belief, DenseGaussian, Error};
use vi_linalg::faer::{Mat, MatRef, Par};

use super::belief::{AnyBelief, BeliefKind};
use super::design::RowSpace;
use super::engine::{
    Engine, EngineWire, FIT_PASSES, FIT_TOLERANCE, Family, Fitted, Member, RowStep, is_score, prior_variances,
};
use super::info::Diagnosis;
use super::observation::{Observation, Size};
use super::posterior::{OneClass, Posterior, RowDensities};
use super::predicted::average;
use super::rescale::ScaledWeights;
use super::row::check_row;
use super::{Coefficient, Draw, OnlineInfo, OnlineSettings, Row, Rows};
use crate::metrics::gaussian_psis_of;
use crate::softmax::{Softmax, SoftmaxPrediction, SoftmaxRefineInfo, SoftmaxRefineSettings, SoftmaxRows};
use crate::{Marginal, ModelError};

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

    /// The prior of a class relative to class 0 is shared with the others: `D = (I − 11ᵀ/C) ⊗ I`.
    fn scaled_weights(&self, columns: usize, scaled: usize) -> ScaledWeights {
        let classes = self.0.classes();
        ScaledWeights { predictors: classes - 1, columns, scaled, coupling: (classes as f64).recip() }
    }

    fn fit(
        &self,
        prior: &DenseGaussian,
        start: &DenseGaussian,
        x: MatRef<'_, f64>,
        observed: &[Observation],
    ) -> Result<Option<Fitted<()>>, Error> {
        let labels: Vec<f64> = observed.iter().map(|observed| observed.label).collect();
        let weights: Vec<f64> = observed.iter().map(|observed| observed.weight).collect();
        let rows = SoftmaxRows::new(x, &labels).with_weights(&weights);
        let settings = BatchSettings { tolerance: FIT_TOLERANCE, max_passes: FIT_PASSES };
        let (belief, info) = self.0.optimum(prior, start, rows, &settings, Par::Seq).map_err(core)?;
        Ok(Some((belief, (), info.bound())))
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked classes")]
    fn row_densities(&self, observed: &[Observation]) -> Result<Arc<dyn RowDensities>, Error> {
        let rows = observed.iter().map(|observed| (observed.label as usize, observed.weight)).collect();
        Ok(Arc::new(OneClass { classes: self.0.classes(), rows }))
    }

    fn prepare_row(
        &self,
        belief: &AnyBelief,
        (): &mut (),
        (row, observed): (Row<'_>, &Observation),
        step: &mut RowStep,
    ) -> Result<f64, Error> {
        let belief = full(belief)?;
        let prepared = step.vector.get_or_insert_default();
        let score = self.0.prepare(belief, row, (observed.label, observed.weight), prepared)?;
        if !is_score(score) {
            return Err(Error::NonFinite { argument: "log predictive density", index: 0, value: score });
        }
        Ok(score)
    }

    fn commit_row(&self, belief: &mut AnyBelief, _row: Row<'_>, step: &mut RowStep) {
        if let (AnyBelief::Full(belief), Some(prepared)) = (belief, &mut step.vector) {
            prepared.commit(belief);
        }
    }

    fn learn_block(&self, member: &mut Member<()>, x: MatRef<'_, f64>, observed: &[Observation]) -> Result<(), Error> {
        let AnyBelief::Full(belief) = &mut member.belief else {
            return full(&member.belief).map(drop);
        };
        let labels: Vec<f64> = observed.iter().map(|observed| observed.label).collect();
        let weights: Vec<f64> = observed.iter().map(|observed| observed.weight).collect();
        let rows = SoftmaxRows::new(x, &labels).with_weights(&weights);
        member.evidence += self.0.run(belief, rows, Par::Seq, |_, _, _| {}).map_err(core)?;
        Ok(())
    }
}

/// # Errors
/// `Unsupported` for another belief than a full covariance.
fn full(belief: &AnyBelief) -> Result<&DenseGaussian, Error> {
    match belief {
        AnyBelief::Full(belief) => Ok(belief),
        _ => Err(Error::Unsupported { operation: "several classes", belief: "square-root, low-rank or diagonal" }),
    }
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
        check_row(row, self.engine.design.inputs).map_err(|error| self.engine.named(error))?;
        let (mut space, mut dense) = (RowSpace::default(), Vec::new());
        let x = self.engine.design.write(row, &mut space)?.written_out(self.engine.design.columns(), &mut dense);
        let parts = self.engine.weights().into_iter().zip(&self.engine.members);
        let parts = parts.map(|(weight, member)| Ok((weight, self.engine.family.0.predict(full(&member.belief)?, x)?)));
        Ok(average(&parts.collect::<Result<Vec<_>, ModelError>>()?))
    }

    /// A draw of the weights of classes `1, …, C−1` relative to class 0, for Thompson sampling.
    ///
    /// # Errors
    /// `NotPositiveDefinite` for a covariance that rounding has destroyed.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Vec<Draw>, ModelError> {
        self.by_class(&self.engine.draw_member(rng).draw(1.0, rng)?).into_iter().map(Draw::finite).collect()
    }

    /// Posterior mean of the weights of classes `1, …, C−1` relative to class 0, in the units of the inputs.
    #[must_use]
    pub fn weights(&self) -> Vec<Draw> {
        self.by_class(&self.engine.mean())
    }

    /// What is believed of the logit of class `class` (`1, …, C−1`) relative to class 0 at `row`.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry` (a position); `Index` for a class that is not there.
    pub fn predictor<'a>(&self, row: impl Into<Row<'a>>, class: usize) -> Result<Marginal, ModelError> {
        let row = row.into();
        check_row(row, self.engine.design.inputs).map_err(|error| self.engine.named(error))?;
        let (mut space, mut dense) = (RowSpace::default(), Vec::new());
        let x = self.engine.design.write(row, &mut space)?.written_out(self.engine.design.columns(), &mut dense);
        self.along(class, x)
    }

    /// What is believed of the weight of input `j` for class `class` (`1, …, C−1`) relative to class 0, in the units of the inputs.
    ///
    /// # Errors
    /// `Index` for a class or an input that is not there.
    pub fn weight(&self, class: usize, j: usize) -> Result<Marginal, ModelError> {
        let design = &self.engine.design;
        if j >= design.inputs {
            return Err(Error::Index { argument: "inputs", index: j, len: design.inputs }.into());
        }
        let mut x = vec![0.0; design.columns()];
        x[j] = design.scales.get(j).map_or(1.0, |scale| scale.recip());
        self.along(class, &x)
    }

    /// What is believed of each weight of class `class` (`1, …, C−1`) relative to class 0, in the units of the inputs and under their
    /// names; the intercept comes first.
    ///
    /// # Errors
    /// `Index` for a class that is not there.
    pub fn coefficients(&self, class: usize) -> Result<Vec<Coefficient>, ModelError> {
        let design = &self.engine.design;
        let mut found = Vec::with_capacity(design.columns());
        if design.intercept {
            let belief = self.predictor(&vec![0.0; design.inputs], class)?;
            found.push(Coefficient { name: "intercept".into(), belief });
        }
        for j in 0..design.inputs {
            found.push(Coefficient { name: self.engine.name(j), belief: self.weight(class, j)? });
        }
        Ok(found)
    }

    /// Of `xᵀw_class`, `x` in the model's columns.
    fn along(&self, class: usize, x: &[f64]) -> Result<Marginal, ModelError> {
        let classes = self.engine.family.0.classes();
        if class == 0 || class >= classes {
            return Err(Error::Index { argument: "classes", index: class, len: classes }.into());
        }
        let mut row = vec![0.0; x.len() * (classes - 1)];
        row[(class - 1) * x.len()..class * x.len()].copy_from_slice(x);
        let project = |(weight, member): (f64, &Member<()>)| Ok((weight, member.belief.predict(&row)?));
        let seen = self.engine.weights().into_iter().zip(&self.engine.members).map(project);
        Ok(Marginal::of_gaussians(&seen.collect::<Result<Vec<_>, Error>>()?))
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
        let weights = self.engine.best().belief.dim();
        self.engine.diagnosis = Some(Diagnosis::of(&psis, weights));
        Ok(self.info())
    }

    /// Sweeps over all kept rows until the posterior is the best Gaussian there is; see [`Softmax::refine`]. Scales that are still
    /// being taken from the first rows are fixed as they are.
    ///
    /// # Errors
    /// [`ModelError::NotKept`] unless the settings keep rows; those of [`Softmax::refine`]. The model is then as it was.
    pub fn refine(&mut self, settings: &SoftmaxRefineSettings) -> Result<SoftmaxRefineInfo, ModelError> {
        self.engine.check_kept()?;
        let (x, observed) = self.engine.design_matrix()?;
        let labels: Vec<f64> = observed.iter().map(|observed| observed.label).collect();
        let weights: Vec<f64> = observed.iter().map(|observed| observed.weight).collect();
        let rows = SoftmaxRows::new(x.as_ref(), &labels).with_weights(&weights);
        let best = self.engine.best().prior_scale;
        let mut best_info = None;
        self.engine.refine_members(|engine, member| {
            let prior = engine.family.prior(&engine.settings, member.prior_scale, engine.design.columns())?;
            let AnyBelief::Full(prior) = prior else { return Err(ModelError::NotKept) };
            let Classes(model) = &engine.family;
            let mut fit = model.first_pass(&prior, rows, Par::Seq)?;
            let info = model.refine(&prior, &mut fit, rows, settings, Par::Seq)?;
            member.belief = AnyBelief::Full(fit.belief);
            let bound = info.bounds.last().copied().unwrap_or(f64::NEG_INFINITY);
            if member.prior_scale == best {
                best_info = Some(info);
            }
            Ok(bound)
        })?;
        best_info.ok_or(ModelError::NotKept)
    }
}

predicts_batches!(OnlineSoftmax, SoftmaxPrediction);
front_door!(OnlineSoftmax, Classes);
posterior!(OnlineSoftmax);
