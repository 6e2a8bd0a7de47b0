//! Bases: maps `φ : ℝᵈ → ℝᴰ` of an input row to its features, composed by `+`.
//!
//! A linear model on random features is approximately a Gaussian process, whose kernel `φ(x)ᵀφ(x′)` approximates the one that the
//! features were drawn for. The draws are part of the basis and never change; the kernel's parameters are kept separately, in a
//! plain slice, so a kernel is learned without new draws.
//!
//! ```
//! use rand::SeedableRng;
//! use vi_linalg::faer::{Par, mat};
//! use vi_revrand::basis::{Basis, Kernel, LengthScale, Linear, OnPart, RandomFourier};
//!
//! let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(7);
//! let waves = RandomFourier::new(Kernel::Rbf, 2, 100, LengthScale::PerInput(vec![1.0, 0.5]), rng)?;
//! // A straight line in all columns, and a smooth function of columns 0 and 2.
//! let basis = Linear::with_intercept(3)? + waves.on_columns(&[0, 2])?.with_variance(2.0)?;
//! assert_eq!(basis.width(), 4 + 200);
//! assert_eq!(basis.regularisers()[1].features, 4..204);
//!
//! let x = mat![[0.1, 0.2, 0.3], [-1.0, 0.0, 0.5]];
//! let features = basis.features(&basis.start(), x.as_ref(), Par::Seq)?;
//! assert_eq!((features.nrows(), features[(1, 0)], features[(1, 3)]), (2, 1.0, 0.5));
//! # Ok::<(), vi_revrand::RevrandError>(())
//! ```
//!
//! | basis | features | parameters |
//! |---|---|---|
//! | [`Bias`] | a constant | |
//! | [`Linear`] | `x`, or `1` and `x` | |
//! | [`Polynomial`] | `x_i, x_i², …` of each input, with or without `1` | |
//! | [`Radial`] | `exp(−r²/2)` about centres | length scales |
//! | [`Sigmoidal`] | `s(r)` about centres | length scales |
//! | [`RandomFourier`] | `[cos z, sin z]/√m` with independent or orthogonal frequencies | length scales |
//! | [`FastFood`] | as `RandomFourier`, at a cost of `log d` a feature | length scales |
//! | [`FastFoodMixture`] | as `FastFood`, about a spectral mean | spectral means, length scales |

mod any;
mod centred;
mod composed;
mod fastfood;
mod fourier;
mod hadamard;
mod kernel;
mod length_scale;
mod parameter;
mod polynomial;
mod trig;
mod waves;
pub(crate) mod wire;

use std::fmt;

use vi_linalg::faer::{Mat, MatMut, MatRef, Par};

pub use any::AnyBasis;
pub use centred::{Radial, Sigmoidal};
pub use composed::{Composed, OnPart, Part};
pub use fastfood::{FastFood, FastFoodDraws, FastFoodMixture};
pub use fourier::RandomFourier;
pub use hadamard::{sequency_order, walsh_hadamard};
pub use kernel::Kernel;
pub use length_scale::LengthScale;
pub use parameter::{Bound, Parameter, Regulariser};
pub use polynomial::{Bias, Linear, Polynomial};

use crate::{RevrandError, check};

/// A map from input rows to features, with parameters `θ` that can be learned.
///
/// `n` rows, `d` input columns, `D` features, `q` parameters. The methods that compute come in two layers:
/// [`features`](Self::features) and [`parameter_gradients`](Self::parameter_gradients) check their arguments;
/// [`fill`](Self::fill), [`contract`](Self::contract) and [`differentiate`](Self::differentiate) are what a basis implements, are
/// called in loops, and assert that shapes agree.
pub trait Basis: fmt::Debug + Send + Sync {
    /// The number `d` of columns that an input must have; `None` if any number will do.
    fn inputs(&self) -> Option<usize>;

    /// The number `D` of features.
    fn width(&self) -> usize;

