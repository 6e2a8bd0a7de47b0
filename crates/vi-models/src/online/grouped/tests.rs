//! Grouped models against lme4 and against themselves.

use vi_linalg::faer::Par;

use super::*;
use vi_core::{Error, Row};

use crate::online::family::{Logit, Trials};
use crate::online::{Kind, Model, Observation, OnlineSettings};
use crate::{ModelError, Transform};

/// Dyestuff (Davies and Goldsmith 1972): yields of five samples of each of six batches.
const DYESTUFF: [[f64; 5]; 6] = [
    [1545.0, 1440.0, 1440.0, 1520.0, 1580.0],
    [1540.0, 1555.0, 1490.0, 1560.0, 1495.0],
    [1595.0, 1550.0, 1605.0, 1510.0, 1560.0],
    [1445.0, 1440.0, 1595.0, 1465.0, 1545.0],
    [1595.0, 1630.0, 1515.0, 1635.0, 1625.0],
    [1520.0, 1455.0, 1450.0, 1480.0, 1445.0],
];

fn dyestuff(components: Components) -> GroupedLinear {
    let mut model =
        GroupedLinear::with_settings(0, GroupedSettings { components, ..GroupedSettings::default() }).unwrap();
    for (batch, yields) in DYESTUFF.iter().enumerate() {
        for y in yields {
            model.update(&[], batch as u64, *y).unwrap();
        }
    }
    model.refine().unwrap();
    model
}

#[test]
fn the_optimum_of_dyestuff_is_that_of_lme4() {
    let model = dyestuff(Components::Optimum);
    // lme4 1.1-31, bobyqa with rhoend 1e-10: its own numbers are good to some 1e-8.
    assert!((model.reml_criterion().unwrap() - 319.654276842).abs() < 1e-8);
    let between = model.components().unwrap()[0].value;
    assert!((between / 42.00059463 - 1.0).abs() < 1e-6, "{between}");
    let noise = model.noise().unwrap();
    assert!(((noise.rate() / noise.shape()).sqrt() / 49.51010009 - 1.0).abs() < 1e-6);
    let effect = model.effects(0).unwrap().effects[0].mean();
    assert!((effect / -17.6068512235 - 1.0).abs() < 1e-6, "{effect}");
    let coefficient = &model.coefficients().unwrap()[0];
    assert!((coefficient.belief.mean() - 1527.5).abs() < 1e-6);
}

#[test]
fn averaging_over_the_components_widens_what_depends_on_them() {
    let (averaged, optimum) = (dyestuff(Components::Averaged), dyestuff(Components::Optimum));
    let width = |model: &GroupedLinear| {
        let interval = model.predict(&[], None).unwrap().expectation.interval(0.9).unwrap();
        interval.upper - interval.lower
    };
    assert!(width(&averaged) > width(&optimum));
    let (share, interval) = averaged.intraclass_correlation(0.9).unwrap().unwrap();
    assert!(interval.contains(share) && interval.lower > 0.0 && interval.upper < 1.0);
}

/// Two inputs, the first with a slope for each group, and labels 0 or 1.
fn rows(n: u64) -> impl Iterator<Item = ([f64; 2], u64, f64)> {
    (0..n).map(|t| {
        let x = [f64::from(u32::try_from(t % 7).unwrap()) - 3.0, f64::from(u32::try_from(t % 5).unwrap())];
        let group = t * 11 % 13;
        let t = x[0] - 0.4 * x[1] + if group % 2 == 0 { 1.0 } else { -1.0 };
        (x, group, f64::from(u8::from(t + ((x[1] + 3.0 * t) * 7.1).sin() > 0.0)))
    })
}

fn settings() -> GroupedSettings {
    let effects = Effects { slopes: vec![0], ..Effects::default() };
    GroupedSettings { effects, ..GroupedSettings::default() }
}

#[test]
fn a_stored_model_goes_on_with_the_same_bits() {
    let mut model = GroupedGlm::with_settings(2, Logit, settings()).unwrap();
    rows(120).for_each(|(x, group, y)| model.update(&x, group, y).unwrap());
    let text = serde_json::to_string(&model).unwrap();
    let mut again: GroupedGlm<Logit> = serde_json::from_str(&text).unwrap();
    for (x, group, y) in rows(200).skip(120) {
        model.update(&x, group, y).unwrap();
        again.update(&x, group, y).unwrap();
    }
    assert_eq!(serde_json::to_string(&model).unwrap(), serde_json::to_string(&again).unwrap());
    assert!(serde_json::from_str::<GroupedGlm<Trials>>(&text).is_err());
    assert!(
        serde_json::from_str::<GroupedGlm<Logit>>(&text.replacen("\"observations\":120", "\"observations\":121", 1))
            .is_err()
    );
    let mut linear = GroupedLinear::with_settings(2, settings()).unwrap();
    rows(90).for_each(|(x, group, y)| linear.update(&x, group, y + x[1]).unwrap());
    let again: GroupedLinear = serde_json::from_str(&serde_json::to_string(&linear).unwrap()).unwrap();
    assert_eq!(linear.predict(&[0.5, 1.0], 3).unwrap(), again.predict(&[0.5, 1.0], 3).unwrap());
}

