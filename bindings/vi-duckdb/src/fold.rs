//! Along the rows of a chunk: complete ones to the sums of their group, the others counted.

use std::ops::Range;

use vi_core::Error;
use vi_sums::{LinearSlice, SumsError};

use crate::Fault;
use crate::ffi::{Features, Floats, Texts};

/// Bytes of a posterior that a query carries, as in the other engines.
const LARGEST: usize = 12 << 20;

/// Bytes of the sums of many groups, as in the other engines.
const LARGEST_POOL: usize = 1 << 30;

/// Refuses sums of groups of which there are too many.
pub(crate) fn check_pool(inputs: usize, record: Vec<u8>) -> Result<Vec<u8>, Fault> {
    if record.len() > LARGEST_POOL {
        return Err(Fault::TooLarge { inputs, bytes: record.len(), limit: LARGEST_POOL });
    }
    Ok(record)
}

/// From so many rows of one group on, they are added together.
pub(crate) const BLOCK: usize = 32;

/// Refuses inputs whose sums would not fit a query; called before memory is taken for them.
pub(crate) fn check_size(inputs: usize) -> Result<(), Fault> {
    let k = inputs.saturating_add(2);
    let bytes = k.saturating_mul(k.saturating_add(1)).saturating_mul(size_of::<f64>() / 2);
    if bytes > LARGEST { Err(Fault::TooLarge { inputs, bytes, limit: LARGEST }) } else { Ok(()) }
}

/// Adds one row, or counts it where it is not complete.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled for the vectors of the machine in its caller")]
pub(crate) fn row(sums: &mut LinearSlice<'_>, x: Option<&[f64]>, y: Option<f64>, strict: bool) -> Result<(), Fault> {
    let (Some(x), Some(y)) = (x, y) else {
        sums.skip(1);
        return Ok(());
    };
    match sums.update(x, y) {
        Ok(()) => Ok(()),
        Err(error) => refused(sums, x.len(), error, strict),
    }
}

#[cold]
fn refused(sums: &mut LinearSlice<'_>, found: usize, error: SumsError, strict: bool) -> Result<(), Fault> {
    match error {
        SumsError::Core(Error::NonFinite { .. }) if !strict => {
            sums.skip(1);
            Ok(())
        }
        _ if found != sums.inputs() => Err(Fault::Length { expected: sums.inputs(), found }),
        error => Err(error.into()),
    }
}

/// Adds many rows of one group: together where all are complete, else its halves.
pub(crate) fn rows(
    sums: &mut LinearSlice<'_>,
    x: &impl Features,
    y: &Floats<'_>,
    range: Range<usize>,
    strict: bool,
) -> Result<(), Fault> {
    if range.len() < BLOCK {
        return range.into_iter().try_for_each(|t| row(sums, x.row(t), y.get(t), strict));
    }
    if let (Some(x), Some(y)) = (x.block(range.clone(), sums.inputs()), y.block(range.clone()))
        && sums.update_rows(x, y).is_ok()
    {
        return Ok(());
    }
    let middle = range.start + range.len() / 2;
    rows(sums, x, y, range.start..middle, strict)?;
    rows(sums, x, y, middle..range.end, strict)
}

/// What the rows of a chunk say of their model: one text for all of them, as a rule.
pub(crate) struct Said<'a, S> {
    texts: Texts<'a>,
    parse: fn(&str) -> Result<S, SumsError>,
    last: Option<(&'a [u8], S)>,
}

impl<'a, S: Clone> Said<'a, S> {
    pub(crate) fn new(texts: Texts<'a>, parse: fn(&str) -> Result<S, SumsError>) -> Self {
        Self { texts, parse, last: None }
    }

    /// What a row says; a null is an empty text.
    pub(crate) fn get(&mut self, row: usize) -> Result<S, Fault> {
        let text = self.texts.get(row).unwrap_or_default();
        if let Some((last, said)) = &self.last
            && *last == text
        {
            return Ok(said.clone());
        }
        let said = (self.parse)(std::str::from_utf8(text).map_err(|_| Fault::Text)?)?;
        self.last = Some((text, said.clone()));
        Ok(said)
    }

    /// The first of `rows` that says something else than the row before them; their end, where none does.
    pub(crate) fn end(&self, rows: Range<usize>) -> usize {
        let own = self.last.as_ref().map(|(text, _)| *text);
        rows.clone().find(|row| Some(self.texts.get(*row).unwrap_or_default()) != own).unwrap_or(rows.end)
    }
}

/// Keeps what the first row of a group says; the others have to say the same.
pub(crate) fn keep<S: PartialEq + Copy + std::fmt::Debug>(kept: &mut Option<S>, said: &S) -> Result<(), Fault> {
    same(kept.get_or_insert(*said), said)
}

/// Checks that what a row says is what the rows of its group have said before.
pub(crate) fn same<S: PartialEq + std::fmt::Debug>(first: &S, second: &S) -> Result<(), Fault> {
    if first == second {
        return Ok(());
    }
    Err(Fault::Settings { first: format!("{first:?}"), second: format!("{second:?}") })
}
