//! Appendix 9.5: the implicit system, its iterated bounds and plain fixed-point iteration (Figs 12, 13).

use vi_core::expectation::ProbitApproximation;
use vi_core::implicit::probit_root;
use vi_core::special::{sigmoid, sigmoid_derivative};

use super::shared::DIVERGING;
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{BLACK, BLUE, Dash, GREEN, GREY, Marker, Style, VERMILLION};
use crate::plot::{Axis, Figure, Grid, Panel, linspace, logspace};
use crate::report::{Check, Outcome, Shown, Table, number, short};

/// The parameters `(α₀, ν₀, y)` of the system.
#[derive(Clone, Copy)]
struct System {
    a: f64,
    nu: f64,
    y: f64,
}

/// A box that holds the root.
#[derive(Clone, Copy)]
struct Bounds {
    alpha: (f64, f64),
    nu: (f64, f64),
}

impl System {
    /// `F̃`, (125)-(126).
    fn map(&self, alpha: f64, nu: f64) -> (f64, f64) {
        let k = ProbitApproximation::scale(nu);
        (
            self.a + self.nu * self.y - self.nu * sigmoid(k * alpha),
            self.nu / (1.0 + self.nu * k * sigmoid_derivative(k * alpha)),
        )
    }

    /// `F = (f, g)`, (69)-(70).
    fn residual(&self, alpha: f64, nu: f64) -> (f64, f64) {
        let (next_alpha, next_nu) = self.map(alpha, nu);
        (alpha - next_alpha, nu - next_nu)
    }

    /// The coarse box, (127)-(128).
    fn coarse(&self) -> Bounds {
        Bounds {
            alpha: (self.a + self.nu * (self.y - 1.0), self.a + self.nu * self.y),
            nu: (self.nu * (1.0 - self.nu / (4.0 + self.nu)), self.nu),
        }
    }

    /// One tightening of the box, (129)-(136).
    fn tighten(&self, b: &Bounds) -> Bounds {
        let (k_low, k_high) = (ProbitApproximation::scale(b.nu.1), ProbitApproximation::scale(b.nu.0));
        let a1 = b.alpha.0 * if b.alpha.0 >= 0.0 { k_low } else { k_high }; // (130)
        let a2 = b.alpha.1 * if b.alpha.1 >= 0.0 { k_high } else { k_low }; // (131)
        let (d1, d2) = (sigmoid_derivative(a1), sigmoid_derivative(a2));
        let b1 = d1.min(d2);
        let b2 = if a1 * a2 > 0.0 { d1.max(d2) } else { 0.25 }; // (134)-(135)
        let top = self.a + self.nu * self.y;
        Bounds {
            alpha: (top - self.nu * sigmoid(a2), top - self.nu * sigmoid(a1)), // (132)
            nu: (self.nu / (1.0 + self.nu * k_high * b2), self.nu / (1.0 + self.nu * k_low * b1)), // (136)
        }
    }

    /// Largest modulus of the eigenvalues of F̃'s Jacobian at `(α, ν)`, by central differences.
    fn spectral_radius(&self, alpha: f64, nu: f64) -> f64 {
        let (h, l) = (1e-5 * alpha.abs().max(1e-3), 1e-5 * nu);
        let (pa, ma) = (self.map(alpha + h, nu), self.map(alpha - h, nu));
        let (pn, mn) = (self.map(alpha, nu + l), self.map(alpha, nu - l));
        let j = [
            [(pa.0 - ma.0) / (2.0 * h), (pn.0 - mn.0) / (2.0 * l)],
            [(pa.1 - ma.1) / (2.0 * h), (pn.1 - mn.1) / (2.0 * l)],
        ];
        let (half_trace, det) = (f64::midpoint(j[0][0], j[1][1]), j[0][0] * j[1][1] - j[0][1] * j[1][0]);
        let disc = half_trace * half_trace - det;
        if disc >= 0.0 { half_trace.abs() + disc.sqrt() } else { det.sqrt() }
    }
}

