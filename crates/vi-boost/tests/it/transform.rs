//! Constrained parameters: round trips, Jacobians, gradients.

use vi_boost::transform::{Constrained, Parameters};
use vi_boost::{BoostError, LogDensity};
use vi_core::Error;
use vi_linalg::faer::Mat;

/// One block of each kind, with how many of its constrained numbers are free and which.
fn kinds() -> Vec<(Parameters, Vec<usize>)> {
    let new = Parameters::new;
    vec![
        (new().real("x", 3).unwrap(), vec![0, 1, 2]),
        (new().positive("x", 2).unwrap(), vec![0, 1]),
        (new().above("x", 2, -3.0).unwrap(), vec![0, 1]),
        (new().between("x", 2, -1.0, 4.0).unwrap(), vec![0, 1]),
        (new().ordered("x", 4).unwrap(), vec![0, 1, 2, 3]),
        (new().simplex("x", 4).unwrap(), vec![0, 1, 2]),
        // Rows 1; 2, 3; 4, 5, 6; 7, 8, 9, 10 of a factor: the entries below the diagonal.
        (new().correlation_factor("x", 4).unwrap(), vec![1, 3, 4, 6, 7, 8]),
    ]
}

fn all() -> Parameters {
    let p = Parameters::new().real("a", 2).unwrap().positive("b", 1).unwrap().above("c", 1, 1.0).unwrap();
    let p = p.between("d", 1, 0.0, 2.0).unwrap().ordered("e", 3).unwrap();
    p.simplex("f", 3).unwrap().correlation_factor("g", 3).unwrap()
}

fn point(n: usize, size: f64) -> Vec<f64> {
    (0..n).map(|i| size * ((5 * i + 2) as f64).sin()).collect()
}

#[test]
fn there_and_back_again() {
    for (parameters, _) in kinds().into_iter().chain([(all(), Vec::new())]) {
        for size in [0.1, 1.0, 3.0] {
            let u = point(parameters.free_dim(), size);
            let mut x = vec![0.0; parameters.dim()];
            parameters.constrain(&u, &mut x).unwrap();
            let back = parameters.unconstrain(&x).unwrap();
            for (u, back) in u.iter().zip(&back) {
                // Subtracting a bound of order 1 from x loses e^|u| of its digits, and a factor's row as much again.
                assert!((u - back).abs() <= 64.0 * f64::EPSILON * (2.0 * size).exp() * u.abs().max(1.0), "{u} {back}");
            }
        }
    }
}

#[test]
fn jacobians_are_those_of_differences() {
    for (parameters, free) in kinds() {
        let n = parameters.free_dim();
        let u = point(n, 0.8);
        let mut x = vec![0.0; parameters.dim()];
        let log_jacobian = parameters.constrain(&u, &mut x).unwrap();
        let h = f64::EPSILON.cbrt();
        let (mut above, mut below) = (x.clone(), x.clone());
        let mut jacobian = Mat::<f64>::zeros(n, n);
        for j in 0..n {
            let mut at = u.clone();
            at[j] = u[j] + h;
            parameters.constrain(&at, &mut above).unwrap();
            at[j] = u[j] - h;
            parameters.constrain(&at, &mut below).unwrap();
            for (i, &k) in free.iter().enumerate() {
                jacobian[(i, j)] = (above[k] - below[k]) / (2.0 * h);
            }
        }
        // |det| by the logarithms of a triangular factor's diagonal: every one of these maps is triangular.
        let mut log_det = 0.0;
        for i in 0..n {
            assert!((0..n).all(|j| j <= i || jacobian[(i, j)].abs() < 1e-9));
            log_det += jacobian[(i, i)].abs().ln();
        }
        // Central differences are off by ε^⅔, relatively, for each of at most six entries of order 0.1.
        assert!((log_jacobian - log_det).abs() < 1e-8, "{parameters:?}: {log_jacobian} {log_det}");
    }
}

/// `Σ_i c_i·x_i − ½x_i²` with its gradient.
struct Quadratic(usize);

impl LogDensity for Quadratic {
    fn dim(&self) -> usize {
        self.0
    }

