//! The engine's memory: everything `unsafe` of this crate.
//!
//! What is above this module sees rows as slices ([`Input`]), states as exclusive references ([`States`]) and answers as values ([`Value`]). What it
//! returns as an error, or panics with, becomes an error of the query: nothing unwinds into the engine.
#![allow(unsafe_code, reason = "the engine hands out pointers; here they become references")]
#![allow(unreachable_pub, reason = "the entry point, written by a macro, is for the engine alone")]

mod aggregate;
mod input;
mod output;
mod scalar;

pub(crate) use aggregate::{Aggregate, Heap, Inline, States};
pub(crate) use input::{Features, Floats, Given, InArray, InColumns, InList, Input, Texts, for_columns};
pub(crate) use output::{Description, Step, Value};
pub(crate) use scalar::Scalar;

use std::panic::{AssertUnwindSafe, catch_unwind};

use quack_rs::aggregate::AggregateFunctionSetBuilder;
use quack_rs::callback::take_panic_message;
use quack_rs::connection::{Connection, Registrar};
use quack_rs::error::ExtensionError;
use quack_rs::scalar::ScalarFunctionSetBuilder;
use quack_rs::types::{LogicalType, TypeId};

use crate::Fault;

/// A type of an argument or an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `DOUBLE`.
    Float,
    /// `BOOLEAN`.
    Flag,
    /// `BIGINT`.
    Integer,
    /// `VARCHAR`.
    Text,
    /// `BLOB`.
    Bytes,
    /// `DOUBLE[]`.
    Floats,
    /// `DOUBLE[d]`.
    Array(usize),
    /// `STRUCT`.
    Fields(&'static [(&'static str, TypeId)]),
    /// `STRUCT[]`.
    Records(&'static [(&'static str, TypeId)]),
}

impl Kind {
    /// Of labels: true or false where `flag`, else numbers.
    pub(crate) fn label(flag: bool) -> Self {
        if flag { Self::Flag } else { Self::Float }
    }

    /// The name by which errors call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Float => "DOUBLE",
            Self::Flag => "BOOLEAN",
            Self::Integer => "BIGINT",
            Self::Text => "VARCHAR",
            Self::Bytes => "BLOB",
            Self::Floats => "DOUBLE[]",
            Self::Array(_) => "DOUBLE[d]",
            Self::Fields(_) => "STRUCT",
            Self::Records(_) => "STRUCT[]",
        }
    }

    fn id(self) -> TypeId {
        match self {
            Self::Float => TypeId::Double,
            Self::Flag => TypeId::Boolean,
            Self::Integer => TypeId::BigInt,
            Self::Text => TypeId::Varchar,
            Self::Bytes => TypeId::Blob,
            Self::Floats | Self::Records(_) => TypeId::List,
            Self::Array(_) => TypeId::Array,
            Self::Fields(_) => TypeId::Struct,
        }
    }

    fn logical(self) -> LogicalType {
        match self {
            Self::Floats => LogicalType::list(TypeId::Double),
            Self::Array(d) => LogicalType::array(TypeId::Double, d as u64),
            Self::Fields(fields) => LogicalType::struct_type(fields),
            Self::Records(fields) => LogicalType::list_from_logical(&LogicalType::struct_type(fields)),
            plain => LogicalType::new(plain.id()),
        }
    }
}

/// Runs a callback's body; what went wrong in it, a panic included, as words for the query.
fn guarded(name: &'static str, body: impl FnOnce() -> Result<(), Fault>) -> Result<(), String> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(fault)) => Err(format!("{name}: {fault}")),
        Err(panic) => Err(format!("{name}: internal error: {}", take_panic_message(panic))),
    }
}

/// Adds functions to the engine's catalogue.
pub(crate) struct Catalogue<'a>(&'a Connection);

impl Catalogue<'_> {
    /// Adds an aggregate with all its forms.
    pub(crate) fn aggregate(
        &self,
        name: &'static str,
        forms: impl FnOnce(AggregateFunctionSetBuilder) -> AggregateFunctionSetBuilder,
    ) -> Result<(), ExtensionError> {
        let set = forms(AggregateFunctionSetBuilder::try_new(name)?);
        // SAFETY: the connection is the one that the engine has opened for this registration. The callbacks of each form come from
        // `aggregate::form`, which takes all of them for one and the same `Place`.
        unsafe { self.0.register_aggregate_set(set) }
    }

    /// Adds a function of each row with all its forms.
    pub(crate) fn scalar(
        &self,
        name: &'static str,
        forms: impl FnOnce(ScalarFunctionSetBuilder) -> ScalarFunctionSetBuilder,
    ) -> Result<(), ExtensionError> {
        let set = forms(ScalarFunctionSetBuilder::try_new(name)?);
        // SAFETY: as above.
        unsafe { self.0.register_scalar_set(set) }
    }
}

/// Adds one form to a set.
pub(crate) trait Form {
    /// The set with this form.
    fn with<F: Formed<Self>>(self) -> Self
    where
        Self: Sized,
    {
        F::add(self)
    }
}

/// What can be a form in a set `S`.
pub(crate) trait Formed<S> {
    /// The set with this form.
    fn add(set: S) -> S;
}

impl Form for AggregateFunctionSetBuilder {}
impl Form for ScalarFunctionSetBuilder {}

quack_rs::entry_point_v2!(vi_duckdb_init_c_api, |connection| crate::register(&Catalogue(connection)));
