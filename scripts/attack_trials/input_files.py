"""Mutated, endless and hostile input: counted skips and clear errors, never a panic, a hang or another program run."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

from .place import Home, Place, Row
from .planted import CHANNELS


def mutated(place: Place, data: bytes) -> bytes:
    """The bytes with some of them changed, removed, repeated or swapped with other JSON."""
    raw = bytearray(data)
    for _ in range(place.random.randrange(1, 12)):
        if not raw:
            break
        at = place.random.randrange(len(raw))
        match place.random.randrange(6):
            case 0:
                raw[at] = place.random.randrange(256)
            case 1:
                del raw[at:at + place.random.randrange(1, 200)]
            case 2:
                raw[at:at] = raw[at:at + place.random.randrange(1, 200)]
            case 3:
                raw[at:at] = place.random.choice([b"null", b"[]", b"{}", b"-1e999", b'"\\ud800"', b"\x00", b"\xff\xfe", b"[" * 500, b"1" * 400])
            case 4:
                raw = raw[:at]
            case _:
                raw = raw.replace(place.random.choice([b'"type"', b'"content"', b'"text"', b'"id"', b":", b'"']), place.random.choice([b'"x"', b"{", b"7"]), 1)
    return bytes(raw)


def transcripts(place: Place) -> Iterator[Row]:
    """Mutated transcripts of all agents that other attacks write: no panic, no hang."""
    seeds = place.home("seeds")
    (seeds.path / "pond").mkdir()
    for number, plant in enumerate(CHANNELS.values()):
        one = place.home(f"seed-{number}")
        (one.path / "pond").mkdir()
        plant(one, place)
        shutil.copytree(one.path, seeds.path, dirs_exist_ok=True)
    originals = [path for path in seeds.path.rglob("*") if path.is_file()]
    tried, broken = 0, []
    for round_ in range(place.times(8)):
        home = place.home(f"round-{round_}")
        for path in originals:
            for copy in range(6):
                target = home.path / path.relative_to(seeds.path)
                target = target.with_name(f"{target.stem[:-4]}{copy:04}{target.suffix}") if target.suffix != ".md" else target
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(mutated(place, path.read_bytes()))
                tried += 1
        for call in (("ingest", "--no-embed"), ("ingest", "--no-embed", str(home.path / "pond")), ("extract", "--all"), ("doctor", "--deep")):
            result = home.yore(*call)
            if result.is_broken:
                broken.append(f"{call[0]}: {result.text[-100:]}")
    yield Row("runs that panic or hang", tried, len(broken), "; ".join(broken[:2]).replace("|", "/").replace("\n", " "))


def documents(place: Place) -> Iterator[Row]:
    """Deep, endless and odd files that are ingested or imported."""
    home = place.home("files")
    folder = home.path / "files"
    folder.mkdir()
    cases: dict[str, bytes] = {
        "deep.json": b"[" * 200_000, "deep.md": b"> " * 50_000 + b"x", "nul.txt": b"a\0b" * 100, "blank.md": b" " * 3_000_000,
        "long.md": b"x" * 5_000_000, "table.md": b"|" * 300_000, "html.html": b"<div>" * 100_000, "entities.html": b"&amp;" * 300_000,
        "surrogate.json": b'{"a": "\\ud800"}', "numbers.json": b"[" + b"1," * 300_000 + b"1]", "bom.md": b"\xef\xbb\xbf# x\n", "utf16.md": "# x".encode("utf-16"),
        "list.md": b"- " * 100_000, "emphasis.md": b"*_" * 100_000, "link.md": b"[" * 100_000,
    }
    broken = []
    for name, content in cases.items():
        (folder / name).write_bytes(content)
        for call in (("ingest", "--no-embed", str(folder / name)), ("import", str(folder / name))):
            if home.yore(*call, seconds=60).is_broken:
                broken.append(f"{call[0]} {name}")
    yield Row("files that break it", len(cases) * 2, len(broken), ", ".join(broken))


def endless(place: Place) -> Iterator[Row]:
    """A pipe that never ends, and `/dev/zero`, in the place of a file."""
    home = place.home("endless")
    pipe = home.path / "pipe.jsonl"
    os.mkfifo(pipe)
    failed = [f"{call[0]} {call[1]}" for call in [("import", str(pipe)), ("import", "/dev/zero"), ("ingest", str(pipe)), ("ingest", "/dev/zero"),
                                                  ("restore", "/dev/zero"), ("show", "/dev/zero")] if home.yore(*call, seconds=30).is_broken]
    yield Row("calls that never end", 6, len(failed), ", ".join(failed))


def archives(place: Place) -> Iterator[Row]:
    """Exports that unpack to much, name paths outside, or are no archives."""
    home = place.home("zip")

    def archive(entries: dict[str, bytes]) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in entries.items():
                file.writestr(name, content)
        return out.getvalue()

    talk = json.dumps([{"title": "t", "create_time": 1.0, "mapping": {}}]).encode()
    cases = {
        "bomb": archive({"conversations.json": b"[" + b" " * 600_000_000 + b"]"}), "traversal": archive({"../../evil.txt": b"x", "conversations.json": talk}),
        "many": archive({f"a{number}": b"" for number in range(20_000)} | {"conversations.json": talk}), "cut": archive({"conversations.json": talk})[:40],
        "none": b"PK\x03\x04" + place.random.randbytes(500),
    }
    broken = []
    for name, content in cases.items():
        path = home.path / f"{name}.zip"
        path.write_bytes(content)
        if home.yore("ingest", "--no-embed", "--source", "chatgpt", str(path)).is_broken:
            broken.append(name)
    if (home.path.parent / "evil.txt").exists() or (home.path / "evil.txt").exists():
        broken.append("wrote outside")
    yield Row("archives that break it", len(cases), len(broken), ", ".join(broken))


def repositories(place: Place) -> Iterator[Row]:
    """Repositories whose settings name programs: none is run by any command."""
    home = place.home("git")
    repo = home.path / "repo"
    repo.mkdir()
    ran = home.path / "ran"
    run = f"sh -c 'touch {ran}'"
    git = lambda *call: subprocess.run(["git", *call], cwd=repo, capture_output=True, check=False)  # noqa: E731
    git("init", "-q")
    (repo / "a.rs").write_text("fn a() {}\n")
    (repo / ".gitattributes").write_text("* diff=x filter=x\n")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first")
    for key in ("core.fsmonitor", "diff.x.textconv", "filter.x.clean", "filter.x.smudge", "core.pager", "core.sshCommand", "gpg.program",
                "core.editor", "alias.log", "diff.external"):
        git("config", key, f"!{run}" if key == "alias.log" else run)
    git("config", "log.showSignature", "true")
    for hook in ("post-checkout", "pre-commit", "post-index-change"):
        path = repo / ".git" / "hooks" / hook
        path.write_text(f"#!/bin/sh\n{run}\n")
        path.chmod(0o755)
    ran.unlink(missing_ok=True)
    place.transcript(home, ["The function `a` in `a.rs` is slow.", "From now on always use `a.rs`."], cwd=str(repo))
    calls = [("ingest", "--no-embed"), ("ingest", "--no-embed", "--source", "git", "."), ("extract", "--all"), ("recall", "a.rs"), ("memories", "check"), ("brief",),
             ("up", "--no-embed"), ("import", "."), ("doctor",), ("remember", "`a.rs` is slow", "--kind", "fact"), ("projects",), ("ingest", "--no-embed", "a.rs")]
    broken = [call[0] for call in calls if home.yore(*call, cwd=repo).is_broken]
    yield Row("programs of a repository that ran", len(calls), int(ran.exists()))
    yield Row("commands that break in it", len(calls), len(broken), ", ".join(broken))


def project_settings(place: Place) -> Iterator[Row]:
    """A project's own settings cannot switch memory off, nor widen what is read, sent or run."""
    home = place.home("settings")
    repo = home.path / "repo"
    repo.mkdir()
    place.transcript(home, [f"tide gauge {place.words(5)}"], cwd=str(repo))
    home.yore("ingest", "--no-embed")
    before = {row["key"]: row["value"] for row in settings(home, home.path)}
    failed = []
    for line in ("[mcp]\nhttp = true", "not toml at all [", "[llm]\nprovider = \"command\"\ncommand = [\"touch\", \"x\"]", "[capture]\nmode = \"all\"",
                 "[recall]\ntool_weight = 1", "[recall]\nembedder = \"local\"", "[recall]\nrerank = \"always\"", "[capture]\nenabled = false",
                 "[inject]\nfloor = 0.0", "[nonsense]\nx = 1", "[store]\ndirectory = \"/tmp\"", "[sources.file]\nroots = [\"/\"]"):
        (repo / ".yore.toml").write_text(line)
        result = home.yore("recall", "tide gauge", cwd=repo)
        if result.is_broken or result.code not in (0, 1):
            failed.append(line.replace("\n", " "))
        widened = {row["key"] for row in settings(home, repo) if before.get(row["key"]) != row["value"]}
        if widened - {"capture.enabled"}:
            failed.append(f"{line.replace(chr(10), ' ')}: changes {', '.join(sorted(widened))}")
    yield Row("project files that switch memory off or widen it", 12, len(failed), "; ".join(failed).replace("|", "/"))


def settings(home: Home, cwd: Path) -> list[dict]:
    try:
        found = json.loads(home.yore("config", "show", "--json", cwd=cwd).out or b"[]")
    except ValueError:
        return []
    return found if isinstance(found, list) else found.get("keys", [])


ATTACKS = {"transcripts": transcripts, "documents": documents, "endless": endless, "archives": archives, "repositories": repositories,
           "project-settings": project_settings}
