//! Functions of each row.

use libduckdb_sys::{duckdb_data_chunk, duckdb_function_info, duckdb_vector};
use quack_rs::scalar::{ScalarFunctionInfo, ScalarFunctionSetBuilder, ScalarOverloadBuilder};
use quack_rs::types::NullHandling;

use super::{Formed, Input, Kind, Value, guarded, output};
use crate::Fault;

/// A function of the arguments of each row.
pub(crate) trait Scalar: 'static {
    /// Its name.
    const NAME: &'static str;
    /// What it answers.
    type Answer: Value;

    /// The types of its arguments.
    fn takes() -> Vec<Kind>;

    /// What gives the answer to a row; `None` for null.
    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Self::Answer>, Fault>, Fault>;
}

impl<S: Scalar> Formed<ScalarFunctionSetBuilder> for S {
    fn add(set: ScalarFunctionSetBuilder) -> ScalarFunctionSetBuilder {
        let form = ScalarOverloadBuilder::new()
            .returns_logical(S::Answer::KIND.logical())
            // A null may be an answer's argument: of a key it is a new group.
            .null_handling(NullHandling::SpecialNullHandling)
            .function(call::<S>);
        set.overload(S::takes().into_iter().fold(form, |form, kind| form.param_logical(kind.logical())))
    }
}

/// # Safety
/// Called by the engine, with a chunk of the types that the function takes and a vector of the type that it answers.
unsafe extern "C" fn call<S: Scalar>(info: duckdb_function_info, input: duckdb_data_chunk, output: duckdb_vector) {
    let done = guarded(S::NAME, || {
        // SAFETY: the engine's chunk, for the length of this call.
        let input = unsafe { Input::new(input) };
        let mut answer = S::answers(&input)?;
        for row in 0..input.rows() {
            let value = answer(row)?;
            // SAFETY: a vector of the type that was registered, with a place for each row of the chunk.
            unsafe { output::put(output, row, value.as_ref())? };
        }
        Ok(())
    });
    if let Err(message) = done {
        // SAFETY: what the engine has passed to this callback.
        unsafe { ScalarFunctionInfo::new(info) }.set_error(&message);
    }
}
