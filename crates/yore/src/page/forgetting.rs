//! Forgetting: says what would go before anything does, for one thing and for all that meets conditions.

use maud::{Markup, html};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::forms::{choice, given, words};
use super::memories::{plain_names, tabs};
use super::parts;
use super::view::{Content, Input, Row};
use crate::api::calls::forget::{self, Forget, Select};
use crate::api::calls::memories;
use crate::api::calls::projects;
use crate::api::calls::sessions;
use crate::api::route::{Caller, Nothing};
use crate::error::CliResult;
use crate::results::{Forgotten, ForgottenSelection, OpenedSession};

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/forget", view: selection }, Row { path: "/forget/{id}", view: one }]
}

fn one(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let memories::Id { id } = input.read()?;
    let mut look = |hard: bool| forget::one(caller, Forget { id: id.clone(), hard, restore: false, is_dry_run: true });
    let (soft, hard) = (look(false)?, look(true)?);
    let what = memories::record(caller, memories::Id { id: id.clone() }).ok().filter(|_| soft.episodes.is_empty());
    let session = match soft.episodes.is_empty() {
        true => None,
        false => sessions::open(caller, sessions::Id { id: id.clone() }).ok(),
    };
    let then = if soft.episodes.is_empty() { "memories" } else { "sessions" };
    let request = |changes: Value| with(json!({"id": id, "is_dry_run": false}), changes);
    let body = html! {
        h1 { "Forget" }
        @if let Some(session) = &session { (of_session(session)) }
        @if let Some(memory) = &what { blockquote { (memory.statement) } p { a href={ "memories/" (memory.id) } { "Back to the memory" } } }
        section.dry {
            h2 { "No longer told" }
            (counts(&soft))
            p { "No answer has it any more. It is kept, and can be restored." }
            (button("Forget it", "api/v1/forget", then, &request(json!({})), Some(&request(json!({"restore": true}))), None))
        }
        section.dry {
            h2 { "For good" }
            (counts(&hard))
            p { "Its words are removed from the archive and the index. This cannot be undone." }
            (button("Forget it for good", "api/v1/forget", then, &request(json!({"hard": true})), None, Some("Remove it for good?")))
        }
    };
    Ok(Content::new("Forget", body))
}

/// Says which session it is.
fn of_session(OpenedSession { session, .. }: &OpenedSession) -> Markup {
    html! {
        blockquote { (session.title.as_deref().unwrap_or("A session without a title")) }
        p.quiet {
            (session.agent) " · " @if let Some(project) = &session.project { (project) " · " }
            (parts::day(session.started.as_deref())) " · " (session.turns) " turns"
        }
        p { a href={ "session/" (parts::segment(&session.session)) } { "Back to the session" } }
    }
}

fn with(mut body: Value, changes: Value) -> Value {
    if let (Some(body), Value::Object(changes)) = (body.as_object_mut(), changes) {
        body.extend(changes);
    }
    body
}

/// Returns the button that forgets, after a question.
fn button(label: &str, path: &str, then: &str, body: &Value, undo: Option<&Value>, ask: Option<&str>) -> Markup {
    html! {
        button.danger type="button" data-method="POST" data-path=(path) data-body=(body) data-then=(then) data-words="Forgotten"
            data-undo=[undo] data-ask=(ask.unwrap_or("Really forget it?")) { (label) }
    }
}

/// Says what goes.
fn counts(forgotten: &Forgotten) -> Markup {
    let Forgotten { hard, episodes, turns, memories, memories_kept, backups, .. } = forgotten;
    let of = |count: u64, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let backups = backups.as_deref().unwrap_or_default();
    html! {
        ul {
            @if !episodes.is_empty() {
                li { (of(episodes.len() as u64, "session or note", "sessions and notes")) " with " (of(*turns, "turn", "turns")) }
            }
            @if *memories > 0 {
                li { (of(*memories, "memory", "memories")) @if !episodes.is_empty() { " that rest on it alone" } }
            }
            @if *memories_kept > 0 {
                li { (of(*memories_kept, "memory stays", "memories stay")) @if *hard { ", without the quotes of it" } }
            }
            @if !backups.is_empty() {
                li { (of(backups.len() as u64, "backup is", "backups are")) " deleted whole, because they may hold its words. The next one is made tonight, or by " code { "yore data backup" } }
            }
        }
    }
}

