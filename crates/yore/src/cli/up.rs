use std::path::Path;

use clap::Args;
use yore_core::episode::Role;
use yore_core::memory::Status;
use yore_core::scope::ScopeChoice;
use yore_core::text::{Tokenizer, content_words};
use yore_engine::ingest::{IngestReport, IngestRequest, Silent, SourceRoot};
use yore_engine::{
    Engine, EpisodeSummary, ExtractRequest, MemoryCounts, RecallAnswer, RecallRequest, SessionsRequest, StatisticsRequest,
    SyncReport,
};
use yore_sources::source::{NothingKnown, SOURCES, source_named};

use super::data::scan;
use super::doctor::{fuse, offer_longer_retention, retention_days};
use super::ingest::{self, read_histories};
use super::install::with_machine;
use super::{Context, embed, extract, learn, recall};
use crate::agents::AGENTS;
use crate::engine_handle::may_begin;
use crate::error::{CliError, CliResult, Exit};
use crate::example;
use crate::histories::{default_roots, known_roots};
use crate::install::{Scope, installed};
use crate::ipc::client;
use crate::render::ingest::{summary, unread_agent};
use crate::render::text;
use crate::results::{self, Begun, Ingestion, Project, Recalled, words};

/// Find every history on this computer, and answer a first question
///
/// Run it again at any time: only new text is read. From then on a background process reads new text, unless
/// `daemon.autostart` is off.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Do not run the local model; `yore embed` does it at any time
    #[arg(long)]
    no_embed: bool,
    /// Let agents keep transcripts longer, and look for secrets that older rules missed, without asking (a
    /// copy of agents' settings is kept)
    #[arg(short, long)]
    yes: bool,
}

