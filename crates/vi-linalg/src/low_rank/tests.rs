//! Low-rank forms against their dense twins, and the samplers against their law.

use faer::{Mat, Par, mat};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::operator::discrepancy;
use crate::testing::{column, infinity_norm, lower_only, matrix, max_difference, product, rng, vector};
use crate::{Cholesky, DenseSymmetric, LinalgError, kernels};

/// (d, p) with p = 0, p = d and p > d among them, and d on both sides of a tile (256 rows at least).
const SHAPES: [(usize, usize); 9] = [(1, 0), (1, 1), (3, 5), (6, 2), (17, 0), (20, 20), (40, 7), (300, 3), (2100, 2)];

fn random(rng: &mut ChaCha8Rng, d: usize, p: usize) -> LowRank {
    let w = matrix(rng, d, p);
    let psi: Vec<f64> = vector(rng, d).iter().map(|z| z.exp()).collect();
    LowRank::new(w.as_ref(), &psi).unwrap()
}

fn dense(s: &LowRank) -> Mat<f64> {
    let mut full = product(s.w(), s.w().transpose());
    for (i, &psi) in s.psi().iter().enumerate() {
        full[(i, i)] += psi;
    }
    full
}

/// Condition number bound: ‖S‖∞ over the smallest ψ.
fn condition(s: &LowRank, full: &Mat<f64>) -> f64 {
    infinity_norm(full.as_ref()) / s.psi().iter().copied().fold(f64::INFINITY, f64::min)
}

#[test]
fn every_operator_is_its_dense_twin() {
    for (d, p) in SHAPES.into_iter().filter(|&(d, _)| d <= 300) {
        let s = random(&mut rng(d as u64), d, p);
        let full = dense(&s);
        // Sums of at most d + p + 1 terms, each term at most the largest entry.
        let tolerance = (d + p + 1) as f64 * f64::EPSILON;
        let error = discrepancy(&s, full.as_ref(), Par::Seq);
        assert!(error <= tolerance, "Ψ + WWᵀ, d = {d}, p = {p}: {error:e}");

        let lower = lower_only(full.as_ref());
        let error = discrepancy(&DenseSymmetric::new(lower.as_ref()), full.as_ref(), Par::Seq);
        assert!(error <= tolerance, "dense, d = {d}: {error:e}");

        let inverse = Cholesky::new(full.as_ref()).unwrap().inverse();
        let factored = s.factor(Par::Seq).unwrap();
        let error = discrepancy(&factored.inverse(), inverse.as_ref(), Par::Seq);
        // Both solves have a backward error of a few (d + p) ε, grown by κ.
        let tolerance = 4.0 * tolerance * condition(&s, &full);
        assert!(error <= tolerance, "inverse, d = {d}, p = {p}: {error:e} > {tolerance:e}");
    }
}

#[test]
fn a_discrepancy_is_seen() {
    let full = mat![[2.0, 1.0], [1.0, 3.0]];
    for (i, j) in [(0, 0), (1, 0), (0, 1)] {
        let mut wrong = full.clone();
        wrong[(i, j)] += 0.5;
        let s = DenseSymmetric::new(full.as_ref());
        assert!(discrepancy(&s, wrong.as_ref(), Par::Seq) > 0.1);
        wrong[(i, j)] = f64::NAN;
        assert!(discrepancy(&s, wrong.as_ref(), Par::Seq).is_nan());
    }
}

