//! `yore eval`: measures recall on questions with gold evidence.

mod extraction;
mod lines;
mod measure;
mod questions;
#[cfg(feature = "team-server")]
mod through_server;
mod unasked;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;
use yore_core::metrics;
use yore_core::query::{Fusion, NewerFirst, Rerank, SearchMode};
use yore_core::scope::ScopeChoice;
use yore_engine::embed::EmbedCache;
use yore_engine::ingest::{IngestRequest, Silent, SourceRoot};
use yore_engine::{EmbedReport, Engine, ExtractRequest, Found, Hit, RecallAnswer, RecallRequest, StatisticsRequest};
use yore_sources::source::source_named;

use self::questions::GoldQuestion;
use super::{Context, recall};
use crate::error::{CliError, CliResult, Exit};
use crate::render::text;
use crate::results::{Category, Measured};

/// Measure recall on questions with gold evidence
///
/// Reads a corpus into a temporary memory, asks every question within its own corpus, and prints the quality
/// of the rankings, by category, and their cost. Your own memory is not used.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    recall: Option<OfRecall>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Run extractors over given sessions, and write what each proposes, and what it took
    Extraction(extraction::Arguments),
}

/// The measurement of recall.
#[derive(Args, Debug)]
struct OfRecall {
    /// Documents, one JSON object per line
    #[arg(long, value_name = "FILE")]
    corpus: PathBuf,
    /// Questions, one JSON object per line
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// The unit that is ranked and judged
    #[arg(long, value_parser = ["turn", "doc"], default_value = "turn")]
    level: String,
    /// Length of a ranking
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Write the rankings to FILE, one JSON object per line
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Read these raw histories instead of the corpus; only questions of corpus ID are asked.
    /// SOURCE is claude-code unless it is named
    #[arg(long, value_name = "ID=[SOURCE:]PATH")]
    transcripts: Vec<String>,
    /// Only turns of these roles may answer
    #[arg(long, value_name = "ROLE", value_delimiter = ',')]
    role: Vec<String>,
    /// The lists that answer: words; words and static table; words and local model
    #[arg(long, value_parser = PROGRAMS, default_value = "static")]
    program: String,
    /// Keep the local model's vectors in DIR, for the next measurement
    #[arg(long, value_name = "DIR")]
    embed_cache: Option<PathBuf>,
    /// Embed only this share of the turns, newest first
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, hide = true)]
    embed_share: f64,
    /// Leave out the words
    #[arg(long)]
    no_words: bool,
    /// Leave out the nearness of meaning, whatever the program
    #[arg(long)]
    no_meaning: bool,
    /// Leave out the neighbouring turns' scores
    #[arg(long)]
    no_neighbour: bool,
    /// Leave out the session's score
    #[arg(long)]
    no_session: bool,
    /// Rank what was said in a period that the question names like the rest
    #[arg(long)]
    no_period: bool,
    /// Rank people's talk like agents' sessions
    #[arg(long)]
    no_talk: bool,
    /// Follow no relations from the entities of a question
    #[arg(long)]
    no_graph: bool,
    /// The way in which the lists' scores become one
    #[arg(long, value_name = "WAY", value_parser = FUSIONS)]
    fusion: Option<String>,
    /// Put hits that say something else before those that say the same again
    #[arg(long)]
    diverse: bool,
    /// Leave out the links between titled passages
    #[arg(long)]
    no_links: bool,
    /// Follow the links by a random walk as well
    #[arg(long, conflicts_with = "no_links")]
    walk: bool,
    /// Rank turns on the way to what an agent concludes like the rest
    #[arg(long)]
    no_conclusive: bool,
    /// Conversations in which a newer turn about the same subject comes before the older
    #[arg(long, value_name = "WHERE", value_parser = NEWER_FIRST)]
    newer_first: Option<String>,
    /// Let the cross-encoder read the best candidates
    #[arg(long)]
    rerank: bool,
    /// Give near duplicates places of their own
    #[arg(long)]
    no_fold: bool,
    /// Leave out tool inputs and outputs
    #[arg(long)]
    no_tool: bool,
    /// Weight of the nearness of meaning beside the words
    #[arg(long, value_name = "W", hide = true)]
    meaning_weight: Option<f32>,
    /// Weight of the neighbouring turns' scores
    #[arg(long, value_name = "W", hide = true)]
    neighbour_weight: Option<f32>,
    /// Weight of the session's score
    #[arg(long, value_name = "W", hide = true)]
    session_weight: Option<f32>,
    /// Also take each question, and each line of FILE, as a prompt to an agent's hook, and count what it
    /// would give
    #[arg(long, value_name = "FILE")]
    unasked: Option<PathBuf>,
    /// Write what each question would be given unasked to FILE, one JSON object per line
    #[arg(long, value_name = "FILE", requires = "unasked")]
    unasked_out: Option<PathBuf>,
    /// Extract memories by rules before the questions are asked
    #[arg(long)]
    extract: bool,
    /// Ask the server of a team that has the corpus as sessions, with this database
    #[cfg(feature = "team-server")]
    #[arg(long, value_name = "URL", hide = true)]
    through_server: Option<String>,
    /// Keep the temporary memory in DIR
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

