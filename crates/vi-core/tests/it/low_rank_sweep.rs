//! Sweeps of the low-rank belief: the same optimum from every start, dense or sparse, by any number of threads.

use rand::RngExt;
use rand_distr::StandardNormal;
use vi_core::low_rank::{SweepInfo, SweepSettings, sweep};
use vi_core::{
    Belief, Expected, Explicit, GaussianBelief, GaussianExpectation, GaussianLikelihood, Implicit, Likelihood,
    LowRankGaussian, LowRankSettings, SiteRule, Stop, divergence, filter,
};
use vi_linalg::faer::{Mat, MatRef, Par};

use crate::common::{LOGIT, SparseTable, rng, rows, view};

fn blocked(rank: usize) -> LowRankSettings {
    LowRankSettings::blocked(rank).unwrap()
}

/// `start` after a pass over the first `seen` rows.
fn after<R: SiteRule>(
    start: &LowRankGaussian,
    rule: &R,
    x: MatRef<'_, f64>,
    y: &[f64],
    seen: usize,
) -> LowRankGaussian {
    let mut belief = start.clone();
    if seen > 0 {
        belief.run(rule, x.subrows(0, seen), &y[..seen], Par::Seq, |_, _, _| {}).unwrap();
    }
    belief
}

/// Rows of length near `scale`, and labels that a plane separates but for a little noise.
fn nearly_separable(d: usize, n: usize, scale: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let x: Vec<f64> = rows(n, d, &mut rng).into_iter().map(|x| x * scale / (d as f64).sqrt()).collect();
    let theta = rows(1, d, &mut rng);
    let label = |row: &[f64]| {
        let eta: f64 = row.iter().zip(&theta).map(|(x, theta)| x * theta).sum();
        f64::from(u8::from(eta + 0.1 * rng.sample::<f64, _>(StandardNormal) > 0.0))
    };
    let y = x.chunks_exact(d).map(label).collect();
    (x, y)
}

fn last(info: &SweepInfo) -> f64 {
    *info.bounds.last().unwrap()
}

/// A flat prior and nearly separable labels: one pass is hundreds of nats away, and undamped sweeps lose the bound.
#[test]
fn hard_logistic_sweeps_end_at_the_same_bound_from_every_start() {
    for (d, n, p, scale) in [(100, 500, 10, 5.0), (50, 300, 10, 10.0), (30, 400, 3, 3.0)] {
        let (x, y) = nearly_separable(d, n, scale, 1);
        let x = view(&x, d);
        let prior = LowRankGaussian::isotropic(&vec![0.0; d], 30.0, blocked(p)).unwrap();
        let ends: Vec<SweepInfo> = [n, p, 1, 0]
            .into_iter()
            .map(|seen| {
                let mut belief = after(&prior, &Implicit(LOGIT), x, &y, seen);
                sweep(&prior, &mut belief, x, &y, &LOGIT, &SweepSettings::default(), Par::Seq).unwrap()
            })
            .collect();
        let best = ends.iter().map(last).fold(f64::NEG_INFINITY, f64::max);
        for (info, idle) in ends.iter().zip([false, false, true, true]) {
            assert!(matches!(info.stop, Stop::Converged | Stop::Iterations), "{:?}", info.stop);
            assert!(info.bounds.is_sorted() && info.undone > 0);
            assert_eq!(info.restarts > 0, idle);
            // From one pass it is hundreds of nats; what is left is EM's slow end, where sweeps ran out.
            assert!(last(info) > best - 0.1, "d = {d}: {} against {best}, {info:?}", last(info));
        }
    }
}

/// `p = d`: the exact posterior, also from beliefs with idle directions and under a prior with a mean and a factor.
#[test]
fn full_rank_linear_sweeps_reach_the_exact_posterior_from_every_start() {
    let (d, n) = (12, 40);
    let mut rng = rng(2);
    let (x, y) = (rows(n, d, &mut rng), rows(1, n, &mut rng));
    let x = view(&x, d);
    let noise = GaussianLikelihood::new(0.7).unwrap();
    let mean: Vec<f64> = (0..d).map(|i| 0.4 * i as f64 - 2.0).collect();
    let psi: Vec<f64> = (0..d).map(|i| 0.5 + 0.1 * i as f64).collect();
    for columns in [0, 2, d] {
        let w = Mat::from_fn(d, d, |i, j| if j < columns { ((i + 3 * j) as f64).sin() } else { 0.0 });
        let prior = LowRankGaussian::from_precision(&mean, w.as_ref(), &psi, blocked(d)).unwrap();
        let mut exact = prior.to_dense().unwrap();
        filter::run(&mut exact, &Explicit(noise), x, &y, |_, _, _| {}).unwrap();
        for seen in [n, 1, 0] {
            let mut belief = after(&prior, &Explicit(noise), x, &y, seen);
            let info = sweep(&prior, &mut belief, x, &y, &noise, &SweepSettings::default(), Par::Seq).unwrap();
            let kl = divergence::gaussian_kl(&belief.to_dense().unwrap(), &exact).unwrap();
            assert_eq!(info.stop, Stop::Converged);
            assert!(info.bounds.is_sorted());
            // From a full W the EM steps halve what is missing; a spectral start has all at once.
            let reached = if info.restarts > 0 || seen == n { 1e-11 } else { 1e-4 };
            assert!(kl < reached, "{columns} columns, {seen} rows: {kl:e}, {info:?}");
        }
    }
}

