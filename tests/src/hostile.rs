//! Input as an enemy would send it, and what may come of it: an error, or a model that can be worked with.
//!
//! Each function takes any bytes and says what is wrong, if anything is. The fuzz targets (`fuzz/`) call them with bytes that a search
//! finds, the tests with bytes from a generator.
//!
//! ```
//! use vi_tests::hostile;
//! assert!(hostile::csv(b"a,y\n1,0\n2,x\n").is_ok());
//! ```

mod bytes;
mod documents;
pub mod examples;
mod fits;
pub mod models;
mod operations;
mod records;
mod sums;

pub use bytes::Bytes;
pub use documents::document;
pub use fits::AnyFit;
pub use models::MODELS;
pub use operations::{operations, settings};
pub use records::{KINDS, Raw, read_error, record, use_record};

use vi_core::{BernoulliLogit, Error, Exact, Implicit, Mixture8, MomentMatching, ProbitApproximation, SiteRule};
use vi_data::{CsvSettings, read_csv};
use vi_models::likelihood::{BernoulliProbit, Poisson};

/// What must not be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Finding(String);

impl Finding {
    /// A finding in words.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// Says `what` unless `holds`.
///
/// # Errors
/// The finding.
pub(crate) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), Finding> {
    if holds { Ok(()) } else { Err(Finding::new(what())) }
}

/// Reads `data` as CSV.
///
/// # Errors
/// A table whose numbers are not finite or not as many as its shape says.
pub fn csv(data: &[u8]) -> Result<(), Finding> {
    let Ok(table) = read_csv(data, &CsvSettings::default()) else { return Ok(()) };
    ensure(table.rows_row_major().len() == table.n() * table.d(), || {
        "the shape is not that of the numbers".to_owned()
    })?;
    ensure(table.y().len() == table.n(), || "labels and rows differ in number".to_owned())?;
    let mut numbers = table.rows_row_major().iter().chain(table.y());
    ensure(numbers.all(|value| value.is_finite()), || "a number is not finite".to_owned())
}

/// Takes a step of every rule at numbers that `data` holds.
///
/// # Errors
/// A site that is not finite or leaves no Gaussian.
pub fn implicit_step(data: &[u8]) -> Result<(), Finding> {
    let mut bytes = Bytes::new(data);
    let (a, nu, y) = (bytes.number(), bytes.number(), bytes.number());
    one_step("logit by eight probits", &Implicit(BernoulliLogit(Mixture8)), (a, nu, y))?;
    one_step("logit by one probit", &Implicit(BernoulliLogit(ProbitApproximation)), (a, nu, y))?;
    one_step("logit, exact", &Implicit(BernoulliLogit(Exact)), (a, nu, y))?;
    one_step("probit", &MomentMatching(BernoulliProbit), (a, nu, y))?;
    if let Ok(poisson) = Poisson::new(1.0) {
        one_step("counts", &Implicit(poisson), (a, nu, y))?;
        one_step("counts by moments", &MomentMatching(poisson), (a, nu, y))?;
    }
    Ok(())
}

fn one_step<R: SiteRule>(name: &str, rule: &R, (a, nu, y): (f64, f64, f64)) -> Result<(), Finding> {
    if rule.check_label(y).is_err() || !(a.is_finite() && nu.is_finite() && nu >= 0.0) {
        // What is refused may still be asked; it must answer.
        let _answer: Result<_, Error> = rule.site(a, nu, y);
        return Ok(());
    }
    match rule.site(a, nu, y) {
        Ok(site) => {
            ensure(site.slope.is_finite() && site.curvature.is_finite() && 1.0 + site.curvature * nu > 0.0, || {
                format!("{name} at a = {a:e}, ν = {nu:e}, y = {y:e}: {site:?}")
            })
        }
        Err(_) => Ok(()),
    }
}
