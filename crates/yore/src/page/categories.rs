//! Categories: the tree, and the summary of one with the source of each sentence.

use maud::{Markup, html};

use super::parts::{self, count};
use super::view::{Content, Input, Row};
use crate::api::calls::categories as calls;
use crate::api::calls::memories;
use crate::api::route::Caller;
use crate::error::CliResult;
use crate::results::{CategoryLine, MemoryCategory, MemoryRecord};

/// Sections of a summary, with their headings.
const SECTIONS: [(&str, &str); 6] = [
    ("holds", "What holds"),
    ("decisions", "Decisions"),
    ("rules", "Rules"),
    ("solutions", "Problems and their solutions"),
    ("open", "Open"),
    ("events", "What happened"),
];

/// Most memories of a category that are listed.
const MEMBERS: usize = 50;

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/categories", view: list }, Row { path: "/categories/{name}", view: one }]
}

fn list(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let found = calls::list(caller, input.read()?)?;
    let body = html! {
        h1 { "Categories" }
        @if found.is_empty() {
            section.empty { p { "No memory holds yet. " code { "yore learn" } " says how memories are made." } }
        }
        ul.items { @for category in &found { (item(category)) } }
    };
    Ok(Content::new("Categories", body))
}

fn item(category: &MemoryCategory) -> Markup {
    html! {
        li.item data-item {
            div.meta { span { (count(category.items)) " memories" } (parts::day(category.last_added.as_deref())) }
            a.statement href={ "categories/" (parts::segment(&category.name)) } { (category.title) }
            @if !category.description.is_empty() { p.quiet { (category.description) } }
            @if !category.children.is_empty() {
                div.chips { @for part in &category.children { a.chip href={ "categories/" (parts::segment(&part.name)) } { (part.title) " " (part.items) } } }
            }
        }
    }
}

fn one(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let found = calls::open(caller, input.read()?)?;
    let category = &found.category;
    let first = found.members.iter().take(MEMBERS);
    // One that was forgotten in this very moment is left out.
    let members: Vec<MemoryRecord> =
        first.filter_map(|member| memories::record(caller, memories::Id { id: member.id.clone() }).ok()).collect();
    let body = html! {
        @if let Some(parent) = &category.parent { p { a href={ "categories/" (parts::segment(parent)) } { (parent) } } }
        h1 { (category.title) }
        p.quiet { (count(category.items)) " memories, the last of " (parts::day(category.last_added.as_deref())) }
        @if !category.children.is_empty() {
            div.chips { @for part in &category.children { a.chip href={ "categories/" (parts::segment(&part.name)) } { (part.title) " " (part.items) } } }
        }
        @for (section, heading) in SECTIONS {
            @let lines: Vec<&CategoryLine> = found.lines.iter().filter(|line| line.section == section).collect();
            @if !lines.is_empty() {
                h2 { (heading) }
                ul.items { @for line in lines { (told(line)) } }
            }
        }
        h2 { "Its memories" }
        @if found.members.len() > members.len() { p.quiet { "The " (members.len()) " most relevant of " (count(found.members.len() as u64)) "." } }
        ul.items { @for member in &members { (parts::memory_item(member)) } }
    };
    Ok(Content::new(category.title.clone(), body))
}

fn told(line: &CategoryLine) -> Markup {
    html! {
        li.item data-item {
            a.statement href={ "memories/" (line.source) } { (line.text) }
            div.meta {
                (parts::day(line.time.as_deref()))
                @if line.contested { span.mark.warn { "contested" } }
                @if let Some(before) = &line.before { span { "before: " (before) } }
            }
        }
    }
}
