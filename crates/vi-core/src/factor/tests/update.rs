//! One step of the recursion against EM on the matrix it stands for.

use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::{Cholesky, DenseSymmetric, LowRank, SymmetricOperator};

use super::{ByProducts, covariance, dense, distance, factor, normal, rng};
use crate::factor::update::{UpdateScratch, update};
use crate::factor::{
    Diagonal, DiagonalSettings, RecursiveEm, RecursiveSettings, SecondMoments, UpdateSettings, Weights, kl, step,
};

/// Both ways sum some hundreds of terms of like size and solve with matrices of condition up to about 1e3.
const ROUNDING: f64 = 1e4 * f64::EPSILON;

const FREE: DiagonalSettings = DiagonalSettings { form: Diagonal::Free, floor: None };

fn updated(c: &LowRank, x: &Mat<f64>, weights: (f64, f64), loops: usize, diagonal: DiagonalSettings) -> LowRank {
    let mut c = c.clone();
    let (settings, scratch) = (UpdateSettings { inner_loops: loops, diagonal }, &mut UpdateScratch::default());
    update(&mut c, x.as_ref(), weights, &settings, scratch, Par::Seq).unwrap();
    c
}

/// `α(Ψ + WWᵀ) + βXXᵀ`.
fn target(c: &LowRank, x: &Mat<f64>, (alpha, beta): (f64, f64)) -> Mat<f64> {
    dense(c) * alpha + x * x.transpose() * beta
}

#[test]
fn inner_loops_are_iterations_of_batch_em() {
    for (d, p, k) in
        [(1, 0, 1), (1, 1, 1), (5, 0, 1), (7, 1, 1), (7, 2, 3), (6, 6, 1), (4, 7, 2), (300, 3, 1), (600, 2, 2)]
    {
        for weights in [(1.0, 1.0), (1.0, 0.3), (0.9, 0.1), (0.5, 0.5), (0.0, 1.0)] {
            for form in [Diagonal::Free, Diagonal::Isotropic] {
                let settings = DiagonalSettings { form, floor: None };
                let rng = &mut rng((100 * d + 10 * p + k) as u64);
                let (start, x) = (factor(d, p, rng), normal(d, k, rng));
                let s = target(&start, &x, weights);
                let mut expected = start.clone();
                // With α = 0 the matrix is singular, and ψ goes to zero in a few iterations.
                for loops in 1..=if weights.0 > 0.0 { 4 } else { 1 } {
                    step(&DenseSymmetric::new(s.as_ref()), &mut expected, &settings, Par::Seq).unwrap();
                    let found = updated(&start, &x, weights, loops, settings);
                    let error = distance(&dense(&found), &dense(&expected));
                    assert!(error < ROUNDING, "d = {d}, p = {p}, K = {k}, {weights:?}, {form:?}, {loops}: {error:e}");
                }
            }
        }
    }
}

