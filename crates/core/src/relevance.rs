//! Computes the confidence that a memory concerns a prompt, so that it is worth injecting.
//!
//! - [`Wording`]: signs in a prompt's own words that it needs memory
//! - [`Signs`], [`confidence`]: the probability that a memory concerns a prompt
//! - [`SkipReason`], [`TriggerKind`]: why nothing was injected, and the kind of trigger
//! - [`is_announcement`], [`only_announces`]: text that only says what comes next
//!
//! Most prompts ("run the tests", "yes, go on") need no memory, and words in common prove nothing: a
//! project's history contains every common word. A suggestion must stand out, but less so if the prompt
//! itself asks about the past.

use crate::text::fragments;

open_named_enum! {
    /// The reason why nothing is injected.
    SkipReason {
        /// Nothing relevant is known.
        Nothing = "nothing",
        /// Nothing concerns the trigger enough.
        Floor = "floor",
        /// The session has it already.
        Known = "known",
        /// The trigger has too few words.
        Short = "short",
        /// A later prompt goes on with what the session is about.
        SameSubject = "same-subject",
        /// The text does not fit the budget.
        Budget = "budget",
        /// The project is unknown.
        ProjectUnknown = "project-unknown",
        /// Too many turns wait for the index.
        IndexBehind = "index-behind",
        /// The trigger holds no error.
        NoError = "no-error",
        /// No outcome is recorded.
        NoOutcome = "no-outcome",
        /// It was held out by chance, to see what comes without it.
        HeldOut = "held-out",
    }
}

impl SkipReason {
    /// Returns whether the same question may be answered a moment later.
    pub fn is_passing(self) -> bool {
        matches!(self, Self::IndexBehind | Self::ProjectUnknown)
    }
}

open_named_enum! {
    /// The question that an agent's event asks, independent of the event's name.
    TriggerKind {
        /// The state of a project.
        Brief = "brief",
        /// Memories about a prompt.
        Prompt = "prompt",
        /// Memories about a file.
        Edit = "edit",
        /// Earlier cases of the same error.
        Failure = "failure",
        /// Knowledge against a command that is about to run.
        Command = "command",
        /// No question: the session lost the text it was given.
        Forgot = "forgot",
        /// No question: the agent was asked to record what it learned.
        Distil = "distil",
    }
}

/// Signs in a prompt's own words that it needs memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wording {
    /// The prompt asks something.
    pub asks: bool,
    /// The prompt asks why, how, what, which, where, when or who: more than yes or no.
    pub asks_openly: bool,
    /// The prompt is about the past.
    pub is_of_the_past: bool,
    /// The prompt mentions "us": the way things are done here.
    pub is_of_us: bool,
    /// The prompt addresses the agent, and so is about what the agent does now.
    pub is_of_you: bool,
    /// The prompt points at something that user and agent both see.
    pub is_of_this: bool,
    /// The prompt refers to something said before, asking or not: "as we decided", "like last time".
    pub refers_back: bool,
    /// The prompt asks something that any manual answers: "how do I", "the difference between".
    pub is_general: bool,
}

/// First words of an open question.
const OPEN: [&str; 7] = ["how", "why", "what", "when", "where", "which", "who"];
/// First words of a sentence that asks.
const ASKING: [&str; 16] =
    ["how", "why", "what", "when", "where", "which", "who", "did", "do", "does", "is", "are", "was", "were", "can", "should"];
