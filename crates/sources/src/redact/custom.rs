//! The user's own redaction patterns (`redaction.extra_patterns`).
//!
//! * [`CustomPatterns`]: compiled once, run over every text.
//! * [`RedactionPatternError`]: a pattern that cannot be used, and why.
//!
//! A match is cut where it meets a marker. A match that begins inside a marker does not count, and the search
//! resumes after that marker. So a marker protects nothing beside it and is never redacted itself.

use regex::{Regex, RegexBuilder};

use super::finder::Span;
use super::rules::SecretKind;

/// Maximum size of one compiled pattern, in bytes.
const SIZE_LIMIT: usize = 1 << 20;

/// A pattern that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} cannot be used for redaction: {detail}")]
pub struct RedactionPatternError {
    /// The pattern.
    pub pattern: String,
    /// The reason, without the pattern.
    pub detail: String,
}

/// Compiled patterns, in the order in which they were given.
#[derive(Default)]
pub(super) struct CustomPatterns(Vec<Regex>);

impl CustomPatterns {
    pub(super) fn new(patterns: &[String]) -> Result<Self, RedactionPatternError> {
        patterns.iter().map(|pattern| compile(pattern)).collect::<Result<_, _>>().map(Self)
    }

    /// Returns a fingerprint of these patterns.
    pub(super) fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for pattern in &self.0 {
            hasher.update(&(pattern.as_str().len() as u64).to_le_bytes()).update(pattern.as_str().as_bytes());
        }
        hasher.finalize().to_hex()[..8].to_owned()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether any pattern matches anywhere outside the markers.
    pub(super) fn find_any(&self, text: &str, markers: &[(usize, usize)]) -> bool {
        let mut spans = Vec::new();
        self.find(text, markers, &mut spans);
        !spans.is_empty()
    }

    /// Adds the matches of the patterns outside the markers. The markers must be sorted and must not overlap.
    pub(super) fn find(&self, text: &str, markers: &[(usize, usize)], spans: &mut Vec<Span>) {
        for pattern in &self.0 {
            let mut from = 0;
            while let Some(found) = pattern.find_at(text, from) {
                let next = markers.partition_point(|&(_, end)| end <= found.start());
                match markers.get(next) {
                    Some(&(start, end)) if start <= found.start() => from = end,
                    _ => {
                        cut(found.start(), found.end(), &markers[next..], spans);
                        from = found.end();
                    }
                }
                // An empty match redacts nothing. Some patterns match the empty string beside letters only.
                if found.is_empty() {
                    from = from.max(found.end() + text[found.end()..].chars().next().map_or(1, char::len_utf8));
                }
                if from > text.len() {
                    break;
                }
            }
        }
    }
}

/// Checks that a pattern can be used.
///
/// # Errors
/// See [`Redactor::with_patterns`](super::Redactor::with_patterns).
pub fn check_pattern(pattern: &str) -> Result<(), RedactionPatternError> {
    compile(pattern).map(|_| ())
}

fn compile(pattern: &str) -> Result<Regex, RedactionPatternError> {
    let fail = |detail: String| RedactionPatternError { pattern: pattern.to_owned(), detail };
    let regex = RegexBuilder::new(pattern).size_limit(SIZE_LIMIT).dfa_size_limit(SIZE_LIMIT).build().map_err(|error| {
        fail(match error {
            regex::Error::CompiledTooBig(_) => "it is too large when compiled".to_owned(),
            // The parser prints the pattern before the error message.
            other => other.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned(),
        })
    })?;
    // Checked beside a letter too, because a word boundary needs one.
    if ["", "a", " "].iter().any(|text| regex.find_iter(text).any(|found| found.is_empty())) {
        return Err(fail("it matches the empty string".to_owned()));
    }
    Ok(regex)
}

