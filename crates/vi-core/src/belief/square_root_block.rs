//! Blocked updates of the square-root belief, and the belief from all its sites.

use std::fmt;

use vi_linalg::LinalgError;
use vi_linalg::cholesky::{
    panel_update_in_place, panel_update_scratch, rank_one_downdate_in_place, solve_lower_in_place, solve_upper_in_place,
};
use vi_linalg::faer::dyn_stack::{MemBuffer, MemStack};
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::linalg::matmul::triangular::{self, BlockStructure};
use vi_linalg::faer::{Accum, ColMut, Mat, MatMut, MatRef, Par};

use super::square_root::root_scale;
use super::{Belief, Projection, SquareRootGaussian};
use crate::block::{BlockBelief, BlockRecursion};
use crate::check;
use crate::{Error, Site, Sites};

/// How many rows are added at a time when a root is built from sites.
const SITE_ROWS: usize = 128;

/// Memory for a block of a square-root belief: `Z`, then the scaled rows; `w`; a copy of the root to go back to, once one is
/// needed.
pub struct RootPanels {
    rows: Mat<f64>,
    weights: Mat<f64>,
    shift: Mat<f64>,
    before: Mat<f64>,
    memory: MemBuffer,
}

impl fmt::Debug for RootPanels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RootPanels").field("rows", &self.rows.shape()).finish_non_exhaustive()
    }
}

impl RootPanels {
    fn new(d: usize, b: usize) -> Self {
        Self {
            rows: Mat::zeros(d, b),
            weights: Mat::zeros(b, 1),
            shift: Mat::zeros(d, 1),
            before: Mat::zeros(0, 0),
            memory: MemBuffer::new(panel_update_scratch(d, b)),
        }
    }

    /// Keeps a copy of the root, to restore after an error.
    fn keep(&mut self, root: &Mat<f64>) {
        if self.before.nrows() != root.nrows() {
            self.before = Mat::zeros(root.nrows(), root.nrows());
        }
        self.before.copy_from_triangular_lower(root);
    }

    /// `LLᵀ ← LLᵀ + Σ h_t x_t x_tᵀ`: the positive curvatures first, by panels, then the negative ones, one by one.
    ///
    /// # Errors
    /// [`Error::ImproperSite`] at the row whose site overflows, before anything is written; [`Error::NotPositiveDefinite`]
    /// when a downdate fails. On an error `root` is unchanged.
    fn update_root(
        &mut self,
        root: &mut Mat<f64>,
        x: MatRef<'_, f64>,
        sites: impl Iterator<Item = (Site, Projection)> + Clone,
        par: Par,
    ) -> Result<(), Error> {
        for (t, (site, projection)) in sites.clone().enumerate() {
            root_scale(site, projection, x.row(t).norm_max()).map_err(|error| error.at_row(t))?;
        }
        let curvatures = sites.map(|(site, _)| site.curvature).enumerate();
        let mut positive = 0;
        for (t, h) in curvatures.clone().filter(|&(_, h)| h > 0.0) {
            write_scaled(self.rows.as_mut().col_mut(positive), x, t, h.sqrt());
            positive += 1;
        }
        let negative = curvatures.filter(|&(_, h)| h < 0.0);
        if negative.clone().next().is_some() {
            self.keep(root);
        }
        let added = self.rows.as_ref().subcols(0, positive);
        panel_update_in_place(root.as_mut(), added, par, MemStack::new(&mut self.memory)).map_err(indefinite)?;
        for (t, h) in negative {
            let mut row = self.shift.as_mut().col_mut(0);
            write_scaled(row.as_mut(), x, t, (-h).sqrt());
            let Some(row) = row.try_as_col_major_mut() else { continue };
            if let Err(error) = rank_one_downdate_in_place(root.as_mut(), row.as_slice_mut()) {
                root.copy_from_triangular_lower(&self.before);
                return Err(indefinite(error));
            }
        }
        Ok(())
    }
}

impl BlockBelief for SquareRootGaussian {
    type Panels = RootPanels;

    fn panels(&self, b: usize) -> RootPanels {
        RootPanels::new(self.dim(), b)
    }

