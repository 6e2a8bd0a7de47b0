//! Effects as they are told: combinations `u = R·v` of the weights `v`, which have independent priors.
//!
//! Correlated effects of the levels of a group are learned by inputs that are mixed. With the scaled inputs `z = (1, z_1, …)` of a row of a level,
//! the factor `φ_m` of block `m` and its mix `t_m`, `t_mm = 1`,
//!
//! ```text
//! Σ_i z_i·u_i = Σ_m x_m·v_m,   x_m = φ_m·Σ_{i ≤ m} t_mi·z_i,   R_im = φ_m·t_mi
//! ```
//!
//! so that any covariance of `u` is one of independent `v` with some mix, and all else learns `v`.

use crate::TermsError;
use crate::coordinate::Coordinate;
use crate::fitted::Fitted;
use crate::terms::{Terms, UNIT_OF_LEVELS};

/// The value of the inputs of slopes at which effects of levels are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The mean over the first rows; slopes are then for a scaled input.
    Mean,
    /// 0, where effects are correlated; slopes are for a unit of the input.
    Zero,
}

/// How effects on a slope are correlated with those of their levels before them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mix {
    /// What is added to the scaled input: multiples of 1 and of the scaled inputs of the slopes before.
    pub(crate) by: Vec<f64>,
    /// The standard deviation of their weights as a multiple of that of the levels', at one prior scale.
    pub(crate) size: f64,
}

/// Effects on slopes that are correlated with others of their levels.
struct Mixed<'a> {
    fitted: &'a Fitted,
    /// The place of its first input.
    first: usize,
    levels: &'a [usize],
    /// Of each scaled input of the mix but the 1, and of its own, the first place of its block and its multiple.
    parts: Vec<(usize, f64)>,
}

