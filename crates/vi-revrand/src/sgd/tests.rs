use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_core::Stop;

use super::*;
use crate::RevrandError;

/// `½·Σ cᵢ(xᵢ − 1)²`.
fn bowl(x: &[f64], gradient: &mut [f64]) -> f64 {
    let mut value = 0.0;
    for i in 0..x.len() {
        let c = 1.0 + i as f64;
        gradient[i] = c * (x[i] - 1.0);
        value += 0.5 * c * (x[i] - 1.0) * (x[i] - 1.0);
    }
    value
}

fn rules() -> Vec<Updater> {
    [
        Updater::plain(0.1),
        Updater::momentum(0.05, 0.5),
        Updater::ada_grad(0.5, 1e-6),
        Updater::ada_delta(0.9, 1e-4),
        Updater::adam(0.02),
    ]
    .map(Result::unwrap)
    .to_vec()
}

fn run(settings: DescentSettings, x: &mut [f64], steps: usize) -> Run {
    let mut descent = Descent::new(settings, x.len()).unwrap();
    minimise(&mut descent, x, steps, |x, gradient| Ok(bowl(x, gradient))).unwrap()
}

#[test]
fn every_rule_finds_the_minimum() {
    for updater in rules() {
        let mut x = vec![-1.0, 0.5, 2.0];
        let run = run(DescentSettings { updater, ..DescentSettings::default() }, &mut x, 3000);
        assert_eq!((run.stop, run.trace.len()), (Stop::Iterations, 3000));
        // AdaDelta's steps do not shrink below √ε of its own.
        assert!(x.iter().all(|x| (x - 1.0).abs() < 0.02), "{updater:?}: {x:?}");
        assert!(run.trace[2999] < 1e-3 * run.trace[0]);
    }
}

#[test]
fn bounds_are_never_left_and_hold_the_minimum() {
    for updater in rules() {
        let bounds = Bounds::new(vec![-1.0, f64::NEG_INFINITY, 1.5], vec![0.25, 3.0, f64::INFINITY]).unwrap();
        let settings = DescentSettings { updater, bounds: Some(bounds.clone()), stop: None };
        let mut descent = Descent::new(settings, 3).unwrap();
        let (mut x, mut gradient) = (vec![0.0, 0.0, 2.0], vec![0.0; 3]);
        for _ in 0..3000 {
            let value = bowl(&x, &mut gradient);
            assert_eq!(descent.step(&mut x, value, &mut gradient), None);
            let mut clipped = x.clone();
            bounds.clip(&mut clipped);
            assert_eq!(clipped, x);
        }
        assert!(
            (x[0] - 0.25).abs() < 0.02 && (x[1] - 1.0).abs() < 0.02 && (x[2] - 1.5).abs() < 0.02,
            "{updater:?}: {x:?}"
        );
    }
}

#[test]
fn reversed_bounds_and_impossible_settings_are_named() {
    assert_eq!(Bounds::new(vec![1.0], vec![0.5]).unwrap_err(), RevrandError::Bounds { lower: 1.0, upper: 0.5 });
    assert!(Bounds::new(vec![f64::NAN], vec![0.5]).is_err());
    assert!(Bounds::new(vec![0.0, 1.0], vec![0.5]).is_err());
    assert!(Bounds::new(vec![f64::INFINITY], vec![f64::INFINITY]).is_err());
    assert!(Bounds::new(vec![0.5], vec![0.5]).is_ok());
    let settings =
        DescentSettings { bounds: Some(Bounds::new(vec![0.0], vec![1.0]).unwrap()), ..DescentSettings::default() };
    assert!(Descent::new(settings, 2).is_err());
    for wrong in [
        Updater::plain(0.0),
        Updater::plain(f64::NAN),
        Updater::momentum(0.1, 1.0),
        Updater::ada_grad(-1.0, 1e-6),
        Updater::ada_delta(0.5, 0.0),
        Updater::adam_with(0.1, 0.9, -0.1, 1e-8),
    ] {
        assert!(matches!(wrong, Err(RevrandError::Core(vi_core::Error::Setting { .. }))), "{wrong:?}");
    }
    assert!(
        EarlyStop::new(0, 1, 0.1).is_err() && EarlyStop::new(1, 0, 0.1).is_err() && EarlyStop::new(1, 1, -0.1).is_err()
    );
}

