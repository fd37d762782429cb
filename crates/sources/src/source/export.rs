//! Exports of web chats: an archive, the folder that it was extracted to, or one list of conversations as a
//! file.
//!
//! - [`discover`]: finds them
//! - [`conversations`]: one conversation at a time, so that a list of any length takes the memory of its
//!   longest conversation
//! - `Splitter`: finds the end of each element of a list
//!
//! Only the lists of conversations are opened. Other files of an export (accounts, pictures, feedback)
//! contain no conversation or are private.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;
use zip::ZipArchive;
use zip::result::ZipError;

use super::shapes::{short, text_of};
use super::{Reading, Unit, open, problem, walk};
use crate::parse::{parse_document, parse_line};

/// Maximum size of a conversation in bytes. A longer one is counted and skipped.
const MAX_CONVERSATION_BYTES: usize = 256 << 20;
/// Number of bytes of a list that are checked to identify its service.
const HEAD_BYTES: u64 = 256 << 10;
/// Most messages of other branches that are counted, in case a number is wrong.
const MOST_COUNTED: u64 = 100_000;
/// Maximum depth below a folder at which exports are searched.
const MAX_DEPTH: usize = 2;

/// An element of a list.
#[derive(Debug)]
pub(super) enum Element {
    /// A conversation.
    Conversation(Value),
    /// An unreadable element: stable reason.
    Unreadable(&'static str),
    /// The list ended in the middle of this one: see [`parse_document`].
    Cut(Value),
    /// The record that reports damage to the list, after all whole elements.
    Damage(Value),
}

/// Reads a record of an export that is neither a conversation nor a message.
pub(super) fn read_other(value: &Value, out: &mut Vec<Reading>) {
    match text_of(value, "type") {
        Some("unreadable") => {
            let why = match text_of(value, "why") {
                Some("too-long") => "too-long",
                Some("invalid-json") => "invalid-json",
                Some("no-conversation-id") => "no-conversation-id",
                _ => "wrong-shape",
            };
            out.push(Reading::Skip(why, "conversation".to_owned()));
        }
        Some("other-branches") => {
            let messages = value["messages"].as_u64().unwrap_or(0).min(MOST_COUNTED);
            out.extend((0..messages).map(|_| Reading::Skip("other-branch", String::new())));
        }
        other => out.push(Reading::Skip("unknown-type", short(other.unwrap_or("")))),
    }
}

/// Returns the exports under a root: the root itself if it is a file, else everything in the folder that has
/// `mark` near the beginning of its first list.
pub(super) fn discover(root: &Path, mark: &[u8]) -> Vec<Unit> {
    if root.is_file() {
        return Unit::records(root.to_path_buf()).into_iter().collect();
    }
    let files = walk(root, &|_, depth| depth <= MAX_DEPTH, &|path| is_export(path, mark));
    files.into_iter().filter_map(Unit::records).collect()
}

fn is_export(path: &Path, mark: &[u8]) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    if is_list(name) {
        return open(path).is_some_and(|file| head_has(file, mark));
    }
    let is_archive =
        path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zip") || ending.eq_ignore_ascii_case("dms"));
    if !is_archive {
        return false;
    }
    let Some(file) = open(path) else { return false };
    match ZipArchive::new(BufReader::new(file)) {
        Ok(mut archive) => {
            lists_of(&archive).first().is_some_and(|first| archive.by_name(first).is_ok_and(|list| head_has(list, mark)))
        }
        // An archive that was cut off has lost its directory. The rest shows whether it is worth reporting.
        Err(_) => File::open(path).is_ok_and(|file| head_has(file, b"conversations")),
    }
}

fn head_has(reader: impl Read, mark: &[u8]) -> bool {
    let mut head = Vec::new();
    reader.take(HEAD_BYTES).read_to_end(&mut head).is_ok() && memchr::memmem::find(&head, mark).is_some()
}

/// Returns whether the name is `conversations.json`, or one of the numbered files that large exports are
/// divided into.
fn is_list(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("conversations") && name.ends_with(".json")
}

