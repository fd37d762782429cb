//! Audits what agents hold themselves: checks each line of instruction and memory files against code, history and conversations.
//!
//! Nothing is recorded and no file is changed. A line is reported only with a proof: a place in the code, a commit, a session, or
//! another line. Each line has at most one finding, the surest.
//!
//! - [`Engine::audit`]: the report
//! - `report`: request and report as data; `finding`: a line and a finding; `statement`: a sentence of a time; `lines`: cuts a file into instructions; `words`: names and words of an instruction
//! - `repository`: what the working tree has and what its history had; `sessions`: what was said in the project
//! - `risky`, `stale`, `runtime`, `later`, `unused`, `doubled`: one check each

mod doubled;
mod finding;
mod later;
mod lines;
mod report;
mod repository;
mod risky;
mod runtime;
mod sessions;
mod stale;
mod statement;
mod unused;
mod words;

use std::path::Path;

use self::finding::Line;
use self::lines::instructions;
pub use self::report::{AuditFile, AuditFinding, AuditKind, AuditReport, AuditRequest, AuditScope};
use self::repository::Repository;
use self::sessions::Said;
use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// Checks the instructions of files. Outside of a repository, only what the lines themselves tell is reported.
    ///
    /// # Errors
    /// The store cannot be read. A repository that cannot be read is named in [`AuditReport::problems`].
    pub fn audit(&self, request: &AuditRequest) -> Result<AuditReport, EngineError> {
        let mut problems = Vec::new();
        let root = Path::new(&request.root);
        let names: Vec<&str> = request.files.iter().filter_map(|file| file.name.as_deref()).collect();
        let repository = Repository::read(root, &names).unwrap_or_else(|error| {
            problems.push(format!("{}: {error}", request.root));
            None
        });
        let mut lines: Vec<Line<'_>> = Vec::new();
        for file in &request.files {
            let times = match (&repository, &file.name) {
                (Some(repository), Some(name)) => repository.times_of(name),
                _ => Vec::new(),
            };
            lines.extend(instructions(&file.text).into_iter().map(|said| {
                let time = times.get(said.line as usize - 1).copied();
                Line { file, at: time.unwrap_or(file.modified), is_dated: time.is_some(), said }
            }));
        }
        let own: Vec<&str> = lines.iter().map(|line| line.said.text.as_str()).collect();
        let mut said = Said::read(self, request.here.as_ref(), &own)?;
        if let Some(repository) = &repository {
            said.later.extend(repository.statements());
            said.known.extend(&repository.known);
        }
        let doubled = doubled::doubled(&lines);
        let outdated = match &repository {
            Some(repository) => stale::by_manifests(root, &lines, repository),
            None => lines.iter().map(|_| None).collect(),
        };
        let checker = later::Checker::new(&said.later);
        let mut findings = Vec::new();
        for ((line, twin), outdated) in lines.iter().zip(doubled).zip(outdated) {
            let here = repository.as_ref().filter(|_| line.file.scope != AuditScope::Everywhere);
            let found = risky::risky(&line.said)
                .or_else(|| here.and_then(|repository| stale::by_paths(line, repository)))
                .or_else(|| outdated.filter(|_| here.is_some()))
                .or_else(|| here.and_then(|repository| runtime::outdated(line, repository)))
                .or_else(|| here.and_then(|repository| checker.contradicted(line, repository)))
                .or_else(|| here.and_then(|repository| stale::by_names(line, repository)))
                .or(twin)
                .or_else(|| here.filter(|repository| repository.is_whole).and_then(|_| unused::unused(line, &said)));
            findings.extend(found.map(|found| AuditFinding {
                file: line.file.path.clone(),
                name: line.file.name.clone(),
                line: line.said.line,
                lines: line.said.whole_lines,
                kind: found.kind,
                text: line.said.text.clone(),
                reason: found.reason,
                proof: found.proof,
                change: found.change,
            }));
        }
        let texts = |found: &mut AuditFinding| {
            let mut texts = vec![std::mem::take(&mut found.text), std::mem::take(&mut found.reason)];
            texts.append(&mut found.proof);
            texts
        };
        let mut all: Vec<Vec<String>> = findings.iter_mut().map(texts).collect();
        self.redact_again(all.iter_mut().flatten())?;
        for (found, texts) in findings.iter_mut().zip(all) {
            let mut texts = texts.into_iter();
            found.text = texts.next().unwrap_or_default();
            found.reason = texts.next().unwrap_or_default();
            found.proof = texts.collect();
        }
        Ok(AuditReport {
            files: request.files.len(),
            lines: lines.len(),
            sessions: said.sessions,
            commits: repository.map_or(0, |repository| repository.commits.len()),
            findings,
            problems,
        })
    }
}
