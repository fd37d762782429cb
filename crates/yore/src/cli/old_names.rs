//! Old names of commands, which work like the new ones until 1.0. Help and completions list only the new ones.

use std::ffi::OsString;

/// Old names, and what they became. A name of two words stands before its first word alone.
const OLD: [(&str, &str); 17] = [
    ("backup", "data backup"),
    ("restore", "data restore"),
    ("repair", "data repair"),
    ("reindex", "data rebuild"),
    ("scan", "data scan"),
    ("sources", "status --sources"),
    ("notes", "memories --notes"),
    ("chat list", "sessions"),
    ("chat ingest", "ingest"),
    ("chat watch", "daemon start --foreground"),
    ("chat", "sessions"),
    ("op log", "log"),
    ("op show", "log"),
    ("op undo", "undo"),
    ("op redo", "redo"),
    ("op", "log"),
    ("init", "up"),
];

/// Global options that have a value of their own word.
const WITH_VALUE: [&str; 4] = ["--data-dir", "--config", "-c", "--color"];

/// Replaces an old name at the beginning of the arguments, before or after global options.
pub fn renamed(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let mut places = Vec::new();
    let mut at = 0;
    while at < arguments.len() && places.len() < 2 {
        let word = arguments[at].to_string_lossy();
        at += usize::from(WITH_VALUE.contains(&&*word));
        if !word.starts_with('-') {
            places.push(at);
        }
        at += 1;
    }
    for (old, new) in OLD {
        let words: Vec<&str> = old.split(' ').collect();
        if places.len() >= words.len() && words.iter().zip(&places).all(|(word, at)| arguments[*at] == *word) {
            for at in places[..words.len()].iter().rev() {
                arguments.remove(*at);
            }
            arguments.splice(places[0]..places[0], new.split(' ').map(OsString::from));
            break;
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parse;

    #[test]
    fn every_old_name_is_parsed_as_the_new_one() {
        for (old, new) in OLD {
            let rest: &[&str] = match new {
                "data restore" => &["copy.db"],
                "log" => &["12"],
                "memories --notes" => &["--tag", "tide", "-n", "3"],
                "sessions" => &["--unprocessed", "--since", "2026-01-01", "-n", "10", "--has-code"],
                "ingest" => &["--since", "2026-01-01", "-p", "tide", "--has-code", "-n", "2", "--dry-run"],
                "daemon start --foreground" => &["-i", "1"],
                _ => &["--json"],
            };
            let parsed = |name: &str| {
                let words = ["--data-dir", "elsewhere"].into_iter().chain(name.split(' ')).chain(rest.iter().copied());
                format!("{:?}", parse(words.map(OsString::from).collect()).unwrap())
            };
            assert_eq!(parsed(old), parsed(new), "{old}");
        }
        let split = ["op", "--json", "undo", "12"].map(OsString::from).to_vec();
        assert_eq!(renamed(split), ["undo", "--json", "12"]);
        let unknown = ["recall", "backup"].map(OsString::from).to_vec();
        assert_eq!(renamed(unknown.clone()), unknown, "a word of a question is no command");
    }
}
