//! The list of requirements: every row has one state, and the tests and files that it names exist.
//!
//! - `done PATH::TEST`: the test shows it; `untested PATH`: it is built there, and no test is known that shows it
//! - `measured SECTION`: it is a figure, and ours stands in that section of `docs/measurements.md`
//! - `partly WHAT`: a part of it is missing; `other WAY`: it is met in another way, or its figure does not apply; `absent WHY`: it is not built

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Rows that must be there: the last number of each design, and of the faults and conflicts found in them.
const NUMBERS: [(&str, usize); 6] = [("S1", 161), ("S2", 63), ("S3", 55), ("S4", 76), ("S5", 88), ("C", 134)];

fn complaint(repository: &Path, state: &str, rest: &str) -> Option<String> {
    let reads = |path: &str| fs::read_to_string(repository.join(path)).ok();
    match state {
        "done" => {
            let Some((path, test)) = rest.split_once("::") else { return Some("names no test".to_owned()) };
            let Some(text) = reads(path) else { return Some(format!("there is no {path}")) };
            // Attributes may stand between the mark of a test and its function.
            let is_test = text.split("#[test]").skip(1).any(|after| {
                after
                    .lines()
                    .find(|line| line.trim_start().starts_with("fn "))
                    .is_some_and(|line| line.contains(&format!("fn {test}(")))
            });
            (!is_test).then(|| format!("{path} has no test {test}"))
        }
        "measured" => {
            let figures = reads("docs/measurements.md").unwrap_or_default();
            let has_heading =
                figures.lines().any(|line| line.trim_start_matches('#').trim_start() == rest && line.starts_with('#'));
            (!has_heading).then(|| format!("docs/measurements.md has no section {rest}"))
        }
        "untested" => reads(rest).is_none().then(|| format!("there is no {rest}")),
        "partly" | "other" | "absent" => (rest.split(' ').count() < 3).then(|| "gives no reason".to_owned()),
        _ => Some("has no valid state".to_owned()),
    }
}

#[test]
fn every_requirement_has_one_state_and_its_tests_and_files_exist() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let list = fs::read_to_string(repository.join("crates/bench/data/requirements/rows.txt")).unwrap();
    let (mut complaints, mut seen, mut counts) = (Vec::new(), BTreeSet::new(), BTreeMap::<&str, usize>::new());
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.splitn(3, ' ');
        let (id, state, rest) = (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or(""));
        if !seen.insert(id.to_owned()) {
            complaints.push(format!("{id} has two rows"));
        }
        complaints.extend(complaint(&repository, state, rest).map(|why| format!("{id}: {why}")));
        *counts.entry(state).or_default() += 1;
    }
    let wanted: BTreeSet<String> =
        NUMBERS.iter().flat_map(|(design, last)| (1..=*last).map(move |number| format!("{design}-{number:03}"))).collect();
    complaints.extend(wanted.difference(&seen).map(|id| format!("{id} has no row")));
    complaints.extend(seen.difference(&wanted).map(|id| format!("{id} is no requirement")));
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    // Seen with `--nocapture`.
    println!("requirements: {counts:?}");
}

#[test]
fn a_row_that_names_what_does_not_exist_is_found() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let of = |state: &str, rest: &str| complaint(&repository, state, rest).is_some();
    let here = "crates/engine/tests/it/requirements.rs";
    assert!(!of("done", &format!("{here}::a_row_that_names_what_does_not_exist_is_found")));
    assert!(of("done", &format!("{here}::complaint")), "a function that is no test");
    assert!(of("done", here) && of("done", "nowhere.rs::test") && of("untested", "nowhere.rs"));
    assert!(
        of("later", "T the lane of reading") && of("measured", "Nothing") && of("absent", "so") && of("finished", "it is done")
    );
}
