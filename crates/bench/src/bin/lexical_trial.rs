//! Compares lexical engines: the same tokens, questions and machine, one run.
//!
//!     cargo run --release -p yore-bench --bin lexical_trial -- CORPUS QUERIES [COPIES]
//!
//! Prints for each engine the quality on the questions and the CPU time of a query, over the corpus as it is
//! and over COPIES of it (for speed only: every copy has the same turns).

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for maintainers whose result is its output")]

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::time::Duration;

use serde_json::Value;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, TantivyDocument, Term};
use yore_core::metrics;
use yore_core::text::{Question, Tokenizer, Tokens};

struct Asked {
    terms: Vec<String>,
    groups: Vec<Vec<u64>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [corpus, queries, rest @ ..] = arguments.as_slice() else { return Err("usage: CORPUS QUERIES [COPIES]".into()) };
    let copies: usize = rest.first().map_or(Ok(7), |copies| copies.parse())?;
    let mut tokenizer = Tokenizer::default();
    let (texts, number) = read_corpus(corpus, &mut tokenizer)?;
    let asked = read_queries(queries, &number, &mut tokenizer)?;
    eprintln!("{} turns, {} questions with evidence", texts.len(), asked.len());
    println!("| turns | engine | build CPU s | ev@5 | ev@10 | p50 ms | p95 ms |\n| --- | --- | --- | --- | --- | --- | --- |");
    for copies in [1, copies] {
        let all: Vec<&str> = (0..copies).flat_map(|_| texts.iter().map(String::as_str)).collect();
        let (sqlite, fts_build) = build_fts(&all)?;
        let frequencies = document_frequencies(&sqlite)?;
        report(all.len(), "FTS5, every term", fts_build, &asked, texts.len(), |terms| fts(&sqlite, terms, 50))?;
        for budget in [300, 1000] {
            let average = all.iter().map(|text| text.split(' ').count()).sum::<usize>() as f32 / all.len() as f32;
            report(all.len(), &format!("FTS5, rare terms fetch {budget}, all score"), fts_build, &asked, texts.len(), |terms| {
                fts_rare(&sqlite, terms, budget, &frequencies, &all, average)
            })?;
        }
        for share in [0.05, 0.01] {
            report(
                all.len(),
                &format!("FTS5, terms in under {:.0} %", share * 100.0),
                fts_build,
                &asked,
                texts.len(),
                |terms| {
                    let limit = (share * all.len() as f64) as u64;
                    let kept: Vec<String> =
                        terms.iter().filter(|term| frequencies.get(*term).copied().unwrap_or(0) < limit).cloned().collect();
                    fts(&sqlite, if kept.is_empty() { terms } else { &kept }, 50)
                },
            )?;
        }
        let (index, text, build) = build_tantivy(&all)?;
        let searcher = index.reader()?.searcher();
        report(all.len(), "tantivy, every term (block-max WAND)", build, &asked, texts.len(), |terms| {
            let clauses = terms
                .iter()
                .map(|term| {
                    let query: Box<dyn Query> =
                        Box::new(TermQuery::new(Term::from_field_text(text, term), IndexRecordOption::WithFreqs));
                    (Occur::Should, query)
                })
                .collect();
            let found = searcher.search(&BooleanQuery::new(clauses), &TopDocs::with_limit(50).order_by_score())?;
            found
                .into_iter()
                .map(|(_, address)| {
                    let column = searcher.segment_reader(address.segment_ord).fast_fields().u64("n")?;
                    Ok(column.first(address.doc_id).unwrap_or(0))
                })
                .collect()
        })?;
    }
    Ok(())
}

fn report(
    turns: usize,
    name: &str,
    build: Duration,
    asked: &[Asked],
    distinct: usize,
    search: impl Fn(&[String]) -> Result<Vec<u64>, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let (mut at5, mut at10, mut times) = (0.0, 0.0, Vec::new());
    for question in asked {
        search(&question.terms)?;
        let before = yore_bench::cpu_time();
        let ranked = search(&question.terms)?;
        times.push(yore_bench::cpu_time() - before);
        let ranked: Vec<u64> = ranked.into_iter().map(|row| row % distinct as u64).collect();
        at5 += metrics::evidence_recall(&ranked, &question.groups, 5);
        at10 += metrics::evidence_recall(&ranked, &question.groups, 10);
    }
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let count = asked.len() as f64;
    println!(
        "| {turns} | {name} | {:.2} | {:.3} | {:.3} | {:.2} | {:.2} |",
        build.as_secs_f64(),
        at5 / count,
        at10 / count,
        at(0.5),
        at(0.95)
    );
    Ok(())
}

/// Texts, and the index of each turn's text.
type Corpus = (Vec<String>, HashMap<String, u64>);

fn read_corpus(path: &str, tokenizer: &mut Tokenizer) -> Result<Corpus, Box<dyn Error>> {
    let (mut texts, mut number, mut tokens) = (Vec::new(), HashMap::new(), Tokens::default());
    for line in std::fs::read_to_string(path)?.lines() {
        let document: Value = serde_json::from_str(line)?;
        for turn in document["turns"].as_array().into_iter().flatten() {
            let text = format!("{} {}", turn["speaker"].as_str().unwrap_or(""), turn["text"].as_str().unwrap_or(""));
            tokenizer.tokenize(&text, &mut tokens);
            number.insert(turn["turn_id"].as_str().unwrap_or("").to_owned(), texts.len() as u64);
            texts.push(tokens.iter().map(|token| token.text).collect::<Vec<_>>().join(" "));
        }
    }
    Ok((texts, number))
}

