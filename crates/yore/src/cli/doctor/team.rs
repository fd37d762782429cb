//! Looks at what is shared with teams: copies that cannot be read, changes that wait for long, and what servers refused.

use yore_core::time::UtcMillis;
use yore_engine::Severity;

use super::super::Context;
use crate::engine_handle::now;
use crate::health::Told;
use crate::render::text::counted;
use crate::shared::mirror::{self, Mirror, TeamProject};

const DAY_MS: UtcMillis = 86_400_000;

/// Returns a finding for each project that is shared with a team.
pub(super) fn examine(context: &Context) -> Vec<Told> {
    let data = &context.settings.directory;
    let broken = |error: std::io::Error| Told::new("team", Severity::Warning, error.to_string());
    match mirror::projects(data) {
        Ok(projects) => projects
            .iter()
            .map(|project| match mirror::mirror(data, project) {
                Ok(mirror) => project_found(project, &mirror),
                Err(error) => broken(error).remedy("the next `yore team sync` sets it aside and receives everything again"),
            })
            .collect(),
        Err(error) => vec![broken(error).remedy("remove the file, and say `yore share .` in the projects that you share")],
    }
}

fn project_found(project: &TeamProject, mirror: &Mirror) -> Told {
    let drawn_at = |waiting: &mirror::Waiting| {
        let (seconds, _) = waiting.operation.id.get_timestamp()?.to_unix();
        i64::try_from(seconds).ok()?.checked_mul(1_000)
    };
    let oldest = mirror.waiting.iter().filter_map(drawn_at).min();
    let days = oldest.map_or(0, |oldest| (now() - oldest) / DAY_MS);
    let name = &project.name;
    if days >= 1 {
        let waiting = counted(mirror.waiting.len() as u64, "change");
        let text = format!("{name}: {waiting} for the team wait since {}", counted(days as u64, "day"));
        return Told::new("team", Severity::Warning, text).remedy("`yore team sync` says why");
    }
    if !project.is_stopped && !project.root.is_dir() {
        let text = format!("{name}: the checkout from which it is shared is gone: {}", project.root.display());
        return Told::new("team", Severity::Warning, text).remedy("`yore share .` in another checkout names that one");
    }
    if !mirror.refused.is_empty() {
        let text = format!("{name}: {} refused by the team's server", counted(mirror.refused.len() as u64, "text"));
        return Told::new("team", Severity::Note, text).remedy("`yore team` says why");
    }
    Told::new("team", Severity::Fine, format!("{name}: {} shared from here", counted(mirror.sent.len() as u64, "memory")))
}
