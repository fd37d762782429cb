//! Asks a language model for hypothetical statements (HyDE), to find earlier statements in other words than a new one.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};
use yore_core::id::MemoryId;
use yore_core::memory::Memory;

use crate::budget::Ledger;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::llm::{Form, Model, Prompt, structured};

/// Instructions, and their version; a change of the words is another file.
const INSTRUCTIONS: &str = include_str!("../../prompts/hypothetical-1.md");
const NAME: &str = "hypothetical/1";
/// Statements that are searched with for one memory, and the most characters of one.
const MOST_WORDINGS: usize = 3;
const MOST_CHARS: usize = 300;
/// Most tokens of an answer.
const MOST_ANSWER: u32 = 2_500;

/// Hypothetical statements about the things that memories are about.
#[derive(Debug, Default)]
pub(crate) struct Hypothetical {
    by_memory: HashMap<MemoryId, Vec<String>>,
    /// Answers before the last one that had not the form.
    pub retries: u32,
}

impl Hypothetical {
    /// Returns those about the thing of a memory.
    pub(crate) fn of(&self, memory: MemoryId) -> &[String] {
        self.by_memory.get(&memory).map_or(&[], Vec::as_slice)
    }
}

impl Engine {
    /// Asks a model how the memory may have worded what it knew before of the things of memories; `place` names these memories among all.
    ///
    /// # Errors
    /// Those of [`structured::ask`].
    pub(crate) fn hypothetical_statements(
        &self,
        memories: &[Memory],
        place: &str,
        model: &Model,
        ledger: &Ledger<'_>,
    ) -> Result<Hypothetical, EngineError> {
        let mut statements: Vec<String> = memories.iter().map(|memory| memory.statement.clone()).collect();
        self.redact_again(statements.iter_mut())?;
        let told = |(memory, statement): (&Memory, &String)| -> Value {
            json!({"id": memory.id.short(), "kind": memory.kind.as_str(), "statement": statement})
        };
        let statements: Vec<Value> = memories.iter().zip(&statements).map(told).collect();
        let user = json!({ "statements": statements }).to_string();
        let prompt = Prompt {
            system: INSTRUCTIONS.to_owned(),
            user,
            max_tokens: MOST_ANSWER,
            key: format!("{NAME} {place}"),
            ..Prompt::default()
        };
        let answered = structured::ask::<Worded>(model, &prompt, &form(), ledger)?;
        let ids: HashMap<String, MemoryId> = memories.iter().map(|memory| (memory.id.short(), memory.id)).collect();
        let mut by_memory: HashMap<MemoryId, Vec<String>> = HashMap::new();
        for Wording { id, before } in answered.value.wordings {
            // What it was not asked about is nothing.
            let Some(id) = ids.get(id.trim()) else { continue };
            let texts = before.iter().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
            let texts = texts.filter(|text| !text.is_empty()).map(|text| text.chars().take(MOST_CHARS).collect());
            by_memory.insert(*id, texts.take(MOST_WORDINGS).collect());
        }
        Ok(Hypothetical { by_memory, retries: answered.retries })
    }
}

/// An answer of a model.
#[derive(Deserialize)]
struct Worded {
    wordings: Vec<Wording>,
}

#[derive(Deserialize)]
struct Wording {
    id: String,
    #[serde(default)]
    before: Vec<String>,
}

/// Returns the form of the answer.
fn form() -> Form {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let wording = structured::object(json!({"id": {"type": "string"}, "before": texts}));
    let schema = structured::object(json!({"wordings": {"type": "array", "items": wording}}));
    Form { name: "worded", description: "How a memory may have worded what it knew before.", schema }
}
