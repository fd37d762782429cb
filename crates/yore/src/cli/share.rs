//! `yore share`: memories as files in the project's repository.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::BufRead;

use clap::{Args, Subcommand};
use yore_core::id::ProjectId;
use yore_core::memory::{Lane, Status};
use yore_engine::{MemoryFilter, MemoryList, ProjectQuery, StoredMemory};
use yore_sources::git::Git;
use yore_sources::project_names::ProjectNames;
use yore_sources::redact::{RedactionCounts, Redactor};

use super::Context;
use super::team_project::{self, ProjectShare};
use crate::config::SharedLevel;
use crate::engine_handle::MemoryClient;
use crate::error::{CliError, CliResult, Exit};
use crate::inject::budget::tokens;
use crate::render::memories::kind_name;
use crate::render::plain::{counted, harmless, one_line};
use crate::render::text;
use crate::results::{Brief, ShareAuthor, ShareFinding, SharedFileRecord, SharedWritten};
use crate::shared::authors::Author;
use crate::shared::file::{self, Retirement, SharedFile, SharedMemory};
use crate::shared::folder::{FOLDER, Folder, project_key};
use crate::shared::machine::Machine;
use crate::shared::publish::{FOR_EVERYBODY, Publisher};
use crate::shared::refresh::{self, acceptance, file_of, known_files, short_commit};
use crate::shared::state::{Known, Standing, standings};

/// Fewest digits of a file's name.
const FEWEST_DIGITS: usize = 4;
/// Digits of a file's name that are told.
const NAME_DIGITS: usize = 10;

/// Share memories with your team, as files in the repository
///
/// Writes each memory as a file of Markdown below `.yore/memories`, named by its content, without ids and sessions, with paths below the
/// project made relative and secrets redacted. Commit the files: a pull request shows what is shared, and merges never conflict. Whoever has yore and
/// pulls finds the memories in `yore recall`, in briefs and, once they accept the author, in what agents are given. Preferences and
/// private notes are never shared.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Ids of memories; without any, lists what is shared. `.` shares the project with your team, over its server
    #[arg(value_name = "MEMORY")]
    memories: Vec<String>,
    /// With `.`: the team, if there are several
    #[arg(long, value_name = "NAME")]
    team: Option<String>,
    /// With `.`: take back what went out from here, and share the project no more
    #[arg(long, conflicts_with = "dry_run")]
    stop: bool,
    /// With `.`: what is shared: named, memories, or sessions for what you and agents said as well [default: as now, else team.level]
    #[arg(long, value_name = "LEVEL", value_parser = team_project::level)]
    level: Option<SharedLevel>,
    /// With `. --dry-run --level sessions`: print this session as it would go
    #[arg(long, value_name = "ID", requires = "dry_run")]
    session: Option<String>,
    /// With `.`: ask nothing
    #[arg(short, long)]
    yes: bool,
    /// Show the memories of this project that are not shared, one after the other, and ask
    #[arg(long, conflicts_with = "memories")]
    review: bool,
    /// With --review: at most N
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, requires = "review")]
    limit: usize,
    /// Print the files as they would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Share without the words that memories quote from conversations
    #[arg(long)]
    no_quotes: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List what the repository shares, by whom, and what is retired
    List {
        /// Retired memories as well
        #[arg(long)]
        all: bool,
    },
    /// Retire shared memories for everybody, by a file that says so
    Retire {
        /// Ids of memories, or names of files or their first digits
        #[arg(value_name = "MEMORY", required = true)]
        memories: Vec<String>,
        /// Why
        #[arg(long, value_name = "WORDS")]
        because: Option<String>,
        /// The shared memory that takes its place
        #[arg(long, value_name = "MEMORY")]
        by: Option<String>,
    },
    /// Take shared memories back: their files are removed here, and with the next merge everywhere
    TakeBack {
        /// Ids of memories, or names of files or their first digits
        #[arg(value_name = "MEMORY", required = true)]
        memories: Vec<String>,
    },
    /// Accept authors: their memories count from now on as those of an agent, in this project
    ///
    /// Until then they are kept out of your memory: `yore recall` and briefs tell them after everything else, with a mark. An author is who
    /// the main branch of `origin` names; on other branches anybody can write any name, so that nobody is accepted there.
    Accept {
        /// Email addresses; without any, lists the authors
        #[arg(value_name = "AUTHOR")]
        authors: Vec<String>,
        /// Accept them no more
        #[arg(long)]
        undo: bool,
    },
    /// Look for files that are damaged, hold secrets, or name a person's computer; for continuous integration
    Check,
    /// Show the commits that shared, changed or took back a memory
    History {
        /// Id of a memory, or the name of a file or its first digits
        #[arg(value_name = "MEMORY")]
        memory: String,
    },
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let of_project = ProjectShare {
        team: arguments.team.as_deref(),
        level: arguments.level,
        session: arguments.session.as_deref(),
        stop: arguments.stop,
        dry_run: arguments.dry_run,
        yes: arguments.yes,
    };
    if arguments.memories == ["."] {
        return team_project::share_project(&of_project, context);
    }
    let is_of_project = of_project.team.is_some() || of_project.level.is_some() || of_project.session.is_some();
    if is_of_project || of_project.stop || of_project.yes {
        let message = "--team, --level, --session, --stop and --yes are for a whole project";
        return Err(CliError::usage(message, Some("`yore share .`")));
    }
    let place = Place::here(context)?;
    match &arguments.action {
        None if arguments.review => review(&place, arguments, context),
        None if arguments.memories.is_empty() => list(&place, false, context),
        None => share(&place, arguments, context),
        Some(Action::List { all }) => list(&place, *all, context),
        Some(Action::Retire { memories, because, by }) => retire(&place, memories, because.as_deref(), by.as_deref(), context),
        Some(Action::TakeBack { memories }) => take_back(&place, memories, context),
        Some(Action::Accept { authors, undo }) => accept(&place, authors, *undo, context),
        Some(Action::Check) => check(&place, context),
        Some(Action::History { memory }) => history(&place, memory, context),
    }
}

