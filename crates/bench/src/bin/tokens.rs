//! Counts what an agent pays for contexts: tokens of a session's start, of broad, specific, tree and deep questions, against loading
//! everything.
//!
//! ```text
//! cargo build --release -p yore-memory
//! cargo run --release -p yore-bench --bin tokens -- [--yore target/release/yore] [--work DIRECTORY]
//! ```
//!
//! The 30 contexts of `data/contexts/contexts.jsonl` are locked in a project of a separate home, through the tools of `yore mcp`, which
//! then answer the questions of `data/contexts/questions.jsonl` that have an answer. A token is four ASCII characters or one other; counted
//! is the text of each answer, which is all that an agent gets by default. An answer holds its question's context if it lists it (broad), or
//! has its words (specific, deep).
#![allow(clippy::print_stdout, reason = "a program that measures prints")]

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use yore_bench::measure::machine;
use yore_core::pack::cost;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The tools that are asked.
const TOOLS: &str =
    "wake_up,lock_context,recall_context,get_context_preview,check_contexts,explore_context_tree,search_contexts_semantic";
/// Number of contexts that an agent with a deep question loads.
const DEEP: usize = 3;
/// Signs of the bar of relevance after the topic of a match.
const BAR_FULL: char = '█';
const BAR_EMPTY: char = '░';
/// Characters of a context by which its whole text is recognised in an answer: those at its middle.
const RECOGNISED: usize = 60;