    fn log_density(&self, x: &[f64]) -> f64 {
        x.iter().enumerate().map(|(i, x)| (i as f64).cos() * x - 0.5 * x * x).sum()
    }

    fn value_and_gradient(&self, x: &[f64], out: &mut [f64]) -> Option<f64> {
        for (i, (out, x)) in out.iter_mut().zip(x).enumerate() {
            *out = (i as f64).cos() - x;
        }
        Some(self.log_density(x))
    }
}

/// The same without its gradient.
struct Blind<T>(T);

impl<T: LogDensity> LogDensity for Blind<T> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn log_density(&self, x: &[f64]) -> f64 {
        self.0.log_density(x)
    }
}

#[test]
fn gradients_are_pulled_back_with_that_of_the_jacobian() {
    for parameters in kinds().into_iter().map(|(parameters, _)| parameters).chain([all()]) {
        let n = parameters.free_dim();
        let target = Constrained::new(parameters.clone(), Quadratic(parameters.dim())).unwrap();
        for size in [0.3, 2.0] {
            let u = point(n, size);
            let (mut exact, mut found) = (vec![0.0; n], vec![0.0; n]);
            let value = target.value_and_gradient(&u, &mut exact).unwrap();
            assert!((value - target.log_density(&u)).abs() <= 1e-14 * value.abs().max(1.0));
            let scale = vec![1.0; n];
            vi_boost::target::difference::gradient(&Blind(&target), &u, &scale, &mut found).unwrap();
            let largest = exact.iter().fold(1.0_f64, |a, b| a.max(b.abs()));
            for (exact, found) in exact.iter().zip(&found) {
                // ε^⅔ times derivatives of the third order, which e^(3·2) bounds, over the largest of the first.
                assert!((exact - found).abs() < 1e-7 * largest, "{parameters:?}: {exact} {found}");
            }
        }
    }
}

/// Many points at once are each as it is alone, also where one of them leaves the floats.
#[test]
fn many_points_are_each_as_alone() {
    let (parameters, _) = kinds().remove(0);
    for parameters in [parameters, all()] {
        let n = parameters.free_dim();
        let target = Constrained::new(parameters.clone(), Quadratic(parameters.dim())).unwrap();
        let points = Mat::from_fn(5, n, |i, j| if i == 2 { 1e4 } else { point(n, 0.3 + i as f64)[j] });
        let (mut values, mut with, mut gradients) = ([0.0; 5], [0.0; 5], Mat::zeros(5, n));
        target.log_densities(points.as_ref(), &mut values);
        assert!(target.log_densities_and_gradients(points.as_ref(), &mut with, gradients.as_mut()));
        for i in 0..5 {
            let (u, mut alone): (Vec<f64>, _) = ((0..n).map(|j| points[(i, j)]).collect(), vec![0.0; n]);
            let value = target.value_and_gradient(&u, &mut alone).unwrap();
            assert_eq!((values[i], with[i]), (target.log_density(&u), value));
            assert!((0..n).all(|j| gradients[(i, j)].to_bits() == alone[j].to_bits()), "{parameters:?}: {i}");
        }
        let blind = Constrained::new(parameters, Blind(Quadratic(target.parameters().dim()))).unwrap();
        assert!(!blind.log_densities_and_gradients(points.as_ref(), &mut with, gradients.as_mut()));
    }
}

