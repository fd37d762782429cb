//! Receipts: the list of sessions that were given something, and what one was given.

use maud::{Markup, html};
use yore_core::relevance::SkipReason;
use yore_core::time::format_utc;

use super::parts::{self, count};
use super::view::{Content, Input, Row};
use crate::api::calls::receipts as calls;
use crate::api::route::Caller;
use crate::error::CliResult;
use crate::inject::receipts::in_words;
use crate::results::{GivenAnswer, SessionCost};

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/receipts", view: list }, Row { path: "/receipts/{session}", view: one }]
}

fn list(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let page = calls::list(caller, input.read()?)?;
    let body = html! {
        h1 { "Receipts" }
        p.quiet { "What each session was given, without being asked or by a tool, and what it cost." }
        @if page.items.is_empty() {
            section.empty {
                p { "No session was given anything yet." }
                p { "Enter " code { "yore install" } " to connect an agent: what its sessions are given from then on stands here." }
            }
        }
        ul.items {
            @for session in &page.items {
                li.item data-item {
                    div.meta {
                        @if let Some(agent) = &session.agent { span.kind { (agent) } }
                        @if let Some(project) = &session.project { span.project { (project) } }
                        span { (count(session.memories)) " given, " (count(session.tokens)) " tokens" }
                        @if session.memories == 0 { span { (silent(session)) } }
                    }
                    a.statement href={ "receipts/" (session.session) } { (session.session) }
                }
            }
        }
        (parts::more("receipts", &input.with("after", page.next.as_deref()), page.next.as_deref()))
    };
    Ok(Content::new("Receipts", body))
}

fn silent(session: &SessionCost) -> String {
    let times: u64 = session.silences.values().sum();
    format!("silent {} times", count(times))
}

fn one(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let receipt = calls::open(caller, input.read()?)?;
    let cost = &receipt.cost;
    let used = receipt.items.iter().filter(|item| item.fate == "used").count();
    let followed = receipt.items.iter().filter(|item| item.fate != "unknown").count();
    let body = html! {
        h1 { "Receipt" }
        dl {
            dt { "Session" } dd { a href={ "session/" (cost.session) } { (cost.session) } }
            @if let Some(agent) = &cost.agent { dt { "Agent" } dd { (agent) } }
            @if let Some(project) = &cost.project { dt { "Project" } dd { (project) } }
            dt { "Given" } dd { (count(receipt.items.len() as u64)) " things, " (count(cost.tokens)) " tokens, in " (cost.micros / 1_000) " ms" }
            dt { "Used" }
            dd {
                @if followed == 0 { "not known: only memories are followed, and none was given" }
                @else { (used) " of " (followed) " memories were opened, or the agent's answer repeated them" }
            }
        }
        @if !receipt.items.is_empty() {
            h2 { "What it was given" }
            ul.items {
                @for item in &receipt.items {
                    li.item data-item {
                        div.meta {
                            span.kind { (item.kind) }
                            span { (event(&item.event)) }
                            (parts::time(Some(&item.time)))
                            span.mark.used[item.fate == "used"] {
                                @match item.fate.as_str() { "used" => { (item.ways.join(", ")) } "unused" => "not used" _ => "not followed" }
                            }
                        }
                        @match item.kind.as_str() {
                            "memory" => a.statement href={ "memories/" (item.id) } { (item.text) },
                            "turn" => a.statement href={ "turn/" (item.id) } { (item.text) },
                            _ => p.quiet { "It is not there any more." },
                        }
                        @if let Some(question) = &item.question { p.quiet { "Because of: " (question) } }
                    }
                }
            }
        }
        (answers(&cost.answers))
    };
    Ok(Content::new("Receipt", body))
}

fn event(name: &str) -> &str {
    match name {
        "SessionStart" => "at the beginning",
        "UserPromptSubmit" => "on a prompt",
        "PreToolUse" => "before a tool",
        "PostToolUse" => "after a tool",
        other => other,
    }
}

/// Returns why nothing was given, in words.
fn silence(answer: &GivenAnswer) -> &'static str {
    let reason = answer.silence.as_ref().and_then(|name| serde_json::from_value::<SkipReason>(name.as_str().into()).ok());
    reason.map_or("", in_words)
}

fn answers(answers: &[GivenAnswer]) -> Markup {
    html! {
        h2 { "Each occasion" }
        div.table { table {
            thead { tr { th scope="col" { "When" } th scope="col" { "Event" } th.number scope="col" { "Tokens" } th.number scope="col" { "ms" } th scope="col" { "Why nothing" } } }
            tbody {
                @for answer in answers {
                    tr {
                        td { (parts::time(Some(&format_utc(answer.at_ms)))) }
                        td { (event(&answer.event)) }
                        td.number { (count(answer.tokens)) }
                        td.number { (answer.micros / 1_000) }
                        td { (silence(answer)) }
                    }
                }
            }
        } }
    }
}
