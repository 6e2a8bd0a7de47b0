//! The command line.

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand, ValueEnum};
use vi_models::online::BeliefKind;
use vi_terms::Shape;
use vi_terms::table::{Input, InputFormat, Intervals, NOTHING, Options, RANK};

use crate::output::format_of;

const EXIT_CODES: &str = "\
Exit codes: 0, success, or the reader closed the output; 1, an error in the data or the model, in one line \
with its place and its remedy; 2, an error in the command line; 130, stopped by Ctrl-C, after the model was stored.";

/// Models with honest uncertainty from files, in one pass, with nothing to tune.
#[derive(Debug, Parser)]
#[command(name = "rvi", version, about, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Learn a model from a file. Each row is predicted before it is learned, so the scores are out of sample.
    Fit(Box<Fit>),
    /// Add the rows of a file to a stored model.
    Update(Update),
    /// Predict every row of a file, with an interval.
    ///
    /// A probability is the mean of its posterior, and its interval lies between two quantiles: near 0 and 1, where the posterior is skewed, the
    /// mean can lie outside.
    Predict(Predict),
    /// Explain the prediction of every row of a file: what each column, and columns together, add to that of the average row.
    ///
    /// Parts are on the scale of the linear predictor, where they add up: the target, its logarithm or log odds if the model is of these, the logarithm of the
    /// mean of a count, the log hazard of a time, the log odds of the second of two classes. Each has its standard deviation and interval; parts are
    /// correlated, so their variances do not add up.
    Explain(Explain),
    /// Score a stored model on a file with known targets.
    Evaluate(Evaluate),
    /// Show a stored model: inputs, scores, coefficients, health.
    Inspect(Inspect),
    /// Continue a stopped pass, to the same model bit for bit.
    Resume(Resume),
    /// Merge models of parts of the data.
    Merge(Merge),
    /// Write the posterior of a stored model as a record for SQL, Python and Rust.
    Export(Export),
    /// Make a model from the record of a posterior, for example one from SQL.
    Import(Import),
    /// Compare models of the same rows by their evidence.
    Compare(Compare),
    /// Print the completions for a shell.
    Completions(Completions),
    /// Print the manual page, or write one for each command.
    Man(Man),
}

/// The input file and its format.
#[derive(Debug, Clone, PartialEq, Group)]
#[group(id = "Input")]
pub(crate) struct InputArgs {
    /// A file, or `-` for standard input; text may be compressed by gzip or zstd.
    pub(crate) data: PathBuf,
    /// Format of the file (default: by its name or its first bytes).
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<FormatName>,
    /// Take the first line as data; the columns are then named x1, x2, …
    #[arg(long)]
    pub(crate) no_header: bool,
    /// Separator of the fields: one character, or `\t` for a tab (default: inferred from the first line).
    #[arg(long, value_name = "CHAR")]
    pub(crate) delimiter: Option<String>,
    /// Skip unreadable rows and count them, instead of stopping at the first.
    #[arg(long)]
    pub(crate) skip_bad: bool,
}

