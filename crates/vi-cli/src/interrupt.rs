//! A wish to stop (Ctrl-C, or an end of the session) that is asked for between rows, so that nothing is left half done.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

use crate::error::CliError;

/// The exit code of a command that was stopped: that of a shell, 128 and the number of the signal.
pub(crate) const STOPPED: u8 = 130;

static WANTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(false)));

/// From here on the first signal is a wish, and the second ends the command at once; so does the first where the command never `asks` for wishes.
///
/// # Errors
/// A system that does not take it.
pub(crate) fn listen(asks: bool) -> io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        let at_once = if asks { Arc::clone(&WANTED) } else { Arc::new(AtomicBool::new(true)) };
        register_conditional_shutdown(signal, i32::from(STOPPED), at_once)?;
        register(signal, Arc::clone(&WANTED))?;
    }
    Ok(())
}

/// # Errors
/// `Stop` if a signal has come.
pub(crate) fn check() -> Result<(), CliError> {
    if WANTED.load(Ordering::Relaxed) { Err(CliError::Stop) } else { Ok(()) }
}
