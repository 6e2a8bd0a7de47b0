//! Common weights and the effects of many groups: an arrow-shaped precision, at a cost free of the number of groups.
//!
//! | symbol | name in code | shape |
//! |---|---|---|
//! | `β`, `V₀` | common weights, the diagonal of their prior covariance | `p` |
//! | `u_g = Λb_g`, `b_g ~ N(0, I)` | effects of group `g` | `q` |
//! | `Λ` | `root`, of the effects' prior covariance `Σ = ΛΛᵀ` | `q × q`, lower |
//! | `G_g, C_g, c_g` | sums `Σhzzᵀ, Σhzxᵀ, Σrz` of a group's sites | `q × q`, `q × p`, `q` |
//! | `A, a` | sums `Σhxxᵀ, Σrx` of all sites | `p × p`, `p` |
//! | `m, P` | mean and covariance of `β`, the effects integrated out | `p`, `p × p` |
//!
//! ```text
//! project: D = I + ΛᵀG_gΛ,  f = ΛD⁻¹Λᵀz,  κ = zᵀf,  s = x − C_gᵀf
//!          a = fᵀc_g + sᵀm,  ν = sᵀPs + κ
//! commit:  P, m take the site (g/(1+hκ), h/(1+hκ)) along s
//!          G_g += hzzᵀ,  C_g += hzxᵀ,  c_g += rz,  A += hxxᵀ,  a += rx,   r = g + h·a
//! ```
//!
//! The sums do not know the prior: another `Λ` is an [`Arrow`] over the same sums, exact for linear models and with the sites as they
//! stand for others. `Λ` may be singular.

mod arrow;
mod factor;
mod solve;
mod sums;
mod tile;

pub use arrow::{Arrow, GroupedRow, GroupedStep};
pub use solve::{GroupedSlopes, GroupedSolution};
pub(crate) use sums::Sums;

use vi_linalg::faer::{Mat, MatRef, Par};

use self::factor::{GroupFactor, read_root};
use super::{DenseGaussian, Projection};
use crate::check;
use crate::{Belief, Error, Site};

/// The belief over `p` common weights and `q` effects for each group, `u_g ~ N(0, ΛΛᵀ)` before any row.
///
/// A row costs `O(p² + pq + q² + q³)` and a group `pq + q(q+3)/2` numbers, whatever the number of groups. Groups have 64-bit keys and
/// come as they come; a group without rows is at its prior.
///
/// ```
/// use vi_core::{Grouped, GroupedRow, Site};
/// use vi_linalg::faer::mat;
/// // An intercept, and a deviation from it for each clinic with standard deviation 2.
/// let mut belief = Grouped::new(&[100.0], mat![[2.0]].as_ref())?;
/// let mut step = Default::default();
/// for (clinic, y) in [(7, 1.0), (7, 1.4), (8, -0.5)] {
///     let row = GroupedRow { x: &[1.0], z: &[1.0], group: clinic };
///     let seen = belief.project(row, &mut step)?;
///     // A measurement with noise of variance 1.
///     belief.absorb(row, Site { slope: y - seen.mean, curvature: 1.0 }, &mut step)?;
/// }
/// let (mean, covariance) = belief.effects(7)?;
/// assert!(belief.groups() == 2 && mean[0] > 0.0 && covariance[(0, 0)] < 4.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Grouped {
    pub(crate) variances: Vec<f64>,
    pub(crate) sums: Sums,
    pub(crate) arrow: Arrow,
}

