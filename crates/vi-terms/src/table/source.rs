//! Rows with named columns, wherever they come from.

use std::collections::HashMap;

pub(crate) use vi_data::records::{Entries, LABEL, Record};
use vi_models::ModelError;

use crate::TermsError;

/// The row of an error that nobody is shown.
pub(crate) const NOWHERE: u64 = 0;

/// The names of the columns of a table.
///
/// ```
/// use vi_terms::table::Columns;
///
/// let columns = Columns::new(["age".to_owned(), "dose".to_owned()], None);
/// assert_eq!(columns.position("dose")?, 1);
/// let error = columns.position("does").unwrap_err();
/// assert_eq!(error.to_string(), "there is no column `does`; did you mean `dose`?");
/// # Ok::<(), vi_terms::TermsError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Columns {
    names: Vec<String>,
    entries: Option<Entries>,
}

impl Columns {
    /// The columns of these names, one of which may hold all `entries` of a sparse file.
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = String>, entries: Option<Entries>) -> Self {
        Self { names: names.into_iter().collect(), entries }
    }

    /// The names in their order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The column that holds all inputs of a sparse file.
    pub(crate) fn entries(&self) -> Option<Entries> {
        self.entries
    }

    /// The place of the column `name`.
    ///
    /// # Errors
    /// [`TermsError::Column`] if no column has this name.
    pub fn position(&self, name: &str) -> Result<usize, TermsError> {
        self.names
            .iter()
            .position(|column| column == name)
            .ok_or_else(|| TermsError::Column { wanted: name.to_owned(), columns: self.names.clone() })
    }

    /// The places of the columns of these names.
    ///
    /// # Errors
    /// A column that is not there.
    pub(crate) fn places<'n>(&self, names: impl Iterator<Item = &'n String> + Clone) -> Result<Vec<usize>, TermsError> {
        let found = self.positions(names.clone());
        // Who is not there is named.
        names.zip(found).map(|(name, place)| place.map_or_else(|| self.position(name), Ok)).collect()
    }

    /// The same, none for a name that no column has.
    pub(crate) fn positions<'n>(&self, names: impl Iterator<Item = &'n String>) -> Vec<Option<usize>> {
        let places: HashMap<&String, usize> = self.names.iter().enumerate().map(|(k, name)| (name, k)).collect();
        names.map(|name| places.get(name).copied()).collect()
    }
}

/// Rows of a table, read one at a time.
pub trait Source {
    /// The error of reading: that of a file, for example, which adds its name to an error of this crate.
    type Error: From<ModelError>;

    /// The columns of every row.
    fn columns(&self) -> &Columns;

    /// The number of the row that was read last, from 1.
    fn row(&self) -> u64;

    /// Reads the next row into `record`; returns `false` at the end.
    ///
    /// # Errors
    /// A row that cannot be read.
    fn next(&mut self, record: &mut Record) -> Result<bool, Self::Error>;

    /// An error of this crate as one of this source.
    fn refused(&self, error: TermsError) -> Self::Error;

    /// The error of this crate beneath an error of this source, if there is one.
    fn cause(error: &Self::Error) -> Option<&TermsError>;

    /// Skips a row with this error, or returns the error, which is the default.
    ///
    /// # Errors
    /// The error of a row that is not to be skipped.
    fn forgive(&mut self, error: TermsError) -> Result<(), Self::Error> {
        Err(self.refused(error))
    }
}

/// Rows from memory.
#[derive(Debug)]
pub struct Rows<'a, I> {
    columns: &'a Columns,
    next: I,
    read: u64,
}

impl<'a, I: Iterator<Item = Record>> Rows<'a, I> {
    /// Rows of these columns.
    pub fn new(columns: &'a Columns, rows: impl IntoIterator<IntoIter = I>) -> Self {
        Self { columns, next: rows.into_iter(), read: 0 }
    }
}

impl<I: Iterator<Item = Record>> Source for Rows<'_, I> {
    type Error = TermsError;

    fn columns(&self) -> &Columns {
        self.columns
    }

    fn row(&self) -> u64 {
        self.read
    }

    fn next(&mut self, record: &mut Record) -> Result<bool, TermsError> {
        let Some(next) = self.next.next() else { return Ok(false) };
        (*record, self.read) = (next, self.read + 1);
        Ok(true)
    }

    fn refused(&self, error: TermsError) -> TermsError {
        error
    }

    fn cause(error: &TermsError) -> Option<&TermsError> {
        Some(error)
    }
}
