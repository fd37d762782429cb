//! Finds the real author of the text in a "user" line. Most of these texts are not written by a person:
//! echoes of commands, inserted reminders, reports of hooks and tasks.

use yore_core::episode::Role;

use super::super::shapes::without_elements;

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

/// Returns the role of a text, and the part of it that is relevant.
pub(in super::super) fn classify(text: &str) -> (Role, String) {
    let text = text.trim();
    if text.starts_with(SUMMARY) {
        return (Role::Summary, text.to_owned());
    }
    if text.starts_with("<command-name>") || text.starts_with("<command-message>") {
        return slash_command(text);
    }
    if let Some(command) = element(text, "bash-input") {
        return (Role::Human, format!("! {}", command.trim()));
    }
    if text.starts_with("<bash-stdout>") || text.starts_with("<bash-stderr>") {
        let output: Vec<&str> = ["bash-stdout", "bash-stderr"]
            .iter()
            .filter_map(|tag| element(text, tag))
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .collect();
        return (Role::ToolResult, output.join("\n"));
    }
    if let Some(note) = element(text, "user-memory-input") {
        return (Role::Human, note.trim().to_owned());
    }
    let said = without_elements(
        text,
        &["system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics", "local-command-caveat"],
    );
    let said = said.trim();
    if said.is_empty() || INJECTED.iter().any(|beginning| said.starts_with(beginning)) {
        return (Role::Injected, text.to_owned());
    }
    (Role::Human, said.to_owned())
}

/// Returns what a person said when refusing a tool, if the result is the client's notice of that. The same words within
/// the output of a tool that ran are no person's.
pub(super) fn words_of_refusal(output: &str) -> Option<&str> {
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
pub(super) fn is_refusal(output: &str) -> bool {
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

/// Returns the content of the first `<tag>…</tag>`.
fn element<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let start = text.find(&format!("<{tag}>"))? + tag.len() + 2;
    let end = text[start..].find(&format!("</{tag}>"))? + start;
    Some(&text[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn commands_and_shell_lines_are_told_apart() {
        assert_eq!(
            classify(
                "<command-message>plan</command-message>\n<command-name>/plan</command-name>\n<command-args>the cache</command-args>"
            ),
            (Role::Human, "/plan the cache".into())
        );
        assert_eq!(
            classify("<command-name>/clear</command-name>\n<command-args></command-args>"),
            (Role::System, "/clear".into())
        );
        assert_eq!(classify("<bash-input>ls -l</bash-input>"), (Role::Human, "! ls -l".into()));
        assert_eq!(classify("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"), (Role::ToolResult, "a".into()));
    }

    #[test]
    fn reminders_are_cut_from_human_words() {
        assert_eq!(
            classify("fix it<system-reminder>do not mention</system-reminder> please"),
            (Role::Human, "fix it please".into())
        );
        assert_eq!(classify("<system-reminder>alone</system-reminder>").0, Role::Injected);
        assert_eq!(classify("[Request interrupted by user for tool use]").0, Role::Injected);
    }

    #[test]
    fn refusal_carries_human_words() {
        let output = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse the other branch";
        assert_eq!(words_of_refusal(output), Some("use the other branch"));
        assert_eq!(words_of_refusal("exit code 1"), None);
        assert!(is_refusal(output) && !is_refusal("exit code 1"));
    }

    proptest! {
        #[test]
        fn classification_never_panics(text in "(<[a-z-]{3,18}>|\\PC|</[a-z-]{3,18}>){0,20}") { classify(&text); }
    }
}