impl Grouped {
    /// The prior: common weights from `N(0, diag(variances))`, effects from `N(0, ΛΛᵀ)`, `root = Λ` (`q × q`, of which the lower
    /// triangle is read; its diagonal may hold zeros).
    ///
    /// # Errors
    /// [`Error::Empty`] for `p = 0` or `q = 0`, [`Error::Entry`] for a variance that is not positive and finite, [`Error::Dimension`],
    /// [`Error::NonFinite`].
    pub fn new(variances: &[f64], root: MatRef<'_, f64>) -> Result<Self, Error> {
        check::not_empty("prior variances", variances.len())?;
        check::positive_entries("prior variances", variances)?;
        let root = read_root(root)?;
        let p = variances.len();
        let covariance = Mat::from_fn(p, p, |i, j| if i == j { variances[i] } else { 0.0 });
        let common = DenseGaussian::new(&vec![0.0; p], covariance.as_ref())?;
        let sums = Sums::new(p, factor::order(&root));
        Ok(Self { variances: variances.to_vec(), sums, arrow: Arrow { root, common } })
    }

    /// The belief that is left by rows of which only the sums are known, and what [`rebuild`](Self::rebuild) returns: `A` (the lower triangle by
    /// rows) and `a` over all of them, and for each of `keys`, end to end, a record of `G` (the lower triangle by rows), `C` (by rows) and `c`. Sums of parts of
    /// the rows may be added before. Cost that of a rebuild.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Error::Dimension`], [`Error::NonFinite`] for sums; [`Error::Entry`] for a key that occurs twice;
    /// [`Error::NotPositiveDefinite`] for sums that no rows have.
    ///
    /// ```
    /// use vi_core::Grouped;
    /// use vi_linalg::faer::{Par, mat};
    /// // Clinic 7 has two rows of sum 2.4, clinic 8 one of -0.5; an intercept and a deviation from it for each clinic.
    /// let (all, clinics) = ((vec![3.0], vec![1.9]), vec![2.0, 2.0, 2.4, 1.0, 1.0, -0.5]);
    /// let (belief, _) = Grouped::of_sums(&[100.0], mat![[2.0]].as_ref(), all, vec![7, 8], clinics, Par::Seq)?;
    /// assert!(belief.effects(7)?.0[0] > 0.0 && belief.effects(8)?.0[0] < 0.0);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn of_sums(
        variances: &[f64],
        root: MatRef<'_, f64>,
        all: (Vec<f64>, Vec<f64>),
        keys: Vec<u64>,
        records: Vec<f64>,
        par: Par,
    ) -> Result<(Self, GroupedSolution), Error> {
        let mut belief = Self::new(variances, root)?;
        belief.sums = Sums::from_parts((belief.dim(), belief.effects_dim()), all, keys, records)?;
        let solution = belief.rebuild(variances, root, par)?;
        Ok((belief, solution))
    }

    /// The number `p` of common weights.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.sums.p
    }

    /// The number `q` of effects of a group.
    #[must_use]
    pub fn effects_dim(&self) -> usize {
        self.sums.q
    }

    /// The number of groups that have had a row.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.sums.keys.len()
    }

    /// The keys of the groups, in the order of their first rows.
    #[must_use]
    pub fn keys(&self) -> &[u64] {
        &self.sums.keys
    }

    /// Whether a group has had a row.
    #[must_use]
    pub fn contains(&self, group: u64) -> bool {
        self.sums.slot(group).is_some()
    }

    /// The posterior of the common weights, all effects integrated out.
    #[must_use]
    pub fn common(&self) -> &DenseGaussian {
        &self.arrow.common
    }

    /// The root `Λ` of the effects' prior covariance (`q × q`).
    #[must_use]
    pub fn root(&self) -> Mat<f64> {
        self.arrow.root()
    }

    /// The diagonal of the prior covariance of the common weights.
    #[must_use]
    pub fn variances(&self) -> &[f64] {
        &self.variances
    }

    /// Mean and variance of `xᵀβ + zᵀu_g`. Cost `O(p² + pq + q³)`.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`] for the row; [`Error::NotPositiveDefinite`], [`Error::NegativeVariance`] if rounding
    /// has destroyed the belief; [`Error::Overflow`].
    pub fn project(&self, row: GroupedRow<'_>, step: &mut GroupedStep) -> Result<Projection, Error> {
        self.arrow.project(self, row, step)
    }

    /// Prepares the factor of `site` along a row that [`project`](Self::project) has just been called for with the same `step`.
    ///
    /// # Errors
    /// [`Error::ImproperSite`], [`Error::NotPositiveDefinite`], [`Error::Overflow`], [`Error::NonFinite`].
    pub fn prepare(&self, row: GroupedRow<'_>, site: Site, step: &mut GroupedStep) -> Result<(), Error> {
        self.arrow.prepare(row, site, step)?;
        self.sums.check(row, step)
    }

    /// Writes what was prepared. It cannot fail.
    pub fn commit(&mut self, row: GroupedRow<'_>, step: &mut GroupedStep) {
        self.arrow.commit(step);
        self.sums.add(row, step.site.curvature, step.site.natural_slope(step.seen.mean));
    }

    /// [`prepare`](Self::prepare) and [`commit`](Self::commit).
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare); the belief is then as it was, to the bit.
    pub fn absorb(&mut self, row: GroupedRow<'_>, site: Site, step: &mut GroupedStep) -> Result<(), Error> {
        self.prepare(row, site, step)?;
        self.commit(row, step);
        Ok(())
    }

    /// Multiplies in many factors `exp(r·t − ½h·t²)` of `t = xᵀβ + zᵀu_g` at once: `rows` calls its argument with `(row, h, r)` for each; none
    /// may depend on the belief. Returns what [`rebuild`](Self::rebuild) returns. Cost `O(p² + pq + q²)` a row, a copy of the sums, and one rebuild.
    ///
    /// # Errors
    /// Those of `rows`; what is wrong in a row, [`Error::NotPositiveDefinite`], [`Error::Overflow`]. The belief is then as it was.
    ///
    /// ```
    /// use vi_core::{Grouped, GroupedRow};
    /// use vi_linalg::faer::{Par, mat};
    /// let mut belief = Grouped::new(&[100.0], mat![[2.0]].as_ref())?;
    /// belief.absorb_all(Par::Seq, |add| {
    ///     (0..10).try_for_each(|t| add(GroupedRow { x: &[1.0], z: &[1.0], group: t % 3 }, 1.0, 0.5))
    /// })?;
    /// assert_eq!(belief.groups(), 3);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn absorb_all<E: From<Error>>(
        &mut self,
        par: Par,
        rows: impl FnOnce(&mut dyn FnMut(GroupedRow<'_>, f64, f64) -> Result<(), Error>) -> Result<(), E>,
    ) -> Result<GroupedSolution, E> {
        let mut sums = self.sums.clone();
        rows(&mut |row, h, r| {
            row.check(sums.p, sums.q)?;
            check::finite("site", &[h, r])?;
            sums.add(row, h, r);
            Ok(())
        })?;
        let before = std::mem::replace(&mut self.sums, sums);
        self.rebuild(&self.variances.clone(), self.root().as_ref(), par).map_err(|error| {
            self.sums = before;
            error.into()
        })
    }

    /// Mean (`q`) and covariance (`q × q`) of the effects of a group; those of the prior for a group without rows. Cost `O(q³ + p²q)`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] if rounding has destroyed the belief.
    pub fn effects(&self, group: u64) -> Result<(Vec<f64>, Mat<f64>), Error> {
        self.arrow.effects(self, group)
    }

    /// Solves for another prior, with the sums as they stand, and takes it. Returns the evidence. Cost `O(m(q³ + pq² + p²q) + p³)` for
    /// `m` groups.
    ///
    /// # Errors
    /// As [`solve`](Self::solve); the belief is then as it was.
    pub fn rebuild(&mut self, variances: &[f64], root: MatRef<'_, f64>, par: Par) -> Result<GroupedSolution, Error> {
        let solution = self.solve(variances, root, par)?;
        self.variances = variances.to_vec();
        self.arrow = Arrow::of(&solution, &read_root(root)?)?;
        Ok(solution)
    }

    /// The belief over all `p + mq` weights, the effects of the groups following the common weights in the order of
    /// [`keys`](Self::keys). For tests and for few groups: it costs `(p + mq)³`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] for a singular `Λ`.
    pub fn to_dense(&self) -> Result<DenseGaussian, Error> {
        let (p, q) = (self.sums.p, self.sums.q);
        let d = p + q * self.groups();
        let common = self.arrow.common.covariance();
        let mut mean = self.arrow.common.mean().to_vec();
        // θ = E[θ | β] + its rest: the columns of `lines` are how each weight's mean follows β.
        let mut lines = Mat::<f64>::zeros(d, p);
        let mut covariance = Mat::<f64>::zeros(d, d);
        (0..p).for_each(|i| lines[(i, i)] = 1.0);
        for slot in 0..self.groups() {
            let factor = GroupFactor::new(&self.arrow.root, self.sums.record(slot))?;
            let (own, follow) = (factor.covariance(), factor.follow(self.sums.cross(slot), p));
            let (effects, _) = self.effects(self.sums.keys[slot])?;
            mean.extend(effects);
            let at = p + slot * q;
            for i in 0..q {
                (0..p).for_each(|j| lines[(at + i, j)] = -follow[i * p + j]);
                (0..q).for_each(|j| covariance[(at + i, at + j)] = own[(i, j)]);
            }
        }
        covariance += &lines * &common * lines.transpose();
        let symmetric = Mat::from_fn(d, d, |i, j| 0.5 * (covariance[(i, j)] + covariance[(j, i)]));
        DenseGaussian::new(&mean, symmetric.as_ref())
    }

    /// Adds the sums of a belief with the same prior that has learned other rows: exact. Cost that of a [`rebuild`](Self::rebuild).
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`Error::Entry`] where the priors differ; [`Error::Overflow`], [`Error::NotPositiveDefinite`]. The belief is
    /// then as it was.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        self.combine(other, 1.0)
    }

    /// Takes out what `other`, a belief with the same prior, has learned from rows that this one has learned too.
    ///
    /// # Errors
    /// As [`merge`](Self::merge), and [`Error::Entry`] for a group that this belief does not know.
    pub fn subtract(&mut self, other: &Self) -> Result<(), Error> {
        self.combine(other, -1.0)
    }

    fn combine(&mut self, other: &Self, sign: f64) -> Result<(), Error> {
        check::length("common weights", self.dim(), other.dim())?;
        check::length("effects", self.effects_dim(), other.effects_dim())?;
        let like = |mine: &[f64], other: &[f64], argument| match (0..mine.len()).find(|&i| mine[i] != other[i]) {
            None => Ok(()),
            Some(index) => {
                Err(Error::Entry { argument, index, value: other[index], requirement: "that of the other belief" })
            }
        };
        like(&self.variances, &other.variances, "prior variances")?;
        like(&self.arrow.root, &other.arrow.root, "root of the effects' prior")?;
        let before = self.sums.clone();
        let combined = self.sums.combine(&other.sums, sign);
        let rebuilt =
            combined.and_then(|()| self.rebuild(&self.variances.clone(), self.root().as_ref(), Par::Seq).map(drop));
        if rebuilt.is_err() {
            self.sums = before;
        }
        rebuilt
    }

    /// `log|P|` of all `p + mq` weights. Cost `O(mq³ + p³)`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] for a singular `Λ`, or if rounding has destroyed the belief.
    pub fn log_det(&self) -> Result<f64, Error> {
        let q = self.sums.q;
        let mut log_det = self.arrow.common.cholesky()?.log_det();
        let of_root: f64 = (0..q).map(|i| self.arrow.root[i * q + i].abs().ln()).sum();
        for slot in 0..self.groups() {
            log_det += 2.0 * of_root - GroupFactor::new(&self.arrow.root, self.sums.record(slot))?.log_det();
        }
        if log_det == f64::NEG_INFINITY {
            return Err(Error::NotPositiveDefinite { argument: "covariance of the effects", pivot: 0 });
        }
        check::result("log determinant", log_det)
    }
}

#[cfg(test)]
mod tests;
