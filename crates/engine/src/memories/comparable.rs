//! Features by which a memory is compared with proposals: words, command, error, words of a todo.

use std::collections::HashSet;

use yore_core::conflict::{Repetition, Statement};
use yore_core::id::MemoryId;
use yore_core::memory::{Fields, Memory, MemoryKind};
use yore_core::text::{Tokenizer, steady};
use yore_core::time::UtcMillis;

use crate::rules::{content_words, form};

/// End of the name of the rule by which a commit tells what was done: an outcome.
const DONE: &str = ": commit with a reason";
/// A commit may tell the end of a todo. It must have this share of the todo's words, and so many of them at least. Anything else that
/// speaks of the same may only say more of it; an agent or a person states what it ends.
const DONE_SHARE: f32 = 0.7;
const LEAST_WORDS: usize = 5;

/// Returns whether a memory tells what was done.
pub(super) fn is_done(memory: &Memory) -> bool {
    memory.source.extractor.as_ref().is_some_and(|extractor| extractor.ends_with(DONE))
}

/// Returns the beginning of a statement about commands, up to their program; `None` if it is about something else.
pub(super) fn program(statement: &str) -> Option<&str> {
    let (program, _) = form(statement)?;
    let at = statement.find(program)?;
    Some(&statement[..at + program.len()])
}

/// A memory in the form in which it is compared with others.
#[derive(Debug)]
pub(super) struct Comparable {
    pub(super) id: MemoryId,
    statement: Statement,
    /// Program of the commands that it tells, if it is about such.
    program: Option<String>,
    /// Words that say something, of a todo and of what may be its end.
    words: HashSet<String>,
    /// True if it is a todo, false if it tells something that may be the end of one.
    is_todo: bool,
    /// Since when it is true.
    at: Option<UtcMillis>,
    /// The error that it solves, without what differs from time to time, and its session.
    error: Option<String>,
    session: Option<String>,
}

impl Comparable {
    pub(super) fn of(memory: &Memory, tokenizer: &mut Tokenizer) -> Self {
        let is_todo = memory.kind == MemoryKind::Todo;
        Self {
            id: memory.id,
            statement: Statement::of(&memory.statement, tokenizer),
            program: form(&memory.statement).map(|(program, _)| program.to_owned()),
            words: if is_todo || is_done(memory) { content_words(&memory.statement).collect() } else { HashSet::new() },
            is_todo,
            at: memory.valid_from,
            error: match &memory.fields {
                Fields::Solution { error, .. } => error.as_deref().map(steady),
                _ => None,
            },
            session: memory.source.session.clone(),
        }
    }

    /// Returns whether it tells commands.
    pub(super) fn tells_commands(&self) -> bool {
        self.program.is_some()
    }

    /// Returns whether it solves the error of another session again.
    pub(super) fn meets_again(&self, other: &Self) -> bool {
        self.error.is_some() && self.error == other.error && self.session != other.session
    }

    /// Returns whether it tells that a todo was done, by its words.
    pub(super) fn ends(&self, todo: &Self) -> bool {
        let is_later = todo.at.zip(self.at).is_some_and(|(todo, end)| end > todo);
        if !todo.is_todo || self.is_todo || self.words.is_empty() || !is_later {
            return false;
        }
        let shared = todo.words.intersection(&self.words).count();
        shared >= LEAST_WORDS && shared as f32 >= DONE_SHARE * todo.words.len() as f32
    }

    /// Returns how much of it another one says; `None` if each says something that the other does not. Commands of one program are
    /// variants of one statement.
    pub(super) fn repetition(&self, other: &Self) -> Option<Repetition> {
        if self.is_todo != other.is_todo {
            return None;
        }
        let is_variant = self.program.is_some() && self.program == other.program;
        if is_variant { Some(Repetition::Same) } else { Repetition::of(&self.statement, &other.statement) }
    }
}
