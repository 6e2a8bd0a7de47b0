//! Appendices C and D.

use vi_linalg::faer::mat;

use super::rng;
use crate::Error;
use crate::factor::{guess_sigma0, start_diagonal, start_isotropic};

#[test]
fn the_trace_is_the_priors() {
    for p in [0, 1, 3, 9] {
        let start = start_isotropic(7, p, 3.0, 0.01, &mut rng(1)).unwrap();
        assert_eq!((start.dim(), start.rank()), (7, p));
        let trace: f64 = start.diagonal().iter().sum();
        // Sums of some dozens of terms.
        assert!((trace / (7.0 / 9.0) - 1.0).abs() < 1e2 * f64::EPSILON, "p = {p}");
        for j in 0..p {
            let length = start.w().col(j).norm_l2();
            let expected = (0.01 * 7.0 / p as f64).sqrt() / 3.0;
            assert!((length / expected - 1.0).abs() < 1e2 * f64::EPSILON, "p = {p}");
        }
    }
}

#[test]
fn a_diagonal_prior_is_kept_in_trace_and_in_proportion() {
    let variances = [1.0, 4.0, 0.25, 9.0];
    let start = start_diagonal(&variances, 2, 0.1, &mut rng(2)).unwrap();
    let expected: f64 = variances.iter().map(|v| 1.0 / v).sum();
    assert!((start.diagonal().iter().sum::<f64>() / expected - 1.0).abs() < 1e2 * f64::EPSILON);
    for (psi, v) in start.psi().iter().zip(variances) {
        assert!((psi * v - 0.9).abs() < 4.0 * f64::EPSILON);
    }
    // Equal variances are the isotropic start, to the bit.
    let (a, b) = (start_diagonal(&[4.0; 5], 2, 0.1, &mut rng(3)), start_isotropic(5, 2, 2.0, 0.1, &mut rng(3)));
    assert_eq!(a.unwrap(), b.unwrap());
}

#[test]
fn the_guess_has_the_trace_of_the_data() {
    let rows = mat![[1.0, 2.0, 2.0], [0.0, 3.0, 4.0]];
    let sigma0 = guess_sigma0(rows.as_ref()).unwrap();
    assert!((3.0 / (sigma0 * sigma0) - 17.0).abs() < 1e-14);
}

#[test]
fn bad_settings_are_named() {
    let rng = &mut rng(4);
    for sigma0 in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let found = start_isotropic(3, 1, sigma0, 0.1, rng);
        assert!(matches!(found, Err(Error::Setting { name: "sigma0", .. })), "{sigma0}");
    }
    for epsilon in [0.0, 1.0, f64::NAN] {
        let found = start_isotropic(3, 1, 1.0, epsilon, rng);
        assert!(matches!(found, Err(Error::Setting { name: "epsilon", .. })), "{epsilon}");
    }
    assert!(matches!(start_isotropic(0, 1, 1.0, 0.1, rng), Err(Error::Empty { .. })));
    let found = start_diagonal(&[1.0, 0.0], 1, 0.1, rng);
    assert!(matches!(found, Err(Error::Entry { argument: "variances", index: 1, .. })));
    assert!(matches!(start_isotropic(3, 1, 1e-200, 0.1, rng), Err(Error::Overflow { .. })));
    assert!(matches!(start_isotropic(2, usize::MAX, 1.0, 0.1, rng), Err(Error::Linalg(_))));
    assert!(matches!(guess_sigma0(mat![[0.0, 0.0]].as_ref()), Err(Error::Overflow { .. })));
    assert!(matches!(guess_sigma0(mat![[f64::NAN, 0.0]].as_ref()), Err(Error::Overflow { .. })));
    assert!(matches!(guess_sigma0(mat![[f64::INFINITY, 0.0]].as_ref()), Err(Error::Overflow { .. })));
}
