//! `vi-repro [PAPER [ITEM]]`: computes the items, writes their files and rebuilds the page.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks to people")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use vi_repro::ReproError;
use vi_repro::item::{Context, Item, PAPERS, Paper, Shared, select};
use vi_repro::report::{self, Kind, Provenance, Record, State};

/// An item to be made, with its paper.
type Chosen = (&'static Paper, &'static Item);

/// Reproduces the papers' figures and tables: CSV, SVG and a page with a verdict on every claim.
///
/// The exit code is not 0 when an item fails or one of the library's own promises is broken.
#[derive(Parser)]
#[command(name = "vi-repro", version, about)]
struct Arguments {
    /// Paper to reproduce; all of them when absent.
    paper: Option<String>,
    /// Item of the paper; all of them when absent.
    item: Option<String>,
    /// Smaller sizes and fewer data sets: everything within a minute.
    #[arg(long)]
    quick: bool,
    /// Folder the files go to.
    #[arg(long, value_name = "DIR", default_value = "target/reproduce")]
    out: PathBuf,
    /// Seed of the generated data sets.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Lists papers and items and does nothing else.
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let chosen = match select(&PAPERS, arguments.paper.as_deref(), arguments.item.as_deref()) {
        Ok(chosen) => chosen,
        Err(e) => {
            eprintln!("error: {e}");
            return ExitCode::from(2);
        }
    };
    if arguments.list {
        for (paper, item) in chosen {
            println!("{:<11} {:<16} {}", paper.id, item.id, paper.words.of_item(item.id, "title").concat());
        }
        return ExitCode::SUCCESS;
    }
    match run(&arguments, &chosen) {
        Ok(Tolls { failed: 0, broken: 0 }) => ExitCode::SUCCESS,
        Ok(Tolls { failed, broken }) => {
            eprintln!("{failed} items failed, {broken} of our own promises are broken");
            ExitCode::FAILURE
        }
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

/// What went wrong in a run.
#[derive(Clone, Copy, Debug, Default)]
struct Tolls {
    failed: usize,
    broken: usize,
}

/// Makes the chosen items and the pages; returns how many items failed and how many promises are broken.
fn run(arguments: &Arguments, chosen: &[Chosen]) -> Result<Tolls, ReproError> {
    std::fs::create_dir_all(&arguments.out).map_err(|source| ReproError::Io { path: arguments.out.clone(), source })?;
    let begun = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut provenance = Provenance {
        commit: commit(),
        seed: arguments.seed,
        threads,
        quick: arguments.quick,
        started: now(),
        seconds: 0.0,
    };
    let bars = MultiProgress::new();
    let overall = bars.add(ProgressBar::new(chosen.len() as u64));
    overall.set_style(style("{bar:30} {pos}/{len} items  {elapsed_precise}"));
    overall.enable_steady_tick(Duration::from_millis(500));
    let shared = Shared::default();
    let one = |(paper, item): Chosen| {
        let progress = bars.insert_before(&overall, ProgressBar::new(1));
        progress.set_style(style("  {bar:28} {pos}/{len}  {prefix} {msg}"));
        progress.set_prefix(format!("{} {}", paper.id, item.id));
        let context = Context {
            seed: arguments.seed,
            quick: arguments.quick,
            progress: progress.clone(),
            item: item.id,
            shared: shared.clone(),
        };
        let record = one(&arguments.out, paper, item, &context, &provenance);
        progress.finish_and_clear();
        bars.remove(&progress);
        if let Ok(record) = &record {
            overall.suspend(|| println!("{}", line(record)));
        }
        overall.inc(1);
        record
    };
    // Items that take times or memory wait until the machine is theirs.
    let (alone, together): (Vec<Chosen>, Vec<Chosen>) = chosen.iter().copied().partition(|(_, item)| item.alone);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut records = Vec::new();
        while let Some(chosen) = together.get(next.fetch_add(1, Ordering::Relaxed)) {
            records.push(one(*chosen)?);
        }
        Ok::<_, ReproError>(records)
    };
    let mut records = Vec::new();
    let finished = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    for made in finished {
        records.extend(made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
    }
    for chosen in alone {
        records.push(one(chosen)?);
    }
    overall.finish_and_clear();
    provenance.seconds = begun.elapsed().as_secs_f64();
    report::rebuild(&arguments.out, &PAPERS, &provenance)?;
    println!("page: {}", arguments.out.join("index.html").display());
    for record in &records {
        for promise in record.broken() {
            eprintln!("broken promise: {} {}: {} ({})", record.paper, record.id, promise.claim, promise.numbers);
        }
    }
    let failed = records.iter().filter(|r| matches!(r.state, State::Failed(_))).count();
    Ok(Tolls { failed, broken: records.iter().map(|r| r.broken().count()).sum() })
}

/// Makes one item and writes its record, whatever becomes of it.
fn one(out: &Path, paper: &Paper, item: &Item, context: &Context, run: &Provenance) -> Result<Record, ReproError> {
    let begun = Instant::now();
    let started = now();
    let outcome = (item.run)(context);
    let provenance = Provenance { started, seconds: begun.elapsed().as_secs_f64(), ..run.clone() };
    let written = outcome.and_then(|outcome| report::write(out, paper, item, outcome, provenance.clone()));
    match written {
        Ok(record) => Ok(record),
        Err(e @ ReproError::NoData { .. }) => {
            report::write_absent(out, paper, item, State::Skipped(e.to_string()), provenance)
        }
        Err(e) => report::write_absent(out, paper, item, State::Failed(e.to_string()), provenance),
    }
}

/// What became of an item, for people who wait.
fn line(r: &Record) -> String {
    let what = match &r.state {
        State::Skipped(why) => return format!("{:<11} {:<16} skipped: {why}", r.paper, r.id),
        State::Failed(why) => return format!("{:<11} {:<16} failed: {why}", r.paper, r.id),
        State::Made => {
            let (claims, promises) = (r.tally(Kind::Claim), r.tally(Kind::Promise));
            format!(
                "{:>2} of {:>2} claims  {:>2} of {:>2} promises",
                claims.holds,
                claims.total(),
                promises.holds,
                promises.total()
            )
        }
    };
    format!("{:<11} {:<16} {what}  {:>6.1} s  {}", r.paper, r.id, r.provenance.seconds, r.title)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// The commit of the working tree, with a `+` when files differ from it.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let hash = git(&["rev-parse", "--short=12", "HEAD"])?;
    let dirty = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if dirty.is_empty() { hash } else { format!("{hash}+") })
}
