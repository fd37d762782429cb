#!/usr/bin/env python3
"""Writes what onnxruntime makes of some texts, for the tests of the local models.

    scripts/model_reference.py MODELS crates/testing/fixtures/models/reference.json

MODELS holds `bge-small-en-v1.5` and `ms-marco-MiniLM-L-12-v2`, as `yore models path` names them.
Vectors are kept as 8-bit integers: cosines with them are right to about 0.0001.
Needs numpy, onnxruntime and tokenizers.
"""
import json
import pathlib
import sys

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

TEXTS = [
    "The deployment failed because the disk was full.",
    "Where did we put the retry logic for uploads?",
    'fn main() { println!("hello"); }',
    "The lighthouse keeper logs the weather every evening.",
    "My sister moved to Lisbon in the spring of last year.",
    "SELECT name FROM users WHERE id = 7;",
    "We decided to use SQLite in WAL mode instead of Postgres.",
    "Zürich naïve café déjà vu",
    "How do I undo the last commit without losing my changes?",
    "The test is flaky: it asserts on wall-clock time.",
    "error[E0382]: borrow of moved value: `config`",
    "She prefers tabs over spaces in Python.",
    "Bread needs flour, water, salt and patience.",
    "東京は日本の首都です。",
    "The parser reads one line at a time and keeps the offset.",
    "What is the capital of France?",
    "Paris is the capital of France and its largest city.",
    "Retry with exponential backoff, at most five times.",
    "ok",
    "The cache is rebuilt whenever the schema version differs, and nothing is lost because every row can be derived "
    "again from the archive of what was said.",
]
QUESTION = "How many people live in Berlin?"
PASSAGES = [
    "Berlin had a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers.",
    "Berlin is well known for its museums.",
    "New York City is famous for the Metropolitan Museum of Art.",
]


def load(folder):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer, onnxruntime.InferenceSession(str(folder / "model.onnx"))


def run(session, encoding):
    """One text alone: in a batch, int8 networks give others numbers."""
    as_batch = lambda numbers: np.array([numbers], dtype=np.int64)
    inputs = {
        "input_ids": as_batch(encoding.ids),
        "attention_mask": as_batch(encoding.attention_mask),
        "token_type_ids": as_batch(encoding.type_ids),
    }
    return session.run(None, inputs)[0]


def as_bytes(state):
    state = state / np.abs(state).max() * 127
    return np.rint(state).astype(np.int8).tobytes().hex()


def main(models, target):
    models = pathlib.Path(models)
    tokenizer, session = load(models / "bge-small-en-v1.5")
    texts = [{"text": text, "vector": as_bytes(run(session, tokenizer.encode(text))[0, 0])} for text in TEXTS]
    tokenizer, session = load(models / "ms-marco-MiniLM-L-12-v2")
    scores = [{"text": passage, "score": round(float(run(session, tokenizer.encode(QUESTION, passage))[0, 0]), 3)} for passage in PASSAGES]
    reference = {"onnxruntime": onnxruntime.__version__, "texts": texts, "question": QUESTION, "passages": scores}
    pathlib.Path(target).write_text(json.dumps(reference, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
