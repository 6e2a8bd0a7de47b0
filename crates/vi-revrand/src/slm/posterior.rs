//! The posterior over the weights, and what it predicts.

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use vi_core::checkpoint::Seal;
use vi_core::special::LN_2PI;
use vi_core::{Error, GaussianLikelihood, Projection};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::kernels::dot;
use vi_linalg::{Cholesky, cholesky};
use vi_models::predict::LinearPrediction;

use super::evidence::{Solved, factor, product, scaled};
use super::{Hyperparameters, check_data};
use crate::basis::{Composed, wire};
use crate::{Basis, RevrandError, check};

/// The number of rows that are predicted together.
const TILE: usize = 256;

/// A standard linear model with its hyper-parameters and its posterior `w ~ N(m, C)`.
///
/// It holds the basis with its draws, so that after storing with `serde` it predicts the same bits;
/// [`vi_core::checkpoint::write`] stores it as a checked file.
///
/// ```
/// use vi_linalg::faer::{Par, mat};
/// use vi_revrand::basis::Linear;
/// use vi_revrand::slm::{Hyperparameters, Slm};
///
/// let x = mat![[0.0], [1.0], [2.0]];
/// let hyper = Hyperparameters { noise_variance: 1e-4, prior_variances: vec![100.0], theta: vec![] };
/// let model = Slm::new(Linear::with_intercept(1)?, hyper, x.as_ref(), &[1.0, 3.0, 5.0], Par::Seq)?;
/// let at = model.predict(mat![[3.0]].as_ref(), Par::Seq)?[0];
/// assert!((at.mean - 7.0).abs() < 1e-3);
/// assert!(at.predictive_variance > 1e-4);
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "SlmWire<B>")]
#[serde(bound(deserialize = "B: Basis + Serialize + Deserialize<'de>"))]
pub struct Slm<B = Composed> {
    basis: B,
    hyper: Hyperparameters,
    /// `√λ` of every weight.
    roots: Vec<f64>,
    /// `z = Λ^{-½}m`.
    z: Vec<f64>,
    /// The factor of `B`.
    factor: Cholesky,
    log_marginal_likelihood: f64,
}

/// The stored form; `√λ` follows from the rest.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SlmWire<B> {
    seal: Seal,
    basis: B,
    hyper: Hyperparameters,
    z: Vec<f64>,
    #[serde(with = "wire")]
    factor: Mat<f64>,
    log_marginal_likelihood: f64,
}

impl<B: Basis + Serialize> TryFrom<SlmWire<B>> for Slm<B> {
    type Error = RevrandError;

    fn try_from(mut wire: SlmWire<B>) -> Result<Self, RevrandError> {
        std::mem::take(&mut wire.seal).check(&wire)?;
        let SlmWire { basis, hyper, z, factor, log_marginal_likelihood, .. } = wire;
        let roots = hyper.checked_roots(&basis)?;
        check::length("z", roots.len(), z.len())?;
        check::finite("z", &z)?;
        check::length("factor", roots.len(), factor.nrows())?;
        check::finite("log marginal likelihood", &[log_marginal_likelihood])?;
        Ok(Self { basis, hyper, roots, z, factor: Cholesky::from_factor(factor)?, log_marginal_likelihood })
    }
}

impl<B: Serialize> Serialize for Slm<B> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut wire = SlmWire {
            seal: Seal::default(),
            basis: &self.basis,
            hyper: self.hyper.clone(),
            z: self.z.clone(),
            factor: self.factor.factor().to_owned(),
            log_marginal_likelihood: self.log_marginal_likelihood,
        };
        wire.seal = Seal::of(&wire).map_err(S::Error::custom)?;
        wire.serialize(serializer)
    }
}

impl<B: Basis> Slm<B> {
    /// The posterior of the weights for given hyper-parameters, which are not learned.
    ///
    /// ```text
    /// C = [Λ⁻¹ + ΦᵀΦ/σ²]⁻¹,   m = CΦᵀy/σ²
    /// ```
    ///
    /// Cost `nD² + D³/3` flops and the features.
    ///
    /// # Errors
    /// Those of [`evidence`](super::evidence()).
    pub fn new(
        basis: B,
        hyper: Hyperparameters,
        x: MatRef<'_, f64>,
        y: &[f64],
        par: Par,
    ) -> Result<Self, RevrandError> {
        check_data(&basis, x, y)?;
        let roots = hyper.checked_roots(&basis)?;
        let psi = scaled(&basis.features(&hyper.theta, x, par)?, &roots);
        let factor = factor(psi.as_ref(), hyper.noise_variance.recip(), par)?;
        let Solved { z, value, .. } = Solved::new(psi, y, hyper.noise_variance, par)?;
        match z.iter().copied().chain([value]).find(|number| !number.is_finite()) {
            None => Ok(Self { basis, hyper, roots, z, factor, log_marginal_likelihood: value }),
            Some(value) => Err(Error::Overflow { quantity: "the posterior", value }.into()),
        }
    }

