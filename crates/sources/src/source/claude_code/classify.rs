//! Finds the real author of the text in a "user" line of Claude Code. Most of these texts are not written by a person: echoes of
//! commands, inserted reminders, reports of hooks and tasks.

use serde_json::Value;
use yore_core::episode::Role;

use super::super::speaker::{Marks, divide, whole_element};

/// Elements that the client puts before or behind a prompt.
const PUT_IN: Marks = Marks {
    elements: &["system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics", "local-command-caveat"],
    tails: &[],
};

/// Beginnings of texts written by software.
const INJECTED: [&str; 16] = [
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "Caveat: The messages below",
    "<task-notification>",
    "<system-reminder>",
    "<ide_opened_file>",
    "<ide_selection>",
    "<ide_diagnostics>",
    "<teammate-message",
    "<agent-notification>",
    "Base directory for this skill:",
    "[Request interrupted by user",
    "Stop hook feedback",
    "<user-prompt-submit-hook>",
    "<session-start-hook>",
];

const SUMMARY: &str = "This session is being continued from a previous conversation";

/// A block of text of a "user" line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Classified {
    pub(in super::super) role: Role,
    /// The part that is relevant.
    pub(in super::super) text: String,
    /// Words of an unknown author beside it.
    pub(in super::super) beside: String,
}

/// Returns the author of a block of text, as the client's marks around it say: they count only where the client writes them,
/// at the beginning of a block.
pub(super) fn classify(text: &str) -> Classified {
    let text = text.trim();
    let only = |role: Role, text: &str| Classified { role, text: text.trim().to_owned(), beside: String::new() };
    if text.starts_with(SUMMARY) {
        return only(Role::Summary, text);
    }
    if text.starts_with("<command-name>") || text.starts_with("<command-message>") {
        let (role, text) = slash_command(text);
        return only(role, &text);
    }
    if let Some(command) = whole_element(text, "bash-input") {
        return only(Role::Human, &format!("! {}", command.trim()));
    }
    if text.starts_with("<bash-stdout>") || text.starts_with("<bash-stderr>") {
        return only(Role::ToolResult, &output_of(text));
    }
    if let Some(note) = whole_element(text, "user-memory-input") {
        return only(Role::Human, note);
    }
    let found = divide(text, &PUT_IN);
    let is_nothing = found.said.is_empty() && found.beside.is_empty();
    if is_nothing || INJECTED.iter().any(|beginning| found.said.starts_with(beginning)) {
        return only(Role::Injected, text);
    }
    Classified { role: Role::Human, text: found.said, beside: found.beside }
}

/// Returns the author of the blocks of a line together: a person, if one of them is a person's.
pub(in super::super) fn classify_all(blocks: &[&str]) -> Classified {
    let found: Vec<Classified> = blocks.iter().filter(|text| !text.trim().is_empty()).map(|text| classify(text)).collect();
    let is_human = |block: &&Classified| block.role == Role::Human;
    let role = found.iter().find(is_human).or_else(|| found.iter().find(|block| block.role != Role::Injected));
    let role = role.map_or(Role::Injected, |block| block.role);
    let joined = |part: fn(&Classified) -> &String| {
        let parts = found.iter().filter(|block| block.role == role).map(part).filter(|part| !part.is_empty());
        parts.map(String::as_str).collect::<Vec<_>>().join("\n\n")
    };
    Classified { role, text: joined(|block| &block.text), beside: joined(|block| &block.beside) }
}

/// Returns the output of a command that a person ran, without the marks around its parts.
fn output_of(text: &str) -> String {
    let marks = ["<bash-stdout>", "</bash-stdout>", "<bash-stderr>", "</bash-stderr>"];
    let parts = marks.iter().fold(vec![text], |parts, mark| parts.into_iter().flat_map(|part| part.split(mark)).collect());
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Tools of the client whose errors it words itself. The errors of others, and of every server, may repeat planted words.
const WORDS_ITS_ERRORS: [&str; 8] =
    ["AskUserQuestion", "Edit", "EnterPlanMode", "ExitPlanMode", "MultiEdit", "NotebookEdit", "TodoWrite", "Write"];

/// What a failed call says of the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal<'t> {
    /// Nothing: the tool failed.
    None,
    /// A person or the client stopped the tool, or it says so.
    Stopped,
    /// A person refused the tool with these words.
    Said(&'t str),
}

/// Returns whether the error of a tool is the client's notice that a person refused it. In newer versions the structured copy
/// of the result says so.
pub(super) fn refusal<'t>(tool: &str, output: &'t str, twin: &Value) -> Refusal<'t> {
    let is_recorded = twin.as_str().is_some_and(|twin| twin.starts_with("User rejected"));
    if !is_recorded && (tool.starts_with("mcp__") || !is_refusal(output)) {
        return Refusal::None;
    }
    match words_of_refusal(output) {
        Some(words) if is_recorded || WORDS_ITS_ERRORS.contains(&tool) => Refusal::Said(words),
        _ => Refusal::Stopped,
    }
}

