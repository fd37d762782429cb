//! Loads the daemon's proxy: many streams at once, a steady rate of requests, and requests and answers that are broken.
//!
//! ```text
//! cargo build --release -p yore-memory
//! cargo run --release -p yore-bench --bin proxy -- target/release/yore [streams|rate|bad|all] [SECONDS]
//! ```
//!
//! Creates a separate home and a fake provider on loopback, starts the daemon with the proxy in front of it, and prints:
//!
//! - `streams`: the delay of each event of 200 answers that stream at once over 4 s, directly and through the proxy
//! - `rate`: latency of 1,000 requests a second of 2 kB for SECONDS (20), CPU time, memory, and how many exchanges are archived
//! - `bad`: outcomes of broken requests and answers by kind, 10,000 in 1,200 SECONDS (120), with two good requests beside each;
//!   handles, threads and memory of the daemon
//!
//! `all` (the default) runs the three; SECONDS is then that of `bad`. Exit status 1: a good answer was wrong, bytes of an answer
//! were lost, or the daemon ended or panicked. Linux only: it reads `/proc`.
#![allow(clippy::print_stdout, reason = "a program that measures prints")]

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Barrier, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yore_bench::measure::{cpu_time, machine, percentile};
use yore_bench::vocabulary::{Random, Vocabulary};

type Outcome<T> = Result<T, Box<dyn Error>>;
/// Gets each piece of a body as it arrives; an error ends the reading.
type OnPiece<'f> = dyn FnMut(&[u8]) -> io::Result<()> + 'f;
type Client = BufReader<TcpStream>;
type Kind = &'static str;

