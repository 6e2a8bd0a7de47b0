//! What is asked of a model, and changed in it, while other threads of the interpreter run.

use pyo3::prelude::*;
use vi_models::{Marginal, ModelError};

use super::Online;
use crate::fault::{Fault, freely, locked};
use crate::model::Model;
use crate::parts::observed;
use crate::predicted::{Visitor, predict_each, predictor};
use crate::rows::{Numbers, RowsArgument, numbers};
use crate::visitors::Ends;

impl Online {
    /// What `look` finds at the model, other threads running.
    pub(super) fn look<T: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&Model) -> Result<T, Fault> + Send,
    ) -> PyResult<T> {
        freely(py, || look(&*locked(&self.model)?))
    }

    pub(super) fn change<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Model) -> Result<T, Fault> + Send,
    ) -> PyResult<T> {
        freely(py, || change(&mut *locked(&self.model)?))
    }

    /// `visitor` after it has seen the prediction at every row.
    pub(super) fn visited<V: Visitor + Send>(
        &self,
        py: Python<'_>,
        (rows, offset, size): (RowsArgument<'_>, Numbers<'_>, Numbers<'_>),
        visitor: impl FnOnce(usize) -> V + Send,
    ) -> PyResult<V> {
        let n = rows.count();
        let given = rows.rows(self.inputs)?;
        let (offset, size) = (numbers("offset", &offset, n)?, numbers("size", &size, n)?);
        self.look(py, |model| {
            let mut visitor = visitor(n);
            if n == 0 {
                return Ok(visitor);
            }
            let mut memory = Vec::new();
            let rows = given.split(n, self.inputs, &mut memory)?;
            let at = observed(model, n, (None, None, offset, size));
            predict_each(model, &rows, &at, offset, &mut visitor)?;
            Ok(visitor)
        })
    }

    /// Two numbers of what is believed of the linear predictor at every row.
    pub(super) fn predictors(
        &self,
        py: Python<'_>,
        rows: RowsArgument<'_>,
        offset: Numbers<'_>,
        of: impl Fn(&Marginal) -> Result<(f64, f64), ModelError> + Send + Sync,
    ) -> PyResult<Ends> {
        let n = rows.count();
        let given = rows.rows(self.inputs)?;
        let offset = numbers("offset", &offset, n)?;
        self.look(py, |model| {
            let mut ends = Ends::new(n);
            if n > 0 {
                let mut memory = Vec::new();
                for (i, row) in given.split(n, self.inputs, &mut memory)?.into_iter().enumerate() {
                    let (first, second) = of(&predictor(model, i, row, offset.map_or(0.0, |offset| offset[i]))?)?;
                    ends.set(i, first, second);
                }
            }
            Ok(ends)
        })
    }
}
