//! One pass: predict, choose a site, absorb.

use vi_core::{Belief, DenseGaussian, Error, VectorSite};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::kernels::dot;

use super::logits::{Counts, Logits, Moments, log_predictive};
use super::rows::check_class;
use super::site::{Absorbed, LogitSite};
use super::tilted::tilted;
use super::{Softmax, SoftmaxRows};
use crate::{ModelError, check};

/// The largest score, with which the sum of any number of scores stays finite.
const LARGEST_SCORE: f64 = 1e290;

/// The score of one step.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SoftmaxStep {
    /// The log predictive density `log E p(y|η)` under the belief before the step, in nats; their sum over a stream is the log
    /// evidence. `p` is raised to the row's weight.
    pub log_predictive: f64,
}

/// Memory for a step, owned by the caller: `d·m` rows of `m` numbers.
#[derive(Debug, Clone)]
pub struct SoftmaxScratch {
    pub(super) means: Vec<f64>,
    pub(super) gains: Mat<f64>,
    pub(super) row: Vec<f64>,
    information: Vec<f64>,
}

impl SoftmaxScratch {
    /// Memory for `d` inputs and the classes of `model`.
    #[must_use]
    pub fn new(model: &Softmax, d: usize) -> Self {
        let m = model.classes() - 1;
        Self { means: vec![0.0; m], gains: Mat::zeros(d * m, m), row: vec![0.0; d], information: vec![0.0; d * m] }
    }

    /// `G = PHᵀ` and the site of the row, as the belief takes them; `HᵀKH` has `K_cc·xⱼ²` on its diagonal.
    pub(super) fn site<'a>(&'a mut self, absorbed: &'a Absorbed) -> (MatRef<'a, f64>, VectorSite<'a>) {
        for (block, curvature) in self.information.chunks_exact_mut(self.row.len()).zip(&absorbed.curvatures) {
            block.iter_mut().zip(&self.row).for_each(|(to, x)| *to = curvature * x * x);
        }
        let Absorbed { shift, shrinkage, factor, .. } = absorbed;
        let information = &self.information;
        (self.gains.as_ref(), VectorSite { shift, shrinkage: shrinkage.as_ref(), information, factor: *factor })
    }

    /// Copies row `t` into its own memory.
    pub(super) fn load(&mut self, rows: &SoftmaxRows<'_>, t: usize) {
        self.row.iter_mut().zip(rows.inputs().row(t).iter()).for_each(|(to, from)| *to = *from);
    }
}

/// The logits of the row in `scratch`, with offsets added to their means; leaves `G = PHᵀ` there.
pub(super) fn logits(
    belief: &DenseGaussian,
    scratch: &mut SoftmaxScratch,
    offset: impl Fn(usize) -> f64,
) -> Result<Logits, Error> {
    let SoftmaxScratch { means, gains, row, .. } = scratch;
    let (d, m) = (row.len(), means.len());
    belief.project_blocks(row, means, gains)?;
    let mut covariance = Mat::<f64>::zeros(m, m);
    let mut rounding = 0.0_f64;
    for j in 0..m {
        let Some(column) = gains.col(j).try_as_col_major() else { continue };
        let column = column.as_slice();
        for i in j..m {
            covariance[(i, j)] = dot(row, &column[i * d..(i + 1) * d]);
        }
        let size: f64 = row.iter().zip(&column[j * d..(j + 1) * d]).map(|(x, g)| (x * g).abs()).sum();
        rounding = rounding.max(d as f64 * f64::EPSILON * size);
    }
    let mean = means.iter().enumerate().map(|(i, mean)| mean + offset(i)).collect();
    Logits::new(mean, covariance.as_ref(), rounding)
}

impl Softmax {
    /// Learns from one row `x` (length `d`) of class `label ∈ {0, …, C−1}`.
    ///
    /// ```text
    /// a = Hμ, G = PHᵀ, N = HG;   (r, K) = site(a, N, y);   μ ← μ + G(I+KN)⁻¹(r − Ka),   P ← P − G(I+KN)⁻¹K·Gᵀ
    /// ```
    ///
    /// Cost `2D² + D²m` for `D = d·m`, and two passes over the nodes of `C²` each.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Dimension`, `NonFinite`, `Label`, `NegativeVariance`, `Overflow`, `ImproperSite`,
    /// `NotPositiveDefinite`; the belief is then as it was, to the bit.
    pub fn step(
        &self,
        belief: &mut DenseGaussian,
        x: &[f64],
        label: f64,
        scratch: &mut SoftmaxScratch,
        par: Par,
    ) -> Result<SoftmaxStep, ModelError> {
        self.check_scratch(belief, x, scratch)?;
        check_class(self.classes, label)?;
        scratch.row.copy_from_slice(x);
        let counts = Counts::of_class(self.classes, label, 1.0);
        let (step, _) = self.advance(belief, &counts, scratch, |_| 0.0, par)?;
        Ok(step)
    }

