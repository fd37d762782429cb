//! Measures the tools for contexts over many of them: index, preview, whole text, search, a hop, a tree, locking.
//!
//!     cargo run --release -p yore-bench --bin contexts -- [--contexts 10000] [--rounds 100] [--work DIRECTORY]
//!     cargo run --release -p yore-bench --bin contexts -- --questions crates/bench/data/contexts [--from 1] [--to 60]
//!
//! The second form answers the questions of a folder with its contexts: it prints for each the topics that were found, and counts those
//! with the right one among the first three, and those without a right one that found nothing above the bar.

#![expect(clippy::print_stdout, reason = "a program for maintainers whose result is its output")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use yore_bench::measure::{cpu_time, machine, percentile};
use yore_bench::open_engine;
use yore_bench::vocabulary::{Random, Vocabulary};
use yore_bench::workload::uuid;
use yore_core::note::{NoteFacts, NoteKind, Priority};
use yore_core::query::SearchMode;
use yore_core::scope::ScopeChoice;
use yore_engine::ingest::{GivenDocument, IngestRequest};
use yore_engine::{ContextDepth, ContextPlace, ContextReading, ContextSearch, Engine, RememberRequest};
use yore_sources::source::Stamp;
use yore_sources::source::note::{KIND, Note, note_records, note_unit};

/// Contexts that are locked again, with relations to four others each.
const RELATED: usize = 200;
/// Relevance above which a context is given whole.
const BAR: f32 = 0.7;
/// Tags that contexts share.
const TAGS: usize = 400;
/// Time of the first context, and between two, in milliseconds.
const FIRST_MS: i64 = 1_760_000_000_000;
const STEP_MS: i64 = 60_000;

/// A row of the table: what is done, and how long it may take.
type Row<'r> = (&'r str, &'r str, Box<dyn FnMut(usize) -> Result<usize, Box<dyn Error>> + 'r>);

fn main() -> Result<(), Box<dyn Error>> {
    let (mut count, mut rounds, mut work) = (10_000usize, 100usize, None::<PathBuf>);
    let (mut folder, mut from, mut to) = (None::<PathBuf>, 1usize, usize::MAX);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--contexts" => count = value.parse()?,
            "--rounds" => rounds = value.parse()?,
            "--work" => work = Some(value.into()),
            "--questions" => folder = Some(value.into()),
            "--from" => from = value.parse()?,
            "--to" => to = value.parse()?,
            _ => return Err(format!("unknown argument {name}").into()),
        }
    }
    let temporary = tempfile::tempdir()?;
    let data = work.unwrap_or_else(|| temporary.path().join("data"));
    let engine = open_engine(&data)?;
    if let Some(folder) = folder {
        return answer(&engine, &folder, from, to);
    }
    let vocabulary = Vocabulary::new(7);
    let mut random = Random::new(7);
    let (topics, bytes) = fill(&engine, &vocabulary, &mut random, count)?;
    println!("{}\n{count} contexts, {} kB in the mean", machine(), bytes / count.max(1) / 1_000);

    let place = ContextPlace { here: None, scope: ScopeChoice::All, session: None };
    let topic = |round: usize| topics[(round * 7_919) % topics.len()].clone();
    let mut asking = random.clone();
    let questions: Vec<String> = (0..rounds).map(|_| format!("how do we {}", words(&vocabulary, &mut asking, 4))).collect();
    let (engine, place) = (&engine, &place);
    let find = |round: usize, depth: ContextDepth| -> Result<usize, Box<dyn Error>> {
        let search = ContextSearch { question: questions[round].clone(), depth, limit: None, mode: SearchMode::Static };
        Ok(engine.find_contexts(place, &search)?.matches.len())
    };
    let open = |round: usize, is_whole: bool| -> Result<usize, Box<dyn Error>> {
        let reading = ContextReading { is_whole, ..ContextReading::default() };
        Ok(usize::from(engine.open_context(place, &topic(round), reading)?.is_some()))
    };
    // The related ones stand at the beginning.
    let tree = |round: usize, depth: usize| -> Result<usize, Box<dyn Error>> {
        let topic = &topics[round % RELATED.min(topics.len())];
        Ok(engine.context_tree(place, topic, depth, 10, SearchMode::Static)?.map_or(0, |tree| tree.reached.len()))
    };
    let lock = |round: usize| -> Result<usize, Box<dyn Error>> {
        engine.remember(&locked(&format!("new topic {round}"), "A new context of few words.".to_owned(), None))?;
        Ok(1)
    };
    let rows: Vec<Row<'_>> = vec![
        ("index, first page", "50 ms", Box::new(|_| Ok(engine.contexts(place, None, 120, false)?.contexts.len()))),
        ("preview", "50 ms", Box::new(|round| open(round, false))),
        ("whole", "100 ms", Box::new(|round| open(round, true))),
        ("search, previews", "50 ms", Box::new(|round| find(round, ContextDepth::Previews))),
        ("search, whole texts", "100 ms", Box::new(|round| find(round, ContextDepth::Whole))),
        ("tree, one hop", "200 ms", Box::new(|round| tree(round, 1))),
        ("tree, depth 2, 10 topics", "500 ms", Box::new(|round| tree(round, 2))),
        ("lock a new one", "", Box::new(lock)),
    ];
    println!("| | p50 / p95 wall | p95 CPU | limit | results in the mean |\n| --- | --- | --- | --- | --- |");
    for (name, limit, mut run) in rows {
        let (mut wall, mut cpu, mut results) = (Vec::new(), Vec::new(), 0);
        for round in 0..rounds {
            let (before, began) = (cpu_time(), Instant::now());
            results += run(round)?;
            wall.push(began.elapsed().as_secs_f64() * 1e3);
            cpu.push((cpu_time() - before).as_secs_f64() * 1e3);
        }
        wall.sort_by(f64::total_cmp);
        cpu.sort_by(f64::total_cmp);
        println!(
            "| {name} | {:.1} / {:.1} ms | {:.1} ms | {limit} | {:.1} |",
            percentile(&wall, 0.5),
            percentile(&wall, 0.95),
            percentile(&cpu, 0.95),
            results as f64 / rounds as f64
        );
    }
    Ok(())
}

