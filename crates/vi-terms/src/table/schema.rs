//! The columns of a file, and the numbers of a record.

mod date;
mod encoded;
mod features;
mod groups;
mod infer;
mod kind;
mod numeral;
mod shape;
mod sources;
mod terms;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

pub(crate) use self::encoded::Encoded;
pub(crate) use self::features::{Features, Map};
pub(crate) use self::infer::{
    InferSettings, MANY, Told, distinct, distinct_words, infer, is_called_identifier, is_missing, kind_of, names_rows,
    nearly_all,
};
pub(crate) use self::kind::Kind;
use self::kind::Wrong;
pub(crate) use self::numeral::{Point, exchanged, numeral};
pub(crate) use self::shape::{Asked, Beside};
use self::terms::{Coding, Part};
use crate::Terms;
use crate::TermsError;
use crate::formula::Function;
use crate::table::source::Columns;

/// The inputs of a model, in the order of the file that it was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    pub(crate) columns: Vec<Column>,
    /// Columns that are not used, and why.
    pub(crate) ignored: Vec<(String, String)>,
    /// Columns among these that had one text in the first rows, and that text: later rows may have another.
    pub(crate) constant: Vec<(String, String)>,
    /// The products of columns that are inputs; none means each column by itself.
    terms: Vec<Vec<Part>>,
    /// Whether the model has an intercept.
    pub(crate) intercept: bool,
    /// Features that stand after the inputs.
    pub(crate) map: Option<Map>,
    /// Curves, products and kernels, which stand there instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shape: Option<Terms>,
}

/// A column of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// The function of its number that is the input.
    pub(crate) function: Option<Function>,
    pub(crate) kind: Kind,
}

impl Column {
    /// Whether its texts are levels.
    pub(crate) fn is_levels(&self) -> bool {
        matches!(self.kind, Kind::Levels { .. })
    }
}

impl Schema {
    /// Numbers of these names and means, each by itself.
    pub fn of_numbers(columns: impl Iterator<Item = (String, f64)>, intercept: bool) -> Self {
        let column = |(name, mean)| {
            let kind = Kind::Number { mean, tells_missing: false, gaps: Vec::new(), point: Point::Dot };
            Column { name, function: None, kind }
        };
        let columns = columns.map(column).collect();
        Self {
            columns,
            ignored: Vec::new(),
            constant: Vec::new(),
            terms: Vec::new(),
            intercept,
            map: None,
            shape: None,
        }
    }

    /// The names of the inputs where each is a column of numbers as it stands in the file.
    ///
    /// # Errors
    /// The first column of another type, and its type.
    pub fn plain_numbers(&self) -> Result<Vec<String>, (String, &'static str)> {
        let mut names = Vec::new();
        for term in self.all_terms() {
            let column = &self.columns[term[0].column];
            let fail = |why| Err((column.name.clone(), why));
            match (&column.kind, term.len(), column.function) {
                (Kind::Number { tells_missing: false, .. }, 1, None) => names.push(column.name.clone()),
                (Kind::Number { .. }, 1, None) => return fail("has gaps, with an input that marks them"),
                (Kind::Number { .. }, 1, Some(_)) => return fail("is a function of a column"),
                (_, 1, _) => return fail("is not a number"),
                _ => return fail("is a product of columns"),
            }
        }
        match (&self.map, &self.shape) {
            (None, None) => Ok(names),
            (_, Some(_)) => Err((names.join(", "), "have curves or products, which `rvi fit --shape line` has not")),
            _ => Err((names.join(", "), "have further features")),
        }
    }

    /// The products of columns that are inputs.
    fn all_terms(&self) -> Vec<Vec<Part>> {
        if !self.terms.is_empty() {
            return self.terms.clone();
        }
        (0..self.columns.len()).map(|column| vec![Part { column, coding: Coding::Alone }]).collect()
    }

    /// How many inputs a record becomes, features among them.
    pub fn width(&self) -> usize {
        let own = self.own_width();
        self.shape.as_ref().map_or_else(|| own.saturating_add(self.map.as_ref().map_or(0, Map::width)), Terms::width)
    }

    /// How many come from the columns themselves.
    pub(crate) fn own_width(&self) -> usize {
        if self.terms.is_empty() {
            return self.columns.iter().map(|column| column.width(Coding::Alone)).fold(0, usize::saturating_add);
        }
        self.terms.iter().map(|term| self.width_of(term)).fold(0, usize::saturating_add)
    }

    /// How many come from a product of columns.
    fn width_of(&self, term: &[Part]) -> usize {
        term.iter().map(|part| self.columns[part.column].width(part.coding)).fold(1, usize::saturating_mul)
    }

    /// The names of the inputs, all distinct.
    pub fn names(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let mut names = Vec::with_capacity(self.width());
        let mut add = |mut name: String, names: &mut Vec<String>| {
            while !seen.insert(name.clone()) {
                name.push('\'');
            }
            names.push(name);
        };
        for term in self.all_terms() {
            let mut joined = vec![String::new()];
            for (k, part) in term.iter().enumerate() {
                let own = self.columns[part.column].names(part.coding);
                let mark = if k > 0 { ":" } else { "" };
                joined =
                    joined.iter().flat_map(|name| own.iter().map(move |own| format!("{name}{mark}{own}"))).collect();
            }
            for name in joined {
                add(name, &mut names);
            }
        }
        let mut features = self.map.as_ref().map_or_else(Vec::new, |map| map.names(&names));
        features.extend(self.shape.iter().flat_map(|terms| terms.names().split_off(names.len())));
        for name in features {
            add(name, &mut names);
        }
        names
    }

    /// The products of several columns, for people.
    pub(crate) fn products(&self) -> Vec<String> {
        let label =
            |term: &Vec<Part>| term.iter().map(|part| self.columns[part.column].label()).collect::<Vec<_>>().join(":");
        self.terms.iter().filter(|term| term.len() > 1).map(label).collect()
    }

    /// The places of inputs that are a number by itself.
    pub(crate) fn numbers(&self) -> Vec<usize> {
        let (mut first, mut found) = (0, Vec::new());
        for term in self.all_terms() {
            if let [part] = term.as_slice()
                && matches!(self.columns[part.column].kind, Kind::Number { .. })
            {
                found.push(first);
            }
            first += self.width_of(&term);
        }
        found
    }

    /// The place of each column in `columns`, which may have others, in any order.
    ///
    /// # Errors
    /// A column that is not there.
    pub(crate) fn places(&self, columns: &Columns) -> Result<Vec<usize>, TermsError> {
        columns.places(self.columns.iter().map(|column| &column.name))
    }

    /// Whether a model could have such a schema: what is there has a width.
    pub(crate) fn check(&self) -> Result<(), TermsError> {
        let known = |part: &Part| part.column < self.columns.len();
        let whole = self.columns.iter().all(|column| column.kind.is_whole())
            && self.terms.iter().all(|term| !term.is_empty() && term.iter().all(known))
            && self.map.as_ref().is_none_or(|map| map.is_of(self.own_width()))
            && self.shape.as_ref().is_none_or(|terms| terms.inputs().len() == self.own_width());
        if whole {
            Ok(())
        } else {
            let what = "the columns of the model are damaged".to_owned();
            Err(TermsError::Document { what })
        }
    }
}
