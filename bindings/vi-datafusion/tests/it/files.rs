//! Tables in files: Parquet and CSV, one or more of them empty.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::csv::Writer;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::prelude::{CsvReadOptions, ParquetReadOptions, SessionConfig, SessionContext};
use tempfile::TempDir;

use crate::common::{Row, batch, schema};

/// How a table is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Format {
    Parquet,
    Csv,
}

impl Format {
    pub(crate) const ALL: [Self; 2] = [Self::Parquet, Self::Csv];
}

/// Rows of a group.
const GROUP: usize = 256;

/// A folder with a file for each of `parts`, in row groups where the format has them. It goes with the value.
pub(crate) fn folder(format: Format, d: usize, parts: &[&[Row]]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (i, rows) in parts.iter().enumerate() {
        let batch = batch(d, rows, 0);
        match format {
            Format::Parquet => {
                let file = File::create(folder.path().join(format!("{i}.parquet"))).unwrap();
                let groups = WriterProperties::builder().set_max_row_group_row_count(Some(GROUP)).build();
                let mut writer = ArrowWriter::try_new(file, schema(d), Some(groups)).unwrap();
                // The writer calls itself for each group of what it is given at once.
                for first in (0..rows.len()).step_by(GROUP) {
                    writer.write(&batch.slice(first, GROUP.min(rows.len() - first))).unwrap();
                }
                writer.close().unwrap();
            }
            Format::Csv => {
                let file = File::create(folder.path().join(format!("{i}.csv"))).unwrap();
                Writer::new(file).write(&batch).unwrap();
            }
        }
    }
    folder
}

/// An engine with the functions, which reads in `parts` partitions however small the files.
pub(crate) fn reader(parts: usize) -> SessionContext {
    // The engine parts no table that is smaller than a batch.
    let mut config = SessionConfig::new().with_target_partitions(parts).with_batch_size(256);
    config.options_mut().optimizer.repartition_file_min_size = 0;
    let mut engine = SessionContext::new_with_config(config);
    vi_datafusion::register_all(&mut engine).unwrap();
    engine
}

/// [`reader`] with the files of `folder` as table `t`.
pub(crate) async fn files(folder: &Path, format: Format, d: usize, parts: usize) -> SessionContext {
    let engine = reader(parts);
    let path = folder.to_str().unwrap();
    match format {
        Format::Parquet => engine.register_parquet("t", path, ParquetReadOptions::default()).await.unwrap(),
        Format::Csv => engine.register_csv("t", path, CsvReadOptions::new().schema(&schema(d))).await.unwrap(),
    }
    let mut plan = engine.sql("SELECT sum(x0) FROM t").await.unwrap().create_physical_plan().await.unwrap();
    while let Some(below) = plan.children().first().map(|below| Arc::clone(below)) {
        plan = below;
    }
    assert_eq!(plan.output_partitioning().partition_count(), parts, "{format:?}");
    engine
}
