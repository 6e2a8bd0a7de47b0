//! Beyond the paper: leave-one-out predictive densities from the cavities, against refits and held-out data.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_core::batch::{self, BatchSettings};
use vi_core::refine::{self, RefineSettings, Refinement};
use vi_core::{DenseGaussian, GaussianExpectation};
use vi_data::Dataset;
use vi_linalg::faer::Par;
use vi_models::predict;

use super::methods::prior;
use super::refined::{LOGIT, first_pass};
use super::replicate::Setting;
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{BLUE, Colour, Dash, GREEN, GREY, Marker, ORANGE, PURPLE, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Shown, Table, Verdict, number, short};

const SETTINGS: [(&str, Setting); 3] = [
    ("d = 10, N = 200, σ₀ = 10", Setting { n: 200, d: 10, s: 0.6, c: 0.0, sigma0: 10.0, mu0_norm: 0.0 }),
    ("d = 100, N = 500, σ₀ = 1", Setting { n: 500, d: 100, s: 0.2, c: 0.0, sigma0: 1.0, mu0_norm: 0.0 }),
    ("d = 100, N = 500, σ₀ = 30", Setting { n: 500, d: 100, s: 0.2, c: 0.0, sigma0: 30.0, mu0_norm: 0.0 }),
];
/// Fresh rows of the same generator for each data set.
const FRESH: usize = 2000;
/// Standard errors within which two means count as equal, and beyond which as different.
const ERRORS: f64 = 2.0;
const SIGMA0_REAL: f64 = 10.0;
const FOLDS: usize = 10;

const IN_SAMPLE: (&str, Colour) = ("in sample", ORANGE);
const CAVITY: (&str, Colour) = ("left out (cavity)", PURPLE);
const REFIT: (&str, Colour) = ("left out (refit)", BLUE);
const HELD_OUT: (&str, Colour) = ("held out", GREEN);

/// Mean and its standard error.
#[derive(Clone, Copy)]
struct Mean {
    value: f64,
    error: f64,
}

impl Mean {
    fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let value = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - value).powi(2)).sum();
        Self { value, error: (squares / (n - 1.0).max(1.0) / n).sqrt() }
    }

    fn text(self) -> String {
        format!("{} ± {}", number(self.value), number(self.error))
    }
}

fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// `log p(y_i|x_i)` in nats of each row under a belief that knows nothing of it, or everything.
fn log_densities(belief: &DenseGaussian, data: &Dataset) -> Result<Vec<f64>, ReproError> {
    let seen = predict::project(belief, data.x()).context("prediction")?;
    Ok(seen.iter().zip(data.y()).map(|(s, y)| LOGIT.log_predictive(*y, s.mean, s.variance)).collect())
}

/// A fitted posterior with its sites.
fn fit(prior: &DenseGaussian, data: &Dataset) -> Result<Refinement, ReproError> {
    let mut fitted = first_pass(prior, data)?;
    let settings = RefineSettings { tolerance: 1e-9, max_sweeps: 200, ..RefineSettings::default() };
    refine::refine(prior, &mut fitted, data.x(), data.y(), &LOGIT, &settings, Par::Seq).context("refinement")?;
    Ok(fitted)
}

/// Leave-one-out log densities from the cavities. A row without a proper cavity is an error: none has been seen.
fn cavities(fitted: &Refinement, data: &Dataset) -> Result<Vec<f64>, ReproError> {
    let found = refine::leave_one_out(fitted, data.x(), data.y(), &LOGIT).context("cavities")?;
    found.into_iter().collect::<Option<_>>().context("proper cavities")
}

/// The rows of `data` for which `keep` holds.
fn rows(data: &Dataset, keep: impl Fn(usize) -> bool) -> Result<Dataset, ReproError> {
    let kept = || data.observations().enumerate().filter(|(i, _)| keep(*i)).map(|(_, o)| o);
    let x = kept().flat_map(|(x, _)| x.iter().copied()).collect();
    Dataset::new(x, kept().map(|(_, y)| y).collect(), None).context("rows")
}

/// Leave-one-out log densities of about `count` rows by fitting anew without each, and which rows these are.
fn refits(
    prior: &DenseGaussian,
    fitted: &Refinement,
    data: &Dataset,
    count: usize,
) -> Result<(Vec<usize>, Vec<f64>), ReproError> {
    let settings = BatchSettings { tolerance: 1e-8, max_passes: 300 };
    let chosen: Vec<usize> = (0..data.n()).step_by(data.n().div_ceil(count)).collect();
    let mut out = Vec::new();
    for &row in &chosen {
        let others = rows(data, |i| i != row)?;
        let (belief, _) = batch::optimum(prior, &fitted.belief, others.x(), others.y(), &LOGIT, &settings, Par::Seq)
            .context("refit")?;
        out.extend(log_densities(&belief, &rows(data, |i| i == row)?)?);
    }
    Ok((chosen, out))
}

/// Cavities against refits on one data set.
struct Refitted {
    rows: Vec<usize>,
    cavity: Vec<f64>,
    refit: Vec<f64>,
}

