//! The pass over a file: encode, predict, score, learn.

use crate::args::Input;
use crate::document::{Document, Pass};
use crate::error::CliError;
use crate::interrupt;
use crate::model::{Scales, is_sparse};
use crate::progress::Progress;
use crate::schema::{Encoded, Schema, is_missing};
use crate::source::{Record, Source};
use crate::target::{Target, TargetKind};
use vi_core::Row;
use vi_models::ModelError;
use vi_models::online::{Model, Observation, Prediction};

/// What turns the records of a source into rows of a model.
pub(crate) struct Reader<'a> {
    schema: &'a Schema,
    places: Vec<usize>,
    encoded: Encoded,
    sparse: bool,
}

impl<'a> Reader<'a> {
    /// # Errors
    /// A column of the model that the source does not have.
    pub(crate) fn new(schema: &'a Schema, model: &Model, source: &Source) -> Result<Self, CliError> {
        let places = schema.places(source)?;
        Ok(Self { schema, places, encoded: Encoded::default(), sparse: is_sparse(model) })
    }

    /// # Errors
    /// A field of the wrong type.
    pub(crate) fn row(&mut self, record: &Record, source: &Source) -> Result<vi_core::Row<'_>, CliError> {
        self.encoded.write(self.schema, &self.places, record, source)?;
        Ok(self.encoded.row(self.schema, self.sparse))
    }

    /// # Errors
    /// A field that is not what its column holds; what the model refuses.
    pub(crate) fn predict(&mut self, model: &Model, record: &Record, source: &Source) -> Result<Prediction, CliError> {
        let row = self.row(record, source)?;
        model
            .predict(row, Observation::new(0.0))
            .map_err(|error| CliError::Model { place: source.place(), source: error })
    }

    /// Numbers that were missing so far.
    pub(crate) fn imputed(&self) -> u64 {
        self.encoded.imputed
    }

    /// Texts so far that no first row of the model had.
    pub(crate) fn new_texts(&self) -> u64 {
        self.encoded.new
    }

    /// Entries of a sparse file so far whose inputs the model does not have.
    pub(crate) fn unknown(&self) -> u64 {
        self.encoded.unknown
    }
}

/// Means and spreads of the inputs in the first records, by which models of parts of the data are scaled alike.
///
/// # Errors
/// A field that is not what its column holds, unless such rows are left out.
pub(crate) fn scales(
    schema: &Schema,
    target: &Target,
    records: &[Record],
    source: &mut Source,
) -> Result<Scales, CliError> {
    let (places, label) = (schema.places(source)?, source.position(&target.column)?);
    let width = schema.width();
    let mut encoded = Encoded::default();
    let mut columns = vec![Spread::default(); width];
    let (mut rows, mut labels) = (0.0_f64, Vec::new());
    for record in records {
        // What is wrong with a record is told where it is learned.
        if encoded.write(schema, &places, record, source).is_err() {
            continue;
        }
        rows += 1.0;
        encoded.row(schema, true).for_each(|j, x| columns[j].add(x));
        labels.extend(target.read(record.field(label), source).ok().flatten());
    }
    let (centres, spreads) = columns.into_iter().map(|column| column.with_zeros(rows.max(1.0))).unzip();
    let n = (labels.len() as f64).max(1.0);
    let mean = labels.iter().sum::<f64>() / n;
    let variance = labels.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n;
    let variance = if variance.is_normal() { variance } else { 1.0 };
    Ok(Scales { centres, spreads, target: (mean, variance) })
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

    /// Mean and standard deviation with the entries of `rows` that are zero; 1 for the deviation of a column of one value.
    fn with_zeros(self, rows: f64) -> (f64, f64) {
        let share = self.entries / rows;
        let root = self.root.hypot(self.mean * (self.entries * (1.0 - share)).max(0.0).sqrt());
        let (mean, spread) = (self.mean * share, root / rows.sqrt());
        // Of a column of one value the rounding of its mean is left.
        (mean, if spread > rows * f64::EPSILON * mean.abs() { spread } else { 1.0 })
    }
}

/// How many classes a target has; 0 for numbers.
pub(crate) fn classes(target: &Target) -> usize {
    match &target.kind {
        TargetKind::Classes(classes) => classes.len(),
        TargetKind::Number | TargetKind::Count => 0,
    }
}

