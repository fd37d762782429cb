//! Reads JSON by spans: every object, list and string is a slice of the body, so that its position there is known.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The byte order mark that some clients write before JSON.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Returns the JSON text of a body without its byte order mark; `None` if the body is not UTF-8.
pub(super) fn document(body: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(body).ok()?;
    Some(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text))
}

/// A JSON object whose values are not read yet.
///
/// `serde_json` skips values without recursion, so nesting of any depth is passed over; [`value`] reads 127 levels at most.
pub(super) struct Object<'a> {
    fields: Vec<(Cow<'a, str>, &'a str)>,
}

/// A field that an object has more than once: servers disagree on which of them counts.
pub(super) struct Twice;

impl<'a> Object<'a> {
    /// Reads an object; `None` for any other value and for invalid JSON.
    pub(super) fn parse(raw: &'a str) -> Option<Self> {
        serde_json::from_str(raw).ok()
    }

    /// Returns the value of a field, the last one if there are several, as `serde_json` does.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// Returns the value of a field that must not occur twice.
    pub(super) fn only(&self, name: &str) -> Result<Option<&'a str>, Twice> {
        let mut found = self.fields.iter().filter(|(key, _)| key == name);
        let value = found.next().map(|(_, value)| *value);
        if found.next().is_some() { Err(Twice) } else { Ok(value) }
    }

    /// Returns the names and the values of the fields in their order.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.fields.iter().map(|(key, value)| (key.as_ref(), *value))
    }

    /// Returns a field that is a string.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(text)
    }

    /// Returns a field that is a list, item by item.
    pub(super) fn list(&self, name: &str) -> Option<Vec<&'a str>> {
        self.get(name).and_then(list)
    }

    /// Returns a field that is an object.
    pub(super) fn object(&self, name: &str) -> Option<Object<'a>> {
        self.get(name).and_then(Object::parse)
    }

    /// Returns the field `type`, empty if there is none.
    pub(super) fn kind(&self) -> String {
        self.text("type").unwrap_or_default()
    }
}

/// Reads a list, item by item; `None` for any other value.
pub(super) fn list(raw: &str) -> Option<Vec<&str>> {
    let items: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}

/// Reads a list of objects; `None` if it holds anything else.
pub(super) fn objects(raw: &str) -> Option<Vec<Object<'_>>> {
    serde_json::from_str(raw).ok()
}

/// An item of a list that should hold objects.
pub(super) enum Item<'a> {
    /// An object.
    Object(Object<'a>),
    /// Another value.
    Other(&'a str),
}

/// Reads a list that should hold objects, none for any other value.
pub(super) fn items(raw: &str) -> Vec<Item<'_>> {
    if let Some(objects) = objects(raw) {
        return objects.into_iter().map(Item::Object).collect();
    }
    let items = list(raw).unwrap_or_default();
    items.into_iter().map(|item| Object::parse(item).map_or(Item::Other(item), Item::Object)).collect()
}

/// Reads a string; `None` for any other value. Halves of surrogate pairs, which JavaScript lets through, become U+FFFD.
pub(super) fn text(raw: &str) -> Option<String> {
    // Lists and objects of bytes would be read as a string too.
    if !raw.trim_start_matches(is_space).starts_with('"') {
        return None;
    }
    // The way by bytes checks the text once more.
    serde_json::from_str(raw).or_else(|_| serde_json::from_str(raw).map(|Text(text)| text.into_owned())).ok()
}

/// Reads a value of any kind; `None` for invalid JSON and for nesting beyond 127 levels.
pub(super) fn value(raw: &str) -> Option<Value> {
    serde_json::from_str(raw).ok().or_else(|| serde_json::from_str(&with_whole_surrogates(raw)?).ok())
}

/// Reads a value of any kind; one that cannot be read is returned as a string of its JSON.
pub(super) fn value_or_raw(raw: &str) -> Value {
    value(raw).unwrap_or_else(|| Value::String(raw.to_owned()))
}

/// Returns whether a character is white space in JSON.
pub(super) fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r')
}

/// Replaces escapes of single surrogates by that of U+FFFD; `None` if there are none.
fn with_whole_surrogates(raw: &str) -> Option<String> {
    let unit = |at: usize| -> Option<u32> {
        let digits = raw.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let (mut mended, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(found) = raw.get(at..).and_then(|rest| rest.find('\\')) {
        let escape = at + found;
        let is_pair = || unit(escape + 6).is_some_and(|low| (0xDC00..0xE000).contains(&low));
        at = match unit(escape) {
            Some(0xD800..0xDC00) if is_pair() => escape + 12,
            Some(0xD800..0xE000) => {
                mended.push_str(raw.get(copied..escape)?);
                mended.push_str("\\ufffd");
                copied = escape + 6;
                copied
            }
            _ => escape + 2,
        };
    }
    mended.push_str(raw.get(copied..)?);
    (copied > 0).then_some(mended)
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Object<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((Text(key), value)) = map.next_entry::<Text<'de>, &RawValue>()? {
            fields.push((key, value.get()));
        }
        Ok(Object { fields })
    }
}

/// A string read as bytes, because `serde_json` refuses single surrogates in any other.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(Text(String::from_utf8_lossy(bytes)))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(String::from_utf8_lossy(bytes).into_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_keeps_the_spans_of_its_values() {
        let raw = " { \"a\" : [1, 2] ,\n\"b\":\"x\" } ";
        let object = Object::parse(raw).unwrap();
        assert_eq!(object.get("a"), Some("[1, 2]"));
        assert_eq!(object.text("b").as_deref(), Some("x"));
        assert!(object.text("a").is_none());
    }

    #[test]
    fn escaped_keys_are_known_and_repeated_ones_are_told() {
        let object = Object::parse(r#"{"\u0061":1,"b":2,"b":3}"#).unwrap();
        assert_eq!(object.get("a"), Some("1"));
        assert_eq!(object.get("b"), Some("3"));
        assert!(object.only("b").is_err());
        assert!(matches!(object.only("c"), Ok(None)));
    }

    #[test]
    fn nesting_of_any_depth_overflows_no_stack() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let object = Object::parse(&deep).unwrap();
        let inner = object.get("a").unwrap();
        assert!(value(inner).is_none());
        assert!(value_or_raw(inner).is_string());
        assert!(Object::parse(&"{\"a\":".repeat(100_000)).is_none());
    }

    #[test]
    fn single_surrogates_are_replaced_and_pairs_are_kept() {
        assert_eq!(text(r#""a\ud83d\ude00""#).unwrap(), "a\u{1f600}");
        assert!(text(r#""a\ud83d""#).unwrap().starts_with("a\u{fffd}"));
        assert_eq!(value(r#"["\ude00\\ud83d", "\ud83d\ude00"]"#).unwrap(), serde_json::json!(["\u{fffd}\\ud83d", "\u{1f600}"]));
        assert!(value(r#"["\ud83"#).is_none());
        assert!(Object::parse(r#"{"\ud83d":1}"#).is_some());
    }

    #[test]
    fn a_list_of_numbers_is_no_string() {
        assert!(text("[65]").is_none());
        assert!(text("null").is_none());
    }
}
