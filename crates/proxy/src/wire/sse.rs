//! Splits the body of an answer into its JSON values: one, a list or lines of them, or a stream of server-sent events.

use serde_json::Value;
use serde_json::value::RawValue;

use super::raw;

/// The data of the event with which OpenAI's streams end.
const DONE: &str = "[DONE]";

/// The values of an answer, in their order. Text that is no JSON, such as an event that broke off, is left out.
pub(super) struct Frames {
    /// Each value, with the name of its event where the stream names it.
    pub(super) values: Vec<Frame>,
    /// True if OpenAI's end mark came.
    pub(super) is_done: bool,
}

/// A value of an answer.
pub(super) struct Frame {
    /// Name of the event, empty if there is none.
    event: String,
    /// The value.
    pub(super) value: Value,
}

impl Frame {
    /// Returns the type of the value, or the name of its event if the value has none.
    pub(super) fn kind(&self) -> &str {
        self.value.get("type").and_then(Value::as_str).unwrap_or(&self.event)
    }

    /// Returns the error that a server sends in place of an answer or in the middle of one.
    pub(super) fn is_error(&self) -> bool {
        self.kind() == "error" || self.value.get("error").is_some_and(|error| !error.is_null())
    }
}

/// Reads an answer. Servers send errors as JSON under the content type of a stream, and streams under that of JSON, so that the
/// first byte decides between both.
pub(super) fn frames(body: &[u8]) -> Frames {
    // A stream may break off within a character.
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}').trim_start_matches(raw::is_space);
    if text.starts_with(['{', '[']) { Frames { values: values(text), is_done: false } } else { events(text) }
}

/// Reads JSON values one after the other, also those of a list, up to the first that is not whole.
fn values(text: &str) -> Vec<Frame> {
    let mut rest = text.strip_prefix('[').unwrap_or(text);
    let mut values = Vec::new();
    loop {
        rest = rest.trim_start_matches(|letter| raw::is_space(letter) || letter == ',');
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let Some(Ok(json)) = stream.next() else { return values };
        let end = stream.byte_offset();
        values.extend(raw::value(json.get()).map(|value| Frame { event: String::new(), value }));
        match rest.get(end..) {
            Some(after) if end > 0 => rest = after,
            _ => return values,
        }
    }
}

/// Reads server-sent events: lines end with CR, LF or both; a last event without an empty line after it counts if it is whole.
fn events(text: &str) -> Frames {
    let mut frames = Frames { values: Vec::new(), is_done: false };
    let (mut event, mut data): (String, Option<String>) = (String::new(), None);
    let text = text.replace("\r\n", "\n");
    for line in text.split(['\n', '\r']) {
        if line.is_empty() {
            frames.take(std::mem::take(&mut event), data.take());
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut event),
            "data" => match &mut data {
                None => data = Some(value.to_owned()),
                Some(before) => {
                    before.push('\n');
                    before.push_str(value);
                }
            },
            // A comment, or a field that carries no content.
            _ => {}
        }
    }
    frames.take(event, data);
    frames
}

impl Frames {
    fn take(&mut self, event: String, data: Option<String>) {
        let Some(data) = data else { return };
        if data.trim() == DONE {
            self.is_done = true;
        } else if let Some(value) = raw::value(&data) {
            self.values.push(Frame { event, value });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: &str) -> Vec<Value> {
        frames(body.as_bytes()).values.into_iter().map(|frame| frame.value).collect()
    }

    #[test]
    fn every_line_end_and_comments_are_read() {
        for end in ["\n", "\r\n", "\r"] {
            let body = [": ping", "id: 7", "event: a", "data: {\"x\":", "data:1}", "", "data: 2", "", ""].join(end);
            assert_eq!(read(&body), [json!({"x": 1}), json!(2)], "{end:?}");
        }
    }

    #[test]
    fn an_event_without_type_has_the_name_of_its_line() {
        let found = frames(b"event: ping\ndata: {}\n\nevent: a\ndata: {\"type\":\"b\"}\n\ndata: {}\n\n");
        let kinds: Vec<&str> = found.values.iter().map(Frame::kind).collect();
        assert_eq!(kinds, ["ping", "b", ""]);
    }

    #[test]
    fn a_torn_event_is_left_out_and_a_whole_last_one_counts() {
        assert_eq!(read("data: {\"a\":1}\n\ndata: {\"a\":2"), [json!({"a": 1})]);
        assert_eq!(read("data: {\"a\":1}"), [json!({"a": 1})]);
        assert!(frames(b"data: [DONE]").is_done);
        assert!(!frames(b"data: [DON").is_done);
    }

    #[test]
    fn many_lines_of_one_event_are_read_in_linear_time() {
        let body = format!("data: [\n{}data: 0]\n\n", "data: 0,\n".repeat(50_000));
        assert_eq!(read(&body).first().and_then(Value::as_array).map(Vec::len), Some(50_001));
    }

    #[test]
    fn lists_and_lines_of_values_are_read_up_to_where_they_broke_off() {
        assert_eq!(read("{\"a\":1}\n{\"a\":2}\n{\"a\""), [json!({"a": 1}), json!({"a": 2})]);
        assert_eq!(read("[{\"a\":1}\n,\r\n{\"a\":2},{\"a\""), [json!({"a": 1}), json!({"a": 2})]);
        assert_eq!(read("[{\"a\":1}]"), [json!({"a": 1})]);
        assert!(read("[").is_empty());
    }

    #[test]
    fn a_character_that_broke_off_loses_only_its_event() {
        let whole = "data: {\"a\":1}\n\ndata: {\"a\":\"é".as_bytes();
        let found = frames(&whole[..whole.len() - 1]);
        assert_eq!(found.values.len(), 1);
    }

    #[test]
    fn a_page_of_a_web_server_has_no_values() {
        assert!(frames(b"<html>\ndata: none\n</html>").values.is_empty());
        assert!(frames(b"\"data\"").values.is_empty());
    }
}
