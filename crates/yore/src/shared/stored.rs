//! Reads and writes JSON files of the data directory, for the person alone, each replaced as a whole.

use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use yore_engine::platform;
use yore_sources::disk::is_missing;

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
    let draft = path.with_extension(format!("{}.tmp", std::process::id()));
    let _ = fs::remove_file(&draft);
    platform::write_new_private_file(&draft, &serde_json::to_vec(content).map_err(io::Error::other)?)?;
    fs::rename(&draft, path)
}
