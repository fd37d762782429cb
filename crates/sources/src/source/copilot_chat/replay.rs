//! Replays a Copilot Chat log of changes to the value that it describes. `{kind: 0, v}` sets the whole value, `{kind: 1, k, v}`
//! sets the value at a path, `{kind: 2, k, v, i}` appends to a list (after cutting it to length `i`), `{kind: 3, k}` removes a
//! value.
//!
//! The value is what the window shows. A request that a change removes was said all the same: it is kept as a hidden one.

use std::fs::File;
use std::io;
use std::path::Path;

use serde_json::{Map, Value};

use crate::lines::{Line, Lines, MAX_LINE_BYTES};
use crate::parse::parse_line;

/// Maximum length of a path. Longer paths do not occur in a session.
const MAX_PATH: usize = 32;

/// Returns the value at the end of a log, and the number of changes that could not be made.
///
/// # Errors
/// When the file cannot be read, or is larger than `max_bytes`.
pub(super) fn replay(path: &Path, max_bytes: u64) -> io::Result<(Value, u64)> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    if size > max_bytes {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the log is larger than any of its kind"));
    }
    let mut lines = Lines::new(file, 0, size, MAX_LINE_BYTES)?;
    let mut state = Value::Null;
    let mut removed = Vec::new();
    let mut values = Vec::new();
    let mut lost = 0;
    while let Some(line) = lines.next_line()? {
        let is_whole = match line {
            Line::Complete { is_terminated, .. } => {
                // The last line may be half written.
                parse_line(lines.bytes(), &mut values).is_ok() || lines.bytes().is_empty() || !is_terminated
            }
            Line::TooLong { .. } => {
                values.clear();
                false
            }
        };
        lost += u64::from(!is_whole);
        for change in values.drain(..) {
            removed.extend(removed_requests(&state, &change));
            lost += u64::from(!apply(&mut state, change));
        }
    }
    keep_removed(&mut state, removed);
    Ok((state, lost))
}

/// Returns the requests of which a change makes others, fewer or none.
fn removed_requests(state: &Value, change: &Value) -> Vec<Value> {
    let requests = state["requests"].as_array().map_or(&[][..], Vec::as_slice);
    let path = change["k"].as_array().map_or(&[][..], Vec::as_slice);
    let is_of_requests = path.first().is_none_or(|first| first == "requests");
    let from = match (change["kind"].as_u64(), path) {
        (Some(0), _) => 0,
        (Some(1 | 3), [_]) => 0,
        (Some(1 | 3), [_, at]) => {
            return at
                .as_u64()
                .and_then(|at| requests.get(usize::try_from(at).ok()?))
                .filter(|_| is_of_requests)
                .cloned()
                .into_iter()
                .collect();
        }
        (Some(2), [_]) => change["i"].as_u64().and_then(|length| usize::try_from(length).ok()).unwrap_or(usize::MAX),
        _ => return Vec::new(),
    };
    if is_of_requests { requests.get(from..).unwrap_or_default().to_vec() } else { Vec::new() }
}

/// Adds removed requests that the value no longer has, as hidden ones, where their times place them.
fn keep_removed(state: &mut Value, removed: Vec<Value>) {
    let Some(requests) = state.get_mut("requests").and_then(Value::as_array_mut) else { return };
    // The last copy of a removed request has the most of its response.
    for mut request in removed.into_iter().rev() {
        let is_there = match request["requestId"].as_str() {
            Some(id) => requests.iter().any(|known| known["requestId"] == id),
            None => !request.is_object() || requests.contains(&request),
        };
        if !is_there {
            request["isHidden"] = true.into();
            let at = request["timestamp"].as_f64();
            let next =
                requests.iter().position(|known| known["timestamp"].as_f64().zip(at).is_some_and(|(known, at)| known > at));
            requests.insert(next.unwrap_or(requests.len()), request);
        }
    }
}

/// Makes one change. Returns whether it could be made.
fn apply(state: &mut Value, mut change: Value) -> bool {
    let kind = change["kind"].as_u64();
    let value = change.get_mut("v").map(Value::take);
    let path = match change.get_mut("k").map(Value::take) {
        Some(Value::Array(path)) if path.len() <= MAX_PATH => path,
        None if kind == Some(0) => Vec::new(),
        _ => return false,
    };
    match kind {
        Some(0) => *state = value.unwrap_or_default(),
        Some(1) => match place(state, &path) {
            Some(place) => *place = value.unwrap_or_default(),
            None => return false,
        },
        Some(2) => {
            let Some(place) = place(state, &path) else { return false };
            if place.is_null() {
                *place = Value::Array(Vec::new());
            }
            let Some(list) = place.as_array_mut() else { return false };
            if let Some(length) = change["i"].as_u64() {
                list.truncate(usize::try_from(length).unwrap_or(usize::MAX));
            }
            match value {
                Some(Value::Array(more)) => list.extend(more),
                None | Some(Value::Null) => {}
                Some(_) => return false,
            }
        }
        Some(3) => {
            let Some((last, above)) = path.split_last() else { return false };
            match (place(state, above), last) {
                (Some(Value::Object(map)), Value::String(key)) => {
                    map.shift_remove(key);
                }
                // An item removed from a list leaves a gap, as in the program that wrote the log.
                (Some(Value::Array(list)), Value::Number(at)) => {
                    if let Some(item) = at.as_u64().and_then(|at| list.get_mut(usize::try_from(at).ok()?)) {
                        *item = Value::Null;
                    }
                }
                _ => return false,
            }
        }
        _ => return false,
    }
    true
}

