//! Pooled sums against the grouped model that learns the rows themselves.

use vi_core::{Error, Row};
use vi_linalg::faer::Par;
use vi_models::Marginal;
use vi_models::online::{GroupSums, GroupedLinear, GroupedSettings, Standardise};
use vi_sums::{
    GroupKey, LinearPosterior, LinearPrior, LinearSums, Pool, PoolFit, PoolSpec, Posterior, Predictor, SumsError,
};

use crate::common::{normal, rng};

const D: usize = 3;

struct Rows {
    x: Vec<[f64; D]>,
    group: Vec<usize>,
    y: Vec<f64>,
}

/// Rows of `m` groups of 1 to 9 rows in random order: a column far from zero, one that does not vary within groups, one without any peculiarity; levels and slopes differ
/// from group to group.
fn rows(m: usize, seed: u64) -> Rows {
    rows_about(300.0, m, seed)
}

fn rows_about(origin: f64, m: usize, seed: u64) -> Rows {
    let rng = &mut rng(seed);
    let own: Vec<[f64; 3]> = (0..m).map(|_| [normal(rng), normal(rng), normal(rng)]).collect();
    let mut places: Vec<(f64, usize)> = Vec::new();
    for g in 0..m {
        (0..=g * 5 % 9).for_each(|_| places.push((normal(rng), g)));
    }
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut rows = Rows { x: Vec::new(), group: Vec::new(), y: Vec::new() };
    for (_, g) in places {
        let [level, slope, constant] = own[g];
        let x = [origin + 4.0 * normal(rng), constant, 0.1 * normal(rng) - 0.05];
        let of_group = 1.5 * level + (0.3 * slope + 0.1 * level) * (x[0] - origin) + 2.0 * slope * x[2];
        rows.y.push(20.0 + 0.2 * x[0] - 1.2 * x[1] + of_group + 0.8 * normal(rng));
        rows.x.push(x);
        rows.group.push(g);
    }
    rows
}

fn key(g: usize) -> GroupKey {
    GroupKey::Text(format!("clinic {g:03}"))
}

fn sums_of(rows: &Rows, takes: impl Fn(usize) -> bool) -> LinearSums {
    let mut sums = LinearSums::new(D).unwrap();
    (0..rows.y.len()).filter(|t| takes(*t)).for_each(|t| sums.update(&rows.x[t], rows.y[t]).unwrap());
    sums
}

/// The pool of the rows that are taken.
fn pooled(spec: &str, rows: &Rows, takes: impl Fn(usize) -> bool) -> Pool {
    let mut pool = Pool::new(PoolSpec::parse(spec).unwrap()).unwrap();
    for g in 0..=*rows.group.iter().max().unwrap() {
        let sums = sums_of(rows, |t| rows.group[t] == g && takes(t));
        if sums.rows() > 0 {
            pool.add(key(g), &sums).unwrap();
        }
    }
    pool
}

/// The model that learns the rows of a seed one by one, its key of a group the place in the pool.
fn learned(spec: &str, rows: &Rows) -> GroupedLinear {
    let parsed = PoolSpec::parse(spec).unwrap();
    let standardise =
        if parsed.plain { Standardise::Never } else { Standardise::FirstRows { rows: rows.y.len(), centre: true } };
    let settings = GroupedSettings {
        effects: parsed.effects,
        components: parsed.components,
        intercept: parsed.intercept,
        prior_scale: parsed.scale,
        standardise,
        ..GroupedSettings::default()
    };
    let mut model = GroupedLinear::with_settings(D, settings).unwrap();
    for (t, x) in rows.x.iter().enumerate() {
        model.update(x, rows.group[t] as u64, rows.y[t]).unwrap();
    }
    model.refine().unwrap();
    model
}

/// The allowance for rounding, in standard deviations.
const NEAR: f64 = 1e-10;

