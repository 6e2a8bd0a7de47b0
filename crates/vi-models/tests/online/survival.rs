//! Times of events, some of them censored, by piecewise-constant hazards.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Exp1, StandardNormal};
use vi_core::batch::BatchSettings;
use vi_models::ModelError;
use vi_models::online::family::Counts;
use vi_models::online::{
    BeliefKind, Cuts, Kind, Memory, Model, Observation, OnlineGlm, OnlineSettings, OnlineSurvival, PriorScale,
    RefineSettings, Row, Standardise, Start,
};

use crate::ordered::{near, plain};
use crate::{KINDS, settings};

const WEIGHTS: [f64; 2] = [0.8, -0.5];
const HAZARDS: [f64; 3] = [0.02, 0.05, 0.01];
const CUTS: [f64; 2] = [10.0, 30.0];

/// A time whose hazard is that of [`HAZARDS`] between [`CUTS`], times `factor`.
fn time(factor: f64, rng: &mut ChaCha8Rng) -> f64 {
    let (mut left, mut from) = (rng.sample::<f64, _>(Exp1) / factor, 0.0);
    for (hazard, to) in HAZARDS.into_iter().zip(CUTS.into_iter().chain([f64::INFINITY])) {
        if left < hazard * (to - from) {
            return from + left / hazard;
        }
        left -= hazard * (to - from);
        from = to;
    }
    from
}

/// `n` rows of 2 inputs, and times, censored at random.
fn stream(n: usize, seed: u64) -> (Vec<f64>, Vec<Observation>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rows: Vec<f64> = (0..2 * n).map(|_| rng.sample(StandardNormal)).collect();
    let observed = rows.chunks(2).map(|x| {
        let event = time((WEIGHTS[0] * x[0] + WEIGHTS[1] * x[1]).exp(), &mut rng);
        let until = 5.0 + 75.0 * rng.random::<f64>();
        if event < until { Observation::new(event) } else { Observation::new(until).censored() }
    });
    let observed = observed.collect();
    (rows, observed)
}

fn cuts() -> Cuts {
    Cuts::new(&CUTS, 25.0).unwrap()
}

/// With one interval and no inputs the posterior of the hazard is nearly that of a Gamma prior.
#[test]
fn one_hazard_has_the_posterior_of_a_rate() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let settings = OnlineSettings { keep_rows: true, ..OnlineSettings::default() };
    let mut model = OnlineSurvival::with_settings(0, Cuts::new(&[], 20.0).unwrap(), settings).unwrap();
    let (mut events, mut total) = (0.0, 0.0);
    for _ in 0..80 {
        let event = 25.0 * rng.sample::<f64, _>(Exp1);
        let seen = if event < 30.0 { Observation::new(event) } else { Observation::new(30.0).censored() };
        total += event.min(30.0);
        events += f64::from(u8::from(event < 30.0));
        model.update(&[], seen).unwrap();
    }
    let one_pass = model.log_hazards().unwrap().remove(0);
    model.refine(&RefineSettings::default()).unwrap();
    // The prior of the log hazard is N(0, 25) for events per 20; sums over a grid.
    let log_density = |a: f64| events * a - total * a.exp() - (a + 20_f64.ln()).powi(2) / 50.0;
    let (start, step) = ((events / total).ln() - 2.0, 1e-3);
    let (mut mass, mut mean, mut square) = (0.0, 0.0, 0.0);
    let top = log_density((events / total).ln());
    for k in 0..4000 {
        let a = start + f64::from(k) * step;
        let own = (log_density(a) - top).exp() * step;
        (mass, mean, square) = (mass + own, mean + own * a, square + own * a * a);
    }
    let (mean, sd) = (mean / mass, (square / mass - (mean / mass).powi(2)).sqrt());
    let found = &model.log_hazards().unwrap()[0];
    near(one_pass.mean(), mean, 0.05 * sd, "mean of one pass");
    near(one_pass.standard_deviation(), sd, 0.05 * sd, "deviation of one pass");
    near(found.mean(), mean, 0.002 * sd, "mean");
    near(found.standard_deviation(), sd, 0.01 * sd, "deviation");
    near(found.standard_deviation(), events.sqrt().recip(), 0.02 * sd, "deviation of a Gamma");
    near(model.evidence(), top + mass.ln() - 0.5 * (50.0 * std::f64::consts::PI).ln(), 5e-3, "evidence");
}

