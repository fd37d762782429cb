//! Sets or unsets one key in a configuration file, and keeps the rest, comments included.

use std::path::Path;

use toml::Value;
use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::error::ConfigError;
use super::file::{self, Entry, parse};
use super::key::{Key, Keys};
use super::load::{admit, defaults, read_text, unknown};
use super::lookup::is_present_section;
use super::origin::FileKind;
use super::reference;
use super::replace::replace_file;

/// Sets a key in a file, which is created, for its owner only, if there is none.
///
/// The value is written as on the command line, a list as in TOML. A string with `{env:NAME}` is written
/// unchanged; its variable is looked up when the file is read.
///
/// Nothing is written unless the key is known, the value fits, a project's file may set it over the defaults,
/// the file was TOML, and the result has no fault that the file did not have.
pub fn set(file: &Path, kind: FileKind, name: &str, text: &str) -> Result<(), ConfigError> {
    let key = Key::find(name).ok_or_else(|| unknown(name, None))?;
    let value = match read_text(key, text, None) {
        Err(_) if reference::has_reference(text) => Value::String(text.to_owned()),
        read => read?,
    };
    let path: Vec<_> = key.name.split('.').collect();
    let is_set = edit(file, kind, key.name, |document| {
        let Ok(value) = value.to_string().parse() else {
            return false;
        };
        if let Some(former) = key.former_name() {
            let former: Vec<String> = former.split('.').map(str::to_owned).collect();
            remove(document.as_table_mut(), "", &former);
        }
        insert(document.as_table_mut(), &path, value)
    })?;
    if is_set { Ok(()) } else { Err(failed(file, name, "its section is not a table")) }
}

/// Removes a key from a file, with the comment above it, and returns whether the key was there.
///
/// The key need not be known: this is also the way to remove a key that yore does not know.
pub fn unset(file: &Path, kind: FileKind, name: &str) -> Result<bool, ConfigError> {
    if file::read(file)?.is_none() {
        return Ok(false);
    }
    let path: Vec<String> = match toml_edit::Key::parse(name) {
        Ok(keys) => keys.iter().map(|key| key.get().to_owned()).collect(),
        Err(_) => name.split('.').map(str::to_owned).collect(),
    };
    let former = Key::find(name).filter(|key| key.name == name).and_then(Key::former_name);
    let former: Option<Vec<String>> = former.map(|former| former.split('.').map(str::to_owned).collect());
    edit(file, kind, name, |document| {
        let is_removed = remove(document.as_table_mut(), "", &path);
        former.is_some_and(|former| remove(document.as_table_mut(), "", &former)) || is_removed
    })
}

/// Applies a change, checks the result and writes it. Returns false if there was nothing to change.
fn edit(file: &Path, kind: FileKind, name: &str, change: impl FnOnce(&mut DocumentMut) -> bool) -> Result<bool, ConfigError> {
    let before = file::read(file)?.unwrap_or_default();
    let (_, faults_before) = parse(&before, file, kind, None, Keys::All);
    let count_before = faults_before.len();
    let syntax = faults_before.into_iter().find(|fault| matches!(fault, ConfigError::Syntax { .. }));
    if let Some(syntax) = syntax {
        return Err(syntax);
    }
    let mut document: DocumentMut = before.parse().map_err(|error: toml_edit::TomlError| failed(file, name, error.message()))?;
    if !change(&mut document) {
        return Ok(false);
    }
    let mut after = document.to_string();
    if before.contains("\r\n") {
        after = after.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    let (entries, faults) = parse(&after, file, kind, None, Keys::All);
    if faults.len() > count_before
        && let Some(fault) = faults.last()
    {
        return Err(failed(file, name, &fault.to_string()));
    }
    if kind == FileKind::Project
        && let Some(entry) = entries.iter().find(|entry| entry.key.name == name)
    {
        admitted_over_defaults(entry)?;
    }
    replace_file(file, &after).map_err(|reason| ConfigError::Unwritable { path: file.to_owned(), reason })?;
    Ok(true)
}

fn failed(file: &Path, name: &str, reason: &str) -> ConfigError {
    ConfigError::EditFailed { name: name.to_owned(), path: file.to_owned(), reason: reason.to_owned() }
}

fn admitted_over_defaults(entry: &Entry) -> Result<(), ConfigError> {
    admit(defaults()?.get(entry.key.name)?, entry).map(|_| ())
}

/// Puts a value at a path, keeping the comments around the old one. Returns whether it could.
fn insert(table: &mut dyn TableLike, path: &[&str], mut value: toml_edit::Value) -> bool {
    match path {
        [] => false,
        [last] => {
            if let Some(Item::Value(old)) = table.get(last) {
                *value.decor_mut() = old.decor().clone();
            }
            match table.get_mut(last) {
                Some(item) => *item = Item::Value(value),
                None => {
                    table.insert(last, Item::Value(value));
                }
            }
            true
        }
        [first, rest @ ..] => {
            if table.get(first).is_none() {
                let mut section = Table::new();
                section.set_implicit(rest.len() > 1);
                table.insert(first, Item::Table(section));
            }
            match table.get_mut(first).and_then(Item::as_table_like_mut) {
                Some(section) => insert(section, rest, value),
                None => false,
            }
        }
    }
}

/// Removes the value at a path, with the sections that this leaves empty and that yore does not know. Returns
/// whether the value was there.
fn remove(table: &mut dyn TableLike, above: &str, path: &[String]) -> bool {
    match path {
        [] => false,
        [last] => table.remove(last).is_some(),
        [first, rest @ ..] => {
            let here = if above.is_empty() { first.clone() } else { format!("{above}.{first}") };
            let Some(section) = table.get_mut(first).and_then(Item::as_table_like_mut) else {
                return false;
            };
            let is_removed = remove(section, &here, rest);
            if is_removed && section.is_empty() && !is_present_section(&here) {
                table.remove(first);
            }
            is_removed
        }
    }
}
