//! Settings by section: each with its value, origin and meaning; a few can be changed here, the others by the command that is shown.

use maud::{Markup, html};

use super::parts;
use super::view::{Content, Input, Row};
use crate::api::calls::settings::{self as calls, SettingState};
use crate::api::route::{Caller, Nothing};
use crate::error::CliResult;
use crate::render::text::counted;

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/settings", view: settings }]
}

fn settings(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let Nothing {} = input.read()?;
    let all = calls::settings(caller, Nothing {})?;
    Ok(Content::new("Settings", shown(&all)))
}

fn shown(all: &[SettingState]) -> Markup {
    let (here, others): (Vec<&SettingState>, Vec<&SettingState>) = all.iter().partition(|state| state.may_be_set);
    let mut sections: Vec<&str> = others.iter().map(|state| section(state)).collect();
    sections.dedup();
    let waits = all.iter().any(|state| state.daemon_has.is_some());
    html! {
        h1 { "Settings" }
        @if waits {
            p { strong { "The daemon still works with older values." } " " code { "yore daemon stop" } " and " code { "yore daemon start" } " make it take the new ones up." }
        }
        h2 { "Can be changed here" }
        p.quiet { "They are written to your own settings file. New commands and agents take them up at once, the daemon when it starts again." }
        ul.items { @for state in here { (form(state)) } }
        h2 { "All others" }
        p.quiet { "They say what is read, stored or called. " code { "yore config set KEY VALUE" } " changes them." }
        @for name in sections {
            @let of_it: Vec<&&SettingState> = others.iter().filter(|state| section(state) == name).collect();
            @let set = of_it.iter().filter(|state| !is_default(state)).count();
            details {
                summary { (name) span.quiet { ", " (counted(of_it.len() as u64, "setting")) @if set > 0 { ", " (set) " not the default" } } }
                ul.items { @for state in of_it { (other(state)) } }
            }
        }
    }
}

/// Returns the section of a setting: the name of a source counts as part of the key.
fn section(state: &SettingState) -> &str {
    state.setting.key.split('.').next().unwrap_or_default()
}

fn is_default(state: &SettingState) -> bool {
    state.setting.origin == ["the default"]
}

/// Shows where a value comes from, and the value that the daemon has if it is another one.
fn origin(state: &SettingState) -> Markup {
    html! {
        "From: " (state.setting.origin.join(", ")) "."
        @if let Some(value) = &state.daemon_has { " " span.mark.warn { "the daemon still has " (value) } }
    }
}

fn form(state: &SettingState) -> Markup {
    let key = &state.setting.key;
    let value = state.setting.value.trim_matches('"');
    let is_number = value.parse::<i64>().is_ok();
    html! {
        li.item data-item {
            form.filters data-method="PATCH" data-path={ "api/v1/settings/" (parts::segment(key)) } data-body="{}" data-words={ (key) " is set" } {
                label { code { (key) } " "
                    @if state.choices.is_empty() {
                        input type=(if is_number { "number" } else { "text" }) name="value" value=(value) required;
                    } @else {
                        select name="value" { @for choice in &state.choices { option value=(choice) selected[choice == value] { (choice) } } }
                    }
                }
                button type="submit" { "Set" }
            }
            p { (state.description) @if state.choices.is_empty() { " It is " (state.expected) "." } }
            p.quiet { (origin(state)) }
        }
    }
}

fn other(state: &SettingState) -> Markup {
    html! {
        li.item data-item {
            div.meta { code { (state.setting.key) } }
            pre tabindex="0" { code { (state.setting.value) } }
            p { (state.description) }
            p.quiet {
                (origin(state)) " "
                @if let Some(why) = state.why_not.as_deref().filter(|why| why.contains("goes before")) { (why) ". " }
                "Change it with " code { "yore config set " (state.setting.key) " VALUE" } ", where VALUE is " (state.expected) "."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Setting;

    fn state(key: &str, value: &str, may_be_set: bool, choices: &[&str]) -> SettingState {
        SettingState {
            setting: Setting { key: key.to_owned(), value: value.to_owned(), origin: vec!["the default".to_owned()] },
            description: "A thing.".to_owned(),
            expected: "a whole number from 1 to 9".to_owned(),
            choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
            may_be_set,
            why_not: None,
            daemon_has: None,
        }
    }

    #[test]
    fn safe_settings_have_a_form_and_others_show_their_command() {
        let all = [state("recall.limit", "5", true, &[]), state("sources.jsonl.roots", "[\"<b>\"]", false, &[])];
        let html = shown(&all).into_string();
        assert!(html.contains("data-path=\"api/v1/settings/recall.limit\"") && html.contains("type=\"number\""), "{html}");
        assert!(html.contains("yore config set sources.jsonl.roots VALUE") && html.contains("&lt;b&gt;"), "{html}");
        assert!(!html.contains("api/v1/settings/sources"), "{html}");
    }

    #[test]
    fn value_that_the_daemon_does_not_have_yet_is_marked() {
        let chosen = SettingState {
            daemon_has: Some("\"sunday\"".to_owned()),
            ..state("upkeep.weekday", "\"monday\"", true, &["monday", "sunday"])
        };
        let html = shown(&[chosen]).into_string();
        assert!(
            html.contains("The daemon still works with older values") && html.contains("<option value=\"monday\" selected>"),
            "{html}"
        );
    }
}
