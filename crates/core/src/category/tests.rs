//! Tests of categories and their summaries.

use std::convert::Infallible;

use proptest::prelude::*;

use super::*;
use crate::id::MemoryId;
use crate::memory::{Fields, Lane, Memory, MemoryKind, Status};
use crate::time::{DAY_MS, UtcMillis};

const NOW: UtcMillis = 1_772_582_400_000;

fn memory(number: u8, kind: MemoryKind, statement: &str) -> Memory {
    let at = NOW + i64::from(number) * DAY_MS;
    Memory { lane: Lane::Extracted, ..Memory::new(MemoryId::new(at.cast_unsigned(), [number; 10]), kind, statement, at) }
}

fn item<'a>(memory: &'a Memory, entities: &'a [String]) -> Item<'a> {
    Item { memory, entities, strength: 0.5, vector: None, replaced: None, against: &[] }
}

fn items(memories: &[Memory]) -> Vec<Item<'_>> {
    memories.iter().map(|memory| item(memory, &[])).collect()
}

fn no_meaning(_: &str) -> Option<Vec<f32>> {
    None
}

fn names(tree: &[Category]) -> Vec<(&str, usize)> {
    tree.iter().map(|category| (category.name.as_str(), category.members.len())).collect()
}

fn known(tree: &[Category], name: &str) -> Category {
    tree.iter().flat_map(Category::with_children).find(|category| category.name == name).cloned().unwrap()
}

#[test]
fn a_memory_is_in_every_category_whose_words_it_opens_with_and_else_in_general() {
    let memories = [
        memory(1, MemoryKind::Decision, "The login tests run against a real OAuth server."),
        memory(2, MemoryKind::Fact, "Die Datenbank ist SQLite."),
        memory(3, MemoryKind::Fact, "The gauge is green."),
        memory(4, MemoryKind::Preference, "Answer in one sentence."),
    ];
    let tree = tree(&items(&memories), &no_meaning);
    assert_eq!(names(&tree), [("authentication", 1), ("database", 1), ("testing", 1), ("standards", 1), (GENERAL, 1)]);
    assert_eq!(known(&tree, GENERAL).members[0].id, memories[2].id);
    assert_eq!(known(&tree, "testing").last_added(), Some(memories[0].recorded));
}

#[test]
fn a_tag_decides_and_a_passing_word_does_not() {
    let mut tagged = memory(1, MemoryKind::Fact, "The gauge is green.");
    tagged.tags = vec!["Testing".to_owned()];
    let words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen";
    let passing = memory(2, MemoryKind::Fact, &format!("{words} and then a database came"));
    let memories = [tagged, passing];
    let tree = tree(&items(&memories), &no_meaning);
    assert_eq!(names(&tree), [("testing", 1), (GENERAL, 1)]);
    assert_eq!(known(&tree, "testing").members[0].relevance, 1.0);
}

#[test]
fn meaning_adds_to_words_and_places_alone_only_what_is_very_near() {
    let memories = [memory(1, MemoryKind::Fact, "Zzz."), memory(2, MemoryKind::Fact, "Yyy.")];
    let (near, far): (&[f32], &[f32]) = (&[1.0, 0.0], &[0.6, 0.8]);
    let mut items = items(&memories);
    (items[0].vector, items[1].vector) = (Some(near), Some(far));
    let embed = |text: &str| Some(if text.starts_with("Tests") { vec![1.0, 0.0] } else { vec![-1.0, 0.0] });
    let tree = tree(&items, &embed);
    assert_eq!(names(&tree), [("testing", 1), (GENERAL, 1)]);
}

#[test]
fn a_category_grows_from_an_entity_of_four_memories_of_several_conversations() {
    let gauges = |session: bool| -> Vec<Memory> {
        let of = |number| {
            let mut memory = memory(number, MemoryKind::Fact, &format!("Number {number} holds."));
            memory.source.session = session.then(|| "one".to_owned());
            memory
        };
        (1..=4).map(of).collect()
    };
    let entities = ["TideGauge".to_owned()];
    let of = |memories: &[Memory], entities: &[String]| {
        let items: Vec<Item<'_>> = memories.iter().map(|memory| item(memory, entities)).collect();
        names(&tree(&items, &no_meaning)).into_iter().map(|(name, count)| (name.to_owned(), count)).collect::<Vec<_>>()
    };
    assert_eq!(of(&gauges(false), &entities), [("tidegauge".to_owned(), 4)]);
    assert_eq!(of(&gauges(true), &entities), [(GENERAL.to_owned(), 4)], "one conversation is one topic");
    assert_eq!(of(&gauges(false)[..3], &entities), [(GENERAL.to_owned(), 3)], "three are too few");
    assert_eq!(of(&gauges(false), &["tests".to_owned()]), [("testing".to_owned(), 4)], "that is a category of the design");
}

