//! The dry run of an import: lists what it would record or change.

use std::collections::HashSet;
use std::io::{BufRead, Read};
use std::path::Path;

use serde_json::Value;
use yore_core::memory::{MemoryKind, SourceKind};
use yore_engine::{EngineError, MemoryError, MemoryList};

use super::{Import, MOST_BYTES, Planned};
use crate::cli::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::render::text::{self, counted};

/// Characters that are shown of a statement.
const SHOWN_CHARS: usize = 200;
/// Memories that are looked through for known ones.
const MOST: usize = usize::MAX >> 1;

impl Import<'_> {
    /// Notes what would be done. Returns that nothing was changed.
    pub(super) fn plan(&mut self, what: &str, text: &str, place: Option<String>) -> Result<bool, String> {
        self.planned.push(Planned { what: what.to_owned(), text: text.to_owned(), place });
        Ok(false)
    }

    /// Notes the records of files of people and other programs that are not known yet.
    pub(super) fn plan_given(&mut self) -> CliResult<()> {
        let list = MemoryList { limit: MOST, ..MemoryList::default() };
        let known = self.engine.memories(&list)?.into_iter().filter(|known| known.memory.source.kind == SourceKind::Import);
        let known: HashSet<String> = known.map(|known| known.memory.statement).collect();
        let given = std::mem::take(&mut self.given);
        for new in given.memories.into_iter().filter(|new| !known.contains(&new.memory.statement)) {
            let _ = self.plan(new.memory.kind.as_str(), &new.memory.statement, new.memory.source.place);
        }
        for entity in given.entities {
            let _ = self.plan("entity", &entity.name, None);
        }
        for relation in given.relations {
            let _ = self.plan("relation", &format!("{} {} {}", relation.from, relation.name, relation.to), None);
        }
        Ok(())
    }

    /// Notes the memories, entities and notes of lines of JSON that are not known as they are.
    pub(super) fn plan_lines(&mut self, input: &mut dyn BufRead, path: &Path) -> CliResult<()> {
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let read = Read::take(&mut *input, MOST_BYTES).read_until(b'\n', &mut line);
            if read.map_err(|error| CliError::io(path, &error))? == 0 {
                break;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let Ok(record) = serde_json::from_slice::<Value>(&line) else {
                self.skip(path, &format!("line {number} is no JSON"));
                continue;
            };
            let place = Some(format!("line {number}"));
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let memory = &record["memory"];
            if memory.is_object() {
                let what = match self.known_change(memory)? {
                    Some(known) if memory["changed"].as_i64().is_some_and(|changed| changed <= known) => continue,
                    Some(_) => "change".to_owned(),
                    None => memory["kind"].as_str().and_then(MemoryKind::parse).unwrap_or_default().as_str().to_owned(),
                };
                let _ = self.plan(&what, &text(&memory["statement"]), place);
            } else if record["entity"].is_object() {
                let _ = self.plan("entity", &text(&record["entity"]["name"]), place);
            } else if record["note"].is_object() {
                let newest = record["note"]["versions"].as_array().and_then(|versions| versions.last());
                let _ = self.plan("note", &newest.map(|note| text(&note["text"])).unwrap_or_default(), place);
            }
        }
        Ok(())
    }

    /// Returns when the memory that a line names was changed last; `None`: it is not known.
    fn known_change(&self, memory: &Value) -> Result<Option<i64>, EngineError> {
        match self.engine.memory(memory["id"].as_str().unwrap_or_default()) {
            Ok(known) => Ok(Some(known.memory.changed)),
            Err(EngineError::Memory(MemoryError::Unknown(_)) | EngineError::UnknownId(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists what would be recorded.
    pub(super) fn tell_plan(&self, context: &mut Context) -> CliResult {
        if context.printer.is_json() {
            context.printer.json(&self.planned)?;
        } else {
            for Planned { what, text: words, place } in &self.planned {
                let place = place.as_deref().map(|place| format!("  {}{}{}", text::DIM, text::harmless(place), text::RESET));
                let said = yore_core::text::preview(words, SHOWN_CHARS);
                context.printer.line(format!("{what}: {}{}", text::harmless(&said), place.unwrap_or_default()))?;
            }
            let count = counted(self.planned.len() as u64, "record");
            context.printer.line(format!("{count} would be stored or changed; nothing was"))?;
        }
        for (place, problem) in &self.imported.problems {
            context.printer.note(format!("{} would be skipped: {}", text::harmless(place), text::harmless(problem)))?;
        }
        Ok(if self.imported.skipped > 0 { Exit::Nothing } else { Exit::Success })
    }
}