/// The arguments of the view.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Asked {
    /// Everything of this project
    project: Option<String>,
    /// Everything of this agent
    agent: Option<String>,
    /// Everything from this time on
    since: Option<String>,
    /// Everything before this time
    until: Option<String>,
    /// Everything with this text
    text: Option<String>,
}

fn selection(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let asked: Asked = input.read()?;
    let is_asked = input.pairs().iter().any(|(_, value)| !value.trim().is_empty());
    let select = Select {
        project: asked.project.into_iter().collect(),
        agent: asked.agent.into_iter().collect(),
        since: asked.since,
        until: asked.until,
        text: asked.text,
        hard: false,
        restore: false,
        is_dry_run: true,
    };
    let found = if is_asked { Some(forget::selected(caller, select)?) } else { None };
    let projects = projects::names(caller, Nothing {})?;
    let body = html! {
        h1 { "Forget" }
        (tabs("forget"))
        p { "Chooses sessions, documents, notes and memories that meet all conditions. Nothing goes before you have seen what would." }
        form.filters action="forget" method="get" {
            (words(input, "text", "With this text", ""))
            (choice(input, "project", "Project", "any", &plain_names(&projects)))
            (words(input, "agent", "Agent", "claude-code"))
            (words(input, "since", "From", "2026-01-31"))
            (words(input, "until", "Before", ""))
            button type="submit" { "Show what would go" }
        }
        @if let Some(found) = &found { (chosen(input, found)) }
    };
    Ok(Content::new("Forget", body))
}

fn chosen(input: &Input, found: &ForgottenSelection) -> Markup {
    let total: u64 = found.forgotten.selected.values().sum();
    let request = |changes: Value| {
        let mut body = json!({"is_dry_run": false});
        for name in ["since", "until", "text"] {
            let value = given(input, name);
            if !value.trim().is_empty() {
                body[name] = Value::from(value);
            }
        }
        for name in ["project", "agent"] {
            let value = given(input, name);
            if !value.trim().is_empty() {
                body[name] = json!([value]);
            }
        }
        with(body, changes)
    };
    html! {
        section.dry {
            @if total == 0 {
                p { "Nothing meets these conditions." }
            } @else {
                h2 { "This would go" }
                p { @for (at, (kind, count)) in found.forgotten.selected.iter().enumerate() { @if at > 0 { ", " } (kind) ": " (count) } }
                ul.plain {
                    @for item in &found.items {
                        li { span.quiet { (item.kind) " " } (parts::day(item.at.as_deref())) " " (item.title.as_deref().unwrap_or(&item.id)) }
                    }
                }
                @if total > found.items.len() as u64 { p.quiet { "and " (total - found.items.len() as u64) " more" } }
                div.actions {
                    (button("Forget all of it", "api/v1/forget/selected", "forget", &request(json!({})), Some(&request(json!({"restore": true}))), None))
                    (button("Forget all of it for good", "api/v1/forget/selected", "forget", &request(json!({"hard": true})), None, Some("Remove all of it for good?")))
                }
                p.quiet { "For good means from the archive, the index and the backups, also what was replaced or put away. It cannot be undone." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::results::ChosenThing;

    #[test]
    fn what_would_go_is_shown_and_asked_about_before_it_goes() {
        let forgotten = Forgotten {
            dry_run: Some(true),
            hard: false,
            restored: false,
            episodes: Vec::new(),
            turns: 0,
            memories: 1,
            memories_kept: 0,
            archive_lines: 0,
            backups: None,
            selected: BTreeMap::from([("memory".to_owned(), 1)]),
        };
        let title = Some("<script>".to_owned());
        let items = vec![ChosenThing { kind: "memory".to_owned(), id: "1".to_owned(), title, at: None }];
        let found = ForgottenSelection { forgotten, items };
        let input = Input { query: Some("text=port&project=".to_owned()), ..Input::default() };
        let page = chosen(&input, &found).into_string();
        assert_eq!(page.matches("<button").count(), page.matches("data-ask").count());
        assert!(page.contains("&lt;script&gt;") && page.contains("&quot;text&quot;:&quot;port&quot;"));
        assert!(!page.contains("&quot;project&quot;"));
    }
}
