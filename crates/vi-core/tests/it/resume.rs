//! Streams that stop and go on: factor analysis and adaptive fading as bytes.

use vi_core::factor::{
    Averaging, Diagonal, DiagonalSettings, OnlineEm, OnlineSettings, RecursiveEm, RecursiveSettings, UpdateSettings,
    Weights, start_isotropic,
};
use vi_core::{AdaptiveFading, Checkpoint, DenseGaussian, Error, Explicit, GaussianLikelihood, filter};
use vi_linalg::faer::Par;

use crate::common::{bytes, rng, rows, view};

/// Goes on with the state and with the one read from its bytes: bytes that differ nowhere.
fn resumes<C: Checkpoint>(mut state: C, mut go_on: impl FnMut(&mut C)) {
    let written = bytes(&state);
    let mut again = C::read_from(&mut written.as_slice()).unwrap();
    assert_eq!(bytes(&again), written);
    go_on(&mut state);
    go_on(&mut again);
    assert_ne!(bytes(&state), written);
    assert_eq!(bytes(&again), bytes(&state));
}

#[test]
fn factor_analysis_goes_on_as_if_it_had_never_stopped() {
    let (d, n) = (6, 20);
    let x = rows(n, d, &mut rng(1));
    let (first, rest) = (view(&x, d).subrows(0, 9), view(&x, d).subrows(9, n - 9));
    let floored = DiagonalSettings { form: Diagonal::Isotropic, floor: Some(1e-3) };
    for p in [0, 2] {
        let start = start_isotropic(d, p, 1.0, 0.1, &mut rng(2)).unwrap();
        for weights in [Weights::Mean, Weights::MeanAsPrinted, Weights::Sum, Weights::Fading { memory: 0.9 }] {
            for update in [
                UpdateSettings { inner_loops: 2, diagonal: floored },
                UpdateSettings { inner_loops: 1, diagonal: floored },
            ] {
                let settings = RecursiveSettings { weights, update };
                let mut em = RecursiveEm::new(start.clone(), &settings).unwrap();
                em.run(first, Par::Seq).unwrap();
                resumes(em, |em| em.run(rest, Par::Seq).unwrap());
            }
        }
        for averaging in [Averaging::Off, Averaging::After { from: 4 }, Averaging::AsPrinted { after: 12 }] {
            let settings = OnlineSettings { exponent: 0.7, averaging, diagonal: floored };
            let mut em = OnlineEm::new(start.clone(), &settings).unwrap();
            em.run(first, Par::Seq).unwrap();
            resumes(em, |em| em.run(rest, Par::Seq).unwrap());
        }
    }
}

#[test]
fn adaptive_fading_goes_on_as_if_it_had_never_stopped() {
    let rule = Explicit(GaussianLikelihood::new(0.1).unwrap());
    let mut belief = DenseGaussian::isotropic(&[0.0], 1.0).unwrap();
    let mut fading = AdaptiveFading::new(5.0, 2.0).unwrap();
    let go_on = |fading: &mut AdaptiveFading, belief: &mut DenseGaussian| {
        for t in 0..7 {
            fading.apply(belief).unwrap();
            let y = f64::from(t);
            fading.observe(&filter::step(belief, &rule, &[1.0], y, &mut filter::Scratch::default()).unwrap());
        }
    };
    go_on(&mut fading, &mut belief);
    resumes(fading, |fading| go_on(fading, &mut belief.clone()));
    // A belief's bytes are no fading's.
    let error = AdaptiveFading::read_from(&mut bytes(&belief).as_slice()).unwrap_err();
    assert!(matches!(error, Error::Checkpoint(_)));
}
