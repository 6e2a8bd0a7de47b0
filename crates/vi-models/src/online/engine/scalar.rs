//! Families whose rows see the weights only through `t = offset + xᵀθ`.

use std::fmt::Debug;
use std::sync::Arc;

use rand::Rng;
use serde::Serialize;
use serde::de::DeserializeOwned;
use vi_core::batch::{InformationGaussian, Statistics};
use vi_core::filter::StepInfo;
use vi_core::refine::{self, RefineInfo, RefineSettings};
use vi_core::{
    Belief, DenseGaussian, Error, GaussianExpectation, Implicit, Likelihood, PerRow, Projection, Site, SiteRule,
    Weighted,
};
use vi_linalg::faer::{Mat, MatRef, Par};

use super::Member;
use super::family::{Family, Fitted, RowStep, Stateful};
use super::learn::prior_variances;
use super::narrow::Around;
use super::one_pass::OnePass;
use super::order::RunLabel;
use super::start::FEWEST;
use super::steps::{ones_of, unrolled};
use super::sweeps::passed;
use crate::ModelError;
use crate::likelihood::Offset;
use crate::marginal::Marginal;
use crate::online::belief::AnyBelief;
use crate::online::observation::Size;
use crate::online::posterior::{OnePredictor, RowDensities};
use crate::online::rescale::ScaledWeights;
use crate::online::target::Target;
use crate::online::{BeliefKind, Observation, OnlineSettings, Row};

/// A fit of the first rows ends when a step is shorter than this many posterior standard deviations, which is little beside what
/// those rows leave uncertain.
pub(in crate::online) const FIT_TOLERANCE: f64 = 1e-3;

/// A fit of the first rows by sweeps ends when a sweep's changes of the rows' log normalisers add up, in absolute value, to less than
/// this, in nats.
pub(in crate::online) const FIT_SWEEP: f64 = 2e-2;

/// The most passes over the first rows; separable rows under a wide prior need the most.
pub(in crate::online) const FIT_PASSES: usize = 60;

/// The most sweeps between two fits of a state that is learned with the weights, and after the last.
const SWEEPS_BETWEEN: usize = 1;
const LAST_SWEEPS: usize = 10;

/// The likelihood of one row.
pub(super) type RowLikelihood<F> = Weighted<Offset<<F as ScalarFamily>::Likelihood>>;

/// How one pass takes a row: which Gaussian replaces the posterior, and what the state has to do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// The posterior is Gaussian, and a pass over rows is exact.
    Exact,
    /// The Gaussian with the moments of the tilted density.
    Moments,
    /// The same for rows of weight 1; others take the implicit step, since their moments would cost ten times as much.
    MomentsOfUnitWeights,
    /// As `Moments`, and the state changes the likelihood of the next row: rows are never taken together, and the first are fitted
    /// so many times, the state being learned anew after each fit.
    ByRows {
        /// The number of fits, at least 1.
        rounds: usize,
    },
}

/// Many rows of weight 1 that an exact belief has taken: by how much the parts of its evidence have grown.
#[derive(Debug, Clone, Copy)]
pub struct Together {
    /// How many there were.
    pub(in crate::online) rows: usize,
    /// `Σ(y − offset)²`.
    pub(in crate::online) squares: f64,
    /// `½ log` of the ratio of determinants, covariance after over covariance before.
    pub(in crate::online) log_det: f64,
    /// The half of `Σ(y − offset)²` that the weights explain, the prior counted.
    pub(in crate::online) quadratic: f64,
}

/// Names of the steps of a row, with the factor and the shift of their predictors in summaries.
#[derive(Debug, Clone)]
pub struct Levels {
    pub(in crate::online) names: Vec<String>,
    pub(in crate::online) sign: f64,
    pub(in crate::online) shift: f64,
}

/// A likelihood of one label given one number.
pub trait ScalarFamily: Stateful + Clone + Debug + PartialEq + Serialize + DeserializeOwned {
    /// `p(y|t)`.
    type Likelihood: GaussianExpectation + Clone + Debug + Send + Sync + 'static;

    /// What an observation has besides label, offset and weight.
    const SIZE: Size = Size::None;

    /// The least number of rows that are fitted together.
    const FEWEST_ROWS: usize = FEWEST;

    /// How one pass takes a row.
    const PASS: Pass = Pass::Moments;

