//! A contextual bandit on hashed features: a simulated log of clicks, fifty candidates for each visitor.
//!
//! A visitor has one of six tastes, which shows in ten words that go together, and four words that say nothing. An offer has a name, a
//! category and tags; every word is crossed with the category. Half way a third of what tastes think of categories changes. Each model
//! chooses by one joint draw of the candidates' scores (Thompson), by a hundred (directed), or the highest mean and half a standard deviation
//! (bound), is shown whether the visitor clicks, and learns it.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "indices drawn below a length")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::special::sigmoid;
use vi_models::bandit::information_directed;
use vi_models::metrics::log_loss;
use vi_models::online::{BeliefKind, OnlineLogistic, OnlineSettings, PriorScale, Rows, Standardise};

use super::{Effort, Suite};
use crate::measure::Spread;
use crate::record::{Record, Report, Unit};
use crate::{BenchError, memory};

pub(super) const SUITE: Suite = Suite {
    name: "bandit",
    about: "choices among 50 candidates, 2²⁰ hashed features: low rank, diagonal, full, other programs; regret, log loss, latency, memory",
    run,
};

const TASTES: usize = 6;
const CATEGORIES: usize = 10;
const OFFERS: usize = 2000;
const CANDIDATES: usize = 50;
const WORDS: usize = 10;
const PLACES: usize = 1 << 20;

/// What tastes think of categories, and how good offers are.
struct World {
    tastes: Vec<[f64; CATEGORIES]>,
    quality: Vec<f64>,
}

/// A visitor and the offers at hand.
struct Visit {
    taste: usize,
    words: Vec<u64>,
    offers: Vec<usize>,
}

