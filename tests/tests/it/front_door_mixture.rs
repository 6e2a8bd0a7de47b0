//! From a front-door model to a mixture of its posterior, and back to predictions.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_boost::target::difference;
use vi_boost::{FitSettings, LogDensity, Verdict, summarise};
use vi_models::online::family::{Counts, Logit, Trials};
use vi_models::online::{
    Advice, Observation, OnlineGlm, OnlineLogistic, OnlineSettings, OnlineSoftmax, Posterior, PriorScale,
    RefineSettings, Standardise,
};

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn keeping(prior_scale: PriorScale) -> OnlineSettings {
    OnlineSettings { keep_rows: true, prior_scale, ..OnlineSettings::default() }
}

/// Eight rows of one input that a threshold separates.
const SEPARABLE: [(f64, f64); 8] =
    [(0.3, 0.0), (0.9, 0.0), (1.2, 0.0), (1.4, 0.0), (2.1, 1.0), (2.6, 1.0), (3.3, 1.0), (4.0, 1.0)];

fn separable(settings: OnlineSettings) -> OnlineLogistic {
    let mut model = OnlineLogistic::with_settings(1, settings).unwrap();
    for (x, y) in SEPARABLE {
        model.update(&[x], y).unwrap();
    }
    model.refine(&RefineSettings::default()).unwrap();
    model
}

/// `p(y = 1)` at each of `rows`, with the interval of 90 %, and the log evidence: by the trapezoid rule on a square, which converges geometrically for a smooth
/// density.
fn exact(posterior: &Posterior, rows: &[f64]) -> (Vec<(f64, [f64; 2])>, f64) {
    let (n, half_width) = (800, 60.0);
    let h = 2.0 * half_width / f64::from(n);
    let at = |k: i32| -half_width + h * f64::from(k);
    let grid = vi_linalg::faer::Mat::from_fn(801 * 801, 2, |k, j| {
        let k = i32::try_from(k).unwrap();
        if j == 0 { at(k / 801) } else { at(k % 801) }
    });
    let mut logs = vec![0.0; 801 * 801];
    posterior.log_densities(grid.as_ref(), &mut logs);
    let mass: f64 = logs.iter().map(|log| log.exp() * h * h).sum();
    let own = posterior.in_units(grid.as_ref()).unwrap();
    let answers = rows
        .iter()
        .map(|x| {
            let mut seen: Vec<(f64, f64)> = (0..logs.len())
                .filter(|k| logs[*k] > -60.0)
                .map(|k| (own[(k, 1)] + x * own[(k, 0)], logs[k].exp() * h * h / mass))
                .collect();
            let probability = seen.iter().map(|(t, w)| w / (1.0 + (-t).exp())).sum();
            seen.sort_by(|a, b| a.0.total_cmp(&b.0));
            let quantile = |p: f64| {
                let mut sum = 0.0;
                let found = seen.iter().find(|(_, w)| {
                    sum += w;
                    sum >= p
                });
                1.0 / (1.0 + (-found.unwrap().0).exp())
            };
            (probability, [quantile(0.05), quantile(0.95)])
        })
        .collect();
    (answers, mass.ln())
}

#[test]
fn where_the_gaussian_is_wanting_the_mixture_predicts_as_the_posterior() {
    let rows = [-1.0, 0.5, 1.7, 2.4, 5.0];
    for prior_scale in [PriorScale::Given(15.0), PriorScale::Learned] {
        // A scale of its own: the best Gaussian is wanting.
        let standardise = Standardise::Fixed { centres: vec![1.4], scales: vec![0.75] };
        let mut model = separable(OnlineSettings { standardise, ..keeping(prior_scale.clone()) });
        let posterior = model.posterior().unwrap();
        let found = vi_boost::fit(&posterior, &FitSettings::default(), &mut rng(1)).unwrap();
        assert_eq!(found.diagnosis.verdict, Verdict::Good, "{:?}", found.diagnosis);
        let mixture = model.mixture(&posterior, &found.mixture.beliefs().unwrap()).unwrap();
        let (answers, log_evidence) = exact(&posterior, &rows);
        let (mut of_gaussian, mut of_mixture) = (0.0_f64, 0.0_f64);
        for (x, (probability, interval)) in rows.iter().zip(&answers) {
            let (before, after) = (model.predict(&[*x]).unwrap(), mixture.predict(&[*x]).unwrap());
            let (own, other) = (after.interval(0.9).unwrap(), before.interval(0.9).unwrap());
            let off = |p: f64, lower: f64, upper: f64| {
                (p - probability).abs().max((lower - interval[0]).abs()).max((upper - interval[1]).abs())
            };
            of_gaussian = of_gaussian.max(off(before.probability, other.lower, other.upper));
            of_mixture = of_mixture.max(off(after.probability, own.lower, own.upper));
        }
        // A divergence of 0.03 nats, all that Good allows, moves a probability by √(0.03/2) at most (Pinsker). The model's own answer is one Gaussian where the scale is given, an
        // average of three where it is learned.
        let share = if matches!(prior_scale, PriorScale::Given(_)) { 0.5 } else { 1.0 };
        assert!(of_mixture < 0.12 && of_mixture < share * of_gaussian, "{prior_scale:?}: {of_gaussian} {of_mixture}");
        assert!((found.diagnosis.log_evidence - log_evidence).abs() < 0.03, "{log_evidence} {:?}", found.diagnosis);
        let info = model.diagnose(10_000, &mut rng(2)).unwrap();
        if matches!(prior_scale, PriorScale::Given(_)) {
            assert_eq!(info.advice, Advice::Boost, "{info:?}");
        }
        // Summaries in the caller's units are those of the mixture's margins.
        let draws = posterior.in_units(found.mixture.draw(40_000, &mut rng(3)).as_ref()).unwrap();
        let summary = summarise(&posterior.names(), draws.as_ref()).unwrap();
        let weight = mixture.weight(0).unwrap();
        // Six standard errors of 40,000 draws.
        assert!((summary[0].mean - weight.mean()).abs() < 6.0 * weight.variance().sqrt() / 200.0);
        let intercept = mixture.intercept().unwrap();
        assert!((summary[1].mean - intercept.mean()).abs() < 6.0 * intercept.variance().sqrt() / 200.0);
    }
}

