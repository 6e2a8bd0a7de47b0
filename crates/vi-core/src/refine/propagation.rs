//! Sweeps to the Gaussian whose moments along every row are those of the row's tilted density.

use vi_linalg::faer::{MatRef, Par};

use super::settings::{RefineInfo, RefineSettings};
use super::sites::{NaturalPrior, Refinement, cavity, sweep};
use crate::belief::{Belief, DenseGaussian};
use crate::block::{BlockScratch, BlockSettings};
use crate::check;
use crate::likelihood::GaussianExpectation;
use crate::per_row::Likelihoods;
use crate::{Error, Stop};

/// The least damping.
const LEAST_DAMPING: f64 = 0.1;

/// Expectation propagation (Minka 2001): sweeps until the rows' normalisers no longer change.
///
/// A sweep removes each row's site, and puts in the one with which the belief along the row has the mean and variance of the
/// tilted density `p(y_i|t)·N(t|a_c, ν_c)/Ẑ_i` of its cavity, as [`MomentMatching`](crate::MomentMatching) does in one pass. At
/// its fixed points the log evidence
///
/// ```text
/// log Z = Σ_i [log Ẑ_i + ½log(1 + h_iν_c) − ½a²/ν + ½a_c²/ν_c] + log ∫ p₀(θ)·Π exp(r_i·t_i − ½h_i·t_i²) dθ
/// ```
///
/// is stationary in the sites, so that its derivative by any parameter of the prior is the one with the sites held fixed. If rows
/// leave the weights very uncertain, as separable classes under a wide prior do, this Gaussian covers what the posterior covers,
/// and that of [`refine`](super::refine()) is too narrow: `KL(q‖p)` punishes mass where the posterior has none, and the bound on
/// the evidence is then too low by many nats. With many rows for each weight the two agree.
///
/// `refinement` is what [`first_pass`](super::first_pass) gave from the same `prior`, rows and labels; sites of moment matching
/// are the best start. A sweep costs a blocked pass and `nd² + d³`. It is the last if its changes of the `log Ẑ_i` add up, in
/// absolute value, to less than the tolerance, which changes the log evidence by about the square of that; a sweep that changes
/// them by more than the one before halves the damping factor for those that follow. The only entry of [`RefineInfo::bounds`] is the log evidence at the
/// end.
///
/// # Errors
/// [`Error::Empty`], [`Error::Dimension`], [`Error::Row`], [`Error::NotPositiveDefinite`]; `refinement` is then as it was. Not converging is
/// a [`Stop`].
///
/// ```
/// use vi_core::{refine, BernoulliLogit, DenseGaussian, Mixture8, MomentMatching, Stop};
/// use vi_linalg::faer::{MatRef, Par};
/// let x = MatRef::from_row_major_slice(&[1.0, 0.2, 1.0, -1.3, 1.0, 2.1, 1.0, -0.4], 4, 2);
/// let y = [1.0, 0.0, 1.0, 0.0];
/// let prior = DenseGaussian::isotropic(&[0.0, 0.0], 10.0)?;
/// let logit = BernoulliLogit(Mixture8);
/// let mut posterior = refine::first_pass(&prior, &MomentMatching(logit), x, &y, Par::Seq)?;
/// let settings = refine::RefineSettings::default();
/// let info = refine::expectation_propagation(&prior, &mut posterior, x, &y, &logit, &settings, Par::Seq)?;
/// assert_eq!(info.stop, Stop::Converged);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn expectation_propagation<L: Likelihoods<Row: GaussianExpectation>>(
    prior: &DenseGaussian,
    refinement: &mut Refinement,
    x: MatRef<'_, f64>,
    y: &[f64],
    likelihood: &L,
    settings: &RefineSettings,
    par: Par,
) -> Result<RefineInfo, Error> {
    let mut next = refinement.clone();
    let (mut info, log_integral) = propagate(prior, &mut next, x, y, likelihood, settings, par)?;
    let log_evidence = log_integral + log_scales(&next, x, y, likelihood)?;
    check::result("log evidence", log_evidence)?;
    info.bounds.push(log_evidence);
    *refinement = next;
    Ok(info)
}

