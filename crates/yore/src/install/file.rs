//! Reads and atomically replaces a file of the user.
//!
//! A symbolic link stays a link; the file that it leads to is changed. A file keeps its permissions, and its
//! replacement is readable by its owner alone until it takes the file's place. A file is replaced as a whole,
//! and only if it still holds the text for which the change was planned.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Largest settings file, in bytes.
const LARGEST: u64 = 10 << 20;

/// Reasons why a file was left unchanged.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The path is a directory.
    #[error("it is a directory")]
    Directory,
    /// The path is not a regular file.
    #[error("it is not a regular file")]
    Special,
    /// The file is too large for settings.
    #[error("it is larger than 10 MB")]
    TooLarge,
    /// The file is not text.
    #[error("it is not UTF-8 text")]
    NotText,
    /// The file is not writable.
    #[error("it is not writable")]
    ReadOnly,
    /// Another program wrote the file in the meantime.
    #[error("another program keeps changing it; try again later")]
    Changed,
    /// The operating system returned an error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Permissions of a new file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mode {
    /// Only its owner may read it.
    pub is_private: bool,
    /// It is an executable program.
    pub is_executable: bool,
}

/// Returns the text of a file; `None` if it does not exist.
pub fn read(path: &Path) -> Result<Option<String>, FileError> {
    let file = match fs::metadata(path) {
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
        Ok(meta) if meta.is_dir() => return Err(FileError::Directory),
        Ok(meta) if !meta.is_file() => return Err(FileError::Special),
        Ok(meta) if meta.len() > LARGEST => return Err(FileError::TooLarge),
        Ok(_) => File::open(path)?,
    };
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(FileError::TooLarge);
    }
    String::from_utf8(bytes).map(Some).map_err(|_| FileError::NotText)
}

/// Returns whether the error means that the path does not exist.
fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Replaces a file that holds `before`; returns the directories it created.
pub fn write(path: &Path, before: Option<&str>, after: &str, mode: Mode) -> Result<Vec<PathBuf>, FileError> {
    let target = final_target(path)?;
    check_target(&target)?;
    let directory = directory_of(&target);
    let made = make_directories(directory, mode.is_private)?;
    let written = write_in(directory, &target, path, before, after, mode);
    if written.is_err() {
        remove_directories(&made);
    }
    written.map(|()| made)
}

/// Checks that a file may be written, as far as that can be told without writing.
pub fn check(path: &Path) -> Result<(), FileError> {
    check_target(&final_target(path)?)
}

fn check_target(target: &Path) -> Result<(), FileError> {
    if fs::metadata(target).is_ok_and(|meta| meta.permissions().readonly()) {
        return Err(FileError::ReadOnly);
    }
    // On other platforms the flag says nothing about a directory.
    #[cfg(unix)]
    if let Some(there) = directory_of(target).ancestors().find_map(|above| fs::metadata(above).ok())
        && there.permissions().readonly()
    {
        return Err(FileError::ReadOnly);
    }
    Ok(())
}

