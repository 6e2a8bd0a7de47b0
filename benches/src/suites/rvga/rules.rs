//! Time per observation of each rule on a dense belief, next to the same rule on the textbook belief.

use vi_core::filter::{self, Scratch};
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Explicit, GaussianLikelihood, Implicit, Linearised, MirrorProx, Mixture8,
    ProbitApproximation, QuadraticBound, SiteRule, SkipCovariance,
};

use super::Effort;
use crate::BenchError;
use crate::measure::{compare, timed};
use crate::plain::{PLAIN, PlainGaussian};
use crate::record::{Record, Report, Target};
use crate::stream::{SIGMA0, Stream};

/// `(d, n)`: fewer observations where each takes longer.
const SIZES: [(usize, usize); 3] = [(10, 2000), (100, 500), (1000, 20)];

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    for (d, n) in SIZES {
        let sizes = Sizes { stream: Stream::new(d, n), repetitions: effort.choose(15, 3) };
        let logit = BernoulliLogit(Mixture8);
        let labels = sizes.stream.labels();
        for record in [
            sizes.rule("implicit_probit", &Implicit(BernoulliLogit(ProbitApproximation)), labels)?,
            sizes.rule("implicit_mixture8", &Implicit(logit), labels)?,
            sizes.rule("explicit", &Explicit(logit), labels)?,
            sizes.rule("ekf", &Linearised::extended_kalman(logit), labels)?,
            sizes.rule("qkf_once", &QuadraticBound::Once, labels)?,
            sizes.rule("qkf_optimal", &QuadraticBound::Optimal, labels)?,
            sizes.rule("mirror_prox", &MirrorProx(logit), labels)?,
            sizes.rule("skip_covariance", &SkipCovariance(logit), labels)?,
            sizes.rule("kalman", &Explicit(GaussianLikelihood::new(1.0)?), sizes.stream.responses())?,
        ] {
            report.push(record);
        }
    }
    Ok(())
}

struct Sizes {
    stream: Stream,
    repetitions: usize,
}

impl Sizes {
    fn rule<R: SiteRule>(&self, name: &str, rule: &R, y: &[f64]) -> Result<Record, BenchError> {
        let d = self.stream.dim();
        let name = format!("rvga/{name}/sequential/d{d}");
        eprintln!("{name}");
        let dense = DenseGaussian::isotropic(&vec![0.0; d], SIGMA0)?;
        let plain = PlainGaussian::isotropic(d, SIGMA0);
        let compared = compare(
            self.repetitions,
            || per_observation(&dense, rule, &self.stream, y),
            || per_observation(&plain, rule, &self.stream, y),
        )?;
        let record = Record::compared(name, compared, PLAIN);
        // At d = 10 the scalar rule, the same on both sides, is most of the time.
        Ok(if d >= 100 { record.target(Target::RatioAtLeast(1.0)) } else { record })
    }
}

/// Seconds per observation of one pass over the stream from `prior`; making the first belief is not counted.
pub(in crate::suites) fn per_observation<B: Belief + Clone, R: SiteRule>(
    prior: &B,
    rule: &R,
    stream: &Stream,
    y: &[f64],
) -> Result<f64, BenchError> {
    let mut belief = prior.clone();
    let mut scratch = Scratch::default();
    let (elapsed, ()) = timed(|| {
        let mut rows = stream.rows().zip(y);
        rows.try_for_each(|(x, y)| filter::step(&mut belief, rule, x, *y, &mut scratch).map(|_| ()))
    })?;
    std::hint::black_box(belief.mean());
    Ok(elapsed / stream.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_absorbs_every_observation_and_takes_time() {
        let stream = Stream::new(3, 5);
        let prior = DenseGaussian::isotropic(&[0.0; 3], SIGMA0).unwrap();
        let rule = Implicit(BernoulliLogit(ProbitApproximation));
        assert!(per_observation(&prior, &rule, &stream, stream.labels()).unwrap() > 0.0);
        // The responses are no labels: the measurement reports what the filter says.
        assert!(matches!(
            per_observation(&prior, &rule, &stream, stream.responses()),
            Err(BenchError::Core(vi_core::Error::Label { .. }))
        ));
    }
}
