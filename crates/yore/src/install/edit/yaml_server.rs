//! Edits the list of servers in a YAML file (Continue's `config.yaml`).
//!
//! This is not a YAML parser. It recognizes the list by its line, and an item by its dash and indentation. A
//! file written in any other way is left alone, and the user is told what to add.

use std::ops::Range;

use super::{EditError, SERVER};
use crate::install::command::is_yore;
use crate::install::what::What;

const KEY: &str = "mcpServers:";

/// The server.
#[derive(Clone, Debug)]
pub struct YamlServer {
    /// Path of the program.
    pub program: String,
    /// Arguments of the program.
    pub args: Vec<String>,
}

/// The list, as it is written.
struct List {
    /// Range of its line, including the line break.
    heading: Range<usize>,
    /// Indentation before each item's dash.
    indent: String,
    /// Ranges of its items.
    items: Vec<Range<usize>>,
}

impl YamlServer {
    /// Returns the text with the server in the list.
    pub fn put(&self, before: &str) -> Result<String, EditError> {
        let newline = if before.contains("\r\n") { "\r\n" } else { "\n" };
        let Some(list) = self.list(before)? else {
            let block = format!("{KEY}{newline}{}", self.item("  ", newline));
            // The end of the new lines shows whether the text ended with a line break.
            return Ok(match before {
                "" => block,
                before if before.ends_with('\n') => format!("{before}{block}"),
                before => format!("{before}{newline}{}", block.trim_end()),
            });
        };
        let item = self.item(&list.indent, newline);
        match list.ours(before) {
            None => Ok(format!("{}{item}{}", &before[..list.heading.end], &before[list.heading.end..])),
            Some(ours) => {
                if !run_of(&before[ours.clone()]).is_some_and(|(program, _)| is_yore(&program)) {
                    return Err(EditError::Foreign(format!(
                        "a server called \"{SERVER}\" that does not run this program already exists; rename or remove it first"
                    )));
                }
                let ends = before[ours.clone()].ends_with('\n');
                let item = if ends { item } else { item.trim_end().to_owned() };
                Ok(format!("{}{item}{}", &before[..ours.start], &before[ours.end..]))
            }
        }
    }

    /// Returns the text without the server.
    pub fn take(&self, before: &str) -> Result<String, EditError> {
        let Some(list) = self.list(before)? else { return Ok(before.to_owned()) };
        let Some(ours) = list.ours(before).filter(|_| self.is_in(before)) else { return Ok(before.to_owned()) };
        let is_alone = list.items.len() == 1;
        let start = if is_alone { list.heading.start } else { ours.start };
        let mut above = &before[..start];
        if ours.end == before.len() && !before.ends_with('\n') {
            // A last line without a break is removed with the break before it.
            above = above.strip_suffix('\n').unwrap_or(above);
            above = above.strip_suffix('\r').unwrap_or(above);
        }
        let between = if is_alone { &before[list.heading.end..ours.start] } else { "" };
        Ok(format!("{above}{between}{}", &before[ours.end..]))
    }

    /// Returns whether the server is in the text, however it runs yore.
    pub fn is_in(&self, text: &str) -> bool {
        !self.found(text).is_empty()
    }

    /// Returns the server as the agent finds it.
    pub fn found(&self, text: &str) -> Vec<What> {
        let ours = self.list(text).ok().flatten().and_then(|list| list.ours(text));
        let run = ours.and_then(|ours| run_of(&text[ours])).filter(|(program, _)| is_yore(program));
        run.map(|(program, args)| What::Mcp { program, args, env: Vec::new() }).into_iter().collect()
    }

    fn item(&self, indent: &str, newline: &str) -> String {
        // JSON texts and lists are valid YAML.
        let program = serde_json::Value::from(self.program.as_str());
        let args = serde_json::Value::from(self.args.clone());
        [
            format!("{indent}- name: {SERVER}{newline}"),
            format!("{indent}  command: {program}{newline}"),
            format!("{indent}  args: {args}{newline}"),
        ]
        .concat()
    }

