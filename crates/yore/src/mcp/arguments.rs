//! Schemas of tool arguments, and parsing of what agents send.
//!
//! - [`schema`]: the schema of a struct. It is short, because every agent pays for every byte in every
//!   session
//! - [`mend`]: corrects arguments that do not fit the schema
//! - [`parse`]: converts them into that struct; the error for an unknown name lists the known ones
//! - [`given`], [`one_of`], [`within`], [`time`]: checks of single arguments

use rmcp::handler::server::tool::schema_for_input;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use yore_core::time::UtcMillis;

use crate::cursor::Cursor;
use crate::error::{CliError, CliResult};
use crate::recall_request;

/// Parts of a schema that no agent needs.
const IDLE: [&str; 4] = ["$schema", "title", "description", "$defs"];

/// Returns the schema of an arguments struct. The comments of its fields are their descriptions.
///
/// # Errors
/// If MCP does not allow the schema.
pub fn schema<A: JsonSchema + 'static>() -> Result<JsonObject, String> {
    let mut schema = schema_for_input::<A>()?.as_ref().clone();
    for name in IDLE {
        schema.remove(name);
    }
    // Some agents require the field even if there are no properties.
    schema.entry("properties").or_insert_with(|| Value::Object(JsonObject::new()));
    for property in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(JsonObject::values_mut) {
        let Some(property) = property.as_object_mut() else { continue };
        property.remove("default");
        property.remove("format");
        if property.get("minimum").and_then(Value::as_i64) == Some(0) {
            property.remove("minimum");
        }
        // An optional argument need not allow null in its schema, although null is accepted.
        if let Some(only) = property.get("type").and_then(Value::as_array).and_then(|types| types.first()).cloned() {
            property.insert("type".to_owned(), only);
        }
    }
    Ok(schema)
}

/// Names under which agents send the search question.
const ASKED_BY: [&str; 5] = ["question", "query", "q", "text", "search"];
/// Arguments that are dates.
const DATES: [&str; 3] = ["since", "until", "as_of"];

/// Corrects arguments that do not fit the schema of a read-only tool, and returns hints about the
/// corrections: an agent with a wrong optional argument still gets its answer. Required arguments are not
/// changed, except for the name of the search question.
pub fn mend(schema: &JsonObject, arguments: &mut JsonObject) -> Vec<String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Vec::new() };
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let missing = required.iter().find(|name| ASKED_BY.contains(name) && !arguments.contains_key(**name));
    if let Some((missing, words)) =
        missing.and_then(|missing| Some((*missing, ASKED_BY.iter().find_map(|name| arguments.remove(*name))?)))
    {
        arguments.insert(missing.to_owned(), words);
    }
    let mut hints = Vec::new();
    let sent = std::mem::take(arguments);
    for (name, value) in sent {
        let Some(property) = properties.get(&name) else {
            let known = properties.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "this tool takes none".to_owned() } else { format!("known are {known}") };
            hints.push(format!("unknown argument {name:?}; {known}"));
            continue;
        };
        let fitted = if required.contains(&name.as_str()) { Ok(value) } else { fitted(&name, value, property) };
        match fitted {
            Ok(value) => drop(arguments.insert(name, value)),
            Err((value, why)) => {
                hints.push(format!("{name}: {why}"));
                if let Some(value) = value {
                    arguments.insert(name, value);
                }
            }
        }
    }
    hints
}

