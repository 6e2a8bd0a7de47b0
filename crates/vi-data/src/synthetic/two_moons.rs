//! Two interleaved half circles: classes that no line separates.

use std::f64::consts::PI;

use rand::Rng;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};

use super::{finite_not_negative, positive};
use crate::{DataError, Dataset};

/// The settings of two half circles in the plane with Gaussian noise, as in scikit-learn's `make_moons`.
///
/// ```
/// use rand::SeedableRng;
/// use vi_data::synthetic::TwoMoonsSettings;
///
/// let settings = TwoMoonsSettings { n: 200, noise_sd: 0.1 };
/// let data = settings.draw(&mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
/// assert_eq!((data.n(), data.d()), (200, 2));
/// assert_eq!(data.y().iter().sum::<f64>(), 100.0);
/// # Ok::<(), vi_data::DataError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoMoonsSettings {
    /// Number of observations, n ≥ 1.
    pub n: usize,
    /// Standard deviation of the noise in each coordinate, ≥ 0; the circles have radius 1.
    pub noise_sd: f64,
}

impl TwoMoonsSettings {
    /// Draws the inputs (cos t, sin t) for y = 0 and (1 − cos t, ½ − sin t) for y = 1, plus noise.
    ///
    /// The angles of each class are spread evenly over [0, π]. The first class has ⌈n/2⌉ members, the other ⌊n/2⌋, in an
    /// order uniform over all orders. Cost O(n).
    ///
    /// # Errors
    /// [`DataError::Setting`] for n = 0 or a `noise_sd` that is negative or not finite, [`DataError::NotFinite`] if it is
    /// so large that an input overflows.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Dataset, DataError> {
        positive("n", self.n)?;
        finite_not_negative("noise_sd", self.noise_sd)?;
        let first = self.n.div_ceil(2);
        let moons = [(0.0, first), (1.0, self.n - first)];
        let mut points: Vec<(f64, f64)> = moons
            .into_iter()
            .flat_map(|(y, members)| (0..members).map(move |k| (y, PI * k as f64 / (members.max(2) - 1) as f64)))
            .collect();
        points.shuffle(rng);

        let mut rows = Vec::with_capacity(2 * self.n);
        for &(y, t) in &points {
            let (sine, cosine) = t.sin_cos();
            let place = if y == 0.0 { [cosine, sine] } else { [1.0 - cosine, 0.5 - sine] };
            for coordinate in place {
                let z: f64 = StandardNormal.sample(rng);
                rows.push(coordinate + self.noise_sd * z);
            }
        }
        let labels = points.into_iter().map(|(y, _)| y).collect();
        Dataset::new(rows, labels, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn draw(n: usize, noise_sd: f64) -> Result<Dataset, DataError> {
        TwoMoonsSettings { n, noise_sd }.draw(&mut ChaCha8Rng::seed_from_u64(5))
    }

    /// Where the row lies relative to the centre of its class's circle.
    fn from_centre(x: &[f64], y: f64) -> (f64, f64) {
        if y == 0.0 { (x[0], x[1]) } else { (1.0 - x[0], 0.5 - x[1]) }
    }

    #[test]
    fn without_noise_every_point_is_on_its_half_circle() {
        for n in [1, 2, 3, 101] {
            let data = draw(n, 0.0).unwrap();
            assert_eq!(data.y().iter().sum::<f64>(), (n / 2) as f64);
            for (x, y) in data.observations() {
                let (u, v) = from_centre(x, y);
                assert!((u.hypot(v) - 1.0).abs() <= 4.0 * f64::EPSILON);
                assert!(v >= -4.0 * f64::EPSILON);
            }
        }
    }

    #[test]
    fn the_noise_has_its_variance() {
        let (n, noise_sd) = (20_000, 0.1);
        let (clean, noisy) = (draw(n, 0.0).unwrap(), draw(n, noise_sd).unwrap());
        assert_eq!(clean.y(), noisy.y());
        let pairs = clean.rows_row_major().iter().zip(noisy.rows_row_major());
        let square: f64 = pairs.map(|(clean, noisy)| ((noisy - clean) / noise_sd).powi(2)).sum();
        let numbers = 2.0 * n as f64;
        assert!((square / numbers - 1.0).abs() <= 6.0 * (2.0 / numbers).sqrt());
    }

    #[test]
    fn bad_settings_are_named() {
        assert!(matches!(draw(0, 0.1), Err(DataError::Setting { setting: "n", .. })));
        for noise_sd in [-0.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(draw(3, noise_sd), Err(DataError::Setting { setting: "noise_sd", .. })));
        }
    }
}
