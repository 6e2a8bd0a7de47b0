//! What holds of a model and what does not, each with its grounds and its consequence: made here for texts, JSON, pages and Python.

use std::collections::BTreeMap;

use serde::Serialize;
use vi_models::online::{Advice, Certificate, Change, Memory, Model, OnlineInfo, Order, Share, Towards};
use vi_plot::markup;

use crate::table::document::Document;
use crate::table::refine::{self, Refined};
use crate::table::reorder::{AWAITS_ORDER, Reordered};
use crate::table::text::{flowing, grouped, many, number, wrapped};

/// The levels that are told, and the names of their shares.
const TOLD: [(f64, &str, &str); 3] =
    [(0.5, "own_50", "certified_50"), (0.9, "own_90", "certified_90"), (0.95, "own_95", "certified_95")];
/// Labels from which on shares tell anything.
const FEWEST_HELD: u64 = 20;
/// An e-value that is evidence at a level of 5 %, however often one looks.
const EVIDENCE: f64 = 20.0;
/// Misses more or fewer than promised, by a share, that make no difference.
const SLIGHT: f64 = 0.1;

/// The grounds of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Basis {
    /// A theorem without further assumptions: a false alarm has the probability 5 % at most, at all looks together, or a number is what it says.
    Exact,
    /// A limit theorem: right for many rows or draws.
    Asymptotic,
    /// Experience, measured in the guide.
    Heuristic,
}

/// Something that is known of a model and has a consequence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The subject: `calibration`, `change`, `outliers`, `order`, `posterior`, `first rows`, `repairs` or `digits`.
    pub about: &'static str,
    /// The grounds.
    pub basis: Basis,
    /// The finding, in words.
    pub says: String,
    /// The consequence.
    pub then: String,
    /// The numbers of the finding, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<&'static str, f64>,
}

impl Finding {
    fn new(about: &'static str, basis: Basis, says: impl Into<String>, then: impl Into<String>) -> Self {
        Self { about, basis, says: says.into(), then: then.into(), numbers: BTreeMap::new() }
    }

    fn with(self, numbers: impl IntoIterator<Item = (&'static str, f64)>) -> Self {
        Self { numbers: numbers.into_iter().collect(), ..self }
    }

    /// The word for the grounds.
    #[must_use]
    pub fn grounds(&self) -> &'static str {
        match self.basis {
            Basis::Exact => "exact",
            Basis::Asymptotic => "asymptotic",
            Basis::Heuristic => "heuristic",
        }
    }

    fn describe(&self) -> String {
        let says: Vec<String> = self.says.split(", ").map(str::to_owned).collect();
        let then = format!("→ {} ({})", self.then, self.grounds());
        wrapped(&format!("  {:<12}", self.about), &says) + &flowing(&" ".repeat(14), &then)
    }
}

/// Findings in lines of 80 columns.
#[must_use]
pub fn told(findings: &[Finding]) -> String {
    let lines: String = findings.iter().map(Finding::describe).collect();
    if lines.is_empty() {
        lines
    } else {
        format!("certificate   what holds, what follows, and on what grounds\n{lines}")
    }
}

/// Findings as a table of HTML.
#[must_use]
pub fn as_html(findings: &[Finding]) -> String {
    let row = |own: &Finding| {
        let [says, then] = [&own.says, &own.then].map(|text| markup(text));
        format!(
            "<tr><th scope=\"row\">{}</th><td>{says}</td><td>{then}</td><td>{}</td></tr>\n",
            own.about,
            own.grounds()
        )
    };
    let rows: String = findings.iter().map(row).collect();
    format!(
        "<table class=\"certificate\"><thead><tr><th scope=\"col\">about</th><th scope=\"col\">finding</th><th scope=\"col\">consequence</th>\
         <th scope=\"col\">grounds</th></tr></thead><tbody>\n{rows}</tbody></table>\n"
    )
}

