//! `D` numbers, in an array or in columns: a state is `N` floats in the engine's memory.

use std::marker::PhantomData;

use pulp::{Arch, Simd, WithSimd};
use vi_sums::{LinearPosterior, LinearPrior, LinearSlice, LinearSpec, LinearSums, Posterior};

use crate::Fault;
use crate::ffi::{Aggregate, Features, Floats, Given, Inline, Input, Kind, States};
use crate::fold::{self, BLOCK, Said};

/// Floats behind the sums where a query says something of the model: 0 before the first row, then 1, or 2 for `strict`; the prior.
pub(super) const SETTINGS: usize = 5;

/// The aggregate over rows of `D` features, given as `X`; with settings where `N` has room for them.
pub(crate) struct Fixed<X, const D: usize, const N: usize>(PhantomData<X>);

impl<X, const D: usize, const N: usize> Fixed<X, D, N> {
    const SUMS: usize = LinearSums::flat_len(D);
    const SAID: bool = N > Self::SUMS;
}

/// What settings have been kept; `None` before the first row.
fn kept(settings: &[f64]) -> Option<LinearSpec> {
    match *settings {
        [mark, scale, intercept, shape, rate] if mark != 0.0 => {
            Some(LinearSpec { prior: LinearPrior { scale, intercept, shape, rate }, strict: mark == 2.0 })
        }
        _ => None,
    }
}

fn keep(settings: &mut [f64], spec: &LinearSpec) -> Result<(), Fault> {
    if let Some(before) = kept(settings) {
        return fold::same(&before, spec);
    }
    let LinearPrior { scale, intercept, shape, rate } = spec.prior;
    let mark = if spec.strict { 2.0 } else { 1.0 };
    settings.copy_from_slice(&[mark, scale, intercept, shape, rate]);
    Ok(())
}

/// The rows of a chunk, for the vector instructions of the machine.
struct Chunk<'a, 'b, X, const D: usize, const N: usize> {
    x: X,
    y: Floats<'a>,
    said: Option<Said<'a, LinearSpec>>,
    rows: usize,
    states: &'b mut States<'a, Inline<N>>,
}

impl<X: Features, const D: usize, const N: usize> WithSimd for Chunk<'_, '_, X, D, N> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "has to be compiled inside the SIMD dispatch")]
    fn with_simd<S: Simd>(mut self, _simd: S) -> Result<(), Fault> {
        let mut t = 0;
        while t < self.rows {
            let mut end = self.states.end(t);
            let (sums, settings) = self.states.at(t)?.split_at_mut(Fixed::<X, D, N>::SUMS);
            let mut strict = false;
            if let Some(said) = &mut self.said {
                let spec = said.get(t)?;
                keep(settings, &spec)?;
                (strict, end) = (spec.strict, said.end(t + 1..end));
            }
            let mut sums = LinearSlice::new(D, sums)?;
            if end - t < BLOCK {
                for t in t..end {
                    fold::row(&mut sums, self.x.row(t), self.y.get(t), strict)?;
                }
            } else {
                fold::rows(&mut sums, &self.x, &self.y, t..end, strict)?;
            }
            t = end;
        }
        Ok(())
    }
}

impl<X: Given + 'static, const D: usize, const N: usize> Aggregate for Fixed<X, D, N> {
    const NAME: &'static str = "vi_linear";
    type Place = Inline<N>;
    type Answer = Vec<u8>;

    fn takes() -> Vec<Kind> {
        let settings = Self::SAID.then_some(Kind::Text);
        settings.into_iter().chain([Kind::Float]).chain(X::kinds()).collect()
    }

    fn update<'a>(input: &Input<'a>, states: &mut States<'a, Inline<N>>) -> Result<(), Fault> {
        let head = usize::from(Self::SAID);
        let said = if Self::SAID { Some(Said::new(input.texts(0)?, LinearSpec::parse)) } else { None };
        let (y, x) = (input.floats(head)?, X::read(input, head + 1)?);
        Arch::new().dispatch(Chunk::<_, D, N> { x, y, said, rows: input.rows(), states })
    }

    fn combine(source: &[f64; N], target: &mut [f64; N]) -> Result<(), Fault> {
        let (source, settings) = source.split_at(Self::SUMS);
        let (target, own) = target.split_at_mut(Self::SUMS);
        if let Some(spec) = kept(settings) {
            keep(own, &spec)?;
        }
        Ok(LinearSlice::new(D, target)?.merge(source)?)
    }

    fn finish(state: &[f64; N]) -> Result<Option<Vec<u8>>, Fault> {
        let (sums, settings) = state.split_at(Self::SUMS);
        let prior = match kept(settings) {
            Some(spec) => spec.prior,
            // Without rows nothing is known of the settings that they would have had.
            None if Self::SAID => return Ok(None),
            None => LinearPrior::default(),
        };
        let posterior = LinearPosterior::of(prior, LinearSums::from_flat(D, sums)?)?;
        Ok(Some(Posterior::from(posterior).encode()?))
    }
}
