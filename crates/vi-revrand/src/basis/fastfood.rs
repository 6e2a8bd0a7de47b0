//! FastFood: random Fourier features whose frequencies are a product of sparse matrices.

mod mixture;
mod product;

use rand::Rng;
use serde::{Deserialize, Serialize};
use vi_linalg::faer::{Mat, MatMut, MatRef, Par};

pub use mixture::FastFoodMixture;
pub use product::FastFoodDraws;

use super::composed::one_part;
use super::length_scale::Scales;
use super::{Basis, Bound, Kernel, LengthScale, Parameter, Regulariser, waves};
use crate::RevrandError;

/// FastFood features of an isotropic kernel (Le, Sarlós and Smola 2013): [`RandomFourier`](super::RandomFourier) with
/// `W = Vᵀ`, each block of `V` a product `√d₂·S·H·G·Π·H·B/d₂²` ([`FastFoodDraws`]), so that `z` costs `log d₂` a feature
/// and not `d`, and `W` a few numbers a feature.
///
/// ```text
/// φ(x) = [cos z, sin z]/√m,   z = V(x/l)
/// ```
///
/// Each row of `V` alone is distributed as an independent frequency, so the kernel is unbiased; within a block the rows
/// are nearly orthogonal. Cost `n·m·2log₂ d₂` additions and `n·m` pairs of a cosine and a sine.
///
/// ```
/// use rand::SeedableRng;
/// use vi_linalg::faer::{Par, mat};
/// use vi_revrand::basis::{Basis, FastFood, Kernel, LengthScale};
///
/// let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// // Three inputs are padded to four, and the pairs are made a multiple of four.
/// let basis = FastFood::new(Kernel::Rbf, 3, 999, LengthScale::Shared(1.3), rng)?;
/// assert_eq!(basis.width(), 2000);
/// let x = mat![[0.9, -0.4, 0.1], [0.5, 0.4, 0.7]];
/// let phi = basis.features(&[1.3], x.as_ref(), Par::Seq)?;
/// let kernel = &phi * phi.transpose();
/// let exact = Kernel::Rbf.value(&[0.9, -0.4, 0.1], &[0.5, 0.4, 0.7], &[1.3])?;
/// assert!((kernel[(0, 1)] - exact).abs() < 4.0 / 1000_f64.sqrt());
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FastFoodWire")]
pub struct FastFood {
    kernel: Kernel,
    draws: FastFoodDraws,
    scales: Scales,
}

#[derive(Deserialize)]
struct FastFoodWire {
    kernel: Kernel,
    draws: FastFoodDraws,
    scales: Scales,
}

impl FastFood {
    /// Draws at least `pairs` frequencies for `inputs` inputs, up to the next multiple of `d₂`, the power of two that is
    /// not below `inputs`.
    ///
    /// # Errors
    /// `Empty` (no inputs or no pairs), `Dimension` and `Entry` (length scales), [`RevrandError::Kernel`] for
    /// [`Kernel::LaplaceProduct`].
    pub fn new(
        kernel: Kernel,
        inputs: usize,
        pairs: usize,
        length_scale: LengthScale,
        rng: &mut impl Rng,
    ) -> Result<Self, RevrandError> {
        let scales = Scales::new(inputs, length_scale)?;
        Ok(Self { kernel, draws: FastFoodDraws::new(kernel, inputs, pairs, rng)?, scales })
    }

    /// Makes a basis from draws made elsewhere.
    ///
    /// # Errors
    /// `Dimension` and `Entry` (length scales).
    pub fn from_draws(
        kernel: Kernel,
        draws: FastFoodDraws,
        inputs: usize,
        length_scale: LengthScale,
    ) -> Result<Self, RevrandError> {
        draws.check_inputs(inputs)?;
        Ok(Self { kernel, draws, scales: Scales::new(inputs, length_scale)? })
    }

    /// These features with other bounds of the length scales.
    ///
    /// # Errors
    /// [`RevrandError::Bounds`] for a negative lower end, [`RevrandError::OutOfBounds`] if an initial length scale is outside.
    pub fn with_length_scale_bound(self, bound: Bound) -> Result<Self, RevrandError> {
        Ok(Self { scales: self.scales.bounded(bound)?, ..self })
    }

    /// The draws of the features.
    #[must_use]
    pub fn draws(&self) -> &FastFoodDraws {
        &self.draws
    }
}

impl TryFrom<FastFoodWire> for FastFood {
    type Error = RevrandError;

    fn try_from(wire: FastFoodWire) -> Result<Self, RevrandError> {
        let inputs = wire.scales.inputs();
        wire.scales.check(inputs)?;
        wire.draws.check_inputs(inputs)?;
        Ok(Self { kernel: wire.kernel, draws: wire.draws, scales: wire.scales })
    }
}

/// `1/l` for each input.
fn inverse_scales(theta: &[f64], inputs: usize) -> Vec<f64> {
    (0..inputs).map(|i| Scales::at(theta, i).recip()).collect()
}

impl Basis for FastFood {
    fn inputs(&self) -> Option<usize> {
        Some(self.scales.inputs())
    }

    fn width(&self) -> usize {
        2 * self.draws.pairs()
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.scales.parameters()
    }

    fn regularisers(&self) -> Vec<Regulariser> {
        one_part(self.width())
    }

    fn fill(&self, theta: &[f64], x: MatRef<'_, f64>, out: MatMut<'_, f64>, _par: Par) {
        assert_eq!(theta.len(), self.scales.len(), "length of theta");
        assert_eq!(x.ncols(), self.scales.inputs(), "columns of x");
        assert_eq!(out.shape(), (x.nrows(), self.width()), "shape of the features");
        assert_eq!(out.row_stride(), 1, "the features' columns must be contiguous");
        let inverse = inverse_scales(theta, x.ncols());
        let pairs = self.draws.pairs();
        let scale = (pairs as f64).sqrt().recip();
        self.draws.by_tiles(x, &inverse, out, |_, tile| {
            let (cos, sin) = tile.split_at_col_mut(pairs);
            waves::fill(cos, sin, scale);
        });
    }

    fn contract(
        &self,
        theta: &[f64],
        x: MatRef<'_, f64>,
        features: MatRef<'_, f64>,
        weights: MatRef<'_, f64>,
        out: &mut [f64],
        _par: Par,
    ) {
        assert_eq!(out.len(), self.scales.len(), "length of the gradient");
        assert_eq!(weights.shape(), features.shape(), "shape of the weights");
        let s = waves::angle_gradient(features, weights);
        out.fill(0.0);
        self.draws.add_scale_gradient(theta, x, s.as_ref(), out);
    }

    fn differentiate(&self, theta: &[f64], x: MatRef<'_, f64>, features: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let mut gradients = vec![Mat::<f64>::zeros(x.nrows(), self.width()); self.scales.len()];
        let parts = gradients.iter_mut().map(Mat::as_mut).collect();
        waves::differentiate(theta, x, self.draws.frequencies(x.ncols()).as_ref(), features, parts);
        gradients
    }
}
