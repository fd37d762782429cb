//! Entities: the list, pairs that may be one thing, and one entity with its memories and relations.

use maud::{Markup, html};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::forms::{plain, select};
use super::graph::{self, Neighbour};
use super::memories::tabs;
use super::memory::neighbour;
use super::parts;
use super::view::{Content, Input, Row};
use crate::api::calls::entities::{self as calls, Alike, Id, List, Name};
use crate::api::calls::memories;
use crate::api::route::Caller;
use crate::error::CliResult;
use crate::results::{AlikePair, EntityRecord, MemoryRecord, OpenedEntity};

/// Pairs that may be one thing, on the first page.
const PAIRS: usize = 10;
/// Memories that are shown with an entity.
const MEMORIES: usize = 50;

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/entities", view: list }, Row { path: "/entities/{id}", view: one }]
}

fn list(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let asked: List = input.read()?;
    let is_first = asked.after.is_none();
    let page = calls::list(caller, asked)?;
    let pairs = if is_first { calls::alike(caller, Alike { limit: Some(PAIRS) })? } else { Vec::new() };
    let body = html! {
        h1 { "Entities" }
        (tabs("entities"))
        p.quiet { "People, projects, tools and ideas that memories are about." }
        (record())
        @if page.items.is_empty() { p { "No entities yet: memories name them." } }
        @if !pairs.is_empty() {
            details {
                summary { (pairs.len()) " pairs may be one thing" }
                p.quiet { "By the meaning of their names. Most that are near in meaning are two things." }
                ul.items { @for pair in &pairs { (alike(pair)) } }
            }
        }
        ul.items { @for entity in &page.items { (item(entity)) } }
        (parts::more("entities", &input.with("after", page.next.as_deref()), page.next.as_deref()))
    };
    Ok(Content::new("Entities", body))
}

fn record() -> Markup {
    let kinds = plain(yore_core::entity::EntityKind::ALL.iter().map(|kind| kind.as_str()));
    html! {
        details.record {
            summary { "Record an entity" }
            form.form data-method="POST" data-path="api/v1/entities" data-words="Recorded" {
                (select("kind", "Kind", "tool", &kinds))
                label { "Name " input name="name" required; }
                label { "Other names " input name="aliases" data-type="list" placeholder="one, another"; }
                label.wide { "What it is " input name="description"; }
                button.primary type="submit" { "Record" }
            }
        }
    }
}

fn item(entity: &EntityRecord) -> Markup {
    html! {
        li.item data-item {
            div.meta {
                span.kind { (entity.kind) }
                @if !entity.aliases.is_empty() { span { "also " (entity.aliases.join(", ")) } }
            }
            a.statement href={ "entities/" (entity.id) } { (entity.name) }
            @if let Some(description) = &entity.description { div.quiet { (description) } }
        }
    }
}

fn alike(pair: &AlikePair) -> Markup {
    let (older, newer) = (&pair.older, &pair.newer);
    html! {
        li.item data-item {
            span.quiet { (format!("{:.2} ", pair.nearness)) }
            a href={ "entities/" (older.id) } { (older.name) } " and " a href={ "entities/" (newer.id) } { (newer.name) }
            span.quiet { " (" (older.kind) ")" }
            p { a href={ "entities/" (newer.id) "?into=" (parts::segment(&full_name(older))) } { "See what a merge would do" } }
        }
    }
}

/// Returns the name by which the API finds exactly this entity.
fn full_name(entity: &EntityRecord) -> String {
    format!("{}:{}", entity.kind, entity.name)
}

/// The arguments of the view of one entity.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// Its id, or the beginning of it
    id: String,
    /// The entity into which it would be merged, as NAME or KIND:NAME
    #[serde(default)]
    into: Option<String>,
}

fn one(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let asked: Asked = input.read()?;
    let opened = calls::open(caller, Id { id: asked.id })?;
    let list = memories::List {
        entity: vec![full_name(&opened.entity)],
        status: vec!["all".to_owned()],
        limit: Some(MEMORIES),
        ..memories::List::default()
    };
    let about = memories::list(caller, list)?;
    let into = match &asked.into {
        Some(name) => {
            let other = calls::named(caller, Name { name: name.clone() })?;
            Some(calls::open(caller, Id { id: other.id })?)
        }
        None => None,
    };
    let has_more = about.next.is_some();
    let body = whole(&opened, &about.items, has_more, into.as_ref());
    Ok(Content::new(opened.entity.name.clone(), body))
}

