//! What a low-rank belief says: along a row, as a covariance, in draws. Buffered rows are included.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_linalg::cholesky;
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::kernels::dot;
use vi_linalg::tiles::Tiling;

use super::LowRankGaussian;
use super::columns::Columns;
use super::em::factor;
use super::kernels::{Factor, Tile, lower_product};
use super::space::Seen;
use super::storage::Full;
use crate::belief::{Belief, DenseGaussian, GaussianBelief, Projection, Scores};
use crate::check;
use crate::{Error, Row};

impl LowRankGaussian {
    /// The predictive mean and variance `(xᵀμ, xᵀPx)` for a row of length `d`, dense or sparse. Cost `2(p + k)` flops for each
    /// entry with `k` buffered rows.
    ///
    /// # Errors
    /// As [`Row::check`]; [`Error::NegativeVariance`], [`Error::Overflow`].
    ///
    /// ```
    /// use vi_core::{Explicit, GaussianLikelihood, LowRankGaussian, LowRankSettings};
    /// use vi_linalg::faer::Par;
    /// let mut belief = LowRankGaussian::isotropic(&[0.0; 3], 2.0, LowRankSettings::blocked(1)?)?;
    /// let x = [3.0, 0.0, 4.0];
    /// assert_eq!(belief.predict(&x, Par::Seq)?.variance, 100.0);
    /// // A measurement with noise of variance 1 leaves 100/101 of it, whether it has been projected or waits.
    /// belief.step(&Explicit(GaussianLikelihood::new(1.0)?), &x, 10.0, Par::Seq)?;
    /// let seen = belief.predict((&[0, 2], &[3.0, 4.0]), Par::Seq)?;
    /// assert!((seen.mean - 1000.0 / 101.0).abs() < 1e-12 && (seen.variance - 100.0 / 101.0).abs() < 1e-12);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn predict<'a>(&self, x: impl Into<Row<'a>>, par: Par) -> Result<Projection, Error> {
        let x = x.into();
        x.check(self.dim())?;
        let core = self.core();
        core.see(&self.look_along(x, par).0, 0)?.projection(core.scale)
    }

    /// The product `P·x`, length `d`. Cost `4d(p + k)` flops with `k` buffered rows.
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    ///
    /// ```
    /// use vi_core::{LowRankGaussian, LowRankSettings};
    /// use vi_linalg::faer::{Par, mat};
    /// // P⁻¹ = I + wwᵀ with w = (1, 1): P = I − wwᵀ/3.
    /// let w = mat![[1.0], [1.0]];
    /// let belief = LowRankGaussian::from_precision(&[0.0; 2], w.as_ref(), &[1.0; 2], LowRankSettings::blocked(1)?)?;
    /// let column = belief.covariance_mul(&[1.0, 0.0], Par::Seq)?;
    /// assert!((column[0] - 2.0 / 3.0).abs() < 1e-15 && (column[1] + 1.0 / 3.0).abs() < 1e-15);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn covariance_mul(&self, x: &[f64], par: Par) -> Result<Vec<f64>, Error> {
        check::length("x", self.dim(), x.len())?;
        check::finite("x", x)?;
        self.in_full().covariance_mul(x, par)
    }

    /// The variances `P_ii`, length `d`. Cost `d(p + k)²` flops with `k` buffered rows.
    ///
    /// # Errors
    /// [`Error::ImproperSite`] while a row of negative curvature is buffered: [`flush`](Self::flush) first;
    /// [`Error::NotPositiveDefinite`] with the coordinate whose variance rounding has destroyed.
    ///
    /// ```
    /// use vi_core::{LowRankGaussian, LowRankSettings};
    /// use vi_linalg::faer::{Par, mat};
    /// // P⁻¹ = I + wwᵀ with w = (1, 1): P = I − wwᵀ/3.
    /// let w = mat![[1.0], [1.0]];
    /// let belief = LowRankGaussian::from_precision(&[0.0; 2], w.as_ref(), &[1.0; 2], LowRankSettings::blocked(1)?)?;
    /// assert!(belief.variances(Par::Seq)?.iter().all(|variance| (variance - 2.0 / 3.0).abs() < 1e-15));
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn variances(&self, par: Par) -> Result<Vec<f64>, Error> {
        self.normalised().variances(par)
    }

    /// `K` draws of `θ ~ N(μ, P)`, the columns of the result (`d × K`), by the ensemble sampler (L-RVGA Proposition 1).
    ///
    /// Cost `4d(p + k)K` flops with `k` buffered rows, and `(d + p + k)K` normal variates: those of `Ψ`, then those of the
    /// factor.
    ///
    /// # Errors
    /// [`Error::ImproperSite`] while a row of negative curvature is buffered: [`flush`](Self::flush) first; [`Error::Linalg`] for
    /// more draws than memory holds.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_core::{LowRankGaussian, LowRankSettings};
    /// use vi_linalg::faer::Par;
    /// let belief = LowRankGaussian::isotropic(&[5.0; 3], 0.1, LowRankSettings::blocked(2)?)?;
    /// let draws = belief.draws(10, &mut rand_chacha::ChaCha8Rng::seed_from_u64(1), Par::Seq)?;
    /// assert_eq!(draws.shape(), (3, 10));
    /// assert!((draws[(0, 0)] - 5.0).abs() < 1.0);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn draws<R: Rng + ?Sized>(&self, draws: usize, rng: &mut R, par: Par) -> Result<Mat<f64>, Error> {
        let mut theta = self.normalised().deviations(draws, rng, par)?;
        for draw in theta.col_iter_mut() {
            draw.iter_mut().zip(self.mean()).for_each(|(theta, mean)| *theta += mean);
        }
        Ok(theta)
    }

    /// The precision including the buffered rows, dense (`d × d`, lower triangle): for tests and small `d`. Cost `d²(p + k)`
    /// flops.
    #[must_use]
    pub fn precision_lower(&self, par: Par) -> Mat<f64> {
        self.normalised().precision_lower(par)
    }
}

