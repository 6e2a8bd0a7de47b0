//! Predictions as the columns of a table, and the scores of a model on rows whose targets are known.

use serde_json::Value;
use vi_models::ModelError;
use vi_models::online::{Observation, Points, Prediction};

use crate::TermsError;
use crate::table::document::Document;
use crate::table::learn::{Reader, foretold, reading, scored, taken};
use crate::table::scores::Scores;
use crate::table::source::{Columns, Record, Source};
use crate::table::target::TargetKind;
use crate::table::times::Places;

/// The intervals that stand beside a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Intervals {
    /// The model's own: right where its assumptions are. Those of a probability are for what would be stated if the weights were known.
    #[default]
    Own,
    /// Those that hold as often as they say whatever the data do, by the [record](vi_models::online::Certificate) of the model's predictions; of classes sets.
    Certified,
}

/// A model that answers for rows with the same columns.
pub struct Answers<'a> {
    pub(super) document: &'a Document,
    points: Points<'a>,
    reader: Reader<'a>,
    /// The places of the target, if it is there.
    target: Result<Places, TermsError>,
}

impl Answers<'_> {
    /// The prediction at a row, whose target need not be known; errors name `row`.
    ///
    /// # Errors
    /// [`TermsError::Field`] for a field of the wrong type, [`TermsError::Row`] for a row that the model refuses.
    pub fn predict(&mut self, record: &Record, row: u64) -> Result<Prediction, TermsError> {
        let at = self.reader.observed(self.document.groups.as_ref(), record, 0.0.into());
        let inputs = self.reader.row(&self.document.means, record, row)?;
        let own = self.document.model.predict(inputs, at);
        let predicted = own.and_then(|own| self.reader.spread(&self.document.means, record, own));
        predicted.map_err(|source| self.reader.refused(row, source))
    }

    /// The expected number or count at a row, the median time, or the position of its most probable class, without the uncertainty where this takes longer.
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn point(&mut self, record: &Record, row: u64) -> Result<f64, TermsError> {
        let at = self.reader.observed(self.document.groups.as_ref(), record, 0.0.into());
        let inputs = self.reader.row(&self.document.means, record, row)?;
        let found = match &self.document.target.kind {
            TargetKind::Classes(_) | TargetKind::Ordered(_) => {
                self.points.class(inputs, at).map(|class| class.map(|class| class as f64))
            }
            TargetKind::Survival(_) => self.document.model.predict(inputs, at).and_then(|seen| seen.quantile(0.5)),
            TargetKind::Number | TargetKind::Count => self.document.model.predict(inputs, at).map(|seen| seen.mean()),
        };
        Ok(found.map_err(|source| self.reader.refused(row, source))?.unwrap_or(f64::NAN))
    }

    /// The target of a row: a number, its range, or a time; of classes the position among them; none where it is missing.
    ///
    /// # Errors
    /// [`TermsError::Column`] without the column of the target; [`TermsError::Field`] for a value that is none of its labels.
    pub fn label(&self, record: &Record, row: u64) -> Result<Option<Observation>, TermsError> {
        self.document.target.label(record, self.target.clone()?, row)
    }

    /// The log density of the target of a row, or the log probability of a class, a count, a range or an event after a censored time; none where the target is
    /// missing.
    ///
    /// # Errors
    /// As [`predict`](Self::predict); [`TermsError::Column`] without the column of the target.
    pub fn log_density(&mut self, record: &Record, row: u64) -> Result<Option<f64>, TermsError> {
        let Some(label) = self.label(record, row)? else { return Ok(None) };
        let predicted = self.predict(record, row)?;
        predicted.log_density_of(label).map(Some).map_err(|source| TermsError::Row { row, source })
    }

    /// Texts so far that no first row of the model had.
    #[must_use]
    pub fn new_texts(&self) -> u64 {
        self.reader.new_texts()
    }

    /// Entries of a sparse file so far whose inputs the model does not have.
    #[must_use]
    pub fn unknown(&self) -> u64 {
        self.reader.unknown()
    }
}

