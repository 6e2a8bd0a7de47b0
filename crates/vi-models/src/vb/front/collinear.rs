//! Which columns the rows cannot distinguish.

use vi_core::Error;
use vi_linalg::eigen::{eigen, eigenvalues};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::kernels::symmetric_rank_r;

use crate::units::unit;
use crate::vb::no_spectrum;

/// The condition number at which half of the digits are lost.
pub(super) const COLLINEAR: f64 = 1e8;

/// The share of the most involved column's part from which on a column is named.
const INVOLVED: f64 = 0.1;

/// The collinearity of a design.
pub(super) struct Collinearity {
    /// `κ(XᵀX)`, columns of unit length.
    pub(super) condition: f64,
    /// The columns with a part in directions that hardly occur in the rows; empty if there are more columns than rows.
    pub(super) columns: Vec<usize>,
}

impl Collinearity {
    /// The collinearity of `design` (`n × d`) without the columns `left_out`; the rows limit its rank to `rank`. Cost `nd²` flops
    /// and the eigenvalues of `d × d`; none for `d > rank`.
    ///
    /// # Errors
    /// `Overflow` if the eigenvalues are not finite.
    pub(super) fn of(design: MatRef<'_, f64>, rank: usize, left_out: &[usize]) -> Result<Self, Error> {
        let largest = |j: usize| design.col(j).iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let kept: Vec<usize> = (0..design.ncols()).filter(|j| !left_out.contains(j) && largest(*j) > 0.0).collect();
        let d = kept.len();
        if d < 2 {
            return Ok(Self { condition: 1.0, columns: Vec::new() });
        }
        if d > rank {
            return Ok(Self { condition: f64::INFINITY, columns: Vec::new() });
        }
        let mut directions = Mat::zeros(design.nrows(), d);
        for (k, &j) in kept.iter().enumerate() {
            let unit = unit(largest(j));
            let length = design.col(j).iter().map(|x| (x / unit) * (x / unit)).sum::<f64>().sqrt();
            for (to, x) in directions.col_mut(k).iter_mut().zip(design.col(j).iter()) {
                *to = x / unit / length;
            }
        }
        let mut gram = Mat::zeros(d, d);
        let across = directions.as_ref().transpose();
        symmetric_rank_r(gram.as_mut(), 1.0, across, across, Par::Seq);
        let values = eigenvalues(gram.as_ref(), Par::Seq).map_err(no_spectrum)?;
        let (least, most) = (values[0], values[d - 1]);
        // An eigenvalue below that is 0 to rounding.
        let condition = if least > d as f64 * f64::EPSILON * most { most / least } else { f64::INFINITY };
        let columns = if condition > COLLINEAR {
            let (values, vectors) = eigen(gram.as_ref(), Par::Seq).map_err(no_spectrum)?;
            let unseen = values.iter().filter(|value| **value * COLLINEAR < most).count();
            let share = |k: usize| (0..unseen).map(|v| vectors[(k, v)] * vectors[(k, v)]).sum::<f64>();
            let shares: Vec<f64> = (0..d).map(share).collect();
            let involved = INVOLVED * shares.iter().copied().fold(0.0, f64::max);
            kept.into_iter().zip(shares).filter(|(_, share)| *share > involved).map(|(j, _)| j).collect()
        } else {
            Vec::new()
        };
        Ok(Self { condition, columns })
    }
}
