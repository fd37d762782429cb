//! The standing of each shared memory among all files: who says it, whether the person accepted them, whether it is retired.
//!
//! It depends on the set of files alone, in whatever order branches were merged. Files of authors who are not accepted retire
//! nothing of others and hide nothing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use yore_core::memory::MemoryKind;
use yore_core::time::UtcMillis;

use super::authors::Author;
use super::file::{SharedFile, SharedMemory};

/// A file and its author.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Its name, without `.md`.
    pub name: String,
    /// Its content.
    pub file: SharedFile,
    /// Its author; `None`: it is not committed yet.
    pub author: Option<Author>,
}

impl Known {
    /// Returns why it retires a memory.
    pub fn reason(&self) -> Option<&str> {
        match &self.file {
            SharedFile::Retired(retirement) => retirement.reason.as_deref(),
            SharedFile::Memory(_) => None,
        }
    }

    /// Returns the place of a file among others: the earliest first, one without an author last.
    fn age(&self) -> (bool, Option<UtcMillis>, &str) {
        (self.author.is_none(), self.author.as_ref().map(|author| author.at), &self.name)
    }
}

/// The standing of a statement that one or more files share.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing<'a> {
    /// Name of the file that counts.
    pub name: &'a str,
    /// Its memory.
    pub memory: &'a SharedMemory,
    /// Its author.
    pub author: Option<&'a Author>,
    /// True if the person accepted its author.
    pub is_accepted: bool,
    /// The retirement of it; `None`: it holds.
    pub retired: Option<&'a Known>,
    /// Retirements that do not count: neither the author's own nor those of an accepted author.
    pub proposed: Vec<&'a Known>,
    /// Names of all files with this kind and statement, sorted.
    pub names: Vec<&'a str>,
}

/// A file of a memory, and what retires it.
struct Claim<'a> {
    known: &'a Known,
    memory: &'a SharedMemory,
    is_accepted: bool,
    retired: Option<&'a Known>,
    proposed: Vec<&'a Known>,
}

/// Returns the standing of each statement, by the name of the file that counts: one that is not retired before others, then of an
/// accepted author, then the earliest. A statement is retired if each of its files is.
pub fn standings<'a>(files: &'a [Known], is_accepted: &dyn Fn(&Author) -> bool) -> Vec<Standing<'a>> {
    let accepts = |author: Option<&Author>| author.is_some_and(is_accepted);
    // Several authors and checkouts have the same file, perhaps not committed.
    let mut adders: HashMap<&str, Vec<&Author>> = HashMap::new();
    for known in files {
        adders.entry(&known.name).or_default().extend(&known.author);
    }
    let mut once: BTreeMap<&str, &Known> = BTreeMap::new();
    let rank = |known: &'a Known| {
        let commit = known.author.as_ref().map(|author| (&author.commit, &author.email, &author.name));
        (Reverse(accepts(known.author.as_ref())), known.age(), commit)
    };
    for known in files {
        let first = once.entry(&known.name).or_insert(known);
        if rank(known) < rank(first) {
            *first = known;
        }
    }
    let mut retirements: HashMap<&str, Vec<&Known>> = HashMap::new();
    for known in once.values() {
        if let SharedFile::Retired(retirement) = &known.file {
            retirements.entry(&retirement.memory).or_default().push(known);
        }
    }
    let mut groups: BTreeMap<(MemoryKind, String), Vec<Claim<'a>>> = BTreeMap::new();
    for known in once.values() {
        let SharedFile::Memory(memory) = &known.file else { continue };
        let counts = |retirement: &&Known| match (&retirement.author, &known.author) {
            // A second author who adds the same file does not make it theirs.
            (Some(by), Some(_)) => {
                let is_own = |author: &&Author| by.is_same(author) && (by.is_proven || !author.is_proven);
                by.may_retire() && is_accepted(by) || adders[known.name.as_str()].iter().all(is_own)
            }
            (Some(by), None) => by.may_retire() && is_accepted(by),
            // One that is not committed, or whose author the history does not tell, may be anybody's.
            (None, _) => false,
        };
        let all = retirements.get(known.name.as_str()).cloned().unwrap_or_default();
        let (mut retired, mut proposed): (Vec<&Known>, Vec<&Known>) = all.into_iter().partition(counts);
        retired.sort_by_key(|known| known.age());
        proposed.sort_by_key(|known| known.age());
        let claim =
            Claim { known, memory, is_accepted: accepts(known.author.as_ref()), retired: retired.first().copied(), proposed };
        let words = memory.statement.split_whitespace().collect::<Vec<_>>().join(" ");
        groups.entry((memory.kind, words)).or_default().push(claim);
    }
    let mut found: Vec<Standing<'a>> = groups.into_values().filter_map(standing).collect();
    found.sort_by_key(|standing| standing.name);
    found
}

