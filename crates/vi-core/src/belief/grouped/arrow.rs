//! The belief about the common weights at one prior of the effects, and a step of it.

use vi_linalg::faer::Mat;

use super::factor::{GroupFactor, order};
use super::solve::GroupedSolution;
use super::sums::{cross, slope};
use super::{Grouped, Sums};
use crate::belief::{Belief, DenseGaussian, DenseStep, Projection};
use crate::check;
use crate::{Error, Row, Site};

/// A row of a grouped belief: `t = xᵀβ + zᵀu_g`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupedRow<'a> {
    /// The entries for the common weights, length `p`.
    pub x: &'a [f64],
    /// The entries for the effects of the group, length `q`.
    pub z: &'a [f64],
    /// The key of the group.
    pub group: u64,
}

impl GroupedRow<'_> {
    /// Checks lengths and finiteness.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`].
    pub(crate) fn check(&self, p: usize, q: usize) -> Result<(), Error> {
        check::length("x", p, self.x.len())?;
        check::length("z", q, self.z.len())?;
        check::finite("x", self.x)?;
        check::finite("z", self.z)
    }
}

/// Memory for a step of a [`Grouped`] belief or an [`Arrow`].
#[derive(Debug, Clone, Default)]
pub struct GroupedStep {
    factor: GroupFactor,
    /// `f`.
    along: Vec<f64>,
    /// `s`.
    left: Vec<f64>,
    /// `κ`.
    own: f64,
    pub(super) seen: Projection,
    pub(super) site: Site,
    common: DenseStep,
}

/// The posterior of the common weights at one prior of the effects, over the sums of a [`Grouped`] belief: several of them average over
/// that prior at `O(p²)` a row each.
#[derive(Debug, Clone)]
pub struct Arrow {
    /// `Λ`, lower, by rows.
    pub(crate) root: Vec<f64>,
    pub(crate) common: DenseGaussian,
}

impl Arrow {
    /// The posterior that was solved for at `root`.
    pub(super) fn of(solution: &GroupedSolution, root: &[f64]) -> Result<Self, Error> {
        let common = DenseGaussian::from_precision_factor(&solution.mean, &solution.factor)?;
        Ok(Self { root: root.to_vec(), common })
    }

    /// The same posterior with another mean of the common weights.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`.
    pub fn about(&self, mean: &[f64]) -> Result<Self, Error> {
        let common = DenseGaussian::new(mean, self.common.covariance().as_ref())?;
        Ok(Self { root: self.root.clone(), common })
    }

    /// The posterior of the common weights, all effects integrated out.
    #[must_use]
    pub fn common(&self) -> &DenseGaussian {
        &self.common
    }

    /// The root `Λ` of the effects' prior covariance (`q × q`).
    #[must_use]
    pub fn root(&self) -> Mat<f64> {
        let q = order(&self.root);
        Mat::from_fn(q, q, |i, j| self.root[i * q + j])
    }

    /// As [`Grouped::project`], at the prior of this arrow and with the sums of `belief`.
    ///
    /// # Errors
    /// As [`Grouped::project`].
    pub fn project(&self, belief: &Grouped, row: GroupedRow<'_>, step: &mut GroupedStep) -> Result<Projection, Error> {
        let Sums { p, q, .. } = belief.sums;
        row.check(p, q)?;
        let record = belief.sums.record_of(row.group);
        let GroupedStep { factor, along, left, own, seen, common, .. } = step;
        factor.set(q, &self.root, record)?;
        along.resize(q, 0.0);
        factor.shrink_vec(row.z, along);
        *own = row.z.iter().zip(&*along).map(|(z, f)| z * f).sum::<f64>().max(0.0);
        left.clear();
        left.extend_from_slice(row.x);
        for (line, f) in cross(record, q, p).chunks_exact(p).zip(&*along) {
            left.iter_mut().zip(line).for_each(|(left, c)| *left -= f * c);
        }
        let given: f64 = along.iter().zip(slope(record, q)).map(|(f, c)| f * c).sum();
        let of_common = self.common.project(Row::Dense(left), 1.0, common)?;
        let (mean, variance) = (given + of_common.mean, *own + of_common.variance);
        *seen = Projection::new(mean, variance, 0.0)?;
        Ok(*seen)
    }

    /// As [`Grouped::prepare`], for the common weights alone.
    ///
    /// # Errors
    /// As [`Grouped::prepare`].
    pub fn prepare(&self, _row: GroupedRow<'_>, site: Site, step: &mut GroupedStep) -> Result<(), Error> {
        site.check(step.seen.variance)?;
        let shrunk = Site { slope: site.gain(step.own), curvature: site.shrinkage(step.own) };
        self.common.prepare(Row::Dense(&step.left), shrunk, &mut step.common)?;
        step.site = site;
        Ok(())
    }

    /// Writes what was prepared for the common weights; the sums are written by [`Grouped::commit`]. It cannot fail.
    pub fn commit(&mut self, step: &mut GroupedStep) {
        self.common.commit(Row::Dense(&step.left), &mut step.common);
    }

    /// As [`Grouped::effects`], at the prior of this arrow.
    ///
    /// # Errors
    /// As [`Grouped::effects`].
    pub fn effects(&self, belief: &Grouped, group: u64) -> Result<(Vec<f64>, Mat<f64>), Error> {
        let Sums { p, q, .. } = belief.sums;
        let record = belief.sums.record_of(group);
        let factor = GroupFactor::new(&self.root, record)?;
        let follow = factor.follow(cross(record, q, p), p);
        let mut mean = vec![0.0; q];
        factor.shrink_vec(slope(record, q), &mut mean);
        for (mean, line) in mean.iter_mut().zip(follow.chunks_exact(p)) {
            *mean -= line.iter().zip(self.common.mean()).map(|(f, m)| f * m).sum::<f64>();
        }
        let mut covariance = factor.covariance();
        let common = self.common.covariance();
        let lines = Mat::from_fn(q, p, |i, j| follow[i * p + j]);
        covariance += &lines * &common * lines.transpose();
        Ok((mean, covariance))
    }
}
