//! A target as the algorithms use it: on blocks, always with derivatives, evaluations being counted.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use vi_linalg::faer::Mat;

use super::LogDensity;
use super::difference::{self, Source};
use crate::BoostError;
use crate::block::Block;
use crate::component::Component;
use crate::divergence::{self, Divergence};
use crate::evaluations::{Count, Evaluations, Phase};
use crate::mixture::GaussianMixture;
use vi_core::check;

/// Counts of invalid values of a log-density.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    pub(crate) zero: usize,
    pub(crate) nan: usize,
    pub(crate) infinite: usize,
}

impl Faults {
    pub(crate) fn of(values: &[f64]) -> Self {
        let count = |fault: fn(f64) -> bool| values.iter().filter(|value| fault(**value)).count();
        Self {
            zero: count(|value| value == f64::NEG_INFINITY),
            nan: count(f64::is_nan),
            infinite: count(|value| value == f64::INFINITY),
        }
    }
}

/// The number of phases.
const PHASES: usize = 4;

/// A target with the scale for its differences.
pub(crate) struct Probe<'a, T: ?Sized> {
    target: &'a T,
    scale: Vec<f64>,
    /// Points with values and with gradients by phase, counted through a shared reference; no other memory depends on them.
    counts: [[AtomicU64; 2]; PHASES],
    /// The phase that evaluations count for.
    phase: AtomicUsize,
}

impl<'a, T: LogDensity + ?Sized> Probe<'a, T> {
    /// A probe whose `scale` is a standard deviation for each coordinate.
    pub(crate) fn new(target: &'a T, scale: Vec<f64>) -> Result<Self, BoostError> {
        check::length("dimension of the start", target.dim(), scale.len())?;
        Ok(Self { target, scale, counts: Default::default(), phase: AtomicUsize::new(Phase::Components as usize) })
    }

    /// A probe with the standard deviations of `start`.
    pub(crate) fn about(target: &'a T, start: &Component) -> Result<Self, BoostError> {
        let covariance = start.covariance();
        Self::new(target, (0..start.dim()).map(|j| covariance[(j, j)].sqrt()).collect())
    }

    pub(crate) fn dim(&self) -> usize {
        self.scale.len()
    }

    pub(crate) fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// The number of points at which the log-density was evaluated.
    pub(crate) fn evaluations(&self) -> u64 {
        self.spent().all().total()
    }

    /// The evaluations by phase.
    pub(crate) fn spent(&self) -> Evaluations {
        let of = |phase: Phase| {
            let [values, gradients] = &self.counts[phase as usize];
            Count { values: values.load(Ordering::Relaxed), gradients: gradients.load(Ordering::Relaxed) }
        };
        Evaluations {
            modes: of(Phase::Modes),
            components: of(Phase::Components),
            refit: of(Phase::Refit),
            diagnosis: of(Phase::Diagnosis),
        }
    }

    /// Counts what follows for `phase`.
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.store(phase as usize, Ordering::Relaxed);
    }

    /// [`divergence::quasi`] of the target.
    pub(crate) fn divergence(
        &self,
        q: &GaussianMixture,
        points: usize,
        replicates: usize,
        seed: u64,
    ) -> Result<Divergence, BoostError> {
        self.count(points * q.len() * replicates, false);
        divergence::quasi(q, self.target, points, replicates, seed)
    }

    fn count(&self, points: usize, with_gradient: bool) {
        let phase = &self.counts[self.phase.load(Ordering::Relaxed)];
        phase[usize::from(with_gradient)].fetch_add(points as u64, Ordering::Relaxed);
    }

    pub(crate) fn value(&self, x: &[f64]) -> f64 {
        let mut value = [0.0];
        self.values(&Block::point(x), &mut value);
        value[0]
    }

    pub(crate) fn values(&self, x: &Block, values: &mut [f64]) {
        self.count(x.rows(), false);
        self.target.log_densities(x.as_ref(), values);
    }

    /// Values and gradients; differences cost `2d` evaluations a point.
    pub(crate) fn values_and_gradients(&self, x: &Block, values: &mut [f64], gradients: &mut Block) {
        gradients.reshape(x.rows(), self.dim());
        if self.target.log_densities_and_gradients(x.as_ref(), values, gradients.as_mut()) {
            self.count(x.rows(), true);
            return;
        }
        self.count((1 + 2 * self.dim()) * x.rows(), false);
        self.target.log_densities(x.as_ref(), values);
        let (mut theta, mut gradient) = (vec![0.0; self.dim()], vec![0.0; self.dim()]);
        for i in 0..x.rows() {
            x.row(i, &mut theta);
            difference::gradient_at(self.target, &theta, &self.scale, &mut gradient);
            for (j, value) in gradient.iter().enumerate() {
                gradients.col_mut(j)[i] = *value;
            }
        }
    }

    /// `∇²log f`, full.
    pub(crate) fn hessian(&self, theta: &[f64]) -> Mat<f64> {
        let d = self.dim();
        let mut out = Mat::zeros(d, d);
        match difference::hessian_at(self.target, theta, &self.scale, out.as_mut()) {
            Source::Target => self.count(1, true),
            Source::Gradients => self.count(2 * d, true),
            Source::Values => self.count(1 + 2 * d * d, false),
        }
        out
    }
}

/// The error of a value that is NaN or +∞, with its point; `None` for finite values and for −∞.
pub(crate) fn fault(values: &[f64], x: &Block) -> Option<BoostError> {
    let i = values.iter().position(|value| value.is_nan() || *value == f64::INFINITY)?;
    let mut point = vec![0.0; x.columns()];
    x.row(i, &mut point);
    Some(BoostError::TargetValue { value: values[i], point })
}