    /// Whether labels are numbers in some unit, which the first rows may standardise.
    const STANDARDISES_LABELS: bool = false;

    /// Whether labels may be ranges of numbers.
    #[doc(hidden)]
    const TAKES_RANGES: bool = false;

    /// How labels are converted before rows have told their scale.
    #[doc(hidden)]
    fn label_target(&self) -> Target {
        Target::default()
    }

    /// How labels are converted, by the first rows.
    #[doc(hidden)]
    fn label_target_of(&self, observed: &[&Observation], centred: bool) -> Result<Target, Error> {
        self.label_target().of_mean(observed.iter().copied(), centred)
    }

    /// A draw of the factor by which deviations of the weights are multiplied: 1, or the standard deviation of the noise where it
    /// is learned.
    #[doc(hidden)]
    fn draw_spread<R: Rng + ?Sized>(&self, _state: &Self::State, _rng: &mut R) -> Result<f64, Error> {
        Ok(1.0)
    }

    /// The posterior of a number that the members see as `(weight, projection, state)`.
    #[doc(hidden)]
    fn marginal(&self, parts: &[(f64, Projection, &Self::State)]) -> Result<Marginal, ModelError> {
        Ok(Marginal::of_gaussians(&parts.iter().map(|(weight, seen, _)| (*weight, *seen)).collect::<Vec<_>>()))
    }

    /// Checks that a belief can take the family's rows.
    ///
    /// # Errors
    /// [`ModelError::Unsupported`].
    #[doc(hidden)]
    fn check_belief(&self, _belief: BeliefKind) -> Result<(), ModelError> {
        Ok(())
    }

    /// Checks the family's own settings.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// The number of columns of cut points, after that of the intercept, one for each step of a row beyond the first: that step sees the row as it
    /// is, step `k` with a 1 in the `k`-th of these columns, or in the first `k` of them if they have a [scale](Self::cut_scale).
    #[doc(hidden)]
    fn cut_points(&self) -> usize {
        self.ordered().map_or(0, |classes| classes.saturating_sub(2))
    }

    /// The prior scale of the change from one step to the next, where changes are what is learned; `None` where each cut point has the prior of the
    /// intercept.
    #[doc(hidden)]
    fn cut_scale(&self) -> Option<f64> {
        None
    }

    /// Whether the likelihood of a row is that of its [steps](Self::step), and not that of the row itself.
    #[doc(hidden)]
    fn is_in_steps(&self) -> bool {
        self.cut_points() > 0
    }

    /// The observation of step `k` of a row, from 0; `None` after its last step.
    #[doc(hidden)]
    fn step(&self, observed: &Observation, k: usize) -> Option<Observation> {
        (k == 0).then_some(*observed)
    }

    /// The number of classes, where labels are classes with an order.
    #[doc(hidden)]
    fn ordered(&self) -> Option<usize> {
        None
    }

    /// How the predictors of the steps at all inputs 0 are told in place of the intercept; `None` where the intercept is told.
    #[doc(hidden)]
    fn levels(&self) -> Option<Levels> {
        None
    }

    /// Checks label, offset, weight, trials or exposure.
    ///
    /// # Errors
    /// What is wrong with one of them.
    #[doc(hidden)]
    fn check_observed(&self, observed: &Observation) -> Result<(), Error> {
        row_likelihood(self, &self.initial(), observed)?.check_label(observed.label)?;
        self.label_target().transform.check(observed.label)
    }

    /// The likelihood of a row with `size` trials, or of that exposure, at the best estimate of the state.
    fn likelihood(&self, state: &Self::State, size: f64) -> Result<Self::Likelihood, Error>;

    /// The likelihood of a row at the best estimate of the state, without its offset, and the weight that it has not taken in itself.
    ///
    /// # Errors
    /// What is wrong with trials, exposure or range.
    #[doc(hidden)]
    fn likelihood_of(&self, state: &Self::State, observed: &Observation) -> Result<(Self::Likelihood, f64), Error> {
        Ok((self.likelihood(state, observed.size(Self::SIZE)?)?, observed.weight))
    }

    /// The likelihoods that predictions average over, with their weights.
    fn likelihoods(&self, state: &Self::State, size: f64) -> Result<Vec<(f64, Self::Likelihood)>, Error> {
        Ok(vec![(1.0, self.likelihood(state, size)?)])
    }

