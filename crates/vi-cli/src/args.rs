//! The command line.

use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

const EXIT_CODES: &str = "\
Exit codes: 0, done, or the reader of the output has gone away; 1, the data or the model do not \
allow it, and one line says where and what to do; 2, the command line cannot be read; 130, stopped by Ctrl-C, \
and what was learned is stored.";

/// Models with honest uncertainty from files, in one pass, with nothing to tune.
#[derive(Debug, Parser)]
#[command(name = "rvi", version, about, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Learn a model from a file; every row is predicted before it is learned, so the scores are honest.
    Fit(Box<Fit>),
    /// Learn more rows into a stored model.
    Update(Update),
    /// Predict every row of a file, with an interval.
    ///
    /// A probability is a mean, its interval lies between quantiles of what is believed of it: near 0 and 1, where that is skewed, the
    /// probability can lie outside.
    Predict(Predict),
    /// Score a stored model on a file with known targets.
    Evaluate(Evaluate),
    /// Say what a stored model is and what it believes.
    Inspect(Inspect),
    /// Go on with a pass that was stopped, to the same model bit for bit.
    Resume(Resume),
    /// Bring models of parts of the data together.
    Merge(Merge),
    /// Write what a stored model believes as the record of a posterior, which SQL, Python and Rust read.
    Export(Export),
    /// Make a stored model of the record of a posterior, from SQL for instance.
    Import(Import),
    /// Rank models of the same rows by how probable they make them.
    Compare(Compare),
    /// Print what a shell completes the command with.
    Completions(Completions),
    /// Print the manual page, or write one for each command.
    Man(Man),
}

/// What to read, and how.
#[derive(Debug, Clone, PartialEq, Group, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// A file, or `-` for standard input; text may be compressed by gzip or zstd.
    pub(crate) data: PathBuf,
    /// How the file is written, instead of what its name or its first bytes say.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<InputFormat>,
    /// The first line holds data; columns are then called x1, x2, …
    #[arg(long)]
    pub(crate) no_header: bool,
    /// What separates the fields (one character; `\t` for a tab) instead of what the first line suggests.
    #[arg(long, value_name = "CHAR")]
    pub(crate) delimiter: Option<String>,
    /// Leave out rows that cannot be read, and count them, instead of stopping at the first.
    #[arg(long)]
    pub(crate) skip_bad: bool,
}

/// What is shown of a model.
#[derive(Debug, Clone, Group)]
pub(crate) struct Show {
    /// Print the model card as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw coefficients, predictions with their intervals, reliability and loss as SVG files in a folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) plot: Option<PathBuf>,
    /// Write one page with the summary and the pictures.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, Group)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a command line, each by itself")]
pub(crate) struct Fit {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The column to predict; in a sparse file it is the label.
    #[arg(short, long, value_name = "COLUMN")]
    pub(crate) target: Option<String>,
    /// Where to store the model.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What the target is; by default its values tell.
    #[arg(long, value_enum, default_value_t = Family::Auto)]
    pub(crate) family: Family,
    /// Inputs by a formula, as in `late ~ . - id + carrier:origin + log(distance)`; what stands before `~` is the target.
    #[arg(long, value_name = "FORMULA")]
    pub(crate) formula: Option<String>,
    /// Features beside the inputs that bend the model: `rff:300`, so many random features (a kernel machine); `poly:2`, powers of numbers.
    #[arg(long, value_name = "WHICH")]
    pub(crate) features: Option<String>,
    /// Columns to leave out.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// Columns to take as text even though they hold numbers (codes, years).
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) text: Vec<String>,
    /// The classes of the target, where the first rows do not show all of them; of two the second is the one whose probability is told.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) classes: Vec<String>,
    /// Columns to keep as numbers even though each row has another one (identifiers, which are left out otherwise).
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) number: Vec<String>,
    /// Of texts of more levels than this the most common get an input each, and the others share one.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(2..))]
    pub(crate) levels: u16,
    /// Inputs of a sparse file: places for the names of Vowpal Wabbit's, which are hashed (by default 262144); one more than the largest index of
    /// LIBSVM's (by default that of the first rows). Entries beyond are left out, and counted.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) inputs: Option<u32>,
    /// Records from which columns' kinds are taken; fewer where they would take more than 256 MiB.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) sniff: u32,
    /// What is forgotten: `nothing`, `learned` (the data tell how fast the world drifts), or a factor between 0 and 1 for each row.
    #[arg(long, value_name = "HOW", default_value = "nothing")]
    pub(crate) forget: String,
    /// How the posterior of the coefficients is kept; by default as their number allows.
    #[arg(long, value_enum)]
    pub(crate) belief: Option<Belief>,
    /// Prior standard deviation of the coefficients of inputs of unit spread, of a number in units of its noise; of several the data weigh each by its
    /// evidence. By default it is learned.
    #[arg(long, value_name = "SCALES", value_delimiter = ',', value_parser = scale)]
    pub(crate) prior: Vec<f64>,
    /// A prior scale for each input, by relevance determination (a horseshoe prior, sampled) on the first rows (`--sniff`): inputs that tell nothing
    /// there are all but left out. For numbers and two classes.
    #[arg(long)]
    pub(crate) ard: bool,
    /// After the pass read the file again, at most so many times for each prior scale, until the posterior is the best Gaussian there is. Memory does
    /// not grow with the rows. For counts and classes; of numbers one pass is exact.
    #[arg(long, visible_alias = "epochs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) refine: Option<u16>,
    /// Learn the rows in the file's order alone. By default a file whose labels come in runs, as one that is sorted by its target, is read again and
    /// learned in a random order, since one pass in such an order misleads.
    #[arg(long)]
    pub(crate) keep_order: bool,
    /// Keep no sample of the rows in the model (by default at most 256 rows and 1 MiB), by which it tells whether their order has done harm.
    #[arg(long)]
    pub(crate) no_sample: bool,
    /// Store the model after every so many rows; `rvi resume` goes on from there.
    #[arg(long, value_name = "ROWS", requires = "output")]
    pub(crate) checkpoint: Option<u64>,
    /// Scale inputs by the first rows once and for all, so that models of parts of the data can be merged.
    #[arg(long)]
    pub(crate) mergeable: bool,
    /// Take inputs in the units of the file, under the one prior scale that `--prior` gives: such a model can be the record of a posterior (`rvi export`).
    #[arg(long, requires = "prior", conflicts_with_all = ["mergeable", "ard"])]
    pub(crate) unscaled: bool,
    /// Take columns, target and settings from a model that was fitted with `--mergeable`, and nothing that it has learned.
    #[arg(long, value_name = "MODEL", conflicts_with_all = [
        "target", "family", "ignore", "text", "number", "classes", "levels", "inputs", "formula", "features", "sniff", "forget", "belief", "prior", "ard",
        "mergeable", "unscaled", "no_sample",
    ])]
    pub(crate) like: Option<PathBuf>,
    /// Go on with the stored model where it stopped in the same file.
    #[arg(long = "continue", requires = "output")]
    pub(crate) go_on: bool,
    #[command(flatten)]
    pub(crate) show: Show,
}

