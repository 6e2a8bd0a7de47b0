//! Posteriors of posteriordb, with how far an approximation is from their reference draws.
//!
//! Data and reference quantiles are those of [posteriordb](https://github.com/stan-dev/posteriordb) (`benches/data/posteriordb`); the densities are
//! written here from the models' definitions, on the constrained scale, each with its gradient.

mod baselines;
mod cases;
mod distance;
mod garch;
mod nested;
mod orbit;
mod poisson_process;
mod predator;
mod regression;
mod schools;

pub use baselines::{Counted, batch_and_match, full_rank_advi, multi_path};
pub use cases::{Case, cases};
pub use distance::{Wasserstein, wasserstein};
pub use nested::Nested;

use vi_boost::LogDensity;
use vi_boost::transform::{Constrained, Parameters};
use vi_linalg::faer::{Mat, MatRef};

/// A model on its constrained scale: its density with gradient, its parameters, and what the reference draws are of.
pub trait Model: LogDensity {
    /// The parameters, in the order in which the density takes them.
    ///
    /// # Errors
    /// Those of blocks that cannot be had.
    fn parameters(&self) -> Result<Parameters, vi_boost::BoostError>;

    /// The quantities of the reference at constrained parameters `x`; the parameters themselves where nothing else is said.
    fn report(&self, x: &[f64]) -> Vec<f64> {
        x.to_vec()
    }
}

/// The density of a model's free coordinates.
pub type Free = Constrained<Box<dyn Model>>;

/// The reference's quantities at each row of `draws` (`n × d`, free coordinates).
///
/// # Errors
/// `Dimension`.
pub fn reported(target: &Free, draws: MatRef<'_, f64>) -> Result<Mat<f64>, vi_boost::BoostError> {
    let constrained = target.parameters().constrain_draws(draws)?;
    let rows: Vec<Vec<f64>> = (0..constrained.nrows())
        .map(|i| target.density().report(&constrained.row(i).iter().copied().collect::<Vec<_>>()))
        .collect();
    let columns = rows.first().map_or(0, Vec::len);
    Ok(Mat::from_fn(rows.len(), columns, |i, j| rows[i][j]))
}
