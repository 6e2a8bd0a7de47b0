//! The pass over a file: encode, predict, score, learn.

use vi_core::Row;
use vi_models::ModelError;
use vi_models::online::{Model, Observation, OnlineLinear, Prediction};

use crate::TermsError;
use crate::table::document::{Document, Pass};
use crate::table::grouped::Groups;
use crate::table::means::Means;
use crate::table::plan::{Scales, is_sparse};
use crate::table::schema::{Encoded, Schema, is_missing};
use crate::table::scores::Scored;
use crate::table::source::{Columns, NOWHERE, Record, Source};
use crate::table::target::{Target, TargetKind};
use crate::table::times::Places;

/// What turns the records of a source into rows of a model.
pub(crate) struct Reader<'a> {
    schema: &'a Schema,
    places: Vec<usize>,
    encoded: Encoded,
    sparse: bool,
    /// The places of the columns whose levels have means.
    of_means: Vec<usize>,
    /// The place of the column that names groups, where the model keeps their effects.
    of_groups: Option<usize>,
    /// Rows so far of groups that the model does not have.
    new_groups: u64,
    /// The record with the means.
    with_means: Record,
}

/// A number whose square may be beyond the range of floats.
const HUGE: f64 = 1e100;

impl<'a> Reader<'a> {
    /// # Errors
    /// A column of the model that is not there.
    pub(crate) fn new(schema: &'a Schema, model: &Model, columns: &Columns) -> Result<Self, TermsError> {
        let (places, sparse) = (schema.places(columns)?, is_sparse(model));
        let (encoded, of_means, with_means) = (Encoded::default(), Vec::new(), Record::default());
        Ok(Self { schema, places, encoded, sparse, of_means, of_groups: None, new_groups: 0, with_means })
    }

    /// The reader of rows for the model of `document`, whose schema is `schema`.
    ///
    /// # Errors
    /// A column of the model that is not there.
    pub(crate) fn of(schema: &'a Schema, document: &Document, columns: &Columns) -> Result<Self, TermsError> {
        let of_means = document.means.places(columns)?;
        let reader = Self::new(schema, &document.model, &document.means.beside(columns))?;
        Self { of_means, ..reader }.grouped(document.groups.as_ref(), columns)
    }

    /// The reader with the place of the column that names `groups`.
    ///
    /// # Errors
    /// A column that is not there.
    pub(crate) fn grouped(self, groups: Option<&Groups>, columns: &Columns) -> Result<Self, TermsError> {
        let of_groups = groups.map(|groups| columns.position(&groups.column)).transpose()?;
        Ok(Self { of_groups, ..self })
    }

