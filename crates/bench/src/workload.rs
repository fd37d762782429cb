//! Documents to store and questions about them, synthetic or from a given corpus.
//!
//! A [`Workload`] of n turns gives the same documents on every walk, one at a time, so that a million turns
//! need no more memory than a thousand.

use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Result};
use std::path::PathBuf;

use serde_json::Value;

use crate::vocabulary::{Project, Random, Vocabulary};

/// Number of projects in the synthetic sessions.
const PROJECTS: usize = 24;

/// The documents to store.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Number of turns.
    pub turns: usize,
    /// Files of the uniform format; empty means synthetic sessions.
    pub corpus: Vec<PathBuf>,
    /// Seed of every synthetic word.
    pub seed: u64,
}

/// A session of an agent, or a document of a corpus.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Id, unique in the workload; a UUID for synthetic sessions.
    pub id: String,
    /// Project or corpus.
    pub project: String,
    /// Turns, in order.
    pub turns: Vec<Turn>,
}

/// A tool's name and its inputs, each with its name.
pub type Call = (&'static str, Vec<(&'static str, String)>);

/// A turn of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// A prompt of the user.
    Human(String),
    /// A message of the model, perhaps with a tool call; one of both may be empty.
    Assistant {
        /// Text of the message.
        text: String,
        /// The tool call.
        call: Option<Call>,
    },
    /// The result of a tool call.
    ToolResult {
        /// Output of the tool.
        text: String,
        /// True if the tool failed.
        is_error: bool,
    },
    /// A turn of a given corpus, unchanged.
    Given(Value),
}

impl Turn {
    /// Returns the words that can be searched.
    pub fn words(&self) -> String {
        match self {
            Self::Human(text) | Self::ToolResult { text, .. } => text.clone(),
            Self::Assistant { text, call } => {
                let mut words = text.clone();
                if let Some((name, inputs)) = call {
                    words.push('\n');
                    words.push_str(name);
                    for (_, input) in inputs {
                        words.push('\n');
                        words.push_str(input);
                    }
                }
                words
            }
            Self::Given(turn) => {
                let text = turn["text"].as_str().unwrap_or("");
                turn["speaker"].as_str().map_or_else(|| text.to_owned(), |speaker| format!("{speaker} {text}"))
            }
        }
    }
}

impl Workload {
    /// Passes each document to `each`; the last one is cut so that the number of turns is exact.
    pub fn walk(&self, each: &mut dyn FnMut(Document) -> Result<()>) -> Result<()> {
        let mut left = self.turns;
        let mut give = |mut document: Document| {
            document.turns.truncate(left);
            left -= document.turns.len();
            if !document.turns.is_empty() {
                each(document)?;
            }
            Ok(left > 0)
        };
        if self.corpus.is_empty() { self.synthetic(&mut give) } else { self.given(&mut give) }
    }

    fn synthetic(&self, give: &mut dyn FnMut(Document) -> Result<bool>) -> Result<()> {
        let vocabulary = Vocabulary::new(self.seed);
        let projects: Vec<Project> = (0..PROJECTS).map(|number| vocabulary.project(self.seed, number)).collect();
        let mut random = Random::new(self.seed);
        loop {
            // A few projects have most of the work.
            let chosen = random.below(PROJECTS).min(random.below(PROJECTS));
            let mut session = Session::new(&vocabulary, &projects[chosen], &mut random);
            if !give(session.document())? {
                return Ok(());
            }
        }
    }

    fn given(&self, give: &mut dyn FnMut(Document) -> Result<bool>) -> Result<()> {
        for copy in 0usize.. {
            let mut documents = 0;
            for path in &self.corpus {
                for line in BufReader::new(File::open(path)?).lines() {
                    let mut value: Value = serde_json::from_str(&line?)?;
                    let id = format!("{}-{copy}", value["doc_id"].as_str().unwrap_or("document"));
                    let Value::Array(mut turns) = value["turns"].take() else { continue };
                    for turn in &mut turns {
                        // A copy differs from its original only in its ids.
                        turn["turn_id"] = format!("{}-{copy}", turn["turn_id"].as_str().unwrap_or("")).into();
                    }
                    documents += 1;
                    let turns = turns.into_iter().map(Turn::Given).collect();
                    if !give(Document { id, project: value["corpus_id"].as_str().unwrap_or("corpus").to_owned(), turns })? {
                        return Ok(());
                    }
                }
            }
            if documents == 0 {
                return Err(Error::new(ErrorKind::InvalidData, "the corpus holds no documents with turns"));
            }
        }
        Ok(())
    }
}

