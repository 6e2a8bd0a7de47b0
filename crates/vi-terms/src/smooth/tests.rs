use vi_linalg::faer::linalg::solvers::SolveLstsq;

use super::*;

fn first_rows() -> Vec<f64> {
    (0..60).map(|i| (f64::from(i) * 0.11).sin() * 2.0 + f64::from(i * i) * 1e-3).collect()
}

fn at(smooth: &Smooth, x: f64) -> Vec<f64> {
    let mut out = Vec::new();
    smooth.write(x, &mut out);
    out
}

/// Natural cubic splines by truncated powers (Hastie, Tibshirani and Friedman 2009, (5.4)): 1, x, d_k(x) − d_{K−1}(x).
fn dense(knots: &[f64], x: f64) -> Vec<f64> {
    let last = knots[knots.len() - 1];
    let cube = |x: f64| x.max(0.0).powi(3);
    let d = |k: usize| (cube(x - knots[k]) - cube(x - last)) / (last - knots[k]);
    let bend = d(knots.len() - 2);
    [1.0, x].into_iter().chain((0..knots.len() - 2).map(|k| d(k) - bend)).collect()
}

#[test]
fn the_curves_are_the_natural_splines_on_the_knots() {
    let x = first_rows();
    let smooth = Smooth::new(&x, 7).unwrap();
    let (knots, m) = (smooth.knots(), smooth.width());
    let places: Vec<f64> = (0..80).map(|i| -4.0 + 0.15 * f64::from(i)).collect();
    let basis = Mat::from_fn(places.len(), m + 2, |i, j| dense(knots, places[i])[j]);
    let curves = Mat::from_fn(places.len(), m, |i, j| at(&smooth, places[i])[j]);
    let fit = &basis * basis.col_piv_qr().solve_lstsq(curves.as_ref());
    // Truncated powers have a condition of some 1e5 here.
    let worst = (&fit - &curves).norm_max();
    assert!(worst < 1e-9 * curves.norm_max(), "{worst}");
}

#[test]
fn roughness_is_the_identity_by_quadrature() {
    let x = first_rows();
    let smooth = Smooth::new(&x, 6).unwrap();
    let m = smooth.width();
    let second = |x: f64| {
        // Of cubics second differences are exact up to rounding.
        let h = 1e-3;
        let (a, b, c) = (at(&smooth, x - h), at(&smooth, x), at(&smooth, x + h));
        (0..m).map(|j| (a[j] - 2.0 * b[j] + c[j]) / (h * h)).collect::<Vec<f64>>()
    };
    let mut roughness = Mat::<f64>::zeros(m, m);
    for pair in smooth.knots().windows(2) {
        // Gauss's rule of two points: exact for the squares of lines.
        let (middle, half) = (0.5 * (pair[0] + pair[1]), 0.5 * (pair[1] - pair[0]));
        for node in [-1.0, 1.0] {
            let f = second(middle + node * half / 3.0_f64.sqrt());
            for i in 0..m {
                for j in 0..m {
                    roughness[(i, j)] += half * f[i] * f[j];
                }
            }
        }
    }
    let size = roughness[(0, 0)];
    for i in 0..m {
        for j in 0..m {
            let expected = if i == j { size } else { 0.0 };
            // Second differences lose (value·ε)/h² ≈ 1e-9.
            assert!((roughness[(i, j)] - expected).abs() < 1e-7 * size, "{i} {j}: {}", roughness[(i, j)] / size);
        }
    }
    assert!(second(smooth.knots()[0] - 0.3).iter().all(|f| f.abs() < 1e-8));
    assert!(second(smooth.knots()[m + 1] + 0.3).iter().all(|f| f.abs() < 1e-8));
}

#[test]
fn over_the_first_rows_the_curves_are_apart_from_the_line_and_from_each_other() {
    let x = first_rows();
    let smooth = Smooth::new(&x, 6).unwrap();
    let curves: Vec<Vec<f64>> = x.iter().map(|x| at(&smooth, *x)).collect();
    let n = x.len() as f64;
    let moment = |f: &dyn Fn(usize) -> f64| (0..x.len()).map(f).sum::<f64>() / n;
    let mut total = 0.0;
    for j in 0..smooth.width() {
        assert!(moment(&|i| curves[i][j]).abs() < 1e-12);
        assert!(moment(&|i| curves[i][j] * x[i]).abs() < 1e-12);
        total += moment(&|i| curves[i][j] * curves[i][j]);
        for k in 0..j {
            assert!(moment(&|i| curves[i][j] * curves[i][k]).abs() < 1e-12);
            assert!(moment(&|i| curves[i][k].powi(2)) > moment(&|i| curves[i][j].powi(2)));
        }
    }
    assert!((total - 1.0).abs() < 1e-12, "{total}");
}

#[test]
fn there_are_no_more_knots_than_values() {
    let x = [1.0, 2.0, 3.0, 7.0, 2.0, 1.0, 3.0 + 1e-12];
    let smooth = Smooth::new(&x, 8).unwrap();
    assert_eq!((smooth.knots(), smooth.width()), (&[1.0, 2.0, 3.0, 7.0][..], 2));
    let one = Smooth::new(&[0.0, 1.0, 5.0], 9).unwrap();
    assert_eq!(one.width(), 1);
}

#[test]
fn what_cannot_be_learned_is_refused() {
    assert_eq!(Smooth::new(&[], 3), Err(TermsError::Few { found: 0, needed: 3 }));
    assert!(matches!(Smooth::new(&[1.0, f64::NAN], 3), Err(TermsError::Core(vi_core::Error::NonFinite { .. }))));
    assert!(matches!(Smooth::new(&[1.0, 2.0, 3.0], 0), Err(TermsError::Core(vi_core::Error::Setting { .. }))));
}

#[test]
fn it_is_stored_and_read_to_the_bit() {
    let smooth = Smooth::new(&first_rows(), 5).unwrap();
    let text = serde_json::to_string(&smooth).unwrap();
    assert_eq!(serde_json::from_str::<Smooth>(&text).unwrap(), smooth);
    for (from, to) in [("\"knots\":[", "\"knots\":[99,"), ("\"values\":[", "\"values\":[1,")] {
        assert!(serde_json::from_str::<Smooth>(&text.replace(from, to)).is_err());
    }
}
