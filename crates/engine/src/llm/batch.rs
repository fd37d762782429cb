//! Batch requests to language models: gathered, sent as a batch, and collected within a day at half the price.
//!
//! A folder keeps a file for each batch that was sent, `ID.batch.json`, and a file for each answer that came, which is taken
//! from there like one of [`super::folder`]. A request that was sent is not sent again.

use std::collections::BTreeMap;
use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ask::{Accounts, Form, Prompt, Reply, Tier, Usage};
use super::caller::{most_tokens, taken};
use super::error::LlmError;
use super::folder;
use super::http::Connection;
use super::wire::{BatchBody, BatchResults, BatchState, Protocol, Wanted, body_of, check};
use crate::platform;

/// Ending of the file of a batch.
const SENT: &str = ".batch.json";
/// Most requests of a batch; more are sent as several.
const MOST_REQUESTS: usize = 2_000;

/// A batch that was sent: reservations of its requests, by their ids.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Sent {
    model: String,
    requests: BTreeMap<String, u64>,
    /// True if something was forgotten for good since: its answers are booked and not kept.
    #[serde(default)]
    is_unwanted: bool,
}

/// A request that will be sent, and the tokens that it may take.
struct Gathered {
    body: Value,
    most: [u64; 2],
}

/// The fate of the batches that were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Answers that came.
    pub answered: u64,
    /// Requests that failed; they are sent again.
    pub failed: u64,
    /// Requests that are not answered yet.
    pub running: u64,
    /// Why batches could not be looked at, each with its file, or gave nothing.
    pub problems: Vec<String>,
}

/// Gathers requests to a model, sends them as batches and takes the answers.
pub struct Batches {
    name: String,
    connection: Connection,
    protocol: Protocol,
    folder: PathBuf,
    most_bytes: usize,
    gathered: Mutex<BTreeMap<String, Gathered>>,
}

