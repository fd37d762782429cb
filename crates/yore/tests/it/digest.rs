//! `yore today` and `yore week`: what was done in a period, here and everywhere.

use std::path::Path;

use crate::environment::TestEnvironment;
use crate::transcript::Transcript;

const DAY: i64 = 86_400_000;

/// Returns noon of today, UTC.
fn noon() -> i64 {
    let now = jiff::Timestamp::now().as_millisecond();
    now - now.rem_euclid(DAY) + DAY / 2
}

fn session(environment: &TestEnvironment, number: u32, at: i64, project: &Path, asked: &str) {
    Transcript::new(&format!("7a5b000{number}-3f0{number}-4714-9c3{number}-5c452003a142"), project.to_str().unwrap())
        .at(at)
        .human(asked)
        .assistant("I look at all of the harbour's lights.")
        .assistant("The lights of the harbour blink again, as they did before the storm.")
        .write(&environment.projects());
    environment.ingest(&environment.projects());
}

#[test]
fn day_and_week_are_told_by_session_here_or_everywhere() {
    let environment = TestEnvironment::new();
    let (quay, pier) = (environment.path("work/quay"), environment.path("work/pier"));
    std::fs::create_dir_all(&quay).unwrap();
    session(&environment, 1, noon() - 30 * DAY, &quay, "paint the old crane");
    let run = |arguments: &[&str]| environment.yore(arguments).current_dir(&quay).run();
    let none = run(&["today"]).ends_with(1);
    let day = jiff::Timestamp::from_millisecond(noon() - 30 * DAY).unwrap().strftime("%Y-%m-%d").to_string();
    assert_eq!(none.stdout, format!("nothing was done here today; work was last done here on {day}: paint the old crane\n"));
    session(&environment, 2, noon() - 3 * DAY, &quay, "mend the lights");
    session(&environment, 3, noon(), &pier, "count the boats");
    assert_eq!(run(&["today"]).ends_with(1).stdout.lines().count(), 1);
    let all = run(&["today", "--all"]).success().stdout;
    assert!(all.starts_with("1 session on ") && all.contains("- count the boats · 12:00 · ["), "{all}");
    let week = run(&["week"]).success().stdout;
    assert!(week.starts_with("1 session from ") && week.contains("- mend the lights · "), "{week}");
    assert!(week.contains("outcome: The lights of the harbour blink again") && !week.contains("crane"), "{week}");
    let both = run(&["week", "--all", "--json"]).success().json();
    assert_eq!(both["view"]["rows"].as_array().unwrap().len(), 2, "{both}");
    assert!(run(&["week", "--json"]).success().json()["results"].as_array().unwrap().is_empty());
}
