//! One-step predictive evidence: how well each prediction met the observation that followed it.
//!
//! ```text
//! log p(y₁, …, y_n) = Σ_t log p(y_t | y₁, …, y_{t−1}) ≈ Σ_t log E[p(y_t | t)],   t ~ N(a_t, ν_t)
//! ```
//!
//! Each term is taken under the belief *before* observation `t`, after forgetting. It is exact for linear models with a
//! known noise variance, standing still or drifting by additive noise, and a fair score of prediction for all others:
//! settings are compared by it (`λ`, `q`, prior scale, noise variance, rule) without holding anything out.

use vi_linalg::faer::MatRef;

use crate::check;
use crate::filter::{Scratch, StepInfo};
use crate::likelihood::GaussianExpectation;
use crate::rows::{Rows, contiguous_row};
use crate::{Belief, Error, Forget, Forgetting, Row, Site, SiteRule};

/// All that is to be compared: a belief, how it learns, how it predicts, how it forgets.
///
/// `rule` and `likelihood` are apart because the papers' rules approximate: a quadratic-bound filter, say, is scored by
/// the logistic likelihood.
#[derive(Debug, Clone)]
pub struct Candidate<B: Forget, R, L> {
    /// The belief: the prior before a stream, the posterior after.
    pub belief: B,
    /// How an observation becomes a site.
    pub rule: R,
    /// `p(y|t)`, for the predictive density.
    pub likelihood: L,
    /// What happens between observations.
    pub forgetting: Forgetting<B>,
}

impl<B: Forget + Clone, R: SiteRule, L: GaussianExpectation> Candidate<B, R, L> {
    /// Forgets, predicts, learns: returns `log E[p(y|t)]` in nats under the belief before `y`. `x` has length `d`.
    ///
    /// Cost: that of [`filter::step`](crate::filter::step), fading included; other ways to forget cost what they do and a copy of
    /// the belief.
    ///
    /// # Errors
    /// As [`filter::step`](crate::filter::step) and [`Forgetting::apply`]; [`Error::NonFinite`] for a predictive
    /// density that is not a number. The belief is then as it was.
    pub fn step<'a>(&mut self, x: impl Into<Row<'a>>, y: f64, scratch: &mut Scratch<B>) -> Result<f64, Error> {
        let x = x.into();
        x.check(self.belief.dim())?;
        self.forgetting.check_dim(self.belief.dim())?;
        self.check_label(y)?;
        let Self { belief, rule, likelihood, forgetting } = self;
        let (_, score) = advance_scored(belief, rule, likelihood, forgetting, x, y, &mut scratch.step)?;
        Ok(score)
    }

    /// One pass over the rows of `x` (`n × d`) with labels `y` (length `n`): the sum of [`step`](Self::step)'s scores,
    /// in nats.
    ///
    /// It may be `−∞`, when an observation is too far out for its density to be a positive number. After observation
    /// `t`, `observe(t, belief, info)` is called, as by [`filter::run`](crate::filter::run).
    ///
    /// # Errors
    /// As [`step`](Self::step), told of the row; [`Error::Empty`] for `n = 0`. On any error the belief is as it was
    /// before the call.
    pub fn run(
        &mut self,
        x: MatRef<'_, f64>,
        y: &[f64],
        mut observe: impl FnMut(usize, &B, &StepInfo),
    ) -> Result<f64, Error> {
        Rows::from(x).labelled(self.belief.dim(), y)?;
        self.check(y)?;
        let mut belief = self.belief.clone();
        let Scratch { mut step, mut row } = Scratch::<B>::default();
        let mut total = 0.0;
        for (t, &label) in y.iter().enumerate() {
            let x_t = contiguous_row(x, t, &mut row);
            let (info, score) = self.advance(&mut belief, x_t, label, &mut step).map_err(|error| error.at_row(t))?;
            total += score;
            observe(t, &belief, &info);
        }
        self.belief = belief;
        Ok(total)
    }

    /// A scored step of a copy of the belief; input has been checked.
    fn advance(&self, belief: &mut B, x: &[f64], y: f64, step: &mut B::Step) -> Result<(StepInfo, f64), Error> {
        advance_scored(belief, &self.rule, &self.likelihood, &self.forgetting, x.into(), y, step)
    }

    fn check(&self, y: &[f64]) -> Result<(), Error> {
        self.forgetting.check_dim(self.belief.dim())?;
        for (t, &label) in y.iter().enumerate() {
            self.check_label(label).map_err(|error| error.at_row(t))?;
        }
        Ok(())
    }

    fn check_label(&self, y: f64) -> Result<(), Error> {
        self.rule.check_label(y)?;
        self.likelihood.check_label(y)
    }
}

