//! How near the Gaussian posterior is to the true one.

use std::iter::successors;

use rand::Rng;
use vi_core::{Belief, GlmPosterior, PerRow};

use super::family::Family;
use super::scalar::{ScalarFamily, row_likelihoods};
use super::{Engine, Member};
use crate::ModelError;
use crate::metrics::{Psis, gaussian_psis};
use crate::online::PriorScale;
use crate::online::belief::AnyBelief;
use crate::online::info::{Compared, Diagnosis};

impl<F: ScalarFamily> Engine<F> {
    /// PSIS of the member with the largest share of the answers.
    pub(in crate::online) fn psis<R: Rng + ?Sized>(&self, draws: usize, rng: &mut R) -> Result<Psis, ModelError> {
        self.check_kept()?;
        let (x, observed) = self.design_matrix()?;
        let y: Vec<f64> = observed.iter().map(|observed| observed.label).collect();
        let best = self.best();
        let likelihoods = row_likelihoods(&self.family, &best.state, &observed)?;
        let prior = self.family.prior(&self.settings, best.prior_scale, x.ncols())?;
        let (AnyBelief::Full(prior), AnyBelief::Full(q)) = (prior, &best.belief) else {
            return Err(ModelError::NotKept);
        };
        let truth = GlmPosterior::new(&prior, x.as_ref(), &y, PerRow(&likelihoods))?;
        gaussian_psis(&truth, q, draws, rng)
    }

    /// Keeps the diagnosis of [`psis`](Self::psis).
    pub(in crate::online) fn diagnosed<R: Rng + ?Sized>(
        &mut self,
        draws: usize,
        rng: &mut R,
    ) -> Result<(), ModelError> {
        let psis = self.psis(draws, rng)?;
        self.diagnosis = Some(Diagnosis::of(&psis, self.best().belief.dim(), self.compared()?));
        Ok(())
    }
}

/// The factor between one prior scale that is compared and the next.
const APART: f64 = 3.0;

/// The nats by which another scale has to be likelier: fits are good to a nat or two.
const LIKELIER: f64 = 3.0;

impl<F: Family> Engine<F> {
    /// The likeliest other prior scale, and its lead over the best member's in nats, if that is more than three. The scales are factors of 3 apart, and all
    /// kept rows are fitted anew at each; a given scale is compared by the evidence alone. Nothing is compared where the posterior is exact, or where
    /// the rows cannot be fitted together.
    pub(in crate::online) fn compared(&self) -> Result<Compared, ModelError> {
        if !self.family.is_joint() || self.family.rescales_exactly() {
            return Ok(None);
        }
        let is_given = matches!(self.settings.prior_scale, PriorScale::Given(_));
        let (rows, prior, own) = (self.rows_to_fit(&self.design)?, self.family.scale_prior(), self.best().prior_scale);
        let likelihood = |scale: f64| {
            let member = Member { prior_scale: scale, ..self.best().clone() };
            let fitted = self.fit_member(&member, &self.design, true, &rows).ok().flatten()?;
            Some(fitted.evidence + if is_given { 0.0 } else { prior.log_density(scale.ln()) })
        };
        let Some(here) = likelihood(own) else { return Ok(None) };
        let ranges = [
            successors(Some(own / APART), |scale| Some(scale / APART))
                .take_while(|scale| *scale > prior.lowest)
                .collect(),
            successors(Some(own * APART), |scale| Some(scale * APART))
                .take_while(|scale| *scale < prior.highest)
                .collect::<Vec<f64>>(),
        ];
        let others = ranges.into_iter().flatten().filter_map(|scale| Some((scale, likelihood(scale)? - here)));
        let likeliest = others.max_by(|(_, a), (_, b)| a.total_cmp(b));
        Ok(Some(likeliest.filter(|(_, nats)| *nats > LIKELIER)))
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::online::family::Logit;
    use crate::online::{Advice, Observation, OnlineInfo, OnlineSettings, Row};

    /// Two inputs that nearly say the same, with opposite weights: at a small prior scale nothing is left of them.
    #[test]
    fn a_scale_that_hides_a_likelier_one_is_told() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let settings = OnlineSettings { keep_rows: true, ..OnlineSettings::default() };
        let mut engine = Engine::new(2, Logit, settings).unwrap();
        for _ in 0..2000 {
            let [a, b, u]: [f64; 3] = [rng.sample(StandardNormal), rng.sample(StandardNormal), rng.random()];
            let x = [a, 0.98 * a + 0.2 * b];
            let chance = (1.0 + (6.0 * (x[1] - x[0])).exp()).recip();
            engine.update(Row::Dense(&x), Observation::new(f64::from(u8::from(u < chance)))).unwrap();
        }
        assert_eq!(engine.compared().unwrap(), Some(None));
        let small = Member { prior_scale: 0.02, ..engine.best().clone() };
        let rows = engine.rows_to_fit(&engine.design).unwrap();
        engine.members = vec![engine.fit_member(&small, &engine.design, true, &rows).unwrap().unwrap()];
        // A given scale is compared too.
        engine.settings.prior_scale = PriorScale::Given(0.02);
        let (_, by_evidence) = engine.compared().unwrap().unwrap().unwrap();
        assert!(by_evidence > 20.0, "{by_evidence}");
        engine.settings.prior_scale = PriorScale::Learned;
        engine.diagnosed(400, &mut rng).unwrap();
        let info = OnlineInfo::of(&engine);
        let (scale, nats) = info.likelier_scale.unwrap();
        assert!(scale > 0.5 && nats > 20.0 && info.advice == Advice::OtherScale, "{scale} {nats} {}", info.advice);
    }
}
