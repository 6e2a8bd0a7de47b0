//! Predictions and explanations of all rows of a table, as values to be written.

use serde::Serialize;
use serde_json::Value;
use vi_models::online::Prediction;
use vi_models::{Marginal, ModelError};

use crate::TermsError;
use crate::table::document::Document;
use crate::table::explain::Explainer;
use crate::table::predict::{Answers, Intervals};
use crate::table::schema::{Column, Kind, Point, exchanged};
use crate::table::source::{Record, Source};
use crate::table::text::number;

/// Notable things among predictions, by their number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Notes {
    /// Entries without an input of the model.
    pub unknown: u64,
    /// Texts that were in none of the first rows of the model.
    pub new: u64,
    /// Probabilities outside their intervals.
    pub skewed: u64,
}

impl Notes {
    /// A line for each note.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let Self { unknown, new, skewed } = self;
        let all = [
            (unknown, format!("{unknown} entries of inputs outside the model were left out")),
            (new, format!("{new} texts unknown to the model were taken as `(other)`, of groups as new ones")),
            (
                skewed,
                format!(
                    "in {skewed} rows the probability, a posterior mean, lies outside its interval, because the posterior is skewed"
                ),
            ),
        ];
        all.into_iter().filter(|(count, _)| **count > 0).map(|(_, line)| line).collect()
    }
}

/// A part of the prediction of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// A column, columns with ` × ` between them, or in brackets what else it is.
    pub name: String,
    /// The mean of what it adds to the linear predictor.
    pub mean: f64,
    /// The standard deviation.
    pub sd: f64,
    /// The lower end of the interval.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

impl Part {
    fn new(name: &str, belief: &Marginal, level: f64) -> Result<Self, ModelError> {
        let interval = belief.interval(level)?;
        let (mean, sd) = (belief.mean(), belief.standard_deviation());
        Ok(Self { name: name.to_owned(), mean, sd, lower: interval.lower, upper: interval.upper })
    }
}

/// A column that a row to be predicted has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Asked {
    /// The name.
    pub name: String,
    /// The value that stands for an empty field, where there is one: the mean of a number, the most common text.
    pub usual: String,
    /// The texts that the first rows had.
    pub texts: Vec<String>,
    /// Whether it is a number.
    pub is_number: bool,
}

impl Answers<'_> {
    /// Predicts the rows of `source`; `each` gets every record and the values of the columns `row` and [`field_names`](Document::field_names).
    ///
    /// # Errors
    /// A row that cannot be read or predicted, unless such are skipped; the errors of `each`.
    pub fn predict_rows<S: Source>(
        mut self,
        source: &mut S,
        (level, intervals): (f64, Intervals),
        mut each: impl FnMut(&Record, Vec<Value>) -> Result<(), S::Error>,
    ) -> Result<Notes, S::Error> {
        let mut record = Record::default();
        let mut skewed = 0;
        while source.next(&mut record)? {
            let row = source.row();
            let predicted = match self.predict(&record, row) {
                Ok(predicted) => predicted,
                Err(error) => {
                    source.forgive(error)?;
                    continue;
                }
            };
            let fields =
                self.document.fields(&predicted, (level, intervals), row).map_err(|error| source.refused(error))?;
            let is_own = intervals == Intervals::Own;
            skewed += u64::from(matches!(predicted, Prediction::Two(_)) && is_own && is_outside(&fields));
            each(&record, [Value::from(row)].into_iter().chain(fields).collect())?;
        }
        Ok(Notes { unknown: self.unknown(), new: self.new_texts(), skewed })
    }
}

impl Document {
    /// The columns that a row to be predicted has, none for a sparse file, whose inputs are entries.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        let of_text =
            |name: &str| Asked { name: name.to_owned(), usual: String::new(), texts: Vec::new(), is_number: false };
        let means: Vec<(&str, Vec<String>)> = self.means.names().collect();
        let mut all: Vec<Asked> = means.iter().map(|(column, _)| of_text(column)).collect();
        let is_mean = |column: &&Column| means.iter().any(|(_, names)| names.contains(&column.name));
        for column in self.schema.columns.iter().filter(|column| !is_mean(column)) {
            let mut asked = of_text(&column.name);
            match &column.kind {
                Kind::Entries { .. } => return Vec::new(),
                Kind::Number { mean, point, .. } => {
                    asked.is_number = *point == Point::Dot;
                    let usual = if column.function.is_none() { number(*mean) } else { String::new() };
                    asked.usual = if asked.is_number { usual } else { exchanged(&usual) };
                }
                Kind::Levels { base, levels, .. } => {
                    asked.usual.clone_from(base);
                    asked.texts = levels.iter().chain([base]).filter(|text| !text.is_empty()).cloned().collect();
                    asked.texts.sort();
                }
                Kind::Hashed { .. } | Kind::Date { .. } | Kind::Clock { .. } => {}
            }
            // A number whose values name groups is there twice.
            match all.iter_mut().find(|other| other.name == asked.name) {
                Some(other) if asked.is_number || other.texts.is_empty() => *other = asked,
                Some(_) => {}
                None => all.push(asked),
            }
        }
        all
    }
}

