use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::*;

/// Both forms of one step, and both layouts of the rows.
#[test]
fn the_two_forms_agree() {
    for (n, d) in [(9, 4), (4, 9), (6, 6), (1, 5), (5, 1), (600, 3)] {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut draw = || -> f64 { StandardNormal.sample(&mut rng) };
        let x = Mat::from_fn(n, d, |_, _| draw());
        let by_rows: Vec<f64> = (0..n).flat_map(|i| (0..d).map(move |j| (i, j))).map(|at| x[at]).collect();
        let rows = MatRef::from_row_major_slice(&by_rows, n, d);
        let r: Vec<f64> = (0..n).map(|_| draw()).collect();
        let h: Vec<f64> = (0..n).map(|_| draw().abs() + 0.1).collect();
        let alphas = [Shrinkage::Shared(0.7), Shrinkage::PerWeight((0..d).map(|_| draw().abs() + 0.2).collect())];
        for (shrinkage, weighted) in alphas.iter().flat_map(|alpha| [(alpha, true), (alpha, false)]) {
            let answers = [(x.as_ref(), false), (rows, false), (x.as_ref(), true), (rows, true)].map(|(x, dual)| {
                let mut ridge = Ridge::new(x, dual, Par::Seq);
                // Twice: the second time from what the first one kept.
                for _ in 0..2 {
                    if weighted {
                        ridge.solve_weighted(shrinkage.clone(), &h, &r).unwrap();
                    } else {
                        ridge.solve_unweighted(shrinkage.clone(), &r).unwrap();
                    }
                }
                let (mut a, mut nu) = (vec![0.0; n], vec![0.0; n]);
                ridge.project(&mut a, &mut nu);
                let mut all = ridge.mean().to_vec();
                all.push(ridge.log_det());
                all.extend(ridge.variances());
                all.extend(a);
                all.extend(nu);
                let (weights, _) = ridge.finish(&r).unwrap();
                all.extend(weights.variances());
                all.push(weights.energy());
                all.extend(weights.project(x).unwrap().iter().map(|seen| seen.variance));
                all
            });
            for other in &answers[1..] {
                for (k, (a, b)) in answers[0].iter().zip(other).enumerate() {
                    // κ below 1e4 for rows like these.
                    assert!((a - b).abs() < 1e-10 * (1.0 + a.abs()), "{n} {d} {weighted}: {k}: {a} {b}");
                }
            }
        }
    }
}

#[test]
fn a_factor_that_rounding_denies_is_made_by_reflections() {
    // Two equal columns of size 10⁹ under a shrinkage of 10⁻³, which XᵀX cannot hold: its second pivot is 0 exactly.
    let x = Mat::from_fn(1, 2, |_, _| 1e9);
    let mut ridge = Ridge::new(x.as_ref(), false, Par::Seq);
    ridge.solve_unweighted(Shrinkage::Shared(1e-3), &[1e9]).unwrap();
    assert_eq!(ridge.reflections, 1);
    for w in ridge.mean() {
        assert!((w - 0.5).abs() < 1e-6, "{w}");
    }
    // ln|V⁻¹| = ln α + ln(α + 2·10¹⁸); the factor keeps √α to ε·10⁹.
    let log_det = 1e-3_f64.ln() + 2e18_f64.ln();
    assert!((ridge.log_det() + log_det).abs() < 1e-4, "{}", ridge.log_det());
}

#[test]
fn the_condition_is_that_of_the_scaled_precision() {
    // Columns of very different units, correlation ρ: κ = (1+ρ)/(1−ρ).
    let x = Mat::from_fn(4, 2, |i, j| {
        let [u, v] = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]][i];
        if j == 0 { 1e6 * u } else { 1e-3 * (0.8 * u + 0.6 * v) }
    });
    let mut ridge = Ridge::new(x.as_ref(), false, Par::Seq);
    ridge.solve_unweighted(Shrinkage::Shared(1e-20), &[1.0, 2.0, 3.0, 4.0]).unwrap();
    let (_, condition) = ridge.finish(&[1.0, 2.0, 3.0, 4.0]).unwrap();
    assert!((condition - 1.8 / 0.2).abs() < 1e-3, "{condition}");
}
