//! Replays one's own history (`yore replay`): would recall have named the files that the agent then had to find?
//!
//! At a prompt, memory holds what was said before it, in other sessions. What it should name are the files
//! that the agent then opened for the first time in the session and that the prompt does not name.

use std::collections::{BTreeMap, HashMap, HashSet};

use yore_core::files::{Opened, rank_files};
use yore_core::query::{Filter, SearchMode};
use yore_core::scope::ScopeChoice;
use yore_core::text::is_stop_word;
use yore_core::time::UtcMillis;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::{Hit, RecallRequest};
use crate::store::{EpisodeKey, FileEvent, Prompt, SessionFilter, SessionOrder, Store, TurnKey, Turns};

/// Numbers of suggested files at which a prompt is judged.
pub const CUTS: [usize; 4] = [1, 3, 5, 10];
/// A prompt of fewer words asks for nothing by itself.
const LEAST_WORDS: usize = 4;
/// Files must have been opened so often before a prompt counts: an empty memory proves nothing.
const LEAST_OPENINGS: usize = 200;
/// Characters of a prompt that are asked.
const PROMPT_CHARS: usize = 600;
/// Most words of a prompt that are looked for as grep does it, and shortest of them.
const GREPPED_WORDS: usize = 12;
const SHORTEST_GREPPED: usize = 3;
/// Hits of other sessions that vote, and hits that are read to find so many.
const VOTING: usize = 20;
const READ: usize = 40;

/// Settings of a replay.
#[derive(Clone, Debug)]
pub struct ReplayRequest {
    /// Maximum number of prompts: the newest ones.
    pub limit: usize,
    /// Number of characters said before the prompt in its own session that are asked with it.
    pub context: usize,
    /// Lists to search.
    pub mode: SearchMode,
    /// Returns whether a prompt is replayed, by its session's native id and its recorded time.
    pub is_wanted: fn(&str, &str) -> bool,
}

/// How often a way of suggesting files names one that the agent then opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayRow {
    /// The way.
    pub name: &'static str,
    /// Share of the prompts with such a file among the first [`CUTS`].
    pub hits: [f64; CUTS.len()],
    /// Mean share of those files among the first ten.
    pub recall: f64,
}

/// Result of a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayReport {
    /// Number of prompts.
    pub prompts: usize,
    /// Number of prompts for which a file had been opened in an earlier session: the others cannot be helped.
    pub helpable: usize,
    /// yore, its full text alone, grep, what is often opened, what was opened last.
    pub rows: Vec<ReplayRow>,
}

/// A prompt with the files that the agent then opened.
struct Case<'p> {
    prompt: &'p Prompt,
    wanted: HashSet<&'p str>,
    /// Files that the session had opened before.
    known: HashSet<&'p str>,
}