impl Full {
    /// The projection along a checked row.
    pub(super) fn predict(&self, x: Row<'_>, par: Par) -> Result<Projection, Error> {
        self.core.see(&self.look_along(x, par), 0)?.projection(self.core.scale)
    }

    /// The mean `μ` including the buffered rows, as a new vector.
    pub(super) fn current_mean(&self) -> Vec<f64> {
        let mut mean = self.mean.clone();
        let m = self.core.mean_weights(&self.core.waiting.space);
        self.add_scaled(&mut mean, self.core.waiting.rows.columns(self.mean.len()), &m, Par::Seq);
        mean
    }

    /// `out ← out + Ψ⁻¹F·m`.
    pub(super) fn add_scaled(&self, out: &mut [f64], columns: Columns<'_>, m: &Mat<f64>, par: Par) {
        let d = out.len();
        let tiling = Tiling::for_width(self.core.rank() + columns.len());
        let height = tiling.height().min(d);
        tiling.for_each(
            (Factor::new(self.precision.w_row_major(), d), self.precision.psi(), out),
            par,
            || (vec![0.0; height], columns.tile_memory(height)),
            |(memory, x), first, (w, psi, out)| {
                Tile { w, x: columns.part(first, psi.len(), x), psi }.shift_mean(out, m.as_ref(), memory);
            },
        );
    }

    /// Writes `Px` into `out`, for a row whose projection is known.
    pub(super) fn write_gain(&self, out: &mut [f64], x: &[f64], seen: &Seen) {
        // Px = P₀(x − X·m), and P₀y = Ψ⁻¹(y − W·M⁻¹WᵀΨ⁻¹y).
        let m = self.core.waiting.space.covariance_weights(seen);
        let mut coefficients = self.core.covariance_coefficients(&self.core.waiting.space, &m);
        let mut on_w = seen.wx().to_vec();
        super::space::solve(self.core.root(), &mut on_w);
        for (j, value) in on_w.iter().enumerate() {
            coefficients[(j, 0)] += value;
        }
        out.fill(0.0);
        self.add_scaled(out, self.core.waiting.rows.columns(x.len()), &coefficients, Par::Seq);
        for ((out, x), psi) in out.iter_mut().zip(x).zip(self.precision.psi()) {
            *out = (x / psi - *out) / self.core.scale;
        }
    }

