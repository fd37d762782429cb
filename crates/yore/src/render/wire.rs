//! Results as JSON: the form of `--json` and of MCP's structured results. Names here are an
//! interface: they are added to, not changed.

use serde_json::{Value, json};
use yore_core::episode::Outcome;
use yore_core::exchange::{Exchange, Exchanges};
use yore_core::time::{UtcMillis, format_utc};
use yore_engine::{EpisodeSummary, Found, Hit, NoteSummary, ProjectSummary, RecallAnswer, ShowAnswer, ShownTurn};

fn time(utc: Option<UtcMillis>) -> Value {
    utc.map_or(Value::Null, |utc| Value::String(format_utc(utc)))
}

/// A turn, whole.
pub fn turn(turn: &ShownTurn) -> Value {
    json!({
        "id": turn.id.to_string(),
        "native_id": turn.native_message,
        "session": turn.native_session,
        "episode": turn.episode.to_string(),
        "agent": turn.agent,
        "kind": turn.kind.as_str(),
        "role": turn.role.as_str(),
        "speaker": turn.speaker,
        "is_error": turn.is_error,
        "text": turn.text,
        "tool_text": turn.tool_text,
        "time": time(turn.time.utc),
        "time_quality": turn.time.quality.as_str(),
        "project": turn.project,
        "branch": turn.branch,
        "directory": turn.cwd,
        "model": turn.model,
        "title": turn.title,
        "source": {"path": turn.path, "line": turn.line, "is_gone": turn.source_gone},
    })
}

/// An answer's turn: its quote instead of its words.
pub fn hit(hit: &Hit) -> Value {
    let Found::Turn(turn) = &hit.found;
    let parts: serde_json::Map<String, Value> =
        hit.parts.iter().map(|part| (part.part.as_str().to_owned(), number(part.value))).collect();
    json!({
        "rank": hit.rank,
        "score": number(hit.score),
        "score_parts": parts,
        "lists": hit.lists.iter().map(|list| json!({"list": list.list.as_str(), "rank": list.rank, "score": number(list.score)})).collect::<Vec<_>>(),
        "quote": hit.quote,
        "id": turn.id.to_string(),
        "native_id": hit.place.native_message,
        "session": hit.place.native_session,
        "episode": hit.place.episode.to_string(),
        "agent": turn.agent,
        "kind": turn.kind.as_str(),
        "role": turn.role.as_str(),
        "time": time(hit.time.utc),
        "project": hit.project,
        "branch": turn.branch,
        "title": turn.title,
        "source": {"path": hit.place.path, "line": hit.place.line, "is_gone": turn.source_gone},
        "near_duplicates": hit.also.iter().map(|place| json!({"id": place.turn.to_string(), "session": place.native_session, "source": {"path": place.path, "line": place.line}})).collect::<Vec<_>>(),
    })
}

/// A whole answer.
pub fn answer(question: &str, answer: &RecallAnswer) -> Value {
    json!({
        "question": question,
        "projects": answer.projects,
        "project_unknown": answer.is_project_unknown,
        "program": answer.program.as_str(),
        "missing": answer.missing.iter().map(|missing| json!({"code": missing.code.as_str(), "text": missing.text, "remedy": missing.remedy})).collect::<Vec<_>>(),
        "terms": answer.terms,
        "results": answer.hits.iter().map(hit).collect::<Vec<_>>(),
        "sessions": answer.sessions.iter().map(|session| json!({"session": session.native_id, "episode": session.episode.to_string(), "score": number(session.score)})).collect::<Vec<_>>(),
        "pending_turns": answer.pending,
    })
}

/// A session in a list.
pub fn session(session: &EpisodeSummary) -> Value {
    json!({
        "id": session.id.to_string(),
        "session": session.native_id,
        "agent": session.agent,
        "kind": session.kind.as_str(),
        "title": session.title,
        "project": session.project,
        "directory": session.cwd,
        "started": time(session.started),
        "updated": time(session.updated),
        "turns": session.turns,
        "forgotten": time(session.forgotten),
        "links": session.links.iter().map(|(kind, value)| json!({"kind": kind, "value": value})).collect::<Vec<_>>(),
    })
}

/// A note.
pub fn note(note: &NoteSummary) -> Value {
    json!({
        "id": note.episode.to_string(),
        "turn": note.turn.to_string(),
        "kind": note.facts.kind,
        "title": note.facts.title,
        "tags": note.facts.tags,
        "priority": note.facts.priority,
        "confirmed": note.facts.is_confirmed,
        "session": note.facts.session,
        "metadata": serde_json::from_str::<Value>(&note.facts.metadata).unwrap_or_else(|_| json!({})),
        "project": note.project,
        "time": time(note.at),
        "version": note.version,
        "replaced": time(note.until),
        "accessed": time(note.accessed),
        "access_count": note.access_count,
        "by": if note.is_by_agent { "agent" } else { "human" },
        "text": note.text,
    })
}

/// A project in a list.
pub fn project(project: &ProjectSummary) -> Value {
    json!({
        "id": project.id.to_string(),
        "name": project.name,
        "sessions": project.sessions,
        "turns": project.turns,
        "updated": time(project.updated),
        "known_as": project.aliases.iter().map(|(kind, value)| json!({"kind": kind, "value": value})).collect::<Vec<_>>(),
    })
}

/// What `show` shows.
pub fn shown(shown: &ShowAnswer) -> Value {
    json!({
        "episode": shown.episode.to_string(),
        "focus": shown.focus.map(|turn| turn.to_string()),
        "turns_before": shown.hidden.0,
        "turns_after": shown.hidden.1,
        "turns": shown.turns.iter().map(turn).collect::<Vec<_>>(),
    })
}

/// A session in exchanges.
pub fn exchanges(found: &Exchanges) -> Value {
    json!({"turns_before": found.turns_before, "exchanges": found.exchanges.iter().map(exchange).collect::<Vec<_>>()})
}

/// A question and what was done about it.
pub fn exchange(exchange: &Exchange) -> Value {
    json!({
        "id": exchange.id,
        "kind": exchange.kind,
        "turn": exchange.turn.to_string(),
        "message_index": exchange.turns.start,
        "turns": exchange.turns.len(),
        "question": exchange.question,
        "preview": exchange.preview,
        "started": time(exchange.started),
        "ended": time(exchange.ended),
        "answer_chars": exchange.answer_chars,
        "importance": number(exchange.importance),
        "code": exchange.code.iter().map(|(message, block)| json!({
            "message_index": message, "language": block.language, "file": block.file, "first_line": block.first_line, "lines": block.line_count,
        })).collect::<Vec<_>>(),
        "languages": exchange.languages.iter().map(|language| json!({"name": language.name, "confidence": number(language.confidence)})).collect::<Vec<_>>(),
        "files": exchange.files.iter().map(|file| json!({"path": file.path, "action": file.action.as_str(), "confidence": number(file.confidence)})).collect::<Vec<_>>(),
        "tools": exchange.tools.iter().map(|tool| json!({"name": tool.name, "outcome": tool.outcome.map(Outcome::as_str)})).collect::<Vec<_>>(),
        "errors": exchange.errors,
    })
}

/// Four decimals are all that a score means.
fn number(value: f32) -> Value {
    json!((f64::from(value) * 1e4).round() / 1e4)
}
