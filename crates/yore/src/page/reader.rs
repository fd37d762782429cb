//! The reader of a session: exchanges in parts of some hundred turns, and what belongs to them.

use std::collections::HashMap;

use maud::{Markup, html};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use yore_core::memory::MemoryKind;

use super::markdown::markdown;
use super::marker::Marker;
use super::parts;
use super::search::speaker;
use super::sessions::{counted, topics_beside};
use super::view::{Content, Input, Row};
use crate::api::calls::{memories, recall, sessions};
use crate::api::route::Caller;
use crate::error::CliResult;
use crate::results::{MemoryRecord, OpenedSession, Shown, Turn};

/// Turns of a part, and most of them.
const TURNS: usize = 100;
const MOST_TURNS: usize = 300;
/// Turns before the one that was found.
const BEFORE: usize = 20;
/// Most characters of words, and of the input or output of a tool. The rest is a link away.
const WORDS: usize = 20_000;
const TOOL: usize = 3_000;
/// Most characters of a whole turn.
const WHOLE: usize = 400_000;
/// Most characters of the line of a tool.
const LINE: usize = 110;
/// Most memories that rest on the turns of a part.
const MEMORIES: usize = 200;
/// Most turns of a session whose topics are shown without being asked for: to divide a longer one may take seconds.
const AT_ONCE: u64 = 2_000;
/// The fields that tell of a tool's input in a line, the most telling first.
const TELLING: [&str; 12] = [
    "description",
    "command",
    "cmd",
    "file_path",
    "path",
    "notebook_path",
    "pattern",
    "query",
    "url",
    "prompt",
    "skill",
    "subject",
];

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![
        Row { path: "/session/{id}", view: read },
        Row { path: "/session/{id}/about", view: about },
        Row { path: "/turn/{id}", view: whole_turn },
    ]
}

/// The part of a session that is read.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Asked {
    /// Id of the session
    id: String,
    /// Place of the first turn, from 1
    from: Option<usize>,
    /// Most turns
    count: Option<usize>,
    /// Id of a turn that is in the middle, whatever its session
    at: Option<String>,
    /// A question whose words are marked in that turn
    q: Option<String>,
    /// Words to find in the session
    #[serde(rename = "in")]
    within: Option<String>,
    /// The number of the turn with them that is in the middle, from 1
    hit: Option<usize>,
}

/// The context in which the turns of a part are shown.
struct Reading<'r> {
    session: &'r OpenedSession,
    shown: &'r Shown,
    /// Place of the turn in the middle, from 1.
    focus: Option<usize>,
    /// Marks the words that were asked for in that turn.
    asked: Marker,
    /// Marks the words to find.
    found: Marker,
    within: &'r str,
    hit: usize,
    memories: HashMap<String, Vec<MemoryRecord>>,
}

