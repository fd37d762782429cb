//! Several calls of a model side by side: answers in the order of the questions, an error for each that has none.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;

use super::ask::{Accounts, Form, Prompt};
use super::error::LlmError;
use super::model::Model;
use super::structured;

/// The place of an answer that is still to come.
type Slot<T> = Mutex<Option<Result<T, Arc<LlmError>>>>;

/// Asks the same form of several prompts, at most `at_once` at a time. A prompt that stands there more than once is asked once. One that
/// fails does not keep the others from being asked.
pub fn ask_each<T: DeserializeOwned + Clone + Send>(
    model: &Model,
    prompts: &[Prompt],
    form: &Form,
    accounts: &(dyn Accounts + Sync),
    at_once: usize,
) -> Vec<Result<T, Arc<LlmError>>> {
    // By all of it: prompts with the same beginning are different ones.
    let mut first: HashMap<[u8; 32], usize> = HashMap::new();
    let mut places: Vec<usize> = Vec::new();
    let mut wanted: Vec<&Prompt> = Vec::new();
    for prompt in prompts {
        let mut hash = blake3::Hasher::new();
        for part in [&prompt.system, &prompt.user] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.update(&prompt.max_tokens.to_le_bytes());
        let place = *first.entry(*hash.finalize().as_bytes()).or_insert_with(|| {
            wanted.push(prompt);
            wanted.len() - 1
        });
        places.push(place);
    }
    let slots: Vec<Slot<T>> = wanted.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..at_once.clamp(1, wanted.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(prompt), Some(slot)) = (wanted.get(at), slots.get(at)) else { return };
                    let answer = structured::ask(model, prompt, form, accounts).map(|answered| answered.value).map_err(Arc::new);
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
                }
            });
        }
    });
    let answers: Vec<Option<Result<T, Arc<LlmError>>>> =
        slots.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
    let lost = || Err(Arc::new(LlmError::Unanswered("the call was not made".to_owned())));
    places.into_iter().map(|place| answers[place].clone().unwrap_or_else(lost)).collect()
}
