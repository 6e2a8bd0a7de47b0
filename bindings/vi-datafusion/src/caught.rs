//! Panics as errors: behind a boundary to C, where the engine may be, a panic would end the process.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use datafusion_common::arrow::array::{ArrayRef, BooleanArray};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{Accumulator, EmitTo, GroupsAccumulator};

use crate::SqlError;
use crate::columns::Columns;

/// What `work` answers; a panic is [`SqlError::Fault`].
pub(crate) fn caught<T>(function: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(SqlError::Fault { function, what: text.unwrap_or_default() }.into())
    })
}

/// An accumulator whose panics are errors, and whose errors of rows name their column; the engine lets go of one that has failed.
#[derive(Debug)]
pub(crate) struct Caught<A> {
    function: &'static str,
    columns: Columns,
    own: A,
}

impl<A> Caught<A> {
    pub(crate) fn new(function: &'static str, columns: Columns, own: A) -> Self {
        Self { function, columns, own }
    }
}

impl<A: Accumulator> Accumulator for Caught<A> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        caught(self.function, || self.own.update_batch(values)).map_err(|error| self.columns.named(error))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        caught(self.function, || self.own.evaluate())
    }

    fn size(&self) -> usize {
        self.own.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        caught(self.function, || self.own.state())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        caught(self.function, || self.own.merge_batch(states))
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        caught(self.function, || self.own.retract_batch(values)).map_err(|error| self.columns.named(error))
    }

    fn supports_retract_batch(&self) -> bool {
        self.own.supports_retract_batch()
    }
}

impl<A: GroupsAccumulator> GroupsAccumulator for Caught<A> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        caught(self.function, || self.own.update_batch(values, groups, filter, total))
            .map_err(|error| self.columns.named(error))
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        caught(self.function, || self.own.evaluate(emit))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        caught(self.function, || self.own.state(emit))
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        caught(self.function, || self.own.merge_batch(values, groups, total))
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        caught(self.function, || self.own.convert_to_state(values, filter)).map_err(|error| self.columns.named(error))
    }

    fn size(&self) -> usize {
        self.own.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion_common::internal_err;

    /// An accumulator with a fault.
    #[derive(Debug)]
    struct Faulty;

    impl Accumulator for Faulty {
        fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
            assert_eq!(values.len(), 1, "a value is missing");
            Ok(())
        }

        fn evaluate(&mut self) -> Result<ScalarValue> {
            internal_err!("an error like others")
        }

        fn size(&self) -> usize {
            0
        }

        fn state(&mut self) -> Result<Vec<ScalarValue>> {
            std::panic::panic_any(1)
        }

        fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
            self.update_batch(states)
        }
    }

    #[test]
    fn a_panic_is_an_error_of_the_function() {
        let mut faulty = Caught::new("vi_linear", Columns::default(), Faulty);
        for error in [faulty.update_batch(&[]), faulty.merge_batch(&[]), faulty.state().map(|_| ())] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("vi_linear") && error.contains("a fault of these functions"), "{error}");
        }
        assert!(faulty.update_batch(&[]).unwrap_err().to_string().contains("a value is missing"));
        assert!(faulty.evaluate().unwrap_err().to_string().contains("an error like others"));
    }
}
