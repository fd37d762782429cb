//! Finds files of memories in a folder, and their formats.

use std::path::{Path, PathBuf};

use yore_engine::GivenRecords;

use super::{basic, page, rules, server};

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Lines of JSON that `yore export` wrote
    Yore,
    /// Markdown that `yore export --markdown` wrote
    Markdown,
    /// Rules for agents: CLAUDE.md, AGENTS.md, rules of editors, memory files of agents
    Rules,
    /// The file of the MCP reference memory server (JSON lines)
    McpMemory,
    /// Notes of basic-memory
    BasicMemory,
}

impl Format {
    /// Returns the format of a file with this text; `None`: it is not known.
    pub fn of(path: &Path, text: &str) -> Option<Self> {
        if path.extension().is_some_and(|extension| extension == "jsonl" || extension == "json") {
            return Some(if server::is_one(text) { Self::McpMemory } else { Self::Yore });
        }
        if page::is_one(text) {
            Some(Self::Markdown)
        } else if basic::is_one(text) {
            Some(Self::BasicMemory)
        } else {
            rules::is_one(path).then_some(Self::Rules)
        }
    }
}

/// The files of a folder that an import reads.
#[derive(Debug, Default)]
pub struct Found {
    /// Regular files within the folder, sorted, each once.
    pub files: Vec<PathBuf>,
    /// Links that lead to another file: a cloned repository may hold links to files of the person.
    pub links: Vec<PathBuf>,
}

/// Returns the files below a directory: its rules for agents if it has any, else all Markdown.
pub fn files_below(directory: &Path) -> Found {
    let (rules, others): (Vec<PathBuf>, Vec<PathBuf>) =
        rules::files_of(directory).into_iter().partition(|path| is_within(path, directory));
    // A link to rules that are read is one more name of them.
    let places: Vec<PathBuf> = rules.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let is_read = |link: &PathBuf| link.canonicalize().is_ok_and(|place| places.contains(&place));
    let links: Vec<PathBuf> = others.into_iter().filter(|link| !is_read(link)).collect();
    if !rules.is_empty() || !links.is_empty() {
        return Found { files: rules, links };
    }
    let mut found: Vec<PathBuf> = ignore::WalkBuilder::new(directory)
        .standard_filters(false)
        .max_depth(Some(MOST_DEPTH))
        .build()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(ignore::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    found.sort();
    Found { files: found, links: Vec::new() }
}

/// Returns whether a path below a directory leads to its file through no link.
fn is_within(path: &Path, directory: &Path) -> bool {
    path.ancestors().take_while(|part| *part != directory).all(|part| !part.is_symlink())
}

/// Deepest folder in which files are looked for.
const MOST_DEPTH: usize = 12;

/// Adds the records of one file to those of others.
pub fn join(all: &mut GivenRecords, other: GivenRecords) {
    all.memories.extend(other.memories);
    all.entities.extend(other.entities);
    all.relations.extend(other.relations);
    all.whole.extend(other.whole);
}
