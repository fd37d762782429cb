//! The spool: files that hooks leave for events when no daemon answers.
//!
//! - [`Event`]: the agent and session that an event is about; ids and paths only, never text, because nothing
//!   here was redacted
//! - [`write()`]: leaves an event; opens no database and takes no lock
//! - [`drain`]: takes events in order of arrival
//!
//! Any number of processes may write to the spool at once. Its size is limited: when it is full, a newer
//! event of the same transcript replaces the older one, and beyond that a newer event of the same agent.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use yore_core::time::UtcMillis;
use yore_engine::platform;

/// Version of the written form of [`Event`].
pub const VERSION: u32 = 1;
/// Name of the spool's folder in the data directory.
const FOLDER: &str = "spool";

/// Most events kept one by one; beyond that they are folded together.
const MOST_FILES: usize = 10_000;
/// Most bytes of events kept one by one.
const MOST_BYTES: u64 = 16 << 20;
/// Most folded events of one transcript each; beyond that there is one for each agent.
const MOST_FOLDED: usize = 2_000;
/// Longest id or name; a longer one is dropped.
const LONGEST_ID: usize = 512;
/// Most memories whose use one event counts.
const MOST_GIVEN: usize = 100;
/// Longest path; a longer one is dropped.
const LONGEST_PATH: usize = 4096;
/// Bytes read of an event file. An event is shorter, however its characters are escaped.
const LARGEST_EVENT: u64 = 128 << 10;
/// Most unreadable files kept for inspection.
const MOST_ASIDE: usize = 100;
/// Age at which a file that a killed writer left behind is removed.
const ABANDONED: Duration = Duration::from_secs(600);

/// Prefix of the names of folded events; the other names begin with a digit.
const FOLDED: &str = "latest-";
/// Folder for unreadable files.
const ASIDE: &str = "unreadable";

/// An event that an agent reported to a hook.
///
/// Without a transcript (the agent names none, or the spool was full) it means: scan everything of this
/// agent.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct Event {
    /// [`VERSION`] of the yore that wrote it.
    pub version: u32,
    /// The agent, such as `claude-code`.
    pub agent: String,
    /// The event, by the agent's name for it, such as `Stop`.
    pub event: String,
    /// The session's native id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The file that the agent writes the session to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript_path: Option<String>,
    /// The directory that the agent works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Time at which the hook ran.
    pub at_ms: UtcMillis,
    /// Ids of the memories that the hook gave to the session. An event with any only counts them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<String>,
}

impl Event {
    /// Returns a copy without ids and paths that are too long to be real.
    fn bounded(&self) -> Self {
        let short = |text: &Option<String>, longest: usize| text.clone().filter(|text| text.len() <= longest);
        Self {
            version: self.version,
            agent: short(&Some(self.agent.clone()), LONGEST_ID).unwrap_or_default(),
            event: short(&Some(self.event.clone()), LONGEST_ID).unwrap_or_default(),
            session_id: short(&self.session_id, LONGEST_ID),
            transcript_path: short(&self.transcript_path, LONGEST_PATH),
            cwd: short(&self.cwd, LONGEST_PATH),
            at_ms: self.at_ms,
            given: self.given.iter().take(MOST_GIVEN).filter(|id| id.len() <= LONGEST_ID).cloned().collect(),
        }
    }

    /// Returns a copy with only the agent and the event, for when even the folded events are too many.
    fn of_agent(&self) -> Self {
        Self { session_id: None, transcript_path: None, cwd: None, ..self.clone() }
    }
}

/// The result of [`drain`].
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Drained {
    /// Number of events that were handled and removed.
    pub handled: usize,
    /// Number of events that could not be handled and stay.
    pub left: usize,
    /// Number of files that are not events and were moved aside.
    pub unreadable: usize,
}

