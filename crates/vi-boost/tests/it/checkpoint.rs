//! A mixture as bytes.

use vi_boost::{Component, GaussianMixture};
use vi_core::{Checkpoint, CheckpointError, Error, checkpoint};

use crate::common::mixture;

fn bytes(q: &GaussianMixture) -> Vec<u8> {
    let mut bytes = Vec::new();
    q.write_to(&mut bytes).unwrap();
    bytes
}

#[test]
fn what_is_read_computes_the_same_bits() {
    let q = mixture();
    let written = bytes(&q);
    let mut input = written.as_slice();
    let again = GaussianMixture::read_from(&mut input).unwrap();
    checkpoint::expect_end(&mut input).unwrap();
    let theta = [0.3, -1.2, 0.7];
    assert_eq!(again.log_density(&theta).unwrap().to_bits(), q.log_density(&theta).unwrap().to_bits());
    assert_eq!(bytes(&again), written);
}

#[test]
fn a_weight_of_zero_survives() {
    let part = |mean: f64| Component::diagonal(&[mean], &[1.0]).unwrap();
    let q = GaussianMixture::new(vec![part(0.0), part(1.0)], &[1.0, 0.0]).unwrap();
    assert_eq!(GaussianMixture::read_from(&mut bytes(&q).as_slice()).unwrap().weights(), [1.0, 0.0]);
}

#[test]
fn bytes_of_something_else_are_refused() {
    let mut written = bytes(&mixture());
    written.swap(0, 1);
    let error = GaussianMixture::read_from(&mut written.as_slice()).unwrap_err();
    assert!(matches!(error, Error::Checkpoint(_)), "{error}");
}

#[test]
fn another_kind_is_named() {
    let belief = vi_core::DenseGaussian::isotropic(&[0.0], 1.0).unwrap();
    let mut written = Vec::new();
    belief.write_to(&mut written).unwrap();
    let error = GaussianMixture::read_from(&mut written.as_slice()).unwrap_err();
    assert!(matches!(error, Error::Checkpoint(CheckpointError::Kind { .. })));
}