const FUSIONS: [&str; 2] = ["heights", "ranks"];
const NEWER_FIRST: [&str; 3] = ["never", "agents", "everywhere"];
const PROGRAMS: [&str; 3] = ["lexical", "static", "full"];
const CUTS: [usize; 3] = [5, 10, 50];

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    match (&arguments.what, &arguments.recall) {
        (Some(What::Extraction(arguments)), _) => extraction::run(arguments, context),
        (None, Some(arguments)) => measure_recall(arguments, context),
        (None, None) => {
            Err(CliError::usage("nothing to measure", Some("give --corpus and --queries, or `yore eval extraction`")))
        }
    }
}

fn measure_recall(arguments: &OfRecall, context: &mut Context) -> CliResult {
    let by_document = arguments.level == "doc";
    let documents = if by_document { questions::read_documents(&arguments.corpus)? } else { HashMap::new() };
    let mut asked = questions::read(&arguments.queries, by_document, &|corpus, turn| {
        documents.get(&(corpus.to_owned(), turn.to_owned())).cloned()
    })?;
    let (temporary, directory) = match &arguments.keep {
        Some(directory) => (None, directory.clone()),
        None => {
            let temporary = tempfile::tempdir().map_err(|error| CliError::io(&std::env::temp_dir(), &error))?;
            let directory = temporary.path().join("memory");
            (Some(temporary), directory)
        }
    };
    let engine = crate::engine_handle::open(&directory, true, context.settings.config(), context.settings.models())?;
    let before = measure::cpu();
    let corpora = ingest(&engine, arguments)?;
    if arguments.extract {
        engine.extract(&ExtractRequest::default(), &mut |_, _| true)?;
        engine.sync_index(10_000, &mut |_| {})?;
    }
    let ingest_cpu = measure::cpu() - before;
    let before = measure::cpu();
    let embedded = if arguments.program == SearchMode::Full.as_str() { Some(embed(&engine, arguments)?) } else { None };
    let embed_cpu = measure::cpu() - before;
    let ingest_peak = measure::peak_memory();
    asked.retain(|question| arguments.transcripts.is_empty() || corpora.contains(&question.corpus));
    #[cfg(feature = "team-server")]
    let server = (arguments.through_server.as_deref())
        .map(|database| through_server::ThroughServer::new(database, &arguments.corpus))
        .transpose()?;
    let mut rankings = Vec::with_capacity(asked.len());
    let mut times = Vec::with_capacity(asked.len());
    for question in &asked {
        let request = request(question, arguments, context);
        let before = measure::cpu();
        #[cfg(feature = "team-server")]
        if let Some(server) = &server {
            let options = crate::engine_handle::options(&directory, true, context.settings.config(), context.settings.models());
            rankings.push(server.ranking(question, &request, &options, arguments.limit)?);
            times.push(measure::cpu() - before);
            continue;
        }
        let answer = engine.recall(&request)?;
        times.push(measure::cpu() - before);
        rankings.push(ranking(&answer, &question.corpus, by_document, arguments.limit));
    }
    if let Some(out) = &arguments.out {
        write_run(out, &asked, &rankings)?;
    }
    let unasked = match &arguments.unasked {
        Some(everyday) => Some(unasked::measure(&engine, &asked, everyday, context.settings.config())?),
        None => None,
    };
    if let (Some(out), Some(unasked)) = (&arguments.unasked_out, &unasked) {
        let lines = unasked.texts.iter().map(|(id, text)| json!({"query_id": id, "given": text}));
        lines::write(out, lines)?;
    }
    let statistics = engine.statistics(&StatisticsRequest::default())?;
    times.sort();
    let at = |share: f64| times.get(((times.len().max(1) - 1) as f64 * share) as usize).copied().unwrap_or(Duration::ZERO);
    let categories = score(&asked, &rankings);
    let extras = extras(&asked, &rankings);
    let turns: u64 = statistics.store.agents.iter().map(|agent| agent.turns).sum();
    if context.printer.is_json() {
        let category =
            |(name, count, values): &Row| Category { category: name.clone(), questions: *count, metrics: values.clone() };
        context.printer.json(&Measured {
            level: arguments.level.clone(),
            program: arguments.program.clone(),
            embed_cpu_s: embed_cpu.as_secs_f64(),
            texts_embedded: embedded.map(|report| report.embedded),
            categories: categories.iter().map(category).collect(),
            extras,
            unasked: unasked.as_ref().map(unasked::Unasked::result),
            turns,
            ingest_cpu_s: ingest_cpu.as_secs_f64(),
            query_cpu_p50_ms: at(0.5).as_secs_f64() * 1e3,
            query_cpu_p95_ms: at(0.95).as_secs_f64() * 1e3,
            ingest_peak_bytes: ingest_peak,
            peak_bytes: measure::peak_memory(),
            anonymous_bytes: measure::anonymous_memory(),
            directory_bytes: statistics.directory_bytes,
        })?;
    } else {
        for line in render(&categories) {
            context.printer.line(line)?;
        }
        for (name, value) in &extras {
            context.printer.line(format!("{name}: {value}"))?;
        }
        for line in unasked.iter().flat_map(unasked::Unasked::lines) {
            context.printer.line(line)?;
        }
        context.printer.line(format!(
            "{}; {}; ingest {:.2} CPU s{}; query CPU p50 {:.2} ms, p95 {:.2} ms; peak memory {}, of it {} when ingested; anonymous after the last answer {}; on disk {}",
            arguments.program,
            text::counted(turns, "turn"),
            ingest_cpu.as_secs_f64(),
            embedded.map_or_else(String::new, |report| format!(
                "; embed {:.2} CPU s for {} of {}",
                embed_cpu.as_secs_f64(),
                report.embedded,
                text::counted(report.embedded + report.reused, "text")
            )),
            at(0.5).as_secs_f64() * 1e3,
            at(0.95).as_secs_f64() * 1e3,
            measure::peak_memory().map_or_else(|| "?".to_owned(), text::bytes),
            ingest_peak.map_or_else(|| "?".to_owned(), text::bytes),
            measure::anonymous_memory().map_or_else(|| "?".to_owned(), text::bytes),
            text::bytes(statistics.directory_bytes)
        ))?;
    }
    drop(temporary);
    Ok(Exit::Success)
}

