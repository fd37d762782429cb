//! Remembers between requests of the proxy the text that each prompt got, and the session that each exchange belongs to.
//!
//! A request carries its whole conversation, so a conversation is known by what was said in it. A prompt is known by a chain of digests
//! over the prompts up to it: the same prompt after the same prompts gets the same text again, byte for byte, so that the provider's
//! cache holds. Rows are lines of two files in the data directory; digests are keyed, and the texts are those that agents were given.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use yore_core::time::UtcMillis;
use yore_engine::ingest::PROXY_TEXTS;
use yore_engine::platform;

/// File of what belongs to which session, beside that of the texts ([`PROXY_TEXTS`]).
const SESSIONS: &str = "sessions.jsonl";
/// Time that a row is kept after it was written.
const KEPT_MS: UtcMillis = 30 * 24 * 3_600_000;
/// Time after which a text is not added again: no provider's cache lives as long, and what it says may have changed.
const FRESH_MS: UtcMillis = 48 * 3_600_000;
/// Most rows of a file that are kept, and texts among them: the latest ones.
const MOST_ROWS: usize = 200_000;
const MOST_TEXTS: usize = 20_000;
/// Most bytes of a file that are read.
const MOST_BYTES: u64 = 256 << 20;

/// A keyed digest of what was said, in hexadecimal digits.
pub type Key = String;

/// Makes digests with the key of the data directory.
#[derive(Clone)]
pub struct Digests([u8; 32]);

impl Digests {
    /// Creates them with a key.
    pub fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// Returns the digest of parts, each told apart from the next.
    pub fn of(&self, parts: &[&[u8]]) -> Key {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }
}

/// Something belongs to a session: an exchange, an open request, a message.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Belonging {
    key: Key,
    session: String,
    at: UtcMillis,
}

/// A text that is added at a prompt.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Given {
    /// Chain of the prompt, or of the first prompt for the system text.
    pub key: Key,
    /// The text; empty: nothing is added.
    pub text: String,
    /// Digest of the text.
    pub hash: String,
    /// Ids of the turns and memories in it.
    pub items: Vec<String>,
    /// Tokens, estimated.
    pub tokens: usize,
    /// When it was first added.
    pub at: UtcMillis,
}

/// The latest entries: when there are too many, those that were not written for long are dropped.
struct Latest<V> {
    recent: HashMap<u128, V>,
    older: HashMap<u128, V>,
    /// Most entries that are kept.
    most: usize,
}

impl<V> Latest<V> {
    fn new(most: usize) -> Self {
        Self { recent: HashMap::new(), older: HashMap::new(), most }
    }

    fn get(&self, key: &str) -> Option<&V> {
        let key = number(key)?;
        self.recent.get(&key).or_else(|| self.older.get(&key))
    }

    /// Sets an entry. What is no key, as in a row that somebody wrote by hand, is not kept.
    fn insert(&mut self, key: &str, value: V) {
        let Some(key) = number(key) else { return };
        if self.recent.len() >= self.most / 2 {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(key, value);
    }

    fn remove(&mut self, key: &str) {
        if let Some(key) = number(key) {
            self.recent.remove(&key);
            self.older.remove(&key);
        }
    }
}

/// Returns a key as it is held, in a third of the room.
fn number(key: &str) -> Option<u128> {
    u128::from_str_radix(key, 16).ok()
}

struct State {
    given: Latest<Given>,
    sessions: Latest<(Arc<str>, UtcMillis)>,
    texts: Lines,
    belongings: Lines,
}

/// The ledger of a data directory.
pub struct Ledger(Mutex<State>);

impl Ledger {
    /// Reads the ledger; old rows are dropped. One that cannot be read is begun anew.
    pub fn open(directory: &Path, now: UtcMillis) -> Self {
        let texts_path = directory.join(PROXY_TEXTS);
        let (mut texts, mut belongings) = (Lines::at(texts_path.clone()), Lines::at(texts_path.with_file_name(SESSIONS)));
        let given = texts.read(|given: &Given| now - given.at < KEPT_MS);
        let known = belongings.read(|row: &Belonging| now - row.at < KEPT_MS);
        let mut state = State { given: Latest::new(MOST_TEXTS), sessions: Latest::new(MOST_ROWS), texts, belongings };
        for given in given {
            state.given.insert(&given.key.clone(), given);
        }
        for row in known {
            state.sessions.insert(&row.key, (row.session.into(), row.at));
        }
        Self(Mutex::new(state))
    }