/// With hazards that are all but known, densities are those of the formula, and so is the evidence.
#[test]
fn known_hazards_give_the_density_of_the_formula() {
    let settings = OnlineSettings { intercept_scale: 1e-6, ..plain(BeliefKind::Full) };
    let mut model = OnlineSurvival::with_settings(0, Cuts::new(&[], 25.0).unwrap(), settings).unwrap();
    let (hazard, mut sum) = (1.0 / 25.0, 0.0);
    for (t, factor, is_event) in
        [(3.0, 1.0, true), (10.0, 0.3, true), (17.0, 2.0, false), (80.0, 1.0, true), (31.0, 1.0, false)]
    {
        let h = hazard * factor;
        let seen = model.predict_at(&[], f64::ln(factor)).unwrap();
        near(seen.log_density(t).unwrap(), f64::ln(h) - h * t, 1e-9, "density");
        near(seen.log_survival(t).unwrap(), -h * t, 1e-9, "survival");
        near(seen.mean().unwrap(), 1.0 / h, 1e-9 / h, "mean");
        near(seen.restricted_mean(t).unwrap(), (1.0 - (-h * t).exp()) / h, 1e-9 / h, "restricted mean");
        near(seen.median().unwrap(), 2_f64.ln() / h, 1e-9 / h, "median");
        sum += if is_event { f64::ln(h) } else { 0.0 } - h * t;
        let observed = Observation::new(t).offset(f64::ln(factor));
        model.update(&[], if is_event { observed } else { observed.censored() }).unwrap();
    }
    near(model.evidence(), sum, 1e-8, "evidence");
}

/// Where next to nothing is known of the hazard, the mean of the time is beyond floats: an error, and no number.
#[test]
fn a_mean_beyond_floats_is_an_error() {
    let settings = OnlineSettings { intercept_scale: 60.0, ..plain(BeliefKind::Full) };
    let model = OnlineSurvival::with_settings(0, Cuts::new(&[], 1.0).unwrap(), settings).unwrap();
    let seen = model.predict(&[]).unwrap();
    assert!(matches!(seen.mean(), Err(ModelError::Core(vi_core::Error::Overflow { .. }))), "{:?}", seen.mean());
    assert!(seen.median().unwrap() > 0.0);
}

/// A row is a Poisson count of each interval that it entered, at the exposure there.
#[test]
fn a_row_is_its_intervals() {
    let (rows, observed) = stream(150, 2);
    for belief in [BeliefKind::Full, BeliefKind::SquareRoot] {
        let mut own = OnlineSurvival::with_settings(2, cuts(), plain(belief)).unwrap();
        let mut counts = OnlineGlm::with_settings(4, Counts, plain(belief)).unwrap();
        // An indicator of this size whose weight has the prior N(0, 1) is one whose weight has that of a change of the log hazard.
        let size = 2.0 / 3_f64.sqrt();
        let step = |x: &[f64], k: usize| {
            let of = |of: usize| if of <= k { size } else { 0.0 };
            [x[0], x[1], of(1), of(2)]
        };
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for x in rows.chunks(2) {
            let (event, until) = (time(1.0, &mut rng), 60.0 * rng.random::<f64>());
            let (t, is_event) = (event.min(until), event < until);
            let seen = Observation::new(t).weight(0.5);
            let (before, counts_before) = (own.evidence(), counts.evidence());
            own.update(x, if is_event { seen } else { seen.censored() }).unwrap();
            let mut jacobian = 0.0;
            for (k, (from, to)) in [(0.0, 10.0), (10.0, 30.0), (30.0, f64::INFINITY)].into_iter().enumerate() {
                if t > from {
                    let (d, exposure) = (f64::from(u8::from(is_event && t <= to)), t.min(to) - from);
                    jacobian += 0.5 * d * exposure.ln();
                    let count = Observation::new(d).exposure(exposure).offset(-25_f64.ln()).weight(0.5);
                    counts.update(&step(x, k), count).unwrap();
                }
            }
            near(own.evidence() - before, counts.evidence() - counts_before - jacobian, 1e-9, "score");
        }
        for j in 0..2 {
            let (found, same) = (own.weight(j).unwrap(), counts.weight(j).unwrap());
            near(found.mean(), same.mean(), 1e-10, "mean");
            near(found.variance(), same.variance(), 1e-10, "variance");
        }
        let third = counts.predictor(&step(&[0.0, 0.0], 2), -25_f64.ln()).unwrap();
        let found = &own.log_hazards().unwrap()[2];
        near(found.mean(), third.mean(), 1e-10, "log hazard");
        near(found.variance(), third.variance(), 1e-10, "its variance");
    }
    assert!(observed.iter().any(|own| *own != own.censored()));
}