/// Fills the memory. Returns the corpora whose transcripts were read.
fn ingest(engine: &Engine, arguments: &OfRecall) -> CliResult<HashSet<String>> {
    let mut corpora = HashSet::new();
    let mut roots = Vec::new();
    for entry in &arguments.transcripts {
        let (corpus, path) =
            entry.split_once('=').ok_or_else(|| CliError::usage("--transcripts wants ID=[SOURCE:]PATH", None))?;
        corpora.insert(corpus.to_owned());
        let (source, path) = match path.split_once(':') {
            Some((source, path)) if source_named(source).is_some() => (source, path),
            _ => ("claude-code", path),
        };
        roots.push(SourceRoot { source: source.to_owned(), path: path.into() });
    }
    if roots.is_empty() {
        roots.push(SourceRoot { source: "jsonl".to_owned(), path: arguments.corpus.clone() });
    }
    let report = engine.ingest(&IngestRequest::new(roots), &mut Silent)?;
    if let Some((path, reason)) = report.unread().next() {
        return Err(CliError::usage(format!("{}: {reason}", path.display()), None));
    }
    engine.sync_index(10_000, &mut |_| {})?;
    Ok(corpora)
}

/// Computes the vectors of the turns, or takes them from the cache.
fn embed(engine: &Engine, arguments: &OfRecall) -> CliResult<EmbedReport> {
    let (identity, dimensions) = engine.model_identity()?;
    let cache = match &arguments.embed_cache {
        Some(directory) => {
            Some(EmbedCache::open(directory, &identity, dimensions).map_err(|error| CliError::usage(error.to_string(), None))?)
        }
        None => None,
    };
    let mut wanted = u64::MAX;
    Ok(engine.embed(cache.as_ref(), true, &mut |report| {
        if wanted == u64::MAX && arguments.embed_share < 1.0 {
            wanted = ((report.turns + report.waiting) as f64 * arguments.embed_share) as u64;
        }
        report.turns < wanted
    })?)
}

