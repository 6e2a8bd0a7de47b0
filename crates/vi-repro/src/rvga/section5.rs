//! §5: the logistic function, its probit stand-in, and the quadratic bound (Figs 1 and 2).

use vi_core::Mixture8;
use vi_core::expectation::{BETA, LogisticExpectation};
use vi_core::special::{
    jaakkola_jordan, log_normal_cdf, log_sigmoid, normal_cdf, normal_density, sigmoid, sigmoid_derivative, softplus,
};

use super::words;
use crate::error::ReproError;
use crate::item::Context;
use crate::plot::palette::Dash;
use crate::plot::palette::{BLACK, BLUE, GREEN, Marker, ORANGE, PURPLE, SKY, Style};
use crate::plot::{Axis, Figure, Grid, Panel, linspace};
use crate::report::{Outcome, Shown, Table, number};

const LOGISTIC: Style = Style::solid(BLUE);
const PROBIT: Style = Style::solid(ORANGE).dash(Dash::Dashed);
const MIXTURE: Style = Style::solid(GREEN).dash(Dash::DashDot);

/// Fig 1: the logistic function and the inverse probit, and their derivatives.
#[allow(clippy::too_many_lines, reason = "numbers, then the words that tell them")]
pub(super) fn fig1(ctx: &Context) -> Result<Outcome, ReproError> {
    let a = linspace(-12.0, 12.0, 601);
    let map = |f: &dyn Fn(f64) -> f64| a.iter().map(|a| f(*a)).collect::<Vec<f64>>();
    let logistic = map(&sigmoid);
    let probit = map(&|a| normal_cdf(a / BETA));
    let logistic_slope = map(&sigmoid_derivative);
    let probit_slope = map(&|a| normal_density(a / BETA) / BETA);
    let mixture = map(&|a| Mixture8.sigmoid(a, 0.0).0);
    let gap = |u: &[f64], v: &[f64]| -> Vec<f64> { u.iter().zip(v).map(|(u, v)| (u - v).abs()).collect() };
    let worst = |v: &[f64]| v.iter().copied().fold(0.0, f64::max);
    let value_gap = gap(&logistic, &probit);
    let slope_gap = gap(&logistic_slope, &probit_slope);
    let mixture_gap = gap(&logistic, &mixture);
    let tail = -10.0;
    let (log_s, log_phi) = (log_sigmoid(tail), log_normal_cdf(tail / BETA));

    let short = |t: &str| Panel::new(t, Axis::linear("a").range(-8.0, 8.0), Axis::linear(""));
    let every = 25;
    let mark = |s: Style, m| s.marker(m);
    let figure = Figure::new("The logistic function and the inverse probit, λ = √(π/8)").row(
        360.0,
        vec![
            short("Functions").line_marked(&a, &logistic, LOGISTIC, 0, "logistic σ(a)").line_marked(
                &a,
                &probit,
                mark(PROBIT, Marker::Diamond),
                every,
                "inverse probit Φ(λa)",
            ),
            short("Derivatives").line_marked(&a, &logistic_slope, LOGISTIC, 0, "logistic σ(a)").line_marked(
                &a,
                &probit_slope,
                mark(PROBIT, Marker::Diamond),
                every,
                "inverse probit Φ(λa)",
            ),
            Panel::new(
                "Distance from the logistic",
                Axis::linear("a").range(-12.0, 12.0),
                Axis::log("absolute error").floor(1e-12),
            )
            .line_marked(&a, &value_gap, PROBIT, 0, "inverse probit Φ(λa)")
            .line_marked(&a, &mixture_gap, MIXTURE, 0, "mixture of eight probits"),
        ],
    );
    Ok(Outcome {
        checks: vec![
            words().below("match", worst(&value_gap), 0.02),
            words().below("match-slopes", worst(&slope_gap), 0.1 * sigmoid_derivative(0.0)),
            words().fact("indifferent", (log_phi / log_s - 1.0).abs() < 0.1, &[&log_s, &log_phi]),
            words().below("mixture-eight-probits-matches", worst(&mixture_gap), 1e-6),
        ],
        shown: Shown::new(
            ["largest error on [−12, 12]", "function", "derivative"],
            vec![
                vec!["inverse probit".into(), number(worst(&value_gap)), number(worst(&slope_gap))],
                vec![
                    "mixture of eight".into(),
                    number(worst(&mixture_gap)),
                    number(worst(&gap(&logistic_slope, &map(&|a| Mixture8.sigmoid(a, 0.0).1)))),
                ],
            ],
        ),
        tables: vec![Table::from_columns(
            "",
            &[
                ("a", &a),
                ("logistic", &logistic),
                ("probit", &probit),
                ("mixture8", &mixture),
                ("logistic_derivative", &logistic_slope),
                ("probit_derivative", &probit_slope),
            ],
        )?],
        figure,
        ..words().outcome(ctx, &[&worst(&value_gap), &(log_phi - log_s).abs()])
    })
}

