//! A posterior as a prior and one site for each row, and a pass that finds every site anew from its cavity.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::{dot, symmetric_mul_vec, symmetric_rank_r};

use crate::belief::{Belief, DenseGaussian, factor};
use crate::block::{self, BlockBelief, BlockScratch, BlockSettings};
use crate::check;
use crate::per_row::SiteRules;
use crate::rows::Rows;
use crate::{Error, Projection, Site, Sites};

/// The least share of the precision along `x` that a cavity must keep; otherwise the site is left as it is, and counted.
const LEAST_CAVITY: f64 = 1e-8;

/// A posterior with the sites it is made of, one for each row.
#[derive(Debug, Clone)]
pub struct Refinement {
    /// The belief.
    pub belief: DenseGaussian,
    /// One site for each row.
    pub sites: Sites,
}

impl Refinement {
    /// Checks that the posterior can be that of `prior` and these labelled rows.
    pub(super) fn check(&self, prior: &DenseGaussian, x: MatRef<'_, f64>, y: &[f64]) -> Result<(), Error> {
        Rows::from(x).labelled(prior.dim(), y)?;
        check::length("belief", prior.dim(), self.belief.dim())?;
        check::length("sites", y.len(), self.sites.len())
    }
}

/// One blocked pass of `rule` from `prior` over the rows of `x` (`n × d`), keeping the sites. Cost as
/// [`block::run`](crate::block::run), and two numbers for each row.
///
/// # Errors
/// As [`block::run`](crate::block::run).
pub fn first_pass<R: SiteRules>(
    prior: &DenseGaussian,
    rule: &R,
    x: MatRef<'_, f64>,
    y: &[f64],
    par: Par,
) -> Result<Refinement, Error> {
    let mut belief = prior.clone();
    let mut sites = Sites::default();
    let mut scratch = BlockScratch::new(&belief, BlockSettings::for_dim(prior.dim()));
    block::run(&mut belief, rule, x, y, &mut scratch, par, |_, _, steps| {
        for step in steps {
            sites.push(step);
        }
    })?;
    Ok(Refinement { belief, sites })
}

/// Makes one sweep over all rows: `site` finds the `(r, h)` of row `i` from the cavity's mean and variance along it. The sites of
/// a block change when it has been absorbed. Returns how many rows had no proper cavity and were left as they are.
pub(super) fn sweep(
    refinement: &mut Refinement,
    x: MatRef<'_, f64>,
    damping: f64,
    mut site: impl FnMut(usize, f64, f64) -> Result<(f64, f64), Error>,
    scratch: &mut BlockScratch<DenseGaussian>,
    par: Par,
) -> Result<usize, Error> {
    let Refinement { belief, sites } = refinement;
    let mut skipped = 0;
    for first in (0..x.nrows()).step_by(scratch.recursion.capacity()) {
        let b = scratch.recursion.capacity().min(x.nrows() - first);
        let rows = x.subrows(first, b);
        belief.project_block(rows, &mut scratch.recursion, &mut scratch.panels, par);
        scratch.recursion.resolve(|t, seen| {
            let (r, h) = (sites.slopes()[first + t], sites.curvatures()[first + t]);
            let Some((mean, variance)) = cavity(seen, r, h) else {
                skipped += 1;
                return Ok(Site { slope: 0.0, curvature: 0.0 });
            };
            let (slope, curvature) = site(first + t, mean, variance)?;
            let (change_r, change_h) = (damping * (slope - r), damping * (curvature - h));
            Ok(Site { slope: change_r - change_h * seen.mean, curvature: change_h })
        })?;
        belief.absorb_block(rows, &scratch.recursion, &mut scratch.panels, par)?;
        for (t, step) in scratch.recursion.steps().iter().enumerate() {
            sites.add(first + t, step.site.natural_slope(step.projection.mean), step.site.curvature);
        }
    }
    Ok(skipped)
}

/// The mean and variance along `x` without the site `(r, h)`: `ν_c = ν/c`, `a_c = (a − νr)/c`, `c = 1 − hν`.
pub(super) fn cavity(seen: Projection, slope: f64, curvature: f64) -> Option<(f64, f64)> {
    let c = 1.0 - curvature * seen.variance;
    (c > LEAST_CAVITY).then(|| ((seen.mean - seen.variance * slope) / c, seen.variance / c))
}

/// The prior in natural parameters, to which sites are added.
pub(super) struct NaturalPrior {
    precision: Mat<f64>,
    shift: Vec<f64>,
    /// `½(log|Λ₀| − μ₀ᵀΛ₀μ₀)`.
    log_scale: f64,
}

impl NaturalPrior {
    pub(super) fn new(prior: &DenseGaussian) -> Result<Self, Error> {
        let cholesky = prior.cholesky()?;
        let precision = cholesky.inverse();
        let mut shift = vec![0.0; prior.dim()];
        symmetric_mul_vec(&mut shift, precision.as_ref(), prior.mean());
        let log_scale = -0.5 * (cholesky.log_det() + dot(&shift, prior.mean()));
        Ok(Self { precision, shift, log_scale })
    }

    /// `Λ = Λ₀ + Σh·xxᵀ`, `Λμ = Λ₀μ₀ + Σr·x`, and `log ∫ N(θ|μ₀, Λ₀⁻¹)·Π exp(r·t − ½h·t²) dθ`. Cost `nd² + d³`.
    pub(super) fn assemble(&self, sites: &Sites, x: MatRef<'_, f64>, par: Par) -> Result<(DenseGaussian, f64), Error> {
        let (n, d) = (x.nrows(), x.ncols());
        let mut precision = self.precision.clone();
        let scaled = Mat::from_fn(d, n, |i, t| sites.curvatures()[t] * x[(t, i)]);
        symmetric_rank_r(precision.as_mut(), 1.0, scaled.as_ref(), x.transpose(), par);
        let cholesky = factor("precision of the sites", precision.as_ref())?;
        let mut shift = self.shift.clone();
        let (sum, slopes) = (MatMut::from_column_major_slice_mut(&mut shift, d, 1), sites.slopes());
        matmul(sum, Accum::Add, x.transpose(), MatRef::from_column_major_slice(slopes, n, 1), 1.0, Par::Seq);
        let mut mean = shift.clone();
        cholesky.solve_vec_in_place(&mut mean)?;
        let log_integral = self.log_scale + 0.5 * (dot(&shift, &mean) - cholesky.log_det());
        Ok((DenseGaussian::from_parts(mean, cholesky.inverse()), log_integral))
    }
}