impl std::fmt::Debug for Batches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batches").field("name", &self.name).field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Batches {
    /// Gathers requests to a model; `None`: servers of its protocol take no batches.
    pub(super) fn new(name: String, connection: Connection, protocol: Protocol, folder: PathBuf) -> Option<Self> {
        let most_bytes = protocol.most_batch_bytes()?;
        Some(Self { name, connection, protocol, folder, most_bytes, gathered: Mutex::default() })
    }

    /// Returns the model as its server spells it.
    fn model(&self) -> &str {
        self.name.split_once('/').map_or(self.name.as_str(), |(_, model)| model)
    }

    /// Returns the answer to a prompt if it came; else gathers the request.
    ///
    /// # Errors
    /// [`LlmError::Unanswered`], [`LlmError::Folder`].
    pub(super) fn complete(&self, prompt: &Prompt, wanted: Option<Wanted<'_>>) -> Result<Reply, LlmError> {
        if let Some(reply) = folder::answered(&self.folder, prompt)? {
            return Ok(reply);
        }
        let id = folder::id_of(prompt);
        // Another answer to the same would have no other form, and is paid for.
        if folder::is_rejected(&self.folder, &id) {
            return Err(LlmError::Form("the answer of a batch had not the form".to_owned()));
        }
        let waits = LlmError::Unanswered(self.folder.display().to_string());
        if self.sent()?.iter().any(|(_, sent)| sent.model == self.name && sent.requests.contains_key(&id)) {
            return Err(waits);
        }
        // Nobody is there to try another way.
        let wanted = wanted.map(|wanted| Wanted { tier: Tier::Schema, ..wanted });
        let body = self.protocol.encode(self.model(), prompt, wanted).body;
        let form = wanted.map_or(0, |Wanted { form: Form { schema, .. }, .. }| schema.to_string().len());
        let most = [most_tokens(prompt.bytes() + form), u64::from(prompt.max_tokens)];
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        gathered.insert(id, Gathered { body, most });
        Err(waits)
    }

    /// Puts away an answer that had not the form.
    pub(super) fn reject(&self, prompt: &Prompt) {
        let _ = folder::reject(&self.folder, prompt);
    }

    /// Sends what was gathered, as far as the accounts allow. Returns the number of requests that were sent, and why no more were:
    /// [`LlmError::Budget`] if not even the first is allowed, or an error of the server.
    pub fn send(&self, accounts: &dyn Accounts) -> (u64, Result<(), LlmError>) {
        let gathered = std::mem::take(&mut *self.gathered.lock().unwrap_or_else(PoisonError::into_inner));
        let mut left = gathered.into_iter().peekable();
        let mut count = 0;
        while left.peek().is_some() {
            match self.send_first(&mut left, accounts) {
                Ok(sent) => count += sent,
                // The limits of the day are reached.
                Err(LlmError::Budget(_)) if count > 0 => break,
                Err(error) => return (count, Err(error)),
            }
        }
        (count, Ok(()))
    }

    /// Sends the first requests as one batch, as many as it may have and the accounts allow. Returns their number.
    fn send_first(
        &self,
        left: &mut Peekable<impl Iterator<Item = (String, Gathered)>>,
        accounts: &dyn Accounts,
    ) -> Result<u64, LlmError> {
        let mut sent = Sent { model: self.name.clone(), ..Sent::default() };
        let mut requests = Vec::new();
        let mut reserved: Vec<(u64, [u64; 2])> = Vec::new();
        for (id, Gathered { body, most }) in first(left, self.most_bytes) {
            match accounts.reserve(&self.name, most[0], most[1]) {
                Ok(reservation) => {
                    reserved.push((reservation, most));
                    sent.requests.insert(id.clone(), reservation);
                    requests.push((id, body));
                }
                Err(error) if requests.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        // Written before it is sent: a full disk must not lose the name of what is paid for.
        let draft = self.folder.join(format!("{}.sending", std::process::id()));
        let written = platform::create_private_directory(&self.folder).and_then(|()| {
            let _ = fs::remove_file(&draft);
            platform::write_new_private_file(&draft, serde_json::to_string(&sent).unwrap_or_default().as_bytes())
        });
        let posted = written.map_err(|error| failed(&draft, error)).and_then(|()| self.post(&requests, accounts));
        match posted {
            Ok(id) => {
                let path = self.folder.join(format!("{id}{SENT}"));
                fs::rename(&draft, &path).map_err(|error| failed(&path, error))?;
                Ok(requests.len() as u64)
            }
            Err(error) => {
                let _ = fs::remove_file(&draft);
                for (number, [input, output]) in reserved {
                    accounts.settle(number, taken(&error, input, output), Some(&error));
                }
                Err(error)
            }
        }
    }

    /// Sends a batch and returns its id.
    fn post(&self, requests: &[(String, Value)], accounts: &dyn Accounts) -> Result<String, LlmError> {
        let body = match self.protocol.batch_of(requests) {
            BatchBody::Inline(body) => body,
            BatchBody::File(lines) => {
                let boundary = format!("yore-{}", &blake3::hash(lines.as_bytes()).to_hex()[..16]);
                let part =
                    |head: &str, text: &str| format!("--{boundary}\r\ncontent-disposition: form-data; {head}\r\n\r\n{text}\r\n");
                let purpose = part("name=\"purpose\"", "batch");
                let file = part("name=\"file\"; filename=\"batch.jsonl\"\r\ncontent-type: application/jsonl", &lines);
                let kind = format!("multipart/form-data; boundary={boundary}");
                let uploaded = self.ask("/files", &kind, format!("{purpose}{file}--{boundary}--\r\n").into_bytes(), accounts)?;
                let file = uploaded["id"].as_str().ok_or_else(|| self.wrong("the file has no id"))?;
                serde_json::json!({"input_file_id": file, "endpoint": "/v1/responses", "completion_window": "24h"})
            }
        };
        let path = self.protocol.new_batch_path(self.model());
        let made = self.ask(&path, "application/json", body.to_string().into_bytes(), accounts)?;
        self.protocol.batch_id(&made).map(str::to_owned).ok_or_else(|| self.wrong("the batch has no id"))
    }

    fn ask(&self, path: &str, kind: &str, body: Vec<u8>, accounts: &dyn Accounts) -> Result<Value, LlmError> {
        let protocol = self.protocol;
        let headers = protocol.headers();
        let answer = self.connection.post(path, kind, &headers, body, &|key| protocol.key_header(key), accounts)?;
        body_of(self.connection.server(), &answer)
    }

    fn get(&self, path: &str, accounts: &dyn Accounts) -> Result<Vec<u8>, LlmError> {
        let protocol = self.protocol;
        let answer = self.connection.get(path, &protocol.headers(), &|key| protocol.key_header(key), accounts)?;
        check(self.connection.server(), &answer)?;
        Ok(answer.body)
    }

    /// Looks at the batches that were sent, keeps the answers that came, and books them.
    ///
    /// # Errors
    /// Those of the server; [`LlmError::Folder`].
    pub fn collect(&self, accounts: &dyn Accounts) -> Result<Collected, LlmError> {
        let mut collected = Collected::default();
        for (path, sent) in self.sent()? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let id = name.strip_suffix(SENT).unwrap_or_default();
            if sent.model != self.name {
                continue;
            }
            let state = match self.get(&self.protocol.batch_path(id), accounts) {
                Ok(state) => state,
                // Gone, or of another account: nothing will come of it.
                Err(LlmError::Status { status: 404 | 410, .. }) => {
                    self.keep(&sent, Vec::new(), accounts, &mut collected)?;
                    fs::remove_file(&path).map_err(|error| failed(&path, error))?;
                    continue;
                }
                Err(error @ LlmError::Budget(_)) => return Err(error),
                // The others may be there.
                Err(error) => {
                    collected.problems.push(format!("{}: {error}", path.display()));
                    collected.running += sent.requests.len() as u64;
                    continue;
                }
            };
            let results = match self.results(id, &state, accounts) {
                Ok(Some(results)) => results,
                Ok(None) => {
                    collected.running += sent.requests.len() as u64;
                    continue;
                }
                Err(error) => {
                    collected.problems.push(format!("{}: {error}", path.display()));
                    collected.running += sent.requests.len() as u64;
                    continue;
                }
            };
            let results = match results {
                Results::Lines(results) => results,
                Results::Failed(reason) => {
                    collected.problems.push(format!("batch {id}: {reason}"));
                    Vec::new()
                }
            };
            self.keep(&sent, results, accounts, &mut collected)?;
            fs::remove_file(&path).map_err(|error| failed(&path, error))?;
        }
        Ok(collected)
    }

    /// Returns the results of a batch by the answer about its state; none while it runs.
    fn results(&self, id: &str, state: &[u8], accounts: &dyn Accounts) -> Result<Option<Results>, LlmError> {
        let state: Value = serde_json::from_slice(state).map_err(|error| self.wrong(&error.to_string()))?;
        let results = match self.protocol.batch_state(id, &state).map_err(|missing| self.wrong(missing))? {
            BatchState::Running => return Ok(None),
            BatchState::Ended(results) => results,
        };
        Ok(Some(match results {
            BatchResults::At(path) => {
                let lines = self.get(&path, accounts)?;
                let lines = lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
                Results::Lines(lines.collect())
            }
            BatchResults::Here(results) => Results::Lines(results),
            BatchResults::Missing(reason) => Results::Failed(reason),
        }))
    }

    /// Keeps the answers of a batch. They are written before they are booked, and booked before the batch is gone, so that an end
    /// in between loses none.
    fn keep(&self, sent: &Sent, results: Vec<Value>, accounts: &dyn Accounts, collected: &mut Collected) -> Result<(), LlmError> {
        let mut open = sent.requests.clone();
        let read: Vec<_> = results.iter().map(|result| self.protocol.batch_result(result)).collect();
        // Gemini has been seen to leave the ids out; its results stand in the order of the requests, which is that of their ids.
        let are_in_order = read.len() == sent.requests.len() && read.iter().all(|(id, _)| id.is_none());
        let in_order: Vec<&str> = sent.requests.keys().filter(|_| are_in_order).map(String::as_str).collect();
        for (at, (id, result)) in read.into_iter().enumerate() {
            let Some(id) = id.or_else(|| in_order.get(at).copied()) else { continue };
            let Some(reservation) = open.remove(id) else { continue };
            let read = result
                .map_err(|reason| self.wrong(&reason))
                .and_then(|body| self.protocol.read(self.connection.server(), &Prompt::default(), &body));
            match read {
                Ok(reply) => {
                    if !sent.is_unwanted {
                        folder::keep(&self.folder, id, &reply.text)?;
                    }
                    accounts.settle(reservation, reply.usage, None);
                    collected.answered += 1;
                }
                Err(error) => {
                    accounts.settle(reservation, Usage::default(), Some(&error));
                    collected.failed += 1;
                }
            }
        }
        for reservation in open.into_values() {
            accounts.settle(reservation, Usage::default(), Some(&self.wrong("the batch has no answer")));
            collected.failed += 1;
        }
        Ok(())
    }

    /// Returns the batches that were sent, with their files.
    fn sent(&self) -> Result<Vec<(PathBuf, Sent)>, LlmError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(&self.folder, error)),
        };
        let mut sent = Vec::new();
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if is_sent(&path) {
                let text = fs::read(&path).map_err(|error| failed(&path, error))?;
                // A torn file names no batch any more; the others go on.
                if let Ok(batch) = serde_json::from_slice(&text) {
                    sent.push((path, batch));
                }
            }
        }
        sent.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(sent)
    }

    fn wrong(&self, reason: &str) -> LlmError {
        LlmError::NotUnderstood { server: self.connection.server().to_owned(), reason: reason.to_owned() }
    }
}

