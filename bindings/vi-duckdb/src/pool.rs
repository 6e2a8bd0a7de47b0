//! `vi_pool(['settings',] key, posterior)`: groups, each by the linear posterior of its rows, pooled in a linear mixed model.

use quack_rs::aggregate::AggregateState;
use vi_sums::{GroupKey, Pool, PoolSpec};

use crate::Fault;
use crate::ffi::{Aggregate, Heap, Input, Kind, States};
use crate::fold::{self, Said};

/// The key of a row; `None` for null.
type Keys<'a> = Box<dyn Fn(usize) -> Result<Option<GroupKey>, Fault> + 'a>;

/// The keys in a column, which is of texts where `TEXT` and of whole numbers elsewhere.
pub(crate) fn keys<'a, const TEXT: bool>(input: &Input<'a>, column: usize) -> Result<Keys<'a>, Fault> {
    if !TEXT {
        let numbers = input.integers(column)?;
        return Ok(Box::new(move |row| Ok(numbers(row).map(GroupKey::from))));
    }
    let texts = input.texts(column)?;
    Ok(Box::new(move |row| {
        let text = texts.get(row).map(|bytes| std::str::from_utf8(bytes).map_err(|_| Fault::Text));
        Ok(text.transpose()?.map(GroupKey::from))
    }))
}

/// The type of a key.
pub(crate) const fn key(text: bool) -> Kind {
    if text { Kind::Text } else { Kind::Integer }
}

/// The groups so far; `None` before the first row.
#[derive(Default)]
pub(crate) struct Groups(Option<Pool>);

impl AggregateState for Groups {}

/// The aggregate; with settings where `SAID`, keys are texts where `TEXT`.
pub(crate) struct Pooling<const SAID: bool, const TEXT: bool>;

impl<const SAID: bool, const TEXT: bool> Aggregate for Pooling<SAID, TEXT> {
    const NAME: &'static str = "vi_pool";
    type Place = Heap<Groups>;
    type Answer = Vec<u8>;

    fn takes() -> Vec<Kind> {
        SAID.then_some(Kind::Text).into_iter().chain([key(TEXT), Kind::Bytes]).collect()
    }

    fn update<'a>(input: &Input<'a>, states: &mut States<'a, Self::Place>) -> Result<(), Fault> {
        let head = usize::from(SAID);
        let mut said = if SAID { Some(Said::new(input.texts(0)?, PoolSpec::parse)) } else { None };
        let (keys, records) = (keys::<TEXT>(input, head)?, input.bytes(head + 1)?);
        for row in 0..input.rows() {
            let spec = said.as_mut().map_or_else(|| Ok(PoolSpec::default()), |said| said.get(row))?;
            let state = states.at(row)?;
            let pool = match &mut state.0 {
                Some(pool) => pool,
                none => none.insert(Pool::new(spec.clone())?),
            };
            fold::same(pool.spec(), &spec)?;
            pool.add_record(keys(row)?, records.get(row))?;
        }
        Ok(())
    }

    fn combine(source: &Groups, target: &mut Groups) -> Result<(), Fault> {
        let Some(more) = &source.0 else { return Ok(()) };
        match &mut target.0 {
            Some(pool) => {
                fold::same(pool.spec(), more.spec())?;
                pool.merge(more)?;
            }
            none => *none = Some(more.clone()),
        }
        Ok(())
    }

    fn finish(state: &Groups) -> Result<Option<Vec<u8>>, Fault> {
        let Some(mut pool) = state.0.clone() else { return Ok(None) };
        pool.find()?;
        Ok(Some(fold::check_pool(pool.inputs(), pool.encode()?)?))
    }
}
