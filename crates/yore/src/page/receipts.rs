//! Receipts: the list of sessions that were given something, and what one was given.

use maud::{Markup, html};
use yore_core::relevance::{SkipReason, TriggerKind};
use yore_core::time::format_utc;

use super::parts::{self, count};
use super::view::{Content, Input, Row};
use crate::api::calls::receipts as calls;
use crate::api::calls::receipts::{GivenItem, Reason, Receipt, ReceiptOutline};
use crate::api::route::Caller;
use crate::error::CliResult;
use crate::inject::receipts::in_words;
use crate::render::text::counted;
use crate::results::{GivenAnswer, Page, SessionCost};

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/receipts", view: list }, Row { path: "/receipts/{session}", view: one }]
}

fn list(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let page = calls::list(caller, input.read()?)?;
    Ok(Content::new("Receipts", listed(&page, input)))
}

fn listed(page: &Page<ReceiptOutline>, input: &Input) -> Markup {
    html! {
        h1 { "Receipts" }
        p.quiet { "What each session was given, unasked or by a tool, what it cost, and whether it was used." }
        @if page.items.is_empty() {
            section.empty {
                p { "Nothing was given yet." }
                p { "Enter " code { "yore install" } " in a terminal to connect an agent: what its sessions are given from then on is listed here." }
            }
        }
        ul.items { @for session in &page.items { (outline(session)) } }
        (parts::more("receipts", &input.with("after", page.next.as_deref()), page.next.as_deref()))
    }
}

fn outline(session: &ReceiptOutline) -> Markup {
    let cost = &session.cost;
    html! {
        li.item data-item {
            div.meta {
                @if let Some(agent) = &cost.agent { span.kind { (agent) } }
                @if let Some(project) = &cost.project { a.project href={ "receipts?project=" (parts::segment(project)) } { (project) } }
                (parts::time(session.last.as_deref()))
            }
            a.statement href={ "receipts/" (parts::segment(&cost.session)) } { (session.title.as_deref().unwrap_or(&cost.session)) }
            div.meta {
                @if cost.memories == 0 { span { "given nothing in " (occasions(cost)) } }
                @else {
                    span { (things(cost.memories)) " given, " (count(cost.tokens)) " tokens" }
                    @if session.used > 0 { span.mark.used { (session.used) " of " (of_memories(session.followed)) " used" } }
                    @else if session.title.is_none() { span { "not known whether used: the session was not read" } }
                    @else if session.followed > 0 { span { "none of " (of_memories(session.followed)) " used so far" } }
                }
            }
        }
    }
}

fn things(number: u64) -> String {
    counted(number, "thing")
}

fn of_memories(number: u64) -> String {
    counted(number, "memory")
}

fn occasions(cost: &SessionCost) -> String {
    counted(cost.silences.values().sum(), "occasion")
}

fn one(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let receipt = calls::open(caller, input.read()?)?;
    let title = format!("Receipt of {}", receipt.title.as_deref().unwrap_or(&receipt.cost.session));
    Ok(Content::new(title, opened(&receipt)))
}

fn opened(receipt: &Receipt) -> Markup {
    let cost = &receipt.cost;
    let gifts: Vec<(&GivenAnswer, &Reason)> =
        cost.answers.iter().zip(&receipt.reasons).filter(|(gift, _)| is_gift(gift)).collect();
    html! {
        p { a href="receipts" { "All receipts" } }
        h1 { "Receipt" }
        dl {
            dt { "Session" }
            dd {
                @let title = receipt.title.as_deref().unwrap_or(&cost.session);
                @if let Some(session) = &receipt.opens { a href={ "session/" (parts::segment(session)) } { (title) } }
                @else { (title) " (it was not read, or was forgotten)" }
            }
            @if let Some(agent) = &cost.agent { dt { "Agent" } dd { (agent) } }
            @if let Some(project) = &cost.project { dt { "Project" } dd { (project) } }
            dt { "Given" } dd { (things(receipt.items.len() as u64)) " in " (counted(gifts.len() as u64, "answer")) ", " (count(cost.tokens)) " tokens" }
            dt { "Time" } dd { (milliseconds(cost.micros)) " in all, " (counted(cost.answers.len() as u64, "occasion")) }
            dt { "Used" } dd { (use_in_words(&receipt.items)) }
        }
        @if gifts.is_empty() { p { "It was given nothing. The occasions below say why." } }
        @for (gift, reason) in &gifts { (given(gift, reason, &receipt.items)) }
        (silent(&cost.answers))
    }
}

