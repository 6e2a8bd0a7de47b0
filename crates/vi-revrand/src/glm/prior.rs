//! The prior `N(0, λ_part·I)` on each part of the weights, averaged over the posterior.

use vi_core::special::LN_2PI;
use vi_linalg::kernels::{axpy, dot};

use super::{Mixture, Prior};
use crate::lanes;

/// `1/K·Σₖ E_{N(mₖ, Cₖ)} log N(w | 0, Λ)`, exact; adds its gradient in means and variances (`D·K` each) and sets that in the
/// prior variances `λ` (one a part).
///
/// In (21)-(22) this is `log N(mₖ | 0, λI)` and the prior's share `−½·Σ Cₖ/λ` of `½·tr(ΨₖHₖ)`.
pub(super) fn expected(
    q: &Mixture,
    prior: Prior<'_>,
    means: &mut [f64],
    variances: &mut [f64],
    gradient: &mut [f64],
) -> f64 {
    let (d, share) = (q.dimension(), 1.0 / q.components() as f64);
    let mut value = 0.0;
    for ((lambda, part), gradient) in prior.variances.iter().zip(prior.parts).zip(gradient) {
        let width = part.len() as f64;
        let mut second_moments = 0.0;
        for k in 0..q.components() {
            let (m, c) = (&q.mean(k)[part.clone()], &q.variance(k)[part.clone()]);
            second_moments += dot(m, m) + lanes::sum(c);
            axpy(&mut means[k * d..][part.clone()], -share / lambda, m);
            for gradient in &mut variances[k * d..][part.clone()] {
                *gradient -= 0.5 * share / lambda;
            }
        }
        let ratio = share * second_moments / lambda;
        value -= 0.5 * (width * (LN_2PI + lambda.ln()) + ratio);
        *gradient = 0.5 * (ratio - width) / lambda;
    }
    value
}
