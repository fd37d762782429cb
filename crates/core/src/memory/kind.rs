//! Kinds of memories (decision, solution, standing order, ...), their names in other designs, and how each kind becomes outdated.

named_enum! {
    /// The kind of a memory.
    #[derive(Default)]
    MemoryKind {
        /// How something works, written down.
        Documentation = "documentation",
        /// Code worth keeping.
        Code = "code",
        /// A problem and what solved it.
        Solution = "solution",
        /// A way of doing things that recurs.
        Pattern = "pattern",
        /// What was decided.
        Decision = "decision",
        /// A rule that work has to follow.
        Standard = "standard",
        /// What somebody likes better.
        Preference = "preference",
        /// What follows from something.
        Conclusion = "conclusion",
        /// A question, open or answered.
        Question = "question",
        /// A problem without a solution so far.
        Problem = "problem",
        /// Something to be done, or done.
        Todo = "todo",
        /// Circumstances in which other statements are to be read.
        Context = "context",
        /// What was found out by research.
        Research = "research",
        /// What somebody came to understand.
        Insight = "insight",
        /// Something to use: a page, a tool, a file.
        Resource = "resource",
        /// What was tried.
        Attempt = "attempt",
        /// What the person said.
        UserInput = "user_input",
        /// What is so.
        #[default]
        Fact = "fact",
        /// What happened.
        Event = "event",
        /// What was noticed.
        Observation = "observation",
        /// What somebody thinks of what happened.
        Reflection = "reflection",
        /// The summary of a category.
        CategorySummary = "category_summary",
    }
}

named_enum! {
    /// The way in which a memory behaves.
    #[derive(Default)]
    MemoryType {
        /// Something that happened once.
        Episodic = "episodic",
        /// Something that is so.
        #[default]
        Semantic = "semantic",
        /// How something is done.
        Procedural = "procedural",
        /// What somebody wants.
        Preference = "preference",
    }
}

/// A design whose kinds have other names or fewer: see `docs/design-defaults.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// S1: eight types of chunks.
    Chunks,
    /// S2: six types of nodes.
    Nodes,
    /// S4: seven intents of ideas.
    Ideas,
    /// S5: types of memories in capitals.
    Notes,
}

impl Design {
    /// Returns the design's names of kinds.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Chunks => {
                &["documentation", "code", "solution", "pattern", "decision", "standard", "preference", "category_summary"]
            }
            Self::Nodes => &["research", "insight", "decision", "resource", "attempt", "user_input"],
            Self::Ideas => &["decision", "conclusion", "question", "problem", "solution", "todo", "context"],
            Self::Notes => &["FACT", "PREFERENCE", "EVENT"],
        }
    }

    /// Returns the kind with a name of this design; an unknown name has none.
    pub fn kind(self, name: &str) -> Option<MemoryKind> {
        let is_known = self.names().contains(&name);
        is_known.then(|| MemoryKind::parse(&name.to_lowercase())).flatten()
    }
}

/// The fate of a statement that is no longer so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outdated {
    /// Another statement takes its place, and it is shown as what was so before.
    Replaced,
    /// It is closed: answered, solved, done.
    Closed,
    /// It tells what happened or was tried, and stays true.
    Kept,
}

/// Words by which a question asks for a kind; more than one kind may be asked for.
const ASKED: &[(MemoryKind, &[&str])] = &[
    (MemoryKind::Decision, &["decision", "decisions", "decide", "decided"]),
    (MemoryKind::Preference, &["preference", "preferences", "prefer", "prefers", "preferred"]),
    (MemoryKind::Question, &["open question", "open questions", "unanswered"]),
    (MemoryKind::Problem, &["open problem", "open problems", "known issues", "unsolved"]),
    (MemoryKind::Todo, &["todo", "todos", "to do"]),
    (MemoryKind::Solution, &["solution", "solutions", "solve", "solved", "fix", "fixed"]),
    (MemoryKind::Pattern, &["pattern", "patterns"]),
    (MemoryKind::Standard, &["standard", "standards", "convention", "conventions", "guideline", "guidelines"]),
    (MemoryKind::Conclusion, &["conclusion", "conclusions"]),
    (MemoryKind::Insight, &["insight", "insights"]),
    (MemoryKind::Attempt, &["attempt", "attempts", "tried"]),
];

impl MemoryKind {
    /// Kinds of statements that are open until somebody answers, solves or does them.
    pub const OPEN: [Self; 3] = [Self::Question, Self::Problem, Self::Todo];

    /// Returns whether a statement of this kind tells what is so, which another statement may contradict or replace.
    pub const fn is_state(self) -> bool {
        matches!(self.when_outdated(), Outdated::Replaced)
    }

    /// Returns whether a memory of this kind may take the place of one of another: what is open takes that of nothing that holds.
    pub fn may_replace(self, older: Self) -> bool {
        self.when_outdated() != Outdated::Closed || older.when_outdated() != Outdated::Replaced
    }

    /// Returns what becomes of a statement of this kind when it is no longer so: the table of rules by which memories are
    /// consolidated (S5-060).
    pub const fn when_outdated(self) -> Outdated {
        match self {
            Self::Documentation
            | Self::Code
            | Self::Pattern
            | Self::Decision
            | Self::Standard
            | Self::Preference
            | Self::Conclusion
            | Self::Context
            | Self::Research
            | Self::Insight
            | Self::Resource
            | Self::UserInput
            | Self::Fact
            | Self::Observation => Outdated::Replaced,
            Self::Question | Self::Problem | Self::Todo => Outdated::Closed,
            Self::Solution | Self::Attempt | Self::Event | Self::Reflection | Self::CategorySummary => Outdated::Kept,
        }
    }