/// What a model with a full covariance predicts before it learns a row is what the row adds to its evidence, whatever it averages over.
#[test]
fn the_score_of_a_row_is_the_density_that_was_told() {
    let (rows, observed) = stream(300, 3);
    for belief in [BeliefKind::Full, BeliefKind::SquareRoot] {
        for prior_scale in [PriorScale::Given(0.7), PriorScale::Among(vec![0.2, 2.0])] {
            for cuts in [cuts(), Cuts::new(&[], 25.0).unwrap()] {
                let settings =
                    OnlineSettings { prior_scale: prior_scale.clone(), start: Start::OnePass, ..settings(belief) };
                let mut model = OnlineSurvival::with_settings(2, cuts, settings).unwrap();
                for (t, (x, &own)) in rows.chunks(2).zip(&observed).enumerate() {
                    let (told, before) = (model.predict_at(x, 0.3).unwrap(), model.evidence());
                    model.update(x, own.offset(0.3)).unwrap();
                    // The first rows set the scales of the columns, by which all of them are scored anew.
                    if t > 50 {
                        let score = model.evidence() - before;
                        near(score, told.log_density_of(own).unwrap(), 2e-6, &format!("{belief:?} {t}"));
                    }
                }
            }
        }
    }
}

#[test]
fn a_prediction_is_one_distribution() {
    let (rows, observed) = stream(100, 4);
    let settings = OnlineSettings { prior_scale: PriorScale::Among(vec![0.2, 2.0]), ..OnlineSettings::default() };
    let mut model = OnlineSurvival::with_settings(2, cuts(), settings).unwrap();
    model.update_batch(&rows, &observed).unwrap();
    for x in [[0.0, 0.0], [2.0, -1.0], [-3.0, 2.0]] {
        let seen = model.predict(&x).unwrap();
        let (mut before, mut area) = (1.0, 0.0);
        let step = 0.01;
        for k in 1..=20_000_u32 {
            let t = f64::from(k) * step;
            let survival = seen.survival(t).unwrap();
            assert!(survival < before, "{t}: {survival} {before}");
            area += 0.5 * step * (before + survival);
            if k % 1000 == 500 {
                let slope = (seen.cdf(t + 1e-4).unwrap() - seen.cdf(t - 1e-4).unwrap()) / 2e-4;
                near(seen.log_density(t).unwrap().exp(), slope, 1e-6 * slope + 1e-11, "density");
                near(seen.restricted_mean(t).unwrap(), area, 1e-5 * area, "area");
            }
            before = survival;
        }
        for p in [1e-6, 0.05, 0.3, 0.5, 0.9, 0.999] {
            let t = seen.quantile(p).unwrap();
            near(seen.cdf(t).unwrap(), p, 1e-9 * p, "quantile");
        }
        let own = seen.interval(0.8).unwrap();
        near(own.upper, seen.quantile(0.9).unwrap(), 1e-9 * own.upper, "interval");
        near(seen.restricted_mean(1e12).unwrap(), seen.mean().unwrap(), 1e-3 * seen.mean().unwrap(), "mean");
        assert_eq!((seen.survival(0.0).unwrap(), seen.survival(f64::INFINITY).unwrap()), (1.0, 0.0));
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let early = (0..2000).filter(|_| seen.draw(&mut rng).unwrap() < own.lower).count();
        assert!((early as f64 - 200.0).abs() < 5.0 * 180_f64.sqrt(), "{early}");
        for p in [0.0, 1.0, f64::NAN] {
            assert!(seen.quantile(p).is_err());
        }
        assert!(seen.log_density(0.0).is_err() && seen.log_density(f64::INFINITY).is_err());
    }
}

