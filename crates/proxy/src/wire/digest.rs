//! Collects the parts of a message and digests them in a form that does not depend on how a client writes them.

use serde_json::Value;

use super::raw::{self, Item, Object};
use crate::{Digest, Message, Part, Role};

/// Marks of a provider's cache, which clients move from message to message.
pub(super) const MARKS: [&str; 3] = ["cache_control", "copilot_cache_control", "prompt_cache_breakpoint"];

/// A message that is being read.
///
/// The digest is BLAKE3 over the role and the parts; each piece has a tag and each string its length before it, so that no two
/// messages share a form.
pub(super) struct Draft {
    role: Role,
    parts: Vec<Part>,
    hasher: blake3::Hasher,
}

impl Draft {
    pub(super) fn new(role: Role) -> Self {
        let mut hasher = blake3::Hasher::new();
        let tag = match role {
            Role::System => b's',
            Role::User => b'u',
            Role::Assistant => b'a',
            Role::Tool => b't',
        };
        hasher.update(&[tag]);
        Self { role, parts: Vec::new(), hasher }
    }

    /// Adds words. Empty ones are left out: some clients write an empty string where others write none.
    pub(super) fn text(&mut self, text: String) {
        if !text.is_empty() {
            self.tag(b'T');
            self.string(&text);
            self.parts.push(Part::Text(text));
        }
    }

    /// Adds reasoning; empty one is left out.
    pub(super) fn reasoning(&mut self, text: String) {
        if !text.is_empty() {
            self.tag(b'R');
            self.string(&text);
            self.parts.push(Part::Reasoning(text));
        }
    }

    /// Adds a call of a tool.
    pub(super) fn call(&mut self, id: Option<String>, name: String, input: Value) {
        self.tag(b'C');
        self.option(id.as_deref());
        self.string(&name);
        self.value(&input);
        self.parts.push(Part::Call { id, name, input });
    }

    /// Adds the result of a tool.
    pub(super) fn outcome(&mut self, id: Option<String>, name: Option<String>, result: ResultText<'_>, is_error: bool) {
        self.tag(b'O');
        self.option(id.as_deref());
        self.option(name.as_deref());
        self.string(&result.text);
        self.tag(u8::from(is_error));
        for rest in result.rest {
            self.raw(rest);
        }
        self.parts.push(Part::Outcome { id, name, text: result.text, is_error });
    }

    /// Adds a part of another kind by all its fields.
    pub(super) fn other(&mut self, kind: String, part: &Object<'_>) {
        self.tag(b'X');
        self.string(&kind);
        let mut fields: Vec<_> = part.fields().filter(|(key, _)| !MARKS.contains(key)).collect();
        fields.sort_unstable();
        self.tag(b'{');
        self.number(fields.len());
        for (key, json) in fields {
            self.string(key);
            self.raw(json);
        }
        self.parts.push(Part::Other(kind));
    }

    /// Adds a part of another kind by its JSON.
    pub(super) fn json(&mut self, kind: &str, json: &str) {
        self.tag(b'X');
        self.string(kind);
        self.raw(json);
        self.parts.push(Part::Other(kind.to_owned()));
    }

    /// Adds the parts of a list; what is no object there is a part without a name.
    pub(super) fn each(&mut self, list: &str, read: impl Fn(&mut Self, &Object<'_>)) {
        for item in raw::items(list) {
            match item {
                Item::Object(part) => read(self, &part),
                Item::Other(json) => self.json("", json),
            }
        }
    }

    /// Returns whether nothing was added yet.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the parts alone.
    pub(super) fn into_parts(self) -> Vec<Part> {
        self.parts
    }

    /// Returns the message with its digest.
    pub(super) fn finish(self) -> Message {
        let mut digest = Digest::default();
        digest.iter_mut().zip(self.hasher.finalize().as_bytes()).for_each(|(to, from)| *to = *from);
        Message { role: self.role, parts: self.parts, digest }
    }

    fn tag(&mut self, tag: u8) {
        self.hasher.update(&[tag]);
    }

    fn number(&mut self, number: usize) {
        self.hasher.update(&(number as u64).to_le_bytes());
    }

    fn string(&mut self, text: &str) {
        self.number(text.len());
        self.hasher.update(text.as_bytes());
    }

    fn option(&mut self, text: Option<&str>) {
        match text {
            Some(text) => {
                self.tag(1);
                self.string(text);
            }
            None => self.tag(0),
        }
    }

    fn raw(&mut self, json: &str) {
        match raw::value(json) {
            Some(value) => self.value(&value),
            // Nested too deeply to be read.
            None => {
                self.tag(b'!');
                self.string(json);
            }
        }
    }

    /// The recursion ends at the depth to which `serde_json` reads values.
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.tag(b'0'),
            Value::Bool(is) => self.tag(if *is { b'+' } else { b'-' }),
            Value::Number(number) => {
                self.tag(b'#');
                self.string(&number.to_string());
            }
            Value::String(text) => {
                self.tag(b'"');
                self.string(text);
            }
            Value::Array(items) => {
                self.tag(b'[');
                self.number(items.len());
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().filter(|(key, _)| !MARKS.contains(&key.as_str())).collect();
                fields.sort_unstable_by_key(|(key, _)| *key);
                self.tag(b'{');
                self.number(fields.len());
                for (key, value) in fields {
                    self.string(key);
                    self.value(value);
                }
            }
        }
    }
}

