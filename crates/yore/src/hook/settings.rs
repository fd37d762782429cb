//! Reads the few settings that a hook needs. If they cannot be parsed, nothing is captured: they may have been meant to forbid
//! it.

use yore_engine::ingest::CapturePolicy;

use crate::config::{CaptureMode, Config, Layers, load_only};
use crate::paths::Paths;

/// The keys that a hook reads.
const KEYS: [&str; 19] = [
    "capture.enabled",
    "capture.mode",
    "capture.projects",
    "capture.exclude_projects",
    "daemon.use",
    "daemon.autostart",
    "inject.enabled",
    "inject.on_command",
    "inject.holdout",
    "inject.holdout_sessions",
    "inject.on_edit",
    "inject.on_error",
    "inject.brief_tokens",
    "inject.prompt_tokens",
    "inject.floor",
    "learn.auto",
    "learn.in_session",
    "learn.in_session_prompts",
    "redaction.extra_patterns",
];

/// The rules for the project that a session works in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Place {
    /// Captured, and gets answers.
    Open,
    /// Not captured, and gets no answers.
    Closed,
    /// The directory is unknown, and there are rules: the reader decides line by line what is captured; the
    /// session gets no answers.
    Unknown,
}

/// Returns the settings of a hook, if anything is captured.
pub(super) fn read(layers: &Layers<'_>) -> Option<Config> {
    load_only(layers, &KEYS).ok().filter(|config| config.capture.enabled)
}

