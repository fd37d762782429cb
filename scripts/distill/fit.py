#!/usr/bin/env python3
"""Fits the static table to the teacher's sentence vectors, starting from the plain one.

    scripts/distill/fit.py TEACHER CORPUS STATIC_BIN CACHE_DIR

CORPUS is what corpus.py wrote. Each passage is run through the teacher once (kept in CACHE_DIR,
so a run that is stopped goes on); then the rows are moved so that the sum of a passage's rows
points where the teacher's vector points: least squares, held towards the plain table by RIDGE.
A token that the corpus shows a few times therefore stays near its plain vector, and one that it
never shows keeps it. Needs numpy, scipy and tokenizers; about half an hour of CPU for the teacher.
"""
import json
import pathlib
import sys

import numpy as np
import scipy.sparse as sparse

import teacher
from check import tokenizer
from distill import DIMS, FIRST, pack, sif_weights, token_vectors, zipf

BLOCK, LONGEST = 6000, 126
RIDGE, ROUNDS, STEPS = 0.5, 2, 20
ZIPF_SIF, SEEN_SIF, SEEN = 1e-4, 3e-4, 0.9


def teacher_vectors(source, texts, cache):
    """Unit vectors of the teacher, block by block."""
    model, out = teacher.Teacher(source), []
    for start in range(0, len(texts), BLOCK):
        path = pathlib.Path(cache, f"{start:07}.npy")
        if not path.exists():
            block = model.embed(texts[start:start + BLOCK])
            block /= np.linalg.norm(block, axis=1, keepdims=True)
            np.save(path, block.astype(np.float16))
            print(f"{start + len(block)} of {len(texts)} passages", flush=True)
        out.append(np.load(path).astype(np.float32))
    return np.concatenate(out)


def counts(texts, columns):
    """[passages, tokens]: how often each token that counts stands in each passage."""
    rows = np.repeat(np.arange(len(texts)), [len(t) for t in texts])
    ids = np.concatenate(texts)
    rows, ids = rows[ids >= FIRST], ids[ids >= FIRST]
    out = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, ids)), (len(texts), columns))
    out.sum_duplicates()
    return out


def start_table(vectors, seen, sources):
    """The plain table, weighted by the geometric mean of Zipf's law and what the corpus shows."""
    shares = [seen[sources == name].sum(0) for name in sorted(set(sources))]
    observed = np.mean([np.asarray(s / s.sum()).ravel() for s in shares], axis=0)
    law = zipf(len(vectors))
    weights = np.sqrt(sif_weights(law, ZIPF_SIF) * sif_weights(SEEN * observed + (1 - SEEN) * law, SEEN_SIF))
    table = np.zeros_like(vectors)
    table[FIRST:] = vectors[FIRST:] - vectors[FIRST:].mean(0)
    table *= weights[:, None].astype(np.float32)
    return table / np.sqrt((table[FIRST:] ** 2).sum(1).mean())


def solve(a, residual):
    """The change D of least |a D - residual|^2 + RIDGE |D|^2, by conjugate gradients."""
    at = a.T.tocsr()
    inverse = (1 / (np.asarray(a.multiply(a).sum(0)).ravel() + RIDGE))[:, None].astype(np.float32)
    r = at @ residual
    change = np.zeros_like(r)
    z = inverse * r
    p, rz = z.copy(), (r * z).sum(0)
    for _ in range(STEPS):
        q = at @ (a @ p) + np.float32(RIDGE) * p
        step = rz / ((p * q).sum(0) + 1e-30)
        change += step * p
        r -= step * q
        z = inverse * r
        rz, before = (r * z).sum(0), rz
        p = z + rz / (before + 1e-30) * p
    return change


def fit(seen, wanted, plain):
    table = plain
    for number in range(ROUNDS + 1):
        sums = seen @ table
        lengths = np.linalg.norm(sums, axis=1)
        lengths[lengths == 0] = 1
        print(f"round {number}: mean cosine with the teacher {((sums / lengths[:, None]) * wanted).sum(1).mean():.4f}", flush=True)
        if number == ROUNDS:
            return table
        # Only the direction of a passage counts, so each is weighted to length 1 as it stands.
        a = (sparse.diags(1 / lengths) @ seen).tocsr().astype(np.float32)
        first = a @ plain
        size = (first * wanted).sum() / (first * first).sum()
        table = (size * plain + solve(a, wanted - size * first)).astype(np.float32)
        table[:FIRST] = 0


def turn(table, dims=DIMS):
    """Onto the rows' first principal axes; signs fixed, so that a run repeats."""
    used = table[FIRST:].astype(np.float64)
    values, axes = np.linalg.eigh(used.T @ used)
    axes = axes[:, np.argsort(values)[::-1][:dims]]
    axes *= np.sign(axes[np.abs(axes).argmax(0), np.arange(dims)])
    return table @ axes


def main(source, corpus, target, cache):
    pathlib.Path(cache).mkdir(parents=True, exist_ok=True)
    lines = [json.loads(line) for line in pathlib.Path(corpus).read_text("utf-8").splitlines()]
    encoded = tokenizer(source).encode_batch([text for _, text in lines], add_special_tokens=False)
    texts = [e.ids[:LONGEST] for e in encoded]
    wanted = teacher_vectors(source, texts, cache)
    wanted -= wanted.mean(0)
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    vectors = token_vectors(teacher.Teacher(source))
    seen = counts(texts, len(vectors))
    table = fit(seen, wanted, start_table(vectors, seen, np.array([name for name, _ in lines])))
    pathlib.Path(target).write_bytes(pack(turn(table)))
    print(f"{target}: {table.shape[0]} x {DIMS}, fitted to {len(texts)} passages, {int(seen.sum())} tokens")


if __name__ == "__main__":
    main(*sys.argv[1:])
