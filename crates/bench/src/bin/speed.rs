//! Measures speed and size of yore beside the baseline: plain SQLite FTS5 with the same texts.
//!
//!     cargo build --release -p yore-memory
//!     cargo run --release -p yore-bench --bin speed -- [--turns 1500,10000,100000]
//!         [--corpus FILE.jsonl ...] [--queries FILE.jsonl] [--yore PROGRAM] [--work DIRECTORY]
//!         [--date DATE] [--out table.md]
//!
//! The texts are synthetic sessions unless a corpus is given, which is repeated or cut to each size. Every
//! phase runs in a process of its own, so that the measured memory is that phase's; this process only starts
//! them, watches their memory and writes the table.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for maintainers whose result is its output")]

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use yore_bench::floor::{BATCH, Floor};
use yore_bench::measure::{children_cpu_time, cpu_time, disk_bytes, machine, memory, percentile};
use yore_bench::transcript::{write_claude_code, write_jsonl};
use yore_bench::workload::{Asker, Workload};
use yore_core::memory::dynamics::Dynamics;
use yore_core::time::{UtcMillis, format_utc};
use yore_engine::ingest::{IngestRequest, Silent, SourceRoot};
use yore_engine::{Engine, EngineOptions, ModelServers, Packing, RecallRequest, StatisticsRequest, StoreOptions};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Hidden argument that starts the process of a phase.
const PHASE: &str = "--phase";
/// Number of questions per size.
const QUESTIONS: usize = 200;
/// Number of fresh processes per size.
const COLD_RUNS: usize = 20;
/// Number of results per question.
const LIMIT: usize = 10;
/// Ways to ask each question as agents do, with passages within a budget: alone, with wordings (other questions
/// of the list), and with a long guess of the answer.
const WAYS: [&str; 3] = ["packed", "packed, four wordings", "packed, a wording of 80 words"];
/// Number of words of a long wording.
const LONG_WORDING: usize = 80;
/// Number of documents in one file of the uniform format.
const DOCUMENTS_A_FILE: u64 = 200;
/// CPU time after which a pass over the questions stops.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval between two looks at a phase's memory.
const WATCH: Duration = Duration::from_millis(5);

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [hidden, phase, job] if hidden == PHASE => {
            let result = run_phase(phase, &Job::parse(job)?)?;
            println!("{result}");
            Ok(())
        }
        _ => measure(&Options::parse(arguments)?),
    }
}

/// The options of the command line.
struct Options {
    turns: Vec<usize>,
    corpus: Vec<PathBuf>,
    queries: Option<PathBuf>,
    yore: PathBuf,
    work: PathBuf,
    date: String,
    out: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: Vec<String>) -> Outcome<Self> {
        let mut options = Self {
            turns: vec![1_500, 10_000, 100_000],
            corpus: Vec::new(),
            queries: None,
            yore: std::env::current_exe()?.with_file_name(format!("yore{}", std::env::consts::EXE_SUFFIX)),
            work: std::env::temp_dir(),
            date: format_utc(now()).chars().take(10).collect(),
            out: None,
        };
        let mut arguments = arguments.into_iter().peekable();
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value"));
            match name.as_str() {
                "--turns" => {
                    options.turns = value()?.split(',').map(|turns| turns.trim().parse()).collect::<Result<_, _>>()?;
                }
                "--corpus" => {
                    options.corpus.push(value()?.into());
                    while let Some(more) = arguments.next_if(|next| !next.starts_with("--")) {
                        options.corpus.push(more.into());
                    }
                }
                "--queries" => options.queries = Some(value()?.into()),
                "--yore" => options.yore = value()?.into(),
                "--work" => options.work = value()?.into(),
                "--date" => options.date = value()?,
                "--out" => options.out = Some(value()?.into()),
                _ => return Err(format!("unknown argument {name}").into()),
            }
        }
        // Children run in another directory.
        for path in options.corpus.iter_mut().chain([&mut options.yore]) {
            *path = fs::canonicalize(&*path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(options)
    }
}

fn now() -> UtcMillis {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as UtcMillis)
}

/// The parameters of a phase's process.
struct Job {
    workload: Workload,
    work: PathBuf,
    question: String,
}

impl Job {
    fn parse(text: &str) -> Outcome<Self> {
        let value: Value = serde_json::from_str(text)?;
        let path = |value: &Value| PathBuf::from(value.as_str().unwrap_or(""));
        Ok(Self {
            workload: Workload {
                turns: value["turns"].as_u64().unwrap_or(0) as usize,
                corpus: value["corpus"].as_array().into_iter().flatten().map(path).collect(),
                seed: 1,
            },
            work: path(&value["work"]),
            question: value["question"].as_str().unwrap_or("").to_owned(),
        })
    }

