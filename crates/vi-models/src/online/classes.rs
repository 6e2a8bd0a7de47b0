//! What softmax regression adds to the machine: classes with one belief over all their weights, or one for each class.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vi_core::batch::{BatchSettings, InformationGaussian, Statistics};
use vi_core::{Belief, DenseGaussian, Error};
use vi_linalg::faer::{Mat, MatRef, Par};

use super::apart::Apart;
use super::belief::{AnyBelief, AnyStep, BeliefKind};
use super::engine::{
    FIT_PASSES, FIT_SWEEP, FIT_TOLERANCE, Family, Fitted, Member, RowStep, RunLabel, Stateful, is_score, key,
    prior_variances,
};
use super::nested::Nested;
use super::observation::{Observation, Size};
use super::posterior::{OneClass, RowDensities};
use super::rescale::ScaledWeights;
use super::{OnlineSettings, Row};
use crate::softmax::{
    Softmax, SoftmaxPrediction, SoftmaxRefineSettings, SoftmaxRows, SoftmaxStep, head_moments, head_score, head_sites,
};
use crate::{ModelError, check};

/// The most sweeps over the first rows of classes that have a belief each.
const FIT_SWEEPS: usize = 3;

/// Softmax regression, `p(y=c|x) = softmax(η)_c`, `η_c = intercept_c + xᵀw_c`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ClassesWire", into = "ClassesWire")]
pub(super) struct Classes {
    pub(super) form: Form,
}

/// How the weights of the classes are kept: jointly, or each class by itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    /// One Gaussian over the weights of `C−1` classes relative to class 0.
    Joint(Softmax),
    /// One Gaussian for each of the `C` classes, independent of each other.
    Apart(usize),
}

/// The stored form.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassesWire {
    classes: usize,
    apart: bool,
}

impl Classes {
    pub(super) fn new(classes: usize, apart: bool) -> Result<Self, ModelError> {
        Softmax::check_classes(classes)?;
        Ok(Self { form: if apart { Form::Apart(classes) } else { Form::Joint(Softmax::new(classes)?) } })
    }

    pub(super) fn classes(&self) -> usize {
        match &self.form {
            Form::Joint(model) => model.classes(),
            Form::Apart(classes) => *classes,
        }
    }

    /// The number of linear predictors that have weights of their own.
    pub(super) fn predictors(&self) -> usize {
        self.classes() - usize::from(self.is_joint())
    }

    /// The softmax model of classes with one joint belief.
    ///
    /// # Errors
    /// `Unsupported` for classes with a belief each.
    pub(super) fn joint(&self) -> Result<&Softmax, Error> {
        match &self.form {
            Form::Joint(model) => Ok(model),
            Form::Apart(_) => Err(not_joint()),
        }
    }
}

/// The prediction of classes that are independent of each other.
///
/// # Errors
/// `Unsupported` for another belief; those of a projection and of [`head_moments`].
pub(super) fn predicted_apart(
    belief: &AnyBelief,
    prior_variances: &[f64],
    row: Row<'_>,
) -> Result<SoftmaxPrediction, ModelError> {
    let AnyBelief::Apart(belief) = belief else { return Err(not_joint().into()) };
    let seen = belief.parts.iter().map(|part| part.project(row, 1.0, &mut AnyStep::default()));
    let seen = seen.collect::<Result<Vec<_>, Error>>()?;
    let mut prior = 0.0;
    row.for_each(|j, value| prior += value * value * prior_variances[j]);
    let (probabilities, variances) = head_moments(&seen, prior)?;
    Ok(SoftmaxPrediction { probabilities, variances })
}

pub(super) fn not_joint() -> Error {
    Error::Unsupported { operation: "several classes at once", belief: "one for each class" }
}

impl TryFrom<ClassesWire> for Classes {
    type Error = ModelError;

    fn try_from(wire: ClassesWire) -> Result<Self, ModelError> {
        Self::new(wire.classes, wire.apart)
    }
}

impl From<Classes> for ClassesWire {
    fn from(family: Classes) -> Self {
        Self { classes: family.classes(), apart: !family.is_joint() }
    }
}

impl Stateful for Classes {
    type State = ();

    fn initial(&self) {}
}

impl Family for Classes {
    fn check(&self, settings: &OnlineSettings) -> Result<(), ModelError> {
        if self.is_joint() && settings.belief != BeliefKind::Full {
            let what = "one belief over all classes that is not a full covariance: `by_class` has one for each";
            return Err(ModelError::Unsupported { what });
        }
        Ok(())
    }

