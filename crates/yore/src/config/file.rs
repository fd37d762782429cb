//! Reads and checks one configuration file: every key and value.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use toml::Value;
use toml::de::{DeTable, DeValue};

use super::environment::Environment;
use super::error::{ConfigError, brief};
use super::key::{Key, Keys, Misfit, Shape, nearest};
use super::lookup::{is_removed, is_section};
use super::origin::{FileKind, Origin};
use super::reference::{self, Unresolved};

const LARGEST_FILE: u64 = 1024 * 1024;

/// One setting of a file.
pub(super) struct Entry {
    pub key: &'static Key,
    /// The value, with references replaced.
    pub value: Value,
    /// The value as written, with its references.
    pub written: String,
    pub origin: Origin,
}

/// Reads a file's text. Returns none if there is no such file.
///
/// Only a regular file of at most 1 MiB is read: a project's file may be anything, a pipe that
/// never ends included.
pub(super) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let unreadable = |reason| ConfigError::Unreadable { path: path.to_owned(), reason };
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            let reason = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
            return Err(unreadable(reason));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    }
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST_FILE + 1).read_to_string(&mut text)).map_err(unreadable)?;
    if read as u64 > LARGEST_FILE {
        let reason = io::Error::new(io::ErrorKind::InvalidData, "it is too large");
        return Err(unreadable(reason));
    }
    Ok(Some(text))
}

/// Returns the settings in a file's text and all of its faults, sorted by line.
///
/// Without an environment, references are kept and their values are not checked.
pub(super) fn parse(
    text: &str,
    path: &Path,
    kind: FileKind,
    environment: Option<&Environment>,
    keys: Keys<'_>,
) -> (Vec<Entry>, Vec<ConfigError>) {
    let mut reading = Reading { text, path, kind, environment, keys, entries: Vec::new(), problems: Vec::new() };
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        reading.table("", table.get_ref(), table.span().start);
    }
    for error in errors {
        let origin = reading.origin(error.span().map_or(0, |span| span.start));
        reading.problem(origin.clone(), ConfigError::Syntax { origin, reason: brief(error.message()) });
    }
    let Reading { entries, mut problems, .. } = reading;
    problems.sort_by_key(|(line, _)| *line);
    (entries, problems.into_iter().map(|(_, problem)| problem).collect())
}

struct Reading<'a> {
    text: &'a str,
    path: &'a Path,
    kind: FileKind,
    environment: Option<&'a Environment>,
    keys: Keys<'a>,
    entries: Vec<Entry>,
    problems: Vec<(usize, ConfigError)>,
}

