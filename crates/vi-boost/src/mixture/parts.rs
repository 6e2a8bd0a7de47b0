//! Marginal and conditional mixtures.

use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatRef};

use super::GaussianMixture;
use crate::BoostError;
use crate::block::Block;
use crate::component::{Component, Scale};
use crate::error::setting;
use vi_core::check;

impl GaussianMixture {
    /// The marginal distribution of the coordinates `kept`, in that order. Cost `K·d³`.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Empty`, `Index`, or `Setting` (a coordinate named twice).
    ///
    /// ```
    /// use vi_boost::{Component, GaussianMixture};
    /// let q = GaussianMixture::single(Component::diagonal(&[1.0, 2.0, 3.0], &[1.0, 4.0, 9.0])?);
    /// let marginal = q.marginal(&[2, 0])?;
    /// assert_eq!(marginal.mean(), [3.0, 1.0]);
    /// # Ok::<(), vi_boost::BoostError>(())
    /// ```
    pub fn marginal(&self, kept: &[usize]) -> Result<Self, BoostError> {
        self.check_coordinates(kept)?;
        if kept.is_empty() {
            return Err(vi_core::Error::Empty { argument: "kept" }.into());
        }
        let components = self.components.iter().map(|c| c.marginal(kept)).collect::<Result<_, _>>()?;
        Ok(Self { components, log_weights: self.log_weights.clone() })
    }

    /// The conditional distribution of the other coordinates, in their order, given `θ[known[i]] = values[i]`. Cost `K·d³`.
    ///
    /// Component `k` has weight `∝ w_k·N(values | its marginal)`, mean `μ_a + Σ_ab·Σ_bb⁻¹(values − μ_b)` and covariance `Σ_aa −
    /// Σ_ab·Σ_bb⁻¹·Σ_ba`; a diagonal component stays diagonal, a low-rank one low-rank.
    ///
    /// # Errors
    /// As [`marginal`](Self::marginal); `NonFinite`, `Dimension`, `Empty` when no coordinate is left; `Overflow` if the density
    /// of `values` underflows for every component.
    pub fn conditional(&self, known: &[usize], values: &[f64]) -> Result<Self, BoostError> {
        self.check_coordinates(known)?;
        check::length("values", known.len(), values.len())?;
        check::finite("values", values)?;
        let left: Vec<usize> = (0..self.dim()).filter(|j| !known.contains(j)).collect();
        if left.is_empty() {
            return Err(vi_core::Error::Empty { argument: "coordinates left" }.into());
        }
        if known.is_empty() {
            return Ok(self.clone());
        }
        let (mut components, mut log_weights) = (Vec::new(), Vec::new());
        let point = Block::point(values);
        for (component, log_weight) in self.components.iter().zip(&self.log_weights) {
            let mut log = [0.0];
            component.marginal(known)?.evaluate(&point, &mut log, &mut Block::default(), false);
            components.push(component.conditional(&left, known, values)?);
            log_weights.push(log_weight + log[0]);
        }
        let largest = log_weights.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        if !largest.is_finite() {
            let quantity = "log-density of the known values";
            return Err(vi_core::Error::Overflow { quantity, value: largest }.into());
        }
        let total = largest + log_weights.iter().map(|w| (w - largest).exp()).sum::<f64>().ln();
        for w in &mut log_weights {
            *w -= total;
        }
        Ok(Self { components, log_weights })
    }

    fn check_coordinates(&self, coordinates: &[usize]) -> Result<(), BoostError> {
        for (i, &coordinate) in coordinates.iter().enumerate() {
            if coordinate >= self.dim() {
                let len = self.dim();
                return Err(vi_core::Error::Index { argument: "theta", index: coordinate, len }.into());
            }
            if coordinates[..i].contains(&coordinate) {
                return Err(setting("coordinate", coordinate as f64, "named once"));
            }
        }
        Ok(())
    }
}

fn pick(values: &[f64], kept: &[usize]) -> Vec<f64> {
    kept.iter().map(|&i| values[i]).collect()
}

fn pick_matrix(matrix: MatRef<'_, f64>, rows: &[usize], columns: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), columns.len(), |i, j| matrix[(rows[i], columns[j])])
}