/// Where memories are shared: the folder of this project.
struct Place {
    folder: Folder,
    here: ProjectNames,
    project: String,
    machine: Machine,
    /// Entries of the authors that the person accepted.
    accepted: Vec<String>,
    /// Address of the person, as git has it here.
    own_email: String,
}

impl Place {
    fn here(context: &Context) -> CliResult<Self> {
        let outside =
            || CliError::usage("this directory is in no repository", Some("run it in the project whose memories you share"));
        let folder = context.settings.here.as_deref().and_then(Folder::of).ok_or_else(outside)?;
        let here = context.settings.project_here().ok_or_else(outside)?;
        let project = project_key(&here).ok_or_else(outside)?;
        let machine = Machine::new(&folder.root, context.settings.paths.home.as_deref());
        let data = &context.settings.directory;
        let accepted = refresh::accepted(data).map_err(|error| CliError::io(data, &error))?;
        let mut own_email = Vec::new();
        // Without an address nobody is taken for the person.
        let _ = Git::at(&folder.root).run(&["config", "user.email"], 1_000, &mut own_email);
        let own_email = String::from_utf8_lossy(&own_email).trim().to_lowercase();
        Ok(Self { folder, here, project, machine, accepted, own_email })
    }

    /// Returns the files of the folder with their authors.
    fn files(&self) -> CliResult<Vec<Known>> {
        known_files(&self.folder, None).map_err(|error| CliError::io(&self.folder.path, &error))
    }

    fn is_accepted(&self, author: &Author) -> bool {
        refresh::is_accepted(&self.accepted, &self.project, author)
    }
}

/// Returns what prepares the memories of this project to be shared.
fn publisher(place: &Place, context: &Context) -> CliResult<Publisher> {
    let data = &context.settings.directory;
    let patterns = &context.settings.config().redaction.extra_patterns;
    Publisher::new(data, patterns, &place.folder.root, context.settings.paths.home.as_deref())
        .map_err(|error| CliError::io(data, &error))
}

