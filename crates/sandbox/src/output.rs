//! Collects the output of a cell up to a limit, counts the rest, and measures memory while the cell runs.

use std::borrow::Cow;
use std::fmt;

use monty_types::{MontyException, PrintWriterCallback};

use crate::confine::Memory;

/// The output of one cell.
pub(crate) struct Output<'a> {
    pub(crate) text: String,
    /// Characters of `text`.
    kept: usize,
    most: usize,
    pub(crate) dropped: u64,
    memory: &'a Memory,
}

impl<'a> Output<'a> {
    pub(crate) fn new(most: usize, memory: &'a Memory) -> Self {
        Self { text: String::new(), kept: 0, most, dropped: 0, memory }
    }

    fn push(&mut self, more: &str) {
        // No text has more characters than bytes, so the count is needed only near the end.
        let room = self.most - self.kept;
        if more.len() <= room {
            self.kept += more.chars().count();
            self.text.push_str(more);
            return;
        }
        let end = more.char_indices().nth(room).map_or(more.len(), |(at, _)| at);
        let (head, tail) = more.split_at(end);
        self.kept += head.chars().count();
        self.text.push_str(head);
        self.dropped += tail.chars().count() as u64;
    }
}

impl fmt::Write for Output<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text);
        Ok(())
    }
}

impl PrintWriterCallback for Output<'_> {
    fn stdout_write(&mut self, output: Cow<'_, str>) -> Result<(), MontyException> {
        self.push(&output);
        Ok(())
    }

    fn stdout_push(&mut self, end: char) -> Result<(), MontyException> {
        self.push(end.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    // The interpreter calls this every few thousand instructions.
    fn poll_flush(&mut self) -> Result<(), MontyException> {
        self.memory.look();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_cut_by_characters_and_the_rest_is_counted() {
        let memory = Memory::closed();
        let mut output = Output::new(5, &memory);
        output.push("éé");
        output.push("éééé");
        output.push("x");
        assert_eq!((output.text.as_str(), output.dropped), ("ééééé", 2));
    }
}