fn request(question: &GoldQuestion, arguments: &OfRecall, context: &Context) -> RecallRequest {
    let mut request = recall::request(&question.text, context);
    request.wordings.clone_from(&question.wordings);
    request.here = None;
    // A ranking of documents needs more turns than it has places.
    request.limit = if arguments.level == "doc" { arguments.limit.max(200) } else { arguments.limit };
    request.filter.scope =
        if arguments.transcripts.is_empty() { ScopeChoice::Projects(vec![question.corpus.clone()]) } else { ScopeChoice::All };
    request.filter.as_of = question.as_of;
    request.filter.roles = arguments.role.iter().filter_map(|role| yore_core::episode::Role::parse(role)).collect();
    request.mode = match arguments.program.as_str() {
        "lexical" => SearchMode::Lexical,
        "full" => SearchMode::Full,
        _ => SearchMode::Static,
    };
    if arguments.no_meaning {
        request.mode = SearchMode::Lexical;
    }
    request.is_worded = !arguments.no_words;
    request.is_folded = !arguments.no_fold;
    request.tuning.meaning_weight = arguments.meaning_weight.or(request.tuning.meaning_weight);
    if arguments.no_neighbour {
        request.tuning.neighbour_weight = 0.0;
    }
    if let Some(weight) = arguments.neighbour_weight {
        request.tuning.neighbour_weight = weight;
    }
    if arguments.no_session {
        request.tuning.session_weight = 0.0;
    }
    if let Some(weight) = arguments.session_weight {
        request.tuning.session_weight = weight;
    }
    request.is_period_searched = !arguments.no_period;
    request.tuning.is_talk_ranked = !arguments.no_talk;
    request.tuning.is_graph_followed = !arguments.no_graph;
    request.tuning.are_links_ranked = !arguments.no_links;
    request.tuning.has_walk = arguments.walk;
    request.tuning.is_diverse = arguments.diverse;
    request.tuning.is_conclusive_first = !arguments.no_conclusive;
    request.tuning.fusion = arguments.fusion.as_deref().and_then(Fusion::parse).unwrap_or_default();
    request.rerank = if arguments.rerank { Rerank::Always } else { Rerank::Never };
    // Questions were written by people in no particular zone.
    request.offset_minutes = 0;
    if let Some(choice) = arguments.newer_first.as_deref().and_then(NewerFirst::parse) {
        request.tuning.newer_first = choice;
    }
    if arguments.no_tool {
        request.tool_weight = 0.0;
    }
    request
}

/// Returns the agents' own ids, best first.
fn ranking(answer: &RecallAnswer, corpus: &str, by_document: bool, limit: usize) -> Vec<String> {
    let mut ranked: Vec<String> = if by_document {
        // The native id of a document is `corpus/document`, that of a side conversation `session/agent-…`.
        let document = |native: &str, agent: &str| match agent {
            "jsonl" => native.strip_prefix(corpus).and_then(|rest| rest.strip_prefix('/')).unwrap_or(native).to_owned(),
            _ => native.split('/').next().unwrap_or(native).to_owned(),
        };
        answer
            .hits
            .iter()
            .filter_map(|hit| {
                let agent = hit.as_turn().map_or("", |turn| turn.agent.as_str());
                Some(document(&hit.place.as_ref()?.native_session, agent))
            })
            .collect()
    } else {
        // A memory stands for the turns that it rests on.
        let of = |hit: &Hit| match &hit.found {
            Found::Turn(turn) => vec![turn.native_message.clone()],
            Found::Memory(memory) => memory.sources.iter().map(|source| source.place.native_message.clone()).collect(),
        };
        answer.hits.iter().flat_map(of).collect()
    };
    let mut seen = HashSet::new();
    ranked.retain(|id| seen.insert(id.clone()));
    ranked.truncate(limit);
    ranked
}

