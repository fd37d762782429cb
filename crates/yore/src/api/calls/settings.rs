//! Settings: all of them with their origin, and a few that may be set from here.

use axum::http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::none;
use crate::api::route::{Caller, Nothing, Route};
use crate::config::{self, FileKind, Key, Origin, Resolved};
use crate::error::{CliError, CliResult};
use crate::results::Setting;

/// Keys that the page and programs may set: how much is told, and when upkeep runs. None names a file, a program, an address or what is
/// captured.
const SAFE: [&str; 14] = [
    "recall.limit",
    "recall.budget",
    "recall.quote_chars",
    "inject.enabled",
    "inject.brief_tokens",
    "inject.prompt_tokens",
    "inject.on_edit",
    "inject.on_error",
    "inject.on_command",
    "up.ask_question",
    "up.example_when_empty",
    "upkeep.hour",
    "upkeep.weekday",
    "upkeep.month_day",
];
/// Sections that every command reads anew; the others hold for the daemon from its next start on.
const READ_ANEW: [&str; 4] = ["inject", "output", "up", "forget"];

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/settings", "Lists settings, with their origin", &[], settings),
        Route::change(Method::PATCH, "/settings/{key}", "Sets one of the settings that may be set from here", &[], set),
    ]
}

/// A setting, and whether it may be set from here.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SettingState {
    /// The setting
    #[serde(flatten)]
    pub setting: Setting,
    /// Its description
    pub description: String,
    /// The values that it takes, in words
    pub expected: String,
    /// The values that it takes, if they are few
    pub choices: Vec<String>,
    /// True if it may be set from here
    pub may_be_set: bool,
    /// Why it may not be set from here
    pub why_not: Option<String>,
    /// The value that the daemon works with until it starts again, if that is another one
    pub daemon_has: Option<String>,
}

/// Lists settings.
pub fn settings(caller: &mut Caller<'_>, _: Nothing) -> CliResult<Vec<SettingState>> {
    // The file may have changed since the daemon began.
    let current = caller.settings.current()?;
    Ok(states(&current, &caller.settings.resolved))
}

/// Returns the settings of the files and variables as they are now, compared with those that the daemon began with.
fn states(current: &Resolved, at_start: &Resolved) -> Vec<SettingState> {
    let state = |row: &config::Setting| {
        let why_not = why_not(row);
        let is_kept = !READ_ANEW.contains(&row.key.name.split('.').next().unwrap_or_default());
        let before = at_start.get(row.key.name).ok().filter(|before| is_kept && before.value != row.value);
        SettingState {
            setting: Setting {
                key: row.key.name.to_owned(),
                value: row.shown.clone(),
                origin: row.origins.iter().map(ToString::to_string).collect(),
            },
            description: config::description_of(row.key.name),
            expected: row.key.expected(),
            choices: row.key.choices(),
            may_be_set: why_not.is_none(),
            why_not,
            daemon_has: before.map(|before| before.shown.clone()),
        }
    };
    current.rows().iter().map(state).collect()
}

/// Returns why a setting may not be set from here.
fn why_not(row: &config::Setting) -> Option<String> {
    if !SAFE.contains(&row.key.name) {
        return Some("it says what is read, stored, called or shown to others".to_owned());
    }
    match row.origin() {
        Origin::Default | Origin::UserFile { .. } | Origin::ProjectFile { .. } => None,
        origin @ (Origin::Environment { .. } | Origin::Flag) => Some(format!("{origin} sets it, which goes before the file")),
    }
}

/// A value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// Name of the setting
    pub key: String,
    /// Its value, as on the command line
    pub value: String,
}

/// Sets a setting in the person's file.
pub fn set(caller: &mut Caller<'_>, Set { key, value }: Set) -> CliResult<SettingState> {
    let known = Key::find(&key).ok_or_else(|| none("config/unknown-key", format!("there is no setting {key:?}")))?;
    let refused = |why: &str| {
        let message = format!("{} cannot be set from here: {why}", known.name);
        CliError::usage(message, Some(&format!("`yore config set {} VALUE` sets it", known.name)))
    };
    if let Some(why) = why_not(caller.settings.current()?.get(known.name)?) {
        return Err(refused(&why));
    }
    if value.contains('{') {
        // A reference would be written as it is, and read the variable that it names.
        return Err(refused("a value with a reference is set on the command line"));
    }
    let file = caller.settings.user_file.as_ref().ok_or_else(|| {
        CliError::usage(
            "there is no directory for a settings file",
            Some("name a file with YORE_CONFIG, and start the daemon again"),
        )
    })?;
    config::set(&file.path, FileKind::User, known.name, &value)?;
    let all = settings(caller, Nothing {})?;
    let found = all.into_iter().find(|state| state.setting.key == known.name);
    found.ok_or_else(|| none("config/unknown-key", format!("there is no setting {key:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(flags: &[(&str, &str)]) -> Resolved {
        let flags: Vec<(String, String)> = flags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let environment = config::Environment::default();
        config::load(&config::Layers { user_file: None, project_file: None, environment: &environment, flags: &flags }).unwrap()
    }

    #[test]
    fn keys_that_may_be_set_exist_and_name_no_file_program_or_address() {
        let states = states(&with(&[]), &with(&[]));
        let settable: Vec<&str> =
            states.iter().filter(|state| state.may_be_set).map(|state| state.setting.key.as_str()).collect();
        assert_eq!(settable.len(), SAFE.len(), "{settable:?}");
        for key in ["sources", "capture", "redaction", "http", "mcp", "models", "llm", "store", "archive", "index", "learn"] {
            assert!(settable.iter().all(|name| !name.starts_with(&format!("{key}."))), "{key}");
        }
        let described = states.iter().all(|state| !state.description.is_empty() && !state.expected.is_empty());
        assert!(described, "every setting is described");
    }

    #[test]
    fn setting_of_a_variable_or_an_option_may_not_be_set_and_says_why() {
        let now = with(&[("recall.limit", "7")]);
        let states = states(&now, &with(&[]));
        let limit = states.iter().find(|state| state.setting.key == "recall.limit").unwrap();
        assert!(!limit.may_be_set && limit.why_not.as_deref().unwrap().contains("the command line"), "{limit:?}");
        assert_eq!((limit.setting.value.as_str(), limit.daemon_has.as_deref()), ("7", Some("10")));
    }

    #[test]
    fn what_commands_read_anew_is_not_told_as_old_in_the_daemon() {
        let states = states(&with(&[("inject.brief_tokens", "100")]), &with(&[]));
        let brief = states.iter().find(|state| state.setting.key == "inject.brief_tokens").unwrap();
        assert_eq!(brief.daemon_has, None);
        let weekday = states.iter().find(|state| state.setting.key == "upkeep.weekday").unwrap();
        assert_eq!((weekday.choices.len(), weekday.choices[0].as_str()), (7, "monday"));
    }
}
