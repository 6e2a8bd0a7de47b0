//! `rvi`: models with honest uncertainty from files, in one pass.
//!
//! ```text
//! rvi fit flights.csv --target arr_delay -o flights.rvi     learn, score on the way, store
//! rvi predict flights.rvi tomorrow.csv                      mean and interval for every row
//! rvi evaluate flights.rvi held-out.csv                     log loss, coverage, calibration
//! rvi update flights.rvi january.csv                        learn more rows
//! rvi inspect flights.rvi                                   what it is and what it believes
//! rvi resume flights.rvi                                    go on with a pass that was stopped
//! rvi merge east.rvi west.rvi -o both.rvi                   models of parts of the data
//! rvi export flights.rvi -o posterior.bin                   what it believes, for SQL
//! rvi import posterior.bin --columns a,b -o model.rvi       what SQL believes
//! rvi compare plain.rvi rich.rvi                            which one the data make more probable
//! ```
//!
//! The command reads files (CSV, TSV, JSON lines, LIBSVM, Vowpal Wabbit, Parquet, Arrow; gzip, zstd; standard input) record by record. What
//! turns records into numbers, learns and stores them is [`vi_terms::table`].
//!
//! Exit codes: 0, success; 1, the data or the model do not allow what was asked for (one line on standard error says what, where, and what to
//! do); 2, the command line cannot be read; 130, stopped by Ctrl-C or the end of the session (what has been learned is then stored, and the line says
//! how to go on). Where the reader of the output goes away (a closed pipe), the command ends with 0.

mod args;
mod commands;
mod document;
mod error;
mod files;
mod interrupt;
mod output;
mod page;
mod progress;
mod report;
mod source;
mod tell;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    let asks = !matches!(args.command, args::Command::Inspect(_));
    let done = interrupt::listen(asks).map_err(|error| error::CliError::file(Path::new("signals"), error));
    match done.and_then(|()| commands::run(&args.command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            tell::warn(&error.to_string());
            if error.is_stop() { ExitCode::from(interrupt::STOPPED) } else { ExitCode::FAILURE }
        }
    }
}
