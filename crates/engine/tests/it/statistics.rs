//! Statistics: tiers and uses as time passes, conflicts, growth by week, and the times of recall across processes.

use yore_core::memory::dynamics::Tier;
use yore_core::memory::{Lane, MemoryKind, Use};
use yore_core::operation::Cause;
use yore_engine::{Life, LifeRequest, NewMemory, RecallRequest, Statistics, StatisticsRequest};
use yore_testing::{Memory, SessionBuilder};

const DAY: i64 = 86_400_000;

fn later() -> i64 {
    Memory::now() + 400 * DAY
}

fn add(memory: &Memory, statement: &str) -> String {
    let new = NewMemory::new(MemoryKind::Fact, statement);
    memory.engine().add_memory(&new, &Cause::default()).unwrap().memory.to_string()
}

fn all(memory: &Memory) -> Statistics {
    let life = LifeRequest { weeks: 3, most_used: 2, offset_minutes: 0 };
    memory.engine().statistics(&StatisticsRequest { project: None, life: Some(life) }).unwrap()
}

fn life(memory: &Memory) -> Life {
    all(memory).life.unwrap()
}

#[test]
fn sizes_alone_compute_no_standing() {
    let memory = Memory::new();
    add(&memory, "The crane is on pier three.");
    let sizes = memory.statistics();
    assert_eq!(sizes.store.memories.total(), 1);
    assert!(sizes.life.is_none() && sizes.store.uses.is_none() && sizes.store.growth.is_empty());
}

#[test]
fn tiers_and_bands_follow_time_and_use() {
    let mut memory = Memory::new();
    let (used, unused) = (add(&memory, "The crane is on pier three."), add(&memory, "Ropes are counted on Monday."));
    let gone = add(&memory, "The old mill is closed.");
    memory.engine().invalidate_memory(&gone, None, &Cause::default()).unwrap();
    let tier = |life: &Life, wanted: Tier| life.tiers.iter().find(|(tier, _)| *tier == wanted).unwrap().1;
    let now = life(&memory);
    assert_eq!((tier(&now, Tier::Active), now.decay), (2, [2, 0, 0]), "what was wrong has no tier");
    memory.open_at(later);
    let old = life(&memory);
    assert_eq!(tier(&old, Tier::Active), 0, "{:?}", old.tiers);
    memory.engine().open_memory(&used, None).unwrap();
    let again = all(&memory);
    let uses = again.store.uses.unwrap();
    assert_eq!(tier(&again.life.unwrap(), Tier::Active), 1);
    assert_eq!((uses.in_effect, uses.unused), (2, 1));
    assert_eq!((uses.most_used[0].id.to_string(), uses.most_used[0].opened), (used, 1));
    assert_eq!(uses.never_used[0].id.to_string(), unused);
}

#[test]
fn shows_and_gifts_are_no_uses_and_confirmations_are_until_undone() {
    let memory = Memory::new();
    let mut new = NewMemory::new(MemoryKind::Fact, "The crane is on pier three.");
    new.memory.lane = Lane::Extracted;
    let id = memory.engine().add_memory(&new, &Cause::default()).unwrap().memory.to_string();
    let known = memory.engine().memory(&id).unwrap().memory.id;
    for way in [Use::Shown, Use::Given] {
        memory.engine().record_memory_uses(&[known], way, None, None).unwrap();
    }
    assert_eq!(all(&memory).store.uses.unwrap().unused, 1);
    let confirmed = memory.engine().confirm_memory(&id, &Cause::default()).unwrap();
    let uses = all(&memory).store.uses.unwrap();
    assert_eq!((uses.unused, uses.most_used[0].confirmed), (0, 1));
    memory.engine().undo(confirmed.operation.unwrap(), &Cause::default()).unwrap();
    assert_eq!(all(&memory).store.uses.unwrap().unused, 1);
}

#[test]
fn weeks_begin_on_monday_by_the_clock_of_the_person() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(7).cwd("/home/dev/tide");
    session.human("the crane opens at six");
    memory.write("a.jsonl", session.text());
    memory.read();
    add(&memory, "The crane opens at six.");
    // The present is Wednesday, 1 July 2026.
    let growth = all(&memory).store.growth;
    assert_eq!(
        growth.iter().map(|week| week.monday * DAY).collect::<Vec<_>>(),
        [1_781_481_600_000, 1_782_086_400_000, 1_782_691_200_000]
    );
    assert_eq!(growth[2].memories, 1);
    let behind = LifeRequest { weeks: 1, most_used: 0, offset_minutes: -3 * 24 * 60 };
    let request = StatisticsRequest { project: None, life: Some(behind) };
    let growth = memory.engine().statistics(&request).unwrap().store.growth;
    assert_eq!((growth[0].monday * DAY, growth[0].memories), (1_782_086_400_000, 1), "a clock that shows Sunday");
}

#[test]
fn open_conflicts_are_counted() {
    let memory = Memory::new();
    add(&memory, "The gallery has 8 cards on the first page.");
    add(&memory, "The gallery has 10 cards on the first page.");
    let open = memory.engine().conflicts(&[], None, 10).unwrap().len() as u64;
    assert_eq!(life(&memory).open_conflicts, open);
}

#[test]
fn times_of_recall_are_stored_on_request_and_kept_for_thirty_days() {
    let mut memory = Memory::new();
    add(&memory, "The crane is on pier three.");
    let ask = |memory: &Memory| drop(memory.engine().recall(&RecallRequest::new("where is the crane")).unwrap());
    assert!(life(&memory).recall.is_empty());
    ask(&memory);
    ask(&memory);
    assert_eq!(life(&memory).recall.sum()[1].count, 2, "what is not stored yet counts");
    memory.open();
    assert!(life(&memory).recall.is_empty(), "a query stores nothing");
    ask(&memory);
    memory.engine().store_recall_times().unwrap();
    memory.open();
    ask(&memory);
    memory.engine().store_recall_times().unwrap();
    memory.engine().store_recall_times().unwrap();
    assert_eq!(life(&memory).recall.sum().map(|part| part.count), [2, 2, 2]);
    memory.open_at(later);
    assert!(life(&memory).recall.is_empty());
}
