//! The record of a memory: fields, limits of their length, lane, confidence, source, evidence and anchors.

use serde::{Deserialize, Serialize};

use super::{Fields, MemoryKind, MemoryType, Status, StatusCause, is_of_rules};
use crate::conflict::{Assertion, StatedValue, assertion_in};
use crate::id::{MemoryId, ProjectId, TurnId};
use crate::time::UtcMillis;

/// Longest statement, in characters: a memory states one thing.
pub const MAX_STATEMENT_CHARS: usize = 2_000;
/// Longest title, tag, anchor and cause, in characters.
const MAX_NAME_CHARS: usize = 200;
/// Longest details and quote, in bytes.
const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// Most tags, pieces of evidence and anchors.
const MOST_PARTS: usize = 100;

named_enum! {
    /// How sure a memory is.
    #[derive(Default)]
    Confidence {
        /// Confirmed by a person or by an outcome.
        Verified = "verified",
        /// Follows from what was said.
        #[default]
        Inferred = "inferred",
        /// A guess.
        Speculative = "speculative",
    }
}

named_enum! {
    /// How a memory came to be trusted. An extracted memory never takes the place of a curated one unasked.
    #[derive(Default)]
    Lane {
        /// A person gave or confirmed it.
        Curated = "curated",
        /// Found by rules, a model or an agent.
        #[default]
        Extracted = "extracted",
    }
}

named_enum! {
    /// Where a memory holds that belongs to no project.
    #[derive(Default)]
    Reach {
        /// Everywhere, as a person said.
        #[default]
        Everywhere = "everywhere",
        /// In a project that is not known: it is found by asking, and told nowhere else.
        Unknown = "unknown",
    }
}

named_enum! {
    /// Who or what a statement comes from.
    #[derive(Default)]
    SourceKind {
        /// The person.
        #[default]
        User = "user",
        /// A coding agent.
        Agent = "agent",
        /// Research in documents or pages.
        Research = "research",
        /// A conclusion from other statements.
        Deduction = "deduction",
        /// Something that was tried.
        Experiment = "experiment",
        /// A rule of yore.
        Rule = "rule",
        /// A language model.
        Model = "model",
        /// A file of another memory.
        Import = "import",
        /// A colleague, who shared it in the repository of the project.
        Colleague = "colleague",
    }
}

named_enum! {
    /// The kind of an anchor.
    AnchorKind {
        /// A path of a file.
        SourceFile = "file",
        /// A name in code.
        Symbol = "symbol",
        /// An error message.
        Error = "error",
        /// A commit.
        Commit = "commit",
        /// A tool or library and its version, such as `serde 1.0.200`.
        Version = "version",
        /// A command that the project defines, such as `npm run lint`.
        Command = "command",
    }
}

impl AnchorKind {
    /// Returns whether it is told by files that state versions or define commands.
    pub fn is_of_tool(self) -> bool {
        matches!(self, Self::Version | Self::Command)
    }
}

named_enum! {
    /// The state of a thing that a memory speaks of, compared with the time of the memory.
    Verdict {
        /// It still exists unchanged.
        Fresh = "fresh",
        /// It was changed, moved, or is on another branch.
        Drifted = "drifted",
        /// It is gone.
        Orphaned = "orphaned",
    }
}

named_enum! {
    /// A use of a memory, for its counts and the log of accesses.
    Use {
        /// It was among the results of a search.
        Shown = "shown",
        /// Its whole record was opened.
        Opened = "opened",
        /// An agent was given it unasked.
        Given = "given",
        /// An agent's answer cites it.
        Cited = "cited",
    }
}

/// The origin of a memory.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Who or what said it.
    pub kind: SourceKind,
    /// Name and version of the rule, model or program that extracted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extractor: Option<String>,
    /// The agent's own id of the session in which it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Place in an imported file, or any other place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Name and address of the colleague who shared it, as the history of the repository tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// First digits of the commit that shared it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// A piece of evidence.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The turn that says it.
    pub turn: TurnId,
    /// Its words, exactly as they stand in the turn.
    pub quote: String,
}

/// Something that a memory speaks of.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Anchor {
    /// Its kind.
    pub kind: AnchorKind,
    /// Its name.
    pub text: String,
}

