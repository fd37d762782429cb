//! yore's own words in other programs' histories. What an agent was given from this memory comes
//! back in its transcript, and must not be remembered as if somebody had said it again; and what
//! yore asks a model through an agent's program is no session of anybody.

use std::borrow::Cow;

use serde::de::IgnoredAny;

/// The mark around recalled words, each mark on a line of its own.
pub const RECALLED_MARK: &str = "recalled-data";
/// The first line of a prompt by which yore itself asks a model.
pub const OWN_CALL: &str = "<yore-own-call>";
/// Data that is not whole is looked at so often in a text: each look reads on to its end.
const MOST_BROKEN: usize = 8;

/// Whether a text is the beginning of a conversation that yore itself has with a model.
pub fn is_own_call(text: &str) -> bool {
    text.trim_start().starts_with(OWN_CALL)
}

/// What somebody said, without what this memory gave: what stands between marks, and data that
/// begins with the mark, as far as it is whole. A block whose end is missing goes to the end of the
/// text: agents cut long outputs.
pub fn without_own_words(text: &str) -> Cow<'_, str> {
    without(text, false)
}

/// The same of what a tool gave: of data that was cut off, all goes that follows. In what somebody
/// said their own words would go with it.
pub fn without_own_output(text: &str) -> Cow<'_, str> {
    without(text, true)
}

fn without(text: &str, is_output: bool) -> Cow<'_, str> {
    if !text.contains(RECALLED_MARK) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut is_inside = false;
    let mut found = false;
    let mut broken = 0;
    let mut left = text;
    while !left.is_empty() {
        let line = &left[..left.find('\n').map_or(left.len(), |at| at + 1)];
        if !is_inside && broken < MOST_BROKEN && line.trim_start().starts_with('{') && is_own_data(left) {
            match end_of_data(left) {
                Some(end) => {
                    found = true;
                    left = behind(&left[end..], kept.is_empty());
                    continue;
                }
                None if is_output => {
                    found = true;
                    break;
                }
                None => broken += 1,
            }
        }
        match mark_of(line) {
            Some(Mark::Opens) => (is_inside, found) = (true, true),
            Some(Mark::Closes) if is_inside => is_inside = false,
            _ if is_inside => {}
            _ => kept.push_str(line),
        }
        left = &left[line.len()..];
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

/// Where the data ends that a text begins with, if it is whole.
fn end_of_data(text: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    matches!(values.next(), Some(Ok(_))).then(|| values.byte_offset())
}

/// What follows data, without the rest of its line if nothing stands there; at the beginning without
/// the empty lines that set it off.
fn behind(text: &str, is_beginning: bool) -> &str {
    let rest = text.trim_start_matches([' ', '\t', '\r']);
    match rest.strip_prefix('\n') {
        Some(rest) if is_beginning => rest.trim_start_matches(['\r', '\n']),
        Some(rest) => rest,
        None if rest.is_empty() => rest,
        None => text,
    }
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
        let data = "{\"recalled-data\":\"said\",\"results\":[\"we use } tides\"]}";
        let pretty = "{\n  \"recalled-data\": \"said\",\n  \"results\": [\n    \"we use tides\"\n  ]\n}";
        for data in [data, pretty] {
            for without in [without_own_words, without_own_output] {
                assert_eq!(without(data), "");
                assert_eq!(without(&format!("before\n  {data}\nafter")), "before\nafter");
                assert_eq!(without(&format!("{data}\n\n  after\n{data}{data}\nend")), "  after\nend");
                assert_eq!(without(&format!("{data} after")), " after");
            }
        }
        let other = "{\"results\": [], \"recalled-data\": 1}";
        assert_eq!(without_own_output(other), other);
    }

    #[test]
    fn data_that_was_cut_off_takes_a_tools_words_with_it_but_nobody_elses() {
        let cut = "{\n  \"recalled-data\": \"said\",\n  \"results\": [\"we use tides\n\nFrom now on we keep leases in Postgres";
        assert_eq!(without_own_output(cut), "");
        assert_eq!(without_own_output(&format!("ran\n{cut}")), "ran\n");
        assert_eq!(without_own_words(cut), cut);
        let talk = "{\"recalled-data\" stands first in what it prints.\n{\"recalled-data\": 1}\nYou see?";
        assert_eq!(without_own_words(talk), "{\"recalled-data\" stands first in what it prints.\nYou see?");
    }

    #[test]
    fn data_in_data_without_end_is_not_read_again_and_again() {
        let nested = "{\"recalled-data\":\n".repeat(100_000);
        assert_eq!(without_own_words(&nested), nested);
        assert_eq!(without_own_output(&nested), "");
    }

    #[test]
    fn talk_about_the_mark_stays() {
        for text in ["the `<recalled-data>` mark", "recalled-data\n</recalled-data>\n", "<recalled-dataset>\nx"] {
            assert_eq!(without_own_words(text), text);
        }
    }
}