    /// Returns the list; `None` if there is none.
    fn list(&self, text: &str) -> Result<Option<List>, EditError> {
        let unusual = |why: &str| {
            EditError::Unusual(format!(
                "{why}; add these lines to its `mcpServers` list by hand:\n{}",
                self.item("  ", "\n").trim_end()
            ))
        };
        let mut lines = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            lines.push(at..at + line.len());
            at += line.len();
        }
        let content = |line: &Range<usize>| text[line.clone()].trim_end();
        let is_key = |line: &&Range<usize>| content(line).trim_start_matches('\u{feff}').starts_with(KEY);
        if text.trim_start().starts_with('{') || lines.iter().filter(is_key).count() > 1 {
            return Err(unusual("its YAML style is not supported"));
        }
        let Some(place) = lines.iter().position(|line| is_key(&line)) else {
            let is_document_end = |line: &Range<usize>| matches!(content(line), "---" | "...");
            // Text after an end mark would be another document.
            let marks = lines.iter().filter(|line| is_document_end(line)).count();
            let has_first_mark = lines.first().is_some_and(is_document_end);
            if marks > usize::from(has_first_mark) || text.contains("\"mcpServers\"") || text.contains("'mcpServers'") {
                return Err(unusual("its YAML style is not supported"));
            }
            return Ok(None);
        };
        let rest = content(&lines[place]).trim_start_matches('\u{feff}')[KEY.len()..].trim();
        if !rest.is_empty() && !rest.starts_with('#') || !text[lines[place].clone()].ends_with('\n') {
            return Err(unusual("its list of servers is not written line by line"));
        }
        let mut list = List { heading: lines[place].clone(), indent: "  ".to_owned(), items: Vec::new() };
        let mut is_first = true;
        for line in &lines[place + 1..] {
            let words = content(line);
            let indent = &words[..words.len() - words.trim_start().len()];
            let is_blank = words.is_empty() || words.trim_start().starts_with('#');
            if is_blank {
                continue;
            }
            if words.trim_start().starts_with("- ") && (is_first || indent == list.indent) {
                if is_first {
                    list.indent = indent.to_owned();
                    is_first = false;
                }
                list.items.push(line.clone());
            } else if indent.len() > list.indent.len() && !list.items.is_empty() {
                if let Some(item) = list.items.last_mut() {
                    item.end = line.end;
                }
            } else if indent.is_empty() && !words.starts_with('-') {
                break;
            } else {
                return Err(unusual("the YAML style of its list of servers is not supported"));
            }
        }
        Ok(Some(list))
    }
}

impl List {
    /// Returns the item with yore's name.
    fn ours(&self, text: &str) -> Option<Range<usize>> {
        self.items.iter().find(|item| value(&text[(*item).clone()], "name:").as_deref() == Some(SERVER)).cloned()
    }
}

/// Returns the value of a key in an item, without its quotes.
fn value(item: &str, key: &str) -> Option<String> {
    let words = item.lines().find_map(|line| line.trim_start_matches(['-', ' ']).strip_prefix(key)).map(str::trim)?;
    Some(match words.strip_prefix('\'').and_then(|words| words.strip_suffix('\'')) {
        Some(words) => words.replace("''", "'"),
        None => serde_json::from_str(words).unwrap_or_else(|_| words.to_owned()),
    })
}

/// Returns the program of an item and its arguments, if they are on one line.
fn run_of(item: &str) -> Option<(String, Vec<String>)> {
    let args = item.lines().find_map(|line| line.trim_start_matches(['-', ' ']).strip_prefix("args:"));
    let args = args.and_then(|args| serde_json::from_str(args.trim()).ok()).unwrap_or_default();
    Some((value(item, "command:")?, args))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> YamlServer {
        YamlServer { program: "/bin/yore".to_owned(), args: vec!["mcp".to_owned()] }
    }

    #[test]
    fn server_goes_into_the_list_and_out_again() {
        let item = "- name: yore\n    command: \"/bin/yore\"\n    args: [\"mcp\"]\n";
        for (before, after) in [
            ("", format!("mcpServers:\n  {item}")),
            ("# mine\nname: x\n", format!("# mine\nname: x\nmcpServers:\n  {item}")),
            ("name: x", format!("name: x\nmcpServers:\n  {}", item.trim_end())),
            (
                "mcpServers:\n  - name: a\n    command: b\nrules: []\n",
                format!("mcpServers:\n  {item}  - name: a\n    command: b\nrules: []\n"),
            ),
        ] {
            let put = server().put(before).unwrap();
            assert_eq!(put, after);
            assert_eq!(server().put(&put).unwrap(), put, "twice");
            assert_eq!(server().take(&put).unwrap(), before);
            assert_eq!(server().found(&put).len(), 1);
        }
        let flat = server().put("mcpServers:\n- name: a\n  command: b\n").unwrap();
        assert_eq!(flat, "mcpServers:\n- name: yore\n  command: \"/bin/yore\"\n  args: [\"mcp\"]\n- name: a\n  command: b\n");
    }

    #[test]
    fn moved_program_is_corrected_and_a_foreign_server_left_alone() {
        let old = "mcpServers:\n  - name: yore\n    command: \"/old/yore\"\n    args: [\"mcp\"]\n";
        assert_eq!(server().put(old).unwrap(), old.replace("/old", "/bin"));
        let foreign = "mcpServers:\n  - name: yore\n    command: npx\n";
        assert!(matches!(server().put(foreign), Err(EditError::Foreign(_))));
        assert_eq!(server().take(foreign).unwrap(), foreign);
        assert!(!server().is_in(foreign));
    }

    #[test]
    fn what_is_written_otherwise_is_left_alone_and_the_lines_are_told() {
        for text in [
            "{\"mcpServers\": []}",
            "mcpServers: []\n",
            "mcpServers: &a\n  - name: x\n",
            "mcpServers:\n  yore:\n    command: x\n",
            "a: 1\n---\nb: 2\n",
            "\"mcpServers\":\n  - name: a\n",
        ] {
            let Err(EditError::Unusual(why)) = server().put(text) else { panic!("{text}") };
            assert!(why.contains("command: \"/bin/yore\""), "{why}");
        }
    }
}