fn read(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let asked: Asked = input.read()?;
    let count = asked.count.unwrap_or(TURNS).clamp(1, MOST_TURNS);
    let within = asked.within.as_deref().unwrap_or_default().trim();
    // Only the words themselves are looked for in the whole session; a part that follows marks them.
    let find = (!within.is_empty() && asked.at.is_none() && asked.from.is_none()).then(|| within.to_owned());
    let (shown, focus, hit) = match (&asked.at, asked.from) {
        (Some(turn), _) => {
            let turn = sessions::Turn { id: turn.clone(), around: Some(count / 2), find: None };
            let shown = sessions::turn(caller, turn)?;
            let place = shown.turns.iter().position(|turn| shown.focus.as_ref() == Some(&turn.id));
            let focus = place.map(|place| shown.turns_before + place + 1);
            (shown, focus, 0)
        }
        (None, Some(from)) => {
            let part = sessions::Turns { id: asked.id.clone(), from: Some(from), count: Some(count), find: None };
            (sessions::turns(caller, part)?, None, 0)
        }
        (None, None) if find.is_some() => {
            let first = sessions::Turns { id: asked.id.clone(), from: Some(1), count: Some(1), find };
            let found = sessions::turns(caller, first)?.found;
            let hit = asked.hit.unwrap_or(1).clamp(1, found.len().max(1));
            let place = found.get(hit - 1).copied();
            let from = place.unwrap_or(1).saturating_sub(BEFORE).max(1);
            let part = sessions::Turns { id: asked.id.clone(), from: Some(from), count: Some(count), find: None };
            (Shown { found, ..sessions::turns(caller, part)? }, place, hit)
        }
        (None, None) => {
            let part = sessions::Turns { id: asked.id.clone(), from: Some(1), count: Some(count), find: None };
            (sessions::turns(caller, part)?, None, 0)
        }
    };
    let session = sessions::open(caller, sessions::Id { id: shown.episode.clone() })?;
    let reading = Reading {
        memories: resting(caller, &shown)?,
        session: &session,
        shown: &shown,
        focus,
        asked: asked.q.as_deref().map_or(Marker::Nothing, |question| Marker::of_terms(words_of(question))),
        found: Marker::of_text(Some(within)),
        within,
        hit,
    };
    let title = session.session.title.clone().unwrap_or_else(|| "A session".to_owned());
    Ok(Content::new(title, reading.page()))
}

/// Returns the words of a question that are worth marking.
fn words_of(question: &str) -> impl Iterator<Item = &str> {
    question.split(|letter: char| !letter.is_alphanumeric()).filter(|word| word.chars().count() > 3)
}

/// Returns the memories that rest on these turns, by turn.
fn resting(caller: &mut Caller<'_>, shown: &Shown) -> CliResult<HashMap<String, Vec<MemoryRecord>>> {
    let mut by_turn: HashMap<String, Vec<MemoryRecord>> = HashMap::new();
    if shown.turns.is_empty() {
        return Ok(by_turn);
    }
    let evidence = shown.turns.iter().map(|turn| turn.id.clone()).collect();
    let found = memories::list(caller, memories::List { evidence, limit: Some(MEMORIES), ..memories::List::default() })?;
    for memory in found.items {
        let turn =
            memory.evidence.iter().map(|evidence| &evidence.turn).find(|id| shown.turns.iter().any(|turn| turn.id == **id));
        if let Some(turn) = turn.cloned() {
            by_turn.entry(turn).or_default().push(memory);
        }
    }
    Ok(by_turn)
}

