//! A whole fit of rows that can be read again.

use crate::TermsError;
use crate::table::begin::begin;
use crate::table::document::{Document, Pass};
use crate::table::known::Known;
use crate::table::learn::learn;
use crate::table::options::{Input, Options};
use crate::table::reorder::reorder;
use crate::table::source::{Record, Source};

/// Learns a table in one pass, and again in a random order if its labels come in runs and `options` do not keep the order; `open` reads the table from its
/// start. The model is that of `rvi fit` on the same fields.
///
/// Where the first rows mislead (a class that comes later, a target that is not positive, a covariance that loses its digits), the table is
/// learned again by what the failed pass has shown.
///
/// # Errors
/// Options, columns or rows of which no model can be made, with their names and places; [`TermsError::Nothing`] if no row has a target.
pub fn fit<S: Source>(
    options: &Options,
    input: &Input,
    keep_order: bool,
    mut open: impl FnMut() -> Result<S, S::Error>,
) -> Result<Document, S::Error> {
    let mut known = Known::default();
    loop {
        match fit_with(options, input, keep_order, &known, &mut open) {
            Ok(document) => return Ok(document),
            Err(error) => {
                let Some(cause) = S::cause(&error) else { return Err(error) };
                if known.after(cause, options, &mut open)?.is_none() {
                    return Err(error);
                }
            }
        }
    }
}

fn fit_with<S: Source>(
    options: &Options,
    input: &Input,
    keep_order: bool,
    known: &Known,
    open: &mut impl FnMut() -> Result<S, S::Error>,
) -> Result<Document, S::Error> {
    let mut source = open()?;
    let (mut document, first) = begin(options, known, &mut source)?;
    whole_pass(&mut document, &mut source, first, input)?;
    if !keep_order {
        reorder(&mut document, 0.0, open, |_| Ok(()))?;
    }
    Ok(document)
}

/// Adds the rows of `source` to a learned model, as `rvi update` does.
///
/// # Errors
/// A row that cannot be read or learned, unless such are skipped; [`TermsError::Nothing`] if no row has a target. The model has then learned the rows before.
pub fn update<S: Source>(document: &mut Document, source: &mut S, input: &Input) -> Result<(), S::Error> {
    whole_pass(document, source, Vec::new(), input)
}

fn whole_pass<S: Source>(
    document: &mut Document,
    source: &mut S,
    first: Vec<(u64, Record)>,
    input: &Input,
) -> Result<(), S::Error> {
    document.passes.push(Pass::new(input));
    let before = document.scores.rows;
    learn(document, source, first, |_, _| Ok(()))?;
    if document.scores.rows == before && document.row() > 0 {
        return Err(source.refused(TermsError::Nothing));
    }
    Ok(())
}
