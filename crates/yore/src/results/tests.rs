//! Builds every result type from a real memory, serializes and deserializes it, and compares it with its
//! schema.

use std::fmt::Debug;

use schemars::SchemaGenerator;
use serde::de::DeserializeOwned;
use serde_json::json;
use yore_core::scope::ScopeChoice;
use yore_engine::{NotesRequest, RecallRequest, RememberRequest, SessionsRequest, ShowRequest};
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
    let shown = engine.show(&ShowRequest { id: session.clone(), surroundings: 2 }).unwrap();
    there_and_back(&Shown::from(&shown));
    let exchanges = Exchanges::from(&engine.exchanges(&session).unwrap());
    assert!(!exchanges.exchanges[0].code.is_empty() && !exchanges.exchanges[0].tools.is_empty());
    there_and_back(&exchanges);
    let sessions = engine.sessions(&SessionsRequest { limit: 9, ..SessionsRequest::default() }).unwrap();
    let sessions = sessions.iter().map(Session::from).collect();
    there_and_back(&SessionPage { sessions, next: Some("c".to_owned()) });
    let all = NotesRequest {
        here: None,
        scope: ScopeChoice::All,
        tags: Vec::new(),
        kind: None,
        is_confirmed: None,
        title: None,
        limit: 9,
    };
    let notes: Vec<Note> = engine.notes(&all).unwrap().iter().map(Note::from).collect();
    assert_eq!(notes.len(), 1);
    there_and_back(&NotePage { notes, next: None });
    there_and_back(&engine.projects().unwrap().iter().map(Project::from).collect::<Vec<_>>());
}

#[test]
fn agents_are_told_nothing_that_says_nothing() {
    let data = json!({"next": null, "results": [], "items": [{"a": null, "b": [], "c": {}, "d": 0, "e": false, "f": ""}]});
    assert_eq!(compact(data), json!({"results": [], "items": [{"d": 0, "e": false, "f": ""}]}));
}
