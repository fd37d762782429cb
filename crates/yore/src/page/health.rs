//! Health: what is wrong and what to do about it, then sources, jobs, upkeep, indexes, backups, the daemon, numbers of the memory.

use jiff::Timestamp;
use maud::{Markup, html};
use serde_json::json;
use yore_core::time::{UtcMillis, format_utc};

use super::parts::{self, bytes, count};
use super::view::{Content, Input, Row};
use crate::api::calls::health::{self as calls, Health};
use crate::api::calls::upkeep::{GivenUp, ReadSource};
use crate::api::route::{Caller, Nothing};
use crate::engine_handle::now;
use crate::error::CliResult;
use crate::render::text::{ago, counted};
use crate::results::{DaemonStatus, Finding, Statistics, UpkeepJob};

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/health", view: health }]
}

fn health(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let Nothing {} = input.read()?;
    let health = calls::health(caller, Nothing {})?;
    Ok(Content::new("Health", shown(&health, now())))
}

fn shown(health: &Health, now: UtcMillis) -> Markup {
    html! {
        h1 { "Health" }
        (findings(health))
        @if !health.given_up.is_empty() {
            h2 { "Jobs that were given up" }
            (given_up(&health.given_up))
        }
        h2 { "Sources" }
        (sources(&health.sources, now))
        h2 { "Upkeep" }
        div.table tabindex="0" { table {
            thead { tr { th scope="col" { "Job" } th scope="col" { "When" } th scope="col" { "Outcome" } th scope="col" { "Last done" } th.number scope="col" { "Seconds" } th scope="col" { "What it did" } th scope="col" { "Next" } } }
            tbody { @for job in &health.upkeep { (upkeep(job)) } }
        } }
        h2 { "Backups" }
        @if health.backups.is_empty() { p { "None yet." } }
        ul { @for backup in &health.backups { li { (parts::time(Some(&format_utc(backup.made)))) ", " (bytes(backup.bytes)) } } }
        h2 { "Daemon" }
        @match &health.daemon.status { Some(status) => (daemon(status)), None => p { "It does not answer." } }
        h2 { "Numbers of the memory" }
        (numbers(&health.statistics))
    }
}

fn findings(health: &Health) -> Markup {
    html! {
        @if health.is_well {
            p { "All well: what yore needs works." @if !health.findings.is_empty() { " " (counted(health.findings.len() as u64, "note")) " below." } }
        } @else { p { strong { "Something needs you." } } }
        ul.items { @for finding in &health.findings { (finding_item(finding)) } }
    }
}

fn finding_item(finding: &Finding) -> Markup {
    let is_warning = finding.severity != "note";
    html! {
        li.item data-item {
            div.meta { span.mark.warn[is_warning] { (finding.severity) } span { (finding.code) } }
            p { (parts::own_words(&finding.text)) }
            @if let Some(remedy) = &finding.remedy { p.quiet { "Remedy: " (parts::own_words(remedy)) } }
        }
    }
}

fn given_up(jobs: &[GivenUp]) -> Markup {
    html! {
        ul.items { @for job in jobs {
            li.item data-item {
                div.meta {
                    span.kind { (job.kind) }
                    @if let Some(source) = &job.source { span { (source) } }
                    span { (counted(u64::from(job.failures), "failure")) }
                    (parts::time(Some(&job.since)))
                }
                p { code { (job.target) } }
                p { (job.error.as_deref().unwrap_or("it failed")) @if let Some(code) = &job.error_code { " " span.quiet { "(" (code) ")" } } }
                div.actions { (parts::change_saying("Retry", "jobs/retry", &json!({"target": job.target}), None, "It will be tried again")) }
            }
        } }
        @if jobs.len() > 1 {
            div.actions { (parts::change_saying("Retry all", "jobs/retry", &json!({}), None, "They will be tried again")) }
        }
    }
}

