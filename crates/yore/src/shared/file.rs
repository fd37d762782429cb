//! Writes and reads the files by which a team shares memories: Markdown with front matter, named by the hash of its content.
//!
//! ```markdown
//! ---
//! yore: shared
//! kind: decision
//! tags: [storage]
//! confidence: verified
//! ---
//! Leases live in SQLite.
//!
//! ## Details
//!
//! Redis lost heartbeats.
//! ```
//!
//! A file is never changed: other words are another file. A retirement is a file as well (`yore: retired`), so that merging two
//! branches is the union of their files. Nothing in a file depends on the computer that wrote it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use yore_core::conflict::StatedValue;
use yore_core::memory::{CodeChange, Confidence, Fields, Lane, Memory, MemoryKind, SourceKind, check};
use yore_core::text::cut;
use yore_core::time::{RecordedTime, UtcMillis, format_utc};
use yore_engine::NewMemory;
use yore_team::wire::MOST_TEXT;
/// The name of a file, without `.md`, is the name that its text has on a team's server.
pub use yore_team::wire::{is_name, name_of};

use crate::portable::{front, page};

/// Largest file, in bytes.
pub const MOST_BYTES: usize = MOST_TEXT;
/// Digits of a file's name: 128 bits of its hash.
const NAME_DIGITS: usize = 32;
/// Most quotes, and characters of a quote.
const MOST_QUOTES: usize = 3;
const QUOTE_CHARS: usize = 300;
/// Most characters of a fault.
const FAULT_CHARS: usize = 300;
/// Values of `yore` in front matter.
const SHARED: &str = "shared";
const RETIRED: &str = "retired";

/// Content of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum SharedFile {
    /// A memory.
    Memory(Box<SharedMemory>),
    /// The retirement of a memory.
    Retired(Retirement),
}

/// A memory without what only its author's computer knows: ids, turns, sessions, places, importance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedMemory {
    /// Its kind.
    pub kind: MemoryKind,
    /// Title.
    pub title: Option<String>,
    /// Its statement.
    pub statement: String,
    /// More about it.
    pub details: Option<String>,
    /// Tags, sorted, each once.
    pub tags: Vec<String>,
    /// How sure its author is.
    pub confidence: Confidence,
    /// Since when it is true, in whole seconds.
    pub valid_from: Option<UtcMillis>,
    /// Until when it was true, in whole seconds.
    pub valid_until: Option<UtcMillis>,
    /// Its value of something that has one value at a time.
    pub asserts: Option<StatedValue>,
    /// Fields of its kind.
    pub fields: Fields,
    /// Quotes that support it: at most 3 of at most 300 characters.
    pub evidence: Vec<String>,
}

/// The end of a shared memory, for everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retirement {
    /// Name of the memory's file, without `.md`.
    pub memory: String,
    /// Name of the file of the memory that takes its place.
    pub by: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// Front matter of a memory.
#[derive(Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
struct MemoryFront {
    yore: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asserts: Option<StatedValue>,
    #[serde(skip_serializing_if = "Value::is_null")]
    fields: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<String>,
}

/// Front matter of a retirement.
#[derive(Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
struct RetirementFront {
    yore: String,
    memory: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
}

/// The one entry that all front matter has.
#[derive(Default, Deserialize)]
#[serde(default)]
struct AnyFront {
    yore: String,
}

/// Writes a file: the same content gives the same bytes. One longer than [`MOST_BYTES`] or of no valid memory cannot be read.
pub fn write(file: &SharedFile) -> String {
    match file {
        SharedFile::Memory(memory) => {
            let memory = (**memory).clone().normalised();
            let front = MemoryFront {
                yore: SHARED.to_owned(),
                kind: Some(memory.kind.as_str().to_owned()),
                title: memory.title,
                tags: memory.tags,
                confidence: Some(memory.confidence.as_str().to_owned()),
                valid_from: memory.valid_from.map(format_utc),
                valid_until: memory.valid_until.map(format_utc),
                asserts: memory.asserts,
                fields: page::fields_of(&memory.fields),
                evidence: memory.evidence,
            };
            page::page(&front, &page::body_of(&memory.statement, memory.details.as_deref()))
        }
        SharedFile::Retired(retirement) => {
            let Retirement { memory, by, reason } = retirement.clone();
            let front = RetirementFront { yore: RETIRED.to_owned(), memory, by };
            page::page(&front, &reason.and_then(|reason| worded(plain(&reason))).unwrap_or_default())
        }
    }
}

