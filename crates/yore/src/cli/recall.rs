use std::io::Read;
use std::time::Duration;

use clap::Args;
use yore_core::episode::{EpisodeKind, Role};
use yore_core::memory::dynamics::Tier;
use yore_core::memory::{MemoryKind, Status};
use yore_core::query::{AnswerKind, Filter, MemoryConditions, MissingCode, Wanted};
use yore_core::scope::ScopeChoice;
use yore_core::strength::Strength;
use yore_core::time::UtcMillis;
use yore_engine::{Anchor, Missing, RecallAnswer, RecallRequest, Withheld};
use yore_sources::source::{SOURCES, source_named};

use super::memories::{kind, share, status, tier};
use super::{Context, team_sessions};
use crate::config::RecallEmbedder;
use crate::error::{CliError, CliResult, Exit};
use crate::recall_request::{self, KINDS, ROLES};
use crate::render::plain::one_line;
use crate::render::spoken::UNKNOWN_PROJECT;
use crate::render::{text, view};
use crate::results::{Recalled, words};
use crate::shared::refresh::{about, unaccepted};

/// Find what was said, and where
///
/// Any text is a question: words, an error message, a path. "Quoted words" are looked for as a phrase.
/// Additional wordings (likely names, files, a guess of the answer) find far more. Searches the current
/// project unless told otherwise, and everything if the directory belongs to no known project (with
/// recall.scope = "project" it then searches nothing).
#[derive(Args, Debug)]
pub struct Arguments {
    /// The question; `-` reads it from standard input, `--` goes before one that begins with a dash
    #[arg(value_name = "QUESTION", required_unless_present = "file")]
    question: Vec<String>,
    /// Another way in which the answer may have been said; with some, quotation marks mean nothing
    #[arg(short, long, value_name = "WORDS", allow_hyphen_values = true)]
    wording: Vec<String>,
    #[command(flatten)]
    filter: FilterArguments,
    /// The kind of answer, instead of the one that the question seems to want; "passages" is what was said
    #[arg(long = "as", value_name = "KIND", value_parser = answer_kind)]
    answer_kind: Option<AnswerKind>,
    /// At most N results, or rows of an answer in kind
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_LISTED as i64))]
    limit: Option<u32>,
    /// At most N tokens of text; --json has quotes of equal length unless this is given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=20_000))]
    budget: Option<u32>,
    /// Leave out what is less likely than P (0 to 1) to bear on the question; 0 shows everything
    #[arg(long, value_name = "P", value_parser = probability)]
    min_confidence: Option<f32>,
    /// Search what the team of this project said in sessions, on its server, instead of your own memory
    #[arg(long, conflicts_with_all = ["files", "work", "topics"])]
    team: bool,
    /// Show the files that agents opened when this was worked on, best first, in place of what was said
    #[arg(long)]
    files: bool,
    /// Show what was done about each result: files changed and read, the command that worked, the outcome
    #[arg(long)]
    work: bool,
    /// Show the topics in which the results lie, and those that are most similar to the question
    #[arg(long, conflicts_with = "files")]
    topics: bool,
    /// Answer within N milliseconds; what there is no time for is left out and named
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=600_000))]
    deadline: Option<u32>,
    /// Show file, branch and title of each result
    #[arg(long)]
    paths: bool,
    /// The vectors that are used beside the words
    #[arg(long, value_enum, value_name = "EMBEDDER")]
    embedder: Option<RecallEmbedder>,
    /// Show the parts of each score
    #[arg(long)]
    explain: bool,
}

