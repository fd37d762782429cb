//! Finds the lines of a tool's output that report an error.
//!
//! - [`error_lines`]: all of them
//! - [`error_line`]: the one that best describes the error
//! - [`error_reasons`]: those that give the reason, for an output that is known to have failed
//! - [`steady`]: the part of an error's text that is the same in every run

/// Most bytes of a line that are examined and returned.
const MAX_LINE_BYTES: usize = 400;
/// Most error lines of one output; an output with more repeats itself.
const MAX_LINES: usize = 64;

/// Most bytes before a log's level.
const MAX_STAMP_BYTES: usize = 80;

/// Beginnings of a line that reports an error, compared exactly.
const BEGINNINGS: &[&str] = &[
    "error:",
    "error[",
    "Error:",
    "ERROR",
    "Error ",
    "error TS",
    "fatal:",
    "FATAL",
    "fatal error",
    "panic:",
    "FAIL ",
    "FAIL:",
    "FAILED ",
    "--- FAIL",
    "npm ERR!",
    "npm error",
    "Uncaught ",
    "Unhandled ",
    "Exception in thread",
    "make: ***",
    "Segmentation fault",
    "test result: FAILED",
    "Caused by:",
    "E   ",
    "failed to ",
    "Failed to ",
    "CONFLICT (",
    "unknown flag: ",
    "<tool_use_error>",
];

/// Marks within a line that reports an error; the search starts at the line's first `: `.
const MARKS: &[&str] = &[
    ": error (",
    ": error:",
    ": error[",
    ": error TS",
    ": error CS",
    ": error C2",
    ": error LNK",
    ": fatal error",
    ": undefined reference",
    ": command not found",
    ": No such file or directory",
    ": no such file or directory",
    ": permission denied",
    ": no matches found: ",
    ": parse error near ",
];

/// Endings of a line that reports an error.
const ENDINGS: &[&str] = &[
    "... FAILED",
    "Permission denied",
    "command not found",
    "No such file or directory",
    "no such file or directory",
    " (core dumped)",
];

/// Extensions of files that compilers and linters report on. For other files, such a line may as well be
/// `grep`'s.
const SOURCES: &[&str] = &[
    "adb", "astro", "bzl", "c", "cc", "cfg", "clj", "cpp", "cs", "css", "cts", "cu", "cxx", "dart", "erl", "ex", "exs", "f90",
    "fs", "go", "gradle", "graphql", "h", "hcl", "hh", "hpp", "hs", "html", "java", "jl", "js", "json", "jsx", "kt", "kts",
    "less", "lua", "m", "mjs", "ml", "mm", "mod", "mts", "nim", "nix", "php", "pl", "pm", "proto", "py", "pyi", "pyx", "r", "rb",
    "rs", "scala", "scss", "sh", "sol", "sql", "svelte", "swift", "tex", "tf", "toml", "ts", "tsx", "v", "vue", "yaml", "yml",
    "zig",
];

/// Labels of compiler messages that are not errors.
const REMARKS: &[&str] = &["warning", "note", "info", "hint", "help", "remark", "debug"];

/// Returns the lines of an output that report an error, in order, without indentation and colours.
///
/// ```
/// let log = "Compiling otter\nerror[E0308]: mismatched types\n  --> src/a.rs:3:1\n0 errors: none";
/// assert_eq!(yore_core::text::error_lines(log).collect::<Vec<_>>(), ["error[E0308]: mismatched types"]);
/// ```
pub fn error_lines(output: &str) -> impl Iterator<Item = &str> {
    let mut is_below_failure = false;
    output.lines().filter_map(move |line| report(line, &mut is_below_failure)).take(MAX_LINES)
}

/// Returns the line of an output that best describes the error: the first that reports an error and is not a
/// mere heading. For a Python traceback that is the last line, which alone names the error.
pub fn error_line(output: &str) -> Option<&str> {
    let mut heading = None;
    for line in error_lines(output) {
        if !is_heading(line) {
            return Some(line);
        }
        heading = heading.or(Some(line));
    }
    heading
}

