//! Passes over rows that are kept elsewhere.

use vi_core::batch::BatchSettings;
use vi_core::refine::RefineSettings;
use vi_models::ModelError;
use vi_models::online::{
    BeliefKind, Observation, OnlineLogistic, OnlineSettings, OnlineSoftmax, PriorScale, Row, Start,
};
use vi_models::softmax::SoftmaxRefineSettings;

use crate::stream;

/// All rows of three numbers, the last first.
fn pass<E: From<ModelError>>(
    rows: &[f64],
    labels: &[f64],
    take: &mut dyn FnMut(Row<'_>, Observation) -> Result<(), ModelError>,
) -> Result<(), E> {
    let pairs = rows.chunks(3).zip(labels).rev();
    Ok(pairs.into_iter().try_for_each(|(row, label)| take(Row::Dense(row), Observation::new(*label)))?)
}

fn one_pass(prior_scale: PriorScale, belief: BeliefKind) -> OnlineSettings {
    let keep_rows = belief == BeliefKind::Full;
    OnlineSettings { start: Start::OnePass, prior_scale, belief, keep_rows, ..OnlineSettings::default() }
}

/// Rows elsewhere lead where kept ones do: both end at the best Gaussian of each prior scale.
#[test]
fn passes_over_rows_elsewhere_are_sweeps_over_kept_ones() {
    let (rows, labels) = stream(3000, 21);
    for scale in [PriorScale::Given(2.5), PriorScale::Among(vec![0.5, 2.5]), PriorScale::Learned] {
        let mut swept = OnlineLogistic::with_settings(3, one_pass(scale.clone(), BeliefKind::Full)).unwrap();
        swept.update_batch(&rows, &labels).unwrap();
        let (mut passed, before) = (swept.clone(), swept.clone());
        swept.refine(&RefineSettings::default()).unwrap();
        let info =
            passed.refine_over(&BatchSettings::default(), |take| pass::<ModelError>(&rows, &labels, take)).unwrap();
        assert!(info.bounds.last() > info.bounds.first() && info.passes > 2, "{info:?}");
        // The refined evidence, averaged over the prior of the scales: that of passes is a bound, near that of sweeps.
        let (of_sweeps, of_passes) = (swept.evidence(), passed.evidence());
        assert!((of_sweeps - of_passes).abs() < 0.05, "{scale:?}: {of_sweeps} {of_passes}");
        match &scale {
            PriorScale::Given(_) => assert_eq!(Some(&of_passes), info.bounds.last()),
            PriorScale::Among(scales) => {
                let of = |scale: &f64| {
                    let settings = one_pass(PriorScale::Given(*scale), BeliefKind::Full);
                    let mut alone = OnlineLogistic::with_settings(3, settings).unwrap();
                    alone.update_batch(&rows, &labels).unwrap();
                    alone.refine(&RefineSettings::default()).unwrap();
                    alone.evidence()
                };
                let [low, high] = [of(&scales[0]), of(&scales[1])];
                let mean = low.max(high) + (0.5 * (1.0 + (-(low - high).abs()).exp())).ln();
                assert!((of_sweeps - mean).abs() < 1e-9 && of_sweeps != before.evidence(), "{of_sweeps} {mean}");
            }
            _ => assert!((of_sweeps - before.evidence()).abs() > 1e-6),
        }
        // With learned scales one optimum stands for all and the others follow by a change of prior, to first order.
        let within = if scale == PriorScale::Learned { 2e-2 } else { 4e-3 };
        for row in rows.chunks(3).take(20) {
            let seen = |model: &OnlineLogistic| model.predict(row).unwrap().predictor;
            let (a, b, first) = (seen(&swept), seen(&passed), seen(&before));
            let away = |x: f64| ((x - b.mean()) / b.standard_deviation()).abs();
            assert!(away(a.mean()) < within, "{scale:?}: {} of {}", away(a.mean()), away(first.mean()));
            assert!((a.variance() / b.variance() - 1.0).abs() < within, "{scale:?}");
        }
    }
}

/// Passes of several classes lead where sweeps over kept rows do.
#[test]
fn passes_of_classes_are_sweeps_over_kept_rows() {
    let (rows, two) = stream(600, 24);
    let labels: Vec<f64> =
        rows.chunks(3).zip(&two).map(|(x, y)| 2.0 * y + f64::from(u8::from(x[0] > 0.3 * x[1] - 30.0))).collect();
    let settings = one_pass(PriorScale::Learned, BeliefKind::Full);
    let mut swept = OnlineSoftmax::joint(3, 4, settings).unwrap();
    swept.update_batch(&rows, &labels).unwrap();
    let mut passed = swept.clone();
    swept.refine(&SoftmaxRefineSettings::default()).unwrap();
    let info = passed.refine_over(&BatchSettings::default(), |take| pass::<ModelError>(&rows, &labels, take)).unwrap();
    assert!(info.bounds.last() > info.bounds.first() && info.passes > 2, "{info:?}");
    assert!((swept.evidence() - passed.evidence()).abs() < 0.05, "{} {}", swept.evidence(), passed.evidence());
    for row in rows.chunks(3).take(20) {
        let [a, b] = [&swept, &passed].map(|model| model.predict(row).unwrap().probabilities);
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 2e-3), "{a:?} {b:?}");
    }
    let diagonal = OnlineSettings { belief: BeliefKind::Diagonal, ..OnlineSettings::default() };
    let mut apart = OnlineSoftmax::by_class(3, 4, diagonal).unwrap();
    apart.update_batch(&rows, &labels).unwrap();
    let refused = apart.refine_over(&BatchSettings::default(), |take| pass::<ModelError>(&rows, &labels, take));
    assert_eq!(refused, Err(ModelError::NotKept));
}

