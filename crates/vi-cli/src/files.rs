//! Files that are replaced whole, and models that one process alone changes.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use vi_data::fnv;

use crate::error::CliError;
use crate::interrupt;
use crate::tell::warn;

/// No file that is read into memory as a whole is longer.
const LONGEST: u64 = 1 << 32;
/// The same of a stream, whose length nobody tells beforehand.
const LONGEST_STREAM: u64 = 1 << 30;
/// Links after which there is no end to them.
const LINKS: usize = 40;
/// How often a model that another process changes is looked at.
const PAUSE: Duration = Duration::from_millis(20);

/// The bytes of a model and, where it is to be replaced, the right to do so.
pub(crate) struct Held {
    file: File,
    /// The file itself, whatever links lead to it.
    path: PathBuf,
    /// The hash of its bytes.
    hash: u64,
}

impl Held {
    /// Opens a model that is to be replaced. Where another process of this kind does so, it waits until that has ended.
    ///
    /// # Errors
    /// A file that cannot be read; a wish to stop while it waits.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<u8>), CliError> {
        let own = target_of(path);
        let mut told = false;
        loop {
            interrupt::check()?;
            let mut file = File::open(&own).map_err(|error| CliError::file(path, error))?;
            let waits = is_locked(&file);
            if !waits && is_at(&file, &own) {
                let bytes = read_whole(&mut file, path)?;
                return Ok((Self { file, path: own, hash: fnv::extended(fnv::START, &bytes) }, bytes));
            }
            if waits && !std::mem::replace(&mut told, true) {
                warn(&format!("waiting for another process that changes {}", path.display()));
            }
            sleep(PAUSE);
        }
    }

    /// Puts `bytes` in the place of the model, and holds them.
    ///
    /// # Errors
    /// A model that is no longer what was read or written last; a disk that does not take it. The old file is then as it was.
    pub(crate) fn replace(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        let failed = |error| CliError::file(&self.path, error);
        // Who does not ask for the lock, an editor say, is found out here.
        let now = read_whole(&mut File::open(&self.path).map_err(failed)?, &self.path)?;
        if fnv::extended(fnv::START, &now) != self.hash {
            return Err(CliError::Overtaken { path: self.path.clone() });
        }
        let (file, ()) = replaced(&self.path, |out| out.write_all(bytes).map_err(failed))?;
        (self.file, self.hash) = (file, fnv::extended(fnv::START, bytes));
        Ok(())
    }

    /// Writes a model where there was none, or another one, and holds it.
    ///
    /// # Errors
    /// As [`whole_file`].
    pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<Option<Self>, CliError> {
        let own = target_of(path);
        let write = |out: &mut Out<'_>| out.write_all(bytes).map_err(|error| CliError::file(path, error));
        if is_special(&own) {
            return whole_file(path, write).map(|()| None);
        }
        let (file, ()) = replaced(&own, write)?;
        Ok(Some(Self { file, path: own, hash: fnv::extended(fnv::START, bytes) }))
    }
}

/// A writer of the bytes of a file.
type Out<'a> = dyn Write + Send + 'a;

