//! Stamps: whether the content of a file or of a conversation in a database has changed.

use std::io;
use std::path::Path;

/// State of a unit's content: a different stamp means different content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes, or another number that grows with the content.
    pub size: u64,
    /// Time of the last change in nanoseconds since 1970, or a hash.
    pub version: i64,
}

impl Stamp {
    /// Returns the stamp of a file.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        Ok(Self::of_metadata(&path.metadata()?))
    }

    /// Returns the stamp of a file from its metadata.
    pub fn of_metadata(meta: &std::fs::Metadata) -> Self {
        let since = meta.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        Self { size: meta.len(), version: since.map_or(0, |since| since.as_nanos() as i64) }
    }
}
