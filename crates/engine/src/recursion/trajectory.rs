//! Trajectories: the steps and calls of a run as JSON lines in the data directory, from which a run is shown and replayed.
//!
//! One holds no words of pieces but those that models quoted: the pieces are named by where they stand. Forgetting for good removes all
//! trajectories, as it removes requests to models (`llm::empty`).

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use yore_core::query::ReadingStrategy;
use yore_core::time::UtcMillis;

use super::answer::{DeepAnswer, DeepRequest, Stop};
use super::choice::Choice;
use super::lookup::{Lookup, Related};
use super::pieces::{Pieces, PiecesRequest, Place};
use super::profile::Profile;
use crate::budget::Price;
use crate::error::EngineError;
use crate::llm::{Accounts, Denial, LlmError, RUN_ENDING, RUNS, RecordedCall, RunLimit, RunLimits, Tier, Usage};
use crate::platform;

/// The step in which recall was asked.
pub(super) const RECALLED: &str = "asked recall";
/// The step in which it was asked what a piece is related to.
pub(super) const RELATED: &str = "asked what is related";
/// Runs that are kept.
const KEPT: usize = 100;
/// Digits of the id of a run.
const DIGITS: usize = 12;
/// Most bytes of a trajectory that is read.
const MOST_BYTES: u64 = 256 << 20;

/// The first line of a trajectory: everything on which the run depends.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Begun {
    pub question: String,
    pub today: String,
    pub strategy: ReadingStrategy,
    pub why: String,
    pub model: String,
    pub profile: Profile,
    pub limits: RunLimits,
    pub turns: u32,
    pub price: Option<Price>,
    pub tiers: Vec<Tier>,
    pub read: PiecesRequest,
    pub digest: String,
    pub left_out: usize,
    pub is_cut: bool,
    pub pieces: Vec<Place>,
}

impl Begun {
    pub fn of(
        today: String,
        request: &DeepRequest,
        pieces: &Pieces,
        choice: Choice,
        (model, profile): (&str, Profile),
        (limits, price): (RunLimits, Option<Price>),
        tiers: &[Tier],
    ) -> Self {
        Self {
            question: request.question.clone(),
            today,
            strategy: choice.strategy,
            why: choice.why,
            model: model.to_owned(),
            profile,
            limits,
            turns: request.turns.max(1),
            price,
            tiers: tiers.to_vec(),
            read: request.pieces.clone(),
            digest: pieces.digest(),
            left_out: pieces.left_out,
            is_cut: pieces.is_cut,
            pieces: pieces.places(),
        }
    }
}

/// A line of a trajectory.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum LogLine {
    /// The run began.
    Begun(Box<Begun>),
    /// A model was called.
    Call(RecordedCall),
    /// A step was done.
    Step { step: String, detail: Value },
    /// The run ended.
    Ended(Box<DeepAnswer>),
}

/// Returns a trajectory as JSON lines.
pub(super) fn log_of(begun: &Begun, lines: &[LogLine], answer: &DeepAnswer) -> String {
    let begun = LogLine::Begun(Box::new(begun.clone()));
    let ended = LogLine::Ended(Box::new(DeepAnswer { run: None, ..answer.clone() }));
    let mut log = String::new();
    for line in [&begun].into_iter().chain(lines).chain([&ended]) {
        log.push_str(&serde_json::to_string(line).unwrap_or_default());
        log.push('\n');
    }
    log
}

/// Stores a trajectory, in the place of the oldest if there are a hundred; returns its id, which is the digest of its words.
pub(super) fn write(directory: &Path, log: &str) -> Result<String, EngineError> {
    let id = blake3::hash(log.as_bytes()).to_hex()[..DIGITS].to_owned();
    let folder = directory.join(RUNS);
    let path = folder.join(format!("{id}{RUN_ENDING}"));
    let failed = |error: io::Error| EngineError::Run { path: path.display().to_string(), error };
    platform::create_private_directory(&folder).map_err(failed)?;
    let draft = folder.join(format!(".{id}.{}.tmp", std::process::id()));
    let _ = fs::remove_file(&draft);
    platform::write_new_private_file(&draft, log.as_bytes()).and_then(|()| fs::rename(&draft, &path)).map_err(failed)?;
    // An old one that stays because it cannot be removed does no harm.
    for (_, old) in trajectories(directory)?.into_iter().skip(KEPT) {
        let _ = fs::remove_file(folder.join(format!("{old}{RUN_ENDING}")));
    }
    Ok(id)
}

/// A stored run.
#[derive(Debug)]
pub struct Trajectory {
    /// Its id.
    pub id: String,
    lines: Vec<LogLine>,
}

/// A line of a run that is shown.
#[derive(Clone, Debug, PartialEq)]
pub enum ShownLine {
    /// A step, with its details.
    Step(String, Value),
    /// A call: tokens of the prompt and the answer, and the answer or failure.
    Call([u64; 2], Result<String, String>),
}

