//! Inputs that fall silent while everything fades: the belief stays one that rows can be learned by.

use proptest::prelude::*;
use vi_core::{
    Belief, DiagonalGaussian, Explicit, Forgetting, GaussianBelief, GaussianLikelihood, LowRankGaussian,
    LowRankSettings, SquareRootGaussian, filter,
};

#[test]
fn a_diagonal_returns_to_its_start_in_one_step() {
    let start = DiagonalGaussian::new(&[1.0, -2.0, 0.5], &[2.0, 0.5, 1.0]).unwrap();
    let (mut by_scales, mut by_mixing) = (start.clone(), start.clone());
    let towards = Forgetting::towards(&start, 0.9).unwrap();
    let rule = Explicit(GaussianLikelihood::new(0.4).unwrap());
    let mut scratch = filter::Scratch::default();
    for t in 0..200 {
        let x = [(f64::from(t)).sin(), 0.3, f64::from(t % 3)];
        for belief in [&mut by_scales, &mut by_mixing] {
            filter::step(belief, &rule, &x, f64::from(t % 5), &mut scratch).unwrap();
        }
        by_scales.return_to_start(0.9).unwrap();
        towards.apply(&mut by_mixing).unwrap();
    }
    for i in 0..3 {
        let (a, b) = (by_scales.precisions()[i], by_mixing.precisions()[i]);
        // What is forgotten takes its roundings with it: ten rows of a few.
        assert!((a / b - 1.0).abs() < 200.0 * f64::EPSILON, "{a} {b}");
        assert!((by_scales.mean()[i] - by_mixing.mean()[i]).abs() < 1e4 * f64::EPSILON);
    }
    assert!(by_scales.return_to_start(0.0).is_err() && by_scales.return_to_start(f64::NAN).is_err());
}

proptest! {
    /// However rows come, what returns towards the prior is nowhere wider than it, and all beliefs of full rank agree.
    #[test]
    fn returns_are_bounded_by_the_prior(
        rows in prop::collection::vec((prop::array::uniform3(-3.0..3.0_f64), -5.0..5.0_f64, 0..3_usize), 1..60),
        lambda in 0.3..1.0_f64,
    ) {
        let variances = [4.0, 0.25, 1.0];
        let prior = DiagonalGaussian::new(&[0.5, 0.0, -1.0], &variances).unwrap().to_dense().unwrap();
        let root = SquareRootGaussian::from_dense(&prior).unwrap();
        let low = LowRankGaussian::new(prior.mean(), &variances, LowRankSettings::one_loop(3).unwrap()).unwrap();
        let rule = Explicit(GaussianLikelihood::new(0.5).unwrap());
        let (mut dense, mut square, mut factors) = (prior.clone(), root.clone(), low.clone());
        let (mut a, mut b, mut c) = (filter::Scratch::default(), filter::Scratch::default(), filter::Scratch::default());
        for (x, y, quiet) in &rows {
            let mut x = *x;
            x[*quiet] = 0.0;
            filter::step(&mut dense, &rule, &x, *y, &mut a).unwrap();
            filter::step(&mut square, &rule, &x, *y, &mut b).unwrap();
            filter::step(&mut factors, &rule, &x, *y, &mut c).unwrap();
            Forgetting::towards(&prior, lambda).unwrap().apply(&mut dense).unwrap();
            Forgetting::towards(&root, lambda).unwrap().apply(&mut square).unwrap();
            Forgetting::towards(&low, lambda).unwrap().apply(&mut factors).unwrap();
        }
        // Sixty steps and returns at a condition of some 10⁴.
        let tolerance = 60.0 * 1e4 * f64::EPSILON;
        for along in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, -1.0, 0.5], [0.2, 2.0, -1.0]] {
            let widest: f64 = along.iter().zip(variances).map(|(x, v)| x * x * v).sum();
            let seen = dense.predict(&along).unwrap();
            prop_assert!(seen.variance > 0.0 && seen.variance <= widest * (1.0 + tolerance));
            let twin = square.predict(&along).unwrap();
            prop_assert!((twin.variance / seen.variance - 1.0).abs() < tolerance);
            prop_assert!((twin.mean - seen.mean).abs() < tolerance * (1.0 + seen.mean.abs()));
            let bounded = factors.predict(&along, vi_linalg::faer::Par::Seq).unwrap();
            prop_assert!(bounded.variance > 0.0 && bounded.variance <= widest * (1.0 + 1e-9));
        }
    }
}
