//! Recognises the forms in which Cursor's databases hold conversations since November 2024.

use std::io;

use serde_json::Value;

use super::super::shapes::text_of;
use super::record::parse;
use super::tables::item;
use crate::foreign::ForeignDatabase;

/// How a conversation stores its messages.
pub(super) enum Shape<'v> {
    /// By their ids, each in its own row.
    Heads(&'v Vec<Value>),
    /// Within the conversation itself.
    Inline(Vec<&'v Value>),
}

/// Returns the shape of a conversation, or `None` if it has no messages.
pub(super) fn shape_of(composer: &Value) -> Option<Shape<'_>> {
    let list = |key: &str| composer[key].as_array().filter(|list| !list.is_empty());
    if let Some(heads) = list("fullConversationHeadersOnly") {
        return Some(Shape::Heads(heads));
    }
    if let Some(inline) = list("conversation") {
        return Some(Shape::Inline(inline.iter().collect()));
    }
    let map = composer["conversationMap"].as_object().filter(|map| !map.is_empty())?;
    Some(Shape::Inline(map.values().collect()))
}

/// Returns whether an id is that of a conversation, not of an empty window.
pub(super) fn is_conversation(id: &str) -> bool {
    !id.is_empty() && !id.starts_with("empty-state")
}

pub(super) fn id_of(composer: &Value) -> Option<&str> {
    text_of(composer, "composerId").filter(|id| is_conversation(id))
}

/// Returns the conversations that a window's database holds in full.
pub(super) fn inline_composers(database: &ForeignDatabase) -> io::Result<Vec<Value>> {
    let Some(value) = item(database, "composer.composerData")?.and_then(|text| parse(&text)) else {
        return Ok(Vec::new());
    };
    let Value::Object(mut value) = value else { return Ok(Vec::new()) };
    let Some(Value::Array(mut all)) = value.remove("allComposers") else { return Ok(Vec::new()) };
    all.retain(|composer| shape_of(composer).is_some_and(|shape| matches!(shape, Shape::Inline(_))));
    Ok(all)
}
