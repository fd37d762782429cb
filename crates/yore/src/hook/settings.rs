//! The switches that a hook must know, read without the rest of the configuration and without
//! its checks. Where a file cannot be understood, capture is off: it may have meant to forbid.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use toml::{Table, Value};
use yore_engine::ingest::CapturePolicy;

use crate::config::{Give, UserFile, fitting, fitting_text, replaced};
use crate::paths::Paths;

/// A larger file is no configuration.
const LARGEST_FILE: u64 = 1 << 20;
/// What is only compiled where something may be given.
const PATTERNS: &str = "redaction.extra_patterns";

/// What a hook looks for.
const KEYS: [&str; 13] = [
    "capture.enabled",
    "capture.mode",
    "capture.projects",
    "capture.exclude_projects",
    "daemon.use",
    "daemon.autostart",
    "give.enabled",
    "give.on_edit",
    "give.on_error",
    "give.brief_tokens",
    "give.prompt_tokens",
    "give.floor",
    PATTERNS,
];

/// The switches.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Switches {
    /// `capture.enabled`.
    pub capture: bool,
    /// `capture.mode`: whether only what `projects` names is captured.
    pub is_opt_in: bool,
    /// `capture.projects`.
    pub projects: Vec<String>,
    /// `capture.exclude_projects`.
    pub exclude_projects: Vec<String>,
    /// `daemon.use`.
    pub daemon: bool,
    /// `daemon.autostart`.
    pub autostart: bool,
    /// `give.enabled`.
    pub give: bool,
    /// `give.on_edit`.
    pub on_edit: bool,
    /// `give.on_error`.
    pub on_error: bool,
    /// `give.brief_tokens`.
    pub brief_tokens: usize,
    /// `give.prompt_tokens`.
    pub prompt_tokens: usize,
    /// `give.floor`.
    pub floor: f64,
    /// `redaction.extra_patterns`, unchecked.
    pub patterns: Vec<String>,
}

/// What is known of the project that a session works in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Place {
    /// It is captured, and given to.
    Open,
    /// It is neither.
    Closed,
    /// Nobody says where it is, and there are rules: what is captured is asked line by line by who
    /// reads it; nothing is given.
    Unknown,
}

impl Switches {
    const OFF: Self = Self {
        capture: false,
        is_opt_in: true,
        projects: Vec::new(),
        exclude_projects: Vec::new(),
        daemon: false,
        autostart: false,
        give: false,
        on_edit: false,
        on_error: false,
        brief_tokens: 0,
        prompt_tokens: 0,
        floor: 1.0,
        patterns: Vec::new(),
    };

    /// Reads the layers that may hold them: the person's file, the project's (which may only turn
    /// off), the environment, the command line.
    pub(super) fn read(
        user_file: Option<&UserFile>,
        project_file: Option<&Path>,
        variable: &dyn Fn(&str) -> Option<OsString>,
        flags: &[(String, String)],
    ) -> Self {
        Self::layered(user_file, project_file, variable, flags).unwrap_or(Self::OFF)
    }

    /// Whether a session in this directory is captured and given to, by the rules that reading
    /// follows.
    pub(super) fn place(&self, directory: Option<&str>, paths: &Paths) -> Place {
        if !self.is_opt_in && self.exclude_projects.is_empty() {
            return Place::Open;
        }
        let Some(directory) = directory else { return Place::Unknown };
        let below_home = |entries: &[String]| -> Vec<String> { entries.iter().map(|entry| paths.below_home(entry)).collect() };
        let only = self.is_opt_in.then(|| below_home(&self.projects));
        match CapturePolicy::new(&[], &below_home(&self.exclude_projects), only.as_deref()) {
            Ok(policy) if policy.allows_directory(directory) => Place::Open,
            _ => Place::Closed,
        }
    }

    fn layered(
        user_file: Option<&UserFile>,
        project_file: Option<&Path>,
        variable: &dyn Fn(&str) -> Option<OsString>,
        flags: &[(String, String)],
    ) -> Option<Self> {
        let mut switches = Self::of_defaults();
        if let Some(UserFile { path, named }) = user_file {
            let table = table(path, *named)?;
            for key in KEYS {
                if let Some(value) = value(&table, key, variable)? {
                    switches.set(key, &fit(key, value)?)?;
                }
            }
        }
        if let Some(path) = project_file {
            let table = table(path, false)?;
            // Anything else is not the project's business.
            for key in KEYS.into_iter().filter(|key| is_narrowed_by_projects(key)) {
                if let Some(value) = value(&table, key, variable)? {
                    switches.narrow(key, &fit(key, value)?)?;
                }
            }
        }
        for key in KEYS {
            if let Some(value) = variable(&variable_of(key)) {
                switches.set(key, &fitting_text(key, value.to_str()?)?)?;
            }
            for (_, value) in flags.iter().filter(|(name, _)| name == key) {
                switches.set(key, &fitting_text(key, value)?)?;
            }
        }
        Some(switches)
    }

