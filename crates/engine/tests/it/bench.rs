//! A small bench of yore's own, so that quality cannot get worse unnoticed. `YORE_BLESS=1` rewrites the
//! figures.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::fs;

use serde_json::Value;
use yore_core::metrics;
use yore_core::query::{Filter, SearchMode};
use yore_core::scope::ScopeChoice;
use yore_core::time::RecordedTime;
use yore_engine::{Packing, SuggestRequest, Trigger};
use yore_testing::{Memory, fixture, is_blessing};

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The figures of one category, by name.
#[derive(Default)]
struct Category {
    questions: usize,
    /// Sum, and number of questions in it.
    figures: BTreeMap<&'static str, (f64, usize)>,
}

impl Category {
    fn add(&mut self, name: &'static str, value: f64) {
        let figure = self.figures.entry(name).or_default();
        *figure = (figure.0 + value, figure.1 + 1);
    }
}

fn measure(memory: &Memory) -> BTreeMap<String, Category> {
    let mut categories: BTreeMap<String, Category> = BTreeMap::new();
    for line in fs::read_to_string(fixture("bench/queries.jsonl")).unwrap().lines() {
        let question: Value = serde_json::from_str(line).unwrap();
        let ranked: Vec<String> = memory
            .ask_with(question["query"].as_str().unwrap(), |request| {
                request.filter.scope = ScopeChoice::Projects(vec!["mini".to_owned()]);
                request.filter.as_of = RecordedTime::parse(question["query_time"].as_str().unwrap()).utc;
                request.limit = 50;
            })
            .hits
            .into_iter()
            .filter_map(|hit| Some(hit.place?.native_message))
            .collect();
        let ranked: Vec<&str> = ranked.iter().map(String::as_str).collect();
        let (gold, stale) = (strings(&question["gold_turns"]), strings(&question["stale_turns"]));
        let gold: HashSet<&str> = gold.iter().map(String::as_str).collect();
        let stale: HashSet<&str> = stale.iter().map(String::as_str).collect();
        let groups: Vec<Vec<String>> = question["gold_groups"].as_array().into_iter().flatten().map(strings).collect();
        let groups: Vec<Vec<&str>> = groups.iter().map(|group| group.iter().map(String::as_str).collect()).collect();
        for name in [question["category"].as_str().unwrap(), "all with an answer"] {
            if gold.is_empty() && name.starts_with("all") {
                continue;
            }
            let category = categories.entry(name.to_owned()).or_default();
            category.questions += 1;
            if gold.is_empty() {
                continue;
            }
            let at10 = metrics::score(&ranked, &gold, 10);
            category.add("any@5", metrics::score(&ranked, &gold, 5).any);
            category.add("ev@10", metrics::evidence_recall(&ranked, &groups, 10));
            category.add("rec@10", at10.recall);
            category.add("ndcg@10", at10.ndcg);
            category.add("mrr@10", at10.mrr);
            if !stale.is_empty() {
                category.add("latest first", f64::from(u8::from(metrics::latest_first(&ranked, &gold, &stale, 10))));
            }
        }
    }
    categories
}

#[test]
fn quality_on_our_own_bench_is_as_committed() {
    let memory = Memory::new();
    let report = memory.read_as("jsonl", &fixture("bench/corpus.jsonl"));
    memory.index();
    let mut table = format!("{} turns\n", report.turns_added);
    for (name, category) in measure(&memory) {
        let _ = write!(table, "{name}: {} questions", category.questions);
        for (figure, (sum, count)) in &category.figures {
            let _ = write!(table, ", {figure} {:.3}", sum / *count as f64);
            if *count < category.questions {
                let _ = write!(table, " (of {count})");
            }
        }
        table.push('\n');
    }
    let path = fixture("bench/expected.txt");
    if is_blessing() {
        fs::write(&path, &table).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(table, expected, "figures changed; look at each, then run with YORE_BLESS=1");
}

/// Returns the numbers of prompts, of prompts with a suggestion, and of prompts whose suggestion has
/// evidence.
fn suggested(memory: &Memory, prompts: impl Iterator<Item = (String, Option<i64>, HashSet<String>)>) -> (usize, usize, usize) {
    let (mut asked, mut answered, mut with_evidence) = (0, 0, 0);
    for (prompt, as_of, gold) in prompts {
        let suggestions = memory
            .engine()
            .suggest(&SuggestRequest {
                trigger: Trigger::Prompt(prompt),
                here: None,
                filter: Filter { scope: ScopeChoice::Projects(vec!["mini".to_owned()]), as_of, ..Filter::default() },
                session: None,
                given: Vec::new(),
                is_later: false,
                is_compacted: false,
                limit: 8,
                quote_chars: 300,
                packing: Packing { budget: 700, group_cost: 44, hit_cost: 44, broad: 4, least_gain: 0.0 },
                floor: 0.7,
                mode: SearchMode::Static,
            })
            .unwrap();
        asked += 1;
        answered += usize::from(!suggestions.memories.is_empty());
        with_evidence +=
            usize::from(suggestions.memories.iter().any(|memory| gold.contains(&memory.hit.as_turn().unwrap().native_message)));
    }
    (asked, answered, with_evidence)
}

#[test]
fn questions_are_answered_unasked_and_everyday_prompts_are_left_alone() {
    let memory = Memory::new();
    memory.read_as("jsonl", &fixture("bench/corpus.jsonl"));
    memory.index();
    let queries = fs::read_to_string(fixture("bench/queries.jsonl")).unwrap();
    let questions = queries.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).filter_map(|question| {
        let gold: HashSet<String> = strings(&question["gold_turns"]).into_iter().collect();
        let as_of = RecordedTime::parse(question["query_time"].as_str().unwrap()).utc;
        (!gold.is_empty()).then(|| (question["query"].as_str().unwrap().to_owned(), as_of, gold))
    });
    let (asked, answered, with_evidence) = suggested(&memory, questions);
    assert!(2 * with_evidence >= asked, "{asked} asked, {answered} answered, {with_evidence} with evidence");
    for (list, most) in
        [("everyday-dev.txt", 5), ("everyday-held-out.txt", 5), ("longer-dev.txt", 10), ("longer-held-out.txt", 10)]
    {
        let path = fixture("").join("../../bench/prompts").join(list);
        let prompts = fs::read_to_string(path).unwrap();
        let everyday = prompts.lines().map(|prompt| (prompt.to_owned(), None, HashSet::new()));
        let (asked, answered, _) = suggested(&memory, everyday);
        assert_eq!(asked, 100);
        assert!(answered <= most, "{list}: {answered} of {asked} everyday prompts are suggested something");
    }
}
