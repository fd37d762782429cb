//! Recognises yore's own text in other programs' histories, by its marks. Text that an agent was given from this memory comes
//! back in its transcript and must not be remembered as if it had been said again. Requests that yore itself makes to a model
//! through an agent's program are not sessions of a person.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Value;

/// The mark around recalled text, each mark on a line of its own.
pub const RECALLED_MARK: &str = "recalled-data";
/// First line of a prompt that yore itself sends to a model.
pub const OWN_CALL: &str = "<yore-own-call>";
/// Maximum number of incomplete data blocks parsed in a text: each attempt reads on to the end.
const MOST_BROKEN: usize = 8;

/// Returns whether a text begins a conversation that yore itself has with a model.
pub fn is_own_call(text: &str) -> bool {
    text.trim_start().starts_with(OWN_CALL)
}

/// Tools of yore's MCP server, sorted: its own, and those named after the designs that it grew from.
const TOOLS: [&str; 34] = [
    "ask",
    "ask_memory",
    "brief",
    "check_contexts",
    "distil",
    "explore_context_tree",
    "find_similar_issues",
    "forget",
    "get_category_summary",
    "get_context_preview",
    "get_contradictions",
    "get_project_patterns",
    "handoff",
    "ingest_chat_history",
    "lock_context",
    "memento_note",
    "memory_stats",
    "note",
    "notes",
    "recall",
    "recall_context",
    "recall_decision",
    "remember",
    "search",
    "search_contexts_semantic",
    "search_hybrid",
    "search_past_solutions",
    "search_semantic",
    "sessions",
    "show",
    "status",
    "store_chunk",
    "synthesize_knowledge",
    "wake_up",
];

/// Beginnings of answers of yore's tools that hold nothing between marks.
const UNMARKED: [&str; 5] =
    ["Nothing found in ", "Nothing to tell: ", "Nothing was asked: ", "Remembered as note ", "This was a note already: "];

/// Returns whether a tool that an agent calls only by its own name is one of yore's, judged by its output.
pub fn is_own_answer(tool: &str, output: &str) -> bool {
    let is_ours = || output.contains(RECALLED_MARK) || UNMARKED.iter().any(|beginning| output.starts_with(beginning));
    TOOLS.contains(&tool) && is_ours()
}

/// Returns whether a tool is one of yore's, however an agent spells server and tool: `mcp__yore__recall`,
/// `mcp__plugin_yore_yore__recall`, `mcp_yore_recall`, `yore_recall`, `yore-recall`, `yore__recall`,
/// `mcp__yore.recall`.
pub fn is_own_tool(name: &str) -> bool {
    let after = |text: &'_ str, beginning: &str| text.strip_prefix(beginning).map(str::to_owned);
    let bare = after(name, "mcp__").or_else(|| after(name, "mcp_")).unwrap_or_else(|| name.to_owned());
    let bare = after(&bare, "plugin_yore_").unwrap_or(bare);
    let Some(rest) = bare.strip_prefix("yore") else { return false };
    let tool = rest.trim_start_matches(['_', '-', '.', ':', '/']);
    tool.len() < rest.len() && TOOLS.contains(&tool)
}

/// Returns whether an MCP server is yore, for agents that name the server beside the tool.
pub fn is_own_server(name: &str) -> bool {
    matches!(name, "yore" | "plugin:yore:yore" | "plugin_yore_yore")
}

/// Returns a script without its calls of yore's tools (Codex: `await tools.mcp__yore__recall(...)`). Returns
/// an empty text if the script calls no other tool.
pub fn without_own_calls(script: &str) -> Cow<'_, str> {
    const CALLS: [&str; 2] = ["tools.mcp__yore__", "tools.mcp__plugin_yore_yore__"];
    let count = |text: &str| CALLS.iter().map(|call| text.matches(call).count()).sum::<usize>();
    let own = count(script);
    if own == 0 {
        return Cow::Borrowed(script);
    }
    if script.matches("tools.").count() == own {
        return Cow::Borrowed("");
    }
    let mut kept = Vec::new();
    // Number of brackets of an own call that are still open.
    let mut open = 0_usize;
    for line in script.lines() {
        if open == 0 && count(line) == 0 {
            kept.push(line);
            continue;
        }
        open = (open + line.matches('(').count()).saturating_sub(line.matches(')').count());
    }
    Cow::Owned(kept.join("\n"))
}

