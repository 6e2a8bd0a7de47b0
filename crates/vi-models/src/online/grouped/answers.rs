//! What a grouped model says of itself: common weights, components of variance, effects.

use vi_core::special::normal_quantile;
use vi_core::{Belief, DenseGaussian, Error, GroupedRow, Projection, Row};
use vi_linalg::Cholesky;
use vi_linalg::faer::Mat;

use super::columns::Space;
use super::engine::Engine;
use crate::online::engine::ScalarFamily;
use crate::online::{Coefficient, Draw};
use crate::{Interval, Marginal, ModelError, check};

/// A component of variance: the standard deviation of an effect over the groups, or a correlation of two.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Component {
    /// The effect, or the two effects of a correlation: `None` for the group's intercept, otherwise the input.
    pub of: (Option<usize>, Option<Option<usize>>),
    /// The name, such as `sd(intercept)`, `sd(days)` or `cor(intercept, days)`.
    pub name: String,
    /// The value at the peak of the posterior of the components.
    pub value: f64,
    /// The standard deviation of its transform: the logarithm of a standard deviation, the artanh of a correlation.
    pub uncertainty: f64,
    is_correlation: bool,
}

impl Component {
    /// The interval that holds the component with probability `level`, by Laplace's approximation of its transform.
    ///
    /// # Errors
    /// `Setting` unless `0 < level < 1`.
    pub fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        check::probability("level", level)?;
        let away = self.uncertainty * normal_quantile(0.5 + 0.5 * level);
        let at = |sign: f64| {
            if self.is_correlation {
                (self.value.atanh() + sign * away).tanh()
            } else {
                self.value * (sign * away).exp()
            }
        };
        Ok(Interval { lower: at(-1.0), upper: at(1.0) })
    }
}

/// The effects of one group, in the units of the inputs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GroupEffects {
    /// The group.
    pub group: u64,
    /// The posterior of each effect: the intercept's first, if there is one, then the slopes'.
    pub effects: Vec<Marginal>,
}

impl<F: ScalarFamily> Engine<F> {
    /// The label's scale.
    pub(super) fn unit(&self) -> f64 {
        self.columns.design.target.scale
    }

    /// The posterior of the linear predictor at a row, in units of the label.
    pub(super) fn predictor(&self, row: Row<'_>, group: Option<u64>, offset: f64) -> Result<Marginal, ModelError> {
        let parts = self.parts(row, group, 0.0)?;
        crate::online::engine::check_offset(offset)?;
        self.marginal(parts.into_iter().map(|(_, seen, state)| (seen, state)).collect())?
            .in_units(offset + self.columns.design.target.centre, self.unit())
    }

