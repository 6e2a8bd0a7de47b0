//! Two Gaussian classes: the data of every figure of R-VGA §6.

use rand::Rng;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, OpenClosed01};

use super::{InputCovariance, Normalisation, finite_not_negative, positive};
use crate::{DataError, Dataset};

/// The settings of R-VGA §6: n inputs in ℝᵈ from two Gaussians of one covariance.
///
/// ```
/// use rand::SeedableRng;
/// use vi_data::synthetic::{Normalisation, TwoClassesSettings};
///
/// // Figures 3 to 5: n = 100, d = 2, s = 2, c = 2.
/// let settings = TwoClassesSettings { n: 100, d: 2, s: 2.0, c: 2.0, normalisation: Normalisation::AsRun };
/// let drawn = settings.draw(&mut rand_chacha::ChaCha8Rng::seed_from_u64(10))?;
/// assert_eq!((drawn.data.n(), drawn.data.d()), (100, 2));
/// assert_eq!(drawn.data.y().iter().sum::<f64>(), 50.0);
/// # Ok::<(), vi_data::DataError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoClassesSettings {
    /// Number of observations, n ≥ 1.
    pub n: usize,
    /// Dimension of the inputs, d ≥ 1.
    pub d: usize,
    /// Distance between the class means, s ≥ 0: the larger, the better separated.
    pub s: f64,
    /// Exponent of the eigenvalues 1/k^c: 0 is isotropic, larger is worse conditioned.
    pub c: f64,
    /// How the eigenvalues are normalised; the figures need [`Normalisation::AsRun`].
    pub normalisation: Normalisation,
}

/// A draw of [`TwoClassesSettings::draw`] with its true means, covariance and weights.
#[derive(Debug, Clone)]
pub struct TwoClasses {
    /// The inputs and their classes, y ∈ {0, 1}, in random order.
    pub data: Dataset,
    /// Mean of the class y = 0, of length d and norm s/2; the other class has its negative.
    pub mean: Vec<f64>,
    /// The covariance that the classes share.
    pub covariance: InputCovariance,
    /// The weights θ = −2C⁻¹m with which p(y = 1 | x) = 1/(1 + exp(−xᵀθ)) holds exactly.
    pub theta: Vec<f64>,
}

impl TwoClassesSettings {
    /// Draws the inputs x | y = 0 ~ N(m, C), x | y = 1 ~ N(−m, C) with ‖2m‖ = s and C of eq (91).
    ///
    /// As in the program behind the figures, the direction of m is that of a vector with
    /// independent uniform coordinates in (0, 1], so m lies in the positive orthant. The first
    /// class has ⌈n/2⌉ members, the other ⌊n/2⌋, in an order uniform over all orders.
    /// Cost O(d³ + n·d²), O(n·d) for c = 0.
    ///
    /// # Errors
    /// [`DataError::Setting`] for n = 0, d = 0, an `s` that is negative or not finite, or a `c`
    /// that [`InputCovariance::new`] refuses.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<TwoClasses, DataError> {
        positive("n", self.n)?;
        positive("d", self.d)?;
        finite_not_negative("s", self.s)?;
        let covariance = InputCovariance::new(self.d, self.c, self.normalisation, rng)?;

        let mut mean: Vec<f64> = (0..self.d).map(|_| OpenClosed01.sample(rng)).collect();
        let norm = mean.iter().map(|v| v * v).sum::<f64>().sqrt();
        for v in &mut mean {
            *v *= 0.5 * self.s / norm;
        }

        let mut y = vec![0.0; self.n];
        y[self.n.div_ceil(2)..].fill(1.0);
        y.shuffle(rng);

        let mut rows = Vec::with_capacity(self.n * self.d);
        for &label in &y {
            let sign = 1.0 - 2.0 * label;
            let start = rows.len();
            rows.extend(mean.iter().map(|m| sign * m));
            covariance.add_draw(&mut rows[start..], rng);
        }

        let theta = covariance.solve(&mean)?.iter().map(|value| -2.0 * value).collect();
        Ok(TwoClasses { data: Dataset::new(rows, y, None)?, mean, covariance, theta })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    const SETTINGS: TwoClassesSettings =
        TwoClassesSettings { n: 100, d: 2, s: 2.0, c: 2.0, normalisation: Normalisation::AsRun };

    fn draw(settings: TwoClassesSettings, seed: u64) -> TwoClasses {
        settings.draw(&mut ChaCha8Rng::seed_from_u64(seed)).unwrap()
    }

