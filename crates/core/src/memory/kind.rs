//! Kinds of memories (decision, solution, standard, ...), their names in other designs, and how each kind becomes outdated.

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
    /// consolidated.
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

    /// Returns the factor of the score of a memory of this kind when memories are ranked.
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

/// Maximum number of characters of a text that is one statement by its length; a longer one is a note.
const SHORT_CHARS: usize = 500;
/// Words that make a statement a rule, at its beginning or anywhere.
const ORDERS: [&str; 15] = [
    "always",
    "never",
    "do not",
    "don't",
    "must",
    "should",
    "use",
    "avoid",
    "ensure",
    "make sure",
    "keep",
    "write",
    "no",
    "ask",
    "run",
];
const ORDERS_ANYWHERE: [&str; 7] = [" must ", " never ", " always ", " do not ", " don't ", " should ", " instead of "];
/// Words that other kinds of statements begin with.
const DECISIONS: [&str; 4] = ["we decided", "decided to", "decision", "we chose"];
const TODOS: [&str; 3] = ["todo", "to do", "fixme"];
const WISHES: [&str; 5] = ["prefer", "i prefer", "i like", "i want", "we prefer"];

impl MemoryKind {
    /// Returns the kind of a statement by the words that it begins with or has, [`Self::Fact`] if they tell nothing.
    ///
    /// ```
    /// use yore_core::memory::MemoryKind;
    /// assert_eq!(MemoryKind::of_statement("**Never** log a token."), MemoryKind::Standard);
    /// assert_eq!(MemoryKind::of_statement("Nottingham is far."), MemoryKind::Fact);
    /// ```
    pub fn of_statement(statement: &str) -> Self {
        let plain = statement.trim_start_matches(['*', '_', '`', '"']).to_lowercase();
        let begins = |words: &[&str]| {
            words.iter().any(|word| plain.strip_prefix(word).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)))
        };
        match () {
            () if begins(&WISHES) => Self::Preference,
            () if begins(&DECISIONS) => Self::Decision,
            () if begins(&TODOS) => Self::Todo,
            () if begins(&ORDERS) || ORDERS_ANYWHERE.iter().any(|word| plain.contains(word)) => Self::Standard,
            () => Self::Fact,
        }
    }

    /// Returns the kind of a text that is one statement, because it has one line of at most 500 characters; `None` for a
    /// longer text, which is a note.
    ///
    /// ```
    /// use yore_core::memory::MemoryKind;
    /// assert_eq!(MemoryKind::of_short_text("Who owns the pager?\n"), Some(MemoryKind::Question));
    /// assert_eq!(MemoryKind::of_short_text("The crane opens at six.\nAlways."), None);
    /// ```
    pub fn of_short_text(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_short = !text.contains('\n') && text.chars().nth(SHORT_CHARS).is_none();
        is_short.then(|| if text.ends_with('?') { Self::Question } else { Self::of_statement(text) })
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
    fn types_of_the_second_design_are_those_that_it_infers() {
        for (names, memory_type) in [
            (["research", "insight", "resource"].as_slice(), MemoryType::Semantic),
            (&["decision", "attempt"], MemoryType::Episodic),
            (&["user_input"], MemoryType::Preference),
        ] {
            for name in names {
                assert_eq!(MemoryKind::parse(name).unwrap().memory_type(), memory_type, "{name}");
            }
        }
    }
}