/// The verdict on one thing that a memory speaks of.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct AnchorVerdict {
    /// The thing.
    pub anchor: Anchor,
    /// The verdict.
    pub verdict: Verdict,
    /// Its fate, such as the path to which it was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl AnchorVerdict {
    /// Returns the verdict on a memory that speaks of several things: fresh if all are, orphaned if all are, else drifted; `None` if
    /// nothing is known of any.
    pub fn of_all(verdicts: &[Self]) -> Option<Verdict> {
        let all = |wanted: Verdict| verdicts.iter().all(|one| one.verdict == wanted);
        match () {
            () if verdicts.is_empty() => None,
            () if all(Verdict::Fresh) => Some(Verdict::Fresh),
            () if all(Verdict::Orphaned) => Some(Verdict::Orphaned),
            () => Some(Verdict::Drifted),
        }
    }
}

/// One statement. Counts of its uses are stored beside it and are no part of it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Memory {
    /// Its id.
    pub id: MemoryId,
    /// Its kind.
    pub kind: MemoryKind,
    /// The way in which it behaves.
    pub memory_type: MemoryType,
    /// Its project; `None`: [`Self::reach`] says where it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// Where it holds if it has no project.
    #[serde(default, skip_serializing_if = "is_everywhere")]
    pub reach: Reach,
    /// Title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// One thing, understandable alone.
    pub statement: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// Fields of its kind.
    #[serde(default)]
    pub fields: Fields,
    /// Tags, sorted, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// How sure it is.
    pub confidence: Confidence,
    /// Probability that it is right and was understood rightly, 0 to 1.
    pub certainty: f32,
    /// Its origin.
    pub source: Source,
    /// Importance, 0 to 1.
    pub importance: f32,
    /// How it came to be trusted.
    pub lane: Lane,
    /// Since when it is true; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<UtcMillis>,
    /// Until when it was true (exclusive); `None`: it still is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<UtcMillis>,
    /// When it was recorded.
    pub recorded: UtcMillis,
    /// When it was changed last.
    pub changed: UtcMillis,
    /// Evidence, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// What it speaks of, sorted, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<Anchor>,
    /// Subject, aspect and value of something that has one value at a time, if somebody stated them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asserts: Option<StatedValue>,
    /// Language of its words, such as `en`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// True if it never fades.
    #[serde(default)]
    pub is_pinned: bool,
    /// Whether it holds.
    pub status: Status,
    /// Why it has that status.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "StatusCause::read")]
    pub cause: Option<StatusCause>,
    /// Since when it has that status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_since: Option<UtcMillis>,
}

fn is_everywhere(reach: &Reach) -> bool {
    *reach == Reach::Everywhere
}

impl Memory {
    /// Makes a memory of the usual importance that a person gave and that holds everywhere.
    pub fn new(id: MemoryId, kind: MemoryKind, statement: impl Into<String>, now: UtcMillis) -> Self {
        Self {
            id,
            kind,
            memory_type: kind.memory_type(),
            project: None,
            reach: Reach::Everywhere,
            title: None,
            statement: statement.into(),
            details: None,
            fields: Fields::None,
            tags: Vec::new(),
            confidence: Confidence::Verified,
            certainty: 1.0,
            source: Source::default(),
            importance: 0.5,
            lane: Lane::Curated,
            valid_from: None,
            valid_until: None,
            recorded: now,
            changed: now,
            evidence: Vec::new(),
            anchors: Vec::new(),
            asserts: None,
            language: None,
            is_pinned: false,
            status: Status::Holds,
            cause: None,
            status_since: None,
        }
    }

    /// Sorts what is a set, and drops repetitions and empty members.
    pub fn normalised(mut self) -> Self {
        self.tags = std::mem::take(&mut self.tags).into_iter().map(|tag| tag.trim().to_owned()).collect();
        self.tags.retain(|tag| !tag.is_empty());
        self.tags.sort();
        self.tags.dedup();
        self.anchors.retain(|anchor| !anchor.text.trim().is_empty());
        self.anchors.sort();
        self.anchors.dedup();
        let mut seen: Vec<Evidence> = Vec::with_capacity(self.evidence.len());
        for evidence in std::mem::take(&mut self.evidence) {
            if !seen.contains(&evidence) {
                seen.push(evidence);
            }
        }
        self.evidence = seen;
        self
    }

    /// Returns whether it comes only from a rules file that agents load anyway; it is not injected.
    pub fn is_read_by_agents(&self) -> bool {
        let is_of_rules = self.source.place.as_deref().is_some_and(is_of_rules);
        self.source.kind == SourceKind::Import && is_of_rules && self.evidence.is_empty() && !self.is_pinned
    }

    /// Returns whether a colleague shared it, and the person has not made it their own.
    pub fn is_shared(&self) -> bool {
        self.source.kind == SourceKind::Colleague && self.lane == Lane::Extracted
    }

