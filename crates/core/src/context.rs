//! Contexts: the class of a question to them, how much one bears on it and why, its best section, and what two versions differ in.
//!
//! - [`classify`]: the table of classes; [`Class::plan`]: what a search does for each
//! - [`Signs`]: relevance, 0 to 1, with its reasons
//! - [`best_section`], [`changed_lines`]: parts of a text

use serde::{Deserialize, Serialize};

use crate::note::Priority;

named_enum! {
    /// The class of a question to contexts.
    Class {
        /// Asks for one thing that a context says.
        Specific = "specific",
        /// Asks for all that is known of a subject.
        Exploratory = "exploratory",
        /// Asks which contexts there are.
        Overview = "overview",
        /// Asks for a context by its name.
        Navigational = "navigational",
        /// Anything else.
        Unknown = "unknown",
    }
}

/// Steps of a search for a class of question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Matches, unless the caller gives a number.
    pub matches: usize,
    /// Matches from which relations are followed.
    pub starts: usize,
    /// Steps along relations.
    pub hops: usize,
    /// True if the best section of the first match is added.
    pub opens: bool,
}

impl Class {
    /// Returns what a search does for a question of this class.
    pub fn plan(self) -> Plan {
        let (matches, starts, hops, opens) = match self {
            Self::Specific => (5, 3, 1, true),
            Self::Exploratory => (5, 2, 2, false),
            Self::Overview => (10, 0, 0, false),
            Self::Navigational => (3, 1, 1, false),
            Self::Unknown => (5, 3, 1, false),
        };
        Plan { matches, starts, hops, opens }
    }
}

/// Phrases by which a question is of a class: a question is of the class of the first row of which it has a phrase, as whole words.
/// `^` before a phrase: the question begins with it. `..` in a phrase: any words between.
const CLASSES: [(Class, &[&str]); 5] = [
    // "Show me the full JWT configuration" asks for words, "show me the JWT configuration" for the context.
    (Class::Specific, &["^show me the full", "^show me the whole", "^show me the exact", "^zeig mir den ganzen"]),
    (
        Class::Navigational,
        &[
            "^find",
            "^locate",
            "^open",
            "^go to",
            "^show me",
            "^where is the context",
            "^finde",
            "^öffne",
            "^zeig mir",
            "^zeige mir",
        ],
    ),
    (
        Class::Overview,
        &[
            "^list",
            "show all",
            "^what are",
            "overview",
            "which contexts",
            "what contexts",
            "^what is there",
            "^liste",
            "übersicht",
            "überblick",
            "welche kontexte",
            "zeige alle",
        ],
    ),
    (
        Class::Exploratory,
        &[
            "^explain",
            "^describe",
            "tell me about",
            "what do we have",
            "what do we know",
            "related to",
            "how does .. work",
            "how do .. work",
            "end to end",
            "complete .. flow",
            "whole .. flow",
            "^erkläre",
            "^beschreibe",
            "was wissen wir",
            "wie funktioniert",
            "hängt .. zusammen",
        ],
    ),
    (
        Class::Specific,
        &[
            "how to",
            "how do",
            "how does",
            "how did",
            "how is",
            "how are",
            "how many",
            "how much",
            "how long",
            "how often",
            "how can",
            "how should",
            "what is",
            "what does",
            "what do",
            "what should",
            "what happens",
            "where",
            "when",
            "which",
            "who",
            "why",
            "^is",
            "^are",
            "^can",
            "^do",
            "^does",
            "^must",
            "^may",
            "^should",
            "what",
            "wie",
            "^was",
            "wo",
            "wann",
            "welche",
            "welcher",
            "welches",
            "wer",
            "warum",
            "^darf",
            "^muss",
            "^kann",
        ],
    ),
];
/// Most words of a phrase that asks nothing.
const PHRASE_WORDS: usize = 4;

/// Returns the class of a question. A few words without a phrase of the table name a subject: if whole texts are wanted, they ask
/// for one thing, else for what is known of it.
///
/// ```
/// use yore_core::context::{Class, classify};
/// assert_eq!(classify("How do we rotate keys?", false), Class::Specific);
/// assert_eq!(classify("how does the login work", false), Class::Exploratory);
/// assert_eq!((classify("JWT configuration", false), classify("JWT configuration", true)), (Class::Exploratory, Class::Specific));
/// ```
pub fn classify(question: &str, wants_whole: bool) -> Class {
    let asked = words(question);
    let found = CLASSES.iter().find(|(_, phrases)| phrases.iter().any(|phrase| has_phrase(&asked, phrase)));
    match found {
        Some((class, _)) => *class,
        None if !asked.is_empty() && asked.len() <= PHRASE_WORDS => {
            if wants_whole {
                Class::Specific
            } else {
                Class::Exploratory
            }
        }
        None => Class::Unknown,
    }
}

