//! Robust standard errors of a model's coefficients, by the rows of a table.

use std::collections::HashMap;

use serde::Serialize;
use vi_models::online::Sandwich;

use crate::TermsError;
use crate::table::document::Document;
use crate::table::learn::reading;
use crate::table::schema::is_missing;
use crate::table::source::{Record, Source};
use crate::table::text::{add, grouped, many, number, shortened, wrapped};
use crate::told::Origin;

/// The ratio of two standard errors beyond which they are said to differ.
const DIFFER: f64 = 4.0 / 3.0;

/// A coefficient with both of its standard errors.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Errors {
    /// The name of the input.
    pub name: String,
    /// The posterior mean.
    pub mean: f64,
    /// The posterior standard deviation.
    pub sd: f64,
    /// The robust standard error.
    pub robust: f64,
    /// What that would be if the noise were the model's.
    pub expected: f64,
}

impl Errors {
    fn differ(&self) -> bool {
        self.robust > DIFFER * self.expected || self.expected > DIFFER * self.robust
    }
}

/// The coefficients of a model with robust standard errors: see [`Sandwich`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RobustErrors {
    /// The rows that they are made of.
    pub rows: u64,
    /// The rows that the model has learned.
    pub learned: u64,
    /// The number of clusters whose rows may depend on each other, if there are any.
    pub clusters: Option<u64>,
    /// The coefficients, the intercept first.
    pub coefficients: Vec<Errors>,
}

impl Document {
    /// Robust standard errors of the coefficients by the rows of `source`, which are those that the model has learned; those with one text in the column
    /// `clusters` may depend on each other. Effects of several weights, which curves and correlated effects of levels have, are left out.
    ///
    /// # Errors
    /// A row that cannot be read, unless such are skipped; [`ModelError::Unsupported`](vi_models::ModelError::Unsupported) in a model without robust errors;
    /// [`TermsError::Nothing`] without a row that has a target; fewer than two clusters.
    pub fn robust_errors<S: Source>(&self, source: &mut S, clusters: Option<&str>) -> Result<RobustErrors, S::Error> {
        let (mut reader, target) = reading(&self.schema, self, source)?;
        let place = clusters.map(|column| source.columns().position(column)).transpose();
        let place = place.map_err(|error| source.refused(error))?;
        let mut sums = Sandwich::new(&self.model).map_err(|error| source.refused(error.into()))?;
        let (mut rows, mut known, mut record) = (0, HashMap::<String, u64>::new(), Record::default());
        while source.next(&mut record)? {
            let row = source.row();
            let added = (|| {
                let Some(label) = self.target.label(&record, target, row)? else { return Ok(()) };
                let at = reader.observed(self.groups.as_ref(), &record, label);
                let inputs = reader.row(&self.means, &record, row)?;
                let cluster = place.map(|place| {
                    let (next, field) = (known.len() as u64, record.field(place));
                    // A row without a cluster is one by itself.
                    let name = if is_missing(field) { format!("\0{row}") } else { field.to_owned() };
                    *known.entry(name).or_insert(next)
                });
                sums.add(inputs, at, cluster).map_err(|source| reader.refused(row, source))?;
                rows += 1;
                Ok(())
            })();
            if let Err(error) = added {
                source.forgive(error)?;
            }
        }
        if rows == 0 {
            return Err(source.refused(TermsError::Nothing));
        }
        let clusters = clusters.map(|column| (column, known.len() as u64));
        if let Some((column, 0 | 1)) = clusters {
            let what = "has one value in all rows; robust errors need many clusters".to_owned();
            return Err(source.refused(TermsError::Option { option: "clusters", value: column.to_owned(), what }));
        }
        let coefficients =
            self.with_errors(&sums.deviations(), &sums.expected()).map_err(|error| source.refused(error))?;
        let learned = self.model.observations();
        Ok(RobustErrors { rows, learned, clusters: clusters.map(|(_, clusters)| clusters), coefficients })
    }

    fn with_errors(&self, robust: &[f64], expected: &[f64]) -> Result<Vec<Errors>, TermsError> {
        let told = self.schema.shape.as_ref().map_or_else(Vec::new, |terms| terms.told(Origin::Zero));
        let all: Vec<_> = self.model.coefficients()?.into_iter().flatten().collect();
        let first = all.len() - self.model.inputs();
        let unit = |at: usize| match at.checked_sub(first).and_then(|input| told.get(input)).map(Vec::as_slice) {
            Some([_, _, ..]) => None,
            Some([(_, unit)]) => Some(*unit),
            _ => Some(1.0),
        };
        let own = all.into_iter().zip(robust.iter().zip(expected)).enumerate().filter_map(
            |(at, (own, (robust, expected)))| {
                let unit = unit(at)?;
                let (mean, sd) = (unit * own.belief.mean(), unit * own.belief.standard_deviation());
                Some(Errors { name: own.name, mean, sd, robust: unit * robust, expected: unit * expected })
            },
        );
        Ok(own.collect())
    }
}

impl RobustErrors {
    /// A table for people, of at most so many coefficients, the surest first.
    #[must_use]
    pub fn describe(&self, most: usize) -> String {
        let sure = |own: &Errors| (own.mean / own.robust).abs();
        let mut all: Vec<&Errors> = self.coefficients.iter().collect();
        all.sort_by(|a, b| sure(b).total_cmp(&sure(a)));
        let of = match self.clusters {
            None => "standard errors that hold whatever the noise (HC3)".to_owned(),
            Some(clusters) => {
                format!("standard errors for rows that depend on each other in {clusters} clusters (CR1)")
            }
        };
        let others = (self.rows != self.learned)
            .then(|| format!("but the model has learned {}: give these", many(self.learned, "row")));
        let by = [of, format!("by {}", many(self.rows, "row"))];
        let mut text = wrapped("robust        ", &by.into_iter().chain(others).collect::<Vec<_>>());
        add(&mut text, &format!("  {:<38} {:>10} {:>10} {:>10}", "", "mean", "sd", "robust"));
        for own in all.iter().take(most) {
            let [mean, sd, robust] = [own.mean, own.sd, own.robust].map(number);
            let mark = if own.differ() { " *" } else { "" };
            add(&mut text, &format!("  {:<38} {mean:>10} {sd:>10} {robust:>10}{mark}", shortened(&own.name, 38)));
        }
        let (differ, count) = (all.iter().filter(|own| own.differ()).count() as u64, grouped(all.len() as u64));
        let told = match differ {
            0 => vec![format!("more than a third apart: none of {count}")],
            _ => vec![
                format!("more than a third apart (*): {} of {count}", grouped(differ)),
                "the intervals of these are wrong by as much".to_owned(),
            ],
        };
        text + &wrapped("  ", &told)
    }
}
