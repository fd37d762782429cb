//! Formats the life of the memory for one screen of 80 columns: sections that are empty are left out.

use super::memories::kind_name_of;
use super::plain::{count, counted, one_line, table};
use crate::results::{MemoryLife, MemoryNumbers, TokenDay, UsedRecord};

/// Columns of the screen.
const COLUMNS: usize = 80;
/// Width of the names of sections.
const LABEL: usize = 11;
/// Maximum number of projects and memories in the text; the data has all.
const LISTED: usize = 5;
/// Weeks in the text.
const WEEKS: usize = 12;
/// Order of the tiers.
const TIERS: [&str; 5] = ["active", "warm", "cool", "cold", "frozen"];

/// Returns the lines of numbers of memories and of their life.
pub fn life_lines(memories: &MemoryNumbers, life: &MemoryLife) -> Vec<String> {
    let mut lines = Vec::new();
    let mut section = |label: &str, parts: Vec<String>| lines.extend(wrapped(label, &parts));
    if memories.total > 0 {
        let total = vec![
            counted(memories.total, "memory"),
            format!("{} in effect", count(life.active)),
            counted(memories.entities, "entity"),
            counted(memories.relations, "relation"),
            counted(memories.operations, "operation"),
        ];
        section("memories", total);
    }
    section("kinds", named(memories.by_kind.iter().map(|(name, number)| (kind_name_of(name), *number)), usize::MAX));
    section("statuses", named(memories.by_status.iter().map(|(name, number)| (name.clone(), *number)), usize::MAX));
    section("lanes", named(memories.by_lane.iter().map(|(name, number)| (name.clone(), *number)), usize::MAX));
    section("sources", named(memories.by_source.iter().map(|(name, number)| (name.clone(), *number)), usize::MAX));
    if life.project.is_none() {
        let told = |name: &str| if name.is_empty() { "everywhere".to_owned() } else { one_line(name) };
        section("projects", named(memories.by_project.iter().map(|(name, number)| (told(name), *number)), LISTED));
    }
    let tiers = TIERS.iter().filter_map(|tier| Some((*tier, *life.by_tier.get(*tier)?)));
    section("tiers", tiers.filter(|(_, number)| *number > 0).map(|(tier, number)| format!("{} {tier}", count(number))).collect());
    let waiting = [(life.awaiting_review, "for review (`yore review`)"), (life.open_conflicts, "in conflict (`yore conflicts`)")];
    let waiting = waiting.into_iter().filter(|(number, _)| *number > 0);
    section("waiting", waiting.map(|(number, told)| format!("{} {told}", count(number))).collect());
    lines.extend(growth(life));
    lines.extend(used(life));
    let mut section = |label: &str, parts: Vec<String>| lines.extend(wrapped(label, &parts));
    section("tokens", tokens(&life.tokens));
    section("upkeep", upkeep(life));
    section("recall", recall(life));
    lines
}

/// Returns numbers with their names, most first; those beyond `most` as one number.
fn named(names: impl Iterator<Item = (String, u64)>, most: usize) -> Vec<String> {
    let mut names: Vec<(String, u64)> = names.collect();
    names.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let rest: u64 = names.iter().skip(most).map(|(_, number)| number).sum();
    let mut told: Vec<String> = names.iter().take(most).map(|(name, number)| format!("{} {name}", count(*number))).collect();
    if rest > 0 {
        told.push(format!("{} in {}", count(rest), counted((names.len() - most) as u64, "other")));
    }
    told
}

/// Returns the lines of a section: its parts, separated by commas; no lines if it has no parts.
fn wrapped(label: &str, parts: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let comma = if number + 1 < parts.len() { "," } else { "" };
        let word = format!("{part}{comma}");
        match lines.last_mut().filter(|line| line.chars().count() + 1 + word.chars().count() <= COLUMNS) {
            Some(line) => line.push_str(&format!(" {word}")),
            None => {
                let label = if lines.is_empty() { label } else { "" };
                lines.push(format!("{label:<LABEL$}{word}"));
            }
        }
    }
    lines
}

/// Returns the last weeks as a table of three rows, the oldest week first.
fn growth(life: &MemoryLife) -> Vec<String> {
    let weeks = &life.growth[life.growth.len().saturating_sub(WEEKS)..];
    let row = |name: &str, of: fn(&crate::results::WeekGrowth) -> u64| {
        let numbers = weeks.iter().map(|week| short(of(week)));
        (weeks.iter().any(|week| of(week) > 0)).then(|| std::iter::once(format!("  {name}")).chain(numbers).collect())
    };
    let rows: Vec<Vec<String>> =
        [row("sessions", |week| week.sessions), row("turns", |week| week.turns), row("memories", |week| week.memories)]
            .into_iter()
            .flatten()
            .collect();
    let Some(first) = weeks.first().filter(|_| !rows.is_empty()) else { return Vec::new() };
    let head = format!("{:<LABEL$}{} weeks, from {} to this one", "growth", weeks.len(), first.week);
    std::iter::once(head).chain(table(&rows)).collect()
}