impl Reading<'_> {
    fn path(&self) -> String {
        format!("session/{}", parts::segment(&self.shown.episode))
    }

    /// Returns the address of a part, with what is looked for.
    fn part(&self, from: usize, count: usize) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("from", &from.to_string()).append_pair("count", &count.to_string());
        if !self.within.is_empty() {
            query.append_pair("in", self.within);
        }
        format!("{}?{}", self.path(), query.finish())
    }

    fn hit_address(&self, hit: usize) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("in", self.within).append_pair("hit", &hit.to_string());
        format!("{}?{}#at", self.path(), query.finish())
    }

    fn page(&self) -> Markup {
        let session = &self.session.session;
        html! {
            h1.said { (session.title.as_deref().unwrap_or("A session")) }
            p.meta {
                @if let Some(project) = &session.project { a.project href={ "sessions?project=" (parts::segment(project)) } { (project) } }
                span { (session.agent) }
                span { (parts::time(session.started.as_deref())) " – " (parts::time(session.updated.as_deref())) }
                span { (counted(session.turns, "turn")) }
                @if let Some(directory) = &session.directory { code { (directory) } }
                @for link in session.links.iter().take(5) { (outside_link(&link.kind, &link.value)) }
                a href={ "forget/" (parts::segment(&session.id)) } { "Forget this session…" }
            }
            (self.find())
            div.columns.reading {
                div #reader data-path=(self.path()) { (self.window()) }
                (self.side())
            }
        }
    }

    /// Returns the field to find words inside, and the way between the places that have them.
    fn find(&self) -> Markup {
        let found = self.shown.found.len();
        html! {
            form.search.inside role="search" action=(self.path()) method="get" {
                label.unseen for="in" { "Find in this session" }
                div.field {
                    input #in type="search" name="in" value=(self.within) placeholder="Find in this session";
                    button type="submit" { "Find" }
                }
            }
            @if !self.within.is_empty() {
                p.chips role="status" {
                    @if self.hit == 0 {
                        span { "Marked: " (self.within) }
                        a.chip href=(self.hit_address(1)) { "All places" }
                        a.chip href=(self.path()) { "Clear" }
                    } @else if found == 0 {
                        "Not in this session. " a href={ "./?session=" (self.shown.episode) "&q=" (parts::segment(self.within)) } { "Search for it" }
                    } @else {
                        span { (counted(found as u64, "turn")) ", now at the " (ordinal(self.hit)) }
                        @if self.hit > 1 { a.chip data-press="p" href=(self.hit_address(self.hit - 1)) { "Previous" } }
                        @if self.hit < found { a.chip data-press="n" href=(self.hit_address(self.hit + 1)) { "Next" } }
                        a.chip href=(self.path()) { "Clear" }
                    }
                }
            }
        }
    }

    fn side(&self) -> Markup {
        let path = self.path();
        let id = parts::segment(&self.shown.episode);
        html! {
            aside aria-label="About this session" {
                details data-load={ (path) "/about" } data-now[self.session.session.turns <= AT_ONCE] {
                    summary { "Topics, files, memories" }
                    p { a href={ (path) "/about" } { "Show them" } }
                }
                details data-load={ (path) "/handoff" } {
                    summary { "Handoff to another agent" }
                    p { a href={ (path) "/handoff" } { "Show it" } }
                }
                ul.plain {
                    li { a href={ "receipts/" (parts::segment(&self.session.session.session)) } { "What this session was given" } }
                    li { a href={ "./?session=" (id) } { "Search in it" } }
                }
                p.quiet {
                    @if self.session.last_read.is_some() { "Read last " (parts::time(self.session.last_read.as_deref())) ". " }
                    "Its id: " code { (self.session.session.session) }
                }
            }
        }
    }

    /// Returns the turns of the part, and the ways to the parts around it.
    fn window(&self) -> Markup {
        let Shown { turns_before, turns_after, turns, .. } = self.shown;
        let total = turns_before + turns.len() + turns_after;
        let first = turns_before + 1;
        let last = turns_before + turns.len();
        let before = first.saturating_sub(TURNS).max(1);
        let mut exchanges: Vec<(usize, &[Turn])> = Vec::new();
        let mut begin = 0;
        for at in 1..=turns.len() {
            if at == turns.len() || turns[at].role == "human" {
                exchanges.push((begin, &turns[begin..at]));
                begin = at;
            }
        }
        html! {
            @if *turns_before > 0 {
                p.more.before { a rel="prev" href={ (self.part(before, first - before)) } { "Previous turns" } " " span.quiet { (turns_before) " before" } }
            }
            div.window data-first=(first) data-last=(last) {
                @if turns.is_empty() { p { "There are no turns here." } }
                @for (at, exchange) in exchanges {
                    section.exchange aria-label={ "From turn " (turns_before + at + 1) " of " (total) } {
                        (self.exchange(exchange, turns_before + at + 1))
                    }
                }
            }
            @if *turns_after > 0 {
                p.more.after { a rel="next" href=(self.part(last + 1, TURNS)) { "Next turns" } " " span.quiet { (turns_after) " more" } }
            }
        }
    }

    fn exchange(&self, turns: &[Turn], first: usize) -> Markup {
        let mut at = 0;
        let mut markup = Vec::new();
        while let Some(turn) = turns.get(at) {
            let answer = turns.get(at + 1).filter(|next| turn.role == "tool_call" && next.role == "tool_result");
            markup.push(self.turn(turn, first + at, answer));
            at += 1 + usize::from(answer.is_some());
        }
        html! { @for turn in markup { (turn) } }
    }

    fn turn(&self, turn: &Turn, place: usize, answer: Option<&Turn>) -> Markup {
        let is_here = |place: usize| self.focus == Some(place);
        let is_focus = is_here(place) || answer.is_some() && is_here(place + 1);
        let marker = if is_focus && self.asked != Marker::Nothing { &self.asked } else { &self.found };
        let is_person = turn.role == "human";
        let rests: Vec<&MemoryRecord> =
            std::iter::once(turn).chain(answer).filter_map(|turn| self.memories.get(&turn.id)).flatten().collect();
        html! {
            article.turn.person[is_person].focus[is_focus] #{ "n" (place) } data-item[is_person] aria-current=[is_focus.then_some("true")] {
                @if is_focus { span #at {} }
                (self.body(turn, place, answer, marker, is_focus))
                @for memory in rests {
                    p.rests { "Gave rise to " span.kind { (memory.kind) } " " a href={ "memories/" (parts::segment(&memory.id)) } { (memory.statement) } }
                }
            }
        }
    }

    fn body(&self, turn: &Turn, place: usize, answer: Option<&Turn>, marker: &Marker, is_focus: bool) -> Markup {
        let name = turn.speaker.clone().unwrap_or_else(|| speaker(&turn.role, Some(&turn.agent)));
        let head = html! {
            header.meta {
                span.kind { (name) }
                (parts::time(turn.time.as_deref()))
                a.quiet href={ (self.path()) "?at=" (turn.id) "#at" } aria-label={ "Turn " (place) } { "#" (place) }
                @if let Some(caveat) = &turn.caveat { span.mark.warn { (caveat.replace('_', " ")) } }
                @if turn.is_error { span.mark.bad { "error" } }
            }
        };
        let has_tool = !turn.tool_text.trim().is_empty();
        match turn.role.as_str() {
            "human" => html! {
                (head)
                div.said.words { (marker.mark(cut(&turn.text, WORDS))) }
                (rest(turn, WORDS))
                @if has_tool { (tool(turn, None, marker, is_focus)) }
            },
            "assistant" | "document" => html! {
                (head)
                div.said.answer { (markdown(cut(&turn.text, WORDS), marker)) }
                (rest(turn, WORDS))
                @if has_tool { (tool(turn, None, marker, is_focus)) }
            },
            "tool_call" | "tool_result" => html! {
                @if !turn.text.trim().is_empty() { div.said.answer { (markdown(cut(&turn.text, WORDS), marker)) } }
                (tool(turn, answer, marker, is_focus))
            },
            _ => html! {
                details.folded open[is_focus] {
                    summary { span.kind { (name) } " " span.quiet { (line_of(&turn.text)) } }
                    div.said.answer { (markdown(cut(&turn.text, WORDS), marker)) }
                    (rest(turn, WORDS))
                }
            },
        }
    }
}

