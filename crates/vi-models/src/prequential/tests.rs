use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Error, Exact, Explicit, GaussianLikelihood, Implicit, Linearised, Mixture8,
    ProbitApproximation, filter,
};
use vi_linalg::faer::{Mat, mat};

use super::*;
use crate::{linear, metrics};

fn stream() -> (Mat<f64>, [f64; 5]) {
    (mat![[1.0, 2.0], [1.0, -1.0], [1.0, 1.5], [1.0, -2.0], [1.0, 0.2]], [1.0, 0.0, 1.0, 0.0, 0.0])
}

#[test]
fn scores_the_belief_of_the_moment_before() {
    let (x, y) = stream();
    let prior = DenseGaussian::isotropic(&[0.3, -0.2], 2.0).unwrap();
    let rule = Implicit(BernoulliLogit(ProbitApproximation));
    let mut learner = Learner::new(prior.clone(), rule, BernoulliLogit(Exact));
    let record = run(&mut learner, x.as_ref(), &y).unwrap();
    let (mut by_hand, mut scratch) = (prior, filter::Scratch::default());
    for t in 0..5 {
        let row = [x[(t, 0)], x[(t, 1)]];
        let seen = by_hand.predict(&row).unwrap();
        assert_eq!(record.predictions[t], seen);
        let loss = -BernoulliLogit(Exact).log_predictive(y[t], seen.mean, seen.variance);
        assert_eq!(record.log_losses[t], loss);
        filter::step(&mut by_hand, &rule, &row, y[t], &mut scratch).unwrap();
    }
    assert_eq!(learner.belief.mean(), by_hand.mean());
}

#[test]
fn losses_are_those_of_the_probabilities() {
    let (x, y) = stream();
    let prior = DenseGaussian::isotropic(&[0.0, 0.0], 3.0).unwrap();
    let rule = Linearised::extended_kalman(BernoulliLogit(Mixture8));
    let record = run(&mut Learner::new(prior, rule, BernoulliLogit(Exact)), x.as_ref(), &y).unwrap();
    let losses = metrics::log_losses(&record.probabilities(&Exact), &y).unwrap();
    for (from_log, from_probability) in record.log_losses.iter().zip(&losses) {
        // log(1 − p) near p = 0.9 enlarges p's 1e-14 tenfold.
        assert!((from_log - from_probability).abs() < 1e-12);
    }
    let logs: Vec<f64> = record.log_losses.iter().map(|loss| -loss).collect();
    let last = *record.running_log_loss().last().unwrap();
    assert!((last - metrics::log_loss_from_log(&logs).unwrap()).abs() < 8.0 * f64::EPSILON);
    assert!((last + record.log_evidence() / 5.0).abs() < 8.0 * f64::EPSILON);
    assert_eq!(record.running_log_loss()[0], record.log_losses[0]);
}

#[test]
fn a_linear_stream_adds_up_to_its_evidence() {
    let (x, y) = stream();
    let noise = GaussianLikelihood::new(0.5).unwrap();
    let prior = DenseGaussian::isotropic(&[0.0, 0.0], 1.0).unwrap();
    let record = run(&mut Learner::new(prior.clone(), Explicit(noise), noise), x.as_ref(), &y).unwrap();
    let batch = linear::fit(&prior, x.as_ref(), &y, noise).unwrap();
    // Five densities; κ below 1 + ‖X‖²/σ², about 30.
    assert!((record.log_evidence() - batch.log_evidence).abs() < 5.0 * 30.0 * f64::EPSILON * batch.log_evidence.abs());
}

#[test]
fn bad_input_leaves_the_belief_alone() {
    let (x, mut y) = stream();
    let prior = DenseGaussian::isotropic(&[0.0, 0.0], 1.0).unwrap();
    let noise = GaussianLikelihood::new(0.5).unwrap();
    y[3] = 0.5;
    // The rule would take the label, the score cannot.
    let mut classes = Learner::new(prior.clone(), Explicit(noise), BernoulliLogit(Exact));
    let error = run(&mut classes, x.as_ref(), &y).unwrap_err();
    assert!(matches!(error, ModelError::Core(Error::Row { row: 3, .. })), "{error}");
    let mut learner = Learner::new(prior, Explicit(noise), noise);
    let short = run(&mut learner, x.as_ref(), &y[..4]).unwrap_err();
    assert_eq!(short, Error::Dimension { argument: "y", expected: 5, found: 4 }.into());
    let empty = run(&mut learner, Mat::zeros(0, 2).as_ref(), &[]).unwrap_err();
    assert_eq!(empty, Error::Empty { argument: "x" }.into());
    for belief in [classes.belief, learner.belief] {
        assert_eq!(belief.mean(), [0.0, 0.0]);
        assert_eq!(belief.covariance(), Mat::<f64>::identity(2, 2));
    }
}

#[test]
fn any_model_is_predicted_then_taught() {
    use crate::softmax::{Softmax, SoftmaxScratch};
    let model = Softmax::new(3).unwrap();
    let mut belief = model.prior(2, 1.0).unwrap();
    let mut scratch = SoftmaxScratch::new(&model, 2);
    let stream: Vec<([f64; 2], f64)> = (0..60).map(|t| ([1.0, f64::from(t % 3) - 1.0], f64::from(t % 3))).collect();
    let record = evaluate(
        &mut belief,
        &stream,
        |belief, (x, y)| {
            let predicted = model.predict(belief, x)?;
            let p = predicted.probabilities.iter().enumerate().find(|(c, _)| *c as f64 == *y).map_or(0.0, |(_, p)| *p);
            Ok((predicted, p.ln()))
        },
        |belief, (x, y)| model.step(belief, x, *y, &mut scratch, vi_linalg::faer::Par::Seq).map(drop),
    )
    .unwrap();
    assert_eq!(record.predictions.len(), 60);
    // Nothing learnt yet, all classes alike: to the error of the grid of nodes.
    assert!((record.log_losses[0] - f64::ln(3.0)).abs() < 1e-4);
    assert!(record.log_losses[59] < 0.3 && record.running_log_loss()[59] < record.running_log_loss()[0]);
    assert!((record.log_evidence() + 60.0 * record.running_log_loss()[59]).abs() < 1e-10);

    let error = evaluate(&mut (), [1.0, f64::NAN], |(), score| Ok(((), *score)), |(), _| Ok(())).unwrap_err();
    assert!(matches!(error, ModelError::Core(Error::Row { row: 1, .. })), "{error}");
    let teach = |(): &mut (), y: &f64| crate::check::values("y", &[*y]).map_err(ModelError::from);
    let error = evaluate(&mut (), [1.0, 2.0, f64::NAN], |(), _| Ok(((), 0.0)), teach).unwrap_err();
    assert!(matches!(error, ModelError::Core(Error::Row { row: 2, .. })), "{error}");
}