/// Stores the contexts of a folder, and answers its questions from one number to another.
fn answer(engine: &Engine, folder: &Path, from: usize, to: usize) -> Result<(), Box<dyn Error>> {
    let lines = |name: &str| -> Result<Vec<Value>, Box<dyn Error>> {
        let text = std::fs::read_to_string(folder.join(name))?;
        Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
    };
    let listed = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect()
    };
    for context in lines("contexts.jsonl")? {
        let text = |name: &str| context[name].as_str().unwrap_or_default().to_owned();
        engine.remember(&RememberRequest {
            tags: listed(&context["tags"]),
            priority: Priority::parse(&text("priority")),
            ..locked(&text("topic"), text("content"), Some(listed(&context["related"])))
        })?;
    }
    let place = ContextPlace { here: None, scope: ScopeChoice::All, session: None };
    let (mut right, mut asked, mut silent, mut without) = (0, 0, 0, 0);
    for (at, question) in lines("questions.jsonl")?.iter().enumerate().take(to).skip(from.max(1) - 1) {
        let (text, topics) = (question["q"].as_str().unwrap_or_default(), listed(&question["topic"]));
        let search =
            ContextSearch { question: text.to_owned(), depth: ContextDepth::Previews, limit: Some(5), mode: SearchMode::Static };
        let found = engine.find_contexts(&place, &search)?.matches;
        let is_right = if topics.is_empty() {
            without += 1;
            let is_silent = found.first().is_none_or(|first| first.relevance <= BAR);
            silent += usize::from(is_silent);
            is_silent
        } else {
            asked += 1;
            let is_right = found.iter().take(3).any(|found| topics.contains(&found.context.topic));
            right += usize::from(is_right);
            is_right
        };
        let told: Vec<String> =
            found.iter().take(3).map(|found| format!("{} {:.2}", found.context.topic, found.relevance)).collect();
        println!("{} {}: {text} [{}] {}", at + 1, if is_right { "right" } else { "WRONG" }, topics.join(", "), told.join(", "));
    }
    println!(
        "right among the first three: {right} of {asked}; nothing above {BAR} where nothing is right: {silent} of {without}"
    );
    Ok(())
}

/// Stores contexts, and relates some of them; returns their topics and the bytes of their texts.
fn fill(
    engine: &Engine,
    vocabulary: &Vocabulary,
    random: &mut Random,
    count: usize,
) -> Result<(Vec<String>, usize), Box<dyn Error>> {
    let tags: Vec<String> = (0..TAGS).map(|_| vocabulary.rare_word(random).to_owned()).collect();
    let (mut topics, mut bytes) = (Vec::new(), 0);
    for number in 0..count {
        let topic = format!("{}_{number}", vocabulary.new_identifier(random));
        let text = text(vocabulary, random, &topic);
        bytes += text.len();
        let facts = NoteFacts {
            kind: NoteKind::Context,
            title: Some(topic.clone()),
            tags: (0..random.between(1, 4)).map(|_| tags[random.below(TAGS)].clone()).collect(),
            priority: [Some(Priority::AlwaysCheck), Some(Priority::Important), None][random.below(40).min(2)],
            is_confirmed: false,
            ..NoteFacts::default()
        };
        let (id, at) = (uuid(random), FIRST_MS + number as i64 * STEP_MS);
        let note = Note { id: &id, text: &text, facts: &facts, directory: None, is_by_agent: true, at };
        let document = GivenDocument {
            name: note_unit(&id),
            stamp: Stamp { size: text.len() as u64, version: at },
            state: String::new(),
            records: note_records(&note),
        };
        engine.put_document(KIND, document, &IngestRequest::new(Vec::new()))?;
        topics.push(topic);
    }
    engine.sync_index(60_000, &mut |_| {})?;
    for number in 0..RELATED.min(count) {
        let related = (1..5).map(|step| topics[(number + step * 37) % RELATED.min(count)].clone()).collect();
        let text = text(vocabulary, random, &topics[number]);
        engine.remember(&locked(&format!("{}_again", topics[number]), text, Some(related)))?;
        topics[number].push_str("_again");
    }
    Ok((topics, bytes))
}

fn locked(topic: &str, text: String, related: Option<Vec<String>>) -> RememberRequest {
    RememberRequest {
        text,
        title: Some(topic.to_owned()),
        kind: Some(NoteKind::Context),
        is_unconfirmed: true,
        is_by_agent: true,
        related,
        ..RememberRequest::default()
    }
}

fn words(vocabulary: &Vocabulary, random: &mut Random, count: usize) -> String {
    (0..count).map(|_| vocabulary.word(random)).collect::<Vec<_>>().join(" ")
}

/// Makes a text of some ten kilobytes: a heading, an introduction, and sections with rules and names.
fn text(vocabulary: &Vocabulary, random: &mut Random, topic: &str) -> String {
    let mut text = format!("# {topic}\n\n{}.\n", words(vocabulary, random, 18));
    for _ in 0..random.between(6, 24) {
        text.push_str(&format!("\n## {}\n\n", words(vocabulary, random, 3)));
        for _ in 0..random.between(2, 8) {
            let name = vocabulary.new_identifier(random);
            text.push_str(&format!("- {} must keep {name} of {}.\n", words(vocabulary, random, 8), words(vocabulary, random, 9)));
        }
    }
    text
}