fn same(what: &str, own: &Marginal, other: &Marginal, near: f64) {
    let deviation = own.standard_deviation();
    let away = (own.mean() - other.mean()).abs() / deviation;
    let wider = (deviation / other.standard_deviation() - 1.0).abs();
    assert!(away < near && wider < near, "{what}: {away:e} {wider:e}");
}

/// Weights, their covariances, noise, components, effects and predictions are the same; `place` is the model's key of a group of the fit.
fn assert_same(fit: &GroupedLinear, model: &GroupedLinear, place: impl Fn(u64) -> u64, near: f64) {
    for (own, other) in fit.coefficients().unwrap().iter().zip(model.coefficients().unwrap()) {
        same(&own.name, &own.belief, &other.belief, near);
    }
    // Sums of two weights tell their covariances.
    for c in [[1.0, 0.5, 0.0], [0.0, 1.0, 3.0], [1.0, 0.0, -7.0]] {
        let of = |model: &GroupedLinear| model.contribution(Row::Dense(&c), None).unwrap();
        same("combination", &of(fit), &of(model), near);
    }
    let (own, other) = (fit.noise().unwrap(), model.noise().unwrap());
    assert_eq!(own.shape(), other.shape());
    assert!((own.rate() / other.rate() - 1.0).abs() < near, "{own:?} {other:?}");
    for (own, other) in fit.components().unwrap().iter().zip(model.components().unwrap()) {
        let (value, width) = (
            (own.value - other.value).abs() / if own.of.1.is_some() { 1.0 } else { own.value },
            own.uncertainty / other.uncertainty - 1.0,
        );
        assert_eq!(own.of, other.of);
        // Second derivatives are differences over 10⁻⁴ of slopes that round.
        assert!(value < near && width.abs() < 1e4 * near, "{}: {value:e} {width:e}", own.name);
    }
    for group in fit.groups().iter().map(|&group| Some(group)).chain([None]) {
        let of = group.map(&place);
        if let (Some(group), Some(of)) = (group, of) {
            let (own, other) = (fit.effects(group).unwrap(), model.effects(of).unwrap());
            own.effects.iter().zip(&other.effects).for_each(|(own, other)| same("effect", own, other, near));
        }
        let x = [7.0, -0.4, 0.12];
        let (own, other) = (fit.predict(&x, group).unwrap(), model.predict(&x, of).unwrap());
        same("label", &own.label, &other.label, near);
        same("expectation", &own.expectation, &other.expectation, near);
        let away = own.label.quantile(0.9).unwrap() - other.label.quantile(0.9).unwrap();
        assert!(away.abs() < 10.0 * near * own.standard_deviation(), "{away:e}");
    }
}

const SPECS: [&str; 9] = [
    "",
    "effects=intercept,1",
    "effects=intercept,1,3",
    "effects=intercept,2",
    "effects=3,1 independent",
    "effects=intercept,1 optimum",
    "effects=3,2 independent optimum",
    "effects=intercept plain",
    "effects=1,3 intercept=0 scale=4 plain",
];

#[test]
fn pooled_sums_are_the_model_of_the_rows() {
    for spec in SPECS {
        // What is not centred has to be near zero: its products would round.
        let rows = rows_about(if spec.ends_with("plain") { 3.0 } else { 300.0 }, 40, 1);
        let (fit, model) = (pooled(spec, &rows, |_| true).fit().unwrap(), learned(spec, &rows));
        assert_eq!((fit.model().observations(), fit.model().groups().len()), (rows.y.len() as u64, 40));
        assert_same(fit.model(), &model, |group| group, NEAR);
    }
}

