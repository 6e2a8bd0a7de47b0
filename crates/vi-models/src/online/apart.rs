//! Beliefs over the weights of several predictors that are independent of each other.

use std::sync::OnceLock;

use rand::Rng;
use vi_core::merge::Pull;
use vi_core::{Belief, DenseGaussian, Error, GaussianBelief, Health, Projection, Row, check};
use vi_linalg::faer::Mat;

use super::belief::{AnyAnchor, AnyBelief, AnyStep, BeliefKind, BeliefWire};

/// One belief for each of several predictors, all of the same kind and over the same number of weights.
#[derive(Debug, Clone)]
pub(super) struct Apart {
    pub(super) parts: Vec<AnyBelief>,
    /// The means of all parts end to end, computed when they are first asked for.
    mean: OnceLock<Vec<f64>>,
}

impl Apart {
    /// `count` independent priors `N(0, diag(variances))`.
    pub(super) fn prior(kind: BeliefKind, variances: &[f64], count: usize) -> Result<Self, Error> {
        Ok(Self::of(vec![AnyBelief::prior(kind, variances)?; count]))
    }

    pub(super) fn of(parts: Vec<AnyBelief>) -> Self {
        Self { parts, mean: OnceLock::new() }
    }

    /// Writes what was prepared for each part.
    pub(super) fn commit(&mut self, row: Row<'_>, steps: &mut [AnyStep]) {
        for (part, step) in self.parts.iter_mut().zip(steps) {
            part.commit(row, step);
        }
        self.mean = OnceLock::new();
    }

    pub(super) fn dim(&self) -> usize {
        self.parts.iter().map(Belief::dim).sum()
    }

    pub(super) fn mean(&self) -> &[f64] {
        self.mean.get_or_init(|| self.parts.iter().flat_map(|part| part.mean().iter().copied()).collect())
    }

    /// The posterior of a row's predictor over all weights: means and variances of the parts add.
    pub(super) fn project(&self, x: Row<'_>) -> Result<Projection, Error> {
        let columns = self.columns();
        let mut entries: Vec<(Vec<usize>, Vec<f64>)> = vec![Default::default(); self.parts.len()];
        x.for_each(|j, value| {
            if let Some((positions, values)) = entries.get_mut(j / columns)
                && value != 0.0
            {
                positions.push(j % columns);
                values.push(value);
            }
        });
        let mut total = Projection { mean: 0.0, variance: 0.0 };
        for (part, (positions, values)) in self.parts.iter().zip(&entries) {
            if !positions.is_empty() {
                let seen = part.project(Row::Sparse { positions, values }, 1.0, &mut AnyStep::default())?;
                total = Projection { mean: total.mean + seen.mean, variance: total.variance + seen.variance };
            }
        }
        Ok(total)
    }

