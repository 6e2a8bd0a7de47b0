//! Errors say what is wrong and leave the state alone.

use vi_linalg::faer::{Mat, Par, mat};
use vi_linalg::{DenseSymmetric, LowRank};

use super::{ByProducts, covariance, factor, normal, rng};
use crate::Error;
use crate::checkpoint::Checkpoint;
use crate::factor::em::likelihood_step;
use crate::factor::update::{UpdateScratch, update};
use crate::factor::{
    Averaging, Diagonal, DiagonalSettings, EmSettings, OnlineEm, OnlineSettings, RecursiveEm, RecursiveSettings,
    SecondMoments, UpdateSettings, Weights, run, step,
};

fn loops_of(loops: usize) -> UpdateSettings {
    UpdateSettings { inner_loops: loops, ..UpdateSettings::default() }
}

/// The error of an update that must leave the factor as it was.
fn refused(c: &LowRank, x: &Mat<f64>, weights: (f64, f64), loops: usize) -> Error {
    let mut after = c.clone();
    let scratch = &mut UpdateScratch::default();
    let error = update(&mut after, x.as_ref(), weights, &loops_of(loops), scratch, Par::Seq);
    assert_eq!(&after, c);
    error.unwrap_err()
}

#[test]
fn updates_refuse_what_is_wrong() {
    let rng = &mut rng(1);
    let (c, x) = (factor(4, 2, rng), normal(4, 2, rng));
    for alpha in [-0.1, 1.1, f64::NAN] {
        assert!(matches!(refused(&c, &x, (alpha, 1.0), 1), Error::Setting { name: "alpha", .. }));
    }
    for beta in [-0.1, f64::INFINITY, f64::NAN] {
        assert!(matches!(refused(&c, &x, (1.0, beta), 1), Error::Setting { name: "beta", .. }));
    }
    assert!(matches!(refused(&c, &x, (0.0, 0.0), 1), Error::Setting { name: "beta", .. }));
    assert!(matches!(refused(&c, &normal(3, 1, rng), (1.0, 1.0), 1), Error::Dimension { expected: 4, found: 3, .. }));
    assert!(matches!(refused(&c, &Mat::zeros(4, 0), (1.0, 1.0), 1), Error::Empty { argument: "x" }));
    let mut broken = x.clone();
    broken[(2, 1)] = f64::NAN;
    assert!(matches!(refused(&c, &broken, (1.0, 1.0), 1), Error::NonFinite { argument: "x", index: 6, .. }));
}

#[test]
fn what_floats_do_not_hold_is_an_overflow() {
    let rng = &mut rng(2);
    let c = factor(4, 2, rng);
    for size in [1e155, 1e200, 1e308] {
        for loops in [1, 3] {
            let error = refused(&c, &(normal(4, 1, rng) * size), (0.9, 0.1), loops);
            assert!(matches!(error, Error::Overflow { .. }), "{size:e}: {error}");
        }
    }
    // A ψ so small that WᵀΨ⁻¹W is not finite.
    let tiny = LowRank::new(mat![[1e200], [1.0]].as_ref(), &[1e-200, 1.0]).unwrap();
    assert!(matches!(refused(&tiny, &mat![[1.0], [1.0]], (1.0, 1.0), 1), Error::Overflow { .. }));
}

#[test]
fn a_diagonal_that_would_vanish_is_named_or_floored() {
    let c = factor(4, 2, &mut rng(3));
    // Nothing of ψ is kept, and x has nothing for coordinate 2.
    let x = mat![[1.0], [2.0], [0.0], [-1.0]];
    for loops in [1, 2] {
        assert!(matches!(refused(&c, &x, (0.0, 1.0), loops), Error::Entry { argument: "psi", index: 2, .. }));
        let floor = DiagonalSettings { floor: Some(1e-6), ..DiagonalSettings::default() };
        let mut after = c.clone();
        let scratch = &mut UpdateScratch::default();
        let lifted = update(
            &mut after,
            x.as_ref(),
            (0.0, 1.0),
            &UpdateSettings { inner_loops: loops, diagonal: floor },
            scratch,
            Par::Seq,
        )
        .unwrap();
        assert!(lifted >= loops);
        assert_eq!(after.psi()[2], 1e-6);
        // The isotropic form shares what there is.
        let isotropic = DiagonalSettings { form: Diagonal::Isotropic, floor: None };
        update(
            &mut after,
            x.as_ref(),
            (0.0, 1.0),
            &UpdateSettings { inner_loops: loops, diagonal: isotropic },
            scratch,
            Par::Seq,
        )
        .unwrap();
        assert!(after.psi().iter().all(|psi| *psi == after.psi()[0] && *psi > 0.0));
    }
    let nothing = Mat::zeros(4, 1);
    for form in [Diagonal::Free, Diagonal::Isotropic] {
        let mut after = c.clone();
        let scratch = &mut UpdateScratch::default();
        let error = update(
            &mut after,
            nothing.as_ref(),
            (0.0, 1.0),
            &UpdateSettings { inner_loops: 2, diagonal: DiagonalSettings { form, floor: None } },
            scratch,
            Par::Seq,
        );
        assert!(matches!(error, Err(Error::Entry { argument: "psi", index: 0, .. })), "{form:?}");
        assert_eq!(after, c);
    }
}