/// Returns the words of a text in lower case; underscores and hyphens part words.
fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn has_phrase(asked: &[String], phrase: &str) -> bool {
    let (is_first, phrase) = phrase.strip_prefix('^').map_or((false, phrase), |phrase| (true, phrase));
    let mut from = Some(0);
    for (at, part) in phrase.split(" .. ").enumerate() {
        let part: Vec<&str> = part.split(' ').collect();
        let is_bound = is_first && at == 0;
        from = from.and_then(|from| {
            // Something stands between two parts.
            let begins = if at == 0 { from } else { from + 1 };
            let places = begins..=if is_bound { 0 } else { asked.len().saturating_sub(part.len()) };
            let found =
                places.into_iter().find(|place| asked.get(*place..*place + part.len()).is_some_and(|words| *words == part[..]));
            found.map(|place| place + part.len())
        });
    }
    from.is_some()
}

/// How a question names the label of a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Naming {
    /// Not as a whole.
    #[default]
    Not,
    /// Among other words.
    Among,
    /// With its beginning, and nothing else.
    Beginning,
    /// With the whole label, and nothing else.
    Whole,
}

/// Returns how a question names a label. Words that ask, such as "show me the", do not count as others.
///
/// ```
/// use yore_core::context::{Naming, naming};
/// assert_eq!(naming("show me the JWT config", "jwt_config"), Naming::Whole);
/// assert_eq!(naming("jwt", "jwt-config"), Naming::Beginning);
/// assert_eq!(naming("does the jwt config say so?", "jwt_config"), Naming::Among);
/// assert_eq!(naming("the config of jwt", "jwt_config"), Naming::Not);
/// ```
pub fn naming(question: &str, label: &str) -> Naming {
    const ASKING: [&str; 19] = [
        "show", "me", "the", "find", "locate", "open", "go", "to", "context", "contexts", "a", "an", "our", "please", "zeig",
        "zeige", "mir", "finde", "öffne",
    ];
    let (asked, label) = (words(question), words(label));
    let bare: Vec<&String> = asked.iter().filter(|word| !ASKING.contains(&word.as_str())).collect();
    let begins =
        |label: &[String], bare: &[&String]| label.iter().zip(bare).filter(|(one, other)| *one == **other).count() == bare.len();
    match () {
        () if label.is_empty() || bare.is_empty() => Naming::Not,
        () if bare.len() == label.len() && begins(&label, &bare) => Naming::Whole,
        () if bare.len() < label.len() && begins(&label, &bare) => Naming::Beginning,
        () if asked.windows(label.len()).any(|words| *words == label[..]) => Naming::Among,
        () => Naming::Not,
    }
}

/// The words of a question that a part of a context has: their number, and the sum of their weights. A weight is the rarity of a word
/// relative to the mean of the question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hits {
    /// Number of words.
    pub count: usize,
    /// Sum of their weights.
    pub weight: f32,
}

/// Returns the passages of a text: paragraphs, items of lists, rows of tables and headings.
///
/// ```
/// use yore_core::context::passages;
/// assert_eq!(passages("# A\nline\ngoes on\n- one\n  more\n- two\n\nlast"), ["# A", "line\ngoes on", "- one\n  more", "- two", "last"]);
/// ```
pub fn passages(text: &str) -> Vec<&str> {
    let (mut passages, mut start, mut at, mut is_heading) = (Vec::new(), 0, 0, false);
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start();
        let numbered = bare.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let is_item = bare.starts_with(['#', '|']) || bare.starts_with("- ") || bare.starts_with("* ");
        let is_numbered = numbered.len() < bare.len() && numbered.starts_with(". ");
        if bare.is_empty() || is_heading || is_item || is_numbered {
            passages.push(&text[start..at]);
            start = at;
        }
        is_heading = bare.starts_with('#');
        at += line.len();
    }
    passages.push(&text[start..]);
    passages.into_iter().map(str::trim).filter(|passage| !passage.is_empty()).collect()
}