    fn of_defaults() -> Self {
        let Give { enabled, brief_tokens, prompt_tokens, floor, on_edit, on_error } = Give::default();
        Self {
            capture: true,
            is_opt_in: false,
            projects: Vec::new(),
            exclude_projects: Vec::new(),
            daemon: true,
            autostart: true,
            give: enabled,
            on_edit,
            on_error,
            brief_tokens,
            prompt_tokens,
            floor,
            patterns: Vec::new(),
        }
    }

    /// Takes over what a layer says.
    fn set(&mut self, key: &str, value: &Value) -> Option<()> {
        let count = |value: &Value| usize::try_from(value.as_integer()?).ok();
        match key {
            "capture.enabled" => self.capture = value.as_bool()?,
            "capture.mode" => self.is_opt_in = value.as_str()? == "opt-in",
            "capture.projects" => self.projects = strings(value)?,
            "capture.exclude_projects" => self.exclude_projects = strings(value)?,
            "daemon.use" => self.daemon = value.as_bool()?,
            "daemon.autostart" => self.autostart = value.as_bool()?,
            "give.enabled" => self.give = value.as_bool()?,
            "give.on_edit" => self.on_edit = value.as_bool()?,
            "give.on_error" => self.on_error = value.as_bool()?,
            "give.brief_tokens" => self.brief_tokens = count(value)?,
            "give.prompt_tokens" => self.prompt_tokens = count(value)?,
            "give.floor" => self.floor = value.as_float()?,
            PATTERNS => self.patterns = strings(value)?,
            _ => return None,
        }
        Some(())
    }

    /// Makes it less by what a project's file says, never more.
    fn narrow(&mut self, key: &str, value: &Value) -> Option<()> {
        match key {
            "capture.enabled" => self.capture &= value.as_bool()?,
            "capture.mode" => self.is_opt_in |= value.as_str()? == "opt-in",
            "capture.exclude_projects" => self.exclude_projects.extend(strings(value)?),
            "give.enabled" => self.give &= value.as_bool()?,
            "give.on_edit" => self.on_edit &= value.as_bool()?,
            "give.on_error" => self.on_error &= value.as_bool()?,
            _ => {}
        }
        Some(())
    }
}

/// Whether a project's file may say it.
fn is_narrowed_by_projects(key: &str) -> bool {
    matches!(
        key,
        "capture.enabled" | "capture.mode" | "capture.exclude_projects" | "give.enabled" | "give.on_edit" | "give.on_error"
    )
}

/// A file as TOML; empty when there is none and none must be there. `None` when it cannot be read.
fn table(path: &Path, must_exist: bool) -> Option<Table> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => return Some(Table::new()),
        file => file.ok()?,
    };
    // A pipe would keep the agent waiting.
    let meta = file.metadata().ok()?;
    if !meta.is_file() || meta.len() > LARGEST_FILE {
        return None;
    }
    let mut text = String::new();
    file.take(LARGEST_FILE).read_to_string(&mut text).ok()?;
    text.parse().ok()
}

/// What a table holds under `section.key`, its references replaced; the outer `None` where that
/// cannot be understood.
fn value(table: &Table, key: &str, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<Option<Value>> {
    let (section, key) = key.split_once('.')?;
    let Some(section) = table.get(section) else { return Some(None) };
    match section.as_table()?.get(key) {
        None => Some(None),
        Some(value) => resolved(value.clone(), variable).map(Some),
    }
}

fn resolved(value: Value, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<Value> {
    Some(match value {
        Value::String(text) => Value::String(replaced(&text, variable)?),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| resolved(item, variable)).collect::<Option<_>>()?),
        other => other,
    })
}

/// The value, if the configuration takes it. Patterns take long to check, and who uses them does.
fn fit(key: &str, value: Value) -> Option<Value> {
    if key == PATTERNS { Some(value) } else { fitting(key, value) }
}

