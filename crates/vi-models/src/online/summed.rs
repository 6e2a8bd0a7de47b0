//! A sum over many points of a smooth function as a sum over few.
//!
//! Of the weighted numbers of a cell of width `h` there remain two, those of the rule of Gauss with the same moments up to the third: where `|f⁗| ≤ c`,
//! `Σ_i w_i f(x_i)` changes by at most `c·h⁴/384` of the weight. States of families take many such sums over the same rows.

/// The numbers `(x, weight)` that stand for `all` of these, by rising `x`; `cell` rises with `x`. Cost: `O(n log n)`.
pub(super) fn few(mut all: Vec<(f64, f64)>, cell: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    all.retain(|(_, weight)| *weight > 0.0);
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut few = Vec::new();
    for cell in all.chunk_by(|a, b| cell(a.0) == cell(b.0)) {
        if cell.len() > 2 { few.extend(with_same_moments(cell)) } else { few.extend_from_slice(cell) }
    }
    few
}

/// One or two points with the first moments of many.
fn with_same_moments(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> + use<> {
    let total: f64 = points.iter().map(|(_, weight)| weight).sum();
    let average = |of: &dyn Fn(f64) -> f64| points.iter().map(|(x, weight)| weight * of(*x)).sum::<f64>() / total;
    let mean = average(&|x| x);
    let [second, third] = [2, 3].map(|k| average(&|x| (x - mean).powi(k)));
    let skewness = third / (second * second.sqrt());
    // Zeros of z² − γz − 1, of opposite signs; of numbers that are all the same there is no γ.
    let (skewness, deviation) = if skewness.is_finite() { (skewness, second.sqrt()) } else { (0.0, 0.0) };
    let root = (skewness * skewness + 4.0).sqrt();
    let [low, high] = [skewness - root, skewness + root].map(|twice| 0.5 * twice);
    [(low, high), (high, low)].into_iter().map(move |(z, other)| (mean + deviation * z, total * other.abs() / root))
}

#[cfg(test)]
mod tests {
    use super::few;

    #[test]
    fn two_points_of_a_cell_have_the_moments_of_all() {
        let all = vec![(0.2, 2.0), (0.01, 1.0), (0.02, 0.5), (0.24, 0.1), (3.0, 1.0), (4.0, 0.0), (3.1, 2.0)];
        let found = few(all.clone(), f64::floor);
        assert_eq!(found.len(), 4);
        for k in 0..4 {
            let moment = |points: &[(f64, f64)]| points.iter().map(|(x, weight)| weight * x.powi(k)).sum::<f64>();
            // Roundings of some ten operations.
            assert!((moment(&found) / moment(&all) - 1.0).abs() < 1e3 * f64::EPSILON, "{k}");
        }
        assert_eq!(few(vec![(0.5, 1.0); 4], f64::floor), [(0.5, 2.0); 2]);
    }

    #[test]
    fn the_sum_is_off_by_the_fourth_derivative_at_most() {
        let width = 0.25;
        let all: Vec<(f64, f64)> = (0..5000).map(|i| (4.0 * (f64::from(i) * 0.7).sin(), 1.0)).collect();
        let found = few(all.clone(), |x| (x / width).floor());
        assert!(found.len() <= 64, "{}", found.len());
        let sum = |points: &[(f64, f64)]| points.iter().map(|(x, weight)| weight * (3.0 * x).cos()).sum::<f64>();
        assert!((sum(&found) - sum(&all)).abs() < 5000.0 * 81.0 * width.powi(4) / 384.0);
    }
}
