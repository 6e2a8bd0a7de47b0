//! The three targets of Figure 1, with parameters where the paper states none.

use vi_boost::target::Cauchy;
use vi_boost::{BoostError, Component, GaussianMixture};
use vi_linalg::faer::Mat;

/// A target, its start, and the box that pictures and integrals are taken over.
pub(super) struct Toy<T> {
    pub(super) target: T,
    pub(super) log_normaliser: f64,
    pub(super) start: Component,
    /// For integrals.
    pub(super) range: f64,
    /// For pictures.
    pub(super) window: (f64, f64),
    /// Components with a refit.
    pub(super) refitted: usize,
}

/// (a): `p ∝ 1/(1 + (θ/2)²)`, the paper's own; start N(0, 10²).
pub(super) fn cauchy() -> Result<Toy<Cauchy>, BoostError> {
    let target = Cauchy::new(0.0, 2.0)?;
    Ok(Toy {
        log_normaliser: target.log_normaliser(),
        target,
        start: Component::isotropic(&[0.0], 10.0)?,
        range: 1e5,
        window: (-30.0, 30.0),
        refitted: 8,
    })
}

/// (b): "a mixture of univariate Gaussians with different locations and scales"; start N(0, 10²).
pub(super) fn mixture4() -> Result<Toy<GaussianMixture>, BoostError> {
    let parts = [(-6.0, 1.0), (-1.0, 0.5), (2.5, 0.8), (7.0, 1.5)];
    let components = parts.iter().map(|(m, s): &(f64, f64)| Component::diagonal(&[*m], &[s * s]));
    Ok(Toy {
        target: GaussianMixture::new(components.collect::<Result<_, _>>()?, &[0.25, 0.3, 0.2, 0.25])?,
        log_normaliser: 0.0,
        start: Component::isotropic(&[0.0], 10.0)?,
        range: 70.0,
        window: (-12.0, 14.0),
        refitted: 4,
    })
}

/// (c): "a mixture of five 2D-Gaussians with random locations and covariances"; start N(0, 6²·I).
pub(super) fn mixture5() -> Result<Toy<GaussianMixture>, BoostError> {
    let parts = [
        ([-1.506, 5.409], [0.712, -0.028, 0.645]),
        ([2.784, 1.184], [3.275, 0.527, 2.933]),
        ([-4.128, -4.128], [1.2, 0.381, 2.555]),
        ([-5.303, 4.394], [2.059, 0.337, 1.928]),
        ([1.213, 2.497], [0.547, 0.535, 1.473]),
    ];
    let components = parts.iter().map(|(mean, [a, b, c])| {
        let covariance = Mat::from_fn(2, 2, |i, j| {
            if i != j {
                *b
            } else if i == 0 {
                *a
            } else {
                *c
            }
        });
        Component::full(mean, covariance.as_ref())
    });
    Ok(Toy {
        target: GaussianMixture::new(components.collect::<Result<_, _>>()?, &[0.2; 5])?,
        log_normaliser: 0.0,
        start: Component::isotropic(&[0.0, 0.0], 6.0)?,
        range: 40.0,
        window: (-10.0, 10.0),
        refitted: 5,
    })
}
