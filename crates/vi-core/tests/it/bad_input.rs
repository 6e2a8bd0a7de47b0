//! Every entry point names what is wrong and leaves its state to the bit.

use vi_core::NaturalParameters;
use vi_core::batch::InformationGaussian;
use vi_core::block::{self, BlockScratch, BlockSettings};
use vi_core::papers::MeanParameters;
use vi_core::papers::black_box::{LogLikelihood, Nodes, Order0, StepSettings, explicit_step, implicit_step};
use vi_core::papers::{NaturalGradient, OnlineNewton};
use vi_core::{
    Belief, DenseGaussian, Error, Explicit, GaussianLikelihood, GlmPosterior, LowRankGaussian, LowRankSettings,
    QuadraticBound, batch, factor, filter,
    papers::{ekf, kalman},
    quadrature, refine,
};
use vi_linalg::LinalgError;
use vi_linalg::faer::{Mat, MatMut, MatRef, Par, mat};

use crate::common::{IMPLICIT, LOGIT, fails_at, prior, rng, view};

pub(crate) fn bits(belief: &DenseGaussian) -> Vec<u64> {
    let covariance = belief.covariance();
    let d = belief.dim();
    let entries = (0..d * d).map(|k| covariance[(k % d, k / d)].to_bits());
    belief.mean().iter().map(|m| m.to_bits()).chain(entries).collect()
}

/// Runs `action` on a fresh belief, expects an error of the shape `expected`, and the belief's bits unchanged.
fn refused(action: impl FnOnce(&mut DenseGaussian) -> Result<(), Error>, expected: impl FnOnce(&Error) -> bool) {
    let mut belief = prior(2, 1.0, &mut rng(31));
    let before = bits(&belief);
    let error = action(&mut belief).expect_err("bad input was accepted");
    assert!(expected(&error), "{error:?}");
    assert_eq!(bits(&belief), before);
}

fn step(belief: &mut DenseGaussian, x: &[f64], y: f64) -> Result<(), Error> {
    filter::step(belief, &IMPLICIT, x, y, &mut filter::Scratch::default()).map(drop)
}

/// What the bad input at random places of `tests/` does not hold: a position beyond the last.
#[test]
fn a_position_beyond_the_last_is_named() {
    let past = |b: &mut DenseGaussian| {
        filter::step(b, &IMPLICIT, (&[0, 2], &[1.0, 2.0]), 1.0, &mut filter::Scratch::default()).map(drop)
    };
    refused(past, |e| matches!(e, Error::Entry { argument: "positions", index: 1, value: 2.0, .. }));
    refused(
        |b| filter::step(b, &QuadraticBound::Once, &[1.0, 2.0], 0.5, &mut filter::Scratch::default()).map(drop),
        |e| matches!(e, Error::Label { .. }),
    );
}

#[test]
fn run_names_the_row_and_takes_all_or_nothing() {
    let good = [1.0, 0.5, -0.2, 0.4, 0.3, 0.9];
    let run = |b: &mut DenseGaussian, x: &[f64], y: &[f64]| filter::run(b, &IMPLICIT, view(x, 2), y, |_, _, _| {});
    let row = |expected: usize| move |e: &Error| matches!(e, Error::Row { row, .. } if *row == expected);
    let mut bad = good;
    bad[5] = f64::NEG_INFINITY;
    refused(|b| run(b, &bad, &[1.0, 0.0, 1.0]), row(2));
    refused(|b| run(b, &good, &[1.0, 0.0, 7.0]), row(2));
    refused(|b| run(b, &good, &[1.0, 0.0]), |e| matches!(e, Error::Dimension { argument: "y", .. }));
    let empty = MatRef::<f64>::from_row_major_slice(&[], 0, 2);
    refused(|b| filter::run(b, &IMPLICIT, empty, &[], |_, _, _| {}), |e| matches!(e, Error::Empty { argument: "x" }));
    let wide = MatRef::from_row_major_slice(&good, 2, 3);
    refused(
        |b| filter::run(b, &IMPLICIT, wide, &[1.0, 0.0], |_, _, _| {}),
        |e| matches!(e, Error::Dimension { argument: "columns of x", expected: 2, found: 3 }),
    );
    let late = fails_at(2);
    refused(
        |b| filter::run(b, &late, view(&good, 2), &[0.0; 3], |_, _, _| {}),
        |e| matches!(e, Error::Row { row: 2, source } if matches!(**source, Error::ImproperSite { .. })),
    );
}

