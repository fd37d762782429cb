//! One path in the list of files that Aider reads, in its `.aider.conf.yml`.
//!
//! This is not a YAML parser. It recognizes the few ways in which people write this list by their lines. A
//! file written in any other way is left alone, and the user is told what to add.

use super::EditError;

const KEY: &str = "read";

/// The file that Aider is to read.
#[derive(Clone, Debug)]
pub struct ReadFile {
    /// Path of the file.
    pub path: String,
}

/// The form of a list.
enum List<'t> {
    /// The key is missing.
    Absent,
    /// `read: one`, with the position of its value.
    One(usize, &'t str),
    /// `read: [one, two]`, with the position of its inside.
    Flow(usize, &'t str),
    /// A list of lines: its end, and the prefix of each line.
    Lines(usize, String),
}

impl ReadFile {
    fn quoted(&self) -> String {
        format!("'{}'", self.path.replace('\'', "''"))
    }

    /// Returns whether a value is this file, quoted in any way, or one of its name.
    fn is(&self, value: &str) -> bool {
        let value = value.trim();
        let plain = match (value.strip_prefix('\''), value.strip_prefix('"')) {
            (Some(rest), _) => rest.trim_end_matches('\'').replace("''", "'"),
            (_, Some(rest)) => rest.trim_end_matches('"').replace("\\\\", "\\"),
            _ => value.to_owned(),
        };
        let name = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        plain == self.path || !name(&plain).is_empty() && name(&plain) == name(&self.path)
    }

    /// Returns the text with the file in the list.
    pub fn put(&self, before: &str) -> Result<String, EditError> {
        let newline = if before.contains("\r\n") { "\r\n" } else { "\n" };
        let before = &match self.place(before)? {
            Some(value) if before[value.clone()].trim() == self.quoted() => return Ok(before.to_owned()),
            Some(value) => return Ok(format!("{}{}{}", &before[..value.start], self.quoted(), &before[value.end..])),
            None => before.to_owned(),
        };
        let quoted = self.quoted();
        Ok(match self.list(before)? {
            // The end of the new line shows whether the text ended with a line break.
            List::Absent if before.is_empty() || before.ends_with('\n') => format!("{before}{KEY}: [{quoted}]{newline}"),
            List::Absent => format!("{before}{newline}{KEY}: [{quoted}]"),
            List::One(at, value) => {
                let end = at + value.len();
                // The new value comes first, so that the result can be told from a list of one.
                format!("{}[{quoted}, {value}]{}", &before[..at], &before[end..])
            }
            List::Flow(at, inside) => {
                let end = at + inside.trim_end().len();
                let separator = match inside.trim() {
                    "" => "",
                    inside if inside.ends_with(',') => " ",
                    _ => ", ",
                };
                format!("{}{separator}{quoted}{}", &before[..end], &before[end..])
            }
            List::Lines(end, start) => {
                let (above, below) = before.split_at(end);
                if above.ends_with('\n') {
                    format!("{above}{start}{quoted}{newline}{below}")
                } else {
                    format!("{above}{newline}{start}{quoted}{below}")
                }
            }
        })
    }

    /// Returns the text without the file in the list.
    pub fn take(&self, before: &str) -> Result<String, EditError> {
        let Some(value) = self.place(before)? else { return Ok(before.to_owned()) };
        let line_start = before[..value.start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = before[value.end..].find('\n').map_or(before.len(), |at| value.end + at + 1);
        let head = before[line_start..value.start].trim();
        let whole_line = |start: usize, end: usize| {
            // A last line without a break is removed with the break before it.
            if end == before.len() && !before.ends_with('\n') {
                let above = &before[..start];
                let above = above.strip_suffix('\n').unwrap_or(above);
                return above.strip_suffix('\r').unwrap_or(above).to_owned();
            }
            format!("{}{}", &before[..start], &before[end..])
        };
        if head == "-" {
            let less = whole_line(line_start, line_end);
            return Ok(less);
        }
        let Some(open) = before[line_start..value.start].find('[').map(|at| line_start + at) else {
            return Ok(whole_line(line_start, line_end));
        };
        let close = value.end + before[value.end..line_end].find(']').ok_or(EditError::Unsafe)?;
        let (left, right) = (&before[open + 1..value.start], &before[value.end..close]);
        let is_alone = left.trim().is_empty() && right.trim_matches([' ', ',']).is_empty();
        if is_alone && head == format!("{KEY}: [") && before[close + 1..line_end].trim().is_empty() {
            return Ok(whole_line(line_start, line_end));
        }
        Ok(match (left.rfind(','), right.find(',')) {
            // A value that was alone before is written alone again.
            (None, Some(comma)) if items(&right[comma + 1..]).is_some_and(|items| items.len() == 1) => {
                format!("{}{}{}", &before[..open], right[comma + 1..].trim(), &before[close + 1..])
            }
            (None, Some(comma)) => {
                format!("{}{}", &before[..value.start], &before[value.end + comma + 1..].trim_start_matches(' '))
            }
            (Some(comma), _) => format!("{}{}", &before[..open + 1 + comma], &before[value.end..]),
            (None, None) => format!("{}{}", &before[..value.start], &before[value.end..]),
        })
    }

    /// Returns whether the file is in the list.
    pub fn is_in(&self, text: &str) -> bool {
        self.place(text).is_ok_and(|place| place.is_some())
    }

    fn unusual(&self, why: &str) -> EditError {
        EditError::Unusual(format!("{why}; add this line to its `{KEY}` list by hand: - {}", self.quoted()))
    }

    /// Returns the position of the file in the list.
    fn place(&self, text: &str) -> Result<Option<std::ops::Range<usize>>, EditError> {
        match self.list(text)? {
            List::Absent => Ok(None),
            List::One(at, value) => Ok(self.is(value).then(|| at..at + value.len())),
            List::Flow(at, inside) => {
                let mut from = at;
                for item in items(inside).unwrap_or_default() {
                    let start = from + item.len() - item.trim_start().len();
                    if self.is(item) {
                        return Ok(Some(start..start + item.trim().len()));
                    }
                    from += item.len() + 1;
                }
                Ok(None)
            }
            List::Lines(end, _) => {
                let mut at = key_line(text).map_or(0, |(start, line)| start + line.len());
                for line in text[at..end].split_inclusive('\n') {
                    if let Some(value) = line.trim().strip_prefix("- ").map(str::trim)
                        && self.is(value)
                    {
                        let start = at + line.find(value).unwrap_or_default();
                        return Ok(Some(start..start + value.len()));
                    }
                    at += line.len();
                }
                Ok(None)
            }
        }
    }

    fn list<'t>(&self, text: &'t str) -> Result<List<'t>, EditError> {
        let first =
            text.trim_start_matches('\u{feff}').lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        if first.is_some_and(|line| line.starts_with(['{', '[', '%', '!', '&', '*', '|', '>'])) {
            return Err(self.unusual("it is written in an unusual way"));
        }
        let marks = text.lines().filter(|line| line.starts_with("---") || line.starts_with("...")).count();
        let starts_with_mark = first.is_some_and(|line| line.starts_with("---"));
        if marks > usize::from(starts_with_mark) {
            return Err(self.unusual("it holds more than one document"));
        }
        if text.lines().any(|line| line.starts_with("\"read\"") || line.starts_with("'read'") || line.starts_with('?')) {
            return Err(self.unusual("its list is written in an unusual way"));
        }
        let Some((start, line)) = key_line(text) else { return Ok(List::Absent) };
        if key_line(&text[start + line.len()..]).is_some() {
            return Err(self.unusual("it has two lists"));
        }
        let colon = line.find(':').ok_or(EditError::Unsafe)?;
        let rest = &line[colon + 1..];
        let value = rest.trim();
        let at = start + colon + 1 + rest.len() - rest.trim_start().len();
        let is_comment = value.starts_with('#');
        if value.is_empty() || is_comment {
            return self.lines(text, start + line.len());
        }
        // A comment after the value could not be told from one inside it.
        if value.contains(" #") || value.starts_with(['&', '*', '!', '|', '>', '{', '%', '@', '`']) {
            return Err(self.unusual("its list is written in an unusual way"));
        }
        let below = &text[start + line.len()..];
        let goes_on = below.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| line.starts_with([' ', '\t', '-']));
        if let Some(inside) = value.strip_prefix('[') {
            let inside = inside.strip_suffix(']').filter(|inside| items(inside).is_some());
            return inside.map(|inside| List::Flow(at + 1, inside)).ok_or_else(|| self.unusual("its list has several lines"));
        }
        let is_quoted = value.starts_with(['"', '\'']);
        if goes_on || is_quoted && items(value).is_none_or(|items| items.len() != 1) {
            return Err(self.unusual("its list is written in an unusual way"));
        }
        if !is_quoted && value.contains([',', '[', ']', '{', '}']) || value.contains(": ") {
            return Err(self.unusual("its list is written in an unusual way"));
        }
        Ok(List::One(at, value))
    }

    /// Parses a list of lines that begins at `from`.
    fn lines<'t>(&self, text: &'t str, from: usize) -> Result<List<'t>, EditError> {
        let (mut at, mut end, mut start) = (from, from, None::<String>);
        for line in text[from..].split_inclusive('\n') {
            let trimmed = line.trim();
            at += line.len();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            let indentation = &line[..line.len() - line.trim_start().len()];
            let is_item = trimmed.starts_with("- ");
            if !is_item && indentation.is_empty() && !trimmed.starts_with('-') {
                break;
            }
            let value = trimmed.strip_prefix("- ").map(str::trim).unwrap_or_default();
            let is_plain =
                !value.is_empty() && !value.contains(" #") && !value.starts_with(['&', '*', '!', '|', '>', '{', '[', '-', '?']);
            let is_same = start.as_ref().is_none_or(|start| start.strip_suffix("- ") == Some(indentation));
            if !is_item || !is_plain || !is_same || indentation.contains('\t') || value.contains(": ") {
                return Err(self.unusual("its list is written in an unusual way"));
            }
            start = Some(format!("{indentation}- "));
            end = at;
        }
        Ok(List::Lines(end, start.unwrap_or_else(|| "  - ".to_owned())))
    }
}

