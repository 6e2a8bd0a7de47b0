//! The sequential filter: Algorithm 1 of R-VGA, for any rule and any belief.

use std::fmt;

use vi_linalg::faer::MatRef;

use crate::check;
use crate::{Belief, Error, Projection, Row, Site, SiteRule, SiteRules, WeightedRule};

/// What one step saw and did.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct StepInfo {
    /// The old belief along `x`: what a prediction of `y` is made from.
    pub projection: Projection,
    /// The site that was absorbed.
    pub site: Site,
    /// Whether the belief could not take all of the step: [fading](crate::Forgetting::fading) was held before it, or the site was made
    /// weaker than the rule's, along a direction that had faded beyond what the belief's digits resolve.
    pub held: bool,
}

impl StepInfo {
    /// A step of which nothing was held back.
    pub(crate) fn whole(projection: Projection, site: Site) -> Self {
        Self { projection, site, held: false }
    }
}

/// Memory of one step of a belief `B`, owned by the caller; it grows with the first row and serves beliefs of any dimension.
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

/// One observation: project, ask the rule, absorb.
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
/// [`Error::Dimension`], [`Error::NonFinite`] (in `x`), [`Error::SparseIndex`], [`Error::Label`], [`Error::NegativeVariance`],
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

/// A step whose input has been checked; `site` answers to `(a, ν)`.
pub(crate) fn advance<B: Belief>(
    belief: &mut B,
    x: Row<'_>,
    step: &mut B::Step,
    site: impl FnOnce(f64, f64) -> Result<Site, Error>,
) -> Result<StepInfo, Error> {
    let projection = belief.project(x, 1.0, step)?;
    let site = site(projection.mean, projection.variance)?;
    belief.absorb(x, site, step)?;
    Ok(StepInfo::whole(projection, site))
}

/// One pass over the rows of `x` (`n × d`) with labels `y` (length `n`), in order.
///
/// `rule` is one for all rows, or one for each ([`PerRow`](crate::PerRow)).
/// `observe(t, belief, info)` is called after observation `t` (from 0) with the new belief: trajectories,
/// prequential scores, progress. Rows that are contiguous in memory (`MatRef::from_row_major_slice`) are not
/// copied. Cost `3nd²` flops for a dense belief, plus one copy of the belief.
///
/// # Errors
/// As [`step`], told of the row by [`Error::Row`]; [`Error::Empty`] for `n = 0`; [`Error::Dimension`] also for another
/// number of rules. All rows and labels are checked
/// before the first update, and on any error the belief is as it was before the call.
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
pub fn run<B: Belief + Clone, R: SiteRules>(
    belief: &mut B,
    rule: &R,
    x: MatRef<'_, f64>,
    y: &[f64],
    observe: impl FnMut(usize, &B, &StepInfo),
) -> Result<(), Error> {
    check_observations(belief.dim(), rule, x, y)?;
    pass(belief, x, |t, a, nu| rule.rule_of(t).site(a, nu, y[t]), observe)
}

/// As [`run`], with observation `t` counted `weights[t]` times: its log-likelihood is multiplied by that. Weight 0 leaves it
/// out, weight 1 is [`run`] to the bit.
///
/// # Errors
/// As [`run`]; [`Error::Dimension`] for another number of weights, [`Error::Row`] with [`Error::Setting`] for a weight that is
/// negative or not finite.
///
/// ```
/// use vi_core::{filter, Belief, DenseGaussian, Explicit, GaussianLikelihood};
/// use vi_linalg::faer::mat;
/// let kalman = Explicit(GaussianLikelihood::new(0.5)?);
/// let x = mat![[1.0, 0.3], [0.2, 1.0]];
/// let mut belief = DenseGaussian::isotropic(&[0.0, 0.0], 1.0)?;
/// filter::run_weighted(&mut belief, &kalman, x.as_ref(), &[1.0, 40.0], &[1.0, 0.0], |_, _, _| {})?;
/// assert!(belief.mean()[1] < 1.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn run_weighted<B: Belief + Clone, R: WeightedRule>(
    belief: &mut B,
    rule: &R,
    x: MatRef<'_, f64>,
    y: &[f64],
    weights: &[f64],
    observe: impl FnMut(usize, &B, &StepInfo),
) -> Result<(), Error> {
    check_observations(belief.dim(), rule, x, y)?;
    check_weights(y.len(), weights)?;
    pass(belief, x, |t, a, nu| rule.weighted_site(weights[t], a, nu, y[t]), observe)
}

