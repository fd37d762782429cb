//! `models providers` and `models test`: who may answer as a language model, and what the configured one can do.

use std::sync::atomic::AtomicBool;

use serde::Deserialize;
use serde_json::json;
use yore_engine::Ledger;
use yore_engine::llm::wire::Wanted;
use yore_engine::llm::{Form, LlmError, Prompt, Tier};

use super::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::llm;
use crate::render::text;
use crate::results::{Provider, TestedModel, TestedTier};

/// Lists who may answer.
pub fn providers(context: &mut Context) -> CliResult {
    let listed = llm::providers();
    if context.printer.is_json() {
        let of = |provider: &llm::Listed| Provider {
            name: provider.name.to_owned(),
            what: provider.what.clone(),
            key_variable: provider.key_variable.map(str::to_owned),
        };
        context.printer.json(&listed.iter().map(of).collect::<Vec<_>>())?;
    } else {
        let row = |provider: &llm::Listed| {
            let key = provider.key_variable.map(|name| format!("key in {name}")).unwrap_or_default();
            vec![provider.name.to_owned(), provider.what.clone(), key]
        };
        for line in text::table(&listed.iter().map(row).collect::<Vec<_>>()) {
            context.printer.line(line)?;
        }
    }
    Ok(Exit::Success)
}

/// The answer that is asked for.
#[derive(Deserialize)]
struct Sum {
    sum: i64,
}

/// Asks the configured model for a sum, in each form.
pub fn test(context: &mut Context) -> CliResult {
    let model = llm::model(&context.settings)?;
    let engine = context.settings.engine(true)?;
    let is_stopped = AtomicBool::new(false);
    let ledger = Ledger::new(&engine, llm::terms("test", &context.settings.own_config()?), &is_stopped);
    let schema =
        json!({"type": "object", "additionalProperties": false, "required": ["sum"], "properties": {"sum": {"type": "integer"}}});
    let form = Form { name: "sum", description: "A sum.", schema };
    let mut tested: Vec<TestedTier> = Vec::new();
    for tier in Tier::ALL {
        if !model.tiers(&ledger).contains(&tier) {
            continue;
        }
        let user = format!("What is 19 + 23? Answer with a JSON object of this schema: {}", form.schema);
        let prompt = Prompt { system: String::new(), user, max_tokens: 2_000, key: String::new() };
        let outcome = match model.complete(&prompt, Some(Wanted { form: &form, tier }), &ledger) {
            Ok(reply) => {
                let read = yore_engine::llm::structured::json_in(&reply.text)
                    .and_then(|(value, _)| serde_json::from_value::<Sum>(value).map_err(|error| error.to_string()));
                let verdict = match read {
                    Ok(Sum { sum: 42 }) => Ok(()),
                    Ok(Sum { sum }) => Err(format!("19 + 23 is not {sum}")),
                    Err(reason) => Err(reason),
                };
                (verdict, reply.usage.input, reply.usage.output)
            }
            Err(error @ (LlmError::Budget(_) | LlmError::NoKey(_) | LlmError::Unanswered(_))) => {
                return Err(CliError::usage(error.to_string(), None));
            }
            // Another form of the answer changes nothing.
            Err(error @ (LlmError::Transport { .. } | LlmError::Program { .. } | LlmError::Status { status: 401..=404, .. })) => {
                return Err(CliError::usage(error.to_string(), None));
            }
            Err(error) => (Err(error.to_string()), 0, 0),
        };
        let (verdict, input_tokens, output_tokens) = outcome;
        tested.push(TestedTier {
            tier: tier.as_str().to_owned(),
            works: verdict.is_ok(),
            problem: verdict.err(),
            input_tokens,
            output_tokens,
        });
    }
    let works = tested.iter().any(|tier| tier.works);
    if context.printer.is_json() {
        context.printer.json(&TestedModel { model: model.name().to_owned(), tiers: tested })?;
    } else {
        context.printer.line(text::harmless(model.name()))?;
        for tier in &tested {
            let verdict = match &tier.problem {
                None => {
                    format!("works; {} tokens read, {} written", text::count(tier.input_tokens), text::count(tier.output_tokens))
                }
                Some(problem) => text::harmless(problem),
            };
            context.printer.line(format!("  {}: {verdict}", tier.tier))?;
        }
    }
    Ok(if works { Exit::Success } else { Exit::Nothing })
}
