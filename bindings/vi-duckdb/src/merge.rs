//! `vi_merge(posterior)`: posteriors of parts, added.

use quack_rs::aggregate::AggregateState;
use vi_sums::Posterior;

use crate::Fault;
use crate::ffi::{Aggregate, Heap, Input, Kind, States};

/// The sum of the posteriors so far.
#[derive(Default)]
pub(crate) struct Sum(Option<Posterior>);

impl AggregateState for Sum {}

impl Sum {
    fn add(&mut self, more: &Posterior) -> Result<(), Fault> {
        match &mut self.0 {
            Some(sum) => sum.merge(more)?,
            none => *none = Some(more.clone()),
        }
        Ok(())
    }
}

/// The aggregate; a null is no posterior, and no posterior at all gives null.
pub(crate) struct Merge;

impl Aggregate for Merge {
    const NAME: &'static str = "vi_merge";
    type Place = Heap<Sum>;
    type Answer = Vec<u8>;

    fn takes() -> Vec<Kind> {
        vec![Kind::Bytes]
    }

    fn update<'a>(input: &Input<'a>, states: &mut States<'a, Self::Place>) -> Result<(), Fault> {
        let records = input.bytes(0)?;
        for row in 0..input.rows() {
            if let Some(bytes) = records.get(row) {
                states.at(row)?.add(&Posterior::decode(bytes)?)?;
            }
        }
        Ok(())
    }

    fn combine(source: &Sum, target: &mut Sum) -> Result<(), Fault> {
        source.0.as_ref().map_or(Ok(()), |more| target.add(more))
    }

    fn finish(state: &Sum) -> Result<Option<Vec<u8>>, Fault> {
        Ok(state.0.as_ref().map(Posterior::encode).transpose()?)
    }
}
