//! Records what each session was given and what it cost: ids and numbers, in one file for each session. The files are below the
//! data directory.
//!
//! - [`Entry`]: one answer of a hook or a tool
//! - [`append`], [`read`], [`lock`]: work on the ledger of one session
//! - [`directories`]: the directories in which an agent last ran hooks
//! - [`clear_old`]: removes the ledgers of sessions that ended
//!
//! A line is written in one piece, and a torn line is skipped. There is no database: a hook has no time for
//! one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use yore_core::relevance::{SkipReason, TriggerKind};
use yore_core::time::UtcMillis;
use yore_engine::platform::{self, FileLock};

/// Name of the ledgers' folder in the data directory.
pub(super) const FOLDER: &str = "given";
/// Most bytes of a ledger that are read, from its end; no session holds more.
const LONGEST: u64 = 4 << 20;
/// Above this length, only entries with injected text or a reset are written.
const LONG: u64 = 1 << 20;
/// Interval between attempts to become the only hook of a session.
const LOCK_PAUSE: Duration = Duration::from_millis(5);
/// A ledger that did not change for this long belongs to an ended session.
const KEPT: Duration = Duration::from_secs(60 * 24 * 3600);

/// One answer that a session was given.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Entry {
    /// Time of the answer.
    pub at_ms: UtcMillis,
    /// The agent, such as `claude-code`.
    pub agent: String,
    /// The side conversation that got the answer, by the agent's own id; none for the session itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The event, such as `UserPromptSubmit`; `recall` and the like for tools.
    pub event: String,
    /// Kind of the question; none for tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<TriggerKind>,
    /// Ids of the turns and memories, as [`yore_core::query::ItemId`] writes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<String>,
    /// Tokens that the answer took, estimated.
    pub tokens: usize,
    /// Time that the answer took, in microseconds.
    pub micros: u64,
    /// Reason why nothing was given, if something could have been.
    #[serde(rename = "silence", skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
    /// The turns and memories that were held out (`inject.holdout`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_out: Vec<String>,
    /// The directory that the session works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The question's subject as a [`digest`], so that the same question is not answered twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// True if the session lost the text it was given before: it was compacted or cleared.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_reset: bool,
}

impl Entry {
    /// Makes it an answer that was withheld, if it gave anything.
    pub fn hold_out(&mut self) {
        if self.tokens > 0 {
            (self.held_out, self.tokens, self.skipped) = (std::mem::take(&mut self.turns), 0, Some(SkipReason::HeldOut));
        }
    }
}

/// Returns a few characters that distinguish two texts of a session, and that reveal nothing of them without
/// the data directory's key.
pub fn digest(key: &[u8; 32], text: &str) -> String {
    blake3::keyed_hash(key, text.as_bytes()).to_hex()[..8].to_owned()
}

/// Returns whether an occasion of a session is held out, as a share of occasions: by chance, and the same however often it is asked.
/// `occasion`: its kind, and its number or subject.
pub fn is_held_out(key: &[u8; 32], session: &str, occasion: &str, share: f64) -> bool {
    let drawn = blake3::keyed_hash(key, format!("held out\n{session}\n{occasion}").as_bytes());
    let bytes: [u8; 4] = drawn.as_bytes()[..4].try_into().unwrap_or_default();
    f64::from(u32::from_le_bytes(bytes)) < share * (f64::from(u32::MAX) + 1.0)
}

/// Keeps other hooks of a session waiting until it is dropped, so that two hooks for one event (from a plugin
/// and from settings) do not both answer. `None` if another hook holds it for longer than `patience`: an
/// agent that calls tools in parallel has no more time than one that does not.
pub fn lock(directory: &Path, session: &str, patience: Duration) -> Option<FileLock> {
    platform::create_private_directory(&directory.join(FOLDER)).ok()?;
    let lock = FileLock::open(&path(directory, session).with_extension("lock")).ok()?;
    let until = Instant::now() + patience;
    loop {
        match lock.try_lock() {
            Ok(true) => return Some(lock),
            Ok(false) if Instant::now() < until => std::thread::sleep(LOCK_PAUSE),
            _ => return None,
        }
    }
}

