//! The Bernoulli likelihood with the probit link.

use vi_core::implicit::{self, ImplicitRoot};
use vi_core::special::{HALF_LN_2PI, log_normal_cdf, mills_ratio, normal_cdf, normal_density};
use vi_core::{Error, Expected, GaussianExpectation, Likelihood, Tilted, quadrature};

use super::probit_average::averages;

/// The probit likelihood `p(y=1|t) = Φ(t)`, `Φ` being the standard normal distribution function; `y ∈ {0, 1}`.
///
/// The predictive density and the tilted moments are closed forms, accurate in both tails; `E[log p]` and its derivatives are by
/// a rule of some sixty points in vectors, accurate to 1e-11, and by [`quadrature`] if `ν` or `a` is extreme. Log-concave: every
/// curvature is in `(0, 1)`.
///
/// ```
/// use vi_core::{GaussianExpectation, Implicit, Likelihood, SiteRule};
/// use vi_models::likelihood::BernoulliProbit;
/// assert!((BernoulliProbit.log_predictive(1.0, 0.0, 9.0) - f64::ln(0.5)).abs() < 1e-15);
/// assert!((BernoulliProbit.slope(0.0, 1e4) + 1e4).abs() < 1e-3);
/// let site = Implicit(BernoulliProbit).site(-1.0, 4.0, 1.0)?;
/// assert!(site.slope > 0.0 && site.curvature > 0.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BernoulliProbit;

/// `+1` for `y = 1`, `−1` for `y = 0`: `p(y|t) = Φ(sign·t)`.
fn sign(y: f64) -> f64 {
    if y > 0.5 { 1.0 } else { -1.0 }
}

/// `λ(u) = φ(u)/Φ(u)`, the slope of `log Φ`; `q = λ(λ+u)`, its curvature; and `1 − q`, the variance of a standard normal
/// truncated to values below `u`.
struct Tail {
    lambda: f64,
    q: f64,
    complement: f64,
}

/// Below `−FAR` the continued fraction is used, since differences of `λ` and `−u` lose `u²·ε` there.
const FAR: f64 = 5.0;

fn tail(u: f64) -> Tail {
    if u > 0.0 {
        let lambda = normal_density(u) / normal_cdf(u);
        let q = lambda * (lambda + u);
        Tail { lambda, q, complement: 1.0 - q }
    } else if u >= -FAR {
        let lambda = mills_ratio(-u).recip();
        let q = lambda * (lambda + u);
        Tail { lambda, q, complement: 1.0 - q }
    } else {
        // λ = v + δ, δ = 1/(v+κ), κ = 2/(v + 3/(v + 4/…)), v = −u (Laplace).
        let v = -u;
        // What is cut off is below ε at depth 20 + 900/v².
        let mut depth = (20.0 + 900.0 / (v * v)).floor();
        let mut kappa = 0.0;
        while depth >= 2.0 {
            kappa = depth / (v + kappa);
            depth -= 1.0;
        }
        let delta = (v + kappa).recip();
        Tail { lambda: v + delta, q: (v + delta) * delta, complement: (kappa - delta) * delta }
    }
}

impl Likelihood for BernoulliProbit {
    fn family(&self) -> &'static str {
        "Bernoulli (labels 0 and 1)"
    }

    fn supports(&self, label: f64) -> bool {
        label == 0.0 || label == 1.0
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        log_normal_cdf(sign(y) * t)
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        sign(y) * tail(sign(y) * t).lambda
    }

    fn curvature(&self, y: f64, t: f64) -> f64 {
        tail(sign(y) * t).q
    }

    fn derivatives(&self, y: f64, t: f64) -> [f64; 3] {
        let u = sign(y) * t;
        let Tail { lambda, q, .. } = tail(u);
        // log Φ = log φ − log λ keeps its digits where Φ is small.
        let log_density = if u < 0.0 { -0.5 * u * u - HALF_LN_2PI - lambda.ln() } else { log_normal_cdf(u) };
        [log_density, sign(y) * lambda, q]
    }

    /// `φ²/(Φ(1−Φ)) = λ(t)·λ(−t)`.
    fn fisher_information(&self, t: f64) -> f64 {
        tail(t).lambda * tail(-t).lambda
    }
}

impl GaussianExpectation for BernoulliProbit {
    fn expected_slope_curvature(&self, y: f64, a: f64, nu: f64) -> (f64, f64) {
        match averages(sign(y) * a, nu.sqrt()) {
            Some([_, slope, curvature, ..]) => (sign(y) * slope, curvature),
            None => quadrature::Quadrature(*self).expected_slope_curvature(y, a, nu),
        }
    }

    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        let sigma = nu.sqrt();
        match averages(sign(y) * a, sigma) {
            // E∂³ = E[∂²·ε]/σ and E∂⁴ = E[∂²(ε²−1)]/σ², by Stein's lemma
            Some([value, slope, curvature, by_third, by_fourth]) => Expected {
                value,
                slope: sign(y) * slope,
                curvature,
                third: -sign(y) * by_third / sigma,
                fourth: -by_fourth / nu,
            },
            None => quadrature::Quadrature(*self).expected(y, a, nu),
        }
    }

    /// `log Φ(±a/√(1+ν))`.
    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        log_normal_cdf(sign(y) * a / (1.0 + nu).sqrt())
    }

    /// With `u = ±a/√(1+ν)`: `ℓ′ = ±λ(u)/√(1+ν)`, `ℓ″ = −q(u)/(1+ν)`, so `h = q/(1 + ν(1−q))`.
    fn tilted(&self, y: f64, a: f64, nu: f64) -> Result<Tilted, Error> {
        let scale = (1.0 + nu).sqrt();
        let u = sign(y) * a / scale;
        let Tail { lambda, q, complement } = tail(u);
        let kept = 1.0 + nu * complement;
        Ok(Tilted {
            log_normaliser: log_normal_cdf(u),
            slope: sign(y) * lambda / scale,
            curvature: q / kept,
            variance: nu * kept / (1.0 + nu),
        })
    }

    /// The search starts at the tilted density's mean and variance, which are closed forms and near the root.
    fn implicit_root(&self, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        let tilted = self.tilted(y, a, nu)?;
        implicit::log_concave_root_from(self, y, a, nu, (a + nu * tilted.slope, tilted.variance))
    }
}
