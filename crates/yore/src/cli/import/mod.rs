//! `yore import`: reads memories from files of yore, of people and of other programs.

mod pages;
mod plan;

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use yore_core::id::MemoryId;
use yore_core::operation::{Actor, Cause};
use yore_engine::{Engine, GivenRecords, Imported};
use yore_sources::project_names::{ProjectNames, names_of};

use super::{Context, export};
use crate::error::{CliError, CliResult, Exit};
use crate::portable::{Format, Found, Home, basic, files_below, join, rules, server};
use crate::render::text::{self, counted};
use crate::results::Moved;

/// Largest file of Markdown or of another program.
const MOST_BYTES: u64 = 64 << 20;
/// Maximum number of problems that are told.
const MOST_PROBLEMS: usize = 20;
/// Maximum time that an import waits for another process that writes the index.
const INDEX_PATIENCE_MS: u64 = 2_000;

/// Read memories, entities, relations and notes from files
///
/// Understands what `yore export` wrote, rules for agents (CLAUDE.md, AGENTS.md, rules of Cursor, Windsurf, Cline, Copilot,
/// memory files of Claude Code), the file of the MCP reference memory server, and notes of basic-memory. Of a folder it
/// takes the rules, if there are any, else all Markdown. A record that is known as it is, or newer, stays; what a file
/// of rules or of another program no longer says is put away. Memories in lines of JSON that another memory wrote wait for `yore review`,
/// unless you give --trust. A page of Markdown that changed something is written anew. `yore undo` takes an import back.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Files or folders; - for lines of JSON from the standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Format of the files [default: by their content]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// The project that the memories belong to: name, id or directory [default: that of a file of rules, else the
    /// current one]
    #[arg(short, long, value_name = "PROJECT", value_parser = crate::cli::project, conflicts_with = "global")]
    project: Option<String>,
    /// The memories hold in every project
    #[arg(long)]
    global: bool,
    /// Take lines of JSON that this memory did not write as yours; without it, their memories wait for `yore review`
    #[arg(long)]
    trust: bool,
    /// Record pages of Markdown whose ids are not known here, with new ids
    #[arg(long)]
    as_new: bool,
    /// Only list what would be recorded or changed
    #[arg(long)]
    dry_run: bool,
}

/// Why a link is not read.
const LINK: &str = "it is a link; name the file that it leads to";

/// The record of a page that changed something.
enum Written {
    /// A memory.
    Memory(MemoryId),
    /// A note, by its id.
    Note(String),
}

/// A record that an import would make or change.
#[derive(Debug, Serialize)]
struct Planned {
    /// `change` for a memory that is known, else the kind of the record.
    what: String,
    /// Its words.
    text: String,
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

/// An import under way.
struct Import<'a> {
    arguments: &'a Arguments,
    engine: &'a Engine,
    here: Option<ProjectNames>,
    /// Directory of the person.
    home: Option<PathBuf>,
    imported: Imported,
    operations: Vec<u64>,
    /// Records of files of people and other programs, stored as one operation.
    given: GivenRecords,
    /// The record of the page that was read last, if it changed something.
    written: Option<Written>,
    /// In a dry run: what would be recorded or changed.
    planned: Vec<Planned>,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    // A dry run must not create a memory.
    let engine = context.settings.engine(!arguments.dry_run)?;
    let mut import = Import {
        arguments,
        engine: &engine,
        here: context.settings.project_here(),
        home: context.settings.paths.home.clone(),
        imported: Imported::default(),
        operations: Vec::new(),
        given: GivenRecords::default(),
        written: None,
        planned: Vec::new(),
    };
    for path in &arguments.paths {
        if path.as_os_str() == "-" {
            import.lines(&mut BufReader::new(std::io::stdin().lock()), path)?;
            continue;
        }
        let metadata = std::fs::metadata(path).map_err(|error| CliError::io(path, &error))?;
        // A pipe or a device may never end.
        if !metadata.is_dir() && !metadata.is_file() {
            let message = format!("{} is neither a file nor a folder", path.display());
            return Err(CliError::usage(message, Some("lines of JSON come from the standard input with `yore import -`")));
        }
        let Found { files, links } =
            if metadata.is_dir() { files_below(path) } else { Found { files: vec![path.clone()], links: Vec::new() } };
        for link in &links {
            import.skip(link, "it is a link to a file that is no rule of this folder");
        }
        if files.is_empty() && links.is_empty() && !import.has_files_below(path)? {
            let message = format!("{} has neither rules for agents nor Markdown", path.display());
            return Err(CliError::usage(message, None));
        }
        for file in files {
            import.file(&file)?;
        }
        if metadata.is_dir() {
            import.gone_below(path)?;
        }
    }
    if arguments.dry_run {
        import.plan_given()?;
        return import.tell_plan(context);
    }
    if import.given != GivenRecords::default() {
        let input = arguments.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        let cause = Cause { actor: Actor::Import, by: "yore import".to_owned(), input: Some(input) };
        let done = engine.import_given(&import.given, &cause)?;
        import.add(done);
    }
    let _ = engine.sync_index(INDEX_PATIENCE_MS, &mut |_| {});
    let Import { imported, operations, .. } = import;
    tell(&imported, &operations, context)
}