    /// `log p(y | earlier rows)` in nats, from the belief's projection along the row.
    fn log_predictive(
        &self,
        _state: &Self::State,
        likelihood: &Offset<Self::Likelihood>,
        y: f64,
        seen: Projection,
    ) -> f64 {
        likelihood.log_predictive(y, seen.mean, seen.variance)
    }

    /// Checks, before anything is learned, that the state can take the observation.
    ///
    /// # Errors
    /// The error that learning the observation would give.
    fn check_step(&self, _observed: &Observation, _seen: Projection) -> Result<(), Error> {
        Ok(())
    }

    /// The log probability of many labels and the state after them, for a model that is exact given its state; `None` where it is not, or where
    /// what the rows tell of the state is lost in rounding.
    #[doc(hidden)]
    fn learn_together(&self, _state: &Self::State, _rows: Together) -> Option<(f64, Self::State)> {
        None
    }

    /// Learns the state from a row that was `seen` before its `site` was taken. Returns what this adds to the row's score, in
    /// nats.
    ///
    /// # Errors
    /// An overflow.
    fn learn(
        &self,
        _state: &mut Self::State,
        _observed: &Observation,
        _seen: Projection,
        _site: Site,
    ) -> Result<f64, Error> {
        Ok(0.0)
    }

    /// The state learned from all first rows, each `seen` by the weights that were fitted to them `at` some state, and what
    /// averaging over the state adds to the bound, in nats. `has_level` says whether the weights have an intercept.
    ///
    /// # Errors
    /// An overflow.
    fn fit_state(
        &self,
        _at: &Self::State,
        _observed: &[Observation],
        _seen: &[Projection],
        _has_level: bool,
    ) -> Result<(Self::State, f64), Error> {
        Ok((self.initial(), 0.0))
    }
}

/// The likelihood of a row, offset and weight included.
///
/// # Errors
/// What is wrong with size, offset or weight.
pub(in crate::online) fn row_likelihood<F: ScalarFamily>(
    family: &F,
    state: &F::State,
    observed: &Observation,
) -> Result<RowLikelihood<F>, Error> {
    let (likelihood, weight) = family.likelihood_of(state, observed)?;
    Weighted::new(Offset::new(likelihood, observed.offset)?, weight)
}

/// The likelihoods of many rows, offsets and weights included.
pub(super) fn row_likelihoods<F: ScalarFamily>(
    family: &F,
    state: &F::State,
    observed: &[Observation],
) -> Result<Vec<RowLikelihood<F>>, Error> {
    observed.iter().map(|observed| row_likelihood(family, state, observed)).collect()
}

impl<F: ScalarFamily> Family for F {
    fn check(&self, settings: &OnlineSettings) -> Result<(), ModelError> {
        self.check_belief(settings.belief)?;
        Ok(ScalarFamily::check(self)?)
    }

    fn target(&self) -> Target {
        self.label_target()
    }

