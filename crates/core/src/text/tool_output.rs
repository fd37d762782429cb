//! Chooses the indexed part of a long tool output: its beginning, its end, and every line that reports an error.

/// Words that mark a line of output as a report of failure, compared without case.
const FAILURE_WORDS: [&str; 14] = [
    "error",
    "panick",
    "exception",
    "traceback",
    "fatal",
    "failed",
    "failure",
    "fail:",
    "cannot ",
    "denied",
    "undefined",
    "not found",
    "unresolved",
    "abort",
];
/// Most bytes of error lines; beyond this they repeat themselves.
const MAX_FAILURE_BYTES: usize = 16 * 1024;
/// Most bytes of one error line, so that one minified line does not use up the allowance.
const MAX_FAILURE_LINE: usize = 1024;

/// Cuts `text` to about `max_bytes`: half from its beginning, half from its end, with the error
/// lines of the middle between them. A text that fits is returned as it is.
///
/// ```
/// let log = format!("{}\nerror[E0308]: mismatched types\n{}", "start ".repeat(100), "end ".repeat(100));
/// let cut = yore_core::text::excerpt(&log, 100);
/// assert!(cut.contains("error[E0308]: mismatched types") && cut.len() < 300);
/// ```
pub fn excerpt(text: &str, max_bytes: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= max_bytes {
        return text.into();
    }
    let half = max_bytes / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    let mut cut = String::with_capacity(max_bytes + 64);
    cut.push_str(&text[..head]);
    cut.push_str("\n…\n");
    let before = cut.len();
    for line in text[head..tail].lines() {
        if cut.len() - before > MAX_FAILURE_BYTES {
            break;
        }
        if reports_failure(line) {
            cut.push_str(&line[..line.floor_char_boundary(MAX_FAILURE_LINE)]);
            cut.push('\n');
        }
    }
    if cut.len() > before {
        cut.push_str("…\n");
    }
    cut.push_str(&text[tail..]);
    cut.into()
}

fn reports_failure(line: &str) -> bool {
    let bytes = line.as_bytes();
    FAILURE_WORDS.iter().any(|word| {
        let (first, length) = (word.as_bytes()[0], word.len());
        (0..(bytes.len() + 1).saturating_sub(length))
            .any(|at| bytes[at].eq_ignore_ascii_case(&first) && bytes[at..at + length].eq_ignore_ascii_case(word.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn error_lines_in_the_middle_survive() {
        let text = format!("{}\nTypeError: x is not a function\nfine\n{}", "a\n".repeat(5000), "b\n".repeat(5000));
        let cut = excerpt(&text, 200);
        assert!(cut.contains("TypeError: x is not a function"));
        assert!(!cut.contains("fine"));
        assert!(cut.starts_with("a\n") && cut.ends_with("b\n"));
    }

    proptest! {
        #[test]
        fn excerpt_is_bounded_and_keeps_both_ends(text in "\\PC{0,400}", max in 0usize..100) {
            let cut = excerpt(&text, max);
            prop_assert!(cut.len() <= max + MAX_FAILURE_BYTES + MAX_FAILURE_LINE + 16);
            if text.len() <= max { prop_assert_eq!(cut.as_ref(), text.as_str()); }
        }
    }
}
