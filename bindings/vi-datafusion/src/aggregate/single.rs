//! One fold: no groups, or a window that slides.

use std::fmt;

use datafusion_common::arrow::array::{Array, ArrayRef, AsArray};
use datafusion_common::arrow::datatypes::DataType;
use datafusion_common::arrow::datatypes::Float64Type;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::Accumulator;

use super::{Begun, Model};
use crate::fold::Fold;
use crate::rows::rows;
use crate::slot::Slot;

/// The accumulator of one fold.
pub(super) struct Single<M: Model> {
    begun: Begun<M>,
    slot: Slot<M::Fold>,
}

impl<M: Model> fmt::Debug for Single<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Single").field("function", &M::NAME).field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl<M: Model> Single<M> {
    pub(super) fn new(begun: Begun<M>) -> Self {
        Self { begun, slot: Slot::default() }
    }
}

/// The states of a list array, in order; a null is none.
pub(super) fn states(array: &ArrayRef) -> impl Iterator<Item = Option<&[f64]>> {
    let lists = array.as_list::<i32>();
    let values = lists.values().as_primitive::<Float64Type>().values();
    let end = |at: &i32| usize::try_from(*at).unwrap_or(0);
    let range = |window: &[i32]| end(&window[0])..end(&window[1]);
    let ranges: Vec<_> = lists.value_offsets().windows(2).map(range).collect();
    ranges.into_iter().enumerate().map(move |(t, range)| lists.is_valid(t).then(|| &values[range]))
}

impl<M: Model> Accumulator for Single<M> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Begun { shared, inputs, head } = &mut self.begun;
        let (label, features) = (&values[*head], &values[*head + 1..]);
        let rows = rows(M::NAME, label, features, None, M::Fold::strict(shared), inputs)?;
        self.slot.add(M::NAME, shared, &rows)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::BinaryView(self.slot.finish(M::NAME, &self.begun.shared, self.begun.inputs)?))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.begun.inputs.map_or(0, M::Fold::size)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut state = Vec::new();
        self.slot.write(M::NAME, &self.begun.shared, &mut state)?;
        let state: Vec<ScalarValue> = state.into_iter().map(|value| ScalarValue::Float64(Some(value))).collect();
        Ok(vec![ScalarValue::List(ScalarValue::new_list_nullable(&state, &DataType::Float64))])
    }

    fn merge_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        states(&values[0]).flatten().try_for_each(|state| self.slot.merge(M::NAME, &self.begun.shared, state))
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Begun { shared, inputs, head } = &mut self.begun;
        let (label, features) = (&values[*head], &values[*head + 1..]);
        let rows = rows(M::NAME, label, features, None, M::Fold::strict(shared), inputs)?;
        self.slot.retract(M::NAME, &rows)
    }

    fn supports_retract_batch(&self) -> bool {
        M::Fold::RETRACTS
    }
}