    /// The field that names the group of a record.
    pub(crate) fn group<'r>(&self, record: &'r Record) -> Option<&'r str> {
        self.of_groups.map(|place| record.field(place))
    }

    /// A label at a record of one of `groups`, or of a new one.
    pub(crate) fn observed(&mut self, groups: Option<&Groups>, record: &Record, label: Observation) -> Observation {
        let observed = label.weight(record.weight);
        let Some((groups, field)) = groups.zip(self.group(record)) else { return observed };
        let key = groups.key(field);
        self.new_groups += u64::from(key == groups.levels().len() as u64);
        observed.group(key)
    }

    /// Adds a row that the model has learned to its group.
    pub(crate) fn add(&self, groups: Option<&mut Groups>, record: &Record) {
        if let (Some(groups), Some(field)) = (groups, self.group(record)) {
            groups.add(field);
        }
    }

    /// The observation of a label at a record, which is a row of its group from then on.
    pub(crate) fn added(&mut self, groups: &mut Option<Groups>, record: &Record, label: Observation) -> Observation {
        let seen = self.observed(groups.as_ref(), record, label);
        self.add(groups.as_mut(), record);
        seen
    }

    /// The row of a record with the means as they are.
    ///
    /// # Errors
    /// A field of the wrong type.
    pub(crate) fn row(&mut self, means: &Means, record: &Record, row: u64) -> Result<Row<'_>, TermsError> {
        let record = if means.is_empty() {
            record
        } else {
            self.with_means.clone_from(record);
            means.append(&mut self.with_means, &self.of_means);
            &self.with_means
        };
        self.encoded.write(self.schema, &self.places, record, row)?;
        Ok(self.last())
    }

    /// The row that was read last.
    pub(crate) fn last(&mut self) -> Row<'_> {
        self.encoded.row(self.schema, self.sparse)
    }

    /// The error of the last row, which the model has refused; it names the column of a number that is too large to compute with.
    pub(crate) fn refused(&self, row: u64, source: ModelError) -> TermsError {
        let is_of_range = matches!(source, ModelError::Core(vi_core::Error::Overflow { .. }));
        let huge = self.encoded.farthest().filter(|(_, value)| is_of_range && value.abs() > HUGE);
        match huge.and_then(|(j, value)| Some((self.schema.names().into_iter().nth(j)?, value))) {
            Some((column, value)) => TermsError::Field {
                row,
                column,
                text: format!("{value:e}"),
                expected: "near enough to the other numbers of its column to compute with",
                hint: "",
            },
            None => TermsError::Row { row, source },
        }
    }

    /// Learns the label of a record for its levels, and where it lay in the model's own prediction, as [`Means::score`] says.
    pub(crate) fn tell(&self, means: &mut Means, record: &Record, label: Observation, score: Option<f64>) {
        means.learn(record, &self.of_means, label.label(), score);
    }

    /// The prediction at a record with the spread that it has by its levels.
    ///
    /// # Errors
    /// Those of the model.
    pub(crate) fn spread(&self, means: &Means, record: &Record, own: Prediction) -> Result<Prediction, ModelError> {
        if means.is_empty() { Ok(own) } else { means.spread(record, &self.of_means, own) }
    }

    /// The same with the log density of the label.
    ///
    /// # Errors
    /// Those of the model.
    pub(crate) fn spread_at(
        &self,
        means: &Means,
        record: &Record,
        (own, log_density): (Option<Prediction>, f64),
        label: Observation,
    ) -> Result<(Option<Prediction>, f64), ModelError> {
        if means.is_empty() {
            return Ok((own, log_density));
        }
        let spread = own.map(|own| self.spread(means, record, own)).transpose()?;
        let told = spread.as_ref().and_then(|spread| spread.log_density_of(label).ok()).filter(|told| told.is_finite());
        Ok((spread, told.unwrap_or(log_density)))
    }

    /// Learns a record with its label, in the model, the means and the groups. Returns the prediction before, with the spread that it has by its levels,
    /// and the log density of the label.
    ///
    /// # Errors
    /// A field of the wrong type; what the model refuses.
    pub(crate) fn learn(
        &mut self,
        (model, means, groups): (&mut Model, &mut Means, &mut Option<Groups>),
        record: &Record,
        (row, label): (u64, Observation),
    ) -> Result<(Option<Prediction>, f64), TermsError> {
        let observed = self.observed(groups.as_ref(), record, label);
        let own = taken(model, self.row(means, record, row)?, observed, record.weight);
        let own = own.map_err(|source| self.refused(row, source))?;
        self.add(groups.as_mut(), record);
        let score = means.score(own.0.as_ref(), label);
        let foretold = self.spread_at(means, record, own, label).map_err(|source| self.refused(row, source))?;
        self.tell(means, record, label, score);
        Ok(foretold)
    }

    /// Numbers that were missing so far.
    pub(crate) fn imputed(&self) -> u64 {
        self.encoded.imputed
    }

    /// Texts so far that no first row of the model had, and groups that no row had.
    pub(crate) fn new_texts(&self) -> u64 {
        self.encoded.new + self.new_groups
    }

    /// Entries of a sparse file so far whose inputs the model does not have.
    pub(crate) fn unknown(&self) -> u64 {
        self.encoded.unknown
    }
}

/// What reads the rows of a source for a model, and the place of the target.
///
/// # Errors
/// A column that is not there.
pub(crate) fn reading<'a, S: Source>(
    schema: &'a Schema,
    document: &Document,
    source: &S,
) -> Result<(Reader<'a>, Places), S::Error> {
    let begun = Reader::of(schema, document, source.columns())
        .and_then(|reader| Ok((reader, document.target.places(source.columns())?)));
    begun.map_err(|error| source.refused(error))
}

