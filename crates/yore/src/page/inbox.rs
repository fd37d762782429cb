//! The inbox: pairs that contradict or change each other, and memories that nobody confirmed; one key for each decision.

use maud::{Markup, html};
use serde_json::{Value, json};

use super::forms::{act, choice, given, opener};
use super::memories::plain_names;
use super::parts;
use super::view::{Content, Input, Row};
use crate::api::calls::memories as calls;
use crate::api::calls::projects;
use crate::api::route::{Caller, Nothing};
use crate::error::CliResult;
use crate::results::{ConflictRecord, Inbox, MemoryRecord};

/// Items of a page, without a limit in the address.
const ITEMS: usize = 25;
/// Most items.
const MOST: usize = 500;
/// Days after which a pair that was put off is listed again.
const LATER_DAYS: u16 = 7;
/// The reason of what is rejected here.
const REJECTED: &str = "rejected in a review";
/// Most pieces of evidence with an item.
const QUOTES: usize = 2;

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/inbox", view: inbox }]
}

fn inbox(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let mut request: calls::InboxRequest = input.read()?;
    let limit = request.limit.unwrap_or(ITEMS);
    request.limit = Some(limit);
    let inbox = calls::waiting(caller, request)?;
    let projects = projects::names(caller, Nothing {})?;
    let more = (limit < MOST).then(|| input.with("limit", Some(&(limit * 2).min(MOST).to_string())));
    Ok(Content::new("Inbox", whole(input, &inbox, &projects, more.as_deref())))
}

fn whole(input: &Input, inbox: &Inbox, projects: &[String], more: Option<&str>) -> Markup {
    let Inbox { conflicts, memories, conflicts_total, memories_total } = inbox;
    let (total, shown) = (conflicts_total + memories_total, (conflicts.len() + memories.len()) as u64);
    let is_filtered = !given(input, "project").is_empty();
    html! {
        h1 { "Inbox" }
        @if projects.len() > 1 {
            form.filters action="inbox" method="get" {
                (choice(input, "project", "Project", "all", &plain_names(projects)))
                button type="submit" { "Show" }
            }
        }
        @if total == 0 {
            section.empty {
                p { "Nothing waits for you" @if is_filtered { " in this project" } "." }
                p.quiet { "Here come statements that contradict each other, and statements that agents and extraction found and that nobody confirmed." }
            }
        } @else {
            p role="status" {
                strong { (total) } @if total == 1 { " thing waits" } @else { " things wait" } ". "
                span.quiet { "Keys act on the item that has the focus; " kbd { "j" } " and " kbd { "k" } " move, " kbd { "?" } " lists them." }
            }
        }
        @if !conflicts.is_empty() {
            section {
                h2 { "Two that may not both hold " span.quiet { "(" (conflicts_total) ")" } }
                ul.items { @for conflict in conflicts { (pair(conflict)) } }
            }
        }
        @if !memories.is_empty() {
            section {
                h2 { "Not confirmed " span.quiet { "(" (memories_total) ")" } }
                ul.items { @for memory in memories { (doubtful(memory)) } }
            }
        }
        @if let Some(more) = more.filter(|_| shown < total) { p.more { a rel="next" href={ "inbox?" (more) } { "Show more" } } }
    }
}

fn pair(conflict: &ConflictRecord) -> Markup {
    let (older, newer) = (&conflict.older, &conflict.newer);
    let what = match (&conflict.change, &conflict.kind) {
        (Some(change), _) if change == "likely" => "The newer one likely changes the older",
        (Some(_), _) => "The newer one may change the older",
        (None, Some(kind)) => match kind.as_str() {
            "direct" => "One denies the other",
            "value" => "They give different values",
            "temporal" => "They give different times",
            "granularity" => "One is more exact than the other",
            _ => "They contradict each other",
        },
        (None, None) => "They contradict each other",
    };
    let settle = |how: Value| {
        let mut body = json!({"first": older.id, "second": newer.id});
        if let (Some(body), Some(how)) = (body.as_object_mut(), how.as_object()) {
            body.extend(how.clone());
        }
        body
    };
    let path = "conflicts/settle";
    html! {
        li.item data-item tabindex="-1" {
            div.meta {
                span.kind { (what) }
                @if conflict.severity != "minor" { span.mark.warn { (conflict.severity) } }
                @if let Some([was, is]) = &conflict.values { span { "“" (was) "” or “" (is) "”" } }
            }
            div.pair {
                (side("Older", older, conflict.advice.as_deref() == Some(older.id.as_str())))
                (side("Newer", newer, conflict.advice.as_deref() == Some(newer.id.as_str())))
            }
            @if let Some(reason) = conflict.reason.as_ref().filter(|_| conflict.change.is_none()) { p.quiet { "Stated because: " (reason) } }
            (advice(conflict))
            div.actions {
                (act("Keep newer", "n", path, &settle(json!({"keep": newer.id}))))
                (act("Keep older", "o", path, &settle(json!({"keep": older.id}))))
                (act("Both hold", "b", path, &settle(json!({"both": true}))))
                (act("Later", "l", path, &settle(json!({"later_days": LATER_DAYS}))))
            }
            details {
                (opener("Edit", "e"))
                form.form data-method="POST" data-path="api/v1/conflicts/settle" data-body=(settle(json!({"keep": newer.id}))) {
                    label.wide {
                        "The statement that holds, in the place of both "
                        textarea name="statement" rows="3" required { (newer.statement) }
                    }
                    button.primary type="submit" { "It holds" }
                }
            }
        }
    }
}

