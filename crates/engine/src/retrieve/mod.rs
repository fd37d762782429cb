//! Answers a question: PLAN, LAND, DISTILL, TRACE. (ANCHOR and EXPAND come with the graph.)
//!
//! [`recall`] calls the phases in order; every number that led to a rank is in the answer.

mod distill;
mod land;
mod plan;
mod trace;

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use yore_core::query::{Filter, ListPlace, MissingCode, Place, Program, ScorePart};
use yore_core::text::{Question, Tokenizer, is_error_message, joined};

pub(crate) use self::plan::{project_around, project_here, projects_named};
use crate::EngineError;
use crate::index::{LexicalIndex, MOST_PENDING_VECTORS, SemanticIndex};
use crate::ingest::ProjectNames;
use crate::store::{ShownTurn, Store};

/// An answer counts the turns whose shape is not known yet up to here.
const COUNTED_UNSHAPED: usize = 100_000;
/// And those that wait for an index.
const COUNTED_PENDING: usize = 10_000;

/// A question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecallRequest {
    /// Any text.
    pub question: String,
    /// Other ways in which the answer may have been said; with some, quotation marks make no phrases.
    #[serde(default)]
    pub wordings: Vec<String>,
    /// What may answer.
    pub filter: Filter,
    /// The project of the directory that is asked from, where one is known.
    pub here: Option<ProjectNames>,
    /// Which lists are asked. The answer says which were.
    pub program: Program,
    /// Whether the words count; without them only the nearness of meaning does.
    pub is_worded: bool,
    /// How many turns to give.
    pub limit: usize,
    /// Length of a quote in characters.
    pub quote_chars: usize,
    /// Weight of tool inputs and outputs beside what was said, 0 to 1.
    pub tool_weight: f32,
    /// Weight of the nearness of meaning beside the words, in place of the tuned one.
    pub meaning_weight: Option<f32>,
    /// Weight of the best turn nearby in the same conversation beside the turn's own score, 0 to 1.
    pub neighbour_weight: f32,
    /// Weight of the session's best turns beside the turn's own score, 0 to 1.
    pub session_weight: f32,
    /// Whether near duplicates of a better turn are given with it instead of as hits.
    pub is_folded: bool,
}

impl RecallRequest {
    /// Asks everything with the usual settings.
    pub fn new(question: impl Into<String>) -> Self {
        Self {
            question: question.into(),
            wordings: Vec::new(),
            filter: Filter::default(),
            here: None,
            program: Program::Static,
            is_worded: true,
            limit: 10,
            quote_chars: 240,
            tool_weight: 0.15,
            meaning_weight: None,
            neighbour_weight: 0.1,
            session_weight: 0.5,
            is_folded: true,
        }
    }

    /// What is looked for: the question, and its wordings below it as one text.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        joined(&self.question, &self.wordings)
    }
}

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
    pub program: Program,
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
    fn behind(code: MissingCode, index: &str, waiting: usize) -> Self {
        let text = format!("{waiting} turns are not in {index} yet, and not all of them were looked at");
        Self { code, text, remedy: Some("run `yore reindex` if this stays".to_owned()) }
    }

    /// The vector indexes cannot be used.
    pub(crate) fn index(error: &EngineError) -> Self {
        Self { code: MissingCode::VectorIndex, text: error.to_string(), remedy: Some("run `yore reindex`".to_owned()) }
    }
}

/// A turn that answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hit {
    /// From 1.
    pub rank: usize,
    /// Sum of the parts.
    pub score: f32,
    /// What the score is made of.
    pub parts: Vec<ScorePart>,
    /// Where the lists had the turn.
    pub lists: Vec<ListPlace>,
    /// The passage that matches best, in the turn's own words.
    pub quote: String,
    /// The whole turn.
    pub turn: ShownTurn,
    /// Where the words stand.
    pub place: Place,
    /// Lower ranked turns that say the same in nearly the same words, best first.
    pub also: Vec<Place>,
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

/// What a question is asked of.
pub(crate) struct Asked<'a> {
    /// The words.
    pub store: &'a Store,
    /// Full text.
    pub lexical: &'a LexicalIndex,
    /// Vectors; `None` where only full text is asked.
    pub semantic: Option<&'a SemanticIndex>,
    /// The question's vector by the local model, in the full program.
    pub model_vector: Option<Vec<f32>>,
}

/// Answers a question.
pub(crate) fn recall(asked: &Asked<'_>, tokenizer: &mut Tokenizer, request: &RecallRequest) -> Result<RecallAnswer, EngineError> {
    let began = Instant::now();
    let text = request.text();
    let mut question = Question::parse(&text, tokenizer);
    question.is_error_message = is_error_message(&request.question);
    let (filter, projects, is_project_unknown) = plan::plan(asked.store, request)?;
    let planned = began.elapsed();
    let (landed, program) = land::land(asked, &text, &question, &filter, request)?;
    let found = began.elapsed();
    let landed_count = landed.len();
    let ranked = distill::distill(landed, request);
    let (hits, sessions) = trace::trace(asked, &question, &ranked, request, tokenizer)?;
    let micros = |time: Duration| time.as_micros() as u64;
    let unshaped = if request.filter.asks_for_content() { asked.store.shape_queue_length(COUNTED_UNSHAPED)? } else { 0 };
    let pending = asked.store.queue_length(COUNTED_PENDING)?;
    let mut missing = Vec::new();
    if unshaped > 0 {
        missing.push(Missing::shape(unshaped));
    }
    if pending > asked.lexical.most_pending() {
        missing.push(Missing::behind(MissingCode::TextIndex, "the full-text index", pending));
    }
    if asked.semantic.is_some() {
        let waiting = asked.store.vector_queue_length(COUNTED_PENDING)?;
        if waiting > MOST_PENDING_VECTORS {
            missing.push(Missing::behind(MissingCode::VectorIndex, "the vector indexes", waiting));
        }
    }
    Ok(RecallAnswer {
        hits,
        sessions,
        projects,
        is_project_unknown,
        program,
        missing,
        terms: question.terms.clone(),
        pending,
        landed: landed_count,
        micros: [micros(planned), micros(found - planned), micros(began.elapsed() - found)],
    })
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
