//! The objective of the next component of the square root.

use super::overlap::Overlap;
use super::root::{Root, RootScratch};
use crate::block::Block;
use crate::boost::cloud::Cloud;
use crate::chart::Chart;
use crate::component::{Component, Raw};
use crate::mixture::{GaussianMixture, Scratch};
use crate::optimise::{Minimum, Search, minimise};
use crate::target::{LogDensity, Probe};

/// `−log J(h)`, `J(h) = ⟨√f − c·ḡ, h⟩/√(1 − ⟨ḡ, h⟩²)` with `c = ⟨√f, ḡ⟩`, for `h = √N(μ,Σ)` (Campbell and Li 2019, eq 8); `−log⟨√f, h⟩`
/// while there is no `ḡ`.
///
/// The numerator is `E_N[(√f − c·ḡ)/√N]` on moving quasi-random points: what `ḡ` explains cancels at every point, not only on
/// average. All numbers are in units of `e^shift`.
pub(crate) struct Residual<'a, T: ?Sized> {
    pub(crate) probe: &'a Probe<'a, T>,
    pub(crate) z: &'a [Block],
    pub(crate) shift: f64,
    pub(crate) root: &'a Root,
    /// `c`.
    pub(crate) affinity: f64,
}

/// `√(f/N) − c·ḡ/√N`, and its two parts.
fn terms(log_f: f64, log_n: f64, log_root: f64, shift: f64, affinity: f64) -> (f64, f64) {
    ((0.5 * (log_f - log_n) - shift).exp(), affinity * (log_root - 0.5 * log_n).exp())
}

/// `⟨√f − c·ḡ, √N⟩/e^shift` from the points of a component with their `log f`, and its standard error as of independent points.
pub(crate) fn remainder(component: &Component, points: &Cloud, root: &Root, shift: f64, affinity: f64) -> (f64, f64) {
    let n = points.len() as f64;
    let (mut log_n, mut s, mut scratch) = (Vec::new(), Block::default(), RootScratch::default());
    let (mut sum, mut squares) = (0.0, 0.0);
    for (x, log_f) in points.x.iter().zip(&points.log_f) {
        log_n.resize(x.rows(), 0.0);
        component.evaluate(x, &mut log_n, &mut s, false);
        root.evaluate(x, &mut scratch, false);
        for i in 0..x.rows() {
            let (target, explained) = terms(log_f[i], log_n[i], scratch.total[i], shift, affinity);
            let v = (target - explained) / n;
            sum += v;
            squares += v * v;
        }
    }
    (sum, (squares - sum * sum / n).max(0.0).sqrt())
}

/// `log⟨√f, √N⟩` from the points of a component with their `log f`; −∞ or NaN if the target is zero at all points or NaN at one.
pub(crate) fn log_affinity(component: &Component, points: &Cloud) -> f64 {
    let (mut log_n, mut s, mut halves) = (Vec::new(), Block::default(), Vec::with_capacity(points.len()));
    for (x, log_f) in points.x.iter().zip(&points.log_f) {
        log_n.resize(x.rows(), 0.0);
        component.evaluate(x, &mut log_n, &mut s, false);
        halves.extend(log_f.iter().zip(&log_n).map(|(f, n)| 0.5 * (f - n)));
    }
    let largest = halves.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    largest + (halves.iter().map(|half| (half - largest).exp()).sum::<f64>() / points.len() as f64).ln()
}