#[test]
fn it_goes_on_with_the_same_bits() {
    let (rows, observed) = stream(300, 5);
    for (belief, memory) in
        KINDS.into_iter().zip([Memory::Everything, Memory::Fading(0.99), Memory::Learned, Memory::Everything])
    {
        for cuts in [cuts(), Cuts::new(&[], 25.0).unwrap()] {
            let settings = OnlineSettings { memory, ..settings(belief) };
            let mut model = OnlineSurvival::with_settings(2, cuts, settings.clone()).unwrap();
            let mut again = OnlineSurvival::with_settings(2, cuts, settings).unwrap();
            for (t, (x, &own)) in rows.chunks(2).zip(&observed).enumerate() {
                model.update(x, own).unwrap();
                if t % 97 == 0 {
                    again = serde_json::from_str(&serde_json::to_string(&again).unwrap()).unwrap();
                }
                if t % 50 == 0 {
                    again.update_batch(&rows[2 * t..2 * (t + 50)], &observed[t..t + 50]).unwrap();
                }
            }
            assert_eq!(serde_json::to_string(&model).unwrap(), serde_json::to_string(&again).unwrap(), "{belief:?}");
            assert_eq!(model.predict(&[0.3, 1.0]).unwrap(), again.predict(&[0.3, 1.0]).unwrap());
        }
    }
    let stored = serde_json::to_string(&OnlineSurvival::new(2, cuts()).unwrap()).unwrap();
    for (from, to) in [("[10.0,30.0]", "[10.0]"), ("[10.0,30.0]", "[30.0,10.0]"), ("\"unit\":25.0", "\"unit\":0.0")] {
        assert!(
            stored.contains(from) && serde_json::from_str::<OnlineSurvival>(&stored.replacen(from, to, 1)).is_err()
        );
    }
}

/// The model of its kind is the model within, under its name.
#[test]
fn it_is_one_of_the_kinds() {
    let (rows, observed) = stream(120, 6);
    let kind = Kind::Survival { cuts: cuts() };
    let mut model = Model::new(kind, 2, OnlineSettings::default()).unwrap();
    let mut own = OnlineSurvival::new(2, cuts()).unwrap();
    for (x, &seen) in rows.chunks(2).zip(&observed) {
        model.update(Row::Dense(x), seen).unwrap();
        own.update(x, seen).unwrap();
    }
    let stored = serde_json::to_string(&model).unwrap();
    assert_eq!(stored, format!("{{\"Survival\":{}}}", serde_json::to_string(&own).unwrap()));
    assert_eq!(serde_json::to_string(&serde_json::from_str::<Model>(&stored).unwrap()).unwrap(), stored);
    assert_eq!(model.emptied().unwrap().kind(), kind);
    let told = model.predict(Row::Dense(&[0.5, 1.0]), Observation::new(4.0).censored()).unwrap();
    let within = own.predict(&[0.5, 1.0]).unwrap();
    assert_eq!(told.quantile(0.5).unwrap(), Some(within.median().unwrap()));
    assert_eq!(told.log_density_of(Observation::new(4.0).censored()).unwrap(), within.log_survival(4.0).unwrap());
    assert_eq!(told.log_density(4.0).unwrap(), within.log_density(4.0).unwrap());
    assert!(told.standard_deviation().is_none() && told.crps(1.0).unwrap().is_none() && told.class().is_none());
    assert!(model.predict(Row::Dense(&[0.5, 1.0]), Observation::new(4.0).exposure(2.0)).is_err());
    let names: Vec<String> = own.coefficients().unwrap().into_iter().map(|c| c.name).collect();
    assert_eq!(names, ["0–10", "10–30", "30–", "x0", "x1"]);
}

