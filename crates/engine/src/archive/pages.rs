//! Fetches web pages on request and stores their sections.
//!
//! - [`Engine::fetch_page`]: fetches, cuts and stores a page
//! - [`FetchOptions`], [`PageReport`]: settings and result
//! - `PageState`: data kept of a page beside its sections, which makes a repeated fetch cheap
//!
//! Pages are fetched only on request, and without the resources that they link to.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use yore_core::time::{RecordedTime, UtcMillis};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::ingest::{GivenDocument, IngestReport, IngestRequest};
use crate::transport::{Conditional, Content, Exchange, FetchError, FetchSettings, Fetched, Fetcher, Page, shown_address};
use yore_sources::document::format::CUTTER_VERSION;
use yore_sources::document::{Document, html, markdown, pdf, text};
use yore_sources::source::document::{DocumentFacts, document_records};
use yore_sources::source::{ReaderOptions, Stamp};

/// The source that pages belong to.
const SOURCE: &str = "web";

/// Settings for fetching and storing a page.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// Limits and permissions of the request.
    pub settings: FetchSettings,
    /// Settings for storing it; the roots are ignored.
    pub ingest: IngestRequest,
    /// The directory whose project the page belongs to; `None` for no project.
    pub directory: Option<String>,
    /// Fetch it even if the server would report it as unchanged.
    pub is_forced: bool,
    /// Carries the requests; `None` for the network.
    pub exchange: Option<Arc<dyn Exchange>>,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            settings: FetchSettings::default(),
            ingest: IngestRequest::new(Vec::new()),
            directory: None,
            is_forced: false,
            exchange: None,
        }
    }
}

/// Effect of a fetch on the stored page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageChange {
    /// The page was not stored before.
    New,
    /// New sections replaced the old ones.
    Changed,
    /// The content is the same as before.
    Unchanged,
}

/// Result of fetching a page.
#[derive(Clone, Debug)]
pub struct PageReport {
    /// The address under which the page is stored.
    pub address: String,
    /// Its location: the address that the page gives itself, or that redirections led to.
    pub location: String,
    /// Its title.
    pub title: Option<String>,
    /// Effect on the stored page.
    pub change: PageChange,
    /// Number of its sections; 0 if the server reported no change.
    pub sections: usize,
    /// Result of storing it.
    pub ingest: IngestReport,
}

/// Data stored of a page besides its sections.
#[derive(Debug, Default, Deserialize, Serialize)]
struct PageState {
    /// The address that the page came from after all redirections.
    #[serde(default)]
    address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_modified: Option<String>,
    #[serde(default)]
    title: Option<String>,
    /// The location of the page, as in [`PageReport`].
    #[serde(default)]
    location: String,
    #[serde(default)]
    fetched_ms: UtcMillis,
    /// Version of the code that cut the page.
    #[serde(default)]
    cutter: i64,
}

impl Engine {
    /// Fetches a page and replaces the sections stored under its address. [`Engine::sync_index`] adds them to
    /// the index.
    ///
    /// # Errors
    /// [`EngineError::Fetch`] for everything between the address and the text; those of
    /// [`Engine::put_document`].
    pub fn fetch_page(&self, address: &str, options: &FetchOptions) -> Result<PageReport, EngineError> {
        let name = shown_address(address)?;
        let known = self.known_unit(SOURCE, &name)?;
        // Another version wrote a state that cannot be parsed: the page is fetched as if it were new.
        let state: Option<PageState> = known.as_ref().and_then(|(_, state)| serde_json::from_str(state).ok());
        let condition = state
            .as_ref()
            .filter(|state| !options.is_forced && state.cutter == CUTTER_VERSION)
            .map(|state| Conditional {
                address: state.address.clone(),
                etag: state.etag.clone(),
                last_modified: state.last_modified.clone(),
            })
            .unwrap_or_default();
        let fetcher = match &options.exchange {
            Some(exchange) => Fetcher::over(options.settings.clone(), Arc::clone(exchange)),
            None => Fetcher::new(options.settings.clone())?,
        };
        let page = match fetcher.fetch(address, &condition)? {
            Fetched::Page(page) => page,
            Fetched::NotModified => {
                let state = state.unwrap_or_default();
                return Ok(PageReport {
                    address: name,
                    location: state.location,
                    title: state.title,
                    change: PageChange::Unchanged,
                    sections: 0,
                    ingest: IngestReport::default(),
                });
            }
        };
        let text = PageText::of(&page, &options.ingest.reader)?;
        if text.document.sections.is_empty() {
            return Err(FetchError::NoText { address: page.address }.into());
        }
        let location = text.canonical.clone().unwrap_or_else(|| page.address.clone());
        let now = self.now();
        let mut facts = DocumentFacts {
            id: name.clone(),
            title: text.title.clone(),
            directory: options.directory.clone(),
            path: None,
            url: Some(location.clone()),
            modified_ms: text.modified_ms,
        };
        let mut records = document_records(&facts, &text.document);
        // The stamp depends on the page alone, not on the time of the fetch, so that an unchanged page keeps
        // its stamp.
        let stamp = stamp_of(&records);
        if facts.modified_ms.is_none() {
            facts.modified_ms = Some(now);
            records = document_records(&facts, &text.document);
        }
        let title = text.title.or(text.document.title);
        let state = PageState {
            address: page.address,
            etag: page.etag,
            last_modified: page.last_modified,
            title: title.clone(),
            location: location.clone(),
            fetched_ms: now,
            cutter: CUTTER_VERSION,
        };
        let state = serde_json::to_string(&state).unwrap_or_default();
        let sections = text.document.sections.len();
        let is_known = known.is_some();
        let ingest = self.put_document(SOURCE, GivenDocument { name: name.clone(), stamp, state, records }, &options.ingest)?;
        let change = match (is_known, ingest.files_unchanged) {
            (_, 1..) => PageChange::Unchanged,
            (true, _) => PageChange::Changed,
            (false, _) => PageChange::New,
        };
        Ok(PageReport { address: name, location, title, change, sections, ingest })
    }
}

