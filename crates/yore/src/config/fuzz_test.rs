//! Fuzz tests: arbitrary text as a configuration.

use proptest::prelude::*;

use super::key::Key;
use super::test_support::Setup;
use super::{CaptureMode, RecallScope};

/// Returns text made of the words and signs of a configuration in any order.
fn toml_like() -> impl Strategy<Value = String> {
    let mut words: Vec<String> = Key::all().map(|key| key.name.to_owned()).collect();
    words.extend(Key::all().map(|key| format!("[{}]", key.split().0)));
    words.extend(Key::all().map(|key| key.split().1.to_owned()));
    let signs = [
        "=",
        "\n",
        "\n",
        "\n",
        ".",
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        "\"",
        "'",
        "\"\"\"",
        "true",
        "3",
        "0.5",
        "nan",
        "-1",
        "1e999",
        "9223372036854775808",
        "{env:A}",
        "\"{env:A}\"",
        "{env:",
        "\"all\"",
        "[\"a\"]",
        "1979-05-27",
        "#",
        "\\",
        "\u{feff}",
        "\0",
        "\r",
        "é",
    ];
    words.extend(signs.map(str::to_owned));
    let space = prop_oneof![Just(""), Just(" ")];
    let word = (prop::sample::select(words), space);
    prop::collection::vec(word, 0..40).prop_map(|words| {
        let text = words.into_iter().map(|(word, space)| word + space);
        text.collect()
    })
}

proptest! {
    #[test]
    fn loading_never_panics(text in prop_oneof![any::<String>(), toml_like()], value in any::<String>()) {
        let setup = Setup::new()
            .user(&text)
            .project(&text)
            .environment(&[("A", &value), ("YORE_RECALL__LIMIT", &value)])
            .flag(&text, &value)
            .flag("capture.projects", &value);
        for problem in setup.check() {
            prop_assert!(!problem.to_string().contains('\n'));
        }
        let _ = setup.load();
    }

    #[test]
    fn a_project_file_never_widens(text in toml_like()) {
        if let Ok(resolved) = Setup::new().user("capture.mode = \"opt-in\"").project(&text).load() {
            let config = resolved.config;
            prop_assert!(config.redaction.extra_patterns.is_empty() && config.capture.projects.is_empty());
            prop_assert!(config.capture.mode == CaptureMode::OptIn);
            prop_assert!(config.recall.scope != RecallScope::All);
        }
    }
}

#[test]
fn tables_within_tables_end_somewhere() {
    let deep = format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(!Setup::new().user(&deep).check().is_empty());
    let dotted = format!("a{} = 1", ".a".repeat(20_000));
    assert!(!Setup::new().user(&dotted).check().is_empty());
}
