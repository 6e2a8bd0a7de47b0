//! `vi_linear(['settings',] y, x…)`: columns, or arrays of a fixed length, whose sums stay in the engine's memory; `vi_linear_list`: lists of any length.
//!
//! Two names, since the engine turns a list into an array of any length as willingly as it leaves it a list.

mod fixed;
mod list;

use quack_rs::aggregate::AggregateFunctionSetBuilder;
use vi_sums::LinearSums;

use crate::ffi::{Form, InArray, InColumns};
use fixed::{Fixed, SETTINGS};
use list::List;

/// All forms for arrays and columns.
pub(crate) fn fixed(set: AggregateFunctionSetBuilder) -> AggregateFunctionSetBuilder {
    macro_rules! with {
        ($set:ident, $form:ident, $($d:literal)*) => {
            $set$(
                .with::<Fixed<$form<$d>, $d, { LinearSums::flat_len($d) }>>()
                .with::<Fixed<$form<$d>, $d, { LinearSums::flat_len($d) + SETTINGS }>>()
            )*
        };
    }
    let set = with!(set, InArray, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 24 32);
    with!(set, InColumns, 1 2 3 4 5 6 7 8)
}

/// All forms for lists.
pub(crate) fn lists(set: AggregateFunctionSetBuilder) -> AggregateFunctionSetBuilder {
    set.with::<List<false>>().with::<List<true>>()
}
