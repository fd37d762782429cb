//! Describes what an operation changed: the thing, and the members of its record before and after.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::plain::{exact_time, one_line};
use crate::results::OperationChange;

/// Members that are shown of a record that is new or removed. Of a changed one, all that changed are shown.
const TOLD: [&str; 12] = [
    "aliases",
    "description",
    "details",
    "evidence",
    "kind",
    "name",
    "statement",
    "status",
    "tags",
    "title",
    "valid_from",
    "valid_until",
];

/// Members of a record that are times.
const TIMES: [&str; 4] = ["status_since", "valid_from", "valid_until", "activated"];

/// A member of a record that a change changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its value before, if it had one.
    pub before: Option<String>,
    /// Its value after, if it has one.
    pub after: Option<String>,
}

/// Says whether a record is new or removed; empty if it was changed.
pub fn fate(change: &OperationChange) -> &'static str {
    match (&change.before, &change.after) {
        (None, Some(_)) => "new",
        (None, None) => "new, and changed again since",
        (Some(_), None) => "removed, or changed again since",
        (Some(_), Some(_)) => "",
    }
}

/// Names the thing that was changed: by its id, a relation by its ends.
pub fn named(change: &OperationChange) -> String {
    let (before, after) = members_of(change);
    let whole = if after.is_empty() { &before } else { &after };
    if change.kind == "relation" && !whole.is_empty() { related(whole) } else { change.id.clone() }
}

/// Returns the statement or the name of the thing that was changed, after the change, or else before it.
pub fn said(change: &OperationChange) -> Option<String> {
    let (before, after) = members_of(change);
    let word = |members: &Map<String, Value>, name: &str| members.get(name).and_then(Value::as_str).map(str::to_owned);
    [after, before].iter().find_map(|members| word(members, "statement").or_else(|| word(members, "name")))
}

/// Returns the members that a change changed.
pub fn members(change: &OperationChange) -> Vec<Member> {
    let is_relation = change.kind == "relation";
    let (before, after) = members_of(change);
    let is_whole = before.is_empty() || after.is_empty();
    let is_told = |name: &&String| if is_whole { !is_relation && TOLD.contains(&name.as_str()) } else { *name != "changed" };
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).filter(is_told).collect();
    let value = |members: &Map<String, Value>, name: &String| {
        members.get(name).filter(|value| !is_empty(value)).map(|value| in_words(name, value))
    };
    names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| Member { name: name.replace('_', " "), before: value(&before, name), after: value(&after, name) })
        .filter(|member| member.before.is_some() || member.after.is_some())
        .collect()
}

/// Returns the members of the records: a record is a member named by its kind.
fn members_of(change: &OperationChange) -> (Map<String, Value>, Map<String, Value>) {
    let members =
        |value: &Option<Value>| value.as_ref().and_then(|record| record[&change.kind].as_object()).cloned().unwrap_or_default();
    (members(&change.before), members(&change.after))
}

/// Describes a relation: what it leads from, its type, what it leads to, and why.
fn related(members: &Map<String, Value>) -> String {
    let words = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default();
    let node = |name: &str| match words(name).split_once(' ') {
        Some((kind, id)) if id.len() == 32 && id.is_ascii() => format!("{kind} {}", &id[22..]),
        _ => words(name).to_owned(),
    };
    let reason = Some(words("reason")).filter(|reason| !reason.is_empty()).map(|reason| format!(" ({reason})"));
    one_line(&format!("{} {} {}{}", node("from"), words("type").replace('_', " "), node("to"), reason.unwrap_or_default()))
}

/// Returns whether a value has no content.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(is_so) => !is_so,
        Value::Number(_) => false,
    }
}

/// Formats a member of a record: a text without quotation marks, a time as a person reads it, records as names and values.
fn in_words(name: &str, value: &Value) -> String {
    match value {
        Value::String(words) => words.clone(),
        Value::Array(values) => values.iter().map(|value| in_words(name, value)).collect::<Vec<_>>().join("; "),
        Value::Object(members) => {
            let full = members.iter().filter(|(_, value)| !is_empty(value));
            full.map(|(name, value)| format!("{} {}", name.replace('_', " "), in_words(name, value)))
                .collect::<Vec<_>>()
                .join(", ")
        }
        _ if TIMES.contains(&name) => exact_time(value.as_i64()),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_names_the_members_that_differ() {
        let record = |status: &str, tags: Value| json!({"memory": {"status": status, "tags": tags, "changed": status.len()}});
        let change = OperationChange {
            kind: "memory".to_owned(),
            id: "1".to_owned(),
            before: Some(record("holds", json!([]))),
            after: Some(record("archived", json!(["a", "b"]))),
        };
        let member = |name: &str, before: Option<&str>, after: &str| Member {
            name: name.to_owned(),
            before: before.map(str::to_owned),
            after: Some(after.to_owned()),
        };
        assert_eq!(members(&change), [member("status", Some("holds"), "archived"), member("tags", None, "a; b")]);
        assert_eq!(fate(&change), "");
        assert_eq!(fate(&OperationChange { before: None, ..change }), "new");
    }
}
