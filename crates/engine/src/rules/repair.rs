//! An error and what mended it: a command that failed, changes of files, and the same command that passed.

use std::collections::HashMap;

use yore_core::episode::{FileAction, Outcome, Role};
use yore_core::exchange::TurnShape;
use yore_core::id::TurnId;
use yore_core::memory::{MemoryKind, SourceKind};
use yore_core::text::{error_line, steady};

use super::command::{Run, runs};
use super::proposal::{MOST_STATEMENT_CHARS, Proposal, cut, names_of, plain, solution};
use super::sentence::{Sentence, is_name, sentences};
use super::words::Words;

/// A command that failed and has not passed since.
struct Open {
    /// Turn of the failing result, and the line that reports the error.
    turn: TurnId,
    error: String,
    /// Files that were changed since.
    files: Vec<String>,
    /// The agent's words since.
    said: Vec<(TurnId, String)>,
}

/// Proposes the errors that the turns of an exchange mended.
pub fn propose(turns: &[TurnShape<'_>], found: &mut Vec<Proposal>) {
    let runs = runs(turns);
    let mut open: HashMap<&str, Open> = HashMap::new();
    for (at, turn) in turns.iter().enumerate() {
        let written: Vec<&str> =
            turn.files.iter().filter(|file| file.action == FileAction::Written).map(|file| file.path.as_str()).collect();
        for failed in open.values_mut() {
            failed.files.extend(
                written
                    .iter()
                    .filter(|path| !failed.files.iter().any(|known| known == *path))
                    .map(|path| (*path).to_owned())
                    .collect::<Vec<_>>(),
            );
            if turn.role == Role::Assistant && !turn.text.is_empty() {
                failed.said.push((turn.id, turn.text.to_owned()));
            }
        }
        let Some(Run { command, outcome, .. }) = runs.get(&at).copied() else { continue };
        match outcome {
            Some(Outcome::Failed) => {
                let Some(error) = error_line(turn.tool_text) else { continue };
                open.entry(command).or_insert(Open {
                    turn: turn.id,
                    error: error.to_owned(),
                    files: Vec::new(),
                    said: Vec::new(),
                });
            }
            Some(Outcome::Done) => {
                let Some(failed) = open.remove(command) else { continue };
                found.extend(mended(command, failed, turn));
            }
            _ => {}
        }
    }
}

fn mended(command: &str, failed: Open, passed: &TurnShape<'_>) -> Option<Proposal> {
    if failed.files.is_empty() {
        return None;
    }
    let error = steady(&failed.error);
    // The agent's words that give the reason.
    let reason = failed.said.iter().find_map(|(id, text)| {
        let words = Words::of(text);
        let said = sentences(text, words);
        let sentence = said.iter().find(|sentence| {
            !sentence.is_question
                && sentence.count() >= 6
                && sentence.names() > 0
                && words.has("strong cause", &sentence.normal)
                && !words.has("trivial", &sentence.normal)
                && !words.has("announce", &sentence.normal)
                && !words.has("unfinished", &sentence.normal)
                && !words.has("reversal", &sentence.normal)
                && names_the_same(sentence, &failed.error)
        })?;
        Some((*id, sentence.text.to_owned(), words))
    });
    let (id, reason, words) = reason?;
    let what =
        format!("(`{}` failed: {}; changed {})", cut(&plain(command), 40), cut(&plain(&error), 90), names_of(&failed.files));
    let statement = format!("{} {what}", cut(&plain(&reason), MOST_STATEMENT_CHARS.saturating_sub(what.chars().count() + 2)));
    let made =
        Proposal::new("error and what mended it", MemoryKind::Solution, &statement, passed, &reason, SourceKind::Agent, words);
    let error = Some(cut(failed.error.trim(), 300));
    Some(Proposal {
        fields: solution(cut(&plain(&failed.error), 200), error, failed.files.clone()),
        evidence: vec![(id, reason), (failed.turn, failed.error)],
        files: failed.files,
        is_proven: true,
        ..made.weighing(0.64, 0.65)
    })
}

/// Returns whether a sentence names something exactly that the error names too.
fn names_the_same(sentence: &Sentence<'_>, error: &str) -> bool {
    let bare = |word: &str| word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    let named: Vec<String> = sentence.text.split_whitespace().filter(|word| is_name(word)).map(bare).collect();
    let error = error.to_lowercase();
    named.iter().any(|name| name.len() > 3 && error.contains(name.as_str()))
}