impl Refitted {
    fn new(prior: &DenseGaussian, fitted: &Refinement, data: &Dataset, count: usize) -> Result<Self, ReproError> {
        let all = cavities(fitted, data)?;
        let (rows, refit) = refits(prior, fitted, data, count)?;
        let cavity = rows.iter().map(|i| all[*i]).collect();
        Ok(Self { rows, cavity, refit })
    }

    fn largest(&self) -> f64 {
        differences(&self.cavity, &self.refit).iter().fold(0.0, |m, d| m.max(d.abs()))
    }

    fn panel(&self, name: &str) -> Panel {
        let low = self.cavity.iter().chain(&self.refit).copied().fold(0.0, f64::min);
        let dots = Style::solid(BLUE).marker(Marker::Disc).alpha(0.5);
        Panel::new(name, Axis::linear("refit without the row (nats)"), Axis::linear("cavity (nats)"))
            .equal_scales()
            .line_marked(&[low, 0.0], &[low, 0.0], Style::solid(GREY).dash(Dash::Dotted).width(1.4), 0, "equal")
            .points(&self.refit, &self.cavity, dots, 3.2, "log density of a row")
    }

    /// The cavities' mean is the refits' to a tenth of the error that the mean has anyway.
    fn check(&self, name: &str) -> Check {
        let (cavity, refit) = (Mean::of(&self.cavity), Mean::of(&self.refit));
        let off = cavity.value - refit.value;
        words().fact(
            "cavities-mean-refits-tenth",
            off.abs() < 0.1 * refit.error,
            &[&name, &cavity.value, &refit.text(), &self.rows.len(), &self.largest()],
        )
    }
}

/// A row of the table on the page and of the lower panels.
struct Strip {
    kind: (&'static str, Colour),
    values: Vec<f64>,
}

/// Means of three kinds, with what they are means over.
struct Means {
    name: String,
    strips: Vec<Strip>,
}

impl Means {
    fn panel(&self, title: &str) -> Panel {
        let names = self.strips.iter().rev().map(|s| s.kind.0.to_owned()).collect();
        let mut panel = Panel::new(title, Axis::linear("mean log density (nats)"), Axis::categories("", names));
        for (i, s) in self.strips.iter().rev().enumerate() {
            let mean = Mean::of(&s.values);
            let style = Style::solid(s.kind.1);
            if s.values.len() < FEW {
                let y: Vec<f64> =
                    (0..s.values.len()).map(|k| i as f64 + 0.5 * ((k as f64 * 0.618_034).fract() - 0.5)).collect();
                panel = panel.points(&s.values, &y, style.marker(Marker::Disc).alpha(0.4), 3.0, "");
            }
            let (low, high) = (mean.value - ERRORS * mean.error, mean.value + ERRORS * mean.error);
            panel = panel.spread_sideways(&[i as f64], &[low], &[high], style.width(2.4), "").points(
                &[mean.value],
                &[i as f64],
                style.marker(Marker::Diamond),
                5.0,
                "",
            );
        }
        panel
    }

    fn of(&self, kind: (&str, Colour)) -> &[f64] {
        self.strips.iter().find(|s| s.kind.0 == kind.0).map_or(&[], |s| &s.values)
    }

    fn row(&self) -> Vec<String> {
        let texts = [IN_SAMPLE, CAVITY, REFIT, HELD_OUT].map(|kind| match self.of(kind) {
            [] => "–".to_owned(),
            values => Mean::of(values).text(),
        });
        std::iter::once(self.name.clone()).chain(texts).collect()
    }

