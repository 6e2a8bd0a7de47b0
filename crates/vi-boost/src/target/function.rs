//! Functions as targets.

use super::LogDensity;

/// A target given by a function or closure that returns the log-density.
///
/// ```
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
/// use vi_boost::target::Function;
/// use vi_boost::{FitSettings, fit};
/// let target = Function::new(2, |theta: &[f64]| -0.5 * (theta[0].powi(2) + (theta[1] - theta[0]).powi(2)));
/// let found = fit(&target, &FitSettings::default(), &mut ChaCha8Rng::seed_from_u64(1))?;
/// assert!((found.mixture.covariance()?[(1, 1)] - 2.0).abs() < 1e-3);
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Function<F> {
    dim: usize,
    value: F,
}

impl<F: Fn(&[f64]) -> f64> Function<F> {
    /// The target whose log-density, in nats and up to a constant, is the function `log f(θ)` of `dim` numbers; gradients are by
    /// differences.
    pub fn new(dim: usize, value: F) -> Self {
        Self { dim, value }
    }
}

impl<F: Fn(&[f64]) -> f64> LogDensity for Function<F> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        (self.value)(theta)
    }
}

/// A target given by a function or closure that returns the log-density and writes its gradient.
///
/// ```
/// use vi_boost::LogDensity;
/// use vi_boost::target::FunctionWithGradient;
/// let target = FunctionWithGradient::new(1, |theta: &[f64], gradient: &mut [f64]| {
///     gradient[0] = -theta[0];
///     -0.5 * theta[0] * theta[0]
/// });
/// assert_eq!(target.value_and_gradient(&[2.0], &mut [0.0]), Some(-2.0));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct FunctionWithGradient<F> {
    dim: usize,
    both: F,
}

impl<F: Fn(&[f64], &mut [f64]) -> f64> FunctionWithGradient<F> {
    /// The target of a function of `dim` numbers that writes `∇log f(θ)` and returns `log f(θ)`.
    pub fn new(dim: usize, both: F) -> Self {
        Self { dim, both }
    }
}

impl<F: Fn(&[f64], &mut [f64]) -> f64> LogDensity for FunctionWithGradient<F> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        (self.both)(theta, &mut vec![0.0; theta.len()])
    }

    fn gradient(&self, theta: &[f64], out: &mut [f64]) -> bool {
        (self.both)(theta, out);
        true
    }

    fn value_and_gradient(&self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
        Some((self.both)(theta, out))
    }
}
