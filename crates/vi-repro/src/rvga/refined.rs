//! What this library adds to the paper's one pass: refinement sweeps, and the batch variational optimum they end at.

use vi_core::batch::{self, BatchSettings};
use vi_core::refine::{self, RefineSettings, Refinement};
use vi_core::{BernoulliLogit, DenseGaussian, GlmPosterior, Implicit, Mixture8};
use vi_data::Dataset;
use vi_linalg::faer::Par;

use super::methods::COMPARED;
use super::replicate::Finals;
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::plot::palette::Method::{self, BatchVga, Laplace, Refinement as Sweeps};
use crate::plot::palette::{Dash, GREY, Style};
use crate::plot::{Axis, Panel};
use crate::report::{Check, Said, Table, number};

/// The likelihood of sweeps and optimum: the mixture's expectations are one function with its derivatives, so the bound has
/// a maximum to reach. The paper's probit formulae are not, and their fixed point is another Gaussian.
pub(super) const LOGIT: BernoulliLogit<Mixture8> = BernoulliLogit(Mixture8);
/// Sweeps made after the first pass.
pub(super) const SWEEPS: usize = 5;
/// Sweeps after which the refined belief is shown.
pub(super) const SHOWN_AFTER: usize = 3;
/// Gap in nats that the belief shown is held against.
const TARGET: f64 = 1e-3;
/// Gaps below this, in nats, are rounding of the two bounds.
pub(super) const RESOLUTION: f64 = 1e-9;

/// The batch optimum of one data set, and how the sweeps come to it.
pub(super) struct Refined {
    /// The batch variational Gaussian optimum.
    pub(super) optimum: DenseGaussian,
    /// The belief after [`SHOWN_AFTER`] sweeps.
    pub(super) belief: DenseGaussian,
    /// `KL` above the optimum's after the first pass and after each sweep, in nats.
    pub(super) gaps: Vec<f64>,
    /// What did not go smoothly.
    pub(super) remark: Option<String>,
}

impl Refined {
    pub(super) fn new(prior: &DenseGaussian, data: &Dataset) -> Result<Self, ReproError> {
        let mut refinement = first_pass(prior, data)?;
        let mut bounds = Vec::new();
        let (mut undone, mut skipped) = (0, 0);
        let mut sweep = |refinement: &mut Refinement, sweeps: usize| {
            let info = refine_by(prior, refinement, data, sweeps)?;
            undone += info.undone;
            skipped += info.skipped;
            bounds.extend_from_slice(if bounds.is_empty() { &info.bounds } else { &info.bounds[1..] });
            Ok::<_, ReproError>(refinement.belief.clone())
        };
        let belief = sweep(&mut refinement, SHOWN_AFTER)?;
        let start = sweep(&mut refinement, SWEEPS - SHOWN_AFTER)?;

        let settings = BatchSettings { tolerance: 1e-10, max_passes: 300 };
        let (optimum, info) =
            batch::optimum(prior, &start, data.x(), data.y(), &LOGIT, &settings, Par::Seq).context("refinement")?;
        // The optimum's bound as the sweeps compute theirs, so that rounding is alike.
        let least = mixture_posterior(prior, data)?.kl(&optimum, Par::Seq).context("refinement")?;
        let mut remarks = Vec::new();
        if undone + skipped > 0 {
            remarks.push(format!("undone sweeps {undone}, skipped sites {skipped}"));
        }
        if info.last_step > 1e-6 {
            remarks.push(format!(
                "the optimum’s last step was {} deviations ({:?})",
                number(info.last_step),
                info.stop
            ));
        }
        let remark = (!remarks.is_empty()).then(|| remarks.join("; "));
        Ok(Self { optimum, belief, gaps: bounds.iter().map(|b| -least - b).collect(), remark })
    }
}

/// A blocked pass that keeps the sites.
pub(super) fn first_pass(prior: &DenseGaussian, data: &Dataset) -> Result<Refinement, ReproError> {
    refine::first_pass(prior, &Implicit(LOGIT), data.x(), data.y(), Par::Seq).context("first pass")
}

/// `sweeps` more sweeps, whatever the bound gains by them.
pub(super) fn refine_by(
    prior: &DenseGaussian,
    refinement: &mut Refinement,
    data: &Dataset,
    sweeps: usize,
) -> Result<refine::RefineInfo, ReproError> {
    let settings = RefineSettings { tolerance: f64::MIN_POSITIVE, max_sweeps: sweeps, ..RefineSettings::default() };
    refine::refine(prior, refinement, data.x(), data.y(), &LOGIT, &settings, Par::Seq).context("refinement")
}

/// The posterior under the likelihood of sweeps and optimum.
pub(super) fn mixture_posterior<'a>(
    prior: &'a DenseGaussian,
    data: &'a Dataset,
) -> Result<GlmPosterior<'a, BernoulliLogit<Mixture8>>, ReproError> {
    GlmPosterior::new(prior, data.x(), data.y(), LOGIT).context("posterior")
}

/// Whether each gap is below the one before, as far as rounding lets one see.
pub(super) fn falls(gaps: &[f64]) -> bool {
    gaps.iter().all(|g| *g >= -RESOLUTION) && gaps.windows(2).all(|w| w[1] < w[0] || w[0].max(w[1]) <= RESOLUTION)
}

/// The gap after [`SHOWN_AFTER`] sweeps, or after fewer if these stood still before.
pub(super) fn gap_shown(gaps: &[f64]) -> f64 {
    gaps.get(SHOWN_AFTER).or(gaps.last()).copied().unwrap_or(f64::NAN)
}

