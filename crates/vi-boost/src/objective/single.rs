//! One Gaussian.

use crate::block::Block;
use crate::chart::Chart;
use crate::component::{Component, HALF_LN_2PI, Raw};
use crate::mixture::MOST_REACH;
use crate::optimise::{Minimum, Search, minimise};
use crate::target::Probe;
use crate::{BoostError, LogDensity};

/// `F(μ, Σ) = −H(N(μ,Σ)) − (1/n)Σ_i log f(μ + A·z_i)`, the entropy `H` exactly.
pub(crate) struct Single<'a, T: ?Sized> {
    pub(crate) probe: &'a Probe<'a, T>,
    pub(crate) z: &'a [Block],
}

impl<T: LogDensity + ?Sized> Single<'_, T> {
    /// The value at `component`; infinite or NaN where the target is.
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

    fn points(&self) -> f64 {
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
        // −H = −½log|Σ| + …: the density's derivative with nothing to be near to.
        raw.add_density(&component, &Block::zeros(1, component.dim()), &[1.0]);
        chart.pull(&component, u, &raw, gradient);
        -entropy(&component) - sum / n
    }

    /// The best Gaussian near `start`, of its family.
    pub(crate) fn minimise(&self, start: &Component, search: Search) -> Option<(Component, Minimum)> {
        let chart = Chart::new(start.clone());
        let found = minimise(&vec![0.0; chart.len()], search, |u, g| self.at(&chart, u, g))?;
        Some((chart.component(&found.x)?, found))
    }

    /// The same for a search that may have no end: one that left `origin` far behind goes on, in coordinates about where it is,
    /// until that gains nothing or it is beyond anything `origin` can mean.
    ///
    /// # Errors
    /// [`BoostError::Improper`].
    pub(crate) fn pursue(
        &self,
        origin: &Component,
        start: &Component,
        search: Search,
    ) -> Result<Option<(Component, Minimum)>, BoostError> {
        let Some((mut component, mut found)) = self.minimise(start, search) else { return Ok(None) };
        for _ in 0..PURSUITS {
            let factor = component.reach(origin);
            if factor > MOST_REACH {
                return Err(BoostError::Improper { factor });
            }
            if factor < FAR {
                break;
            }
            let Some((further, next)) = self.minimise(&component, search) else { break };
            let (gained, evaluations) = (found.value - next.value, found.evaluations + next.evaluations);
            (component, found) = (further, Minimum { evaluations, ..next });
            if found.converged && gained <= search.tolerance {
                break;
            }
        }
        Ok(Some((component, found)))
    }
}

/// Times a search goes on.
const PURSUITS: usize = 50;

/// Standard deviations of the start, or times as wide, beyond which a search may be after mass without
/// end.
const FAR: f64 = 10.0;

/// `½log|Σ| + (d/2)(1 + log 2π)`.
pub(crate) fn entropy(component: &Component) -> f64 {
    0.5 * component.log_det() + component.dim() as f64 * (0.5 + HALF_LN_2PI)
}
