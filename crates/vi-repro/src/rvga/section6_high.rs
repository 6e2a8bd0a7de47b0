//! §6.3: higher dimension (Figures 7 to 10).

use std::sync::Arc;

use super::methods::{FILTERS, Path, times};
use super::refined::{self, COMPARED_AND_BEST};
use super::replicate::{Finals, Setting, column, count};
use super::words;
use crate::error::ReproError;
use crate::item::Context;
use crate::logistic::{Posterior, laplace};
use crate::plot::palette::Method::{self, BatchVga, Ekf, Laplace, Qkf, Refinement, RvgaExplicit, RvgaImplicit};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, MOST, Outcome, Shown, Table, join, median, number};

const BASE: Setting = Setting { n: 500, d: 100, s: 2.0, c: 0.0, sigma0: 1.0, mu0_norm: 0.0 };

/// One setting: divergences over time on the data set drawn, final ones on more.
struct Case {
    name: String,
    curves: Vec<(Method, Vec<f64>, Vec<f64>)>,
    broke: Vec<String>,
    finals: Vec<Finals>,
}

impl Case {
    fn new(ctx: &Context, name: String, setting: Setting) -> Result<Self, ReproError> {
        let prior = setting.prior()?;
        let data = setting.data(ctx.seed, 0)?;
        let posterior = Posterior::new(&prior, &data)?;
        let at = times(data.n(), ctx.pick(60, 25));
        let mut curves = Vec::new();
        let mut broke = Vec::new();
        for method in FILTERS {
            let path = Path::new(method, &prior, &data, &at)?;
            let (t, kl) = path.kl(&posterior)?;
            curves.push((method, t, kl));
            broke.extend(path.broke.map(|b| format!("{name}: {b}")));
        }
        let kl = posterior.kl(&laplace(&prior, &data)?)?;
        let last = data.n() as f64;
        curves.push((Laplace, vec![0.0, last], vec![kl, kl]));
        ctx.step(&name);
        let mut finals = Vec::new();
        for k in 0..ctx.pick(20, 4) {
            finals.push(Finals::new(&prior, &setting.data(ctx.seed, k)?)?);
        }
        ctx.step(&name);
        curves.push((BatchVga, vec![0.0, last], vec![finals[0].of(BatchVga); 2]));
        curves.push((Refinement, vec![last], vec![finals[0].of(Refinement)]));
        Ok(Self { name, curves, broke, finals })
    }

    fn panel(&self) -> Panel {
        let mut panel = Panel::new(self.name.clone(), Axis::linear("observations"), Axis::log("KL − log Z (nats)"));
        for (m, t, kl) in &self.curves {
            panel = match m {
                Laplace => panel.line_marked(t, kl, m.style(), 0, m.label()),
                BatchVga => panel.line_marked(t, kl, m.style().width(1.4), 0, m.label()),
                Refinement => panel.points(t, kl, m.style(), 6.0, &refined::label(*m)),
                _ => panel.line(t, kl, m.style(), m.label()),
            };
        }
        panel
    }

    fn gap_panel(&self) -> Panel {
        refined::gap_panel(&format!("{}: {} data sets", self.name, self.finals.len()), &self.finals)
    }

    fn of(&self, m: Method) -> f64 {
        self.finals[0].of(m)
    }

    fn median(&self, m: Method) -> f64 {
        median(&column(&self.finals, m))
    }
}

/// A sentence pooled over all cases and data sets.
fn pooled(cases: &[Case], name: &str, holds: impl Fn(&Finals) -> bool) -> Check {
    let counts: Vec<_> = cases.iter().map(|c| (&c.name, count(&c.finals, &holds))).collect();
    words().pooled(name, &counts, &[])
}

/// “Susceptible to beat”: on most data sets of some panel.
fn beats_laplace_somewhere(cases: &[Case]) -> Check {
    let wins = |c: &Case| count(&c.finals, |f| f.of(RvgaImplicit) < f.of(Laplace));
    let somewhere = cases.iter().any(|c| wins(c).0 as f64 >= MOST * wins(c).1 as f64);
    let each = join(cases, "; ", |c| format!("{}: {} of {}", c.name, wins(c).0, wins(c).1));
    words().fact("susceptible", somewhere, &[&each])
}