/// Adds the range `start..end` without the markers in it.
fn cut(mut start: usize, end: usize, markers: &[(usize, usize)], spans: &mut Vec<Span>) {
    let mut push = |start: usize, end: usize| {
        if start < end {
            spans.push(Span { start, end, kind: SecretKind::Custom });
        }
    };
    for &(marker_start, marker_end) in markers.iter().take_while(|&&(marker_start, _)| marker_start < end) {
        push(start, marker_start);
        start = marker_end;
    }
    push(start, end);
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::{RedactionCounts, Redactor};
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn redactor(patterns: &[&str]) -> Redactor {
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        Redactor::with_patterns(&KEY, &patterns).unwrap()
    }

    /// Returns the text after redaction, with digests written as `#`.
    fn redacted(redactor: &Redactor, text: &str) -> String {
        let mut counts = RedactionCounts::default();
        let once = redactor.text(text, &mut counts).unwrap_or_else(|| text.to_owned());
        assert_eq!(counts.is_empty(), once == text);
        assert_eq!(redactor.text(&once, &mut counts), None, "twice is once: {once}");
        Regex::new("[0-9a-f]{8}]").unwrap().replace_all(&once, "#]").into_owned()
    }

    fn token() -> String {
        format!("{}{}", concat!("gh", "p_"), "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6")
    }

    #[test]
    fn custom_patterns_are_caught_in_text_keys_and_values() {
        let redactor = redactor(&[r"\bEMP-\d{4,}\b", "(?i)project nightjar"]);
        let marker = "[yore:redacted custom #]";
        assert_eq!(redacted(&redactor, "ask EMP-20417 about Project Nightjar"), format!("ask {marker} about {marker}"));
        assert_eq!(redacted(&redactor, "EMP-204"), "EMP-204");
        assert_eq!(redacted(&redactor, "EMP-2041"), marker, "short texts too");
        let mut value = json!({"EMP-7788": {"who": ["EMP-1234", 5], "x": "plain"}, "plain": "EMP-1234 left"});
        let mut counts = RedactionCounts::default();
        assert!(redactor.json(&mut value, &mut counts));
        assert_eq!((counts.get(SecretKind::Custom), counts.total()), (3, 3));
        assert_eq!(counts.iter().collect::<Vec<_>>(), [("custom", 3)]);
        let text = value.to_string();
        assert!(!text.contains("EMP-") && text.contains("plain"), "{text}");
        assert_eq!(
            value["plain"].as_str().unwrap(),
            format!("{} left", value.as_object().unwrap().values().next().unwrap()["who"][0].as_str().unwrap())
        );
        assert!(!redactor.json(&mut value, &mut counts));
    }

    #[test]
    fn tiny_values_are_looked_at() {
        let mut value = json!({"pin": "42", "other": "43"});
        redactor(&["^42$"]).json(&mut value, &mut RedactionCounts::default());
        assert_ne!(value["pin"], "42");
        assert_eq!(value["other"], "43");
    }

    #[test]
    fn bad_patterns_are_named_with_the_reason() {
        let error = |pattern: &str| {
            let error = Redactor::with_patterns(&KEY, &["fine".to_owned(), pattern.to_owned()]).unwrap_err();
            assert_eq!(error.pattern, pattern);
            error.detail
        };
        assert_eq!(error("EMP-(\\d+"), "unclosed group");
        assert_eq!(error("a*"), "it matches the empty string");
        assert_eq!(error(r"\b"), "it matches the empty string");
        assert_eq!(error(r"(?m)^"), "it matches the empty string");
        assert_eq!(error(r"\w{1000}"), "it is too large when compiled");
        assert!(check_pattern(r"\bEMP-\d+").is_ok());
    }

    #[test]
    fn no_marker_is_touched_and_none_shields_its_surroundings() {
        let all = redactor(&["(?s).+"]);
        assert_eq!(
            redacted(&all, "a [yore:redacted jwt 12345678] b"),
            "[yore:redacted custom #][yore:redacted jwt #][yore:redacted custom #]"
        );
        let within = redactor(&["redacted.{0,40}", "jwt"]);
        assert_eq!(redacted(&within, "[yore:redacted jwt 12345678] and more"), "[yore:redacted jwt #] and more");
        let glued = redactor(&[r"\S+@corp"]);
        assert_eq!(redacted(&glued, "[yore:redacted jwt 12345678]joe@corp"), "[yore:redacted jwt #][yore:redacted custom #]");
    }

    #[test]
    fn overlap_with_a_known_token_keeps_the_more_telling_kind() {
        let token = token();
        let out = redacted(&redactor(&["ticket .*"]), &format!("see ticket {token} now"));
        assert_eq!(out, "see [yore:redacted github-token #]");
    }

    #[test]
    fn a_pattern_that_never_rests_takes_the_whole_text() {
        assert_eq!(redacted(&redactor(&[r"\b\d"]), "id 1234567890123 end"), "[yore:redacted custom #]".repeat(10));
    }

    #[test]
    fn without_patterns_nothing_differs() {
        let (plain, with_none) = (Redactor::new(&KEY), redactor(&[]));
        let text = format!("EMP-20417 {}", token());
        let mut counts = RedactionCounts::default();
        assert_eq!(plain.text(&text, &mut counts), with_none.text(&text, &mut counts));
    }

    /// One redactor for each of several patterns that creep, look around, overlap or match in markers, and
    /// for each pair of neighbouring patterns. All of them match the planted `QX`. Compiling them is slow.
    static REDACTORS: LazyLock<Vec<Redactor>> = LazyLock::new(|| {
        let patterns = [
            r"\bEMP-\d+",
            r"\b\d",
            "^.{3}",
            ".{2}$",
            "(?m)^x.*$",
            "redacted.{0,30}",
            "custom",
            ".{12}",
            r"\w+]",
            "a.{10}",
            r"[^\s]+@corp",
            "ü",
        ];
        let pairs = patterns.windows(2).map(|pair| redactor(&[pair[0], pair[1], PLANTED]));
        patterns.iter().map(|pattern| redactor(&[pattern, PLANTED])).chain(pairs).collect()
    });
    const PLANTED: &str = r"QX\d{6}";

    /// Generates text that the patterns and the rules react to.
    fn spicy() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            2 => "\\PC{0,10}",
            2 => "[ax0-9 ]{0,14}",
            3 => proptest::sample::select(vec![
                "EMP-", "12345", " ", "\n", "joe@corp", "ü", "password=", "\"", "[yore:redacted jwt 12345678]",
                "[yore:redacted custom 0a1b2c3d]", "[yore:", "<private>", "</private>",
            ]).prop_map(str::to_owned),
            1 => Just(token()),
        ];
        proptest::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn with_any_patterns_redacting_is_idempotent_and_catches_what_was_planted(which in 0..23usize, before in spicy(), after in spicy(), digits in "[0-9]{6}") {
            let redactor = &REDACTORS[which];
            let planted = format!("QX{digits}");
            let mut counts = RedactionCounts::default();
            let once = redactor.text(&format!("{before}{planted}{after}"), &mut counts).unwrap_or_default();
            prop_assert!(!once.is_empty() && !once.contains(&planted), "{}", once);
            prop_assert_eq!(redactor.text(&once, &mut counts), None, "{}", once);
            let mut value = json!({"password": before, planted.clone(): [after, planted.clone()]});
            redactor.json(&mut value, &mut counts);
            let once = value.to_string();
            prop_assert!(!once.contains(&planted), "{}", once);
            redactor.json(&mut value, &mut counts);
            prop_assert_eq!(value.to_string(), once);
        }
    }
}