/// The output about a model.
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
    pub(crate) input: InputArgs,
    /// Column to predict (in a sparse file: the label), `Surv(TIME, EVENT)` for times of which some are censored, or `between(LOW, HIGH)` for numbers of which a range is known.
    #[arg(short, long, value_name = "COLUMN")]
    pub(crate) target: Option<String>,
    /// File for the model.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Type of the target.
    #[arg(long, value_enum, default_value_t = Family::Auto)]
    pub(crate) family: Family,
    /// Target and inputs as a formula, for example `late ~ . - id + carrier:origin + log(distance)` or `pain ~ s(age) + (days | patient)`; `Surv(days, died) ~ age` for times of which some are censored; `between(low, high) ~ age` for numbers of which a range is known; `wage ~ age + school, sigma ~ age` for a spread that follows the age.
    #[arg(long, value_name = "FORMULA")]
    pub(crate) formula: Option<String>,
    /// Add nonlinear features: `rff:300` = 300 random Fourier features (a kernel machine), `poly:2` = powers of the numbers up to 2.
    #[arg(long, value_name = "WHICH")]
    pub(crate) features: Option<String>,
    /// Shape of the relation: a line in each input, a curve for each number, products of two inputs beside the curves, or any shape (random features
    /// beside all these), within the limits of the first rows and of the cost of a row. A formula names its own terms.
    #[arg(long, value_enum, value_name = "SHAPE", conflicts_with_all = ["features", "ard", "unscaled"])]
    pub(crate) shape: Option<ShapeName>,
    /// Columns to leave out.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// Columns of numbers to treat as text (codes, years).
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) text: Vec<String>,
    /// Classes of the target, if the first rows lack some or they have an order (`--family ordered`: the lowest first). With two classes, `rvi` reports the probability of the second.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) classes: Vec<String>,
    /// Columns to keep as numbers although every row has its own (by default such identifiers are left out).
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) number: Vec<String>,
    /// Limit on the levels of a text column: beyond it the most common levels have an input each, and the others share one. By default 100, and beyond it a column may become a group, or the mean label of the rows before.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(2..))]
    pub(crate) levels: u16,
    /// Number of inputs of a sparse file. Names in Vowpal Wabbit's format are hashed to this range (default: 262144); in LIBSVM's it is the largest index
    /// plus one (default: from the first rows). Entries beyond it are skipped and counted.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) inputs: Option<u32>,
    /// Number of records, from all over a file and the first of a stream, that decide the types of the columns; fewer if they need more than 256 MiB, more for
    /// a formula with groups.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) sniff: u32,
    /// Forgetting: `nothing`, `learned` (the rate of drift comes from the data), or a factor between 0 and 1 for each row.
    #[arg(long, value_name = "HOW", default_value = NOTHING)]
    pub(crate) forget: String,
    /// Form of the posterior of the coefficients (default: chosen by their number).
    #[arg(long, value_enum)]
    pub(crate) belief: Option<Belief>,
    /// Prior standard deviation of the coefficients, for inputs of unit spread; for a numeric target in units of its noise. Several values are averaged
    /// by their evidence. Default: learned.
    #[arg(long, value_name = "SCALES", value_delimiter = ',', value_parser = scale)]
    pub(crate) prior: Vec<f64>,
    /// Automatic relevance determination: a prior scale for each input, from a horseshoe prior that is sampled on the first rows (`--sniff`). Irrelevant
    /// inputs are shrunk to almost nothing. For numbers and two classes.
    #[arg(long)]
    pub(crate) ard: bool,
    /// Read the file again after the pass, at most N times for each prior scale, until the posterior is the best Gaussian. Memory does not grow with the
    /// rows. For counts and classes; of numbers with Gaussian noise one pass is already exact.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) refine: Option<u16>,
    /// Read the file once, as a stream: its first rows decide the types of the columns, and the rows are learned in the order of the file alone. By default
    /// rows from all over the file are looked at first, and a file with its labels in runs (for example one sorted by its target) is read again and
    /// learned in random order, because one pass in such an order misleads.
    #[arg(long)]
    pub(crate) keep_order: bool,
    /// Store no sample of the rows in the model (by default at most 256 rows and 1 MiB), which serves to detect a harmful order.
    #[arg(long)]
    pub(crate) no_sample: bool,
    /// Store the model every ROWS rows; `rvi resume` continues from there.
    #[arg(long, value_name = "ROWS", requires = "output", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) checkpoint: Option<u64>,
    /// Fix the scales of the inputs after the first rows, so that models of parts of the data can be merged.
    #[arg(long)]
    pub(crate) mergeable: bool,
    /// Leave the inputs in the units of the file, under the one prior scale of `--prior`, so that `rvi export` can write the model as a record.
    #[arg(long, requires = "prior", conflicts_with_all = ["mergeable", "ard"])]
    pub(crate) unscaled: bool,
    /// Take columns, target and settings, but no coefficients, from a model fitted with `--mergeable`.
    #[arg(long, value_name = "MODEL", conflicts_with_all = [
        "target", "family", "ignore", "text", "number", "classes", "levels", "inputs", "formula", "features", "shape", "sniff", "forget", "belief", "prior", "ard",
        "mergeable", "unscaled", "no_sample",
    ])]
    pub(crate) like: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) show: Show,
}

#[derive(Debug, Group)]
pub(crate) struct Update {
    /// The stored model.
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// File for the result (default: the model's own file).
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// The table that a command writes for the rows of a file.
#[derive(Debug, Group)]
pub(crate) struct TableArgs {
    /// File for the table (default: standard output).
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Format of the table (default: by the name of the output, else CSV).
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<Format>,
    /// Write a JSON object on each line, as `--to jsonl`.
    #[arg(long, conflicts_with = "to")]
    json: bool,
    /// Probability of each interval.
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, value_parser = share)]
    pub(crate) level: f64,
    /// Columns of the input that are written beside the others of the table, such as an identifier.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) keep: Vec<String>,
}

impl TableArgs {
    pub(crate) fn format(&self) -> Format {
        let asked = if self.json { Some(Format::Jsonl) } else { self.to };
        asked.unwrap_or_else(|| format_of(self.output.as_deref()))
    }
}

#[derive(Debug, Group)]
pub(crate) struct Predict {
    /// The stored model.
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// Re-map the intervals by the record of the model's predictions, so that they hold as often as they say whatever the data do (of classes: sets).
    #[arg(long)]
    pub(crate) certified: bool,
}

