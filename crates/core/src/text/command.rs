//! Shell commands that agents ran: the command of a tool call, and the one of several that worked.

use crate::episode::Outcome;

/// Names of the input of a tool that is a command.
const INPUTS: [&str; 2] = ["command: ", "cmd: "];
/// First words of commands that only look at something.
const LOOKS: [&str; 28] = [
    "awk", "basename", "cat", "cd", "cut", "date", "diff", "dirname", "echo", "env", "export", "file", "find", "grep", "head",
    "jq", "ls", "printf", "pwd", "rg", "sed", "sleep", "sort", "stat", "tail", "tree", "wc", "which",
];
/// Commands of Git that only look at something.
const GIT_LOOKS: [&str; 10] =
    ["status", "log", "diff", "show", "branch", "blame", "rev-parse", "remote", "ls-files", "merge-base"];

/// Returns the first line of the command among the inputs of a tool call, if it ran one.
///
/// ```
/// use yore_core::text::command_of;
/// assert_eq!(command_of("Bash\ncommand: cd app && cargo test\ndescription: run"), Some("cargo test"));
/// assert_eq!(command_of("Read\nfile_path: a.rs"), None);
/// ```
pub fn command_of(input: &str) -> Option<&str> {
    let command = input.lines().find_map(|line| INPUTS.iter().find_map(|name| line.strip_prefix(name)))?.trim();
    // The directory is another one the next time.
    let inside = command.strip_prefix("cd ").and_then(|rest| rest.split_once("&&")).map(|(_, rest)| rest.trim());
    inside.or(Some(command)).filter(|command| !command.is_empty())
}

/// Returns whether a command only looks at something.
pub fn is_look(command: &str) -> bool {
    // An assignment before a command is none itself.
    let mut words = command.split_whitespace().skip_while(|word| word.contains('='));
    match words.next() {
        Some("git") => words.find(|word| !word.starts_with('-')).is_none_or(|word| GIT_LOOKS.contains(&word)),
        Some(first) => LOOKS.contains(&first.rsplit('/').next().unwrap_or(first)),
        None => true,
    }
}

/// Returns the command of an exchange that worked: the last that failed before, or else the last of all that do
/// more than look at something.
///
/// ```
/// use yore_core::episode::Outcome::{Done, Failed};
/// use yore_core::text::command_that_worked;
/// let ran = [("cargo test", Some(Failed)), ("cargo fmt", Some(Done)), ("cargo test", Some(Done)), ("git push", Some(Done))];
/// assert_eq!(command_that_worked(&ran), Some("cargo test"));
/// assert_eq!(command_that_worked(&[("make", Some(Done)), ("ls -l", Some(Done)), ("make b", None)]), Some("make"));
/// ```
pub fn command_that_worked<'c>(ran: &[(&'c str, Option<Outcome>)]) -> Option<&'c str> {
    let worked =
        ran.iter().enumerate().rev().filter(|(_, (command, outcome))| *outcome == Some(Outcome::Done) && !is_look(command));
    let failed_before = |at: usize, command: &str| {
        ran[..at].iter().any(|(other, outcome)| *other == command && *outcome == Some(Outcome::Failed))
    };
    let mended = worked.clone().find(|(at, (command, _))| failed_before(*at, command));
    mended.or(worked.into_iter().next()).map(|(_, (command, _))| *command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_looks_is_told_from_what_acts() {
        for look in ["ls -la", "/bin/cat x", "git -P log", "git status --short", "A=1 rg x", "  ", "git"] {
            assert!(is_look(look), "{look}");
        }
        for act in ["cargo test", "git push", "RUST_LOG=info ./run", "make"] {
            assert!(!is_look(act), "{act}");
        }
    }

    #[test]
    fn commands_are_read_from_any_input() {
        assert_eq!(command_of("exec_command\ncmd: cd /a/b && \nworkdir: /x"), None);
        assert_eq!(command_of("Bash\ncommand: make\n  all"), Some("make"));
        assert_eq!(command_of(""), None);
    }
}