    fn render(&self) -> String {
        let Workload { turns, corpus, seed: _ } = &self.workload;
        json!({"turns": turns, "corpus": corpus, "work": self.work, "question": self.question}).to_string()
    }

    fn transcripts(&self) -> PathBuf {
        self.work.join("transcripts")
    }

    fn questions_file(&self) -> PathBuf {
        self.work.join("questions.json")
    }

    fn data(&self) -> PathBuf {
        self.work.join("data")
    }

    fn floor(&self) -> PathBuf {
        self.work.join("floor.db")
    }

    fn questions(&self) -> Outcome<Vec<String>> {
        Ok(serde_json::from_slice::<Value>(&fs::read(self.questions_file())?)?
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|question| question.as_str().map(str::to_owned))
            .collect())
    }

    fn engine(&self) -> Outcome<Engine> {
        let options = EngineOptions {
            directory: self.data(),
            create: true,
            store: StoreOptions::default(),
            now,
            dynamics: Dynamics::default(),
            redaction_patterns: Vec::new(),
            model: None,
            reranker: None,
            servers: ModelServers::default(),
            model_threads: 1,
        };
        Ok(Engine::open(options)?)
    }
}

fn run_phase(phase: &str, job: &Job) -> Outcome<Value> {
    match phase {
        "prepare" => prepare(job),
        "yore-ingest" => yore_ingest(job),
        "yore-ask" => yore_ask(job),
        "floor-ingest" => floor_ingest(job),
        "floor-ask" => floor_ask(job),
        "floor-once" => {
            let found = Floor::open(&job.floor())?.search(&job.question, LIMIT)?;
            Ok(json!(found.len()))
        }
        _ => Err(format!("no phase is called {phase}").into()),
    }
}

/// Writes the transcripts and the questions.
fn prepare(job: &Job) -> Outcome<Value> {
    let directory = job.transcripts();
    fs::create_dir_all(&directory)?;
    let is_synthetic = job.workload.corpus.is_empty();
    let mut asker = Asker::new(job.workload.seed, job.workload.turns, QUESTIONS);
    let mut number = 0u64;
    let mut shared: Option<BufWriter<File>> = None;
    job.workload.walk(&mut |document| {
        asker.see(&document);
        if is_synthetic {
            let project = directory.join(&document.project);
            fs::create_dir_all(&project)?;
            let mut out = BufWriter::new(File::create(project.join(format!("{}.jsonl", document.id)))?);
            write_claude_code(&document, number, &mut out)?;
            out.flush()?;
        } else {
            let out = match &mut shared {
                Some(out) if !number.is_multiple_of(DOCUMENTS_A_FILE) => out,
                shared => {
                    if let Some(full) = shared {
                        full.flush()?;
                    }
                    let name = format!("{:06}.jsonl", number / DOCUMENTS_A_FILE);
                    shared.insert(BufWriter::new(File::create(directory.join(name))?))
                }
            };
            write_jsonl(&document, out)?;
        }
        number += 1;
        Ok(())
    })?;
    if let Some(mut last) = shared {
        last.flush()?;
    }
    let given = !job.question.is_empty();
    let questions = if given { given_questions(Path::new(&job.question))? } else { asker.finish() };
    fs::write(job.questions_file(), serde_json::to_vec(&questions)?)?;
    Ok(json!({"documents": number, "questions": questions.len(), "bytes": disk_bytes(&directory)}))
}

fn given_questions(path: &Path) -> Outcome<Vec<String>> {
    let mut questions = Vec::new();
    for line in fs::read_to_string(path)?.lines() {
        if let Some(query) = serde_json::from_str::<Value>(line)?["query"].as_str() {
            questions.push(query.to_owned());
        }
    }
    questions.truncate(QUESTIONS);
    Ok(questions)
}

fn yore_ingest(job: &Job) -> Outcome<Value> {
    let began = Instant::now();
    let start = cpu_time();
    let engine = job.engine()?;
    let source = if job.workload.corpus.is_empty() { "claude-code" } else { "jsonl" };
    let roots = vec![SourceRoot { source: source.to_owned(), path: job.transcripts() }];
    let report = engine.ingest(&IngestRequest::new(roots), &mut Silent)?;
    let read = cpu_time();
    let sync = engine.sync_index(60_000, &mut |_| {})?;
    let (end, used) = (cpu_time(), memory(None));
    if report.turns_added != job.workload.turns as u64 || sync.indexed < report.turns_added {
        eprintln!("{} turns written, {} read, {} indexed", job.workload.turns, report.turns_added, sync.indexed);
    }
    Ok(json!({
        "cpu": (end - start).as_secs_f64(), "index_cpu": (end - read).as_secs_f64(),
        "wall": began.elapsed().as_secs_f64(), "peak": used.peak_resident,
    }))
}