#[test]
fn scalars_and_solutions_are_the_dense_ones() {
    for (d, p) in SHAPES {
        let rng = &mut rng(100 + d as u64);
        let s = random(rng, d, p);
        let full = dense(&s);
        let cholesky = Cholesky::new(full.as_ref()).unwrap();
        let factored = s.factor(Par::Seq).unwrap();
        // Backward errors of a few (d + p) ε, grown by κ.
        let relative = 4.0 * (d + p + 1) as f64 * f64::EPSILON * condition(&s, &full);

        let log_det = cholesky.log_det();
        assert!((factored.log_det() - log_det).abs() <= d as f64 * relative, "log det, d = {d}, p = {p}");
        let x = vector(rng, d);
        let form = cholesky.quadratic_form_inverse(&x).unwrap();
        let ours = factored.quadratic_form_inverse(&x, Par::Seq).unwrap();
        assert!((ours - form).abs() <= relative * form, "xᵀS⁻¹x, d = {d}, p = {p}");
        let mut solution = vec![f64::NAN; d];
        factored.solve_vec(&mut solution, &x, Par::Seq).unwrap();
        let expected = cholesky.solve(column(&x)).unwrap();
        let error = max_difference(column(&solution), expected.as_ref());
        assert!(error <= relative * expected.norm_max() * (d as f64).sqrt(), "S⁻¹x, d = {d}, p = {p}");
        let several = matrix(rng, d, 3);
        let product = s.mul(factored.solve(several.as_ref(), Par::Seq).unwrap().as_ref(), Par::Seq).unwrap();
        let error = max_difference(product.as_ref(), several.as_ref());
        assert!(error <= relative * several.norm_max() * (d as f64).sqrt(), "S S⁻¹X, d = {d}, p = {p}");
        if d <= 300 {
            let inverse = cholesky.inverse();
            let trace: f64 = (0..d).map(|i| inverse[(i, i)]).sum();
            let ours = factored.trace_of_inverse(Par::Seq).unwrap();
            assert!((ours - trace).abs() <= relative * trace * (d as f64).sqrt(), "tr S⁻¹, d = {d}, p = {p}");
        }
        assert!(
            max_difference(s.to_dense_lower(Par::Seq).as_ref(), lower(&full).as_ref()) <= relative * full.norm_max()
        );
    }
}

fn lower(full: &Mat<f64>) -> Mat<f64> {
    Mat::from_fn(full.nrows(), full.ncols(), |i, j| if i < j { 0.0 } else { full[(i, j)] })
}

#[test]
fn the_gram_matrix_is_the_plain_sum() {
    for (d, p) in SHAPES {
        let s = random(&mut rng(d as u64), d, p);
        let gram = weighted_gram(s.w(), s.psi(), Par::Seq);
        let column_major = s.w().to_owned();
        let other = weighted_gram(column_major.as_ref(), s.psi(), Par::Seq);
        for j in 0..p {
            for i in j..p {
                let terms = |k: usize| s.w()[(k, i)] * s.w()[(k, j)] / s.psi()[k];
                let plain: f64 = (0..d).map(terms).sum();
                let scale: f64 = (0..d).map(|k| terms(k).abs()).sum();
                // Two sums of d terms with three roundings each.
                let tolerance = (d + 3) as f64 * f64::EPSILON * scale;
                assert!((gram[(i, j)] - plain).abs() <= tolerance, "d = {d}, p = {p}");
                assert!((other[(i, j)] - plain).abs() <= tolerance, "d = {d}, p = {p}");
            }
        }
    }
}

/// KL(N(μ, Λ_q⁻¹) ‖ N(μ + δ, Λ_p⁻¹)) from dense precisions.
fn dense_kl(precision_q: &Mat<f64>, precision_p: &Mat<f64>, delta: &[f64]) -> f64 {
    let d = delta.len();
    let (q, p) = (Cholesky::new(precision_q.as_ref()).unwrap(), Cholesky::new(precision_p.as_ref()).unwrap());
    let ratio = q.solve(precision_p.as_ref()).unwrap();
    let trace: f64 = (0..d).map(|i| ratio[(i, i)]).sum();
    let distance = kernels::quadratic_form(precision_p.as_ref(), delta);
    0.5 * (trace - d as f64 + distance + q.log_det() - p.log_det())
}

#[test]
fn divergences_are_the_dense_ones() {
    for (d, p, p_other) in [(1, 0, 1), (5, 2, 7), (40, 7, 3), (300, 3, 3)] {
        let rng = &mut rng(7 * d as u64);
        let (a, b) = (random(rng, d, p), random(rng, d, p_other));
        let (mean_a, mean_b) = (vector(rng, d), vector(rng, d));
        let delta: Vec<f64> = mean_b.iter().zip(&mean_a).map(|(b, a)| b - a).collect();
        let (full_a, full_b) = (dense(&a), dense(&b));
        let (fa, fb) = (a.factor(Par::Seq).unwrap(), b.factor(Par::Seq).unwrap());
        let chol_b = Cholesky::new(full_b.as_ref()).unwrap();
        let inverse_b = chol_b.inverse();
        let condition = condition(&a, &full_a) * condition(&b, &full_b);
        let close = |ours: Result<f64, LinalgError>, plain: f64, what: &str| {
            let ours = ours.unwrap();
            // Relative error of each term of the sum, the traces being at most of the size of the result plus d.
            let tolerance = 4.0 * (d + p + p_other) as f64 * f64::EPSILON * condition * (plain + d as f64);
            assert!((ours - plain).abs() <= tolerance, "{what}, d = {d}: {ours} against {plain}");
        };

        let plain = dense_kl(&full_a, &full_b, &delta);
        close(kl_of_precisions(&mean_a, &fa, &mean_b, &fb, Par::Seq), plain, "two precisions");
        for root in [DenseRoot::Precision(&chol_b), DenseRoot::Covariance(&Cholesky::new(inverse_b.as_ref()).unwrap())]
        {
            close(kl_of_precisions_to_dense(&mean_a, &fa, &mean_b, root, Par::Seq), plain, "to dense");
        }
    }
}

