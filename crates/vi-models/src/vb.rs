//! Variational Bayesian linear and logistic regression, their hyper-parameters inferred with the weights (Drugowitsch's
//! note).
//!
//! | to | call | note |
//! |---|---|---|
//! | fit numbers, one shrinkage for all weights | [`linear`](fn@linear) | §1.2 |
//! | fit numbers, a shrinkage for each weight | [`linear_ard`] | §1.4 |
//! | fit classes, one shrinkage | [`logit`](fn@logit) | §2.2 |
//! | fit classes, a shrinkage for each weight | [`logit_ard`] | §2.4 |
//! | fit classes one row at a time, prior `N(0, I/d)` | [`logit_incremental`] | §2.5.1 |
//! | choose among designs by ℒ | [`select`](fn@select) | |
//! | rank columns | [`LinearFit::relevance`], [`LogitFit::relevance`] | §2.4 |
//! | do all that from plain slices, intercept and standardisation included | [`VbLinear`], [`VbLogit`] | |
//!
//! | symbol | name in code | shape | note |
//! |---|---|---|---|
//! | `X`, `y` | `x` (one observation a row), `y` | `n × d`, `n` | |
//! | `w_N`, `V_N` | [`WeightDistribution`] | `d`, `d × d` | (7), (8), (49), (50) |
//! | `a₀ … d₀` | [`LinearPrior`], [`LogitPrior`] | scalars | (3), (4), (41) |
//! | `a_N`, `b_N` (linear) | [`LinearFit::noise`] | scalars | (9), (10) |
//! | `c_N`, `d_N` | [`LinearFit::shrinkage`] | `1` or `d` | (12), (13) |
//! | `a_N`, `b_N` (logistic) | [`LogitFit::shrinkage`] | `1` or `d` | (52), (53) |
//! | `E α` | `expected_shrinkage` | `1` or `d` | (15), (54) |
//! | `ξ`, `λ(ξ)` | [`LogitFit::xi`]; `2λ` is [`jaakkola_jordan`](vi_core::special::jaakkola_jordan) | `n` | (45), (63) |
//! | `ℒ` | `bound`, `bound_terms` | scalar, nats | (22), (33), (62), (80) |
//!
//! # What to expect of the uncertainties
//!
//! Mean field over `(w, τ)` and `α`, as the note has it, costs little: intervals of linear fits cover what they promise. The quadratic bound
//! of the logistic (45) costs much: 90 % intervals of the weights cover 74 to 84 %. [`LogitBound`] has the measurements and a bound
//! without that fault.

mod ascent;
mod front;
mod gamma;
mod linear;
mod logit;
mod prior;
mod relevance;
mod ridge;
mod select;
mod settings;
mod spectrum;
mod weights;

pub use front::{Coefficients, FitInfo, VbLinear, VbLinearSettings, VbLogit, VbLogitSettings};
pub use gamma::Gamma;
pub use linear::{LinearBoundTerms, LinearFit, StudentPrediction, linear, linear_ard};
pub use logit::{
    AuthorsStop, IncrementalFit, LogitBound, LogitBoundTerms, LogitFit, authors_probabilities, bound_probability,
    logit, logit_ard, logit_incremental,
};
pub use prior::{LinearPrior, LogitPrior};
pub use relevance::Relevance;
pub use select::{Selection, select};
pub use settings::{VbInfo, VbSettings, VbStatus};
pub use weights::WeightDistribution;

use vi_core::Error;
use vi_linalg::faer::MatRef;

use crate::check;

/// Checks that `x` has rows and columns, all finite.
fn check_rows(x: MatRef<'_, f64>) -> Result<(), Error> {
    if x.ncols() == 0 {
        return Err(Error::Empty { argument: "columns of x" });
    }
    check::rows(x.ncols(), x)
}