fn floor_ingest(job: &Job) -> Outcome<Value> {
    let mut spent = Duration::ZERO;
    let mut timed = |work: &mut dyn FnMut() -> rusqlite::Result<()>| {
        let start = cpu_time();
        let done = work();
        spent += cpu_time() - start;
        done.map_err(std::io::Error::other)
    };
    let mut floor = None;
    timed(&mut || Floor::create(&job.floor()).map(|made| floor = Some(made)))?;
    let mut floor = floor.ok_or("no floor")?;
    let mut texts = Vec::with_capacity(BATCH);
    let mut bytes = 0;
    // The time to make the texts is not counted.
    job.workload.walk(&mut |document| {
        for turn in &document.turns {
            texts.push(turn.words());
            bytes += texts.last().map_or(0, String::len);
            if texts.len() == BATCH {
                timed(&mut || floor.insert(&texts))?;
                texts.clear();
            }
        }
        Ok(())
    })?;
    timed(&mut || floor.insert(&texts))?;
    timed(&mut || floor.checkpoint())?;
    Ok(json!({"cpu": spent.as_secs_f64(), "peak": memory(None).peak_resident, "text_bytes": bytes}))
}

fn yore_ask(job: &Job) -> Outcome<Value> {
    let engine = job.engine()?;
    let mut phases: [Vec<f64>; 3] = Default::default();
    let mut empty = 0;
    let times = ask(&job.questions()?, |question, is_counted| {
        let answer = engine.recall(&RecallRequest { limit: LIMIT, ..RecallRequest::new(question) })?;
        if is_counted {
            empty += usize::from(answer.hits.is_empty());
            for (phase, micros) in phases.iter_mut().zip(answer.micros) {
                phase.push(micros as f64);
            }
        }
        Ok(())
    })?;
    let idle = memory(None).anonymous;
    let questions = job.questions()?;
    let mut ways = Vec::new();
    for way in 0..WAYS.len() {
        let mut at = 0;
        let mut words = Vec::new();
        let mut times = ask(&questions, |question, is_counted| {
            at += 1;
            let answer = engine.recall(&packed(question, wordings(&questions, at, way)))?;
            words.extend(is_counted.then_some(answer.micros[2] as f64 / 1e3));
            Ok(())
        })?;
        words.sort_by(f64::total_cmp);
        let shares = |sorted: &mut Vec<f64>| json!([percentile(sorted, 0.5), percentile(sorted, 0.95)]);
        ways.push(json!({"times": shares(&mut times), "words": shares(&mut words)}));
    }
    let phases: Vec<Value> = phases
        .iter_mut()
        .map(|micros| {
            micros.sort_by(f64::total_cmp);
            json!([percentile(micros, 0.5), percentile(micros, 0.95)])
        })
        .collect();
    let statistics = engine.statistics(&StatisticsRequest::default())?;
    Ok(json!({
        "times": times, "idle": idle, "phases": phases, "ways": ways, "empty": empty,
        "archive": statistics.store.archive_bytes, "words": statistics.store.words_bytes,
        "database": statistics.store.database_bytes, "index": statistics.index.bytes, "disk": disk_bytes(&job.data()),
    }))
}

/// Returns a request as `yore recall` and agents make it.
fn packed(question: &str, wordings: Vec<String>) -> RecallRequest {
    let packing = Packing { budget: 900, group_cost: 36, hit_cost: 24, broad: 0, least_gain: 0.0 };
    RecallRequest { wordings, limit: LIMIT, packing: Some(packing), ..RecallRequest::new(question) }
}

/// Returns the wordings of the question at this place for one of the [`WAYS`].
fn wordings(questions: &[String], at: usize, way: usize) -> Vec<String> {
    let others = questions.iter().cycle().skip(at);
    match way {
        0 => Vec::new(),
        1 => others.take(4).cloned().collect(),
        _ => vec![others.flat_map(|other| other.split_whitespace()).take(LONG_WORDING).collect::<Vec<_>>().join(" ")],
    }
}

fn floor_ask(job: &Job) -> Outcome<Value> {
    let floor = Floor::open(&job.floor())?;
    let times = ask(&job.questions()?, |question, _| {
        floor.search(question, LIMIT)?;
        Ok(())
    })?;
    Ok(json!({"times": times, "idle": memory(None).anonymous}))
}

