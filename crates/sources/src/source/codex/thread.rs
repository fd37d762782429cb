//! Finds the thread of a rollout, and the lines copied from another thread.
//!
//! The first `session_meta` names the thread; it is repeated whenever the thread is resumed. A forked rollout
//! begins with the lines of the original thread, including its `session_meta`, and their time stamps are
//! those of the copying. The ids of the turns show where the copy ends: they contain the time at which the
//! turn began (UUIDv7), and the first turn that began after the thread did is its own.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use yore_core::time::RecordedTime;

use super::super::shapes::text_of;

/// Milliseconds after the start of the thread within which its lines are copied. Copying takes seconds; a
/// later line that begins a turn is not a copy.
const MAX_COPYING_MS: i64 = 10_000;

/// Relation of a value to the thread of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It names the thread, for the first time or again.
    Header,
    /// It belongs to the thread.
    Own,
    /// It was copied from another thread.
    Copied,
    /// No thread has been named yet.
    Nameless,
}

/// The thread of a rollout, as far as its lines were read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Thread {
    /// Native id of the thread.
    pub id: Option<String>,
    /// The thread whose lines are currently copied.
    pub copied_from: Option<String>,
    /// The id in the file's name, if the header's may be an ancestor's.
    of_name: Option<String>,
    is_copying: bool,
    began_ms: Option<i64>,
    /// True if the id of a copied turn contained its start time.
    has_dated_turns: bool,
}

impl Thread {
    /// Creates the state for a file of which no line was read yet.
    pub(super) fn new(path: &Path) -> Self {
        Self { of_name: thread_of_name(path), ..Self::default() }
    }

    /// Processes a value of the file.
    pub(super) fn step(&mut self, value: &Value) -> Step {
        if is_header(value) {
            return self.header(value);
        }
        if self.id.is_none() {
            return Step::Nameless;
        }
        if self.is_copying && self.begins_own_turn(value) {
            self.is_copying = false;
            self.copied_from = None;
        }
        if self.is_copying { Step::Copied } else { Step::Own }
    }

    fn header(&mut self, value: &Value) -> Step {
        let facts = payload(value);
        let Some(named) = text_of(facts, "id") else { return if self.id.is_none() { Step::Nameless } else { Step::Own } };
        match &self.id {
            None => {
                let id = self.of_name.clone().unwrap_or_else(|| named.to_owned());
                let parent = text_of(facts, "forked_from_id").or((id != named).then_some(named));
                self.began_ms = time_of_id(&id).or_else(|| time_of(facts));
                self.is_copying = parent.is_some();
                self.copied_from = parent.map(str::to_owned);
                self.id = Some(id);
                Step::Header
            }
            Some(id) if id == named => {
                // The header is repeated after the copy, or when the thread is resumed.
                self.is_copying = false;
                self.copied_from = None;
                Step::Header
            }
            Some(_) => {
                self.is_copying = true;
                self.has_dated_turns = false;
                self.copied_from = Some(named.to_owned());
                Step::Copied
            }
        }
    }

    fn begins_own_turn(&mut self, value: &Value) -> bool {
        let facts = payload(value);
        let kind = text_of(value, "type").unwrap_or("");
        let event = if kind == "event_msg" { text_of(facts, "type").unwrap_or("") } else { "" };
        if kind != "turn_context" && !matches!(event, "task_started" | "turn_started" | "user_message") {
            return false;
        }
        match text_of(facts, "turn_id").and_then(time_of_id) {
            Some(turn) => {
                self.has_dated_turns = true;
                self.began_ms.is_none_or(|began| turn >= began)
            }
            None if self.has_dated_turns => false,
            None => match (time_of(value), self.began_ms) {
                (Some(at), Some(began)) => at > began + MAX_COPYING_MS,
                _ => false,
            },
        }
    }
}

/// Returns the content of a line. Very old lines are not wrapped.
pub(super) fn payload(value: &Value) -> &Value {
    if value["payload"].is_object() { &value["payload"] } else { value }
}

/// Returns whether a value names a thread: `session_meta`, or the bare first object of very old rollouts.
pub(super) fn is_header(value: &Value) -> bool {
    match value.get("type").and_then(Value::as_str) {
        Some(kind) => kind == "session_meta",
        None => value.get("id").is_some() && value.get("timestamp").is_some() && value.get("record_type").is_none(),
    }
}

