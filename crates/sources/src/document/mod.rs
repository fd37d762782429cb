//! Cuts documents into sections that can be found and quoted on their own: bytes and a file name give a [`Document`].
//!
//! - `format`: detects the format of a file, and rejects files that are not text
//! - [`markdown`], [`code`], [`text`](mod@text): cut one format each
//! - [`language`]: the languages that [`code`] knows
//! - `html`: the main text of a page
//! - [`pdf`]: text from PDFs, read by a separate process because the extractor may crash
//! - `blocks`: cuts long texts into pieces, and counts lines
//! - `keys`: names of sections
//! - [`chat`]: recognises records of conversations, which are no documents
//! - [`statements`](mod@statements): single statements of Markdown that people write for agents
//!
//! The key of a section is its location in the document's own terms (headings, symbols), so that an edit
//! elsewhere does not change it: ids derive from the key.

mod blocks;
pub mod chat;
#[cfg(feature = "grammars")]
pub mod code;
pub mod format;
pub mod html;
mod keys;
pub mod language;
pub mod markdown;
pub mod pdf;
pub mod statements;
pub mod text;

pub use format::{Format, Unreadable, read};

/// A text cut into sections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// The title in the text itself.
    pub title: Option<String>,
    /// `markdown`, `rust`, `text` and so on.
    pub language: Option<String>,
    /// Its sections, in order; empty if it has no text.
    pub sections: Vec<Section>,
}

/// A part of a text that is found and quoted on its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Its name in the document: unique, and unchanged by edits elsewhere.
    pub key: String,
    /// Headings or symbols above it, outermost first.
    pub heading: Vec<String>,
    /// Its text.
    pub text: String,
    /// 1-based first line.
    pub line: u64,
    /// 1-based last line.
    pub end_line: u64,
    /// The programming language of the section, if there is one.
    pub language: Option<String>,
}

#[cfg(test)]
mod tests;
