//! Programs run on a file system that fails.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// How a file operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It alone, with an input/output error.
    Once,
    /// Half of its bytes are written, and from then on there is no space left.
    Full,
    /// The process is killed there.
    Kill,
}

/// A counter of the operations that change files below some directories, and the one of them that fails.
#[derive(Debug)]
pub struct Faults {
    directory: TempDir,
    below: Vec<PathBuf>,
}

impl Faults {
    /// Watches these directories; `None` where this system has no such thing.
    pub fn below(directories: &[&Path]) -> Option<Self> {
        if env!("FAULTS_LIBRARY").is_empty() {
            return None;
        }
        let below = directories.iter().map(|directory| directory.to_path_buf()).collect();
        Some(Self { directory: tempfile::tempdir().unwrap(), below })
    }

    /// The environment of a program whose operation number `at` (from 1) fails; without one, all are counted and none
    /// fails. The count begins anew.
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

    /// How many operations there were since the environment was made.
    pub fn count(&self) -> u64 {
        let bytes = fs::read(self.counter()).unwrap();
        u64::from_ne_bytes(bytes.first_chunk().copied().unwrap_or_default())
    }

    fn counter(&self) -> PathBuf {
        self.directory.path().join("count")
    }
}