/// Words about the past.
const PAST: [&str; 30] = [
    "did",
    "was",
    "were",
    "had",
    "been",
    "decided",
    "agreed",
    "discussed",
    "remember",
    "recall",
    "earlier",
    "previously",
    "yesterday",
    "already",
    "convinced",
    "dropped",
    "rejected",
    "chose",
    "chosen",
    "corrected",
    "happened",
    "history",
    "originally",
    "ago",
    "last time",
    "last week",
    "last month",
    "last session",
    "used to",
    "no longer",
];
/// Words for the people who work here.
const US: [&str; 3] = ["we", "our", "us"];
/// Words for the agent.
const YOU: [&str; 2] = ["you", "your"];
/// Words for things that user and agent both see.
const THIS: [&str; 6] = ["this", "these", "that", "those", "here", "it"];
/// References to what was said before.
const BACK: [&str; 22] = [
    "last time",
    "last session",
    "last week",
    "as we",
    "like we",
    "we decided",
    "we agreed",
    "we discussed",
    "we said",
    "we chose",
    "we talked",
    "i told you",
    "you told me",
    "i said",
    "as before",
    "like before",
    "as discussed",
    "as agreed",
    "previous session",
    "earlier session",
    "remember when",
    "where were we",
];
/// Phrases of questions that any manual answers.
const GENERAL: [&str; 14] = [
    "how do i",
    "how do you",
    "how can i",
    "how can you",
    "how to",
    "how should i",
    "difference between",
    "what is a",
    "what is an",
    "what s a",
    "what is the difference",
    "is there a way",
    "explain what",
    "explain how",
];

impl Wording {
    /// Reads a prompt. Only English cues are known: a prompt in another language is judged by the memories
    /// found.
    pub fn of(prompt: &str) -> Self {
        let mut words = String::with_capacity(prompt.len() + 2);
        words.push(' ');
        for word in prompt.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
            words.extend(word.chars().flat_map(char::to_lowercase));
            words.push(' ');
        }
        let says = |cues: &[&str]| {
            cues.iter().any(|cue| {
                words.match_indices(cue).any(|(at, _)| words[..at].ends_with(' ') && words[at + cue.len()..].starts_with(' '))
            })
        };
        let first = words.split_whitespace().next().unwrap_or_default();
        Self {
            asks: prompt.trim_end().ends_with('?') || ASKING.contains(&first),
            asks_openly: OPEN.contains(&first),
            is_of_the_past: says(&PAST),
            is_of_us: says(&US),
            is_of_you: says(&YOU),
            is_of_this: says(&THIS),
            refers_back: says(&BACK),
            is_general: says(&GENERAL),
        }
    }
}

/// Prompts that only say to go on, or ask what is next, without the words of [`FILLING`].
const GOING_ON: [&str; 34] = [
    "continue",
    "go on",
    "carry on",
    "keep going",
    "keep on",
    "resume",
    "proceed",
    "next",
    "next step",
    "next steps",
    "what next",
    "what s next",
    "whats next",
    "what is next",
    "what now",
    "what s left",
    "what is left",
    "what remains",
    "what s left to do",
    "what is left to do",
    "what should we do next",
    "what should i do next",
    "what do we do next",
    "where were we",
    "where did we stop",
    "where did we leave off",
    "pick up where we left off",
    "continue where we left off",
    "continue from where we left off",
    "weiter",
    "mach weiter",
    "wie weiter",
    "wo waren wir",
    "was kommt als nächstes",
];
/// Words around them that say nothing.
const FILLING: [&str; 16] =
    ["please", "ok", "okay", "so", "and", "now", "then", "well", "hi", "hello", "hey", "let", "s", "lets", "bitte", "und"];

/// Returns whether a prompt only says to go on, or asks what is next: it has no word to search for.
///
/// ```
/// use yore_core::relevance::goes_on;
/// assert!(goes_on("OK, what's next?"));
/// assert!(!goes_on("continue with the parser"));
/// ```
pub fn goes_on(prompt: &str) -> bool {
    let words = prompt.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let is_said = |words: &[String]| GOING_ON.contains(&words.join(" ").as_str());
    let is_filling = |word: &&String| FILLING.contains(&word.as_str());
    let start = words.iter().take_while(is_filling).count();
    let end = words.len() - words[start..].iter().rev().take_while(is_filling).count();
    is_said(&words[start..]) || is_said(&words[start..end.max(start)])
}

/// Signs that a memory answers a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signs {
    /// Signs in the prompt's own words.
    pub wording: Wording,
    /// BM25 score of the best turn, at least 0.
    pub words: f32,
    /// Number of turns in the index: BM25 grows with it.
    pub turns: u64,
    /// Cosine of the most similar turn by the static table, -1 to 1.
    pub nearness: f32,
    /// True if a whole session is about what the prompt is about.
    pub is_of_session: bool,
}

