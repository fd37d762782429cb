//! The answer to a query.

use serde::{Deserialize, Serialize};
use yore_core::query::{ListPlace, MissingCode, Place, ScorePart, SearchMode};
use yore_core::time::RecordedTime;

use crate::error::EngineError;
use crate::store::ShownTurn;

/// Result of a recall.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecallAnswer {
    /// Turns, best first.
    pub hits: Vec<Hit>,
    /// The sessions that contain the hits, best first.
    pub sessions: Vec<SessionHit>,
    /// Names of the projects that were searched, empty if all were.
    pub projects: Vec<String>,
    /// True if nothing was searched: the search was limited to the current project, and the directory belongs
    /// to no known project.
    pub is_project_unknown: bool,
    /// Mode, that is the lists that were searched.
    pub mode: SearchMode,
    /// Parts that could not be searched, each with its remedy.
    pub missing: Vec<Missing>,
    /// Terms that were searched for.
    pub terms: Vec<String>,
    /// Number of turns that were not in the full-text index yet and were searched in memory.
    pub pending: usize,
    /// Lower bound for the number of turns that match at all.
    pub landed: usize,
    /// Wall time in microseconds: planning, searching the lists, reading the text.
    pub micros: [u64; 3],
}

/// A part that the answer had to do without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Stable code.
    pub code: MissingCode,
    /// Description of the missing part.
    pub text: String,
    /// Command that restores it.
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

    /// Some turns were not yet analysed for code, files and errors, which the filter needs.
    pub(crate) fn shape(count: usize) -> Self {
        let text = match count {
            1 => "1 turn was not yet searched for code, files and errors".to_owned(),
            count => format!("{count} turns were not yet searched for code, files and errors"),
        };
        Self { code: MissingCode::Shape, text, remedy: Some("run `yore reindex`".to_owned()) }
    }

    /// More turns wait for an index than a query searches in memory.
    pub(super) fn behind(code: MissingCode, index: &str, waiting: usize) -> Self {
        let text = format!("{waiting} turns are not in {index} yet, and not all of them were searched");
        Self { code, text, remedy: Some("run `yore reindex` if this stays".to_owned()) }
    }

    /// The vector indexes cannot be used.
    pub(crate) fn index(error: &EngineError) -> Self {
        Self { code: MissingCode::VectorIndex, text: error.to_string(), remedy: Some("run `yore reindex`".to_owned()) }
    }
}

/// A hit: the item found, and the properties that all kinds of items share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hit {
    /// From 1.
    pub rank: usize,
    /// Sum of the parts.
    pub score: f32,
    /// Parts of the score.
    pub parts: Vec<ScorePart>,
    /// Places in the lists that proposed it.
    pub lists: Vec<ListPlace>,
    /// The passage that matches best, verbatim.
    pub quote: String,
    /// Location of the text.
    pub place: Place,
    /// Time when it was said.
    pub time: RecordedTime,
    /// Name of the project.
    pub project: Option<String>,
    /// The item found.
    pub found: Found,
    /// Lower ranked turns that say the same in nearly the same words, best first.
    pub also: Vec<Place>,
}

/// Kinds of items that can be found.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// A turn of a conversation, or a passage of a document.
    Turn(ShownTurn),
}

impl Hit {
    /// Makes a hit of a turn that was not ranked.
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

/// A session with hits.
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
