//! Cuts rule files and notes in Markdown into single statements: list items, paragraphs, table rows, code blocks. A statement
//! keeps its heading. People write such files for agents (`CLAUDE.md`).

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A longer item of a list is cut into the items below it, in characters.
const LONG_CHARS: usize = 400;
/// The words of an item are repeated before each item below it up to so many characters.
const LEAD_CHARS: usize = 160;

/// Items below items deeper than this belong to the one above them: a hostile text nests without end.
const MOST_DEPTH: usize = 20;

/// A statement of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// 1-based line at which it begins.
    pub line: u64,
    /// The headings above it, outermost first.
    pub headings: Vec<String>,
    /// Its words, as Markdown.
    pub text: String,
    /// A block of code that belongs to it.
    pub code: Option<String>,
}

/// An item of a list that is being read.
struct Item {
    start: usize,
    /// Where its own words end: at the first list below it.
    own_end: Option<usize>,
    below: Vec<Cut>,
}

/// An item of a list that was read: where it begins, its own words, the items below it.
struct Cut {
    start: usize,
    own: String,
    whole: String,
    below: Vec<Self>,
}

/// Returns the statements of a Markdown text, in order. The front matter, HTML, pictures alone and `@path` imports are
/// none.
pub fn statements(text: &str) -> Vec<Statement> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
        | Options::ENABLE_TASKLISTS;
    let mut reader = Reader { text, headings: Vec::new(), stub: None, found: Vec::new(), line: (0, 1) };
    let mut items: Vec<Item> = Vec::new();
    let mut words: Option<String> = None;
    let (mut columns, mut cells): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut code: Option<String> = None;
    let mut deeper = 0usize;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. } | Tag::TableCell) => words = Some(String::new()),
            Event::End(TagEnd::Heading(level)) => reader.heading(level as usize, &words.take().unwrap_or_default()),
            Event::End(TagEnd::TableCell) => cells.push(one_line(&words.take().unwrap_or_default())),
            Event::End(TagEnd::TableHead) => columns = std::mem::take(&mut cells),
            Event::End(TagEnd::TableRow) => reader.row(range.start, &columns, &std::mem::take(&mut cells)),
            Event::Start(Tag::Item) if items.len() >= MOST_DEPTH => deeper += 1,
            Event::End(TagEnd::Item) if deeper > 0 => deeper -= 1,
            Event::Start(Tag::Item) => items.push(Item { start: range.start, own_end: None, below: Vec::new() }),
            Event::Start(Tag::List(_)) => {
                if let Some(item) = items.last_mut() {
                    item.own_end.get_or_insert(range.start);
                }
            }
            Event::End(TagEnd::Item) => {
                let Some(item) = items.pop() else { continue };
                let cut = Cut {
                    start: item.start,
                    own: unmarked(slice(text, item.start..item.own_end.unwrap_or(range.end))),
                    whole: unmarked(slice(text, item.start..range.end)),
                    below: item.below,
                };
                match items.last_mut() {
                    Some(above) => above.below.push(cut),
                    None => reader.item_below_stub(&cut),
                }
            }
            Event::End(TagEnd::List(_)) if items.is_empty() => reader.stub = None,
            Event::End(TagEnd::Paragraph) if items.is_empty() => reader.paragraph(range),
            Event::Start(Tag::CodeBlock(kind)) if items.is_empty() => {
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                code = Some(format!("```{language}\n"));
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some(code) = code.take() {
                    reader.code(range.start, format!("{}\n```", code.trim_end()));
                }
            }
            Event::Text(said) | Event::Code(said) => {
                if let Some(code) = &mut code {
                    code.push_str(&said);
                } else if let Some(words) = &mut words {
                    words.push_str(&said);
                }
            }
            Event::SoftBreak | Event::HardBreak => words.iter_mut().for_each(|words| words.push(' ')),
            _ => {}
        }
    }
    reader.found
}

struct Reader<'t> {
    text: &'t str,
    /// Level and words.
    headings: Vec<(usize, String)>,
    /// A line that announces what follows, and where it begins.
    stub: Option<(usize, String)>,
    found: Vec<Statement>,
    /// A place in the text, and its line.
    line: (usize, u64),
}