#[test]
fn few_rows_tell_as_much_as_the_model_learns_of_them() {
    // Three groups of one to six rows; groups of one row alone, whose level is not told from noise; one group.
    let all = rows(30, 2);
    let (mut first, mut alone, mut one) = (vec![false; 30], Vec::new(), Vec::new());
    for (t, &g) in all.group.iter().enumerate() {
        if !std::mem::replace(&mut first[g], true) {
            alone.push(t);
        }
        if g == 3 {
            one.push(t);
        }
    }
    let three: Vec<usize> = (0..all.y.len()).filter(|t| [0, 1, 7].contains(&all.group[*t])).collect();
    for places in [three, alone, one] {
        let x = places.iter().map(|&t| all.x[t]).collect();
        let mut rows = Rows { x, group: Vec::new(), y: places.iter().map(|&t| all.y[t]).collect() };
        let mut known: Vec<usize> = places.iter().map(|&t| all.group[t]).collect();
        known.sort_unstable();
        known.dedup();
        rows.group = places.iter().map(|&t| known.binary_search(&all.group[t]).unwrap()).collect();
        let (fit, model) = (pooled("", &rows, |_| true).fit().unwrap(), learned("", &rows));
        // The model learns its first rows from variances of 10⁶ of four weights, in whose rounding what few rows tell is uncertain.
        assert_same(fit.model(), &model, |group| group, 4e6 * f64::EPSILON);
    }
}

#[test]
fn any_parts_in_any_order_are_the_whole() {
    let rows = rows(40, 3);
    let spec = "effects=intercept,1";
    let whole = pooled(spec, &rows, |_| true);
    // Pools of thirds of the rows; records of parts of groups, from the last to the first.
    let mut thirds: Vec<Pool> = (0..3).map(|part| pooled(spec, &rows, |t| t % 3 == part)).collect();
    let mut merged = Posterior::from(thirds.pop().unwrap());
    for part in thirds {
        merged.merge(&part.into()).unwrap();
    }
    let mut again = Pool::new(PoolSpec::parse(spec).unwrap()).unwrap();
    for g in (0..40).rev() {
        for part in [1, 0] {
            let sums = sums_of(&rows, |t| rows.group[t] == g && t % 2 == part);
            let record = Posterior::from(LinearPosterior::of(LinearPrior::default(), sums).unwrap()).encode().unwrap();
            again.add_record(Some(key(g)), Some(&record)).unwrap();
        }
    }
    let Posterior::Pool(merged) = merged else { panic!("another kind") };
    for pool in [merged, again] {
        assert_eq!((pool.groups(), pool.rows()), (40, whole.rows()));
        assert_same(pool.fit().unwrap().model(), whole.fit().unwrap().model(), |group| group, NEAR);
    }
}

#[test]
fn without_a_clinic_it_is_the_fit_of_the_others() {
    let rows = rows(40, 4);
    let spec = "effects=intercept,3";
    let mut pool = pooled(spec, &rows, |_| true);
    pool.find().unwrap();
    let others = pooled(spec, &rows, |t| rows.group[t] != 7).fit().unwrap();
    let mut left = Posterior::from(pool.clone());
    left.subtract(&pooled(spec, &rows, |t| rows.group[t] == 7).into()).unwrap();
    let Posterior::Pool(left) = left else { panic!("another kind") };
    assert_eq!(left.groups(), 39);
    assert_same(left.fit().unwrap().model(), others.model(), |group| group, NEAR);
    // Half the rows of a clinic, by its record.
    let half = |t: usize| rows.group[t] == 7 && t.is_multiple_of(2);
    let mut without = pool;
    without.subtract(&pooled(spec, &rows, half)).unwrap();
    let others = pooled(spec, &rows, |t| !half(t)).fit().unwrap();
    assert_same(without.fit().unwrap().model(), others.model(), |group| group, NEAR);
}