    /// Returns what is added at a prompt; `None` if that was not decided yet, or long ago.
    pub fn given(&self, key: &str, now: UtcMillis) -> Option<Given> {
        let mut state = self.state();
        // Forgetting for good removes the file, maybe in another process.
        if state.texts.is_written && !state.texts.path.exists() {
            state.given = Latest::new(MOST_TEXTS);
            (state.texts.file, state.texts.is_written) = (None, false);
        }
        state.given.get(key).filter(|given| now - given.at < FRESH_MS).cloned()
    }

    /// Decides what is added at a prompt, from now on.
    ///
    /// # Errors
    /// The row could not be written. It holds in this process all the same.
    pub fn give(&self, given: Given) -> io::Result<()> {
        let mut state = self.state();
        let written = state.texts.append(std::slice::from_ref(&given));
        state.given.insert(&given.key.clone(), given);
        written
    }

    /// Returns the session that something belongs to, and since when that is known.
    pub fn session(&self, key: &str) -> Option<(String, UtcMillis)> {
        self.state().sessions.get(key).map(|(session, at)| (session.to_string(), *at))
    }

    /// Notes that things belong to a session, until this process ends. Returns the rows that were not known.
    pub fn note(&self, keys: Vec<Key>, session: &str, at: UtcMillis) -> Vec<Belonging> {
        let mut state = self.state();
        let is_known = |known: &(Arc<str>, UtcMillis)| *known.0 == *session && at - known.1 < FRESH_MS;
        let shared: Arc<str> = session.into();
        let mut noted = Vec::new();
        for key in keys {
            if !state.sessions.get(&key).is_some_and(is_known) {
                state.sessions.insert(&key, (Arc::clone(&shared), at));
                noted.push(Belonging { key, session: session.to_owned(), at });
            }
        }
        noted
    }

    /// Keeps rows that were noted.
    ///
    /// # Errors
    /// As [`Self::give`].
    pub fn keep(&self, noted: &[Belonging]) -> io::Result<()> {
        self.state().belongings.append(noted)
    }

