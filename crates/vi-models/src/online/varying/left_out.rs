//! The first rows as the label's fit to all others sees them.

use super::{OnlineVarying, moments};
use crate::ModelError;
use crate::online::engine::Kept;
use crate::online::observation::{Given, Observation, Size};

/// The first rows from whose number on distances are taken anew, and the least share of a row's precision that is taken for that of all others.
const FEWEST_ANEW: usize = 20;
const LEAST_LEFT: f64 = 0.05;

/// An earlier distance is left out beyond this many times the sum of the present distance and the scale of the noise: it belongs to a discarded fit.
const BEYOND: f64 = 30.0;

impl OnlineVarying {
    /// Gives the first rows, which are `rows`, their distances from the fit of all others besides: those that they had are large where the label's weights had
    /// learned little. The mean square of both stands, since the fit of all others alone can close in on labels that many rows share. Returns the rows as
    /// they were, unless they are others or few.
    ///
    /// A row whose noise has the variance `1/h` and along which the fit of all rows sees `N(a, ν)` is at `(y − a)/(1 − hν)` from the fit of the others,
    /// whose variance there is `ν/(1 − hν)`; of Student-t noise `h = (k + 1)/(kσ² + (y − a)²)`.
    pub(super) fn distances_anew(&mut self, rows: &[Kept]) -> Result<Option<Vec<Kept>>, ModelError> {
        if rows.len() != self.spread.rows.len() || rows.len() < FEWEST_ANEW {
            return Ok(None);
        }
        let ((dof, scale), target) = (self.noise(), self.engine.design.target);
        let mut anew = self.spread.rows.clone();
        for (own, Kept { row, observed }) in anew.iter_mut().zip(rows) {
            let seen = moments(self.engine.project(row.as_row(), 0.0)?.into_iter());
            let (variance, factor) = (seen.variance * target.scale * target.scale, observed.size(Size::Factor)?);
            let r = target.transform.of(observed.label) - observed.offset - target.centre - target.scale * seen.mean;
            let square = (scale * factor).powi(2);
            let h = if dof.is_finite() { (dof + 1.0) / (dof * square + r * r) } else { square.recip() };
            let left = (1.0 - h * observed.weight * variance).max(LEAST_LEFT);
            let Observation { label: before, weight, .. } = own.observed;
            let now = (r / left, variance / left);
            let is_gone = before.abs() > BEYOND * (square.sqrt() + now.0.abs());
            let before = if is_gone { now } else { (before, own.observed.size(Size::Variance)?) };
            let distance = std::f64::consts::FRAC_1_SQRT_2 * before.0.hypot(now.0);
            let variance = 0.5 * (before.1 + now.1);
            own.observed = Observation::new(distance.copysign(r)).weight(weight).given(Given::Variance(variance));
        }
        Ok(Some(std::mem::replace(&mut self.spread.rows, anew)))
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    use super::*;

    #[test]
    fn distances_anew_are_those_from_models_of_all_other_rows() {
        const D: usize = 6;
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let rows: Vec<[f64; D]> = (0..70).map(|_| std::array::from_fn(|_| rng.sample(StandardNormal))).collect();
        let labels: Vec<f64> =
            rows.iter().map(|x| 3.0 * x.iter().sum::<f64>() + rng.sample::<f64, _>(StandardNormal)).collect();
        let without = |left_out: usize| {
            let mut model = OnlineVarying::new(D).unwrap();
            for (i, (x, y)) in rows.iter().zip(&labels).enumerate() {
                if i != left_out {
                    model.update(x, *y).unwrap();
                }
            }
            model.catch_up().unwrap();
            model
        };
        let mut model = without(rows.len());
        let all = model.engine.rows.clone();
        let before: Vec<f64> = model.spread.rows.iter().map(|own| own.observed.label).collect();
        assert!(model.distances_anew(&all).unwrap().is_some());
        for i in (0..rows.len()).step_by(5) {
            let told = model.spread.rows[i].observed.label;
            let found = (2.0 * told * told - before[i] * before[i]).sqrt().copysign(told);
            let others = without(i).predict(&rows[i]).unwrap();
            // The noise has deviation 1, which the row left out moves, and its weight is that of Student-t noise.
            assert!((found - (labels[i] - others.mean())).abs() < 0.15, "{i}: {found} {}", labels[i] - others.mean());
        }
    }
}
