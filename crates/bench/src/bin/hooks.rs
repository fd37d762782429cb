//! Measures the times that an agent waits: for the hooks that it calls, with and without a daemon, and for
//! the first answer of an MCP server that it starts.
//!
//! ```text
//! cargo build --release -p yore-memory
//! cargo run --release -p yore-bench --bin hooks -- --yore target/release/yore [--turns 10000]
//!     [--corpus FILE.jsonl ...] [--queries FILE.jsonl] [--everyday FILE.txt] [--runs 200] [--work DIRECTORY]
//! ```
//!
//! Creates a separate home with the given number of turns in transcripts of Claude Code: synthetic sessions,
//! or those of a corpus in the uniform format, whose queries are then the questions. Each call is a fresh
//! process over cached files. A hook of a prompt is counted by its result: questions that got a text,
//! everyday prompts that got none; the others are listed below the table. CPU time is user and system time of
//! the called process and, in a separate column, the daemon's, as the kernel counts it in ticks.
#![allow(clippy::print_stdout, reason = "a program that measures prints")]

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yore_bench::measure::{children_cpu_time, machine, percentile};
use yore_bench::transcript::write_claude_code;
use yore_bench::workload::{Document, Turn, Workload};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Number of fresh MCP servers.
const COLD_RUNS: usize = 20;
/// Number of calls before those that are counted.
const WARMING: usize = 5;
/// Directory named in the synthetic transcripts.
const ELSEWHERE: &str = "/home/dev/src";
/// Number of a turn's words in a question.
const ASKED_WORDS: usize = 8;
/// Longest time to wait for anything.
const LONG: Duration = Duration::from_secs(120);

fn main() -> Outcome<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let directory = tempfile::Builder::new().prefix("yore-hooks-").tempdir_in(&options.work)?;
    let home = Home { program: options.yore.clone(), root: directory.path().canonicalize()? };
    let questions = prepare(&home, &options)?;
    let everyday: Vec<Asked> = fs::read_to_string(&options.everyday)?
        .lines()
        .filter(|line| !line.trim().is_empty())
        .zip(questions.iter().cycle())
        .map(|(line, question)| Asked { prompt: line.to_owned(), ..question.clone() })
        .collect();
    println!(
        "{} turns ({}), {} questions, {} everyday prompts; {}\n",
        options.turns,
        if options.corpus.is_empty() { "synthetic" } else { "corpus" },
        questions.len(),
        everyday.len(),
        machine()
    );
    let mut table = Table::default();
    table.row("`yore mcp`, start to first recall, no daemon", &cold_servers(&home, &questions)?, None);
    hooks(&home, &options, &questions, &everyday, &mut table, "no daemon")?;
    home.yore(&["daemon", "start"])?;
    let measured = home.rest().and_then(|()| hooks(&home, &options, &questions, &everyday, &mut table, "daemon"));
    home.yore(&["daemon", "stop"])?;
    measured?;
    println!("{}", table.text());
    Ok(())
}

/// The options of the command line.
struct Options {
    yore: PathBuf,
    turns: usize,
    corpus: Vec<PathBuf>,
    queries: Option<PathBuf>,
    everyday: PathBuf,
    runs: usize,
    work: PathBuf,
}

impl Options {
    fn parse(arguments: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut options = Self {
            yore: std::env::current_exe()?.with_file_name(format!("yore{}", std::env::consts::EXE_SUFFIX)),
            turns: 10_000,
            corpus: Vec::new(),
            queries: None,
            everyday: Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts/everyday-dev.txt"),
            runs: 200,
            work: std::env::temp_dir(),
        };
        let mut arguments = arguments.peekable();
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value"));
            match name.as_str() {
                "--yore" => options.yore = value()?.into(),
                "--turns" => options.turns = value()?.parse()?,
                "--corpus" => {
                    options.corpus.push(value()?.into());
                    while let Some(more) = arguments.next_if(|next| !next.starts_with("--")) {
                        options.corpus.push(more.into());
                    }
                }
                "--queries" => options.queries = Some(value()?.into()),
                "--everyday" => options.everyday = value()?.into(),
                "--runs" => options.runs = value()?.parse()?,
                "--work" => options.work = value()?.into(),
                _ => return Err(format!("unknown argument {name}").into()),
            }
        }
        options.yore = fs::canonicalize(&options.yore).map_err(|error| format!("{}: {error}", options.yore.display()))?;
        Ok(options)
    }
}

