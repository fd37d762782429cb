//! Has a language model write the sentences of an answer, and drops those that their evidence does not support.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::Deserialize;
use serde_json::json;
use yore_core::text::Tokenizer;

use super::answer::{AskAnswer, AskSentence, Unwritten};
use super::evidence::{Gathered, Piece};
use super::sentences::number_of;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::extraction::{FailReason, ModelAccess, is_supported};
use crate::llm::structured;
use crate::llm::{Form, LlmError, Prompt};

/// Instructions, and their version; a change of the words is another file.
const INSTRUCTIONS: &str = include_str!("../../prompts/ask-1.md");
/// Most tokens of an answer, and longest sentence in characters.
const MOST_ANSWER: u32 = 1_500;
const SENTENCE_CHARS: usize = 500;

impl Engine {
    /// Replaces the sentences of an answer with those of a model that their evidence supports. An answer by which nothing is known
    /// empties it. If the model does not answer, the sentences stay.
    pub(super) fn write_answer(
        &self,
        question: &str,
        gathered: &Gathered,
        mut by: ModelAccess<'_>,
        answer: &mut AskAnswer,
    ) -> Result<(), EngineError> {
        // Evidence that another model or nobody may read stays here.
        let mut models: HashMap<Option<&str>, Option<String>> = HashMap::new();
        let mut read: Vec<&Piece> = Vec::new();
        for piece in &gathered.pieces {
            let project = piece.source.project.as_deref();
            if let Entry::Vacant(unknown) = models.entry(project) {
                match by.reader(self, project) {
                    Ok(reader) => unknown.insert(reader.map(|(model, _)| model.name().to_owned())),
                    Err(reason) => {
                        answer.unwritten = Some(Unwritten::NoModel(reason));
                        return Ok(());
                    }
                };
            }
            let first = read.first().unwrap_or(&piece);
            if models[&project].is_some() && models[&project] == models[&first.source.project.as_deref()] {
                read.push(piece);
            }
        }
        let reader = match read.first() {
            Some(first) => by.reader(self, first.source.project.as_deref()),
            None => Ok(None),
        };
        let (model, ledger) = match reader {
            Ok(Some(reader)) => reader,
            Ok(None) => {
                answer.unwritten = Some(Unwritten::LeftOut);
                return Ok(());
            }
            Err(reason) => {
                answer.unwritten = Some(Unwritten::NoModel(reason));
                return Ok(());
            }
        };
        let with_against = |piece: &&Piece| [std::slice::from_ref(&piece.text), piece.against.as_slice()].concat().join(" ");
        let mut texts: Vec<String> = read.iter().map(with_against).collect();
        let mut asked = question.to_owned();
        self.redact_again(texts.iter_mut().chain([&mut asked]))?;
        let evidence = (1..).zip(read.iter().zip(&texts)).map(|(number, (piece, text)): (usize, _)| {
            let at = piece.source.at.map(yore_core::time::format_utc);
            json!({"number": number, "by": piece.source.what, "at": at, "words": text})
        });
        let user = json!({"question": asked, "evidence": evidence.collect::<Vec<_>>()}).to_string();
        let prompt = Prompt { system: INSTRUCTIONS.to_owned(), user, max_tokens: MOST_ANSWER, ..Prompt::default() };
        let written = match structured::ask::<Written>(&model, &prompt, &form(), &ledger) {
            Ok(answered) => answered.value,
            Err(error) => {
                answer.unwritten = Some(Unwritten::Failed(reason(&error)));
                return Ok(());
            }
        };
        let (mut sentences, mut sources) = (Vec::new(), Vec::new());
        let mut tokenizer = Tokenizer::default();
        for Sentence { mut text, sources: cited } in written.sentences {
            text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let cited: Vec<usize> = cited.iter().filter_map(|number| (*number as usize).checked_sub(1)).collect();
            let words: Vec<&str> = cited.iter().filter_map(|at| texts.get(*at)).map(String::as_str).collect();
            let is_whole = words.len() == cited.len() && !cited.is_empty() && text.chars().count() <= SENTENCE_CHARS;
            let days = cited.iter().filter_map(|at| read.get(*at)?.source.at);
            if !is_whole || !is_supported(&text, &format!("{}\n{question}", words.join("\n")), days, &mut tokenizer) {
                answer.unsupported += 1;
                continue;
            }
            self.redact([&mut text].into_iter())?;
            let sources = cited.iter().map(|at| number_of(&mut sources, &read[*at].source)).collect();
            sentences.push(AskSentence { text, sources });
        }
        if sentences.is_empty() && written.is_known {
            answer.unwritten = Some(Unwritten::Unsupported);
            return Ok(());
        }
        answer.model = Some(model.name().to_owned());
        if !written.is_known {
            answer.confidence = 0.0;
            (sentences, sources) = (Vec::new(), Vec::new());
        }
        (answer.sentences, answer.sources) = (sentences, sources);
        Ok(())
    }
}

fn reason(error: &LlmError) -> String {
    FailReason::from(error).to_string()
}

/// An answer as a model gives it.
#[derive(Deserialize)]
struct Written {
    is_known: bool,
    #[serde(default)]
    sentences: Vec<Sentence>,
}

#[derive(Deserialize)]
struct Sentence {
    text: String,
    sources: Vec<u32>,
}

fn form() -> Form {
    let sources = json!({"type": "array", "items": {"type": "integer"}});
    let sentence = structured::object(json!({"text": {"type": "string"}, "sources": sources}));
    let sentences = json!({"type": "array", "items": sentence});
    let schema = structured::object(json!({"is_known": {"type": "boolean"}, "sentences": sentences}));
    Form { name: "answer", description: "The answer in sentences, each with the numbers of its evidence.", schema }
}
