//! Finds versions of tools and libraries, and commands of build tools, that a text names.

/// Most of either that are read of a text.
const MOST: usize = 4;
/// Longest name and version, in bytes.
const LONGEST: usize = 60;
/// Words between a name and its version.
const BETWEEN: &[&str] = &[
    "version", "versions", "v", "to", "from", "at", "is", "was", "now", "on", "=", "==", "auf", "von", "ist", "pinned", "bumped",
    "upgraded", "updated", "moved", "set", "uses", "needs", "requires",
];
/// Words after a number that make it a measure.
const UNITS: &[&str] = &[
    "GB", "MB", "KB", "kB", "GiB", "MiB", "ms", "s", "seconds", "minutes", "min", "hours", "hour", "h", "days", "weeks",
    "months", "years", "%", "percent", "x", "times", "points", "m", "km", "cm", "mm", "kg", "million", "billion", "dollars",
    "euros", "Stunden", "Minuten", "Tage",
];
/// Words before a number that name no tool.
const NO_NAMES: &[&str] = &[
    "took", "takes", "lasts", "costs", "over", "under", "around", "than", "least", "most", "nearly", "phase", "step", "section",
    "chapter", "figure", "table", "part", "about", "by", "and", "or", "the", "a",
];
/// Programs that run a script by its name: with the word before it, if there is one.
const RUNNERS: &[(&str, &str)] =
    &[("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run"), ("make", ""), ("just", ""), ("task", "")];

/// Returns the versions that a text names, each with the name before it; of several of one name the last.
///
/// ```
/// use yore_core::text::versions;
/// assert_eq!(versions("Upgraded serde from 1.0.100 to v1.0.200."), [("serde".to_owned(), "1.0.200".to_owned())]);
/// assert_eq!(versions("Runs on node:20.1 and flask==2.3.1"), [("node".to_owned(), "20.1".to_owned()), ("flask".to_owned(), "2.3.1".to_owned())]);
/// assert_eq!(versions("The cache holds 1.5 GB in phase 2.1."), []);
/// ```
pub fn versions(text: &str) -> Vec<(String, String)> {
    let raw: Vec<&str> = text.split_whitespace().collect();
    let words: Vec<&str> = raw.iter().map(|word| bare(word)).collect();
    let mut found: Vec<(String, String)> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        // "flask==2.3.1", "serde@1.0", "node:20.1"
        let joined = ["==", "@", ":"]
            .iter()
            .find_map(|sign| word.rsplit_once(sign))
            .map(|(name, number)| (name, number.trim_start_matches('=')));
        let (name, number) = match joined {
            Some((name, number)) if version(number).is_some() => (Some(name), number),
            _ => (name_before(&raw, &words, at), *word),
        };
        let (Some(name), Some(number)) = (name.filter(|name| is_name(name)), version(number)) else { continue };
        // A number with a unit is a measure.
        let is_measure = words.get(at + 1).is_some_and(|next| UNITS.contains(next));
        if is_measure && joined.is_none() {
            continue;
        }
        found.retain(|(known, _)| known != name);
        found.push((name.to_owned(), number.to_owned()));
    }
    found.truncate(MOST);
    found
}

/// Returns the word before a version that may be the name of what it is the version of.
fn name_before<'w>(raw: &[&str], words: &[&'w str], at: usize) -> Option<&'w str> {
    let is_between = |at: &usize| BETWEEN.contains(&words[*at]) || version(words[*at]).is_some();
    let name = (0..at).rev().find(|at| !is_between(at))?;
    // A word that ends a sentence or a part of one belongs to that.
    let is_apart = (name..at).any(|at| raw[at].ends_with(['.', ',', ';', ':', '!', '?']));
    (!is_apart).then_some(words[name])
}