#[derive(Debug, Group)]
pub(crate) struct Explain {
    /// The stored model.
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// Number of parts of a row to print, the largest first; the others are one line together.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
}

impl Predict {
    pub(crate) fn intervals(&self) -> Intervals {
        if self.certified { Intervals::Certified } else { Intervals::Own }
    }
}

#[derive(Debug, Group)]
pub(crate) struct Evaluate {
    /// The stored model.
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) input: InputArgs,
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
    /// Number of coefficients to print, the most certain first.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,
    /// Write the effects of all groups of a formula with more than 500 to a table: CSV, JSON lines, Parquet or Arrow by its name.
    #[arg(long, value_name = "FILE")]
    pub(crate) groups: Option<PathBuf>,
    /// Read the learned rows again for standard errors that hold whatever the noise (HC3).
    #[arg(long, value_name = "FILE")]
    pub(crate) robust: Option<PathBuf>,
    /// Column of clusters, whose rows may depend on each other, for those errors (CR1).
    #[arg(long, value_name = "COLUMN", requires = "robust")]
    pub(crate) clusters: Option<String>,
}

#[derive(Debug, Group)]
pub(crate) struct Resume {
    /// The model of the stopped pass.
    pub(crate) model: PathBuf,
    /// The data file, if it has moved.
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,
    /// Store the model every ROWS rows.
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) checkpoint: Option<u64>,
    /// Read the file again after the pass, as by `fit --refine`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) refine: Option<u16>,
    #[command(flatten)]
    pub(crate) show: Show,
}

#[derive(Debug, Group)]
pub(crate) struct Merge {
    /// Models made by `fit --mergeable` and `fit --like`.
    #[arg(required = true, num_args = 2..)]
    pub(crate) models: Vec<PathBuf>,
    /// File for the merged model.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) show: Show,
}

#[derive(Debug, Group)]
pub(crate) struct Export {
    /// The stored model.
    pub(crate) model: PathBuf,
    /// File for the record.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Group)]
pub(crate) struct Import {
    /// Record of a posterior, a value of `vi_linear`, `vi_glm` or `vi_merge`.
    pub(crate) record: PathBuf,
    /// File for the model.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Column names of the inputs, in the order of the record.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
    pub(crate) columns: Vec<String>,
    /// Column name of the target.
    #[arg(short, long, value_name = "COLUMN", default_value = "y")]
    pub(crate) target: String,
    /// Names of the two classes; the second is label 1.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "0,1", allow_hyphen_values = true)]
    pub(crate) classes: Vec<String>,
    #[command(flatten)]
    pub(crate) show: Show,
}

#[derive(Debug, Group)]
pub(crate) struct Compare {
    /// Models of the same rows.
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
    /// Folder for one page for each command (default: the main page, to standard output).
    pub(crate) folder: Option<PathBuf>,
}

/// Format of a file of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    /// Fields separated by commas, semicolons or bars (inferred from the first line).
    Csv,
    /// Fields separated by tabs.
    Tsv,
    /// A JSON object on each line.
    Jsonl,
    /// `label index:value …` on each line.
    Libsvm,
    /// Vowpal Wabbit's text.
    Vw,
    /// Parquet.
    Parquet,
    /// The first sheet of a spreadsheet of Excel or OpenDocument.
    Sheet,
    /// Arrow IPC, also called Feather.
    Arrow,
}

/// Shape of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShapeName {
    /// A line in each input.
    Line,
    /// A curve of each number.
    Smooth,
    /// Curves, and products of two inputs.
    Pairs,
    /// Curves, products, and random features of a Gaussian process.
    Any,
}

impl Fit {
    /// The options of the fit, apart from those about files.
    pub(crate) fn options(&self) -> Options {
        Options {
            target: self.target.clone(),
            family: self.family.into(),
            formula: self.formula.clone(),
            features: self.features.clone(),
            shape: self.shape.map(|shape| match shape {
                ShapeName::Line => Shape::Line,
                ShapeName::Smooth => Shape::Smooth,
                ShapeName::Pairs => Shape::Pairs,
                ShapeName::Any => Shape::Any,
            }),
            ignore: self.ignore.clone(),
            text: self.text.clone(),
            number: self.number.clone(),
            classes: self.classes.clone(),
            levels: self.levels,
            inputs: self.inputs,
            sniff: self.sniff,
            forget: self.forget.clone(),
            belief: self.belief.map(|belief| match belief {
                Belief::Full => BeliefKind::Full,
                Belief::LowRank => BeliefKind::LowRank { rank: RANK },
                Belief::Diagonal => BeliefKind::Diagonal,
            }),
            prior: self.prior.clone(),
            ard: self.ard,
            mergeable: self.mergeable,
            unscaled: self.unscaled,
            no_sample: self.no_sample,
            threads: threads(),
        }
    }
}