/// Returns the lists of an archive, in order.
fn lists_of<R: Read + io::Seek>(archive: &ZipArchive<R>) -> Vec<String> {
    let mut lists: Vec<String> = archive
        .file_names()
        .flatten()
        .filter(|name| is_list(name.rsplit(['/', '\\']).next().unwrap_or(name)) && !name.starts_with("__MACOSX"))
        .map(std::borrow::Cow::into_owned)
        .collect();
    lists.sort();
    lists
}

/// Passes the conversations of an export to `take` until it returns false.
///
/// # Errors
/// When the file cannot be read, or holds no list of conversations. A damaged or cut-off list is not an
/// error.
pub(super) fn conversations(path: &Path, take: &mut dyn FnMut(Element) -> bool) -> io::Result<()> {
    let mut file = BufReader::with_capacity(256 << 10, File::open(path)?);
    if !file.fill_buf()?.starts_with(b"PK") {
        return list(file, take).map(drop);
    }
    let mut archive = ZipArchive::new(file).map_err(explain)?;
    let lists = lists_of(&archive);
    if lists.is_empty() {
        return Err(damaged("there is no conversations.json in this archive"));
    }
    for name in lists {
        let entry = archive.by_name(&name).map_err(explain)?;
        if !list(BufReader::with_capacity(256 << 10, entry), take)? {
            break;
        }
    }
    Ok(())
}

fn explain(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => error,
        error => damaged(format!("the archive is damaged or was not downloaded to its end ({error})")),
    }
}

fn damaged(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

/// Passes the elements of one list to `take`. Returns whether more are wanted.
fn list(mut reader: impl BufRead, take: &mut dyn FnMut(Element) -> bool) -> io::Result<bool> {
    let mut splitter = Splitter::default();
    let mut values = Vec::new();
    loop {
        let bytes = match reader.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Ok(cut_off(&splitter, &format!("the list of conversations is damaged ({error})"), take)),
        };
        if bytes.is_empty() {
            return match splitter.place {
                Place::Behind => Ok(true),
                Place::Before if splitter.is_blank => Ok(true),
                Place::Before | Place::Nowhere => Err(damaged("there is no list of conversations in this file")),
                _ => Ok(cut_off(&splitter, "the list of conversations ends too early; export it again", take)),
            };
        }
        let (taken, is_whole) = splitter.advance(bytes);
        reader.consume(taken);
        if is_whole {
            let element = if splitter.is_too_long {
                Element::Unreadable("too-long")
            } else {
                match parse_line(&splitter.element, &mut values) {
                    Ok(()) if values.len() == 1 => Element::Conversation(values.remove(0)),
                    _ => Element::Unreadable("invalid-json"),
                }
            };
            splitter.clear();
            values.clear();
            if !take(element) {
                return Ok(false);
            }
        }
    }
}

/// Passes what remains of the last element to `take`, and reports the damage. Returns whether more is wanted.
fn cut_off(splitter: &Splitter, why: &str, take: &mut dyn FnMut(Element) -> bool) -> bool {
    let mut values = Vec::new();
    if splitter.place == Place::Inside && !splitter.element.is_empty() && !splitter.is_too_long {
        let element = match parse_line(&splitter.element, &mut values) {
            Ok(()) if values.len() == 1 => Some(Element::Conversation(values.remove(0))),
            _ => parse_document(&splitter.element).map(|found| Element::Cut(found.value)),
        };
        if element.is_some_and(|element| !take(element)) {
            return false;
        }
    }
    take(Element::Damage(problem("cut-off", why)))
}

/// Divides `[…]`, or the list under `conversations` in `{…}`, into its elements, whatever they contain.
#[derive(Debug)]
struct Splitter {
    place: Place,
    /// Number of open brackets around the current position; in an element, only those of the element.
    depth: usize,
    is_string: bool,
    is_escaped: bool,
    /// Bytes of the element so far; outside the list, of the last string.
    element: Vec<u8>,
    is_too_long: bool,
    /// True if only white space was read so far.
    is_blank: bool,
    max_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the first bracket.
    Before,
    /// In the object around the list.
    Around,
    /// In the object, after the list's name.
    Named,
    Inside,
    Behind,
    /// There is no list.
    Nowhere,
}