#[test]
fn vector_updates_refuse_bad_matrices() {
    let h = mat![[1.0, 0.3], [0.2, -1.0]];
    let r = mat![[1.0, 0.2], [0.2, 1.0]];
    let update = |b: &mut DenseGaussian, h: MatRef<'_, f64>, y: &[f64], r: MatRef<'_, f64>| {
        kalman::step(b, h, y, r, Par::Seq).map(drop)
    };
    refused(|b| update(b, h.as_ref(), &[1.0], r.as_ref()), |e| matches!(e, Error::Dimension { .. }));
    refused(
        |b| update(b, h.as_ref(), &[1.0, f64::NAN], r.as_ref()),
        |e| matches!(e, Error::NonFinite { argument: "y", .. }),
    );
    let mut bad = h.clone();
    bad[(1, 0)] = f64::NAN;
    refused(
        |b| update(b, bad.as_ref(), &[1.0, 2.0], r.as_ref()),
        |e| matches!(e, Error::NonFinite { argument: "h", index: 1, .. }),
    );
    let indefinite = mat![[1.0, 2.0], [2.0, 1.0]];
    refused(
        |b| update(b, h.as_ref(), &[1.0, 2.0], indefinite.as_ref()),
        |e| matches!(e, Error::NotPositiveDefinite { argument: "r", pivot: 1 }),
    );
    let lopsided = mat![[1.0, 0.3], [0.2, 1.0]];
    refused(|b| update(b, h.as_ref(), &[1.0, 2.0], lopsided.as_ref()), |e| matches!(e, Error::NotSymmetric { .. }));
    refused(
        |b| update(b, MatRef::from_row_major_slice(&[], 0, 2), &[], Mat::zeros(0, 0).as_ref()),
        |e| matches!(e, Error::Empty { .. }),
    );
}

#[test]
fn results_beyond_floating_point_are_told() {
    refused(
        |b| step(b, &[1e200, 0.0], 1.0),
        |e| matches!(e, Error::Overflow { quantity: "xᵀPx", value } if value.is_infinite()),
    );
    let far = DenseGaussian::isotropic(&[-1e200, 0.0], 1.0).unwrap();
    let mut belief = far.clone();
    let error = step(&mut belief, &[1e150, 0.0], 1.0).unwrap_err();
    assert!(matches!(error, Error::Overflow { quantity: "xᵀμ", .. }));
    assert_eq!(bits(&belief), bits(&far));
    let (wide, narrow) =
        (DenseGaussian::isotropic(&[0.0], 1e150).unwrap(), DenseGaussian::isotropic(&[0.0], 1e-150).unwrap());
    assert!(matches!(
        vi_core::divergence::gaussian_kl(&wide, &narrow),
        Err(Error::Overflow { quantity: "KL(q‖p)", .. })
    ));
    let x = [1e200];
    let posterior = GlmPosterior::new(&narrow, view(&x, 1), &[1.0], LOGIT).unwrap();
    let kl = posterior.kl(&wide, Par::Seq).unwrap_err();
    assert!(matches!(&kl, Error::Row { row: 0, source } if matches!(**source, Error::Overflow { .. })));
}

#[test]
fn memory_of_another_size_is_refused() {
    let other = DenseGaussian::isotropic(&[0.0; 3], 1.0).unwrap();
    let mut scratch = BlockScratch::new(&other, BlockSettings::new(4).unwrap());
    let x = [1.0, 2.0];
    refused(
        |b| block::run(b, &IMPLICIT, view(&x, 2), &[1.0], &mut scratch, Par::Seq, |_, _, _| {}).map(drop),
        |e| matches!(e, Error::Dimension { argument: "scratch", expected: 2, found: 3 }),
    );
    assert!(matches!(BlockSettings::new(usize::MAX), Err(Error::Setting { name: "block", .. })));
    assert!(matches!(Nodes::antithetic_draws(1, usize::MAX / 2, &mut rng(1)), Err(Error::Setting { .. })));
    assert!(matches!(Nodes::gauss_hermite(1 << 40, 1), Err(Error::Setting { .. })));
    let mismatched = InformationGaussian::new(vec![0.0; 2], Mat::identity(1, 1));
    assert!(matches!(mismatched, Err(Error::Dimension { .. })));
    assert!(matches!(InformationGaussian::new(vec![f64::NAN], Mat::identity(1, 1)), Err(Error::NonFinite { .. })));
}