impl Component {
    fn marginal(&self, kept: &[usize]) -> Result<Self, BoostError> {
        let mean = pick(&self.mean, kept);
        let square = |sd: &[f64]| sd.iter().map(|sd| sd * sd).collect::<Vec<_>>();
        match &self.scale {
            Scale::Full(_) => Self::full(&mean, pick_matrix(self.covariance().as_ref(), kept, kept).as_ref()),
            Scale::Diagonal(diagonal) => Self::diagonal(&mean, &square(&pick(diagonal.sd(), kept))),
            Scale::LowRank(low_rank) => {
                let all: Vec<usize> = (0..low_rank.rank()).collect();
                let factor = pick_matrix(low_rank.factor(), kept, &all);
                Self::low_rank(&mean, &square(&pick(low_rank.sd(), kept)), factor.as_ref())
            }
        }
    }

    /// The distribution of the coordinates `left` given those `known`.
    fn conditional(&self, left: &[usize], known: &[usize], values: &[f64]) -> Result<Self, BoostError> {
        let mut mean = pick(&self.mean, left);
        let away: Vec<f64> = values.iter().zip(known).map(|(v, &j)| v - self.mean[j]).collect();
        let square = |sd: &[f64]| sd.iter().map(|sd| sd * sd).collect::<Vec<_>>();
        match &self.scale {
            Scale::Diagonal(diagonal) => Self::diagonal(&mean, &square(&pick(diagonal.sd(), left))),
            Scale::Full(_) => {
                let sigma = self.covariance();
                let known_factor = Cholesky::new(pick_matrix(sigma.as_ref(), known, known).as_ref())?;
                // With B = L_bb⁻¹Σ_ba: Σ_a|b = Σ_aa − BᵀB, mean + Bᵀ·L_bb⁻¹(values − μ_b).
                let b = known_factor.whiten(pick_matrix(sigma.as_ref(), known, left).as_ref())?;
                let y = known_factor.whiten(MatRef::from_column_major_slice(&away, away.len(), 1))?;
                let shift = b.transpose() * y.as_ref();
                let taken = b.transpose() * b.as_ref();
                for (i, mean) in mean.iter_mut().enumerate() {
                    *mean += shift[(i, 0)];
                }
                let n = left.len();
                let rest = Mat::from_fn(n, n, |i, j| sigma[(left[i], left[j])] - taken[(i, j)]);
                Self::full(&mean, rest.as_ref())
            }
            Scale::LowRank(low_rank) => {
                // Given θ_b the r latent numbers have precision C_b = I + V_bᵀD_b⁻¹V_b and mean C_b⁻¹V_bᵀD_b⁻¹(values − μ_b).
                let all: Vec<usize> = (0..low_rank.rank()).collect();
                let known_part = LowRankPart::new(low_rank, known, &all)?;
                let (shared, capacitance) = (known_part.shared_mean(&away)?, known_part.capacitance);
                let own = pick_matrix(low_rank.factor(), left, &all);
                for (i, mean) in mean.iter_mut().enumerate() {
                    *mean += all.iter().map(|&k| own[(i, k)] * shared[k]).sum::<f64>();
                }
                // V_a·L⁻ᵀ, transposed: L⁻¹V_aᵀ.
                let factor = capacitance.whiten(own.transpose())?;
                Self::low_rank(&mean, &square(&pick(low_rank.sd(), left)), factor.transpose())
            }
        }
    }
}

/// The known coordinates of a low-rank component.
struct LowRankPart {
    sd: Vec<f64>,
    v: Mat<f64>,
    capacitance: Cholesky,
}

impl LowRankPart {
    fn new(low_rank: &crate::component::LowRank, known: &[usize], all: &[usize]) -> Result<Self, BoostError> {
        let sd = pick(low_rank.sd(), known);
        let v = pick_matrix(low_rank.factor(), known, all);
        let part = crate::component::LowRank::from_sd(sd.clone(), v.clone())?;
        Ok(Self { sd, v, capacitance: part.capacitance().clone() })
    }

    fn shared_mean(&self, away: &[f64]) -> Result<Vec<f64>, BoostError> {
        let mut b: Vec<f64> = (0..self.v.ncols())
            .map(|k| (0..away.len()).map(|i| self.v[(i, k)] * away[i] / (self.sd[i] * self.sd[i])).sum())
            .collect();
        self.capacitance.solve_vec_in_place(&mut b)?;
        Ok(b)
    }
}
