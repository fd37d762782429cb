//! Parses a physical line into its JSON values: tolerates errors, but never invents content.

use std::borrow::Cow;

use serde_json::Value;
use yore_core::text::without_lone_surrogates;

/// Why a line is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotJson {
    /// Only white space and NUL bytes, which some writers leave after a crash.
    Empty,
    /// Not JSON, or cut off. The values before the error were read.
    Invalid,
}

/// Reads all values of a line into `values`; there are several if records were glued together. Bytes that are
/// not UTF-8, and lone surrogates, become replacement characters.
pub fn parse_line(bytes: &[u8], values: &mut Vec<Value>) -> Result<(), NotJson> {
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

/// Returns whether an unterminated last line is complete all the same: exactly one whole object.
pub fn is_whole_object(bytes: &[u8]) -> bool {
    let mut values = Vec::new();
    parse_line(bytes, &mut values).is_ok() && matches!(values.as_slice(), [Value::Object(_)])
}

/// The value of a whole file, and how much of it was read.
#[derive(Debug)]
pub struct Document {
    /// The value, without the unreadable part.
    pub value: Value,
    /// Reason and detail, if a part could not be read.
    pub damage: Option<(&'static str, String)>,
}

/// Reads the single value of a file: all of it, or the part before a cut or damage. Of the outermost list
/// that contains the damage, the elements before it are kept, but nothing of the damaged element: half a
/// message would count as a different one once the file is whole. Returns `None` for an empty file, or if
/// nothing is left.
pub fn parse_document(bytes: &[u8]) -> Option<Document> {
    let wide = match bytes {
        [0xFF, 0xFE, rest @ ..] => {
            Some(rest.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect::<Vec<_>>())
        }
        [0xFE, 0xFF, rest @ ..] => {
            Some(rest.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect::<Vec<_>>())
        }
        _ => None,
    };
    // Some shells write the output of a program in UTF-16.
    let decoded = wide.map(|units| String::from_utf16_lossy(&units));
    let bytes = trim(decoded.as_ref().map_or(bytes, |text| text.as_bytes()));
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Some(Document { value, damage: None });
    }
    let text = String::from_utf8_lossy(bytes);
    let is_utf8 = matches!(text, Cow::Borrowed(_));
    let text = without_lone_surrogates(&text);
    if let Ok(value) = serde_json::from_str(&text) {
        let damage = (!is_utf8).then(|| ("not-utf8", String::new()));
        return Some(Document { value, damage });
    }
    let text = without_control_characters(&text);
    let error = match serde_json::from_str(&text) {
        Ok(value) => return Some(Document { value, damage: Some(("damaged", "control characters".to_owned())) }),
        Err(error) => error,
    };
    let is_cut = error.is_eof();
    let end = if is_cut { text.len() } else { offset_of(&text, error.line(), error.column()) };
    let (kept, value) = closed(&text[..text.floor_char_boundary(end)])
        .and_then(|(kept, closed)| Some((kept, serde_json::from_str::<Value>(&closed).ok()?)))?;
    let lost = format!("{} of {} bytes are lost", text.len() - kept, text.len());
    Some(Document { value, damage: Some((if is_cut { "cut-off" } else { "damaged" }, lost)) })
}

/// Converts a line and column (from 1), as serde_json reports them, to a byte offset.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let start = match line.checked_sub(2) {
        Some(before) => memchr::memchr_iter(b'\n', text.as_bytes()).nth(before).map_or(text.len(), |at| at + 1),
        None => 0,
    };
    (start + column.saturating_sub(1)).min(text.len())
}

/// Replaces control characters within strings, and NUL anywhere, with spaces.
fn without_control_characters(text: &str) -> String {
    let (mut is_string, mut is_escaped) = (false, false);
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        let is_blanked = character == '\0' || is_string && character.is_ascii_control() && character != '\u{7f}';
        out.push(if is_blanked { ' ' } else { character });
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_string => is_escaped = true,
            '"' => is_string = !is_string,
            _ => {}
        }
    }
    out
}

/// Cuts the beginning of a value back to the end of the last whole element of its outermost open list (of its
/// outermost object if no list is open), and closes it. Returns the number of bytes kept and the text.
fn closed(text: &str) -> Option<(usize, String)> {
    // Each open container, and the end of its last whole element.
    let mut open: Vec<(u8, usize)> = Vec::new();
    let (mut is_string, mut is_escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        if is_string {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => is_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => is_string = true,
            b'{' | b'[' => open.push((byte, at + 1)),
            b'}' | b']' => {
                open.pop();
                if let Some((_, end)) = open.last_mut() {
                    *end = at + 1;
                }
            }
            b',' => {
                if let Some((_, end)) = open.last_mut() {
                    *end = at;
                }
            }
            _ => {}
        }
    }
    let kept = open.iter().position(|(bracket, _)| *bracket == b'[').unwrap_or(0);
    let (_, end) = *open.get(kept)?;
    let mut whole = text[..end].to_owned();
    whole.extend(open[..=kept].iter().rev().map(|(bracket, _)| if *bracket == b'[' { ']' } else { '}' }));
    Some((end, whole))
}

