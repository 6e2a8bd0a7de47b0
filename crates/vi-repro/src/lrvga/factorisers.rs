//! The ways to factorise a covariance that Figure 1 compares, each as a path of losses.

use rand_chacha::ChaCha8Rng;
use vi_core::factor::{
    self, Averaging, DiagonalSettings, EmSettings, OnlineEm, OnlineSettings, RecursiveEm, RecursiveSettings,
    UpdateSettings, Weights,
};
use vi_core::{LowRankGaussian, LowRankSettings};
use vi_linalg::faer::{Mat, Par};
use vi_linalg::{Cholesky, DenseSymmetric, LowRank};

use crate::error::{Doing as _, ReproError};
use crate::looks::looks;
use crate::plot::palette::{BLACK, Dash, Marker, Style};

/// ε of Appendix D, as the authors have it.
const EPSILON: f64 = 1e-8;
/// Passes of batch EM that are drawn.
const PASSES: usize = 20;

looks! {
    /// A way to factorise.
    pub(super) enum Way {
        Batch: "batch_em", "batch EM", VERMILLION Solid Disc;
        Online: "online_em", "online EM", GREEN Solid Triangle;
        AsPrinted: "recursive_em_printed", "recursive EM as printed", ORANGE Dashed Square;
        Recursive: "recursive_em", "ours: recursive EM, α = t/(t+1)", BLUE Solid Plus;
        Blocked: "blocked", "ours: blocks, spectral start", PURPLE Solid Diamond;
    }
}

impl Way {
    /// How the limit of batch EM is drawn.
    pub(super) fn limit_style() -> Style {
        Style::solid(BLACK).dash(Dash::Long).marker(Marker::None)
    }
}

/// Rows and what is to be approximated.
pub(super) struct Problem {
    /// `n × d`.
    pub(super) x: Mat<f64>,
    /// `XᵀX/n`.
    s: Mat<f64>,
    root: Cholesky,
    start: LowRank,
    p: usize,
    inner_loops: usize,
}

/// `(observations processed, loss)`, in order.
pub(super) type Path = Vec<(f64, f64)>;

impl Problem {
    pub(super) fn new(x: Mat<f64>, p: usize, inner_loops: usize, rng: &mut ChaCha8Rng) -> Result<Self, ReproError> {
        let s = x.transpose() * &x * (1.0 / x.nrows() as f64);
        let root = Cholesky::new(s.as_ref()).context("the covariance")?;
        let sigma0 = factor::guess_sigma0(x.as_ref()).context("start")?;
        let start = factor::start_isotropic(x.ncols(), p, sigma0, EPSILON, rng).context("start")?;
        Ok(Self { x, s, root, start, p, inner_loops })
    }

    fn loss(&self, c: &LowRank) -> Result<f64, ReproError> {
        factor::kl(&self.root, c, Par::Seq).context("loss")
    }

    /// The loss of the start.
    pub(super) fn first(&self) -> Result<f64, ReproError> {
        self.loss(&self.start)
    }

    /// The losses of `way` along its way; of the streams at about `looks` times.
    pub(super) fn path(&self, way: Way, looks: usize) -> Result<Path, ReproError> {
        match way {
            Way::Batch => self.batch(PASSES),
            Way::AsPrinted => self.recursive(Weights::MeanAsPrinted, looks),
            Way::Recursive => self.recursive(Weights::Mean, looks),
            Way::Online => self.online(looks),
            Way::Blocked => self.blocked(looks),
        }
    }

    /// About `looks` times from 1 to `n`, evenly spaced on a logarithmic axis.
    fn times(&self, looks: usize) -> Vec<usize> {
        let n = self.x.nrows() as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and n")]
        let mut times: Vec<usize> = (0..=looks).map(|k| n.powf(k as f64 / looks as f64).round() as usize).collect();
        times.dedup();
        times
    }

    fn batch(&self, passes: usize) -> Result<Path, ReproError> {
        let mut c = self.start.clone();
        let mut path = Vec::new();
        for pass in 1..=passes {
            factor::step(&DenseSymmetric::new(self.s.as_ref()), &mut c, &DiagonalSettings::default(), Par::Seq)
                .context(Way::Batch.label())?;
            path.push(((pass * self.x.nrows()) as f64, self.loss(&c)?));
        }
        Ok(path)
    }

