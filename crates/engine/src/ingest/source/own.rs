//! yore's own words in other programs' histories. What an agent was given from this memory comes
//! back in its transcript, and must not be remembered as if somebody had said it again; and what
//! yore asks a model through an agent's program is no session of anybody.

use std::borrow::Cow;

/// The mark around recalled words, each mark on a line of its own.
pub const RECALLED_MARK: &str = "recalled-data";
/// The first line of a prompt by which yore itself asks a model.
pub const OWN_CALL: &str = "<yore-own-call>";

/// Whether a text is the beginning of a conversation that yore itself has with a model.
pub fn is_own_call(text: &str) -> bool {
    text.trim_start().starts_with(OWN_CALL)
}

/// The text without what this memory gave: what stands between marks, and data that begins with
/// the mark. A block whose end is missing goes to the end of the text: agents cut long outputs.
pub fn without_own_words(text: &str) -> Cow<'_, str> {
    if !text.contains(RECALLED_MARK) {
        return Cow::Borrowed(text);
    }
    if is_own_data(text) {
        return Cow::Owned(String::new());
    }
    let mut kept = String::with_capacity(text.len());
    let mut is_inside = false;
    let mut found = false;
    for line in text.split_inclusive('\n') {
        match mark_of(line) {
            Some(Mark::Opens) => (is_inside, found) = (true, true),
            Some(Mark::Closes) if is_inside => is_inside = false,
            _ if is_inside => {}
            _ if is_own_data(line) => found = true,
            _ => kept.push_str(line),
        }
    }
    if found { Cow::Owned(kept) } else { Cow::Borrowed(text) }
}

/// Whether a text begins as the data does that tools of this memory answer with: an object whose
/// first field has the mark's name.
fn is_own_data(text: &str) -> bool {
    let first = text.trim_start().strip_prefix('{').map(str::trim_start);
    let name = first.and_then(|fields| fields.strip_prefix('"')?.strip_prefix(RECALLED_MARK));
    name.is_some_and(|rest| rest.starts_with('"'))
}

enum Mark {
    Opens,
    Closes,
}

/// `<recalled-data>`, with attributes or without, or its end, alone on a line.
fn mark_of(line: &str) -> Option<Mark> {
    let inner = line.trim().strip_prefix('<')?.strip_suffix('>')?;
    if let Some(name) = inner.strip_prefix('/') {
        return (name == RECALLED_MARK).then_some(Mark::Closes);
    }
    let rest = inner.strip_prefix(RECALLED_MARK)?;
    (rest.is_empty() || rest.starts_with(' ')).then_some(Mark::Opens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recalled_words_go_and_what_stands_around_them_stays() {
        let text = "before\n<recalled-data>\nwe use tides\n</recalled-data>\nafter\n<recalled-data source=\"yore\">\ncut off";
        assert_eq!(without_own_words(text), "before\nafter\n");
    }

    #[test]
    fn recalled_data_goes_in_any_layout() {
        let data = "{\"recalled-data\":\"said\",\"results\":[\"we use tides\"]}";
        assert_eq!(without_own_words(data), "");
        assert_eq!(without_own_words("{\n  \"recalled-data\": \"said\",\n  \"results\": [\"we use tides"), "");
        assert_eq!(without_own_words(&format!("before\n{data}\nafter")), "before\nafter");
        let other = "{\"results\": [], \"recalled-data\": 1}";
        assert_eq!(without_own_words(other), other);
    }

    #[test]
    fn talk_about_the_mark_stays() {
        for text in ["the `<recalled-data>` mark", "recalled-data\n</recalled-data>\n", "<recalled-dataset>\nx"] {
            assert_eq!(without_own_words(text), text);
        }
    }
}
