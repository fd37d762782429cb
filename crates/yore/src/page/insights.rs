//! Insights: what happens again and again in the work of a project, each with a button that makes a memory of it.

use maud::{Markup, html};
use serde_json::json;
use yore_core::insight::InsightKind;

use super::parts::{self, count};
use super::view::{Content, Input, Row};
use crate::api::calls::insights as calls;
use crate::api::route::Caller;
use crate::error::CliResult;
use crate::results::Insight;

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/insights", view: list }]
}

fn list(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let found = calls::list(caller, input.read()?)?;
    let body = html! {
        h1 { "Insights" }
        @if found.is_empty() {
            section.empty { p { "Upkeep looks for them every night: what happened in three sessions or more of a project." } }
        }
        div.actions { (parts::change_saying("Find them now", "insights", &json!({}), None, "All sessions were looked at")) }
        @for kind in InsightKind::ALL {
            @let of_kind: Vec<&Insight> = found.iter().filter(|insight| insight.kind == kind.as_str()).collect();
            @if !of_kind.is_empty() {
                h2 { (kind.heading()) }
                ul.items { @for insight in of_kind { (item(insight)) } }
            }
        }
    };
    Ok(Content::new("Insights", body))
}

fn item(insight: &Insight) -> Markup {
    let view = if insight.kind == InsightKind::Reversal.as_str() { "memories/" } else { "turn/" };
    html! {
        li.item data-item {
            p { (insight.statement) }
            div.meta {
                span { (insight.project) }
                @if insight.times > insight.sessions { span { (count(insight.times)) " times" } }
                span { "last " (parts::day(insight.last.as_deref())) }
                @for (number, id) in insight.evidence.iter().enumerate() { a href={ (view) (parts::segment(id)) } { "see " (number + 1) } }
            }
            @if let Some(offer) = &insight.offer {
                div.actions {
                    (parts::change("Keep as a memory", "POST", "memories",
                        &json!({"kind": offer.kind, "statement": offer.statement, "project": insight.project_id, "evidence": insight.evidence}), None))
                    span.quiet { (offer.kind) ": " (offer.statement) }
                }
            }
        }
    }
}
