//! Online EM against its equations, and its averages.

use vi_linalg::faer::{Mat, Par};
use vi_linalg::{Cholesky, LowRank};

use super::{dense, distance, factor, normal, rng};
use crate::factor::{Averaging, OnlineEm, OnlineSettings};

fn settings(averaging: Averaging) -> OnlineSettings {
    OnlineSettings { exponent: 0.6, averaging, ..OnlineSettings::default() }
}

/// (110) with dense matrices, `S₁` in full, starting from iterates `c`.
fn twin(start: &LowRank, x: &Mat<f64>) -> Vec<LowRank> {
    let (d, p) = (start.dim(), start.rank());
    let (mut s1, mut s2, mut s3) = (Mat::<f64>::zeros(d, d), Mat::<f64>::zeros(p, d), Mat::<f64>::zeros(p, p));
    let mut c = start.clone();
    let mut iterates = Vec::new();
    for t in 0..x.nrows() {
        let gamma = if t == 0 { 1.0 } else { (t as f64).powf(-0.6) };
        let v = x.row(t).transpose().to_owned();
        // E[z|v] = Wᵀ(WWᵀ + Ψ)⁻¹v and Cov = I − Wᵀ(WWᵀ + Ψ)⁻¹W, by conditioning with (107).
        let root = Cholesky::new(dense(&c).as_ref()).unwrap();
        let gain = root.solve(c.w()).unwrap();
        let z = gain.transpose() * v.as_mat();
        let spread = Mat::<f64>::identity(p, p) - gain.transpose() * c.w();
        s1 = s1 * (1.0 - gamma) + v.as_mat() * v.as_mat().transpose() * gamma;
        s2 = s2 * (1.0 - gamma) + &z * v.as_mat().transpose() * gamma;
        s3 = s3 * (1.0 - gamma) + (spread + &z * z.transpose()) * gamma;
        let w = Cholesky::new(s3.as_ref()).unwrap().solve(s2.as_ref()).unwrap().transpose().to_owned();
        let explained = &w * &s2;
        let psi: Vec<f64> = (0..d).map(|i| s1[(i, i)] - explained[(i, i)]).collect();
        c = LowRank::new(w.as_ref(), &psi).unwrap();
        iterates.push(c.clone());
    }
    iterates
}

#[test]
fn the_iterates_are_those_of_the_equations() {
    for p in [0, 1] {
        let rng = &mut rng(1);
        let (start, x) = (factor(5, p, rng), normal(30, 5, rng));
        let expected = twin(&start, &x);
        let mut em = OnlineEm::new(start, &settings(Averaging::Off)).unwrap();
        for t in 0..x.nrows() {
            em.run(x.as_ref().subrows(t, 1), Par::Seq).unwrap();
            // Thirty steps, each of condition about a hundred.
            assert!(distance(&dense(em.factor()), &dense(&expected[t])) < 1e5 * f64::EPSILON, "p = {p}, {t}");
        }
        assert_eq!((em.seen(), em.floored()), (30, 0));
    }
}

#[test]
fn the_average_is_beside_the_recursion() {
    let rng = &mut rng(2);
    let (start, x) = (factor(4, 1, rng), normal(12, 4, rng));
    let (mut off, mut averaged) = (
        OnlineEm::new(start.clone(), &settings(Averaging::Off)).unwrap(),
        OnlineEm::new(start, &settings(Averaging::After { from: 8 })).unwrap(),
    );
    let mut sum = Mat::<f64>::zeros(4, 1);
    for t in 0..12 {
        for em in [&mut off, &mut averaged] {
            em.run(x.as_ref().subrows(t, 1), Par::Seq).unwrap();
        }
        if t < 8 {
            assert_eq!(off.factor(), averaged.factor());
        } else {
            sum += off.factor().w();
        }
    }
    assert!((averaged.factor().w() - &sum * 0.25).norm_max() < 1e1 * f64::EPSILON);
    assert_ne!(off.factor(), averaged.factor());
}

#[test]
fn the_printed_average_enters_the_recursion() {
    let rng = &mut rng(3);
    let (start, x) = (factor(4, 1, rng), normal(9, 4, rng));
    let printed = |n: usize| {
        let mut em = OnlineEm::new(start.clone(), &settings(Averaging::AsPrinted { after: 5 })).unwrap();
        em.run(x.as_ref().subrows(0, n), Par::Seq).unwrap();
        em.factor().clone()
    };
    let off = |n: usize| {
        let mut em = OnlineEm::new(start.clone(), &settings(Averaging::Off)).unwrap();
        em.run(x.as_ref().subrows(0, n), Par::Seq).unwrap();
        em.factor().clone()
    };
    // t = 6 is the first with t̃ = 1, which takes the new iterate alone; t = 7 takes half of each.
    assert_eq!(printed(7), off(7));
    let expected = (off(7).w() + off(8).w()) * 0.5;
    assert!((printed(8).w() - &expected).norm_max() < 1e1 * f64::EPSILON);
    assert!((printed(9).w() - (&expected * (2.0 / 3.0) + off(9).w() * (1.0 / 3.0))).norm_max() > 1e-6);
}
