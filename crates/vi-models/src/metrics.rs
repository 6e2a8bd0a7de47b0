//! Scores of predictions.
//!
//! Binary labels are 0 and 1, probabilities are those of label 1; several classes are 0, …, C−1, their probabilities the rows of
//! a matrix.
//!
//! | to measure | call | range, best |
//! |---|---|---|
//! | the probability given to what happened, in nats | [`log_loss`], [`log_losses`], [`log_loss_from_log`]; [`multiclass_log_loss`] | `[0, ∞]`, 0 |
//! | the density given to what happened, in nats | [`nlpd`] | least |
//! | squared error of probabilities | [`brier_score`]; [`multiclass_brier_score`] | `[0, 1]`; `[0, 2]`, 0 |
//! | right decisions | [`accuracy`]; [`multiclass_accuracy`] | `[0, 1]`, 1 |
//! | order | [`auc`] | `[0, 1]`, 1 |
//! | whether 70 % means 70 % | [`calibration_curve`], [`expected_calibration_error`]; [`multiclass_calibration_error`] | `[0, 1]`, 0 |
//! | whether 90 % intervals hold 90 % | [`coverage`] | their level |
//! | error of numbers | [`rmse`]; [`smse`], against that of the targets' mean | `[0, ∞)`, 0 |
//! | the Gaussian density given to what happened, in nats | [`mll`]; [`msll`], against a Gaussian fitted to the training targets | least |
//! | agreement with the line of 45° | [`lins_concordance`] | `[−1, 1]`, 1 |
//! | whether a Gaussian posterior covers the true one | [`gaussian_psis`], [`psis`] | `k̂` below ½ |

mod calibration;
mod coverage;
mod multiclass;
mod psis;
mod ranking;
mod score;
mod standardised;

pub use calibration::{Binning, CalibrationBin, calibration_curve, expected_calibration_error};
pub use coverage::{coverage, nlpd};
pub use multiclass::{
    Calibrated, multiclass_accuracy, multiclass_brier_score, multiclass_calibration_error, multiclass_log_loss,
};
pub use psis::{gaussian_psis, gaussian_psis_of};
pub use ranking::auc;
pub use score::{accuracy, brier_score, log_loss, log_loss_from_log, log_losses, rmse};
pub use standardised::{lins_concordance, mll, msll, smse};
pub use vi_core::psis::{Psis, psis};
