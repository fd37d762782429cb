//! The budget, the bans and the licences for all packages in `Cargo.lock`.
//!
//! The count and the bans cover every platform, from the lock file. Licences come from `cargo metadata`,
//! which needs each package's manifest: if those of other platforms were never fetched (`cargo fetch
//! --locked` does that), only this platform's packages are checked.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and may say what it left out"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Most packages in `Cargo.lock`, including yore's own. Each is code that runs with access to the user's data
/// and adds seconds to every build, so a new one is a decision. The last steps: from 475, Python for language
/// models (monty, and the parser that it has from ruff); from 550, the proxy (HTTP/2, TLS without blocking, brotli); from 565, the
/// server of a team (a PostgreSQL driver, its pool and TLS).
const BUDGET: usize = 600;

/// Packages that must not be used, with the reason.
const BANNED: [(&str, &str); 6] = [
    ("openssl", "TLS is rustls with ring"),
    ("openssl-sys", "needs a library of the system"),
    ("native-tls", "needs a library of the system"),
    ("aws-lc-sys", "needs cmake; ring does not"),
    ("onig", "a second regular expression engine, in C"),
    // `hyper` answers requests in the daemon; `reqwest` would make requests.
    ("reqwest", "requests are made by ureq, without a runtime"),
];

/// Accepted licences.
const LICENCES: [&str; 15] = [
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    // A licence for data: names of characters (unicode_names2).
    "Unicode-DFS-2016",
    "MPL-2.0",
    "CC0-1.0",
    "Unlicense",
    "0BSD",
    "BSL-1.0",
    "MIT-0",
    // A licence for data: the list of certificate authorities (webpki-roots).
    "CDLA-Permissive-2.0",
];

/// Exceptions that only widen what a licence allows.
const EXCEPTIONS: [(&str, &str); 1] = [("Apache-2.0", "LLVM-exception")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

/// Returns the names in `Cargo.lock`, with the number of versions of each.
fn locked() -> BTreeMap<String, usize> {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let mut names = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let name = package.lines().find_map(|line| line.strip_prefix("name = \"")).unwrap().trim_end_matches('"');
        *names.entry(name.to_owned()).or_default() += 1;
    }
    names
}

/// Returns every package known to cargo, without a network: for all platforms, or else for this one.
fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let metadata = |more: &[&str]| {
        let arguments = ["metadata", "--format-version", "1", "--locked", "--offline"];
        Command::new(&cargo).args(arguments).args(more).current_dir(root()).output().unwrap()
    };
    let mut output = metadata(&[]);
    if !output.status.success() {
        let version = Command::new(&cargo).arg("-vV").output().unwrap();
        let version = String::from_utf8(version.stdout).unwrap();
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        eprintln!("only packages of {host} are judged: those of other platforms were not fetched");
        output = metadata(&["--filter-platform", host]);
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Returns whether a licence expression can be satisfied with [`LICENCES`]: `AND` binds more tightly than
/// `OR`, an old `/` means `OR`.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let allowed = either(&words, &mut at);
    allowed && at == words.len()
}

fn either(words: &[&str], at: &mut usize) -> bool {
    let mut allowed = both(words, at);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        // Parses on even if the result is known.
        allowed |= both(words, at);
    }
    allowed
}

fn both(words: &[&str], at: &mut usize) -> bool {
    let mut allowed = one(words, at);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        allowed &= one(words, at);
    }
    allowed
}

fn one(words: &[&str], at: &mut usize) -> bool {
    let Some(word) = words.get(*at) else {
        // Past the end, so that a dangling operator is not an expression.
        *at = words.len() + 1;
        return false;
    };
    *at += 1;
    if *word == "(" {
        let allowed = either(words, at);
        let is_closed = words.get(*at) == Some(&")");
        *at += 1;
        return allowed && is_closed;
    }
    if words.get(*at) == Some(&"WITH") {
        let exception = words.get(*at + 1).copied().unwrap_or_default();
        *at += 2;
        return EXCEPTIONS.contains(&(*word, exception));
    }
    LICENCES.contains(word)
}

#[test]
fn licence_expressions_are_understood() {
    for allowed in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0-only OR MIT",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        "MIT OR GPL-3.0-only AND Zlib",
    ] {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for forbidden in [
        "",
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "(MIT OR ISC) AND AGPL-3.0-only",
        "MIT WITH LLVM-exception",
        "MIT OR",
        "(MIT",
    ] {
        assert!(!is_allowed(forbidden), "{forbidden}");
    }
}

#[test]
fn lock_file_stays_within_its_budget() {
    let count: usize = locked().values().sum();
    assert!(
        count <= BUDGET,
        "Cargo.lock names {count} packages, the budget is {BUDGET}. `cargo tree -i NAME` tells who brought one in. If it is \
         worth its place, raise BUDGET in crates/engine/tests/it/dependencies.rs in the same commit and say why in its message."
    );
    assert!(count + 40 > BUDGET, "Cargo.lock names {count} packages: lower BUDGET in crates/engine/tests/it/dependencies.rs");
}

#[test]
fn banned_packages_are_absent() {
    let locked = locked();
    let found: Vec<String> =
        BANNED.iter().filter(|(name, _)| locked.contains_key(*name)).map(|(name, why)| format!("{name}: {why}")).collect();
    assert!(found.is_empty(), "banned packages are in Cargo.lock:\n  {}", found.join("\n  "));
}

#[test]
fn what_cargo_deny_is_told_is_what_is_tested_here() {
    let text = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let quoted = |line: &str| line.split('"').nth(1).map(str::to_owned);
    let section = |from: &str| {
        let (_, rest) = text.split_once(from).unwrap();
        rest.split_once("\n]").unwrap().0.lines().filter(|line| !line.trim_start().starts_with('#')).filter_map(quoted).collect()
    };
    let mut licences: Vec<String> = section("allow = [");
    let mut expected: Vec<String> = LICENCES.iter().map(ToString::to_string).collect();
    expected.extend(EXCEPTIONS.iter().map(|(licence, exception)| format!("{licence} WITH {exception}")));
    licences.sort();
    expected.sort();
    assert_eq!(licences, expected);
    let banned: Vec<String> = section("deny = [");
    assert_eq!(banned, BANNED.map(|(name, _)| name));
}

#[test]
fn every_licence_is_one_that_we_accept() {
    let packages = packages();
    let ours: Vec<&str> =
        packages.iter().filter(|package| package["source"].is_null()).filter_map(|package| package["name"].as_str()).collect();
    assert!(ours.contains(&"yore-engine") && packages.len() > ours.len(), "cargo metadata knows too little: {ours:?}");
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(is_allowed))
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "licences that are not in the list:\n  {}", refused.join("\n  "));
}