#[test]
fn tiles_make_no_difference() {
    // Ten leaves of eight tiles, the last of them short; the twin goes by products with the whole matrix.
    let (d, p) = (330_001, 1);
    let rng = &mut rng(3);
    let (start, x) = (factor(d, p, rng), normal(d, 1, rng));
    let (alpha, beta) = (0.75, 0.25);
    let mut diagonal = start.diagonal();
    for (i, s) in diagonal.iter_mut().enumerate() {
        *s = alpha * *s + beta * x[(i, 0)] * x[(i, 0)];
    }
    let s = ByProducts::new(diagonal, |mut out, v| {
        start.apply(out.as_mut(), v, Par::Seq);
        let along = x.transpose() * v;
        out *= alpha;
        out += &x * along * beta;
    });
    let mut expected = start.clone();
    for loops in 1..=2 {
        step(&s, &mut expected, &FREE, Par::Seq).unwrap();
        let found = updated(&start, &x, (alpha, beta), loops, FREE);
        let largest = (found.w() - expected.w()).norm_max();
        let psi = found.psi().iter().zip(expected.psi()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        // Entries of size one; sums over d rows in another order.
        let tolerance = 1e2 * (d as f64).sqrt() * f64::EPSILON;
        assert!(largest < tolerance && psi < tolerance, "{loops}: {largest:e} {psi:e}");
    }
}

#[cfg(feature = "rayon")]
#[test]
fn threads_change_no_bit() {
    let (d, p) = (70_000, 2);
    let rng = &mut rng(4);
    let (start, x) = (factor(d, p, rng), normal(d, 1, rng));
    let run = |loops, par| {
        let mut c = start.clone();
        let settings = UpdateSettings { inner_loops: loops, diagonal: FREE };
        update(&mut c, x.as_ref(), (0.9, 0.1), &settings, &mut UpdateScratch::default(), par).unwrap();
        c
    };
    for loops in [1, 3] {
        assert_eq!(run(loops, Par::rayon(4)), run(loops, Par::Seq));
    }
}

#[test]
fn one_inner_loop_never_takes_from_the_diagonal() {
    let rng = &mut rng(5);
    for p in 0..6 {
        let (start, x) = (factor(5, p, rng), normal(5, 2, rng));
        for alpha in [1.0, 0.7] {
            let found = updated(&start, &x, (alpha, 2.0), 1, FREE);
            for (after, before) in found.psi().iter().zip(start.psi()) {
                assert!(*after >= alpha * before);
            }
        }
    }
}

#[test]
fn every_inner_loop_lowers_the_loss() {
    for seed in 0..40 {
        let rng = &mut rng(seed);
        let size = usize::try_from(seed).unwrap();
        let (d, p) = (3 + size % 9, 1 + size % 4);
        let (start, x) = (factor(d, p, rng), normal(d, 1 + size % 3, rng));
        for weights in [(1.0, 1.0), (0.9, 0.1), (0.5, 0.5)] {
            for form in [Diagonal::Free, Diagonal::Isotropic] {
                let start = match form {
                    Diagonal::Free => start.clone(),
                    Diagonal::Isotropic => LowRank::new(start.w(), &vec![0.7; d]).unwrap(),
                };
                let s = Cholesky::new(target(&start, &x, weights).as_ref()).unwrap();
                let mut before = kl(&s, &start, Par::Seq).unwrap();
                for loops in 1..12 {
                    let found = updated(&start, &x, weights, loops, DiagonalSettings { form, floor: None });
                    let now = kl(&s, &found, Par::Seq).unwrap();
                    // The loss is a difference of sums of d terms of size one.
                    assert!(
                        now <= before + 1e2 * d as f64 * f64::EPSILON,
                        "{seed}, {weights:?}, {loops}: {before} {now}"
                    );
                    before = now;
                }
            }
        }
    }
}

#[test]
fn a_matrix_of_the_form_is_kept() {
    // S = C itself: β = 0.
    let rng = &mut rng(6);
    let (start, x) = (factor(8, 3, rng), normal(8, 1, rng));
    for loops in 1..4 {
        let found = updated(&start, &x, (1.0, 0.0), loops, FREE);
        assert!(distance(&dense(&found), &dense(&start)) < ROUNDING);
    }
}

#[test]
fn printed_weights_leave_rank_one() {
    let rng = &mut rng(7);
    let x = normal(1, 6, rng);
    for loops in [1, 3] {
        let settings = RecursiveSettings {
            weights: Weights::MeanAsPrinted,
            update: UpdateSettings { inner_loops: loops, diagonal: FREE },
        };
        let mut em = RecursiveEm::new(factor(6, 3, rng), &settings).unwrap();
        em.run(x.as_ref(), Par::Seq).unwrap();
        for j in 0..3 {
            for i in 1..6 {
                let minor = em.factor().w()[(i, j)] * x[(0, 0)] - em.factor().w()[(0, j)] * x[(0, i)];
                assert!(minor.abs() < ROUNDING, "{loops}: ({i}, {j}) {minor:e}");
            }
        }
    }
}

#[test]
fn a_mean_of_outer_products_is_followed() {
    // With p = d and many loops nothing is lost but what EM has not reached, so S_t is the mean of S₀ and the outer products.
    let rng = &mut rng(8);
    let (start, x) = (factor(4, 4, rng), normal(20, 4, rng));
    let settings =
        RecursiveSettings { weights: Weights::Mean, update: UpdateSettings { inner_loops: 200, diagonal: FREE } };
    let (mut one_by_one, mut blocks) =
        (RecursiveEm::new(start.clone(), &settings).unwrap(), RecursiveEm::new(start.clone(), &settings).unwrap());
    one_by_one.run(x.as_ref(), Par::Seq).unwrap();
    for block in 0..5 {
        blocks.step_block(x.as_ref().subrows(4 * block, 4).transpose(), Par::Seq).unwrap();
    }
    assert_eq!((one_by_one.seen(), blocks.seen()), (20, 20));
    let s = (dense(&start) + x.transpose() * &x) * (1.0 / 21.0);
    for c in [one_by_one.factor(), blocks.factor()] {
        let loss = kl(&Cholesky::new(s.as_ref()).unwrap(), c, Par::Seq).unwrap();
        // Against 0.2 nats after one loop each.
        assert!(loss < 1e-4, "{loss}");
    }
}

#[test]
fn targets_are_the_same_matrix() {
    let rng = &mut rng(9);
    for (n, d) in [(1, 3), (300, 5), (700, 4)] {
        let x = normal(n, d, rng);
        let s = x.transpose() * &x * (1.0 / n as f64);
        let row_major: Vec<f64> = (0..n * d).map(|k| x[(k / d, k % d)]).collect();
        for rows in [x.as_ref(), MatRef::from_row_major_slice(&row_major, n, d)] {
            let data = SecondMoments::new(rows).unwrap();
            // Sums of n products of size one.
            assert!(vi_linalg::operator::discrepancy(&data, s.as_ref(), Par::Seq) < n as f64 * f64::EPSILON);
        }
    }
}

#[test]
fn the_loss_is_the_divergence_but_for_a_constant() {
    let rng = &mut rng(10);
    for p in [0, 1, 3, 6] {
        let (s, c) = (covariance(5, rng), factor(5, p, rng));
        let root = Cholesky::new(s.as_ref()).unwrap();
        let loss = crate::factor::loss(&DenseSymmetric::new(s.as_ref()), &c, Par::Seq).unwrap();
        let expected = kl(&root, &c, Par::Seq).unwrap() + 0.5 * root.log_det();
        assert!((loss - expected).abs() < ROUNDING, "p = {p}: {loss} {expected}");
        // The definition, by dense matrices.
        let inverse = Cholesky::new(dense(&c).as_ref()).unwrap();
        let ratio = inverse.solve(s.as_ref()).unwrap();
        let trace: f64 = (0..5).map(|i| ratio[(i, i)]).sum();
        let definition = 0.5 * (trace - 5.0 + inverse.log_det());
        assert!((loss - definition).abs() < ROUNDING, "p = {p}: {loss} {definition}");
    }
}
