//! Tells the state of each file of a session: changed, committed, taken back, deleted, and how the checks after it ended.

use std::collections::{BTreeMap, HashMap};

use yore_core::episode::{FileAction, Outcome};
use yore_core::event::Purpose;
use yore_core::files::{is_path, relative};
use yore_core::text::paths;

use super::fit::Draft;
use super::trace::{Ended, Ran, Trace};
use crate::rules::restored;

/// Changed files of which each gets a line; further ones are named in groups of so many.
const MOST_LINES: usize = 12;
const GROUP: usize = 10;
/// Most files that are named.
const MOST_NAMED: usize = 60;
/// Weight of a change beside a reading.
const CHANGE: f32 = 2.5;
/// Weight of a file outside of the session's directory.
const OUTSIDE: f32 = 0.4;
/// First words of commands that show a file.
const SHOWING: [&str; 7] = ["cat", "head", "tail", "sed", "nl", "less", "bat"];

/// The state of one file.
#[derive(Clone, Debug, Default)]
struct State {
    /// Changes and readings.
    edits: u32,
    reads: u32,
    is_created: bool,
    /// Turn of the last change.
    edited: usize,
    /// Turns after which it was deleted, committed, taken back.
    deleted: Option<usize>,
    committed: Option<usize>,
    taken_back: Option<usize>,
    worth: f32,
}

/// A file of a session, with what is told of it.
pub struct Told {
    /// Its path, relative to the session's directory.
    pub path: String,
    /// Its state in words; empty if it was only read.
    pub state: String,
    /// The turn of the last change.
    pub edited: usize,
    worth: f32,
}

/// Returns the files of a session, the most useful first.
pub fn told(trace: &Trace<'_>) -> Vec<Told> {
    let mut ranked: Vec<(String, State)> = states(trace).into_iter().collect();
    ranked.sort_by(|a, b| b.1.worth.total_cmp(&a.1.worth).then(a.0.cmp(&b.0)));
    ranked.truncate(MOST_NAMED);
    let told = |(path, state): (String, State)| {
        let is_changed = state.edits > 0 || state.deleted.is_some();
        let said = if is_changed { said(&state, trace) } else { String::new() };
        Told { path, state: said, edited: state.edited, worth: state.worth }
    };
    ranked.into_iter().map(told).collect()
}

/// Returns a line for each changed file, then groups of names: further changed ones, and those that were only read; the most useful first.
pub fn drafts(trace: &Trace<'_>) -> Vec<Draft> {
    let (changed, read): (Vec<Told>, Vec<Told>) = told(trace).into_iter().partition(|file| !file.state.is_empty());
    let (lines, more) = changed.split_at(changed.len().min(MOST_LINES));
    let mut drafts: Vec<(f32, Draft)> = Vec::new();
    for file in lines {
        drafts.push((file.worth, Draft::new(format!("`{}`: {}", file.path, file.state), file.edited, None)));
    }
    for (names, head, place) in [(more, "also changed", usize::MAX - 2), (read.as_slice(), "read, not changed", usize::MAX - 1)] {
        for group in names.chunks(GROUP) {
            let worth = group.iter().map(|file| file.worth).sum::<f32>();
            drafts.push((worth, Draft::new(format!("{head}: {}", by_folder(group)), place, None)));
        }
    }
    drafts.sort_by(|a, b| b.0.total_cmp(&a.0));
    drafts.into_iter().map(|(_, draft)| draft).collect()
}

