//! Processes of the command `rvi` that update one model at once, some of them killed: the model stays, and every file that a process
//! says it has taught it is in it once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::SoakError;
use crate::hostile::Finding;

/// Processes at once.
const AT_ONCE: u64 = 4;
/// Rows of a file.
const ROWS: u64 = 30;

/// What is counted of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Updates {
    /// Processes begun.
    pub begun: u64,
    /// Processes killed.
    pub killed: u64,
    /// Models that could not be read after a round.
    pub models_lost: u64,
    /// Rows of processes that ended well and are not in the model.
    pub rows_lost: u64,
    /// Rows that are in the model more than once.
    pub rows_twice: u64,
}

impl Updates {
    /// Whether nothing was lost or counted twice.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.models_lost + self.rows_lost + self.rows_twice == 0
    }
}

/// Lets processes of the program `rvi` update a model in `folder` for a time.
///
/// # Errors
/// What starting and reading say; a [`Finding`] for a process that failed though nobody killed it, or rows that do not add up.
pub fn run(rvi: &Path, folder: &Path, time: Duration) -> Result<Updates, SoakError> {
    let begun = Instant::now();
    let (mut counts, mut state) = (Updates::default(), 14_u64);
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    write(folder, "first.csv", 0)?;
    let fitted = start(rvi, folder, "fit first.csv -t y --family number -o m.rvi")?.wait()?;
    if !fitted.success() {
        return Err(Finding::new(format!("the first fit failed, {fitted}")).into());
    }
    let mut known = ROWS;
    while begun.elapsed() < time {
        let mut children = Vec::new();
        for _ in 0..AT_ONCE {
            counts.begun += 1;
            let name = format!("{}.csv", counts.begun);
            write(folder, &name, counts.begun)?;
            children.push((start(rvi, folder, &format!("update m.rvi {name}"))?, name));
        }
        let victim = usize::try_from(random(2 * AT_ONCE)).unwrap_or_default();
        if let Some((child, _)) = children.get_mut(victim) {
            sleep(Duration::from_millis(random(120)));
            // Which has ended already cannot be killed.
            let _ended = child.kill();
            counts.killed += 1;
        }
        let mut ended = Vec::new();
        for (k, (mut child, name)) in children.into_iter().enumerate() {
            let status = child.wait()?;
            if !status.success() && k != victim {
                return Err(Finding::new(format!("the update by {name} failed, {status}")).into());
            }
            ended.push((name, status.success()));
        }
        let Some(card) = inspected(rvi, folder)? else {
            counts.models_lost += 1;
            return Ok(counts);
        };
        for (name, well) in &ended {
            let times = files(&card).filter(|file| file == name).count() as u64;
            counts.rows_lost += ROWS * u64::from(*well && times == 0);
            counts.rows_twice += ROWS * times.saturating_sub(1);
            known += ROWS * times;
        }
        if card["rows"].as_u64() != Some(known) {
            return Err(Finding::new(format!(
                "{known} rows of the files that the model names, {} in it",
                card["rows"]
            ))
            .into());
        }
    }
    Ok(counts)
}

/// Rows that no other number has.
fn write(folder: &Path, name: &str, number: u64) -> Result<(), SoakError> {
    let row = |t: u64| format!("{},{},{}\n", t % 7, (t * t + number) % 11, number + t % 5);
    Ok(fs::write(folder.join(name), "a,b,y\n".to_owned() + &(0..ROWS).map(row).collect::<String>())?)
}

fn start(rvi: &Path, folder: &Path, line: &str) -> Result<Child, SoakError> {
    let mut command = Command::new(rvi);
    Ok(command.current_dir(folder).args(line.split(' ')).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
}

/// The model card; none where the model cannot be read.
fn inspected(rvi: &Path, folder: &Path) -> Result<Option<Value>, SoakError> {
    let output = Command::new(rvi).current_dir(folder).args(["inspect", "m.rvi", "--json"]).output()?;
    Ok(if output.status.success() { Some(serde_json::from_slice(&output.stdout)?) } else { None })
}

/// The files that a model names, as often as it does.
fn files(card: &Value) -> impl Iterator<Item = &str> {
    card["data"].as_array().into_iter().flatten().filter_map(|pass| pass["file"].as_str())
}

/// Where the command `rvi` is that was built beside this program.
///
/// # Errors
/// What the system says of this program; a [`Finding`] where it was not built.
pub fn command() -> Result<PathBuf, SoakError> {
    let path = std::env::current_exe()?.with_file_name(format!("rvi{}", std::env::consts::EXE_SUFFIX));
    if path.exists() {
        return Ok(path);
    }
    Err(Finding::new(format!("{} is not there; `cargo build -p vi-cli` builds it", path.display())).into())
}
