//! Merges a repeated statement into the known memory, and refuses what a person rejected: [`Memory::absorb`]. It is one pure
//! function for every way in which a statement arrives.

use super::{Event, Lane, Memory, SourceKind, Status};
use crate::time::UtcMillis;

/// Most evidence that an extractor gives a memory; a person may give more.
const MOST_EVIDENCE: usize = 40;
/// A repetition by the person in another session adds this to importance.
pub const REPEATED: f32 = 0.1;

/// The way in which a repeated statement arrived; it decides what of the known memory may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A person noted it, or a file of rules states it: an extracted memory becomes a person's.
    ByHand,
    /// An extractor or a model found it in a conversation.
    Extracted {
        /// True if its words say more of the same commands, so that they take the place of the known ones.
        says_more: bool,
    },
    /// The file from which the memory was read was read again.
    FileRead {
        /// True if a person changed title or details by hand: they stay.
        keeps_words: bool,
    },
    /// An export contains the same record.
    Exported {
        /// True if this memory wrote the export, or a person vouches for it.
        is_trusted: bool,
    },
}

/// The result of absorbing a repeated statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Absorbed {
    /// A person rejected, replaced, put away or forgot the known memory, or nobody vouches for the change: nothing is stored.
    Refused,
    /// The known memory has all of it already.
    Known,
    /// The known memory as it is from now on.
    Changed(Box<Memory>),
}

impl Memory {
    /// Returns what becomes of this memory when the same statement arrives again.
    pub fn absorb(&self, incoming: &Self, arrival: Arrival, now: UtcMillis) -> Absorbed {
        // A statement of the person's own sessions is theirs, in their words and with the trust that these earn.
        let is_own_now = self.is_shared() && self.is_in_effect() && !incoming.is_shared();
        match arrival {
            Arrival::ByHand | Arrival::Extracted { .. } if is_own_now => {
                let (id, recorded, is_pinned) = (self.id, self.recorded, self.is_pinned);
                Absorbed::Changed(Box::new(Self { id, recorded, is_pinned, changed: now, ..incoming.clone() }))
            }
            Arrival::ByHand => self.changed_to(self.noted_again(incoming, now)),
            Arrival::Extracted { says_more } => self.extracted_again(incoming, says_more, now),
            Arrival::FileRead { keeps_words } => self.changed_to(self.read_again(incoming, keeps_words, now)),
            Arrival::Exported { .. } if self.changed >= incoming.changed => Absorbed::Known,
            Arrival::Exported { is_trusted: false } => Absorbed::Refused,
            Arrival::Exported { is_trusted: true } => Absorbed::Changed(Box::new(incoming.clone())),
        }
    }

    fn changed_to(&self, after: Self) -> Absorbed {
        if after == *self { Absorbed::Known } else { Absorbed::Changed(Box::new(after)) }
    }

    /// Returns this memory with what another one with the same statement has beyond it.
    fn joined(&self, other: Self, now: UtcMillis) -> Self {
        let mut joined = self.clone();
        joined.evidence.extend(other.evidence);
        joined.tags.extend(other.tags);
        joined.anchors.extend(other.anchors);
        joined.title = joined.title.or(other.title);
        joined.details = joined.details.or(other.details);
        joined.asserts = joined.asserts.or(other.asserts);
        let joined = joined.normalised();
        if joined == *self { joined } else { Self { changed: now, ..joined } }
    }

    fn noted_again(&self, incoming: &Self, now: UtcMillis) -> Self {
        let mut joined = self.joined(incoming.clone(), now);
        if joined.lane == Lane::Extracted && incoming.lane == Lane::Curated {
            (joined.lane, joined.confidence) = (Lane::Curated, incoming.confidence);
            (joined.source, joined.changed) = (incoming.source.clone(), now);
            joined.reach = incoming.reach;
            joined = joined.after(&Event::Vouched, now).unwrap_or(joined);
        }
        joined
    }