/// The findings about a stored model that have a consequence.
#[must_use]
pub fn certificate(document: &Document) -> Vec<Finding> {
    let (info, settings) = (document.model.info(), document.model.settings());
    // Labels in the order of the file tell of changes; what intervals are certified by is the record of the model that there is.
    let (own, in_order) = (document.own_scores().certificate(), document.scores.certificate());
    let posterior = match &document.refined {
        Some(refined) if refined.rows == document.scores.rows => Some(of_refined(refined)),
        _ if may_be_refined(document, &info) => Some(Finding::new(
            "posterior",
            Basis::Heuristic,
            "one pass, the nats that are left to the best Gaussian are not known",
            "`--refine 20` finds it",
        )),
        _ => of_posterior(&info),
    };
    let order = if document.reordered.is_some() || document.awaits_order() {
        Some(of_reordered(document))
    } else {
        info.order.and_then(|order| of_order(&order))
    };
    let change = of_change(in_order.change(), &settings.memory, Basis::Heuristic);
    calibration(own)
        .into_iter()
        .chain(change)
        .chain(outliers(in_order, &document.model))
        .chain(order)
        .chain(posterior)
        .chain(of_state(&info))
        .collect()
}

/// The findings about a model without a file, with a record of labels that it predicted and did not learn.
#[must_use]
pub fn of_model(model: &Model, record: Option<&Certificate>) -> Vec<Finding> {
    let info = model.info();
    let change = record.and_then(|record| of_change(record.change(), &model.settings().memory, Basis::Exact));
    let of_record = record.and_then(calibration).into_iter().chain(change);
    let of_record = of_record.chain(record.and_then(|record| outliers(record, model)));
    of_record
        .chain(info.order.and_then(|order| of_order(&order)))
        .chain(of_posterior(&info))
        .chain(of_state(&info))
        .collect()
}

/// How often intervals, or sets, held their labels.
#[must_use]
pub fn calibration(record: &Certificate) -> Option<Finding> {
    let own = record.calibration().filter(|_| record.rows() >= FEWEST_HELD)?;
    let ready = record.ready().is_ok();
    let shares: Vec<Share> = record.shares().filter(|share| TOLD.iter().any(|told| told.0 == share.level)).collect();
    let listed = |of: &dyn Fn(&Share) -> f64| {
        shares.iter().map(|share| format!("{:.1}", 100.0 * of(share))).collect::<Vec<_>>().join("/")
    };
    let size = shares.iter().find(|share| share.level == 0.9).and_then(|share| share.size);
    let what = if size.is_some() { "sets" } else { "intervals" };
    let own_ones =
        format!("50/90/95 % {what} held {} % of {}", listed(&|share| share.own), many(record.rows(), "label"));
    let certified = ready.then(|| format!("certified ones {} %", listed(&|share| share.certified)));
    let sizes = size.filter(|_| ready).map(|size| format!("{size:.2} classes in a set of 90 %"));
    let says = std::iter::once(own_ones).chain(certified).chain(sizes).collect::<Vec<_>>().join(", ");
    let off = own.log_e_value >= EVIDENCE.ln() && (own.misses - 1.0).abs() >= SLIGHT;
    let then = match (off, own.misses > 1.0, ready) {
        (true, true, true) => format!("take certified {what}: the model's own are too narrow"),
        (true, true, false) => format!("the model's own {what} are too narrow"),
        (true, false, true) => format!("take certified {what}: the model's own are too wide"),
        (true, false, false) => format!("the model's own {what} are too wide"),
        (false, _, true) => format!("take the model's own {what}: nothing speaks against them"),
        (false, ..) => format!("nothing speaks against the model's own {what}, by few labels"),
    };
    let of_level = |share: &Share| {
        let told = TOLD.into_iter().find(|told| told.0 == share.level).into_iter();
        let (own, certified) = (share.own, share.certified);
        told.flat_map(move |told| [(told.1, own), (told.2, certified)])
            .filter(move |(name, _)| ready || name.starts_with("own"))
    };
    let numbers = [("labels", record.rows() as f64), ("log_e_value", own.log_e_value), ("misses", own.misses)];
    let numbers = numbers
        .into_iter()
        .chain(shares.iter().flat_map(of_level))
        .chain(size.filter(|_| ready).map(|size| ("classes_90", size)));
    Some(Finding::new("calibration", Basis::Exact, says, then).with(numbers))
}

