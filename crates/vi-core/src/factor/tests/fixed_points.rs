//! Where EM and the likelihood's equations come to rest, and their limits without noise (Appendix B).

use crate::Stop;
use vi_linalg::faer::{Mat, Par, Side};
use vi_linalg::{Cholesky, DenseSymmetric, LowRank};

use super::{covariance, dense, distance, factor, normal, rng};
use crate::factor::em::{likelihood_factor, likelihood_step};
use crate::factor::{Diagonal, DiagonalSettings, EmSettings, run, start_isotropic, step};

/// EM's steps shrink by a factor of up to about 0.99 in these cases: what is left after a step of 1e-13 is 1e-11.
const SETTLED: f64 = 1e-9;

fn iterate(s: &Mat<f64>, c: &mut LowRank, form: Diagonal, n: usize) {
    for _ in 0..n {
        step(&DenseSymmetric::new(s.as_ref()), c, &DiagonalSettings { form, floor: None }, Par::Seq).unwrap();
    }
}

/// A covariance of factor-analysis form and a little more, so that EM ends inside.
fn nearly_of_form(d: usize, p: usize, seed: u64) -> Mat<f64> {
    let rng = &mut rng(seed);
    dense(&factor(d, p, rng)) + covariance(d, rng) * 0.1
}

#[test]
fn the_fixed_points_of_em_and_of_the_likelihood_are_the_same() {
    for seed in 0..5 {
        let s = nearly_of_form(8, 2, seed);
        let target = DenseSymmetric::new(s.as_ref());
        let mut c = factor(8, 2, &mut rng(seed + 100));
        iterate(&s, &mut c, Diagonal::Free, 20_000);
        let at_rest = c.clone();
        likelihood_step(&target, &mut c, &DiagonalSettings::default(), Par::Seq).unwrap();
        assert!((c.w() - at_rest.w()).norm_max() < SETTLED, "{seed}");
        assert!(distance(&dense(&c), &dense(&at_rest)) < SETTLED, "{seed}");

        // From beside it, the likelihood's own iteration comes back, and EM then stays.
        let nudged: Vec<f64> = c.psi().iter().map(|psi| 1.01 * psi).collect();
        let mut c = LowRank::new(c.w(), &nudged).unwrap();
        for _ in 0..2_000 {
            likelihood_step(&target, &mut c, &DiagonalSettings::default(), Par::Seq).unwrap();
        }
        let before = c.clone();
        iterate(&s, &mut c, Diagonal::Free, 1);
        assert!(distance(&dense(&c), &dense(&before)) < SETTLED, "{seed}");
        assert!(distance(&dense(&c), &dense(&at_rest)) < SETTLED, "{seed}");
    }
}

#[test]
fn a_matrix_of_the_form_is_a_fixed_point_of_both() {
    let c = factor(7, 3, &mut rng(1));
    let s = dense(&c);
    let rounding = 1e3 * f64::EPSILON;
    let (mut em, mut likelihood) = (c.clone(), c.clone());
    iterate(&s, &mut em, Diagonal::Free, 1);
    likelihood_step(&DenseSymmetric::new(s.as_ref()), &mut likelihood, &DiagonalSettings::default(), Par::Seq).unwrap();
    for after in [em, likelihood] {
        assert!((after.w() - c.w()).norm_max() < rounding);
        assert!(after.psi().iter().zip(c.psi()).all(|(a, b)| (a - b).abs() < rounding));
    }
}

#[test]
fn principal_components_have_their_closed_form() {
    // Tipping and Bishop: σ² is the mean of the eigenvalues left out, and C keeps the others.
    let (d, p) = (6, 2);
    let s = covariance(d, &mut rng(2)) + {
        let w = normal(d, p, &mut rng(3));
        &w * w.transpose()
    };
    let mut c = start_isotropic(d, p, 1.0, 1e-2, &mut rng(4)).unwrap();
    let settings = EmSettings {
        tolerance: 1e-16,
        max_iterations: 100_000,
        diagonal: DiagonalSettings { form: Diagonal::Isotropic, floor: None },
    };
    let info = run(&DenseSymmetric::new(s.as_ref()), &mut c, &settings, Par::Seq).unwrap();
    assert_eq!(info.stop, Stop::Converged);
    let eigen = s.self_adjoint_eigen(Side::Lower).unwrap();
    let (values, vectors) = (eigen.S().column_vector(), eigen.U());
    let sigma2 = (0..d - p).map(|i| values[i]).sum::<f64>() / (d - p) as f64;
    let expected = Mat::from_fn(d, d, |i, j| {
        let kept: f64 = (d - p..d).map(|k| (values[k] - sigma2) * vectors[(i, k)] * vectors[(j, k)]).sum();
        kept + if i == j { sigma2 } else { 0.0 }
    });
    // The loss is flat at its minimum: 1e-15 of it is √1e-15 in C.
    assert!(distance(&dense(&c), &expected) < 1e-6);
    assert!((c.psi()[0] - sigma2).abs() < 1e-6 * sigma2);
}

/// `W` and `S` of a case with `Ψ = σ²I`, `σ²` so small that the limit is reached to about `σ²`.
fn without_noise(sigma2: f64) -> (Mat<f64>, LowRank) {
    let rng = &mut rng(5);
    let (s, w) = (covariance(6, rng), normal(6, 2, rng));
    (s, LowRank::new(w.as_ref(), &[sigma2; 6]).unwrap())
}