impl Reading<'_> {
    fn origin(&self, offset: usize) -> Origin {
        let before = self.text.as_bytes().iter().take(offset);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        self.kind.origin(self.path, line)
    }

    fn problem(&mut self, origin: Origin, problem: ConfigError) {
        let line = match origin {
            Origin::UserFile { line, .. } | Origin::ProjectFile { line, .. } => line,
            Origin::Default | Origin::Environment { .. } | Origin::Flag => 0,
        };
        self.problems.push((line, problem));
    }

    fn table(&mut self, path: &str, table: &DeTable<'_>, offset: usize) {
        if table.is_empty() && !path.is_empty() && !is_section(path) {
            self.unknown("section", path, offset);
        }
        for (name, value) in table {
            let path = join(path, name.get_ref());
            self.item(&path, value.get_ref(), name.span().start);
        }
    }

    fn item(&mut self, path: &str, value: &DeValue<'_>, offset: usize) {
        if let Some(key) = Key::find(path) {
            if self.keys.include(key) {
                self.setting(path, key, value, offset);
            }
        } else if let DeValue::Table(table) = value {
            self.table(path, table, offset);
        } else if is_section(path) && self.keys.touch(path) {
            let origin = self.origin(offset);
            self.problem(
                origin.clone(),
                ConfigError::WrongType {
                    name: path.to_owned(),
                    origin: Some(origin),
                    found: described(value),
                    expected: format!("a section, written [{path}]"),
                },
            );
        } else if !is_section(path) && !is_removed(path) {
            self.unknown("key", path, offset);
        }
    }

    fn unknown(&mut self, what: &'static str, path: &str, offset: usize) {
        if let Keys::Only(_) = self.keys {
            return;
        }
        let origin = self.origin(offset);
        let sections = || Key::all().map(|key| key.split().0.to_owned());
        let keys = || Key::all().map(|key| key.name.to_owned());
        let bare = path.trim_matches('"');
        let problem = ConfigError::UnknownKey {
            what,
            name: brief(path),
            origin: Some(origin.clone()),
            nearest: match what {
                "section" => nearest(bare, sections()),
                _ => nearest(bare, keys()),
            },
        };
        self.problem(origin, problem);
    }

    fn setting(&mut self, path: &str, key: &'static Key, value: &DeValue<'_>, offset: usize) {
        let origin = self.origin(offset);
        if path != key.name {
            let note = ConfigError::Renamed { name: path.to_owned(), now: key.name.to_owned(), origin: Some(origin.clone()) };
            self.problem(origin.clone(), note);
        }
        let found = described(value);
        match self.checked(key, value, &origin, found) {
            Ok((value, written)) => {
                // If a key is set under both names, the present name wins.
                let at = if path == key.name { self.entries.len() } else { 0 };
                self.entries.insert(at, Entry { key, value, written, origin });
            }
            Err(problem) => self.problem(origin, problem),
        }
    }

    fn checked(
        &self,
        key: &'static Key,
        value: &DeValue<'_>,
        origin: &Origin,
        found: String,
    ) -> Result<(Value, String), ConfigError> {
        let misfit = |misfit| misfit_error(misfit, key, Some(origin.clone()), found.clone());
        let plain = plain(value).ok_or_else(|| misfit(Misfit::Type))?;
        let written = plain.to_string();
        let shape = self.keys.shape(key);
        if !refers(&plain) {
            return Ok((shape.fit(plain).map_err(misfit)?, written));
        }
        let Some(environment) = self.environment else {
            return Ok((plain, written));
        };
        let replaced = replaced(plain, environment).map_err(|unresolved| match unresolved {
            Unresolved::Missing(variable) => ConfigError::MissingVariable { variable, name: key.name, origin: origin.clone() },
            Unresolved::NotUnicode(variable) => ConfigError::NotUnicode { variable, name: key.name },
            Unresolved::Malformed => ConfigError::BadReference { name: key.name, origin: origin.clone(), found: found.clone() },
        })?;
        // A reference is always a string in TOML, even if the key takes a number or a switch.
        let value = match (shape, &replaced) {
            (Shape::Switch | Shape::Count { .. } | Shape::Number { .. }, Value::String(text)) => shape.read(text),
            _ => shape.fit(replaced),
        };
        Ok((value.map_err(misfit)?, written))
    }
}

/// Returns the error for a value that does not fit its key.
pub(super) fn misfit_error(misfit: Misfit, key: &'static Key, origin: Option<Origin>, found: String) -> ConfigError {
    match misfit {
        Misfit::Type => ConfigError::WrongType { name: key.name.to_owned(), origin, found, expected: key.shape.expected() },
        Misfit::Value => ConfigError::BadValue { key, origin, found },
        Misfit::Name(reason) => ConfigError::BadName { key, origin, found, reason },
        Misfit::Pattern(number, reason) => ConfigError::BadPattern { key, origin, found, number, reason },
    }
}

/// Appends a name to a dotted path, in quotes where TOML needs them, so that a quoted
/// `"recall.limit"` is not taken for a key of a section.
fn join(path: &str, name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { format!("{name:?}") };
    if path.is_empty() { name } else { format!("{path}.{name}") }
}

/// Returns the value without its positions, or none for a value that no key could take.
fn plain(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(digits) => Value::Integer(i64::from_str_radix(digits.as_str(), digits.radix()).ok()?),
        DeValue::Float(digits) => Value::Float(digits.as_str().parse().ok()?),
        DeValue::Boolean(switch) => Value::Boolean(*switch),
        DeValue::Array(items) => {
            let items: Option<Vec<_>> = items.iter().map(|item| plain(item.get_ref())).collect();
            Value::Array(items?)
        }
        DeValue::Datetime(_) | DeValue::Table(_) => return None,
    })
}

/// Describes a value, for an error.
fn described(value: &DeValue<'_>) -> String {
    match (value, plain(value)) {
        (_, Some(Value::String(text))) => format!("{} (a string)", brief(&format!("{text:?}"))),
        (_, Some(plain)) => brief(&plain.to_string()),
        (DeValue::Table(_), None) => "a table".to_owned(),
        (DeValue::Array(_), None) => "a list with an item that is not a string".to_owned(),
        (DeValue::Datetime(_), None) => "a date or time".to_owned(),
        (_, None) => "a number that is too large".to_owned(),
    }
}

fn refers(value: &Value) -> bool {
    match value {
        Value::String(text) => reference::has_reference(text),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

fn replaced(value: Value, environment: &Environment) -> Result<Value, Unresolved> {
    Ok(match value {
        Value::String(text) => Value::String(reference::replace(&text, environment)?),
        Value::Array(items) => {
            let items: Result<Vec<_>, _> = items.into_iter().map(|item| replaced(item, environment)).collect();
            Value::Array(items?)
        }
        other => other,
    })
}
