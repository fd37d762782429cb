//! Generates the configuration's JSON Schema and the commented default file.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::key::{Key, ProjectMay, Shape};
use super::section::Config;

/// The widest line of a comment.
const WIDTH: usize = 88;

/// Returns the JSON Schema of a configuration file, always the same for one version of yore.
///
/// Types, defaults and descriptions come from the structs; ranges, variables and what a
/// project's file may do come from the key table.
pub fn schema() -> String {
    let mut schema = described();
    for key in Key::all() {
        if let Some(Value::Object(property)) = schema.pointer_mut(&pointer(key.name)) {
            constrain(property, key);
        }
    }
    let sorted = sorted(schema);
    format!("{sorted:#}\n")
}

/// Returns a file that explains every key and sets it to its default, always the same for one version of
/// yore.
pub fn defaults_toml() -> String {
    let schema = described();
    let mut text = comment(
        "Every setting of yore with its default. Keep what you change and delete the rest: a \
         file that sets everything does not follow when a default is improved. A string may \
         hold {env:NAME}, or {env:NAME:-other}, which is replaced by that environment variable.",
    );
    let mut section = "";
    for key in Key::all() {
        let (path, last) = key.split();
        if path != section {
            section = path;
            text += "\n";
            text += &comment(description(&schema, path));
            text += &format!("[{path}]\n");
        }
        let about = format!("{} {}{}", description(&schema, key.name), range(key.shape), permission(key.project));
        let default =
            schema.pointer(&format!("{}/default", pointer(key.name))).and_then(|default| toml::Value::try_from(default).ok());
        text += "\n";
        text += &comment(about.trim());
        if let Some(default) = default {
            text += &format!("{last} = {default}\n");
        }
    }
    text
}

/// Returns the schema that the structs give.
fn described() -> Value {
    SchemaSettings::draft07()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<Config>()
        .to_value()
}

fn pointer(name: &str) -> String {
    name.split('.').map(|part| format!("/properties/{part}")).collect()
}

/// Returns the description of a key by its name, for people.
pub fn description_of(name: &str) -> String {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(&schema()).unwrap_or_default());
    description(&SCHEMA, name).to_owned()
}

fn description<'a>(schema: &'a Value, name: &str) -> &'a str {
    schema.pointer(&pointer(name)).and_then(|property| property.get("description")).and_then(Value::as_str).unwrap_or_default()
}

fn constrain(property: &mut Map<String, Value>, key: &Key) {
    // The width of the Rust type is of no use to the person who writes the file.
    property.remove("format");
    match key.shape {
        Shape::Switch | Shape::Choice(_) => {}
        Shape::Text { longest } | Shape::Named { longest, .. } => {
            property.insert("maxLength".to_owned(), longest.into());
        }
        Shape::Count { min, max } => {
            property.insert("minimum".to_owned(), min.into());
            property.insert("maximum".to_owned(), max.into());
        }
        Shape::Number { min, max } => {
            property.insert("minimum".to_owned(), min.into());
            property.insert("maximum".to_owned(), max.into());
        }
        Shape::List { longest } | Shape::NamedList { longest, .. } | Shape::Patterns { longest } => {
            if let Some(Value::Object(items)) = property.get_mut("items") {
                items.insert("minLength".to_owned(), 1.into());
                items.insert("maxLength".to_owned(), longest.into());
            }
        }
    }
    property.insert("x-environment".to_owned(), key.variable().into());
    property.insert("x-project-file-may".to_owned(), key.project.words().into());
}

fn range(shape: Shape) -> String {
    match shape {
        Shape::Switch
        | Shape::Text { .. }
        | Shape::Named { .. }
        | Shape::List { .. }
        | Shape::NamedList { .. }
        | Shape::Patterns { .. } => String::new(),
        Shape::Count { .. } | Shape::Number { .. } | Shape::Choice(_) => {
            let expected = shape.expected();
            let (first, rest) = expected.split_at(1);
            format!("{}{rest}. ", first.to_uppercase())
        }
    }
}

fn permission(project: ProjectMay) -> String {
    match project {
        ProjectMay::Set => String::new(),
        other => format!("A project's file may {}.", other.words()),
    }
}

/// Wraps text into comment lines of at most `WIDTH` characters.
fn comment(text: &str) -> String {
    let mut lines = String::new();
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += &line;
            lines += "\n";
            line = String::from("#");
        }
        line += " ";
        line += word;
    }
    lines + &line + "\n"
}

/// Returns the value with the members of every object sorted by name, even if the program was built with a
/// map that keeps another order, and with every string on one line.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.into_iter().collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            let members = members.into_iter().map(|(name, value)| (name, sorted(value)));
            Value::Object(members.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        // Line breaks of a doc comment are not part of the description.
        Value::String(text) => Value::String(text.replace('\n', " ")),
        other => other,
    }
}
