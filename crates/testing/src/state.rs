//! The content of a store as text. It comes from the engine if the engine returns it, else from the database
//! (parents, ranks of titles, counts by file, the archive).

use std::collections::BTreeMap;
use std::fmt::Write;

use rusqlite::{Connection, OpenFlags};

use crate::Memory;

pub(crate) fn whole(memory: &Memory) -> String {
    let mut out = render(memory, true);
    let _ = writeln!(out, "skips and redactions");
    for row in
        rows(memory, "SELECT path, reason, detail, count, first_line FROM skip JOIN source_file ON source_file.id = file_id")
    {
        let _ = writeln!(out, "  skip {row}");
    }
    for row in rows(memory, "SELECT path, kind, count FROM redaction JOIN source_file ON source_file.id = file_id") {
        let _ = writeln!(out, "  redacted {row}");
    }
    let _ = writeln!(out, "shape");
    for row in shape(memory) {
        let _ = writeln!(out, "  {row}");
    }
    let _ = writeln!(out, "files");
    for row in
        rows(memory, "SELECT path, source, generation, archived_bytes, archived_lines, gone_ms IS NOT NULL FROM source_file")
    {
        let _ = writeln!(out, "  {row}");
    }
    for (path, generation, content) in archive(memory) {
        let lines = content.iter().filter(|byte| **byte == b'\n').count();
        let _ = writeln!(out, "  archive {path} {generation}: {lines} lines {}", blake3::hash(&content).to_hex());
    }
    let _ = writeln!(out, "queued {}", memory.engine().queued().unwrap());
    out
}

pub(crate) fn words(memory: &Memory) -> String {
    render(memory, false)
}

fn render(memory: &Memory, with_places: bool) -> String {
    let mut out = String::new();
    let mut projects: Vec<String> = memory
        .engine()
        .projects()
        .unwrap()
        .into_iter()
        .map(|project| format!("  {} {:?} {} sessions {} turns", project.name, project.aliases, project.sessions, project.turns))
        .collect();
    projects.sort();
    let _ = writeln!(out, "projects\n{}\nepisodes", projects.join("\n"));
    let hidden: BTreeMap<String, String> = rows(
        memory,
        "SELECT agent, native_id, parent_native_id, title, title_rank, client_version, started_ms, updated_ms FROM episode",
    )
    .into_iter()
    .map(|row| (row.split(" | ").nth(1).unwrap_or_default().to_owned(), row))
    .collect();
    let mut episodes = memory.episodes();
    episodes.sort_by(|a, b| (&a.agent, &a.native_id).cmp(&(&b.agent, &b.native_id)));
    for episode in episodes {
        let _ = writeln!(
            out,
            "  {} {:?} title {:?} project {:?} cwd {:?} forgotten {} links {:?}\n    {}",
            episode.native_id,
            episode.kind,
            episode.title,
            episode.project,
            episode.cwd,
            episode.forgotten.is_some(),
            episode.links,
            hidden.get(&episode.native_id).map_or("", String::as_str)
        );
        for turn in memory.turns(&episode.native_id) {
            let owner = if turn.episode == episode.id { "own" } else { "shared" };
            let _ = writeln!(
                out,
                "    {owner} {} {:?} {:?} {:?} error {} model {:?} branch {:?} cwd {:?} project {:?} {:?}\n      {:?} {}\n      {:?} {}",
                turn.id,
                turn.role,
                turn.native_message,
                turn.speaker,
                turn.is_error,
                turn.model,
                turn.branch,
                turn.cwd,
                turn.project,
                turn.time,
                first_words(&turn.text),
                blake3::hash(turn.text.as_bytes()).to_hex(),
                first_words(&turn.tool_text),
                blake3::hash(turn.tool_text.as_bytes()).to_hex(),
            );
            if with_places {
                let _ = writeln!(out, "      {}:{}", without_root(memory, &turn.path), turn.line);
            }
        }
    }
    out
}