/// `further` sentences stand after those of all four figures; the panels are in `rows` rows.
fn outcome(
    ctx: &Context,
    title: &str,
    rows: usize,
    cases: &[Case],
    further: Vec<Check>,
) -> Result<Outcome, ReproError> {
    let own = vec![
        pooled(cases, "high-over-ekf", |f| f.of(RvgaImplicit) < f.of(Ekf)),
        pooled(cases, "high-over-qkf", |f| f.of(RvgaImplicit) < f.of(Qkf)),
        pooled(cases, "second", |f| f.of(RvgaExplicit) < f.of(Ekf).min(f.of(Qkf))),
    ];
    let mut table = Table::new("", &["panel", "t", "method", "kl_z1"]);
    let mut further_sets = Table::new("data-sets", &["panel", "data_set", "method", "kl_z1"]);
    let mut shown = vec![];
    for c in cases {
        for (m, t, kl) in &c.curves {
            for (t, kl) in t.iter().zip(kl) {
                table.push(&[&c.name, t, &m.slug(), kl])?;
            }
        }
        for (k, f) in c.finals.iter().enumerate() {
            for m in COMPARED_AND_BEST {
                further_sets.push(&[&c.name, &k, &m.slug(), &f.of(m)])?;
            }
        }
        let both = |m: &Method| format!("{} ({})", number(c.of(*m)), number(c.median(*m)));
        shown.push(std::iter::once(c.name.clone()).chain(COMPARED_AND_BEST.iter().map(both)).collect());
    }
    let refined_cases: Vec<(&str, &[Finals])> = cases.iter().map(|c| (c.name.as_str(), c.finals.as_slice())).collect();
    let mut figure = Figure::new(title);
    for row in cases.chunks(cases.len().div_ceil(rows)) {
        figure = figure.row(340.0, row.iter().map(Case::panel).collect());
        figure = figure.row(260.0, row.iter().map(Case::gap_panel).collect());
    }
    let head = std::iter::once("KL − log Z".to_owned()).chain(COMPARED_AND_BEST.iter().map(|m| refined::label(*m)));
    let panels = |holds: &dyn Fn(&Case) -> bool| cases.iter().filter(|c| holds(c)).count();
    let first = panels(&|c| FILTERS.iter().all(|m| c.median(RvgaImplicit) <= c.median(*m)));
    let second = panels(&|c| c.median(RvgaExplicit) <= c.median(Ekf).min(c.median(Qkf)));
    let laplace = panels(&|c| c.median(Laplace) < c.median(RvgaImplicit));
    let sets = cases.first().map_or(0, |c| c.finals.len());
    let mut out = Outcome {
        checks: [own, further, refined::checks(&refined_cases, "data sets", false)].concat(),
        shown: Shown::new(head, shown),
        tables: vec![table, further_sets, refined::gap_table(&refined_cases)?],
        figure,
        ..words().outcome(ctx, &[&first, &cases.len(), &second, &laplace, &sets])
    };
    out.notes.extend(cases.iter().flat_map(|c| c.broke.clone()));
    out.notes.extend(refined::remarks(&refined_cases, "data set"));
    Ok(out)
}

/// Three dimensions, made once for both figures.
fn dimensions(ctx: &Context, sigma0: f64) -> Result<Arc<Vec<Case>>, ReproError> {
    ctx.once(&format!("rvga dimensions {sigma0}"), || {
        let case = |d| Case::new(ctx, format!("d = {d}"), Setting { d, sigma0, ..BASE });
        [30, 70, 100].into_iter().map(case).collect()
    })
}

/// Fig 7: σ₀ = 1, three dimensions.
pub(super) fn fig7(ctx: &Context) -> Result<Outcome, ReproError> {
    ctx.steps(6);
    outcome(ctx, "σ₀ = 1, μ₀ = 0, s = 2, c = 0, N = 500", 1, &dimensions(ctx, 1.0)?, vec![])
}

/// Fig 8: σ₀ = 30, three dimensions.
pub(super) fn fig8(ctx: &Context) -> Result<Outcome, ReproError> {
    ctx.steps(12);
    let (cases, sharp) = (dimensions(ctx, 30.0)?, dimensions(ctx, 1.0)?);
    let gap = |c: &Case| c.median(Ekf).min(c.median(Qkf)) - c.median(RvgaImplicit);
    let pairs = || cases.iter().zip(sharp.iter());
    let numbers = join(pairs(), "; ", |(flat, sharp)| {
        format!("{}: {} nats against {}", flat.name, number(gap(flat)), number(gap(sharp)))
    });
    let stark = words().fact("stark", pairs().all(|(flat, sharp)| gap(flat) > gap(sharp)), &[&numbers]);
    outcome(ctx, "σ₀ = 30, μ₀ = 0, s = 2, c = 0, N = 500", 1, &cases, vec![stark])
}

/// Fig 9: three separations, with the σ₀ of the caption and the one that was run.
pub(super) fn fig9(ctx: &Context) -> Result<Outcome, ReproError> {
    ctx.steps(12);
    let mut cases = Vec::new();
    for sigma0 in [10.0, 1.0] {
        for s in [1.0, 3.0, 5.0] {
            let setting = Setting { n: 200, s, sigma0, ..BASE };
            cases.push(Case::new(ctx, format!("s = {s}, σ₀ = {sigma0}"), setting)?);
        }
    }
    outcome(ctx, "μ₀ = 0, d = 100, c = 0, N = 200", 2, &cases, vec![beats_laplace_somewhere(&cases)])
}

/// Fig 10: three condition numbers of the inputs' covariance.
pub(super) fn fig10(ctx: &Context) -> Result<Outcome, ReproError> {
    ctx.steps(6);
    let case = |c| Case::new(ctx, format!("c = {c}"), Setting { n: 200, c, sigma0: 10.0, ..BASE });
    let cases = [0.0, 1.0, 2.0].into_iter().map(case).collect::<Result<Vec<_>, _>>()?;
    outcome(ctx, "σ₀ = 10, μ₀ = 0, s = 2, d = 100, N = 200", 1, &cases, vec![])
}