/// Learns records, each predicted and scored before: those of `first`, which the source has read already, and then all that follow. `each` is called
/// after every record.
///
/// # Errors
/// A record that cannot be read or learned, unless such are left out; what `each` returns.
pub(crate) fn learn(
    document: &mut Document,
    source: &mut Source,
    first: Vec<(u64, Record)>,
    mut each: impl FnMut(&Document) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let schema = document.schema.clone();
    let mut reader = Reader::new(&schema, &document.model, source)?;
    let label = source.position(&document.target.column)?;
    let places = source.positions(schema.constant.iter().map(|(name, _)| name));
    let constant: Vec<(usize, &(String, String))> =
        places.into_iter().zip(&schema.constant).filter_map(|(place, known)| Some((place?, known))).collect();
    let before = (document.imputed, document.unknown);
    let mut first = first.into_iter();
    let mut progress = Progress::new();
    let mut record = Record::default();
    loop {
        interrupt::check()?;
        let row = if let Some((row, known)) = first.next() {
            record = known;
            row
        } else if source.next(&mut record)? {
            source.place().row
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
        if let Err(error) = learn_one(document, source, &mut reader, &record, label) {
            source.forgive(error.at_row(row))?;
        }
        progress.row(|| source.share());
        if let Some(pass) = document.passes.last_mut() {
            (pass.rows, pass.fingerprint) = (row, fingerprint);
        }
        document.imputed = before.0 + reader.imputed();
        document.unknown = before.1 + reader.unknown();
        each(document)?;
    }
}

/// Reads the last file of a model again, which has learned it all, and hands each row with its label and weight to `take`.
///
/// # Errors
/// A file that is no longer what it was; what `take` returns.
pub(crate) fn again(
    document: &Document,
    input: &Input,
    mut take: impl FnMut(vi_core::Row<'_>, f64, f64) -> Result<(), ModelError>,
) -> Result<(), CliError> {
    let mut source = Source::open(input)?;
    let mut reader = Reader::new(&document.schema, &document.model, &source)?;
    let label = source.position(&document.target.column)?;
    let mut progress = Progress::new();
    let (mut record, mut read) = (Record::default(), Pass::new(input));
    while source.next(&mut record)? {
        read.rows = source.place().row;
        read.fingerprint = record.fingerprint(read.fingerprint);
        let taken = (|| {
            let Some(label) = document.target.read(record.field(label), &source)? else { return Ok(()) };
            let row = reader.row(&record, &source)?;
            take(row, label, record.weight).map_err(|error| CliError::Model { place: source.place(), source: error })
        })();
        if let Err(error) = taken {
            source.forgive(error)?;
        }
        progress.row(|| source.share());
    }
    match document.passes.last().map(|pass| (pass.rows, pass.fingerprint)) {
        Some(known) if known != (read.rows, read.fingerprint) => {
            Err(CliError::Changed { path: input.data.clone(), rows: known.0 })
        }
        _ => Ok(()),
    }
}

fn learn_one(
    document: &mut Document,
    source: &Source,
    reader: &mut Reader<'_>,
    record: &Record,
    label: usize,
) -> Result<(), CliError> {
    let Some(label) = document.target.read(record.field(label), source)? else {
        document.unlabelled += 1;
        return Ok(());
    };
    let refused = |error| CliError::Model { place: source.place(), source: error };
    let row = reader.row(record, source)?;
    let (predicted, log_density) = taken(&mut document.model, row, (label, record.weight)).map_err(refused)?;
    for column in reader.encoded.new_texts() {
        *document.changed.entry(reader.schema.columns[column].name.clone()).or_default() += 1;
    }
    let foretold = (predicted.as_ref(), log_density);
    document.scores.add(foretold, label, classes(&document.target)).map_err(refused)
}

/// The prediction at a row, and the log density of its label: none where they are beyond the range of floats.
type Foretold = (Option<Prediction>, Option<f64>);

/// # Errors
/// What else the model refuses.
pub(crate) fn foretold(model: &Model, row: Row<'_>, label: f64) -> Result<Foretold, ModelError> {
    within_floats(model.predict(row, Observation::new(0.0)), label)
}

fn within_floats(predicted: Result<Prediction, ModelError>, label: f64) -> Result<Foretold, ModelError> {
    let predicted = match predicted {
        Ok(predicted) => Some(predicted),
        Err(ModelError::Core(vi_core::Error::Overflow { .. })) => None,
        Err(error) => return Err(error),
    };
    let log_density = predicted.as_ref().map(|predicted| predicted.log_density(label)).and_then(Result::ok);
    Ok((predicted, log_density.filter(|log_density| log_density.is_finite())))
}

/// Learns a row with its label and weight. Returns the prediction before, and the log density of the label, in nats, or where that is not
/// known what the row adds to the log evidence, which is the same but for the way in which it is computed.
///
/// # Errors
/// What the model refuses.
pub(crate) fn taken(
    model: &mut Model,
    row: Row<'_>,
    (label, weight): (f64, f64),
) -> Result<(Option<Prediction>, f64), ModelError> {
    let before = model.evidence();
    let predicted = model.predict_and_update(row, Observation::new(label).weight(weight))?;
    let (predicted, log_density) = within_floats(predicted, label)?;
    // A row without weight adds nothing.
    let added = || (model.evidence() - before) / if weight > 0.0 { weight } else { 1.0 };
    Ok((predicted, log_density.unwrap_or_else(added)))
}
