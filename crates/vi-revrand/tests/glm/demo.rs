//! A GLM on twenty random features beside the exact Gaussian process that drew the data.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, Par};
use vi_revrand::basis::{Kernel, LengthScale, RandomFourier};
use vi_revrand::glm::{Expectation, Glm, GlmSettings, Rows};
use vi_revrand::likelihood::Gaussian;
use vi_revrand::sgd::Updater;

const LENGTH: f64 = 1.2;
const NOISE: f64 = 0.1;

struct Draw {
    x: Mat<f64>,
    y: Vec<f64>,
    x_test: Mat<f64>,
    y_test: Vec<f64>,
}

fn kernel(a: f64, b: f64) -> f64 {
    (-0.5 * ((a - b) / LENGTH).powi(2)).exp()
}

fn draw(seed: u64) -> Draw {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let (n, t) = (150, 250);
    let line = |n: usize| (0..n).map(move |i| -10.0 + 20.0 * i as f64 / (n - 1) as f64);
    let all: Vec<f64> = line(n).chain(line(t)).collect();
    let cov = Mat::from_fn(n + t, n + t, |i, j| kernel(all[i], all[j]) + if i == j { 1e-9 } else { 0.0 });
    let chol = Cholesky::new(cov.as_ref()).unwrap();
    let z: Vec<f64> = (0..n + t).map(|_| rng.sample(StandardNormal)).collect();
    let f: Vec<f64> = (0..n + t).map(|i| (0..=i).map(|j| chol.factor()[(i, j)] * z[j]).sum()).collect();
    let y: Vec<f64> = f.iter().map(|f| f + NOISE * rng.sample::<f64, _>(StandardNormal)).collect();
    Draw {
        x: Mat::from_fn(n, 1, |i, _| all[i]),
        y: y[..n].to_vec(),
        x_test: Mat::from_fn(t, 1, |i, _| all[n + i]),
        y_test: y[n..].to_vec(),
    }
}

/// (SMSE, MSLL)
fn scores(mean: &[f64], var: &[f64], d: &Draw) -> (f64, f64) {
    let n = d.y_test.len() as f64;
    let avg = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let m = avg(&d.y_test);
    let vt = d.y_test.iter().map(|y| (y - m).powi(2)).sum::<f64>() / n;
    let mse = mean.iter().zip(&d.y_test).map(|(p, y)| (p - y).powi(2)).sum::<f64>() / n;
    let (mt, vv) = (avg(&d.y), {
        let m = avg(&d.y);
        d.y.iter().map(|y| (y - m).powi(2)).sum::<f64>() / d.y.len() as f64
    });
    let ll = |y: f64, m: f64, v: f64| -0.5 * ((2.0 * std::f64::consts::PI * v).ln() + (y - m).powi(2) / v);
    let msll = d.y_test.iter().enumerate().map(|(i, &y)| ll(y, mt, vv) - ll(y, mean[i], var[i])).sum::<f64>() / n;
    (mse / vt, msll)
}

fn exact(d: &Draw) -> (f64, f64) {
    let n = d.y.len();
    let cov = Mat::from_fn(n, n, |i, j| kernel(d.x[(i, 0)], d.x[(j, 0)]) + if i == j { NOISE * NOISE } else { 0.0 });
    let chol = Cholesky::new(cov.as_ref()).unwrap();
    let mut alpha = d.y.clone();
    chol.solve_vec_in_place(&mut alpha).unwrap();
    let (mut mean, mut var) = (vec![], vec![]);
    for i in 0..d.y_test.len() {
        let k: Vec<f64> = (0..n).map(|j| kernel(d.x_test[(i, 0)], d.x[(j, 0)])).collect();
        mean.push(k.iter().zip(&alpha).map(|(a, b)| a * b).sum());
        let mut s = k.clone();
        chol.solve_vec_in_place(&mut s).unwrap();
        var.push(1.0 + NOISE * NOISE - k.iter().zip(&s).map(|(a, b)| a * b).sum::<f64>());
    }
    scores(&mean, &var, d)
}

#[test]
fn demo() {
    let steps: usize = std::env::var("STEPS").map_or(3000, |s| s.parse().unwrap());
    let rate: f64 = std::env::var("RATE").map_or(0.01, |s| s.parse().unwrap());
    let batch: usize = std::env::var("BATCH").map_or(10, |s| s.parse().unwrap());
    let k: usize = std::env::var("K").map_or(1, |s| s.parse().unwrap());
    let sm: f64 = std::env::var("SM").map_or(0.1, |s| s.parse().unwrap());
    let sv: f64 = std::env::var("SV").map_or(0.1, |s| s.parse().unwrap());
    let (mut rs, mut rm) = (vec![], vec![]);
    for seed in 0..20 {
        let d = draw(seed);
        let (gs, gm) = exact(&d);
        let rng = &mut ChaCha8Rng::seed_from_u64(1000 + seed);
        let basis = RandomFourier::new(Kernel::Rbf, 1, 20, LengthScale::Shared(1.0), rng).unwrap();
        let settings = GlmSettings {
            components: k,
            expectation: Expectation::SecondOrder,
            steps,
            batch,
            updater: Updater::adam(rate).unwrap(),
            start_means: sm,
            start_variances: sv,
            ..Default::default()
        };
        let mut model = Glm::new(basis, Gaussian::new(0.1).unwrap(), settings, rng).unwrap();
        let run = model.fit(Rows::new(d.x.as_ref(), &d.y), rng).unwrap();
        let p = model.predict(d.x_test.as_ref(), None, Par::Seq).unwrap();
        let (s, m) = scores(&p.means(Par::Seq).unwrap(), &p.variances(Par::Seq).unwrap(), &d);
        println!(
            "{seed}: gp {gs:.4} {gm:.3} glm {s:.4} {m:.3} ratio {:.3} diff {:.3} l {:.3} noise {:.4} lam {:.3} last {:.1}",
            s / gs,
            m - gm,
            model.basis_parameters()[0],
            model.likelihood().noise_variance(),
            model.regularisers()[0],
            run.trace[run.trace.len() - 20..].iter().sum::<f64>() / 20.0
        );
        rs.push(s / gs);
        rm.push(m - gm);
    }
    rs.sort_by(f64::total_cmp);
    rm.sort_by(f64::total_cmp);
    println!("median ratio {:.3} diff {:.3}", 0.5 * (rs[9] + rs[10]), 0.5 * (rm[9] + rm[10]));
}
