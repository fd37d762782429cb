//! State machine of a memory: events, statuses and causes; [`Memory::after`] is its transition function.
//!
//! [`Memory::after`] is the only place that gives a known memory another status, with its [`StatusCause`].

use super::{Lane, Memory, SourceKind, Status, StatusCause};
use crate::conflict::{ConflictKind, SURE};
use crate::id::MemoryId;
use crate::relation::{Basis, Relation};
use crate::time::UtcMillis;

/// Most characters of a value in a cause.
const VALUE_CHARS: usize = 60;

/// Something that happens to a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Another memory supersedes it.
    Replaced {
        /// Since when the other one is true, if that is known.
        since: Option<UtcMillis>,
        /// Why.
        why: Replacement,
    },
    /// Another memory contradicts it, and nobody has settled that.
    Contested {
        /// The other one.
        by: MemoryId,
    },
    /// Nothing that it was contested for is left.
    Released,
    /// A person says it, in the same words or in others.
    Vouched,
    /// A person confirms it.
    Confirmed {
        /// True if no memory is left that superseded it.
        is_left_alone: bool,
    },
    /// The memory that superseded it automatically should not have been recorded.
    Revived,
    /// A person says that it is wrong.
    FoundWrong {
        /// Why.
        reason: Option<String>,
    },
    /// It rests on words alone that may not be a person's.
    Doubted,
    /// It is put away.
    PutAway(PutAway),
    /// It is forgotten softly.
    Forgotten,
    /// It is taken out again, after it was put away or forgotten.
    TakenOut,
    /// Its extractor proposes it again.
    ProposedAgain {
        /// True if the proposal waits for a review.
        waits: bool,
    },
    /// Its file says it again.
    InFileAgain,
}

/// A reason why a memory supersedes another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// Somebody said so, and perhaps why.
    Stated(Option<String>),
    /// Automatically: it gives another value of the same than this one.
    OtherValue(String),
    /// Automatically: it says that this one is no longer so.
    NoLongerSo,
    /// Automatically: a model found that this one is no longer so.
    DeniedByModel,
    /// Automatically: a model found that this one changes it.
    ChangedByModel,
    /// Automatically: the branch of the other one was merged.
    BranchMerged,
}

/// A reason why a memory is put away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutAway {
    /// Somebody wanted that.
    Wanted,
    /// Another memory says the same.
    SameAs(MemoryId),
    /// This extractor proposes it no more.
    NotProposedBy(String),
    /// This file says it no more.
    GoneFrom(String),
    /// All that it rests on was taken back.
    TakenBack,
}

impl Memory {
    /// Returns whether it was forgotten softly: then no answer has it, whatever it asks for.
    pub fn is_forgotten(&self) -> bool {
        self.status == Status::Archived && matches!(self.cause, Some(StatusCause::Forgotten { .. }))
    }

    /// Returns whether another memory superseded it automatically: then the same may become true again.
    pub fn was_replaced_by_itself(&self) -> bool {
        self.status == Status::Superseded && self.cause.as_ref().is_some_and(StatusCause::is_automatic_replacement)
    }

    /// Returns whether it was put away for this reason.
    fn was_put_away(&self, is_reason: impl Fn(&StatusCause) -> bool) -> bool {
        self.status == Status::Archived && self.cause.as_ref().is_some_and(is_reason)
    }

    /// Returns whether it was put away because another memory has the same content.
    pub fn is_twin(&self) -> bool {
        self.was_put_away(|cause| matches!(cause, StatusCause::SameAs { .. }))
    }

    /// Returns whether it was put away because its extractor no longer proposed it.
    pub fn is_unproposed(&self) -> bool {
        self.was_put_away(|cause| matches!(cause, StatusCause::NotProposedBy { .. }))
    }

    /// Returns whether it was superseded automatically by a memory that denies it.
    pub fn is_denied(&self) -> bool {
        self.status == Status::Superseded && matches!(self.cause, Some(StatusCause::NoLongerSo { .. }))
    }

