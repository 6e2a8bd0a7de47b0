//! The posterior of a generalised linear model, and the divergence of a Gaussian from it.

use rand::Rng;
use vi_linalg::Cholesky;
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatRef, Par};

use crate::Error;
use crate::belief::{Belief, DenseGaussian, Projection};
use crate::check;
use crate::divergence::{Estimate, cross_entropy, log_density_with};
use crate::likelihood::{GaussianExpectation, Likelihood};
use crate::per_row::Likelihoods;
use crate::rows::{Rows, contiguous_row};
use vi_linalg::kernels::dot;

/// The unnormalised posterior `p̃(θ) = p₀(θ)·Π_i p(y_i | x_iᵀθ)` of `n` observations, with a normalised Gaussian prior.
///
/// ```
/// use vi_core::{BernoulliLogit, DenseGaussian, Exact, GlmPosterior};
/// use vi_linalg::faer::{MatRef, Par};
/// let x = MatRef::from_row_major_slice(&[1.0, 0.5, 1.0, -2.0], 2, 2);
/// let y = [1.0, 0.0];
/// let prior = DenseGaussian::isotropic(&[0.0, 0.0], 1.0)?;
/// let posterior = GlmPosterior::new(&prior, x, &y, BernoulliLogit(Exact))?;
/// // KL(prior ‖ posterior) with Z = 1 is minus the expected log-likelihood under the prior.
/// assert!(posterior.kl(&prior, Par::Seq)? > 0.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GlmPosterior<'a, L> {
    prior: &'a DenseGaussian,
    prior_cholesky: Cholesky,
    x: MatRef<'a, f64>,
    y: &'a [f64],
    likelihood: L,
}

impl<'a, L: Likelihoods> GlmPosterior<'a, L> {
    /// The posterior of labels `y` (length `n`) at the rows of `x` (`n × d`), under one likelihood or one for each row
    /// ([`PerRow`](crate::PerRow)).
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::Dimension`], [`Error::Row`] with [`Error::NonFinite`] or [`Error::Label`],
    /// [`Error::NotPositiveDefinite`] for the prior.
    pub fn new(prior: &'a DenseGaussian, x: MatRef<'a, f64>, y: &'a [f64], likelihood: L) -> Result<Self, Error> {
        Rows::from(x).labelled(prior.dim(), y)?;
        likelihood.check_labels(y)?;
        Ok(Self { prior, prior_cholesky: prior.cholesky()?, x, y, likelihood })
    }

    /// The log of the unnormalised posterior, `log p̃(θ)`, in nats. Cost `nd + d²`.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`].
    pub fn log_joint(&self, theta: &[f64]) -> Result<f64, Error> {
        check::length("theta", self.prior.dim(), theta.len())?;
        check::finite("theta", theta)?;
        let mut buffer = Vec::new();
        let log_prior = log_density_with(self.prior.mean(), &self.prior_cholesky, theta)?;
        let log_likelihood: f64 = (0..self.y.len())
            .map(|i| {
                let t = dot(contiguous_row(self.x, i, &mut buffer), theta);
                self.likelihood.likelihood_of(i).log_density(self.y[i], t)
            })
            .sum();
        Ok(log_prior + log_likelihood)
    }

    /// `KL(q ‖ p̃)` with `Z = 1` by Monte Carlo (R-VGA eq 94): the entropy of `q` exactly, the rest from `draws ≥ 2` draws. Add
    /// the log normaliser `log ∫p̃` for the true KL. Cost `draws·(nd + d²)`.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NotPositiveDefinite`], [`Error::Setting`] for fewer than 2 draws.
    pub fn kl_monte_carlo<R: Rng + ?Sized>(
        &self,
        q: &DenseGaussian,
        draws: usize,
        rng: &mut R,
    ) -> Result<Estimate, Error> {
        check::length("q", self.prior.dim(), q.dim())?;
        if draws < 2 {
            return Err(Error::Setting { name: "draws", value: draws as f64, requirement: "at least 2" });
        }
        let cholesky = q.cholesky()?;
        let mut theta = vec![0.0; q.dim()];
        let (mut mean, mut squares) = (0.0, 0.0);
        for k in 0..draws {
            q.draw_with(&cholesky, &mut theta, rng)?;
            let value = -self.log_joint(&theta)?;
            // Welford's update.
            let delta = value - mean;
            mean += delta / (k as f64 + 1.0);
            squares += delta * (value - mean);
        }
        let n = draws as f64;
        let value = check::result("KL(q‖p̃)", mean - entropy(&cholesky))?;
        Ok(Estimate { value, standard_error: (squares / (n - 1.0) / n).sqrt() })
    }
}

impl<L: Likelihoods<Row: GaussianExpectation>> GlmPosterior<'_, L> {
    /// The expected log-likelihood `Σ_i E_q[log p(y_i | x_iᵀθ)]`, in nats: `n` one-dimensional integrals. Cost `2nd²` flops.
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`Error::Row`] with [`Error::Overflow`] or [`Error::NegativeVariance`].
    pub fn expected_log_likelihood(&self, q: &DenseGaussian, par: Par) -> Result<f64, Error> {
        check::length("q", self.prior.dim(), q.dim())?;
        let (n, d) = (self.x.nrows(), self.x.ncols());
        let covariance = q.covariance();
        let mut xp = Mat::<f64>::zeros(n, d);
        matmul(xp.as_mut(), Accum::Replace, self.x, covariance.as_ref(), 1.0, par);
        let mut a = Mat::<f64>::zeros(n, 1);
        let mean = MatRef::from_column_major_slice(q.mean(), d, 1);
        matmul(a.as_mut(), Accum::Replace, self.x, mean, 1.0, par);
        let mut sum = 0.0;
        for i in 0..n {
            let nu: f64 = xp.row(i).iter().zip(self.x.row(i).iter()).map(|(p, x)| p * x).sum();
            let size: f64 = xp.row(i).iter().zip(self.x.row(i).iter()).map(|(p, x)| (p * x).abs()).sum();
            let seen = Projection::new(a[(i, 0)], nu, d as f64 * f64::EPSILON * size).map_err(|e| e.at_row(i))?;
            sum += self.likelihood.likelihood_of(i).expected_log_density(self.y[i], seen.mean, seen.variance);
        }
        Ok(sum)
    }

    /// `KL(q ‖ p̃) = −H(q) − E_q[log p₀] − Σ_i E_q[log p(y_i|x_iᵀθ)]` with `Z = 1` (R-VGA eq 93), exact to the accuracy of the
    /// likelihood's expectations. Add the log normaliser `log ∫p̃` for the true KL; differences need none. Cost `2nd² + d³`.
    ///
    /// # Errors
    /// As [`expected_log_likelihood`](Self::expected_log_likelihood), and [`Error::NotPositiveDefinite`], [`Error::Overflow`].
    pub fn kl(&self, q: &DenseGaussian, par: Par) -> Result<f64, Error> {
        check::length("q", self.prior.dim(), q.dim())?;
        let cholesky = q.cholesky()?;
        let to_prior = cross_entropy(q.mean(), &cholesky, self.prior.mean(), &self.prior_cholesky)?;
        check::result("KL(q‖p̃)", to_prior - entropy(&cholesky) - self.expected_log_likelihood(q, par)?)
    }
}

/// `H(q) = ½log|Q| + (d/2)(1 + log 2π)`.
fn entropy(cholesky: &Cholesky) -> f64 {
    0.5 * cholesky.log_det() + cholesky.dim() as f64 * (0.5 + crate::special::HALF_LN_2PI)
}
