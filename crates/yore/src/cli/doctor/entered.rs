//! Checks whether agents run the entries that `yore install` made, and whether they still exist.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use yore_engine::Severity;

use super::super::Context;
use super::super::install::{this_program, with_machine};
use crate::agents::{AGENTS, agent};
use crate::error::CliError;
use crate::health::Told;
use crate::install::found::Installed;
use crate::install::what::What;
use crate::install::{Lack, Machine, Missing, Scope, missing};

/// Reports hooks in a file that the agent does not run. Successful trials of that file's hooks are lowered to
/// notes.
pub(super) fn idle_hooks(all: &[Installed], context: &Context, tried: &mut [Told]) -> Vec<Told> {
    let files: BTreeSet<(&str, &Path)> =
        all.iter().filter(|one| matches!(one.what, What::Hook { .. })).map(|one| (one.agent, one.file.as_path())).collect();
    let mut told = Vec::new();
    for (name, file) in files {
        let Some(agent) = agent(name) else { continue };
        let idle = with_machine(context, Scope::User, |machine| Ok((agent.idle_hooks)(machine, file))).unwrap_or_default();
        let mut causes: Vec<(&str, &str, Vec<String>)> = Vec::new();
        for hook in idle {
            match causes.iter_mut().find(|(why, ..)| *why == hook.why) {
                Some((.., events)) => events.push(hook.event),
                None => causes.push((hook.why, hook.remedy, vec![hook.event])),
            }
        }
        let path = file.display().to_string();
        if !causes.is_empty() {
            let of_file = |told: &&mut Told| told.facts.get("file").and_then(Value::as_str) == Some(&path);
            for fine in tried.iter_mut().filter(|told| told.code == "hook" && told.severity == Severity::Fine).filter(of_file) {
                fine.severity = Severity::Note;
            }
        }
        for (why, remedy, events) in causes {
            let text = format!("{name}: {} does not run {}: {why}", agent.title, events.join(", "));
            told.push(
                Told::new("hook", Severity::Warning, text)
                    .remedy(remedy)
                    .fact("agent", name)
                    .fact("events", events)
                    .fact("file", path.clone()),
            );
        }
    }
    told
}

/// Finds missing entries: someone removed them, or an older yore did not enter them.
pub(super) fn missed(context: &Context) -> Vec<Told> {
    let look = |machine: &Machine<'_>| {
        let program = this_program(context)?;
        missing(&AGENTS, machine, &program, &context.settings.directory)
            .map_err(|error| CliError::io(&context.settings.directory, &error))
    };
    let all = with_machine(context, Scope::User, look).unwrap_or_default();
    let told = all.into_iter().map(|Missing { agent, file, scope, lacks }| {
        let file = file.display().to_string();
        let has_gone = lacks.iter().any(|lack| !matches!(lack, Lack::Matcher { .. }));
        let each: Vec<String> = lacks.iter().map(|lack| lacked(lack, &file)).collect();
        let scope = if scope == Scope::Project { " --scope project" } else { "" };
        let remedy = if has_gone {
            format!("`yore install {agent}{scope}` enters it again; `yore uninstall {agent}{scope}` removes the rest")
        } else {
            format!("leave it if this is intended; `yore install {agent}{scope}` replaces what an older yore entered")
        };
        let severity = if has_gone { Severity::Warning } else { Severity::Note };
        Told::new("agents", severity, format!("{agent}: {}", each.join("; ")))
            .remedy(remedy)
            .fact("agent", agent)
            .fact("file", file)
    });
    told.collect()
}

/// Describes a missing entry in words.
fn lacked(lack: &Lack, file: &str) -> String {
    match lack {
        Lack::File => format!("{file}, which `yore install` created, no longer exists"),
        Lack::Part(part) => format!("the {} that `yore install` entered in {file} was removed", part.name()),
        Lack::Hook(event) => format!("the hook {event} that `yore install` enters is not in {file}"),
        Lack::Matcher { event, now, entered } => {
            let now = now.as_deref().unwrap_or("everything");
            let entered = entered.as_deref().unwrap_or("everything");
            format!("{event} runs for {now} only, and is entered for {entered}")
        }
    }
}
