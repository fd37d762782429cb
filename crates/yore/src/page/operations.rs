//! The log: changes of memories, entities and relations, each with what it changed, to be undone and done again.

use maud::{Markup, html};
use serde_json::json;

use super::memories::tabs;
use super::parts;
use super::view::{Content, Input, Row};
use crate::api::calls::changes::{self, Numbered};
use crate::api::route::Caller;
use crate::error::CliResult;
use crate::render::changes as told;
use crate::results::{OperationChange, OperationRecord};

/// Most changes of one operation that are shown.
const CHANGES: usize = 50;
/// Kinds of operations that may have changed thousands of things: the list does not open them.
const LARGE: [&str; 3] = ["extract", "import", "forget"];

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/log", view: log }, Row { path: "/log/{number}", view: one }]
}

fn log(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let list: changes::List = input.read()?;
    let memory = list.memory.clone();
    let page = changes::list(caller, list)?;
    let items = page.items.into_iter().map(|operation| opened(caller, operation)).collect::<CliResult<Vec<OperationRecord>>>()?;
    let body = html! {
        h1 { "Changes" }
        (tabs("log"))
        @if let Some(memory) = &memory {
            p { "Only of " a href={ "memories/" (parts::segment(memory)) } { "one memory" } ". " a href="log" { "All changes" } }
        }
        @if items.is_empty() { p { "Nothing was changed yet." } }
        ul.items { @for operation in &items { (item(operation)) } }
        (parts::more("log", &input.with("after", page.next.as_deref()), page.next.as_deref()))
    };
    Ok(Content::new("Changes", body))
}

fn one(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let operation = changes::open(caller, input.read::<Numbered>()?)?;
    let body = html! {
        h1 { "Change " (operation.number) }
        ul.items { (item(&operation)) }
    };
    Ok(Content::new(format!("Change {}", operation.number), body))
}

/// Returns an operation with what it changed, unless that may be much.
pub fn opened(caller: &mut Caller<'_>, operation: OperationRecord) -> CliResult<OperationRecord> {
    if LARGE.contains(&operation.kind.as_str()) {
        return Ok(operation);
    }
    changes::open(caller, Numbered { number: operation.number })
}

/// Returns an operation as an item of a list.
pub fn item(operation: &OperationRecord) -> Markup {
    let number = operation.number;
    let can_undo = operation.undone_by.is_none() && !operation.forgotten && operation.of.is_none() && operation.kind != "forget";
    let can_redo = operation.undone_by.is_some() && !operation.forgotten && operation.of.is_none();
    let is_large = LARGE.contains(&operation.kind.as_str());
    let main = operation.changes.iter().find(|change| change.kind == "memory").or(operation.changes.first());
    html! {
        li.item data-item {
            div.meta {
                a href={ "log/" (number) } { "#" (number) }
                (parts::time(operation.at.as_deref()))
                span { (operation.actor) @if !operation.by.is_empty() { ", " (operation.by) } }
                @if let Some(by) = operation.undone_by { span.mark { "undone by #" (by) } }
                @if let Some(of) = operation.of { span.mark { "of #" (of) } }
                @if operation.forgotten { span.mark { "forgotten" } }
            }
            div { (operation.summary) }
            @if let Some((main, said)) = main.and_then(|main| Some((main, told::said(main)?))) {
                div.rests { (thing(main, &said, operation.undone_by.is_some())) }
            }
            @if !operation.changes.is_empty() {
                details { summary { "What it changed" } (changed(&operation.changes, operation.undone_by.is_some())) }
            } @else if is_large && !operation.forgotten {
                p.quiet { a href={ "log/" (number) } { "What it changed" } }
            }
            @if can_undo || can_redo {
                div.actions {
                    @if can_undo { (parts::change("Undo", "POST", &format!("operations/{number}/undo"), &json!({}), is_large.then_some("Undo all of it?"))) }
                    @if can_redo { (parts::change("Do it again", "POST", &format!("operations/{number}/redo"), &json!({}), None)) }
                }
            }
        }
    }
}

/// Names a thing, with a link unless it is gone: it was new, and that was undone.
fn thing(change: &OperationChange, words: &str, is_undone: bool) -> Markup {
    let path = match change.kind.as_str() {
        _ if is_undone && change.before.is_none() => None,
        "memory" => Some(format!("memories/{}", change.id)),
        "entity" => Some(format!("entities/{}", change.id)),
        _ => None,
    };
    html! { @match path { Some(path) => a href=(path) { (words) }, None => (words) } }
}

fn changed(changes: &[OperationChange], is_undone: bool) -> Markup {
    html! {
        ul.plain {
            @for change in changes.iter().take(CHANGES) {
                @let fate = told::fate(change);
                li {
                    strong { (change.kind) } " "
                    @if change.kind == "relation" { (told::named(change)) }
                    @else { (thing(change, &told::said(change).unwrap_or_else(|| change.id.clone()), is_undone)) }
                    @if !fate.is_empty() { span.quiet { " (" (fate) ")" } }
                    @let members = told::members(change);
                    @if !members.is_empty() {
                        dl {
                            @for member in &members {
                                dt { (member.name) }
                                dd.said {
                                    @if let Some(before) = &member.before { del { (before) } " " }
                                    @if let Some(after) = &member.after { ins { (after) } }
                                }
                            }
                        }
                    }
                }
            }
        }
        @if changes.len() > CHANGES { p.quiet { "and " (changes.len() - CHANGES) " more" } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(kind: &str) -> OperationRecord {
        OperationRecord {
            number: 7,
            kind: kind.to_owned(),
            at: Some("2026-01-02T03:04:05Z".to_owned()),
            actor: "person".to_owned(),
            by: "api".to_owned(),
            input: None,
            summary: "edited <i>".to_owned(),
            of: None,
            undone_by: None,
            forgotten: false,
            changes: vec![OperationChange {
                kind: "memory".to_owned(),
                id: "0".repeat(32),
                before: Some(json!({"memory": {"statement": "old <b>"}})),
                after: Some(json!({"memory": {"statement": "new"}})),
            }],
        }
    }

    #[test]
    fn an_operation_offers_undo_until_it_is_undone() {
        let page = item(&operation("edit")).into_string();
        assert!(
            page.contains("operations/7/undo") && page.contains("<del>old &lt;b&gt;</del>") && page.contains("<ins>new</ins>")
        );
        let page = item(&OperationRecord { undone_by: Some(8), ..operation("edit") }).into_string();
        assert!(page.contains("operations/7/redo") && !page.contains("operations/7/undo"));
        for none in [OperationRecord { forgotten: true, ..operation("edit") }, operation("forget")] {
            assert!(!item(&none).into_string().contains("<button"));
        }
    }
}