/// Returns the thread in `rollout-<time>-<root>_<thread>`: a fork whose header may name the root.
pub(super) fn thread_of_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let (before, thread) = stem.rsplit_once('_')?;
    let is_id = |text: &str| uuid::Uuid::try_parse(text).is_ok_and(|id| id.hyphenated().to_string() == text);
    let root = before.get(before.len().checked_sub(36)?..)?;
    (is_id(thread) && is_id(root) && thread != root).then(|| thread.to_owned())
}

fn time_of(value: &Value) -> Option<i64> {
    RecordedTime::parse(text_of(value, "timestamp")?).utc
}

/// Returns the time contained in an id.
fn time_of_id(id: &str) -> Option<i64> {
    let id = uuid::Uuid::try_parse(id).ok()?;
    if id.get_version_num() != 7 {
        return None;
    }
    // The first 48 bits are milliseconds.
    i64::try_from(id.as_u128() >> 80).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const OWN: &str = "019e7da4-83bc-7dc1-93d3-a435cb5c9100";
    const PARENT: &str = "019e7d00-0000-7000-8000-000000000001";

    fn meta(id: &str, forked_from: Option<&str>) -> Value {
        json!({"timestamp": "2026-05-31T10:46:34.193Z", "type": "session_meta",
               "payload": {"id": id, "forked_from_id": forked_from, "timestamp": "2026-05-31T10:46:34.193Z"}})
    }

    fn turn(id: &str) -> Value {
        json!({"timestamp": "2026-05-31T10:46:34.300Z", "type": "turn_context", "payload": {"turn_id": id}})
    }

    #[test]
    fn copy_ends_with_the_first_turn_that_began_after_the_thread() {
        let mut thread = Thread::new(Path::new("x.jsonl"));
        let word = json!({"type": "response_item", "payload": {}});
        assert_eq!(thread.step(&word), Step::Nameless);
        assert_eq!(thread.step(&meta(OWN, Some(PARENT))), Step::Header);
        assert_eq!(thread.step(&meta(PARENT, None)), Step::Copied);
        assert_eq!(thread.step(&turn("019e7d00-1111-7000-8000-000000000001")), Step::Copied);
        assert_eq!(thread.step(&word), Step::Copied);
        assert_eq!(thread.copied_from.as_deref(), Some(PARENT));
        assert_eq!(thread.step(&turn("019e7da4-8c7b-7d32-8611-003cacb5c34b")), Step::Own);
        assert_eq!(thread.step(&word), Step::Own);
    }

    #[test]
    fn repeated_header_ends_a_copy_too() {
        let mut thread = Thread::new(Path::new("x.jsonl"));
        thread.step(&meta(OWN, None));
        assert_eq!(thread.step(&meta(OWN, None)), Step::Header);
        assert_eq!(thread.step(&meta(PARENT, None)), Step::Copied);
        assert_eq!(thread.step(&meta(OWN, None)), Step::Header);
        assert_eq!(thread.step(&json!({"type": "event_msg"})), Step::Own);
    }

    #[test]
    fn turns_without_dated_ids_are_told_by_their_time() {
        let mut thread = Thread::new(Path::new("x.jsonl"));
        thread.step(&meta(OWN, Some(PARENT)));
        let said = |time: &str| json!({"timestamp": time, "type": "event_msg", "payload": {"type": "user_message"}});
        assert_eq!(thread.step(&said("2026-05-31T10:46:34.200Z")), Step::Copied);
        assert_eq!(thread.step(&said("2026-05-31T10:47:34.200Z")), Step::Own);
    }

    #[test]
    fn name_with_two_ids_names_the_thread_by_the_last() {
        let path = format!("rollout-2026-09-21T10-00-00-{PARENT}_{OWN}.jsonl");
        let mut thread = Thread::new(Path::new(&path));
        assert_eq!(thread.step(&meta(PARENT, None)), Step::Header);
        assert_eq!(thread.id.as_deref(), Some(OWN));
        assert_eq!(thread.step(&json!({"type": "event_msg"})), Step::Copied);
        assert_eq!(thread_of_name(Path::new(&format!("rollout-2026-{OWN}.jsonl"))), None);
        assert_eq!(thread_of_name(Path::new("ü_ü.jsonl")), None);
    }
}
