//! Formats memories as text for people and agents.

use serde_json::Value;
use yore_core::conflict::Touch;
use yore_core::memory::dynamics::Standing;
use yore_core::memory::{AnchorVerdict, Confidence, Memory, MemoryKind, Status};
use yore_core::relation::Node;
use yore_core::time::UtcMillis;
use yore_engine::{
    FoundMemory, MemoryCounts, NamedRelation, OpenConflict, OpenedEntity, OpenedMemory, Qualified, StoredMemory, Touched,
};

use super::plain::{count, counted, day, exact_time, harmless, one_line};

/// Returns the numbers of memories as lines; none if there are none.
pub fn memory_lines(counts: &MemoryCounts) -> Vec<String> {
    if counts.total() == 0 {
        return Vec::new();
    }
    let told = |names: &[(String, u64)]| {
        names.iter().map(|(name, number)| format!("{} {}", count(*number), kind_name_of(name))).collect::<Vec<_>>().join(", ")
    };
    let graph = [(counts.entities, "entity"), (counts.relations, "relation"), (counts.operations, "operation")];
    let graph: Vec<String> = graph.into_iter().map(|(number, name)| counted(number, name)).collect();
    vec![format!(
        "{}: {}; {}; {}",
        counted(counts.total(), "memory"),
        told(&counts.kinds),
        told(&counts.statuses),
        graph.join(", ")
    )]
}

/// Returns a stored name, such as that of a kind, as it is shown and typed.
pub fn kind_name_of(stored: &str) -> String {
    stored.replace('_', "-")
}

/// Returns the name of a kind, as it is shown and typed.
pub fn kind_name(kind: MemoryKind) -> String {
    kind_name_of(kind.as_str())
}

/// Returns the line that tells how much of a statement was redacted before it was stored, by the marks that the given words lack.
pub fn redacted(given: &str, stored: &str) -> Option<String> {
    let marks = |text: &str| text.matches("[yore:").count();
    let count = marks(stored).saturating_sub(marks(given)) as u64;
    (count > 0).then(|| format!("{} redacted before storing", counted(count, "passage")))
}

/// Returns the kind of a memory, and what is unusual about it.
pub fn kind_of(memory: &Memory) -> String {
    let mut told = kind_name(memory.kind);
    if memory.status != Status::Holds {
        told.push_str(&format!(", {}", memory.status.as_str()));
    }
    if memory.is_closed() {
        told.push_str(", closed");
    }
    if memory.confidence != Confidence::Verified {
        told.push_str(&format!(", {}", memory.confidence.as_str()));
    }
    told.extend(shared_by(memory).map(|by| format!(", {by}")));
    told
}

/// Says which colleague shared a memory.
fn shared_by(memory: &Memory) -> Option<String> {
    memory.is_shared().then(|| {
        let author = memory.source.author.as_deref().map_or_else(|| "somebody".to_owned(), one_line);
        let commit = memory.source.commit.as_deref().map(|commit| format!(" in {}", one_line(commit))).unwrap_or_default();
        format!("shared by {author}{commit}")
    })
}

