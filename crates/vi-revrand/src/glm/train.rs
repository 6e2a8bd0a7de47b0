//! Training: batches, steps, and sources of data.

use std::fmt;
use vi_core::Stop;

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use vi_linalg::faer::{MatMut, MatRef, Par};

use super::expectation::Labels;
use super::objective::Workspace;
use super::{Batch, Glm, Prior, Rows, kernels};
use crate::RevrandError;
use crate::basis::{Basis, check_features};
use crate::likelihood::GlmLikelihood;
use crate::sgd::{Permutations, Run};

/// The largest number of floats for which unchanging features are computed once for all rows: 256 MiB.
const MOST_KEPT: usize = 1 << 25;
/// The number of rows whose features are computed at a time.
const BLOCK: usize = 256;

/// Memory that steps reuse, allocated at the first one. It need not be stored.
#[derive(Debug, Clone, Default)]
pub struct GlmScratch {
    work: Option<Workspace>,
    /// Features, column by column and row by row, and their gradient (`M × D`).
    columns: Vec<f64>,
    phi: Vec<f64>,
    by_features: Vec<f64>,
    by_theta: Vec<f64>,
    normals: Vec<f64>,
    ones: Vec<f64>,
    pub(super) gradient: Vec<f64>,
}

/// How a step gets its rows.
enum Seen<'a> {
    /// Inputs (`M × d`), whose features are still to be computed.
    Inputs(MatRef<'a, f64>),
    /// Features (`M × D`, row by row).
    Features(&'a [f64]),
}

impl<B: Basis, L: GlmLikelihood> Glm<B, L> {
    /// Trains on rows in memory, from the current state of the model: batches are cut from endless permutations of the rows, and
    /// the run ends after [`GlmSettings::steps`](super::GlmSettings::steps), or early. The trace is the objective (22) at each
    /// step's parameters, estimated from its batch.
    ///
    /// A step costs `O(M·D·K + D·K²)` and the features. The same data and the same generator give the same bits.
    ///
    /// # Errors
    /// Those of [`Basis::check_rows`]; `Dimension`, [`RevrandError::Trials`], `NonFinite`, `Row` with `Label` for the labels;
    /// `Setting` if a batch is larger than the data; [`RevrandError::Feature`]. On an error the model is unchanged.
    pub fn fit<R: Rng + ?Sized>(&mut self, rows: Rows<'_>, rng: &mut R) -> Result<Run, RevrandError> {
        rows.check(&self.basis, &self.likelihood)?;
        let batches = Permutations::new(rows.len(), self.settings.batch)?;
        let kept = self.features_that_stay(rows.x)?;
        let start = (self.descent.clone(), self.free.clone(), self.normals.clone());
        let run = self.descend_over(rows, kept.as_deref(), batches, rng);
        if run.is_err() {
            (self.descent, self.free, self.normals) = start;
            self.read();
        }
        run
    }

    /// [`fit`](Self::fit) on checked rows, with the features of all of them if these do not change.
    fn descend_over<R: Rng + ?Sized>(
        &mut self,
        rows: Rows<'_>,
        kept: Option<&[f64]>,
        mut batches: Permutations,
        rng: &mut R,
    ) -> Result<Run, RevrandError> {
        let m = self.settings.batch;
        let magnification = rows.len() as f64 / m as f64;
        let width = if kept.is_some() { self.basis.width() } else { rows.x.ncols() };
        let (mut seen, mut y) = (vec![0.0; m * width], vec![0.0; m]);
        let mut trials = rows.trials.map(|_| vec![0.0; m]);
        let mut scratch = GlmScratch::default();
        let mut trace = Vec::new();
        self.descent.begin();
        for _ in 0..self.settings.steps {
            let chosen = batches.next(rng);
            for (seen, &row) in seen.chunks_exact_mut(width).zip(chosen) {
                match kept {
                    Some(features) => seen.copy_from_slice(&features[row * width..][..width]),
                    None => seen.iter_mut().zip(rows.x.row(row).iter()).for_each(|(to, from)| *to = *from),
                }
            }
            let pick = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(chosen).for_each(|(to, &row)| *to = from[row]);
            pick(&mut y, rows.y);
            if let (Some(to), Some(from)) = (&mut trials, rows.trials) {
                pick(to, from);
            }
            let seen = match kept {
                Some(_) => Seen::Features(&seen),
                None => Seen::Inputs(MatRef::from_row_major_slice(&seen, m, width)),
            };
            let step = self.descend(&seen, &y, trials.as_deref(), magnification, rng, &mut scratch);
            let (value, ended) = step.map_err(|error| in_all_rows(error, |row| chosen[row]))?;
            if value.is_finite() {
                trace.push(value);
            }
            if let Some(stop) = ended {
                return Ok(Run { stop, trace });
            }
        }
        Ok(Run { stop: Stop::Iterations, trace })
    }

    /// The features of all rows, row by row, if nothing that they depend on is learned and they fit into memory; otherwise
    /// `None`.
    ///
    /// # Errors
    /// [`RevrandError::Feature`].
    fn features_that_stay(&self, x: MatRef<'_, f64>) -> Result<Option<Vec<f64>>, RevrandError> {
        let (n, d) = (x.nrows(), self.basis.width());
        if self.learns_basis() || n.saturating_mul(d) > MOST_KEPT {
            return Ok(None);
        }
        let mut features = vec![0.0; n * d];
        let mut columns = vec![0.0; BLOCK.min(n) * d];
        for (block, out) in features.chunks_mut(BLOCK * d).enumerate() {
            let rows = out.len() / d;
            let columns = &mut columns[..rows * d];
            let x = x.subrows(block * BLOCK, rows);
            self.basis.fill(&self.known.theta, x, MatMut::from_column_major_slice_mut(columns, rows, d), Par::Seq);
            check_features(MatRef::from_column_major_slice(columns, rows, d))
                .map_err(|error| in_all_rows(error, |row| block * BLOCK + row))?;
            kernels::transpose(columns, rows, out);
        }
        Ok(Some(features))
    }

    fn learns_basis(&self) -> bool {
        self.settings.learn.basis && !self.known.theta.is_empty()
    }

    /// Trains on the batches that an iterator yields, one step for each; `total` is the number of rows of all the data. Ends when
    /// there are no more ([`Stop::Cancelled`]), or after [`GlmSettings::steps`](super::GlmSettings::steps), or early.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_linalg::faer::Mat;
    /// use vi_revrand::basis::Linear;
    /// use vi_revrand::glm::{Batch, Glm, GlmSettings};
    /// use vi_revrand::likelihood::{Poisson, Rate};
    ///
    /// let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let basis = Linear::with_intercept(1)?;
    /// let mut model = Glm::new(basis, Poisson(Rate::Exponential), GlmSettings::default(), rng)?;
    /// // A file read block by block, that breaks off.
    /// let block = |i: usize| match i {
    ///     0..3 => Ok(Batch::new(Mat::from_fn(5, 1, |n, _| 0.1 * (n + i) as f64), vec![1.0, 0.0, 2.0, 1.0, 3.0])),
    ///     _ => Err("unexpected end of file"),
    /// };
    /// let error = model.run((0..10).map(block), 50, rng).unwrap_err();
    /// assert_eq!(error.to_string(), "the source of batches failed after 3: unexpected end of file");
    /// assert_eq!(model.steps(), 3);
    /// # Ok::<(), vi_revrand::RevrandError>(())
    /// ```
    ///
    /// # Errors
    /// [`RevrandError::Source`] if the iterator fails, [`RevrandError::Batch`] with those of [`step`](Self::step) for a batch;
    /// the model is as the last good step left it.
    pub fn run<E: fmt::Display, R: Rng + ?Sized>(
        &mut self,
        batches: impl IntoIterator<Item = Result<Batch, E>>,
        total: usize,
        rng: &mut R,
    ) -> Result<Run, RevrandError> {
        let mut scratch = GlmScratch::default();
        let (mut trace, mut taken) = (Vec::new(), 0);
        self.descent.begin();
        for (batches, batch) in batches.into_iter().take(self.settings.steps).enumerate() {
            let batch = batch.map_err(|error| RevrandError::Source { batches, message: error.to_string() })?;
            let step = self.step(batch.rows(), total, rng, &mut scratch);
            let (value, ended) =
                step.map_err(|error| RevrandError::Batch { batch: batches, source: Box::new(error) })?;
            if value.is_finite() {
                trace.push(value);
            }
            if let Some(stop) = ended {
                return Ok(Run { stop, trace });
            }
            taken = batches + 1;
        }
        let stop = if taken < self.settings.steps { Stop::Cancelled } else { Stop::Iterations };
        Ok(Run { stop, trace })
    }

    /// Makes one step on one batch of data that have `total` rows in all. Returns the objective before the step, estimated from
    /// the batch, and whether training should end: after [`Stop::Diverged`] the parameters are the last at which the objective
    /// was finite.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_linalg::faer::mat;
    /// use vi_revrand::basis::Linear;
    /// use vi_revrand::glm::{Glm, GlmScratch, GlmSettings, Rows};
    /// use vi_revrand::likelihood::Bernoulli;
    ///
    /// let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let (x, y) = (mat![[0.5], [-1.0], [2.0]], [1.0, 0.0, 1.0]);
    /// let mut model = Glm::new(Linear::new(1)?, Bernoulli, GlmSettings::default(), rng)?;
    /// let mut scratch = GlmScratch::default();
    /// for _ in 0..100 {
    ///     // These three rows stand for three hundred.
    ///     let (objective, ended) = model.step(Rows::new(x.as_ref(), &y), 300, rng, &mut scratch)?;
    ///     assert!(objective.is_finite() && ended.is_none());
    /// }
    /// assert_eq!(model.steps(), 100);
    /// # Ok::<(), vi_revrand::RevrandError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Basis::check_rows`]; `Dimension`, [`RevrandError::Trials`], `NonFinite`, `Row` with `Label` for the labels;
    /// `Setting` if the batch has more than `total` rows, or memory does not hold its draws; [`RevrandError::Feature`]. On an
    /// error the model is unchanged.
    pub fn step<R: Rng + ?Sized>(
        &mut self,
        rows: Rows<'_>,
        total: usize,
        rng: &mut R,
        scratch: &mut GlmScratch,
    ) -> Result<(f64, Option<Stop>), RevrandError> {
        rows.check(&self.basis, &self.likelihood)?;
        if rows.len() > total {
            let requirement = "at most the total number of rows";
            return Err(vi_core::Error::Setting { name: "batch", value: rows.len() as f64, requirement }.into());
        }
        if rows.len() > self.settings.batch {
            self.settings.expectation.check_room(self.settings.components, rows.len(), self.basis.width())?;
        }
        let magnification = total as f64 / rows.len() as f64;
        self.descend(&Seen::Inputs(rows.x), rows.y, rows.trials, magnification, rng, scratch)
    }

    /// Makes one step on checked rows.
    ///
    /// # Errors
    /// [`RevrandError::Feature`]; on an error nothing has changed.
    fn descend<R: Rng + ?Sized>(
        &mut self,
        seen: &Seen<'_>,
        y: &[f64],
        trials: Option<&[f64]>,
        magnification: f64,
        rng: &mut R,
        scratch: &mut GlmScratch,
    ) -> Result<(f64, Option<Stop>), RevrandError> {
        let (m, d, k) = (y.len(), self.known.posterior.dimension(), self.settings.components);
        let expectation = self.settings.expectation;
        let learns_basis = self.learns_basis();
        let GlmScratch { work, columns, phi, by_features, by_theta, normals, ones, gradient } = scratch;
        let sizes = (k, d, self.known.regularisers.len(), self.known.gamma.len());
        let work = match work {
            Some(work) if work.fits(expectation, sizes) => work,
            _ => work.insert(Workspace::new(expectation, sizes)),
        };
        work.resize(m, learns_basis);
        ones.resize(m, 1.0);
        let labels = Labels { y, trials: trials.unwrap_or(ones) };

        let phi = match *seen {
            Seen::Features(phi) => phi,
            Seen::Inputs(x) => {
                columns.resize(m * d, 0.0);
                phi.resize(m * d, 0.0);
                self.basis.fill(&self.known.theta, x, MatMut::from_column_major_slice_mut(columns, m, d), Par::Seq);
                kernels::transpose(columns, m, phi);
                phi
            }
        };
        let draws = k * expectation.normals(m, d);
        let normals = if expectation.is_fixed() { &mut self.normals } else { normals };
        let drawn = !(expectation.is_fixed() && normals.len() == draws);
        if drawn {
            normals.clear();
            normals.extend((0..draws).map(|_| rng.sample::<f64, _>(StandardNormal)));
        }
        let prior = Prior { variances: &self.known.regularisers, parts: &self.known.parts };
        let batch = (phi, labels);
        let terms = work.evaluate(batch, &self.known.posterior, prior, &self.likelihood, magnification, normals);

        if let (false, Seen::Inputs(_)) = (terms.value().is_finite(), seen)
            && let Err(error) = check_features(MatRef::from_column_major_slice(columns, m, d))
        {
            if drawn {
                self.normals.clear();
            }
            return Err(error);
        }

        by_theta.clear();
        by_theta.resize(self.known.theta.len(), 0.0);
        if let (true, Seen::Inputs(x)) = (learns_basis, seen) {
            by_features.resize(m * d, 0.0);
            kernels::transpose(&work.by_features, d, by_features);
            let [phi, weights] = [&*columns, &*by_features].map(|values| MatRef::from_column_major_slice(values, m, d));
            self.basis.contract(&self.known.theta, *x, phi, weights, by_theta, Par::Seq);
        }
        gradient.resize(self.free.len(), 0.0);
        self.gather(work, by_theta, gradient);
        let ended = self.descent.step(&mut self.free, -terms.value(), gradient);
        self.read();
        Ok((terms.value(), ended))
    }

    /// Sets the constrained numbers from the unconstrained vector.
    pub(super) fn read(&mut self) {
        self.known.read(&self.free);
        self.likelihood.set_parameters(&self.known.gamma);
    }

    /// Writes the gradient of the negative objective in the unconstrained vector.
    fn gather(&self, work: &Workspace, by_theta: &[f64], gradient: &mut [f64]) {
        let weights = work.means.len();
        let (by_means, rest) = gradient.split_at_mut(weights);
        let (by_logs, by_hyper) = rest.split_at_mut(weights);
        for (out, g) in by_means.iter_mut().zip(&work.means) {
            *out = -g;
        }
        // C = exp(log C): ∂/∂log C = C·∂/∂C.
        for ((out, g), c) in by_logs.iter_mut().zip(&work.variances).zip(self.known.posterior.variances()) {
            *out = -g * c;
        }
        let learn = self.settings.learn;
        let groups = [
            (learn.regularisers, work.regularisers.as_slice()),
            (learn.likelihood, work.likelihood.as_slice()),
            (learn.basis, by_theta),
        ];
        let gradients = groups.into_iter().flat_map(|(learned, group)| group.iter().map(move |g| (learned, g)));
        let free = &self.free[2 * weights..];
        for (((learned, g), bound), (free, out)) in gradients.zip(&self.known.bounds).zip(free.iter().zip(by_hyper)) {
            *out = if learned { -g * bound.slope(*free) } else { 0.0 };
        }
    }
}

/// The error with the row of a batch renumbered as that of all rows.
fn in_all_rows(error: RevrandError, of: impl Fn(usize) -> usize) -> RevrandError {
    match error {
        RevrandError::Feature { row, feature, value } => RevrandError::Feature { row: of(row), feature, value },
        other => other,
    }
}
