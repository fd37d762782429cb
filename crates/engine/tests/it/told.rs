//! Helpers with which the tests of sources examine the stored turns.

use std::io::Write;
use std::path::Path;

use yore_engine::ingest::{IngestReport, IngestRequest, Silent, SourceRoot};
use yore_sources::source::ReaderOptions;
use yore_testing::Memory;

/// Returns the turns of an episode, one line each: role, `!` for a failure, quality of the time, text, and
/// after `>` the input or output of tools. Line breaks are shown as ` / `.
pub fn told(memory: &Memory, native_id: &str) -> Vec<String> {
    let line = |text: &str| text.lines().collect::<Vec<_>>().join(" / ");
    memory
        .turns(native_id)
        .iter()
        .map(|turn| {
            let failed = if turn.is_error { "!" } else { "" };
            let mut told = format!("{}{failed} {}: {}", turn.role.as_str(), turn.time.quality.as_str(), line(&turn.text));
            if !turn.tool_text.is_empty() {
                told.push_str(&format!("> {}", line(&turn.tool_text)));
            }
            if let Some(caveat) = turn.caveat {
                told.push_str(&format!(" ({})", caveat.words()));
            }
            told
        })
        .collect()
}

/// Reads a root, whether or not it fails.
pub fn try_read(memory: &Memory, source: &str, path: &Path) -> IngestReport {
    let roots = vec![SourceRoot { source: source.to_owned(), path: path.to_path_buf() }];
    memory.engine().ingest(&IngestRequest::new(roots), &mut Silent).unwrap()
}

/// Returns the number of skips by reason and detail.
pub fn skipped(report: &IngestReport) -> Vec<String> {
    report.skips.iter().map(|((reason, detail), count)| format!("{reason} {detail} {count}")).collect()
}

/// Makes an archive with these files.
pub fn zipped(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in files {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(content.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Returns the store's turns after everything was read again from the archive.
pub fn words_from_archive(memory: &Memory) -> String {
    memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    memory.words()
}
