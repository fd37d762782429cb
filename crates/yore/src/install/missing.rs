//! Finds installed entries that are gone from the agents' files.
//!
//! - [`missing`]: all missing entries, for the user and for the project
//! - [`Missing`], [`Lack`]: a file, and what it lacks

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::agent::Agent;
use super::edit::Content;
use super::file;
use super::machine::Machine;
use super::record::{Changed, Record};
use super::what::What;
use super::{FileEdit, Part, Program, Purpose, Scope, Wanted};

/// A file with missing entries.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Missing {
    /// The agent's name, as `yore install` takes it.
    pub agent: &'static str,
    /// Path of the file.
    pub file: PathBuf,
    /// User, or the project that the command runs in.
    pub scope: Scope,
    /// Its missing entries; never empty.
    pub lacks: Vec<Lack>,
}

/// A missing entry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Lack {
    /// The file is gone.
    File,
    /// This part.
    Part(Part),
    /// The hook of this event.
    Hook(String),
    /// The hook of this event runs for fewer tools or sources than it was entered for.
    Matcher {
        /// The event.
        event: String,
        /// The tools or sources for which the agent runs the hook now; `None` means all.
        now: Option<String>,
        /// Those that `yore install` would enter; `None` means all.
        entered: Option<String>,
    },
}

/// Finds the missing entries of all files that the install record in `directory`, the data directory, names.
/// Agents that are not among `agents`, or no longer on the computer, are left out.
///
/// # Errors
/// The record cannot be read.
pub fn missing(agents: &[Agent], machine: &Machine<'_>, program: &Program, directory: &Path) -> io::Result<Vec<Missing>> {
    let record = Record::open(directory)?;
    let mut all: Vec<Missing> = Vec::new();
    for agent in agents.iter().filter(|agent| agent.is_here(machine)) {
        for scope in [Scope::User, Scope::Project] {
            if scope == Scope::Project && machine.project.is_none() {
                continue;
            }
            let wanted = Wanted { machine, program, scope, purpose: Purpose::Put };
            for edit in (agent.edits)(&wanted) {
                let lacks = recorded(&record, agent, &edit).map(|changed| lacks(&edit, changed, machine)).unwrap_or_default();
                // Two edits may concern the same file.
                match all.iter_mut().find(|one| one.agent == agent.name && one.file == edit.path) {
                    Some(Missing { lacks: known, .. }) => known.extend(lacks.into_iter().filter(|lack| *lack != Lack::File)),
                    None if lacks.is_empty() => {}
                    None => all.push(Missing { agent: agent.name, file: edit.path, scope, lacks }),
                }
            }
        }
    }
    Ok(all)
}

/// Returns the record's entry of a file, if `yore install` changed it for this agent.
fn recorded<'r>(record: &'r Record, agent: &Agent, edit: &FileEdit) -> Option<&'r Changed> {
    record.find(edit.path.to_str()?).filter(|changed| changed.agents.contains(agent.name))
}

/// Returns the missing entries of a file, among the parts that `yore install` entered.
fn lacks(edit: &FileEdit, changed: &Changed, machine: &Machine<'_>) -> Vec<Lack> {
    let text = match file::read(&edit.path) {
        Ok(None) => return vec![Lack::File],
        Ok(Some(text)) => text,
        // Another check reports that the file cannot be read.
        Err(_) => return Vec::new(),
    };
    let as_entered = |content: &Content| {
        let anew = content.put(None).ok()?;
        content.found(&anew, machine).ok()
    };
    let Ok(now) = edit.content.found(&text, machine) else { return Vec::new() };
    let now_parts: BTreeSet<Part> = now.iter().filter_map(What::part).collect();
    // An older yore did not record the parts, so the parts it left out are unknown.
    let parts = if changed.parts.is_empty() { &now_parts } else { &changed.parts };
    // A status line that another one replaced is the user's choice.
    let content = edit.content.only(&|part| parts.contains(&part) && part != Part::StatusLine);
    let entered = content.as_ref().and_then(as_entered).unwrap_or_default();
    let mut lacks: Vec<Lack> = Vec::new();
    let has_no = |part: Part| !now_parts.contains(&part);
    for what in &entered {
        let Some(part) = what.part() else { continue };
        let lack = match what {
            _ if has_no(part) => Lack::Part(part),
            What::Hook { event, matcher, .. } => {
                let of_event = now.iter().find_map(|other| match other {
                    What::Hook { event: other, matcher, .. } if other == event => Some(matcher),
                    _ => None,
                });
                match of_event {
                    None => Lack::Hook(event.clone()),
                    Some(now) if is_narrower(now.as_deref(), matcher.as_deref()) => {
                        Lack::Matcher { event: event.clone(), now: now.clone(), entered: matcher.clone() }
                    }
                    Some(_) => continue,
                }
            }
            _ => continue,
        };
        if !lacks.contains(&lack) {
            lacks.push(lack);
        }
    }
    lacks
}

/// Compares two matchers: true if `now` leaves out a name that `entered` has. A regular expression that is
/// more than names and bars cannot be compared and counts as wide enough.
fn is_narrower(now: Option<&str>, entered: Option<&str>) -> bool {
    let names = |matcher: Option<&str>| -> BTreeSet<String> {
        matcher.unwrap_or_default().split('|').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let is_plain = |name: &String| name.chars().all(|letter| letter.is_alphanumeric() || "_- ".contains(letter));
    let (now, entered) = (names(now), names(entered));
    if now.is_empty() || !now.iter().all(is_plain) {
        return false;
    }
    entered.is_empty() || entered.iter().filter(|name| is_plain(name)).any(|name| !now.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matcher_is_narrower_where_it_leaves_out_a_name() {
        for (now, entered, expected) in [
            (Some("Bash"), Some("Bash|apply_patch"), true),
            (Some("startup"), None, true),
            (Some("Bash|apply_patch|Read"), Some("Bash|apply_patch"), false),
            (None, Some("Bash"), false),
            (Some("*"), Some("Bash"), false),
            (Some(".*"), Some("Bash"), false),
            (Some(""), Some("Bash"), false),
            (Some("apply_patch | Bash"), Some("Bash|apply_patch"), false),
        ] {
            assert_eq!(is_narrower(now, entered), expected, "{now:?} {entered:?}");
        }
    }
}
