//! Finds the instruction and memory files that agents read in a project.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use yore_engine::{AuditFile, AuditScope};

use crate::portable::rules::{files_of, folder_of, is_of_the_person, of_the_person};

/// Names of such files in folders of a project.
const NESTED: [&str; 4] = ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md"];
/// Deepest folder in which these are looked for.
const MOST_DEPTH: usize = 8;
/// Largest file, and bytes of all of them: they travel in one request to the daemon.
const LARGEST: u64 = 128 << 10;
const MOST_BYTES: usize = 600 << 10;

/// The files of an audit, and those that could not be read.
#[derive(Debug, Default)]
pub struct Found {
    /// The files, with their text.
    pub files: Vec<AuditFile>,
    /// Those that could not be read, each with its reason.
    pub problems: Vec<String>,
}

/// Returns the files that agents read in a project: its own, then automatic memory, then the person's.
pub fn instruction_files(root: &Path, home: Option<&Path>, codex: Option<&Path>) -> Found {
    let mut paths = files_of(root);
    let walk = ignore::WalkBuilder::new(root).hidden(true).max_depth(Some(MOST_DEPTH)).build();
    let mut nested: Vec<PathBuf> = walk
        .filter_map(Result::ok)
        .map(ignore::DirEntry::into_path)
        .filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(|name| NESTED.contains(&name)))
        .collect();
    nested.sort();
    paths.append(&mut nested);
    if let Some(home) = home {
        let memory = home.join(".claude/projects").join(folder_of(&root.to_string_lossy())).join("memory");
        paths.extend(markdown_in(&memory));
        let codex = codex.map_or_else(|| home.join(".codex"), Path::to_owned);
        paths.extend(of_the_person(home));
        paths.push(codex.join("AGENTS.md"));
        paths.extend(markdown_in(&codex.join("memories")));
    }
    let mut found = Found::default();
    let mut seen: HashSet<PathBuf> = HashSet::new();
    let mut size = 0;
    for path in paths {
        // A link to a file that is read is one more name of it.
        let Ok(real) = path.canonicalize() else { continue };
        let Ok(meta) = fs::metadata(&real) else { continue };
        if !meta.is_file() || !seen.insert(real.clone()) {
            continue;
        }
        if meta.len() > LARGEST || size + meta.len() as usize > MOST_BYTES {
            found.problems.push(format!("{}: too large, not audited", path.display()));
            continue;
        }
        let text = match fs::read_to_string(&real) {
            Ok(text) => text,
            Err(error) => {
                found.problems.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        size += text.len();
        let modified = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let is_of_one = real.starts_with(root) || crate::portable::rules::claude_folder(&path).is_some();
        let is_everywhere = !is_of_one || is_of_the_person(&path, home);
        found.files.push(AuditFile {
            name: real.strip_prefix(root).ok().map(|name| name.to_string_lossy().replace('\\', "/")),
            path: path.display().to_string(),
            text,
            modified: modified.map_or(0, |time| time.as_millis() as i64),
            scope: if is_everywhere { AuditScope::Everywhere } else { AuditScope::Project },
        });
    }
    found
}

/// Returns the Markdown files of a folder, sorted.
fn markdown_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    found.sort();
    found
}
