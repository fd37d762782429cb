//! What an agent sends to a tool: the schema that it reads, and what it then sent.
//!
//! - [`schema`]: of a struct, short: every agent pays for every byte in every session
//! - [`parse`]: into that struct; an unknown name is told with the known ones
//! - [`given`], [`one_of`], [`within`], [`time`]: arguments that say something

use rmcp::handler::server::tool::schema_for_input;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use yore_core::time::UtcMillis;

use crate::ask;
use crate::error::{CliError, CliResult};

/// What a schema says that no agent needs.
const IDLE: [&str; 4] = ["$schema", "title", "description", "$defs"];

/// The schema of some arguments; the comments of the fields are their descriptions.
///
/// # Errors
/// It is not one that MCP allows.
pub fn schema<A: JsonSchema + 'static>() -> Result<JsonObject, String> {
    let mut schema = schema_for_input::<A>()?.as_ref().clone();
    for name in IDLE {
        schema.remove(name);
    }
    // Some agents want to see that there are none.
    schema.entry("properties").or_insert_with(|| Value::Object(JsonObject::new()));
    for property in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(JsonObject::values_mut) {
        let Some(property) = property.as_object_mut() else { continue };
        property.remove("default");
        property.remove("format");
        if property.get("minimum").and_then(Value::as_i64) == Some(0) {
            property.remove("minimum");
        }
        // An argument that may be missing need not be null, although null is understood.
        if let Some(only) = property.get("type").and_then(Value::as_array).and_then(|types| types.first()).cloned() {
            property.insert("type".to_owned(), only);
        }
    }
    Ok(schema)
}

/// The arguments, or what is wrong with them.
pub fn parse<A: DeserializeOwned>(arguments: JsonObject) -> CliResult<A> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| usage(format!("bad arguments: {error}")))
}

/// An argument that says something: agents like to fill in every field.
pub fn given(argument: Option<String>) -> Option<String> {
    argument.filter(|words| !words.trim().is_empty())
}

/// The same, of one that must say something.
pub fn needed(field: &str, argument: &str) -> CliResult<String> {
    given(Some(argument.to_owned())).ok_or_else(|| usage(format!("{field} is empty")))
}

/// One of some names.
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

/// A number within bounds, both included.
pub fn within(field: &str, argument: Option<usize>, least: usize, most: usize) -> CliResult<Option<usize>> {
    match argument {
        Some(number) if !(least..=most).contains(&number) => {
            Err(usage(format!("{field} is {number}, expected {least} to {most}")))
        }
        number => Ok(number),
    }
}

/// A date or a time.
pub fn time(field: &str, argument: Option<String>) -> CliResult<Option<UtcMillis>> {
    let Some(words) = given(argument) else { return Ok(None) };
    ask::time(&words).map(Some).map_err(|expected| usage(format!("{field} is {words:?}, {expected}")))
}

/// A mistake in the arguments.
pub fn usage(message: impl Into<String>) -> CliError {
    CliError::usage(message, Some("correct the arguments and call again"))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// Not told.
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