fn sources(sources: &[ReadSource], now: UtcMillis) -> Markup {
    html! {
        @if sources.is_empty() { p { "Nothing was read yet: " code { "yore up" } " looks for histories." } }
        @else {
            div.table tabindex="0" { table {
                thead { tr {
                    th scope="col" { "Source" } th.number scope="col" { "Sessions" } th.number scope="col" { "Turns" } th.number scope="col" { "Files" }
                    th.number scope="col" { "Size" } th scope="col" { "Last read" } th scope="col" { "Not read yet" } th.number scope="col" { "Skipped records" }
                } }
                tbody { @for source in sources { tr {
                    th scope="row" { (source.name) }
                    td.number { (count(source.sessions)) } td.number { (count(source.turns)) }
                    td.number { (count(source.files)) @if source.files_gone > 0 { ", " (count(source.files_gone)) " gone" } }
                    td.number { (bytes(source.bytes)) }
                    td { (lag(source.last_read.as_deref(), now)) }
                    td { @if source.files_behind > 0 { (bytes(source.bytes_behind)) " in " (counted(source.files_behind, "file")) } @else { "nothing" } }
                    td.number { (count(source.skipped)) }
                } } }
            } }
        }
    }
}

/// Returns how long ago something was.
fn lag(at: Option<&str>, now: UtcMillis) -> Markup {
    let passed = at.and_then(|at| at.parse::<Timestamp>().ok()).map(|at| ago(now - at.as_millisecond()));
    html! {
        @match (at, passed) {
            (Some(at), Some(passed)) => time datetime=(at) title=(at) { (passed) },
            (at, _) => (parts::time(at)),
        }
    }
}

fn upkeep(job: &UpkeepJob) -> Markup {
    let counts: Vec<String> =
        job.counts.iter().filter(|(_, number)| **number > 0).map(|(name, number)| format!("{} {name}", count(*number))).collect();
    html! {
        tr {
            th scope="row" { (job.job) div.quiet { (job.description) } }
            td { (job.cadence) }
            td {
                @match job.outcome.as_deref() {
                    Some("failed") => {
                        span.mark.warn { "failed" } @if job.tries > 1 { " " (count(u64::from(job.tries))) " times" }
                        @if let Some(since) = &job.failing_since { " since " (parts::day(Some(since))) }
                        @if let Some(error) = &job.error { ": " (error) }
                    }
                    Some(outcome) => (outcome),
                    None => "not yet",
                }
            }
            td { (parts::time(job.done.as_deref())) }
            td.number { @if let Some(milliseconds) = job.milliseconds { (format!("{:.1}", milliseconds as f64 / 1_000.0)) } }
            td { (counts.join(", ")) }
            td { @if job.due { "due" } @else { (parts::time(Some(&job.next))) } }
        }
    }
}

fn daemon(status: &DaemonStatus) -> Markup {
    html! {
        dl {
            dt { "Process" } dd { (status.pid) ", version " (status.version) ", since " (parts::time(Some(&format_utc(status.started_ms)))) }
            dt { "Read since then" } dd {
                (counted(status.turns, "turn"))
                @if let Some(last) = status.last_batch_ms { ", last " (parts::time(Some(&format_utc(last)))) }
            }
            dt { "Queue" } dd { (count(status.jobs.queued)) " wait, " (count(status.jobs.leased)) " being done, " (count(status.jobs.dead)) " given up" }
            dt { "Places" } dd { (count(status.watched.len() as u64)) " watched, " (count(status.polled.len() as u64)) " polled" }
            @if let Some(used) = status.memory_bytes {
                dt { "Working memory" } dd { (bytes(used)) @if status.has_model { ", with the local model" } }
            }
        }
    }
}

