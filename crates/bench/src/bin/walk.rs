//! Measures the random walk over names: its time, and how many of the best twenty it has in common with power
//! iteration.
//!
//!     cargo run --release -p yore-bench --bin walk -- [--passages 50000] [--names 50000] [--edges 1000000]

#![expect(clippy::print_stdout, reason = "a program for maintainers whose result is its output")]

use std::error::Error;

use yore_bench::measure::{cpu_time, percentile};
use yore_bench::vocabulary::Random;
use yore_core::graph::WeightedGraph;

/// Number of walks.
const WALKS: usize = 200;
/// Number of passages at which a walk begins.
const SEEDS: usize = 10;
/// Probability with which a walk goes on, the mass below which it is not followed, as recall has them, and the
/// rounds of power iteration.
const DAMPING: f32 = 0.6;
const LEAST_MASS: f32 = 1e-5;
const ROUNDS: usize = 60;
/// Number of the best passages that are compared.
const COMPARED: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut passages, mut names, mut edges) = (50_000usize, 50_000usize, 1_000_000usize);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a number"))?.parse()?;
        match name.as_str() {
            "--passages" => passages = value,
            "--names" => names = value,
            "--edges" => edges = value,
            _ => return Err(format!("unknown argument {name}").into()),
        }
    }
    let mut random = Random::new(1);
    // Few names stand in many passages: the product of two equal choices prefers small numbers.
    let edges: Vec<(u32, u32, f32)> = (0..edges)
        .map(|_| {
            let name = random.below(names) * random.below(names) / names;
            (random.below(passages) as u32, (passages + name) as u32, 1.0 + random.below(8) as f32)
        })
        .collect();
    let graph = WeightedGraph::undirected(passages + names, &edges);
    let (mut times, mut shared) = (Vec::new(), 0usize);
    for walk in 0..WALKS {
        let seeds: Vec<(u32, f32)> = (0..SEEDS).map(|_| (random.below(passages) as u32, 1.0 / SEEDS as f32)).collect();
        let before = cpu_time();
        let mut found = graph.walk(&seeds, DAMPING, LEAST_MASS);
        found.retain(|(node, _)| (*node as usize) < passages);
        times.push((cpu_time() - before).as_secs_f64() * 1e3);
        if walk < 20 {
            let exact = power_iteration(&graph, &seeds);
            let exact: Vec<(u32, f32)> = (0..passages as u32).map(|node| (node, exact[node as usize])).collect();
            let best = best_of(exact);
            shared += best_of(found).iter().filter(|node| best.contains(node)).count();
        }
    }
    times.sort_by(f64::total_cmp);
    println!(
        "{} nodes, {} edges: walk p50 {:.2} ms CPU, p95 {:.2} ms; best {COMPARED} shared with power iteration: {:.3}",
        passages + names,
        edges.len(),
        percentile(&times, 0.5),
        percentile(&times, 0.95),
        shared as f64 / (20 * COMPARED) as f64
    );
    Ok(())
}

fn best_of(mut found: Vec<(u32, f32)>) -> Vec<u32> {
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found.into_iter().take(COMPARED).map(|(node, _)| node).collect()
}

fn power_iteration(graph: &WeightedGraph, seeds: &[(u32, f32)]) -> Vec<f32> {
    let mut restart = vec![0.0f32; graph.len()];
    seeds.iter().for_each(|(node, share)| restart[*node as usize] += share);
    let mut now = restart.clone();
    for _ in 0..ROUNDS {
        let mut next: Vec<f32> = restart.iter().map(|share| (1.0 - DAMPING) * share).collect();
        for (node, mass) in now.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
            for (other, probability) in graph.edges_of(node as u32) {
                next[*other as usize] += DAMPING * mass * probability;
            }
        }
        now = next;
    }
    now
}