    /// Returns since when it is true, as far as is known: what somebody gives is so now, a file may be old.
    ///
    /// What was said after `now` was said while a clock was wrong: it counts from when it was recorded, or as older than all else if that
    /// is after `now` too. A person may give a time to come: that is a plan.
    pub fn true_since(&self, now: UtcMillis) -> Option<UtcMillis> {
        let recorded = if self.recorded > now { UtcMillis::MIN } else { self.recorded };
        let said = self.valid_from.filter(|from| *from <= now || self.lane == Lane::Curated);
        said.or(Some(recorded).filter(|_| self.source.kind != SourceKind::Import))
    }

    /// Returns whether it became true after another one; `None` if nobody knows.
    pub fn is_later_than(&self, other: &Self, now: UtcMillis) -> Option<bool> {
        self.true_since(now).zip(other.true_since(now)).filter(|(a, b)| a != b).map(|(a, b)| a > b)
    }

    /// Returns it as one that waits for a review, if it is in effect; for a record that is made.
    pub fn waiting_for_review(self) -> Self {
        if self.is_in_effect() { Self { status: Status::Proposed, ..self } } else { self }
    }

    /// Returns it as it was before its status changed to the present one, if that was at `at` or later; for a view of the past.
    pub fn as_of(self, at: UtcMillis) -> Self {
        if self.status_since.is_some_and(|since| since >= at) {
            Self { status: Status::Holds, status_since: None, cause: None, ..self }
        } else {
            self
        }
    }

    /// Returns it after an event; `None` if the event changes nothing. A change of status is dated `now`.
    pub fn after(&self, event: &Event, now: UtcMillis) -> Option<Self> {
        use Status::{Archived, Contested, Holds, Invalidated, Proposed, Superseded};
        let (status, cause) = match (event, self.status) {
            (Event::Replaced { why, .. }, Holds | Contested | Archived | Proposed) if !self.is_forgotten() => {
                (Superseded, why.cause())
            }
            (Event::Contested { by }, Holds) => (Contested, Some(StatusCause::Contradicts { other: by.short() })),
            (Event::Released, Contested)
            | (Event::Vouched | Event::Confirmed { .. }, Contested | Proposed)
            | (Event::Confirmed { is_left_alone: true }, Superseded) => (Holds, None),
            (Event::Revived, Superseded) if self.was_replaced_by_itself() => (Holds, None),
            (Event::FoundWrong { reason }, _) => (Invalidated, reason.clone().map(|words| StatusCause::Stated { words })),
            (Event::Doubted, Holds | Contested) => (Proposed, None),
            (Event::PutAway(why), Holds | Contested | Proposed) => (Archived, why.cause()),
            (Event::Forgotten, _) if !self.is_forgotten() => {
                let cause = self.cause.clone().map(Box::new);
                (Archived, Some(StatusCause::Forgotten { status: self.status, cause }))
            }
            (Event::TakenOut, Archived) => self.status_before(),
            (Event::ProposedAgain { waits: true }, Archived) if self.is_unproposed() => (Proposed, None),
            (Event::ProposedAgain { waits: false }, Archived) if self.is_unproposed() => (Holds, None),
            (Event::ProposedAgain { waits: false }, Proposed) => (Holds, None),
            (Event::InFileAgain, Archived) if self.was_put_away(|cause| matches!(cause, StatusCause::GoneFrom { .. })) => {
                (Holds, None)
            }
            _ => return None,
        };
        let valid_until = match event {
            Event::Replaced { since, .. } => self.end_of_validity(since.unwrap_or(now)),
            Event::Revived => None,
            Event::Confirmed { .. } if self.status == Superseded => None,
            _ => self.valid_until,
        };
        let status_since = if status == self.status { self.status_since } else { Some(now) };
        let after = Self { status, cause, status_since, valid_until, ..self.clone() };
        if after == *self { None } else { Some(Self { changed: now, ..after }) }
    }

    /// Returns until when it was true if something else is true since `since`: a statement that something older supersedes never was.
    fn end_of_validity(&self, since: UtcMillis) -> Option<UtcMillis> {
        let end = self.valid_until.map_or(since, |until| until.min(since));
        Some(self.valid_from.map_or(end, |from| from.max(end)))
    }

