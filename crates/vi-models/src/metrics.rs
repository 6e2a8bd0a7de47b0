//! How good predictions were.
//!
//! Labels are 0 and 1, probabilities are those of label 1.
//!
//! | to measure | call | range, best |
//! |---|---|---|
//! | the probability given to what happened, in nats | [`log_loss`], [`log_losses`], [`log_loss_from_log`] | `[0, ∞]`, 0 |
//! | squared error of probabilities | [`brier_score`] | `[0, 1]`, 0 |
//! | right decisions | [`accuracy`] | `[0, 1]`, 1 |
//! | order | [`auc`] | `[0, 1]`, 1 |
//! | whether 70 % means 70 % | [`calibration_curve`], [`expected_calibration_error`] | `[0, 1]`, 0 |
//! | error of numbers | [`rmse`] | `[0, ∞)`, 0 |
//! | whether a Gaussian posterior covers the true one | [`gaussian_psis`], [`psis`] | `k̂` below ½ |

mod calibration;
mod pareto;
mod psis;
mod ranking;
mod score;

pub use calibration::{Binning, CalibrationBin, calibration_curve, expected_calibration_error};
pub use psis::{Psis, gaussian_psis, gaussian_psis_of, psis};
pub use ranking::auc;
pub use score::{accuracy, brier_score, log_loss, log_loss_from_log, log_losses, rmse};