#[test]
fn units_and_origins_change_nothing() {
    let (mut plain, mut moved) =
        (GroupedLinear::with_settings(2, settings()).unwrap(), GroupedLinear::with_settings(2, settings()).unwrap());
    for (x, group, y) in rows(150) {
        plain.update(&x, group, y + x[0]).unwrap();
        moved.update(&[1e3 * x[0] + 7e4, x[1] - 5.0], group, 20.0 * (y + x[0]) + 300.0).unwrap();
    }
    plain.refine().unwrap();
    moved.refine().unwrap();
    let (a, b) = (plain.predict(&[0.5, 1.0], 3).unwrap(), moved.predict(&[7.05e4, -4.0], 3).unwrap());
    // A standardised column of values near 7e4 that differ by 1e3 has lost two digits; searches end within 1e-13 nats of a peak.
    assert!((b.mean() - (20.0 * a.mean() + 300.0)).abs() < 1e-5 * b.standard_deviation(), "{} {}", a.mean(), b.mean());
    let sd = |model: &GroupedLinear| model.components().unwrap()[1].value;
    assert!((sd(&moved) * 1e3 / 20.0 / sd(&plain) - 1.0).abs() < 1e-5);
}

#[test]
fn bad_input_is_an_error_and_leaves_the_model_as_it_was() {
    let mut model = GroupedGlm::with_settings(2, Logit, settings()).unwrap();
    rows(60).for_each(|(x, group, y)| model.update(&x, group, y).unwrap());
    let before = serde_json::to_string(&model).unwrap();
    assert!(model.update(&[1.0], 3, 1.0).is_err());
    assert!(model.update(&[1.0, f64::NAN], 3, 1.0).is_err());
    assert!(model.update(&[1.0, 2.0], 3, 0.5).is_err());
    assert!(model.update(&[1.0, 2.0], 3, Observation::new(1.0).weight(-1.0)).is_err());
    assert!(model.predict(&[1.0, f64::INFINITY], 3, Observation::new(0.0)).is_err());
    assert_eq!(serde_json::to_string(&model).unwrap(), before);
    assert_eq!(model.refused(), 4);
    let twice = Effects { slopes: vec![0, 0], ..Effects::default() };
    let none = Effects { intercept: false, ..Effects::default() };
    for effects in [twice, none, Effects { slopes: vec![2], ..Effects::default() }] {
        assert!(GroupedLinear::with_settings(2, GroupedSettings { effects, ..GroupedSettings::default() }).is_err());
    }
}

#[test]
fn herds_are_those_of_glmer() {
    // Cases among animals of lme4's cbpp: herd, period, incidence, size.
    let text = include_str!("cbpp.csv");
    let settings = GroupedSettings { keep_rows: true, ..GroupedSettings::default() };
    let mut model = GroupedGlm::with_settings(3, Trials, settings).unwrap();
    for line in text.lines().skip(1) {
        let f: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        let x = [2.0, 3.0, 4.0].map(|period| f64::from(u8::from(f[3] == period)));
        let herd = (1..=15_u32).find(|herd| f64::from(*herd) == f[0]).unwrap();
        model.update(&x, herd.into(), Observation::new(f[1]).trials(f[2])).unwrap();
    }
    model.refine().unwrap();
    // glmer with nAGQ = 9: estimates and standard errors; ours average over the components and have a wide prior.
    let glmer = [(-1.39922, 0.23351), (-0.99141, 0.30677), (-1.12781, 0.32677), (-1.57949, 0.42760)];
    for (ours, (mean, error)) in model.coefficients().unwrap().iter().zip(glmer) {
        assert!((ours.belief.mean() - mean).abs() < 0.25 * error, "{} {}", ours.name, ours.belief.mean());
        assert!((ours.belief.standard_deviation() / error - 1.0).abs() < 0.15);
    }
    let component = &model.components().unwrap()[0];
    assert!(component.interval(0.5).unwrap().contains(0.6475), "{component:?}");
}