/// Formats a number in at most four characters, such as `999`, `12k` or `3.4M`.
fn short(number: u64) -> String {
    let (unit, letter) = match number {
        0..1_000 => return number.to_string(),
        1_000..999_500 => (1e3, 'k'),
        _ => (1e6, 'M'),
    };
    let value = number as f64 / unit;
    if value < 9.95 { format!("{value:.1}{letter}") } else { format!("{value:.0}{letter}") }
}

fn used(life: &MemoryLife) -> Vec<String> {
    let uses = |used: &UsedRecord| used.opened + used.cited + used.confirmed;
    let mut lines = Vec::new();
    for (number, one) in life.most_used.iter().take(LISTED).enumerate() {
        let label = if number == 0 { "most used" } else { "" };
        let line = format!("{label:<LABEL$}{} {}", count(uses(one)), one_line(&one.statement));
        let cut: String = line.chars().take(COLUMNS - 1).collect();
        lines.push(if cut == line { line } else { format!("{cut}…") });
    }
    if life.unused > 0 {
        let told = format!("{} of {} were never opened, cited or confirmed", count(life.unused), count(life.active));
        lines.push(format!("{:<LABEL$}{told}", "unused"));
    }
    lines
}

fn tokens(days: &[TokenDay]) -> Vec<String> {
    let sum = |of: fn(&TokenDay) -> u64| days.iter().map(of).sum::<u64>();
    let (given, answers) = (sum(|day| day.given), sum(|day| day.answers));
    let (spent, calls) = (sum(|day| day.taken.input_tokens + day.taken.output_tokens), sum(|day| day.taken.calls));
    let dollars: f64 = days.iter().map(|day| day.taken.dollars).sum();
    let mut parts = Vec::new();
    if given > 0 {
        parts.push(format!("{} given in {}", count(given), counted(answers, "answer")));
    }
    if calls > 0 {
        let money = if dollars > 0.0 { format!(" (${dollars:.2})") } else { String::new() };
        parts.push(format!("{} spent in {}{money}", count(spent), counted(calls, "call")));
    }
    if let Some(last) = parts.last_mut() {
        last.push_str(" in 30 days");
    }
    parts
}

fn upkeep(life: &MemoryLife) -> Vec<String> {
    let failing: Vec<&str> = life.upkeep.iter().filter(|job| job.failing_since.is_some()).map(|job| job.job.as_str()).collect();
    let done = life.upkeep.iter().filter_map(|job| job.done.as_deref()).max();
    let due = life.upkeep.iter().filter(|job| job.due).count() as u64;
    let mut parts = Vec::new();
    if let Some(done) = done {
        parts.push(format!("last run {}", done.get(..10).unwrap_or(done)));
        parts.push(format!("{} due", counted(due, "job")));
    }
    if !failing.is_empty() {
        parts.push(format!("failing: {} (`yore upkeep status`)", failing.join(", ")));
    }
    parts
}

fn recall(life: &MemoryLife) -> Vec<String> {
    let milliseconds = |micros: u64| format!("{:.1}", micros as f64 / 1e3);
    let mut parts: Vec<String> = life.recall.first().map(|part| counted(part.count, "recall")).into_iter().collect();
    parts.extend(life.recall.iter().map(|part| format!("{} {} ms", part.part, milliseconds(part.mean_us))));
    if let Some(last) = parts.last_mut() {
        last.push_str(" in the mean");
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_table_take_four_characters() {
        let told = [0, 999, 1_000, 9_949, 9_950, 999_499, 999_500, 3_400_000].map(short);
        assert_eq!(told, ["0", "999", "1.0k", "9.9k", "10k", "999k", "1.0M", "3.4M"]);
    }

    #[test]
    fn parts_that_do_not_fit_into_a_line_go_on_below() {
        let parts: Vec<String> = (0..12).map(|number| format!("{number}0,000 memories")).collect();
        let lines = wrapped("kinds", &parts);
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.chars().count() <= COLUMNS));
        assert!(lines[0].starts_with("kinds      00,000 memories,") && lines[1].starts_with("           "));
        assert!(lines[2].ends_with("110,000 memories"));
        assert_eq!(wrapped("kinds", &[]), Vec::<String>::new());
    }

    #[test]
    fn names_beyond_the_most_are_one_number() {
        let names = [("a", 1), ("b", 5), ("c", 2), ("d", 1)].map(|(name, number)| (name.to_owned(), number));
        assert_eq!(named(names.clone().into_iter(), 2), ["5 b", "2 c", "2 in 2 others"]);
        assert_eq!(named(names.into_iter(), 4).len(), 4);
    }
}