/// Writes one synthetic session.
struct Session<'s> {
    vocabulary: &'s Vocabulary,
    project: &'s Project,
    random: &'s mut Random,
    /// New identifiers of this session.
    own: Vec<String>,
}

impl<'s> Session<'s> {
    fn new(vocabulary: &'s Vocabulary, project: &'s Project, random: &'s mut Random) -> Self {
        let own = (0..8).map(|_| vocabulary.new_identifier(random)).collect();
        Self { vocabulary, project, random, own }
    }

    fn document(&mut self) -> Document {
        let length = self.random.between(10, 61);
        let mut turns = vec![Turn::Human(self.request())];
        while turns.len() < length {
            // As in real histories: half of the turns are results, a twentieth is human.
            match self.random.below(100) {
                0..=10 => {
                    turns.push(Turn::Assistant { text: self.explanation(), call: None });
                    turns.push(Turn::Human(self.request()));
                }
                _ => {
                    let text = if self.random.percent(48) { self.sentences(1, 4) } else { String::new() };
                    let (call, text_of_result, is_error) = self.tool();
                    turns.push(Turn::Assistant { text, call: Some(call) });
                    turns.push(Turn::ToolResult { text: text_of_result, is_error });
                }
            }
        }
        turns.truncate(length);
        Document { id: uuid(self.random), project: self.project.name.clone(), turns }
    }

    fn request(&mut self) -> String {
        let mut text = self.sentences(1, 4);
        if self.random.percent(15) {
            let error = self.error();
            text.push_str(&format!("\n\nI get this:\n{error}"));
        }
        text
    }

    fn explanation(&mut self) -> String {
        let mut text = self.sentences(2, 12);
        if self.random.percent(30) {
            let code = self.code(3, 12);
            text.push_str(&format!("\n\n```rust\n{code}```\n\n{}", self.sentences(1, 3)));
        }
        text
    }

    fn sentences(&mut self, least: usize, end: usize) -> String {
        let mut text = String::new();
        for _ in 0..self.random.between(least, end) {
            if !text.is_empty() {
                text.push(' ');
            }
            let start = text.len();
            for word in 0..self.random.between(5, 22) {
                if word > 0 {
                    text.push(' ');
                }
                match self.random.below(40) {
                    0 | 1 => text.push_str(&format!("`{}`", self.identifier())),
                    2 => text.push_str(self.vocabulary.file(self.project, self.random)),
                    3 => text.push_str(&self.random.below(5000).to_string()),
                    _ => text.push_str(self.vocabulary.word(self.random)),
                }
            }
            text[start..=start].make_ascii_uppercase();
            text.push('.');
        }
        text
    }

    fn identifier(&mut self) -> String {
        if self.random.percent(30) {
            self.own[self.random.below(self.own.len())].clone()
        } else {
            self.vocabulary.identifier(self.project, self.random).to_owned()
        }
    }

    fn code(&mut self, least: usize, end: usize) -> String {
        let mut code = String::new();
        for _ in 0..self.random.between(least, end) {
            let (to, from) = (self.identifier(), self.identifier());
            let word = self.vocabulary.word(self.random).to_owned();
            code.push_str(&match self.random.below(5) {
                0 => format!("fn {to}({word}: &str) -> Result<()> {{\n"),
                1 => format!("    let {word} = {from}(&{to})?;\n"),
                2 => format!("    if {word}.{from}() {{ return Err({to}); }}\n"),
                3 => format!("    // {}\n", self.sentences(1, 2)),
                _ => format!("    {to}.push({from}({}));\n", self.random.below(300)),
            });
        }
        code
    }

