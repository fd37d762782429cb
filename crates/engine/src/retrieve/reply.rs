//! Finds what the person said right after an agent's turn: there decisions are made.

use yore_core::episode::{EpisodeKind, Role};
use yore_core::query::Filter;
use yore_core::text::{Tokenizer, content_words};

use crate::error::EngineError;
use crate::rules::own_words;
use crate::store::{ShownTurn, Store, Turns};

/// Longest message that is a reply, in characters; a longer one is a task of its own.
const LONGEST: usize = 320;
/// Share of its words that a reply has in common with what it answers, unless its first word answers.
const COMMON: f32 = 0.4;
/// First words of an answer.
const ANSWERING: [&str; 32] = [
    "yes", "yep", "yeah", "yea", "no", "nope", "nah", "agreed", "agree", "sure", "let's", "lets", "use", "keep", "option", "i'd",
    "rather", "instead", "actually", "don't", "dont", "not", "neither", "both", "because", "prefer", "either", "ja", "nein",
    "lieber", "nimm", "beides",
];
/// Words of which a message that decides nothing consists.
const EMPTY: [&str; 33] = [
    "ok", "okay", "k", "continue", "go", "on", "ahead", "proceed", "next", "please", "thanks", "thank", "you", "great", "good",
    "perfect", "nice", "cool", "awesome", "lgtm", "done", "now", "and", "keep", "going", "resume", "weiter", "danke", "gut",
    "bitte", "super", "prima", "mach",
];
/// Words that decide only if something was asked.
const ASSENT: [&str; 10] = ["yes", "yep", "yeah", "yea", "sure", "no", "nope", "ja", "nein", "nah"];

/// Returns the person's next message after an agent's turn, as far as it is in their own words and the filter lets it be seen.
pub(crate) fn reply_to(store: &Store, turn: &ShownTurn, filter: &Filter) -> Result<Option<ShownTurn>, EngineError> {
    if turn.role != Role::Assistant || turn.kind == EpisodeKind::Document {
        return Ok(None);
    }
    let Some(mut reply) = store.turns(Turns::Reply(turn.row))?.pop().filter(|reply| reply.caveat.is_none()) else {
        return Ok(None);
    };
    // The question may be of an earlier time than the reply.
    let until = [filter.until, filter.as_of].into_iter().flatten().min();
    if until.is_some_and(|until| reply.time.utc.is_none_or(|at| at >= until)) {
        return Ok(None);
    }
    reply.text = own_words(&reply.text).split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(Some(reply).filter(|reply| !reply.text.is_empty()))
}

/// Returns whether a message decides something about the agent's words before it: no mere "ok", and no order about something else.
pub(super) fn decides(reply: &str, before: &str, tokenizer: &mut Tokenizer) -> bool {
    let lower = reply.to_lowercase().replace('’', "'");
    let words: Vec<&str> =
        lower.split(|letter: char| !(letter.is_alphanumeric() || letter == '\'')).filter(|word| !word.is_empty()).collect();
    let Some(first) = words.first().filter(|_| reply.chars().nth(LONGEST).is_none()) else { return false };
    if words.iter().all(|word| EMPTY.contains(word) || ASSENT.contains(word)) {
        return ASSENT.contains(first) && before.contains('?');
    }
    let answers = ANSWERING.contains(first) || first.len() == 1 && *first != "i";
    if !answers && reply.trim_end().ends_with('?') {
        return false;
    }
    let own = content_words(reply, tokenizer);
    let known = content_words(before, tokenizer);
    let common = own.iter().filter(|word| known.binary_search(word).is_ok()).count();
    answers || !own.is_empty() && common as f32 >= COMMON * own.len() as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_decides_unless_it_only_goes_on_or_is_about_something_else() {
        let proposal = "We can keep the lease in Redis or move it to SQLite. Which one should I take?";
        let mut tokenizer = Tokenizer::default();
        let mut is = |reply: &str| decides(reply, proposal, &mut tokenizer);
        for decision in [
            "No, because Redis loses heartbeats.",
            "yes do it",
            "yes",
            "SQLite for the lease",
            "B please, but no daemon",
            "nein, lieber SQLite",
        ] {
            assert!(is(decision), "{decision}");
        }
        for other in ["ok", "continue", "Great, thanks!", "now write the release notes", "why is the build red?", ""] {
            assert!(!is(other), "{other}");
        }
        assert!(!is(&"no, and here is a whole plan. ".repeat(20)), "a task of its own");
        assert!(!decides("yes", "All tests pass.", &mut Tokenizer::default()), "nothing was asked");
    }
}