/// Below full rank, under a prior with a mean and a factor: gradient and diagonal vanish at the end.
#[test]
fn the_end_is_stationary() {
    let (d, n, p) = (20, 60, 3);
    let mut rng = rng(3);
    let (x, y) = (rows(n, d, &mut rng), crate::common::labels(n, &mut rng));
    let x = view(&x, d);
    let mean: Vec<f64> = (0..d).map(|i| 0.1 * i as f64 - 0.6).collect();
    let w = Mat::from_fn(d, p, |i, j| ((2 * i + 5 * j) as f64).cos());
    let prior = LowRankGaussian::from_precision(&mean, w.as_ref(), &vec![0.8; d], blocked(p)).unwrap();
    let mut belief = after(&prior, &Implicit(LOGIT), x, &y, n);
    let far = SweepSettings { tolerance: 1e-12, max_sweeps: 2000, ..SweepSettings::default() };
    let info = sweep(&prior, &mut belief, x, &y, &LOGIT, &far, Par::Seq).unwrap();
    assert_eq!(info.stop, Stop::Converged);
    let lower = prior.precision_lower(Par::Seq);
    let mut s = Mat::from_fn(d, d, |i, j| lower[(i.max(j), i.min(j))]);
    let away: Vec<f64> = mean.iter().zip(belief.mean()).map(|(prior, mean)| prior - mean).collect();
    let mut gradient: Vec<f64> = (0..d).map(|i| (0..d).map(|j| s[(i, j)] * away[j]).sum()).collect();
    for (row, &y) in x.row_iter().zip(&y) {
        let row: Vec<f64> = row.iter().copied().collect();
        let seen = belief.predict(&row, Par::Seq).unwrap();
        let (slope, curvature) = LOGIT.expected_slope_curvature(y, seen.mean, seen.variance);
        for i in 0..d {
            gradient[i] += slope * row[i];
            (0..d).for_each(|j| s[(i, j)] += curvature * row[i] * row[j]);
        }
    }
    // The bound is flat to 1e-12 there, so that what it is a square of is flat to 1e-6.
    assert!(gradient.iter().all(|g| g.abs() < 1e-5), "{gradient:?}");
    for (i, diagonal) in belief.precision().diagonal().iter().enumerate() {
        assert!((diagonal / s[(i, i)] - 1.0).abs() < 1e-4, "{i}: {diagonal} against {}", s[(i, i)]);
    }
}

/// Entries at `indices` of rows of length `d`; the same rows in the space of those coordinates alone.
struct Sparse {
    indices: Vec<usize>,
    x: Vec<f64>,
}

impl Sparse {
    /// Each row has every third of the coordinates.
    fn entries(&self, t: usize) -> (Vec<usize>, Vec<f64>) {
        let k = self.indices.len();
        (0..k).filter(|i| (i + t).is_multiple_of(3)).map(|i| (self.indices[i], self.x[t * k + i])).unzip()
    }

    fn dense(&self, n: usize) -> Mat<f64> {
        let k = self.indices.len();
        Mat::from_fn(n, k, |t, i| if (i + t).is_multiple_of(3) { self.x[t * k + i] } else { 0.0 })
    }
}

/// Coordinates that no row touches keep the prior, and the others are as if alone.
#[test]
fn sparse_rows_sweep_as_dense_rows_with_zeros() {
    let (k, n, p) = (60, 90, 4);
    let mut rng = rng(4);
    let y = crate::common::labels(n, &mut rng);
    for d in [k, 120_000] {
        let sparse = Sparse { indices: (0..k).map(|i| i * (d / k)).collect(), x: rows(n, k, &mut rng) };
        let entries: Vec<(Vec<usize>, Vec<f64>)> = (0..n).map(|t| sparse.entries(t)).collect();
        let listed = SparseTable::new(entries.iter().map(|(indices, values)| (&indices[..], &values[..])));
        let few = SweepSettings { tolerance: 1e-6, max_sweeps: 5, ..SweepSettings::default() };
        let small = LowRankGaussian::isotropic(&vec![0.0; k], 3.0, blocked(p)).unwrap();
        let large = LowRankGaussian::isotropic(&vec![0.0; d], 3.0, blocked(p)).unwrap();
        let (mut expected, mut belief) = (small.clone(), large.clone());
        let dense = sparse.dense(n);
        let info = sweep(&small, &mut expected, dense.as_ref(), &y, &LOGIT, &few, Par::Seq).unwrap();
        let found = sweep(&large, &mut belief, listed.rows(), &y, &LOGIT, &few, Par::Seq).unwrap();
        assert_eq!((found.sweeps, found.restarts, found.stop), (info.sweeps, info.restarts, info.stop));
        assert!((last(&found) - last(&info)).abs() < 1e-9 * d as f64 / k as f64);
        let mut touched = vec![false; d];
        for (small, &large) in sparse.indices.iter().enumerate() {
            touched[large] = true;
            // Conjugate gradients stop at 1e-6.
            assert!((belief.mean()[large] - expected.mean()[small]).abs() < 1e-6);
            let (psi, other) = (belief.precision().psi()[large], expected.precision().psi()[small]);
            assert!((psi / other - 1.0).abs() < 1e-6);
        }
        assert!((0..d).all(|i| touched[i] || belief.mean()[i] == 0.0));
    }
}