    pub(super) fn is(&self, kind: BeliefKind) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(|part| part.is(kind))
    }

    /// Returns every part towards the prior, as [`AnyBelief::towards`] does, and the sum of their spreads. On an error the parts are
    /// unchanged.
    pub(super) fn towards(&mut self, prior: &AnyAnchor, lambda: f64) -> Result<f64, Error> {
        let mut parts = self.parts.clone();
        let spread = parts.iter_mut().try_fold(0.0, |sum, part| Ok::<_, Error>(sum + part.towards(prior, lambda)?))?;
        *self = Self::of(parts);
        Ok(spread)
    }

    pub(super) fn merge(prior: &Self, others: &[&Self]) -> Result<Self, Error> {
        let part = |c: usize| {
            let beliefs: Vec<&AnyBelief> = others.iter().map(|other| &other.parts[c]).collect();
            AnyBelief::merge(&prior.parts[c], &beliefs)
        };
        Ok(Self::of((0..prior.parts.len()).map(part).collect::<Result<_, _>>()?))
    }

    /// The worst pull of all parts.
    pub(super) fn pull(&self, of: impl Fn(usize) -> Pull) -> Pull {
        (0..self.parts.len())
            .map(of)
            .fold(Pull::default(), |worst, pull| if pull.deviations > worst.deviations { pull } else { worst })
    }

    pub(super) fn health(&self) -> Health {
        let mut worst = self.parts[0].health();
        for part in &self.parts[1..] {
            worst = worst.worse(part.health());
        }
        worst
    }

    /// The number of weights of each part.
    fn columns(&self) -> usize {
        self.parts.first().map_or(1, Belief::dim).max(1)
    }

    pub(super) fn quadratic_form(&self, v: &[f64]) -> Result<f64, Error> {
        check::length("v", self.dim(), v.len())?;
        self.parts.iter().zip(v.chunks(self.columns())).map(|(part, v)| part.quadratic_form(v)).sum()
    }

    pub(super) fn draw_deviation<R: Rng + ?Sized>(&self, deviation: &mut [f64], rng: &mut R) -> Result<(), Error> {
        check::length("theta", self.dim(), deviation.len())?;
        let parts = deviation.chunks_mut(self.columns());
        self.parts.iter().zip(parts).try_for_each(|(part, to)| part.draw_deviation(to, rng))
    }

    pub(super) fn log_det(&self) -> Result<f64, Error> {
        self.parts.iter().map(GaussianBelief::log_det).sum()
    }

    /// One Gaussian whose covariance has those of the parts along its diagonal.
    pub(super) fn to_dense(&self) -> Result<DenseGaussian, Error> {
        let (d, columns) = (self.dim(), self.columns());
        let mut covariance = Mat::zeros(d, d);
        for (c, part) in self.parts.iter().enumerate() {
            covariance
                .as_mut()
                .submatrix_mut(c * columns, c * columns, columns, columns)
                .copy_from(part.to_dense()?.covariance());
        }
        DenseGaussian::new(self.mean(), covariance.as_ref())
    }

    /// The weights of all parts but the first relative to those of the first.
    pub(super) fn relative(&self) -> Result<DenseGaussian, Error> {
        let columns = self.columns();
        let parts = self.parts.iter().map(GaussianBelief::to_dense).collect::<Result<Vec<_>, Error>>()?;
        let Some((first, others)) = parts.split_first() else { return Err(Error::Empty { argument: "parts" }) };
        let less = |part: &DenseGaussian| part.mean().iter().zip(first.mean()).map(|(a, b)| a - b).collect::<Vec<_>>();
        let mean: Vec<f64> = others.iter().flat_map(less).collect();
        let (base, own) = (first.covariance(), others.iter().map(DenseGaussian::covariance).collect::<Vec<_>>());
        let covariance = Mat::from_fn(mean.len(), mean.len(), |i, j| {
            let at = (i % columns, j % columns);
            base[at] + if i / columns == j / columns { own[i / columns][at] } else { 0.0 }
        });
        DenseGaussian::new(&mean, covariance.as_ref())
    }

    pub(super) fn to_wire(&self) -> Result<Vec<BeliefWire>, Error> {
        self.parts.iter().map(AnyBelief::to_wire).collect()
    }

    /// # Errors
    /// `Empty` for no parts, `Dimension` for parts over different numbers of weights, and the errors of reading a part.
    pub(super) fn from_wire(wire: Vec<BeliefWire>) -> Result<Self, Error> {
        let parts = wire.into_iter().map(AnyBelief::from_wire).collect::<Result<Vec<_>, _>>()?;
        let Some(columns) = parts.first().map(Belief::dim) else {
            return Err(Error::Empty { argument: "parts of a belief" });
        };
        for part in &parts {
            if matches!(part, AnyBelief::Apart(_)) {
                return Err(Error::Unsupported { operation: "parts of parts", belief: "one for each class" });
            }
            check::length("weights of a part", columns, part.dim())?;
        }
        Ok(Self::of(parts))
    }
}
