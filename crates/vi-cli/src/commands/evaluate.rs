//! `rvi evaluate`: a stored model on rows whose targets are known.

use crate::args::Evaluate;
use crate::document::Document;
use crate::error::CliError;
use crate::learn::{Reader, classes};
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
            let predicted = reader.predict(&document.model, &record, &source)?;
            let refused = |error| CliError::Model { place: source.place(), source: error };
            scores.add(&predicted, label, classes(&document.target)).map_err(refused)
        })();
        if let Err(error) = scored {
            source.forgive(error)?;
        }
    }
    if scores.rows == 0 {
        return Err(CliError::Empty { path: source.path().to_owned() });
    }
    report::evaluated(&document, &scores, source.path(), source.skipped, args.json)
}
