//! Offset and weight of one observation, around any rule.

use vi_core::{Error, Site, SiteRule, WeightedRule};

use super::observation::Observation;

/// `rule` at `t = offset + xᵀθ`, the log-likelihood multiplied by `weight`. Slope and curvature do not feel a shift of `t`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shifted<R> {
    rule: R,
    offset: f64,
    weight: f64,
}

impl<R> Shifted<R> {
    pub(super) fn new(rule: R, observed: &Observation) -> Self {
        Self { rule, offset: observed.offset, weight: observed.weight }
    }
}

impl<R: WeightedRule> SiteRule for Shifted<R> {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        self.rule.check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        self.rule.weighted_site(self.weight, a + self.offset, nu, y)
    }
}
