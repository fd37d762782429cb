//! Pieces of markup that views share.

use maud::{Markup, html};
use serde_json::Value;

use crate::results::MemoryRecord;

/// Returns a button that changes something: it sends `body` to a path of the API. `ask`: a question that must be confirmed first.
pub fn change(label: &str, method: &str, path: &str, body: &Value, ask: Option<&str>) -> Markup {
    html! {
        button type="button" data-method=(method) data-path={ "api/v1/" (path) } data-body=(body.to_string()) data-ask=[ask] { (label) }
    }
}

/// Returns a button like that of [`change`]; `words` are told when the change, which is no operation of the log, was made.
pub fn change_saying(label: &str, path: &str, body: &Value, ask: Option<&str>, words: &str) -> Markup {
    html! {
        button type="button" data-method="POST" data-path={ "api/v1/" (path) } data-body=(body.to_string()) data-ask=[ask] data-words=(words) { (label) }
    }
}

/// Returns an id or a name as a part of a path.
pub fn segment(id: &str) -> String {
    url::form_urlencoded::byte_serialize(id.as_bytes()).collect::<String>().replace('+', "%20")
}

/// Returns a time in its short form, with the exact one as its title.
pub fn time(rfc3339: Option<&str>) -> Markup {
    html! {
        @if let Some(at) = rfc3339 {
            time datetime=(at) title=(at) { (at.get(..10).unwrap_or(at)) @if let Some(clock) = at.get(11..16) { " " (clock) } }
        }
    }
}

/// Returns the day of a time.
pub fn day(rfc3339: Option<&str>) -> Markup {
    html! {
        @if let Some(at) = rfc3339 { time datetime=(at) title=(at) { (at.get(..10).unwrap_or(at)) } }
    }
}

/// Returns the link to the next page of a list.
pub fn more(path: &str, query: &str, next: Option<&str>) -> Markup {
    html! {
        @if next.is_some() { p.more { a rel="next" href={ (path) "?" (query) } { "More" } } }
    }
}

/// Returns a memory as an item of a list.
pub fn memory_item(memory: &MemoryRecord) -> Markup {
    html! {
        li.item data-item {
            div.meta {
                span.kind { (memory.kind) }
                @if memory.status != "holds" { span.mark.warn { (memory.status) } }
                @if memory.lane == "extracted" { span.mark { "extracted" } }
                @if memory.pinned { span.mark { "pinned" } }
                @if memory.standing.tier != "active" { span.mark { (memory.standing.tier) } }
                @if let Some(project) = &memory.project { span.project { (project) } }
                (day(memory.valid_from.as_deref().or(memory.recorded.as_deref())))
            }
            a.statement href={ "memories/" (memory.id) } {
                @if let Some(title) = &memory.title { strong { (title) } " " }
                (memory.statement)
            }
        }
    }
}

/// Returns a chart of values as bars, each with its name and value as title, and a table that says the same.
pub fn bars(title: &str, unit: &str, values: &[(String, u64)]) -> Markup {
    const HEIGHT: u64 = 120;
    const STEP: usize = 16;
    const LABELS: u64 = 22;
    let most = values.iter().map(|(_, value)| *value).max().unwrap_or(0).max(1);
    let width = (values.len() * STEP).max(1);
    html! {
        figure.bars {
            figcaption { (title) span.quiet { @if values.iter().any(|(_, value)| *value > 0) { ", at most " (count(most)) } @else { ": none" } } }
            div {
                svg viewBox={ "0 0 " (width) " " (HEIGHT + LABELS) } width=(width) height=(HEIGHT + LABELS) role="img" aria-label={ (title) ": " (values.len()) " values, at most " (most) " " (unit) } {
                    @for (at, (name, value)) in values.iter().enumerate() {
                        @let height = (value * HEIGHT).div_ceil(most);
                        rect x=(at * STEP + 2) y=(HEIGHT - height + 2) width=(STEP - 4) height=(height.max(1)) { title { (name) ": " (count(*value)) " " (unit) } }
                    }
                    // Below so many bars there is no room for both.
                    @if let [(first, _), .., (last, _)] = values && values.len() > 10 {
                        text x="2" y=(HEIGHT + LABELS - 5) { (first) }
                        text x=(width - 2) y=(HEIGHT + LABELS - 5) text-anchor="end" { (last) }
                    }
                }
            }
            details {
                summary { "As a table" }
                div.table tabindex="0" role="region" aria-label=(title) { table {
                    thead { tr { th scope="col" { "When" } th.number scope="col" { (unit) } } }
                    tbody { @for (name, value) in values { tr { th scope="row" { (name) } td.number { (count(*value)) } } } }
                } }
            }
        }
    }
}

/// Returns a number with its thousands apart.
pub fn count(number: u64) -> String {
    crate::render::text::count(number)
}

/// Returns bytes in a readable unit.
pub fn bytes(number: u64) -> String {
    crate::render::text::bytes(number)
}

/// Returns text of yore's own, in which what stands between backticks is code.
pub fn own_words(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() { @if at % 2 == 1 { code { (part) } } @else { (part) } }
    }
}

/// Returns the address of the very words of a turn.
pub fn words_at(episode: Option<&str>, turn: &str, question: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("at", turn);
    if !question.is_empty() {
        query.append_pair("q", question);
    }
    format!("session/{}?{}#at", segment(episode.unwrap_or(turn)), query.finish())
}

/// Says why a memory of a lane has no evidence.
pub fn no_evidence(lane: &str) -> &'static str {
    match lane {
        "extracted" => "No evidence is left: the session that it was found in was forgotten.",
        _ => "No evidence: it was recorded by hand, by an agent or by an import.",
    }
}
