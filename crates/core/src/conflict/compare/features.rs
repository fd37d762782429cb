//! Features of two aligned statements, from which the chance is computed that the later one changes the earlier.

use std::collections::BTreeSet;

use super::align::{Alignment, pieces};
use super::lists::Lists;
use super::read::{Kind, Statement, Word};
use super::things::{Things, is_tool};

/// Likeness in meaning of two texts, 0 to 1: the cosine of their vectors.
pub type Likeness<'l> = &'l dyn Fn(&str, &str) -> f32;

/// Likeness from which two words count as one.
const NEAR: f32 = 0.72;
/// Number of the words at the beginning of a statement among which a number after a noun is a name.
const LEAD: usize = 2;
/// Likeness from which two units count as one.
const NEAR_UNIT: f32 = 0.6;
/// Words after which the value of before stands in a statement that names it, each with what must stand before that word.
const BEFORE: &[(&str, &[&str])] = &[
    ("of", &["instead", "lieu", "place", "rid", "out", "off"]),
    ("from", &[]),
    ("than", &["rather"]),
    ("not", &[]),
    ("longer", &["no"]),
    ("old", &[]),
    ("statt", &[]),
    ("von", &[]),
    ("alte", &[]),
    ("alten", &[]),
    ("de", &["lieu", "place", "lugar", "vez"]),
    ("no", &["ya"]),
];

/// Names of the features, in order.
pub const FEATURES: [&str; 40] = [
    "least covered",
    "most covered",
    "words shared",
    "names shared",
    "likeness",
    "values",
    "values of one unit",
    "values of two units",
    "likest word",
    "likeness of rest",
    "names the one before",
    "change",
    "denial",
    "opposite",
    "additive",
    "historic",
    "hedge",
    "exception",
    "year",
    "numbered apart",
    "contrast",
    "contrast of one",
    "bound",
    "subjects apart",
    "modifiers apart",
    "names apart",
    "first says no more",
    "second says no more",
    "more in first",
    "more in second",
    "preferences",
    "mean likeness",
    "other of a kind",
    "other kinds",
    "aspects shared",
    "other aspects",
    "values of other kinds",
    "value without another",
    "new value",
    "condition",
];

/// Returns the features of two statements, the later one second, in the order of [`FEATURES`].
pub fn change_features(first: &Statement, second: &Statement, likeness: Likeness<'_>) -> [f32; FEATURES.len()] {
    let mut aligned = Alignment::of(first, second);
    aligned.match_near(first, second, NEAR, likeness);
    let pair = Pair { first, second, aligned: &aligned, likeness };
    let flag = |is: bool| if is { 1.0 } else { 0.0 };
    let [left_first, left_second] = pair.left();
    let lists = Lists::get();
    let (texts, other_texts) = (first.texts(), second.texts());
    let covered = [0, 1].map(|of| {
        let all: f32 = aligned.content[of].iter().map(|at| weight(pair.word(of, *at))).sum();
        let left: f32 = aligned.left[of].iter().map(|at| weight(pair.word(of, *at))).sum();
        if all > 0.0 { 1.0 - left / all } else { 0.0 }
    });
    let names = aligned.matched.keys().filter(|at| matches!(first.words[**at].kind, Kind::Name | Kind::Path)).count();
    let (has_values, is_one_unit) = pair.values();
    let likest = left_first.iter().map(|a| pair.nearest(a, &left_second));
    let (best, sum) = likest.fold((0.0f32, 0.0), |(best, sum), near| (best.max(near), sum + near));
    let join = |words: &[&Word]| words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let rest = |words: &[&Word], other: &[&Word]| {
        if words.is_empty() || other.is_empty() { 0.0 } else { likeness(&join(words), &join(other)) }
    };
    let denials = |statement: &Statement| statement.words.iter().filter(|word| word.denies()).count() % 2;
    let only = |category: &str| flag(second.has(category) && !first.has(category));
    let things = Things::of(first, second);
    let share = |count: usize, of: f32| (count as f32 / of).min(1.0);
    [
        covered[0].min(covered[1]),
        covered[0].max(covered[1]),
        share(aligned.matched.len(), 5.0),
        share(names, 2.0),
        likeness(&texts.join(" "), &other_texts.join(" ")),
        flag(has_values),
        flag(is_one_unit),
        flag(has_values && !is_one_unit),
        best,
        rest(&left_first, &left_second),
        flag(pair.names_before()),
        only("change"),
        flag(denials(first) != denials(second)),
        flag(lists.are_apart("opposite", &texts, &other_texts)),
        only("additive"),
        only("historic"),
        only("hedge").max(flag(second.is_question() && !first.is_question())),
        flag(first.has("exception") != second.has("exception")),
        flag(has_year(second) && !has_year(first)),
        flag(pair.is_numbered_apart()),
        flag(lists.are_apart("contrast", &texts, &other_texts)),
        flag(lists.has_one_alone("contrast", &texts, &other_texts)),
        flag(pair.is_bound(0)) + flag(pair.is_bound(1)),
        flag(pair.leads_elsewhere(0)) + flag(pair.leads_elsewhere(1)),
        flag(pair.has_other_modifier()),
        flag(pair.has_names_apart(&left_first, &left_second)),
        flag(left_first.is_empty()),
        flag(left_second.is_empty()),
        share(left_first.len(), 6.0),
        share(left_second.len(), 8.0),
        flag(first.has("preference") && second.has("preference")),
        sum / left_first.len().max(1) as f32,
        flag(things.is_other_of_kind),
        flag(things.are_of_other_kinds),
        things.aspects_shared,
        flag(things.are_of_other_aspects),
        flag(pair.has_value(0) && pair.has_value(1) && !has_values),
        flag(pair.has_value(0) && !has_values),
        flag(pair.has_value(1) && !has_values),
        flag(first.has("condition") != second.has("condition")),
    ]
}

