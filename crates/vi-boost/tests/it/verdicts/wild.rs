//! Many dimensions, plateaus, spikes, and densities that have no integral.

use std::f64::consts::{PI, TAU};

use rand_distr::{Cauchy, Distribution, Geometric};
use vi_boost::{Component, GaussianMixture, LogDensity};

use super::targets::{List, gridded, normal, normals, sign, square, uniform};

/// A bent normal in many dimensions, with its gradient.
struct Bent {
    dim: usize,
}

impl LogDensity for Bent {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, x: &[f64]) -> f64 {
        self.value_and_gradient(x, &mut vec![0.0; x.len()]).unwrap()
    }

    fn value_and_gradient(&self, x: &[f64], out: &mut [f64]) -> Option<f64> {
        let residual = x[1] - 0.5 * x[0] * x[0];
        out.iter_mut().zip(x).for_each(|(out, x)| *out = -x);
        (out[0], out[1]) = (residual * x[0] - x[0] / 2.25, -residual);
        Some(-0.5 * (x[0] * x[0] / 2.25 + residual * residual + square(&x[2..])))
    }
}

/// A density with a plateau of half width `edge`, whose sides fall by `steep` nats a unit.
fn plateau(edge: f64, steep: f64) -> impl Fn(&[f64]) -> f64 + Clone + Send + Sync {
    move |x: &[f64]| x.iter().map(|x| -(steep * (x.abs() - edge)).min(700.0).exp().ln_1p()).sum()
}

pub(super) fn proper(list: &mut List) {
    let d = 200;
    let variances: Vec<f64> = (0..d).map(|j| 1e4 * f64::powf(1e8, -f64::from(j) / 199.0)).collect();
    let wide = Component::diagonal(&vec![1.0; variances.len()], &variances).unwrap();
    list.exact("normal of condition 1e8 in 200", GaussianMixture::single(wide)).easy = true;
    list.with("banana in fifty dimensions", Box::new(Bent { dim: 50 }), |rng| {
        let mut x = normals(50, rng);
        x[0] *= 1.5;
        x[1] += 0.5 * x[0] * x[0];
        x
    });
    list.mixture("nine spikes", (0..9).map(|k| (1.0, vec![f64::from(k)], 0.01)).collect());
    list.mixture("a spike within a normal", vec![(0.5, vec![0.0], 1.0), (0.5, vec![1.0], 0.001)]);
    list.mixture("a spike in two dimensions", vec![(0.5, vec![0.0; 2], 1.0), (0.5, vec![1.5; 2], 0.01)]);
    for (edge, steep) in [(5.0, 10.0), (50.0, 2.0)] {
        let log = plateau(edge, steep);
        let name = format!("a plateau of half width {edge} in two dimensions");
        list.push(&name, 2, log.clone(), gridded(log, -edge - 8.0, edge + 8.0, 900));
    }
    list.push(
        "steps",
        1,
        |x| -x[0].abs().floor(),
        |rng| {
            let whole = Geometric::new(1.0 - (-1.0_f64).exp()).unwrap().sample(rng);
            vec![sign(rng) * (whole as f64 + uniform(rng))]
        },
    );
    let ridge = |x: &[f64]| -0.5 * (x[0] * x[1]).powi(2) - 0.5 * square(x) / 25.0;
    list.push("ridges along both axes", 2, ridge, gridded(ridge, -25.0, 25.0, 1000));
    let moons = |x: &[f64]| -0.5 * ((square(x).sqrt() - 4.0) / 0.4).powi(2) + f64::hypot(x[0] / 0.6, 2.0).ln();
    list.push("a ring of uneven mass", 2, moons, gridded(moons, -8.0, 8.0, 900));
    list.push(
        "a normal with the tails of Cauchy",
        1,
        |x| (0.9 * (-0.5 * x[0] * x[0]).exp() / TAU.sqrt() + 0.1 / (PI * (1.0 + x[0] * x[0]))).ln(),
        |rng| vec![if uniform(rng) < 0.9 { normal(rng) } else { Cauchy::new(0.0, 1.0).unwrap().sample(rng) }],
    )
    .heavy = true;
    list.push(
        "log-normal",
        1,
        |x| if x[0] > 0.0 { -0.5 * x[0].ln().powi(2) - x[0].ln() } else { f64::NEG_INFINITY },
        |rng| vec![normal(rng).exp()],
    );
}

/// A name, a dimension and a log-density.
pub(super) type Log = (&'static str, usize, fn(&[f64]) -> f64);

/// Densities without an integral.
pub(super) fn improper() -> Vec<Log> {
    vec![
        ("flat", 1, |_| 0.0),
        ("flat in three dimensions", 3, |_| 0.0),
        ("flat to the right", 1, |x| if x[0] > 0.0 { 0.0 } else { f64::NEG_INFINITY }),
        ("flat in one of two coordinates", 2, |x| -0.5 * x[0] * x[0]),
        ("flat along a diagonal", 2, |x| -0.5 * (x[0] - x[1]).powi(2)),
        ("growing", 1, |x| x[0]),
        ("growing on both sides", 1, |x| x[0].abs()),
        ("growing as a square", 2, |x| 0.5 * square(x)),
        ("a saddle", 2, |x| 0.5 * (x[0] * x[0] - x[1] * x[1])),
        ("1/x", 1, |x| if x[0] > 0.0 { -x[0].ln() } else { f64::NEG_INFINITY }),
        ("1/|x|", 1, |x| -x[0].abs().ln()),
        ("1/(1 + |x|)", 1, |x| -x[0].abs().ln_1p()),
        ("1/√(1 + x²)", 1, |x| -0.5 * (x[0] * x[0]).ln_1p()),
        ("1/√|x|", 1, |x| -0.5 * x[0].abs().ln()),
        ("t with 0 degrees in three dimensions", 3, |x| -1.5 * square(x).ln_1p()),
        ("separated labels without a prior", 2, |x| {
            [-2.0, -1.0, 1.0, 2.0].iter().map(|r: &f64| -(-(x[0] + x[1] * r) * r.signum()).exp().ln_1p()).sum()
        }),
        ("one label without a prior", 1, |x| -(-x[0]).exp().ln_1p()),
        ("effects with a flat log scale", 3, |x| {
            -0.5 * (square(&x[1..]) * (-2.0 * x[0]).exp() + (x[1] - 1.0).powi(2) + (x[2] + 1.0).powi(2)) - 2.0 * x[0]
        }),
        ("a step of height 3", 1, |x| if x[0].abs() < 1.0 { 3.0 } else { 0.0 }),
        ("a bump on a floor", 1, |x| (1.0 + 100.0 * (-0.5 * x[0] * x[0]).exp()).ln()),
        ("a high bump on a floor", 2, |x| (1.0 + 1e6 * (-0.5 * square(x)).exp()).ln()),
    ]
}
