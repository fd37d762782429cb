//! Checks the configured language models: who answers, their limits, and on request whether they can be reached.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use yore_engine::llm::{RelevanceServer, VectorServer};
use yore_engine::{Engine, Severity, Terms};

use super::super::Context;
use super::super::budget::limits_told;
use crate::config::{ModelUse, PURPOSES};
use crate::error::CliResult;
use crate::health::Told;
use crate::llm;
use crate::render::text;

/// Returns a finding for each model that is configured. `is_reached`: servers are connected to.
pub(super) fn examine(is_reached: bool, context: &Context) -> CliResult<Vec<Told>> {
    let config = context.settings.own_config()?;
    if config.llm.provider.is_empty() && config.llm.uses.is_empty() {
        return Ok(Vec::new());
    }
    let tokens = config.llm.daily_tokens;
    let engine = context.settings.engine(false).ok();
    let mut told: Vec<Told> = Vec::new();
    if config.learn.auto
        && let Some(engine) = &engine
        && let Some((code, text)) = engine.learning_failure()?
    {
        let text = format!("learning in the background failed: {} [{code}]", text::harmless(&text));
        told.push(Told::new("learn", Severity::Warning, text).remedy("`yore models test` tries the model"));
    }
    let uses: Vec<ModelUse> = config.llm.uses.iter().filter_map(|text| ModelUse::parse(text).ok()).collect();
    let projects = std::iter::once(None).chain(uses.iter().map(|one| one.project.as_deref()));
    let asked: BTreeSet<(Option<&str>, &'static str)> =
        projects.flat_map(|project| PURPOSES.map(|purpose| (project, purpose))).collect();
    for (project, purpose) in asked {
        let chosen = llm::ModelChooser::new(&context.settings, purpose).and_then(|mut chooser| chooser.for_project(project));
        let (model, terms) = match chosen {
            Ok(Some(chosen)) => chosen,
            Ok(None) => continue,
            // Another purpose has one.
            Err(error) if error.message == llm::NOBODY => continue,
            Err(error) => {
                if told.iter().all(|known| known.text != error.message) {
                    let broken = Told::new("model", Severity::Warning, error.message);
                    told.push(match error.hint {
                        Some(hint) => broken.remedy(hint),
                        None => broken,
                    });
                }
                continue;
            }
        };
        // Most purposes share a model.
        if told.iter().any(|known| known.facts.get("model").is_some_and(|name| name == model.name())) {
            continue;
        }
        let may = match tokens {
            0 => "is not called: the limit is 0 tokens a day".to_owned(),
            _ => format!("may take {} a day", limits_told(llm::limits(&config))),
        };
        let known = Told::new("model", Severity::Note, format!("{} {may}", model.name())).fact("model", model.name());
        let priced = if terms.is_price_unknown {
            known.remedy("add its price to llm.prices: without one it is not called")
        } else {
            known
        };
        told.push(match &engine {
            Some(engine) if is_reached && tokens > 0 => reached(&model, terms, priced, engine),
            _ => priced,
        });
    }
    Ok(told)
}

/// Returns what the configured models lack, such as an address, a model or a price: whether it is a mere remark, and what to do.
pub(in crate::cli) fn faults(context: &Context) -> CliResult<Vec<(bool, String)>> {
    let told = examine(false, context)?.into_iter();
    let mut faults: Vec<(bool, String)> =
        told.filter_map(|told| Some((told.severity == Severity::Note, format!("{}; {}", told.text, told.remedy?)))).collect();
    let models = &context.settings.own_config()?.models;
    let embedder = models.embedder.split_once('/').and_then(|(name, _)| VectorServer::named(name));
    let reranker = models.reranker.split_once('/').and_then(|(name, _)| RelevanceServer::named(name));
    for (server, address, key) in [
        (embedder.map(|server| (server.name, server.address)), &models.embedder_address, "models.embedder_address"),
        (reranker.map(|server| (server.name, server.address)), &models.reranker_address, "models.reranker_address"),
    ] {
        if let Some((name, "")) = server.filter(|_| address.is_empty()) {
            faults.push((false, format!("{name} needs an address; set {key}")));
        }
    }
    Ok(faults)
}

/// Tries whether a model can be reached.
fn reached(model: &yore_engine::llm::Model, terms: Terms, told: Told, engine: &Engine) -> Told {
    let is_stopped = AtomicBool::new(false);
    let outcome = model.reach(&engine.accounts(terms, &is_stopped));
    match outcome {
        Ok(true) => Told { severity: Severity::Fine, text: format!("{}; its server answers", told.text), ..told },
        Ok(false) => told.remedy("`yore models test` tries it"),
        Err(error) => Told { severity: Severity::Warning, text: format!("{}: {error}", model.name()), ..told },
    }
}