/// A scored step; input has been checked. On an error the belief is as it was.
fn advance_scored<B: Forget + Clone, R: SiteRule, L: GaussianExpectation>(
    belief: &mut B,
    rule: &R,
    likelihood: &L,
    forgetting: &Forgetting<B>,
    x: Row<'_>,
    y: f64,
    step: &mut B::Step,
) -> Result<(StepInfo, f64), Error> {
    let mut prepare = |belief: &B, fade: f64, held| {
        let projection = belief.project(x, fade, step)?;
        let score = likelihood.log_predictive(y, projection.mean, projection.variance);
        if score.is_nan() {
            return Err(Error::NonFinite { argument: "log predictive density", index: 0, value: score });
        }
        let site = rule.site(projection.mean, projection.variance, y)?;
        let mut info = StepInfo { projection, site, held };
        match belief.prepare(x, site, step) {
            Err(Error::Unresolved { .. }) if forgetting.fade_factor().is_some_and(|lambda| lambda < 1.0) => {
                (info.site, info.held) = (resolved(belief, x, site, projection.variance, step)?, true);
            }
            prepared => prepared?,
        }
        Ok((info, score))
    };
    let done;
    if let Some(lambda) = forgetting.fade_factor() {
        let held = lambda < 1.0 && !belief.can_fade(lambda);
        done = prepare(belief, if held { 1.0 } else { lambda }, held)?;
    } else {
        let mut forgotten = belief.clone();
        forgetting.apply(&mut forgotten)?;
        done = prepare(&forgotten, 1.0, false)?;
        *belief = forgotten;
    }
    belief.commit(x, step);
    Ok(done)
}

/// Prepares as much of `site` as the belief's digits resolve along a direction that has faded for long: the mean moves as far, the
/// variance falls by a factor of 10⁸, or of 2 where even that is too much. The next rows along it do the rest.
///
/// # Errors
/// As [`Belief::prepare`].
fn resolved<B: Belief>(belief: &B, x: Row<'_>, site: Site, variance: f64, step: &mut B::Step) -> Result<Site, Error> {
    let weaker = |factor: f64| Site { slope: factor * site.gain(variance), curvature: (factor - 1.0) / variance };
    let most = weaker(1e8);
    match belief.prepare(x, most, step) {
        Err(Error::Unresolved { .. }) => {
            let least = weaker(2.0);
            belief.prepare(x, least, step)?;
            Ok(least)
        }
        prepared => prepared.map(|()| most),
    }
}