    /// The product `P·x`.
    ///
    /// # Errors
    /// As [`LowRankGaussian::predict`].
    pub(super) fn covariance_mul(&self, x: &[f64], par: Par) -> Result<Vec<f64>, Error> {
        let seen = self.core.see(&self.look(MatRef::from_row_major_slice(x, 1, x.len()), par), 0)?;
        let mut out = vec![0.0; x.len()];
        self.write_gain(&mut out, x, &seen);
        Ok(out)
    }

    /// `F·D` as one matrix: the columns `W` and `√h·x` of a precision `Ψ + F̃F̃ᵀ`, and the factor of `I + F̃ᵀΨ⁻¹F̃`.
    ///
    /// # Errors
    /// [`Error::ImproperSite`] for a buffered row of negative curvature, which has no such column.
    fn extended(&self) -> Result<(Vec<f64>, Mat<f64>), Error> {
        let p = self.core.rank();
        let mut roots = vec![1.0; p];
        for row in &self.core.waiting.space.rows {
            if row.curvature < 0.0 {
                return Err(Error::ImproperSite { slope: 0.0, curvature: row.curvature, variance: f64::NAN });
            }
            roots.push(row.curvature.sqrt());
        }
        let gram = self.core.waiting.space.gram(self.core.gram.as_ref());
        let q = roots.len();
        let mut root = Mat::from_fn(q, q, |i, j| {
            if i >= j { roots[i] * gram[(i, j)] * roots[j] + f64::from(u8::from(i == j)) } else { 0.0 }
        });
        factor(root.as_mut(), "capacitance")?;
        Ok((roots, root))
    }

    /// The variances `P_ii`, for a scale of 1.
    fn variances(&self, par: Par) -> Result<Vec<f64>, Error> {
        let (roots, root) = self.extended()?;
        let columns = self.core.waiting.rows.columns(self.mean.len());
        let mut out = vec![0.0; self.mean.len()];
        let q = roots.len();
        let p = self.core.rank();
        let tiling = Tiling::for_width(q);
        let height = tiling.height().min(out.len());
        tiling.for_each(
            (self.precision.w(), self.precision.psi(), out.as_mut_slice()),
            par,
            || (Mat::zeros(q, height), columns.tile_memory(height)),
            |(scratch, memory), first, (w, psi, out)| {
                let r = psi.len();
                let x = columns.tile(first, r, memory);
                let mut f = scratch.as_mut().subcols_mut(0, r);
                for i in 0..r {
                    for j in 0..q {
                        f[(j, i)] = roots[j] * if j < p { w[(i, j)] } else { x[(j - p, i)] };
                    }
                }
                cholesky::solve_lower_in_place(root.as_ref(), f.as_mut(), Par::Seq);
                for (i, out) in out.iter_mut().enumerate() {
                    *out = (1.0 - f.as_ref().col(i).squared_norm_l2() / psi[i]) / psi[i];
                }
            },
        );
        match out.iter().position(|&value| value <= 0.0 || value.is_nan()) {
            None => Ok(out),
            Some(pivot) => Err(Error::NotPositiveDefinite { argument: "covariance", pivot }),
        }
    }