/// Returns a line for each thing that is known about a memory: its entities, its validity, what it replaced.
pub fn lines_of(found: &FoundMemory) -> Vec<String> {
    let FoundMemory { memory, same, entities, history, closed_by, contradicts, qualified, changed, .. } = found;
    let mut lines = Vec::new();
    // Names that stand in the statement, and the day that stands above it, are not told again.
    let statement = memory.statement.to_lowercase();
    let is_told = |name: &str| {
        let name = name.to_lowercase();
        let file = name.rsplit('/').next().unwrap_or(&name);
        statement.contains(&name) || !file.is_empty() && statement.contains(file)
    };
    let others: Vec<String> = entities.iter().filter(|name| !is_told(name)).map(|name| one_line(name)).collect();
    if !others.is_empty() {
        lines.push(format!("about {}", others.join(", ")));
    }
    let is_since_recorded = memory.valid_until.is_none() && day(memory.valid_from) == day(Some(memory.recorded));
    lines.extend(validity(memory, day).filter(|_| !is_since_recorded).map(|validity| format!("true {validity}")));
    lines.extend(memory.cause.as_ref().map(|cause| format!("because {}", one_line(&cause.to_string()))));
    if !same.is_empty() {
        let ids: Vec<String> = same.iter().map(|id| format!("[{}]", id.short())).collect();
        lines.push(format!("said {} times, also {}", same.len() + 1, ids.join(", ")));
    }
    lines.extend(history.iter().map(|past| {
        if past.is_likely {
            return format!("was, likely [{}]: {}", past.id.short(), one_line(&past.statement));
        }
        let until = past.until.map(|until| format!(" until {}", day(Some(until)))).unwrap_or_default();
        format!("earlier{until} [{}]: {}", past.id.short(), one_line(&past.statement))
    }));
    lines.extend(closed_by.iter().map(|by| format!("closed by [{}]: {}", by.id.short(), one_line(&by.statement))));
    lines.extend(contradicts.iter().map(|other| format!("contradicts [{}]: {}", other.id.short(), one_line(&other.statement))));
    lines.extend(qualified.iter().map(qualified_line));
    lines.extend(changed.iter().map(changed_line));
    lines
}

/// Says where another one holds, of which a memory is a special case or the general one.
fn qualified_line(other: &Qualified) -> String {
    let reason = other.reason.as_deref().map(|reason| format!(" ({})", one_line(reason))).unwrap_or_default();
    let (id, statement) = (other.statement.id.short(), one_line(&other.statement.statement));
    if other.is_special {
        format!("except{reason} [{id}]: {statement}")
    } else {
        format!("special case{reason} of [{id}]: {statement}")
    }
}

/// Says what became of others when a memory was recorded.
pub fn outcome(replaced: &[StoredMemory], conflicts: &[OpenConflict], touches: &[Touched]) -> Vec<String> {
    let replaced = replaced.iter().map(|stored| {
        let memory = &stored.memory;
        format!("it takes the place of [{}]: {}", memory.id.short(), one_line(&memory.statement))
    });
    let conflicts = conflicts.iter().map(|open| {
        let (older, newer) = (&open.older.memory, &open.newer.memory);
        format!("[{}] contradicts [{}]; `yore conflicts` settles that", newer.id.short(), older.id.short())
    });
    let touches = touches.iter().filter_map(|touched| {
        let verdict = match touched.touch {
            Touch::Replaced | Touch::Contradicts => return None,
            Touch::LikelyChanges => "it likely changes",
            Touch::MayChange => "it may change",
            Touch::Same => "it says the same as",
            Touch::Beside => "it stands beside",
        };
        Some(format!("{verdict} [{}]: {}", touched.id.short(), one_line(&touched.statement)))
    });
    replaced.chain(conflicts).chain(touches).collect()
}

/// Says what has become of a thing that a memory speaks of.
pub fn changed_line(verdict: &AnchorVerdict) -> String {
    let detail = verdict.detail.as_deref().map(|detail| format!(": {}", one_line(detail))).unwrap_or_default();
    format!("{} {} {}{detail}", verdict.verdict.as_str(), verdict.anchor.kind.as_str(), one_line(&verdict.anchor.text))
}

/// Returns the line above a memory that was opened: id, kind, project, standing.
pub fn heading(stored: &StoredMemory) -> String {
    let memory = &stored.memory;
    let nowhere = if memory.is_global() { "everywhere" } else { "of no known project" };
    let project = stored.project.as_deref().map_or_else(|| nowhere.to_owned(), one_line);
    format!("{}  {}  {project}  {}", memory.id, kind_name(memory.kind), standing(memory))
}