/// The checks on sweeps and optimum over all data sets of the named cases, the first of each being the one drawn. `over` names
/// the data sets; `target` asks for [`TARGET`] on the one drawn.
pub(super) fn checks(cases: &[(&str, &[Finals])], over: &str, target: bool) -> Vec<Check> {
    let all = || cases.iter().flat_map(|(_, finals)| finals.iter());
    let total = all().count();
    let hits = |holds: &dyn Fn(&Finals) -> bool| all().filter(|f| holds(f)).count();
    let drawn = |value: &dyn Fn(&Finals) -> String| {
        let each = cases.iter().filter_map(|(name, finals)| {
            let value = value(finals.first()?);
            Some(if name.is_empty() { value } else { format!("{name}: {value}") })
        });
        each.collect::<Vec<_>>().join("; ")
    };
    let counted = |name: &str, holds: &dyn Fn(&Finals) -> bool, numbers: &[&dyn Said]| {
        let hits = hits(holds);
        words().fact(name, hits == total, &[numbers, &[&hits as &dyn Said, &total, &over]].concat())
    };
    let mut out = Vec::new();
    if target {
        let within = |f: &Finals| gap_shown(&f.gaps) < TARGET;
        let largest = all().map(|f| gap_shown(&f.gaps)).fold(0.0, f64::max);
        out.push(words().fact(
            "after-sweeps-kl-within",
            cases.iter().all(|(_, finals)| finals.first().is_some_and(within)),
            &[&SHOWN_AFTER, &drawn(&|f| number(gap_shown(&f.gaps))), &hits(&within), &total, &over, &largest],
        ));
    }
    out.push(counted("gap-falls", &|f| falls(&f.gaps), &[&SWEEPS, &drawn(&|f| sequence(&f.gaps))]));
    let below = |f: &Finals| COMPARED.iter().all(|m| f.of(BatchVga) <= f.of(*m));
    out.push(counted("optimum-is-closest", &below, &[&drawn(&|f| number(f.of(BatchVga)))]));
    out
}

/// Gaps in a line, those that are rounding as such.
fn sequence(gaps: &[f64]) -> String {
    let text = |g: &f64| if g.abs() <= RESOLUTION { "≤ 10⁻⁹".to_owned() } else { number(*g) };
    gaps.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// The gap by sweep: the data set drawn in front of the others, and Laplace's for comparison.
pub(super) fn gap_panel(title: &str, finals: &[Finals]) -> Panel {
    let lowest = RESOLUTION / 10.0;
    let mut panel = Panel::new(
        title,
        Axis::linear("sweeps after the first pass").range(-0.15, SWEEPS as f64 + 0.15),
        Axis::log("KL above the optimum (nats)"),
    );
    let curve = |f: &Finals| -> (Vec<f64>, Vec<f64>) {
        f.gaps.iter().enumerate().map(|(k, g)| (k as f64, g.max(lowest))).unzip()
    };
    let style = Sweeps.style();
    for f in finals.iter().skip(1) {
        let (k, gap) = curve(f);
        panel = panel.line_marked(&k, &gap, Style::solid(style.colour).width(0.9).alpha(0.3), 0, "");
    }
    if let Some(first) = finals.first() {
        let (k, gap) = curve(first);
        let laplace = first.of(Laplace) - first.of(BatchVga);
        panel = panel.horizontal(laplace.max(lowest), Laplace.style(), Laplace.label()).line_marked(
            &k,
            &gap,
            style.width(2.4),
            1,
            Sweeps.label(),
        );
    }
    panel.horizontal(TARGET, Style::solid(GREY).dash(Dash::Dotted).width(1.4), "0.001 nats")
}

/// What a refined belief is called where it stands beside others.
pub(super) fn label(m: Method) -> String {
    if m == Sweeps { format!("after {SHOWN_AFTER} sweeps") } else { m.label().to_owned() }
}

/// What did not go smoothly, data set by data set, each called `one`.
pub(super) fn remarks(cases: &[(&str, &[Finals])], one: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (name, finals) in cases {
        let gap = if name.is_empty() { "" } else { ", " };
        let all = finals.iter().enumerate().filter_map(|(k, f)| Some((k, f.remark.as_ref()?)));
        out.extend(all.map(|(k, remark)| format!("{name}{gap}{one} {k}: {remark}.")));
    }
    out
}

/// The gaps of every data set of the named cases, one row for each sweep.
pub(super) fn gap_table(cases: &[(&str, &[Finals])]) -> Result<Table, ReproError> {
    let mut table = Table::new("sweeps", &["panel", "data_set", "sweeps", "kl_above_optimum"]);
    for (name, finals) in cases {
        for (k, f) in finals.iter().enumerate() {
            for (sweep, gap) in f.gaps.iter().enumerate() {
                table.push(&[name, &k, &sweep, gap])?;
            }
        }
    }
    Ok(table)
}

/// The methods of the paper's comparisons, then the two of this library's own.
pub(super) const COMPARED_AND_BEST: [Method; 7] = [
    Method::RvgaImplicit,
    Method::RvgaExplicit,
    Method::Ekf,
    Method::Qkf,
    Method::Laplace,
    Method::Refinement,
    Method::BatchVga,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_that_rises_or_is_negative_does_not_fall() {
        assert!(falls(&[1.0, 0.1, 1e-4, 3e-10, 5e-10, -2e-10]));
        assert!(!falls(&[1.0, 0.1, 0.2]));
        assert!(!falls(&[1.0, 0.1, 0.1]));
        assert!(!falls(&[1.0, -1e-3]));
        assert!(!falls(&[1.0, f64::NAN]));
    }

    #[test]
    fn the_gap_shown_is_that_after_three_sweeps() {
        assert_eq!(gap_shown(&[4.0, 3.0, 2.0, 1.0, 0.5]), 1.0);
        assert_eq!(gap_shown(&[4.0, 3.0]), 3.0);
        assert!(gap_shown(&[]).is_nan());
    }
}
