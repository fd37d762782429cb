//! The ten categories of the design as data: description, tags and words of each, English and German.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Fewest letters of a beginning that stands for all words with it.
const SHORTEST_BEGINNING: usize = 3;

/// A category that exists wherever memories fall into it.
#[derive(Debug)]
pub(super) struct Seed {
    /// Its name.
    pub name: &'static str,
    /// A sentence that describes it.
    pub about: &'static str,
    /// Tags by which a memory belongs to it.
    pub tags: Vec<&'static str>,
}

/// The weight of a word for a category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Weak,
    Strong,
}

/// The seeds, and the words of all of them.
pub(super) struct Seeds {
    pub all: Vec<Seed>,
    words: HashMap<&'static str, Vec<(usize, Weight)>>,
    beginnings: HashMap<&'static str, Vec<(usize, Weight)>>,
}

pub(super) static SEEDS: LazyLock<Seeds> = LazyLock::new(|| {
    let mut seeds = Seeds { all: Vec::new(), words: HashMap::new(), beginnings: HashMap::new() };
    for line in include_str!("seeds.txt").lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            seeds.all.push(Seed { name, about: "", tags: Vec::new() });
            continue;
        }
        let number = seeds.all.len().saturating_sub(1);
        let (Some(seed), Some((key, value))) = (seeds.all.last_mut(), line.split_once(": ")) else { continue };
        let listed = value.split(',').map(str::trim);
        match key {
            "about" => seed.about = value,
            "tags" => seed.tags = listed.collect(),
            _ => {
                let weight = if key == "strong" { Weight::Strong } else { Weight::Weak };
                for word in listed {
                    let known = match word.strip_suffix('*') {
                        Some(beginning) => seeds.beginnings.entry(beginning),
                        None => seeds.words.entry(word),
                    };
                    known.or_default().push((number, weight));
                }
            }
        }
    }
    seeds
});

impl Seeds {
    /// Calls `found` with each seed that has a word in lower case, and the word's weight there.
    pub fn of_word(&self, word: &str, mut found: impl FnMut(usize, Weight)) {
        let mut tell = |known: Option<&Vec<(usize, Weight)>>| {
            known.into_iter().flatten().for_each(|(seed, weight)| found(*seed, *weight));
        };
        tell(self.words.get(word));
        for (end, _) in word.char_indices().skip(SHORTEST_BEGINNING) {
            tell(self.beginnings.get(&word[..end]));
        }
        tell(self.beginnings.get(word));
    }

    /// Returns whether a word is the name or a tag of a seed, or strongly of one.
    pub fn has(&self, word: &str) -> bool {
        let mut is_strong = self.all.iter().any(|seed| seed.name == word || seed.tags.contains(&word));
        self.of_word(word, |_, weight| is_strong |= weight == Weight::Strong);
        is_strong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_seeds_have_a_description_tags_and_words() {
        assert_eq!(SEEDS.all.len(), 10);
        assert!(SEEDS.all.iter().all(|seed| !seed.about.is_empty() && seed.tags.len() > 2));
        assert!(SEEDS.has("testing") && SEEDS.has("tests") && SEEDS.has("authenticated") && SEEDS.has("datenbanken"));
        assert!(!SEEDS.has("gauge") && !SEEDS.has("retry"));
        assert!(SEEDS.beginnings.keys().all(|beginning| beginning.chars().count() >= SHORTEST_BEGINNING));
    }
}