impl Trajectory {
    /// Reads a run by its id or the beginning of it.
    ///
    /// # Errors
    /// [`EngineError::UnknownRun`], [`EngineError::Run`].
    pub fn read(directory: &Path, id: &str) -> Result<Self, EngineError> {
        let unknown = || EngineError::UnknownRun(id.to_owned());
        let mut named = trajectories(directory)?.into_iter().filter(|(_, known)| !id.is_empty() && known.starts_with(id));
        let (Some((_, id)), None) = (named.next(), named.next()) else { return Err(unknown()) };
        let path = directory.join(RUNS).join(format!("{id}{RUN_ENDING}"));
        let failed = |error: io::Error| EngineError::Run { path: path.display().to_string(), error };
        if path.metadata().map_err(failed)?.len() > MOST_BYTES {
            return Err(failed(io::Error::other("it is too large")));
        }
        let text = fs::read_to_string(&path).map_err(failed)?;
        let lines = text.lines().map(|line| serde_json::from_str(line).map_err(|error| failed(error.into())));
        Ok(Self { id, lines: lines.collect::<Result<Vec<LogLine>, EngineError>>()? })
    }

    pub(super) fn begun(&self) -> Result<&Begun, EngineError> {
        let begun = self.lines.iter().find_map(|line| match line {
            LogLine::Begun(begun) => Some(&**begun),
            _ => None,
        });
        begun.ok_or_else(|| EngineError::UnknownRun(self.id.clone()))
    }

    /// Returns the question.
    pub fn question(&self) -> &str {
        self.begun().map_or("", |begun| &begun.question)
    }

    /// Returns the answer.
    pub fn answer(&self) -> Option<DeepAnswer> {
        self.lines.iter().find_map(|line| match line {
            LogLine::Ended(answer) => Some(DeepAnswer { run: Some(self.id.clone()), ..(**answer).clone() }),
            _ => None,
        })
    }

    /// Returns its steps and calls in their order.
    pub fn shown(&self) -> Vec<ShownLine> {
        let shown = |line: &LogLine| match line {
            LogLine::Step { step, detail } => Some(ShownLine::Step(step.clone(), detail.clone())),
            LogLine::Call(call) => {
                let failure = || call.failure.as_ref().map(|failure| failure.text.clone()).unwrap_or_default();
                Some(ShownLine::Call([call.input, call.output], call.reply.clone().ok_or_else(failure)))
            }
            LogLine::Begun(_) | LogLine::Ended(_) => None,
        };
        self.lines.iter().filter_map(shown).collect()
    }

    /// Returns what the memory gave beside the words of the pieces.
    pub(super) fn looked_up(&self) -> LookedUp {
        let mut given = LookedUp::default();
        for line in &self.lines {
            let LogLine::Step { step, detail } = line else { continue };
            if step == RECALLED
                && let Some(words) = detail["words"].as_str()
            {
                given.recalled.insert(words.to_owned(), serde_json::from_value(detail["pieces"].clone()).unwrap_or_default());
            }
            if step == RELATED
                && let Some(piece) = detail["piece"].as_u64()
            {
                given.related.insert(piece as usize, serde_json::from_value(detail["related"].clone()).unwrap_or_default());
            }
        }
        given
    }

    pub(super) fn calls(&self) -> Vec<RecordedCall> {
        let call = |line: &LogLine| match line {
            LogLine::Call(call) => Some(call.clone()),
            _ => None,
        };
        self.lines.iter().filter_map(call).collect()
    }

    /// Returns the limit that ended it.
    pub(super) fn reached(&self) -> Option<RunLimit> {
        match self.answer().and_then(|answer| answer.stop) {
            Some(Stop::Limit(limit)) => Some(limit),
            _ => None,
        }
    }
}

/// Lists the stored runs, the latest first: when each ended, and its id.
///
/// # Errors
/// [`EngineError::Run`]: the folder cannot be read.
pub fn trajectories(directory: &Path) -> Result<Vec<(UtcMillis, String)>, EngineError> {
    let folder = directory.join(RUNS);
    let failed = |error: io::Error| EngineError::Run { path: folder.display().to_string(), error };
    let files = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files.map_err(failed)?,
    };
    let mut found = Vec::new();
    for file in files {
        let path = file.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(id) = name.strip_suffix(RUN_ENDING).filter(|id| !id.starts_with('.')) {
            let written = path.metadata().and_then(|meta| meta.modified()).ok();
            let since = written.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
            found.push((since.map_or(0, |since| since.as_millis() as UtcMillis), id.to_owned()));
        }
    }
    found.sort_by(|a, b| b.cmp(a));
    Ok(found)
}

/// Answers that the memory gave to a run that is replayed.
#[derive(Default)]
pub(super) struct LookedUp {
    recalled: HashMap<String, Vec<usize>>,
    related: HashMap<usize, Vec<Related>>,
}

impl Lookup for LookedUp {
    fn recall(&self, words: &str) -> Vec<usize> {
        self.recalled.get(words).cloned().unwrap_or_default()
    }

    fn related(&self, piece: usize) -> Vec<Related> {
        self.related.get(&piece).cloned().unwrap_or_default()
    }
}

/// The accounts of a run that is replayed: nobody is asked, and nothing is booked.
#[derive(Default)]
pub(super) struct Nobody {
    reserved: AtomicU64,
    /// The tiers that the run found to work, or not.
    learned: Mutex<HashMap<Tier, bool>>,
}

impl Accounts for Nobody {
    fn reserve(&self, _: &str, _: u64, _: u64) -> Result<u64, LlmError> {
        Ok(self.reserved.fetch_add(1, Ordering::Relaxed))
    }

    fn settle(&self, _: u64, _: Usage, _: Option<&LlmError>) {}

    fn is_off(&self) -> Option<Denial> {
        None
    }

    fn learned(&self, _: &str, tier: Tier, works: bool) {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner).insert(tier, works);
    }

    fn has(&self, _: &str, tier: Tier) -> Option<bool> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner).get(&tier).copied()
    }
}
