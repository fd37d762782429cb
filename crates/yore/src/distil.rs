//! Formats the lines of a conversation that an agent distils, and the report of its findings, as text.

use yore_core::episode::Role;
use yore_core::memory::MemoryKind;
use yore_engine::{DistilReport, Line, Material};

use crate::fence::{clean, fenced, name, passage};
use crate::render::text::{count, counted};

/// The answer where no session waits.
pub const NOTHING: &str = "No session waits to be distilled.";

/// Returns the new lines of a conversation, between marks.
pub fn material(material: &Material) -> String {
    let mut passages = Vec::new();
    if !material.known.is_empty() {
        passages.push("Memories of this session, not to be repeated:".to_owned());
        passages.extend(material.known.iter().map(statement));
    }
    if !material.near.is_empty() {
        passages.push(
            "Known in the project; relate what changes one of these to its id (supersedes), and leave out what repeats one:"
                .to_owned(),
        );
        passages.extend(material.near.iter().map(statement));
    }
    if !material.proposed.is_empty() {
        passages.push("Proposed by rules; `drop` takes the ids of those that are wrong or not worth keeping:".to_owned());
        passages.extend(material.proposed.iter().map(statement));
    }
    if !material.open.is_empty() {
        passages
            .push("Open in the project; if the new lines close one, relate what does (answers, solves, implements):".to_owned());
        passages.extend(material.open.iter().map(statement));
    }
    if !material.things.is_empty() {
        let things = material.things.iter().map(|(thing, kind)| format!("{} ({})", name(thing), kind.as_str()));
        passages.push(format!("Known things that the lines name: {}", things.collect::<Vec<_>>().join(", ")));
    }
    if !material.recent.is_empty() {
        passages.push("Distilled before:".to_owned());
        passages.extend(material.recent.iter().map(line));
    }
    passages.push("New:".to_owned());
    passages.extend(material.new.iter().map(line));
    let title = material.title.as_deref().map(|title| format!(" \"{}\"", name(title))).unwrap_or_default();
    let project = material.project.as_deref().map(|project| format!(", {}", name(project))).unwrap_or_default();
    let topic = material.topic.as_deref().map(|topic| format!(", last topic \"{}\"", name(topic))).unwrap_or_default();
    let left = if material.left > 0 { format!(" {} follow.", counted(material.left, "line")) } else { String::new() };
    let last = material.new.last().map_or(0, |line| line.line);
    format!(
        "Session {}{title}{project}{topic}. Recorded with `upto` {last} and the session's id.{left}\n{}",
        name(&material.session),
        fenced(&passages)
    )
}

fn statement((id, kind, statement): &(String, MemoryKind, String)) -> String {
    format!("[{id}] {}: {}", kind.as_str(), clean(statement))
}

fn line(line: &Line) -> String {
    let who = match line.role {
        Role::Human => "person",
        Role::Assistant => "agent",
        Role::ToolResult => "error",
        _ => "summary",
    };
    passage(&format!("{} {who}:", line.line), &line.text)
}

/// Returns what became of what an agent found.
pub fn report(report: &DistilReport) -> String {
    let mut lines = vec![format!(
        "{} recorded, {} known that got evidence, {} known already, {} stated.",
        counted(report.recorded, "memory"),
        count(report.joined),
        count(report.known),
        counted(report.relations, "relation")
    )];
    if report.dropped > 0 {
        lines.push(format!("{} of rules put away.", counted(report.dropped, "memory")));
    }
    if report.is_topic_named {
        lines.push("The topic was named.".to_owned());
    }
    lines.extend(report.problems.iter().map(|problem| format!("Not recorded: {}", clean(&problem.to_string()))));
    if report.left > 0 {
        lines.push(format!("{} of this session wait.", counted(report.left, "line")));
    }
    lines.join("\n")
}
