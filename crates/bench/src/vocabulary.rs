//! Words with a distribution like that of real work: few are common, most are rare, and new identifiers keep
//! coming. The same seed gives the same words on every machine.

/// Pseudo-random numbers from a seed (Steele, Lea and Flood 2014, "splitmix").
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts at a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }

    /// Returns a number from `low` up to but not including `high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low))
    }

    /// Returns a number from 0 up to but not including 1.
    pub fn share(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns true with a probability of `chance` percent.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// Returns an element of a list that is not empty.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// Ranks by Zipf's law with Mandelbrot's offset: rank r has weight 1 / (r + 2.7).
#[derive(Clone, Debug)]
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(ranks: usize) -> Self {
        let mut sum = 0.0;
        let mut cumulated: Vec<f64> = (0..ranks)
            .map(|rank| {
                sum += 1.0 / (rank as f64 + 3.7);
                sum
            })
            .collect();
        for value in &mut cumulated {
            *value /= sum;
        }
        Self(cumulated)
    }

    fn rank(&self, random: &mut Random) -> usize {
        let share = random.share();
        self.0.partition_point(|cumulated| *cumulated <= share).min(self.0.len() - 1)
    }
}

/// The most common words, roughly in order; generated ones follow.
const COMMON: &str = "the to a of and in is it that for this we with on not be as are if i you from but so an \
    can has have was when should all or there use file now test by at code error no run let me add do which \
    function new then only need will what why change check one line first before return after set fix value \
    still build type call read more same module where these into works instead also since would name each \
    config list string already make write commit time just its tests other key way using see because like \
    path because user update missing data case state handle field branch server query cache client request \
    result order default create remove move open second index found expected input output start stop import \
    index process version database table column parser token session message format option command thread \
    lock retry timeout merge rebase deploy schema migration fixture assertion coverage benchmark memory";

const ONSETS: [&str; 24] = [
    "b", "br", "c", "cl", "d", "dr", "f", "fl", "g", "gr", "h", "j", "l", "m", "n", "p", "pr", "r", "s", "st", "t", "tr", "v",
    "w",
];
const VOWELS: [&str; 9] = ["a", "e", "i", "o", "u", "ai", "ea", "ou", "io"];
const CODAS: [&str; 12] = ["", "", "", "n", "r", "l", "t", "m", "nd", "st", "ck", "x"];
const ENDINGS: [&str; 12] = ["", "", "", "", "s", "ed", "ing", "er", "tion", "al", "ly", "ment"];

/// Number of generated words.
const GENERATED: usize = 40_000;
/// Number of identifiers of one project.
const IDENTIFIERS: usize = 600;
/// Number of files of one project.
const FILES: usize = 200;

/// The vocabulary of the documents of one workload.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    words: Vec<String>,
    by_rank: Zipf,
    identifier_rank: Zipf,
    file_rank: Zipf,
}

/// The names of one project.
#[derive(Clone, Debug)]
pub struct Project {
    /// Name of the project.
    pub name: String,
    identifiers: Vec<String>,
    files: Vec<String>,
}

impl Vocabulary {
    /// Makes the vocabulary of a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut words: Vec<String> = COMMON.split_whitespace().map(str::to_owned).collect();
        words.extend((0..GENERATED).map(|_| generated_word(&mut random)));
        let by_rank = Zipf::new(words.len());
        Self { words, by_rank, identifier_rank: Zipf::new(IDENTIFIERS), file_rank: Zipf::new(FILES) }
    }

    /// Returns the names of the project with this number.
    pub fn project(&self, seed: u64, number: usize) -> Project {
        let mut random = Random::new(seed ^ (number as u64 + 1).wrapping_mul(0x9e6c_63d0_876a_46b5));
        let name = format!("{}-{}", self.rare_word(&mut random), self.rare_word(&mut random));
        let identifiers = (0..IDENTIFIERS).map(|_| self.new_identifier(&mut random)).collect();
        let files = (0..FILES)
            .map(|_| {
                let extension = random.pick(&["rs", "ts", "py", "go", "tsx", "md", "toml"]);
                let folder = random.pick(&["src", "crates/core/src", "lib", "internal/server", "tests", "packages/app/src"]);
                format!(
                    "{folder}/{}/{}_{}.{extension}",
                    self.word(&mut random),
                    self.word(&mut random),
                    self.rare_word(&mut random)
                )
            })
            .collect();
        Project { name, identifiers, files }
    }

    /// Returns a word, common ones far more often.
    pub fn word(&self, random: &mut Random) -> &str {
        &self.words[self.by_rank.rank(random)]
    }

    /// Returns any word, all with the same probability.
    pub fn rare_word(&self, random: &mut Random) -> &str {
        &self.words[random.below(self.words.len())]
    }

    /// Makes an identifier that need not exist yet, in snake or camel case.
    pub fn new_identifier(&self, random: &mut Random) -> String {
        let is_camel = random.percent(40);
        let mut name = String::new();
        for part in 0..random.between(2, 5) {
            let word = if random.percent(50) { self.word(random) } else { self.rare_word(random) };
            match (part, is_camel) {
                (0, _) => name.push_str(word),
                (_, false) => {
                    name.push('_');
                    name.push_str(word);
                }
                (_, true) => {
                    name.push_str(&word[..1].to_uppercase());
                    name.push_str(&word[1..]);
                }
            }
        }
        name
    }

    /// Returns an identifier of a project, some far more often than others.
    pub fn identifier<'p>(&self, project: &'p Project, random: &mut Random) -> &'p str {
        &project.identifiers[self.identifier_rank.rank(random)]
    }

    /// Returns a file of a project, some far more often than others.
    pub fn file<'p>(&self, project: &'p Project, random: &mut Random) -> &'p str {
        &project.files[self.file_rank.rank(random)]
    }
}

fn generated_word(random: &mut Random) -> String {
    let mut word = String::new();
    for _ in 0..random.between(1, 4) {
        word.push_str(random.pick(&ONSETS));
        word.push_str(random.pick(&VOWELS));
        word.push_str(random.pick(&CODAS));
    }
    word.push_str(random.pick(&ENDINGS));
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn same_seed_gives_the_same_words_and_another_seed_others() {
        let words = |seed| {
            let (vocabulary, mut random) = (Vocabulary::new(seed), Random::new(seed));
            (0..200).map(|_| vocabulary.word(&mut random).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(words(1), words(1));
        assert_ne!(words(1), words(2));
    }

    #[test]
    fn few_words_are_common_and_most_are_rare() {
        let (vocabulary, mut random) = (Vocabulary::new(7), Random::new(7));
        let mut counts: HashMap<String, usize> = HashMap::new();
        for _ in 0..100_000 {
            *counts.entry(vocabulary.word(&mut random).to_owned()).or_default() += 1;
        }
        let most = counts.values().max().copied().unwrap();
        let once = counts.values().filter(|count| **count == 1).count();
        assert!((1_500..6_000).contains(&most), "{most}");
        assert!(once > counts.len() / 5, "{once} of {}", counts.len());
    }

    #[test]
    fn projects_have_names_of_their_own() {
        let vocabulary = Vocabulary::new(7);
        let (first, second) = (vocabulary.project(7, 0), vocabulary.project(7, 1));
        assert_ne!(first.name, second.name);
        let shared = first.identifiers.iter().filter(|name| second.identifiers.contains(name)).count();
        assert!(shared < 30, "{shared}");
    }
}
