//! A route: its method and path, the verbs that it serves, the schemas of what it takes and gives, and the function that answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::Method;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::config::Config;
use crate::engine_handle::MemoryClient;
use crate::error::{CliError, CliResult};
use crate::settings::Settings;

/// The memory, and what else a call needs.
pub struct Caller<'a> {
    /// The memory.
    pub memory: &'a mut MemoryClient,
    /// True if the local model also answers if it can.
    pub may_be_full: bool,
    /// The program's settings.
    pub settings: &'a Settings,
}

impl Caller<'_> {
    /// The configuration that holds for every project.
    pub fn config(&self) -> &Config {
        self.settings.config()
    }
}

/// Arguments of a call that takes none.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// A schema, made when the description of the API is.
type SchemaOf = fn(&mut SchemaGenerator) -> schemars::Schema;

/// The function of a route: from arguments as JSON to the result as JSON.
type Call = Arc<dyn Fn(&mut Caller<'_>, Map<String, Value>) -> CliResult<Value> + Send + Sync>;

/// Names of the verbs that a route calls.
type Verbs = &'static [&'static str];

/// A function with typed arguments and a typed result.
type Function<A, R> = fn(&mut Caller<'_>, A) -> CliResult<R>;

/// Arguments of a route.
pub trait Taken: DeserializeOwned + JsonSchema + 'static {}
impl<A: DeserializeOwned + JsonSchema + 'static> Taken for A {}

/// The result of a route.
pub trait Given: Serialize + JsonSchema + 'static {}
impl<R: Serialize + JsonSchema + 'static> Given for R {}

/// A route of the API.
pub struct Route {
    /// The method: GET reads, every other one changes something, except POST to routes that only read long requests.
    pub method: Method,
    /// The path below `/api/v1`, with `{name}` for a part that is an argument.
    pub path: &'static str,
    /// The description, one sentence.
    pub summary: &'static str,
    /// The verbs that it calls.
    pub verbs: Verbs,
    /// True if a call changes records.
    pub is_write: bool,
    /// Schema of the arguments: of path, query and body together.
    pub arguments: SchemaOf,
    /// Schema of the result.
    pub result: SchemaOf,
    /// Answers a call.
    pub call: Call,
}

impl Route {
    /// Declares a route that reads, with its arguments in path and query.
    pub fn get<A: Taken, R: Given>(path: &'static str, summary: &'static str, verbs: Verbs, call: Function<A, R>) -> Self {
        Self::new(Method::GET, path, summary, verbs, call)
    }

    /// Declares a route that changes something, with its arguments in path and body.
    pub fn change<A: Taken, R: Given>(
        method: Method,
        path: &'static str,
        summary: &'static str,
        verbs: Verbs,
        call: Function<A, R>,
    ) -> Self {
        Self { is_write: true, ..Self::new(method, path, summary, verbs, call) }
    }

    /// Declares a route that reads, with its arguments in a body, because they may be long.
    pub fn ask<A: Taken, R: Given>(path: &'static str, summary: &'static str, verbs: Verbs, call: Function<A, R>) -> Self {
        Self::new(Method::POST, path, summary, verbs, call)
    }

    fn new<A: Taken, R: Given>(
        method: Method,
        path: &'static str,
        summary: &'static str,
        verbs: Verbs,
        call: Function<A, R>,
    ) -> Self {
        let call = move |caller: &mut Caller<'_>, arguments: Map<String, Value>| {
            let arguments = serde_json::from_value(Value::Object(arguments))
                .map_err(|error| CliError::usage(format!("arguments: {error}"), Some("`/api/openapi.json` describes them")))?;
            let result = call(caller, arguments)?;
            serde_json::to_value(result).map_err(|error| CliError {
                exit: crate::error::Exit::Data,
                code: "internal".to_owned(),
                message: format!("cannot encode the answer: {error}"),
                hint: None,
            })
        };
        Self {
            method,
            path,
            summary,
            verbs,
            is_write: false,
            arguments: |generator| generator.subschema_for::<A>(),
            result: |generator| generator.subschema_for::<R>(),
            call: Arc::new(call),
        }
    }

    /// Names of the arguments that are parts of the path.
    pub fn in_path(&self) -> Vec<&'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect()
    }

    /// Returns the types of the arguments by name.
    pub fn types(&self) -> Types {
        Types::of(&arguments_schema(self))
    }
}

