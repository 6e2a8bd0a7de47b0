//! Random Fourier features.

mod orthogonal;

use rand::Rng;
use serde::{Deserialize, Serialize};
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};

use super::composed::one_part;
use super::length_scale::Scales;
use super::{Basis, Bound, Kernel, LengthScale, Parameter, Regulariser, waves, wire};
use crate::{RevrandError, check};

/// The number of rows that are mapped at once: their angles stay in the cache between the product and the cosines.
const TILE: usize = 64;
/// The number of rows that are mapped at once with threads, which need more work to share.
const TILE_WITH_THREADS: usize = 1024;

/// Random Fourier features of a stationary kernel (Rahimi and Recht 2007):
///
/// ```text
/// φ(x) = [cos z, sin z]/√m,   z = Wᵀ(x/l),   so that   E φ(x)ᵀφ(x′) = k(x, x′)
/// ```
///
/// with `W` (`d × m`) drawn once. The standard error of the kernel is at most `1/√m`. Cost `2·n·d·m` flops and `n·m`
/// pairs of a cosine and a sine.
///
/// ```
/// use rand::SeedableRng;
/// use vi_linalg::faer::{Par, mat};
/// use vi_revrand::basis::{Basis, Kernel, LengthScale, RandomFourier};
///
/// let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// let basis = RandomFourier::new(Kernel::Matern32, 2, 4000, LengthScale::Shared(1.5), rng)?;
/// let x = mat![[0.2, -0.3], [1.0, 0.4]];
/// let phi = basis.features(&[1.5], x.as_ref(), Par::Seq)?;
/// let kernel = &phi * phi.transpose();
/// let exact = Kernel::Matern32.value(&[0.2, -0.3], &[1.0, 0.4], &[1.5])?;
/// assert!((kernel[(0, 1)] - exact).abs() < 4.0 / 4000_f64.sqrt());
/// assert!((kernel[(0, 0)] - 1.0).abs() < 1e-12);
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FourierWire")]
pub struct RandomFourier {
    kernel: Kernel,
    #[serde(serialize_with = "wire::serialize")]
    frequencies: Mat<f64>,
    scales: Scales,
}

#[derive(Deserialize)]
struct FourierWire {
    kernel: Kernel,
    #[serde(deserialize_with = "wire::deserialize")]
    frequencies: Mat<f64>,
    scales: Scales,
}

impl RandomFourier {
    /// Draws `pairs` independent frequencies for `inputs` inputs: `2·pairs` features.
    ///
    /// # Errors
    /// `Empty` (no inputs or no pairs), `Dimension` and `Entry` (length scales), `Setting` for more pairs than memory holds.
    pub fn new(
        kernel: Kernel,
        inputs: usize,
        pairs: usize,
        length_scale: LengthScale,
        rng: &mut impl Rng,
    ) -> Result<Self, RevrandError> {
        let scales = Scales::new(inputs, length_scale)?;
        check::not_empty("pairs", pairs)?;
        check::room("pairs", &[pairs, inputs.max(2)])?;
        Ok(Self { kernel, frequencies: kernel.frequencies(inputs, pairs, rng), scales })
    }

    /// Draws `pairs` frequencies whose directions are orthogonal within blocks of `inputs` (Yu, Suresh, Choromanski,
    /// Holtmann-Rice and Kumar 2016), of any isotropic kernel. Each alone has the distribution of an independent one,
    /// so the kernel stays unbiased; together they cover the directions better, and the error is smaller.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), and [`RevrandError::Kernel`] for [`Kernel::LaplaceProduct`], whose frequencies have
    /// preferred directions.
    pub fn orthogonal(
        kernel: Kernel,
        inputs: usize,
        pairs: usize,
        length_scale: LengthScale,
        rng: &mut impl Rng,
    ) -> Result<Self, RevrandError> {
        let scales = Scales::new(inputs, length_scale)?;
        check::not_empty("pairs", pairs)?;
        check::room("pairs", &[pairs, inputs.max(2)])?;
        if kernel == Kernel::LaplaceProduct {
            let (features, requirement) = ("orthogonal", "isotropic kernels");
            return Err(RevrandError::Kernel { features, requirement, kernel: kernel.name() });
        }
        Ok(Self { kernel, frequencies: orthogonal::frequencies(kernel, inputs, pairs, rng), scales })
    }