    fn error(&mut self) -> String {
        let (name, other) = (self.identifier(), self.identifier());
        let file = self.vocabulary.file(self.project, self.random).to_owned();
        let (line, code) = (self.random.between(1, 900), self.random.between(1, 800));
        match self.random.below(6) {
            0 => format!("error[E{code:04}]: cannot find value `{name}` in this scope\n  --> {file}:{line}:9"),
            1 => format!("TypeError: Cannot read properties of undefined (reading '{name}')\n    at {other} ({file}:{line}:17)"),
            2 => format!("thread '{name}' panicked at {file}:{line}:5:\ncalled `Option::unwrap()` on a `None` value"),
            3 => format!("FAILED {file}::{name} - AssertionError: expected {code} to equal {line}"),
            4 => format!("fatal: could not open {file}: No such file or directory (os error 2)"),
            _ => format!("{file}:{line}:{code}: undefined: {other} (type {name} has no field or method {other})"),
        }
    }

    /// Makes a call, its result, and whether it failed.
    fn tool(&mut self) -> (Call, String, bool) {
        let file = self.vocabulary.file(self.project, self.random).to_owned();
        match self.random.below(10) {
            0..=3 => {
                let mut text = String::new();
                let first = self.random.between(1, 400);
                let (least, end) = if self.random.percent(30) { (40, 120) } else { (4, 25) };
                for (at, line) in self.code(least, end).lines().enumerate() {
                    text.push_str(&format!("{:>6}\u{2192}{line}\n", first + at));
                }
                (("Read", vec![("file_path", file)]), text, false)
            }
            4 | 5 => {
                let (old, new) = (self.code(1, 6), self.code(1, 9));
                let text = format!("The file {file} has been updated. Here is a snippet of the edited file:\n{new}");
                (("Edit", vec![("file_path", file), ("old_string", old), ("new_string", new)]), text, false)
            }
            6 => {
                let pattern = self.identifier();
                let mut text = String::new();
                for _ in 0..self.random.between(1, 25) {
                    let found = self.vocabulary.file(self.project, self.random);
                    text.push_str(&format!("{found}:{}:    ", self.random.between(1, 900)));
                    text.push_str(&self.code(1, 2));
                }
                (("Grep", vec![("pattern", pattern), ("output_mode", "content".to_owned())]), text, false)
            }
            _ => {
                let command = format!("cargo test {} 2>&1 | tail -{}", self.identifier(), self.random.between(5, 60));
                let mut text = String::new();
                for _ in 0..self.random.between(1, 30) {
                    let outcome = if self.random.percent(95) { "ok" } else { "FAILED" };
                    let (module, name) = (self.identifier(), self.identifier());
                    text.push_str(&format!("test {module}::{name} ... {outcome}\n"));
                }
                let is_error = self.random.percent(25);
                if is_error {
                    text.push_str(&self.error());
                }
                let description = self.sentences(1, 2);
                (("Bash", vec![("command", command), ("description", description)]), text, is_error)
            }
        }
    }
}

/// Makes a random UUID.
pub fn uuid(random: &mut Random) -> String {
    let (high, low) = (random.number(), random.number());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | (low >> 48) & 0x3fff,
        low & 0xffff_ffff_ffff
    )
}

/// Selects turns evenly from a workload and makes a question from each.
#[derive(Debug)]
pub struct Asker {
    random: Random,
    /// Turns between two questions.
    every: usize,
    seen: usize,
    wanted: usize,
    questions: Vec<String>,
}

impl Asker {
    /// Selects about `count` questions from `turns` turns.
    pub fn new(seed: u64, turns: usize, count: usize) -> Self {
        Self { random: Random::new(!seed), every: (turns / count.max(1)).max(1), seen: 0, wanted: count, questions: Vec::new() }
    }

    /// Examines the next document.
    pub fn see(&mut self, document: &Document) {
        for turn in &document.turns {
            self.seen += 1;
            if self.questions.len() < self.wanted
                && self.seen >= self.questions.len() * self.every + self.every / 2
                && let Some(question) = draw(&turn.words(), self.questions.len(), &mut self.random)
            {
                self.questions.push(question);
            }
        }
    }

    /// Returns the questions.
    pub fn finish(self) -> Vec<String> {
        self.questions
    }
}