/// Returns the lines of a memory that was opened: title, statement, details, fields, tags, evidence, relations.
pub fn body(opened: &OpenedMemory) -> Vec<String> {
    let memory = &opened.stored.memory;
    let mut lines: Vec<String> = memory.title.iter().map(|title| one_line(title)).collect();
    lines.push(harmless(&memory.statement));
    lines.extend(memory.details.as_ref().map(|details| format!("\n{}", harmless(details))));
    let fields = serde_json::to_value(&memory.fields).unwrap_or_default();
    for (name, value) in fields.as_object().into_iter().flatten().filter(|(name, _)| *name != "of") {
        lines.push(format!("{}: {}", name.replace('_', " "), harmless(&field(value))));
    }
    if !memory.tags.is_empty() {
        lines.push(memory.tags.iter().map(|tag| format!("#{}", one_line(tag))).collect::<Vec<_>>().join(" "));
    }
    let Standing { strength, retention, tier, decay } = opened.stored.standing;
    lines.push(format!("{}: strength {strength:.2}, retention {retention:.2}, decay score {decay:.2}", tier.as_str()));
    lines.extend(
        memory.evidence.iter().map(|evidence| format!("evidence [{}]: “{}”", evidence.turn.short(), one_line(&evidence.quote))),
    );
    lines.extend(memory.anchors.iter().map(|anchor| format!("speaks of {} {}", anchor.kind.as_str(), one_line(&anchor.text))));
    lines.extend(memory.source.place.as_ref().map(|place| format!("from {}", one_line(place))));
    lines.extend(opened.relations.iter().map(relation));
    lines
}

/// Returns the text of a field: the texts of a list one after the other, those of a change of code by name.
fn field(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(field).collect::<Vec<_>>().join("; "),
        Value::Object(change) if change.len() == 1 => change.values().map(field).collect(),
        Value::Object(change) => {
            change.iter().map(|(name, value)| format!("{name}: {}", field(value))).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Returns a line for each of the last operations that changed a memory, oldest first.
pub fn history(opened: &OpenedMemory) -> Vec<String> {
    let told = |operation: &yore_core::operation::Operation| {
        let undone = if operation.undone_by.is_some() { " (undone)" } else { "" };
        let (at, summary) = (exact_time(Some(operation.at)), one_line(&operation.summary));
        format!("{at}  operation {}: {summary}{undone}", operation.number)
    };
    opened.operations.iter().rev().map(told).collect()
}

/// Returns the lines of an entity: its kind and names, what it is, and its relations.
pub fn entity(opened: &OpenedEntity) -> Vec<String> {
    let entity = &opened.entity;
    let mut lines = vec![format!("[{}] {} {}", entity.id.short(), entity.kind.as_str(), one_line(&entity.name))];
    if !entity.aliases.is_empty() {
        lines.push(format!("also called: {}", entity.aliases.iter().map(|alias| one_line(alias)).collect::<Vec<_>>().join(", ")));
    }
    lines.extend(entity.description.as_deref().map(one_line));
    lines.extend(opened.relations.iter().map(relation));
    lines
}

fn relation(relation: &NamedRelation) -> String {
    let other = match (&relation.label, &relation.node) {
        (Some(label), Node::Memory(id)) => format!("[{}] {}", id.short(), one_line(label)),
        (Some(label), _) => one_line(label),
        (None, node) => one_line(&crate::results::node_id(node)),
    };
    let why = relation.reason.as_deref().map(|reason| format!(" ({})", one_line(reason))).unwrap_or_default();
    format!("{} {} {other}{why}", relation.name.replace('_', " "), relation.node.kind())
}

/// Says whether a memory holds, and since when exactly it is true.
fn standing(memory: &Memory) -> String {
    let mut words =
        vec![memory.status.as_str().to_owned(), memory.lane.as_str().to_owned(), memory.confidence.as_str().to_owned()];
    words.extend(memory.is_pinned.then(|| "pinned".to_owned()));
    words.extend(shared_by(memory));
    words.extend(memory.cause.as_ref().map(|cause| format!("because {}", one_line(&cause.to_string()))));
    words.extend(validity(memory, exact_time));
    words.push(format!("recorded {}", exact_time(Some(memory.recorded))));
    words.join(", ")
}

/// Says from when until when a memory is true, if that is known.
fn validity(memory: &Memory, told: fn(Option<UtcMillis>) -> String) -> Option<String> {
    match (memory.valid_from, memory.valid_until) {
        (None, None) => None,
        (Some(from), None) => Some(format!("since {}", told(Some(from)))),
        (None, Some(until)) => Some(format!("until {}", told(Some(until)))),
        (Some(from), Some(until)) => Some(format!("from {} until {}", told(Some(from)), told(Some(until)))),
    }
}