impl<T: LogDensity + ?Sized> Residual<'_, T> {
    /// The numerator and its derivative, added to `raw`.
    fn numerator(&self, h: &Component, raw: &mut Raw) -> f64 {
        let n = self.z.iter().map(Block::rows).sum::<usize>() as f64;
        let (mut x, mut slope, mut log_f, mut log_n) = (Block::default(), Block::default(), Vec::new(), Vec::new());
        let (mut s, mut scratch) = (Block::default(), RootScratch::default());
        let (mut by_f, mut by_root, mut rho) = (Vec::new(), Vec::new(), Vec::new());
        let mut sum = 0.0;
        for z in self.z {
            h.map(z, &mut x);
            for column in [&mut log_f, &mut log_n, &mut by_f, &mut by_root, &mut rho] {
                column.resize(x.rows(), 0.0);
            }
            h.evaluate(&x, &mut log_n, &mut s, true);
            self.probe.values_and_gradients(&x, &mut log_f, &mut slope);
            self.root.evaluate(&x, &mut scratch, true);
            for i in 0..x.rows() {
                let (target, explained) = terms(log_f[i], log_n[i], scratch.total[i], self.shift, self.affinity);
                sum += (target - explained) / n;
                // ∂√(f/N) = √(f/N)·½(∇log f·∂θ − ∂log N), ∂(ḡ/√N) = (ḡ/√N)·(∇log ḡ·∂θ − ½∂log N), ∇log N = −s
                by_f[i] = 0.5 * target / n;
                by_root[i] = -explained / n;
                rho[i] = -0.5 * (target - explained) / n;
            }
            for j in 0..x.columns() {
                for (i, g) in slope.col_mut(j).iter_mut().enumerate() {
                    // A point without density contributes nothing, whatever its slope.
                    *g = if by_f[i] > 0.0 { by_f[i] * *g } else { 0.0 } - rho[i] * s.col(j)[i];
                }
            }
            self.root.add_gradient(&scratch, &by_root, &mut slope);
            raw.add_sample(h, z, &slope);
            raw.add_density(h, &s, &rho);
        }
        sum
    }

    /// The value at `u` of `chart`, and its gradient.
    fn at(&self, chart: &Chart, u: &[f64], gradient: &mut [f64]) -> f64 {
        let Some(h) = chart.component(u) else { return f64::INFINITY };
        let mut raw = Raw::zeros(&h);
        let numerator = self.numerator(&h, &mut raw);
        cosine(self.root, &h, numerator, raw, |raw| chart.pull(&h, u, raw, gradient))
    }

    /// The value without a gradient, on the points of `h`.
    pub(crate) fn value(&self, h: &Component, points: &Cloud) -> f64 {
        let numerator = remainder(h, points, self.root, self.shift, self.affinity).0;
        let overlap = self.root.overlap(h);
        let rest = 1.0 - overlap * overlap;
        if numerator > 0.0 && rest > LEAST_REST { 0.5 * rest.ln() - numerator.ln() } else { f64::INFINITY }
    }

    /// The best component near `start`.
    pub(crate) fn minimise(&self, start: &Component, search: Search) -> Option<(Component, Minimum)> {
        let chart = Chart::new(start.clone());
        let found = minimise(&vec![0.0; chart.len()], search, |u, g| self.at(&chart, u, g))?;
        Some((chart.component(&found.x)?, found))
    }
}

/// `−log J` from its numerator and the numerator's derivative; `pull` is given the derivative of the whole.
fn cosine(root: &Root, h: &Component, numerator: f64, mut raw: Raw, pull: impl FnOnce(&Raw)) -> f64 {
    let mut overlap_raw = Raw::zeros(h);
    let mut overlap = 0.0;
    for (component, lambda) in root.components.iter().zip(&root.lambda) {
        let Ok(with) = Overlap::of(component, h) else { return f64::INFINITY };
        let term = lambda * with.log_z.exp();
        overlap += term;
        with.add_gradient(h, term, &mut overlap_raw);
    }
    // The terms ¼log|Σ| of all overlaps together.
    overlap_raw.add_density(h, &Block::zeros(1, h.dim()), &[-0.5 * overlap]);
    let rest = 1.0 - overlap * overlap;
    if !(numerator > 0.0 && rest > LEAST_REST) {
        return f64::INFINITY;
    }
    // −∂log J = −∂numerator/numerator − overlap·∂overlap/rest
    let (of_numerator, of_overlap) = (-1.0 / numerator, -overlap / rest);
    for (a, b) in raw.mean.iter_mut().zip(&overlap_raw.mean) {
        *a = of_numerator * *a + of_overlap * b;
    }
    for j in 0..raw.spread.ncols() {
        for i in 0..raw.spread.nrows() {
            raw.spread[(i, j)] = of_numerator * raw.spread[(i, j)] + of_overlap * overlap_raw.spread[(i, j)];
        }
    }
    pull(&raw);
    0.5 * rest.ln() - numerator.ln()
}

/// The objective of a new component on fixed points, those of `ḡ`'s components and of one more: it needs no evaluation of the
/// target, and has many more points than the new component's own.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResidualAtRest<'a> {
    x: Vec<&'a Block>,
    /// `ω_i(√f − c·ḡ)/m` at each point.
    excess: Vec<Vec<f64>>,
}