/// Fig 12: f and g over the domain, with the start and the root.
pub(super) fn fig12(ctx: &Context) -> Result<Outcome, ReproError> {
    let system = System { a: 100.0, nu: 300.0, y: 0.0 };
    let root = probit_root(system.y, system.a, system.nu).context("implicit root")?;
    let domain = system.coarse();
    let n = ctx.pick(61, 61);
    let (alphas, nus) = (linspace(domain.alpha.0, domain.alpha.1, n), linspace(domain.nu.0, domain.nu.1, n));
    let f = Grid::of(alphas.clone(), nus.clone(), |a, v| system.residual(a, v).0)?;
    let g = Grid::of(alphas.clone(), nus.clone(), |a, v| system.residual(a, v).1)?;
    let norm = Grid::of(alphas.clone(), nus.clone(), |a, v| {
        let (f, g) = system.residual(a, v);
        f.hypot(g).log10()
    })?;
    let mut table = Table::new("", &["alpha", "nu", "f", "g"]);
    for v in &nus {
        for a in &alphas {
            let (f, g) = system.residual(*a, *v);
            table.row(&[], [*a, *v, f, g].map(short))?;
        }
    }
    let (f_line, g_line) = (Style::solid(BLACK).width(2.5), Style::solid(BLACK).width(2.5).dash(Dash::Dashed));
    let points = |p: Panel| {
        p.points(&[system.a], &[system.nu], Style::solid(BLUE).marker(Marker::Disc), 7.0, "start (α₀, ν₀)").points(
            &[root.alpha],
            &[root.nu],
            Style::solid(VERMILLION).marker(Marker::Diamond),
            7.0,
            "root (α, ν)",
        )
    };
    let panel = |title: &str| Panel::new(title, Axis::linear("α"), Axis::linear("ν"));
    let symmetric = |g: &Grid| g.extent().map_or((-1.0, 1.0), |(l, h)| (-l.abs().max(h.abs()), l.abs().max(h.abs())));
    let figure = Figure::new("The system F = (f, g) for α₀ = 100, ν₀ = 300, y = 0").row(
        400.0,
        vec![
            points(panel("f(α, ν)").heat(&f, DIVERGING, symmetric(&f), true).contours(&f, &[0.0], f_line, "f = 0")),
            points(panel("g(α, ν)").heat(&g, DIVERGING, symmetric(&g), true).contours(&g, &[0.0], g_line, "g = 0")),
            points(
                panel("log₁₀ ‖F(α, ν)‖")
                    .heat(&norm, super::shared::SEQUENTIAL, norm.extent().unwrap_or((0.0, 3.0)), true)
                    .contours(&f, &[0.0], f_line, "f = 0")
                    .contours(&g, &[0.0], g_line, "g = 0"),
            ),
        ],
    );
    let (rf, rg) = system.residual(root.alpha, root.nu);
    let hardest = hardest_root(ctx)?;
    Ok(Outcome {
        checks: vec![
            words().counted("in-domain", hardest.inside, &[&root.alpha, &root.nu]),
            words().below("root-solves-system-rounding", rf.hypot(rg) / system.nu, 1e-12),
            words().below("root-found-every-input", hardest.error, 1e-10),
        ],
        tables: vec![table],
        figure,
        ..words().outcome(ctx, &[&root.alpha, &root.nu, &hardest.inside.1, &hardest.error])
    })
}

/// What the solver does over a wide grid of inputs.
struct Hardest {
    /// The largest Newton step left at the answer, relative to `max(|α|, √ν)`.
    error: f64,
    /// Inputs whose root lies in the domain, and all.
    inside: (usize, usize),
}

fn hardest_root(ctx: &Context) -> Result<Hardest, ReproError> {
    let mut worst = Hardest { error: 0.0, inside: (0, 0) };
    for nu in logspace(1e-8, 1e8, ctx.pick(65, 17)) {
        // Where α₀ + ν₀ or α₀ rounds to 0 a search may stand still at its start.
        let sizes = logspace(1e-4, 1e4, ctx.pick(33, 9)).into_iter().chain([nu, nu * (1.0 + 1e-15)]);
        for size in sizes {
            for a in [-size, size] {
                for y in [0.0, 1.0] {
                    let system = System { a, nu, y };
                    let root = probit_root(y, a, nu).context("implicit root")?;
                    let k = ProbitApproximation::scale(root.nu);
                    // α + ν₀·s(kα) has slope 1 + ν₀·k·s′ in α; the residual over it is the step left.
                    let slope = 1.0 + nu * k * sigmoid_derivative(k * root.alpha);
                    let (f, g) = system.residual(root.alpha, root.nu);
                    let scale = root.alpha.abs().max(root.nu.sqrt());
                    worst.error = worst.error.max((f / slope).abs() / scale);
                    worst.error = worst.error.max(g.abs() / root.nu.max(f64::MIN_POSITIVE) / slope.max(1.0));
                    let slack = 1e-9 * (a.abs() + nu);
                    let domain = system.coarse();
                    let within = |v: f64, (lo, hi): (f64, f64)| v >= lo - slack && v <= hi + slack;
                    worst.inside.0 += usize::from(within(root.alpha, domain.alpha) && within(root.nu, domain.nu));
                    worst.inside.1 += 1;
                }
            }
        }
    }
    Ok(worst)
}

