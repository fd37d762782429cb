//! Reads what form of answer a question asks for (a reason, a past state, an error, ...), and its parts.

use crate::query::AskedFor;
use crate::text::{is_error_message, is_stop_word};

/// Words of a question about a reason.
const REASON: [&str; 9] =
    ["why", "reason", "reasons", "reasoning", "rationale", "motivation", "how come", "convinced", "spoke for"];
/// Words of a question about the past that is over.
const HISTORY: [&str; 9] =
    ["before", "previously", "originally", "used to", "history", "over time", "at first", "first version", "no longer"];
/// Words of a question about what was so before, or about the end of it, beside [`HISTORY`].
const PAST: [&str; 31] = [
    "back when",
    "back then",
    "at the time",
    "at that time",
    "early days",
    "early versions",
    "early on",
    "earliest",
    "in the beginning",
    "at the beginning",
    "initially",
    "initial version",
    "start out",
    "started out",
    "very first",
    "when we first",
    "we first",
    "did we first",
    "former",
    "formerly",
    "in the past",
    "until then",
    "give up",
    "given up",
    "gave up",
    "get rid of",
    "got rid of",
    "früher",
    "ursprünglich",
    "anfangs",
    "damals",
];
/// Words of the end of something, whose reason lies in the past: "why did we stop".
const ENDED: [&str; 14] = [
    "stop",
    "stopped",
    "stopping",
    "drop",
    "dropped",
    "dropping",
    "remove",
    "removed",
    "abandon",
    "abandoned",
    "take out",
    "took out",
    "move away",
    "moved away",
];
/// Words of a question about several things.
const LIST: [&str; 9] = ["list", "all the", "all of", "every", "each", "how many", "steps", "name the", "name all"];
/// Words of a question about a place in code.
const PLACE: [&str; 19] = [
    "file",
    "function",
    "package",
    "module",
    "command",
    "directory",
    "folder",
    "script",
    "path",
    "class",
    "method",
    "action",
    "workflow",
    "crate",
    "struct",
    "endpoint",
    "table",
    "branch",
    "repository",
];
/// Words that ask how something is done or was mended.
const METHOD: [&str; 9] = ["how do", "how did", "how does", "how can", "how should", "how to", "how is", "how are", "how was"];
/// First words of questions.
const ASKING: [&str; 27] = [
    "what", "which", "who", "when", "where", "why", "how", "is", "are", "was", "were", "do", "does", "did", "has", "have", "had",
    "can", "could", "should", "would", "will", "list", "name", "whose", "whom", "show",
];
/// Words between "which" and the thing that it asks for.
const QUALIFYING: [&str; 14] =
    ["of", "the", "our", "two", "three", "four", "five", "other", "open", "different", "new", "old", "hidden", "further"];
/// Least number of words with a meaning in a part of a question; a shorter one ("and why?") needs the others.
const PART_WORDS: usize = 2;

/// Returns what a question asks for, by its words. Only English is known: another question is a
/// [`AskedFor::State`] if it ends with a question mark, and else [`AskedFor::Words`].
///
/// ```
/// use yore_core::query::AskedFor;
/// use yore_core::text::asked_for;
/// assert_eq!(asked_for("Why did we drop Redis?"), AskedFor::Reason);
/// assert_eq!(asked_for("redis cache"), AskedFor::Words);
/// ```
pub fn asked_for(question: &str) -> AskedFor {
    if is_error_message(question) {
        return AskedFor::Error;
    }
    let words: Vec<String> = words(question).collect();
    let spaced = format!(" {} ", words.join(" "));
    let says = |cues: &[&str]| cues.iter().any(|cue| spaced.contains(&format!(" {cue} ")));
    let asks = question.contains('?') || words.first().is_some_and(|first| ASKING.contains(&first.as_str()));
    if !asks {
        return AskedFor::Words;
    }
    // The thing of "which file", "what other open questions".
    let thing = |at: usize| words[at + 1..].iter().map(String::as_str).find(|word| !QUALIFYING.contains(word));
    let things: Vec<&str> =
        (0..words.len()).filter(|at| matches!(words[*at].as_str(), "which" | "what")).filter_map(thing).collect();
    match () {
        () if says(&REASON) => AskedFor::Reason,
        () if says(&LIST) || things.iter().any(|word| is_plural(word)) => AskedFor::List,
        () if words.iter().any(|word| word == "where") || things.iter().any(|word| PLACE.contains(word)) => AskedFor::Place,
        () if says(&HISTORY) => AskedFor::History,
        () if says(&METHOD) => AskedFor::Method,
        () => AskedFor::State,
    }
}

