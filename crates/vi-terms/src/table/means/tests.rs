use super::*;
use crate::table::{Columns, Document, Input, Intervals, Options, Rows, fit};

fn target(kind: TargetKind) -> Target {
    Target::new("y", kind)
}

fn means(unit: Option<(f64, f64)>, of: &[&str]) -> Means {
    let column = Levels {
        column: "g".to_owned(),
        of: BTreeMap::new(),
        order: vec![(0.0, 0.0); of.len()],
        pairs: (0.0, vec![0.0; of.len()]),
    };
    let of: Vec<String> = of.iter().map(|&name| name.to_owned()).collect();
    let none = vec![(0.0, 0.0, 0.0); of.len()];
    Means { unit, all: none.clone(), of, places: [(0.0, 1.0); KNOWN], columns: vec![column], order: none }
}

/// The numbers that a record gets.
fn numbers(means: &Means, level: &str) -> Vec<f64> {
    let mut record: Record = [level].into_iter().collect();
    means.append(&mut record, &[0]);
    record.fields().skip(1).map(|text| text.parse().unwrap()).collect()
}

fn learn(means: &mut Means, level: &str, label: f64) {
    means.learn(&[level].into_iter().collect(), &[0], label, None);
}

#[test]
fn a_number_is_the_shrunken_mean_of_the_labels_before() {
    let mut own = means(None, &[""]);
    assert_eq!(numbers(&own, "a"), [0.0]);
    for label in [1.0, 0.0, 1.0, 1.0] {
        learn(&mut own, "a", label);
    }
    learn(&mut own, "b", 0.0);
    // Five rows: the share of variance is not known yet, and κ = .9/.1.
    let mean = 3.0 / 5.0;
    let kappa = (1.0 - SHARE) / SHARE;
    let close = |found: &[f64], expected: f64| (found[0] - expected).abs() < 4.0 * f64::EPSILON;
    assert!(close(&numbers(&own, "a"), (3.0 - 4.0 * mean) / (4.0 + kappa)));
    assert!(close(&numbers(&own, "b"), -mean / (1.0 + kappa)));
    assert_eq!(numbers(&own, "c"), [0.0]);
}

#[test]
fn rounding_is_no_effect_of_the_only_level() {
    let mut own = means(Some((3.7, 0.3)), &[""]);
    for k in 0..5000 {
        learn(&mut own, "a", 3.0 + f64::from(k * 37 % 101) / 70.0);
        assert_eq!(numbers(&own, "a"), [0.0], "{k}");
    }
    learn(&mut own, "b", 4.0);
    assert!(numbers(&own, "a")[0] < 0.0 && numbers(&own, "b")[0] > 0.0);
}

#[test]
fn the_covariance_within_levels_sets_the_shrinkage() {
    // Two levels whose labels are all alike, and labels that have nothing to do with their levels.
    let (mut alike, mut apart) = (means(Some((0.0, 1.0)), &[""]), means(Some((0.0, 1.0)), &[""]));
    for k in 0..400_u32 {
        let level = ["a", "b"][(k % 2) as usize];
        learn(&mut alike, level, f64::from(k % 2));
        learn(&mut apart, level, f64::from(k / 2 % 2));
    }
    let t = 1.0_f64.asinh();
    let half = t / 2.0;
    let kappa = |share: f64| (1.0 - share) / share;
    // n = 200 of each, at the largest and at the least share.
    assert!((numbers(&alike, "b")[0] - 200.0 * half / (200.0 + kappa(SHARES.1))).abs() < 1e-9);
    assert!(numbers(&apart, "b")[0].abs() < 1e-9);
    learn(&mut apart, "c", 1.0);
    let (_, mean, _) = apart.all[0];
    assert!((numbers(&apart, "c")[0] - (t - mean) / (1.0 + kappa(SHARES.0))).abs() < 1e-9);
}

#[test]
fn each_class_but_the_first_has_a_number() {
    let mut own = means(None, &["b", "c"]);
    for _ in 0..10 {
        learn(&mut own, "x", 2.0);
        learn(&mut own, "y", 0.0);
    }
    let found = numbers(&own, "x");
    assert!(found[0] == 0.0 && found[1] > 0.1, "{found:?}");
    assert!(numbers(&own, "y")[1] < -0.1);
    let names: Vec<_> = own.names().flat_map(|(_, names)| names).collect();
    assert_eq!(names, ["mean(g; b)", "mean(g; c)"]);
}

