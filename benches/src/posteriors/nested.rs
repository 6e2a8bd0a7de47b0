//! The posteriors that are latent Gaussian: counts along a Gaussian process, and eight schools.

use rand_chacha::ChaCha8Rng;
use vi_boost::BoostError;
use vi_boost::latent::{Field, Latent, LatentFit, LatentSettings, Observed, Spread, fit_latent};
use vi_boost::transform::Parameters;
use vi_core::{GaussianLikelihood, Rows};
use vi_linalg::faer::Mat;
use vi_models::likelihood::Poisson;

/// Counts along a Gaussian process: the latent values are those of the process.
struct NestedProcess {
    parameters: Parameters,
    x: Vec<f64>,
}

impl Latent for NestedProcess {
    type Likelihood = Poisson;

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn dim(&self) -> usize {
        self.x.len()
    }

    fn log_prior(&self, hyper: &[f64]) -> f64 {
        24.0 * hyper[0].ln() - 4.0 * hyper[0] - hyper[1] * hyper[1] / 8.0
    }

    fn field(&self, hyper: &[f64]) -> Result<Field, BoostError> {
        let n = self.x.len();
        let covariance = Mat::from_fn(n, n, |i, j| {
            let away = (self.x[i] - self.x[j]) / hyper[0];
            hyper[1] * hyper[1] * (-0.5 * away * away).exp() + if i == j { 1e-10 } else { 0.0 }
        });
        Ok(Field { mean: vec![0.0; n], spread: Spread::Covariance(covariance) })
    }

    fn likelihood(&self, _: &[f64], _: usize) -> Result<Poisson, BoostError> {
        Ok(Poisson::default())
    }
}

/// Eight schools: `μ` and the deviations of the schools are latent, `τ` alone is not.
struct NestedSchools {
    parameters: Parameters,
    sigma: Vec<f64>,
}

impl Latent for NestedSchools {
    type Likelihood = GaussianLikelihood;

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn dim(&self) -> usize {
        self.sigma.len() + 1
    }

    fn log_prior(&self, hyper: &[f64]) -> f64 {
        -(hyper[0] / 5.0).powi(2).ln_1p()
    }

    fn field(&self, hyper: &[f64]) -> Result<Field, BoostError> {
        let variances = std::iter::once(25.0).chain(self.sigma.iter().map(|_| hyper[0] * hyper[0])).collect();
        Ok(Field { mean: vec![0.0; self.dim()], spread: Spread::Variances(variances) })
    }

    fn likelihood(&self, _: &[f64], row: usize) -> Result<GaussianLikelihood, BoostError> {
        Ok(GaussianLikelihood::new(self.sigma[row].powi(2))?)
    }
}

/// As many draws as of the other methods.
fn settings() -> LatentSettings {
    LatentSettings { draws: 10_000, ..LatentSettings::default() }
}

/// A nested fit, and its draws of the reference's quantities.
pub type Nested = Box<dyn Fn(&mut ChaCha8Rng) -> Result<(Mat<f64>, LatentFit), BoostError>>;

/// Counts `k` at `x`.
pub(super) fn process(x: &[f64], k: Vec<f64>) -> Result<Nested, BoostError> {
    let parameters = Parameters::new().positive("rho", 1)?.positive("alpha", 1)?;
    let model = NestedProcess { parameters, x: x.to_vec() };
    Ok(Box::new(move |rng| {
        let found = fit_latent(&model, &Observed::of(&k), &settings(), rng)?;
        Ok((found.draws.clone(), found))
    }))
}

/// Effects `y` of schools with standard errors `sigma`.
pub(super) fn schools(y: Vec<f64>, sigma: Vec<f64>) -> Result<Nested, BoostError> {
    let n = y.len();
    let model = NestedSchools { parameters: Parameters::new().positive("tau", 1)?, sigma };
    let starts: Vec<usize> = (0..=n).map(|i| 2 * i).collect();
    let positions: Vec<usize> = (1..=n).flat_map(|j| [0, j]).collect();
    let values = vec![1.0; 2 * n];
    Ok(Box::new(move |rng| {
        let rows = Rows::Sparse { starts: &starts, positions: &positions, values: &values };
        let found = fit_latent(&model, &Observed::of(&y).design(rows), &settings(), rng)?;
        // τ, μ and deviations as θ, μ, τ.
        let own = |i: usize, j: usize| found.draws[(i, j)];
        let of = |i: usize, j: usize| if j < n { own(i, 1) + own(i, 2 + j) } else { own(i, n + 1 - j) };
        Ok((Mat::from_fn(found.draws.nrows(), n + 2, of), found))
    }))
}