impl Terms {
    /// The correlated effects in their order.
    fn mixed(&self) -> Vec<Mixed<'_>> {
        let mut first = self.inputs().len();
        let mut all: Vec<Mixed<'_>> = Vec::new();
        for fitted in &self.fitted {
            if let (Some((_, levels)), [_, of @ ..]) = (fitted.slopes_of(), fitted.mix()) {
                let before = all.iter().filter(|other| other.levels == levels).map(|other| other.first);
                let parts = before.zip(of).map(|(place, (_, by))| (place, *by)).chain([(first, 1.0)]).collect();
                all.push(Mixed { fitted, first, levels, parts });
            }
            first += fitted.width();
        }
        all
    }

    /// The scaled inputs on whose slopes these levels have effects, in their order.
    pub(crate) fn slopes(&self, levels: &[usize]) -> impl Iterator<Item = &Coordinate> {
        self.fitted.iter().filter_map(Fitted::slopes_of).filter(move |(_, of)| *of == levels).map(|(of, _)| of)
    }

    /// The places of these levels and of their effects on slopes.
    pub(crate) fn of_levels(&self, levels: &[usize]) -> Vec<usize> {
        let (mut first, mut places) = (self.inputs().len(), levels.to_vec());
        for fitted in &self.fitted {
            let last = first + fitted.width();
            if fitted.slopes_of().is_some_and(|(_, of)| of == levels) {
                places.extend(first..last);
            }
            first = last;
        }
        places
    }

    /// Correlates the effects of these levels on slopes, each by its [`Mix`].
    pub(crate) fn correlate(&mut self, levels: &[usize], mixes: &[Mix]) {
        let own = self.fitted.iter_mut().filter(|own| own.slopes_of().is_some_and(|(_, of)| of == levels));
        let mut before = vec![None];
        for (fitted, Mix { by, size }) in own.zip(mixes) {
            let of = fitted.slopes_of().map(|(of, _)| of.clone());
            fitted.set_mix(before.iter().cloned().zip(by.iter().copied()).collect(), UNIT_OF_LEVELS * size);
            before.push(of);
        }
    }

    /// Whether what is mixed is what stands before it.
    ///
    /// # Errors
    /// `Stored`.
    pub(crate) fn check_mixes(&self) -> Result<(), TermsError> {
        for (k, fitted) in self.fitted.iter().enumerate() {
            let (Some((_, levels)), mix @ [_, ..]) = (fitted.slopes_of(), fitted.mix()) else { continue };
            let before = self.fitted[..k].iter().filter_map(Fitted::slopes_of).filter(|(_, of)| *of == levels);
            let expected = std::iter::once(None).chain(before.map(|(of, _)| Some(of)));
            if !mix.iter().map(|(of, _)| of.as_ref()).eq(expected) {
                return Err(TermsError::Stored { what: "correlated effects and those before them" });
            }
        }
        Ok(())
    }

    /// For each input its effect as it is told: places of weights, rising, and their multiples. Of what is no effect on a slope the weight itself.
    pub(crate) fn told(&self, origin: Origin) -> Vec<Vec<(usize, f64)>> {
        let mut told: Vec<Vec<(usize, f64)>> = (0..self.width()).map(|place| vec![(place, 1.0)]).collect();
        let mut first = self.inputs().len();
        for fitted in &self.fitted {
            if let (Some((of, _)), Origin::Zero) = (fitted.slopes_of(), origin) {
                let unit = fitted.factor() * of.slope();
                told[first..first + fitted.width()].iter_mut().for_each(|told| told[0].1 = unit);
            }
            first += fitted.width();
        }
        for Mixed { fitted, first, levels, parts } in self.mixed() {
            let (factor, mix) = (fitted.factor(), fitted.mix());
            // The scaled inputs of the parts at 0, and their slopes.
            let of = mix[1..].iter().filter_map(|(of, _)| of.as_ref()).chain(fitted.slopes_of().map(|(of, _)| of));
            let (zero, slope): (Vec<f64>, Vec<f64>) = match origin {
                Origin::Mean => parts.iter().map(|_| (0.0, 1.0)).unzip(),
                Origin::Zero => of.map(|of| (of.at_zero(), of.slope())).unzip(),
            };
            let at_origin = mix[0].1 + parts.iter().zip(&zero).map(|((_, by), z)| by * z).sum::<f64>();
            for (k, level) in levels.iter().enumerate() {
                told[*level].push((first + k, factor * at_origin));
                for ((place, by), slope) in parts.iter().zip(&slope) {
                    let weight = (first + k, factor * by * slope);
                    if *place == first {
                        told[first + k] = vec![weight];
                    } else {
                        told[place + k].push(weight);
                    }
                }
            }
        }
        told
    }

    /// The inputs by which the effects that are [told](Self::told) about the mean are multiplied, in place of those of the weights: the predictor is the same.
    pub(crate) fn unmix(&self, row: &mut [f64]) {
        for Mixed { fitted, first, levels, parts } in self.mixed() {
            let (factor, level) = (fitted.factor(), fitted.mix()[0].1);
            for (k, place) in levels.iter().enumerate() {
                let others = parts.iter().filter(|(place, _)| *place != first);
                let mixed = level * row[*place] + others.map(|(place, by)| by * row[place + k]).sum::<f64>();
                row[first + k] = row[first + k] / factor - mixed;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;
    use crate::{Input, Term};

    /// The inputs `a`, `b` and three levels; slopes of both, and of `a` among two levels that are independent.
    fn made() -> Terms {
        let mut inputs = vec![Input::number("a", 0), Input::number("b", 1)];
        inputs.extend(["g=x", "g=y", "g=z"].map(|name| Input::indicator(name, 2)));
        let row = |i: usize| {
            let (i, is) = (i as f64, |k| f64::from(u8::from(i % 3 == k)));
            [2000.0 + (0.7 * i).sin(), 3.0 + (1.3 * i).cos(), is(0), is(1), is(2)]
        };
        let rows: Vec<f64> = (0..60).flat_map(row).collect();
        let slopes = |input, levels: &[usize]| Term::Slopes { input, levels: levels.to_vec() };
        let asked = [slopes(0, &[2, 3]), slopes(0, &[2, 3, 4]), slopes(1, &[2, 3, 4])];
        let mut terms = Terms::new(&inputs, &asked, &rows, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
        terms.correlate(&[2, 3, 4], &[Mix { by: vec![0.7], size: 0.5 }, Mix { by: vec![-1.5, 0.4], size: 2.0 }]);
        terms
    }

    #[test]
    fn effects_and_their_inputs_make_the_predictor() {
        let terms = made();
        terms.check_mixes().unwrap();
        let weights: Vec<f64> = (0..terms.width()).map(|j| (2.3 * j as f64).sin()).collect();
        let told = |origin| {
            let effect = |of: Vec<(usize, f64)>| of.iter().map(|(place, by)| by * weights[*place]).sum::<f64>();
            terms.told(origin).into_iter().map(effect).collect::<Vec<f64>>()
        };
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let made = |a: f64, b: f64, level: usize| {
            let mut row = vec![a, b, 0.0, 0.0, 0.0];
            row[level] = 1.0;
            terms.append(&mut row).unwrap();
            row
        };
        for (a, b, level) in [(2000.4, 2.0, 2), (1990.0, 7.5, 3), (2003.0, 3.0, 4)] {
            let row = made(a, b, level);
            let predictor = product(&row, &weights);
            // About the mean: a scaled input, or nothing, of each effect of the level.
            let mut plain = row.clone();
            terms.unmix(&mut plain);
            assert!((product(&plain, &told(Origin::Mean)) - predictor).abs() < 1e-10);
            let of: Vec<f64> = terms.slopes(&[2, 3, 4]).zip([a, b]).map(|(of, x)| of.of(x)).collect();
            assert!((plain[7 + level - 2] - of[0]).abs() < 1e-9 && (plain[10 + level - 2] - of[1]).abs() < 1e-9);
            // At 0, of what is correlated: level and slopes of the level.
            let zero = told(Origin::Zero);
            let mixed: f64 = (7..13).map(|place| row[place] * weights[place]).sum::<f64>() + weights[level];
            let effects = zero[level] + a * zero[7 + level - 2] + b * zero[10 + level - 2];
            assert!((effects - mixed).abs() < 1e-9 * (1.0 + zero[level].abs()), "{effects} {mixed}");
        }
        // What is independent is told by its own weight.
        assert!(terms.told(Origin::Mean)[..2].iter().all(|of| of.len() == 1));
        assert_eq!(terms.told(Origin::Mean)[5], [(5, 1.0)]);
        assert_eq!(terms.told(Origin::Zero)[5].len(), 1);
    }
}
