//! The two-dimensional experiments: what every one of Figures 3-6 and 14-16 computes and draws.

use vi_data::{CsvSettings, Dataset, read_csv};

use super::methods::{COMPARED, FILTERS, Path};
use super::refined::{self, COMPARED_AND_BEST, Refined};
use super::replicate::{Finals, Setting, column};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::logistic::{Planar, Posterior, Window, add_ellipse, include, laplace, moments, remark};
use crate::plot::palette::{BLACK, CLASS_0, CLASS_1, Marker, Method, Style, WHITE};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Quantity, Shown, Table, join, number, quartiles};

/// Everything computed for one of the figures.
pub(super) struct Run {
    pub(super) data: Dataset,
    pub(super) paths: Vec<Path>,
    pub(super) laplace: vi_core::DenseGaussian,
    refined: Refined,
    pub(super) truth: Planar,
    /// `(t, KL with Z = 1)` for each filter.
    pub(super) kl: Vec<(Vec<f64>, Vec<f64>)>,
    /// The paper's own data set first, then generated ones.
    pub(super) finals: Vec<Finals>,
    pub(super) setting: Setting,
    prior: vi_core::DenseGaussian,
    window: Window,
    resolution: usize,
}

/// The final KL of each method by the authors' program, on the stored data sets.
const AUTHORS: &str = include_str!("../../data/rvga-authors.csv");

/// How many times wider than the posterior's own a window may become to show a belief.
const WIDEST: f64 = 5.0;

impl Run {
    /// Runs all methods on the stored data set `csv` and, for the verdict, on generated ones too.
    pub(super) fn new(ctx: &Context, csv: &str, setting: Setting) -> Result<Self, ReproError> {
        let replicates = ctx.pick(40, 8);
        ctx.steps(replicates + 2);
        let data = read_csv(csv.as_bytes(), &CsvSettings::default()).context("stored data")?;
        let prior = setting.prior()?;
        let posterior = Posterior::new(&prior, &data)?;
        let laplace = laplace(&prior, &data)?;
        let (mean, cov) = moments(&laplace);
        let truth = Planar::new(&posterior, mean, cov, ctx.pick(400, 240))?;
        ctx.step("true posterior on a grid");
        let all: Vec<usize> = (0..=data.n()).collect();
        let paths = FILTERS.iter().map(|m| Path::new(*m, &prior, &data, &all)).collect::<Result<Vec<_>, _>>()?;
        let kl = paths.iter().map(|p| p.kl(&posterior)).collect::<Result<Vec<_>, _>>()?;
        ctx.step("filters");
        let refined = Refined::new(&prior, &data)?;
        let mut finals = vec![Finals::new(&prior, &data)?];
        for k in 1..replicates {
            finals.push(Finals::new(&prior, &setting.data(ctx.seed, k)?)?);
            ctx.step("further data sets");
        }
        let mut window = truth.region;
        include(&mut window, &laplace)?;
        let resolution = ctx.pick(161, 101);
        Ok(Self { data, paths, laplace, refined, truth, kl, finals, setting, prior, window, resolution })
    }

    /// The normalised final KL of `method` on the stored data set.
    pub(super) fn stored(&self, method: Method) -> f64 {
        self.finals[0].of(method)
    }

    /// The final KL of the paper's methods, by the authors' program and by ours.
    fn quantities(&self, item: &str) -> Result<Vec<Quantity>, ReproError> {
        let mut theirs = Vec::new();
        for row in csv::Reader::from_reader(AUTHORS.as_bytes()).deserialize() {
            let (figure, slug, kl): (u32, String, f64) = row.context("the authors’ numbers")?;
            theirs.push((format!("fig{figure}"), slug, kl));
        }
        let authors = |m: Method| theirs.iter().find(|(f, slug, _)| f == item && slug == m.slug()).map(|row| row.2);
        let mut out: Vec<Quantity> = COMPARED
            .iter()
            .map(|m| {
                let quantity = Quantity::new(format!("final KL, {}", m.label())).printed(number(self.stored(*m)));
                quantity.authors(authors(*m).map_or(String::new(), number))
            })
            .collect();
        for m in [Method::Refinement, Method::BatchVga] {
            out.push(Quantity::new(format!("final KL, {}", refined::label(m))).works(number(self.stored(m))));
        }
        Ok(out)
    }