#[test]
fn a_later_loop_that_fails_leaves_nothing_behind() {
    // βxxᵀ alone is singular: EM takes ψ towards zero, until M + AᵀSA has no factor.
    let rng = &mut rng(9);
    let (c, x) = (factor(6, 3, rng), normal(6, 1, rng));
    assert!(matches!(refused(&c, &x, (0.0, 1.0), 200), Error::NotPositiveDefinite { .. } | Error::Entry { .. }));
}

#[test]
fn columns_of_zeros_only_fade() {
    let c = factor(5, 2, &mut rng(4));
    let mut after = c.clone();
    let zeros = Mat::zeros(5, 2);
    update(&mut after, zeros.as_ref(), (1.0, 1.0), &loops_of(3), &mut UpdateScratch::default(), Par::Seq).unwrap();
    assert!((after.w() - c.w()).norm_max() < 1e3 * f64::EPSILON);
}

#[test]
fn scratch_of_another_shape_is_replaced() {
    let rng = &mut rng(5);
    let scratch = &mut UpdateScratch::default();
    for (d, p) in [(5, 2), (7, 1), (7, 1), (3, 0)] {
        let (start, x) = (factor(d, p, rng), normal(d, 1, rng));
        let (mut again, mut fresh) = (start.clone(), start);
        update(&mut again, x.as_ref(), (0.9, 0.1), &loops_of(3), scratch, Par::Seq).unwrap();
        let new = &mut UpdateScratch::default();
        update(&mut fresh, x.as_ref(), (0.9, 0.1), &loops_of(3), new, Par::Seq).unwrap();
        assert_eq!(again, fresh);
    }
}

#[test]
fn batch_em_names_a_coordinate_without_variance() {
    let rng = &mut rng(6);
    let mut x = normal(20, 3, rng);
    x.col_mut(1).fill(0.0);
    let s = SecondMoments::new(x.as_ref()).unwrap();
    let mut c = factor(3, 1, rng);
    let before = c.clone();
    let found = step(&s, &mut c, &DiagonalSettings::default(), Par::Seq);
    assert!(matches!(found, Err(Error::Entry { argument: "psi", index: 1, value: 0.0, .. })), "{found:?}");
    assert_eq!(c, before);
    let floor = DiagonalSettings { floor: Some(1e-9), ..DiagonalSettings::default() };
    let info = run(&s, &mut c, &EmSettings { tolerance: 1e-9, max_iterations: 50, diagonal: floor }, Par::Seq).unwrap();
    assert_eq!(info.floored, info.losses.len() - 1);
    assert_eq!(c.psi()[1], 1e-9);
}

#[test]
fn batch_em_refuses_what_is_wrong() {
    let rng = &mut rng(7);
    let (s, mut c) = (covariance(4, rng), factor(3, 1, rng));
    let before = c.clone();
    let settings = DiagonalSettings::default();
    for found in [
        step(&DenseSymmetric::new(s.as_ref()), &mut c, &settings, Par::Seq),
        likelihood_step(&DenseSymmetric::new(s.as_ref()), &mut c, &settings, Par::Seq),
    ] {
        assert!(matches!(found, Err(Error::Dimension { expected: 4, found: 3, .. })));
    }
    let broken = ByProducts::new(vec![1.0; 3], |mut out, _| out.fill(f64::NAN));
    assert!(matches!(step(&broken, &mut c, &settings, Par::Seq), Err(Error::Overflow { .. })));
    // No factor fits −I.
    let negative = ByProducts::new(vec![-1.0; 3], |mut out, x| out.copy_from(x * -1.0));
    assert!(step(&negative, &mut c, &settings, Par::Seq).is_err());
    assert!(likelihood_step(&negative, &mut c, &settings, Par::Seq).is_err());
    assert_eq!(c, before);
    assert!(matches!(SecondMoments::new(Mat::zeros(0, 3).as_ref()), Err(Error::Empty { .. })));
    assert!(matches!(SecondMoments::new(mat![[f64::NAN]].as_ref()), Err(Error::Linalg(_))));
}

