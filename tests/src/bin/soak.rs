//! `soak [--minutes N]`: a learning process is killed at random for half of the time, then a twin that nobody kills runs over the
//! same rows, and the two must be the same to the bit. Then processes of the command `rvi` update one model at once, some of them killed.
//!
//! Exit code 1 for a mismatch or any other finding, 2 for an option that is unknown.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::thread::sleep;
use std::time::{Duration, Instant};

use vi_tests::soak::{self, state::State, updates};

const SEED: u64 = 14;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["work", folder] => work(Path::new(folder)),
        [] => run(1.0),
        ["--minutes", minutes] if minutes.parse::<f64>().is_ok_and(|minutes| minutes > 0.0) => {
            run(minutes.parse().unwrap_or(1.0))
        }
        _ => {
            let _ = writeln!(io::stderr(), "soak: cannot take `{}`\nusage: soak [--minutes N]", words.join(" "));
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "soak: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The process that is killed: learns until the file `stop` appears.
fn work(folder: &Path) -> Result<bool, Box<dyn Error>> {
    let stop = folder.join("stop");
    soak::work(Some(folder), SEED, u64::MAX, || stop.exists())?;
    Ok(true)
}

fn run(minutes: f64) -> Result<bool, Box<dyn Error>> {
    let begun = Instant::now();
    let folder = std::env::temp_dir().join(format!("vi-soak-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut out = io::stdout().lock();
    let (mut kills, mut pause, mut passed) = (0_u32, Pause { state: SEED, longest: 500 }, 0);
    while begun.elapsed().as_secs_f64() < 30.0 * minutes {
        let mut child = start(&folder)?;
        sleep(pause.next());
        if let Some(status) = child.try_wait()? {
            return Err(format!("the process ended by itself, {status}").into());
        }
        child.kill()?;
        child.wait()?;
        kills += 1;
        let now = State::read(&folder)?.map_or(0, |state| state.passed);
        pause.learn(now > passed);
        passed = now;
    }
    std::fs::write(folder.join("stop"), "")?;
    if !start(&folder)?.wait()?.success() {
        return Err("the process failed after the last kill".into());
    }
    let Some(left) = State::read(&folder)? else { return Err("no state is left".into()) };
    writeln!(out, "{} rows and {kills} kills in {:.0} s; the twin runs", left.passed, begun.elapsed().as_secs_f64())?;
    let twin = soak::work(None, SEED, left.passed, || false)?;
    let mut mismatches = 0;
    let pairs = left.counts.iter().zip(&left.documents).zip(twin.counts.iter().zip(&twin.documents));
    for ((counts, document), (twin_counts, twin_document)) in pairs {
        let same = counts == twin_counts && document == twin_document;
        mismatches += u32::from(!same);
        let verdict = if same { "same" } else { "DIFFERENT" };
        let refused = (counts.refused - counts.refused_good, counts.refused_good);
        writeln!(
            out,
            "{verdict:9} {:50} learned {}, refused {} bad and {} good rows",
            counts.name, counts.learned, refused.0, refused.1
        )?;
    }
    let lost = twin.counts.iter().zip(&left.counts).filter(|(a, b)| a.learned != b.learned).count();
    writeln!(
        out,
        "{} rows, {} models, {kills} kills, {mismatches} mismatches, {lost} models with rows lost or counted twice, {:.0} s",
        left.passed,
        left.counts.len(),
        begun.elapsed().as_secs_f64()
    )?;
    let counts = updates::run(&updates::command()?, &folder, Duration::from_secs_f64(15.0 * minutes))?;
    writeln!(
        out,
        "{} updates of one model, 4 at once, {} killed: {} models lost, {} rows lost, {} rows counted twice",
        counts.begun, counts.killed, counts.models_lost, counts.rows_lost, counts.rows_twice
    )?;
    let clean = mismatches == 0 && counts.is_clean();
    if clean {
        std::fs::remove_dir_all(&folder)?;
    }
    Ok(clean)
}

fn start(folder: &Path) -> io::Result<Child> {
    let program: PathBuf = std::env::current_exe()?;
    Command::new(program).arg("work").arg(folder).spawn()
}

/// Pauses of 20 ms up to a longest: most kills hit the learning, some the writing, some the start. Where none leaves a new state behind,
/// the machine is slow, and the longest grows.
struct Pause {
    state: u64,
    longest: u64,
}

impl Pause {
    fn next(&mut self) -> Duration {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis(20 + (self.state >> 33) % self.longest)
    }

    fn learn(&mut self, went_on: bool) {
        self.longest = if went_on { self.longest * 9 / 10 } else { self.longest * 3 / 2 }.clamp(500, 20_000);
    }
}
