//! `vi_pool(['settings',] key, posterior)`: groups, each by the linear posterior of its rows, pooled in a linear mixed model.

use datafusion_common::arrow::array::{ArrayRef, AsArray};
use datafusion_common::arrow::datatypes::DataType;
use datafusion_common::arrow::record_batch::RecordBatch;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::function::AccumulatorArgs;
use datafusion_expr::{Accumulator, ColumnarValue, Expr};
use vi_sums::{LinearSums, Pool, PoolSpec, Posterior};

use super::Adding;
use crate::error::told;
use crate::keys::Keys;
use crate::slot::check_pool;
use crate::{SqlError, types};

const NAME: &str = "vi_pool";

/// The aggregate; records of the same key are added before they are pooled.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pooling;

/// The settings of a call; a null is the defaults.
fn spec(settings: &ScalarValue) -> Result<PoolSpec> {
    PoolSpec::parse(settings.try_as_str().flatten().unwrap_or_default()).map_err(told(NAME))
}

impl Adding for Pooling {
    const NAME: &'static str = NAME;

    const DISTINCT: &'static str = "adds every posterior of a group: with DISTINCT two months alike would be one";

    type Sum = Pooled;

    fn coerce(found: &[DataType]) -> Result<Vec<DataType>> {
        let (settings, rest) = found.split_at(found.len().saturating_sub(2));
        let ([] | [_], [key, posterior]) = (settings, rest) else {
            let what = "takes the key of a group and the posterior of its rows, with settings before them or without";
            return Err(SqlError::Refused { function: NAME, what }.into());
        };
        let mut out = settings.iter().map(|own| types::text(NAME, "the settings", own)).collect::<Result<Vec<_>>>()?;
        out.extend([types::key(NAME, key)?, types::record(NAME, "the posterior", posterior)?]);
        Ok(out)
    }

    fn check(arguments: &[Expr]) -> Result<()> {
        match arguments {
            [Expr::Literal(settings, _), _, _] => spec(settings).map(drop),
            _ => Ok(()),
        }
    }

    fn begin(args: &AccumulatorArgs<'_>) -> Result<Pooled> {
        let mut parsed = PoolSpec::default();
        if let [settings, _, _] = args.exprs {
            let none = RecordBatch::new_empty(args.schema.clone().into());
            parsed = match settings.evaluate(&none)? {
                ColumnarValue::Scalar(value) => spec(&value)?,
                ColumnarValue::Array(_) => return Err(crate::aggregate::not_constant(NAME)),
            };
        }
        Ok(Pooled { pool: Pool::new(parsed).map_err(told(NAME))? })
    }
}

/// The groups so far.
#[derive(Debug)]
pub(crate) struct Pooled {
    pool: Pool,
}

impl Pooled {
    fn record(&self) -> Result<ScalarValue> {
        let record = (self.pool.groups() > 0).then(|| self.pool.encode()).transpose().map_err(told(NAME))?;
        if let Some(record) = &record {
            check_pool(self.pool.inputs(), record.len())?;
        }
        Ok(ScalarValue::BinaryView(record))
    }
}

impl Accumulator for Pooled {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [.., keys, records] = values else { return datafusion_common::internal_err!("too few arguments") };
        let (keys, records) = (Keys::of(keys)?, records.as_binary_view());
        for (t, record) in records.iter().enumerate() {
            self.pool.add_record(keys.get(t), record).map_err(told(NAME))?;
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.pool.groups() > 0 {
            self.pool.find().map_err(told(NAME))?;
        }
        self.record()
    }

    fn size(&self) -> usize {
        /// Key, place in the tree and what an allocation takes.
        const BESIDE: usize = 160;
        let own = BESIDE + size_of::<f64>() * LinearSums::flat_len(self.pool.inputs());
        size_of::<Self>() + own.saturating_mul(self.pool.groups())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.record()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for bytes in states[0].as_binary_view().iter().flatten() {
            let part = Posterior::decode(bytes).map_err(told(NAME))?;
            self.pool.merge(part.pool().map_err(told(NAME))?).map_err(told(NAME))?;
        }
        Ok(())
    }
}