    /// Computes `Z = L⁻¹X_b` (`bd²` flops), `T = ZᵀZ`, `a = X_bᵀμ`.
    fn project_block(&mut self, x: MatRef<'_, f64>, recursion: &mut BlockRecursion, panels: &mut RootPanels, par: Par) {
        let (b, d) = (x.nrows(), x.ncols());
        let mut z = panels.rows.as_mut().submatrix_mut(0, 0, d, b);
        z.copy_from(x.transpose());
        solve_lower_in_place(self.root(), z.as_mut(), par);
        let (a, t) = recursion.inputs(b);
        let a = MatMut::from_column_major_slice_mut(a, b, 1);
        matmul(a, Accum::Replace, x, MatRef::from_column_major_slice(self.mean(), d, 1), 1.0, par);
        triangular::matmul(
            t,
            BlockStructure::TriangularLower,
            Accum::Replace,
            z.as_ref().transpose(),
            BlockStructure::Rectangular,
            z.as_ref(),
            BlockStructure::Rectangular,
            1.0,
            par,
        );
    }

    /// Updates `L` by the curvatures (`2bd²` flops for positive ones), then `μ ← μ + P₊X_b(r − h·X_bᵀμ)`.
    ///
    /// The mean's step is the block's in information form, `P₊⁻¹μ₊ = P⁻¹μ + X_b r`, on the new root: two solves with it
    /// instead of the old covariance, so that a flat prior's size does not enter.
    fn absorb_block(
        &mut self,
        x: MatRef<'_, f64>,
        recursion: &BlockRecursion,
        panels: &mut RootPanels,
        par: Par,
    ) -> Result<(), Error> {
        let (b, d) = (x.nrows(), x.ncols());
        let (mean, root) = self.parts_mut();
        let steps = recursion.steps();
        let mut weights = panels.weights.as_mut().subrows_mut(0, b);
        matmul(weights.as_mut(), Accum::Replace, x, MatRef::from_column_major_slice(mean, d, 1), 1.0, par);
        for (t, step) in steps.iter().enumerate() {
            // r − h·a⁰ = g + h·(a − a⁰), where a⁰ is the mean along x before the block, and a the one at which the site was
            // found.
            weights[(t, 0)] = step.site.slope + step.site.curvature * (step.projection.mean - weights[(t, 0)]);
        }
        let bold = may_overflow(root, x, weights.as_ref());
        if bold {
            panels.keep(root);
        }
        panels.update_root(root, x, steps.iter().map(|step| (step.site, step.projection)), par)?;
        let RootPanels { weights, shift, before, .. } = panels;
        let moved = move_mean(mean, root.as_ref(), x, weights.as_ref().subrows(0, b), shift.as_mut(), par);
        if moved.is_err() && bold {
            root.copy_from_triangular_lower(&*before);
        }
        moved
    }
}

