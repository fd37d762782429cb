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
