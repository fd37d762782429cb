//! The help of the whole program: its commands in groups. `yore help` is `--help` of a command.

use std::ffi::OsString;
use std::fmt::Write;

use crate::render::text::{BOLD, RESET};

/// Commands that belong together.
struct Group {
    name: &'static str,
    /// Those of the first help.
    first: &'static [&'static str],
    /// Those that only `yore help all` lists.
    more: &'static [&'static str],
}

/// Every command that is not hidden, in the order of help, completions and reference.
const GROUPS: [Group; 6] = [
    Group { name: "Start", first: &["up", "tour", "install", "status", "doctor"], more: &["stats", "account", "self"] },
    Group {
        name: "Ask",
        first: &["recall", "ask", "show", "sessions", "today", "week"],
        more: &["resume", "handoff", "audit", "brief", "topics", "categories", "insights", "projects", "page"],
    },
    Group {
        name: "Memories",
        first: &["remember", "memories", "review", "forget", "undo", "log"],
        more: &["redo", "cleanup", "conflicts", "export", "import", "share", "team"],
    },
    Group { name: "Learning", first: &["learn"], more: &["rlm", "distil", "models"] },
    Group { name: "Agents", first: &[], more: &["uninstall", "mcp", "proxy", "hook", "status-line"] },
    Group {
        name: "Data",
        first: &["data"],
        more: &["ingest", "embed", "capture", "daemon", "upkeep", "config", "completions", "replay", "serve"],
    },
];

/// Underlined, as clap's headings are.
const HEADING: &str = "\u{1b}[1m\u{1b}[4m";

/// Gives the program the help that lists its commands in groups: those of the first help, or all.
pub fn grouped(command: clap::Command, is_all: bool) -> clap::Command {
    let mut listed = String::new();
    for Group { name, first, more } in &GROUPS {
        let mut names = first.iter().chain(more.iter().filter(|_| is_all)).peekable();
        if names.peek().is_some() {
            let _ = writeln!(listed, "\n{HEADING}{name}:{RESET}");
        }
        for name in names {
            // A program that was built without a command does not list it.
            let Some(about) = command.find_subcommand(name).and_then(clap::Command::get_about) else { continue };
            let _ = writeln!(listed, "  {BOLD}{name:<13}{RESET}{about}");
        }
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{listed}\n{HEADING}Options:{RESET}\n{{options}}{{after-help}}"
    ))
}

/// Replaces `help COMMAND` by `COMMAND --help`, also after global options without a value. Returns also whether every command is to be listed.
pub fn as_flag(mut arguments: Vec<OsString>) -> (Vec<OsString>, bool) {
    let is_option = |argument: &&OsString| argument.to_str().is_some_and(|argument| argument.starts_with("--"));
    let at = arguments.iter().take_while(is_option).count();
    if arguments.get(at).is_none_or(|first| first != "help") {
        return (arguments, false);
    }
    arguments.remove(at);
    let is_all = arguments.get(at).is_some_and(|first| first == "all");
    if is_all {
        arguments.remove(at);
    }
    arguments.push("--help".into());
    (arguments, is_all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_not_hidden_is_in_one_group_in_the_order_of_the_reference() {
        let listed: Vec<&str> = GROUPS.iter().flat_map(|group| group.first.iter().chain(group.more)).copied().collect();
        let command = crate::cli::command();
        let known: Vec<&str> =
            command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
        assert_eq!(listed, known);
    }

    #[test]
    fn help_is_understood_after_global_options() {
        let as_flag = |words: &[&str]| super::as_flag(words.iter().map(OsString::from).collect());
        assert_eq!(
            as_flag(&["--no-daemon", "help", "recall"]),
            (["--no-daemon", "recall", "--help"].map(OsString::from).to_vec(), false)
        );
        assert_eq!(as_flag(&["help", "all"]), (vec!["--help".into()], true));
        assert_eq!(as_flag(&["recall", "help"]), (["recall", "help"].map(OsString::from).to_vec(), false));
    }

    #[test]
    fn lists_of_commands_fit_80_columns() {
        let help = grouped(crate::cli::command(), true).render_help().to_string();
        let listed = help.split("Options:").next().unwrap();
        let wide: Vec<&str> = listed.lines().filter(|line| line.chars().count() > 80).collect();
        assert_eq!(wide, Vec::<&str>::new());
        let first = grouped(crate::cli::command(), false).render_help().to_string();
        assert!(first.contains("\nAsk:\n  recall ") && !first.contains("\nAgents:"), "{first}");
    }

    #[test]
    fn help_of_a_command_is_its_flag() {
        let flagged = |words: &str| {
            let (arguments, is_all) = as_flag(words.split(' ').map(OsString::from).collect());
            (arguments.join(" ".as_ref()).into_string().unwrap(), is_all)
        };
        assert_eq!(flagged("help"), ("--help".to_owned(), false));
        assert_eq!(flagged("help all"), ("--help".to_owned(), true));
        assert_eq!(flagged("help data backup"), ("data backup --help".to_owned(), false));
        assert_eq!(flagged("recall help"), ("recall help".to_owned(), false));
    }
}