/// The last time that labels began to fall elsewhere in their predictions.
fn of_change(change: &Change, memory: &Memory, basis: Basis) -> Option<Finding> {
    let alarm = change.last()?;
    let until = alarm.until.map(|until| format!(", until label {}", grouped(until)));
    let times = Some(change.alarms()).filter(|alarms| *alarms > 1);
    let times = times.map(|alarms| format!(", the last of {} such times", grouped(alarms)));
    let [until, times] = [until, times].map(Option::unwrap_or_default);
    let says = format!("{} since label {}{until}{times}", towards(alarm.towards), grouped(alarm.since));
    let then = match (*memory == Memory::Everything, alarm.until) {
        (true, None) => "a memory that forgets would follow: until then take certified intervals",
        (true, Some(_)) => "a memory that forgets would have followed sooner",
        (false, None) => "the model forgets and will follow: until then take certified intervals",
        (false, Some(_)) => "the model forgets and has followed",
    };
    let ended = alarm.until.map(|until| ("until", until as f64));
    let numbers = [("alarms", change.alarms() as f64), ("at", alarm.at as f64), ("since", alarm.since as f64)];
    Some(Finding::new("change", basis, says, then).with(numbers.into_iter().chain(ended)))
}

/// How labels fall after a change, in words.
fn towards(towards: Towards) -> &'static str {
    match towards {
        Towards::Higher => "labels higher in their predictions than before",
        Towards::Lower => "labels lower in their predictions than before",
        Towards::Narrower => "labels nearer to predictions than before",
        Towards::Wider => "labels farther from predictions than before",
        _ => "labels elsewhere than before",
    }
}

/// Labels far from their predictions, where there are more than there should be.
fn outliers(record: &Certificate, model: &Model) -> Option<Finding> {
    let found = record.outliers().filter(|found| found.log_e_value >= EVIDENCE.ln())?;
    let says = format!(
        "{} more than 4 deviations off, at most {} expected, the last is label {}",
        many(found.labels, "label"),
        number(found.expected),
        grouped(found.last)
    );
    let then = match model {
        Model::Number(_) => "look at them: a family with heavy tails (`robust`) is moved less",
        Model::Count(_) => "look at them: a family whose counts spread more has room for them",
        _ => "look at them",
    };
    let numbers = [
        ("labels", found.labels as f64),
        ("expected", found.expected),
        ("last", found.last as f64),
        ("log_e_value", found.log_e_value),
    ];
    Some(Finding::new("outliers", Basis::Exact, says, then).with(numbers))
}

/// The order of the rows of a document that were, or should have been, learned again in a random one.
fn of_reordered(document: &Document) -> Finding {
    if let Some(Reordered { runs, .. }) = &document.reordered {
        let what = if document.groups.is_some() { "rows come by group" } else { "labels come in runs" };
        let says = format!("{what} ({runs:.0} standard deviations beyond chance)");
        let then = "the rows were learned again in random order";
        return Finding::new("order", Basis::Asymptotic, says, then).with([("runs", *runs)]);
    }
    let remedy =
        if document.passes.len() == 1 { "`rvi resume` does" } else { "`rvi fit` of one file with all rows does" };
    Finding::new("order", Basis::Asymptotic, AWAITS_ORDER, remedy)
}

/// The order of rows that come in runs.
fn of_order(order: &Order) -> Option<Finding> {
    let text = Some(order.to_string()).filter(|_| order.is_in_runs())?;
    let (says, then) = text.split_once([':', ';']).unwrap_or((&text, "the order misleads one pass: shuffle them"));
    let numbers = [("runs", order.runs), ("gained", order.gained)];
    Some(Finding::new("order", Basis::Asymptotic, says, then.trim_start()).with(numbers))
}

/// Whether `rvi fit --refine` tells what one pass has left.
fn may_be_refined(document: &Document, info: &OnlineInfo) -> bool {
    matches!(info.advice, Advice::KeepRows | Advice::Diagnose) && refine::check(1, true, document).is_ok()
}

