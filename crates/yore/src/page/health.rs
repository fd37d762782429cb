//! Health: what is wrong and what to do about it, sources, upkeep, backups, sizes.

use maud::{Markup, html};
use serde_json::json;
use yore_core::time::format_utc;

use super::parts::{self, bytes, count};
use super::view::{Content, Input, Row};
use crate::api::calls::upkeep as calls;
use crate::api::route::{Caller, Nothing};
use crate::error::CliResult;
use crate::results::UpkeepJob;

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/health", view: health }]
}

fn health(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let Nothing {} = input.read()?;
    let health = calls::health(caller, Nothing {})?;
    let is_broken = health.troubles.iter().any(|trouble| trouble.severity == "broken");
    let memory = &health.memory;
    let body = html! {
        h1 { "Health" }
        @if is_broken { p { "Something does not work." } } @else { p { "All that yore needs works." } }
        @if !health.troubles.is_empty() {
            ul.items { @for trouble in &health.troubles {
                li.item data-item {
                    div.meta { span.mark.warn[trouble.severity == "broken"] { (if trouble.severity == "broken" { "broken" } else { "note" }) } }
                    p { (trouble.text) }
                    @if !trouble.remedy.is_empty() { p.quiet { "Remedy: " (parts::own_words(&trouble.remedy)) } }
                }
            } }
        }
        @if health.sources.iter().any(|source| !source.errors.is_empty()) {
            div.actions { (parts::change("Retry what was given up", "POST", "jobs/retry", &json!({}), None)) }
        }
        h2 { "Memory" }
        dl {
            dt { "Archive" } dd { (count(memory.sessions)) " sessions, " (count(memory.subagents)) " side conversations, " (count(memory.documents)) " documents, " (count(memory.turns)) " turns" }
            dt { "Memories" } dd { (count(memory.memories.total)) }
            dt { "Last captured" } dd { (parts::time(memory.last_captured.as_deref())) }
            dt { "Index" } dd { (count(memory.indexed_turns)) " turns, " (count(memory.queued_turns)) " wait" }
            dt { "On disk" } dd { (bytes(memory.bytes)) }
            dt { "Secrets removed" } dd { (count(memory.redactions)) }
            @if let Some(daemon) = &memory.daemon {
                dt { "Daemon" } dd { "version " (daemon.version) @if let Some(started) = &daemon.started { ", since " (parts::time(Some(started))) } }
            }
        }
        h2 { "Sources" }
        @if health.sources.is_empty() { p { "Nothing was read yet: " code { "yore up" } " looks for histories." } }
        @else {
            div.table { table {
                thead { tr { th scope="col" { "Source" } th.number scope="col" { "Files" } th.number scope="col" { "Gone" } th.number scope="col" { "Size" } th scope="col" { "Last read" } th.number scope="col" { "Errors" } } }
                tbody { @for source in &health.sources { tr {
                    th scope="row" { (source.source) } td.number { (count(source.files)) } td.number { (count(source.files_gone)) } td.number { (bytes(source.bytes)) }
                    td { (parts::time(source.last_read.as_deref())) } td.number { (source.errors.len()) }
                } } }
            } }
        }
        h2 { "Upkeep" }
        div.table { table {
            thead { tr { th scope="col" { "Job" } th scope="col" { "When" } th scope="col" { "Last done" } th.number scope="col" { "Seconds" } th scope="col" { "What it did" } th scope="col" { "Next" } } }
            tbody { @for job in &health.upkeep { (row(job)) } }
        } }
        h2 { "Backups" }
        @if health.backups.is_empty() { p { "None yet." } }
        ul { @for backup in &health.backups { li { (parts::time(Some(&format_utc(backup.made)))) ", " (bytes(backup.bytes)) } } }
    };
    Ok(Content::new("Health", body))
}

fn row(job: &UpkeepJob) -> Markup {
    let counts: Vec<String> =
        job.counts.iter().filter(|(_, number)| **number > 0).map(|(name, number)| format!("{} {name}", count(*number))).collect();
    html! {
        tr {
            th scope="row" { (job.description) }
            td { (job.cadence) }
            td { (parts::time(job.done.as_deref())) @if job.done.is_none() { "not yet" } }
            td.number { @if let Some(milliseconds) = job.milliseconds { (format!("{:.1}", milliseconds as f64 / 1_000.0)) } }
            td { (counts.join(", ")) @if let Some(error) = &job.error { span.mark.warn { "fails" } " " (error) } }
            td { @if job.due { "due" } @else { (parts::time(Some(&job.next))) } }
        }
    }
}
