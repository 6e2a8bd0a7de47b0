//! Many folds side by side: `GROUP BY`.

use std::sync::Arc;

use datafusion_common::arrow::array::{ArrayRef, BinaryViewBuilder, BooleanArray, Float64Builder, ListBuilder};
use datafusion_common::{Result, exec_err};
use datafusion_expr::{EmitTo, GroupsAccumulator};

use super::single::states;
use super::{Begun, Model};
use crate::fold::Fold;
use crate::rows::rows;
use crate::slot::{Slot, state_len};

/// Rows of a batch for each group there is from which on they are brought together: sums by columns are quicker than row by row.
const TOGETHER: usize = 16;

/// The accumulator of a fold for each group.
pub(super) struct Groups<M: Model> {
    begun: Begun<M>,
    slots: Vec<Slot<M::Fold>>,
    /// Folds that have begun.
    folds: usize,
}

impl<M: Model> Groups<M> {
    pub(super) fn new(begun: Begun<M>) -> Self {
        Self { begun, slots: Vec::new(), folds: 0 }
    }

    fn grow(&mut self, groups: usize) {
        if self.slots.len() < groups {
            self.slots.resize_with(groups, Slot::default);
        }
    }

    fn taken(&mut self, emit: EmitTo) -> Vec<Slot<M::Fold>> {
        let taken = emit.take_needed(&mut self.slots);
        self.folds -= taken.iter().filter(|slot| slot.is_begun()).count();
        taken
    }

    /// The states of `slots`, as one array of lists.
    fn array_of<'a>(&self, slots: impl ExactSizeIterator<Item = &'a Slot<M::Fold>>) -> Result<ArrayRef> {
        let count = slots.len();
        let length = self.begun.inputs.map_or(0, state_len::<M::Fold>);
        // Offsets of lists are 32 bits.
        if count.saturating_mul(length) > i32::MAX as usize {
            return exec_err!("{}: {count} groups of {length} numbers are more than one batch holds", M::NAME);
        }
        let mut lists = ListBuilder::with_capacity(Float64Builder::with_capacity(count * length), count);
        let mut state = Vec::with_capacity(length);
        for slot in slots {
            state.clear();
            slot.write(M::NAME, &self.begun.shared, &mut state)?;
            lists.values().append_slice(&state);
            lists.append(true);
        }
        Ok(Arc::new(lists.finish()))
    }
}

impl<M: Model> GroupsAccumulator for Groups<M> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.grow(total);
        let Begun { shared, inputs, head } = &mut self.begun;
        let (label, features) = (&values[*head], &values[*head + 1..]);
        let rows = rows(M::NAME, label, features, filter, M::Fold::strict(shared), inputs)?;
        if rows.y.len() / TOGETHER >= total {
            for (group, x, y) in rows.by_group(groups, total).groups() {
                let slot = &mut self.slots[group];
                self.folds += usize::from(!slot.is_begun());
                slot.add_columns(M::NAME, shared, &x, y)?;
            }
        } else {
            let mut row = Vec::new();
            for (t, y) in rows.y.iter().enumerate() {
                let slot = &mut self.slots[groups[rows.place(t)]];
                rows.write(t, &mut row);
                self.folds += usize::from(!slot.is_begun());
                slot.add_row(M::NAME, shared, &row, *y)?;
            }
        }
        for t in &rows.skipped {
            self.slots[groups[*t]].skip(1);
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let taken = self.taken(emit);
        let mut records = BinaryViewBuilder::with_capacity(taken.len());
        for slot in &taken {
            records.append_option(slot.finish(M::NAME, &self.begun.shared, self.begun.inputs)?);
        }
        Ok(Arc::new(records.finish()))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let taken = self.taken(emit);
        Ok(vec![self.array_of(taken.iter())?])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.grow(total);
        for (state, group) in states(&values[0]).zip(groups) {
            let Some(state) = state else { continue };
            let slot = &mut self.slots[*group];
            let waiting = !slot.is_begun();
            slot.merge(M::NAME, &self.begun.shared, state)?;
            self.folds += usize::from(waiting && slot.is_begun());
        }
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let Begun { shared, inputs, head } = &self.begun;
        let mut inputs = *inputs;
        let (label, features) = (&values[*head], &values[*head + 1..]);
        let rows = rows(M::NAME, label, features, filter, M::Fold::strict(shared), &mut inputs)?;
        let mut slots: Vec<Slot<M::Fold>> = Vec::new();
        slots.resize_with(label.len(), Slot::default);
        let mut row = Vec::new();
        for (t, y) in rows.y.iter().enumerate() {
            rows.write(t, &mut row);
            slots[rows.place(t)].add_row(M::NAME, shared, &row, *y)?;
        }
        for t in &rows.skipped {
            slots[*t].skip(1);
        }
        Ok(vec![self.array_of(slots.iter())?])
    }

    fn size(&self) -> usize {
        self.slots.capacity() * size_of::<Slot<M::Fold>>() + self.folds * self.begun.inputs.map_or(0, M::Fold::size)
    }
}