/// Returns the first lines, at most `count`, that give the reason of a failure: those that report an error,
/// without headings if there are other lines. If the output reports no error, although it is known to have
/// failed, returns its first lines with words, each once.
pub fn error_reasons(output: &str, count: usize) -> Vec<&str> {
    let mut reports: Vec<&str> = error_lines(output).collect();
    let is_reported = !reports.is_empty();
    if reports.iter().any(|line| !is_heading(line)) {
        reports.retain(|line| !is_heading(line));
    } else {
        reports.retain(|line| !is_empty_heading(line));
    }
    let words = output.lines().map(without_lead).filter(|line| !is_reported && is_wordy(line));
    let mut reasons: Vec<&str> = Vec::with_capacity(count);
    for line in reports.into_iter().chain(words) {
        let line = &line[..line.floor_char_boundary(MAX_LINE_BYTES)];
        if reasons.len() == count {
            break;
        }
        if !reasons.contains(&line) {
            reasons.push(line);
        }
    }
    reasons
}

/// Returns whether a line holds words, and more than a command with its exit code.
fn is_wordy(line: &str) -> bool {
    let is_word = |word: &&str| word.chars().filter(|letter| letter.is_alphabetic()).count() >= 2;
    !line.starts_with("Exit code ")
        && !line.starts_with("# ")
        && !line.starts_with('$')
        && line.split_whitespace().filter(is_word).count() >= 3
}

/// Returns the part of an error's text that is the same in every run: without durations, times, addresses,
/// hashes, process ids and line numbers. Two reports of one error are compared by it.
///
/// ```
/// let steady = yore_core::text::steady("--- FAIL: TestTide (0.02s)\n    tide_test.go:33:7: want 3, got 4");
/// assert_eq!(steady, "--- FAIL: TestTide\ntide_test.go: want 3, got 4");
/// ```
pub fn steady(text: &str) -> String {
    let mut steady = String::with_capacity(text.len());
    for (number, line) in text.lines().enumerate() {
        if number > 0 {
            steady.push('\n');
        }
        let (mut before, mut is_first) = ("", true);
        for word in line.split_whitespace() {
            let (kept, has_colon) = steady_word(before, word);
            before = word;
            if kept.is_empty() {
                continue;
            }
            if !is_first {
                steady.push(' ');
            }
            is_first = false;
            steady.push_str(kept);
            if has_colon {
                steady.push(':');
            }
        }
    }
    steady
}

/// Returns the part of a word that stays, and whether the colon after it stays; `before` is the word before.
fn steady_word<'w>(before: &str, word: &'w str) -> (&'w str, bool) {
    let bare = word.trim_matches(|letter: char| "()[]{},;.:".contains(letter));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let counted = before.trim_matches(|letter: char| !letter.is_ascii_alphabetic()).to_ascii_lowercase();
    let is_counted = || ["pid", "process", "goroutine", "thread", "line", "column", "col", "port"].contains(&counted.as_str());
    let is_id = || is_number(bare) && (is_counted() || word.starts_with(['(', '[']) && bare.len() > 3);
    if is_id() || is_duration(bare) || is_time(bare) || is_hash(bare) {
        return ("", false);
    }
    // `tide.rs:3:14:` and `otter[812]:` keep their name.
    let mut kept = word.trim_end_matches([':', ')', ',', ';']);
    let whole = kept.len();
    while let Some((name, number)) = kept.rsplit_once(':')
        && is_number(number)
        && !name.is_empty()
    {
        kept = name;
    }
    if let Some((name, number)) = kept.strip_suffix(']').and_then(|kept| kept.rsplit_once('['))
        && is_number(number)
        && number.len() > 1
        && !name.is_empty()
    {
        kept = name;
    }
    if kept.len() < whole { (kept, word.ends_with(':')) } else { (word, false) }
}

/// Returns whether a word is a duration: `0.01s`, `12ms`, `1m3.5s`, `91µs`.
fn is_duration(word: &str) -> bool {
    let mut rest = word;
    let mut parts = 0;
    while !rest.is_empty() {
        let number = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.').len();
        let unit = ["ms", "µs", "μs", "us", "ns", "secs", "sec", "min", "s", "m", "h"]
            .iter()
            .find(|unit| number > 0 && rest.as_bytes()[0].is_ascii_digit() && rest[number..].starts_with(**unit));
        let Some(unit) = unit else { return false };
        rest = &rest[number + unit.len()..];
        parts += 1;
    }
    parts > 0
}