/// Reads a file.
///
/// # Errors
/// A description of the fault, in one line.
pub fn read(text: &str) -> Result<SharedFile, String> {
    // A fault may quote long text, or several lines.
    content_of(text).map_err(|fault| cut(&fault.split_whitespace().collect::<Vec<_>>().join(" "), FAULT_CHARS))
}

fn content_of(text: &str) -> Result<SharedFile, String> {
    if text.len() > MOST_BYTES {
        return Err(format!("it is longer than {} KiB", MOST_BYTES / 1024));
    }
    if text.contains('\0') {
        return Err("it has a NUL character, for which git shows no difference to a reviewer".to_owned());
    }
    let text = plain(text);
    let (front, body) = front::split(&text);
    let front = front.ok_or("it has no front matter")?;
    match front::read::<AnyFront>(front)?.yore.as_str() {
        SHARED => memory_in(front::read(front)?, body).map(Box::new).map(SharedFile::Memory),
        RETIRED => {
            let RetirementFront { yore: _, memory, by } = front::read(front)?;
            for (field, name) in [("memory", Some(&memory)), ("by", by.as_ref())] {
                if let Some(name) = name.filter(|name| !is_name(name)) {
                    return Err(format!("{field} is {name:?}, expected the name of a file: {NAME_DIGITS} hexadecimal digits"));
                }
            }
            Ok(SharedFile::Retired(Retirement { memory, by, reason: worded(body.to_owned()) }))
        }
        other => Err(format!("yore is {other:?}, expected {SHARED} or {RETIRED}")),
    }
}

fn memory_in(front: MemoryFront, body: &str) -> Result<SharedMemory, String> {
    let kinds = || MemoryKind::ALL.iter().map(|known| known.as_str());
    let kind = front.kind.map(|name| page::named("kind", &name, MemoryKind::parse, kinds())).transpose()?.unwrap_or_default();
    let names = || Confidence::ALL.iter().map(|known| known.as_str());
    let confidence = front.confidence.map(|name| page::named("confidence", &name, Confidence::parse, names())).transpose()?;
    let (statement, details) = page::said_in(body);
    let memory = SharedMemory {
        kind,
        title: front.title,
        statement,
        details,
        tags: front.tags,
        confidence: confidence.unwrap_or_default(),
        valid_from: front.valid_from.map(|words| time("valid_from", &words)).transpose()?,
        valid_until: front.valid_until.map(|words| time("valid_until", &words)).transpose()?,
        asserts: front.asserts,
        fields: page::fields_in(kind, &front.fields)?.unwrap_or_default(),
        evidence: front.evidence,
    }
    .normalised();
    check(&memory.as_new().memory).map_err(|invalid| invalid.to_string())?;
    Ok(memory)
}

/// Reads a time, which is the same on every computer: without an offset it is UTC, and words such as `last week` are none.
fn time(field: &str, words: &str) -> Result<UtcMillis, String> {
    let expected = || format!("{field} is {words:?}, expected a time such as 2026-01-31T12:00:00Z");
    RecordedTime::parse(words).utc.ok_or_else(expected)
}

/// Returns a memory as it may be shared, with its best quotes.
pub fn of_memory(memory: &Memory) -> SharedMemory {
    SharedMemory {
        kind: memory.kind,
        title: memory.title.clone(),
        statement: memory.statement.clone(),
        details: memory.details.clone(),
        tags: memory.tags.clone(),
        confidence: memory.confidence,
        valid_from: memory.valid_from,
        valid_until: memory.valid_until,
        asserts: memory.asserts.clone(),
        fields: memory.fields.clone(),
        evidence: memory.evidence.iter().map(|evidence| evidence.quote.clone()).collect(),
    }
    .normalised()
}

