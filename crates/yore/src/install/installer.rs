//! Installs and uninstalls yore's entries file by file, and reports each outcome. A file that cannot be changed is reported and
//! does not keep others from being changed.

use std::io;
use std::path::{Path, PathBuf};

use similar::TextDiff;

use super::agent::Agent;
use super::edit::{Content, Original};
use super::file::{self, FileError, Mode};
use super::record::{Before, Changed, Record, Turn, hash_of};
use super::{FileEdit, Machine, Part, Program, Purpose, Scope, Wanted};

/// The outcome for a file, with its diff.
type Told = Result<(Outcome, Option<String>), FileError>;

/// Attempts to change a file that other programs write at the same time.
const ATTEMPTS: u32 = 3;

/// The outcome for one file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Done {
    /// Path of the file.
    pub path: PathBuf,
    /// The parts of yore that the file holds.
    pub parts: Vec<Part>,
    /// Outcome, or the expected outcome of a dry run.
    pub outcome: Outcome,
    /// The change, as a unified diff.
    pub diff: Option<String>,
}

/// The outcome for a file, or the expected outcome of a dry run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The file was created.
    Created,
    /// The file was changed.
    Changed,
    /// The file already has everything.
    Already,
    /// The original bytes were restored.
    Restored,
    /// The file was removed.
    Removed,
    /// Yore's entries were removed; other changes made since stay.
    Cleaned,
    /// The file was removed although it had been edited since; a copy is at this path.
    RemovedWithCopy(PathBuf),
    /// The file stays, because these agents use it too.
    Kept(Vec<String>),
    /// The file has no entry of yore's.
    Absent,
    /// The file was left unchanged, for this reason.
    Refused(String),
}

impl Outcome {
    /// Returns a word for scripts.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Already => "already",
            Self::Restored => "restored",
            Self::Removed => "removed",
            Self::Cleaned => "cleaned",
            Self::RemovedWithCopy(_) => "removed-with-copy",
            Self::Kept(_) => "kept",
            Self::Absent => "absent",
            Self::Refused(_) => "refused",
        }
    }

    /// Returns whether a file is, or would be, different from before.
    pub fn is_change(&self) -> bool {
        !matches!(self, Self::Already | Self::Kept(_) | Self::Absent | Self::Refused(_))
    }
}

/// Installs and uninstalls, or reports what it would do.
pub struct Installer<'i> {
    machine: &'i Machine<'i>,
    program: &'i Program,
    scope: Scope,
    record: Record,
    is_dry: bool,
    /// Keeps other writers out; `None` if nothing can be written.
    _turn: Option<Turn>,
}