/// Filter for the turns and memories that may answer.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct FilterArguments {
    /// Only this project: name, id or directory
    #[arg(short, long, value_name = "PROJECT", value_parser = crate::cli::project)]
    project: Vec<String>,
    /// Search all projects
    #[arg(short, long, conflicts_with = "project")]
    all: bool,
    /// Only this branch, as recorded
    #[arg(long, value_name = "BRANCH")]
    branch: Vec<String>,
    /// Only this session and its side conversations
    #[arg(short, long, value_name = "ID")]
    session: Vec<String>,
    /// Only this agent's histories
    #[arg(long, value_name = "AGENT")]
    agent: Vec<String>,
    /// Only turns of this role
    #[arg(long, value_name = "ROLE", value_parser = ROLES)]
    role: Vec<String>,
    /// Only what was said in this kind of session
    #[arg(long, value_name = "KIND", value_parser = KINDS)]
    kind: Vec<String>,
    /// Not before this time: a date, RFC 3339, or words such as "last week" (its beginning)
    #[arg(long, value_name = "TIME", value_parser = recall_request::time)]
    since: Option<UtcMillis>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = recall_request::time)]
    until: Option<UtcMillis>,
    /// As it was known at this time; of a day or another period, at its end
    #[arg(long, value_name = "TIME", value_parser = recall_request::as_of)]
    as_of: Option<UtcMillis>,
    /// Only errors that tools reported
    #[arg(long)]
    errors: bool,
    /// Only messages with a code block
    #[arg(long)]
    code: bool,
    /// Only turns that touch or name this file: its name, or the end of its path. Without a question: what is known about the file
    #[arg(long, value_name = "FILE")]
    file: Vec<String>,
    /// Only messages with code in this language
    #[arg(long, value_name = "LANGUAGE")]
    language: Vec<String>,
    /// Only memories
    #[arg(long, conflicts_with = "turns")]
    memories: bool,
    /// Only what was said, no memories
    #[arg(long)]
    turns: bool,
    /// Only memories of this kind; may be repeated
    #[arg(long, value_name = "KIND", value_parser = kind)]
    memory_kind: Vec<MemoryKind>,
    /// Only memories with this status [default: all but archived]
    #[arg(long, value_name = "STATUS", value_parser = status)]
    memory_status: Vec<Status>,
    /// Only memories of this tier: active, warm, cool, cold, frozen; may be repeated
    #[arg(long, value_name = "TIER", value_parser = tier)]
    memory_tier: Vec<Tier>,
    /// Only memories with at least this decay score, 0 to 1
    #[arg(long, value_name = "SCORE", value_parser = share)]
    least_decay: Option<f32>,
    /// Only memories with this tag; may be repeated to accept any of several
    #[arg(long, value_name = "TAG")]
    memory_tag: Vec<String>,
    /// Only memories about this entity; may be repeated to accept any of several
    #[arg(long, value_name = "NAME")]
    entity: Vec<String>,
    /// Only memories that were true at this time, as far as is known
    #[arg(long, value_name = "TIME", value_parser = recall_request::time)]
    valid_at: Option<UtcMillis>,
}

impl FilterArguments {
    /// Returns whether a condition is one that only memories can meet.
    fn asks_for_memories(&self) -> bool {
        let lists = [self.memory_tag.is_empty(), self.entity.is_empty()];
        !self.memory_kind.is_empty() || !self.memory_status.is_empty() || lists.contains(&false)
    }

    /// Returns whether no condition but those on times is set.
    fn is_of_time(&self) -> bool {
        let others = Self { since: None, until: None, as_of: None, ..self.clone() };
        others == Self::default()
    }

    /// Checks the names that clap cannot.
    ///
    /// # Errors
    /// An agent is unknown.
    pub fn check(&self) -> CliResult<()> {
        let Some(unknown) = self.agent.iter().find(|agent| source_named(agent).is_none()) else { return Ok(()) };
        let known: Vec<&str> = SOURCES.iter().map(|source| source.kind()).collect();
        let told = format!("there is no agent {unknown:?}; expected one of {}", known.join(", "));
        Err(CliError::usage(told, Some("`yore status --sources` lists what was read")))
    }

    /// Returns the filter, with the configured scope if no project is named.
    pub fn filter(&self, configured: ScopeChoice) -> Filter {
        Filter {
            scope: match (self.project.is_empty(), self.all) {
                (false, _) => ScopeChoice::Projects(self.project.clone()),
                (true, true) => ScopeChoice::All,
                (true, false) => configured,
            },
            branches: self.branch.clone(),
            sessions: self.session.clone(),
            agents: self.agent.clone(),
            roles: self.role.iter().filter_map(|role| Role::parse(role)).collect(),
            kinds: self.kind.iter().filter_map(|kind| EpisodeKind::parse(kind)).collect(),
            since: self.since,
            until: self.until,
            as_of: self.as_of,
            only_errors: self.errors,
            has_code: self.code,
            files: self.file.clone(),
            languages: self.language.clone(),
            wanted: match (self.memories || self.asks_for_memories(), self.turns) {
                (_, true) => Wanted::Turns,
                (true, false) => Wanted::Memories,
                (false, false) => Wanted::Both,
            },
            memories: MemoryConditions {
                kinds: self.memory_kind.clone(),
                statuses: self.memory_status.clone(),
                tags: self.memory_tag.clone(),
                entities: self.entity.clone(),
                valid_at: self.valid_at,
                tiers: self.memory_tier.clone(),
                least_decay: self.least_decay,
            },
        }
    }
}

