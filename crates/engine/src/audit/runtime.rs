//! Compares the version of a language or runtime that a line asks for with the one that the project's files state.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::{Found, Line};
use super::report::AuditKind;
use super::repository::{Repository, file_name};
use super::words::is_denied;

/// A runtime: its names in a sentence, and the files that state its version, each with the pattern of the statement.
struct Runtime {
    names: Regex,
    stated: Vec<(&'static str, Regex)>,
}

static RUNTIMES: LazyLock<Vec<Runtime>> = LazyLock::new(|| {
    let any = r#"(?m)^v?(\d+(?:\.\d+)*)"#;
    let of = |names: &str, stated: &[(&'static str, &str)]| {
        Some(Runtime {
            names: super::risky::regex(&format!(
                r"\b(?:{names})(?:\s+(?:version|is|at|to|of|on))*[\s:=v>~^]*(\d+(?:\.\d+)*)(\+?(?:\s+(?:or|and)\s+(?:newer|later|higher|up|above))?)"
            ))?,
            stated: stated.iter().filter_map(|(file, form)| Some((*file, super::risky::regex(form)?))).collect(),
        })
    };
    [
        of(
            "MSRV|rust(?:c|-version)?",
            &[
                ("Cargo.toml", r#"(?m)^rust-version\s*=\s*"(\d+(?:\.\d+)*)"#),
                ("rust-toolchain.toml", r#"channel\s*=\s*"(\d+(?:\.\d+)*)"#),
                ("rust-toolchain", any),
            ],
        ),
        of(
            r"node(?:\.?js)?",
            &[(".nvmrc", any), (".node-version", any), ("package.json", r#""node"\s*:\s*"[>=^~v ]*(\d+(?:\.\d+)*)"#)],
        ),
        of("python", &[(".python-version", any), ("pyproject.toml", r#"(?m)^requires-python\s*=\s*"[>=~^ ]*(\d+(?:\.\d+)*)"#)]),
        of("go(?:lang)?", &[("go.mod", r"(?m)^go (\d+(?:\.\d+)*)")]),
        of("ruby", &[(".ruby-version", any)]),
        of("pnpm", &[("package.json", r#""packageManager"\s*:\s*"pnpm@(\d+(?:\.\d+)*)"#)]),
    ]
    .into_iter()
    .flatten()
    .collect()
});

/// Returns the version that a line asks for, if the files of the project's top state another one.
pub(super) fn outdated(line: &Line<'_>, repository: &Repository) -> Option<Found> {
    let text = &line.said.text;
    for runtime in RUNTIMES.iter() {
        let Some(asked) = runtime.names.captures(text) else { continue };
        let (Some(number), Some(place)) = (asked.get(1), asked.get(0)) else { continue };
        let is_open = asked.get(2).is_some_and(|open| !open.as_str().is_empty());
        if is_denied(text, place.start()) {
            continue;
        }
        let stated: Vec<(&str, String)> = runtime
            .stated
            .iter()
            .filter_map(|(file, form)| {
                let path = repository
                    .files
                    .iter()
                    .filter(|path| file_name(path) == *file)
                    .min_by_key(|path| path.matches('/').count())?;
                Some((path.as_str(), form.captures(&repository.text_of(path)?)?.get(1)?.as_str().to_owned()))
            })
            .collect();
        let holds = |stated: &str| {
            let (a, b) = (parts(number.as_str()), parts(stated));
            let length = a.len().min(b.len());
            a[..length] == b[..length] || is_open && a < b
        };
        let Some((path, other)) = stated.first() else { continue };
        if stated.iter().any(|(_, stated)| holds(stated)) {
            continue;
        }
        let mut found = Found::new(
            AuditKind::Stale,
            format!("{path} states {other}"),
            stated.iter().map(|(path, version)| format!("{path}: {version}")).collect::<Vec<_>>().join(", "),
        );
        found.change = Some((number.as_str().to_owned(), other.clone()));
        return Some(found);
    }
    None
}

fn parts(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}