    /// Makes a basis from frequencies `W` (`d × m`) drawn elsewhere.
    ///
    /// # Errors
    /// `Empty`, `Dimension` and `Entry` (length scales), `Row` with `NonFinite`.
    pub fn from_frequencies(
        kernel: Kernel,
        frequencies: Mat<f64>,
        length_scale: LengthScale,
    ) -> Result<Self, RevrandError> {
        let scales = Scales::new(frequencies.nrows(), length_scale)?;
        check::not_empty("frequencies", frequencies.ncols())?;
        check::matrix("frequencies", frequencies.as_ref())?;
        Ok(Self { kernel, frequencies, scales })
    }

    /// These features with other bounds of the length scales.
    ///
    /// # Errors
    /// [`RevrandError::Bounds`] for a negative lower end, [`RevrandError::OutOfBounds`] if an initial length scale is outside.
    pub fn with_length_scale_bound(self, bound: Bound) -> Result<Self, RevrandError> {
        Ok(Self { scales: self.scales.bounded(bound)?, ..self })
    }

    /// The frequencies `W` (`d × m`) at length scale 1.
    #[must_use]
    pub fn frequencies(&self) -> MatRef<'_, f64> {
        self.frequencies.as_ref()
    }

    fn pairs(&self) -> usize {
        self.frequencies.ncols()
    }

    fn scale(&self) -> f64 {
        (self.pairs() as f64).sqrt().recip()
    }
}

impl TryFrom<FourierWire> for RandomFourier {
    type Error = RevrandError;

    fn try_from(wire: FourierWire) -> Result<Self, RevrandError> {
        wire.scales.check(wire.frequencies.nrows())?;
        check::not_empty("frequencies", wire.frequencies.ncols())?;
        Ok(Self { kernel: wire.kernel, frequencies: wire.frequencies, scales: wire.scales })
    }
}

impl Basis for RandomFourier {
    fn inputs(&self) -> Option<usize> {
        Some(self.scales.inputs())
    }

    fn width(&self) -> usize {
        2 * self.pairs()
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.scales.parameters()
    }

    fn regularisers(&self) -> Vec<Regulariser> {
        one_part(self.width())
    }

    fn fill(&self, theta: &[f64], x: MatRef<'_, f64>, out: MatMut<'_, f64>, par: Par) {
        assert_eq!(theta.len(), self.scales.len(), "length of theta");
        assert_eq!(x.ncols(), self.scales.inputs(), "columns of x");
        assert_eq!(out.shape(), (x.nrows(), self.width()), "shape of the features");
        assert_eq!(out.row_stride(), 1, "the features' columns must be contiguous");
        let w = &self.frequencies;
        let scaled = Mat::from_fn(w.nrows(), w.ncols(), |i, j| w[(i, j)] / Scales::at(theta, i));
        let tile = if matches!(par, Par::Seq) { TILE } else { TILE_WITH_THREADS };
        let (mut out, mut first) = (out, 0);
        while first < x.nrows() {
            let rows = tile.min(x.nrows() - first);
            let (mut cos, sin) = out.as_mut().subrows_mut(first, rows).split_at_col_mut(self.pairs());
            matmul(cos.as_mut(), Accum::Replace, x.subrows(first, rows), scaled.as_ref(), 1.0, par);
            waves::fill(cos, sin, self.scale());
            first += rows;
        }
    }

    fn contract(
        &self,
        theta: &[f64],
        x: MatRef<'_, f64>,
        features: MatRef<'_, f64>,
        weights: MatRef<'_, f64>,
        out: &mut [f64],
        par: Par,
    ) {
        assert_eq!(out.len(), self.scales.len(), "length of the gradient");
        assert_eq!(weights.shape(), features.shape(), "shape of the weights");
        // ∂z_nj/∂l_i = −x_ni·W_ij/l_i², so the sum over rows is one product, XᵀS.
        let s = waves::angle_gradient(features, weights);
        let w = &self.frequencies;
        let mut xs = Mat::<f64>::zeros(w.nrows(), w.ncols());
        matmul(xs.as_mut(), Accum::Replace, x.transpose(), s.as_ref(), 1.0, par);
        out.fill(0.0);
        for i in 0..w.nrows() {
            let sum: f64 = (0..w.ncols()).map(|j| w[(i, j)] * xs[(i, j)]).sum();
            let l = Scales::at(theta, i);
            Scales::add(out, i, sum / (l * l));
        }
    }

    fn differentiate(&self, theta: &[f64], x: MatRef<'_, f64>, features: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let mut gradients = vec![Mat::<f64>::zeros(x.nrows(), self.width()); self.scales.len()];
        let parts = gradients.iter_mut().map(Mat::as_mut).collect();
        waves::differentiate(theta, x, self.frequencies.as_ref(), features, parts);
        gradients
    }
}
