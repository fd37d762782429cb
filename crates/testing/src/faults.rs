//! Runs programs on a failing file system.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// How a file operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Only this operation fails, with an input/output error.
    Once,
    /// Half of the operation's bytes are written, and from then on there is no space left.
    Full,
    /// The process is killed at this operation.
    Kill,
}

/// Counts the operations that change files below some directories, and makes one of them fail.
#[derive(Debug)]
pub struct Faults {
    directory: TempDir,
    below: Vec<PathBuf>,
}

impl Faults {
    /// Watches these directories; `None` on systems without the fault library.
    pub fn below(directories: &[&Path]) -> Option<Self> {
        if env!("FAULTS_LIBRARY").is_empty() {
            return None;
        }
        let below = directories.iter().map(|directory| directory.to_path_buf()).collect();
        Some(Self { directory: tempfile::tempdir().unwrap(), below })
    }

    /// Returns the environment for a program whose operation number `at` (from 1) fails; without it all
    /// operations are counted and none fails. Restarts the count.
    pub fn environment(&self, failing: Option<(u64, Fault)>) -> Vec<(&'static str, String)> {
        fs::write(self.counter(), [0; 8]).unwrap();
        let below: Vec<String> = self.below.iter().map(|path| path.display().to_string()).collect();
        let mut variables = vec![
            ("LD_PRELOAD", env!("FAULTS_LIBRARY").to_owned()),
            ("FAULTS_BELOW", below.join(":")),
            ("FAULTS_COUNTER", self.counter().display().to_string()),
        ];
        if let Some((at, fault)) = failing {
            let kind = match fault {
                Fault::Once => "once",
                Fault::Full => "full",
                Fault::Kill => "kill",
            };
            variables.extend([("FAULTS_AT", at.to_string()), ("FAULTS_KIND", kind.to_owned())]);
        }
        variables
    }

    /// Returns the number of operations since the environment was made.
    pub fn count(&self) -> u64 {
        let bytes = fs::read(self.counter()).unwrap();
        u64::from_ne_bytes(bytes.first_chunk().copied().unwrap_or_default())
    }

    fn counter(&self) -> PathBuf {
        self.directory.path().join("count")
    }
}
