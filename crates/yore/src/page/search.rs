//! Search: results as the person asked, each with why it was found; things at a level; and what is held, where nothing is asked.

use maud::{Markup, html};
use yore_core::query::MissingCode;

use super::forms::{given, project, words};
use super::marker::Marker;
use super::parts;
use super::view::{Content, Input, Row};
use crate::api::calls::{memories, projects, recall, sessions};
use crate::api::route::{Caller, Nothing};
use crate::error::CliResult;
use crate::results::{AtLevel, Hit, HitMemory, MemoryEvidence, Recalled, View};

/// Name of an argument that only the page has: the field gets the focus.
const FOCUS: &str = "focus";
/// Sessions and things that wait, where nothing is asked.
const LATEST: usize = 8;
const WAITING: usize = 5;
/// Choices of the filters: value and name.
const KINDS: [(&str, &str); 9] = [
    ("turn", "what was said"),
    ("memory", "memories"),
    ("decision", "decisions"),
    ("solution", "solutions"),
    ("problem", "problems"),
    ("question", "questions"),
    ("todo", "todos"),
    ("preference", "preferences"),
    ("note", "notes"),
];
/// Arguments that have a field in the form.
const FIELDS: [&str; 10] = ["kind", "role", "as", "project", "agent", "session", "file", "since", "until", "as_of"];
/// Arguments that have none: the form carries them on, and the next question has them too.
const CARRIED: [&str; 5] = ["errors", "status", "branch", "valid_at", "limit"];
/// Argument that holds for one question only.
const LEAST: &str = "min_confidence";
/// Kinds that are chips; the others are in the list of the filters.
const CHIPS: usize = 4;
const ROLES: [(&str, &str); 5] = [
    ("human", "by you"),
    ("assistant", "by the agent"),
    ("tool_call", "calls of tools"),
    ("tool_result", "results of tools"),
    ("summary", "summaries"),
];
const ANSWERS: [(&str, &str); 9] = [
    ("passages", "passages"),
    ("decisions", "decisions"),
    ("todos", "todos"),
    ("questions", "questions"),
    ("problems", "problems"),
    ("plans", "plans"),
    ("rules", "rules"),
    ("commands", "commands"),
    ("overview", "overview"),
];
/// The levels that a result can be read at, with what they are called.
const LEVELS: [(&str, &str); 4] =
    [("line", "In a line"), ("passage", "The passage"), ("whole", "The whole"), ("related", "Related things")];

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/", view: search }, Row { path: "/deepen/{id}", view: deepen }]
}

fn search(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let input = Input { path: input.path.clone(), query: Some(input.with(FOCUS, None)) };
    let asked: recall::Recall = input.read()?;
    let question = asked.question.trim().to_owned();
    let shown = if question.is_empty() {
        overview(caller)?
    } else {
        let mut recalled = recall::recall(caller, asked)?;
        if caller.may_be_full {
            // The daemon makes the few vectors that lack.
            recalled.missing.retain(|missing| missing.code != MissingCode::Vectors.as_str());
        }
        html! { (chips(&input)) (results(&recalled, &input)) }
    };
    let names = projects::names(caller, Nothing {})?;
    let body = html! {
        h1.unseen { "Search" }
        (form(&input, &question, &names))
        p.unseen #told role="status" {}
        div #results { (shown) }
    };
    let title = if question.is_empty() { "Search".to_owned() } else { format!("{question} · Search") };
    Ok(Content::new(title, body))
}