fn write_run(path: &std::path::Path, asked: &[GoldQuestion], rankings: &[Vec<String>]) -> CliResult<()> {
    let line = |(question, ranked): (&GoldQuestion, &Vec<String>)| json!({"query_id": question.id, "ranked": ranked, "abstained": ranked.is_empty()});
    lines::write(path, asked.iter().zip(rankings).map(line))
}

type Row = (String, usize, BTreeMap<String, f64>);

/// Returns means over all questions with gold, then by category.
fn score(asked: &[GoldQuestion], rankings: &[Vec<String>]) -> Vec<Row> {
    let mut groups: BTreeMap<String, Vec<BTreeMap<String, f64>>> = BTreeMap::new();
    for (question, ranked) in asked.iter().zip(rankings) {
        if question.gold.is_empty() {
            continue;
        }
        let ranked: Vec<&str> = ranked.iter().map(String::as_str).collect();
        let gold: HashSet<&str> = question.gold.iter().map(String::as_str).collect();
        let mut values = BTreeMap::new();
        for k in CUTS {
            let scores = metrics::score(&ranked, &gold, k);
            for (name, value) in
                [("any", scores.any), ("all", scores.all), ("rec", scores.recall), ("ndcg", scores.ndcg), ("mrr", scores.mrr)]
            {
                values.insert(format!("{name}@{k}"), value);
            }
            if !question.groups.is_empty() {
                let wanted: Vec<Vec<&str>> =
                    question.groups.iter().map(|group| group.iter().map(String::as_str).collect()).collect();
                values.insert(format!("ev@{k}"), metrics::evidence_recall(&ranked, &wanted, k));
            }
        }
        groups.entry(String::new()).or_default().push(values.clone());
        groups.entry(question.category.clone()).or_default().push(values);
    }
    groups
        .into_iter()
        .map(|(name, rows)| {
            let mut means: BTreeMap<String, f64> = BTreeMap::new();
            for row in &rows {
                for (metric, value) in row {
                    *means.entry(metric.clone()).or_default() += value / rows.len() as f64;
                }
            }
            (if name.is_empty() { "all".to_owned() } else { name }, rows.len(), means)
        })
        .collect()
}

/// Returns the measures of stale evidence and abstention, for questions that have them.
fn extras(asked: &[GoldQuestion], rankings: &[Vec<String>]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let with_stale: Vec<(bool, bool)> = asked
        .iter()
        .zip(rankings)
        .filter(|(question, _)| !question.stale.is_empty())
        .map(|(question, ranked)| {
            let ranked: Vec<&str> = ranked.iter().map(String::as_str).collect();
            let gold: HashSet<&str> = question.gold.iter().map(String::as_str).collect();
            let stale: HashSet<&str> = question.stale.iter().map(String::as_str).collect();
            (metrics::latest_first(&ranked, &gold, &stale, 10), metrics::stale_first(&ranked, &gold, &stale))
        })
        .collect();
    if !with_stale.is_empty() {
        let count = |flags: &dyn Fn(&(bool, bool)) -> bool| with_stale.iter().filter(|row| flags(row)).count();
        found.insert("latest first".to_owned(), format!("{} of {}", count(&|row| row.0), with_stale.len()));
        found.insert("stale first".to_owned(), format!("{} of {}", count(&|row| row.1), with_stale.len()));
    }
    let (mut refused, mut unanswerable) = (0, 0);
    for (_, ranked) in asked.iter().zip(rankings).filter(|(question, _)| question.category == "unanswerable") {
        unanswerable += 1;
        refused += usize::from(ranked.is_empty());
    }
    if unanswerable > 0 {
        found.insert("unanswerable refused".to_owned(), format!("{refused} of {unanswerable}"));
    }
    found
}

fn render(categories: &[Row]) -> Vec<String> {
    let columns = ["ev@5", "ev@10", "rec@5", "rec@10", "all@5", "ndcg@10", "mrr@10", "any@5"];
    let columns: Vec<&str> =
        columns.into_iter().filter(|column| categories.iter().any(|(_, _, values)| values.contains_key(*column))).collect();
    let mut rows =
        vec![[vec!["category".to_owned(), "n".to_owned()], columns.iter().map(|column| (*column).to_owned()).collect()].concat()];
    for (name, count, values) in categories {
        let cells =
            columns.iter().map(|column| values.get(*column).map_or_else(String::new, |value| format!("{value:.3}"))).collect();
        rows.push([vec![name.clone(), count.to_string()], cells].concat());
    }
    text::table(&rows)
}