#[test]
fn a_large_category_gets_parts_and_a_small_one_does_not() {
    let tests = |count: u8| -> Vec<Memory> {
        (1..=count).map(|number| memory(number, MemoryKind::Fact, &format!("Test number {number} passes."))).collect()
    };
    let entities = ["Harness".to_owned()];
    let parts = |count: u8| {
        let memories = tests(count);
        let of = |(at, memory)| item(memory, if at < 5 { &entities } else { &[] });
        let items: Vec<Item<'_>> = memories.iter().enumerate().map(of).collect();
        let tree = tree(&items, &no_meaning);
        assert_eq!(names(&tree), [("testing", usize::from(count))]);
        names(&tree[0].children).into_iter().map(|(name, count)| (name.to_owned(), count)).collect::<Vec<_>>()
    };
    assert_eq!(parts(14), [("harness".to_owned(), 5)]);
    assert!(parts(12).is_empty());
}

#[test]
fn a_summary_tells_what_holds_decisions_with_reasons_rules_and_open_points() {
    let mut decided = memory(2, MemoryKind::Decision, "Tests use a real database.");
    decided.fields =
        Fields::Decision { reason: Some("mocks hid two bugs".to_owned()), alternatives: Vec::new(), tradeoffs: Vec::new() };
    let mut closed = memory(5, MemoryKind::Todo, "Test the old importer.");
    closed.fields = Fields::Open { is_closed: true };
    let memories = [
        memory(1, MemoryKind::Fact, "Tests take four minutes."),
        decided,
        memory(3, MemoryKind::Standard, "Every fix comes with a test."),
        memory(4, MemoryKind::Todo, "Test the export of notes."),
        closed,
        memory(6, MemoryKind::Solution, "Problem: the tests hang. Fix: the pool is closed."),
    ];
    let mut items = items(&memories);
    items[1].replaced = Some(("Tests use mocks.", Some(NOW)));
    let tree = tree(&items, &no_meaning);
    let told = known(&tree, "testing").summary(&items, None).markdown();
    let id = |at: usize| memories[at].id.short();
    let expected = format!(
        "# Testing\n\nTests, test suites, fixtures, coverage and continuous integration checks. 6 memories, the last of 2026-03-10.\n\n\
         ## What holds\n- Tests take four minutes. [{}]\n\n\
         ## Decisions\n- Tests use a real database. Reason: mocks hid two bugs (2026-03-06; instead of “Tests use mocks.”, until \
         2026-03-04) [{}]\n\n## Rules\n- Every fix comes with a test. [{}]\n\n\
         ## Solutions\n- Problem: the tests hang. Fix: the pool is closed. [{}]\n\n## Open points\n- Test the export of notes. [{}]\n",
        id(0),
        id(1),
        id(2),
        id(5),
        id(3)
    );
    assert_eq!(told, expected);
}

#[test]
fn of_what_contradicts_both_sides_are_told_and_of_what_repeats_one() {
    let mut one = memory(1, MemoryKind::Fact, "Tests run on port 4000.");
    let mut other = memory(2, MemoryKind::Fact, "Tests run on port 5000.");
    (one.status, other.status) = (Status::Contested, Status::Contested);
    let memories = [
        one,
        other,
        memory(3, MemoryKind::Fact, "Tests need a running queue and a mail server on this machine to pass at all."),
        memory(4, MemoryKind::Fact, "Tests need a running queue and a mail server on this machine to pass at all!"),
    ];
    let against = [vec![(memories[1].id, memories[1].statement.clone())], vec![(memories[0].id, memories[0].statement.clone())]];
    let mut items = items(&memories);
    (items[0].against, items[1].against) = (&against[0], &against[1]);
    let summary = known(&tree(&items, &no_meaning), "testing").summary(&items, None);
    let contested: Vec<&Line> = summary.lines.iter().filter(|line| line.is_contested).collect();
    assert_eq!(contested.len(), 2);
    assert!(
        contested[0].text.starts_with("Contested: Tests run on port")
            && contested[0].text.contains("; against it: “Tests run on port")
    );
    assert_eq!(summary.lines.iter().filter(|line| line.text.starts_with("Tests need")).count(), 1);
}

