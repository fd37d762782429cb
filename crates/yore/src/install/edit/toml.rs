//! Edits the MCP server's table in a TOML file (Codex).
//!
//! The table is added at the end of the text and cut out of it again; nothing else is rewritten. Only if the
//! table was written in another way (inline, dotted) does the TOML editor rewrite the file, which keeps
//! comments and order.

use std::ops::Range;

use ::toml::Table;
use toml_edit::{Array, Document, DocumentMut, Item, Key, TableLike, Value};

use super::{EditError, SERVER};
use crate::install::command::is_yore;
use crate::install::what::What;

/// The server, as a table below `table`.
#[derive(Clone, Debug)]
pub struct Server {
    /// Name of the table of all servers.
    pub table: &'static str,
    /// Path of the program.
    pub program: String,
    /// Arguments of the program.
    pub args: Vec<String>,
}

impl Server {
    fn program_text(&self) -> String {
        Value::from(self.program.as_str()).to_string()
    }

    fn args_text(&self) -> String {
        self.args.iter().map(String::as_str).collect::<Array>().to_string()
    }

    /// Returns the text with the server in it.
    pub fn put(&self, before: &str) -> Result<String, EditError> {
        let document = parse(before)?;
        let after = match document.get(self.table).map(|servers| servers.get(SERVER)) {
            Some(Some(server)) => self.correct(before, server)?,
            None => self.append(before),
            Some(None) => {
                let appended = self.append(before);
                if parse(&appended).is_ok() { appended } else { self.insert(before)? }
            }
        };
        let unchanged = self.rest(before)? == self.rest(&after)?;
        let found = self.found(&after)?;
        let is_right =
            matches!(found.as_slice(), [What::Mcp { program, args, .. }] if *program == self.program && *args == self.args);
        if unchanged && is_right { Ok(after) } else { Err(EditError::Unsafe) }
    }

    /// Returns the text without the server.
    pub fn take(&self, before: &str) -> Result<String, EditError> {
        if !self.is_in(before) {
            return Ok(before.to_owned());
        }
        let mut after = before.to_owned();
        while let Some(section) = self.last_section(&after)? {
            after = without(&after, &section);
        }
        if self.is_in(&after) {
            after = self.edited(&after, |servers| {
                servers.remove(SERVER);
            })?;
        }
        if self.rest(before)? == self.rest(&after)? && !self.is_in(&after) { Ok(after) } else { Err(EditError::Unsafe) }
    }

    /// Returns whether the text has the server, and it is yore's.
    pub fn is_in(&self, text: &str) -> bool {
        parse(text).is_ok_and(|document| document.get(self.table).and_then(|servers| servers.get(SERVER)).is_some_and(is_ours))
    }

    /// Returns the server as the agent finds it.
    pub fn found(&self, text: &str) -> Result<Vec<What>, EditError> {
        let document = parse(text)?;
        let server = document.get(self.table).and_then(|servers| servers.get(SERVER)).filter(|server| is_ours(server));
        Ok(server
            .into_iter()
            .map(|server| {
                let words = |item: Option<&Item>| -> Vec<String> {
                    item.and_then(Item::as_array)
                        .into_iter()
                        .flatten()
                        .filter_map(|word| word.as_str().map(str::to_owned))
                        .collect()
                };
                let env = server.get("env").and_then(Item::as_table_like);
                let env = env
                    .into_iter()
                    .flat_map(TableLike::iter)
                    .filter_map(|(name, value)| Some((name.to_owned(), value.as_str()?.to_owned())));
                What::Mcp {
                    program: server.get("command").and_then(Item::as_str).unwrap_or_default().to_owned(),
                    args: words(server.get("args")),
                    env: env.collect(),
                }
            })
            .collect())
    }

    fn append(&self, before: &str) -> String {
        let newline = newline_of(before);
        let block = format!(
            "[{}.{SERVER}]{newline}command = {}{newline}args = {}",
            self.table,
            self.program_text().trim(),
            self.args_text().trim()
        );
        let is_empty = before.trim_start_matches('\u{feff}').is_empty();
        // The end of the block shows whether the text ended with a line break.
        match before {
            _ if is_empty => format!("{before}{block}{newline}"),
            _ if before.ends_with('\n') => format!("{before}{newline}{block}{newline}"),
            _ => format!("{before}{newline}{newline}{block}"),
        }
    }