    /// Returns the kinds that a question asks for by name.
    ///
    /// ```
    /// use yore_core::memory::MemoryKind;
    /// assert_eq!(MemoryKind::asked_in("Decisions about the queue?"), [MemoryKind::Decision]);
    /// assert!(MemoryKind::asked_in("Where is the queue?").is_empty());
    /// ```
    pub fn asked_in(question: &str) -> Vec<Self> {
        let letters = |letter: char| if letter.is_alphanumeric() { letter } else { ' ' };
        let plain: String = question.to_lowercase().chars().map(letters).collect();
        let plain = format!(" {} ", plain.split_whitespace().collect::<Vec<_>>().join(" "));
        let is_asked = |words: &[&str]| words.iter().any(|word| plain.contains(&format!(" {word} ")));
        ASKED.iter().filter(|(_, words)| is_asked(words)).map(|(kind, _)| *kind).collect()
    }

    /// Returns the factor of the score of a memory of this kind when memories are ranked (S1-085, C-068).
    pub const fn boost(self) -> f32 {
        match self {
            Self::CategorySummary => 1.3,
            Self::Solution => 1.2,
            Self::Pattern => 1.15,
            Self::Decision => 1.1,
            Self::Standard => 1.05,
            Self::Preference => 0.9,
            _ => 1.0,
        }
    }

    /// Returns the name that comes nearest in a design; `Design::kind` of the design's own names is the
    /// inverse of this.
    pub fn name_in(self, design: Design) -> &'static str {
        if let Some(name) = design.names().iter().find(|name| design.kind(name) == Some(self)) {
            return name;
        }
        match design {
            Design::Chunks => match self {
                Self::Question | Self::Problem | Self::Attempt => "solution",
                Self::Todo | Self::UserInput => "preference",
                _ => "documentation",
            },
            Design::Nodes => match self {
                Self::Solution | Self::Problem | Self::Event => "attempt",
                Self::Standard | Self::Preference | Self::Question | Self::Todo => "user_input",
                Self::Pattern | Self::Conclusion | Self::Observation | Self::Reflection => "insight",
                _ => "resource",
            },
            Design::Ideas => match self {
                Self::Pattern | Self::Insight | Self::Reflection | Self::CategorySummary => "conclusion",
                Self::Standard => "decision",
                Self::Attempt => "problem",
                _ => "context",
            },
            Design::Notes => match self {
                Self::Standard | Self::UserInput => "PREFERENCE",
                Self::Decision | Self::Attempt => "EVENT",
                _ => "FACT",
            },
        }
    }

    /// Returns the type of memories of this kind, unless they say another.
    pub fn memory_type(self) -> MemoryType {
        match self {
            Self::Decision | Self::Attempt | Self::Event | Self::Question | Self::Problem | Self::Todo | Self::Observation => {
                MemoryType::Episodic
            }
            Self::Code | Self::Solution | Self::Pattern | Self::Standard => MemoryType::Procedural,
            Self::Preference | Self::UserInput => MemoryType::Preference,
            Self::Documentation
            | Self::Conclusion
            | Self::Context
            | Self::Research
            | Self::Insight
            | Self::Resource
            | Self::Fact
            | Self::Reflection
            | Self::CategorySummary => MemoryType::Semantic,
        }
    }
}

impl MemoryKind {
    /// Returns the kind with a name of yore or of any design, ignoring case.
    ///
    /// ```
    /// use yore_core::memory::MemoryKind;
    /// assert_eq!(MemoryKind::named("FACT"), Some(MemoryKind::Fact));
    /// assert_eq!(MemoryKind::named("Open-Question"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        Self::parse(&name.to_lowercase().replace('-', "_"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_rule_of_consolidation() {
        let of = |outdated| -> Vec<&str> {
            MemoryKind::ALL.iter().filter(|kind| kind.when_outdated() == outdated).map(|kind| kind.as_str()).collect()
        };
        assert_eq!(of(Outdated::Kept), ["solution", "attempt", "event", "reflection", "category_summary"]);
        assert_eq!(of(Outdated::Closed), ["question", "problem", "todo"]);
        assert_eq!(of(Outdated::Replaced).len(), MemoryKind::ALL.len() - 8);
        assert!(MemoryKind::ALL.iter().all(|kind| kind.is_state() == (kind.when_outdated() == Outdated::Replaced)));
        assert!(MemoryKind::OPEN.iter().all(|kind| kind.when_outdated() == Outdated::Closed));
    }

    #[test]
    fn every_name_of_every_design_is_a_kind_and_that_kind_has_the_name() {
        for design in [Design::Chunks, Design::Nodes, Design::Ideas, Design::Notes] {
            for name in design.names() {
                let kind = design.kind(name).unwrap_or_else(|| panic!("{design:?} {name}"));
                assert_eq!(kind.name_in(design), *name, "{design:?}");
            }
            for kind in MemoryKind::ALL {
                assert!(design.names().contains(&kind.name_in(design)), "{design:?} {kind:?}");
            }
            assert_eq!(design.kind("idea"), None);
        }
    }

    #[test]
    fn types_of_the_second_design_are_those_that_it_infers() {
        for (names, memory_type) in [
            (["research", "insight", "resource"].as_slice(), MemoryType::Semantic),
            (&["decision", "attempt"], MemoryType::Episodic),
            (&["user_input"], MemoryType::Preference),
        ] {
            for name in names {
                assert_eq!(Design::Nodes.kind(name).unwrap().memory_type(), memory_type, "{name}");
            }
        }
    }
}
