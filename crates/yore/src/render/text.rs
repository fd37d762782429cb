//! Formats turns, sessions and hits for people.

use yore_core::episode::{FileAction, Role};
use yore_core::exchange::Exchange;
use yore_core::files::RankedFile;
use yore_core::note::{NoteFacts, NoteKind};
use yore_core::pack::LEAST_GAIN;
use yore_core::strength::Strength;
use yore_core::time::UtcMillis;
use yore_engine::{
    AnswerTopic, ExchangeHits, Found, Hit, MergeOffer, NoteSummary, Packing, Passage, ProjectSummary, RecallAnswer, Said,
    SearchedPeriod, ShownTurn, WorkDone, exchanges,
};

use super::memories;
use super::plain::one_line;
pub use super::plain::{ago, bytes, count, counted, day, exact_time, harmless, indent, is_unsafe, table, time, visible, widths};
use crate::results::{self, is_document};

/// Escape sequence for red. The stream removes all escape sequences where colours are not shown.
pub const RED: &str = "\x1b[31m";
/// See [`RED`].
pub const GREEN: &str = "\x1b[32m";
/// See [`RED`].
pub const YELLOW: &str = "\x1b[33m";
/// See [`RED`].
pub const CYAN: &str = "\x1b[36m";
/// See [`RED`].
pub const BOLD: &str = "\x1b[1m";
/// See [`RED`].
pub const DIM: &str = "\x1b[2m";
/// See [`RED`].
pub const RESET: &str = "\x1b[0m";

/// Returns the most telling name by which a project is recognised: its remote, or else a directory.
pub fn project_place(project: &ProjectSummary) -> String {
    let remote = project.aliases.iter().find(|(kind, _)| kind == "remote");
    remote.or(project.aliases.first()).map(|(_, value)| harmless(value)).unwrap_or_default()
}

/// Returns the sentence that proposes to merge two projects, with the command.
pub fn merge_offer(offer: &MergeOffer) -> String {
    let (name, directory) = (harmless(&offer.name), harmless(&offer.directory));
    let reason = if offer.is_same_commit {
        "which begins with the same commit, may be its new folder"
    } else {
        "which has the same name, may be the same project"
    };
    let (from, into) = (harmless(&offer.from), quoted(&harmless(&offer.into)));
    format!(
        "the folder of project {name} is gone ({directory}); {into}, {reason}: `yore projects merge {from} {into}` joins them"
    )
}

/// Encloses an argument that holds blanks in quotation marks.
fn quoted(argument: &str) -> String {
    if argument.contains(char::is_whitespace) { format!("\"{argument}\"") } else { argument.to_owned() }
}

/// Formats a period that a question names by its first and last day, as in `from 2026-01-19 to 2026-01-25`.
pub fn period(period: &SearchedPeriod) -> String {
    match (period.start, period.end) {
        (UtcMillis::MIN, end) => format!("before {}", day(Some(end))),
        (start, UtcMillis::MAX) => format!("after {}", day(Some(start))),
        (start, end) => format!("from {} to {}", day(Some(start)), day(Some(end.saturating_sub(1)))),
    }
}

/// Formats a version of a note as lines: a head, its title, its labels and its text.
pub fn note(note: &NoteSummary) -> Vec<String> {
    let by = if note.is_by_agent { "an agent" } else { "you" };
    let until = note.until.map(|until| format!(", replaced {}", day(Some(until)))).unwrap_or_default();
    let head = format!("note {}, version {} by {by}, {}{until}", note.episode.short(), note.version, day(note.at));
    let title = note.facts.title.iter().map(|title| harmless(title));
    let labels = labels(note).iter().map(|label| format!("#{}", harmless(label))).collect::<Vec<_>>().join(" ");
    let mut lines = vec![format!("{DIM}{head}{RESET}")];
    lines.extend(title);
    lines.extend((!labels.is_empty()).then_some(labels));
    lines.push(harmless(&note.text));
    lines
}

/// Returns the labels of a note, sorted: its tags, its kind unless it is a plain note, its priority, and
/// `unconfirmed` if no person agreed to it.
pub fn labels(note: &NoteSummary) -> Vec<String> {
    let NoteFacts { kind, tags, priority, is_confirmed, .. } = &note.facts;
    let mut labels = tags.clone();
    labels.extend((*kind != NoteKind::Note).then(|| kind.as_str().to_owned()));
    labels.extend(priority.map(|priority| format!("priority:{}", priority.as_str())));
    labels.extend((!is_confirmed).then(|| "unconfirmed".to_owned()));
    labels.sort();
    labels
}