/// Returns the line of the key at the top level, with its line break.
fn key_line(text: &str) -> Option<(usize, &str)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begin = if at == 0 { line.len() - line.trim_start_matches('\u{feff}').len() } else { 0 };
        let is_key = line[begin..].strip_prefix(KEY).map(str::trim_start).is_some_and(|rest| {
            rest.strip_prefix(':').is_some_and(|value| value.is_empty() || value.starts_with(char::is_whitespace))
        });
        if is_key {
            return Some((at, line));
        }
        at += line.len();
    }
    None
}

/// Returns the items of a list on one line; `None` if they are ambiguous.
fn items(inside: &str) -> Option<Vec<&str>> {
    if inside.trim().is_empty() {
        return Some(Vec::new());
    }
    let mut items = Vec::new();
    let (mut start, mut quote) = (0, None);
    for (at, character) in inside.char_indices() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some('"'), '\\') => return None,
            (Some(_), _) => {}
            (None, '"' | '\'') if inside[start..at].trim().is_empty() => quote = Some(character),
            // A quote that is doubled inside a quoted text.
            (None, '\'') if inside[..at].ends_with('\'') => quote = Some(character),
            (None, ',') => {
                items.push(&inside[start..at]);
                start = at + 1;
            }
            (None, '[' | ']' | '{' | '}' | '#') => return None,
            (None, _) => {}
        }
    }
    if quote.is_some() {
        return None;
    }
    if !inside[start..].trim().is_empty() {
        items.push(&inside[start..]);
    }
    Some(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read() -> ReadFile {
        ReadFile { path: "/home/dev/.aider.yore.md".to_owned() }
    }

    #[test]
    fn every_usual_list_takes_the_file_and_gives_it_back() {
        let cases = [
            ("", "read: ['/home/dev/.aider.yore.md']\n"),
            ("model: x\n", "model: x\nread: ['/home/dev/.aider.yore.md']\n"),
            ("model: x", "model: x\nread: ['/home/dev/.aider.yore.md']"),
            ("model: x\r\n", "model: x\r\nread: ['/home/dev/.aider.yore.md']\r\n"),
            ("read: CONVENTIONS.md\nmodel: x\n", "read: ['/home/dev/.aider.yore.md', CONVENTIONS.md]\nmodel: x\n"),
            ("read: \"a, b.md\"\n", "read: ['/home/dev/.aider.yore.md', \"a, b.md\"]\n"),
            ("read: [a.md, 'b, c.md']\n", "read: [a.md, 'b, c.md', '/home/dev/.aider.yore.md']\n"),
            (
                "# mine\nread:\n  - a.md\n  - b.md\n\nmodel: x\n",
                "# mine\nread:\n  - a.md\n  - b.md\n  - '/home/dev/.aider.yore.md'\n\nmodel: x\n",
            ),
            ("read:\n- a.md", "read:\n- a.md\n- '/home/dev/.aider.yore.md'"),
            ("\u{feff}read: # files\r\n  - a.md\r\n", "\u{feff}read: # files\r\n  - a.md\r\n  - '/home/dev/.aider.yore.md'\r\n"),
            ("readme: x\nread-only: y\n", "readme: x\nread-only: y\nread: ['/home/dev/.aider.yore.md']\n"),
            ("read:\nmodel: x\n", "read:\n  - '/home/dev/.aider.yore.md'\nmodel: x\n"),
            ("---\nread: []\n", "---\nread: ['/home/dev/.aider.yore.md']\n"),
        ];
        for (before, after) in cases {
            assert_eq!(read().put(before).unwrap(), after, "{before:?}");
            assert_eq!(read().put(after).unwrap(), after, "{before:?}");
            assert!(read().is_in(after));
            // An empty list goes with its last item.
            let expected = if before.ends_with("[]\n") { "---\n" } else { before };
            assert_eq!(read().take(after).unwrap(), expected, "{before:?}");
        }
    }

    #[test]
    fn moved_file_is_corrected_in_its_place() {
        assert_eq!(read().put("read: [/old/.aider.yore.md, b.md]\n").unwrap(), "read: ['/home/dev/.aider.yore.md', b.md]\n");
        assert_eq!(read().put("read: /old/.aider.yore.md\n").unwrap(), "read: '/home/dev/.aider.yore.md'\n");
        assert_eq!(read().take("read: /old/.aider.yore.md\nmodel: x\n").unwrap(), "model: x\n");
    }

    #[test]
    fn unusual_lists_are_left_to_the_person() {
        for before in [
            "{read: a}\n",
            "read: &files a.md\n",
            "read: *files\n",
            "read: [a,\n  b]\n",
            "read: |\n  a\n",
            "read:\n  a: b\n",
            "read:\n  - [a]\n",
            "read:\n  - a # mine\n",
            "read: a\nread: b\n",
            "\"read\": a\n",
            "a: b\n---\nread: c\n",
            "read: a\n  b\n",
            "read: a, b\n",
        ] {
            let error = read().put(before).unwrap_err();
            assert!(error.to_string().contains("- '/home/dev/.aider.yore.md'"), "{before:?}: {error}");
        }
    }
}
