//! Files and directories that a person names: Markdown, code, text and PDFs, cut into sections.
//!
//! Ignore files (`.gitignore`, `.ignore`, `.yoreignore`) apply, hidden files and the targets of symbolic
//! links are left out, and files that hold keys or passwords are never opened. A file that changed is read as
//! a whole; sections that did not change keep their turns.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path};
use std::time::UNIX_EPOCH;

use ignore::WalkBuilder;
use serde_json::Value;
use yore_core::scope::{ProjectAlias, tidy_path};

use super::document::{DocumentFacts, DocumentReader, document_records, owner, skipped_record};
use super::{EpisodeReader, Known, LineOwner, Nature, ReaderOptions, Source, Stamp, Unit, notice};
use crate::document::format::{CUTTER_VERSION, is_credential, is_lock_file, is_media};
use crate::document::{self, Document, Format, Unreadable, pdf};
use crate::project_names::names_of;

const KIND: &str = "file";
/// Maximum number of files read from a directory. One with more files is a disk rather than a project.
const MAX_FILES: usize = 50_000;
/// Directories that hold only keys, and git's own.
const CLOSED_DIRECTORIES: [&str; 4] = [".git", ".ssh", ".gnupg", ".aws"];

/// The source for files; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Files;

impl Source for Files {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Files"
    }

    fn nature(&self) -> Nature {
        Nature::Document
    }

    fn discover(&self, root: &Path, _known: &dyn Known) -> Vec<Unit> {
        if root.is_file() {
            return unit(root, root.parent().unwrap_or(root)).into_iter().collect();
        }
        let mut walk = WalkBuilder::new(root);
        // The user's global git configuration is not read.
        walk.git_global(false).require_git(false).follow_links(false).add_custom_ignore_filename(".yoreignore");
        walk.filter_entry(|entry| !is_closed(Path::new(entry.file_name())));
        // Files are sorted, so that a limit always leaves out the same ones.
        walk.sort_by_file_name(Ord::cmp);
        let files = walk.build().filter_map(|entry| entry.map_err(|error| note(error, root)).ok());
        let files = files.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        files.filter_map(|entry| unit(entry.path(), root)).take(MAX_FILES + 1).collect()
    }

    fn most_units(&self) -> Option<usize> {
        Some(MAX_FILES)
    }

    fn records_with(&self, unit: &Unit, options: &ReaderOptions, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        let Some(name) = unit.path.file_name().and_then(|name| name.to_str()).filter(|_| is_candidate(&unit.path)) else {
            return Err(io::ErrorKind::PermissionDenied.into());
        };
        let meta = std::fs::symlink_metadata(&unit.path)?;
        if !meta.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let since = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let facts = DocumentFacts {
            modified_ms: since.and_then(|since| i64::try_from(since.as_millis()).ok()),
            ..facts(&unit.path, unit.root.as_deref())
        };
        match read(&unit.path, name, meta.len(), options)? {
            Ok(document) => {
                let _ = document_records(&facts, &document).into_iter().all(take);
            }
            Err(Unreadable { reason, detail }) => {
                take(skipped_record(&facts, reason, detail));
            }
        }
        Ok(())
    }

    fn reader(&self, _unit: &Path, _state: &str, _options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(DocumentReader::new(KIND))
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        owner(value)
    }
}

/// Returns whether the last part of a path is one of the directories that are never entered.
fn is_closed(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| CLOSED_DIRECTORIES.contains(&name))
}

/// Returns whether a file may be opened and is worth opening, judged by its path.
fn is_candidate(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let is_closed = path.components().any(|part| matches!(part, Component::Normal(name) if is_closed(Path::new(name))));
    !is_closed && !is_credential(name) && !is_media(name)
}

fn unit(path: &Path, root: &Path) -> Option<Unit> {
    if !is_candidate(path) || is_account(path) {
        return None;
    }
    let mut unit = Unit::records(path.to_path_buf())?;
    // The version of the cutter is part of the stamp: cut differently, the file gives other sections.
    unit.stamp = Stamp { version: unit.stamp.version.wrapping_add(CUTTER_VERSION), ..unit.stamp };
    unit.root = Some(root.to_path_buf());
    Some(unit)
}

/// Returns whether a file is the account part of a chat service's export: name, address, telephone number.
fn is_account(path: &Path) -> bool {
    const ACCOUNTS: [&str; 4] = ["user.json", "users.json", "user_settings.json", "account.json"];
    let is_named = path.file_name().and_then(|name| name.to_str()).is_some_and(|name| ACCOUNTS.contains(&name));
    // Large exports have numbered lists.
    let is_list = |name: &str| path.with_file_name(name).is_file();
    is_named && ["conversations.json", "conversations-000.json", "conversations-001.json"].into_iter().any(is_list)
}

/// Returns the facts about a file from its path. A file of a repository with a remote is identified by the
/// remote, so that every checkout gives the same ids; any other by its path.
fn facts(path: &Path, root: Option<&Path>) -> DocumentFacts {
    let repository = path.ancestors().skip(1).find(|directory| directory.join(".git").exists());
    let base = repository.or(root).or(path.parent()).unwrap_or(path);
    let directory = base.to_string_lossy().into_owned();
    let below = path.strip_prefix(base).unwrap_or(path).to_string_lossy().replace('\\', "/");
    let remote = repository.and_then(|_| {
        names_of(&directory).aliases.into_iter().find_map(|(alias, _)| match alias {
            ProjectAlias::Remote(remote) => Some(remote),
            _ => None,
        })
    });
    let id = format!("{}/{below}", remote.unwrap_or_else(|| tidy_path(&directory)));
    DocumentFacts { id, directory: Some(directory), path: Some(below), ..DocumentFacts::default() }
}

/// Notes that a file or folder below `root` could not be read.
fn note(error: ignore::Error, root: &Path) {
    match error {
        ignore::Error::WithPath { path, err } => note(*err, &path),
        ignore::Error::WithDepth { err, .. } => note(*err, root),
        error => error.into_io_error().into_iter().for_each(|error| notice(root, error)),
    }
}

fn read(path: &Path, name: &str, bytes: u64, options: &ReaderOptions) -> io::Result<Result<Document, Unreadable>> {
    let format = Format::of(name);
    let skip = |reason, detail| Ok(Err(Unreadable { reason, detail }));
    if is_lock_file(name) {
        return skip("lock-file", "");
    }
    if bytes > format.max_bytes() {
        return skip("file-too-large", if format == Format::Pdf { "pdf" } else { "text" });
    }
    if format == Format::Pdf {
        let Some(program) = &options.pdf_extractor else { return skip("pdf-without-extractor", "") };
        let text = match pdf::ask(program, File::open(path)?) {
            Ok(text) => text,
            Err(error) => return skip("pdf-not-readable", error.as_str()),
        };
        let document = pdf::cut(&text);
        return if document.sections.is_empty() { skip("pdf-not-readable", "no text") } else { Ok(Ok(document)) };
    }
    let mut content = Vec::new();
    // The file may have grown since.
    File::open(path)?.take(format.max_bytes() + 1).read_to_end(&mut content)?;
    Ok(document::read(&content, name))
}