/// A page as text.
struct PageText {
    document: Document,
    title: Option<String>,
    canonical: Option<String>,
    modified_ms: Option<UtcMillis>,
}

impl PageText {
    fn of(page: &Page, options: &ReaderOptions) -> Result<Self, FetchError> {
        let modified_ms = page.last_modified.as_deref().and_then(http_date);
        let plain = |document| Self { document, title: None, canonical: None, modified_ms };
        let lines = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n");
        Ok(match &page.content {
            Content::Html(source) => {
                let mut read = html::read(source, Some(&page.address));
                if let Some(author) = &read.author
                    && !read.text.is_empty()
                {
                    read.text.insert_str(0, &format!("By {author}\n\n"));
                }
                let published = read.date.as_deref().and_then(|date| RecordedTime::parse(date).utc);
                Self {
                    document: html::cut(&read),
                    title: read.title,
                    canonical: read.canonical.and_then(|address| shown_address(&address).ok()),
                    modified_ms: published.or(modified_ms),
                }
            }
            Content::Markdown(source) => plain(markdown::cut(&lines(source))),
            Content::Text(source) => plain(text::cut(&lines(source), Some("text"))),
            Content::Json(source) => plain(text::cut(&lines(source), Some("json"))),
            Content::Pdf(bytes) => plain(pdf::cut(&pdf_text(page, bytes, options)?)),
        })
    }
}

/// Extracts the text of a PDF in a separate process, because the extractor may crash.
fn pdf_text(page: &Page, bytes: &[u8], options: &ReaderOptions) -> Result<String, FetchError> {
    let Some(program) = &options.pdf_extractor else {
        return Err(FetchError::ContentType { address: page.address.clone(), content_type: "application/pdf".to_owned() });
    };
    let unreadable =
        |detail: &str| FetchError::Protocol { host: page.address.clone(), detail: format!("the PDF cannot be read: {detail}") };
    let file = piped(bytes.to_vec()).map_err(|error| unreadable(&error.to_string()))?;
    pdf::ask(program, file).map_err(|error| unreadable(error.as_str()))
}

/// Returns the bytes as a file without a place on disk: nothing that was fetched is written before it is
/// redacted.
fn piped(bytes: Vec<u8>) -> io::Result<File> {
    let (reader, mut writer) = io::pipe()?;
    // The thread ends when all is read, or when the reader is gone.
    std::thread::spawn(move || {
        let _ = writer.write_all(&bytes);
    });
    #[cfg(unix)]
    let file = File::from(std::os::fd::OwnedFd::from(reader));
    #[cfg(windows)]
    let file = File::from(std::os::windows::io::OwnedHandle::from(reader));
    Ok(file)
}

fn stamp_of(records: &[Value]) -> Stamp {
    let mut hasher = blake3::Hasher::new();
    let mut size = 0;
    for record in records {
        let line = record.to_string();
        hasher.update(line.as_bytes()).update(b"\n");
        size += line.len() as u64 + 1;
    }
    let mut version = [0; 8];
    hasher.finalize_xof().fill(&mut version);
    Stamp { size, version: i64::from_le_bytes(version) }
}

/// Parses a time as HTTP writes it: `Fri, 02 Jan 2026 10:00:00 GMT`.
fn http_date(words: &str) -> Option<UtcMillis> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut parts = words.split_once(',')?.1.split_whitespace();
    let (day, month, year, clock) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|known| *known == month)? + 1;
    RecordedTime::parse(&format!("{year}-{month:02}-{day:0>2}T{clock}Z")).utc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_http_are_understood() {
        assert_eq!(http_date("Fri, 02 Jan 2026 10:00:00 GMT"), Some(1_767_348_000_000));
        assert_eq!(http_date("Fri, 2 Jan 2026 10:00:00 GMT"), Some(1_767_348_000_000));
        assert_eq!(http_date("yesterday"), None);
        assert_eq!(http_date("Fri, 02 Jan"), None);
    }

    #[test]
    fn bytes_are_a_file_of_their_own() {
        let bytes: Vec<u8> = (0..300_000).map(|at| at as u8).collect();
        let mut read = Vec::new();
        io::Read::read_to_end(&mut piped(bytes.clone()).unwrap(), &mut read).unwrap();
        assert_eq!(read, bytes);
        drop(piped(bytes).unwrap());
    }
}
