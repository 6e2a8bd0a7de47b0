//! Networks of one hidden layer learnt in one pass: two moons and handwritten digits.

use super::digits::{self, Digits};
use super::moons::{self, Moons, PASSES};
use super::network::Score;
use super::words;
use crate::error::ReproError;
use crate::item::Context;
use crate::plot::Figure;
use crate::report::{self, Check, Outcome, Said, Shown, Table, number, short};

fn median<T>(all: &[T], of: impl Fn(&T) -> f64) -> f64 {
    report::median(&all.iter().map(of).collect::<Vec<_>>())
}

fn counted<T>(all: &[T], name: &str, medians: &[fn(&T) -> f64], holds: impl Fn(&T) -> bool) -> Check {
    let medians: Vec<f64> = medians.iter().map(|of| median(all, of)).collect();
    let values: Vec<&dyn Said> = medians.iter().map(|m| m as &dyn Said).collect();
    words().counted(name, (all.iter().filter(|one| holds(one)).count(), all.len()), &values)
}

fn checks(moons: &[Moons], digits: &[Digits]) -> Vec<Check> {
    let loss = |m: &Moons, at: usize| m.network[at].log_loss;
    vec![
        counted(
            moons,
            "moons-below-softmax",
            &[|m| m.network[1].log_loss, |m| m.linear.log_loss, |m| m.network[1].accuracy, |m| m.linear.accuracy],
            |m| loss(m, 1) < m.linear.log_loss,
        ),
        counted(moons, "moons-one-pass", &[|m| m.network[1].log_loss, |m| m.network[2].log_loss], |m| {
            loss(m, 1) - loss(m, 2) < 0.02
        }),
        counted(
            digits,
            "digits-before-learning",
            &[
                |d| d.network.end().log_loss,
                |d| d.linear.end().log_loss,
                |d| d.network.end().accuracy,
                |d| d.linear.end().accuracy,
            ],
            |d| d.network.end().log_loss < d.linear.end().log_loss,
        ),
        counted(
            digits,
            "digits-rows-kept",
            &[
                |d| d.network.once.log_loss,
                |d| d.linear.once.log_loss,
                |d| d.network.once.accuracy,
                |d| d.linear.once.accuracy,
            ],
            |d| d.network.once.log_loss < d.linear.once.log_loss,
        ),
        counted(digits, "digits-second-pass", &[|d| d.network.once.accuracy, twice], |d| {
            twice(d) > d.network.once.accuracy
        }),
    ]
}

/// The share right after a second pass.
fn twice(d: &Digits) -> f64 {
    d.network.twice.map_or(f64::NAN, |s| s.accuracy)
}

fn tables(moons: &[Moons], digits: &[Digits]) -> Result<Vec<Table>, ReproError> {
    let mut running = Table::new("", &["order", "observations", "classifier", "accuracy", "log_loss"]);
    let mut finals = Table::new("finals", &["data", "data_set", "classifier", "passes", "accuracy", "log_loss"]);
    let mut push = |data: &str, k: usize, classifier: &str, passes: usize, s: Score| {
        finals.push(&[&data, &k, &classifier, &passes, &s.accuracy, &s.log_loss])
    };
    for (k, m) in moons.iter().enumerate() {
        for (passes, score) in PASSES.iter().zip(&m.network) {
            push("moons", k, "network", *passes, *score)?;
        }
        push("moons", k, "softmax", 1, m.linear)?;
    }
    for (k, d) in digits.iter().enumerate() {
        for (name, course) in [("network", &d.network), ("softmax", &d.linear)] {
            push("digits", k, name, 1, course.once)?;
            if let Some(twice) = course.twice {
                push("digits", k, name, 2, twice)?;
            }
            for (t, s) in course.running.iter().enumerate() {
                running.push(&[&k, &(t + 1), &name, &short(s.accuracy), &short(s.log_loss)])?;
            }
        }
    }
    Ok(vec![running, finals])
}

fn shown(moons: &[Moons], digits: &[Digits]) -> Shown {
    let row = |name: &str, moons: Option<(f64, f64)>, digits: Option<(f64, f64)>| {
        let cells = |s: Option<(f64, f64)>| s.map_or([String::new(), String::new()], |(a, l)| [number(a), number(l)]);
        [vec![name.to_owned()], cells(moons).to_vec(), cells(digits).to_vec()].concat()
    };
    let of = |at: usize| Some((median(moons, |m| m.network[at].accuracy), median(moons, |m| m.network[at].log_loss)));
    let course = |score: &dyn Fn(&Digits) -> Score| {
        Some((median(digits, |d| score(d).accuracy), median(digits, |d| score(d).log_loss)))
    };
    let missing = Score { accuracy: f64::NAN, log_loss: f64::NAN };
    let head = ["rows kept", "moons: right", "log loss", "digits: right", "log loss"];
    Shown::new(
        head,
        vec![
            row("network before learning", of(0), None),
            row("network, one pass", of(1), course(&|d| d.network.once)),
            row("network, two passes", None, course(&|d| d.network.twice.unwrap_or(missing))),
            row("network, three passes", of(2), None),
            row(
                "softmax regression, one pass",
                Some((median(moons, |m| m.linear.accuracy), median(moons, |m| m.linear.log_loss))),
                course(&|d| d.linear.once),
            ),
        ],
    )
}

/// Networks on two moons and on digits.
pub(super) fn networks(ctx: &Context) -> Result<Outcome, ReproError> {
    let (sets, orders) = (ctx.pick(8, 3), ctx.pick(2, 1));
    ctx.steps(sets + 3 * orders);
    let map = |k| if k == 0 { ctx.pick(81, 61) } else { 0 };
    let all = ctx.each(0..sets, "moons", |k| Moons::new(ctx.seed, k, map(k)))?;
    let digits = (0..orders).map(|k| Digits::new(ctx, k)).collect::<Result<Vec<_>, _>>()?;
    let right = |share: f64| format!("{:.1} %", 100.0 * share);
    let (m, d) = (moons::SHAPE, digits::SHAPE);
    Ok(Outcome {
        checks: checks(&all, &digits),
        shown: shown(&all, &digits),
        tables: tables(&all, &digits)?,
        figure: Figure::new("Networks of one hidden layer, learnt row by row")
            .row(310.0, all[0].panels())
            .row(340.0, digits[0].panels()),
        ..words().outcome(
            ctx,
            &[
                &right(median(&all, |m| m.network[1].accuracy)),
                &right(median(&all, |m| m.linear.accuracy)),
                &right(median(&digits, |d| d.network.once.accuracy)),
                &right(median(&digits, |d| d.linear.once.accuracy)),
                &right(median(&digits, twice)),
                &m.units,
                &moons::ROWS.0,
                &moons::ROWS.1,
                &all[0].dim,
                &m.rank,
                &m.draws,
                &digits[0].dim,
                &d.units,
                &d.rank,
                &d.draws,
                &digits[0].rows.0,
                &digits[0].rows.1,
                &orders,
                &digits::SIGMA0.to_string(),
                &d.scale.to_string(),
                &m.scale.to_string(),
            ],
        )
    })
}