/// Returns the place of a session in this directory, by the same rules as reading.
pub(super) fn place(config: &Config, directory: Option<&str>, paths: &Paths) -> Place {
    let capture = &config.capture;
    let is_opt_in = capture.mode == CaptureMode::OptIn;
    if !is_opt_in && capture.exclude_projects.is_empty() {
        return Place::Open;
    }
    let Some(directory) = directory else { return Place::Unknown };
    let below_home = |entries: &[String]| -> Vec<String> { entries.iter().map(|entry| paths.below_home(entry)).collect() };
    let only = is_opt_in.then(|| below_home(&capture.projects));
    match CapturePolicy::new(&[], &below_home(&capture.exclude_projects), only.as_deref()) {
        Ok(policy) if policy.allows_directory(directory) => Place::Open,
        _ => Place::Closed,
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;

    use super::*;
    use crate::config::{Environment, UserFile};

    type Pair<'p> = Option<(&'p str, &'p str)>;

    fn read(user: &str, project: Option<&str>, variable: Pair<'_>, flag: Pair<'_>) -> Option<Config> {
        let directory = tempfile::tempdir().unwrap();
        let (user_path, project_path) = (directory.path().join("config.toml"), directory.path().join(".yore.toml"));
        fs::write(&user_path, user).unwrap();
        if let Some(project) = project {
            fs::write(&project_path, project).unwrap();
        }
        let user_file = UserFile { path: user_path, named: false };
        let environment: Environment = variable.into_iter().map(|(key, value)| (key, OsString::from(value))).collect();
        let flags: Vec<_> = flag.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let project_file = project.map(|_| project_path.as_path());
        super::read(&Layers { user_file: Some(&user_file), project_file, environment: &environment, flags: &flags })
    }

    #[test]
    fn capture_is_on_until_a_layer_turns_it_off() {
        let on = Some(Config::default());
        assert_eq!(read("", None, None, None), on);
        assert_eq!(read("[recall]\nlimit = 3", Some("[recall]\nlimit = 4"), None, None), on);
        assert_eq!(
            read("[recall]\nlimits = 3\n[unheard]\nof = 1", None, Some(("YORE_RECALL__LIMIT", "no")), None),
            on,
            "not read"
        );
        assert_eq!(read("[capture]\nenabled = false", None, None, None), None);
        assert_eq!(read("", Some("capture.enabled = false"), None, None), None);
        assert_eq!(read("", None, Some(("YORE_CAPTURE__ENABLED", "No")), None), None);
        assert_eq!(read("", None, None, Some(("capture.enabled", "off"))), None);
        assert!(!read("[daemon]\nautostart = false", None, None, None).unwrap().daemon.autostart);
    }

    #[test]
    fn what_is_given_is_bounded_by_every_layer() {
        assert_eq!(read("[inject]\nprompt_tokens = 90\nfloor = 1", None, None, None).unwrap().inject.prompt_tokens, 90);
        assert!(!read("", Some("inject.on_edit = false"), None, None).unwrap().inject.on_edit);
        assert!(!read("", Some("inject.on_command = false"), None, None).unwrap().inject.on_command);
        assert!(!read("[inject]\nenabled = false", Some("inject.enabled = true"), None, None).unwrap().inject.enabled);
        assert_eq!(
            read("", Some("inject.prompt_tokens = 2000"), None, None).unwrap().inject.prompt_tokens,
            250,
            "not the project's business"
        );
        assert_eq!(read("", None, Some(("YORE_INJECT__FLOOR", "0.9")), None).unwrap().inject.floor, 0.9);
        assert_eq!(read("", None, None, Some(("inject.brief_tokens", "0"))).unwrap().inject.brief_tokens, 0);
    }

    #[test]
    fn references_may_stand_for_switches_and_numbers() {
        let user = "[capture]\nenabled = \"{env:KEEP}\"\n[inject]\nprompt_tokens = \"{env:TOKENS:-90}\"";
        assert_eq!(read(user, None, Some(("KEEP", "yes")), None).unwrap().inject.prompt_tokens, 90);
        assert_eq!(read(user, None, Some(("KEEP", "no")), None), None);
        assert_eq!(read(user, None, None, None), None, "nobody knows what was meant");
    }

    #[test]
    fn former_names_of_keys_count() {
        assert_eq!(read("[give]\nprompt_tokens = 90", None, None, None).unwrap().inject.prompt_tokens, 90);
        assert_eq!(read("give = 3", None, None, None), None, "nobody knows what was meant");
        assert!(!read("", None, Some(("YORE_GIVE__ENABLED", "no")), None).unwrap().inject.enabled);
    }

    #[test]
    fn project_cannot_turn_capture_on() {
        assert_eq!(read("[capture]\nenabled = false", Some("[capture]\nenabled = true"), None, None), None);
    }

    #[test]
    fn what_cannot_be_understood_turns_it_off() {
        for text in ["[capture", "[capture]\nenabled = \"yes\"", "capture = 3", "[capture]\nexclude_projects = \"x\""] {
            assert_eq!(read(text, None, None, None), None, "{text}");
            assert_eq!(read("", Some(text), None, None), None, "{text}");
        }
        assert_eq!(read("", None, Some(("YORE_CAPTURE__ENABLED", "perhaps")), None), None);
        let missing = UserFile { path: "/nowhere/config.toml".into(), named: true };
        assert_eq!(
            super::read(&Layers {
                user_file: Some(&missing),
                project_file: None,
                environment: &Environment::default(),
                flags: &[]
            }),
            None
        );
    }

    #[test]
    fn projects_that_are_left_out_are_known_by_the_directory() {
        let paths = Paths { home: Some("/home/dev".into()), ..Paths::default() };
        let place = |user: &str, project: Option<&str>, directory: &str| {
            super::place(
                &read(user, project, None, None).unwrap(),
                Some(directory).filter(|directory| !directory.is_empty()),
                &paths,
            )
        };
        let excluded = "[capture]\nexclude_projects = [\"~/secret\", \"/srv/client-*\"]";
        assert_eq!(place("", None, ""), Place::Open);
        assert_eq!(place("", None, "/home/dev/secret"), Place::Open);
        assert_eq!(place(excluded, None, "/home/dev/secret/src"), Place::Closed);
        assert_eq!(place(excluded, None, "/srv/client-a/src"), Place::Closed);
        assert_eq!(place(excluded, None, "/home/dev/secrets"), Place::Open);
        assert_eq!(place(excluded, None, ""), Place::Unknown);
        let listed = "[capture]\nmode = \"opt-in\"\nprojects = [\"~/tide\"]";
        assert_eq!(place(listed, None, "/home/dev/tide/src"), Place::Open);
        assert_eq!(place(listed, None, "/home/dev/other"), Place::Closed);
        assert_eq!(place(listed, None, ""), Place::Unknown);
        let unknown = "[capture]\nexclude_projects = [\"{env:NOWHERE}\"]";
        assert_eq!(read(unknown, None, None, None), None, "nobody knows what was meant");
        assert_eq!(place("[capture]\nexclude_projects = [\"{env:NOWHERE:-/srv}\"]", None, "/srv/a"), Place::Closed);
        assert_eq!(place("[capture]\nexclude_projects = [\"a[b\"]", None, "/srv/a"), Place::Closed);
        assert_eq!(place("", Some("capture.exclude_projects = [\"/srv\"]"), "/srv/a"), Place::Closed);
        assert_eq!(place("", Some("capture.mode = \"opt-in\""), "/srv/a"), Place::Closed);
        assert_eq!(place(listed, Some("capture.projects = [\"/srv\"]"), "/srv/a"), Place::Closed, "not its business");
        assert_eq!(place(listed, Some("capture.mode = \"all\""), "/srv/a"), Place::Closed);
        let by_variable = read("", None, Some(("YORE_CAPTURE__EXCLUDE_PROJECTS", "/srv")), None);
        assert_eq!(super::place(&by_variable.unwrap(), Some("/srv/a"), &paths), Place::Closed);
        assert_eq!(
            super::place(&read("", None, None, Some(("capture.mode", "opt-in"))).unwrap(), Some("/srv/a"), &paths),
            Place::Closed
        );
    }

    #[test]
    fn numbers_that_the_configuration_refuses_turn_it_off() {
        for text in ["brief_tokens = -1", "prompt_tokens = 5000", "prompt_tokens = 1.5", "floor = nan", "floor = 2"] {
            assert_eq!(read(&format!("[inject]\n{text}"), None, None, None), None, "{text}");
        }
        assert_eq!(read("", None, Some(("YORE_INJECT__FLOOR", "NaN")), None), None);
    }

    #[test]
    fn patterns_of_the_person_are_known() {
        assert_eq!(
            read("[redaction]\nextra_patterns = ['EMP-\\d+']", None, None, None).unwrap().redaction.extra_patterns,
            ["EMP-\\d+"]
        );
        assert_eq!(
            read("", Some("redaction.extra_patterns = ['.+']"), None, None).unwrap().redaction.extra_patterns,
            Vec::<String>::new()
        );
        assert_eq!(read("[redaction]\nextra_patterns = 'EMP'", None, None, None), None);
        assert_eq!(
            read("", None, None, Some(("redaction.extra_patterns", "EMP-\\d+"))).unwrap().redaction.extra_patterns,
            ["EMP-\\d+"]
        );
    }
}