    /// The numbers most worth reading.
    fn shown(&self) -> Shown {
        let head = ["method", "KL, Z = 1", "KL, normalised", "median over data sets", "quartiles"];
        let rows = COMPARED_AND_BEST.iter().map(|m| {
            let [low, middle, high] = quartiles(&column(&self.finals, *m));
            let kl = self.stored(*m);
            vec![
                refined::label(*m),
                number(kl - self.truth.log_z),
                number(kl),
                number(middle),
                format!("{} to {}", number(low), number(high)),
            ]
        });
        Shown::new(head, rows)
    }

    /// What the item is in words, numbers and the given picture.
    pub(super) fn outcome(&self, ctx: &Context, checks: Vec<Check>, figure: Figure) -> Result<Outcome, ReproError> {
        let mut order = COMPARED;
        order.sort_by(|a, b| self.stored(*a).total_cmp(&self.stored(*b)));
        let list = join(order, " < ", |m| format!("{} {}", m.label(), number(self.stored(m))));
        let beaten = self.stored(Method::Laplace) < self.stored(Method::RvgaImplicit);
        let winner = if beaten { "Laplace beats one-pass R-VGA" } else { "One-pass R-VGA beats Laplace" };
        let (optimum, gap) = (self.stored(Method::BatchVga), refined::gap_shown(&self.finals[0].gaps));
        let (generated, change) = (self.finals.len() - 1, self.truth.refinement.abs());
        let said = words().outcome(
            ctx,
            &[&winner, &list, &optimum, &gap, &refined::SHOWN_AFTER, &generated, &self.truth.log_z, &change],
        );
        let broke = self.paths.iter().filter_map(|p| p.broke.clone());
        let further = broke.chain(refined::remarks(&[("", &self.finals)], "data set"));
        Ok(Outcome {
            notes: said.notes.iter().cloned().chain(further).collect(),
            checks,
            quantities: self.quantities(ctx.item)?,
            shown: self.shown(),
            tables: self.tables()?,
            figure,
            ..said
        })
    }

    /// The tables: KL over time, final beliefs, the further data sets.
    fn tables(&self) -> Result<Vec<Table>, ReproError> {
        let mut time = Table::new("", &["t", "method", "kl_z1", "kl_normalised"]);
        for (path, (t, kl)) in self.paths.iter().zip(&self.kl) {
            for (t, kl) in t.iter().zip(kl) {
                time.push(&[t, &path.method.slug(), kl, &(kl + self.truth.log_z)])?;
            }
        }
        let mut beliefs = Table::new("beliefs", &["method", "mean1", "mean2", "cov11", "cov12", "cov22"]);
        let mut push = |name: &str, mean: [f64; 2], cov: [[f64; 2]; 2]| {
            let numbers = [mean[0], mean[1], cov[0][0], cov[0][1], cov[1][1]];
            beliefs.row(&[&name], numbers)
        };
        push(Method::TruePosterior.slug(), self.truth.mean, self.truth.cov)?;
        let (mean, cov) = moments(&self.laplace);
        push(Method::Laplace.slug(), mean, cov)?;
        for (m, belief) in [(Method::Refinement, &self.refined.belief), (Method::BatchVga, &self.refined.optimum)] {
            let (mean, cov) = moments(belief);
            push(m.slug(), mean, cov)?;
        }
        for p in &self.paths {
            let (mean, cov) = moments(p.last()?);
            push(p.method.slug(), mean, cov)?;
        }
        let mut further = Table::new("data-sets", &["data_set", "method", "kl_normalised"]);
        for (k, f) in self.finals.iter().enumerate() {
            for m in COMPARED_AND_BEST {
                further.push(&[&k, &m.slug(), &f.of(m)])?;
            }
        }
        Ok(vec![time, beliefs, further, refined::gap_table(&[("", &self.finals)])?])
    }

