//! FastFood features of a spectral component away from zero.

use rand::Rng;
use serde::{Deserialize, Serialize};
use vi_linalg::faer::{Mat, MatMut, MatRef, Par};

use super::{FastFoodDraws, inverse_scales};
use crate::basis::composed::one_part;
use crate::basis::length_scale::Scales;
use crate::basis::{Basis, Bound, Kernel, LengthScale, Parameter, Regulariser, waves};
use crate::{RevrandError, check};

/// FastFood features of a Gaussian component of a spectral mixture (Yang, Smola, Song and Wilson 2015, À la carte),
/// with spectral mean `μ ∈ ℝᵈ` and a length scale for each input:
///
/// ```text
/// φ(x) = [cos(z + a), sin(z + a), cos(z − a), sin(z − a)]/√(2m),   z = V(x/l),   a = xᵀμ
/// E φ(x)ᵀφ(x′) = cos(μᵀ(x − x′))·exp(−½‖(x − x′)/l‖²)
/// ```
///
/// The parameters are `μ`, free, and then `l`. The sum of several components is a spectral mixture, which can approximate any
/// stationary kernel. Cost as [`FastFood`](super::FastFood) with twice the cosines and sines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "MixtureWire")]
pub struct FastFoodMixture {
    draws: FastFoodDraws,
    means: Vec<f64>,
    scales: Scales,
}

#[derive(Deserialize)]
struct MixtureWire {
    draws: FastFoodDraws,
    means: Vec<f64>,
    scales: Scales,
}

impl FastFoodMixture {
    /// Draws at least `pairs` frequencies, as [`FastFood::new`](super::FastFood::new) does; `means` holds the initial spectral
    /// mean, one number for each input.
    ///
    /// # Errors
    /// `Empty`, `Dimension` and `Entry` (length scales), `NonFinite` (means).
    pub fn new(
        means: &[f64],
        length_scale: LengthScale,
        pairs: usize,
        rng: &mut impl Rng,
    ) -> Result<Self, RevrandError> {
        let draws = FastFoodDraws::new(Kernel::Rbf, means.len(), pairs, rng)?;
        Self::from_draws(draws, means, length_scale)
    }

    /// Makes a basis from draws made elsewhere.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn from_draws(draws: FastFoodDraws, means: &[f64], length_scale: LengthScale) -> Result<Self, RevrandError> {
        draws.check_inputs(means.len())?;
        check::finite("means", means)?;
        let scales = Scales::new(means.len(), length_scale)?;
        Ok(Self { draws, means: means.to_vec(), scales })
    }

    /// The draws of the features.
    #[must_use]
    pub fn draws(&self) -> &FastFoodDraws {
        &self.draws
    }

    /// `a = xᵀμ` of row `n`.
    fn shift(&self, theta: &[f64], x: MatRef<'_, f64>, n: usize) -> f64 {
        (0..self.means.len()).map(|i| x[(n, i)] * theta[i]).sum()
    }

    /// The halves of the features that belong to `z + a` and to `z − a`.
    fn halves<'a>(&self, features: MatRef<'a, f64>) -> [MatRef<'a, f64>; 2] {
        let width = 2 * self.draws.pairs();
        [features.subcols(0, width), features.subcols(width, width)]
    }
}

impl TryFrom<MixtureWire> for FastFoodMixture {
    type Error = RevrandError;

    fn try_from(wire: MixtureWire) -> Result<Self, RevrandError> {
        wire.draws.check_inputs(wire.means.len())?;
        wire.scales.check(wire.means.len())?;
        check::finite("means", &wire.means)?;
        Ok(Self { draws: wire.draws, means: wire.means, scales: wire.scales })
    }
}

impl Basis for FastFoodMixture {
    fn inputs(&self) -> Option<usize> {
        Some(self.means.len())
    }

