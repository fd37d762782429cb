//! Cuts an instruction file into single instructions: list items, sentences of paragraphs, table rows, HTML comments.

/// A single instruction of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    /// 1-based line at which it begins.
    pub line: u64,
    /// Number of lines that are its own; 0 if it shares a line with others.
    pub whole_lines: u64,
    /// Its words, without the marker of a list; in one line.
    pub text: String,
}

/// A block of lines that is being read.
struct Block {
    line: u64,
    lines: Vec<String>,
    is_paragraph: bool,
}

/// Returns the instructions of a Markdown text, in order. Front matter, headings, code, imports and lines without letters are none.
pub(super) fn instructions(text: &str) -> Vec<Instruction> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    let mut fence: Option<&str> = None;
    let mut is_comment = false;
    let mut is_in_list = false;
    let front = front_matter(text);
    let mut close = |open: &mut Option<Block>| {
        if let Some(block) = open.take() {
            add(block, &mut found);
        }
    };
    for (at, raw) in text.lines().enumerate().skip(front) {
        let line = raw.trim();
        let number = at as u64 + 1;
        if let Some(mark) = fence {
            if line.starts_with(mark) {
                fence = None;
            }
            continue;
        }
        if is_comment {
            is_comment = !line.contains("-->");
            if let Some(block) = &mut open {
                block.lines.push(line.to_owned());
            }
            if !is_comment {
                close(&mut open);
            }
            continue;
        }
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark)) {
            close(&mut open);
            fence = Some(mark);
            continue;
        }
        let is_indented = raw.starts_with("    ") || raw.starts_with('\t');
        is_in_list &= line.is_empty() || raw.starts_with([' ', '\t']);
        if is_indented && !is_in_list && open.is_none() {
            continue;
        }
        let is_rule = !line.is_empty() && line.chars().all(|letter| "-=*_ ".contains(letter));
        if line.is_empty() || line.starts_with('#') && line.trim_start_matches('#').starts_with(' ') || is_rule {
            close(&mut open);
        } else if line.starts_with("<!--") {
            close(&mut open);
            open = Some(Block { line: number, lines: vec![line.to_owned()], is_paragraph: false });
            is_comment = !line.contains("-->");
            if !is_comment {
                close(&mut open);
            }
        } else if line.starts_with('|') {
            close(&mut open);
            let is_head = text.lines().nth(at + 1).is_some_and(is_separator);
            if !is_head && !is_separator(line) {
                open = Some(Block { line: number, lines: vec![line.to_owned()], is_paragraph: false });
                close(&mut open);
            }
        } else if let Some(item) = item(line) {
            close(&mut open);
            is_in_list = true;
            open = Some(Block { line: number, lines: vec![item.to_owned()], is_paragraph: false });
        } else if let Some(block) = &mut open {
            block.lines.push(line.to_owned());
        } else {
            let quoted = line.trim_start_matches('>').trim();
            open = Some(Block { line: number, lines: vec![quoted.to_owned()], is_paragraph: true });
        }
    }
    close(&mut open);
    found
}

/// Returns the number of lines of the front matter.
fn front_matter(text: &str) -> usize {
    let mut lines = text.lines().enumerate();
    if lines.next().is_none_or(|(_, line)| line.trim_start_matches('\u{feff}').trim_end() != "---") {
        return 0;
    }
    lines.find(|(_, line)| line.trim_end() == "---").map_or(0, |(at, _)| at + 1)
}

fn is_separator(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('|') && line.contains('-') && line.chars().all(|letter| "|-: ".contains(letter))
}

