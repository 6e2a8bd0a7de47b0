//! Passes over rows that stay where they are, to the best Gaussian.

use std::sync::Arc;

use datafusion::dataframe::DataFrame;
use datafusion::prelude::SessionContext;
use datafusion_common::arrow::array::{Array, AsArray};
use datafusion_common::{Column, ScalarValue};
use datafusion_expr::{AggregateUDF, Expr, lit};
use vi_core::DenseGaussian;
use vi_core::batch::{BatchInfo, BatchSettings, Search};
use vi_sums::{At, GlmPosterior, GlmSpec, PassSums, Posterior};

use crate::aggregate::{Glm, Pass, Rowwise};
use crate::{SqlError, types};

const NAME: &str = "fit_glm";

/// What is fitted, and when the search stops.
#[derive(Debug, Clone)]
pub struct FitSettings {
    /// Family and prior.
    pub model: GlmSpec,
    /// Tolerance and the largest number of passes.
    pub search: BatchSettings,
}

impl FitSettings {
    /// The settings of a model as a query describes it, such as `"logistic scale=1"`, with the default search.
    ///
    /// # Errors
    /// [`SqlError::Sums`].
    pub fn new(model: &str) -> Result<Self, SqlError> {
        let model = GlmSpec::parse(model).map_err(|source| SqlError::Sums { function: NAME, source })?;
        Ok(Self { model, search: BatchSettings::default() })
    }
}

/// A fit and how it was found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fitted {
    /// The posterior, whose record the functions of queries read.
    pub posterior: GlmPosterior,
    /// The Gaussian over intercept (first, where there is one) and weights.
    pub belief: DenseGaussian,
    /// Passes, bounds, and why the search stopped.
    pub info: BatchInfo,
}

impl Fitted {
    /// The record of the posterior.
    ///
    /// # Errors
    /// [`SqlError::Sums`].
    pub fn record(&self) -> Result<Vec<u8>, SqlError> {
        Posterior::from(self.posterior.clone()).encode().map_err(told)
    }
}

fn told(source: vi_sums::SumsError) -> SqlError {
    SqlError::Sums { function: NAME, source }
}

/// The variational Gaussian optimum of the rows of `sql`, whose first column is the label and whose others are features, or one list of them.
///
/// Each pass is one query for `vi_pass`: the rows stay where the engine has them, `d²/2` numbers come back. The result is that of [`vi_core::batch::optimum`]
/// on one machine, to the search's tolerance, however the rows are parted. `progress` is called after each pass. Cost: the query, 10 to 40 times; a table that
/// is dear to compute is better cached first.
///
/// # Errors
/// What the engine answers; [`SqlError::Argument`] for columns that are no numbers, [`SqlError::Sums`] for labels outside the family, [`SqlError::Search`]. Not
/// converging is told by [`BatchInfo::stop`].
///
/// ```
/// use datafusion::prelude::SessionContext;
/// use vi_datafusion::{FitSettings, fit_glm};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
/// let engine = SessionContext::new();
/// engine.sql("CREATE TABLE t AS VALUES (1.0, 0.2), (0.0, -1.3), (1.0, 2.1), (0.0, -0.4)").await?.collect().await?;
/// let fitted = fit_glm(&engine, "SELECT column1, column2 FROM t", &FitSettings::new("logistic")?, |_| {}).await?;
/// assert_eq!(fitted.info.stop, vi_core::Stop::Converged);
/// assert_eq!(fitted.posterior.rows(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })
/// # }
/// ```
pub async fn fit_glm(
    engine: &SessionContext,
    sql: &str,
    settings: &FitSettings,
    progress: impl FnMut(&BatchInfo),
) -> Result<Fitted, SqlError> {
    fit_glm_frame(&engine.sql(sql).await?, settings, progress).await
}

/// [`fit_glm`] for a plan that is there already.
///
/// # Errors
/// As [`fit_glm`].
pub async fn fit_glm_frame(
    frame: &DataFrame,
    settings: &FitSettings,
    mut progress: impl FnMut(&BatchInfo),
) -> Result<Fitted, SqlError> {
    let fields = frame.schema().fields();
    types::check_rows(NAME, fields)?;
    let found: Vec<_> = fields.iter().map(|field| field.data_type().clone()).collect();
    let coerced = types::rows(NAME, &found)?;
    let columns: Vec<Expr> = frame.schema().columns().into_iter().map(|column: Column| Expr::Column(column)).collect();
    let GlmSpec { family, prior, .. } = settings.model;
    let inputs = match types::inputs(&coerced[1..]) {
        Some(inputs) => inputs,
        None => length(frame, &columns, settings).await?,
    };
    let start = prior.belief(inputs)?;
    let mut search = Search::new(&start, &start, &settings.search)?;
    let pass = Arc::new(AggregateUDF::from(Rowwise::<Pass>::new()));
    let mut counts = (0, 0);
    while let Some(q) = search.wanted() {
        let at = At::new(family, prior, q.clone()).map_err(told)?;
        let record = asked(frame, &pass, ScalarValue::BinaryView(Some(at.record().to_vec())), &columns).await?;
        let Some(record) = record else {
            return Err(vi_core::Error::Empty { argument: "rows" }.into());
        };
        let sums = PassSums::decode(&record).map_err(told)?;
        counts = (sums.rows(), sums.skipped());
        search.tell(sums.statistics(&at).map_err(told)?)?;
        progress(search.info());
    }
    let (belief, info) = search.finish();
    let posterior = GlmPosterior::of_belief(family, prior, &belief, info.bound(), counts).map_err(told)?;
    Ok(Fitted { posterior, belief, info })
}

/// The answer of `function(constant, columns…)` over all rows.
async fn asked(
    frame: &DataFrame,
    function: &AggregateUDF,
    constant: ScalarValue,
    columns: &[Expr],
) -> Result<Option<Vec<u8>>, SqlError> {
    let mut arguments = vec![lit(constant)];
    arguments.extend_from_slice(columns);
    let call = function.call(arguments).alias("answer");
    let batches = frame.clone().aggregate(Vec::new(), vec![call])?.collect().await?;
    let answer = batches.iter().find(|batch| batch.num_rows() > 0);
    Ok(answer.and_then(|batch| {
        let records = batch.column(0).as_binary_view_opt()?;
        records.is_valid(0).then(|| records.value(0).to_vec())
    }))
}

/// The number of features of rows whose lists leave it open.
async fn length(frame: &DataFrame, columns: &[Expr], settings: &FitSettings) -> Result<usize, SqlError> {
    let GlmSpec { family, .. } = settings.model;
    let name = match family {
        vi_sums::Family::NegativeBinomial(counts) => format!("{} size={}", family.name(), counts.size()),
        _ => family.name().to_owned(),
    };
    let function = AggregateUDF::from(Rowwise::<Glm>::new());
    let record = asked(&frame.clone().limit(0, Some(1000))?, &function, lit_text(name), columns).await?;
    let Some(record) = record else {
        return Err(vi_core::Error::Empty { argument: "rows" }.into());
    };
    Ok(Posterior::decode(&record).map_err(told)?.inputs())
}

fn lit_text(text: String) -> ScalarValue {
    ScalarValue::Utf8(Some(text))
}
