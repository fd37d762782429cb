//! Edits a block between two marks in a Markdown file.

use super::EditError;

const BEGIN: &str = "<!-- yore: written by `yore install`, taken away by `yore uninstall` -->";
const END: &str = "<!-- yore: end -->";

/// The block, without its marks.
#[derive(Clone, Debug)]
pub struct Block {
    /// Text of the block.
    pub text: &'static str,
}

impl Block {
    /// Returns the text with the block at its end, or in place of an older one.
    pub fn put(&self, before: &str) -> Result<String, EditError> {
        let newline = if before.contains("\r\n") { "\r\n" } else { "\n" };
        let block = format!("{BEGIN}\n{}\n{END}", self.text.trim_end()).replace('\n', newline);
        if let Some((start, end)) = place(before)? {
            return Ok(format!("{}{block}{}", &before[..start], &before[end..]));
        }
        // The end of the block shows whether the text ended with a line break.
        Ok(match before {
            "" => format!("{block}{newline}"),
            _ if before.ends_with('\n') => format!("{before}{newline}{block}{newline}"),
            _ => format!("{before}{newline}{newline}{block}"),
        })
    }

    /// Returns the text without the block.
    pub fn take(&self, before: &str) -> String {
        let Ok(Some((start, end))) = place(before) else { return before.to_owned() };
        let (mut above, mut below) = (&before[..start], &before[end..]);
        match strip_start(below) {
            Some(rest) => {
                below = rest;
                // Also removes the blank line that separated it.
                if let Some(less) = strip_end(above).filter(|less| less.ends_with('\n')) {
                    above = less;
                }
            }
            None if below.is_empty() => {
                for _ in 0..2 {
                    above = strip_end(above).unwrap_or(above);
                }
            }
            None => {}
        }
        format!("{above}{below}")
    }

    /// Returns whether the block is in the text, with any content.
    pub fn is_in(&self, text: &str) -> bool {
        text.contains(BEGIN)
    }
}

fn strip_end(text: &str) -> Option<&str> {
    let less = text.strip_suffix('\n')?;
    Some(less.strip_suffix('\r').unwrap_or(less))
}

fn strip_start(text: &str) -> Option<&str> {
    text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n'))
}

/// Returns the range from the first mark to the end of the last one.
fn place(text: &str) -> Result<Option<(usize, usize)>, EditError> {
    let Some(start) = text.find(BEGIN) else { return Ok(None) };
    let end = text[start..].find(END).map(|end| start + end + END.len());
    match end {
        Some(end) if text[end..].find(BEGIN).is_none() => Ok(Some((start, end))),
        Some(_) => Err(EditError::Unusual("it contains yore's block twice; remove one of them".to_owned())),
        None => Err(EditError::Unusual(format!("yore's block has no end mark; add {END} where it ends"))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BLOCK: Block = Block { text: "What was said\nis kept.\n" };

    #[test]
    fn block_is_set_apart_and_renewed_in_its_place() {
        let after = BLOCK.put("# Mine\n").unwrap();
        assert_eq!(after, format!("# Mine\n\n{BEGIN}\nWhat was said\nis kept.\n{END}\n"));
        assert_eq!(BLOCK.put(&after).unwrap(), after);
        let moved = format!("{after}\nMore of mine\n");
        let newer = Block { text: "Less.\n" };
        let renewed = newer.put(&moved).unwrap();
        assert_eq!(renewed, format!("# Mine\n\n{BEGIN}\nLess.\n{END}\n\nMore of mine\n"));
        assert_eq!(newer.take(&renewed), "# Mine\n\nMore of mine\n");
    }

    #[test]
    fn torn_block_is_left_alone() {
        let torn = format!("a\n{BEGIN}\nx\n");
        assert!(matches!(BLOCK.put(&torn), Err(EditError::Unusual(_))));
        assert_eq!(BLOCK.take(&torn), torn);
    }

    proptest! {
        #[test]
        fn what_was_put_comes_out_again(text in "[a# é\n]{0,20}", windows in any::<bool>()) {
            let text = if windows { text.replace('\n', "\r\n") } else { text };
            let after = BLOCK.put(&text).unwrap();
            prop_assert!(after.starts_with(&text) && BLOCK.is_in(&after));
            prop_assert_eq!(BLOCK.take(&after), text);
        }
    }
}