fn whole(opened: &OpenedEntity, about: &[MemoryRecord], has_more: bool, into: Option<&OpenedEntity>) -> Markup {
    let OpenedEntity { entity, relations } = opened;
    let neighbours: Vec<Neighbour> = relations.iter().map(neighbour).collect();
    html! {
        h1 { (entity.name) }
        p.meta {
            span.kind { (entity.kind) }
            @if !entity.aliases.is_empty() { span { "also called " (entity.aliases.join(", ")) } }
            span { (about.len()) @if has_more { "+" } @if about.len() == 1 { " memory" } @else { " memories" } }
        }
        @if let Some(description) = &entity.description { p { (description) } }
        @if let Some(into) = into { (merge(opened, into)) }
        section.change aria-label="Change it" {
            details {
                summary { "Other names, description" }
                form.form data-method="POST" data-path="api/v1/entities"
                    data-body=(json!({"kind": entity.kind, "name": entity.name})) data-changed {
                    label { "Another name " input name="aliases" data-type="list" placeholder="one, another"; }
                    label.wide { "What it is " input name="description" value=(entity.description.as_deref().unwrap_or_default()); }
                    button.primary type="submit" { "Save" }
                }
            }
            details open[into.is_some()] {
                summary { "It is the same as another one" }
                form.form action={ "entities/" (entity.id) } method="get" {
                    label { "Name of the other one " input name="into" required value=(into.map(|into| full_name(&into.entity)).unwrap_or_default()); }
                    button type="submit" { "See what a merge would do" }
                }
            }
        }
        @if !neighbours.is_empty() {
            section {
                h2 { "Related" }
                (graph::around(&entity.name, &neighbours))
                ul.plain {
                    @for neighbour in &neighbours { li { span.quiet { (neighbour.relation) " " } (graph::link(neighbour)) } }
                }
            }
        }
        section {
            h2 { "Memories about it" }
            @if about.is_empty() { p.quiet { "None." } }
            ul.items { @for memory in about { (parts::memory_item(memory)) } }
            @if has_more { p.more { a href={ "memories?status=all&entity=" (parts::segment(&full_name(entity))) } { "All of them" } } }
        }
    }
}

/// Shows what a merge would do, with the button that does it.
fn merge(from: &OpenedEntity, into: &OpenedEntity) -> Markup {
    let (gone, kept) = (&from.entity, &into.entity);
    let body = json!({"from": full_name(gone), "into": full_name(kept)});
    html! {
        section.dry aria-label="Merge" {
            @if gone.id == kept.id {
                p { "It is the same entity already." }
            } @else {
                h2 { "A merge would do this" }
                ul {
                    li { "“" (gone.name) "” becomes a name of “" (kept.name) "”" @if !gone.aliases.is_empty() { ", with " (gone.aliases.join(", ")) } "." }
                    li { (from.relations.len()) @if from.relations.len() == 1 { " relation goes" } @else { " relations go" } " to “" (kept.name) "”, which has " (into.relations.len()) "." }
                    li { "Nothing else changes, and it can be undone." }
                }
                button.primary type="button" data-method="POST" data-path="api/v1/entities/merge" data-body=(body)
                    data-then={ "entities/" (kept.id) } data-words="Merged" { "Merge" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::tests::record;
    use super::*;

    fn entity(name: &str, id: &str) -> OpenedEntity {
        let entity = EntityRecord {
            id: id.repeat(32),
            kind: "tool".to_owned(),
            name: name.to_owned(),
            aliases: vec!["<i>".to_owned()],
            description: None,
        };
        OpenedEntity { entity, relations: record("x").relations }
    }

    #[test]
    fn a_merge_is_shown_before_it_is_done() {
        let (from, into) = (entity("Postgres <b>", "a"), entity("PostgreSQL", "b"));
        let page = whole(&from, &[record("x")], false, Some(&into)).into_string();
        assert!(page.contains("1 relation goes") && page.contains("entities/merge"));
        assert!(!page.contains("<b>") && !page.contains("<i>"));
        assert!(!whole(&from, &[], false, None).into_string().contains("entities/merge"));
        assert!(!whole(&from, &[], false, Some(&from)).into_string().contains("entities/merge"));
    }
}