    #[test]
    fn the_means_are_s_apart_and_the_classes_balanced() {
        for (n, d, s) in [(1, 1, 3.0), (7, 3, 0.5), (100, 40, 0.0)] {
            let drawn = draw(TwoClassesSettings { n, d, s, ..SETTINGS }, 1);
            let norm = drawn.mean.iter().map(|v| v * v).sum::<f64>().sqrt();
            assert!((2.0 * norm - s).abs() <= 4.0 * f64::EPSILON * s);
            assert!(drawn.mean.iter().all(|&v| v >= 0.0));
            assert_eq!(drawn.data.y().iter().sum::<f64>(), (n / 2) as f64);
        }
    }

    #[test]
    fn s_moves_the_classes_and_nothing_else() {
        let near = draw(SETTINGS, 4);
        let far = draw(TwoClassesSettings { s: 5.0, ..SETTINGS }, 4);
        assert_eq!(near.data.y(), far.data.y());
        for ((a, y), (b, _)) in near.data.observations().zip(far.data.observations()) {
            let sign = 1.0 - 2.0 * y;
            for k in 0..2 {
                let moved = sign * (far.mean[k] - near.mean[k]);
                assert!((b[k] - a[k] - moved).abs() <= 8.0 * f64::EPSILON * (1.0 + b[k].abs()));
            }
        }
    }

    #[test]
    fn each_class_has_its_mean() {
        let n = 40_000;
        let drawn = draw(TwoClassesSettings { n, ..SETTINGS }, 6);
        let c = drawn.covariance.dense();
        for k in 0..2 {
            let sum: f64 = drawn.data.observations().map(|(x, y)| (1.0 - 2.0 * y) * x[k]).sum();
            let error = sum / n as f64 - drawn.mean[k];
            assert!(error.abs() <= 6.0 * (c[(k, k)] / n as f64).sqrt());
        }
    }

    #[test]
    fn theta_is_calibrated() {
        // E[(y − s(xᵀθ))·x] = 0 when p(y = 1 | x) = s(xᵀθ); Var ≤ E[s′·x²] ≤ E[x²]/4.
        let n = 40_000;
        let drawn = draw(TwoClassesSettings { n, ..SETTINGS }, 9);
        for k in 0..2 {
            let (mut score, mut square) = (0.0, 0.0);
            for (x, y) in drawn.data.observations() {
                let t: f64 = x.iter().zip(&drawn.theta).map(|(x, w)| x * w).sum();
                score += (y - 1.0 / (1.0 + (-t).exp())) * x[k];
                square += x[k] * x[k];
            }
            assert!(score.abs() <= 6.0 * (0.25 * square).sqrt());
        }
    }

    #[test]
    fn the_labels_are_shuffled() {
        let drawn = draw(SETTINGS, 2);
        let y = drawn.data.y();
        let changes = y.windows(2).filter(|pair| pair[0] != pair[1]).count();
        // Changes in a random order of 50 + 50: mean 50, standard deviation 5.
        assert!((20..=80).contains(&changes), "{changes}");
    }

    #[test]
    fn the_same_seed_gives_the_same_bits() {
        let (first, second) = (draw(SETTINGS, 10), draw(SETTINGS, 10));
        assert_eq!(first.data, second.data);
        assert_ne!(first.data, draw(SETTINGS, 11).data);
    }

    #[test]
    fn the_first_values_of_a_seed_stay() {
        let pinned = [
            (0.0, [-0.3075281320341038, -1.4637158346764252], [1, 1, 1, 1, 0, 0, 1, 1]),
            (2.0, [0.735460624699318, -0.35089518046564033], [0, 1, 1, 1, 0, 1, 1, 1]),
        ];
        for (c, x, y) in pinned {
            let drawn = draw(TwoClassesSettings { c, ..SETTINGS }, 10);
            for (found, wanted) in drawn.data.row(0).iter().zip(x) {
                // A few dozen operations, whose last bits depend on the processor's vectors.
                assert!((found - wanted).abs() <= 64.0 * f64::EPSILON);
            }
            assert_eq!(drawn.data.y()[..8], y.map(f64::from));
        }
    }

    #[test]
    fn bad_settings_are_named() {
        let refused = |settings: TwoClassesSettings, name| {
            let error = settings.draw(&mut ChaCha8Rng::seed_from_u64(0)).err();
            assert!(matches!(error, Some(DataError::Setting { setting, .. }) if setting == name), "{error:?}");
        };
        refused(TwoClassesSettings { n: 0, ..SETTINGS }, "n");
        refused(TwoClassesSettings { d: 0, ..SETTINGS }, "d");
        for s in [-1.0, f64::NAN, f64::INFINITY] {
            refused(TwoClassesSettings { s, ..SETTINGS }, "s");
        }
        let c = f64::NAN;
        refused(TwoClassesSettings { c, ..SETTINGS }, "c");
    }
}