    fn width(&self) -> usize {
        4 * self.draws.pairs()
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mean = |&start| Parameter { name: "spectral mean", start, bound: Bound::FREE };
        self.means.iter().map(mean).chain(self.scales.parameters()).collect()
    }

    fn regularisers(&self) -> Vec<Regulariser> {
        one_part(self.width())
    }

    fn fill(&self, theta: &[f64], x: MatRef<'_, f64>, out: MatMut<'_, f64>, _par: Par) {
        let (d, pairs) = (self.means.len(), self.draws.pairs());
        assert_eq!(theta.len(), d + self.scales.len(), "length of theta");
        assert_eq!(x.ncols(), d, "columns of x");
        assert_eq!(out.shape(), (x.nrows(), self.width()), "shape of the features");
        assert_eq!(out.row_stride(), 1, "the features' columns must be contiguous");
        let inverse = inverse_scales(&theta[d..], d);
        let scale = (2.0 * pairs as f64).sqrt().recip();
        self.draws.by_tiles(x, &inverse, out, |x, tile| {
            let (plus, minus) = tile.split_at_col_mut(2 * pairs);
            let (mut cos_plus, sin_plus) = plus.split_at_col_mut(pairs);
            let (mut cos_minus, sin_minus) = minus.split_at_col_mut(pairs);
            let shifts: Vec<f64> = (0..x.nrows()).map(|n| self.shift(theta, x, n)).collect();
            for (plus, minus) in cos_plus.as_mut().col_iter_mut().zip(cos_minus.as_mut().col_iter_mut()) {
                for ((plus, minus), a) in plus.iter_mut().zip(minus.iter_mut()).zip(&shifts) {
                    (*plus, *minus) = (*plus + a, *plus - a);
                }
            }
            waves::fill(cos_plus, sin_plus, scale);
            waves::fill(cos_minus, sin_minus, scale);
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
        let d = self.means.len();
        assert_eq!(out.len(), d + self.scales.len(), "length of the gradient");
        assert_eq!(weights.shape(), features.shape(), "shape of the weights");
        out.fill(0.0);
        // ∂(z ± a)/∂μ_i = ±x_i, and S is minus the gradient in the angles.
        for ((features, weights), sign) in self.halves(features).into_iter().zip(self.halves(weights)).zip([-1.0, 1.0])
        {
            let s = waves::angle_gradient(features, weights);
            let mut sums = vec![0.0; x.nrows()];
            for s in s.col_iter() {
                for (sum, s) in sums.iter_mut().zip(s.iter()) {
                    *sum += s;
                }
            }
            for (i, out) in out[..d].iter_mut().enumerate() {
                *out += sign * sums.iter().zip(x.col(i).iter()).map(|(sum, x)| sum * x).sum::<f64>();
            }
            self.draws.add_scale_gradient(&theta[d..], x, s.as_ref(), &mut out[d..]);
        }
    }

    fn differentiate(&self, theta: &[f64], x: MatRef<'_, f64>, features: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let (d, pairs, n) = (self.means.len(), self.draws.pairs(), x.nrows());
        let w = self.draws.frequencies(d);
        let mut gradients = vec![Mat::<f64>::zeros(n, self.width()); d + self.scales.len()];
        for (half, (features, sign)) in self.halves(features).into_iter().zip([1.0, -1.0]).enumerate() {
            let own = |gradient| Mat::as_mut(gradient).subcols_mut(half * 2 * pairs, 2 * pairs);
            let mut parts: Vec<_> = gradients.iter_mut().map(own).collect();
            let scales = parts.split_off(d);
            waves::differentiate(&theta[d..], x, w.as_ref(), features, scales);
            for (i, part) in parts.iter_mut().enumerate() {
                for j in 0..pairs {
                    for n in 0..n {
                        part[(n, j)] = -sign * x[(n, i)] * features[(n, pairs + j)];
                        part[(n, pairs + j)] = sign * x[(n, i)] * features[(n, j)];
                    }
                }
            }
        }
        gradients
    }
}
