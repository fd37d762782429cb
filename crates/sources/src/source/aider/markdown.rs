//! Divides the lines of an Aider history into blocks.
//!
//! A person's input begins with `#### `, output of the program with `> `, and both end in two spaces. In a
//! message of the program with several lines, only the first line has the mark and only the last has the
//! spaces. Everything else is the model's Markdown, which may contain lines that begin and even end the same
//! way. So an input is sure to be a person's only where the program speaks last before it, and nothing was
//! marked inside a code block before.
//!
//! Some editors remove the spaces at the ends of lines. The first marked line of a session shows whether that
//! happened. If so, a heading is a person's input where the program or nobody spoke before: aider ends each
//! answer with a line about its cost.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

/// Text at the start of a session, before its date.
const START: &str = "# aider chat started at ";
/// Ending of every line that is not the model's.
const LINE_END: &str = "  ";
/// Maximum number of lines of a message of the program.
const MAX_MESSAGE_LINES: usize = 2000;

/// The speaker of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaker {
    Person,
    Program,
    Model,
}

impl Speaker {
    fn name(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Program => "program",
            Self::Model => "model",
        }
    }
}

/// Passes a record for each session and each block to `take`, in order, until it returns false. Appended
/// lines leave all but the last block of a text unchanged.
pub(super) fn blocks(text: &str, directory: Option<&Path>, take: &mut dyn FnMut(Value) -> bool) {
    let lines: Vec<&str> = text.lines().collect();
    let name = directory.and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or("");
    let cwd = directory.and_then(Path::to_str);
    let mut writer = Writer { take, name, cwd, session: None, starts: HashMap::new(), is_wanted: true, open: None };
    let mut fence: Option<&str> = None;
    // True after a mark inside a code block: an interruption leaves one open, but an answer can also show such lines.
    let mut is_torn = false;
    let mut has_ends: Option<bool> = None;
    // The program says nothing in a session that a test or another program wrote. There every heading is input.
    let is_quiet_from =
        |at: usize| !lines[at..].iter().take_while(|line| start_of(line).is_none()).any(|line| line.starts_with("> "));
    let mut is_quiet = is_quiet_from(0);
    let mut is_after_gap = true;
    // Where the next message ends. It only moves on, so that no line is searched twice.
    let mut next_end = 0;
    let mut at = 0;
    while at < lines.len() && writer.is_wanted {
        let line = lines[at];
        let number = at + 1;
        at += 1;
        if let Some(start) = start_of(line) {
            writer.start(start, number);
            (fence, has_ends, is_after_gap, is_torn) = (None, None, true, false);
            is_quiet = is_quiet_from(at);
            continue;
        }
        if line.trim().is_empty() {
            writer.gap();
            is_after_gap = true;
            continue;
        }
        let is_marked = |mark: &str| line.strip_prefix(mark).or_else(|| (line == mark.trim_end()).then_some(""));
        let has_mark = is_marked("#### ").is_some() || is_marked("> ").is_some();
        if has_mark && has_ends.is_none() && fence.is_none() {
            has_ends = Some(line.ends_with(LINE_END));
        }
        let is_cut = has_ends == Some(false) && fence.is_none();
        let is_ended = line.ends_with(LINE_END) || is_cut;
        // Inside a code block a mark counts only where it can be the program's: after an empty line, or after
        // another mark. An answer that was interrupted leaves its fence open.
        let may_be_marked = is_ended && (fence.is_none() || is_after_gap);
        let may_be_input = line.ends_with(LINE_END) || is_quiet || !writer.is_speaking(Speaker::Model);
        if let Some(words) = is_marked("#### ").filter(|_| may_be_marked && may_be_input) {
            is_torn |= fence.is_some();
            writer.prompt(number, if words.trim() == "<blank>" { "" } else { words.trim_end() }, is_torn);
            fence = None;
            continue;
        }
        if let Some(words) = is_marked("> ") {
            if may_be_marked {
                is_torn |= fence.is_some();
                writer.line(Speaker::Program, number, words.trim_end());
                fence = None;
                continue;
            }
            if fence.is_none()
                && let Some(count) = message_lines(&lines, at, &mut next_end)
            {
                writer.line(Speaker::Program, number, words.trim_end());
                for (more, words) in lines[at..at + count].iter().enumerate() {
                    writer.line(Speaker::Program, number + 1 + more, words.trim_end());
                }
                at += count;
                continue;
            }
        }
        writer.line(Speaker::Model, number, line);
        is_after_gap = false;
        fence = fence_after(fence, line);
    }
    writer.close();
}

