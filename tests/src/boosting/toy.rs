//! A toy of the paper's Figure 1, as a file holds it.

use vi_boost::target::Cauchy;
use vi_boost::{Component, GaussianMixture, LogDensity};
use vi_linalg::faer::{Mat, MatMut, MatRef};

use crate::CaseError;
use crate::json::Node;
use crate::problem::symmetric;

/// A target with a known normaliser.
#[derive(Debug, Clone)]
pub enum Toy {
    /// `1/(1 + ((θ−location)/scale)²)`.
    Cauchy(Cauchy),
    /// A normalised mixture.
    Mixture(GaussianMixture),
}

impl Toy {
    /// Reads the object `target`: a Cauchy density by `scale` (and `location`), a mixture by `weights`, `means` and `sds` or
    /// `covariances`.
    ///
    /// # Errors
    /// A [`CaseError`] that says what is missing or does not fit.
    pub fn read(target: &Node<'_>) -> Result<Self, CaseError> {
        if let Some(scale) = target.find("scale") {
            let location = target.find("location").map_or(Ok(0.0), |value| value.number())?;
            return Ok(Self::Cauchy(Cauchy::new(location, scale.number()?)?));
        }
        let weights = target.get("weights")?.vector()?;
        let means: Vec<Vec<f64>> = target.get("means")?.items()?.iter().map(vector).collect::<Result<_, _>>()?;
        let components = if let Some(sds) = target.find("sds") {
            let sds: Vec<Vec<f64>> = sds.items()?.iter().map(vector).collect::<Result<_, _>>()?;
            let square = |sd: &Vec<f64>| sd.iter().map(|sd| sd * sd).collect::<Vec<_>>();
            let pairs = means.iter().zip(&sds);
            pairs.map(|(mean, sd)| Component::diagonal(mean, &square(sd))).collect::<Result<Vec<_>, _>>()?
        } else {
            let covariances = target.get("covariances")?;
            let items = covariances.items()?;
            covariances.check_len(means.len(), items.len())?;
            let mut components = Vec::new();
            for (mean, item) in means.iter().zip(&items) {
                let covariance = symmetric(&item.matrix_of(mean.len(), mean.len())?);
                components.push(Component::full(mean, covariance.as_ref())?);
            }
            components
        };
        Ok(Self::Mixture(GaussianMixture::new(components, &weights)?))
    }

    /// `log ∫f`.
    #[must_use]
    pub fn log_normaliser(&self) -> f64 {
        match self {
            Self::Cauchy(cauchy) => cauchy.log_normaliser(),
            Self::Mixture(_) => 0.0,
        }
    }

    /// How many components of a mixture the target has, if it is one.
    #[must_use]
    pub fn components(&self) -> Option<usize> {
        match self {
            Self::Cauchy(_) => None,
            Self::Mixture(mixture) => Some(mixture.len()),
        }
    }

    /// A box that holds all but 1e-5 of the mass of the target and of any approximation worth comparing.
    #[must_use]
    pub fn range(&self, start: &Component) -> (Vec<f64>, Vec<f64>) {
        let d = start.dim();
        if let Self::Cauchy(_) = self {
            return (vec![-1e5; d], vec![1e5; d]);
        }
        // Wide enough for the start distribution itself.
        let sd: Vec<f64> = (0..d).map(|j| start.covariance()[(j, j)].sqrt()).collect();
        let end = |sign: f64| (0..d).map(|j| start.mean()[j] + sign * 7.0 * sd[j]).collect();
        (end(-1.0), end(1.0))
    }
}

/// A vector, or a number as a vector of one.
fn vector(node: &Node<'_>) -> Result<Vec<f64>, CaseError> {
    if node.is_array() { node.vector() } else { Ok(vec![node.number()?]) }
}

impl LogDensity for Toy {
    fn dim(&self) -> usize {
        match self {
            Self::Cauchy(cauchy) => cauchy.dim(),
            Self::Mixture(mixture) => mixture.dim(),
        }
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        match self {
            Self::Cauchy(cauchy) => cauchy.log_density(theta),
            Self::Mixture(mixture) => LogDensity::log_density(mixture, theta),
        }
    }

    fn gradient(&self, theta: &[f64], out: &mut [f64]) -> bool {
        match self {
            Self::Cauchy(cauchy) => cauchy.gradient(theta, out),
            Self::Mixture(mixture) => mixture.gradient(theta, out),
        }
    }

    fn hessian(&self, theta: &[f64], out: MatMut<'_, f64>) -> bool {
        match self {
            Self::Cauchy(cauchy) => cauchy.hessian(theta, out),
            Self::Mixture(mixture) => LogDensity::hessian(mixture, theta, out),
        }
    }

    fn log_densities(&self, points: MatRef<'_, f64>, values: &mut [f64]) {
        match self {
            Self::Cauchy(cauchy) => cauchy.log_densities(points, values),
            Self::Mixture(mixture) => LogDensity::log_densities(mixture, points, values),
        }
    }

    fn log_densities_and_gradients(
        &self,
        points: MatRef<'_, f64>,
        values: &mut [f64],
        gradients: MatMut<'_, f64>,
    ) -> bool {
        match self {
            Self::Cauchy(cauchy) => cauchy.log_densities_and_gradients(points, values, gradients),
            Self::Mixture(mixture) => LogDensity::log_densities_and_gradients(mixture, points, values, gradients),
        }
    }
}

/// A symmetric matrix of `d × d` or one number, as a component's covariance.
///
/// # Errors
/// A [`CaseError`] that says what does not fit.
pub(crate) fn start(mean: &Node<'_>, covariance: &Node<'_>) -> Result<Component, CaseError> {
    let mean = vector(mean)?;
    let d = mean.len();
    let matrix = match covariance.number() {
        Ok(variance) => Mat::from_fn(d, d, |i, j| if i == j { variance } else { 0.0 }),
        Err(_) => symmetric(&covariance.matrix_of(d, d)?),
    };
    Ok(Component::full(&mean, matrix.as_ref())?)
}
