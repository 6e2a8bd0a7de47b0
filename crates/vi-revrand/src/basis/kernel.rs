//! Stationary kernels, and the distributions of frequencies that make them.

use rand::Rng;
use rand_distr::{Cauchy, ChiSquared, Distribution, Exp1, StandardNormal};
use serde::{Deserialize, Serialize};
use vi_linalg::faer::Mat;

use crate::{RevrandError, check};

/// A stationary kernel `k(x, x′)` with `k(x, x) = 1`, in the scaled distance `r = ‖(x − x′)/l‖` (division input by input).
///
/// By Bochner's theorem `k(x, x′) = E cos wᵀ(x − x′)/l` for frequencies `w` of a distribution that depends on the kernel; all but
/// the last kernel are functions of `r` alone, so the distributions of their frequencies depend only on `‖w‖`.
///
/// | kernel | `k` | frequencies |
/// |---|---|---|
/// | [`Rbf`](Self::Rbf) | `exp(−r²/2)` | normal |
/// | [`Laplace`](Self::Laplace) | `exp(−r)` | Student's t, 1 degree of freedom |
/// | [`Matern32`](Self::Matern32) | `(1 + √3·r)·exp(−√3·r)` | Student's t, 3 degrees |
/// | [`Matern52`](Self::Matern52) | `(1 + √5·r + 5r²/3)·exp(−√5·r)` | Student's t, 5 degrees |
/// | [`Cauchy`](Self::Cauchy) | `1/(1 + r²)` | normal times `√(2·Exp(1))` |
/// | [`LaplaceProduct`](Self::LaplaceProduct) | `exp(−Σᵢ \|xᵢ − x′ᵢ\|/lᵢ)` | independent Cauchy |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Kernel {
    /// The squared exponential.
    Rbf,
    /// The exponential of the Euclidean distance (Matérn ½).
    Laplace,
    /// The rational quadratic `1/(1 + r²)`.
    Cauchy,
    /// Matérn's with smoothness 3/2.
    Matern32,
    /// Matérn's with smoothness 5/2.
    Matern52,
    /// The product over the inputs of one-dimensional Laplace kernels: the exponential of the L1 distance.
    LaplaceProduct,
}

impl Kernel {
    /// All kernels.
    pub const ALL: [Self; 6] =
        [Self::Rbf, Self::Laplace, Self::Cauchy, Self::Matern32, Self::Matern52, Self::LaplaceProduct];

    /// The name of the kernel, such as `Matern32`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Rbf => "Rbf",
            Self::Laplace => "Laplace",
            Self::Cauchy => "Cauchy",
            Self::Matern32 => "Matern32",
            Self::Matern52 => "Matern52",
            Self::LaplaceProduct => "LaplaceProduct",
        }
    }

    /// The kernel `k(x, x′)` for length scales `l`, one for each input or one for all.
    ///
    /// # Errors
    /// `Empty`, `Dimension`, `NonFinite`, `Entry` (a length scale that is not positive).
    ///
    /// ```
    /// use vi_revrand::Kernel;
    /// assert_eq!(Kernel::Cauchy.value(&[3.0, 0.0], &[0.0, 4.0], &[2.5])?, 0.2);
    /// assert_eq!(Kernel::LaplaceProduct.value(&[3.0, 0.0], &[0.0, 4.0], &[1.0, 2.0])?, f64::exp(-5.0));
    /// # Ok::<(), vi_revrand::RevrandError>(())
    /// ```
    pub fn value(&self, x: &[f64], other: &[f64], length_scales: &[f64]) -> Result<f64, RevrandError> {
        check::not_empty("x", x.len())?;
        check::length("the other point", x.len(), other.len())?;
        if length_scales.len() != 1 {
            check::length("length scales", x.len(), length_scales.len())?;
        }
        check::finite("x", x)?;
        check::finite("the other point", other)?;
        check::positive_entries("length scales", length_scales)?;
        let scales = length_scales.iter().cycle();
        let differences = x.iter().zip(other).zip(scales).map(|((a, b), l)| (a - b) / l);
        if *self == Self::LaplaceProduct {
            return Ok((-differences.map(f64::abs).sum::<f64>()).exp());
        }
        let squared: f64 = differences.map(|difference| difference * difference).sum();
        Ok(self.of_distance(squared.sqrt()))
    }

    fn of_distance(self, r: f64) -> f64 {
        match self {
            Self::Rbf => (-0.5 * r * r).exp(),
            Self::Laplace | Self::LaplaceProduct => (-r).exp(),
            Self::Cauchy => (1.0 + r * r).recip(),
            Self::Matern32 => {
                let s = 3.0_f64.sqrt() * r;
                (1.0 + s) * (-s).exp()
            }
            Self::Matern52 => {
                let s = 5.0_f64.sqrt() * r;
                (1.0 + s + s * s / 3.0) * (-s).exp()
            }
        }
    }

    /// Independent frequencies, one a column (`inputs × pairs`).
    pub(crate) fn frequencies(self, inputs: usize, pairs: usize, rng: &mut impl Rng) -> Mat<f64> {
        let mut w = Mat::zeros(inputs, pairs);
        for j in 0..pairs {
            let column = w.col_as_slice_mut(j);
            if self == Self::LaplaceProduct {
                column.fill_with(|| cauchy(rng));
            } else {
                column.fill_with(|| StandardNormal.sample(rng));
                let factor = self.radial_factor(rng);
                for w in column {
                    *w *= factor;
                }
            }
        }
        w
    }

    /// The factor by which a standard normal vector is multiplied to become a frequency of an isotropic kernel: a draw of
    /// `√(ν/χ²_ν)` for Student's t, of `√(2·Exp(1))` for Cauchy's kernel.
    pub(crate) fn radial_factor(self, rng: &mut impl Rng) -> f64 {
        match self {
            Self::Rbf | Self::LaplaceProduct => 1.0,
            Self::Cauchy => {
                let z: f64 = Exp1.sample(rng);
                (2.0 * z).sqrt()
            }
            Self::Laplace => student(1.0, rng),
            Self::Matern32 => student(3.0, rng),
            Self::Matern52 => student(5.0, rng),
        }
    }
}

/// A standard Cauchy draw, repeated in the case (of probability 2⁻⁵³) that it is infinite.
fn cauchy(rng: &mut impl Rng) -> f64 {
    loop {
        let draw = Cauchy::new(0.0, 1.0).map_or(0.0, |cauchy| cauchy.sample(rng));
        if f64::is_finite(draw) {
            return draw;
        }
    }
}

/// A draw of `√(ν/χ²_ν)`, repeated while `χ²` underflows.
fn student(freedom: f64, rng: &mut impl Rng) -> f64 {
    loop {
        let chi_squared = ChiSquared::new(freedom).map_or(freedom, |chi| chi.sample(rng));
        let factor = (freedom / chi_squared).sqrt();
        if factor.is_finite() {
            return factor;
        }
    }
}