/// Most results, or rows of an answer in kind.
const MOST_LISTED: usize = 1_000;
/// Most characters of the rows of an answer in kind; in a window, where more are a matter of `-n`.
const VIEW_CHARS: usize = 2_400;
const WINDOW_CHARS: usize = 1_200;
/// Number of turns whose exchanges vote for files.
const FILES_FROM: usize = 20;

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let is_of_file = arguments.question.is_empty();
    let question = if is_of_file { arguments.filter.file.join(" ") } else { question(&arguments.question)? };
    arguments.filter.check()?;
    let mut request = request(&question, context);
    request.wordings.clone_from(&arguments.wording);
    request.answer_kind = arguments.answer_kind.or(is_of_file.then_some(AnswerKind::Overview));
    request.with_titles = context.printer.window().is_some();
    request.filter = arguments.filter.filter(request.filter.scope);
    if let Some(limit) = arguments.limit {
        request.limit = limit as usize;
    }
    if let Some(embedder) = arguments.embedder {
        request.mode = embedder.mode();
    }
    let budget = arguments.budget.map(|budget| budget as usize);
    let usual = (!context.printer.is_json()).then(|| context.settings.config().recall.budget);
    request.packing = budget.or(usual).map(text::packing);
    request.min_confidence = arguments.min_confidence;
    request.with_files = arguments.files;
    request.with_work = arguments.work;
    request.with_topics = arguments.topics;
    request.deadline = arguments.deadline.map(|millis| Duration::from_millis(u64::from(millis)));
    if arguments.files && arguments.limit.is_none() {
        request.limit = request.limit.max(FILES_FROM);
    }
    if arguments.team {
        if !arguments.filter.is_of_time() {
            let message = "with --team, results can be limited by --since, --until and --as-of only";
            return Err(CliError::usage(message, Some("it searches the sessions that members share of this project")));
        }
        request.packing = Some(text::packing(budget.unwrap_or(context.settings.config().recall.budget)));
        return team_sessions::recall(&request, context);
    }
    let may_be_full = match arguments.embedder {
        Some(embedder) => embedder == RecallEmbedder::Auto,
        None => context.settings.may_be_full(),
    };
    let mut memory = context.settings.memory()?;
    let mut answer = memory.recall(&request, may_be_full)?;
    if let (Some(most), Some(view)) = (arguments.limit.map(|limit| limit as usize), &mut answer.view) {
        view.rows.truncate(most);
        if view.kind == AnswerKind::Work {
            view.total = view.rows.len();
        }
        answer.hits.truncate(most - view.rows.len());
    }
    if context.printer.is_json() {
        context.printer.json(&Recalled::exact(&question, &answer))?;
    } else {
        if arguments.files {
            for file in &answer.files {
                context.printer.line(text::file(file))?;
            }
            let is_late = answer.missing.iter().any(|missing| missing.code == MissingCode::Late);
            if answer.files.is_empty() && !answer.hits.is_empty() && !is_late {
                context.printer.note("no agent opened a file in what was found")?;
            }
        } else {
            if let Some(view) = &answer.view {
                let most = match (context.printer.window(), arguments.limit) {
                    (None, None) => VIEW_CHARS,
                    (Some(_), None) => WINDOW_CHARS,
                    (_, Some(_)) => usize::MAX,
                };
                let rows = view::rows(view, most);
                let all = match (view.kind, view.is_widened) {
                    (_, true) => view.rows.len(),
                    (AnswerKind::Work, _) if view.subject.is_empty() => view.all,
                    _ => view.total,
                };
                // An empty period leaves nothing out.
                let left = if rows.is_empty() { 0 } else { all.saturating_sub(rows.len()) };
                context.printer.line(view::heading(view, rows.len()))?;
                for row in rows {
                    context.printer.line(row)?;
                }
                if left > 0 {
                    let (dim, reset) = context.printer.window().map_or(("", ""), |_| (text::DIM, text::RESET));
                    context.printer.line(format!("{dim}and {left} more: -n {}{reset}", all.min(MOST_LISTED)))?;
                }
                let is_beside = !view.rows.is_empty() && !answer.hits.is_empty();
                context.printer.line(if is_beside { "\nWhat was said about it:" } else { "" })?;
            }
            let detail = text::Detail { explain: arguments.explain, paths: arguments.paths };
            let told = match context.printer.window() {
                Some(_) => text::answer_in_window(&answer, detail),
                None => text::answer(&answer, detail),
            };
            for exchange in told {
                context.printer.line(exchange)?;
            }
            if let Some(more) = text::more(&answer).filter(|_| request.packing.is_some()) {
                context.printer.line(format!("{more}; yore show ID --level related"))?;
            }
            if let Some(files) = text::files_line(&answer.files) {
                context.printer.line(files)?;
            }
            for line in text::topic_lines(&answer.topics) {
                context.printer.line(line)?;
            }
            tell_unaccepted(&question, context)?;
        }
        if arguments.explain {
            let [plan, land, trace] = answer.micros;
            context.printer.line(format!(
                "\nasks for: {}{}; looked up: {}{}\nconfidence {:.3}: nearness {}, cover {:.2} of {} terms\n{}; {} turns landed; plan {plan} µs, lists {land} µs, words {trace} µs",
                answer.asked_for.as_str(),
                answer.periods.iter().map(|period| format!(", {} ({} found)", text::period(period), period.found)).collect::<String>(),
                answer.terms.join(" "),
                entities(&answer),
                answer.confidence,
                answer.evidence.nearness.map_or_else(|| "not searched".to_owned(), |nearness| format!("{nearness:.2}")),
                answer.evidence.cover,
                answer.evidence.terms,
                answer.mode.as_str(),
                answer.landed
            ))?;
        }
    }
    let has_heading = answer.view.is_some();
    for period in answer.periods.iter().filter(|period| period.found == 0 && !has_heading) {
        context.printer.note(format!("note: nothing was found {}", text::period(period)))?;
    }
    // With "auto", the daemon makes the few vectors that lack.
    let is_told = |missing: &&Missing| !(may_be_full && missing.code == MissingCode::Vectors);
    for missing in answer.missing.iter().filter(is_told) {
        context.printer.note(format!("note: {}; {}", text::harmless(&missing.text), words::remedy(missing)))?;
    }
    let is_poor = answer.hits.is_empty() || Strength::of(answer.confidence) == Strength::Weak;
    if is_poor && !context.printer.is_json() && team_sessions::is_shared_here(context) {
        context.printer.note("note: --team asks what colleagues said in sessions")?;
    }
    let has_rows = answer.view.as_ref().is_some_and(|view| !view.rows.is_empty());
    if is_of_file && answer.hits.is_empty() && !has_rows && !context.printer.is_json() {
        context
            .printer
            .note(format!("no session is known that opened {}, and no memory speaks of it", text::harmless(&question)))?;
    } else if answer.is_project_unknown || answer.hits.is_empty() && !has_heading && !context.printer.is_json() {
        context.printer.note(nothing_found(&answer))?;
    } else if Strength::of(answer.confidence) == Strength::Weak && !has_rows && !context.printer.is_json() {
        context.printer.note(weak(&answer, arguments.wording.is_empty()))?;
    }
    Ok(if answer.hits.is_empty() && !has_rows { Exit::Nothing } else { Exit::Success })
}