/// Means and spreads of the inputs in the first records, by which models of parts of the data are scaled alike.
///
/// # Errors
/// A field that is not what its column holds, unless such rows are left out.
pub(crate) fn scales(
    schema: &Schema,
    target: &Target,
    records: &[Record],
    table: &Columns,
    of_one_value: f64,
) -> Result<Scales, TermsError> {
    let (places, label) = (schema.places(table)?, target.places(table)?);
    let width = schema.width();
    let mut encoded = Encoded::default();
    let mut columns = vec![Spread::default(); width];
    let (mut rows, mut labels) = (0.0_f64, Vec::new());
    for record in records {
        // What is wrong with a record is told where it is learned.
        if encoded.write(schema, &places, record, NOWHERE).is_err() {
            continue;
        }
        rows += 1.0;
        encoded.row(schema, true).for_each(|j, x| columns[j].add(x));
        labels.extend(target.label(record, label, NOWHERE).ok().flatten().map(|own| own.label()));
    }
    // Terms have a common size already.
    let of_columns = if schema.shape.is_some() { schema.own_width() } else { width };
    let scale = |(j, column): (usize, Spread)| {
        if j < of_columns { column.with_zeros(rows.max(1.0), of_one_value) } else { (0.0, 1.0) }
    };
    let (centres, spreads) = columns.into_iter().enumerate().map(scale).unzip();
    let n = (labels.len() as f64).max(1.0);
    let mean = labels.iter().sum::<f64>() / n;
    let variance = labels.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n;
    let variance = if variance.is_normal() { variance } else { 1.0 };
    let (shape, rate) = OnlineLinear::DEFAULT_NOISE;
    Ok(Scales { centres, spreads, target: (mean, variance), noise: (shape, rate * variance) })
}

/// Mean of a column's entries so far and the root of their squared deviations, which neither overflows nor cancels.
#[derive(Debug, Clone, Copy, Default)]
struct Spread {
    entries: f64,
    mean: f64,
    root: f64,
}

impl Spread {
    fn add(&mut self, x: f64) {
        let (before, from_mean) = (self.entries, x - self.mean);
        self.entries += 1.0;
        self.mean += from_mean / self.entries;
        self.root = self.root.hypot(from_mean * (before / self.entries).sqrt());
    }

    /// Mean and standard deviation with the entries of `rows` that are zero; `of_one_value` for the deviation of a column of one value.
    fn with_zeros(self, rows: f64, of_one_value: f64) -> (f64, f64) {
        let share = self.entries / rows;
        let root = self.root.hypot(self.mean * (self.entries * (1.0 - share)).max(0.0).sqrt());
        let (mean, spread) = (self.mean * share, root / rows.sqrt());
        // Of a column of one value the rounding of its mean is left.
        (mean, if spread > rows * f64::EPSILON * mean.abs() { spread } else { of_one_value })
    }
}

/// How the labels of a target are scored.
pub(crate) fn scored(target: &Target) -> Scored {
    match &target.kind {
        TargetKind::Number | TargetKind::Count => Scored::Number,
        TargetKind::Classes(classes) | TargetKind::Ordered(classes) => Scored::Class(classes.len()),
        TargetKind::Survival(event) => Scored::Time { unit: event.cuts.unit() },
    }
}

