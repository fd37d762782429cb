//! Fields of forms, and buttons that change something with one key.

use maud::{Markup, html};
use serde_json::Value;

use super::view::Input;

/// Returns the value of an argument that is given once; empty without.
pub fn given(input: &Input, name: &str) -> String {
    input.pairs().into_iter().find(|(known, _)| known == name).map(|(_, value)| value).unwrap_or_default()
}

/// Returns a field for words in a form of filters.
pub fn words(input: &Input, name: &str, label: &str, hint: &str) -> Markup {
    html! { label { (label) " " input name=(name) value=(given(input, name)) placeholder=[(!hint.is_empty()).then_some(hint)]; } }
}

/// Returns a field for the name of a project, which suggests those that there are.
pub fn project(input: &Input, names: &[String]) -> Markup {
    html! {
        label { "Project " input name="project" value=(given(input, "project")) list="project-names" autocomplete="off"; }
        datalist #project-names { @for name in names { option value=(name) {} } }
    }
}

/// Returns a choice in a form of filters; `none`: the words for no choice.
pub fn choice(input: &Input, name: &str, label: &str, none: &str, options: &[(String, String)]) -> Markup {
    let chosen = given(input, name);
    let is_known = chosen.is_empty() || options.iter().any(|(value, _)| *value == chosen);
    html! {
        label {
            (label) " "
            select name=(name) {
                option value="" selected[chosen.is_empty()] { (none) }
                @if !is_known { option value=(chosen) selected { (chosen) } }
                @for (value, words) in options { option value=(value) selected[*value == chosen] { (words) } }
            }
        }
    }
}

/// Returns a choice with a chosen value in a form that changes something.
pub fn select(name: &str, label: &str, chosen: &str, options: &[(String, String)]) -> Markup {
    html! {
        label {
            (label) " "
            select name=(name) { @for (value, words) in options { option value=(value) selected[value == chosen] { (words) } } }
        }
    }
}

/// Returns options whose words are their values.
pub fn plain(values: impl IntoIterator<Item = impl ToString>) -> Vec<(String, String)> {
    values.into_iter().map(|value| (value.to_string(), value.to_string().replace('_', " "))).collect()
}

/// Returns a button that posts `body` to a path of the API, with a key that presses it.
pub fn act(label: &str, key: &str, path: &str, body: &Value) -> Markup {
    html! {
        button type="button" data-method="POST" data-path={ "api/v1/" (path) } data-body=(body.to_string()) data-press=(key)
            aria-keyshortcuts=(key) { (label) " " kbd aria-hidden="true" { (key) } }
    }
}

/// Returns the heading of a form that opens with a key.
pub fn opener(label: &str, key: &str) -> Markup {
    html! { summary data-press=(key) aria-keyshortcuts=(key) { (label) " " kbd aria-hidden="true" { (key) } } }
}
