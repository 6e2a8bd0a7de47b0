//! The logistic as a mixture of eight probits (Monahan and Stefanski 1989).

use pulp::Arch;

use super::{Exact, LogisticExpectation, LogisticMoments};
use crate::likelihood::Tilted;
use crate::special::{INV_SQRT_2PI, exp_nonpositive, mills_ratios};

/// Weights `pᵢ` of `s(t) ≈ Σpᵢ·Φ(sᵢt)`.
const P: [f64; 8] = [
    0.003246343272134,
    0.051517477033972,
    0.195077912673858,
    0.315569823632818,
    0.274149576158423,
    0.131076880695470,
    0.027912418727972,
    0.001449567805354,
];

/// Scales `sᵢ`.
const S: [f64; 8] = [
    1.365340806296348,
    1.059523971016916,
    0.830791313765644,
    0.650732166639391,
    0.508135425366489,
    0.396313345166341,
    0.308904252267995,
    0.238212616409306,
];

/// Expectations by `s(t) ≈ ΣpᵢΦ(sᵢt)`; with `τᵢ² = ν + 1/sᵢ²` and `uᵢ = a/τᵢ`:
///
/// ```text
/// E softplus = Σpᵢ[aΦ(uᵢ) + τᵢφ(uᵢ)]   error ≤ 8.1e-9
/// E s        = ΣpᵢΦ(uᵢ)                error ≤ 2.1e-9
/// E s′       = Σ(pᵢ/τᵢ)φ(uᵢ)
/// ```
///
/// Each is the exact derivative of the one above, so bounds and line searches are consistent. The
/// errors are absolute, on the whole line and for every `ν`; where a logarithm of a small
/// probability is asked for, [`Exact`] takes over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mixture8;

#[inline(always)]
#[allow(clippy::inline_always)] // has to be compiled inside the SIMD dispatch
fn sums(a: f64, nu: f64) -> LogisticMoments {
    let mut tau = [0.0; 8];
    let mut inverse = [0.0; 8];
    let mut u = [0.0; 8];
    for i in 0..8 {
        tau[i] = (nu + 1.0 / (S[i] * S[i])).sqrt();
        inverse[i] = 1.0 / tau[i];
        // Beyond 38 the density is 0: a bound far outside keeps u² finite.
        u[i] = (a * inverse[i]).clamp(-1e100, 1e100);
    }
    let exponential = exp_nonpositive(u.map(|u| -0.5 * u * u));
    let ratio = mills_ratios(u.map(f64::abs));
    let mut tail = [0.0; 8];
    let mut spread = [0.0; 8];
    let mut first = [0.0; 8];
    let mut second = [0.0; 8];
    let mut third = [0.0; 8];
    for i in 0..8 {
        let density = P[i] * INV_SQRT_2PI * exponential[i];
        tail[i] = density * ratio[i];
        spread[i] = tau[i] * density;
        first[i] = density * inverse[i];
        second[i] = -u[i] * first[i] * inverse[i];
        third[i] = (u[i] * u[i] - 1.0) * first[i] * (inverse[i] * inverse[i]);
    }
    // All uᵢ have the sign of a; 1 − tail keeps E s within [0, 1] though the pᵢ sum to 1 + 1e-15.
    let tail: f64 = tail.iter().sum();
    let sigmoid = if a < 0.0 { tail } else { 1.0 - tail };
    LogisticMoments {
        softplus: a * sigmoid + spread.iter().sum::<f64>(),
        sigmoid,
        first: first.iter().sum(),
        second: second.iter().sum(),
        third: third.iter().sum(),
    }
}

fn evaluate(a: f64, nu: f64) -> LogisticMoments {
    Arch::new().dispatch(
        #[inline(always)]
        || sums(a, nu),
    )
}

impl LogisticExpectation for Mixture8 {
    fn softplus(&self, a: f64, nu: f64) -> f64 {
        evaluate(a, nu).softplus
    }

    fn sigmoid(&self, a: f64, nu: f64) -> (f64, f64) {
        let LogisticMoments { sigmoid, first, .. } = evaluate(a, nu);
        (sigmoid, first)
    }

    fn moments(&self, a: f64, nu: f64) -> LogisticMoments {
        evaluate(a, nu)
    }

    /// From [`Exact`] where `E s` is below 1e-3, so the error stays under 2.1e-6 nats.
    fn log_sigmoid_mean(&self, a: f64, nu: f64) -> f64 {
        let (mean, _) = self.sigmoid(a, nu);
        if mean < 1e-3 { Exact.log_sigmoid_mean(a, nu) } else { mean.ln() }
    }

    fn absolute_error(&self) -> Option<f64> {
        Some(2.1e-9)
    }

    /// From `E s` and its two derivatives while `E s ≥ 0.1`, so the curvature's error stays below 1e-6.
    fn tilted_sigmoid(&self, a: f64, nu: f64) -> Option<Tilted> {
        let LogisticMoments { sigmoid, first, second, .. } = evaluate(a, nu);
        if sigmoid < 0.1 {
            return None;
        }
        let slope = first / sigmoid;
        let bend = second / sigmoid - slope * slope; // ℓ″
        let kept = 1.0 + nu * bend;
        Some(Tilted { log_normaliser: sigmoid.ln(), slope, curvature: -bend / kept, variance: nu * kept })
    }
}
