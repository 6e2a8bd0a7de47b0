//! Draws of the weights, and of the scores of several rows together: what a choice among candidates is made from.

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use vi_core::{Projection, Rows};

use super::Engine;
use super::narrow::ScoresAt;
use super::scalar::{Pass, ScalarFamily};
use crate::marginal::pick;
use crate::online::design::RowSpace;
use crate::online::target::Target;
use crate::online::{Draw, Row};
use crate::{ModelError, check};

impl<F: ScalarFamily> Engine<F> {
    /// A draw of the weights, in the units of inputs and labels.
    pub(in crate::online) fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Draw, ModelError> {
        let member = self.draw_member(rng);
        let spread = self.family.draw_spread(&member.state, rng)?;
        let noise = matches!(F::PASS, Pass::Exact).then_some(spread * self.design.target.scale);
        let drawn = Draw::new(&self.design, &member.draw(spread, rng)?);
        Draw { noise, ..drawn }.raised(self.draw_level(&member.state, rng)).finite()
    }

    /// A draw of the part of the intercept that the state holds.
    fn draw_level<R: Rng + ?Sized>(&self, state: &F::State, rng: &mut R) -> f64 {
        let Projection { mean, variance } = self.family.level(state);
        if variance > 0.0 { mean + variance.sqrt() * rng.sample::<f64, _>(StandardNormal) } else { mean }
    }

    /// Joint draws of the linear predictors of many rows, in the units of the labels: `draws × rows`.
    pub(in crate::online) fn score_samples<R: Rng + ?Sized>(
        &self,
        rows: Rows<'_>,
        draws: usize,
        rng: &mut R,
    ) -> Result<Vec<f64>, ModelError> {
        check::count("draws", draws)?;
        let mut memory = Vec::new();
        let rows = self.rows(rows, &mut memory)?;
        let mut spaces: Vec<RowSpace> = Vec::with_capacity(rows.len());
        spaces.resize_with(rows.len(), RowSpace::default);
        let write =
            |(i, (row, space)): (usize, (Row<'_>, _))| self.design.write(row, space).map_err(|error| error.at_row(i));
        let written: Vec<_> = rows.into_iter().zip(&mut spaces).enumerate().map(write).collect::<Result<_, _>>()?;
        let Target { centre, scale, .. } = self.design.target;
        let mut drawn = Vec::with_capacity(check::room("draws", &[draws, written.len()])?);
        // The factors of the prior scales that have been drawn so far.
        let mut known: Vec<(usize, f64, ScoresAt)> = Vec::new();
        let weights = self.weights();
        for _ in 0..draws {
            let place = pick(weights.iter().copied(), rng);
            let member = &self.members[place];
            let spread = self.family.draw_spread(&member.state, rng)?;
            let step = member.drawn(rng);
            let there = known.iter().position(|(own, other, _)| (*own, *other) == (place, step));
            let at = there.unwrap_or(known.len());
            if there.is_none() {
                known.push((place, step, member.scores_at(&written, step)?));
            }
            let level = self.draw_level(&member.state, rng);
            drawn.extend(known[at].2.draw(spread, rng).into_iter().map(|score| centre + scale * (score + level)));
        }
        check::results("drawn score", drawn.iter().copied())?;
        Ok(drawn)
    }
}