impl Import<'_> {
    /// Reads one file.
    fn file(&mut self, path: &Path) -> CliResult<()> {
        let failed = |error| CliError::io(path, &error);
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        // Lines of JSON may be many; anything else is read whole.
        let is_lines = self.arguments.format == Some(Format::Yore) || self.arguments.format.is_none() && extension == "jsonl";
        let mut file = File::open(path).map_err(failed)?;
        if is_lines && (self.arguments.format.is_some() || !begins_as_server(path)) {
            return self.lines(&mut BufReader::new(file), path);
        }
        let mut bytes = Vec::new();
        Read::take(&mut file, MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(CliError::usage(format!("{} is longer than 64 MiB", path.display()), None));
        }
        let Ok(text) =
            std::str::from_utf8(&bytes).map_err(drop).and_then(|text| if text.contains('\0') { Err(()) } else { Ok(text) })
        else {
            self.skip(path, "it is not text in UTF-8");
            return Ok(());
        };
        let place = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let Some(format) = self.arguments.format.or_else(|| Format::of(path, text)) else {
            self.skip(path, "what it is is not known: give --format");
            return Ok(());
        };
        match format {
            Format::Yore => self.lines(&mut bytes.as_slice(), path)?,
            Format::Markdown => self.page(path, text)?,
            Format::Rules => match self.home_of_rules(&place)? {
                Some(home) => join(&mut self.given, rules::read(&place, text, &home)),
                None => self.skip(path, "its project is not known: give --project or --global"),
            },
            Format::McpMemory => {
                let (records, problems) = server::read(&place.to_string_lossy(), text, &self.project());
                join(&mut self.given, records);
                for (place, problem) in problems {
                    self.skip(Path::new(&place), &problem);
                }
            }
            Format::BasicMemory => {
                let records = basic::read(&place, text, &self.project());
                join(&mut self.given, records);
            }
        }
        Ok(())
    }

    /// Reads lines of JSON that yore wrote.
    fn lines(&mut self, input: &mut dyn std::io::BufRead, path: &Path) -> CliResult<()> {
        if self.arguments.dry_run {
            return self.plan_lines(input, path);
        }
        let input_name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let cause = Cause { actor: Actor::Import, by: "yore import".to_owned(), input: input_name };
        let done = self.engine.import_memories(input, self.arguments.trust, &cause)?;
        self.add(done);
        Ok(())
    }

    /// Returns the project of records that name none.
    fn project(&self) -> Home {
        match (&self.arguments.project, &self.here) {
            _ if self.arguments.global => Home::Everywhere,
            // A directory that is no project yet becomes one.
            (Some(name), _) if Path::new(name).is_absolute() && Path::new(name).is_dir() => Home::Here(names_of(name)),
            (Some(name), _) => Home::Named(name.clone()),
            (None, Some(here)) => Home::Here(here.clone()),
            (None, None) => Home::Everywhere,
        }
    }

    /// Returns the project of a file of rules: that of its directory. Files in an agent's own folder hold everywhere,
    /// except those that Claude Code keeps for a project. `None`: that project is not known.
    fn home_of_rules(&self, path: &Path) -> CliResult<Option<Home>> {
        if self.arguments.project.is_some() || self.arguments.global {
            return Ok(Some(self.project()));
        }
        if let Some(folder) = rules::claude_folder(path) {
            let mut known = self.engine.project_directories()?;
            known.retain(|known| rules::folder_of(known) == folder);
            // Two directories may have one such name.
            return Ok(known.pop().filter(|_| known.is_empty()).map(Home::Named));
        }
        if rules::is_of_the_person(path, self.home.as_deref()) {
            return Ok(Some(Home::Everywhere));
        }
        let Some(here) = path.parent().and_then(Path::to_str).map(names_of) else { return Ok(None) };
        let is_known = here.is_in_repository() || self.engine.project_of(&here)?.is_some();
        Ok(is_known.then_some(Home::Here(here)))
    }

    /// Returns whether memories were read from files below a folder.
    fn has_files_below(&self, folder: &Path) -> CliResult<bool> {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
        Ok(self.engine.imported_files()?.iter().any(|file| Path::new(file).starts_with(&folder)))
    }

    /// Adds the files below a folder that are gone: what was read from them is put away.
    fn gone_below(&mut self, folder: &Path) -> CliResult<()> {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
        let is_gone = |file: &String| Path::new(file).starts_with(&folder) && !Path::new(file).exists();
        self.given.whole.extend(self.engine.imported_files()?.into_iter().filter(is_gone));
        Ok(())
    }

    fn add(&mut self, done: Imported) {
        let Imported { stored, known, skipped, problems, waiting, replaced, everywhere, put_away, operation } = done;
        self.imported.stored.memories += stored.memories;
        self.imported.stored.entities += stored.entities;
        self.imported.stored.relations += stored.relations;
        self.imported.stored.notes += stored.notes;
        self.imported.known += known;
        self.imported.skipped += skipped;
        self.imported.put_away += put_away;
        self.imported.waiting += waiting;
        self.imported.replaced.extend(replaced);
        self.imported.everywhere.extend(everywhere);
        self.imported.problems.extend(problems);
        self.operations.extend(operation);
    }

    fn skip(&mut self, path: &Path, problem: &str) {
        self.imported.skipped += 1;
        self.imported.problems.push((path.display().to_string(), problem.to_owned()));
    }
}

