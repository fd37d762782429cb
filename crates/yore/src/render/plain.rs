//! Formats numbers, times, sizes and tables, and makes foreign text harmless for terminals.

use yore_core::time::{UtcMillis, format_utc};

/// Formats a time as `2026-01-22 14:53` in the person's time zone, or `unknown time`.
pub fn time(utc: Option<UtcMillis>) -> String {
    formatted(utc, "%Y-%m-%d %H:%M")
}

/// Formats a time as `2026-01-22 14:53:07 +01:00` in the person's time zone, or `unknown time`.
pub fn exact_time(utc: Option<UtcMillis>) -> String {
    formatted(utc, "%Y-%m-%d %H:%M:%S %:z")
}

fn formatted(utc: Option<UtcMillis>, form: &str) -> String {
    let Some(utc) = utc else { return "unknown time".to_owned() };
    match jiff::Timestamp::from_millisecond(utc) {
        Ok(stamp) => stamp.to_zoned(jiff::tz::TimeZone::system()).strftime(form).to_string(),
        Err(_) => format_utc(utc),
    }
}

/// Formats a date as `2026-01-22`, or `?`.
pub fn day(utc: Option<UtcMillis>) -> String {
    utc.map_or_else(|| "?".to_owned(), |_| time(utc).chars().take(10).collect())
}

/// Formats a size as `1.5 MB`, in decimal units.
pub fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.0} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.2} GB", count as f64 / 1e9),
    }
}

/// Formats a number as `12,345`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a count as `1 session`, `2 sessions`, `3 memories`.
pub fn counted(number: u64, singular: &str) -> String {
    let (stem, ending) = match singular.strip_suffix('y') {
        _ if number == 1 => (singular, ""),
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => (stem, "ies"),
        _ => (singular, "s"),
    };
    format!("{} {stem}{ending}", count(number))
}

/// Removes what a terminal would obey: control characters other than newline and tab, and those that change
/// the direction of writing. Also removes characters that people cannot see but a model reads (tags,
/// variation selectors, zero-width spaces): they can spell hidden words or split a word that is searched for.
/// A line or paragraph separator of Unicode becomes a space: some readers break the line there, others do not.
/// A character that joins letters of a script or signs of an emoji is kept, one at a time between two of
/// these. Recalled text is data.
pub fn harmless(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        let letter = if is_separator(letter) { ' ' } else { letter };
        let is_kept = match u32::from(letter) {
            // Keep a joiner between letters, and an emoji's variation selector after its sign.
            0x200C | 0x200D => !before.is_ascii() && letters.peek().is_some_and(|next| !next.is_ascii() && !is_unseen(*next)),
            0xFE0F => !before.is_ascii(),
            _ => !is_unsafe(letter),
        };
        if is_kept {
            safe.push(letter);
        }
        // A character that was joined or selected is not joined or selected again.
        before = if is_unseen(letter) { ' ' } else { letter };
    }
    safe
}

/// Returns whether a character is invisible: those that Unicode calls default ignorable, its fillers that
/// look like spaces, and those that change the direction of writing.
pub fn is_unseen(letter: char) -> bool {
    matches!(
        u32::from(letter),
        0xAD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F | 0x200B..=0x200F | 0x202A..=0x202E
            | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB | 0x1BCA0..=0x1BCA3
            | 0x1D173..=0x1D17A | 0xE_0000..=0xE_0FFF
    )
}

/// Returns whether a character is the line or the paragraph separator of Unicode.
fn is_separator(letter: char) -> bool {
    matches!(letter, '\u{2028}' | '\u{2029}')
}

/// Returns whether a terminal may obey or hide a character; newline and tab are not of these.
pub fn is_unsafe(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t')) || is_separator(letter) || is_unseen(letter)
}

/// Escapes control characters, which a terminal would obey, separators of lines, and invisible characters:
/// for text that is shown unchanged.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_unsafe(letter) {
            shown.push_str(&letter.escape_unicode().to_string());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Aligns the columns of a table; the last column is not padded.
pub fn table(rows: &[Vec<String>]) -> Vec<String> {
    let width = |text: &str| text.chars().count();
    let widths = widths(rows);
    rows.iter()
        .map(|row| {
            let last = row.len().saturating_sub(1);
            row.iter()
                .enumerate()
                .map(
                    |(column, cell)| {
                        if column == last { cell.clone() } else { format!("{cell}{}", " ".repeat(widths[column] - width(cell))) }
                    },
                )
                .collect::<Vec<_>>()
                .join("  ")
                .trim_end()
                .to_owned()
        })
        .collect()
}

/// Returns the widths of the columns of a table.
pub fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    (0..columns).map(width).collect()
}

/// Indents every line that is not empty.
pub fn indent(text: &str, by: &str) -> String {
    text.lines().map(|line| if line.is_empty() { String::new() } else { format!("{by}{line}") }).collect::<Vec<_>>().join("\n")
}

/// Returns a text on one line, without control characters.
pub fn one_line(words: &str) -> String {
    harmless(words).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Formats an age as `12 s ago`.
pub fn ago(passed_ms: UtcMillis) -> String {
    match passed_ms / 1000 {
        ..1 => "now".to_owned(),
        seconds @ 1..60 => format!("{seconds} s ago"),
        seconds @ 60..3_600 => format!("{} min ago", seconds / 60),
        seconds @ 3_600..172_800 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_sizes_rounded() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(counted(1, "turn"), "1 turn");
        assert_eq!(bytes(1_500_000), "1.5 MB");
    }

    #[test]
    fn text_cannot_steer_a_terminal() {
        assert_eq!(harmless("a\x1b[2Jb\u{202e}c\n"), "a[2Jbc\n");
        assert_eq!(harmless("a\u{e0001}\u{e0041}\u{e007f}b\u{e0080}\u{e01ef}"), "ab");
    }

    #[test]
    fn separators_of_lines_do_not_reach_a_terminal() {
        assert_eq!(harmless("one\u{2028}two\u{2029}three\u{85}"), "one two three");
        assert_eq!(visible("one\u{2028}\u{2029}two"), "one\\u{2028}\\u{2029}two");
    }

    #[test]
    fn table_aligns_all_but_the_last_column() {
        assert_eq!(table(&[vec!["a".into(), "long".into()], vec!["bbb".into(), "x".into()]]), ["a    long", "bbb  x"]);
    }
}
