//! Offers once, on a terminal, to let a language model learn in the background.

use std::io::IsTerminal;
use std::path::Path;

use super::super::Context;
use super::{USUAL_TOKENS, choose, consent, state::State, told_of, waiting};
use crate::error::{CliError, CliResult};
use crate::llm::found::{self, FoundModel};
use crate::render::text;

/// File in the data directory that exists once the question was asked.
const ASKED: &str = "learn.asked";

/// Offers it if sessions wait, a model is ready, nobody was chosen, and the question was not asked before. Without a terminal, nothing is
/// asked.
pub fn offer(context: &mut Context) -> CliResult<()> {
    if context.printer.is_json() || !context.printer.is_terminal() || !std::io::stdin().is_terminal() {
        return Ok(());
    }
    let config = context.settings.own_config()?;
    let directory = context.settings.directory.clone();
    if config.learn.auto || was_asked(&directory) || !directory.join("yore.db").exists() {
        return Ok(());
    }
    let ready: Vec<FoundModel> = found::found(&context.settings).into_iter().filter(FoundModel::is_ready).collect();
    let state = State::read(!ready.is_empty(), context)?;
    if ready.is_empty() || state.with().is_some() || state.learning.sessions == 0 {
        return Ok(());
    }
    let estimate = state.estimate().unwrap_or_default();
    context.printer.line(format!(
        "\n{} to be understood: rules find a part of what was decided, solved and preferred, a language model most of it.",
        waiting(state.learning.sessions)
    ))?;
    context.printer.line(format!("  takes  {estimate}; at most {} tokens a day, newest first", text::count(USUAL_TOKENS)))?;
    for (number, model) in (1..).zip(&ready) {
        context.printer.line(format!("  {number}      {}", told_of(model)))?;
    }
    context.printer.line("  night  it compares memories, those that you recorded too, and summarises them by subject")?;
    context.printer.line("  off    `yore learn off` ends it at once; secrets are removed before anything is sent")?;
    let keys = if ready.len() > 1 { format!("y or 1-{}, N", ready.len()) } else { "y/N".to_owned() };
    context.printer.prompt(format!("Let {} learn from your sessions in the background? [{keys}] ", ready[0].title))?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(CliError::from)?;
    note_asked(&directory);
    let Some(model) = chosen(&answer, &ready) else {
        return Ok(context.printer.note("not now; `yore learn` does it at any time")?);
    };
    choose(&model.name(), &ready, context)?;
    consent(&ready, context)?;
    context.printer.note(format!("{} learns in the background; `yore learn status` shows what it found", model.title))?;
    Ok(())
}

/// Returns the model that an answer accepts; none: it declines.
fn chosen<'m>(answer: &str, ready: &'m [FoundModel]) -> Option<&'m FoundModel> {
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => ready.first(),
        number => number.parse::<usize>().ok()?.checked_sub(1).and_then(|at| ready.get(at)),
    }
}

fn was_asked(directory: &Path) -> bool {
    directory.join(ASKED).exists()
}

/// Notes that the question was asked. Where that cannot be written, it is asked again.
fn note_asked(directory: &Path) {
    let _ = yore_engine::platform::create_private_file(&directory.join(ASKED));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::found::Payer;

    #[test]
    fn only_a_clear_yes_or_a_number_accepts() {
        let model = |provider: &'static str| FoundModel {
            provider,
            model: String::new(),
            title: provider.to_owned(),
            payer: Payer::Plan,
        };
        let ready = [model("claude"), model("codex")];
        let taken = |answer: &str| chosen(answer, &ready).map(|model| model.provider);
        for (answer, wanted) in [("y\n", Some("claude")), ("YES", Some("claude")), ("1", Some("claude")), ("2\n", Some("codex"))]
        {
            assert_eq!(taken(answer), wanted, "{answer}");
        }
        for answer in ["", "\n", "n", "no", "0", "3", "yes please", "-1"] {
            assert_eq!(taken(answer), None, "{answer}");
        }
    }
}
