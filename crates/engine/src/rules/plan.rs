//! Extracts decisions that a client records: approved plans, answered questions, refused tool calls.

use yore_core::episode::Outcome;
use yore_core::exchange::TurnShape;
use yore_core::memory::{Fields, MemoryKind, SourceKind};
use yore_core::text::{command_of, cut, cut_sentence, plain};

use super::proposal::{MOST_DETAILS_CHARS, MOST_STATEMENT_CHARS, Proposal};
use super::sentence::{Sentence, is_content, is_name, sentences};
use super::words::{Words, normal};

/// How clients begin the message that carries out an approved plan.
const PLANS: [&str; 2] = ["Implement the following plan:", "Please implement this plan:"];
/// The tools by which an agent asks the person, and how their results begin.
const ASKING: &str = "AskUserQuestion";
const PLANNING: &str = "ExitPlanMode";
const APPROVED: &str = "User has approved your plan";
/// Name of the rule about answers to questions.
pub const ANSWER: &str = "answer to a question";
/// Words that say something which a question without an exact name needs, with its answer.
const ALONE: usize = 7;
/// A plan without so many characters of goal or problem says nothing.
const LEAST_TOLD: usize = 40;
/// A longer reason holds pasted text, in bytes.
const LONGEST_REASON: usize = 220;
/// A longer answer is a message of its own, in characters.
const LONGEST_ANSWER: usize = 160;
/// A problem with so many characters tells what a plan is about.
const TELLING_CHARS: usize = 90;
/// How clients tell the agent that the person refused a tool call, and begin the person's words.
const REFUSED: &str = "The user doesn't want to proceed with this tool use.";
const REASON: &str = "the user said:";

/// Proposes the decision in a plan that the person carries out.
pub fn carried_out(turn: &TurnShape<'_>, found: &mut Vec<Proposal>) {
    if let Some(plan) = PLANS.iter().find_map(|begin| turn.text.trim_start().strip_prefix(begin)) {
        approved(turn, plan, found);
    }
}

/// Proposes what the person decided in the result of a tool by which the agent asks.
pub fn decided(turn: &TurnShape<'_>, call: &TurnShape<'_>, found: &mut Vec<Proposal>) {
    let is_of = |name: &str| call.tools.iter().any(|tool| tool.name == name);
    if is_of(PLANNING) && turn.tool_text.starts_with(APPROVED) {
        let inside = turn.tool_text.split_once("Approved Plan:").map(|(_, plan)| plan);
        let (from, plan) = inside.map_or((call, call.tool_text), |plan| (turn, plan));
        approved(from, plan, found);
    } else if is_of(ASKING) {
        answered(turn, found);
    }
}

/// Proposes the decision in a plan that the person approved.
fn approved(turn: &TurnShape<'_>, plan: &str, found: &mut Vec<Proposal>) {
    let words = Words::of(plan);
    let Some(line) = plan.lines().find(|line| line.trim_start().starts_with('#')) else { return };
    let title = plain(line);
    let title = title.trim_start_matches("Plan:").trim_start_matches("Implementation Plan:").trim();
    let said = sentences(plan, words);
    let under = |section: &'static str| {
        said.iter()
            .filter(move |sentence| words.is(section, &sentence.heading) && !sentence.is_question && sentence.content() >= 3)
    };
    let (goal, ground): (Vec<&Sentence<'_>>, Vec<&Sentence<'_>>) =
        (under("label goal").take(2).collect(), under("label lead").take(3).collect());
    let steps: Vec<String> = plan
        .lines()
        .filter(|line| line.starts_with("##"))
        .map(plain)
        .filter(|step| step.split_whitespace().count() > 1)
        .filter(|step| !words.is("label lead", &normal(step)) && !words.is("label goal", &normal(step)))
        .collect();
    let Some(first) = goal.first().or(ground.first()) else { return };
    // A plan about tests, names or the place of code decides little.
    if title.split_whitespace().count() < 2 || words.has("small plan", &normal(title)) {
        return;
    }
    let join = |parts: &[&Sentence<'_>]| parts.iter().map(|sentence| plain(sentence.text)).collect::<Vec<_>>().join(" ");
    let room = MOST_STATEMENT_CHARS.saturating_sub(title.chars().count() + 18);
    let told = match goal.is_empty() {
        false => cut_sentence(&join(&goal), room),
        true if steps.is_empty() || join(&ground).chars().count() >= TELLING_CHARS => cut_sentence(&join(&ground), room),
        // A short problem and the steps say together what was decided.
        true => format!("{} Steps: {}", join(&ground), steps.join("; ")),
    };
    let reason = join(if ground.is_empty() { &goal } else { &ground });
    if told.chars().count() < LEAST_TOLD {
        return;
    }
    let statement = format!("Approved plan: {title}. {}", told.trim_end_matches(':'));
    let mut proposal =
        Proposal::new("approved plan", MemoryKind::Decision, &statement, turn, line.trim(), SourceKind::User, words)
            .weighing(0.88, 0.75);
    proposal.evidence.push((turn.id, first.text.to_owned()));
    proposal.details = (!steps.is_empty()).then(|| cut(&steps.join("; "), MOST_DETAILS_CHARS));
    let reason = Some(cut(&reason, MOST_DETAILS_CHARS));
    proposal.fields = Fields::Decision { reason, alternatives: Vec::new(), tradeoffs: Vec::new() };
    found.push(proposal);
}

