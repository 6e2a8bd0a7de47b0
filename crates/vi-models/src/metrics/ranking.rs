//! How well scores rank the classes.

use vi_core::Error;

use crate::{ModelError, check};

/// The area under the ROC curve: the probability that a random observation of label 1 scores higher than one of label 0,
/// ties counting half (Mann and Whitney's `U/(n₁n₀)`, by mid-ranks).
///
/// Any increasing map of the scores gives the same area, so scores may be probabilities, logits or anything else without NaN.
/// Cost `O(n log n)`.
///
/// # Errors
/// [`ModelError::Core`] with `Empty`, `Dimension` or `NonFinite` (NaN; infinite scores are in order),
/// [`ModelError::BinaryLabel`], [`ModelError::OneClass`].
///
/// ```
/// use vi_models::metrics::auc;
/// assert_eq!(auc(&[0.1, 0.4, 0.35, 0.8], &[0.0, 0.0, 1.0, 1.0])?, 0.75);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn auc(scores: &[f64], labels: &[f64]) -> Result<f64, ModelError> {
    if scores.is_empty() {
        return Err(Error::Empty { argument: "scores" }.into());
    }
    check::length("labels", scores.len(), labels.len())?;
    if let Some(index) = scores.iter().position(|score| score.is_nan()) {
        return Err(Error::NonFinite { argument: "scores", index, value: scores[index] }.into());
    }
    check::binary(labels)?;
    let positives: f64 = labels.iter().sum();
    let negatives = labels.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return Err(ModelError::OneClass { label: labels[0] });
    }

    let mut order: Vec<(f64, f64)> = scores.iter().copied().zip(labels.iter().copied()).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    // Pairs won, ties half: exact in halves.
    let (mut below, mut won) = (0.0, 0.0);
    for tied in order.chunk_by(|a, b| a.0 == b.0) {
        let ones: f64 = tied.iter().map(|(_, label)| label).sum();
        let zeros = tied.len() as f64 - ones;
        won += ones * (below + 0.5 * zeros);
        below += zeros;
    }
    Ok(won / (positives * negatives))
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Scores on a coarse grid, so that ties occur, and labels that lean with them.
    fn data(n: usize) -> (Vec<f64>, Vec<f64>) {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        (0..n)
            .map(|_| {
                let score = (rng.random::<f64>() * 20.0).floor() / 20.0 - 0.3;
                (score, f64::from(u8::from(rng.random::<f64>() < 0.2 + 0.6 * score)))
            })
            .unzip()
    }

    #[test]
    fn equals_the_count_over_all_pairs() {
        let (scores, labels) = data(300);
        let (mut won, mut pairs) = (0.0, 0.0);
        for i in (0..300).filter(|&i| labels[i] == 1.0) {
            for j in (0..300).filter(|&j| labels[j] == 0.0) {
                pairs += 1.0;
                won += if scores[i] > scores[j] {
                    1.0
                } else if scores[i] == scores[j] {
                    0.5
                } else {
                    0.0
                };
            }
        }
        assert_eq!(auc(&scores, &labels).unwrap(), won / pairs);
    }

    #[test]
    fn is_blind_to_increasing_maps_and_turns_with_the_labels() {
        let (scores, labels) = data(200);
        let area = auc(&scores, &labels).unwrap();
        let cubed: Vec<f64> = scores.iter().map(|s| s.powi(3).exp()).collect();
        assert_eq!(auc(&cubed, &labels).unwrap(), area);
        let flipped: Vec<f64> = labels.iter().map(|y| 1.0 - y).collect();
        let negated: Vec<f64> = scores.iter().map(|s| -s).collect();
        assert!((auc(&scores, &flipped).unwrap() - (1.0 - area)).abs() <= f64::EPSILON);
        assert_eq!(auc(&negated, &flipped).unwrap(), area);
    }

    #[test]
    fn exact_cases() {
        assert_eq!(auc(&[1.0, 2.0, 3.0], &[0.0, 0.0, 1.0]), Ok(1.0));
        assert_eq!(auc(&[1.0, 2.0, 3.0], &[1.0, 0.0, 0.0]), Ok(0.0));
        assert_eq!(auc(&[5.0; 4], &[1.0, 0.0, 0.0, 1.0]), Ok(0.5));
        assert_eq!(auc(&[0.0, -0.0], &[1.0, 0.0]), Ok(0.5));
        assert_eq!(auc(&[f64::INFINITY, f64::NEG_INFINITY], &[1.0, 0.0]), Ok(1.0));
    }

    #[test]
    fn bad_input_is_named() {
        assert_eq!(auc(&[1.0, 2.0], &[1.0, 1.0]), Err(ModelError::OneClass { label: 1.0 }));
        assert_eq!(auc(&[1.0, 2.0], &[0.0, 0.0]), Err(ModelError::OneClass { label: 0.0 }));
        assert_eq!(auc(&[1.0, 2.0], &[0.0, 2.0]), Err(ModelError::BinaryLabel { index: 1, value: 2.0 }));
        let nan = auc(&[1.0, f64::NAN], &[0.0, 1.0]).unwrap_err();
        assert!(matches!(nan, ModelError::Core(Error::NonFinite { argument: "scores", index: 1, .. })));
        assert!(auc(&[], &[]).is_err());
        assert!(auc(&[1.0], &[1.0, 0.0]).is_err());
    }
}
