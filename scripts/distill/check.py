#!/usr/bin/env python3
"""Reads both assets as yore reads them, checks them against the teacher and prints figures.

    scripts/distill/check.py TEACHER WORDPIECE_BIN STATIC_BIN [TEXT_FILE...]

Needs the package `tokenizers`. Words of the given files (without any: of these scripts and their
README) are split by longest match over the hash table and compared with the teacher's tokenizer.
"""
import json
import pathlib
import struct
import sys
import unicodedata

import numpy as np
from tokenizers import Tokenizer

import teacher
from distill import DIMS, FIRST
from distill import MAGIC as TABLE_MAGIC
from vocabulary import EMPTY, MAGIC, SLOTS, slot

UNKNOWN, LONGEST = 100, 100
PROBES = [
    ("That is a happy person", "That is a happy dog"),
    ("That is a happy person", "That is a very happy person"),
    ("That is a happy person", "Today is a sunny day"),
    ("the build fails with a linker error", "undefined symbol while compiling"),
    ("the build fails with a linker error", "we went hiking in the mountains"),
]


class Pieces:
    def __init__(self, data):
        assert data[:8] == MAGIC, "wrong magic"
        self.count, self.slots = struct.unpack_from("<II", data, 8)
        assert self.slots == SLOTS
        self.table = np.frombuffer(data, "<u2", self.slots, 16)
        offsets = 16 + 2 * self.slots
        self.offsets = np.frombuffer(data, "<u4", self.count + 1, offsets)
        self.bytes = data[offsets + 4 * (self.count + 1):]
        assert self.offsets[0] == 0 and self.offsets[-1] == len(self.bytes)

    def piece(self, number):
        return self.bytes[self.offsets[number]:self.offsets[number + 1]]

    def find(self, piece):
        """(id or None, slots looked at)"""
        at, looked = slot(piece), 1
        while self.table[at] != EMPTY:
            if self.piece(self.table[at]) == piece:
                return int(self.table[at]), looked
            at, looked = (at + 1) % self.slots, looked + 1
        return None, looked

    def split(self, word):
        """Ids of one word, longest match first, as BERT's tokenizer does it."""
        if len(word) > LONGEST:
            return [UNKNOWN]
        out, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                found, _ = self.find(("##" * (start > 0) + word[start:end]).encode())
                if found is not None:
                    break
            else:
                return [UNKNOWN]
            out.append(found)
            start = end
        return out


def read_table(data):
    assert data[:8] == TABLE_MAGIC, "wrong magic"
    rows, dims = struct.unpack_from("<II", data, 8)
    assert len(data) == 16 + 4 * rows + rows * dims, "wrong length"
    scale = np.frombuffer(data, "<f4", rows, 16)
    body = np.frombuffer(data, "i1", rows * dims, 16 + 4 * rows).reshape(rows, dims)
    return scale, body


def tokenizer(source):
    """The teacher's, without the rule that a text's own "[SEP]" is the special token: text is only text."""
    settings = json.loads(teacher.read(source, teacher.TOKENIZER))
    settings.update(added_tokens=[], truncation=None, padding=None, post_processor=None)
    return Tokenizer.from_str(json.dumps(settings))


def check_vocabulary(source, pieces, texts):
    wanted = teacher.vocabulary(source)
    assert pieces.count == len(wanted)
    looked = []
    for number, piece in enumerate(wanted):
        assert pieces.piece(number) == piece.encode(), f"piece {number}"
        found, steps = pieces.find(piece.encode())
        assert found == number, f"{piece} is found as {found}"
        looked.append(steps)
    print(f"vocabulary: {len(wanted)} pieces; slots looked at: mean {np.mean(looked):.2f}, most {max(looked)}")
    model = tokenizer(source)
    words, known = 0, {}
    for text in texts:
        parts = [w for w, _ in model.pre_tokenizer.pre_tokenize_str(model.normalizer.normalize_str(text))]
        ours = []
        for word in parts:
            if word not in known:
                known[word] = pieces.split(word)
            ours += known[word]
        assert ours == model.encode(text, add_special_tokens=False).ids, "tokens differ from the teacher's"
        words += len(parts)
    print(f"tokens: {words} words ({len(known)} different) split as the teacher splits them")
    return model


def main(source, vocabulary, table, *files):
    pieces = Pieces(pathlib.Path(vocabulary).read_bytes())
    here = pathlib.Path(__file__).parent
    files = [pathlib.Path(f) for f in files] or sorted(p for p in here.iterdir() if p.suffix in (".py", ".md"))
    # Accents, other scripts, a word without pieces and one that is too long, besides the files.
    texts = ["Ünïcödé café naïve 東京 ΑΒΓ 🦀 I\u0307 \u200b", "x" * 101, unicodedata.normalize("NFD", "Ångström")]
    texts += [f.read_text(encoding="utf-8", errors="replace") for f in files]
    model = check_vocabulary(source, pieces, texts)

    scale, body = read_table(pathlib.Path(table).read_bytes())
    assert body.shape == (pieces.count, DIMS), f"table is {body.shape}"
    assert np.isfinite(scale).all() and (scale >= 0).all()
    assert not scale[:FIRST].any(), "special tokens must not count"
    used = scale > 0
    assert (np.abs(body[used].astype(int)).max(1) == 127).all(), "a row does not use its range"
    lengths = scale * np.sqrt((body.astype(np.float32) ** 2).sum(1))
    print(f"table: {used.sum()} of {len(scale)} rows count; "
          f"length of a row: median {np.median(lengths[used]):.4f}, largest {lengths.max():.4f}")

    def embed(text):
        ids = model.encode(text, add_special_tokens=False).ids
        vector = (scale[ids, None] * body[ids]).sum(0)
        return vector / np.linalg.norm(vector)

    full = teacher.Teacher(source)
    for a, b in PROBES:
        va, vb = full.embed([model.encode(t, add_special_tokens=False).ids for t in (a, b)])
        exact = va @ vb / np.linalg.norm(va) / np.linalg.norm(vb)
        print(f"  table {embed(a) @ embed(b):+.3f}  teacher {exact:+.3f}  {a!r} / {b!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