    /// Returns the status that it gets when it is taken out again, and the cause of that.
    fn status_before(&self) -> (Status, Option<StatusCause>) {
        match &self.cause {
            Some(StatusCause::Forgotten { status, cause }) => (*status, cause.as_deref().cloned()),
            _ => (Status::Holds, None),
        }
    }
}

impl Replacement {
    fn cause(&self) -> Option<StatusCause> {
        match self {
            Self::Stated(reason) => reason.clone().map(|words| StatusCause::Stated { words }),
            Self::OtherValue(value) => Some(StatusCause::OtherValue { value: value.chars().take(VALUE_CHARS).collect() }),
            Self::NoLongerSo => Some(StatusCause::NoLongerSo { by_model: false }),
            Self::DeniedByModel => Some(StatusCause::NoLongerSo { by_model: true }),
            Self::ChangedByModel => Some(StatusCause::ChangedByModel),
            Self::BranchMerged => Some(StatusCause::BranchMerged),
        }
    }
}

impl PutAway {
    fn cause(&self) -> Option<StatusCause> {
        match self {
            Self::Wanted => None,
            Self::SameAs(other) => Some(StatusCause::SameAs { other: other.short() }),
            Self::NotProposedBy(extractor) => Some(StatusCause::NotProposedBy { extractor: extractor.clone() }),
            Self::GoneFrom(file) => Some(StatusCause::GoneFrom { file: file.clone() }),
            Self::TakenBack => Some(StatusCause::TakenBack),
        }
    }
}

/// Returns whether a memory that is contested stays so for a contradiction: the other one is in effect, and is a person's, or the
/// contradiction is a clear denial.
pub fn keeps_contested(contradiction: &Relation, other: &Memory) -> bool {
    other.is_in_effect() && (other.lane == Lane::Curated || is_clear_denial(contradiction))
}

