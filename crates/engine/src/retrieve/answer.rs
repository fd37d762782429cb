//! What a question brings.

use serde::{Deserialize, Serialize};
use yore_core::query::{ListPlace, MissingCode, Place, ScorePart, SearchMode};
use yore_core::time::RecordedTime;

use crate::error::EngineError;
use crate::store::ShownTurn;

/// What was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecallAnswer {
    /// Turns, best first.
    pub hits: Vec<Hit>,
    /// The sessions they stand in, best first.
    pub sessions: Vec<SessionHit>,
    /// Names of the projects that were asked, empty when all were.
    pub projects: Vec<String>,
    /// Nothing was asked: only the current project should have been, and the directory belongs
    /// to none that is known.
    pub is_project_unknown: bool,
    /// Which lists were asked.
    pub mode: SearchMode,
    /// What could not be asked, and what would mend it.
    pub missing: Vec<Missing>,
    /// The terms that were looked up.
    pub terms: Vec<String>,
    /// Turns that are known but not in the full-text index yet and were searched in memory.
    pub pending: usize,
    /// Turns that match at all are at least this many.
    pub landed: usize,
    /// Wall time in microseconds: planning, the lists, reading the words.
    pub micros: [u64; 3],
}

/// Something that an answer had to do without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Stable code.
    pub code: MissingCode,
    /// What is missing.
    pub text: String,
    /// What mends it.
    pub remedy: Option<String>,
}

impl Missing {
    /// The local model cannot be used.
    pub(crate) fn model(error: &EngineError) -> Self {
        Self { code: MissingCode::Model, text: error.to_string(), remedy: Some("run `yore models fetch`".to_owned()) }
    }

    /// Some or all turns have no vectors of the local model.
    pub(crate) fn vectors(text: String) -> Self {
        Self { code: MissingCode::Vectors, text, remedy: Some("run `yore embed`".to_owned()) }
    }

    /// Turns whose code, files and errors are not known yet, which the filter asks for.
    pub(crate) fn shape(count: usize) -> Self {
        let text = match count {
            1 => "1 turn was not looked through for code, files and errors yet".to_owned(),
            count => format!("{count} turns were not looked through for code, files and errors yet"),
        };
        Self { code: MissingCode::Shape, text, remedy: Some("run `yore reindex`".to_owned()) }
    }

    /// More turns wait for an index than a question looks at in memory.
    pub(super) fn behind(code: MissingCode, index: &str, waiting: usize) -> Self {
        let text = format!("{waiting} turns are not in {index} yet, and not all of them were looked at");
        Self { code, text, remedy: Some("run `yore reindex` if this stays".to_owned()) }
    }

    /// The vector indexes cannot be used.
    pub(crate) fn index(error: &EngineError) -> Self {
        Self { code: MissingCode::VectorIndex, text: error.to_string(), remedy: Some("run `yore reindex`".to_owned()) }
    }
}

/// Something that answers: what was found, and what all of that has in common.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hit {
    /// From 1.
    pub rank: usize,
    /// Sum of the parts.
    pub score: f32,
    /// What the score is made of.
    pub parts: Vec<ScorePart>,
    /// Where the lists had it.
    pub lists: Vec<ListPlace>,
    /// The passage that matches best, in its own words.
    pub quote: String,
    /// Where the words stand.
    pub place: Place,
    /// When it was said.
    pub time: RecordedTime,
    /// Name of the project.
    pub project: Option<String>,
    /// What was found.
    pub found: Found,
    /// Lower ranked turns that say the same in nearly the same words, best first.
    pub also: Vec<Place>,
}

/// What can be found.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// A turn of a conversation, or a passage of a document.
    Turn(ShownTurn),
}

impl Hit {
    /// A turn that nothing ranked yet.
    pub(crate) fn of_turn(turn: ShownTurn, quote: String) -> Self {
        Self {
            rank: 1,
            score: 0.0,
            parts: Vec::new(),
            lists: Vec::new(),
            quote,
            place: turn.place(),
            time: turn.time.clone(),
            project: turn.project.clone(),
            found: Found::Turn(turn),
            also: Vec::new(),
        }
    }
}

/// A session that answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionHit {
    /// Yore's id of the episode.
    pub episode: yore_core::id::EpisodeId,
    /// The agent's own id.
    pub native_id: String,
    /// Score of its best turn.
    pub score: f32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_lacked_is_the_same_behind_the_daemon() {
        let all = [
            Missing::model(&EngineError::NoModel),
            Missing::vectors("few".to_owned()),
            Missing::index(&EngineError::NoModel),
            Missing::behind(MissingCode::TextIndex, "the full-text index", 3),
            Missing::shape(2),
        ];
        for missing in &all {
            let told = serde_json::to_string(missing).unwrap();
            assert_eq!(serde_json::from_str::<Missing>(&told).unwrap(), *missing);
        }
        assert_eq!(all.map(|missing| missing.code).as_slice(), MissingCode::ALL);
    }
}
