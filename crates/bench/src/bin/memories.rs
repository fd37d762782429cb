//! Measures memories in numbers: lists, walks along relations, undoing, space on disk, and recall over turns and
//! memories against recall over as many turns alone.
//!
//!     cargo run --release -p yore-bench --bin memories -- [--memories 100000] [--entities 5000] [--turns 100000] [--keep DIR]
//!
//! Each memory is about three entities, few of which are frequent: three relations for each. With turns, a second
//! memory holds as many turns as the first holds turns and memories together. With `--keep`, what was recorded stays in a directory, and
//! a later run with the same numbers measures recall over it again, and nothing else.

#![expect(clippy::print_stdout, reason = "a program for maintainers whose result is its output")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use yore_bench::measure::{disk_bytes, machine, percentile};
use yore_bench::open_engine;
use yore_bench::transcript::write_sessions;
use yore_bench::vocabulary::Random;
use yore_bench::workload::{Asker, Workload};
use yore_core::memory::{MemoryKind, Status};
use yore_core::operation::Cause;
use yore_core::relation::Node;
use yore_engine::ingest::{IngestRequest, Silent, SourceRoot};
use yore_engine::{Engine, LifeRequest, MemoryFilter, MemoryList, NewMemory, RecallRequest, StatisticsRequest, Traversal};

/// Syllables of a made-up name: there are 390,625.
const SYLLABLES: u32 = 8;
/// Number of calls of each kind.
const CALLS: usize = 200;

