//! The low-rank belief against its dense twins.

use vi_core::low_rank::as_printed::{AsPrinted, FactorAnalysis};
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, DiagonalGaussian, Explicit, Forget, GaussianBelief, GaussianLikelihood,
    Implicit, Kalman, LowRankGaussian, LowRankSettings, MeanMoves, Mixture8, SiteRule, SquareRootGaussian, block,
    filter,
};
use vi_linalg::faer::{Mat, MatRef, Par};

use crate::common::{difference, labels, rng, rows, view};

fn logit() -> Implicit<BernoulliLogit<Mixture8>> {
    Implicit(BernoulliLogit(Mixture8))
}

fn kalman() -> Kalman {
    Explicit(GaussianLikelihood::new(0.8).unwrap())
}

/// Means and variances that differ from coordinate to coordinate.
fn prior(d: usize) -> (Vec<f64>, Vec<f64>) {
    ((0..d).map(|i| 0.1 * i as f64 - 0.2).collect(), (0..d).map(|i| 1.0 / (1.0 + 0.3 * i as f64)).collect())
}

fn dense_prior(d: usize) -> DenseGaussian {
    let (mean, variances) = prior(d);
    DiagonalGaussian::new(&mean, &variances).unwrap().to_dense().unwrap()
}

fn low_rank_prior(d: usize, settings: LowRankSettings) -> LowRankGaussian {
    let (mean, variances) = prior(d);
    LowRankGaussian::new(&mean, &variances, settings).unwrap()
}

fn blocked(rank: usize, block: usize, inner_loops: usize) -> LowRankSettings {
    LowRankSettings::blocked(rank).unwrap().with_block(block).unwrap().with_inner_loops(inner_loops).unwrap()
}

fn all<R: SiteRule>(mut belief: LowRankGaussian, rule: &R, x: MatRef<'_, f64>, y: &[f64]) -> LowRankGaussian {
    belief.run(rule, x, y, Par::Seq, |_, _, _| {}).unwrap();
    belief
}

fn one_by_one<R: SiteRule>(mut belief: LowRankGaussian, rule: &R, x: MatRef<'_, f64>, y: &[f64]) -> LowRankGaussian {
    for (row, &y) in x.row_iter().zip(y) {
        let row: Vec<f64> = row.iter().copied().collect();
        belief.step(rule, &row, y, Par::Seq).unwrap();
    }
    belief
}

/// Largest difference in standard deviations and correlations.
fn apart(a: &LowRankGaussian, b: &LowRankGaussian) -> f64 {
    difference(&a.to_dense().unwrap(), &b.to_dense().unwrap())
}

/// A few hundred roundings of numbers whose condition is below 1e3.
const ROUNDING: f64 = 1e-11;

