//! Decides whether an agent repeated a memory that it was given: in its answer, in a command or in an edit.
//!
//! Only terms that the session had not met by itself count: what stood in a prompt, in a file that was read or in the output of a tool is no
//! evidence that the memory was of use. Rare terms count more than common ones.

use std::collections::HashSet;

use crate::text::{Tokenizer, Tokens, content_words};

/// Fewest words of a command that is repeated as it stands, and least rarity of its rarest word, as a share of that of a word which no turn
/// has: everybody runs `cargo build`.
const COMMAND_WORDS: usize = 2;
const COMMAND_RARITY: f32 = 0.35;
/// Length of a passage in words: what the agent repeats stands close together.
const PASSAGE: usize = 60;
/// Least share of a statement, by the rarity of its terms, that one passage must repeat, and least number of its terms.
const LEAST_SHARE: f32 = 0.2;
const LEAST_TERMS: usize = 3;

/// A text of a session, in the order of the session.
#[derive(Clone, Copy, Debug)]
pub enum Spoken<'t> {
    /// By anybody but the agent: the person, a tool's output, a file.
    Heard(&'t str),
    /// By the agent: an answer, or the input of a tool.
    Said(&'t str),
}

/// A statement as a set of terms, each with its rarity, and the commands that it names.
#[derive(Clone, Debug, Default)]
pub struct Given {
    terms: Vec<(String, f32)>,
    /// Code of several words between backticks, up to a placeholder, in lower case.
    commands: Vec<String>,
}

impl Given {
    /// Makes it from a statement and its content words with their inverse document frequencies. `most`: that of a word which no turn has.
    pub fn new(statement: &str, terms: Vec<String>, rarities: &[f32], most: f32, tokenizer: &mut Tokenizer) -> Self {
        let terms: Vec<(String, f32)> = terms.into_iter().zip(rarities.iter().copied()).collect();
        let rarity = |word: &str| terms.iter().find(|(term, _)| term == word).map_or(0.0, |(_, rarity)| *rarity);
        let mut is_command = |code: &String| {
            let words = content_words(code, tokenizer);
            code.split(' ').count() >= COMMAND_WORDS && words.iter().any(|word| rarity(word) >= COMMAND_RARITY * most)
        };
        let code = statement.split('`').skip(1).step_by(2).map(|code| one_line(code.split('<').next().unwrap_or(code)));
        let commands = code.filter(|code| is_command(code)).collect();
        Self { terms, commands }
    }

    /// Returns whether a session repeated the statement after it was given. `before`: what was said until then; `after`: what followed.
    pub fn is_cited(&self, before: &[Spoken<'_>], after: &[Spoken<'_>], tokenizer: &mut Tokenizer) -> bool {
        if self.is_run(before, after) {
            return true;
        }
        let (share, terms) = self.repeated(before, after, tokenizer);
        terms >= LEAST_TERMS && share >= LEAST_SHARE
    }

    /// Returns whether the agent wrote one of the statement's commands before anything else in the session had it.
    pub fn is_run(&self, before: &[Spoken<'_>], after: &[Spoken<'_>]) -> bool {
        self.commands.iter().any(|command| {
            let holds = |(Spoken::Heard(text) | Spoken::Said(text)): &&Spoken<'_>| one_line(text).contains(command.as_str());
            let first = after.iter().find(holds).filter(|_| !before.iter().any(|spoken| holds(&spoken)));
            matches!(first, Some(Spoken::Said(_)))
        })
    }

    /// Returns the greatest share of the statement that a passage of the agent repeats and that the session had not met before it, by the
    /// rarity of the terms (0 to 1), and the number of these terms.
    pub fn repeated(&self, before: &[Spoken<'_>], after: &[Spoken<'_>], tokenizer: &mut Tokenizer) -> (f32, usize) {
        let whole: f32 = self.terms.iter().map(|(_, rarity)| rarity).sum();
        let mut unmet: HashSet<&str> = self.terms.iter().map(|(term, _)| term.as_str()).collect();
        let rarity = |wanted: &str| self.terms.iter().find(|(term, _)| term == wanted).map_or(0.0, |(_, rarity)| *rarity);
        let mut tokens = Tokens::default();
        for spoken in before {
            let (Spoken::Heard(text) | Spoken::Said(text)) = spoken;
            tokenizer.tokenize(text, &mut tokens);
            tokens.iter().for_each(|token| {
                unmet.remove(token.text);
            });
        }
        let mut best = (0.0, 0);
        for spoken in after {
            if unmet.is_empty() {
                break;
            }
            match spoken {
                Spoken::Heard(text) => {
                    tokenizer.tokenize(text, &mut tokens);
                    tokens.iter().for_each(|token| {
                        unmet.remove(token.text);
                    });
                }
                Spoken::Said(text) => {
                    tokenizer.tokenize(text, &mut tokens);
                    let found: Vec<(usize, &str)> =
                        tokens.iter().filter_map(|token| Some((token.position, *unmet.get(token.text)?))).collect();
                    for (at, (start, _)) in found.iter().enumerate() {
                        let near = found[at..].iter().take_while(|(position, _)| position - start < PASSAGE);
                        let terms: HashSet<&str> = near.map(|(_, term)| *term).collect();
                        let share = terms.iter().map(|term| rarity(term)).sum::<f32>() / whole.max(f32::MIN_POSITIVE);
                        if share > best.0 {
                            best = (share, terms.len());
                        }
                    }
                }
            }
        }
        best
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATEMENT: &str =
        "`mise run quay-checks` runs the checks of the quay, because the crane's own suite misses the tide gauge.";

    fn is_cited(before: &[Spoken<'_>], after: &[Spoken<'_>]) -> bool {
        let mut tokenizer = Tokenizer::default();
        let terms = content_words(STATEMENT, &mut tokenizer);
        let rarities = vec![4.0; terms.len()];
        Given::new(STATEMENT, terms, &rarities, 8.0, &mut tokenizer).is_cited(before, after, &mut tokenizer)
    }

    #[test]
    fn a_command_counts_as_it_stands_whatever_is_around_it() {
        let run = Spoken::Said("cd harbour && MISE  run quay-checks --quiet | tail");
        assert!(is_cited(&[], &[run]));
        assert!(!is_cited(&[Spoken::Heard("CLAUDE.md: mise run quay-checks")], &[run]));
        assert!(!is_cited(&[], &[Spoken::Heard("try mise run quay-checks"), run]), "a tool said so first");
        assert!(!is_cited(&[], &[Spoken::Said("mise run lint")]));
    }

    #[test]
    fn words_count_that_the_session_had_not_met_and_that_stand_close_together() {
        let said = "The crane's suite does not see the tide gauge.";
        assert!(is_cited(&[], &[Spoken::Said(said)]));
        assert!(!is_cited(&[Spoken::Heard(said)], &[Spoken::Said(said)]));
        let far = format!("The crane. {} The suite. {} The tide.", "A word. ".repeat(60), "A word. ".repeat(60));
        assert!(!is_cited(&[], &[Spoken::Said(&far)]));
        assert!(!is_cited(&[], &[]) && !is_cited(&[Spoken::Said(STATEMENT)], &[Spoken::Said(STATEMENT)]));
    }
}