/// Runs calls and prints their wall times; returns that of 95 of 100.
fn measured(name: &str, mut call: impl FnMut(usize) -> Result<usize, Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let (mut times, mut found) = (Vec::with_capacity(CALLS), 0);
    for at in 0..CALLS {
        let before = Instant::now();
        found += call(at)?;
        times.push(before.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "{name}: p50 {:.2} ms, p95 {:.2} ms; {} in the mean",
        percentile(&times, 0.5),
        percentile(&times, 0.95),
        found / CALLS
    );
    Ok(percentile(&times, 0.95))
}

/// Returns a made-up name for a number: statements with other numbers would contradict each other.
fn word(number: usize) -> String {
    let syllable = |digit: u32| ["ba", "ke", "li", "mo", "nu"][number / 5usize.pow(digit) % 5];
    (0..SYLLABLES).map(syllable).collect()
}

/// Reads made-up sessions with this number of turns into an engine; returns questions about them.
fn learn(engine: &Engine, turns: usize, directory: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let workload = Workload { turns, corpus: Vec::new(), seed: 1 };
    let mut asker = Asker::new(workload.seed, workload.turns, CALLS);
    write_sessions(&workload, directory, &mut |document| asker.see(document))?;
    let roots = vec![SourceRoot { source: "claude-code".to_owned(), path: directory.to_path_buf() }];
    engine.ingest(&IngestRequest::new(roots), &mut Silent)?;
    engine.sync_index(60_000, &mut |_| {})?;
    Ok(asker.finish())
}

/// Measures recall over turns and memories against recall over turns alone.
fn measure_recall(engine: &Engine, memories: usize, turns: usize, directory: &Path) -> Result<(), Box<dyn Error>> {
    // Turns that are there are not read again.
    let about_turns = learn(engine, turns, &directory.join("first"))?;
    let alone = open_engine(&directory.join("alone"))?;
    learn(&alone, turns + memories, &directory.join("second"))?;
    let ask = |engine: &Engine, question: &str| -> Result<usize, Box<dyn Error>> {
        Ok(engine.recall(&RecallRequest::new(question))?.hits.len())
    };
    let about_memories = |at: usize| {
        format!("why is the tide gauge of pier {} read by watch {}, entity {}?", word(at % 97), word(at % 24), at * 13 % 1_000)
    };
    // Once for the caches.
    for question in &about_turns {
        let _ = ask(engine, question)? + ask(&alone, question)?;
    }
    let total = turns + memories;
    let base = measured(&format!("recall, questions about turns, {total} turns"), |at| ask(&alone, &about_turns[at]))?;
    let with = format!("{turns} turns and {memories} memories");
    let mixed = measured(&format!("recall, questions about turns, {with}"), |at| ask(engine, &about_turns[at]))?;
    let asked = measured(&format!("recall, questions about memories, {with}"), |at| ask(engine, &about_memories(at)))?;
    println!("p95 against {total} turns: {:.2} and {:.2} times", mixed / base, asked / base);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut count, mut entities, mut turns, mut kept) = (100_000usize, 5_000usize, 0usize, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        if name == "--keep" {
            kept = Some(PathBuf::from(value));
            continue;
        }
        let value = value.parse()?;
        match name.as_str() {
            "--memories" => count = value,
            "--entities" => entities = value,
            "--turns" => turns = value,
            _ => return Err(format!("unknown argument {name}").into()),
        }
    }
    let temporary = tempfile::tempdir()?;
    let directory = kept.as_deref().unwrap_or(temporary.path());
    let data = directory.join("memory");
    if data.exists() {
        return measure_recall(&open_engine(&data)?, count, turns, directory);
    }
    std::fs::create_dir_all(directory)?;
    let engine = open_engine(&data)?;
    let empty = disk_bytes(&data);
    let mut random = Random::new(1);
    // Few entities are frequent: the product of two equal choices prefers small numbers.
    let mut entity = move || random.below(entities) * random.below(entities) / entities;
    let cause = Cause { by: "bench".to_owned(), ..Cause::default() };
    let began = Instant::now();
    let mut ids = Vec::with_capacity(count);
    for at in 0..count {
        let kind = MemoryKind::ALL[at % MemoryKind::ALL.len()];
        let statement = format!(
            "Gauge {}: the tide gauge of pier {} is read by watch {}, because of swell.",
            word(at),
            word(at % 97),
            word(at % 24)
        );
        let mut new = NewMemory::new(kind, statement);
        new.entities = (0..3).map(|_| format!("entity {}", entity())).collect();
        new.memory.tags = vec![format!("tag {}", at % 50)];
        ids.push(engine.add_memory(&new, &cause)?.memory);
    }
    let took = began.elapsed().as_secs_f64();
    println!("{}\n{count} memories recorded in {took:.0} s, {:.2} ms each", machine(), took * 1e3 / count as f64);
    let bytes = disk_bytes(&data).saturating_sub(empty);
    println!("{} bytes on disk a memory, with three relations and its operation", bytes / count as u64);
    let list = |change: &dyn Fn(&mut MemoryList)| -> Result<usize, Box<dyn Error>> {
        let mut list = MemoryList { limit: 50, ..MemoryList::default() };
        list.filter.statuses = vec![Status::Holds, Status::Contested];
        change(&mut list);
        Ok(engine.memories(&list)?.len())
    };
    measured("memories, the latest 50", |_| list(&|_| {}))?;
    measured("memories of a kind and a tag", |at| {
        list(&|list| {
            let filter = MemoryFilter {
                kinds: vec![MemoryKind::ALL[at % 22]],
                tags: vec![format!("tag {}", at % 50)],
                ..list.filter.clone()
            };
            list.filter = filter;
        })
    })?;
    measured("memories about an entity", |at| list(&|list| list.entities = vec![format!("entity {}", at * 7 % entities)]))?;
    measured("a memory by its short id", |at| Ok(usize::from(engine.memory(&ids[at * 31 % count].short()).is_ok())))?;
    let life = Some(LifeRequest { weeks: 53, most_used: 50, offset_minutes: 0 });
    let began = Instant::now();
    engine.statistics(&StatisticsRequest { project: None, life })?;
    println!("statistics with tiers, growth and uses: {:.2} s", began.elapsed().as_secs_f64());
    for depth in [1, 3] {
        let traversal = Traversal { depth, ..Traversal::default() };
        measured(&format!("walk of depth {depth} from a memory"), |at| {
            Ok(engine.traverse(&Node::Memory(ids[at * 31 % count]), &traversal)?.len())
        })?;
    }
    let mut operations = Vec::with_capacity(CALLS);
    measured("pin", |at| {
        operations.extend(engine.pin_memory(&ids[at * 17 % count].to_string(), true, &cause)?.operation);
        Ok(1)
    })?;
    measured("op undo", |at| Ok(usize::from(engine.undo(operations[at], &cause).is_ok())))?;
    let began = Instant::now();
    engine.sync_index(60_000, &mut |_| {})?;
    let bytes = disk_bytes(&data).saturating_sub(empty);
    println!("indexed in {:.0} s; {} bytes on disk a memory with its index", began.elapsed().as_secs_f64(), bytes / count as u64);
    if turns > 0 {
        measure_recall(&engine, count, turns, directory)?;
    }
    Ok(())
}
