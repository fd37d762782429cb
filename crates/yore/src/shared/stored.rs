//! Reads and writes JSON files of the data directory, for the person alone, each replaced as a whole.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use yore_engine::platform;
use yore_sources::disk::is_missing;

/// Ending of the name of a file that is being written.
const DRAFT: &str = "tmp";
/// Age from which nobody writes it any more.
const OLD: Duration = Duration::from_secs(60);

/// Reads a file; the default if there is none.
///
/// # Errors
/// The file is there, and cannot be read or is damaged. The error names it.
pub fn read<T: Default + DeserializeOwned>(path: &Path) -> io::Result<T> {
    let named = |error: &dyn std::fmt::Display| io::Error::other(format!("{}: {error}", path.display()));
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| named(&error)),
        Err(error) if is_missing(&error) => Ok(T::default()),
        Err(error) => Err(named(&error)),
    }
}

/// Writes a file, so that whoever reads it has the old content or the new one; its folder is created.
///
/// # Errors
/// The file cannot be written; the old one is there still.
pub fn write<T: Serialize + ?Sized>(path: &Path, content: &T) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        platform::create_private_directory(folder)?;
    }
    remove_drafts(path);
    let content = serde_json::to_vec(content).map_err(io::Error::other)?;
    // A process whose clock differs from that of the files may have taken the draft for an old one.
    replace(path, &content).or_else(|error| if is_missing(&error) { replace(path, &content) } else { Err(error) })
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_extension(format!("{}.{DRAFT}", std::process::id()));
    let _ = fs::remove_file(&draft);
    let written = platform::write_new_private_file(&draft, content).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Removes what processes left that were killed while they wrote a file: it may hold words that are forgotten since.
fn remove_drafts(path: &Path) {
    let (Some(folder), Some(stem)) = (path.parent(), path.file_stem().and_then(|stem| stem.to_str())) else { return };
    let is_old = |path: &Path| {
        let age = fs::metadata(path).and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
        age.is_some_and(|age| age > OLD)
    };
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_draft = name.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.') && rest.ends_with(DRAFT));
        if is_draft && is_old(&path) {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draft_of_a_killed_process_is_removed_and_that_of_a_running_one_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a1.json");
        let (old, new, other) = ("a1.7.tmp", "a1.8.tmp", "b1.7.tmp");
        for name in [old, new, other] {
            fs::write(directory.path().join(name), "words").unwrap();
        }
        let earlier = std::time::SystemTime::now() - 2 * OLD;
        for name in [old, other] {
            fs::File::options().write(true).open(directory.path().join(name)).unwrap().set_modified(earlier).unwrap();
        }
        write(&path, &["content"]).unwrap();
        let left = |name: &str| directory.path().join(name).exists();
        assert_eq!((left(old), left(new), left(other)), (false, true, true));
        assert_eq!(read::<Vec<String>>(&path).unwrap(), ["content"]);
        fs::write(&path, "{").unwrap();
        assert!(read::<Vec<String>>(&path).unwrap_err().to_string().contains("a1.json"));
    }
}