#[test]
fn pinned_and_a_persons_statements_come_first() {
    let mut memories: Vec<Memory> = ["The first test passes.", "A second test fails.", "Another test hangs."]
        .iter()
        .zip(1..)
        .map(|(text, number)| memory(number, MemoryKind::Fact, text))
        .collect();
    memories[1].lane = Lane::Curated;
    memories[2].is_pinned = true;
    let items = items(&memories);
    let summary = known(&tree(&items, &no_meaning), "testing").summary(&items, None);
    let told: Vec<&str> = summary.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(told, ["Another test hangs.", "A second test fails.", "The first test passes."]);
}

#[test]
fn a_subject_means_a_category_by_name_tag_or_word_and_suffices_if_all_of_it_is_covered() {
    let memories = [
        memory(1, MemoryKind::Fact, "Tests take four minutes on the runner."),
        memory(2, MemoryKind::Decision, "Test the importer with recorded pages."),
        memory(3, MemoryKind::Standard, "Every fix comes with a test."),
        memory(4, MemoryKind::Todo, "Test the export of berths."),
    ];
    let items = items(&memories);
    let tree = tree(&items, &no_meaning);
    let choose = |subject: &str| {
        let summary = |category: &Category| Ok::<_, Infallible>(category.summary(&items, None));
        let choice = chosen(&tree, subject, &no_meaning, &summary).unwrap()?;
        Some((choice.category.name.clone(), choice.is_sufficient))
    };
    let testing = |is_sufficient| Some(("testing".to_owned(), is_sufficient));
    for subject in ["testing", "the tests", "Testing of the importer", "pytest"] {
        assert_eq!(choose(subject), testing(true), "{subject}");
    }
    assert_eq!(choose("testing of invoices"), testing(false));
    for subject in ["invoices", "the", "", "showtime", "general"] {
        assert_eq!(choose(subject), None, "{subject}");
    }
    let many: Vec<Memory> = (0..9)
        .map(|at| {
            let of = if at == 0 { "pages" } else { "berths" };
            memory(10 + at, MemoryKind::Fact, &format!("Tests of {of} take {at} minutes on runner {at}."))
        })
        .collect();
    let many = self::items(&many);
    let suffices = |subject: &str| {
        let tree = super::tree(&many, &no_meaning);
        let summary = |category: &Category| Ok::<_, Infallible>(category.summary(&many, None));
        chosen(&tree, subject, &no_meaning, &summary).unwrap().unwrap().is_sufficient
    };
    assert_eq!((suffices("testing of berths"), suffices("testing of pages")), (true, false), "one line of nine is no overview");
    let empty = |_: &Category| Ok::<_, Infallible>(Category::default().summary(&items, None));
    let few = |subject: &str| chosen(&tree, subject, &no_meaning, &empty).unwrap();
    assert!(few("testing").is_some_and(|choice| !choice.is_sufficient), "a few lines replace no passages");
}

#[test]
fn a_line_of_a_model_stands_until_one_of_its_sources_changes_and_what_is_new_is_told_beside_it() {
    let mut memories = [
        memory(1, MemoryKind::Decision, "Tests run against a recorded tide."),
        memory(2, MemoryKind::Fact, "The tests take four minutes."),
        memory(3, MemoryKind::Standard, "Every fix comes with a test."),
    ];
    let line = |section, text: &str, sources: &[&Memory]| WrittenLine {
        section,
        text: text.to_owned(),
        sources: sources.iter().map(|memory| memory.id).collect(),
    };
    let written = Written {
        by: "vendor/model".to_owned(),
        lines: vec![
            line(Section::Decisions, "Tests replay a recorded tide, in four minutes.", &[&memories[0], &memories[1]]),
            line(Section::Rules, "No fix without a test.", &[&memories[2]]),
        ],
        known: memories.iter().map(|memory| (memory.id, memory.changed)).collect(),
        ..Written::default()
    };
    let told = |memories: &[Memory]| {
        let items = items(memories);
        let summary = known(&tree(&items, &no_meaning), "testing").summary(&items, Some(&written));
        let lines: Vec<String> = summary.lines.iter().map(|line| format!("{} {}", line.section.as_str(), line.text)).collect();
        (lines, summary.by.is_some())
    };
    let both = ["decisions Tests replay a recorded tide, in four minutes.", "rules No fix without a test."].map(str::to_owned);
    assert_eq!(told(&memories), (both.to_vec(), true));
    let markdown = known(&tree(&items(&memories), &no_meaning), "testing").summary(&items(&memories), Some(&written)).markdown();
    assert!(markdown.contains(&format!("[{}, {}]", memories[0].id.short(), memories[1].id.short())), "{markdown}");

    let with_new = [memories.to_vec(), vec![memory(4, MemoryKind::Todo, "Test the export of berths.")]].concat();
    assert_eq!(told(&with_new).0.last().unwrap(), "open Test the export of berths.");

    let mut pinned = with_new.clone();
    pinned[3].is_pinned = true;
    let silent = Written { known: pinned.iter().map(|memory| (memory.id, memory.changed)).collect(), ..written.clone() };
    let of = |silent: &Written, memories: &[Memory]| {
        let items = items(memories);
        known(&tree(&items, &no_meaning), "testing").summary(&items, Some(silent)).lines.len()
    };
    assert_eq!(
        (of(&silent, &pinned), of(&silent, &with_new)),
        (3, 2),
        "a model leaves out what is of no use, and nothing pinned"
    );
    let long = Written { lines: vec![line(Section::Rules, &"tests ".repeat(40), &[&memories[2]]); 12], ..written.clone() };
    assert!((3..8).contains(&of(&long, &memories)), "half a page, whatever a model writes");

    memories[1].status = Status::Superseded;
    let (lines, is_of_model) = told(&memories);
    assert!(is_of_model);
    let fallen = "what the line that fell said of the other memory is told by that memory";
    assert_eq!(lines, ["decisions Tests run against a recorded tide.", "rules No fix without a test."], "{fallen}");

    memories[2].changed += 1;
    let (lines, is_of_model) = told(&memories);
    assert!(!is_of_model, "without a standing line the memories speak for themselves");
    assert_eq!(lines, ["decisions Tests run against a recorded tide.", "rules Every fix comes with a test."]);

    (memories[1].status, memories[0].status) = (Status::Holds, Status::Contested);
    memories[2].changed -= 1;
    let expected = [
        "holds The tests take four minutes.",
        "decisions Contested: Tests run against a recorded tide",
        "rules No fix without a test.",
    ];
    assert_eq!(told(&memories).0, expected);
}