fn advice(conflict: &ConflictRecord) -> Markup {
    let advised = match &conflict.advice {
        Some(id) if *id == conflict.newer.id => Some("the newer one likely holds"),
        Some(_) => Some("the older one likely holds"),
        None => None,
    };
    let words = match (advised, conflict.resolution.as_str()) {
        (Some(advised), _) => advised,
        (None, "conditional") => "both may hold, each under its own condition",
        (None, _) => "no advice: somebody who knows has to say",
    };
    html! { p { "Advice: " (words) @if let Some(why) = &conflict.advice_reason { ", because " (why) } "." } }
}

fn side(name: &str, memory: &MemoryRecord, is_advised: bool) -> Markup {
    html! {
        div.side.advised[is_advised] {
            div.meta { strong { (name) } (about(memory)) }
            a.statement href={ "memories/" (memory.id) } { (memory.statement) }
            (quotes(memory))
        }
    }
}

fn about(memory: &MemoryRecord) -> Markup {
    html! {
        (parts::day(memory.valid_from.as_deref().or(memory.recorded.as_deref())))
        span { (memory.kind.replace('_', " ")) }
        @if let Some(project) = &memory.project { span.project { (project) } }
        @if memory.lane != "extracted" { span.mark { "confirmed" } }
    }
}

fn quotes(memory: &MemoryRecord) -> Markup {
    html! {
        @for evidence in memory.evidence.iter().filter(|evidence| evidence.quote != memory.statement).take(QUOTES) {
            blockquote { (evidence.quote) " " a.quiet href={ "turn/" (evidence.turn) } { "where" } }
        }
        @if memory.evidence.is_empty() { p.quiet { (parts::no_evidence(&memory.lane)) } }
    }
}

fn doubtful(memory: &MemoryRecord) -> Markup {
    let path = |verb: &str| format!("memories/{}/{verb}", memory.id);
    html! {
        li.item data-item tabindex="-1" {
            div.meta {
                (about(memory))
                @if memory.status == "proposed" { span.mark.warn { "told to nobody until you keep it" } }
                @if memory.status == "contested" { span.mark.warn { "contested" } }
                @if memory.confidence != "verified" { span.mark { (memory.confidence) } }
            }
            a.statement href={ "memories/" (memory.id) } { @if let Some(title) = &memory.title { strong { (title) } " " } (memory.statement) }
            (quotes(memory))
            div.actions {
                (act("Keep", "y", &path("confirm"), &json!({})))
                (act("Wrong", "x", &path("wrong"), &json!({"reason": REJECTED})))
                button type="button" data-next data-press="s" aria-keyshortcuts="s" { "Skip " kbd aria-hidden="true" { "s" } }
            }
            details {
                (opener("Edit", "e"))
                form.form data-method="PATCH" data-path={ "api/v1/memories/" (memory.id) } data-changed data-words="Corrected" {
                    label.wide { "The statement that holds " textarea name="statement" rows="3" required { (memory.statement) } }
                    button.primary type="submit" { "It holds" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::tests::record;
    use super::*;

    fn conflict() -> ConflictRecord {
        let older = MemoryRecord { id: "a".repeat(32), ..record("The port is 8080. <script>") };
        let newer = MemoryRecord { id: "b".repeat(32), ..record("The port is 9090.") };
        ConflictRecord {
            kind: Some("value".to_owned()),
            severity: "major".to_owned(),
            change: None,
            about: Vec::new(),
            values: Some(["8080".to_owned(), "9090".to_owned()]),
            reason: None,
            advice: Some(newer.id.clone()),
            advice_reason: Some("it is newer".to_owned()),
            resolution: "recency".to_owned(),
            older,
            newer,
        }
    }

    #[test]
    fn each_item_has_one_key_for_each_decision() {
        let inbox = Inbox { conflicts: vec![conflict()], memories: vec![record("x")], conflicts_total: 1, memories_total: 4 };
        let page = whole(&Input::default(), &inbox, &[], Some("limit=50")).into_string();
        for key in ["n", "o", "b", "l", "y", "x", "s"] {
            assert_eq!(page.matches(&format!("data-press=\"{key}\"")).count(), 1, "{key}");
        }
        assert_eq!(page.matches("data-press=\"e\"").count(), 2);
        assert!(page.contains("<strong>5</strong> things wait") && page.contains("inbox?limit=50"));
        assert!(page.contains("the newer one likely holds, because it is newer") && !page.contains("<script"));
    }

    #[test]
    fn an_empty_inbox_says_so() {
        let inbox = Inbox { conflicts: Vec::new(), memories: Vec::new(), conflicts_total: 0, memories_total: 0 };
        let page = whole(&Input::default(), &inbox, &[], None).into_string();
        assert!(page.contains("Nothing waits for you.") && !page.contains("data-item"));
    }
}