#[test]
fn natural_parameters_check_what_they_are_given() {
    let start = prior(2, 1.0, &mut rng(33));
    let mut natural = NaturalParameters::of(&start).unwrap();
    let before = natural.clone();
    let zero = Mat::<f64>::zeros(2, 2);
    assert!(matches!(natural.step(&[0.0; 2], &[f64::NAN, 0.0], zero.as_ref()), Err(Error::NonFinite { .. })));
    assert!(matches!(
        natural.step(&[0.0; 2], &[0.0; 2], mat![[0.0, 1.0], [2.0, 0.0]].as_ref()),
        Err(Error::NotSymmetric { .. })
    ));
    assert_eq!((&natural.first, &natural.second), (&before.first, &before.second));
    let torn = MeanParameters { first: vec![0.0; 2], second: Mat::zeros(1, 1) };
    assert!(matches!(natural.inner(&torn), Err(Error::Dimension { argument: "m₂", .. })));
    natural.second = Mat::zeros(1, 1);
    assert!(matches!(natural.step(&[0.0; 2], &[0.0; 2], zero.as_ref()), Err(Error::Dimension { argument: "η₂", .. })));
    let mut newton = OnlineNewton::new(&start).unwrap();
    newton.hessian = Mat::zeros(1, 1);
    assert!(matches!(newton.step(&[0.0; 2], zero.as_ref()), Err(Error::Dimension { .. })));
}

/// A model whose mean is not finite and whose covariance is singular, by choice.
struct Broken {
    mean: f64,
    variance: f64,
}

impl ekf::MeanModel for Broken {
    fn output_dim(&self) -> usize {
        1
    }
    fn mean(&self, _theta: &[f64], out: &mut [f64]) {
        out[0] = self.mean;
    }
    fn jacobian(&self, _theta: &[f64], mut out: MatMut<'_, f64>) {
        out[(0, 0)] = 1.0;
    }
    fn covariance(&self, _theta: &[f64], mut out: MatMut<'_, f64>) {
        out[(0, 0)] = self.variance;
    }
}

#[test]
fn extended_kalman_refuses_what_its_model_returns() {
    let go = |mean, variance, y: Vec<f64>| {
        move |b: &mut DenseGaussian| ekf::step(b, &Broken { mean, variance }, &y, Par::Seq).map(drop)
    };
    refused(go(f64::NAN, 1.0, vec![0.0]), |e| matches!(e, Error::NonFinite { argument: "h(μ)", .. }));
    refused(go(0.0, 0.0, vec![0.0]), |e| matches!(e, Error::NotPositiveDefinite { argument: "r", pivot: 0 }));
    refused(go(0.0, f64::NAN, vec![0.0]), |e| matches!(e, Error::NonFinite { argument: "r", .. }));
    refused(go(0.0, 1.0, vec![0.0, 1.0]), |e| matches!(e, Error::Dimension { argument: "y", .. }));
    refused(go(0.0, 1.0, vec![f64::NAN]), |e| matches!(e, Error::NonFinite { argument: "y", .. }));
}

struct Hole;

impl LogLikelihood for Hole {
    fn log_density(&self, theta: &[f64]) -> f64 {
        if theta[0] > 0.5 { f64::NAN } else { -theta[0] * theta[0] }
    }
}

#[test]
fn black_box_steps_refuse_holes_in_the_likelihood() {
    let nodes = Nodes::gauss_hermite(2, 3).unwrap();
    let settings = StepSettings::default();
    let hole = |e: &Error| matches!(e, Error::NonFinite { argument: "log density", .. });
    refused(|b| implicit_step(b, &Order0(&Hole, &nodes), &settings).map(drop), hole);
    refused(|b| explicit_step(b, &Order0(&Hole, &nodes)), hole);
    let narrow = Nodes::gauss_hermite(1, 3).unwrap();
    refused(|b| explicit_step(b, &Order0(&Hole, &narrow)), |e| matches!(e, Error::Dimension { argument: "nodes", .. }));
    assert!(matches!(
        StepSettings { tolerance: 0.0, max_iterations: 3 }.check(),
        Err(Error::Setting { name: "tolerance", .. })
    ));
    assert!(matches!(
        StepSettings { tolerance: 1e-3, max_iterations: 0 }.check(),
        Err(Error::Setting { name: "max_iterations", .. })
    ));
}

#[test]
fn online_forms_refuse_bad_derivatives() {
    let start = prior(2, 1.0, &mut rng(32));
    let mut newton = OnlineNewton::new(&start).unwrap();
    let before = newton.clone();
    let good = mat![[1.0, 0.1], [0.1, 1.0]];
    assert!(matches!(newton.step(&[1.0], good.as_ref()), Err(Error::Dimension { argument: "gradient", .. })));
    assert!(matches!(newton.step(&[1.0, f64::NAN], good.as_ref()), Err(Error::NonFinite { .. })));
    let indefinite = mat![[-9.0, 0.0], [0.0, -9.0]];
    assert!(matches!(newton.step(&[1.0, 1.0], indefinite.as_ref()), Err(Error::NotPositiveDefinite { .. })));
    assert_eq!((newton.mean, newton.hessian), (before.mean, before.hessian));

    let improper = NaturalParameters { first: vec![0.0, 1.0], second: mat![[1.0, 0.0], [0.0, -1.0]] };
    assert!(matches!(improper.to_belief(), Err(Error::NotPositiveDefinite { .. })));
    let torn = NaturalParameters { first: vec![0.0], second: mat![[-1.0, 0.0], [0.0, -1.0]] };
    assert!(matches!(torn.log_partition(), Err(Error::Dimension { .. })));
}