/// Returns a message without the text that this memory gave: blocks between marks, plain or HTML-escaped, and
/// data with a mark if it is whole. A block without an end mark extends to the end of the text, because
/// agents cut long outputs.
pub fn without_own_words(text: &str) -> Cow<'_, str> {
    without(text, false)
}

/// The same for the output of a tool, where data that was cut off is removed together with everything after
/// it. In a person's message that would remove their own words too.
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
        let may_be_data =
            line.trim_start().starts_with(['{', '[']) && (is_own_data(left) || is_output && line.contains(RECALLED_MARK));
        if !is_inside && broken < MOST_BROKEN && may_be_data {
            match end_of_data(left) {
                Some(end) => {
                    if let Some(others) = words_of_others(&left[..end]) {
                        found = true;
                        kept.push_str(&others);
                        left = behind(&left[end..], kept.is_empty());
                        continue;
                    }
                }
                None if is_output && is_own_data(left) => {
                    found = true;
                    break;
                }
                None => broken += 1,
            }
        }
        match mark_of(line) {
            Some(Mark::Opens) => (is_inside, found) = (true, true),
            // Agents put the following text on the same line.
            Some(Mark::Closes(rest)) if is_inside => {
                is_inside = false;
                kept.push_str(rest);
            }
            _ if is_inside => {}
            _ => kept.push_str(line),
        }
        left = &left[line.len()..];
    }
    if found { Cow::Owned(kept) } else { Cow::Borrowed(text) }
}

