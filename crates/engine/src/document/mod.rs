//! Texts cut into sections that can be found and quoted by themselves: bytes and a file name in,
//! a [`Document`] out. Pure functions; whoever calls them reads the file.
//!
//! - `format`: which text is what, and which is none
//! - [`markdown`], [`code`], [`text`](mod@text): one way of cutting each
//! - `html`: the main text of a page
//! - [`pdf`]: text from PDFs, by a process that may die of them
//! - `blocks`: long texts into pieces, lines counted
//! - `keys`: names of sections
//!
//! A section's key says where it stands in the document's own terms (headings, symbols), so that
//! an edit elsewhere leaves it alone: ids derive from it.

mod blocks;
pub mod code;
pub mod format;
pub(crate) mod html;
mod keys;
pub mod markdown;
pub mod pdf;
pub mod text;

pub use format::{Format, Unreadable, read};

/// A text in sections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// What it calls itself.
    pub title: Option<String>,
    /// `markdown`, `rust`, `text` and so on.
    pub language: Option<String>,
    /// Its sections, in order; empty when it says nothing.
    pub sections: Vec<Section>,
}

/// A part of a text that stands for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Its name in the document: different for each section, the same after edits elsewhere.
    pub key: String,
    /// Headings or symbols that lead to it, outermost first.
    pub heading: Vec<String>,
    /// Its words.
    pub text: String,
    /// 1-based first line.
    pub line: u64,
    /// Last line.
    pub end_line: u64,
    /// The programming language in it, where there is one.
    pub language: Option<String>,
}

#[cfg(test)]
mod tests;