/// Returns the speaker of a turn as a word, and why nothing is learned from it, if that is so.
pub fn speaker(turn: &ShownTurn) -> String {
    let role = match turn.role {
        _ if is_document(turn) => results::role_of(turn),
        Role::ToolResult if turn.is_error => "tool error",
        role => speaker_of(role),
    };
    let who = turn.speaker.as_ref().map_or_else(|| role.to_owned(), |name| harmless(name));
    turn.caveat.map_or_else(|| who.clone(), |caveat| format!("{who}, {}", caveat.words()))
}

fn speaker_of(role: Role) -> &'static str {
    match role {
        Role::Human => "you",
        Role::Assistant => "assistant",
        Role::ToolCall => "tool call",
        Role::ToolResult => "tool result",
        Role::System => "system",
        Role::Summary => "summary",
        Role::Injected => "injected",
    }
}

/// Returns the room for the passages of an answer of this number of tokens.
pub fn packing(budget: usize) -> Packing {
    Packing { budget, group_cost: 36, hit_cost: 24, broad: 0, least_gain: LEAST_GAIN }
}

/// Facts that are told beside the words of a result.
#[derive(Clone, Copy, Default)]
pub struct Detail {
    /// The parts of its score.
    pub explain: bool,
    /// Its file, branch and title.
    pub paths: bool,
}

/// Formats the passages of a recall for a person's terminal: each exchange below a line with its day, project and title, and a blank
/// line between two.
pub fn answer_in_window(answer: &RecallAnswer, detail: Detail) -> Vec<String> {
    let names_project = answer.projects.len() != 1;
    let title_of = |passage: &Passage<'_>| {
        let Passage::Hit(hit) = passage else { return None };
        let turn = hit.as_turn()?;
        let session = answer.sessions.iter().find(|session| session.episode == turn.episode);
        session.and_then(|session| session.title.clone()).or_else(|| turn.title.clone())
    };
    let text_of = |(at, exchange): (usize, ExchangeHits<'_>)| {
        let project = exchange.head.project.as_ref().filter(|_| names_project).map(|project| harmless(project));
        let title = exchange.passages.iter().find_map(title_of).map(|title| one_line(&title));
        let place: Vec<String> = std::iter::once(day(exchange.head.time.utc)).chain(project).chain(title).collect();
        let lines = exchange.passages.iter().map(|said| match said {
            Passage::Hit(hit) => result(hit, "", detail),
            Passage::Beside(said) => beside(exchange.head, said, ""),
        });
        let work = exchange.head.work.iter().flat_map(|work| work_lines(work)).map(|line| format!("  {DIM}{line}{RESET}"));
        let told = std::iter::once(format!("{CYAN}{}{RESET}", place.join(" · "))).chain(lines).chain(work);
        let told = told.collect::<Vec<_>>().join("\n");
        if at > 0 { format!("\n{told}") } else { told }
    };
    exchanges(answer.hits.iter()).into_iter().enumerate().map(text_of).collect()
}

/// Formats the passages of a recall, an exchange at a time.
pub fn answer(answer: &RecallAnswer, detail: Detail) -> Vec<String> {
    let names_project = answer.projects.len() != 1;
    let text_of = |exchange: ExchangeHits<'_>| {
        let project = exchange.head.project.as_ref().filter(|_| names_project);
        let project = project.map(|project| format!(" {CYAN}{}{RESET}", harmless(project))).unwrap_or_default();
        let lines = exchange.passages.iter().enumerate().map(|(at, said)| {
            // The day and the project are those of the whole exchange.
            let place = |utc| if at == 0 { format!(" {DIM}{}{RESET}{project}", day(utc)) } else { String::new() };
            match said {
                Passage::Hit(hit) => result(hit, &place(hit.time.utc), detail),
                Passage::Beside(said) => beside(exchange.head, said, &place(said.at)),
            }
        });
        let work = exchange.head.work.iter().flat_map(|work| work_lines(work)).map(|line| format!("  {DIM}{line}{RESET}"));
        lines.chain(work).collect::<Vec<_>>().join("\n")
    };
    exchanges(answer.hits.iter()).into_iter().map(text_of).collect()
}

/// Most ids of results that say little that is new.
const MOST_MORE: usize = 3;

