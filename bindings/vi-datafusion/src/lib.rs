//! Posteriors in the queries of Apache DataFusion: fitted, merged, subtracted and asked where the rows already are.
//!
//! ```
//! # #[cfg(feature = "driver")] {
//! use datafusion::prelude::SessionContext;
//! # fn run() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
//! let mut engine = SessionContext::new();
//! vi_datafusion::register_all(&mut engine)?;
//! engine.sql("CREATE TABLE days AS VALUES ('jan', 1.0, 3.1), ('jan', 2.0, 4.9), ('feb', 3.0, 7.2), ('feb', 4.0, 8.8)").await?;
//! engine.sql("CREATE TABLE months AS SELECT column1 AS month, vi_linear(column3, column2) AS model FROM days GROUP BY column1").await?;
//! let seen = engine
//!     .sql("SELECT vi_predict(year, 5.0) AS seen FROM (SELECT vi_merge(model) AS year FROM months)")
//!     .await?;
//! # drop(seen);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })
//! # }
//! # }
//! ```
//!
//! | function | answers |
//! |---|---|
//! | `vi_linear(['settings',] y, x…)` | aggregate: the posterior of a linear regression with unknown noise, exact; settings as [`vi_sums::LinearSpec`] reads them |
//! | `vi_glm('family settings', y, x…)` | aggregate: that of classes or counts, one pass; as [`vi_sums::GlmSpec`] reads them |
//! | `vi_pass(at, y, x…)` | aggregate: the statistics of one pass of the batch optimum, at a [`vi_sums::At`] or a posterior |
//! | `vi_merge(posterior)` | aggregate: all rows of all posteriors |
//! | `vi_pool(['settings',] key, posterior)` | aggregate: the linear mixed model of groups, each by the `vi_linear` of its rows; as [`vi_sums::PoolSpec`] reads them |
//! | `vi_components(pool)` | list of structs of `name`, `value`, `lower`, `upper`: standard deviations over the groups, correlations, the noise |
//! | `vi_effects(pool[, key])` | list of structs of `group`, `effect`, `mean`, `deviation`, `lower`, `upper`: of all groups, or of one |
//! | `vi_predict_group(['level=0.9',] pool, key, x…)` | as `vi_predict`, for a row of a group; of a new one for a null or a key that no group has |
//! | `vi_robust(['CR0',] pool[, 'a, b'])` | least squares with cluster-robust errors, as `vi_coefficients`; as [`vi_sums::RobustSpec`] reads them |
//! | `vi_subtract(posterior, posterior)` | the first without the rows of the second |
//! | `vi_factors(at, pass)` | what stands for the rows of a pass, as a posterior of these rows: to be subtracted, or Newton's next step |
//! | `vi_newton(at, pass[, share])` | struct of `posterior` (Newton's step or a share of it), `bound` on the evidence at the place, `size` of the full step in standard deviations |
//! | `vi_predict(['level=0.9',] posterior, x…)` | struct of `mean`, `variance`, `lower`, `upper` |
//! | `vi_coefficients(posterior[, 'a, b'])` | list of structs of `name`, `mean`, `deviation`, `lower`, `upper`, the intercept first |
//! | `vi_evidence(posterior)` | `log p(y)` in nats |
//! | `vi_sample(posterior, seed)` | one draw of the weights, the intercept first |
//! | `vi_describe(posterior)` | struct of `kind`, `inputs`, `rows`, `skipped` |
//!
//! Features are columns or one list. A row with a null is left out and counted, so is one with a number that is not finite, which the word `strict` makes an
//! error instead. No rows give the prior, or null where lists leave their length open. `vi_linear` serves sliding windows. A panic would be an error of the
//! query.

#![forbid(unsafe_code)]

mod added;
mod aggregate;
mod caught;
mod columns;
#[cfg(feature = "driver")]
mod driver;
mod error;
mod fold;
mod keys;
mod rows;
mod scalar;
mod slot;
mod types;

#[cfg(feature = "driver")]
pub use driver::{FitSettings, Fitted, fit_glm, fit_glm_frame};
pub use error::SqlError;

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_expr::registry::FunctionRegistry;
use datafusion_expr::{AggregateUDF, ScalarUDF};

use added::{Added, Merge, Pooling};
use aggregate::{Glm, Linear, Pass, Rowwise};
use scalar::{
    Coefficients, Components, Describe, Effects, Evidence, Factors, Newton, Predict, Robust, Sample, Scalar, Subtract,
};

/// The aggregates: `vi_linear`, `vi_glm`, `vi_pass`, `vi_merge`, `vi_pool`.
#[must_use]
pub fn aggregates() -> Vec<Arc<AggregateUDF>> {
    vec![
        Arc::new(AggregateUDF::from(Rowwise::<Linear>::new())),
        Arc::new(AggregateUDF::from(Rowwise::<Glm>::new())),
        Arc::new(AggregateUDF::from(Rowwise::<Pass>::new())),
        Arc::new(AggregateUDF::from(Added::<Merge>::new())),
        Arc::new(AggregateUDF::from(Added::<Pooling>::new())),
    ]
}

/// The functions of posteriors and passes: `vi_subtract`, `vi_factors`, `vi_newton`, `vi_predict`, `vi_predict_group`, `vi_components`, `vi_effects`, `vi_robust`, `vi_coefficients`, `vi_evidence`, `vi_sample`, `vi_describe`.
#[must_use]
pub fn scalars() -> Vec<Arc<ScalarUDF>> {
    vec![
        Arc::new(ScalarUDF::from(Scalar::<Subtract>::new())),
        Arc::new(ScalarUDF::from(Scalar::<Factors>::new())),
        Arc::new(ScalarUDF::from(Scalar::<Newton>::new())),
        Arc::new(ScalarUDF::from(Scalar::<Predict<false>>::new())),
        Arc::new(ScalarUDF::from(Scalar::<Predict<true>>::new())),
        Arc::new(ScalarUDF::from(Scalar::<Components>::new())),
        Arc::new(ScalarUDF::from(Scalar::<Effects>::new())),
        Arc::new(ScalarUDF::from(Scalar::<Robust>::new())),
        Arc::new(ScalarUDF::from(Scalar::<Coefficients>::new())),
        Arc::new(ScalarUDF::from(Scalar::<Evidence>::new())),
        Arc::new(ScalarUDF::from(Scalar::<Sample>::new())),
        Arc::new(ScalarUDF::from(Scalar::<Describe>::new())),
    ]
}

/// Registers all functions; those of the same names that were there before are replaced.
///
/// # Errors
/// What the registry answers, one that is read-only for instance.
pub fn register_all(registry: &mut dyn FunctionRegistry) -> Result<()> {
    for aggregate in aggregates() {
        registry.register_udaf(aggregate)?;
    }
    for scalar in scalars() {
        registry.register_udf(scalar)?;
    }
    Ok(())
}