/// Returns the words of a list item.
fn item(line: &str) -> Option<&str> {
    let digits = line.len() - line.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let rest = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None if (1..=9).contains(&digits) => line[digits..].strip_prefix(['.', ')'])?,
        None => return None,
    };
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    Some(["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(rest))
}

fn add(block: Block, found: &mut Vec<Instruction>) {
    let is_import = block.lines.iter().all(|line| line.starts_with('@') && !line.contains(' '));
    if is_import {
        return;
    }
    let parts: Vec<(u64, u64, String)> =
        if block.is_paragraph { sentences(&block) } else { vec![(block.line, block.lines.len() as u64, block.lines.join(" "))] };
    let has_words = |text: &str| text.chars().filter(|letter| letter.is_alphanumeric()).count() > 1;
    let instruction = |(line, whole_lines, text): (u64, u64, String)| Instruction { line, whole_lines, text };
    found.extend(parts.into_iter().filter(|(.., text)| has_words(text)).map(instruction));
}

/// Returns the sentences of a paragraph: the line at which each begins, the number of its own lines, its text.
fn sentences(block: &Block) -> Vec<(u64, u64, String)> {
    let mut found: Vec<(u64, u64, String)> = Vec::new();
    let mut open = String::new();
    let mut first = block.line;
    let mut is_shared = false;
    for (at, line) in block.lines.iter().enumerate() {
        let number = block.line + at as u64;
        let mut rest = line.as_str();
        while let Some(end) = end_of_sentence(rest) {
            let (sentence, after) = rest.split_at(end);
            open.push_str(sentence.trim());
            let ends_line = after.trim().is_empty();
            let own = if is_shared || !ends_line { 0 } else { number - first + 1 };
            found.push((first, own, std::mem::take(&mut open)));
            rest = after.trim_start();
            is_shared = !rest.is_empty();
            first = if is_shared { number } else { number + 1 };
        }
        if !rest.is_empty() {
            open.push_str(rest);
            open.push(' ');
        }
    }
    if !open.trim().is_empty() {
        let last = block.line + block.lines.len() as u64 - 1;
        found.push((first, if is_shared { 0 } else { last - first + 1 }, open.trim().to_owned()));
    }
    found
}

/// Returns where a sentence ends within a line: after its mark, if a new one begins there or the line ends.
fn end_of_sentence(text: &str) -> Option<usize> {
    let mut is_code = false;
    for (at, letter) in text.char_indices() {
        if letter == '`' {
            is_code = !is_code;
        }
        if is_code || !matches!(letter, '.' | '!' | '?') {
            continue;
        }
        let after = &text[at + 1..];
        let closed = after.trim_start_matches(['*', '_', ')', '"', '\'']);
        let is_short = text[..at].rsplit([' ', '(']).next().is_some_and(|word| word.chars().count() < 2 || word.contains('.'));
        let begins = closed.strip_prefix(' ').map(str::trim_start).is_some_and(|next| {
            next.starts_with(|letter: char| letter.is_uppercase() || letter == '`' || letter == '*' || letter.is_numeric())
        });
        if closed.trim().is_empty() || begins && !is_short {
            return Some(at + 1 + (after.len() - closed.len()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_sentences_rows_and_comments_are_instructions_with_their_lines() {
        let text = "---\nname: x\n---\n# Pier\n\nThe pier is wood. It creaks,\ne.g. at night. Mind it.\n\n- Paint it\n  in blue.\n  1. Twice\n\n```sh\nrm x\n```\n| a | b |\n|---|---|\n| 1st | 2nd |\n<!-- hidden\nwords -->\n@docs/more.md\n";
        let found: Vec<(u64, u64, String)> =
            instructions(text).into_iter().map(|found| (found.line, found.whole_lines, found.text)).collect();
        let expected = [
            (6, 0, "The pier is wood."),
            (6, 0, "It creaks, e.g. at night."),
            (7, 0, "Mind it."),
            (9, 2, "Paint it in blue."),
            (11, 1, "Twice"),
            (18, 1, "| 1st | 2nd |"),
            (19, 2, "<!-- hidden words -->"),
        ];
        assert_eq!(found, expected.map(|(line, own, text)| (line, own, text.to_owned())));
    }

    #[test]
    fn odd_texts_have_no_instruction_and_no_panic() {
        for text in ["", "\n", "---\n", "# a", "- ", "|", "<!--", "```\nx", "@a", "-\u{301}", "\u{feff}---\nx\n"] {
            assert!(instructions(text).len() <= 1, "{text:?}");
        }
    }
}