/// Removes white space and NUL around a value, and the byte order mark.
fn trim(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let is_padding = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let start = bytes.iter().position(|byte| !is_padding(byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !is_padding(byte)).map_or(start, |at| at + 1);
    &bytes[start..end]
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
    fn whole_elements_before_a_cut_are_kept() {
        let document =
            |bytes: &[u8]| parse_document(bytes).map(|found| (found.value.to_string(), found.damage.map(|(why, _)| why)));
        let whole = br#"{"id":"s","list":[{"n":1,"in":[1,2]},{"n":2,"in":[3,4]}],"end":true}"#;
        assert_eq!(document(whole), Some((String::from_utf8_lossy(whole).into_owned(), None)));
        for (cut, kept) in [
            (48, r#"{"id":"s","list":[{"n":1,"in":[1,2]}]}"#),
            (58, r#"{"id":"s","list":[{"n":1,"in":[1,2]},{"n":2,"in":[3,4]}]}"#),
            (60, r#"{"id":"s","list":[{"n":1,"in":[1,2]},{"n":2,"in":[3,4]}]}"#),
            (14, r#"{"id":"s"}"#),
            (3, "{}"),
        ] {
            assert_eq!(document(&whole[..cut]), Some((kept.to_owned(), Some("cut-off"))), "{cut}");
        }
        assert_eq!(document(b""), None);
        assert_eq!(document(b"<html>"), None);
        assert_eq!(document(b"[1,2,nonsense,3]"), Some(("[1,2]".to_owned(), Some("damaged"))));
        assert_eq!(document(b"\n[\n1,\n2,\nnonsense,3]"), Some(("[1,2]".to_owned(), Some("damaged"))));
    }

    #[test]
    fn marks_padding_and_foreign_bytes_do_not_cost_a_document() {
        let document =
            |bytes: &[u8]| parse_document(bytes).map(|found| (found.value.to_string(), found.damage.map(|(why, _)| why)));
        assert_eq!(document(b"\xEF\xBB\xBF{\"a\":1}\n\0\0\0"), Some((r#"{"a":1}"#.to_owned(), None)));
        assert_eq!(document(b"{\"a\":\"\xff\"}"), Some(("{\"a\":\"\u{fffd}\"}".to_owned(), Some("not-utf8"))));
        assert_eq!(document(b"{\"a\":\"x\0y\"}"), Some((r#"{"a":"x y"}"#.to_owned(), Some("damaged"))));
        let wide: Vec<u8> = [0xFEFF].into_iter().chain(r#"{"a":"é"}"#.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        assert_eq!(document(&wide), Some((r#"{"a":"é"}"#.to_owned(), None)));
        assert_eq!(parse(b"\xEF\xBB\xBF{\"a\":1}"), (Ok(()), 1));
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
            let _ = parse_document(text.as_bytes());
        }

        #[test]
        fn each_cut_of_a_list_keeps_all_whole_elements(texts in proptest::collection::vec("[a-c\"\\\\{}\\[\\], é]{0,8}", 1..5), cut in 0usize..200) {
            let whole = serde_json::to_string(&serde_json::json!({"list": texts})).unwrap();
            let cut = whole.floor_char_boundary(cut.min(whole.len() - 1));
            let Some(found) = parse_document(&whole.as_bytes()[..cut]) else { return Ok(()) };
            let kept = found.value["list"].as_array().map_or(0, Vec::len);
            let ends_of_whole = |count: usize| {
                let list = serde_json::to_string(&serde_json::json!({"list": texts[..count]})).unwrap();
                list.len() - 2
            };
            prop_assert!(kept <= texts.len());
            // The comma after an element shows that it is whole.
            let whole_before = (1..texts.len()).filter(|count| ends_of_whole(*count) < cut).count();
            prop_assert!(kept >= whole_before, "{kept} of {whole_before} in {}", &whole[..cut]);
            for (at, text) in texts.iter().enumerate().take(kept) {
                prop_assert_eq!(&found.value["list"][at], &serde_json::json!(text));
            }
        }
    }
}
