//! A table in files, its direct fold, and what a query answers.

use std::path::PathBuf;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::Float64Type;
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::prelude::SessionContext;
use vi_sums::LinearSums;

use crate::Done;

/// Files of the table, read side by side.
pub(crate) const FILES: usize = 8;
/// Groups of rows.
pub(crate) const GROUPS: usize = 20;

/// A folder of files that goes away with its owner, and the direct fold of its rows.
pub(crate) struct Folder {
    path: PathBuf,
    pub(crate) sums: LinearSums,
}

impl Folder {
    pub(crate) fn path(&self) -> String {
        format!("{}/", self.path.display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Writes `rows` rows as Parquet, and adds them one by one.
pub(crate) async fn write(rows: usize) -> Done<Folder> {
    let path = std::env::temp_dir().join(format!("ballista-recipe-{}", std::process::id()));
    std::fs::create_dir_all(&path)?;
    let mut folder = Folder { path, sums: LinearSums::new(3)? };
    let engine = SessionContext::new();
    for file in 0..FILES {
        let (first, last) = (rows * file / FILES + 1, rows * (file + 1) / FILES);
        let sql = format!(
            "SELECT value % {GROUPS} AS g, 0.5 + x0 - 0.7 * x1 + 0.2 * x2 + e AS y, x0, x1, x2 FROM (SELECT value, \
             CAST((value * 7919) % 10007 AS DOUBLE) / 2500 - 2 AS x0, CAST((value * 104729) % 9973 AS DOUBLE) / 2500 AS x1, \
             CAST((value * 1299709) % 9967 AS DOUBLE) / 5000 - 1 AS x2, CAST((value * 15485863) % 9949 AS DOUBLE) / 10000 - 0.5 AS e \
             FROM generate_series({first}, {last}))"
        );
        let frame = engine.sql(&sql).await?;
        for batch in frame.clone().collect().await? {
            let column = |j: usize| batch.column(j).as_primitive::<Float64Type>().values();
            let (y, x) = (column(1), [column(2), column(3), column(4)]);
            for t in 0..batch.num_rows() {
                folder.sums.update(&[x[0][t], x[1][t], x[2][t]], y[t])?;
            }
        }
        let name = folder.path.join(format!("{file}.parquet"));
        let options = DataFrameWriteOptions::new().with_single_file_output(true);
        frame.write_parquet(&name.display().to_string(), options, None).await?;
    }
    Ok(folder)
}

/// The one record that a query answers.
pub(crate) async fn record(session: &SessionContext, sql: &str) -> Done<Vec<u8>> {
    let batches = session.sql(sql).await?.collect().await?;
    let found = batches.iter().filter(|batch| batch.num_rows() == 1).find_map(|batch| {
        let records = batch.column(0).as_binary_view_opt()?;
        records.is_valid(0).then(|| records.value(0).to_vec())
    });
    found.ok_or_else(|| format!("no posterior of {sql}").into())
}

/// The largest difference of means and scatter, in units of the columns' own deviations.
pub(crate) fn difference(a: &LinearSums, b: LinearSums) -> f64 {
    let root = |i: usize| a.scatter()[i * (i + 1) / 2 + i].sqrt();
    let mut worst: f64 = if a.rows() == b.rows() { 0.0 } else { f64::INFINITY };
    for i in 0..=a.inputs() {
        let deviation = root(i) / (a.rows() as f64).sqrt();
        worst = worst.max((a.mean()[i] - b.mean()[i]).abs() / deviation);
        for j in 0..=i {
            let at = i * (i + 1) / 2 + j;
            worst = worst.max((a.scatter()[at] - b.scatter()[at]).abs() / (root(i) * root(j)));
        }
    }
    worst
}
