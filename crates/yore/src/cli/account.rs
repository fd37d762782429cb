use clap::Args;
use yore_core::account::FEWEST_SESSIONS;
use yore_core::time::UtcMillis;

use super::Context;
use crate::account;
use crate::error::{CliResult, Exit};
use crate::recall_request;
use crate::render::account::quantity_in_words;
use crate::render::text::{self, count, counted};
use crate::results::Account;

/// Show what memory was worth, and what it cost
///
/// Needs sessions to which hooks give nothing though there was something to give: `inject.holdout_sessions = 0.2` draws a fifth of the
/// sessions by chance. Each difference has an interval that holds it with 95 % confidence; with fewer than ten sessions of either kind
/// nothing is said.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only this project: name, id or directory; may be repeated
    #[arg(short, long = "project", value_name = "PROJECT", value_parser = crate::cli::project)]
    projects: Vec<String>,
    /// Only sessions last used at or after this time [default: 90 days ago]
    #[arg(long, value_name = "TIME", value_parser = recall_request::time)]
    since: Option<UtcMillis>,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let mut memory = context.settings.memory()?;
    let account = account::account(&mut memory, arguments.projects.clone(), arguments.since)?;
    if context.printer.is_json() {
        context.printer.json(&account)?;
        return Ok(Exit::Success);
    }
    for line in lines(&account) {
        context.printer.line(line)?;
    }
    if account.holdout_sessions == 0.0 && account.without < FEWEST_SESSIONS as u64 {
        context.printer.note(
            "nothing is held out, so nothing can be compared; `yore config set inject.holdout_sessions 0.2` gives a fifth of the \
             sessions nothing",
        )?;
    }
    Ok(Exit::Success)
}

fn lines(account: &Account) -> Vec<String> {
    let mut lines = vec![format!(
        "{} with memory, {} held out by chance",
        counted(account.with, "session"),
        counted(account.without, "session")
    )];
    let mut rows = vec![["", "with", "without", "difference", ""].map(str::to_owned).to_vec()];
    rows.extend(
        account
            .quantities
            .iter()
            .map(|quantity| std::iter::once(quantity.title.clone()).chain(quantity_in_words(quantity)).collect()),
    );
    lines.extend(text::table(&rows));
    let Account { given_tokens, models, .. } = account;
    lines.push(String::new());
    lines.push(format!(
        "cost: {} given to agents, about {} in a session; {} by language models, {}, ${:.2}",
        counted(*given_tokens, "token"),
        count(given_tokens.checked_div(account.with).unwrap_or_default()),
        counted(models.calls, "call"),
        counted(models.input_tokens + models.output_tokens, "token"),
        models.dollars
    ));
    lines
}
