//! Ranks turns of conversations between people: chats, exports, pages of discussion with named speakers. There a mere question is
//! seldom what is asked for, the speaker matters, and a short turn answers with the words of its neighbours.

use std::collections::HashMap;

use yore_core::episode::EpisodeKind;
use yore_core::query::{Part, ScorePart};
use yore_core::rank::standard;

use super::QueryContext;
use super::boosts::{Ranked, spread_of};
use super::deadline::LatePart;
use super::pack::MOST_TERMS;
use super::plan::Plan;
use super::texts::Texts;
use crate::error::EngineError;
use crate::index::Address;
use crate::store::{EpisodeKey, ItemKey, SPOKEN_GAP};

/// Number of the best candidates that are ranked anew.
const RANKED: usize = 100;
/// Number of the best candidates of which half must have named speakers.
const TOLD_BY: usize = 20;
/// Distance within which turns share their words, in turns.
const WINDOW: f64 = 2.5;
/// Weights in standard deviations of the scores: tried on one development set, each by itself
/// (`docs/measurements.md`, "Order").
const SPEAKER: f32 = 0.6;
const OTHER_SPEAKER: f32 = -0.9;
const QUESTION: f32 = -1.0;
/// The same for parts that are scaled to a standard deviation of 1 themselves.
const WINDOW_COVER: f32 = 0.4;
const SESSION_COVER: f32 = 0.25;
const LENGTH: f32 = 0.2;

/// Ranks people's talk anew; other candidates stay as they are.
pub(super) fn rank_talk(
    context: &QueryContext<'_>,
    plan: &Plan<'_>,
    ranked: &mut [Ranked],
    texts: &mut Texts,
) -> Result<(), EngineError> {
    if !plan.request.tuning.is_talk_ranked || ranked.is_empty() {
        return Ok(());
    }
    let first: Vec<ItemKey> = ranked.iter().take(TOLD_BY).map(Ranked::key).collect();
    texts.load(context.store, &first)?;
    let is_talk =
        |key: &ItemKey| texts.turn(*key).is_some_and(|turn| turn.kind != EpisodeKind::Document && turn.speaker.is_some());
    if 2 * first.iter().filter(|key| is_talk(key)).count() < first.len() || !context.deadline.allows(LatePart::Talk) {
        return Ok(());
    }
    let count = ranked.len().min(RANKED);
    let keys: Vec<ItemKey> = ranked[..count].iter().map(Ranked::key).collect();
    texts.load(context.store, &keys)?;
    let covers = Covers::of(context, plan, ranked)?;
    let question = plan.request.question.to_lowercase();
    let is_named = |speaker: &str| {
        let speaker = speaker.to_lowercase();
        let words = question.split(|letter: char| !letter.is_alphanumeric());
        speaker.split_whitespace().next().is_some_and(|name| words.into_iter().any(|word| word == name))
    };
    let speakers: Vec<Option<&str>> = keys.iter().map(|key| texts.turn(*key).and_then(|turn| turn.speaker.as_deref())).collect();
    let names_one = speakers.iter().flatten().any(|speaker| is_named(speaker));
    let words: Vec<&str> = keys.iter().map(|key| texts.turn(*key).map_or("", |turn| turn.text.trim())).collect();
    let window = standard(&covers.in_window(&ranked[..count]));
    let session = standard(&covers.in_session(&ranked[..count]));
    let length = standard(&words.iter().map(|words| (1.0 + words.chars().count() as f32).ln()).collect::<Vec<_>>());
    let unit = spread_of(&ranked[..count]);
    for (at, ranked) in ranked[..count].iter_mut().enumerate() {
        let said_by = match speakers[at] {
            Some(speaker) if is_named(speaker) => SPEAKER,
            _ if names_one => OTHER_SPEAKER,
            _ => 0.0,
        };
        let asks = if words[at].ends_with('?') { QUESTION } else { 0.0 };
        let parts = said_by + asks + WINDOW_COVER * window[at] + SESSION_COVER * session[at] + LENGTH * length[at];
        ranked.add(ScorePart { part: Part::Talk, value: unit * parts });
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    Ok(())
}

/// The question's terms that the candidates have, with their weights.
struct Covers {
    rarity: Vec<f32>,
    /// Position and terms of the candidates of each episode, by position.
    episodes: HashMap<EpisodeKey, Vec<(f64, u128)>>,
}

impl Covers {
    fn of(context: &QueryContext<'_>, plan: &Plan<'_>, ranked: &[Ranked]) -> Result<Self, EngineError> {
        let terms = &plan.question.terms[..plan.question.terms.len().min(MOST_TERMS)];
        let rarity = context.lexical.rarity(terms)?;
        let (at, places): (Vec<usize>, Vec<Address>) =
            ranked.iter().enumerate().filter_map(|(at, ranked)| Some((at, ranked.candidate.address()?))).unzip();
        let mut episodes: HashMap<EpisodeKey, Vec<(f64, u128)>> = HashMap::new();
        for (at, terms) in at.into_iter().zip(context.lexical.terms_of(terms, &places)?) {
            let (episode, position) = place(&ranked[at]);
            episodes.entry(episode).or_default().push((position, terms));
        }
        episodes.values_mut().for_each(|turns| turns.sort_by(|a, b| a.0.total_cmp(&b.0)));
        Ok(Self { rarity, episodes })
    }

    fn in_window(&self, ranked: &[Ranked]) -> Vec<f32> {
        self.of_near(ranked, |distance| distance <= WINDOW)
    }

    fn in_session(&self, ranked: &[Ranked]) -> Vec<f32> {
        self.of_near(ranked, |_| true)
    }

    /// Returns for each candidate the weight of the terms that it and those near it in its episode have.
    fn of_near(&self, ranked: &[Ranked], is_near: impl Fn(f64) -> bool) -> Vec<f32> {
        let cover = |ranked: &Ranked| {
            let (episode, position) = place(ranked);
            let turns = self.episodes.get(&episode).map(Vec::as_slice).unwrap_or_default();
            let near = turns.iter().filter(|(other, _)| is_near((other - position).abs()));
            let terms = near.fold(0, |terms, (_, more)| terms | more);
            self.rarity.iter().enumerate().filter(|(bit, _)| terms >> bit & 1 == 1).map(|(_, rarity)| rarity).sum()
        };
        ranked.iter().map(cover).collect()
    }
}

fn place(ranked: &Ranked) -> (EpisodeKey, f64) {
    let position = ranked.candidate.position;
    (position.episode, position.index as f64 / SPOKEN_GAP as f64)
}