    /// Left out agrees with held out, in sample does not.
    fn checks(&self, over: &str) -> [Check; 2] {
        let held_out = self.of(HELD_OUT);
        let off = |kind| Mean::of(&differences(self.of(kind), held_out));
        let (cavity, in_sample) = (off(CAVITY), off(IN_SAMPLE));
        let numbers = |m: Mean| format!("mean difference {} over {} {over}", m.text(), held_out.len());
        [
            words().fact(
                "left-out-agrees-held",
                cavity.value.abs() <= ERRORS * cavity.error,
                &[&self.name, &ERRORS, &numbers(cavity)],
            ),
            words().fact(
                "density-sample-too-high",
                in_sample.value > ERRORS * in_sample.error,
                &[&self.name, &ERRORS, &numbers(in_sample)],
            ),
        ]
    }
}

/// Panels with fewer values than this show each.
const FEW: usize = 60;

/// One setting: refits on the first data set, means over all.
fn synthetic(ctx: &Context, name: &str, setting: Setting) -> Result<(Refitted, Means), ReproError> {
    let prior = setting.prior()?;
    let mut strips = [IN_SAMPLE, CAVITY, HELD_OUT].map(|kind| Strip { kind, values: Vec::new() });
    let mut refitted = None;
    for k in 0..ctx.pick(20, 6) {
        // One draw for both, so that the classes are the same.
        let all = Setting { n: setting.n + FRESH, ..setting }.data(ctx.seed, k)?;
        let (data, fresh) = (rows(&all, |i| i < setting.n)?, rows(&all, |i| i >= setting.n)?);
        let fitted = fit(&prior, &data)?;
        let values =
            [log_densities(&fitted.belief, &data)?, cavities(&fitted, &data)?, log_densities(&fitted.belief, &fresh)?];
        for (strip, v) in strips.iter_mut().zip(values) {
            strip.values.push(Mean::of(&v).value);
        }
        if k == 0 {
            let count = if setting.d > 10 { ctx.pick(100, 25) } else { setting.n };
            refitted = Some(Refitted::new(&prior, &fitted, &data, count)?);
        }
        ctx.step(name);
    }
    let refitted = refitted.context(name)?;
    Ok((refitted, Means { name: name.to_owned(), strips: strips.into() }))
}

/// The breast tumours: cavities, refits, and ten folds in random order.
fn tumours(ctx: &Context) -> Result<(Refitted, Means), ReproError> {
    let name = "breast tumours, σ₀ = 10";
    let data = vi_data::breast_cancer().and_then(|d| d.with_intercept()).context("data")?;
    let data = data.shuffled(&mut ChaCha8Rng::seed_from_u64(ctx.seed));
    let prior = prior(data.d(), 0.0, SIGMA0_REAL)?;
    let fitted = fit(&prior, &data)?;
    let mut held_out = vec![0.0; data.n()];
    for fold in 0..FOLDS {
        let belief = fit(&prior, &rows(&data, |i| i % FOLDS != fold)?)?.belief;
        let found = log_densities(&belief, &rows(&data, |i| i % FOLDS == fold)?)?;
        for (place, value) in held_out.iter_mut().skip(fold).step_by(FOLDS).zip(found) {
            *place = value;
        }
    }
    ctx.step(name);
    let refitted = Refitted::new(&prior, &fitted, &data, ctx.pick(data.n(), 70))?;
    ctx.step(name);
    let mut strips = vec![
        Strip { kind: IN_SAMPLE, values: log_densities(&fitted.belief, &data)? },
        Strip { kind: CAVITY, values: cavities(&fitted, &data)? },
    ];
    if refitted.refit.len() == data.n() {
        strips.push(Strip { kind: REFIT, values: refitted.refit.clone() });
    }
    strips.push(Strip { kind: HELD_OUT, values: held_out });
    Ok((refitted, Means { name: name.to_owned(), strips }))
}

/// Leave-one-out against refits and held-out data.
pub(super) fn leave_one_out(ctx: &Context) -> Result<Outcome, ReproError> {
    ctx.steps(SETTINGS.len() * ctx.pick(20, 6) + 2);
    let mut studies = Vec::new();
    for (name, setting) in SETTINGS {
        studies.push((synthetic(ctx, name, setting)?, "data sets"));
    }
    studies.push((tumours(ctx)?, "rows"));

    let mut table = Table::new("", &["panel", "row", "cavity", "refit"]);
    let mut means = Table::new("means", &["panel", "kind", "unit", "log_density"]);
    let mut beyond = Vec::new();
    for ((refitted, study), over) in &studies {
        for ((row, cavity), refit) in refitted.rows.iter().zip(&refitted.cavity).zip(&refitted.refit) {
            table.push(&[&study.name, &row, &short(*cavity), &short(*refit)])?;
        }
        for s in &study.strips {
            for (unit, value) in s.values.iter().enumerate() {
                means.push(&[&study.name, &s.kind.0, &unit, &short(*value)])?;
            }
        }
        beyond.push(refitted.check(&study.name));
        beyond.extend(study.checks(over));
    }
    let agree = studies.iter().map(|((_, s), over)| s.checks(over)).filter(|c| c[0].verdict == Verdict::Holds);
    let head = ["mean log density ± standard error (nats)", IN_SAMPLE.0, CAVITY.0, REFIT.0, HELD_OUT.0];
    Ok(Outcome {
        checks: beyond,
        shown: Shown::new(head, studies.iter().map(|((_, s), _)| s.row())),
        tables: vec![table, means],
        figure: Figure::new("Leave-one-out from the cavities")
            .row(300.0, studies.iter().map(|((r, s), _)| r.panel(&s.name)).collect())
            .row(230.0, studies.iter().map(|((_, s), _)| s.panel("")).collect()),
        ..words().outcome(
            ctx,
            &[
                &agree.count(),
                &studies.len(),
                &studies.iter().map(|((r, _), _)| r.largest()).fold(0.0, f64::max),
                &FRESH,
                &FOLDS,
            ],
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_and_its_error() {
        let m = Mean::of(&[1.0, 2.0, 3.0, 6.0]);
        assert_eq!(m.value, 3.0);
        // Sample variance 14/3, over 4.
        assert!((m.error - (14.0_f64 / 12.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn rows_are_those_asked_for_in_order() {
        let data = Dataset::new((0..8).map(f64::from).collect(), vec![0.0, 1.0, 1.0, 0.0], None).unwrap();
        let odd = rows(&data, |i| i % 2 == 1).unwrap();
        assert_eq!(odd.rows_row_major(), [2.0, 3.0, 6.0, 7.0]);
        assert_eq!(odd.y(), [1.0, 0.0]);
        assert!(rows(&data, |_| false).is_err());
    }
}
