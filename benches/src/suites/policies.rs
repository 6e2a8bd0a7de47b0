//! Bandit policies in twelve worlds: six by which the default was chosen, and six that judge it.

mod worlds;

use std::num::NonZero;
use std::path::Path;
use std::thread;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use vi_models::Transform;
use vi_models::bandit::{Arms, Policy};
use vi_models::online::{Kind as Family, Model, Observation, OnlineLinear, Row, Rows};

use self::worlds::{CHOOSING, JUDGING, Kind, World};
use super::{Effort, Suite};
use crate::BenchError;
use crate::measure::{Spread, mean_and_error};
use crate::python::{Environment, PythonError};
use crate::record::{Record, Report, Unit};

pub(super) const SUITE: Suite = Suite {
    name: "policies",
    about: "bandit policies in twelve worlds, Vowpal Wabbit's beside ours: regret as a share of that of random choice",
    run,
};

/// A policy.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Choice {
    Ours(Policy),
    /// Thompson's draw with its deviation from the mean multiplied.
    Narrow(f64),
    /// The arm with the highest mean, or with this probability any arm.
    Now(f64),
}

/// Levels of the central intervals that end half a standard deviation and a whole one above the mean.
const HALF: f64 = 0.382_924_922_548_026;
const WHOLE: f64 = 0.682_689_492_137_086;

const CHOICES: [(&str, Choice); 8] = [
    ("directed", Choice::Ours(Policy::Directed { draws: 100 })),
    ("thompson", Choice::Ours(Policy::Thompson)),
    ("thompson_half", Choice::Narrow(0.5)),
    ("thompson_quarter", Choice::Narrow(0.25)),
    ("bound_half", Choice::Ours(Policy::Bound { level: HALF })),
    ("bound_whole", Choice::Ours(Policy::Bound { level: WHOLE })),
    ("epsilon_5", Choice::Now(0.05)),
    ("greedy", Choice::Ours(Policy::Greedy)),
];

/// Vowpal Wabbit's.
const OTHERS: [&str; 4] = ["vw_epsilon", "vw_squarecb", "vw_bag", "vw_cover"];

fn run(effort: Effort) -> Result<Report, BenchError> {
    let seeds = match effort {
        Effort::Full => 12,
        Effort::Quick => 2,
        Effort::Replications(count) => count as u64,
    };
    let environment = super::peers::environment()?;
    let folder = crate::root().join("target").join("bench").join("policies");
    let mut report = Report::default();
    for (part, kinds) in [("choosing", CHOOSING), ("judging", JUDGING)] {
        for kind in kinds {
            let mut tell = |name: &str, shares: &[f64]| {
                let (mean, error) = mean_and_error(shares);
                eprintln!("policies/{part}/{}/{name}: {mean:.3} ± {error:.3}", kind.name);
                let name = format!("policies/{part}/{}/{name}", kind.name);
                let record = Record::alone(name, Spread::of(&[mean]), Unit::Fraction);
                report.push(record.note(format!("± {error:.3} over {seeds} seeds; {}", kind.about)));
            };
            for (name, choice) in CHOICES {
                tell(name, &shares(kind, choice, seeds)?);
            }
            if let Ok(environment) = &environment {
                for name in OTHERS {
                    match others(environment, &folder, kind, name, seeds)? {
                        Ok(shares) => tell(name, &shares),
                        Err(error) => eprintln!("policies/{name} skipped: {error}"),
                    }
                }
            }
        }
    }
    Ok(report)
}

/// The regret in the worlds of all seeds, each as a share of that of random choice.
fn shares(kind: Kind, choice: Choice, seeds: u64) -> Result<Vec<f64>, BenchError> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get) as u64;
    thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|first| {
                let own = (first..seeds).step_by(usize::try_from(threads).unwrap_or(1));
                scope.spawn(move || {
                    own.map(|seed| play(&kind.world(seed)?, choice, seed)).collect::<Result<Vec<_>, _>>()
                })
            })
            .collect();
        let mut found = Vec::new();
        for part in parts {
            found.extend(part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(found)
    })
}