/// Scales that rows in an order have left far from their posterior are placed where sweeps over kept rows place them.
#[test]
fn passes_find_scales_that_the_order_has_hidden() {
    let (rows, labels) = stream(900, 5);
    let mut order: Vec<usize> = (0..900).collect();
    order.sort_by(|&a, &b| labels[a].total_cmp(&labels[b]));
    let sorted: Vec<f64> = order.iter().flat_map(|&i| rows[3 * i..3 * i + 3].to_vec()).collect();
    let labels: Vec<f64> = order.iter().map(|&i| labels[i]).collect();
    let mut swept = OnlineLogistic::with_settings(3, one_pass(PriorScale::Learned, BeliefKind::Full)).unwrap();
    swept.update_batch(&sorted, &labels).unwrap();
    let mut passed = swept.clone();
    swept.refine(&RefineSettings::default()).unwrap();
    passed.refine_over(&BatchSettings::default(), |take| pass::<ModelError>(&sorted, &labels, take)).unwrap();
    assert!((swept.evidence() - passed.evidence()).abs() < 0.02, "{} {}", swept.evidence(), passed.evidence());
    let [a, b] = [&swept, &passed].map(|model| model.info().prior_scale);
    assert!((a / b).ln().abs() < 0.02, "{a} {b}");
}

/// In the warm-up, with another form of the belief, and stored in between.
#[test]
fn what_passes_have_found_is_kept() {
    let (rows, labels) = stream(60, 72);
    let settings = OnlineSettings { start: Start::Fitted, ..one_pass(PriorScale::Learned, BeliefKind::SquareRoot) };
    let mut model = OnlineLogistic::with_settings(3, settings).unwrap();
    model.update_batch(&rows[..90], &labels[..30]).unwrap();
    model.refine_over(&BatchSettings::default(), |take| pass::<ModelError>(&rows[..90], &labels[..30], take)).unwrap();
    assert!(!model.info().warming_up);
    let mut read: OnlineLogistic = serde_json::from_str(&serde_json::to_string(&model).unwrap()).unwrap();
    for model in [&mut model, &mut read] {
        model.update_batch(&rows[90..], &labels[30..]).unwrap();
    }
    assert_eq!(model.info().observations, 60);
    assert_eq!(model.predict(&rows[..3]).unwrap(), read.predict(&rows[..3]).unwrap());
}

#[test]
fn passes_that_cannot_be_leave_the_model_as_it_was() {
    let (rows, labels) = stream(40, 3);
    let settings = |belief| OnlineSettings { keep_rows: false, ..one_pass(PriorScale::Given(1.0), belief) };
    let mut model = OnlineLogistic::with_settings(3, settings(BeliefKind::Full)).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    let before = serde_json::to_string(&model).unwrap();
    let quick = BatchSettings { max_passes: 5, ..BatchSettings::default() };
    // Fewer rows than were learned; a row that is none; an error of the caller's own in the third pass.
    let fewer = model.refine_over(&quick, |take| pass::<ModelError>(&rows[3..], &labels[1..], take)).unwrap_err();
    assert!(fewer.to_string().contains("rows of a pass"), "{fewer}");
    let wrong = model.refine_over(&quick, |take| take(Row::Dense(&[f64::NAN, 0.0, 0.0]), Observation::new(1.0)));
    assert!(wrong.unwrap_err().to_string().contains("NaN"));
    let label = model.refine_over(&quick, |take| take(Row::Dense(&rows[..3]), Observation::new(0.5)));
    assert!(label.unwrap_err().to_string().contains("0.5"));
    let mut passes = 0;
    let own = model.refine_over(&quick, |take| {
        passes += 1;
        if passes == 3 { Err("gone".to_owned()) } else { pass::<Text>(&rows, &labels, take).map_err(|error| error.0) }
            .map_err(Text)
    });
    assert_eq!(own.unwrap_err().0, "gone");
    assert!(model.refine_over(&BatchSettings { max_passes: 0, ..quick }, |_| Ok::<_, ModelError>(())).is_err());
    assert_eq!(serde_json::to_string(&model).unwrap(), before);
    let mut diagonal = OnlineLogistic::with_settings(3, settings(BeliefKind::Diagonal)).unwrap();
    diagonal.update_batch(&rows, &labels).unwrap();
    assert_eq!(diagonal.refine_over(&quick, |take| pass::<ModelError>(&rows, &labels, take)), Err(ModelError::NotKept));
}

#[derive(Debug)]
struct Text(String);

impl From<ModelError> for Text {
    fn from(error: ModelError) -> Self {
        Self(error.to_string())
    }
}
