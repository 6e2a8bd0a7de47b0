//! Frequencies with orthogonal directions.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_linalg::faer::Mat;

use crate::basis::Kernel;

/// Blocks of `d` columns: the orthonormal columns of a uniformly distributed rotation, each with a length of its own,
/// drawn as that of an independent frequency. Cost `2d²` flops a column.
pub(super) fn frequencies(kernel: Kernel, inputs: usize, pairs: usize, rng: &mut impl Rng) -> Mat<f64> {
    let mut w = Mat::zeros(inputs, pairs);
    let mut first = 0;
    while first < pairs {
        let rotation = rotation(inputs, rng);
        let block = inputs.min(pairs - first);
        for j in 0..block {
            let squared: f64 = (0..inputs).map(|_| StandardNormal.sample(rng)).map(|z: f64| z * z).sum();
            let length = squared.sqrt() * kernel.radial_factor(rng);
            for (w, q) in w.col_as_slice_mut(first + j).iter_mut().zip(rotation.col_as_slice(j)) {
                *w = length * q;
            }
        }
        first += block;
    }
    w
}

/// A uniformly distributed orthogonal matrix: `Q` of a normal matrix's `QR` with the diagonal of `R` positive, which
/// makes the factorisation unique and so the distribution invariant (Mezzadri 2007).
fn rotation(d: usize, rng: &mut impl Rng) -> Mat<f64> {
    let mut normal = Mat::<f64>::zeros(d, d);
    for j in 0..d {
        normal.col_as_slice_mut(j).fill_with(|| StandardNormal.sample(rng));
    }
    let qr = normal.qr();
    let (mut q, r) = (qr.compute_Q(), qr.R());
    for j in 0..d {
        if r[(j, j)] < 0.0 {
            for q in q.col_as_slice_mut(j) {
                *q = -*q;
            }
        }
    }
    q
}