#[test]
fn divergence_keeps_the_last_finite_parameters() {
    // Each step of a rate of 3 on a curvature of 1 doubles the distance and turns it round.
    let mut descent =
        Descent::new(DescentSettings { updater: Updater::plain(3.0).unwrap(), ..Default::default() }, 1).unwrap();
    let mut x = vec![2.0];
    let run = minimise(&mut descent, &mut x, 5000, |x, gradient| Ok(bowl(x, gradient))).unwrap();
    assert_eq!(run.stop, Stop::Diverged);
    let mut gradient = [0.0];
    assert!(bowl(&x, &mut gradient).is_finite() && x[0].abs() > 1e150);
    // An objective that is NaN from the start leaves x alone.
    let mut descent = Descent::new(DescentSettings::default(), 1).unwrap();
    let mut x = vec![2.0];
    let run = minimise(&mut descent, &mut x, 10, |_, _| Ok(f64::NAN)).unwrap();
    assert_eq!((run.stop, run.trace.len(), x), (Stop::Diverged, 0, vec![2.0]));
    // So does a gradient of which one entry is infinite.
    for place in [0, 40] {
        let mut descent = Descent::new(DescentSettings::default(), 41).unwrap();
        let mut x = vec![2.0; 41];
        let mut count = 0;
        let run = minimise(&mut descent, &mut x, 10, |x, gradient| {
            count += 1;
            let value = bowl(x, gradient);
            if count == 3 {
                gradient[place] = f64::INFINITY;
            }
            Ok(value)
        });
        assert_eq!(run.unwrap().stop, Stop::Diverged);
        assert!(x.iter().all(|x| x.is_finite() && *x < 2.0));
    }
}

#[test]
fn gradients_whose_squares_overflow_are_no_silent_standstill() {
    let storm = |_: &[f64], gradient: &mut [f64]| {
        gradient.copy_from_slice(&[1e200, -1e-3]);
        Ok(1.0)
    };
    for updater in rules() {
        let mut descent = Descent::new(DescentSettings { updater, ..DescentSettings::default() }, 2).unwrap();
        let mut x = vec![3.0, 3.0];
        minimise(&mut descent, &mut x, 5, |x, gradient| Ok(bowl(x, gradient))).unwrap();
        let (before, at) = (descent.clone(), x.clone());
        let run = minimise(&mut descent, &mut x, 1, storm).unwrap();
        // Only a rule without squares can take the step.
        let squares = serde_json::to_string(&updater).unwrap().contains("Ada");
        assert_eq!(run.stop, if squares { Stop::Diverged } else { Stop::Iterations }, "{updater:?}");
        if squares {
            assert_eq!((descent.steps(), &x), (before.steps(), &at));
            // What is stored can be read and goes on as if there had been no storm.
            let text = serde_json::to_string(&descent).unwrap();
            let mut again: Descent = serde_json::from_str(&text).unwrap();
            let (mut y, mut undisturbed) = (at, before);
            minimise(&mut again, &mut x, 50, |x, g| Ok(bowl(x, g))).unwrap();
            minimise(&mut undisturbed, &mut y, 50, |x, g| Ok(bowl(x, g))).unwrap();
            assert_eq!(x, y);
        } else {
            let text = serde_json::to_string(&descent).unwrap();
            assert_eq!(serde_json::from_str::<Descent>(&text).unwrap(), descent);
        }
    }
}

#[test]
fn divergence_takes_the_state_back_to_where_the_parameters_go() {
    // The third evaluation fails: the second step is taken back, in parameters and in state.
    for updater in rules() {
        let settings = DescentSettings { updater, ..DescentSettings::default() };
        let mut descent = Descent::new(settings.clone(), 2).unwrap();
        let (mut x, mut calls) = (vec![3.0, -2.0], 0);
        let run = minimise(&mut descent, &mut x, 10, |x, gradient| {
            calls += 1;
            Ok(if calls == 3 { f64::INFINITY } else { bowl(x, gradient) })
        });
        assert_eq!(run.unwrap().stop, Stop::Diverged);
        let mut expected = Descent::new(settings, 2).unwrap();
        let mut y = vec![3.0, -2.0];
        minimise(&mut expected, &mut y, 1, |x, gradient| Ok(bowl(x, gradient))).unwrap();
        assert_eq!((x.clone(), descent.steps()), (y.clone(), 1));
        minimise(&mut descent, &mut x, 5, |x, gradient| Ok(bowl(x, gradient))).unwrap();
        minimise(&mut expected, &mut y, 5, |x, gradient| Ok(bowl(x, gradient))).unwrap();
        assert_eq!(x, y);
    }
}