    fn extracted_again(&self, incoming: &Self, says_more: bool, now: UtcMillis) -> Absorbed {
        let was_put_away = self.is_unproposed();
        if incoming.status == Status::Proposed && self.status != Status::Proposed && !was_put_away {
            return self.said_in_doubt(incoming, now);
        }
        // A memory that waits for a review holds once the person says it without doubt.
        let is_said = incoming.status == Status::Holds && incoming.source.kind == SourceKind::User;
        let is_back = was_put_away || self.status == Status::Proposed && is_said;
        // One that was replaced automatically gets evidence of the time when it was so.
        if !self.is_in_effect() && !is_back && !self.was_replaced_by_itself() && self.status != Status::Proposed {
            return Absorbed::Refused;
        }
        // A person's memory gets evidence, and no words.
        let offered = match self.lane {
            Lane::Curated => {
                Self { title: None, details: None, tags: Vec::new(), anchors: Vec::new(), asserts: None, ..incoming.clone() }
            }
            Lane::Extracted => incoming.clone(),
        };
        let mut changed = self.joined(offered, now);
        if is_back {
            let again = Event::ProposedAgain { waits: incoming.status == Status::Proposed };
            changed = changed.after(&again, now).unwrap_or(changed);
        }
        if self.status == Status::Proposed && is_back {
            // It rests on what was said without doubt.
            (changed.source, changed.valid_from) = (incoming.source.clone(), incoming.valid_from);
            (changed.confidence, changed.certainty) = (incoming.confidence, incoming.certainty);
            changed.evidence.retain(|evidence| !incoming.evidence.contains(evidence));
            changed.evidence.splice(0..0, incoming.evidence.iter().cloned());
        }
        if changed == *self {
            return Absorbed::Known;
        }
        // A pinned memory keeps its own words.
        if self.lane == Lane::Extracted && !self.is_pinned && says_more {
            changed.statement.clone_from(&incoming.statement);
            changed.evidence.clone_from(&incoming.evidence);
            changed.source.clone_from(&incoming.source);
        }
        changed.evidence.truncate(MOST_EVIDENCE.max(self.evidence.len()));
        if self.lane == Lane::Extracted && is_said && incoming.source.session != self.source.session {
            changed.importance = (changed.importance + REPEATED).min(1.0);
        }
        Absorbed::Changed(Box::new(changed))
    }

    /// Returns what becomes of a memory that is said again in words that may be nobody's: one that rests on these words alone waits for a
    /// review from now on.
    fn said_in_doubt(&self, incoming: &Self, now: UtcMillis) -> Absorbed {
        if !self.is_in_effect() {
            return if self.was_replaced_by_itself() { Absorbed::Known } else { Absorbed::Refused };
        }
        let is_same_turn = |turn| incoming.evidence.iter().any(|other| other.turn == turn);
        let rests_on_it = !self.evidence.is_empty() && self.evidence.iter().all(|evidence| is_same_turn(evidence.turn));
        match self.after(&Event::Doubted, now) {
            Some(doubted) if rests_on_it && self.lane == Lane::Extracted && !self.is_pinned => {
                Absorbed::Changed(Box::new(Self { source: incoming.source.clone(), ..doubted }))
            }
            _ => Absorbed::Known,
        }
    }

