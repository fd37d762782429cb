//! Compares every default of the five designs with yore's, and requires a reason where it differs.
//!
//! The rows are in `design_defaults.txt`. The tables that this test renders are `docs/design-defaults.md`.

use std::collections::BTreeSet;

use yore_core::memory::MemoryKind;
use yore_core::memory::dynamics::Dynamics;
use yore_engine::llm::structured::RETRIES;
use yore_engine::llm::{FAILURES, REST, RunLimits};
use yore_engine::{DeepRequest, MemoryUse, NewMemory};

use super::Resolved;
use super::key::Key;
use super::test_support::{Setup, assert_document};
use crate::daemon::{HEARTBEAT, LOOK, PAUSES};
use crate::mcp::SOLUTIONS;

struct Row {
    requirements: &'static str,
    name: &'static str,
    value: &'static str,
    verdict: Verdict,
    reason: &'static str,
}

enum Verdict {
    /// A key of yore with the same value.
    Same(&'static str),
    /// A key of yore with another value.
    Differs(&'static str),
    /// It is not a key but a fixed value.
    Fixed(&'static str),
    /// It is not offered.
    Never,
}

/// Returns the rows under their headings.
fn sections() -> Vec<(&'static str, Vec<Row>)> {
    let mut sections: Vec<(&str, Vec<Row>)> = Vec::new();
    for line in include_str!("design_defaults.txt").lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            sections.push((heading, Vec::new()));
        } else if !line.is_empty() && !line.starts_with('#') {
            let (_, rows) = sections.last_mut().expect("a heading comes first");
            rows.push(row(line));
        }
    }
    sections
}

fn row(line: &'static str) -> Row {
    let cells: Vec<_> = line.split('|').map(str::trim).collect();
    let [requirements, name, value, verdict, reason] = cells[..] else {
        panic!("five cells, not {}: {line}", cells.len());
    };
    let (word, rest) = verdict.split_once(' ').unwrap_or((verdict, ""));
    let verdict = match word {
        "same" => Verdict::Same(rest),
        "differs" => Verdict::Differs(rest),
        "fixed" => Verdict::Fixed(rest),
        "never" => Verdict::Never,
        _ => panic!("no such verdict: {line}"),
    };
    Row { requirements, name, value, verdict, reason }
}

/// Reads the value of a row that has no key from the program.
fn actual(name: &str) -> Option<String> {
    let default = |command: &str, argument: &str| {
        let command = crate::cli::command().find_subcommand(command)?.clone();
        let argument = command.get_arguments().find(|one| one.get_id() == argument)?;
        argument.get_default_values().first()?.to_str().map(str::to_owned)
    };
    let list = |numbers: &[f64]| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    match name {
        "chat list --limit" => default("sessions", "limit"),
        "search_past_solutions limit" => Some(SOLUTIONS.to_string()),
        "importance of a new item" => {
            let new = NewMemory::new(MemoryKind::default(), "A statement.");
            Some(new.memory.importance.to_string())
        }
        "access_count" => Some(MemoryUse::default().opened.to_string()),
        "environment maxIterations" | "controller maxIterations" => Some(DeepRequest::new("").turns.to_string()),
        "environment maxSubCalls" => Some(RunLimits::default().calls.to_string()),
        "environment costBudget (USD)" | "controller costBudget (USD)" => {
            Some((RunLimits::default().cost_micro as f64 / 1e6).to_string())
        }
        "environment timeoutMs" => Some(RunLimits::default().milliseconds.to_string()),
        "heartbeat (s)" => Some(HEARTBEAT.as_secs().to_string()),
        "poll of the queue (s)" => Some(LOOK.as_secs().to_string()),
        "pauses between tries (s)" => Some(PAUSES.map(|pause| pause.to_string()).join(", ")),
        "circuit breaker: failures, reset (ms)" => Some(format!("{FAILURES}, {}", REST.as_millis())),
        "retries of each tier of structured output" => Some(RETRIES.to_string()),
        "decay weights of age, access, importance" => Some(list(&Dynamics::default().score.weights)),
        "decay multiplier where no tag matches" => {
            Some(format!("{:.1}", Dynamics::default().rate(&NewMemory::new(MemoryKind::Fact, "A statement.").memory)))
        }
        "least strength of active, warm, cool, cold" => Some(list(&Dynamics::default().tiers.0.map(|limit| limit.below))),
        "idle days before warm, cool, cold, frozen" => {
            Some(Dynamics::default().tiers.0.map(|limit| limit.after_days.to_string()).join(", "))
        }
        _ => None,
    }
}

/// Returns a design's value in yore's notation where only the notation differs.
fn as_ours(key: &str, value: &str) -> String {
    match (key, value) {
        ("capture.mode", "everything") => "\"all\"".to_owned(),
        _ => value.to_owned(),
    }
}

/// Returns the fault of a row, if it has one.
fn fault(row: &Row, defaults: &Resolved) -> Option<String> {
    let ours = |key: &str| defaults.get(key).map(|setting| setting.shown.clone());
    let has_reason = !row.reason.is_empty();
    match row.verdict {
        Verdict::Same(key) => match ours(key) {
            Ok(value) if value == as_ours(key, row.value) => None,
            Ok(value) => Some(format!("{key} is claimed to be {} but is {value}", row.value)),
            Err(error) => Some(error.to_string()),
        },
        Verdict::Differs(key) => match ours(key) {
            Ok(value) if value == as_ours(key, row.value) => Some(format!("{key} is claimed to differ but is the same")),
            Ok(_) if has_reason => None,
            Ok(value) => Some(format!("{key} is {value}, not {}, without a reason", row.value)),
            Err(error) => Some(error.to_string()),
        },
        Verdict::Fixed("") => Some("it does not say what".to_owned()),
        // The actual number is read from the program.
        Verdict::Fixed(value)
            if value.starts_with(|first: char| first.is_ascii_digit()) && actual(row.name).as_deref() != Some(value) =>
        {
            Some(format!("it is claimed to be {value} but is {:?}", actual(row.name)))
        }
        Verdict::Fixed(value) if value == row.value || has_reason => None,
        Verdict::Never if has_reason => None,
        Verdict::Fixed(_) | Verdict::Never => Some("it has no reason".to_owned()),
    }
}

#[test]
fn every_default_of_the_designs_is_ours_or_has_a_reason() {
    let defaults = Setup::new().load().unwrap();
    let faults: Vec<_> = sections()
        .iter()
        .flat_map(|(_, rows)| rows)
        .filter_map(|row| Some(format!("{}: {}", row.name, fault(row, &defaults)?)))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_wrong_claim_or_a_missing_reason_is_found() {
    let defaults = Setup::new().load().unwrap();
    for line in [
        "S2-044 | limit | 11 | same recall.limit |",
        "S2-044 | limit | 10 | same recall.limits |",
        "S2-044 | limit | 10 | differs recall.limit | because",
        "S2-044 | limit | 11 | differs recall.limit |",
        "S2-044 | limit | 11 | fixed 12 |",
        "S2-044 | limit | 11 | never |",
        "S2-044 | limit | 11 | fixed |",
        "S4-065 | heartbeat (s) | 60 | fixed 61 | because",
        "S4-065 | an unknown number | 60 | fixed 60 |",
    ] {
        assert!(fault(&row(line), &defaults).is_some(), "{line}");
    }
}

#[test]
fn the_rows_that_the_requirements_name_are_all_there() {
    let sections = sections();
    let named: BTreeSet<_> = sections.iter().flat_map(|(_, rows)| rows).flat_map(|row| row.requirements.split(", ")).collect();
    for requirement in ["S1-126", "S5-070", "S5-071", "S5-072", "S5-073", "C-112", "C-113", "C-114"] {
        assert!(named.contains(requirement), "{requirement}");
    }
}

#[test]
fn the_table_of_design_defaults_is_the_one_that_is_published() {
    let defaults = Setup::new().load().unwrap();
    let mut text = String::from(
        "# Defaults of the five designs and ours\n\n\
         Made from `design_defaults.txt` by a test; do not edit it here. The designs and their \
         rows: S1 cursor-recursive-rag, S2 Visioneer, S3 recursive knowledge deepening, S4 Claude \
         Memory Graph, S5 Memento; a row that begins with C settles a conflict between them.\n",
    );
    for (heading, rows) in sections() {
        text += &format!("\n## {heading}\n\n");
        text += "| rows | in the design | its value | ours | value | why |\n";
        text += "| --- | --- | --- | --- | --- | --- |\n";
        for row in rows {
            let value = |key| defaults.get(key).unwrap().shown.clone();
            let (ours, value) = match row.verdict {
                Verdict::Same(key) => (format!("`{key}`"), format!("same: `{}`", value(key))),
                Verdict::Differs(key) => (format!("`{key}`"), format!("`{}`", value(key))),
                Verdict::Fixed(always) if always == row.value => ("no key".to_owned(), format!("same: {always}")),
                Verdict::Fixed(always) => ("no key".to_owned(), always.to_owned()),
                Verdict::Never => ("not offered".to_owned(), String::new()),
            };
            let cells = [row.requirements, row.name, row.value, &ours, &value, row.reason];
            text += &format!("| {} |\n", cells.join(" | ").replace('*', "\\*"));
        }
    }
    text += "\n## Keys that no design has\n\n";
    let sections = sections();
    let known: BTreeSet<_> = sections
        .iter()
        .flat_map(|(_, rows)| rows)
        .filter_map(|row| match row.verdict {
            Verdict::Same(key) | Verdict::Differs(key) => Some(key),
            Verdict::Fixed(_) | Verdict::Never => None,
        })
        .collect();
    for key in Key::all().filter(|key| !known.contains(key.name)) {
        let value = &defaults.get(key.name).unwrap().shown;
        text += &format!("- `{}` = `{value}`\n", key.name);
    }
    assert_document("design-defaults.md", &text);
}