/// Words of which statements are made: some are of categories, some of none.
const WORDS: [&str; 16] = [
    "test", "database", "login", "deploy", "cache", "gauge", "wingman", "tide", "bug", "fix", "is", "the", "not", "schema",
    "latency", "importer",
];

fn statements() -> impl Strategy<Value = Vec<(Vec<usize>, usize, bool)>> {
    let statement = (prop::collection::vec(0..WORDS.len(), 1..12), 0..MemoryKind::ALL.len(), any::<bool>());
    prop::collection::vec(statement, 1..40)
}

fn made(statements: &[(Vec<usize>, usize, bool)]) -> Vec<Memory> {
    let of = |(number, (words, kind, is_superseded)): (u8, &(Vec<usize>, usize, bool))| {
        let text: Vec<&str> = words.iter().map(|word| WORDS[*word]).collect();
        let mut memory = memory(number, MemoryKind::ALL[*kind], &text.join(" "));
        if *is_superseded {
            memory.status = Status::Superseded;
        }
        memory
    };
    (0..).zip(statements).map(of).collect()
}

proptest! {
    #[test]
    fn order_of_the_memories_changes_nothing(statements in statements(), turn in 0usize..40) {
        let mut memories = made(&statements);
        let told = |memories: &[Memory]| {
            let items = items(memories);
            let tree = tree(&items, &no_meaning);
            let all = tree.iter().flat_map(Category::with_children);
            all.map(|category| (category.name.clone(), category.aliases.clone(), category.summary(&items, None).markdown())).collect::<Vec<_>>()
        };
        let before = told(&memories);
        let turn = turn % memories.len();
        memories.rotate_left(turn);
        prop_assert_eq!(before, told(&memories));
    }

    #[test]
    fn every_memory_is_somewhere_above_one_half_or_in_general_and_summaries_are_short(statements in statements()) {
        let memories = made(&statements);
        let items = items(&memories);
        let tree = tree(&items, &no_meaning);
        for memory in &memories {
            prop_assert!(tree.iter().any(|category| category.members.iter().any(|member| member.id == memory.id)));
        }
        let mut known = std::collections::HashSet::new();
        for category in tree.iter().flat_map(Category::with_children) {
            prop_assert!(known.insert(category.name.clone()), "{} is there twice", category.name);
            let least = if category.name == GENERAL { -1.0 } else { LEAST_RELEVANCE };
            prop_assert!(category.members.iter().all(|member| member.relevance > least && member.relevance <= 1.0));
            let summary = category.summary(&items, None);
            prop_assert!(summary.markdown().chars().count() <= 1_600);
            for line in &summary.lines {
                let memory = memories.iter().find(|memory| memory.id == line.source).unwrap();
                prop_assert!(memory.is_in_effect(), "a superseded statement is told");
            }
        }
    }
}