#[test]
fn online_forms_refuse_results_beyond_floating_point() {
    let start = DenseGaussian::isotropic(&[1.0, 0.0], 1e150).unwrap();
    let mut newton = OnlineNewton::new(&start).unwrap();
    let before = newton.clone();
    let flat = Mat::<f64>::zeros(2, 2);
    // Q⁻¹∇ℓ = 1e300 · 1e10.
    assert!(matches!(newton.step(&[0.0, 1e10], flat.as_ref()), Err(Error::Overflow { .. })));
    assert_eq!((&newton.mean, &newton.hessian), (&before.mean, &before.hessian));
    let mut gradient = NaturalGradient::new(&start).unwrap();
    assert!(matches!(gradient.step(&[0.0, 1e10], flat.as_ref()), Err(Error::Overflow { .. })));
    assert_eq!((gradient.mean, gradient.steps), (before.mean, 0));

    let far = NaturalParameters { first: vec![1e10, 0.0], second: mat![[-1e-300, 0.0], [0.0, -1.0]] };
    assert!(matches!(far.to_belief(), Err(Error::Overflow { .. })));
    let far = DenseGaussian::isotropic(&[1e200], 1.0).unwrap();
    assert!(matches!(MeanParameters::of(&far), Err(Error::Overflow { quantity: "P + μμᵀ", .. })));
    let mut natural = NaturalParameters::of(&far).unwrap();
    let before = natural.clone();
    assert!(matches!(natural.step(&[1e200], &[0.0], mat![[-1e200]].as_ref()), Err(Error::Overflow { .. })));
    assert_eq!((&natural.first, &natural.second), (&before.first, &before.second));
    assert!(matches!(natural.log_partition(), Err(Error::Overflow { quantity: "F(η)", .. })));
}

/// Sizes that no memory holds are refused before any is taken.
#[test]
fn sizes_are_checked_before_memory_is_taken() {
    let rng = &mut rng(34);
    for most in [1 << 50, usize::MAX / 8, usize::MAX] {
        for (d, p) in [(3, most), (most, 3), (most, 0)] {
            let error = factor::start_isotropic(d, p, 1.0, 0.1, rng).unwrap_err();
            assert!(matches!(error, Error::Linalg(LinalgError::TooLarge { what: "W", .. })), "{d} {p}: {error:?}");
        }
        assert!(factor::start_diagonal(&[1.0; 3], most, 0.1, rng).is_err());
        assert!(Nodes::gauss_hermite(most, 2).is_err() && Nodes::antithetic_draws(2, most, rng).is_err());
        assert!(LowRankSettings::blocked(most).is_err() && BlockSettings::new(most).is_err());
        let draws = LowRankGaussian::isotropic(&[0.0; 2], 1.0, LowRankSettings::blocked(1).unwrap()).unwrap();
        assert!(matches!(draws.draws(most, rng, Par::Seq), Err(Error::Linalg(LinalgError::TooLarge { .. }))));
    }
}

/// A label `10¹⁶⁰` standard deviations out has a density whose logarithm is beyond the floats.
#[test]
fn densities_beyond_the_floats_are_errors_and_not_infinities() {
    let x = MatRef::from_row_major_slice(&[1.0, 1.0], 2, 1);
    let y = [0.0, 1e160];
    let noise = GaussianLikelihood::new(1.0).unwrap();
    let prior = DenseGaussian::isotropic(&[0.0], 1.0).unwrap();
    let seen = refine::first_pass(&prior, &Explicit(noise), x, &y, Par::Seq).unwrap();
    let alone = refine::leave_one_out(&seen, x, &y, &noise);
    assert!(
        matches!(&alone, Err(Error::Row { source, .. }) if matches!(**source, Error::Overflow { .. })),
        "{alone:?}"
    );
    let best = batch::optimum(&prior, &prior, x, &y, &noise, &batch::BatchSettings::default(), Par::Seq);
    assert!(best.is_err(), "{best:?}");
    let tilted = quadrature::tilted(&noise, 1e200, 0.0, 0.0);
    assert!(matches!(tilted, Err(Error::Overflow { .. })), "{tilted:?}");
}