impl Explainer<'_> {
    /// Explains the rows of `source`; `each` gets the number of every row, its record and its [parts](Self::largest).
    ///
    /// # Errors
    /// A row that cannot be read or explained, unless such are skipped; the errors of `each`.
    pub fn explain_rows<S: Source>(
        mut self,
        source: &mut S,
        (level, top): (f64, usize),
        mut each: impl FnMut(u64, &Record, Vec<Part>) -> Result<(), S::Error>,
    ) -> Result<(), S::Error> {
        let mut record = Record::default();
        while source.next(&mut record)? {
            let row = source.row();
            match self.largest(&record, row, (level, top)) {
                Ok(parts) => each(row, &record, parts)?,
                Err(error) => source.forgive(error)?,
            }
        }
        Ok(())
    }

    /// The average row, the `top` largest parts of a row, all others together, and the row itself, each with its interval of probability `level`.
    ///
    /// # Errors
    /// As [`explain`](Self::explain); [`TermsError::Row`] for an interval beyond the range of floats.
    pub fn largest(&mut self, record: &Record, row: u64, (level, top): (f64, usize)) -> Result<Vec<Part>, TermsError> {
        let mut found = self.explain(record, row)?;
        found.parts.sort_by(|(_, a), (_, b)| b.mean().abs().total_cmp(&a.mean().abs()));
        let others: Vec<usize> = found.parts.iter().skip(top).map(|(part, _)| *part).collect();
        let all = (|| {
            let mut all = vec![Part::new("(average row)", &found.base, level)?];
            for (part, belief) in found.parts.iter().take(top) {
                all.push(Part::new(&self.names()[*part], belief, level)?);
            }
            if !others.is_empty() {
                all.push(Part::new("(others)", &self.together(&others)?, level)?);
            }
            all.push(Part::new("(this row)", &found.predictor, level)?);
            Ok(all)
        })();
        all.map_err(|source| TermsError::Row { row, source })
    }
}

/// The line on rows of a file that were left out, if there were any.
#[must_use]
pub fn left_out(rows: u64, path: &std::path::Path) -> Option<String> {
    (rows > 0).then(|| format!("{rows} rows of {} were left out", path.display()))
}

/// Whether the last three fields are a mean outside its interval, and the ends of that interval.
fn is_outside(fields: &[Value]) -> bool {
    let [.., mean, lower, upper] = fields else { return false };
    let (mean, lower, upper) = (mean.as_f64(), lower.as_f64(), upper.as_f64());
    mean < lower || mean > upper
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table::{Columns, Input, Options, Rows, fit};

    #[test]
    fn a_mean_outside_its_interval_is_seen() {
        let fields = |mean: f64| [json!(1), json!("yes"), json!(mean), json!(0.991), json!(0.999)];
        assert_eq!([0.99, 0.995, 0.9995].map(|mean| is_outside(&fields(mean))), [true, false, true]);
        assert!(!is_outside(&[Value::from(1)]));
        assert_eq!(Notes::default().lines(), Vec::<String>::new());
    }

    #[test]
    fn rows_are_predicted_explained_and_asked_for() {
        let columns = Columns::new(["size", "town", "price"].map(str::to_owned), None);
        let rows: Vec<[String; 3]> = (1..80)
            .map(|k| {
                let town = ["Ulm", "Bonn"][usize::from(k % 3 == 0)];
                [format!("{}.5", k % 40), town.to_owned(), format!("{}", 3 * (k % 40) + k % 3)]
            })
            .collect();
        let table = || Ok(Rows::new(&columns, rows.iter().map(|row| row.iter().collect())));
        let options = Options { target: Some("price".to_owned()), ..Options::default() };
        let model = fit(&options, &Input::in_memory("prices", false), false, table).unwrap();

        let asked = model.asked();
        assert_eq!((asked[0].name.as_str(), asked[0].usual.as_str(), asked[0].is_number), ("size", "20.25", true));
        assert_eq!(
            (asked[1].usual.as_str(), asked[1].texts.as_slice()),
            ("Ulm", &["Bonn".to_owned(), "Ulm".to_owned()][..])
        );

        let mut found = Vec::new();
        let each = |record: &Record, fields: Vec<Value>| {
            found.push((record.field(0).to_owned(), fields));
            Ok(())
        };
        let notes =
            model.answers(&columns).unwrap().predict_rows(&mut table().unwrap(), (0.9, Intervals::Own), each).unwrap();
        assert_eq!((found.len(), found[6].0.as_str(), notes.lines().len()), (79, "7.5", 0));
        assert_eq!(found[6].1.len(), 1 + model.field_names(Intervals::Own).len());

        let mut parts = Vec::new();
        let each = |row: u64, _: &Record, own: Vec<Part>| {
            parts.push((row, own));
            Ok(())
        };
        model.explainer(&columns).unwrap().explain_rows(&mut table().unwrap(), (0.9, 1), each).unwrap();
        let (row, own) = &parts[6];
        let sum: f64 = own[..own.len() - 1].iter().map(|part| part.mean).sum();
        assert_eq!((*row, own[0].name.as_str(), own[1].name.as_str()), (7, "(average row)", "size"));
        assert!((sum - own.last().unwrap().mean).abs() < 1e-9, "{own:?}");
    }
}