/// Returns a value that fits the argument; else a replacement, if there is one, and the reason.
fn fitted(name: &str, value: Value, property: &Value) -> Result<Value, (Option<Value>, String)> {
    if value.is_null() || value.as_str().is_some_and(|words| words.trim().is_empty()) {
        // An empty value counts as missing.
        return Ok(Value::Null);
    }
    let plain = match (property["type"].as_str().unwrap_or_default(), value) {
        // Accept numbers and switches as text, and a single string for a list.
        ("integer", Value::String(words)) => words.trim().parse::<u64>().map_or(Value::String(words), Value::from),
        ("integer", Value::Number(number)) if number.as_u64().is_none() => {
            number.as_f64().filter(|number| *number >= 0.0).map_or(Value::Number(number), |number| Value::from(number as u64))
        }
        ("boolean", Value::String(words)) => match words.trim() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::String(words),
        },
        ("array", Value::String(words)) => Value::Array(vec![Value::String(words)]),
        (_, value) => value,
    };
    let expected = match property["type"].as_str() {
        Some("integer") if !plain.is_u64() => "a number",
        Some("boolean") if !plain.is_boolean() => "true or false",
        Some("string") if !plain.is_string() => "a text",
        Some("array") if !plain.as_array().is_some_and(|items| items.iter().all(Value::is_string)) => "a list of texts",
        _ => "",
    };
    if !expected.is_empty() {
        return Err((None, format!("expected {expected}; left out")));
    }
    if let Some(names) = property["enum"].as_array().filter(|names| !names.contains(&plain)) {
        let names = names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
        return Err((None, format!("expected one of {names}; left out")));
    }
    if let Some(number) = plain.as_u64() {
        let least = property["minimum"].as_u64().unwrap_or(0);
        let nearest = number.clamp(least, property["maximum"].as_u64().unwrap_or(u64::MAX));
        if nearest != number {
            return Err((Some(Value::from(nearest)), format!("{number} is out of bounds; {nearest} was used")));
        }
    }
    if let (Value::Array(items), Some(most)) = (&plain, property["maxItems"].as_u64().and_then(|most| usize::try_from(most).ok()))
        && items.len() > most
    {
        return Err((Some(Value::from(&items[..most])), format!("at most {most}; the others were left out")));
    }
    if DATES.contains(&name)
        && let Some(expected) = plain.as_str().and_then(|words| recall_request::time(words).err())
    {
        return Err((None, format!("{expected}; left out")));
    }
    Ok(plain)
}

/// Parses the arguments, or returns their fault.
pub fn parse<A: DeserializeOwned>(arguments: JsonObject) -> CliResult<A> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| usage(format!("bad arguments: {error}")))
}

/// Returns an argument unless it is blank: agents like to fill in every field.
pub fn given(argument: Option<String>) -> Option<String> {
    argument.filter(|words| !words.trim().is_empty())
}

/// Returns a required argument, or an error if it is blank.
pub fn needed(field: &str, argument: &str) -> CliResult<String> {
    given(Some(argument.to_owned())).ok_or_else(|| usage(format!("{field} is empty")))
}

/// Parses an argument that must be one of some names.
pub fn one_of<T>(
    field: &str,
    argument: Option<String>,
    names: &[&str],
    parse: impl Fn(&str) -> Option<T>,
) -> CliResult<Option<T>> {
    let Some(name) = given(argument) else { return Ok(None) };
    match parse(&name) {
        Some(value) if names.contains(&name.as_str()) => Ok(Some(value)),
        _ => Err(usage(format!("{field} is {name:?}, expected one of {}", names.join(", ")))),
    }
}

/// Checks that a number is within bounds, both included.
pub fn within(field: &str, argument: Option<usize>, least: usize, most: usize) -> CliResult<Option<usize>> {
    match argument {
        Some(number) if !(least..=most).contains(&number) => {
            Err(usage(format!("{field} is {number}, expected {least} to {most}")))
        }
        number => Ok(number),
    }
}

/// Parses an argument that is a date or a time.
pub fn time(field: &str, argument: Option<String>) -> CliResult<Option<UtcMillis>> {
    read_time(field, argument, recall_request::time)
}

/// Parses an argument that says as of when something was known.
pub fn as_of(field: &str, argument: Option<String>) -> CliResult<Option<UtcMillis>> {
    read_time(field, argument, recall_request::as_of)
}

fn read_time(
    field: &str,
    argument: Option<String>,
    read: impl FnOnce(&str) -> Result<UtcMillis, &'static str>,
) -> CliResult<Option<UtcMillis>> {
    let Some(words) = given(argument) else { return Ok(None) };
    read(&words).map(Some).map_err(|expected| usage(format!("{field} is {words:?}, {expected}")))
}

/// Returns the error for wrong arguments.
pub fn usage(message: impl Into<String>) -> CliError {
    CliError::usage(message, Some("correct the arguments and call again"))
}