    /// [`draws`](LowRankGaussian::draws) of `θ − μ`, for a scale of 1.
    fn deviations<R: Rng + ?Sized>(&self, draws: usize, rng: &mut R, par: Par) -> Result<Mat<f64>, Error> {
        let (roots, root) = self.extended()?;
        let (d, q) = (self.mean.len(), roots.len());
        vi_linalg::check::room("draws", &[draws, d.max(q), 2])?;
        let mut normal = |rows: usize| Mat::<f64>::from_fn(rows, draws, |_, _| StandardNormal.sample(rng));
        let (mut theta, epsilon) = (normal(d), normal(q));
        let columns = self.core.waiting.rows.columns(d);
        let tiling = Tiling::for_width(q + draws);
        let height = tiling.height().min(d);
        let (w, psi) = (Factor::new(self.precision.w_row_major(), d), self.precision.psi());
        // x = Ψ^(−½)z and Fᵀx.
        let mut c = tiling.fold(
            (w, psi, theta.as_mut()),
            par,
            || (vec![0.0; height * draws], columns.tile_memory(height)),
            || Mat::<f64>::zeros(q, draws),
            |sum, (scratch, memory), first, (w, psi, mut x)| {
                let r = psi.len();
                let y = &mut scratch[..r * draws];
                for j in 0..draws {
                    for (i, psi) in psi.iter().enumerate() {
                        x[(i, j)] /= psi.sqrt();
                        y[j * r + i] = x[(i, j)];
                    }
                }
                Tile { w, x: columns.part(first, r, memory), psi }.add_transposed_mul(sum.as_mut(), y);
            },
            |left, right| *left += right,
        );
        for j in 0..draws {
            for (i, scale) in roots.iter().enumerate() {
                c[(i, j)] = epsilon[(i, j)] - scale * c[(i, j)];
            }
        }
        cholesky::solve_in_place(root.as_ref(), c.as_mut(), Par::Seq);
        for j in 0..draws {
            for (i, scale) in roots.iter().enumerate() {
                c[(i, j)] *= scale;
            }
        }
        tiling.for_each(
            (w, psi, theta.as_mut()),
            par,
            || (vec![0.0; height * draws], columns.tile_memory(height)),
            |(scratch, memory), first, (w, psi, mut theta)| {
                let r = psi.len();
                let shift = &mut scratch[..r * draws];
                Tile { w, x: columns.part(first, r, memory), psi }.mul(shift, c.as_ref());
                for j in 0..draws {
                    for i in 0..r {
                        theta[(i, j)] += shift[j * r + i] / psi[i];
                    }
                }
            },
        );
        Ok(theta)
    }

    /// The precision including the buffered rows, for a scale of 1.
    fn precision_lower(&self, par: Par) -> Mat<f64> {
        let d = self.mean.len();
        let mut lower = self.precision.to_dense_lower(par);
        let columns = self.core.waiting.rows.columns(d);
        let mut memory = columns.tile_memory(d);
        let x = columns.tile(0, d, &mut memory);
        let h: Vec<f64> = self.core.waiting.space.curvatures().collect();
        let weighted = Mat::from_fn(x.nrows(), d, |j, i| h[j] * x[(j, i)]);
        lower_product(lower.as_mut(), x.transpose(), weighted.as_ref(), Par::Seq);
        lower
    }
}

impl GaussianBelief for LowRankGaussian {
    /// As [`draws`](Self::draws).
    fn draw_deviation<R: Rng + ?Sized>(&self, deviation: &mut [f64], rng: &mut R) -> Result<(), Error> {
        check::length("theta", self.dim(), deviation.len())?;
        let drawn = self.normalised().deviations(1, rng, Par::Seq)?;
        deviation.iter_mut().zip(drawn.col(0).iter()).for_each(|(to, drawn)| *to = *drawn);
        Ok(())
    }

    fn scores(&self, rows: &[Row<'_>]) -> Result<Scores, Error> {
        self.scores_along(rows)
    }

    fn quadratic_form(&self, v: &[f64]) -> Result<f64, Error> {
        check::length("v", self.dim(), v.len())?;
        Ok(dot(&self.normalised().precision_mul(v, Par::Seq)?, v))
    }

    /// This is an error while a row of negative curvature is buffered: [`flush`](LowRankGaussian::flush) first.
    fn log_det(&self) -> Result<f64, Error> {
        let this = self.normalised();
        let (_, root) = this.extended()?;
        let psi: f64 = this.precision.psi().iter().map(|psi| psi.ln()).sum();
        Ok(-psi - cholesky::log_det(root.as_ref()))
    }

    fn to_dense(&self) -> Result<DenseGaussian, Error> {
        let precision = crate::belief::factor("precision", self.precision_lower(Par::Seq).as_ref())?;
        Ok(DenseGaussian::from_parts(self.mean().to_vec(), precision.inverse()))
    }
}
