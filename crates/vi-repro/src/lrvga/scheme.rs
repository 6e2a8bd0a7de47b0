//! The schemes of a step that Figure 5 and Appendix G compare, on a dense belief.

use vi_core::{
    DenseGaussian, Explicit, GaussianExpectation, Implicit, Linearised, MirrorProx, MirrorProxPrinted, SiteRule,
    SkipCovariance, filter,
};
use vi_data::Dataset;

use crate::error::ReproError;
use crate::logistic::breakdown;
use crate::looks::looks;

looks! {
    /// Where the expectations of a step are taken, in the order of the paper's columns.
    pub(super) enum Scheme {
        NaturalGradient: "natural_gradient", "natural gradient", GREEN Dashed Square;
        Explicit: "explicit", "explicit", SKY Dashed Triangle;
        Implicit: "implicit", "implicit", BLUE Solid Disc;
        Printed: "mirror_prox_printed", "mirror-prox as printed", ORANGE Dashed Triangle;
        SkipCovariance: "skip_covariance", "skip-covariance", BROWN Dotted Cross;
        Corrected: "mirror_prox", "mirror-prox corrected", PURPLE Solid Diamond;
    }
}

impl Scheme {
    /// One pass over the rows; a belief that broke down numerically is told as text.
    pub(super) fn pass<L: GaussianExpectation + Copy>(
        self,
        likelihood: L,
        prior: &DenseGaussian,
        data: &Dataset,
    ) -> Result<Result<DenseGaussian, String>, ReproError> {
        match self {
            Self::NaturalGradient => self.run(&Linearised::extended_kalman(likelihood), prior, data),
            Self::Explicit => self.run(&Explicit(likelihood), prior, data),
            Self::Implicit => self.run(&Implicit(likelihood), prior, data),
            Self::Printed => self.run(&MirrorProxPrinted(likelihood), prior, data),
            Self::SkipCovariance => self.run(&SkipCovariance(likelihood), prior, data),
            Self::Corrected => self.run(&MirrorProx(likelihood), prior, data),
        }
    }

    fn run<R: SiteRule>(
        self,
        rule: &R,
        prior: &DenseGaussian,
        data: &Dataset,
    ) -> Result<Result<DenseGaussian, String>, ReproError> {
        let mut belief = prior.clone();
        match filter::run(&mut belief, rule, data.x(), data.y(), |_, _, _| {}) {
            Ok(()) => Ok(Ok(belief)),
            Err(e) => breakdown(self.label(), e).map(Err),
        }
    }
}