fn form(input: &Input, question: &str, names: &[String]) -> Markup {
    let choice = |name: &'static str, label: &str, choices: &[(&str, &str)]| {
        let chosen = given(input, name);
        html! {
            label {
                (label) " "
                select name=(name) {
                    option value="" { "any" }
                    @for (value, words) in choices { option value=(value) selected[chosen == *value] { (words) } }
                    @if !chosen.is_empty() && !choices.iter().any(|(value, _)| *value == chosen) {
                        option value=(chosen) selected { (chosen) }
                    }
                }
            }
        }
    };
    let is_filtered = FIELDS.iter().any(|name| !given(input, name).is_empty());
    let is_carried = |name: &str| CARRIED.contains(&name);
    let carried: Vec<(String, String)> =
        input.pairs().into_iter().filter(|(name, value)| is_carried(name) && !value.trim().is_empty()).collect();
    html! {
        form.search #search role="search" action="./" method="get" {
            label.unseen for="q" { "What do you look for?" }
            div.field {
                input #q type="search" name="q" value=(question) placeholder="What was decided, said, tried, why?" autocomplete="off"
                    autofocus[question.is_empty()];
                @for (name, value) in &carried { input type="hidden" name=(name) value=(value); }
                button.primary type="submit" { "Search" }
            }
            details.filters open[is_filtered] {
                summary { "Filters" }
                div.fields {
                    (choice("kind", "What", &KINDS))
                    (choice("role", "Said", &ROLES))
                    (choice("as", "Answer as", &ANSWERS))
                    (project(input, names))
                    (words(input, "agent", "Agent", "claude-code"))
                    (words(input, "session", "Session", "id"))
                    (words(input, "file", "File", "name or path"))
                    (words(input, "since", "Since", "2026-01-31, last week"))
                    (words(input, "until", "Until", ""))
                    (words(input, "as_of", "As known on", ""))
                }
            }
        }
    }
}

/// Returns the kinds as links, and the filters that are set, each as a link that takes it out.
fn chips(input: &Input) -> Markup {
    let kind = given(input, "kind");
    let address = |name: &str, value: Option<&str>| format!("./?{}", input.with(name, value));
    let names = FIELDS.iter().chain(&CARRIED).copied().chain([LEAST]).filter(|name| *name != "kind");
    let pairs = input.pairs();
    let values = |name: &str| {
        let of = pairs.iter().filter(|(known, value)| known == name && !value.trim().is_empty());
        of.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(", ")
    };
    let set: Vec<(&str, String)> = names.map(|name| (name, values(name))).filter(|(_, value)| !value.is_empty()).collect();
    html! {
        nav.chips aria-label="Kinds of results and filters" {
            a.chip href=(address("kind", None)) aria-current=[kind.is_empty().then_some("true")] { "all" }
            @for (value, words) in &KINDS[..CHIPS] {
                a.chip href=(address("kind", Some(value))) aria-current=[(kind == *value).then_some("true")] { (words) }
            }
            @if !kind.is_empty() && !KINDS[..CHIPS].iter().any(|(value, _)| *value == kind) {
                a.chip href=(address("kind", None)) aria-current="true" { (kind) }
            }
            @for (name, value) in &set {
                a.chip href=(address(name, None)) title={ "Without the filter " (name.replace('_', " ")) } {
                    (name.replace('_', " ")) ": " (value) " ×"
                }
            }
        }
    }
}

/// Returns an answer.
fn results(recalled: &Recalled, input: &Input) -> Markup {
    let question = recalled.question.as_deref().unwrap_or_default();
    let marker = Marker::of_terms(recalled.terms.iter().flatten().map(String::as_str));
    html! {
        (state(recalled, input))
        @if let Some(view) = &recalled.view { (rows(view, recalled.answer_kind.as_deref())) }
        @if !recalled.results.is_empty() {
            @if recalled.view.is_some() { h2 { "What was said about it" } } @else { h2.unseen { "Results" } }
            ol.items.hits { @for found in &recalled.results { (hit(found, question, &marker, recalled)) } }
        }
        @if !recalled.files.is_empty() {
            h2 { "Files" }
            ul { @for file in &recalled.files { li { code { (file.path) } } } }
        }
    }
}

