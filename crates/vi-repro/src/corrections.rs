//! What the papers print and what is right, where a claim hangs on it.

pub use crate::report::Correction;

/// Every correction that a claim refers to, in the order of the papers.
#[must_use]
pub fn all() -> Vec<&'static Correction> {
    [
        crate::rvga::claims::CORRECTIONS.as_slice(),
        &crate::lrvga::claims::CORRECTIONS,
        &crate::drugowitsch::claims::CORRECTIONS,
        &crate::bvi::claims::CORRECTIONS,
    ]
    .concat()
}