/// Returns the texts in whole JSON data that this memory did not give, each on a line; `None` if it gave none
/// of it.
fn words_of_others(data: &str) -> Option<String> {
    fn walk(value: &Value, out: &mut String, has_own: &mut bool) {
        match value {
            Value::String(text) => {
                let kept = without_own_output(text);
                *has_own |= matches!(kept, Cow::Owned(_));
                if !kept.trim().is_empty() {
                    out.push_str(kept.trim());
                    out.push('\n');
                }
            }
            Value::Array(list) => list.iter().for_each(|item| walk(item, out, has_own)),
            Value::Object(map) if map.keys().next().is_some_and(|key| key == RECALLED_MARK) => *has_own = true,
            Value::Object(map) => {
                map.iter().filter(|(key, _)| *key != "type").for_each(|(_, item)| walk(item, out, has_own));
            }
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }
    let value = serde_json::from_str::<Value>(data).ok()?;
    let (mut out, mut has_own) = (String::new(), false);
    walk(&value, &mut out, &mut has_own);
    has_own.then_some(out)
}

/// Returns whether a text begins like the data in answers of this memory's tools: an object whose first field
/// has the mark's name.
fn is_own_data(text: &str) -> bool {
    let first = text.trim_start().strip_prefix('{').map(str::trim_start);
    let name = first.and_then(|fields| fields.strip_prefix('"')?.strip_prefix(RECALLED_MARK));
    name.is_some_and(|rest| rest.starts_with('"'))
}

/// Returns the end of the data that a text begins with, if the data is whole.
fn end_of_data(text: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    matches!(values.next(), Some(Ok(_))).then(|| values.byte_offset())
}

/// Returns the text after data, without the rest of its line if that is empty; at the beginning, also without
/// the empty lines that follow.
fn behind(text: &str, is_beginning: bool) -> &str {
    let rest = text.trim_start_matches([' ', '\t', '\r']);
    match rest.strip_prefix('\n') {
        Some(rest) if is_beginning => rest.trim_start_matches(['\r', '\n']),
        Some(rest) => rest,
        None if rest.is_empty() => rest,
        None => text,
    }
}

enum Mark<'t> {
    Opens,
    /// An end mark, with the text after it on the same line, including its line break.
    Closes(&'t str),
}

/// Parses a start mark, `<recalled-data>` with or without attributes, alone on a line, or an end mark at the
/// beginning of a line. Some agents escape them as in HTML, and put the output of a hook into an element of
/// their own.
fn mark_of(line: &str) -> Option<Mark<'_>> {
    if !line.contains(RECALLED_MARK) {
        return None;
    }
    let bare = line.trim();
    let bare = bare.strip_prefix("<hook_context").and_then(|rest| rest.split_once('>')).map_or(bare, |(_, rest)| rest);
    let inner = bare.strip_prefix('<').or_else(|| bare.strip_prefix("&lt;"))?;
    if let Some(rest) = inner.strip_prefix('/') {
        let rest = rest.strip_prefix(RECALLED_MARK)?;
        let rest = rest.strip_prefix('>').or_else(|| rest.strip_prefix("&gt;"))?;
        let rest = rest.strip_prefix("</hook_context>").unwrap_or(rest);
        let end = &line[line.trim_end().len()..];
        return Some(Mark::Closes(if rest.is_empty() { "" } else { &line[line.len() - end.len() - rest.len()..] }));
    }
    let inner = inner.strip_suffix('>').or_else(|| inner.strip_suffix("&gt;"))?;
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
    fn answer_of_mcp_as_one_json_text_is_known_by_the_marks_in_it() {
        let answer = r#"{"content":[{"type":"text","text":"<recalled-data source=\"yore\">\nwe use tides\n</recalled-data>"}]}"#;
        assert_eq!(without_own_output(answer), "");
        assert_eq!(without_own_output(&format!("Script completed\n{answer}\nexit 0")), "Script completed\nexit 0");
        let mixed = r#"[{"query":"ls","result":"a.txt"},{"result":"<recalled-data>\nwe use tides\n</recalled-data>"}]"#;
        assert_eq!(without_own_output(mixed), "ls\na.txt\n");
        assert_eq!(without_own_words(mixed), mixed, "a person may paste what they like");
    }

    #[test]
    fn words_behind_the_closing_mark_stay_wherever_they_stand() {
        let joined = "<recalled-data>\nwe use tides\n</recalled-data>{\"exit_code\":1}\nafter";
        assert_eq!(without_own_output(joined), "{\"exit_code\":1}\nafter");
    }

    #[test]
    fn marks_that_an_agent_wrote_as_html_are_known() {
        let escaped = "&lt;recalled-data source=\"yore\"&gt;\nwe use tides\n&lt;/recalled-data&gt;\nafter";
        assert_eq!(without_own_words(escaped), "after");
        let wrapped =
            "ran\n\n<hook_context>&lt;recalled-data source=\"yore\"&gt;\nwe use tides\n&lt;/recalled-data&gt;</hook_context>";
        assert_eq!(without_own_output(wrapped), "ran\n\n");
        let named =
            "<hook_context source=\"yore\"><recalled-data source=\"yore\">\nwe use tides\n</recalled-data></hook_context>\nwhy?";
        assert_eq!(without_own_words(named), "why?");
    }

    #[test]
    fn tool_without_a_server_is_known_by_what_it_gave() {
        assert!(is_own_answer("recall", "2 quotes from project tide.\n<recalled-data source=\"yore\">"));
        assert!(is_own_answer("recall", "Nothing found in project tide; project \"all\" asks everywhere."));
        assert!(!is_own_answer("search", "tide.rs: fn main"));
        assert!(!is_own_answer("grep", "<recalled-data>"));
    }

    #[test]
    fn own_tools_are_known_in_every_spelling() {
        for name in [
            "mcp__yore__recall",
            "mcp__plugin_yore_yore__recall",
            "mcp_yore_recall",
            "yore_recall",
            "yore-recall",
            "yore__recall",
            "mcp__yore.recall",
            "yore.wake_up",
            "yore_memory_stats",
        ] {
            assert!(is_own_tool(name), "{name}");
        }
        for name in
            ["recall", "yore", "yorerecall", "mcp__yore2__recall", "mcp__other__yore_recall", "kilo_local_recall", "yore_x"]
        {
            assert!(!is_own_tool(name), "{name}");
        }
        assert!(TOOLS.is_sorted());
    }

    #[test]
    fn calls_of_this_memory_in_a_script_go() {
        let own = "const r = await tools.mcp__yore__recall({\n  question: \"why\",\n});\ntext(r);";
        assert_eq!(without_own_calls(own), "");
        let mixed = format!("const a = await tools.exec_command({{cmd: \"ls\"}});\n{own}\ntext(a);");
        assert_eq!(without_own_calls(&mixed), "const a = await tools.exec_command({cmd: \"ls\"});\ntext(r);\ntext(a);");
        assert_eq!(without_own_calls("text(1)"), "text(1)");
    }

    #[test]
    fn talk_about_the_mark_stays() {
        for text in ["the `<recalled-data>` mark", "recalled-data\n</recalled-data>\n", "<recalled-dataset>\nx"] {
            assert_eq!(without_own_words(text), text);
        }
    }
}
