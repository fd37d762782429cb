//! `distil`: gives an agent the new lines of a conversation, and records what it finds worth keeping in them.

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use yore_engine::{Distilled, DistilledEntity, DistilledItem, DistilledRelation, DistilledTopic, MaterialRequest};

use super::{Call, Effect, described};
use crate::distil;
use crate::error::CliResult;
use crate::mcp::answer::Answer;
use crate::mcp::arguments::{given, parse};
use crate::results;

const DESCRIPTION: &str = "Distil a session into memories. Without `items`: its new lines, numbered. With them: records what lasts in \
these lines (decisions with reasons, causes and fixes, what the person demands), each one sentence understandable alone, with \
words quoted from its line. Only if the person asks, or when a piece of work ends.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Its id; default: this session, else one that waits
    session: Option<String>,
    /// Findings to keep
    #[schemars(with = "Option<Vec<Item>>")]
    items: Option<Vec<DistilledItem>>,
    /// From an item's ref or line to a ref, memory id or name
    #[schemars(with = "Option<Vec<Relation>>")]
    relations: Option<Vec<DistilledRelation>>,
    /// Things that items name
    #[schemars(with = "Option<Vec<Entity>>")]
    entities: Option<Vec<DistilledEntity>>,
    /// Ids of memories proposed by rules that are wrong or not worth keeping
    #[serde(default)]
    drop: Vec<String>,
    /// Name and summary of the last topic
    #[serde(alias = "topic_update")]
    #[schemars(with = "Option<Topic>")]
    topic: Option<DistilledTopic>,
    /// Last line read
    upto: Option<u32>,
    /// Lines with nothing to keep
    #[serde(default)]
    skip_lines: Vec<u32>,
}

/// An item as the schema shows it; it is read as [`DistilledItem`].
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Item {
    kind: String,
    statement: String,
    /// Default: the last that has the quote
    line: Option<u32>,
    /// Exact words
    quote: String,
    r#ref: Option<String>,
    entities: Option<Vec<String>>,
    confidence: Option<f32>,
    details: Option<String>,
    /// Such as error, cause, tried, change; reason, alternative; example; corrected
    fields: Option<Vec<Field>>,
    closed: Option<bool>,
    /// A thing that has one value at a time, with `value`
    subject: Option<String>,
    aspect: Option<String>,
    value: Option<String>,
}

/// A field as the schema shows it; it is read as [`DistilledField`](yore_engine::DistilledField).
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Field {
    name: String,
    text: String,
}

/// A thing as the schema shows it; it is read as [`DistilledEntity`].
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Entity {
    name: String,
    /// Such as person, tool, framework, component, file
    kind: String,
    description: Option<String>,
    /// Name of the known thing that it is
    same_as: Option<String>,
}

/// A relation as the schema shows it; it is read as [`DistilledRelation`].
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Relation {
    from: String,
    r#type: String,
    to: String,
}

/// A topic as the schema shows it; it is read as [`DistilledTopic`].
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Topic {
    name: Option<String>,
    summary: Option<String>,
}

pub fn tool(name: &'static str) -> Result<Tool, String> {
    described::<Arguments>(name, "Distil a session", DESCRIPTION, Effect::Adds)
}

pub async fn call(call: Call) -> CliResult<Answer> {
    let Arguments { session, items, relations, entities, drop, topic, upto, skip_lines } = parse(call.arguments)?;
    let own = call.access.asking();
    let session = given(session);
    if items.is_none() && topic.is_none() && upto.is_none() && skip_lines.is_empty() && drop.is_empty() {
        let request = MaterialRequest { session, own, here: call.access.here.clone() };
        let found = call.access.handle.with(move |memory| memory.material(request)).await?;
        return Ok(match found {
            Some(material) => {
                let data = results::Material::from(&material);
                Answer::recalled(distil::material(&material), data, Vec::new())
            }
            None => Answer::new(distil::NOTHING, serde_json::json!({"session": null})),
        });
    }
    let distilled = Distilled {
        // An agent that names no session means its own.
        session: session.or(own).unwrap_or_default(),
        items: items.unwrap_or_default(),
        relations: relations.unwrap_or_default(),
        entities: entities.unwrap_or_default(),
        drop,
        topic,
        upto,
        skip_lines,
    };
    let report = call.access.handle.with(move |memory| memory.record_distilled(distilled)).await?;
    Ok(Answer::new(distil::report(&report), results::DistilReport::from(&report)))
}
