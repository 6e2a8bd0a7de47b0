//! The extension module `rvi_datafusion._functions`: the functions of `vi-datafusion`, each behind the engine's boundary to C, and the search of `fit_glm`.

mod search;

use std::sync::Arc;

use datafusion_expr::{AggregateUDF, ScalarUDF};
use datafusion_ffi::udaf::FFI_AggregateUDF;
use datafusion_ffi::udf::FFI_ScalarUDF;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// An aggregate that the engine takes over.
#[pyclass(frozen, module = "rvi_datafusion._functions")]
struct Aggregate(Arc<AggregateUDF>);

#[pymethods]
impl Aggregate {
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    fn __datafusion_aggregate_udf__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let function = FFI_AggregateUDF::from(Arc::clone(&self.0));
        PyCapsule::new_with_value(py, function, c"datafusion_aggregate_udf")
    }
}

/// A function of each row that the engine takes over.
#[pyclass(frozen, module = "rvi_datafusion._functions")]
struct Scalar(Arc<ScalarUDF>);

#[pymethods]
impl Scalar {
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    fn __datafusion_scalar_udf__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let function = FFI_ScalarUDF::from(Arc::clone(&self.0));
        PyCapsule::new_with_value(py, function, c"datafusion_scalar_udf")
    }
}

#[pyfunction]
fn aggregates() -> Vec<Aggregate> {
    vi_datafusion::aggregates().into_iter().map(Aggregate).collect()
}

#[pyfunction]
fn scalars() -> Vec<Scalar> {
    vi_datafusion::scalars().into_iter().map(Scalar).collect()
}

/// The functions beneath the package `rvi_datafusion`.
#[pymodule(gil_used = false)]
fn _functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    // The structs of the boundary are those of one major version of the engine.
    module.add("ENGINE", datafusion_ffi::version())?;
    module.add_class::<Aggregate>()?;
    module.add_class::<Scalar>()?;
    module.add_class::<search::Search>()?;
    module.add_function(wrap_pyfunction!(aggregates, module)?)?;
    module.add_function(wrap_pyfunction!(scalars, module)?)?;
    Ok(())
}