/// Returns the path of a session's ledger.
pub fn path(directory: &Path, session: &str) -> PathBuf {
    // A native id may hold any characters, even a secret; the file name must be valid, and the same each time. Most are UUIDs.
    let plain = session.len() <= 40 && session.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    // Lists of ledgers tell only the name that was made of such an id.
    let is_derived = session.strip_prefix('~').is_some_and(|id| id.parse::<yore_core::id::EpisodeId>().is_ok());
    let name = if plain && !session.is_empty() || is_derived {
        session.to_owned()
    } else {
        format!("~{}", yore_core::id::EpisodeId::derive("given", session))
    };
    directory.join(FOLDER).join(format!("{name}.jsonl"))
}

/// Appends an entry to a session's ledger.
pub fn append(directory: &Path, session: &str, entry: &Entry) -> io::Result<()> {
    let path = path(directory, session);
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    if !path.exists() {
        platform::create_private_directory(&directory.join(FOLDER))?;
        platform::create_private_file(&path)?;
    }
    let mut file = OpenOptions::new().append(true).open(&path)?;
    if entry.tokens == 0 && !entry.is_reset && file.metadata()?.len() > LONG {
        return Ok(());
    }
    file.write_all(&line)
}

/// Returns what a session was given so far, oldest first; empty if there is no ledger. For a very long
/// ledger, only the latest entries.
pub fn read(directory: &Path, session: &str) -> Vec<Entry> {
    read_file(&path(directory, session))
}