/// Proposes what the person chose where the agent asked with choices.
fn answered(turn: &TurnShape<'_>, found: &mut Vec<Proposal>) {
    let words = Words::of(turn.tool_text);
    for (question, answer) in pairs(turn.tool_text) {
        let chosen = plain(answer.trim_end_matches("(Recommended)"));
        let asks_what_next = words.has("next step", &normal(question));
        let names = |text: &str| text.split_whitespace().filter(|word| is_name(word)).count();
        let content = |text: &str| normal(text).split_whitespace().filter(|word| is_content(word)).count();
        let is_alone = names(question) > 0 || content(question) + content(&chosen) >= ALONE;
        let is_numbers = normal(&chosen).split_whitespace().any(|word| word.chars().all(|letter| letter.is_ascii_digit()));
        let is_choice = !is_numbers && !answer.contains('?') && chosen.chars().count() <= LONGEST_ANSWER && !chosen.is_empty();
        if asks_what_next || !is_alone || !is_choice {
            continue;
        }
        let room = MOST_STATEMENT_CHARS.saturating_sub(chosen.chars().count() + 12).max(80);
        let statement = format!("{} Chosen: {chosen}", cut(&plain(question), room));
        let made = Proposal::new(ANSWER, MemoryKind::Decision, &statement, turn, question, SourceKind::User, words);
        let mut proposal = made.weighing(0.85, 0.7);
        proposal.evidence.push((turn.id, answer.to_owned()));
        found.push(proposal);
    }
}

/// Returns questions with their answers: `"Which one?"="The first"`.
fn pairs(text: &str) -> Vec<(&str, &str)> {
    let mut pairs = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("\"=\"") {
        let question = rest[..at].rsplit_once(['"']).map_or("", |(_, question)| question);
        let after = &rest[at + 3..];
        let end = after.find("\", \"").or_else(|| after.find("\". ")).or_else(|| after.find('"')).unwrap_or(after.len());
        pairs.push((question.trim(), after[..end].trim()));
        rest = &after[end..];
    }
    pairs
}

/// Proposes what the person said when they refused a tool call. These are words in a tool's result, so they never make
/// a standing order.
pub fn refused(turn: &TurnShape<'_>, call: &TurnShape<'_>, found: &mut Vec<Proposal>) {
    let is_refused = turn.tools.iter().any(|tool| tool.outcome == Some(Outcome::Cancelled));
    if !is_refused || !turn.tool_text.trim_start().starts_with(REFUSED) {
        return;
    }
    let Some((_, reason)) = turn.tool_text.split_once(REASON) else { return };
    let words = Words::of(reason);
    let Some(what) = subject(call) else { return };
    let said = sentences(reason, words);
    let about = normal(call.tool_text);
    let useful = |sentence: &&Sentence<'_>| {
        let has = |section: &str| words.has(section, &sentence.normal);
        let says_how =
            ["reason", "instead", "prefer", "standing", "order", "decide"].into_iter().any(has) || sentence.names() > 0;
        let is_about = sentence.normal.split_whitespace().any(|word| is_content(word) && about.contains(&format!(" {word} ")));
        let is_pasted = sentence.text.contains("```") || sentence.text.len() > LONGEST_REASON;
        let is_useful = !sentence.is_question && !is_pasted && sentence.count() >= 5 && sentence.content() >= 3;
        // These are words in a tool's result: no standing order rests on them.
        is_useful
            && says_how
            && has("general")
            && (is_about || has("prefer") || has("instead"))
            && !has("once")
            && !has("standing")
    };
    let Some(sentence) = said.iter().find(useful) else { return };
    let statement = format!("Refused {what}: “{}”", plain(sentence.text));
    let certainty = if sentence.names() > 0 { 0.62 } else { 0.56 };
    let made =
        Proposal::new("refused tool call", MemoryKind::UserInput, &statement, turn, sentence.text, SourceKind::User, words);
    let fields = Fields::Preference { aspect: None, corrected: Some(what) };
    found.push(Proposal { fields, ..made.weighing(certainty, 0.6) });
}

/// Returns what a tool call was to do, in a few words.
fn subject(call: &TurnShape<'_>) -> Option<String> {
    if let Some(command) = command_of(call.tool_text) {
        return Some(format!("`{}`", cut(&plain(command), 80)));
    }
    let file = call.files.first()?;
    let name = file.path.rsplit(['/', '\\']).next()?;
    Some(format!("a change of {name}"))
}