    /// The data set with its classes.
    pub(super) fn data_panel(&self) -> Panel {
        let class =
            |y: f64, i: usize| -> Vec<f64> { self.data.observations().filter(|o| o.1 == y).map(|o| o.0[i]).collect() };
        let s = &self.setting;
        Panel::new(format!("Inputs: s = {}, c = {}", s.s, s.c), Axis::linear("x₁"), Axis::linear("x₂"))
            .equal_scales()
            .points(&class(0.0, 0), &class(0.0, 1), CLASS_0.alpha(0.75), 4.0, "class 0")
            .points(&class(1.0, 0), &class(1.0, 1), CLASS_1.alpha(0.75), 4.0, "class 1")
    }

    /// KL over time, with `Z = 1` or normalised, and Laplace's as a reference line.
    pub(super) fn kl_panel(&self, normalised: bool) -> Panel {
        let shift = if normalised { self.truth.log_z } else { 0.0 };
        let values: Vec<f64> =
            self.kl.iter().flat_map(|(_, k)| k).map(|k| k + shift).filter(|v| v.is_finite()).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (title, label) = if normalised {
            ("KL to the posterior, normalised", "KL (nats)")
        } else {
            ("KL to the posterior, Z = 1", "KL − log Z (nats)")
        };
        let y = if low > 0.0 && high > 10.0 * low { Axis::log(label) } else { Axis::linear(label) };
        let mut panel = Panel::new(title, Axis::linear("observations"), y);
        for (path, (t, kl)) in self.paths.iter().zip(&self.kl) {
            let kl: Vec<f64> = kl.iter().map(|k| k + shift).collect();
            panel = panel.line(t, &kl, path.method.style(), path.method.label());
        }
        let level = |m: Method| self.stored(m) - self.truth.log_z + shift;
        let last = self.data.n() as f64;
        panel
            .horizontal(level(Method::Laplace), Method::Laplace.style(), Method::Laplace.label())
            .horizontal(level(Method::BatchVga), Method::BatchVga.style().width(1.4), Method::BatchVga.label())
            .points(
                &[last],
                &[level(Method::Refinement)],
                Method::Refinement.style(),
                6.0,
                &refined::label(Method::Refinement),
            )
    }

    /// The posterior's contours with the final ellipses of `methods` and of Laplace.
    pub(super) fn ellipse_panel(&self, title: &str, methods: &[Method]) -> Result<Panel, ReproError> {
        let mut view = self.window;
        let paths: Vec<&Path> = self.paths.iter().filter(|p| methods.contains(&p.method)).collect();
        for path in &paths {
            view = self.widened(view, path.last()?)?;
        }
        let mut panel = self.background(title, view)?;
        for path in paths {
            let (mean, cov) = moments(path.last()?);
            panel = add_ellipse(panel, mean, cov, path.method.style(), path.method.label())?;
            panel = remark(panel, view, path.method.label(), mean);
        }
        Ok(panel)
    }

    /// The ellipses of one filter at several times, pale to strong, the last in black.
    pub(super) fn evolution_panel(&self, path: &Path, times: &[usize]) -> Result<Panel, ReproError> {
        let shown: Vec<_> = path.beliefs.iter().filter(|(t, _)| times.contains(t)).map(|(_, b)| b).collect();
        let mut view = self.window;
        for belief in shown.iter().rev() {
            view = self.widened(view, belief)?;
        }
        let mut panel = self.background(path.method.label(), view)?;
        for (i, belief) in shown.iter().enumerate() {
            let (mean, cov) = moments(belief);
            let fade = 0.65 * (1.0 - (i as f64 + 1.0) / shown.len() as f64);
            let (style, label) = if i + 1 == shown.len() {
                (Style::solid(BLACK).width(2.4), "final time")
            } else {
                (Style::solid(path.method.style().colour.mix(WHITE, fade)).width(1.6), "")
            };
            panel = add_ellipse(panel, mean, cov, style, label)?;
        }
        let (mean, _) = moments(path.last()?);
        Ok(remark(panel, view, "final mean", mean))
    }

