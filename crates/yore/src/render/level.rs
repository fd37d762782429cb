//! Formats a thing that was read at a level, for people and agents.

use yore_engine::{DeepLine, Deepened};

use super::plain::{counted, day, harmless};
use super::spoken;

/// Returns the lines of a thing, or its answer in sentences; then how many lines the budget left out, and the call for them.
pub fn text(found: &Deepened) -> String {
    if let Some(answer) = &found.answer {
        return spoken::text(answer);
    }
    let mut told: Vec<String> = found.lines.iter().map(line).collect();
    if told.is_empty() {
        told.push(format!("nothing is recorded at level {} of {} {}", found.level.as_str(), found.kind, harmless(&found.id)));
    }
    if found.left > 0 {
        told.push(format!("{} left out by the budget; a greater one shows them", counted(found.left as u64, "more line")));
    }
    told.join("\n")
}

/// Formats a line: relation, id, kind, day, words.
fn line(told: &DeepLine) -> String {
    let relation = told.relation.as_ref().map(|relation| format!("{}: ", harmless(relation))).unwrap_or_default();
    let id = told.opens.as_ref().map(|id| format!("[{}] ", harmless(id))).unwrap_or_default();
    let at = told.at.map(|at| format!(" {}", day(Some(at)))).unwrap_or_default();
    let words = harmless(&told.text);
    let is_long = words.contains('\n');
    format!("{relation}{id}{}{at}:{}{words}", harmless(&told.what), if is_long { "\n" } else { " " })
}
