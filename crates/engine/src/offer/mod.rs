//! What is offered unasked: little, and only what is worth the room it takes.
//!
//! - [`Engine::brief`]: where things stand in a project, for a session that begins, or that was
//!   compacted (`brief`)
//! - [`Engine::offer`]: what concerns a prompt, a file that is about to be changed, an error; nothing
//!   where nothing is sure enough (`occasion`, `edit`, `failure`)
//!
//! Only the current project is looked at, and notes that hold everywhere: another project's words
//! are given to whoever asks for them, never unasked.

mod brief;
mod edit;
mod failure;
mod occasion;

use serde::{Deserialize, Serialize};
use yore_core::id::TurnId;
use yore_core::query::Program;
use yore_core::scope::ScopeChoice;

use crate::error::EngineError;
use crate::ingest::ProjectNames;
use crate::ingest::source::note;
use crate::notes::{NoteSummary, NotesRequest, UNCONFIRMED};
use crate::store::EpisodeSummary;
use crate::{Engine, Found, Hit};

/// Where do things stand?
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct BriefRequest {
    /// The project that is asked from.
    pub here: Option<ProjectNames>,
    /// The session that asks, by its native id: it need not be told of itself.
    pub session: Option<String>,
    /// The session was compacted: it needs to be told of itself.
    pub is_compacted: bool,
}

/// Where things stand. Each list is in the order of its worth; whoever tells it cuts it to size.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Brief {
    /// The project's name; `None` where the directory belongs to none that is known.
    pub project: Option<String>,
    /// Notes that hold always.
    pub standing: Vec<NoteSummary>,
    /// The session itself, where it was compacted.
    pub own: Option<Worked>,
    /// What was last worked on here, latest first.
    pub sessions: Vec<Worked>,
    /// Other notes, latest first.
    pub notes: Vec<NoteSummary>,
}

impl Brief {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.standing.is_empty() && self.own.is_none() && self.sessions.is_empty() && self.notes.is_empty()
    }
}

/// A session that was worked in.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Worked {
    /// The session.
    pub session: EpisodeSummary,
    /// What the person asked for last, oldest of them first.
    pub asked: Vec<Said>,
    /// Where it stopped: the last words of the agent.
    pub stopped: Option<Said>,
    /// Files that it changed or spoke of, changed ones first.
    pub files: Vec<String>,
}

/// Words of a turn.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Said {
    /// The turn.
    pub turn: TurnId,
    /// Its words.
    pub text: String,
}

/// Why something may be offered.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Occasion {
    /// A person's prompt.
    Prompt(String),
    /// A file is about to be changed.
    Edit(String),
    /// A tool reports an error: its output.
    Failure(String),
}

/// What is there to offer?
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct OfferRequest {
    /// Why.
    pub occasion: Occasion,
    /// What may answer: its scope is narrowed to the current project.
    pub here: Option<ProjectNames>,
    /// Projects by name, in place of `here`; for measuring.
    pub projects: Vec<String>,
    /// Only what was known then (exclusive), milliseconds since 1970; for measuring.
    pub as_of: Option<i64>,
    /// The session that asks, by its native id: what it holds itself is not offered.
    pub session: Option<String>,
    /// What it was given before.
    pub given: Vec<TurnId>,
    /// At most so many.
    pub limit: usize,
    /// Characters of a quote.
    pub quote_chars: usize,
    /// Least sureness, 0 to 1.
    pub floor: f32,
    /// Which lists may answer.
    pub program: Program,
}

/// A memory that is offered.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Offered {
    /// The turn.
    pub hit: Hit,
    /// What came of it: the agent's last words about it.
    pub outcome: Option<Said>,
}

/// What is offered.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Offer {
    /// Best first.
    pub memories: Vec<Offered>,
    /// How sure it is that they concern the occasion, 0 to 1; also where nothing is offered.
    pub sureness: f32,
    /// Why nothing is offered: a stable code.
    pub silence: Option<String>,
}

impl Offer {
    /// Nothing, and why.
    fn silent(code: &str, sureness: f32) -> Self {
        Self { memories: Vec::new(), sureness, silence: Some(code.to_owned()) }
    }
}

impl Engine {
    /// Where things stand in the project that is asked from. Empty where it is not known and no
    /// note holds everywhere.
    pub fn brief(&self, request: &BriefRequest) -> Result<Brief, EngineError> {
        let mut brief = brief::brief(self, request)?;
        let notes = brief.standing.iter_mut().chain(&mut brief.notes);
        let notes = notes.flat_map(|note| std::iter::once(&mut note.text).chain(&mut note.title));
        let worked = brief.own.iter_mut().chain(&mut brief.sessions).flat_map(|worked| {
            let said = worked.asked.iter_mut().chain(&mut worked.stopped).map(|said| &mut said.text);
            said.chain(&mut worked.session.title).chain(&mut worked.files)
        });
        self.redact_again(notes.chain(worked))?;
        Ok(brief)
    }

    /// What is worth offering; mostly nothing.
    pub fn offer(&self, request: &OfferRequest) -> Result<Offer, EngineError> {
        let mut offer = occasion::offer(self, request)?;
        let is_note = |memory: &Offered| {
            let Found::Turn(turn) = &memory.hit.found;
            turn.agent == note::KIND
        };
        if offer.memories.iter().any(is_note) {
            let notes = NotesRequest {
                here: None,
                scope: ScopeChoice::All,
                tags: vec![UNCONFIRMED.to_owned()],
                title: None,
                limit: 10_000,
            };
            let unconfirmed = self.notes(&notes)?;
            offer.memories.retain(|memory| !unconfirmed.iter().any(|note| note.episode == memory.hit.place.episode));
        }
        let texts = offer.memories.iter_mut().flat_map(|memory| {
            let outcome = memory.outcome.as_mut().map(|said| &mut said.text);
            let Found::Turn(turn) = &mut memory.hit.found;
            std::iter::once(&mut memory.hit.quote).chain(&mut turn.title).chain(outcome)
        });
        self.redact_again(texts)?;
        Ok(offer)
    }
}