/// Returns whether an answer gave something. One of a tool that found nothing takes tokens, too.
fn is_gift(answer: &GivenAnswer) -> bool {
    answer.tokens > 0 || !answer.turns.is_empty()
}

fn use_in_words(items: &[GivenItem]) -> String {
    let with = |fate: &str| items.iter().filter(|item| item.fate == fate).count() as u64;
    let (used, unused, unknown) = (with("used"), with("unused"), with("unknown"));
    let not_known = if unknown > 0 { format!("; of {} it is not known", things(unknown)) } else { String::new() };
    if used + unused == 0 {
        return "not known: only memories are followed, and only as far as the session was read".to_owned();
    }
    format!("{} of {} were opened, or the agent's answer repeated them{not_known}", count(used), of_memories(used + unused))
}

fn given(gift: &GivenAnswer, reason: &Reason, items: &[GivenItem]) -> Markup {
    html! {
        section {
            h2 { (parts::time(Some(&format_utc(gift.at_ms)))) " " (occasion(gift)) }
            div.meta {
                span { (count(gift.tokens)) " tokens" }
                span { (milliseconds(gift.micros)) }
                @if gift.agent_id.is_some() { span { "to a sub-agent" } }
            }
            @if let Some(question) = &reason.question {
                p.said {
                    "On: "
                    @if let Some(turn) = &reason.turn { a href={ "turn/" (turn) } { (question) } } @else { (question) }
                }
            }
            @if gift.turns.is_empty() { p.quiet { "Text without memories or passages, such as the state of the project, or that nothing was found." } }
            ul.items { @for item in gift.turns.iter().filter_map(|id| items.iter().find(|item| item.id == *id)) { (thing(item)) } }
        }
    }
}

fn thing(item: &GivenItem) -> Markup {
    html! {
        li.item data-item {
            div.meta {
                span.kind { @if item.kind == "turn" { "passage" } @else { (item.kind) } }
                @if let Some(status) = item.status.as_ref().filter(|status| *status != "holds") { span.mark.warn { (status) } }
                @match item.fate.as_str() {
                    "used" => span.mark.used { "used: " (item.ways.iter().map(|way| way_in_words(way)).collect::<Vec<_>>().join(", ")) },
                    "unused" => span.mark { "not used" },
                    _ => span { "not known whether used" },
                }
            }
            @match item.kind.as_str() {
                "memory" => a.statement href={ "memories/" (item.id) } { (item.text) },
                "turn" => a.statement href={ "turn/" (item.id) } {
                    @if item.text.trim().is_empty() { "(a tool's call or output)" } @else { (item.text) }
                },
                _ => p.quiet { "It was forgotten, or merged into another one." },
            }
        }
    }
}

fn way_in_words(way: &str) -> &str {
    match way {
        "opened" => "opened",
        "cited" => "repeated in an answer",
        other => other,
    }
}

fn milliseconds(micros: u64) -> String {
    format!("{:.1} ms", micros as f64 / 1e3)
}

/// Returns the occasion of an answer in words; the name of a tool as it is.
fn occasion(answer: &GivenAnswer) -> String {
    let kind = answer.kind.as_ref().and_then(|name| serde_json::from_value::<TriggerKind>(name.as_str().into()).ok());
    let words = match (kind, answer.event.as_str()) {
        (Some(TriggerKind::Brief), _) | (None, "SessionStart") => "as the session began",
        (Some(TriggerKind::Prompt), _) | (None, "UserPromptSubmit") => "on a prompt",
        (Some(TriggerKind::Edit), _) => "before a file was changed",
        (Some(TriggerKind::Failure), _) => "after an error",
        (Some(TriggerKind::Command), _) => "before a command was run",
        (Some(TriggerKind::Forgot), _) => "as the session forgot what it was given",
        (Some(TriggerKind::Distil), _) => "asked to record what it learned",
        (_, event) => return format!("by {event}"),
    };
    words.to_owned()
}

/// Returns why nothing was given, in words.
fn silence(answer: &GivenAnswer) -> &'static str {
    let reason = answer.silence.as_ref().and_then(|name| serde_json::from_value::<SkipReason>(name.as_str().into()).ok());
    match reason {
        Some(reason) => in_words(reason),
        None if answer.is_reset => "the session was compacted or cleared: it may be given the same again",
        None => "",
    }
}

