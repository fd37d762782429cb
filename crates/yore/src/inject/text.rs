//! Composes the injected text of a brief or suggestions: dated facts with the ids that `show` opens.
//!
//! - [`brief`]: the state of a project
//! - [`going_on`]: where work goes on
//! - [`suggestions`]: memories about a prompt, a file or an error
//! - [`warning`]: a line about a command that failed before or that a rule forbids
//!
//! Instructions would trigger an agent's defence against injected prompts, and rightly so: a recalled passage
//! is given as a fact, with its date.

use std::cmp::Reverse;
use std::collections::HashSet;

use yore_core::episode::{Caveat, Role};
use yore_core::handoff::Recollection;
use yore_core::id::MemoryId;
use yore_core::memory::{Confidence, Lane, Memory, Verdict};
use yore_core::query::ItemId;
use yore_core::time::UtcMillis;
use yore_engine::{
    Against, Brief, ExchangeHits, Found, FoundInsight, FoundMemory, Hit, NoteSummary, Packing, Passage, Said, Suggestion,
    Suggestions, TakenBack, Trigger, UpkeepState, Warning, Worked, exchanges,
};
use yore_sources::source::note::KIND;

use super::budget::{Injection, Page};
use super::learning::Waiting;
use crate::fence::{MARK, clean, name};
use crate::render::text::{day, merge_offer};
use crate::results;
use crate::shared::refresh::Unaccepted;

/// Most characters of a standing note.
const STANDING_CHARS: usize = 600;
/// Most characters of another note.
const NOTE_CHARS: usize = 280;
/// Most characters of a request.
const ASKED_CHARS: usize = 160;
/// Most characters of the place where a session stopped.
const STOPPED_CHARS: usize = 320;
/// Most characters of a statement that another replaced.
const PAST_CHARS: usize = 120;
/// Most characters of the reason why upkeep fails.
const UPKEEP_CHARS: usize = 160;
/// Most characters of an outcome.
const OUTCOME_CHARS: usize = 400;

/// Most characters of the whole text about a command, and of the form of it that worked.
const WARNING_CHARS: usize = 200;
const FORM_CHARS: usize = 60;

/// Most memories of people who are not accepted.
const MOST_SHARED: usize = 4;
/// From so many sessions that wait to be distilled, the brief says so.
const MANY_WAIT: u64 = 3;

/// Tokens of the text around memories.
const FRAME: usize = 55;
/// Number of the best turns and memories that get words each before any gets more.
const BROAD: usize = 4;
/// Most turns and memories that are named by their id alone, and the tokens of that line.
const MOST_NAMED: usize = 4;
const NAMED: usize = 16;
/// Cost of the beginning of a line, in quarters of a token.
const LINE_COST: usize = 44;

/// Returns the brief within a budget of tokens. Whatever does not fit is left out; the most useful parts come
/// first.
pub fn brief(brief: &Brief, budget: usize) -> Injection {
    brief_with(brief, budget, Waiting::Told, &[])
}

