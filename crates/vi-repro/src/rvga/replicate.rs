//! The same setting on many data sets, so that a verdict does not hang on one draw.

use vi_core::DenseGaussian;
use vi_data::Dataset;
use vi_data::synthetic::{Normalisation, TwoClassesSettings};

use super::methods::{FILTERS, Path};
use super::refined::{COMPARED_AND_BEST, Refined};
use crate::error::{Doing as _, ReproError};
use crate::logistic::{Planar, Posterior, laplace, moments};
use crate::plot::palette::Method;
use crate::streams::generator;

/// A setting of §6.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) n: usize,
    pub(super) d: usize,
    pub(super) s: f64,
    pub(super) c: f64,
    pub(super) sigma0: f64,
    pub(super) mu0_norm: f64,
}

impl Setting {
    /// The prior of the setting.
    pub(super) fn prior(&self) -> Result<DenseGaussian, ReproError> {
        super::methods::prior(self.d, self.mu0_norm, self.sigma0)
    }

    /// Data set `k` of the setting; `k` picks a stream of the generator, so data sets do not depend on
    /// how many are drawn.
    pub(super) fn data(&self, seed: u64, k: usize) -> Result<Dataset, ReproError> {
        let mut rng = generator(seed, k);
        let settings =
            TwoClassesSettings { n: self.n, d: self.d, s: self.s, c: self.c, normalisation: Normalisation::AsRun };
        let drawn = settings.draw(&mut rng).context("data")?;
        Ok(drawn.data)
    }
}

/// Final divergences on one data set, in the order of [`COMPARED_AND_BEST`].
pub(super) struct Finals {
    /// `KL` with `Z = 1`.
    pub(super) kl: [f64; 7],
    /// `KL` above the batch optimum's after the first pass and after each sweep.
    pub(super) gaps: Vec<f64>,
    /// What did not go smoothly in refining.
    pub(super) remark: Option<String>,
    /// `log Z` from the grid, in two dimensions.
    pub(super) log_z: Option<f64>,
}

impl Finals {
    pub(super) fn new(prior: &DenseGaussian, data: &Dataset) -> Result<Self, ReproError> {
        let posterior = Posterior::new(prior, data)?;
        let map = laplace(prior, data)?;
        let refined = Refined::new(prior, data)?;
        let mut kl = [f64::NAN; 7];
        for (value, method) in kl.iter_mut().zip(FILTERS) {
            let path = Path::new(method, prior, data, &[data.n()])?;
            // A filter that broke down has no final belief: infinitely far.
            *value = match path.broke {
                Some(_) => f64::INFINITY,
                None => posterior.kl(path.last()?)?,
            };
        }
        kl[4] = posterior.kl(&map)?;
        kl[5] = posterior.kl(&refined.belief)?;
        kl[6] = posterior.kl(&refined.optimum)?;
        let log_z = if data.d() == 2 {
            let (mean, cov) = moments(&map);
            Some(Planar::new(&posterior, mean, cov, 160)?.log_z)
        } else {
            None
        };
        Ok(Self { kl, gaps: refined.gaps, remark: refined.remark, log_z })
    }

    /// The divergence of `method`, normalised if a normaliser is known.
    pub(super) fn of(&self, method: Method) -> f64 {
        let i = COMPARED_AND_BEST.iter().position(|m| *m == method);
        i.map_or(f64::NAN, |i| self.kl[i] + self.log_z.unwrap_or(0.0))
    }
}

/// How often, over `finals`, `claim` is true.
pub(super) fn count(finals: &[Finals], claim: impl Fn(&Finals) -> bool) -> (usize, usize) {
    (finals.iter().filter(|f| claim(f)).count(), finals.len())
}

/// The divergences of `method` over all data sets.
pub(super) fn column(finals: &[Finals], method: Method) -> Vec<f64> {
    finals.iter().map(|f| f.of(method)).collect()
}
