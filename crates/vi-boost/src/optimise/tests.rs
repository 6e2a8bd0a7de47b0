use super::*;

const SEARCH: Search = Search { evaluations: 400, tolerance: 1e-14 };

fn rosenbrock(x: &[f64], g: &mut [f64]) -> f64 {
    let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
    g[0] = -2.0 * a - 400.0 * x[0] * b;
    g[1] = 200.0 * b;
    a * a + 100.0 * b * b
}

#[test]
fn the_valley_is_followed_to_its_end() {
    let found = minimise(&[-1.2, 1.0], SEARCH, rosenbrock).unwrap();
    assert!(found.end == End::Converged && found.evaluations < 100, "{found:?}");
    // The value is quadratic about the minimum, with curvature of order 1 along the valley.
    assert!((found.x[0] - 1.0).abs() < 1e-5, "{found:?}");
}

#[test]
fn walls_turn_the_search_round() {
    // −log x + x, with nothing left of 0, started so steep that the first steps leap the wall.
    let wall = |x: &[f64], g: &mut [f64]| {
        if x[0] <= 0.0 {
            return f64::NAN;
        }
        g[0] = 1.0 - 1.0 / x[0];
        x[0] - x[0].ln()
    };
    for start in [1e-3, 0.5, 50.0, 1e4] {
        let found = minimise(&[start], SEARCH, wall).unwrap();
        assert!((found.x[0] - 1.0).abs() < 1e-5, "{start}: {found:?}");
    }
    assert!(minimise(&[-1.0], SEARCH, wall).is_none());
}

#[test]
fn a_function_without_a_minimum_ends_with_the_evaluations() {
    let slope = |x: &[f64], g: &mut [f64]| {
        g[0] = 1.0;
        x[0]
    };
    let found = minimise(&[0.0], Search { evaluations: 50, tolerance: 1e-9 }, slope).unwrap();
    assert!(found.end == End::Evaluations && found.evaluations <= 50 && found.x[0] < -1e6, "{found:?}");
}

#[test]
fn the_start_may_be_the_minimum() {
    let bowl = |x: &[f64], g: &mut [f64]| {
        g[0] = 2.0 * x[0];
        x[0] * x[0]
    };
    let found = minimise(&[0.0], SEARCH, bowl).unwrap();
    assert!(found.end == End::Converged && found.evaluations == 1);
}

#[test]
fn a_gradient_whose_square_overflows_is_followed() {
    // x²/2 + x¹⁵⁰ from 26: the gradient is 1e213.
    let steep = |x: &[f64], g: &mut [f64]| {
        g[0] = x[0] + 150.0 * x[0].powi(149);
        0.5 * x[0] * x[0] + x[0].powi(150)
    };
    // Each step is one of Newton's, which divides x by 1 + 1/149: 500 of them, with some trials each.
    let found = minimise(&[26.0], Search { evaluations: 4000, ..SEARCH }, steep).unwrap();
    // The value is x²/2 near its minimum, and steps end at a gain of 1e-14.
    assert!(found.end == End::Converged && found.x[0].abs() < 1e-5, "{found:?}");
}

#[test]
fn no_step_is_an_end_of_its_own() {
    // A gradient that points the wrong way.
    let wrong = |x: &[f64], g: &mut [f64]| {
        g[0] = -1.0;
        x[0]
    };
    let found = minimise(&[0.0], SEARCH, wrong).unwrap();
    assert!(found.end == End::NoStep && found.x == [0.0], "{found:?}");
}
