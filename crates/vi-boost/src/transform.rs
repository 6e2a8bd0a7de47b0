//! Constrained parameters on free coordinates: positive, bounded, ordered, simplex, correlations.
//!
//! The algorithms work on all of `ℝᵈ`. A density of constrained parameters `x` becomes one of free coordinates `u` by a smooth
//! map: `log f(u) = log f(x(u)) + log|∂x/∂u|`. [`Parameters`] names the blocks of `x` and their constraints, [`Constrained`] is
//! the density of `u`; draws and summaries are converted back to the scale of `x`.

mod kind;

use vi_linalg::faer::{Mat, MatMut, MatRef};

use self::kind::Kind;
use crate::error::setting;
use crate::target::copy_row;
use crate::{BoostError, LogDensity};
use vi_core::check;

/// A named block of parameters.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    name: String,
    kind: Kind,
    size: usize,
}

impl Part {
    fn free(&self) -> usize {
        self.kind.free(self.size)
    }

    fn constrained(&self) -> usize {
        self.kind.constrained(self.size)
    }
}

/// The parameters of a model: named blocks, each with its constraint, in the order in which the density takes them.
///
/// | constraint | map | free numbers | log Jacobian |
/// |---|---|---|---|
/// | [`real`](Self::real) | `x = u` | `n` | 0 |
/// | [`positive`](Self::positive) | `x = e^u` | `n` | `Σu` |
/// | [`above`](Self::above) | `x = a + e^u` | `n` | `Σu` |
/// | [`between`](Self::between) | `x = a + (b−a)·s(u)` | `n` | `Σ log((b−a)·s(u)·s(−u))` |
/// | [`ordered`](Self::ordered) | `x_k = x_{k−1} + e^{u_k}` | `n` | `Σ_{k>1} u_k` |
/// | [`simplex`](Self::simplex) | stick breaking, `u = 0` is `(1/n, …, 1/n)` | `n − 1` | |
/// | [`correlation_factor`](Self::correlation_factor) | `tanh`, row by row | `n(n−1)/2` | |
///
/// The maps and Jacobians are those of the Stan reference manual, "Constraint transforms".
///
/// ```
/// use vi_boost::transform::Parameters;
/// let parameters = Parameters::new().real("mu", 1)?.positive("tau", 1)?.simplex("share", 3)?;
/// assert_eq!(parameters.names(), ["mu", "tau", "share[1]", "share[2]", "share[3]"]);
/// assert_eq!((parameters.free_dim(), parameters.dim()), (4, 5));
/// let mut x = [0.0; 5];
/// let log_jacobian = parameters.constrain(&[0.5, 0.0, 0.0, 0.0], &mut x)?;
/// assert!(log_jacobian.is_finite() && x[1] == 1.0 && (x[2] - 1.0 / 3.0).abs() < 1e-15);
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters {
    parts: Vec<Part>,
}