/// Returns the project of this directory, as the memory knows it.
fn project_of(place: &Place, memory: &mut MemoryClient) -> CliResult<Option<ProjectId>> {
    Ok(memory.find_project(ProjectQuery::Directory(place.here.clone()))?.map(|project| project.id))
}

fn share(place: &Place, arguments: &Arguments, context: &mut Context) -> CliResult {
    let mut memory = context.settings.memory()?;
    let project = project_of(place, &mut memory)?;
    let publisher = publisher(place, context)?;
    let mut found = Vec::new();
    for id in &arguments.memories {
        let stored = memory.memory(id.clone())?;
        let shared = publisher
            .memory(&stored, project, !arguments.no_quotes)
            .map_err(|reason| refused(&format!("[{}]: {reason}", stored.memory.id.short())))?;
        found.push((stored.memory.id.short(), shared));
    }
    write(place, found, arguments.dry_run, context)
}

fn refused(message: &str) -> CliError {
    CliError {
        exit: Exit::Usage,
        code: "share/refused".to_owned(),
        message: message.to_owned(),
        hint: Some("`yore memories edit` changes its words; nothing was written".to_owned()),
    }
}

/// Writes files, or shows them.
fn write(place: &Place, found: Vec<(String, SharedMemory)>, is_dry_run: bool, context: &mut Context) -> CliResult {
    let mut told = Vec::new();
    for (id, shared) in found {
        let text = file::write(&SharedFile::Memory(Box::new(shared)));
        let name = file::name_of(&text);
        let is_new = if is_dry_run {
            true
        } else {
            place.folder.write(&text).map_err(|error| CliError::io(&place.folder.path, &error))?.1
        };
        told.push(SharedWritten { memory: id, file: file_of(&name), is_new, text: is_dry_run.then_some(text) });
    }
    if context.printer.is_json() {
        context.printer.json(&told)?;
        return Ok(Exit::Success);
    }
    for written in &told {
        match &written.text {
            Some(text) => context.printer.line(format!("{}\n\n{}", written.file, harmless(text)))?,
            None if written.is_new => context.printer.line(format!("[{}] {}", written.memory, written.file))?,
            None => context.printer.line(format!("[{}] is shared already: {}", written.memory, written.file))?,
        }
    }
    if !is_dry_run {
        hint_at_commit(place, context)?;
    }
    Ok(Exit::Success)
}

/// Says what is to be done so that others get the files.
fn hint_at_commit(place: &Place, context: &mut Context) -> CliResult<()> {
    let mut status = Vec::new();
    // Without git, nothing is said about it.
    let _ = Git::at(&place.folder.root).run(&["status", "--porcelain", "--ignored", "--", FOLDER], 10_000, &mut status);
    let is_ignored = status.starts_with(b"!!");
    context.printer.note(if is_ignored {
        format!("git ignores {FOLDER}: nobody gets the files until .gitignore lets them through")
    } else {
        format!("commit {FOLDER} so that others get it")
    })?;
    Ok(())
}