/// Joins the words of a question; `-` reads it from standard input.
///
/// # Errors
/// It cannot be read, or it is empty.
pub fn question(words: &[String]) -> CliResult<String> {
    let mut question = words.join(" ");
    if question == "-" {
        question.clear();
        std::io::stdin()
            .lock()
            .take(1 << 20)
            .read_to_string(&mut question)
            .map_err(|error| CliError::usage(format!("cannot read the question: {error}"), None))?;
    }
    if question.trim().is_empty() {
        return Err(CliError::usage("the question is empty", Some("`yore recall \"words to look for\"`")));
    }
    Ok(question)
}

/// Returns the entities from which relations were followed, with their shares.
fn entities(answer: &RecallAnswer) -> String {
    let told = |anchor: &Anchor| format!("{} {:.2}", text::harmless(&anchor.name), anchor.weight);
    let told: Vec<String> = answer.anchors.iter().map(told).collect();
    if told.is_empty() { String::new() } else { format!("; followed from {}", told.join(", ")) }
}

fn nothing_found(answer: &RecallAnswer) -> String {
    if answer.is_project_unknown {
        return format!("nothing was searched: {UNKNOWN_PROJECT}");
    }
    let mut told = if answer.is_refused { "nothing that bears on it" } else { "no matches" }.to_owned();
    if answer.projects.is_empty() {
        told.push_str(&format!(" in any project; looked through {}", text::counted(answer.indexed, "turn")));
    } else {
        let names: Vec<String> = answer.projects.iter().map(|name| text::harmless(name)).collect();
        told.push_str(&format!(" in project {} (--all asks every project)", names.join(", ")));
    }
    told.push_str(&never_met(answer));
    told.extend(withheld(answer).map(|withheld| format!("; {withheld}")));
    if answer.is_refused {
        told.push_str(&format!("; --min-confidence 0 shows what is nearest (confidence {:.2})", answer.confidence));
    }
    told
}

