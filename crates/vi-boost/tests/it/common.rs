//! What the tests share.

use std::ops::ControlFlow;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_boost::{Component, GaussianMixture, Info};
use vi_core::{BernoulliLogit, DenseGaussian, Mixture8};
use vi_linalg::faer::{Mat, MatRef};

use vi_boost::target::GlmTarget;

pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub(crate) fn go_on(_: &Info, _: &GaussianMixture) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// One component of each kind, in three dimensions.
pub(crate) fn kinds() -> Vec<Component> {
    let covariance = Mat::from_fn(3, 3, |i, j| if i == j { 1.5 + i as f64 } else { 0.4 });
    let factor = Mat::from_fn(3, 2, |i, j| 0.3 * (i as f64 + 1.0) - 0.5 * j as f64);
    vec![
        Component::full(&[0.5, -1.0, 2.0], covariance.as_ref()).unwrap(),
        Component::diagonal(&[-1.0, 0.0, 1.0], &[0.5, 2.0, 1.0]).unwrap(),
        Component::low_rank(&[1.0, 1.0, -1.0], &[0.7, 0.3, 1.1], factor.as_ref()).unwrap(),
    ]
}

pub(crate) fn mixture() -> GaussianMixture {
    GaussianMixture::new(kinds(), &[0.5, 0.2, 0.3]).unwrap()
}

/// Four Gaussians on the line, far enough apart that one search sees one of them.
pub(crate) fn four() -> GaussianMixture {
    let parts = [(-6.0, 1.0), (-1.0, 0.5), (2.5, 0.8), (7.0, 1.5)];
    let components = parts.iter().map(|(m, s): &(f64, f64)| Component::diagonal(&[*m], &[s * s]).unwrap()).collect();
    GaussianMixture::new(components, &[0.25, 0.3, 0.2, 0.25]).unwrap()
}

/// A logistic posterior in two dimensions from ten rows: skew, as its data are few.
pub(crate) fn logistic() -> GlmTarget<BernoulliLogit<Mixture8>> {
    let rows: Vec<f64> = (0..10).flat_map(|i| [1.0, (2.7 * f64::from(i)).sin() * 2.0]).collect();
    let y: Vec<f64> = (0..10).map(|i| if (2.7 * f64::from(i)).sin() > 0.2 { 1.0 } else { 0.0 }).collect();
    let prior = DenseGaussian::isotropic(&[0.0, 0.0], 2.0).unwrap();
    GlmTarget::new(&prior, MatRef::from_row_major_slice(&rows, 10, 2), &y, BernoulliLogit(Mixture8)).unwrap()
}

/// `log ∫f` and the divergence of `q` by the trapezoid rule on a square, which converges geometrically for smooth densities.
pub(crate) fn on_a_grid(log_f: impl Fn(&[f64; 2]) -> f64, q: &GaussianMixture, half_width: f64) -> (f64, f64) {
    let n = 400;
    let h = 2.0 * half_width / f64::from(n);
    let (mut mass, mut loss) = (0.0, 0.0);
    for i in 0..=n {
        for j in 0..=n {
            let theta = [-half_width + h * f64::from(i), -half_width + h * f64::from(j)];
            let (f, log_q) = (log_f(&theta), q.log_density(&theta).unwrap());
            mass += f.exp() * h * h;
            loss += log_q.exp() * (log_q - f) * h * h;
        }
    }
    (mass.ln(), loss + mass.ln())
}
