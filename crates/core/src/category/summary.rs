//! Makes the summary of a category, in Markdown: statements of its memories, or what a model wrote from them. Each line ends with its sources.

use serde::{Deserialize, Serialize};

use super::lines::{PLAN, SOLVED, ranked, since, words_of};
use super::record::{Category, Item, Member, Section};
use super::written::{Written, WrittenLine};
use crate::id::MemoryId;
use crate::memory::{Fields, Status};
use crate::text::{cut, cut_sentence, plain};
use crate::time::{UtcMillis, format_day};

/// Most characters of a summary in Markdown, about.
const MOST_CHARS: usize = 1_500;
/// Most characters of a statement, of a reason, and of a statement that it replaced.
const STATEMENT_CHARS: usize = 190;
const REASON_CHARS: usize = 110;
const REPLACED_CHARS: usize = 80;
/// Characters of a reason by which it is found in the statement.
const SAID_CHARS: usize = 40;
/// Number of lines that leave no room for what happened.
const MANY: usize = 5;

/// A line of a summary.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Line {
    /// The part in which it is told.
    pub section: Section,
    /// Its words, without the id and the time.
    pub text: String,
    /// The statement whose place it took, and until when that held.
    pub before: Option<String>,
    /// The memory that says it.
    pub source: MemoryId,
    /// Further memories that it rests on, if a model wrote it.
    #[serde(default)]
    pub also: Vec<MemoryId>,
    /// Since when it is so.
    pub at: Option<UtcMillis>,
    /// True if another memory contradicts it, and nobody settled that.
    pub is_contested: bool,
}

/// The summary of a category.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Summary {
    /// Name of the category as it is shown.
    pub title: String,
    /// Describes the category, and says how many memories it has.
    pub about: String,
    /// Its lines, by section.
    pub lines: Vec<Line>,
    /// The model that wrote lines of it.
    #[serde(default)]
    pub by: Option<String>,
}