/// Returns how many results have no passage, because they say little that is new or the budget has no room, with the first ids.
pub fn more(answer: &RecallAnswer) -> Option<String> {
    let is_left = |hit: &&Hit| hit.quote.is_empty() && hit.beside.is_empty();
    let left: Vec<String> = answer.hits.iter().filter(is_left).map(|hit| format!("[{}]", hit.id().short())).collect();
    let named = left[..left.len().min(MOST_MORE)].join(" ");
    (!left.is_empty()).then(|| format!("{}: {named}", counted(left.len() as u64, "more result")))
}

/// Number of files that a line names.
const NAMED_FILES: usize = 6;

/// Formats a file that was opened when something was worked on.
pub fn file(file: &RankedFile) -> String {
    let times = |count: usize, what: &str| if count > 0 { format!("  {DIM}{what} {count}×{RESET}") } else { String::new() };
    format!("{}{}{}", harmless(&file.path), times(file.written, "changed"), times(file.read, "read"))
}

/// Returns a line with the first files that were opened when something was worked on, if there are any.
pub fn files_line(files: &[RankedFile]) -> Option<String> {
    let named: Vec<String> = files.iter().take(NAMED_FILES).map(|file| harmless(&file.path)).collect();
    (!named.is_empty()).then(|| format!("files opened then: {}", named.join(", ")))
}

/// Returns a line for each topic of an answer.
pub fn topic_lines(topics: &[AnswerTopic]) -> Vec<String> {
    let line = |topic: &AnswerTopic| {
        let ranks: Vec<String> = topic.hits.iter().map(usize::to_string).collect();
        let why = match topic.similarity {
            Some(similarity) => format!("like the question ({similarity:.2})"),
            None => format!("{} {}", if ranks.len() == 1 { "result" } else { "results" }, ranks.join(", ")),
        };
        let place = format!("{} · {}", time(topic.started), counted(topic.exchanges.into(), "exchange"));
        format!("topic [{}] {} · {place} · {why}", topic.turn.short(), one_line(&topic.name))
    };
    topics.iter().map(line).collect()
}

/// Returns a line for each kind of thing that was done in an exchange.
pub fn work_lines(work: &WorkDone) -> Vec<String> {
    let named = |what: &str, files: &[String]| {
        let shown: Vec<String> = files.iter().take(NAMED_FILES).map(|file| harmless(file)).collect();
        let more = files.len().saturating_sub(NAMED_FILES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!shown.is_empty()).then(|| format!("{what}: {}{more}", shown.join(", ")))
    };
    let told = |what: &str, words: &Option<String>| words.as_ref().map(|words| format!("{what}: {}", one_line(words)));
    let lines = [
        named("changed", &work.changed),
        named("read", &work.read),
        told("worked", &work.command),
        told("outcome", &work.outcome),
    ];
    lines.into_iter().flatten().collect()
}

/// Formats a passage of a turn beside a result.
fn beside(head: &Hit, said: &Said, place: &str) -> String {
    let speaker = match head.as_turn().filter(|turn| is_document(turn)) {
        Some(turn) => results::role_of(turn),
        None => speaker_of(said.role),
    };
    format!("[{}] {speaker}{place}\n{}", said.turn.short(), indent(&harmless(&said.text), "  "))
}

/// Returns what the person decided right after a result, in half a line.
pub fn reply_line(reply: &Said) -> String {
    format!("you answered: {} [{}]", harmless(&reply.text), reply.turn.short())
}

