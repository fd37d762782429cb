//! Phases, decisions and statistics of consolidation: how new memories meet known ones.
//!
//! A known memory's kind says what may become of it: [`crate::memory::MemoryKind::when_outdated`].

use serde::{Deserialize, Serialize};

named_enum! {
    /// A phase of consolidation; they are gone through in this order (eight with the first).
    Phase {
        /// The statements are brought into the form by which they are compared: words, runs of words, vectors.
        Embed = "embed",
        /// The names of things are read from the statements.
        ExtractEntities = "extract entities",
        /// The things that are known by these names are looked up.
        SearchEntities = "search entities",
        /// Each name becomes a known thing or a new one.
        ResolveEntities = "resolve entities",
        /// The statements are checked: their form, their evidence, what a person rejected.
        ExtractMemories = "extract memories",
        /// The known memories that each may repeat, replace or contradict are found.
        RetrieveContext = "retrieve context",
        /// Each statement is compared with them.
        ResolveMemories = "resolve memories",
        /// Memories, entities and relations are written, all or none.
        WriteGraph = "write graph",
    }
}

named_enum! {
    /// A decision about a new statement.
    Decision {
        /// It is a memory of its own.
        Add = "add",
        /// It is known: the known memory gets its evidence.
        Skip = "skip",
        /// It takes the place of a known memory, which it makes more exact or gives another value.
        Update = "update",
        /// It says that a known memory is no longer so, and takes its place.
        Invalidate = "invalidate",
        /// It cannot hold together with a known memory, and nobody knows which of them does.
        Contest = "contest",
        /// A person decided against it before, or it cannot be stored.
        Refuse = "refuse",
    }
}

/// The work of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseWork {
    /// Number of things that it handled: statements, names, known memories.
    pub count: u64,
    /// Its time in microseconds.
    pub micros: u64,
}

/// PipelineStatistics of a consolidation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PipelineStatistics {
    phases: [PhaseWork; Phase::ALL.len()],
    decisions: [u64; Decision::ALL.len()],
    /// Calls of a language model that gave an answer.
    pub calls: u64,
    /// Calls that were repeated because the answer had not the form that was asked for.
    pub retries: u64,
}

impl PipelineStatistics {
    /// Counts what a phase handled, and its time in microseconds.
    pub fn worked(&mut self, phase: Phase, count: u64, micros: u64) {
        let work = &mut self.phases[phase as usize];
        work.count += count;
        work.micros += micros;
    }

    /// Counts a decision.
    pub fn decided(&mut self, decision: Decision) {
        self.decisions[decision as usize] += 1;
    }

    /// Returns the phases in order.
    pub fn phases(&self) -> impl Iterator<Item = (Phase, PhaseWork)> {
        Phase::ALL.iter().copied().zip(self.phases)
    }

    /// Returns the decisions with their counts.
    pub fn decisions(&self) -> impl Iterator<Item = (Decision, u64)> {
        Decision::ALL.iter().copied().zip(self.decisions)
    }

    /// Adds the statistics of another run.
    pub fn add(&mut self, other: &Self) {
        for (phase, work) in other.phases() {
            self.worked(phase, work.count, work.micros);
        }
        for (own, more) in self.decisions.iter_mut().zip(other.decisions) {
            *own += more;
        }
        self.calls += other.calls;
        self.retries += other.retries;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_eight_phases_from_words_to_the_graph() {
        let names: Vec<&str> = Phase::ALL.iter().map(|phase| phase.as_str()).collect();
        assert_eq!(
            names,
            [
                "embed",
                "extract entities",
                "search entities",
                "resolve entities",
                "extract memories",
                "retrieve context",
                "resolve memories",
                "write graph"
            ]
        );
    }

    #[test]
    fn statistics_add_up_by_phase_and_decision() {
        let mut one = PipelineStatistics { calls: 1, ..PipelineStatistics::default() };
        one.worked(Phase::Embed, 2, 30);
        one.decided(Decision::Skip);
        let mut both = one.clone();
        one.retries = 3;
        both.add(&one);
        assert_eq!((both.calls, both.retries), (2, 3));
        assert!(both.decisions().all(|(decision, count)| count == if decision == Decision::Skip { 2 } else { 0 }));
        assert_eq!(both.phases().next(), Some((Phase::Embed, PhaseWork { count: 4, micros: 60 })));
        assert_eq!(both.phases().last(), Some((Phase::WriteGraph, PhaseWork::default())));
    }
}