/// The one-step predictive log evidence of a stream, `Σ log E[p(y_t|t)]` in nats; the prior is left alone.
///
/// # Errors
/// As [`Candidate::run`].
///
/// ```
/// use vi_core::{DenseGaussian, Explicit, Forgetting, GaussianLikelihood, evidence::prequential_log_evidence};
/// use vi_linalg::faer::MatRef;
/// let (prior, noise) = (DenseGaussian::isotropic(&[0.0], 1.0)?, GaussianLikelihood::new(1.0)?);
/// let (x, y) = (MatRef::from_row_major_slice(&[1.0, 1.0], 2, 1), [0.0, 0.0]);
/// let log_p = prequential_log_evidence(&prior, &Explicit(noise), &noise, &Forgetting::none(), x, &y)?;
/// // Two labels at 0 with variance 2 and covariance 1: a determinant of 3.
/// assert!((log_p + (2.0 * std::f64::consts::PI).ln() + 0.5 * 3.0_f64.ln()).abs() < 1e-14);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn prequential_log_evidence<B, R, L>(
    prior: &B,
    rule: &R,
    likelihood: &L,
    forgetting: &Forgetting<B>,
    x: MatRef<'_, f64>,
    y: &[f64],
) -> Result<f64, Error>
where
    B: Forget + Clone,
    R: SiteRule + Clone,
    L: GaussianExpectation + Clone,
{
    let (rule, likelihood) = (rule.clone(), likelihood.clone());
    Candidate { belief: prior.clone(), rule, likelihood, forgetting: forgetting.clone() }.run(x, y, |_, _, _| {})
}

/// The log evidence of each of a bank of candidates, in one pass over the data; the candidates are left alone.
///
/// A candidate that breaks down on the way (noise until a variance overflows, say) has its error in its place and the
/// others go on. Memory: a copy of every belief.
///
/// # Errors
/// [`Error::Empty`] for no candidates or no rows, [`Error::Dimension`], [`Error::Row`] with [`Error::NonFinite`] or
/// [`Error::Label`]: what is wrong with the data or the settings for anyone.
///
/// ```
/// use vi_core::{DenseGaussian, Explicit, Forgetting, GaussianLikelihood, evidence};
/// use vi_linalg::faer::MatRef;
/// let noise = GaussianLikelihood::new(0.01)?;
/// let bank = [0.5, 0.9, 1.0].map(|lambda| -> Result<_, vi_core::Error> {
///     Ok(evidence::Candidate {
///         belief: DenseGaussian::isotropic(&[0.0], 1.0)?,
///         rule: Explicit(noise),
///         likelihood: noise,
///         forgetting: Forgetting::fading(lambda)?,
///     })
/// });
/// let bank = bank.into_iter().collect::<Result<Vec<_>, _>>()?;
/// let x = MatRef::from_row_major_slice(&[1.0; 4], 4, 1);
/// let scores = evidence::compare(&bank, x, &[0.0, 1.0, 2.0, 3.0])?;
/// assert!(scores[0].as_ref().unwrap() > scores[2].as_ref().unwrap());
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn compare<B, R, L>(
    bank: &[Candidate<B, R, L>],
    x: MatRef<'_, f64>,
    y: &[f64],
) -> Result<Vec<Result<f64, Error>>, Error>
where
    B: Forget + Clone,
    R: SiteRule,
    L: GaussianExpectation,
{
    let Some(first) = bank.first() else {
        return Err(Error::Empty { argument: "bank" });
    };
    Rows::from(x).labelled(first.belief.dim(), y)?;
    for candidate in bank {
        check::length("dimension of a candidate's belief", first.belief.dim(), candidate.belief.dim())?;
        candidate.check(y)?;
    }
    let mut beliefs: Vec<B> = bank.iter().map(|candidate| candidate.belief.clone()).collect();
    let mut totals: Vec<Result<f64, Error>> = vec![Ok(0.0); bank.len()];
    let Scratch { mut step, mut row } = Scratch::<B>::default();
    for (t, &label) in y.iter().enumerate() {
        let x_t = contiguous_row(x, t, &mut row);
        for ((candidate, belief), total) in bank.iter().zip(&mut beliefs).zip(&mut totals) {
            if let Ok(sum) = total {
                match candidate.advance(belief, x_t, label, &mut step) {
                    Ok((_, score)) => *sum += score,
                    Err(error) => *total = Err(error.at_row(t)),
                }
            }
        }
    }
    Ok(totals)
}
