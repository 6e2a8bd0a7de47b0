//! `vi_linear` under every plan: the rows one by one.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, FixedSizeListBuilder, Float64Array, Float64Builder, ListBuilder};
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;
use vi_sums::{LinearPrior, Posterior, Predictor};

use crate::common::{
    column, difference, direct, engine, failure, names, query, record, records, rows, run, shuffled, sums, whole,
};

#[test]
fn any_number_of_partitions_in_any_order_is_the_direct_fold() {
    run(async {
        let d = 4;
        let all = rows(3000, d, 7, 1);
        let expected = direct(d, &all);
        for (parts, size) in [(1, 8192), (2, 100), (8, 333), (8, 1500)] {
            for seed in [1, 2] {
                let engine = engine(d, &shuffled(all.clone(), seed), parts, size);
                let found = record(&engine, &format!("SELECT vi_linear(y, {}) FROM t", names(d))).await;
                assert!(difference(&expected, sums(&found)) < 1e-12, "{parts} {size}");
                assert_eq!(found.rows(), 3000);
            }
        }
    });
}

#[test]
fn many_groups_are_folds_of_their_own() {
    run(async {
        let d = 3;
        // With 5000 groups of four rows each the engine stops to group before it parts: `convert_to_state`.
        for (n, groups, parts) in [(2000, 3, 1), (2000, 3, 8), (20_000, 5000, 2), (20_000, 5000, 8)] {
            let all = rows(n, d, groups, 2);
            let mut expected = BTreeMap::new();
            for row in &all {
                expected.entry(row.group).or_insert_with(Vec::new).push(row.clone());
            }
            let engine = engine(d, &shuffled(all, 3), parts, 512);
            let sql = format!("SELECT vi_linear(y, {}), g FROM t GROUP BY g", names(d));
            let found = records(&engine, &sql).await;
            let keys = column(&engine, &sql, 1).await;
            // Two runs need not answer in the same order: ask for both at once.
            assert_eq!((found.len(), keys.len()), (expected.len(), expected.len()));
            let ordered = format!("{sql} ORDER BY g");
            let found = records(&engine, &ordered).await;
            let keys = column(&engine, &ordered, 1).await;
            for (t, found) in found.iter().enumerate() {
                let key = keys.as_primitive::<Int64Type>().value(t);
                let expected = direct(d, &expected[&key]);
                assert!(difference(&expected, sums(found.as_ref().unwrap())) < 1e-12, "{key} of {groups}");
            }
        }
    });
}

#[test]
fn incomplete_rows_are_left_out_and_counted() {
    run(async {
        let d = 2;
        let mut all = rows(500, d, 4, 4);
        for t in (0..500).step_by(7) {
            all[t].x[t % 2] = None;
        }
        for t in (3..500).step_by(11) {
            all[t].y = None;
        }
        // The row that is not finite is one of the incomplete.
        let mut expected = all.clone();
        all[1].x[0] = Some(f64::NAN);
        expected[1].x[0] = None;
        for parts in [1, 8] {
            let engine = engine(d, &all, parts, 50);
            let found = record(&engine, "SELECT vi_linear(y, x0, x1) FROM t").await;
            assert!(found.skipped() > 100);
            assert!(difference(&direct(d, &expected), sums(&found)) < 1e-12);
            let groups = records(&engine, "SELECT vi_linear(y, x0, x1) FROM t GROUP BY g ORDER BY g").await;
            for (g, found) in groups.iter().enumerate() {
                let own = expected.iter().filter(|row| row.group == whole(g));
                assert!(difference(&direct(d, own), sums(found.as_ref().unwrap())) < 1e-12);
            }
            let error = failure(&engine, "SELECT vi_linear('strict', y, x0, x1) FROM t").await;
            assert!(error.contains("vi_linear: column x0: ") && error.contains("x[0] is not finite"), "{error}");
        }
    });
}

#[test]
fn a_filter_and_types_that_are_cast() {
    run(async {
        let all = rows(300, 2, 5, 5);
        let engine = engine(2, &all, 2, 40);
        let own = || all.iter().filter(|row| row.group == 2);
        let found = record(&engine, "SELECT vi_linear(y, x0, x1) FILTER (WHERE g = 2) FROM t").await;
        assert!(difference(&direct(2, own()), sums(&found)) < 1e-12);
        let grouped =
            records(&engine, "SELECT vi_linear(y, x0, x1) FILTER (WHERE g = 2) FROM t GROUP BY g ORDER BY g").await;
        assert_eq!(grouped.iter().map(|found| found.as_ref().unwrap().rows()).collect::<Vec<_>>(), [0, 0, 60, 0, 0]);
        let found = record(&engine, "SELECT vi_linear(y > 0, g, CAST(x0 AS FLOAT)) FROM t").await;
        assert_eq!((found.rows(), found.inputs()), (300, 2));
    });
}

#[test]
fn settings_are_the_prior_s() {
    run(async {
        let all = rows(50, 1, 1, 6);
        let engine = engine(1, &all, 2, 10);
        let found = record(&engine, "SELECT vi_linear('scale=3 intercept=0', y, x0) FROM t").await;
        let Posterior::Linear(found) = found else { panic!("not linear") };
        assert_eq!(*found.prior(), LinearPrior { scale: 3.0, intercept: 0.0, ..LinearPrior::default() });
    });
}