fn review(place: &Place, arguments: &Arguments, context: &mut Context) -> CliResult {
    let mut memory = context.settings.memory()?;
    let project = project_of(place, &mut memory)?;
    let files = place.files()?;
    let known: Vec<&SharedMemory> = files
        .iter()
        .filter_map(|known| match &known.file {
            SharedFile::Memory(memory) => Some(&**memory),
            SharedFile::Retired(_) => None,
        })
        .collect();
    let filter = MemoryFilter { kinds: FOR_EVERYBODY.to_vec(), statuses: vec![Status::Holds], ..MemoryFilter::default() };
    let list = MemoryList { filter, here: Some(place.here.clone()), limit: 10_000, ..MemoryList::default() };
    let mut candidates = memory.memories(list)?;
    candidates.retain(|stored| {
        let memory = &stored.memory;
        let is_known =
            known.iter().any(|shared| shared.kind == memory.kind && shared.statement.trim() == memory.statement.trim());
        project.is_some() && memory.project == project && !memory.is_shared() && !is_known
    });
    // A person's own and confirmed statements come first.
    candidates.sort_by(|a, b| {
        let rank = |stored: &StoredMemory| (stored.memory.lane != Lane::Curated, !stored.memory.is_pinned);
        rank(a)
            .cmp(&rank(b))
            .then(b.memory.importance.total_cmp(&a.memory.importance))
            .then(b.memory.changed.cmp(&a.memory.changed))
    });
    let publisher = publisher(place, context)?;
    let mut ready = Vec::new();
    for stored in &candidates {
        if let Ok(shared) = publisher.memory(stored, project, !arguments.no_quotes) {
            ready.push((stored.memory.id.short(), shared));
        }
        if ready.len() == arguments.limit {
            break;
        }
    }
    if ready.is_empty() {
        context.printer.note("every memory of this project that can be shared is shared")?;
        return Ok(Exit::Nothing);
    }
    if context.printer.is_json() || arguments.dry_run {
        return write(place, ready, true, context);
    }
    let mut input = std::io::stdin().lock();
    let mut chosen = Vec::new();
    for (id, shared) in ready {
        let text = file::write(&SharedFile::Memory(Box::new(shared.clone())));
        context.printer.line(format!("[{id}]\n{}", harmless(&text)))?;
        context.printer.prompt("share it? y: yes, enter: no, q: quit ")?;
        let mut answer = String::new();
        if input.read_line(&mut answer).map_err(CliError::from)? == 0 {
            break;
        }
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => chosen.push((id, shared)),
            "q" | "quit" => break,
            _ => {}
        }
    }
    if chosen.is_empty() {
        context.printer.line("nothing was shared")?;
        return Ok(Exit::Nothing);
    }
    write(place, chosen, false, context)
}

/// Returns how a standing is told.
fn told(standing: &Standing<'_>) -> SharedFileRecord {
    let by = |author: Option<&Author>| ShareAuthor {
        name: author.map(|author| author.name.clone()),
        email: author.map(|author| author.email.clone()),
        commit: author.and_then(short_commit),
        files: 0,
        is_accepted: false,
    };
    let memory = standing.memory;
    SharedFileRecord {
        file: file_of(standing.name),
        kind: memory.kind.as_str().to_owned(),
        statement: memory.statement.clone(),
        author: ShareAuthor { is_accepted: standing.is_accepted, ..by(standing.author) },
        retired_by: standing.retired.map(|known| by(known.author.as_ref())),
        reason: standing
            .retired
            .or_else(|| standing.proposed.first().copied())
            .and_then(|known| known.reason().map(str::to_owned)),
        retirements_proposed: standing.proposed.len() as u64,
    }
}

fn list(place: &Place, with_retired: bool, context: &mut Context) -> CliResult {
    let files = place.files()?;
    let mut records: Vec<SharedFileRecord> = Vec::new();
    {
        let is_accepted = |author: &Author| place.is_accepted(author);
        let found = standings(&files, &is_accepted);
        records.extend(found.iter().filter(|standing| with_retired || standing.retired.is_none()).map(told));
    }
    if context.printer.is_json() {
        context.printer.json(&records)?;
        return Ok(if records.is_empty() { Exit::Nothing } else { Exit::Success });
    }
    let rows: Vec<Vec<String>> = records
        .iter()
        .map(|record| {
            let name = record.file.rsplit('/').next().unwrap_or_default().chars().take(NAME_DIGITS).collect();
            let who = record.author.name.as_deref().map_or_else(|| "not known".to_owned(), one_line);
            let mut marks = Vec::new();
            match &record.author {
                ShareAuthor { email: Some(email), .. } if *email == place.own_email => marks.push("yours".to_owned()),
                ShareAuthor { name: Some(_), is_accepted: false, .. } => marks.push("not accepted".to_owned()),
                _ => {}
            }
            if let Some(by) = &record.retired_by {
                marks.push(format!("retired by {}", by.name.as_deref().map_or_else(|| "you".to_owned(), one_line)));
            }
            if record.retirements_proposed > 0 {
                marks.push("a retirement does not count yet".to_owned());
            }
            let marks = if marks.is_empty() { String::new() } else { format!("({}) ", marks.join(", ")) };
            let commit = record.author.commit.clone().unwrap_or_default();
            vec![name, record.kind.replace('_', "-"), who, commit, format!("{marks}{}", one_line(&record.statement))]
        })
        .collect();
    context.printer.table_of_ids(&rows)?;
    if rows.is_empty() {
        context.printer.note("this project shares no memory; `yore share MEMORY` shares one, --review shows which could be")?;
    } else if records.iter().any(|record| record.author.name.is_some() && !record.author.is_accepted) {
        context.printer.note("`yore share accept` lists the authors, and accepts one")?;
    }
    Ok(if rows.is_empty() { Exit::Nothing } else { Exit::Success })
}

