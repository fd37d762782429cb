//! Divides a conversation into exchanges: a question with everything that was done about it.
//!
//! Every turn of a conversation is in exactly one exchange, or before the first: text of an agent before the
//! first question is counted, and stays in the archive.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::episode::{Caveat, FileAction, FileUse, Outcome, Role, ToolUse};
use crate::id::TurnId;
use crate::text::{CodeBlock, code_blocks, error_line, paths};
use crate::time::UtcMillis;

/// Kind of memory that an exchange is: the context in which something happened. Only a memory that is derived
/// from it can be a solution.
pub const EXCHANGE_KIND: &str = "context";

/// Confidence of a language that a code block names.
pub const LANGUAGE_CONFIDENCE: f32 = 1.0;
/// Confidence of a file that the text names.
pub const MENTION_CONFIDENCE: f32 = 0.7;
/// Confidence of a file that a tool is recorded to have read or changed.
pub const RECORDED_CONFIDENCE: f32 = 1.0;

/// Number of characters above which an answer counts as long.
const LONG_ANSWER_CHARS: usize = 2000;
/// Characters of a preview.
const PREVIEW_CHARS: usize = 200;

/// The data of a turn from which exchanges are made.
#[derive(Clone, Copy, Debug)]
pub struct TurnShape<'t> {
    /// Id of the turn.
    pub id: TurnId,
    /// The agent's own id of the message.
    pub native_id: &'t str,
    /// Author of the turn.
    pub role: Role,
    /// Text of the turn.
    pub text: &'t str,
    /// Tool inputs or output.
    pub tool_text: &'t str,
    /// Why nothing is learned from it, if that is so.
    pub caveat: Option<Caveat>,
    /// True if a tool reported failure.
    pub is_error: bool,
    /// Time of the turn.
    pub at: Option<UtcMillis>,
    /// Tool calls that the turn makes or whose outcome it reports.
    pub tools: &'t [ToolUse],
    /// Files that its tools read or changed.
    pub files: &'t [FileUse],
}

/// The exchanges of a conversation.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Exchanges {
    /// Number of turns before the first human one; they are part of no exchange.
    pub turns_before: usize,
    /// The exchanges, in order.
    pub exchanges: Vec<Exchange>,
}

/// One human turn and all that follows until the next one.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Exchange {
    /// `chat-`, the native ids of the conversation and of the human message: always the same for one message
    /// and different for each, even if their times are equal.
    pub id: String,
    /// Id of the human turn.
    pub turn: TurnId,
    /// Range of the turns in the conversation; the first is the human one.
    pub turns: Range<usize>,
    /// Text of the question.
    pub question: String,
    /// Beginning of the question on one line.
    pub preview: String,
    /// Time of the first turn that has one.
    pub started: Option<UtcMillis>,
    /// The latest time.
    pub ended: Option<UtcMillis>,
    /// Number of characters of the agent's prose.
    pub answer_chars: usize,
    /// Code blocks of the question and the answers, each with the position of its turn in the conversation.
    pub code: Vec<(usize, CodeBlock)>,
    /// Languages of the code blocks, most used first.
    pub languages: Vec<Entity>,
    /// Files, changed ones first.
    pub files: Vec<FileReference>,
    /// Tool calls with their outcome, in order.
    pub tools: Vec<ToolUse>,
    /// For each failed tool the line that gives the reason, if there is one.
    pub errors: Vec<String>,
    /// Importance: 0.5, and more for code, a long answer and files; at most 1.
    pub importance: f32,
}

impl Exchange {
    /// Returns whether the exchange has code.
    pub fn has_code(&self) -> bool {
        !self.code.is_empty()
    }

    /// Returns the number of tool calls that failed.
    pub fn failed(&self) -> usize {
        self.tools.iter().filter(|tool| tool.outcome == Some(Outcome::Failed)).count()
    }
}

/// A language or other named thing that an exchange is about.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Entity {
    /// Its name.
    pub name: String,
    /// Confidence, 0 to 1.
    pub confidence: f32,
}

/// A file that an exchange is about.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct FileReference {
    /// Path as written.
    pub path: String,
    /// The strongest action on the file.
    pub action: FileAction,
    /// Confidence that it is a file, 0 to 1.
    pub confidence: f32,
}

