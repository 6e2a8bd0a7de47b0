//! The stored form of matrices.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_linalg::faer::Mat;

/// The number of rows, the number of columns, and the entries column by column.
#[derive(Serialize, Deserialize)]
struct Stored {
    rows: usize,
    columns: usize,
    entries: Vec<f64>,
}

pub(crate) fn serialize<S: Serializer>(matrix: &Mat<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    let entries = (0..matrix.ncols()).flat_map(|j| matrix.col_as_slice(j).iter().copied()).collect();
    Stored { rows: matrix.nrows(), columns: matrix.ncols(), entries }.serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mat<f64>, D::Error> {
    let Stored { rows, columns, entries } = Stored::deserialize(deserializer)?;
    if rows.checked_mul(columns) != Some(entries.len()) {
        let message = format!("{} entries do not make a matrix of {rows} × {columns}", entries.len());
        return Err(serde::de::Error::custom(message));
    }
    if let Some(index) = entries.iter().position(|entry| !entry.is_finite()) {
        return Err(serde::de::Error::custom(format!("entry {index} is {}", entries[index])));
    }
    Ok(Mat::from_fn(rows, columns, |i, j| entries[j * rows + i]))
}