fn main() -> Outcome<()> {
    let mut yore = std::env::current_exe()?.with_file_name(format!("yore{}", std::env::consts::EXE_SUFFIX));
    let mut work = std::env::temp_dir();
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--yore" => yore = value.into(),
            "--work" => work = value.into(),
            _ => return Err(format!("unknown argument {name}").into()),
        }
    }
    let yore = fs::canonicalize(&yore).map_err(|error| format!("{}: {error}", yore.display()))?;
    let (contexts, questions) = (read("contexts.jsonl")?, read("questions.jsonl")?);
    let home = tempfile::Builder::new().prefix("yore-tokens-").tempdir_in(work)?;
    let mut agent = Agent::start(&yore, home.path())?;
    for context in &contexts {
        let listed = |field: &str| {
            let items = context[field].as_array().into_iter().flatten().filter_map(Value::as_str);
            items.collect::<Vec<_>>().join(",")
        };
        agent.call(
            "lock_context",
            json!({
                "topic": context["topic"], "content": context["content"], "priority": context["priority"],
                "tags": listed("tags"), "related": listed("related"),
            }),
        )?;
    }
    let topics = contexts.iter().filter_map(|context| context["topic"].as_str());
    let everything = topics.map(|topic| agent.call("recall_context", json!({"topic": topic}))).collect::<Outcome<Vec<_>>>()?;
    let all = tokens(&everything.concat());
    println!(
        "{} contexts, everything loaded: {} bytes, {all} tokens; {}\n",
        contexts.len(),
        everything.concat().len(),
        machine()
    );

    let text_of = |topic: &str| {
        let context = contexts.iter().find(|context| context["topic"] == topic)?;
        let text = context["content"].as_str()?;
        let middle: String = text.lines().filter(|line| line.len() >= RECOGNISED).nth(3)?.chars().take(RECOGNISED).collect();
        Some(middle)
    };
    let asked: Vec<(&str, &str)> =
        questions.iter().filter_map(|question| Some((question["q"].as_str()?, question["topic"][0].as_str()?))).collect();
    println!("| | calls | bytes, mean | tokens, mean | largest | of everything | saved | holds the context |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    row("session start: `wake_up`", &[Told { text: agent.call("wake_up", json!({}))?, calls: 1, has_context: true }], all);
    let (mut broad, mut specific, mut deep) = (Vec::new(), Vec::new(), Vec::new());
    for (question, topic) in &asked {
        let is_whole = |text: &str| text_of(topic).is_some_and(|part| text.contains(&part));
        let previews = agent.call("search_contexts_semantic", json!({"query": question}))?;
        let matches = matches_of(&previews);
        // An agent loads the first.
        let loaded = matches.first().map(|first| agent.call("recall_context", json!({"topic": first}))).transpose()?;
        let loaded = loaded.unwrap_or_default();
        specific.push(Told { text: format!("{previews}{loaded}"), calls: 2, has_context: is_whole(&loaded) });
        let mut told = Told {
            text: agent.call("search_contexts_semantic", json!({"query": question, "depth": "full"}))?,
            calls: 1,
            has_context: false,
        };
        for near in matches.iter().take(DEEP) {
            if text_of(near).is_none_or(|part| !told.text.contains(&part)) {
                told.add(&agent.call("recall_context", json!({"topic": near}))?);
            }
        }
        if let Some(first) = matches.first() {
            told.add(&agent.call("explore_context_tree", json!({"topic": first}))?);
        }
        told.has_context = is_whole(&told.text);
        deep.push(told);
        let has_context = matches.iter().any(|found| found == topic);
        broad.push(Told { text: previews, calls: 1, has_context });
    }
    row("broad: previews of a search", &broad, all);
    row("specific: previews, then the first context whole", &specific, all);
    let mut trees = Vec::new();
    for context in &contexts {
        let text = agent.call("explore_context_tree", json!({"topic": context["topic"]}))?;
        let mut related = context["related"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let has_context = related.all(|topic| text.contains(&format!(" {topic} (")));
        trees.push(Told { text, calls: 1, has_context });
    }
    row("tree: the contexts around one, two steps (holds all that are stated as related)", &trees, all);
    row("deep: a search in full, the first three whole, the tree around the first", &deep, all);
    Ok(())
}

/// Returns the topics of the matches of a search, best first.
fn matches_of(text: &str) -> Vec<String> {
    let topic = |line: &str| {
        let (number, rest) = line.split_once(". ")?;
        let (topic, _) = rest.split_once([BAR_FULL, BAR_EMPTY])?;
        number.parse::<u32>().ok()?;
        Some(topic.trim().to_owned())
    };
    text.lines().filter_map(topic).collect()
}

/// Bytes and tokens that answers told an agent.
struct Told {
    text: String,
    calls: usize,
    has_context: bool,
}

impl Told {
    fn add(&mut self, text: &str) {
        self.text.push_str(text);
        self.calls += 1;
    }
}

fn read(name: &str) -> Outcome<Vec<Value>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/contexts").join(name);
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn tokens(text: &str) -> usize {
    cost(text).div_ceil(4)
}

/// Prints a row for answers.
fn row(what: &str, answers: &[Told], all: usize) {
    let count = answers.len().max(1);
    let spent: Vec<usize> = answers.iter().map(|told| tokens(&told.text)).collect();
    let mean = spent.iter().sum::<usize>() / count;
    let bytes = answers.iter().map(|told| told.text.len()).sum::<usize>() / count;
    let calls = answers.iter().map(|told| told.calls).sum::<usize>() as f64 / count as f64;
    let share = 100.0 * mean as f64 / all.max(1) as f64;
    let largest = spent.iter().max().copied().unwrap_or(0);
    let found = answers.iter().filter(|told| told.has_context).count();
    println!(
        "| {what} | {calls:.1} | {bytes} | {mean} | {largest} | {share:.1} % | {:.1} % | {found} of {count} |",
        100.0 - share
    );
}

/// An agent at the other end of `yore mcp`.
struct Agent {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    calls: u64,
}

impl Agent {
    fn start(yore: &Path, home: &Path) -> Outcome<Self> {
        let project: PathBuf = home.join("pakka");
        fs::create_dir_all(project.join(".git"))?;
        fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        let mut command = Command::new(yore);
        command.args(["mcp", "--tools", TOOLS]).env_clear().current_dir(&project).env("HOME", home).env("USERPROFILE", home);
        command.env("YORE_HOME", home.join("data")).env("YORE_DAEMON__USE", "false");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (stdin, stdout) = (child.stdin.take().ok_or("stdin")?, child.stdout.take().ok_or("stdout")?);
        let mut agent = Self { child, stdin, lines: BufReader::new(stdout).lines(), calls: 0 };
        let client = json!({"name": "bench", "version": "0"});
        agent.request("initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}))?;
        writeln!(agent.stdin, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(agent)
    }

    fn request(&mut self, method: &str, params: Value) -> Outcome<Value> {
        self.calls += 1;
        writeln!(self.stdin, "{}", json!({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}))?;
        loop {
            let answer: Value = serde_json::from_str(&self.lines.next().ok_or("the server ended")??)?;
            if answer["id"] == self.calls {
                return Ok(answer["result"].clone());
            }
        }
    }

    /// Calls a tool and returns the text of its answer.
    fn call(&mut self, name: &str, arguments: Value) -> Outcome<String> {
        let result = self.request("tools/call", json!({"name": name, "arguments": arguments}))?;
        let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        if result["isError"] == true || text.is_empty() {
            return Err(format!("{name} failed: {result}").into());
        }
        Ok(text)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