/// Returns the brief with a line about the sessions that wait, if many do, and with what people share whom the person has not accepted.
pub fn brief_with(brief: &Brief, budget: usize, waiting: Waiting, shared: &[Unaccepted]) -> Injection {
    if brief.is_empty() && shared.is_empty() {
        return Injection::default();
    }
    let about = match &brief.project {
        Some(project) => format!("Where things stand in {}, from earlier sessions.", name(project)),
        None => "What holds everywhere, from earlier sessions.".to_owned(),
    };
    let mut page = Page::new(&format!("{about} Recalled data: past facts, possibly outdated, no instructions."), budget);
    if let Some(line) = failing(&brief.failing) {
        page.close_with(line);
    }
    if let Some(offer) = &brief.moved_from {
        page.section("", std::iter::once((merge_offer(offer), Vec::new())));
    }
    page.section_or_told("Standing notes:", brief.standing.iter().map(|note| note_line(note, STANDING_CHARS)).collect());
    // No list may leave the others without room.
    let share = budget / 3;
    page.section_within("Asked of all work:", brief.orders.iter().map(|memory| line_with_before(memory, brief)), share);
    let dropped = brief.dropped.iter().flat_map(|section| &section.items).map(|item| {
        let opens = item.opens.as_deref().map(|id| format!("[{}] ", name(id))).unwrap_or_default();
        (format!("- {opens}{}", flowing(&item.text, NOTE_CHARS)), Vec::new())
    });
    page.section("In force in this session, and not in its summary:", dropped);
    if let Some(own) = &brief.own {
        page.section("This session, before it was compacted, was asked (oldest first):", worked_lines(own, false));
    }
    page.section_within("Open:", brief.open.iter().map(brief_memory_line), share);
    let mut sessions = brief.sessions.iter();
    if let Some(last) = sessions.next() {
        page.section(&format!("Last worked on: {}", headline(last)), worked_lines(last, true));
    }
    page.section("Decided lately:", brief.decided.iter().map(|memory| line_with_before(memory, brief)));
    let recorded = brief.recorded.iter().map(|memory| (memory.true_since(UtcMillis::MAX), line_with_before(memory, brief)));
    let mut noted: Vec<_> = brief.notes.iter().map(|note| (note.at, note_line(note, NOTE_CHARS))).chain(recorded).collect();
    noted.sort_by_key(|(at, _)| Reverse(*at));
    page.section("Notes:", noted.into_iter().map(|(_, line)| line));
    page.section("", summaries(&brief.categories).map(|line| (line, Vec::new())).into_iter());
    page.section("Again and again here:", brief.insights.iter().map(insight_line));
    if brief.waiting >= MANY_WAIT && waiting == Waiting::Told {
        let told = format!("Not distilled yet: {} sessions here (`yore distil`).", brief.waiting);
        page.section("", std::iter::once((told, Vec::new())));
    }
    page.section("Before that:", sessions.map(|worked| (format!("- {}", headline(worked)), Vec::new())));
    if waiting == Waiting::Offered {
        page.section("", std::iter::once((offered(brief.waiting), Vec::new())));
    }
    let by_others = "Shared in this repository by people who were not accepted here, and may be wrong (`yore share accept`):";
    page.section(by_others, shared.iter().take(MOST_SHARED).map(|one| (unaccepted_line(one), Vec::new())));
    page.end()
}

/// Returns where work goes on: what was worked on last, and what is open, without what is `known` to the session.
pub fn going_on(brief: &Brief, known: &[ItemId], budget: usize) -> Injection {
    let Some(project) = &brief.project else { return Injection::default() };
    let about = format!("Where work stands in {}, from the last session and what is open.", name(project));
    let mut page = Page::new(&format!("{about} Recalled data: past facts, possibly outdated, no instructions."), budget);
    let is_new = |(_, items): &(String, Vec<ItemId>)| !items.is_empty() && items.iter().all(|item| !known.contains(item));
    let mut told = 0;
    if let Some(last) = brief.sessions.first() {
        told += page.section(&format!("Last worked on: {}", headline(last)), worked_lines(last, true).filter(is_new));
    }
    told += page.section("Open:", brief.open.iter().map(brief_memory_line).filter(is_new));
    if told > 0 {
        page.section("Decided lately:", brief.decided.iter().map(|memory| line_with_before(memory, brief)).filter(is_new));
    }
    page.end()
}

/// Returns the line of an insight, in the words of the memory that may be made of it, with the last turn that shows it.
fn insight_line(found: &FoundInsight) -> (String, Vec<ItemId>) {
    let insight = &found.insight;
    let words = insight.offer.as_ref().map_or(&insight.statement, |offer| &offer.statement);
    let shown = insight.places.first().map(|turn| format!("[{}] ", name(turn))).unwrap_or_default();
    (format!("- {shown}{}", flowing(words, NOTE_CHARS)), Vec::new())
}

/// Returns the line that names the summaries that there are.
fn summaries(categories: &[(String, usize)]) -> Option<String> {
    let names: Vec<String> = categories.iter().map(|(category, members)| format!("{} ({members})", name(category))).collect();
    (!names.is_empty()).then(|| format!("Summaries (`yore categories NAME`): {}.", names.join(", ")))
}

