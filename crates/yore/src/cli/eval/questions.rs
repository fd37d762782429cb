//! Reads questions with gold evidence in the bench's uniform format.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::Value;
use yore_core::time::{RecordedTime, UtcMillis};

use crate::error::{CliError, CliResult};

/// One question.
#[derive(Clone, Debug)]
pub struct GoldQuestion {
    pub id: String,
    pub corpus: String,
    pub text: String,
    /// Other ways in which the answer may have been said.
    pub wordings: Vec<String>,
    pub as_of: Option<UtcMillis>,
    pub category: String,
    pub gold: Vec<String>,
    /// Groups of evidence; any member of a group is enough.
    pub groups: Vec<Vec<String>>,
    pub stale: HashSet<String>,
}

/// Reads questions, with gold by turn or by document.
pub fn read(path: &Path, by_document: bool, document_of: &dyn Fn(&str, &str) -> Option<String>) -> CliResult<Vec<GoldQuestion>> {
    let file = std::fs::File::open(path).map_err(|error| CliError::io(path, &error))?;
    let mut questions = Vec::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|error| CliError::io(path, &error))?;
        if line.trim().is_empty() {
            continue;
        }
        let value: Value = serde_json::from_str(&line)
            .map_err(|error| CliError::usage(format!("{}:{}: {error}", path.display(), number + 1), None))?;
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().filter_map(|id| id.as_str().map(str::to_owned)).collect()
        };
        let corpus = text("corpus_id");
        let mut groups: Vec<Vec<String>> = value["gold_groups"].as_array().into_iter().flatten().map(list).collect();
        if by_document {
            groups =
                groups.into_iter().map(|group| group.iter().filter_map(|turn| document_of(&corpus, turn)).collect()).collect();
        }
        questions.push(GoldQuestion {
            id: text("query_id"),
            text: text("query"),
            wordings: list(&value["wordings"]),
            as_of: value["query_time"].as_str().and_then(|words| RecordedTime::parse(words).utc),
            category: text("category"),
            gold: list(&value[if by_document { "gold_docs" } else { "gold_turns" }]),
            groups,
            stale: if by_document { HashSet::new() } else { list(&value["stale_turns"]).into_iter().collect() },
            corpus,
        });
    }
    Ok(questions)
}

/// Returns the document of each turn of a corpus.
pub fn read_documents(path: &Path) -> CliResult<std::collections::HashMap<(String, String), String>> {
    let file = std::fs::File::open(path).map_err(|error| CliError::io(path, &error))?;
    let mut documents = std::collections::HashMap::new();
    for line in BufReader::new(file).lines() {
        let line = line.map_err(|error| CliError::io(path, &error))?;
        let Ok(value) = serde_json::from_str::<Value>(&line) else { continue };
        let (corpus, document) = (value["corpus_id"].as_str().unwrap_or_default(), value["doc_id"].as_str().unwrap_or_default());
        for turn in value["turns"].as_array().into_iter().flatten() {
            documents.insert((corpus.to_owned(), turn["turn_id"].as_str().unwrap_or_default().to_owned()), document.to_owned());
        }
    }
    Ok(documents)
}