/// The sweeps of [`expectation_propagation`] without the log evidence, which costs as much as a sweep, for fits that go on: the report, and
/// `log ∫ p₀(θ)·Π exp(r_i·t_i − ½h_i·t_i²) dθ`.
///
/// # Errors
/// As [`expectation_propagation`].
///
/// ```
/// use vi_core::{refine, BernoulliLogit, DenseGaussian, Mixture8, MomentMatching};
/// use vi_linalg::faer::{MatRef, Par};
/// let x = MatRef::from_row_major_slice(&[1.0, 0.2, 1.0, -1.3, 1.0, 2.1, 1.0, -0.4], 4, 2);
/// let y = [1.0, 0.0, 1.0, 0.0];
/// let prior = DenseGaussian::isotropic(&[0.0, 0.0], 10.0)?;
/// let logit = BernoulliLogit(Mixture8);
/// let mut posterior = refine::first_pass(&prior, &MomentMatching(logit), x, &y, Par::Seq)?;
/// let one = refine::RefineSettings { max_sweeps: 1, ..Default::default() };
/// let (info, _) = refine::propagate(&prior, &mut posterior, x, &y, &logit, &one, Par::Seq)?;
/// assert!(info.sweeps == 1 && info.bounds.is_empty());
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn propagate<L: Likelihoods<Row: GaussianExpectation>>(
    prior: &DenseGaussian,
    refinement: &mut Refinement,
    x: MatRef<'_, f64>,
    y: &[f64],
    likelihood: &L,
    settings: &RefineSettings,
    par: Par,
) -> Result<(RefineInfo, f64), Error> {
    settings.check()?;
    refinement.check(prior, x, y)?;
    likelihood.check_labels(y)?;
    let natural_prior = NaturalPrior::new(prior)?;
    let mut scratch = BlockScratch::new(prior, settings.block.unwrap_or_else(|| BlockSettings::for_dim(prior.dim())));
    let mut next = refinement.clone();
    let mut info = RefineInfo::new(Vec::new());
    let mut progress = Progress::new(y.len());
    let mut log_integral = 0.0;
    while info.sweeps < settings.max_sweeps {
        let damping = progress.damping;
        let matched = |i: usize, mean: f64, variance: f64| {
            let tilted = likelihood.likelihood_of(i).tilted(y[i], mean, variance)?;
            progress.see(i, tilted.log_normaliser);
            Ok((tilted.slope + tilted.curvature * (mean + variance * tilted.slope), tilted.curvature)) // r′, h′
        };
        info.skipped += sweep(&mut next, x, damping, matched, &mut scratch, par)?;
        (next.belief, log_integral) = natural_prior.assemble(&next.sites, x, par)?;
        info.sweeps += 1;
        if progress.ends(settings.tolerance) {
            info.stop = Stop::Converged;
            break;
        }
    }
    *refinement = next;
    Ok((info, log_integral))
}

/// Follows how much the normalisers of the rows' tilted densities change from sweep to sweep, and sets the damping accordingly.
///
/// ```
/// let mut progress = vi_core::refine::Progress::new(2);
/// for normalisers in [[-0.7, -0.6], [-0.5, -0.6], [-0.5, -0.601]] {
///     progress.see(0, normalisers[0]);
///     progress.see(1, normalisers[1]);
///     let last = progress.ends(0.01);
///     assert_eq!(last, normalisers[1] == -0.601);
/// }
/// assert_eq!(progress.damping(), 1.0);
/// ```
#[derive(Debug, Clone)]
pub struct Progress {
    log_normalisers: Vec<f64>,
    moved: f64,
    last: f64,
    damping: f64,
}

impl Progress {
    /// The state before the first sweep over `n` rows.
    #[must_use]
    pub fn new(n: usize) -> Self {
        Self { log_normalisers: vec![f64::INFINITY; n], moved: 0.0, last: f64::INFINITY, damping: 1.0 }
    }

    /// Records the `log Ẑ` of row `i`, in nats, if there is such a row.
    pub fn see(&mut self, i: usize, log_normaliser: f64) {
        if let Some(last) = self.log_normalisers.get_mut(i) {
            self.moved += (log_normaliser - *last).abs();
            *last = log_normaliser;
        }
    }

    /// Ends a sweep; returns whether it has changed the rows' `log Ẑ` by no more than `tolerance` in sum, allowing for the
    /// damping.
    pub fn ends(&mut self, tolerance: f64) -> bool {
        let moved = std::mem::take(&mut self.moved);
        let settled = moved <= tolerance * self.damping;
        if moved > self.last {
            self.damping = (0.5 * self.damping).max(LEAST_DAMPING);
        }
        self.last = moved;
        settled
    }

    /// The share of a change of sites that the next sweep makes.
    #[must_use]
    pub fn damping(&self) -> f64 {
        self.damping
    }
}

/// `Σ_i [log Ẑ_i + ½log(1 + h_iν_c) − ½a²/ν + ½a_c²/ν_c]`: the log of the factors that multiply the sites `exp(r·t − ½h·t²)`. A
/// row without a proper cavity contributes nothing.
fn log_scales<L: Likelihoods<Row: GaussianExpectation>>(
    Refinement { belief, sites }: &Refinement,
    x: MatRef<'_, f64>,
    y: &[f64],
    likelihood: &L,
) -> Result<f64, Error> {
    let mut sum = 0.0;
    for (i, (seen, &label)) in belief.along_rows(x)?.into_iter().zip(y).enumerate() {
        let (r, h) = (sites.slopes()[i], sites.curvatures()[i]);
        let Some((mean, variance)) = cavity(seen, r, h) else { continue };
        let tilted = likelihood.likelihood_of(i).tilted(label, mean, variance).map_err(|error| error.at_row(i))?;
        // a²/ν − a_c²/ν_c, as a/ν = a_c/ν_c + r and 1/ν = 1/ν_c + h.
        let exponent = r * (seen.mean + mean) - h * seen.mean * mean;
        sum += tilted.log_normaliser + 0.5 * ((h * variance).ln_1p() - exponent);
    }
    Ok(sum)
}