struct Race {
    nu0: f64,
    bounds: Vec<Bounds>,
    runs: [Vec<(f64, f64)>; 2],
    root: (f64, f64),
    radius: f64,
}

impl Race {
    fn new(nu0: f64, steps: usize) -> Result<Self, ReproError> {
        let system = System { a: 0.0, nu: nu0, y: 0.0 };
        let root = probit_root(0.0, 0.0, nu0).context("implicit root")?;
        let mut bounds = vec![system.coarse()];
        // Two starts: the old belief, and the opposite corner of the domain.
        let corner = bounds[0];
        let mut runs = [vec![(corner.alpha.1, corner.nu.1)], vec![(corner.alpha.0, corner.nu.0)]];
        for i in 0..steps {
            let next = system.tighten(&bounds[i]);
            bounds.push(next);
            for run in &mut runs {
                let (alpha, nu) = run[i];
                run.push(system.map(alpha, nu));
            }
        }
        Ok(Self { nu0, bounds, runs, root: (root.alpha, root.nu), radius: system.spectral_radius(root.alpha, root.nu) })
    }

    /// Width of the box in α after all steps, over its first width.
    fn shrink(&self) -> f64 {
        let width = |b: &Bounds| b.alpha.1 - b.alpha.0;
        width(&self.bounds[self.bounds.len() - 1]) / width(&self.bounds[0])
    }

    /// Largest distance of the last iterate in α from the root, over the first width of the box.
    fn miss(&self) -> f64 {
        let width = self.bounds[0].alpha.1 - self.bounds[0].alpha.0;
        self.runs.iter().filter_map(|r| r.last()).map(|p| (p.0 - self.root.0).abs() / width).fold(0.0, f64::max)
    }

    fn panel(&self, alpha: bool) -> Panel {
        let t: Vec<f64> = (0..self.bounds.len()).map(|i| i as f64).collect();
        let pick = |p: &(f64, f64)| if alpha { p.0 } else { p.1 };
        let side = |b: &Bounds| if alpha { b.alpha } else { b.nu };
        let lo: Vec<f64> = self.bounds.iter().map(|b| side(b).0).collect();
        let hi: Vec<f64> = self.bounds.iter().map(|b| side(b).1).collect();
        let run = |i: usize| self.runs[i].iter().map(pick).collect::<Vec<f64>>();
        let (name, title) =
            if alpha { ("α", format!("α₀ = 0, ν₀ = {}", self.nu0)) } else { ("ν", String::new()) };
        Panel::new(title, Axis::linear(if alpha { "" } else { "iteration" }), Axis::linear(name))
            .band(&t, &lo, &hi, GREEN, 0.18, "between the bounds (127)-(136)")
            .line_marked(&t, &lo, Style::solid(GREEN), 0, "")
            .line_marked(&t, &hi, Style::solid(GREEN), 0, "")
            .horizontal(pick(&self.root), Style::solid(GREY).dash(Dash::Dotted), "root")
            .line_marked(&t, &run(0), Style::solid(BLUE).marker(Marker::Disc).width(1.4), 1, "F̃ iterated from (α₀, ν₀)")
            .line_marked(
                &t,
                &run(1),
                Style::solid(VERMILLION).marker(Marker::Triangle).dash(Dash::Dashed).width(1.4),
                1,
                "F̃ iterated from the far corner",
            )
    }
}