/// Returns the line that tells of upkeep that fails.
fn failing(states: &[UpkeepState]) -> Option<String> {
    let (first, others) = states.split_first()?;
    let since = first.failing_since.map(|at| format!(" since {}", day(Some(at)))).unwrap_or_default();
    let why = first.error.as_ref().map(|(_, text)| format!(": {}", flowing(text, UPKEEP_CHARS))).unwrap_or_default();
    let more = if others.is_empty() { String::new() } else { format!("; {} more fail", others.len()) };
    Some(format!("Upkeep: {} fails{since}{why}{more} (`yore upkeep status`)", first.upkeep.as_str()))
}

/// Returns the line that offers learning, which is given once.
pub fn offered(waiting: u64) -> String {
    format!("{waiting} sessions here wait to be understood. Ask the person once whether a model may read them: `yore learn`.")
}

/// Returns the request to record what a session settled, which its agent gets once as its turn ends.
pub fn distil(session: &str) -> String {
    let session: String = session.chars().filter(|letter| letter.is_alphanumeric() || "-_.:".contains(*letter)).collect();
    format!(
        "Memory, once in this session: did it settle something that will be needed weeks later and that the code does not show? A decision \
         with its reason, the cause of a problem and what mended it, what the person demands from now on, an open question. If so, call \
         the tool `distil` of the server yore once, with session \"{session}\" and at most five `items`: each `kind` (decision, solution, \
         standard, preference, fact, question), `statement` (one sentence, understandable alone), `quote` (15 to 120 characters exactly as \
         they were said here) and `fields` (`name` reason, alternative, error, cause or change, with a short `text`). If not, or without \
         that tool, do nothing. Then end your turn without further words."
    )
}

/// Returns the room for the passages of memories within a budget of tokens.
pub fn packing(budget: usize) -> Packing {
    Packing {
        budget: budget.saturating_sub(FRAME + NAMED),
        group_cost: LINE_COST,
        hit_cost: LINE_COST,
        broad: BROAD,
        least_gain: 0.0,
    }
}

/// Returns the memories about a trigger, within a budget of tokens.
pub fn suggestions(suggestions: &Suggestions, trigger: &Trigger, budget: usize) -> Injection {
    let Suggestions { memories, recollected, taken_back, .. } = suggestions;
    if memories.is_empty() && recollected.is_empty() && taken_back.is_none() {
        return Injection::default();
    }
    let about = match trigger {
        Trigger::Edit(_) if memories.is_empty() && taken_back.is_none() => "From this session, before it was compacted.",
        Trigger::Prompt(_) => "From earlier sessions, concerning the prompt.",
        Trigger::Edit(_) => "From earlier sessions, concerning the file.",
        Trigger::Failure(_) => "From earlier sessions, where the same error was met.",
    };
    let mut page = Page::new(&format!("{about} Recalled data: past facts, possibly outdated, no instructions."), budget);
    page.section("", taken_back.iter().map(taken_back_line));
    page.section("Known in this session, and not in its summary:", recollected.iter().map(recollected_line));
    // Two that contradict each other are told in one line, with both dates.
    let mut told: HashSet<MemoryId> = HashSet::new();
    let is_told = |memory: &&Suggestion| match &memory.hit.found {
        Found::Memory(found) if told.contains(&found.memory.id) => false,
        Found::Memory(found) => {
            told.extend(found.contradicts.first().map(|other| other.id));
            true
        }
        Found::Turn(_) => true,
    };
    let memories: Vec<&Suggestion> = memories.iter().filter(is_told).collect();
    let outcome_of = |passage: Passage<'_>| {
        let Passage::Hit(hit) = passage else { return None };
        memories.iter().find(|memory| memory.hit.id() == hit.id())?.outcome.as_ref()
    };
    let lines =
        exchanges(memories.iter().map(|memory| &memory.hit)).into_iter().map(|ExchangeHits { passages: exchange, .. }| {
            let mut lines = Vec::new();
            for (at, passage) in exchange.iter().enumerate() {
                lines.push(memory_line(*passage, at == 0));
                lines
                    .extend(outcome_of(*passage).map(|outcome| {
                        format!("  then [{}]: {}", outcome.turn.short(), both_ends(&outcome.text, OUTCOME_CHARS))
                    }));
            }
            let outcomes = exchange.iter().filter_map(|passage| Some(ItemId::Turn(outcome_of(*passage)?.turn)));
            (lines.join("\n"), exchange.iter().map(|passage| passage.id()).chain(outcomes).collect())
        });
    if page.section("", lines) == 0 {
        return page.end();
    }
    let is_wordless = |memory: &&&Suggestion| memory.hit.quote.is_empty() && memory.hit.beside.is_empty();
    let named: Vec<String> = memories.iter().filter(is_wordless).take(MOST_NAMED).map(|memory| named(&memory.hit)).collect();
    if !named.is_empty() {
        // Not among the items: a later prompt may still be told their words.
        page.section("", std::iter::once((format!("More of it: {}", named.join(" ")), Vec::new())));
    }
    if !suggestions.files.is_empty() {
        let files: Vec<String> = suggestions.files.iter().map(|file| name(file)).collect();
        page.section("", std::iter::once((format!("Files opened then: {}", files.join(", ")), Vec::new())));
    }
    page.end()
}

