//! A view of the page: a path, and a function from the memory and the arguments to markup.

use std::collections::HashMap;

use maud::Markup;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::api::route::{Caller, Types};
use crate::error::{CliError, CliResult};

/// A row of the table of views.
#[derive(Clone, Copy)]
pub struct Row {
    /// Path below the page, with `{name}` for a part that is an argument.
    pub path: &'static str,
    /// Makes the view.
    pub view: fn(&mut Caller<'_>, &Input) -> CliResult<Content>,
}

/// A request of a browser.
#[derive(Debug, Default)]
pub struct Input {
    /// Arguments in the path.
    pub path: HashMap<String, String>,
    /// The query.
    pub query: Option<String>,
}

impl Input {
    /// Reads the arguments as those of an API call. A field of a form that was left empty counts as left out.
    ///
    /// # Errors
    /// If an argument is unknown or has a wrong form.
    pub fn read<A: DeserializeOwned + JsonSchema>(&self) -> CliResult<A> {
        let types = Types::of_type::<A>();
        let mut arguments = Map::new();
        for (name, value) in &self.path {
            types.add(&mut arguments, name, value)?;
        }
        for (name, value) in self.pairs().into_iter().filter(|(_, value)| !value.trim().is_empty()) {
            types.add(&mut arguments, &name, &value)?;
        }
        serde_json::from_value(Value::Object(arguments)).map_err(|error| CliError::usage(error.to_string(), None))
    }

    /// Returns the arguments in the query, in their order.
    pub fn pairs(&self) -> Vec<(String, String)> {
        let query = self.query.as_deref().unwrap_or_default();
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
    }

    /// Returns the query with an argument set to another value, or taken out.
    pub fn with(&self, name: &str, value: Option<&str>) -> String {
        let mut pairs = self.pairs();
        pairs.retain(|(known, old)| known != name && !old.is_empty());
        pairs.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }
}

/// The content of a view.
pub struct Content {
    /// Title of the document.
    pub title: String,
    /// The content of `main`.
    pub body: Markup,
}

impl Content {
    /// Creates a content.
    pub fn new(title: impl Into<String>, body: Markup) -> Self {
        Self { title: title.into(), body }
    }
}