/// Returns whether a word is a time: `2026-03-01`, `12:00:03.250`, `2026-03-01T12:00:03Z`, `2026/03/01`.
fn is_time(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let has_form = word.len() >= 8 && word.as_bytes()[0].is_ascii_digit();
    has_form
        && digits >= 6
        && word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'/' | b'T' | b'Z' | b'.' | b',' | b'+'))
        && (word.matches(':').count() >= 2 || word.matches('-').count() == 2 || word.matches('/').count() == 2)
}

/// Returns whether a word is an address or a hash: `0x7ffe12`, `3999d950`, a UUID.
fn is_hash(word: &str) -> bool {
    if let Some(address) = word.strip_prefix("0x") {
        return address.len() >= 4 && address.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    word.len() >= 7
        && digits > 0
        && digits < word.len()
        && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && !word.starts_with('-')
}

/// Returns whether a line says that something failed, but not why.
fn is_heading(line: &str) -> bool {
    line.starts_with("Caused by:") && line.len() < 12
        || line.starts_with("error: could not compile")
        || line.starts_with("npm ERR! code")
        || line.starts_with("FAIL")
        || line.starts_with("--- FAIL")
        || line.ends_with("... FAILED")
        || is_empty_heading(line)
}

/// Returns whether a heading does not even name the thing that failed.
fn is_empty_heading(line: &str) -> bool {
    line.ends_with("ERROR task failed")
        || line.contains("Sibling tool call errored")
        || line == "FAILED"
        || line.starts_with("FAIL") && line.ends_with("[build failed]")
}

/// Returns the part of a line that reports an error, if it does. `is_below_failure`: the indented lines below
/// the heading of a failed test give the reason.
fn report<'l>(line: &'l str, is_below_failure: &mut bool) -> Option<&'l str> {
    let is_indented = line.starts_with([' ', '\t']);
    let line = without_lead(line);
    *is_below_failure = *is_below_failure && (is_indented || line.is_empty()) || line.starts_with("--- FAIL");
    // Shorter than any report; most lines of code are examined no further than this.
    if line.len() < 6 {
        return None;
    }
    let line = &line[..line.floor_char_boundary(MAX_LINE_BYTES)];
    let begins = match line.as_bytes()[0] {
        b'e' | b'E' | b'f' | b'F' | b'p' | b'n' | b'u' | b'U' | b'm' | b'S' | b't' | b'C' | b'-' | b'<' => {
            BEGINNINGS.iter().any(|begin| line.starts_with(begin)) && !is_none(line)
        }
        _ => false,
    };
    let reports = begins
        || is_named_exception(line)
        || has_mark(line) && !is_none(line)
        || is_diagnostic(line, is_indented, *is_below_failure)
        || is_logged(line)
        || line.starts_with("thread '") && line.contains("panicked")
        || ENDINGS.iter().any(|end| line.ends_with(end));
    reports.then_some(line)
}

fn has_mark(line: &str) -> bool {
    let is_mark = |(at, _): (usize, &str)| MARKS.iter().any(|mark| line[at..].starts_with(mark));
    let mut colons = line.match_indices(": ").peekable();
    colons.peek().is_some() && (colons.any(is_mark) || line.contains(" panicked at ") || is_refused_by_server(line))
}

/// Returns whether a line reports a refusal by a server: `gh: Not Found (HTTP 404)`.
fn is_refused_by_server(line: &str) -> bool {
    let status = line.split_once("(HTTP ").map_or(&[][..], |(_, status)| status.as_bytes());
    matches!(status, [b'4' | b'5', second, third, b')', ..] if second.is_ascii_digit() && third.is_ascii_digit())
}

