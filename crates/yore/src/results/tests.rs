//! Builds every result type from a real memory, serializes and deserializes it, and compares it with its
//! schema.

use std::fmt::Debug;

use schemars::SchemaGenerator;
use serde::de::DeserializeOwned;
use serde_json::json;
use yore_engine::ingest::{IngestReport, Silent};
use yore_engine::{
    EmbedReport, ForgetRequest, NotesRequest, RecallRequest, RememberRequest, SessionsRequest, ShowRequest, Surroundings,
    SyncReport,
};
use yore_sources::source::ReaderOptions;
use yore_testing::{Memory, SessionBuilder};

use super::*;

/// Serializes and deserializes a result, and checks that the schema names every field.
fn there_and_back<T: Serialize + DeserializeOwned + JsonSchema + PartialEq + Debug>(result: &T) {
    let data = serde_json::to_value(result).unwrap();
    assert_eq!(&serde_json::from_value::<T>(data.clone()).unwrap(), result);
    let schema = Value::from(SchemaGenerator::default().into_root_schema_for::<T>());
    named(&data, &schema, &schema["$defs"]);
}

/// Checks that the schema names every field of the data.
fn named(data: &Value, schema: &Value, definitions: &Value) {
    let inner = schema["anyOf"].as_array().and_then(|any| any.first()).unwrap_or(schema);
    let schema = match inner["$ref"].as_str() {
        Some(name) => &definitions[name.rsplit('/').next().unwrap()],
        None => inner,
    };
    match data {
        Value::Object(fields) if schema["properties"].is_object() => {
            for (name, value) in fields {
                let field = &schema["properties"][name];
                assert!(!field.is_null(), "{name} is not in {schema}");
                named(value, field, definitions);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| named(item, &schema["items"], definitions)),
        _ => {}
    }
}

fn memory() -> (Memory, String) {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(7).cwd("/home/dev/tide").branch("main");
    session.human("why does src/gauge.py crash?");
    session.tool("Bash", &json!({"command": "python src/gauge.py"}), "ValueError: no water", true);
    session.assistant("The gauge is dry:\n\n```python\nif not water: return 0\n```");
    session.human("thanks");
    let id = session.id().to_owned();
    memory.write("a.jsonl", session.text());
    memory.read();
    let note = RememberRequest {
        text: "the gauge is read at six".to_owned(),
        tags: vec!["gauge".to_owned()],
        metadata: Some("{\"a\":1}".to_owned()),
        ..RememberRequest::default()
    };
    memory.engine().remember(&note).unwrap();
    memory.index();
    (memory, id)
}

#[test]
fn every_result_comes_back_as_it_was_sent_and_its_schema_names_every_field() {
    let (memory, session) = memory();
    let engine = memory.engine();
    let answer = engine.recall(&RecallRequest::new("why does the gauge crash")).unwrap();
    assert!(answer.hits.len() > 1 && !answer.sessions.is_empty());
    there_and_back(&Recalled::exact("why does the gauge crash", &answer));
    there_and_back(&Recalled::of(&answer, answer.hits.iter().map(Hit::of).collect()));
    let shown = engine.show(&ShowRequest::new(session.clone(), Surroundings::Turns(2))).unwrap();
    there_and_back(&Shown::from(&shown));
    let exchanges = Exchanges::from(&engine.exchanges(&session).unwrap());
    assert!(!exchanges.exchanges[0].code.is_empty() && !exchanges.exchanges[0].tools.is_empty());
    there_and_back(&exchanges);
    let sessions = engine.sessions(&SessionsRequest { limit: 9, ..SessionsRequest::default() }).unwrap();
    let sessions = sessions.iter().map(Session::from).collect();
    there_and_back(&SessionPage { sessions, next: Some("c".to_owned()), project_unknown: None });
    let all = NotesRequest::all(9);
    let notes: Vec<Note> = engine.notes(&all).unwrap().iter().map(Note::from).collect();
    assert_eq!(notes.len(), 1);
    there_and_back(&NotePage { notes, memories: Vec::new(), next: None });
    sample::<SessionPage>(&json!({"sessions": [], "next": null, "project_unknown": true}));
    there_and_back(&engine.projects().unwrap().iter().map(Project::from).collect::<Vec<_>>());
}

#[test]
fn memories_and_operations_come_back_as_they_were_sent() {
    use yore_core::memory::{Anchor, AnchorKind, Fields, MemoryKind};
    use yore_core::operation::Cause;
    let (memory, session) = memory();
    let engine = memory.engine();
    let turn = memory.turns(&session)[0].id.to_string();
    let mut new = yore_engine::NewMemory::new(MemoryKind::Decision, "The gauge is read at six.");
    new.memory.fields = Fields::Decision { reason: Some("tide".to_owned()), alternatives: Vec::new(), tradeoffs: Vec::new() };
    new.memory.anchors = vec![Anchor { kind: AnchorKind::Symbol, text: "gauge".to_owned() }];
    new.evidence = vec![yore_engine::GivenEvidence { turn, quote: None }];
    new.entities = vec!["gauge".to_owned()];
    let done = engine.add_memory(&new, &Cause::default()).unwrap();
    there_and_back(&Changed::from(done));
    there_and_back(&Moved::from(&engine.export_memories(&mut Vec::new()).unwrap()));
    there_and_back(&Moved::from(&yore_engine::Imported { known: 2, operation: Some(3), ..Default::default() }));
    let record = MemoryRecord::opened(&engine.open_memory(&done.memory.to_string(), None).unwrap());
    assert_eq!((record.relations[0].label.as_deref(), record.relations[0].name.as_str()), (Some("gauge"), "about"));
    assert_eq!((record.evidence.len(), record.fields["reason"].as_str()), (1, Some("tide")));
    there_and_back(&record);
    let edit = yore_engine::MemoryEdit { statement: Some("The gauge is read at seven.".to_owned()), ..Default::default() };
    engine.edit_memory(&done.memory.to_string(), &edit, &Cause::default()).unwrap();
    memory.index();
    let answer = engine.recall(&RecallRequest::new("when is the gauge read?")).unwrap();
    let recalled = Recalled::exact("when is the gauge read?", &answer);
    let found = recalled.results.iter().find_map(|result| result.memory.as_ref()).unwrap();
    assert_eq!((found.history.len(), found.evidence.len(), recalled.entities.len()), (1, 1, 1));
    there_and_back(&recalled);
    there_and_back(&engine.entities(9).unwrap().iter().map(EntityRecord::from).collect::<Vec<_>>());
    engine.put_entity("concept", "gauges", &[], None, &Cause::default()).unwrap();
    engine.put_entity("concept", "gauge", &[], None, &Cause::default()).unwrap();
    let alike: Vec<AlikePair> = engine.alike_entities(9).unwrap().iter().map(AlikePair::from).collect();
    assert_eq!(alike.len(), 1);
    there_and_back(&alike);
    let (operation, changes) = engine.operation(1).unwrap().unwrap();
    let record = OperationRecord::of(&operation, &changes);
    assert_eq!(record.changes.len(), 3);
    there_and_back(&record);
}

/// Checks a result by the data that it must become.
fn sample<T: Serialize + DeserializeOwned + JsonSchema + PartialEq + Debug>(data: &Value) {
    let result: T = serde_json::from_value(data.clone()).unwrap();
    assert_eq!(&serde_json::to_value(&result).unwrap(), data);
    there_and_back(&result);
}

#[test]
fn results_about_the_memory_come_back_as_they_were_sent() {
    let (memory, session) = memory();
    let engine = memory.engine();
    let statistics = Statistics::of("/data".to_owned(), &engine.statistics(&yore_engine::StatisticsRequest::default()).unwrap());
    assert!(!statistics.agents.is_empty() && !statistics.turns_by_role.is_empty());
    there_and_back(&statistics);
    let made = engine.back_up(None, 1).unwrap();
    there_and_back(&BackupList { backups: vec![BackupFile::from(&made)] });
    let (report, index) = engine.reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    there_and_back(&Reindexed::of(&report, &index));
    let scanned = engine.scan(true, &ReaderOptions::default(), &mut Silent).unwrap();
    there_and_back(&Scanned::of(&scanned, true));
    there_and_back(&Embedded::from(&EmbedReport::default()));
    let mut report = IngestReport { files: 2, turns_added: 3, ..IngestReport::default() };
    report.skips.insert(("unknown-type".to_owned(), "x".to_owned()), 1);
    report.failures.push(("/gone".into(), "no such file".to_owned()));
    report.by_source.insert("codex".to_owned(), (2, 300));
    let mut ingestion = Ingestion::of(&report, &SyncReport::default(), true);
    there_and_back(&ingestion);
    let page = json!({"address": "a", "location": "b", "title": null, "change": "new", "sections": 2, "turns_added": 2});
    ingestion.pages = Some(vec![serde_json::from_value(page).unwrap()]);
    ingestion.would_fetch = Some(vec!["c".to_owned()]);
    let answer = engine.recall(&RecallRequest::new("why does the gauge crash")).unwrap();
    there_and_back(&Begun {
        ingestion,
        directory: "/data".to_owned(),
        is_example: true,
        projects: Some(engine.projects().unwrap().iter().map(Project::from).collect()),
        answer: Some(Recalled::exact("why", &answer)),
    });
    let backup = json!({"path": "/b", "made": 1, "bytes": 2});
    sample::<RestoredBackup>(&json!({"from": backup, "damaged": ["/c"], "replaced": null}));
    sample::<Repaired>(&json!({
        "blobs": 1, "lost_blobs": 2, "refused_rows": 3, "replaced": "/d", "turns": 4, "turns_read_again": 5,
        "lost": [{"source": "/s", "lines": 6, "source_exists": true}],
    }));
    sample::<KeyAccepted>(&json!({"new_key": true}));
    let waiting = json!({"state": "went-on", "source": "codex", "unit": "a.jsonl", "directory": null, "updated": 1, "bytes": 2});
    sample::<WaitingConversation>(&waiting);
    sample::<SourceState>(&json!({
        "source": "codex", "name": "Codex", "nature": "conversation", "verified": true, "enabled": true, "roots": ["/r"],
        "units": 1, "units_gone": 2, "sessions": 3, "subagents": 4, "documents": 5, "turns": 6, "last_capture_ms": 7,
        "skips": [{"source": "codex", "reason": "r", "detail": "d", "count": 1, "path": "/p", "line": 2}],
        "errors": [{"target": "/t", "error": "e"}],
        "unreadable": [{"target": "/u", "error": "e"}],
    }));
    sample::<MemoryState>(&json!({
        "sessions": 1, "subagents": 2, "documents": 3, "turns": 4, "projects": 5, "forgotten": 6,
        "memories": {"total": 1, "by_kind": {"fact": 1}, "by_status": {"holds": 1}, "by_lane": {"curated": 1},
            "by_source": {"user": 1}, "by_project": {"": 1}, "entities": 2, "relations": 3, "operations": 4},
        "agents": [{"agent": "codex", "sessions": 1, "turns": 2}], "bytes": 7, "indexed_turns": 8, "queued_turns": 9,
        "embedded_turns": 10, "model": null, "redactions": 11, "last_captured": "2026-11-24T00:00:00Z",
        "daemon": {"version": "1", "started": null, "turns_read": 1, "last_read": null}, "missing": ["m"],
    }));
    let request = ForgetRequest { session, is_hard: false, is_dry_run: true, restore: false, keep_tombstones: true };
    assert_eq!(engine.forget(&request).unwrap().turns, 5);
}

#[test]
fn results_of_deeds_come_back_as_they_were_sent() {
    sample::<Remembered>(&json!({"id": "i", "turn": "t", "was_known": false, "redactions": 1}));
    sample::<Remembered>(&json!({
        "id": "i", "turn": "t", "kind": "standing", "title": null, "tags": ["a"], "version": 2, "project": "p", "directory": null,
        "was_known": true, "redactions": 0,
    }));
    sample::<Forgotten>(&json!({"hard": true, "restored": false, "episodes": ["e"], "turns": 1, "archive_lines": 2}));
    sample::<Forgotten>(&json!({
        "dry_run": true, "hard": true, "restored": false, "episodes": ["e"], "turns": 1, "archive_lines": 2, "backups": ["/b"],
    }));
    sample::<Brief>(&json!({"project": null, "text": ""}));
    sample::<Brief>(&json!({"project": "p", "text": "x", "tokens": 1, "turns": ["t"]}));
    sample::<SessionCost>(&json!({
        "session": "s", "agent": "a", "directory": null, "project": null, "memories": 1, "tokens": 2, "micros": 3,
        "silences": {"floor": 4}, "last_capture_ms": null,
        "answers": [{"at_ms": 1, "agent": "a", "event": "e", "kind": "prompt", "turns": ["t"], "tokens": 2, "micros": 3, "is_reset": true}],
    }));
    sample::<Measured>(&json!({
        "level": "turn", "program": "static", "embed_cpu_s": 0.5, "texts_embedded": null,
        "categories": [{"category": "all", "questions": 2, "metrics": {"r@5": 0.5}}], "extras": {"abstained": "1 of 2"},
        "unasked": {
            "questions": 1, "answered": 2, "with_evidence": 3, "evidence_recall": 0.25, "evidence_recall_named": 0.5,
            "everyday": {"c": {"prompts": 1, "given": 0}}, "given_to": ["run it"], "tokens_p50": 4, "tokens_max": 5,
        },
        "turns": 1, "ingest_cpu_s": 0.5, "query_cpu_p50_ms": 1.5, "query_cpu_p95_ms": 2.5, "ingest_peak_bytes": null,
        "peak_bytes": 1, "anonymous_bytes": 2, "directory_bytes": 3,
    }));
}

#[test]
fn results_about_the_program_come_back_as_they_were_sent() {
    sample::<Finding>(&json!({"code": "c", "severity": "note", "text": "t", "remedy": null}));
    let with_facts: Finding = serde_json::from_value(json!({
        "code": "c", "severity": "note", "text": "t", "remedy": "r", "files": 3, "paths": ["/p"],
    }))
    .unwrap();
    assert_eq!(with_facts.facts["files"], 3);
    assert_eq!(serde_json::from_value::<Finding>(serde_json::to_value(&with_facts).unwrap()).unwrap(), with_facts);
    sample::<Failure>(&json!({"error": {"code": "c", "message": "m", "hint": null}}));
    sample::<Setting>(&json!({"key": "k", "value": "v", "origin": ["default"]}));
    sample::<SettingFault>(&json!({"code": "c", "message": "m"}));
    sample::<LearnDone>(&json!({"rules": null, "model": null, "state": {
        "auto": true, "with": "claude/haiku", "daily_tokens": 9, "daily_calls": 0, "daily_dollars": 0.0, "off": false,
        "today": {"calls": 1, "failed": 0, "input_tokens": 2, "output_tokens": 3, "dollars": 0.0, "estimated": true},
        "waiting": {"sessions": 4, "calls": 5, "input_tokens": 6, "output_tokens": 7, "dollars": null}, "sessions_read": 8,
        "found_today": 9, "failure": null, "ready": [{"with": "codex", "title": "Codex", "paid_by": "plan"}],
    }}));
    sample::<Capture>(&json!({
        "enabled": true, "mode": "all", "projects": ["/p"], "exclude_projects": [], "exclude_paths": [], "directory": "/d",
        "captured": false, "reason": "r", "waiting_events": 1,
    }));
    let file = json!({"path": "/f", "parts": ["mcp"], "outcome": "refused", "reason": "r"});
    let kept = json!({"path": "/f", "parts": ["mcp"], "outcome": "kept", "used_by": ["cursor"], "copy": "/c", "diff": "+"});
    let agent = json!({"agent": "a", "title": "A", "found": true, "files": [file, kept], "advice": ["restart"], "needless": []});
    sample::<Installation>(&json!({"program": "yore", "scope": "user", "dry_run": true, "agents": [agent], "not_found": ["b"]}));
    sample::<Installation>(&json!({"scope": "project", "dry_run": false, "agents": []}));
    sample::<ModelList<Model>>(&json!({"directory": "/m", "models": [{
        "id": "i", "role": "embedder", "state": "verified", "path": "/m/i", "problem": null, "origin": "o", "licence": "MIT", "bytes": 1,
        "files": [{"name": "n", "bytes": 2, "sha256": "s", "member": "m"}],
        "package": {"name": "n", "version": "1", "wheel": "w", "bytes": 3, "sha256": "s"},
    }]}));
    sample::<ModelList<FetchedModel>>(&json!({"directory": "/m", "models": [{"id": "i", "outcome": "here", "path": "/m/i"}]}));
    sample::<PathResult>(&json!({"path": "/p"}));
    sample::<McpAddress>(&json!({"url": "u", "headers": {"Authorization": "Bearer t"}}));
    sample::<DaemonStarted>(&json!({"started": true, "pid": 1, "version": "1"}));
    sample::<DaemonStopped>(&json!({"stopped": true}));
    sample::<Retried>(&json!({"revived": 1}));
    sample::<Replayed>(&json!({
        "prompts": 2, "helpable": 1, "ways": [{"name": "memory", "hit_at": {"1": 0.5, "10": 1.0}, "recall_at_10": 0.5}],
    }));
    sample::<Daemon>(&json!({"running": false, "answers": false}));
    sample::<Daemon>(&json!({
        "pid": 1, "version": "1", "started_ms": 2, "socket": "/s", "watched": ["/w"], "polled": [],
        "jobs": {"queued": 1, "leased": 2, "dead": 3},
        "dead": [{
            "id": 1, "kind": "ingest", "target": "/t", "payload": "{\"source\":\"codex\",\"path\":\"/t\"}", "arrived": 1, "not_before": 2,
            "failures": 3, "bad_failures": 4, "error": ["io", "gone"],
        }],
        "upkeep": [{"upkeep": "check-code", "done": 1, "run": {"began": 0, "ended": 1, "counts": {"fresh": 3}}, "failed": 2,
            "failing_since": 2, "tries": 1, "error": ["io", "gone"], "is_given_up": true}],
        "batches": 4, "turns": 5, "last_batch_ms": null, "unembedded": 6, "has_model": true, "is_embedding": false, "clients": 7,
        "url": null, "memory_bytes": 8, "last_error": null, "settings": {}, "running": true, "answers": true,
    }));
}

#[test]
fn results_of_the_compatibility_tools_come_back_as_they_were_sent() {
    let (memory, _) = memory();
    let answer = memory.engine().recall(&RecallRequest::new("why does the gauge crash")).unwrap();
    let (hybrid, plain) = (compact(HybridAnswer::of(&answer, Vec::new())), compact(Recalled::of(&answer, Vec::new())));
    assert!(hybrid.as_object().unwrap().iter().all(|(field, value)| plain[field] == *value), "{hybrid}");
    sample::<HybridAnswer>(&json!({
        "projects": ["p"], "project_unknown": false, "program": "static",
        "missing": [{"code": "c", "text": "t", "remedy": null}],
        "results": [
            {"chunkId": "i", "content": "c", "rrfScore": 0.0, "finalScore": 0.5, "session": "s"},
            {
                "chunkId": "i", "content": "c", "semanticRank": 1, "semanticScore": 0.5, "keywordRank": 2, "keywordScore": 1.5,
                "rrfScore": 0.25, "finalScore": 0.75, "session": "s", "time": "2026-11-24T00:00:00Z",
            },
        ],
    }));
    sample::<ContextIndex>(&json!({"contexts": [], "total": 0}));
    sample::<ContextIndex>(&json!({
        "contexts": [
            {"label": "l", "size": 1},
            {"label": "l", "priority": "always_check", "version": 2, "last_accessed": "2026-11-24", "tags": "a,b", "size": 3},
        ],
        "total": 3, "left_out": 1, "next": "c",
    }));
    let loaded = json!({"label": "l", "content": "c", "tags": ["a"], "related": ["r"], "size": 1, "version": 2});
    sample::<LoadedContext>(&loaded);
    let preview = json!({"label": "l", "preview": "p", "key_concepts": ["k"], "related": ["r"], "size": 1, "id": "i"});
    sample::<ContextPreview>(&preview);
    let found = |more: Value| {
        let mut found = preview.clone();
        found.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        found
    };
    sample::<ContextMatches>(&json!({
        "matches": [
            found(json!({"relevance": 0.67, "reason": "r", "loaded_full": false})),
            found(json!({"relevance": 1.0, "reason": "r", "loaded_full": true, "content": "c"})),
        ],
        "searched": "by words alone",
    }));
    sample::<LockedContext>(&json!({"topic": "t", "id": "i", "preview": "p", "key_concepts": ["k"], "replaced": true}));
    sample::<StoredChunk>(&json!({"status": "stored", "id": "i", "was_known": false, "operation": 1, "conflicts_checked": true}));
    there_and_back(&IngestedChats { ingested: Ingestion::default() });
}

#[test]
fn agents_are_told_nothing_that_says_nothing() {
    let data = json!({"next": null, "results": [], "items": [{"a": null, "b": [], "c": {}, "d": 0, "e": false, "f": ""}]});
    assert_eq!(compact(data), json!({"results": [], "items": [{"d": 0, "e": false, "f": ""}]}));
}