#[test]
fn a_stored_pool_answers_with_the_same_bits() {
    let rows = rows(20, 5);
    let mut pool = pooled("effects=intercept,1 names=age,sex,dose", &rows, |_| true);
    pool.add(GroupKey::Number(-3), &LinearSums::new(D).unwrap()).unwrap();
    let fit = pool.find().unwrap();
    let posterior = Posterior::from(pool.clone());
    let record = posterior.encode().unwrap();
    assert_eq!((vi_sums::kind(&record), posterior.inputs(), posterior.rows()), (Some(Posterior::POOL), D, pool.rows()));
    let Posterior::Pool(read) = Posterior::decode(&record).unwrap() else { panic!("another kind") };
    assert_eq!(read, pool);
    let again = read.fit().unwrap();
    let told = |fit: &PoolFit| {
        let x = [301.0, 0.5, 0.0];
        let predicted = (fit.predict(&x, Some(&key(4)), 0.9).unwrap(), fit.predict(&x, None, 0.9).unwrap());
        (fit.weights(0.9).unwrap(), fit.components(0.9).unwrap(), fit.all_effects(0.9).unwrap(), predicted)
    };
    assert_eq!(told(&again), told(&pool.fit().unwrap()));
    let (weights, components, effects, (known, new)) = told(&fit);
    let names: Vec<&str> = components.iter().map(|own| &*own.name).collect();
    assert_eq!(names, ["sd(intercept)", "sd(age)", "cor(intercept, age)", "sd(noise)"]);
    assert!(components.iter().all(|own| own.lower < own.value && own.value < own.upper));
    assert_eq!(
        (effects.len(), effects[1].effect.as_str(), &effects[1].group),
        (42, "age", &Some(GroupKey::Number(-3)))
    );
    // A group without rows is at its prior, as a new one is.
    let fresh = fit.effects(None, 0.9).unwrap();
    assert!(effects[0].weight == fresh[0].weight && fresh[0].group.is_none());
    assert!(known.variance < new.variance);
    // As any posterior it predicts for a new group and tells its weights; it has no draws and is no other model.
    let predictor = Predictor::new(&posterior).unwrap();
    let (stranger, own) = (predictor.predict(&[301.0, 0.5, 0.0], 0.9).unwrap(), predictor.weights(0.9).unwrap());
    // The search that begins at the peak takes its second derivatives from slopes that round in another way.
    assert!((stranger.mean - new.mean).abs() + (stranger.variance / new.variance - 1.0).abs() < NEAR);
    assert!(own.iter().zip(&weights).all(|(own, other)| (own.deviation / other.deviation - 1.0).abs() < NEAR));
    assert!(predictor.sample(1).is_err() && posterior.to_model(Vec::new()).is_err());
    assert!((posterior.log_evidence().unwrap() - fit.model().evidence()).abs() < 1e-9);
    for at in (0..record.len()).step_by(7) {
        let mut damaged = record.clone();
        damaged[at] ^= 0x10;
        assert!(Posterior::decode(&damaged).is_err() && Posterior::decode(&record[..at]).is_err());
    }
}

#[test]
fn the_evidence_is_that_of_the_rows_where_no_weight_is_nearly_flat() {
    let rows = rows(40, 6);
    let spec = "effects=intercept,3 intercept=0 scale=10";
    let (fit, model) = (pooled(spec, &rows, |_| true).fit().unwrap(), learned(spec, &rows));
    // The first rows' is at components whose density is within 10⁻⁶ nats of its peak, 10⁻³ deviations, of which the widths are those there.
    let (own, other) = (fit.model().evidence(), model.evidence());
    assert!((own - other).abs() < 1e-3, "{own} {other}");
}

