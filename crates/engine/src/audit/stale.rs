//! Finds lines that name a path, command, version or tool which the code had and has no more.

use std::path::Path;
use std::time::Duration;

use yore_core::memory::{Anchor, AnchorKind, AnchorVerdict, Verdict};
use yore_core::text::{commands, versions};
use yore_core::time::format_day;

use super::finding::{Found, Line};
use super::report::{AuditKind, AuditScope};
use super::repository::{Fate, Repository};
use super::words::{Form, is_denied, words};
use crate::witness::{Effort, Spoken, judge};

/// Time for the commands and versions of all lines.
const EFFORT: Effort = Effort { time: Duration::from_secs(60), only_files: false };
/// Shortest name that is looked for, in letters.
const SHORTEST: usize = 4;

/// Returns whether a line was written before a commit.
fn is_before(line: &Line<'_>, repository: &Repository, commit: usize) -> bool {
    line.at < repository.commits[commit].at
}

/// Checks the paths that a line names.
pub(super) fn by_paths(line: &Line<'_>, repository: &Repository) -> Option<Found> {
    let text = &line.said.text;
    for (at, path) in paths(text) {
        let Some((whole, fate)) = gone(path, repository) else { continue };
        let commit = &repository.commits[fate.commit];
        if line.is_dated && !is_before(line, repository, fate.commit) || is_denied(text, at) {
            continue;
        }
        let renamed = renamed(&whole, repository);
        let reason = match &renamed {
            Some(new) => format!("{path} is {new} now"),
            None => format!("{path} was removed"),
        };
        let mut found = Found::new(AuditKind::Stale, reason, commit.proof());
        found.change = renamed.filter(|_| !path.ends_with('/')).map(|new| (path.to_owned(), new));
        return Some(found);
    }
    None
}

/// Returns the paths in a text with their places: words with a slash or an extension between backticks, or with both outside.
fn paths(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut is_code = false;
    for part in text.split('`') {
        for word in part.split([' ', ',', '(', ')', '"', '\'', ';', '|']) {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            let word = word.trim_end_matches(['.', ':', '!', '?']);
            let plain = word.strip_prefix("./").unwrap_or(word);
            let has_folder = plain.contains('/');
            let is_file = plain.rsplit('/').next().is_some_and(|name| {
                name.rsplit_once('.')
                    .is_some_and(|(_, end)| (1..=8).contains(&end.len()) && end.chars().all(char::is_alphanumeric))
            });
            // A template, an address, or a path outside of the repository.
            let is_other = plain.contains(['<', '>', '*', '{', '}', '$', '~', '\\', '=', '@'])
                || plain.contains("..")
                || plain.contains("://")
                || plain.starts_with('/')
                || plain.len() < 3;
            if !is_other && if is_code { has_folder || is_file } else { has_folder && (is_file || plain.ends_with('/')) } {
                found.push((start + (word.len() - plain.len()), plain));
            }
        }
        is_code = !is_code;
    }
    found
}

/// Returns the whole path and the fate of a path that is no more; `None` if something still has it, or never had.
fn gone<'r>(path: &str, repository: &'r Repository) -> Option<(String, &'r Fate)> {
    let path = path.trim_end_matches('/');
    let ending = format!("/{path}");
    let inside = format!("{path}/");
    let within = format!("/{path}/");
    let has = |known: &str| known == path || known.ends_with(&ending) || known.starts_with(&inside) || known.contains(&within);
    if repository.files.iter().any(|known| has(known)) || repository.is_on_disk(path) {
        return None;
    }
    let mut past: Vec<(&String, &Fate)> = repository.gone.iter().filter(|(known, _)| has(known)).collect();
    // The last of its files that went tells when it was gone.
    past.sort_by_key(|(known, fate)| (fate.commit, (*known).clone()));
    let (known, fate) = past.first()?;
    let begin = if *known == path || known.starts_with(&inside) { 0 } else { known.find(&ending)? + 1 };
    Some((known[..begin + path.len()].to_owned(), fate))
}