#[test]
fn settings_are_checked() {
    let free = DiagonalSettings::default();
    for floor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            DiagonalSettings { floor: Some(floor), ..free }.check(),
            Err(Error::Setting { name: "floor", .. })
        ));
    }
    for memory in [0.0, 1.0, f64::NAN] {
        let settings = RecursiveSettings { weights: Weights::Fading { memory }, ..RecursiveSettings::default() };
        let found = RecursiveEm::new(factor(3, 1, &mut rng(9)), &settings);
        assert!(matches!(found, Err(Error::Setting { name: "memory", .. })));
    }
    assert!(matches!(
        UpdateSettings { inner_loops: 0, diagonal: free }.check(),
        Err(Error::Setting { name: "inner_loops", .. })
    ));
    for exponent in [0.5, 1.1, f64::NAN] {
        let settings = OnlineSettings { exponent, averaging: Averaging::Off, diagonal: free };
        assert!(matches!(
            OnlineEm::new(factor(3, 1, &mut rng(9)), &settings),
            Err(Error::Setting { name: "exponent", .. })
        ));
    }
    assert!(matches!(
        EmSettings { tolerance: 0.0, max_iterations: 1, diagonal: free }.check(),
        Err(Error::Setting { name: "tolerance", .. })
    ));
    assert!(matches!(
        EmSettings { tolerance: 1.0, max_iterations: 0, diagonal: free }.check(),
        Err(Error::Setting { name: "max_iterations", .. })
    ));
}

/// A bad row is found before the first is seen, a row that fails takes back those before it.
#[test]
fn streams_are_seen_whole_or_not_at_all() {
    let rng = &mut rng(8);
    let (good, start) = (normal(6, 3, rng), factor(3, 1, rng));
    let (mut holed, mut huge) = (good.clone(), good.clone());
    holed[(4, 1)] = f64::INFINITY;
    huge[(4, 1)] = 1e200;
    let mut recursive = RecursiveEm::new(start.clone(), &RecursiveSettings::default()).unwrap();
    let mut online = OnlineEm::new(start, &OnlineSettings::default()).unwrap();
    recursive.run(good.as_ref(), Par::Seq).unwrap();
    online.run(good.as_ref(), Par::Seq).unwrap();
    let before = (recursive.factor().clone(), online.factor().clone());
    for (x, non_finite) in [(holed, true), (huge, false)] {
        for error in [recursive.run(x.as_ref(), Par::Seq), online.run(x.as_ref(), Par::Seq)] {
            let Err(Error::Row { row: 4, source }) = error else { panic!("{error:?}") };
            assert_eq!(matches!(*source, Error::NonFinite { .. }), non_finite, "{source:?}");
        }
        assert_eq!((recursive.seen(), online.seen()), (6, 6));
    }
    let none = Mat::zeros(0, 3);
    assert!(matches!(recursive.run(none.as_ref(), Par::Seq), Err(Error::Empty { argument: "x" })));
    assert!(matches!(online.run(none.as_ref(), Par::Seq), Err(Error::Empty { argument: "x" })));
    assert!(recursive.step(&[1.0], Par::Seq).is_err());
    assert!(online.step(&[1.0], Par::Seq).is_err());
    assert!(online.step(&[1e200, 1.0, 1.0], Par::Seq).is_err());
    assert_eq!((recursive.factor().clone(), online.factor().clone()), before);
}

/// `WᵀW` of ten million columns would take 800 TB; a checkpoint of 160 MB would do.
#[test]
fn too_many_columns_are_refused_before_their_products_are_taken() {
    for (d, p) in [(0, 1 << 50), (1, 10_000_000)] {
        let start = LowRank::diagonal_only(&vec![1.0; d], p).unwrap();
        let mut em = RecursiveEm::new(start, &RecursiveSettings::default()).unwrap();
        let error = em.step(&vec![0.5; d], Par::Seq).unwrap_err();
        assert!(matches!(error, Error::Setting { name: "columns of W", value, .. } if value == p as f64), "{error}");
        assert!(em.write_to(&mut Vec::new()).is_err());
    }
}

/// EM that fails in a later iteration gives back the factor that it was given.
#[test]
fn batch_em_that_fails_late_leaves_the_factor() {
    let s = mat![[1.0, 0.0], [0.0, 1.0]];
    let calls = std::cell::Cell::new(0);
    let failing = ByProducts::new(vec![1.0, 1.0], |mut out, x| {
        calls.set(calls.get() + 1);
        out.copy_from(if calls.get() < 4 { &s * x } else { x * f64::NAN });
    });
    let mut c = factor(2, 1, &mut rng(10));
    let before = c.clone();
    let error = run(&failing, &mut c, &EmSettings::default(), Par::Seq).unwrap_err();
    assert!(matches!(error, Error::Overflow { .. }), "{error:?}");
    assert_eq!((c, calls.get()), (before, 4));
}
