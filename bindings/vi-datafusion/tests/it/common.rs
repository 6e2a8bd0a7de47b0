//! Tables for all tests, and what a query answers.

use std::future::Future;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::datasource::MemTable;
use datafusion::error::DataFusionError;
use datafusion::prelude::{SessionConfig, SessionContext};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_sums::{LinearSums, Posterior};

/// A position as the engine has it.
pub(crate) fn whole(n: usize) -> i64 {
    i64::try_from(n).unwrap()
}

/// Runs a test to its end.
pub(crate) fn run<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap().block_on(test)
}

/// A row: group, label, class, features.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) group: i64,
    pub(crate) y: Option<f64>,
    pub(crate) class: f64,
    pub(crate) x: Vec<Option<f64>>,
}

/// `n` complete rows of `d` features about 3, in `groups` groups.
pub(crate) fn rows(n: usize, d: usize, groups: i64, seed: u64) -> Vec<Row> {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(rng) };
    (0..n)
        .map(|t| {
            let x: Vec<f64> = (0..d).map(|_| normal()).collect();
            let along: f64 = x.iter().enumerate().map(|(j, x)| x * (1.0 - 0.3 * j as f64)).sum();
            let y = 0.5 + along + 0.4 * normal();
            Row {
                group: whole(t) % groups,
                y: Some(y),
                class: f64::from(u8::from(y > 0.5)),
                x: x.into_iter().map(Some).collect(),
            }
        })
        .collect()
}

pub(crate) fn shuffled(mut rows: Vec<Row>, seed: u64) -> Vec<Row> {
    rows.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    rows
}

pub(crate) fn schema(d: usize) -> Arc<Schema> {
    let mut fields = vec![
        Field::new("g", DataType::Int64, false),
        Field::new("t", DataType::Int64, false),
        Field::new("y", DataType::Float64, true),
        Field::new("c", DataType::Float64, true),
    ];
    fields.extend((0..d).map(|j| Field::new(format!("x{j}"), DataType::Float64, true)));
    Arc::new(Schema::new(fields))
}

pub(crate) fn batch(d: usize, rows: &[Row], first: usize) -> RecordBatch {
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.group))),
        Arc::new(Int64Array::from_iter_values(whole(first)..whole(first + rows.len()))),
        Arc::new(rows.iter().map(|row| row.y).collect::<Float64Array>()),
        Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.class))),
    ];
    for j in 0..d {
        columns.push(Arc::new(rows.iter().map(|row| row.x[j]).collect::<Float64Array>()));
    }
    RecordBatch::try_new(schema(d), columns).unwrap()
}

/// An engine with table `t` of `d` features in `parts` partitions, in batches of at most `size` rows; with more partitions than batches some are empty.
pub(crate) fn engine(d: usize, rows: &[Row], parts: usize, size: usize) -> SessionContext {
    let mut partitions = vec![Vec::new(); parts];
    for (b, chunk) in rows.chunks(size).enumerate() {
        partitions[b % parts].push(batch(d, chunk, b * size));
    }
    let mut engine = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(parts));
    vi_datafusion::register_all(&mut engine).unwrap();
    engine.register_table("t", Arc::new(MemTable::try_new(schema(d), partitions).unwrap())).unwrap();
    engine
}

pub(crate) async fn query(engine: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>, DataFusionError> {
    engine.sql(sql).await?.collect().await
}

/// The one array of column `column` of the answer, batches one after another.
pub(crate) async fn column(engine: &SessionContext, sql: &str, column: usize) -> ArrayRef {
    let batches = query(engine, sql).await.unwrap();
    assert!(!batches.is_empty(), "{sql} has no answer");
    let arrays: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(column).as_ref()).collect();
    datafusion::arrow::compute::concat(&arrays).unwrap()
}

/// The records of the first column.
pub(crate) async fn records(engine: &SessionContext, sql: &str) -> Vec<Option<Posterior>> {
    let array = column(engine, sql, 0).await;
    array.as_binary_view().iter().map(|bytes| bytes.map(|bytes| Posterior::decode(bytes).unwrap())).collect()
}

pub(crate) async fn record(engine: &SessionContext, sql: &str) -> Posterior {
    let found = records(engine, sql).await;
    assert_eq!(found.len(), 1, "{sql}");
    found.into_iter().next().unwrap().unwrap()
}

pub(crate) async fn failure(engine: &SessionContext, sql: &str) -> String {
    match query(engine, sql).await {
        Ok(_) => panic!("{sql} was answered"),
        Err(error) => error.to_string(),
    }
}

/// The error of planning alone.
pub(crate) async fn plan_failure(engine: &SessionContext, sql: &str) -> String {
    let planned = async { engine.sql(sql).await?.create_physical_plan().await };
    match planned.await {
        Ok(_) => panic!("{sql} was planned"),
        Err(error) => error.to_string(),
    }
}

/// The names of features, `x0, x1, …`.
pub(crate) fn names(d: usize) -> String {
    (0..d).map(|j| format!("x{j}")).collect::<Vec<_>>().join(", ")
}

/// The direct fold over complete rows; the others are counted.
pub(crate) fn direct<'a>(d: usize, rows: impl IntoIterator<Item = &'a Row>) -> LinearSums {
    let mut sums = LinearSums::new(d).unwrap();
    for row in rows {
        let x: Option<Vec<f64>> = row.x.iter().copied().collect();
        match (x, row.y) {
            (Some(x), Some(y)) => sums.update(&x, y).unwrap(),
            _ => sums.skip(1),
        }
    }
    sums
}

/// The sums of a linear posterior.
pub(crate) fn sums(posterior: &Posterior) -> &LinearSums {
    match posterior {
        Posterior::Linear(own) => own.sums(),
        _ => panic!("not a linear posterior"),
    }
}

/// The largest difference of means and scatter, in units of the columns' own deviations.
pub(crate) fn difference(a: &LinearSums, b: &LinearSums) -> f64 {
    assert_eq!((a.rows(), a.skipped(), a.inputs()), (b.rows(), b.skipped(), b.inputs()));
    let root = |i: usize| a.scatter()[i * (i + 1) / 2 + i].sqrt().max(f64::MIN_POSITIVE);
    let mut worst: f64 = 0.0;
    for i in 0..=a.inputs() {
        let deviation = root(i) / (a.rows() as f64).sqrt();
        if a.rows() > 1 {
            worst = worst.max((a.mean()[i] - b.mean()[i]).abs() / deviation);
            for j in 0..=i {
                let at = i * (i + 1) / 2 + j;
                worst = worst.max((a.scatter()[at] - b.scatter()[at]).abs() / (root(i) * root(j)));
            }
        }
    }
    worst
}

/// A record as a constant of a query.
pub(crate) fn constant(record: &[u8]) -> String {
    let mut text = "X'".to_owned();
    for byte in record {
        text.push(char::from(b"0123456789abcdef"[usize::from(byte >> 4)]));
        text.push(char::from(b"0123456789abcdef"[usize::from(byte & 15)]));
    }
    text + "'"
}
