//! Cluster-robust errors of the ordinary regression of all rows, the clusters being the groups.
//!
//! ```text
//! b = A⁻¹Σ X_gᵀy_g,   A = Σ X_gᵀX_g,   r_g = X_gᵀy_g − X_gᵀX_g·b,   V = A⁻¹(Σ r_g·r_gᵀ)A⁻¹
//! CR1: V·m/(m − 1)·(n − 1)/(n − k)   for m groups, n rows and k weights
//! ```
//!
//! The products are taken about the means of all rows, so that columns far from zero keep their digits.

use vi_core::{Error, check};
use vi_linalg::Cholesky;
use vi_linalg::faer::Mat;
use vi_models::{Interval, Student};

use super::Pool;
use crate::spec::{assignment, unknown};
use crate::{LinearSums, SumsError, Weight, packed};

/// The description of cluster-robust errors in a query: `CR0` (plain) or `CR1` (corrected for few groups, the default), and `level=` of the intervals, .9 by default.
///
/// ```
/// use vi_sums::RobustSpec;
/// assert_eq!(RobustSpec::parse("CR0 level=0.5")?, RobustSpec { corrected: false, level: 0.5 });
/// # Ok::<(), vi_sums::SumsError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RobustSpec {
    /// Whether the errors are those of CR1.
    pub corrected: bool,
    /// The level of the intervals.
    pub level: f64,
}

impl RobustSpec {
    /// Reads a description, a line of words.
    ///
    /// # Errors
    /// [`SumsError::Word`]; [`Error::Setting`] unless `0 < level < 1`.
    pub fn parse(text: &str) -> Result<Self, SumsError> {
        let mut spec = Self::default();
        for word in text.split_whitespace() {
            match assignment(word)? {
                ("CR0", None) => spec.corrected = false,
                ("CR1", None) => spec.corrected = true,
                ("level", Some(level)) => spec.level = level,
                _ => return Err(unknown(word, "CR0, CR1, or level= with a number")),
            }
        }
        check::probability("level", spec.level)?;
        Ok(spec)
    }
}

impl Default for RobustSpec {
    fn default() -> Self {
        Self { corrected: true, level: 0.9 }
    }
}

impl Pool {
    /// Least squares over the rows of all groups, whatever the way of pooling but for the common intercept, which comes first: estimates and their
    /// cluster-robust standard errors (Liang and Zeger 1986), which hold whatever the correlations within groups are if these are many; intervals by Student's t with `m − 1` degrees of
    /// freedom. Cost `O(md² + d³)`.
    ///
    /// # Errors
    /// [`Error::Setting`] for fewer than two groups with rows, no more rows than weights, or unless `0 < level < 1`; [`Error::NotPositiveDefinite`] or [`Error::Linalg`]
    /// where the rows do not tell all weights apart.
    ///
    /// ```
    /// use vi_sums::{LinearSums, Pool, PoolSpec, RobustSpec};
    /// let mut pool = Pool::new(PoolSpec::default())?;
    /// for clinic in 0..4_u32 {
    ///     let mut sums = LinearSums::new(1)?;
    ///     (0..5).try_for_each(|t| sums.update(&[f64::from(t)], f64::from(t + clinic * clinic)))?;
    ///     pool.add(i64::from(clinic).into(), &sums)?;
    /// }
    /// let weights = pool.robust(RobustSpec::default())?;
    /// assert!((weights[1].mean - 1.0).abs() < 1e-12 && weights[0].deviation > 1.0);
    /// # Ok::<(), vi_sums::SumsError>(())
    /// ```
    pub fn robust(&self, spec: RobustSpec) -> Result<Vec<Weight>, SumsError> {
        check::probability("level", spec.level)?;
        let told = || self.groups.values().filter(|sums| sums.rows() > 0);
        let (m, d) = (told().count(), self.inputs());
        if m < 2 {
            let (name, requirement) = ("groups with rows", "at least 2 for cluster-robust errors");
            return Err(Error::Setting { name, value: m as f64, requirement }.into());
        }
        let mut all = LinearSums::new(d)?;
        told().try_for_each(|sums| all.merge(sums))?;
        let (n, level) = (all.rows() as f64, self.spec.intercept);
        let k = d + usize::from(level);
        if n <= k as f64 {
            let (name, requirement) = ("rows", "more than weights for cluster-robust errors");
            return Err(Error::Setting { name, value: n, requirement }.into());
        }
        let origin = if level { all.mean().to_vec() } else { vec![0.0; d + 1] };
        let whole = About::of(&all, &origin);
        let factor = Cholesky::new(whole.squares.as_ref())?;
        let mut slopes = whole.labels.clone();
        factor.solve_vec_in_place(&mut slopes)?;
        // Column j of the bread times the score of each group, the intercept's at the origin of the inputs last.
        let mut meat = Mat::<f64>::zeros(d + 1, d + 1);
        for sums in told() {
            let own = About::of(sums, &origin);
            let mut along = own.score(&slopes);
            factor.solve_vec_in_place(&mut along)?;
            let shift: f64 = along.iter().zip(&origin).map(|(a, x)| a * x).sum();
            along.push(own.left(&slopes) / n - shift);
            for i in 0..=d {
                (0..=i).for_each(|j| meat[(i, j)] += along[i] * along[j]);
            }
        }
        let groups = m as f64;
        let correction = if spec.corrected { groups / (groups - 1.0) * (n - 1.0) / (n - k as f64) } else { 1.0 };
        let mean = origin[d] - slopes.iter().zip(&origin).map(|(w, x)| w * x).sum::<f64>();
        let places = level.then_some((mean, d)).into_iter().chain(slopes.iter().copied().zip(0..d));
        let weight = |(mean, at): (f64, usize)| {
            let deviation = check::result("cluster-robust variance", correction * meat[(at, at)])?.sqrt();
            let interval = Student::new(mean, deviation.max(f64::MIN_POSITIVE), groups - 1.0)?;
            let Interval { lower, upper } = interval.interval(spec.level)?;
            Ok(Weight { mean, deviation, lower, upper })
        };
        places.map(weight).collect()
    }
}

/// Sums of products about an origin of inputs and label.
struct About {
    rows: f64,
    /// The means less the origin.
    away: Vec<f64>,
    /// `XᵀX`, lower.
    squares: Mat<f64>,
    /// `Xᵀy`.
    labels: Vec<f64>,
}

impl About {
    fn of(sums: &LinearSums, origin: &[f64]) -> Self {
        let (d, rows) = (sums.inputs(), sums.rows() as f64);
        let away: Vec<f64> = sums.mean().iter().zip(origin).map(|(mean, origin)| mean - origin).collect();
        let mut squares = packed::matrix(sums.scatter(), d);
        for i in 0..d {
            (0..=i).for_each(|j| squares[(i, j)] += rows * away[i] * away[j]);
        }
        let labels =
            packed::row(sums.scatter(), d)[..d].iter().zip(&away).map(|(s, x)| s + rows * x * away[d]).collect();
        Self { rows, away, squares, labels }
    }

    /// `Xᵀ(y − Xw)`.
    fn score(&self, w: &[f64]) -> Vec<f64> {
        let mut score = self.labels.clone();
        for i in 0..w.len() {
            (0..w.len()).for_each(|j| score[i] -= self.squares[(i.max(j), i.min(j))] * w[j]);
        }
        score
    }

    /// The sum of `y − Xw`.
    fn left(&self, w: &[f64]) -> f64 {
        self.rows * (self.away[w.len()] - w.iter().zip(&self.away).map(|(w, x)| w * x).sum::<f64>())
    }
}