/// Upper quantile of χ² with k degrees at the one-sided normal quantile z (Wilson and Hilferty).
fn chi_square_quantile(k: f64, z: f64) -> f64 {
    let spread = 2.0 / (9.0 * k);
    k * (1.0 - spread + z * spread.sqrt()).powi(3)
}

/// Asserts that the columns of `draws` (d × N) come from N(0, LLᵀ).
///
/// With u = L⁻¹x: N‖ū‖² is χ² with d degrees; N(½Σ(A_ii − 1)² + Σ_{i<j} A_ij²) for A = N⁻¹Σuuᵀ, Wald's statistic of the
/// covariance, is χ² with d(d+1)/2 degrees as N grows. The quantiles are those of z = 5, a false alarm in 3·10⁶.
fn assert_law(draws: &Mat<f64>, covariance: &Mat<f64>, what: &str) {
    let (d, n) = (draws.nrows(), draws.ncols() as f64);
    let u = Cholesky::new(covariance.as_ref()).unwrap().whiten(draws.as_ref()).unwrap();
    let mean: f64 = (0..d).map(|i| (u.row(i).iter().sum::<f64>() / n).powi(2)).sum();
    let a = product(u.as_ref(), u.transpose());
    let mut wald = 0.0;
    for j in 0..d {
        wald += 0.5 * (a[(j, j)] / n - 1.0).powi(2);
        for i in j + 1..d {
            wald += (a[(i, j)] / n).powi(2);
        }
    }
    let (d, z) = (d as f64, 5.0);
    assert!(n * mean <= chi_square_quantile(d, z), "{what}: mean, {}", n * mean);
    let degrees = d * (d + 1.0) / 2.0;
    assert!(n * wald <= chi_square_quantile(degrees, z), "{what}: Wald, {} of {degrees} degrees", n * wald);
}

fn sampler_case(d: usize, p: usize) -> (LowRank, Mat<f64>, Mat<f64>) {
    let s = random(&mut rng(3 + d as u64), d, p);
    let full = dense(&s);
    let inverse = Cholesky::new(full.as_ref()).unwrap().inverse();
    (s, full, inverse)
}

#[test]
fn draws_have_their_law() {
    for (d, p) in [(1, 1), (4, 0), (6, 2), (5, 8)] {
        let (s, full, inverse) = sampler_case(d, p);
        let rng = &mut rng(11);
        let n = 20_000;
        let factored = s.factor(Par::Seq).unwrap();
        let by_cholesky = CholeskySampler::new(&s, Par::Seq).unwrap();
        assert_law(&s.draw(n, rng, Par::Seq), &full, "N(0, S)");
        assert_law(&factored.draw_inverse(n, rng, Par::Seq), &inverse, "N(0, S⁻¹)");
        assert_law(&by_cholesky.draw(n, rng, Par::Seq), &full, "N(0, S) by Cholesky");
        assert_law(&by_cholesky.draw_inverse(n, rng, Par::Seq), &inverse, "N(0, S⁻¹) by Cholesky");
    }
}

#[test]
#[should_panic(expected = "wrong: Wald")]
fn another_law_is_seen() {
    let (s, full, _) = sampler_case(6, 2);
    // Proposition 1 with the sign of ε left alone but Wᵀx added instead of taken away would double a part of S⁻¹; a law with
    // three per cent more variance in one direction is harder to see.
    let mut other = full;
    other[(0, 0)] *= 1.1;
    assert_law(&s.draw(20_000, &mut rng(11), Par::Seq), &other, "wrong");
}

