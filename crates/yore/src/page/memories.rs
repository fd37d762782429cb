//! The list of memories.

use maud::html;

use super::parts;
use super::view::{Content, Input, Row};
use crate::api::calls::memories as calls;
use crate::api::route::Caller;
use crate::error::CliResult;

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/memories", view: list }]
}

fn list(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let page = calls::list(caller, input.read()?)?;
    let body = html! {
        h1 { "Memories" }
        ul.items { @for memory in &page.items { (parts::memory_item(memory)) } }
        (parts::more("memories", &input.with("after", page.next.as_deref()), page.next.as_deref()))
    };
    Ok(Content::new("Memories", body))
}
