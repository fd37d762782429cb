//! Redaction of any text, of any JSON, by any pattern of a user: redacted text stays redacted, and JSON stays
//! JSON.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use yore_sources::redact::{RedactionCounts, Redactor};

fuzz_target!(|data: &[u8]| {
    static REDACTOR: OnceLock<Redactor> = OnceLock::new();
    let redactor = REDACTOR.get_or_init(|| Redactor::new(&[7; 32]));
    let Some((first, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let mut counts = RedactionCounts::default();
    if first % 16 == 0 {
        // Uses the first line as a user's pattern.
        let (pattern, text) = text.split_once('\n').unwrap_or((&text, "password"));
        if let Ok(redactor) = Redactor::with_patterns(&[7; 32], &[pattern.to_owned()]) {
            let _ = redactor.text(text, &mut counts);
        }
        return;
    }
    if let Some(redacted) = redactor.text(&text, &mut counts) {
        let mut again = RedactionCounts::default();
        let second = redactor.text(&redacted, &mut again);
        assert!(second.as_ref().is_none_or(|second| *second == redacted), "{redacted:?} becomes {second:?}");
    }
    if let Ok(mut value) = serde_json::from_str::<Value>(&text) {
        redactor.json(&mut value, &mut counts);
        let once = value.clone();
        redactor.json(&mut value, &mut counts);
        assert_eq!(value, once, "redacted twice");
    }
});