#[test]
fn covariances_of_draws_converge() {
    let (s, full, inverse) = sampler_case(6, 2);
    let n = 20_000;
    let factored = s.factor(Par::Seq).unwrap();
    let cases = [(s.draw(n, &mut rng(2), Par::Seq), full), (factored.draw_inverse(n, &mut rng(3), Par::Seq), inverse)];
    for (draws, covariance) in cases {
        let second = product(draws.as_ref(), draws.transpose());
        for j in 0..6 {
            for i in j..6 {
                // Variance of an entry of the second moment: (C_ii C_jj + C_ij²)/N. Six standard errors.
                let variance = covariance[(i, i)] * covariance[(j, j)] + covariance[(i, j)].powi(2);
                let error = (second[(i, j)] / n as f64 - covariance[(i, j)]).abs();
                assert!(error <= 6.0 * (variance / n as f64).sqrt(), "({i}, {j}): {error}");
            }
        }
    }
}

#[test]
fn the_ensemble_transform_is_the_second_form_of_proposition_1() {
    let (d, p, k) = (6, 2, 3);
    let (s, _, inverse) = sampler_case(d, p);
    let rng = &mut rng(4);
    let (z, epsilon) = (matrix(rng, d, k), matrix(rng, p, k));
    // L = Ψ⁻¹WM⁻¹ = S⁻¹W; (I − LWᵀ)x + Lε.
    let l = product(inverse.as_ref(), s.w());
    let x = Mat::from_fn(d, k, |i, j| z[(i, j)] / s.psi()[i].sqrt());
    let shift = &epsilon - product(s.w().transpose(), x.as_ref());
    let expected = &x + product(l.as_ref(), shift.as_ref());
    let ours = s.factor(Par::Seq).unwrap().ensemble_transform(z.as_ref(), epsilon.as_ref(), Par::Seq).unwrap();
    let tolerance = 16.0 * f64::EPSILON * condition(&s, &dense(&s)) * expected.norm_max();
    assert!(max_difference(ours.as_ref(), expected.as_ref()) <= tolerance);
}

#[test]
fn a_diagonal_matrix_is_exact() {
    let s = LowRank::diagonal_only(&[2.0, 0.5], 0).unwrap();
    let factored = s.factor(Par::Seq).unwrap();
    assert_eq!(factored.log_det(), 0.0);
    assert_eq!(factored.diagonal_of_inverse(Par::Seq).unwrap(), [0.5, 2.0]);
    assert_eq!(factored.quadratic_form_inverse(&[2.0, 1.0], Par::Seq).unwrap(), 4.0);
    let zero_columns = LowRank::diagonal_only(&[2.0, 0.5], 3).unwrap();
    assert_eq!(zero_columns.factor(Par::Seq).unwrap().diagonal_of_inverse(Par::Seq).unwrap(), [0.5, 2.0]);
    let z = mat![[2.0_f64.sqrt()], [1.0]];
    let draw = factored.ensemble_transform(z.as_ref(), Mat::zeros(0, 1).as_ref(), Par::Seq).unwrap();
    assert_eq!(draw[(0, 0)], 1.0);
}

#[test]
fn dimension_zero_is_a_matrix_too() {
    let s = LowRank::new(Mat::zeros(0, 3).as_ref(), &[]).unwrap();
    let factored = s.factor(Par::Seq).unwrap();
    assert_eq!(factored.log_det(), 0.0);
    assert_eq!(factored.trace_of_inverse(Par::Seq), Ok(0.0));
    assert_eq!(factored.draw_inverse(2, &mut rng(1), Par::Seq).shape(), (0, 2));
}

