//! Chooses the view that a question wants, and its projects, period and subject. `commands`, `lists`, `work` and `overview` make the rows.

use yore_core::event::{EventKind, EventState};
use yore_core::query::{AnswerKind, Filter};
use yore_core::scope::ScopeChoice;
use yore_core::text::{
    Period, Tokenizer, Tokens, WantedAnswer, asks_how_it_works, english_of, is_german, is_stop_word, wanted_answer, wanted_as,
};
use yore_core::time::UtcMillis;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::{RecallRequest, View, ViewRow, project_here, projects_named};
use crate::store::{EventFilter, ProjectKey};
use yore_sources::project_names::ProjectNames;

/// Most rows of a view, unless more are asked for, and of one that has nothing about its subject.
const MOST_ROWS: usize = 30;
const MOST_WIDENED: usize = 5;
/// Fewest words of a question that may be an error, and the share of them that the error has.
const ERROR_TERMS: usize = 4;
const SAME_ERROR: f32 = 0.8;
/// Letters of a word that may be its ending, and letters that are none.
const ENDING: usize = 3;
const SHORTEST_TERM: usize = 5;
/// Letters of the beginning of a word by which a command is called.
const SHORTEST_BEGINNING: usize = 3;
/// Steps before which something is to be done.
const STEPS: [&str; 6] = ["commit", "push", "pull request", "merg", "releas", "deploy"];
/// Kinds whose rows are of the subject alone.
const NARROW: [AnswerKind; 4] = [AnswerKind::Cause, AnswerKind::Commands, AnswerKind::Work, AnswerKind::Overview];

/// The conditions by which the rows of a view are chosen.
pub(super) struct Asked<'r> {
    /// The request.
    pub request: &'r RecallRequest,
    /// The wanted answer.
    pub wanted: WantedAnswer,
    /// The projects; `None`: all.
    pub projects: Option<Vec<ProjectKey>>,
    /// From this time, and before that: the period that the question names, and the filter of the request.
    pub since: Option<UtcMillis>,
    pub until: Option<UtcMillis>,
    /// The subject.
    pub subject: Subject,
}

impl Asked<'_> {
    /// Returns the same for another kind or period.
    pub fn again(&self) -> Self {
        Self {
            request: self.request,
            wanted: self.wanted.clone(),
            projects: self.projects.clone(),
            since: self.since,
            until: self.until,
            subject: Subject::of(&self.wanted.subject, &self.request.question),
        }
    }

    /// Returns the condition on events.
    pub fn events(&self) -> EventFilter<'_> {
        EventFilter { projects: self.projects.as_deref(), since: self.since, until: self.until, ..EventFilter::default() }
    }

    /// Returns a request for the passages about the subject, at most so many.
    pub fn searching(&self, limit: usize) -> RecallRequest {
        RecallRequest {
            question: self.wanted.subject.clone(),
            answer_kind: Some(AnswerKind::Passages),
            limit,
            packing: None,
            with_work: false,
            with_topics: false,
            with_files: false,
            is_period_searched: false,
            ..self.request.clone()
        }
    }

    /// Returns whether a heading is of what is to be done before the step that the question names, such as a commit.
    pub fn is_before(&self, heading: &str) -> bool {
        let [question, heading] = [self.request.question.as_str(), heading].map(str::to_lowercase);
        ["before", "vor "].iter().any(|word| question.contains(word))
            && ["before", "pre-", "checklist"].iter().any(|word| heading.contains(word))
            && STEPS.iter().any(|step| question.contains(step) && heading.contains(step))
    }

    /// Returns whether a thing with this state is wanted.
    pub fn wants(&self, state: EventState) -> bool {
        self.wanted.states.is_empty() || self.wanted.states.contains(&state.of_thing())
    }
}

/// The words of a subject, as the index knows them.
pub(super) struct Subject {
    /// Each word, with the English ones for it.
    terms: Vec<Vec<String>>,
}