#[test]
fn parts_of_the_rows_merge() {
    let (rows, observed) = stream(1200, 7);
    let settings = OnlineSettings { standardise: Standardise::Never, ..OnlineSettings::default() };
    let learned = |from: usize, to: usize| {
        let mut model = OnlineSurvival::with_settings(2, cuts(), settings.clone()).unwrap();
        model.update_batch(&rows[2 * from..2 * to], &observed[from..to]).unwrap();
        model
    };
    let (whole, mut parts) = (learned(0, 1200), learned(0, 400));
    parts.merge(&[&learned(400, 800), &learned(800, 1200)]).unwrap();
    for (one, other) in whole.coefficients().unwrap().iter().zip(parts.coefficients().unwrap()) {
        let sd = one.belief.standard_deviation();
        // Some thirty events in the last interval, ten in each part.
        near(one.belief.mean(), other.belief.mean(), 0.5 * sd, &one.name);
        near(sd, other.belief.standard_deviation(), 0.1 * sd, &one.name);
    }
    let others = OnlineSurvival::with_settings(2, Cuts::new(&[10.0, 31.0], 25.0).unwrap(), settings.clone()).unwrap();
    assert!(matches!(parts.merge(&[&others]), Err(ModelError::Unlike { .. })));
}

/// Kept rows can be refined and diagnosed, and passes over rows elsewhere find nearly the same.
#[test]
fn refinement_is_that_of_the_intervals() {
    let (rows, observed) = stream(300, 8);
    for cuts in [cuts(), Cuts::new(&[], 25.0).unwrap()] {
        let settings = OnlineSettings { keep_rows: true, ..OnlineSettings::default() };
        let mut model = OnlineSurvival::with_settings(2, cuts, settings).unwrap();
        model.update_batch(&rows, &observed).unwrap();
        let mut over = model.clone();
        assert!(model.refine(&RefineSettings::default()).unwrap().sweeps > 0);
        let k_hat = model.diagnose(4000, &mut ChaCha8Rng::seed_from_u64(1)).unwrap().k_hat.unwrap();
        assert!(k_hat < 0.7, "{k_hat}");
        over.refine_over(&BatchSettings::default(), |take| {
            rows.chunks(2).zip(&observed).try_for_each(|(x, own)| take(Row::Dense(x), *own))
        })
        .unwrap_or_else(|error: ModelError| panic!("{error}"));
        for (one, other) in model.coefficients().unwrap().iter().zip(over.coefficients().unwrap()) {
            near(one.belief.mean(), other.belief.mean(), 0.1 * one.belief.standard_deviation(), &one.name);
        }
    }
}

#[test]
fn wrong_times_leave_the_model_unchanged() {
    let (rows, observed) = stream(80, 9);
    for belief in KINDS {
        let mut model = OnlineSurvival::with_settings(2, cuts(), settings(belief)).unwrap();
        model.update_batch(&rows, &observed).unwrap();
        let before = serde_json::to_string(&model).unwrap();
        for t in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            for seen in [Observation::new(t), Observation::new(t).censored()] {
                assert!(matches!(model.update(&[0.1, 0.2], seen), Err(ModelError::Core(vi_core::Error::Label { .. }))));
            }
        }
        let seen = Observation::new(3.0);
        for wrong in [seen.trials(2.0), seen.exposure(2.0), seen.group(1), seen.weight(-1.0), seen.offset(f64::NAN)] {
            assert!(model.update(&[0.1, 0.2], wrong).is_err() && model.update(&[0.1, 0.2], wrong.censored()).is_err());
        }
        assert!(model.update(&[f64::NAN, 0.0], 3.0).is_err() && model.update(&[0.1], 3.0).is_err());
        let error = model.update_batch(&rows, &vec![Observation::new(0.0); 80]).unwrap_err();
        assert!(error.to_string().contains("observation 0"), "{error}");
        assert_eq!(serde_json::to_string(&model).unwrap(), before);
        assert!(model.predict_at(&[0.1, 0.2], f64::INFINITY).is_err());
    }
    // No other label can be censored.
    let mut count = OnlineGlm::new(1, Counts).unwrap();
    assert!(count.update(&[1.0], Observation::new(2.0).censored()).unwrap_err().to_string().contains("censored"));
    for wrong in [&[0.0][..], &[2.0, 2.0], &[f64::INFINITY], &[1.0; 16]] {
        assert!(Cuts::new(wrong, 1.0).is_err(), "{wrong:?}");
    }
    assert!(Cuts::new(&[1.0], 0.0).is_err() && Cuts::of(&[]).is_err() && Cuts::of(&[Observation::new(-1.0)]).is_err());
}

