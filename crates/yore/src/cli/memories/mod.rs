//! `yore memories`: lists, opens, changes and relates memories.

mod change;
mod check;
mod common;
mod entities;
mod notes;
mod shown;

use clap::{Args, Subcommand};
use yore_core::memory::dynamics::Tier;
use yore_core::memory::{Lane, MemoryKind, Status};
use yore_core::scope::ScopeChoice;
use yore_core::time::UtcMillis;
use yore_engine::{MemoryFilter, MemoryList, NotesRequest, StoredMemory};

use self::common::beginning;
pub use self::common::{aspect, by_person, kind, share, status, tier};
pub use self::shown::{show, show_entity};
use super::Context;
use super::page::PageArguments;
use crate::cursor::{self, Cursor};
use crate::error::{CliResult, Exit};
use crate::recall_request;
use crate::render::memories::kind_name;
use crate::render::plain::one_line;
use crate::render::text::{self, BOLD, DIM, RESET};
use crate::results::MemoryRecord;

/// List memories, or change one
///
/// A memory is a statement that holds, with its kind, evidence and history.
/// `yore remember --kind` records one. Without a subcommand, lists those of this project and those that hold
/// everywhere, changed last first. What no longer holds is listed with --all-statuses or --status. Notes, which have no kind,
/// are listed with --notes; `yore show` shows a whole memory or note, by its id.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: ListArguments,
}

/// Cursor letter of the list of memories.
const LIST: char = 'm';

/// The memories to list.
#[derive(Args, Debug)]
struct ListArguments {
    /// Memories of every project
    #[arg(long, conflicts_with = "project")]
    all: bool,
    /// List notes instead, latest first: those of this project and those that apply everywhere
    #[arg(long, conflicts_with_all = ["kind", "open", "status", "all_statuses", "forgotten", "entities", "since", "until", "timeline"])]
    notes: bool,
    /// With --notes: only those that apply everywhere
    #[arg(long, requires = "notes", conflicts_with_all = ["all", "project"])]
    global: bool,
    /// With --notes: only those with this title
    #[arg(long, value_name = "TITLE", requires = "notes")]
    title: Option<String>,
    /// Only memories of this project: name, id or directory
    #[arg(short, long, value_name = "PROJECT", value_parser = crate::cli::project)]
    project: Vec<String>,
    /// Only memories of this kind; may be repeated
    #[arg(short, long, value_name = "KIND", value_parser = kind)]
    kind: Vec<MemoryKind>,
    /// Only questions, problems and todos that nobody closed; a memory that `answers` or `solves` one closes it, and so does `memories archive`
    #[arg(long, conflicts_with = "kind")]
    open: bool,
    /// Only memories with this status [default: holds, contested]
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Vec<Status>,
    /// Memories with any status
    #[arg(long, conflicts_with = "status")]
    all_statuses: bool,
    /// Only memories that were forgotten with `yore forget`, and not yet for good; `yore forget --restore ID` takes one back
    #[arg(long, conflicts_with_all = ["status", "open"])]
    forgotten: bool,
    /// Only memories with this tag; may be repeated to accept any of several
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only memories about this entity; may be repeated to accept any of several
    #[arg(short, long = "entity", value_name = "NAME")]
    entities: Vec<String>,
    /// Only memories of this tier: active, warm, cool, cold, frozen; may be repeated
    #[arg(long = "tier", value_name = "TIER", value_parser = tier)]
    tiers: Vec<Tier>,
    /// Only memories with at least this decay score, 0 to 1
    #[arg(long, value_name = "SCORE", value_parser = share)]
    least_decay: Option<f32>,
    /// Only memories changed at or after this time
    #[arg(long, value_name = "TIME", value_parser = recall_request::time)]
    since: Option<UtcMillis>,
    /// Only memories changed before this time
    #[arg(long, value_name = "TIME", value_parser = recall_request::time)]
    until: Option<UtcMillis>,
    /// Oldest first, by the time since when each is true, with what took the place of what
    #[arg(long, conflicts_with = "after")]
    timeline: bool,
    /// At most N
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    page: PageArguments,
}

impl ListArguments {
    fn of_notes(&self, context: &Context) -> CliResult<NotesRequest> {
        Ok(NotesRequest {
            // Without a current project, only notes that apply everywhere are found.
            here: if self.global { None } else { context.settings.project_here() },
            scope: match self.project.as_slice() {
                _ if self.all => ScopeChoice::All,
                [] => ScopeChoice::Current,
                names => ScopeChoice::Projects(names.to_vec()),
            },
            tags: self.tags.clone(),
            kind: None,
            is_confirmed: None,
            title: self.title.clone(),
            after: self.page.place(notes::LIST)?.as_ref().and_then(Cursor::episode),
            // One more than fits shows whether there is a next page.
            limit: self.limit.saturating_add(1),
        })
    }
}

#[derive(Debug, Subcommand)]
enum Action {
    Edit(change::Edit),
    Confirm(change::Confirm),
    Wrong(change::Wrong),
    Pin(change::Pin),
    Archive(change::Archive),
    Check(check::Check),
    Relate(entities::Relate),
    Entities(entities::Entities),
}

