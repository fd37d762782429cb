//! Measures speed, size and accuracy of the vector index, on vectors that are generated or read.
//!
//!     cargo run --release -p yore-bench --bin vectors -- [--rows 10000,100000] [--dims 384]
//!         [--hard] [--queries 200] [--from ROWS.f32 --questions QUERIES.f32] [--work DIRECTORY]
//!
//! Generated vectors are a mixture: topics, clusters within topics, a few directions in which the members of
//! a topic differ, and noise. With `--hard` clusters have 2,000 rows and are wide, so that hundreds of rows
//! are nearly as near as the nearest. Files hold plain 32-bit floats, one vector after the other, and replace
//! the generated ones; `--rows` cuts them.
//!
//! The vectors for exact scores are in memory here, so the cost of a question is that of the index alone. CPU
//! time is that of the process; every question is asked once before it is counted.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for maintainers whose result is its output")]

use std::collections::HashSet;
use std::error::Error;
use std::path::{Path, PathBuf};

use yore_bench::measure::{cpu_time, machine, memory, percentile};
use yore_engine::{
    CompiledFilter, TurnMetadata, VectorBatch, VectorChunk, VectorError, VectorIndex, VectorOptions, VectorSearch,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Number of rows written at once.
const BATCH: usize = 16_384;
/// Number of turns of a session, which all belong to one project.
const SESSION: usize = 50;
/// Number of projects; each has about one row in a hundred.
const PROJECTS: u32 = 100;
/// Number of results per question.
const LIMIT: usize = 10;
/// Number of times that the index is opened, and that one turn is added.
const REPEATS: usize = 20;

fn main() -> Outcome<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    println!(
        "Vector index, {} vectors, {} questions, {LIMIT} results; CPU time; {}\n",
        match (&options.from, options.is_hard) {
            (Some(from), _) => from.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            (None, true) => "made-up (hard)".to_owned(),
            (None, false) => "made-up".to_owned(),
        },
        options.queries,
        machine()
    );
    println!(
        "| rows | dims | build s | bytes a row | open ms | add a turn ms | segments | query p50 / p95 \u{b5}s | recall@{LIMIT} | codes only p50 \u{b5}s, recall | 10 % of projects p50 / p95, recall | 1 % p50 / p95, recall | anonymous MB |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for rows in &options.rows {
        println!("{}", measure(&options, *rows)?);
    }
    Ok(())
}

/// The options of the command line.
struct Options {
    rows: Vec<usize>,
    dims: usize,
    is_hard: bool,
    queries: usize,
    from: Option<PathBuf>,
    questions: Option<PathBuf>,
    work: PathBuf,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut options = Self {
            rows: vec![10_000, 100_000],
            dims: 384,
            is_hard: false,
            queries: 200,
            from: None,
            questions: None,
            work: std::env::temp_dir(),
        };
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value"));
            match name.as_str() {
                "--rows" => options.rows = value()?.split(',').map(|rows| rows.trim().parse()).collect::<Result<_, _>>()?,
                "--dims" => options.dims = value()?.parse()?,
                "--hard" => options.is_hard = true,
                "--queries" => options.queries = value()?.parse()?,
                "--from" => options.from = Some(value()?.into()),
                "--questions" => options.questions = Some(value()?.into()),
                "--work" => options.work = value()?.into(),
                _ => return Err(format!("unknown argument {name}").into()),
            }
        }
        Ok(options)
    }
}

/// Vectors of length 1, one after the other.
struct Vectors {
    dims: usize,
    values: Vec<f32>,
}

impl Vectors {
    fn get(&self, row: usize) -> &[f32] {
        &self.values[row * self.dims..][..self.dims]
    }

    fn len(&self) -> usize {
        self.values.len() / self.dims
    }

    fn read(path: &Path, dims: usize, most: usize) -> Outcome<Self> {
        let bytes = std::fs::read(path)?;
        let values = bytes.chunks_exact(4).take(dims * most).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
        let mut vectors = Self { dims, values: values.collect() };
        vectors.values.chunks_exact_mut(dims).for_each(normalise);
        Ok(vectors)
    }
}

fn normalise(vector: &mut [f32]) {
    let length = dot(vector, vector).sqrt();
    vector.iter_mut().for_each(|value| *value /= length);
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 16];
    for (a, b) in a.chunks_exact(16).zip(b.chunks_exact(16)) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    let rest = a.len() / 16 * 16;
    lanes.iter().sum::<f32>() + a[rest..].iter().zip(&b[rest..]).map(|(a, b)| a * b).sum::<f32>()
}