/// Returns how sure an answer is, and what it lacks.
fn state(recalled: &Recalled, input: &Input) -> Markup {
    let has_rows = recalled.view.as_ref().is_some_and(|view| !view.rows.is_empty());
    let count = recalled.results.len();
    let is_nothing = count == 0 && !has_rows;
    let without = |name: &str| format!("./?{}", input.with(name, None));
    html! {
        p.quiet.state {
            @if count > 0 {
                (count) @if count == 1 { " result" } @else { " results" } " · evidence "
                (strength(&recalled.strength)) " "
            } @else if is_nothing {
                strong {
                    @if recalled.refused { "Nothing that bears on it" } @else { "Nothing found" }
                    @if recalled.projects.is_empty() { " in any project" }
                } " "
            }
            @if !recalled.projects.is_empty() { @if count > 0 { "· " } "in " (recalled.projects.join(", ")) " " }
            @if !recalled.never_met.is_empty() { "· never met: " (recalled.never_met.join(", ")) }
        }
        @if is_nothing && (recalled.refused || !recalled.projects.is_empty()) {
            p.actions {
                @if recalled.refused { a href={ "./?" (input.with(LEAST, Some("0"))) } { "Show what is nearest" } }
                @if !recalled.projects.is_empty() { a href=(without("project")) { "Search all projects" } }
            }
        }
        @for withheld in &recalled.withheld {
            @let words = withheld.filters.iter().map(|name| name.replace('_', " ")).collect::<Vec<_>>().join(" and ");
            p.notice {
                "Without " @if let Some(query) = unfiltered(input, &withheld.filters) { a href={ "./?" (query) } { (words) } } @else { (words) }
                ": " (withheld.results) @if withheld.results == 1 { " result" } @else { " results" }
            }
        }
        @for period in recalled.periods.iter().filter(|period| period.found == 0) {
            p.notice { "Nothing was found " (span(period.from.as_deref(), period.to.as_deref())) }
        }
        @for missing in &recalled.missing {
            p.notice { (missing.text) @if let Some(remedy) = &missing.remedy { "; " (remedy) } }
        }
    }
}

/// Returns the query without filters that the engine names; `None` if the query has none of them.
fn unfiltered(input: &Input, filters: &[String]) -> Option<String> {
    let argument = |name: &str| match name {
        // One field says which kinds of things answer.
        "memories" | "turns" => "kind".to_owned(),
        // Notes have an agent of their own.
        "agent" if given(input, "agent").is_empty() => "kind".to_owned(),
        name => name.to_owned(),
    };
    let names: Vec<String> = filters.iter().map(|name| argument(name)).collect();
    let is_given = names.iter().any(|name| !given(input, name).is_empty());
    is_given.then(|| {
        let without = |query: String, name: &String| Input { query: Some(query), ..Input::default() }.with(name, None);
        names.iter().fold(input.query.clone().unwrap_or_default(), without)
    })
}

fn span(from: Option<&str>, to: Option<&str>) -> Markup {
    html! {
        @if from.is_some() { "from " (parts::day(from)) " " }
        @if to.is_some() { "until " (parts::day(to)) }
    }
}

fn strength(word: &str) -> Markup {
    html! { span.strength.strong[word == "strong"].fair[word == "fair"].weak[word == "weak"] { (word) } }
}

/// Returns the rows of an answer in kind.
fn rows(view: &View, kind: Option<&str>) -> Markup {
    html! {
        section.view {
            h2 {
                (capital(&kind.unwrap_or("answer").replace('_', " ")))
                @if let Some(subject) = &view.subject { " about " (subject) }
                @if view.rows.len() < view.total { span.quiet { " · " (view.rows.len()) " of " (view.total) } }
            }
            @if view.rows.is_empty() { p { "None" @if view.subject.is_some() && view.all > 0 { "; " (view.all) " about other things" } "." } }
            ul.items {
                @for row in &view.rows {
                    li.item data-item {
                        div.meta {
                            @if let Some(state) = &row.state { span.kind { (state) } }
                            (parts::time(row.at.as_deref()))
                        }
                        @if let Some(id) = &row.id {
                            a.statement href={ "deepen/" (parts::segment(id)) "?level=whole" } { (row.text) }
                        } @else {
                            span.statement { (row.text) }
                        }
                        @for detail in &row.details { p.quiet.said { (detail) } }
                    }
                }
            }
        }
    }
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().collect::<String>() + letters.as_str()).unwrap_or_default()
}

