//! Small convex quadratic programs: the minimum of `½xᵀHx − bᵀx` with `x ≥ 0` and `Σx = 1`.

use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatRef};

use crate::BoostError;

/// Rounding of a gradient whose terms are of order `size`.
const ROUNDING: f64 = 1e-12;

/// The minimiser by an active-set method, from a feasible `start`: solve on the positive entries, step back to the boundary and
/// drop the entry that hits it, and add the entry whose gradient is most negative. `H` (`n × n`, lower triangle) is positive
/// semidefinite. Cost `n³/3` a change of the set, of which there are seldom more than `2n`.
///
/// # Errors
/// `Linalg` when `H` on the positive entries is not positive definite.
pub(crate) fn minimise(h: MatRef<'_, f64>, b: &[f64], start: &[f64]) -> Result<Vec<f64>, BoostError> {
    let n = b.len();
    let mut x = start.to_vec();
    let mut free: Vec<usize> = (0..n).filter(|&i| x[i] > 0.0).collect();
    // Each entry may be dropped and added a few times; a cycle caused by rounding ends here with a feasible x.
    for _ in 0..20 * (n + 1) {
        if !free.is_empty() {
            let target = on_free(h, b, &free)?;
            if let Some((position, share)) = first_to_vanish(&x, &free, &target) {
                for (&i, t) in free.iter().zip(&target) {
                    x[i] += share * (t - x[i]);
                }
                x[free[position]] = 0.0;
                free.remove(position);
                continue;
            }
            for (&i, t) in free.iter().zip(&target) {
                x[i] = *t;
            }
        }
        let gradient: Vec<f64> = (0..n).map(|i| row(h, i, &x) - b[i]).collect();
        let level = free.iter().map(|&i| gradient[i]).sum::<f64>() / free.len().max(1) as f64;
        let size = b.iter().fold(1e-300_f64, |a, b| a.max(b.abs()));
        let entering =
            (0..n).filter(|i| x[*i] == 0.0 && !free.contains(i)).min_by(|&i, &j| gradient[i].total_cmp(&gradient[j]));
        match entering {
            Some(i) if gradient[i] < level - ROUNDING * size => free.push(i),
            _ => break,
        }
    }
    Ok(x)
}

/// `(Hx)_i` from the lower triangle.
fn row(h: MatRef<'_, f64>, i: usize, x: &[f64]) -> f64 {
    x.iter().enumerate().map(|(j, x)| h[(i.max(j), i.min(j))] * x).sum()
}

/// The minimiser over the free entries, the others 0, without regard to signs.
fn on_free(h: MatRef<'_, f64>, b: &[f64], free: &[usize]) -> Result<Vec<f64>, BoostError> {
    let m = free.len();
    let block = Mat::from_fn(m, m, |i, j| h[(free[i].max(free[j]), free[i].min(free[j]))]);
    let cholesky = Cholesky::new(block.as_ref())?;
    let mut x: Vec<f64> = free.iter().map(|&i| b[i]).collect();
    cholesky.solve_vec_in_place(&mut x)?;
    let mut ones = vec![1.0; m];
    cholesky.solve_vec_in_place(&mut ones)?;
    let nu = (1.0 - x.iter().sum::<f64>()) / ones.iter().sum::<f64>();
    x.iter_mut().zip(&ones).for_each(|(x, one)| *x += nu * one);
    Ok(x)
}

/// Which free entry reaches 0 first on the way to `target`, and after which share of it.
fn first_to_vanish(x: &[f64], free: &[usize], target: &[f64]) -> Option<(usize, f64)> {
    let mut first: Option<(usize, f64)> = None;
    for (position, (&i, t)) in free.iter().zip(target).enumerate() {
        if *t <= 0.0 {
            let share = if x[i] > *t { x[i] / (x[i] - t) } else { 0.0 };
            if first.is_none_or(|(_, least)| share < least) {
                first = Some((position, share));
            }
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use vi_linalg::faer::mat;

    use super::*;

    #[test]
    fn corners_edges_and_the_inside() {
        let h = mat![[2.0, 0.0], [0.0, 2.0]];
        // Projections of b/2 onto the simplex.
        for (b, expected) in [([1.0, 1.0], [0.5, 0.5]), ([9.0, 0.0], [1.0, 0.0]), ([0.0, 1.0], [0.25, 0.75])] {
            let x = minimise(h.as_ref(), &b, &[0.5, 0.5]).unwrap();
            assert!((x[0] - expected[0]).abs() < 1e-14 && (x[1] - expected[1]).abs() < 1e-14, "{x:?}");
            let x = minimise(h.as_ref(), &b, &[1.0, 0.0]).unwrap();
            assert!((x[0] - expected[0]).abs() < 1e-14, "{x:?}");
        }
    }

    #[test]
    fn the_optimality_conditions_hold() {
        let n = 12;
        let a = Mat::from_fn(n, n, |i, j| ((3 * i + 5 * j * j + 1) as f64).sin());
        let mut h = a.transpose() * a.as_ref();
        for i in 0..n {
            h[(i, i)] += 0.1;
        }
        let b: Vec<f64> = (0..n).map(|i| 2.0 * (i as f64).cos()).collect();
        let x = minimise(h.as_ref(), &b, &vec![1.0 / n as f64; n]).unwrap();
        let gradient: Vec<f64> = (0..n).map(|i| row(h.as_ref(), i, &x) - b[i]).collect();
        assert!((x.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let level = (0..n).filter(|&i| x[i] > 0.0).map(|i| gradient[i]).fold(f64::NEG_INFINITY, f64::max);
        let mut zeros = 0;
        for i in 0..n {
            // Solves with a matrix of condition about 1e3.
            if x[i] > 0.0 {
                assert!((gradient[i] - level).abs() < 1e-10);
            } else {
                zeros += 1;
                assert!(x[i] == 0.0 && gradient[i] >= level - 1e-10);
            }
        }
        assert!(zeros > 0 && zeros < n, "an example without a boundary shows little");
    }
}
