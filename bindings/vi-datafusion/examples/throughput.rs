//! Rows per second of the aggregates, beside the same sums written out in the engine's own SQL and a plain loop.
//!
//! `cargo run --release --features driver --example throughput [ROWS]`, from the folder of this crate.
#![allow(clippy::print_stdout, reason = "a program that measures")]

use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_sums::LinearSums;

const D: usize = 10;
const GROUPS: i64 = 10_000;
const BATCH: usize = 8192;
const REPEATS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let rows: usize = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    runtime.block_on(measure(rows))
}

fn schema() -> Arc<Schema> {
    let mut fields = vec![Field::new("g", DataType::Int64, false), Field::new("y", DataType::Float64, false)];
    fields.extend((0..D).map(|j| Field::new(format!("x{j}"), DataType::Float64, false)));
    Arc::new(Schema::new(fields))
}

/// Two partitions of `rows` rows in all.
fn table(rows: usize) -> Result<Vec<Vec<RecordBatch>>, Box<dyn Error>> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut partitions = vec![Vec::new(), Vec::new()];
    for (b, first) in (0..rows).step_by(BATCH).enumerate() {
        let n = BATCH.min(rows - first);
        let mut column = || -> ArrayRef {
            Arc::new(Float64Array::from_iter_values((0..n).map(|_| {
                let z: f64 = StandardNormal.sample(&mut rng);
                z
            })))
        };
        let mut columns: Vec<ArrayRef> = (0..=D).map(|_| column()).collect();
        let group = |t: usize| i64::try_from(first + t).map_or(0, |t| t.wrapping_mul(7919) % GROUPS);
        columns.insert(0, Arc::new(Int64Array::from_iter_values((0..n).map(group))));
        partitions[b % 2].push(RecordBatch::try_new(schema(), columns)?);
    }
    Ok(partitions)
}

fn arguments() -> String {
    (0..D).map(|j| format!("x{j}")).collect::<Vec<_>>().join(", ")
}

/// All sums of a linear model in the engine's own SQL.
fn sums() -> String {
    let names: Vec<String> = (0..D).map(|j| format!("x{j}")).chain(["y".to_owned()]).collect();
    let mut text = "count(*)".to_owned();
    for (i, a) in names.iter().enumerate() {
        let _ = write!(text, ", sum({a})");
        for b in &names[..=i] {
            let _ = write!(text, ", sum({a} * {b})");
        }
    }
    text
}

async fn measure(rows: usize) -> Result<(), Box<dyn Error>> {
    let partitions = table(rows)?;
    let config = SessionConfig::new().with_target_partitions(2);
    let mut engine = SessionContext::new_with_config(config);
    vi_datafusion::register_all(&mut engine)?;
    engine.register_table("t", Arc::new(MemTable::try_new(schema(), partitions.clone())?))?;

    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        let begun = Instant::now();
        let mut all = LinearSums::new(D)?;
        for batch in partitions.iter().flatten() {
            let floats: Vec<&Float64Array> =
                (1..D + 2).filter_map(|i| batch.column(i).as_any().downcast_ref::<Float64Array>()).collect();
            let x: Vec<&[f64]> = floats[1..].iter().map(|column| &column.values()[..]).collect();
            all.update_columns(&x, floats[0].values())?;
        }
        assert_eq!(all.rows(), rows as u64);
        best = best.min(begun.elapsed().as_secs_f64());
    }
    report("a plain loop on one thread", rows, best);

    let (x, sums) = (arguments(), sums());
    for (name, query) in [
        ("vi_linear", format!("SELECT vi_linear(y, {x}) FROM t")),
        ("the sums in SQL", format!("SELECT {sums} FROM t")),
        ("vi_linear, 10,000 groups", format!("SELECT g, vi_linear(y, {x}) FROM t GROUP BY g")),
        ("the sums in SQL, 10,000 groups", format!("SELECT g, {sums} FROM t GROUP BY g")),
        (
            "vi_glm, logistic, one pass",
            format!("SELECT vi_glm('logistic', CASE WHEN y > 0 THEN 1.0 ELSE 0.0 END, {x}) FROM t"),
        ),
        (
            "vi_predict",
            format!("SELECT sum(get_field(vi_predict(m, {x}), 'mean')) FROM t, (SELECT vi_linear(y, {x}) AS m FROM t)"),
        ),
    ] {
        let mut best = f64::INFINITY;
        for _ in 0..REPEATS {
            let begun = Instant::now();
            let batches = engine.sql(&query).await?.collect().await?;
            best = best.min(begun.elapsed().as_secs_f64());
            assert!(batches.iter().any(|batch| batch.num_rows() > 0));
        }
        report(name, rows, best);
    }
    Ok(())
}

fn report(name: &str, rows: usize, seconds: f64) {
    println!("{name}: {:.1} million rows a second", rows as f64 / seconds / 1e6);
}