const WORKLOADS: [&str; 3] = ["streams", "rate", "bad"];
/// Streams at once, the events of each, and the time between two of them.
const STREAMS: usize = 200;
const EVENTS: usize = 40;
const PAUSE: Duration = Duration::from_millis(100);
/// Connections of `rate`, requests a second, and bytes of a request.
const CONNECTIONS: usize = 32;
const RATE: u64 = 1_000;
const REQUEST: usize = 2_000;
/// Threads of `bad`, its requests in 1,200 s, and how many of them there are for each very long one.
const THREADS: usize = 16;
const BAD: u64 = 10_000;
const HUGE_EVERY: u64 = 500;
/// Bytes of a very long request, of a long answer, and of one reading of a connection.
const HUGE: usize = 70 << 20;
const LARGE: usize = 8 << 20;
const PIECE: usize = 64 << 10;
/// Most connections with a body that stalls that stay open.
const MOST_HELD: usize = 64;
/// Longest wait for bytes.
const LONG: Duration = Duration::from_secs(30);

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let program = PathBuf::from(arguments.first().ok_or("which program? target/release/yore")?).canonicalize()?;
    let what = arguments.get(1).map_or("all", String::as_str);
    let seconds = arguments.get(2).map(|text| text.parse::<u64>()).transpose()?;
    if what != "all" && !WORKLOADS.contains(&what) {
        return Err(format!("unknown workload {what}; known: {}, all", WORKLOADS.join(", ")).into());
    }
    println!("{}", machine());
    let mut bench = Bench::start(program)?;
    let measured = bench.measure(what, seconds);
    let mut faults = bench.end()?;
    faults.extend(measured.unwrap_or_else(|error| vec![error.to_string()]));
    println!("\n{} faults", faults.len());
    faults.sort();
    for same in faults.chunk_by(|one, other| one == other) {
        println!("  {} ({})", same[0], same.len());
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A separate computer with a provider and a daemon.
struct Bench {
    program: PathBuf,
    root: tempfile::TempDir,
    daemon: Child,
    direct: Way,
    proxied: Way,
}

impl Bench {
    fn start(program: PathBuf) -> Outcome<Self> {
        let (root, port) = (tempfile::tempdir()?, provider()?);
        // Creates the memory, which is empty.
        command(&program, root.path(), &["ingest", "--no-embed"]).output()?;
        // In the foreground, so that panics can be read; the memory as a daemon in the background has it.
        let daemon = command(&program, root.path(), &["daemon", "start", "--foreground"])
            .env("YORE_PROXY__ENABLED", "true")
            .env("YORE_PROXY__UPSTREAMS", format!("[\"openai=http://127.0.0.1:{port}\", \"closed=http://127.0.0.1:1\"]"))
            .envs([("MALLOC_ARENA_MAX", "2"), ("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_TRIM_THRESHOLD_", "131072")])
            .stderr(File::create(root.path().join("errors"))?)
            .spawn()?;
        let direct = Way { port, path: "/v1".into() };
        let mut bench = Self { program, root, daemon, proxied: direct.clone(), direct };
        let began = Instant::now();
        let lines = loop {
            match bench.json(&["proxy", "env", "openai", "--json"]) {
                Ok(lines) => break lines,
                Err(error) if began.elapsed() > LONG || bench.daemon.try_wait()?.is_some() => {
                    bench.daemon.kill()?;
                    return Err(format!("{error} {}", fs::read_to_string(bench.root.path().join("errors"))?).into());
                }
                Err(_) => sleep(Duration::from_millis(200)),
            }
        };
        let address = lines[0]["value"].as_str().and_then(|value| value.strip_prefix("http://127.0.0.1:")?.split_once('/'));
        let (port, path) = address.ok_or("no address of the proxy")?;
        bench.proxied = Way { port: port.parse()?, path: format!("/{path}") };
        Ok(bench)
    }

    fn measure(&self, what: &str, seconds: Option<u64>) -> Outcome<Vec<String>> {
        let mut faults = Vec::new();
        for name in WORKLOADS.into_iter().filter(|name| what == *name || what == "all") {
            println!("\n{name}");
            let before = self.counts()?;
            faults.extend(match name {
                "streams" => self.streams(),
                "rate" => self.rate(seconds.filter(|_| what == name).unwrap_or(20))?,
                _ => self.bad(seconds.unwrap_or(120)),
            });
            let counts = self.counts()?;
            let more: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {}", count - before[name])).collect();
            println!("  the proxy counts: {}", more.join(", "));
        }
        Ok(faults)
    }

    /// Stops the daemon; returns what is wrong with it.
    fn end(&mut self) -> Outcome<Vec<String>> {
        let mut faults = Vec::new();
        if let Some(status) = self.daemon.try_wait()? {
            faults.push(format!("the daemon ended: {status}"));
        } else if !good(&mut None, &self.proxied, 0, &prompt(0, "")) {
            faults.push("the daemon does not answer".to_owned());
        }
        if self.json(&["daemon", "stop", "--json"]).is_err() {
            self.daemon.kill()?;
        }
        self.daemon.wait()?;
        let logs = fs::read_dir(self.root.path().join("data/logs"))?.flatten().map(|entry| entry.path());
        for path in logs.chain([self.root.path().join("errors")]) {
            let text = String::from_utf8_lossy(&fs::read(path)?).into_owned();
            faults.extend(text.lines().filter(|line| line.contains("panic")).map(|line| format!("log of the daemon: {line}")));
        }
        Ok(faults)
    }

    fn json(&self, arguments: &[&str]) -> Outcome<Value> {
        let output = command(&self.program, self.root.path(), arguments).output()?;
        if output.status.success() {
            return Ok(serde_json::from_slice(&output.stdout)?);
        }
        Err(format!("yore {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)).into())
    }

    fn counts(&self) -> Outcome<BTreeMap<String, i64>> {
        Ok(serde_json::from_value(self.json(&["proxy", "--json"])?["counts"].take())?)
    }

    /// Returns the number of archived conversations.
    fn sessions(&self) -> Outcome<i64> {
        let status = self.json(&["status", "--json"])?;
        let agents = status["agents"].as_array().ok_or("no agents")?;
        Ok(agents.iter().filter(|agent| agent["agent"] == "proxy").filter_map(|agent| agent["sessions"].as_i64()).sum())
    }

    fn streams(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (name, way) in [("directly", &self.direct), ("through the proxy", &self.proxied)] {
            let all_there = Barrier::new(STREAMS);
            let follow = |number| {
                all_there.wait();
                follow(way, number)
            };
            let streams: Vec<(Vec<f64>, bool)> = thread::scope(|scope| {
                let running: Vec<_> = (0..STREAMS as u64).map(|number| scope.spawn(move || follow(number))).collect();
                running.into_iter().filter_map(|running| running.join().ok()).collect()
            });
            let whole = streams.iter().filter(|(_, is_whole)| *is_whole).count();
            println!("  {name}: {whole} of {STREAMS} streams whole");
            println!("    delay of an event: {}", spread(streams.iter().flat_map(|(delays, _)| delays.iter().copied())));
            println!("    of the first event: {}", spread(streams.iter().filter_map(|(delays, _)| delays.first().copied())));
            if whole != STREAMS {
                faults.push(format!("{} streams {name} are not whole", STREAMS - whole));
            }
        }
        faults
    }

    fn rate(&self, seconds: u64) -> Outcome<Vec<String>> {
        let texts: Vec<String> = (0..500).map(text).collect();
        let process = self.daemon.id();
        let (sessions, before, sampler, first) = (self.sessions()?, self.counts()?, Sampler::start(process), usage(process)[4]);
        let own = cpu_time();
        let (total, latencies, began) = (RATE * seconds, Mutex::new(Vec::new()), Instant::now());
        thread::scope(|scope| {
            for connection in 0..CONNECTIONS as u64 {
                let (texts, latencies) = (&texts, &latencies);
                scope.spawn(move || {
                    let mut client = None;
                    for number in (connection..total).step_by(CONNECTIONS) {
                        let body = prompt(number, &texts[number as usize % texts.len()]);
                        let planned = Duration::from_micros(number * 1_000_000 / RATE);
                        sleep(planned.saturating_sub(began.elapsed()));
                        let sent = began.elapsed();
                        // Even numbers get JSON.
                        if good(&mut client, &self.proxied, 2 * number, &body) {
                            let [late, took] = [planned, sent].map(|since| (began.elapsed() - since).as_secs_f64() * 1e3);
                            lock(latencies).push((late, took));
                        }
                    }
                });
            }
        });
        let (took, latencies) = (began.elapsed().as_secs_f64(), lock(&latencies));
        let failures = total as usize - latencies.len();
        println!("  {total} requests in {took:.1} s, {:.1} a second, {failures} failures", total as f64 / took);
        println!("  latency from the planned time: {}", spread(latencies.iter().map(|(late, _)| *late)));
        println!("  latency from the sending: {}", spread(latencies.iter().map(|(_, took)| *took)));
        let own = (cpu_time() - own).as_secs_f64();
        let daemon = (usage(process)[4] - first) as f64 / 100.0;
        println!("  CPU time until then: {own:.1} s of this program, {daemon:.1} s of the daemon");
        let is_done = || -> Outcome<bool> {
            let (counts, jobs) = (self.counts()?, self.json(&["daemon", "status", "--json"])?["jobs"].take());
            let unseen: i64 = ["dropped", "unreadable"].iter().map(|name| counts[*name] - before[*name]).sum();
            let is_seen = self.sessions()? - sessions + unseen >= latencies.len() as i64;
            Ok(is_seen && jobs["queued"] == 0 && jobs["leased"] == 0)
        };
        while !is_done()? && began.elapsed().as_secs_f64() < took + 180.0 {
            sleep(Duration::from_secs(1));
        }
        let waited = began.elapsed().as_secs_f64() - took;
        println!("  {} exchanges archived {waited:.0} s after the last request", self.sessions()? - sessions);
        sampler.print();
        Ok((failures > 0).then(|| format!("{failures} of {total} good answers were wrong or missing")).into_iter().collect())
    }

    fn bad(&self, seconds: u64) -> Vec<String> {
        let requests = bad_requests(&self.proxied);
        let total = (BAD * seconds / 1_200).max((requests.len() + BAD_ANSWERS.len()) as u64);
        let (outcomes, faults, held) = (Mutex::<BTreeMap<_, usize>>::default(), Mutex::<Vec<_>>::default(), Mutex::default());
        let sampler = Sampler::start(self.daemon.id());
        let began = Instant::now();
        thread::scope(|scope| {
            for thread in 0..THREADS as u64 {
                let (outcomes, faults, held, requests) = (&outcomes, &faults, &held, &requests);
                scope.spawn(move || {
                    let mut client = None;
                    for number in (thread..total).step_by(THREADS) {
                        sleep(Duration::from_millis(number * seconds * 1_000 / total).saturating_sub(began.elapsed()));
                        // One gets JSON on a connection that stays open, the other events on a new one.
                        let before = good(&mut client, &self.proxied, 2 * number, &prompt(2 * number, "is the pier wet?"));
                        let (kind, outcome, fault) = self.attempt(number, requests, held);
                        let after = good(&mut None, &self.proxied, 2 * number + 1, &prompt(2 * number + 1, "is it dry?"));
                        *lock(outcomes).entry((kind, outcome)).or_default() += 1;
                        let wrong = (!before || !after)
                            .then(|| format!("{kind}: a good answer was wrong (before: {before}, after: {after})"));
                        lock(faults).extend(fault.into_iter().chain(wrong));
                    }
                });
            }
        });
        println!("  {total} bad requests in {:.0} s, by kind:", began.elapsed().as_secs_f64());
        lock(&held).clear();
        sleep(Duration::from_secs(if seconds < 300 { 30 } else { 60 }));
        for ((kind, outcome), times) in lock(&outcomes).iter() {
            println!("    {kind}: {outcome} ({times})");
        }
        sampler.print();
        faults.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the bad request of a number; returns its kind, its outcome, and the fault if bytes of an answer were lost.
    fn attempt(
        &self,
        number: u64,
        requests: &[(Kind, Vec<u8>)],
        held: &Mutex<VecDeque<Client>>,
    ) -> (Kind, String, Option<String>) {
        let way = &self.proxied;
        if number % HUGE_EVERY == HUGE_EVERY - 1 {
            let spaces = vec![b' '; HUGE];
            // Without a length, the proxy notices on the way.
            let is_chunked = number / HUGE_EVERY % 2 == 1;
            let kind = if is_chunked { "body of 70 MB, chunked" } else { "body of 70 MB" };
            let chunks = || way.head(CHUNKED, &[&chunk(&spaces), &chunk(b"")[..]].concat());
            let bytes = if is_chunked { chunks() } else { way.request("", &spaces) };
            return (kind, way.send(&bytes, false, &mut any).told(), None);
        }
        let at = number as usize % (requests.len() + BAD_ANSWERS.len());
        if let Some((kind, bytes)) = requests.get(at) {
            let on_piece = if *kind == "client leaves in mid-answer" { leave } else { any };
            if *kind != "body stalls" {
                let breaks_off = ["head torn", "body shorter than its length"].contains(kind);
                return (kind, way.send(bytes, breaks_off, &mut { on_piece }).told(), None);
            }
            let client = connect(way.port).and_then(|mut client| client.get_mut().write_all(bytes).map(|()| client));
            let mut held = lock(held);
            held.extend(client);
            if held.len() > MOST_HELD {
                held.pop_front();
            }
            return (kind, "held open".into(), None);
        }
        let kind = BAD_ANSWERS[at - requests.len()];
        let on_piece = if kind.ends_with("slowly") { slowly } else { any };
        let bytes = |way: &Way| way.request(&wants(kind, number), &prompt(number, &"what did we decide? ".repeat(1_000)));
        if kind == "refuses" {
            return (kind, way.send(&bytes(&way.with("/openai/", "/to/closed/")), false, &mut any).told(), None);
        }
        // The proxy must pass on the head and all bytes that the provider sent.
        let [directly, proxied] = [&self.direct, way].map(|way| way.send(&bytes(way), false, &mut { on_piece }));
        let is_same = directly.told() == proxied.told() && directly.body == proxied.body || directly.head.is_empty();
        let outcome = format!("{}, directly {}", proxied.told(), directly.told());
        let lengths = format!("{kind}: {outcome}; {} of {} bytes", proxied.body.len(), directly.body.len());
        (kind, outcome, (!is_same).then_some(lengths))
    }
}

fn command(program: &Path, root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().current_dir(root).env("HOME", root.join("home"));
    command.env("YORE_HOME", root.join("data")).env("YORE_DAEMON__AUTOSTART", "false");
    command
}

/// Returns requests that are broken, or whose client behaves badly after it sent these bytes.
fn bad_requests(way: &Way) -> Vec<(Kind, Vec<u8>)> {
    let token = way.path.split('/').nth(1).unwrap_or_default();
    let whole = way.request("", &prompt(0, "is the pier wet?"));
    let torn = &whole[..whole.len() - 20];
    let deep = format!("{{\"messages\": {}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let at = |from: &str, to: &str| way.with(from, to).request("", &prompt(0, "is the pier wet?"));
    vec![
        ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 this is no HTTP\r\n\r\n".to_vec()),
        ("head of 100 kB", way.request(&format!("x-long: {}\r\n", "a".repeat(100_000)), b"{}")),
        ("head torn", whole[..60].to_vec()),
        ("body shorter than its length", torn.to_vec()),
        ("body stalls", torn.to_vec()),
        ("invalid JSON", way.request("", b"{\"model\": \"gpt-test\", \"messages\": [{\"role\": \"us")),
        ("JSON 10,000 deep", way.request("", deep.as_bytes())),
        ("chunk with a false size", way.head(CHUNKED, b"5\r\nmore than five bytes\r\n0\r\n\r\n")),
        ("wrong token", at(token, &"0".repeat(token.len()))),
        ("unknown upstream", at("/openai/", "/to/nobody/")),
        ("path with %00 and ..", at("/openai/", "/openai/../%00/..%2f/")),
        ("gzip that is none", way.request("content-encoding: gzip\r\n", b"\x1f\x8b\x08no gzip")),
        ("64 MB of zeros, deflated", way.request("content-encoding: deflate\r\n", &deflated_zeros(64 << 20))),
        ("client leaves in mid-answer", way.request(&wants("timed events", 0), &prompt(0, "is the pier wet?"))),
    ]
}

/// Returns a stream of zlib's format that becomes zeros: a literal, then repetitions of 258 bytes in a block with fixed codes.
fn deflated_zeros(length: usize) -> Vec<u8> {
    let (mut bytes, mut bits, mut count) = (vec![0x78, 0x01], 0, 0);
    // The mark of the last block with fixed codes, the literal 0, repetitions, the end, and bits that fill the last byte.
    let repetitions = std::iter::repeat_n("1100010100000", length / 258);
    for bit in ["110", "00110000"].into_iter().chain(repetitions).chain(["0000000", "0000000"]).flat_map(str::bytes) {
        bits |= (bit - b'0') << count;
        count += 1;
        if count == 8 {
            bytes.push(bits);
            (bits, count) = (0, 0);
        }
    }
    // Adler-32 of zeros: their number, and 1.
    bytes.extend((((1 + length / 258 * 258) % 65_521) as u16).to_be_bytes());
    bytes.extend([0, 1]);
    bytes
}

const CHUNKED: &str = "transfer-encoding: chunked\r\n";
/// Bad answers, as the header `x-answer` asks the provider for them; the first comes from no provider.
const BAD_ANSWERS: [Kind; 15] = [
    "refuses",
    "closes before its head",
    "closes in its head",
    "closes in mid-body",
    "closes in mid-body, client reads slowly",
    "large, client reads slowly",
    "closes in mid-event",
    "longer than its length",
    "chunk that is none",
    "500",
    "429",
    "304",
    "204",
    "silent for 3 s",
    "answers before it reads",
];

/// Serves a fake provider with a thread for each connection; returns its port.
fn provider() -> io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Many connections are there to break off.
            thread::spawn(move || drop(serve(&stream)));
        }
    });
    Ok(port)
}

fn serve(mut stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = BufReader::new(stream);
    while let Some(head) = read_head(&mut input)? {
        let kind = header(&head, "x-answer").unwrap_or_default();
        let number = header(&head, "x-number").and_then(|number| number.parse().ok()).unwrap_or(0);
        let is_early = kind == "answers before it reads";
        if is_early {
            stream.write_all(&with_length("200 OK", &json_answer(number)))?;
        }
        read_body(&mut input, &head, &mut any)?;
        match kind {
            _ if is_early => {}
            "timed events" => {
                stream.write_all(EVENT_STREAM)?;
                let began = Instant::now();
                for index in 0..=EVENTS {
                    sleep((PAUSE * index as u32).saturating_sub(began.elapsed()));
                    stream.write_all(&chunk(&event(number, index, micros())))?;
                }
                stream.write_all(&chunk(b""))?;
            }
            _ => {
                if kind == "silent for 3 s" {
                    sleep(Duration::from_secs(3));
                }
                stream.write_all(&answer(kind, number))?;
                if ["closes", "longer", "chunk"].iter().any(|broken| kind.starts_with(broken)) {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

const EVENT_STREAM: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// Returns the bytes of an answer, as far as the provider sends it.
fn answer(kind: &str, number: u64) -> Vec<u8> {
    let cut = |mut bytes: Vec<u8>, lacking: usize| {
        bytes.truncate(bytes.len() - lacking);
        bytes
    };
    let large = || with_length("200 OK", &format!("{number:015}\n").repeat(LARGE / 16).into_bytes());
    let torn = cut(chunk(&event(number, 1, 0)), 40);
    match kind {
        "closes before its head" => Vec::new(),
        "closes in its head" => b"HTTP/1.1 200 OK\r\ncontent-type: applic".to_vec(),
        "closes in mid-body" => cut(with_length("200 OK", &json_answer(number)), 20),
        "closes in mid-body, client reads slowly" => cut(large(), 1_000),
        "large, client reads slowly" => large(),
        "closes in mid-event" => [EVENT_STREAM, &chunk(&event(number, 0, 0)), &torn].concat(),
        "longer than its length" => [&with_length("200 OK", b"{}")[..], b"and more"].concat(),
        "chunk that is none" => [EVENT_STREAM, &chunk(&event(number, 0, 0)), b"xyz\r\nabc\r\n"].concat(),
        "500" => with_length("500 Internal Server Error", b"{\"error\": {\"message\": \"broken\"}}"),
        "429" => with_length("429 Too Many Requests", b"{\"error\": {\"message\": \"slower\"}}"),
        "304" => b"HTTP/1.1 304 Not Modified\r\netag: \"x\"\r\n\r\n".to_vec(),
        "204" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        "events" => {
            let events = (0..=EVENTS).flat_map(|index| chunk(&event(number, index, 0)));
            EVENT_STREAM.iter().copied().chain(events).chain(chunk(b"")).collect()
        }
        _ => with_length("200 OK", &json_answer(number)),
    }
}

fn with_length(status: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

fn json_answer(number: u64) -> Vec<u8> {
    let message = json!({"role": "assistant", "content": format!("Answer {number}: the pier is wet.")});
    let choices = json!([{"index": 0, "finish_reason": "stop", "message": message}]);
    let usage = json!({"prompt_tokens": 450, "completion_tokens": 9});
    json!({"id": format!("c{number}"), "model": "gpt-test", "choices": choices, "usage": usage}).to_string().into_bytes()
}

/// Returns an event of a stream, which tells when it was sent; the one after the last is the mark of the end.
fn event(number: u64, index: usize, sent: u64) -> Vec<u8> {
    if index == EVENTS {
        return b"data: [DONE]\n\n".to_vec();
    }
    let finish = (index == EVENTS - 1).then_some("stop");
    let choices = json!([{"index": 0, "delta": {"content": format!("word {index} of {number} ")}, "finish_reason": finish}]);
    let object = "chat.completion.chunk";
    let chunk = json!({"id": format!("c{number}"), "object": object, "model": "gpt-test", "choices": choices, "sent": sent});
    format!("data: {chunk}\n\n").into_bytes()
}

/// A way to the provider.
#[derive(Clone)]
struct Way {
    port: u16,
    path: String,
}

impl Way {
    fn with(&self, from: &str, to: &str) -> Self {
        Self { port: self.port, path: self.path.replace(from, to) }
    }

    /// Returns a request whose framing is up to the caller.
    fn head(&self, headers: &str, body: &[u8]) -> Vec<u8> {
        let Self { port, path } = self;
        let first = format!("POST {path}/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n");
        [first.as_bytes(), b"content-type: application/json\r\n", headers.as_bytes(), b"\r\n", body].concat()
    }

    fn request(&self, headers: &str, body: &[u8]) -> Vec<u8> {
        self.head(&format!("{headers}content-length: {}\r\n", body.len()), body)
    }

    /// Sends bytes on a connection of their own, ends it there if `breaks_off`, and reads the answer.
    fn send(&self, bytes: &[u8], breaks_off: bool, on_piece: &mut OnPiece<'_>) -> Answer {
        let Ok(mut client) = connect(self.port) else { return Answer::default() };
        // A server that has read enough closes, and may have answered.
        let _ = client.get_mut().write_all(bytes);
        if breaks_off {
            let _ = client.get_ref().shutdown(Shutdown::Write);
        }
        Answer::read(&mut client, on_piece)
    }
}

fn connect(port: u16) -> io::Result<Client> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LONG))?;
    stream.set_write_timeout(Some(LONG))?;
    Ok(BufReader::with_capacity(PIECE, stream))
}

/// An answer as far as it came.
#[derive(Default)]
struct Answer {
    /// Empty if none came.
    head: String,
    /// The body without its framing.
    body: Vec<u8>,
    /// How it ended; `None` without a connection.
    end: Option<Result<(), ErrorKind>>,
}

impl Answer {
    fn read(input: &mut impl BufRead, on_piece: &mut OnPiece<'_>) -> Self {
        let mut answer = Self::default();
        let read = read_head(input).and_then(|head| {
            answer.head = head.ok_or(ErrorKind::UnexpectedEof)?;
            read_body(input, &answer.head, &mut |piece| {
                answer.body.extend_from_slice(piece);
                on_piece(piece)
            })
        });
        answer.end = Some(read.map_err(|error| error.kind()));
        answer
    }

    /// Returns its status and how it ended.
    fn told(&self) -> String {
        let end = match self.end {
            None => "no connection",
            Some(Ok(())) => "whole",
            Some(Err(ErrorKind::WouldBlock)) => "timed out",
            Some(Err(ErrorKind::Interrupted)) => "left",
            Some(Err(_)) => "closed",
        };
        format!("{} {end}", self.head.split(' ').nth(1).unwrap_or_default()).trim_start().to_owned()
    }
}

/// Reads up to and with an empty line; `None` if the other side ends before.
fn read_head(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if input.read_until(b'\n', &mut head)? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}

/// Returns the value of a header.
fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut headers = head.lines().filter_map(|line| line.split_once(':'));
    headers.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// Reads the body that belongs to a head. Without a length there is none, which holds for all that are sent here.
fn read_body(input: &mut impl BufRead, head: &str, on_piece: &mut OnPiece<'_>) -> io::Result<()> {
    if header(head, "transfer-encoding").is_none() {
        let length = header(head, "content-length").and_then(|length| length.parse().ok());
        return read_pieces(input, length.unwrap_or(0), on_piece);
    }
    loop {
        let (mut size, mut end) = (String::new(), String::new());
        input.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim(), 16).map_err(|_| ErrorKind::InvalidData)?;
        read_pieces(input, size, on_piece)?;
        input.read_line(&mut end)?;
        if end != "\r\n" {
            return Err(ErrorKind::InvalidData.into());
        }
        if size == 0 {
            return Ok(());
        }
    }
}

fn read_pieces(input: &mut impl BufRead, mut length: usize, on_piece: &mut OnPiece<'_>) -> io::Result<()> {
    while length > 0 {
        let bytes = input.fill_buf()?;
        let read = bytes.len().min(length);
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        on_piece(&bytes[..read])?;
        input.consume(read);
        length -= read;
    }
    Ok(())
}

fn any(_: &[u8]) -> io::Result<()> {
    Ok(())
}

fn leave(_: &[u8]) -> io::Result<()> {
    Err(ErrorKind::Interrupted.into())
}

fn slowly(_: &[u8]) -> io::Result<()> {
    sleep(Duration::from_millis(10));
    Ok(())
}

/// Sends a good request on a connection that stays open; returns whether each byte of the answer is right.
fn good(client: &mut Option<Client>, way: &Way, number: u64, body: &[u8]) -> bool {
    let Some(mut open) = client.take().or_else(|| connect(way.port).ok()) else { return false };
    let kind = if number.is_multiple_of(2) { "JSON" } else { "events" };
    if open.get_mut().write_all(&way.request(&wants(kind, number), body)).is_err() {
        return false;
    }
    let found = Answer::read(&mut open, &mut any);
    let expected = Answer::read(&mut &answer(kind, number)[..], &mut any).body;
    let is_right = found.told() == "200 whole" && found.body == expected;
    *client = is_right.then_some(open);
    is_right
}

/// Follows a stream of timed events; returns the milliseconds from the sending of each to its arrival, and whether it is whole.
fn follow(way: &Way, number: u64) -> (Vec<f64>, bool) {
    let (mut bytes, mut delays, mut is_right, mut index) = (Vec::new(), Vec::new(), true, 0);
    let request = way.request(&wants("timed events", number), &prompt(number, "is the pier wet?"));
    let answer = way.send(&request, false, &mut |piece| {
        let now = micros();
        bytes.extend_from_slice(piece);
        while let Some(end) = bytes.windows(2).position(|end| end == b"\n\n") {
            let found: Vec<u8> = bytes.drain(..end + 2).collect();
            let value: Value = serde_json::from_slice(&found[b"data: ".len()..]).unwrap_or_default();
            let sent = value["sent"].as_u64().unwrap_or_default();
            // The time is the provider's; everything else is known.
            is_right &= found == event(number, index, sent);
            delays.extend((index < EVENTS).then_some(now.saturating_sub(sent) as f64 / 1e3));
            index += 1;
        }
        Ok(())
    });
    (delays, is_right && answer.told() == "200 whole" && bytes.is_empty() && index == EVENTS + 1)
}

fn micros() -> u64 {
    BEGAN.elapsed().as_micros() as u64
}

/// Returns the headers that tell the provider how to answer.
fn wants(kind: &str, number: u64) -> String {
    format!("x-answer: {kind}\r\nx-number: {number}\r\n")
}

/// Returns the body of a request that is a conversation of its own.
fn prompt(number: u64, text: &str) -> Vec<u8> {
    let message = json!({"role": "user", "content": format!("{number}: {text}")});
    json!({"model": "gpt-test", "messages": [message]}).to_string().into_bytes()
}

/// Makes a text that fills a request.
fn text(seed: u64) -> String {
    static WORDS: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::new(1));
    let (mut text, mut random) = (String::new(), Random::new(seed));
    while text.len() < REQUEST - prompt(0, "").len() {
        text.push_str(WORDS.word(&mut random));
        text.push(' ');
    }
    text
}

/// Names of what a [`Usage`] counts.
const FIGURES: [&str; 5] = ["kB resident", "kB anonymous", "handles", "threads", "CPU time in 1/100 s"];
type Usage = [u64; 5];

/// Returns what a process uses; zeros if it has ended.
fn usage(process: u32) -> Usage {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let number = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name));
        value.and_then(|value| value.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    let handles = fs::read_dir(format!("/proc/{process}/fd")).map_or(0, |handles| handles.count() as u64);
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    [number("VmRSS:"), number("RssAnon:"), handles, number("Threads:"), ticks]
}

/// Samples what a process uses, every 200 ms.
struct Sampler {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Usage>>,
}

impl Sampler {
    fn start(process: u32) -> Self {
        let ends = Arc::<AtomicBool>::default();
        let is_over = ends.clone();
        let thread = thread::spawn(move || {
            let mut samples = vec![usage(process)];
            while !is_over.load(Relaxed) {
                sleep(Duration::from_millis(200));
                samples.push(usage(process));
            }
            samples
        });
        Self { ends, thread }
    }

    /// Ends the sampling; prints each figure at first, at the most, and at ten points in time up to the end.
    fn print(self) {
        self.ends.store(true, Relaxed);
        let samples = self.thread.join().unwrap_or_default();
        for (at, name) in FIGURES.iter().enumerate() {
            let figures: Vec<u64> = samples.iter().map(|usage| usage[at]).collect();
            let tenths: Vec<String> = (1..=10).map(|tenth| figures[(figures.len() - 1) * tenth / 10].to_string()).collect();
            let most = figures.iter().max().unwrap_or(&0);
            println!("  the daemon's {name}: first {}, most {most}, by tenths of the time {}", figures[0], tenths.join(" "));
        }
    }
}

/// Returns percentiles of milliseconds.
fn spread(values: impl Iterator<Item = f64>) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let [p50, p95, p99, most] = [0.5, 0.95, 0.99, 1.0].map(|share| percentile(&values, share));
    format!("p50 {p50:.2}, p95 {p95:.2}, p99 {p99:.2}, longest {most:.2} ms")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