    /// Takes back rows that were noted.
    pub fn take_back(&self, noted: &[Belonging]) {
        let mut state = self.state();
        noted.iter().for_each(|row| state.sessions.remove(&row.key));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file of JSON lines that grows at its end.
struct Lines {
    path: PathBuf,
    /// Not open after an error: the next row tries again.
    file: Option<File>,
    /// True once a row was read from it or written to it.
    is_written: bool,
}

impl Lines {
    fn at(path: PathBuf) -> Self {
        Self { path, file: None, is_written: false }
    }

    /// Reads the rows that are to be kept, and writes the file anew if there are others.
    fn read<T: DeserializeOwned + Serialize>(&mut self, is_kept: impl Fn(&T) -> bool) -> Vec<T> {
        let Ok(mut file) = File::open(&self.path) else { return Vec::new() };
        self.is_written = true;
        // The newest rows are at the end.
        let surplus = file.metadata().map_or(0, |meta| meta.len()).saturating_sub(MOST_BYTES);
        if file.seek(SeekFrom::Start(surplus)).is_err() {
            return Vec::new();
        }
        let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
        // A torn line is one that a crash left.
        let found: Vec<Option<T>> =
            lines.filter(|line| !line.is_empty()).map(|line| serde_json::from_slice(&line).ok().filter(&is_kept)).collect();
        let lines = found.len();
        let mut rows: Vec<T> = found.into_iter().flatten().collect();
        rows.drain(..rows.len().saturating_sub(MOST_ROWS));
        if rows.len() < lines {
            // Old rows do no harm if this fails.
            let _ = self.rewrite(&rows);
        }
        rows
    }

    fn rewrite<T: Serialize>(&self, rows: &[T]) -> io::Result<()> {
        let draft = self.path.with_extension(format!("{}.tmp", std::process::id()));
        let _ = fs::remove_file(&draft);
        let mut text = Vec::new();
        for row in rows {
            text.extend(serde_json::to_vec(row)?);
            text.push(b'\n');
        }
        platform::write_new_private_file(&draft, &text)?;
        fs::rename(&draft, &self.path)
    }

    fn append<T: Serialize>(&mut self, rows: &[T]) -> io::Result<()> {
        let mut text = Vec::new();
        if self.file.is_none() {
            // The last row may be torn.
            text.push(b'\n');
        }
        for row in rows {
            serde_json::to_writer(&mut text, row)?;
            text.push(b'\n');
        }
        let mut file = match self.file.take() {
            Some(file) => file,
            None => self.opened()?,
        };
        file.write_all(&text)?;
        (self.file, self.is_written) = (Some(file), true);
        Ok(())
    }

    fn opened(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            platform::create_private_directory(folder)?;
        }
        if !self.path.exists() {
            platform::create_private_file(&self.path)?;
        }
        OpenOptions::new().append(true).open(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UtcMillis = 1_782_864_000_000;

    fn given(key: &str, text: &str, at: UtcMillis) -> Given {
        Given { key: key.to_owned(), text: text.to_owned(), at, ..Given::default() }
    }

    #[test]
    fn a_ledger_gives_the_same_after_it_was_opened_again_and_drops_what_is_old() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path(), NOW);
        ledger.give(given("a", "said before", NOW)).unwrap();
        ledger.give(given("b", "", NOW - FRESH_MS)).unwrap();
        for (key, session, at) in [("c1", "s1", NOW - KEPT_MS), ("d1", "s2", NOW)] {
            ledger.keep(&ledger.note(vec![key.to_owned()], session, at)).unwrap();
        }
        assert!(ledger.note(vec!["d1".to_owned()], "s2", NOW).is_empty(), "that is known");
        let archived_in_vain = ledger.note(vec!["e1".to_owned()], "s3", NOW);
        assert!(ledger.session("e1").is_some());
        ledger.take_back(&archived_in_vain);
        assert_eq!(ledger.session("e1"), None);
        // A crash in the middle of a line.
        let texts = directory.path().join(PROXY_TEXTS);
        OpenOptions::new().append(true).open(&texts).unwrap().write_all(b"{\"key\":").unwrap();
        for _ in 0..2 {
            let again = Ledger::open(directory.path(), NOW);
            assert_eq!(again.given("a", NOW).unwrap().text, "said before");
            assert_eq!((again.given("b", NOW), again.session("c1")), (None, None));
            assert_eq!(again.session("d1"), Some(("s2".to_owned(), NOW)));
        }
        fs::remove_file(&texts).unwrap();
        assert_eq!((ledger.given("a", NOW), ledger.session("d1").is_some()), (None, true), "something was forgotten for good");
        ledger.give(given("c", "new", NOW)).unwrap();
        assert!(fs::read_to_string(&texts).unwrap().contains("new"));
    }

    #[test]
    fn the_latest_entries_stay_and_those_before_them_go() {
        let mut latest = Latest::new(100);
        for number in 0..10_000 {
            latest.insert(&number.to_string(), number);
            assert!(latest.recent.len() + latest.older.len() <= 100);
        }
        assert!((9_950..10_000).all(|number| latest.get(&number.to_string()) == Some(&number)));
        assert_eq!(latest.get("9000"), None);
    }

    #[test]
    fn a_text_that_no_disk_has_room_for_is_added_again_all_the_same() {
        let directory = tempfile::tempdir().unwrap();
        // A file stands where the folder should be.
        fs::write(directory.path().join("proxy"), "").unwrap();
        let ledger = Ledger::open(directory.path(), NOW);
        assert!(ledger.give(given("a", "said before", NOW)).is_err());
        assert_eq!(ledger.given("a", NOW).unwrap().text, "said before");
    }

    #[test]
    fn digests_tell_where_a_part_ends() {
        let digests = Digests::new([1; 32]);
        assert_ne!(digests.of(&[b"ab", b"c"]), digests.of(&[b"a", b"bc"]));
        assert_ne!(digests.of(&[b"ab"]), Digests::new([2; 32]).of(&[b"ab"]));
    }
}