/// A prompt, and the directory where it is typed.
#[derive(Clone)]
struct Asked {
    prompt: String,
    directory: PathBuf,
    transcript: PathBuf,
}

/// Writes the transcripts, ingests them, and returns the questions.
fn prepare(home: &Home, options: &Options) -> Outcome<Vec<Asked>> {
    let workload = Workload { turns: options.turns, corpus: options.corpus.clone(), seed: 1 };
    let sources = home.root.join("src");
    let named = sources.to_str().ok_or("a directory whose name is text")?;
    let mut asked: Vec<Asked> = Vec::new();
    let (mut number, mut seen) = (0, 0);
    let every = (options.turns / options.runs.max(1)).max(1);
    workload.walk(&mut |document| {
        let document = as_session(document);
        let directory = sources.join(&document.project);
        fs::create_dir_all(directory.join(".git"))?;
        fs::write(directory.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        let transcript = home.root.join("home/.claude/projects").join(&document.project).join(format!("{}.jsonl", document.id));
        fs::create_dir_all(transcript.parent().unwrap_or(&directory))?;
        let mut text = Vec::new();
        write_claude_code(&document, number, &mut text)?;
        fs::write(&transcript, String::from_utf8_lossy(&text).replace(ELSEWHERE, named))?;
        number += 1;
        for turn in &document.turns {
            seen += 1;
            let words = turn.words();
            let words: Vec<&str> = words.split_whitespace().take(ASKED_WORDS).collect();
            if matches!(turn, Turn::Human(_)) && words.len() == ASKED_WORDS && seen >= asked.len() * every {
                let prompt = format!("why did we say {}?", words.join(" "));
                asked.push(Asked { prompt, directory: directory.clone(), transcript: transcript.clone() });
            }
        }
        Ok(())
    })?;
    if let Some(queries) = &options.queries {
        let drawn = std::mem::take(&mut asked);
        for line in fs::read_to_string(queries)?.lines() {
            let query: Value = serde_json::from_str(line)?;
            let (Some(prompt), Some(project)) = (query["query"].as_str(), query["corpus_id"].as_str()) else { continue };
            // If that project's sessions are not among so few turns, there is no answer.
            let directory = sources.join(project);
            let place = drawn.iter().find(|drawn| drawn.directory == directory);
            asked.extend(place.map(|place| Asked { prompt: prompt.to_owned(), ..place.clone() }));
        }
    }
    let mut known: Vec<&Path> = Vec::new();
    for asked in &asked {
        if !known.contains(&asked.directory.as_path()) {
            known.push(&asked.directory);
            fs::write(asked.transcript.with_file_name(format!("worked-{}.jsonl", known.len())), worked(asked, known.len())?)?;
        }
    }
    home.yore(&["ingest", "--no-embed"])?;
    if asked.is_empty() { Err("no questions".into()) } else { Ok(asked) }
}

/// A file that is discussed in each project.
const FILE: &str = "src/tables.rs";
/// A failure that occurs in each project.
const FAILURE: &str = "error: almanac.toml: unknown gauge `Hven-Nord` in station list";

/// Makes a session of a project that mentions [`FILE`] and has [`FAILURE`], as Claude Code writes it.
fn worked(asked: &Asked, number: usize) -> Outcome<String> {
    let session = format!("7a5b0001-3f08-4714-9c34-{number:012x}");
    let mut lines = String::new();
    let mut line = |at: usize, kind: &str, content: Value| -> Outcome<()> {
        let uuid = |at: usize| format!("{at:08x}-0000-4000-8000-{number:012x}");
        let parent = (at > 0).then(|| uuid(at - 1));
        lines.push_str(&serde_json::to_string(&json!({
            "type": kind, "uuid": uuid(at), "parentUuid": parent, "sessionId": session, "cwd": asked.directory, "version": "2.1.150",
            "timestamp": format!("2026-03-01T10:{at:02}:00.000Z"), "message": {"role": kind, "content": content},
        }))?);
        lines.push('\n');
        Ok(())
    };
    line(0, "user", json!(format!("never touch {FILE} by hand, it is generated from the almanac")))?;
    line(1, "assistant", json!([{"type": "text", "text": "Understood."}]))?;
    line(2, "user", json!("now build all of the almanac"))?;
    let call = json!({"type": "tool_use", "id": "toolu_01", "name": "Bash", "input": {"command": "make almanac"}});
    line(3, "assistant", json!([call]))?;
    line(4, "user", json!([{"type": "tool_result", "tool_use_id": "toolu_01", "is_error": true, "content": FAILURE}]))?;
    line(5, "assistant", json!([{"type": "text", "text": "The gauge was renamed: `Hven North` in almanac.toml mends it."}]))?;
    Ok(lines)
}

/// Makes a session of a corpus document; its tools were left out already.
fn as_session(mut document: Document) -> Document {
    for turn in &mut document.turns {
        if let Turn::Given(given) = turn {
            let text = given["text"].as_str().unwrap_or_default().to_owned();
            *turn = if given["role"] == "user" { Turn::Human(text) } else { Turn::Assistant { text, call: None } };
        }
    }
    document
}

/// The costs of one call.
#[derive(Clone, Copy)]
struct Took {
    wall: f64,
    cpu: f64,
}

/// Starts servers, asks each one question, and closes them.
fn cold_servers(home: &Home, questions: &[Asked]) -> Outcome<Vec<Took>> {
    let mut all = Vec::new();
    for (run, asked) in (0..WARMING + COLD_RUNS).zip(questions.iter().cycle()) {
        let before = children_cpu_time();
        let began = Instant::now();
        let mut child = home.command(&["mcp"], &asked.directory).env("YORE_DAEMON__USE", "false").spawn()?;
        let (mut stdin, stdout) = (child.stdin.take().ok_or("stdin")?, child.stdout.take().ok_or("stdout")?);
        let mut lines = BufReader::new(stdout).lines();
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}});
        writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}))?;
        lines.next().ok_or("no greeting")??;
        writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        let call = json!({"name": "recall", "arguments": {"question": asked.prompt, "project": "all"}});
        writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}))?;
        let answer: Value = serde_json::from_str(&lines.next().ok_or("no answer")??)?;
        let wall = began.elapsed();
        if answer["result"]["isError"] == true || answer["result"].is_null() {
            return Err(format!("recall failed: {answer}").into());
        }
        drop(stdin);
        child.wait()?;
        if run >= WARMING {
            all.push(Took { wall: milliseconds(wall), cpu: milliseconds(children_cpu_time() - before) });
        }
    }
    Ok(all)
}