/// What Appendix 9.5 says of the bounds and of plain iteration, held against the races.
fn race_checks(races: &[Race], steps: usize) -> Vec<Check> {
    let (mild, wild) = (&races[0], &races[2]);
    let held = races.iter().all(|r| {
        let within = |v: f64, (lo, hi): (f64, f64)| v >= lo - 1e-9 && v <= hi + 1e-9;
        r.bounds.iter().all(|b| within(r.root.0, b.alpha) && within(r.root.1, b.nu))
    });
    let converged = races.iter().filter(|r| r.radius < 1.0).count();
    let each = |of: &dyn Fn(&Race) -> f64| {
        races.iter().map(|r| format!("{} (ν₀ = {})", number(of(r)), r.nu0)).collect::<Vec<_>>().join(", ")
    };
    vec![
        words().fact("bounds-hold", held, &[&steps]),
        words().below("shrinks", mild.shrink(), 1e-6),
        words().fact("shrinks-not", wild.shrink() > 0.1, &[&wild.shrink()]),
        words().counted(
            "oscillates",
            (races.len() - converged, races.len()),
            &[&each(&Race::miss), &each(&|r| r.radius)],
        ),
    ]
}

/// Fig 13: iterated bounds, and plain fixed-point iteration from two starts.
pub(super) fn fig13(ctx: &Context) -> Result<Outcome, ReproError> {
    let steps = 30;
    let races = [1.0, 5.0, 10.0].into_iter().map(|nu0| Race::new(nu0, steps)).collect::<Result<Vec<_>, _>>()?;
    let mut table = Table::new(
        "",
        &[
            "nu0",
            "iteration",
            "alpha_min",
            "alpha_max",
            "nu_min",
            "nu_max",
            "alpha_run1",
            "nu_run1",
            "alpha_run2",
            "nu_run2",
        ],
    );
    for r in &races {
        for (i, b) in r.bounds.iter().enumerate() {
            let (p, q) = (r.runs[0][i], r.runs[1][i]);
            table.row(&[], [r.nu0, i as f64, b.alpha.0, b.alpha.1, b.nu.0, b.nu.1, p.0, p.1, q.0, q.1])?;
        }
    }
    Ok(Outcome {
        checks: race_checks(&races, steps),
        shown: Shown::new(
            ["ν₀", "α", "ν", "width of the box left", "distance of F̃’s iterates", "spectral radius"],
            races.iter().map(|r| {
                vec![
                    format!("{}", r.nu0),
                    number(r.root.0),
                    number(r.root.1),
                    number(r.shrink()),
                    number(r.miss()),
                    number(r.radius),
                ]
            }),
        ),
        tables: vec![table],
        figure: Figure::new("Bounds for the root, and why plain fixed-point iteration fails")
            .row(300.0, races.iter().map(|r| r.panel(true)).collect())
            .row(300.0, races.iter().map(|r| r.panel(false)).collect()),
        ..words().outcome(ctx, &[&steps, &races[0].miss(), &races[1].miss(), &races[2].miss()])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tightening_keeps_the_root_and_never_widens() {
        for (a, y) in [(0.0, 0.0), (3.0, 0.0), (-7.0, 1.0), (40.0, 1.0)] {
            for nu in [0.1, 1.0, 10.0, 300.0] {
                let system = System { a, nu, y };
                let root = probit_root(y, a, nu).unwrap();
                let mut bounds = system.coarse();
                for _ in 0..40 {
                    let next = system.tighten(&bounds);
                    let slack = 1e-12 * (1.0 + a.abs() + nu);
                    assert!(next.alpha.0 >= bounds.alpha.0 - slack && next.alpha.1 <= bounds.alpha.1 + slack);
                    assert!(next.alpha.0 <= root.alpha + slack && root.alpha <= next.alpha.1 + slack);
                    assert!(next.nu.0 <= root.nu + slack && root.nu <= next.nu.1 + slack);
                    bounds = next;
                }
            }
        }
    }

    #[test]
    fn the_spectral_radius_tells_convergence_from_oscillation() {
        for nu0 in [1.0, 5.0, 10.0, 50.0] {
            let race = Race::new(nu0, 200).unwrap();
            assert_eq!(race.radius < 1.0, race.miss() < 1e-6, "ν₀ = {nu0}");
        }
    }
}