/// Returns whether a contradiction was found in the words of both, and one of them surely denies the other.
pub fn is_clear_denial(contradiction: &Relation) -> bool {
    contradiction.weight >= SURE && contradiction.basis == Some(Basis::Conflict(ConflictKind::Direct))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryKind;

    const NOW: UtcMillis = 100;

    fn memory() -> Memory {
        Memory { valid_from: Some(10), ..Memory::new(MemoryId::new(1, [7; 10]), MemoryKind::Fact, "The port is 8080.", 20) }
    }

    /// Every status, with each cause that something depends on.
    fn states() -> Vec<(&'static str, Memory)> {
        let with = |status, cause: Option<&str>| Memory { status, cause: cause.map(StatusCause::of_sentence), ..memory() };
        vec![
            ("holds", memory()),
            ("contested", with(Status::Contested, Some("contradicts 0123456789"))),
            ("proposed", with(Status::Proposed, None)),
            ("replaced", with(Status::Superseded, Some("newer: 8080 has another value since"))),
            ("denied", with(Status::Superseded, Some("newer: it is no longer so"))),
            ("superseded", with(Status::Superseded, Some("we moved"))),
            ("wrong", with(Status::Invalidated, Some("a typo"))),
            ("archived", with(Status::Archived, None)),
            ("forgotten", with(Status::Archived, Some("forgotten, contested: contradicts 0123456789"))),
            ("twin", with(Status::Archived, Some("says the same as 0123456789"))),
            ("unproposed", with(Status::Archived, Some("no longer proposed by rules"))),
            ("gone", with(Status::Archived, Some("no longer in CLAUDE.md"))),
        ]
    }

    fn events() -> Vec<(&'static str, Event)> {
        let replaced = |why| Event::Replaced { since: Some(50), why };
        vec![
            ("replaced", replaced(Replacement::OtherValue("8080".to_owned()))),
            ("denied", replaced(Replacement::NoLongerSo)),
            ("superseded", replaced(Replacement::Stated(Some("we moved".to_owned())))),
            ("contested", Event::Contested { by: MemoryId::new(2, [8; 10]) }),
            ("released", Event::Released),
            ("vouched", Event::Vouched),
            ("confirmed", Event::Confirmed { is_left_alone: false }),
            ("left-alone", Event::Confirmed { is_left_alone: true }),
            ("revived", Event::Revived),
            ("wrong", Event::FoundWrong { reason: Some("a typo".to_owned()) }),
            ("doubted", Event::Doubted),
            ("put-away", Event::PutAway(PutAway::Wanted)),
            ("twin", Event::PutAway(PutAway::SameAs(MemoryId::new(2, [8; 10])))),
            ("unproposed", Event::PutAway(PutAway::NotProposedBy("rules".to_owned()))),
            ("gone", Event::PutAway(PutAway::GoneFrom("CLAUDE.md".to_owned()))),
            ("taken-back", Event::PutAway(PutAway::TakenBack)),
            ("forgotten", Event::Forgotten),
            ("taken-out", Event::TakenOut),
            ("proposed", Event::ProposedAgain { waits: true }),
            ("proposed-surely", Event::ProposedAgain { waits: false }),
            ("in-file", Event::InFileAgain),
        ]
    }

    #[test]
    fn every_event_leads_from_every_state_to_a_state_that_is_named() {
        let mut table = String::new();
        for (event_name, event) in events() {
            let mut reached: Vec<(&str, Vec<&str>)> = Vec::new();
            for (state, before) in states() {
                let Some(after) = before.after(&event, NOW) else { continue };
                assert_eq!(after.changed, NOW);
                assert_eq!(after.status_since, (after.status != before.status).then_some(NOW).or(before.status_since));
                assert_eq!(after.after(&event, NOW + 1), None, "{event_name} twice from {state}");
                let status = after.status.as_str();
                match reached.iter_mut().find(|(known, _)| *known == status) {
                    Some((_, from)) => from.push(state),
                    None => reached.push((status, vec![state])),
                }
            }
            let reached: Vec<String> = reached.iter().map(|(to, from)| format!("{} > {to}", from.join(" "))).collect();
            table.push_str(&format!("{event_name}: {}\n", reached.join("; ")));
        }
        assert_eq!(table, EXPECTED);
    }

    const EXPECTED: &str = "\
replaced: holds contested proposed archived twin unproposed gone > superseded
denied: holds contested proposed archived twin unproposed gone > superseded
superseded: holds contested proposed archived twin unproposed gone > superseded
contested: holds > contested
released: contested > holds
vouched: contested proposed > holds
confirmed: contested proposed > holds
left-alone: contested proposed replaced denied superseded > holds
revived: replaced denied > holds
wrong: holds contested proposed replaced denied superseded archived forgotten twin unproposed gone > invalidated
doubted: holds contested > proposed
put-away: holds contested proposed > archived
twin: holds contested proposed > archived
unproposed: holds contested proposed > archived
gone: holds contested proposed > archived
taken-back: holds contested proposed > archived
forgotten: holds contested proposed replaced denied superseded wrong archived twin unproposed gone > archived
taken-out: archived twin unproposed gone > holds; forgotten > contested
proposed: unproposed > proposed
proposed-surely: proposed unproposed > holds
in-file: gone > holds
";

    #[test]
    fn what_is_replaced_was_true_until_the_other_became_true_however_it_was_replaced() {
        let until = |memory: Memory, since| {
            let event = Event::Replaced { since, why: Replacement::Stated(None) };
            memory.after(&event, NOW).and_then(|after| after.valid_until)
        };
        assert_eq!(until(memory(), Some(50)), Some(50));
        assert_eq!(until(memory(), None), Some(NOW), "the time when it was recorded, if no other is known");
        assert_eq!(until(Memory { valid_until: Some(30), ..memory() }, Some(50)), Some(30), "its own end, if that was earlier");
        assert_eq!(until(memory(), Some(5)), Some(10), "what something older supersedes never was");
        assert!(
            !memory().after(&Event::Replaced { since: Some(5), why: Replacement::Stated(None) }, NOW).unwrap().is_valid_at(60)
        );
    }

    #[test]
    fn what_is_forgotten_softly_gets_its_status_back() {
        for (state, before) in states().into_iter().filter(|(state, _)| *state != "forgotten") {
            let forgotten = before.after(&Event::Forgotten, NOW).unwrap();
            assert!(forgotten.is_forgotten() && !before.is_forgotten());
            let back = forgotten.after(&Event::TakenOut, NOW).unwrap_or(forgotten);
            assert_eq!((back.status, &back.cause), (before.status, &before.cause), "{state}");
        }
    }
}