/// Returns the names of the files of a memory, by its id here or the first digits of a file's name.
fn names_of_files(named: &str, place: &Place, files: &[Known], context: &Context) -> CliResult<Vec<String>> {
    let beginning = named.rsplit('/').next().unwrap_or(named).trim_end_matches(".md");
    let unknown = || {
        let message = format!("no shared memory is named {}", harmless(named));
        CliError {
            exit: Exit::Nothing,
            code: "share/unknown".to_owned(),
            message,
            hint: Some("`yore share list` lists them".to_owned()),
        }
    };
    let is_name = beginning.len() >= FEWEST_DIGITS && beginning.bytes().all(|byte| byte.is_ascii_hexdigit());
    let all = standings(files, &|_| false);
    let by_name: Vec<&Standing<'_>> =
        all.iter().filter(|standing| is_name && standing.names.iter().any(|name| name.starts_with(beginning))).collect();
    let found = match by_name.as_slice() {
        [one] => *one,
        [] => {
            let stored = context.settings.memory()?.memory(named.to_owned()).map_err(|_| unknown())?;
            // The file says it without the paths of this computer.
            let said = place.machine.portable(stored.memory.statement.trim()).unwrap_or_default();
            let says_it =
                |standing: &&Standing<'_>| standing.memory.kind == stored.memory.kind && standing.memory.statement.trim() == said;
            all.iter().find(says_it).ok_or_else(unknown)?
        }
        several => {
            let message = format!("{} files begin with {beginning}", several.len());
            return Err(CliError::usage(message, Some("give more digits")));
        }
    };
    Ok(found.names.iter().map(|name| (*name).to_owned()).collect())
}

fn retire(place: &Place, named: &[String], because: Option<&str>, by: Option<&str>, context: &mut Context) -> CliResult {
    let files = place.files()?;
    let by = by.map(|by| names_of_files(by, place, &files, context)).transpose()?.and_then(|names| names.into_iter().next());
    let publisher = publisher(place, context)?;
    let words = because.map(|words| publisher.text(words)).transpose();
    let because = words.map_err(|reason| refused(&reason))?;
    let mut written = Vec::new();
    for named in named {
        for name in names_of_files(named, place, &files, context)? {
            let retirement = Retirement { memory: name.clone(), by: by.clone(), reason: because.clone() };
            let text = file::write(&SharedFile::Retired(retirement));
            let (file, is_new) = place.folder.write(&text).map_err(|error| CliError::io(&place.folder.path, &error))?;
            written.push(SharedWritten { memory: name, file: file_of(&file), is_new, text: None });
        }
    }
    if context.printer.is_json() {
        context.printer.json(&written)?;
        return Ok(Exit::Success);
    }
    for one in &written {
        context.printer.line(format!("{} retires {}", one.file, &one.memory[..NAME_DIGITS.min(one.memory.len())]))?;
    }
    context.printer.note("your own memory of it, if you have one, stays as it is")?;
    hint_at_commit(place, context)?;
    Ok(Exit::Success)
}

