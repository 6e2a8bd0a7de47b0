//! The stored forms, against bytes that another program wrote from the documentation.

use vi_core::Error;
use vi_core::batch::InformationGaussian;
use vi_linalg::faer::mat;
use vi_sums::{
    At, Family, GlmPosterior, GlmPrior, LinearPosterior, LinearPrior, LinearSums, PassSums, Posterior, SumsError, kind,
};

const LINEAR: &[u8] = include_bytes!("../fixtures/linear.bin");
const GLM: &[u8] = include_bytes!("../fixtures/glm.bin");
const POOL: &[u8] = include_bytes!("../fixtures/pool.bin");
const AT: &[u8] = include_bytes!("../fixtures/at.bin");
const PASS: &[u8] = include_bytes!("../fixtures/pass-2.bin");
const FIRST_PASS: &[u8] = include_bytes!("../fixtures/pass.bin");

#[test]
fn a_linear_posterior_is_the_documented_bytes() {
    let mut sums = LinearSums::new(1).unwrap();
    sums.update(&[1.0], 2.0).unwrap();
    sums.update(&[3.0], 6.0).unwrap();
    sums.skip(1);
    let posterior = Posterior::from(LinearPosterior::of(LinearPrior::default(), sums).unwrap());
    assert_eq!(posterior.encode().unwrap(), LINEAR);
    assert_eq!(Posterior::decode(LINEAR).unwrap(), posterior);
    assert_eq!((kind(LINEAR), posterior.rows(), posterior.skipped()), (Some(Posterior::LINEAR), 2, 1));
}

#[test]
fn a_generalised_linear_posterior_is_the_documented_bytes() {
    let family = Family::negative_binomial(2.5).unwrap();
    let prior = GlmPrior { scale: 1.0, intercept: 5.0 };
    let flat = [3.0, 1.0, 1.0, -2.5, 0.5, 1.5, 2.0, 0.25, 1.0];
    let posterior = Posterior::from(GlmPosterior::from_flat(family, prior, 1, &flat).unwrap());
    assert_eq!(posterior.encode().unwrap(), GLM);
    assert_eq!(Posterior::decode(GLM).unwrap(), posterior);
}

#[test]
fn a_pool_is_the_documented_bytes() {
    let Posterior::Pool(pool) = Posterior::decode(POOL).unwrap() else { panic!("another kind") };
    assert_eq!(Posterior::from(pool.clone()).encode().unwrap(), POOL);
    let groups: Vec<_> = pool.iter().map(|(key, sums)| (key.to_string(), sums.rows(), sums.skipped())).collect();
    assert_eq!(groups, [("-7".to_owned(), 2, 1), ("é".to_owned(), 1, 0)]);
    assert_eq!((pool.spec().to_string().as_str(), pool.inputs()), ("effects=intercept,1 optimum", 1));
    // Where the components were found is of as many numbers as there are components.
    assert!(pool.fit().is_err());
}

#[test]
fn what_a_driver_sends_and_gets_is_the_documented_bytes() {
    let q = InformationGaussian::new(vec![0.5, -1.0], mat![[2.0, 0.0], [0.25, 1.0]]).unwrap();
    let at = At::new(Family::Logistic, GlmPrior { scale: 1.0, intercept: 5.0 }, q).unwrap();
    assert_eq!(at.record(), AT);
    assert_eq!(At::decode(AT).unwrap().record(), AT);
    // Its fingerprint is the end of it.
    assert_eq!(at.fingerprint().bits().to_le_bytes(), AT[AT.len() - 8..]);
    // A posterior is a place too.
    let posterior = Posterior::decode(GLM).unwrap();
    let Posterior::Glm(own) = &posterior else { panic!("not a generalised linear model's") };
    let place = At::decode(GLM).unwrap();
    assert_eq!((place.family(), place.inputs(), place.record()), (own.family(), 1, GLM));
    let sums = PassSums::from_flat(1, &[3.0, 1.0, -2.5, 18.0, 52.0, 0.5, 2.0]).unwrap();
    assert_eq!(sums.place().bits(), 0x12 << 32 | 0x34);
    assert_eq!(sums.encode().unwrap(), PASS);
    assert_eq!(PassSums::decode(PASS).unwrap(), sums);
}

#[test]
fn a_pass_without_its_place_is_refused_by_name() {
    let error = PassSums::decode(FIRST_PASS).unwrap_err();
    assert!(matches!(error, SumsError::Earlier { found: "vi-sums/pass", .. }), "{error}");
    for half in [-1.0, 0.5, 4_294_967_296.0, f64::NAN] {
        let flat = [3.0, 1.0, -2.5, half, 52.0, 0.5, 2.0];
        assert!(matches!(PassSums::from_flat(1, &flat), Err(SumsError::Core(Error::Setting { name: "place", .. }))));
    }
}

#[test]
fn every_damaged_byte_is_seen() {
    for record in [LINEAR, GLM, POOL, AT, PASS] {
        for at in 0..record.len() {
            let mut bytes = record.to_vec();
            bytes[at] ^= 0x10;
            assert!(
                Posterior::decode(&bytes).is_err() && At::decode(&bytes).is_err() && PassSums::decode(&bytes).is_err()
            );
            assert!(Posterior::decode(&record[..at]).is_err());
        }
        let longer = [record, &[0]].concat();
        assert!(
            Posterior::decode(&longer).is_err() && At::decode(&longer).is_err() && PassSums::decode(&longer).is_err()
        );
    }
}

#[test]
fn a_record_of_another_kind_is_named() {
    let error = Posterior::decode(PASS).unwrap_err();
    assert!(matches!(&error, SumsError::Kind { found, .. } if found == "vi-sums/pass-2"), "{error}");
    assert!(matches!(At::decode(LINEAR), Err(SumsError::Kind { .. })));
    assert!(matches!(Posterior::decode(b""), Err(SumsError::Kind { .. })));
}
