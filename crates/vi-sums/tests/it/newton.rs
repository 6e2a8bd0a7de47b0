//! A search that knows records and numbers alone, as a program beside an engine does; and the optimum that such programs are held to.

use std::fs;
use std::path::PathBuf;

use vi_core::batch::{BatchSettings, Search};
use vi_core::{DenseGaussian, Error};
use vi_sums::{At, Family, GlmPosterior, GlmPrior, Newton, PassSums, Posterior, SumsError};

use crate::common::{distance, slices};

const PRIOR: GlmPrior = GlmPrior { scale: 2.0, intercept: 4.0 };

fn families() -> [Family; 4] {
    [Family::Logistic, Family::Probit, Family::Poisson, Family::negative_binomial(2.0).unwrap()]
}

/// Rows of exact arithmetic, which the tests of the extension for DuckDB make again; labels are counts, or whether there is any.
fn rows(family: Family) -> (Vec<Vec<f64>>, Vec<f64>) {
    let thousandth = |i: u32, prime: u64| (u64::from(i) * prime % 1000) as f64;
    let column = |prime: u64| (0..400).map(|i| thousandth(i, prime) / 500.0 - 1.0).collect::<Vec<f64>>();
    let x: Vec<Vec<f64>> = [7919, 104_729, 1_299_709].into_iter().map(column).collect();
    let label = |i: u32| {
        let (u, x) = (thousandth(i, 15_485_863) / 1000.0, x[0][i as usize]);
        match family {
            Family::Logistic | Family::Probit => f64::from(u8::from(u < 0.5 + 0.3 * x)),
            _ => (3.0 * u * (1.5 + x)).floor(),
        }
    };
    let y = (0..400).map(label).collect();
    (x, y)
}

fn pass(at: &At, x: &[Vec<f64>], y: &[f64]) -> PassSums {
    let mut sums = PassSums::new(at);
    sums.update_columns(at, &slices(x), y).unwrap();
    sums
}

/// The optimum by the search of `vi-core`, to the last digits that it has.
fn optimum(family: Family, x: &[Vec<f64>], y: &[f64]) -> GlmPosterior {
    let start = PRIOR.belief(x.len()).unwrap();
    let mut search =
        Search::new(&start, &start, &BatchSettings { tolerance: 1e-12, ..BatchSettings::default() }).unwrap();
    while let Some(q) = search.wanted() {
        let at = At::new(family, PRIOR, q.clone()).unwrap();
        search.tell(pass(&at, x, y).statistics(&at).unwrap()).unwrap();
    }
    let (belief, info) = search.finish();
    GlmPosterior::of_belief(family, PRIOR, &belief, info.bound(), (y.len() as u64, 0)).unwrap()
}

/// The search that the guide writes in Python, from `at`: half of a step that went too far. How often it did.
fn search(mut at: At, x: &[Vec<f64>], y: &[f64]) -> (Newton, usize) {
    let read = |posterior: GlmPosterior| At::decode(&Posterior::from(posterior).encode().unwrap()).unwrap();
    let mut best: Option<(At, PassSums, f64)> = None;
    let (mut share, mut halvings) = (1.0, 0);
    for _ in 0..100 {
        let sums = pass(&at, x, y);
        let told = sums.newton(&at, 1.0).unwrap();
        let before = best.as_ref().map_or(f64::NEG_INFINITY, |(_, _, bound)| *bound);
        match told {
            Some(told) if told.bound >= before - 1e-12 * before.abs().min(1e300) => {
                if told.size < 1e-10 {
                    return (told, halvings);
                }
                (best, share) = (Some((at, sums, told.bound)), 1.0);
            }
            _ => (share, halvings) = (0.5 * share, halvings + 1),
        }
        let (place, sums, _) = best.as_ref().unwrap();
        at = read(sums.newton(place, share).unwrap().unwrap().posterior);
    }
    panic!("{:?}: not in a hundred passes", at.family());
}

#[test]
fn records_and_numbers_are_enough_to_reach_the_optimum() {
    for family in families() {
        let (x, y) = rows(family);
        let best = optimum(family, &x, &y);
        let (found, _) = search(At::belief(family, PRIOR, &PRIOR.belief(3).unwrap()).unwrap(), &x, &y);
        let (belief, found_belief) = (best.belief().unwrap(), found.posterior.belief().unwrap());
        assert!(distance(&belief, &found_belief) < 1e-8, "{family:?}: {}", distance(&belief, &found_belief));
        let evidence = best.log_evidence().unwrap();
        assert!((found.posterior.log_evidence().unwrap() - evidence).abs() < 1e-9 * evidence.abs());
        assert!((found.bound - evidence).abs() < 1e-9 * evidence.abs());
    }
}

/// With `VI_WRITE_FIXTURES=1` they are written anew.
#[test]
fn the_optima_that_other_programs_are_held_to() {
    for family in families() {
        let (x, y) = rows(family);
        let best = optimum(family, &x, &y);
        let name = format!("optimum-{}.bin", family.name());
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join("fixtures").join(name);
        if std::env::var_os("VI_WRITE_FIXTURES").is_some_and(|value| value == "1") {
            fs::write(&path, Posterior::from(best.clone()).encode().unwrap()).unwrap();
        }
        let Posterior::Glm(kept) = Posterior::decode(&fs::read(&path).unwrap()).unwrap() else {
            panic!("of another kind")
        };
        // Two machines differ in the last digits of an exponential.
        assert!(distance(&best.belief().unwrap(), &kept.belief().unwrap()) < 1e-10, "{family:?}");
        assert_eq!((kept.family(), kept.prior(), kept.rows()), (family, &PRIOR, 400));
    }
}

