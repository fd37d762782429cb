//! Finds where a message ceases to be the person's own words: pasted, quoted or attached text.
//!
//! The structure of the message decides, not who it claims to be from: a pasted text may claim anything. From the first part that looks
//! pasted on, nothing counts as the person's word, because nothing tells where a paste ends.

use super::sentence::content_words;
use super::words::{Words, normal};

/// A longer message holds pasted text somewhere, in bytes: then its first paragraph alone is the person's, if it is not longer itself.
pub const LONG: usize = 700;
/// So many bytes in several paragraphs after the first are something that was pasted.
const LONG_AFTER_REQUEST: usize = 300;
/// Paragraphs of a message that has a request and something pasted below it.
const PARAGRAPHS: usize = 3;
/// Items of a list that is no list of a few wishes.
const LIST_ITEMS: usize = 5;
/// Most words of a lead-in that names the source of what follows its colon.
const LEAD_IN_WORDS: usize = 14;
/// Bytes of a message in which its own words are looked for where they are quoted.
const HEAD: usize = 4_000;
/// Lines of a plan that are looked at for its title.
const HEADINGS: usize = 5;

/// Beginnings of what programs say at the beginning of a session.
const NOTICES: [&str; 4] = ["Caveat:", "Operation stopped by hook", "This session is being continued", "[Request interrupted"];
/// Signs with which a line begins that was copied from somewhere: quotations, tables, marked-up text, terminals, data.
const COPIED: [char; 10] = ['>', '|', '<', '{', '}', '[', '$', '❯', '⎿', '⏺'];
/// Beginnings of lines of code blocks, stack traces and differences.
const COPIED_LINES: [&str; 9] = ["```", "~~~", "Traceback", "Caused by", "File \"", "diff --git", "+++ ", "--- ", "-----"];
/// Levels that a line of a log begins with or has after its time.
const LEVELS: [&str; 8] = ["TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "FATAL"];

/// Returns the number of bytes at the beginning of a message that are the person's own words.
pub fn own_bytes(text: &str, words: &Words) -> usize {
    let (mut at, mut paragraphs, mut is_between, mut first_end) = (0, 0, true, text.len());
    let (mut items, mut list_start) = (0, 0);
    for line in text.split_inclusive('\n') {
        let (start, own) = (at, line.trim());
        at += line.len();
        if own.is_empty() {
            if paragraphs == 1 && !is_between {
                first_end = start;
            }
            is_between = true;
            continue;
        }
        paragraphs += usize::from(is_between);
        is_between = false;
        if is_copied(own) {
            return start;
        }
        items = if is_item(own) { items + 1 } else { 0 };
        if items == 1 {
            list_start = start;
        }
        if items == LIST_ITEMS {
            return list_start;
        }
        let indent = line.len() - line.trim_start().len();
        if let Some(end) = lead_in(own, words) {
            return start + indent + end;
        }
        let shows = words.has("shown below", &normal(own)) || own.ends_with(':') && !words.has("standing", &normal(own));
        if shows && !text[at..].trim().is_empty() {
            return at;
        }
    }
    let after = text[first_end..].trim();
    let is_long = text.len() > LONG || paragraphs >= PARAGRAPHS && after.len() > LONG_AFTER_REQUEST;
    match is_long {
        false => text.len(),
        true if first_end <= LONG => first_end,
        true => 0,
    }
}

/// Returns the person's own words at the beginning of a message, without space around them.
pub fn own_words(text: &str) -> &str {
    // Own words end in the first part of a long message.
    let head = &text[..text.floor_char_boundary(HEAD)];
    head[..own_bytes(head, Words::of(head))].trim()
}

/// Returns a title for a session that begins with a message; none if the message has no words of the person's own that say what it is
/// about.
///
/// It is the first line of these words, except where they only hand over a plan (section "plan follows" of the words): then the plan's
/// heading, or its first line that says something, is the title.
pub fn own_title(text: &str) -> Option<String> {
    let own = own_words(text);
    let first = own.lines().next().filter(|line| !line.is_empty())?;
    let rest = text.trim_start().get(first.len()..).unwrap_or_default();
    let title = if hands_over_plan(first) { heading(rest) } else { Some(first).filter(|first| is_title(first)) };
    title.map(str::to_owned)
}

/// Returns the title of a message: that of its own words, else its first line.
pub fn title(text: &str) -> Option<String> {
    own_title(text).or_else(|| first_line(text))
}

/// Returns a title for a session with these first messages: that of the first one with own words that say what it is about, else the
/// first line of all.
pub fn title_among(openings: &mut dyn Iterator<Item = String>) -> Option<String> {
    let mut first = None;
    for text in openings {
        if let Some(title) = own_title(&text) {
            return Some(title);
        }
        first = first.or_else(|| first_line(&text));
    }
    first
}

/// Returns the first title of messages with own words that say what they are about.
pub fn own_title_among(openings: &mut dyn Iterator<Item = String>) -> Option<String> {
    openings.filter_map(|text| own_title(&text)).next()
}

/// Returns whether a line says what a session is about: it is no command of an agent, no notice of a program, no "continue" (section
/// "no title" of the words), and hands over no plan.
pub fn is_title(line: &str) -> bool {
    let line = line.trim();
    let is_command =
        line.split_whitespace().next().is_some_and(|first| first.starts_with(['/', '!']) && first.rfind('/') <= Some(0));
    let is_notice = NOTICES.iter().any(|notice| line.starts_with(notice));
    !is_command && !is_notice && !hands_over_plan(line) && !Words::any("no title", &normal(line))
}

fn hands_over_plan(line: &str) -> bool {
    line.ends_with([':', '.']) && Words::any("plan follows", &normal(line))
}

fn first_line(text: &str) -> Option<String> {
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// Returns the first line of a plan that says something, without its marks.
fn heading(plan: &str) -> Option<&str> {
    let lines = plan.lines().filter(|line| !line.trim_start().starts_with("```"));
    let lines = lines.map(|line| line.trim().trim_start_matches(['#', '*', '-', ' ']).trim_end_matches(['*', ' ']));
    let lines = lines.map(|line| line.strip_prefix("Plan:").unwrap_or(line).trim_start());
    let mut lines = lines.filter(|line| !line.is_empty()).take(HEADINGS);
    let first = lines.next()?;
    let says_something = |line: &&str| content_words(line).nth(1).is_some();
    Some(std::iter::once(first).chain(lines).find(says_something).unwrap_or(first))
}

/// Returns whether a line was copied from a program, a page or a file.
fn is_copied(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    // `TypeError: x is undefined`, `error[E0308]: mismatched types`, `fatal: not a repository`.
    let label = first.strip_suffix(':').unwrap_or_default().split(['[', '(']).next().unwrap_or_default().to_lowercase();
    let is_message = ["error", "exception", "warning", "fatal", "panic"].iter().any(|end| label.ends_with(end));
    let is_time =
        first.len() >= 8 && first.starts_with(|letter: char| letter.is_ascii_digit()) && first.matches([':', '-']).count() >= 2;
    let is_level = LEVELS.contains(&first.trim_end_matches(':'));
    let is_heading = line.trim_start_matches('#').starts_with(' ') && line.starts_with('#');
    let is_frame = line.starts_with("at ") && line.ends_with(')');
    line.starts_with(COPIED)
        || is_heading
        || is_frame
        || COPIED_LINES.iter().any(|begin| line.starts_with(begin))
        || is_message
        || is_time
        || is_level
}

fn is_item(line: &str) -> bool {
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_numbered = rest.len() < line.len() && rest.starts_with(['.', ')']);
    is_numbered || line.strip_prefix(['-', '*', '•']).is_some_and(|rest| rest.starts_with(' '))
}

/// Returns the end of a lead-in that names the source of what follows its colon in the same line: "found in the ticket: ...".
fn lead_in(line: &str, words: &Words) -> Option<usize> {
    let colons = line.match_indices(':').map(|(at, _)| at + 1);
    let mut ends = colons.filter(|end| line[*end..].starts_with(char::is_whitespace));
    ends.find(|end| {
        let sentence = line[..*end - 1].rfind(['.', '!', '?', ';']).map_or(0, |at| at + 1);
        let before = normal(&line[sentence..*end]);
        before.split_whitespace().count() <= LEAD_IN_WORDS && words.has("source", &before)
    })
}

/// Returns a sentence without what stands in quotation marks and in code marks.
pub fn without_quoted(sentence: &str) -> String {
    let mut own = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while let Some(open) = rest.chars().next() {
        let is_first = own.chars().next_back().is_none_or(|before| !before.is_alphanumeric());
        let close = match open {
            '"' | '`' => Some(open),
            '“' | '„' => Some('”'),
            '«' => Some('»'),
            // An apostrophe stands within a word.
            '\'' if is_first => Some('\''),
            _ => None,
        };
        let after = &rest[open.len_utf8()..];
        let end = close.and_then(|close| {
            let mut ends = after.match_indices([close, if close == '”' { '“' } else { close }]);
            ends.find(|(at, mark)| close != '\'' || !after[at + mark.len()..].starts_with(char::is_alphanumeric))
        });
        // A mark without its other half encloses nothing.
        rest = match end {
            Some((at, mark)) => &after[at + mark.len()..],
            None => {
                own.push(open);
                after
            }
        };
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(text: &str) -> &str {
        text[..own_bytes(text, Words::of(text))].trim()
    }

    #[test]
    fn own_words_end_where_something_pasted_begins() {
        for (text, expected) in [
            ("Never push to main.", "Never push to main."),
            ("Fix it. Note: never push to main.", "Fix it. Note: never push to main."),
            ("I work at 10:30: never call me.", "I work at 10:30: never call me."),
            ("From now on:\n- run the linter\n- run the tests", "From now on:\n- run the linter\n- run the tests"),
            ("Found in the ticket: never push.", "Found in the ticket:"),
            ("Do it. The README says: use npm. Always.", "Do it. The README says:"),
            ("Please fix this:\nalways use npm", "Please fix this:"),
            ("Summarise the page below\n\nAlways use npm.", "Summarise the page below"),
            ("Fix it\n```\nrule\n```\nalways use npm", "Fix it"),
            ("Fix it\nTypeError: x is undefined", "Fix it"),
            ("Fix it\n2026-01-02T10:00:00Z started", "Fix it"),
            ("Fix it\nWARN always restart", "Fix it"),
            ("Fix it\n# Rules\nAlways use npm.", "Fix it"),
            ("Fix it\n<p>Always use npm.</p>", "Fix it"),
            ("Fix it\n- a\n- b\n- c\n- d\n- e", "Fix it"),
            ("Im Ticket steht: ab jetzt immer alles pushen und nicht fragen", "Im Ticket steht:"),
        ] {
            assert_eq!(own(text), expected, "{text}");
        }
        let page = "Always use npm in this project, because the page says so. ".repeat(4);
        assert_eq!(own(&format!("Look at it.\n\n{page}\n\n{page}")), "Look at it.");
        assert_eq!(own(&page.repeat(4)), "");
    }

    #[test]
    fn a_session_is_named_by_the_plan_that_its_first_prompt_hands_over() {
        for (text, expected) in [
            (
                "Implement the following plan:\n\n# Move the gauges to SQLite\n\n## Context\nThey are in Redis.",
                "Move the gauges to SQLite",
            ),
            ("Implement the following plan:\n\n# Plan\n\n- move the gauges\n- test it", "move the gauges"),
            ("\n Implement the following plan:\n\n```md\n## **Mend the harbour lights**\n```", "Mend the harbour lights"),
            ("Setze den folgenden Plan um:\n\n# Pegel nach SQLite", "Pegel nach SQLite"),
            ("Implement the following plan:\n\n# Plan: Move the gauges\n\nThey are in Redis.", "Move the gauges"),
            (
                "Implement the following plan for the gauges:\n\n# Gauges of the harbour",
                "Implement the following plan for the gauges:",
            ),
            ("Please summarise this README:\n\n# Harbour kit", "Please summarise this README:"),
            ("fix the lights\nand the gauges", "fix the lights"),
        ] {
            assert_eq!(own_title(text).as_deref(), Some(expected), "{text}");
        }
        for empty in [
            "Error: the lights are out",
            "> the lights are out",
            "# Harbour kit\nThe lights.",
            "",
            "Implement the following plan:",
            "continue",
            "Please continue.",
            "weiter",
            "/model opus",
            "!git status",
            "Caveat: The messages below were generated by the user while running local commands.",
        ] {
            assert_eq!(own_title(empty), None, "{empty}");
        }
        assert_eq!(own_title("/srv/tide has no lights").as_deref(), Some("/srv/tide has no lights"));
        let among = |texts: &[&str]| title_among(&mut texts.iter().map(|text| (*text).to_owned()));
        assert_eq!(among(&["/clear", "continue", "mend the lights"]).as_deref(), Some("mend the lights"));
        assert_eq!(among(&["continue", "yes"]).as_deref(), Some("continue"), "better than none");
        assert_eq!(title("\n# Harbour kit\nThe lights.").as_deref(), Some("# Harbour kit"));
        assert_eq!(title(" \n"), None);
    }

    #[test]
    fn what_stands_in_quotation_marks_is_left_out() {
        assert_eq!(without_quoted("They say \"always\" and “never”."), "They say  and .");
        assert_eq!(without_quoted("It's 'never use it' and `always`, don't."), "It's  and , don't.");
        assert_eq!(without_quoted("A 5\" screen"), "A 5\" screen");
    }
}
