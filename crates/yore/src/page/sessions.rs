//! Lists of sessions and of topics, and the handoff of a session.

use maud::{Markup, html};
use serde_json::json;

use super::forms::{given, project, words};
use super::parts;
use super::view::{Content, Input, Row};
use crate::api::calls::projects;
use crate::api::calls::sessions as calls;
use crate::api::route::{Caller, Nothing};
use crate::error::CliResult;
use crate::results::{ListedSession, SessionTopics, Topic};

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![
        Row { path: "/sessions", view: list },
        Row { path: "/topics", view: topics },
        Row { path: "/session/{id}/handoff", view: handoff },
    ]
}

fn switch(input: &Input, name: &'static str, label: &str) -> Markup {
    html! { label { input type="checkbox" name=(name) value="true" checked[given(input, name) == "true"]; " " (label) } }
}

fn list(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let page = calls::list(caller, input.read()?)?;
    let names = projects::names(caller, Nothing {})?;
    let filters = ["project", "agent", "since", "until", "has_code", "subagents", "programs", "documents", "forgotten", "oldest"];
    let is_filtered = filters.iter().any(|name| !given(input, name).is_empty());
    let body = html! {
        h1 { "Sessions" }
        form.search role="search" action="sessions" method="get" {
            label.unseen for="text" { "Only sessions that contain this" }
            div.field {
                input #text type="search" name="text" value=(given(input, "text")) placeholder="Title or words";
                button type="submit" { "Show" }
            }
            details.filters open[is_filtered] {
                summary { "Filters" }
                div.fields {
                    (project(input, &names))
                    (words(input, "agent", "Agent", "claude-code"))
                    (words(input, "since", "Since", "2026-01-31, last week"))
                    (words(input, "until", "Begun before", ""))
                    (switch(input, "has_code", "with code"))
                    (switch(input, "subagents", "sub-agents too"))
                    (switch(input, "programs", "of programs too"))
                    (switch(input, "documents", "documents too"))
                    (switch(input, "forgotten", "forgotten too"))
                    (switch(input, "oldest", "oldest first"))
                }
            }
        }
        @if page.items.is_empty() { p { "No sessions." } }
        ul.items { @for session in &page.items { (item(session)) } }
        (parts::more("sessions", &input.with("after", page.next.as_deref()), page.next.as_deref()))
    };
    Ok(Content::new("Sessions", body))
}

/// Returns a session as an item of a list: the person's last request is its line.
pub fn item(listed: &ListedSession) -> Markup {
    let session = &listed.session;
    let title = session.title.as_deref().filter(|title| !title.trim().is_empty());
    let asked = listed.asked_last.as_deref().filter(|asked| !asked.trim().is_empty());
    html! {
        li.item data-item {
            div.meta {
                (parts::time(session.updated.as_deref()))
                @if let Some(project) = &session.project {
                    a.project href={ "sessions?project=" (parts::segment(project)) } { (project) }
                }
                span { (session.agent) }
                span { (counted(session.turns, "turn")) }
                @if session.forgotten.is_some() { span.mark.warn { "forgotten" } }
            }
            a.statement href={ "session/" (parts::segment(&session.id)) } { (asked.or(title).unwrap_or("a session without words")) }
            @if asked.is_some() && title.is_some() && !is_same(asked, title) { p.quiet.said { (title.unwrap_or_default()) } }
            @if session.forgotten.is_some() {
                div.actions {
                    (parts::change("Bring it back", "POST", "forget", &json!({"id": session.id, "restore": true, "is_dry_run": false}), None))
                }
            }
        }
    }
}

/// Returns whether a title only repeats a request.
fn is_same(asked: Option<&str>, title: Option<&str>) -> bool {
    let (Some(asked), Some(title)) = (asked, title) else { return false };
    asked.starts_with(title.trim_end_matches('…').trim_end())
}

/// Returns a number with its noun.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn topics(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let found = calls::topics(caller, input.read()?)?;
    let names = projects::names(caller, Nothing {})?;
    let body = html! {
        h1 { "Topics" }
        form.search role="search" action="topics" method="get" {
            label.unseen for="text" { "Only topics about this" }
            div.field {
                input #text type="search" name="text" value=(given(input, "text")) placeholder="About";
                button type="submit" { "Show" }
            }
            div.fields { (project(input, &names)) (words(input, "since", "Since", "last week")) }
        }
        @if found.is_empty() { p { "No topics." } }
        @for session in &found {
            section {
                h2 {
                    a.plain href={ "session/" (parts::segment(&session.session)) } {
                        (session.title.as_deref().unwrap_or("a session without a title"))
                    }
                }
                p.meta {
                    (parts::time(session.updated.as_deref()))
                    @if let Some(project) = &session.project { a.project href={ "topics?project=" (parts::segment(project)) } { (project) } }
                }
                @if let Some(summary) = &session.summary { p.said { (summary) } }
                ul.items { @for topic in &session.topics { li.item data-item { (topic_lines(topic, true)) } } }
            }
        }
    };
    Ok(Content::new("Topics", body))
}

