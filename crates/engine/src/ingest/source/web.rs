//! Web pages: given, not found. Whoever fetches one puts its sections under its address; asking
//! again puts the new ones in their place. What else is known of a page (`crate::pages`) is kept
//! beside its checkpoint.

use std::path::Path;

use serde_json::Value;

use super::document::{DocumentReader, owner};
use super::{EpisodeReader, Known, LineOwner, Nature, ReaderOptions, Source, Unit};

const KIND: &str = "web";

/// See the module.
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

    /// Nothing: no page is fetched unasked.
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
