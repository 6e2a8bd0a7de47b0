//! What a fitted model says of each term: curves, and shares of the predictor's variance.

use vi_core::check;

use crate::TermsError;
use crate::fitted::Fitted;
use crate::terms::Terms;
use crate::told::Origin;

/// The effect of one input: at each of its values the combination of weights that the line and the curves of that input add to the
/// linear predictor, less what they add at its mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The name of the input.
    pub name: String,
    /// Values of the input from the least to the largest of the first rows.
    pub at: Vec<f64>,
    /// For each value a factor for each weight: the effect is `cᵀw`, its variance `cᵀPc`.
    pub factors: Vec<Vec<f64>>,
}

impl Terms {
    /// The effect of each input that has a curve, at `points` values (at least 2).
    ///
    /// ```
    /// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
    /// use vi_terms::{Input, Term, Terms};
    /// let rows: Vec<f64> = (0..30).map(f64::from).collect();
    /// let asked = [Term::Smooth { input: 0, weights: 3 }];
    /// let terms = Terms::new(&[Input::number("a", 0)], &asked, &rows, &mut ChaCha8Rng::seed_from_u64(1))?;
    /// let effect = &terms.effects(5)[0];
    /// assert_eq!((effect.name.as_str(), effect.at[4], effect.factors[4][0]), ("a", 29.0, 14.5));
    /// # Ok::<(), vi_terms::TermsError>(())
    /// ```
    #[must_use]
    pub fn effects(&self, points: usize) -> Vec<Effect> {
        let last = points.max(2) - 1;
        let effect = |input: usize, (low, high): (f64, f64), value: &dyn Fn(f64) -> f64| {
            let grid = (0..=last).map(|k| low + (high - low) * k as f64 / last as f64);
            let at: Vec<f64> = grid.map(value).collect();
            let factors = at.iter().map(|&x| self.factors(input, x)).collect();
            Effect { name: self.inputs()[input].name.clone(), at, factors }
        };
        let of = self.fitted.iter().filter_map(Fitted::curved);
        of.map(|of| effect(of.input, of.range(), &|z| of.value(z))).collect()
    }

    /// What the terms of `input` alone add at `x`, less what they add at the mean of the sample.
    fn factors(&self, input: usize, x: f64) -> Vec<f64> {
        let inputs = self.inputs().len();
        let column = self.sample.iter().skip(input).step_by(inputs);
        let mean = column.sum::<f64>() / (self.sample.len() / inputs).max(1) as f64;
        let mut factors = vec![0.0; inputs];
        factors[input] = x - mean;
        for fitted in &self.fitted {
            fitted.alone(input, x, &mut factors);
        }
        factors
    }

    /// For each input of the terms, behind those that they are made of, the places of those.
    pub(crate) fn sources(&self) -> Vec<Vec<usize>> {
        self.fitted.iter().flat_map(Fitted::sources).collect()
    }

    /// The mean of each input over a sample of the first rows.
    ///
    /// # Errors
    /// `Dimension` for a damaged sample.
    pub(crate) fn means(&self) -> Result<Vec<f64>, TermsError> {
        let rows = (self.sample.len() / self.inputs().len()) as f64;
        let mut means = vec![0.0; self.width()];
        for row in self.sample.chunks_exact(self.inputs().len()) {
            let mut row = row.to_vec();
            self.append(&mut row)?;
            means.iter_mut().zip(&row).for_each(|(mean, x)| *mean += x / rows);
        }
        Ok(means)
    }

