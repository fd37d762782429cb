//! Settings: all of them with their origin; a few can be changed here.

use maud::{Markup, html};
use serde_json::json;

use super::view::{Content, Input, Row};
use crate::api::calls::upkeep::{self as calls, SettingState};
use crate::api::route::{Caller, Nothing};
use crate::error::CliResult;

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/settings", view: settings }]
}

fn settings(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let Nothing {} = input.read()?;
    let all = calls::settings(caller, Nothing {})?;
    let (here, others): (Vec<&SettingState>, Vec<&SettingState>) = all.iter().partition(|state| state.may_be_set);
    let mut sections: Vec<&str> = others.iter().map(|state| section(state)).collect();
    sections.dedup();
    let body = html! {
        h1 { "Settings" }
        p.quiet { "A change holds for new commands and agents at once; the daemon takes it up when it starts again." }
        h2 { "Can be changed here" }
        ul.items { @for state in here { (form(state)) } }
        h2 { "Others" }
        p.quiet { "These say what is read, stored or called, and are set with " code { "yore config set KEY VALUE" } "." }
        @for name in sections {
            details {
                summary { (name) }
                div.table { table {
                    thead { tr { th scope="col" { "Key" } th scope="col" { "Value" } th scope="col" { "From" } th scope="col" { "Meaning" } } }
                    tbody { @for state in others.iter().filter(|state| section(state) == name) { tr {
                        th scope="row" { code { (state.setting.key) } } td { code { (state.setting.value) } } td { (state.setting.origin.join(", ")) } td { (state.description) }
                    } } }
                } }
            }
        }
    };
    Ok(Content::new("Settings", body))
}

fn section(state: &SettingState) -> &str {
    state.setting.key.split('.').next().unwrap_or_default()
}

fn form(state: &SettingState) -> Markup {
    let key = &state.setting.key;
    let value = state.setting.value.trim_matches('"');
    html! {
        li.item data-item {
            form.filters data-method="PATCH" data-path={ "api/v1/settings/" (key) } data-body=(json!({}).to_string()) data-words="Set" {
                label { code { (key) } " " @if matches!(value, "true" | "false") {
                    select name="value" { @for choice in ["true", "false"] { option value=(choice) selected[choice == value] { (choice) } } }
                } @else { input type="text" name="value" value=(value) size="12" required; } }
                button type="submit" { "Set" }
            }
            p.quiet { (state.description) " From: " (state.setting.origin.join(", ")) "." }
        }
    }
}