/// A mixing of bits (splitmix64).
fn mixed(mut value: u64) -> u64 {
    value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl World {
    fn new(rng: &mut ChaCha8Rng) -> Self {
        let tastes = (0..TASTES).map(|_| std::array::from_fn(|_| 1.5 * normal(rng))).collect();
        Self { tastes, quality: (0..OFFERS).map(|_| 0.5 * normal(rng)).collect() }
    }

    /// A third of the tastes change their mind.
    fn drift(&mut self, rng: &mut ChaCha8Rng) {
        for taste in self.tastes.iter_mut().step_by(3) {
            *taste = std::array::from_fn(|_| 1.5 * normal(rng));
        }
    }

    fn chance(&self, visit: &Visit, offer: usize) -> f64 {
        1.0 / (1.0 + (2.0 - self.tastes[visit.taste][offer % CATEGORIES] - self.quality[offer]).exp())
    }
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

impl Visit {
    fn new(rng: &mut ChaCha8Rng) -> Self {
        let taste = rng.random_range(0..TASTES);
        let mut words: Vec<u64> = (0..WORDS).map(|_| (1000 * taste + rng.random_range(0..20_usize)) as u64).collect();
        // By Zipf's law, among 50,000.
        words.extend((0..4).map(|_| 100_000 + (rng.random::<f64>() * f64::ln(50_000.0)).exp() as u64));
        Self { taste, words, offers: (0..CANDIDATES).map(|_| rng.random_range(0..OFFERS)).collect() }
    }

    /// Places of the features of an offer: its name, category and tags, the words, each word with the category.
    fn features(&self, offer: usize, places: usize, out: &mut Vec<usize>) {
        let category = (offer % CATEGORIES) as u64;
        let tags = (0..4).map(|k| (2 << 40) + 100 * category + mixed(offer as u64 * 4 + k) % 30);
        let plain = self.words.iter().map(|word| (3 << 40) + word);
        let crossed = self.words.iter().map(|word| (4 << 40) + word * CATEGORIES as u64 + category);
        let all = [offer as u64, (1 << 40) + category].into_iter().chain(tags).chain(plain).chain(crossed);
        let first = out.len();
        out.extend(all.map(|feature| (mixed(feature) % places as u64) as usize));
        out[first..].sort_unstable();
        let mut kept = first;
        for k in first..out.len() {
            if k == first || out[k] != out[kept - 1] {
                out[kept] = out[k];
                kept += 1;
            }
        }
        out.truncate(kept);
    }
}

/// What a model did.
struct Played {
    /// Clicks lost against the best candidates, and those that random choice loses.
    regret: f64,
    at_random: f64,
    log_loss: f64,
    /// Seconds of a choice with its update, in order of size.
    latency: Vec<f64>,
    memory: Option<f64>,
}

pub(super) fn run(effort: Effort) -> Result<Report, BenchError> {
    let visitors = effort.choose(4000, 600);
    let mut report = Report::default();
    let blocks = BeliefKind::LowRankInBlocks { rank: 10, block: 4 };
    let low_rank = BeliefKind::LowRank { rank: 10 };
    let (given, learned) = (|| PriorScale::Given(0.3), PriorScale::default);
    let players = [
        ("low_rank_10", low_rank, given(), Choice::Thompson),
        ("low_rank_10_blocks_of_4", blocks, given(), Choice::Thompson),
        ("low_rank_10_directed", blocks, given(), Choice::Directed),
        ("low_rank_10_bound", blocks, given(), Choice::Bound),
        ("low_rank_10_scale_learned", low_rank, learned(), Choice::Thompson),
        ("diagonal", BeliefKind::Diagonal, given(), Choice::Thompson),
        ("diagonal_directed", BeliefKind::Diagonal, given(), Choice::Directed),
        ("diagonal_bound", BeliefKind::Diagonal, given(), Choice::Bound),
        ("full_512", BeliefKind::Full, given(), Choice::Thompson),
    ];
    for (name, belief, scale, choice) in players {
        eprintln!("bandit/{name}");
        let places = if belief == BeliefKind::Full { 512 } else { PLACES };
        let Played { regret, at_random, log_loss, latency, memory } = play(belief, scale, choice, places, visitors)?;
        let at = |share: f64| Spread::of(&[latency[((latency.len() - 1) as f64 * share) as usize]]);
        let regret = Record::alone(format!("bandit/{name}/regret"), Spread::of(&[regret / at_random]), Unit::Fraction);
        report.push(regret.note(format!("of that of random choice, {visitors} visitors")));
        let loss = Record::alone(format!("bandit/{name}/log_loss"), Spread::of(&[log_loss]), Unit::Nats);
        report.push(loss.note("of the offers shown, before they are learned; choices differ from model to model"));
        for (label, share) in [("p50", 0.5), ("p99", 0.99)] {
            let record = Record::alone(format!("bandit/{name}/latency_{label}"), at(share), Unit::Seconds);
            report.push(record.note("choice among 50 candidates and update"));
        }
        if let Some(bytes) = memory {
            report.push(Record::alone(format!("bandit/{name}/memory"), Spread::of(&[bytes]), Unit::Bytes));
        }
    }
    peers(visitors, &mut report)?;
    Ok(report)
}

/// Other programs on the same visits, as far as they install.
fn peers(visitors: usize, report: &mut Report) -> Result<(), BenchError> {
    let folder = crate::root().join("target").join("bench").join("bandit");
    write_visits(&folder, visitors)?;
    let environment = super::peers::environment()?;
    let script = crate::root().join("benches").join("python").join("bandit.py");
    for (method, about) in [
        ("vw_squarecb", "Vowpal Wabbit, --cb_explore_adf --squarecb"),
        ("vw_bag", "Vowpal Wabbit, --cb_explore_adf --bag 5"),
        ("bayesianbandits_512", "bayesianbandits, BayesianGLM on 512 places"),
    ] {
        eprintln!("bandit/{method}");
        let played = environment.as_ref().map_err(ToString::to_string).and_then(|environment| {
            let found = environment.numbers(&script, &[method.as_ref(), folder.as_os_str()], ["regret", "p50", "p99"]);
            found.map_err(|error| error.to_string())
        });
        match played {
            Ok([regret, p50, p99]) => {
                let value = |what: &str, value: f64, unit| {
                    Record::alone(format!("bandit/{method}/{what}"), Spread::of(&[value]), unit).note(about)
                };
                report.push(value("regret", regret, Unit::Fraction));
                report.push(value("latency_p50", p50, Unit::Seconds));
                report.push(value("latency_p99", p99, Unit::Seconds));
            }
            Err(reason) => eprintln!("bandit/{method} skipped: {reason}"),
        }
    }
    Ok(())
}

/// The visits as `benches/python/bandit.py` reads them.
fn write_visits(folder: &Path, visitors: usize) -> Result<(), BenchError> {
    let [mut counts, mut positions, mut chances, mut clicks] = [const { Vec::new() }; 4];
    for offered in Visitors::new(PLACES, visitors) {
        for pair in offered.starts.windows(2) {
            counts.extend(((pair[1] - pair[0]) as u32).to_le_bytes());
        }
        positions.extend(offered.positions.iter().flat_map(|&position| (position as u32).to_le_bytes()));
        chances.extend(offered.chances.iter().flat_map(|chance| chance.to_le_bytes()));
        clicks.extend(offered.click.to_le_bytes());
    }
    let write = |path: PathBuf, bytes: &[u8]| {
        std::fs::write(&path, bytes).map_err(|source| BenchError::Write { path: path.clone(), source })
    };
    std::fs::create_dir_all(folder).map_err(|source| BenchError::Write { path: folder.to_owned(), source })?;
    for (name, bytes) in [("counts", counts), ("positions", positions), ("chances", chances), ("clicks", clicks)] {
        write(folder.join(format!("{name}.bin")), &bytes)?;
    }
    Ok(())
}

/// What one visitor is offered: the features of each candidate, and how likely a click on it is.
struct Offered {
    starts: Vec<usize>,
    positions: Vec<usize>,
    chances: Vec<f64>,
    /// The visitor clicks where the chance is above it.
    click: f64,
}

/// The visitors of the world, the same for every model.
struct Visitors {
    world: World,
    rng: ChaCha8Rng,
    places: usize,
    seen: usize,
    all: usize,
}

impl Visitors {
    fn new(places: usize, visitors: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        Self { world: World::new(&mut rng), rng, places, seen: 0, all: visitors }
    }
}

impl Iterator for Visitors {
    type Item = Offered;

    fn next(&mut self) -> Option<Offered> {
        if self.seen == self.all {
            return None;
        }
        if self.seen == self.all / 2 {
            self.world.drift(&mut self.rng);
        }
        self.seen += 1;
        let visit = Visit::new(&mut self.rng);
        let (mut starts, mut positions) = (vec![0], Vec::new());
        for &offer in &visit.offers {
            visit.features(offer, self.places, &mut positions);
            starts.push(positions.len());
        }
        let chances = visit.offers.iter().map(|&offer| self.world.chance(&visit, offer)).collect();
        Some(Offered { starts, positions, chances, click: self.rng.random() })
    }
}

/// How a candidate is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Choice {
    /// The best score of a joint draw.
    Thompson,
    /// Information-directed sampling by a hundred joint draws.
    Directed,
    /// The highest mean and half a standard deviation.
    Bound,
}

/// Plays `visitors` visits with a belief of this kind over so many places; the world and its visitors are the same for all.
fn play(
    belief: BeliefKind,
    prior_scale: PriorScale,
    choice: Choice,
    places: usize,
    visitors: usize,
) -> Result<Played, BenchError> {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let since = memory::reset_peak().then(memory::peak).flatten();
    let settings = OnlineSettings { belief, prior_scale, standardise: Standardise::Never, ..OnlineSettings::default() };
    let mut model = OnlineLogistic::with_settings(places, settings)?;
    let (mut regret, mut at_random) = (0.0, 0.0);
    let (mut latency, mut stated, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for Offered { starts, positions, chances, click } in Visitors::new(places, visitors) {
        let values = vec![1.0; positions.len()];
        let begun = Instant::now();
        let candidates = Rows::Sparse { starts: &starts, positions: &positions, values: &values };
        let shown = match choice {
            Choice::Thompson => best(&model.sample_scores(candidates, &mut rng)?),
            Choice::Directed => {
                let scores = model.score_samples(candidates, 100, &mut rng)?;
                let chances: Vec<f64> = scores.into_iter().map(sigmoid).collect();
                information_directed(&chances, CANDIDATES, &mut rng)?
            }
            Choice::Bound => {
                let score = |ends: &[usize]| {
                    let row = (&positions[ends[0]..ends[1]], &values[ends[0]..ends[1]]);
                    model.predictor(row, 0.0).map(|score| score.mean() + 0.5 * score.variance().sqrt())
                };
                best(&starts.windows(2).map(score).collect::<Result<Vec<f64>, _>>()?)
            }
        };
        let chosen = begun.elapsed();
        let (row, ones) = (&positions[starts[shown]..starts[shown + 1]], &values[starts[shown]..starts[shown + 1]]);
        stated.push(model.predict((row, ones))?.probability);
        let label = f64::from(click < chances[shown]);
        let begun = Instant::now();
        model.update((row, ones), label)?;
        latency.push((chosen + begun.elapsed()).as_secs_f64());

        labels.push(label);
        let most = chances[best(&chances)];
        regret += most - chances[shown];
        at_random += most - chances.iter().sum::<f64>() / CANDIDATES as f64;
    }
    let memory = since.zip(memory::peak()).map(|(before, after)| after.saturating_sub(before) as f64);
    latency.sort_by(f64::total_cmp);
    Ok(Played { regret, at_random, log_loss: log_loss(&stated, &labels)?, latency, memory })
}

/// Index of the largest value.
fn best(values: &[f64]) -> usize {
    (0..values.len()).max_by(|&i, &j| values[i].total_cmp(&values[j])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_learns_loses_less_than_random_choice() {
        for (belief, places) in [(BeliefKind::LowRank { rank: 4 }, 1 << 14), (BeliefKind::Diagonal, 1 << 14)] {
            let played = play(belief, PriorScale::Given(0.3), Choice::Thompson, places, 600).unwrap();
            assert!(played.regret < 0.9 * played.at_random, "{} {}", played.regret, played.at_random);
            assert!(played.log_loss < 0.69 && played.latency.is_sorted() && played.latency.len() == 600);
        }
    }

    #[test]
    fn features_are_sorted_and_differ() {
        let visit = Visit::new(&mut ChaCha8Rng::seed_from_u64(1));
        let mut out = vec![7];
        visit.features(3, 64, &mut out);
        assert!(out[0] == 7 && out[1..].is_sorted_by(|a, b| a < b) && out[1..].iter().all(|&i| i < 64));
    }
}