/// Returns the name of a speaker, as a person reads it.
pub fn speaker(role: &str, agent: Option<&str>) -> String {
    match role {
        "human" => "you".to_owned(),
        "assistant" => agent.unwrap_or("agent").to_owned(),
        "tool_call" => "call of a tool".to_owned(),
        "tool_result" => "result of a tool".to_owned(),
        other => other.replace('_', " "),
    }
}

fn hit(hit: &Hit, question: &str, marker: &Marker, recalled: &Recalled) -> Markup {
    let episode = hit.exact.as_ref().and_then(|exact| exact.episode.as_deref());
    html! {
        li.item.hit data-item {
            div.meta {
                @if let Some(memory) = &hit.memory {
                    span.kind { (memory.kind) }
                    @if memory.status != "holds" { span.mark.warn { (memory.status) } }
                    @if memory.closed { span.mark { "closed" } }
                    @if memory.lane == "extracted" { span.mark { "extracted" } }
                } @else {
                    span.kind { (speaker(hit.role.as_deref().unwrap_or_default(), hit.agent.as_deref())) }
                }
                @match hit.memory.as_ref().and_then(|memory| memory.valid_from.as_deref()) {
                    Some(since) => span { "since " (parts::day(Some(since))) },
                    None => (parts::time(hit.time.as_deref())),
                }
                @if let Some(project) = &hit.project { span.project { (project) } }
                (strength(&hit.strength))
                @if let Some(caveat) = &hit.caveat { span.mark.warn { (caveat.replace('_', " ")) } }
            }
            @if let Some(memory) = &hit.memory {
                (memory_of(memory, &hit.id, episode, question, marker))
            } @else {
                a.words href=(parts::words_at(episode, &hit.id, question)) title="The very words in their session" {
                    blockquote.said { (marker.mark(hit.quote.as_deref().unwrap_or_default())) }
                }
                @for said in hit.exchange.iter().flatten() {
                    p.beside { span.quiet { (speaker(&said.role, hit.agent.as_deref())) ": " } span.said { (marker.mark(&said.text)) } }
                }
            }
            @if let Some(reply) = &hit.reply {
                p.beside { span.quiet { "then " (speaker(&reply.role, hit.agent.as_deref())) ": " } span.said { (marker.mark(&reply.text)) } }
            }
            @if let Some(title) = &hit.title { p.quiet.title { "in " span.said { (title) } } }
            div.depth {
                nav aria-label={ "Result " (hit.rank) } {
                    @if hit.memory.is_some() { a href={ "memories/" (parts::segment(&hit.id)) } { "Open" } }
                    @else { a href=(parts::words_at(episode, &hit.id, question)) { "Open" } }
                    @for (level, name) in LEVELS {
                        a href=(level_address(&hit.id, level, question)) data-level { (name) }
                    }
                }
                (why(hit, recalled))
            }
            div.level {}
        }
    }
}

fn level_address(id: &str, level: &str, question: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("level", level);
    if !question.is_empty() {
        query.append_pair("question", question);
    }
    format!("deepen/{}?{}", parts::segment(id), query.finish())
}

fn memory_of(memory: &HitMemory, id: &str, episode: Option<&str>, question: &str, marker: &Marker) -> Markup {
    html! {
        a.statement href={ "memories/" (parts::segment(id)) } { (marker.mark(&memory.statement)) }
        @if let Some(cause) = &memory.cause { p.quiet { (memory.status) ": " (cause) } }
        @for past in memory.history.iter().take(3) {
            p.quiet {
                @if past.likely { "likely changes " } @else { "took the place of " }
                a href={ "memories/" (parts::segment(&past.id)) } { (past.statement) }
                @if past.until.is_some() { " (held until " (parts::day(past.until.as_deref())) ")" }
            }
        }
        @for other in &memory.contradicts {
            p.quiet { span.mark.warn { "contradicts" } " " a href={ "memories/" (parts::segment(&other.id)) } { (other.statement) } }
        }
        @for thing in &memory.changed {
            p.quiet { span.mark.warn { (thing.verdict) } " " (thing.kind) " " code { (thing.name) } @if let Some(detail) = &thing.detail { ": " (detail) } }
        }
        @for (at, MemoryEvidence { turn, quote }) in memory.evidence.iter().enumerate().take(3) {
            @let episode = episode.filter(|_| at == 0);
            a.words href=(parts::words_at(episode, turn, question)) title="The words that it rests on, in their session" {
                blockquote.said { (marker.mark(quote)) }
            }
        }
    }
}