fn numbers(statistics: &Statistics) -> Markup {
    let sum = |of: fn(&crate::results::AgentSize) -> u64| statistics.agents.iter().map(of).sum::<u64>();
    let (index, vectors, memories) = (&statistics.index, &statistics.vectors, &statistics.memories);
    let redacted: u64 = statistics.redactions.values().sum();
    html! {
        dl {
            dt { "Said" } dd {
                (counted(sum(|agent| agent.sessions), "session")) ", " (counted(sum(|agent| agent.subagents.unwrap_or(0)), "side conversation")) ", "
                (counted(sum(|agent| agent.documents.unwrap_or(0)), "document")) ", " (counted(sum(|agent| agent.turns), "turn"))
            }
            dt { "Projects" } dd { a href="projects" { (count(statistics.projects)) } }
            dt { "Memories" } dd { a href="memories" { (count(memories.total)) } ", " (counted(memories.entities, "entity")) ", " (counted(memories.relations, "relation")) }
            @if statistics.forgotten_sessions > 0 { dt { "Forgotten" } dd { (counted(statistics.forgotten_sessions, "session")) ", can be restored" } }
            dt { "Archive" } dd { (bytes(statistics.archive_bytes)) " of " (bytes(statistics.source_bytes)) " in " (counted(statistics.files, "file")) @if statistics.files_gone > 0 { ", " (count(statistics.files_gone)) " gone there" } }
            dt { "Text index" } dd { (count(index.turns)) " of " (counted(index.expected, "turn")) ", " (count(index.queued)) " wait, " (bytes(index.bytes)) }
            dt { "Vectors" } dd {
                (counted(vectors.static_turns, "turn")) " of the static table; "
                @match &vectors.model {
                    Some(model) => { (count(vectors.embedded_turns)) " of " (model.split(' ').next().unwrap_or(model)) ", " (count(vectors.waiting)) " without" }
                    None => "no local model",
                }
                "; " (bytes(vectors.bytes))
            }
            dt { "On disk" } dd { (bytes(statistics.directory_bytes)) " in " code { (statistics.directory) } }
            @if redacted > 0 { dt { "Secrets removed" } dd { (count(redacted)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    #[test]
    fn what_is_wrong_comes_with_its_remedy_and_is_text() {
        let finding = Finding {
            code: "upkeep".to_owned(),
            severity: "warning".to_owned(),
            text: "backup fails: <b>no space</b>".to_owned(),
            remedy: Some("`yore upkeep run` tries again".to_owned()),
            facts: Map::new(),
        };
        let html = finding_item(&finding).into_string();
        assert!(html.contains("&lt;b&gt;no space") && html.contains("<code>yore upkeep run</code> tries again"), "{html}");
        assert!(html.contains("mark warn"), "{html}");
    }

    #[test]
    fn each_given_up_job_can_be_retried_and_several_at_once() {
        let job = |target: &str| GivenUp {
            kind: "ingest".to_owned(),
            target: target.to_owned(),
            source: Some("jsonl".to_owned()),
            since: "2026-01-01T00:00:00Z".to_owned(),
            failures: 3,
            error_code: None,
            error: Some("<i>broken</i>".to_owned()),
        };
        let html = given_up(&[job("/a\"b.jsonl"), job("/c.jsonl")]).into_string();
        assert_eq!(html.matches(">Retry<").count(), 2, "{html}");
        assert!(html.contains("Retry all") && html.contains("&lt;i&gt;broken") && !html.contains("a\"b"), "{html}");
    }

    #[test]
    fn source_tells_how_long_ago_it_was_read_and_what_is_not_read() {
        let source = ReadSource {
            name: "Claude Code".to_owned(),
            last_read: Some("1970-01-01T00:00:00Z".to_owned()),
            files_behind: 1,
            bytes_behind: 2_000,
            ..ReadSource::default()
        };
        let html = sources(&[source], 3 * 60_000).into_string();
        assert!(html.contains(">3 min ago<") && html.contains("in 1 file"), "{html}");
        assert!(sources(&[], 0).into_string().contains("yore up"));
    }
}