    pub(super) fn check_scratch(
        &self,
        belief: &DenseGaussian,
        x: &[f64],
        scratch: &SoftmaxScratch,
    ) -> Result<(), Error> {
        check::length("dimension of the belief", x.len() * (self.classes - 1), belief.dim())?;
        check::length("scratch", x.len(), scratch.row.len())?;
        check::length("classes of the scratch", self.classes - 1, scratch.means.len())?;
        check::values("x", x)
    }

    /// The log predictive density of the counts at a row with these logits, in nats, and its site.
    pub(super) fn answer(&self, logits: &Logits, counts: &Counts) -> Result<(f64, LogitSite), Error> {
        if let Some(class) = counts.class()
            && logits.are_few()
        {
            return tilted(logits, class);
        }
        let moments = Moments::at(&self.nodes, logits);
        let score = log_predictive(&self.nodes, logits, counts, &moments);
        Ok((score, LogitSite::mirror_prox(&self.nodes, logits, counts, moments)?))
    }

    /// Takes a step with the row in `scratch`; an error leaves the belief unchanged.
    pub(super) fn advance(
        &self,
        belief: &mut DenseGaussian,
        counts: &Counts,
        scratch: &mut SoftmaxScratch,
        offset: impl Fn(usize) -> f64,
        par: Par,
    ) -> Result<(SoftmaxStep, LogitSite), Error> {
        let logits = logits(belief, scratch, offset)?;
        let (log_predictive, site) = self.answer(&logits, counts)?;
        let step = SoftmaxStep { log_predictive };
        if step.log_predictive.is_nan() || step.log_predictive.abs() > LARGEST_SCORE {
            let value = step.log_predictive;
            return Err(Error::NonFinite { argument: "log predictive density", index: 0, value });
        }
        let absorbed = site.absorb(&logits)?;
        let (gains, absorbed) = scratch.site(&absorbed);
        belief.absorb_vector(gains, absorbed, par)?;
        Ok((step, site))
    }

    /// Makes one pass over `rows`, in order; `observe(t, belief, step)` is called after row `t`. Returns the sum of the log
    /// predictive densities, in nats. Cost as [`step`](Self::step) for each row, and one copy of the belief.
    ///
    /// # Errors
    /// As [`step`](Self::step), naming the row, and `Empty`, `Setting` (a weight); everything is checked before the first
    /// update, and on any error the belief is unchanged.
    pub fn run(
        &self,
        belief: &mut DenseGaussian,
        rows: SoftmaxRows<'_>,
        par: Par,
        mut observe: impl FnMut(usize, &DenseGaussian, &SoftmaxStep),
    ) -> Result<f64, ModelError> {
        let mut total = 0.0;
        self.pass(belief, &rows, par, |t, belief, step, _| {
            total += step.log_predictive;
            observe(t, belief, &step);
        })?;
        Ok(total)
    }

    pub(super) fn pass(
        &self,
        belief: &mut DenseGaussian,
        rows: &SoftmaxRows<'_>,
        par: Par,
        mut observe: impl FnMut(usize, &DenseGaussian, SoftmaxStep, LogitSite),
    ) -> Result<(), Error> {
        rows.check(self.classes, belief.dim())?;
        let before = belief.clone();
        let mut scratch = SoftmaxScratch::new(self, rows.inputs().ncols());
        for t in 0..rows.len() {
            scratch.load(rows, t);
            let counts = rows.counts(self.classes, t);
            match self.advance(belief, &counts, &mut scratch, |i| rows.offset(t, i), par) {
                Ok((step, site)) => observe(t, belief, step, site),
                Err(error) => {
                    *belief = before;
                    return Err(error.at_row(t));
                }
            }
        }
        Ok(())
    }
}
