//! Any basis of this crate, as one type that can be stored.

use serde::{Deserialize, Serialize};
use vi_linalg::faer::{Mat, MatMut, MatRef, Par};

use super::{
    Basis, Bias, FastFood, FastFoodMixture, Linear, Parameter, Polynomial, Radial, RandomFourier, Regulariser,
    Sigmoidal,
};

/// Any basis of this crate. Use your own basis by itself: `+` and [`on_columns`](super::OnPart::on_columns) are only for those of
/// the crate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum AnyBasis {
    /// A constant feature.
    Bias(Bias),
    /// The inputs as features.
    Linear(Linear),
    /// The powers of the inputs.
    Polynomial(Polynomial),
    /// Radial bumps about centres.
    Radial(Radial),
    /// Sigmoidal steps about centres.
    Sigmoidal(Sigmoidal),
    /// Random Fourier features.
    RandomFourier(RandomFourier),
    /// FastFood features.
    FastFood(FastFood),
    /// FastFood features about a spectral mean.
    FastFoodMixture(FastFoodMixture),
}

impl AnyBasis {
    fn inner(&self) -> &dyn Basis {
        match self {
            Self::Bias(basis) => basis,
            Self::Linear(basis) => basis,
            Self::Polynomial(basis) => basis,
            Self::Radial(basis) => basis,
            Self::Sigmoidal(basis) => basis,
            Self::RandomFourier(basis) => basis,
            Self::FastFood(basis) => basis,
            Self::FastFoodMixture(basis) => basis,
        }
    }
}

impl Basis for AnyBasis {
    fn inputs(&self) -> Option<usize> {
        self.inner().inputs()
    }

    fn width(&self) -> usize {
        self.inner().width()
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.inner().parameters()
    }

    fn regularisers(&self) -> Vec<Regulariser> {
        self.inner().regularisers()
    }

    fn fill(&self, theta: &[f64], x: MatRef<'_, f64>, out: MatMut<'_, f64>, par: Par) {
        self.inner().fill(theta, x, out, par);
    }

    fn contract(
        &self,
        theta: &[f64],
        x: MatRef<'_, f64>,
        features: MatRef<'_, f64>,
        weights: MatRef<'_, f64>,
        out: &mut [f64],
        par: Par,
    ) {
        self.inner().contract(theta, x, features, weights, out, par);
    }

    fn differentiate(&self, theta: &[f64], x: MatRef<'_, f64>, features: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        self.inner().differentiate(theta, x, features)
    }
}