    /// The `q` parameters `θ`, in the order of the slices that the other methods take. A basis has none by default.
    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }

    /// The prior variances of the weights, one for each part; the features of the parts follow one another and cover `0..D`.
    fn regularisers(&self) -> Vec<Regulariser>;

    /// Computes the features, `out ← Φ` (`n × D`, contiguous columns), of the rows of `x` (`n × d`) at `theta` (`q`). A basis may
    /// ignore `par`: of the bases here only [`RandomFourier`], which is a matrix product, uses it.
    ///
    /// # Panics
    /// If shapes disagree or the columns of `out` are not contiguous.
    fn fill(&self, theta: &[f64], x: MatRef<'_, f64>, out: MatMut<'_, f64>, par: Par);

    /// Writes the gradient in `θ` of a function whose gradient in the features is `weights` (`G`, `n × D`): `out[p] ← Σₙⱼ G_nj
    /// ∂Φ_nj/∂θ_p`. `features` is `Φ` at the same `theta`, as [`fill`](Self::fill) computed it.
    ///
    /// Every basis with parameters has to implement it: the default suits a basis without parameters.
    ///
    /// # Panics
    /// If shapes disagree or the columns of `features` or `weights` are not contiguous.
    fn contract(
        &self,
        theta: &[f64],
        x: MatRef<'_, f64>,
        features: MatRef<'_, f64>,
        weights: MatRef<'_, f64>,
        out: &mut [f64],
        par: Par,
    ) {
        let _ = (x, features, weights, par);
        assert!(theta.is_empty() && out.is_empty(), "{self:?} has parameters and no gradient");
    }

    /// The derivatives `∂Φ/∂θ_p` (`n × D`) for each of the `q` parameters; `features` and the default are as in
    /// [`contract`](Self::contract).
    ///
    /// # Panics
    /// If shapes disagree or the columns of `features` are not contiguous.
    fn differentiate(&self, theta: &[f64], x: MatRef<'_, f64>, features: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let _ = (x, features);
        assert!(theta.is_empty(), "{self:?} has parameters and no gradient");
        Vec::new()
    }

    /// The initial values of the parameters.
    fn start(&self) -> Vec<f64> {
        self.parameters().iter().map(|parameter| parameter.start).collect()
    }

    /// Checks that `theta` has `q` values between their bounds.
    ///
    /// # Errors
    /// `Dimension`, [`RevrandError::OutOfBounds`].
    fn check_parameters(&self, theta: &[f64]) -> Result<(), RevrandError> {
        let parameters = self.parameters();
        check::length("theta", parameters.len(), theta.len())?;
        for (index, (parameter, &value)) in parameters.iter().zip(theta).enumerate() {
            parameter.bound.check("theta", index, value)?;
        }
        Ok(())
    }

    /// Checks that `x` has rows, `d` columns and finite entries.
    ///
    /// # Errors
    /// `Empty`, `Dimension`, `Row` with `NonFinite`.
    fn check_rows(&self, x: MatRef<'_, f64>) -> Result<(), RevrandError> {
        check::not_empty("x", x.nrows())?;
        if let Some(inputs) = self.inputs() {
            check::length("columns of x", inputs, x.ncols())?;
        }
        Ok(check::matrix("x", x)?)
    }

    /// The features `Φ` (`n × D`) of the rows of `x` (`n × d`) at `theta` (`q`).
    ///
    /// # Errors
    /// `Empty`, `Dimension`, `Row` with `NonFinite` (an entry of `x`), [`RevrandError::OutOfBounds`] (`theta`),
    /// [`RevrandError::Feature`] (a feature that is not finite, for instance a high power).
    fn features(&self, theta: &[f64], x: MatRef<'_, f64>, par: Par) -> Result<Mat<f64>, RevrandError> {
        self.check_parameters(theta)?;
        self.check_rows(x)?;
        let mut out = Mat::zeros(x.nrows(), self.width());
        self.fill(theta, x, out.as_mut(), par);
        check_features(out.as_ref())?;
        Ok(out)
    }

    /// The derivatives `∂Φ/∂θ_p` (`n × D`) for each of the `q` parameters. Cost `q·n·D`; for learning,
    /// [`contract`](Self::contract) is cheaper.
    ///
    /// # Errors
    /// Those of [`features`](Self::features).
    fn parameter_gradients(&self, theta: &[f64], x: MatRef<'_, f64>) -> Result<Vec<Mat<f64>>, RevrandError> {
        let features = self.features(theta, x, Par::Seq)?;
        Ok(self.differentiate(theta, x, features.as_ref()))
    }
}

/// Checks that every feature is finite.
///
/// # Errors
/// [`RevrandError::Feature`].
pub(crate) fn check_features(features: MatRef<'_, f64>) -> Result<(), RevrandError> {
    for feature in 0..features.ncols() {
        if let Some((row, &value)) = features.col(feature).iter().enumerate().find(|(_, value)| !value.is_finite()) {
            return Err(RevrandError::Feature { row, feature, value });
        }
    }
    Ok(())
}

/// The prior variances of all `D` weights, from those of the parts.
///
/// # Errors
/// `Dimension` unless there is one variance for each part, `Entry` if one is not positive and finite.
///
/// ```
/// use vi_revrand::basis::{Basis, Bias, Linear, prior_variances};
/// let basis = Bias::new(1.0)? + Linear::new(2)?;
/// assert_eq!(prior_variances(&basis, &[4.0, 0.5])?, [4.0, 0.5, 0.5]);
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
pub fn prior_variances(basis: &(impl Basis + ?Sized), variances: &[f64]) -> Result<Vec<f64>, RevrandError> {
    let parts = basis.regularisers();
    check::length("prior variances", parts.len(), variances.len())?;
    check::positive_entries("prior variances", variances)?;
    let each = |(part, &variance): (&Regulariser, &f64)| std::iter::repeat_n(variance, part.features.len());
    Ok(parts.iter().zip(variances).flat_map(each).collect())
}

#[cfg(test)]
mod tests;
