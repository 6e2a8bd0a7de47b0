//! Errors as exceptions, and work without the interpreter's lock.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use vi_boost::BoostError;
use vi_models::ModelError;
use vi_revrand::RevrandError;
use vi_sums::SumsError;
use vi_terms::TermsError;

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Bad input: `ValueError`.
    Value(String),
    /// A bad table with named columns: `ValueError`.
    Table(TermsError),
    /// An argument of the wrong type: `TypeError`.
    Type(String),
    /// Too little memory: `MemoryError`.
    Memory(String),
    /// A fault of ours, which is not to be seen: `RuntimeError`.
    Own(String),
    /// An exception that Python code raised.
    Raised(PyErr),
}

macro_rules! values {
    ($($error:ty),*) => {$(
        impl From<$error> for Fault {
            fn from(error: $error) -> Self {
                Self::Value(of_rows(&error.to_string()))
            }
        }
    )*};
}

values!(ModelError, vi_core::Error, RevrandError, BoostError, SumsError, serde_json::Error);

/// In Python's words an observation is a row, and a belief an argument.
fn of_rows(text: &str) -> String {
    let text = text.strip_prefix("observation ").map_or_else(|| text.to_owned(), |rest| format!("row {rest}"));
    text.replace("BeliefKind::Diagonal or LowRank takes", "belief='diagonal' or a rank takes")
}

impl From<TermsError> for Fault {
    fn from(error: TermsError) -> Self {
        Self::Table(error)
    }
}

/// The error of a table in the words of Python: rows from 0, options as arguments.
fn in_python(mut error: TermsError) -> String {
    if let TermsError::Field { row, .. } | TermsError::Row { row, .. } = &mut error {
        *row = row.saturating_sub(1);
    }
    let text = error.to_string();
    let told = text.split("`--").enumerate().map(|(k, part)| match part.split_once('`') {
        Some((option, rest)) if k > 0 => format!("`{}`{rest}", option.replacen(' ', "=", 1)),
        _ => part.to_owned(),
    });
    told.collect()
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Table(error) => PyValueError::new_err(in_python(error)),
            Fault::Value(message) => PyValueError::new_err(message),
            Fault::Type(message) => PyTypeError::new_err(message),
            Fault::Memory(message) => PyMemoryError::new_err(message),
            Fault::Own(message) => PyRuntimeError::new_err(message),
            Fault::Raised(error) => error,
        }
    }
}

/// The number of threads that the machine runs at once.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Runs `work` while other Python threads run; a panic becomes a `RuntimeError`.
pub(crate) fn freely<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Fault> + Send) -> PyResult<T> {
    py.detach(|| caught(work)).map_err(PyErr::from)
}

/// Runs `work`; a panic becomes a `RuntimeError`.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Fault::Own(format!("a fault of rvi, please report it: {}", text.unwrap_or_default())))
    })
}

/// The state behind a lock; only to be called without the interpreter's lock, for which its holder may wait.
pub(crate) fn locked<T>(state: &Mutex<T>) -> Result<MutexGuard<'_, T>, Fault> {
    state.lock().map_err(|_| Fault::Own("an earlier fault of rvi has left this model in an unknown state".to_owned()))
}