/// Returns the schema of a route's arguments as an object of its own, with everything that it refers to inside.
pub fn arguments_schema(route: &Route) -> Value {
    let mut generator = inline().into_generator();
    (route.arguments)(&mut generator).to_value()
}

fn inline() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true)
}

/// The types of arguments, so that text from a path or a query becomes a number, a switch or a list.
#[derive(Debug, Default)]
pub struct Types(BTreeMap<String, Type>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    Whole,
    Number,
    Switch,
    List,
    Text,
}

impl Types {
    /// Returns those of a struct of arguments.
    pub fn of_type<A: JsonSchema>() -> Self {
        let mut generator = inline().into_generator();
        Self::of(&A::json_schema(&mut generator).to_value())
    }

    fn of(schema: &Value) -> Self {
        let properties = schema["properties"].as_object().into_iter().flatten();
        Self(properties.map(|(name, property)| (name.clone(), type_of(property))).collect())
    }

    /// Adds an argument from a path or a query. An argument that is a list may be given more than once.
    pub fn add(&self, arguments: &mut Map<String, Value>, name: &str, words: &str) -> CliResult<()> {
        let wrong = |expected: &str| CliError::usage(format!("{name}: expected {expected}, not {words:?}"), None);
        let value = match self.0.get(name) {
            Some(Type::Whole) => words.parse::<i64>().map(Value::from).map_err(|_| wrong("a whole number"))?,
            Some(Type::Number) => words.parse::<f64>().map(Value::from).map_err(|_| wrong("a number"))?,
            Some(Type::Switch) => match words {
                "true" | "1" | "" => Value::Bool(true),
                "false" | "0" => Value::Bool(false),
                _ => return Err(wrong("true or false")),
            },
            Some(Type::List) => {
                if let Some(Value::Array(items)) = arguments.get_mut(name) {
                    items.push(Value::from(words));
                    return Ok(());
                }
                Value::from(vec![words])
            }
            // A name that is not known is refused when the arguments are read.
            Some(Type::Text) | None => Value::from(words),
        };
        if arguments.insert(name.to_owned(), value).is_some() {
            return Err(CliError::usage(format!("{name} is given twice"), None));
        }
        Ok(())
    }
}

fn type_of(property: &Value) -> Type {
    let is = |wanted: &str| match &property["type"] {
        Value::String(name) => name == wanted,
        Value::Array(names) => names.iter().any(|name| name == wanted),
        _ => false,
    };
    if is("integer") {
        Type::Whole
    } else if is("number") {
        Type::Number
    } else if is("boolean") {
        Type::Switch
    } else if is("array") {
        Type::List
    } else {
        Type::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only its schema is read")]
    struct Some_ {
        words: Option<String>,
        limit: Option<usize>,
        share: Option<f64>,
        is_open: Option<bool>,
        #[serde(default)]
        kinds: Vec<String>,
    }

    fn read(pairs: &[(&str, &str)]) -> Result<Value, String> {
        let route = Route::get("/x/{words}", "", &[], |_, _: Some_| Ok(()));
        let types = route.types();
        let mut arguments = Map::new();
        for (name, words) in pairs {
            types.add(&mut arguments, name, words).map_err(|error| error.message)?;
        }
        Ok(Value::Object(arguments))
    }

    #[test]
    fn text_becomes_what_the_argument_is() {
        let all = [("words", "12"), ("limit", "5"), ("share", ".5"), ("is_open", "true"), ("kinds", "a"), ("kinds", "b")];
        let expected = serde_json::json!({"words": "12", "limit": 5, "share": 0.5, "is_open": true, "kinds": ["a", "b"]});
        assert_eq!(read(&all).unwrap(), expected);
        for wrong in [("limit", "x"), ("share", ""), ("is_open", "yes")] {
            assert!(read(&[wrong]).is_err(), "{wrong:?}");
        }
        assert!(read(&[("limit", "1"), ("limit", "2")]).is_err());
        assert_eq!(Route::get("/x/{words}/y/{limit}", "", &[], |_, _: Some_| Ok(())).in_path(), ["words", "limit"]);
    }
}