fn strings(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

/// The environment's name of a key.
fn variable_of(key: &str) -> String {
    format!("YORE_{}", key.replace('.', "__").to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(user: &str, project: Option<&str>, variable: Option<(&str, &str)>, flag: Option<(&str, &str)>) -> Switches {
        let directory = tempfile::tempdir().unwrap();
        let (user_path, project_path) = (directory.path().join("config.toml"), directory.path().join(".yore.toml"));
        fs::write(&user_path, user).unwrap();
        if let Some(project) = project {
            fs::write(&project_path, project).unwrap();
        }
        let user_file = UserFile { path: user_path, named: false };
        let get = |name: &str| variable.filter(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        let flags: Vec<_> = flag.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        Switches::read(Some(&user_file), project.map(|_| project_path.as_path()), &get, &flags)
    }

    #[test]
    fn capture_is_on_until_a_layer_turns_it_off() {
        let on = Switches::of_defaults();
        assert_eq!(read("", None, None, None), on);
        assert_eq!(read("[recall]\nlimit = 3", Some("[recall]\nlimit = 4"), None, None), on);
        assert!(!read("[capture]\nenabled = false", None, None, None).capture);
        assert!(!read("", Some("capture.enabled = false"), None, None).capture);
        assert!(!read("", None, Some(("YORE_CAPTURE__ENABLED", "No")), None).capture);
        assert!(!read("", None, None, Some(("capture.enabled", "off"))).capture);
        assert!(!read("[daemon]\nautostart = false", None, None, None).autostart);
    }

    #[test]
    fn what_is_given_is_bounded_by_every_layer() {
        assert_eq!(read("[give]\nprompt_tokens = 90\nfloor = 1", None, None, None).prompt_tokens, 90);
        assert!(!read("", Some("give.on_edit = false"), None, None).on_edit);
        assert!(!read("[give]\nenabled = false", Some("give.enabled = true"), None, None).give);
        assert_eq!(read("", Some("give.prompt_tokens = 2000"), None, None).prompt_tokens, 800, "not the project's business");
        assert_eq!(read("", None, Some(("YORE_GIVE__FLOOR", "0.9")), None).floor, 0.9);
        assert_eq!(read("", None, None, Some(("give.brief_tokens", "0"))).brief_tokens, 0);
    }

    #[test]
    fn project_cannot_turn_capture_on() {
        assert!(!read("[capture]\nenabled = false", Some("[capture]\nenabled = true"), None, None).capture);
    }

    #[test]
    fn what_cannot_be_understood_turns_it_off() {
        for text in ["[capture", "[capture]\nenabled = \"yes\"", "capture = 3", "[capture]\nexclude_projects = \"x\""] {
            assert_eq!(read(text, None, None, None), Switches::OFF, "{text}");
            assert!(!read("", Some(text), None, None).capture, "{text}");
        }
        assert_eq!(read("", None, Some(("YORE_CAPTURE__ENABLED", "perhaps")), None), Switches::OFF);
        let missing = UserFile { path: "/nowhere/config.toml".into(), named: true };
        assert_eq!(Switches::read(Some(&missing), None, &|_| None, &[]), Switches::OFF);
    }

    #[test]
    fn projects_that_are_left_out_are_known_by_the_directory() {
        let paths = Paths { home: Some("/home/dev".into()), ..Paths::default() };
        let place = |user: &str, project: Option<&str>, directory: &str| {
            read(user, project, None, None).place(Some(directory).filter(|directory| !directory.is_empty()), &paths)
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
        assert_eq!(read(unknown, None, None, None), Switches::OFF, "nobody knows what was meant");
        assert_eq!(place("[capture]\nexclude_projects = [\"{env:NOWHERE:-/srv}\"]", None, "/srv/a"), Place::Closed);
        assert_eq!(place("[capture]\nexclude_projects = [\"a[b\"]", None, "/srv/a"), Place::Closed);
        assert_eq!(place("", Some("capture.exclude_projects = [\"/srv\"]"), "/srv/a"), Place::Closed);
        assert_eq!(place("", Some("capture.mode = \"opt-in\""), "/srv/a"), Place::Closed);
        assert_eq!(place(listed, Some("capture.projects = [\"/srv\"]"), "/srv/a"), Place::Closed, "not its business");
        assert_eq!(place(listed, Some("capture.mode = \"all\""), "/srv/a"), Place::Closed);
        let by_variable = read("", None, Some(("YORE_CAPTURE__EXCLUDE_PROJECTS", "/srv")), None);
        assert_eq!(by_variable.place(Some("/srv/a"), &paths), Place::Closed);
        assert_eq!(read("", None, None, Some(("capture.mode", "opt-in"))).place(Some("/srv/a"), &paths), Place::Closed);
    }

    #[test]
    fn numbers_that_the_configuration_refuses_turn_it_off() {
        for text in ["brief_tokens = -1", "prompt_tokens = 5000", "prompt_tokens = 1.5", "floor = nan", "floor = 2"] {
            assert_eq!(read(&format!("[give]\n{text}"), None, None, None), Switches::OFF, "{text}");
        }
        assert_eq!(read("", None, Some(("YORE_GIVE__FLOOR", "NaN")), None), Switches::OFF);
    }

    #[test]
    fn patterns_of_the_person_are_known() {
        assert_eq!(read("[redaction]\nextra_patterns = ['EMP-\\d+']", None, None, None).patterns, ["EMP-\\d+"]);
        assert_eq!(read("", Some("redaction.extra_patterns = ['.+']"), None, None).patterns, Vec::<String>::new());
        assert_eq!(read("[redaction]\nextra_patterns = 'EMP'", None, None, None), Switches::OFF);
        assert_eq!(read("", None, None, Some(("redaction.extra_patterns", "EMP-\\d+"))).patterns, ["EMP-\\d+"]);
    }
}
