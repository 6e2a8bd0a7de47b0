//! The methods, and what each is given.

use super::sets::{Kind, Set, Split};

/// Factors on a default step or a prior variance of 1: half powers of ten, from one end of a range of 1000 to the other.
pub(super) const FACTORS: [f64; 7] = [
    0.031_622_776_601_683_79,
    0.1,
    0.316_227_766_016_837_94,
    1.0,
    3.162_277_660_168_379_5,
    10.0,
    31.622_776_601_683_793,
];

/// A method.
#[derive(Debug, Clone, Copy)]
pub(super) struct Method {
    /// Its name in records and in the script.
    pub(super) name: &'static str,
    /// What it is called on the page.
    pub(super) title: &'static str,
    /// The package that it is of; nothing for ours.
    pub(super) package: Option<&'static str>,
    /// The default of what is swept: the step of a stochastic gradient, or the prior variance of ours.
    pub(super) swept: Option<f64>,
    /// Whether it is linear in the inputs, as ours is.
    pub(super) linear: bool,
}

const fn method(name: &'static str, title: &'static str, package: &'static str) -> Method {
    Method { name, title, package: Some(package), swept: None, linear: true }
}

const fn ours(name: &'static str, title: &'static str) -> Method {
    Method { name, title, package: None, swept: None, linear: true }
}

pub(super) const METHODS: [Method; 20] = [
    Method { swept: Some(1.0), ..ours("ours", "ours") },
    ours("ours_refined", "ours, refined"),
    ours("ours_memory", "ours, learned memory"),
    ours("ours_spread", "ours, learned spread"),
    Method { linear: false, ..ours("ours_table", "ours, `rvi fit`") },
    method("sklearn_logistic", "scikit-learn LogisticRegression", "scikit-learn"),
    method("sklearn_ridge", "scikit-learn BayesianRidge", "scikit-learn"),
    method("sklearn_ard", "scikit-learn ARDRegression", "scikit-learn"),
    method("sklearn_poisson", "scikit-learn PoissonRegressor", "scikit-learn"),
    method("statsmodels_glm", "statsmodels GLM", "statsmodels"),
    method("statsmodels_nb", "statsmodels NegativeBinomial", "statsmodels"),
    method("statsmodels_ols", "statsmodels OLS", "statsmodels"),
    method("glum", "glum GeneralizedLinearRegressor", "glum"),
    method("bandits_glm", "bayesianbandits BayesianGLM", "bayesianbandits"),
    method("bandits_rvga", "bayesianbandits BayesianGLM, R-VGA", "bayesianbandits"),
    method("bandits_normal", "bayesianbandits NormalInverseGamma", "bayesianbandits"),
    Method { swept: Some(0.01), ..method("sklearn_sgd", "scikit-learn SGD", "scikit-learn") },
    Method { swept: Some(0.01), ..method("river", "river, SGD", "river") },
    Method { swept: Some(0.5), ..method("vw", "Vowpal Wabbit", "vowpalwabbit") },
    Method { linear: false, ..method("sklearn_boosting", "scikit-learn HistGradientBoosting (trees)", "scikit-learn") },
];

impl Method {
    /// Whether it is asked for this task.
    pub(super) fn does(&self, set: &Set) -> bool {
        let kind = set.kind;
        match self.name {
            "ours" | "river" | "vw" => true,
            "ours_memory" => set.is_stream(),
            _ if set.is_stream() => false,
            // That of a number is exact; the flights' many rows need no second pass.
            "ours_refined" => kind != Kind::Number && set.split == Split::Drawn,
            "sklearn_logistic" => kind.is_class(),
            "sklearn_ridge" | "sklearn_ard" | "statsmodels_ols" | "bandits_normal" => kind == Kind::Number,
            "ours_spread" | "sklearn_poisson" | "statsmodels_nb" => kind == Kind::Count,
            "statsmodels_glm" | "bandits_glm" => matches!(kind, Kind::Two | Kind::Count),
            "bandits_rvga" => kind == Kind::Two,
            "glum" => !matches!(kind, Kind::Many(_)),
            "sklearn_sgd" => kind != Kind::Count,
            _ => true,
        }
    }

    /// The steps, or variances, beside the default: fewer where each takes long.
    pub(super) fn sweep(&self, set: &Set) -> Vec<f64> {
        let Some(default) = self.swept else { return Vec::new() };
        let every = if matches!(set.split, Split::First(_)) && self.name != "vw" { 2 } else { 1 };
        FACTORS.iter().step_by(every).map(|factor| factor * default).collect()
    }
}