/// The gradient against central differences, at some points of order one.
fn check_gradient(posterior: &Posterior) {
    struct Blind<'a>(&'a Posterior);
    impl LogDensity for Blind<'_> {
        fn dim(&self) -> usize {
            self.0.dim()
        }
        fn log_density(&self, theta: &[f64]) -> f64 {
            self.0.log_density(theta)
        }
    }
    let d = posterior.dim();
    for k in 0..4 {
        let theta: Vec<f64> = (0..d).map(|j| ((3 * j + 7 * k + 1) as f64).sin()).collect();
        let (mut exact, mut found) = (vec![0.0; d], vec![0.0; d]);
        let value = posterior.value_and_gradient(&theta, &mut exact).unwrap();
        // A slab of one point or of many: sums of products in another order.
        assert!((value - posterior.log_density(&theta)).abs() <= 1e-12 * value.abs().max(1.0));
        difference::gradient(&Blind(posterior), &theta, &vec![1.0; d], &mut found).unwrap();
        for (exact, found) in exact.iter().zip(&found) {
            // ε^⅔ of values and third derivatives of some hundred.
            assert!((exact - found).abs() < 1e-7 * value.abs().max(1.0), "{exact} {found}");
        }
    }
}

#[test]
fn gradients_are_those_of_differences() {
    check_gradient(&separable(keeping(PriorScale::Learned)).posterior().unwrap());
    let mut visits = OnlineGlm::with_settings(2, Counts, keeping(PriorScale::Learned)).unwrap();
    let mut votes = OnlineGlm::with_settings(2, Trials, keeping(PriorScale::Given(0.7))).unwrap();
    let mut kinds = OnlineSoftmax::with_settings(2, 3, keeping(PriorScale::Among(vec![0.5, 2.0]))).unwrap();
    for i in 0..20 {
        let x = [f64::from(i % 7), f64::from(i % 3) - 1.0];
        let observed = Observation::new(f64::from(i % 4)).offset(0.1).weight(0.5 + f64::from(i % 2));
        visits.update(&x, observed.exposure(1.5)).unwrap();
        votes.update(&x, observed.trials(4.0)).unwrap();
        kinds.update(&x, Observation::new(f64::from(i % 3)).weight(0.5 + f64::from(i % 2))).unwrap();
    }
    check_gradient(&visits.posterior().unwrap());
    check_gradient(&votes.posterior().unwrap());
    let posterior = kinds.posterior().unwrap();
    check_gradient(&posterior);
    assert_eq!(posterior.names()[3], "class 2 x0");
    // A mixture of one part answers as that Gaussian: here the model's own, at one prior scale.
    let mut kinds = OnlineSoftmax::with_settings(2, 3, keeping(PriorScale::Given(1.0))).unwrap();
    for i in 0..20 {
        kinds.update(&[f64::from(i % 7), f64::from(i % 3) - 1.0], f64::from(i % 3)).unwrap();
    }
    let found = vi_boost::fit(&kinds.posterior().unwrap(), &FitSettings::default(), &mut rng(1)).unwrap();
    assert_eq!(found.diagnosis.verdict, Verdict::Good);
    let mixture = kinds.mixture(&kinds.posterior().unwrap(), &found.mixture.beliefs().unwrap()).unwrap();
    let (own, other) = (mixture.predict(&[3.0, 0.5]).unwrap(), kinds.predict(&[3.0, 0.5]).unwrap());
    for (own, other) in own.probabilities.iter().zip(&other.probabilities) {
        // Two approximations of one posterior of 20 rows.
        assert!((own - other).abs() < 0.05, "{own} {other}");
    }
}

