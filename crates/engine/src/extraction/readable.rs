//! Shortens the words of a line for whoever distils it: code and tables are folded, steps and repetitions left out.
//!
//! Before the person speaks again, the agent's last turn reports; those before it narrate. Of a narration only the sentences stay that
//! give a reason, a cause, a contrast or a limit. Each mark of an omission holds "…". A sentence that stays is as it was said, so that it can be quoted.

use std::collections::HashSet;

use yore_core::text::{error_lines, fragments};

/// Lines of a block of code or of a table that are kept, of one that has more than `LONGEST_BLOCK`; the lines of errors in it that are
/// kept besides.
const LONGEST_BLOCK: usize = 6;
const FIRST_LINES: usize = 3;
const ERROR_LINES: usize = 2;
/// Longest sentence that counts as a step of work, and shortest whose repetition is left out, in bytes.
const LONGEST_STEP: usize = 160;
const LEAST_REPEATED: usize = 60;
/// Beginnings of sentences by which an agent says its next step.
const STEPS: [&str; 16] = [
    "let me ",
    "now let me ",
    "now, let me ",
    "next, let me ",
    "first, let me ",
    "first let me ",
    "ok, let me ",
    "okay, let me ",
    "good, let me ",
    "great, let me ",
    "let's ",
    "i'll ",
    "now i'll ",
    "i will ",
    "now i need to ",
    "i need to ",
];
/// Words of a sentence that gives a reason: it is more than a step.
const REASONS: [&str; 6] = ["because", "instead", "rather than", " since ", "so that", "not "];
/// Longest sentence of a narration that needs one of `SIGNALS` to stay, in bytes.
const LONGEST_BARE: usize = 90;
/// Words, or beginnings of words, of a sentence that gives a reason, a cause, a contrast, a limit or a finding; in German, too.
const SIGNALS: [&str; 62] = [
    "because",
    "since",
    "instead",
    "rather",
    "cause",
    "due",
    "but",
    "actually",
    "wrong",
    "bug",
    "issue",
    "problem",
    "fail",
    "error",
    "must",
    "can't",
    "cannot",
    "can not",
    "doesn't",
    "don't",
    "didn't",
    "isn't",
    "won't",
    "never",
    "always",
    "only",
    "decid",
    "approach",
    "turns out",
    "means",
    "requir",
    "limit",
    "default",
    "deprecat",
    "missing",
    "broken",
    "breaks",
    "unless",
    "however",
    "therefore",
    "prefer",
    "suggest",
    "recommend",
    "trade",
    "option",
    "found",
    "race",
    "weil",
    "statt",
    "ursache",
    "grund",
    "aber",
    "eigentlich",
    "falsch",
    "fehler",
    "muss",
    "darf",
    "kann nicht",
    "nie",
    "immer",
    "nur",
    "entschied",
];
/// Words by which a sentence is known to be in a language whose signals stand there.
const KNOWN_LANGUAGE: [&str; 12] = ["the", "is", "to", "and", "are", "now", "this", "der", "die", "das", "ist", "und"];
/// Sentences that say nothing beyond that a step succeeded.
const SUCCESSES: [&str; 17] = [
    "perfect",
    "great",
    "good",
    "excellent",
    "done",
    "nice",
    "ok",
    "okay",
    "all good",
    "all green",
    "that works",
    "tests pass",
    "all tests pass",
    "all tests passed",
    "the build succeeds",
    "build succeeded",
    "it works",
];

/// The part that a line plays.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Voice {
    /// The agent's last turn before the person speaks.
    Report,
    /// An agent's turn before that.
    Narration,
    /// Any other line.
    Other,
}

/// Sentences that were given before, so that none is given twice.
#[derive(Debug, Default)]
pub(super) struct Given(HashSet<String>);

impl Given {
    /// Returns the words of a line, at most about `most` characters; empty if it has nothing to keep.
    pub(super) fn readable(&mut self, text: &str, voice: Voice, most: usize) -> String {
        let folded = folded(text.trim());
        both_ends(self.sentences(&folded, voice).trim(), most)
    }

    /// Returns a text without the sentences that were given before, and without those that its voice makes needless.
    fn sentences(&mut self, text: &str, voice: Voice) -> String {
        let mut kept = String::with_capacity(text.len());
        let (mut end, mut is_gap) = (0, false);
        for range in fragments(text) {
            let sentence = &text[range.clone()];
            let is_repeated = sentence.len() >= LEAST_REPEATED && !self.0.insert(sentence.to_lowercase());
            let is_needless = match voice {
                Voice::Other => false,
                Voice::Report => is_step(sentence),
                Voice::Narration => is_step(sentence) || says_nothing_lasting(sentence),
            };
            if is_repeated || is_needless {
                is_gap = true;
            } else {
                // Line breaks and marks stand between sentences.
                let between = if is_gap { "" } else { &text[end..range.start] };
                if is_gap && !kept.is_empty() {
                    kept.push_str(if text[end..range.start].contains('\n') { "\n… " } else { " … " });
                }
                kept.push_str(between);
                kept.push_str(sentence);
                is_gap = false;
            }
            end = range.end;
        }
        kept
    }
}