impl Engine {
    /// Replays prompts. `observer` gets the number of those done and of all; it returns whether to go on.
    pub fn replay(
        &self,
        request: &ReplayRequest,
        observer: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<ReplayReport, EngineError> {
        let prompts = self.store().prompts()?;
        let mut events = self.store().file_events(None)?;
        events.retain(|event| is_named_like_a_file(&event.path));
        let mut cases = cases(&prompts, &events);
        cases.retain(|case| (request.is_wanted)(&case.prompt.session, &case.prompt.recorded));
        cases.sort_by_key(|case| std::cmp::Reverse(case.prompt.at));
        cases.truncate(request.limit);
        let mut judged: [Judged; 5] = Default::default();
        let mut helpable = 0;
        let grep = if cases.is_empty() { Grep::default() } else { Grep::read(self.store())? };
        for (done, case) in cases.iter().enumerate() {
            if !observer(done, cases.len()) {
                break;
            }
            let end = events.partition_point(|event| event.at < case.prompt.at);
            let past: Vec<&FileEvent> = events[..end].iter().filter(|event| event.episode != case.prompt.episode).collect();
            helpable += usize::from(past.iter().any(|event| case.wanted.contains(event.path.as_str())));
            let popular = popular(&past);
            let mut recent: Vec<&str> = past.iter().rev().map(|event| event.path.as_str()).collect();
            let mut seen = HashSet::new();
            recent.retain(|path| seen.insert(*path));
            let total = popular.iter().map(|(_, count)| count).sum();
            let rows_of = |hits: &[Hit]| hits.iter().filter_map(Hit::turn_key).collect::<Vec<_>>();
            let full_text = ReplayRequest { mode: SearchMode::Lexical, ..request.clone() };
            let found = [
                rows_of(&self.hits_of_others(case.prompt, request)?),
                rows_of(&self.hits_of_others(case.prompt, &full_text)?),
                grep.find(case.prompt),
            ];
            for (judged, turns) in judged.iter_mut().zip(found) {
                let opened = |turn: &TurnKey| -> Result<Vec<Opened>, EngineError> {
                    let mut opened = self.store().exchange_work(*turn, false)?.opened;
                    opened.retain(|file| is_named_like_a_file(&file.path));
                    Ok(opened)
                };
                let exchanges: Vec<Vec<Opened>> = turns.iter().map(opened).collect::<Result<_, _>>()?;
                let ranked = rank_files(&exchanges, &popular, total);
                judged.add(case, ranked.iter().map(|file| file.path.as_str()));
            }
            let mut often = popular;
            often.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            judged[3].add(case, often.iter().map(|(path, _)| path.as_str()));
            judged[4].add(case, recent.into_iter());
        }
        let names = ["yore", "full text", "grep", "opened often", "opened last"];
        let rows = judged.iter().zip(names).map(|(judged, name)| judged.row(name)).collect();
        Ok(ReplayReport { prompts: judged[0].prompts, helpable, rows })
    }

    /// Returns what memory finds for a prompt in other sessions.
    fn hits_of_others(&self, prompt: &Prompt, request: &ReplayRequest) -> Result<Vec<Hit>, EngineError> {
        let question: String = prompt.text.chars().take(PROMPT_CHARS).collect();
        let before = prompt.before.chars().count().saturating_sub(request.context);
        let said: String = prompt.before.chars().skip(before).collect();
        let scope = prompt.project.clone().map_or(ScopeChoice::All, |project| ScopeChoice::Projects(vec![project]));
        let answer = self.recall(&RecallRequest {
            wordings: (request.context > 0 && !said.trim().is_empty()).then_some(said).into_iter().collect(),
            filter: Filter { scope, as_of: Some(prompt.at), ..Filter::default() },
            mode: request.mode,
            limit: READ,
            quote_chars: 0,
            is_bare: true,
            ..RecallRequest::new(question)
        })?;
        let is_own =
            |session: &str| session.strip_prefix(&prompt.session).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        Ok(answer
            .hits
            .into_iter()
            .filter(|hit| !hit.place.as_ref().is_some_and(|place| is_own(&place.native_session)))
            .take(VOTING)
            .collect())
    }
}

/// All messages by their words: what a person has without a memory who greps the transcripts of a project.
#[derive(Default)]
struct Grep {
    messages: Vec<Message>,
    /// Places of the messages that have a word.
    by_word: HashMap<String, Vec<u32>>,
}

struct Message {
    turn: TurnKey,
    episode: EpisodeKey,
    at: UtcMillis,
    project: Option<String>,
}

impl Grep {
    fn read(store: &Store) -> Result<Self, EngineError> {
        let mut grep = Self::default();
        let filter = SessionFilter { without_documents: true, ..SessionFilter::default() };
        for session in store.sessions(&filter, SessionOrder::Oldest, usize::MAX >> 1)? {
            for turn in store.turns(Turns::OfEpisode(session.row))? {
                let Some(at) = turn.time.utc else { continue };
                let place = grep.messages.len() as u32;
                let words: HashSet<String> = words(&turn.text).chain(words(&turn.tool_text)).collect();
                for word in words {
                    grep.by_word.entry(word).or_default().push(place);
                }
                grep.messages.push(Message { turn: turn.row, episode: session.row, at, project: session.project.clone() });
            }
        }
        Ok(grep)
    }

