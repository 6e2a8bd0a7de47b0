//! Random streams of observations, and the rules that filter them.

use proptest::prelude::*;
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Error, Exact, Explicit, GaussianLikelihood, Implicit, Information,
    Linearised, MirrorProx, MirrorProxPrinted, Mixture8, ProbitApproximation, QuadraticBound, Site, SiteRule,
    SkipCovariance, filter,
};
use vi_linalg::faer::{Mat, MatRef};

/// Observations and the scale of an isotropic prior.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub(crate) d: usize,
    /// Row by row.
    pub(crate) rows: Vec<f64>,
    /// Of a regression.
    pub(crate) targets: Vec<f64>,
    /// Of a classification.
    pub(crate) labels: Vec<f64>,
    pub(crate) prior_mean: Vec<f64>,
    pub(crate) sigma0: f64,
}

impl Stream {
    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn x(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.rows, self.len(), self.d)
    }

    pub(crate) fn row(&self, t: usize) -> &[f64] {
        &self.rows[t * self.d..(t + 1) * self.d]
    }

    pub(crate) fn prior(&self) -> DenseGaussian {
        DenseGaussian::isotropic(&self.prior_mean, self.sigma0).unwrap()
    }

    pub(crate) fn filtered(&self, rule: &Rule, y: &[f64]) -> DenseGaussian {
        let mut belief = self.prior();
        filter::run(&mut belief, rule, self.x(), y, |_, _, _| {}).unwrap();
        belief
    }
}

/// Any rule, behind one type.
pub(crate) struct Rule(Box<dyn SiteRule>);

impl SiteRule for Rule {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        self.0.check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        self.0.site(a, nu, y)
    }
}

fn rule(rule: impl SiteRule + 'static) -> Rule {
    Rule(Box::new(rule))
}

/// Up to 8 dimensions and 24 observations, priors from sharp to flat.
pub(crate) fn stream() -> impl Strategy<Value = Stream> {
    (1_usize..=8, 1_usize..=24).prop_flat_map(|(d, n)| {
        let rows = prop::collection::vec(-3.0..3.0_f64, n * d);
        let targets = prop::collection::vec(-5.0..5.0_f64, n);
        let labels = prop::collection::vec(prop_oneof![Just(0.0), Just(1.0)], n);
        let prior_mean = prop::collection::vec(-2.0..2.0_f64, d);
        let sigma0 = prop_oneof![Just(0.1), Just(1.0), Just(10.0), Just(100.0)];
        (rows, targets, labels, prior_mean, sigma0).prop_map(move |(rows, targets, labels, prior_mean, sigma0)| {
            Stream { d, rows, targets, labels, prior_mean, sigma0 }
        })
    })
}

/// Every rule of logistic regression, under every kind of expectation that it can take.
pub(crate) fn logistic_rules() -> Vec<(&'static str, Rule)> {
    let (probit, mixture, exact) =
        (BernoulliLogit(ProbitApproximation), BernoulliLogit(Mixture8), BernoulliLogit(Exact));
    vec![
        ("implicit, probit", rule(Implicit(probit))),
        ("implicit, mixture", rule(Implicit(mixture))),
        ("implicit, exact", rule(Implicit(exact))),
        ("explicit, probit", rule(Explicit(probit))),
        ("explicit, mixture", rule(Explicit(mixture))),
        ("explicit, exact", rule(Explicit(exact))),
        ("extended Kalman", rule(Linearised::extended_kalman(probit))),
        ("online Newton", rule(Linearised { likelihood: probit, information: Information::Observed })),
        ("quadratic bound, once", rule(QuadraticBound::Once)),
        ("quadratic bound, optimal", rule(QuadraticBound::Optimal)),
        ("mirror-prox, probit", rule(MirrorProx(probit))),
        ("mirror-prox, mixture", rule(MirrorProx(mixture))),
        ("mirror-prox, printed", rule(MirrorProxPrinted(mixture))),
        ("skip-covariance", rule(SkipCovariance(mixture))),
    ]
}

/// The rules that are the Kalman filter where the likelihood is Gaussian.
pub(crate) fn linear_rules(noise_variance: f64) -> Vec<(&'static str, Rule)> {
    let linear = GaussianLikelihood::new(noise_variance).unwrap();
    vec![
        ("explicit", rule(Explicit(linear))),
        ("implicit", rule(Implicit(linear))),
        ("extended Kalman", rule(Linearised::extended_kalman(linear))),
        ("online Newton", rule(Linearised { likelihood: linear, information: Information::Observed })),
        ("mirror-prox", rule(MirrorProx(linear))),
    ]
}

/// Mean and covariance, to the bit.
pub(crate) fn bits(belief: &DenseGaussian) -> Vec<u64> {
    let covariance = belief.covariance();
    let entries = (0..belief.dim()).flat_map(|j| (0..belief.dim()).map(move |i| (i, j)));
    belief.mean().iter().copied().chain(entries.map(|entry| covariance[entry])).map(f64::to_bits).collect()
}

/// `‖A‖·‖A⁻¹‖` over a pass that began at `prior` and ended at `posterior`: what a rounding error may be blown up by.
pub(crate) fn condition(prior: &DenseGaussian, posterior: &DenseGaussian) -> f64 {
    prior.covariance().norm_l2() * posterior.cholesky().unwrap().inverse().norm_l2()
}

/// The distance of two beliefs that should be one, relative to `b`: of the means (to the mean or the standard deviation,
/// whichever is larger) or of the covariances, whichever is larger.
pub(crate) fn distance(a: &DenseGaussian, b: &DenseGaussian) -> f64 {
    let (p, q) = (a.covariance(), b.covariance());
    let scale = q.norm_l2();
    let means = a.mean().iter().zip(b.mean()).map(|(a, b)| a - b).fold(0.0, f64::hypot);
    let size = b.mean().iter().copied().fold(scale.sqrt(), f64::hypot);
    let covariances = Mat::from_fn(p.nrows(), p.ncols(), |i, j| p[(i, j)] - q[(i, j)]).norm_l2();
    (means / size).max(covariances / scale)
}