/// Returns whether a sentence says only what comes next, or that something succeeded.
fn is_step(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    let bare = lower.trim_matches(|letter: char| !letter.is_alphanumeric());
    if SUCCESSES.contains(&bare) {
        return true;
    }
    let lower = lower.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    lower.len() <= LONGEST_STEP
        && STEPS.iter().any(|step| lower.starts_with(step))
        && REASONS.iter().all(|reason| !lower.contains(reason))
}

/// Returns whether a short sentence has no word of a reason, a cause, a contrast, a limit or a finding.
fn says_nothing_lasting(sentence: &str) -> bool {
    if sentence.len() > LONGEST_BARE {
        return false;
    }
    // A name in code, such as `errors`, is no sign.
    let lower: String = sentence.to_lowercase().replace('’', "'").split('`').step_by(2).collect();
    let words = || lower.split(|letter: char| !letter.is_alphanumeric() && letter != '\'').filter(|word| !word.is_empty());
    let is_signal = |signal: &&str| match signal.contains(' ') {
        true => lower.contains(*signal),
        false => words().any(|word| word.starts_with(*signal)),
    };
    // Bold words are what the agent itself stresses.
    !sentence.contains("**") && words().any(|word| KNOWN_LANGUAGE.contains(&word)) && !SIGNALS.iter().any(is_signal)
}

/// Returns a text whose long blocks of code and long tables have their first lines and those of errors.
fn folded(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let mut block: Vec<&str> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let words = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| words.starts_with(mark));
        let is_row = fence.is_none() && words.starts_with('|');
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => {
                put_block(&mut told, &mut block);
                fence = None;
            }
            (Some(_), _) => {
                block.push(line);
                continue;
            }
            (None, Some(mark)) => {
                put_block(&mut told, &mut block);
                fence = Some(mark);
            }
            (None, None) if is_row => {
                block.push(line);
                continue;
            }
            (None, None) => put_block(&mut told, &mut block),
        }
        told.push_str(line);
        told.push('\n');
    }
    put_block(&mut told, &mut block);
    told
}

/// Appends the lines of a block, those in the middle counted, and empties it.
fn put_block(told: &mut String, block: &mut Vec<&str>) {
    let is_long = block.len() > LONGEST_BLOCK;
    let first = if is_long { FIRST_LINES } else { block.len() };
    let rest = block[first..].join("\n");
    let errors: Vec<&str> = if is_long { error_lines(&rest).take(ERROR_LINES).collect() } else { Vec::new() };
    for line in block[..first].iter().chain(&errors) {
        told.push_str(line);
        told.push('\n');
    }
    if is_long {
        told.push_str(&format!("[… {} more lines …]\n", block.len() - first - errors.len()));
    }
    block.clear();
}

/// Returns the beginning and the end of a long text.
pub(super) fn both_ends(text: &str, chars: usize) -> String {
    let count = text.chars().count();
    if count <= chars {
        return text.to_owned();
    }
    let head: String = text.chars().take(chars * 2 / 3).collect();
    let tail: String = text.chars().skip(count - chars / 3).collect();
    format!("{head} [… {} characters …] {tail}", count - chars * 2 / 3 - chars / 3)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str, voice: Voice) -> String {
        Given::default().readable(text, voice, 1_000)
    }

    #[test]
    fn an_agents_steps_are_left_out_and_its_findings_stay_word_for_word() {
        let found = "The lease is lost because the clock is read twice in one tick.";
        let kept = "I'll use one reading instead of two from now on.";
        let text = format!("{found} Let me look at the place where that happens first. {kept}");
        assert_eq!(read(&text, Voice::Report), format!("{found} … {kept}"));
        assert_eq!(read("Let me look at the tests first.", Voice::Report), "");
        assert_eq!(read("Let me look at the tests first.", Voice::Other), "Let me look at the tests first.");
    }

    #[test]
    fn a_narration_keeps_causes_and_limits_alone() {
        let text =
            "The package `errors` is already imported in this file. The lease fails because the clock is read twice in a tick.";
        assert_eq!(read(text, Voice::Narration), "The lease fails because the clock is read twice in a tick.");
        assert_eq!(read(text, Voice::Report), text);
        let spanish = "El puerto de pruebas es 8080.";
        assert_eq!(read(spanish, Voice::Narration), spanish, "no signals are known of the language");
    }

    #[test]
    fn long_code_keeps_its_first_lines_and_its_errors() {
        let code: String = (0..20).map(|at| format!("line {at}\n")).collect();
        let told = read(&format!("Log:\n```\n{code}error: no space left on device\n```\nend"), Voice::Other);
        assert_eq!(told, "Log:\n```\nline 0\nline 1\nline 2\nerror: no space left on device\n[… 17 more lines …]\n```\nend");
    }

    #[test]
    fn a_sentence_that_was_given_before_is_not_given_again() {
        let mut given = Given::default();
        let report = "The cache moved from Redis into the process because Redis lost heartbeats.";
        assert_eq!(given.readable(report, Voice::Report, 1_000), report);
        let again = format!("{report} The tide table followed.");
        assert_eq!(given.readable(&again, Voice::Report, 1_000), "The tide table followed.");
    }

    proptest! {
        #[test]
        fn every_text_is_read_within_its_limit(text in "([a-zA-Z.!?| #`\\-0-9\n]|\\PC){0,800}") {
            for voice in [Voice::Other, Voice::Report, Voice::Narration] {
                prop_assert!(Given::default().readable(&text, voice, 200).chars().count() <= 240);
            }
        }
    }
}
