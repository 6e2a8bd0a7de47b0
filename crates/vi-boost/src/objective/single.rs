//! The objective of one Gaussian.

use super::natural::State;
use crate::block::Block;
use crate::chart::Chart;
use crate::component::{Component, HALF_LN_2PI, Raw};
use crate::mixture::MOST_REACH;
use crate::optimise::{End, Minimum, Search, minimise};
use crate::target::Probe;
use crate::{BoostError, LogDensity};

/// `F(μ, Σ) = −H(N(μ,Σ)) − (1/n)Σ_i log f(μ + A·z_i)`, the entropy `H` exactly.
pub(crate) struct Single<'a, T: ?Sized> {
    pub(crate) probe: &'a Probe<'a, T>,
    pub(crate) z: &'a [Block],
}

/// The best Gaussian near a start.
#[derive(Debug, Clone)]
pub(crate) struct Best {
    pub(crate) component: Component,
    pub(crate) value: f64,
    /// The number of evaluations of the value with its gradient.
    pub(crate) evaluations: usize,
    pub(crate) end: End,
}

impl<T: LogDensity + ?Sized> Single<'_, T> {
    /// The value at `component`; infinite or NaN if the target is.
    pub(crate) fn value(&self, component: &Component) -> f64 {
        let (mut x, mut values, mut sum) = (Block::default(), Vec::new(), 0.0);
        for z in self.z {
            component.map(z, &mut x);
            values.resize(x.rows(), 0.0);
            self.probe.values(&x, &mut values);
            sum += values.iter().sum::<f64>();
        }
        -entropy(component) - sum / self.points()
    }

    pub(super) fn points(&self) -> f64 {
        self.z.iter().map(Block::rows).sum::<usize>() as f64
    }

    /// The value at `u` of `chart`, and its gradient.
    pub(crate) fn at(&self, chart: &Chart, u: &[f64], gradient: &mut [f64]) -> f64 {
        let Some(component) = chart.component(u) else { return f64::INFINITY };
        let (mut x, mut slope, mut values, mut sum) = (Block::default(), Block::default(), Vec::new(), 0.0);
        let mut raw = Raw::zeros(&component);
        let n = self.points();
        for z in self.z {
            component.map(z, &mut x);
            values.resize(x.rows(), 0.0);
            self.probe.values_and_gradients(&x, &mut values, &mut slope);
            sum += values.iter().sum::<f64>();
            for j in 0..slope.columns() {
                slope.col_mut(j).iter_mut().for_each(|g| *g *= -1.0 / n);
            }
            raw.add_sample(&component, z, &slope);
        }
        // −H = −½log|Σ| + …: the derivative of the density with no target.
        raw.add_density(&component, &Block::zeros(1, component.dim()), &[1.0]);
        chart.pull(&component, u, &raw, gradient);
        -entropy(&component) - sum / n
    }

    /// L-BFGS in coordinates about `start`.
    fn minimise(&self, start: &Component, search: Search) -> Option<(Component, Minimum)> {
        let chart = Chart::new(start.clone());
        let found = minimise(&vec![0.0; chart.len()], search, |u, g| self.at(&chart, u, g))?;
        Some((chart.component(&found.x)?, found))
    }

    /// The best Gaussian near `start`, of its family; `None` if the target is not finite at its points.
    ///
    /// Alternates natural steps, while they gain, and L-BFGS in coordinates about where they led: each turn works in the units of
    /// the last result. A search that has left all `origins` far behind goes on until it is further away than they allow.
    ///
    /// # Errors
    /// [`BoostError::Improper`].
    pub(crate) fn best(
        &self,
        origins: &[Component],
        start: &Component,
        search: Search,
    ) -> Result<Option<Best>, BoostError> {
        let reach = |here: &Component| origins.iter().map(|origin| here.reach(origin)).fold(f64::INFINITY, f64::min);
        let Some(mut here) = State::new(self, start.clone()) else { return Ok(None) };
        let (mut evaluations, mut left, mut pursuits) = (1, search.evaluations.saturating_sub(1), 0);
        let end = loop {
            let before = here.value;
            // A search that is far away may be following mass without end: it is not ended for being slow.
            let far = reach(&here.component) >= FAR;
            let resolved = if far { here.rounding() } else { here.resolution() };
            let tolerance = resolved.max(search.tolerance);
            let spent = here.descend(self, tolerance, left);
            (evaluations, left) = (evaluations + spent, left - spent);
            let factor = reach(&here.component);
            if factor > MOST_REACH {
                return Err(BoostError::Improper { factor });
            }
            if here.remains() <= tolerance {
                break End::Converged;
            }
            if left < 2 {
                if factor < FAR || pursuits == PURSUITS {
                    break End::Evaluations;
                }
                (left, pursuits) = (search.evaluations.max(2), pursuits + 1);
            }
            let turn = Search { evaluations: (left - 1).min(TURN), tolerance: search.tolerance.max(here.rounding()) };
            let Some((component, found)) = self.minimise(&here.component, turn) else { break End::NoStep };
            let Some(next) = State::new(self, component) else { break End::NoStep };
            (evaluations, left) = (evaluations + found.evaluations + 1, left - found.evaluations - 1);
            if next.value < here.value {
                here = next;
            }
            // A whole turn gained nothing, in coordinates about where it began and from a cleared memory.
            if before - here.value <= tolerance {
                let stuck = found.end == End::NoStep && here.remains() > UNTOLD && here.remains().is_finite();
                break if stuck { End::NoStep } else { End::Converged };
            }
        };
        Ok(Some(Best { component: here.component, value: here.value, evaluations, end }))
    }
}

/// The number of evaluations of L-BFGS before its coordinates are taken anew about where it is.
const TURN: usize = 100;

/// The most nats that may remain for a search that finds no step to count as converged.
const UNTOLD: f64 = 1e-3;

/// How often a search that is far away is extended by as many evaluations again.
const PURSUITS: usize = 50;

/// The number of standard deviations of the start, or the ratio of widths, beyond which a search may be following mass without
/// end.
const FAR: f64 = 10.0;

/// `½log|Σ| + (d/2)(1 + log 2π)`.
pub(crate) fn entropy(component: &Component) -> f64 {
    0.5 * component.log_det() + component.dim() as f64 * (0.5 + HALF_LN_2PI)
}
