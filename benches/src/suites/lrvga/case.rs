//! One form at one size, measured in a process of its own.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use vi_core::{Belief, Explicit, GaussianLikelihood, LowRankGaussian, LowRankSettings, MeanMoves};
use vi_linalg::faer::{MatRef, Par};

use crate::measure::{Spread, timed};
use crate::{BenchError, memory};

/// How rows are projected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Blocks of the default size from a spectral start.
    Blocked,
    /// One inner loop for each row, in closed form.
    Step1,
    /// The recursion as printed with three inner loops for each row.
    Step3,
}

impl Form {
    pub(super) const ALL: [Self; 3] = [Self::Blocked, Self::Step1, Self::Step3];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Step1 => "step1",
            Self::Step3 => "step3",
        }
    }

    pub(super) fn settings(self, p: usize) -> Result<LowRankSettings, BenchError> {
        Ok(match self {
            Self::Blocked => LowRankSettings::blocked(p)?,
            Self::Step1 => LowRankSettings::one_loop(p)?,
            Self::Step3 => LowRankSettings::recursive(p, 3, MeanMoves::AfterProjection)?,
        })
    }
}

/// What is to be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) form: Form,
    pub(super) d: usize,
    pub(super) p: usize,
    pub(super) repetitions: usize,
}

/// What a child found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Found {
    /// Seconds per observation, by repetitions.
    pub(super) seconds: Vec<f64>,
    /// Bytes of the rows that the caller holds.
    pub(super) rows: f64,
    /// Bytes of `W`, `ψ` and `μ`.
    pub(super) state: f64,
    /// Peak of resident memory while observations came, in bytes.
    pub(super) peak: Option<f64>,
}

impl Found {
    pub(super) fn time(&self) -> Spread {
        Spread::of(&self.seconds)
    }
}

impl Case {
    /// The line that tells a child of this case.
    pub(super) fn job(&self) -> String {
        format!("lrvga {} {} {} {}", self.form.name(), self.d, self.p, self.repetitions)
    }

    fn parse(job: &str) -> Option<Self> {
        let mut words = job.split_whitespace();
        if words.next()? != "lrvga" {
            return None;
        }
        let form = words.next()?;
        let form = Form::ALL.into_iter().find(|known| known.name() == form)?;
        let mut number = || words.next()?.parse().ok();
        Some(Self { form, d: number()?, p: number()?, repetitions: number()? })
    }

    /// Runs the case in this process.
    fn measure(&self) -> Result<Found, BenchError> {
        let (d, p) = (self.d, self.p);
        let par = Par::rayon(0);
        let settings = self.form.settings(p)?;
        let count = settings.block();
        let rows = Rows::new(d, count);
        let mut belief = self.belief(settings)?;
        let rule = Explicit(GaussianLikelihood::new(1.0)?);
        let mut found =
            Found { seconds: Vec::new(), rows: (8 * count * d) as f64, state: (8 * d * (p + 2)) as f64, peak: None };
        let since = memory::reset_peak();
        // The first repetition is not counted: it meets W = 0 in blocks, and memory for the first time.
        for repetition in 0..=self.repetitions {
            let (elapsed, ()) = timed(|| rows.observe(&mut belief, rule, par))?;
            if repetition > 0 {
                found.seconds.push(elapsed / count as f64);
            }
        }
        if since {
            found.peak = memory::peak().map(|bytes| bytes as f64);
        }
        std::hint::black_box(belief.mean());
        Ok(found)
    }

    fn belief(&self, settings: LowRankSettings) -> Result<LowRankGaussian, BenchError> {
        let mean = vec![0.0; self.d];
        Ok(match self.form {
            Form::Blocked => LowRankGaussian::isotropic(&mean, 1.0, settings)?,
            // A column of W that is zero stays zero, so they start as the paper does.
            Form::Step1 | Form::Step3 => {
                let rng = &mut ChaCha8Rng::seed_from_u64(1);
                LowRankGaussian::with_small_factor(&mean, &vec![1.0; self.d], 1e-3, settings, rng)?
            }
        })
    }
}

/// What a child is asked: the answer as JSON.
///
/// # Errors
/// [`BenchError::Child`] for a job that is not one of ours; those of the measurement.
pub(in crate::suites) fn child(job: &str) -> Result<String, BenchError> {
    let case = Case::parse(job)
        .ok_or_else(|| BenchError::Child { job: job.to_owned(), message: "there is no such job".to_owned() })?;
    Ok(serde_json::to_string(&case.measure()?)?)
}

/// Rows `x ~ N(0, I/d)` that are observed over and over, and their labels.
struct Rows {
    x: Vec<f64>,
    y: Vec<f64>,
    d: usize,
}

impl Rows {
    fn new(d: usize, count: usize) -> Self {
        let rng = &mut ChaCha8Rng::seed_from_u64(0);
        let scale = 1.0 / (d as f64).sqrt();
        let mut normal = || -> f64 { StandardNormal.sample(rng) };
        let x = (0..count * d).map(|_| scale * normal()).collect();
        Self { x, y: (0..count).map(|_| normal()).collect(), d }
    }

    fn observe(
        &self,
        belief: &mut LowRankGaussian,
        rule: Explicit<GaussianLikelihood>,
        par: Par,
    ) -> Result<(), BenchError> {
        if self.y.len() == 1 {
            belief.step(&rule, &self.x, self.y[0], par)?;
        } else {
            let x = MatRef::from_row_major_slice(&self.x, self.y.len(), self.d);
            belief.step_block(&rule, x, &self.y, par)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_says_its_case() {
        for form in Form::ALL {
            let case = Case { form, d: 1000, p: 3, repetitions: 2 };
            assert_eq!(Case::parse(&case.job()), Some(case));
        }
        for wrong in ["", "lrvga", "lrvga blocked 10", "lrvga backwards 10 1 1", "dense blocked 10 1 1"] {
            assert_eq!(Case::parse(wrong), None, "{wrong}");
            assert!(child(wrong).is_err());
        }
    }

    #[test]
    fn every_form_runs() {
        for form in Form::ALL {
            let case = Case { form, d: 500, p: 2, repetitions: 2 };
            let found: Found = serde_json::from_str(&child(&case.job()).unwrap()).unwrap();
            assert_eq!(found.seconds.len(), 2);
            assert_eq!(found.state, 8.0 * 500.0 * 4.0);
            assert!(found.time().median > 0.0);
        }
    }
}
