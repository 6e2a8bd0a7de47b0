//! A mixture as a vector: the coordinates of a chart about each component, followed by the logits of the weights.

use crate::chart::Chart;
use crate::component::{Component, Raw};
use crate::mixture::GaussianMixture;
use crate::optimise::{Minimum, Search, minimise};

/// The free part of the mixture at `u`, whose weights sum to one together with that of the fixed part, and the logarithm of the
/// latter.
pub(super) fn mixture(charts: &[Chart], u: &[f64], fixed: usize) -> Option<(GaussianMixture, f64)> {
    let mut rest = u;
    let mut components: Vec<Component> = Vec::with_capacity(charts.len());
    for chart in charts {
        let (place, after) = rest.split_at_checked(chart.len())?;
        components.push(chart.component(place)?);
        rest = after;
    }
    let largest = rest.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    let log_total = largest + rest.iter().map(|a| (a - largest).exp()).sum::<f64>().ln();
    if !log_total.is_finite() {
        return None;
    }
    let log_weights: Vec<f64> = rest.iter().map(|a| a - log_total).collect();
    let log_fixed = if fixed == 1 { *log_weights.first()? } else { f64::NEG_INFINITY };
    Some((GaussianMixture::from_parts(components, log_weights.get(fixed..)?.to_vec()), log_fixed))
}

/// Writes the gradient in the coordinates `u` of all charts, from that in the parameters of the components of `q`. Returns the
/// number of coordinates.
pub(super) fn pull(charts: &[Chart], q: &GaussianMixture, u: &[f64], raw: &[Raw], gradient: &mut [f64]) -> usize {
    let mut first = 0;
    for ((chart, component), raw) in charts.iter().zip(q.components()).zip(raw) {
        let place = first..first + chart.len();
        chart.pull(component, &u[place.clone()], raw, &mut gradient[place]);
        first += chart.len();
    }
    first
}

/// The mixture near `start` at which `objective`, a value with its gradient, is least, every component free.
pub(super) fn minimise_from(
    start: &GaussianMixture,
    search: Search,
    mut objective: impl FnMut(&[Chart], &[f64], &mut [f64]) -> f64,
) -> Option<(GaussianMixture, Minimum)> {
    let charts: Vec<Chart> = start.components().iter().cloned().map(Chart::new).collect();
    let mut u = vec![0.0; charts.iter().map(Chart::len).sum()];
    u.extend_from_slice(start.log_weights());
    let found = minimise(&u, search, |u, gradient| objective(&charts, u, gradient))?;
    Some((mixture(&charts, &found.x, 0)?.0, found))
}