#[test]
fn a_given_scale_gives_the_joint_density_and_others_its_average() {
    let at = |prior_scale: PriorScale| {
        let settings = OnlineSettings { standardise: Standardise::Never, ..keeping(prior_scale) };
        separable(settings).posterior().unwrap()
    };
    let theta = [0.8, -1.1];
    // By hand: Bernoulli rows, weight N(0, s²), intercept N(0, 5²).
    let by_hand = |s: f64| -> f64 {
        let rows: f64 = SEPARABLE
            .iter()
            .map(|(x, y)| {
                let t = theta[0] * x + theta[1];
                -(1.0 + (if *y == 1.0 { -t } else { t }).exp()).ln()
            })
            .sum();
        let normal = |x: f64, sd: f64| -0.5 * (x / sd).powi(2) - sd.ln() - 0.5 * std::f64::consts::TAU.ln();
        rows + normal(theta[0], s) + normal(theta[1], 5.0)
    };
    // Sums of ten logarithms of order ten.
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12 * b.abs(), "{a} {b}");
    close(at(PriorScale::Given(2.0)).log_density(&theta), by_hand(2.0));
    let both = (0.5 * (by_hand(0.5).exp() + by_hand(3.0).exp())).ln();
    close(at(PriorScale::Among(vec![0.5, 3.0])).log_density(&theta), both);
    // log s ~ N(log 0.7, 1.5²) between 0.01 and 50, by Simpson's rule of 4000 steps.
    let (low, high) = (0.01_f64.ln(), 50.0_f64.ln());
    let weight = |u: f64| (-0.5 * ((u - 0.7_f64.ln()) / 1.5).powi(2)).exp();
    let simpson = |f: &dyn Fn(f64) -> f64| -> f64 {
        let (n, h) = (4000, (high - low) / 4000.0);
        let term = |k: u32| f(low + h * f64::from(k)) * if k == 0 || k == n { 1.0 } else { f64::from(2 + 2 * (k % 2)) };
        (0..=n).map(term).sum::<f64>() * h / 3.0
    };
    let average = (simpson(&|u| weight(u) * by_hand(u.exp()).exp()) / simpson(&weight)).ln();
    let found = at(PriorScale::Learned).log_density(&theta);
    // The trapezoid rule of a density cut at 2.8 of its standard deviations, in steps of 0.085: h²/12·f′ at the ends, 3e-5 of it.
    assert!((found - average).abs() < 1e-4, "{found} {average}");
}

#[test]
fn what_cannot_be_boosted_is_refused_and_changes_nothing() {
    let model = separable(keeping(PriorScale::Given(1.0)));
    let posterior = model.posterior().unwrap();
    let parts = |mean: &[f64]| vec![(1.0, vi_core::DenseGaussian::isotropic(mean, 1.0).unwrap())];
    assert!(model.mixture(&posterior, &[]).is_err());
    assert!(model.mixture(&posterior, &parts(&[0.0])).is_err());
    assert!(model.mixture(&posterior, &[(0.5, parts(&[0.0, 0.0])[0].1.clone())]).is_err());
    assert!(model.mixture(&posterior, &[(f64::NAN, parts(&[0.0, 0.0])[0].1.clone())]).is_err());
    assert!(posterior.in_units(vi_linalg::faer::Mat::zeros(2, 3).as_ref()).is_err());
    let forgetful = OnlineLogistic::new(1).unwrap();
    assert!(forgetful.posterior().is_err());
    // A posterior of fewer rows is not the model's.
    let mut later = model.clone();
    later.update(&[1.0], 0.0).unwrap();
    assert!(later.mixture(&posterior, &parts(&[0.0, 0.0])).is_err());
    // A mixture answers and does not learn.
    let mut mixture = model.mixture(&posterior, &parts(&[0.0, 0.0])).unwrap();
    let before = mixture.predict(&[1.0]).unwrap();
    assert!(mixture.update(&[1.0], 1.0).is_err() && mixture.update_batch(&[1.0][..], &[1.0]).is_err());
    assert!(mixture.refine(&RefineSettings::default()).is_err() && mixture.diagnose(100, &mut rng(1)).is_err());
    assert!(mixture.posterior().is_err() && mixture.merge(&[&model]).is_err());
    assert!(serde_json::to_string(&mixture).is_err());
    assert_eq!(mixture.predict(&[1.0]).unwrap(), before);
    assert_eq!((mixture.info().advice, mixture.evidence()), (Advice::Mixture, model.evidence()));
    // The same density by either door.
    let mut glm = OnlineGlm::with_settings(1, Logit, keeping(PriorScale::Given(1.0))).unwrap();
    for (x, y) in SEPARABLE {
        glm.update(&[x], y).unwrap();
    }
    assert_eq!(glm.posterior().unwrap().log_density(&[1.0, 0.5]), posterior.log_density(&[1.0, 0.5]));
}