impl Parameters {
    /// An empty list of parameters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn with(mut self, name: &str, kind: Kind, size: usize, least: usize) -> Result<Self, BoostError> {
        if size < least {
            return Err(setting(
                "size of a block of parameters",
                size as f64,
                "at least 1, and 2 for a simplex or a correlation",
            ));
        }
        if self.parts.iter().any(|part| part.name == name) {
            return Err(BoostError::Parameter { name: name.to_owned(), problem: "is there already" });
        }
        self.parts.push(Part { name: name.to_owned(), kind, size });
        Ok(self)
    }

    /// Adds `size` numbers without a constraint.
    ///
    /// # Errors
    /// `Setting` for a size of 0, [`BoostError::Parameter`] for a name that is taken.
    pub fn real(self, name: &str, size: usize) -> Result<Self, BoostError> {
        self.with(name, Kind::Real, size, 1)
    }

    /// Adds `size` positive numbers.
    ///
    /// # Errors
    /// As [`real`](Self::real).
    pub fn positive(self, name: &str, size: usize) -> Result<Self, BoostError> {
        self.with(name, Kind::Above { lower: 0.0 }, size, 1)
    }

    /// Adds `size` numbers above `lower`.
    ///
    /// # Errors
    /// As [`real`](Self::real); `NonFinite` for the bound.
    pub fn above(self, name: &str, size: usize, lower: f64) -> Result<Self, BoostError> {
        check::finite("lower", &[lower])?;
        self.with(name, Kind::Above { lower }, size, 1)
    }

    /// Adds `size` numbers between `lower` and `upper`.
    ///
    /// # Errors
    /// As [`real`](Self::real); `NonFinite` for a bound, `Setting` unless `lower < upper`.
    pub fn between(self, name: &str, size: usize, lower: f64, upper: f64) -> Result<Self, BoostError> {
        check::finite("bounds", &[lower, upper, upper - lower])?;
        if lower >= upper {
            return Err(setting("upper", upper, "above the lower bound"));
        }
        self.with(name, Kind::Between { lower, upper }, size, 1)
    }

    /// Adds `size` increasing numbers.
    ///
    /// # Errors
    /// As [`real`](Self::real).
    pub fn ordered(self, name: &str, size: usize) -> Result<Self, BoostError> {
        self.with(name, Kind::Ordered, size, 1)
    }

    /// Adds `size` positive numbers that sum to 1; the density is that of the first `size − 1`.
    ///
    /// # Errors
    /// As [`real`](Self::real), for a size below 2.
    pub fn simplex(self, name: &str, size: usize) -> Result<Self, BoostError> {
        self.with(name, Kind::Simplex, size, 2)
    }

    /// Adds the lower Cholesky factor of a `size × size` correlation matrix, by rows with the diagonal: `size(size+1)/2` numbers; the
    /// density is that of the entries below the diagonal.
    ///
    /// # Errors
    /// As [`real`](Self::real), for a size below 2.
    pub fn correlation_factor(self, name: &str, size: usize) -> Result<Self, BoostError> {
        self.with(name, Kind::CorrelationFactor, size, 2)
    }

    /// The number of free coordinates.
    #[must_use]
    pub fn free_dim(&self) -> usize {
        self.parts.iter().map(Part::free).sum()
    }

    /// The number of constrained numbers.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.parts.iter().map(Part::constrained).sum()
    }

    /// A name for each constrained number: the block's own for a block of one, otherwise `name[1]`, `name[2]`, …; `name[2,1]` in
    /// a factor.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::with_capacity(self.dim());
        for part in &self.parts {
            match (part.kind, part.constrained()) {
                (Kind::CorrelationFactor, _) => {
                    let rows = (1..=part.size).flat_map(|i| (1..=i).map(move |j| (i, j)));
                    names.extend(rows.map(|(i, j)| format!("{}[{i},{j}]", part.name)));
                }
                (_, 1) => names.push(part.name.clone()),
                (_, count) => names.extend((1..=count).map(|i| format!("{}[{i}]", part.name))),
            }
        }
        names
    }

    /// The numbers of the block `name` in constrained parameters `x` (length [`dim`](Self::dim)); `None` if there is no such block or `x` is too short.
    #[must_use]
    pub fn part<'x>(&self, name: &str, x: &'x [f64]) -> Option<&'x [f64]> {
        let mut first = 0;
        for part in &self.parts {
            let next = first + part.constrained();
            if part.name == name {
                return x.get(first..next);
            }
            first = next;
        }
        None
    }

    /// Writes the constrained parameters at `u` (length [`free_dim`](Self::free_dim)) into `x` (length [`dim`](Self::dim));
    /// returns `log|∂x/∂u|`.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Dimension`.
    pub fn constrain(&self, u: &[f64], x: &mut [f64]) -> Result<f64, BoostError> {
        check::length("u", self.free_dim(), u.len())?;
        check::length("x", self.dim(), x.len())?;
        Ok(self.constrain_checked(u, x))
    }

    fn constrain_checked(&self, mut u: &[f64], mut x: &mut [f64]) -> f64 {
        let mut log_jacobian = 0.0;
        for part in &self.parts {
            let (own, rest) = u.split_at(part.free());
            let (to, after) = x.split_at_mut(part.constrained());
            log_jacobian += part.kind.constrain(own, to);
            (u, x) = (rest, after);
        }
        log_jacobian
    }

    /// The free coordinates of `x` (length [`dim`](Self::dim)).
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Dimension`, `NonFinite`, or with `Entry` or `Setting` for numbers that violate their
    /// constraint.
    pub fn unconstrain(&self, x: &[f64]) -> Result<Vec<f64>, BoostError> {
        check::length("x", self.dim(), x.len())?;
        check::finite("x", x)?;
        let mut u = vec![0.0; self.free_dim()];
        let (mut from, mut to) = (x, u.as_mut_slice());
        for part in &self.parts {
            let (own, rest) = from.split_at(part.constrained());
            let (free, after) = to.split_at_mut(part.free());
            part.kind.unconstrain("x", own, free)?;
            (from, to) = (rest, after);
        }
        Ok(u)
    }

    /// Pulls a gradient back to free coordinates: writes `Jᵀg + ∇log|J|`, the gradient by `u` of `L(x(u)) + log|∂x/∂u|`, into
    /// `out` (length [`free_dim`](Self::free_dim)), from `g = ∂L/∂x` (length [`dim`](Self::dim)) at `x = x(u)`.
    fn pull(&self, u: &[f64], x: &[f64], g: &[f64], out: &mut [f64]) {
        let (mut free, mut constrained) = (0, 0);
        for part in &self.parts {
            let (a, b) = (free..free + part.free(), constrained..constrained + part.constrained());
            (free, constrained) = (a.end, b.end);
            part.kind.pull(&u[a.clone()], &x[b.clone()], &g[b], &mut out[a]);
        }
    }

    /// Converts draws of free coordinates (`n × free_dim`) to draws of constrained parameters (`n × dim`).
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Dimension`.
    pub fn constrain_draws(&self, draws: MatRef<'_, f64>) -> Result<Mat<f64>, BoostError> {
        check::length("columns of the draws", self.free_dim(), draws.ncols())?;
        let (mut u, mut x) = (vec![0.0; self.free_dim()], vec![0.0; self.dim()]);
        let mut out = Mat::zeros(draws.nrows(), x.len());
        for i in 0..draws.nrows() {
            copy_row(draws, i, &mut u);
            self.constrain_checked(&u, &mut x);
            for (j, x) in x.iter().enumerate() {
                out[(i, j)] = *x;
            }
        }
        Ok(out)
    }
}

