//! The strategy that a question gets: by the size of what is read, the form of the question and the model.

use yore_core::query::ReadingStrategy;

use super::answer::DeepRequest;
use super::pieces::Pieces;
use super::profile::{Coding, Profile};

/// Tokens above which a model that writes programs well writes some: 200,000 characters (S1-104).
const COMPLEX_TOKENS: u64 = 55_000;

/// A strategy, and why.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub strategy: ReadingStrategy,
    pub why: String,
}

/// Words of questions that count, compare or list (S1-104, with everyday forms and the German ones).
const AGGREGATE: [&str; 30] = [
    "how many",
    "how often",
    "how much",
    "how long",
    "count",
    "list all",
    "list the",
    "list every",
    "which of",
    "all the",
    "every time",
    "each time",
    "each of",
    "compare",
    "in common",
    "most often",
    "least often",
    "summarize",
    "summarise",
    "aggregate",
    "total",
    "since when",
    "first time",
    "last time",
    "wie oft",
    "wie viele",
    "wie lange",
    "welche",
    "seit wann",
    "liste",
];

/// Returns whether a question counts, compares or lists: no few passages answer it.
pub fn is_aggregate(question: &str) -> bool {
    let question = question.to_lowercase();
    AGGREGATE.iter().any(|words| {
        question.match_indices(words).any(|(at, found)| {
            let is_edge = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
            is_edge(question[..at].chars().next_back()) && is_edge(question[at + found.len()..].chars().next())
        })
    })
}

/// Chooses. What fits into one prompt is read there, unless it is to be counted: readers miss fewer of few pieces. What is counted is
/// planned, because a program counts better than a model; so is everything for a model that writes no programs.
pub(super) fn choose(request: &DeepRequest, pieces: &Pieces, profile: &Profile) -> Choice {
    let choice = |strategy, why: String| Choice { strategy, why };
    if let Some(wanted) = request.strategy {
        return choice(wanted, "it was asked for".to_owned());
    }
    let has_worker = cfg!(feature = "python") && request.worker.is_some();
    let (tokens, is_aggregate) = (pieces.tokens(), is_aggregate(&request.question));
    // A list of a few pages is read whole.
    let fits = tokens <= if is_aggregate { profile.direct_tokens / 4 } else { profile.direct_tokens };
    match () {
        () if fits => choice(ReadingStrategy::Direct, format!("about {tokens} tokens fit into one prompt")),
        () if is_aggregate => choice(ReadingStrategy::Planned, "the question counts, compares or lists".to_owned()),
        () if profile.coding == Coding::Excellent && tokens > COMPLEX_TOKENS && has_worker => {
            choice(ReadingStrategy::Code, format!("about {tokens} tokens, and the model writes programs well"))
        }
        () if profile.coding < Coding::Good => choice(ReadingStrategy::Planned, "the model is small or not known".to_owned()),
        () => choice(ReadingStrategy::Iterative, format!("about {tokens} tokens, of which few are likely to matter")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::pieces::Piece;
    use super::*;
    use crate::llm::{Backoff, Model, Way};

    /// The strategy for pieces of so many tokens.
    fn strategy(question: &str, tokens: usize, model: &str, is_small: bool) -> ReadingStrategy {
        let (text, none) = ("abc ".repeat(tokens), Arc::from(""));
        let [opens, session, session_name] = [Arc::clone(&none), Arc::clone(&none), none];
        let piece = Piece { opens, part: 0, session, session_name, project: None, by: "you", at: None, text };
        let pieces = Pieces { list: vec![piece], ..Pieces::default() };
        let model = Model::new(model, Way::Folder("x".into()), Backoff::ONCE).of_size(is_small);
        let request = DeepRequest { worker: Some("worker".into()), ..DeepRequest::new(question) };
        choose(&request, &pieces, &Profile::of(&model)).strategy
    }

    #[test]
    fn size_question_and_model_choose_the_strategy() {
        use ReadingStrategy::{Direct, Iterative, Planned};
        let (why, count) = ("why did we leave redis?", "how many times did we leave redis?");
        let large = if cfg!(feature = "python") { ReadingStrategy::Code } else { Iterative };
        for (question, tokens, model, expected) in [
            (why, 10_000, "claude/sonnet", Direct),
            (count, 3_000, "claude/sonnet", Direct),
            (count, 10_000, "claude/sonnet", Planned),
            (why, 30_000, "claude/sonnet", Iterative),
            (why, 200_000, "claude/sonnet", large),
            (count, 200_000, "claude/sonnet", Planned),
            (why, 200_000, "openai/gpt-4o", Iterative),
            (why, 30_000, "vendor/unheard-of", Planned),
        ] {
            assert_eq!(strategy(question, tokens, model, false), expected, "{question} {tokens} {model}");
        }
        assert_eq!(strategy(why, 200_000, "claude/sonnet", true), Planned, "a small model writes no programs");
    }

    #[test]
    fn questions_that_count_compare_or_list_are_told_from_others() {
        for question in [
            "How many times did we change the timeout?",
            "since when do we use pnpm",
            "What do these sessions have in common?",
            "wie oft ist der Build gebrochen",
        ] {
            assert!(is_aggregate(question), "{question}");
        }
        for question in
            ["why did we leave redis?", "where is the discount computed", "does the counter reset?", "what is the account id"]
        {
            assert!(!is_aggregate(question), "{question}");
        }
    }
}