    fn target_of<'a>(
        &self,
        observed: impl Iterator<Item = &'a Observation> + Clone,
        centred: bool,
    ) -> Result<Target, Error> {
        self.label_target_of(&observed.collect::<Vec<_>>(), centred)
    }

    fn standardises_labels(&self) -> bool {
        F::STANDARDISES_LABELS
    }

    fn takes_ranges(&self) -> bool {
        F::TAKES_RANGES
    }

    fn check_observation(&self, observed: &Observation) -> Result<(), Error> {
        self.check_observed(observed)
    }

    fn cuts(&self) -> usize {
        self.cut_points()
    }

    fn unrolled(&self, x: MatRef<'_, f64>, observed: &[Observation]) -> Option<(Mat<f64>, Vec<Observation>)> {
        unrolled(self, x, observed)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a checked class")]
    fn run_label(&self, observed: &Observation, target: &Target) -> RunLabel {
        if self.ordered().is_some() {
            return RunLabel::class(observed.label as usize);
        }
        if F::STANDARDISES_LABELS {
            return RunLabel::standardised(observed, target);
        }
        // The spread of a label is no part of its size.
        let size = if matches!(F::SIZE, Size::Trials | Size::Exposure) { observed.size(F::SIZE).ok() } else { None };
        let label = RunLabel::number(observed.label, size.unwrap_or(1.0));
        // Censored times come in runs too, whatever the times are.
        RunLabel { value: label.value + f64::from(u8::from(observed.is_range())), ..label }
    }

    fn run_components(&self) -> usize {
        self.ordered().unwrap_or(1)
    }

    fn run_strata(&self) -> usize {
        self.ordered().unwrap_or(2)
    }

    /// Cut points have the prior of the intercept, from which they are told, or that of changes from one to the next.
    fn prior(&self, settings: &OnlineSettings, prior_scale: f64, columns: usize) -> Result<AnyBelief, Error> {
        let cuts = self.cut_points();
        let mut variances = prior_variances(settings, prior_scale, columns - cuts);
        variances.resize(columns, self.cut_scale().unwrap_or(settings.intercept_scale).powi(2));
        AnyBelief::prior(settings.belief, &variances)
    }

    fn scaled_weights(&self, columns: usize, scaled: usize) -> ScaledWeights {
        ScaledWeights { predictors: 1, columns, scaled, coupling: 0.0 }
    }

    fn fewest_rows(&self) -> usize {
        F::FEWEST_ROWS
    }

    fn has_one_predictor(&self) -> bool {
        self.cut_points() == 0
    }

    fn rescales_exactly(&self) -> bool {
        F::PASS == Pass::Exact
    }

    fn tells_near(&self) -> bool {
        matches!(F::PASS, Pass::ByRows { .. })
    }

    fn fit(
        &self,
        prior: &DenseGaussian,
        _start: &DenseGaussian,
        x: MatRef<'_, f64>,
        observed: &[Observation],
    ) -> Result<Option<Fitted<Self::State>>, Error> {
        if F::PASS == Pass::Exact {
            let (belief, state) = (AnyBelief::Full(prior.clone()), self.initial());
            let around = Around::default();
            let mut member =
                Member { prior_scale: 1.0, around, lambda: 1.0, belief, state, evidence: 0.0, log_mass: 0.0 };
            self.learn_block(&mut member, x, observed, &mut Vec::new())?;
            let Member { belief: AnyBelief::Full(belief), state, evidence, .. } = member else { return Ok(None) };
            return Ok(Some((belief, state, evidence)));
        }
        let max_sweeps = if let Pass::ByRows { .. } = F::PASS { LAST_SWEEPS } else { FIT_PASSES };
        let last = RefineSettings { max_sweeps, tolerance: FIT_SWEEP, block: None };
        let (belief, state, info) = fitted_together(self, prior, &self.initial(), (x, observed), &last)?;
        Ok(Some((belief, state, info.bound())))
    }

    fn statistics(
        &self,
        state: &Self::State,
        q: &InformationGaussian,
        x: MatRef<'_, f64>,
        observed: &[Observation],
    ) -> Result<Statistics, Error> {
        let rows = observed.len();
        let unrolled = unrolled(self, x, observed);
        let (x, observed) = unrolled.as_ref().map_or((x, observed), |(x, observed)| (x.as_ref(), observed));
        let y: Vec<f64> = observed.iter().map(|observed| observed.label).collect();
        let sums = Statistics::at(q, x, &y, &PerRow(&row_likelihoods(self, state, observed)?), Par::Seq)?;
        Ok(Statistics { rows, ..sums })
    }

    fn row_densities(&self, state: &Self::State, observed: &[Observation]) -> Result<Arc<dyn RowDensities>, Error> {
        let y = observed.iter().map(|observed| observed.label).collect();
        let likelihoods = row_likelihoods(self, state, observed)?;
        Ok(Arc::new(OnePredictor::<RowLikelihood<F>> { y, likelihoods }))
    }

    fn look_ahead(&self, belief: &AnyBelief, rows: &[Row<'_>], step: &mut RowStep) {
        // Steps change the belief between one row and the next.
        if !self.is_in_steps() {
            belief.look_ahead(rows, &mut step.belief);
        }
    }

    fn score_row(
        &self,
        belief: &AnyBelief,
        state: &mut Self::State,
        (row, observed): (Row<'_>, &Observation),
        step: &mut RowStep,
    ) -> Result<f64, Error> {
        let RowStep { belief: space, seen: all, known, path, .. } = step;
        let mut known = std::mem::take(known).then(|| all.first().copied()).flatten();
        all.clear();
        (path.moved, path.site) = (None, None);
        let mut total = 0.0;
        for (k, observed) in (0..).map_while(|k| self.step(observed, k)).enumerate() {
            if let Some(site) = path.site {
                let last = path.space.write(row, path.ones.clone());
                let moved = path.moved.get_or_insert_with(|| belief.clone());
                moved.prepare(last, site, space)?;
                moved.commit(last, space);
            }
            path.ones = ones_of(self, belief.dim(), k);
            let (row, belief) = (path.space.write(row, path.ones.clone()), path.moved.as_ref().unwrap_or(belief));
            let rule = OnePass::of::<F>(row_likelihood(self, state, &observed)?);
            let seen = known.take().map_or_else(|| belief.project(row, 1.0, space), Ok)?;
            all.push(seen);
            let (site, score) = answered(self, state, &rule, &observed, seen)?;
            path.site = Some(site);
            total += score + self.learn(state, &observed, seen, site)?;
        }
        Ok(total)
    }

    fn prepare_row(
        &self,
        belief: &AnyBelief,
        state: &mut Self::State,
        row: (Row<'_>, &Observation),
        step: &mut RowStep,
    ) -> Result<f64, Error> {
        let score = self.score_row(belief, state, row, step)?;
        let RowStep { belief: space, path, .. } = step;
        if let Some(site) = path.site {
            let last = path.space.write(row.0, path.ones.clone());
            path.moved.as_ref().unwrap_or(belief).prepare(last, site, space)?;
        }
        Ok(score)
    }

    fn commit_row(&self, belief: &mut AnyBelief, row: Row<'_>, step: &mut RowStep) {
        let RowStep { belief: space, path, .. } = step;
        if let Some(moved) = path.moved.take() {
            *belief = moved;
        }
        belief.commit(path.space.write(row, path.ones.clone()), space);
    }

    fn takes_blocks(&self, member: &Member<Self::State>, rows: usize) -> bool {
        !self.is_in_steps() && !matches!(F::PASS, Pass::ByRows { .. }) && member.belief.gains_by_blocks(rows)
    }

    fn learn_block(
        &self,
        Member { belief, state, evidence, .. }: &mut Member<Self::State>,
        x: MatRef<'_, f64>,
        observed: &[Observation],
        scores: &mut Vec<f64>,
    ) -> Result<(), Error> {
        let (mut y, mut rules) = (Vec::with_capacity(observed.len()), Vec::with_capacity(observed.len()));
        for (i, observed) in observed.iter().enumerate() {
            y.push(observed.label);
            rules.push(OnePass::of::<F>(row_likelihood(self, state, observed).map_err(|error| error.at_row(i))?));
        }
        let mut failed = None;
        belief.run(&rules, x, &y, |t: usize, step: &StepInfo| {
            let (observed, seen) = (&observed[t], step.projection);
            let learned = score(self, state, &rules[t], observed, seen)
                .and_then(|score| Ok(score + self.learn(state, observed, seen, step.site)?));
            match learned {
                Ok(score) => {
                    *evidence += score;
                    scores.push(score);
                }
                Err(error) => failed = failed.take().or(Some(error.at_row(t))),
            }
        })?;
        failed.map_or(Ok(()), Err)
    }
}

/// The Gaussian posterior of all rows together by expectation propagation, whose `last` sweeps are limited so; the state, which is learned in turns with
/// sweeps where rows tell it and stays `at` its value elsewhere; and the info of the last sweeps, with the log evidence as its bound.
pub(super) fn fitted_together<F: ScalarFamily>(
    family: &F,
    prior: &DenseGaussian,
    at: &F::State,
    (x, observed): (MatRef<'_, f64>, &[Observation]),
    last: &RefineSettings,
) -> Result<(DenseGaussian, F::State, RefineInfo), Error> {
    let y: Vec<f64> = observed.iter().map(|observed| observed.label).collect();
    let (mut state, rounds) =
        if let Pass::ByRows { rounds } = F::PASS { (family.initial(), rounds) } else { (at.clone(), 0) };
    let has_level = x.ncols().checked_sub(1).is_some_and(|last| (0..x.nrows()).all(|t| x[(t, last)] == 1.0));
    let mut likelihoods = row_likelihoods(family, &state, observed)?;
    let mut fitted = passed(prior, x, &y, &likelihoods)?;
    for _ in 1..rounds {
        // A state that is learned anew is not worth more sweeps.
        let between = RefineSettings { max_sweeps: SWEEPS_BETWEEN, tolerance: FIT_SWEEP, block: None };
        refine::propagate(prior, &mut fitted, x, &y, &PerRow(&likelihoods), &between, Par::Seq)?;
        (state, _) = family.fit_state(&state, observed, &fitted.belief.along_rows(x)?, has_level)?;
        likelihoods = row_likelihoods(family, &state, observed)?;
    }
    let mut info = refine::expectation_propagation(prior, &mut fitted, x, &y, &PerRow(&likelihoods), last, Par::Seq)?;
    if rounds > 0 {
        let (learned, gained) = family.fit_state(&state, observed, &fitted.belief.along_rows(x)?, has_level)?;
        state = learned;
        info.bounds.iter_mut().for_each(|bound| *bound += gained);
    }
    Ok((fitted.belief, state, info))
}

/// The site of a row that is `seen` so, and its score.
///
/// # Errors
/// As [`score`], and those of the rule.
fn answered<F: ScalarFamily>(
    family: &F,
    state: &F::State,
    rule: &OnePass<Offset<F::Likelihood>>,
    observed: &Observation,
    seen: Projection,
) -> Result<(Site, f64), Error> {
    let by_rule = rule
        .site(seen.mean, seen.variance, observed.label)
        .and_then(|site| Ok((site, score(family, state, rule, observed, seen)?)));
    match by_rule {
        // The row lies where neither the moments nor the density of its label can be computed.
        Err(error @ (Error::Quadrature { .. } | Error::NonFinite { .. } | Error::ImproperSite { .. })) => {
            bounded(rule.likelihood(), observed.label, seen).ok_or(error)
        }
        found => found,
    }
}

/// The site of one pass for a row that is `seen` so, and the row's score in nats.
///
/// # Errors
/// What is wrong with the observation; those of the rule.
pub(in crate::online) fn site_of<F: ScalarFamily>(
    family: &F,
    state: &F::State,
    observed: &Observation,
    seen: Projection,
) -> Result<(Site, f64), Error> {
    answered(family, state, &OnePass::of::<F>(row_likelihood(family, state, observed)?), observed, seen)
}

/// `weight·log p(y | earlier rows)`, computed after the rule has been asked for the row's site.
///
/// # Errors
/// Those of the family; `NonFinite` for a density that is 0 or infinite in floats, since the sum of scores could never be finite
/// again.
fn score<F: ScalarFamily>(
    family: &F,
    state: &F::State,
    rule: &OnePass<Offset<<F as ScalarFamily>::Likelihood>>,
    observed: &Observation,
    seen: Projection,
) -> Result<f64, Error> {
    if observed.weight == 0.0 {
        return Ok(0.0);
    }
    family.check_step(observed, seen)?;
    let likelihood = rule.likelihood().inner();
    let score = match rule.log_normaliser() {
        // With the weight inside the integral: the density of that many rows.
        Some(log_normaliser) => log_normaliser,
        None => observed.weight * family.log_predictive(state, likelihood, observed.label, seen),
    };
    if !is_score(score) {
        // A failed quadrature gives its own error.
        likelihood.tilted(observed.label, seen.mean, seen.variance)?;
        return Err(Error::NonFinite { argument: "log predictive density", index: 0, value: score });
    }
    Ok(score)
}

/// The site of the implicit step, which finds the best Gaussian `q` for one row in `KL(q‖p)`, and the bound `E_q log p(y|t) − KL(q‖N(a, ν))` on the
/// row's log predictive density; `None` where these cannot be computed either.
fn bounded<L: GaussianExpectation>(likelihood: &Weighted<L>, y: f64, seen: Projection) -> Option<(Site, f64)> {
    let Projection { mean, variance } = seen;
    let site = Implicit(likelihood).site(mean, variance, y).ok()?;
    let (step, left) = (variance * site.gain(variance), 1.0 / (1.0 + variance * site.curvature));
    let expected = likelihood.expected_log_density(y, mean + step, variance * left);
    let divergence = 0.5 * (left - 1.0 - left.ln() + step * (step / variance));
    let bound = expected - divergence;
    is_score(bound).then_some((site, bound))
}

/// Whether the sum of any number of such scores stays finite.
pub(in crate::online) fn is_score(score: f64) -> bool {
    score.abs() <= 1e290
}