#[test]
fn a_step_that_goes_too_far_is_halved() {
    // Sure of counts of one: the first full step goes to where they are beyond all bounds.
    let x = vec![(0..50).map(|i| f64::from(i) / 25.0).collect::<Vec<f64>>()];
    let y: Vec<f64> = x[0].iter().map(|x| (2.0 * x).exp().floor()).collect();
    let start = DenseGaussian::isotropic(&[0.0, 0.0], 0.1).unwrap();
    let (told, halvings) = search(At::belief(Family::Poisson, PRIOR, &start).unwrap(), &x, &y);
    let best = optimum(Family::Poisson, &x, &y).belief().unwrap();
    assert!(halvings > 0 && distance(&best, &told.posterior.belief().unwrap()) < 1e-8);
}

#[test]
fn rows_end_to_end_are_columns() {
    let (x, y) = rows(Family::Logistic);
    let at = At::belief(Family::Logistic, PRIOR, &PRIOR.belief(3).unwrap()).unwrap();
    let flat: Vec<f64> = (0..400).flat_map(|t| [x[0][t], x[1][t], x[2][t]]).collect();
    let mut sums = PassSums::new(&at);
    sums.update_rows(&at, &flat, &y).unwrap();
    assert_eq!(sums, pass(&at, &x, &y));
    let before = sums.clone();
    assert!(matches!(sums.update_rows(&at, &flat[1..], &y), Err(SumsError::Core(Error::Dimension { .. }))));
    assert_eq!(sums, before);
}

#[test]
fn a_share_is_a_share_and_no_statistics_are_no_step() {
    let (x, y) = rows(Family::Logistic);
    let at = At::belief(Family::Logistic, PRIOR, &PRIOR.belief(3).unwrap()).unwrap();
    let sums = pass(&at, &x, &y);
    for share in [0.0, -0.5, 1.5, f64::NAN] {
        assert!(matches!(sums.newton(&at, share), Err(SumsError::Core(Error::Setting { name: "share", .. }))));
    }
    let full = sums.newton(&at, 1.0).unwrap().unwrap();
    assert_eq!(full.posterior, sums.factors(&at).unwrap());
    let tiny = sums.newton(&at, 1e-12).unwrap().unwrap();
    assert!(distance(&PRIOR.belief(3).unwrap(), &tiny.posterior.belief().unwrap()) < 1e-6);
    let mut flat = sums.flat().to_vec();
    flat[2] = f64::NEG_INFINITY;
    assert_eq!(PassSums::from_flat(4, &flat).unwrap().newton(&at, 1.0), Ok(None));
    let other = At::belief(Family::Logistic, PRIOR, &PRIOR.belief(2).unwrap()).unwrap();
    assert!(matches!(sums.newton(&other, 1.0), Err(SumsError::Core(Error::Dimension { .. }))));
}

#[test]
fn a_pass_knows_its_place() {
    let (x, y) = rows(Family::Logistic);
    let place = |scale: f64| {
        let prior = GlmPrior { scale, intercept: 4.0 };
        At::belief(Family::Logistic, PRIOR, &prior.belief(3).unwrap()).unwrap()
    };
    let (here, there) = (place(2.0), place(1.0));
    let mut sums = pass(&here, &x, &y);
    let (before, other) = (sums.clone(), pass(&there, &x, &y));
    let refused = SumsError::OtherPlace { expected: there.fingerprint(), found: here.fingerprint() };
    assert!(refused.to_string().starts_with("statistics of another place"));
    assert_eq!(sums.newton(&there, 1.0), Err(refused.clone()));
    assert_eq!(sums.factors(&there), Err(refused.clone()));
    assert_eq!(sums.statistics(&there).map(drop), Err(refused.clone()));
    assert_eq!(sums.update_columns(&there, &slices(&x), &y), Err(refused));
    let refused = SumsError::OtherPlace { expected: here.fingerprint(), found: there.fingerprint() };
    assert_eq!(sums.merge(&other), Err(refused));
    assert_eq!(sums, before);

    // Of rows, and of none; as a record, and as floats.
    let mut none = PassSums::new(&here);
    none.merge(&sums).unwrap();
    assert_eq!((none.place(), &none), (here.fingerprint(), &sums));
    assert_eq!(PassSums::decode(&sums.encode().unwrap()).as_ref(), Ok(&sums));
    assert_eq!(PassSums::from_flat(4, sums.flat()).as_ref(), Ok(&sums));
    assert_ne!(place(2.0 + f64::EPSILON * 2.0).fingerprint(), here.fingerprint());

    // A posterior is a place wherever it is read; the Gaussian that it says is another one.
    let record = Posterior::from(sums.factors(&here).unwrap()).encode().unwrap();
    let (one, two) = (At::decode(&record).unwrap(), At::decode(&record).unwrap());
    pass(&one, &x, &y).merge(&pass(&At::decode(two.record()).unwrap(), &x, &y)).unwrap();
    let told = At::belief(Family::Logistic, PRIOR, &sums.factors(&here).unwrap().belief().unwrap()).unwrap();
    assert_ne!(told.fingerprint(), one.fingerprint());
}
