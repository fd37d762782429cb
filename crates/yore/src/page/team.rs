//! Teams: what this computer shares with them, and what their members share with it.

use maud::{Markup, html};

use super::parts::{self, count};
use super::view::{Content, Input, Row};
use crate::api::calls::team as calls;
use crate::api::route::{Caller, Nothing};
use crate::error::CliResult;
use crate::render::text::counted;
use crate::results::{TeamProjectState, TeamState};

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/team", view: teams }]
}

fn teams(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let Nothing {} = input.read()?;
    let found = calls::teams(caller, Nothing {})?;
    let body = html! {
        h1 { "Team" }
        @if found.is_empty() {
            section.empty {
                p { "This computer is in no team: nothing is shared over a server." }
                p { code { "yore team join SERVER INVITATION" } " joins one, and " code { "yore share ." } " in a project shares it. " code { "yore share MEMORY" } " shares one memory as a file of the repository, without a server." }
            }
        }
        @for team in &found { (shown(team)) }
    };
    Ok(Content::new("Team", body))
}

fn shown(team: &TeamState) -> Markup {
    html! {
        h2 { (team.team) }
        p.quiet { (team.server) ": you are " (team.email) ", " (team.role) }
        @if team.projects.is_empty() { p { "No project is shared with it here; " code { "yore share ." } " in a project shares it." } }
        @for project in &team.projects { (shared(project)) }
    }
}

fn shared(project: &TeamProjectState) -> Markup {
    html! {
        h3 { (project.project) }
        dl {
            dt { "Shared from here" }
            dd { (counted(project.sent, "memory")) @if project.level == "named" { ", those that you name" } @else { ", all that hold for everybody who works on it" } " (" (project.directory) ")" }
            @if project.sessions > 0 {
                dt { "Sessions" }
                dd { (counted(project.sessions, "session")) " with " (counted(project.turns, "turn")) " are searched by members on the server" @if project.turns_held_back > 0 { "; " (counted(project.turns_held_back, "turn")) " held back" } }
            }
            dt { "Received" } dd { (counted(project.received, "text")) }
            @if project.waiting > 0 { dt { "Waiting" } dd { (counted(project.waiting, "change")) " to be sent" } }
        }
        @if !project.authors.is_empty() {
            div.table tabindex="0" role="region" aria-label={ "Who shares in " (project.project) } { table {
                thead { tr { th scope="col" { "Who taught it" } th scope="col" { "Address" } th.number scope="col" { "Texts" } } }
                tbody { @for author in &project.authors { tr { th scope="row" { (author.name) } td { (author.email) } td.number { (count(author.texts)) } } } }
            } }
        }
        @for refused in &project.refused {
            p { span.mark.warn { "refused" } " " (parts::own_words(&refused.reason)) }
        }
        p.quiet { a href="memories" { "Memories" } " name the colleague who shares each; contradictions with your own wait in the " a href="inbox" { "inbox" } "." }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{ShareRefused, TeamAuthor};

    #[test]
    fn names_of_members_are_text_and_what_waits_and_was_refused_is_told() {
        let project = TeamProjectState {
            project: "tide".to_owned(),
            level: "named".to_owned(),
            sent: 1,
            received: 2,
            waiting: 3,
            refused: vec![ShareRefused { memory: "a".to_owned(), reason: "it is too long".to_owned() }],
            authors: vec![TeamAuthor { email: "b@tide.example".to_owned(), name: "<b>Bo</b>".to_owned(), texts: 2 }],
            ..TeamProjectState::default()
        };
        let team = TeamState { team: "harbour".to_owned(), projects: vec![project], ..TeamState::default() };
        let html = shown(&team).into_string();
        assert!(html.contains("&lt;b&gt;Bo&lt;/b&gt;") && !html.contains("<b>Bo"), "{html}");
        assert!(
            html.contains("3 changes to be sent") && html.contains("it is too long") && html.contains("those that you name"),
            "{html}"
        );
    }
}
