//! Reads when agents delete their histories, and raises Claude Code's `cleanupPeriodDays` if the user agrees.
//!
//! - [`raise`]: changes that one number in a settings file, and nothing else in it
//!
//! A settings file belongs to another program. It is changed only if the user agreed, after a copy was made
//! beside it, by the smallest edit of its text, and only if the result differs from the old content in this
//! one key alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::config::replace_file;
use crate::install::edit::json::{Document, Kind, Node, insert_member, replace};

/// The key in Claude Code's settings.
pub const KEY: &str = "cleanupPeriodDays";
/// Days to keep transcripts after the change: ten years.
pub const RAISED_DAYS: u32 = 3650;
/// Days from which the setting is long enough, so that the user is not asked.
const LONG_ENOUGH: u64 = 365;
/// Largest settings file that is read, in bytes.
const LARGEST_FILE: u64 = 4 << 20;

/// The result of [`raise`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Raised {
    /// The number is set. The path is that of the copy of the old file, if there was one.
    Done(Option<PathBuf>),
    /// The number is as high already, or 0, which means the user wants no transcripts at all.
    Unneeded,
}

/// Reasons why a settings file was left unchanged.
#[derive(Debug, thiserror::Error)]
pub enum RaiseError {
    /// The file cannot be read or written.
    #[error("{path}: {error}", path = path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        error: io::Error,
    },
    /// The file is not a JSON object, or is too unusual to be changed safely.
    #[error("{path} does not look like settings, so it was not changed", path = .0.display())]
    Unusual(PathBuf),
}

/// Returns the number of days that a settings file sets, if it does.
pub fn configured_days(settings: &Path) -> Option<u64> {
    parsed(&read(settings).ok()??)?[KEY].as_u64()
}

/// Returns whether `days` is short enough to be raised.
pub fn is_short(days: u64) -> bool {
    (1..LONG_ENOUGH).contains(&days)
}

/// Sets the number of days in a settings file; creates the file if there is none.
///
/// # Errors
/// [`RaiseError`]; the file is unchanged then.
pub fn raise(settings: &Path, days: u32) -> Result<Raised, RaiseError> {
    let fail = |error| RaiseError::Io { path: settings.to_path_buf(), error };
    let Some(before) = read(settings).map_err(fail)? else {
        replace_file(settings, format!("{{\n  \"{KEY}\": {days}\n}}\n")).map_err(fail)?;
        return Ok(Raised::Done(None));
    };
    let unusual = || RaiseError::Unusual(settings.to_path_buf());
    let mut expected = parsed(&before).ok_or_else(unusual)?;
    match expected.get(KEY).and_then(Value::as_u64) {
        Some(found) if found == 0 || found >= u64::from(days) => return Ok(Raised::Unneeded),
        _ => {}
    }
    let after = edited(&before, days).ok_or_else(unusual)?;
    expected[KEY] = days.into();
    if parsed(&after).as_ref() != Some(&expected) {
        return Err(unusual());
    }
    let backup = free_name(settings);
    fs::copy(settings, &backup).map_err(fail)?;
    replace_file(settings, &after).map_err(fail)?;
    Ok(Raised::Done(Some(backup)))
}

fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(meta) if !meta.is_file() || meta.len() > LARGEST_FILE => return Err(io::ErrorKind::InvalidInput.into()),
        Ok(_) => {}
    }
    fs::read_to_string(path).map(Some)
}

/// Returns a file name beside the settings that is not in use.
fn free_name(settings: &Path) -> PathBuf {
    let name = settings.file_name().unwrap_or_default().to_string_lossy();
    let numbered = |number: u32| {
        let ending = if number == 0 { String::new() } else { format!("-{number}") };
        settings.with_file_name(format!("{name}.before-yore{ending}"))
    };
    (0..).map(numbered).find(|path| !path.exists()).unwrap_or_else(|| numbered(0))
}