/// Returns whether a question asks for what was so before, or why that was changed: then the latest state is no better answer than an
/// earlier one.
///
/// ```
/// use yore_core::text::asks_for_past;
/// assert!(asks_for_past("What was the cache called at first?"));
/// assert!(asks_for_past("Why did we stop using Redis?"));
/// assert!(!asks_for_past("Where do the leases live?") && !asks_for_past("Why is the cache in the process?"));
/// ```
pub fn asks_for_past(question: &str) -> bool {
    let words: Vec<String> = words(question).collect();
    let spaced = format!(" {} ", words.join(" "));
    let says = |cues: &[&str]| cues.iter().any(|cue| spaced.contains(&format!(" {cue} ")));
    let is_over = || words.iter().any(|word| ["did", "was", "were", "had", "made"].contains(&word.as_str()));
    says(&HISTORY) || says(&PAST) || says(&REASON) && says(&ENDED) && is_over()
}

/// Returns the parts of a question with several parts, each of which asks something by itself; nothing if it
/// has only one.
///
/// ```
/// use yore_core::text::question_parts;
/// let parts = question_parts("Which style do the release notes follow, and how are contributors credited?");
/// assert_eq!(parts, ["Which style do the release notes follow", "how are contributors credited?"]);
/// assert!(question_parts("Which cache did we choose, and why?").is_empty());
/// ```
pub fn question_parts(question: &str) -> Vec<&str> {
    if is_error_message(question) {
        return Vec::new();
    }
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, mark) in question.char_indices().filter(|(_, letter)| matches!(letter, '?' | '.' | ';' | ',' | ' ')) {
        let rest = &question[at + 1..];
        let ends = match mark {
            '?' | '.' | ';' => rest.starts_with(char::is_whitespace),
            _ => {
                let next = rest.trim_start().strip_prefix("and ").filter(|_| mark == ',' || rest.starts_with("and "));
                next.is_some_and(|next| words(next).next().is_some_and(|word| ASKING[..7].contains(&word.as_str())))
            }
        };
        if ends && at > start {
            let end = if mark == '?' { at + 1 } else { at };
            parts.push(question[start..end].trim());
            let rest = &question[at + 1..];
            let skipped = rest.trim_start().strip_prefix("and ").unwrap_or(rest.trim_start());
            start = question.len() - skipped.len();
        }
    }
    parts.push(question[start.min(question.len())..].trim());
    parts.retain(|part| words(part).filter(|word| !is_stop_word(word) && !ASKING.contains(&word.as_str())).count() >= PART_WORDS);
    if parts.len() < 2 { Vec::new() } else { parts }
}

/// Returns the words of a text, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Returns whether an English word looks like a plural.
fn is_plural(word: &str) -> bool {
    const OTHERS: [&str; 9] = ["was", "is", "does", "has", "this", "us", "its", "always", "status"];
    word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") && !OTHERS.contains(&word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn questions_are_told_apart_by_their_words() {
        for (asked, questions) in [
            (
                AskedFor::Reason,
                ["why is the cache in the process?", "What convinced us to move?", "what was the reasoning for it?"],
            ),
            (AskedFor::List, ["which tickets were opened?", "list the defects of the library", "how many retries do we allow?"]),
            (AskedFor::Place, ["where are the logs?", "which file holds the limit?", "In which package is the parser?"]),
            (AskedFor::Method, ["how do I start the tests?", "How was that fixed?", "how should names look?"]),
            (AskedFor::State, ["what is the time limit?", "is the cache shared?", "do ids start with a date?"]),
            (AskedFor::History, ["what was the limit before?", "what did we originally use?", "did it use to work at first?"]),
            (AskedFor::Words, ["redis cache", "run the tests", ""]),
        ] {
            for question in questions {
                assert_eq!(asked_for(question), asked, "{question}");
            }
        }
        assert_eq!(asked_for("error: database is locked"), AskedFor::Error);
    }

    #[test]
    fn parts_ask_something_by_themselves() {
        let parts = question_parts("The lease was lost twice. Which process renews it now, and where are its logs kept?");
        assert_eq!(parts, ["The lease was lost twice", "Which process renews it now", "where are its logs kept?"]);
        assert!(question_parts("a, b and c").is_empty());
        assert!(question_parts("why did version 2.0 drop the lock file and the heartbeat?").is_empty());
    }

    proptest! {
        #[test]
        fn any_text_can_be_asked_and_its_parts_are_of_it(text in "([a-z ?.,;]|and (why|how) |\\PC){0,120}") {
            asked_for(&text);
            let parts = question_parts(&text);
            prop_assert!(parts.len() != 1);
            prop_assert!(parts.iter().all(|part| text.contains(part)));
        }
    }
}