impl Subject {
    /// Reads a subject; one of a German question has English words beside its own.
    pub fn of(text: &str, question: &str) -> Self {
        let is_german = is_german(question);
        let (mut tokens, mut terms) = (Tokens::default(), Vec::new());
        Tokenizer::default().tokenize(text, &mut tokens);
        for token in tokens.iter() {
            // Endings differ: "duplicated", "duplication".
            let kept = token.text.chars().count().saturating_sub(ENDING);
            let term: String = token.text.chars().take(kept.max(SHORTEST_TERM)).collect();
            if !is_stop_word(token.text) && !terms.iter().any(|known: &Vec<String>| known[0] == term) {
                let english = if is_german { english_of(token.text) } else { &[] };
                let english = english.iter().map(|word| (*word).to_owned());
                terms.push(std::iter::once(term).chain(english).collect());
            }
        }
        Self { terms }
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns those of its words that a text has at all, if these are half of them or more.
    pub fn met_in(&self, text: &str) -> Option<Self> {
        let lower = text.to_lowercase();
        let is_met = |term: &&Vec<String>| term.iter().any(|word| lower.contains(word.as_str()));
        let terms: Vec<Vec<String>> = self.terms.iter().filter(is_met).cloned().collect();
        (2 * terms.len() >= self.terms.len()).then_some(Self { terms })
    }

    /// Returns those of its words that a text lacks.
    pub fn lacking_in(self, text: &str) -> Self {
        let lower = text.to_lowercase();
        let is_lacking = |term: &Vec<String>| !term.iter().any(|word| lower.contains(word.as_str()));
        Self { terms: self.terms.into_iter().filter(is_lacking).collect() }
    }

    /// Returns the share of its words that a text has, 0 to 1; 1 of no words.
    pub fn share_in(&self, text: &str) -> f32 {
        if self.terms.is_empty() {
            return 1.0;
        }
        let lower = text.to_lowercase();
        let found = self.terms.iter().filter(|term| term.iter().any(|word| lower.contains(word.as_str()))).count();
        found as f32 / self.terms.len() as f32
    }

    /// Returns for each text the share of its words that it has, by rarity among the texts, 0 to 1. A word that no text has counts nothing.
    pub fn shares_in(&self, texts: &[String]) -> Vec<f32> {
        let lower: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
        let (mut shares, mut whole) = (vec![0.0; texts.len()], 0.0);
        for term in &self.terms {
            let has = |text: &&String| term.iter().any(|word| text.contains(word.as_str()));
            let having = lower.iter().filter(has).count();
            if having == 0 {
                continue;
            }
            let rarity = (1.0 + texts.len() as f32 / having as f32).ln();
            whole += rarity;
            for (share, text) in shares.iter_mut().zip(&lower) {
                *share += if has(&text) { rarity } else { 0.0 };
            }
        }
        shares.into_iter().map(|share| share / whole.max(f32::MIN_POSITIVE)).collect()
    }

    /// Returns whether a word of a text is one of its words, or the beginning of one: `dup` of "duplicated".
    pub fn is_begun_in(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        let words = lower
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| word.len() >= SHORTEST_BEGINNING && *word != "run");
        words.into_iter().any(|word| self.terms.iter().flatten().any(|term| term.starts_with(word) && term.len() > word.len()))
    }

    /// Returns whether a text is about it: it has more than half of its words.
    pub fn is_in(&self, text: &str) -> bool {
        self.share_in(text) > 0.5
    }
}

/// The rows that one kind of view makes, and the number of things of its kind whatever their subject.
#[derive(Default)]
pub(super) struct Rows {
    pub rows: Vec<ViewRow>,
    pub all: usize,
    /// The category whose summary was asked, and whether it sufficed.
    pub category: Option<(String, bool)>,
    /// True if the rows have fewer than half of the subject's words.
    pub are_beside: bool,
}

/// The kind of answer that a request wants, and its view over what is recorded.
pub(crate) struct Viewed {
    pub kind: AnswerKind,
    /// The view; `None` if the kind has none, or if nothing of the kind is recorded.
    pub view: Option<View>,
    /// True if what is recorded about the current project is asked, and that is none of those that are known.
    pub is_project_unknown: bool,
}

impl Viewed {
    /// Returns a wish for passages.
    pub fn passages() -> Self {
        Self::without_view(AnswerKind::Passages)
    }

