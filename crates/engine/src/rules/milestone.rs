//! Extracts milestones from commands that passed: pull requests, releases, reverted commits.

use std::collections::BTreeMap;

use yore_core::episode::Outcome;
use yore_core::exchange::TurnShape;
use yore_core::memory::{MemoryKind, SourceKind};

use super::command::{Run, steps};
use super::commit::{TRAILERS, message};
use super::proposal::{MOST_DETAILS_CHARS, Proposal, cut, cut_sentence, plain};
use super::sentence::{Sentence, sentences};
use super::words::Words;

/// Fewest words of a sentence that say something, if it is to stand for a pull request.
const FEWEST_CONTENT: usize = 4;
/// Longest title, in characters.
const MOST_TITLE_CHARS: usize = 120;

/// Proposes the milestones of a conversation.
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
                found.push(event("pull request merged", &format!("{} was merged.", pull(title, Some(*number))), call, step));
            } else if let Some(subject) = reverted(step, output) {
                let statement = format!("The commit “{}” was reverted.", cut(&plain(subject), MOST_TITLE_CHARS));
                found.push(event("commit reverted", &statement, call, step));
            } else if let Some(what) = released(step, output) {
                found.push(event("release", &format!("{what} was released (`{}`).", cut(step, 80)), call, step));
            }
        }
    }
}

/// Returns the value of the first of some options, in quotes.
fn option(step: &str, names: &[&str]) -> Option<String> {
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

/// Returns the subject of the commit that a command reverted.
pub fn reverted<'o>(step: &str, output: &'o str) -> Option<&'o str> {
    let rest = step.starts_with("git revert").then(|| output.split_once("Revert \"")).flatten()?.1;
    rest.split_once('"').map(|(subject, _)| subject)
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

/// Returns what a command released, with its version.
fn released(step: &str, output: &str) -> Option<String> {
    if let Some(rest) = step.strip_prefix("gh release create ") {
        let tag = rest.split_whitespace().next()?.trim_matches(['"', '\'']);
        return (!tag.starts_with(['-', '$'])).then(|| tag.to_owned());
    }
    let is_tried = step.contains("--dry-run");
    if is_tried {
        return None;
    }
    if step.starts_with("cargo publish") {
        let line = output.lines().find_map(|line| line.trim().strip_prefix("Published "))?;
        return Some(line.split_whitespace().take(2).collect::<Vec<_>>().join(" "));
    }
    if ["npm publish", "pnpm publish", "yarn npm publish"].iter().any(|start| step.starts_with(start)) {
        return output.lines().find_map(|line| line.strip_prefix("+ ")).map(|name| name.trim().to_owned());
    }
    None
}

fn event(rule: &'static str, statement: &str, call: &TurnShape<'_>, quote: &str) -> Proposal {
    let made = Proposal::new(rule, MemoryKind::Event, statement, call, quote, SourceKind::Agent, Words::of(""));
    Proposal { is_proven: true, ..made.weighing(0.7, 0.5) }
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

    #[test]
    fn a_release_is_named_with_its_version() {
        assert_eq!(released("gh release create v0.3.0 --notes x", ""), Some("v0.3.0".to_owned()));
        assert_eq!(released("cargo publish", "   Published quay v0.3.0 at registry `crates-io`"), Some("quay v0.3.0".to_owned()));
        assert_eq!(released("npm publish", "npm notice\n+ @dock/quay@0.3.0\n"), Some("@dock/quay@0.3.0".to_owned()));
        for none in ["cargo publish --dry-run", "npm publish --dry-run", "npm pack", "echo gh release create v1"] {
            assert_eq!(released(none, "+ a@1\nPublished a v1"), None, "{none}");
        }
    }
}