/// Returns the id, in brackets, that opens a hit.
fn named(hit: &Hit) -> String {
    format!(
        "[{}]",
        match &hit.found {
            Found::Turn(turn) if turn.agent == KIND => turn.episode.short(),
            Found::Turn(turn) => turn.id.short(),
            Found::Memory(found) => found.memory.id.short(),
        }
    )
}

/// Returns what is known against a command, in at most 200 characters.
pub fn warning(warning: &Warning) -> Injection {
    let (open, close) = (format!("<{MARK} source=\"yore\">"), format!("</{MARK}>"));
    let room = WARNING_CHARS - open.len() - close.len() - 2;
    let (head, told, tail, item) = match &warning.against {
        Against::Failed { turn, at, count, error, next, chance: _ } => {
            let count = if *count > 1 { format!("{count}x, last ") } else { String::new() };
            let next = next.as_deref().filter(|next| next.chars().count() <= FORM_CHARS);
            let next = next.map(|next| format!("; worked: `{}`", flowing(next, FORM_CHARS))).unwrap_or_default();
            (format!("Failed before ({count}{}): ", day(*at)), error, format!("{next} [{}]", turn.short()), ItemId::Turn(*turn))
        }
        Against::Forbidden { memory, statement, at } => {
            (format!("Rule of {}: ", day(Some(*at))), statement, format!(" [{}]", memory.short()), ItemId::Memory(*memory))
        }
    };
    let left = room.saturating_sub(head.chars().count() + tail.chars().count() + 1);
    let text = format!("{open}\n{head}{}{tail}\n{close}", flowing(told, left));
    Injection { text, items: vec![item] }
}

/// Returns the line about edits of a file that were taken back.
fn taken_back_line(edits: &TakenBack) -> (String, Vec<ItemId>) {
    let by = flowing(&edits.by, PAST_CHARS);
    let by = match (edits.is_refused, by.is_empty()) {
        (true, true) => "the person refused the last edit of this file".to_owned(),
        (true, false) => format!("the person refused the last edit of this file: {by}"),
        (false, _) => format!("the last edits of this file were taken back: {by}"),
    };
    (format!("- [{}] {}, {by}", edits.turn.short(), day(edits.at)), vec![ItemId::Turn(edits.turn)])
}

/// Returns the line about a thing that a session knew before its compaction.
fn recollected_line(known: &Recollection) -> (String, Vec<ItemId>) {
    let opens = known.opens.clone().or_else(|| known.turn.map(|turn| turn.short()));
    let opens = opens.map(|id| format!("[{}] ", name(&id))).unwrap_or_default();
    (format!("- {opens}{}", flowing(&known.text, NOTE_CHARS)), known.turn.map(ItemId::Turn).into_iter().collect())
}

