//! Softmax regression: more than two classes, on a stream or in a batch.
//!
//! ```text
//! p(y=c|x, θ) = π_c,   π = softmax(0, η),   η_c = xᵀθ_c + o_c,   θ = (θ_1, …, θ_{C−1})
//! ```
//!
//! Class 0 is the reference. A row sees a dense belief over `θ ∈ ℝᵈᵐ`, `m = C−1`, only through its `m` logits `N(a, N)`, and its
//! site is `m` slopes and `C(C−1)/2` curvatures. With two and three classes `E π`, `E ππᵀ` and `E log π` are taken in closed form
//! over one logit given the other, with some `13(1 + σ)` nodes along that other, fewer where it is wide: to 1e-8, and 3e-8 for `E
//! ππᵀ`, at any width. With more classes they are sums over fixed nodes, a quasi-random sequence in `m` dimensions: 256 of them
//! by default, off by about 1e-3 where the logits have variances of order 1 and 1e-2 where they have 30. The same data give the
//! same bits.
//!
//! The site of a row of weight 1 with one of two or three classes gives the logits the mean and covariance of `p(y|η)·N(η|a, N)/Z` (assumed
//! density filtering); that of any other row has the slope and curvature expected under the explicit step (mirror prox), which starts from
//! Böhning's bound where the nodes do not resolve the logits.
//!
//! | symbol | name in code | shape |
//! |---|---|---|
//! | `C`, `m = C−1` | [`Softmax::classes`] | |
//! | `θ` | belief, class by class | `d·m` |
//! | `a`, `N = HPHᵀ`, `H = I_m ⊗ xᵀ` | logits of a row | `m`, `m × m` |
//! | `r`, `K` | a site `exp(rᵀη − ½ηᵀKη)` | `m`, `m × m` |
//! | `o` | [`SoftmaxRows::with_offsets`] | `n × m` |
//!
//! ```
//! use vi_linalg::faer::{Par, mat};
//! use vi_models::softmax::{Softmax, SoftmaxRows};
//!
//! let x = mat![[1.0, -2.0], [1.0, -1.5], [1.0, 0.1], [1.0, -0.2], [1.0, 1.8], [1.0, 2.2]];
//! let y = [0.0, 0.0, 1.0, 1.0, 2.0, 2.0];
//! let model = Softmax::new(3)?;
//! let mut belief = model.prior(2, 2.0)?;
//! let log_evidence = model.run(&mut belief, SoftmaxRows::new(x.as_ref(), &y), Par::Seq, |_, _, _| {})?;
//! let predicted = model.predict(&belief, &[1.0, 2.5])?;
//! assert_eq!(predicted.most_probable(), 2);
//! assert!(log_evidence < 0.0 && (predicted.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
//! # Ok::<(), vi_models::ModelError>(())
//! ```

mod at_nodes;
mod batch;
mod conditional;
mod heads;
mod line;
mod logits;
mod nodes;
mod predict;
mod prepared;
mod propagation;
mod refine;
mod rows;
mod site;
mod step;
mod tilted;

pub(crate) use heads::{log_predictive as head_score, moments as head_moments, sites as head_sites};
pub use predict::SoftmaxPrediction;
pub(crate) use prepared::PreparedSoftmax;
pub use refine::{SoftmaxFit, SoftmaxRefineSettings};
pub use rows::SoftmaxRows;
pub use step::{SoftmaxScratch, SoftmaxStep};

use nodes::Nodes;
use vi_core::{DenseGaussian, Error};
use vi_linalg::faer::Mat;

use crate::{ModelError, check};

/// The default number of nodes, unless four for each logit are more.
const NODES: usize = 256;

/// A softmax regression's settings: number of classes, nodes. Checked at construction, never changed by learning.
#[derive(Debug, Clone, PartialEq)]
pub struct Softmax {
    classes: usize,
    nodes: Nodes,
}

impl Softmax {
    /// A model of `classes = C` classes, labelled `0, …, C−1`, with 256 fixed nodes (or `4(C−1)`).
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `2 ≤ C ≤ 10⁴`.
    pub fn new(classes: usize) -> Result<Self, ModelError> {
        Self::check_classes(classes)?;
        let nodes = Nodes::new(classes - 1, NODES.max(4 * (classes - 1)))?;
        Ok(Self { classes, nodes })
    }

    pub(crate) fn check_classes(classes: usize) -> Result<(), Error> {
        let requirement = "between 2 and 10000";
        let fits = (2..=10_000).contains(&classes);
        if fits { Ok(()) } else { Err(Error::Setting { name: "classes", value: classes as f64, requirement }) }
    }

    /// This model with at least `count` fixed nodes (in two dimensions the largest square up to it). With two and three classes
    /// they are used only for predictive densities of counts and weights other than 1, and for the variances of probabilities of
    /// narrow logits.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `count` is at least 16 and `4(C−1)`, at most 2²⁰.
    pub fn with_nodes(self, count: usize) -> Result<Self, ModelError> {
        Ok(Self { nodes: Nodes::new(self.classes - 1, count)?, ..self })
    }

    /// The number of classes `C`.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The prior of `d` inputs that treats all classes alike: weights `N(0, σ₀²)` for each of the `C` classes, seen relative to
    /// class 0, so `N(0, σ₀²(I + 11ᵀ) ⊗ I_d)`. Any other belief of dimension `d(C−1)` can be used as well.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Empty` for `d = 0`, `Setting` unless `σ₀` and its square are positive and finite.
    pub fn prior(&self, d: usize, sigma0: f64) -> Result<DenseGaussian, ModelError> {
        check::positive("sigma0", sigma0)?;
        check::positive("sigma0²", sigma0 * sigma0)?;
        let covariance = Mat::from_fn(d * (self.classes - 1), d * (self.classes - 1), |i, j| {
            let classes = if i == j { 2.0 } else { 1.0 };
            if i % d.max(1) == j % d.max(1) { classes * sigma0 * sigma0 } else { 0.0 }
        });
        Ok(DenseGaussian::new(&vec![0.0; d * (self.classes - 1)], covariance.as_ref())?)
    }
}
