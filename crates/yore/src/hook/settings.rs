//! The switches that a hook must know, read without the rest of the configuration and without
//! its checks. Where a file cannot be understood, capture is off: it may have meant to forbid.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use toml::{Table, Value};

use crate::config::{Give, UserFile};

/// A larger file is no configuration.
const LARGEST_FILE: u64 = 1 << 20;

/// The switches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Switches {
    /// `capture.enabled`.
    pub capture: bool,
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
    pub brief_tokens: f64,
    /// `give.prompt_tokens`.
    pub prompt_tokens: f64,
    /// `give.floor`.
    pub floor: f64,
}

impl Switches {
    const OFF: Self = Self {
        capture: false,
        daemon: false,
        autostart: false,
        give: false,
        on_edit: false,
        on_error: false,
        brief_tokens: 0.0,
        prompt_tokens: 0.0,
        floor: 1.0,
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

    fn layered(
        user_file: Option<&UserFile>,
        project_file: Option<&Path>,
        variable: &dyn Fn(&str) -> Option<OsString>,
        flags: &[(String, String)],
    ) -> Option<Self> {
        let mut switches = Self::of_defaults();
        if let Some(UserFile { path, named }) = user_file {
            let table = table(path, *named)?;
            for (key, place) in switches.switches() {
                *place = match value(&table, key) {
                    None => *place,
                    Some(value) => value.as_bool()?,
                };
            }
            for (key, place) in switches.numbers() {
                *place = match value(&table, key) {
                    None => *place,
                    Some(value) => value.as_float().or_else(|| value.as_integer().map(|number| number as f64))?,
                };
            }
        }
        if let Some(path) = project_file {
            let table = table(path, false)?;
            for (key, place) in switches.switches().into_iter().filter(|(key, _)| !key.starts_with("daemon.")) {
                *place &= value(&table, key).map_or(Some(true), Value::as_bool)?;
            }
        }
        for (key, place) in switches.switches() {
            if let Some(value) = variable(&variable_of(key)) {
                *place = truth(value.to_str()?)?;
            }
            for (_, value) in flags.iter().filter(|(name, _)| name == key) {
                *place = truth(value)?;
            }
        }
        for (key, place) in switches.numbers() {
            if let Some(value) = variable(&variable_of(key)) {
                *place = value.to_str()?.trim().parse().ok()?;
            }
            for (_, value) in flags.iter().filter(|(name, _)| name == key) {
                *place = value.trim().parse().ok()?;
            }
        }
        Some(switches)
    }

    fn of_defaults() -> Self {
        let Give { enabled, brief_tokens, prompt_tokens, floor, on_edit, on_error } = Give::default();
        Self {
            capture: true,
            daemon: true,
            autostart: true,
            give: enabled,
            on_edit,
            on_error,
            brief_tokens: brief_tokens as f64,
            prompt_tokens: prompt_tokens as f64,
            floor,
        }
    }

    fn switches(&mut self) -> [(&'static str, &mut bool); 6] {
        [
            ("capture.enabled", &mut self.capture),
            ("daemon.use", &mut self.daemon),
            ("daemon.autostart", &mut self.autostart),
            ("give.enabled", &mut self.give),
            ("give.on_edit", &mut self.on_edit),
            ("give.on_error", &mut self.on_error),
        ]
    }

    fn numbers(&mut self) -> [(&'static str, &mut f64); 3] {
        [
            ("give.brief_tokens", &mut self.brief_tokens),
            ("give.prompt_tokens", &mut self.prompt_tokens),
            ("give.floor", &mut self.floor),
        ]
    }
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

/// What a table holds under `section.key`.
fn value<'t>(table: &'t Table, key: &str) -> Option<&'t Value> {
    let (section, key) = key.split_once('.')?;
    table.get(section)?.get(key)
}

/// The environment's name of a key.
fn variable_of(key: &str) -> String {
    format!("YORE_{}", key.replace('.', "__").to_ascii_uppercase())
}

/// The same words that the configuration takes.
fn truth(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
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
        assert_eq!(read("[give]\nprompt_tokens = 90\nfloor = 1", None, None, None).prompt_tokens, 90.0);
        assert!(!read("", Some("give.on_edit = false"), None, None).on_edit);
        assert!(!read("[give]\nenabled = false", Some("give.enabled = true"), None, None).give);
        assert_eq!(read("", Some("give.prompt_tokens = 2000"), None, None).prompt_tokens, 800.0, "not the project's business");
        assert_eq!(read("", None, Some(("YORE_GIVE__FLOOR", "0.9")), None).floor, 0.9);
        assert_eq!(read("", None, None, Some(("give.brief_tokens", "0"))).brief_tokens, 0.0);
    }

    #[test]
    fn project_cannot_turn_capture_on() {
        assert!(!read("[capture]\nenabled = false", Some("[capture]\nenabled = true"), None, None).capture);
    }

    #[test]
    fn what_cannot_be_understood_turns_it_off() {
        for text in ["[capture", "[capture]\nenabled = \"yes\"", "capture = 3\n[capture]"] {
            assert_eq!(read(text, None, None, None), Switches::OFF, "{text}");
            assert!(!read("", Some(text), None, None).capture, "{text}");
        }
        assert_eq!(read("", None, Some(("YORE_CAPTURE__ENABLED", "perhaps")), None), Switches::OFF);
        let missing = UserFile { path: "/nowhere/config.toml".into(), named: true };
        assert_eq!(Switches::read(Some(&missing), None, &|_| None, &[]), Switches::OFF);
    }
}
