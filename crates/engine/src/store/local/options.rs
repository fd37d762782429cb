//! Options of opening the store.

use std::time::Duration;

/// Options for opening the store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Maximum wait for another process's write.
    pub busy_timeout: Duration,
    /// True to back up a database before an upgrade.
    pub backup_before_upgrade: bool,
    /// Compression level of the archive, for zstd, 1 to 22.
    pub compression_level: i32,
    /// True to use only what exists: nothing is upgraded, and no index is created.
    pub is_passive: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(5), backup_before_upgrade: true, compression_level: 9, is_passive: false }
    }
}
