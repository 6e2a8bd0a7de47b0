//! Functions of a pass: what it says of its place, and where it leads.

use vi_sums::{At, PassSums, Posterior};

use super::Records;
use crate::Fault;
use crate::ffi::{Input, Kind, Scalar, Step};

/// `vi_factors(at, pass)`: what stands for the rows of a pass, as a posterior of these rows.
pub(crate) struct Factors;

impl Scalar for Factors {
    const NAME: &'static str = "vi_factors";
    type Answer = Vec<u8>;

    fn takes() -> Vec<Kind> {
        vec![Kind::Bytes, Kind::Bytes]
    }

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Vec<u8>>, Fault>, Fault> {
        let (mut places, mut passes) = (Records::new(input.bytes(0)?), Records::new(input.bytes(1)?));
        Ok(move |row| {
            let (at, pass) = (places.read(row, At::decode)?, passes.read(row, PassSums::decode)?);
            let (Some(at), Some(pass)) = (at, pass) else { return Ok(None) };
            Ok(Some(Posterior::from(pass.factors(at)?).encode()?))
        })
    }
}

/// `vi_newton(at, pass)`, and `vi_newton(at, pass, share)` where `SHARE`: the step, the bound at the place, the length of the full step.
pub(crate) struct Newton<const SHARE: bool>;

impl<const SHARE: bool> Scalar for Newton<SHARE> {
    const NAME: &'static str = "vi_newton";
    type Answer = Step;

    fn takes() -> Vec<Kind> {
        if SHARE { vec![Kind::Bytes, Kind::Bytes, Kind::Float] } else { vec![Kind::Bytes, Kind::Bytes] }
    }

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Step>, Fault>, Fault> {
        let (mut places, mut passes) = (Records::new(input.bytes(0)?), Records::new(input.bytes(1)?));
        let shares = if SHARE { Some(input.floats(2)?) } else { None };
        Ok(move |row| {
            let share = shares.map_or(Some(1.0), |shares| shares.get(row));
            let (at, pass) = (places.read(row, At::decode)?, passes.read(row, PassSums::decode)?);
            let (Some(at), Some(pass), Some(share)) = (at, pass, share) else { return Ok(None) };
            let Some(told) = pass.newton(at, share)? else { return Ok(None) };
            let posterior = Posterior::from(told.posterior).encode()?;
            Ok(Some(Step { posterior, bound: told.bound, size: told.size }))
        })
    }
}