    /// The basis with its draws.
    pub fn basis(&self) -> &B {
        &self.basis
    }

    /// The hyper-parameters.
    pub fn hyperparameters(&self) -> &Hyperparameters {
        &self.hyper
    }

    /// The log marginal likelihood `log p(y | σ², λ, θ)` of the data that the model was made from, in nats (13).
    pub fn log_marginal_likelihood(&self) -> f64 {
        self.log_marginal_likelihood
    }

    /// The posterior mean `m` of the weights (`D`).
    pub fn weight_mean(&self) -> Vec<f64> {
        self.roots.iter().zip(&self.z).map(|(root, z)| root * z).collect()
    }

    /// The posterior covariance `C = Λ^½B⁻¹Λ^½` of the weights (`D × D`, both triangles). Cost `D³` flops.
    pub fn weight_covariance(&self) -> Mat<f64> {
        let mut covariance = self.factor.inverse();
        for (j, column) in covariance.col_iter_mut().enumerate() {
            for (entry, root) in column.iter_mut().zip(&self.roots) {
                *entry *= root * self.roots[j];
            }
        }
        covariance
    }

    /// The predictions at the rows of `x` (`n × d`): `φᵀm` and `φᵀCφ` (15)-(16), the latter as a sum of squares. A row costs `D²`
    /// flops and its features.
    ///
    /// # Errors
    /// `Empty`, `Dimension`, `Row` with `NonFinite` (an entry of `x`), [`RevrandError::Feature`].
    pub fn predict(&self, x: MatRef<'_, f64>, par: Par) -> Result<Vec<LinearPrediction>, RevrandError> {
        self.basis.check_rows(x)?;
        let likelihood = GaussianLikelihood::new(self.hyper.noise_variance)?;
        let mut predictions = Vec::with_capacity(x.nrows());
        let mut first = 0;
        while first < x.nrows() {
            let rows = TILE.min(x.nrows() - first);
            let psi = scaled(&self.basis.features(&self.hyper.theta, x.subrows(first, rows), par)?, &self.roots);
            let means = product(psi.as_ref(), &self.z);
            let mut whitened = Mat::zeros(self.z.len(), rows);
            whitened.copy_from(psi.transpose());
            cholesky::solve_lower_in_place(self.factor.factor(), whitened.as_mut(), par);
            for (row, mean) in means.into_iter().enumerate() {
                let whitened = whitened.col_as_slice(row);
                let seen = Projection { mean, variance: dot(whitened, whitened) };
                predictions.push(LinearPrediction::new(seen, likelihood));
            }
            first += rows;
        }
        Ok(predictions)
    }

    /// The evidence lower bound (17) of the data `x`, `y` at this posterior: expected log-likelihood less the divergence from the
    /// prior. For the data that the model was made from, the posterior is exact and the bound is the log marginal likelihood; for
    /// other data it is lower than theirs.
    ///
    /// ```text
    /// ℒ = Σ [log N(y | φᵀm, σ²) − φᵀCφ/2σ²] − ½[tr(Λ⁻¹C) + mᵀΛ⁻¹m − log det C + log det Λ − D]
    /// ```
    ///
    /// # Errors
    /// `Empty`, `Dimension`, `NonFinite` or `Row` with it, [`RevrandError::Feature`], `Overflow`.
    pub fn bound(&self, x: MatRef<'_, f64>, y: &[f64], par: Par) -> Result<f64, RevrandError> {
        check_data(&self.basis, x, y)?;
        let noise = self.hyper.noise_variance;
        let expected = |(seen, y): (LinearPrediction, &f64)| {
            let residual = y - seen.mean;
            -0.5 * (LN_2PI + noise.ln() + (residual * residual + seen.variance) / noise)
        };
        let likelihood: f64 = self.predict(x, par)?.into_iter().zip(y).map(expected).sum();
        let d = self.z.len();
        let mut inverse = Mat::<f64>::identity(d, d);
        cholesky::solve_lower_in_place(self.factor.factor(), inverse.as_mut(), par);
        let divergence = 0.5 * (inverse.squared_norm_l2() + dot(&self.z, &self.z) + self.factor.log_det() - d as f64);
        let bound = likelihood - divergence;
        if bound.is_finite() { Ok(bound) } else { Err(Error::Overflow { quantity: "the bound", value: bound }.into()) }
    }
}
