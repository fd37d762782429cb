//! Tells an agent in a line what is known against a command: it failed before, or a rule forbids it.

use std::time::Instant;

use yore_core::query::ItemId;
use yore_core::relevance::TriggerKind;
use yore_engine::{Against, CommandRequest, Warning};
use yore_sources::project_names::names_of;

use super::{PATIENCE, Wanted, held};
use crate::agents::{Question, Ran};
use crate::inject::budget::tokens;
use crate::inject::ledger::{Entry, digest};
use crate::inject::text;
use crate::ipc::client::NoAnswer;
use crate::verbs::Verb;

impl Wanted {
    /// Tells what is known against a command, each cause once. Silence is not recorded: most commands are fine.
    pub(super) fn warned(&mut self, ran: &Ran, key: Option<&[u8; 32]>, past: &[Entry], texts: &mut Vec<String>) -> Vec<Entry> {
        let began = Instant::now();
        let Some(warnings) = self.warnings(ran) else { return Vec::new() };
        let question = Question::Command(ran.clone());
        for warning in warnings {
            // A command that passed is no longer expected to fail.
            let is_refuted = ran.has_failed == Some(false) && matches!(warning.against, Against::Failed { .. });
            let about = key.map(|key| digest(key, &warning.cause));
            let is_told = held(past, self.agent_id.as_deref())
                .any(|entry| entry.kind == Some(TriggerKind::Command) && entry.about.is_some() && entry.about == about);
            if is_refuted || is_told {
                continue;
            }
            let given = text::warning(&warning);
            let turns = given.items.iter().map(ItemId::to_string).collect();
            let micros = began.elapsed().as_micros() as u64;
            let entry = Entry { turns, tokens: tokens(&given.text), micros, about, ..self.entry(&question) };
            texts.push(given.text);
            return vec![entry];
        }
        Vec::new()
    }

    fn warnings(&mut self, ran: &Ran) -> Option<Vec<Warning>> {
        let request = CommandRequest {
            command: ran.command.clone(),
            directory: ran.directory.clone().or_else(|| self.event.cwd.clone()),
            here: self.event.cwd.as_deref().map(names_of),
            session: self.event.session_id.clone(),
            as_of: None,
        };
        let patience = self.left_of(PATIENCE);
        if let Some(client) = &mut self.client {
            match client.ask(&Verb::warnings { request: request.clone() }, patience) {
                Ok(warnings) => return Some(warnings),
                Err(NoAnswer::Refused(_)) => return None,
                Err(NoAnswer::Unavailable { .. }) => self.client = None,
            }
        }
        self.passive()?.warnings(&request).ok()
    }
}
