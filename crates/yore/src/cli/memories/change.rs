//! Commands that change one memory: edit, confirm, reject, pin, tag, archive.

use clap::Args;
use yore_core::conflict::{Aspect, StatedValue};
use yore_core::memory::{Confidence, MemoryKind};
use yore_core::time::UtcMillis;
use yore_engine::MemoryEdit;

use super::common::{aspect, by_person, kind, told, usage};
use crate::cli::Context;
use crate::error::CliResult;
use crate::recall_request;

/// Correct a memory, or change its kind, tags or times
///
/// Other words are a new memory that takes the place of this one; the old words stay readable. Prints the id of the
/// memory that holds now.
#[derive(Args, Debug)]
pub struct Edit {
    /// Id of the memory, or its first characters
    id: String,
    /// The correct statement
    #[arg(value_name = "TEXT")]
    statement: Option<String>,
    /// Another title; an empty one removes it
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
    /// Other details; empty ones remove them
    #[arg(long, value_name = "TEXT")]
    details: Option<String>,
    /// Another kind
    #[arg(short, long, value_name = "KIND", value_parser = kind)]
    kind: Option<MemoryKind>,
    /// Other tags; an empty one removes all
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Importance, 0 to 1
    #[arg(long, value_name = "I")]
    importance: Option<f32>,
    /// How sure it is: verified, inferred, speculative
    #[arg(long, value_name = "HOW", value_parser = confidence)]
    confidence: Option<Confidence>,
    /// Since when it is true
    #[arg(long, value_name = "TIME", value_parser = recall_request::time)]
    valid_from: Option<UtcMillis>,
    /// Until when it was true (exclusive)
    #[arg(long, value_name = "TIME", value_parser = recall_request::time)]
    valid_until: Option<UtcMillis>,
    /// From now on it holds everywhere, in all projects
    #[arg(long)]
    global: bool,
    /// Another entity that it is about, in the place of those before; an empty one removes all
    #[arg(short, long = "entity", value_name = "NAME")]
    entities: Vec<String>,
    /// The thing that has one value at a time; what was stated before stays as long as TEXT has its value
    #[arg(long, value_name = "TEXT", requires = "value")]
    subject: Option<String>,
    /// The aspect of the subject that is told: value, version, place, owner, choice, status, rule [default: value]
    #[arg(long, value_name = "ASPECT", value_parser = aspect, requires = "subject")]
    aspect: Option<Aspect>,
    /// The value of the subject
    #[arg(long, value_name = "TEXT", requires = "subject")]
    value: Option<String>,
}

fn confidence(name: &str) -> Result<Confidence, &'static str> {
    Confidence::parse(name).ok_or("expected verified, inferred or speculative")
}

/// Corrects a memory.
pub fn edit(arguments: &Edit, context: &mut Context) -> CliResult {
    let edit = MemoryEdit {
        statement: arguments.statement.clone(),
        title: arguments.title.clone(),
        details: arguments.details.clone(),
        kind: arguments.kind,
        fields: None,
        tags: (!arguments.tags.is_empty()).then(|| arguments.tags.clone()),
        importance: arguments.importance,
        confidence: arguments.confidence,
        valid_from: arguments.valid_from,
        valid_until: arguments.valid_until,
        entities: (!arguments.entities.is_empty()).then(|| arguments.entities.clone()),
        asserts: arguments.subject.clone().zip(arguments.value.clone()).map(|(subject, value)| StatedValue {
            subject,
            aspect: arguments.aspect.unwrap_or_default(),
            value,
        }),
        is_global: arguments.global,
    };
    if edit == MemoryEdit::default() {
        return Err(usage("nothing to change: give the correct statement, or an option"));
    }
    let done = context.settings.memory()?.edit_memory(arguments.id.clone(), edit, by_person("memories edit"))?;
    told(context, done, "changed")
}

/// Confirm a memory: from now on it is yours, and verified
#[derive(Args, Debug)]
pub struct Confirm {
    /// Id of the memory, or its first characters
    id: String,
}

/// Confirms a memory.
pub fn confirm(arguments: &Confirm, context: &mut Context) -> CliResult {
    let done = context.settings.memory()?.confirm_memory(arguments.id.clone(), by_person("memories confirm"))?;
    told(context, done, "confirmed")
}

/// Say that a memory is wrong: it stays readable, and no longer holds
#[derive(Args, Debug)]
pub struct Wrong {
    /// Id of the memory, or its first characters
    id: String,
    /// Why it is wrong
    #[arg(value_name = "REASON")]
    reason: Option<String>,
}

/// Says that a memory is wrong.
pub fn wrong(arguments: &Wrong, context: &mut Context) -> CliResult {
    let cause = by_person("memories wrong");
    let done = context.settings.memory()?.invalidate_memory(arguments.id.clone(), arguments.reason.clone(), cause)?;
    told(context, done, "no longer holds")
}

/// Pin a memory, so that it never fades
#[derive(Args, Debug)]
pub struct Pin {
    /// Id of the memory, or its first characters
    id: String,
    /// Unpin it
    #[arg(long)]
    off: bool,
}

/// Pins a memory.
pub fn pin(arguments: &Pin, context: &mut Context) -> CliResult {
    let done = context.settings.memory()?.pin_memory(arguments.id.clone(), !arguments.off, by_person("memories pin"))?;
    told(context, done, if arguments.off { "unpinned" } else { "pinned" })
}

/// Put a memory away: it is kept, and in no answer any more
#[derive(Args, Debug)]
pub struct Archive {
    /// Id of the memory, or its first characters
    id: String,
    /// Take it out again
    #[arg(long)]
    off: bool,
}

/// Puts a memory away.
pub fn archive(arguments: &Archive, context: &mut Context) -> CliResult {
    let cause = by_person("memories archive");
    let done = context.settings.memory()?.archive_memory(arguments.id.clone(), !arguments.off, cause)?;
    told(context, done, if arguments.off { "taken out again" } else { "put away" })
}