/// Returns why a result was found: the parts of its score, its lists, and the relation that led to it.
fn why(hit: &Hit, recalled: &Recalled) -> Markup {
    let Some(exact) = &hit.exact else { return html! {} };
    let led: Vec<&str> = match &hit.memory {
        _ if !exact.lists.iter().any(|list| list.list == "graph") => Vec::new(),
        Some(memory) => {
            let is_of = |name: &&str| memory.entities.iter().any(|entity| entity == name);
            let names: Vec<&str> = recalled.entities.iter().map(|entity| entity.name.as_str()).collect();
            let near: Vec<&str> = names.iter().copied().filter(is_of).collect();
            if near.is_empty() { names } else { near }
        }
        None => recalled.entities.iter().map(|entity| entity.name.as_str()).collect(),
    };
    html! {
        details.why {
            summary { "Why found" }
            table {
                caption { "Score " (format!("{:.2}", hit.score)) ", likelihood " (format!("{:.0} %", hit.confidence * 100.0)) }
                thead { tr { th scope="col" { "Part of the score" } th.number scope="col" { "Value" } } }
                tbody {
                    @for (part, value) in &exact.score_parts {
                        tr { th scope="row" { (part_name(part)) } td.number { (format!("{value:+.2}")) } }
                    }
                }
            }
            @if !exact.lists.is_empty() {
                p {
                    "Found by "
                    @for (at, list) in exact.lists.iter().enumerate() {
                        @if at > 0 { ", " }
                        (list_name(&list.list)) " (place " (list.rank) ")"
                    }
                }
            }
            @if !led.is_empty() { p { "Relations led to it from " (led.join(", ")) } }
            @if !hit.near_duplicates.is_empty() { p { (hit.near_duplicates.len()) " more with nearly the same words" } }
            @if let Some(source) = &hit.source { p.quiet { "Read from " code { (source.path) ":" (source.line) } @if source.is_gone == Some(true) { " (the file is gone)" } } }
        }
    }
}

fn part_name(part: &str) -> String {
    match part {
        "text" => "words of the question in it".to_owned(),
        "tool" => "words in input and output of tools".to_owned(),
        "meaning" => "similar meaning".to_owned(),
        "neighbour" => "turns nearby".to_owned(),
        "session" => "the rest of the session".to_owned(),
        "conclusive" => "end of its exchange, words of the question".to_owned(),
        "newer" => "newer than others about it".to_owned(),
        "period" => "said in the period that was named".to_owned(),
        "links" => "links between passages".to_owned(),
        "diversity" => "other than the results above".to_owned(),
        "talk" => "who spoke, and the words nearby".to_owned(),
        "graph" => "relations".to_owned(),
        "memory" => "a memory: its strength and standing".to_owned(),
        other => other.replace('_', " "),
    }
}

fn list_name(list: &str) -> &str {
    match list {
        "static" => "similar meaning",
        "model" => "similar meaning by the local model",
        "period" => "the period that was named",
        "graph" => "relations",
        other => other,
    }
}

/// Shows a thing at a level.
fn deepen(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let asked: recall::Deepen = input.read()?;
    let question = asked.question.clone().unwrap_or_default();
    let found = recall::deepen(caller, asked)?;
    let id = input.path.get("id").map(String::as_str).unwrap_or_default();
    let body = html! {
        h1 { (capital(&found.kind)) " at a level" }
        nav.chips aria-label="Levels" {
            @for (level, name) in LEVELS {
                a.chip href=(level_address(id, level, &question)) aria-current=[(found.level == level).then_some("true")] { (name) }
            }
            @if let Some(address) = address_of(&found.kind, &found.id) { a.chip href=(address) { "Open it" } }
        }
        (lines(&found))
    };
    Ok(Content::new("At a level", body))
}

