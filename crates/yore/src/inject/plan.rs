//! The plan of what agents get unasked: for each occasion the most tokens and things and the least confidence.
//!
//! Memory at every prompt makes agents correct themselves more often than none; one short synthesis at the first prompt saves most, and
//! one best item is better than four (others' figures; ours: `docs/measurements.md`, "What is given unasked"). So a session gets less,
//! later, and only what is sure. Each row has its reason.

use crate::agents::{Beginning, Moment, Question};
use crate::config::Inject;

/// An occasion on which an agent may get something unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A session begins, or was compacted.
    Beginning,
    /// A sub-agent begins.
    SubAgent,
    /// A prompt before which no prompt of the session brought anything.
    FirstPrompt,
    /// A first prompt that only says to go on.
    GoOn,
    /// A later prompt.
    LaterPrompt,
    /// A file is about to be read or changed.
    File,
    /// A command is about to run.
    Command,
    /// A tool reported an error.
    Failure,
}

/// The most that is given on an occasion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Allowance {
    /// Most tokens of the text; 0: nothing is given.
    pub tokens: usize,
    /// Most turns and memories.
    pub items: usize,
    /// Least confidence, 0 to 1, that they concern the occasion.
    pub floor: f32,
}

/// A row of the plan.
struct Row {
    occasion: Occasion,
    tokens: usize,
    items: usize,
    floor: f32,
}

/// The plan. Settings may make it smaller, and the text of beginnings and first prompts longer.
const PLAN: [Row; 8] = [
    // Rules in force, what is open and what was worked on last fit; more was not read.
    Row { occasion: Occasion::Beginning, tokens: usize::MAX, items: usize::MAX, floor: 0.0 },
    // It was given its task: rules alone.
    Row { occasion: Occasion::SubAgent, tokens: 200, items: usize::MAX, floor: 0.0 },
    // The one moment at which the agent has not chosen its way yet.
    Row { occasion: Occasion::FirstPrompt, tokens: usize::MAX, items: 8, floor: 0.0 },
    // Without a word to search for, what was worked on last and what is open is all that can be meant.
    Row { occasion: Occasion::GoOn, tokens: usize::MAX, items: usize::MAX, floor: 0.0 },
    // The conversation itself says what it is about; only another subject that is surely known is worth a line.
    Row { occasion: Occasion::LaterPrompt, tokens: 150, items: 1, floor: 0.85 },
    // At the action the need is certain, so that little is enough.
    Row { occasion: Occasion::File, tokens: 250, items: 2, floor: 0.0 },
    // It runs all the same; a line with what is known against it.
    Row { occasion: Occasion::Command, tokens: 60, items: 1, floor: 0.0 },
    Row { occasion: Occasion::Failure, tokens: 250, items: 1, floor: 0.0 },
];

impl Occasion {
    /// Returns the occasion of a question. `has_prompts`: the session was asked for a prompt before; `was_given`: one of them brought
    /// something.
    pub fn of(question: &Question, has_prompts: bool, was_given: bool) -> Option<Self> {
        Some(match question {
            Question::Brief(Beginning { moment: Moment::SubAgent, .. }) => Self::SubAgent,
            Question::Brief(_) => Self::Beginning,
            Question::Prompt(prompt) if !has_prompts && yore_core::relevance::goes_on(prompt) => Self::GoOn,
            Question::Prompt(_) if was_given => Self::LaterPrompt,
            Question::Prompt(_) => Self::FirstPrompt,
            Question::File(_) => Self::File,
            Question::Command(_) => Self::Command,
            Question::Failure(_) => Self::Failure,
            Question::Distil | Question::Forgets => return None,
        })
    }

    /// Returns the most that is given on the occasion with these settings.
    pub fn allowance(self, inject: &Inject) -> Allowance {
        let set = match self {
            _ if !inject.enabled => 0,
            Self::Beginning | Self::SubAgent => inject.brief_tokens,
            Self::FirstPrompt | Self::GoOn | Self::LaterPrompt => inject.prompt_tokens,
            Self::File => inject.prompt_tokens * usize::from(inject.on_edit),
            Self::Command => usize::MAX * usize::from(inject.on_command),
            Self::Failure => inject.prompt_tokens * usize::from(inject.on_error),
        };
        let row = PLAN.iter().find(|row| row.occasion == self);
        row.map_or(Allowance { tokens: 0, items: 0, floor: 1.0 }, |row| Allowance {
            tokens: row.tokens.min(set),
            items: row.items,
            floor: row.floor.max(inject.floor as f32),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_occasion_has_a_row_and_settings_only_lower_what_is_sure() {
        let off = Inject { enabled: false, ..Inject::default() };
        let loud = Inject { prompt_tokens: 2_000, brief_tokens: 2_000, floor: 0.0, ..Inject::default() };
        for row in &PLAN {
            assert_eq!(row.occasion.allowance(&off).tokens, 0, "{:?}", row.occasion);
            assert!(row.occasion.allowance(&Inject::default()).tokens > 0, "{:?}", row.occasion);
            assert!(row.occasion.allowance(&loud).floor >= row.floor);
        }
        let later = Occasion::LaterPrompt.allowance(&loud);
        assert_eq!((later.tokens, later.items), (150, 1));
        let quiet = Inject { on_edit: false, on_error: false, ..Inject::default() };
        assert_eq!([Occasion::File, Occasion::Failure].map(|occasion| occasion.allowance(&quiet).tokens), [0, 0]);
    }

    #[test]
    fn prompts_are_told_apart_by_what_the_session_had_before() {
        let prompt = |text: &str| Question::Prompt(text.to_owned());
        assert_eq!(Occasion::of(&prompt("what next?"), false, false), Some(Occasion::GoOn));
        assert_eq!(Occasion::of(&prompt("go on"), true, false), Some(Occasion::FirstPrompt), "with this session's work");
        assert_eq!(Occasion::of(&prompt("mend the gauge"), true, false), Some(Occasion::FirstPrompt));
        assert_eq!(Occasion::of(&prompt("mend the gauge"), true, true), Some(Occasion::LaterPrompt));
    }
}
