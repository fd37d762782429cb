//! Formats an answer in sentences with its sources, for people and agents.

use yore_core::strength::Strength;
use yore_engine::{AskAnswer, AskSentence, AskSource, AskStep, Unwritten};

use super::plain::{counted, day, harmless, one_line};
use super::view;

/// Returns the sentences, those of one source as a paragraph, then the confidence, and a line for each source.
pub fn text(answer: &AskAnswer) -> String {
    if answer.sentences.is_empty() {
        return nothing(answer);
    }
    let mut told = String::new();
    for (at, sentence) in answer.sentences.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| answer.sentences.get(before));
        if before.is_some() {
            told.push(if before.is_some_and(|before| before.sources == sentence.sources) { ' ' } else { '\n' });
        }
        told.push_str(&one_line(&sentence.text));
        // The last sentence of a source names it.
        if answer.sentences.get(at + 1).is_none_or(|next| next.sources != sentence.sources) {
            told.push_str(&marks(sentence));
        }
    }
    if answer.unlisted > 0 {
        told.push_str(&format!("\n... and {} more (`yore recall` with the same words lists them)", answer.unlisted));
    }
    let strength = Strength::of(answer.confidence).as_str();
    let dropped = match answer.unsupported {
        0 => String::new(),
        count => format!("; {} without support dropped", counted(count as u64, "sentence")),
    };
    told.push_str(&format!("\n\nconfidence {:.2} ({strength}){dropped}", answer.confidence));
    for (number, source) in (1..).zip(&answer.sources) {
        told.push_str(&format!("\n[{number}] {}", of_source(source)));
    }
    told
}

fn marks(sentence: &AskSentence) -> String {
    let numbers: Vec<String> = sentence.sources.iter().map(usize::to_string).collect();
    format!(" [{}]", numbers.join(", "))
}

fn of_source(AskSource { opens, what, at, project }: &AskSource) -> String {
    let parts = [Some(what.clone()), at.map(|at| day(Some(at))), project.as_deref().map(harmless), Some(opens.clone())];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// Why nothing was searched, and what is to be done.
pub const UNKNOWN_PROJECT: &str =
    "this directory belongs to no known project (name one, or ask all: -p, --all; `yore projects` lists them)";

/// Returns what was searched where nothing is known.
fn nothing(answer: &AskAnswer) -> String {
    if answer.is_project_unknown {
        return format!("Nothing is known here: {UNKNOWN_PROJECT}");
    }
    let place = match answer.projects.as_slice() {
        [] => "any project".to_owned(),
        names => format!("project {}", names.iter().map(|name| harmless(name)).collect::<Vec<_>>().join(", ")),
    };
    if let Some(view) = &answer.empty {
        return format!("{} in {place}", view::heading(view, 0));
    }
    let mut told = format!("Nothing is known about it in {place}");
    if answer.projects.is_empty() {
        told.push_str(&format!("; looked through {}", counted(answer.indexed, "turn")));
    }
    if !answer.unmet.is_empty() {
        let words: Vec<String> = answer.unmet.iter().map(|word| harmless(word)).collect();
        told.push_str(&format!("; never met: {}", words.join(", ")));
    }
    // Another search with the same words tells nothing more.
    let is_new = |at: &usize| *at == 0 || answer.steps[*at].searched != answer.steps[at - 1].searched;
    for AskStep { depth, searched, found, confidence } in (0..answer.steps.len()).filter(is_new).map(|at| &answer.steps[at]) {
        let searched = one_line(searched);
        told.push_str(&format!(
            "\n- {}: “{searched}”: {} near it, confidence {confidence:.2}",
            depth.as_str(),
            counted(*found as u64, "passage")
        ));
    }
    told
}

/// Returns what a reader should know about how the answer was made.
pub fn note(answer: &AskAnswer) -> Option<String> {
    match (&answer.unwritten, &answer.model) {
        (Some(Unwritten::LeftOut), _) => Some("note: no model may read this project; these are words of the memory".to_owned()),
        (Some(Unwritten::NoModel(reason) | Unwritten::Failed(reason)), _) => {
            Some(format!("note: the model did not answer ({}); these are words of the memory", harmless(reason)))
        }
        (Some(Unwritten::Unsupported), _) => {
            Some("note: the evidence supported no sentence of the model; these are words of the memory".to_owned())
        }
        (None, Some(model)) => Some(format!("written by {}", harmless(model))),
        (None, None) => None,
    }
}