/// Returns the text with the number in place of the old one, or after the last member; `None` if it is not an object,
/// or holds something other than a single value there.
fn edited(text: &str, days: u32) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let root = document.root.as_ref().filter(|root| root.members().is_some())?;
    match root.get(KEY) {
        Some(Node { kind: Kind::Object(_) | Kind::Array(_), .. }) => None,
        Some(old) => Some(replace(&document, old, &days.into())),
        None => Some(insert_member(&document, root, KEY, &days.into())),
    }
}

/// Returns the value of a settings file, with comments and trailing commas; `None` if it is not an object.
fn parsed(text: &str) -> Option<Value> {
    Document::parse(text).ok()?.root.map(|root| root.value()).filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn raised(before: &str) -> Result<String, RaiseError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        fs::write(&path, before).unwrap();
        raise(&path, 3650)?;
        Ok(fs::read_to_string(&path).unwrap())
    }

    #[test]
    fn number_is_replaced_and_nothing_else() {
        let before = "{\n\t\"model\": \"opus\",\n\t\"cleanupPeriodDays\" :  30 , \"hooks\": {\"cleanupPeriodDays\": 1}\n}\n";
        assert_eq!(raised(before).unwrap(), before.replacen("30", "3650", 1));
        assert_eq!(raised("{\"cleanupPeriodDays\":\"x\"}").unwrap(), "{\"cleanupPeriodDays\":3650}");
    }

    #[test]
    fn number_is_added_like_the_members_that_are_there() {
        assert_eq!(
            raised("{\n    \"a\": {\"b\": [1]}\n}\n").unwrap(),
            "{\n    \"a\": {\"b\": [1]},\n    \"cleanupPeriodDays\": 3650\n}\n"
        );
        assert_eq!(raised("{\"a\": true}").unwrap(), "{\"a\": true, \"cleanupPeriodDays\": 3650}");
        assert_eq!(raised("{}").unwrap(), "{\n  \"cleanupPeriodDays\": 3650\n}");
        assert_eq!(raised("{\r\n  \"a\": 1\r\n}\r\n").unwrap(), "{\r\n  \"a\": 1,\r\n  \"cleanupPeriodDays\": 3650\r\n}\r\n");
    }

    #[test]
    fn comments_and_trailing_commas_stay() {
        let before = "\u{feff}{\n  // a \"comment\": {\n  \"a\": \"/* no */ // comment\", /* one, */\n}\n";
        let after = raised(before).unwrap();
        assert_eq!(
            after,
            "\u{feff}{\n  // a \"comment\": {\n  \"a\": \"/* no */ // comment\", /* one, */\n  \"cleanupPeriodDays\": 3650,\n}\n"
        );
    }

    #[test]
    fn what_is_no_object_is_left_as_it_is() {
        for before in ["", "[]", "{", "{\"a\": }", "7", "{\"cleanupPeriodDays\": {\"a\": 1}}", "{\"a\": 1} {\"b\": 2}"] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("settings.json");
            fs::write(&path, before).unwrap();
            assert!(matches!(raise(&path, 3650), Err(RaiseError::Unusual(_))), "{before}");
            assert_eq!(fs::read_to_string(&path).unwrap(), before);
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn old_file_is_kept_beside_it_and_again_is_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        fs::write(&path, "{\"a\": 1}").unwrap();
        let Raised::Done(Some(backup)) = raise(&path, 3650).unwrap() else { panic!("not raised") };
        assert_eq!(fs::read_to_string(&backup).unwrap(), "{\"a\": 1}");
        assert_eq!(raise(&path, 3650).unwrap(), Raised::Unneeded);
        assert_eq!(configured_days(&path), Some(3650));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn zero_means_that_none_are_wanted() {
        assert_eq!(raised("{\"cleanupPeriodDays\": 0}").unwrap(), "{\"cleanupPeriodDays\": 0}");
        assert!(!is_short(0) && is_short(30) && !is_short(3650));
    }

    #[test]
    fn missing_file_is_made() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        assert_eq!(raise(&path, 99).unwrap(), Raised::Done(None));
        assert_eq!(configured_days(&path), Some(99));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[{}\\[\\]\",:/*\\\\\n a0é]{0,40}") {
            let _ = edited(&text, 1);
        }
    }
}