/// Rows, groups and labels of `n` rows; some labels are numbers in other units than the inputs.
fn table(n: u64) -> (Vec<f64>, Vec<u64>, Vec<f64>) {
    let mut table = (Vec::new(), Vec::new(), Vec::new());
    for (x, group, y) in rows(n) {
        table.0.extend(x);
        table.1.push(group);
        table.2.push(30.0 * (y + 0.2 * x[1]) - 5.0);
    }
    table
}

#[test]
fn many_rows_at_once_are_rows_in_turn() {
    let (x, groups, y) = table(900);
    let (mut one, mut all) =
        (GroupedLinear::with_settings(2, settings()).unwrap(), GroupedLinear::with_settings(2, settings()).unwrap());
    (0..900).for_each(|t| one.update(&x[2 * t..2 * t + 2], groups[t], y[t]).unwrap());
    // Parts that end between searches; a row of weight 2 is learned by itself.
    for (from, to) in [(0, 200), (200, 230), (230, 900)] {
        let labels: Vec<Observation> = y[from..to].iter().map(|y| Observation::new(*y)).collect();
        all.update_batch(&x[2 * from..2 * to], &groups[from..to], &labels, Par::Seq).unwrap();
    }
    // A thousand roundings, and searches that end within 1e-4 nats of a peak.
    assert!(
        (one.evidence() - all.evidence()).abs() < 1e-6 * one.evidence().abs(),
        "{} {}",
        one.evidence(),
        all.evidence()
    );
    let heavy = Observation::new(3.0).weight(2.0);
    one.update(&x[..2], groups[0], heavy).unwrap();
    all.update_batch(&x[..2], &groups[..1], &[heavy], Par::Seq).unwrap();
    assert_eq!(one.observations(), all.observations());
    one.refine().unwrap();
    all.refine().unwrap();
    let (a, b) = (one.predict(&[0.5, 1.0], 3).unwrap(), all.predict(&[0.5, 1.0], 3).unwrap());
    assert!((a.mean() - b.mean()).abs() < 1e-7 * a.standard_deviation());
    assert!((a.standard_deviation() / b.standard_deviation() - 1.0).abs() < 1e-7);
    let (a, b) = (one.noise().unwrap(), all.noise().unwrap());
    assert!(a.shape() == b.shape() && (a.rate() / b.rate() - 1.0).abs() < 1e-9);
}

#[test]
fn many_rows_without_noise_are_learned_in_turn() {
    let (x, groups, _) = table(300);
    let y: Vec<f64> = (0..300).map(|t| 1e7 * x[2 * t] + 1e-3 * f64::from(u8::from(t % 2 == 0))).collect();
    let settings = || GroupedSettings { standardise: crate::online::Standardise::Never, ..GroupedSettings::default() };
    let (mut one, mut all) =
        (GroupedLinear::with_settings(2, settings()).unwrap(), GroupedLinear::with_settings(2, settings()).unwrap());
    (0..300).for_each(|t| one.update(&x[2 * t..2 * t + 2], groups[t], y[t]).unwrap());
    all.update_batch(&x, &groups, &y, Par::Seq).unwrap();
    assert_eq!(serde_json::to_string(&one).unwrap(), serde_json::to_string(&all).unwrap());
}

#[test]
fn a_bad_row_among_many_leaves_the_model_as_it_was() {
    let (x, groups, mut y) = table(300);
    let mut model = GroupedLinear::with_settings(2, settings()).unwrap();
    model.update_batch(&x, &groups, &y, Par::Seq).unwrap();
    let before = serde_json::to_string(&model).unwrap();
    y[250] = f64::NAN;
    assert!(model.update_batch(&x, &groups, &y, Par::Seq).unwrap_err().to_string().contains("250"));
    // Finite, and too large for the sums.
    y[250] = 1e200;
    assert!(model.update_batch(&x, &groups, &y, Par::Seq).is_err());
    assert!(model.update_batch(&x, &groups[1..], &y, Par::Seq).is_err());
    assert_eq!(serde_json::to_string(&model).unwrap(), before);
    assert_eq!(model.refused(), 3);
}

