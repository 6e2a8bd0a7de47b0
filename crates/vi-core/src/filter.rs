//! The sequential filter: Algorithm 1 of R-VGA, for any rule and any belief.

use std::fmt;

use crate::rows::CheckedRows;
use crate::{Belief, Error, Projection, Row, Rows, Site, SiteRule, SiteRules};

/// What one step of the filter saw and did.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct StepInfo {
    /// The projection of the old belief along `x`, from which `y` is predicted.
    pub projection: Projection,
    /// The site that was absorbed.
    pub site: Site,
}

/// Memory for one step of a belief `B`, owned by the caller; it grows at the first row and serves beliefs of any dimension.
pub struct Scratch<B: Belief> {
    pub(crate) step: B::Step,
    pub(crate) row: Vec<f64>,
}

impl<B: Belief> Default for Scratch<B> {
    fn default() -> Self {
        Self { step: B::Step::default(), row: Vec::new() }
    }
}

impl<B: Belief> fmt::Debug for Scratch<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").field("step", &self.step).finish_non_exhaustive()
    }
}

/// Learns one observation: projects the belief along `x`, asks the rule for a site, absorbs it.
///
/// ```text
/// a = xᵀμ, ν = xᵀPx          (73)
/// (g, h) = rule(a, ν, y)      (74)-(75)
/// μ ← μ + g/(1+hν)·Px         (76)
/// P ← P − h/(1+hν)·(Px)(Px)ᵀ  (77)
/// ```
///
/// `x` is a row of length `d`, dense or sparse. Cost `3d²` flops for a dense belief.
///
/// # Errors
/// [`Error::Dimension`], [`Error::NonFinite`] (in `x`), [`Error::Entry`] (in a sparse row's positions), [`Error::Label`], [`Error::NegativeVariance`],
/// [`Error::ImproperSite`], [`Error::NotPositiveDefinite`], [`Error::Overflow`]; the belief is then as it was, to the bit.
///
/// ```
/// use vi_core::{filter, BernoulliLogit, Belief, DenseGaussian, Implicit, Mixture8};
/// let mut belief = DenseGaussian::isotropic(&[0.0, 0.0], 10.0)?;
/// let rule = Implicit(BernoulliLogit(Mixture8));
/// let mut scratch = filter::Scratch::default();
/// filter::step(&mut belief, &rule, &[1.0, 0.5], 1.0, &mut scratch)?;
/// assert!(belief.mean()[0] > 0.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn step<'a, B: Belief, R: SiteRule>(
    belief: &mut B,
    rule: &R,
    x: impl Into<Row<'a>>,
    y: f64,
    scratch: &mut Scratch<B>,
) -> Result<StepInfo, Error> {
    let x = x.into();
    x.check(belief.dim())?;
    rule.check_label(y)?;
    advance(belief, x, &mut scratch.step, |a, nu| rule.site(a, nu, y))
}

/// A step whose input has been checked; `site` gives the site for `(a, ν)`.
pub(crate) fn advance<B: Belief>(
    belief: &mut B,
    x: Row<'_>,
    step: &mut B::Step,
    site: impl FnOnce(f64, f64) -> Result<Site, Error>,
) -> Result<StepInfo, Error> {
    let projection = belief.project(x, 1.0, step)?;
    let site = site(projection.mean, projection.variance)?;
    belief.absorb(x, site, step)?;
    Ok(StepInfo { projection, site })
}

/// Makes one pass over the rows `x` (`n` of length `d`, dense or sparse) with labels `y` (length `n`), in order.
///
/// `rule` is one for all rows, or one for each ([`PerRow`](crate::PerRow)); with [`Weighted`](crate::Weighted) rules observations
/// count more or less. `on_step(t, belief, info)` is called after observation `t` (from 0) with the new belief: for trajectories,
/// progress, and scores of the prediction before it. Rows are copied, one at a time, only if a matrix does not hold them
/// contiguously. Cost `3nd²` flops for a dense belief, plus one copy of the belief.
///
/// The log evidence is the sum of the log predictive densities
/// ([`GaussianExpectation::log_predictive`](crate::GaussianExpectation::log_predictive)) at `info.projection`. It is exact for a
/// linear model with known noise, and compares settings of any other without holding a row out:
///
/// ```text
/// log p(y₁, …, y_n) = Σ_t log p(y_t | y₁, …, y_{t−1}) ≈ Σ_t log E[p(y_t | t)],   t ~ N(a_t, ν_t)
/// ```
///
/// # Errors
/// As [`step`], naming the row by [`Error::Row`]; [`Error::Empty`] for `n = 0`; [`Error::Dimension`] also for another number of
/// rules. All rows and labels are checked before the first update, and on any error the belief is unchanged.
///
/// ```
/// use vi_core::{filter, Belief, DenseGaussian, Explicit, GaussianLikelihood};
/// use vi_linalg::faer::MatRef;
/// let x = MatRef::from_row_major_slice(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], 3, 2);
/// let y = [1.0, 2.0, 3.0];
/// let mut belief = DenseGaussian::isotropic(&[0.0, 0.0], 1e3)?;
/// let kalman = Explicit(GaussianLikelihood::new(0.01)?);
/// filter::run(&mut belief, &kalman, x, &y, |_, _, _| {})?;
/// assert!((belief.mean()[1] - 2.0).abs() < 1e-3);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn run<'a, B: Belief + Clone, R: SiteRules>(
    belief: &mut B,
    rule: &R,
    x: impl Into<Rows<'a>>,
    y: &[f64],
    mut on_step: impl FnMut(usize, &B, &StepInfo),
) -> Result<(), Error> {
    let rows = check_observations(belief.dim(), rule, x, y)?;
    let before = belief.clone();
    let mut scratch = Scratch::<B>::default();
    for t in 0..rows.len() {
        let Scratch { step, row } = &mut scratch;
        match advance(belief, rows.row(t, row), step, |a, nu| rule.rule_of(t).site(a, nu, y[t])) {
            Ok(info) => on_step(t, belief, &info),
            Err(error) => {
                *belief = before;
                return Err(error.at_row(t));
            }
        }
    }
    Ok(())
}

/// Checks observations and their labels.
///
/// # Errors
/// As [`Rows::check`]; [`Error::Dimension`] for another number of labels, [`Error::Row`] with the rule's error for a label.
pub(crate) fn check_observations<'a, R: SiteRules>(
    d: usize,
    rule: &R,
    x: impl Into<Rows<'a>>,
    y: &[f64],
) -> Result<CheckedRows<'a>, Error> {
    let rows = x.into().labelled(d, y)?;
    rule.check_labels(y)?;
    Ok(rows)
}
