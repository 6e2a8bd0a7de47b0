//! One observation of a nonlinear model, and a pass over many.

use rand::Rng;
use vi_linalg::faer::{MatRef, Par};

use super::expectations::{Expectations, draw};
use super::{NaturalMap, NonlinearModel, NonlinearSettings, OutputFamily, Scheme};
use crate::belief::Belief;
use crate::check;
use crate::{Error, LowRankGaussian};

/// Learns one observation `(x, y)` of a nonlinear model (L-RVGA §4.2.4, with (37) corrected):
///
/// ```text
/// X, g  from K draws of q = N(μ, P)                                              (46)
/// P̂⁻¹ = P⁻¹ + XXᵀ,   μ̂ = μ + P̂g                                                 explicit: this is all
/// X̂, ĝ  from K draws of q̂ = N(μ̂, P̂)
/// P_t⁻¹ = P⁻¹ + X̂X̂ᵀ,   μ_t = μ + P_t(ĝ + X̂X̂ᵀ(μ̂ − μ))                            mirror-prox
/// ```
///
/// `P̂` and `P_t` are meant before the projection to rank `p`, which follows as the belief's settings say and takes the `K·m`
/// columns of `X` as rows. Cost `O(d(p + Km)(K + m))` flops and the model's own; memory `d·K(m + 1)` and copies of the belief.
///
/// # Errors
/// [`Error::Setting`]; [`Error::Dimension`], [`Error::NonFinite`], [`Error::Label`] for the observation; [`Error::NonFinite`],
/// [`Error::NotPositiveDefinite`] for what the model returns at a draw; those of the belief's own updates. On an error the belief
/// is unchanged, though the generator has advanced.
pub fn step<H: NaturalMap, F: OutputFamily, R: Rng + ?Sized>(
    belief: &mut LowRankGaussian,
    model: &NonlinearModel<H, F>,
    x: &[f64],
    y: &[f64],
    settings: &NonlinearSettings,
    rng: &mut R,
    par: Par,
) -> Result<(), Error> {
    settings.check()?;
    check::length("parameters of the model", belief.dim(), model.dim())?;
    model.check_observation(x, y)?;
    let mut expectations = |q: &LowRankGaussian| {
        let theta = draw(q, settings.draws, settings.sampling, rng, par)?;
        Expectations::new(model, theta.as_ref(), x, y, par)
    };
    let first = expectations(belief)?;
    let mut predicted = belief.with_information(first.x.transpose(), par)?; // P̂
    let explicit = predicted.covariance_mul(&first.slope, par)?; // μ̂ − μ
    if settings.scheme == Scheme::Explicit {
        return update(belief, &first, &explicit, par);
    }
    predicted.shift_mean(&explicit)?;
    let second = expectations(&predicted)?;
    match settings.scheme {
        Scheme::Explicit | Scheme::SkipCovariance => {
            let change = predicted.covariance_mul(&second.slope, par)?;
            update(belief, &first, &change, par)
        }
        Scheme::MirrorProxPrinted => {
            let change = belief.with_information(second.x.transpose(), par)?.covariance_mul(&second.slope, par)?;
            update(belief, &second, &change, par)
        }
        Scheme::MirrorProx => {
            let along: Vec<f64> =
                second.x.col_iter().map(|c| c.iter().zip(&explicit).map(|(c, e)| c * e).sum()).collect();
            let mut slope = second.slope.clone();
            for (column, along) in second.x.col_iter().zip(along) {
                for (slope, c) in slope.iter_mut().zip(column.iter()) {
                    *slope += along * c;
                }
            }
            let change = belief.with_information(second.x.transpose(), par)?.covariance_mul(&slope, par)?;
            update(belief, &second, &change, par)
        }
    }
}

/// `μ ← μ + change`, `P⁻¹ ← P⁻¹ + XXᵀ`.
fn update(belief: &mut LowRankGaussian, seen: &Expectations, change: &[f64], par: Par) -> Result<(), Error> {
    belief.move_and_inform(change, seen.x.transpose(), par)
}

/// Makes one pass over the rows of `x` (`n × inputs`) with labels `y` (`n × label length`), in order.
///
/// `on_step(t, belief)` is called after observation `t` (from 0).
///
/// # Errors
/// [`Error::Setting`], [`Error::Empty`] for `n = 0`, [`Error::Dimension`], and [`Error::Row`] with what [`step`] reports. All rows and labels are
/// checked before the first update; on an error the belief is as it was before the call.
#[expect(clippy::too_many_arguments, reason = "belief, model, data and how: each a plain argument")]
pub fn run<H: NaturalMap, F: OutputFamily, R: Rng + ?Sized>(
    belief: &mut LowRankGaussian,
    model: &NonlinearModel<H, F>,
    x: MatRef<'_, f64>,
    y: MatRef<'_, f64>,
    settings: &NonlinearSettings,
    rng: &mut R,
    par: Par,
    mut on_step: impl FnMut(usize, &LowRankGaussian),
) -> Result<(), Error> {
    settings.check()?;
    if x.nrows() == 0 {
        return Err(Error::Empty { argument: "x" });
    }
    check::length("rows of y", x.nrows(), y.nrows())?;
    let row = |m: MatRef<'_, f64>, t: usize| -> Vec<f64> { m.row(t).iter().copied().collect() };
    for t in 0..x.nrows() {
        model.check_observation(&row(x, t), &row(y, t)).map_err(|error| error.at_row(t))?;
    }
    let mut moved = belief.clone();
    for t in 0..x.nrows() {
        step(&mut moved, model, &row(x, t), &row(y, t), settings, rng, par).map_err(|error| error.at_row(t))?;
        on_step(t, &moved);
    }
    *belief = moved;
    Ok(())
}