/// Returns which conditions let nothing through, and how many results there are without each.
fn withheld(answer: &RecallAnswer) -> Option<String> {
    let option = |name: &String| format!("--{}", name.replace('_', "-"));
    let told = |withheld: &Withheld| {
        let names: Vec<String> = withheld.filters.iter().map(option).collect();
        format!("{} removed {}", names.join(" with "), text::counted(withheld.count as u64, "result"))
    };
    let told: Vec<String> = answer.withheld.iter().map(told).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Returns a line about an answer with weak evidence.
fn weak(answer: &RecallAnswer, is_unworded: bool) -> String {
    let hint = if is_unworded { "; other wordings of the question (-w) find more" } else { "" };
    format!("weak evidence (confidence {:.2}){}{hint}", answer.confidence, never_met(answer))
}

fn never_met(answer: &RecallAnswer) -> String {
    if answer.unmet.is_empty() {
        return String::new();
    }
    let words: Vec<String> = answer.unmet.iter().map(|word| text::harmless(word)).collect();
    format!("; never met: {}", words.join(", "))
}

fn answer_kind(name: &str) -> Result<AnswerKind, String> {
    let known = || AnswerKind::ALL.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
    AnswerKind::ALL
        .iter()
        .copied()
        .find(|kind| kind.as_str() == name.replace('-', "_"))
        .ok_or_else(|| format!("expected one of {}", known()))
}

fn probability(text: &str) -> Result<f32, &'static str> {
    text.parse().ok().filter(|value| (0.0..=1.0).contains(value)).ok_or("expected a number from 0 to 1")
}

/// Returns a request for the passages that answer a question, with the configured settings.
pub fn request(question: &str, context: &Context) -> RecallRequest {
    recall_request::request(question, context.settings.config(), context.settings.project_here())
}

/// Tells what people share here about the question whom the person has not accepted, after everything else.
fn tell_unaccepted(question: &str, context: &mut Context) -> CliResult<()> {
    let Some(here) = context.settings.here.as_deref().filter(|_| context.settings.config().share.read) else { return Ok(()) };
    let shared = unaccepted(&context.settings.directory, here);
    let about = about(&shared, question);
    if !about.is_empty() {
        context.printer.line("\nShared in this repository, not accepted by you (`yore share accept`):")?;
    }
    for one in about {
        let author = one.author.as_deref().map_or_else(|| "somebody".to_owned(), text::harmless);
        let commit = one.commit.as_deref().map(|commit| format!(" in {commit}")).unwrap_or_default();
        let (kind, statement) = (one.kind.replace('_', "-"), one_line(&one.statement));
        context.printer.line(format!("  {kind}, by {author}{commit}: {statement}"))?;
    }
    Ok(())
}