fn take_back(place: &Place, named: &[String], context: &mut Context) -> CliResult {
    let files = place.files()?;
    let mut removed = Vec::new();
    for named in named {
        let names = names_of_files(named, place, &files, context)?;
        let retires = |known: &&Known| match &known.file {
            SharedFile::Retired(retirement) => names.contains(&retirement.memory),
            SharedFile::Memory(_) => false,
        };
        let retirements = files.iter().filter(retires).map(|known| &known.name);
        for name in names.iter().chain(retirements) {
            if place.folder.remove(name).map_err(|error| CliError::io(&place.folder.path, &error))? {
                removed.push(file_of(name));
            }
        }
    }
    if context.printer.is_json() {
        context.printer.json(&removed)?;
        return Ok(Exit::Success);
    }
    for file in &removed {
        context.printer.line(format!("removed {file}"))?;
    }
    context.printer.note("the history of the repository still has it: what must not be there needs git's own means")?;
    hint_at_commit(place, context)?;
    Ok(Exit::Success)
}

fn accept(place: &Place, emails: &[String], is_undo: bool, context: &mut Context) -> CliResult {
    let files = place.files()?;
    let mut authors: HashMap<&str, (&Author, u64)> = HashMap::new();
    for author in files.iter().filter_map(|known| known.author.as_ref()) {
        authors.entry(author.email.as_str()).or_insert((author, 0)).1 += 1;
    }
    if emails.is_empty() {
        let mut listed: Vec<ShareAuthor> = authors
            .values()
            .map(|(author, files)| ShareAuthor {
                name: Some(author.name.clone()),
                email: Some(author.email.clone()),
                commit: None,
                files: *files,
                is_accepted: place.is_accepted(author),
            })
            .collect();
        listed.sort_by(|a, b| a.email.cmp(&b.email));
        if context.printer.is_json() {
            context.printer.json(&listed)?;
            return Ok(Exit::Success);
        }
        let rows: Vec<Vec<String>> = listed
            .iter()
            .map(|author| {
                let said = |text: &Option<String>| text.as_deref().map(one_line).unwrap_or_default();
                let state = if author.is_accepted { "accepted" } else { "not accepted" };
                vec![said(&author.email), said(&author.name), counted(author.files, "file"), state.to_owned()]
            })
            .collect();
        context.printer.table(&rows)?;
        if rows.is_empty() {
            context.printer.note("nobody has shared a memory here, as far as the history tells")?;
        }
        return Ok(if rows.is_empty() { Exit::Nothing } else { Exit::Success });
    }
    let mut accepted = place.accepted.clone();
    for email in emails {
        let email = email.to_lowercase();
        let entry = acceptance(&place.project, &email);
        if is_undo {
            accepted.retain(|known| *known != entry);
        } else if !authors.contains_key(email.as_str()) {
            let message = format!("{} has shared nothing here", harmless(&email));
            return Err(CliError::usage(message, Some("`yore share accept` lists the authors")));
        } else if !accepted.contains(&entry) {
            accepted.push(entry);
        }
    }
    refresh::accept(&context.settings.directory, &accepted).map_err(|error| CliError::io(&context.settings.directory, &error))?;
    // Their memories count at once.
    let _ = context.settings.memory();
    context.printer.note(if is_undo { "their memories change nothing from now on" } else { "accepted in this project" })?;
    Ok(Exit::Success)
}

fn check(place: &Place, context: &mut Context) -> CliResult {
    let failed = |error| CliError::io(&place.folder.path, &error);
    let (files, problems) = if place.folder.exists() { place.folder.read().map_err(failed)? } else { Default::default() };
    let mut findings: Vec<ShareFinding> =
        problems.into_iter().map(|problem| ShareFinding { file: problem.file, problem: problem.reason }).collect();
    // The rules need no key of a memory to find a secret.
    let patterns = &context.settings.config().redaction.extra_patterns;
    let redactor = Redactor::with_patterns(&[0; 32], patterns).map_err(|error| CliError::usage(error.to_string(), None))?;
    // Retirements and entries that yore does not read are published as well.
    let mut texts: Vec<(String, String)> = fs::read_dir(&place.folder.path)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, fs::read_to_string(entry.path()).ok()?)))
        .collect();
    texts.sort();
    for (name, text) in texts {
        let mut counts = RedactionCounts::default();
        let _ = redactor.text(&text, &mut counts);
        if counts.total() > 0 {
            findings.push(ShareFinding { file: name.clone(), problem: "it holds a secret".to_owned() });
        }
        if let Err(problem) = place.machine.portable(&text) {
            findings.push(ShareFinding { file: name, problem });
        }
    }
    if context.printer.is_json() {
        context.printer.json(&findings)?;
    } else {
        for finding in &findings {
            context.printer.line(format!("{}: {}", harmless(&finding.file), harmless(&finding.problem)))?;
        }
        if findings.is_empty() {
            context.printer.line(format!("{}, nothing to mend", counted(files.len() as u64, "file")))?;
        }
    }
    Ok(if findings.is_empty() { Exit::Success } else { Exit::Nothing })
}

