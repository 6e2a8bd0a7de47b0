//! Gauss-Hermite quadrature.

/// The Gauss-Hermite rule: nodes `zᵢ`, in decreasing order, and weights `ωᵢ` with `E g(z) = Σ ωᵢ·g(zᵢ)` under `z ~ N(0, 1)`,
/// exact for polynomials of degree `2n − 1`, for `n ≤ 64` nodes.
///
/// The nodes are the zeros of the orthonormal Hermite polynomial `hₙ`, the weights `1/(n·hₙ₋₁(z)²)`. Newton's method, with the
/// zeros already found divided out, moves from the right of each zero to the next without passing it. The rule is symmetric to
/// the bit. Cost `O(n³)`.
///
/// ```
/// let rule = vi_core::special::gauss_hermite(5);
/// let fourth: f64 = rule.iter().map(|(z, weight)| weight * z.powi(4)).sum();
/// assert!((fourth - 3.0).abs() < 1e-13);
/// ```
#[must_use]
pub fn gauss_hermite(nodes: usize) -> Vec<(f64, f64)> {
    let n = nodes as f64;
    // (hₙ, hₙ₋₁) at z: √(j+1)·hⱼ₊₁ = z·hⱼ − √j·hⱼ₋₁.
    let polynomial = |z: f64| {
        let (mut before, mut current) = (0.0, 1.0);
        for j in 0..nodes {
            let next = (z * current - (j as f64).sqrt() * before) / (j as f64 + 1.0).sqrt();
            (before, current) = (current, next);
        }
        (current, before)
    };
    let weigh = |z: f64| 1.0 / (n * polynomial(z).1.powi(2));
    let mut right: Vec<(f64, f64)> = Vec::with_capacity(nodes / 2);
    let mut z = (4.0 * n + 2.0).sqrt();
    while right.len() < nodes / 2 {
        for _ in 0..500 {
            let (value, before) = polynomial(z);
            // hₙ′ = √n·hₙ₋₁; zeros come in pairs ±z.
            let found: f64 = right.iter().map(|(zero, _)| 2.0 * z / (z * z - zero * zero)).sum();
            let step = value / (n.sqrt() * before - value * found);
            z -= step;
            if step.abs() <= 2.0 * f64::EPSILON * z.abs() {
                break;
            }
        }
        right.push((z, weigh(z)));
        // Off the zero, to the left, where the reduced polynomial has its sign again.
        z -= 1e-3 / n.sqrt();
    }
    let middle = (nodes % 2 == 1).then(|| (0.0, weigh(0.0)));
    let left = right.iter().rev().map(|&(z, weight)| (-z, weight));
    right.iter().copied().chain(middle).chain(left).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_the_standard_normal_are_exact() {
        for nodes in 1..=64 {
            let rule = gauss_hermite(nodes);
            assert!(rule.len() == nodes && rule.is_sorted_by(|a, b| a.0 > b.0));
            // E z^(2j) = (2j − 1)!!, for 2j ≤ 2·nodes − 1.
            let mut moment = 1.0;
            for j in 0..nodes.min(20) {
                let sum: f64 = rule.iter().map(|&(z, weight)| weight * z.powi(2 * i32::try_from(j).unwrap())).sum();
                // A node's error grows 2j-fold in its power, each weight's is a sum of n terms.
                let tolerance = 20.0 * (nodes + 2 * j) as f64 * f64::EPSILON;
                assert!((sum / moment - 1.0).abs() < tolerance, "{nodes} nodes, moment {}: {sum}", 2 * j);
                moment *= 2.0 * j as f64 + 1.0;
            }
        }
    }
}
