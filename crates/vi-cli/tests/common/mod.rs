//! Running the command in a folder.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A folder of its own for each test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _absent = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

pub(crate) fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rvi"));
    command.current_dir(folder).args(line.split_whitespace());
    command
}

pub(crate) fn rvi(folder: &Path, line: &str) -> Output {
    command(folder, line).output().unwrap()
}

/// Standard output of a command that must succeed.
pub(crate) fn told(folder: &Path, line: &str) -> String {
    let output = rvi(folder, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The line of a command that must fail with code 1 and say why.
pub(crate) fn refused(folder: &Path, line: &str) -> String {
    let output = rvi(folder, line);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{line}: {text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

/// Temporary files that a command has left behind.
pub(crate) fn parts_left(folder: &Path) -> usize {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    fs::read_dir(folder).unwrap().map(name).filter(|name| name.contains(".part")).count()
}

pub(crate) fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// Sales by weekday, place and price, with gaps, an identifier and a constant: `log`-free, noise of deviation 2.
pub(crate) fn sales(rows: usize, seed: u64) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut text = String::from("id;day;place;price;open;sold\n");
    for t in 0..rows {
        let (month, day) = (1 + (t / 28) % 12, 1 + t % 28);
        let place = ["Ulm", "Köln", "Bonn"][rng.random_range(0..3)];
        let price = rng.random_range(1.0..9.0_f64);
        let effect = if place == "Ulm" { 5.0 } else { 0.0 };
        let noise: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let sold = 40.0 + effect - 3.0 * price + 2.0 * noise;
        let price = if rng.random_bool(0.05) { "NA".to_owned() } else { format!("{price:.3}") };
        text += &format!("R{t:06};2024-{month:02}-{day:02};{place};{price};1;{sold:.4}\n");
    }
    text
}