/// `log` of the bound (82), with `−2η = tanh(ξ/2)/(2ξ)` of (83).
fn log_bound(t: f64, xi: f64) -> f64 {
    log_sigmoid(xi) + (t - xi) / 2.0 - 0.5 * jaakkola_jordan(xi) * (t * t - xi * xi)
}

/// Fig 2: the quadratic lower bound on the logistic function and upper bound on the logistic loss.
#[allow(clippy::too_many_lines, reason = "numbers, then the words that tell them")]
pub(super) fn fig2(ctx: &Context) -> Result<Outcome, ReproError> {
    let xis = [1.0, 2.5, 5.0];
    let styles = [
        Style::solid(SKY).dash(Dash::Dashed),
        Style::solid(ORANGE).dash(Dash::DashDot),
        Style::solid(PURPLE).dash(Dash::Dotted),
    ];
    let t = linspace(-10.0, 10.0, 401);
    let mut table = Table::new("", &["t", "xi", "logistic", "lower_bound", "loss", "upper_bound"]);
    let mut lowest_gap = f64::INFINITY;
    let mut touch = 0.0_f64;
    let exact: Vec<f64> = t.iter().map(|t| sigmoid(*t)).collect();
    let loss: Vec<f64> = t.iter().map(|t| softplus(-t)).collect();
    let mut lower = Panel::new(
        "Logistic function, lower bounds",
        Axis::linear("θ").range(-10.0, 10.0),
        Axis::linear("").range(-0.03, 1.06),
    )
    .line_marked(&t, &exact, Style::solid(BLUE), 0, "exact");
    let mut upper = Panel::new(
        "Logistic loss (y = 1), upper bounds",
        Axis::linear("θ").range(-10.0, 10.0),
        Axis::linear("").range(-0.4, 14.0),
    )
    .line_marked(&t, &loss, Style::solid(BLUE), 0, "exact");
    for (xi, style) in xis.into_iter().zip(styles) {
        let log: Vec<f64> = t.iter().map(|t| log_bound(*t, xi)).collect();
        let below: Vec<f64> = log.iter().map(|l| l.exp()).collect();
        let above: Vec<f64> = log.iter().map(|l| -l).collect();
        for i in 0..t.len() {
            lowest_gap = lowest_gap.min(above[i] - loss[i]);
            table.row(&[], [t[i], xi, exact[i], below[i], loss[i], above[i]])?;
        }
        for end in [-xi, xi] {
            touch = touch.max((log_bound(end, xi) - log_sigmoid(end)).abs());
        }
        let label = format!("bound, ξ = {xi}");
        let at = [-xi, xi];
        lower = lower.line_marked(&t, &below, style, 0, &label).points(
            &at,
            &at.map(sigmoid),
            style.marker(Marker::Disc),
            4.0,
            "",
        );
        upper = upper.line_marked(&t, &above, style, 0, &label).points(
            &at,
            &at.map(|t| softplus(-t)),
            style.marker(Marker::Disc),
            4.0,
            "",
        );
    }
    let x = [1.0, 0.6];
    let side = linspace(-8.0, 8.0, 81);
    let at = |u: f64, v: f64| x[0] * u + x[1] * v;
    let loss2 = Grid::of(side.clone(), side.clone(), |u, v| softplus(-at(u, v)))?;
    let bound2 = Grid::of(side.clone(), side, |u, v| -log_bound(at(u, v), xis[1]))?;
    let levels = [0.5, 2.0, 4.0, 6.0];
    let plane = Panel::new("Loss and bound in two dimensions", Axis::linear("θ₁"), Axis::linear("θ₂"))
        .heat(&loss2, super::shared::GREYS, (0.0, 12.0), false)
        .contours(&loss2, &levels, Style::solid(BLUE), "exact")
        .contours(&bound2, &levels, styles[1], &format!("bound, ξ = {}", xis[1]))
        .overlay(vec![(0.0, 0.0), (3.0 * x[0], 3.0 * x[1])], Style::solid(BLACK), "input x")
        .points(&[3.0 * x[0]], &[3.0 * x[1]], Style::solid(BLACK).marker(Marker::Triangle), 5.0, "");
    let rounding = 64.0 * f64::EPSILON;
    // The bound with 99 % of the curvature of (83): log σ(t) minus it, at its least.
    let flatter = |t: f64, xi: f64| {
        log_sigmoid(t) - (log_sigmoid(xi) + (t - xi) / 2.0 - 0.495 * jaakkola_jordan(xi) * (t * t - xi * xi))
    };
    let flatter = xis.iter().flat_map(|xi| t.iter().map(move |t| flatter(*t, *xi))).fold(f64::INFINITY, f64::min);
    Ok(Outcome {
        checks: vec![
            words().fact("closest-quadratic", flatter < 0.0, &[&-flatter, &rounding]),
            words().fact("bound-right-side-everywhere", lowest_gap >= -rounding, &[&lowest_gap]),
            words().below("touches", touch, rounding),
        ],
        tables: vec![table],
        figure: Figure::new("The quadratic bound behind the QKF").row(360.0, vec![lower, upper, plane]),
        ..words().outcome(ctx, &[&lowest_gap, &touch])
    })
}