    /// Returns whether it is a question, a problem or a todo that nobody closed.
    pub fn is_open(&self) -> bool {
        MemoryKind::OPEN.contains(&self.kind) && self.fields != Fields::Open { is_closed: true }
    }

    /// Returns whether it is a question, a problem or a todo that was closed.
    pub fn is_closed(&self) -> bool {
        MemoryKind::OPEN.contains(&self.kind) && !self.is_open()
    }

    /// Returns what it says of something that has one value at a time: as it was stated, else as its statement is read. What
    /// happened says nothing of this kind.
    pub fn assertion(&self) -> Option<Assertion> {
        asserted(self.kind, self.lane, &self.statement, self.asserts.as_ref())
    }

    /// Returns whether it is told as true or as contested.
    pub fn is_in_effect(&self) -> bool {
        matches!(self.status, Status::Holds | Status::Contested)
    }

    /// Returns whether it holds in all projects.
    pub fn is_global(&self) -> bool {
        self.project.is_none() && self.reach == Reach::Everywhere
    }

    /// Returns whether it and another one hold in one place. Of two whose projects are not known, only those of one session certainly do.
    pub fn is_of_same_place(&self, other: &Self) -> bool {
        let is_unknown = self.project.is_none() && self.reach == Reach::Unknown;
        let is_of_session = self.source.session.is_some() && self.source.session == other.source.session;
        self.project == other.project && self.is_global() == other.is_global() && (!is_unknown || is_of_session)
    }

    /// Returns whether it and another one may both hold in one place: in one project, or one of them everywhere.
    pub fn may_meet(&self, other: &Self) -> bool {
        let has_place = |memory: &Self| memory.project.is_some() || memory.is_global();
        self.is_of_same_place(other) || (self.is_global() || other.is_global()) && has_place(self) && has_place(other)
    }

    /// Returns its words, a line for title, statement, details and each field: the text by which it is found.
    pub fn words(&self) -> String {
        let own = self.title.iter().chain([&self.statement]).chain(&self.details).map(String::as_str);
        own.chain(self.fields.texts()).collect::<Vec<_>>().join("\n")
    }

    /// Returns whether it was true at a time, as far as is known.
    ///
    /// ```
    /// use yore_core::id::MemoryId;
    /// use yore_core::memory::{Memory, MemoryKind};
    /// let mut memory = Memory::new(MemoryId::new(1, [0; 10]), MemoryKind::Fact, "The port is 8080.", 5);
    /// memory.valid_until = Some(9);
    /// assert!(memory.is_valid_at(3) && !memory.is_valid_at(9));
    /// ```
    pub fn is_valid_at(&self, at: UtcMillis) -> bool {
        self.valid_from.is_none_or(|from| from <= at) && self.valid_until.is_none_or(|until| at < until)
    }
}

/// See [`Memory::assertion`].
pub fn asserted(kind: MemoryKind, lane: Lane, statement: &str, stated: Option<&StatedValue>) -> Option<Assertion> {
    match stated {
        _ if !kind.is_state() => None,
        // A person knows what they state; of a model's statement, the rest counts as well.
        Some(stated) => Assertion::stated(stated, (lane == Lane::Extracted).then_some(statement)),
        None => assertion_in(statement),
    }
}

/// A reason why a record cannot be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// There is no statement.
    #[error("the statement is empty")]
    Empty,
    /// The statement is too long.
    #[error("the statement is longer than {MAX_STATEMENT_CHARS} characters; put what goes beyond one thing into the details")]
    TooLong,
    /// A title, tag, anchor, cause, subject or value is too long.
    #[error("a title, tag, anchor, cause, subject or value is longer than {MAX_NAME_CHARS} characters")]
    NameTooLong,
    /// Details or quotes are too long.
    #[error("details or a quote are longer than 1 MiB")]
    TextTooLong,
    /// There are too many tags, quotes or anchors.
    #[error("there are more than {MOST_PARTS} tags, quotes or anchors")]
    TooMany,
    /// A number is outside 0 to 1.
    #[error("importance and certainty are numbers from 0 to 1")]
    OutOfRange,
    /// Its validity ends before it begins.
    #[error("it cannot be valid until a time before it is valid")]
    Reversed,
    /// The fields are those of another kind.
    #[error("the fields are those of another kind of memory")]
    WrongFields,
    /// A quote is empty.
    #[error("a piece of evidence needs the words that it quotes")]
    NoQuote,
}

/// Returns whether a character can be seen: a letter, a digit, a mark or a sign.
fn is_seen(letter: char) -> bool {
    let is_sign =
        matches!(letter, '\u{a1}'..='\u{ac}' | '\u{2190}'..='\u{2bff}' | '\u{3001}'..='\u{303f}' | '\u{1f000}'..='\u{1faff}');
    letter.is_alphanumeric() || letter.is_ascii_punctuation() || is_sign
}