/// Returns whether a file begins as that of the MCP reference memory server.
fn begins_as_server(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(1 << 20).read_to_end(&mut begin));
    read.is_ok() && server::is_one(&String::from_utf8_lossy(&begin))
}

fn tell(imported: &Imported, operations: &[u64], context: &mut Context) -> CliResult {
    if context.printer.is_json() {
        context.printer.json(&Moved { operation: operations.last().copied(), ..Moved::from(imported) })?;
    } else {
        let away =
            if imported.put_away > 0 { format!("; {} put away", counted(imported.put_away, "memory")) } else { String::new() };
        context.printer.line(format!("{} stored; {} known{away}", export::told(&imported.stored), imported.known))?;
        if imported.waiting > 0 {
            let waiting = counted(imported.waiting, "memory");
            context.printer.note(format!(
                "another memory wrote the file: {waiting} stored for `yore review`, told to nobody until then; --trust takes them as yours"
            ))?;
        }
        for id in imported.replaced.iter().take(MOST_PROBLEMS) {
            context.printer.note(format!("memory {id} of yours was changed"))?;
        }
        for statement in imported.everywhere.iter().take(MOST_PROBLEMS) {
            context.printer.note(format!("told in every project from now on: {}", text::harmless(statement)))?;
        }
        for (place, problem) in imported.problems.iter().take(MOST_PROBLEMS) {
            context.printer.note(format!("{} is skipped: {}", text::harmless(place), text::harmless(problem)))?;
        }
        let untold = imported.skipped - (imported.problems.len().min(MOST_PROBLEMS) as u64);
        if untold > 0 {
            context.printer.note(format!("{untold} more skipped"))?;
        }
    }
    Ok(if imported.skipped > 0 { Exit::Nothing } else { Exit::Success })
}