impl Reader<'_> {
    fn heading(&mut self, level: usize, words: &str) {
        self.stub = None;
        self.headings.retain(|(above, _)| *above < level);
        self.headings.push((level, one_line(words)));
    }

    fn paragraph(&mut self, range: Range<usize>) {
        let words = unmarked(slice(self.text, range.clone()));
        self.stub = announced(&words).map(|words| (range.start, words));
        self.add(range.start, words, None);
    }

    /// Adds an item of a list, after the words that announce the list.
    fn item_below_stub(&mut self, item: &Cut) {
        let lead = self.stub.as_ref().map(|(_, words)| words.clone()).unwrap_or_default();
        self.item(item, if lead.chars().count() <= LEAD_CHARS { &lead } else { "" });
    }

    /// Adds an item, or the items below it if it is long.
    fn item(&mut self, item: &Cut, lead: &str) {
        let led = |words: &str| if lead.is_empty() { words.to_owned() } else { format!("{lead} {words}") };
        if item.below.is_empty() || item.whole.chars().count() <= LONG_CHARS {
            return self.add(item.start, led(&item.whole), None);
        }
        let own = led(&item.own);
        let is_lead = own.chars().count() <= LEAD_CHARS;
        if !is_lead {
            self.add(item.start, own.clone(), None);
        }
        for below in &item.below {
            self.item(below, if is_lead { &own } else { "" });
        }
    }

    /// Adds a row of a table: each cell with the name of its column.
    fn row(&mut self, start: usize, columns: &[String], cells: &[String]) {
        let named = |(at, cell): (usize, &String)| match columns.get(at).filter(|column| !column.is_empty()) {
            Some(column) => format!("{column}: {cell}"),
            None => cell.clone(),
        };
        let cells: Vec<String> = cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()).map(named).collect();
        self.add(start, cells.join("; "), None);
    }

    /// Adds a block of code to the statement before it under the same heading, or to the heading.
    fn code(&mut self, start: usize, code: String) {
        let headings: Vec<String> = self.headings.iter().map(|(_, words)| words.clone()).collect();
        if let Some((start, words)) = self.stub.take() {
            return self.add(start, words, Some(code));
        }
        if let Some(last) = self.found.last_mut().filter(|last| last.headings == headings && last.code.is_none()) {
            last.code = Some(code);
        } else if let Some(heading) = headings.last() {
            let first = code.lines().nth(1).unwrap_or_default().trim().to_owned();
            self.add(start, format!("{heading}: {first}"), Some(code));
        }
    }

    fn add(&mut self, start: usize, text: String, code: Option<String>) {
        let text = text.trim().to_owned();
        let is_import = text.split_whitespace().all(|word| word.starts_with('@') || word.starts_with("!["));
        let is_stub = code.is_none() && announced(&text).is_some();
        if text.chars().filter(|letter| letter.is_alphanumeric()).count() < 2 || is_import || is_stub {
            return;
        }
        let (place, line) = self.line;
        let line = line + slice(self.text, place..start.max(place)).matches('\n').count() as u64;
        self.line = (start.max(place), line);
        let headings = self.headings.iter().map(|(_, words)| words.clone()).filter(|words| !words.is_empty()).collect();
        self.found.push(Statement { line, headings, text, code });
    }
}

/// Returns the words of a text that only announces what follows, with a colon after them: it ends with one, or is a line in
/// bold letters that is no sentence.
fn announced(text: &str) -> Option<String> {
    let bare = text.trim_end_matches(['*', '_', ' ']);
    let bold = text.strip_prefix("**").and_then(|rest| rest.strip_suffix("**")).filter(|bold| !bold.contains("**"));
    let is_title = bold.is_some_and(|bold| !bold.ends_with(['.', '!', '?']));
    if text.contains('\n') || !bare.ends_with([':', '\u{ff1a}']) && !is_title {
        return None;
    }
    let words = bare.trim_end_matches([':', '\u{ff1a}']).trim_matches(['*', '_', ' ']);
    Some(format!("{words}:"))
}

