//! Adds what was done in the exchange of a hit: files, the command that worked, the outcome.

use yore_core::episode::{EpisodeKind, Outcome, Role};
use yore_core::query::ItemId;
use yore_core::text::{command_of, command_that_worked, fragments};

use super::{Hit, WorkDone};
use crate::error::EngineError;
use crate::store::{ExchangeWork, Store, Turns};

/// Maximum number of bytes of an outcome and of a command.
const MOST_BYTES: usize = 240;

/// Gives the first hits of agents' sessions what was done in their exchanges, each exchange once.
pub(super) fn add_work(store: &Store, hits: &mut [Hit], most: usize) -> Result<(), EngineError> {
    let mut seen = Vec::new();
    for at in 0..hits.len() {
        if seen.len() == most {
            break;
        }
        let Some(row) = hits[at].turn_key() else { continue };
        let is_document = hits[at].as_turn().is_some_and(|turn| turn.kind == EpisodeKind::Document);
        if is_document || seen.contains(&hits[at].exchange) {
            continue;
        }
        let mut work = WorkDone::default();
        let ExchangeWork { opened, calls } = store.exchange_work(row, true)?;
        for file in opened {
            if file.is_written { &mut work.changed } else { &mut work.read }.push(file.path);
        }
        let ran: Vec<(&str, Option<Outcome>)> =
            calls.iter().filter_map(|call| Some((command_of(&call.input)?, call.outcome))).collect();
        work.command = command_that_worked(&ran).map(|command| cut(command).to_owned());
        if work.is_empty() {
            continue;
        }
        let is_shown = |id| hits.iter().any(|hit| hit.id() == ItemId::Turn(id) || hit.beside.iter().any(|said| said.turn == id));
        let last = store.turns(Turns::Conclusion(row))?.pop().filter(|last| last.role == Role::Assistant && !is_shown(last.id));
        work.outcome = last.and_then(|last| fragments(&last.text).first().map(|range| cut(&last.text[range.clone()]).to_owned()));
        seen.push(hits[at].exchange);
        hits[at].work = Some(Box::new(work));
    }
    Ok(())
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_BYTES)]
}