/// Returns whether one of two statements names an environment right before a thing of which the other speaks without one: "the staging
/// server" is another thing than "the server".
pub(super) fn is_of_other_environment(first: &Statement, second: &Statement) -> bool {
    let lists = Lists::get();
    if !lists.has_one_alone("contrast", &first.texts(), &second.texts()) {
        return false;
    }
    let aligned = Alignment::of(first, second);
    let qualifies = |statement: &Statement, matched: &[usize]| {
        matched
            .iter()
            .filter_map(|at| at.checked_sub(1))
            .any(|before| lists.is_of_first("contrast", &statement.words[before].text))
    };
    let (of_first, of_second): (Vec<usize>, Vec<usize>) = aligned.matched.iter().map(|(a, b)| (*a, *b)).unzip();
    qualifies(first, &of_first) || qualifies(second, &of_second)
}

/// Returns whether a later statement says by its form that it changes an earlier one: it names a word of that as what was before ("bun instead
/// of pnpm"), it says no more than what an earlier change names so, or "we" have another thing of one kind in the same words.
pub(super) fn says_what_it_changes(first: &Statement, second: &Statement, likeness: Likeness<'_>) -> bool {
    let aligned = Alignment::of(first, second);
    let pair = Pair { first, second, aligned: &aligned, likeness };
    let [left_first, left_second] = pair.left();
    let is_denial = second.words.iter().any(Word::denies);
    let names_before = |of: &Statement, at: usize| is_before(&of.words, at);
    let goes_back = || {
        let is_back = |(a, b): (&usize, &usize)| names_before(first, *a) && !names_before(second, *b);
        first.has("change") && left_second.is_empty() && !is_denial && aligned.matched.iter().any(is_back)
    };
    let has_other = || {
        left_first.len() == 1
            && left_second.len() == 1
            && second.is_of_us()
            && pair.is_one_template()
            && Things::of(first, second).is_other_of_kind
    };
    pair.names_before() && second.has("change") || goes_back() || has_other()
}

/// Returns whether a word of a statement is named as what was before.
fn is_before(words: &[Word], at: usize) -> bool {
    let before = |steps: usize| at.checked_sub(steps).map_or("", |place| words[place].text.as_str());
    BEFORE.iter().any(|(cue, lead)| before(1) == *cue && (lead.is_empty() || lead.contains(&before(2))))
}

/// Weight of a word: short words say less, names more.
fn weight(word: &Word) -> f32 {
    match word.kind {
        Kind::Name | Kind::Path => 1.5,
        _ => (word.text.chars().count() as f32 / 6.0).clamp(0.5, 1.2),
    }
}

fn has_year(statement: &Statement) -> bool {
    let is_year = |word: &Word| word.kind == Kind::Number && word.text.len() == 4 && word.text.starts_with(['1', '2']);
    statement.words.iter().any(|word| is_year(word) && word.unit.is_empty() || is_year(word) && word.text.starts_with("20"))
}

/// Two aligned statements.
struct Pair<'p> {
    first: &'p Statement,
    second: &'p Statement,
    aligned: &'p Alignment,
    likeness: Likeness<'p>,
}