#[test]
fn bad_arguments_are_named() {
    let w = mat![[1.0], [2.0]];
    let message = |result: Result<LowRank, LinalgError>| result.unwrap_err().to_string();
    assert_eq!(message(LowRank::new(w.as_ref(), &[1.0])), "rows of W: expected 1, found 2");
    assert_eq!(message(LowRank::new(w.as_ref(), &[1.0, 0.0])), "psi[1] = 0 must be positive");
    assert_eq!(message(LowRank::new(w.as_ref(), &[-2.0, 1.0])), "psi[0] = -2 must be positive");
    let nan = "psi has the non-finite value NaN at row 1, column 0";
    assert_eq!(message(LowRank::new(w.as_ref(), &[1.0, f64::NAN])), nan);
    let bad = mat![[1.0, 1.0], [2.0, f64::INFINITY]];
    let infinite = "W has the non-finite value inf at row 1, column 1";
    assert_eq!(message(LowRank::new(bad.as_ref(), &[1.0, 1.0])), infinite);
    assert_eq!(message(LowRank::from_row_major(vec![1.0, 1.0, 2.0, f64::INFINITY], 2, vec![1.0, 1.0])), infinite);
    let short = "elements of W: expected 4, found 3";
    assert_eq!(message(LowRank::from_row_major(vec![1.0; 3], 2, vec![1.0, 1.0])), short);

    let s = LowRank::new(w.as_ref(), &[1.0, 1.0]).unwrap();
    let dimension = |what, expected, found| Some(LinalgError::Dimension { what, expected, found });
    let long = Mat::<f64>::zeros(3, 1);
    assert_eq!(s.mul(long.as_ref(), Par::Seq).err(), dimension("X", 2, 3));
    let factored = s.factor(Par::Seq).unwrap();
    assert_eq!(factored.solve(long.as_ref(), Par::Seq).err(), dimension("right-hand side", 2, 3));
    let mut out = [7.0; 2];
    let infinity = LinalgError::NonFinite { what: "right-hand side", row: 1, column: 0, value: f64::INFINITY };
    assert_eq!(factored.solve_vec(&mut out, &[1.0, f64::INFINITY], Par::Seq), Err(infinity));
    assert_eq!(factored.solve_vec(&mut out[..1], &[1.0, 1.0], Par::Seq).err(), dimension("length of out", 2, 1));
    assert_eq!(out, [7.0; 2]);
    let epsilon = Mat::zeros(2, 1);
    let z = Mat::zeros(2, 1);
    let failed = factored.ensemble_transform(z.as_ref(), epsilon.as_ref(), Par::Seq).err();
    assert_eq!(failed, dimension("rows of epsilon", 1, 2));
    let failed = kl_of_precisions(&[0.0], &factored, &[0.0; 2], &factored, Par::Seq).err();
    assert_eq!(failed, dimension("mean of q", 2, 1));
    let capacitance = Capacitance::from_gram(Mat::zeros(2, 2)).unwrap();
    assert_eq!(s.factor_with(capacitance).err(), dimension("rows of the capacitance", 1, 2));
    let indefinite = Capacitance::from_gram(mat![[-2.0]]);
    assert_eq!(indefinite.err(), Some(LinalgError::NotPositiveDefinite { pivot: 0 }));
}

#[test]
fn extreme_entries_give_errors_and_no_panic() {
    let s = LowRank::new(mat![[1e200], [1.0]].as_ref(), &[1e-200, 1.0]).unwrap();
    assert!(matches!(s.factor(Par::Seq), Err(LinalgError::NonFinite { .. })));
    // t₀ = 1 to rounding: nothing of 1 − t₀ is left, unless rounding leaves it positive.
    let s = LowRank::new(mat![[1e12], [1.0]].as_ref(), &[1e-12, 1.0]).unwrap();
    let diagonal = s.factor(Par::Seq).unwrap().diagonal_of_inverse(Par::Seq);
    assert!(diagonal.is_err() || diagonal.is_ok_and(|diagonal| diagonal.iter().all(|&value| value > 0.0)));
}

#[cfg(feature = "rayon")]
#[test]
fn threads_change_no_bit() {
    use crate::SymmetricOperator;
    let s = random(&mut rng(5), 20_000, 3);
    let x = matrix(&mut rng(6), 20_000, 2);
    let results = |par| {
        let factored = s.factor(par).unwrap();
        let quantities = [
            factored.log_det(),
            factored.trace_of_inverse(par).unwrap(),
            s.quadratic_form(x.col_as_slice(0), par),
            factored.quadratic_form_inverse(x.col_as_slice(0), par).unwrap(),
        ];
        (
            quantities,
            s.mul(x.as_ref(), par).unwrap(),
            factored.solve(x.as_ref(), par).unwrap(),
            s.draw(2, &mut rng(7), par),
            factored.draw_inverse(2, &mut rng(7), par),
        )
    };
    let one = results(Par::Seq);
    for threads in [2, 3] {
        assert_eq!(results(Par::rayon(threads)), one);
    }
}

#[test]
fn matrices_beyond_memory_are_errors() {
    for p in [usize::MAX, usize::MAX / 2 + 1, usize::MAX / 16] {
        let expected = LinalgError::TooLarge { what: "W", rows: 2, columns: p };
        assert_eq!(LowRank::from_row_major(Vec::new(), p, vec![1.0, 1.0]), Err(expected.clone()));
        assert_eq!(LowRank::diagonal_only(&[1.0, 1.0], p), Err(expected));
    }
}
