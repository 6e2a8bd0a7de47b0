//! Densities that any method should fit well.

use vi_boost::{Component, GaussianMixture};
use vi_linalg::faer::Mat;

use super::targets::{List, gamma, gridded, normal, square};

pub(super) fn easy(list: &mut List) {
    for d in [1, 2, 5, 10, 20] {
        list.mixture(&format!("normal in {d}"), vec![(1.0, vec![0.5; d], 1.5)]).easy = true;
    }
    for (d, condition) in [(2, 1e8), (10, 1e8), (30, 1e8)] {
        // Eigenvalues spread over the condition, along a reflection of the axes.
        let v = 2.0 / d as f64;
        let reflected = Mat::from_fn(d, d, |i, j| f64::from(u8::from(i == j)) - v);
        let values =
            Mat::from_fn(
                d,
                d,
                |i, j| {
                    if i == j { 1e4 * f64::powf(condition, -(i as f64) / (d - 1) as f64) } else { 0.0 }
                },
            );
        let covariance = &reflected * values * reflected.transpose();
        let component = Component::full(&vec![1.0; d], covariance.as_ref()).unwrap();
        let name = format!("normal of condition 1e8 in {d}");
        list.exact(&name, GaussianMixture::single(component)).easy = true;
    }
    list.mixture("a normal far away", vec![(1.0, vec![300.0, -50.0], 2.0)]).easy = true;
    for (d, alpha) in [(1, 3.0), (1, 10.0), (5, 4.0)] {
        let log = move |x: &[f64]| x.iter().map(|x| log_phi(alpha * x) - 0.5 * x * x).sum();
        list.push(&format!("skew normal {alpha} in {d}"), d, log, move |rng| {
            let delta = alpha / f64::hypot(1.0, alpha);
            (0..d).map(|_| delta * normal(rng).abs() + (1.0 - delta * delta).sqrt() * normal(rng)).collect()
        })
        .easy = true;
    }
    for (name, slope) in [("logistic regression", 1.0), ("nearly separated logistic regression", 6.0)] {
        let log = move |x: &[f64]| {
            let rows = (0..12).map(f64::from).map(|i| (2.7 * i).sin() * 2.0);
            let one = |r: f64| {
                let eta = x[0] + x[1] * r;
                let y = f64::from(u8::from(slope * r + (1.3 * r).cos() > 0.4));
                y * eta - eta.max(0.0) - (-eta.abs()).exp().ln_1p()
            };
            rows.map(one).sum::<f64>() - square(x) / 18.0
        };
        list.push(name, 2, log, gridded(log, -15.0, 20.0, 900)).easy = true;
    }
    let poisson = |x: &[f64]| {
        let rows = (0..10).map(f64::from).map(|i| (i / 5.0 - 1.0, (i * 1.3).floor() % 4.0));
        rows.map(|(r, y)| y * (x[0] + x[1] * r) - (x[0] + x[1] * r).exp()).sum::<f64>() - square(x) / 8.0
    };
    list.push("Poisson regression", 2, poisson, gridded(poisson, -6.0, 6.0, 800)).easy = true;
    let located = |x: &[f64]| {
        let data = [1.2, 0.4, -0.3, 2.2, 0.9, 1.4];
        data.iter().map(|y| -0.5 * ((y - x[0]) * (-x[1]).exp()).powi(2) - x[1]).sum::<f64>() - square(x) / 50.0
    };
    list.push("location and log scale", 2, located, gridded(located, -5.0, 5.0, 800)).easy = true;
    list.push(
        "logits of Beta(2, 3)",
        1,
        |x| 2.0 * x[0] - 5.0 * x[0].exp().ln_1p(),
        |rng| vec![gamma(2.0, rng).ln() - gamma(3.0, rng).ln()],
    )
    .easy = true;
    list.push(
        "logarithms of three Gammas",
        3,
        |x| x.iter().map(|x| 2.0 * x - x.exp()).sum(),
        |rng| (0..3).map(|_| gamma(2.0, rng).ln()).collect(),
    )
    .easy = true;
}

/// `log Φ(x)` by the tail's continued fraction or the error function's series.
fn log_phi(x: f64) -> f64 {
    if x < -5.0 {
        let mut tail = 0.0;
        for k in (1..40).rev() {
            tail = f64::from(k) / (-x + tail);
        }
        return -0.5 * x * x - 0.918_938_533_204_672_7 - (-x + tail).ln();
    }
    let (mut term, mut sum) = (x, x);
    for k in 1..200 {
        term *= x * x / f64::from(2 * k + 1);
        sum += term;
    }
    (0.5 + sum * (-0.5 * x * x).exp() * 0.398_942_280_401_432_7).min(1.0).ln()
}