#[test]
fn what_cannot_be_pooled_is_told_with_its_group() {
    let mut pool = pooled("", &rows(10, 7), |_| true);
    let before = pool.clone();
    let record =
        |inputs| Posterior::from(LinearPosterior::new(inputs, LinearPrior::default()).unwrap()).encode().unwrap();
    let error = pool.add_record(Some("north".into()), None).unwrap_err();
    assert_eq!(error.to_string(), "group \"north\": posterior is empty");
    let error = pool.add_record(None, Some(&record(D))).unwrap_err();
    assert_eq!(error.to_string(), "key of a group is empty");
    let error = pool.add_record(Some(5.into()), Some(&record(2))).unwrap_err();
    assert_eq!(error.to_string(), "group \"5\": the two posteriors differ in their number of inputs: 3 and 2");
    let own = Posterior::from(pool.clone()).encode().unwrap();
    for bytes in [&own[..], b"", include_bytes!("../fixtures/glm.bin")] {
        let error = pool.add_record(Some("a".into()), Some(bytes)).unwrap_err();
        assert!(
            matches!(&error, SumsError::Group { key, source } if key == "a" && matches!(**source, SumsError::Kind { .. }))
        );
    }
    let stranger = pooled("", &rows(11, 7), |t| t % 2 == 0);
    assert!(matches!(pool.subtract(&stranger), Err(SumsError::Group { .. })));
    let other = pooled("optimum", &rows(10, 7), |_| true);
    assert!(matches!(pool.merge(&other), Err(SumsError::Unlike { what: "pooling", .. })));
    assert_eq!(pool, before);
    assert!(matches!(Pool::new(PoolSpec::default()).unwrap().fit(), Err(SumsError::Core(Error::Empty { .. }))));
    // An input that is not there; names for others.
    assert!(pooled("effects=4", &rows(10, 7), |_| true).fit().is_err());
    assert!(pooled("names=a,b", &rows(10, 7), |_| true).fit().is_err());
    for words in
        ["effects=0", "effects=", "effects=a", "names=a,,b", "names=intercept", "intercept=2", "scale=-1", "other"]
    {
        assert!(PoolSpec::parse(words).is_err(), "{words}");
    }
    for words in SPECS.iter().chain(&["effects=b,intercept names=a,b,1 scale=0.1", "effects=1 names=2,1"]) {
        let spec = PoolSpec::parse(words).unwrap();
        assert_eq!(PoolSpec::parse(&spec.to_string()).unwrap(), spec);
    }
}

#[test]
fn labels_without_noise_are_refused_since_sums_cannot_tell_it() {
    let mut pool = Pool::new(PoolSpec::parse("scale=100000").unwrap()).unwrap();
    for g in 0..4_i64 {
        let mut sums = LinearSums::new(1).unwrap();
        (0..5_i32).for_each(|t| sums.update(&[f64::from(t)], 3.0 * f64::from(t)).unwrap());
        pool.add(g.into(), &sums).unwrap();
    }
    let error = pool.fit().unwrap_err();
    assert!(error.to_string().contains("share of the noise"), "{error}");
}

#[test]
fn damaged_sums_are_refused_by_the_model() {
    let settings = GroupedSettings::default;
    let good = GroupSums { group: 1, rows: 2, mean: &[0.0, 1.0], scatter: &[2.0, 1.0, 3.0] };
    let of = |groups: &[GroupSums<'_>], near: &[f64]| {
        GroupedLinear::of_sums(1, settings(), groups, near, Par::Seq).map(drop)
    };
    of(&[good], &[]).unwrap();
    for bad in [
        GroupSums { mean: &[0.0], ..good },
        GroupSums { scatter: &[2.0, 1.0], ..good },
        GroupSums { mean: &[f64::NAN, 0.0], ..good },
        GroupSums { scatter: &[2.0, 1.0, -3.0], ..good },
    ] {
        let error = of(&[GroupSums { group: 2, ..good }, bad], &[]).unwrap_err();
        assert!(error.to_string().starts_with("observation 1: "), "{error}");
    }
    // More of a product than the squares allow, a key that comes twice, a start elsewhere, rows to keep.
    assert!(of(&[GroupSums { scatter: &[2.0, 9.0, 3.0], ..good }], &[]).is_err());
    assert!(of(&[good, good], &[]).is_err() && of(&[good], &[0.0, 1.0]).is_err() && of(&[good], &[f64::NAN]).is_err());
    let keeping = GroupedSettings { keep_rows: true, ..settings() };
    assert!(GroupedLinear::of_sums(1, keeping, &[good], &[], Par::Seq).is_err());
}