/// Leaves an event in the spool of a data directory, readable by its owner only. The file appears whole or
/// not at all. It is not synced to disk: if a power failure loses it, the next look at the transcript finds
/// the change.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] when there is no data directory: a hook does not create one. Any other error
/// of the operating system; never because the spool is full.
pub fn write(directory: &Path, event: &Event) -> io::Result<()> {
    let spool = folder(directory);
    let load = match Load::of(&spool) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if !directory.is_dir() {
                return Err(error);
            }
            platform::create_private_directory(&spool)?;
            Load::default()
        }
        load => load?,
    };
    let mut event = event.bounded();
    let is_full = load.files >= MOST_FILES || load.bytes >= MOST_BYTES;
    if is_full && !event.given.is_empty() {
        // It must not replace an event that a transcript waits for.
        return Ok(());
    }
    if is_full && load.folded >= MOST_FOLDED {
        event = event.of_agent();
    }
    let content = serde_json::to_vec(&event)?;
    let name = unique_name(content.len());
    let temporary = spool.join(format!("{name}.tmp"));
    platform::create_private_file(&temporary)?;
    let place = spool.join(if is_full { folded_name(&event) } else { name });
    let written = OpenOptions::new().write(true).open(&temporary).and_then(|mut file| file.write_all(&content));
    written.and_then(|()| fs::rename(&temporary, place)).inspect_err(|_| {
        // The first error is the one reported.
        let _ = fs::remove_file(&temporary);
    })
}

/// Passes the waiting events to `handle`, oldest first. A file is removed after `handle` returns true; if it
/// returns false the file stays for the next time. An event may come twice if the process ends in between.
///
/// # Errors
/// When the spool cannot be listed. A missing spool is not an error.
pub fn drain(directory: &Path, mut handle: impl FnMut(&Event) -> bool) -> io::Result<Drained> {
    let spool = folder(directory);
    let mut drained = Drained::default();
    let mut names = match names(&spool) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(drained),
        names => names?,
    };
    // Names begin with the time; folded events are newer than all events before them.
    names.sort();
    for name in names {
        let mut path = spool.join(&name);
        if name.ends_with(".tmp") {
            remove_abandoned(&path);
            continue;
        }
        if !name.ends_with(".json") {
            continue;
        }
        if name.starts_with(FOLDED) {
            // A newer event may arrive under the same name while this one is handled, and must not be removed
            // with it.
            let size = path.metadata().map_or(0, |meta| meta.len());
            let own = spool.join(unique_name(size as usize));
            if fs::rename(&path, &own).is_err() {
                continue;
            }
            path = own;
        }
        match read(&path) {
            Ok(Some(event)) if handle(&event) => {
                drained.handled += 1;
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            Ok(Some(_)) => drained.left += 1,
            // Another process took it first.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(None) | Err(_) => {
                drained.unreadable += 1;
                put_aside(&spool, &path);
            }
        }
    }
    Ok(drained)
}

/// Returns the number of waiting events.
pub fn waiting(directory: &Path) -> usize {
    Load::of(&folder(directory)).map_or(0, |load| load.files + load.folded)
}

/// Returns the number of files that were not events and are kept for inspection.
pub fn unreadable(directory: &Path) -> usize {
    names(&folder(directory).join(ASIDE)).map_or(0, |names| names.len())
}

/// How full the spool is, computed from file names alone.
#[derive(Default)]
struct Load {
    files: usize,
    bytes: u64,
    folded: usize,
}

impl Load {
    fn of(spool: &Path) -> io::Result<Self> {
        let mut load = Self::default();
        for name in names(spool)? {
            let Some(stem) = name.strip_suffix(".json") else { continue };
            if stem.starts_with(FOLDED) {
                load.folded += 1;
            } else {
                load.files += 1;
                load.bytes += stem.rsplit_once('-').and_then(|(_, bytes)| bytes.parse::<u64>().ok()).unwrap_or(0);
            }
        }
        Ok(load)
    }
}

