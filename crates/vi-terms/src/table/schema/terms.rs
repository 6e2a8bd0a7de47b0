//! Terms of a formula: products of columns, each coded so that what the others say already is not said again.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::kind::Untold;
use super::{Column, Kind, Wrong};
use crate::formula::{Factor, Function, Product};

/// A column in a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    /// Which of the schema's columns.
    pub(crate) column: usize,
    pub(crate) coding: Coding,
}

/// How a column is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Coding {
    /// Alone: with an input that marks missing numbers.
    Alone,
    /// In a product whose other factors are also a term: relative to the base.
    Relative,
    /// In a product whose other factors are not a term: every level, with the base.
    Full,
}

/// The parts of terms, of which factor `k` is column `k` (Chambers and Hastie 1992, §2.4): a factor is coded relative to its base where the term
/// without it is there too.
pub(super) fn parts(terms: &[Product], intercept: bool, column_of: impl Fn(&Factor) -> usize) -> Vec<Vec<Part>> {
    let known: HashSet<&Product> = terms.iter().collect();
    let has = |term: &Product| if term.is_empty() { intercept } else { known.contains(term) };
    let coding = |term: &Product, factor: &Factor| {
        let mut rest = term.clone();
        rest.remove(factor);
        match (has(&rest), term.len()) {
            (true, 1) => Coding::Alone,
            (true, _) => Coding::Relative,
            (false, _) => Coding::Full,
        }
    };
    let part = |term: &Product, factor| Part { column: column_of(factor), coding: coding(term, factor) };
    terms.iter().map(|term| term.iter().map(|factor| part(term, factor)).collect()).collect()
}

impl Column {
    /// The name: `log(a)` for the logarithm of column `a`.
    pub(crate) fn label(&self) -> String {
        self.function.map_or_else(|| self.name.clone(), |function| function.label(&self.name))
    }

    /// How many inputs it becomes.
    pub(super) fn width(&self, coding: Coding) -> usize {
        match (&self.kind, coding) {
            (Kind::Number { .. }, Coding::Relative | Coding::Full) => 1,
            (Kind::Levels { .. }, Coding::Full) => self.kind.width() + 1,
            (kind, _) => kind.width(),
        }
    }

    /// Their names.
    pub(super) fn names(&self, coding: Coding) -> Vec<String> {
        let label = self.label();
        let mut names = self.kind.names(&label);
        if let (Kind::Levels { base, .. }, Coding::Full) = (&self.kind, coding) {
            let base = if base.is_empty() { format!("{label} is missing") } else { format!("{label}={base}") };
            names.insert(0, base);
        }
        names.truncate(self.width(coding));
        names
    }

    /// Its inputs that are not 0, by position; what they do not tell.
    ///
    /// # Errors
    /// The expected form of the field.
    pub(super) fn write(&self, text: &str, coding: Coding, push: &mut impl FnMut(usize, f64)) -> Result<Untold, Wrong> {
        let function = self.function.filter(|function| *function != Function::Text);
        match (&self.kind, coding) {
            (Kind::Number { .. }, Coding::Relative | Coding::Full) => {
                self.kind.write(text, function, &mut |at, value| {
                    if at == 0 {
                        push(0, value);
                    }
                })
            }
            (Kind::Levels { .. }, Coding::Full) => {
                let mut based = true;
                let untold = self.kind.write(text, None, &mut |at, value| {
                    based = false;
                    push(at + 1, value);
                })?;
                if based {
                    push(0, 1.0);
                }
                Ok(untold)
            }
            (kind, _) => kind.write(text, function, push),
        }
    }
}