fn inverse(a: &Mat<f64>) -> Mat<f64> {
    Cholesky::new(a.as_ref()).unwrap().inverse()
}

#[test]
fn the_likelihood_becomes_the_power_iteration() {
    // (93): W⁺ = SW(σ²I + WᵀW)⁻¹, at any σ².
    for sigma2 in [1.0, 1e-3, 1e-9] {
        let (s, c) = without_noise(sigma2);
        let found = likelihood_factor(&DenseSymmetric::new(s.as_ref()), &c, Par::Seq).unwrap();
        let w = c.w();
        let gram = w.transpose() * w + Mat::<f64>::identity(2, 2) * sigma2;
        let expected = &s * w * inverse(&gram);
        // M = I + WᵀW/σ² loses what σ² is of it.
        assert!(distance(&found, &expected) < 1e2 * f64::EPSILON / sigma2.min(1.0), "{sigma2}");
    }
    // (94) in the limit, (95) for one column, whose iteration ends along the first eigenvector; its length alternates between
    // two numbers whose product is λ.
    let (s, c) = without_noise(1e-9);
    let found = likelihood_factor(&DenseSymmetric::new(s.as_ref()), &c, Par::Seq).unwrap();
    let limit = &s * c.w() * inverse(&(c.w().transpose() * c.w()));
    assert!(distance(&found, &limit) < 1e-7);

    let mut w = Mat::from_fn(6, 1, |i, _| c.w()[(i, 0)]);
    let mut before = w.norm_l2();
    for _ in 0..2_000 {
        before = w.norm_l2();
        let one = LowRank::new(w.as_ref(), &[1e-9; 6]).unwrap();
        w = likelihood_factor(&DenseSymmetric::new(s.as_ref()), &one, Par::Seq).unwrap();
    }
    let eigen = s.self_adjoint_eigen(Side::Lower).unwrap();
    let (value, first) = (eigen.S().column_vector()[5], eigen.U().col(5));
    let cosine = (0..6).map(|i| w[(i, 0)] * first[i]).sum::<f64>() / w.norm_l2();
    assert!((cosine.abs() - 1.0).abs() < 1e-7);
    assert!((w.norm_l2() * before / value - 1.0).abs() < 1e-6);
}

#[test]
fn em_becomes_em_for_principal_components() {
    // (96) at any σ².
    for sigma2 in [1.0, 1e-3, 1e-8] {
        let (s, c) = without_noise(sigma2);
        let mut found = c.clone();
        step(
            &DenseSymmetric::new(s.as_ref()),
            &mut found,
            &DiagonalSettings { form: Diagonal::Isotropic, floor: None },
            Par::Seq,
        )
        .unwrap();
        let (w, identity) = (c.w(), Mat::<f64>::identity(2, 2));
        let gram = inverse(&(w.transpose() * w + &identity * sigma2));
        let right = &identity * sigma2 + &gram * (w.transpose() * &s * w);
        let expected = (&s * w) * right.partial_piv_inverse();
        assert!(distance(&found.w().to_owned(), &expected) < 1e2 * f64::EPSILON / sigma2.min(1.0), "{sigma2}");
    }
    // (97) in the limit; it is Roweis' two lines (98)-(99) for any Y with S = YYᵀ.
    let (s, c) = without_noise(1e-8);
    let mut found = c.clone();
    step(
        &DenseSymmetric::new(s.as_ref()),
        &mut found,
        &DiagonalSettings { form: Diagonal::Isotropic, floor: None },
        Par::Seq,
    )
    .unwrap();
    let w = c.w();
    let limit = &s * w * inverse(&(w.transpose() * &s * w)) * (w.transpose() * w);
    assert!(distance(&found.w().to_owned(), &limit) < 1e-6);

    let y = Cholesky::new(s.as_ref()).unwrap().into_factor();
    let x = inverse(&(w.transpose() * w)) * (w.transpose() * &y);
    let roweis = &y * x.transpose() * inverse(&(&x * x.transpose()));
    assert!(distance(&roweis, &limit) < 1e3 * f64::EPSILON);
}

trait Inverse {
    fn partial_piv_inverse(&self) -> Mat<f64>;
}

impl Inverse for Mat<f64> {
    fn partial_piv_inverse(&self) -> Mat<f64> {
        use vi_linalg::faer::linalg::solvers::DenseSolveCore;
        self.partial_piv_lu().inverse()
    }
}

#[test]
fn em_lowers_the_loss_and_leaves_the_slow_start() {
    let s = nearly_of_form(10, 3, 6);
    // W₀ of size 1e-7: the loss hardly falls for some iterations.
    let mut c = start_isotropic(10, 3, 1.0, 1e-13, &mut rng(7)).unwrap();
    let info = run(&DenseSymmetric::new(s.as_ref()), &mut c, &EmSettings::default(), Par::Seq).unwrap();
    assert_eq!(info.stop, Stop::Converged);
    assert!(info.losses.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12));
    let plateau = info.losses.windows(2).any(|pair| (0.0..1e-9).contains(&(pair[0] - pair[1])));
    let after = info.losses[1] - info.losses[info.losses.len() - 1];
    assert!(plateau && after > 1.0, "{after}");
}