/// Checks a record for storing.
///
/// # Errors
/// The first [`Invalid`] that applies.
pub fn check(memory: &Memory) -> Result<(), Invalid> {
    let is_name = |text: &str| text.chars().nth(MAX_NAME_CHARS).is_none();
    let is_share = |value: f32| (0.0..=1.0).contains(&value);
    let asserted = memory.asserts.iter().flat_map(|asserts| [&asserts.subject, &asserts.value]);
    let names = memory.title.iter().chain(&memory.tags).chain(asserted).map(String::as_str);
    let names = names.chain(memory.cause.as_ref().and_then(StatusCause::text));
    let mut names = names.chain(memory.anchors.iter().map(|anchor| anchor.text.as_str()));
    let mut texts = memory.details.iter().chain(memory.evidence.iter().map(|evidence| &evidence.quote));
    match () {
        () if !memory.statement.chars().any(is_seen) => Err(Invalid::Empty),
        () if memory.statement.chars().nth(MAX_STATEMENT_CHARS).is_some() => Err(Invalid::TooLong),
        () if !names.all(is_name) => Err(Invalid::NameTooLong),
        () if texts.any(|text| text.len() > MAX_TEXT_BYTES) => Err(Invalid::TextTooLong),
        () if [memory.tags.len(), memory.evidence.len(), memory.anchors.len()].iter().any(|count| *count > MOST_PARTS) => {
            Err(Invalid::TooMany)
        }
        () if !is_share(memory.importance) || !is_share(memory.certainty) => Err(Invalid::OutOfRange),
        () if memory.valid_from.zip(memory.valid_until).is_some_and(|(from, until)| until < from) => Err(Invalid::Reversed),
        () if !memory.fields.fit(memory.kind) => Err(Invalid::WrongFields),
        () if memory.evidence.iter().any(|evidence| evidence.quote.trim().is_empty()) => Err(Invalid::NoQuote),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Memory {
        Memory::new(MemoryId::new(1, [7; 10]), MemoryKind::Decision, "Leases live in SQLite.", 1)
    }

    #[test]
    fn what_is_wrong_with_a_record_is_named() {
        let with = |change: fn(&mut Memory)| {
            let mut memory = memory();
            change(&mut memory);
            check(&memory)
        };
        assert_eq!(check(&memory()), Ok(()));
        for (change, expected) in [
            ((|memory| memory.statement = " \n\u{200b}\u{1}\u{1b}".to_owned()) as fn(&mut Memory), Invalid::Empty),
            (|memory| memory.statement = "x".repeat(MAX_STATEMENT_CHARS + 1), Invalid::TooLong),
            (|memory| memory.title = Some("x".repeat(201)), Invalid::NameTooLong),
            (|memory| memory.details = Some("x".repeat(1024 * 1024 + 1)), Invalid::TextTooLong),
            (|memory| memory.tags = (0..101).map(|tag| tag.to_string()).collect(), Invalid::TooMany),
            (|memory| memory.importance = f32::NAN, Invalid::OutOfRange),
            (|memory| (memory.valid_from, memory.valid_until) = (Some(2), Some(1)), Invalid::Reversed),
            (|memory| memory.fields = Fields::Open { is_closed: true }, Invalid::WrongFields),
            (
                |memory| memory.evidence = vec![Evidence { turn: TurnId::from_bytes([1; 16]), quote: " ".to_owned() }],
                Invalid::NoQuote,
            ),
        ] {
            assert_eq!(with(change), Err(expected));
        }
    }

    #[test]
    fn sets_are_sorted_and_hold_each_member_once() {
        let anchor = |text: &str| Anchor { kind: AnchorKind::SourceFile, text: text.to_owned() };
        let quote = |quote: &str| Evidence { turn: TurnId::from_bytes([1; 16]), quote: quote.to_owned() };
        let memory = Memory {
            tags: vec!["tide ".to_owned(), "berth".to_owned(), " ".to_owned(), "tide".to_owned()],
            anchors: vec![anchor("b.rs"), anchor("a.rs"), anchor("b.rs")],
            evidence: vec![quote("second"), quote("first"), quote("second")],
            ..memory()
        }
        .normalised();
        assert_eq!(memory.tags, ["berth", "tide"]);
        assert_eq!(memory.anchors, [anchor("a.rs"), anchor("b.rs")]);
        assert_eq!(memory.evidence, [quote("second"), quote("first")], "in its order");
    }
}
