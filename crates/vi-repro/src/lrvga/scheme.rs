//! The schemes of a step that Figure 5 and Appendix G compare, on a dense belief.

use vi_core::{
    DenseGaussian, Explicit, GaussianExpectation, Implicit, Linearised, MirrorProx, MirrorProxPrinted, SiteRule,
    SkipCovariance, filter,
};
use vi_data::Dataset;

use crate::error::ReproError;
use crate::logistic::breakdown;
use crate::plot::palette::{BROWN, Dash, Marker, Method, ORANGE, Style};

/// Where the expectations of a step are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    NaturalGradient,
    Explicit,
    Implicit,
    Printed,
    SkipCovariance,
    Corrected,
}

impl Scheme {
    /// All, in the order of the paper's columns.
    pub(super) const ALL: [Self; 6] =
        [Self::NaturalGradient, Self::Explicit, Self::Implicit, Self::Printed, Self::SkipCovariance, Self::Corrected];

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::NaturalGradient => "natural gradient",
            Self::Explicit => "explicit",
            Self::Implicit => "implicit",
            Self::Printed => "mirror-prox as printed",
            Self::SkipCovariance => "skip-covariance",
            Self::Corrected => "mirror-prox corrected",
        }
    }

    pub(super) fn slug(self) -> &'static str {
        match self {
            Self::NaturalGradient => "natural_gradient",
            Self::Explicit => "explicit",
            Self::Implicit => "implicit",
            Self::Printed => "mirror_prox_printed",
            Self::SkipCovariance => "skip_covariance",
            Self::Corrected => "mirror_prox",
        }
    }

    pub(super) fn style(self) -> Style {
        match self {
            Self::NaturalGradient => Method::NaturalGradient.style(),
            Self::Explicit => Method::RvgaExplicit.style(),
            Self::Implicit => Method::RvgaImplicit.style(),
            Self::Printed => Style::solid(ORANGE).dash(Dash::Dashed).marker(Marker::Triangle),
            Self::SkipCovariance => Style::solid(BROWN).dash(Dash::Dotted).marker(Marker::Cross),
            Self::Corrected => Method::MirrorProx.style().dash(Dash::Solid),
        }
    }

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
