//! Output families `p(y|η)`: exponential families by their natural parameter.

use vi_linalg::faer::MatMut;

use crate::Error;
use crate::likelihood::Likelihood;

/// A family `p(y|η) = c(y)·exp(ηᵀT(y) − A(η))` of observations with natural parameter `η ∈ ℝᵐ` (L-RVGA (117)).
///
/// `T(y) − E[T|η]` is `∇_η log p` and `Cov(T|η)` is the Fisher information in `η`. A likelihood outside the exponential family
/// may return these two as well: the step then uses Fisher's information as the curvature.
pub trait OutputFamily {
    /// Dimension `m` of `η`.
    fn outputs(&self) -> usize;

    /// How many numbers make a label.
    fn label_len(&self) -> usize {
        1
    }

    /// Checks a label, finite and of length [`label_len`](Self::label_len).
    ///
    /// # Errors
    /// [`Error::Label`].
    fn check_label(&self, y: &[f64]) -> Result<(), Error>;

    /// The log-density `log p(y|η)` in nats, normalised over `y`.
    fn log_density(&self, y: &[f64], eta: &[f64]) -> f64;

    /// Writes `T(y) − E[T|η]`, length `m`.
    fn score(&self, y: &[f64], eta: &[f64], out: &mut [f64]);

    /// Writes the lower triangle of `Cov(T|η)` (`m × m`), positive semidefinite.
    fn covariance(&self, eta: &[f64], out: MatMut<'_, f64>);
}

/// A scalar likelihood as a family with `m = 1`: the predictor is `η`, the curvature its Fisher information.
///
/// ```
/// use vi_core::nonlinear::{OutputFamily, Scalar};
/// use vi_core::{BernoulliLogit, Mixture8};
/// let logit = Scalar(BernoulliLogit(Mixture8));
/// assert_eq!(logit.log_density(&[1.0], &[0.0]), -f64::ln(2.0));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Scalar<L>(
    /// The likelihood.
    pub L,
);

impl<L: Likelihood> OutputFamily for Scalar<L> {
    fn outputs(&self) -> usize {
        1
    }

    fn check_label(&self, y: &[f64]) -> Result<(), Error> {
        self.0.check_label(y[0])
    }

    fn log_density(&self, y: &[f64], eta: &[f64]) -> f64 {
        self.0.log_density(y[0], eta[0])
    }

    fn score(&self, y: &[f64], eta: &[f64], out: &mut [f64]) {
        out[0] = self.0.slope(y[0], eta[0]);
    }

    fn covariance(&self, eta: &[f64], mut out: MatMut<'_, f64>) {
        out[(0, 0)] = self.0.fisher_information(eta[0]);
    }
}

/// One of `C` classes with probabilities `π = softmax(η_0, …, η_{C−2}, 0)`: `m = C − 1`, the last class being the reference.
///
/// A label is the number of its class, from 0.
///
/// ```
/// use vi_core::nonlinear::{Categorical, OutputFamily};
/// let three = Categorical::new(3)?;
/// assert!((three.log_density(&[2.0], &[0.0, 0.0]) + f64::ln(3.0)).abs() < 1e-15);
/// assert!(three.check_label(&[3.0]).is_err());
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Categorical {
    classes: usize,
}

impl Categorical {
    /// A family of `classes` classes.
    ///
    /// # Errors
    /// [`Error::Setting`] for fewer than two.
    pub fn new(classes: usize) -> Result<Self, Error> {
        if classes < 2 {
            return Err(Error::Setting { name: "classes", value: classes as f64, requirement: "at least 2" });
        }
        Ok(Self { classes })
    }

    /// Number of classes `C`.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.classes
    }

    fn log_normaliser(eta: &[f64]) -> f64 {
        let largest = eta.iter().copied().fold(0.0, f64::max);
        let sum: f64 = eta.iter().map(|eta| (eta - largest).exp()).sum();
        largest + (sum + (-largest).exp()).ln()
    }
}

impl OutputFamily for Categorical {
    fn outputs(&self) -> usize {
        self.classes - 1
    }

    fn check_label(&self, y: &[f64]) -> Result<(), Error> {
        let label = y[0];
        if label >= 0.0 && label.fract() == 0.0 && label < self.classes as f64 {
            Ok(())
        } else {
            Err(Error::Label { label, family: "categorical (labels 0, 1, … below the number of classes)" })
        }
    }

    fn log_density(&self, y: &[f64], eta: &[f64]) -> f64 {
        let own = eta.iter().enumerate().find(|&(class, _)| class as f64 == y[0]).map_or(0.0, |(_, eta)| *eta);
        own - Self::log_normaliser(eta)
    }

    fn score(&self, y: &[f64], eta: &[f64], out: &mut [f64]) {
        let normaliser = Self::log_normaliser(eta);
        for (class, (out, eta)) in out.iter_mut().zip(eta).enumerate() {
            *out = f64::from(u8::from(class as f64 == y[0])) - (eta - normaliser).exp();
        }
    }

    fn covariance(&self, eta: &[f64], mut out: MatMut<'_, f64>) {
        let normaliser = Self::log_normaliser(eta);
        let probability = |class: usize| (eta[class] - normaliser).exp();
        for j in 0..eta.len() {
            let pi = probability(j);
            // 1 − π as the sum of the others keeps its digits where π is near 1.
            let others: f64 = (0..eta.len()).filter(|&i| i != j).map(probability).sum();
            out[(j, j)] = pi * (others + (-normaliser).exp());
            for i in j + 1..eta.len() {
                out[(i, j)] = -pi * probability(i);
            }
        }
    }
}