/// The density of free coordinates that a density of constrained parameters induces: `log f(x(u)) + log|∂x/∂u|`.
///
/// Where `x(u)` is not finite the density is zero. A gradient by `x`, if the density has one, is carried over exactly.
///
/// ```
/// use vi_boost::transform::{Constrained, Parameters};
/// use vi_boost::LogDensity;
/// /// An exponential distribution.
/// struct Waiting;
/// impl LogDensity for Waiting {
///     fn dim(&self) -> usize {
///         1
///     }
///     fn log_density(&self, x: &[f64]) -> f64 {
///         -x[0]
///     }
/// }
/// let target = Constrained::new(Parameters::new().positive("rate", 1)?, Waiting)?;
/// // log f(e^u) + u
/// assert!((target.log_density(&[0.5]) - (0.5 - 0.5_f64.exp())).abs() < 1e-15);
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Constrained<T> {
    parameters: Parameters,
    density: T,
}

impl<T: LogDensity> Constrained<T> {
    /// The induced density; `density` takes the constrained parameters in the order of `parameters`.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Dimension` unless the density takes as many numbers, `Empty` if there are none.
    pub fn new(parameters: Parameters, density: T) -> Result<Self, BoostError> {
        if parameters.parts.is_empty() {
            return Err(vi_core::Error::Empty { argument: "parameters" }.into());
        }
        check::length("dimension of the density", parameters.dim(), density.dim())?;
        Ok(Self { parameters, density })
    }

    /// The parameters.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The density of constrained parameters.
    #[must_use]
    pub fn density(&self) -> &T {
        &self.density
    }
}

