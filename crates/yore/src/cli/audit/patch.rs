//! Writes findings as a unified diff: the replaced line where the new form is certain, else the line deleted.

use std::collections::BTreeMap;
use std::fmt::Write;

use yore_engine::{AuditFile, AuditFinding};

/// Unchanged lines around a change.
const AROUND: usize = 3;

/// Returns the patch, and the number of findings that are not in it: outside of the repository, or on a line with other words.
pub fn patch(files: &[AuditFile], findings: &[AuditFinding]) -> (String, usize) {
    let (mut out, mut left_out) = (String::new(), 0);
    for file in files {
        let lines: Vec<&str> = file.text.split_inclusive('\n').collect();
        // The lines that go, by number, each with what takes its place.
        let mut changes: BTreeMap<usize, Option<String>> = BTreeMap::new();
        for found in findings.iter().filter(|found| found.file == file.path) {
            let first = (found.line as usize).saturating_sub(1);
            let whole = first..first + found.lines as usize;
            if let Some((old, new)) = &found.change
                && let Some(at) =
                    (first..first + whole.len().max(1)).find(|at| lines.get(*at).is_some_and(|line| line.contains(old)))
            {
                changes.insert(at, Some(lines[at].replacen(old, new, 1)));
            } else if file.name.is_none() || whole.is_empty() || whole.end > lines.len() {
                left_out += 1;
            } else {
                changes.extend(whole.map(|at| (at, None)));
            }
        }
        match &file.name {
            Some(name) if !changes.is_empty() => diff(name, &lines, &changes, &mut out),
            _ => left_out += changes.len(),
        }
    }
    (out, left_out)
}

fn diff(name: &str, lines: &[&str], changes: &BTreeMap<usize, Option<String>>, out: &mut String) {
    let _ = write!(out, "--- a/{name}\n+++ b/{name}\n");
    // Changes with few lines between them share a hunk.
    let mut hunks: Vec<(usize, usize)> = Vec::new();
    for at in changes.keys() {
        match hunks.last_mut() {
            Some((_, last)) if at - *last <= 2 * AROUND => *last = *at,
            _ => hunks.push((*at, *at)),
        }
    }
    let mut removed = 0;
    for (first, last) in hunks {
        let (begin, end) = (first.saturating_sub(AROUND), (last + AROUND + 1).min(lines.len()));
        let gone = (begin..end).filter(|at| matches!(changes.get(at), Some(None))).count();
        let count = end - begin;
        let start = |line: usize, count: usize| if count == 0 { line } else { line + 1 };
        let _ =
            writeln!(out, "@@ -{},{count} +{},{} @@", start(begin, count), start(begin - removed, count - gone), count - gone);
        removed += gone;
        for (at, old) in lines.iter().enumerate().take(end).skip(begin) {
            match changes.get(&at) {
                None => line(' ', old, out),
                Some(new) => {
                    line('-', old, out);
                    if let Some(new) = new {
                        line('+', new, out);
                    }
                }
            }
        }
    }
}

fn line(mark: char, text: &str, out: &mut String) {
    out.push(mark);
    out.push_str(text);
    if !text.ends_with('\n') {
        out.push_str("\n\\ No newline at end of file\n");
    }
}

#[cfg(test)]
mod tests {
    use yore_engine::{AuditKind, AuditScope};

    use super::*;

    #[test]
    fn lines_are_deleted_or_replaced_and_what_lies_outside_is_counted() {
        let file = |path: &str, name: Option<&str>| AuditFile {
            path: path.to_owned(),
            name: name.map(str::to_owned),
            text: "# A\n\n- one\n- two\n- three".to_owned(),
            modified: 0,
            scope: AuditScope::Project,
        };
        let found = |file: &str, line: u64, change: Option<(&str, &str)>| AuditFinding {
            file: file.to_owned(),
            name: None,
            line,
            lines: 1,
            kind: AuditKind::Stale,
            text: String::new(),
            reason: String::new(),
            proof: Vec::new(),
            change: change.map(|(old, new)| (old.to_owned(), new.to_owned())),
        };
        let files = [file("/r/A.md", Some("A.md")), file("/home/B.md", None)];
        let findings = [found("/r/A.md", 3, None), found("/r/A.md", 5, Some(("three", "four"))), found("/home/B.md", 3, None)];
        let expected = "--- a/A.md\n+++ b/A.md\n@@ -1,5 +1,4 @@\n # A\n \n-- one\n - two\n-- three\n\\ No newline at end of file\n+- four\n\\ No newline at end of file\n";
        assert_eq!(patch(&files, &findings), (expected.to_owned(), 1));
    }
}
