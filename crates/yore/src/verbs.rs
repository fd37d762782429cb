//! The verbs: one row for everything that can be asked of the memory, in process or through the daemon.
//!
//! A row of [`verbs!`] gives a verb its form on the daemon's socket, its arm in the daemon, and its method of [`MemoryClient`], which
//! asks the daemon if one runs and else calls the engine in this process.
//!
//! Everything that reads or changes memories, sessions, notes, projects and the log is a verb. In process stays what streams (progress,
//! files in or out, bytes of the archive: ingest, import, export, embed, runs of language models), what maintains the data directory
//! itself (backup, restore, repair, rebuild, doctor, scan), and the switch that stops language models, which needs no daemon to work.
//! `recall` has its own request, because the local model of the daemon and of the caller must be the same.

use serde::{Deserialize, Serialize};
use yore_core::entity::Entity;
use yore_core::exchange::Exchanges;
use yore_core::id::{EntityId, EpisodeId, MemoryId};
use yore_core::memory::{AnchorVerdict, Use};
use yore_core::note::Priority;
use yore_core::operation::{Cause, Change, Operation, Subject};
use yore_core::query::SearchMode;
use yore_core::relation::{Node, Relation, RelationType};
use yore_core::time::UtcMillis;
use yore_engine::{
    AlikeEntities, AskAnswer, AskRequest, AuditReport, AuditRequest, Brief, BriefRequest, CategoriesRequest, CategoryOutline,
    CategorySummary, CleanedUp, CodeReport, CommandRequest, ConflictPlace, ContextPage, ContextPlace, ContextReading,
    ContextSearch, ContextTree, DeepenRequest, Deepened, DistilReport, Distilled, Done, Engine, EngineError, EpisodeSummary,
    ForgetRequest, ForgetSelection, Forgotten, FoundContexts, FoundInsight, Handoff, HandoffRequest, Held, HeldRequest,
    InsightsRequest, Job, LearnRequest, Learning, LedgerRow, LoggedUse, Material, MaterialRequest, MemoryEdit, MemoryList,
    MergeOffer, NewMemory, NoteSummary, NotesRequest, OpenConflict, OpenedContext, OpenedEntity, OpenedMemory, OutcomesRequest,
    ProjectMerged, ProjectQuery, ProjectSummary, Reached, RememberRequest, Remembered, SessionOutcome, SessionTopics,
    SessionsRequest, Settlement, SharedRequest, SharedTaken, ShowAnswer, ShowRequest, SourceFileSummary, Spent, Statistics,
    StatisticsRequest, StoredMemory, SuggestRequest, Suggestions, TopicsRequest, Touched, Traversal, UpkeepState, Warning,
    WhichVersion,
};
use yore_sources::project_names::ProjectNames;

use crate::engine_handle::MemoryClient;
use crate::error::{CliError, CliResult};
use crate::ipc::wire::reply_line;

/// The effect of a verb on the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Changes nothing but counts of uses, so it may be repeated.
    Reads,
    /// Changes records. If the daemon ends while it answers, the verb is not repeated.
    Writes,
}

