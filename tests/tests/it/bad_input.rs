//! Bad input at a random place of a random stream: named, and nothing has changed, at every entry point.

use crate::common::{Stream, bits, logistic_rules, stream};
use proptest::prelude::*;
use vi_core::block::{self, BlockScratch, BlockSettings};
use vi_core::{
    BernoulliLogit, DenseGaussian, Error, Exact, GaussianLikelihood, GlmPosterior, Mixture8, filter, papers::kalman,
};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_models::laplace::{self, LaplaceSettings};
use vi_models::{ModelError, linear};

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if vi_tests::slow() { 300 } else { 64 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn not_finite() -> impl Strategy<Value = f64> {
    prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY)]
}

/// What every entry point for whole data sets says of `(x, y)`, with the names of the entry points; those that change a
/// belief must have left it alone.
fn answers(stream: &Stream, x: MatRef<'_, f64>, labels: &[f64], targets: &[f64]) -> Vec<(String, Error)> {
    let core = |error: ModelError| match error {
        ModelError::Core(error) => error,
        other => panic!("{other}"),
    };
    let mut answers = Vec::new();
    // A belief that has seen something, so that going back to the prior would show.
    let seen = stream.filtered(&logistic_rules()[0].1, &stream.labels);
    let before = bits(&seen);
    let mut keep = |name: String, belief: &DenseGaussian, answer: Result<(), Error>| {
        assert_eq!(bits(belief), before, "{name}");
        answers.push((name, answer.unwrap_err()));
    };
    for (name, rule) in logistic_rules() {
        let mut belief = seen.clone();
        let answer = filter::run(&mut belief, &rule, x, labels, |_, _, _| {});
        keep(format!("filter::run, {name}"), &belief, answer);

        let mut belief = seen.clone();
        let mut scratch = BlockScratch::new(&belief, BlockSettings::new(5).unwrap());
        let answer = block::run(&mut belief, &rule, x, labels, &mut scratch, Par::Seq, |_, _, _| {});
        keep(format!("block::run, {name}"), &belief, answer.map(drop));
    }
    let answer = laplace::fit(&seen, x, labels, &BernoulliLogit(Mixture8), &LaplaceSettings::default());
    keep("laplace::fit".to_owned(), &seen, answer.map(drop).map_err(core));
    let answer = GlmPosterior::new(&seen, x, labels, BernoulliLogit(Exact)).map(drop);
    keep("GlmPosterior::new".to_owned(), &seen, answer);
    let answer = linear::fit(&seen, x, targets, GaussianLikelihood::new(0.5).unwrap());
    keep("linear::fit".to_owned(), &seen, answer.map(drop).map_err(core));
    answers
}