/// Parses an argument as the cursor of one of these lists.
///
/// # Errors
/// If it is not a cursor, or belongs to another list.
pub fn cursor(words: Option<String>, lists: &[char]) -> CliResult<Option<Cursor>> {
    let Some(words) = given(words) else { return Ok(None) };
    match Cursor::decode(&words).filter(|cursor| lists.contains(&cursor.list)) {
        None => Err(usage("cursor is not of this list; give the `next` of the previous page, unchanged")),
        place => Ok(place),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// Not part of the schema.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        /// What
        what: String,
        /// How many
        #[schemars(range(min = 1, max = 9))]
        count: Option<usize>,
        /// Which
        names: Option<Vec<String>>,
    }

    #[test]
    fn schema_says_only_what_an_agent_needs() {
        let expected = json!({
            "type": "object",
            "properties": {
                "what": {"description": "What", "type": "string"},
                "count": {"description": "How many", "type": "integer", "minimum": 1, "maximum": 9},
                "names": {"description": "Which", "type": "array", "items": {"type": "string"}},
            },
            "additionalProperties": false,
            "required": ["what"],
        });
        assert_eq!(Value::Object(schema::<Sample>().unwrap()), expected);
    }

    #[test]
    fn unknown_names_are_told_with_the_known_ones() {
        let Value::Object(arguments) = json!({"what": "x", "colour": "blue"}) else { panic!("an object") };
        let error = parse::<Sample>(arguments).unwrap_err();
        assert_eq!(error.message, "bad arguments: unknown field `colour`, expected one of `what`, `count`, `names`");
        let Value::Object(arguments) = json!({"what": "x", "count": null}) else { panic!("an object") };
        let Sample { what, count, names } = parse(arguments).unwrap();
        assert_eq!((what.as_str(), count, names), ("x", None, None));
    }

    #[test]
    fn slips_in_what_may_be_left_out_cost_a_hint_and_no_answer() {
        let schema = json!({
            "properties": {
                "question": {"type": "string"}, "limit": {"type": "integer", "minimum": 1, "maximum": 50},
                "role": {"type": "string", "enum": ["human", "assistant"]}, "errors": {"type": "boolean"},
                "wordings": {"type": "array", "items": {"type": "string"}, "maxItems": 2}, "since": {"type": "string"},
                "project": {"type": "string"},
            },
            "required": ["question"],
        });
        let mended = |sent: Value| {
            let (Value::Object(schema), Value::Object(mut arguments)) = (schema.clone(), sent) else { panic!("objects") };
            let hints = mend(&schema, &mut arguments);
            (Value::Object(arguments), hints)
        };
        let as_sent = json!({"question": "why", "limit": 5, "role": "human", "wordings": ["a"], "since": "2026-01-01"});
        assert_eq!(mended(as_sent.clone()), (as_sent, Vec::new()));
        let (arguments, hints) = mended(json!({
            "query": "why", "limit": "500", "role": "system", "errors": "true", "wordings": ["a", "b", "c"], "since": "some day",
            "project": null, "colour": "blue",
        }));
        assert_eq!(arguments, json!({"question": "why", "limit": 50, "errors": true, "wordings": ["a", "b"], "project": null}));
        insta::assert_snapshot!(hints.join("\n"), @r#"
        unknown argument "colour"; known are question, limit, role, errors, wordings, since, project
        limit: 500 is out of bounds; 50 was used
        role: expected one of human, assistant; left out
        wordings: at most 2; the others were left out
        since: expected a date such as 2026-01-31, a time such as 2026-01-31T12:00:00Z, or words such as "last week"; left out
        "#);
        assert_eq!(
            mended(json!({"question": "why", "wordings": "one", "limit": 7.0})).0,
            json!({"question": "why", "wordings": ["one"], "limit": 7})
        );
        assert_eq!(mended(json!({"question": 7})).0, json!({"question": 7}), "what must be given is judged by the tool");
    }

    #[test]
    fn bounds_and_choices_are_told() {
        assert_eq!(within("limit", Some(5), 1, 9).unwrap(), Some(5));
        assert_eq!(within("limit", Some(10), 1, 9).unwrap_err().message, "limit is 10, expected 1 to 9");
        let size = |name: &str| (name == "large").then_some(2);
        assert_eq!(one_of("size", Some("large".to_owned()), &["large"], size).unwrap(), Some(2));
        assert_eq!(one_of("size", Some(" ".to_owned()), &["large"], size).unwrap(), None);
        let error = one_of("size", Some("huge".to_owned()), &["large"], size).unwrap_err();
        assert_eq!(error.message, "size is \"huge\", expected one of large");
    }
}
