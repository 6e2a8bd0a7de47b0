//! Linear regression with Gaussian inputs: R-VGA §4, L-RVGA §5.2.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::{InputCovariance, Normalisation, finite_not_negative, positive};
use crate::{DataError, Dataset};

/// The settings of y = xᵀθ + w, x ~ N(0, C), w ~ N(0, noise_sd²), θ ~ N(0, theta_sd²·I).
///
/// ```
/// use rand::SeedableRng;
/// use vi_data::synthetic::{LinearSettings, Normalisation};
///
/// let settings = LinearSettings {
///     n: 300, d: 50, c: 1.0, normalisation: Normalisation::AsRun, noise_sd: 1.0, theta_sd: 1.0,
/// };
/// let drawn = settings.draw(&mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
/// assert_eq!((drawn.data.n(), drawn.theta.len()), (300, 50));
/// # Ok::<(), vi_data::DataError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearSettings {
    /// Number of observations, n ≥ 1.
    pub n: usize,
    /// Dimension of the inputs, d ≥ 1.
    pub d: usize,
    /// Exponent of the inputs' eigenvalues 1/k^c (R-VGA eq 91).
    pub c: f64,
    /// How the eigenvalues are normalised.
    pub normalisation: Normalisation,
    /// Standard deviation of the observation noise, ≥ 0, in units of y.
    pub noise_sd: f64,
    /// Standard deviation of each coefficient, ≥ 0.
    pub theta_sd: f64,
}

/// A draw of [`LinearSettings::draw`] with its true coefficients and covariance.
#[derive(Debug, Clone)]
pub struct LinearData {
    /// The inputs and responses.
    pub data: Dataset,
    /// The coefficients, length d.
    pub theta: Vec<f64>,
    /// The covariance of the inputs.
    pub covariance: InputCovariance,
}

impl LinearSettings {
    /// Draws the covariance, then θ, then the observations one by one. Cost O(d³ + n·d²), O(n·d)
    /// for c = 0.
    ///
    /// # Errors
    /// [`DataError::Setting`] for n = 0, d = 0, a standard deviation that is negative or not
    /// finite, or a `c` that [`InputCovariance::new`] refuses; [`DataError::NotFinite`] if the
    /// standard deviations are so large that a response overflows.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<LinearData, DataError> {
        positive("n", self.n)?;
        positive("d", self.d)?;
        finite_not_negative("noise_sd", self.noise_sd)?;
        finite_not_negative("theta_sd", self.theta_sd)?;
        let covariance = InputCovariance::new(self.d, self.c, self.normalisation, rng)?;
        let mut normal = |sd: f64| {
            let z: f64 = StandardNormal.sample(rng);
            sd * z
        };
        let theta: Vec<f64> = (0..self.d).map(|_| normal(self.theta_sd)).collect();
        let noise: Vec<f64> = (0..self.n).map(|_| normal(self.noise_sd)).collect();

        let mut rows = vec![0.0; self.n * self.d];
        let mut y = Vec::with_capacity(self.n);
        for (x, noise) in rows.chunks_exact_mut(self.d).zip(noise) {
            covariance.add_draw(x, rng);
            y.push(x.iter().zip(&theta).map(|(x, w)| x * w).sum::<f64>() + noise);
        }
        Ok(LinearData { data: Dataset::new(rows, y, None)?, theta, covariance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    const SETTINGS: LinearSettings =
        LinearSettings { n: 5000, d: 4, c: 1.0, normalisation: Normalisation::AsRun, noise_sd: 0.7, theta_sd: 2.0 };

    fn draw(settings: LinearSettings) -> Result<LinearData, DataError> {
        settings.draw(&mut ChaCha8Rng::seed_from_u64(3))
    }

    #[test]
    fn without_noise_the_response_is_the_inner_product() {
        let drawn = draw(LinearSettings { noise_sd: 0.0, ..SETTINGS }).unwrap();
        for (x, y) in drawn.data.observations() {
            let t: f64 = x.iter().zip(&drawn.theta).map(|(x, w)| x * w).sum();
            assert_eq!(t, y);
        }
    }

    #[test]
    fn the_residuals_have_the_noise_variance() {
        let drawn = draw(SETTINGS).unwrap();
        let n = drawn.data.n() as f64;
        let (mut sum, mut square) = (0.0, 0.0);
        for (x, y) in drawn.data.observations() {
            let t: f64 = x.iter().zip(&drawn.theta).map(|(x, w)| x * w).sum();
            sum += (y - t) / SETTINGS.noise_sd;
            square += ((y - t) / SETTINGS.noise_sd).powi(2);
        }
        assert!((sum / n).abs() <= 6.0 / n.sqrt());
        assert!((square / n - 1.0).abs() <= 6.0 * (2.0 / n).sqrt());
    }

    #[test]
    fn the_coefficients_have_their_standard_deviation() {
        let d = 5000;
        let drawn = draw(LinearSettings { n: 1, d, c: 0.0, ..SETTINGS }).unwrap();
        let square: f64 = drawn.theta.iter().map(|w| (w / SETTINGS.theta_sd).powi(2)).sum();
        assert!((square / d as f64 - 1.0).abs() <= 6.0 * (2.0 / d as f64).sqrt());
    }

    #[test]
    fn the_first_values_of_a_seed_stay() {
        let drawn = draw(LinearSettings { d: 2, c: 0.0, ..SETTINGS }).unwrap();
        assert_eq!(drawn.theta, [0.8775123788157507, -2.256843928826478]);
        assert_eq!(drawn.data.row(0), [-0.1019278824354585, -0.4313898803373792]);
        assert_eq!(drawn.data.y()[0], 0.5906502402620177);
    }

    #[test]
    fn bad_settings_are_named() {
        let refused = |settings: LinearSettings, name| {
            let error = draw(settings).err();
            assert!(matches!(error, Some(DataError::Setting { setting, .. }) if setting == name), "{error:?}");
        };
        refused(LinearSettings { n: 0, ..SETTINGS }, "n");
        refused(LinearSettings { d: 0, ..SETTINGS }, "d");
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            refused(LinearSettings { noise_sd: bad, ..SETTINGS }, "noise_sd");
            refused(LinearSettings { theta_sd: bad, ..SETTINGS }, "theta_sd");
        }
        let c = f64::INFINITY;
        refused(LinearSettings { c, ..SETTINGS }, "c");
        let theta_sd = f64::MAX;
        assert!(matches!(
            draw(LinearSettings { theta_sd, ..SETTINGS }),
            Err(DataError::NotFinite { row: 1, column: 0, .. })
        ));
    }
}