/// The regret of a policy in a world as a share of that of random choice.
fn play(world: &World, choice: Choice, seed: u64) -> Result<f64, BenchError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed + 77);
    let family = if world.numbers {
        Family::Number { noise: OnlineLinear::DEFAULT_NOISE, transform: Transform::Identity }
    } else {
        Family::Two
    };
    let new = Model::new(family, world.width(), family.default_settings())?;
    let mut models = vec![new; if world.features == 0 { world.arms } else { 1 }];
    let (mut regret, mut by_chance) = (0.0, 0.0);
    for round in 0..world.rounds {
        let rows: Vec<f64> = if world.features == 0 {
            Vec::new()
        } else {
            (0..world.arms).flat_map(|arm| world.row(round, arm)).collect()
        };
        let apart: Vec<&Model> = models.iter().collect();
        let context = Row::Dense(world.context(round));
        let arms = if world.features == 0 {
            Arms::Apart { models: &apart, context }
        } else {
            Arms::Together { model: &models[0], rows: Rows::Dense(&rows) }
        };
        let chosen = choice.choose(arms, world, &mut rng)?;
        let place = round * world.arms;
        let label = Observation::new(world.rewards[place + chosen]);
        if world.features == 0 {
            models[chosen].update(context, label)?;
        } else {
            let width = world.width();
            models[0].update(Row::Dense(&rows[chosen * width..(chosen + 1) * width]), label)?;
        }
        let means = &world.means[place..place + world.arms];
        let most = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        regret += most - means[chosen];
        by_chance += most - means.iter().sum::<f64>() / world.arms as f64;
    }
    Ok(regret / by_chance)
}

impl Choice {
    fn choose(self, arms: Arms<'_>, world: &World, rng: &mut ChaCha8Rng) -> Result<usize, BenchError> {
        Ok(match self {
            Self::Ours(policy) => policy.choose(arms, rng)?,
            Self::Now(share) if rng.random::<f64>() < share => rng.random_range(0..world.arms),
            Self::Now(_) => Policy::Greedy.choose(arms, rng)?,
            Self::Narrow(spread) => {
                let (mut scores, means): (Vec<f64>, Vec<f64>) = match arms {
                    Arms::Apart { models, .. } if models.iter().any(|model| model.observations() == 0) => {
                        return Ok(Policy::Thompson.choose(arms, rng)?);
                    }
                    Arms::Apart { models, context } => {
                        let mut both = (Vec::new(), Vec::new());
                        for model in models {
                            let own = &model.predictors(context, Observation::new(0.0))?[0];
                            both.0.push(own.draw(rng)?);
                            both.1.push(own.mean());
                        }
                        both
                    }
                    Arms::Together { model, rows } => {
                        let mut memory = Vec::new();
                        let each =
                            rows.split(world.arms, model.inputs(), &mut memory).map_err(vi_models::ModelError::from)?;
                        let means: Result<Vec<f64>, vi_models::ModelError> = each
                            .into_iter()
                            .map(|row| Ok(model.predictors(row, Observation::new(0.0))?[0].mean()))
                            .collect();
                        (model.score_samples(rows, 1, rng)?, means?)
                    }
                };
                for (score, mean) in scores.iter_mut().zip(means) {
                    *score = mean + spread * (*score - mean);
                }
                (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0)
            }
        })
    }
}

/// The shares of another program in the same worlds.
fn others(
    environment: &Environment,
    folder: &Path,
    kind: Kind,
    name: &str,
    seeds: u64,
) -> Result<Result<Vec<f64>, PythonError>, BenchError> {
    let script = crate::root().join("benches").join("python").join("policies.py");
    std::fs::create_dir_all(folder).map_err(|source| BenchError::Write { path: folder.to_owned(), source })?;
    let (path, mut shares) = (folder.join("world.bin"), Vec::new());
    for seed in 0..seeds {
        let world = kind.world(seed)?;
        let counts = [world.arms, world.inputs, world.features, world.rounds].map(|count| count as f64);
        let numbers =
            counts.iter().chain(&world.contexts).chain(&world.of_arms).chain(&world.means).chain(&world.rewards);
        let bytes: Vec<u8> = numbers.flat_map(|number| number.to_le_bytes()).collect();
        std::fs::write(&path, bytes).map_err(|source| BenchError::Write { path: path.clone(), source })?;
        match environment.numbers(&script, &[name.as_ref(), path.as_os_str()], ["share"]) {
            Ok([share]) => shares.push(share),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(shares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_loses_less_than_chance_does() {
        for kind in [CHOOSING[0], CHOOSING[2], JUDGING[1]] {
            let world = kind.world(1).unwrap();
            for (name, choice) in CHOICES {
                let share = play(&world, choice, 1).unwrap();
                assert!(share > 0.0 && share < 0.9, "{} {name} {share}", kind.name);
            }
        }
    }
}