/// The results of a batch that has ended: its lines, or why there are none.
enum Results {
    Lines(Vec<Value>),
    Failed(String),
}

/// Marks the batches that were sent, so that their answers are booked and not kept: they may hold words that were forgotten.
///
/// # Errors
/// A file cannot be read or written.
pub(crate) fn disown(folder: &Path) -> std::io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| is_sent(path)) {
        let Ok(sent) = serde_json::from_slice::<Sent>(&fs::read(&path)?) else { continue };
        let draft = path.with_extension("tmp");
        let _ = fs::remove_file(&draft);
        let text = serde_json::to_vec(&Sent { is_unwanted: true, ..sent })?;
        platform::write_new_private_file(&draft, &text)?;
        fs::rename(&draft, &path)?;
    }
    Ok(())
}

fn is_sent(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.ends_with(SENT))
}

/// Takes the first requests, as many as a batch of so many bytes may have; one that is larger goes alone.
fn first(left: &mut Peekable<impl Iterator<Item = (String, Gathered)>>, most_bytes: usize) -> Vec<(String, Gathered)> {
    let mut taken: Vec<(String, Gathered)> = Vec::new();
    let mut bytes = 0;
    while let Some(next) = left.next_if(|(_, next)| {
        bytes += next.body.to_string().len();
        taken.is_empty() || (taken.len() < MOST_REQUESTS && bytes <= most_bytes)
    }) {
        taken.push(next);
    }
    taken
}

fn failed(path: &Path, error: std::io::Error) -> LlmError {
    LlmError::Folder { path: path.display().to_string(), error }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{Gathered, MOST_REQUESTS, first};

    #[test]
    fn requests_are_divided_into_batches_of_limited_size_without_losing_one() {
        let sizes = |lengths: &[usize], most: usize| {
            let request = |length: &usize| (String::new(), Gathered { body: Value::from("x".repeat(length - 2)), most: [0; 2] });
            let mut left = lengths.iter().map(request).peekable();
            let mut sizes = Vec::new();
            while left.peek().is_some() {
                sizes.push(first(&mut left, most).len());
            }
            sizes
        };
        assert_eq!(sizes(&[40, 40, 40, 200, 10, 90], 100), [2, 1, 1, 2]);
        assert_eq!(sizes(&vec![3; MOST_REQUESTS + 1], 1 << 20), [MOST_REQUESTS, 1]);
        assert_eq!(sizes(&[], 100), [0; 0]);
    }
}