/// Learns rows, each predicted and scored before: those of `first`, with their numbers, which the source has read already, and then all that follow.
/// `each` is called after every row.
///
/// # Errors
/// A row that cannot be read or learned, unless such are skipped; the errors of `each`.
pub fn learn<S: Source>(
    document: &mut Document,
    source: &mut S,
    first: Vec<(u64, Record)>,
    mut each: impl FnMut(&Document, &S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    let schema = document.schema.clone();
    let (mut reader, label) = reading(&schema, document, source)?;
    let places = source.columns().positions(schema.constant.iter().map(|(name, _)| name));
    let constant: Vec<(usize, &(String, String))> =
        places.into_iter().zip(&schema.constant).filter_map(|(place, known)| Some((place?, known))).collect();
    let before = (document.imputed, document.unknown);
    let mut first = first.into_iter();
    let mut record = Record::default();
    loop {
        let row = if let Some((row, known)) = first.next() {
            record = known;
            row
        } else if source.next(&mut record)? {
            source.row()
        } else {
            return Ok(());
        };
        for (place, (column, text)) in &constant {
            let now = record.field(*place);
            if now != text && !is_missing(now) {
                *document.changed.entry(column.clone()).or_default() += 1;
            }
        }
        let fingerprint = record.fingerprint(document.passes.last().map_or(0, |pass| pass.fingerprint));
        if let Err(error) = learn_one(document, &mut reader, &record, row, label) {
            source.forgive(error)?;
        }
        if let Some(pass) = document.passes.last_mut() {
            (pass.rows, pass.fingerprint) = (row, fingerprint);
        }
        document.imputed = before.0 + reader.imputed();
        document.unknown = before.1 + reader.unknown();
        each(document, source)?;
    }
}

/// Reads a table from its start, and hands each record with its row and its label to `take`, while this goes on. Returns the number of the records and their fingerprint.
///
/// # Errors
/// A record that cannot be read; those of `take`.
pub(crate) fn read_all<S: Source>(
    document: &Document,
    source: &mut S,
    mut take: impl FnMut(&mut Reader<'_>, &Record, (u64, Observation)) -> Result<bool, TermsError>,
) -> Result<(u64, u64), S::Error> {
    let (mut reader, label) = reading(&document.schema, document, source)?;
    let (mut record, mut rows, mut fingerprint) = (Record::default(), 0, Pass::START);
    let mut go_on = true;
    while go_on && source.next(&mut record)? {
        rows = source.row();
        fingerprint = record.fingerprint(fingerprint);
        let label = document.target.label(&record, label, rows);
        match label.and_then(|label| label.map_or(Ok(true), |label| take(&mut reader, &record, (rows, label)))) {
            Ok(more) => go_on = more,
            Err(error) => source.forgive(error)?,
        }
    }
    Ok((rows, fingerprint))
}

fn learn_one(
    document: &mut Document,
    reader: &mut Reader<'_>,
    record: &Record,
    row: u64,
    label: Places,
) -> Result<(), TermsError> {
    let Some(label) = document.target.label(record, label, row)? else {
        document.unlabelled += 1;
        return Ok(());
    };
    let refused = |source| TermsError::Row { row, source };
    let Document { model, means, groups, .. } = document;
    let (seen, log_density) = reader.learn((model, means, groups), record, (row, label))?;
    for column in reader.encoded.new_texts() {
        *document.changed.entry(reader.schema.columns[column].name.clone()).or_default() += 1;
    }
    document.scores.add((seen.as_ref(), log_density), label, scored(&document.target)).map_err(refused)
}

/// The prediction at a row, and the log density of its label: none where they are beyond the range of floats.
type Foretold = (Option<Prediction>, Option<f64>);

/// # Errors
/// What else the model refuses.
pub(crate) fn foretold(model: &Model, row: Row<'_>, observed: Observation) -> Result<Foretold, ModelError> {
    within_floats(model.predict(row, observed), observed)
}

fn within_floats(predicted: Result<Prediction, ModelError>, observed: Observation) -> Result<Foretold, ModelError> {
    let predicted = match predicted {
        Ok(predicted) => Some(predicted),
        Err(ModelError::Core(vi_core::Error::Overflow { .. })) => None,
        Err(error) => return Err(error),
    };
    let log_density = predicted.as_ref().map(|predicted| predicted.log_density_of(observed)).and_then(Result::ok);
    Ok((predicted, log_density.filter(|log_density| log_density.is_finite())))
}

/// Learns a row with its label. Returns the prediction before, and the log density of the label, in nats, or where that is not
/// known what the row adds to the log evidence, which is the same but for the way in which it is computed.
///
/// # Errors
/// What the model refuses.
pub(crate) fn taken(
    model: &mut Model,
    row: Row<'_>,
    observed: Observation,
    weight: f64,
) -> Result<(Option<Prediction>, f64), ModelError> {
    let before = model.evidence();
    let predicted = model.predict_and_update(row, observed)?;
    let (predicted, log_density) = within_floats(predicted, observed)?;
    // A row without weight adds nothing.
    let added = || (model.evidence() - before) / if weight > 0.0 { weight } else { 1.0 };
    Ok((predicted, log_density.unwrap_or_else(added)))
}
