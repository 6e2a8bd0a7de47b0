//! The extension module `rvi._rvi`: the front door's models on NumPy arrays.
//!
//! | file | what |
//! |---|---|
//! | `fault` | errors as exceptions; work without the interpreter's lock, panics caught |
//! | `rows` | arrays as rows, in place |
//! | `learn` | many rows in pieces, between which Ctrl-C is heard |
//! | `parts` | rows, observations, draws, what a model says of itself |
//! | `record`, `seal` | models as records of posteriors; seals of model files |
//! | `online`, `grouped`, `vb`, `features`, `mixture`, `boost` | the classes |
//! | `latent` | latent Gaussian models with the callables of Python |
//! | `bandit` | choices among arms, values of policies from logs |
//! | `arrow` | tables of any library, by the C stream of Arrow |
//! | `sums` | sums of linear regressions, and effects that may be looked at at any time |
//! | `table` | models of tables with named columns, as the command `rvi` makes them |
//!
//! All conventions of the Python world are in `python/rvi`; here a method checks shapes, lets go of the interpreter and calls.

mod arrow;
mod bandit;
mod boost;
mod certified;
mod fault;
mod features;
mod grouped;
mod latent;
mod learn;
mod mixture;
mod online;
mod parts;
mod record;
mod rows;
mod seal;
mod sums;
mod table;
mod vb;

use pyo3::prelude::*;

/// The models beneath the package `rvi`.
#[pymodule(gil_used = false)]
fn _rvi(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<online::Online>()?;
    module.add_class::<certified::Record>()?;
    module.add_class::<grouped::Grouped>()?;
    module.add_class::<vb::VbNumber>()?;
    module.add_class::<vb::VbClass>()?;
    module.add_class::<vb::HorseshoeNumber>()?;
    module.add_class::<vb::HorseshoeClass>()?;
    module.add_class::<features::Fourier>()?;
    module.add_class::<mixture::Mixture>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<sums::Sums>()?;
    module.add_function(wrap_pyfunction!(boost::fit, module)?)?;
    module.add_function(wrap_pyfunction!(boost::constrain, module)?)?;
    module.add_function(wrap_pyfunction!(boost::importance, module)?)?;
    module.add_function(wrap_pyfunction!(latent::latent, module)?)?;
    module.add_function(wrap_pyfunction!(bandit::choose, module)?)?;
    module.add_function(wrap_pyfunction!(bandit::value, module)?)?;
    module.add_function(wrap_pyfunction!(bandit::value_sequence, module)?)?;
    module.add_function(wrap_pyfunction!(seal::seal, module)?)?;
    module.add_function(wrap_pyfunction!(seal::check_seal, module)?)?;
    Ok(())
}
