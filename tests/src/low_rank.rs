//! Runs of the limited-memory filter as the paper prints it, from a stored start.

use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Explicit, GaussianBelief, GaussianExpectation, Implicit, Linearised,
    LowRankGaussian, LowRankSettings, MeanMoves, ProbitApproximation, SiteRule,
};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::kernels::dot;

use crate::json::Node;
use crate::problem::Problem;
use crate::report::Report;
use crate::{CaseError, compare, tolerance};

/// Where a run of one case begins: `μ₀`, `W₀`, `Ψ₀`.
#[derive(Debug, Clone)]
pub struct Start {
    mean: Vec<f64>,
    w: Mat<f64>,
    psi: Vec<f64>,
    inner_loops: usize,
}

impl Start {
    /// Reads `W0` and `Psi0` of `case`, and `parameters.inner_loops` of `root` (`otherwise` if there is none).
    ///
    /// # Errors
    /// A [`CaseError`] that says what is missing or does not fit.
    pub fn read(root: &Node<'_>, case: &Node<'_>, mean: &[f64], otherwise: usize) -> Result<Self, CaseError> {
        let d = mean.len();
        let node = case.get("W0")?;
        let w = node.matrix()?;
        node.check_len(d, w.nrows())?;
        let p = case.find("p").map_or(Ok(w.ncols()), |p| p.count())?;
        node.check_len(p, w.ncols())?;
        let inner_loops = match case.find("inner_loops") {
            Some(loops) => Some(loops),
            None => root.find("parameters").and_then(|parameters| parameters.find("inner_loops")),
        };
        Ok(Self {
            mean: mean.to_vec(),
            w,
            psi: case.get("Psi0")?.vector_of(d)?,
            inner_loops: inner_loops.map_or(Ok(otherwise), |loops| loops.count())?,
        })
    }

    /// The belief before the first observation.
    ///
    /// # Errors
    /// [`CaseError::Core`].
    pub fn belief(&self, mean: MeanMoves) -> Result<LowRankGaussian, CaseError> {
        let settings = LowRankSettings::recursive(self.w.ncols(), self.inner_loops, mean)?;
        Ok(LowRankGaussian::from_precision(&self.mean, self.w.as_ref(), &self.psi, settings)?)
    }

    /// One pass of `rule`, giving the beliefs after `times` observations.
    ///
    /// # Errors
    /// [`CaseError::Core`]; the caller has checked that no time is beyond `n`.
    pub fn run<R: SiteRule>(
        &self,
        rule: &R,
        mean: MeanMoves,
        x: MatRef<'_, f64>,
        y: &[f64],
        times: &[usize],
    ) -> Result<Vec<LowRankGaussian>, CaseError> {
        let mut belief = self.belief(mean)?;
        let mut kept = vec![belief.clone(); times.len()];
        belief.run(rule, x, y, Par::Seq, |t, belief, _| keep(&mut kept, times, t, belief))?;
        Ok(kept)
    }
}

fn keep(kept: &mut [LowRankGaussian], times: &[usize], t: usize, belief: &LowRankGaussian) {
    for (slot, _) in kept.iter_mut().zip(times).filter(|(_, time)| **time == t + 1) {
        slot.clone_from(belief);
    }
}

/// A logistic algorithm of L-RVGA's section 5.3, by the name that the files give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// `lrvga_implicit`: (53)-(54) as published, the mean before the projection.
    Implicit,
    /// `lrvga_implicit_exact_roots`: the same with every root to 1e-14.
    ImplicitExactRoots,
    /// `lrvga_explicit`: expectations under the old belief, the mean after the projection.
    Explicit,
    /// `lekf`: linearised at the old mean, the mean after the projection.
    ExtendedKalman,
    /// `lrvga_extragrad_skip_cov`: (143)-(145), both stages with the projected covariance.
    SkipCovariance,
}

impl Algorithm {
    /// The algorithm of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "lrvga_implicit" => Self::Implicit,
            "lrvga_implicit_exact_roots" => Self::ImplicitExactRoots,
            "lrvga_explicit" => Self::Explicit,
            "lekf" => Self::ExtendedKalman,
            "lrvga_extragrad_skip_cov" => Self::SkipCovariance,
            _ => return None,
        })
    }

    /// Runs it, giving the beliefs after each of `times` observations.
    ///
    /// # Errors
    /// [`CaseError::Core`].
    pub fn run(self, start: &Start, problem: &Problem, times: &[usize]) -> Result<Vec<LowRankGaussian>, CaseError> {
        let (logit, x, y) = (BernoulliLogit(ProbitApproximation), problem.x.as_ref(), &problem.y);
        match self {
            Self::Implicit | Self::ImplicitExactRoots => {
                start.run(&Implicit(logit), MeanMoves::BeforeProjection, x, y, times)
            }
            Self::Explicit => start.run(&Explicit(logit), MeanMoves::AfterProjection, x, y, times),
            Self::ExtendedKalman => {
                start.run(&Linearised::extended_kalman(logit), MeanMoves::AfterProjection, x, y, times)
            }
            Self::SkipCovariance => skip_covariance(start, problem, times),
        }
    }
}