/// Formats one result: id, speaker or kind, place, passages.
fn result(hit: &Hit, place: &str, detail: Detail) -> String {
    let Detail { explain, paths } = detail;
    let what = match &hit.found {
        Found::Turn(turn) => speaker(turn),
        Found::Memory(found) => memories::kind_of(&found.memory),
    };
    let mut text = format!("[{BOLD}{}{RESET}] {what}{place}", hit.id().short());
    let strength = Strength::of(hit.confidence);
    if strength != Strength::Strong {
        text.push_str(&format!(" {DIM}{}{RESET}", strength.as_str()));
    }
    if !hit.also.is_empty() {
        text.push_str(&format!(" {DIM}(+{} alike){RESET}", hit.also.len()));
    }
    if let (Some(place), None) = (hit.place.as_ref().filter(|_| paths), hit.as_turn()) {
        text.push_str(&format!("\n  {DIM}{}:{}{RESET}", harmless(&place.path), place.line));
    }
    if let (Some(turn), Some(source)) = (hit.as_turn().filter(|_| paths), &hit.place) {
        let branch = turn.branch.as_deref().filter(|branch| !matches!(*branch, "" | "HEAD"));
        let branch = branch.map(|branch| format!(" on {}", harmless(branch))).unwrap_or_default();
        let title = turn.title.as_deref().map(|title| format!(" · {}", harmless(title))).unwrap_or_default();
        let gone = if turn.source_gone { ", source deleted, archived" } else { "" };
        let place = format!("{}:{}{gone}{branch}{title}", harmless(&source.path), source.line);
        text.push_str(&format!("\n  {DIM}{place}{RESET}"));
    }
    text.push_str(&format!("\n{}", indent(&harmless(&hit.quote), "  ")));
    text.extend(hit.reply.iter().map(|reply| format!("\n  {DIM}{}{RESET}", reply_line(reply))));
    for line in hit.as_memory().map(memories::lines_of).unwrap_or_default() {
        text.push_str(&format!("\n  {DIM}{line}{RESET}"));
    }
    if explain {
        let parts: Vec<String> = hit.parts.iter().map(|part| format!("{} {:.2}", part.part.as_str(), part.value)).collect();
        let lists: Vec<String> =
            hit.lists.iter().map(|list| format!("{} no. {} with {:.2}", list.list.as_str(), list.rank, list.score)).collect();
        text.push_str(&format!(
            "\n  {DIM}score {:.2} = {}; confidence {:.2}; {}{RESET}",
            hit.score,
            parts.join(" + "),
            hit.confidence,
            if lists.is_empty() { "in no list itself".to_owned() } else { lists.join(", ") }
        ));
    }
    text
}

/// Formats an exchange: its question, and one line for each kind of detail that it has.
pub fn exchange(exchange: &Exchange) -> String {
    let turns = counted(exchange.turns.len() as u64, "turn");
    let mut lines = vec![format!("{BOLD}{}{RESET} {DIM}{turns} · {}{RESET}", time(exchange.started), exchange.turn.short())];
    lines.push(indent(&harmless(&exchange.preview), "  "));
    let mut detail = |name: &str, values: Vec<String>| {
        const SHOWN: usize = 8;
        if !values.is_empty() {
            let more = if values.len() > SHOWN { format!(" and {} more", values.len() - SHOWN) } else { String::new() };
            let values: Vec<String> = values.iter().take(SHOWN).map(|value| harmless(value)).collect();
            lines.push(format!("  {DIM}{name}{RESET} {}{more}", values.join(", ")));
        }
    };
    detail("code", exchange.languages.iter().map(|language| language.name.clone()).collect());
    let files = |is_wanted: &dyn Fn(FileAction) -> bool| {
        exchange.files.iter().filter(|file| is_wanted(file.action)).map(|file| file.path.clone()).collect()
    };
    detail("changed", files(&|action| action == FileAction::Written));
    detail("files", files(&|action| action != FileAction::Written));
    let mut tools: Vec<(&str, usize)> = Vec::new();
    for tool in &exchange.tools {
        match tools.iter_mut().find(|(name, _)| *name == tool.name) {
            Some((_, count)) => *count += 1,
            None => tools.push((&tool.name, 1)),
        }
    }
    let called = |(name, count): &(&str, usize)| match (if name.is_empty() { "unknown" } else { name }, count) {
        (name, 1) => name.to_owned(),
        (name, count) => format!("{name} ×{count}"),
    };
    detail("tools", tools.iter().map(called).collect());
    for error in &exchange.errors {
        lines.push(format!("  {RED}failed{RESET} {}", harmless(error)));
    }
    lines.join("\n") + "\n"
}

/// Formats `chars` characters of a turn after the first `skipped` ones. The turn that was asked for has its exact time.
pub fn turn(turn: &ShownTurn, is_focus: bool, skipped: usize, chars: usize) -> String {
    let mark = if is_focus { format!("{GREEN}▶{RESET} ") } else { String::new() };
    let all = turn.words();
    let mut words: String = all.chars().skip(skipped).take(chars).collect();
    if skipped > 0 {
        words.insert(0, '…');
    }
    if all.chars().nth(skipped.saturating_add(chars)).is_some() {
        words.push('…');
    }
    format!(
        "{mark}{BOLD}{}{RESET} {DIM}{} · {}{RESET}\n{}\n",
        speaker(turn),
        if is_focus { exact_time(turn.time.utc) } else { time(turn.time.utc) },
        turn.id.short(),
        indent(&harmless(&words), "  ")
    )
}
