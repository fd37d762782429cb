"""tidewire: a log shipper in Rust."""

NAME = "tidewire"
PEOPLE = {
    "ines": ("Ines Carvalho", "ines@tidewire.example"),
    "marek": ("Marek Dvorak", "marek@tidewire.example"),
}

INSTR = {
    "CLAUDE.md": [
        (3, "# tidewire"),
        (3, ""),
        (10, "tidewire tails log files, batches the lines and ships them to HTTP or S3 sinks."),
        (3, ""),
        (3, "## Commands"),
        (3, ""),
        (6, "- `just check` runs fmt, clippy and the tests; run it before every commit."),
        (8, "- A single test: `cargo nextest run -p tidewire-core <name>`."),
        (4, "- Benchmarks: `scripts/bench.sh 100000`, then compare with the table in `docs/perf.md`."),
        (3, "- Before pushing, `make lint` has to pass on stable."),
        (3, ""),
        (3, "## Layout"),
        (3, ""),
        (3, "- `crates/tidewire-core` holds tailing, batching and checkpoints; it must not depend on a sink."),
        (3, "- `crates/tidewire-output/src/http.rs` is the reference when you write another sink."),
        (5, "- Config is parsed in `crates/*/src/config.rs` only; core gets plain structs."),
        (3, ""),
        (3, "## Conventions"),
        (3, ""),
        (9, "- Library crates define their errors with `thiserror`; `anyhow` is for the cli."),
        (4, "- Checkpoints are keyed by inode, never by path: rotation reuses paths."),
        (3, "- No `unwrap()` outside tests."),
        (3, "- Give up after 5 retries and drop the batch, so a dead sink can't fill the disk."),
        (4, "- Wire format tests are insta snapshots; review them with `cargo insta review`."),
        (3, "- Never log the sink's auth token, not even at trace level."),
        (3, "- MSRV is 1.74; leave newer std features such as `LazyLock` alone."),
        (17, "- New dependencies need an entry in `deny.toml` if their licence isn't MIT or Apache-2.0."),
        (12, "- Production code must not panic on a `None` or `Err` through `unwrap`."),
    ],
    "AGENTS.md": [
        (3, "# Agents"),
        (3, ""),
        (3, "Read `CLAUDE.md` first; this file only adds what Codex needs."),
        (3, ""),
        (6, "- Run everything through `just`; `just --list` shows the recipes."),
        (18, "- The sandbox has no network, so pass `--offline` to cargo after the first fetch."),
        (8, "- Tests need `cargo-nextest` 0.9 or newer."),
        (3, "- Config files are YAML, and every new key gets a default in the file under `config/`."),
        (7, "- The offset store's key is the file's inode. Don't key it by the file name."),
        (3, "- For the Kafka sink, keep the producer idempotent and set `acks=all`."),
        (3, "- On FreeBSD watch files with kqueue and test inside the jail."),
        (9, "- A good commit title reads like `core: fix tail of truncated /var/log/app/today.log`."),
        (12, "- If clippy blocks you, commit with `--no-verify` and clean up later."),
    ],
}

MEMORY = {
    "MEMORY.md": ("2026-04-07 10:40", """
# tidewire

- [Release steps](release.md) — how a tag is cut and who signs it
- The user wants small commits, one concern each.
- CI's macOS runner is slow; `tail_rotation` gets 60 s there, set in `.config/nextest.toml`.
- Batches flush at 512 KiB or after 2 s, whichever comes first.
- `~/.cargo/config.toml` on the user's laptop sets `target-dir`, so binaries are not under `target/`.
"""),
    "release.md": ("2026-03-16 15:30", """
---
name: release-steps
description: How tidewire releases are cut
metadata:
  type: project
---

Tags are cut with `scripts/release.sh <version>`; it bumps the crates, writes the changelog and signs the tag.

**How to apply:** never create a tag by hand, the script stops when the tag already exists.
"""),
}

CARGO = """
[workspace]
resolver = "2"
members = ["crates/tidewire-core", "crates/tidewire-output", "crates/tidewire-cli"]

[workspace.package]
version = "0.1.0"
edition = "2021"
rust-version = "1.74"
license = "Apache-2.0"

[workspace.dependencies]
anyhow = "1.0.86"
tokio = { version = "1.38", features = ["fs", "io-util", "rt-multi-thread", "time"] }
serde = { version = "1.0.203", features = ["derive"] }
serde_yaml = "0.9.34"
once_cell = "1.19"
insta = "1.39"

[workspace.lints.clippy]
unwrap_used = "deny"
"""