impl SharedMemory {
    /// Returns the form in which it is written and read: trimmed, times in whole seconds, few and short quotes.
    pub fn normalised(mut self) -> Self {
        for text in self.texts_mut() {
            *text = plain(text);
        }
        self.statement = self.statement.trim().to_owned();
        self.title = self.title.and_then(worded);
        self.details = self.details.and_then(worded);
        self.tags = self.tags.into_iter().filter_map(worded).collect();
        self.tags.sort();
        self.tags.dedup();
        self.valid_from = self.valid_from.and_then(in_seconds);
        self.valid_until = self.valid_until.and_then(in_seconds);
        if page::fields_of(&self.fields).is_null() {
            self.fields = Fields::None;
        }
        let mut quotes: Vec<String> = Vec::new();
        for quote in self.evidence.into_iter().filter_map(worded).map(short) {
            if quotes.len() < MOST_QUOTES && !quotes.contains(&quote) {
                quotes.push(quote);
            }
        }
        self.evidence = quotes;
        self
    }

    /// Returns it as a new memory that no person here confirmed. Its quotes are in no turn that is known here.
    pub fn as_new(&self) -> NewMemory {
        let mut new = NewMemory::new(self.kind, self.statement.clone());
        let memory = &mut new.memory;
        memory.title.clone_from(&self.title);
        memory.details.clone_from(&self.details);
        memory.tags.clone_from(&self.tags);
        memory.confidence = self.confidence;
        memory.valid_from = self.valid_from;
        memory.valid_until = self.valid_until;
        memory.asserts.clone_from(&self.asserts);
        memory.fields.clone_from(&self.fields);
        memory.lane = Lane::Extracted;
        memory.source.kind = SourceKind::Import;
        new
    }

    /// Returns all its texts, to be redacted or rewritten.
    pub fn texts_mut(&mut self) -> Vec<&mut String> {
        let mut texts = vec![&mut self.statement];
        texts.extend(self.title.iter_mut().chain(&mut self.details).chain(&mut self.tags).chain(&mut self.evidence));
        texts.extend(self.asserts.iter_mut().flat_map(|asserts| [&mut asserts.subject, &mut asserts.value]));
        texts.extend(texts_of(&mut self.fields));
        texts
    }
}

fn texts_of(fields: &mut Fields) -> Vec<&mut String> {
    match fields {
        Fields::None | Fields::Open { is_closed: _ } => Vec::new(),
        Fields::Solution { problem, error, cause, tried, changes, files } => {
            let mut texts = vec![problem];
            texts.extend(error.iter_mut().chain(cause).chain(tried).chain(files));
            for CodeChange { file, language, before, after, explanation } in changes {
                texts.push(after);
                texts.extend(file.iter_mut().chain(language).chain(before).chain(explanation));
            }
            texts
        }
        Fields::Pattern { use_case, example, related } => use_case.iter_mut().chain(example).chain(related).collect(),
        Fields::Decision { reason, alternatives, tradeoffs } => reason.iter_mut().chain(alternatives).chain(tradeoffs).collect(),
        Fields::Standard { category, examples, counter_examples, reason } => {
            category.iter_mut().chain(examples).chain(counter_examples).chain(reason).collect()
        }
        Fields::Preference { aspect, corrected } => aspect.iter_mut().chain(corrected).collect(),
    }
}

/// Returns a text whose lines end as on Unix, because git may change their ends, and without the NUL that [`read`] refuses.
fn plain(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "")
}

/// Returns a text without white space around it; `None` if nothing is left.
fn worded(text: String) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns a quote of at most [`QUOTE_CHARS`] characters.
fn short(quote: String) -> String {
    if quote.chars().nth(QUOTE_CHARS).is_some() { cut(&quote, QUOTE_CHARS - 1) } else { quote }
}

