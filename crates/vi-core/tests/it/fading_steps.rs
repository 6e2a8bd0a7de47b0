//! A step that fades is a fade and a step: for every belief, over rows dense and sparse, in blocks and between them.

use rand::RngExt;
use vi_core::{
    Belief, DenseGaussian, DiagonalGaussian, Error, Explicit, Forget, GaussianLikelihood, LowRankGaussian,
    LowRankSettings, Row, Site, SiteRule, SquareRootGaussian, filter,
};
use vi_linalg::faer::Par;

use crate::common::{labels, rng};

const D: usize = 6;

/// Rows with two entries each, every third with all.
fn data(n: usize) -> Vec<(Vec<usize>, Vec<f64>)> {
    let mut rng = rng(501);
    (0..n)
        .map(|t| {
            let positions: Vec<usize> = if t % 3 == 0 { (0..D).collect() } else { vec![t % (D - 1), D - 1] };
            let values = positions.iter().map(|_| rng.random::<f64>() - 0.5).collect();
            (positions, values)
        })
        .collect()
}

/// `project`, the rule, `prepare`, `commit` with a fade.
fn step<B: Belief>(belief: &mut B, x: Row<'_>, y: f64, fade: f64, memory: &mut B::Step) -> Result<(), Error> {
    let seen = belief.project(x, fade, memory)?;
    let site = rule().site(seen.mean, seen.variance, y)?;
    belief.absorb(x, site, memory)
}

fn rule() -> Explicit<GaussianLikelihood> {
    Explicit(GaussianLikelihood::new(0.3).unwrap())
}

/// Both ways, and what they see along a row at the end.
fn twins<B: Forget + Clone>(start: &B, n: usize, lambda: f64) {
    let y = labels(n, &mut rng(502));
    let (mut inside, mut before) = (start.clone(), start.clone());
    let (mut memory, mut scratch) = (B::Step::default(), filter::Scratch::default());
    for ((positions, values), y) in data(n).iter().zip(&y) {
        step(&mut inside, (positions, values).into(), *y, lambda, &mut memory).unwrap();
        before.fade(lambda).unwrap();
        filter::step(&mut before, &rule(), (positions, values), *y, &mut scratch).unwrap();
    }
    let along = [0.3, -0.2, 0.5, 0.1, -0.9, 0.4];
    let (seen, expected) = (inside.predict(&along).unwrap(), before.predict(&along).unwrap());
    // n steps of D terms; what is forgotten multiplies earlier rounding by up to λ⁻ⁿ = 70.
    let tolerance = 1e3 * (n * D) as f64 * f64::EPSILON;
    assert!(
        (seen.mean - expected.mean).abs() <= tolerance * expected.variance.sqrt().max(1.0),
        "{seen:?} {expected:?}"
    );
    assert!((seen.variance / expected.variance - 1.0).abs() <= tolerance, "{seen:?} {expected:?}");
    for (a, b) in inside.mean().iter().zip(before.mean()) {
        assert!((a - b).abs() <= tolerance * expected.variance.sqrt().max(1.0), "{a} {b}");
    }
}

#[test]
fn a_step_that_fades_is_a_fade_and_a_step() {
    for lambda in [0.9, 0.99] {
        twins(&DenseGaussian::isotropic(&[0.1; D], 1.5).unwrap(), 40, lambda);
        twins(&SquareRootGaussian::isotropic(&[0.1; D], 1.5).unwrap(), 40, lambda);
        twins(&DiagonalGaussian::isotropic(&[0.1; D], 1.5).unwrap(), 40, lambda);
        for form in [
            LowRankSettings::blocked(2).unwrap().with_block(7).unwrap(),
            LowRankSettings::blocked(2).unwrap().with_block(1).unwrap(),
            LowRankSettings::one_loop(2).unwrap(),
        ] {
            twins(&LowRankGaussian::isotropic(&[0.1; D], 1.5, form).unwrap(), 40, lambda);
        }
    }
}

/// Scales that run down are multiplied in: every row sees everything, so nothing but the scale gets small.
#[test]
fn small_scales_are_multiplied_in() {
    let dense = [0.5, -0.3, 0.2, 0.4, -0.6, 0.1];
    let (mut diagonal, mut memory) =
        (DiagonalGaussian::isotropic(&[0.0; D], 1.0).unwrap(), vi_core::DiagonalStep::default());
    let form = LowRankSettings::blocked(2).unwrap().with_block(4).unwrap();
    let mut low_rank = LowRankGaussian::isotropic(&[0.0; D], 1.0, form).unwrap();
    let mut of_low_rank = vi_core::LowRankStep::default();
    let mut precisions = [1.0; D];
    for _ in 0..1200 {
        // λ = ½: the diagonal's scale is below 10⁻¹⁵⁴ after some 500 rows, the other's below 10⁻¹⁹ after 64.
        let site = Site { slope: 0.0, curvature: 1.0 };
        diagonal.project((&dense).into(), 0.5, &mut memory).unwrap();
        diagonal.absorb((&dense).into(), site, &mut memory).unwrap();
        precisions.iter_mut().zip(dense).for_each(|(p, x)| *p = 0.5 * *p + x * x);
    }
    for (found, expected) in diagonal.precisions().iter().zip(precisions) {
        assert!((found / expected - 1.0).abs() < 1200.0 * f64::EPSILON, "{found} {expected}");
    }
    let mut twin = low_rank.clone();
    for t in 0..300 {
        let x: [f64; D] = std::array::from_fn(|i| dense[(i + t) % D]);
        let site = Site { slope: 0.1, curvature: 1.0 };
        low_rank.project((&x).into(), 0.5, &mut of_low_rank).unwrap();
        low_rank.absorb((&x).into(), site, &mut of_low_rank).unwrap();
        twin.fade(0.5).unwrap();
        twin.project((&x).into(), 1.0, &mut of_low_rank).unwrap();
        twin.absorb((&x).into(), site, &mut of_low_rank).unwrap();
    }
    let (seen, expected) = (low_rank.predict(&dense, Par::Seq).unwrap(), twin.predict(&dense, Par::Seq).unwrap());
    assert!((seen.variance / expected.variance - 1.0).abs() < 1e-9, "{seen:?} {expected:?}");
    assert!((seen.mean - expected.mean).abs() < 1e-9 * expected.mean.abs().max(1.0), "{seen:?} {expected:?}");
}
