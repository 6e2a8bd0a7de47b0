//! Facts that a look at a table, or a failed pass, has shown, and what the next one makes of them.

use vi_core::Error::{Label, NegativeVariance, NotPositiveDefinite, Unresolved};
use vi_models::online::BeliefKind;
use vi_models::{ModelError, Transform};

use crate::TermsError;
use crate::formula::Formula;
use crate::table::begin::{MOST_KEPT, Numbered, target_name};
use crate::table::options::{Family, Options};
use crate::table::ranges::{is_chosen, takes_ranges};
use crate::table::schema::is_missing;
use crate::table::source::{Record, Source};
use crate::table::target::{COUNT, RANGES, SHOWN_CLASS, values_of};

/// Bytes of a table beyond which nothing more of it is looked at.
const MOST_READ: usize = 1 << 30;

/// Facts that a look at a table has shown, or a failed pass, by which another succeeds.
#[derive(Debug, Default)]
pub struct Known {
    /// The belief that the rows need.
    pub(crate) belief: Option<BeliefKind>,
    /// Values of the target, which tell of it beside those of the first rows.
    pub(crate) values: Vec<String>,
    /// Rows from all over the table with their numbers; none where its first rows are all of it, or nobody has looked.
    pub(crate) sample: Numbered,
    /// Rows of the table, if they were counted.
    pub(crate) rows: Option<usize>,
    /// Values of the target that a transform has not.
    pub(crate) refused: Vec<f64>,
    /// Whether the target has values that are no counts.
    pub(crate) uncounted: bool,
    /// Whether of some values only a range is known.
    pub(crate) ranged: bool,
}

impl Known {
    /// Looks at as many rows as [`Options::sniff`] says, evenly from all over a table (its first gigabyte), so that the next pass knows columns, levels and
    /// ranges as they are everywhere: the first rows of a table in the order of time are all of one month.
    ///
    /// # Errors
    /// A row that cannot be read.
    pub fn look<S: Source>(&mut self, options: &Options, source: &mut S) -> Result<(), S::Error> {
        let formula = options.formula.as_ref().and_then(|text| Formula::parse(text).ok());
        // All rows are looked at for the levels of groups.
        if !self.sample.is_empty() || formula.is_some_and(|formula| formula.has_groups()) {
            return Ok(());
        }
        let most = options.sniff as usize;
        let (mut kept, mut step, mut size, mut of_kept) = (Numbered::new(), 1, 0, 0);
        let (mut record, mut read) = (Record::default(), 0_usize);
        while size < MOST_READ && source.next(&mut record)? {
            size += record.size();
            if read.is_multiple_of(step) {
                of_kept += record.size();
                kept.push((source.row(), record.clone()));
            }
            read += 1;
            if kept.len() > most.saturating_mul(2) || of_kept > MOST_KEPT && kept.len() > 2 {
                let mut place = 0;
                kept.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                of_kept = kept.iter().map(|(_, record)| record.size()).sum();
                step *= 2;
            }
        }
        self.rows = Some(read).filter(|_| size < MOST_READ);
        if read > most {
            let (of, count) = (kept.len(), kept.len().min(most));
            let mut places = (0..count).map(|k| k * of / count).peekable();
            let mut place = 0..;
            kept.retain(|_| places.next_if_eq(&place.next().unwrap_or(0)).is_some());
            self.sample = kept;
        }
        Ok(())
    }

    /// The change by which another pass over the table succeeds after this error; none where there is no such change. `open` reads the table again.
    ///
    /// # Errors
    /// A table that cannot be read again.
    pub fn after<S: Source>(
        &mut self,
        error: &TermsError,
        options: &Options,
        open: impl FnOnce() -> Result<S, S::Error>,
    ) -> Result<Option<&'static str>, S::Error> {
        if options.belief.is_none() && self.belief.is_none() && is_of_rounding(error) {
            self.belief = Some(BeliefKind::SquareRoot);
            return Ok(Some("with the square root of the precision"));
        }
        let is_chosen = is_chosen(options.family);
        if let Some(label) = without_transform(error).filter(|label| is_chosen && !self.refused.contains(label)) {
            self.refused.push(label);
            return Ok(Some(if label > 0.0 { "without log odds" } else { "without logarithms and log odds" }));
        }
        if options.family == Family::Auto
            && !self.uncounted
            && matches!(error, TermsError::Field { expected: COUNT, .. })
        {
            self.uncounted = true;
            return Ok(Some("without counts"));
        }
        if takes_ranges(options.family) && !self.ranged && matches!(error, TermsError::Field { hint: RANGES, .. }) {
            self.ranged = true;
            return Ok(Some("with ranges of numbers"));
        }
        if options.classes.is_empty() && self.values.is_empty() && is_of_classes(error) {
            let mut source = open()?;
            let formula = options.formula.as_ref().and_then(|text| Formula::parse(text).ok());
            let name = target_name(options, formula.as_ref(), source.columns());
            let name = name.map_err(|error| source.refused(error))?;
            self.values = values_of(&mut source, &name.0)?;
            return Ok(is_shown_by(error, &self.values).then_some("with the classes of all its rows"));
        }
        Ok(None)
    }
}

/// Whether rounding has left a covariance without digits, which the square root of the precision keeps.
fn is_of_rounding(error: &TermsError) -> bool {
    let (TermsError::Row { source: ModelError::Core(error), .. } | TermsError::Model(ModelError::Core(error))) = error
    else {
        return false;
    };
    matches!(error, NegativeVariance { .. } | NotPositiveDefinite { .. } | Unresolved { .. })
}

/// A number whose logarithm or log odds were to be learned, and that has none.
fn without_transform(error: &TermsError) -> Option<f64> {
    match error {
        TermsError::Row { source: ModelError::Core(Label { label, .. }), .. } => Some(*label),
        _ => None,
    }
    .filter(|label| !Transform::Logit.supports(*label))
}

/// Whether the first rows have not shown a class of the target.
fn is_of_classes(error: &TermsError) -> bool {
    matches!(error, TermsError::OneClass { .. } | TermsError::Field { expected: SHOWN_CLASS, .. })
}

/// Whether values of the target show such a class.
fn is_shown_by(error: &TermsError, values: &[String]) -> bool {
    match error {
        TermsError::OneClass { class, .. } => values.iter().any(|value| value != class && !is_missing(value)),
        TermsError::Field { text, .. } => values.contains(text),
        _ => false,
    }
}