/// Returns the CPU milliseconds of each question, sorted, measured in a second pass over all of them. The
/// first pass fills the caches.
fn ask(questions: &[String], mut answer: impl FnMut(&str, bool) -> Outcome<()>) -> Outcome<Vec<f64>> {
    let mut times = Vec::new();
    for is_counted in [false, true] {
        let began = cpu_time();
        for question in questions {
            let before = cpu_time();
            answer(question, is_counted)?;
            let after = cpu_time();
            if is_counted {
                times.push((after - before).as_secs_f64() * 1e3);
            }
            if after - began > PATIENCE {
                break;
            }
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// Runs everything and writes the table.
fn measure(options: &Options) -> Outcome<()> {
    let Options { turns: sizes, corpus, queries, yore, work, date, out } = options;
    let what = if corpus.is_empty() {
        "synthetic sessions".to_owned()
    } else {
        corpus.iter().map(|path| path.file_name().unwrap_or_default().to_string_lossy()).collect::<Vec<_>>().join(", ")
    };
    let mut table = format!(
        "Speed of yore (static) and of the floor, plain SQLite FTS5 with the same texts: {what}; {}; commit {}; {date}.\n\
         CPU time is user and system time of all threads; questions are asked warm, each for {LIMIT} turns with quotes; \
         cold start is a fresh process over cached files, median of {COLD_RUNS}.\n",
        machine(),
        commit()
    );
    for turns in sizes {
        let directory = tempfile::Builder::new().prefix("yore-speed-").tempdir_in(work)?;
        let question = queries.as_ref().map(fs::canonicalize).transpose()?;
        let job = Job {
            workload: Workload { turns: *turns, corpus: corpus.clone(), seed: 1 },
            work: directory.path().to_path_buf(),
            question: question.map(|path| path.display().to_string()).unwrap_or_default(),
        };
        let section = measure_size(&job, yore)?;
        eprintln!("{section}");
        table.push_str(&section);
    }
    match out {
        Some(out) => fs::write(out, &table)?,
        None => println!("{table}"),
    }
    Ok(())
}

fn measure_size(job: &Job, yore: &Path) -> Outcome<String> {
    let (prepared, _) = watch("prepare", job)?;
    let (ingest, anonymous) = watch("yore-ingest", job)?;
    // A million turns need the space.
    fs::remove_dir_all(job.transcripts())?;
    let (asked, _) = watch("yore-ask", job)?;
    let questions = job.questions()?;
    let cold = cold_start(&questions, |question| {
        let mut command = Command::new(yore);
        command.arg("--data-dir").arg(job.data()).args(["recall", "--all", "--limit", &LIMIT.to_string(), "--", question]);
        command.env("HOME", &job.work).env("XDG_CONFIG_HOME", &job.work).current_dir(&job.work);
        // Exit code 1 means that nothing was found.
        (command, vec![0, 1])
    })?;
    let (floor_ingest, floor_anonymous) = watch("floor-ingest", job)?;
    let (floor_asked, _) = watch("floor-ask", job)?;
    let program = std::env::current_exe()?;
    let floor_cold = cold_start(&questions, |question| {
        let once = Job { workload: job.workload.clone(), work: job.work.clone(), question: question.to_owned() };
        let mut command = Command::new(&program);
        command.args([PHASE, "floor-once", &once.render()]);
        (command, vec![0])
    })?;

    let turns = job.workload.turns as f64;
    let number = |value: &Value, name: &str| value[name].as_f64().unwrap_or(f64::NAN);
    let megabytes = |bytes: f64| bytes / 1e6;
    let times =
        |value: &Value| -> Vec<f64> { value["times"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect() };
    let (ours, theirs) = (times(&asked), times(&floor_asked));
    let mut rows = Rows::default();
    rows.both("ingest, CPU s", number(&ingest, "cpu"), number(&floor_ingest, "cpu"));
    rows.both("ingest, CPU \u{b5}s a turn", number(&ingest, "cpu") * 1e6 / turns, number(&floor_ingest, "cpu") * 1e6 / turns);
    rows.ours("of it the index, CPU \u{b5}s a turn", number(&ingest, "index_cpu") * 1e6 / turns);
    rows.both("ingest, peak resident MB", megabytes(number(&ingest, "peak")), megabytes(number(&floor_ingest, "peak")));
    rows.both("ingest, peak anonymous MB", megabytes(anonymous as f64), megabytes(floor_anonymous as f64));
    for (name, share) in [("p50", 0.5), ("p95", 0.95), ("max", 1.0)] {
        rows.both(&format!("query, CPU ms, {name}"), percentile(&ours, share), percentile(&theirs, share));
    }
    for (at, name) in ["plan", "full text", "words"].iter().enumerate() {
        rows.ours(&format!("query, {name}, wall ms, p95"), asked["phases"][at][1].as_f64().unwrap_or(f64::NAN) / 1e3);
    }
    for (name, way) in WAYS.iter().zip(asked["ways"].as_array().into_iter().flatten()) {
        for (share, name_of_share) in ["p50", "p95"].iter().enumerate() {
            rows.ours(&format!("{name}, CPU ms, {name_of_share}"), way["times"][share].as_f64().unwrap_or(f64::NAN));
        }
        rows.ours(&format!("{name}, words, wall ms, p95"), way["words"][1].as_f64().unwrap_or(f64::NAN));
    }
    rows.both("cold start, CPU ms", cold, floor_cold);
    rows.both(
        "idle after the questions, anonymous MB",
        megabytes(number(&asked, "idle")),
        megabytes(number(&floor_asked, "idle")),
    );
    rows.both("disk, MB", megabytes(number(&asked, "disk")), megabytes(disk_bytes(&job.floor()) as f64));
    rows.ours("of it the database, MB", megabytes(number(&asked, "database")));
    rows.ours("of that the archive, MB", megabytes(number(&asked, "archive")));
    rows.ours("of that the turns' words, MB", megabytes(number(&asked, "words")));
    rows.ours("of it the full-text index, MB", megabytes(number(&asked, "index")));
    Ok(format!(
        "\n## {} turns\n\n{} documents, {:.1} MB of transcripts, {:.1} MB of searchable text; {} questions{}, {} without an answer.\n\n{}",
        job.workload.turns,
        prepared["documents"],
        megabytes(number(&prepared, "bytes")),
        megabytes(number(&floor_ingest, "text_bytes")),
        ours.len(),
        if theirs.len() < ours.len() { format!(" (the floor: {} within its time)", theirs.len()) } else { String::new() },
        asked["empty"],
        rows.table
    ))
}

/// Lines of a table: the figure of yore, of the baseline, and their ratio.
struct Rows {
    table: String,
}

impl Default for Rows {
    fn default() -> Self {
        Self { table: "| | yore | floor | yore / floor |\n| --- | ---: | ---: | ---: |\n".to_owned() }
    }
}

impl Rows {
    fn both(&mut self, name: &str, ours: f64, floor: f64) {
        self.table.push_str(&format!("| {name} | {} | {} | {:.2} |\n", figure(ours), figure(floor), ours / floor));
    }

    fn ours(&mut self, name: &str, ours: f64) {
        self.table.push_str(&format!("| {name} | {} | | |\n", figure(ours)));
    }
}

/// Formats a number with three digits.
fn figure(value: f64) -> String {
    let decimals = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}")
}

/// Runs a phase in a process of its own; returns its result and its highest observed anonymous memory.
fn watch(phase: &str, job: &Job) -> Outcome<(Value, u64)> {
    eprintln!("{} turns: {phase}", job.workload.turns);
    let mut child = Command::new(std::env::current_exe()?).args([PHASE, phase, &job.render()]).stdout(Stdio::piped()).spawn()?;
    let mut most = 0;
    while child.try_wait()?.is_none() {
        most = memory(Some(child.id())).anonymous.max(most);
        std::thread::sleep(WATCH);
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("phase {phase} failed").into());
    }
    Ok((serde_json::from_slice(&output.stdout)?, most))
}

/// Returns the CPU milliseconds of a fresh process that answers one question, the median over several.
fn cold_start(questions: &[String], command: impl Fn(&str) -> (Command, Vec<i32>)) -> Outcome<f64> {
    let mut times = Vec::new();
    // The first run only brings the files into memory.
    for run in 0..=COLD_RUNS {
        let question = &questions[run * questions.len() / (COLD_RUNS + 1)];
        let (mut command, expected) = command(question);
        let before = children_cpu_time();
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        if !status.code().is_some_and(|code| expected.contains(&code)) {
            return Err(format!("{} answered {question:?} with {status}", command.get_program().display()).into());
        }
        if run > 0 {
            times.push((children_cpu_time() - before).as_secs_f64() * 1e3);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(percentile(&times, 0.5))
}

/// Returns the commit of the sources, marked if they differ from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    match (git(&["rev-parse", "--short", "HEAD"]), git(&["status", "--porcelain"])) {
        (Some(commit), Some(changes)) if !changes.is_empty() => format!("{commit} with changes"),
        (Some(commit), _) => commit,
        _ => "unknown".to_owned(),
    }
}
