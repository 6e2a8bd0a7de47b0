//! Queries whose answers are kept in a file, which the tests of the Python package hold theirs against.

use std::fs;
use std::path::Path;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::common::{query, run};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/answers.tsv");

/// The numbers of an array, whatever its form; a null is none.
fn numbers(array: &dyn Array, out: &mut Vec<f64>) {
    match array.data_type() {
        DataType::Float64 => out.extend(array.as_primitive::<Float64Type>().iter().flatten()),
        DataType::Int64 => out.extend(array.as_primitive::<Int64Type>().iter().flatten().map(|n| n as f64)),
        DataType::List(_) => array.as_list::<i32>().iter().flatten().for_each(|row| numbers(&row, out)),
        DataType::Struct(_) => {
            let own = array.as_struct();
            for t in 0..own.len() {
                own.columns().iter().for_each(|column| numbers(&column.slice(t, 1), out));
            }
        }
        DataType::Utf8 => {}
        other => panic!("no numbers in {other}"),
    }
}

/// The answer of the file's queries: a line without numbers is a table to be made.
///
/// `VI_WRITE_TABLES=1` writes it anew; the ordinary run compares.
#[test]
fn answers_are_those_of_the_file() {
    run(async {
        // With one partition rows are added in their order.
        let mut engine = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1));
        vi_datafusion::register_all(&mut engine).unwrap();
        let writes = std::env::var_os("VI_WRITE_TABLES").is_some_and(|value| value == "1");
        let file = fs::read_to_string(Path::new(FILE)).unwrap();
        let mut written = Vec::new();
        let mut compared = 0;
        for line in file.lines() {
            let (sql, kept) = line.split_once('\t').unwrap_or((line, ""));
            let kept: Vec<f64> = kept.split_whitespace().map(|number| number.parse().unwrap()).collect();
            let mut found = Vec::new();
            for batch in query(&engine, sql).await.unwrap() {
                for t in 0..batch.num_rows() {
                    batch.columns().iter().for_each(|column| numbers(&column.slice(t, 1), &mut found));
                }
            }
            let texts: Vec<String> = found.iter().map(|number| format!("{number:e}")).collect();
            written.push(if found.is_empty() { sql.to_owned() } else { format!("{sql}\t{}", texts.join(" ")) });
            if writes {
                continue;
            }
            assert_eq!(found.len(), kept.len(), "{sql}");
            for (found, kept) in found.iter().zip(&kept) {
                // The last digits are the processor's: sums of some hundred terms in vectors of another width.
                assert!((found - kept).abs() <= 1e-12 * (1.0 + kept.abs()), "{sql}: {found} {kept}");
                compared += 1;
            }
        }
        if writes {
            fs::write(FILE, written.join("\n") + "\n").unwrap();
        } else {
            assert!(compared > 100, "{compared}");
        }
    });
}