#[test]
fn a_grouped_model_of_a_kind_is_that_of_its_labels() {
    let kind = Kind::Two;
    let settings = OnlineSettings { names: vec!["x".into()], ..kind.default_settings() };
    let mut model = Model::grouped(kind, 1, Effects::default(), &settings).unwrap();
    let own = GroupedSettings { names: vec!["x".into()], ..GroupedSettings::default() };
    let mut direct = GroupedGlm::with_settings(1, Logit, own).unwrap();
    let row = |t: u64| [(t % 7) as f64];
    for t in 0..200_u64 {
        let label = f64::from(u8::from((t * 31 + t % 5 * 20) % 97 > 40));
        model.update(Row::Dense(&row(t)), Observation::new(label).group(t % 5)).unwrap();
        direct.update(&row(t), t % 5, label).unwrap();
    }
    let at = Observation::new(0.0);
    for group in [Some(0), Some(4), Some(9), None] {
        let seen = model.predict(Row::Dense(&[3.0]), group.map_or(at, |group| at.group(group))).unwrap();
        assert_eq!(seen.mean(), Some(direct.predict(&[3.0], group, at).unwrap().mean), "{group:?}");
    }
    // Its parts: a combination of the weights, and with it the effects of a group.
    let Model::Grouped(held) = &model else { unreachable!("made so") };
    let weights = model.coefficients().unwrap().remove(0);
    let slope = held.contribution(Row::Dense(&[2.0]), None).unwrap();
    assert!((slope.mean() - 2.0 * weights[1].belief.mean()).abs() < 1e-12);
    assert_eq!(slope, model.combination(Row::Dense(&[2.0])).unwrap());
    let both = held.contribution(Row::Dense(&[2.0]), Some((Row::Dense(&[2.0]), 4))).unwrap();
    let predictor = model.predictors(Row::Dense(&[2.0]), at.group(4)).unwrap().remove(0);
    assert!((weights[0].belief.mean() + both.mean() - predictor.mean()).abs() < 1e-12);
    assert!((model.weights()[0].weights[0] - weights[1].belief.mean()).abs() < 1e-12);
    // What is stored is the model, and empties to a new one.
    let text = serde_json::to_string(&model).unwrap();
    let again: Model = serde_json::from_str(&text).unwrap();
    assert_eq!((serde_json::to_string(&again).unwrap(), again.settings()), (text, model.settings()));
    assert_eq!((model.name(), model.kind(), model.observations()), ("Grouped", kind, 200));
    let fresh = Model::grouped(kind, 1, Effects::default(), &settings).unwrap();
    assert_eq!(serde_json::to_string(&model.emptied().unwrap()).unwrap(), serde_json::to_string(&fresh).unwrap());
    // What it cannot do is refused by name, and changes nothing.
    let refused = model.update(Row::Dense(&[1.0]), Observation::new(1.0)).unwrap_err();
    assert_eq!(refused.to_string(), Error::Empty { argument: "group" }.to_string());
    assert!(matches!(model.merge(&[&again]), Err(ModelError::Unsupported { .. })));
    assert_eq!(serde_json::to_string(&model).unwrap(), serde_json::to_string(&again).unwrap());
    for kind in
        [Kind::Robust { transform: Transform::Identity, unit: (0.0, 1.0) }, Kind::Classes { classes: 3, joint: None }]
    {
        let made = Model::grouped(kind, 1, Effects::default(), &kind.default_settings());
        assert!(matches!(made, Err(ModelError::Unsupported { .. })), "{kind:?}");
    }
    let mut plain = Model::new(Kind::Count, 1, Kind::Count.default_settings()).unwrap();
    let refused = plain.update(Row::Dense(&[1.0]), Observation::new(1.0).group(3)).unwrap_err();
    assert!(refused.to_string().contains("group"), "{refused}");
}

#[test]
fn a_model_of_logarithms_answers_for_the_numbers_themselves() {
    let (settings, row) = (GroupedSettings::default, |t: u64| [(t % 7) as f64]);
    let mut logs = GroupedLinear::of_transform(1, Transform::Log, settings()).unwrap();
    let mut plain = GroupedLinear::new(1).unwrap();
    for t in 0..300_u64 {
        let y = 0.2 * row(t)[0] + 0.3 * (t % 6) as f64 + 0.05 * (t * 7 % 11) as f64;
        logs.update(&row(t), t % 6, y.exp()).unwrap();
        plain.update(&row(t), t % 6, y).unwrap();
    }
    let (own, of_log) = (logs.predict(&[3.0], 2).unwrap(), plain.predict(&[3.0], 2).unwrap());
    // Rounding of exponentials and their logarithms.
    assert!((own.quantile(0.8).unwrap().ln() - of_log.quantile(0.8).unwrap()).abs() < 1e-10);
    let jacobian: f64 = (0..300_u64).map(|t| 0.2 * row(t)[0] + 0.3 * (t % 6) as f64 + 0.05 * (t * 7 % 11) as f64).sum();
    assert!((logs.evidence() - (plain.evidence() - jacobian)).abs() < 1e-8 * jacobian);
    assert!(logs.update(&[1.0], 2, 0.0).is_err());
}