/// Returns where a thing has a view of its own.
fn address_of(kind: &str, id: &str) -> Option<String> {
    match kind {
        "memory" => Some(format!("memories/{}", parts::segment(id))),
        "turn" => Some(parts::words_at(None, id, "")),
        "session" | "document" | "note" => Some(format!("session/{}", parts::segment(id))),
        "topic" => Some(parts::words_at(None, id.trim_start_matches("topic:"), "")),
        _ => None,
    }
}

/// Returns the lines of a thing at a level.
pub fn lines(found: &AtLevel) -> Markup {
    html! {
        div.lines {
            @if found.lines.is_empty() { p.quiet { "There is nothing to tell at this level." } }
            ul {
                @for line in &found.lines {
                    li {
                        span.meta {
                            @if let Some(relation) = &line.relation { span.relation { (relation) } }
                            span.kind { (line.what) }
                            (parts::time(line.at.as_deref()))
                        }
                        @if let Some(id) = line.id.as_deref().filter(|id| *id != found.id) {
                            a.statement href={ "deepen/" (parts::segment(id)) "?level=whole" } { (line.text) }
                        } @else {
                            div.said { (line.text) }
                        }
                    }
                }
            }
            @if found.left > 0 { p.quiet { (found.left) " more" } }
        }
    }
}

/// Returns what is held, where nothing is asked.
fn overview(caller: &mut Caller<'_>) -> CliResult<Markup> {
    let latest = sessions::list(caller, sessions::List { limit: Some(LATEST), ..sessions::List::default() })?;
    let held = memories::count(caller, memories::List::default())?.count;
    if latest.items.is_empty() && held == 0 {
        return Ok(first_run());
    }
    let waiting =
        memories::waiting(caller, memories::InboxRequest { limit: Some(WAITING), ..memories::InboxRequest::default() })?;
    let waits = waiting.conflicts_total + waiting.memories_total;
    Ok(html! {
        div.columns {
            section {
                h2 { "Last sessions" }
                ul.items { @for item in &latest.items { (super::sessions::item(item)) } }
                p.more { a href="sessions" { "All sessions" } }
            }
            section {
                h2 { "Held" }
                p { a href="memories" { (held) @if held == 1 { " memory" } @else { " memories" } } }
                p { a href="projects" { "Projects" } }
                p { a href="topics" { "Topics" } }
                h2 { "Waits for you" }
                @if waits == 0 { p.quiet { "Nothing." } }
                ul.plain {
                    @for conflict in &waiting.conflicts {
                        li { span.mark.warn { "contradiction" } " " a.clamped href="inbox" { (conflict.newer.statement) } }
                    }
                    @for memory in &waiting.memories { li { span.kind { (memory.kind) } " " a.clamped href="inbox" { (memory.statement) } } }
                }
                @if waits > 0 { p.more { a href="inbox" { "All " (waits) " in the inbox" } } }
            }
        }
    })
}

