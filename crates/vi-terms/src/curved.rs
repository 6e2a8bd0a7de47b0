//! Which numbers bend the labels: those for which a curve tells more than a line.

use vi_core::special::normal_quantile;
use vi_models::ModelError;
use vi_models::online::OnlineLinear;

use crate::fitted::Rows;
use crate::smooth::Smooth;

/// The nats by which a curve has to tell more than a line.
const MARGIN: f64 = 3.0;

/// The weights of a curve that is tried.
const WEIGHTS: usize = 8;

/// The `inputs` along which the labels bend, the strongest bend first: a curve has more log evidence than a line, by three nats or more. The linear models
/// are of the labels' normal scores less all lines, so that outliers and skew count little. Cost `O(n·(p² + K²·m))` for `m` inputs and curves of
/// `K` weights.
///
/// # Errors
/// Those of a linear model.
pub(crate) fn by_labels(rows: Rows<'_>, labels: &[f64], inputs: &[usize]) -> Result<Vec<usize>, ModelError> {
    if labels.is_empty() {
        return Ok(Vec::new());
    }
    let mut scores = normal_scores(labels);
    let lines = learned(rows.inputs, rows.values, &scores)?;
    for (score, row) in scores.iter_mut().zip(rows.values.chunks_exact(rows.inputs)) {
        *score -= lines.predict(row)?.mean();
    }
    let mut gains = Vec::new();
    for &input in inputs {
        let x: Vec<f64> = rows.values.iter().skip(input).step_by(rows.inputs).copied().collect();
        let Ok(smooth) = Smooth::new(&x, WEIGHTS) else { continue };
        let mut curves = Vec::new();
        for x in &x {
            curves.push(*x);
            smooth.write(*x, &mut curves);
        }
        let gain = learned(1 + smooth.width(), &curves, &scores)?.evidence() - learned(1, &x, &scores)?.evidence();
        if gain > MARGIN {
            gains.push((gain, input));
        }
    }
    gains.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    Ok(gains.into_iter().map(|(_, input)| input).collect())
}

fn learned(inputs: usize, rows: &[f64], labels: &[f64]) -> Result<OnlineLinear, ModelError> {
    let mut model = OnlineLinear::new(inputs)?;
    model.update_batch(rows, labels)?;
    Ok(model)
}

/// Each number's place among all as a quantile of `N(0, 1)`; that of equal ones is the same.
fn normal_scores(numbers: &[f64]) -> Vec<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = |y: &f64| {
        let (below, upto) = (sorted.partition_point(|x| x < y), sorted.partition_point(|x| x <= y));
        normal_quantile(0.5 * (below + upto) as f64 / sorted.len() as f64)
    };
    numbers.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn numbers_that_bend_the_labels_come_first() {
        const P: usize = 6;
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let values: Vec<f64> = (0..600 * P).map(|_| rng.random_range(-2.0..2.0)).collect();
        // A line, a weak and a strong curve, heavy noise; three numbers tell nothing.
        let mut label = |x: &[f64]| 0.3 * x[0] + 0.4 * x[1] * x[1] + (3.0 * x[4]).sin() + 0.02 / rng.random::<f64>();
        let labels: Vec<f64> = values.chunks_exact(P).map(&mut label).collect();
        let rows = Rows { values: &values, inputs: P };
        assert_eq!(by_labels(rows, &labels, &[0, 1, 2, 3, 4, 5]).unwrap(), [4, 1]);
        assert_eq!(by_labels(rows, &labels, &[0, 1, 5]).unwrap(), [1]);
        assert!(by_labels(rows, &[], &[0, 1]).unwrap().is_empty());
    }

    #[test]
    fn normal_scores_are_those_of_places() {
        let scores = normal_scores(&[5.0, 1e9, -3.0, 5.0]);
        assert!(scores[0].abs() < 1e-15 && scores[0] == scores[3] && scores[1] == -scores[2], "{scores:?}");
    }
}
