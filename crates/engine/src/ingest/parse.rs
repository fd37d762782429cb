//! A physical line to its JSON values: forgiving, but never inventing.

use std::borrow::Cow;

use serde_json::Value;

/// Why a line is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotJson {
    /// Nothing but white space and NUL bytes, which some writers leave after a crash.
    Empty,
    /// No JSON, or cut off; what came before the fault was read.
    Invalid,
}

/// Reads all values of a line into `values`: several where records are glued together. Bytes that
/// are not UTF-8 become replacement characters, lone surrogates too.
pub(crate) fn parse_line(bytes: &[u8], values: &mut Vec<Value>) -> Result<(), NotJson> {
    values.clear();
    let bytes = trim(bytes);
    if bytes.is_empty() {
        return Err(NotJson::Empty);
    }
    if let Ok(value) = serde_json::from_slice(bytes) {
        values.push(value);
        return Ok(());
    }
    let text = String::from_utf8_lossy(bytes);
    let text = without_lone_surrogates(&text);
    for value in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        match value {
            Ok(value) => values.push(value),
            Err(_) => return Err(NotJson::Invalid),
        }
    }
    Ok(())
}

/// Whether an unterminated last line is complete all the same: one whole object.
pub(crate) fn is_whole_object(bytes: &[u8]) -> bool {
    let mut values = Vec::new();
    parse_line(bytes, &mut values).is_ok() && matches!(values.as_slice(), [Value::Object(_)])
}

fn trim(bytes: &[u8]) -> &[u8] {
    let is_padding = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let start = bytes.iter().position(|byte| !is_padding(byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !is_padding(byte)).map_or(start, |at| at + 1);
    &bytes[start..end]
}

/// `\ud83d` without its partner is no character; JSON readers refuse the whole line for it.
fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u32> {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    };
    let mut fixed = String::new();
    let (mut copied, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                fixed.push_str(&text[copied..at]);
                fixed.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            Some(_) => at += 6,
            // An escaped backslash hides what follows.
            None => at += 2,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    fixed.push_str(text.get(copied..).unwrap_or(""));
    Cow::Owned(fixed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(bytes: &[u8]) -> (Result<(), NotJson>, usize) {
        let mut values = Vec::new();
        (parse_line(bytes, &mut values), values.len())
    }

    #[test]
    fn glued_torn_and_padded_lines() {
        assert_eq!(parse(br#"{"a":1}{"b":2}"#), (Ok(()), 2));
        assert_eq!(parse(br#"{"a":1}{"b":"#), (Err(NotJson::Invalid), 1));
        assert_eq!(parse(b"{\"a\":1}\0\0\0"), (Ok(()), 1));
        assert_eq!(parse(b"\0\0"), (Err(NotJson::Empty), 0));
        assert_eq!(parse(b"{\"a\":\"\xff\"}"), (Ok(()), 1));
        assert_eq!(parse(br#"{"a":"\ud83d"}"#), (Ok(()), 1));
        assert!(is_whole_object(br#"{"a":1}"#) && !is_whole_object(br#"{"a":1"#) && !is_whole_object(b"42"));
    }

    #[test]
    fn pairs_and_escaped_backslashes_are_left_alone() {
        assert_eq!(without_lone_surrogates(r#""\ud83d\ude00 \\ud83d""#), r#""\ud83d\ude00 \\ud83d""#);
        assert_eq!(without_lone_surrogates(r#""\ud83dx""#), r#""\ufffdx""#);
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut values = Vec::new();
            let _ = parse_line(&bytes, &mut values);
        }

        #[test]
        fn json_like_text_is_parsed_without_panic(text in r#"[{}\[\]",:\\ud8a0-9é]{0,60}"#) {
            let mut values = Vec::new();
            let _ = parse_line(text.as_bytes(), &mut values);
        }
    }
}