#[test]
fn cuts_are_quantiles_of_the_times_of_events() {
    let observed: Vec<Observation> = (1..=40_u32).map(|t| Observation::new(f64::from(t))).collect();
    assert_eq!(Cuts::of(&observed).unwrap().times(), [10.0, 20.0, 30.0]);
    let censored: Vec<Observation> = observed.iter().map(|own| own.censored()).collect();
    let none = Cuts::of(&censored).unwrap();
    assert_eq!((none.times(), none.unit()), (&[][..], 820.0));
    // Half of the events at one time, after which there is none.
    let tied: Vec<Observation> = (1..=40_u32).map(|t| Observation::new(f64::from(t.min(20)))).collect();
    assert_eq!(Cuts::of(&tied).unwrap().times(), [10.0]);
    // Half of them at one time in the middle.
    let middle = |t: u32| if (11..=30).contains(&t) { 20 } else { t };
    let tied: Vec<Observation> = (1..=40_u32).map(|t| Observation::new(f64::from(middle(t)))).collect();
    assert_eq!(Cuts::of(&tied).unwrap().times(), [10.0, 20.0]);
    let many: Vec<Observation> = (1..=9999_u32).map(|t| Observation::new(f64::from(t))).collect();
    assert_eq!(Cuts::of(&many).unwrap().times().len(), Cuts::MOST);
}

/// Remission of leukaemia by 6-MP or placebo in weeks, negative where censored: Freireich et al., Blood 21 (1963); the example of D. R. Cox, Regression
/// models and life-tables, JRSS B 34 (1972).
const TREATED: [f64; 21] = [
    6.0, 6.0, 6.0, -6.0, 7.0, -9.0, 10.0, -10.0, -11.0, 13.0, 16.0, -17.0, -19.0, -20.0, 22.0, 23.0, -25.0, -32.0,
    -32.0, -34.0, -35.0,
];
const PLACEBO: [f64; 21] =
    [1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 5.0, 5.0, 8.0, 8.0, 8.0, 8.0, 11.0, 11.0, 12.0, 12.0, 15.0, 17.0, 22.0, 23.0];

/// Cox's model, fitted by R's `survival::coxph` with Efron's ties, has the coefficient 1.5721 with the standard error .4124.
#[test]
fn leukaemia_has_the_coefficient_of_cox() {
    let seen = |t: &f64| if *t > 0.0 { Observation::new(*t) } else { Observation::new(-t).censored() };
    let observed: Vec<Observation> = TREATED.iter().chain(&PLACEBO).map(seen).collect();
    let rows: Vec<f64> = (0..42).map(|k| f64::from(u8::from(k >= 21))).collect();
    let settings = OnlineSettings { prior_scale: PriorScale::Given(50.0), ..OnlineSettings::default() };
    let mut model = OnlineSurvival::with_settings(1, Cuts::of(&observed).unwrap(), settings).unwrap();
    assert_eq!(model.cuts().times(), [6.0, 11.0]);
    model.update_batch(&rows, &observed).unwrap();
    model.catch_up().unwrap();
    let found = model.weight(0).unwrap();
    near(found.mean(), 1.5721, 0.2 * 0.4124, "coefficient");
    near(found.standard_deviation(), 0.4124, 0.05 * 0.4124, "deviation");
}

/// Of 200 data sets, 90 % intervals of log hazards and weights hold as many as they promise.
#[test]
fn intervals_hold_the_truth() {
    let slow = std::env::var_os("VI_SLOW").is_some();
    let replications = if slow { 1000_u32 } else { 200 };
    for n in [100, 400] {
        let mut held = [0_u32; 5];
        for seed in 0..replications {
            let (rows, observed) = stream(n, 1000 + u64::from(seed));
            let mut model = OnlineSurvival::new(2, cuts()).unwrap();
            model.update_batch(&rows, &observed).unwrap();
            model.catch_up().unwrap();
            let truth = HAZARDS.iter().map(|hazard| hazard.ln()).chain(WEIGHTS);
            for ((held, found), truth) in held.iter_mut().zip(model.coefficients().unwrap()).zip(truth) {
                *held += u32::from(found.belief.interval(0.9).unwrap().contains(truth));
            }
        }
        // Three standard errors of so many tries.
        let shares = held.map(|held| f64::from(held) / f64::from(replications));
        let off = 3.0 * (0.09 / f64::from(replications)).sqrt();
        assert!(shares.iter().all(|share| (share - 0.9).abs() < off), "{n}: {shares:?}");
    }
}