/// Returns the present path of a file or folder that was renamed as a whole.
fn renamed(path: &str, repository: &Repository) -> Option<String> {
    /// Renames of one file that are followed.
    const MOST: usize = 20;
    let now = |path: &str| {
        let mut path = path.to_owned();
        for _ in 0..MOST {
            if repository.files.contains(&path) {
                return Some(path);
            }
            path = repository.gone.get(&path)?.renamed.clone()?;
        }
        None
    };
    if let Some(new) = now(path) {
        return Some(new);
    }
    let inside = format!("{path}/");
    let mut target: Option<String> = None;
    for known in repository.gone.keys().filter(|known| known.starts_with(&inside)) {
        let rest = &known[path.len()..];
        let new = now(known)?.strip_suffix(rest)?.to_owned();
        if target.get_or_insert_with(|| new.clone()) != &new {
            return None;
        }
    }
    target
}

/// Checks the commands and versions of all lines against the manifests, with the commit before each line as the measure.
pub(super) fn by_manifests(root: &Path, lines: &[Line<'_>], repository: &Repository) -> Vec<Option<Found>> {
    let anchor = |kind, text| Anchor { kind, text };
    let spoken: Vec<Spoken> = lines
        .iter()
        .map(|line| {
            let text = line.said.text.as_str();
            let is_meant = |name: &str| text.find(name).is_none_or(|at| !is_denied(text, at));
            let commands = commands(text).into_iter().filter(|command| is_meant(command.rsplit(' ').next().unwrap_or_default()));
            let mut anchors: Vec<Anchor> = commands.map(|command| anchor(AnchorKind::Command, command)).collect();
            let versions = versions(text).into_iter().filter(|(name, _)| is_meant(name));
            anchors.extend(versions.map(|(name, version)| anchor(AnchorKind::Version, format!("{name} {version}"))));
            Spoken { anchors, at: line.at, commit: None }
        })
        .collect();
    let Ok(Some(verdicts)) = judge(root, &spoken, EFFORT) else { return lines.iter().map(|_| None).collect() };
    let found = |(line, verdicts): (&Line<'_>, Vec<AnchorVerdict>)| {
        if line.file.scope == AuditScope::Everywhere {
            return None;
        }
        let gone = verdicts.into_iter().find(|one| one.verdict != Verdict::Fresh)?;
        let detail = gone.detail.unwrap_or_else(|| "it is gone".to_owned());
        let proof = detail
            .strip_suffix(" was removed")
            .and_then(|path| repository.gone.get(path))
            .map_or_else(|| detail.clone(), |fate| repository.commits[fate.commit].proof());
        Some(Found::new(AuditKind::Stale, format!("{}: {detail}", gone.anchor.text), proof))
    };
    lines.iter().zip(verdicts).map(found).collect()
}

/// Checks the names of tools, libraries and code in a line: one that the code had, and has nowhere any more.
pub(super) fn by_names(line: &Line<'_>, repository: &Repository) -> Option<Found> {
    let text = &line.said.text;
    for word in words(text) {
        let lower = word.text.to_lowercase();
        let is_named = match word.form {
            Form::Code | Form::Name => lower.chars().filter(|letter| letter.is_alphabetic()).count() >= SHORTEST,
            Form::Plain => repository.declared.contains(&lower) && lower.len() >= SHORTEST,
        };
        if !is_named || repository.living.has(&lower) {
            continue;
        }
        let Some(number) = repository.removed.get(&lower) else { continue };
        if !is_before(line, repository, *number) || is_denied(text, word.at) {
            continue;
        }
        let commit = &repository.commits[*number];
        return Some(Found::new(
            AuditKind::Stale,
            format!("the code has no {} any more since {}", word.text, format_day(commit.at)),
            commit.proof(),
        ));
    }
    None
}
