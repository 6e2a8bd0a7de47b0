//! `rvi evaluate`: a stored model on rows whose targets are known.

use crate::args::Evaluate;
use crate::document::Document;
use crate::error::CliError;
use crate::learn::{Reader, classes, foretold, taken};
use crate::report;
use crate::scores::Scores;
use crate::source::{Record, Source};

pub(super) fn evaluate(args: &Evaluate) -> Result<(), CliError> {
    let document = Document::open(&args.model)?;
    let mut source = Source::open(&args.input)?;
    let mut reader = Reader::new(&document.schema, &document.model, &source)?;
    let target = source.position(&document.target.column)?;
    let mut scores = Scores::default();
    let mut record = Record::default();
    while source.next(&mut record)? {
        let scored = (|| {
            let Some(label) = document.target.read(record.field(target), &source)? else {
                return Ok(());
            };
            let refused = |error| CliError::Model { place: source.place(), source: error };
            let row = reader.row(&record, &source)?;
            let (predicted, log_density) = foretold(&document.model, row, label).map_err(refused)?;
            let log_density = match log_density {
                Some(log_density) => log_density,
                None => taken(&mut document.model.clone(), row, (label, record.weight)).map_err(refused)?.1,
            };
            scores.add((predicted.as_ref(), log_density), label, classes(&document.target)).map_err(refused)
        })();
        if let Err(error) = scored {
            source.forgive(error)?;
        }
    }
    if scores.rows == 0 {
        return Err(CliError::Empty { path: source.path().to_owned() });
    }
    if reader.new_texts() > 0 {
        let new = reader.new_texts();
        crate::tell::warn(&format!("{new} texts unknown to the model were taken as `(other)`"));
    }
    report::evaluated(&document, &scores, source.path(), source.skipped, args.json)
}