impl Default for Splitter {
    fn default() -> Self {
        Self {
            place: Place::Before,
            depth: 0,
            is_string: false,
            is_escaped: false,
            element: Vec::new(),
            is_too_long: false,
            is_blank: true,
            max_bytes: MAX_CONVERSATION_BYTES,
        }
    }
}

impl Splitter {
    /// Processes bytes. Returns how many were used, and whether an element ended there.
    fn advance(&mut self, bytes: &[u8]) -> (usize, bool) {
        let mut at = 0;
        while at < bytes.len() {
            if matches!(self.place, Place::Behind | Place::Nowhere) {
                return (bytes.len(), false);
            }
            if self.is_string && !self.is_escaped {
                // Most of a list is strings: everything up to the end of a string is kept in one piece.
                let end = memchr::memchr2(b'"', b'\\', &bytes[at..]).map_or(bytes.len(), |found| at + found);
                self.keep(&bytes[at..end]);
                at = end;
                if at == bytes.len() {
                    break;
                }
            }
            let byte = bytes[at];
            at += 1;
            if self.is_string {
                self.keep(&[byte]);
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.is_string = false,
                    _ => {}
                }
                continue;
            }
            let is_whole = if self.place == Place::Inside { self.inside(byte) } else { self.outside(byte) };
            if is_whole {
                return (at, true);
            }
        }
        (at, false)
    }

    fn inside(&mut self, byte: u8) -> bool {
        match byte {
            b',' if self.depth == 0 => return !self.element.is_empty() || self.is_too_long,
            b']' | b'}' if self.depth == 0 => {
                self.place = Place::Behind;
                return !self.element.is_empty() || self.is_too_long;
            }
            b'[' | b'{' => self.depth += 1,
            b']' | b'}' => self.depth -= 1,
            b'"' => self.is_string = true,
            b' ' | b'\n' | b'\r' | b'\t' => return false,
            _ => {}
        }
        self.keep(&[byte]);
        false
    }

    fn outside(&mut self, byte: u8) -> bool {
        let is_space = byte.is_ascii_whitespace() || [0xEF, 0xBB, 0xBF, 0].contains(&byte);
        self.is_blank &= is_space;
        match (self.place, byte) {
            (Place::Before, b'[') | (Place::Named, b'[') => {
                self.place = Place::Inside;
                self.depth = 0;
                self.element.clear();
            }
            (Place::Before, b'{') => self.place = Place::Around,
            (Place::Before, _) if !is_space => self.place = Place::Nowhere,
            (Place::Before, _) => {}
            (_, b'"') => {
                self.element.clear();
                self.is_string = true;
            }
            (Place::Around, b':') if self.depth == 0 && self.element == b"conversations\"" => self.place = Place::Named,
            (_, b'{' | b'[') => {
                self.place = Place::Around;
                self.depth += 1;
            }
            (_, b'}') if self.depth == 0 => self.place = Place::Nowhere,
            (_, b'}' | b']') => self.depth = self.depth.saturating_sub(1),
            (_, b',') => self.place = Place::Around,
            _ => {}
        }
        false
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.is_too_long {
            return;
        }
        // Outside the list only a short name is needed.
        let limit = if self.place == Place::Inside { self.max_bytes } else { 64 };
        if self.element.len() + bytes.len() <= limit {
            self.element.extend_from_slice(bytes);
        } else if self.place == Place::Inside {
            self.is_too_long = true;
            self.element = Vec::new();
        }
    }

    fn clear(&mut self) {
        self.is_too_long = false;
        self.element.clear();
        if self.element.capacity() > 8 << 20 {
            self.element = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a list in pieces of `step` bytes.
    fn read(text: &[u8], step: usize) -> (Vec<String>, bool) {
        let mut found = Vec::new();
        let outcome = list(BufReader::with_capacity(step, text), &mut |element| {
            found.push(match element {
                Element::Conversation(value) => value.to_string(),
                Element::Unreadable(reason) => reason.to_owned(),
                Element::Cut(value) => format!("cut {value}"),
                Element::Damage(_) => "damage".to_owned(),
            });
            true
        });
        (found, outcome.is_ok())
    }

    #[test]
    fn lists_are_divided_wherever_the_pieces_end() {
        let text = br#" [ {"a":"],\"}"} , [1,{"b":2}],3 ,"x,y"] rest"#;
        for step in [1, 2, 7, 1000] {
            assert_eq!(
                read(text, step),
                (vec![r#"{"a":"],\"}"}"#.into(), "[1,{\"b\":2}]".into(), "3".into(), "\"x,y\"".into()], true)
            );
        }
    }

    #[test]
    fn list_under_its_name_is_found_and_others_are_not() {
        let text = br#"{"other":[{"conversations":[9]}],"conversations":[{"a":1},{"a":2}],"more":[3]}"#;
        for step in [1, 5, 1000] {
            assert_eq!(read(text, step), (vec![r#"{"a":1}"#.into(), r#"{"a":2}"#.into()], true));
        }
        assert_eq!(read(br#"{"conversations":"none"}"#, 8), (vec![], false));
        assert_eq!(read(b"hello", 8), (vec![], false));
        assert_eq!(read(b"\xEF\xBB\xBF \n", 8), (vec![], true));
        assert_eq!(read(b"[]", 8), (vec![], true));
    }

    #[test]
    fn cut_list_gives_what_is_whole_and_tells_of_the_rest() {
        let found = |text: &[u8]| read(text, 4);
        assert_eq!(found(br#"[{"a":1},{"b":"#), (vec![r#"{"a":1}"#.into(), "cut {}".into(), "damage".into()], true));
        assert_eq!(found(br#"[{"a":1}"#), (vec![r#"{"a":1}"#.into(), "damage".into()], true));
        assert_eq!(found(br#"[{"a":[{"b":1},{"b"#), (vec![r#"cut {"a":[{"b":1}]}"#.into(), "damage".into()], true));
        assert_eq!(found(br#"{"conversations"#), (vec!["damage".into()], true));
    }

    #[test]
    fn element_that_is_no_json_does_not_take_the_others_with_it() {
        assert_eq!(
            read(br#"[{"a":1},{nonsense},{"a":"\ud83d"}]"#, 6).0[..2],
            [r#"{"a":1}"#.to_owned(), "invalid-json".to_owned()]
        );
        assert_eq!(read(br#"[{"a":1},{nonsense},{"a":"\ud83d"}]"#, 6).0.len(), 3);
    }

    #[test]
    fn too_long_element_is_passed_over_without_being_kept() {
        let mut splitter = Splitter { max_bytes: 8, ..Splitter::default() };
        let text = br#"[{"a":"much too long"},{"b":1}]"#;
        let (first, is_whole) = splitter.advance(text);
        assert!(is_whole && splitter.is_too_long && splitter.element.is_empty());
        splitter.clear();
        assert!(splitter.advance(&text[first..]).1);
        assert_eq!(splitter.element, br#"{"b":1}"#);
    }

    proptest! {
        #[test]
        fn any_bytes_are_divided_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), step in 1usize..9) {
            read(&bytes, step);
        }

        #[test]
        fn brackets_of_any_kind_are_divided_without_panic(text in r#"[\[\]{}",:\\ a1]{0,80}"#, step in 1usize..9) {
            read(text.as_bytes(), step);
        }

        #[test]
        fn pieces_make_no_difference(text in r#"\[([\[\]{}",:\\ a1]{0,12},){0,5}\]"#, step in 1usize..9) {
            prop_assert_eq!(read(text.as_bytes(), step), read(text.as_bytes(), 10_000));
        }
    }
}
