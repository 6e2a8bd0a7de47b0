//! Composition: bases side by side, each on its own columns, each with its own prior variance.

use std::ops::{Add, Range};

use serde::{Deserialize, Serialize};
use vi_core::Error;
use vi_linalg::faer::{Mat, MatMut, MatRef, Par};

use super::{
    AnyBasis, Basis, Bias, Bound, FastFood, FastFoodMixture, Linear, Parameter, Polynomial, Radial, RandomFourier,
    Regulariser, Sigmoidal,
};
use crate::{RevrandError, check};

/// The regulariser of a basis that is not composed: one prior variance for all its weights, initially 1.
pub(crate) fn one_part(width: usize) -> Vec<Regulariser> {
    let variance = Parameter { name: "prior variance", start: 1.0, bound: Bound::POSITIVE };
    vec![Regulariser::new(0..width, variance)]
}

/// A basis applied to all columns of the input or to chosen ones, with the prior variance of its weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "PartWire")]
pub struct Part {
    basis: AnyBasis,
    columns: Option<Vec<usize>>,
    variance: f64,
    bound: Bound,
}

#[derive(Deserialize)]
struct PartWire {
    basis: AnyBasis,
    columns: Option<Vec<usize>>,
    variance: f64,
    bound: Bound,
}

impl Part {
    fn new(basis: AnyBasis) -> Self {
        Self { basis, columns: None, variance: 1.0, bound: Bound::POSITIVE }
    }

    fn on(self, columns: &[usize]) -> Result<Self, RevrandError> {
        check::not_empty("columns", columns.len())?;
        if let Some(inputs) = self.basis.inputs() {
            check::length("columns", inputs, columns.len())?;
        }
        Ok(Self { columns: Some(columns.to_vec()), ..self })
    }

    fn with(self, variance: f64, bound: Bound) -> Result<Self, RevrandError> {
        check::positive_entries("prior variance", &[variance])?;
        if bound.lower() < 0.0 {
            return Err(RevrandError::Bounds { lower: bound.lower(), upper: bound.upper() });
        }
        bound.check("prior variance", 0, variance)?;
        Ok(Self { variance, bound, ..self })
    }

    /// This part with other bounds of the prior variance.
    ///
    /// # Errors
    /// [`RevrandError::Bounds`] for a negative lower end, [`RevrandError::OutOfBounds`] if the variance is outside.
    pub fn with_variance_bound(self, bound: Bound) -> Result<Self, RevrandError> {
        let variance = self.variance;
        self.with(variance, bound)
    }

    /// The basis.
    #[must_use]
    pub fn basis(&self) -> &AnyBasis {
        &self.basis
    }

    /// Checks the number of columns of an input: exact if the part is applied to all columns, otherwise large enough for the
    /// chosen ones.
    fn check_inputs(&self, found: usize) -> Result<(), RevrandError> {
        match (&self.columns, self.basis.inputs()) {
            (Some(columns), _) => match columns.iter().find(|&&column| column >= found) {
                Some(&index) => Err(Error::Index { argument: "columns of x", index, len: found }.into()),
                None => Ok(()),
            },
            (None, Some(inputs)) => Ok(check::length("columns of x", inputs, found)?),
            (None, None) => Ok(()),
        }
    }

    /// Calls `f` with the chosen columns of `x`.
    fn on_chosen<T>(&self, x: MatRef<'_, f64>, f: impl FnOnce(MatRef<'_, f64>) -> T) -> T {
        match &self.columns {
            None => f(x),
            Some(columns) => f(Mat::from_fn(x.nrows(), columns.len(), |row, i| x[(row, columns[i])]).as_ref()),
        }
    }
}

impl TryFrom<PartWire> for Part {
    type Error = RevrandError;

    fn try_from(wire: PartWire) -> Result<Self, RevrandError> {
        let part = Self::new(wire.basis).with(wire.variance, wire.bound)?;
        match wire.columns {
            Some(columns) => part.on(&columns),
            None => Ok(part),
        }
    }
}

/// Turns a basis into a [`Part`] of a composition. A [`Composed`] cannot be a part: choose columns and variance of each of its
/// parts before adding them.
///
/// ```
/// use vi_revrand::basis::{Basis, Bias, Linear, OnPart};
/// let basis = Bias::new(1.0)? + Linear::new(2)?.on_columns(&[4, 0])?.with_variance(0.5)?;
/// assert_eq!((basis.width(), basis.regularisers()[1].variance.start), (3, 0.5));
/// assert!(Linear::new(2)?.on_columns(&[4]).is_err());
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
pub trait OnPart: Into<Part> {
    /// Applies the basis to these columns of the input, in this order.
    ///
    /// # Errors
    /// `Empty` for no columns, `Dimension` if the basis requires another number. Whether the columns exist can only be checked
    /// when there is an input.
    fn on_columns(self, columns: &[usize]) -> Result<Part, RevrandError> {
        self.into().on(columns)
    }

    /// Sets the initial prior variance of the weights.
    ///
    /// # Errors
    /// `Entry` unless it is positive and finite.
    fn with_variance(self, variance: f64) -> Result<Part, RevrandError> {
        let part = self.into();
        let bound = part.bound;
        part.with(variance, bound)
    }
}

impl<T: Into<Part>> OnPart for T {}