/// Returns names of files grouped by their folder: `src/{a.rs, b.rs}, README.md`.
fn by_folder(files: &[Told]) -> String {
    let mut folders: Vec<(&str, Vec<&str>)> = Vec::new();
    for Told { path, .. } in files {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        match folders.iter_mut().find(|(known, _)| *known == folder) {
            Some((_, names)) => names.push(name),
            None => folders.push((folder, vec![name])),
        }
    }
    let told = folders.into_iter().map(|(folder, names)| match (folder, names.as_slice()) {
        ("", names) => names.join(", "),
        (folder, [name]) => format!("{folder}/{name}"),
        (folder, names) => format!("{folder}/{{{}}}", names.join(", ")),
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Returns the state of a changed file in words.
fn said(state: &State, trace: &Trace<'_>) -> String {
    let mut words = Vec::new();
    let since = |turn: Option<usize>| turn.is_some_and(|turn| turn >= state.edited);
    match (state.is_created, state.edits) {
        (true, 0 | 1) => words.push("created".to_owned()),
        (true, edits) => words.push(format!("created, then edited {}×", edits - 1)),
        (false, 0) => {}
        (false, edits) => words.push(format!("edited {edits}×")),
    }
    if since(state.deleted) {
        words.push("deleted".to_owned());
        return words.join(", ");
    }
    if since(state.taken_back) {
        words.push("changes taken back".to_owned());
        return words.join(", ");
    }
    match state.committed {
        Some(_) if since(state.committed) => words.push("committed".to_owned()),
        Some(_) => words.push("changed again since its commit".to_owned()),
        None => {}
    }
    words.extend(checked(state.edited, trace));
    words.join(", ")
}

/// Returns how the last check after a change ended: tests, else another check.
fn checked(edited: usize, trace: &Trace<'_>) -> Option<String> {
    let later = || trace.ran.iter().rev().filter(|ran| ran.at > edited && ran.ended != Ended::Unknown);
    let of = |wanted: &dyn Fn(Purpose) -> bool| later().find(|ran| ran.check().is_some_and(wanted));
    let (name, ran) = of(&|purpose| purpose == Purpose::Test)
        .map(|ran| ("tests", ran))
        .or_else(|| of(&|purpose| purpose != Purpose::Test).map(|ran| (ran.check().map_or("check", Purpose::as_str), ran)))?;
    Some(format!("{name} {} after", if ran.ended == Ended::Passed { "passed" } else { "failed" }))
}

/// Returns the files that were changed after a turn, each once, relative to the session's directory.
pub fn changed_since(trace: &Trace<'_>, at: usize) -> Vec<String> {
    let failed = failed_turns(trace);
    let mut changed: Vec<String> = Vec::new();
    for (_, turn) in trace.turns.iter().enumerate().skip(at + 1).filter(|(at, _)| !failed.contains_key(at)) {
        for file in turn.files.iter().filter(|file| file.action == FileAction::Written) {
            let path = inside(&file.path, trace.directory);
            if !path.is_empty() && !changed.contains(&path) {
                changed.push(path);
            }
        }
    }
    changed
}

/// Returns the state of each file, by its path relative to the session's directory.
fn states(trace: &Trace<'_>) -> BTreeMap<String, State> {
    let mut states: BTreeMap<String, State> = BTreeMap::new();
    let failed = failed_turns(trace);
    let mut ran = trace.ran.iter().peekable();
    let mut staged = Staged::default();
    for (at, turn) in trace.turns.iter().enumerate() {
        for file in turn.files {
            let path = inside(&file.path, trace.directory);
            if path.is_empty() || failed.contains_key(&at) {
                continue;
            }
            let known = states.contains_key(&path);
            let state = states.entry(path).or_default();
            match file.action {
                FileAction::Written => {
                    state.edits += 1;
                    state.is_created |= !known && creates(trace, at, &file.path) || adds(turn.tool_text, &file.path);
                    state.edited = at;
                    state.worth += CHANGE * trace.lateness(at);
                }
                FileAction::Read => {
                    state.reads += 1;
                    state.worth += trace.lateness(at);
                }
                FileAction::Mentioned => {}
            }
        }
        while let Some(command) = ran.next_if(|ran| ran.at <= at) {
            by_command(command, trace, &mut states, &mut staged);
        }
    }
    for (_, state) in states.iter_mut().filter(|(path, _)| path.starts_with(['/', '~'])) {
        state.worth *= OUTSIDE;
    }
    states.retain(|_, state| state.edits + state.reads > 0 || state.deleted.is_some());
    states
}

/// Returns the turns of which all calls failed or were refused.
fn failed_turns(trace: &Trace<'_>) -> HashMap<usize, ()> {
    let mut all: HashMap<usize, bool> = HashMap::new();
    for call in &trace.calls {
        let has_failed = matches!(call.outcome, Some(Outcome::Failed | Outcome::Cancelled));
        *all.entry(call.at).or_insert(true) &= has_failed;
    }
    all.into_iter().filter(|(_, has_failed)| *has_failed).map(|(at, _)| (at, ())).collect()
}

/// Returns whether the first change of a file made it: a tool that writes whole files did, and its answer does not speak of an update.
fn creates(trace: &Trace<'_>, at: usize, path: &str) -> bool {
    trace.calls.iter().filter(|call| call.at == at && call.input.contains(path)).any(|call| {
        let tool = call.tool.to_lowercase();
        let is_whole = (tool.contains("write") && tool != "todowrite") || tool.contains("create");
        is_whole && !call.answer.is_some_and(|(_, answer)| answer.contains("has been updated"))
    })
}

/// Returns whether a patch adds a file.
fn adds(input: &str, path: &str) -> bool {
    input.lines().any(|line| line.trim().strip_prefix("*** Add File: ").is_some_and(|added| path.ends_with(added.trim())))
}

/// Files that the next commit takes.
#[derive(Default)]
struct Staged {
    is_all: bool,
    paths: Vec<String>,
}

/// Notes what a command did to files: showed, staged, committed, took back, deleted.
fn by_command(ran: &Ran<'_>, trace: &Trace<'_>, states: &mut BTreeMap<String, State>, staged: &mut Staged) {
    for step in &ran.steps {
        let mut words = step.split_whitespace();
        let first = words.next().unwrap_or_default();
        if SHOWING.contains(&first) && !step.contains("-i ") && !step.contains("<<") {
            for shown in paths(step) {
                let path = inside(shown.path, trace.directory);
                if path.rsplit('/').next().is_some_and(|name| name.contains('.')) {
                    let state = states.entry(path).or_default();
                    state.reads += 1;
                    state.worth += trace.lateness(ran.at);
                }
            }
        }
        if ran.ended == Ended::Failed {
            continue;
        }
        let named: Vec<&str> = words.clone().skip_while(|word| !word.starts_with('-')).collect();
        let changes = |states: &mut BTreeMap<String, State>, note: &dyn Fn(&mut State), is_named: &dyn Fn(&str) -> bool| {
            states.iter_mut().filter(|(path, state)| state.edits > 0 && is_named(path)).for_each(|(_, state)| note(state));
        };
        match (first, words.next()) {
            ("git", Some("add")) => {
                let added: Vec<&str> = step.split_whitespace().skip(2).collect();
                staged.is_all |= added.iter().any(|word| matches!(*word, "-A" | "--all" | "." | "-u"));
                staged.paths.extend(added.into_iter().filter(|word| !word.starts_with('-')).map(str::to_owned));
            }
            ("git", Some("commit")) => {
                let is_all = staged.is_all || staged.paths.is_empty() || named.iter().any(|word| is_commit_all(word));
                let paths = std::mem::take(staged).paths;
                changes(states, &|state| state.committed = Some(ran.at), &|path| {
                    is_all || paths.iter().any(|part| is_path(path, part))
                });
            }
            ("git", Some("reset")) if step.contains("--hard") => {
                let is_open = |state: &mut State| {
                    if state.committed.is_none_or(|committed| committed < state.edited) {
                        state.taken_back = Some(ran.at);
                    }
                };
                changes(states, &is_open, &|_| true);
            }
            ("git", Some("checkout" | "restore")) => {
                let back = restored(step);
                if !back.is_empty() {
                    changes(states, &|state| state.taken_back = Some(ran.at), &|path| {
                        back.iter().any(|part| is_path(path, part))
                    });
                }
            }
            ("rm", _) | ("git", Some("rm")) => {
                let gone: Vec<&str> =
                    step.split_whitespace().skip(1).filter(|word| !word.starts_with('-') && *word != "rm").collect();
                for (_, state) in states.iter_mut().filter(|(path, _)| gone.iter().any(|part| is_path(path, part))) {
                    state.deleted = Some(ran.at);
                }
            }
            _ => {}
        }
    }
}

fn is_commit_all(word: &str) -> bool {
    word == "--all" || word.starts_with('-') && !word.starts_with("--") && word.contains('a')
}

/// Returns a path relative to the directory; empty for the directory itself.
fn inside(path: &str, directory: Option<&str>) -> String {
    // A worktree may lie deeper than `relative` knows.
    let own = directory.and_then(|own| path.strip_prefix(own.trim_end_matches('/'))?.strip_prefix('/'));
    let path = own.map_or_else(|| relative(path, directory), str::to_owned).replace('\\', "/");
    let path = path.trim_start_matches("./");
    if directory.is_some_and(|directory| directory.trim_end_matches('/') == path.trim_end_matches('/')) {
        return String::new();
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_folder_stand_together() {
        let file = |path: &str| Told { path: path.to_owned(), state: String::new(), edited: 0, worth: 0.0 };
        let files = ["src/crane.rs", "README.md", "src/lamp.rs", "docs/a/tide.md"].map(file);
        assert_eq!(by_folder(&files), "src/{crane.rs, lamp.rs}, README.md, docs/a/tide.md");
    }

    #[test]
    fn paths_are_told_relative_to_the_session_directory() {
        let inside = |path| inside(path, Some("/home/dev/quay/.worktrees/alex/lamp"));
        assert_eq!(inside("/home/dev/quay/.worktrees/alex/lamp/src/a.rs"), "src/a.rs");
        assert_eq!(inside("./src/a.rs"), "src/a.rs");
        assert_eq!(inside("/etc/hosts"), "/etc/hosts");
        assert_eq!(inside("/home/dev/quay/.worktrees/alex/lamp/"), "");
    }
}