/// Returns whether a line is a diagnostic of a compiler or linter: `tide.go:12:3: undefined: ebb`. In the
/// output of `grep -n` the text follows the number without a blank, or with the blanks of an indentation.
/// Without a column a line counts only if it is not indented, or is below the heading of a failed test: tests
/// log any text in this form.
fn is_diagnostic(line: &str, is_indented: bool, is_below_failure: bool) -> bool {
    // The drive of a Windows path.
    let drive = if line.as_bytes()[1] == b':' && matches!(line.as_bytes()[2], b'\\' | b'/') { 2 } else { 0 };
    let Some(colon) = line[drive..].find(':').map(|at| at + drive) else { return false };
    let (path, rest) = (&line[..colon], &line[colon + 1..]);
    let Some((name, extension)) = path.rsplit_once('.') else { return false };
    if name.is_empty() || !SOURCES.contains(&extension) || path.contains(|letter: char| letter.is_whitespace() || letter == '"') {
        return false;
    }
    let number = |text: &str| (1..=7).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((place, said)) = rest.split_once(": ") else { return false };
    let has_column = match place.split_once(':') {
        Some((row, column)) if number(row) && number(column) => true,
        None if number(place) => false,
        _ => return false,
    };
    let first = said.split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default();
    let is_remark = || REMARKS.iter().any(|remark| first.eq_ignore_ascii_case(remark));
    (has_column || !is_indented || is_below_failure)
        // An indentation, or the inner lines of a comment.
        && !said.starts_with([' ', '\t', '*', ':'])
        && said.len() > 2
        && !is_remark()
}

/// Returns whether a line is a log entry of level ERROR: `[lint] ERROR task failed`, `2026-03-01 12:00:03
/// ERROR tide: gone`, `mise ERROR not trusted`.
fn is_logged(line: &str) -> bool {
    let Some((before, said)) = line[..line.floor_char_boundary(MAX_STAMP_BYTES)].split_once(" ERROR ") else { return false };
    let is_stamp = |word: &str| word.starts_with('[') || word.as_bytes().iter().any(u8::is_ascii_digit) || word == "-";
    let is_program = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') && word.len() > 2;
    !said.is_empty()
        && !before.contains(['"', '\'', '`', '#', '='])
        && (before.split_whitespace().all(is_stamp) || is_program(before))
}

/// Returns the line without indentation, colours and the signs that test runners put before a report.
fn without_lead(line: &str) -> &str {
    // If the line was overwritten several times, only its last state counts.
    let mut line = line.trim();
    if line.as_bytes().contains(&b'\r') {
        line = line.rsplit('\r').next().unwrap_or(line).trim_start();
    }
    while let Some(rest) = line.strip_prefix("\u{1b}[") {
        let Some(end) = rest.find('m').filter(|end| *end < 12) else { break };
        line = rest[end + 1..].trim_start();
    }
    without_task(line.trim_start_matches(['✖', '✗', '×', '❌', '●', '⨯']).trim_start())
}

/// Returns the line without the name of the task that printed it, such as `[lint:go] `.
fn without_task(line: &str) -> &str {
    let Some((task, rest)) = line.strip_prefix('[').and_then(|line| line.split_once("] ")) else { return line };
    let is_task = (2..=32).contains(&task.len())
        && task.as_bytes()[0].is_ascii_lowercase()
        && task.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'-' | b'_' | b'.' | b'/'));
    if is_task { rest.trim_start() } else { line }
}

/// Returns whether a line reports that there is no error: "error: 0", "errors: none".
fn is_none(line: &str) -> bool {
    let rest = line.rsplit(':').next().unwrap_or("").trim();
    matches!(rest, "0" | "none" | "None" | "null" | "false" | "[]" | "{}")
}

/// Returns whether a line begins with an exception's name: `ValueError: …`, `java.lang.IllegalStateException:
/// …`, `TypeError [ERR_X]: …`.
fn is_named_exception(line: &str) -> bool {
    let name = line.split([':', ' ']).next().unwrap_or("");
    (name.ends_with("Error") || name.ends_with("Exception"))
        && name.len() > 5
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$'))
        && matches!(line.as_bytes().get(name.len()..), Some([b':', b' ', ..] | [b':'] | [b' ', b'[', ..] | []))
}

#[cfg(test)]
mod tests;