impl<'i> Installer<'i> {
    /// Opens the record in `directory`, the data directory. With `is_dry` nothing is written; otherwise other
    /// processes wait until this is dropped.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn open(
        machine: &'i Machine<'i>,
        program: &'i Program,
        scope: Scope,
        directory: &Path,
        purpose: Purpose,
        is_dry: bool,
    ) -> io::Result<Self> {
        // Uninstalling creates no directory.
        let is_alone = !is_dry && (purpose == Purpose::Put || directory.is_dir());
        let turn = is_alone.then(|| Turn::take(directory)).transpose()?;
        Ok(Self { machine, program, scope, record: Record::open(directory)?, is_dry, _turn: turn })
    }

    /// Returns the request for this direction.
    pub fn wanted(&self, purpose: Purpose) -> Wanted<'_> {
        Wanted { machine: self.machine, program: self.program, scope: self.scope, purpose }
    }

    /// Returns the number of project files that are still changed.
    pub fn projects_left(&self) -> usize {
        self.record.files().iter().filter(|file| file.scope == Scope::Project.name()).count()
    }

    /// Puts the wanted parts into an agent's files.
    pub fn install(&mut self, agent: &Agent, is_wanted: &dyn Fn(Part) -> bool) -> Vec<Done> {
        let edits: Vec<FileEdit> = (agent.edits)(&self.wanted(Purpose::Put));
        let edits = edits.into_iter().filter_map(|edit| {
            let content = edit.content.only(is_wanted)?;
            Some(FileEdit { content, ..edit })
        });
        edits.collect::<Vec<_>>().into_iter().map(|edit| self.attempt(agent, &edit, Self::install_one)).collect()
    }

    /// Takes yore out of an agent's files.
    pub fn uninstall(&mut self, agent: &Agent) -> Vec<Done> {
        let edits: Vec<FileEdit> = (agent.edits)(&self.wanted(Purpose::Take));
        let mut done = Vec::new();
        for edit in &edits {
            // The parts that are really in the file, among all that may be.
            let text = file::read(&edit.path).ok().flatten().unwrap_or_default();
            let is_there = |part: &Part| edit.content.only(&|other| other == *part).is_some_and(|content| content.is_in(&text));
            let there: Vec<Part> = edit.content.parts().into_iter().filter(is_there).collect();
            let mut one = self.attempt(agent, edit, Self::uninstall_one);
            if !there.is_empty() {
                one.parts = there;
            }
            done.push(one);
        }
        if !self.is_dry {
            // A directory that stays does no harm.
            let _ = self.record.remove_directories();
        }
        done.into_iter().filter(|done| done.outcome != Outcome::Absent).collect()
    }

    fn attempt(&mut self, agent: &Agent, edit: &FileEdit, change: fn(&mut Self, &Agent, &FileEdit) -> Told) -> Done {
        let mut attempts = 1;
        let (outcome, diff) = loop {
            match change(self, agent, edit) {
                Err(FileError::Changed) if attempts < ATTEMPTS => attempts += 1,
                Err(error) => break (Outcome::Refused(told(error)), None),
                Ok(done) => break done,
            }
        };
        Done { path: edit.path.clone(), parts: edit.content.parts(), outcome, diff }
    }

    fn install_one(&mut self, agent: &Agent, edit: &FileEdit) -> Told {
        let Some(name) = edit.path.to_str() else { return refused("its path is not Unicode") };
        let before = file::read(&edit.path)?;
        let after = match edit.content.put(before.as_deref()) {
            Ok(after) => after,
            Err(error) => return refused(&error.to_string()),
        };
        let known = self.record.find(name).cloned();
        if before.as_ref() == Some(&after) {
            if let Some(mut known) = known.filter(|_| !self.is_dry) {
                let noted = known.clone();
                known.agents.insert(agent.name.to_owned());
                known.parts.extend(edit.content.parts());
                if known != noted {
                    self.record.note(known)?;
                }
            }
            return Ok((Outcome::Already, None));
        }
        let outcome = if before.is_none() { Outcome::Created } else { Outcome::Changed };
        let diff = Some(self.diff(&edit.path, before.as_deref().unwrap_or_default(), &after));
        if self.is_dry {
            file::check(&edit.path)?;
            return Ok((outcome, diff));
        }
        let mut noted = known.clone().unwrap_or_else(|| Changed::new(name.to_owned(), self.scope));
        let is_as_written =
            known.as_ref().is_some_and(|known| before.as_deref().map(hash_of).as_ref() == Some(&known.hash_after));
        if !is_as_written {
            // The text that uninstall restores has no entry of yore's, not even an older one.
            let clean = match &before {
                None => Some(None),
                Some(text) => {
                    let original = known.as_ref().and_then(|known| self.original(known));
                    let all = (agent.edits)(&self.wanted(Purpose::Take)).into_iter().find(|other| other.path == edit.path);
                    let content = all.map_or_else(|| edit.content.clone(), |all| all.content);
                    content.take(text, as_original(original.as_ref())).ok()
                }
            };
            noted.before = match &clean {
                None => Before::Unknown,
                Some(None) => Before::Missing,
                Some(Some(text)) => Before::Backup(self.record.back_up(&edit.path, text)?),
            };
            noted.replaced = match &before {
                Some(text) if clean.as_ref().and_then(Option::as_ref) != Some(text) => {
                    Some(self.record.back_up(&edit.path, text)?)
                }
                _ => None,
            };
            noted.hash_before = before.as_deref().map(hash_of);
        }
        noted.agents.insert(agent.name.to_owned());
        noted.parts.extend(edit.content.parts());
        noted.hash_after = hash_of(&after);
        // The record comes first: an interruption between the two leaves an entry that says too little, never
        // a change without an entry.
        self.record.note(noted)?;
        let mode = Mode {
            is_private: self.scope == Scope::User,
            is_executable: matches!(&edit.content, Content::Whole(whole) if whole.is_executable()),
        };
        match file::write(&edit.path, before.as_deref(), &after, mode) {
            Ok(made) => self.record.note_directories(made)?,
            Err(error) => {
                match known {
                    Some(known) => self.record.note(known)?,
                    None => self.record.forget(name)?,
                }
                return Err(error);
            }
        }
        Ok((outcome, diff))
    }

    fn uninstall_one(&mut self, agent: &Agent, edit: &FileEdit) -> Told {
        let Some(name) = edit.path.to_str() else { return refused("its path is not Unicode") };
        let known = self.record.find(name).cloned();
        let before = match file::read(&edit.path) {
            // Yore has no entry in something that cannot be read.
            Err(FileError::Directory | FileError::Special) | Ok(None) => {
                if known.is_some() && !self.is_dry {
                    self.record.forget(name)?;
                }
                return Ok((Outcome::Absent, None));
            }
            Err(FileError::NotText | FileError::TooLarge) if known.is_none() => return Ok((Outcome::Absent, None)),
            Err(error) => return Err(error),
            Ok(Some(before)) => before,
        };
        let others: Vec<String> =
            known.iter().flat_map(|known| &known.agents).filter(|other| *other != agent.name).cloned().collect();
        let is_shared = !others.is_empty();
        if is_shared && !matches!(edit.content, Content::Json(_)) {
            return self.left_to(agent, known, others);
        }
        let is_as_written = known.as_ref().is_some_and(|known| known.hash_after == hash_of(&before));
        let original = known.as_ref().and_then(|known| self.original(known));
        let (after, outcome) = match &original {
            Some(bytes) if is_as_written && !is_shared => {
                (bytes.clone(), if bytes.is_none() { Outcome::Removed } else { Outcome::Restored })
            }
            _ => {
                let original = match &original {
                    None if edit.is_own => Original::Missing,
                    original => as_original(original.as_ref()),
                };
                match edit.content.take(&before, original) {
                    // The file is empty or nearly so, and was before.
                    Ok(None) if known.is_none() && !edit.content.is_in(&before) => return Ok((Outcome::Absent, None)),
                    Ok(after) if after.as_ref() == Some(&before) => {
                        return if is_shared { self.left_to(agent, known, others) } else { self.nothing_in(name, known) };
                    }
                    Ok(after) if after.is_none() && self.is_edited(edit, &before, is_as_written) => {
                        (after, Outcome::RemovedWithCopy(PathBuf::new()))
                    }
                    Ok(after) => {
                        let outcome = if after.is_none() { Outcome::Removed } else { Outcome::Cleaned };
                        (after, outcome)
                    }
                    // No entry of yore's is known to be in the file, so the error does not matter.
                    Err(_) if known.is_none() && !before.contains("yore") => return Ok((Outcome::Absent, None)),
                    Err(error) => return refused(&error.to_string()),
                }
            }
        };
        let diff = Some(self.diff(&edit.path, &before, after.as_deref().unwrap_or_default()));
        if self.is_dry {
            if after.is_some() {
                file::check(&edit.path)?;
            }
            return Ok((outcome, diff));
        }
        let outcome = match outcome {
            Outcome::RemovedWithCopy(_) => Outcome::RemovedWithCopy(self.record.keep_copy(&edit.path, &before)?),
            outcome => outcome,
        };
        match &after {
            None => file::remove(&edit.path, &before)?,
            Some(after) => drop(file::write(&edit.path, Some(&before), after, Mode::default())?),
        }
        match (known, &after) {
            (Some(mut known), Some(after)) if is_shared => {
                known.agents.remove(agent.name);
                known.hash_after = hash_of(after);
                self.record.note(known)?;
            }
            _ => self.record.forget(name)?,
        }
        Ok((outcome, diff))
    }

    /// Returns whether a file of yore's own was edited by someone else.
    fn is_edited(&self, edit: &FileEdit, before: &str, is_as_written: bool) -> bool {
        matches!(&edit.content, Content::Whole(whole) if !is_as_written && whole.text != before)
    }

    /// Leaves a file to the other agents that use it.
    fn left_to(&mut self, agent: &Agent, known: Option<Changed>, others: Vec<String>) -> Told {
        let was_ours = known.as_ref().is_some_and(|known| known.agents.contains(agent.name));
        if let Some(mut known) = known
            && was_ours
            && !self.is_dry
        {
            known.agents.remove(agent.name);
            self.record.note(known)?;
        }
        Ok((if was_ours { Outcome::Kept(others) } else { Outcome::Absent }, None))
    }

    /// Handles a file without entries of yore's; drops it from the record.
    fn nothing_in(&mut self, name: &str, known: Option<Changed>) -> Told {
        if known.is_some() && !self.is_dry {
            self.record.forget(name)?;
        }
        Ok((Outcome::Absent, None))
    }

    /// Returns a file's text before yore: `None` if it is unknown, `Some(None)` if the file did not exist.
    fn original(&self, known: &Changed) -> Option<Option<String>> {
        match &known.before {
            Before::Unknown => None,
            Before::Missing => Some(None),
            Before::Backup(name) => self.record.backup(name).map(Some),
        }
    }

    fn diff(&self, path: &Path, before: &str, after: &str) -> String {
        let name = path.display().to_string();
        TextDiff::from_lines(before, after).unified_diff().context_radius(2).header(&name, &name).to_string()
    }
}

fn as_original(original: Option<&Option<String>>) -> Original<'_> {
    match original {
        None => Original::Unknown,
        Some(None) => Original::Missing,
        Some(Some(text)) => Original::Text(text),
    }
}

fn refused(why: &str) -> Told {
    Ok((Outcome::Refused(why.to_owned()), None))
}

/// Returns the message of an error, to be shown beside the file's name.
fn told(error: FileError) -> String {
    match error {
        FileError::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        error => error.to_string(),
    }
}
