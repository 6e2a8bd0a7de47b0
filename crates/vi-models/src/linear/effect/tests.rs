use super::*;

/// The evidence ratio by sums over a grid of `log σ` and of the effect, with nothing done by hand.
fn by_grid(effect: &Effect, null: f64, mixture: f64) -> f64 {
    let Effect { estimate, variance, squares, freedom } = *effect;
    let scale = (squares / freedom).sqrt();
    let log_likelihood = |sigma: f64, delta: f64| {
        let square = squares + (estimate - delta).powi(2) / variance;
        -(freedom + 1.0) * sigma.ln() - 0.5 * square / (sigma * sigma)
    };
    let (mut under, mut against) = (0.0, 0.0);
    let reference = log_likelihood(scale, estimate);
    for k in -400..=400 {
        let sigma = scale * (0.01 * f64::from(k)).exp();
        under += (log_likelihood(sigma, null) - reference).exp();
        let step = 0.05;
        for j in -200..=200 {
            let u = step * f64::from(j);
            let weight = step * (-0.5 * u * u).exp() / (2.0 * std::f64::consts::PI).sqrt();
            against += weight * (log_likelihood(sigma, null + u * mixture * sigma) - reference).exp();
        }
    }
    (against / under).ln()
}

#[test]
fn the_closed_form_is_the_ratio_of_two_integrals() {
    for (estimate, variance, squares, freedom) in
        [(0.4, 0.1, 9.0, 12.0), (-2.0, 0.5, 3.0, 4.0), (30.0, 2.0, 900.0, 40.0)]
    {
        let effect = Effect::new(estimate, variance, squares, freedom).unwrap();
        for (null, mixture) in [(0.0, 0.3), (0.0, 1.0), (0.3, 0.6)] {
            let (found, expected) = (effect.log_e_value(null, mixture).unwrap(), by_grid(&effect, null, mixture));
            // Trapezia of smooth functions on the whole line; what is beyond the grid's ends is below 1e-9 of the integrals.
            assert!((found - expected).abs() < 1e-7, "{found} {expected}");
        }
    }
}

/// Differences about 0: given `n` of them the next one is Student-t, whatever the noise, and the mean of the next evidence ratio is the present one.
#[test]
fn the_next_ratio_is_the_present_one_on_average() {
    let mixture = 0.7;
    let of = |n: f64, sum: f64, square: f64| {
        let mean = sum / n;
        Effect::new(mean, n.recip(), square - n * mean * mean, n - 1.0).unwrap().log_e_value(0.0, mixture).unwrap()
    };
    for (n, sum, square) in [(2.0, 1.0, 1.3), (5.0, -3.0, 7.0), (30.0, 12.0, 40.0)] {
        let scale = f64::sqrt(square / n);
        let (mut mass, mut mean) = (0.0, 0.0);
        // y = scale·sinh w, by equal steps of w: the density falls as a power of y.
        for k in -4000..=4000 {
            let w = 0.01 * f64::from(k);
            let t = w.sinh();
            let weight = w.cosh() * (-0.5 * (n + 1.0) * (t * t / n).ln_1p()).exp();
            mass += weight;
            mean += weight * of(n + 1.0, sum + scale * t, square + scale * scale * t * t).exp();
        }
        let expected = of(n, sum, square).exp();
        // Steps of .01 of a smooth function; squares less n·mean² lose a factor of n or so of rounding.
        assert!((mean / mass / expected - 1.0).abs() < 1e-8, "{} {expected}", mean / mass);
    }
}

#[test]
fn an_interval_holds_what_has_less_evidence_against_it() {
    for (estimate, variance, squares, freedom) in
        [(0.4, 0.01, 90.0, 120.0), (-2e5, 0.5, 3e8, 14.0), (1e-3, 1e-6, 1.0, 1e6)]
    {
        let effect = Effect::new(estimate, variance, squares, freedom).unwrap();
        for mixture in [0.1, 1.0, 20.0] {
            for level in [0.5, 0.95, 0.999] {
                let Some(Interval { lower, upper }) = effect.interval(level, mixture).unwrap() else {
                    // Not even the farthest value is refused: the ratio's limit is below 1/α.
                    assert!(effect.log_e_value(1e200, mixture).unwrap() < -(1.0 - level).ln());
                    continue;
                };
                assert!(lower < estimate && estimate < upper);
                for end in [lower, upper] {
                    let found = effect.log_e_value(end, mixture).unwrap();
                    // The end rounds, and ν + 1 multiplies the rounding of the logarithm.
                    let tolerance = 64.0 * f64::EPSILON * (freedom + 2.0) * (1.0 + estimate.abs() / (upper - lower));
                    assert!((found + (1.0 - level).ln()).abs() < tolerance, "{found} {level} {mixture}");
                }
            }
        }
    }
}

#[test]
fn the_unit_of_the_labels_does_not_matter() {
    let log = |unit: f64| {
        let effect = Effect::new(unit * 0.3, 0.04, unit * unit * 80.0, 70.0).unwrap();
        (effect.log_e_value(0.0, 0.2).unwrap(), effect.interval(0.9, 0.2).unwrap().unwrap().upper / unit)
    };
    // Units are powers of 2, so that nothing rounds.
    assert_eq!(log(1.0), log(2.0_f64.powi(40)));
    assert_eq!(log(1.0), log(2.0_f64.powi(-40)));
}

/// Without degrees of freedom the e-value is 1 and the interval the whole line; residuals of 0 determine the effect.
#[test]
fn effects_at_the_ends_of_the_range() {
    let one = Effect::new(3.0, 0.5, 0.0, 0.0).unwrap();
    assert_eq!((one.log_e_value(0.0, 1.0).unwrap(), one.interval(0.95, 1.0).unwrap()), (0.0, None));
    let exact = Effect::new(3.0, 0.5, 0.0, 4.0).unwrap();
    assert!(exact.log_e_value(0.0, 1.0).unwrap() > 0.0 && exact.log_e_value(3.0, 1.0).unwrap() < 0.0);
    for (variance, squares, freedom) in [(0.0, 1.0, 1.0), (f64::NAN, 1.0, 1.0), (1.0, -1.0, 1.0), (1.0, 1.0, -1.0)] {
        assert!(matches!(Effect::new(0.0, variance, squares, freedom), Err(ModelError::Core(Error::Setting { .. }))));
    }
    assert!(Effect::new(f64::INFINITY, 1.0, 1.0, 1.0).is_err());
    assert!(exact.log_e_value(f64::NAN, 1.0).is_err() && exact.log_e_value(0.0, 0.0).is_err());
    assert!(exact.interval(1.0, 1.0).is_err() && exact.interval(0.9, -1.0).is_err());
    assert!(matches!(
        Effect::new(1e9, 1e-9, 1e-9, 1e5).unwrap().e_value(0.0, 1.0),
        Err(ModelError::Core(Error::Overflow { .. }))
    ));
}
