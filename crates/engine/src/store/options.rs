//! How the store is opened.

use std::time::Duration;

/// How the store is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// How long to wait for another process's write.
    pub busy_timeout: Duration,
    /// Whether a database that needs an upgrade is backed up first.
    pub backup_before_upgrade: bool,
    /// How much the archive is compressed: zstd's level, 1 to 22.
    pub compression_level: i32,
    /// Whether to be content with what is there: nothing is upgraded, and no index is begun.
    pub is_passive: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(5), backup_before_upgrade: true, compression_level: 9, is_passive: false }
    }
}
