//! Projects: the list with offers to merge, and one with its activity, files, open points, decisions and last sessions.

use maud::{Markup, html};
use serde_json::json;

use super::parts::{self, count};
use super::sessions;
use super::view::{Content, Input, Row};
use crate::api::calls::projects::{self as calls, ChangedFile, Offer};
use crate::api::calls::{memories, sessions as session_calls, upkeep};
use crate::api::route::{Caller, Nothing};
use crate::error::CliResult;
use crate::render::text::counted;
use crate::results::Project;

/// Weeks of activity, and the things in each list.
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
        @if found.is_empty() {
            section.empty { p { "No project is known yet: a session's directory makes one when the session is read." } }
        }
        @if !offers.is_empty() {
            h2 { "These may be one" }
            ul.items { @for offer in &offers { (offered(offer, &found)) } }
            h2 { "All" }
        }
        ul.items { @for project in &found { (item(project)) } }
        @if !found.is_empty() {
            details {
                summary { "Merge two projects, or take a merge back" }
                (merging(&found))
            }
        }
    };
    Ok(Content::new("Projects", body))
}

fn item(project: &Project) -> Markup {
    html! {
        li.item data-item {
            div.meta {
                span { (counted(project.sessions, "session")) ", " (counted(project.turns, "turn")) }
                @if project.updated.is_some() { span { "last used " (parts::day(project.updated.as_deref())) } }
            }
            a.statement href={ "projects/" (project.id) } { (project.name) }
            @if let Some(place) = place(project) { div.quiet { (place) } }
        }
    }
}

/// Returns the most telling name by which a project is recognised: its remote, or else a directory.
fn place(project: &Project) -> Option<&str> {
    let remote = project.known_as.iter().find(|name| name.kind == "remote");
    remote.or(project.known_as.first()).map(|name| name.value.as_str()).filter(|place| *place != project.name)
}

/// Returns the project that an offer names: by its id, the end of it, or its name.
fn named<'a>(name: &str, projects: &'a [Project]) -> Option<&'a Project> {
    let is_it = |project: &&Project| project.id == name || project.name == name;
    let ends = |project: &&Project| name.len() >= 4 && project.id.ends_with(name);
    projects.iter().find(is_it).or_else(|| projects.iter().find(ends))
}

/// Shows an offer with what would move, before it is done.
fn offered(offer: &Offer, projects: &[Project]) -> Markup {
    let (from, into) = (named(&offer.from, projects), named(&offer.into, projects));
    let into_name = into.map_or(offer.into.as_str(), |into| into.name.as_str());
    html! {
        li.item data-item {
            p {
                "The folder of " strong { (offer.name) } " is gone (" code { (offer.directory) } "). "
                strong { (into_name) }
                @if offer.is_same_commit { " begins with the same commit and may be its new folder." } @else { " has the same name and may be the same project." }
            }
            @if let Some(from) = from {
                p.quiet {
                    "A merge moves " (counted(from.sessions, "session")) ", " (counted(from.turns, "turn")) " and their memories to " (into_name)
                    @if let Some(into) = into { ", which has " (counted(into.sessions, "session")) " and " (counted(into.turns, "turn")) }
                    ". It can be taken back."
                }
            }
            div.actions {
                (parts::change_saying("Merge them", "projects/merge", &json!({"from": offer.from, "into": offer.into}), Some("Click again to merge"), "Merged"))
                @if let Some(from) = from { a href={ "projects/" (from.id) } { "The older one" } }
                @if let Some(into) = into { a href={ "projects/" (into.id) } { "The newer one" } }
            }
        }
    }
}

