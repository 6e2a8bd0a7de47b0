//! Data sets: observations with one contiguous row and one label each.

use std::collections::HashSet;

use faer::MatRef;
use rand::Rng;
use rand::seq::SliceRandom;

use crate::DataError;

/// A data set: n observations (x, y) with x ∈ ℝᵈ, n ≥ 1, d ≥ 1, every number finite.
///
/// The rows are stored one after another, so [`row`](Dataset::row) is a plain slice and [`x`](Dataset::x) a row-major view
/// without a copy. A model has to check what y means (a class in {0, 1}, a response).
///
/// ```
/// use vi_data::Dataset;
///
/// let data = Dataset::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![0.0, 1.0], None)?;
/// assert_eq!((data.n(), data.d()), (2, 3));
/// assert_eq!(data.row(1), &[4.0, 5.0, 6.0]);
/// assert_eq!(data.x()[(1, 2)], 6.0);
/// assert_eq!(data.columns(), ["x1", "x2", "x3"]);
/// # Ok::<(), vi_data::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    rows: Vec<f64>,
    y: Vec<f64>,
    columns: Vec<String>,
}

impl Dataset {
    /// A data set from rows (n·d numbers, row by row), labels (n) and the names of the d columns, `x1…xd` if none are given. Cost
    /// O(n·d).
    ///
    /// # Errors
    /// [`DataError::Empty`] for no label, [`DataError::Length`] if `rows` is not n·d long,
    /// [`DataError::NoInputs`] for d = 0, [`DataError::DuplicateColumn`], and
    /// [`DataError::NotFinite`] for the first NaN or infinity.
    pub fn new(rows: Vec<f64>, y: Vec<f64>, columns: Option<Vec<String>>) -> Result<Self, DataError> {
        if y.is_empty() {
            return Err(DataError::Empty);
        }
        let d = columns.as_ref().map_or(rows.len() / y.len(), Vec::len);
        if d == 0 {
            return Err(DataError::NoInputs);
        }
        if rows.len() != y.len() * d {
            return Err(DataError::Length { argument: "rows", expected: y.len() * d, found: rows.len() });
        }
        let columns = columns.unwrap_or_else(|| (1..=d).map(|k| format!("x{k}")).collect());
        let mut seen = HashSet::new();
        if let Some(name) = columns.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(DataError::DuplicateColumn { name: name.clone() });
        }
        for (i, (row, &label)) in rows.chunks_exact(d).zip(&y).enumerate() {
            if let Some(k) = row.iter().position(|v| !v.is_finite()) {
                return Err(DataError::NotFinite {
                    row: i + 1,
                    column: k + 1,
                    name: columns[k].clone(),
                    value: row[k],
                });
            }
            if !label.is_finite() {
                return Err(DataError::NotFinite { row: i + 1, column: 0, name: "label".to_owned(), value: label });
            }
        }
        Ok(Self { rows, y, columns })
    }

    /// Number of observations n.
    #[must_use]
    pub fn n(&self) -> usize {
        self.y.len()
    }

    /// Number of input columns d.
    #[must_use]
    pub fn d(&self) -> usize {
        self.columns.len()
    }

    /// The inputs, n × d, row-major: a view, no copy.
    #[must_use]
    pub fn x(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.rows, self.n(), self.d())
    }

    /// The n·d input numbers, row by row.
    #[must_use]
    pub fn rows_row_major(&self) -> &[f64] {
        &self.rows
    }

    /// The labels or responses, length n.
    #[must_use]
    pub fn y(&self) -> &[f64] {
        &self.y
    }

    /// The names of the d input columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Input row `i` < n, length d.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.rows[i * self.d()..(i + 1) * self.d()]
    }

    /// The observations in order, as pairs of an input row and its label.
    ///
    /// ```
    /// let data = vi_data::nodal()?;
    /// let with_involvement = data.observations().filter(|&(_, y)| y == 1.0).count();
    /// assert_eq!(with_involvement, 20);
    /// # Ok::<(), vi_data::DataError>(())
    /// ```
    #[must_use]
    pub fn observations(&self) -> impl ExactSizeIterator<Item = (&[f64], f64)> {
        self.rows.chunks_exact(self.d()).zip(self.y.iter().copied())
    }

    /// The observations in a random order, every order equally likely. Cost O(n·d).
    #[must_use]
    pub fn shuffled<R: Rng + ?Sized>(&self, rng: &mut R) -> Self {
        let mut order: Vec<usize> = (0..self.n()).collect();
        order.shuffle(rng);
        Self {
            rows: order.iter().flat_map(|&i| self.row(i)).copied().collect(),
            y: order.iter().map(|&i| self.y[i]).collect(),
            columns: self.columns.clone(),
        }
    }

    /// The data with a first column `intercept` of ones. Cost O(n·d).
    ///
    /// # Errors
    /// [`DataError::DuplicateColumn`] if there is such a column.
    pub fn with_intercept(&self) -> Result<Self, DataError> {
        let rows =
            self.rows.chunks_exact(self.d()).flat_map(|row| std::iter::once(1.0).chain(row.iter().copied())).collect();
        let columns = std::iter::once("intercept".to_owned()).chain(self.columns.iter().cloned()).collect();
        Self::new(rows, self.y.clone(), Some(columns))
    }

    /// The data without the column of that name. Cost O(n·d).
    ///
    /// # Errors
    /// [`DataError::MissingColumn`], or [`DataError::NoInputs`] if it was the only column.
    pub fn without_column(&self, name: &str) -> Result<Self, DataError> {
        let k = self
            .columns
            .iter()
            .position(|column| column == name)
            .ok_or_else(|| DataError::MissingColumn { wanted: format!("`{name}`"), columns: self.columns.clone() })?;
        let rows =
            self.rows.chunks_exact(self.d()).flat_map(|row| row[..k].iter().chain(&row[k + 1..]).copied()).collect();
        let mut columns = self.columns.clone();
        columns.remove(k);
        Self::new(rows, self.y.clone(), Some(columns))
    }

    /// The data with every input column mapped onto [−1, 1]: x ← −1 + 2(x − min)/(max − min), as LIBSVM's `svm-scale` does by
    /// default. Cost O(n·d).
    ///
    /// # Errors
    /// [`DataError::ConstantColumn`] for a column with max = min, such as an intercept.
    pub fn min_max_scaled(&self) -> Result<Self, DataError> {
        let d = self.d();
        let mut scaled = self.clone();
        for k in 0..d {
            let column = || self.rows.iter().skip(k).step_by(d).copied();
            let low = column().fold(f64::INFINITY, f64::min);
            let high = column().fold(f64::NEG_INFINITY, f64::max);
            if low == high {
                return Err(DataError::ConstantColumn { column: k + 1, name: self.columns[k].clone(), value: low });
            }
            // The range of finite numbers may overflow; that of their halves cannot.
            let unit = if (high - low).is_finite() { 1.0 } else { 0.5 };
            let range = unit * high - unit * low;
            for value in scaled.rows.iter_mut().skip(k).step_by(d) {
                *value = 2.0 * ((unit * *value - unit * low) / range) - 1.0;
            }
        }
        Ok(scaled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn small() -> Dataset {
        Dataset::new(vec![1.0, 10.0, 2.0, 30.0, 5.0, 20.0], vec![0.0, 1.0, 1.0], None).unwrap()
    }

    #[test]
    fn view_rows_and_iterator_show_the_same_numbers() {
        let data = small();
        assert_eq!((data.x().nrows(), data.x().ncols()), (3, 2));
        for (i, (row, y)) in data.observations().enumerate() {
            assert_eq!(row, data.row(i));
            assert_eq!(y, data.y()[i]);
            for (k, &value) in row.iter().enumerate() {
                assert_eq!(data.x()[(i, k)], value);
            }
        }
    }

    #[test]
    fn a_shuffle_keeps_each_row_with_its_label() {
        let data = small();
        let key = |data: &Dataset| {
            let mut all: Vec<_> = data.observations().map(|(row, y)| (row.to_vec(), y)).collect();
            all.sort_by(|a, b| a.0[0].total_cmp(&b.0[0]));
            all
        };
        let orders: HashSet<_> = (0..100)
            .map(|seed| {
                let shuffled = data.shuffled(&mut ChaCha8Rng::seed_from_u64(seed));
                assert_eq!(key(&shuffled), key(&data));
                shuffled.rows.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
            })
            .collect();
        // One of the 6 orders is missing from 100 draws with probability below 6·(5/6)^100 = 7e-8.
        assert_eq!(orders.len(), 6);
    }

    #[test]
    fn intercept_goes_in_front_and_comes_out_again() {
        let data = small();
        let with = data.with_intercept().unwrap();
        assert_eq!(with.row(1), &[1.0, 2.0, 30.0]);
        assert_eq!(with.columns(), ["intercept", "x1", "x2"]);
        assert_eq!(with.without_column("intercept").unwrap(), data);
        assert!(matches!(
            with.with_intercept(),
            Err(DataError::DuplicateColumn { name }) if name == "intercept"
        ));
    }

    #[test]
    fn scaling_maps_each_column_onto_minus_one_to_one() {
        let scaled = small().min_max_scaled().unwrap();
        assert_eq!(scaled.rows, [-1.0, -1.0, -0.5, 1.0, 1.0, 0.0]);
        let wide = Dataset::new(vec![-f64::MAX, 0.0, f64::MAX], vec![0.0; 3], None).unwrap();
        assert_eq!(wide.min_max_scaled().unwrap().rows, [-1.0, 0.0, 1.0]);
        let narrow = Dataset::new(vec![0.0, f64::from_bits(1)], vec![0.0; 2], None).unwrap();
        assert_eq!(narrow.min_max_scaled().unwrap().rows, [-1.0, 1.0]);
    }

    #[test]
    fn a_constant_column_cannot_be_scaled() {
        let error = small().with_intercept().unwrap().min_max_scaled();
        assert!(matches!(
            error,
            Err(DataError::ConstantColumn { column: 1, name, value: 1.0 }) if name == "intercept"
        ));
    }

    #[test]
    fn bad_input_is_named() {
        assert!(matches!(Dataset::new(vec![], vec![], None), Err(DataError::Empty)));
        assert!(matches!(Dataset::new(vec![], vec![1.0], None), Err(DataError::NoInputs)));
        assert!(matches!(
            Dataset::new(vec![1.0; 5], vec![1.0; 2], None),
            Err(DataError::Length { argument: "rows", expected: 4, found: 5 })
        ));
        let names = Some(vec!["a".to_owned(), "a".to_owned()]);
        assert!(matches!(
            Dataset::new(vec![1.0; 4], vec![1.0; 2], names),
            Err(DataError::DuplicateColumn { name }) if name == "a"
        ));
        assert!(matches!(
            Dataset::new(vec![1.0, 2.0, 3.0, f64::NAN], vec![1.0; 2], None),
            Err(DataError::NotFinite { row: 2, column: 2, name, value }) if name == "x2" && value.is_nan()
        ));
        assert!(matches!(
            Dataset::new(vec![1.0; 2], vec![1.0, f64::INFINITY], None),
            Err(DataError::NotFinite { row: 2, column: 0, name, .. }) if name == "label"
        ));
        assert!(matches!(
            small().without_column("x3"),
            Err(DataError::MissingColumn { wanted, .. }) if wanted == "`x3`"
        ));
    }
}