    /// Inserts the server where no table can be appended: among the members of an inline table.
    fn insert(&self, before: &str) -> Result<String, EditError> {
        self.edited(before, |servers| {
            let mut server = toml_edit::InlineTable::new();
            server.insert("command", self.program.as_str().into());
            server.insert("args", self.args.iter().map(String::as_str).collect::<Array>().into());
            servers.insert(SERVER, Item::Value(Value::InlineTable(server)));
        })
    }

    /// Returns the text after a change by the TOML editor.
    fn edited(&self, before: &str, change: impl FnOnce(&mut dyn TableLike)) -> Result<String, EditError> {
        let (lines, windows) = (before.matches('\n').count(), before.matches("\r\n").count());
        let by_hand = || EditError::Unusual(format!("its table {} is written in an unusual way; change it by hand", self.table));
        if windows != 0 && windows != lines {
            return Err(by_hand());
        }
        let mut document: DocumentMut =
            before.parse().map_err(|error: toml_edit::TomlError| EditError::Unreadable(error.message().to_owned()))?;
        change(document.get_mut(self.table).and_then(Item::as_table_like_mut).ok_or_else(by_hand)?);
        let after = document.to_string();
        Ok(if windows > 0 { after.replace("\r\n", "\n").replace('\n', "\r\n") } else { after })
    }

    fn correct(&self, before: &str, server: &Item) -> Result<String, EditError> {
        if !is_ours(server) {
            let runs = match server.get("command").and_then(Item::as_str) {
                Some(program) => format!("runs {program:?}"),
                None => "does not run this program".to_owned(),
            };
            return Err(EditError::Foreign(format!(
                "a server called \"{SERVER}\" that {runs} already exists ({}.{SERVER}); rename or remove it first",
                self.table
            )));
        }
        let unusual =
            || EditError::Unusual(format!("its table {}.{SERVER} is written in an unusual way; remove it by hand", self.table));
        let mut changes: Vec<(Range<usize>, String)> = Vec::new();
        let command = server.get("command").ok_or_else(unusual)?;
        let command_place = command.span().ok_or_else(unusual)?;
        if command.as_str() != Some(self.program.as_str()) {
            changes.push((command_place.clone(), self.program_text().trim().to_owned()));
        }
        match server.get("args") {
            Some(args) => {
                let words: Option<Vec<&str>> = args.as_array().map(|args| args.iter().filter_map(Value::as_str).collect());
                if words.as_deref() != Some(&self.args.iter().map(String::as_str).collect::<Vec<_>>()) {
                    changes.push((args.span().ok_or_else(unusual)?, self.args_text().trim().to_owned()));
                }
            }
            None if server.is_table() => {
                let end = command_place.end;
                changes.push((end..end, format!("{}args = {}", newline_of(before), self.args_text().trim())));
            }
            None => return Err(unusual()),
        }
        changes.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
        let mut after = before.to_owned();
        for (place, text) in changes {
            after.replace_range(place, &text);
        }
        Ok(after)
    }

    /// Returns the table without yore's server.
    fn rest(&self, text: &str) -> Result<Table, EditError> {
        let plain = text.trim_start_matches('\u{feff}');
        let mut table: Table =
            plain.parse().map_err(|error: ::toml::de::Error| EditError::Unreadable(error.message().to_owned()))?;
        if let Some(servers) = table.get_mut(self.table).and_then(::toml::Value::as_table_mut) {
            servers.remove(SERVER);
            if servers.is_empty() {
                table.remove(self.table);
            }
        }
        Ok(table)
    }

