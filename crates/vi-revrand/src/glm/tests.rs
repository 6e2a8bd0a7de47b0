//! scratch timing
use super::objective::Workspace;
use super::*;
use crate::basis::{Basis, Linear};
use crate::likelihood::*;
use crate::sgd::*;
use vi_linalg::faer::{MatMut, MatRef, Par};
fn time(name: &str, mut f: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..3000 {
        let t = std::time::Instant::now();
        f();
        best = best.min(t.elapsed().as_secs_f64());
    }
    println!("{name}: {:.2} us", best * 1e6);
}
#[test]
fn timing() {
    let (d, k, m) = (500, 3, 10);
    let v = |n: usize, s: f64| (0..n).map(|i| s * ((i * 37 % 101) as f64 / 50.0 - 1.0)).collect::<Vec<f64>>();
    let free = v(2 * d * k, 1.0);
    let mut q = Mixture::from_parts(k, v(d * k, 1.0), vec![0.1; d * k]);
    let phi = v(m * d, 0.05);
    let big = v(10000 * d, 0.05);
    let bigm = MatRef::from_row_major_slice(&big, 10000, d);
    let mut xb = vec![0.0; m * d];
    let mut c = 0;
    time("gather", || {
        for p in 0..m {
            c = (c + 7919) % 10000;
            for j in 0..d {
                xb[j * m + p] = bigm[(c, j)];
            }
        }
    });
    let basis = Linear::new(d).unwrap();
    let mut features = vec![0.0; m * d];
    time("fill", || {
        basis.fill(
            &[],
            MatRef::from_column_major_slice(&xb, m, d),
            MatMut::from_column_major_slice_mut(&mut features, m, d),
            Par::Seq,
        )
    });
    let mut rows = vec![0.0; m * d];
    time("transpose", || kernels::transpose(&features, m, &mut rows));
    let (mut a, mut vv) = (vec![0.0; m], vec![0.0; m]);
    time("project x3", || {
        for j in 0..k {
            kernels::project(&phi, q.mean(j), q.variance(j), &mut a, &mut vv)
        }
    });
    let (mut gm, mut gc) = (vec![0.0; d * k], vec![0.0; d * k]);
    time("back x3", || {
        for j in 0..k {
            kernels::back_project(&phi, &a, &vv, &mut gm[j * d..][..d], &mut gc[j * d..][..d])
        }
    });
    let mut e = entropy::Scratch::default();
    time("entropy", || {
        entropy::bound_and_gradient(&q, &mut e, &mut gm, &mut gc);
    });
    time("prior", || {
        prior::expected(&q, Prior { variances: &[1.0], parts: &[0..d] }, &mut gm, &mut gc, &mut [0.0]);
    });
    time("exp", || {
        let (_, v) = q.parts_mut();
        crate::lanes::exp(&free[..d * k], v)
    });
    let mut w = Workspace::new(Expectation::SecondOrder, (k, d, 1, 0));
    w.resize(m, false);
    let labels = super::expectation::Labels { y: &[1.0; 10], trials: &[1.0; 10] };
    time("evaluate second", || {
        w.evaluate((&phi, labels), &q, Prior { variances: &[1.0], parts: &[0..d] }, &Bernoulli, 1000.0, &[]);
    });
    let mut x = free.clone();
    let mut g = v(2 * d * k, 0.3);
    let mut st = UpdaterState::new(x.len());
    time("adam", || st.step(&Updater::default(), &mut x, &g));
    let mut de = Descent::new(DescentSettings::default(), x.len()).unwrap();
    time("descent", || {
        de.step(&mut x, 1.0, &mut g);
    });
    let z = v(1500, 1.0);
    let mut s = z.clone();
    let (y, t) = (vec![1.0; 30], vec![1.0; 30]);
    let mut sums = vec![0.0; 30];
    time("sums_and_slopes 30x50", || Bernoulli.sums_and_slopes(&y, &t, &z, &mut sums, &mut s));
    time("sums_and_slopes 30x10", || Bernoulli.sums_and_slopes(&y, &t, &z[..300], &mut sums, &mut s[..300]));
    use rand::{RngExt, SeedableRng};
    let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(0);
    time("normals 1500", || {
        s.clear();
        s.extend((0..1500).map(|_| rng.sample::<f64, _>(rand_distr::StandardNormal)));
    });
    use rand::seq::SliceRandom;
    let _ = std::hint::black_box(&z);
    let _: Option<Box<dyn Fn(&mut [f64])>> =
        Some(Box::new(|x: &mut [f64]| x.shuffle(&mut rand_chacha::ChaCha8Rng::seed_from_u64(1))));
}
