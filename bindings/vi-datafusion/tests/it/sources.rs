//! Rows in files, in any partitioning and order, against the direct folds of `vi-sums`.

use std::collections::BTreeMap;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::prelude::{CsvReadOptions, SessionContext};
use vi_core::{Belief, DenseGaussian};
use vi_datafusion::{FitSettings, fit_glm};
use vi_sums::{At, Family, GlmPrior, LinearSums, OnePass, PassSums, Posterior};

use crate::common::{Row, constant, difference, direct, names, query, record, rows, run, shuffled, sums};
use crate::files::{Format, files, folder, reader};

/// Sums of the same rows in another order differ by their rounding.
const ROUNDING: f64 = 1e-12;

/// `n` rows of which one in fifty has a null.
fn table(n: usize, d: usize, groups: i64, seed: u64) -> Vec<Row> {
    let mut all = rows(n, d, groups, seed);
    for (t, row) in all.iter_mut().enumerate() {
        match t % 100 {
            17 => row.y = None,
            67 => row.x[t / 100 % d] = None,
            _ => (),
        }
    }
    all
}

/// Five files: most rows, none, one row, none, the others.
fn parted(rows: &[Row]) -> [&[Row]; 5] {
    let half = rows.len() / 2;
    [&rows[..half], &[], &rows[half..=half], &[], &rows[half + 1..]]
}

/// The answers `(record, key)` of a query, by key.
async fn grouped(engine: &SessionContext, sql: &str) -> BTreeMap<i64, Posterior> {
    let mut out = BTreeMap::new();
    for batch in query(engine, sql).await.unwrap() {
        let (records, keys) = (batch.column(0).as_binary_view(), batch.column(1).as_primitive::<Int64Type>());
        for (record, key) in records.iter().zip(keys.values()) {
            let before = out.insert(*key, Posterior::decode(record.unwrap()).unwrap());
            assert!(before.is_none(), "group {key} twice");
        }
    }
    out
}

/// The direct fold of each group, by the remainder of its number.
fn by_group(d: usize, rows: &[Row], groups: i64) -> BTreeMap<i64, LinearSums> {
    let mut parts: BTreeMap<i64, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        parts.entry(row.group % groups).or_default().push(row);
    }
    parts.into_iter().map(|(group, rows)| (group, direct(d, rows))).collect()
}

fn assert_groups(found: &BTreeMap<i64, Posterior>, expected: &BTreeMap<i64, LinearSums>) {
    assert_eq!(found.len(), expected.len());
    for (group, expected) in expected {
        assert!(difference(expected, sums(&found[group])) < ROUNDING, "group {group}");
    }
}

#[test]
fn files_in_any_partitioning_are_the_direct_fold() {
    run(async {
        let d = 3;
        let all = table(20_000, d, 5000, 71);
        let (whole, groups, few) = (direct(d, &all), by_group(d, &all, 5000), by_group(d, &all, 3));
        assert_eq!((whole.skipped(), groups.len()), (400, 5000));
        let x = names(d);
        for format in Format::ALL {
            let mixed = shuffled(all.clone(), 72);
            let folder = folder(format, d, &parted(&mixed));
            for parts in [1, 2, 8] {
                let engine = files(folder.path(), format, d, parts).await;
                let found = record(&engine, &format!("SELECT vi_linear(y, {x}) FROM t")).await;
                assert!(difference(&whole, sums(&found)) < ROUNDING, "{format:?} {parts}");
                let of_groups = format!("SELECT vi_linear(y, {x}) AS m, g FROM t GROUP BY g");
                assert_groups(&grouped(&engine, &of_groups).await, &groups);
                // Few groups: their rows are brought together before they are added.
                let of_few = format!("SELECT vi_linear(y, {x}), g % 3 FROM t GROUP BY g % 3");
                assert_groups(&grouped(&engine, &of_few).await, &few);
                let merged = record(&engine, &format!("SELECT vi_merge(m) FROM ({of_groups})")).await;
                assert!(difference(&whole, sums(&merged)) < ROUNDING, "{format:?} {parts} merged");
            }
        }
    });
}

#[test]
fn a_pass_over_files_is_the_direct_fold() {
    run(async {
        let d = 3;
        let all = table(6000, d, 5, 73);
        let mut one = OnePass::new(Family::Logistic, GlmPrior::default(), d).unwrap();
        let complete: Vec<(Vec<f64>, f64)> = all
            .iter()
            .filter_map(|row| Some((row.x.iter().copied().collect::<Option<Vec<f64>>>()?, row.class)))
            .collect();
        for (x, y) in &complete {
            one.update(x, *y).unwrap();
        }
        let belief = one.posterior().unwrap().belief().unwrap();
        let at = At::belief(Family::Logistic, GlmPrior::default(), &belief).unwrap();
        let mut expected = PassSums::new(&at);
        for (x, y) in &complete {
            let columns: Vec<&[f64]> = x.iter().map(std::slice::from_ref).collect();
            expected.update_columns(&at, &columns, &[*y]).unwrap();
        }
        expected.skip((all.len() - complete.len()) as u64);
        let sql = format!("SELECT vi_pass({}, c, {}) FROM t", constant(at.record()), names(d));
        for format in Format::ALL {
            let mixed = shuffled(all.clone(), 74);
            let folder = folder(format, d, &parted(&mixed));
            for parts in [1, 2, 8] {
                let engine = files(folder.path(), format, d, parts).await;
                let batches = query(&engine, &sql).await.unwrap();
                let found = PassSums::decode(batches[0].column(0).as_binary_view().value(0)).unwrap();
                assert_pass(&found, &expected);
            }
        }
    });
}