fn history(place: &Place, named: &str, context: &mut Context) -> CliResult {
    let files = place.files()?;
    let mut paths = match names_of_files(named, place, &files, context) {
        Ok(names) => names,
        // One that was taken back is in the history alone.
        Err(_) if named.len() == 32 && named.bytes().all(|byte| byte.is_ascii_hexdigit()) => vec![named.to_owned()],
        Err(error) => return Err(error),
    };
    let retires = |known: &&Known| matches!(&known.file, SharedFile::Retired(retirement) if paths.contains(&retirement.memory));
    let retirements: Vec<String> = files.iter().filter(retires).map(|known| known.name.clone()).collect();
    paths.extend(retirements);
    let paths: Vec<String> = paths.iter().map(|name| file_of(name)).collect();
    let mut arguments =
        vec!["log", "--full-history", "--no-renames", "--date=short", "--format=%h %ad %an: %s", "--name-status", "--"];
    arguments.extend(paths.iter().map(String::as_str));
    let mut told = Vec::new();
    Git::at(&place.folder.root).run(&arguments, 1 << 20, &mut told).map_err(|error| CliError::io(&place.folder.root, &error))?;
    let lines: Vec<String> = String::from_utf8_lossy(&told).lines().filter(|line| !line.is_empty()).map(text::harmless).collect();
    if context.printer.is_json() {
        context.printer.json(&lines)?;
    } else {
        for line in &lines {
            context.printer.line(line)?;
        }
        if lines.is_empty() {
            context.printer.note("no commit has it yet")?;
        }
    }
    Ok(if lines.is_empty() { Exit::Nothing } else { Exit::Success })
}

/// Prints what the repository shares, by kind, from its files alone.
pub fn brief(budget: Option<usize>, context: &mut Context) -> CliResult {
    let place = Place::here(context)?;
    let files = place.files()?;
    let mut by_kind: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for standing in standings(&files, &|_| false).iter().filter(|standing| standing.retired.is_none()) {
        let author = standing.author.map_or_else(
            || "not known".to_owned(),
            |author| {
                let commit = short_commit(author).unwrap_or_default();
                format!("{}, {commit}", one_line(&author.name))
            },
        );
        let line = format!("- {} ({author})", one_line(&standing.memory.statement));
        by_kind.entry(kind_name(standing.memory.kind)).or_default().push(line);
    }
    let mut left = budget.unwrap_or(usize::MAX);
    let mut lines = vec![format!("# What holds in {}", harmless(&place.here.name))];
    for (kind, statements) in &by_kind {
        let heading = format!("\n## {kind}\n");
        let mut is_begun = false;
        for statement in statements {
            let cost = tokens(statement) + if is_begun { 0 } else { tokens(&heading) };
            if cost > left {
                continue;
            }
            left -= cost;
            if !is_begun {
                lines.push(heading.clone());
                is_begun = true;
            }
            lines.push(statement.clone());
        }
    }
    if by_kind.is_empty() {
        context.printer.note("this repository shares no memory")?;
        return Ok(Exit::Nothing);
    }
    if context.printer.is_json() {
        let text = lines.join("\n");
        context.printer.json(&Brief {
            project: Some(place.here.name.clone()),
            tokens: Some(tokens(&text) as u64),
            turns: None,
            text,
        })?;
    } else {
        context.printer.line(lines.join("\n"))?;
    }
    Ok(Exit::Success)
}
