//! Densities with exact draws: easy ones, and those on which a fit from the density alone goes wrong.

use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Gamma, StandardNormal};
use vi_boost::{Component, GaussianMixture, LogDensity};

/// One exact draw.
type Draw = Box<dyn Fn(&mut ChaCha8Rng) -> Vec<f64> + Send + Sync>;

/// A density and its draws.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) target: Box<dyn LogDensity + Send + Sync>,
    pub(super) draw: Draw,
    /// Whether a good fit is expected of any method.
    pub(super) easy: bool,
    /// Whether it was kept aside while thresholds were chosen.
    pub(super) held_out: bool,
    /// Whether moments do not exist or are far from what most draws show: distances are then in half the central 68 %.
    pub(super) heavy: bool,
}

/// A log-density by values alone.
struct Values<F> {
    dim: usize,
    log: F,
}

impl<F: Fn(&[f64]) -> f64> LogDensity for Values<F> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        (self.log)(theta)
    }
}

/// The list under construction.
#[derive(Default)]
pub(super) struct List(Vec<Case>);

impl List {
    pub(super) fn push(
        &mut self,
        name: &str,
        dim: usize,
        log: impl Fn(&[f64]) -> f64 + Send + Sync + 'static,
        draw: impl Fn(&mut ChaCha8Rng) -> Vec<f64> + Send + Sync + 'static,
    ) -> &mut Case {
        self.with(name, Box::new(Values { dim, log }), draw)
    }

    pub(super) fn with(
        &mut self,
        name: &str,
        target: Box<dyn LogDensity + Send + Sync>,
        draw: impl Fn(&mut ChaCha8Rng) -> Vec<f64> + Send + Sync + 'static,
    ) -> &mut Case {
        let (name, draw) = (name.to_owned(), Box::new(draw));
        self.0.push(Case { name, target, draw, easy: false, held_out: false, heavy: false });
        let last = self.0.len() - 1;
        &mut self.0[last]
    }

    pub(super) fn mixture(&mut self, name: &str, parts: Vec<(f64, Vec<f64>, f64)>) -> &mut Case {
        let total: f64 = parts.iter().map(|part| part.0).sum();
        let part =
            |(weight, mean, sd): (f64, Vec<f64>, f64)| (Component::isotropic(&mean, sd).unwrap(), weight / total);
        let (components, weights): (Vec<_>, Vec<_>) = parts.into_iter().map(part).unzip();
        self.exact(name, GaussianMixture::new(components, &weights).unwrap())
    }

    pub(super) fn exact(&mut self, name: &str, q: GaussianMixture) -> &mut Case {
        let of_draws = q.clone();
        let draw = move |rng: &mut ChaCha8Rng| {
            let draw = of_draws.draw(1, rng);
            (0..draw.ncols()).map(|j| draw[(0, j)]).collect()
        };
        self.with(name, Box::new(q), draw)
    }
}

pub(super) fn normal<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    StandardNormal.sample(rng)
}

pub(super) fn normals<R: Rng + ?Sized>(n: usize, rng: &mut R) -> Vec<f64> {
    (0..n).map(|_| normal(rng)).collect()
}

pub(super) fn gamma<R: Rng + ?Sized>(shape: f64, rng: &mut R) -> f64 {
    Gamma::new(shape, 1.0).unwrap().sample(rng)
}

pub(super) fn sign<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    if rng.random::<bool>() { 1.0 } else { -1.0 }
}

pub(super) fn uniform<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    rng.random()
}