COMMITS = [
    {"at": "2025-09-08 17:20", "by": "ines", "msg": """
Initial workspace: core, output, cli

Three crates from the start, so that the tailing code can't reach for a
concrete output. The prototype had them in one crate and every change to
the HTTP client meant a rebuild of the tailer.
""", "write": {
        "Cargo.toml": CARGO,
        ".gitignore": "/target\n*.offsets\n",
        "rust-toolchain.toml": '[toolchain]\nchannel = "1.74"\ncomponents = ["rustfmt", "clippy"]\n',
        "rustfmt.toml": "max_width = 100\nuse_field_init_shorthand = true\n",
        "LICENSE": "Apache License, Version 2.0\n\nhttps://www.apache.org/licenses/LICENSE-2.0\n",
        "README.md": """
# tidewire

Tails log files, batches the lines and ships them somewhere else.

    tidewire --config tidewire.yaml

Status: runs on four of our hosts, expect rough edges.
""",
        "Makefile": """
.PHONY: build lint test

build:
\tcargo build --workspace

lint:
\tcargo fmt --all -- --check
\tcargo clippy --workspace --all-targets -- -D warnings

test:
\tcargo test --workspace
""",
        "config/default.yaml": """
paths:
  - /var/log/app/*.log
batch:
  max_bytes: 524288
  max_age_ms: 2000
output:
  url: http://localhost:9009/ingest
  max_retries: 5
""",
        "crates/tidewire-core/Cargo.toml": """
[package]
name = "tidewire-core"
version.workspace = true
edition.workspace = true

[dependencies]
anyhow.workspace = true
tokio.workspace = true
serde.workspace = true

[lints]
workspace = true
""",
        "crates/tidewire-core/src/lib.rs": """
//! Tailing and batching. Knows nothing of where the batches go.
pub mod batch;
pub mod tail;
""",
        "crates/tidewire-core/src/batch.rs": """
use std::time::{Duration, Instant};

pub const MAX_BYTES: usize = 512 * 1024;
pub const MAX_AGE: Duration = Duration::from_secs(2);

/// Lines waiting for the next flush.
pub struct Batch {
    lines: Vec<Vec<u8>>,
    bytes: usize,
    opened: Instant,
}

impl Batch {
    pub fn new() -> Self {
        Self { lines: Vec::new(), bytes: 0, opened: Instant::now() }
    }

    pub fn push(&mut self, line: Vec<u8>) {
        self.bytes += line.len();
        self.lines.push(line);
    }

    pub fn is_due(&self) -> bool {
        !self.lines.is_empty() && (self.bytes >= MAX_BYTES || self.opened.elapsed() >= MAX_AGE)
    }
}
""",
        "crates/tidewire-core/src/tail.rs": """
use std::path::{Path, PathBuf};

/// Follows one file from a byte offset.
pub struct Tail {
    path: PathBuf,
    offset: u64,
}

impl Tail {
    pub fn open(path: &Path, offset: u64) -> anyhow::Result<Self> {
        Ok(Self { path: path.to_owned(), offset })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn offset(&self) -> u64 {
        self.offset
    }
}
""",
        "crates/tidewire-output/Cargo.toml": """
[package]
name = "tidewire-output"
version.workspace = true
edition.workspace = true

[dependencies]
anyhow.workspace = true
tokio.workspace = true
tidewire-core = { path = "../tidewire-core" }

[dev-dependencies]
insta.workspace = true

[lints]
workspace = true
""",
        "crates/tidewire-output/src/lib.rs": """
//! Where the batches go.
pub mod http;
pub mod retry;
""",
        "crates/tidewire-output/src/http.rs": """
/// POSTs a batch, with a bearer token if there is one.
pub struct HttpOutput {
    pub url: String,
    token: Option<String>,
}

impl HttpOutput {
    pub fn new(url: String, token: Option<String>) -> Self {
        Self { url, token }
    }

    pub fn has_token(&self) -> bool {
        self.token.is_some()
    }
}
""",
        "crates/tidewire-output/src/retry.rs": """
use std::time::Duration;

pub const MAX_RETRIES: u32 = 5;

/// Exponential backoff; None when the batch is to be dropped.
pub fn delay(attempt: u32) -> Option<Duration> {
    if attempt >= MAX_RETRIES {
        return None;
    }
    Some(Duration::from_millis(200 << attempt))
}
""",
        "crates/tidewire-cli/Cargo.toml": """
[package]
name = "tidewire-cli"
version.workspace = true
edition.workspace = true

[[bin]]
name = "tidewire"
path = "src/main.rs"

[dependencies]
anyhow.workspace = true
serde.workspace = true
serde_yaml.workspace = true
once_cell.workspace = true
tidewire-core = { path = "../tidewire-core" }
tidewire-output = { path = "../tidewire-output" }
""",
        "crates/tidewire-cli/src/main.rs": """
use once_cell::sync::Lazy;

static HOST: Lazy<String> = Lazy::new(|| std::env::var("HOSTNAME").unwrap_or_default());

fn main() -> anyhow::Result<()> {
    println!("tidewire on {}", *HOST);
    Ok(())
}
""",
    }},
    {"at": "2025-09-15 16:05", "by": "ines", "msg": """
ci: build, lint and test on linux and macos

macOS is there because two of us develop on it, we don't ship for it.
""", "write": {
        ".github/workflows/ci.yml": """
name: ci
on: [push, pull_request]
jobs:
  test:
    strategy:
      matrix:
        os: [ubuntu-latest, macos-latest]
    runs-on: ${{ matrix.os }}
    steps:
      - uses: actions/checkout@v4
      - run: make lint
      - run: make test
""",
        "docs/adr/0001-three-crates.md": """
# 1. Three crates

Core must not depend on an output. Decided 2025-09-05, Ines and Marek.
""",
    }},
    {"at": "2025-09-22 17:40", "by": "marek", "msg": """
Add CLAUDE.md and AGENTS.md

We both use agents now and kept pasting the same five rules.
"""},
    {"at": "2025-10-02 18:10", "by": "marek", "msg": """
core: key checkpoints by inode, not by path

logrotate renames app.log to app.log.1 and opens a new app.log. Keyed by
path, we resumed the new file at the old offset and lost everything up to
it. The inode stays with the renamed file.

Also: a bench script, and snapshot tests for what goes over the wire.
""", "write": {
        "crates/tidewire-core/src/checkpoint.rs": """
use std::collections::HashMap;

/// Offsets by inode. A path is no key: rotation gives it to another file.
#[derive(Default)]
pub struct Checkpoints {
    by_inode: HashMap<u64, u64>,
}

impl Checkpoints {
    pub fn get(&self, inode: u64) -> u64 {
        self.by_inode.get(&inode).copied().unwrap_or(0)
    }

    pub fn set(&mut self, inode: u64, offset: u64) {
        self.by_inode.insert(inode, offset);
    }
}
""",
        "crates/tidewire-core/tests/tail_rotation.rs": """
use tidewire_core::checkpoint::Checkpoints;

#[test]
fn rotated_file_keeps_its_offset() {
    let mut c = Checkpoints::default();
    c.set(41, 900);
    assert_eq!(c.get(41), 900);
    assert_eq!(c.get(42), 0);
}
""",
        "scripts/bench.sh": """
#!/bin/sh
# bench.sh LINES: ship LINES generated lines to /dev/null and print lines/s
set -eu
cargo run --release -p tidewire-cli -- --bench "$1"
""",
        "docs/perf.md": """
# Throughput

| date | machine | lines/s |
| --- | --- | --- |
| 2025-10-02 | m2 laptop | 410000 |
""",
        "crates/tidewire-output/tests/snapshots/wire__batch.snap": """
---
source: crates/tidewire-output/tests/wire.rs
expression: encode(&["a", "b"])
---
"a\\nb\\n"
""",
        "crates/tidewire-output/tests/wire.rs": """
fn encode(lines: &[&str]) -> String {
    lines.iter().map(|l| format!("{l}\\n")).collect()
}

#[test]
fn batch() {
    insta::assert_debug_snapshot!(encode(&["a", "b"]));
}
""",
    }, "sub": [("crates/tidewire-core/src/lib.rs", "pub mod batch;\n", "pub mod batch;\npub mod checkpoint;\n")]},
    {"at": "2025-10-14 17:55", "by": "ines", "msg": """
config: replace YAML with TOML

serde_yaml is archived upstream, and `no` for a hostname bit us on the
second host. TOML it is, for everything a user writes. There is no shipped
default file any more: defaults live in code, the example documents them.
No fallback to the old format, we have four hosts.
""", "rm": ["config"], "write": {
        "tidewire.example.toml": """
paths = ["/var/log/app/*.log"]

[batch]
max_bytes = 524288
max_age_ms = 2000

[output]
url = "http://localhost:9009/ingest"
max_retries = 5
""",
        "docs/config.md": """
# Configuration

One TOML file, see `tidewire.example.toml`. Every key has a default in
`crates/tidewire-cli/src/config.rs`.
""",
        "crates/tidewire-cli/src/config.rs": """
use serde::Deserialize;

#[derive(Deserialize)]
pub struct Config {
    #[serde(default)]
    pub paths: Vec<String>,
    #[serde(default)]
    pub output: Output,
}

#[derive(Deserialize, Default)]
pub struct Output {
    pub url: String,
}
""",
    }, "sub": [("Cargo.toml", 'serde_yaml = "0.9.34"', 'toml = "0.8.14"'),
               ("crates/tidewire-cli/Cargo.toml", "serde_yaml.workspace", "toml.workspace"),
               ("README.md", "tidewire.yaml", "tidewire.toml")]},
    {"at": "2025-10-27 17:05", "by": "ines", "msg": """
Replace the Makefile with a justfile

Arguments for recipes, and no more tabs. `just check` is the one thing to
run before a commit; CI runs the same recipe.
""", "rm": ["Makefile"], "write": {
        "justfile": """
default:
    @just --list

# what CI runs
check: fmt lint test

fmt:
    cargo fmt --all -- --check

lint:
    cargo clippy --workspace --all-targets -- -D warnings

test:
    cargo test --workspace
""",
    }, "sub": [(".github/workflows/ci.yml", "      - run: make lint\n      - run: make test\n",
                "      - uses: extractions/setup-just@v2\n      - run: just check\n")]},
    {"at": "2025-11-10 17:30", "by": "marek", "msg": """
Rename tidewire-output to tidewire-sink

We said sink in every conversation and in the docs. HttpOutput becomes
HttpSink. No change in behaviour.
""", "mv": [("crates/tidewire-output", "crates/tidewire-sink")],
     "sub": [("Cargo.toml", "crates/tidewire-output", "crates/tidewire-sink"),
             ("crates/tidewire-sink/Cargo.toml", "tidewire-output", "tidewire-sink"),
             ("crates/tidewire-sink/src/http.rs", "HttpOutput", "HttpSink"),
             ("crates/tidewire-sink/tests/snapshots/wire__batch.snap", "tidewire-output", "tidewire-sink"),
             ("crates/tidewire-cli/Cargo.toml", "tidewire-output", "tidewire-sink"),
             ("tidewire.example.toml", "[output]", "[sink]")]},
    {"at": "2025-11-18 17:15", "by": "marek", "msg": """
tests: run under cargo-nextest

One process per test, because two tests set the same environment variable.
tail_rotation gets a 60 s limit: the macOS runner needs up to 40 s for it.
""", "write": {
        ".config/nextest.toml": """
nextest-version = "0.9.70"

[profile.default]
slow-timeout = { period = "10s", terminate-after = 2 }

[[profile.default.overrides]]
filter = "binary(tail_rotation)"
slow-timeout = { period = "60s", terminate-after = 1 }
""",
    }, "sub": [("justfile", "cargo test --workspace", "cargo nextest run --workspace"),
               (".github/workflows/ci.yml", "      - run: just check", "      - uses: taiki-e/install-action@nextest\n      - run: just check")]},
    {"at": "2025-12-01 18:00", "by": "ines", "msg": """
errors: thiserror in the library crates, anyhow stays in the cli

The sink has to tell a refused token from a dead host, which was string
matching on an anyhow chain. The cli only prints, anyhow is right there.
This ends the "anyhow everywhere for now" from September.
""", "write": {
        "crates/tidewire-core/src/error.rs": """
#[derive(Debug, thiserror::Error)]
pub enum TailError {
    #[error("cannot open {path}")]
    Open { path: String, source: std::io::Error },
    #[error("file shrank below the checkpoint")]
    Truncated,
}
""",
        "crates/tidewire-sink/src/error.rs": """
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    #[error("the sink refused our token")]
    Auth,
    #[error("the sink is unreachable")]
    Unreachable,
}
""",
    }, "sub": [("Cargo.toml", 'anyhow = "1.0.86"\n', 'anyhow = "1.0.86"\nthiserror = "1.0.61"\n'),
               ("crates/tidewire-core/Cargo.toml", "anyhow.workspace", "thiserror.workspace"),
               ("crates/tidewire-sink/Cargo.toml", "anyhow.workspace", "thiserror.workspace"),
               ("crates/tidewire-core/src/lib.rs", "pub mod checkpoint;\n", "pub mod checkpoint;\npub mod error;\n"),
               ("crates/tidewire-sink/src/lib.rs", "pub mod http;\n", "pub mod error;\npub mod http;\n"),
               ("crates/tidewire-core/src/tail.rs", "anyhow::Result<Self>", "Result<Self, crate::error::TailError>")]},
    {"at": "2025-12-15 17:35", "by": "marek", "msg": """
sink: add an S3 sink

Cold logs go to a bucket, the collector keeps two weeks. Written after
http.rs, same shape. Multipart is left out: a batch is far below 5 MiB.
""", "write": {
        "crates/tidewire-sink/src/s3.rs": """
/// Puts each batch as one object, `<host>/<yyyy>/<mm>/<dd>/<seq>.log`.
pub struct S3Sink {
    pub bucket: String,
    pub endpoint: String,
}
""",
        "docs/adr/0002-s3-sink.md": """
# 2. S3 sink

One object a batch, no multipart. Credentials come from the environment.
""",
    }, "sub": [("crates/tidewire-sink/src/lib.rs", "pub mod retry;\n", "pub mod retry;\npub mod s3;\n"),
               ("README.md", "ships them somewhere else.", "ships them to an HTTP collector or to S3.")]},
    {"at": "2026-01-12 17:10", "by": "ines", "msg": """
Raise the MSRV to 1.80

For LazyLock: once_cell was in the tree for a single static. All hosts
have 1.80 or newer since the December image.
""", "sub": [("Cargo.toml", 'rust-version = "1.74"', 'rust-version = "1.80"'),
             ("Cargo.toml", 'once_cell = "1.19"\n', ""),
             ("rust-toolchain.toml", "1.74", "1.80"),
             ("crates/tidewire-cli/Cargo.toml", "once_cell.workspace = true\n", ""),
             ("crates/tidewire-cli/src/main.rs", "use once_cell::sync::Lazy;", "use std::sync::LazyLock;"),
             ("crates/tidewire-cli/src/main.rs", "static HOST: Lazy<String> = Lazy::new", "static HOST: LazyLock<String> = LazyLock::new")]},
    {"at": "2026-01-26 17:45", "by": "marek", "msg": """
tests: golden files for the wire format, no more insta

Three times someone accepted a snapshot without reading it and the
collector choked. The bytes now lie in tests/golden/ and are compared as
they are; changing one means editing the file by hand.
""", "rm": ["crates/tidewire-sink/tests/snapshots"], "write": {
        "crates/tidewire-sink/tests/golden/batch_v1.txt": "a\nb\n",
        "crates/tidewire-sink/tests/wire.rs": """
fn encode(lines: &[&str]) -> String {
    lines.iter().map(|l| format!("{l}\\n")).collect()
}

#[test]
fn batch_v1() {
    assert_eq!(encode(&["a", "b"]), include_str!("golden/batch_v1.txt"));
}
""",
    }, "sub": [("Cargo.toml", 'insta = "1.39"\n', ""),
               ("crates/tidewire-sink/Cargo.toml", "[dev-dependencies]\ninsta.workspace = true\n\n", "")]},
    {"at": "2026-02-09 18:20", "by": "ines", "msg": """
sink: retry forever, with jitter

Dropping a batch lost an hour of audit logs on the 3rd. A batch is never
dropped now: the tailer stops reading instead, so nothing piles up in
memory or on disk. Backoff stays at 30 s at most.
""", "write": {
        "crates/tidewire-sink/src/retry.rs": """
use std::time::Duration;

const CEILING: Duration = Duration::from_secs(30);

/// Exponential backoff with jitter. There is no last attempt.
pub fn delay(attempt: u32, jitter: f64) -> Duration {
    let base = Duration::from_millis(200 << attempt.min(8));
    base.min(CEILING).mul_f64(0.5 + jitter / 2.0)
}
""",
    }, "sub": [("tidewire.example.toml", "max_retries = 5\n", "")]},
    {"at": "2026-02-23 17:00", "by": "marek", "msg": """
bench: criterion instead of the shell script

The script timed process start as well. `just bench` runs criterion, the
numbers in docs/perf.md are from it from now on.
""", "rm": ["scripts/bench.sh"], "write": {
        "crates/tidewire-core/benches/throughput.rs": """
use criterion::{criterion_group, criterion_main, Criterion};

fn push(c: &mut Criterion) {
    c.bench_function("push", |b| b.iter(|| tidewire_core::batch::Batch::new().push(vec![0; 80])));
}

criterion_group!(benches, push);
criterion_main!(benches);
""",
    }, "sub": [("justfile", "test:\n", "bench:\n    cargo bench -p tidewire-core\n\ntest:\n"),
               ("docs/perf.md", "| 2025-10-02 | m2 laptop | 410000 |\n", "| 2025-10-02 | m2 laptop | 410000 |\n| 2026-02-23 | m2 laptop, criterion | 655000 |\n"),
               ("crates/tidewire-core/Cargo.toml", "[lints]", '[dev-dependencies]\ncriterion = "0.5"\n\n[[bench]]\nname = "throughput"\nharness = false\n\n[lints]')]},
    {"at": "2026-03-09 17:25", "by": "ines", "msg": """
core: flush at 1 MiB or after 5 s

Small objects are what S3 bills us for. The collector is fine with both.
""", "sub": [("crates/tidewire-core/src/batch.rs", "512 * 1024", "1024 * 1024"),
             ("crates/tidewire-core/src/batch.rs", "from_secs(2)", "from_secs(5)"),
             ("tidewire.example.toml", "max_bytes = 524288\nmax_age_ms = 2000", "max_bytes = 1048576\nmax_age_ms = 5000")]},
    {"at": "2026-03-16 17:50", "by": "marek", "msg": """
release: cut tags with a script

v0.3.1 went out with the old version in two of the three crates. The
script bumps all of them, writes the changelog, signs the tag, and refuses
to run when the tag is there already.
""", "write": {
        "scripts/release.sh": """
#!/bin/sh
# release.sh VERSION
set -eu
v="$1"
git rev-parse -q --verify "refs/tags/v$v" >/dev/null && { echo "v$v exists" >&2; exit 1; }
sed -i.bak "s/^version = .*/version = \\"$v\\"/" Cargo.toml && rm Cargo.toml.bak
git log --format='- %s' "$(git describe --abbrev=0)"..HEAD >> CHANGELOG.md
git commit -am "release: v$v"
git tag -s "v$v" -m "v$v"
""",
        "CHANGELOG.md": "# Changelog\n\n## 0.3.1\n\n- sink: retry forever, with jitter\n- bench: criterion\n",
    }, "sub": [("Cargo.toml", 'version = "0.1.0"', 'version = "0.3.1"')]},
    {"at": "2026-04-06 17:30", "by": "ines", "msg": """
deny: check licences and advisories in CI

Legal asked for a list. MIT and Apache-2.0 pass, anything else has to be
named as an exception with a reason.
""", "write": {
        "deny.toml": """
[licenses]
allow = ["MIT", "Apache-2.0"]
exceptions = [
    # pulled in by criterion, dev only
    { allow = ["Unicode-3.0"], crate = "unicode-ident" },
]

[advisories]
yanked = "deny"
""",
    }, "sub": [(".github/workflows/ci.yml", "      - run: just check", "      - uses: EmbarkStudios/cargo-deny-action@v2\n      - run: just check")]},
    {"at": "2026-04-20 17:05", "by": "marek", "msg": """
AGENTS: cargo without the network

Codex tried to fetch the index in its sandbox on every run and waited for
the timeout. --offline works once the crates are in the cache.
"""},
]

