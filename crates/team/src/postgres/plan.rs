//! Decides what a push changes, from the rows that concern it. It reads and writes nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use uuid::Uuid;

use crate::rules::{self, Counts, State};
use crate::store::Caller;
use crate::wire::{Change, Operation, Outcome, Role};

/// A text's name, and the member who shares it or shared it.
pub(super) type Key = (String, Uuid);

/// The stored rows that concern a push.
#[derive(Default)]
pub(super) struct Before {
    /// Outcomes of its operations that were seen before.
    pub(super) seen: HashMap<Uuid, Outcome>,
    /// Records of the member, and of all members for the names that are to be forgotten.
    pub(super) records: BTreeMap<Key, Held>,
    /// Names of its operations that are forgotten.
    pub(super) forgotten: HashSet<String>,
    /// Number of the project's last change; 0 if there is no project.
    pub(super) last: i64,
}

/// A stored record, without its text.
#[derive(Clone, Copy)]
pub(super) struct Held {
    /// Bytes of the text; `None`: it is gone.
    pub(super) bytes: Option<i64>,
    /// True if it is forgotten.
    pub(super) is_forgotten: bool,
    /// True if the member withholds it.
    pub(super) is_withheld: bool,
}

/// A record as it is to be stored.
pub(super) struct Written<'a> {
    pub(super) seq: i64,
    pub(super) state: State<'a>,
}

/// Changes of a push.
#[derive(Default)]
pub(super) struct Plan<'a> {
    /// One for each operation.
    pub(super) outcomes: Vec<Outcome>,
    /// Operations that were not seen before, with the reason if one was refused.
    pub(super) done: BTreeMap<Uuid, Option<String>>,
    /// Records to be written.
    pub(super) written: BTreeMap<Key, Written<'a>>,
    /// Names to be remembered.
    pub(super) forgotten: Vec<&'a str>,
    /// Number of the project's last change after it.
    pub(super) last: i64,
    /// Texts that are shared in addition; negative: fewer.
    pub(super) texts: i64,
    /// Bytes of these.
    pub(super) bytes: i64,
    /// For the audit.
    pub(super) counts: Counts,
}

impl Plan<'_> {
    /// Returns whether it changes anything in the project.
    pub(super) fn changes_project(&self) -> bool {
        !self.written.is_empty() || !self.forgotten.is_empty()
    }
}

/// Plans a push.
pub(super) fn plan<'a>(caller: &Caller, operations: &'a [Operation], before: Before) -> Plan<'a> {
    let mut planning = Planning { caller, plan: Plan { last: before.last, ..Plan::default() }, before };
    for operation in operations {
        let outcome = match planning.before.seen.get(&operation.id) {
            Some(outcome) => outcome.clone(),
            None => planning.first_time(operation),
        };
        planning.plan.outcomes.push(outcome);
    }
    planning.plan
}

struct Planning<'a, 'c> {
    caller: &'c Caller,
    plan: Plan<'a>,
    /// What is stored, with the changes so far.
    before: Before,
}

impl<'a> Planning<'a, '_> {
    fn first_time(&mut self, operation: &'a Operation) -> Outcome {
        let why = rules::refusal(&operation.change).or_else(|| self.change(&operation.change).map(str::to_owned));
        self.plan.done.insert(operation.id, why.clone());
        let outcome = why.map_or(Outcome::Done, |why| Outcome::Refused { why });
        self.plan.counts.count(&operation.change, &outcome);
        self.before.seen.insert(operation.id, outcome.clone());
        outcome
    }

    /// Makes a change, or returns why it is refused.
    fn change(&mut self, change: &'a Change) -> Option<&'static str> {
        let me = self.caller.me.member;
        match change {
            Change::Add { name, .. } if self.before.forgotten.contains(name) => return Some(rules::FORGOTTEN),
            Change::Add { name, text } => {
                if !self.shares(name, me) {
                    self.write((name.clone(), me), State::Shared(text));
                }
            }
            Change::TakeBack { name, is_withheld } => {
                let is_withheld = *is_withheld;
                let changes = |held: &Held| held.bytes.is_some() || is_withheld && !held.is_withheld && !held.is_forgotten;
                let key = (name.clone(), me);
                if self.before.records.get(&key).is_some_and(changes) {
                    self.write(key, State::TakenBack { is_withheld });
                }
            }
            Change::Forget { name } if self.before.forgotten.contains(name) => {}
            Change::Forget { name } => {
                let all = (name.clone(), Uuid::nil())..=(name.clone(), Uuid::max());
                let all: Vec<(Key, Held)> = self.before.records.range(all).map(|(key, held)| (key.clone(), *held)).collect();
                let role = self.caller.me.role;
                if role != Role::Owner {
                    if role == Role::Reader && !all.iter().any(|((_, member), _)| *member == me) {
                        return Some(rules::NEVER_SHARED);
                    }
                    if all.iter().any(|((_, member), held)| *member != me && held.bytes.is_some()) {
                        return Some(rules::SHARED_BY_OTHERS);
                    }
                }
                self.before.forgotten.insert(name.clone());
                self.plan.forgotten.push(name);
                // Nobody is known to have shared it: a restored backup lacks what came after it, and copies may be left.
                if all.is_empty() {
                    self.write((name.clone(), me), State::Forgotten);
                }
                // Those who took it back count too: copies of their text may be left.
                for (key, _) in all.into_iter().filter(|(_, held)| !held.is_forgotten) {
                    self.write(key, State::Forgotten);
                }
            }
        }
        None
    }

    fn shares(&self, name: &str, member: Uuid) -> bool {
        self.before.records.get(&(name.to_owned(), member)).is_some_and(|held| held.bytes.is_some())
    }

    fn write(&mut self, key: Key, state: State<'a>) {
        let Plan { last, texts, bytes, written, .. } = &mut self.plan;
        let bytes_now = state.text().map(|text| text.len() as i64);
        let held = Held { bytes: bytes_now, is_forgotten: state.is_forgotten(), is_withheld: state.is_withheld() };
        let old = self.before.records.insert(key.clone(), held).and_then(|old| old.bytes);
        *texts += i64::from(held.bytes.is_some()) - i64::from(old.is_some());
        *bytes += held.bytes.unwrap_or_default() - old.unwrap_or_default();
        *last += 1;
        written.insert(key, Written { seq: *last, state });
    }
}
