//! Decides what a push changes, from the rows that concern it. It reads and writes nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use uuid::Uuid;

use crate::rules::{self, Counts};
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
}

/// A record as it is to be stored.
pub(super) struct Written<'a> {
    pub(super) seq: i64,
    pub(super) text: Option<&'a str>,
    pub(super) is_forgotten: bool,
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
                    self.write((name.clone(), me), Some(text), false);
                }
            }
            Change::TakeBack { name } => {
                if self.shares(name, me) {
                    self.write((name.clone(), me), None, false);
                }
            }
            Change::Forget { name } => {
                let all = (name.clone(), Uuid::nil())..=(name.clone(), Uuid::max());
                let all: Vec<(Key, Held)> = self.before.records.range(all).map(|(key, held)| (key.clone(), *held)).collect();
                let is_shared_by_others = all.iter().any(|((_, member), held)| *member != me && held.bytes.is_some());
                if is_shared_by_others && self.caller.me.role != Role::Owner {
                    return Some(rules::SHARED_BY_OTHERS);
                }
                if self.before.forgotten.insert(name.clone()) {
                    self.plan.forgotten.push(name);
                }
                // Those who took it back count too: copies of their text may be left.
                for (key, _) in all.into_iter().filter(|(_, held)| !held.is_forgotten) {
                    self.write(key, None, true);
                }
            }
        }
        None
    }

    fn shares(&self, name: &str, member: Uuid) -> bool {
        self.before.records.get(&(name.to_owned(), member)).is_some_and(|held| held.bytes.is_some())
    }

    fn write(&mut self, key: Key, text: Option<&'a str>, is_forgotten: bool) {
        let Plan { last, texts, bytes, written, .. } = &mut self.plan;
        let held = Held { bytes: text.map(|text| text.len() as i64), is_forgotten };
        let old = self.before.records.insert(key.clone(), held).and_then(|old| old.bytes);
        *texts += i64::from(held.bytes.is_some()) - i64::from(old.is_some());
        *bytes += held.bytes.unwrap_or_default() - old.unwrap_or_default();
        *last += 1;
        written.insert(key, Written { seq: *last, text, is_forgotten });
    }
}