/// (143)-(145): the covariance steps with the curvature at the old belief and is projected; the mean then takes the slope at
/// the explicit step's `(â, ν̂)`, both steps with the projected covariance.
fn skip_covariance(start: &Start, problem: &Problem, times: &[usize]) -> Result<Vec<LowRankGaussian>, CaseError> {
    let logit = BernoulliLogit(ProbitApproximation);
    let mut belief = start.belief(MeanMoves::BeforeProjection)?;
    let mut kept = vec![belief.clone(); times.len()];
    for (t, &y) in problem.y.iter().enumerate() {
        let x: Vec<f64> = problem.x.row(t).iter().copied().collect();
        let seen = belief.predict(&x, Par::Seq)?;
        let (slope, curvature) = logit.expected_slope_curvature(y, seen.mean, seen.variance);
        let column: Vec<f64> = x.iter().map(|x| curvature.sqrt() * x).collect();
        belief.add_information(MatRef::from_row_major_slice(&column, 1, x.len()), Par::Seq)?;
        let gain = belief.covariance_mul(&x, Par::Seq)?;
        let variance = dot(&x, &gain);
        let (slope, _) = logit.expected_slope_curvature(y, seen.mean + slope * variance, variance);
        belief.shift_mean(&gain.iter().map(|gain| slope * gain).collect::<Vec<_>>())?;
        keep(&mut kept, times, t, &belief);
    }
    Ok(kept)
}

/// The final entry of a run and those along its way.
#[derive(Debug)]
pub struct Stored<'a> {
    last: Node<'a>,
    points: Vec<Node<'a>>,
    /// When each of them was taken, the final one first.
    pub times: Vec<usize>,
}

impl<'a> Stored<'a> {
    /// Reads the times of `node` and of its `trajectory`, of a run over `n` observations.
    ///
    /// # Errors
    /// A [`CaseError`] for a time that is not one.
    pub fn read(node: &Node<'a>, n: usize) -> Result<Self, CaseError> {
        let points = node.find("trajectory").map(|points| points.items()).transpose()?.unwrap_or_default();
        let mut times = vec![n];
        for point in &points {
            let time = point.get("t")?;
            let t = time.count()?;
            if t > n {
                return Err(time.refuse(format!("beyond the last of {n} observations")));
            }
            times.push(t);
        }
        Ok(Self { last: node.clone(), points, times })
    }

    /// Compares the beliefs at the [`times`](Self::times) with what is stored: means, `C = WWᵀ + Ψ`, and divergences, which
    /// `divergence` computes and which are found under `key`.
    ///
    /// # Errors
    /// A [`CaseError`] for what is missing or does not fit.
    pub fn check(
        &self,
        beliefs: &[LowRankGaussian],
        key: &str,
        divergence: &impl Fn(&DenseGaussian) -> Result<f64, CaseError>,
        belief_tolerance: f64,
        report: &mut Report,
    ) -> Result<(), CaseError> {
        let Some((end, way)) = beliefs.split_first() else { return Ok(()) };
        let point = Point { divergence, tolerance: belief_tolerance, key };
        point.check(&self.last, end, report)?;
        for ((node, belief), t) in self.points.iter().zip(way).zip(&self.times[1..]) {
            report.part(&format!("t{t}"), |report| point.check(node, belief, report));
        }
        Ok(())
    }
}

struct Point<'a, F> {
    divergence: &'a F,
    tolerance: f64,
    key: &'a str,
}

impl<F: Fn(&DenseGaussian) -> Result<f64, CaseError>> Point<'_, F> {
    fn check(&self, node: &Node<'_>, belief: &LowRankGaussian, report: &mut Report) -> Result<(), CaseError> {
        let d = belief.dim();
        let dense = belief.to_dense()?;
        let mean = match node.find("final_mean") {
            Some(mean) => mean,
            None => node.get("mean")?,
        };
        let mean = mean.vector_of(d)?;
        let floor = crate::logistic::mean_floor(&dense);
        report.compare("mean", compare::vectors(belief.mean(), &mean, floor), self.tolerance);
        let stored_kl = node.find_any(&[self.key, "kl"]).map(|kl| kl.number()).transpose()?;
        if let Some(stored) = stored_kl {
            let error = compare::scaled((self.divergence)(&dense)?, stored, kl_scale(stored));
            report.compare(self.key, error, tolerance::kl_of_low_rank(self.tolerance));
        }
        let (Some(w), Some(psi)) = (node.find("W"), node.find("Psi")) else { return Ok(()) };
        let (w, psi) = (w.matrix_of(d, belief.rank())?, psi.vector_of(d)?);
        let stored = precision(w.as_ref(), &psi);
        let ours = precision(belief.precision().w(), belief.precision().psi());
        report.compare("precision", compare::matrices(ours.as_ref(), stored.as_ref()), self.tolerance);
        if let Some(kl) = stored_kl {
            let settings = LowRankSettings::blocked(belief.rank())?;
            let stored = LowRankGaussian::from_precision(&mean, w.as_ref(), &psi, settings)?.to_dense()?;
            let error = compare::scaled((self.divergence)(&stored)?, kl, kl_scale(kl));
            report.compare("kl_of_stored", error, tolerance::KL_OF_STORED);
        }
        Ok(())
    }
}

/// A divergence below a thousandth of a nat is a difference of terms of order one and more.
fn kl_scale(stored: f64) -> f64 {
    stored.abs().max(1e-3)
}

/// `WWᵀ + Ψ`.
fn precision(w: MatRef<'_, f64>, psi: &[f64]) -> Mat<f64> {
    let mut out = w * w.transpose();
    for (i, psi) in psi.iter().enumerate() {
        out[(i, i)] += psi;
    }
    out
}
