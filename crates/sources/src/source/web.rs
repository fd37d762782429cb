//! Web pages as a source, given by the caller. The caller that fetches a page stores its sections under its URL; fetching it
//! again replaces them. Other facts about a page (`crate::pages`) are kept beside its checkpoint.

use std::path::Path;

use serde_json::Value;

use super::document::{DocumentReader, owner};
use super::{EpisodeReader, Known, LineOwner, Nature, ReaderOptions, Source, Unit};

const KIND: &str = "web";

/// The source for web pages; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Web;

impl Source for Web {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Web pages"
    }

    fn nature(&self) -> Nature {
        Nature::Document
    }

    /// Returns no units: pages are fetched only on request.
    fn discover(&self, _root: &Path, _known: &dyn Known) -> Vec<Unit> {
        Vec::new()
    }

    fn reader(&self, _unit: &Path, _state: &str, _options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(DocumentReader::new(KIND))
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        owner(value)
    }
}