/// Returns the commands in a text that run a script, target or recipe by its name, without their further arguments.
///
/// ```
/// use yore_core::text::commands;
/// assert_eq!(commands("Run `npm run lint -- --fix` and then `make dist`."), ["npm run lint", "make dist"]);
/// assert_eq!(commands("We make plans, and `make` alone builds."), [""; 0]);
/// ```
pub fn commands(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for code in text.split('`').skip(1).step_by(2) {
        let words: Vec<&str> = code.split_whitespace().collect();
        let Some((program, between)) = RUNNERS.iter().find(|(program, _)| words.first() == Some(program)) else { continue };
        let (given, place) = match words.get(1) {
            Some(word) if word == between => (true, 2),
            _ => (between.is_empty(), 1),
        };
        let Some(script) = words.get(place).filter(|script| is_name(script)) else { continue };
        // "npm install" runs no script of the project; "npm test" does.
        if !given && !["test", "start"].contains(script) && *program == "npm" {
            continue;
        }
        let command = if between.is_empty() { format!("{program} {script}") } else { format!("{program} {between} {script}") };
        if !found.contains(&command) {
            found.push(command);
        }
    }
    found.truncate(MOST);
    found
}

/// Returns a number with dots as a version, without a letter before it. Addresses, days and measures are none.
fn version(word: &str) -> Option<&str> {
    let number = word.strip_prefix(['v', 'V']).unwrap_or(word);
    let plain = number.split(['-', '+']).next().unwrap_or(number);
    let parts: Vec<&str> = plain.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    // "2.0rc1"
    let last = parts.last().map_or("", |last| last.trim_end_matches(|letter: char| letter.is_ascii_digit()));
    let is_early = ["rc", "a", "b", "alpha", "beta", "dev"].iter().any(|early| last.ends_with(early) && last.len() > early.len());
    let is_version = (2..=3).contains(&parts.len())
        && parts[..parts.len() - 1].iter().all(is_number)
        && (parts.last().is_some_and(is_number) || is_early);
    let is_day = parts.len() == 3 && parts.last().is_some_and(|year| year.len() == 4);
    let is_plain = number.chars().all(|letter| letter.is_ascii_alphanumeric() || ".-+".contains(letter));
    (is_version && is_plain && !is_day && number.len() <= LONGEST).then_some(number)
}

fn is_name(word: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./@:+".contains(letter);
    let begins = word.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '@');
    begins
        && word.len() > 1
        && word.len() <= LONGEST
        && word.chars().all(is_plain)
        && !NO_NAMES.contains(&word.to_lowercase().as_str())
}

/// Removes marks around a word.
fn bare(word: &str) -> &str {
    word.trim_matches(|letter: char| "`\"'*()[],;!?".contains(letter)).trim_end_matches(['.', ':'])
}

#[cfg(test)]
mod tests {
    use super::{commands, versions};

    #[test]
    fn versions_belong_to_the_name_before_them() {
        let told = |text: &str| versions(text).into_iter().map(|(name, number)| format!("{name} {number}")).collect::<Vec<_>>();
        assert_eq!(told("Flask 2.3.1 runs in production."), ["Flask 2.3.1"]);
        assert_eq!(told("`@scope/tide` is at version 4.0.0-rc.1 now"), ["@scope/tide 4.0.0-rc.1"]);
        assert_eq!(told("Python 3.12, node v20.1 and typescript@5.4"), ["Python 3.12", "node 20.1", "typescript 5.4"]);
        assert_eq!(told("It took 2.5 s, 3.1 times as long; 1.2.3"), [""; 0]);
        assert_eq!(told(&format!("{} 1.2", "x".repeat(100))), [""; 0]);
        assert_eq!(told("The meeting took 1.5 hours. tokio is pinned to 1.20 and it takes 2.5"), ["tokio 1.20"]);
        assert_eq!(told("delay 0.5s, host 10.0.0.1, deployed 24.12.2024, Django 5.0rc1"), ["Django 5.0rc1"]);
    }

    #[test]
    fn commands_are_those_that_a_project_defines() {
        assert_eq!(commands("`npm test` and `yarn build`, `npm install left-pad`"), ["npm run test", "yarn run build"]);
        assert_eq!(commands("`make -j4`, `just`, `task lint:all --force`"), ["task lint:all"]);
        assert_eq!(commands("make dist"), [""; 0], "only what is marked as code");
    }
}
