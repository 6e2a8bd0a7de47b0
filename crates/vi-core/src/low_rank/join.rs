//! The low-rank belief among the others.

use vi_linalg::faer::{MatRef, Par};

use super::LowRankGaussian;
use crate::belief::{Belief, Projection};
use crate::{Error, Site};

impl Belief for LowRankGaussian {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    /// With rows waiting, the first call after a change costs `2d(p + k)` flops and a vector.
    fn mean(&self) -> &[f64] {
        if self.waiting.len() == 0 { &self.mean } else { self.shown.get_or_init(|| self.current_mean()) }
    }

    /// Cost `4d(p + k)` flops, `k` rows waiting; [`predict`](LowRankGaussian::predict) costs half.
    fn project(&self, x: &[f64], gain: &mut [f64]) -> Projection {
        let looked = self.look(MatRef::from_row_major_slice(x, 1, x.len()), Par::Seq);
        match self.see(&looked) {
            Ok(seen) => {
                self.write_gain(gain, x, &seen);
                seen.projection
            }
            Err(error) => {
                gain.fill(0.0);
                let value = match error {
                    Error::NegativeVariance { value } | Error::Overflow { value, .. } => value,
                    _ => f64::NAN,
                };
                Projection { mean: looked.mean(0), variance: value }
            }
        }
    }

    /// As [`step`](LowRankGaussian::step) after the rule has answered; looks along `x` again, for `2d(p + k)` flops.
    fn absorb(&mut self, x: &[f64], _projection: Projection, site: Site, _gain: &mut [f64]) -> Result<(), Error> {
        let x = MatRef::from_row_major_slice(x, 1, x.len());
        let seen = self.see(&self.look(x, Par::Seq))?;
        self.absorb_seen(x, seen, site, Par::Seq).map(|_| ())
    }
}
