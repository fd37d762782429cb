use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use yore_core::memory::Status;
use yore_core::relation::Node;
use yore_engine::platform::{create_private_directory, write_new_private_file};
use yore_engine::{Engine, Exported, MemoryFilter, MemoryList, NotesRequest, Traversal};

use super::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::portable::page;
use crate::render::text::counted;
use crate::results::Moved;

/// Most records of one kind.
const MOST: usize = usize::MAX >> 1;
/// Relations that the page of an entity lists.
const RELATIONS: usize = 100;

/// Write all memories and notes to a file or a folder
///
/// They are written with entities and relations: one JSON object per line, or a page of Markdown each.
/// `yore import` reads both. Lines of JSON hold every status, every version of a note, the same ids; on another computer they are read as
/// they are. Markdown is for reading and changing here: a file for each memory that holds or was put away, each note and each entity; on
/// another computer, `import --as-new` records them anew. What was said, and the log of operations, is in neither: `yore data backup` copies
/// everything.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The file, which must not exist yet unless --force is given; - for the standard output. With --markdown, the folder, which must be empty
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write Markdown with front matter, to a folder
    #[arg(long)]
    markdown: bool,
    /// Replace FILE if it exists
    #[arg(long, conflicts_with = "markdown")]
    force: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let is_stdout = arguments.file.as_os_str() == "-";
    if !is_stdout && !arguments.markdown && !arguments.force && arguments.file.exists() {
        let hint = "name another file, or replace it with --force";
        return Err(exists(format!("{} exists", arguments.file.display()), hint));
    }
    let engine = context.settings.engine(false)?;
    let exported = match (arguments.markdown, is_stdout) {
        (true, _) => pages(&engine, &arguments.file)?,
        (false, true) => {
            let mut lines = Vec::new();
            engine.export_memories(&mut lines)?;
            context.printer.bytes(&lines)?;
            return Ok(Exit::Success);
        }
        (false, false) => {
            let failed = |error| CliError::io(&arguments.file, &error);
            // A file that is replaced stays until the new one is whole.
            let draft = if arguments.force { draft_of(&arguments.file) } else { arguments.file.clone() };
            let write = || -> CliResult<Exported> {
                let mut out = BufWriter::new(File::options().append(true).open(&draft).map_err(failed)?);
                let exported = engine.export_memories(&mut out)?;
                out.flush().and_then(|()| out.get_ref().sync_all()).map_err(failed)?;
                if arguments.force {
                    std::fs::rename(&draft, &arguments.file).map_err(failed)?;
                }
                Ok(exported)
            };
            write_new_private_file(&draft, b"").map_err(failed)?;
            write().inspect_err(|_| drop(std::fs::remove_file(&draft)))?
        }
    };
    if context.printer.is_json() {
        context.printer.json(&Moved::from(&exported))?;
    } else {
        context.printer.line(told(&exported))?;
    }
    Ok(Exit::Success)
}

/// Makes the error for a target that would be overwritten.
fn exists(message: String, hint: &str) -> CliError {
    CliError { exit: Exit::Usage, code: "export/exists".to_owned(), message, hint: Some(hint.to_owned()) }
}

/// Returns the path of a file until it replaces `file`.
fn draft_of(file: &Path) -> PathBuf {
    let mut draft = file.to_path_buf().into_os_string();
    draft.push(format!(".{}.partial", std::process::id()));
    draft.into()
}

/// Returns how much was moved.
pub fn told(exported: &Exported) -> String {
    let Exported { memories, entities, relations, notes } = *exported;
    let counts = [(memories, "memory"), (entities, "entity"), (relations, "relation"), (notes, "note")];
    counts.into_iter().map(|(count, what)| counted(count, what)).collect::<Vec<_>>().join(", ")
}

/// Writes a page for each memory, note and entity.
fn pages(engine: &Engine, folder: &Path) -> CliResult<Exported> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |error: std::io::Error| CliError::io(&path, &error)
    };
    create_private_directory(folder).map_err(failed(folder))?;
    if std::fs::read_dir(folder).map_err(failed(folder))?.next().is_some() {
        return Err(exists(format!("{} is not empty", folder.display()), "name an empty folder, or a new one"));
    }
    let write = |parts: [&str; 2], name: String, text: &str| -> CliResult<()> {
        let mut path = folder.to_path_buf();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            path.push(part);
            create_private_directory(&path).map_err(failed(&path))?;
        }
        path.push(name);
        write_new_private_file(&path, text.as_bytes()).map_err(failed(&path))
    };
    let mut exported = Exported::default();
    let filter = MemoryFilter { statuses: vec![Status::Holds, Status::Contested, Status::Archived], ..MemoryFilter::default() };
    for stored in engine.memories(&MemoryList { filter, limit: MOST, ..MemoryList::default() })? {
        let opened = engine.read_memory(stored.memory.id)?;
        let memory = &opened.stored.memory;
        let project = page::slug(opened.stored.project.as_deref().unwrap_or("everywhere"));
        let name = page::file_name(memory.title.as_deref().unwrap_or(&memory.statement), &memory.id.short());
        write(["memories", &project], name, &page::of_memory(&opened))?;
        exported.memories += 1;
    }
    for note in engine.notes(&NotesRequest::all(usize::MAX))? {
        let name = page::file_name(note.facts.title.as_deref().unwrap_or(&note.text), &note.episode.short());
        write(["notes", ""], name, &page::of_note(&note))?;
        exported.notes += 1;
    }
    for entity in engine.entities(MOST)? {
        let near = Traversal { depth: 1, breadth: RELATIONS, limit: RELATIONS, ..Traversal::default() };
        let mut relations = Vec::new();
        for reached in engine.traverse(&Node::Entity(entity.id), &near)? {
            // The pages of memories say what they are about.
            if let Node::Entity(other) = reached.node {
                let label = engine.entity(other)?.map(|entity| entity.name);
                relations.push(page::told(&reached.name, &reached.node, label.as_deref()));
                exported.relations += 1;
            }
        }
        write(["entities", ""], page::file_name(&entity.name, &entity.id.short()), &page::of_entity(&entity, relations))?;
        exported.entities += 1;
    }
    Ok(exported)
}
