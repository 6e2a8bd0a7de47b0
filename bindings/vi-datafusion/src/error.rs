//! What can go wrong, as the engine hears it.

use datafusion_common::DataFusionError;
use vi_sums::SumsError;

/// Errors of `vi-datafusion`. The engine wraps them in its own ([`DataFusionError::External`]), with their words.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqlError {
    /// An argument of a function is of a type that it cannot have.
    #[error("{function}: {argument} is {found}, expected {expected}")]
    Argument {
        /// The function.
        function: &'static str,
        /// Which argument.
        argument: String,
        /// What it is.
        found: String,
        /// What it has to be.
        expected: &'static str,
    },
    /// What a function cannot be asked for.
    #[error("{function} {what}")]
    Refused {
        /// The function.
        function: &'static str,
        /// What is refused, and why.
        what: &'static str,
    },
    /// A posterior that is too large to travel in a query.
    #[error("a posterior over {inputs} inputs takes {bytes} bytes, above the {limit} that a query carries")]
    TooLarge {
        /// Its inputs.
        inputs: usize,
        /// Its bytes.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Rows whose lists differ in length.
    #[error("{function}: a row has {found} features, the rows before it {expected}")]
    Length {
        /// The function.
        function: &'static str,
        /// The length before.
        expected: usize,
        /// The length found.
        found: usize,
    },
    /// A state that another version of these functions has made.
    #[error("{function}: a state of version {found}, this one reads {supported}")]
    State {
        /// The function.
        function: &'static str,
        /// The version found.
        found: f64,
        /// The version read.
        supported: f64,
    },
    /// A number of a row.
    #[error("{function}: column {column}: {source}")]
    Column {
        /// The function.
        function: &'static str,
        /// The name of the column.
        column: String,
        /// What is wrong.
        source: vi_core::Error,
    },
    /// A panic, which is not to be seen.
    #[error("{function}: a fault of these functions, please report it: {what}")]
    Fault {
        /// The function.
        function: &'static str,
        /// The words of the panic.
        what: String,
    },
    /// The sums, a record or a prediction.
    #[error("{function}: {source}")]
    Sums {
        /// The function.
        function: &'static str,
        /// What is wrong.
        source: SumsError,
    },
    /// The engine.
    #[error(transparent)]
    Engine(#[from] DataFusionError),
    /// The search for the optimum.
    #[error(transparent)]
    Search(#[from] vi_core::Error),
}

impl SqlError {
    /// The same as an error of the engine.
    pub(crate) fn into_engine(self) -> DataFusionError {
        match self {
            Self::Engine(error) => error,
            other => DataFusionError::External(Box::new(other)),
        }
    }
}

impl From<SqlError> for DataFusionError {
    fn from(error: SqlError) -> Self {
        error.into_engine()
    }
}

/// What `vi-sums` says, told of a function.
pub(crate) fn told(function: &'static str) -> impl Fn(SumsError) -> DataFusionError {
    move |source| SqlError::Sums { function, source }.into_engine()
}
