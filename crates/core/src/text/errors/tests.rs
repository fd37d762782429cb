//! Lines that report an error, and lines that only look like it.

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
        "clean.go:12:3: undefined: X",
        "./session_test.go:5:2: \"path/filepath\" imported and not used",
        "cmd/tide/view.go:332: 332-360 lines are duplicate of `cmd/tide/list.go:72-100` (dupl)",
        "C:\\otter\\tide.c:3:1: expected ';'",
        "CONFLICT (content): Merge conflict in src/tide.rs",
        "gh: Not Found (HTTP 404)",
        "curl: the gauge answered late (HTTP 503)",
        "jq: error (at <stdin>:4): Cannot index string with string \"ebb\"",
        "[lint] ERROR task failed",
        "2026-03-01T12:00:03Z ERROR tide: gauge lost",
        "mise ERROR error parsing config file: mise.toml",
        "(eval):cd:1: no such file or directory: src/tide",
        "open almanac.toml: no such file or directory",
        "(eval):1: no matches found: *.tide",
        "Rebasing (4/7)\rerror: could not apply 43948cde... smaller tides",
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
        "src/a.rs:12:fn main()",
        "src/a.rs:12:    let tide: Tide = ebb;",
        "src/a.go:12:\ttide: ebb,",
        "src/a.ts:12: * tide: what the gauge says",
        "src/a.rs:12:3:let tide: u8 = 1;",
        "src/a.c:12:5: warning: unused variable 'ebb'",
        "src/a.c:12:5: note: declared here",
        "10:20:30: started",
        "2026/03/01 12:00:03 main.go:12: listening",
        "    tide_test.go:33: gauge is ready",
        "http://localhost:8080: ready",
        "https://tide.example.rs:8080: ready",
        "see docs/tide.rs:12: there it stands",
        "    at run (tide.js:12:3)",
        "  --> src/a.rs:3:1",
        "README.md:12: the tide",
        "// an ERROR is logged",
        "const LEVEL = \"x ERROR y\"",
        "gh: Created (HTTP 201)",
        "total 404: (HTTP headers)",
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

#[test]
fn reason_below_the_heading_of_a_failed_test_is_a_report() {
    let log = "    tide_test.go:3: set up\n--- FAIL: TestTide (0.02s)\n    tide_test.go:33: data race: ebb\n    more of it\nok tide\n    tide_test.go:9: fine";
    let found: Vec<&str> = error_lines(log).collect();
    assert_eq!(found, ["--- FAIL: TestTide (0.02s)", "tide_test.go:33: data race: ebb"]);
    assert_eq!(error_line(log), Some("tide_test.go:33: data race: ebb"));
}

#[test]
fn reasons_are_reports_before_headings_and_the_first_words_where_nothing_is_reported() {
    let lint = "Exit code 1\n[lint] $ tidelint ./...\n[lint] ERROR task failed\n\na.go:1:2: no ebb\na.go:1:2: no ebb\nb.go:3:4: no flood";
    assert_eq!(error_reasons(lint, 3), ["a.go:1:2: no ebb", "b.go:3:4: no flood"]);
    assert_eq!(error_reasons("Exit code 1\n[lint] ERROR task failed\nok tide 0.1s and more", 3), [""; 0]);
    assert_eq!(error_reasons("<tool_use_error>Sibling tool call errored</tool_use_error>", 3), [""; 0]);
    let tasks = "[lint:go] ERROR task failed\n[lint:go] a.go:1:2: no ebb\n[test] ok tide and more";
    assert_eq!(error_reasons(tasks, 3), ["a.go:1:2: no ebb"]);
    let plain = "Exit code 1\n\n---\n[run] $ tide --draw now please\naccepts at most one gauge, received 3\n0 1 2";
    assert_eq!(error_reasons(plain, 3), ["accepts at most one gauge, received 3"]);
    assert_eq!(error_reasons("Exit code 1\n---\n---", 3), [""; 0]);
}

#[test]
fn what_differs_from_run_to_run_is_left_out() {
    for (said, expected) in [
        ("--- FAIL: TestFlushTicker (0.01s)", "--- FAIL: TestFlushTicker"),
        ("flush_test.go:33: data race: ebb", "flush_test.go: data race: ebb"),
        ("src/tide.rs:3:14: no `ebb`", "src/tide.rs: no `ebb`"),
        ("  panicked at src/tide.rs:3:5:", "panicked at src/tide.rs:"),
        ("2026-03-01T12:00:03Z ERROR tide: lost after 1m3.5s, 91µs", "ERROR tide: lost after"),
        ("12:00:03.250 otter[812]: goroutine 17 died at 0x7ffe12ab", "otter: goroutine died at"),
        ("could not apply 43948cde... smaller", "could not apply smaller"),
        ("thread 'tide' (48112) panicked", "thread 'tide' panicked"),
        ("pid 812 gone, pid=x", "pid gone, pid=x"),
        ("SyntaxError at line 3, column 14: deadbeef", "SyntaxError at line column deadbeef"),
        ("want 3, got 4 (HTTP 404)", "want 3, got 4 (HTTP 404)"),
        ("jq: error (at <stdin>:4): no ebb", "jq: error (at <stdin>: no ebb"),
        ("http://localhost:8080/ebb 0.5 v2", "http://localhost:8080/ebb 0.5 v2"),
    ] {
        assert_eq!(steady(said), expected, "{said}");
    }
}

proptest! {
    #[test]
    fn found_code_is_no_report(name in "[a-z]{1,8}(/[a-z]{1,8}){0,2}", line in 1u32..99_999, code in "[a-z(){};=,._]{1,12}( [a-z(){};=,._]{1,8}){0,4}") {
        let found = format!("{name}.rs:{line}:{code}");
        prop_assert_eq!(error_lines(&found).count(), 0);
        let indented = format!("{name}.rs:{line}:    {code}");
        prop_assert_eq!(error_lines(&indented).count(), 0);
    }

    #[test]
    fn place_and_duration_make_no_other_error(row in 1u32..9_999, column in 1u32..200, millis in 0u32..100_000) {
        let said = format!("tide.go:{row}:{column}: no ebb ({millis}ms)");
        prop_assert_eq!(steady(&said), "tide.go: no ebb");
    }

    #[test]
    fn steady_words_are_never_more(text in "\\PC{0,80}") {
        prop_assert!(steady(&text).len() <= text.len());
        prop_assert_eq!(steady(&steady(&text)).len() <= steady(&text).len(), true);
    }

    #[test]
    fn error_lines_are_parts_of_the_output(text in "(error: |Error|\\x1b\\[3|m|: |\n|\\PC){0,60}") {
        for line in error_lines(&text) { prop_assert!(text.contains(line)); }
    }
}