    fn without_view(kind: AnswerKind) -> Self {
        Self { kind, view: None, is_project_unknown: false }
    }
}

impl Engine {
    /// Returns the kind of answer that a request wants, and its view over what is recorded.
    pub(crate) fn view(&self, request: &RecallRequest) -> Result<Viewed, EngineError> {
        let periods = request.periods(self.now());
        let mut wanted = match request.answer_kind {
            Some(kind) => wanted_as(kind, &request.question, &periods),
            None => wanted_answer(&request.question, &periods),
        };
        if request.answer_kind.is_none() && wanted.kind == AnswerKind::Passages && self.is_known_error(request)? {
            wanted.kind = AnswerKind::Cause;
        }
        // How something works, its summary may say; passages do otherwise.
        let works = match wanted.kind {
            AnswerKind::Passages if request.answer_kind.is_none() => asks_how_it_works(&request.question, &periods),
            _ => None,
        };
        let is_of_summary = works.is_some();
        if let Some(subject) = works {
            (wanted.kind, wanted.subject) = (AnswerKind::Overview, subject);
        }
        let kind = wanted.kind;
        // An overview of a file is the one view of a file.
        let is_of_file = kind == AnswerKind::Overview && !request.filter.files.is_empty();
        let filter =
            Filter { files: if is_of_file { Vec::new() } else { request.filter.files.clone() }, ..request.filter.clone() };
        if kind == AnswerKind::Passages || !filter.is_open_to_views() {
            return Ok(Viewed::passages());
        }
        if is_of_file {
            wanted.subject = request.filter.files.join(", ");
        }
        let Some(scope) = self.projects_of(request)? else { return Ok(Viewed::without_view(kind)) };
        let is_of_unknown = matches!(scope, Scope::Unknown) && is_of_project(&wanted, request);
        // Only statements that hold everywhere are known there.
        let projects = if is_of_unknown { Some(Vec::new()) } else { scope.filter() };
        let period = periods
            .iter()
            .map(|named| named.period)
            .reduce(|one, other| Period { start: one.start.min(other.start), end: one.end.max(other.end) });
        let latest = |one: Option<UtcMillis>, other: Option<UtcMillis>| one.into_iter().chain(other).max();
        let earliest = |one: Option<UtcMillis>, other: Option<UtcMillis>| one.into_iter().chain(other).min();
        let (since, until) = (
            latest(request.filter.since, period.map(|period| period.start)),
            earliest(request.filter.until, period.map(|period| period.end)),
        );
        let asked = Asked { request, projects, since, until, subject: Subject::of(&wanted.subject, &request.question), wanted };
        let Rows { mut rows, all, category, are_beside } = match is_of_summary {
            true => match self.summary_rows(&asked)? {
                Some(found) if found.category.as_ref().is_some_and(|(_, sufficed)| *sufficed) => found,
                _ => return Ok(Viewed::passages()),
            },
            false => self.rows(&asked)?,
        };
        if is_of_unknown && rows.is_empty() {
            // Passages of other projects may answer what is no question about this one.
            let is_about_it = !asked.wanted.is_guess && is_project_bound(kind);
            return Ok(if is_about_it {
                Viewed { is_project_unknown: true, ..Viewed::without_view(kind) }
            } else {
                Viewed::passages()
            });
        }
        // A list that has nothing about the subject tells the latest.
        let is_widened = rows.is_empty()
            && all > 0
            && asked.wanted.is_several
            && !asked.wanted.is_guess
            && !asked.subject.is_empty()
            && !NARROW.contains(&kind);
        if is_widened {
            let wanted = WantedAnswer { subject: String::new(), ..asked.wanted.clone() };
            rows = self.rows(&Asked { wanted, subject: Subject::of("", ""), projects: asked.projects.clone(), ..asked })?.rows;
        }
        let is_widened = is_widened || are_beside;
        if is_widened {
            rows.truncate(MOST_WIDENED);
        }
        if rows.is_empty() && asked.wanted.is_guess {
            return Ok(Viewed::passages());
        }
        // That nothing of a list is recorded is an answer.
        let is_list = !NARROW.contains(&kind) && request.answer_kind.is_none();
        if rows.is_empty() && all == 0 && !is_list {
            return Ok(Viewed::without_view(kind));
        }
        let total = rows.len();
        rows.truncate(MOST_ROWS.max(request.limit));
        let period = period.map(|period| (period.start, period.end));
        let WantedAnswer { purpose, subject, .. } = asked.wanted;
        let (category, sufficed) = category.unzip();
        let view = View { kind, purpose, subject, period, rows, total, all, is_widened, category, sufficed };
        Ok(Viewed { view: Some(view), ..Viewed::without_view(kind) })
    }