/// Returns the date and time after the text that begins a session.
fn start_of(line: &str) -> Option<&str> {
    let start = line.strip_prefix(START)?.trim_end();
    let shape = "0000-00-00 00:00:00";
    let is_time = start.len() == shape.len()
        && start.bytes().zip(shape.bytes()).all(|(byte, form)| if form == b'0' { byte.is_ascii_digit() } else { byte == form });
    is_time.then_some(start)
}

/// Returns the number of further lines of a program message whose first line lacks its end. Returns `None` if
/// the next end belongs to another message, so that the line was a quotation by the model.
fn message_lines(lines: &[&str], at: usize, next_end: &mut usize) -> Option<usize> {
    *next_end = at.max(*next_end);
    // The program removes blank lines at the end of a message, so that one with spaces is part of the output that it repeats.
    let is_end = |line: &&str| line.ends_with(LINE_END) && !line.trim().is_empty() || start_of(line).is_some();
    *next_end += lines[*next_end..].iter().position(is_end).unwrap_or(lines.len() - *next_end);
    let end = lines.get(*next_end).filter(|_| *next_end - at < MAX_MESSAGE_LINES)?;
    let is_own = !end.starts_with("> ") && !end.starts_with("#### ") && start_of(end).is_none();
    is_own.then_some(*next_end - at + 1)
}

/// Returns the code fence that is open after a line.
fn fence_after<'t>(open: Option<&'t str>, line: &'t str) -> Option<&'t str> {
    let mark = |line: &'t str| {
        let byte = line.bytes().next().filter(|byte| matches!(byte, b'`' | b'~'))?;
        let length = line.bytes().take_while(|next| *next == byte).count();
        (length >= 3).then(|| line.split_at(length))
    };
    match (open, mark(line)) {
        (None, Some((fence, _))) => Some(fence),
        (Some(fence), Some((found, rest))) if found.starts_with(fence) && rest.trim().is_empty() => None,
        (open, _) => open,
    }
}

struct Writer<'a> {
    take: &'a mut dyn FnMut(Value) -> bool,
    name: &'a str,
    cwd: Option<&'a str>,
    session: Option<String>,
    /// Number of sessions that began at each time.
    starts: HashMap<String, u32>,
    is_wanted: bool,
    open: Option<Block>,
}

struct Block {
    speaker: Speaker,
    line: usize,
    text: String,
    /// Number of empty lines since the last text.
    gap: usize,
    /// True for an input that the model's answer may hold.
    is_by_anybody: bool,
}