fn directory_of(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn write_in(
    directory: &Path,
    target: &Path,
    path: &Path,
    before: Option<&str>,
    after: &str,
    mode: Mode,
) -> Result<(), FileError> {
    let permissions = fs::metadata(target).ok().map(|meta| meta.permissions());
    let (mut file, temporary) = create_beside(target, directory, draft_mode(target, mode))?;
    let written = (|| {
        file.write_all(after.as_bytes())?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        drop(file);
        // Another program may have written it since.
        if read(path)?.as_deref() != before {
            return Err(FileError::Changed);
        }
        fs::rename(&temporary, target)?;
        Ok(())
    })();
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Removes a file that holds `before`.
pub fn remove(path: &Path, before: &str) -> Result<(), FileError> {
    if read(path)?.as_deref() != Some(before) {
        return Err(FileError::Changed);
    }
    fs::remove_file(final_target(path)?)?;
    Ok(())
}

/// Follows symbolic links, also one that leads to a file that does not exist yet.
fn final_target(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..40 {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links"))
}

/// Returns the mode of a draft: private if the target exists, because its content may be confidential.
fn draft_mode(target: &Path, mode: Mode) -> Mode {
    if target.exists() { Mode { is_private: true, is_executable: false } } else { mode }
}

fn create_beside(target: &Path, directory: &Path, mode: Mode) -> io::Result<(File, PathBuf)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        let bits = if mode.is_executable { 0o777 } else { 0o666 };
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, if mode.is_private { bits & 0o700 } else { bits });
    }
    #[cfg(not(unix))]
    let _ = mode;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{number}.tmp", std::process::id()));
        let temporary = directory.join(hidden);
        match options.open(&temporary) {
            Ok(file) => {
                // Held while the draft is written, which distinguishes it from drafts of killed processes.
                let _ = file.try_lock();
                remove_left_drafts(target, directory);
                return Ok((file, temporary));
            }
            // Left by an earlier process with the same id.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removes drafts of the same file whose writers are gone: they hold a user's settings, and are never looked
/// for.
fn remove_left_drafts(target: &Path, directory: &Path) {
    let Some(name) = target.file_name().and_then(|name| name.to_str()) else { return };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let left = entry.file_name();
        let numbers =
            left.to_str().and_then(|left| left.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.')?.strip_suffix(".tmp"));
        let is_draft = numbers.is_some_and(|numbers| {
            numbers
                .split_once('-')
                .is_some_and(|(process, number)| process.parse::<u32>().is_ok() && number.parse::<u32>().is_ok())
        });
        let is_left = is_draft && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if is_left {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Creates the missing directories of a path, outermost first.
fn make_directories(directory: &Path, is_private: bool) -> io::Result<Vec<PathBuf>> {
    let mut missing: Vec<&Path> =
        directory.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists()).collect();
    missing.reverse();
    let mut made = Vec::new();
    for path in missing {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, if is_private { 0o700 } else { 0o777 });
        #[cfg(not(unix))]
        let _ = is_private;
        match builder.create(path) {
            Ok(()) => made.push(path.to_path_buf()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                remove_directories(&made);
                return Err(error);
            }
        }
    }
    Ok(made)
}

/// Removes directories that were created in vain.
fn remove_directories(made: &[PathBuf]) {
    for directory in made.iter().rev() {
        // A directory that is not empty stays.
        let _ = fs::remove_dir(directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_changed_meanwhile_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b/c.json");
        let made = write(&path, None, "one", Mode::default()).unwrap();
        assert_eq!(made, [directory.path().join("a"), directory.path().join("a/b")]);
        assert!(matches!(write(&path, None, "two", Mode::default()), Err(FileError::Changed)));
        assert!(matches!(write(&path, Some("0"), "two", Mode::default()), Err(FileError::Changed)));
        assert!(matches!(remove(&path, "0"), Err(FileError::Changed)));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        write(&path, Some("one"), "two", Mode::default()).unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("two"));
        remove(&path, "two").unwrap();
        assert!(read(&path).unwrap().is_none());
    }

    #[test]
    fn what_is_no_text_file_of_a_usual_size_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(read(directory.path()), Err(FileError::Directory)));
        let path = directory.path().join("x");
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(matches!(read(&path), Err(FileError::NotText)));
        File::create(&path).unwrap().set_len(LARGEST + 1).unwrap();
        assert!(matches!(read(&path), Err(FileError::TooLarge)));
        assert!(read(&directory.path().join("none/x")).unwrap().is_none());
        assert!(matches!(read(&path.join("below")), Err(FileError::Io(_))));
    }

    #[cfg(unix)]
    #[test]
    fn draft_of_a_file_that_is_there_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        fs::write(&path, "secret").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let draft = |mode: Mode| {
            let (_, draft) = create_beside(&path, directory.path(), draft_mode(&path, mode)).unwrap();
            fs::metadata(draft).unwrap().permissions().mode() & 0o777
        };
        assert_eq!(draft(Mode::default()), 0o600);
        assert_eq!(draft(Mode { is_private: false, is_executable: true }), 0o600);
        write(&path, Some("secret"), "new", Mode::default()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
    }

    #[test]
    fn what_may_not_be_written_is_known_without_writing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        assert!(check(&path).is_ok() && check(&directory.path().join("a/b/c")).is_ok());
        fs::write(&path, "one").unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions.clone()).unwrap();
        assert!(matches!(check(&path), Err(FileError::ReadOnly)));
        #[expect(clippy::permissions_set_readonly_false, reason = "it is a temporary file")]
        permissions.set_readonly(false);
        fs::set_permissions(&path, permissions).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let closed = directory.path().join("closed");
            fs::create_dir(&closed).unwrap();
            fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
            assert!(matches!(check(&closed.join("a/b")), Err(FileError::ReadOnly)));
            fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn link_stays_a_link_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real"), directory.path().join("link"));
        fs::write(&real, "one").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real", &link).unwrap();
        write(&link, Some("one"), "two", Mode { is_private: true, is_executable: false }).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "two");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        fs::set_permissions(&real, fs::Permissions::from_mode(0o440)).unwrap();
        assert!(matches!(write(&link, Some("two"), "three", Mode::default()), Err(FileError::ReadOnly)));
        let program = directory.path().join("program");
        write(&program, None, "#!/bin/sh\n", Mode { is_private: true, is_executable: true }).unwrap();
        assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
