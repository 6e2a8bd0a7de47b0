//! The part that all Fourier features share: from angles to `[cos z, sin z]/√m`, and back to gradients.

use vi_linalg::faer::{Mat, MatMut, MatRef};

use super::length_scale::Scales;
use super::trig::cos_sin;

/// `sin ← scale·sin z` and `cos ← scale·cos z`, where `cos` holds `z`; contiguous columns.
pub(super) fn fill(cos: MatMut<'_, f64>, sin: MatMut<'_, f64>, scale: f64) {
    for (cos, sin) in cos.col_iter_mut().zip(sin.col_iter_mut()) {
        if let (Some(cos), Some(sin)) = (cos.try_as_col_major_mut(), sin.try_as_col_major_mut()) {
            cos_sin(cos.as_slice_mut(), sin.as_slice_mut(), scale);
        }
    }
}

/// `S = G_cos ∘ Φ_sin − G_sin ∘ Φ_cos` (`n × m`): minus the gradient in the angles of a function whose gradient in
/// the features `Φ = [Φ_cos, Φ_sin]` (`n × 2m`) is `G`.
pub(super) fn angle_gradient(features: MatRef<'_, f64>, weights: MatRef<'_, f64>) -> Mat<f64> {
    let m = features.ncols() / 2;
    let mut s = Mat::zeros(features.nrows(), m);
    for j in 0..m {
        let (cos, sin) = (features.col(j), features.col(m + j));
        let (of_cos, of_sin) = (weights.col(j), weights.col(m + j));
        let terms = of_cos.iter().zip(sin.iter()).zip(of_sin.iter().zip(cos.iter()));
        for (s, ((of_cos, sin), (of_sin, cos))) in s.col_as_slice_mut(j).iter_mut().zip(terms) {
            *s = of_cos * sin - of_sin * cos;
        }
    }
    s
}

/// Adds to each of `gradients` (one for each length scale, `n × 2m`) the derivative of `[cos z, sin z]` in it, the angles
/// being `z = Wᵀ(x/l)` plus what does not depend on `l`: `∂z_nj/∂l_i = −x_ni·W_ij/l_i²`.
pub(super) fn differentiate(
    theta: &[f64],
    x: MatRef<'_, f64>,
    frequencies: MatRef<'_, f64>,
    features: MatRef<'_, f64>,
    mut gradients: Vec<MatMut<'_, f64>>,
) {
    let m = frequencies.ncols();
    for i in 0..x.ncols() {
        let l = Scales::at(theta, i);
        let gradient = &mut gradients[if theta.len() == 1 { 0 } else { i }];
        for j in 0..m {
            for n in 0..x.nrows() {
                let slower = x[(n, i)] * frequencies[(i, j)] / (l * l);
                gradient[(n, j)] += slower * features[(n, m + j)];
                gradient[(n, m + j)] -= slower * features[(n, j)];
            }
        }
    }
}