/// The error of row `t`, without it.
fn at_row(name: &str, error: Error, t: usize) -> Error {
    match error {
        Error::Row { row, source } if row == t => *source,
        other => panic!("{name}: {other:?} for row {t}"),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_entry_that_is_not_finite(stream in stream(), place in any::<prop::sample::Index>(), bad in not_finite()) {
        let place = place.index(stream.rows.len());
        let (t, column) = (place / stream.d, place % stream.d);
        let mut rows = stream.rows.clone();
        rows[place] = bad;
        let x = MatRef::from_row_major_slice(&rows, stream.len(), stream.d);
        for (name, error) in answers(&stream, x, &stream.labels, &stream.targets) {
            match at_row(&name, error, t) {
                Error::NonFinite { argument: "x", index, value } => {
                    prop_assert_eq!((index, value.to_bits()), (column, bad.to_bits()), "{}", name);
                }
                other => prop_assert!(false, "{}: {:?}", name, other),
            }
        }
        let mut belief = stream.prior();
        let row = &rows[t * stream.d..(t + 1) * stream.d];
        let rule = &logistic_rules()[0].1;
        let error = filter::step(&mut belief, rule, row, 1.0, &mut filter::Scratch::default()).unwrap_err();
        prop_assert!(matches!(error, Error::NonFinite { argument: "x", index, .. } if index == column), "{:?}", error);
        let h = MatRef::from_row_major_slice(row, 1, stream.d);
        let r = Mat::from_fn(1, 1, |_, _| 0.5);
        let error = kalman::step(&mut belief, h, &[1.0], r.as_ref(), Par::Seq).unwrap_err();
        prop_assert!(matches!(error, Error::NonFinite { argument: "h", .. }), "{:?}", error);
        prop_assert_eq!(bits(&belief), bits(&stream.prior()));
    }

    #[test]
    fn a_label_that_is_none(
        stream in stream(),
        place in any::<prop::sample::Index>(),
        bad in prop_oneof![not_finite(), Just(-1.0), Just(2.0), Just(0.5), Just(1.0 + f64::EPSILON)],
    ) {
        let t = place.index(stream.len());
        let (mut labels, mut targets) = (stream.labels.clone(), stream.targets.clone());
        labels[t] = bad;
        targets[t] = f64::NAN;
        for (name, error) in answers(&stream, stream.x(), &labels, &targets) {
            match at_row(&name, error, t) {
                Error::Label { label, .. } => prop_assert!(label == bad && bad.is_finite(), "{}", name),
                Error::NonFinite { .. } => prop_assert!(!bad.is_finite() || name == "linear::fit", "{}", name),
                other => prop_assert!(false, "{}: {:?}", name, other),
            }
        }
        let mut belief = stream.prior();
        for (name, rule) in logistic_rules() {
            let mut scratch = filter::Scratch::default();
            let answer = filter::step(&mut belief, &rule, stream.row(t), bad, &mut scratch);
            prop_assert!(matches!(answer, Err(Error::Label { .. } | Error::NonFinite { .. })), "{}", name);
        }
        prop_assert_eq!(bits(&belief), bits(&stream.prior()));
    }

    #[test]
    fn a_wrong_number_of_labels_or_columns(stream in stream(), more in any::<bool>()) {
        let adjust = |values: &[f64]| -> Vec<f64> {
            if more { values.iter().copied().chain([1.0]).collect() } else { values[1..].to_vec() }
        };
        let (labels, targets) = (adjust(&stream.labels), adjust(&stream.targets));
        for (name, error) in answers(&stream, stream.x(), &labels, &targets) {
            let (expected, found) = (stream.len(), labels.len());
            prop_assert_eq!(error, Error::Dimension { argument: "y", expected, found }, "{}", name);
        }

        let d = stream.d + 1;
        let wide = Mat::from_fn(stream.len(), d, |_, _| 0.5);
        for (name, error) in answers(&stream, wide.as_ref(), &stream.labels, &stream.targets) {
            let expected = Error::Dimension { argument: "columns of x", expected: stream.d, found: d };
            prop_assert_eq!(error, expected, "{}", name);
        }

        let mut belief = stream.prior();
        let rule = &logistic_rules()[0].1;
        let row = vec![0.5; d];
        let error = filter::step(&mut belief, rule, &row, 1.0, &mut filter::Scratch::default()).unwrap_err();
        prop_assert_eq!(error, Error::Dimension { argument: "x", expected: stream.d, found: d });
        prop_assert_eq!(bits(&belief), bits(&stream.prior()));
    }

    #[test]
    fn no_observations(stream in stream()) {
        let none = Mat::<f64>::zeros(0, stream.d);
        for (name, error) in answers(&stream, none.as_ref(), &[], &[]) {
            prop_assert_eq!(error, Error::Empty { argument: "x" }, "{}", name);
        }
    }

    #[test]
    fn an_impossible_prior(stream in stream(), bad in not_finite(), at in any::<prop::sample::Index>()) {
        let (d, mean) = (stream.d, &stream.prior_mean);
        let at = at.index(d);
        for sigma0 in [0.0, -1.0, -0.0, bad, 1e200, 1e-200] {
            let answer = DenseGaussian::isotropic(mean, sigma0);
            prop_assert!(matches!(answer, Err(Error::Setting { .. })), "sigma0 = {}: {:?}", sigma0, answer);
        }
        let identity = Mat::<f64>::identity(d, d);
        let mut wrong_mean = mean.clone();
        wrong_mean[at] = bad;
        for answer in [DenseGaussian::isotropic(&wrong_mean, 1.0), DenseGaussian::new(&wrong_mean, identity.as_ref())] {
            let named = matches!(answer, Err(Error::NonFinite { argument: "mean", index, .. }) if index == at);
            prop_assert!(named, "{:?}", answer);
        }
        for diagonal in [0.0, -1.0] {
            let mut covariance = identity.clone();
            covariance[(at, at)] = diagonal;
            let answer = DenseGaussian::new(mean, covariance.as_ref()).map(drop);
            prop_assert_eq!(answer, Err(Error::NotPositiveDefinite { argument: "covariance", pivot: at }));
        }
        let mut covariance = identity.clone();
        covariance[(d - 1, at)] = bad;
        let answer = DenseGaussian::new(mean, covariance.as_ref());
        prop_assert!(matches!(answer, Err(Error::NonFinite { argument: "covariance", .. })), "{:?}", answer);
        if d > 1 {
            let mut covariance = identity.clone();
            covariance[(d - 1, 0)] = 1e-6;
            let answer = DenseGaussian::new(mean, covariance.as_ref());
            prop_assert!(matches!(answer, Err(Error::NotSymmetric { .. })), "{:?}", answer);
        }
        let answer = DenseGaussian::new(mean, Mat::<f64>::identity(d + 1, d + 1).as_ref());
        prop_assert!(matches!(answer, Err(Error::Dimension { .. })), "{:?}", answer);
        let empty = Error::Empty { argument: "mean" };
        prop_assert_eq!(DenseGaussian::isotropic(&[], 1.0).map(drop), Err(empty.clone()));
        prop_assert_eq!(DenseGaussian::new(&[], Mat::zeros(0, 0).as_ref()).map(drop), Err(empty));
        for noise in [0.0, -1.0, bad] {
            let answer = GaussianLikelihood::new(noise);
            prop_assert!(matches!(answer, Err(Error::Setting { .. })), "{:?}", answer);
        }
    }
}