/// The largest inverse document frequency in a memory of some 15,000 turns, for which the weights below were
/// fitted.
const FITTED_RARITY: f32 = 9.2;
/// Lowest rarity used: in a small memory every word is rare, and rarity proves little.
const LEAST_RARITY: f32 = 4.0;
/// Limit of the word score: a pasted log shares any number of words.
const MOST_WORDS: f32 = 40.0;

/// Weight of a session that is about the prompt as a whole.
const OF_SESSION: f32 = 1.2;

/// Returns the probability that the memories concern the prompt, 0 to 1: a logistic model with weights fitted
/// on the development coding questions against prompts that need no memory, and rounded
/// (`docs/measurements.md`, "What is given unasked").
pub fn confidence(signs: &Signs) -> f32 {
    let Signs { wording, words, turns, nearness, is_of_session } = *signs;
    let rarity = (1.0 + turns as f32 / 1.5).ln().max(LEAST_RARITY);
    let words = (words * FITTED_RARITY / rarity).clamp(0.0, MOST_WORDS);
    let count = |is_so: bool| if is_so { 1.0 } else { 0.0 };
    let is_asked = wording.asks || wording.refers_back;
    // A question about the agent's own past concerns this very conversation.
    let is_past = wording.is_of_the_past && !wording.is_of_you || wording.refers_back;
    let asked = 3.1 + 0.4 * count(wording.asks_openly) + 1.9 * count(is_past) + 1.05 * count(wording.is_of_us);
    let away = 0.9 * count(wording.is_of_you) + 0.4 * count(wording.is_of_this) + 0.4 * count(wording.is_general);
    let logit =
        0.21 * words + 1.3 * nearness.clamp(0.0, 1.0) + asked * count(is_asked) + OF_SESSION * count(is_of_session) - away - 6.8;
    1.0 / (1.0 + (-logit).exp())
}

/// Longest announcement, in characters.
const LONGEST_ANNOUNCEMENT: usize = 200;
/// Beginnings of sentences that may promise something for later, or decide it ("I'll keep answers short from now on").
const PROMISING: [&str; 3] = ["i'll ", "i will ", "let's "];
/// Longest text of announcements alone, in bytes.
const LONGEST_BARE: usize = 300;
/// Beginnings of announcements, in lower case.
const ANNOUNCING: [&str; 17] = [
    "let me ",
    "let's ",
    "now let me ",
    "now i ",
    "now, let ",
    "i'll ",
    "i will ",
    "next i ",
    "next, i ",
    "next, let me ",
    "first let me ",
    "first, let me ",
    "ok, let me ",
    "okay, let me ",
    "good, let me ",
    "good. let me ",
    "great, let me ",
];

/// Returns whether an agent's text only announces its next step ("Let me run the tests:"), which is of no use
/// later.
pub fn is_announcement(words: &str) -> bool {
    let words = words.trim();
    if words.chars().nth(LONGEST_ANNOUNCEMENT).is_some() {
        return false;
    }
    let lower = words.to_lowercase().replace('’', "'");
    words.ends_with(':') || ANNOUNCING.iter().any(|begin| lower.starts_with(begin))
}

