//! The embedding thread: runs a child process with the local model while turns lack vectors. The child's memory is freed when it
//! exits, whatever the runtime keeps for itself. It has the lowest priority, so that ingestion never waits for it.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::shared::Shared;

/// Interval between checks for turns that lack vectors.
const LOOK: Duration = Duration::from_secs(5);
/// Shortest pause between two such processes, since each loads the model.
const SHORTEST_PAUSE: Duration = Duration::from_secs(30);
/// Longest pause, after failures.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// Runs embedding processes until the daemon ends.
pub fn run(shared: &Shared<'_>) {
    let mut pause = SHORTEST_PAUSE;
    // Ingestion goes first.
    shared.sleep(LOOK);
    while !shared.is_stopping() {
        if !is_wanted(shared) {
            shared.sleep(LOOK);
            continue;
        }
        match spawn(shared) {
            Ok(child) => {
                shared.is_embedding.store(true, Ordering::Relaxed);
                let is_well = attend(shared, child);
                shared.is_embedding.store(false, Ordering::Relaxed);
                if shared.is_stopping() {
                    return;
                }
                let left = shared.engine.unembedded().unwrap_or(0);
                shared.log.info(format!("embedding {}: {left} turns wait", if is_well { "ended" } else { "failed" }));
                pause = if is_well { SHORTEST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
            }
            Err(error) => {
                shared.log.error(format!("embedding: {error}"));
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
        shared.sleep(pause);
    }
}

fn is_wanted(shared: &Shared<'_>) -> bool {
    let is_reading = || shared.engine.job_counts(yore_engine::Lane::Capture).is_ok_and(|jobs| jobs.leased > 0);
    // A server that may not be asked would fail each time.
    let may_ask = || shared.config.llm.daily_tokens > 0 && !shared.engine.are_models_off();
    let models = shared.settings.models();
    shared.config.models.embed
        && (models.servers.embedder.is_none() || may_ask())
        && models.has_embedder()
        && shared.engine.unembedded().is_ok_and(|turns| turns > 0)
        && !is_reading()
}

fn spawn(shared: &Shared<'_>) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--no-daemon").arg("--data-dir").arg(&shared.settings.directory).args(["embed", "--while-attended"]);
    for (key, value) in &shared.settings.flags {
        command.arg("--config").arg(format!("{key}={value}"));
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Waits for the process to exit, or kills it if the daemon ends. If the daemon itself is killed, the pipe
/// closes and the child exits as well.
fn attend(shared: &Shared<'_>, mut child: Child) -> bool {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success() || status.code() == Some(4),
            Ok(None) if shared.is_stopping() => {
                // Killing it between two commits loses nothing; an unfinished batch is embedded again.
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(200)),
            Err(_) => return false,
        }
    }
}