/// Xorshift (Marsaglia 2003), and nearly normal numbers from it.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        ((self.next() >> 33) as usize) % bound
    }

    /// Returns a number of variance 1: a sum of four uniform numbers.
    fn normal(&mut self) -> f32 {
        let bits = self.next();
        let sum: u64 = (0..4).map(|at| bits >> (at * 16) & 0xFFFF).sum();
        (sum as f32 / 65_536.0 - 2.0) * 3.0f32.sqrt()
    }

    /// Makes a vector of expected length 1.
    fn vector(&mut self, dims: usize) -> Vec<f32> {
        let scale = 1.0 / (dims as f32).sqrt();
        (0..dims).map(|_| self.normal() * scale).collect()
    }
}

/// The mixture from which vectors are generated.
struct Mixture {
    topics: Vec<Vec<f32>>,
    /// For each topic, directions in which its members differ.
    directions: Vec<Vec<Vec<f32>>>,
    clusters: Vec<(usize, Vec<f32>)>,
    spread: f32,
    random: Random,
}

impl Mixture {
    fn new(rows: usize, dims: usize, is_hard: bool) -> Self {
        const TOPICS: usize = 64;
        const LATENT: usize = 32;
        let mut random = Random(0x5DEE_CE66_D154_21B7);
        let topics = (0..TOPICS).map(|_| random.vector(dims)).collect();
        let directions = (0..TOPICS).map(|_| (0..LATENT).map(|_| random.vector(dims)).collect()).collect();
        let (size, spread) = if is_hard { (2_000, 1.0) } else { (50, 0.5) };
        let clusters = (0..rows.div_ceil(size)).map(|_| (random.below(TOPICS), random.vector(dims))).collect();
        Self { topics, directions, clusters, spread, random }
    }

    fn draw(&mut self, out: &mut Vec<f32>) {
        let (topic, centre) = &self.clusters[self.random.below(self.clusters.len())];
        let from = out.len();
        out.extend(self.topics[*topic].iter().zip(centre).map(|(topic, centre)| 0.6 * topic + 0.7 * centre));
        let directions = &self.directions[*topic];
        for direction in directions {
            let weight = self.random.normal() * self.spread / (directions.len() as f32).sqrt();
            out[from..].iter_mut().zip(direction).for_each(|(value, direction)| *value += weight * direction);
        }
        let scale = 0.3 / (centre.len() as f32).sqrt();
        for value in &mut out[from..] {
            *value += self.random.normal() * scale;
        }
        normalise(&mut out[from..]);
    }
}

fn vectors(options: &Options, rows: usize) -> Outcome<(Vectors, Vectors)> {
    let Options { rows: _, dims, is_hard, queries, from, questions, work: _ } = options;
    if let (Some(from), Some(questions)) = (from, questions) {
        return Ok((Vectors::read(from, *dims, rows)?, Vectors::read(questions, *dims, *queries)?));
    }
    let mut mixture = Mixture::new(rows, *dims, *is_hard);
    let [mut stored, mut asked] = [Vec::with_capacity(rows * dims), Vec::new()];
    (0..rows).for_each(|_| mixture.draw(&mut stored));
    (0..*queries).for_each(|_| mixture.draw(&mut asked));
    Ok((Vectors { dims: *dims, values: stored }, Vectors { dims: *dims, values: asked }))
}

/// Returns a session's project, spread evenly and without order.
fn project(row: usize) -> u32 {
    ((row / SESSION) as u32).wrapping_mul(2_654_435_761) / (u32::MAX / PROJECTS + 1)
}

fn metadata(row: usize) -> TurnMetadata {
    TurnMetadata { project: project(row), episode: (row / SESSION) as i64, at: row as i64, ..TurnMetadata::default() }
}

/// Returns the exact nearest rows by 32-bit floats.
fn exact(stored: &Vectors, query: &[f32], filter: &CompiledFilter) -> HashSet<i64> {
    let mut best: Vec<(f32, i64)> = Vec::new();
    let mut least = f32::MIN;
    for row in 0..stored.len() {
        if filter.projects.as_ref().is_none_or(|projects| projects.contains(&i64::from(project(row)))) {
            let score = dot(stored.get(row), query);
            if score > least || best.len() < LIMIT {
                best.push((score, row as i64));
                best.sort_by(|a, b| b.0.total_cmp(&a.0));
                best.truncate(LIMIT);
                least = best[best.len() - 1].0;
            }
        }
    }
    best.into_iter().map(|(_, row)| row).collect()
}

/// Costs of the questions, sorted, and the share of the exact results that they found.
struct Asked {
    micros: Vec<f64>,
    recall: f64,
}

impl Asked {
    fn text(&self) -> String {
        format!("{:.0} / {:.0}, {:.4}", percentile(&self.micros, 0.5), percentile(&self.micros, 0.95), self.recall)
    }
}