/// Writes beside `path` and takes its place when all is on the disk: whoever reads finds the old file or the new one, and never a part. A link stays, and
/// what it leads to is replaced; a device or a pipe is written as it is.
///
/// # Errors
/// The errors of `write` and of the disk. The old file is then as it was.
pub(crate) fn whole_file<T>(
    path: &Path,
    write: impl FnOnce(&mut Out<'_>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let own = target_of(path);
    if !is_special(&own) {
        return replaced(&own, write).map(|(_, result)| result);
    }
    let failed = |error| CliError::file(path, error);
    let mut out = BufWriter::new(OpenOptions::new().write(true).open(&own).map_err(failed)?);
    let result = write(&mut out)?;
    out.flush().map_err(failed)?;
    Ok(result)
}

/// Puts what `write` writes in the place of the file `path`; the new file, locked where the system can.
fn replaced<T>(path: &Path, write: impl FnOnce(&mut Out<'_>) -> Result<T, CliError>) -> Result<(File, T), CliError> {
    let failed = |error| CliError::file(path, error);
    let name = path.file_name().ok_or_else(|| failed(io::ErrorKind::IsADirectory.into()))?;
    let mut part = std::ffi::OsString::from(".");
    part.push(name);
    // Keys that the system draws anew for each process, and a count within it.
    part.push(format!(".{:016x}.part", RandomState::new().build_hasher().finish()));
    let part = path.with_file_name(part);
    let file = like(path, OpenOptions::new().write(true).create_new(true), &part).map_err(failed)?;
    let written = (|| {
        is_locked(&file);
        let mut out = BufWriter::new(file);
        let result = write(&mut out)?;
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().and_then(|()| fs::rename(&part, path)).map_err(failed)?;
        Ok((file, result))
    })();
    if written.is_err() {
        // What could not be finished is not left behind.
        let _gone = fs::remove_file(&part);
    }
    written
}

/// All bytes of a file that is no longer than memory should hold.
///
/// # Errors
/// A file that cannot be read, or is too long.
pub(crate) fn read_whole(file: &mut File, path: &Path) -> Result<Vec<u8>, CliError> {
    let failed = |error| CliError::file(path, error);
    let known = file.metadata().map_err(failed)?;
    let most = if known.is_file() { LONGEST } else { LONGEST_STREAM };
    let too_long = || failed(io::Error::new(io::ErrorKind::FileTooLarge, format!("longer than {} MiB", most >> 20)));
    if known.len() > most {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most { Err(too_long()) } else { Ok(bytes) }
}

/// The end of a path, through links whose ends may not exist yet.
fn target_of(path: &Path) -> PathBuf {
    let mut own = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&own) {
            Ok(next) => own = own.parent().map_or_else(|| next.clone(), |folder| folder.join(&next)),
            Err(_) => return own,
        }
    }
    own
}

/// Whether there is something that is neither a file nor a folder: a device, a pipe.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir())
}

/// The place that a path leads to, with a file or without; none for a device or a pipe, which takes several outputs.
fn place_of(path: &Path) -> Option<PathBuf> {
    let own = target_of(path);
    if let Ok(there) = fs::canonicalize(&own) {
        return Some(there).filter(|there| !is_special(there));
    }
    let folder = own.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(fs::canonicalize(folder).ok()?.join(own.file_name()?))
}

/// Whether two paths lead to the same file, there already or not yet.
pub(crate) fn are_one(a: &Path, b: &Path) -> bool {
    place_of(a).is_some_and(|a| place_of(b) == Some(a))
}

/// Whether a path leads to an SVG file directly in a folder, where pictures are written.
pub(crate) fn is_picture_in(path: &Path, folder: &Path) -> bool {
    let Some(own) = place_of(path).filter(|own| own.extension().is_some_and(|end| end == "svg")) else { return false };
    place_of(folder).is_some_and(|folder| own.parent() == Some(&folder))
}

/// Takes the lock of a file for this process alone; whether another has it. On a system or a disk that has no such locks nobody has.
#[cfg(unix)]
fn is_locked(file: &File) -> bool {
    matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock))
}

/// Elsewhere a lock would keep those out who only read.
#[cfg(not(unix))]
fn is_locked(_: &File) -> bool {
    false
}

/// Whether `path` is still this file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(own), Ok(there)) => (own.dev(), own.ino()) == (there.dev(), there.ino()),
        // Whatever is wrong is told when the path is opened again.
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Opens `part` with the mode of the file that it is to replace, if there is one, and its owner where that is allowed.
fn like(path: &Path, options: &mut OpenOptions, part: &Path) -> io::Result<File> {
    let Ok(old) = fs::metadata(path) else { return options.open(part) };
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    let file = options.open(part)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let _stays_mine = fchown(&file, Some(old.uid()), Some(old.gid()));
    }
    // Some disks know no modes.
    let _without = file.set_permissions(old.permissions());
    Ok(file)
}
