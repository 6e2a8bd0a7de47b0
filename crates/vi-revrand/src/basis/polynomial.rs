//! Bases without parameters: a constant, straight lines, powers.

use serde::{Deserialize, Serialize};
use vi_core::Error;
use vi_linalg::faer::{MatMut, MatRef, Par};

use super::composed::one_part;
use super::{Basis, Regulariser};
use crate::{RevrandError, check};

/// The constant feature `c`, for any number of inputs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BiasWire")]
pub struct Bias {
    offset: f64,
}

impl Bias {
    /// The constant `offset`.
    ///
    /// # Errors
    /// `NonFinite`.
    pub fn new(offset: f64) -> Result<Self, RevrandError> {
        check::finite("offset", &[offset])?;
        Ok(Self { offset })
    }
}

#[derive(Deserialize)]
struct BiasWire {
    offset: f64,
}

impl TryFrom<BiasWire> for Bias {
    type Error = RevrandError;

    fn try_from(wire: BiasWire) -> Result<Self, RevrandError> {
        Self::new(wire.offset)
    }
}

impl Basis for Bias {
    fn inputs(&self) -> Option<usize> {
        None
    }

    fn width(&self) -> usize {
        1
    }

    fn regularisers(&self) -> Vec<Regulariser> {
        one_part(self.width())
    }

    fn fill(&self, _theta: &[f64], x: MatRef<'_, f64>, mut out: MatMut<'_, f64>, _par: Par) {
        assert_eq!(out.shape(), (x.nrows(), 1), "shape of the features");
        out.fill(self.offset);
    }
}

/// The powers `x_i, x_i², …, x_iᵏ` of each of `d` inputs, input by input, after a `1` if asked for.
///
/// ```
/// use vi_linalg::faer::{Par, mat};
/// use vi_revrand::basis::{Basis, Polynomial};
/// let basis = Polynomial::with_intercept(2, 3)?;
/// let features = basis.features(&[], mat![[2.0, -1.0]].as_ref(), Par::Seq)?;
/// assert_eq!(features, mat![[1.0, 2.0, 4.0, 8.0, -1.0, 1.0, -1.0]]);
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PolynomialWire")]
pub struct Polynomial {
    inputs: usize,
    degree: usize,
    intercept: bool,
}

impl Polynomial {
    /// Powers up to `degree` of `inputs` inputs, without a constant.
    ///
    /// # Errors
    /// `Empty` if either is 0.
    pub fn new(inputs: usize, degree: usize) -> Result<Self, RevrandError> {
        check::not_empty("inputs", inputs)?;
        check::not_empty("degree", degree)?;
        // The number of features must not overflow.
        match inputs.checked_mul(degree).and_then(|width| width.checked_add(1)) {
            Some(_) => Ok(Self { inputs, degree, intercept: false }),
            None => {
                Err(Error::Setting { name: "degree", value: degree as f64, requirement: "small enough to count" }
                    .into())
            }
        }
    }

    /// A constant `1`, then powers up to `degree` of `inputs` inputs.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn with_intercept(inputs: usize, degree: usize) -> Result<Self, RevrandError> {
        Ok(Self { intercept: true, ..Self::new(inputs, degree)? })
    }
}

#[derive(Deserialize)]
struct PolynomialWire {
    inputs: usize,
    degree: usize,
    intercept: bool,
}

impl TryFrom<PolynomialWire> for Polynomial {
    type Error = RevrandError;

    fn try_from(wire: PolynomialWire) -> Result<Self, RevrandError> {
        Ok(Self { intercept: wire.intercept, ..Self::new(wire.inputs, wire.degree)? })
    }
}

impl Basis for Polynomial {
    fn inputs(&self) -> Option<usize> {
        Some(self.inputs)
    }

    fn width(&self) -> usize {
        self.inputs * self.degree + usize::from(self.intercept)
    }

    fn regularisers(&self) -> Vec<Regulariser> {
        one_part(self.width())
    }

    fn fill(&self, _theta: &[f64], x: MatRef<'_, f64>, mut out: MatMut<'_, f64>, _par: Par) {
        assert_eq!(x.ncols(), self.inputs, "columns of x");
        assert_eq!(out.shape(), (x.nrows(), self.width()), "shape of the features");
        let first = usize::from(self.intercept);
        if self.intercept {
            out.as_mut().subcols_mut(0, 1).fill(1.0);
        }
        for i in 0..self.inputs {
            for row in 0..x.nrows() {
                let value = x[(row, i)];
                let mut power = 1.0;
                for k in 0..self.degree {
                    power *= value;
                    out[(row, first + i * self.degree + k)] = power;
                }
            }
        }
    }
}

/// The inputs themselves, after a `1` if asked for: powers of degree 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Linear(Polynomial);

impl Linear {
    /// The features `x` of `inputs` inputs.
    ///
    /// # Errors
    /// `Empty` if `inputs` is 0.
    pub fn new(inputs: usize) -> Result<Self, RevrandError> {
        Ok(Self(Polynomial::new(inputs, 1)?))
    }

    /// The features `1, x` of `inputs` inputs.
    ///
    /// # Errors
    /// `Empty` if `inputs` is 0.
    pub fn with_intercept(inputs: usize) -> Result<Self, RevrandError> {
        Ok(Self(Polynomial::with_intercept(inputs, 1)?))
    }
}

impl Basis for Linear {
    fn inputs(&self) -> Option<usize> {
        self.0.inputs()
    }

    fn width(&self) -> usize {
        self.0.width()
    }

    fn regularisers(&self) -> Vec<Regulariser> {
        self.0.regularisers()
    }

    fn fill(&self, theta: &[f64], x: MatRef<'_, f64>, out: MatMut<'_, f64>, par: Par) {
        self.0.fill(theta, x, out, par);
    }
}
