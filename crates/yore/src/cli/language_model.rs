//! `models providers` and `models test`: who may answer as a language model, and what the configured one can do.

use std::io::{BufRead, IsTerminal, Read};
use std::sync::atomic::AtomicBool;

use serde::Deserialize;
use serde_json::json;
use yore_engine::Terms;
use yore_engine::llm::wire::Wanted;
use yore_engine::llm::{Form, LlmError, Prompt, Tier};

use super::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::llm::{self, key::Keyring};
use crate::render::text;
use crate::results::{Provider, TestedModel, TestedTier, words};

/// Lists who may answer.
pub fn providers(context: &mut Context) -> CliResult {
    let listed = llm::providers();
    if context.printer.is_json() {
        let of = |provider: &llm::Listed| Provider {
            name: provider.name.to_owned(),
            does: provider.does.iter().map(|what| (*what).to_owned()).collect(),
            what: provider.what.clone(),
            key_variable: provider.key_variable.map(str::to_owned),
        };
        context.printer.json(&listed.iter().map(of).collect::<Vec<_>>())?;
    } else {
        let row = |provider: &llm::Listed| {
            let key = provider.key_variable.map(|name| format!("key in {name}")).unwrap_or_default();
            vec![provider.name.to_owned(), provider.does.join(", "), provider.what.clone(), key]
        };
        context.printer.table(&listed.iter().map(row).collect::<Vec<_>>())?;
    }
    Ok(Exit::Success)
}

/// Puts the key of a provider into the system's keyring, or removes it.
pub fn key(provider: &str, is_removed: bool, context: &mut Context) -> CliResult {
    let listed = llm::providers();
    if !listed.iter().any(|known| known.name == provider && known.key_variable.is_some()) {
        let hint = Some("`yore models providers` lists those that do");
        return Err(CliError::usage(format!("there is no provider {provider:?} that needs a key"), hint));
    }
    let failed = |reason: String| CliError::usage(reason, Some("llm.key_command can name a program that prints the key"));
    let keyring = Keyring::here().ok_or_else(|| failed("yore knows no keyring on this system".to_owned()))?;
    if is_removed {
        keyring.remove(provider).map_err(failed)?;
        context.printer.line(format!("the keyring has no key of {provider} any more"))?;
        return Ok(Exit::Success);
    }
    if std::io::stdin().is_terminal() {
        context.printer.prompt("Key (it is shown while you type; better: pipe it from a file or a password manager): ")?;
    }
    let mut key = String::new();
    std::io::BufReader::new(std::io::stdin().take(MOST_KEY)).read_line(&mut key).map_err(CliError::from)?;
    if key.trim().is_empty() {
        return Err(CliError::usage("there is no key on standard input", None));
    }
    keyring.put(provider, key.trim()).map_err(failed)?;
    context.printer.line(format!("the key of {provider} is in the system's keyring"))?;
    Ok(Exit::Success)
}

/// Most bytes of a key.
const MOST_KEY: u64 = 8_192;

/// The answer that is asked for.
#[derive(Deserialize)]
struct Sum {
    sum: i64,
}

/// Asks the model that answers for a purpose for a sum, in each form.
pub fn test(purpose: &'static str, context: &mut Context) -> CliResult {
    let settings = context.settings.clone();
    let Some((model, terms)) = llm::ModelChooser::new(&settings, purpose)?.for_project(None)? else {
        return Err(CliError::usage(format!("nobody answers for {purpose}"), Some("name a model in llm.provider or llm.uses")));
    };
    let engine = context.settings.engine(true)?;
    let is_stopped = AtomicBool::new(false);
    let ledger = engine.accounts(Terms { purpose: "test".to_owned(), ..terms }, &is_stopped);
    let schema =
        json!({"type": "object", "additionalProperties": false, "required": ["sum"], "properties": {"sum": {"type": "integer"}}});
    let form = Form { name: "sum", description: "A sum.", schema };
    let mut tested: Vec<TestedTier> = Vec::new();
    for tier in Tier::ALL {
        if !model.tiers(&ledger).contains(&tier) {
            continue;
        }
        let user = format!("What is 19 + 23? Answer with a JSON object of this schema: {}", form.schema);
        let prompt = Prompt { system: String::new(), user, max_tokens: 2_000, ..Prompt::default() };
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
                return Err(CliError::usage(words::language_model(&error), None));
            }
            // Another form of the answer changes nothing.
            Err(error @ (LlmError::Transport { .. } | LlmError::Program { .. } | LlmError::Status { status: 401..=404, .. })) => {
                return Err(CliError::usage(words::language_model(&error), None));
            }
            Err(error) => (Err(words::language_model(&error)), 0, 0),
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
