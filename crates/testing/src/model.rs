//! Small models with random weights, as real files, so that the code that loads and runs a model is tested
//! everywhere, even if no real model was fetched.
//!
//! The network looks up a random row for each word piece and adds the mean of all rows of the text; a text's
//! vector is therefore near those of texts with the same words. It is written as ONNX, byte by byte.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use yore_core::text::WordPiece;
use yore_engine::embed::file_sha256;

use crate::Random;

/// Dimensions of the embedder's vectors.
pub const TINY_DIMENSIONS: usize = 16;

/// Writes an embedder into `directory/id` and returns its path. Another seed gives another model.
pub fn write_tiny_embedder(directory: &Path, id: &str, seed: u64) -> PathBuf {
    let description = json!({"id": id, "dimensions": TINY_DIMENSIONS, "pooling": "cls", "max_tokens": 64});
    write(directory, id, &description, &tiny_embedder_bytes(seed))
}

/// Writes an embedder that fails on every text with this word of the vocabulary.
pub fn write_failing_embedder(directory: &Path, id: &str, seed: u64, word: &str) -> PathBuf {
    let description = json!({"id": id, "dimensions": TINY_DIMENSIONS, "pooling": "cls", "max_tokens": 64});
    let mut bytes = tiny_embedder_bytes(seed);
    let row = (0..).find(|id| WordPiece::bert().piece(*id).unwrap() == word).unwrap() as usize;
    // The table is in the file unchanged, so its first numbers give its position.
    let mut random = Random::new(seed);
    let first: Vec<f32> = (0..TINY_DIMENSIONS).map(|_| number(&mut random)).collect();
    let start = floats(&first);
    let at = bytes.windows(start.len()).position(|window| window == start).unwrap();
    let width = TINY_DIMENSIONS * size_of::<f32>();
    bytes[at + row * width..][..width].copy_from_slice(&floats(&[f32::NAN; TINY_DIMENSIONS]));
    write(directory, id, &description, &bytes)
}

/// Writes a reranker into `directory/id` and returns its path.
pub fn write_tiny_reranker(directory: &Path, id: &str, seed: u64) -> PathBuf {
    let description = json!({"id": id, "role": "reranker", "max_tokens": 64});
    write(directory, id, &description, &tiny_reranker_bytes(seed))
}

/// Changes a model's `model.json`.
pub fn describe_model(folder: &Path, change: &Value) {
    let path = folder.join("model.json");
    let mut description: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    description.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    fs::write(path, description.to_string()).unwrap();
}

fn write(directory: &Path, id: &str, description: &Value, model: &[u8]) -> PathBuf {
    let folder = directory.join(id);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("model.onnx"), model).unwrap();
    fs::write(folder.join("model.json"), description.to_string()).unwrap();
    describe_model(&folder, &json!({"sha256": file_sha256(&folder.join("model.onnx")).unwrap()}));
    fs::write(folder.join("tokenizer.json"), tokenizer()).unwrap();
    folder
}

/// Returns a `tokenizer.json` with the vocabulary of bert-base-uncased.
fn tokenizer() -> String {
    let pieces = WordPiece::bert();
    let count = u32::try_from(pieces.len()).unwrap();
    let vocabulary: Map<String, Value> = (0..count).map(|id| (pieces.piece(id).unwrap().to_owned(), Value::from(id))).collect();
    json!({"normalizer": {"type": "BertNormalizer", "lowercase": true}, "model": {"type": "WordPiece", "vocab": vocabulary}})
        .to_string()
}

/// Returns the network of an embedder: inputs like BERT's, output `last_hidden_state`.
pub fn tiny_embedder_bytes(seed: u64) -> Vec<u8> {
    let graph = [body(seed), output("last_hidden_state", &["batch", "tokens", "width"])].concat();
    model(&[graph, node("Add", &["states", "mean"], "last_hidden_state", &[])].concat())
}

/// Returns the network of a reranker: the same inputs, output `logits`.
fn tiny_reranker_bytes(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed ^ 1);
    let weights: Vec<f32> = (0..TINY_DIMENSIONS).map(|_| number(&mut random)).collect();
    let graph = [
        body(seed),
        tensor("weights", &[TINY_DIMENSIONS, 1], FLOAT, &floats(&weights)),
        node("MatMul", &["mean", "weights"], "wide", &[]),
        node("Squeeze", &["wide", "one"], "logits", &[]),
        output("logits", &["batch", "one_logit"]),
    ];
    model(&graph.concat())
}