impl Arguments {
    /// Returns whether memories or notes are only listed.
    pub fn is_list(&self) -> bool {
        self.action.is_none()
    }
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    match &arguments.action {
        None if arguments.list.notes => {
            let request = arguments.list.of_notes(context)?;
            notes::list(request, &arguments.list.page, context)
        }
        None => list(&arguments.list, context),
        Some(Action::Edit(arguments)) => change::edit(arguments, context),
        Some(Action::Confirm(arguments)) => change::confirm(arguments, context),
        Some(Action::Wrong(arguments)) => change::wrong(arguments, context),
        Some(Action::Pin(arguments)) => change::pin(arguments, context),
        Some(Action::Archive(arguments)) => change::archive(arguments, context),
        Some(Action::Check(arguments)) => check::check(arguments, context),
        Some(Action::Relate(arguments)) => entities::relate(arguments, context),
        Some(Action::Entities(arguments)) => entities::run(arguments, context),
    }
}

fn list(arguments: &ListArguments, context: &mut Context) -> CliResult {
    let mut memory = context.settings.memory()?;
    let mut filter = MemoryFilter {
        kinds: arguments.kind.clone(),
        is_open: arguments.open,
        is_forgotten: Some(arguments.forgotten),
        statuses: arguments.status.clone(),
        tags: arguments.tags.clone(),
        since: arguments.since,
        until: arguments.until,
        before: arguments.page.place(LIST)?.map(|cursor| (cursor.at.unwrap_or(i64::MIN), cursor.id)),
        ..MemoryFilter::default()
    };
    let is_plain = arguments.status.is_empty() && !arguments.all_statuses && !arguments.timeline && !arguments.forgotten;
    if is_plain {
        filter.statuses = vec![Status::Holds, Status::Contested];
    }
    let list = MemoryList {
        is_by_doubt: false,
        filter,
        here: context.settings.project_here().filter(|_| !arguments.all),
        projects: arguments.project.clone(),
        entities: arguments.entities.clone(),
        tiers: arguments.tiers.clone(),
        least_decay: arguments.least_decay,
        limit: arguments.limit.saturating_add(1),
    };
    let mut found = memory.memories(list.clone())?;
    let next =
        cursor::page(&mut found, arguments.limit, |stored| Cursor::of(LIST, Some(stored.memory.changed), stored.memory.id));
    let all = if next.is_none() { found.len() as u64 } else { memory.count_memories(list)? };
    if arguments.timeline {
        found.sort_by_key(|stored| (stored.memory.valid_from.unwrap_or(stored.memory.recorded), stored.memory.id));
    }
    if context.printer.is_json() {
        let records = found.iter().map(|stored| MemoryRecord::of(stored, Vec::new())).collect();
        arguments.page.json(records, next.as_ref(), context)?;
    } else {
        context.printer.table_of_ids(&found.iter().map(row).collect::<Vec<_>>())?;
        if let Some(next) = &next {
            context.printer.note(format!(
                "{} of {}, the last changed; -n {all} shows all, --after {} the next",
                text::count(found.len() as u64),
                text::counted(all, "memory"),
                next.encode()
            ))?;
        }
        if found.is_empty() {
            context.printer.note(match arguments.forgotten {
                true => "no forgotten memory can be restored here; --all lists every project's",
                false => "no such memory; `yore remember --kind fact \"...\"` records one, --all lists every project's",
            })?;
        }
    }
    Ok(if found.is_empty() { Exit::Nothing } else { Exit::Success })
}

/// Returns the columns of a memory, with the day since which it is true.
fn row(stored: &StoredMemory) -> Vec<String> {
    let memory = &stored.memory;
    let project = stored.project.as_deref().map_or_else(|| "everywhere".to_owned(), text::harmless);
    // Since when it is true, which is not when it was last changed.
    let at = memory.valid_from.unwrap_or(memory.recorded);
    let mut marks: Vec<String> = Vec::new();
    if memory.status != Status::Holds {
        marks.push(memory.status.as_str().to_owned());
    }
    match &memory.source.author {
        Some(author) if memory.is_shared() => marks.push(format!("by {}", one_line(author))),
        _ if memory.lane == Lane::Extracted => marks.push("extracted".to_owned()),
        _ => {}
    }
    if memory.is_pinned {
        marks.push("pinned".to_owned());
    }
    if stored.standing.tier.is_brief() {
        marks.push(stored.standing.tier.as_str().to_owned());
    }
    let marks = if marks.is_empty() { String::new() } else { format!("{DIM}({}){RESET} ", marks.join(", ")) };
    let title = memory.title.as_deref().map(|title| format!("{BOLD}{}{RESET} {DIM}·{RESET} ", one_line(title)));
    let shown = beginning(&memory.statement);
    vec![
        memory.id.short(),
        text::day(Some(at)),
        kind_name(memory.kind),
        project,
        format!("{marks}{}{shown}", title.unwrap_or_default()),
    ]
}