    /// Returns the last section of the text that has the heading `[table.yore]`, or one below it.
    fn last_section(&self, text: &str) -> Result<Option<Range<usize>>, EditError> {
        let document = parse(text)?;
        let mut values: Vec<Range<usize>> = Vec::new();
        collect_values(document.as_table(), &mut values);
        let is_inside = |at: usize| values.iter().any(|value| value.contains(&at));
        let mut sections: Vec<(usize, bool)> = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let place = at + line.len() - line.trim_start_matches(['\u{feff}', ' ', '\t']).len();
            if text[place..].starts_with('[') && !is_inside(place) {
                let heading = line.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).trim_start_matches('[');
                let heading = heading.split('#').next().unwrap_or_default().trim_end();
                let keys = Key::parse(heading.trim_end_matches(']')).unwrap_or_default();
                let is_ours =
                    keys.first().is_some_and(|key| key.get() == self.table) && keys.get(1).is_some_and(|key| key.get() == SERVER);
                let mark = if at == 0 && line.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
                sections.push((at + mark, is_ours));
            }
            at += line.len();
        }
        let Some(index) = sections.iter().rposition(|(_, is_ours)| *is_ours) else { return Ok(None) };
        let start = sections[index].0;
        let next = sections.get(index + 1).map_or(text.len(), |(next, _)| *next);
        // Up to the end of its last value; a comment below that belongs to what follows.
        let last = values.iter().filter(|value| (start..next).contains(&value.start)).map(|value| value.end).max();
        let end = last.unwrap_or(start);
        Ok(Some(start..text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1)))
    }
}

/// Returns a text without one of its sections and the blank line that separated it.
fn without(text: &str, section: &Range<usize>) -> String {
    let (mut above, below) = (&text[..section.start], &text[section.end..]);
    let less =
        |text: &'static str, from: &'_ str| from.strip_suffix(text).map(|less| less.strip_suffix('\r').unwrap_or(less).len());
    if below.is_empty() && !text.ends_with('\n') {
        for _ in 0..2 {
            above = &above[..less("\n", above).unwrap_or(above.len())];
        }
    } else if let Some(length) = less("\n", above)
        && (above[..length].ends_with('\n') || above[..length].trim_start_matches('\u{feff}').is_empty())
    {
        above = &above[..length];
    }
    format!("{above}{below}")
}

fn newline_of(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

fn parse(text: &str) -> Result<Document<&str>, EditError> {
    Document::parse(text).map_err(|error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let place = line.map(|line| format!(" on line {line}")).unwrap_or_default();
        EditError::Unreadable(format!("{}{place}", error.message().lines().next().unwrap_or_default()))
    })
}

fn is_ours(server: &Item) -> bool {
    server.get("command").and_then(Item::as_str).is_some_and(is_yore)
}