#[derive(Debug, Group)]
pub(crate) struct Update {
    /// The stored model.
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Where to store the result; by default where the model was.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) show: Show,
}

#[derive(Debug, Group)]
pub(crate) struct Predict {
    /// The stored model.
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Where to write; by default to standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// How to write; by default as the name of the output says, CSV without one.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Option<Format>,
    /// How much each interval holds.
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, value_parser = share)]
    pub(crate) level: f64,
}

#[derive(Debug, Group)]
pub(crate) struct Evaluate {
    /// The stored model.
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Print the scores as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Group)]
pub(crate) struct Inspect {
    /// The stored model.
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) show: Show,
    /// How many coefficients to print, the surest first.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,
}

#[derive(Debug, Group)]
pub(crate) struct Resume {
    /// The model that the stopped pass has left.
    pub(crate) model: PathBuf,
    /// The file, if it lies elsewhere now.
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,
    /// Store the model after every so many rows.
    #[arg(long, value_name = "ROWS")]
    pub(crate) checkpoint: Option<u64>,
    #[command(flatten)]
    pub(crate) show: Show,
}

#[derive(Debug, Group)]
pub(crate) struct Merge {
    /// The models, made by `fit --mergeable` and `fit --like`.
    #[arg(required = true, num_args = 2..)]
    pub(crate) models: Vec<PathBuf>,
    /// Where to store the result.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) show: Show,
}

#[derive(Debug, Group)]
pub(crate) struct Export {
    /// The stored model.
    pub(crate) model: PathBuf,
    /// Where to write the record.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Group)]
pub(crate) struct Import {
    /// The record of a posterior: the value that `vi_linear`, `vi_glm` or `vi_merge` answers.
    pub(crate) record: PathBuf,
    /// Where to store the model.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// What the inputs are called in files, in the order of the record.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
    pub(crate) columns: Vec<String>,
    /// What the target is called in files.
    #[arg(short, long, value_name = "COLUMN", default_value = "y")]
    pub(crate) target: String,
    /// What its two classes are called in files, that of label 1 last.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "0,1", allow_hyphen_values = true)]
    pub(crate) classes: Vec<String>,
    #[command(flatten)]
    pub(crate) show: Show,
}

#[derive(Debug, Group)]
pub(crate) struct Compare {
    /// The models, which have learned the same rows.
    #[arg(required = true, num_args = 2..)]
    pub(crate) models: Vec<PathBuf>,
    /// Print the comparison as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Group)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Group)]
pub(crate) struct Man {
    /// Where to write a page for each command; by default the first page goes to standard output.
    pub(crate) folder: Option<PathBuf>,
}

/// How a file of records is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum InputFormat {
    /// Fields between commas, semicolons or bars; the first line tells which.
    Csv,
    /// Fields between tabs.
    Tsv,
    /// A JSON object on each line.
    Jsonl,
    /// `label index:value …` on each line.
    Libsvm,
    /// Vowpal Wabbit's text.
    Vw,
    /// Parquet.
    Parquet,
    /// Arrow IPC, also called Feather.
    Arrow,
}

/// What a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Family {
    /// 0 and 1, -1 and 1, or words: classes; other numbers: a number.
    Auto,
    /// A number with noise of unknown size.
    Number,
    /// Two or more classes.
    Classes,
    /// A count: 0, 1, 2, …
    Count,
}

/// How the posterior of the coefficients is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Belief {
    /// With all correlations: up to some hundred inputs.
    Full,
    /// With the strongest correlations: up to some ten thousand.
    LowRank,
    /// Without correlations: any number.
    Diagonal,
}

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Csv,
    Jsonl,
    /// Parquet, to a file.
    #[cfg(feature = "columnar")]
    Parquet,
}

fn scale(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(scale) if scale > 1e-100 && scale < 1e100 => Ok(scale),
        _ => Err("a positive number, or several with commas between them".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("a share between 0 and 1, both excluded".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Args::command().debug_assert();
    }
}
