//! One-step-ahead predictive evidence: how well each prediction fitted the observation that followed it.
//!
//! ```text
//! log p(y₁, …, y_n) = Σ_t log p(y_t | y₁, …, y_{t−1}) ≈ Σ_t log E[p(y_t | t)],   t ~ N(a_t, ν_t)
//! ```
//!
//! Each term is taken under the belief *before* observation `t`, after forgetting. It is exact for linear models with a known
//! noise variance, whether `θ` is constant or drifts by additive noise, and a fair score of prediction for all others: use it to
//! compare settings (`λ`, `q`, prior scale, noise variance, rule) without holding anything out. A [`Learner`] adds it up as it
//! learns.

use crate::check;
use crate::filter::Scratch;
use crate::likelihood::GaussianExpectation;
use crate::{Error, Forget, Learner, Rows, SiteRule};

/// The log evidence of the data under each of several learners, in one pass; the learners themselves do not change.
///
/// If a learner fails on the way (noise until a variance overflows, say), its error stands in its place and the others go on.
/// Memory: a copy of every belief.
///
/// # Errors
/// [`Error::Empty`] for no learners or no rows, [`Error::Dimension`], [`Error::Row`] with [`Error::NonFinite`] or
/// [`Error::Label`]: what is wrong with the data or settings independently of the pass.
///
/// ```
/// use vi_core::{DenseGaussian, Explicit, Forgetting, GaussianLikelihood, Learner, evidence};
/// let noise = GaussianLikelihood::new(0.01)?;
/// let learner = Learner::new(DenseGaussian::isotropic(&[0.0], 1.0)?, Explicit(noise), noise);
/// let mut bank = Vec::new();
/// for lambda in [0.5, 0.9, 1.0] {
///     bank.push(learner.clone().with_forgetting(Forgetting::fading(lambda)?));
/// }
/// let scores = evidence::compare(&bank, &[1.0; 4], &[0.0, 1.0, 2.0, 3.0])?;
/// assert!(scores[0].as_ref().unwrap() > scores[2].as_ref().unwrap());
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn compare<'a, B, R, L>(
    bank: &[Learner<B, R, L>],
    x: impl Into<Rows<'a>>,
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
    let rows = x.into().labelled(first.belief.dim(), y)?;
    for learner in bank {
        check::length("dimension of a learner's belief", first.belief.dim(), learner.belief.dim())?;
        learner.check(y)?;
    }
    let mut beliefs: Vec<B> = bank.iter().map(|learner| learner.belief.clone()).collect();
    let mut totals: Vec<Result<f64, Error>> = vec![Ok(0.0); bank.len()];
    let Scratch { mut step, mut row } = Scratch::<B>::default();
    for (t, &y) in y.iter().enumerate() {
        let x = rows.row(t, &mut row);
        for ((learner, belief), total) in bank.iter().zip(&mut beliefs).zip(&mut totals) {
            if let Ok(sum) = total {
                match learner.learn_into(belief, t, (x, y), &mut step) {
                    Ok(scored) => *sum += scored.log_density,
                    Err(error) => *total = Err(error.at_row(t)),
                }
            }
        }
    }
    Ok(totals)
}
