//! `vi_pass(at, y, x…)`: the statistics of one pass of the batch optimum, at the place that is the record `at`; parts are added exactly.

use std::marker::PhantomData;
use std::sync::Arc;

use quack_rs::aggregate::{AggregateFunctionSetBuilder, AggregateState};
use vi_core::{Error, check};
use vi_sums::{At, PassSums, SumsError};

use crate::Fault;
use crate::ffi::{Aggregate, Features, Given, Heap, Input, Kind, States, for_columns};
use crate::fold;

/// The aggregate over rows of features given as `X`; of labels that are true or false where `FLAG`.
pub(crate) struct Pass<X, const FLAG: bool>(PhantomData<X>);

/// All forms for lists and columns.
pub(crate) fn forms(set: AggregateFunctionSetBuilder) -> AggregateFunctionSetBuilder {
    for_columns!(set, X => Pass<X, false>, Pass<X, true>)
}

fn place(record: &[u8]) -> Result<Arc<At>, Fault> {
    let at = At::decode(record)?;
    fold::check_size(at.inputs())?;
    Ok(Arc::new(at))
}

/// What a group has of its rows.
#[derive(Default)]
pub(crate) enum Sums {
    /// No row has told of a place.
    #[default]
    Empty,
    /// The place of all rows is null.
    Nowhere,
    /// Of rows at a place, which all groups that have the same record share.
    At(Arc<At>, PassSums),
}

impl AggregateState for Sums {}

/// The complete rows of a group, end to end, and how many others there were.
#[derive(Default)]
struct Rows {
    x: Vec<f64>,
    y: Vec<f64>,
    skipped: u64,
}

fn unlike(before: Option<&[u8]>, found: Option<&[u8]>) -> Fault {
    let word = |record: Option<&[u8]>| record.map_or("null".to_owned(), |bytes| format!("{} bytes", bytes.len()));
    Fault::Settings { first: word(before), second: format!("other {}", word(found)) }
}

impl Sums {
    /// Takes the place that a row tells; `known` is one that may be the same. Other rows of the group have to tell it, too.
    fn begin(&mut self, told: Option<&[u8]>, known: &mut Option<Arc<At>>) -> Result<(), Fault> {
        match (&*self, told) {
            (Self::Nowhere, None) => {}
            (Self::At(at, _), Some(told)) if at.record() == told => *known = Some(Arc::clone(at)),
            (Self::Empty, None) => *self = Self::Nowhere,
            (Self::Empty, Some(told)) => {
                let at = match known {
                    Some(known) if known.record() == told => Arc::clone(known),
                    other => Arc::clone(other.insert(place(told)?)),
                };
                let sums = PassSums::new(&at);
                *self = Self::At(at, sums);
            }
            (before, told) => return Err(unlike(before.record(), told)),
        }
        Ok(())
    }

    fn record(&self) -> Option<&[u8]> {
        match self {
            Self::At(at, _) => Some(at.record()),
            Self::Empty | Self::Nowhere => None,
        }
    }

    fn add(&mut self, rows: &Rows) -> Result<(), Fault> {
        let Self::At(at, sums) = self else { return Ok(()) };
        sums.skip(rows.skipped);
        sums.update_rows(at, &rows.x, &rows.y).map_err(|error| match error {
            // The number of a row of a chunk tells nobody anything.
            SumsError::Core(Error::Row { source, .. }) => Fault::Sums(SumsError::Core(*source)),
            other => other.into(),
        })
    }
}

impl Rows {
    /// Takes a row of `inputs` features; one that is not complete, or not finite, is counted.
    fn take(&mut self, x: Option<&[f64]>, y: Option<f64>, inputs: usize) -> Result<(), Fault> {
        let (Some(x), Some(y)) = (x, y) else {
            self.skipped += 1;
            return Ok(());
        };
        check::length("x", inputs, x.len())?;
        if check::finite("x", x).is_err() || !y.is_finite() {
            self.skipped += 1;
            return Ok(());
        }
        self.x.extend_from_slice(x);
        self.y.push(y);
        Ok(())
    }
}

impl<X: Given + 'static, const FLAG: bool> Aggregate for Pass<X, FLAG> {
    const NAME: &'static str = "vi_pass";
    type Place = Heap<Sums>;
    type Answer = Vec<u8>;

    fn takes() -> Vec<Kind> {
        [Kind::Bytes, Kind::label(FLAG)].into_iter().chain(X::kinds()).collect()
    }

    fn update<'a>(input: &Input<'a>, states: &mut States<'a, Heap<Sums>>) -> Result<(), Fault> {
        let places = input.bytes(0)?;
        let labels = input.labels(1, FLAG)?;
        let y = labels.floats();
        let x = X::read(input, 2)?;
        let mut known = None;
        for group in states.together() {
            let state = states.at(group[0])?;
            let (mut rows, mut last) = (Rows::default(), None);
            for row in group {
                let told = places.get(row);
                // A constant is the same bytes in every row, which need not be read again.
                if last
                    .is_none_or(|last: Option<&[u8]>| last.map(<[u8]>::as_ptr_range) != told.map(<[u8]>::as_ptr_range))
                {
                    state.begin(told, &mut known)?;
                    last = Some(told);
                }
                if let Sums::At(at, _) = &*state {
                    rows.take(x.row(row), y.get(row), at.inputs())?;
                }
            }
            state.add(&rows)?;
        }
        Ok(())
    }

    fn combine(source: &Sums, target: &mut Sums) -> Result<(), Fault> {
        match (source, &mut *target) {
            (Sums::Empty, _) | (Sums::Nowhere, Sums::Nowhere) => {}
            (Sums::Nowhere, none @ Sums::Empty) => *none = Sums::Nowhere,
            (Sums::At(at, sums), none @ Sums::Empty) => *none = Sums::At(Arc::clone(at), sums.clone()),
            (Sums::At(at, more), Sums::At(own, sums)) if at.fingerprint() == own.fingerprint() => {
                sums.merge(more)?;
            }
            (source, target) => return Err(unlike(target.record(), source.record())),
        }
        Ok(())
    }

    fn finish(state: &Sums) -> Result<Option<Vec<u8>>, Fault> {
        match state {
            Sums::At(_, sums) => Ok(Some(sums.encode()?)),
            Sums::Empty | Sums::Nowhere => Ok(None),
        }
    }
}
