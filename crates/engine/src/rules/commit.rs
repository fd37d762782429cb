//! Extracts decisions from the commit messages that an agent wrote with a reason.

use yore_core::exchange::TurnShape;
use yore_core::memory::{Fields, MemoryKind, SourceKind};
use yore_core::text::{command_of, plain};

use super::proposal::{Proposal, solution};
use super::sentence::sentences;
use super::words::{Words, normal};

/// Lines at which the message proper ends.
pub const TRAILERS: [&str; 3] = ["Co-Authored-By:", "Signed-off-by:", "🤖"];

/// Proposes what a commit changed and why, if its message gives the reason.
pub fn propose(call: &TurnShape<'_>, found: &mut Vec<Proposal>) {
    // A message in a file or a comment that is written makes no commit.
    if !command_of(call.tool_text).is_some_and(|command| command.contains("git commit") || command.contains("git add")) {
        return;
    }
    let Some(message) = message(call.tool_text) else { return };
    let Some((subject, body)) = message.split_once('\n') else { return };
    let subject = plain(subject);
    if subject.matches('"').count() % 2 == 1 {
        return;
    }
    let body = TRAILERS.iter().filter_map(|trailer| body.find(trailer)).min().map_or(body, |end| &body[..end]);
    let words = Words::of(body);
    let said = sentences(body, words);
    let says = |section: &'static str| {
        said.iter().find(move |sentence| {
            let is_aside = [" also ", " either "].iter().any(|word| sentence.normal.contains(word));
            let is_code = [":=", "//", " return ", "{"].iter().any(|mark| sentence.text.contains(mark));
            words.has(section, &sentence.normal)
                && !is_aside
                && !is_code
                && sentence.content() > 4
                && !sentence.text.starts_with(['-', '*'])
        })
    };
    let reason = says("cause").or_else(|| says("reason"));
    let Some(reason) = reason else { return };
    if subject.split_whitespace().count() < 3 || words.has("trivial", &normal(&subject)) {
        return;
    }
    let is_fix = normal(&subject).split_whitespace().next().is_some_and(|word| word.starts_with("fix"));
    let why = plain(reason.text);
    let (kind, fields) = match is_fix {
        true => (MemoryKind::Solution, solution(why.clone(), None, Vec::new())),
        false => {
            let fields = Fields::Decision { reason: Some(why.clone()), alternatives: Vec::new(), tradeoffs: Vec::new() };
            (MemoryKind::Decision, fields)
        }
    };
    let statement = format!("{}. {why}", subject.trim_end_matches('.'));
    let made = Proposal::new("commit with a reason", kind, &statement, call, reason.text, SourceKind::Agent, words);
    found.push(Proposal { fields, ..made.weighing(0.85, 0.65) });
}

/// Returns the message in a command: a here-document, or what follows `-m`.
pub fn message(command: &str) -> Option<&str> {
    if let Some((_, rest)) = command.split_once("<<'EOF'\n") {
        return rest.split_once("\nEOF").map(|(message, _)| message);
    }
    let (_, rest) = command.split_once("-m \"")?;
    let end = rest.find("\" ").or_else(|| rest.find("\"\n")).or_else(|| rest.rfind('"'))?;
    Some(&rest[..end])
}