/// Passes after the first.
fn of_refined(refined: &Refined) -> Finding {
    let passes = if refined.passes == 1 { "one pass".to_owned() } else { format!("{} passes", refined.passes) };
    let says = format!("refined by {passes} more, {} nats of evidence gained", number(refined.gained));
    let numbers = [("gained", refined.gained), ("passes", refined.passes as f64)];
    if refined.converged {
        let says = format!("{says}, converged: none left to the best Gaussian");
        return Finding::new("posterior", Basis::Exact, says, "nothing is left to refine")
            .with(numbers.into_iter().chain([("left", 0.0)]));
    }
    Finding::new("posterior", Basis::Heuristic, format!("{says}, not to the end"), "a larger `--refine` gains more")
        .with(numbers)
}

/// How near the posterior is to the true one, as far as is known.
fn of_posterior(info: &OnlineInfo) -> Option<Finding> {
    if let Some(share) = info.effective_share.filter(|_| !matches!(info.advice, Advice::FewDigits | Advice::Order)) {
        // log(1 + χ²) bounds the divergence of the true posterior from the Gaussian, and the share of draws is 1/(1 + χ²).
        let left = -share.ln();
        let says = format!(
            "at most {} nats from the true posterior, {:.0} % of weighted draws effective",
            number(left),
            100.0 * share
        );
        let numbers =
            [("left", left), ("effective_share", share)].into_iter().chain(info.k_hat.map(|own| ("k_hat", own)));
        return Some(Finding::new("posterior", Basis::Asymptotic, says, info.advice.to_string()).with(numbers));
    }
    let heuristic = |says: &str, then: &str| Some(Finding::new("posterior", Basis::Heuristic, says, then));
    match info.advice {
        Advice::Exact => {
            Some(Finding::new("posterior", Basis::Exact, info.advice.to_string(), "nothing is left to refine"))
        }
        // They are told of by themselves.
        Advice::FewDigits | Advice::Order => None,
        Advice::NotFitted => heuristic(
            "first rows were not fitted together",
            "intervals of weights are too narrow until about 20 rows a weight",
        ),
        Advice::Mixture => heuristic("a mixture of Gaussians", "the model does not learn"),
        advice => {
            let text = advice.to_string();
            let (says, then) = text.split_once(": ").unwrap_or((&text, "nothing is left to refine"));
            heuristic(says, then)
        }
    }
}

/// First rows, repairs and digits, where something follows from them.
fn of_state(info: &OnlineInfo) -> impl Iterator<Item = Finding> {
    let first = info.warming_up.then(|| {
        let then = "scales and intervals become firm with more rows";
        Finding::new("first rows", Basis::Heuristic, "still gathering the first rows", then)
    });
    let abrupt = info.last_change.map(|row| {
        let says = format!("abrupt change at row {}", grouped(row));
        Finding::new("memory", Basis::Heuristic, says, "answers rest on the rows since").with([("row", row as f64)])
    });
    let (fits, moves, held) = (info.failed_fits, info.failed_moves, info.forgetting_held);
    let repairs = (fits + moves + held > 0).then(|| {
        let says = format!(
            "{} failed and left out: {fits} of first rows, {moves} of prior scales, {held} of memory",
            many(fits + moves + held, "computation")
        );
        let then = "look for inputs that are nearly collinear or huge";
        let numbers = [("fits", fits), ("moves", moves), ("held", held)].map(|(name, count)| (name, count as f64));
        Finding::new("repairs", Basis::Heuristic, says, then).with(numbers)
    });
    let digits = info.health.digits;
    let digits = (!info.health.is_good()).then(|| {
        let then = "drop nearly collinear inputs, or use the square-root belief";
        Finding::new("digits", Basis::Heuristic, format!("{digits:.1} of 16 digits left"), then)
            .with([("digits", digits)])
    });
    first.into_iter().chain(abrupt).chain(repairs).chain(digits)
}

#[cfg(test)]
mod tests;