    /// Returns whether a question has nearly the words of an error that a tool reported.
    fn is_known_error(&self, request: &RecallRequest) -> Result<bool, EngineError> {
        let subject = Subject::of(&request.question, "");
        if subject.terms.len() < ERROR_TERMS || request.question.contains('?') {
            return Ok(false);
        }
        let projects = self.projects_of(request)?.and_then(Scope::filter);
        let filter = EventFilter { kinds: &[EventKind::Error], projects: projects.as_deref(), ..EventFilter::default() };
        Ok(self.store().events(&filter)?.iter().any(|known| subject.share_in(&known.event.text) >= SAME_ERROR))
    }

    /// Returns the rows of the kind that is wanted.
    fn rows(&self, asked: &Asked<'_>) -> Result<Rows, EngineError> {
        match asked.wanted.kind {
            AnswerKind::Cause => self.cause_rows(asked),
            AnswerKind::Commands => self.command_rows(asked),
            AnswerKind::Work => self.work_rows(asked),
            AnswerKind::Overview if !asked.request.filter.files.is_empty() => self.touched_rows(asked),
            AnswerKind::Overview => self.overview_rows(asked),
            AnswerKind::Files => self.file_rows(asked),
            AnswerKind::Todos | AnswerKind::Questions | AnswerKind::Problems | AnswerKind::Decisions | AnswerKind::Rules => {
                self.statement_rows(asked)
            }
            _ => self.event_rows(asked),
        }
    }

    /// Returns the projects that a request is about; `None` if it is limited to a project that is not known.
    fn projects_of(&self, request: &RecallRequest) -> Result<Option<Scope>, EngineError> {
        let store = self.store();
        let here = || match &request.here {
            Some(here) => project_here(store, here),
            None => Ok(None),
        };
        Ok(match &request.filter.scope {
            ScopeChoice::All => Some(Scope::Everything),
            ScopeChoice::Projects(names) => Some(Scope::Projects(projects_named(store, names)?)),
            ScopeChoice::Current => Some(match here()? {
                Some(project) => Scope::Projects(vec![project]),
                None => match &request.here {
                    // Outside of a repository, the only project that is known is the one that is meant.
                    Some(here) if here.is_in_repository() || store.projects()?.len() > 1 => Scope::Unknown,
                    _ => Scope::Everything,
                },
            }),
            ScopeChoice::CurrentOnly => here()?.map(|project| Scope::Projects(vec![project])),
        })
    }
}

/// Returns whether a question is about what is recorded of the current project. Outside of a repository, lists may be of all projects.
fn is_of_project(wanted: &WantedAnswer, request: &RecallRequest) -> bool {
    match wanted.kind {
        AnswerKind::Overview if !wanted.subject.is_empty() => false,
        AnswerKind::Cause | AnswerKind::Work => false,
        kind if is_project_bound(kind) => true,
        _ => request.here.as_ref().is_some_and(ProjectNames::is_in_repository),
    }
}

/// Returns whether the answer of a kind is about a project, wherever it is asked.
const fn is_project_bound(kind: AnswerKind) -> bool {
    matches!(kind, AnswerKind::Commands | AnswerKind::Rules | AnswerKind::Files | AnswerKind::Overview)
}

/// The projects that a request is about.
enum Scope {
    Everything,
    /// The current project, which is none of those that are known.
    Unknown,
    Projects(Vec<ProjectKey>),
}

impl Scope {
    fn filter(self) -> Option<Vec<ProjectKey>> {
        match self {
            Self::Everything | Self::Unknown => None,
            Self::Projects(projects) => Some(projects),
        }
    }
}
