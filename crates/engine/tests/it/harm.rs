//! Measures the harm that a memory can do: sixty coding facts, each present, absent, superseded, contradicted, or known of a
//! neighbour only. What an answer and a prompt hook give is held to what was measured (`docs/measurements.md`, "Harm").

use std::collections::BTreeMap;

use serde_json::json;
use yore_core::query::{Filter, SearchMode};
use yore_core::scope::ScopeChoice;
use yore_core::strength::Strength;
use yore_core::time::UtcMillis;
use yore_engine::{ExtractRequest, Hit, Packing, Passage, RecallRequest, SuggestRequest, Suggestion, Trigger, exchanges};
use yore_testing::{Memory, SessionBuilder};

const DAY: UtcMillis = 86_400_000;
const HARBOUR: &str = "harbour";
const ISLAND: &str = "island";
/// Characters up to which an older value beside the newer one is half a line.
const HALF_A_LINE: usize = 120;

/// One fact, and what may stand in its place.
#[derive(Clone, Copy)]
struct Case {
    question: &'static str,
    fact: &'static str,
    changed: &'static str,
    contrary: &'static str,
    neighbour: &'static str,
}

fn cases() -> Vec<Case> {
    let lines = include_str!("harm/cases.txt").lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(" | ").collect();
            let [question, fact, changed, contrary, neighbour] = fields[..] else { panic!("{line}") };
            Case { question, fact, changed, contrary, neighbour }
        })
        .collect()
}

/// A memory of unrelated sessions and of these statements, each in a session of two turns, with what rules find in them.
struct Said(Memory, u64);

impl Said {
    fn new() -> Self {
        let memory = Memory::new();
        for seed in 0..24 {
            let project = if seed % 2 == 0 { HARBOUR } else { ISLAND };
            memory.write(
                &format!("claude/p/{seed}.jsonl"),
                SessionBuilder::new(seed).cwd(&format!("/home/dev/{project}")).turns(24).text(),
            );
        }
        Self(memory, 1_000)
    }

    /// Adds a session in which the person states this, or the agent finds it.
    fn say(&mut self, project: &str, days_ago: i64, text: &str) {
        self.1 += 1;
        let mut session = SessionBuilder::new(self.1)
            .cwd(&format!("/home/dev/{project}"))
            .at(Memory::now() - days_ago * DAY + self.1 as i64 * 60_000);
        if self.1.is_multiple_of(2) {
            session.human(text);
            session.assistant("Noted, I will keep to that in this task.");
        } else {
            session.human("Can you look that up in the repository before we go on?");
            session.assistant(text);
        }
        self.0.write(&format!("claude/p/{}.jsonl", self.1), session.text());
    }

    /// Adds a conversation of two turns, the first of which a named person says.
    fn say_as(&mut self, speaker: &str, days_ago: i64, text: &str) {
        self.1 += 1;
        let at = |minutes: i64| yore_core::time::format_utc(Memory::now() - days_ago * DAY + minutes * 60_000);
        let turns = json!([
            {"turn_id": format!("{}:0", self.1), "role": "user", "speaker": speaker, "text": text, "timestamp": at(0)},
            {"turn_id": format!("{}:1", self.1), "role": "user", "speaker": "Uwe", "text": "Thanks, good to hear.", "timestamp": at(1)},
        ]);
        let document = json!({"corpus_id": HARBOUR, "doc_id": format!("d{}", self.1), "timestamp": at(0), "turns": turns});
        self.0.append("talk.jsonl", format!("{document}\n").as_bytes());
    }

    fn learn(&self) {
        self.0.read_as("claude-code", &self.0.sources().join("claude"));
        if self.0.sources().join("talk.jsonl").exists() {
            self.0.read_as("jsonl", &self.0.sources().join("talk.jsonl"));
        }
        self.0.index();
        self.0.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
        self.0.index();
    }

    /// Returns what an answer gives, and whether it gives it as more than weak.
    fn answer(&self, project: &str, question: &str) -> Given {
        let answer = self.0.engine().recall(&RecallRequest {
            filter: within(project),
            packing: Some(Packing { budget: 900, group_cost: 36, hit_cost: 24, broad: 0, least_gain: 0.0 }),
            ..RecallRequest::new(question)
        });
        let answer = answer.unwrap();
        let is_silent = answer.hits.is_empty() || Strength::of(answer.confidence) == Strength::Weak;
        Given { passages: passages(&answer.hits), is_silent }
    }

    /// Returns what a hook gives for a prompt.
    fn hook(&self, project: &str, prompt: &str) -> Given {
        let suggestions = self.0.engine().suggest(&SuggestRequest {
            trigger: Trigger::Prompt(prompt.to_owned()),
            here: None,
            filter: within(project),
            session: Some("asking".to_owned()),
            given: Vec::new(),
            is_later: false,
            is_compacted: false,
            limit: 8,
            quote_chars: 300,
            packing: Packing { budget: 380, group_cost: 44, hit_cost: 44, broad: 4, least_gain: 0.0 },
            floor: 0.7,
            mode: SearchMode::Static,
        });
        let hits: Vec<Hit> = suggestions.unwrap().memories.into_iter().map(|Suggestion { hit, .. }| hit).collect();
        Given { passages: passages(&hits), is_silent: hits.is_empty() }
    }
}

