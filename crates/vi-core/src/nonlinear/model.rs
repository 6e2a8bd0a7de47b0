//! A nonlinear model: a map to the natural parameter and the family of the output.

use vi_linalg::faer::{MatMut, MatRef};

use super::OutputFamily;
use crate::Error;
use crate::check;

/// The map `η = h(θ, x)` from a parameter `θ ∈ ℝᵈ` and an input `x` to the natural parameter `η ∈ ℝᵐ`, with products by its
/// derivative.
///
/// Slices and matrices have the lengths that the first three methods return.
pub trait NaturalMap {
    /// Dimension `d` of `θ`.
    fn parameters(&self) -> usize;

    /// Length of an input `x`.
    fn inputs(&self) -> usize;

    /// Dimension `m` of `η`.
    fn outputs(&self) -> usize;

    /// Writes `η = h(θ, x)`.
    fn evaluate(&self, theta: &[f64], x: &[f64], eta: &mut [f64]);

    /// Writes `(∂h/∂θ)·V` (`d × r`) for `V` of `m × r`: column `j` is the gradient by `θ` of `v_jᵀh(θ, x)`.
    fn pull_back(&self, theta: &[f64], x: &[f64], v: MatRef<'_, f64>, out: MatMut<'_, f64>);
}

/// A nonlinear model: a map `h` and a family `p(y|η)` that fit together.
///
/// ```
/// use vi_core::nonlinear::{Categorical, NonlinearModel, OneHiddenLayer};
/// // 2 inputs, 16 tanh units, 2 classes: one natural parameter.
/// let model = NonlinearModel::new(OneHiddenLayer::new(2, 16, 1)?, Categorical::new(2)?)?;
/// assert_eq!(model.dim(), 16 * 3 + 17);
/// assert!(NonlinearModel::new(OneHiddenLayer::new(2, 16, 1)?, Categorical::new(3)?).is_err());
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NonlinearModel<H, F> {
    map: H,
    family: F,
}

impl<H: NaturalMap, F: OutputFamily> NonlinearModel<H, F> {
    /// The model of `map` and `family`.
    ///
    /// # Errors
    /// [`Error::Dimension`] if they differ in `m`.
    pub fn new(map: H, family: F) -> Result<Self, Error> {
        check::length("outputs of the map", family.outputs(), map.outputs())?;
        Ok(Self { map, family })
    }

    /// Dimension `d` of `θ`.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.map.parameters()
    }

    /// The map `h`.
    #[must_use]
    pub fn map(&self) -> &H {
        &self.map
    }

    /// The family `p(y|η)`.
    #[must_use]
    pub fn family(&self) -> &F {
        &self.family
    }

    /// The log-likelihood `log p(y|θ)` in nats.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`] (also for `h(θ, x)`), those of [`OutputFamily::check_label`], and
    /// [`Error::Overflow`] for a log-density that is not finite.
    pub fn log_density(&self, theta: &[f64], x: &[f64], y: &[f64]) -> Result<f64, Error> {
        check::length("theta", self.dim(), theta.len())?;
        check::finite("theta", theta)?;
        self.check_observation(x, y)?;
        let mut eta = vec![0.0; self.map.outputs()];
        self.checked_log(theta, x, y, &mut eta)
    }

    /// `log p(y|θ)` of checked arguments; `eta` is scratch.
    fn checked_log(&self, theta: &[f64], x: &[f64], y: &[f64], eta: &mut [f64]) -> Result<f64, Error> {
        self.map.evaluate(theta, x, eta);
        check::finite("h(θ, x)", eta)?;
        check::result("log p(y|θ)", self.family.log_density(y, eta))
    }

    /// The log of the predictive density `log K⁻¹Σ p(y|θ_i)`, averaged over draws `θ_i`, the columns of `draws` (`d × K`).
    ///
    /// # Errors
    /// As [`log_density`](Self::log_density); [`Error::Empty`] for no draws.
    ///
    /// ```
    /// use vi_core::nonlinear::{LinearMap, NonlinearModel, Scalar};
    /// use vi_core::{BernoulliLogit, Mixture8};
    /// use vi_linalg::faer::mat;
    /// let model = NonlinearModel::new(LinearMap::new(1, 1)?, Scalar(BernoulliLogit(Mixture8)))?;
    /// // Probabilities s(3) and s(−3) = 1 − s(3): their mean is a half, that of their logs is not.
    /// let log_predictive = model.log_predictive(mat![[1.0, -1.0]].as_ref(), &[3.0], &[1.0])?;
    /// assert!((log_predictive - f64::ln(0.5)).abs() < 1e-15);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn log_predictive(&self, draws: MatRef<'_, f64>, x: &[f64], y: &[f64]) -> Result<f64, Error> {
        check::length("rows of draws", self.dim(), draws.nrows())?;
        if draws.ncols() == 0 {
            return Err(Error::Empty { argument: "draws" });
        }
        self.check_observation(x, y)?;
        let mut eta = vec![0.0; self.map.outputs()];
        let mut theta = vec![0.0; self.dim()];
        let mut logs = Vec::with_capacity(draws.ncols());
        for column in draws.col_iter() {
            for (theta, value) in theta.iter_mut().zip(column.iter()) {
                *theta = *value;
            }
            check::finite("draws", &theta)?;
            logs.push(self.checked_log(&theta, x, y, &mut eta)?);
        }
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = logs.iter().map(|log| (log - largest).exp()).sum();
        Ok(largest + (sum / logs.len() as f64).ln())
    }

    /// Checks an input and a label.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`], [`Error::Label`].
    pub(super) fn check_observation(&self, x: &[f64], y: &[f64]) -> Result<(), Error> {
        check::length("x", self.map.inputs(), x.len())?;
        check::finite("x", x)?;
        check::length("y", self.family.label_len(), y.len())?;
        check::finite("y", y)?;
        self.family.check_label(y)
    }
}