#[cfg(feature = "rayon")]
#[test]
fn threads_change_no_bit_of_a_sweep() {
    let (d, n, p) = (9000, 100, 3);
    let mut rng = rng(5);
    let (x, y) = (rows(n, d, &mut rng), crate::common::labels(n, &mut rng));
    let x: Vec<f64> = x.into_iter().map(|x| x / (d as f64).sqrt()).collect();
    let indices: Vec<usize> = (0..d).step_by(90).collect();
    let values: Vec<Vec<f64>> = x.chunks_exact(d).map(|row| indices.iter().map(|&i| 30.0 * row[i]).collect()).collect();
    let listed = SparseTable::new(values.iter().map(|values| (&indices[..], &values[..])));
    let prior = LowRankGaussian::isotropic(&vec![0.0; d], 2.0, blocked(p)).unwrap();
    let two = SweepSettings { tolerance: 1e-6, max_sweeps: 2, ..SweepSettings::default() };
    let column_major = view(&x, d).to_owned();
    for rows in [view(&x, d).into(), (&column_major).into(), listed.rows()] {
        let run = |par| {
            let mut belief = prior.clone();
            let info = sweep(&prior, &mut belief, rows, &y, &LOGIT, &two, par).unwrap();
            (info, belief.mean().to_vec(), belief.precision().clone())
        };
        let expected = run(Par::Seq);
        assert_eq!((expected.0.sweeps, expected.0.restarts), (2, 1));
        for threads in [2, 3, 4] {
            assert!(run(Par::rayon(threads)) == expected, "{threads} threads");
        }
    }
}

/// `log p(y|t) = −½y(t − 1)²`: the label is the curvature, of either sign.
struct Curved;

impl Likelihood for Curved {
    fn family(&self) -> &'static str {
        "curved"
    }
    fn supports(&self, _label: f64) -> bool {
        true
    }
    fn log_density(&self, y: f64, t: f64) -> f64 {
        -0.5 * y * (t - 1.0) * (t - 1.0)
    }
    fn slope(&self, y: f64, t: f64) -> f64 {
        -y * (t - 1.0)
    }
    fn curvature(&self, y: f64, _t: f64) -> f64 {
        y
    }
    fn fisher_information(&self, _t: f64) -> f64 {
        f64::NAN
    }
}

impl GaussianExpectation for Curved {
    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        let value = self.log_density(y, a) - 0.5 * y * nu;
        Expected { value, slope: self.slope(y, a), curvature: y, third: 0.0, fourth: 0.0 }
    }
    fn log_predictive(&self, _y: f64, _a: f64, _nu: f64) -> f64 {
        f64::NAN
    }
}

/// Curvatures that take away from the prior: the exact mean where a posterior exists; where none does, no false end.
#[test]
fn negative_curvatures_are_swept_and_an_indefinite_posterior_never_converges() {
    let (d, n) = (6, 20);
    let mut rng = rng(6);
    let x = rows(n, d, &mut rng);
    let x = view(&x, d);
    let prior = LowRankGaussian::isotropic(&vec![0.2; d], 1.0, blocked(2)).unwrap();
    let mild: Vec<f64> = (0..n).map(|t| if t % 4 == 0 { -0.05 } else { 0.4 }).collect();
    let mut belief = prior.clone();
    let info = sweep(&prior, &mut belief, x, &mild, &Curved, &SweepSettings::default(), Par::Seq).unwrap();
    // EM is slow here: it may not end within a hundred sweeps.
    assert!(matches!(info.stop, Stop::Converged | Stop::Iterations), "{info:?}");
    assert!(info.bounds.is_sorted());
    let mut s = Mat::<f64>::identity(d, d);
    let mut right = Mat::from_fn(d, 1, |_, _| 0.2);
    for (row, h) in x.row_iter().zip(&mild) {
        for i in 0..d {
            right[(i, 0)] += h * row[i];
            (0..d).for_each(|j| s[(i, j)] += h * row[i] * row[j]);
        }
    }
    vi_linalg::Cholesky::new(s.as_ref()).unwrap().solve_in_place(right.as_mut()).unwrap();
    for i in 0..d {
        assert!((belief.mean()[i] - right[(i, 0)]).abs() < 1e-5);
    }

    let strong: Vec<f64> = mild.iter().map(|h| -h).collect();
    let mut belief = prior.clone();
    let info = sweep(&prior, &mut belief, x, &strong, &Curved, &SweepSettings::default(), Par::Seq).unwrap();
    assert!(info.bounds.is_sorted() && info.stop != Stop::Converged, "{info:?}");
}