/// While rows wait nothing has been approximated, and with `p ≥ d` the projection loses nothing: the dense filter.
#[test]
fn waiting_rows_and_full_rank_are_the_dense_filter() {
    let (d, n) = (7, 40);
    let mut rng = rng(1);
    let (x, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let mut exact = dense_prior(d);
    filter::run(&mut exact, &logit(), view(&x, d), &y, |_, _, _| {}).unwrap();
    for (rank, block) in [(0, 64), (3, 64), (7, 5), (9, 1), (7, 64), (20, 40)] {
        for inner_loops in [0, 1, 3] {
            let belief = all(low_rank_prior(d, blocked(rank, block, inner_loops)), &logit(), view(&x, d), &y);
            let off = difference(&belief.to_dense().unwrap(), &exact);
            assert!(off < ROUNDING, "p = {rank}, b = {block}, {inner_loops} loops: {off:e}");
        }
    }
}

/// A whole pass, parts of a block, single rows, the trait's `project` and `absorb`, blocks of the generic pass.
#[test]
fn every_way_in_gives_the_same_posterior() {
    let (d, n) = (30, 53);
    let mut rng = rng(2);
    let (x, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let (x, rule) = (view(&x, d), logit());
    for settings in [
        blocked(4, 10, 1),
        blocked(4, 10, 0),
        blocked(3, 7, 2),
        blocked(0, 5, 1),
        LowRankSettings::one_loop(4).unwrap(),
        LowRankSettings::one_loop(0).unwrap(),
    ] {
        let whole = all(low_rank_prior(d, settings), &rule, x, &y);
        assert_eq!(whole.waiting(), n % settings.block());

        let single = one_by_one(low_rank_prior(d, settings), &rule, x, &y);
        assert!(apart(&single, &whole) < ROUNDING, "single rows, {settings:?}: {:e}", apart(&single, &whole));

        let mut parts = low_rank_prior(d, settings);
        let mut first = 0;
        while first < n {
            let k = parts.room().min(3).min(n - first);
            parts.step_block(&rule, x.subrows(first, k), &y[first..first + k], Par::Seq).unwrap();
            first += k;
        }
        assert!(apart(&parts, &whole) < ROUNDING, "parts, {settings:?}: {:e}", apart(&parts, &whole));

        let mut generic = low_rank_prior(d, settings);
        filter::run(&mut generic, &rule, x, &y, |_, _, _| {}).unwrap();
        assert!(apart(&generic, &whole) < ROUNDING, "filter::run, {settings:?}: {:e}", apart(&generic, &whole));

        let mut by_block = low_rank_prior(d, settings);
        let cut = block::BlockSettings::new(settings.block()).unwrap();
        let mut scratch = block::BlockScratch::new(&by_block, cut);
        block::run(&mut by_block, &rule, x, &y, &mut scratch, Par::Seq, |_, _, _| {}).unwrap();
        assert!(apart(&by_block, &whole) < ROUNDING, "block::run, {settings:?}: {:e}", apart(&by_block, &whole));
    }
}

/// What the belief says along the way is what its dense twin says.
#[test]
fn predictions_variances_and_products_include_the_waiting_rows() {
    let (d, n) = (12, 29);
    let mut rng = rng(3);
    let (x, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let belief = all(low_rank_prior(d, blocked(3, 10, 1)), &logit(), view(&x, d), &y);
    assert_eq!(belief.waiting(), 9);
    let dense = belief.to_dense().unwrap();
    let row = rows(1, d, &mut rng);
    let expected = dense.predict(&row).unwrap();
    let (predicted, projected) = (belief.predict(&row, Par::Seq).unwrap(), Belief::predict(&belief, &row).unwrap());
    assert_eq!(predicted, projected);
    assert!((predicted.mean - expected.mean).abs() < 1e-12 * expected.variance.sqrt().max(1.0));
    assert!((predicted.variance / expected.variance - 1.0).abs() < 1e-12);
    let product = belief.covariance_mul(&row, Par::Seq).unwrap();
    let covariance = dense.covariance();
    let variances = belief.variances(Par::Seq).unwrap();
    for i in 0..d {
        let expected: f64 = (0..d).map(|j| covariance[(i, j)] * row[j]).sum();
        assert!((product[i] - expected).abs() < 1e-12, "{i}");
        assert!((variances[i] / covariance[(i, i)] - 1.0).abs() < 1e-12, "{i}");
    }
    let log_det = dense.cholesky().unwrap().log_det();
    assert!((belief.log_det().unwrap() - log_det).abs() < 1e-11);
}

/// `p = 0` with blocks of one row is the diagonal belief.
#[test]
fn rank_zero_is_the_diagonal_belief() {
    let (d, n) = (9, 30);
    let mut rng = rng(4);
    let (x, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let (mean, variances) = prior(d);
    let mut diagonal = DiagonalGaussian::new(&mean, &variances).unwrap();
    filter::run(&mut diagonal, &logit(), view(&x, d), &y, |_, _, _| {}).unwrap();
    for settings in [blocked(0, 1, 0), blocked(0, 1, 1), LowRankSettings::one_loop(0).unwrap()] {
        let belief = all(low_rank_prior(d, settings), &logit(), view(&x, d), &y);
        for i in 0..d {
            // n roundings on either side.
            let tolerance = 4.0 * n as f64 * f64::EPSILON;
            assert!((belief.mean()[i] - diagonal.mean()[i]).abs() <= tolerance * (1.0 + diagonal.mean()[i].abs()));
            assert!((belief.precision().psi()[i] / diagonal.precisions()[i] - 1.0).abs() <= tolerance);
        }
    }
}

/// `d = p` from `W = 0` is the Kalman filter, but for what a flat prior costs: `WᵀΨ⁻¹W` is up to `κ = σ₀²·‖X‖²/σ²` and is
/// rounded, so the covariance is off by `ε·κ` relative to its scale.
#[test]
fn full_rank_linear_is_kalman() {
    let (d, n) = (20, 100);
    let mut rng = rng(5);
    let (x, y) = (rows(n, d, &mut rng), rows(1, n, &mut rng));
    for sigma0 in [1.0, 10.0, 100.0, 1000.0, 1e4] {
        // The square-root filter: a covariance loses digits of its own where the prior is flat.
        let mut exact = SquareRootGaussian::isotropic(&vec![0.0; d], sigma0).unwrap();
        filter::run(&mut exact, &kalman(), view(&x, d), &y, |_, _, _| {}).unwrap();
        let exact = exact.to_dense().unwrap();
        let condition = sigma0 * sigma0 * view(&x, d).squared_norm_l2() / 0.8;
        let tolerance = if sigma0 <= 10.0 { 1e-10 } else { f64::EPSILON * condition };
        for inner_loops in [0, 1] {
            let start = LowRankGaussian::isotropic(&vec![0.0; d], sigma0, blocked(d, 40, inner_loops)).unwrap();
            let mut belief = all(start, &kalman(), view(&x, d), &y);
            belief.flush(Par::Seq).unwrap();
            let off = difference(&belief.to_dense().unwrap(), &exact);
            assert!(off <= tolerance, "σ₀ = {sigma0}, {inner_loops} loops: {off:e}");
        }
    }
}

/// One EM step of (20)-(21) on a dense `S`, with one inverse: `W⁺ = V(M + WᵀΨ⁻¹V)⁻¹M`.
fn dense_em_step(s: &Mat<f64>, w: &Mat<f64>, psi: &[f64]) -> (Mat<f64>, Vec<f64>) {
    let (d, p) = w.shape();
    let a = Mat::from_fn(d, p, |i, j| w[(i, j)] / psi[i]);
    let m = Mat::<f64>::identity(p, p) + w.transpose() * &a;
    let v = s * &a;
    let inverse = vi_linalg::Cholesky::new((&m + a.transpose() * &v).as_ref()).unwrap().inverse();
    let taken = &v * &inverse * v.transpose();
    (&v * &inverse * &m, (0..d).map(|i| s[(i, i)] - taken[(i, i)]).collect())
}

fn dense_precision(w: &Mat<f64>, psi: &[f64]) -> Mat<f64> {
    let mut s = w * w.transpose();
    for (i, psi) in psi.iter().enumerate() {
        s[(i, i)] += psi;
    }
    s
}

fn lower_difference(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    let mut worst = 0.0_f64;
    for j in 0..a.ncols() {
        for i in j..a.nrows() {
            worst = worst.max((a[(i, j)] - b[(i, j)]).abs());
        }
    }
    worst / b.norm_max()
}

/// The algorithm box is EM steps (20)-(21) on the dense `S = α(Ψ + WWᵀ) + βXXᵀ`, by plain products.
#[test]
fn the_box_is_em_on_the_dense_matrix() {
    let (d, p) = (9, 3);
    let w = Mat::from_fn(d, p, |i, j| ((3 * i + 5 * j) as f64).sin());
    let psi: Vec<f64> = (0..d).map(|i| 0.5 + 0.1 * i as f64).collect();
    let x = rows(2, d, &mut rng(6));
    let x = view(&x, d);
    let s = dense_precision(&w, &psi) * 0.9 + x.transpose() * x * 0.3;
    let mut expected = (w.clone(), psi.clone());
    for loops in 1..4 {
        expected = dense_em_step(&s, &expected.0, &expected.1);
        let mut found = FactorAnalysis { w: w.clone(), psi: psi.clone() };
        found.update(x.transpose(), (0.9, 0.3), loops).unwrap();
        let off = lower_difference(&dense_precision(&found.w, &found.psi), &dense_precision(&expected.0, &expected.1));
        assert!(off < 1e-13, "{loops}: {off:e}");
    }
}

/// The recursion is the algorithm box, row by row: sites, precision and either move of the mean.
#[test]
fn the_recursion_is_the_box() {
    let (d, p, n) = (11, 3, 25);
    let mut rng = rng(9);
    let (x, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let precision =
        FactorAnalysis { w: Mat::from_fn(d, p, |i, j| 0.1 * ((3 * i + 5 * j) as f64).sin()), psi: vec![0.9; d] };
    for (loops, moves) in [(1, MeanMoves::BeforeProjection), (3, MeanMoves::AfterProjection)] {
        let settings = LowRankSettings::recursive(p, loops, moves).unwrap();
        let mut belief =
            LowRankGaussian::from_precision(&vec![0.1; d], precision.w.as_ref(), &precision.psi, settings).unwrap();
        let mut printed = AsPrinted { mean: vec![0.1; d], precision: precision.clone() };
        for (x, y) in x.chunks(d).zip(&y) {
            belief.step(&logit(), x, *y, Par::Seq).unwrap();
            printed.step(&logit(), x, *y, loops, moves).unwrap();
        }
        let expected = dense_precision(&printed.precision.w, &printed.precision.psi);
        let off = lower_difference(&belief.precision_lower(Par::Seq), &expected);
        assert!(off < 1e-12, "{moves:?}: {off:e}");
        for (found, expected) in belief.mean().iter().zip(&printed.mean) {
            assert!((found - expected).abs() < 1e-11, "{moves:?}: {found} {expected}");
        }
    }
    let mut printed = AsPrinted { mean: vec![0.1; d], precision };
    let before = printed.clone();
    assert!(printed.step(&logit(), &x[..d - 1], 1.0, 1, MeanMoves::AfterProjection).is_err());
    assert!(printed.step(&logit(), &x[..d], 1.0, 0, MeanMoves::AfterProjection).is_err());
    assert_eq!(printed, before);
}

/// The one-loop form, and the recursion with its inner loops, are the algorithm box's steps for `Ψ + WWᵀ + XXᵀ`.
#[test]
fn projections_are_em_steps() {
    let (d, p, k) = (11, 3, 2);
    let mut rng = rng(6);
    let w = Mat::from_fn(d, p, |i, j| ((3 * i + 5 * j) as f64).sin());
    let psi: Vec<f64> = (0..d).map(|i| 0.5 + 0.1 * i as f64).collect();
    let x = rows(k, d, &mut rng);
    let x = view(&x, d);
    for inner_loops in 1..4 {
        let mut expected = FactorAnalysis { w: w.clone(), psi: psi.clone() };
        expected.update(x.transpose(), (1.0, 1.0), inner_loops).unwrap();
        let settings = LowRankSettings::recursive(p, inner_loops, MeanMoves::BeforeProjection).unwrap();
        let forms =
            if inner_loops == 1 { vec![settings, LowRankSettings::one_loop(p).unwrap()] } else { vec![settings] };
        for settings in forms {
            let mut belief = LowRankGaussian::from_precision(&vec![0.3; d], w.as_ref(), &psi, settings).unwrap();
            belief.add_information(x, Par::Seq).unwrap();
            let off = lower_difference(&belief.precision_lower(Par::Seq), &dense_precision(&expected.w, &expected.psi));
            assert!(off < 1e-13, "{settings:?}: {off:e}");
            assert_eq!(belief.mean(), vec![0.3; d]);
        }
    }
}

/// The spectral start followed by EM steps, against the same on dense matrices; the diagonal of the precision is kept.
#[test]
fn blocked_projections_are_em_steps_from_the_spectral_start() {
    let (d, p, k) = (13, 3, 8);
    let mut rng = rng(7);
    let w = Mat::from_fn(d, p, |i, j| ((2 * i + 7 * j) as f64).cos());
    let psi: Vec<f64> = (0..d).map(|i| 0.5 + 0.2 * i as f64).collect();
    let x = rows(k, d, &mut rng);
    let x = view(&x, d);
    let added = &w * w.transpose() + x.transpose() * x;
    let s = dense_precision(&w, &psi) + x.transpose() * x;
    // Ψ^(−½)(S − Ψ)Ψ^(−½) by its eigenvectors.
    let whitened = Mat::from_fn(d, d, |i, j| added[(i, j)] / (psi[i] * psi[j]).sqrt());
    let eigen = whitened.self_adjoint_eigen(vi_linalg::faer::Side::Lower).unwrap();
    let mut expected_w = Mat::from_fn(d, p, |i, j| eigen.U()[(i, d - 1 - j)] * (eigen.S()[d - 1 - j] * psi[i]).sqrt());
    let mut expected_psi: Vec<f64> = (0..d).map(|i| s[(i, i)] - expected_w.row(i).squared_norm_l2()).collect();
    for inner_loops in 0..4 {
        if inner_loops > 0 {
            (expected_w, expected_psi) = dense_em_step(&s, &expected_w, &expected_psi);
        }
        let mut belief =
            LowRankGaussian::from_precision(&vec![0.0; d], w.as_ref(), &psi, blocked(p, k, inner_loops)).unwrap();
        belief.add_information(x, Par::Seq).unwrap();
        assert_eq!(belief.waiting(), 0);
        let off = lower_difference(&belief.precision_lower(Par::Seq), &dense_precision(&expected_w, &expected_psi));
        assert!(off < 1e-12, "{inner_loops} loops: {off:e}");
        if inner_loops == 0 {
            for (i, value) in belief.precision().diagonal().iter().enumerate() {
                assert!((value / s[(i, i)] - 1.0).abs() < 1e-14);
                assert!(belief.precision().psi()[i] >= psi[i]);
            }
        }
    }
}

/// Sparse rows are the rows they stand for, alone, in runs and among dense ones.
#[test]
fn sparse_rows_are_dense_rows_with_zeros() {
    let (d, n) = (40, 57);
    let mut rng = rng(8);
    let values = rows(n, 5, &mut rng);
    let y = labels(n, &mut rng);
    let indices: Vec<Vec<usize>> = (0..n).map(|t| (0..t % 6).map(|j| (t * 3) % 9 + 7 * j % 31 + j).collect()).collect();
    let indices: Vec<Vec<usize>> = indices
        .into_iter()
        .map(|mut row: Vec<usize>| {
            row.sort_unstable();
            row.dedup();
            row
        })
        .collect();
    let dense = Mat::from_fn(n, d, |t, i| {
        indices[t].iter().position(|&index| index == i).map_or(0.0, |j| values[5 * t + j.min(4)])
    });
    for settings in [blocked(3, 10, 1), LowRankSettings::one_loop(3).unwrap()] {
        let expected = all(low_rank_prior(d, settings), &logit(), dense.as_ref(), &y);
        for every in [1, 2, 7] {
            let mut belief = low_rank_prior(d, settings);
            for t in 0..n {
                let row: Vec<f64> = dense.row(t).iter().copied().collect();
                if t % every == 0 {
                    let entries: Vec<f64> = indices[t].iter().map(|&i| row[i]).collect();
                    let sparse = (&indices[t], &entries);
                    let seen = belief.predict(sparse, Par::Seq).unwrap();
                    let dense = belief.predict(&row, Par::Seq).unwrap();
                    assert!((seen.variance - dense.variance).abs() <= 1e-13 * (1.0 + dense.variance));
                    belief.step(&logit(), sparse, y[t], Par::Seq).unwrap();
                } else {
                    belief.step(&logit(), &row, y[t], Par::Seq).unwrap();
                }
            }
            assert!(apart(&belief, &expected) < ROUNDING, "every {every}: {:e}", apart(&belief, &expected));
        }
    }
}

/// Fading is exact whatever waits; returning towards a prior is, where the rank suffices.
#[test]
fn forgetting_is_the_dense_one() {
    let (d, n) = (8, 13);
    let mut rng = rng(9);
    let (x, y) = (rows(n, d, &mut rng), rows(1, n, &mut rng));
    let mut belief = all(low_rank_prior(d, blocked(8, 10, 1)), &kalman(), view(&x, d), &y);
    assert_eq!(belief.waiting(), 3);
    let mut dense = belief.to_dense().unwrap();
    belief.fade(0.7).unwrap();
    dense.fade(0.7).unwrap();
    assert!(difference(&belief.to_dense().unwrap(), &dense) < ROUNDING);
    // The space of the waiting rows has followed.
    let more = rows(4, d, &mut rng);
    belief = one_by_one(belief, &kalman(), view(&more, d), &y[..4]);
    filter::run(&mut dense, &kalman(), view(&more, d), &y[..4], |_, _, _| {}).unwrap();
    assert!(difference(&belief.to_dense().unwrap(), &dense) < ROUNDING);

    let other = all(low_rank_prior(d, blocked(8, 2, 1)), &kalman(), view(&x, d).subrows(0, 2), &[1.0, 2.0]);
    for anchor in [low_rank_prior(d, blocked(8, 10, 1)), other] {
        let (mut belief, mut dense) = (belief.clone(), dense.clone());
        let dense_anchor = anchor.to_dense().unwrap().anchor().unwrap();
        belief.towards(&anchor.anchor().unwrap(), 0.6).unwrap();
        dense.towards(&dense_anchor, 0.6).unwrap();
        assert!(difference(&belief.to_dense().unwrap(), &dense) < ROUNDING);
    }
}

/// Threads change no bit, and neither does `d` beyond a tile.
#[test]
fn tiles_and_threads() {
    let (d, n, p) = (9000, 21, 2);
    let mut rng = rng(10);
    let (x, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let x = Mat::from_fn(n, d, |t, i| x[t * d + i] / (d as f64).sqrt());
    for settings in [blocked(p, 7, 1), blocked(p, 7, 0), blocked(p, 7, 2), LowRankSettings::one_loop(p).unwrap()] {
        let start = LowRankGaussian::isotropic(&vec![0.0; d], 2.0, settings).unwrap();
        let expected = all(start.clone(), &logit(), x.as_ref(), &y);
        // Row by row the inner products are summed in other tiles.
        let single = one_by_one(start.clone(), &logit(), x.as_ref(), &y);
        let off = expected.mean().iter().zip(single.mean()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-12, "{off:e}");
        #[cfg(feature = "rayon")]
        for threads in [2, 3] {
            let mut belief = start.clone();
            belief.run(&logit(), x.as_ref(), &y, Par::rayon(threads), |_, _, _| {}).unwrap();
            assert_eq!(belief.mean(), expected.mean());
            assert_eq!(belief.precision(), expected.precision());
        }
    }
}
