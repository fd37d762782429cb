//! Front matter of Markdown: YAML between two lines of dashes.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Splits a text into its front matter, if it has one, and the rest.
pub fn split(text: &str) -> (Option<&str>, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else { return (None, text) };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return (Some(&rest[..at]), &rest[at + line.len()..]);
        }
        at += line.len();
    }
    (None, text)
}

/// Reads front matter.
///
/// # Errors
/// A description of the fault, in one line.
pub fn read<T: DeserializeOwned>(front: &str) -> Result<T, String> {
    serde_saphyr::from_str(front).map_err(|error| {
        let told = error.to_string();
        told.lines().next().unwrap_or("its front matter is not YAML").to_owned()
    })
}

/// Reads front matter of any kind; what is not YAML is nothing.
pub fn value(text: &str) -> Value {
    split(text).0.and_then(|front| read(front).ok()).unwrap_or(Value::Null)
}

/// Returns the strings of a value: those of a list, or a single one, with commas between them.
pub fn strings(value: &Value) -> Vec<String> {
    let given: Vec<&str> = match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        Value::String(text) => text.split(',').collect(),
        _ => Vec::new(),
    };
    given.into_iter().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn front_matter_is_split_off_and_read_whatever_the_lines_end_with() {
        for text in ["---\na: 1\n---\nbody\n", "\u{feff}---\r\na: 1\r\n---\r\nbody\n", "---\na: 1\n---  \nbody\n"] {
            assert_eq!((value(text), split(text).1), (json!({"a": 1}), "body\n"), "{text:?}");
        }
        for text in ["", "---", "---\na: 1\n", "text\n---\na: 1\n---\n", "----\n---\n"] {
            assert_eq!(split(text).0, None, "{text:?}");
        }
        assert_eq!(value("---\n- : : {\n---\n"), Value::Null);
        // An alias that would grow without end is refused.
        let bomb = format!(
            "a: &a [x,x,x,x,x,x,x,x,x]\n{}",
            ('b'..'k')
                .map(|name| {
                    let before = (name as u8 - 1) as char;
                    format!("{name}: &{name} [{}]\n", vec![format!("*{before}"); 9].join(","))
                })
                .collect::<String>()
        );
        assert!(read::<Value>(&bomb).is_err());
    }

    #[test]
    fn lists_and_texts_are_strings() {
        assert_eq!(strings(&json!(["a", " b ", 1, ""])), ["a", "b"]);
        assert_eq!(strings(&json!("a, b")), ["a", "b"]);
        assert!(strings(&json!({"a": 1})).is_empty());
    }
}
