//! Projects: the list, and one with its activity, open points and decisions.

use maud::html;
use serde_json::json;

use super::parts::{self, count};
use super::view::{Content, Input, Row};
use crate::api::calls::{memories, projects as calls, upkeep};
use crate::api::route::{Caller, Nothing};
use crate::error::CliResult;

/// Weeks of activity, and memories in each list.
const WEEKS: u32 = 26;
const LISTED: usize = 8;

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/projects", view: list }, Row { path: "/projects/{name}", view: one }]
}

fn list(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let Nothing {} = input.read()?;
    let found = calls::list(caller, Nothing {})?;
    let offers = calls::offers(caller, Nothing {})?;
    let body = html! {
        h1 { "Projects" }
        @if found.is_empty() { section.empty { p { "No project is known yet." } } }
        @if !offers.is_empty() {
            h2 { "These may be one" }
            ul.items { @for offer in &offers {
                li.item data-item {
                    p {
                        (offer.name) " in " (offer.directory) ", which is gone, seems to be " (offer.into) " now: "
                        @if offer.is_same_commit { "both have the same first commit." } @else { "both have the same name." }
                    }
                    div.actions { (parts::change("Make them one", "POST", "projects/merge", &json!({"from": offer.from, "into": offer.into}), Some("Click again to merge"))) }
                }
            } }
        }
        ul.items {
            @for project in &found {
                li.item data-item {
                    div.meta { span { (count(project.sessions)) " sessions, " (count(project.turns)) " turns" } (parts::day(project.updated.as_deref())) }
                    a.statement href={ "projects/" (project.id) } { (project.name) }
                }
            }
        }
    };
    Ok(Content::new("Projects", body))
}

fn one(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let project = calls::find(caller, input.read()?)?;
    let id = project.id.clone();
    let state = upkeep::life(caller, upkeep::Life { project: Some(id.clone()), weeks: Some(WEEKS) })?;
    let mut of = |kind: &[&str], is_open: bool| {
        let list = memories::List {
            kind: kind.iter().map(|kind| (*kind).to_owned()).collect(),
            project: vec![id.clone()],
            is_open: is_open.then_some(true),
            limit: Some(LISTED),
            ..memories::List::default()
        };
        memories::list(caller, list).map(|page| page.items)
    };
    let open = of(&["question", "problem", "todo"], true)?;
    let decided = of(&["decision"], false)?;
    let rules = of(&["standard", "preference"], false)?;
    let growth = state.life.map(|life| life.growth).unwrap_or_default();
    let turns: Vec<(String, u64)> = growth.iter().map(|week| (format!("week of {}", week.week), week.turns)).collect();
    let body = html! {
        h1 { (project.name) }
        dl {
            dt { "Sessions" } dd { a href={ "sessions?project=" (id) } { (count(project.sessions)) } ", " (count(project.turns)) " turns" }
            dt { "Last used" } dd { (parts::time(project.updated.as_deref())) }
            @for name in &project.known_as { dt { (name.kind) } dd { (name.value) } }
        }
        p.chips {
            a.chip href={ "memories?project=" (id) } { "Memories" }
            a.chip href={ "sessions?project=" (id) } { "Sessions" }
            a.chip href={ "timeline?project=" (id) } { "Timeline" }
            a.chip href={ "./?project=" (id) "&q=files+that+matter&as=files" } { "Files that matter" }
            a.chip href={ "categories?project=" (id) } { "Categories" }
        }
        @if !turns.is_empty() { (parts::bars("Activity by week", "turns", &turns)) }
        @for (heading, items) in [("Open points", &open), ("Decisions", &decided), ("Rules and preferences", &rules)] {
            h2 { (heading) }
            @if items.is_empty() { p.quiet { "None." } }
            ul.items { @for memory in items { (parts::memory_item(memory)) } }
        }
        h2 { "Name" }
        form.filters data-method="POST" data-path="api/v1/projects/rename" data-body=(json!({"project": id}).to_string()) data-words="Renamed" {
            label { "Another name " input type="text" name="name" value=(project.name) required maxlength="200"; }
            button type="submit" { "Rename" }
        }
    };
    Ok(Content::new(project.name.clone(), body))
}