    /// The posterior of `cᵀw`, a combination of the weights of the inputs in their units, with `zᵀu` of a group at a row if that is given.
    pub(super) fn contribution(&self, c: Row<'_>, of: Option<(Row<'_>, u64)>) -> Result<Marginal, ModelError> {
        self.check_row(c)?;
        let mut x = vec![0.0; self.columns.design.columns()];
        c.for_each(|j, value| x[j] += self.columns.design.scaled(j, value));
        check::results("coefficient in the model's units", x.iter().copied())?;
        let Some((row, group)) = of else { return self.combination(&x, 0.0) };
        self.check_row(row)?;
        let mut space = Space::default();
        self.columns.write(row, &mut space)?;
        let seen = self.seen_along(GroupedRow { x: &x, z: &space.z, group })?;
        self.marginal(seen)?.in_units(0.0, self.unit())
    }

    /// The posterior means of the common weights.
    pub(super) fn weights(&self) -> Draw {
        let commons = std::iter::once(self.belief.common()).chain(self.nodes.iter().map(|node| node.arrow.common()));
        let mut mean = vec![0.0; self.columns.design.columns()];
        for (share, common) in self.shares().into_iter().zip(commons) {
            mean.iter_mut().zip(common.mean()).for_each(|(sum, own)| *sum += share * own);
        }
        Draw::new(&self.columns.design, &mean)
    }

    /// The posterior of a combination of the common columns, in units of the label after `origin`.
    fn combination(&self, combination: &[f64], origin: f64) -> Result<Marginal, ModelError> {
        let along = |common: &DenseGaussian, state: &F::State| {
            let seen = common.predict(Row::Dense(combination))?;
            Ok::<_, Error>((seen, state.clone()))
        };
        let mut seen = vec![along(self.belief.common(), &self.state)?];
        for node in &self.nodes {
            seen.push(along(node.arrow.common(), &node.state)?);
        }
        self.marginal(seen)?.in_units(origin, self.unit())
    }

    /// The mixture over peak and nodes of what each sees, in the label's scale.
    fn marginal(&self, seen: Vec<(Projection, F::State)>) -> Result<Marginal, ModelError> {
        let parts: Vec<(f64, Projection, F::State)> =
            self.shares().into_iter().zip(seen).map(|(share, (seen, state))| (share, seen, state)).collect();
        self.family.marginal(&parts.iter().map(|(share, seen, state)| (*share, *seen, state)).collect::<Vec<_>>())
    }

    pub(super) fn coefficients(&self) -> Result<Vec<Coefficient>, ModelError> {
        let design = &self.columns.design;
        let mut found = Vec::with_capacity(design.columns());
        if design.intercept {
            let belief = self.combination(&self.columns.intercept(), design.target.centre)?;
            found.push(Coefficient { name: "intercept".into(), belief });
        }
        for j in 0..design.inputs {
            let belief = self.combination(&self.columns.weight(j), 0.0)?;
            found.push(Coefficient { name: self.settings.name(j), belief });
        }
        Ok(found)
    }

    /// The effects of a group, those of the prior for a new one.
    pub(super) fn effects(&self, group: u64) -> Result<GroupEffects, ModelError> {
        let units = self.columns.effect_units();
        let of = |(mean, covariance): (Vec<f64>, Mat<f64>), state: &F::State| {
            let covariance = &units * &covariance * units.transpose();
            let along = |i: usize| {
                let mean = (0..mean.len()).map(|j| units[(i, j)] * mean[j]).sum();
                (Projection { mean, variance: covariance[(i, i)].max(0.0) }, state.clone())
            };
            (0..mean.len()).map(along).collect::<Vec<_>>()
        };
        let mut seen = vec![of(self.belief.effects(group)?, &self.state)];
        for node in &self.nodes {
            seen.push(of(node.arrow.effects(&self.belief, group)?, &node.state));
        }
        let effects = (0..units.nrows())
            .map(|i| self.marginal(seen.iter().map(|node| node[i].clone()).collect())?.in_units(0.0, self.unit()))
            .collect::<Result<_, ModelError>>()?;
        Ok(GroupEffects { group, effects })
    }

    /// The transforms of the components at `phi`: logarithms of standard deviations, then artanhs of correlations, in the units of the inputs
    /// and with the noise there.
    fn transforms(&self, phi: &[f64], from: (f64, f64)) -> Result<Vec<f64>, Error> {
        let noise = self.family.noise_variance(&self.gain(phi, false, from)?.state).sqrt() * self.unit();
        let root = &self.columns.effect_units() * &self.coordinates().root(phi);
        let covariance = &root * root.transpose();
        let q = root.nrows();
        let mut found: Vec<f64> = (0..q).map(|i| (covariance[(i, i)].sqrt() * noise).ln()).collect();
        if self.coordinates().correlated {
            for i in 0..q {
                for j in 0..i {
                    let correlation = covariance[(i, j)] / (covariance[(i, i)] * covariance[(j, j)]).sqrt();
                    found.push(correlation.clamp(-1.0, 1.0).atanh());
                }
            }
        }
        Ok(found)
    }

    /// The components with their uncertainty; `noise` is the variance of the logarithm of the noise's standard deviation.
    pub(super) fn components(&self, noise: f64) -> Result<Vec<Component>, ModelError> {
        /// The difference of smooth functions of order 1.
        const STEP: f64 = 1e-4;
        let (q, r) = (self.settings.effects.count(), self.phi.len());
        let from = self.standing()?;
        let values = self.transforms(&self.phi, from)?;
        let mut slopes = Vec::with_capacity(r);
        for k in 0..r {
            let mut moved = self.phi.clone();
            moved[k] += STEP;
            let up = self.transforms(&moved, from)?;
            moved[k] -= 2.0 * STEP;
            let down = self.transforms(&moved, from)?;
            slopes.push(up.iter().zip(&down).map(|(up, down)| (up - down) / (2.0 * STEP)).collect::<Vec<f64>>());
        }
        // Where the peak is flat there is no finite uncertainty.
        let factor = Cholesky::new(self.curvature.as_ref()).ok();
        let names: Vec<Option<usize>> = (self.settings.effects.intercept.then_some(None).into_iter())
            .chain(self.settings.effects.slopes.iter().map(|&j| Some(j)))
            .collect();
        let name = |of: Option<usize>| of.map_or_else(|| "intercept".into(), |j| self.settings.name(j));
        let pairs = (0..q).flat_map(|i| (0..i).map(move |j| (j, i)));
        let all = (0..q).map(|i| (i, None)).chain(pairs.map(|(j, i)| (j, Some(i))));
        let mut found = Vec::with_capacity(values.len());
        for ((k, value), (i, second)) in values.iter().enumerate().zip(all) {
            let along: Vec<f64> = slopes.iter().map(|slopes| slopes[k]).collect();
            let own = match &factor {
                Some(factor) => factor.quadratic_form_inverse(&along).map_err(Error::from)?,
                None => f64::INFINITY,
            };
            let is_correlation = second.is_some();
            let second = second.map(|at| names[at]);
            let (text, value, noise) = match second {
                Some(second) => (format!("cor({}, {})", name(names[i]), name(second)), value.tanh(), 0.0),
                None => (format!("sd({})", name(names[i])), value.exp(), noise),
            };
            let uncertainty = (own + noise).sqrt();
            found.push(Component { of: (names[i], second), name: text, value, uncertainty, is_correlation });
        }
        Ok(found)
    }

    /// The share of the variance of a label, or of what is behind it, that the groups' intercepts have, with its uncertainty on the logit
    /// scale; `None` for other effects than one intercept. `rest` is the variance within a group, in units of the noise.
    pub(super) fn intraclass(&self, rest: f64) -> Option<(f64, f64)> {
        if self.phi.len() != 1 || !self.settings.effects.intercept {
            return None;
        }
        let odds = (2.0 * self.phi[0]).exp() / rest;
        Some((odds / (1.0 + odds), 2.0 / self.curvature[(0, 0)].max(0.0).sqrt()))
    }
}