/// Returns the call of a tool and its answer, folded into a line.
fn tool(turn: &Turn, answer: Option<&Turn>, marker: &Marker, is_open: bool) -> Markup {
    let is_error = turn.is_error || answer.is_some_and(|answer| answer.is_error);
    let (name, input) = match turn.role.as_str() {
        "tool_result" => ("result", turn.tool_text.as_str()),
        _ => turn.tool_text.split_once('\n').unwrap_or((turn.tool_text.as_str(), "")),
    };
    html! {
        details.tool.failed[is_error] open[is_open] {
            summary { b { (cut(name, LINE)) } " " @if is_error { span.mark.bad { "error" } " " } span.quiet { (told(input)) } }
            @if !input.trim().is_empty() { pre.wrapped tabindex="0" { (marker.mark(cut(input, TOOL))) } }
            (rest(turn, TOOL))
            @if let Some(answer) = answer {
                @let output = if answer.tool_text.trim().is_empty() { &answer.text } else { &answer.tool_text };
                @if output.trim().is_empty() { p.quiet { "no output" } } @else { pre.wrapped.output tabindex="0" { (marker.mark(cut(output, TOOL))) } }
                (rest(answer, TOOL))
            }
        }
    }
}

/// Returns what tells most of a tool's input, on one line.
fn told(input: &str) -> String {
    let value = input.trim_start().starts_with('{').then(|| serde_json::from_str::<Value>(input).ok()).flatten();
    let said = match value {
        Some(value) => TELLING.iter().find_map(|name| value[*name].as_str().map(str::to_owned)),
        // Lines with names, or code that calls tools and has their input inside.
        None => {
            let input = cut(input, TOOL);
            let line =
                |name: &&str| input.lines().find_map(|line| line.strip_prefix(*name)?.strip_prefix(": ").map(str::to_owned));
            TELLING.iter().find_map(line).or_else(|| TELLING.iter().find_map(|name| string_after(input, name)))
        }
    };
    line_of(said.as_deref().unwrap_or(input))
}