/// Returns a time in whole seconds; `None` for one that no text says.
fn in_seconds(at: UtcMillis) -> Option<UtcMillis> {
    RecordedTime::parse(&format_utc(at.div_euclid(1_000).saturating_mul(1_000))).utc
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use yore_core::conflict::Aspect;
    use yore_core::id::{MemoryId, TurnId};
    use yore_core::memory::Evidence;

    use super::*;
    use crate::portable::fields_test::fields;

    const LEASES: &str = "---\nyore: shared\nkind: decision\n---\nLeases live in SQLite.\n";

    /// Pieces of texts that YAML, Markdown or these files could take for something else.
    const PIECES: [&str; 40] = [
        "Leases",
        "yes",
        "null",
        "~",
        "1.50",
        "2026-01-01",
        ": ",
        " #",
        "---",
        "\n---\n",
        "...",
        "\n",
        "\r\n",
        "\r",
        "\t",
        "## Details",
        "\n## Details\n",
        "\n\\## Details \n",
        "\\",
        "\"",
        "'",
        "- ",
        "[x]",
        "{",
        "}",
        "|",
        ">",
        "\0",
        "\u{1b}[2J",
        "\u{7f}",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{202e}",
        "ü",
        "🚢",
        " ",
        "&a *a",
        "<<<<<<< ",
        "%",
    ];

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(&PIECES[..]), 0..7).prop_map(|pieces| pieces.concat())
    }

    fn texts() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec(text(), 0..5)
    }

    fn maybe() -> impl Strategy<Value = Option<String>> {
        prop::option::of(text())
    }

    fn memory() -> impl Strategy<Value = SharedMemory> {
        let kinds =
            prop::sample::select(MemoryKind::ALL.to_vec()).prop_flat_map(|kind| (Just(kind), fields(kind, || text().boxed())));
        let states = (
            prop::sample::select(Confidence::ALL.to_vec()),
            prop::option::of(0..2_000_000_000_000_i64),
            prop::option::of(2_000_000_000_000..253_402_300_799_999_i64),
            prop::option::of((text(), prop::sample::select(Aspect::ALL.to_vec()), text())),
        );
        (kinds, (maybe(), text(), maybe(), texts(), texts()), states).prop_map(|((kind, fields), words, states)| {
            let (title, statement, details, tags, evidence) = words;
            let (confidence, valid_from, valid_until, asserts) = states;
            let asserts = asserts.map(|(subject, aspect, value)| StatedValue { subject, aspect, value });
            let statement = format!("{statement}x");
            SharedMemory { kind, title, statement, details, tags, confidence, valid_from, valid_until, asserts, fields, evidence }
        })
    }

    fn file() -> impl Strategy<Value = SharedFile> {
        let name = || text().prop_map(|text| name_of(&text));
        prop_oneof![
            4 => memory().prop_map(|memory| SharedFile::Memory(Box::new(memory))),
            1 => (name(), prop::option::of(name()), maybe())
                .prop_map(|(memory, by, reason)| SharedFile::Retired(Retirement { memory, by, reason })),
        ]
    }

    fn normalised(file: SharedFile) -> SharedFile {
        match file {
            SharedFile::Memory(memory) => SharedFile::Memory(Box::new(memory.normalised())),
            SharedFile::Retired(Retirement { memory, by, reason }) => {
                SharedFile::Retired(Retirement { memory, by, reason: reason.and_then(|reason| worded(plain(&reason))) })
            }
        }
    }

    fn memory_of(text: &str) -> SharedMemory {
        match read(text) {
            Ok(SharedFile::Memory(memory)) => *memory,
            other => panic!("{other:?}\n{text}"),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_read_whatever_its_texts_are(file in file()) {
            let text = write(&file);
            let expected = normalised(file.clone());
            prop_assert_eq!(read(&text), Ok(expected.clone()), "{}", text);
            prop_assert_eq!(normalised(expected.clone()), expected.clone(), "there is one normal form");
            prop_assert_eq!(write(&expected), text.clone(), "the same content, the same bytes");
            // git on Windows may write other ends of lines.
            let on_windows = text.replace('\n', "\r\n");
            prop_assert_eq!(read(&on_windows), Ok(expected), "{:?}", on_windows);
            prop_assert_eq!(name_of(&on_windows), name_of(&text));
        }

        #[test]
        fn nothing_that_is_read_panics(
            front in text(), kind in text(), fields in text(), body in text(), noise in any::<String>(),
            bytes in prop::collection::vec(any::<u8>(), 0..200)
        ) {
            let lossy = String::from_utf8_lossy(&bytes).into_owned();
            for text in [
                noise.clone(),
                lossy.clone(),
                format!("---\n{front}\n---\n{body}"),
                format!("---\nyore: shared\n{front}\nkind: {kind}\nfields: {fields}\n---\n{body}"),
                format!("---\nyore: retired\nmemory: {kind}\n{front}\n---\n{body}"),
                format!("---\nyore: shared\n{noise}\n---\n{lossy}"),
            ] {
                if let Ok(file) = read(&text) {
                    prop_assert_eq!(read(&write(&file)), Ok(file.clone()), "what is read can be written: {}", text);
                } else {
                    prop_assert!(!read(&text).unwrap_err().contains('\n'));
                }
            }
        }
    }

    #[test]
    fn file_is_markdown_that_people_read_and_its_bytes_never_change() {
        let memory = SharedMemory {
            kind: MemoryKind::Decision,
            title: Some("Leases: where they live".to_owned()),
            statement: "Leases live in SQLite.".to_owned(),
            details: Some("Redis lost heartbeats.".to_owned()),
            tags: vec!["storage".to_owned(), " leases ".to_owned(), "storage".to_owned()],
            confidence: Confidence::Verified,
            valid_from: Some(1_769_093_591_042),
            valid_until: None,
            asserts: Some(StatedValue {
                subject: "store of leases".to_owned(),
                aspect: Aspect::Choice,
                value: "SQLite".to_owned(),
            }),
            fields: Fields::Decision {
                reason: Some("no server".to_owned()),
                alternatives: vec!["Redis".to_owned()],
                tradeoffs: vec![],
            },
            evidence: vec!["we take SQLite, then".to_owned()],
        };
        let text = write(&SharedFile::Memory(Box::new(memory)));
        let expected = "\
---
yore: shared
kind: decision
title: \"Leases: where they live\"
tags:
- leases
- storage
confidence: verified
valid_from: \"2026-01-22T14:53:11.000Z\"
asserts:
  subject: store of leases
  aspect: choice
  value: SQLite
fields:
  alternatives:
  - Redis
  reason: no server
evidence:
- we take SQLite, then
---
Leases live in SQLite.

## Details

Redis lost heartbeats.
";
        assert_eq!(text, expected, "another name for what is shared already");
        assert_eq!(name_of(&text), "9d181eb0f8695236e185cf2d21fa22ef");
        let retirement = Retirement { memory: name_of(&text), by: None, reason: Some("Leases are gone.\n".to_owned()) };
        let expected = format!("---\nyore: retired\nmemory: {}\n---\nLeases are gone.\n", name_of(&text));
        assert_eq!(write(&SharedFile::Retired(retirement)), expected);
    }

    #[test]
    fn memory_leaves_on_its_computer_what_only_that_knows() {
        let quote = |quote: &str| Evidence { turn: TurnId::from_bytes([3; 16]), quote: quote.to_owned() };
        let long = "a long quote ".repeat(40);
        let mut memory = Memory::new(MemoryId::new(1, [7; 10]), MemoryKind::Fact, " The port is 8080.\r\n", 5);
        memory.importance = 0.9;
        memory.is_pinned = true;
        memory.evidence = vec![quote("the port"), quote("the port"), quote(&long), quote("8080"), quote("a fourth")];
        let shared = of_memory(&memory);
        assert_eq!(shared.statement, "The port is 8080.");
        let lengths: Vec<usize> = shared.evidence.iter().map(|quote| quote.chars().count()).collect();
        assert!(matches!(lengths[..], [8, 200..=300, 4]), "{lengths:?}");
        let text = write(&SharedFile::Memory(Box::new(shared.clone())));
        assert!(!text.contains("0303") && !text.contains("0.9") && !text.contains("pinned"), "{text}");
        let new = shared.as_new();
        assert_eq!((new.memory.lane, new.memory.source.kind, new.memory.is_pinned), (Lane::Extracted, SourceKind::Import, false));
        assert!(new.evidence.is_empty() && new.memory.evidence.is_empty());
    }

    #[test]
    fn every_text_can_be_rewritten() {
        let fields = Fields::Solution {
            problem: "a".to_owned(),
            error: Some("a".to_owned()),
            cause: Some("a".to_owned()),
            tried: vec!["a".to_owned()],
            changes: vec![CodeChange {
                file: Some("a".to_owned()),
                language: Some("a".to_owned()),
                before: Some("a".to_owned()),
                after: "a".to_owned(),
                explanation: Some("a".to_owned()),
            }],
            files: vec!["a".to_owned()],
        };
        let all = |kind, fields| {
            let stated = StatedValue { subject: "a".to_owned(), aspect: Aspect::Value, value: "a".to_owned() };
            let mut memory = SharedMemory {
                kind,
                title: Some("a".to_owned()),
                statement: "a".to_owned(),
                details: Some("a".to_owned()),
                tags: vec!["a".to_owned()],
                asserts: Some(stated),
                fields,
                evidence: vec!["a".to_owned()],
                ..SharedMemory::default()
            };
            memory.texts_mut().into_iter().for_each(|text| "b".clone_into(text));
            // No text is left as it was.
            let debug = format!("{memory:?}");
            assert!(!debug.contains("\"a\"") && debug.contains("\"b\""), "{debug}");
        };
        let (one, list) = (|| Some("a".to_owned()), || vec!["a".to_owned()]);
        all(MemoryKind::Solution, fields);
        all(MemoryKind::Pattern, Fields::Pattern { use_case: one(), example: one(), related: list() });
        all(MemoryKind::Decision, Fields::Decision { reason: one(), alternatives: list(), tradeoffs: list() });
        let (examples, counter_examples) = (list(), list());
        all(MemoryKind::Standard, Fields::Standard { category: one(), examples, counter_examples, reason: one() });
        all(MemoryKind::Preference, Fields::Preference { aspect: one(), corrected: one() });
    }

    #[test]
    fn what_cannot_be_read_is_told_in_one_line() {
        let fault = |text: &str| read(text).expect_err(text);
        for (text, told) in [
            ("", "no front matter"),
            ("Leases live in SQLite.", "no front matter"),
            ("---\nkind: decision\n---\nx\n", "yore is \"\""),
            ("---\nyore: memory\n---\nx\n", "yore is \"memory\", expected shared or retired"),
            ("---\nyore: shared\nkind: rumour\n---\nx\n", "kind is \"rumour\", expected one of"),
            ("---\nyore: shared\nconfidence: sure\n---\nx\n", "confidence is \"sure\""),
            ("---\nyore: shared\nvalid_from: last week\n---\nx\n", "valid_from is \"last week\", expected a time"),
            ("---\nyore: shared\nkind: decision\nfields: {error: E1}\n---\nx\n", "fields: unknown field `error`"),
            ("---\nyore: shared\nvalid_from: 2026-01-02\nvalid_until: 2026-01-01\n---\nx\n", "valid until a time before"),
            ("---\nyore: shared\n---\n\n## Details\n\nx\n", "the statement is empty"),
            ("---\nyore: shared\n---\n\0\n", "NUL"),
            ("---\nyore: retired\n---\nx\n", "memory is \"\""),
            ("---\nyore: retired\nmemory: ../../x\n---\nx\n", "memory is \"../../x\""),
            (&format!("---\nyore: retired\nmemory: {}\nby: x\n---\n", name_of("")), "by is \"x\""),
            ("---\nyore: [shared\n---\nx\n", ""),
        ] {
            assert!(fault(text).contains(told), "{text:?}: {}", fault(text));
            assert!(!fault(text).contains('\n'), "{text:?}");
        }
        assert!(fault(&format!("---\nyore: shared\n---\n{}\n", "x".repeat(2_001))).contains("longer than 2000"));
        assert!(fault(&format!("{LEASES}{}", " ".repeat(MOST_BYTES))).contains("longer than 256 KiB"));
        assert!(fault(&format!("---\nyore: {}\n---\nx\n", "y".repeat(100_000))).len() < 1_000);
        for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", ""), ("\"", ""), ("&a [", "]")] {
            for key in ["fields", "later", "kind"] {
                let nested = format!("{key}: {}{}", open.repeat(40_000), close.repeat(40_000));
                let _ = read(&format!("---\nyore: shared\n{nested}\n---\nx\n"));
                let _ = read(&format!("---\nyore: shared\n{key}:\n  {}\n---\nx\n", open.repeat(40_000)));
            }
        }
    }

    #[test]
    fn what_a_later_version_adds_is_passed_over_and_what_a_hand_writes_is_put_in_form() {
        let text = "\u{feff}---\r\nyore: shared\r\nkind: decision\r\nlater: {a: [1, 2]}\r\ntags: [b, a, b, '']\r\n\
            valid_from: 2026-01-01\r\nevidence: [a, b, c, d]\r\n---\r\n\r\nLeases live\r\nin SQLite.\r\n\r\n";
        let memory = memory_of(text);
        assert_eq!(memory.statement, "Leases live\nin SQLite.");
        assert_eq!((memory.tags.len(), memory.evidence.len(), memory.valid_from), (2, 3, Some(1_767_225_600_000)));
        assert_eq!(memory.confidence, Confidence::default());
        assert_eq!(memory_of(LEASES).kind, MemoryKind::Decision);
        assert!(is_name(&name_of(LEASES)) && !is_name("") && !is_name(&name_of(LEASES).to_uppercase().replace('0', "A")));
    }
}