fn slice(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes the marker of an item and the line breaks within paragraphs; items below begin a new line.
fn unmarked(raw: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut is_code = false;
    for (at, line) in raw.lines().enumerate() {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        let bare = without_quote(line.trim());
        let bare = if at == 0 { without_marker(bare) } else { bare };
        let begins = is_fence || is_code || at > 0 && without_marker(bare) != bare || lines.last().is_some_and(String::is_empty);
        if is_fence {
            is_code = !is_code;
        }
        match lines.last_mut() {
            Some(last) if !begins && !bare.is_empty() && !last.ends_with("```") => {
                last.push(' ');
                last.push_str(bare);
            }
            _ => lines.push(if is_code && !is_fence { line.to_owned() } else { bare.to_owned() }),
        }
    }
    lines.retain(|line| !line.trim().is_empty());
    lines.join("\n").trim().to_owned()
}

fn without_quote(line: &str) -> &str {
    line.strip_prefix('>').map_or(line, str::trim_start)
}

/// Removes `-`, `*`, `+`, `1.`, `2)` and a box to tick.
fn without_marker(line: &str) -> &str {
    let digits = line.len() - line.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let rest = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None if (1..=9).contains(&digits) => match line[digits..].strip_prefix(['.', ')']) {
            Some(rest) => rest,
            None => return line,
        },
        None => return line,
    };
    let Some(rest) = rest.strip_prefix([' ', '\t']) else { return line };
    let rest = rest.trim_start();
    ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_paragraphs_rows_and_code_are_statements_under_their_headings() {
        let text = "---\nname: x\n---\n# Project\n\nThe harbour runs on\nSQLite.\n\n@docs/more.md\n\n## Rules\n\n- Never log a token.\n- Use `pnpm`,\n  not npm.\n  - also in CI\n1. [ ] Ask first.\n\n## Build\n\n```sh\ncargo build\ncargo test\n```\n\n| Port | Use |\n| --- | --- |\n| 8080 | web |\n\n<!-- hidden -->\n> Quoted words\n> go on.\n";
        let found = statements(text);
        let told: Vec<(u64, String, &str)> =
            found.iter().map(|found| (found.line, found.headings.join("/"), found.text.as_str())).collect();
        let expected = [
            (6, "Project", "The harbour runs on SQLite."),
            (13, "Project/Rules", "Never log a token."),
            (14, "Project/Rules", "Use `pnpm`, not npm.\n- also in CI"),
            (17, "Project/Rules", "Ask first."),
            (21, "Project/Build", "Build: cargo build"),
            (28, "Project/Build", "Port: 8080; Use: web"),
            (31, "Project/Build", "Quoted words go on."),
        ];
        let expected: Vec<(u64, String, &str)> =
            expected.iter().map(|(line, headings, text)| (*line, (*headings).to_owned(), *text)).collect();
        assert_eq!(told, expected);
        assert_eq!(found[4].code.as_deref(), Some("```sh\ncargo build\ncargo test\n```"));
    }

    #[test]
    fn a_long_item_is_cut_into_the_items_below_it_with_its_words_before_each() {
        let long = "word ".repeat(60);
        let text = format!("- Deploys:\n  - on Tuesday {long}\n  - never on Friday {long}\n");
        let found: Vec<String> = statements(&text).into_iter().map(|found| found.text).collect();
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("Deploys: on Tuesday") && found[1].starts_with("Deploys: never on Friday"), "{found:?}");
    }

    #[test]
    fn lines_that_announce_a_list_stand_before_its_items_and_are_no_statements() {
        let text = "# Work\n\n**Do NOT:**\n\n- log a token\n- push to `main`\n\nAll strategies implement:\n1. `Save()`, which writes\n\n**Orphaned branches:**\n\nThey stay.\n\nRun the tests:\n\n```sh\ncargo test\n```\n\n**Important**\n\n- Colons: see the table:\n";
        let found: Vec<(u64, String)> = statements(text).into_iter().map(|found| (found.line, found.text)).collect();
        let expected = [
            (5, "Do NOT: log a token"),
            (6, "Do NOT: push to `main`"),
            (9, "All strategies implement: `Save()`, which writes"),
            (13, "They stay."),
            (15, "Run the tests:"),
        ];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
        assert!(statements(text)[4].code.is_some());
    }

    #[test]
    fn odd_texts_have_no_statement_and_no_panic() {
        for text in
            ["", "\n", "---\n", "# \n", "- \n-\n", "|a|\n|-|\n", "```\n", "@a @b", "![x](y)", "<b>", "\u{feff}", "-\u{301}"]
        {
            assert!(statements(text).is_empty(), "{text:?}: {:?}", statements(text));
        }
        let hostile = format!("{}x y", "- ".repeat(20_000));
        assert!(statements(&hostile).len() <= 1);
        let deep = (0..200).map(|depth| format!("{}- ü item\n", "  ".repeat(depth))).collect::<String>();
        assert!(!statements(&deep).is_empty());
    }
}
