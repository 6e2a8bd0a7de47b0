//! JSON values that know where they stand in their file, so that an error can say so.

use serde_json::Value;
use vi_linalg::faer::Mat;

use crate::CaseError;

/// A value and its place in the file, such as `algorithms.ekf.trajectory[2].mean`.
#[derive(Debug, Clone)]
pub struct Node<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Node<'a> {
    /// The top of a file.
    #[must_use]
    pub fn root(value: &'a Value) -> Self {
        Self { value, path: String::new() }
    }

    /// Where in the file.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value of `key`, if this is an object that has it and it is not `null`.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Some(Self { value, path })
    }

    /// The value of the first of `keys` that is there.
    #[must_use]
    pub fn find_any(&self, keys: &[&str]) -> Option<Self> {
        keys.iter().find_map(|key| self.find(key))
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// [`CaseError::Missing`].
    pub fn get(&self, key: &str) -> Result<Self, CaseError> {
        self.find(key).ok_or_else(|| {
            let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
            CaseError::Missing { path }
        })
    }

    /// Whether this is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.value.is_object()
    }

    /// Whether this is an array.
    #[must_use]
    pub fn is_array(&self) -> bool {
        self.value.is_array()
    }

    /// The text, if this is one.
    #[must_use]
    pub fn text(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    /// The members of an object, by name.
    ///
    /// # Errors
    /// [`CaseError::Type`].
    pub fn members(&self) -> Result<Vec<(&'a str, Self)>, CaseError> {
        let object = self.value.as_object().ok_or_else(|| self.wrong("an object"))?;
        Ok(object.keys().filter_map(|key| Some((key.as_str(), self.find(key)?))).collect())
    }

    /// The items of an array.
    ///
    /// # Errors
    /// [`CaseError::Type`].
    pub fn items(&self) -> Result<Vec<Self>, CaseError> {
        let items = self.value.as_array().ok_or_else(|| self.wrong("an array"))?;
        let node = |(i, value)| Self { value, path: format!("{}[{i}]", self.path) };
        Ok(items.iter().enumerate().map(node).collect())
    }

    /// A finite number.
    ///
    /// # Errors
    /// [`CaseError::Type`].
    pub fn number(&self) -> Result<f64, CaseError> {
        self.value.as_f64().filter(|value| value.is_finite()).ok_or_else(|| self.wrong("a finite number"))
    }

    /// A number of things.
    ///
    /// # Errors
    /// [`CaseError::Type`].
    pub fn count(&self) -> Result<usize, CaseError> {
        let count = self.value.as_u64().and_then(|value| usize::try_from(value).ok());
        count.ok_or_else(|| self.wrong("a count"))
    }

    /// An array of finite numbers.
    ///
    /// # Errors
    /// [`CaseError::Type`].
    pub fn vector(&self) -> Result<Vec<f64>, CaseError> {
        self.items()?.iter().map(Node::number).collect()
    }

    /// An array of `n` finite numbers.
    ///
    /// # Errors
    /// [`CaseError::Type`], [`CaseError::Length`].
    pub fn vector_of(&self, n: usize) -> Result<Vec<f64>, CaseError> {
        let vector = self.vector()?;
        self.check_len(n, vector.len())?;
        Ok(vector)
    }

    /// An array of rows, all of the first one's length; at least one row and one column.
    ///
    /// # Errors
    /// [`CaseError::Type`], [`CaseError::Length`].
    pub fn matrix(&self) -> Result<Mat<f64>, CaseError> {
        let items = self.items()?;
        let rows = items.iter().map(Node::vector).collect::<Result<Vec<_>, _>>()?;
        let columns = rows.first().map_or(0, Vec::len);
        if columns == 0 {
            return Err(self.wrong("a matrix with rows and columns"));
        }
        for (item, row) in items.iter().zip(&rows) {
            item.check_len(columns, row.len())?;
        }
        Ok(Mat::from_fn(rows.len(), columns, |i, j| rows[i][j]))
    }

    /// A matrix of `n × m`.
    ///
    /// # Errors
    /// [`CaseError::Type`], [`CaseError::Length`].
    pub fn matrix_of(&self, n: usize, m: usize) -> Result<Mat<f64>, CaseError> {
        let matrix = self.matrix()?;
        self.check_len(n, matrix.nrows())?;
        self.check_len(m, matrix.ncols())?;
        Ok(matrix)
    }

    /// Checks a length.
    ///
    /// # Errors
    /// [`CaseError::Length`].
    pub fn check_len(&self, expected: usize, found: usize) -> Result<(), CaseError> {
        if expected == found { Ok(()) } else { Err(CaseError::Length { path: self.path.clone(), expected, found }) }
    }

    /// The error that this value makes no sense.
    #[must_use]
    pub fn refuse(&self, reason: impl Into<String>) -> CaseError {
        CaseError::Value { path: self.path.clone(), reason: reason.into() }
    }

    fn wrong(&self, expected: &'static str) -> CaseError {
        let path = if self.path.is_empty() { "the file".to_owned() } else { self.path.clone() };
        CaseError::Type { path, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_where() {
        let value = serde_json::from_str(r#"{"a": {"b": [1, "NaN"]}, "m": [[1, 2], [3]], "n": null}"#).unwrap();
        let root = Node::root(&value);
        let message = root.get("a").unwrap().get("b").unwrap().vector().unwrap_err().to_string();
        assert_eq!(message, "a.b[1] is not a finite number");
        assert_eq!(root.get("m").unwrap().matrix().unwrap_err().to_string(), "m[1] has length 1, expected 2");
        assert_eq!(root.get("n").unwrap_err().to_string(), "n is missing");
        assert_eq!(root.vector().unwrap_err().to_string(), "the file is not an array");
    }
}