    /// `view` enlarged to hold the ellipse of `belief`, unless that would dwarf the posterior.
    fn widened(&self, view: Window, belief: &vi_core::DenseGaussian) -> Result<Window, ReproError> {
        let mut out = view;
        include(&mut out, belief)?;
        let fits = out.iter().zip(&self.window).all(|(new, own)| new.1 - new.0 <= WIDEST * (own.1 - own.0));
        Ok(if fits { out } else { view })
    }

    fn background(&self, title: &str, view: Window) -> Result<Panel, ReproError> {
        let [x, y] = view.map(|(lo, hi)| (lo - 0.06 * (hi - lo), hi + 0.06 * (hi - lo)));
        let posterior = Posterior::new(&self.prior, &self.data)?;
        let contours = Planar::window(&posterior, [x, y], self.resolution)?;
        let truth = Method::TruePosterior;
        let panel = Panel::new(title, Axis::linear("θ₁").range(x.0, x.1), Axis::linear("θ₂").range(y.0, y.1))
            .contours(&contours, &self.truth.levels, truth.style().width(1.4), truth.label())
            .points(&[self.truth.mean[0]], &[self.truth.mean[1]], truth.style().marker(Marker::Plus), 5.0, "");
        let (mean, cov) = moments(&self.laplace);
        add_ellipse(panel, mean, cov, Method::Laplace.style(), Method::Laplace.label())
    }

    /// The checks on refinement and optimum; `target` says whether its gap was promised here.
    pub(super) fn refined_checks(&self, target: bool) -> Vec<Check> {
        refined::checks(&[("", &self.finals)], "data sets", target)
    }

    /// Refined belief and optimum, the gap between them, and everybody's final divergence.
    pub(super) fn refined_row(&self) -> Result<Vec<Panel>, ReproError> {
        let title = format!("KL above the optimum, {} data sets", self.finals.len());
        Ok(vec![self.best_panel()?, refined::gap_panel(&title, &self.finals), self.strip_panel()])
    }

    fn best_panel(&self) -> Result<Panel, ReproError> {
        let ours = Method::RvgaImplicit;
        let mut panel = self.ellipse_panel("Refinement and the optimum", &[ours])?;
        for (m, belief, width) in
            [(Method::Refinement, &self.refined.belief, 4.0), (Method::BatchVga, &self.refined.optimum, 1.6)]
        {
            let (mean, cov) = moments(belief);
            panel = add_ellipse(panel, mean, cov, m.style().width(width), &refined::label(m))?;
        }
        Ok(panel)
    }

    /// The final KL of every method on every data set.
    fn strip_panel(&self) -> Panel {
        let names = COMPARED_AND_BEST.iter().rev().map(|m| refined::label(*m)).collect();
        let title = format!("Final KL, {} data sets", self.finals.len());
        let mut panel = Panel::new(title, Axis::log("KL (nats)"), Axis::categories("", names));
        for (i, m) in COMPARED_AND_BEST.iter().rev().enumerate() {
            let values = column(&self.finals, *m);
            let spread = |k: usize| i as f64 + 0.22 * ((k as f64 * 0.618_034).fract() - 0.5) * 2.0;
            let y: Vec<f64> = (0..values.len()).map(spread).collect();
            let style = Style::solid(m.style().colour).marker(Marker::Disc).alpha(0.6);
            let [_, middle, _] = quartiles(&values);
            let cross = if style.colour == BLACK { WHITE } else { BLACK };
            panel = panel
                .points(&values[1..], &y[1..], style, 3.2, "")
                .points(&[values[0]], &[i as f64], Style::solid(cross).marker(Marker::Cross), 5.5, "")
                .line_marked(
                    &[middle, middle],
                    &[i as f64 - 0.36, i as f64 + 0.36],
                    Style::solid(m.style().colour).width(3.0),
                    0,
                    "",
                );
        }
        panel
    }
}