pub(super) fn square(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

/// `|x|ᵖ` has a Gamma distribution of shape `1/p` where the density is `exp(−|x|ᵖ)`.
fn power<R: Rng + ?Sized>(p: f64, rng: &mut R) -> f64 {
    sign(rng) * gamma(1.0 / p, rng).powf(1.0 / p)
}

/// Draws on a grid of `n` cells a side from the density on a square.
pub(super) fn gridded(
    log: impl Fn(&[f64]) -> f64,
    low: f64,
    high: f64,
    n: usize,
) -> impl Fn(&mut ChaCha8Rng) -> Vec<f64> {
    let h = (high - low) / n as f64;
    let at = move |i: usize| low + h * (i as f64 + 0.5);
    let logs: Vec<f64> = (0..n * n).map(|k| log(&[at(k / n), at(k % n)])).collect();
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    let cumulated: Vec<f64> = logs
        .iter()
        .map(|log| {
            sum += (log - most).exp();
            sum
        })
        .collect();
    move |rng: &mut ChaCha8Rng| {
        let u = uniform(rng) * sum;
        let k = cumulated.partition_point(|c| *c < u).min(n * n - 1);
        vec![at(k / n) + h * (uniform(rng) - 0.5), at(k % n) + h * (uniform(rng) - 0.5)]
    }
}

/// All targets.
pub(super) fn cases() -> Vec<Case> {
    let mut list = List::default();
    named_in_the_issue(&mut list);
    let known = list.0.len();
    modes(&mut list);
    bent(&mut list);
    tails(&mut list);
    edges(&mut list);
    super::easy::easy(&mut list);
    super::wild::proper(&mut list);
    for (i, case) in list.0.iter_mut().enumerate().skip(known) {
        case.held_out = i % 5 < 2;
    }
    list.0
}

fn grid(spacing: f64) -> Vec<(f64, Vec<f64>, f64)> {
    (0..25).map(|k| (1.0, vec![spacing * f64::from(k / 5 - 2), spacing * f64::from(k % 5 - 2)], 1.0)).collect()
}

fn ring(radius: f64) -> Vec<(f64, Vec<f64>, f64)> {
    let angle = |k: i32| f64::from(k) * std::f64::consts::FRAC_PI_4;
    (0..8).map(|k| (1.0, vec![radius * angle(k).cos(), radius * angle(k).sin()], 1.0)).collect()
}

fn named_in_the_issue(list: &mut List) {
    for spacing in [2.0, 5.0, 20.0] {
        list.mixture(&format!("25 modes at spacing {spacing}"), grid(spacing));
    }
    list.mixture("eight on a ring", ring(10.0));
    list.mixture("0 and 60", vec![(0.3, vec![0.0], 1.0), (0.7, vec![60.0], 1.0)]);
    list.mixture("±10 in two dimensions", vec![(0.9, vec![-10.0; 2], 1.0), (0.1, vec![10.0; 2], 1.0)]);
    list.mixture("a spike in three dimensions", vec![(0.5, vec![0.0; 3], 1.0), (0.5, vec![2.0; 3], 0.01)]);
    banana(list, "banana of deviation 2", 2, 2.0, 1.0, 1.0);
    list.push("x⁸", 1, |x| -x[0].powi(8), |rng| vec![power(8.0, rng)]);
    list.push(
        "x⁴ + .001y⁶",
        2,
        |x| -x[0].powi(4) - 0.001 * x[1].powi(6),
        |rng| vec![power(4.0, rng), power(6.0, rng) * 1000_f64.powf(1.0 / 6.0)],
    );
    funnel(list, "funnel of width 3", 10, 3.0);
    list.push(
        "N(0, 1)/√|x|",
        1,
        |x| -0.5 * x[0] * x[0] - 0.5 * x[0].abs().ln(),
        |rng| vec![sign(rng) * (2.0 * gamma(0.25, rng)).sqrt()],
    );
}

fn banana(list: &mut List, name: &str, d: usize, width: f64, bend: f64, sd: f64) {
    list.push(
        name,
        d,
        move |x| {
            let residual = (x[1] - bend * x[0] * x[0]) / sd;
            -0.5 * ((x[0] / width).powi(2) + residual * residual + square(&x[2..]))
        },
        move |rng| {
            let mut x = normals(d, rng);
            x[0] *= width;
            x[1] = sd * x[1] + bend * x[0] * x[0];
            x
        },
    );
}

fn funnel(list: &mut List, name: &str, d: usize, width: f64) {
    list.push(
        name,
        d,
        move |x| {
            let v = x[0];
            -0.5 * (v / width).powi(2) - 0.5 * square(&x[1..]) * (-v).exp() - 0.5 * (d - 1) as f64 * v
        },
        move |rng| {
            let mut x = normals(d, rng);
            x[0] *= width;
            let scale = (0.5 * x[0]).exp();
            x[1..].iter_mut().for_each(|x| *x *= scale);
            x
        },
    )
    .heavy = true;
}

fn modes(list: &mut List) {
    for spacing in [2.0, 5.0, 20.0] {
        let parts = (0..25).map(|k| (1.0, vec![spacing * f64::from(k - 12)], 1.0)).collect();
        list.mixture(&format!("25 modes on a line at spacing {spacing}"), parts);
    }
    list.mixture("eight on a small ring", ring(4.0));
    list.mixture("0 and 60 in two dimensions", vec![(0.3, vec![0.0; 2], 1.0), (0.7, vec![60.0, 0.0], 1.0)]);
    list.mixture("±10 on an axis", vec![(0.9, vec![-10.0, 0.0], 1.0), (0.1, vec![10.0, 0.0], 1.0)]);
    for weight in [0.5, 0.1] {
        let parts = vec![(1.0 - weight, vec![-10.0; 5], 1.0), (weight, vec![10.0; 5], 1.0)];
        list.mixture(&format!("±10 in five dimensions, {weight}"), parts);
    }
    list.mixture("0 and 1000", vec![(0.5, vec![0.0], 1.0), (0.5, vec![1000.0], 1.0)]);
    list.mixture("a small mode far away", vec![(0.95, vec![0.0], 1.0), (0.05, vec![30.0], 1.0)]);
    list.mixture("one narrow, one wide", vec![(0.5, vec![0.0; 2], 0.1), (0.5, vec![10.0; 2], 3.0)]);
    list.mixture("a wide mode far away in ten dimensions", vec![(0.5, vec![0.0; 10], 1.0), (0.5, vec![15.0; 10], 3.0)]);
    let mut rng = super::rng(77);
    let mut scattered = |n: usize, d: usize, half: f64| -> Vec<(f64, Vec<f64>, f64)> {
        let place = |rng: &mut ChaCha8Rng| (0..d).map(|_| half * (2.0 * uniform(rng) - 1.0)).collect();
        (0..n).map(|_| (0.3 + uniform(&mut rng), place(&mut rng), 0.5 + uniform(&mut rng))).collect()
    };
    list.mixture("20 scattered in two dimensions", scattered(20, 2, 40.0));
    list.mixture("5 scattered in four dimensions", scattered(5, 4, 20.0));
    list.mixture("10 scattered in ten dimensions", scattered(10, 10, 10.0));
    list.mixture("12 scattered on a line", scattered(12, 1, 200.0));
    let corners = |d: u32, at: f64| -> Vec<(f64, Vec<f64>, f64)> {
        (0..1 << d).map(|k| (1.0, (0..d).map(|j| if k >> j & 1 == 1 { at } else { -at }).collect(), 1.0)).collect()
    };
    list.mixture("corners of a cube", corners(3, 5.0));
    list.mixture("corners in five dimensions", corners(5, 4.0));
    list.mixture(
        "three unequal on a line",
        vec![(0.2, vec![-40.0], 0.5), (0.6, vec![0.0], 3.0), (0.2, vec![15.0], 0.2)],
    );
    list.mixture("a pair that overlaps", vec![(0.5, vec![-2.0], 1.0), (0.5, vec![2.0], 1.0)]).easy = true;
    list.mixture("the same centre, two scales", vec![(0.5, vec![0.0], 1.0), (0.5, vec![0.0], 10.0)]);
    list.mixture("the same centre, far scales", vec![(0.5, vec![0.0; 2], 1.0), (0.5, vec![0.0; 2], 100.0)]);
    let cross = [[100.0, 0.01], [0.01, 100.0]].map(|v| Component::diagonal(&[0.0; 2], &v).unwrap());
    list.exact("a cross", GaussianMixture::new(cross.to_vec(), &[0.5; 2]).unwrap());
}

fn bent(list: &mut List) {
    banana(list, "banana of deviation 1, bend ½", 2, 1.0, 0.5, 1.0);
    banana(list, "banana of deviation 2, bend ½", 2, 2.0, 0.5, 1.0);
    banana(list, "banana of deviation 3", 2, 3.0, 1.0, 1.0);
    banana(list, "thin banana", 2, 1.0, 1.0, 0.1);
    banana(list, "banana in five dimensions", 5, 2.0, 1.0, 1.0);
    banana(list, "banana in ten dimensions", 10, 1.5, 0.5, 1.0);
    banana(list, "hairpin", 2, 5.0, 0.5, 0.5);
    funnel(list, "funnel in two dimensions", 2, 3.0);
    funnel(list, "funnel of width 1 in five dimensions", 5, 1.0);
    funnel(list, "funnel of width 2 in three dimensions", 3, 2.0);
    for (name, d, radius, sd) in [("a ring", 2, 5.0, 0.5), ("a thin ring", 2, 10.0, 0.1), ("a shell", 3, 6.0, 0.5)] {
        let log = move |x: &[f64]| {
            let r = square(x).sqrt();
            -0.5 * ((r - radius) / sd).powi(2) - (d - 1) as f64 * r.max(1e-300).ln()
        };
        list.push(name, d, log, move |rng| {
            let z = normals(d, rng);
            let (size, r) = (square(&z).sqrt(), radius + sd * normal(rng));
            z.iter().map(|z| r * z / size).collect()
        });
    }
}

fn student(list: &mut List, d: usize, nu: f64) -> &mut Case {
    let case = list.push(
        &format!("t with {nu} degrees in {d}"),
        d,
        move |x| -0.5 * (nu + d as f64) * (square(x) / nu).ln_1p(),
        move |rng| {
            let scale = (0.5 * nu / gamma(0.5 * nu, rng)).sqrt();
            normals(d, rng).iter().map(|z| scale * z).collect()
        },
    );
    case.heavy = nu < 4.0;
    case.easy = nu > 4.0;
    case
}

fn tails(list: &mut List) {
    for (d, nu) in [(1, 1.0), (1, 2.0), (1, 3.0), (1, 5.0), (1, 10.0), (2, 3.0), (5, 3.0), (10, 5.0), (3, 30.0)] {
        student(list, d, nu);
    }
    list.push(
        "x⁸ in three dimensions",
        3,
        |x| -x.iter().map(|x| x.powi(8)).sum::<f64>(),
        |rng| (0..3).map(|_| power(8.0, rng)).collect(),
    );
    list.push("x²⁰", 1, |x| -x[0].powi(20), |rng| vec![power(20.0, rng)]);
    list.push("|x|", 1, |x| -x[0].abs(), |rng| vec![power(1.0, rng)]).easy = true;
    list.push(
        "|x| in five dimensions",
        5,
        |x| -x.iter().map(|x| x.abs()).sum::<f64>(),
        |rng| (0..5).map(|_| power(1.0, rng)).collect(),
    );
    list.push("√|x|", 1, |x| -x[0].abs().sqrt(), |rng| vec![power(0.5, rng)]).heavy = true;
    list.push(
        "(x − 1000)⁴/10⁸",
        1,
        |x| -((x[0] - 1000.0) / 100.0).powi(4),
        |rng| vec![1000.0 + 100.0 * power(4.0, rng)],
    );
    list.push(
        "N(0, 1)/|x|^¾ in two dimensions",
        2,
        |x| -0.5 * square(x) - 0.75 * x[0].abs().ln(),
        |rng| vec![sign(rng) * (2.0 * gamma(0.125, rng)).sqrt(), normal(rng)],
    );
}

fn edges(list: &mut List) {
    let outside = f64::NEG_INFINITY;
    list.push(
        "uniform",
        1,
        move |x| if (-1.0..3.0).contains(&x[0]) { 0.0 } else { outside },
        |rng| vec![4.0 * uniform(rng) - 1.0],
    );
    list.push(
        "half a normal",
        1,
        move |x| if x[0] > 0.0 { -0.5 * x[0] * x[0] } else { outside },
        |rng| vec![normal(rng).abs()],
    );
    list.push("exponential", 1, move |x| if x[0] > 0.0 { -x[0] } else { outside }, |rng| vec![gamma(1.0, rng)]);
    list.push(
        "half normals in five dimensions",
        5,
        move |x| if x.iter().all(|x| *x > 0.0) { -0.5 * square(x) } else { outside },
        |rng| normals(5, rng).iter().map(|z| z.abs()).collect(),
    );
    list.push(
        "Gamma of shape ½",
        1,
        move |x| if x[0] > 0.0 { -x[0] - 0.5 * x[0].ln() } else { outside },
        |rng| vec![gamma(0.5, rng)],
    );
    list.push(
        "a normal over a diagonal",
        2,
        move |x| if x[0] + x[1] > 0.0 { -0.5 * square(x) } else { outside },
        |rng| {
            let x = normals(2, rng);
            if x[0] + x[1] > 0.0 { x } else { vec![-x[0], -x[1]] }
        },
    );
    for shape in [0.3, 1.0, 5.0] {
        let case = list.push(
            &format!("logarithm of Gamma({shape})"),
            1,
            move |x| shape * x[0] - x[0].exp(),
            move |rng| vec![gamma(shape, rng).max(1e-300).ln()],
        );
        case.easy = shape > 0.5;
    }
}
