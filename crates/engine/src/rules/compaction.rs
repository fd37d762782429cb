//! Extracts errors and their fixes from compaction summaries.

use yore_core::exchange::TurnShape;
use yore_core::memory::{MemoryKind, SourceKind};

use super::proposal::{MOST_STATEMENT_CHARS, Proposal, cut, plain, solution};
use super::sentence::is_name;
use super::words::{Words, normal};

/// An error is trivial if these first characters of an item say so.
const LEAD_CHARS: usize = 120;
/// Longest words about a fix, in characters.
const MOST_FIX_CHARS: usize = 170;
/// Names of the section in normal form.
const ERRORS: [&str; 3] = [" errors and fixes ", " errors and solutions ", " errors fixed "];

/// Proposes what was mended by the sections of a summary.
pub fn propose(turn: &TurnShape<'_>, found: &mut Vec<Proposal>) {
    let words = Words::of(turn.text);
    for item in items(turn.text) {
        let whole = plain(&item.join(" "));
        // The error, then its fix: after a line's end, or after the first colon.
        let Some((problem, fix)) = parts(&item) else { continue };
        if fix.split_whitespace().count() < 4 || words.has("trivial", &normal(&cut(&whole, LEAD_CHARS))) {
            continue;
        }
        let names = whole.split_whitespace().filter(|word| is_name(word)).count();
        let is_told = words.has("cause", &normal(&whole)) || whole.contains("ause:");
        if words.has("unfinished", &normal(&whole)) || !is_told {
            continue;
        }
        let problem = plain(&problem).trim_end_matches(':').to_owned();
        let statement = fitted(&problem, &plain(&fix));
        let Some(line) = item.first() else { continue };
        let certainty = if names > 1 { 0.75 } else { 0.5 };
        let made =
            Proposal::new("error in a summary", MemoryKind::Solution, &statement, turn, line.trim(), SourceKind::Agent, words);
        found.push(Proposal { fields: solution(problem, None, Vec::new()), ..made.weighing(certainty, 0.7) });
    }
}

/// Returns the problem with what mended it: the words about the fix are cut last.
fn fitted(problem: &str, told: &str) -> String {
    let whole = format!("{problem}: {told}");
    let fix = ["Fix:", "Fixed ", "Fixed by", "Solution:", "Resolved "].iter().filter_map(|mark| told.find(mark)).min();
    match fix.filter(|at| *at > 0 && whole.chars().count() > MOST_STATEMENT_CHARS) {
        Some(at) => {
            let fix = cut(told[at..].trim(), MOST_FIX_CHARS);
            let room = MOST_STATEMENT_CHARS.saturating_sub(fix.chars().count() + 1);
            format!("{} {fix}", cut(whole[..whole.len() - told.len() + at].trim(), room))
        }
        None => whole,
    }
}

/// Returns the items of the section about errors, each with its lines.
fn items(text: &str) -> Vec<Vec<&str>> {
    let mut items: Vec<Vec<&str>> = Vec::new();
    let (mut is_inside, mut indent) = (false, None);
    for line in text.lines() {
        let depth = line.len() - line.trim_start().len();
        let bare = line.trim();
        let is_header = depth < 3
            && bare.ends_with(':')
            && bare.starts_with(|letter: char| letter.is_ascii_digit() || letter == '#' || letter == '*');
        if is_header {
            let name = normal(bare.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.'));
            is_inside = ERRORS.contains(&name.as_str());
            indent = None;
            continue;
        }
        if !is_inside || bare.is_empty() {
            continue;
        }
        let is_item = bare.starts_with("- ") || bare.starts_with("* ");
        let own = *indent.get_or_insert(depth);
        if is_item && depth <= own {
            items.push(vec![bare]);
        } else if let Some(item) = items.last_mut() {
            item.push(bare);
        }
    }
    items
}

/// Returns the error and its fix.
fn parts(item: &[&str]) -> Option<(String, String)> {
    let first = item.first()?;
    if item.len() > 1 && first.ends_with(':') {
        return Some(((*first).to_owned(), item[1..].join(" ")));
    }
    // `**Error**: what mended it`
    let at = first.find("**:").map(|at| at + 2).or_else(|| first.find(":**").map(|at| at + 1)).or_else(|| first.find(": "))?;
    let (problem, fix) = first.split_at(at);
    let fix = fix.trim_start_matches([':', '*', ' ']);
    let rest = item[1..].join(" ");
    Some((problem.to_owned(), format!("{fix} {rest}").trim().to_owned()))
}
