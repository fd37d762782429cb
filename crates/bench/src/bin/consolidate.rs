//! Measures consolidation: what an agent finds in sessions meets a memory that holds many statements.
//!
//!     cargo run --release -p yore-bench --bin consolidate -- DIRECTORY [--memories 100000] [--proposals 10000]
//!
//! The first run fills the directory with made-up sessions and memories about the same words; the second, a process of its own whose
//! memory is measured, lets an agent distil the sessions: CPU time for each proposal, phase by phase, and the highest memory.

#![expect(clippy::print_stdout, reason = "a program for maintainers whose result is its output")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use yore_bench::measure::{machine, memory};
use yore_bench::transcript::write_sessions;
use yore_bench::workload::{Turn, Workload};
use yore_bench::{cpu_time, open_engine};
use yore_core::consolidation::PipelineStatistics;
use yore_core::memory::MemoryKind;
use yore_core::operation::Cause;
use yore_engine::ingest::{IngestRequest, Silent, SourceRoot};
use yore_engine::{Distilled, DistilledItem, Engine, ExtractRequest, MaterialRequest, NewMemory, SessionsRequest};

/// Turns of the sessions that are distilled, for each proposal: about half of them have words.
const TURNS_PER_PROPOSAL: usize = 4;
/// Lengths of statements and quotes, in characters.
const STATEMENT: usize = 200;
const QUOTE: usize = 40;
const KINDS: [MemoryKind; 4] = [MemoryKind::Fact, MemoryKind::Decision, MemoryKind::Insight, MemoryKind::Problem];

/// Returns the first sentence of a text as a statement; `None` if it is too short for one.
fn statement(text: &str) -> Option<String> {
    let line = text.lines().next()?.split(". ").next()?.trim();
    let cut: String = line.chars().take(STATEMENT).collect();
    (cut.split_whitespace().count() >= 6).then_some(cut)
}

/// Fills a memory.
fn fill(engine: &Engine, directory: &Path, memories: usize, proposals: usize) -> Result<(), Box<dyn Error>> {
    let sessions = directory.join("sessions");
    write_sessions(&Workload { turns: proposals * TURNS_PER_PROPOSAL, corpus: Vec::new(), seed: 1 }, &sessions, &mut |_| {})?;
    engine.ingest(&IngestRequest::new(vec![SourceRoot { source: "claude-code".to_owned(), path: sessions }]), &mut Silent)?;
    let cause = Cause { by: "bench".to_owned(), ..Cause::default() };
    let (mut left, mut failed) = (memories, None);
    let before = cpu_time();
    // Later sessions about the same projects and words.
    let mut passed = 0;
    Workload { turns: usize::MAX, corpus: Vec::new(), seed: 1 }
        .walk(&mut |document| {
            passed += document.turns.len();
            if passed <= proposals * TURNS_PER_PROPOSAL {
                return Ok(());
            }
            for turn in document.turns.iter().rev() {
                let (Turn::Human(text) | Turn::Assistant { text, .. }) = turn else { continue };
                let Some(mut told) = statement(text) else { continue };
                told.push_str(&format!(", seen {left} times"));
                let mut new = NewMemory::new(KINDS[left % KINDS.len()], told);
                new.project = Some(document.project.clone());
                new.entities = vec![format!("entity {}", left * 7 % 5_000)];
                if let Err(error) = engine.add_memory(&new, &cause) {
                    failed = Some(error);
                    left = 1;
                }
                left -= 1;
                if left == 0 {
                    // Ends the walk.
                    return Err(std::io::ErrorKind::Interrupted.into());
                }
            }
            Ok(())
        })
        .or_else(|error| if error.kind() == std::io::ErrorKind::Interrupted { Ok(()) } else { Err(error) })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    println!("{memories} memories recorded one by one, {:.2} ms CPU each", per(cpu_time() - before, memories));
    engine.sync_index(60_000, &mut |_| {})?;
    Ok(())
}

fn per(time: Duration, count: usize) -> f64 {
    time.as_secs_f64() * 1e3 / count.max(1) as f64
}

/// Distils sessions until so many statements were proposed.
fn distil(engine: &Engine, wanted: usize) -> Result<(), Box<dyn Error>> {
    let (mut statistics, mut taken, mut cpu, mut longest) = (PipelineStatistics::default(), 0, Duration::ZERO, Duration::ZERO);
    let sessions = engine.sessions(&SessionsRequest { limit: usize::MAX >> 1, ..SessionsRequest::default() })?;
    for session in sessions {
        if taken >= wanted {
            break;
        }
        let request = MaterialRequest { session: Some(session.native_id.clone()), ..MaterialRequest::default() };
        while let Some(material) = engine.material(&request)? {
            let items: Vec<DistilledItem> = material
                .new
                .iter()
                .filter_map(|line| {
                    Some(DistilledItem {
                        kind: KINDS[line.line as usize % KINDS.len()].as_str().to_owned(),
                        statement: statement(&line.text)?,
                        line: line.line,
                        quote: line.text.lines().next()?.chars().take(QUOTE).collect(),
                        entities: vec![format!("entity {}", line.line % 5_000)],
                        ..DistilledItem::default()
                    })
                })
                .take(30)
                .collect();
            let count = items.len();
            let upto = material.new.last().map(|line| line.line);
            let distilled = Distilled { session: session.native_id.clone(), items, upto, ..Distilled::default() };
            let before = cpu_time();
            let report = engine.record_distilled(&distilled)?;
            let took = cpu_time() - before;
            cpu += took;
            longest = longest.max(took);
            taken += count;
            statistics.add(&report.statistics);
        }
    }
    println!("{taken} proposals: {:.2} ms CPU each; the longest call {:.0} ms", per(cpu, taken), longest.as_secs_f64() * 1e3);
    for (phase, work) in statistics.phases() {
        println!(
            "  {:<18} {:>9} handled, {:.3} ms a proposal",
            phase.as_str(),
            work.count,
            work.micros as f64 / 1e3 / taken as f64
        );
    }
    let decided: Vec<String> = statistics.decisions().map(|(decision, count)| format!("{} {count}", decision.as_str())).collect();
    println!("  decided: {}", decided.join(", "));
    let used = memory(None);
    println!("memory: {} MB anonymous, {} MB at most resident", used.anonymous >> 20, used.peak_resident >> 20);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut directory, mut memories, mut proposals) = (None, 100_000, 10_000);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        match name.as_str() {
            "--memories" => memories = arguments.next().ok_or("--memories needs a number")?.parse()?,
            "--proposals" => proposals = arguments.next().ok_or("--proposals needs a number")?.parse()?,
            _ => directory = Some(PathBuf::from(name)),
        }
    }
    let directory = directory.ok_or("name a directory")?;
    let data = directory.join("memory");
    println!("{}", machine());
    if !data.exists() {
        fs::create_dir_all(&directory)?;
        fill(&open_engine(&data)?, &directory, memories, proposals)?;
        println!("filled; run the same again");
        return Ok(());
    }
    let engine = open_engine(&data)?;
    distil(&engine, proposals)?;
    // The rules, over the same sessions.
    let before = cpu_time();
    let report = engine.extract(&ExtractRequest::default(), &mut |_, _| true)?;
    println!(
        "rules over {} sessions: {:.1} s CPU, {} new",
        report.sessions,
        (cpu_time() - before).as_secs_f64(),
        report.counts.recorded
    );
    Ok(())
}