/// Ratings by many users, some of whom come after the first rows: `y = effect(user) + effect(item)`, with little noise.
fn ratings(rows: u64) -> (Columns, Vec<[String; 3]>) {
    let unlike = |k: u64| (k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as f64 / 2.0_f64.powi(31) - 0.5;
    let row = |t: u64| {
        let (user, item) = ((t * t + 7 * t) % (t / 8 + 50), t % 130);
        let y = 2.0 * unlike(user + 1) + unlike(1000 + item) + 0.2 * unlike(31 * t + 5);
        [format!("u{user}"), format!("i{item}"), format!("{y:.4}")]
    };
    (Columns::new(["user", "item", "y"].map(str::to_owned), None), (0..rows).map(row).collect())
}

fn fitted(columns: &Columns, rows: &[[String; 3]], options: &Options) -> Document {
    let table = || Ok(Rows::new(columns, rows.iter().map(|row| row.iter().collect())));
    fit(options, &Input::in_memory("ratings", false), false, table).unwrap()
}

#[test]
fn levels_that_come_late_are_known_by_their_means() {
    let (columns, rows) = ratings(6000);
    let options = Options { target: Some("y".to_owned()), ..Options::default() };
    let own = fitted(&columns, &rows[..5000], &options);
    let line = Options { shape: Some(crate::Shape::Line), ..options.clone() };
    let without = fitted(&columns, &rows[..5000], &line);
    assert!(without.means.is_empty() && !own.means.is_empty());
    let error = |document: &Document| {
        let mut source = Rows::new(&columns, rows[5000..].iter().map(|row| row.iter().collect()));
        document.evaluate(&mut source).unwrap().0.summary().rmse.unwrap()
    };
    let (with, without) = (error(&own), error(&without));
    assert!(with < 0.7 * without, "{with} {without}");

    // The model answers for records without the numbers, stored and read again to the bit; and asks for the columns of the table.
    let again = Document::of_bytes(own.text().unwrap().as_bytes()).unwrap();
    let record: Record = ["u17", "i4", ""].into_iter().collect();
    let answer = |document: &Document| document.answers(&columns).unwrap().predict(&record, 1).unwrap();
    assert_eq!(answer(&own), answer(&again));
    let asked: Vec<String> = own.asked().into_iter().map(|own| own.name).collect();
    assert_eq!(asked, ["user", "item"]);
    let parts = own.explainer(&columns).unwrap().explain(&record, 1).unwrap();
    assert!(!parts.parts.is_empty());
    let mut seen = 0;
    let mut source = Rows::new(&columns, rows[..20].iter().map(|row| row.iter().collect()));
    let each = |_: &Record, _: Vec<serde_json::Value>| {
        seen += 1;
        Ok::<_, TermsError>(())
    };
    own.answers(&columns).unwrap().predict_rows(&mut source, (0.9, Intervals::Own), each).unwrap();
    assert_eq!(seen, 20);
}

#[test]
fn a_table_sorted_by_its_target_is_learned_with_the_numbers_of_the_random_order() {
    let (columns, mut rows) = ratings(5000);
    let test = rows.split_off(4000);
    rows.sort_by(|a, b| a[2].parse::<f64>().unwrap().total_cmp(&b[2].parse().unwrap()));
    let options = Options { target: Some("y".to_owned()), ..Options::default() };
    let error = |document: &Document| {
        let mut source = Rows::new(&columns, test.iter().map(|row| row.iter().collect()));
        document.evaluate(&mut source).unwrap().0.summary().rmse.unwrap()
    };
    let sorted = fitted(&columns, &rows, &options);
    rows.sort_by_key(|row| key(&row.concat()));
    let mixed = fitted(&columns, &rows, &options);
    let (found, expected) = (error(&sorted), error(&mixed));
    assert!(found < 1.1 * expected, "{found} {expected}");
}

#[test]
fn rows_are_tried_in_one_order_however_they_stand() {
    let mut records: Vec<Record> = (0..50).map(|t| [(t % 40).to_string()].into_iter().collect()).collect();
    let order = |records: &[Record]| shuffled(records).map(|own| own.field(0).to_owned()).collect::<Vec<String>>();
    let first = order(&records);
    records.reverse();
    assert_eq!(order(&records), first);
    assert_ne!(first, records.iter().map(|own| own.field(0).to_owned()).collect::<Vec<String>>());
}

#[test]
fn labels_in_an_order_within_levels_are_seen() {
    let score = |label: fn(u32) -> u32| {
        let mut own = means(Some((0.0, 1.0)), &[""]);
        for t in 0..400_u32 {
            learn(&mut own, ["a", "b"][(t % 2) as usize], f64::from(label(t)));
        }
        own.in_order()
    };
    // A period of 101 rows has no order to speak of, half a period of 400 has.
    assert_eq!(score(|t| t * 37 % 101 % 2), None);
    assert!(score(|t| t / 200).is_some_and(|score| score > IN_ORDER));
}

/// No level comes twice, so that the labels of levels have no order.
#[test]
fn labels_in_an_order_of_all_are_seen() {
    let score = |label: fn(u32) -> u32| {
        let mut own = means(Some((50.0, 30.0)), &[""]);
        for t in 0..101_u32 {
            learn(&mut own, &t.to_string(), f64::from(label(t)));
        }
        own.in_order()
    };
    assert_eq!(score(|t| t * 37 % 101), None);
    assert!(score(|t| t).is_some_and(|score| score > IN_RUNS) && score(|t| 200 - t).is_some());
}

#[test]
fn whole_numbers_are_one_level_with_and_without_a_point() {
    assert_eq!(key("100024.0"), key("100024"));
    assert_ne!(key("1.0x"), key("1x"));
    assert_ne!(key("a.0"), key("a"));
}

/// Users whose effects are three times the noise: a new user's label is uncertain, a known one's is not.
#[test]
fn new_levels_are_less_certain_than_known_ones() {
    let unlike = |k: u64| (k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as f64 / 2.0_f64.powi(31) - 0.5;
    let row = |t: u64| {
        let user = t.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        let y = 6.0 * unlike(user % 400 + 7) + 2.0 * unlike(31 * t + 5);
        [format!("u{}", user % 400), format!("{:.2}", unlike(77 * t)), format!("{y:.4}")]
    };
    let columns = Columns::new(["user", "x", "y"].map(str::to_owned), None);
    let own = fitted(
        &columns,
        &(0..4000).map(row).collect::<Vec<_>>(),
        &Options { target: Some("y".to_owned()), ..Options::default() },
    );
    let mut answers = own.answers(&columns).unwrap();
    let mut deviation =
        |user: &str| answers.predict(&[user, "0", ""].into_iter().collect(), 1).unwrap().standard_deviation().unwrap();
    let (new, known) = (deviation("nobody"), deviation("u17"));
    // Uniform effects and noise: √(36 + 4)/√12 = 1.83, and 2/√12 = .58 of ten rows or more. The model's noise was both while users were new.
    assert!(new > 1.3 * known && (0.45..1.0).contains(&known), "{new} {known}");
}

#[test]
fn new_levels_at_the_end_of_the_first_rows_are_seen() {
    let records = |level: fn(usize) -> usize| -> Vec<Record> {
        (0..400).map(|t| [format!("u{}", level(t))].into_iter().collect()).collect()
    };
    assert!(are_coming(&records(|t| t / 20), 0));
    assert!(!are_coming(&records(|t| t % 20), 0));
}

#[test]
fn damaged_means_are_refused() {
    let numbers = target(TargetKind::Number);
    let schema = Schema::of_numbers([("mean(g)".to_owned(), 0.0)].into_iter(), true);
    let own = means(Some((0.0, 1.0)), &[""]);
    assert!(own.is_of(&numbers, &schema));
    assert!(!means(None, &[""]).is_of(&numbers, &schema));
    assert!(!means(Some((0.0, 0.0)), &[""]).is_of(&numbers, &schema));
    assert!(!own.is_of(&numbers, &Schema::of_numbers([("x".to_owned(), 0.0)].into_iter(), true)));
    assert!(!own.is_of(&target(TargetKind::Classes(vec!["a".into(), "b".into()])), &schema));
}
