//! How large the numbers of a belief may be, so that products of them stay finite for as many rows as can be buffered.

use crate::Error;
use crate::vectors::vectorised;

/// The largest `ψ`, from which follows the largest that a belief may begin with.
const PSI: f64 = 1e145;
const FIRST_PSI: f64 = 1e140;
/// The largest squared size, relative to `Ψ`, of a column of `W` and of what a row adds.
const RELATIVE: f64 = 1e140;
/// The furthest that a row may move a coordinate of the mean, which is less than the rounding of a mean near the largest float.
const SHIFT: f64 = 1e150;

/// The smallest and the largest `ψ`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    pub(super) least: f64,
    pub(super) largest: f64,
}

impl Bounds {
    /// The bounds of `psi`, which is positive and finite.
    pub(super) fn of(psi: &[f64]) -> Self {
        vectorised(
            #[inline(always)]
            || {
                let (chunks, rest) = psi.as_chunks::<8>();
                let (mut least, mut largest) = ([f64::INFINITY; 8], [0.0_f64; 8]);
                for chunk in chunks {
                    for ((least, largest), &psi) in least.iter_mut().zip(&mut largest).zip(chunk) {
                        *least = if psi < *least { psi } else { *least };
                        *largest = if psi > *largest { psi } else { *largest };
                    }
                }
                Self {
                    least: least.iter().chain(rest).copied().fold(f64::INFINITY, f64::min),
                    largest: largest.iter().chain(rest).copied().fold(0.0, f64::max),
                }
            },
        )
    }
}

/// Checks the `ψ` that a belief begins with.
///
/// # Errors
/// [`Error::Entry`].
pub(super) fn check_psi(psi: &[f64]) -> Result<(), Error> {
    match psi.iter().position(|psi| *psi > FIRST_PSI) {
        None => Ok(()),
        Some(index) => {
            let requirement = "at most 1e140: products with it must be finite";
            Err(Error::Entry { argument: "psi", index, value: psi[index], requirement })
        }
    }
}

/// Checks `w_jᵀΨ⁻¹w_j` of the columns that a belief begins with.
///
/// # Errors
/// [`Error::Overflow`].
pub(super) fn check_columns(squares: impl Iterator<Item = f64>) -> Result<(), Error> {
    for value in squares {
        check("wᵀΨ⁻¹w", value, RELATIVE)?;
    }
    Ok(())
}

/// Checks `|h|·xᵀΨ⁻¹x`, what a row adds to a precision with these `ψ`.
///
/// # Errors
/// [`Error::Overflow`].
pub(super) fn check_added(added: f64, psi: Bounds) -> Result<(), Error> {
    check("h·xᵀΨ⁻¹x", added, RELATIVE)?;
    check("ψ·(1 + h·xᵀΨ⁻¹x)", psi.largest * (1.0 + added), PSI)
}

/// Checks a bound of `|e·(Px)ᵢ|`.
///
/// # Errors
/// [`Error::Overflow`].
pub(super) fn check_shift(shift: f64) -> Result<(), Error> {
    check("e·‖Px‖", shift, SHIFT)
}

fn check(quantity: &'static str, value: f64, largest: f64) -> Result<(), Error> {
    if value <= largest { Ok(()) } else { Err(Error::Overflow { quantity, value }) }
}