fn ask(
    stored: &Vectors,
    queries: &Vectors,
    filter: &CompiledFilter,
    search: impl Fn(&VectorSearch<'_>) -> Result<Vec<i64>, VectorError>,
) -> Outcome<Asked> {
    let (mut micros, mut found, mut expected) = (Vec::new(), 0, 0);
    for is_counted in [false, true] {
        for query in 0..queries.len() {
            let query = queries.get(query);
            let before = cpu_time();
            let hits = search(&VectorSearch { query, limit: LIMIT, filter, later_discount: 0.0 })?;
            let after = cpu_time();
            if is_counted {
                micros.push((after - before).as_secs_f64() * 1e6);
            } else {
                let exact = exact(stored, query, filter);
                expected += exact.len();
                found += hits.iter().filter(|turn| exact.contains(turn)).count();
            }
        }
    }
    micros.sort_by(f64::total_cmp);
    Ok(Asked { micros, recall: found as f64 / f64::from(expected.max(1) as u32) })
}

fn measure(options: &Options, rows: usize) -> Outcome<String> {
    let (stored, queries) = vectors(options, rows)?;
    let rows = stored.len();
    eprintln!("{rows} rows made");
    let directory = tempfile::Builder::new().prefix("yore-vectors-").tempdir_in(&options.work)?;
    let opening = VectorOptions {
        directory: directory.path().join("index"),
        identity: "bench".to_owned(),
        token: String::new(),
        dimensions: options.dims,
    };
    let chunk = |row: usize| VectorChunk { ordinal: 0, vector_id: row as i64 + 1, vector: stored.get(row) };
    let own = memory(None).anonymous;

    let start = cpu_time();
    let index = VectorIndex::open(&opening)?;
    let mut writer = index.writer()?.ok_or("somebody else is writing")?;
    let mut next = 0;
    while next < rows {
        let end = rows.min(next + BATCH);
        let mut batch = VectorBatch::new(options.dims);
        for row in next..end {
            batch.replace(row as i64, metadata(row), [chunk(row)])?;
        }
        writer.apply(&batch, end as u64)?;
        next = end;
    }
    writer.merge()?;
    let build = (cpu_time() - start).as_secs_f64();
    drop(writer);
    let bytes = index.bytes() as f64 / rows as f64;
    drop(index);
    eprintln!("built");

    let mut openings = Vec::new();
    for _ in 0..=REPEATS {
        let start = cpu_time();
        let index = VectorIndex::open(&opening)?;
        openings.push((cpu_time() - start).as_secs_f64() * 1e3);
        drop(index);
    }
    openings.remove(0);
    openings.sort_by(f64::total_cmp);

    let index = VectorIndex::open(&opening)?;
    let rescored = |search: &VectorSearch<'_>| -> Result<Vec<i64>, VectorError> {
        let mut vectors = |ids: &[i64]| -> Result<_, VectorError> {
            Ok(ids.iter().map(|id| Some(stored.get(*id as usize - 1).to_vec())).collect())
        };
        Ok(index.search_rescored(search, &mut vectors)?.iter().map(|hit| hit.turn).collect())
    };
    let any = CompiledFilter::default();
    let all = ask(&stored, &queries, &any, rescored)?;
    eprintln!("asked");
    let codes = ask(&stored, &queries, &any, |search| Ok(index.search(search)?.iter().map(|hit| hit.turn).collect()))?;
    let tenth = ask(&stored, &queries, &CompiledFilter { projects: Some((20..30).collect()), ..any.clone() }, rescored)?;
    let hundredth = ask(&stored, &queries, &CompiledFilter { projects: Some(HashSet::from([55])), ..any.clone() }, rescored)?;
    let anonymous = memory(None).anonymous.saturating_sub(own);

    let mut additions = Vec::new();
    for row in 0..REPEATS.min(rows) {
        let start = cpu_time();
        let mut batch = VectorBatch::new(options.dims);
        batch.replace((rows + row) as i64, metadata(row), [chunk(row)])?;
        let mut writer = index.writer()?.ok_or("somebody else is writing")?;
        writer.apply(&batch, (rows + row) as u64)?;
        writer.merge()?;
        additions.push((cpu_time() - start).as_secs_f64() * 1e3);
    }
    additions.sort_by(f64::total_cmp);

    Ok(format!(
        "| {rows} | {} | {build:.2} | {bytes:.0} | {:.2} | {:.2} | {} | {:.0} / {:.0} | {:.4} | {:.0}, {:.4} | {} | {} | {:.1} |",
        options.dims,
        percentile(&openings, 0.5),
        percentile(&additions, 0.5),
        index.segments(),
        percentile(&all.micros, 0.5),
        percentile(&all.micros, 0.95),
        all.recall,
        percentile(&codes.micros, 0.5),
        codes.recall,
        tenth.text(),
        hundredth.text(),
        anonymous as f64 / 1e6,
    ))
}
