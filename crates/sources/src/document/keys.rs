//! Names sections: the path of each, with a number if several have the same path.

use std::collections::HashMap;

/// Longer names are cut.
const MAX_PART_CHARS: usize = 120;

/// Gives each section a unique name.
#[derive(Debug, Default)]
pub(super) struct Keys {
    used: HashMap<String, u32>,
}

impl Keys {
    /// Returns the path as a name; the second of equal ones ends in `~2`.
    pub(super) fn take(&mut self, path: &[String]) -> String {
        self.take_name(path.iter().map(|part| short(part)).collect::<Vec<_>>().join("/"))
    }

    /// Returns the name of a further piece, from the second on, of the section named `key`.
    pub(super) fn take_piece(&mut self, key: &str, number: usize) -> String {
        self.take_name(format!("{key}+{number}"))
    }

    fn take_name(&mut self, base: String) -> String {
        loop {
            let count = self.used.entry(base.clone()).or_default();
            *count += 1;
            if *count == 1 {
                return base;
            }
            let numbered = format!("{base}~{count}");
            if !self.used.contains_key(&numbered) {
                self.used.insert(numbered.clone(), 1);
                return numbered;
            }
        }
    }
}

fn short(part: &str) -> String {
    part.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_PART_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_paths_are_numbered_and_no_name_is_given_twice() {
        let mut keys = Keys::default();
        let mut take = |text: &str| keys.take(&[text.to_owned()]);
        assert_eq!([take("a"), take("a~2"), take("a"), take("a")], ["a", "a~2", "a~3", "a~4"]);
        assert_eq!(take("two  words\nhere"), "two words here");
    }
}