fn merging(projects: &[Project]) -> Markup {
    let choice = |name: &'static str, label: &'static str| {
        html! {
            label { (label) " " select name=(name) required {
                option value="" { "Choose" }
                @for project in projects { option value=(project.id) { (project.name) ", " (counted(project.turns, "turn")) } }
            } }
        }
    };
    html! {
        form.filters data-method="POST" data-path="api/v1/projects/merge" data-body="{}" data-words="Merged" {
            (choice("from", "The sessions of")) (choice("into", "belong to"))
            button type="submit" { "Merge" }
        }
        div.actions {
            (parts::change_saying("Take the last merge back", "projects/unmerge", &json!({}), Some("Click again to take it back"), "Taken back"))
        }
    }
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
        memories::list(caller, list)
    };
    let open = of(&["question", "problem", "todo"], true)?;
    let decided = of(&["decision"], false)?;
    let rules = of(&["standard", "preference"], false)?;
    let files = calls::files(caller, calls::Files { project: id.clone(), limit: Some(LISTED) })?;
    let latest = session_calls::List { project: vec![id.clone()], limit: Some(LISTED), ..session_calls::List::default() };
    let latest = session_calls::list(caller, latest)?;
    let growth = state.life.map(|life| life.growth).unwrap_or_default();
    let turns: Vec<(String, u64)> = growth.iter().map(|week| (format!("week of {}", week.week), week.turns)).collect();
    let was_active = turns.iter().any(|(_, turns)| *turns > 0);
    let lists = [
        ("Open points", &open, "kind=question&kind=problem&kind=todo&is_open=true"),
        ("Decisions", &decided, "kind=decision"),
        ("Rules and preferences", &rules, "kind=standard&kind=preference"),
    ];
    let body = html! {
        h1 { (project.name) }
        dl {
            dt { "Sessions" } dd { (counted(project.sessions, "session")) ", " (counted(project.turns, "turn")) }
            dt { "Memories" } dd { (count(state.memories.total)) }
            @if project.updated.is_some() { dt { "Last used" } dd { (parts::time(project.updated.as_deref())) } }
            @for name in &project.known_as { dt { (name.kind) } dd { (name.value) } }
        }
        p.chips {
            a.chip href={ "memories?project=" (id) } { "Memories" }
            a.chip href={ "sessions?project=" (id) } { "Sessions" }
            a.chip href={ "timeline?project=" (id) } { "Timeline" }
            a.chip href={ "categories?project=" (id) } { "Categories" }
        }
        @if was_active { (parts::bars(&format!("Turns by week, the last {WEEKS} weeks"), "turns", &turns)) }
        @else { p.quiet { "Nothing was said here in the last " (WEEKS) " weeks." } }
        @for (heading, page, query) in lists {
            h2 { (heading) }
            @if page.items.is_empty() { p.quiet { "None." } }
            ul.items { @for memory in &page.items { (parts::memory_item(memory)) } }
            (parts::more("memories", &format!("project={id}&{query}"), page.next.as_deref()))
        }
        h2 { "Files that matter" }
        (changed(&files))
        h2 { "Last sessions" }
        @if latest.items.is_empty() { p.quiet { "None." } }
        ul.items { @for session in &latest.items { (sessions::item(session)) } }
        (parts::more("sessions", &format!("project={id}"), latest.next.as_deref()))
        h2 { "Name" }
        form.filters data-method="POST" data-path="api/v1/projects/rename" data-body=(json!({"project": id}).to_string()) data-words="Renamed" {
            label { "Another name " input type="text" name="name" value=(project.name) required maxlength="200"; }
            button type="submit" { "Rename" }
        }
    };
    Ok(Content::new(project.name.clone(), body))
}

fn changed(files: &[ChangedFile]) -> Markup {
    html! {
        @if files.is_empty() { p.quiet { "No agent changed a file here, as far as is known." } }
        @else {
            div.table tabindex="0" { table {
                thead { tr { th scope="col" { "File" } th scope="col" { "Changes" } th scope="col" { "Last" } } }
                tbody { @for file in files { tr {
                    th scope="row" { code { (file.path) } }
                    td { (file.changes.as_deref().unwrap_or_default()) }
                    td { (parts::day(file.last.as_deref())) }
                } } }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Named;

    fn project(id: &str, name: &str) -> Project {
        let known_as = vec![Named { kind: "directory".to_owned(), value: "/home/dev/<b>gull</b>".to_owned() }];
        Project { id: id.to_owned(), name: name.to_owned(), sessions: 1, turns: 1200, updated: None, known_as }
    }

    #[test]
    fn offer_tells_what_a_merge_would_move_and_asks_twice() {
        let projects = [project("0199aa01", "gull"), project("0199bb02", "gull")];
        let offer = Offer {
            from: "aa01".to_owned(),
            name: "gull".to_owned(),
            directory: "/home/dev/old".to_owned(),
            into: "bb02".to_owned(),
            is_same_commit: true,
        };
        let html = offered(&offer, &projects).into_string();
        assert!(html.contains("moves 1 session, 1,200 turns and their memories to gull"), "{html}");
        assert!(html.contains("data-ask=\"Click again to merge\"") && html.contains("projects/0199bb02"), "{html}");
    }

    #[test]
    fn names_of_projects_and_files_are_text() {
        let html = item(&project("0199aa01", "<script>alert(1)</script>")).into_string();
        assert!(html.contains("&lt;script&gt;") && html.contains("&lt;b&gt;gull") && !html.contains("<script"), "{html}");
        let file = ChangedFile { path: "<img src=x>".to_owned(), changes: None, last: None };
        assert!(changed(&[file]).into_string().contains("&lt;img"));
    }
}
