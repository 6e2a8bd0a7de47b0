//! `vi-repro [PAPER [ITEM]]`: computes the items, writes their files and rebuilds the page.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks to people")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use vi_repro::ReproError;
use vi_repro::item::{Context, Item, PAPERS, Paper, select};
use vi_repro::report::{self, Provenance, Record};

/// Reproduces the papers' figures and tables: CSV, SVG and one page with verdicts.
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
    let chosen = match select(PAPERS, arguments.paper.as_deref(), arguments.item.as_deref()) {
        Ok(chosen) => chosen,
        Err(e) => {
            eprintln!("error: {e}");
            return ExitCode::from(2);
        }
    };
    if arguments.list {
        for (paper, item) in chosen {
            println!("{:<8} {:<16} {}", paper.id, item.id, item.title);
        }
        return ExitCode::SUCCESS;
    }
    match run(&arguments, &chosen) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

/// Makes the chosen items and the page; returns how many items failed.
fn run(arguments: &Arguments, chosen: &[(&Paper, &Item)]) -> Result<usize, ReproError> {
    std::fs::create_dir_all(&arguments.out).map_err(|source| ReproError::Io { path: arguments.out.clone(), source })?;
    let begun = Instant::now();
    let mut provenance = Provenance {
        commit: commit(),
        seed: arguments.seed,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        quick: arguments.quick,
        started: now(),
        seconds: 0.0,
    };
    let bars = MultiProgress::new();
    let overall = bars.add(ProgressBar::new(chosen.len() as u64));
    overall.set_style(style("{bar:30} {pos}/{len} items  {elapsed_precise}  {msg}"));
    overall.enable_steady_tick(Duration::from_millis(500));
    let mut failures = 0;
    for (paper, item) in chosen {
        overall.set_message(format!("{} {}", paper.id, item.id));
        let progress = bars.add(ProgressBar::new(1));
        progress.set_style(style("  {bar:28} {pos}/{len}  {msg}"));
        let context = Context { seed: arguments.seed, quick: arguments.quick, progress: progress.clone() };
        let outcome = one(&arguments.out, paper, item, &context, &provenance);
        progress.finish_and_clear();
        bars.remove(&progress);
        let line = match &outcome {
            Ok(r) => format!(
                "{:<6} {:<14} {:<14} {:>6.1} s  {}",
                r.paper,
                r.id,
                r.verdict.label(),
                r.provenance.seconds,
                r.title
            ),
            Err(e @ ReproError::NoData { .. }) => format!("{:<6} {:<14} skipped: {e}", paper.id, item.id),
            Err(e) => {
                failures += 1;
                format!("{:<6} {:<14} failed: {e}", paper.id, item.id)
            }
        };
        overall.suspend(|| println!("{line}"));
        overall.inc(1);
    }
    overall.finish_and_clear();
    provenance.seconds = begun.elapsed().as_secs_f64();
    report::rebuild(&arguments.out, PAPERS, &provenance)?;
    println!("page: {}", arguments.out.join("index.html").display());
    Ok(failures)
}

fn one(out: &Path, paper: &Paper, item: &Item, context: &Context, run: &Provenance) -> Result<Record, ReproError> {
    let begun = Instant::now();
    let started = now();
    let outcome = (item.run)(context)?;
    let provenance = Provenance { started, seconds: begun.elapsed().as_secs_f64(), ..run.clone() };
    report::write(out, (paper.id, item.id, item.title), &outcome, provenance)
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