    fn check_observation(&self, observed: &Observation) -> Result<(), Error> {
        observed.size(Size::None)?;
        let Observation { label, offset, weight, .. } = *observed;
        if !(label >= 0.0 && label.fract() == 0.0 && label < self.classes() as f64) {
            return Err(Error::Label { label, family: "softmax (classes 0 to C − 1)" });
        }
        if offset != 0.0 {
            return Err(Error::Setting { name: "offset", value: offset, requirement: "0 for a softmax regression" });
        }
        check::not_negative("weight", weight)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a checked class")]
    fn run_label(&self, observed: &Observation, _: &super::target::Target) -> RunLabel {
        RunLabel::class(observed.label as usize)
    }

    fn run_components(&self) -> usize {
        self.classes()
    }

    fn run_strata(&self) -> usize {
        self.classes()
    }

    fn is_joint(&self) -> bool {
        matches!(self.form, Form::Joint(_))
    }

    fn whole(&self) -> Self {
        Self::new(self.classes(), false).unwrap_or_else(|_| self.clone())
    }

    fn weights(&self, columns: usize) -> Option<usize> {
        columns.checked_mul(self.predictors())
    }

    fn numbers(&self, kind: BeliefKind, columns: usize) -> Option<usize> {
        match self.form {
            Form::Joint(_) => kind.numbers(self.weights(columns)?),
            Form::Apart(_) => kind.numbers(columns)?.checked_mul(self.predictors()),
        }
    }

    /// The prior is the same for all classes: weights `N(0, v)` for each of the `C`; a joint belief sees them relative to class
    /// 0.
    fn prior(&self, settings: &OnlineSettings, prior_scale: f64, columns: usize) -> Result<AnyBelief, Error> {
        let variances = prior_variances(settings, prior_scale, columns);
        if !self.is_joint() {
            return Ok(AnyBelief::Apart(Box::new(Apart::prior(settings.belief, &variances, self.classes())?)));
        }
        let dim = columns * self.predictors();
        let covariance = Mat::from_fn(dim, dim, |i, j| {
            let shared = if i % columns == j % columns { variances[i % columns] } else { 0.0 };
            if i == j { 2.0 * shared } else { shared }
        });
        Ok(AnyBelief::Full(DenseGaussian::new(&vec![0.0; dim], covariance.as_ref())?))
    }

    /// The weight of class 0 is part of every other class's, which couples them: `D = (I − 11ᵀ/C) ⊗ I`.
    fn scaled_weights(&self, columns: usize, scaled: usize) -> ScaledWeights {
        let coupling = if self.is_joint() { (self.classes() as f64).recip() } else { 0.0 };
        ScaledWeights { predictors: self.predictors(), columns, scaled, coupling }
    }

    fn fit(
        &self,
        prior: &DenseGaussian,
        start: &DenseGaussian,
        x: MatRef<'_, f64>,
        observed: &[Observation],
    ) -> Result<Option<Fitted<()>>, Error> {
        let (labels, weights) = labels_and_weights(observed);
        let rows = SoftmaxRows::new(x, &labels).with_weights(&weights);
        let model = self.joint()?;
        if model.propagates(&rows) {
            let settings = SoftmaxRefineSettings { tolerance: FIT_SWEEP, max_sweeps: FIT_PASSES };
            let mut fit = model.first_pass(prior, rows, Par::Seq).map_err(core)?;
            let info = model.expectation_propagation(prior, &mut fit, rows, &settings, Par::Seq).map_err(core)?;
            return Ok(Some((fit.belief, (), info.bound())));
        }
        let settings = BatchSettings { tolerance: FIT_TOLERANCE, max_passes: FIT_PASSES };
        let (belief, info) = model.optimum(prior, start, rows, &settings, Par::Seq).map_err(core)?;
        Ok(Some((belief, (), info.bound())))
    }

    fn fit_parts(
        &self,
        prior: &Apart,
        x: MatRef<'_, f64>,
        observed: &[Observation],
    ) -> Result<Option<(Apart, f64)>, Error> {
        // In runs of one class the first sweep would foresee each label by the one before.
        let mut order: Vec<usize> = (0..observed.len()).collect();
        order.sort_by_key(|t| key(*t as u64));
        let observed: Vec<Observation> = order.iter().map(|&t| observed[t]).collect();
        let x = Mat::from_fn(x.nrows(), x.ncols(), |i, j| x[(order[i], j)]);
        let mut nested = Nested::new(prior.clone(), observed.len())?;
        nested.sweep(x.as_ref(), &observed, 0.0, FIT_SWEEPS)?;
        Ok(Some((nested.belief, nested.log_evidence)))
    }

    fn statistics(
        &self,
        (): &(),
        q: &InformationGaussian,
        x: MatRef<'_, f64>,
        observed: &[Observation],
    ) -> Result<Statistics, Error> {
        let (labels, weights) = labels_and_weights(observed);
        let rows = SoftmaxRows::new(x, &labels).with_weights(&weights);
        self.joint()?.statistics(&q.to_belief(), &rows, Par::Seq)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked classes")]
    fn row_densities(&self, (): &(), observed: &[Observation]) -> Result<Arc<dyn RowDensities>, Error> {
        let rows = observed.iter().map(|observed| (observed.label as usize, observed.weight)).collect();
        Ok(Arc::new(OneClass { classes: self.classes(), rows }))
    }

    fn score_row(
        &self,
        belief: &AnyBelief,
        (): &mut (),
        (row, observed): (Row<'_>, &Observation),
        step: &mut RowStep,
    ) -> Result<f64, Error> {
        match (&self.form, belief) {
            (Form::Joint(model), AnyBelief::Full(belief)) => {
                let prepared = step.vector.get_or_insert_default();
                finite(model.score(belief, row, (observed.label, observed.weight), prepared)?)
            }
            (Form::Apart(_), AnyBelief::Apart(belief)) => finite(score_apart(belief, (row, observed), step)?),
            _ => Err(not_joint()),
        }
    }

    fn prepare_row(
        &self,
        belief: &AnyBelief,
        (): &mut (),
        (row, observed): (Row<'_>, &Observation),
        step: &mut RowStep,
    ) -> Result<f64, Error> {
        match (&self.form, belief) {
            (Form::Joint(model), AnyBelief::Full(belief)) => {
                let prepared = step.vector.get_or_insert_default();
                finite(model.prepare(belief, row, (observed.label, observed.weight), prepared)?)
            }
            (Form::Apart(_), AnyBelief::Apart(belief)) => finite(prepare_apart(belief, (row, observed), step)?),
            _ => Err(not_joint()),
        }
    }

    fn commit_row(&self, belief: &mut AnyBelief, row: Row<'_>, step: &mut RowStep) {
        match (belief, &mut step.vector) {
            (AnyBelief::Full(belief), Some(prepared)) => prepared.commit(belief),
            (AnyBelief::Apart(belief), _) => belief.commit(row, &mut step.parts),
            _ => (),
        }
    }

    fn learn_block(
        &self,
        member: &mut Member<()>,
        x: MatRef<'_, f64>,
        observed: &[Observation],
        scores: &mut Vec<f64>,
    ) -> Result<(), Error> {
        let model = self.joint()?;
        let AnyBelief::Full(belief) = &mut member.belief else { return Err(not_joint()) };
        let (labels, weights) = labels_and_weights(observed);
        let rows = SoftmaxRows::new(x, &labels).with_weights(&weights);
        let score = |_, _: &DenseGaussian, step: &SoftmaxStep| scores.push(step.log_predictive);
        member.evidence += model.run(belief, rows, Par::Seq, score).map_err(core)?;
        Ok(())
    }
}

/// The labels of rows and their weights.
pub(super) fn labels_and_weights(observed: &[Observation]) -> (Vec<f64>, Vec<f64>) {
    observed.iter().map(|observed| (observed.label, observed.weight)).unzip()
}

/// The score, if it is one.
fn finite(score: f64) -> Result<f64, Error> {
    if is_score(score) {
        Ok(score)
    } else {
        Err(Error::NonFinite { argument: "log predictive density", index: 0, value: score })
    }
}

/// Scores a row under classes that are independent of each other.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a checked class")]
fn score_apart(
    belief: &Apart,
    (row, observed): (Row<'_>, &Observation),
    RowStep { seen, sites, parts, .. }: &mut RowStep,
) -> Result<f64, Error> {
    let class = observed.label as usize;
    parts.resize_with(belief.parts.len(), AnyStep::default);
    seen.clear();
    for (part, step) in belief.parts.iter().zip(parts) {
        seen.push(part.project(row, 1.0, step)?);
    }
    head_sites(seen, class, observed.weight, sites)?;
    Ok(observed.weight * head_score(seen, class)?)
}

/// The same, and prepares a step for each class.
fn prepare_apart(belief: &Apart, row: (Row<'_>, &Observation), step: &mut RowStep) -> Result<f64, Error> {
    let score = score_apart(belief, row, step)?;
    let RowStep { seen, sites, parts, .. } = step;
    for (((part, step), site), seen) in belief.parts.iter().zip(parts).zip(sites).zip(seen) {
        site.check(seen.variance)?;
        part.prepare(row.0, *site, step)?;
    }
    Ok(score)
}

/// Turns what softmax regression finds wrong with rows that are already checked into an error of the core.
fn core(error: ModelError) -> Error {
    match error {
        ModelError::Core(error) => error,
        _ => Error::NonFinite { argument: "softmax site", index: 0, value: f64::NAN },
    }
}
