//! When agents delete their histories, and the one remedy in their own settings: raising Claude Code's
//! `cleanupPeriodDays` when the user agrees.
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
    let text = read(settings).ok()??;
    serde_json::from_str::<Value>(&plain(&text)).ok()?[KEY].as_u64()
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
    let parsed = |text: &str| serde_json::from_str::<Value>(&plain(text)).ok().filter(Value::is_object);
    let mut expected = if before.trim().is_empty() { return Err(unusual()) } else { parsed(&before).ok_or_else(unusual)? };
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

/// Returns the text with comments, a byte order mark and trailing commas replaced by spaces, one for each
/// byte, so that positions in it are positions in the original text.
fn plain(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes[..3].fill(b' ');
    }
    let blank = |bytes: &mut [u8]| bytes.iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    let mut at = 0;
    let mut comma = None;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                comma = None;
                at = end_of_string(&bytes, at);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length);
                blank(&mut bytes[at..end]);
                at = end;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let end =
                    bytes[at + 2..].windows(2).position(|pair| pair == b"*/").map_or(bytes.len(), |length| at + 2 + length + 2);
                blank(&mut bytes[at..end]);
                at = end;
                continue;
            }
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    // Only whole comments and single ASCII bytes were replaced.
    String::from_utf8(bytes).unwrap_or_default()
}

/// Returns the position after the string that begins at `at`.
fn end_of_string(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < bytes.len() {
        match bytes[end] {
            b'\\' => end += 2,
            b'"' => return end + 1,
            _ => end += 1,
        }
    }
    bytes.len()
}

/// Returns the text with the number in place of the old one, or after the last member.
fn edited(text: &str, days: u32) -> Option<String> {
    let plain = plain(text);
    let bytes = plain.as_bytes();
    let open = bytes.iter().position(|byte| *byte == b'{')?;
    let (mut at, mut depth) = (open, 0usize);
    let mut first_key = None;
    // Ends of the last token at the top level that is not space, and of the one before it.
    let mut last_end = open + 1;
    let mut value: Option<(usize, usize)> = None;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = end_of_string(bytes, at);
                if depth == 1 {
                    let after = bytes[end.min(bytes.len())..]
                        .iter()
                        .position(|byte| !byte.is_ascii_whitespace())
                        .map(|length| end + length)?;
                    if bytes[after] == b':' {
                        first_key = first_key.or(Some(at));
                        if serde_json::from_str::<String>(&plain[at..end]).is_ok_and(|key| key == KEY) {
                            value = Some(span_of_value(bytes, after + 1)?);
                        }
                    }
                    last_end = end;
                }
                at = end;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    break;
                }
                if depth == 1 {
                    last_end = at + 1;
                }
            }
            b',' => {}
            byte if depth == 1 && !byte.is_ascii_whitespace() => last_end = at + 1,
            _ => {}
        }
        at += 1;
    }
    if depth != 0 || at >= bytes.len() {
        return None;
    }
    if let Some((start, end)) = value {
        return Some(format!("{}{days}{}", &text[..start], &text[end..]));
    }
    let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let Some(first_key) = first_key else {
        return Some(format!("{}{line_break}  \"{KEY}\": {days}{line_break}{}", &text[..=open], &text[at..]));
    };
    // Formatted like the first member: on a line of its own with the same indentation, or on the same line.
    let before = &plain[open + 1..first_key];
    let separator = match before.rfind('\n') {
        Some(at) => format!("{line_break}{}", &before[at + 1..]),
        None => " ".to_owned(),
    };
    Some(format!("{},{separator}\"{KEY}\": {days}{}", &text[..last_end], &text[last_end..]))
}

/// Returns the start and end of the number, string or word after a colon; `None` for an object or array.
fn span_of_value(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let start = from + bytes.get(from..)?.iter().position(|byte| !byte.is_ascii_whitespace())?;
    if matches!(bytes[start], b'{' | b'[') {
        return None;
    }
    if bytes[start] == b'"' {
        return Some((start, end_of_string(bytes, start)));
    }
    let length = bytes[start..].iter().position(|byte| matches!(byte, b',' | b'}') || byte.is_ascii_whitespace())?;
    Some((start, start + length))
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
            "\u{feff}{\n  // a \"comment\": {\n  \"a\": \"/* no */ // comment\",\n  \"cleanupPeriodDays\": 3650, /* one, */\n}\n"
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
            let _ = plain(&text);
        }
    }
}
