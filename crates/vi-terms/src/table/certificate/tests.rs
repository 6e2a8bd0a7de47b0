use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use vi_models::Transform;
use vi_models::online::{Kind, Observation, OnlineLinear, OnlineSettings};

use super::*;

const NUMBER: Kind = Kind::Number { noise: OnlineLinear::DEFAULT_NOISE, transform: Transform::Identity };

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

/// A model of 400 rows, and a record of 1000 more, at which `of` makes the label from the mean and the noise.
fn followed(kind: Kind, settings: OnlineSettings, of: impl Fn(u32, f64, f64) -> f64) -> (Model, Certificate) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut model, mut record) = (Model::new(kind, 1, settings).unwrap(), Certificate::default());
    for t in 0..1400 {
        let x = normal(&mut rng);
        let noise = normal(&mut rng);
        let row = [x];
        if t < 400 {
            let label = if kind == Kind::Two { f64::from(u8::from(x + noise > 0.0)) } else { 2.0 * x + noise };
            model.update(row.as_slice().into(), Observation::new(label)).unwrap();
        } else {
            let seen = model.predict(row.as_slice().into(), Observation::new(0.0)).unwrap();
            record.add(&seen, of(t - 400, x, noise)).unwrap();
        }
    }
    (model, record)
}

fn about<'a>(findings: &'a [Finding], subject: &str) -> Option<&'a Finding> {
    findings.iter().find(|own| own.about == subject)
}

#[test]
fn a_model_that_is_right_has_two_lines() {
    let (model, record) = followed(NUMBER, NUMBER.default_settings(), |_, x, noise| 2.0 * x + noise);
    let findings = of_model(&model, Some(&record));
    let subjects: Vec<&str> = findings.iter().map(|own| own.about).collect();
    assert_eq!(subjects, ["calibration", "posterior"]);
    assert!(findings.iter().all(|own| own.basis == Basis::Exact), "{findings:?}");
    assert!(findings[0].then.contains("nothing speaks against them") && findings[0].numbers["labels"] == 1000.0);
    let text = told(&findings);
    assert!(text.starts_with("certificate ") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(text.matches("(exact)").count(), 2, "{text}");
    // Without a record what can be said of the model alone.
    assert_eq!(of_model(&model, None), findings[1..]);
    assert_eq!(told(&[]), "");
}

#[test]
fn a_noise_that_grows_changes_the_advice() {
    let (model, record) =
        followed(NUMBER, NUMBER.default_settings(), |t, x, noise| 2.0 * x + if t < 600 { noise } else { 3.0 * noise });
    let findings = of_model(&model, Some(&record));
    let (calibration, change) = (about(&findings, "calibration").unwrap(), about(&findings, "change").unwrap());
    assert!(calibration.then.contains("too narrow") && calibration.numbers["misses"] > 1.1, "{calibration:?}");
    // The model learns no more, so that the alarm is exact.
    assert!(change.basis == Basis::Exact && change.says.starts_with("labels farther from predictions"), "{change:?}");
    assert!((change.numbers["since"] - 600.0).abs() < 60.0 && change.then.contains("would follow"), "{change:?}");
    let (model, record) = followed(NUMBER, NUMBER.default_settings(), |_, x, noise| 2.0 * x + 0.5 * noise);
    let findings = of_model(&model, Some(&record));
    assert!(about(&findings, "calibration").unwrap().then.contains("too wide"), "{findings:?}");
}

#[test]
fn a_few_wild_labels_are_told() {
    let wild = |t: u32, x: f64, noise: f64| 2.0 * x + if t % 250 == 100 { 40.0 } else { noise };
    let (model, record) = followed(NUMBER, NUMBER.default_settings(), wild);
    let findings = of_model(&model, Some(&record));
    let outliers = about(&findings, "outliers").unwrap();
    assert_eq!((outliers.numbers["labels"], outliers.numbers["last"]), (4.0, 851.0));
    assert!(
        outliers.then.contains("`robust`") && outliers.says.contains("4 labels more than 4 deviations off"),
        "{outliers:?}"
    );
    assert!(told(&findings).lines().all(|line| line.chars().count() <= 80), "{}", told(&findings));
}

#[test]
fn draws_tell_the_nats_that_are_left() {
    let settings = OnlineSettings { keep_rows: true, ..Kind::Two.default_settings() };
    let (mut model, _) = followed(Kind::Two, settings, |_, x, noise| f64::from(u8::from(x + noise > 0.0)));
    let before = of_model(&model, None);
    assert_eq!(about(&before, "posterior").unwrap().basis, Basis::Heuristic);
    let info = model.diagnose(2000, &mut ChaCha8Rng::seed_from_u64(2)).unwrap();
    let findings = of_model(&model, None);
    let posterior = about(&findings, "posterior").unwrap();
    // The divergence is at most log(1 + χ²), and 1 + χ² one over the share.
    assert!((posterior.numbers["left"] + info.effective_share.unwrap().ln()).abs() < 1e-12);
    assert!(posterior.numbers["left"] > 0.0 && posterior.basis == Basis::Asymptotic, "{posterior:?}");
    assert!(told(&findings).lines().all(|line| line.chars().count() <= 80), "{}", told(&findings));
}

#[test]
fn few_digits_and_first_rows_are_told_where_they_matter() {
    let mut model = Model::new(NUMBER, 2, NUMBER.default_settings()).unwrap();
    for t in 0..20 {
        let x = f64::from(t % 7);
        model.update([x, x].as_slice().into(), Observation::new(x)).unwrap();
    }
    let findings = of_model(&model, None);
    assert_eq!(about(&findings, "first rows").unwrap().then, "scales and intervals become firm with more rows");
    assert!(about(&findings, "digits").is_none());
    let page = as_html(&[Finding::new("digits", Basis::Heuristic, "1 < 2", "drop \"a\" & b")]);
    assert!(page.contains("<td>1 &lt; 2</td><td>drop &quot;a&quot; &amp; b</td><td>heuristic</td>"), "{page}");
}