/// Makes a question of 3 to 12 words from a text, of one of five kinds. Double quotes are left out: they have
/// a meaning in yore and none in the baseline.
fn draw(text: &str, kind: usize, random: &mut Random) -> Option<String> {
    let is_name = |word: &str| word.len() > 4 && word.bytes().any(|byte| matches!(byte, b'_' | b'/'));
    let plain = text.replace(['"', '`', '“', '”'], " ");
    let words: Vec<&str> = plain.split_whitespace().filter(|word| word.len() < 80).collect();
    if words.len() < 8 {
        return None;
    }
    let picked = |random: &mut Random, count: usize| -> String {
        let first = random.below(words.len());
        let step = random.between(1, 4);
        (0..count).map(|at| words[(first + at * step) % words.len()]).collect::<Vec<_>>().join(" ")
    };
    let question = match kind % 5 {
        // An error message, unchanged.
        0 => {
            let error = plain.lines().map(str::trim).find(|line| {
                ["error", "Error", "panicked", "FAILED ", "fatal:", "undefined:"].iter().any(|sign| line.contains(sign))
                    && line.split_whitespace().count() >= 3
            })?;
            error.split_whitespace().take(12).collect::<Vec<_>>().join(" ")
        }
        // About a name.
        1 => {
            let names: Vec<&&str> = words.iter().filter(|word| is_name(word)).collect();
            let name = names.get(random.below(names.len()))?;
            format!("where did we change {name} {}", picked(random, 2))
        }
        // A passage of the text.
        2 => {
            let count = random.between(4, 13).min(words.len());
            let first = random.below(words.len() - count + 1);
            words[first..first + count].join(" ")
        }
        // A few words.
        3 => {
            let count = random.between(3, 7);
            picked(random, count)
        }
        // Some words of a question around some of the text.
        _ => {
            let asked = random.pick(&["why did we", "what was decided about", "how does", "when did the"]);
            let count = random.between(3, 6);
            format!("{asked} {}", picked(random, count))
        }
    };
    Some(question)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(workload: &Workload) -> Vec<Document> {
        let mut documents = Vec::new();
        workload
            .walk(&mut |document| {
                documents.push(document);
                Ok(())
            })
            .unwrap();
        documents
    }

    fn synthetic(turns: usize) -> Workload {
        Workload { turns, corpus: Vec::new(), seed: 1 }
    }

    #[test]
    fn synthetic_workload_has_exactly_the_turns_asked_for_and_is_the_same_each_time() {
        let documents = walk(&synthetic(777));
        assert_eq!(documents.iter().map(|document| document.turns.len()).sum::<usize>(), 777);
        assert!(documents.iter().rev().skip(1).all(|document| (10..=60).contains(&document.turns.len())));
        assert_eq!(documents, walk(&synthetic(777)));
    }

    #[test]
    fn given_corpus_is_repeated_under_new_ids_until_there_are_enough_turns() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("corpus.jsonl");
        let line = r#"{"corpus_id":"c","doc_id":"d","turns":[{"turn_id":"t1","text":"one","speaker":"Ann"},{"turn_id":"t2","text":"two"}]}"#;
        std::fs::write(&path, format!("{line}\n")).unwrap();
        let documents = walk(&Workload { turns: 5, corpus: vec![path], seed: 1 });
        let ids: Vec<&str> = documents.iter().map(|document| document.id.as_str()).collect();
        assert_eq!(ids, ["d-0", "d-1", "d-2"]);
        let words: Vec<String> = documents.iter().flat_map(|document| document.turns.iter().map(Turn::words)).collect();
        assert_eq!(words, ["Ann one", "two", "Ann one", "two", "Ann one"]);
    }

    #[test]
    fn corpus_without_turns_is_an_error_and_no_endless_loop() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("corpus.jsonl");
        std::fs::write(&path, "{\"doc_id\":\"d\"}\n").unwrap();
        assert!(Workload { turns: 5, corpus: vec![path], seed: 1 }.walk(&mut |_| Ok(())).is_err());
    }

    #[test]
    fn questions_have_three_to_twelve_words_and_no_quotes() {
        let mut asker = Asker::new(1, 3_000, 200);
        walk(&synthetic(3_000)).iter().for_each(|document| asker.see(document));
        let questions = asker.finish();
        assert!(questions.len() > 180, "{}", questions.len());
        for question in &questions {
            assert!((3..=12).contains(&question.split_whitespace().count()), "{question}");
            assert!(!question.contains('"'), "{question}");
        }
        assert!(questions.iter().filter(|question| question.contains('_')).count() > 40);
    }
}