impl SquareRootGaussian {
    /// The belief of a prior and sites: `P⁻¹ = P₀⁻¹ + Σ h_t x_t x_tᵀ`, `μ = μ₀ + P·Σ (r_t − h_t·x_tᵀμ₀)x_t`, for the rows of `x`
    /// (`n × d`).
    ///
    /// Sweeps that change sites end with this, which removes the rounding of their updates and downdates: the root comes from one
    /// orthogonal triangularisation of `[R₀; √h·X]`. Cost `2nd²` flops in matrix products (`4d²` per negative curvature, in
    /// passes over `L`).
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::Row`] with [`Error::NonFinite`], or with [`Error::ImproperSite`] for a curvature that would
    /// overflow; [`Error::NotPositiveDefinite`] when negative curvatures leave no Gaussian; [`Error::Overflow`] for its mean.
    ///
    /// ```
    /// use vi_core::{Belief, Sites, SquareRootGaussian};
    /// use vi_linalg::faer::{Par, mat};
    /// let prior = SquareRootGaussian::isotropic(&[0.0, 0.0], 1.0)?;
    /// let sites = Sites::new(vec![2.0, 1.0], vec![3.0, -0.75])?;
    /// let belief = SquareRootGaussian::from_sites(&prior, mat![[1.0, 0.0], [0.0, 1.0]].as_ref(), &sites, Par::Seq)?;
    /// assert!((belief.covariance()[(0, 0)] - 0.25).abs() < 1e-15 && (belief.covariance()[(1, 1)] - 4.0).abs() < 1e-14);
    /// assert!((belief.mean()[0] - 0.5).abs() < 1e-15 && (belief.mean()[1] - 4.0).abs() < 1e-14);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn from_sites(prior: &Self, x: MatRef<'_, f64>, sites: &Sites, par: Par) -> Result<Self, Error> {
        let d = prior.dim();
        check::length("columns of x", d, x.ncols())?;
        check::matrix("x", x)?;
        check::length("sites", x.nrows(), sites.len())?;
        let mut belief = prior.clone();
        let (mean, root) = belief.parts_mut();
        let mut panels = RootPanels::new(d, SITE_ROWS.min(x.nrows()));
        // Every positive curvature before any negative one, or an intermediate precision may be indefinite.
        for keep in [|h: f64| h.max(0.0), |h: f64| h.min(0.0)] {
            for (block, curvatures) in sites.curvatures().chunks(SITE_ROWS).enumerate() {
                let first = block * SITE_ROWS;
                let sites = curvatures
                    .iter()
                    .map(|&h| (Site { slope: 0.0, curvature: keep(h) }, Projection { mean: 0.0, variance: 0.0 }));
                let rows = x.subrows(first, curvatures.len());
                panels.update_root(root, rows, sites, par).map_err(|error| error.shift_row(first))?;
            }
        }
        let mut weights = Mat::zeros(x.nrows(), 1);
        matmul(weights.as_mut(), Accum::Replace, x, MatRef::from_column_major_slice(mean, d, 1), 1.0, par);
        for (t, (r, h)) in sites.slopes().iter().zip(sites.curvatures()).enumerate() {
            weights[(t, 0)] = r - h * weights[(t, 0)];
        }
        move_mean(mean, root.as_ref(), x, weights.as_ref(), panels.shift.as_mut(), par)?;
        Ok(belief)
    }
}

/// Whether `μ + (LLᵀ)⁻¹Xᵀw` may overflow, so that a copy of `L` to go back to is worth its cost. With numbers this far from the
/// largest float it does not, unless `L⁻¹` is more than `10¹⁰⁰` times what its diagonal shows, as for no root of a matrix of
/// floats.
fn may_overflow(root: &Mat<f64>, x: MatRef<'_, f64>, weights: MatRef<'_, f64>) -> bool {
    let pull: f64 = x.row_iter().zip(weights.col(0).iter()).map(|(row, w)| row.norm_max() * w.abs()).sum();
    let least = (0..root.nrows()).map(|j| root[(j, j)]).fold(f64::INFINITY, f64::min);
    let reach = pull / (least * least);
    reach.is_nan() || reach > 1e100
}

/// `μ ← μ + (LLᵀ)⁻¹Xᵀw`.
///
/// # Errors
/// [`Error::Overflow`]; the mean is then as it was.
fn move_mean(
    mean: &mut [f64],
    root: MatRef<'_, f64>,
    x: MatRef<'_, f64>,
    weights: MatRef<'_, f64>,
    shift: MatMut<'_, f64>,
    par: Par,
) -> Result<(), Error> {
    let mut shift = shift;
    matmul(shift.as_mut(), Accum::Replace, x.transpose(), weights, 1.0, par);
    solve_lower_in_place(root, shift.as_mut(), par);
    solve_upper_in_place(root, shift.as_mut(), par);
    let shift = shift.as_ref().col(0);
    mean.iter().zip(shift.iter()).try_for_each(|(mean, shift)| check::result("μ + PXw", mean + shift).map(drop))?;
    for (mean, shift) in mean.iter_mut().zip(shift.iter()) {
        *mean += shift;
    }
    Ok(())
}

fn write_scaled(to: ColMut<'_, f64>, x: MatRef<'_, f64>, t: usize, scale: f64) {
    for (to, x) in to.iter_mut().zip(x.row(t).iter()) {
        *to = scale * x;
    }
}

fn indefinite(error: LinalgError) -> Error {
    match error {
        LinalgError::NotPositiveDefinite { pivot } => Error::NotPositiveDefinite { argument: "precision", pivot },
        other => Error::Linalg(other),
    }
}