/// Returns the value at a path, creating missing values. A list grows by one item at most.
fn place<'v>(mut at: &'v mut Value, path: &[Value]) -> Option<&'v mut Value> {
    for key in path {
        if at.is_null() {
            *at = if key.is_number() { Value::Array(Vec::new()) } else { Value::Object(Map::new()) };
        }
        at = match (at, key) {
            (Value::Object(map), Value::String(key)) => map.entry(key.as_str()).or_insert(Value::Null),
            (Value::Array(list), Value::Number(index)) => {
                let index = usize::try_from(index.as_u64()?).ok()?;
                if index == list.len() {
                    list.push(Value::Null);
                }
                list.get_mut(index)?
            }
            _ => return None,
        };
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_are_made_in_order() {
        let mut state = Value::Null;
        for change in [
            json!({"kind": 0, "v": {"requests": [], "title": "x"}}),
            json!({"kind": 2, "k": ["requests"], "v": [{"id": 1}, {"id": 2}]}),
            json!({"kind": 1, "k": ["requests", 1, "response"], "v": ["a", "b"]}),
            json!({"kind": 2, "k": ["requests", 1, "response"], "v": ["c"], "i": 1}),
            json!({"kind": 2, "k": ["requests", 0, "response"], "v": ["new"]}),
            json!({"kind": 3, "k": ["title"]}),
        ] {
            assert!(apply(&mut state, change.clone()), "{change}");
        }
        assert_eq!(state, json!({"requests": [{"id": 1, "response": ["new"]}, {"id": 2, "response": ["a", "c"]}]}));
    }

    #[test]
    fn requests_that_a_change_removes_are_kept_as_hidden_ones() {
        let request = |id: &str, at: u64| json!({"requestId": id, "timestamp": at, "message": id});
        let all = || json!({"requests": [request("a", 1), request("b", 2), request("c", 3)]});
        for (change, expected) in [
            (json!({"kind": 2, "k": ["requests"], "i": 1, "v": [request("d", 4)]}), "a b! c! d"),
            (json!({"kind": 1, "k": ["requests"], "v": [request("a", 1)]}), "a b! c!"),
            (json!({"kind": 1, "k": ["requests", 1], "v": request("d", 4)}), "a b! d c"),
            (json!({"kind": 0, "v": {"requests": [request("c", 3)]}}), "a! b! c"),
            (json!({"kind": 2, "k": ["requests"], "v": [request("d", 4)]}), "a b c d"),
            (json!({"kind": 1, "k": ["title"], "v": "x"}), "a b c"),
        ] {
            let mut state = all();
            let removed = removed_requests(&state, &change);
            assert!(apply(&mut state, change.clone()), "{change}");
            keep_removed(&mut state, removed);
            let told: Vec<String> = state["requests"]
                .as_array()
                .unwrap()
                .iter()
                .map(|request| {
                    let hidden = if request["isHidden"] == true { "!" } else { "" };
                    format!("{}{hidden}", request["requestId"].as_str().unwrap())
                })
                .collect();
            assert_eq!(told.join(" "), expected, "{change}");
        }
    }

    #[test]
    fn changes_that_lead_nowhere_are_refused() {
        let mut state = json!({"requests": ["x"]});
        for change in [
            json!({"kind": 1, "k": ["requests", 4_000_000_000_u64], "v": 1}),
            json!({"kind": 1, "k": ["requests", -1], "v": 1}),
            json!({"kind": 1, "k": ["requests", "name"], "v": 1}),
            json!({"kind": 1, "k": ["requests", 0, "deeper"], "v": 1}),
            json!({"kind": 2, "k": ["requests"], "v": 7}),
            json!({"kind": 3, "k": []}),
            json!({"kind": 9, "k": []}),
            json!({"k": 5}),
            json!(null),
        ] {
            assert!(!apply(&mut state, change.clone()), "{change}");
        }
        assert_eq!(state, json!({"requests": ["x"]}));
    }

    proptest! {
        #[test]
        fn any_change_is_made_or_refused_without_panic(
            kinds in proptest::collection::vec((0u64..5, proptest::collection::vec(0u64..3, 0..3), 0u64..4), 0..12)
        ) {
            let mut state = Value::Null;
            for (kind, path, cut) in kinds {
                apply(&mut state, json!({"kind": kind, "k": path, "v": [1, {"a": []}], "i": cut}));
            }
        }
    }
}