#[test]
fn no_rows_are_the_prior() {
    run(async {
        let engine = engine(2, &[], 2, 10);
        let found = record(&engine, "SELECT vi_linear(y, x0, x1) FROM t").await;
        assert_eq!((found.rows(), found.inputs(), found.log_evidence().unwrap()), (0, 2, 0.0));
        let none = query(&engine, "SELECT vi_linear(y, x0, x1) FROM t GROUP BY g").await.unwrap();
        assert_eq!(none.iter().map(RecordBatch::num_rows).sum::<usize>(), 0);
        let nothing = record(&engine, "SELECT vi_glm('poisson', y, x0) FROM t WHERE 1 = 0").await;
        assert_eq!(nothing.rows(), 0);
    });
}

#[test]
fn a_window_that_slides_is_its_rows() {
    run(async {
        let all = rows(200, 2, 1, 7);
        let engine = engine(2, &all, 1, 64);
        let sql =
            "SELECT vi_linear(y, x0, x1) OVER (ORDER BY t ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) FROM t ORDER BY t";
        let found = records(&engine, sql).await;
        assert_eq!(found.len(), 200);
        for (t, found) in found.iter().enumerate() {
            let expected = direct(2, &all[t.saturating_sub(9)..=t]);
            // Each row taken off leaves the rounding of the sums as they were.
            assert!(difference(&expected, sums(found.as_ref().unwrap())) < 1e-11, "{t}");
        }
    });
}

/// A table of lists: `(y, x)`, `x` of fixed size or not.
fn lists(fixed: bool, all: &[(f64, Vec<f64>)]) -> SessionContext {
    let labels = Float64Array::from_iter_values(all.iter().map(|(y, _)| *y));
    let x: Arc<dyn Array> = if fixed {
        let mut builder = FixedSizeListBuilder::new(Float64Builder::new(), 2);
        for (_, x) in all {
            builder.values().append_slice(x);
            builder.append(true);
        }
        Arc::new(builder.finish())
    } else {
        let mut builder = ListBuilder::new(Float64Builder::new());
        for (_, x) in all {
            builder.values().append_slice(x);
            builder.append(true);
        }
        Arc::new(builder.finish())
    };
    let schema =
        Schema::new(vec![Field::new("y", DataType::Float64, false), Field::new("x", x.data_type().clone(), true)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(labels), x]).unwrap();
    let mut engine = SessionContext::new();
    vi_datafusion::register_all(&mut engine).unwrap();
    let halves = vec![vec![batch.slice(0, all.len() / 2)], vec![batch.slice(all.len() / 2, all.len() - all.len() / 2)]];
    engine.register_table("t", Arc::new(MemTable::try_new(batch.schema(), halves).unwrap())).unwrap();
    engine
}

#[test]
fn features_in_one_list_are_the_same_features() {
    run(async {
        let table = rows(200, 2, 1, 8);
        let expected = direct(2, &table);
        let pairs: Vec<(f64, Vec<f64>)> =
            table.iter().map(|row| (row.y.unwrap(), row.x.iter().flatten().copied().collect())).collect();
        for fixed in [true, false] {
            let engine = lists(fixed, &pairs);
            let found = record(&engine, "SELECT vi_linear(y, x) FROM t").await;
            assert!(difference(&expected, sums(&found)) < 1e-12);
            let seen =
                column(&engine, "SELECT get_field(vi_predict(vi_linear(y, x), 1.0, 2.0), 'mean') FROM t", 0).await;
            assert!(seen.as_primitive::<datafusion::arrow::datatypes::Float64Type>().value(0).is_finite());
        }
        let engine = lists(false, &[(1.0, vec![1.0, 2.0]), (2.0, vec![1.0])]);
        let error = failure(&engine, "SELECT vi_linear(y, x) FROM t").await;
        assert!(error.contains("features"), "{error}");
        let engine = lists(false, &[]);
        // Nothing tells the length of the lists.
        assert!(records(&engine, "SELECT vi_linear(y, x) FROM t").await[0].is_none());
    });
}

#[test]
fn the_query_of_the_readme_runs_as_printed() {
    run(async {
        let engine = engine(2, &rows(600, 2, 3, 1), 2, 100);
        let flights = "CREATE TABLE flights AS SELECT g AS carrier, y AS arr_delay, x0 AS dep_delay, CAST(100 * x1 AS INT) AS distance FROM t";
        query(&engine, flights).await.unwrap();
        let readme = include_str!("../../../../README.md");
        let printed = readme.split("```sql").nth(1).and_then(|rest| rest.split("```").next()).unwrap().trim();
        let sorted =
            format!("SELECT seen FROM ({}) AS answers(carrier, seen) ORDER BY carrier", printed.trim_end_matches(';'));
        let seen = column(&engine, &sorted, 0).await;
        let means = seen.as_struct().column_by_name("mean").unwrap();
        assert_eq!(means.len(), 3);
        for (carrier, mean) in means.as_primitive::<Float64Type>().values().iter().enumerate() {
            let own =
                format!("SELECT vi_linear(arr_delay, dep_delay, distance) FROM flights WHERE carrier = {carrier}");
            let expected =
                Predictor::new(&record(&engine, &own).await).unwrap().predict(&[15.0, 800.0], 0.9).unwrap().mean;
            assert!((mean - expected).abs() < 1e-9 * expected.abs(), "{mean} {expected}");
        }
    });
}