    fn recursive(&self, weights: Weights, looks: usize) -> Result<Path, ReproError> {
        let steps = UpdateSettings { inner_loops: self.inner_loops, ..UpdateSettings::default() };
        let settings = RecursiveSettings { weights, update: steps };
        let mut em = RecursiveEm::new(self.start.clone(), &settings).context("recursive EM")?;
        let mut path = Vec::new();
        for t in self.times(looks) {
            em.run(self.x.as_ref().subrows(em.seen(), t - em.seen()), Par::Seq).context("recursive EM")?;
            path.push((t as f64, self.loss(em.factor())?));
        }
        Ok(path)
    }

    /// With the average over the second half of the rows that the paper recommends.
    fn online(&self, looks: usize) -> Result<Path, ReproError> {
        let averaging = Averaging::After { from: self.x.nrows() / 2 };
        let settings = OnlineSettings { exponent: 0.6, averaging, ..OnlineSettings::default() };
        let mut em = OnlineEm::new(self.start.clone(), &settings).context("online EM")?;
        let mut path = Vec::new();
        for t in self.times(looks) {
            em.run(self.x.as_ref().subrows(em.seen(), t - em.seen()), Par::Seq).context("online EM")?;
            path.push((t as f64, self.loss(em.factor())?));
        }
        Ok(path)
    }

    /// The low-rank belief's precision gathers `σ₀⁻²·I + Σxxᵀ`; over `t + 1` it is what the recursion follows.
    fn blocked(&self, looks: usize) -> Result<Path, ReproError> {
        let (n, d) = self.x.shape();
        let sigma0 = factor::guess_sigma0(self.x.as_ref()).context("blocks")?;
        let settings = LowRankSettings::blocked(self.p).context("blocks")?;
        let mut belief = LowRankGaussian::isotropic(&vec![0.0; d], sigma0, settings).context("blocks")?;
        let mut path = Vec::new();
        let blocks = n.div_ceil(settings.block());
        let every = blocks.div_ceil(looks);
        for block in 0..blocks {
            let first = block * settings.block();
            let rows = self.x.as_ref().subrows(first, settings.block().min(n - first));
            belief.add_information(rows, Par::Seq).context("blocks")?;
            let seen = first + rows.nrows();
            if (block + 1) % every == 0 || seen == n {
                belief.flush(Par::Seq).context("blocks")?;
                path.push((seen as f64, self.loss(&scaled(belief.precision(), 1.0 / (seen as f64 + 1.0))?)?));
            }
        }
        Ok(path)
    }

    /// What batch EM comes to, from the end of the blocks.
    pub(super) fn limit(&self) -> Result<f64, ReproError> {
        let (n, d) = self.x.shape();
        let sigma0 = factor::guess_sigma0(self.x.as_ref()).context("batch EM")?;
        let settings = LowRankSettings::blocked(self.p).context("batch EM")?;
        let mut belief = LowRankGaussian::isotropic(&vec![0.0; d], sigma0, settings).context("batch EM")?;
        for first in (0..n).step_by(settings.block()) {
            let rows = self.x.as_ref().subrows(first, settings.block().min(n - first));
            belief.add_information(rows, Par::Seq).context("batch EM")?;
        }
        belief.flush(Par::Seq).context("batch EM")?;
        let mut c = scaled(belief.precision(), 1.0 / (n as f64 + 1.0))?;
        let settings = EmSettings { tolerance: 1e-8, max_iterations: 500, diagonal: DiagonalSettings::default() };
        factor::run(&DenseSymmetric::new(self.s.as_ref()), &mut c, &settings, Par::Seq).context("batch EM")?;
        self.loss(&c)
    }
}

/// `c·(Ψ + WWᵀ)`.
fn scaled(matrix: &LowRank, c: f64) -> Result<LowRank, ReproError> {
    let psi: Vec<f64> = matrix.psi().iter().map(|psi| c * psi).collect();
    LowRank::new((matrix.w() * c.sqrt()).as_ref(), &psi).context("blocks")
}
