//! Numbers, shapes and records that are none.

use vi_core::Error;
use vi_sums::{
    Family, GlmPosterior, GlmPrior, GlmSpec, LinearPosterior, LinearPrior, LinearSpec, LinearSums, PassSums, Posterior,
    SumsError,
};

#[test]
fn rows_that_do_not_fit_change_nothing() {
    let mut sums = LinearSums::new(2).unwrap();
    sums.update(&[1.0, 2.0], 3.0).unwrap();
    let before = sums.clone();
    assert!(matches!(sums.update(&[1.0], 3.0), Err(SumsError::Core(Error::Dimension { expected: 2, found: 1, .. }))));
    let error = sums.update(&[1.0, f64::NAN], 3.0).unwrap_err();
    assert_eq!(error.to_string(), "x[1] is not finite: NaN");
    assert!(matches!(sums.update(&[1.0, 2.0], f64::INFINITY), Err(SumsError::Core(Error::NonFinite { .. }))));
    assert!(matches!(sums.update(&[1.0, 1e200], 0.0), Err(SumsError::Core(Error::Entry { index: 1, .. }))));
    let (good, bad, y) = (
        [1.0; 300],
        {
            let mut bad = [1.0; 300];
            bad[299] = f64::NAN;
            bad
        },
        [0.0; 300],
    );
    let error = sums.update_columns(&[&good, &bad], &y).unwrap_err();
    assert!(error.to_string().starts_with("observation 299: x[1]"), "{error}");
    assert!(sums.update_columns(&[&good], &y).is_err() && sums.update_columns(&[&good, &bad[1..]], &y).is_err());
    assert!(sums.merge(&LinearSums::new(3).unwrap()).is_err());
    assert!(sums.merge_flat(&[1.0; 4]).is_err());
    assert!(sums.unskip().is_err());
    assert_eq!(sums, before);
    assert!(LinearSums::new(0).is_err() && LinearSums::new(usize::MAX / 2).is_err());
}

#[test]
fn flat_forms_are_checked() {
    let good = LinearSums::new(1).unwrap().flat().to_vec();
    let broken = |at: usize, value: f64| {
        let mut flat = good.clone();
        flat[at] = value;
        LinearSums::from_flat(1, &flat)
    };
    for (at, value) in
        [(0, -1.0), (0, 0.5), (0, 1e300), (1, f64::NAN), (2, 1e200), (4, -1.0), (4, 1.0), (6, f64::INFINITY)]
    {
        assert!(broken(at, value).is_err(), "{at} {value}");
    }
    assert!(LinearSums::from_flat(1, &good[1..]).is_err());
    let prior = GlmPrior::default();
    assert!(GlmPosterior::from_flat(Family::Poisson, prior, 1, &[0.0; 9]).is_ok());
    assert!(GlmPosterior::from_flat(Family::Poisson, prior, 1, &[0.0; 8]).is_err());
    assert!(GlmPosterior::from_flat(Family::Poisson, prior, usize::MAX, &[0.0; 8]).is_err());
    let indefinite = [2.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 50.0, 1.0];
    let damaged = GlmPosterior::from_flat(Family::Poisson, prior, 1, &indefinite).unwrap();
    assert!(damaged.belief().is_err() && damaged.log_evidence().is_err());
}

#[test]
fn posteriors_that_differ_are_not_added() {
    let linear = |prior| LinearPosterior::new(1, prior).unwrap();
    let mut own = Posterior::from(linear(LinearPrior::default()));
    let other = Posterior::from(linear(LinearPrior { scale: 1.0, ..LinearPrior::default() }));
    let error = own.merge(&other).unwrap_err();
    assert!(matches!(error, SumsError::Unlike { what: "prior", .. }), "{error}");
    let glm = |family, inputs| Posterior::from(GlmPosterior::new(family, GlmPrior::default(), inputs).unwrap());
    assert!(matches!(own.subtract(&glm(Family::Poisson, 1)), Err(SumsError::Unlike { what: "kind", .. })));
    let mut counts = glm(Family::Poisson, 1);
    assert!(matches!(counts.merge(&glm(Family::Probit, 1)), Err(SumsError::Unlike { what: "family", .. })));
    assert!(matches!(counts.merge(&glm(Family::Poisson, 2)), Err(SumsError::Unlike { what: "number of inputs", .. })));
}

#[test]
fn descriptions_name_the_word_that_is_wrong() {
    for (text, word) in [("scale=x", "scale=x"), ("wide", "wide"), ("scale", "scale"), ("intercept=1 what=2", "what=2")]
    {
        assert!(matches!(LinearSpec::parse(text), Err(SumsError::Word { word: found, .. }) if found == word), "{text}");
    }
    for (text, word) in
        [("", ""), ("gamma", "gamma"), ("poisson size=1", "size=1"), ("negative_binomial", "negative_binomial")]
    {
        assert!(matches!(GlmSpec::parse(text), Err(SumsError::Word { word: found, .. }) if found == word), "{text}");
    }
    assert!(LinearSpec::parse("scale=-1").is_err() && LinearSpec::parse("rate=inf").is_err());
    assert!(GlmSpec::parse("logistic scale=0").is_err() && GlmSpec::parse("logistic intercept=-1").is_err());
    assert!(GlmSpec::parse("negative_binomial size=0").is_err());
}

#[test]
fn sizes_beyond_memory_are_refused() {
    assert!(PassSums::from_flat(usize::MAX, &[0.0; 3]).is_err());
    assert!(LinearSums::from_flat(usize::MAX, &[0.0; 3]).is_err());
    let prior = GlmPrior::default();
    assert!(GlmPosterior::from_flat(Family::Logistic, prior, usize::MAX, &[0.0; 3]).is_err());
}
