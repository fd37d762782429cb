#!/usr/bin/env python3
"""Gathers the text on which fit.py fits the table, one JSON string a line, in a fixed order.

    scripts/distill/corpus.py TARGET --wordnet TGZ --chatterbot WHEEL --crates DIR --rust-docs DIR
                              --python DIR --packages DIR [--dictd DEB...]

Every source may be used freely (README.md names each with its licence and version). From each a
fixed number of passages is drawn by the hash of the passage, so the choice depends on the text
alone and not on the order of files; what is too short, too long or not mainly words is left out.
"""
import argparse
import ast
import gzip
import hashlib
import html
import io
import json
import pathlib
import random
import re
import subprocess
import tarfile
import zipfile

SEED = b"yore-1"
PASSAGES = 96_000  # as many as the teacher reads in half an hour of CPU
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(`])")


def clean(text):
    return re.sub(r"\s+", " ", text).strip()


def fits(text, least=4, most=90):
    words = text.split()
    letters = sum(c.isascii() and (c.isalpha() or c == " ") for c in text)
    return least <= len(words) <= most and letters >= 0.7 * len(text) and len(text) <= 700


def draw(texts, count):
    """`count` different texts, those with the smallest hashes."""
    key = lambda t: hashlib.blake2b(t.encode(), digest_size=8, key=SEED).digest()
    return sorted(set(texts), key=lambda t: (key(t), t))[:count]


def wordnet(path):
    """(glosses, examples): what a sense means, and sentences that use it."""
    glosses, examples = [], []
    with tarfile.open(path) as tar:
        for kind in ("noun", "verb", "adj", "adv"):
            for line in io.TextIOWrapper(tar.extractfile(f"package/dict/data.{kind}"), "utf-8"):
                head, _, gloss = line.partition(" | ")
                if not gloss or line.startswith("  "):
                    continue
                fields = head.split()
                names = [w.replace("_", " ").split("(")[0] for w in fields[4:4 + 2 * int(fields[3], 16):2]]
                meaning = clean(re.split(r';? *"', gloss)[0]).rstrip(";")
                glosses.append(f"{', '.join(names)}: {meaning}")
                examples += [clean(e) for e in re.findall(r'"([^"]+)"', gloss)]
    return glosses, examples


def chatterbot(path):
    """Questions and answers; a plain line reader is enough for these files."""
    out = []
    with zipfile.ZipFile(path) as wheel:
        for name in sorted(n for n in wheel.namelist() if "/english/" in n and n.endswith(".yml")):
            pair = []
            for line in wheel.read(name).decode().splitlines():
                match = re.match(r"\s*-\s*(-\s+)?(.*)", line)
                if not match:
                    continue
                text = clean(match[2].strip("'\""))
                if match[1]:
                    pair = []
                pair.append(text)
                out.append(text)
                if len(pair) == 2:
                    out.append(" ".join(pair))
    return out


def sections(text):
    """Paragraphs of Markdown without code, tables and link targets."""
    text = re.sub(r"```.*?(```|\Z)|~~~.*?(~~~|\Z)|<!--.*?-->", "\n\n", text, flags=re.S)
    text = re.sub(r"\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"<[^>]+>|^\s*[|\[].*$|^#+ |[*_]{2,}", " ", text, flags=re.M)
    return [clean(p).lstrip("-*+> ") for p in re.split(r"\n\s*\n|\n\s*[-*+] ", text)]


def sentences(paragraphs):
    """Each paragraph whole, and each of its sentences."""
    out = []
    for p in paragraphs:
        parts = SENTENCE.split(p)
        out.append(p)
        if len(parts) > 1:
            out += parts
    return out


def crates(folder):
    prose, code = [], []
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.suffix == ".md" and path.stat().st_size < 300_000:
            prose += sentences(sections(path.read_text("utf-8", "replace")))
        elif path.suffix == ".rs" and path.stat().st_size < 300_000:
            text = path.read_text("utf-8", "replace")
            blocks = re.findall(r"(?:^[ \t]*//[/!][^\n]*\n)+", text, flags=re.M)
            prose += sentences(p for b in blocks for p in sections(re.sub(r"^[ \t]*//[/!] ?", "", b, flags=re.M)))
            code += [clean(c) for c in re.findall(r"^[ \t]*pub (?:const |async )?fn [^{;]+", text, flags=re.M)]
            code += [clean(c) for c in re.findall(r"^[ \t]*// [^\n]{20,}", text, flags=re.M)]
    return prose, code


def rust_docs(folder):
    out = []
    for name in ("book", "reference", "cargo", "rust-by-example", "nomicon", "rustc", "rustdoc", "edition-guide", "clippy", "error_codes"):
        for path in sorted(pathlib.Path(folder, name).rglob("*.html")):
            if path.name == "print.html":
                continue
            text = path.read_text("utf-8", "replace")
            paragraphs = re.findall(r"<(?:p|li)>(.*?)</(?:p|li)>", text, flags=re.S)
            out += sentences(clean(html.unescape(re.sub(r"<[^>]+>", "", p))) for p in paragraphs)
    return out


def python(folder):
    """(docstrings, short functions) of all modules below a folder."""
    prose, code = [], []
    for path in sorted(pathlib.Path(folder).rglob("*.py")):
        if "test" in str(path.relative_to(folder)) or path.stat().st_size > 300_000:
            continue
        try:
            source = path.read_text("utf-8")
            tree = ast.parse(source)
        except (ValueError, SyntaxError):
            continue
        for node in ast.walk(tree):
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
                continue
            doc = ast.get_docstring(node)
            if doc:
                prose += sentences(sections(doc))
            if isinstance(node, ast.FunctionDef) and 3 <= node.end_lineno - node.lineno <= 25:
                code.append(clean("\n".join(source.splitlines()[node.lineno - 1:node.end_lineno])))
    return prose, code


def services(folder):
    """Descriptions in botocore's service models."""
    out = []
    for path in sorted(pathlib.Path(folder, "botocore", "data").rglob("service-2.json*")):
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
        for doc in re.findall(r'"documentation":"((?:[^"\\]|\\.)*)"', text):
            out += [clean(html.unescape(re.sub(r"<[^>]+>", " ", json.loads(f'"{doc}"'))))]
    return out


def dictd(path):
    """Entries of a dictionary in a Debian package (Jargon File, Devil's Dictionary)."""
    tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True, capture_output=True).stdout
    out = []
    with tarfile.open(fileobj=io.BytesIO(tar)) as files:
        for member in files.getmembers():
            if member.name.endswith(".dict.dz"):
                text = gzip.decompress(files.extractfile(member).read()).decode("utf-8", "replace")
                out += sentences(clean(p) for p in re.split(r"\n\s*\n", text))
    return out


# What people tell each other and their agents, with gaps. Invented here: no free corpus of
# everyday talk was to be had, and without its small words the fitted table forgets them.
TALK = """
I went to the {n} with my {p} last {d}.|We had so much fun at the {n}, you should come next time!|How was your {n} on {d}?
Wow, that {n} looks {a}! Where did you get it?|Thanks, {who}! My {p} gave me the {n} for my birthday.|I have been thinking about {g} for a while now.
That's great news about the {n}. I'm so happy for you.|What do you like most about {g}?|My {p} and I are planning a trip to see the {n} in {m}.
I started {g} three years ago and it really helps me relax.|Sorry to hear about your {n}. Are you feeling better?|Did you ever try {g}? It is pretty {a}.
I just finished a book about the {n}, it was really {a}.|Yeah, {who} told me about the {n} yesterday.|Hey {who}, long time no see! What's new with the {n}?
I can't wait to show you the {n} we made together.|We used to go {g} every {d} when we were kids.|My {p} is allergic to {n}, so we had to leave early.
I bought a new {n} and a {n} at the {n} this weekend.|It makes me feel {a} when I think about the {n}.|When did you first get into {g}?
I'm working on a project about the {n} and need some advice.|Good luck with the {n} next {d}!|I was nervous about the {n}, but it turned out {a}.
Who went to the {n} with {who} in {m}?|What did {who} buy at the {n}?|When did {who} start {g}?|Why does {who} like the {n}?
Where did {who} and the {p} go on {d}?|How many times did {who} see the {n}?|What kind of {n} does {who} have?|Which {n} did {who} recommend?
Please remember that I prefer the {n} over the {n}.|I moved to a new {n} in {m} because of my job.|My favourite {n} is the {a} one.
Can you fix the {n} in the {t}? It fails when the {n} is empty.|Why did we decide to use {t} for the {n}?|The {t} test is failing with an error about the {n}.
Do not change the {t} until the {n} is merged.|Let's rename {n} to {n} and update the {t}.|I found the bug: the {t} was reading the {n} before it was written.
The build breaks because the {t} cannot find the {n}.|Add a {t} that checks the {n} before we release.|We should not commit the {n}, put it into the {t} instead.
What was the reason for removing the {n} from the {t}?|How do I run the {t} for only one {n}?|I'll look at the {t} and find where the {n} is handled.
All tests pass now. The {n} is stored in the {t}.|Always ask me before you touch the {t}.|Revert the last change, the {n} is wrong.
The {t} is too slow when there are many {n} entries; cache the {n}.|Which {t} did we pick for the {n}, and why?|Let me check whether the {t} still uses the old {n}.
Next we need to move the {n} from the {t} to its own {t}.|Looks good, but please keep the {n} out of the {t}.|The {n} now works on every platform except the {a} one.
"""
FILL = {
    "p": "mother father sister brother friend wife husband son daughter neighbor boss colleague cousin grandmother kids team dog",
    "d": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday week weekend month summer winter morning evening",
    "m": "January February March April May June July August September October November December spring 2021 2022 2023",
    "who": "Anna Tom Maria James Sarah David Emily Mark Laura Peter Rachel Kevin Julia Daniel Nina Oscar",
    "a": "beautiful great strange difficult funny amazing terrible quiet expensive simple old new boring inspiring scary wonderful tiny huge important different",
    "g": "running painting cooking swimming reading writing hiking dancing fishing gardening volunteering camping singing teaching travelling coding yoga pottery photography baking climbing cycling skiing knitting meditation",
    "t": "parser database script server client config file branch commit function module pipeline hook cache queue index schema migration endpoint token session logger handler worker daemon test query table compiler package dependency workflow container flag option command plugin",
}


def talk(nouns, count):
    """Sentences of TALK with their gaps filled; `nouns` are common nouns, repeatable by the seed."""
    rng = random.Random(SEED)
    lines = [s.strip() for s in TALK.replace("\n", "|").split("|") if s.strip()]
    words = {k: v.split() for k, v in FILL.items()} | {"n": nouns}
    return [re.sub(r"\{(\w+)\}", lambda m: rng.choice(words[m[1]]), rng.choice(lines)) for _ in range(count)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("target")
    for name in ("wordnet", "chatterbot", "crates", "rust-docs", "python", "packages"):
        p.add_argument(f"--{name}", required=True)
    p.add_argument("--dictd", nargs="*", default=[])
    a = p.parse_args()
    glosses, examples = wordnet(a.wordnet)
    crate_prose, crate_code = crates(a.crates)
    python_prose, python_code = python(a.python)
    package_prose, package_code = python(a.packages)
    # A sense's first name, if it is one short word with many examples around: common nouns.
    seen = {}
    for e in examples:
        for w in re.findall(r"\bthe ([a-z]{3,9})\b", e):
            seen[w] = seen.get(w, 0) + 1
    nouns = sorted(w for w, n in seen.items() if n >= 3)
    sources = {
        "gloss": (glosses, 40_000), "example": ([e for e in examples if len(e.split()) > 3], 40_000),
        "chatterbot": (chatterbot(a.chatterbot), 10_000), "talk": (talk(nouns, 25_000), 20_000),
        "crates": (crate_prose, 25_000), "rust-docs": (rust_docs(a.rust_docs), 15_000),
        "python": (python_prose, 10_000), "packages": (package_prose, 10_000),
        "code": (crate_code, 6_000), "functions": (python_code + package_code, 8_000),
        "services": (services(a.packages), 8_000), "dictd": ([t for f in a.dictd for t in dictd(f)], 10_000),
    }
    rows = []
    for name, (texts, count) in sources.items():
        ok = (lambda t: 20 <= len(t) <= 700) if name in ("code", "functions") else fits
        some = draw((t for t in texts if ok(t)), count)
        rows += [[name, text] for text in some]
        print(f"{name:12} {len(texts):8} found {len(some):7} drawn {sum(map(len, some)) / max(1, len(some)):6.0f} characters each")
    random.Random(1).shuffle(rows)
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows[:PASSAGES]]
    pathlib.Path(a.target).write_text("".join(lines), encoding="utf-8")
    print(f"{len(lines)} of {len(rows)} passages kept, SHA-256 {hashlib.sha256(''.join(lines).encode()).hexdigest()}")


if __name__ == "__main__":
    main()
