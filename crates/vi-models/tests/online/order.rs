//! Rows that come in an order: whether a model notices, keeps what tells it, and says so.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use vi_core::refine::RefineSettings;
use vi_models::online::family::Counts;
use vi_models::online::{
    Advice, Memory, OnlineGlm, OnlineInfo, OnlineLinear, OnlineLogistic, OnlineRobust, OnlineSettings, OnlineSoftmax,
    Order, Standardise,
};

use crate::{bits, stream};

/// A stream of `n` rows of three numbers, in the order of `key` of number and label.
fn sorted(n: usize, key: impl Fn(usize, f64) -> f64) -> (Vec<f64>, Vec<f64>) {
    let (rows, labels) = stream(n, 33);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| key(a, labels[a]).total_cmp(&key(b, labels[b])));
    let flat = order.iter().flat_map(|&i| rows[3 * i..3 * i + 3].to_vec()).collect();
    (flat, order.iter().map(|&i| labels[i]).collect())
}

fn two((rows, labels): &(Vec<f64>, Vec<f64>)) -> OnlineInfo {
    let mut model = OnlineLogistic::new(3).unwrap();
    model.update_batch(rows, labels).unwrap();
    model.info()
}

#[test]
fn rows_sorted_by_label_are_noticed_and_others_are_not() {
    let inputs = stream(1000, 33).0;
    let random = two(&sorted(1000, |i, _| i as f64));
    let by_input = two(&sorted(1000, |i, _| inputs[3 * i]));
    let by_label = two(&sorted(1000, |_, label| label));
    let found = [&random, &by_input, &by_label].map(|info| info.order.unwrap());
    assert!(found.map(|order| order.matters()) == [false, false, true], "{found:?}");
    assert!(!found[0].is_in_runs() && found[0].gained > 0.0 && found[0].sampled == 256, "{:?}", found[0]);
    assert!(found[2].runs > 20.0 && found[2].gained < -0.2, "{:?}", found[2]);
    assert_eq!((random.advice, by_label.advice), (Advice::KeepRows, Advice::Order));
    assert!(found[2].to_string().contains("less probable now than at first"));
    // Its evidence is far above that of the same rows at random, which is why it is said.
    assert!(by_label.evidence > random.evidence + 50.0);
}

#[test]
fn counts_and_classes_are_noticed_too() {
    let mut rng = ChaCha8Rng::seed_from_u64(35);
    let n = 400;
    let mut labels: Vec<f64> = (0..n).map(|_| (3.0 * rng.random::<f64>()).exp().floor() - 1.0).collect();
    for random in [true, false] {
        if !random {
            labels.sort_by(f64::total_cmp);
        }
        let rows = &stream(n, 34).0;
        let mut counts = OnlineGlm::new(3, Counts).unwrap();
        counts.update_batch(rows, &labels).unwrap();
        let classes: Vec<f64> = labels.iter().map(|label| (label / 2.0).floor().min(2.0)).collect();
        let mut joint = OnlineSoftmax::new(3, 3).unwrap();
        joint.update_batch(rows, &classes).unwrap();
        let mut apart = OnlineSoftmax::by_class(3, 3, OnlineSettings::default()).unwrap();
        apart.update_batch(rows, &classes).unwrap();
        for info in [counts.info(), joint.info(), apart.info()] {
            assert_eq!(info.order.unwrap().matters(), !random, "{:?}", info.order);
        }
    }
}

#[test]
fn a_refined_model_no_longer_depends_on_the_order() {
    let (rows, labels) = sorted(700, |_, label| label);
    let mut model =
        OnlineLogistic::with_settings(3, OnlineSettings { keep_rows: true, ..OnlineSettings::default() }).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    assert!(model.info().order.unwrap().matters());
    model.refine(&RefineSettings::default()).unwrap();
    let order = model.info().order.unwrap();
    assert!(order.is_in_runs() && order.refined && !order.matters(), "{order:?}");
    assert!(order.to_string().contains("does not depend on them"), "{order}");
    // Rows that come later are learned in their order again.
    model.update(&rows[..3], labels[0]).unwrap();
    assert!(!model.info().order.unwrap().refined);
}

/// The ones are rare: both of a block of them and of ones at random one neighbour is a one more often than not by chance alone.
#[test]
fn few_rows_of_a_label_are_judged_as_rare_events() {
    let rows = vec![0.5; 3 * 900];
    let runs = |ones: &[usize]| {
        let labels: Vec<f64> = (0..900).map(|i| f64::from(u8::from(ones.contains(&i)))).collect();
        two(&(rows.clone(), labels)).order.unwrap().runs
    };
    // One pair of neighbours among five ones is no sign of an order, five in a row are.
    assert!(runs(&[100, 101, 300, 500, 700]) < 3.0 && runs(&[100, 101, 102, 103, 104]) > 4.0);
}