impl<T: LogDensity> LogDensity for Constrained<T> {
    fn dim(&self) -> usize {
        self.parameters.free_dim()
    }

    fn log_density(&self, u: &[f64]) -> f64 {
        let mut x = vec![0.0; self.parameters.dim()];
        let log_jacobian = self.parameters.constrain_checked(u, &mut x);
        if x.iter().any(|x| !x.is_finite()) || log_jacobian == f64::NEG_INFINITY {
            return f64::NEG_INFINITY;
        }
        self.density.log_density(&x) + log_jacobian
    }

    fn gradient(&self, u: &[f64], out: &mut [f64]) -> bool {
        self.value_and_gradient(u, out).is_some()
    }

    fn value_and_gradient(&self, u: &[f64], out: &mut [f64]) -> Option<f64> {
        let n = self.parameters.dim();
        let (mut x, mut g) = (vec![0.0; n], vec![0.0; n]);
        let log_jacobian = self.parameters.constrain_checked(u, &mut x);
        if x.iter().any(|x| !x.is_finite()) || log_jacobian == f64::NEG_INFINITY {
            out.fill(f64::NAN);
            return Some(f64::NEG_INFINITY);
        }
        let value = self.density.value_and_gradient(&x, &mut g)?;
        self.parameters.pull(u, &x, &g, out);
        Some(value + log_jacobian)
    }

    fn log_densities(&self, points: MatRef<'_, f64>, values: &mut [f64]) {
        let inside = self.inside(points, values);
        let mut found = vec![0.0; inside.rows.len()];
        self.density.log_densities(inside.x.as_ref(), &mut found);
        inside.rows.iter().zip(found).for_each(|(&row, value)| values[row] += value);
    }

    fn log_densities_and_gradients(
        &self,
        points: MatRef<'_, f64>,
        values: &mut [f64],
        mut gradients: MatMut<'_, f64>,
    ) -> bool {
        let inside = self.inside(points, values);
        let (n, p) = inside.x.shape();
        let (mut found, mut slopes) = (vec![0.0; n], Mat::zeros(n, p));
        if !self.density.log_densities_and_gradients(inside.x.as_ref(), &mut found, slopes.as_mut()) {
            return false;
        }
        gradients.fill(f64::NAN);
        let (mut u, mut x, mut g, mut out) = (vec![0.0; self.dim()], vec![0.0; p], vec![0.0; p], vec![0.0; self.dim()]);
        for (k, (&row, value)) in inside.rows.iter().zip(found).enumerate() {
            values[row] += value;
            copy_row(points, row, &mut u);
            copy_row(inside.x.as_ref(), k, &mut x);
            copy_row(slopes.as_ref(), k, &mut g);
            self.parameters.pull(&u, &x, &g, &mut out);
            out.iter().enumerate().for_each(|(j, slope)| gradients[(row, j)] = *slope);
        }
        true
    }
}

/// The points of a batch whose constrained parameters are finite.
struct Inside {
    rows: Vec<usize>,
    /// Their constrained parameters.
    x: Mat<f64>,
}

impl<T: LogDensity> Constrained<T> {
    /// The points at which the density is to be evaluated; `values` becomes the logarithm of the Jacobian there, −∞ elsewhere.
    fn inside(&self, points: MatRef<'_, f64>, values: &mut [f64]) -> Inside {
        let (mut u, mut x) = (vec![0.0; self.dim()], vec![0.0; self.parameters.dim()]);
        let (mut rows, mut kept) = (Vec::with_capacity(values.len()), Vec::new());
        for (row, value) in values.iter_mut().enumerate() {
            copy_row(points, row, &mut u);
            *value = self.parameters.constrain_checked(&u, &mut x);
            if x.iter().all(|x| x.is_finite()) && *value != f64::NEG_INFINITY {
                rows.push(row);
                kept.extend_from_slice(&x);
            } else {
                *value = f64::NEG_INFINITY;
            }
        }
        let x = MatRef::from_row_major_slice(&kept, rows.len(), x.len()).to_owned();
        Inside { rows, x }
    }
}
