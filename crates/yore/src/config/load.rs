//! Merges the layers of the configuration: defaults, user's file, project's file, environment, flags.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::environment::Environment;
use super::error::{ConfigError, brief};
use super::file::{self, Entry, misfit_error};
use super::key::{Key, Keys, Misfit, Shape, nearest};
use super::lookup::is_removed;
use super::origin::{FileKind, Origin};
use super::section::Config;

/// The name of a project's file, at the project's root.
pub const PROJECT_FILE: &str = ".yore.toml";

/// All sources of settings, lowest layer first, above the defaults.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// The person's file.
    pub user_file: Option<&'a UserFile>,
    /// The project's file, which may not exist.
    pub project_file: Option<&'a Path>,
    /// `YORE_SECTION__KEY` variables, and the variables that `{env:NAME}` refers to.
    pub environment: &'a Environment,
    /// Keys and values as text, from the command line.
    pub flags: &'a [(String, String)],
}

/// The person's configuration file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UserFile {
    /// Path of the file.
    pub path: PathBuf,
    /// True if `$YORE_CONFIG` names the file. It must exist then: without it, yore could capture what the
    /// person has excluded there.
    pub named: bool,
}

impl UserFile {
    /// Returns the file that `$YORE_CONFIG` names, else `yore/config.toml` in the platform's
    /// directory for configurations, if there is one.
    pub fn locate(environment: &Environment, config_dir: Option<&Path>) -> Option<Self> {
        let named = environment.get("YORE_CONFIG").filter(|path| !path.is_empty());
        if let Some(path) = named {
            return Some(Self { path: path.into(), named: true });
        }
        Some(Self { path: config_dir?.join("yore").join("config.toml"), named: false })
    }
}

/// The configuration after all layers, with the origin of every value.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The values.
    pub config: Config,
    settings: Vec<Setting>,
}

/// One key with its value and the origin of the value.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The key.
    pub key: &'static Key,
    /// The value, with references replaced. It may be a secret: show `shown` instead.
    pub value: Value,
    /// The value as TOML, in the form that may be shown: `{env:NAME}` stays a reference.
    pub shown: String,
    /// Origins of the value. More than one, lowest first, if a project's file added to a list.
    pub origins: Vec<Origin>,
}

impl Setting {
    /// Returns the highest layer that the value came from.
    pub fn origin(&self) -> &Origin {
        self.origins.last().unwrap_or(&Origin::Default)
    }
}

impl Resolved {
    /// Returns the setting of this name.
    pub fn get(&self, name: &str) -> Result<&Setting, ConfigError> {
        let key = Key::find(name).ok_or_else(|| unknown(name, None))?;
        self.settings.iter().find(|setting| setting.key.name == key.name).ok_or_else(|| unknown(name, None))
    }

    /// Returns every setting, in the order of display.
    pub fn rows(&self) -> &[Setting] {
        &self.settings
    }
}

/// Returns the configuration after all layers, or the first fault.
pub fn load(layers: &Layers<'_>) -> Result<Resolved, ConfigError> {
    let (settings, problems) = resolve(layers, Keys::All);
    finish(settings, problems.all())
}

/// Returns the configuration after all layers, and the faults of the project's file. A faulty entry of that file is left out:
/// it arrives with any clone, so it must not keep a command from starting.
///
/// # Errors
/// The first fault of another layer.
pub fn load_here(layers: &Layers<'_>) -> Result<(Resolved, Vec<ConfigError>), ConfigError> {
    let (settings, problems) = resolve(layers, Keys::All);
    let ignored = problems.of_project.into_iter().filter(|problem| !problem.is_note()).collect();
    Ok((finish(settings, problems.of_others)?, ignored))
}

fn finish(settings: Vec<Setting>, problems: Vec<ConfigError>) -> Result<Resolved, ConfigError> {
    if let Some(problem) = problems.into_iter().find(|problem| !problem.is_note()) {
        return Err(problem);
    }
    let config = assemble(&settings)?;
    Ok(Resolved { config, settings })
}

