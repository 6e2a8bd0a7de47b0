//! Draws of the weights, and of the scores of several rows together: what a choice among candidates is made from.

use rand::Rng;
use vi_core::Rows;

use super::Engine;
use super::scalar::ScalarFamily;
use crate::online::design::RowSpace;
use crate::online::target::Target;
use crate::online::{Draw, Row};
use crate::{ModelError, check};

impl<F: ScalarFamily> Engine<F> {
    /// A draw of the weights, in the units of inputs and labels.
    pub(in crate::online) fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Draw, ModelError> {
        let member = self.draw_member(rng);
        let spread = self.family.draw_spread(&member.state, rng)?;
        Draw::new(&self.design, &member.draw(spread, rng)?).finite()
    }

    /// One joint draw of the linear predictors of many rows, in the units of the labels.
    pub(in crate::online) fn sample_scores<R: Rng + ?Sized>(
        &self,
        rows: Rows<'_>,
        rng: &mut R,
    ) -> Result<Vec<f64>, ModelError> {
        let mut memory = Vec::new();
        let rows = self.rows(rows, &mut memory)?;
        let mut spaces: Vec<RowSpace> = Vec::with_capacity(rows.len());
        spaces.resize_with(rows.len(), RowSpace::default);
        let write =
            |(i, (row, space)): (usize, (Row<'_>, _))| self.design.write(row, space).map_err(|error| error.at_row(i));
        let written: Vec<_> = rows.into_iter().zip(&mut spaces).enumerate().map(write).collect::<Result<_, _>>()?;
        let member = self.draw_member(rng);
        let spread = self.family.draw_spread(&member.state, rng)?;
        let Target { centre, scale, .. } = self.design.target;
        let mut drawn = member.draw_scores(&written, spread, rng)?;
        for score in &mut drawn {
            *score = centre + scale * *score;
        }
        check::results("drawn score", drawn.iter().copied())?;
        Ok(drawn)
    }
}