fn read_queries(path: &str, number: &HashMap<String, u64>, tokenizer: &mut Tokenizer) -> Result<Vec<Asked>, Box<dyn Error>> {
    let mut asked = Vec::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let query: Value = serde_json::from_str(line)?;
        let groups: Vec<Vec<u64>> = query["gold_groups"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|group| group.as_array().into_iter().flatten().filter_map(|id| number.get(id.as_str()?).copied()).collect())
            .collect();
        if !groups.is_empty() {
            asked.push(Asked { terms: Question::parse(query["query"].as_str().unwrap_or(""), tokenizer).terms, groups });
        }
    }
    Ok(asked)
}

fn build_fts(texts: &[&str]) -> Result<(rusqlite::Connection, Duration), Box<dyn Error>> {
    let before = yore_bench::cpu_time();
    let db = rusqlite::Connection::open_in_memory()?;
    db.execute_batch(
        "CREATE VIRTUAL TABLE turns USING fts5(text, content='', tokenize=\"unicode61 remove_diacritics 0 tokenchars '_'\");
         CREATE VIRTUAL TABLE terms USING fts5vocab(turns, row);",
    )?;
    let tx = db.unchecked_transaction()?;
    {
        let mut insert = tx.prepare("INSERT INTO turns(rowid, text) VALUES (?1, ?2)")?;
        for (row, text) in texts.iter().enumerate() {
            insert.execute((row as i64 + 1, text))?;
        }
    }
    tx.execute_batch("INSERT INTO turns(turns) VALUES ('optimize')")?;
    tx.commit()?;
    Ok((db, yore_bench::cpu_time() - before))
}

fn document_frequencies(db: &rusqlite::Connection) -> Result<HashMap<String, u64>, Box<dyn Error>> {
    let mut statement = db.prepare("SELECT term, doc FROM terms")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn fts(db: &rusqlite::Connection, terms: &[String], limit: usize) -> Result<Vec<u64>, Box<dyn Error>> {
    let query = terms.iter().map(|term| format!("\"{term}\"")).collect::<Vec<_>>().join(" OR ");
    let mut statement = db.prepare_cached("SELECT rowid FROM turns WHERE turns MATCH ?1 ORDER BY rank LIMIT ?2")?;
    let rows = statement.query_map((query, limit as i64), |row| row.get::<_, i64>(0))?;
    Ok(rows.map(|row| row.map(|row| row as u64 - 1)).collect::<Result<_, _>>()?)
}

/// Takes the rarest terms first until their postings reach the budget; scores those rows by every term.
fn fts_rare(
    db: &rusqlite::Connection,
    terms: &[String],
    budget: usize,
    frequencies: &HashMap<String, u64>,
    texts: &[&str],
    average: f32,
) -> Result<Vec<u64>, Box<dyn Error>> {
    let mut rarest: Vec<(u64, &String)> = terms.iter().filter_map(|term| Some((*frequencies.get(term)?, term))).collect();
    rarest.sort();
    let (mut sum, mut chosen) = (0, Vec::new());
    for (frequency, term) in &rarest {
        if !chosen.is_empty() && sum + frequency > 4 * budget as u64 {
            break;
        }
        sum += frequency;
        chosen.push((*term).clone());
    }
    let candidates = if chosen.is_empty() { Vec::new() } else { fts(db, &chosen, budget)? };
    let count = texts.len() as f32;
    let wanted: HashSet<&str> = terms.iter().map(String::as_str).collect();
    let mut scored: Vec<(f32, u64)> = candidates
        .into_iter()
        .map(|row| {
            let (mut length, mut frequency) = (0.0f32, HashMap::new());
            for word in texts[row as usize].split(' ') {
                length += 1.0;
                if wanted.contains(word) {
                    *frequency.entry(word).or_insert(0.0f32) += 1.0;
                }
            }
            let score = frequency
                .into_iter()
                .map(|(word, tf)| {
                    let df = frequencies.get(word).copied().unwrap_or(0) as f32;
                    let idf = (1.0 + (count - df + 0.5) / (df + 0.5)).ln();
                    idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / average))
                })
                .sum::<f32>();
            (score, row)
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(scored.into_iter().take(50).map(|(_, row)| row).collect())
}

fn build_tantivy(texts: &[&str]) -> Result<(Index, Field, Duration), Box<dyn Error>> {
    let before = yore_bench::cpu_time();
    let mut schema = Schema::builder();
    let indexing =
        TextFieldIndexing::default().set_tokenizer("whitespace").set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let text = schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
    let number = schema.add_u64_field("n", FAST);
    let index = Index::create_in_ram(schema.build());
    let mut writer = index.writer_with_num_threads(1, 60_000_000)?;
    for (row, words) in texts.iter().enumerate() {
        let mut document = TantivyDocument::new();
        document.add_text(text, words);
        document.add_u64(number, row as u64);
        writer.add_document(document)?;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok((index, text, yore_bench::cpu_time() - before))
}