impl Document {
    /// The model for rows with these columns.
    ///
    /// # Errors
    /// [`TermsError::Column`] for a column of the model that is not there.
    pub fn answers(&self, columns: &Columns) -> Result<Answers<'_>, TermsError> {
        let reader = Reader::of(&self.schema, self, columns)?;
        Ok(Answers { document: self, points: self.model.points(), reader, target: self.target.places(columns) })
    }

    /// The column names of [`fields`](Self::fields): `mean`, `sd`, `lower` and `upper`; of times `median`, `lower` and `upper`; of two classes `class`, `probability`, `lower` and `upper`; of more
    /// `class`, and `p(NAME)` for each. Certified classes have a `set` in place of `lower` and `upper`.
    #[must_use]
    pub fn field_names(&self, intervals: Intervals) -> Vec<String> {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let certified = intervals == Intervals::Certified;
        match &self.target.kind {
            TargetKind::Survival(_) => names(&["median", "lower", "upper"]),
            TargetKind::Number | TargetKind::Count => names(&["mean", "sd", "lower", "upper"]),
            TargetKind::Classes(classes) if classes.len() == 2 && certified => names(&["class", "probability", "set"]),
            TargetKind::Classes(classes) if classes.len() == 2 => names(&["class", "probability", "lower", "upper"]),
            TargetKind::Classes(classes) | TargetKind::Ordered(classes) => {
                let own = classes.iter().map(|class| format!("p({class})"));
                names(if certified { &["class", "set"] } else { &["class"] }).into_iter().chain(own).collect()
            }
        }
    }

    /// Whether the model can give such intervals.
    ///
    /// # Errors
    /// For certified ones [`ModelError::Uncertified`] where the record of predictions is too short, [`ModelError::Unsupported`] for times.
    pub fn ready(&self, intervals: Intervals) -> Result<(), ModelError> {
        match intervals {
            Intervals::Own => Ok(()),
            Intervals::Certified if matches!(self.target.kind, TargetKind::Survival(_)) => {
                Err(ModelError::Unsupported { what: "certified interval of a time, since a censored row tests none" })
            }
            Intervals::Certified => self.own_scores().certificate().ready(),
        }
    }

    /// A prediction as the values of these columns, with the interval of probability `level`. A set has the names of its classes, with `|` between them.
    ///
    /// # Errors
    /// [`TermsError::Row`] for an interval beyond the range of floats; [`TermsError::Model`] with `Uncertified` where the record of predictions is too short.
    pub fn fields(
        &self,
        predicted: &Prediction,
        (level, intervals): (f64, Intervals),
        row: u64,
    ) -> Result<Vec<Value>, TermsError> {
        let refused = |source| match source {
            ModelError::Uncertified { .. } => TermsError::Model(source),
            source => TermsError::Row { row, source },
        };
        let name = |classes: &[String], class: usize| classes.get(class).cloned().unwrap_or_default();
        let certificate = (intervals == Intervals::Certified).then(|| self.own_scores().certificate().settled());
        let mut fields = Vec::new();
        let mut set = None;
        if let (Some(classes), Some(class)) = (self.target.kind.classes(), predicted.class()) {
            fields.push(Value::from(name(classes, class)));
            if let Some(certificate) = &certificate {
                let within = certificate.classes(predicted, level).map_err(refused)?.unwrap_or_default();
                let names: Vec<String> = within.into_iter().map(|class| name(classes, class)).collect();
                set = Some(Value::from(names.join("|")));
            }
        }
        if let Prediction::Classes(predicted) = predicted {
            fields.extend(set);
            fields.extend(predicted.probabilities.iter().map(|p| Value::from(*p)));
            return Ok(fields);
        }
        fields.extend(match predicted {
            Prediction::Survival(seen) => Some(Value::from(seen.median().map_err(refused)?)),
            _ => predicted.mean().map(Value::from),
        });
        if set.is_some() {
            fields.extend(set);
            return Ok(fields);
        }
        if !matches!(predicted, Prediction::Two(_)) {
            fields.extend(predicted.standard_deviation().map(Value::from));
        }
        let interval = match &certificate {
            None => predicted.interval(level),
            Some(certificate) => certificate.interval(predicted, level),
        };
        fields.extend(interval.map_err(refused)?.iter().flat_map(|own| [own.lower, own.upper]).map(Value::from));
        Ok(fields)
    }

    /// The scores of the model on the rows of `source` that have a target, and the number of texts that no first row had.
    ///
    /// # Errors
    /// A row that cannot be read or predicted, unless such are skipped; [`TermsError::Empty`] without a row, [`TermsError::Nothing`] without one that has a target.
    pub fn evaluate<S: Source>(&self, source: &mut S) -> Result<(Scores, u64), S::Error> {
        let (mut reader, target) = reading(&self.schema, self, source)?;
        let mut empty = true;
        let (mut scores, mut record) = (Scores::of_test(self.own_scores().certificate()), Record::default());
        while source.next(&mut record)? {
            let row = source.row();
            empty = false;
            let scored = (|| {
                let Some(label) = self.target.label(&record, target, row)? else { return Ok(()) };
                let at = reader.observed(self.groups.as_ref(), &record, label);
                let inputs = reader.row(&self.means, &record, row)?;
                let own = foretold(&self.model, inputs, at).and_then(|own| match own {
                    (predicted, Some(log_density)) => Ok((predicted, log_density)),
                    (predicted, None) => Ok((predicted, taken(&mut self.model.clone(), inputs, at, record.weight)?.1)),
                });
                let own = own.and_then(|own| reader.spread_at(&self.means, &record, own, label));
                let refused = |source| reader.refused(row, source);
                let (seen, log_density) = own.map_err(refused)?;
                scores.add((seen.as_ref(), log_density), label, scored(&self.target)).map_err(refused)
            })();
            if let Err(error) = scored {
                source.forgive(error)?;
            }
        }
        if scores.rows == 0 {
            return Err(source.refused(if empty { TermsError::Empty } else { TermsError::Nothing }));
        }
        Ok((scores, reader.new_texts()))
    }
}