/// Calls each kind of hook, and adds a row for each to the table.
fn hooks(home: &Home, options: &Options, questions: &[Asked], everyday: &[Asked], table: &mut Table, who: &str) -> Outcome<()> {
    for (event, name, asked, wants) in [
        ("UserPromptSubmit", "prompt, given something", questions, Some(true)),
        ("UserPromptSubmit", "everyday prompt, given nothing", everyday, Some(false)),
        ("SessionStart", "session start, given a brief", questions, Some(true)),
        ("PreToolUse", "edit of a file, given what was said of it", questions, Some(true)),
        ("PostToolUseFailure", "failed command, given what came of it", questions, Some(true)),
        ("Stop", "stop, capture only", questions, None),
    ] {
        let mut kept = Vec::new();
        let (mut others, mut daemon) = (0, 0.0);
        for (run, asked) in (0..WARMING + options.runs).zip(asked.iter().cycle()) {
            if run == WARMING {
                daemon = home.daemon_cpu();
            }
            // A separate session for each call, so that nothing was given before.
            let session = format!("bench-{}-{event}-{}-{run}", who.replace(' ', "-"), wants.is_some_and(|wants| wants));
            let (took, is_given) = hook(home, event, asked, &session)?;
            if run < WARMING {
                continue;
            }
            if wants.is_none_or(|wants| wants == is_given) { kept.push(took) } else { others += 1 }
        }
        let daemon = (who == "daemon").then(|| (home.daemon_cpu() - daemon) / options.runs.max(1) as f64);
        table.row(&format!("{name}, {who}"), &kept, daemon);
        if others > 0 {
            table.notes.push(format!("{name}, {who}: {others} of {} runs were otherwise and are not counted", options.runs));
        }
        // Without a daemon events pile up here, unlike in days of real work.
        let _ = fs::remove_dir_all(home.root.join("data/spool"));
    }
    Ok(())
}

