//! Removes lone surrogates (half characters) from JSON, so that it can be parsed.

use std::borrow::Cow;

/// Bytes of an escape such as `\ud83d`.
const ESCAPE: usize = 6;

/// Replaces every lone surrogate of a JSON text by `\ufffd`, which has the same length. JavaScript writes `\ud83d`
/// without its partner where it cuts a text; that is not a character, and JSON readers reject the whole text because
/// of it.
pub fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    let unit_at = |at: usize| -> Option<u16> {
        let digits = text.get(at..at + ESCAPE)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
    };
    let mut fixed = Cow::Borrowed(text);
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        at += found;
        at += match unit_at(at) {
            Some(0xd800..0xdc00) if matches!(unit_at(at + ESCAPE), Some(0xdc00..0xe000)) => 2 * ESCAPE,
            Some(0xd800..0xe000) => {
                fixed.to_mut().replace_range(at..at + ESCAPE, "\\ufffd");
                ESCAPE
            }
            Some(_) => ESCAPE,
            // An escaped character cannot begin another escape.
            None => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
    }
    fixed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pairs_and_escaped_backslashes_are_left_alone() {
        assert_eq!(without_lone_surrogates(r#""\ud83d\ude00 \\ud83d""#), r#""\ud83d\ude00 \\ud83d""#);
        assert_eq!(without_lone_surrogates(r#""\ud83dx\u0041\udc00""#), r#""\ufffdx\u0041\ufffd""#);
    }

    proptest! {
        #[test]
        fn length_stays_and_so_does_what_it_leaves(text in "[a-f0-9ud\\\\\"é]{0,60}") {
            let fixed = without_lone_surrogates(&text).into_owned();
            prop_assert_eq!(fixed.len(), text.len());
            prop_assert_eq!(without_lone_surrogates(&fixed), fixed.as_str());
        }
    }
}