    fn read_again(&self, incoming: &Self, keeps_words: bool, now: UtcMillis) -> Self {
        let mut changed = self.after(&Event::InFileAgain, now).unwrap_or_else(|| self.clone());
        if changed.is_in_effect() {
            changed.source.place.clone_from(&incoming.source.place);
            if !keeps_words {
                // Another file may say the same without a heading.
                changed.title = incoming.title.clone().or(changed.title);
                changed.details = incoming.details.clone().or(changed.details);
            }
        }
        let is_moved = Self { source: self.source.clone(), ..changed.clone() } == *self;
        if is_moved { changed } else { Self { changed: now, ..changed } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{MemoryId, TurnId};
    use crate::memory::{Evidence, MemoryKind, PutAway, Replacement, StatusCause};

    const NOW: UtcMillis = 1_000;

    fn memory(lane: Lane, status: Status) -> Memory {
        let memory = Memory::new(MemoryId::from_bytes([1; 16]), MemoryKind::Fact, "The gauge polls every minute.", 10);
        Memory { lane, status, ..memory }
    }

    fn said(turn: u8, kind: SourceKind) -> Memory {
        let mut said = memory(Lane::Extracted, Status::Holds);
        said.evidence = vec![Evidence { turn: TurnId::derive("a", "b", &turn.to_string(), 0), quote: "polls".to_owned() }];
        (said.source.kind, said.source.session) = (kind, Some(turn.to_string()));
        said
    }

    const EXTRACTED: Arrival = Arrival::Extracted { says_more: false };

    fn changed(absorbed: Absorbed) -> Memory {
        match absorbed {
            Absorbed::Changed(memory) => *memory,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_person_decided_is_not_undone_by_a_repetition_in_any_way_of_arrival_that_no_person_stands_behind() {
        let known = memory(Lane::Extracted, Status::Holds);
        let decided = [
            known.after(&Event::FoundWrong { reason: None }, NOW),
            known.after(&Event::PutAway(PutAway::Wanted), NOW),
            known.after(&Event::Forgotten, NOW),
            known.after(&Event::Replaced { since: None, why: Replacement::Stated(None) }, NOW),
        ];
        for known in decided.map(Option::unwrap) {
            for incoming in [said(1, SourceKind::User), said(1, SourceKind::Rule), said(1, SourceKind::User).waiting_for_review()]
            {
                assert_eq!(known.absorb(&incoming, EXTRACTED, NOW), Absorbed::Refused, "{known:?}");
            }
        }
    }

    #[test]
    fn what_a_colleague_shared_becomes_the_persons_when_they_say_it_and_lends_it_no_trust() {
        let mut shared = memory(Lane::Extracted, Status::Holds);
        (shared.source.kind, shared.confidence) = (SourceKind::Colleague, crate::memory::Confidence::Speculative);
        shared.details = Some("Trust me.".to_owned());
        assert!(shared.is_shared());
        for (incoming, arrival) in
            [(said(1, SourceKind::User), EXTRACTED), (memory(Lane::Curated, Status::Holds), Arrival::ByHand)]
        {
            let own = changed(shared.absorb(&incoming, arrival, NOW));
            assert_eq!(own, Memory { recorded: shared.recorded, changed: NOW, ..incoming.clone() });
            assert!(!own.is_shared());
        }
    }

    #[test]
    fn each_arrival_changes_what_it_may_and_no_more() {
        let known = memory(Lane::Extracted, Status::Holds);
        let again = changed(known.absorb(&said(1, SourceKind::User), EXTRACTED, NOW));
        assert_eq!((again.evidence.len(), again.lane), (1, Lane::Extracted));
        assert!((again.importance - known.importance - REPEATED).abs() < 1e-6);
        assert_eq!(again.absorb(&said(1, SourceKind::User), EXTRACTED, NOW), Absorbed::Known);

        let by_hand = changed(known.absorb(&memory(Lane::Curated, Status::Holds), Arrival::ByHand, NOW));
        assert_eq!((by_hand.lane, by_hand.status), (Lane::Curated, Status::Holds));

        let curated = memory(Lane::Curated, Status::Holds);
        let offered = Memory { title: Some("Other".to_owned()), tags: vec!["x".to_owned()], ..said(1, SourceKind::Rule) };
        let again = changed(curated.absorb(&offered, EXTRACTED, NOW));
        assert_eq!((again.title, again.tags, again.evidence.len()), (None, Vec::new(), 1), "a person's words stay");

        let newer = Memory { changed: NOW, is_pinned: true, ..known.clone() };
        assert_eq!(known.absorb(&newer, Arrival::Exported { is_trusted: false }, NOW), Absorbed::Refused);
        assert!(changed(known.absorb(&newer, Arrival::Exported { is_trusted: true }, NOW)).is_pinned);
        assert_eq!(newer.absorb(&known, Arrival::Exported { is_trusted: true }, NOW), Absorbed::Known);
    }

    #[test]
    fn words_in_doubt_make_a_memory_wait_that_rests_on_them_alone() {
        let known = said(1, SourceKind::User);
        let doubtful = said(1, SourceKind::User).waiting_for_review();
        assert_eq!(changed(known.absorb(&doubtful, EXTRACTED, NOW)).status, Status::Proposed);
        let elsewhere = said(2, SourceKind::User).waiting_for_review();
        assert_eq!(known.absorb(&elsewhere, EXTRACTED, NOW), Absorbed::Known);
        assert_eq!(Memory { is_pinned: true, ..known }.absorb(&doubtful, EXTRACTED, NOW), Absorbed::Known);
    }

    #[test]
    fn a_file_that_says_it_again_takes_it_out_and_keeps_what_a_person_wrote() {
        let known =
            memory(Lane::Curated, Status::Holds).after(&Event::PutAway(PutAway::GoneFrom("a.md".to_owned())), 20).unwrap();
        assert!(matches!(known.cause, Some(StatusCause::GoneFrom { .. })));
        let incoming = Memory { title: Some("New".to_owned()), ..memory(Lane::Curated, Status::Holds) };
        let back = changed(known.absorb(&incoming, Arrival::FileRead { keeps_words: true }, NOW));
        assert_eq!((back.status, back.title.as_deref()), (Status::Holds, None));
        let back = changed(known.absorb(&incoming, Arrival::FileRead { keeps_words: false }, NOW));
        assert_eq!(back.title.as_deref(), Some("New"));
    }
}