#[test]
fn what_tells_the_order_is_stored_merged_and_the_same_in_parts() {
    let (rows, labels) = sorted(700, |_, label| label);
    let mut whole = OnlineLogistic::new(3).unwrap();
    whole.update_batch(&rows, &labels).unwrap();
    let mut parts = OnlineLogistic::new(3).unwrap();
    for (row, label) in rows[..900].chunks(3).zip(&labels) {
        parts.update(row, *label).unwrap();
    }
    let mut parts: OnlineLogistic = serde_json::from_str(&bits(&parts)).unwrap();
    assert!(parts.update_batch(&rows[900..1500], &vec![2.0; 200]).is_err());
    parts.update_batch(&rows[900..], &labels[300..]).unwrap();
    assert!(bits(&parts) == bits(&whole));
    // Each shard has one label only; only their sum tells.
    let settings = OnlineSettings { standardise: Standardise::Never, ..OnlineSettings::default() };
    let shard = |from: usize, to: usize| {
        let mut shard = OnlineLogistic::with_settings(3, settings.clone()).unwrap();
        shard.update_batch(&rows[3 * from..3 * to], &labels[from..to]).unwrap();
        shard
    };
    let ones = labels.partition_point(|label| *label < 0.5);
    let mut merged = shard(0, ones);
    assert!(!merged.info().order.unwrap().is_in_runs());
    merged.merge(&[&shard(ones, 700)]).unwrap();
    let order = merged.info().order.unwrap();
    assert!(order.is_in_runs() && order.sampled == 256, "{order:?}");
}

#[test]
fn a_sample_can_be_left_out_and_is_checked() {
    let (rows, labels) = sorted(300, |_, label| label);
    let settings = OnlineSettings { keep_sample: false, ..OnlineSettings::default() };
    let mut bare = OnlineLogistic::with_settings(3, settings).unwrap();
    bare.update_batch(&rows, &labels).unwrap();
    let order = bare.info().order.unwrap();
    assert!(order.sampled == 0 && order.is_in_runs() && !order.matters(), "{order:?}");
    assert!(!bits(&bare).contains("\"kept\""));
    let mut kept = OnlineLogistic::new(3).unwrap();
    kept.update_batch(&rows, &labels).unwrap();
    let value: serde_json::Value = serde_json::from_str(&bits(&kept)).unwrap();
    for (path, replacement) in [
        ("/order/strata/0/taken/3/then", serde_json::json!(null)),
        ("/order/strata/0/taken/3/key", serde_json::json!(0)),
        ("/order/strata/0/taken/3/kept/observed/label", serde_json::json!(3.0)),
        ("/order/strata/1/most", serde_json::json!(1000)),
        ("/order/runs/sums/0", serde_json::json!(-1.0)),
    ] {
        let mut damaged = value.clone();
        damaged["seal"]["checksum"] = serde_json::Value::Null;
        *damaged.pointer_mut(path).unwrap() = replacement;
        assert!(serde_json::from_value::<OnlineLogistic>(damaged).is_err(), "{path}");
    }
    // A document from before samples were kept.
    let mut earlier = value;
    earlier["seal"]["checksum"] = serde_json::Value::Null;
    earlier.as_object_mut().unwrap().remove("order");
    let mut read: OnlineLogistic = serde_json::from_value(earlier).unwrap();
    read.update_batch(&rows, &labels).unwrap();
    assert_eq!(read.info().order, None);
}

#[test]
fn models_that_are_exact_or_forget_say_nothing_of_the_order() {
    let (rows, labels) = sorted(300, |_, label| label);
    let mut linear = OnlineLinear::new(3).unwrap();
    linear.update_batch(&rows, &labels).unwrap();
    let settings = OnlineSettings { memory: Memory::Fading(0.99), ..OnlineSettings::default() };
    let mut fading = OnlineLogistic::with_settings(3, settings).unwrap();
    fading.update_batch(&rows, &labels).unwrap();
    assert_eq!((linear.info().order, fading.info().order), (None, None));
}