#[test]
fn what_comes_out_obeys_its_constraint() {
    for size in [1.0, 30.0, 700.0] {
        let simplex = Parameters::new().simplex("x", 5).unwrap();
        let mut x = [0.0; 5];
        assert!(simplex.constrain(&point(4, size), &mut x).unwrap().is_finite());
        assert!(x.iter().all(|x| *x >= 0.0) && (x.iter().sum::<f64>() - 1.0).abs() <= 8.0 * f64::EPSILON * size);
        let factor = Parameters::new().correlation_factor("x", 3).unwrap();
        let mut x = [0.0; 6];
        assert!(factor.constrain(&point(3, size), &mut x).unwrap().is_finite());
        for row in [&x[0..1], &x[1..3], &x[3..6]] {
            assert!((row.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() <= 8.0 * f64::EPSILON * size);
        }
        let between = Parameters::new().between("x", 4, -2.0, 5.0).unwrap();
        let mut x = [0.0; 4];
        between.constrain(&point(4, size), &mut x).unwrap();
        assert!(x.iter().all(|x| (-2.0..=5.0).contains(x)));
    }
}

#[test]
fn a_uniform_density_on_a_simplex_integrates_to_its_volume() {
    // ∫|J|du over the plane is the area of the simplex's first two entries, ½.
    let parameters = Parameters::new().simplex("x", 3).unwrap();
    let (n, h) = (400, 0.1);
    let mut x = [0.0; 3];
    let mut sum = 0.0;
    for i in 0..n {
        for j in 0..n {
            let u = [h * (f64::from(i) - 199.5), h * (f64::from(j) - 199.5)];
            sum += parameters.constrain(&u, &mut x).unwrap().exp() * h * h;
        }
    }
    // The trapezoid rule converges geometrically; the tails beyond 20 hold e⁻²⁰ or so.
    assert!((sum - 0.5).abs() < 1e-7, "{sum}");
}

#[test]
fn names_and_parts() {
    let parameters = all();
    let names = parameters.names();
    assert_eq!(names.len(), parameters.dim());
    assert_eq!(&names[..4], ["a[1]", "a[2]", "b", "c"]);
    assert_eq!(names.last().unwrap(), "g[3,3]");
    let x: Vec<f64> = (0..parameters.dim()).map(|i| i as f64).collect();
    assert_eq!(parameters.part("e", &x), Some(&[5.0, 6.0, 7.0][..]));
    assert_eq!(parameters.part("h", &x), None);
}

#[test]
fn what_cannot_be_is_named() {
    let new = Parameters::new;
    assert!(matches!(new().real("x", 0), Err(BoostError::Core(Error::Setting { .. }))));
    assert!(new().simplex("x", 1).is_err() && new().correlation_factor("x", 1).is_err());
    assert!(new().between("x", 1, 1.0, 1.0).is_err() && new().above("x", 1, f64::NAN).is_err());
    let twice = new().real("x", 1).unwrap().positive("x", 1);
    assert!(matches!(twice, Err(BoostError::Parameter { name, .. }) if name == "x"));
    let entry = |parameters: Parameters, x: &[f64], at: usize| match parameters.unconstrain(x) {
        Err(BoostError::Core(Error::Entry { index, .. })) => assert_eq!(index, at),
        other => panic!("{other:?}"),
    };
    entry(new().positive("x", 2).unwrap(), &[1.0, 0.0], 1);
    entry(new().between("x", 2, 0.0, 1.0).unwrap(), &[0.5, 1.0], 1);
    entry(new().ordered("x", 3).unwrap(), &[1.0, 2.0, 2.0], 2);
    entry(new().simplex("x", 3).unwrap(), &[0.5, -0.1, 0.6], 1);
    entry(new().correlation_factor("x", 2).unwrap(), &[1.0, 0.6, -0.8], 2);
    assert!(new().simplex("x", 2).unwrap().unconstrain(&[0.5, 0.6]).is_err());
    assert!(new().real("x", 1).unwrap().unconstrain(&[f64::NAN]).is_err());
    assert!(new().real("x", 2).unwrap().constrain(&[0.0], &mut [0.0; 2]).is_err());
    assert!(Constrained::new(new(), Quadratic(1)).is_err());
    assert!(Constrained::new(new().real("x", 2).unwrap(), Quadratic(1)).is_err());
}

#[test]
fn beyond_the_range_of_floats_the_density_is_zero() {
    let target = Constrained::new(Parameters::new().positive("x", 1).unwrap(), Quadratic(1)).unwrap();
    assert_eq!(target.log_density(&[1e4]), f64::NEG_INFINITY);
    assert_eq!(target.value_and_gradient(&[1e4], &mut [0.0]), Some(f64::NEG_INFINITY));
}