/// Returns the occasions on which nothing was given, with the reason.
fn silent(answers: &[GivenAnswer]) -> Markup {
    let silent: Vec<&GivenAnswer> = answers.iter().filter(|answer| !is_gift(answer)).collect();
    html! {
        @if !silent.is_empty() {
            h2 { "Given nothing" }
            details {
                summary { (counted(silent.len() as u64, "occasion")) ", and why" }
                div.table tabindex="0" role="region" aria-label="Occasions on which nothing was given" { table {
                    thead { tr { th scope="col" { "When" } th scope="col" { "Occasion" } th.number scope="col" { "Milliseconds" } th scope="col" { "Why nothing" } } }
                    tbody {
                        @for answer in silent {
                            tr {
                                td { (parts::time(Some(&format_utc(answer.at_ms)))) }
                                td { (occasion(answer)) }
                                td.number { (format!("{:.1}", answer.micros as f64 / 1e3)) }
                                td {
                                    (silence(answer))
                                    @if !answer.held_out.is_empty() { ": " (things(answer.held_out.len() as u64)) }
                                }
                            }
                        }
                    }
                } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, kind: &str, fate: &str, text: &str) -> GivenItem {
        GivenItem {
            id: id.to_owned(),
            kind: kind.to_owned(),
            text: text.to_owned(),
            status: None,
            time: "2026-11-29T08:00:00Z".to_owned(),
            event: "recall".to_owned(),
            question: None,
            fate: fate.to_owned(),
            ways: vec!["cited".to_owned()],
        }
    }

    fn cost(session: &str, answers: Vec<GivenAnswer>) -> SessionCost {
        let (agent, directory, project) = (Some("claude-code".to_owned()), None, None);
        let silences = std::collections::BTreeMap::new();
        SessionCost {
            session: session.to_owned(),
            agent,
            directory,
            project,
            memories: 2,
            tokens: 30,
            micros: 1_500,
            silences,
            last_capture_ms: None,
            answers,
        }
    }

    fn answer(turns: &[&str], silence: Option<&str>) -> GivenAnswer {
        GivenAnswer {
            at_ms: 1_000,
            agent: "claude-code".to_owned(),
            agent_id: None,
            event: "UserPromptSubmit".to_owned(),
            kind: Some("prompt".to_owned()),
            turns: turns.iter().map(|id| (*id).to_owned()).collect(),
            tokens: if turns.is_empty() { 0 } else { 30 },
            micros: 1_500,
            silence: silence.map(str::to_owned),
            held_out: Vec::new(),
            directory: None,
            about: None,
            is_reset: false,
        }
    }

    #[test]
    fn a_receipt_tells_each_gift_with_its_reason_and_what_became_of_it_as_text() {
        let reason = Reason { question: Some("<b>why</b>".to_owned()), turn: Some("t9".to_owned()) };
        let receipt = Receipt {
            cost: cost("s", vec![answer(&["m1", "t1", "gone"], None), answer(&[], Some("floor"))]),
            title: Some("<script>x</script>".to_owned()),
            opens: Some("s".to_owned()),
            reasons: vec![reason, Reason::default()],
            items: vec![
                item("m1", "memory", "used", "SQLite is used"),
                item("t1", "turn", "unknown", "it was said"),
                item("gone", "gone", "unused", ""),
            ],
        };
        let markup = opened(&receipt).into_string();
        for wanted in [
            "href=\"memories/m1\"",
            "href=\"turn/t1\"",
            "href=\"turn/t9\"",
            "&lt;b&gt;why",
            "used: repeated in an answer",
            "not known whether used",
            "no match is relevant enough",
            "1 of 2 memories",
        ] {
            assert!(markup.contains(wanted), "{wanted}: {markup}");
        }
        assert!(!markup.contains("<script") && !markup.contains("<b>"));
    }

    #[test]
    fn a_list_without_receipts_says_what_to_do_and_ids_are_parts_of_a_path() {
        let empty = listed(&Page { items: Vec::new(), next: None }, &Input::default()).into_string();
        assert!(empty.contains("Nothing was given yet") && empty.contains("yore install"));
        let outline = ReceiptOutline { cost: cost("a/b?c", Vec::new()), title: None, last: None, followed: 2, used: 1 };
        let listed = listed(&Page { items: vec![outline], next: None }, &Input::default()).into_string();
        assert!(listed.contains("receipts/a%2Fb%3Fc") && listed.contains("1 of 2 memories used"), "{listed}");
    }
}