    /// The share of each block in the variance of the linear predictor with these `weights` (one for each input, in its units) over a
    /// sample of the first rows: `cov(η_k, η)/var(η)`, which sum to 1; 0 where the predictor does not vary. A block that takes back what
    /// another adds has a negative share.
    ///
    /// # Errors
    /// `Dimension` for the weights.
    pub fn shares(&self, weights: &[f64]) -> Result<Vec<f64>, TermsError> {
        check::length("weights", self.width(), weights.len())?;
        let blocks = self.blocks();
        let effect = |of: &Vec<(usize, f64)>| of.iter().map(|(place, by)| by * weights[*place]).sum();
        let effects: Vec<f64> = self.told(Origin::Mean).iter().map(effect).collect();
        let mut parts = vec![Vec::new(); blocks.len()];
        for row in self.sample.chunks_exact(self.inputs().len()) {
            let mut row = row.to_vec();
            self.append(&mut row)?;
            self.unmix(&mut row);
            for (part, block) in parts.iter_mut().zip(&blocks) {
                let places = block.first..block.first + block.width;
                part.push(places.map(|j| row[j] * effects[j]).sum::<f64>());
            }
        }
        let rows = self.sample.len() / self.inputs().len();
        let mut total = vec![0.0; rows];
        for part in &mut parts {
            let mean = part.iter().sum::<f64>() / rows as f64;
            for (own, total) in part.iter_mut().zip(&mut total) {
                *own -= mean;
                *total += *own;
            }
        }
        let variance: f64 = total.iter().map(|total| total * total).sum();
        let covariance = |part: &Vec<f64>| part.iter().zip(&total).map(|(own, total)| own * total).sum::<f64>();
        let share = |part| if variance > 0.0 { covariance(part) / variance } else { 0.0 };
        Ok(parts.iter().map(share).collect())
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;
    use crate::{Input, Term};

    fn made() -> Terms {
        let rows: Vec<f64> =
            (0..80).flat_map(|i| [(f64::from(i) / 12.0).exp(), (0.3 * f64::from(i)).sin(), f64::from(i % 5)]).collect();
        let inputs = [Input::number("a", 0), Input::number("b", 1), Input::number("c", 2)];
        let asked = [
            Term::Bent(vec![0]),
            Term::Smooth { input: 0, weights: 4 },
            Term::Smooth { input: 1, weights: 3 },
            Term::Pairs(vec![0, 1, 2]),
        ];
        Terms::new(&inputs, &asked, &rows, &mut ChaCha8Rng::seed_from_u64(1)).unwrap()
    }

    #[test]
    fn an_effect_is_a_difference_of_rows_without_products() {
        let terms = made();
        let weights: Vec<f64> = (0..terms.width() - 3).map(|j| (f64::from(u32::try_from(j).unwrap())).sin()).collect();
        let score = |a: f64| {
            let mut row = vec![a, 0.2, 1.0];
            terms.append(&mut row).unwrap();
            row.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>()
        };
        let effects = terms.effects(9);
        assert_eq!(effects.iter().map(|effect| effect.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let Effect { at, factors, .. } = &effects[0];
        assert!((at[0] - 1.0).abs() < 1e-12 && (at[8] / (79.0_f64 / 12.0).exp() - 1.0).abs() < 1e-12);
        let effect = |k: usize| factors[k].iter().zip(&weights).map(|(c, w)| c * w).sum::<f64>();
        for k in 1..9 {
            let (expected, found) = (score(at[k]) - score(at[k - 1]), effect(k) - effect(k - 1));
            assert!((found - expected).abs() < 1e-12 * (1.0 + score(at[k]).abs()), "{k}: {found}, {expected}");
        }
    }

    #[test]
    fn shares_sum_to_one_and_are_those_of_the_blocks() {
        let terms = made();
        let weights: Vec<f64> = (0..terms.width()).map(|j| f64::from(u8::from(j == 1 || j > 6))).collect();
        let shares = terms.shares(&weights).unwrap();
        assert_eq!(shares.len(), terms.blocks().len());
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!((shares[1], terms.shares(&vec![0.0; terms.width()]).unwrap()[0]), (0.0, 0.0));
        let only: Vec<f64> = (0..terms.width()).map(|j| f64::from(u8::from(j == 4))).collect();
        assert!((terms.shares(&only).unwrap()[2] - 1.0).abs() < 1e-12);
        assert!(terms.shares(&[1.0]).is_err());
    }
}