impl Category {
    /// Returns its summary. `items`: those that the category was computed from; `written`: what a model wrote about it, of which the lines
    /// stand whose sources are as they were. Statements that the model does not know are told by their own words.
    pub fn summary(&self, items: &[Item<'_>], written: Option<&Written>) -> Summary {
        let mut summary = Summary { title: self.title.clone(), about: self.description(), lines: Vec::new(), by: None };
        let standing = written.map(|written| (written, written.standing(self, items))).filter(|(_, lines)| !lines.is_empty());
        let mut members = self.members.clone();
        if let Some((written, lines)) = standing {
            summary.by = Some(written.by.clone());
            let new = written.unknown(self, items);
            let is_told = |member: &Member| lines.iter().any(|(line, _)| line.sources.contains(&member.id));
            let by_itself = |member: &Member| {
                let memory = items[member.item].memory;
                // A model may leave something out, but nothing that a person pinned.
                let is_kept = memory.status == Status::Contested || memory.is_pinned && !is_told(member);
                is_kept || written.unsupported.contains(&member.id) || new.contains(member)
            };
            members.retain(by_itself);
            for line in lines.iter().filter_map(|(line, sources)| line_of_model(line, sources)) {
                summary.lines.push(line);
                // The most useful ones come first.
                if summary.markdown().chars().count() > MOST_CHARS {
                    summary.lines.pop();
                    break;
                }
            }
        }
        let ranked = ranked(&Category { members, ..Category::default() }, items);
        let mut left = MOST_CHARS.saturating_sub(summary.markdown().chars().count());
        // A line of each section in turn, so that none is left out for a long one.
        for round in 0..Section::ALL.iter().map(|section| section.most()).max().unwrap_or(0) {
            for (section, found) in &ranked {
                let Some(item) = found.get(round).filter(|_| round < section.most()) else { continue };
                let line = line_of(&items[*item], *section);
                let heading = if round == 0 { section.heading().len() + 5 } else { 0 };
                let cost = line.markdown().chars().count() + 1 + heading;
                // Events are told only where room is left.
                let is_spare = *section == Section::Events && (round > 0 || summary.lines.len() >= MANY);
                if cost <= left && !is_spare {
                    left -= cost;
                    summary.lines.push(line);
                }
            }
        }
        summary.lines.sort_by_key(|line| Section::ALL.iter().position(|section| *section == line.section));
        summary
    }

    /// Returns what it is, how many memories it has, and when the last one was recorded.
    fn description(&self) -> String {
        let count = self.members.len();
        let counted = if count == 1 { "1 memory".to_owned() } else { format!("{count} memories") };
        let last = self.last_added().map(|at| format!(", the last of {}", format_day(at))).unwrap_or_default();
        let about = if self.about.is_empty() { String::new() } else { format!("{} ", self.about) };
        format!("{about}{counted}{last}.")
    }
}

impl Summary {
    /// Returns it as Markdown.
    pub fn markdown(&self) -> String {
        let mut told = format!("# {}\n\n{}\n", self.title, self.about);
        let mut section = None;
        for line in &self.lines {
            if section != Some(line.section) {
                told.push_str(&format!("\n## {}\n", line.section.heading()));
                section = Some(line.section);
            }
            told.push_str(&line.markdown());
            told.push('\n');
        }
        told
    }
}

impl Line {
    /// Returns it as an item of a list.
    fn markdown(&self) -> String {
        let day = self.at.filter(|_| self.section == Section::Decisions).map(format_day);
        let beside: Vec<String> = day.into_iter().chain(self.before.clone()).collect();
        let text = if beside.is_empty() {
            self.text.clone()
        } else {
            format!("{} ({})", self.text.trim_end_matches('.'), beside.join("; "))
        };
        let sources: Vec<String> = std::iter::once(&self.source).chain(&self.also).map(MemoryId::short).collect();
        format!("- {text} [{}]", sources.join(", "))
    }
}

fn line_of(item: &Item<'_>, section: Section) -> Line {
    let memory = item.memory;
    let is_contested = memory.status == Status::Contested;
    let statement = words_of(&memory.statement);
    let is_plan = plain(&memory.statement).starts_with(PLAN);
    let mut text = match (statement.split_once(SOLVED), statement.split_once(". ")) {
        // The heading of a plan is the decision; what follows is why it was made, and no longer so when the plan is carried out.
        (_, Some((heading, why))) if is_plan => {
            format!("{} Reason: {}", ended(&cut(heading, STATEMENT_CHARS)), cut_sentence(why, REASON_CHARS))
        }
        // Both parts of a solution are told.
        (Some((problem, fix)), _) => {
            let half = STATEMENT_CHARS * 3 / 5;
            format!("{}{SOLVED}{}", ended(&cut_sentence(problem, half)), cut_sentence(fix, half))
        }
        _ => cut_sentence(&statement, STATEMENT_CHARS),
    };
    let reason = match &memory.fields {
        Fields::Decision { reason, .. } | Fields::Standard { reason, .. } => reason.as_deref(),
        Fields::Solution { cause, .. } => cause.as_deref(),
        _ => None,
    };
    // Statements of plans and commits have their reason in them.
    let is_said = |reason: &String| statement.contains(reason.chars().take(SAID_CHARS).collect::<String>().as_str());
    if let Some(reason) = reason.map(plain).filter(|reason| !reason.is_empty() && !is_said(reason)) {
        text = format!("{} Reason: {}", ended(&text), cut_sentence(&reason, REASON_CHARS));
    }
    if is_contested {
        let others =
            item.against.iter().map(|(id, other)| format!("“{}” [{}]", cut(&words_of(other), REPLACED_CHARS), id.short()));
        let others: Vec<String> = others.collect();
        let against = if others.is_empty() { String::new() } else { format!("; against it: {}", others.join(", ")) };
        text = format!("Contested: {}{against}", text.trim_end_matches('.'));
    }
    Line { section, text, before: before(item), source: memory.id, also: Vec::new(), at: since(item), is_contested }
}

/// Returns a line that a model wrote; it is so since the latest of its sources.
fn line_of_model(line: &WrittenLine, sources: &[&Item<'_>]) -> Option<Line> {
    let latest = sources.iter().copied().max_by_key(|item| since(item))?;
    let (source, also) = line.sources.split_first()?;
    Some(Line {
        section: line.section,
        text: line.text.clone(),
        before: before(latest),
        source: *source,
        also: also.to_vec(),
        at: since(latest),
        is_contested: false,
    })
}

/// Returns the statement whose place a memory took, in words.
fn before(item: &Item<'_>) -> Option<String> {
    let (before, until) = item.replaced?;
    let until = until.map(|at| format!(", until {}", format_day(at))).unwrap_or_default();
    Some(format!("instead of “{}”{until}", cut(&words_of(before), REPLACED_CHARS)))
}

/// Returns a text that ends like a sentence.
fn ended(text: &str) -> String {
    if text.ends_with(['.', '!', '?', '…', ':']) { text.to_owned() } else { format!("{text}.") }
}