/// The number of threads that the machine runs at once.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

impl InputArgs {
    /// The same, as a model stores it.
    pub(crate) fn input(&self) -> Input {
        Input {
            data: self.data.clone(),
            format: self.format.map(|format| match format {
                FormatName::Csv => InputFormat::Csv,
                FormatName::Tsv => InputFormat::Tsv,
                FormatName::Jsonl => InputFormat::Jsonl,
                FormatName::Libsvm => InputFormat::Libsvm,
                FormatName::Vw => InputFormat::Vw,
                FormatName::Parquet => InputFormat::Parquet,
                FormatName::Sheet => InputFormat::Sheet,
                FormatName::Arrow => InputFormat::Arrow,
            }),
            no_header: self.no_header,
            delimiter: self.delimiter.clone(),
            skip_bad: self.skip_bad,
        }
    }
}

impl From<Family> for vi_terms::table::Family {
    fn from(family: Family) -> Self {
        match family {
            Family::Auto => Self::Auto,
            Family::Number => Self::Number,
            Family::Gaussian => Self::Gaussian,
            Family::Robust => Self::Robust,
            Family::LogNormal => Self::LogNormal,
            Family::LogRobust => Self::LogRobust,
            Family::Varying => Self::Varying,
            Family::LogVarying => Self::LogVarying,
            Family::LogitNormal => Self::LogitNormal,
            Family::LogitRobust => Self::LogitRobust,
            Family::LogitVarying => Self::LogitVarying,
            Family::Classes => Self::Classes,
            Family::Ordered => Self::Ordered,
            Family::Count => Self::Count,
            Family::Poisson => Self::Poisson,
            Family::NegativeBinomial => Self::NegativeBinomial,
            Family::ZeroInflated => Self::ZeroInflated,
        }
    }
}

/// Type of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Family {
    /// Classes if the values are words, 0 and 1, -1 and 1, or two repeated values; otherwise a number, of the family that the first rows prefer.
    Auto,
    /// A number; the family that the first rows prefer.
    Number,
    /// A number with Gaussian noise of unknown size.
    Gaussian,
    /// A number with Student-t noise: heavy tails, outliers.
    Robust,
    /// A positive number with Gaussian noise in its logarithm.
    LogNormal,
    /// A positive number with Student-t noise in its logarithm.
    LogRobust,
    /// A number with Student-t noise whose spread follows the inputs.
    Varying,
    /// A positive number with such noise in its logarithm.
    LogVarying,
    /// A fraction, between 0 and 1, with Gaussian noise in its log odds.
    LogitNormal,
    /// A fraction with Student-t noise in its log odds.
    LogitRobust,
    /// A fraction with Student-t noise in its log odds whose spread follows the inputs.
    LogitVarying,
    /// Two or more classes.
    Classes,
    /// Classes in an order, as ratings: of numbers theirs, of texts that of `--classes`.
    Ordered,
    /// A count: 0, 1, 2, …; the family that the first rows prefer.
    Count,
    /// A count whose variance is its mean.
    Poisson,
    /// A count that varies more, by an amount that is learned.
    NegativeBinomial,
    /// The same with excess zeros, whose share is learned.
    ZeroInflated,
}

/// Form of the posterior of the coefficients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Belief {
    /// All correlations: up to some hundred inputs.
    Full,
    /// The strongest correlations: up to some ten thousand inputs.
    LowRank,
    /// No correlations: any number of inputs.
    Diagonal,
}

/// Format of a table.
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
        _ => Err("expected a positive number, or several separated by commas".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("expected a number between 0 and 1, exclusive".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Args::command().debug_assert();
    }

    /// Help says things by nouns and imperatives, not by clauses that stand for them.
    fn assert_plain(command: &clap::Command) {
        let own = command.get_about().into_iter().chain(command.get_long_about());
        let options =
            command.get_arguments().flat_map(|option| option.get_help().into_iter().chain(option.get_long_help()));
        for text in own.chain(options).map(ToString::to_string) {
            for habit in ["is told", "so many", "that of what", "what was", "what is", "anybody", "nobody"] {
                assert!(!text.contains(habit), "{}: {text}", command.get_name());
            }
            let first = text.split_whitespace().next().unwrap_or_default();
            assert!(!["What", "How", "Where", "Whether", "Of"].contains(&first), "{}: {text}", command.get_name());
        }
        command.get_subcommands().for_each(assert_plain);
    }

    #[test]
    fn help_is_in_plain_words() {
        assert_plain(&super::Args::command());
    }
}