/// The words of a question in a passage: how often each of them occurs, and the length of the passage in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassageWords {
    /// Number of occurrences of each word that is asked for.
    pub counts: Vec<u16>,
    /// Number of all words.
    pub length: usize,
}

/// Parameters of BM25, and the length of a usual passage in words.
const SATURATION: f32 = 1.2;
const BY_LENGTH: f32 = 0.75;
const USUAL_LENGTH: f32 = 40.0;
/// Weight of the second best passage of a text.
const SECOND: f32 = 0.3;

/// Returns for each text the share of the question that its best passages have, 0 to 1, weighted by how rare a word is among the
/// `total` passages of all texts. `texts`: the passages with words of the question, for each text.
pub fn passage_shares(texts: &[Vec<PassageWords>], total: usize, keywords: usize) -> Vec<f32> {
    let having =
        |word: usize| texts.iter().flatten().filter(|passage| passage.counts.get(word).is_some_and(|count| *count > 0)).count();
    let rarity: Vec<f32> = (0..keywords)
        .map(|word| {
            let having = having(word) as f32;
            (1.0 + (total as f32 - having + 0.5).max(0.0) / (having + 0.5)).ln()
        })
        .collect();
    // One occurrence of each word in a passage of usual length.
    let whole = rarity.iter().sum::<f32>() / (1.0 + SATURATION);
    let share = |passage: &PassageWords| {
        let length = SATURATION * (1.0 - BY_LENGTH + BY_LENGTH * passage.length as f32 / USUAL_LENGTH);
        let met = passage.counts.iter().zip(&rarity).map(|(count, rarity)| {
            let count = f32::from(*count);
            rarity * count / (count + length)
        });
        if whole > 0.0 { met.sum::<f32>() / whole } else { 0.0 }
    };
    let of_text = |text: &Vec<PassageWords>| {
        let mut shares: Vec<f32> = text.iter().map(share).collect();
        shares.sort_by(|one, other| other.total_cmp(one));
        let mut best = shares.into_iter().chain([0.0, 0.0]);
        (best.next().unwrap_or(0.0) + SECOND * best.next().unwrap_or(0.0)).min(1.0)
    };
    texts.iter().map(of_text).collect()
}

/// Signs that a context bears on a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signs {
    /// Number of words that are asked for.
    pub keywords: usize,
    /// Those in its label and tags.
    pub label: Hits,
    /// Those in its preview.
    pub preview: Hits,
    /// Those in its key concepts.
    pub concepts: Hits,
    /// How the question names its label.
    pub naming: Naming,
    /// Share of the question that its best passages have ([`passage_shares`]).
    pub passage: f32,
    /// Confidence of recall, by the words and the meaning of the whole text.
    pub confidence: f32,
    /// Days since somebody loaded it whole, if anybody did.
    pub days: Option<f32>,
    /// Its priority.
    pub priority: Priority,
}

/// Points of a part of a context: for each word, and at most.
const LABEL: (f32, f32) = (20.0, 40.0);
const PREVIEW: (f32, f32) = (10.0, 30.0);
const CONCEPTS: (f32, f32) = (10.0, 20.0);
/// Days after which a loaded context is as one that was never loaded.
const RECENT_DAYS: f32 = 5.0;
/// Share of relevance by what the context says; the rest is shared by recency and priority.
const BY_CONTENT: f32 = 0.9;

impl Signs {
    /// Returns the relevance, 0 to 1. The points of label, preview and key concepts are divided by those that so many words can
    /// reach.
    pub fn relevance(&self) -> f32 {
        let points = |(each, most): (f32, f32), hits: f32| (each * hits).min(most);
        let all = self.keywords as f32;
        let attainable = points(LABEL, all) + points(PREVIEW, all) + points(CONCEPTS, all);
        let reached =
            points(LABEL, self.label.weight) + points(PREVIEW, self.preview.weight) + points(CONCEPTS, self.concepts.weight);
        let by_words = if attainable > 0.0 { (reached / attainable).min(1.0) } else { 0.0 };
        let named = match self.naming {
            Naming::Whole => 1.0,
            Naming::Beginning => 0.8,
            Naming::Among | Naming::Not => 0.0,
        };
        let content = mixed(self.keywords, by_words, self.passage, self.confidence).max(named);
        let recency = self.days.map_or(0.0, |days| (1.0 - days.max(0.0) / RECENT_DAYS).max(0.0));
        let priority = match self.priority {
            Priority::AlwaysCheck => 1.0,
            Priority::Important => 0.6,
            Priority::Reference => 0.0,
        };
        // A context that does not bear on the question gains nothing by being new or important.
        content * (BY_CONTENT + (1.0 - BY_CONTENT) / 2.0 * (recency + priority))
    }