/// Returns the standing of a statement by its files, which come by name.
fn standing(claims: Vec<Claim<'_>>) -> Option<Standing<'_>> {
    let names = claims.iter().map(|claim| claim.known.name.as_str()).collect();
    let mut proposed: Vec<&Known> = claims.iter().flat_map(|claim| claim.proposed.iter().copied()).collect();
    proposed.sort_by_key(|known| known.age());
    let first =
        claims.into_iter().min_by_key(|claim| (claim.retired.is_some(), Reverse(claim.is_accepted), claim.known.age()))?;
    Some(Standing {
        name: &first.known.name,
        memory: first.memory,
        author: first.known.author.as_ref(),
        is_accepted: first.is_accepted,
        retired: first.retired,
        proposed,
        names,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::shared::authors::Via;
    use crate::shared::file::{Retirement, name_of, write};

    fn author(name: &str, at: UtcMillis) -> Option<Author> {
        let email = format!("{name}@tides.example");
        let commit = format!("{name}{at}");
        (name != "nobody").then(|| Author { name: name.to_owned(), email, commit, at, is_proven: true, via: Via::Commit })
    }

    fn known(file: SharedFile, author: Option<Author>) -> Known {
        Known { name: name_of(&write(&file)), file, author }
    }

    /// The file of a statement; `details` make another file of it.
    fn says(statement: &str, details: &str, by: &str, at: UtcMillis) -> Known {
        let details = Some(details.to_owned()).filter(|details| !details.is_empty());
        let memory = SharedMemory { statement: statement.to_owned(), details, ..SharedMemory::default() };
        known(SharedFile::Memory(Box::new(memory)), author(by, at))
    }

    fn retires(memory: &Known, reason: &str, by: &str, at: UtcMillis) -> Known {
        let retirement = Retirement { memory: memory.name.clone(), by: None, reason: Some(reason.to_owned()) };
        known(SharedFile::Retired(retirement), author(by, at))
    }

    fn is_mira(author: &Author) -> bool {
        author.name == "mira"
    }

    #[test]
    fn accepted_author_counts_before_the_earliest_and_one_that_is_committed_before_others() {
        let (pier, mira) = (says("The lamp  is green.", "a", "pier", 1), says("The lamp is\ngreen.", "b", "mira", 5));
        let (later, own) = (says("The lamp is green.", "c", "mira", 9), says("The lamp is green.", "d", "nobody", 0));
        let other = says("The rope is new.", "", "pier", 2);
        let files = [own.clone(), later, mira.clone(), pier.clone(), other.clone()];
        let found = standings(&files, &is_mira);
        assert_eq!(found.len(), 2);
        let lamp = found.iter().find(|standing| standing.names.len() == 4).unwrap();
        assert_eq!((lamp.name, lamp.is_accepted, lamp.author), (mira.name.as_str(), true, mira.author.as_ref()));
        assert!(lamp.names.is_sorted() && lamp.retired.is_none() && lamp.proposed.is_empty());
        let lamp = |files: &[Known]| standings(files, &|_| false)[0].name.to_owned();
        assert_eq!(lamp(&[own.clone(), pier.clone()]), pier.name);
        assert_eq!(lamp(std::slice::from_ref(&own)), own.name);
        // Another kind is another memory.
        let SharedFile::Memory(memory) = &other.file else { unreachable!() };
        let todo = SharedMemory { kind: MemoryKind::Todo, ..(**memory).clone() };
        let files = [other.clone(), known(SharedFile::Memory(Box::new(todo)), None)];
        assert_eq!(standings(&files, &is_mira).len(), 2);
    }

    #[test]
    fn whoever_adds_a_file_again_with_an_earlier_date_cannot_retire_it() {
        let memory = says("The lamp is green.", "", "pier", 9);
        let again = Known { author: author("eve", 1), ..memory.clone() };
        let files = [retires(&memory, "it is red", "eve", 2), again, memory];
        let found = standings(&files, &|_| false);
        assert_eq!((found.len(), found[0].retired, found[0].proposed.len()), (1, None, 1));
        // Nor can whoever writes the author's name on a branch of their own.
        let memory = says("The rope is new.", "", "pier", 9);
        let mut spoof = retires(&memory, "it is old", "pier", 10);
        spoof.author.iter_mut().for_each(|author| author.is_proven = false);
        assert_eq!(standings(&[spoof, memory], &|author| author.is_proven && is_mira(author))[0].retired, None);
    }

    #[test]
    fn retirement_counts_if_it_is_the_authors_own_or_of_an_accepted_one() {
        let retired = |by: &str, author_of_memory: &str| {
            let memory = says("The lamp is green.", "", author_of_memory, 1);
            let files = [retires(&memory, "it is red", by, 2), memory];
            let found = standings(&files, &is_mira);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].retired.is_none(), found[0].proposed == [&files[0]]);
            found[0].retired.and_then(Known::reason).map(str::to_owned)
        };
        let counts = Some("it is red".to_owned());
        assert_eq!(retired("pier", "pier"), counts, "their own");
        assert_eq!(retired("mira", "pier"), counts, "an accepted author's");
        assert_eq!(retired("nobody", "nobody"), None, "nobody knows whose they are");
        assert_eq!(retired("pier", "mira"), None);
        assert_eq!(retired("ada", "pier"), None);
        assert_eq!(retired("nobody", "pier"), None);
        assert_eq!(retired("pier", "nobody"), None);
    }

    #[test]
    fn statement_is_retired_when_each_of_its_files_is() {
        let (mira, pier) = (says("The lamp is green.", "a", "mira", 1), says("The lamp is green.", "b", "pier", 2));
        let (first, second) = (retires(&mira, "red", "mira", 4), retires(&mira, "blue", "mira", 3));
        let files = [mira.clone(), pier.clone(), first.clone(), second.clone()];
        let found = standings(&files, &is_mira);
        assert_eq!((found.len(), found[0].name, found[0].is_accepted), (1, pier.name.as_str(), false), "Pier still says it");
        assert_eq!(found[0].retired, None);
        let files = [mira.clone(), pier.clone(), first, second.clone(), retires(&pier, "red", "pier", 5)];
        let found = standings(&files, &is_mira);
        assert_eq!((found[0].name, found[0].retired), (mira.name.as_str(), Some(&second)), "the earliest retirement");
        // What retires nothing that is here is no memory.
        assert_eq!(standings(&files[2..3], &is_mira), []);
    }

    /// Files of few statements, authors and times, with retirements of some of them by anybody.
    fn files() -> impl Strategy<Value = Vec<Known>> {
        let names = || prop::sample::select(vec!["mira", "ada", "pier", "nobody"]);
        let memory = (
            prop::sample::select(vec!["The lamp is green.", "The rope  is new.", "The rope is new."]),
            0..3_i32,
            names(),
            0..4_i64,
        );
        let memories = prop::collection::vec(memory, 1..7);
        let retirements = prop::collection::vec((any::<prop::sample::Index>(), 0..3_i32, names(), 0..4_i64), 0..7);
        (memories, retirements).prop_map(|(memories, retirements)| {
            let memories: Vec<Known> =
                memories.into_iter().map(|(statement, details, by, at)| says(statement, &details.to_string(), by, at)).collect();
            let retire = |(of, reason, by, at): (prop::sample::Index, i32, &str, i64)| {
                retires(of.get(&memories), &reason.to_string(), by, at)
            };
            let retired: Vec<Known> = retirements.into_iter().map(retire).collect();
            memories.iter().cloned().chain(retired).collect()
        })
    }

    fn is_accepted(author: &Author) -> bool {
        matches!(author.name.as_str(), "mira" | "ada")
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn standing_depends_on_the_set_of_files_alone(
            (files, shuffled) in files().prop_flat_map(|files| {
                let twice: Vec<Known> = files.iter().chain(&files).cloned().collect();
                (Just(files), Just(twice).prop_shuffle())
            })
        ) {
            prop_assert_eq!(standings(&files, &is_accepted), standings(&shuffled, &is_accepted));
        }

        #[test]
        fn file_of_somebody_who_is_not_accepted_retires_nothing_of_others_and_hides_nothing(files in files(), added in files()) {
            // Of one content, the earliest author counts among those who are not accepted.
            let is_taken = |added: &Known| {
                let of_strangers = files.iter().filter(|known| !known.author.as_ref().is_some_and(is_accepted));
                of_strangers.into_iter().any(|known| known.name == added.name)
            };
            let strangers: Vec<Known> = added
                .into_iter()
                .map(|known| Known { author: author("eve", 0), ..known })
                .filter(|added| !is_taken(added))
                .collect();
            let more: Vec<Known> = files.iter().chain(&strangers).cloned().collect();
            let (before, after) = (standings(&files, &is_accepted), standings(&more, &is_accepted));
            for standing in &before {
                let now = after.iter().find(|now| now.names.iter().any(|name| standing.names.contains(name)));
                let now = now.expect("what was there stays");
                prop_assert!(standing.names.iter().all(|name| now.names.contains(name)));
                prop_assert!(standing.retired.is_some() || now.retired.is_none(), "{:?}", now);
                prop_assert!(standing.retired.is_some() || standing.name == now.name || !standing.is_accepted, "{:?}", now);
                prop_assert!(!now.is_accepted || standing.is_accepted, "a stranger makes nothing trusted");
                prop_assert!(standing.proposed.iter().all(|known| now.proposed.contains(known)));
            }
        }
    }
}
