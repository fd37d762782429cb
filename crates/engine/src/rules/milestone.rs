//! Pull requests that were opened and merged, by commands that passed.

use std::collections::BTreeMap;

use yore_core::episode::Outcome;
use yore_core::exchange::TurnShape;
use yore_core::memory::{MemoryKind, SourceKind};
use yore_core::text::{cut, cut_sentence, plain};

use super::commit::{TRAILERS, message};
use super::passed_commands::{Run, steps};
use super::proposal::{MOST_DETAILS_CHARS, Proposal};
use super::sentence::{Sentence, sentences};
use super::words::Words;

/// Fewest words of a sentence that say something, if it is to stand for a pull request.
const FEWEST_CONTENT: usize = 4;
/// Longest title, in characters.
const MOST_TITLE_CHARS: usize = 120;

/// Proposes the pull requests of a conversation.
pub fn propose(turns: &[TurnShape<'_>], runs: &BTreeMap<usize, Run<'_>>, found: &mut Vec<Proposal>) {
    // Titles of the pull requests that were opened here, by number.
    let mut opened: BTreeMap<u64, String> = BTreeMap::new();
    for (result, Run { call, command, outcome }) in runs.iter().map(|(at, run)| (*at, *run)) {
        if outcome != Some(Outcome::Done) || turns[result].is_error {
            continue;
        }
        let (call, output) = (&turns[call], turns[result].tool_text);
        // A pipe or a list has one outcome, that of its last command.
        if command.contains([';', '|']) {
            continue;
        }
        for step in steps(command) {
            if step.starts_with("gh pr create") {
                let Some(title) = option(step, &["--title ", "-t "]) else { continue };
                let number = pull_request(output);
                opened.extend(number.map(|number| (number, title.clone())));
                found.extend(opening(call, &title, number));
            } else if step.starts_with("gh pr merge") && !step.contains("--auto") {
                let named = step.split_whitespace().skip(3).find_map(|word| word.parse::<u64>().ok());
                let names_other = step.split_whitespace().nth(3).is_some_and(|word| !word.starts_with('-'));
                let known = match named {
                    Some(number) => opened.get_key_value(&number),
                    None if names_other => None,
                    None => opened.last_key_value(),
                };
                let Some((number, title)) = known else { continue };
                let statement = format!("{} was merged.", pull(title, Some(*number)));
                let (rule, words) = ("pull request merged", Words::of(""));
                let made = Proposal::new(rule, MemoryKind::Event, &statement, call, step, SourceKind::Agent, words);
                found.push(Proposal { is_proven: true, ..made.weighing(0.7, 0.5) });
            }
        }
    }
}

/// Returns the value of the first of some options, in quotes.
pub(super) fn option(step: &str, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        let mut rest = step.split_once(name)?.1.chars();
        let quote = rest.next().filter(|quote| matches!(quote, '"' | '\''))?;
        let (mut value, mut is_escaped) = (String::new(), false);
        for letter in rest {
            match letter {
                '\\' if quote == '"' && !is_escaped => is_escaped = true,
                '$' if quote == '"' && !is_escaped => return None,
                _ if letter == quote && !is_escaped => return Some(value.trim().to_owned()).filter(|value| !value.is_empty()),
                _ => {
                    value.push(letter);
                    is_escaped = false;
                }
            }
        }
        None
    })
}

/// Returns the number of the pull request whose address a command printed.
fn pull_request(output: &str) -> Option<u64> {
    let digits: String = output.split_once("/pull/")?.1.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn pull(title: &str, number: Option<u64>) -> String {
    let number = number.map(|number| format!(" #{number}")).unwrap_or_default();
    format!("Pull request{number} “{}”", cut(&plain(title), MOST_TITLE_CHARS))
}

/// Proposes a pull request with what its description says first.
fn opening(call: &TurnShape<'_>, title: &str, number: Option<u64>) -> Option<Proposal> {
    let body = message(call.tool_text).unwrap_or_default();
    let words = Words::of(body);
    let body = TRAILERS.iter().filter_map(|trailer| body.find(trailer)).min().map_or(body, |end| &body[..end]);
    let said = sentences(body, words);
    let is_telling = |sentence: &&Sentence<'_>| !sentence.is_question && sentence.content() >= FEWEST_CONTENT;
    let what = pull(title, number);
    // A title alone tells little.
    let first = said.iter().find(is_telling)?;
    let statement = format!("{what}: {}", plain(first.text).trim_end_matches(':'));
    let made = Proposal::new("pull request", MemoryKind::Event, &statement, call, first.text, SourceKind::Agent, words);
    let rest: Vec<String> = said.iter().filter(is_telling).skip(1).map(|sentence| plain(sentence.text)).collect();
    let details = Some(cut_sentence(&rest.join("\n"), MOST_DETAILS_CHARS)).filter(|details| !details.is_empty());
    Some(Proposal { details, is_proven: true, ..made.weighing(0.8, 0.6) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_either_quotes() {
        let step = r#"gh pr create --draft --title "Mend the 'tide' gauge" --body x"#;
        let of = |step: &str| option(step, &["--title ", "-t "]);
        assert_eq!(of(step).as_deref(), Some("Mend the 'tide' gauge"));
        assert_eq!(of("gh pr create -t 'Mend it'").as_deref(), Some("Mend it"));
        assert_eq!(of(r#"gh pr create --title "Say \"no tide\" once" --fill"#).as_deref(), Some(r#"Say "no tide" once"#));
        assert_eq!(of("gh pr create --title \"$TITLE\""), None, "its value is not known");
        assert_eq!(of("gh pr create --fill"), None);
    }
}