/// Returns the rows of all tokens, `states`, and their mean, `mean`.
fn body(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let pieces = WordPiece::bert().len();
    let table: Vec<f32> = (0..pieces * TINY_DIMENSIONS).map(|_| number(&mut random)).collect();
    let types: Vec<f32> = (0..2 * TINY_DIMENSIONS).map(|_| 0.1 * number(&mut random)).collect();
    let mut graph = Vec::new();
    for name in ["input_ids", "attention_mask", "token_type_ids"] {
        graph.extend(message(11, &value(name, INT64, &["batch", "tokens"])));
    }
    graph.extend(tensor("table", &[pieces, TINY_DIMENSIONS], FLOAT, &floats(&table)));
    graph.extend(tensor("types", &[2, TINY_DIMENSIONS], FLOAT, &floats(&types)));
    graph.extend(tensor("one", &[1], INT64, &1i64.to_le_bytes()));
    graph.extend(tensor("two", &[1], INT64, &2i64.to_le_bytes()));
    graph.extend(node("Gather", &["table", "input_ids"], "words", &[]));
    graph.extend(node("Gather", &["types", "token_type_ids"], "sides", &[]));
    graph.extend(node("Add", &["words", "sides"], "unmasked", &[]));
    graph.extend(node("Cast", &["attention_mask"], "mask", &[("to", &[FLOAT])]));
    graph.extend(node("Unsqueeze", &["mask", "two"], "wide_mask", &[]));
    graph.extend(node("Mul", &["unmasked", "wide_mask"], "states", &[]));
    graph.extend(node("ReduceMean", &["states"], "mean", &[("axes", &[1]), ("keepdims", &[1])]));
    graph
}

/// Returns a number from -1 to 1.
fn number(random: &mut Random) -> f32 {
    random.below(2001) as f32 / 1000.0 - 1.0
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

const FLOAT: i64 = 1;
const INT64: i64 = 7;

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Encodes a field that is a number.
fn integer(field: u64, number: i64) -> Vec<u8> {
    [varint(field << 3), varint(number as u64)].concat()
}

/// Encodes a field that is a message or bytes.
fn message(field: u64, content: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn text(field: u64, content: &str) -> Vec<u8> {
    message(field, content.as_bytes())
}

/// Encodes a model of one graph, for operators of ONNX 13.
fn model(graph: &[u8]) -> Vec<u8> {
    [integer(1, 8), message(8, &[text(1, ""), integer(2, 13)].concat()), message(7, graph)].concat()
}

fn tensor(name: &str, shape: &[usize], kind: i64, content: &[u8]) -> Vec<u8> {
    let mut tensor: Vec<u8> = shape.iter().flat_map(|size| integer(1, *size as i64)).collect();
    tensor.extend([integer(2, kind), text(8, name), message(9, content)].concat());
    message(5, &tensor)
}

fn node(kind: &str, inputs: &[&str], output: &str, attributes: &[(&str, &[i64])]) -> Vec<u8> {
    let mut node: Vec<u8> = inputs.iter().flat_map(|input| text(1, input)).collect();
    node.extend([text(2, output), text(3, output), text(4, kind)].concat());
    for (name, numbers) in attributes {
        // `axes` is a list, the others are one number.
        let content = match numbers {
            [number] if *name != "axes" => [integer(3, *number), integer(20, 2)].concat(),
            numbers => [numbers.iter().flat_map(|number| integer(8, *number)).collect(), integer(20, 7)].concat(),
        };
        node.extend(message(5, &[text(1, name), content].concat()));
    }
    message(1, &node)
}

fn output(name: &str, shape: &[&str]) -> Vec<u8> {
    message(12, &value(name, FLOAT, shape))
}

/// Encodes the name and shape of an input or output.
fn value(name: &str, kind: i64, shape: &[&str]) -> Vec<u8> {
    let shape: Vec<u8> = shape.iter().flat_map(|name| message(1, &text(2, name))).collect();
    let tensor = [integer(1, kind), message(2, &shape)].concat();
    [text(1, name), message(2, &message(1, &tensor))].concat()
}