/// Number of projects that are listed.
const LISTED_PROJECTS: usize = 8;
/// Number of the newest sessions among whose titles a question is looked for.
const LOOKED_AT: usize = 40;
/// Fewest words of that question that say something: a greeting has fewer.
const LEAST_SAID: usize = 3;
/// Maximum number of words of the question that it shows.
const ASKED_WORDS: usize = 16;
/// Maximum number of tokens of the answer that it shows.
const EXAMPLE_TOKENS: usize = 400;

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let roots = default_roots(&context.settings)?;
    let has_files = roots
        .iter()
        .any(|root| source_named(&root.source).is_some_and(|source| !source.discover(&root.path, &NothingKnown).is_empty()));
    if !has_files {
        match context.settings.engine(false) {
            Err(error) if error.code == "store/missing" => return with_example(context),
            // If the memory cannot be opened, do not show the example instead.
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    let engine = context.settings.engine(true)?;
    let (mut report, mut sync, is_answered) = read_newest_first(&engine, &roots, context)?;
    // The archived histories name directories in which agents without a place of their own may have worked.
    let more: Vec<SourceRoot> =
        known_roots(&engine, &context.settings)?.into_iter().filter(|root| !roots.contains(root)).collect();
    if !more.is_empty() {
        let found;
        (found, sync) = read_histories(&engine, more, None, context)?;
        report.merge(found);
    }
    extract_here(&engine, context)?;
    let statistics = engine.statistics(&StatisticsRequest::default())?;
    let answer = if is_answered { None } else { first_answer(&engine, context)? };
    if context.printer.is_json() {
        context.printer.json(&Begun {
            ingestion: Ingestion::of(&report, &sync, false).without(&context.settings.paths.unread_agents()),
            directory: results::path(engine.directory()),
            is_example: false,
            projects: Some(engine.projects()?.iter().map(Project::from).collect()),
            answer: answer.as_ref().map(|(question, answer)| Recalled::exact(question, answer)),
        })?;
        start_daemon(&engine, context);
        offer_longer_retention(arguments.yes, context)?;
        embed::after_reading(&engine, arguments.no_embed, true, context)?;
        context.settings.wake_daemon();
        return Ok(Exit::Success);
    }
    for line in summary(&report, false) {
        context.printer.line(line)?;
    }
    ingest::tell_unread(&report, context)?;
    context.printer.line("")?;
    for agent in &statistics.store.agents {
        let sessions = text::counted(agent.sessions, "session");
        let side = if agent.subagents > 0 {
            format!(", {}", text::counted(agent.subagents, "side conversation"))
        } else {
            String::new()
        };
        context.printer.line(format!(
            "{}{}{}: {sessions}{side}, {}",
            text::BOLD,
            agent.agent,
            text::RESET,
            text::counted(agent.turns, "turn")
        ))?;
    }
    tell_unread(context)?;
    let projects = engine.projects()?;
    let rows: Vec<Vec<String>> = projects
        .iter()
        .take(LISTED_PROJECTS)
        .map(|project| {
            let has_namesake = projects.iter().filter(|other| other.name == project.name).count() > 1;
            vec![
                format!("  {}", text::harmless(&project.name)),
                text::counted(project.sessions, "session"),
                text::counted(project.turns, "turn"),
                format!("last {}", text::day(project.updated)),
                if has_namesake { text::project_place(project) } else { String::new() },
            ]
        })
        .collect();
    context.printer.table(&rows)?;
    if projects.len() > LISTED_PROJECTS {
        context.printer.line(format!("  and {} more", text::count((projects.len() - LISTED_PROJECTS) as u64)))?;
    }
    match engine.merge_offers()?.as_slice() {
        [] => {}
        [offer] => context.printer.line(format!("  {}", text::merge_offer(offer)))?,
        offers => context.printer.line(format!(
            "  the folders of {} projects are gone, and each may go on in another one: `yore projects` lists them",
            offers.len()
        ))?,
    }
    context.printer.line(format!(
        "\nkept in {}: {} for {} of transcripts",
        engine.directory().display(),
        text::bytes(statistics.directory_bytes),
        text::bytes(statistics.store.source_bytes)
    ))?;
    scan::offer(&engine, arguments.yes, context)?;
    tell_retention(&report, &roots, context)?;
    if let Some((question, answer)) = &answer {
        tell_answer(question, answer, context)?;
    }
    tell_memories(&statistics.store.memories, context)?;
    if nobody_is_told(context) {
        context
            .printer
            .line("\nnext: `yore install` connects your agents to it (without a name it only lists what it would do)")?;
    } else {
        context.printer.line("")?;
    }
    context
        .printer
        .line("next: `yore recall \"…\"` searches it; `yore up` again reads what is new; `yore doctor` checks everything")?;
    start_daemon(&engine, context);
    offer_longer_retention(arguments.yes, context)?;
    embed::after_reading(&engine, arguments.no_embed, true, context)?;
    context.settings.wake_daemon();
    learn::offer(context)?;
    Ok(Exit::Success)
}

/// Reads the histories. If there is much of them, the newest sessions come first, and a question is answered before the rest is read; returns
/// whether one was.
fn read_newest_first(
    engine: &Engine,
    roots: &[SourceRoot],
    context: &mut Context,
) -> CliResult<(IngestReport, SyncReport, bool)> {
    // A program that reads the result waits for all of it.
    let bytes = if context.printer.is_json() { 0 } else { context.settings.config().up.newest_mib << 20 };
    let newest = (bytes > 0).then_some(bytes);
    let (first, sync) = read_histories(engine, roots.to_vec(), newest, context)?;
    if first.files_left == 0 {
        return Ok((first, sync, false));
    }
    let (read, left) = (text::counted(first.files_read, "file"), text::count(first.files_left));
    context.printer.line(format!("the newest {read} can be searched; the other {left} are being read"))?;
    let answer = first_answer(engine, context)?;
    if let Some((question, answer)) = &answer {
        tell_answer(question, answer, context)?;
        context.printer.line("")?;
    }
    let (whole, sync) = read_histories(engine, roots.to_vec(), None, context)?;
    Ok((first.followed_by(whole), sync, answer.is_some()))
}

/// Tells how many memories were found, and how to review them.
fn tell_memories(counts: &MemoryCounts, context: &mut Context) -> CliResult<()> {
    if counts.total() == 0 {
        let told = "\nno memories yet: rules found none, `yore learn` has a language model look for them";
        return Ok(context.printer.line(told)?);
    }
    let waiting = counts.statuses.iter().find(|(status, _)| status == Status::Proposed.as_str()).map_or(0, |(_, count)| *count);
    let review =
        if waiting > 0 { format!("; `yore review` settles {} that wait for you", text::count(waiting)) } else { String::new() };
    let found = text::counted(counts.total(), "memory");
    Ok(context.printer.line(format!("\n{found} so far: `yore memories --all` lists them{review}; `yore learn` finds more"))?)
}

/// Names the agents of this computer whose histories are not read.
fn tell_unread(context: &mut Context) -> CliResult<()> {
    let paths = context.settings.paths.clone();
    for agent in paths.unread_agents() {
        context.printer.line(unread_agent(&agent, paths.home.as_deref()))?;
    }
    Ok(())
}

/// Returns whether no agent has yore in its settings.
fn nobody_is_told(context: &Context) -> bool {
    with_machine(context, Scope::User, |machine| Ok(installed(&AGENTS, machine).is_empty())).unwrap_or(false)
}

/// Starts the daemon, which reads agents' new text, unless the settings forbid it.
fn start_daemon(engine: &Engine, context: &Context) {
    if may_begin(context.settings.config()) {
        client::ensure_started(engine.directory());
    }
}

/// Finds memories in what was read, by rules.
fn extract_here(engine: &Engine, context: &mut Context) -> CliResult<()> {
    let config = context.settings.config();
    if !config.extract.enabled {
        return Ok(());
    }
    let request = ExtractRequest { kinds: config.extract.kinds(), continue_on_error: true, ..ExtractRequest::default() };
    let report = extract::with_progress(engine, &request, context)?;
    for failed in &report.failed {
        context.printer.note(format!(
            "note: nothing was extracted from {}: {}",
            failed.session,
            text::harmless(&words::failed(&failed.reason))
        ))?;
    }
    if report.counts.recorded > 0 {
        engine.sync_index(5_000, &mut |_| {})?;
    }
    Ok(())
}

/// Reports how soon the agents would delete what was just archived.
fn tell_retention(report: &IngestReport, roots: &[SourceRoot], context: &mut Context) -> CliResult<()> {
    for source in SOURCES {
        let Some(days) = retention_days(context, source.kind()) else { continue };
        let fuse = fuse(context, source.kind(), days);
        if fuse.files > 0 {
            context.printer.line(format!(
                "{} deletes transcripts after {days} days: {}; {}",
                source.display_name(),
                fuse.sentence(),
                kept(report, source.kind(), roots)
            ))?;
        }
    }
    Ok(())
}

/// Says whether the transcripts of a source are archived now.
fn kept(report: &IngestReport, source: &str, roots: &[SourceRoot]) -> String {
    let roots = roots.iter().filter(|root| root.source == source);
    let places: Vec<_> = roots.flat_map(|root| [root.path.canonicalize().ok(), Some(root.path.clone())]).flatten().collect();
    let is_below = |path: &Path| places.iter().any(|place| path.starts_with(place));
    let unread = report.unread().filter(|(path, _)| is_below(path)).count() as u64;
    if unread > 0 {
        format!("not all are kept here: {} of its files and folders could not be read", text::count(unread))
    } else if report.files_busy > 0 || report.is_cancelled {
        "what was read is kept here now".to_owned()
    } else if report.files_excluded > 0 || report.lines_excluded > 0 {
        "all that your settings allow are kept here now".to_owned()
    } else {
        "all are kept here now".to_owned()
    }
}

/// Returns a question that a recent session answers, and the answer: the title of one of the recent sessions, if the first result comes
/// from that session. Titles that are questions come first, then the sessions with the most turns: other titles may be pasted tasks.
fn first_answer(engine: &Engine, context: &Context) -> CliResult<Option<(String, RecallAnswer)>> {
    if !context.settings.config().up.ask_question {
        return Ok(None);
    }
    let mut sessions = engine.sessions(&SessionsRequest { limit: LOOKED_AT, ..SessionsRequest::default() })?;
    let is_question = |session: &EpisodeSummary| session.title.as_deref().is_some_and(|title| title.trim_end().ends_with('?'));
    sessions.sort_by_key(|session| std::cmp::Reverse((is_question(session), session.turns)));
    let asked = sessions.into_iter().filter(|session| session.title.as_deref().is_some_and(is_askable));
    for session in asked.take(5) {
        let Some(question) = session.title else { continue };
        let mut request: RecallRequest = recall::request(&question, context);
        request.limit = 1;
        request.packing = Some(text::packing(EXAMPLE_TOKENS));
        request.filter.scope = ScopeChoice::All;
        request.filter.roles = vec![Role::Assistant];
        let answer = engine.recall(&request)?;
        if answer.hits.first().is_some_and(|hit| hit.as_turn().is_some_and(|turn| turn.native_session == session.native_id)) {
            return Ok(Some((question, answer)));
        }
    }
    Ok(None)
}

/// Returns whether a person could ask this, and type it between quotation marks: some words of a sentence, not a command, a mark of a
/// list, code or the beginning of something pasted.
fn is_askable(title: &str) -> bool {
    let words = title.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count();
    let is_begun = title.starts_with(char::is_alphanumeric) && !title.ends_with([':', ',', '…']);
    let says = content_words(title, &mut Tokenizer::default()).len();
    (2..=ASKED_WORDS).contains(&words) && says >= LEAST_SAID && is_begun && !title.contains(['"', '`', '$', '\\', '{', '<', '|'])
}

fn tell_answer(question: &str, answer: &RecallAnswer, context: &mut Context) -> CliResult<()> {
    context.printer.line(format!("\nfor example, {}yore recall \"{}\"{}", text::BOLD, text::harmless(question), text::RESET))?;
    let detail = text::Detail::default();
    let told =
        if context.printer.window().is_some() { text::answer_in_window(answer, detail) } else { text::answer(answer, detail) };
    for exchange in told {
        context.printer.line(exchange)?;
    }
    Ok(())
}

/// Without a history on this computer: shows the same on an invented project, in a memory of its own.
fn with_example(context: &mut Context) -> CliResult {
    if !context.settings.config().up.example_when_empty {
        return Err(CliError {
            exit: Exit::Nothing,
            ..CliError::usage("no history of a known agent on this computer", Some("name a path: `yore ingest PATH`"))
        });
    }
    let directory = context.settings.directory.join(example::FOLDER);
    let (engine, report, sync) = read_example(&directory, context)?;
    let mut request = recall::request(example::QUESTION, context);
    request.limit = 3;
    request.packing = Some(text::packing(EXAMPLE_TOKENS));
    request.filter.scope = ScopeChoice::All;
    let answer = engine.recall(&request)?;
    if context.printer.is_json() {
        context.printer.json(&Begun {
            ingestion: Ingestion::of(&report, &sync, false).without(&context.settings.paths.unread_agents()),
            directory: results::path(&directory),
            is_example: true,
            projects: None,
            answer: Some(Recalled::exact(example::QUESTION, &answer)),
        })?;
        return Ok(Exit::Success);
    }
    context.printer.line("no history of a known agent was found on this computer")?;
    tell_unread(context)?;
    context.printer.line("so this is an invented example project, kept apart from your own memory:\n")?;
    for line in summary(&report, false) {
        context.printer.line(line)?;
    }
    tell_answer(example::QUESTION, &answer, context)?;
    context
        .printer
        .line(format!("\nnext: ask it more with `yore --no-daemon --data-dir \"{}\" recall \"…\"`,", directory.display()))?;
    context.printer.line("or read your own transcripts with `yore ingest PATH`")?;
    Ok(Exit::Success)
}

/// Reads the example project into a memory of its own.
pub fn read_example(directory: &Path, context: &Context) -> CliResult<(Engine, IngestReport, SyncReport)> {
    let sources = directory.join("transcripts");
    for (name, content) in example::TRANSCRIPTS {
        let path = sources.join("projects").join(name);
        if let Some(parent) = path.parent() {
            yore_engine::platform::create_private_directory(parent).map_err(|error| CliError::io(parent, &error))?;
        }
        crate::config::replace_file(&path, content).map_err(|error| CliError::io(&path, &error))?;
    }
    let engine = crate::engine_handle::open(directory, true, context.settings.config(), context.settings.models())?;
    let report =
        engine.ingest(&IngestRequest::new(vec![SourceRoot { source: "claude-code".to_owned(), path: sources }]), &mut Silent)?;
    let sync = engine.sync_index(5_000, &mut |_| {})?;
    Ok((engine, report, sync))
}

#[cfg(test)]
mod tests {
    use super::is_askable;

    #[test]
    fn the_example_is_a_question_that_a_person_could_ask() {
        for asked in ["Uploader stops after the first album", "why did we move the cache out of redis?", "Fix the login bug"] {
            assert!(is_askable(asked), "{asked}");
        }
        for other in [
            "Implement the following plan:",
            "/clear",
            "<command-name>",
            "[Image #1] look",
            "- a list",
            "```rust",
            "say \"hello\" to $HOME",
            "ok",
            "2026-01-01 10:00:00 12",
        ] {
            assert!(!is_askable(other), "{other}");
        }
        assert!(!is_askable(&"word ".repeat(20)));
    }
}
