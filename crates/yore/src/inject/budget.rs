//! Counts tokens of injected text, and cuts it to its budget.
//!
//! - [`tokens`]: the cost of a text
//! - [`Page`]: lines between marks, added while there is room

use yore_core::id::MemoryId;
use yore_core::query::ItemId;

use crate::fence::MARK;

/// Longest text, in characters; agents cut or refuse a longer one.
const MOST_CHARS: usize = 9_000;

/// A text to inject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Injection {
    /// The text; empty: nothing is injected.
    pub text: String,
    /// The turns and memories that the text quotes.
    pub items: Vec<ItemId>,
}

impl Injection {
    /// Returns the memories that the text quotes.
    pub fn memories(&self) -> Vec<MemoryId> {
        self.items.iter().filter_map(|item| item.memory()).collect()
    }
}

/// Returns the estimated number of tokens of a text: four ASCII characters, or one other, make a token.
pub fn tokens(text: &str) -> usize {
    yore_core::pack::cost(text).div_ceil(4)
}

/// Lines between marks, added while there is room.
pub struct Page {
    text: String,
    items: Vec<ItemId>,
    left: usize,
    is_empty: bool,
    /// Line at the end of the page.
    last: &'static str,
    /// Line before it, for which room is kept.
    closing: Option<String>,
}

impl Page {
    /// Creates an empty page with a line at its head, for a budget of tokens.
    pub fn new(head: &str, budget: usize) -> Self {
        let mut page = Self {
            text: format!("<{MARK} source=\"yore\">\n{head}\n"),
            items: Vec::new(),
            left: 0,
            is_empty: true,
            closing: None,
            last: "(yore: `show` opens an [id] or a session, `recall` searches.)\n",
        };
        let frame = tokens(&page.text) + tokens(page.last) + tokens(&format!("</{MARK}>"));
        page.left = budget.min(MOST_CHARS / 4).saturating_sub(frame);
        page
    }

    /// Keeps room for a line that closes the page; it is left out if there is none.
    pub fn close_with(&mut self, line: String) {
        if let Some(left) = self.left.checked_sub(tokens(&line) + 1) {
            self.left = left;
            self.is_empty = false;
            self.closing = Some(line);
        }
    }

    /// Adds a heading and those lines below it that fit; nothing if none fits. Returns the number of lines
    /// added.
    pub fn section(&mut self, heading: &str, lines: impl Iterator<Item = (String, Vec<ItemId>)>) -> usize {
        let mut shown = 0;
        let mut heading = if heading.is_empty() { String::new() } else { format!("{heading}\n") };
        for (line, items) in lines {
            let cost = tokens(&heading) + tokens(&line) + 1;
            if cost > self.left {
                // A shorter line may still fit.
                continue;
            }
            self.left -= cost;
            self.text.push_str(&std::mem::take(&mut heading));
            self.text.push_str(&line);
            self.text.push('\n');
            for item in items {
                if !self.items.contains(&item) {
                    self.items.push(item);
                }
            }
            self.is_empty = false;
            shown += 1;
        }
        shown
    }

    /// Adds a section of at most so many tokens.
    pub fn section_within(&mut self, heading: &str, lines: impl Iterator<Item = (String, Vec<ItemId>)>, most: usize) -> usize {
        let kept = self.left.saturating_sub(most);
        self.left -= kept;
        let shown = self.section(heading, lines);
        self.left += kept;
        shown
    }

    /// Adds a section; if not all of it fits, the page says so.
    pub fn section_or_told(&mut self, heading: &str, lines: Vec<(String, Vec<ItemId>)>) {
        let all = lines.len();
        let more = |left_out: usize| {
            let what = if left_out == 1 { "note" } else { "notes" };
            format!("- {left_out} more standing {what}: `notes`")
        };
        let cost: usize = lines.iter().map(|(line, _)| tokens(line) + 1).sum();
        if tokens(heading) + 1 + cost <= self.left {
            self.section(heading, lines.into_iter());
            return;
        }
        // Reserves room for that remark.
        let told = tokens(&more(all)) + 1;
        let Some(left) = self.left.checked_sub(told) else { return };
        self.left = left;
        let shown = self.section(heading, lines.into_iter());
        self.left += told;
        let heading = if shown == 0 { heading } else { "" };
        self.section(heading, std::iter::once((more(all - shown), Vec::new())));
    }

    /// Returns the text of the page; nothing if no line fitted.
    pub fn end(mut self) -> Injection {
        if self.is_empty {
            return Injection::default();
        }
        if let Some(line) = &self.closing {
            self.text.push_str(line);
            self.text.push('\n');
        }
        self.text.push_str(self.last);
        self.text.push_str(&format!("</{MARK}>"));
        Injection { text: self.text, items: self.items }
    }
}