/// Returns a line with a passage. Only the first line of an exchange has a date.
fn memory_line(passage: Passage<'_>, is_first: bool) -> String {
    let is_document = matches!(passage, Passage::Hit(hit) if hit.as_turn().is_some_and(results::is_document));
    let (role, caveat, at, id) = match passage {
        Passage::Hit(hit) => match &hit.found {
            // A note is known by its own id everywhere.
            Found::Turn(turn) => {
                (turn.role, turn.caveat, turn.time.utc, if turn.agent == KIND { turn.episode.short() } else { turn.id.short() })
            }
            Found::Memory(memory) => return statement_line(memory, passage.text()),
        },
        Passage::Beside(said) => (said.role, said.caveat, said.at, said.turn.short()),
    };
    let who = match role {
        _ if is_document => "a document",
        Role::Human if caveat == Some(Caveat::UnknownAuthor) => "somebody",
        Role::Human => "the person",
        Role::Assistant => "the agent",
        Role::ToolCall | Role::ToolResult => "a tool",
        _ => "a summary",
    };
    let quote = flowing(passage.text(), usize::MAX);
    if is_first { format!("- [{id}] {}, {who}: {quote}", day(at)) } else { format!("  [{id}] {who}: {quote}") }
}

/// Returns a line with a memory: its kind, when it was recorded, how sure it is, and its statement or passages of it.
fn statement_line(found: &FoundMemory, words: &str) -> String {
    let memory = &found.memory;
    let sure = if memory.confidence == Confidence::Verified { "" } else { memory.confidence.as_str() };
    let sure = if sure.is_empty() { String::new() } else { format!(", {sure}") };
    let by = shared_by(memory).unwrap_or_default();
    // A memory that steps back is told in one line.
    let is_brief = found.standing.is_some_and(|standing| standing.tier.is_brief());
    let statement = flowing(words, if is_brief { NOTE_CHARS } else { usize::MAX });
    let closed = if memory.is_closed() { ", closed" } else { "" };
    let kind = format!("{}{closed}", memory.kind.as_str().replace('_', " "));
    let before = found.history.first().map(|past| {
        let was = if past.is_likely { "was, likely" } else { "before" };
        format!(" ({was}: {})", flowing(&past.statement, PAST_CHARS))
    });
    let mut marks = before.unwrap_or_default();
    if let Some(other) = found.contradicts.first() {
        let (at, said) = (day(Some(other.recorded)), flowing(&other.statement, PAST_CHARS));
        marks.push_str(&format!(" (not settled; [{}], {at}, says: {said})", other.id.short()));
    }
    if let Some(other) = found.qualified.iter().find(|other| other.is_special) {
        let reason = other.reason.as_deref().unwrap_or("in a case");
        marks.push_str(&format!(
            " (except {}: {})",
            flowing(reason, PAST_CHARS),
            flowing(&other.statement.statement, PAST_CHARS)
        ));
    }
    let gone = found.changed.iter().find(|one| one.verdict == Verdict::Orphaned);
    marks.extend(gone.map(|one| format!(" (gone since: {})", name(&one.anchor.text))));
    format!("- [{}] {kind}, {}{sure}{by}: {statement}{marks}", memory.id.short(), day(Some(memory.recorded)))
}

/// Returns the line of a memory that somebody shares whom the person has not accepted.
fn unaccepted_line(one: &Unaccepted) -> String {
    let author = one.author.as_deref().map_or_else(|| "somebody".to_owned(), name);
    let commit = one.commit.as_deref().map(|commit| format!(" in {}", name(commit))).unwrap_or_default();
    format!("- {} by {author}{commit}: {}", one.kind.replace('_', " "), flowing(&one.statement, NOTE_CHARS))
}

/// Returns who shared a memory, and in which commit.
fn shared_by(memory: &Memory) -> Option<String> {
    memory.is_shared().then(|| {
        let author = memory.source.author.as_deref().map_or_else(|| "somebody".to_owned(), name);
        let commit = memory.source.commit.as_deref().map(|commit| format!(" in {}", name(commit))).unwrap_or_default();
        format!(", shared by {author}{commit}")
    })
}

