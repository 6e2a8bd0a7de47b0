//! §1.2 and §3: Bayesian linear regression on random features as a Gaussian process.

use vi_linalg::faer::{Mat, Par};
use vi_revrand::Slm;
use vi_revrand::basis::RandomFourier;

use super::demo::{Draw, LENGTH, NOISE, REACH, STARTS, TEST, TRAINING};
use super::scores::Predicted;
use super::trials::{Trials, fit_panel, spread};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{BLUE, Marker, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Outcome, Quantity, median, number};

/// Pairs of features: half the demonstration's, the demonstration's, and more.
const PAIRS: [usize; 5] = [5, 10, 20, 40, 80];
/// The demonstration's, and its name.
const DEMO: (usize, &str) = (20, "20");
const MOST: &str = "80";

fn predict(model: &Slm<RandomFourier>, x: &Mat<f64>) -> Result<Predicted, ReproError> {
    Ok(model.predict(x.as_ref(), Par::Seq).context("prediction")?.into_iter().collect())
}

/// The regression demonstration: one draw to look at, and scores over many.
pub(super) fn line(ctx: &Context) -> Result<Outcome, ReproError> {
    let count = ctx.pick(60, 20);
    let trials = Trials::new(ctx, count, "pairs", |draw, k| {
        let (mut answers, mut learned) = (Vec::new(), (f64::NAN, f64::NAN));
        for pairs in PAIRS {
            let model = draw.slm(pairs, ctx.seed, k)?;
            answers.push((pairs.to_string(), predict(&model, &draw.test_x)?));
            if pairs == DEMO.0 {
                let hyper = model.hyperparameters();
                learned = (hyper.theta.first().copied().unwrap_or(f64::NAN), hyper.noise_variance.sqrt());
            }
        }
        Ok((answers, learned))
    })?;
    let [ratios, excess] = trials.against(DEMO.1);
    let (ratio, above) = (median(&ratios), median(&excess));
    let [length, noise] = trials.learned();
    let of = |score| number(trials.median(DEMO.1, score));
    let plain = |v: f64| v.to_string();
    Ok(Outcome {
        checks: vec![
            Trials::printed("printed-smse", &ratios, 1.19),
            Trials::printed("printed-msll", &excess, 0.095),
            words().below("20-pairs-linear-model", ratio, 1.2),
            words().below("msll-most-0-12", above, 0.12),
            words().below("more-features-left-price", median(&trials.against(MOST)[0]), 1.05),
        ],
        quantities: vec![
            Quantity::new("SMSE, exact process").authors("0.01186").works(of("exact_smse")),
            Quantity::new("SMSE, linear model").authors("0.01412").works(of("smse")),
            Quantity::new("MSLL, exact process").authors("−2.206").works(of("exact_msll")),
            Quantity::new("MSLL, linear model").authors("−2.111").works(of("msll")),
        ],
        shown: trials.shown(&PAIRS.map(|pairs| (pairs.to_string(), format!("{pairs} pairs")))),
        figure: figure(ctx, &trials)?,
        tables: vec![trials.table],
        ..words().outcome(
            ctx,
            &[
                &DEMO.0,
                &ratio,
                &above,
                &count,
                &TRAINING,
                &plain(LENGTH),
                &plain(NOISE),
                &DEMO.0,
                &TEST,
                &count,
                &plain(REACH),
                &plain(REACH),
                &STARTS,
                &DEMO.0,
                &length,
                &noise,
            ],
        )
    })
}

fn figure(ctx: &Context, trials: &Trials) -> Result<Figure, ReproError> {
    let typical = trials.typical(DEMO.1);
    let draw = Draw::new(ctx.seed, typical)?;
    let title = format!("A typical draw, {} pairs of features", DEMO.0);
    let fit = fit_panel(title, &draw, ["linear model on features", "linear model ± 2 deviations"], |points| {
        predict(&draw.slm(DEMO.0, ctx.seed, typical)?, points)
    })?;
    let m = PAIRS.map(|pairs| pairs as f64);
    let curve = |i: usize, title: &str, unit: &str, bound: f64| {
        let values = PAIRS.map(|pairs| trials.against(&pairs.to_string())[i].clone());
        let panel = Panel::new(title, Axis::log("pairs of features"), Axis::log(unit));
        let (panel, middle) = spread(panel, &m, &values, (bound, "asked for at 20 pairs"));
        panel.line_marked(&m, &middle, Style::solid(BLUE).marker(Marker::Disc), 1, "linear model on features")
    };
    let smse = curve(0, "SMSE over that of the exact process", "ratio", 1.2);
    let msll = curve(1, "MSLL above that of the exact process", "nats", 0.12);
    Ok(Figure::new("Bayesian linear regression on random features as a Gaussian process")
        .row(340.0, vec![fit])
        .row(300.0, vec![smse, msll]))
}
