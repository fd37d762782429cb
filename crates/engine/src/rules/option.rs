//! Extracts the option that a person chose from an agent's list by letter or number.

use std::sync::LazyLock;

use regex::Regex;
use yore_core::exchange::TurnShape;
use yore_core::memory::{MemoryKind, SourceKind};
use yore_core::text::{cut, plain};

use super::person::is_typed;
use super::proposal::{MOST_STATEMENT_CHARS, Proposal};
use super::sentence::sentences;
use super::words::{Words, normal};

/// A longer message says itself what it chooses, in bytes.
const LONGEST: usize = 200;

/// A message that begins with an option: `option B`, `let's go with 2`, `B please`, `I like option 1`.
static CHOICE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?ix) ^ (?: (?: ok(?:ay)? | yes | yeah | yep | sure | hmm | i \s think | i \s like | i \s prefer | i'd \s go \s with | let's \s (?: go \s with | do | try | use | implement )
            | go \s with | do | take | use | the ) [\s,]+ )*
            (?: (?: options? | approach | variant | choice | number | alternative ) \s* \#? \(? ([a-e1-9]) | \(? ([a-e1-9]) ) \)? (?: [\s.,;:!\)] | $ )",
    )
    .ok()
});

/// Marks of options in a message.
static MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b(?:[A-E]|[1-9])\b").ok());

/// Where the next option begins within a line.
static NEXT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\s(?:[2-9]|[B-E])[.)]\s").ok());

/// Proposes the option that a message chooses, in the words of the agent's message before it.
pub fn propose(turn: &TurnShape<'_>, agent: &str, found: &mut Vec<Proposal>) {
    let text = turn.text.trim();
    if text.len() > LONGEST || text.ends_with('?') || !is_typed(text) {
        return;
    }
    let Some(captures) = CHOICE.as_ref().and_then(|choice| choice.captures(text)) else { return };
    let Some(mark) = captures.get(1).or_else(|| captures.get(2)) else { return };
    // Several options at once are not told apart.
    if MARKS.as_ref().is_none_or(|marks| marks.find_iter(text).count() > 1) {
        return;
    }
    // A letter alone may be a word, a number alone the beginning of a list.
    let is_named = captures.get(1).is_some();
    if !is_named && (mark.as_str() == "a" || mark.start() > 0 && mark.as_str().chars().all(char::is_lowercase)) {
        return;
    }
    let Some(option) = option_of(agent, mark.as_str()) else { return };
    let words = Words::of(agent);
    let asked = sentences(agent, words)
        .into_iter()
        .rev()
        .find(|sentence| sentence.is_question && sentence.content() >= 3 && !words.has("next step", &sentence.normal));
    let own = plain(&option);
    if own.ends_with('?') || words.has("trivial", &normal(&own)) {
        return;
    }
    let Some(asked) = asked.filter(|asked| asked.names() > 0) else { return };
    let room = MOST_STATEMENT_CHARS.saturating_sub(own.chars().count() + 12);
    let statement = format!("{} Chosen: {own}", cut(&plain(asked.text), room.max(60)));
    let made = Proposal::new("chosen option", MemoryKind::Decision, &statement, turn, text, SourceKind::User, words);
    found.push(made.weighing(0.6, 0.7));
}

/// Returns the line of the agent's list with this letter or number, with the line below it if it is only a name.
fn option_of(agent: &str, mark: &str) -> Option<String> {
    let pattern = format!(r"(?im)^\s*(?:[-*#]+\s*)?\**\s*(?:(?:option|approach|variant)\s+)?\(?{mark}\**[.):]\**\s*(\S.*)$");
    let found = Regex::new(&pattern).ok()?.captures_iter(agent).last()?;
    let line = found.get(1)?;
    let own = line.as_str();
    let own = NEXT.as_ref().and_then(|next| next.find(own)).map_or(own, |next| &own[..next.start()]).trim();
    if own.split_whitespace().count() >= 6 {
        return Some(own.to_owned());
    }
    let below = agent[line.end()..].lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("```"));
    Some(format!("{own} {}", below.unwrap_or_default()).trim().to_owned()).filter(|option| option.split_whitespace().count() >= 3)
}