fn names(spool: &Path) -> io::Result<Vec<String>> {
    Ok(fs::read_dir(spool)?.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

/// Returns a unique name: time, process, number, and the length for [`Load`].
fn unique_name(bytes: usize) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{nanos:020}-{}-{number}-{bytes}.json", std::process::id())
}

/// Returns the name that all events of a transcript, or of an agent, share.
fn folded_name(event: &Event) -> String {
    let mut hasher = DefaultHasher::new();
    let about = event.transcript_path.as_ref().or(event.session_id.as_ref()).or(event.cwd.as_ref());
    (&event.agent, about).hash(&mut hasher);
    format!("{FOLDED}{:016x}.json", hasher.finish())
}

/// Returns the event in a file; `None` if it holds none.
fn read(path: &Path) -> io::Result<Option<Event>> {
    let mut content = Vec::new();
    File::open(path)?.take(LARGEST_EVENT).read_to_end(&mut content)?;
    Ok(serde_json::from_slice::<Event>(&content).ok().filter(|event| !event.agent.is_empty()))
}

fn remove_abandoned(path: &Path) {
    let age = path.metadata().and_then(|meta| meta.modified()).ok().and_then(|time| time.elapsed().ok());
    if age.is_some_and(|age| age > ABANDONED) {
        // If the removal fails, it is tried again the next time.
        let _ = fs::remove_file(path);
    }
}

/// Moves a file that is not an event out of the way; if that fails, removes it.
fn put_aside(spool: &Path, path: &Path) {
    let aside = spool.join(ASIDE);
    let is_moved = platform::create_private_directory(&aside).is_ok()
        && names(&aside).is_ok_and(|names| names.len() < MOST_ASIDE)
        && path.file_name().is_some_and(|name| fs::rename(path, aside.join(name)).is_ok());
    if !is_moved {
        let _ = fs::remove_file(path);
    }
}

/// Returns the spool folder of a data directory.
fn folder(directory: &Path) -> PathBuf {
    directory.join(FOLDER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(transcript: &str, at_ms: UtcMillis) -> Event {
        Event {
            version: VERSION,
            agent: "claude-code".into(),
            event: "Stop".into(),
            session_id: Some("5f0c".into()),
            transcript_path: Some(transcript.into()),
            cwd: Some("/home/dev/tide".into()),
            at_ms,
            given: Vec::new(),
        }
    }

    fn all(directory: &Path) -> Vec<Event> {
        let mut events = Vec::new();
        drain(directory, |event| {
            events.push(event.clone());
            true
        })
        .unwrap();
        events
    }

    /// Makes a spool that looks full: its files are not events, but their content is never read.
    fn fill(directory: &Path, files: usize) {
        let spool = folder(directory);
        fs::create_dir_all(&spool).unwrap();
        for number in 0..files {
            File::create(spool.join(format!("{number:020}-1-0-10.json"))).unwrap();
        }
    }

    #[test]
    fn events_come_out_once_and_in_order_of_arrival() {
        let directory = tempfile::tempdir().unwrap();
        let sent: Vec<Event> = (0..50).map(|at| event(&format!("/t/{}.jsonl", at % 7), at)).collect();
        for event in &sent {
            write(directory.path(), event).unwrap();
        }
        assert_eq!(waiting(directory.path()), 50);
        assert_eq!(all(directory.path()), sent);
        assert_eq!(all(directory.path()), []);
        assert_eq!(waiting(directory.path()), 0);
    }

    #[test]
    fn event_that_was_not_handled_stays_and_blocks_no_other() {
        let directory = tempfile::tempdir().unwrap();
        for at in 0..3 {
            write(directory.path(), &event("/t/a.jsonl", at)).unwrap();
        }
        let drained = drain(directory.path(), |event| event.at_ms != 1).unwrap();
        assert_eq!(drained, Drained { handled: 2, left: 1, unreadable: 0 });
        assert_eq!(all(directory.path()), [event("/t/a.jsonl", 1)]);
    }

    #[test]
    fn what_is_no_event_is_moved_aside_and_counted() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &event("/t/a.jsonl", 1)).unwrap();
        let spool = folder(directory.path());
        for (number, content) in [&b"{\"agent\""[..], b"", b"\xff\xfe", b"[]", b"{\"at_ms\": \"x\"}", b"{}"].iter().enumerate() {
            fs::write(spool.join(format!("{number:020}-1-0-3.json")), content).unwrap();
        }
        fs::create_dir(spool.join("00000000000000000009-1-0-3.json")).unwrap();
        let drained = drain(directory.path(), |_| true).unwrap();
        assert_eq!(drained, Drained { handled: 1, left: 0, unreadable: 7 });
        assert_eq!(unreadable(directory.path()), 7);
        assert_eq!(waiting(directory.path()), 0);
    }

    #[test]
    fn full_spool_keeps_the_newest_event_of_each_transcript() {
        let directory = tempfile::tempdir().unwrap();
        fill(directory.path(), MOST_FILES);
        for at in 0..30 {
            write(directory.path(), &event(&format!("/t/{}.jsonl", at % 3), at)).unwrap();
        }
        assert_eq!(waiting(directory.path()), MOST_FILES + 3);
        let mut newest = all(directory.path());
        newest.sort_by_key(|event| event.at_ms);
        assert_eq!(newest, [event("/t/0.jsonl", 27), event("/t/1.jsonl", 28), event("/t/2.jsonl", 29)]);
    }

    #[test]
    fn spool_that_is_full_of_transcripts_still_names_the_agent() {
        let directory = tempfile::tempdir().unwrap();
        fill(directory.path(), MOST_FILES);
        for number in 0..MOST_FOLDED {
            File::create(folder(directory.path()).join(format!("{FOLDED}{number:016x}.json"))).unwrap();
        }
        for at in 0..5 {
            write(directory.path(), &event(&format!("/t/{at}.jsonl"), at)).unwrap();
        }
        assert_eq!(waiting(directory.path()), MOST_FILES + MOST_FOLDED + 1);
        assert_eq!(all(directory.path()), [event("", 4).of_agent()]);
    }

    #[test]
    fn many_bytes_fill_it_too() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder(directory.path())).unwrap();
        File::create(folder(directory.path()).join(format!("{:020}-1-0-{MOST_BYTES}.json", 1))).unwrap();
        for at in 0..5 {
            write(directory.path(), &event("/t/a.jsonl", at)).unwrap();
        }
        assert_eq!(waiting(directory.path()), 2);
    }

    #[test]
    fn newer_event_survives_the_handling_of_a_folded_one() {
        let directory = tempfile::tempdir().unwrap();
        fill(directory.path(), MOST_FILES);
        write(directory.path(), &event("/t/a.jsonl", 1)).unwrap();
        drain(directory.path(), |_| {
            fill(directory.path(), MOST_FILES);
            write(directory.path(), &event("/t/a.jsonl", 2)).is_ok()
        })
        .unwrap();
        assert_eq!(all(directory.path()), [event("/t/a.jsonl", 2)]);
    }

    #[test]
    fn overlong_paths_are_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let long = Event { cwd: Some("x".repeat(1 << 20)), session_id: Some("y".repeat(1 << 20)), ..event("/t/a.jsonl", 1) };
        write(directory.path(), &long).unwrap();
        assert_eq!(all(directory.path()), [Event { cwd: None, session_id: None, ..event("/t/a.jsonl", 1) }]);
    }

    #[test]
    fn without_a_data_directory_none_is_made() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("data");
        assert_eq!(write(&missing, &event("/t/a.jsonl", 1)).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!missing.exists());
        assert_eq!(drain(&missing, |_| true).unwrap(), Drained::default());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &event("/t/a.jsonl", 1)).unwrap();
        let spool = folder(directory.path());
        let file = fs::read_dir(&spool).unwrap().next().unwrap().unwrap().path();
        for path in [spool, file] {
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "{path:?}");
        }
    }

    #[test]
    fn many_writers_at_once_lose_nothing() {
        let directory = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let directory = directory.path();
                scope.spawn(move || {
                    for number in 0..50 {
                        write(directory, &event("/t/a.jsonl", writer * 1000 + number)).unwrap();
                    }
                });
            }
        });
        let mut times: Vec<_> = all(directory.path()).into_iter().map(|event| event.at_ms).collect();
        times.sort_unstable();
        times.dedup();
        assert_eq!(times.len(), 400);
    }
}