fn assert_pass(found: &PassSums, expected: &PassSums) {
    assert_eq!((found.rows(), found.skipped()), (expected.rows(), expected.skipped()));
    let m = expected.parameters();
    // Rows, skipped rows, the sum of log densities, the place; gradients; curvatures.
    let (found, expected, n) = (found.flat(), expected.flat(), expected.rows() as f64);
    assert!((found[2] - expected[2]).abs() < ROUNDING * expected[2].abs());
    assert_eq!(found[3..5], expected[3..5]);
    let (found, expected) = (&found[5..], &expected[5..]);
    let (g, h) = (&expected[..m], &expected[m..]);
    let root = |i: usize| h[i * (i + 1) / 2 + i].sqrt();
    for i in 0..m {
        // A gradient is a sum of n terms, each at most about a column's value.
        assert!((found[i] - g[i]).abs() < ROUNDING * n.sqrt() * root(i), "gradient {i}");
        for j in 0..=i {
            let at = i * (i + 1) / 2 + j;
            assert!((found[m + at] - h[at]).abs() < ROUNDING * root(i) * root(j), "curvature {i} {j}");
        }
    }
}

#[test]
fn two_hundred_thousand_groups_are_folds_of_their_own() {
    // In the slow tests all; else a tenth.
    let groups = if crate::slow() { 200_000 } else { 20_000 };
    run(async {
        let d = 2;
        // Four rows: of fewer some would lie so near each other that their deviation is lost in rounding.
        let all = table(4 * usize::try_from(groups).unwrap(), d, groups, 75);
        let expected = by_group(d, &all, groups);
        let mixed = shuffled(all, 76);
        for (format, parts) in [(Format::Parquet, 1), (Format::Parquet, 8), (Format::Csv, 2)] {
            let folder = folder(format, d, &parted(&mixed));
            let engine = files(folder.path(), format, d, parts).await;
            let found = grouped(&engine, "SELECT vi_linear(y, x0, x1), g FROM t GROUP BY g").await;
            assert_groups(&found, &expected);
        }
    });
}

/// The largest difference of means in deviations, and of covariances relative to variances.
fn apart(found: &DenseGaussian, expected: &DenseGaussian) -> f64 {
    let (p, q) = (found.covariance(), expected.covariance());
    let root = |i: usize| q[(i, i)].sqrt();
    let mut worst: f64 = 0.0;
    for i in 0..expected.dim() {
        worst = worst.max((found.mean()[i] - expected.mean()[i]).abs() / root(i));
        for j in 0..expected.dim() {
            worst = worst.max((p[(i, j)] - q[(i, j)]).abs() / (root(i) * root(j)));
        }
    }
    worst
}

/// The belief of the record that a query answers.
async fn belief(engine: &SessionContext, sql: &str) -> (Posterior, DenseGaussian) {
    let found = record(engine, sql).await;
    let Posterior::Glm(own) = &found else { panic!("not a generalised linear model's") };
    let belief = own.belief().unwrap();
    (found, belief)
}

#[test]
fn real_rows_are_forgotten_within_the_bound_of_the_guide() {
    run(async {
        let engine = reader(2);
        // Tumours: cells as shares of ten, malignant or not.
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/vi-data/data/biopsy.csv");
        engine.register_csv("cells", path, CsvReadOptions::new()).await.unwrap();
        let inputs: Vec<String> = (1..=9).map(|j| format!("\"V{j}\" / 10.0")).collect();
        let row = format!("CASE class WHEN 'malignant' THEN 1 ELSE 0 END, {}", inputs.join(", "));
        let settings = FitSettings::new("logistic scale=2 intercept=4").unwrap();
        let fit = async |which: &str| {
            let rows = format!("SELECT {row} FROM cells WHERE {which}");
            fit_glm(&engine, &rows, &settings, |_| {}).await.unwrap()
        };
        let whole = fit("true").await;
        assert_eq!((whole.posterior.rows(), whole.posterior.skipped()), (683, 0));
        let model = constant(&whole.record().unwrap());
        for (every, rows) in [(60, 5), (97, 8), (20, 24)] {
            let (gone, kept) = (format!("\"ID\" % {every} = 0"), format!("\"ID\" % {every} <> 0"));
            let expected = fit(&kept).await;
            let truth = &expected.belief;
            let sql = format!(
                "SELECT vi_subtract({model}, vi_factors({model}, vi_pass({model}, {row}))) FROM cells WHERE {gone}"
            );
            let (left, taken) = belief(&engine, &sql).await;
            let left = constant(&left.encode().unwrap());
            let sql = format!("SELECT vi_factors({left}, vi_pass({left}, {row})) FROM cells WHERE {kept}");
            assert_eq!(683 - expected.posterior.rows(), rows);
            let (_, repaired) = belief(&engine, &sql).await;
            let (before, after, last) = (apart(&whole.belief, truth), apart(&taken, truth), apart(&repaired, truth));
            // The guide: each step leaves up to a third.
            assert!(before > 0.01 && after < 0.4 * before && last < 0.4 * after, "{every}: {before} {after} {last}");
        }
    });
}
