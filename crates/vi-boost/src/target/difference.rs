//! Derivatives by central differences, for targets without their own.
//!
//! The step in coordinate `j` is `ε^⅓·scale_j` for first and `ε^¼·scale_j` for second differences of values, which
//! balances rounding against truncation for a function that varies over `scale_j`.

use vi_linalg::faer::{Mat, MatMut};

use super::LogDensity;
use crate::BoostError;
use crate::error::check_positive_entries;

/// Writes `∇log f(θ)` into `out`, by the target or by central differences with steps in proportion to `scale` (`d`, positive). A
/// difference has an error of about `ε^⅔·|log f|/scale_j`. Cost `2d` values.
///
/// # Errors
/// [`BoostError::Core`] with `Dimension` unless all have the target's dimension, `NonFinite` or `Entry` unless `scale` is positive.
pub fn gradient<T: LogDensity + ?Sized>(
    target: &T,
    theta: &[f64],
    scale: &[f64],
    out: &mut [f64],
) -> Result<(), BoostError> {
    check(target, theta, scale)?;
    vi_core::check::length("gradient", theta.len(), out.len())?;
    gradient_at(target, theta, scale, out);
    Ok(())
}

fn check<T: LogDensity + ?Sized>(target: &T, theta: &[f64], scale: &[f64]) -> Result<(), BoostError> {
    vi_core::check::length("theta", target.dim(), theta.len())?;
    vi_core::check::length("scale", target.dim(), scale.len())?;
    check_positive_entries("scale", scale)
}

/// [`gradient`] for arguments whose lengths agree.
pub(crate) fn gradient_at<T: LogDensity + ?Sized>(target: &T, theta: &[f64], scale: &[f64], out: &mut [f64]) {
    if target.value_and_gradient(theta, out).is_some() {
        return;
    }
    let mut at = theta.to_vec();
    for j in 0..theta.len() {
        let h = step(f64::EPSILON.cbrt(), theta[j], scale[j]);
        let (up, down) = (theta[j] + h, theta[j] - h);
        at[j] = up;
        let above = target.log_density(&at);
        at[j] = down;
        let below = target.log_density(&at);
        at[j] = theta[j];
        out[j] = (above - below) / (up - down);
    }
}

/// Writes `∇²log f(θ)` into `out` (`d × d`, full and symmetric): by the target, by differences of its gradient (`2d` of them), or
/// by differences of values (`2d²` of them).
///
/// # Errors
/// As [`gradient`].
pub fn hessian<T: LogDensity + ?Sized>(
    target: &T,
    theta: &[f64],
    scale: &[f64],
    out: MatMut<'_, f64>,
) -> Result<(), BoostError> {
    check(target, theta, scale)?;
    vi_core::check::length("rows of the Hessian", theta.len(), out.nrows())?;
    vi_core::check::length("columns of the Hessian", theta.len(), out.ncols())?;
    hessian_at(target, theta, scale, out);
    Ok(())
}

/// [`hessian`] for arguments whose lengths agree.
pub(crate) fn hessian_at<T: LogDensity + ?Sized>(
    target: &T,
    theta: &[f64],
    scale: &[f64],
    mut out: MatMut<'_, f64>,
) -> Source {
    if target.hessian(theta, out.as_mut()) {
        return Source::Target;
    }
    if of_gradient(target, theta, scale, out.as_mut()) {
        return Source::Gradients;
    }
    of_values(target, theta, scale, out);
    Source::Values
}

/// Where a Hessian came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Target,
    Gradients,
    Values,
}

/// Computes the Hessian by differences alone, as the paper's Algorithm 2 does, even if the target has one.
pub(crate) fn numerical_hessian<T: LogDensity + ?Sized>(
    target: &T,
    theta: &[f64],
    scale: &[f64],
    mut out: MatMut<'_, f64>,
) {
    if !of_gradient(target, theta, scale, out.as_mut()) {
        of_values(target, theta, scale, out);
    }
}

/// A step large enough not to be lost in the rounding of `θ_j`.
fn step(relative: f64, theta: f64, scale: f64) -> f64 {
    (relative * scale).max(relative * relative * theta.abs())
}

fn of_gradient<T: LogDensity + ?Sized>(target: &T, theta: &[f64], scale: &[f64], mut out: MatMut<'_, f64>) -> bool {
    let d = theta.len();
    let (mut above, mut below) = (vec![0.0; d], vec![0.0; d]);
    let mut at = theta.to_vec();
    let mut columns = Mat::<f64>::zeros(d, d);
    for j in 0..d {
        let h = step(f64::EPSILON.cbrt(), theta[j], scale[j]);
        let (up, down) = (theta[j] + h, theta[j] - h);
        at[j] = up;
        if target.value_and_gradient(&at, &mut above).is_none() {
            return false;
        }
        at[j] = down;
        target.value_and_gradient(&at, &mut below);
        at[j] = theta[j];
        for i in 0..d {
            columns[(i, j)] = (above[i] - below[i]) / (up - down);
        }
    }
    for j in 0..d {
        for i in 0..d {
            out[(i, j)] = 0.5 * (columns[(i, j)] + columns[(j, i)]);
        }
    }
    true
}

fn of_values<T: LogDensity + ?Sized>(target: &T, theta: &[f64], scale: &[f64], mut out: MatMut<'_, f64>) {
    let d = theta.len();
    let h: Vec<f64> = theta.iter().zip(scale).map(|(t, s)| step(f64::EPSILON.sqrt().sqrt(), *t, *s)).collect();
    let mut at = theta.to_vec();
    let mut value = |moves: &[(usize, f64)]| {
        for &(j, by) in moves {
            at[j] = theta[j] + by;
        }
        let value = target.log_density(&at);
        for &(j, _) in moves {
            at[j] = theta[j];
        }
        value
    };
    let centre = value(&[]);
    for j in 0..d {
        out[(j, j)] = (value(&[(j, h[j])]) - 2.0 * centre + value(&[(j, -h[j])])) / (h[j] * h[j]);
        for i in 0..j {
            let mixed =
                value(&[(i, h[i]), (j, h[j])]) - value(&[(i, h[i]), (j, -h[j])]) - value(&[(i, -h[i]), (j, h[j])])
                    + value(&[(i, -h[i]), (j, -h[j])]);
            let second = mixed / (4.0 * h[i] * h[j]);
            out[(i, j)] = second;
            out[(j, i)] = second;
        }
    }
}
