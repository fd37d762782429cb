//! Extracts text from PDFs, in a process of its own. The PDF library panics and loops on odd files, so it runs in a separate
//! process: [`extract`] is the work of that process, [`ask`] that of the caller.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::Document;
use super::blocks::{Place, Sections, pieces};
use super::text::TEXT_BYTES;
use crate::child::{self, ChildError, Ended, Input, Limits};

/// The argument that makes a program write the text of the PDF on its standard input.
pub const EXTRACT_COMMAND: &str = "pdf-text";
/// Separates the pages of the text.
pub const PAGE_BREAK: char = '\u{c}';
/// Memory limit of the process that reads a PDF.
pub const MEMORY_BYTES: u64 = 1 << 30;
/// Limit of its processor time in seconds.
pub const CPU_SECONDS: u64 = 30;

/// Maximum time for a PDF in all.
const PATIENCE: Duration = Duration::from_secs(60);
/// A process that writes a longer text has failed.
const MAX_TEXT_BYTES: usize = 16 << 20;

/// The reason why a PDF has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PdfError {
    /// The process could not be started.
    NoExtractor,
    /// It took too long.
    TooSlow,
    /// The process died or reported a failure.
    Failed,
}

impl PdfError {
    /// Returns a stable name, for counting.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoExtractor => "extractor does not start",
            Self::TooSlow => "took too long",
            Self::Failed => "extractor failed",
        }
    }
}

/// Lets `program` read a PDF.
///
/// # Errors
/// [`PdfError`]; the process has ended in every case.
pub fn ask(program: &Path, file: File) -> Result<String, PdfError> {
    ask_within(program, file, PATIENCE)
}

fn ask_within(program: &Path, file: File, patience: Duration) -> Result<String, PdfError> {
    let limits = Limits { time: patience, output: MAX_TEXT_BYTES, report: 0 };
    let ended = child::run(Command::new(program).arg(EXTRACT_COMMAND), Input::File(file), &limits, &mut || false);
    match ended {
        Ok(Ended { status, output, .. }) if status.success() => Ok(String::from_utf8_lossy(&output).into_owned()),
        Ok(_) | Err(ChildError::Io(_) | ChildError::Stopped | ChildError::TooMuch(_)) => Err(PdfError::Failed),
        Err(ChildError::NotStarted(_)) => Err(PdfError::NoExtractor),
        Err(ChildError::TooSlow(_)) => Err(PdfError::TooSlow),
    }
}

/// Returns the text of a PDF, with [`PAGE_BREAK`] between its pages; `None` if there is none, or if this yore
/// was built without PDF support. May panic, loop, or take any amount of memory: call it in a process whose
/// loss does no harm.
pub fn extract(bytes: &[u8]) -> Option<String> {
    #[cfg(feature = "pdf")]
    {
        let pages = pdf_extract::extract_text_from_mem_by_pages(bytes).ok()?;
        Some(pages.join(&PAGE_BREAK.to_string()))
    }
    #[cfg(not(feature = "pdf"))]
    {
        let _ = bytes;
        None
    }
}

/// Cuts the text of a PDF by pages.
pub fn cut(text: &str) -> Document {
    let mut sections = Sections::new(text);
    let mut start = 0;
    for (at, page) in text.split(PAGE_BREAK).enumerate() {
        let range = start..start + page.len();
        start = range.end + PAGE_BREAK.len_utf8();
        let path = [format!("page {}", at + 1)];
        let pieces = pieces(text, range, TEXT_BYTES);
        sections.add(Place { path: &path, heading: &path, from: None }, &pieces, |_| None);
    }
    sections.into_document(None, Some("pdf"))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    /// Writes a program that runs the script.
    fn program(directory: &Path, script: &str) -> PathBuf {
        let path = directory.join("extractor");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        path
    }

    fn asked(script: &str, patience: Duration) -> Result<String, PdfError> {
        let directory = tempfile::tempdir().unwrap();
        let path = program(directory.path(), script);
        let file = directory.path().join("a.pdf");
        std::fs::write(&file, "pages").unwrap();
        // Another test's process may hold the script open for a moment.
        let mut tries = 0..50;
        loop {
            match ask_within(&path, File::open(&file).unwrap(), patience) {
                Err(PdfError::NoExtractor) if tries.next().is_some() => std::thread::sleep(Duration::from_millis(10)),
                outcome => return outcome,
            }
        }
    }

    #[test]
    fn text_comes_from_the_process() {
        assert_eq!(asked("echo \"$1\"; cat", PATIENCE).as_deref(), Ok("pdf-text\npages"));
    }

    #[test]
    fn process_that_hangs_is_ended() {
        assert_eq!(asked("exec sleep 600", Duration::from_millis(200)), Err(PdfError::TooSlow));
        // The output is complete, but the process does not end.
        assert_eq!(asked("echo text; exec >&-; exec sleep 600", Duration::from_millis(200)), Err(PdfError::TooSlow));
    }

    #[test]
    fn process_that_dies_or_never_stops_talking_has_failed() {
        assert_eq!(asked("echo half; kill -9 $$", PATIENCE), Err(PdfError::Failed));
        assert_eq!(asked("exit 1", PATIENCE), Err(PdfError::Failed));
        assert_eq!(asked("exec yes", PATIENCE), Err(PdfError::Failed));
        let nowhere = File::open("/dev/null").unwrap();
        assert_eq!(ask(Path::new("/nonexistent/extractor"), nowhere), Err(PdfError::NoExtractor));
    }
}
