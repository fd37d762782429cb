//! Reads the rich text of Cursor's input box: a Lexical document, written as JSON in a string.

use serde_json::Value;

use super::super::shapes::text_of;

/// Returns the text of a document; empty if it is not a document.
pub(super) fn words(document: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(document) else { return String::new() };
    let mut words = String::new();
    // The parser limits the depth of a value.
    walk(&value["root"], &mut words);
    words.trim().to_owned()
}

fn walk(node: &Value, words: &mut String) {
    match text_of(node, "type") {
        Some("linebreak") => words.push('\n'),
        Some("tab") => words.push('\t'),
        _ => match text_of(node, "text").or_else(|| text_of(node, "mentionName")) {
            Some(text) => words.push_str(text),
            None => node["children"].as_array().into_iter().flatten().for_each(|child| walk(child, words)),
        },
    }
    if matches!(text_of(node, "type"), Some("paragraph" | "heading" | "quote" | "code" | "listitem")) && !words.ends_with('\n') {
        words.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_mentions_and_lines_are_joined() {
        let document = r#"{"root":{"type":"root","children":[
            {"type":"paragraph","children":[{"type":"text","text":"look at "},{"type":"mention","mentionName":"tide.rs"},
                {"type":"linebreak"},{"type":"text","text":"first"}]},
            {"type":"paragraph","children":[{"type":"text","text":"then go on"}]},{"type":"paragraph","children":[]}]}}"#;
        assert_eq!(words(document), "look at tide.rs\nfirst\nthen go on");
        for broken in ["", "{", "[]", "{\"root\":3}", "null"] {
            assert_eq!(words(broken), "");
        }
    }
}
