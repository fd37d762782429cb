//! Puts a text on one line without marks of Markdown, and cuts it between words or sentences.

/// Returns a text on one line without marks of Markdown.
pub fn plain(text: &str) -> String {
    let mut plain = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("**", "");
    loop {
        let rest = plain.trim_start_matches(['-', '*', '#', '>', '•', ' ']);
        let rest = numbered(rest).unwrap_or(rest);
        if rest.len() == plain.len() {
            return plain;
        }
        plain = rest.to_owned();
    }
}

/// Returns what follows the number of a list's item.
fn numbered(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.get(digits..)?.strip_prefix(['.', ')'])?;
    (digits > 0 && digits < 3 && rest.starts_with(' ')).then(|| rest.trim_start())
}

/// Returns the beginning of a text of at most `most` characters, cut between words.
pub fn cut(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let end = text[..end].rfind(' ').filter(|at| *at > end / 2).unwrap_or(end);
    format!("{}…", text[..end].trim_end_matches([',', ';', ':', ' ', '.']))
}

/// Returns the whole sentences at the beginning of a text of at most `most` characters, or what [`cut`] leaves if the first
/// is longer.
pub fn cut_sentence(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    match text[..end].rfind(". ") {
        Some(at) if at > end / 3 => text[..=at].to_owned(),
        _ => cut(text, most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_markdown_go_and_words_stay() {
        assert_eq!(plain("  - **Root cause:** `a_b` is\n  nil"), "Root cause: `a_b` is nil");
        assert_eq!(plain("### 2. The fix"), "The fix");
        assert_eq!(plain("2026 was good"), "2026 was good");
        assert_eq!(plain("- "), "");
    }

    #[test]
    fn a_long_text_is_cut_between_words() {
        assert_eq!(cut("one two three", 40), "one two three");
        assert_eq!(cut("one two three", 10), "one two…");
        assert_eq!(cut("ööööööööö", 4), "öööö…");
        assert_eq!(cut_sentence("One. Two three.", 8), "One.");
        assert_eq!(cut_sentence("One two three.", 9), "One two…");
    }
}
