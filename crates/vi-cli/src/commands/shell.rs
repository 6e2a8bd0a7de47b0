//! Completions for a shell and manual pages.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::CommandFactory;

use crate::args::{Args, Completions, Man};
use crate::error::CliError;

pub(super) fn completions(args: &Completions) -> Result<(), CliError> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "rvi", &mut text);
    let mut out = io::stdout().lock();
    out.write_all(&text).and_then(|()| out.flush()).map_err(|e| CliError::file(Path::new("standard output"), e))
}

/// A page for the command and for each of its subcommands, in a folder; without one the first on standard output.
pub(super) fn man(args: &Man) -> Result<(), CliError> {
    if let Some(folder) = &args.folder {
        return fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(Args::command(), folder))
            .map_err(|error| CliError::file(folder, error));
    }
    let mut out = io::stdout().lock();
    clap_mangen::Man::new(Args::command())
        .render(&mut out)
        .and_then(|()| out.flush())
        .map_err(|error| CliError::file(Path::new("standard output"), error))
}