/// Returns the configuration with the values of these keys, and all others at their defaults. For a caller
/// that must be fast: other keys are not read, patterns are not checked, and a project's file that asks for
/// what it may not is ignored. Any other fault of these keys, or of a file as a whole, is an error.
pub fn load_only(layers: &Layers<'_>, names: &[&str]) -> Result<Config, ConfigError> {
    let (settings, problems) = resolve(layers, Keys::Only(names));
    let is_heard = |problem: &ConfigError| !problem.is_note() && !matches!(problem, ConfigError::ProjectMayNot { .. });
    let problem = problems.all().into_iter().find(is_heard);
    problem.map_or_else(|| assemble(&settings), Err)
}

/// Returns the configuration without any layer.
pub fn defaults() -> Result<Resolved, ConfigError> {
    load(&Layers { user_file: None, project_file: None, environment: &Environment::default(), flags: &[] })
}

/// Returns all faults of the layers, lowest layer first, and keys under former names.
pub fn check(layers: &Layers<'_>) -> Vec<ConfigError> {
    let (settings, problems) = resolve(layers, Keys::All);
    let mut problems = problems.all();
    if problems.iter().all(ConfigError::is_note) {
        problems.extend(assemble(&settings).err());
    }
    problems
}

/// The faults of the project's file, and of the other layers, lowest first.
struct Problems {
    of_project: Vec<ConfigError>,
    of_others: Vec<ConfigError>,
}

impl Problems {
    fn all(self) -> Vec<ConfigError> {
        self.of_others.into_iter().chain(self.of_project).collect()
    }
}

fn resolve(layers: &Layers<'_>, keys: Keys<'_>) -> (Vec<Setting>, Problems) {
    let Layers { user_file, project_file, environment, flags } = *layers;
    let mut stack = Stack { keys, settings: Vec::new(), problems: Vec::new() };
    stack.defaults();
    if let Some(UserFile { path, named }) = user_file {
        stack.file(path, FileKind::User, *named, environment);
    }
    let mut of_others = std::mem::take(&mut stack.problems);
    if let Some(path) = project_file {
        stack.file(path, FileKind::Project, false, environment);
    }
    let of_project = std::mem::take(&mut stack.problems);
    stack.environment(environment);
    for (name, text) in flags {
        stack.text(Key::find(name), name, text, Origin::Flag);
    }
    of_others.append(&mut stack.problems);
    (stack.settings, Problems { of_project, of_others })
}

/// The merged result of the layers so far.
struct Stack<'a> {
    keys: Keys<'a>,
    settings: Vec<Setting>,
    problems: Vec<ConfigError>,
}

impl Stack<'_> {
    fn defaults(&mut self) {
        let table = match Table::try_from(Config::default()) {
            Ok(table) => table,
            Err(error) => return self.problems.push(fault(&error)),
        };
        let keys = self.keys;
        for key in Key::all().filter(|key| keys.include(key)) {
            let Some(value) = lookup(&table, key.name) else {
                let reason = format!("{} has no default", key.name);
                self.problems.push(ConfigError::Fault { reason });
                continue;
            };
            self.settings.push(Setting { key, value: value.clone(), shown: value.to_string(), origins: vec![Origin::Default] });
        }
    }

    fn file(&mut self, path: &Path, kind: FileKind, must_exist: bool, environment: &Environment) {
        let text = match file::read(path) {
            Ok(Some(text)) => text,
            Ok(None) if !must_exist => return,
            Ok(None) => {
                return self
                    .problems
                    .push(ConfigError::Unreadable { path: path.to_owned(), reason: std::io::ErrorKind::NotFound.into() });
            }
            Err(problem) => return self.problems.push(problem),
        };
        let (entries, problems) = file::parse(&text, path, kind, Some(environment), self.keys);
        self.problems.extend(problems);
        for entry in entries {
            match kind {
                FileKind::User => self.replace(entry),
                FileKind::Project => self.narrow(entry),
            }
        }
    }

    fn environment(&mut self, environment: &Environment) {
        for (name, value) in environment.keys() {
            let key = Key::of_variable(name);
            let origin = Origin::Environment { name: name.to_owned() };
            if let Some(key) = key.filter(|key| key.variable() != name) {
                let (name, now) = (name.to_owned(), key.variable());
                self.problems.push(ConfigError::Renamed { name, now, origin: None });
            }
            match (value.to_str(), key) {
                (_, Some(key)) if !self.keys.include(key) => {}
                (Some(text), _) => self.text(key, name, text, origin),
                (None, Some(key)) => self.problems.push(ConfigError::NotUnicode { variable: name.to_owned(), name: key.name }),
                (None, None) => self.text(None, name, "", origin),
            }
        }
    }

    fn text(&mut self, key: Option<&'static Key>, name: &str, text: &str, origin: Origin) {
        let key = match (key, self.keys) {
            (Some(key), keys) if keys.include(key) => key,
            (None, Keys::All) if !is_removed(name) => return self.problems.push(unknown(name, Some(origin))),
            _ => return,
        };
        match read_as(self.keys.shape(key), key, text, Some(&origin)) {
            Ok(value) => self.replace(Entry { key, written: value.to_string(), value, origin }),
            Err(problem) => self.problems.push(problem),
        }
    }

    fn setting(&mut self, key: &'static Key) -> Option<&mut Setting> {
        self.settings.iter_mut().find(|setting| setting.key.name == key.name)
    }

    fn replace(&mut self, entry: Entry) {
        if let Some(setting) = self.setting(entry.key) {
            setting.value = entry.value;
            setting.shown = entry.written;
            setting.origins = vec![entry.origin];
        }
    }

    fn narrow(&mut self, entry: Entry) {
        let Some(setting) = self.setting(entry.key) else {
            return;
        };
        match admit(setting, &entry) {
            Ok(value) if value == entry.value => self.replace(entry),
            Ok(value) => {
                setting.value = value;
                setting.shown = joined(&setting.shown, &entry.written);
                setting.origins.push(entry.origin);
            }
            Err(problem) => self.problems.push(problem),
        }
    }
}