impl<'p> Pair<'p> {
    fn word(&self, of: usize, at: usize) -> &'p Word {
        if of == 0 { &self.first.words[at] } else { &self.second.words[at] }
    }

    /// Returns the words without a counterpart that say something of the subject, of either statement.
    fn left(&self) -> [Vec<&'p Word>; 2] {
        [0, 1].map(|of| {
            let words = self.aligned.left[of].iter().map(|at| self.word(of, *at));
            words.filter(|word| !word.is_cue()).collect()
        })
    }

    /// Returns whether both give a value of one kind that the other lacks, and whether one of one unit.
    fn values(&self) -> (bool, bool) {
        let (mut has_values, mut is_one_unit) = (false, false);
        for a in self.aligned.left[0].iter().map(|at| &self.first.words[*at]) {
            for b in self.aligned.left[1].iter().map(|at| &self.second.words[*at]).filter(|b| a.kind.is_comparable(b.kind)) {
                let is_number = a.kind == Kind::Number && b.kind == Kind::Number;
                let is_near = || !a.unit.is_empty() && !b.unit.is_empty() && (self.likeness)(&a.unit, &b.unit) > NEAR_UNIT;
                has_values = true;
                is_one_unit |= !is_number || a.unit == b.unit || Lists::get().are_same(&a.unit, &b.unit) || is_near();
            }
        }
        (has_values, is_one_unit)
    }

    /// Returns whether a statement has a value that the other lacks.
    fn has_value(&self, of: usize) -> bool {
        self.aligned.left[of].iter().any(|at| self.word(of, *at).kind.is_value())
    }

    /// Returns the likeness of the word of `others` that is nearest to a word.
    fn nearest(&self, word: &Word, others: &[&Word]) -> f32 {
        let others = others.iter().filter(|other| word.kind.is_value() == other.kind.is_value());
        others.map(|other| (self.likeness)(&word.text, &other.text)).fold(0.0, f32::max)
    }

    /// Returns whether the second statement names a word of the first as what was before, and the first does not.
    fn names_before(&self) -> bool {
        let is_new = |(a, b): (&usize, &usize)| is_before(&self.second.words, *b) && !is_before(&self.first.words, *a);
        self.aligned.matched.iter().any(is_new)
    }

    /// Returns whether both have the same words but for one at the same place.
    fn is_one_template(&self) -> bool {
        let (first, second) = (&self.first.words, &self.second.words);
        first.len() == second.len() && first.iter().zip(second).filter(|(a, b)| a.stem != b.stem).count() == 1
    }

    /// Returns the things of a statement that a number or letter tells apart: "shard 3", "worker-2".
    fn numbered(statement: &Statement) -> BTreeSet<(String, String)> {
        let mut found = BTreeSet::new();
        let has_version = statement.words.iter().any(|word| word.is("versioned"));
        for (at, pair) in statement.words.windows(2).enumerate() {
            let (noun, id) = (&pair[0], &pair[1]);
            // "Node 18 is required", and not "node 3 needs a restart".
            let ends = || statement.words[at + 2..].iter().all(|word| word.is("versioned") || word.kind == Kind::Empty);
            if has_version && is_tool(&noun.text) && ends() {
                continue;
            }
            let is_id = id.text.len() <= 4 && (id.kind == Kind::Number || id.text.chars().count() == 1);
            let is_numbered = |word: &str| Lists::get().has("numbered", word);
            let leads = at < LEAD && id.text.len() <= 2 && statement.words.len() > at + 2 && matches!(noun.kind, Kind::Plain);
            if is_id && (is_numbered(&noun.text) || is_numbered(&noun.stem) || leads) {
                found.insert((noun.stem.clone(), id.text.clone()));
            }
        }
        for word in statement.words.iter().filter(|word| word.kind == Kind::Name) {
            let noun = word.text.trim_end_matches(|letter: char| letter.is_ascii_digit());
            let id = &word.text[noun.len()..];
            if !id.is_empty() && noun.len() > 2 && !noun.contains(['/', ':', '.']) {
                found.insert((noun.trim_end_matches(['-', '_']).to_owned(), id.to_owned()));
            }
        }
        found
    }

    fn is_numbered_apart(&self) -> bool {
        let (of_first, of_second) = (Self::numbered(self.first), Self::numbered(self.second));
        let of = |all: &BTreeSet<(String, String)>, noun: &str| -> BTreeSet<String> {
            all.iter().filter(|(other, _)| other == noun).map(|(_, id)| id.clone()).collect()
        };
        of_first.iter().any(|(noun, _)| {
            let (a, b) = (of(&of_first, noun), of(&of_second, noun));
            !b.is_empty() && a.is_disjoint(&b)
        })
    }

    /// Returns whether a statement is bound to something that the other does not name: "for partners".
    fn is_bound(&self, of: usize) -> bool {
        const STEPS: usize = 3;
        self.aligned.left[of]
            .iter()
            .any(|at| (1..=STEPS).filter_map(|step| at.checked_sub(step)).any(|before| self.word(of, before).is("bound")))
    }

    /// Returns whether the first word of content of a statement has no counterpart.
    fn leads_elsewhere(&self, of: usize) -> bool {
        let lead = self.aligned.content[of].iter().find(|at| !self.word(of, **at).is_cue());
        lead.is_some_and(|at| self.aligned.left[of].contains(at))
    }

    /// Returns whether a shared word has another word before it in each: "orders service", "billing service".
    fn has_other_modifier(&self) -> bool {
        let modifier = |of: usize, at: usize| {
            let at = at.checked_sub(1).filter(|at| self.aligned.left[of].contains(at))?;
            Some(self.word(of, at)).filter(|word| matches!(word.kind, Kind::Plain | Kind::Name) && !word.is_cue())
        };
        self.aligned.matched.iter().any(|(a, b)| modifier(0, *a).is_some() && modifier(1, *b).is_some())
    }

    /// Returns whether each has a name that shares a piece with one of the other and is another: "mail-gateway", "push-gateway".
    fn has_names_apart(&self, left_first: &[&Word], left_second: &[&Word]) -> bool {
        let is_name = |word: &&&Word| word.kind == Kind::Name;
        left_first.iter().filter(is_name).any(|a| {
            let other = |b: &&Word| !pieces(&a.text).is_disjoint(&pieces(&b.text));
            left_second.iter().filter(is_name).any(other)
        })
    }
}