/// Returns the entries of a ledger's file, oldest first; empty if it cannot be read.
pub(super) fn read_file(path: &Path) -> Vec<Entry> {
    let mut content = Vec::new();
    let Ok(mut file) = File::open(path) else { return Vec::new() };
    // A line that is cut off is skipped like a torn one.
    let skipped = file.metadata().map_or(0, |meta| meta.len().saturating_sub(LONGEST));
    if file.seek(SeekFrom::Start(skipped)).is_err() {
        return Vec::new();
    }
    if file.take(LONGEST).read_to_end(&mut content).is_err() {
        return Vec::new();
    }
    content.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Returns the directories of an agent's sessions whose hooks ran within `within`, each once, latest first.
pub fn directories(directory: &Path, agent: &str, within: Duration) -> Vec<String> {
    let now = SystemTime::now();
    let mut heard: Vec<(SystemTime, String)> = Vec::new();
    for entry in fs::read_dir(directory.join(FOLDER)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !name.to_str().is_some_and(|name| name.ends_with(".jsonl")) {
            continue;
        }
        let Some(modified) = entry.metadata().and_then(|meta| meta.modified()).ok() else { continue };
        if now.duration_since(modified).is_ok_and(|age| age > within) {
            continue;
        }
        let of_agent = read_file(&entry.path()).into_iter().rev().find(|entry| entry.agent == agent && entry.directory.is_some());
        heard.extend(of_agent.and_then(|entry| Some((modified, entry.directory?))));
    }
    heard.sort_by(|a, b| b.cmp(a));
    let mut directories: Vec<String> = Vec::new();
    for (_, heard) in heard {
        if !directories.contains(&heard) {
            directories.push(heard);
        }
    }
    directories
}

/// Removes the ledgers of sessions that ended long ago.
pub fn clear_old(directory: &Path, now: SystemTime) {
    let Ok(entries) = fs::read_dir(directory.join(FOLDER)) else { return };
    for entry in entries.flatten() {
        let modified = entry.metadata().and_then(|meta| meta.modified()).ok();
        if modified.and_then(|time| now.duration_since(time).ok()).is_some_and(|age| age > KEPT) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_occasions_is_held_out_and_always_the_same_ones() {
        let held = |share: f64| {
            (0..2_000).filter(|number| is_held_out(&[7; 32], "s", &format!("prompt {number}"), share)).collect::<Vec<u32>>()
        };
        assert!(held(0.0).is_empty());
        let tenth = held(0.1);
        assert!((140..260).contains(&tenth.len()), "{}", tenth.len());
        assert_eq!(held(0.1), tenth);
        let half = held(0.5);
        assert!(tenth.iter().all(|number| half.contains(number)));
    }

    #[test]
    fn what_was_given_is_read_back_in_order_and_torn_lines_are_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let entry = |tokens| Entry { tokens, turns: vec!["t".to_owned()], ..Entry::default() };
        assert_eq!(read(directory.path(), "s"), []);
        append(directory.path(), "s", &entry(1)).unwrap();
        OpenOptions::new().append(true).open(path(directory.path(), "s")).unwrap().write_all(b"{\"tok\n").unwrap();
        append(directory.path(), "s", &entry(2)).unwrap();
        assert_eq!(read(directory.path(), "s"), [entry(1), entry(2)]);
        assert_eq!(read(directory.path(), "other"), []);
    }

    #[test]
    fn lock_that_another_holds_is_not_waited_for_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        let held = lock(directory.path(), "s", Duration::ZERO);
        assert!(held.is_some());
        assert!(lock(directory.path(), "s", Duration::from_millis(20)).is_none());
        assert!(lock(directory.path(), "other", Duration::ZERO).is_some());
        drop(held);
        assert!(lock(directory.path(), "s", Duration::ZERO).is_some());
    }

    #[test]
    fn digest_says_nothing_without_the_key() {
        let (here, elsewhere) = ([7; 32], [8; 32]);
        assert_eq!(digest(&here, "why?"), digest(&here, "why?"));
        assert_ne!(digest(&here, "why?"), digest(&here, "how?"));
        assert_ne!(digest(&here, "why?"), digest(&elsewhere, "why?"));
        assert_eq!(digest(&here, "").len(), 8);
    }

    #[test]
    fn any_session_id_is_one_file_below_the_folder() {
        let directory = Path::new("/data");
        for id in ["", "..", "../../etc/passwd", "a/b", "C:\\x", "é", &"x".repeat(500)] {
            let path = path(directory, id);
            assert_eq!(path.parent().unwrap(), directory.join("given"), "{id}");
            assert!(path.file_name().unwrap().len() < 80);
        }
        assert_ne!(path(directory, "a/b"), path(directory, "a/c"));
        let derived = path(directory, "ses_a/b");
        let name = derived.file_stem().unwrap().to_str().unwrap();
        assert_eq!(path(directory, name), derived, "a ledger is found by the name of its file");
        assert!(path(directory, "~../x").file_name().unwrap().len() > 20, "only a derived name is taken as it is");
        assert!(path(directory, "0f3c-12").ends_with("0f3c-12.jsonl"));
        let token = format!("gh{}_{}", "p", "Quay7tide".repeat(4));
        assert!(!path(directory, &token).to_str().unwrap().contains("Quay7"), "a session id may be a secret by mistake");
    }

    #[test]
    fn latest_of_a_long_ledger_is_read_and_no_silence_makes_it_longer() {
        let directory = tempfile::tempdir().unwrap();
        let given = |tokens| Entry { tokens, directory: Some("d".repeat(8_000)), ..Entry::default() };
        let length = || fs::metadata(path(directory.path(), "s")).unwrap().len();
        while !path(directory.path(), "s").exists() || length() <= LONGEST {
            append(directory.path(), "s", &given(7)).unwrap();
        }
        let before = length();
        append(directory.path(), "s", &Entry { skipped: Some(SkipReason::Floor), ..Entry::default() }).unwrap();
        assert_eq!(length(), before);
        append(directory.path(), "s", &Entry { is_reset: true, ..Entry::default() }).unwrap();
        append(directory.path(), "s", &given(9)).unwrap();
        let read = read(directory.path(), "s");
        assert!(read[read.len() - 2].is_reset);
        assert_eq!(read.last().unwrap().tokens, 9);
    }

    #[test]
    fn old_ledgers_go() {
        let directory = tempfile::tempdir().unwrap();
        append(directory.path(), "s", &Entry::default()).unwrap();
        clear_old(directory.path(), SystemTime::now());
        assert_eq!(read(directory.path(), "s").len(), 1);
        clear_old(directory.path(), SystemTime::now() + KEPT + Duration::from_secs(60));
        assert_eq!(read(directory.path(), "s"), []);
    }
}