fn within(project: &str) -> Filter {
    Filter { scope: ScopeChoice::Projects(vec![project.to_owned()]), ..Filter::default() }
}

/// The passages given, each with the day of what it is part of.
struct Given {
    passages: Vec<(Option<UtcMillis>, String)>,
    is_silent: bool,
}

impl Given {
    fn place(&self, text: &str) -> Option<usize> {
        self.passages.iter().position(|(_, passage)| passage.contains(text))
    }

    /// Returns whether the newer statement comes first, and of the older one there is nothing or half a line.
    fn is_newest(&self, old: &str, new: &str) -> bool {
        let Some(newer) = self.place(new) else { return false };
        self.place(old).is_none_or(|older| newer < older && self.passages[older].1.len() <= HALF_A_LINE)
    }

    fn has_both(&self, one: &str, other: &str) -> bool {
        [one, other].iter().all(|text| self.place(text).is_some_and(|at| self.passages[at].0.is_some()))
    }
}

fn passages(hits: &[Hit]) -> Vec<(Option<UtcMillis>, String)> {
    let mut passages = Vec::new();
    for exchange in exchanges(hits.iter()) {
        let at = exchange.head.time.utc;
        for passage in exchange.passages {
            passages.push((at, passage.text().to_owned()));
            if let Passage::Hit(hit) = passage {
                let past = hit.as_memory().into_iter().flat_map(|memory| &memory.history);
                passages.extend(past.map(|past| (Some(past.recorded), past.statement.chars().take(HALF_A_LINE).collect())));
            }
        }
    }
    passages
}

#[test]
fn what_is_absent_changed_disputed_or_a_neighbours_does_no_more_harm_than_was_measured() {
    let cases = cases();
    assert_eq!(cases.len(), 60);
    let mut present = Said::new();
    let (mut superseded, mut disputed, mut adjacent) = (Said::new(), Said::new(), Said::new());
    for (at, case) in cases.iter().enumerate() {
        present.say([HARBOUR, ISLAND][at / 2 % 2], 60, case.fact);
        superseded.say(HARBOUR, 90, case.fact);
        adjacent.say(HARBOUR, 60, case.neighbour);
        disputed.say_as("Ada", 60, case.fact);
        disputed.say_as("Bert", 58, case.contrary);
    }
    for case in &cases {
        superseded.say(HARBOUR, 20, case.changed);
    }
    std::thread::scope(|scope| {
        for said in [&present, &superseded, &disputed, &adjacent] {
            scope.spawn(|| said.learn());
        }
    });
    let mut table: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (at, case) in cases.iter().enumerate() {
        let Case { question, fact, changed, contrary, .. } = *case;
        let [here, elsewhere] = if at / 2 % 2 == 0 { [HARBOUR, ISLAND] } else { [ISLAND, HARBOUR] };
        let mut tell = |condition, by, is_right: bool| {
            table.entry((condition, by)).or_default().extend((!is_right).then_some(question));
        };
        type Ask = fn(&Said, &str, &str) -> Given;
        for (by, ask) in [("answer", Said::answer as Ask), ("hook", Said::hook as Ask)] {
            tell("present", by, ask(&present, here, question).place(fact).is_some());
            tell("absent", by, ask(&present, elsewhere, question).is_silent);
            tell("superseded", by, ask(&superseded, HARBOUR, question).is_newest(fact, changed));
            tell("contradictory", by, ask(&disputed, HARBOUR, question).has_both(fact, contrary));
            tell("adjacent", by, ask(&adjacent, HARBOUR, question).is_silent);
        }
    }
    // The least numbers of right ones of sixty: of answers, and of hooks.
    let floors =
        [("present", 60, 59), ("absent", 60, 60), ("superseded", 56, 55), ("contradictory", 60, 57), ("adjacent", 47, 49)];
    let mut worse = Vec::new();
    println!("condition       answer  hook");
    for (condition, of_answer, of_hook) in floors {
        let [of_answers, of_hooks] = ["answer", "hook"].map(|by| &table[&(condition, by)]);
        let [by_answer, by_hook] = [of_answers, of_hooks].map(|wrong| cases.len() - wrong.len());
        println!("{condition:15} {by_answer:6}  {by_hook:4}");
        if by_answer < of_answer || by_hook < of_hook {
            worse.push((condition, of_answers, of_hooks));
        }
    }
    assert!(worse.is_empty(), "wrong answers, and wrong texts of hooks: {worse:#?}");
}