    /// Returns the reasons for the relevance.
    pub fn reasons(&self) -> Vec<String> {
        let counted = |hits: Hits, place: &str| {
            let noun = if hits.count == 1 { "word" } else { "words" };
            (hits.count > 0).then(|| format!("{} {noun} {place}", hits.count))
        };
        let mut reasons = Vec::new();
        reasons.extend((self.naming != Naming::Not).then(|| "its name is asked for".to_owned()));
        reasons.extend(counted(self.label, "in its label"));
        reasons.extend(counted(self.preview, "in its preview"));
        reasons.extend(counted(self.concepts, "in its key concepts"));
        reasons.extend((self.confidence >= 0.5).then(|| "its text bears on it".to_owned()));
        if reasons.is_empty() {
            reasons.push("little speaks for it".to_owned());
        }
        reasons.extend((self.priority < Priority::Reference).then(|| format!("priority {}", self.priority.as_str())));
        reasons.extend(self.days.filter(|days| *days < RECENT_DAYS).map(|_| "loaded lately".to_owned()));
        reasons
    }
}

/// Words up to which label, preview and key concepts alone tell what is asked for. Of a longer question they have a word by chance.
const FEW_WORDS: f32 = 3.0;

/// Mixes what label, preview and key concepts say with what passages and the whole text say. The weights are those that put most
/// right contexts first for 40 development questions (`docs/measurements.md`, "Contexts").
fn mixed(keywords: usize, by_words: f32, passage: f32, confidence: f32) -> f32 {
    let named = by_words * (FEW_WORDS / keywords.max(1) as f32).min(1.0);
    (passage.max(named) + 0.1 * by_words + 0.1 * confidence).min(1.0)
}