impl<'a> ResidualAtRest<'a> {
    /// Prepares the clouds' points, `h`'s last, as if they came from all of them alike.
    pub(crate) fn new(root: &Root, clouds: &[&'a Cloud], h: &Component, shift: f64, affinity: f64) -> Self {
        let share = (1.0 / clouds.len() as f64).ln();
        let sources = root.components.iter().chain([h]).cloned().collect();
        let source = GaussianMixture::from_parts(sources, vec![share; clouds.len()]);
        let total: usize = clouds.iter().map(|cloud| cloud.len()).sum();
        let (mut of_m, mut of_root) = (Scratch::default(), RootScratch::default());
        let mut rest = Self::default();
        for cloud in clouds {
            for (x, log_f) in cloud.x.iter().zip(&cloud.log_f) {
                source.evaluate(x, &mut of_m, false);
                root.evaluate(x, &mut of_root, false);
                let rows = log_f.iter().zip(&of_root.total).zip(&of_m.total);
                let excess =
                    rows.map(|((f, g), m)| ((0.5 * f - shift - m).exp() - affinity * (g - m).exp()) / total as f64);
                rest.excess.push(excess.collect());
                rest.x.push(x);
            }
        }
        rest
    }

    fn at(&self, root: &Root, chart: &Chart, u: &[f64], gradient: &mut [f64]) -> f64 {
        let Some(h) = chart.component(u) else { return f64::INFINITY };
        let mut raw = Raw::zeros(&h);
        let (mut log_n, mut s, mut numerator) = (Vec::new(), Block::default(), 0.0);
        for (x, excess) in self.x.iter().zip(&self.excess) {
            log_n.resize(x.rows(), 0.0);
            h.evaluate(x, &mut log_n, &mut s, true);
            for (log, excess) in log_n.iter_mut().zip(excess) {
                let term = excess * (0.5 * *log).exp();
                numerator += term;
                *log = 0.5 * term;
            }
            raw.add_density(&h, &s, &log_n);
        }
        cosine(root, &h, numerator, raw, |raw| chart.pull(&h, u, raw, gradient))
    }

    /// The best component near `start`.
    pub(crate) fn minimise(&self, root: &Root, start: &Component, search: Search) -> Option<(Component, Minimum)> {
        let chart = Chart::new(start.clone());
        let found = minimise(&vec![0.0; chart.len()], search, |u, g| self.at(root, &chart, u, g))?;
        Some((chart.component(&found.x)?, found))
    }
}

/// The least `1 − ⟨ḡ,h⟩²` of a component: one that is nearer to `ḡ` adds only rounding.
const LEAST_REST: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use vi_linalg::faer::mat;

    use super::*;
    use crate::block;
    use crate::target::Banana;

    /// Compares `f`'s gradient with central differences at `u`.
    fn check(u: &[f64], f: impl Fn(&[f64], &mut [f64]) -> f64) {
        let mut gradient = vec![0.0; u.len()];
        assert!(f(u, &mut gradient).is_finite());
        for j in 0..u.len() {
            let h = f64::EPSILON.cbrt();
            let (mut up, mut down, mut unused) = (u.to_vec(), u.to_vec(), gradient.clone());
            up[j] += h;
            down[j] -= h;
            let difference = (f(&up, &mut unused) - f(&down, &mut unused)) / (up[j] - down[j]);
            // Truncation and rounding of a central difference, both of order ε^⅔.
            assert!((gradient[j] - difference).abs() < 1e3 * h * h, "{j}: {} {difference}", gradient[j]);
        }
    }

    #[test]
    fn the_gradient_is_that_of_the_value() {
        let banana = Banana::new(1.5, 0.4).unwrap();
        let probe = Probe::new(&banana, vec![1.0, 1.0]).unwrap();
        let covariance = mat![[1.4, 0.0], [-0.5, 0.8]];
        let full = Component::full(&[0.3, -0.2], covariance.as_ref()).unwrap();
        let diagonal = Component::diagonal(&[-1.0, 1.0], &[0.5, 2.0]).unwrap();
        let low_rank = Component::low_rank(&[0.4, 0.6], &[0.7, 0.3], mat![[0.5], [-0.8]].as_ref()).unwrap();
        let others = vec![Component::isotropic(&[3.0, -3.0], 0.8).unwrap(), full.widened(0.4).unwrap()];
        let root = Root { components: others, lambda: vec![0.4, 0.3] };
        for component in [full, diagonal, low_rank] {
            let z = block::quasi(128, component.latent_dim(), 1).unwrap();
            let residual = Residual { probe: &probe, z: &z, shift: 0.3, root: &root, affinity: 0.2 };
            let chart = Chart::new(component);
            let u: Vec<f64> = (0..chart.len()).map(|i| 0.3 * ((7 * i + 3) as f64).sin()).collect();
            let value = residual.at(&chart, &u, &mut vec![0.0; u.len()]);
            let h = chart.component(&u).unwrap();
            let mut points = Cloud::resting(z.clone());
            points.move_to(&probe, &h);
            assert!((value - residual.value(&h, &points)).abs() < 1e-13 * value.abs().max(1.0));
            check(&u, |u, g| residual.at(&chart, u, g));
            let wide = h.widened(3.0).unwrap();
            points.move_to(&probe, &wide);
            let clouds = [&points, &points, &points];
            let at_rest = ResidualAtRest::new(&root, &clouds, &wide, 0.3, 0.2);
            check(&u, |u, g| at_rest.at(&root, &chart, u, g));
        }
    }
}
