//! Shows what one session was given, from its ledger.

use yore_core::relevance::TriggerKind;
use yore_core::time::UtcMillis;
use yore_engine::EngineError;
use yore_sources::project_names::names_of;

use super::super::Context;
use crate::agents::SESSION_VARIABLE;
use crate::error::{CliResult, Exit};
use crate::inject::ledger::{self, Entry};
use crate::inject::receipts;
use crate::render::text;
use crate::results::SessionCost;

/// A session and its ledger.
struct Session {
    id: String,
    entries: Vec<Entry>,
    /// Time when a part of it was last read.
    captured: Option<UtcMillis>,
}

pub fn run(wanted: Option<&str>, context: &mut Context) -> CliResult {
    let Some(id) = find(wanted, context)? else {
        if context.printer.is_json() {
            context.printer.json(&None::<SessionCost>)?;
        } else {
            context.printer.note("no session was given anything yet")?;
        }
        return Ok(Exit::Nothing);
    };
    let session = Session { entries: ledger::read(&context.settings.directory, &id), captured: captured(&id, context), id };
    if context.printer.is_json() {
        context.printer.json(&receipts::cost(&session.id, &session.entries, session.captured))?;
    } else {
        for line in session.lines() {
            context.printer.line(line)?;
        }
    }
    Ok(Exit::Success)
}

/// Returns the requested session: by name, else the calling one, else the latest with a ledger.
fn find(wanted: Option<&str>, context: &Context) -> CliResult<Option<String>> {
    let calling = || Some(context.settings.environment.get(SESSION_VARIABLE)?.to_str()?.to_owned()).filter(|id| !id.is_empty());
    let Some(id) = wanted.map(str::to_owned).or_else(|| wanted.is_none().then(calling).flatten()) else {
        return Ok(receipts::known(&context.settings.directory).into_iter().map(|(id, _)| id).next());
    };
    // The caller's session counts even if it was given nothing.
    if wanted.is_none() || ledger::path(&context.settings.directory, &id).is_file() {
        return Ok(Some(id));
    }
    let fitting: Vec<String> = receipts::known(&context.settings.directory)
        .into_iter()
        .map(|(id, _)| id)
        .filter(|known| known.starts_with(&id))
        .collect();
    match <[String; 1]>::try_from(fitting) {
        Ok([id]) => Ok(Some(id)),
        Err(fitting) if fitting.is_empty() => Err(EngineError::UnknownSession(id).into()),
        Err(fitting) => Err(EngineError::AmbiguousId { id, candidates: fitting }.into()),
    }
}

/// Returns when a session's transcript was last read. None without a memory, or if the transcript does not
/// carry the session's name.
fn captured(session: &str, context: &Context) -> Option<UtcMillis> {
    context.settings.memory().ok()?.last_read_of(session.to_owned()).ok()?
}

impl Session {
    fn lines(&self) -> Vec<String> {
        let (memories, tokens) = receipts::totals(&self.entries);
        let mut of = vec![text::harmless(&self.id)];
        of.extend(receipts::agent(&self.entries).map(text::harmless));
        of.extend(receipts::directory_of(&self.entries).map(|directory| text::harmless(&names_of(directory).name)));
        let is_speaking = |entry: &&Entry| entry.skipped.is_none() && entry.kind != Some(TriggerKind::Forgot);
        let speaking = self.entries.iter().filter(is_speaking).count() as u64;
        let given = format!(
            "{} {}, {} in {}",
            text::count(memories as u64),
            if memories == 1 { "memory" } else { "memories" },
            text::counted(tokens as u64, "token"),
            text::counted(speaking, "answer")
        );
        let mut rows = vec![vec!["session".to_owned(), of.join(" · ")], vec!["given".to_owned(), given]];
        let silences: Vec<String> = receipts::silences(&self.entries)
            .iter()
            .map(|(reason, count)| format!("{} × {}", text::count(*count), receipts::in_words(*reason)))
            .collect();
        if !silences.is_empty() {
            rows.push(vec!["silent".to_owned(), silences.join(", ")]);
        }
        let captured = self.captured.map_or_else(|| "not yet, as far as known".to_owned(), |at| text::time(Some(at)));
        rows.push(vec!["last capture".to_owned(), captured]);
        let mut lines = text::table(&rows);
        if !self.entries.is_empty() {
            lines.push(String::new());
        }
        let answers: Vec<Vec<String>> = self.entries.iter().map(answer).collect();
        lines.extend(text::table(&answers));
        lines
    }
}

/// Formats one answer as a row: time, event, duration, content.
fn answer(entry: &Entry) -> Vec<String> {
    let what = match &entry.skipped {
        _ if entry.kind == Some(TriggerKind::Forgot) => "the session forgot what it was given".to_owned(),
        _ if entry.kind == Some(TriggerKind::Distil) => "the agent was asked to record what it learned".to_owned(),
        Some(reason) => format!("nothing: {}", receipts::in_words(*reason)),
        None => {
            let turns = entry.turns.len() as u64;
            let noun = if turns == 1 { "memory" } else { "memories" };
            format!("{} {noun}, {}", text::count(turns), text::counted(entry.tokens as u64, "token"))
        }
    };
    vec![text::time(Some(entry.at_ms)), text::harmless(&entry.event), format!("{:.1} ms", entry.micros as f64 / 1e3), what]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_session_forgot_is_no_answer_and_side_conversations_count() {
        let forgot =
            Entry { kind: Some(TriggerKind::Forgot), event: "PreCompact".to_owned(), is_reset: true, ..Entry::default() };
        let given = |agent_id: Option<&str>, turn: &str| Entry {
            agent_id: agent_id.map(str::to_owned),
            event: "UserPromptSubmit".to_owned(),
            turns: vec![turn.to_owned()],
            tokens: 10,
            ..Entry::default()
        };
        let entries = vec![given(None, "a"), forgot, given(Some("a1"), "b")];
        let lines = Session { id: "s".to_owned(), entries, captured: None }.lines();
        assert!(lines.iter().any(|line| line.ends_with("2 memories, 20 tokens in 2 answers")), "{lines:?}");
        assert!(lines.iter().any(|line| line.ends_with("the session forgot what it was given")), "{lines:?}");
    }
}
