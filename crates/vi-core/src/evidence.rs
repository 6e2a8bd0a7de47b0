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

use crate::error::{check_finite, check_len};
use crate::filter::{Scratch, StepInfo, advance, check_rows, contiguous_row};
use crate::likelihood::GaussianExpectation;
use crate::{Error, Forget, Forgetting, SiteRule};

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
    /// Cost: that of forgetting, [`filter::step`](crate::filter::step) and one copy of the belief.
    ///
    /// # Errors
    /// As [`filter::step`](crate::filter::step) and [`Forgetting::apply`]; [`Error::NonFinite`] for a predictive
    /// density that is not a number. The belief is then as it was.
    pub fn step(&mut self, x: &[f64], y: f64, scratch: &mut Scratch) -> Result<f64, Error> {
        check_len("x", self.belief.dim(), x.len())?;
        check_len("scratch", self.belief.dim(), scratch.gain.len())?;
        check_finite("x", x)?;
        self.check_label(y)?;
        let mut belief = self.belief.clone();
        let (_, score) = advance_scored(&mut belief, self, x, y, &mut scratch.gain)?;
        self.belief = belief;
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
        check_rows(self.belief.dim(), x, y)?;
        self.check(y)?;
        let mut belief = self.belief.clone();
        let Scratch { mut gain, mut row } = Scratch::new(belief.dim());
        let mut total = 0.0;
        for (t, &label) in y.iter().enumerate() {
            let x_t = contiguous_row(x, t, &mut row);
            let (info, score) =
                advance_scored(&mut belief, self, x_t, label, &mut gain).map_err(|error| error.at_row(t))?;
            total += score;
            observe(t, &belief, &info);
        }
        self.belief = belief;
        Ok(total)
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

/// A scored step of `belief` by the rest of `candidate`; input has been checked, and an error may leave `belief`
/// changed.
fn advance_scored<B: Forget, R: SiteRule, L: GaussianExpectation>(
    belief: &mut B,
    candidate: &Candidate<B, R, L>,
    x: &[f64],
    y: f64,
    gain: &mut [f64],
) -> Result<(StepInfo, f64), Error> {
    candidate.forgetting.apply(belief)?;
    let info = advance(belief, x, gain, |a, nu| candidate.rule.site(a, nu, y))?;
    let score = candidate.likelihood.log_predictive(y, info.projection.mean, info.projection.variance);
    if score.is_nan() {
        return Err(Error::NonFinite { argument: "log predictive density", index: 0, value: score });
    }
    Ok((info, score))
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
/// A candidate that breaks down on the way (fading until a variance overflows, say) has its error in its place and the
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
    check_rows(first.belief.dim(), x, y)?;
    for candidate in bank {
        check_len("dimension of a candidate's belief", first.belief.dim(), candidate.belief.dim())?;
        candidate.check(y)?;
    }
    let mut beliefs: Vec<B> = bank.iter().map(|candidate| candidate.belief.clone()).collect();
    let mut totals: Vec<Result<f64, Error>> = vec![Ok(0.0); bank.len()];
    let Scratch { mut gain, mut row } = Scratch::new(first.belief.dim());
    for (t, &label) in y.iter().enumerate() {
        let x_t = contiguous_row(x, t, &mut row);
        for ((candidate, belief), total) in bank.iter().zip(&mut beliefs).zip(&mut totals) {
            if let Ok(sum) = total {
                match advance_scored(belief, candidate, x_t, label, &mut gain) {
                    Ok((_, score)) => *sum += score,
                    Err(error) => *total = Err(error.at_row(t)),
                }
            }
        }
    }
    Ok(totals)
}
