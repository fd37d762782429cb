//! The list of memories with its filters, and the form that records one.

use maud::{Markup, html};
use yore_core::memory::dynamics::Tier;
use yore_core::memory::{MemoryKind, Status};

use super::forms::{self, choice, plain, select, words};
use super::parts;
use super::view::{Content, Input, Row};
use crate::api::calls::memories as calls;
use crate::api::calls::projects;
use crate::api::route::{Caller, Nothing};
use crate::error::CliResult;

/// Kinds that a person may record.
const RECORDED: [MemoryKind; 9] = [
    MemoryKind::Decision,
    MemoryKind::Fact,
    MemoryKind::Standard,
    MemoryKind::Preference,
    MemoryKind::Solution,
    MemoryKind::Pattern,
    MemoryKind::Question,
    MemoryKind::Problem,
    MemoryKind::Todo,
];

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/memories", view: list }]
}

/// Returns the links between the views of memories; `current`: the path of the one that is shown.
pub fn tabs(current: &str) -> Markup {
    let views =
        [("memories", "List"), ("timeline", "Timeline"), ("entities", "Entities"), ("log", "Changes"), ("forget", "Forget")];
    html! {
        nav.chips aria-label="Views of memories" {
            @for (path, name) in views { a.chip href=(path) aria-current=[(path == current).then_some("page")] { (name) } }
        }
    }
}

/// Returns all kinds as options.
pub fn kinds() -> Vec<(String, String)> {
    plain(MemoryKind::ALL.iter().map(|kind| kind.as_str()))
}

fn list(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let page = calls::list(caller, input.read()?)?;
    let count = match forms::given(input, "words").is_empty() {
        true => calls::count(caller, input.read()?)?.count,
        false => page.items.len() as u64,
    };
    let projects = projects::names(caller, Nothing {})?;
    let is_first = page.items.is_empty() && input.pairs().iter().all(|(_, value)| value.is_empty());
    let body = html! {
        h1 { "Memories" }
        (tabs("memories"))
        (filters(input, &projects))
        (record(&projects))
        @if is_first {
            section.empty {
                p { "There are no memories yet." }
                p { "Agents record them while they work, " code { "yore extract" } " finds them in conversations, and the form above records one." }
            }
        } @else if page.items.is_empty() {
            p { "No memory matches." }
        } @else {
            p.quiet role="status" { (count) @if count == 1 { " memory" } @else { " memories" } }
        }
        ul.items { @for memory in &page.items { (parts::memory_item(memory)) } }
        (parts::more("memories", &input.with("after", page.next.as_deref()), page.next.as_deref()))
    };
    Ok(Content::new("Memories", body))
}

fn filters(input: &Input, projects: &[String]) -> Markup {
    let is_filtered = ["tag", "lane", "tier", "entity", "since", "until", "is_open", "status"]
        .iter()
        .any(|name| !forms::given(input, name).is_empty());
    let mut statuses = plain(Status::ALL.iter().map(|status| status.as_str()));
    statuses.push(("all".to_owned(), "all".to_owned()));
    let lanes = [("curated", "a person's or confirmed"), ("extracted", "extracted, not confirmed")];
    let lanes: Vec<(String, String)> = lanes.iter().map(|(value, words)| ((*value).to_owned(), (*words).to_owned())).collect();
    html! {
        form.search role="search" action="memories" method="get" {
            label.unseen for="words" { "Only memories that these words find" }
            div.field {
                input #words type="search" name="words" value=(forms::given(input, "words")) placeholder="Words";
                button type="submit" { "Show" }
            }
            div.fields {
                (choice(input, "kind", "Kind", "all", &kinds()))
                (choice(input, "project", "Project", "all", &plain_names(projects)))
            }
            details.filters open[is_filtered] {
                summary { "More filters" }
                div.fields {
                    (choice(input, "status", "Status", "those that hold", &statuses))
                    (choice(input, "lane", "From", "anybody", &lanes))
                    (choice(input, "tier", "Tier", "all", &plain(Tier::ALL.iter().map(|tier| tier.as_str()))))
                    (words(input, "tag", "Tag", ""))
                    (words(input, "entity", "About", "Name"))
                    (words(input, "since", "Changed since", "2026-01-31, last week"))
                    (words(input, "until", "Changed before", ""))
                    label {
                        input type="checkbox" name="is_open" value="true" checked[forms::given(input, "is_open") == "true"];
                        " only open questions and todos"
                    }
                }
            }
        }
    }
}

/// Returns the names of projects as options.
pub fn plain_names(names: &[String]) -> Vec<(String, String)> {
    names.iter().map(|name| (name.clone(), name.clone())).collect()
}

fn record(projects: &[String]) -> Markup {
    let mut places = vec![(String::new(), "everywhere".to_owned())];
    places.extend(plain_names(projects));
    html! {
        details.record {
            summary { "Record a memory" }
            form.form data-method="POST" data-path="api/v1/memories" data-words="Recorded" data-then="memories/{memory}" {
                (select("kind", "Kind", "decision", &plain(RECORDED.iter().map(|kind| kind.as_str()))))
                (select("project", "Holds in", "", &places))
                label.wide { "Statement " textarea name="statement" rows="3" required {} }
                label.wide { "Title " input name="title"; }
                label.wide { "Details " textarea name="details" rows="2" {} }
                label { "Tags " input name="tags" data-type="list" placeholder="one, another"; }
                label { "About " input name="entities" data-type="list" placeholder="Name, tool:Name"; }
                label { "True since " input name="valid_from" type="date"; }
                button.primary type="submit" { "Record" }
            }
        }
    }
}
