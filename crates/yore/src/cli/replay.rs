use clap::Args;
use sha2::{Digest, Sha256};
use yore_engine::{CUTS, ReplayReport, ReplayRequest};

use super::Context;
use crate::error::{CliResult, Exit};
use crate::render::text;
use crate::results::{ReplayWay, Replayed};

/// Measure, on your own history, which files memory would have named
///
/// At each earlier prompt, only what was said before it in other sessions is searched. What it should name are the
/// files that the agent then opened for the first time in its session and that the prompt does not name. Beside it: full
/// text alone, grep (the messages with most of the prompt's words), the files that are opened most often, and those opened
/// last. The table holds numbers alone, so it can be shown to anybody.
#[derive(Args, Debug)]
pub struct Arguments {
    /// At most N prompts, the newest ones
    #[arg(short = 'n', long, value_name = "N", default_value_t = 500)]
    limit: usize,
    /// Also ask the last N characters that were said before the prompt in its own session
    #[arg(long, value_name = "N", default_value_t = 600)]
    context: usize,
    /// Only half of the prompts (a or b), by a hash of session and time: to choose settings on one half
    #[arg(long, value_name = "HALF", value_parser = ["a", "b"])]
    half: Option<String>,
}

/// Width of the longest bar, in characters.
const BAR: f64 = 40.0;

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let engine = context.settings.engine(false)?;
    let request = ReplayRequest {
        limit: arguments.limit,
        context: arguments.context,
        mode: context.settings.config().recall.embedder.mode(),
        is_wanted: match arguments.half.as_deref() {
            Some("a") => |session, time| !is_in_half_b(session, time),
            Some(_) => is_in_half_b,
            None => |_, _| true,
        },
    };
    let report = engine.replay(&request, &mut |_, _| true)?;
    if context.printer.is_json() {
        context.printer.json(&replayed(&report))?;
    } else if report.prompts == 0 {
        context.printer.note("nothing to replay: no prompt after which an agent opened a file, after some hundred others")?;
    } else {
        for line in lines(&report) {
            context.printer.line(line)?;
        }
    }
    Ok(if report.prompts == 0 { Exit::Nothing } else { Exit::Success })
}

fn is_in_half_b(session: &str, time: &str) -> bool {
    Sha256::digest(format!("{session}{time}"))[0] & 1 == 1
}

fn replayed(report: &ReplayReport) -> Replayed {
    let way = |row: &yore_engine::ReplayRow| ReplayWay {
        name: row.name.to_owned(),
        hit_at: CUTS.iter().zip(row.hits).map(|(cut, share)| (cut.to_string(), share)).collect(),
        recall_at_10: row.recall,
    };
    Replayed { prompts: report.prompts, helpable: report.helpable, ways: report.rows.iter().map(way).collect() }
}

/// Returns a table of the ways of suggesting files, and a bar for each at each number of files.
fn lines(report: &ReplayReport) -> Vec<String> {
    let share = |value: f64| format!("{value:.3}");
    let mut rows = vec![vec!["suggested".to_owned()]];
    rows[0].extend(CUTS.iter().map(|cut| format!("hit@{cut}")).chain(["recall@10".to_owned()]));
    for row in &report.rows {
        let cells =
            std::iter::once(row.name.to_owned()).chain(row.hits.iter().map(|value| share(*value))).chain([share(row.recall)]);
        rows.push(cells.collect());
    }
    let mut lines = vec![format!(
        "{}; in {} of them an earlier session had opened a file that was then opened",
        text::counted(report.prompts as u64, "prompt"),
        report.helpable
    )];
    lines.extend(text::table(&rows));
    for (at, cut) in CUTS.iter().enumerate() {
        lines.push(format!("\none of the first {cut}:"));
        for row in &report.rows {
            let bar = "█".repeat((row.hits[at] * BAR).round() as usize);
            lines.push(format!("  {:<12} {bar} {:.0} %", row.name, row.hits[at] * 100.0));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use yore_engine::ReplayRow;

    use super::*;

    #[test]
    fn each_way_has_a_line_in_the_table_and_a_bar_at_each_number() {
        let row = |name, share| ReplayRow { name, hits: [share / 2.0, share, share, 1.0], recall: share };
        let report = ReplayReport { prompts: 4, helpable: 3, rows: vec![row("memory", 0.5), row("opened often", 0.25)] };
        let lines = lines(&report);
        assert!(lines[0].starts_with("4 prompts; in 3 of them"), "{}", lines[0]);
        assert_eq!(lines.iter().filter(|line| line.contains('█')).count(), 2 * CUTS.len());
        assert!(lines.iter().any(|line| line.contains("memory") && line.ends_with("█ 50 %")));
    }
}
