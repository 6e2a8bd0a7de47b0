//! Densities known up to a constant, given by their logarithm and perhaps its derivatives.

use vi_linalg::faer::{MatMut, MatRef};

/// An unnormalised density `f(θ)`, `θ ∈ ℝᵈ`, given by its logarithm in nats.
///
/// A value of −∞ means that the density is zero there. NaN and +∞ are mistakes of the target; algorithms return an error where
/// they cannot avoid such points. Algorithms pass every `theta` and `out` with the length that [`dim`](Self::dim) says, and every
/// matrix of points with as many columns; for other lengths a target may panic, as those of this library do.
///
/// Only [`log_density`](Self::log_density) has to be written. A gradient makes runs `2d` times as cheap, and exact: write
/// [`value_and_gradient`](Self::value_and_gradient) if value and gradient share work, [`gradient`](Self::gradient) otherwise.
/// Without either an algorithm takes central differences.
///
/// ```
/// use vi_core::LogDensity;
/// use vi_linalg::faer::mat;
/// struct Laplace;
/// impl LogDensity for Laplace {
///     fn dim(&self) -> usize {
///         1
///     }
///     fn log_density(&self, theta: &[f64]) -> f64 {
///         -theta[0].abs()
///     }
/// }
/// let mut values = [0.0; 2];
/// Laplace.log_densities(mat![[2.0], [-1.0]].as_ref(), &mut values);
/// assert_eq!(values, [-2.0, -1.0]);
/// assert_eq!(Laplace.value_and_gradient(&[2.0], &mut [0.0]), None);
/// ```
pub trait LogDensity {
    /// Dimension `d`.
    fn dim(&self) -> usize;

    /// `log f(θ)`, in nats, up to a constant; `theta` has length `d`.
    fn log_density(&self, theta: &[f64]) -> f64;

    /// Writes `∇log f(θ)` into `out` (length `d`); returns `false`, having written nothing, if the target has no gradient.
    fn gradient(&self, _theta: &[f64], _out: &mut [f64]) -> bool {
        false
    }

    /// Returns `log f(θ)` and writes `∇log f(θ)` into `out` (length `d`); most targets compute one on the way to the other.
    /// Returns `None` if the target has no gradient; `out` is then meaningless. The algorithms call this or the batch method,
    /// never [`gradient`](Self::gradient).
    fn value_and_gradient(&self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
        self.gradient(theta, out).then(|| self.log_density(theta))
    }

    /// Writes `∇²log f(θ)` into `out` (`d × d`, full); returns `false`, having written nothing, if the target has no Hessian.
    fn hessian(&self, _theta: &[f64], _out: MatMut<'_, f64>) -> bool {
        false
    }

    /// Writes `log f` at each row of `points` (`n × d`) into `values` (`n`). Override it if many points at once are cheaper than
    /// one by one.
    fn log_densities(&self, points: MatRef<'_, f64>, values: &mut [f64]) {
        let mut theta = vec![0.0; self.dim()];
        for (i, value) in values.iter_mut().enumerate() {
            copy_row(points, i, &mut theta);
            *value = self.log_density(&theta);
        }
    }

    /// Writes `log f` and `∇log f` at each row of `points` into `values` (`n`) and `gradients` (`n × d`); returns `false` if the
    /// target has no gradient, and what is written is then meaningless.
    fn log_densities_and_gradients(
        &self,
        points: MatRef<'_, f64>,
        values: &mut [f64],
        mut gradients: MatMut<'_, f64>,
    ) -> bool {
        let (mut theta, mut gradient) = (vec![0.0; self.dim()], vec![0.0; self.dim()]);
        for i in 0..points.nrows() {
            copy_row(points, i, &mut theta);
            let Some(value) = self.value_and_gradient(&theta, &mut gradient) else { return false };
            values[i] = value;
            for (j, value) in gradient.iter().enumerate() {
                gradients[(i, j)] = *value;
            }
        }
        true
    }
}

/// Splits the rows of `points` (`n × d`) into slabs of at most `step`, each with its values and, if given, its gradients, for
/// targets that evaluate many points at once and keep intermediate numbers in the cache.
pub fn by_slabs(
    (points, step): (MatRef<'_, f64>, usize),
    values: &mut [f64],
    mut gradients: Option<MatMut<'_, f64>>,
    mut slab: impl FnMut(MatRef<'_, f64>, &mut [f64], Option<MatMut<'_, f64>>),
) {
    for (k, values) in values.chunks_mut(step.max(1)).enumerate() {
        let (first, count) = (k * step.max(1), values.len());
        let gradients = gradients.as_mut().map(|gradients| gradients.as_mut().subrows_mut(first, count));
        slab(points.subrows(first, count), values, gradients);
    }
}

fn copy_row(points: MatRef<'_, f64>, i: usize, theta: &mut [f64]) {
    for (j, value) in theta.iter_mut().enumerate() {
        *value = points[(i, j)];
    }
}

/// Makes pointers to a target targets themselves.
macro_rules! pointed {
    ($($pointer:ty),+) => {$(
        impl<T: LogDensity + ?Sized> LogDensity for $pointer {
            fn dim(&self) -> usize {
                (**self).dim()
            }

            fn log_density(&self, theta: &[f64]) -> f64 {
                (**self).log_density(theta)
            }

            fn gradient(&self, theta: &[f64], out: &mut [f64]) -> bool {
                (**self).gradient(theta, out)
            }

            fn value_and_gradient(&self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
                (**self).value_and_gradient(theta, out)
            }

            fn hessian(&self, theta: &[f64], out: MatMut<'_, f64>) -> bool {
                (**self).hessian(theta, out)
            }

            fn log_densities(&self, points: MatRef<'_, f64>, values: &mut [f64]) {
                (**self).log_densities(points, values);
            }

            fn log_densities_and_gradients(
                &self,
                points: MatRef<'_, f64>,
                values: &mut [f64],
                gradients: MatMut<'_, f64>,
            ) -> bool {
                (**self).log_densities_and_gradients(points, values, gradients)
            }
        }
    )+};
}

pointed!(&T, Box<T>);