/// Returns the JSON string that is the value of a name in a text.
fn string_after(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("\"{name}\":"))?;
    let rest = rest.trim_start();
    serde_json::Deserializer::from_str(rest.starts_with('"').then_some(rest)?).into_iter::<String>().next()?.ok()
}

/// Returns the beginning of a text, on one line.
fn line_of(text: &str) -> String {
    // Only the beginning is looked at: a text may be a megabyte.
    let words = cut(text, LINE * 8).split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() > LINE { format!("{}…", cut(&words, LINE)) } else { words }
}

/// Returns at most so many characters.
fn cut(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// Returns the way to what does not fit.
fn rest(turn: &Turn, most: usize) -> Markup {
    let left = [&turn.text, &turn.tool_text].iter().map(|text| text.chars().count().saturating_sub(most)).max().unwrap_or(0);
    html! { @if left > 0 { p.quiet { (left) " characters more: " a href={ "turn/" (turn.id) } { "the whole turn" } } } }
}

fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// Returns a link of a session: to the web, or as text.
fn outside_link(kind: &str, value: &str) -> Markup {
    html! {
        @if let Some(to) = super::markdown::outside(value) {
            a href=(to) rel="noreferrer noopener" target="_blank" { (kind.replace('_', " ")) }
        } @else {
            span { (kind.replace('_', " ")) " " code { (value) } }
        }
    }
}

/// Shows what a session is about: its topics, their files, and the memories that rest on it.
fn about(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let sessions::Id { id } = input.read()?;
    let topics = sessions::topics_of(caller, sessions::Id { id: id.clone() })?;
    let related = recall::Deepen { id, level: "related".to_owned(), ..recall::Deepen::default() };
    let related = recall::deepen(caller, related)?;
    let is_memory = |what: &str| what.split(',').next().is_some_and(|kind| MemoryKind::named(kind.trim()).is_some());
    let rests: Vec<_> = related.lines.iter().filter(|line| is_memory(&line.what)).collect();
    let body = html! {
        h1 { "About a session" }
        div.lines {
            (topics_beside(&topics))
            h2 { "Gave rise to" }
            @if rests.is_empty() { p.quiet { "No memories." } }
            ul.plain {
                @for line in rests {
                    li {
                        span.kind { (line.what) } " "
                        @if let Some(id) = &line.id { a href={ "memories/" (parts::segment(id)) } { (line.text) } } @else { (line.text) }
                    }
                }
            }
        }
    };
    Ok(Content::new("About a session", body))
}

/// Shows a turn with all that it has, and the ways to the turns beside it.
fn whole_turn(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let sessions::Id { id } = input.read()?;
    let shown = sessions::turn(caller, sessions::Turn { id, around: Some(1), find: None })?;
    Ok(Content::new("A turn", turn_page(&shown)))
}

fn turn_page(shown: &Shown) -> Markup {
    let at = shown.turns.iter().position(|turn| shown.focus.as_ref() == Some(&turn.id)).unwrap_or_default();
    let previous = at.checked_sub(1).and_then(|before| shown.turns.get(before));
    html! {
        h1 { "A turn" }
        @if let Some(turn) = shown.turns.get(at) {
            p.meta {
                span.kind { (speaker(&turn.role, Some(&turn.agent))) }
                (parts::time(turn.time.as_deref()))
                a href={ "session/" (parts::segment(&turn.episode)) "?at=" (turn.id) "#at" } { "In its session" }
                code { (turn.source.path) ":" (turn.source.line) }
            }
            @for text in [&turn.text, &turn.tool_text].into_iter().filter(|text| !text.trim().is_empty()) {
                pre.wrapped tabindex="0" { (cut(text, WHOLE)) }
                @if text.chars().count() > WHOLE {
                    p.quiet { "Only the first " (WHOLE) " characters: " code { "yore show " (turn.id) " --budget 0" } " prints all." }
                }
            }
        }
        nav aria-label="Turns beside it" {
            @if let Some(turn) = previous { p { (beside("prev", "Before it", turn)) } }
            @if let Some(turn) = shown.turns.get(at + 1) { p { (beside("next", "After it", turn)) } }
        }
    }
}

/// Returns the way to a turn beside another one, with its beginning.
fn beside(rel: &str, place: &str, turn: &Turn) -> Markup {
    let words = if turn.text.trim().is_empty() { &turn.tool_text } else { &turn.text };
    html! {
        a rel=(rel) href={ "turn/" (turn.id) } { (place) ": " (speaker(&turn.role, Some(&turn.agent))) } " "
        span.quiet.said { (line_of(words)) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn turn(id: &str, role: &str, text: &str, tool_text: &str) -> Value {
        json!({
            "id": id, "native_id": id, "session": "s", "episode": "eeee", "agent": "claude-code", "kind": "session", "role": role,
            "speaker": null, "is_error": role == "tool_result", "text": text, "tool_text": tool_text, "time": null,
            "time_quality": "none", "project": null, "branch": null, "directory": null, "model": null, "title": null,
            "source": {"path": "p", "line": 1}
        })
    }

    fn made(focus: Option<usize>, within: &str) -> String {
        let shown: Shown = serde_json::from_value(json!({
            "episode": "eeee", "focus": null, "turns_before": 150, "turns_after": 7, "found": [151, 153],
            "turns": [
                turn("aa", "human", "why does <b>it</b> stall?", ""),
                turn("bb", "tool_call", "", "Bash\n{\"command\": \"make scraper\", \"description\": \"Build it\"}"),
                turn("cc", "tool_result", "", "error: dry <hull>"),
                turn("dd", "assistant", "Because of the **hull**.\n```rust\nfn a() {}\n```", ""),
                turn("ee", "human", "third", ""),
                turn("ff", "summary", "it was all said", ""),
            ]
        }))
        .unwrap();
        let session: OpenedSession = serde_json::from_value(json!({
            "id": "eeee", "session": "native/1", "agent": "claude-code", "kind": "session", "title": "<t>", "project": null,
            "directory": null, "started": null, "updated": null, "turns": 163, "forgotten": null, "asked_last": null, "last_read": null,
            "links": [{"kind": "pull_request", "value": "javascript:alert(1)"}, {"kind": "pr", "value": "https://x.test/1"}]
        }))
        .unwrap();
        let reading = Reading {
            session: &session,
            shown: &shown,
            focus,
            asked: Marker::Nothing,
            found: Marker::of_text(Some(within)),
            within,
            hit: 1,
            memories: HashMap::new(),
        };
        reading.page().0
    }

    #[test]
    fn a_part_is_divided_into_exchanges_with_tools_folded_into_a_line() {
        let html = made(None, "");
        assert_eq!(html.matches("<section class=\"exchange\"").count(), 2, "{html}");
        assert!(
            html.contains("<b>Bash</b> <span class=\"mark bad\">error</span> <span class=\"quiet\">Build it</span>"),
            "{html}"
        );
        assert!(html.contains("error: dry &lt;hull&gt;") && html.contains("class=\"tool failed\""), "{html}");
        assert!(html.contains("class=\"language-rust\"") && html.contains("why does &lt;b&gt;it&lt;/b&gt; stall?"), "{html}");
        assert!(!html.contains("href=\"javascript") && html.contains("href=\"https://x.test/1\""), "{html}");
    }

    #[test]
    fn the_parts_around_it_are_links_that_do_not_overlap() {
        let html = made(None, "");
        assert!(html.contains("session/eeee?from=51&amp;count=100\">Previous"), "{html}");
        assert!(html.contains("session/eeee?from=157&amp;count=100\">Next"), "{html}");
    }

    #[test]
    fn the_turn_that_was_asked_for_is_marked_and_open() {
        let html = made(Some(153), "");
        assert!(html.contains("<article class=\"turn focus\" id=\"n152\" aria-current=\"true\"><span id=\"at\">"), "{html}");
        assert_eq!(html.matches("aria-current").count(), 1, "{html}");
        assert!(html.contains("<details class=\"tool failed\" open>"), "{html}");
    }

    #[test]
    fn words_to_find_are_marked_and_lead_to_the_next_place() {
        let html = made(Some(151), "hull");
        assert!(html.contains("<strong><mark>hull</mark></strong>") && html.contains("&lt;<mark>hull</mark>&gt;"), "{html}");
        assert!(html.contains("2 turns, now at the 1st") && html.contains("?in=hull&amp;hit=2#at"), "{html}");
    }

    #[test]
    fn the_line_of_a_tool_tells_what_it_does() {
        assert_eq!(told("{\"file_path\": \"/a/b.rs\", \"limit\": 3}"), "/a/b.rs");
        assert_eq!(told("const r = await run({\"cmd\":\"ls \\\"x\\\"\\npwd\"})"), "ls \"x\" pwd");
        assert_eq!(told("command: make x\ndescription: Build it"), "Build it");
        assert_eq!(told("{\"n\": 1}"), "{\"n\": 1}");
        assert_eq!(told("  plain\nwords "), "plain words");
    }

    #[test]
    fn a_turn_leads_to_the_turns_beside_it() {
        let page = |focus: &str, turns: &[&str]| {
            let turns: Vec<Value> = turns.iter().map(|id| turn(id, "assistant", &format!("<i>{id}</i>"), "")).collect();
            let shown =
                json!({"episode": "eeee", "focus": focus, "turns_before": 0, "turns_after": 0, "found": [], "turns": turns});
            turn_page(&serde_json::from_value(shown).unwrap()).0
        };
        let middle = page("bb", &["aa", "bb", "cc"]);
        assert!(middle.contains("rel=\"prev\" href=\"turn/aa\"") && middle.contains("rel=\"next\" href=\"turn/cc\""), "{middle}");
        assert!(middle.contains("&lt;i&gt;bb&lt;/i&gt;</pre>") && middle.contains("session/eeee?at=bb#at"), "{middle}");
        let first = page("aa", &["aa", "bb"]);
        assert!(!first.contains("rel=\"prev\"") && first.contains("href=\"turn/bb\""), "{first}");
        let alone = page("aa", &["aa"]);
        assert!(!alone.contains("rel=") && alone.contains("<pre"), "{alone}");
    }

    #[test]
    fn a_long_text_is_cut_and_the_whole_is_a_link_away() {
        let long: Turn =
            serde_json::from_value(turn("zz", "tool_call", "", &format!("Bash\n{}", "x".repeat(1_000_000)))).unwrap();
        let html = tool(&long, None, &Marker::Nothing, false).0;
        assert!(html.len() < 5_000 && html.contains("turn/zz"), "{}", html.len());
    }
}