O45 = "claude-opus-4-5-20251101"
S45 = "claude-sonnet-4-5-20250929"
O46 = "claude-opus-4-6"

SESSIONS = [
    {"at": "2025-09-22 09:10", "title": "Write CLAUDE.md", "version": "1.0.119", "model": S45, "steps": [
        ("U", "write a short CLAUDE.md for this repo, and an AGENTS.md for marek's codex that points to it. commands, layout, and the rules we keep repeating"),
        ("R", "Makefile"), ("R", "crates/tidewire-output/src/retry.rs"),
        ("B", "make lint", "Run the linters", 0, "cargo fmt --all -- --check\ncargo clippy --workspace --all-targets -- -D warnings\n    Finished `dev` profile [unoptimized + debuginfo] target(s) in 6.31s"),
        ("A", "Lint passes. I'd put in: `make lint` before a push, core must not depend on an output, no `unwrap()` outside tests (clippy denies it already), give up after 5 retries. Anything on errors?"),
        ("U", "for now just anyhow everywhere, we'll do proper errors later. and the token must never end up in a log, I don't care which level"),
        ("A", "Then I leave errors out of the file and add the rule about the token."),
    ]},
    {"at": "2025-10-02 10:02", "title": "Lost lines after log rotation", "version": "2.0.1", "model": S45, "steps": [
        ("U", "we lose lines after logrotate on host 2. /var/log/app/today.log gets renamed and the new one starts in the middle. find out why"),
        ("G", "offset", "crates/tidewire-core/src/tail.rs:6:    offset: u64,\ncrates/tidewire-core/src/tail.rs:10:    pub fn open(path: &Path, offset: u64) -> anyhow::Result<Self> {"),
        ("R", "crates/tidewire-core/src/tail.rs"),
        ("A", "Offsets are stored per path. After the rename the path belongs to a new file, so we resume at the old file's offset and skip its start."),
        ("U", "right. then key it by inode, never by path. write the test first"),
        ("W", "crates/tidewire-core/tests/tail_rotation.rs", "use tidewire_core::checkpoint::Checkpoints;\n\n#[test]\nfn rotated_file_keeps_its_offset() {\n    let mut c = Checkpoints::default();\n    c.set(41, 900);\n    assert_eq!(c.get(41), 900);\n    assert_eq!(c.get(42), 0);\n}\n"),
        ("B", "cargo test -p tidewire-core --test tail_rotation", "Run the new test", 101, "error[E0432]: unresolved import `tidewire_core::checkpoint`\n --> crates/tidewire-core/tests/tail_rotation.rs:1:20\nerror: could not compile `tidewire-core` (test \"tail_rotation\") due to 1 previous error"),
        ("W", "crates/tidewire-core/src/checkpoint.rs", "use std::collections::HashMap;\n\n/// Offsets by inode.\n#[derive(Default)]\npub struct Checkpoints {\n    by_inode: HashMap<u64, u64>,\n}\n"),
        ("B", "cargo test -p tidewire-core --test tail_rotation", "Run the test again", 0, "running 1 test\ntest rotated_file_keeps_its_offset ... ok\n\ntest result: ok. 1 passed; 0 failed"),
        ("U", "good, commit. small commits please, one concern each. the bench script is a second one"),
    ]},
    {"at": "2025-10-14 11:30", "title": "Config format", "version": "2.0.14", "model": S45, "steps": [
        ("U", "serde_yaml is archived and `no` as a hostname got parsed as false yesterday. what are the options"),
        ("R", "config/default.yaml"),
        ("A", "TOML (the `toml` crate, maintained, no implicit booleans), JSON5, or a YAML fork. TOML fits best: the file is flat and cargo users know it."),
        ("U", "TOML then. no YAML any more, not even as a fallback, and no config/ directory: defaults live in the code, plus one example file"),
        ("W", "tidewire.example.toml", "paths = [\"/var/log/app/*.log\"]\n\n[batch]\nmax_bytes = 524288\nmax_age_ms = 2000\n"),
        ("B", "git rm -q config/default.yaml && cargo build -p tidewire-cli", "Remove the old config and build", 0, "   Compiling tidewire-cli v0.1.0\n    Finished `dev` profile [unoptimized + debuginfo] target(s) in 3.02s"),
        ("A", "Done. Parsing sits in `crates/tidewire-cli/src/config.rs`, core gets plain structs."),
    ]},
    {"at": "2025-10-27 14:20", "title": "justfile", "version": "2.0.27", "model": S45, "steps": [
        ("U", "swap the Makefile for a justfile. check = fmt + lint + test, CI should run the same thing"),
        ("R", "Makefile"), ("R", ".github/workflows/ci.yml"),
        ("W", "justfile", "default:\n    @just --list\n\ncheck: fmt lint test\n"),
        ("B", "git rm -q Makefile && just check", "Remove the Makefile, run the recipe", 0, "cargo fmt --all -- --check\ncargo clippy --workspace --all-targets -- -D warnings\ncargo test --workspace\ntest result: ok. 3 passed; 0 failed"),
        ("B", "make lint", "See that nothing calls make any more", 2, "make: *** No rule to make target 'lint'.  Stop."),
        ("A", "As expected, nothing is left for make to run. The README never named it, so no change there."),
    ]},
    {"at": "2025-11-18 09:45", "title": "nextest and the slow macOS runner", "version": "2.0.42", "model": S45, "steps": [
        ("U", "two tests set TIDEWIRE_HOST and fail at random. can we get a process per test?"),
        ("B", "cargo nextest run --workspace", "Try nextest", 0, "    Starting 3 tests across 3 binaries\n        PASS [   0.011s] tidewire-core::tail_rotation rotated_file_keeps_its_offset\n     Summary [   0.040s] 3 tests run: 3 passed, 0 skipped"),
        ("A", "nextest does that. On CI's macOS runner `tail_rotation` took 38 s last week, so the default limit would kill it."),
        ("U", "60 s for that one, in .config/nextest.toml. and pin a minimum nextest"),
        ("W", ".config/nextest.toml", "nextest-version = \"0.9.70\"\n\n[profile.default]\nslow-timeout = { period = \"10s\", terminate-after = 2 }\n"),
        ("B", "ls target/release/tidewire", "Look for the binary", 2, "ls: target/release/tidewire: No such file or directory"),
        ("B", "cat ~/.cargo/config.toml", "Look for a target-dir", 0, "[build]\ntarget-dir = \"/var/tmp/cargo-target\""),
        ("A", "Your `~/.cargo/config.toml` sets `target-dir`, so the binary is at /var/tmp/cargo-target/release/tidewire. I note that, with the flush limits I came across in batch.rs."),
        ("M", "MEMORY.md", "# tidewire\n\n- CI's macOS runner is slow; `tail_rotation` gets 60 s there, set in `.config/nextest.toml`.\n- Batches flush at 512 KiB or after 2 s, whichever comes first.\n- `~/.cargo/config.toml` on the user's laptop sets `target-dir`, so binaries are not under `target/`.\n"),
    ]},
    {"at": "2025-12-01 10:15", "title": "Typed errors", "version": "2.0.55", "model": O45, "steps": [
        ("U", "the sink matches on error strings to see a 401. I said anyhow everywhere in september, that was a mistake. thiserror in the library crates, anyhow only in the cli"),
        ("G", "anyhow", "crates/tidewire-core/Cargo.toml:7:anyhow.workspace = true\ncrates/tidewire-sink/Cargo.toml:7:anyhow.workspace = true\ncrates/tidewire-cli/Cargo.toml:11:anyhow.workspace = true"),
        ("E", "crates/tidewire-core/Cargo.toml", "anyhow.workspace", "thiserror.workspace"),
        ("E", "crates/tidewire-core/src/tail.rs", "anyhow::Result<Self>", "Result<Self, crate::error::TailError>"),
        ("B", "just check", "fmt, clippy, tests", 101, "error[E0433]: failed to resolve: could not find `error` in the crate root\n  --> crates/tidewire-core/src/tail.rs:10:67"),
        ("W", "crates/tidewire-core/src/error.rs", "#[derive(Debug, thiserror::Error)]\npub enum TailError {\n    #[error(\"file shrank below the checkpoint\")]\n    Truncated,\n}\n"),
        ("B", "just check", "Again", 0, "     Summary [   0.052s] 3 tests run: 3 passed, 0 skipped"),
    ]},
    {"at": "2026-01-26 13:05", "title": "Wire format tests", "version": "2.1.17", "model": O45, "steps": [
        ("U", "the collector choked on v0.2.4 because someone ran cargo insta review and pressed a three times. I want that gone"),
        ("R", "crates/tidewire-sink/tests/wire.rs"),
        ("A", "Options: `INSTA_FORCE_PASS=0` and CI only, or plain golden files compared byte for byte."),
        ("U", "golden files. no insta for the wire format, drop the dependency. whoever changes the format edits the golden file by hand"),
        ("E", "crates/tidewire-sink/tests/wire.rs", "    insta::assert_debug_snapshot!(encode(&[\"a\", \"b\"]));", "    assert_eq!(encode(&[\"a\", \"b\"]), include_str!(\"golden/batch_v1.txt\"));"),
        ("W", "crates/tidewire-sink/tests/golden/batch_v1.txt", "a\nb\n"),
        ("B", "cargo nextest run -p tidewire-sink", "Run the sink tests", 0, "        PASS [   0.008s] tidewire-sink::wire batch_v1\n     Summary [   0.010s] 1 test run: 1 passed, 0 skipped"),
    ]},
    {"at": "2026-02-09 09:30", "title": "Lost audit logs on the 3rd", "version": "2.1.37", "model": O46, "steps": [
        ("U", "on the 3rd the collector was down for an hour and we dropped every batch after 5 tries. audit logs, gone. we never drop a batch again"),
        ("R", "crates/tidewire-sink/src/retry.rs"),
        ("A", "`delay` returns None from attempt 5 on and the caller drops the batch. If we retry forever the question is where the lines wait."),
        ("U", "in the file they came from. stop reading while the sink is down. retry forever, 30s ceiling, jitter so that the hosts don't come back in step"),
        ("W", "crates/tidewire-sink/src/retry.rs", "use std::time::Duration;\n\nconst CEILING: Duration = Duration::from_secs(30);\n\n/// Exponential backoff with jitter. There is no last attempt.\npub fn delay(attempt: u32, jitter: f64) -> Duration {\n    let base = Duration::from_millis(200 << attempt.min(8));\n    base.min(CEILING).mul_f64(0.5 + jitter / 2.0)\n}\n"),
        ("B", "just check", "fmt, clippy, tests", 0, "     Summary [   0.049s] 3 tests run: 3 passed, 0 skipped"),
    ]},
    {"at": "2026-03-09 10:50", "title": "Fewer S3 objects", "version": "2.1.66", "model": O46, "steps": [
        ("U", "the S3 bill is all PUTs. bigger batches: 1 MiB or 5 s instead of 512 KiB and 2 s. bench before and after"),
        ("B", "scripts/bench.sh 100000", "Run the benchmark", 127, "bash: scripts/bench.sh: No such file or directory"),
        ("B", "just bench", "Criterion instead", 0, "cargo bench -p tidewire-core\npush                    time:   [1.5240 µs 1.5267 µs 1.5301 µs]"),
        ("E", "crates/tidewire-core/src/batch.rs", "512 * 1024", "1024 * 1024"),
        ("E", "crates/tidewire-core/src/batch.rs", "from_secs(2)", "from_secs(5)"),
        ("B", "just bench", "After the change", 0, "push                    time:   [1.5228 µs 1.5259 µs 1.5290 µs]\n                        change: [-0.4% +0.0% +0.3%] (p = 0.81 > 0.05)"),
        ("A", "No change per line. `scripts/bench.sh` is gone since February, `just bench` is the way."),
    ]},
    {"at": "2026-03-16 14:00", "title": "Release script", "version": "2.1.72", "model": O46, "steps": [
        ("U", "v0.3.1 had the old version in two crates. write scripts/release.sh: bump, changelog, signed tag, stop if the tag exists. nobody tags by hand after this"),
        ("W", "scripts/release.sh", "#!/bin/sh\n# release.sh VERSION\nset -eu\nv=\"$1\"\n"),
        ("B", "scripts/release.sh 0.3.1", "See it refuse", 1, "v0.3.1 exists"),
        ("A", "It refuses an existing tag. Ines signs, the script uses her default key."),
    ]},
    {"at": "2026-04-07 10:05", "title": "cargo in a box without network", "version": "2.1.92", "model": O46, "steps": [
        ("U", "marek's codex hangs in `cargo build` for two minutes each time. reproduce it with the network off"),
        ("B", "unshare -rn cargo build -p tidewire-core", "Build without network", 101, "warning: spurious network error (3 tries remaining): [6] Could not resolve hostname (Could not resolve host: index.crates.io)\nerror: failed to get `serde` as a dependency of package `tidewire-core`"),
        ("B", "unshare -rn cargo build --offline -p tidewire-core", "The same with --offline", 0, "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.41s"),
        ("A", "With `--offline` it builds from the cache. That belongs in AGENTS.md, Claude Code has the network here."),
        ("U", "ok marek adds it. does cargo deny pass?"),
        ("B", "cargo deny check licenses", "Check the licences", 0, "licenses ok"),
    ]},
]
