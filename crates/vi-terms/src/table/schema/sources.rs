//! Where the inputs come from, and their means.

use super::terms::Part;
use super::{Kind, Schema};
use crate::TermsError;

impl Schema {
    /// The names of the columns that each input of the model is made of, in the order of the file, each once. The entries of a sparse file are
    /// columns themselves.
    pub(crate) fn sources(&self) -> Vec<Vec<String>> {
        let of_term = |term: Vec<Part>| -> Vec<Vec<(usize, String)>> {
            let of = |part: &Part| (part.column, self.columns[part.column].name.clone());
            match term.as_slice() {
                [part] if matches!(self.columns[part.column].kind, Kind::Entries { .. }) => {
                    let names = self.columns[part.column].names(part.coding);
                    names.into_iter().map(|name| vec![(part.column, name)]).collect()
                }
                parts => vec![parts.iter().map(of).collect(); self.width_of(parts)],
            }
        };
        let own: Vec<Vec<(usize, String)>> = self.all_terms().into_iter().flat_map(of_term).collect();
        let made = match (&self.shape, &self.map) {
            (Some(shape), _) => shape.sources(),
            (None, Some(map)) => map.sources(),
            (None, None) => Vec::new(),
        };
        let joined = |inputs: Vec<usize>| inputs.into_iter().flat_map(|input| own[input].clone()).collect();
        let made: Vec<Vec<(usize, String)>> = made.into_iter().map(joined).collect();
        let names = |mut columns: Vec<(usize, String)>| {
            columns.sort_unstable();
            let mut names: Vec<String> = Vec::with_capacity(columns.len());
            for (_, name) in columns {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            names
        };
        own.iter().cloned().chain(made).map(names).collect()
    }

    /// The mean of each input: over a sample of the first rows where the model has terms; else that of each number, and 0 of all others.
    ///
    /// # Errors
    /// Terms of other inputs.
    pub(crate) fn means(&self) -> Result<Vec<f64>, TermsError> {
        if let Some(shape) = &self.shape {
            return shape.means();
        }
        let mut means = Vec::with_capacity(self.width());
        for term in self.all_terms() {
            let first = means.len();
            means.resize(first + self.width_of(&term), 0.0);
            if let [part] = term.as_slice()
                && let Kind::Number { mean, .. } = self.columns[part.column].kind
            {
                means[first] = mean;
            }
        }
        means.resize(self.width(), 0.0);
        Ok(means)
    }
}