/// Returns what to do with an empty memory.
fn first_run() -> Markup {
    html! {
        section.empty {
            h2 { "Nothing is held yet" }
            ol {
                li { code { "yore up" } " reads the histories of the coding agents on this computer." }
                li { code { "yore install all" } " gives your agents the memory, and keeps it up to date." }
                li { "Then ask here: what was decided about something, since when, and why." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn recalled() -> Recalled {
        serde_json::from_value(json!({
            "question": "why <b>", "projects": ["tide"], "project_unknown": false, "program": "static",
            "missing": [{"code": "late", "text": "no time", "remedy": "ask again"}],
            "confidence": 0.4, "strength": "fair", "terms": ["moor"],
            "withheld": [{"filters": ["since"], "results": 3}], "never_met": ["xyzzy"],
            "answer_kind": "decisions",
            "view": {"rows": [{"text": "Moorings <hold>", "id": "0a1b", "state": "holds"}], "total": 1, "all": 2},
            "results": [{
                "rank": 1, "score": 1.5, "confidence": 0.4, "strength": "fair", "quote": "the mooring <script>holds</script>",
                "id": "aaaa", "agent": "claude-code", "kind": "session", "role": "assistant", "time": "2026-01-02T03:04:05Z",
                "project": "tide", "branch": null, "title": "a \"title\"", "near_duplicates": [],
                "score_parts": {"text": 1.5}, "lists": [{"list": "words", "rank": 2, "score": 3.0}], "native_id": null, "episode": "eeee"
            }]
        }))
        .unwrap()
    }

    fn asked(query: &str) -> Input {
        Input { query: Some(query.to_owned()), ..Input::default() }
    }

    #[test]
    fn a_result_has_its_words_its_reasons_its_levels_and_its_place() {
        let html = results(&recalled(), &asked("q=why+%3Cb%3E")).0;
        for wanted in [
            "the <mark>mooring</mark> &lt;script&gt;holds&lt;/script&gt;",
            "session/eeee?at=aaaa&amp;q=why+%3Cb%3E#at",
            "deepen/aaaa?level=related&amp;question=why",
            "words of the question in it",
            "Found by words (place 2)",
            "Without since: 3 results",
            "no time; ask again",
            "never met: xyzzy",
            "Moorings &lt;hold&gt;",
        ] {
            assert!(html.contains(wanted), "{wanted} in {html}");
        }
        let at = |words: &str| html.find(words).unwrap();
        assert!(at("Decisions") < at("What was said about it"), "the answer in kind comes first");
        assert!(!html.contains("<script"));
    }

    #[test]
    fn filters_that_are_set_are_links_that_take_them_out() {
        let input = asked("q=a&project=tide&kind=fact");
        let html = chips(&input).0;
        assert!(html.contains("project: tide ×") && html.contains("./?q=a&amp;kind=fact"), "{html}");
        assert!(html.contains("./?q=a&amp;project=tide&amp;kind=decision"), "{html}");
        let html = form(&input, "a", &["tide".to_owned()]).0;
        assert!(html.contains("<option value=\"fact\" selected>"), "{html}");
    }

    #[test]
    fn filters_without_a_field_are_carried_on_and_can_be_taken_out() {
        let input = asked("q=a&errors=true&branch=main&branch=next&min_confidence=0");
        let html = chips(&input).0;
        assert!(html.contains("branch: main, next ×") && html.contains("min confidence: 0 ×"), "{html}");
        assert!(html.contains("./?q=a&amp;branch=main&amp;branch=next&amp;min_confidence=0"), "{html}");
        let html = form(&input, "a", &["tide".to_owned()]).0;
        assert!(html.contains(r#"<input type="hidden" name="branch" value="next">"#), "{html}");
        assert!(!html.contains("min_confidence"), "it holds for one question: {html}");
    }

    #[test]
    fn an_answer_without_results_leads_to_those_that_there_are() {
        let nothing = Recalled { results: Vec::new(), view: None, refused: true, ..recalled() };
        let html = state(&nothing, &asked("q=a&since=today&project=tide")).0;
        for wanted in [
            "Nothing that bears on it",
            "<a href=\"./?q=a&amp;since=today&amp;project=tide&amp;min_confidence=0\">Show what is nearest</a>",
            "<a href=\"./?q=a&amp;since=today\">Search all projects</a>",
            "Without <a href=\"./?q=a&amp;project=tide\">since</a>: 3 results",
        ] {
            assert!(html.contains(wanted), "{wanted} in {html}");
        }
        let everywhere = Recalled { projects: Vec::new(), refused: false, withheld: Vec::new(), ..nothing };
        let html = state(&everywhere, &asked("q=a")).0;
        assert!(html.contains("Nothing found in any project") && !html.contains("<a "), "{html}");
    }

    #[test]
    fn filters_of_the_engine_are_arguments_of_the_page() {
        let without = |query: &str, name: &str| unfiltered(&asked(query), &[name.to_owned()]);
        assert_eq!(without("q=a&kind=decision", "memories").as_deref(), Some("q=a"));
        assert_eq!(without("q=a&kind=note", "agent").as_deref(), Some("q=a"));
        assert_eq!(without("q=a&agent=codex&kind=note", "agent").as_deref(), Some("q=a&kind=note"));
        assert_eq!(without("q=a", "code"), None);
    }
}
