#!/usr/bin/env python3
"""Makes the static table from all-MiniLM-L6-v2.

    scripts/distill/distill.py TEACHER crates/engine/assets/static-minilm-256.bin

Each token of the vocabulary is run through the teacher alone, `[CLS] token [SEP]`; its vector is
the mean of the three states. Then: subtract the mean, PCA to 256, weight by how rare the token is
(a / (a + p), with p by Zipf's law from the place in the vocabulary), int8 with one scale a row.

Little-endian: "yoreST01"; u32 rows; u32 dims; f32[rows] scale; i8[rows * dims]. A token's vector
is scale[id] * row; the weight is part of the scale, and what must not count has scale 0.
"""
import pathlib
import struct
import sys

import numpy as np

import teacher

MAGIC, DIMS, FIRST, SIF = b"yoreST01", 256, 999, 1e-4


def token_vectors(model):
    """[rows, 384]: every token alone; rows below FIRST (special and unused) stay zero."""
    rows = len(model.words)
    out = np.zeros((rows, model.words.shape[1]), np.float32)
    for start in range(FIRST, rows, 1024):
        ids = np.arange(start, min(start + 1024, rows))
        batch = np.full((len(ids), 3), teacher.CLS)
        batch[:, 1], batch[:, 2] = ids, teacher.SEP
        out[ids] = model.states(batch).mean(1)
    return out


def project(vectors, dims=DIMS):
    """Centred and turned onto the first `dims` principal axes; signs fixed, so that a run repeats."""
    used = vectors[FIRST:].astype(np.float64)
    used -= used.mean(0)
    values, axes = np.linalg.eigh(used.T @ used)
    axes = axes[:, np.argsort(values)[::-1][:dims]]
    axes *= np.sign(axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])])
    out = np.zeros((len(vectors), dims))
    out[FIRST:] = used @ axes
    return out


def zipf(rows):
    """A token's probability by its place in the vocabulary, which is ordered by frequency."""
    p = np.zeros(rows)
    p[FIRST:] = 1 / np.arange(2, rows - FIRST + 2)
    return p / p.sum()


def sif_weights(p, a=SIF):
    weights = a / (a + p)
    weights[:FIRST] = 0
    return weights


def pack(table):
    scale = np.abs(table).max(1) / 127
    body = np.divide(table, scale[:, None], out=np.zeros_like(table), where=scale[:, None] > 0)
    body = np.rint(body).astype("i1")
    return MAGIC + struct.pack("<II", *table.shape) + scale.astype("<f4").tobytes() + body.tobytes()


def main(source, target):
    vectors = project(token_vectors(teacher.Teacher(source)))
    table = vectors * sif_weights(zipf(len(vectors)))[:, None]
    pathlib.Path(target).write_bytes(pack(table))
    print(f"{target}: {table.shape[0]} x {table.shape[1]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