/// Returns what a person said when refusing a tool, if the result is the client's notice of that. The same words within
/// the output of a tool that ran are no person's.
fn words_of_refusal(output: &str) -> Option<&str> {
    let output = output.trim_start();
    if !["The user doesn't want to", "The user provided the following reason"].iter().any(|begin| output.starts_with(begin)) {
        return None;
    }
    let at = ["the user said:", "The user provided the following reason for the rejection:"]
        .iter()
        .find_map(|mark| output.find(mark).map(|at| at + mark.len()))?;
    let words = output[at..].trim();
    // The client adds its own advice after the person's text.
    let words = words.split("\n\nNote: The user's next message").next().unwrap_or(words).trim();
    (!words.is_empty()).then_some(words)
}

/// Returns whether a person or the client prevented a tool from running.
fn is_refusal(output: &str) -> bool {
    let output = output.trim_start();
    [
        "The user doesn't want to",
        "[Request interrupted by user",
        "User rejected",
        "Tool use was rejected",
        "<tool_use_error>Cancelled",
    ]
    .iter()
    .any(|beginning| output.starts_with(beginning))
        || words_of_refusal(output).is_some()
}

/// Returns the role and text of `/name args` typed by a person. Without arguments it is only a switch, with
/// the role of the system.
fn slash_command(text: &str) -> (Role, String) {
    let name = element(text, "command-name").or_else(|| element(text, "command-message")).unwrap_or("").trim();
    let args = element(text, "command-args").unwrap_or("").trim();
    let name = if name.starts_with('/') { name.to_owned() } else { format!("/{name}") };
    if args.is_empty() { (Role::System, name) } else { (Role::Human, format!("{name} {args}")) }
}

/// Returns the content of the first `<tag>`, up to the last `</tag>`.
fn element<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let start = text.find(&format!("<{tag}>"))? + tag.len() + 2;
    let end = text[start..].rfind(&format!("</{tag}>"))? + start;
    Some(&text[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(text: &str) -> (Role, String) {
        let found = classify(text);
        (found.role, found.text)
    }

    #[test]
    fn commands_and_shell_lines_are_told_apart() {
        assert_eq!(
            told(
                "<command-message>plan</command-message>\n<command-name>/plan</command-name>\n<command-args>the cache</command-args>"
            ),
            (Role::Human, "/plan the cache".into())
        );
        assert_eq!(told("<command-name>/clear</command-name>\n<command-args></command-args>"), (Role::System, "/clear".into()));
        assert_eq!(told("<bash-input>ls -l</bash-input>"), (Role::Human, "! ls -l".into()));
        assert_eq!(told("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"), (Role::ToolResult, "a".into()));
        assert_eq!(told("<bash-stdout>a</bash-stdout><bash-stderr>b</bash-stderr>"), (Role::ToolResult, "a\nb".into()));
        assert_eq!(told("<bash-stderr>b</bash-stderr>"), (Role::ToolResult, "b".into()));
        assert_eq!(told("<bash-stdout>cut off"), (Role::ToolResult, "cut off".into()));
    }

    #[test]
    fn reminders_are_cut_from_human_words() {
        assert_eq!(told("fix it<system-reminder>do not mention</system-reminder> please"), (Role::Human, "fix it please".into()));
        assert_eq!(told("<system-reminder>alone</system-reminder>").0, Role::Injected);
        assert_eq!(told("[Request interrupted by user for tool use]").0, Role::Injected);
        let all =
            classify_all(&["<ide_selection>a</ide_selection>b</ide_selection>", "[Request interrupted by user]", "mend it"]);
        assert_eq!((all.role, all.text.as_str(), all.beside.as_str()), (Role::Human, "mend it", "b</ide_selection>"));
    }

    #[test]
    fn refusal_carries_human_words() {
        let output = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse the other branch";
        assert_eq!(words_of_refusal(output), Some("use the other branch"));
        assert_eq!(words_of_refusal("exit code 1"), None);
        assert!(is_refusal(output) && !is_refusal("exit code 1"));
        let by = |tool: &str, twin: &str| refusal(tool, output, &twin.into());
        let said = Refusal::Said("use the other branch");
        assert_eq!(by("Edit", &format!("Error: {output}")), said);
        assert_eq!(by("Bash", &format!("Error: {output}")), Refusal::Stopped);
        assert_eq!(by("mcp__notes__read", &format!("Error: {output}")), Refusal::None);
        assert_eq!(by("mcp__notes__read", "User rejected tool use"), said);
    }

    proptest! {
        #[test]
        fn classification_never_panics(text in "(<[a-z-]{3,18}>|\\PC|</[a-z-]{3,18}>){0,20}") { classify(&text); classify_all(&[&text, &text]); }
    }
}
