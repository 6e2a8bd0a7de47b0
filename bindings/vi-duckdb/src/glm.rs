//! `vi_glm('family settings', y, x…)`: one pass over rows of lists or columns; each part passes alone, and the passes are merged.

use std::marker::PhantomData;

use quack_rs::aggregate::{AggregateFunctionSetBuilder, AggregateState};
use vi_core::check;
use vi_sums::{GlmPosterior, GlmSpec, OnePass, Posterior};

use crate::Fault;
use crate::ffi::{Aggregate, Features, Floats, Given, Heap, Input, Kind, States, for_columns};
use crate::fold::{self, Said};

/// The aggregate over rows of features given as `X`; of labels that are true or false where `FLAG`.
pub(crate) struct Glm<X, const FLAG: bool>(PhantomData<X>);

/// All forms for lists and columns.
pub(crate) fn forms(set: AggregateFunctionSetBuilder) -> AggregateFunctionSetBuilder {
    for_columns!(set, X => Glm<X, false>, Glm<X, true>)
}

/// What a group has of its rows.
#[derive(Default)]
pub(crate) struct Fold {
    /// `None` before the first row.
    spec: Option<GlmSpec>,
    inputs: Option<usize>,
    pass: Option<OnePass>,
    /// What other passes have added.
    merged: Option<GlmPosterior>,
    /// Rows left out before the number of inputs was known.
    skipped: u64,
}

impl AggregateState for Fold {}

impl Fold {
    fn check_inputs(&mut self, found: usize) -> Result<(), Fault> {
        match *self.inputs.get_or_insert(found) {
            expected if expected == found => Ok(()),
            expected => Err(Fault::Length { expected, found }),
        }
    }

    fn row(&mut self, spec: &GlmSpec, t: usize, x: &impl Features, y: &Floats<'_>) -> Result<(), Fault> {
        let (Some(x), Some(y)) = (x.row(t), y.get(t)) else {
            self.skip(1);
            return Ok(());
        };
        self.check_inputs(x.len())?;
        if let Err(error) = check::finite("x", x).and_then(|()| check::finite("y", &[y])) {
            if spec.strict {
                return Err(error.into());
            }
            self.skip(1);
            return Ok(());
        }
        if self.pass.is_none() {
            fold::check_size(x.len())?;
            let mut pass = OnePass::new(spec.family, spec.prior, x.len())?;
            pass.skip(std::mem::take(&mut self.skipped));
            self.pass = Some(pass);
        }
        if let Some(pass) = &mut self.pass {
            pass.update(x, y)?;
        }
        Ok(())
    }

    fn skip(&mut self, rows: u64) {
        match &mut self.pass {
            Some(pass) => pass.skip(rows),
            None => self.skipped += rows,
        }
    }

    /// What all passes have added; `None` where the number of inputs is not known.
    fn posterior(&self) -> Result<Option<GlmPosterior>, Fault> {
        let (Some(spec), Some(inputs)) = (&self.spec, self.inputs) else { return Ok(None) };
        let mut all = if let Some(pass) = &self.pass {
            pass.posterior()?
        } else {
            let mut none = OnePass::new(spec.family, spec.prior, inputs)?;
            none.skip(self.skipped);
            none.posterior()?
        };
        if let Some(merged) = &self.merged {
            all.merge(merged)?;
        }
        Ok(Some(all))
    }
}

impl<X: Given + 'static, const FLAG: bool> Aggregate for Glm<X, FLAG> {
    const NAME: &'static str = "vi_glm";
    type Place = Heap<Fold>;
    type Answer = Vec<u8>;

    fn takes() -> Vec<Kind> {
        [Kind::Text, Kind::label(FLAG)].into_iter().chain(X::kinds()).collect()
    }

    fn update<'a>(input: &Input<'a>, states: &mut States<'a, Heap<Fold>>) -> Result<(), Fault> {
        let mut said = Said::new(input.texts(0)?, GlmSpec::parse);
        let labels = input.labels(1, FLAG)?;
        let y = labels.floats();
        let x = X::read(input, 2)?;
        for t in 0..input.rows() {
            let spec = said.get(t)?;
            let state = states.at(t)?;
            fold::keep(&mut state.spec, &spec)?;
            state.row(&spec, t, &x, &y)?;
        }
        Ok(())
    }

    fn combine(source: &Fold, target: &mut Fold) -> Result<(), Fault> {
        if let Some(spec) = &source.spec {
            fold::keep(&mut target.spec, spec)?;
        }
        let Some(more) = source.posterior()? else {
            target.skip(source.skipped);
            return Ok(());
        };
        target.check_inputs(more.inputs())?;
        match &mut target.merged {
            Some(merged) => merged.merge(&more)?,
            none => *none = Some(more),
        }
        Ok(())
    }

    fn finish(state: &Fold) -> Result<Option<Vec<u8>>, Fault> {
        Ok(state.posterior()?.map(|all| Posterior::from(all).encode()).transpose()?)
    }
}
