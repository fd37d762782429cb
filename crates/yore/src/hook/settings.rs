//! The switches that a hook must know, read without the rest of the configuration and without
//! its checks. Where a file cannot be understood, capture is off: it may have meant to forbid.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use toml::Table;

use crate::config::UserFile;

/// A larger file is no configuration.
const LARGEST_FILE: u64 = 1 << 20;

/// The switches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Switches {
    /// `capture.enabled`.
    pub capture: bool,
    /// `daemon.use`.
    pub daemon: bool,
    /// `daemon.autostart`.
    pub autostart: bool,
}

impl Switches {
    const OFF: Self = Self { capture: false, daemon: false, autostart: false };

    /// Reads the layers that may hold them: the person's file, the project's (which may only turn
    /// capture off), the environment, the command line.
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
        let mut switches = Self { capture: true, daemon: true, autostart: true };
        if let Some(UserFile { path, named }) = user_file {
            let table = table(path, *named)?;
            switches.capture = switch(&table, "capture", "enabled", true)?;
            switches.daemon = switch(&table, "daemon", "use", true)?;
            switches.autostart = switch(&table, "daemon", "autostart", true)?;
        }
        if let Some(path) = project_file {
            switches.capture &= switch(&table(path, false)?, "capture", "enabled", true)?;
        }
        for (name, place) in [
            ("YORE_CAPTURE__ENABLED", &mut switches.capture),
            ("YORE_DAEMON__USE", &mut switches.daemon),
            ("YORE_DAEMON__AUTOSTART", &mut switches.autostart),
        ] {
            if let Some(value) = variable(name) {
                *place = truth(value.to_str()?)?;
            }
        }
        for (key, value) in flags {
            match key.as_str() {
                "capture.enabled" => switches.capture = truth(value)?,
                "daemon.use" => switches.daemon = truth(value)?,
                "daemon.autostart" => switches.autostart = truth(value)?,
                _ => {}
            }
        }
        Some(switches)
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

/// A switch in a table; `None` when it holds something else.
fn switch(table: &Table, section: &str, key: &str, default: bool) -> Option<bool> {
    match table.get(section).and_then(|section| section.get(key)) {
        None => Some(default),
        Some(value) => value.as_bool(),
    }
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
        let on = Switches { capture: true, daemon: true, autostart: true };
        assert_eq!(read("", None, None, None), on);
        assert_eq!(read("[recall]\nlimit = 3", Some("[recall]\nlimit = 4"), None, None), on);
        assert!(!read("[capture]\nenabled = false", None, None, None).capture);
        assert!(!read("", Some("capture.enabled = false"), None, None).capture);
        assert!(!read("", None, Some(("YORE_CAPTURE__ENABLED", "No")), None).capture);
        assert!(!read("", None, None, Some(("capture.enabled", "off"))).capture);
        assert!(!read("[daemon]\nautostart = false", None, None, None).autostart);
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