/// Several parts side by side: `φ(x) = [φ₁(x), φ₂(x), …]`, parameters and prior variances likewise. Made by `+`.
///
/// ```
/// use vi_linalg::faer::{Par, mat};
/// use vi_revrand::basis::{Basis, Bias, Linear, OnPart, Polynomial};
///
/// let basis = Bias::new(1.0)? + Linear::new(1)?.on_columns(&[2])? + Polynomial::new(3, 2)?.with_variance(0.1)?;
/// let features = basis.features(&[], mat![[1.0, 2.0, 3.0]].as_ref(), Par::Seq)?;
/// assert_eq!(features, mat![[1.0, 3.0, 1.0, 1.0, 2.0, 4.0, 3.0, 9.0]]);
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Part>", into = "Vec<Part>")]
pub struct Composed {
    parts: Vec<Part>,
}

impl Composed {
    /// The composition of these parts in this order.
    ///
    /// # Errors
    /// `Empty`.
    pub fn new(parts: Vec<Part>) -> Result<Self, RevrandError> {
        check::not_empty("parts", parts.len())?;
        Ok(Self { parts })
    }

    /// The parts.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Calls `visit` with each part, its features and its parameters.
    fn each(&self, mut visit: impl FnMut(&Part, Range<usize>, Range<usize>)) {
        let (mut feature, mut parameter) = (0, 0);
        for part in &self.parts {
            let features = feature..feature + part.basis.width();
            let parameters = parameter..parameter + part.basis.parameters().len();
            (feature, parameter) = (features.end, parameters.end);
            visit(part, features, parameters);
        }
    }
}

impl TryFrom<Vec<Part>> for Composed {
    type Error = RevrandError;

    fn try_from(parts: Vec<Part>) -> Result<Self, RevrandError> {
        Self::new(parts)
    }
}

impl From<Composed> for Vec<Part> {
    fn from(composed: Composed) -> Self {
        composed.parts
    }
}

impl From<Part> for Composed {
    fn from(part: Part) -> Self {
        Self { parts: vec![part] }
    }
}

impl<T: Into<Composed>> Add<T> for Composed {
    type Output = Self;

    fn add(mut self, other: T) -> Self {
        self.parts.extend(other.into().parts);
        self
    }
}

impl<T: Into<Composed>> Add<T> for Part {
    type Output = Composed;

    fn add(self, other: T) -> Composed {
        Composed::from(self) + other
    }
}

/// Lets a basis be converted to a part and to a composition, and be added.
macro_rules! summand {
    ($($name:ident),+) => {$(
        impl From<$name> for AnyBasis {
            fn from(basis: $name) -> Self {
                Self::$name(basis)
            }
        }

        impl From<$name> for Part {
            fn from(basis: $name) -> Self {
                Self::new(basis.into())
            }
        }

        impl From<$name> for Composed {
            fn from(basis: $name) -> Self {
                Part::from(basis).into()
            }
        }

        impl<T: Into<Composed>> Add<T> for $name {
            type Output = Composed;

            fn add(self, other: T) -> Composed {
                Composed::from(self) + other
            }
        }
    )+};
}

summand!(Bias, Linear, Polynomial, Radial, Sigmoidal, RandomFourier, FastFood, FastFoodMixture);

impl Basis for Composed {
    /// The number of columns that the parts on all columns require, if there are such parts; parts on chosen columns only require
    /// those to exist.
    fn inputs(&self) -> Option<usize> {
        self.parts.iter().find_map(|part| if part.columns.is_none() { part.basis.inputs() } else { None })
    }

    fn width(&self) -> usize {
        self.parts.iter().map(|part| part.basis.width()).sum()
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.parts.iter().flat_map(|part| part.basis.parameters()).collect()
    }

    fn regularisers(&self) -> Vec<Regulariser> {
        let mut regularisers = Vec::with_capacity(self.parts.len());
        self.each(|part, features, _| {
            let variance = Parameter { name: "prior variance", start: part.variance, bound: part.bound };
            regularisers.push(Regulariser::new(features, variance));
        });
        regularisers
    }

    fn fill(&self, theta: &[f64], x: MatRef<'_, f64>, mut out: MatMut<'_, f64>, par: Par) {
        assert_eq!(out.shape(), (x.nrows(), self.width()), "shape of the features");
        self.each(|part, features, parameters| {
            let out = out.as_mut().subcols_mut(features.start, features.len());
            part.on_chosen(x, |x| part.basis.fill(&theta[parameters], x, out, par));
        });
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
        self.each(|part, columns, parameters| {
            if parameters.is_empty() {
                return;
            }
            let features = features.subcols(columns.start, columns.len());
            let weights = weights.subcols(columns.start, columns.len());
            let (theta, out) = (&theta[parameters.clone()], &mut out[parameters]);
            part.on_chosen(x, |x| part.basis.contract(theta, x, features, weights, out, par));
        });
    }

    fn differentiate(&self, theta: &[f64], x: MatRef<'_, f64>, features: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let mut gradients = Vec::with_capacity(theta.len());
        self.each(|part, columns, parameters| {
            let own = features.subcols(columns.start, columns.len());
            for gradient in part.on_chosen(x, |x| part.basis.differentiate(&theta[parameters], x, own)) {
                let mut wide = Mat::zeros(x.nrows(), self.width());
                wide.as_mut().subcols_mut(columns.start, columns.len()).copy_from(&gradient);
                gradients.push(wide);
            }
        });
        gradients
    }

    fn check_rows(&self, x: MatRef<'_, f64>) -> Result<(), RevrandError> {
        check::not_empty("x", x.nrows())?;
        for part in &self.parts {
            part.check_inputs(x.ncols())?;
        }
        Ok(check::matrix("x", x)?)
    }
}