/// Returns whether each sentence of a text only announces a step ("Now let me run the tests. First, let me see the unit tests:"): such
/// a text is near in meaning to many questions, and answers none.
pub fn only_announces(text: &str) -> bool {
    let announces = |range: std::ops::Range<usize>| {
        let lower = text[range].to_lowercase().replace('’', "'");
        let is_promise = PROMISING.iter().any(|begin| lower.starts_with(begin));
        !is_promise && ANNOUNCING.iter().any(|begin| lower.starts_with(begin))
    };
    let parts = if text.len() <= LONGEST_BARE { fragments(text) } else { Vec::new() };
    !parts.is_empty() && parts.into_iter().all(announces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prompts_are_read_for_what_they_ask() {
        let none = Wording::default();
        for plain in ["run the tests", "yes, go on", "fix the typo in the readme", "Wed deploy", ""] {
            assert_eq!(Wording::of(plain), none, "{plain}");
        }
        let why = Wording::of("Why did we drop Redis?");
        assert_eq!(why, Wording { asks: true, asks_openly: true, is_of_the_past: true, is_of_us: true, ..none });
        let general = Wording::of("how do I exit vim");
        assert_eq!(general, Wording { asks: true, asks_openly: true, is_general: true, ..none });
        assert!(Wording::of("name the branches like we agreed").refers_back);
        let you = Wording::of("did you run it?");
        assert!(you.is_of_you && you.is_of_this && !you.asks_openly);
    }

    #[test]
    fn asking_for_the_past_needs_less_than_an_order_and_the_agents_own_past_is_here() {
        let signs = |prompt, words| {
            confidence(&Signs { wording: Wording::of(prompt), words, turns: 15_000, nearness: 0.5, is_of_session: false })
        };
        assert!(signs("why did we drop redis?", 12.0) > 0.8);
        assert!(signs("as we decided, drop redis", 12.0) > 0.7);
        assert!(signs("drop the redis cache", 12.0) < 0.1);
        assert!(signs("drop the redis cache", 40.0) > 0.8, "nearly the same words were said before");
        assert!(signs("how do I drop a redis cache", 12.0) < 0.5);
        assert!(signs("did you drop the redis cache?", 12.0) < 0.3);
    }

    #[test]
    fn prompts_that_only_go_on_have_no_subject() {
        for bare in
            ["continue", "Go on.", "ok, please continue", "What's next?", "so where were we", "Hi! What now?", "weiter bitte"]
        {
            assert!(goes_on(bare), "{bare}");
        }
        for about in
            ["continue with the parser", "next, fix the tests", "what is next in the queue", "go", "ok", "", "resume upload"]
        {
            assert!(!goes_on(about), "{about}");
        }
    }

    #[test]
    fn announcements_say_nothing_else() {
        for empty in ["Let me run the tests.", "Now I see the problem:", "I’ll look at the hooks first", "The files:"] {
            assert!(is_announcement(empty), "{empty}");
        }
        let long = format!("Let me explain: {}", "the cache is gone. ".repeat(20));
        for said in ["We keep it in SQLite.", "Letme", long.as_str(), ""] {
            assert!(!is_announcement(said), "{said}");
        }
    }

    #[test]
    fn a_text_only_announces_if_each_of_its_sentences_does() {
        for bare in ["Now let me run the tests. Let me start with the unit tests:", "Let me check it."] {
            assert!(only_announces(bare), "{bare}");
        }
        let long = "Let me check it. ".repeat(40);
        for said in [
            "The cause is the heartbeat. Let me mend it.",
            "I see the problem:",
            "I'll keep answers short from now on.",
            "",
            long.as_str(),
        ] {
            assert!(!only_announces(said), "{said}");
        }
    }

    #[test]
    fn words_of_a_small_memory_count_for_more_but_not_at_any_price() {
        let of = |turns, words| {
            confidence(&Signs { wording: Wording::of("why did we do it?"), words, turns, nearness: 0.4, is_of_session: false })
        };
        assert!(of(20, 5.0) > of(15_000, 5.0));
        assert!(of(1, 1.0) < 0.7, "one word in common with the only turn");
    }

    proptest! {
        #[test]
        fn sureness_is_a_share_and_grows_with_the_words(words in 0.0f32..100.0, turns in 0u64..10_000_000, nearness in -1.0f32..1.0, prompt in "\\PC{0,60}") {
            let wording = Wording::of(&prompt);
            let sure = confidence(&Signs { wording, words, turns, nearness, is_of_session: false });
            prop_assert!((0.0..=1.0).contains(&sure));
            let surer = confidence(&Signs { wording, words: words + 5.0, turns, nearness, is_of_session: false });
            prop_assert!(surer >= sure);
        }
    }
}