/// The result of a tool: its words, and the JSON of other things in it, such as images.
#[derive(Default)]
pub(super) struct ResultText<'a> {
    pub(super) text: String,
    pub(super) rest: Vec<&'a str>,
}

impl<'a> ResultText<'a> {
    /// Reads a result that is a string, a list of blocks with texts, or any other JSON, which becomes the text.
    pub(super) fn read(json: Option<&'a str>) -> Self {
        let Some(json) = json.filter(|json| *json != "null") else { return Self::default() };
        if let Some(text) = raw::text(json) {
            return Self { text, rest: Vec::new() };
        }
        let Some(blocks) = raw::list(json) else { return Self { text: json.to_owned(), rest: Vec::new() } };
        let (mut texts, mut rest) = (Vec::new(), Vec::new());
        for block in blocks {
            let text = raw::text(block).or_else(|| raw::Object::parse(block)?.text("text"));
            match text {
                Some(text) => texts.push(text),
                None => rest.push(block),
            }
        }
        Self { text: texts.join("\n"), rest }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn digest(fill: impl FnOnce(&mut Draft)) -> Digest {
        let mut draft = Draft::new(Role::User);
        fill(&mut draft);
        draft.finish().digest
    }

    #[test]
    fn borders_between_parts_count() {
        let one = digest(|draft| draft.text("ab".to_owned()));
        let two = digest(|draft| {
            draft.text("a".to_owned());
            draft.text("b".to_owned());
        });
        assert_ne!(one, two);
        assert_ne!(one, digest(|draft| draft.reasoning("ab".to_owned())));
        assert_ne!(one, Draft::new(Role::User).finish().digest);
    }

    #[test]
    fn the_order_of_keys_and_marks_of_the_cache_do_not_count() {
        let call = |input: Value| digest(|draft| draft.call(None, "read".to_owned(), input));
        assert_eq!(call(json!({"a": 1, "b": {"c": [], "d": null}})), call(json!({"b": {"d": null, "c": []}, "a": 1})));
        assert_ne!(call(json!({"a": [1, 2]})), call(json!({"a": [2, 1]})));
        let image = |json: &str| digest(|draft| draft.other("image".to_owned(), &Object::parse(json).unwrap()));
        assert_eq!(
            image(r#"{"source":{"data":"x"},"cache_control":{"type":"ephemeral"}}"#),
            image(r#"{ "source": { "data": "x" } }"#)
        );
        assert_ne!(image(r#"{"source":{"data":"x"}}"#), image(r#"{"source":{"data":"y"}}"#));
    }

    #[test]
    fn digests_are_those_of_earlier_versions() {
        // Callers may store them: another form forgets all conversations.
        let digest = digest(|draft| {
            draft.text("a".to_owned());
            draft.call(Some("id".to_owned()), "read".to_owned(), json!({"b": [1, 2.5, true, null], "a": "x"}));
            draft.outcome(None, Some("read".to_owned()), ResultText::read(Some("\"y\"")), true);
            draft.json("image", r#"{"data":"z"}"#);
        });
        assert_eq!(format!("{:032x}", u128::from_be_bytes(digest)), "4287f22bf30f0851e9afa106ed227e21");
    }

    #[test]
    fn a_part_and_its_json_have_one_digest() {
        let json = r#"{"type":"image","cache_control":{},"source":{"data":"x"}}"#;
        let part = digest(|draft| draft.other("image".to_owned(), &Object::parse(json).unwrap()));
        assert_eq!(part, digest(|draft| draft.json("image", json)));
    }

    #[test]
    fn images_in_a_result_count() {
        let result = |image: &str| {
            let json = format!(r#"[{{"type":"text","text":"a"}},{{"type":"image","source":"{image}"}}]"#);
            digest(|draft| draft.outcome(None, None, ResultText::read(Some(&json)), false))
        };
        assert_eq!(result("x"), result("x"));
        assert_ne!(result("x"), result("y"));
    }
}
