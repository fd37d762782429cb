//! A finding about the health of the memory, as text and data.

use serde_json::{Map, Value};
use yore_engine::Severity;

use crate::render::text;
use crate::results::Finding;

/// A finding, and facts about it for programs.
#[derive(Debug)]
pub struct Told {
    /// Stable name of the check.
    pub code: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// The finding.
    pub text: String,
    /// The remedy.
    pub remedy: Option<String>,
    /// Facts about it, which differ between checks.
    pub facts: Map<String, Value>,
}

impl Told {
    /// Creates a finding.
    pub fn new(code: &'static str, severity: Severity, text: impl Into<String>) -> Self {
        Self { code, severity, text: text.into(), remedy: None, facts: Map::new() }
    }

    /// Adds a remedy.
    pub fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// Adds a fact.
    pub fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the finding as data.
    pub fn result(&self) -> Finding {
        Finding {
            code: self.code.to_owned(),
            severity: name(self.severity).to_owned(),
            text: self.text.clone(),
            remedy: self.remedy.clone(),
            facts: self.facts.clone(),
        }
    }

    /// Returns the finding as lines of a terminal.
    pub fn lines(&self) -> Vec<String> {
        let (mark, color) = match self.severity {
            Severity::Fine => ("✓", text::GREEN),
            Severity::Note => ("·", text::CYAN),
            Severity::Warning => ("!", text::YELLOW),
            Severity::Broken => ("✗", text::RED),
        };
        let mut lines = vec![format!("{color}{mark}{} {:<16} {}", text::RESET, self.code, text::harmless(&self.text))];
        lines.extend(self.remedy.as_ref().map(|remedy| format!("  {:<16} {remedy}", "")));
        lines
    }
}

fn name(severity: Severity) -> &'static str {
    match severity {
        Severity::Fine => "fine",
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Broken => "broken",
    }
}
