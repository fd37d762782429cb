//! The lines of a tool's output that report an error: what a person would quote of it.

/// Of a line so many bytes are looked at and given.
const MAX_LINE_BYTES: usize = 400;
/// An output with more error lines repeats itself.
const MAX_LINES: usize = 64;

/// Words with which the line of a report begins, compared as they are.
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
    "<tool_use_error>",
];

/// What stands within the line of a report.
const MARKS: &[&str] = &[
    ": error:",
    ": error[",
    ": error TS",
    ": error CS",
    ": error C2",
    ": error LNK",
    ": fatal error",
    " panicked at ",
    ": undefined reference",
    ": command not found",
    ": No such file or directory",
];

/// What the line of a report ends with.
const ENDINGS: &[&str] = &["... FAILED", "Permission denied", "command not found", "No such file or directory", " (core dumped)"];

/// The lines of an output that report an error, in order, without indentation and colours.
///
/// ```
/// let log = "Compiling otter\nerror[E0308]: mismatched types\n  --> src/a.rs:3:1\n0 errors: none";
/// assert_eq!(yore_core::text::error_lines(log).collect::<Vec<_>>(), ["error[E0308]: mismatched types"]);
/// ```
pub fn error_lines(output: &str) -> impl Iterator<Item = &str> {
    output.lines().filter_map(report).take(MAX_LINES)
}

/// The line of an output that says best what went wrong: the first that reports an error and is no
/// mere heading. Of a Python traceback that is the last line, which alone names the error.
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

fn is_heading(line: &str) -> bool {
    line.starts_with("Caused by:") && line.len() < 12
        || line.starts_with("error: could not compile")
        || line.starts_with("npm ERR! code")
        || line.starts_with("FAIL")
        || line.ends_with("... FAILED")
}

/// The line as it reports an error, if it does.
fn report(line: &str) -> Option<&str> {
    let line = without_lead(line);
    // Shorter than any report; most lines of code are not looked at further than this.
    if line.len() < 6 {
        return None;
    }
    let line = &line[..line.floor_char_boundary(MAX_LINE_BYTES)];
    let begins = match line.as_bytes()[0] {
        b'e' | b'E' | b'f' | b'F' | b'p' | b'n' | b'U' | b'm' | b'S' | b't' | b'C' | b'-' | b'<' => {
            BEGINNINGS.iter().any(|begin| line.starts_with(begin)) && !is_none(line)
        }
        _ => false,
    };
    let reports = begins
        || is_named_exception(line)
        || line.contains(": ") && MARKS.iter().any(|mark| line.contains(mark)) && !is_none(line)
        || line.starts_with("thread '") && line.contains("panicked")
        || ENDINGS.iter().any(|end| line.ends_with(end));
    reports.then_some(line)
}

/// The line without indentation, colours and the signs that test runners put before a report.
fn without_lead(line: &str) -> &str {
    let mut line = line.trim();
    while let Some(rest) = line.strip_prefix("\u{1b}[") {
        let Some(end) = rest.find('m').filter(|end| *end < 12) else { break };
        line = rest[end + 1..].trim_start();
    }
    line.trim_start_matches(['✖', '✗', '×', '❌', '●', '⨯']).trim_start()
}

/// "error: 0", "errors: none": no report.
fn is_none(line: &str) -> bool {
    let rest = line.rsplit(':').next().unwrap_or("").trim();
    matches!(rest, "0" | "none" | "None" | "null" | "false" | "[]" | "{}")
}

/// `ValueError: …`, `java.lang.IllegalStateException: …`, `TypeError [ERR_X]: …`.
fn is_named_exception(line: &str) -> bool {
    let name = line.split([':', ' ']).next().unwrap_or("");
    (name.ends_with("Error") || name.ends_with("Exception"))
        && name.len() > 5
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$'))
        && matches!(line.as_bytes().get(name.len()..), Some([b':', b' ', ..] | [b':'] | [b' ', b'[', ..] | []))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reports_of_many_tools_are_recognised() {
        for line in [
            "error[E0308]: mismatched types",
            "error: could not find `otter` in the registry",
            "  \u{1b}[31merror: expected `;`\u{1b}[0m",
            "src/main.c:12:5: error: 'x' undeclared",
            "web/app.ts(12,5): error TS2304: Cannot find name 'tide'.",
            "thread 'main' panicked at src/main.rs:3:5:",
            "ValueError: not a tide",
            "java.lang.IllegalStateException: ebb",
            "TypeError [ERR_INVALID_ARG]: The tide",
            "fatal: not a git repository",
            "bash: otter: command not found",
            "cat: tide.txt: No such file or directory",
            "npm ERR! code ELIFECYCLE",
            "test tide::ebb ... FAILED",
            "test result: FAILED. 3 passed; 1 failed",
            "--- FAIL: TestTide (0.00s)",
            "E   AssertionError: assert 1 == 2",
            "make: *** [all] Error 2",
            "Exception in thread \"main\" java.lang.Error",
            "/tmp/x.o: undefined reference to `tide'",
        ] {
            assert_eq!(error_lines(line).count(), 1, "{line}");
        }
    }

    #[test]
    fn other_lines_are_no_reports() {
        for line in [
            "0 errors",
            "error: 0",
            "fn error(&self) -> Error {",
            "the error is handled above",
            "    return Err(ParseError { line })",
            "test tide::ebb ... ok",
            "test result: ok. 4 passed; 0 failed",
            "Compiling thiserror v2.0.0",
            "use std::error::Error;",
            "details: errorMessage, cause: error.cause, { error: error }",
            "",
        ] {
            assert_eq!(error_lines(line).count(), 0, "{line}");
        }
    }

    #[test]
    fn line_that_names_the_error_is_chosen() {
        let trace = "Traceback (most recent call last):\n  File \"a.py\", line 1, in run\nValueError: not a tide\n";
        assert_eq!(error_line(trace), Some("ValueError: not a tide"));
        let tests = "test tide::ebb ... FAILED\n\nthread 'tide::ebb' panicked at src/tide.rs:3:5:\nleft: 1";
        assert_eq!(error_line(tests), Some("thread 'tide::ebb' panicked at src/tide.rs:3:5:"));
        assert_eq!(error_line("FAIL web/tide.test.ts"), Some("FAIL web/tide.test.ts"));
        assert_eq!(error_line("all is well"), None);
    }

    proptest! {
        #[test]
        fn error_lines_are_parts_of_the_output(text in "(error: |Error|\\x1b\\[3|m|: |\n|\\PC){0,60}") {
            for line in error_lines(&text) { prop_assert!(text.contains(line)); }
        }
    }
}