/// A pass over checked observations; `site` answers to `(t, a, ν)`. On an error the belief is as it was.
fn pass<B: Belief + Clone>(
    belief: &mut B,
    x: MatRef<'_, f64>,
    site: impl Fn(usize, f64, f64) -> Result<Site, Error>,
    mut observe: impl FnMut(usize, &B, &StepInfo),
) -> Result<(), Error> {
    let before = belief.clone();
    let mut scratch = Scratch::<B>::default();
    for t in 0..x.nrows() {
        let Scratch { step, row } = &mut scratch;
        let x_t = contiguous_row(x, t, row);
        match advance(belief, x_t.into(), step, |a, nu| site(t, a, nu)) {
            Ok(info) => observe(t, belief, &info),
            Err(error) => {
                *belief = before;
                return Err(error.at_row(t));
            }
        }
    }
    Ok(())
}

/// Row `t` of `x` as a slice: in place where it is contiguous, else copied into `buffer`.
pub(crate) fn contiguous_row<'a>(x: MatRef<'a, f64>, t: usize, buffer: &'a mut Vec<f64>) -> &'a [f64] {
    if let Some(row) = x.row(t).try_as_row_major() {
        return row.as_slice();
    }
    buffer.clear();
    buffer.extend(x.row(t).iter());
    buffer
}

/// Checks observations and their labels.
///
/// # Errors
/// As [`check_rows`]; [`Error::Row`] with what the rule says of a label.
pub(crate) fn check_observations<R: SiteRules>(d: usize, rule: &R, x: MatRef<'_, f64>, y: &[f64]) -> Result<(), Error> {
    check_rows(d, x, y)?;
    rule.check_labels(y)
}

/// Checks the weights of `n` observations.
///
/// # Errors
/// [`Error::Dimension`], [`Error::Row`] with [`Error::Setting`].
pub(crate) fn check_weights(n: usize, weights: &[f64]) -> Result<(), Error> {
    check::length("weights", n, weights.len())?;
    weights
        .iter()
        .enumerate()
        .try_for_each(|(t, &weight)| check::not_negative("weight", weight).map_err(|error| error.at_row(t)))
}

/// Checks the shapes and the finiteness of a set of observations.
///
/// # Errors
/// [`Error::Empty`], [`Error::Dimension`], [`Error::Row`] with [`Error::NonFinite`].
pub(crate) fn check_rows(d: usize, x: MatRef<'_, f64>, y: &[f64]) -> Result<(), Error> {
    if x.nrows() == 0 {
        return Err(Error::Empty { argument: "x" });
    }
    check::length("columns of x", d, x.ncols())?;
    check::length("y", x.nrows(), y.len())?;
    check_inputs(d, x)
}

/// Checks rows that come without labels.
///
/// # Errors
/// [`Error::Empty`], and as [`check_inputs`].
pub(crate) fn check_stream(d: usize, x: MatRef<'_, f64>) -> Result<(), Error> {
    if x.nrows() == 0 {
        return Err(Error::Empty { argument: "x" });
    }
    check_inputs(d, x)
}

/// Checks the width and the finiteness of a set of rows, which may be empty.
///
/// # Errors
/// [`Error::Dimension`], [`Error::Row`] with [`Error::NonFinite`].
pub(crate) fn check_inputs(d: usize, x: MatRef<'_, f64>) -> Result<(), Error> {
    check::length("columns of x", d, x.ncols())?;
    for t in 0..x.nrows() {
        if let Some(row) = x.row(t).try_as_row_major() {
            check::finite("x", row.as_slice()).map_err(|error| error.at_row(t))?;
            continue;
        }
        for (index, &value) in x.row(t).iter().enumerate() {
            if !value.is_finite() {
                return Err(Error::NonFinite { argument: "x", index, value }.at_row(t));
            }
        }
    }
    Ok(())
}