/// Returns the section of a text for which `score` is highest, the first of equals. Headings (`#`) begin sections.
pub fn best_section(text: &str, mut score: impl FnMut(&str) -> f32) -> &str {
    let mut starts = vec![0];
    let mut at = 0;
    let mut is_code = false;
    for line in text.split_inclusive('\n') {
        is_code ^= line.trim_start().starts_with("```");
        if line.starts_with('#') && !is_code && at > 0 {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let mut best: (f32, &str) = (f32::MIN, text);
    for section in starts.iter().zip(ends).filter_map(|(start, end)| text.get(*start..end)) {
        let score = score(section);
        if score > best.0 {
            best = (score, section);
        }
    }
    best.1.trim_end()
}

/// Most pairs of lines that are compared to find those in common.
const MOST_PAIRS: usize = 4_000_000;

/// Returns the lines that differ between two texts: `-` and the number of a line that is gone, `+` and that of a new one.
///
/// ```
/// use yore_core::context::changed_lines;
/// assert_eq!(changed_lines("one\ntwo\nthree", "one\n2\nthree\nfour"), ["-2 two", "+2 2", "+4 four"]);
/// assert!(changed_lines("same", "same").is_empty());
/// ```
pub fn changed_lines(before: &str, after: &str) -> Vec<String> {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    let (old, new) = (&before[head..], &after[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(one, other)| one == other).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    // The number of lines in common from each pair of places on.
    let wide = new.len() + 1;
    let is_compared = old.len().saturating_mul(new.len()) <= MOST_PAIRS;
    let mut common = vec![0u32; if is_compared { (old.len() + 1) * wide } else { 0 }];
    if is_compared {
        for one in (0..old.len()).rev() {
            for other in (0..new.len()).rev() {
                let next = |one: usize, other: usize| common[one * wide + other];
                let count = if old[one] == new[other] {
                    next(one + 1, other + 1) + 1
                } else {
                    next(one + 1, other).max(next(one, other + 1))
                };
                common[one * wide + other] = count;
            }
        }
    }
    let (mut one, mut other, mut changed) = (0, 0, Vec::new());
    while one < old.len() || other < new.len() {
        if is_compared && one < old.len() && other < new.len() && old[one] == new[other] {
            (one, other) = (one + 1, other + 1);
        } else if one < old.len()
            && (other == new.len() || !is_compared || common[(one + 1) * wide + other] >= common[one * wide + other + 1])
        {
            changed.push(format!("-{} {}", head + one + 1, old[one]));
            one += 1;
        } else {
            changed.push(format!("+{} {}", head + other + 1, new[other]));
            other += 1;
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_scenarios_of_the_third_design_are_of_their_classes() {
        for (question, is_whole, class) in [
            ("What do we have about authentication?", false, Class::Exploratory),
            ("authentication", false, Class::Exploratory),
            ("Show me the full JWT configuration", true, Class::Specific),
            ("JWT configuration", true, Class::Specific),
            ("What's related to API authentication?", false, Class::Exploratory),
            ("How does the complete auth flow work from login to API call?", true, Class::Exploratory),
            ("complete auth flow", true, Class::Exploratory),
            ("show me the jwt config", false, Class::Navigational),
            ("find deploy checklist", false, Class::Navigational),
            ("list everything about deploys", false, Class::Overview),
            ("which contexts do we have", false, Class::Overview),
            ("how to restart the importer", false, Class::Specific),
            ("Wie lange gilt ein Token?", false, Class::Specific),
            ("the build is red since this morning on main", false, Class::Unknown),
            ("showhow doing", false, Class::Exploratory),
            ("", false, Class::Unknown),
        ] {
            assert_eq!(classify(question, is_whole), class, "{question}");
        }
    }

    fn signs(keywords: usize, hits: f32) -> Signs {
        let hits = Hits { count: hits as usize, weight: hits };
        let naming = Naming::Not;
        Signs {
            keywords,
            label: hits,
            preview: hits,
            concepts: hits,
            naming,
            passage: (hits.weight / keywords.max(1) as f32).min(1.0),
            confidence: 0.0,
            days: None,
            priority: Priority::Reference,
        }
    }

    #[test]
    fn every_number_of_words_can_reach_the_top_and_what_matters_and_is_new_counts() {
        for keywords in 1..9 {
            assert!(signs(keywords, keywords as f32).relevance() > 0.85, "{keywords}");
        }
        let one = signs(4, 1.0);
        assert!(one.relevance() < 0.5);
        let important = Signs { priority: Priority::AlwaysCheck, ..one };
        assert!(important.relevance() > one.relevance());
        assert!(Signs { days: Some(1.0), ..one }.relevance() > one.relevance());
        assert_eq!(Signs { days: Some(9.0), ..one }.relevance(), one.relevance());
        assert_eq!(
            important.reasons(),
            ["1 word in its label", "1 word in its preview", "1 word in its key concepts", "priority always_check"]
        );
        assert_eq!(signs(2, 0.0).reasons(), ["little speaks for it"]);
    }

    #[test]
    fn the_best_section_has_what_is_asked_for() {
        let text = "# Keys\nintro\n## Rotation\nrotate monthly\n```\n# no heading\n```\n## Storage\nin a vault\n";
        let with = |word: &'static str| best_section(text, |section| f32::from(u8::from(section.contains(word))));
        assert_eq!(with("monthly"), "## Rotation\nrotate monthly\n```\n# no heading\n```");
        assert_eq!(with("vault"), "## Storage\nin a vault");
        assert_eq!(with("nothing"), "# Keys\nintro");
        assert_eq!(best_section("", |_| 0.0), "");
    }

    proptest! {
        #[test]
        fn relevance_is_a_share(keywords in 0usize..9, hits in 0.0f32..9.0, confidence in 0.0f32..1.0, days in proptest::option::of(-2.0f32..90.0)) {
            let relevance = Signs { confidence, days, priority: Priority::AlwaysCheck, ..signs(keywords, hits) }.relevance();
            prop_assert!((0.0..=1.0).contains(&relevance));
        }

        #[test]
        fn changed_lines_lead_from_one_text_to_the_other(before in "[ab\n]{0,20}", after in "[ab\n]{0,20}") {
            let mut lines: Vec<Option<&str>> = before.lines().map(Some).collect();
            let changed = changed_lines(&before, &after);
            for line in changed.iter().filter_map(|line| line.strip_prefix('-')) {
                let (number, text) = line.split_once(' ').unwrap();
                let gone = lines[number.parse::<usize>().unwrap() - 1].take();
                prop_assert_eq!(gone, Some(text));
            }
            let mut lines: Vec<&str> = lines.into_iter().flatten().collect();
            for line in changed.iter().filter_map(|line| line.strip_prefix('+')) {
                let (number, text) = line.split_once(' ').unwrap();
                lines.insert(number.parse::<usize>().unwrap() - 1, text);
            }
            prop_assert_eq!(lines, after.lines().collect::<Vec<_>>());
        }
    }
}