/// Divides a conversation into exchanges; `conversation` is its native id.
pub fn exchanges(conversation: &str, turns: &[TurnShape<'_>]) -> Exchanges {
    let begins: Vec<usize> = (0..turns.len()).filter(|at| turns[*at].role == Role::Human).collect();
    let ends = begins.iter().skip(1).copied().chain([turns.len()]);
    Exchanges {
        turns_before: begins.first().copied().unwrap_or(turns.len()),
        exchanges: begins.iter().zip(ends).map(|(begin, end)| exchange(conversation, turns, *begin..end)).collect(),
    }
}

/// Returns the initial importance of an exchange, before any use: 0.5, +0.2 with code, +0.1 with an answer of
/// more than 2000 characters, +0.1 with files, at most 1.
pub fn importance(has_code: bool, answer_chars: usize, has_files: bool) -> f32 {
    let mut importance: f32 = 0.5;
    if has_code {
        importance += 0.2;
    }
    if answer_chars > LONG_ANSWER_CHARS {
        importance += 0.1;
    }
    if has_files {
        importance += 0.1;
    }
    importance.min(1.0)
}

/// Returns the beginning of a text on one line.
pub fn preview(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() > PREVIEW_CHARS {
            let left = PREVIEW_CHARS.saturating_sub(line.chars().count());
            line.extend(word.chars().take(if line.is_empty() { left } else { 0 }));
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

fn exchange(conversation: &str, all: &[TurnShape<'_>], range: Range<usize>) -> Exchange {
    let turns = &all[range.clone()];
    let asked = &turns[0];
    let mut code = Vec::new();
    let mut files: Vec<FileReference> = Vec::new();
    let mut tools: Vec<ToolUse> = Vec::new();
    let mut errors = Vec::new();
    let mut answer_chars = 0;
    for (at, turn) in range.clone().zip(turns) {
        if is_prose(turn.role) {
            code.extend(code_blocks(turn.text).into_iter().map(|block| (at, block)));
            for mention in paths(turn.text) {
                add_file(&mut files, mention.path, FileAction::Mentioned, MENTION_CONFIDENCE);
            }
        }
        if turn.role == Role::Assistant {
            answer_chars += turn.text.chars().count();
        }
        for file in turn.files {
            add_file(&mut files, &file.path, file.action, RECORDED_CONFIDENCE);
        }
        for tool in turn.tools {
            add_tool(&mut tools, tool);
        }
        if turn.is_error {
            errors.extend(error_line(turn.tool_text).map(str::to_owned));
        }
    }
    files.sort_by_key(|file| std::cmp::Reverse(file.action));
    let importance = importance(!code.is_empty(), answer_chars, !files.is_empty());
    Exchange {
        id: format!("chat-{conversation}-{}", asked.native_id),
        turn: asked.id,
        question: asked.text.to_owned(),
        preview: preview(asked.text),
        started: turns.iter().find_map(|turn| turn.at),
        ended: turns.iter().filter_map(|turn| turn.at).max(),
        turns: range,
        answer_chars,
        languages: languages(code.iter().filter_map(|(_, block)| block.language.as_deref())),
        code,
        files,
        tools,
        errors,
        importance,
    }
}

/// Returns whether turns of this role are prose, with fenced code and names of files; a tool's are not.
pub fn is_prose(role: Role) -> bool {
    matches!(role, Role::Human | Role::Assistant | Role::Summary)
}

fn languages<'n>(names: impl Iterator<Item = &'n str>) -> Vec<Entity> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.into_iter().map(|(name, _)| Entity { name: name.to_owned(), confidence: LANGUAGE_CONFIDENCE }).collect()
}

fn add_file(files: &mut Vec<FileReference>, path: &str, action: FileAction, confidence: f32) {
    match files.iter_mut().find(|known| known.path == path) {
        Some(known) => {
            known.action = known.action.max(action);
            known.confidence = known.confidence.max(confidence);
        }
        None => files.push(FileReference { path: path.to_owned(), action, confidence }),
    }
}

/// Adds a tool call, or merges it with the earlier entry of the same call.
fn add_tool(tools: &mut Vec<ToolUse>, tool: &ToolUse) {
    let known = tool.call_id.as_ref().and_then(|id| tools.iter_mut().find(|known| known.call_id.as_ref() == Some(id)));
    match known {
        Some(known) => {
            known.outcome = tool.outcome.or(known.outcome);
            if known.name.is_empty() {
                known.name.clone_from(&tool.name);
            }
        }
        None => tools.push(tool.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn turn<'t>(role: Role, native_id: &'t str, text: &'t str) -> TurnShape<'t> {
        let id = TurnId::derive("x", "s", native_id, 0);
        TurnShape { id, native_id, role, text, tool_text: "", caveat: None, is_error: false, at: None, tools: &[], files: &[] }
    }

    fn tool(call: &str, name: &str, outcome: Option<Outcome>) -> ToolUse {
        ToolUse { call_id: Some(call.to_owned()), name: name.to_owned(), outcome }
    }

    #[test]
    fn exchange_is_a_question_and_all_that_was_done_about_it() {
        let called = [tool("1", "Edit", None), tool("2", "Bash", None)];
        let done = [tool("1", "", Some(Outcome::Done))];
        let failed = [tool("2", "", Some(Outcome::Failed))];
        let edited = [FileUse { path: "/home/kim/otter/src/tide.rs".to_owned(), action: FileAction::Written }];
        let turns = [
            turn(Role::Assistant, "a0", "welcome"),
            TurnShape { at: Some(10), ..turn(Role::Human, "h1", "why does\n  src/tide.rs fail?") },
            TurnShape { tools: &called, files: &edited, ..turn(Role::Assistant, "a1", "```rust\nfn a() {}\n```") },
            TurnShape { tools: &done, ..turn(Role::ToolResult, "r1", "") },
            TurnShape {
                tools: &failed,
                is_error: true,
                tool_text: "error: no tide\n",
                at: Some(30),
                ..turn(Role::ToolResult, "r2", "")
            },
            turn(Role::Human, "h2", "thanks"),
        ];
        let Exchanges { turns_before, exchanges } = exchanges("s", &turns);
        assert_eq!((turns_before, exchanges.len()), (1, 2));
        let first = &exchanges[0];
        assert_eq!((first.id.as_str(), first.turns.clone()), ("chat-s-h1", 1..5));
        assert_eq!((first.started, first.ended), (Some(10), Some(30)));
        assert_eq!(first.preview, "why does src/tide.rs fail?");
        assert_eq!(first.languages, [Entity { name: "rust".to_owned(), confidence: 1.0 }]);
        assert_eq!(first.code[0].0, 2);
        let files: Vec<(&str, FileAction, f32)> =
            first.files.iter().map(|file| (file.path.as_str(), file.action, file.confidence)).collect();
        assert_eq!(
            files,
            [("/home/kim/otter/src/tide.rs", FileAction::Written, 1.0), ("src/tide.rs", FileAction::Mentioned, 0.7)]
        );
        assert_eq!(first.tools, [tool("1", "Edit", Some(Outcome::Done)), tool("2", "Bash", Some(Outcome::Failed))]);
        assert_eq!((first.errors.as_slice(), first.failed()), (["error: no tide".to_owned()].as_slice(), 1));
        assert!((first.importance - 0.8).abs() < 1e-6);
        assert!((exchanges[1].importance - 0.5).abs() < 1e-6);
    }

    #[test]
    fn messages_of_one_instant_make_exchanges_with_different_ids() {
        let turns = [turn(Role::Human, "h1", "a"), turn(Role::Human, "h2", "a")];
        let made = exchanges("s", &turns).exchanges;
        assert_eq!(made.iter().map(|made| made.id.as_str()).collect::<Vec<_>>(), ["chat-s-h1", "chat-s-h2"]);
    }

    #[test]
    fn importance_is_as_specified() {
        for (has_code, chars, has_files, expected) in [
            (false, 0, false, 0.5),
            (true, 2000, false, 0.7),
            (false, 2001, false, 0.6),
            (false, 0, true, 0.6),
            (true, 9999, true, 0.9),
        ] {
            assert!((importance(has_code, chars, has_files) - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn preview_is_one_short_line() {
        assert_eq!(preview(" a\n\tb "), "a b");
        assert_eq!(preview(&"word ".repeat(100)).chars().count(), 200);
        assert_eq!(preview(&"x".repeat(500)).chars().count(), 201);
        assert_eq!(preview(""), "");
    }

    proptest! {
        #[test]
        fn exchanges_partition_the_turns(roles in proptest::collection::vec(0..Role::ALL.len(), 0..40)) {
            let names: Vec<String> = (0..roles.len()).map(|at| format!("m{at}")).collect();
            let turns: Vec<TurnShape<'_>> =
                roles.iter().zip(&names).map(|(role, name)| turn(Role::ALL[*role], name, "text")).collect();
            let Exchanges { turns_before, exchanges } = exchanges("s", &turns);
            let mut next = turns_before;
            for exchange in &exchanges {
                prop_assert_eq!(exchange.turns.start, next);
                prop_assert_eq!(turns[next].role, Role::Human);
                prop_assert!(turns[next + 1..exchange.turns.end].iter().all(|turn| turn.role != Role::Human));
                next = exchange.turns.end;
            }
            prop_assert_eq!(next, turns.len());
            prop_assert!(turns[..turns_before].iter().all(|turn| turn.role != Role::Human));
        }
    }
}
