//! Lists of any length: a state owns its sums.

use quack_rs::aggregate::AggregateState;
use vi_sums::{LinearPosterior, LinearPrior, LinearSlice, LinearSpec, LinearSums, Posterior};

use crate::Fault;
use crate::ffi::{Aggregate, Features, Given, Heap, InList, Input, Kind, States};
use crate::fold::{self, Said};

/// The aggregate over rows of as many features as the first has; with settings where `SAID`.
pub(crate) struct List<const SAID: bool>;

/// The sums of a group.
#[derive(Default)]
pub(crate) struct Sums {
    /// `None` before the first row.
    spec: Option<LinearSpec>,
    inputs: usize,
    /// Empty until a row has told the number of inputs.
    flat: Vec<f64>,
    /// Rows left out before that.
    skipped: u64,
}

impl AggregateState for Sums {}

impl Sums {
    /// Sums of `inputs` features, unless a row has told another number before.
    fn begin(&mut self, inputs: usize) -> Result<(), Fault> {
        if self.flat.is_empty() {
            fold::check_size(inputs)?;
            let mut flat = vec![0.0; LinearSums::flat_len(inputs)];
            LinearSlice::new(inputs, &mut flat)?.skip(self.skipped);
            (self.inputs, self.flat) = (inputs, flat);
        }
        Ok(())
    }

    fn sums(&mut self) -> Result<LinearSlice<'_>, Fault> {
        Ok(LinearSlice::new(self.inputs, &mut self.flat)?)
    }

    /// Counts rows that are left out.
    fn skip(&mut self, rows: u64) -> Result<(), Fault> {
        if self.flat.is_empty() {
            self.skipped += rows;
        } else {
            self.sums()?.skip(rows);
        }
        Ok(())
    }
}

impl<const SAID: bool> Aggregate for List<SAID> {
    const NAME: &'static str = "vi_linear_list";
    type Place = Heap<Sums>;
    type Answer = Vec<u8>;

    fn takes() -> Vec<Kind> {
        SAID.then_some(Kind::Text).into_iter().chain([Kind::Float, Kind::Floats]).collect()
    }

    fn update<'a>(input: &Input<'a>, states: &mut States<'a, Heap<Sums>>) -> Result<(), Fault> {
        let head = usize::from(SAID);
        let mut said = if SAID { Some(Said::new(input.texts(0)?, LinearSpec::parse)) } else { None };
        let (y, x) = (input.floats(head)?, InList::read(input, head + 1)?);
        let mut t = 0;
        while t < input.rows() {
            let mut end = states.end(t);
            let state = states.at(t)?;
            let mut spec = LinearSpec::default();
            if let Some(said) = &mut said {
                spec = said.get(t)?;
                end = said.end(t + 1..end);
            }
            fold::keep(&mut state.spec, &spec)?;
            // Rows before the first that tells the number of inputs.
            while t < end && state.flat.is_empty() {
                if let Some(row) = x.row(t) {
                    state.begin(row.len())?;
                } else {
                    state.skipped += 1;
                    t += 1;
                }
            }
            if t < end {
                fold::rows(&mut state.sums()?, &x, &y, t..end, spec.strict)?;
                t = end;
            }
        }
        Ok(())
    }

    fn combine(source: &Sums, target: &mut Sums) -> Result<(), Fault> {
        if let Some(spec) = &source.spec {
            fold::keep(&mut target.spec, spec)?;
        }
        if source.flat.is_empty() {
            return target.skip(source.skipped);
        }
        target.begin(source.inputs)?;
        if target.inputs != source.inputs {
            return Err(Fault::Length { expected: target.inputs, found: source.inputs });
        }
        Ok(target.sums()?.merge(&source.flat)?)
    }

    fn finish(state: &Sums) -> Result<Option<Vec<u8>>, Fault> {
        if state.flat.is_empty() {
            return Ok(None);
        }
        let prior = state.spec.map_or_else(LinearPrior::default, |spec| spec.prior);
        let posterior = LinearPosterior::of(prior, LinearSums::from_flat(state.inputs, &state.flat)?)?;
        Ok(Some(Posterior::from(posterior).encode()?))
    }
}
