//! Tests the schema, the commented default file, and that the key table agrees with the structs.

use serde_json::Value;

use super::key::{Key, Shape};
use super::origin::Origin;
use super::test_support::{Setup, assert_document};
use super::{Config, defaults_toml, schema};

fn schema_value() -> Value {
    serde_json::from_str(&schema()).unwrap()
}

/// Collects every leaf of a schema's properties under its dotted name.
fn leaves(schema: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    for (name, property) in schema["properties"].as_object().unwrap() {
        let path = format!("{path}{name}");
        if property.get("properties").is_some() {
            leaves(property, &format!("{path}."), found);
        } else {
            found.push((path, property.clone()));
        }
    }
}

#[test]
fn the_schema_is_the_one_that_is_published() {
    assert_document("config-schema.json", &schema());
    assert_eq!(schema(), schema());
}

#[test]
fn the_default_file_is_the_one_that_is_published() {
    assert_document("config-default.toml", &defaults_toml());
}

#[test]
fn the_default_file_sets_every_key_to_its_default() {
    let resolved = Setup::new().user(&defaults_toml()).load().unwrap();
    assert_eq!(resolved.config, Config::default());
    for row in resolved.rows() {
        let is_set = matches!(row.origin(), Origin::UserFile { .. });
        assert!(is_set, "{} is not in the default file", row.key.name);
    }
}

#[test]
fn every_key_of_the_structs_has_a_row_and_a_permission_and_none_is_left_over() {
    let mut found = Vec::new();
    leaves(&schema_value(), "", &mut found);
    let mut names: Vec<_> = found.into_iter().map(|(name, _)| name).collect();
    let mut rows: Vec<_> = Key::all().map(|key| key.name.to_owned()).collect();
    names.sort();
    rows.sort();
    assert_eq!(names, rows);
}

#[test]
fn every_key_and_section_is_described_in_sentences() {
    let schema = schema_value();
    let mut found = Vec::new();
    leaves(&schema, "", &mut found);
    let sections = schema["properties"].as_object().unwrap().clone();
    for (name, property) in found.into_iter().chain(sections) {
        let description = property["description"].as_str().unwrap_or_default();
        assert!(description.ends_with('.'), "{name}: {description:?}");
    }
}

#[test]
fn the_type_of_every_field_takes_exactly_what_its_row_allows() {
    let mut found = Vec::new();
    leaves(&schema_value(), "", &mut found);
    for (name, property) in found {
        let words = |list: &Value, pick: fn(&Value) -> &Value| -> Vec<String> {
            let items = list.as_array().unwrap().iter();
            items.map(|item| pick(item).as_str().unwrap().to_owned()).collect()
        };
        let choice = match (&property["enum"], &property["oneOf"]) {
            (Value::Null, Value::Null) => None,
            (Value::Null, one_of) => Some(words(one_of, |item| &item["const"])),
            (list, _) => Some(words(list, |item| item)),
        };
        let fits = match Key::find(&name).unwrap().shape {
            Shape::Switch => property["type"] == "boolean",
            Shape::Count { .. } => property["type"] == "integer",
            Shape::Number { .. } => property["type"] == "number",
            Shape::Text { .. } | Shape::Named { .. } => property["type"] == "string",
            Shape::Choice(words) => choice.is_some_and(|choice| choice == words),
            Shape::List { .. } | Shape::NamedList { .. } | Shape::Patterns { .. } => {
                property["type"] == "array" && property["items"]["type"] == "string"
            }
        };
        assert!(fits, "{name}: {property:#}");
    }
}

#[test]
fn both_ends_of_every_range_can_be_loaded() {
    for key in Key::all() {
        let ends = match key.shape {
            Shape::Count { min, max } => vec![min.to_string(), max.to_string()],
            Shape::Number { min, max } => vec![min.to_string(), max.to_string()],
            Shape::Choice(words) => words.iter().map(|word| (*word).to_owned()).collect(),
            Shape::Text { longest } => vec![String::new(), "x".repeat(longest)],
            Shape::Switch => vec!["true".to_owned(), "false".to_owned()],
            Shape::Named { names, .. } | Shape::NamedList { names, .. } => vec![String::new(), names.example().to_owned()],
            Shape::List { longest } | Shape::Patterns { longest } => vec![String::new(), "x".repeat(longest)],
        };
        for end in ends {
            let setup = Setup::new().flag(key.name, &end);
            assert!(setup.load().is_ok(), "{} = {end}", key.name);
        }
    }
}