/// Returns code, files, tools and errors by turn.
fn shape(memory: &Memory) -> Vec<String> {
    let mut found = Vec::new();
    for (what, sql) in [
        (
            "code",
            "SELECT turn.uid, seq, label.text, path.text, first_line, line_count FROM code_block JOIN turn ON turn.id = turn_id
             LEFT JOIN label ON label.id = language_id LEFT JOIN path ON path.id = path_id",
        ),
        (
            "file",
            "SELECT turn.uid, action, path.text FROM turn_file JOIN turn ON turn.id = turn_id JOIN path ON path.id = path_id",
        ),
        (
            "tool",
            "SELECT turn.uid, seq, label.text, outcome, call IS NOT NULL FROM tool_use JOIN turn ON turn.id = turn_id
             LEFT JOIN label ON label.id = name_id",
        ),
        ("error", "SELECT turn.uid FROM turn_error JOIN turn ON turn.id = turn_id"),
        ("waits", "SELECT turn.uid FROM shape_queue JOIN turn ON turn.id = turn_id"),
        ("path", "SELECT text, name FROM path"),
    ] {
        found.extend(rows(memory, sql).into_iter().map(|row| format!("{what} {row}")));
    }
    found
}

fn first_words(text: &str) -> String {
    text.chars().take(48).collect()
}

fn without_root(memory: &Memory, path: &str) -> String {
    path.replace(memory.sources().to_str().unwrap(), "")
}

fn database(memory: &Memory) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(memory.data().join("yore.db"), flags).unwrap()
}

/// Returns the rows of a query as text, sorted.
fn rows(memory: &Memory, sql: &str) -> Vec<String> {
    let db = database(memory);
    let mut statement = db.prepare(sql).unwrap();
    let columns = statement.column_count();
    let mut found: Vec<String> = statement
        .query_map([], |row| {
            let values: Vec<String> = (0..columns)
                .map(|column| match row.get_ref_unwrap(column) {
                    rusqlite::types::ValueRef::Null => "-".to_owned(),
                    rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                    rusqlite::types::ValueRef::Real(number) => number.to_string(),
                    rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                    rusqlite::types::ValueRef::Blob(bytes) => format!("{bytes:02x?}"),
                })
                .collect();
            Ok(without_root(memory, &values.join(" | ")))
        })
        .unwrap()
        .map(Result::unwrap)
        .collect();
    found.sort();
    found
}

pub(crate) fn archive(memory: &Memory) -> Vec<(String, i64, Vec<u8>)> {
    let db = database(memory);
    let mut blobs: BTreeMap<i64, Vec<Vec<u8>>> = BTreeMap::new();
    let mut statement = db.prepare("SELECT id, data, line_count FROM blob").unwrap();
    let mut found = statement.query([]).unwrap();
    while let Some(row) = found.next().unwrap() {
        let data: Vec<u8> = row.get(1).unwrap();
        let content = zstd::stream::decode_all(data.as_slice()).unwrap();
        let lines: Vec<Vec<u8>> = content.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        assert_eq!(lines.len() as i64, row.get::<_, i64>(2).unwrap());
        blobs.insert(row.get(0).unwrap(), lines);
    }
    let mut statement = db
        .prepare(
            "SELECT path, segment.generation, blob_id, first_line, line_count FROM segment JOIN source_file ON source_file.id = file_id
             ORDER BY path, segment.generation, seq",
        )
        .unwrap();
    let mut files: Vec<(String, i64, Vec<u8>)> = Vec::new();
    let mut found = statement.query([]).unwrap();
    while let Some(row) = found.next().unwrap() {
        let path = without_root(memory, &row.get::<_, String>(0).unwrap());
        let generation: i64 = row.get(1).unwrap();
        let number = |column: usize| row.get::<_, i64>(column).unwrap();
        let (blob, first, count) = (number(2), number(3) as usize, number(4) as usize);
        if !files.last().is_some_and(|(known, at, _)| *known == path && *at == generation) {
            files.push((path, generation, Vec::new()));
        }
        let content = &mut files.last_mut().unwrap().2;
        for line in &blobs[&blob][first..first + count] {
            content.extend_from_slice(line);
            content.push(b'\n');
        }
    }
    files
}
