//! A toy of the boosting paper's Figure 1: the target, the start, and what algorithms came to from it.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_boost::gaussian::{self, GaussianSettings};
use vi_boost::{Component, GaussianMixture};

use super::Shape;
use crate::boosting::{Literal, Quadrature, SEED, Toy, greedy, overlap_gap, refitted};
use crate::json::Node;
use crate::report::Report;
use crate::{CaseError, boosting, compare, tolerance};

pub(super) const SHAPE: Shape = Shape { about: "a toy of boosting variational inference", recognise, check };

fn recognise(root: &Node<'_>) -> bool {
    let target = root.find("target").is_some_and(|target| target.is_object());
    target && (root.find("q1_mean").is_some() || root.find("q1_cov").is_some())
}

/// Points of each component where the dimension is one or two.
const POINTS: usize = 512;

struct Case {
    toy: Toy,
    start: Component,
    line: Option<Quadrature>,
}

impl Case {
    fn kl(&self, q: &GaussianMixture) -> Result<f64, CaseError> {
        if let Some(line) = &self.line {
            return line.kl(q, self.toy.log_normaliser());
        }
        let found = vi_boost::divergence::quasi(q, &self.toy, 2048, 4, SEED)?;
        Ok(found.effective.value + self.toy.log_normaliser())
    }
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let target = root.get("target")?;
    let toy = Toy::read(&target)?;
    let start = boosting::start(&root.get("q1_mean")?, &root.get("q1_cov")?)?;
    let (lower, upper) = range(root, &toy, &start)?;
    let line = Quadrature::new(&toy, &lower, &upper);
    let case = Case { toy, start, line };
    if let Some(stored) = target.find("log_normaliser") {
        let error = compare::scaled(case.toy.log_normaliser(), stored.number()?, 1.0);
        report.compare("log_normaliser", error, tolerance::BOOST_NORMALISER);
    }
    if let Some(single) = root.find("optimal_single_gaussian") {
        report.part("optimal_single_gaussian", |report| check_single(&case, &single, report));
    }
    if let Some(results) = root.find("results") {
        for (name, result) in results.members()? {
            report.part(name, |report| check_result(&case, name, &result, report));
        }
    }
    Ok(())
}

/// The box that the file's own quadrature was taken over, since what it cuts off counts for a broad start.
fn range(root: &Node<'_>, toy: &Toy, start: &Component) -> Result<(Vec<f64>, Vec<f64>), CaseError> {
    let grid = root.find("grid");
    match grid.as_ref().and_then(|grid| grid.find("lower").zip(grid.find("upper"))) {
        Some((lower, upper)) => Ok((lower.vector_of(start.dim())?, upper.vector_of(start.dim())?)),
        None => Ok(toy.range(start)),
    }
}

/// The best of several searches is as good as the stored best.
fn check_single(case: &Case, single: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let stored = single.get("best_kl")?.number()?;
    // Every peak of the target downhill from a Gaussian of its own, and the start as it is.
    let mut starts = vec![case.start.clone()];
    if let Toy::Mixture(mixture) = &case.toy {
        starts.extend(mixture.components().iter().cloned());
    }
    let mut best = f64::INFINITY;
    for start in &starts {
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        let (found, _) = gaussian::fit(&case.toy, start, &GaussianSettings::default(), &mut rng)?;
        best = best.min(case.kl(&GaussianMixture::single(found))?);
    }
    report.compare("best_kl", (best - stored).abs(), tolerance::BOOST_SINGLE);
    Ok(())
}

fn check_result(case: &Case, name: &str, result: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    if let Some(literal) = Literal::named(name) {
        return check_literal(case, literal, result, report);
    }
    let Some(counts) = result.find("kl_by_component_count") else {
        report.skip("", "a prototype's variant, for information");
        return Ok(());
    };
    let counts = counts.vector()?;
    let refit = name.contains("refit");
    let count = match case.toy.components() {
        Some(count) if refit => count.min(counts.len()),
        _ => counts.len(),
    };
    let Some(&stored) = count.checked_sub(1).and_then(|last| counts.get(last)) else {
        return Err(result.refuse("no component counts"));
    };
    let q = if refit {
        refitted(&case.toy, &case.start, count, POINTS, stored.max(tolerance::BOOST_NEAR))?
    } else {
        greedy(&case.toy, &case.start, count, POINTS)?
    };
    let allowed = if refit { tolerance::boost_refitted(stored) } else { tolerance::boost_greedy(stored) };
    report.compare(&format!("kl_with_{count}"), case.kl(&q)?.max(0.0), allowed);
    Ok(())
}

/// Runs of the printed algorithm that are compared with a file's, at most.
const RUNS: usize = 3;

/// Samples beyond which one run says enough.
const MANY: usize = 5000;

fn check_literal(case: &Case, literal: Literal, result: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let stored = result.get("kl_by_iteration")?;
    let mut points = Vec::new();
    for (key, entry) in stored.members()? {
        let iteration: usize = key.parse().map_err(|_| entry.refuse("its key is no iteration"))?;
        let range = (entry.get("min")?.number()?, entry.get("max")?.number()?);
        points.push((iteration, range));
    }
    points.sort_by_key(|point| point.0);
    let iterations: Vec<usize> = points.iter().map(|point| point.0).collect();
    let runs = if literal.samples > MANY { 1 } else { RUNS };
    let mut found = vec![Vec::new(); points.len()];
    for seed in 0..runs {
        let kls = literal.run(&case.toy, &case.start, &iterations, SEED + seed as u64, |q| case.kl(q))?;
        for (column, kl) in found.iter_mut().zip(kls) {
            column.push(kl);
        }
    }
    for ((iteration, range), found) in points.into_iter().zip(&found) {
        let (gap, allowed) = if iteration == 1 {
            // The start itself: no randomness on either side.
            (found.first().map_or(f64::NAN, |kl| compare::relative(*kl, range.0)), tolerance::BOOST_START)
        } else {
            (overlap_gap(range, found), tolerance::BOOST_LITERAL)
        };
        report.compare(&format!("t{iteration}"), gap, allowed);
    }
    Ok(())
}