#[test]
fn the_sample_of_rows_sorted_by_a_rare_label_answers_as_random_rows_do() {
    let mut rng = ChaCha8Rng::seed_from_u64(36);
    let draw = |rng: &mut ChaCha8Rng| {
        let x = [rng.random_range(-2.0..2.0), rng.random_range(-2.0..2.0)];
        (x, f64::from(rng.random::<f64>() < 1.0 / (1.0 + f64::exp(4.0 - 1.5 * x[0]))))
    };
    let mut rows: Vec<([f64; 2], f64)> = (0..20_000).map(|_| draw(&mut rng)).collect();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut sorted = OnlineLogistic::new(2).unwrap();
    for (x, y) in &rows {
        sorted.update(x, *y).unwrap();
    }
    assert!(sorted.info().order.unwrap().matters());
    let sampled = sorted.of_sample().unwrap();
    assert_eq!(sampled.info().observations, 256);
    let loss = |model: &OnlineLogistic| {
        let scores = rows.iter().map(|(x, y)| {
            let p = model.predict(x).unwrap().probability;
            -(if *y == 1.0 { p } else { 1.0 - p }).ln()
        });
        scores.sum::<f64>() / 20_000.0
    };
    let truth =
        rows.iter().map(|(x, y)| (1.0 + f64::exp((4.0 - 1.5 * x[0]) * (2.0 * y - 1.0))).ln()).sum::<f64>() / 2e4;
    // 256 rows leave three weights an excess of 3/(2·256) nats a row; a rare label, sampled in full weight, three times that at most.
    assert!(loss(&sampled) - truth < 3.0 * 3.0 / 512.0, "{} {truth}", loss(&sampled));
    // Positives are 4 % of all rows and half of the sample.
    let share = rows.iter().map(|(x, _)| sampled.predict(x).unwrap().probability).sum::<f64>() / 2e4;
    let positive = rows.iter().map(|row| row.1).sum::<f64>() / 2e4;
    assert!((share / positive - 1.0).abs() < 0.5, "{share} {positive}");
    assert!(OnlineLinear::new(2).unwrap().of_sample().is_err());
}

/// Rows that are fitted together have scales and a posterior that do not depend on their order, however far the first 50 lie from the rest.
#[test]
fn first_rows_have_no_order() {
    let n = 80;
    let (rows, labels) = sorted(n, |_, label| label);
    let skewed: Vec<f64> =
        rows.chunks(3).zip(&labels).flat_map(|(x, y)| [x[0] * (9.0 * y).exp(), x[1], x[2]]).collect();
    let flat = |order: &[usize]| -> (Vec<f64>, Vec<f64>) {
        (
            order.iter().flat_map(|&i| skewed[3 * i..3 * i + 3].to_vec()).collect(),
            order.iter().map(|&i| labels[i]).collect(),
        )
    };
    let orders: [Vec<usize>; 2] = [(0..n).collect(), (0..n).map(|i| (i * 31) % n).collect()];
    let models = orders.map(|order| {
        let (rows, labels) = flat(&order);
        let mut model = OnlineLogistic::new(3).unwrap();
        model.update_batch(&rows, &labels).unwrap();
        model
    });
    assert!(
        (models[0].evidence() - models[1].evidence()).abs() < 0.05,
        "{:?}",
        models.each_ref().map(OnlineLogistic::evidence)
    );
    for row in skewed.chunks(3) {
        let [a, b] = models.each_ref().map(|model| model.predict(row).unwrap().probability);
        assert!((a - b).abs() < 5e-3, "{a} {b}");
    }
}

/// The logarithms of years are nearly one number, and those of negative numbers none.
#[test]
fn numbers_in_an_order_are_noticed_from_the_first_rows_on() {
    for (n, at_start) in [(40, true), (400, false)] {
        let (x, _) = stream(n, 33);
        for (centre, size) in [(0.0, 1.0), (1950.0, 20.0), (-3e4, 0.01)] {
            let label = |i: usize| centre + size * (x[3 * i] + x[3 * i + 1].powi(3));
            let found = |order: &[usize]| -> Order {
                let mut model = OnlineRobust::new(3).unwrap();
                for &i in order {
                    model.update(&x[3 * i..3 * i + 3], label(i)).unwrap();
                }
                model.info().order.unwrap()
            };
            let random: Vec<usize> = (0..n).collect();
            let mut sorted = random.clone();
            sorted.sort_by(|&a, &b| label(a).total_cmp(&label(b)));
            let (random, sorted) = (found(&random), found(&sorted));
            assert!(!random.is_in_runs() && sorted.is_in_runs(), "{centre} {n}: {random:?} {sorted:?}");
            // All rows are still fitted together: their order has done no harm.
            assert!((sorted.sampled == 0) == at_start && !(at_start && sorted.matters()), "{sorted:?}");
        }
    }
}
