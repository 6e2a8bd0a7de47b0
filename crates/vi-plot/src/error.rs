//! Why a picture cannot be drawn.

/// The input of a drawing does not make a picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// A drawing has nothing to show.
    #[error("panel `{panel}`: {what} holds no finite point")]
    NothingToDraw {
        /// Title of the panel.
        panel: String,
        /// The layer or axis concerned.
        what: String,
    },
    /// Two columns that must match in length do not.
    #[error("{what}: expected {expected} values, found {found}")]
    Length {
        /// The argument concerned.
        what: String,
        /// Length it should have.
        expected: usize,
        /// Length it has.
        found: usize,
    },
    /// An axis range is empty, reversed, not finite, or not positive on a logarithmic axis.
    #[error("panel `{panel}`: the {axis} axis cannot run from {lo} to {hi}")]
    Range {
        /// Title of the panel.
        panel: String,
        /// `x` or `y`.
        axis: &'static str,
        /// Lower end asked for.
        lo: f64,
        /// Upper end asked for.
        hi: f64,
    },
    /// A covariance given to an ellipse is not symmetric positive definite.
    #[error("{what}: the covariance is not positive definite")]
    NotPositiveDefinite {
        /// The ellipse concerned.
        what: String,
    },
}

/// Returns an error unless `found == expected`.
pub(crate) fn same_length(what: &str, expected: usize, found: usize) -> Result<(), PlotError> {
    if expected == found { Ok(()) } else { Err(PlotError::Length { what: what.to_owned(), expected, found }) }
}