/// Collects the ranges of all values.
fn collect_values(table: &dyn TableLike, places: &mut Vec<Range<usize>>) {
    for (_, item) in table.iter() {
        match item {
            Item::Value(value) => places.extend(value.span()),
            Item::Table(table) => collect_values(table, places),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|table| collect_values(table, places)),
            Item::None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn server() -> Server {
        Server { table: "mcp_servers", program: "/home/dev/bin/yore".into(), args: vec!["mcp".into()] }
    }

    #[test]
    fn table_is_appended_and_cut_out_again() {
        let table = "[mcp_servers.yore]\ncommand = \"/home/dev/bin/yore\"\nargs = [\"mcp\"]\n";
        for before in [
            "",
            "model = \"o3\"\n",
            "model = \"o3\"",
            "# only a comment\n",
            "[mcp_servers.other]\ncommand = \"x\"\n\n[mcp_servers.other.env]\nA = \"1\"\n",
            "[a]\ntext = '''\n[mcp_servers.yore]\n'''\n",
            "[[profiles]]\nname = \"a\"\n",
            "mcp_servers.other.command = \"x\"\n",
        ] {
            let after = server().put(before).unwrap();
            assert!(after.starts_with(before) && after.trim_end().ends_with(table.trim_end()), "{after}");
            assert_eq!(server().put(&after).unwrap(), after);
            assert_eq!(server().take(&after).unwrap(), before);
            let windows = before.replace('\n', "\r\n");
            let after = server().put(&windows).unwrap();
            assert_eq!(after.contains("\r\n"), windows.contains('\n'));
            assert_eq!(server().take(&after).unwrap(), windows);
        }
    }

    #[test]
    fn what_the_agent_or_the_person_added_below_it_goes_too_and_what_follows_stays() {
        let text = "model = \"o3\"\n\n[mcp_servers.yore]\ncommand = \"/old/yore\" # here\nargs = [\n  \"mcp\",\n]\n\n[mcp_servers.yore.tools.recall]\napproval_mode = \"approve\"\n\n# mine\n[other]\nx = 1\n";
        let corrected = server().put(text).unwrap();
        assert_eq!(corrected, text.replace("/old/yore", "/home/dev/bin/yore"));
        assert_eq!(server().take(text).unwrap(), "model = \"o3\"\n\n# mine\n[other]\nx = 1\n");
    }

    #[test]
    fn other_ways_to_write_it_are_understood() {
        let inline = "mcp_servers = { other = { command = \"x\" } } # all\nmodel = \"o3\"\n";
        let after = server().put(inline).unwrap();
        assert!(after.contains("yore = { command") && after.contains("# all"), "{after}");
        assert_eq!(server().take(&after).unwrap(), inline);
        let dotted = "mcp_servers.yore.command = \"/x/yore\"\nmcp_servers.yore.args = []\nmodel = \"o3\"\n";
        assert_eq!(
            server().put(dotted).unwrap(),
            "mcp_servers.yore.command = \"/home/dev/bin/yore\"\nmcp_servers.yore.args = [\"mcp\"]\nmodel = \"o3\"\n"
        );
        assert_eq!(server().take(dotted).unwrap(), "model = \"o3\"\n");
    }

    #[test]
    fn foreign_server_and_broken_file_are_refused() {
        assert!(matches!(server().put("[mcp_servers.yore]\ncommand = \"npx\"\n"), Err(EditError::Foreign(_))));
        assert!(matches!(server().put("[mcp_servers.yore]\nurl = \"http://x\"\n"), Err(EditError::Foreign(_))));
        assert!(matches!(server().put("a = \n"), Err(EditError::Unreadable(_))));
        assert!(server().put("mcp_servers = 1\n").is_err());
        assert_eq!(server().take("[mcp_servers.yore]\ncommand = \"npx\"\n").unwrap(), "[mcp_servers.yore]\ncommand = \"npx\"\n");
    }

    /// A file as a person may have written it.
    fn written() -> impl Strategy<Value = String> {
        let value = prop::sample::select(vec![
            "1",
            "\"a # b\"",
            "'''\n[x]\n'''",
            "[1, 2,\n  3] # list",
            "{ a = 1 }",
            "true",
            "1979-05-27T07:32:00Z",
            "\"\"\"\n[mcp_servers.yore]\n\"\"\"",
        ]);
        let line = (0..1000u32, value).prop_map(|(key, value)| format!("k{key} = {value}"));
        let blank = prop::sample::select(vec!["", "\n", "# note\n", "\n\n"]);
        let section = (0..1000u32, any::<bool>(), prop::collection::vec((blank, line), 0..3));
        let head = prop::sample::select(vec!["", "\u{feff}", "# head\n\n", "model = \"o3\"\n"]);
        (head, prop::collection::vec(section, 0..4), any::<bool>()).prop_map(|(head, sections, ends)| {
            let mut out = head.to_owned();
            for (number, (name, is_array, lines)) in sections.into_iter().enumerate() {
                out.push_str(&if is_array { format!("[[t{number}x{name}]]\n") } else { format!("[t{number}x{name}]\n") });
                for (index, (blank, line)) in lines.into_iter().enumerate() {
                    out.push_str(blank);
                    out.push_str(&line.replacen(" =", &format!("i{index} ="), 1));
                    out.push('\n');
                }
            }
            if ends { out } else { out.trim_end_matches('\n').to_owned() }
        })
    }

    proptest! {
        #[test]
        fn what_was_put_comes_out_again(text in written(), windows in any::<bool>()) {
            let text = if windows { text.replace('\n', "\r\n") } else { text };
            let after = server().put(&text).unwrap();
            prop_assert!(after.starts_with(&text));
            prop_assert_eq!(server().take(&after).unwrap(), text);
        }
    }
}