/// Declares the verbs. A row has a comment, the access, the name (of the variant, on the wire, and of the method), the arguments, the
/// reply, and the call of the engine.
macro_rules! verbs {
    ($( $(#[$doc:meta])* $access:ident $name:ident($($argument:ident: $type:ty),*) -> $reply:ty => $call:expr; )*) => {
        /// A verb with its arguments.
        #[allow(non_camel_case_types, reason = "a verb has one name: of the variant, on the wire and of the method")]
        #[allow(clippy::large_enum_variant, reason = "it is made, sent and dropped")]
        #[derive(Debug, Deserialize, Serialize)]
        #[serde(tag = "op")]
        pub enum Verb {
            $( $(#[$doc])* $name { $($argument: $type),* }, )*
        }

        impl Verb {
            /// Names of all verbs on the wire.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Returns the name of the verb.
            pub fn name(&self) -> &'static str {
                match self {
                    $( Self::$name { .. } => stringify!($name), )*
                }
            }

            /// Returns what the verb does to the memory.
            pub fn access(&self) -> Access {
                match self {
                    $( Self::$name { .. } => Access::$access, )*
                }
            }

            /// Runs the verb on the daemon's engine; returns the reply as a line.
            pub fn answer(self, engine: &Engine) -> Vec<u8> {
                match self {
                    $( Self::$name { $($argument),* } => reply_line(called::<$reply>(engine, $call)), )*
                }
            }
        }

        impl MemoryClient {
            $(
                $(#[$doc])*
                #[allow(dead_code, reason = "a hook sends some verbs itself, with a patience of its own")]
                pub fn $name(&mut self, $($argument: $type),*) -> CliResult<$reply> {
                    let verb = Verb::$name { $($argument: Clone::clone(&$argument)),* };
                    self.ask(&verb, Access::$access == Access::Reads, $call)
                }
            )*
        }
    };
}

verbs! {
    /// Answers in sentences of the memory.
    Reads ask_in_sentences(request: AskRequest) -> AskAnswer => |engine| engine.ask(&request, None);
    /// Reads a thing at a level.
    Reads deepen(request: DeepenRequest) -> Deepened => |engine| engine.deepen(&request);
    /// Shows a turn or a session.
    Reads show(request: ShowRequest) -> ShowAnswer => |engine| engine.show(&request);
    /// Divides a session into exchanges.
    Reads exchanges(id: String) -> Exchanges => |engine| engine.exchanges(&id);
    /// Lists sessions.
    Reads sessions(request: SessionsRequest) -> Vec<EpisodeSummary> => |engine| engine.sessions(&request);
    /// Returns the session with an id, or the beginning of one; `None` if there is none.
    Reads session(id: String) -> Option<EpisodeSummary> => |engine| engine.session_if_known(&id);
    /// Makes the handoff of a session.
    Reads handoff(request: HandoffRequest) -> Option<Handoff> => |engine| engine.handoff(&request);
    /// Returns the person's last request in each of these sessions.
    Reads asked_last(sessions: Vec<EpisodeId>) -> Vec<Option<String>> => |engine| engine.asked_last(&sessions);
    /// Returns when a part of a session, by the agent's own id, was last read.
    Reads last_read_of(session: String) -> Option<UtcMillis> => |engine| engine.last_read_of(&session);
    /// Audits the instruction files of agents.
    Reads audit(request: AuditRequest) -> AuditReport => |engine| engine.audit(&request);
    /// Lists topics of sessions.
    Reads topics(request: TopicsRequest) -> Vec<SessionTopics> => |engine| engine.topics(&request);
    /// Lists the categories of memories.
    Reads categories(request: CategoriesRequest) -> Vec<CategoryOutline> => |engine| engine.categories(&request);
    /// Returns a category with its summary; `None` if there is none.
    Reads category_summary(request: CategoriesRequest, name: String) -> Option<CategorySummary> =>
        |engine| engine.category_summary(&request, &name);
    /// Returns what sessions took until their first lasting change, and their errors.
    Reads outcomes(request: OutcomesRequest) -> Vec<SessionOutcome> => |engine| engine.outcomes(&request);
    /// Returns what happens again and again in the work of projects.
    Reads insights(request: InsightsRequest) -> Vec<FoundInsight> => |engine| engine.insights(&request);
    /// Finds what happens again and again, and keeps it; returns the number.
    Writes renew_insights() -> u64 => Engine::renew_insights;
    /// Forgets a session, a note or a memory.
    Writes forget(request: ForgetRequest) -> Forgotten => |engine| engine.forget(&request);
    /// Forgets everything that meets conditions.
    Writes forget_selected(selection: ForgetSelection) -> Forgotten => |engine| engine.forget_selected(&selection);

    /// Lists projects.
    Reads projects() -> Vec<ProjectSummary> => Engine::projects;
    /// Lists the names of projects, each once.
    Reads project_names() -> Vec<String> => Engine::project_names;
    /// Finds a project by its directory or name; `None` if there is none.
    Reads find_project(query: ProjectQuery) -> Option<ProjectSummary> => |engine| engine.find_project(&query);
    /// Lists the projects that may be one.
    Reads merge_offers() -> Vec<MergeOffer> => Engine::merge_offers;
    /// Gives a project another name.
    Writes rename_project(project: String, name: String) -> () => |engine| engine.rename_project(&project, &name);
    /// Makes one project part of another; `place`: the names of the other, if it is not known yet.
    Writes merge_projects(from: String, into: String, place: Option<ProjectNames>) -> ProjectMerged =>
        |engine| engine.merge_projects(&from, &into, place.as_ref());
    /// Undoes the last merge, or the last one of a project.
    Writes undo_merge(named: Option<String>) -> ProjectMerged => |engine| engine.undo_merge(named.as_deref());

    /// Counts everything, or what belongs to a project.
    Reads statistics(request: StatisticsRequest) -> Statistics => |engine| engine.statistics(&request);
    /// Lists the files that were read.
    Reads source_files() -> Vec<SourceFileSummary> => Engine::source_files;
    /// Returns whether a unit of a source was read.
    Reads knows_unit(source: String, name: String) -> bool => |engine| Ok(engine.known_unit(&source, &name)?.is_some());
    /// Lists the jobs that were given up.
    Reads dead_jobs(limit: usize) -> Vec<Job> => |engine| engine.dead_jobs(limit);
    /// Retries the failed jobs of one target, or all; returns their number.
    Writes revive_jobs(target: Option<String>) -> usize => |engine| engine.revive_jobs(target.as_deref());

    /// Lists notes.
    Reads notes(request: NotesRequest) -> Vec<NoteSummary> => |engine| engine.notes(&request);
    /// Shows a note.
    Reads note(id: String) -> NoteSummary => |engine| engine.note(&id);
    /// Loads a whole note in one of its versions; the use is counted.
    Reads load_note(id: String, which: WhichVersion) -> NoteSummary => |engine| engine.load_note(&id, which);
    /// Stores a note.
    Writes remember(request: RememberRequest) -> Remembered => |engine| engine.remember(&request);
    /// Returns the directory by which a note from `here` gets its project; `None` if it holds everywhere.
    Reads directory_of_note(here: ProjectNames) -> Option<String> => |engine| engine.directory_of_note(&here);
    /// Lists contexts, after one of them, without their texts.
    Reads contexts(place: ContextPlace, after: Option<(Priority, Option<UtcMillis>, EpisodeId)>, limit: usize, has_previews: bool) -> ContextPage =>
        |engine| engine.contexts(&place, after, limit, has_previews);
    /// Opens the context with a topic; the use is counted.
    Reads open_context(place: ContextPlace, topic: String, reading: ContextReading) -> Option<OpenedContext> =>
        |engine| engine.open_context(&place, &topic, reading);
    /// Finds contexts by a question; the uses are counted.
    Reads find_contexts(place: ContextPlace, search: ContextSearch) -> FoundContexts => |engine| engine.find_contexts(&place, &search);
    /// Returns the contexts around one; the uses are counted.
    Reads context_tree(place: ContextPlace, topic: String, depth: usize, limit: usize, mode: SearchMode) -> Option<ContextTree> =>
        |engine| engine.context_tree(&place, &topic, depth, limit, mode);

    /// Returns when each job of upkeep was done last, and when and why it failed last.
    Reads upkeep() -> Vec<UpkeepState> => Engine::upkeep;
    /// Lists memories that were put away and not changed since a time; unless it is a dry run, forgets them softly.
    Writes clean_up(until: UtcMillis, is_dry_run: bool) -> CleanedUp => |engine| engine.clean_up(until, is_dry_run);

    /// Lists memories.
    Reads memories(list: MemoryList) -> Vec<StoredMemory> => |engine| engine.memories(&list);
    /// Counts the memories of a list, without its limit.
    Reads count_memories(list: MemoryList) -> u64 => |engine| engine.count_memories(&list);
    /// Returns a memory by its id or the beginning of it.
    Reads memory(id: String) -> StoredMemory => |engine| engine.memory(&id);
    /// Opens a memory; the use is counted. `session`: the agent's own id of the session that opens it.
    Reads open_memory(id: String, session: Option<String>) -> OpenedMemory => |engine| engine.open_memory(&id, session.as_deref());
    /// Records a memory.
    Writes add_memory(new: NewMemory, cause: Cause) -> Done => |engine| engine.add_memory(&new, &cause);
    /// Changes a memory, or replaces it by one with other words.
    Writes edit_memory(id: String, edit: MemoryEdit, cause: Cause) -> Done => |engine| engine.edit_memory(&id, &edit, &cause);
    /// Confirms a memory.
    Writes confirm_memory(id: String, cause: Cause) -> Done => |engine| engine.confirm_memory(&id, &cause);
    /// Invalidates a memory.
    Writes invalidate_memory(id: String, reason: Option<String>, cause: Cause) -> Done =>
        |engine| engine.invalidate_memory(&id, reason.as_deref(), &cause);
    /// Pins or unpins a memory.
    Writes pin_memory(id: String, is_pinned: bool, cause: Cause) -> Done => |engine| engine.pin_memory(&id, is_pinned, &cause);
    /// Archives a memory, or takes it out of the archive.
    Writes archive_memory(id: String, is_archived: bool, cause: Cause) -> Done =>
        |engine| engine.archive_memory(&id, is_archived, &cause);
    /// Takes the memories that the repository of a project shares.
    Writes take_shared(request: SharedRequest) -> SharedTaken => |engine| engine.take_shared(&request);
    /// Returns those of some memories that were forgotten for good.
    Reads forgotten_memories(ids: Vec<MemoryId>) -> Vec<MemoryId> => |engine| engine.forgotten_memories(&ids);
    /// Returns what was held at a time, and what began or ended near it.
    Reads held(request: HeldRequest) -> Held => |engine| engine.held(&request);
    /// Returns the things in code that a memory speaks of and that changed since, as the last check found.
    Reads code_verdicts(id: String) -> Vec<AnchorVerdict> => |engine| engine.code_verdicts(&id);
    /// Compares the memories of projects with their working trees; no names: of all projects.
    Writes check_code(projects: Vec<String>) -> CodeReport => |engine| engine.check_code(&projects, &mut || true);

    /// Lists entities.
    Reads entities(limit: usize) -> Vec<Entity> => |engine| engine.entities(limit);
    /// Returns the entity with a whole id; `None` if there is none.
    Reads entity(id: EntityId) -> Option<Entity> => |engine| engine.entity(id);
    /// Returns the entity with a name, as NAME or KIND:NAME.
    Reads entity_named(name: String) -> Entity => |engine| engine.entity_named(&name);
    /// Opens the entity with an id or the beginning of it; `None` if there is none.
    Reads open_entity(id: String) -> Option<OpenedEntity> => |engine| engine.open_entity(&id);
    /// Lists pairs of entities that may be one thing.
    Reads alike_entities(limit: usize) -> Vec<AlikeEntities> => |engine| engine.alike_entities(limit);
    /// Follows relations from a node.
    Reads traverse(start: Node, traversal: Traversal) -> Vec<Reached> => |engine| engine.traverse(&start, &traversal);
    /// Records an entity, or changes the one with its name and kind; also returns the number of the operation.
    Writes put_entity(kind: String, name: String, aliases: Vec<String>, description: Option<String>, cause: Cause) -> (Entity, Option<u64>) =>
        |engine| engine.put_entity(&kind, &name, &aliases, description.as_deref(), &cause);
    /// Gives the user a name.
    Writes name_user(name: String, cause: Cause) -> Option<u64> => |engine| engine.name_user(&name, &cause);
    /// Makes one entity of two.
    Writes merge_entities(from: String, into: String, cause: Cause) -> (Entity, Option<u64>) =>
        |engine| engine.merge_entities(&from, &into, &cause);
    /// Makes two entities of one; the new one gets the relations with `nodes`.
    Writes split_entity(name: String, new: String, nodes: Vec<Node>, cause: Cause) -> (Entity, Option<u64>) =>
        |engine| engine.split_entity(&name, &new, &nodes, &cause);
    /// States a relation.
    Writes relate(from: Node, name: (RelationType, bool), to: Node, weight: f32, reason: Option<String>, cause: Cause) -> (Relation, Option<u64>) =>
        |engine| engine.relate(&from, name, &to, weight, reason.as_deref(), &cause);
    /// Takes a relation back.
    Writes unrelate(from: Node, name: (RelationType, bool), to: Node, cause: Cause) -> Option<u64> =>
        |engine| engine.unrelate(&from, name, &to, &cause);

    /// Lists the conflicts that are not settled, after one of them; no names of projects: of all.
    Reads conflicts(projects: Vec<String>, after: Option<ConflictPlace>, limit: usize) -> Vec<OpenConflict> =>
        |engine| engine.conflicts(&projects, after.as_ref(), limit);
    /// Lists the known memories that a recorded one touches, at most three.
    Reads touches(memory: MemoryId) -> Vec<Touched> => |engine| engine.touches(memory);
    /// Lists the conflicts of a memory that are not settled.
    Reads conflicts_of(id: String) -> Vec<OpenConflict> => |engine| engine.conflicts_of(&id);
    /// Returns the number of conflicts that were put off, and when the first is listed again.
    Reads conflicts_put_off() -> Option<(UtcMillis, usize)> => Engine::conflicts_put_off;
    /// Settles a conflict.
    Writes settle_conflict(first: String, second: String, settlement: Settlement, reason: Option<String>, cause: Cause) -> Done =>
        |engine| engine.settle_conflict(&first, &second, &settlement, reason.as_deref(), &cause);

    /// Lists the latest operations before one, newest first; with `subject` only those that changed it.
    Reads operations(before: Option<u64>, subject: Option<Subject>, limit: usize) -> Vec<Operation> =>
        |engine| engine.operations(before, subject, limit);
    /// Returns an operation with what it changed; `None` if there is none.
    Reads operation(number: u64) -> Option<(Operation, Vec<Change>)> => |engine| engine.operation(number);
    /// Undoes an operation; returns the number of the new one.
    Writes undo(number: u64, cause: Cause) -> u64 => |engine| engine.undo(number, &cause);
    /// Does an operation again that was undone; returns the number of the new one.
    Writes redo(number: u64, cause: Cause) -> u64 => |engine| engine.redo(number, &cause);

    /// Returns the lines of a conversation that wait to be distilled; `None` if none do.
    Reads material(request: MaterialRequest) -> Option<Material> => |engine| engine.material(&request);
    /// Records what an agent found in a conversation.
    Writes record_distilled(distilled: Distilled) -> DistilReport => |engine| engine.record_distilled(&distilled);
    /// Makes a brief on the state of a project.
    Reads brief(request: BriefRequest) -> Brief => |engine| engine.brief(&request);
    /// Returns what is known against a command that is about to run.
    Reads warnings(request: CommandRequest) -> Vec<Warning> => |engine| engine.warnings(&request);
    /// Suggests memories to inject.
    Reads suggest(request: SuggestRequest) -> Suggestions => |engine| engine.suggest(&request);
    /// Counts that memories were given to an agent or a person in a brief.
    Reads count_given(memories: Vec<MemoryId>, session: Option<String>) -> () =>
        |engine| engine.record_memory_uses(&memories, Use::Given, session.as_deref(), None);

    /// Returns the logged uses of memories in sessions, by the agents' own ids of them.
    Reads uses_in(sessions: Vec<String>) -> Vec<LoggedUse> => |engine| engine.uses_in(&sessions);

    /// Returns the day that it is for a clock so many minutes ahead of UTC, in days since 1970.
    Reads day(offset_minutes: i32) -> i64 => |engine| Ok(engine.day(offset_minutes));
    /// Returns what language models took on a day.
    Reads spent_on(day: i64) -> Spent => |engine| engine.spent_on(day);
    /// Returns what language models took since a day, the last day first.
    Reads ledger(since: i64) -> Vec<LedgerRow> => |engine| engine.ledger(since);
    /// Returns what waits for a language model, and what one found.
    Reads learning(request: LearnRequest) -> Learning => |engine| engine.learning(&request);
    /// Returns whether all language models are switched off.
    Reads are_models_off() -> bool => |engine| Ok(engine.are_models_off());
}

fn called<T>(engine: &Engine, call: impl FnOnce(&Engine) -> Result<T, EngineError>) -> CliResult<T> {
    call(engine).map_err(CliError::from)
}
