//! Rules: how `(a, ν, y)` becomes a [`Site`](crate::Site), one file for each idea.
//!
//! With `∂` the derivative of `log p(y|t)` by `t`:
//!
//! | rule | curvature `h` | slope `g` | source |
//! |---|---|---|---|
//! | [`Implicit`] | `−E∂²` under `N(α, ν*)` | `(1+hν)·E∂` there | R-VGA (3)-(4), (73)-(77) |
//! | [`Explicit`] | `−E∂²` under `N(a, ν)` | `E∂` there | R-VGA (30)-(31), (78)-(80) |
//! | [`Linearised`] | Fisher or observed information at `a` | `∂` at `a` | R-VGA (51)-(55), EKF (81) |
//! | [`MomentMatching`] | `−ℓ″/(1+νℓ″)`, `ℓ = log Z(a, ν)` | `(1+hν)·ℓ′` | Minka 2001 |
//! | [`QuadraticBound`] | `tanh(ξ/2)/(2ξ)`, `ξ² = ν+a²` or iterated | `y − ½ − ha` | R-VGA (90), Drugowitsch §2.5.1 |
//! | [`MirrorProx`] | `−E∂²` under the explicit step's `N(â, ν̂)` | `E∂ + h(â−a)` | L-RVGA (37), corrected |
//! | [`MirrorProxPrinted`] | the same | `E∂` there | L-RVGA (37) as printed |
//! | [`SkipCovariance`] | `−E∂²` under `N(a, ν)` | `E∂` under `N(â, ν̂)` | L-RVGA §5 |
//!
//! With [`GaussianLikelihood`](crate::GaussianLikelihood), all but the last two are the Kalman filter.
//!
//! Each is a [`WeightedRule`]: observations may have weights ([`Weighted`]), and [`Robust`] reduces the weight of those that do
//! not fit.

mod explicit;
mod implicit;
mod linearised;
mod moment_matching;
mod quadratic_bound;
mod robust;
mod two_stage;
mod weighted;

pub use explicit::Explicit;
pub use implicit::Implicit;
pub use linearised::{Information, Linearised};
pub use moment_matching::MomentMatching;
pub use quadratic_bound::QuadraticBound;
pub use robust::{Robust, Weighting};
pub use two_stage::{MirrorProx, MirrorProxPrinted, SkipCovariance};
pub use weighted::{Weighted, WeightedRule};

use crate::{GaussianLikelihood, SiteRule};

/// The Kalman filter of Bayesian linear regression (R-VGA eqs 40-42), `h = 1/σ²`, `g = (y−a)/σ²`.
pub type Kalman = Explicit<GaussianLikelihood>;

impl<R: SiteRule + ?Sized> SiteRule for Box<R> {
    fn check_label(&self, label: f64) -> Result<(), crate::Error> {
        (**self).check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<crate::Site, crate::Error> {
        (**self).site(a, nu, y)
    }
}

impl<R: SiteRule + ?Sized> SiteRule for &R {
    fn check_label(&self, label: f64) -> Result<(), crate::Error> {
        (**self).check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<crate::Site, crate::Error> {
        (**self).site(a, nu, y)
    }
}
