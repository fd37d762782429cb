//! The capture policy: which files, directories and projects may be read and kept. It is checked before anything is written; in
//! case of doubt the answer is no.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use yore_core::scope::{is_within, normalize_directory, tidy_path};

/// A pattern that does not parse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid path pattern {pattern:?}: {detail}")]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// Reason for the failure.
    pub detail: String,
}

/// Function that returns whether the project of a recorded directory has switched capture off.
type Switch = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// Rules for which files are read and which projects' content is kept.
#[derive(Default)]
pub struct CapturePolicy {
    exclude_files: GlobSet,
    exclude_projects: Projects,
    only_projects: Option<Projects>,
    is_switched_off: Option<Switch>,
}

impl std::fmt::Debug for CapturePolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CapturePolicy").field("has_rules", &self.has_rules()).finish_non_exhaustive()
    }
}

/// Directories, including everything below them, and patterns.
#[derive(Default)]
struct Projects {
    directories: Vec<String>,
    patterns: GlobSet,
}

impl Projects {
    fn new(entries: &[String]) -> Result<Self, PatternError> {
        let is_pattern = |entry: &&String| entry.contains(['*', '?', '[', '{']);
        Ok(Self {
            directories: entries.iter().filter(|entry| !is_pattern(entry)).map(|entry| normalize_directory(entry)).collect(),
            patterns: patterns(entries.iter().filter(is_pattern))?,
        })
    }

    fn contain(&self, directory: &str) -> bool {
        if self.directories.is_empty() && self.patterns.is_empty() {
            return false;
        }
        // A pattern may be written for the recorded spelling, with its letter case, or for the key form.
        let (recorded, directory) = (tidy_path(directory), normalize_directory(directory));
        let is_matched = |form: &str| {
            std::iter::successors(Some(form), |path| path.rsplit_once('/').map(|(above, _)| above))
                .any(|path| self.patterns.is_match(path))
        };
        self.directories.iter().any(|outer| is_within(&directory, outer)) || is_matched(&recorded) || is_matched(&directory)
    }
}

fn patterns<'p>(entries: impl Iterator<Item = &'p String>) -> Result<GlobSet, PatternError> {
    let mut set = GlobSetBuilder::new();
    for pattern in entries {
        let fail = |error: globset::Error| PatternError { pattern: pattern.clone(), detail: error.kind().to_string() };
        let glob: Glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(fail)?;
        set.add(glob);
    }
    set.build().map_err(|error| PatternError { pattern: String::new(), detail: error.to_string() })
}

impl CapturePolicy {
    /// Creates a policy. `exclude_files`: globs over paths of transcripts. `exclude_projects`: directories or
    /// globs whose sessions are not kept. `only_projects`: if given, only sessions of these are kept.
    ///
    /// # Errors
    /// [`PatternError`] for a glob that does not parse.
    pub fn new(
        exclude_files: &[String],
        exclude_projects: &[String],
        only_projects: Option<&[String]>,
    ) -> Result<Self, PatternError> {
        Ok(Self {
            exclude_files: patterns(exclude_files.iter())?,
            exclude_projects: Projects::new(exclude_projects)?,
            only_projects: only_projects.map(Projects::new).transpose()?,
            is_switched_off: None,
        })
    }

    /// Also calls `is_switched_off` for each recorded directory.
    #[must_use]
    pub fn with_project_switch(mut self, is_switched_off: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.is_switched_off = Some(Box::new(is_switched_off));
        self
    }

    /// Returns whether a transcript may be read.
    pub fn allows_file(&self, path: &str) -> bool {
        !self.exclude_files.is_match(path)
    }

    /// Returns whether content recorded in this directory may be kept.
    pub fn allows_directory(&self, directory: &str) -> bool {
        !self.exclude_projects.contain(directory)
            && self.only_projects.as_ref().is_none_or(|only| only.contain(directory))
            && !self.is_switched_off.as_ref().is_some_and(|is_off| is_off(directory))
    }

    /// Returns whether content without a recorded directory may be kept: only if no rule could forbid it.
    pub fn allows_unknown(&self) -> bool {
        !self.has_rules()
    }

    /// Returns whether any rule names directories.
    fn has_rules(&self) -> bool {
        self.only_projects.is_some()
            || !self.exclude_projects.directories.is_empty()
            || !self.exclude_projects.patterns.is_empty()
    }

    /// Returns whether each line's directory must be checked.
    pub fn looks_at_directories(&self) -> bool {
        self.has_rules() || self.is_switched_off.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> Vec<String> {
        entries.iter().map(|entry| (*entry).to_owned()).collect()
    }

    #[test]
    fn excluded_directory_excludes_all_below_it() {
        let policy = CapturePolicy::new(&[], &list(&["/home/dev/secret", "/home/*/client-*"]), None).unwrap();
        assert!(!policy.allows_directory("/home/dev/secret/src"));
        assert!(!policy.allows_directory("/home/sam/client-x/api"));
        assert!(policy.allows_directory("/home/dev/secretary"));
        assert!(!policy.allows_unknown());
    }

    #[test]
    fn opt_in_fails_closed() {
        let policy = CapturePolicy::new(&[], &[], Some(&list(&["/home/dev/tide"]))).unwrap();
        assert!(policy.allows_directory("/home/dev/tide/src"));
        assert!(!policy.allows_directory("/home/dev/other"));
        assert!(!policy.allows_unknown());
        assert!(CapturePolicy::new(&[], &[], None).unwrap().allows_unknown());
    }

    #[test]
    fn bad_pattern_is_named() {
        assert_eq!(CapturePolicy::new(&list(&["a[b"]), &[], None).unwrap_err().pattern, "a[b");
    }
}