/// Returns the new value of a setting after a project's file sets it, or an error if the file may not.
pub(super) fn admit(setting: &Setting, entry: &Entry) -> Result<Value, ConfigError> {
    let key = entry.key;
    key.project.admit(key.shape, &setting.value, entry.value.clone()).ok_or_else(|| ConfigError::ProjectMayNot {
        key,
        origin: entry.origin.clone(),
        found: brief(&entry.written),
        below: format!("{} from {}", brief(&setting.shown), setting.origin()),
    })
}

/// Reads the value of a key from the text of a flag or an environment variable.
pub(super) fn read_text(key: &'static Key, text: &str, origin: Option<&Origin>) -> Result<Value, ConfigError> {
    read_as(key.shape, key, text, origin)
}

fn read_as(shape: Shape, key: &'static Key, text: &str, origin: Option<&Origin>) -> Result<Value, ConfigError> {
    shape.read(text).map_err(|misfit: Misfit| misfit_error(misfit, key, origin.cloned(), brief(&format!("{text:?}"))))
}

/// Returns the error for an unknown key.
pub(super) fn unknown(name: &str, origin: Option<Origin>) -> ConfigError {
    let is_variable = matches!(origin, Some(Origin::Environment { .. }));
    let names = Key::all().map(|key| if is_variable { key.variable() } else { key.name.to_owned() });
    ConfigError::UnknownKey {
        what: "key",
        name: brief(name),
        nearest: nearest(name, names),
        // The variable's name already names the key, so the origin would repeat it.
        origin: origin.filter(|_| !is_variable),
    }
}

/// Joins two lists in the form in which they are shown.
fn joined(first: &str, second: &str) -> String {
    let items = |list: &str| match list.parse() {
        Ok(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let mut all = items(first);
    for item in items(second) {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    Value::Array(all).to_string()
}

fn lookup<'a>(table: &'a Table, name: &str) -> Option<&'a Value> {
    let (first, rest) = name.split_once('.').unwrap_or((name, ""));
    let value = table.get(first)?;
    if rest.is_empty() { Some(value) } else { lookup(value.as_table()?, rest) }
}

fn assemble(settings: &[Setting]) -> Result<Config, ConfigError> {
    let mut root = Table::new();
    for setting in settings {
        let (section, last) = setting.key.split();
        let mut table = &mut root;
        for part in section.split('.') {
            let entry = table.entry(part).or_insert_with(|| Table::new().into());
            table =
                entry.as_table_mut().ok_or_else(|| ConfigError::Fault { reason: format!("{section} is a key and a section") })?;
        }
        table.insert(last.to_owned(), setting.value.clone());
    }
    root.try_into().map_err(|error| fault(&error))
}

fn fault(error: &dyn std::error::Error) -> ConfigError {
    ConfigError::Fault { reason: error.to_string() }
}