    /// Returns the messages of other sessions of the project that have most words of a prompt, the latest first among equals.
    fn find(&self, prompt: &Prompt) -> Vec<TurnKey> {
        let asked: String = prompt.text.chars().take(PROMPT_CHARS).collect();
        let mut looked_for: Vec<String> = Vec::new();
        for word in words(&asked).filter(|word| !is_stop_word(word)) {
            if looked_for.len() < GREPPED_WORDS && !looked_for.contains(&word) {
                looked_for.push(word);
            }
        }
        let mut counts: HashMap<u32, usize> = HashMap::new();
        for place in looked_for.iter().filter_map(|word| self.by_word.get(word)).flatten() {
            let message = &self.messages[*place as usize];
            let is_of_project = prompt.project.is_none() || message.project == prompt.project;
            if message.at < prompt.at && message.episode != prompt.episode && is_of_project {
                *counts.entry(*place).or_default() += 1;
            }
        }
        let mut found: Vec<(usize, UtcMillis, u32)> =
            counts.into_iter().map(|(place, count)| (count, self.messages[place as usize].at, place)).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.into_iter().take(VOTING).map(|(.., place)| self.messages[place as usize].turn).collect()
    }
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let parts = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    parts.filter(|word| word.len() >= SHORTEST_GREPPED).map(str::to_lowercase)
}

/// Returns the prompts with something to find.
fn cases<'p>(prompts: &'p [Prompt], events: &'p [FileEvent]) -> Vec<Case<'p>> {
    let mut by_episode: HashMap<_, Vec<&FileEvent>> = HashMap::new();
    for event in events {
        by_episode.entry(event.episode).or_default().push(event);
    }
    let mut cases = Vec::new();
    for (at, prompt) in prompts.iter().enumerate() {
        let next = prompts.get(at + 1).filter(|next| next.episode == prompt.episode).map_or(i64::MAX, |next| next.position);
        let own = by_episode.get(&prompt.episode).map(Vec::as_slice).unwrap_or_default();
        let known: HashSet<&str> =
            own.iter().filter(|event| event.position < prompt.position).map(|event| event.path.as_str()).collect();
        let opened = own.iter().filter(|event| event.position >= prompt.position && event.position < next);
        let wanted: HashSet<&str> = opened
            .map(|event| event.path.as_str())
            .filter(|path| !known.contains(path) && !prompt.text.contains(name_of(path)))
            .collect();
        let words = prompt.text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| word.len() > 2).count();
        let openings = events.partition_point(|event| event.at < prompt.at);
        if !wanted.is_empty() && words >= LEAST_WORDS && openings > LEAST_OPENINGS {
            cases.push(Case { prompt, wanted, known });
        }
    }
    cases
}

/// Counts how often each file was opened, in the order of their names.
fn popular(past: &[&FileEvent]) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for event in past {
        *counts.entry(&event.path).or_default() += 1;
    }
    counts.into_iter().map(|(path, count)| (path.to_owned(), count)).collect()
}

#[derive(Default)]
struct Judged {
    prompts: usize,
    hits: [usize; CUTS.len()],
    recall: f64,
}

impl Judged {
    fn add<'a>(&mut self, case: &Case<'_>, ranked: impl Iterator<Item = &'a str>) {
        let is_new = |path: &&str| !case.known.contains(path) && !case.prompt.text.contains(name_of(path));
        let ranked: Vec<&str> = ranked.filter(is_new).take(CUTS[CUTS.len() - 1]).collect();
        let found: Vec<bool> = ranked.iter().map(|path| case.wanted.contains(path)).collect();
        self.prompts += 1;
        for (hits, cut) in self.hits.iter_mut().zip(CUTS) {
            *hits += usize::from(found.iter().take(cut).any(|found| *found));
        }
        self.recall += found.iter().filter(|found| **found).count() as f64 / case.wanted.len() as f64;
    }

    fn row(&self, name: &'static str) -> ReplayRow {
        let all = self.prompts.max(1) as f64;
        ReplayRow { name, hits: self.hits.map(|hits| hits as f64 / all), recall: self.recall / all }
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Returns whether a path ends like a file, with a short extension of letters; agents also open folders.
fn is_named_like_a_file(path: &str) -> bool {
    name_of(path)
        .rsplit_once('.')
        .is_some_and(|(_, end)| (1..=5).contains(&end.len()) && end.bytes().all(|letter| letter.is_ascii_lowercase()))
}
