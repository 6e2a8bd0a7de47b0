//! One data set: every method on the same folds, held-out log loss against time.

use std::time::Instant;

use vi_data::Dataset;
use vi_data::synthetic::{Normalisation, TwoClassesSettings};
use vi_models::metrics;

use super::methods::{Method, SIGMA0};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{GREY, Marker, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Outcome, Shown, Table, mean_and_error, number};
use crate::streams::{Real, generator, rows};

/// Folds of a data set of `n` rows: large ones lose little by a fifth left out.
fn folds(ctx: &Context, n: usize) -> usize {
    ctx.pick(if n < 1000 { 10 } else { 5 }, 3)
}

/// A method's held-out losses, row by row, and the least time of a fit.
struct Scored {
    method: Method,
    losses: Vec<f64>,
    right: f64,
    seconds: f64,
}

impl Scored {
    fn loss(&self) -> f64 {
        self.losses.iter().sum::<f64>() / self.losses.len() as f64
    }
}

/// Mean difference of two methods' losses over rows, and its standard error.
fn difference(a: &Scored, b: &Scored) -> (f64, f64) {
    mean_and_error(&a.losses.iter().zip(&b.losses).map(|(a, b)| a - b).collect::<Vec<f64>>())
}

fn study(ctx: &Context, data: &Dataset) -> Result<Vec<Scored>, ReproError> {
    let used: Vec<Method> = Method::ALL.into_iter().filter(|m| m.runs_on(data.d())).collect();
    let folds = folds(ctx, data.n());
    ctx.steps(used.len());
    let mut out = Vec::new();
    for method in used {
        let (mut p, mut y, mut seconds) = (Vec::new(), Vec::new(), f64::INFINITY);
        for fold in 0..folds {
            let (train, test) = (rows(data, |i| i % folds != fold)?, rows(data, |i| i % folds == fold)?);
            let begun = Instant::now();
            p.extend(method.predict(&train, &test, ctx.seed)?);
            seconds = seconds.min(begun.elapsed().as_secs_f64());
            y.extend_from_slice(test.y());
        }
        let losses = metrics::log_losses(&p, &y).context("scores")?;
        out.push(Scored { method, losses, right: metrics::accuracy(&p, &y).context("scores")?, seconds });
        ctx.step(method.label());
    }
    Ok(out)
}

fn outcome(ctx: &Context, data: &Dataset, about: &str) -> Result<Outcome, ReproError> {
    let all = study(ctx, data)?;
    let least = |of: &dyn Fn(&&Scored) -> f64, among: &[&Scored]| -> Option<usize> {
        (0..among.len()).min_by(|a, b| of(&among[*a]).total_cmp(&of(&among[*b])))
    };
    let refs: Vec<&Scored> = all.iter().collect();
    let best = refs[least(&|s| s.loss(), &refs).context("methods")?];
    // As good as the best, as far as the rows tell.
    let level: Vec<&Scored> = all
        .iter()
        .filter(|s| {
            let (off, error) = difference(s, best);
            off <= 2.0 * error
        })
        .collect();
    let cheapest = level[least(&|s| s.seconds, &level).context("methods")?];
    let fastest = refs[least(&|s| s.seconds, &refs).context("methods")?];
    let of = |m: Method| all.iter().find(|s| s.method == m);
    let against = |(name, a, b): (&str, Method, Method)| {
        let (a, b) = of(a).zip(of(b))?;
        let (off, error) = difference(a, b);
        Some(words().fact(name, off < -2.0 * error, &[&a.loss(), &b.loss(), &off, &error]))
    };
    let findings = [
        ("learnt-scale-predicts-better", Method::Softplus, Method::Optimum),
        ("sweeps-predict-better", Method::Sweeps, Method::Blocks),
        ("best-gaussian-beats-laplace", Method::Optimum, Method::Laplace),
        ("components-predict-better", Method::Boosting, Method::Optimum),
        ("features-predict-better", Method::Features, Method::Softplus),
    ]
    .into_iter()
    .filter_map(against);
    let mut table =
        Table::new("", &["method", "seconds", "log_loss", "share_right", "log_loss_above_best", "standard_error"]);
    let mut shown = Vec::new();
    for s in &all {
        let (off, error) = difference(s, best);
        let numbers = [s.seconds, s.loss(), s.right, off, error];
        table.row(&[&s.method.label()], numbers)?;
        shown.push(vec![
            s.method.label().to_owned(),
            number(1e3 * s.seconds),
            number(s.loss()),
            if s.method == best.method { "best".to_owned() } else { format!("{} ± {}", number(off), number(error)) },
            number(s.right),
            s.method.when().to_owned(),
        ]);
    }
    let mut panel =
        Panel::new("Held-out log loss against the time of a fit", Axis::log("milliseconds"), Axis::log("nats per row"))
            .horizontal(f64::ln(2.0), Style::solid(GREY), "a fair coin");
    let markers = [Marker::Disc, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Plus, Marker::Cross];
    let names = all.iter().rev().map(|s| s.method.label().to_owned()).collect();
    let mut strip = Panel::new(
        "Log loss above the best, two standard errors",
        Axis::linear("nats per row"),
        Axis::categories("", names),
    );
    for (i, s) in all.iter().enumerate() {
        let style = s.method.style().marker(markers[i % markers.len()]);
        panel = panel.points(&[1e3 * s.seconds], &[s.loss()], style, 6.0, s.method.label());
        let (off, error) = difference(s, best);
        let at = (all.len() - 1 - i) as f64;
        strip = strip.spread_sideways(&[at], &[off - 2.0 * error], &[off + 2.0 * error], style.width(1.8), "").points(
            &[off],
            &[at],
            style,
            5.0,
            "",
        );
    }
    Ok(Outcome {
        checks: findings.collect(),
        shown: Shown::new(["", "ms", "log loss", "above the best", "share right", "when"], shown),
        tables: vec![table],
        figure: Figure::new("Accuracy against cost").row(400.0, vec![panel, strip]),
        ..words().outcome(
            ctx,
            &[
                &best.method.label(),
                &best.loss(),
                &(1e3 * best.seconds),
                &cheapest.method.label(),
                &(1e3 * cheapest.seconds),
                &fastest.method.label(),
                &(1e3 * fastest.seconds),
                &fastest.loss(),
                &about,
                &folds(ctx, data.n()),
                &SIGMA0.to_string(),
            ],
        )
    })
}

/// Breast tumours.
pub(super) fn tumours(ctx: &Context) -> Result<Outcome, ReproError> {
    let orders = Real::Tumours.orders(ctx, 2)?;
    outcome(ctx, &orders[1], Real::Tumours.about())
}

/// Nodal involvement.
pub(super) fn nodal(ctx: &Context) -> Result<Outcome, ReproError> {
    let orders = Real::Nodal.orders(ctx, 2)?;
    outcome(ctx, &orders[1], Real::Nodal.about())
}

/// Many weights.
pub(super) fn many(ctx: &Context) -> Result<Outcome, ReproError> {
    let (n, d) = (ctx.pick(2000, 500), ctx.pick(100, 40));
    let settings = TwoClassesSettings { n, d, s: 0.3, c: 1.0, normalisation: Normalisation::AsRun };
    let drawn = settings.draw(&mut generator(ctx.seed, 0)).context("data")?;
    outcome(ctx, &drawn.data, &format!("Two Gaussian classes in {d} dimensions, {n} rows."))
}
