//! Gauss-Hermite nodes and weights.

/// Nodes `z` and weights `ω` with `E g(z) = Σ ωᵢ·g(zᵢ)` under `z ~ N(0, 1)`, exact for polynomials of degree `2n − 1`, for
/// `n ≤ 64` nodes.
///
/// The zeros of the orthonormal Hermite polynomial `hₙ` with weights `1/(n·hₙ₋₁(z)²)`. All zeros lie between `±√(4n+2)`; Newton's
/// method from the right of the largest, with those already found divided out, comes down to the next without passing it.
pub(in crate::glm) fn gauss_hermite(nodes: usize) -> Vec<(f64, f64)> {
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
    let mut zeros: Vec<f64> = Vec::with_capacity(nodes);
    let mut z = (4.0 * n + 2.0).sqrt();
    while zeros.len() < nodes / 2 {
        for _ in 0..500 {
            let (value, before) = polynomial(z);
            // hₙ′ = √n·hₙ₋₁; zeros come in pairs ±z.
            let found: f64 = zeros.iter().map(|zero| 2.0 * z / (z * z - zero * zero)).sum();
            let step = value / (n.sqrt() * before - value * found);
            z -= step;
            if step.abs() <= 2.0 * f64::EPSILON * z.abs() {
                break;
            }
        }
        zeros.push(z);
        // Off the zero, to the left, where the reduced polynomial has its sign again.
        z -= 1e-3 / n.sqrt();
    }
    let middle = (nodes % 2 == 1).then_some(0.0);
    let weigh = |z: f64| {
        let (_, before) = polynomial(z);
        (z, 1.0 / (n * before * before))
    };
    zeros.iter().flat_map(|&z| [z, -z]).chain(middle).map(weigh).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_the_standard_normal_are_exact() {
        for nodes in 1..=64 {
            let rule = gauss_hermite(nodes);
            assert_eq!(rule.len(), nodes);
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