/// Returns a topic with its parts; `is_long`: with its summary and files.
pub fn topic_lines(topic: &Topic, is_long: bool) -> Markup {
    html! {
        a.statement href=(parts::words_at(None, &topic.turn, "")) { (topic.name) }
        span.meta { (parts::time(topic.started.as_deref())) span { (counted(topic.exchanges.into(), "exchange")) } }
        @if is_long && topic.parts.is_empty() {
            @for sentence in &topic.summary { p.quiet.said { (sentence) } }
            @if let Some(outcome) = &topic.outcome { p.quiet.said { "→ " (outcome) } }
            @if !topic.files.is_empty() { p.quiet { @for file in &topic.files { code { (file) } " " } } }
        }
        @if !topic.parts.is_empty() { ul.plain { @for part in &topic.parts { li { (topic_lines(part, is_long)) } } } }
        @for other in &topic.similar {
            p.quiet { "like " a href=(parts::words_at(None, &other.turn, "")) { (other.name) } " " (parts::day(other.started.as_deref())) }
        }
    }
}

/// Returns topics of sessions as a list, and the names of their files.
pub fn topics_beside(found: &[SessionTopics]) -> Markup {
    let topics: Vec<&Topic> = found.iter().flat_map(|session| &session.topics).collect();
    let mut files: Vec<&str> = Vec::new();
    for file in topics.iter().flat_map(|topic| &topic.files) {
        if !files.contains(&file.as_str()) {
            files.push(file);
        }
    }
    html! {
        h2 { "Topics" }
        @if topics.is_empty() { p.quiet { "None." } }
        ul.plain.topics { @for topic in &topics { li { (topic_lines(topic, false)) } } }
        h2 { "Files" }
        @if files.is_empty() { p.quiet { "None." } }
        ul.plain { @for file in files { li { a href={ "./?q=" (parts::segment(file)) "&file=" (parts::segment(file)) } { code { (file) } } } } }
    }
}

fn handoff(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let made = calls::hand_over(caller, input.read()?)?;
    let body = html! {
        h1 { "Handoff" }
        div.lines {
            p.quiet { (counted(made.turns, "turn")) ", about " (made.tokens) " tokens. In a terminal: " code { "yore handoff --to AGENT" } }
            pre.wrapped tabindex="0" { (made.text) }
        }
    };
    Ok(Content::new("Handoff", body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_session_is_what_was_asked_last() {
        let mut session = json!({
            "id": "0a1b", "session": "s", "agent": "codex", "kind": "session", "title": "<i>Build</i>", "project": "a b", "directory": null,
            "started": null, "updated": "2026-01-02T03:04:05Z", "turns": 1, "forgotten": null, "links": [], "asked_last": "ship it"
        });
        let html = item(&serde_json::from_value(session.clone()).unwrap()).0;
        assert!(html.contains("href=\"session/0a1b\">ship it</a>") && html.contains("&lt;i&gt;Build&lt;/i&gt;"), "{html}");
        assert!(html.contains("sessions?project=a%20b") && html.contains("1 turn<"), "{html}");
        session["asked_last"] = serde_json::Value::Null;
        assert!(item(&serde_json::from_value(session).unwrap()).0.contains(">&lt;i&gt;Build&lt;/i&gt;</a>"));
    }

    #[test]
    fn files_of_topics_are_told_once() {
        let topic = json!({"turn": "t", "last": "u", "name": "n", "summary": [], "outcome": null, "files": ["a.rs", "b.rs", "a.rs"],
            "exchanges": 2, "started": null, "sign": null});
        let found: Vec<SessionTopics> = serde_json::from_value(json!([
            {"session": "s", "title": null, "project": null, "updated": null, "summary": null, "topics": [topic, topic]}
        ]))
        .unwrap();
        let html = topics_beside(&found).0;
        assert_eq!(html.matches("<code>a.rs</code>").count(), 1, "{html}");
        assert!(html.contains("session/t?at=t#at"), "{html}");
    }
}
