//! Measures how soon the daemon makes written data findable, and its cost while idle.
//!
//! ```text
//! cargo build --release -p yore-memory && cargo run --release -p yore-bench --bin daemon -- target/release/yore [TURNS] [SECONDS]
//! ```
//!
//! Creates a separate home with TURNS (100,000) invented turns, starts the daemon, and prints latencies from
//! write to findable, CPU time over SECONDS (60) idle ones, and anonymous resident memory before and after
//! questions. Linux only: it reads `/proc`.
#![allow(clippy::print_stdout, reason = "a program that measures prints")]

use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Turns of one session.
const SESSION: usize = 250;
/// Number of turns whose latency is measured.
const TIMED: usize = 8;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let program = PathBuf::from(arguments.first().ok_or("which program? target/release/yore")?).canonicalize()?;
    let number = |at: usize, default: u64| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (turns, seconds) = (number(1, 100_000) as usize, number(2, 60));
    let directory = tempfile::tempdir()?;
    let home = Home { program, root: directory.path().to_path_buf() };
    let projects = home.root.join("home/.claude/projects/-home-dev-tide");
    fs::create_dir_all(&projects)?;
    for session in 0..turns / SESSION {
        let name = session_name(session);
        let text: String = (0..SESSION).map(|turn| line(&name, turn, &words(session * SESSION + turn))).collect();
        fs::write(projects.join(format!("{name}.jsonl")), text)?;
    }
    let began = Instant::now();
    home.yore(&["ingest", "--no-embed"])?;
    println!("{turns} turns ingested in {:.1} s", began.elapsed().as_secs_f64());
    home.yore(&["daemon", "start"])?;
    let outcome = measure(&home, &projects, seconds);
    home.yore(&["daemon", "stop"])?;
    outcome
}

fn measure(home: &Home, projects: &Path, seconds: u64) -> Outcome<()> {
    let process = home.process()?;
    while home.yore(&["daemon", "status"])?.stdout.windows(6).any(|word| word == b"0 in 0") {
        std::thread::sleep(Duration::from_millis(200));
    }
    std::thread::sleep(Duration::from_secs(6));
    println!("memory at rest: {} kB anonymous", anonymous(process)?);
    let name = session_name(1_000_000);
    let mut latencies = Vec::new();
    for turn in 0..TIMED {
        let word = format!("zephyr{turn}quill");
        let mut file = OpenOptions::new().create(true).append(true).open(projects.join(format!("{name}.jsonl")))?;
        let written = Instant::now();
        file.write_all(line(&name, turn, &format!("the word is {word}")).as_bytes())?;
        // A turn that is only similar in meaning is not the answer.
        while !String::from_utf8_lossy(&home.yore(&["recall", "--all", &word])?.stdout).contains(&word) {
            if written.elapsed() > Duration::from_secs(30) {
                return Err("not findable within 30 s".into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        latencies.push(written.elapsed().as_secs_f64());
    }
    latencies.sort_by(f64::total_cmp);
    println!("write to findable, {TIMED} times: median {:.2} s, longest {:.2} s", latencies[TIMED / 2], latencies[TIMED - 1]);
    println!("memory after questions: {} kB anonymous", anonymous(process)?);
    std::thread::sleep(Duration::from_secs(5));
    let before = processor(process)?;
    std::thread::sleep(Duration::from_secs(seconds));
    let used = processor(process)? - before;
    println!("idle for {seconds} s: {used:.2} s of CPU, {:.2} %", 100.0 * used / seconds as f64);
    println!("memory in the end: {} kB anonymous", anonymous(process)?);
    Ok(())
}

/// A separate computer.
struct Home {
    program: PathBuf,
    root: PathBuf,
}

impl Home {
    fn yore(&self, arguments: &[&str]) -> Outcome<Output> {
        let mut command = Command::new(&self.program);
        command.args(arguments).env_clear().current_dir(&self.root).env("HOME", self.root.join("home"));
        command.env("YORE_HOME", self.root.join("data")).env("YORE_DAEMON__AUTOSTART", "false");
        // So that a model in another directory is measured as well.
        if let Some(models) = std::env::var_os("YORE_MODELS") {
            command.env("YORE_MODELS", models);
        }
        Ok(command.output()?)
    }

    fn process(&self) -> Outcome<u32> {
        let card: serde_json::Value = serde_json::from_slice(&fs::read(self.root.join("data/daemon.json"))?)?;
        Ok(u32::try_from(card["pid"].as_u64().ok_or("no process")?)?)
    }
}

fn session_name(number: usize) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

fn line(session: &str, turn: usize, text: &str) -> String {
    let role = if turn.is_multiple_of(2) { "user" } else { "assistant" };
    let content = if role == "user" { serde_json::json!(text) } else { serde_json::json!([{"type": "text", "text": text}]) };
    let value = serde_json::json!({
        "type": role, "uuid": format!("{}-{turn:04x}-4000-8000-000000000000", &session[..8]), "sessionId": session,
        "cwd": "/home/dev/tide", "timestamp": format!("2026-11-01T10:{:02}:{:02}.000Z", turn / 60 % 60, turn % 60),
        "message": {"role": role, "id": format!("msg_{}_{turn}", &session[..8]), "content": content},
    });
    format!("{value}\n")
}

/// Makes invented words, as many as a short answer has.
fn words(seed: usize) -> String {
    const PARTS: [&str; 12] = ["lor", "em", "tid", "al", "rop", "es", "qui", "ven", "mar", "ost", "ki", "shi"];
    let mut state = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut text = String::new();
    for _ in 0..40 {
        for _ in 0..3 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let _ = write!(text, "{}", PARTS[(state % 12) as usize]);
        }
        text.push(' ');
    }
    text
}

/// Returns the anonymous resident memory in kB.
fn anonymous(process: u32) -> Outcome<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).ok_or("no RssAnon")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse()?)
}

/// Returns the seconds of CPU time so far, of all threads.
fn processor(process: u32) -> Outcome<f64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields.get(11).ok_or("stat")?.parse::<u64>()? + fields.get(12).ok_or("stat")?.parse::<u64>()?;
    Ok(ticks as f64 / 100.0)
}
