//! Replaces references to environment variables (`{env:NAME}`) in the strings of a configuration file.
//!
//! References are replaced once, after the file is parsed, from left to right. Whatever the variable
//! contains, the value stays one string and cannot change the rest of the file. `{env:NAME:-other}` is
//! replaced by `other` if the variable is missing or empty. A pattern that needs these letters themselves can
//! write `[{]env:`.

use super::environment::Environment;

const OPEN: &str = "{env:";

/// The reason why a reference could not be replaced.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Unresolved {
    /// The variable is not set and the reference has no other value.
    Missing(String),
    /// The variable's value is not Unicode.
    NotUnicode(String),
    /// The reference has no end or names no variable.
    Malformed,
}

/// Returns whether `text` has a reference.
pub(super) fn has_reference(text: &str) -> bool {
    text.contains(OPEN)
}

/// Returns `text` with every reference replaced.
pub(super) fn replace(text: &str, environment: &Environment) -> Result<String, Unresolved> {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once(OPEN) {
        let (inside, after) = from.split_once('}').ok_or(Unresolved::Malformed)?;
        replaced.push_str(before);
        replaced.push_str(&value(inside, environment)?);
        rest = after;
    }
    replaced.push_str(rest);
    Ok(replaced)
}

fn value(inside: &str, environment: &Environment) -> Result<String, Unresolved> {
    let (name, other) = match inside.split_once(":-") {
        Some((name, other)) => (name, Some(other)),
        None => (inside, None),
    };
    if !is_name(name) {
        return Err(Unresolved::Malformed);
    }
    let found = match environment.get(name) {
        Some(found) => Some(found.to_str().ok_or_else(|| Unresolved::NotUnicode(name.to_owned()))?.to_owned()),
        None => None,
    };
    match (found, other) {
        (Some(found), None) => Ok(found),
        (Some(found), Some(_)) if !found.is_empty() => Ok(found),
        (_, Some(other)) => Ok(other.to_owned()),
        (None, None) => Err(Unresolved::Missing(name.to_owned())),
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
