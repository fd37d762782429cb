//! Replaces a file atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Writes `content` to `path`, so that a reader sees either the old or the new bytes, even after a power
/// failure.
///
/// A symbolic link is kept: the file that it points to is replaced. A file keeps its permissions; a new one,
/// and a new directory for it, are for their owner only.
pub fn replace_file(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let path = final_target(path)?;
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    create_directory(directory)?;
    let (mut file, temporary) = create_beside(&path, directory)?;
    let written = file.write_all(content.as_ref()).and_then(|()| keep_permissions(&path, &file)).and_then(|()| file.sync_all());
    drop(file);
    let replaced = written.and_then(|()| fs::rename(&temporary, &path));
    if replaced.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
        return replaced;
    }
    sync_directory(directory)
}

/// Follows symbolic links, including one to a file that does not exist yet.
fn final_target(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..40 {
        match fs::read_link(&target) {
            Ok(link) => {
                let parent = target.parent().unwrap_or(Path::new(""));
                target = parent.join(link);
            }
            // The path is not a link, or does not exist yet.
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links"))
}

fn create_beside(path: &Path, directory: &Path) -> io::Result<(File, PathBuf)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut temporary_name = std::ffi::OsString::from(".");
        temporary_name.push(name);
        temporary_name.push(format!(".{}-{number}.tmp", std::process::id()));
        let temporary = directory.join(temporary_name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            // An earlier process with the same id left this file behind.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

fn keep_permissions(old: &Path, new: &File) -> io::Result<()> {
    match fs::metadata(old) {
        Ok(metadata) => new.set_permissions(metadata.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn create_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the other platforms can fail")]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}