/// Calls a hook; also returns whether it printed something.
fn hook(home: &Home, event: &str, asked: &Asked, session: &str) -> Outcome<(Took, bool)> {
    let tool = match event {
        "PreToolUse" => {
            json!({"name": "Edit", "input": {"file_path": asked.directory.join(FILE), "old_string": "a", "new_string": "b"}})
        }
        _ => json!({"name": "Bash", "input": {"command": "make almanac"}}),
    };
    let said = json!({
        "tool_name": tool["name"], "tool_input": tool["input"], "tool_use_id": "toolu_02", "error": FAILURE, "session_id": session, "transcript_path": asked.transcript, "cwd": asked.directory, "permission_mode": "default",
        "hook_event_name": event, "prompt": asked.prompt, "source": "startup", "last_assistant_message": "Done.",
    });
    let before = children_cpu_time();
    let began = Instant::now();
    let mut child = home.command(&["hook", "claude-code", event], &asked.directory).spawn()?;
    child.stdin.take().ok_or("stdin")?.write_all(said.to_string().as_bytes())?;
    let output = child.wait_with_output()?;
    let wall = began.elapsed();
    if !output.status.success() {
        return Err(format!("a hook ended with {}", output.status).into());
    }
    let took = Took { wall: milliseconds(wall), cpu: milliseconds(children_cpu_time() - before) };
    Ok((took, !output.stdout.trim_ascii().is_empty()))
}

fn milliseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// A separate computer.
struct Home {
    program: PathBuf,
    root: PathBuf,
}

impl Home {
    fn command(&self, arguments: &[&str], directory: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).env_clear().current_dir(directory).env("HOME", self.root.join("home"));
        command.env("YORE_HOME", self.root.join("data")).env("YORE_DAEMON__AUTOSTART", "false");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    fn yore(&self, arguments: &[&str]) -> Outcome<Vec<u8>> {
        let output = self.command(arguments, &self.root).stdin(Stdio::null()).output()?;
        if output.status.success() { Ok(output.stdout) } else { Err(format!("yore {arguments:?}: {}", output.status).into()) }
    }

    /// Waits until the daemon has finished its work at the start.
    fn rest(&self) -> Outcome<()> {
        let began = Instant::now();
        while began.elapsed() < LONG {
            let status: Value = serde_json::from_slice(&self.yore(&["daemon", "status", "--json"])?)?;
            if status["jobs"]["queued"] == 0 && status["jobs"]["leased"] == 0 {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Err("the daemon does not come to rest".into())
    }

    /// Returns the milliseconds of CPU time of the daemon so far; zero if none runs or the system does not
    /// report it.
    fn daemon_cpu(&self) -> f64 {
        let card = fs::read(self.root.join("data/daemon.json")).unwrap_or_default();
        let pid = serde_json::from_slice::<Value>(&card).unwrap_or_default()["pid"].clone();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
        (ticks(11) + ticks(12)) * 10.0
    }
}

/// The measured figures.
#[derive(Default)]
struct Table {
    rows: String,
    notes: Vec<String>,
}

impl Table {
    fn row(&mut self, name: &str, all: &[Took], daemon: Option<f64>) {
        let of = |value: fn(&Took) -> f64, share: f64| {
            let mut values: Vec<f64> = all.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            percentile(&values, share)
        };
        let daemon = daemon.map_or_else(String::new, |daemon| format!("{daemon:.1}"));
        self.rows.push_str(&format!(
            "| {name} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {daemon} |\n",
            all.len(),
            of(|took| took.wall, 0.5),
            of(|took| took.wall, 0.95),
            of(|took| took.cpu, 0.5),
            of(|took| took.cpu, 0.95)
        ));
    }

    fn text(&self) -> String {
        let head = "| milliseconds | runs | wall p50 | wall p95 | CPU p50 | CPU p95 | daemon's CPU, mean |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
        let notes: String = self.notes.iter().map(|note| format!("\n{note}")).collect();
        format!("{head}{}{notes}", self.rows)
    }
}
