//! Converts the file of the MCP reference memory server to entities and relations.
//!
//! ```json
//! {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]}
//! {"type": "relation", "from": "Ada", "to": "harbour", "relationType": "works_at"}
//! ```

use serde::Deserialize;
use yore_core::memory::{MemoryKind, SourceKind};
use yore_engine::{GivenEntity, GivenRecords, GivenRelation, NewMemory};

use super::common::{Home, by_agent, short};

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line {
    #[serde(rename_all = "camelCase")]
    Entity {
        name: String,
        #[serde(default)]
        entity_type: String,
        #[serde(default)]
        observations: Vec<String>,
    },
    #[serde(rename_all = "camelCase")]
    Relation { from: String, to: String, relation_type: String },
}

/// Returns whether a text is such a file: by its first line.
pub fn is_one(text: &str) -> bool {
    text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| serde_json::from_str::<Line>(line).is_ok())
}

/// Reads such a file. Returns the records, and the lines that are none, each with its problem.
pub fn read(place: &str, text: &str, home: &Home) -> (GivenRecords, Vec<(String, String)>) {
    let (mut records, mut problems) = (GivenRecords { whole: vec![place.to_owned()], ..GivenRecords::default() }, Vec::new());
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let here = format!("{place}:{}", at + 1);
        match serde_json::from_str(line) {
            Ok(Line::Entity { name, entity_type, observations }) => {
                for observation in observations.iter().filter(|observation| !observation.trim().is_empty()) {
                    // Alone, nobody knows what an observation is about.
                    let names = observation.to_lowercase().contains(&name.to_lowercase());
                    let said = if names { observation.clone() } else { format!("{name}: {observation}") };
                    let (statement, details) = short(&said);
                    let mut new = NewMemory::new(MemoryKind::Observation, statement);
                    new.memory.details = details.into_iter().next();
                    by_agent(&mut new);
                    new.memory.source.kind = SourceKind::Import;
                    new.memory.source.place = Some(here.clone());
                    new.entities = vec![name.clone()];
                    records.memories.push(home.takes(new));
                }
                records.entities.push(GivenEntity { kind: entity_type, name, aliases: Vec::new(), description: None });
            }
            Ok(Line::Relation { from, to, relation_type }) => {
                records.relations.push(GivenRelation { from, name: relation_type, to });
            }
            Err(error) => problems.push((here, error.to_string())),
        }
    }
    // A torn file may say less than it did.
    if !problems.is_empty() {
        records.whole.clear();
    }
    (records, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observations_are_memories_about_their_entity_and_torn_lines_are_told() {
        let text = "{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\"observations\":[\"likes tea\",\"Ada sails\"]}\n\n{\"type\":\"relation\",\"from\":\"Ada\",\"to\":\"harbour\",\"relationType\":\"works_at\"}\n{\"type\":\"ent\n";
        assert!(is_one(text) && !is_one("{\"yore\":{\"format\":1}}\n") && !is_one(""));
        let (read, problems) = read("m.json", text, &Home::Everywhere);
        let said: Vec<&str> = read.memories.iter().map(|new| new.memory.statement.as_str()).collect();
        assert_eq!(said, ["Ada: likes tea", "Ada sails"]);
        assert_eq!((read.entities[0].kind.as_str(), read.relations[0].name.as_str()), ("person", "works_at"));
        assert_eq!((problems.len(), problems[0].0.as_str()), (1, "m.json:4"));
    }
}