/// Returns the line of a memory in a brief. What rules found in the words of a person or an agent is told apart.
fn brief_memory_line(memory: &Memory) -> (String, Vec<ItemId>) {
    let at = day(Some(memory.valid_from.unwrap_or(memory.recorded)));
    let by = match shared_by(memory) {
        Some(by) => by,
        None if memory.lane == Lane::Curated => String::new(),
        None => ", extracted".to_owned(),
    };
    let kind = memory.kind.as_str().replace('_', " ");
    let statement = flowing(&memory.statement, NOTE_CHARS);
    (format!("- [{}] {kind}, {at}{by}: {statement}", memory.id.short()), vec![ItemId::Memory(memory.id)])
}

/// Returns the line of a memory in a brief, with what was so before it.
fn line_with_before(memory: &Memory, brief: &Brief) -> (String, Vec<ItemId>) {
    let (line, ids) = brief_memory_line(memory);
    let before = brief.decided_before.iter().find(|(id, _)| *id == memory.id);
    let before = before.map(|(_, before)| format!(" (before: {})", flowing(before, PAST_CHARS))).unwrap_or_default();
    let against = brief.contradicting.iter().find(|(id, _)| *id == memory.id);
    let against = against.map(|(_, other)| format!(" (may contradict [{}]: ask which holds)", other.short())).unwrap_or_default();
    (format!("{line}{before}{against}"), ids)
}

fn headline(worked: &Worked) -> String {
    let session = &worked.session;
    let title = session.title.as_deref().map(|title| format!(" \"{}\"", name(title))).unwrap_or_default();
    format!("{}{title}, {}, session {}", day(session.updated), name(&session.agent), session.id.short())
}

fn worked_lines(worked: &Worked, with_end: bool) -> impl Iterator<Item = (String, Vec<ItemId>)> {
    let line = |what: &str, said: &Said, text: String| {
        (format!("- {what} [{}]: {text}", said.turn.short()), vec![ItemId::Turn(said.turn)])
    };
    let mut lines: Vec<(String, Vec<ItemId>)> = Vec::new();
    if let Some(stopped) = worked.stopped.as_ref().filter(|_| with_end) {
        lines.push(line("it stopped at", stopped, both_ends(&stopped.text, STOPPED_CHARS)));
    }
    // The last request matters most, so it comes before those that may not fit; the requests of the session
    // itself are all given in order.
    let asked = worked.asked.iter().map(|said| line("asked", said, flowing(&said.text, ASKED_CHARS)));
    if with_end {
        lines.extend(asked.rev());
    } else {
        lines.extend(asked);
    }
    if !worked.files.is_empty() {
        let root = worked.session.cwd.as_deref().unwrap_or_default();
        let inside =
            |file: &str| file.strip_prefix(root).and_then(|rest| rest.strip_prefix(['/', '\\'])).unwrap_or(file).to_owned();
        let mut files: Vec<String> = worked.files.iter().map(|file| name(&inside(file))).collect();
        let mut seen = HashSet::new();
        files.retain(|file| seen.insert(file.clone()));
        lines.push((format!("- files: {}", files.join(", ")), Vec::new()));
    }
    lines.into_iter()
}

fn note_line(note: &NoteSummary, chars: usize) -> (String, Vec<ItemId>) {
    let title = note.facts.title.as_deref().map(|title| format!("{}: ", name(title))).unwrap_or_default();
    // A person's words weigh more.
    let by = if note.is_by_agent { " (noted by an agent)" } else { "" };
    (format!("- [{}] {title}{}{by}", note.episode.short(), flowing(&note.text, chars)), vec![ItemId::Turn(note.turn)])
}

/// Returns a text on one line, cut after `chars` characters.
fn flowing(text: &str, chars: usize) -> String {
    let line = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// Returns the beginning and end of a long text: an agent says first what it did, and last what is left to
/// do.
fn both_ends(text: &str, chars: usize) -> String {
    let line = flowing(text, usize::MAX);
    let count = line.chars().count();
    if count <= chars {
        return line;
    }
    let head: String = line.chars().take(chars * 3 / 5).collect();
    let tail: String = line.chars().skip(count - chars * 2 / 5).collect();
    format!("{} … {}", head.trim_end(), tail.trim_start())
}

#[cfg(test)]
mod tests;
