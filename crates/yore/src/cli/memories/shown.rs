//! Shows a memory with its evidence, relations and history.

use yore_core::memory::Memory;
use yore_core::operation::Subject;
use yore_core::relation::{Node, Relation};
use yore_engine::{Engine, StoredMemory};

use crate::cli::Context;
use crate::error::{CliResult, Exit};
use crate::render::text::{self, BOLD, DIM, RESET};
use crate::results::{MemoryRecord, MemoryRelation};

/// Operations that are shown with a memory, the latest.
const OPERATIONS: usize = 10;

/// Returns a text on one line, without control characters.
pub fn harmless_line(words: &str) -> String {
    text::harmless(words).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns relations as they are read from a node.
pub fn relations_of(engine: &Engine, from: &Node, relations: &[Relation]) -> Vec<MemoryRelation> {
    relations
        .iter()
        .map(|relation| {
            let is_reversed = relation.from != *from;
            let other = if is_reversed { &relation.from } else { &relation.to };
            let entity = match other {
                Node::Entity(id) => engine.entity(*id).ok().flatten().map(|entity| entity.name),
                _ => None,
            };
            MemoryRelation {
                name: relation.relation_type.name_from(is_reversed).to_owned(),
                kind: other.kind().to_owned(),
                id: match other {
                    Node::Path(path) => path.clone(),
                    Node::Memory(id) => id.to_string(),
                    Node::Entity(id) => id.to_string(),
                    Node::Turn(id) => id.to_string(),
                    Node::Session(id) | Node::Context(id) => id.to_string(),
                },
                entity,
                weight: f64::from(relation.weight),
            }
        })
        .collect()
}

/// Prints a memory.
pub fn show(stored: &StoredMemory, engine: &Engine, context: &mut Context) -> CliResult {
    let relations = relations_of(engine, &Node::Memory(stored.memory.id), &stored.relations);
    if context.printer.is_json() {
        context.printer.json(&MemoryRecord::of(stored, relations))?;
        return Ok(Exit::Success);
    }
    for line in lines(stored, &relations) {
        context.printer.line(line)?;
    }
    let operations = engine.operations(None, Some(Subject::Memory(stored.memory.id)), OPERATIONS)?;
    for operation in operations.iter().rev() {
        let undone = if operation.undone_by.is_some() { " (undone)" } else { "" };
        let (at, summary) = (text::time(Some(operation.at)), harmless_line(&operation.summary));
        context.printer.line(format!("{DIM}{at}  operation {}: {summary}{undone}{RESET}", operation.number))?;
    }
    Ok(Exit::Success)
}

fn lines(stored: &StoredMemory, relations: &[MemoryRelation]) -> Vec<String> {
    let memory = &stored.memory;
    let project = stored.project.as_deref().map_or_else(|| "everywhere".to_owned(), text::harmless);
    let mut lines = vec![format!("{DIM}{}  {}  {project}  {}{RESET}", memory.id, memory.kind.as_str(), standing(memory))];
    if let Some(title) = &memory.title {
        lines.push(format!("{BOLD}{}{RESET}", harmless_line(title)));
    }
    lines.push(text::harmless(&memory.statement));
    lines.extend(memory.details.as_ref().map(|details| format!("\n{}", text::harmless(details))));
    let fields = serde_json::to_value(&memory.fields).unwrap_or_default();
    for (name, value) in fields.as_object().into_iter().flatten().filter(|(name, _)| *name != "of") {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        lines.push(format!("{}: {}", name.replace('_', " "), text::harmless(&value)));
    }
    if !memory.tags.is_empty() {
        lines.push(memory.tags.iter().map(|tag| format!("#{}", text::harmless(tag))).collect::<Vec<_>>().join(" "));
    }
    for evidence in &memory.evidence {
        lines.push(format!("evidence [{}]: “{}”", evidence.turn.short(), harmless_line(&evidence.quote)));
    }
    for relation in relations {
        let name = relation.entity.as_deref().map_or_else(|| relation.id.clone(), str::to_owned);
        lines.push(format!("{} {} {}", relation.name.replace('_', " "), relation.kind, harmless_line(&name)));
    }
    lines
}

/// Says whether a memory holds, and since when it is true.
fn standing(memory: &Memory) -> String {
    let mut words =
        vec![memory.status.as_str().to_owned(), memory.lane.as_str().to_owned(), memory.confidence.as_str().to_owned()];
    words.extend(memory.cause.as_deref().map(|cause| format!("because {}", harmless_line(cause))));
    match (memory.valid_from, memory.valid_until) {
        (None, None) => {}
        (Some(from), None) => words.push(format!("since {}", text::day(Some(from)))),
        (None, Some(until)) => words.push(format!("until {}", text::day(Some(until)))),
        (Some(from), Some(until)) => words.push(format!("{} to {}", text::day(Some(from)), text::day(Some(until)))),
    }
    words.push(format!("recorded {}", text::day(Some(memory.recorded))));
    words.join(", ")
}