impl Writer<'_> {
    fn start(&mut self, start: &str, line: usize) {
        self.close();
        let count = self.starts.entry(start.to_owned()).or_default();
        *count += 1;
        let session = match *count {
            1 => format!("{}/{start}", self.name),
            count => format!("{}/{start}#{count}", self.name),
        };
        self.give(json!({"kind": "session", "session": session, "cwd": self.cwd, "start": start, "line": line}));
        self.session = Some(session);
    }

    /// Adds a line of an input.
    fn prompt(&mut self, line: usize, words: &str, is_torn: bool) {
        let is_in_answer = match &self.open {
            Some(block) => block.speaker == Speaker::Model || block.is_by_anybody,
            None => false,
        };
        self.line(Speaker::Person, line, words);
        if let Some(block) = &mut self.open {
            block.is_by_anybody |= is_in_answer || is_torn;
        }
    }

    fn line(&mut self, speaker: Speaker, line: usize, words: &str) {
        let goes_on =
            self.open.as_ref().is_some_and(|block| block.speaker == speaker && (block.gap == 0 || speaker == Speaker::Model));
        if !goes_on {
            self.close();
        }
        let block = self.open.get_or_insert(Block { speaker, line, text: String::new(), gap: 0, is_by_anybody: false });
        if goes_on {
            for _ in 0..=std::mem::take(&mut block.gap) {
                block.text.push('\n');
            }
        }
        block.text.push_str(words);
    }

    /// Returns whether the last block is this speaker's.
    fn is_speaking(&self, speaker: Speaker) -> bool {
        self.open.as_ref().is_some_and(|block| block.speaker == speaker)
    }

    fn gap(&mut self) {
        if let Some(block) = &mut self.open {
            block.gap += 1;
        }
    }

    fn close(&mut self) {
        let Some(block) = self.open.take() else { return };
        if self.session.is_none() {
            // Text before the first start: the file's beginning was cut off.
            let session = format!("{}/before", self.name);
            self.give(json!({"kind": "session", "session": session, "cwd": self.cwd, "line": block.line}));
            self.session = Some(session);
        }
        let mut record = json!({"kind": block.speaker.name(), "session": self.session, "line": block.line, "text": block.text});
        if block.is_by_anybody {
            record["by_anybody"] = true.into();
        }
        self.give(record);
    }

    fn give(&mut self, record: Value) {
        if self.is_wanted {
            self.is_wanted = (self.take)(record);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn records_of(text: &str) -> Vec<Value> {
        let mut records = Vec::new();
        blocks(text, Some(Path::new("/home/dev/tide")), &mut |record| {
            records.push(record);
            true
        });
        records
    }

    fn said(text: &str) -> Vec<(String, u64, String)> {
        let text_of = |value: &Value| value.as_str().unwrap_or("").to_owned();
        records_of(text)
            .iter()
            .filter(|record| record["kind"] != "session")
            .map(|record| (text_of(&record["kind"]), record["line"].as_u64().unwrap(), text_of(&record["text"])))
            .collect()
    }

    fn block(kind: &str, line: u64, text: &str) -> (String, u64, String) {
        (kind.to_owned(), line, text.to_owned())
    }

    #[test]
    fn prompts_answers_and_messages_are_told_apart() {
        let text = "\n# aider chat started at 2026-01-05 10:00:00\n\n> Aider v0.80  \n> Model: tide-4 with diff  \n\n\
            #### first line  \n#### <blank>  \n#### third  \n\nAn answer.\n\n> a quotation\n\nMore.\n\n> Tokens: 3k sent  \n";
        assert_eq!(
            said(text),
            [
                block("program", 4, "Aider v0.80\nModel: tide-4 with diff"),
                block("person", 7, "first line\n\nthird"),
                block("model", 11, "An answer.\n\n> a quotation\n\nMore."),
                block("program", 17, "Tokens: 3k sent"),
            ]
        );
    }

    #[test]
    fn headings_and_marks_inside_code_are_the_models() {
        let text = "# aider chat started at 2026-01-05 10:00:00\n> Aider v1  \nSee:\n```md\n#### not typed  \n> not said  \n\
            # aider chat started at noon\n```\n#### A heading\n\n#### typed  \n";
        assert_eq!(
            said(text)[1..],
            [
                block(
                    "model",
                    3,
                    "See:\n```md\n#### not typed  \n> not said  \n# aider chat started at noon\n```\n#### A heading"
                ),
                block("person", 11, "typed"),
            ]
        );
    }

    #[test]
    fn fence_that_an_interruption_left_open_ends_with_the_next_message() {
        let text =
            "# aider chat started at 2026-01-05 10:00:00\n```py\nx = 1\n\n> ^C KeyboardInterrupt  \n\n#### go on  \n\n> ok  \n";
        let kinds: Vec<String> = said(text).into_iter().map(|block| block.0).collect();
        assert_eq!(kinds, ["model", "program", "person", "program"]);
    }

    #[test]
    fn message_of_several_lines_has_its_mark_before_the_first_only() {
        let text = "# aider chat started at 2026-01-05 10:00:00\n> Aider v1  \n\n> ==== test session ====\n1 failed\nE  assert 1  \n\nAnswer\n";
        assert_eq!(
            said(text)[1..],
            [block("program", 4, "==== test session ====\n1 failed\nE  assert 1"), block("model", 8, "Answer")]
        );
    }

    #[test]
    fn lines_whose_ends_an_editor_cut_are_told_apart_all_the_same() {
        let text = "# aider chat started at 2026-01-05 10:00:00\n> Aider v1\n\n#### typed\n\nAnswer\n\n> Tokens: 1\n";
        let kinds: Vec<String> = said(text).into_iter().map(|block| block.0).collect();
        assert_eq!(kinds, ["program", "person", "model", "program"]);
    }

    #[test]
    fn prompts_are_a_persons_though_an_editor_cut_line_ends_and_no_line_of_the_program_comes_first() {
        let start = "# aider chat started at 2026-01-05 10:00:00\n\n";
        for (what, body, expected) in [
            ("the program speaks later", "#### typed\n\nAnswer\n\n> Applied edit to a.rs\n", vec!["person", "model", "program"]),
            (
                "the program never speaks",
                "#### typed\n\nAnswer\n\n#### typed too\n\nAnswer\n",
                vec!["person", "model", "person", "model"],
            ),
            ("no line is empty", "#### typed\nAnswer\n", vec!["person", "model"]),
            (
                "the model writes a heading",
                "#### typed\nA plan:\n\n#### Step 1\nDo it.\n\n> Applied edit to a.rs\n> Tokens: 1\n\n#### typed too\n",
                vec!["person", "model", "program", "person"],
            ),
            (
                "a fence holds a mark",
                "#### typed\n\n```md\n#### not typed\n```\n\n> Tokens: 1\n",
                vec!["person", "model", "program"],
            ),
            ("input has two lines", "#### typed\n#### and more\n\nAnswer\n", vec!["person", "model"]),
        ] {
            let kinds: Vec<String> = said(&format!("{start}{body}")).into_iter().map(|block| block.0).collect();
            assert_eq!(kinds, expected, "{what}");
        }
    }

    #[test]
    fn sessions_of_one_second_are_two() {
        let start = "# aider chat started at 2026-01-05 10:00:00\n";
        let records = records_of(&format!("{start}{start}# aider chat started at 2026-01-05 10:00:01\n"));
        let ids: Vec<&str> = records.iter().filter_map(|record| record["session"].as_str()).collect();
        assert_eq!(ids, ["tide/2026-01-05 10:00:00", "tide/2026-01-05 10:00:00#2", "tide/2026-01-05 10:00:01"]);
    }

    proptest! {
        #[test]
        fn appended_text_leaves_earlier_records_as_they_were(
            before in "((#### a  |> b  |d|```|# aider chat started at 2026-01-05 10:00:00|)\n){0,20}",
            after in "((#### a  |> b  |d|```|)\n){0,10}",
        ) {
            // The last block may be continued. (A message that lacks its end, `> c`, may be completed.)
            let (short, long) = (records_of(&before), records_of(&format!("{before}{after}")));
            let kept = short.len().saturating_sub(1);
            prop_assert_eq!(&short[..kept], &long[..kept]);
        }

        #[test]
        fn any_text_is_read_without_panic(text in "[#> `~a\n\\r é]{0,80}") {
            records_of(&text);
        }
    }
}