#[test]
fn a_failing_objective_leaves_the_last_good_step() {
    let source = || RevrandError::Source { batches: 4, message: "gone".to_owned() };
    let mut descent = Descent::new(DescentSettings::default(), 2).unwrap();
    let mut x = vec![0.0, 0.0];
    let mut calls = 0;
    let error = minimise(&mut descent, &mut x, 10, |x, gradient| {
        calls += 1;
        if calls > 4 { Err(source()) } else { Ok(bowl(x, gradient)) }
    });
    assert_eq!(error.unwrap_err(), source());
    let mut expected = vec![0.0, 0.0];
    run(DescentSettings::default(), &mut expected, 4);
    assert_eq!((x, descent.steps()), (expected, 4));
}

#[test]
fn early_stop_waits_for_windows_without_a_fall() {
    let stop = Some(EarlyStop::new(10, 3, 1e-3).unwrap());
    let mut x = vec![0.0];
    let settings = DescentSettings { updater: Updater::plain(0.5).unwrap(), stop, ..DescentSettings::default() };
    let run = run(settings.clone(), &mut x, 1000);
    assert_eq!(run.stop, Stop::Improvement);
    // The mean falls from window to window by 2²⁰ until it is 0, which takes some fifty windows; then three without a fall.
    assert_eq!(run.trace.len() % 10, 0);
    assert!(run.trace.len() < 1000 && x[0] == 1.0);
    // An objective that never changes stops after the first window and three more.
    let mut descent = Descent::new(settings, 1).unwrap();
    let run = minimise(&mut descent, &mut x, 1000, |_, gradient| {
        gradient[0] = 0.0;
        Ok(5.0)
    });
    assert_eq!(run.unwrap().trace.len(), 40);
}

#[test]
fn a_stored_run_goes_on_as_if_never_interrupted() {
    for updater in rules() {
        let settings = DescentSettings {
            updater,
            bounds: Some(Bounds::new(vec![f64::NEG_INFINITY; 2], vec![0.9, f64::INFINITY]).unwrap()),
            stop: Some(EarlyStop::new(5, 100, 0.0).unwrap()),
        };
        let mut x = vec![-1.0, 4.0];
        let mut whole = Descent::new(settings, 2).unwrap();
        minimise(&mut whole, &mut x, 50, |x, g| Ok(bowl(x, g))).unwrap();
        let text = serde_json::to_string(&whole).unwrap();
        let mut again: Descent = serde_json::from_str(&text).unwrap();
        assert_eq!(again, whole);
        let mut y = x.clone();
        minimise(&mut whole, &mut x, 50, |x, g| Ok(bowl(x, g))).unwrap();
        minimise(&mut again, &mut y, 50, |x, g| Ok(bowl(x, g))).unwrap();
        assert_eq!(x, y);
        // A state of the wrong length is refused.
        assert!(serde_json::from_str::<Descent>(&text.replacen("\"first\":[", "\"first\":[0.0,", 1)).is_err());
    }
}

#[test]
fn permutations_show_every_row_once_before_any_twice() {
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    for (rows, batch) in [(7, 3), (10, 10), (4, 1), (5, 4)] {
        let mut batches = Permutations::new(rows, batch).unwrap();
        let all: Vec<usize> = (0..7 * rows).flat_map(|_| batches.next(rng).to_vec()).collect();
        let mut orders = std::collections::HashSet::new();
        for whole in all.chunks_exact(rows) {
            let mut sorted = whole.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..rows).collect::<Vec<_>>());
            orders.insert(whole.to_vec());
        }
        assert!(orders.len() > 1);
    }
    for (rows, batch) in [(0, 1), (5, 0), (5, 6)] {
        assert!(Permutations::new(rows, batch).is_err());
    }
}
