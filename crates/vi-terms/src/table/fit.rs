//! A whole fit of rows that can be read again.

use std::thread::scope;

use crate::TermsError;
use crate::table::begin::begin;
use crate::table::document::{Document, Pass};
use crate::table::known::Known;
use crate::table::learn::learn;
use crate::table::options::{Input, Options};
use crate::table::reorder::{Beside, reorder};
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
    open: impl Fn() -> Result<S, S::Error> + Sync,
) -> Result<Document, S::Error> {
    fit_watched(options, input, keep_order, open, |_| Ok(()))
}

/// What a fit has just done.
pub enum Step<'a, S: Source> {
    /// It has learned a row of the source.
    Row(&'a Document, &'a S),
    /// It has learned this share of the rows again, in a random order.
    Again(f64),
    /// This error has ended a pass, and the table is learned again in the way that the words say.
    Anew(&'a S::Error, &'static str),
}

/// The same fit as [`fit`], and calls `watch` after every step of it.
///
/// # Errors
/// As [`fit`]; the errors of `watch`.
pub fn fit_watched<S: Source>(
    options: &Options,
    input: &Input,
    keep_order: bool,
    open: impl Fn() -> Result<S, S::Error> + Sync,
    mut watch: impl FnMut(Step<'_, S>) -> Result<(), S::Error>,
) -> Result<Document, S::Error> {
    let mut known = Known::default();
    if !keep_order {
        known.look(options, &mut open()?)?;
    }
    loop {
        match fit_with(options, input, keep_order, &known, &open, &mut watch) {
            Ok(document) => return Ok(document),
            Err(error) => {
                let Some(cause) = S::cause(&error) else { return Err(error) };
                match known.after(cause, options, &open)? {
                    Some(how) => watch(Step::Anew(&error, how))?,
                    None => return Err(error),
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
    open: &(impl Fn() -> Result<S, S::Error> + Sync),
    watch: &mut impl FnMut(Step<'_, S>) -> Result<(), S::Error>,
) -> Result<Document, S::Error> {
    let mut source = open()?;
    let (mut document, first) = begin(options, known, &mut source)?;
    scope(|scope| {
        let mut beside = Beside::new(scope, open, 0.0, if keep_order { 1 } else { options.threads });
        whole_pass(&mut document, &mut source, first, input, |document, source| {
            beside.look(document);
            watch(Step::Row(document, source))
        })?;
        if !keep_order {
            reorder(&mut document, 0.0, open, beside, |share| watch(Step::Again(share)))?;
        }
        Ok(document)
    })
}

/// Adds the rows of `source` to a learned model, as `rvi update` does.
///
/// # Errors
/// A row that cannot be read or learned, unless such are skipped; [`TermsError::Nothing`] if no row has a target. The model has then learned the rows before.
pub fn update<S: Source>(document: &mut Document, source: &mut S, input: &Input) -> Result<(), S::Error> {
    whole_pass(document, source, Vec::new(), input, |_, _| Ok(()))
}

fn whole_pass<S: Source>(
    document: &mut Document,
    source: &mut S,
    first: Vec<(u64, Record)>,
    input: &Input,
    each: impl FnMut(&Document, &S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    document.passes.push(Pass::new(input));
    let before = document.scores.rows;
    learn(document, source, first, each)?;
    if document.scores.rows == before && document.row() > 0 {
        return Err(source.refused(TermsError::Nothing));
    }
    Ok(())
}
