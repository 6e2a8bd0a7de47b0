//! What the aggregates over rows differ in.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use datafusion_common::arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::Expr;
use vi_sums::{At, GlmSpec, LinearSpec, LinearSums, SumsError};

use crate::error::told;
use crate::fold::{Fold, GlmFold, PassFold};
use crate::{SqlError, types};

/// A function, its constant argument and its fold.
pub(crate) trait Model: Debug + Clone + PartialEq + Eq + Hash + Send + Sync + 'static {
    const NAME: &'static str;

    type Fold: Fold;

    /// How many constant arguments stand before the label.
    fn head(types: &[DataType]) -> usize;

    /// The type that the constant argument is given in.
    fn coerce_head(found: &DataType) -> Result<DataType>;

    /// What the constant argument says.
    fn shared(constant: Option<&ScalarValue>) -> Result<<Self::Fold as Fold>::Shared>;

    /// Checks label and features beside the constant, where the query tells their number.
    fn check_columns(_shared: &<Self::Fold as Fold>::Shared, _rest: &[Expr]) -> Result<()> {
        Ok(())
    }
}

/// The text of a constant; a null is none.
fn text(value: Option<&ScalarValue>) -> Option<&str> {
    value.and_then(|value| value.try_as_str().flatten())
}

/// `vi_linear(['settings',] y, x…)`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Linear;

impl Model for Linear {
    const NAME: &'static str = "vi_linear";

    type Fold = LinearSums;

    fn head(types: &[DataType]) -> usize {
        usize::from(types.first().is_some_and(types::is_text))
    }

    fn coerce_head(found: &DataType) -> Result<DataType> {
        types::text(Self::NAME, "the settings", found)
    }

    fn shared(constant: Option<&ScalarValue>) -> Result<LinearSpec> {
        LinearSpec::parse(text(constant).unwrap_or_default()).map_err(told(Self::NAME))
    }
}

/// `vi_glm('family settings', y, x…)`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Glm;

impl Model for Glm {
    const NAME: &'static str = "vi_glm";

    type Fold = GlmFold;

    fn head(_types: &[DataType]) -> usize {
        1
    }

    fn coerce_head(found: &DataType) -> Result<DataType> {
        types::text(Self::NAME, "the family", found)
    }

    fn shared(constant: Option<&ScalarValue>) -> Result<GlmSpec> {
        GlmSpec::parse(text(constant).unwrap_or_default()).map_err(told(Self::NAME))
    }
}

/// `vi_pass(at, y, x…)`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pass;

impl Model for Pass {
    const NAME: &'static str = "vi_pass";

    type Fold = PassFold;

    fn head(_types: &[DataType]) -> usize {
        1
    }

    fn coerce_head(found: &DataType) -> Result<DataType> {
        types::record(Self::NAME, "the place of the pass", found)
    }

    fn shared(constant: Option<&ScalarValue>) -> Result<Arc<At>> {
        let bytes = constant.and_then(crate::scalar::bytes).unwrap_or_default();
        At::decode(bytes).map(Arc::new).map_err(told(Self::NAME))
    }

    fn check_columns(shared: &Arc<At>, rest: &[Expr]) -> Result<()> {
        // One feature may be a list of all.
        if rest.len() > 2 && rest.len() - 1 != shared.inputs() {
            let source = SumsError::Core(vi_core::Error::Dimension {
                argument: "columns of x",
                expected: shared.inputs(),
                found: rest.len() - 1,
            });
            return Err(SqlError::Sums { function: Self::NAME, source }.into());
        }
        Ok(())
    }
}
