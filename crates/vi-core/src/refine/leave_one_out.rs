//! Leave-one-out predictions: each row predicted from all others.

use vi_linalg::faer::MatRef;

use super::sites::{Refinement, cavity};
use crate::Error;
use crate::belief::{Belief, DenseStep};
use crate::check;
use crate::likelihood::GaussianExpectation;
use crate::per_row::Likelihoods;
use crate::rows::{Rows, contiguous_row};

/// The leave-one-out log density `log p(y_i | y_{−i})` of every row, in nats: the predictive density of each label under its
/// cavity, the posterior without that row. It is `None` if the cavity is not a proper Gaussian. Cost `2nd²`.
///
/// # Errors
/// [`Error::Empty`], [`Error::Dimension`], [`Error::Row`], among them with [`Error::Overflow`] for a log-density that is not
/// finite.
///
/// ```
/// use vi_core::{refine, DenseGaussian, Explicit, GaussianLikelihood};
/// use vi_linalg::faer::{MatRef, Par};
/// let x = MatRef::from_row_major_slice(&[1.0, 2.0, 3.0], 3, 1);
/// let (y, noise) = ([1.1, 1.9, 3.2], GaussianLikelihood::new(0.1)?);
/// let prior = DenseGaussian::isotropic(&[0.0], 10.0)?;
/// let posterior = refine::first_pass(&prior, &Explicit(noise), x, &y, Par::Seq)?;
/// let densities = refine::leave_one_out(&posterior, x, &y, &noise)?;
/// assert!(densities.iter().all(|d| d.is_some_and(|d| d > -2.0)));
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn leave_one_out<L: Likelihoods<Row: GaussianExpectation>>(
    refinement: &Refinement,
    x: MatRef<'_, f64>,
    y: &[f64],
    likelihood: &L,
) -> Result<Vec<Option<f64>>, Error> {
    let Refinement { belief, sites } = refinement;
    Rows::from(x).labelled(belief.dim(), y)?;
    check::length("sites", y.len(), sites.len())?;
    likelihood.check_labels(y)?;
    let (mut step, mut buffer) = (DenseStep::default(), Vec::new());
    y.iter()
        .enumerate()
        .map(|(t, &label)| {
            let seen = belief.project(contiguous_row(x, t, &mut buffer).into(), 1.0, &mut step)?;
            let without = cavity(seen, sites.slopes()[t], sites.curvatures()[t]);
            let Some((mean, variance)) = without else { return Ok(None) };
            let log_density = likelihood.likelihood_of(t).log_predictive(label, mean, variance);
            check::result("log p(y_i|y_−i)", log_density).map(Some).map_err(|error| error.at_row(t))
        })
        .collect()
}
