#!/usr/bin/env python3
"""make.py OUT: write the three repositories and the home of the audit set.

Standard library and git only.  Deterministic: dates, ids and hashes depend on
nothing but the data files beside this script and the absolute path of OUT
(which stands in the transcripts' cwd and in the slugs).
"""
import datetime as dt
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import data_granary  # noqa: E402
import data_home  # noqa: E402
import data_quaybook  # noqa: E402
import data_tidewire  # noqa: E402

REPOS = [data_tidewire, data_quaybook, data_granary]
B62 = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def slug(path):
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def when(s):
    """'2025-09-08 17:20' is UTC."""
    return dt.datetime.strptime(s, "%Y-%m-%d %H:%M").replace(tzinfo=dt.timezone.utc)


def put(path, text, mtime):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        f.write(text)
    os.utime(path, (mtime, mtime))


def git(cwd, *args, env=None):
    e = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
        "TZ": "UTC",
    }
    e.update(env or {})
    subprocess.run(["git", *args], cwd=cwd, env=e, check=True,
                   stdout=subprocess.DEVNULL)


def instructions_at(instr, n):
    out = {}
    for path, lines in instr.items():
        got = [t for since, t in lines if since <= n]
        if not any(got):
            continue
        out[path] = re.sub(r"\n{3,}", "\n\n", "\n".join(got) + "\n")
    return out


def trees(mod):
    """[(time, {path: text})] after every commit."""
    tree, out = {}, []
    for n, c in enumerate(mod.COMMITS, 1):
        for a, b in c.get("mv", []):
            hit = [p for p in tree if p == a or p.startswith(a + "/")]
            assert hit, (mod.NAME, n, a)
            for p in hit:
                tree[b + p[len(a):]] = tree.pop(p)
        for p in c.get("rm", []):
            hit = [q for q in tree if q == p or q.startswith(p + "/")]
            assert hit, (mod.NAME, n, p)
            for q in hit:
                del tree[q]
        for p, text in c.get("write", {}).items():
            tree[p] = text.lstrip("\n")
        for p, old, new in c.get("sub", []):
            assert old in tree[p], (mod.NAME, n, p, old)
            tree[p] = tree[p].replace(old, new)
        tree.update(instructions_at(mod.INSTR, n))
        out.append((when(c["at"]), dict(tree)))
    return out


def write_repo(root, mod, states):
    os.makedirs(root)
    git(root, "init", "-q", "-b", "main")
    prev, stamp = {}, {}
    for c, (t, tree) in zip(mod.COMMITS, states):
        ts = int(t.timestamp())
        for p in prev:
            if p not in tree:
                os.remove(os.path.join(root, p))
                d = os.path.dirname(os.path.join(root, p))
                while d != root and not os.listdir(d):
                    os.rmdir(d)
                    d = os.path.dirname(d)
        for p, text in tree.items():
            if prev.get(p) != text:
                put(os.path.join(root, p), text, ts)
                if p.endswith(".sh"):
                    os.chmod(os.path.join(root, p), 0o755)
                stamp[p] = ts
        name, mail = mod.PEOPLE[c["by"]]
        git(root, "add", "-A")
        git(root, "commit", "-q", "--no-gpg-sign", "-m", c["msg"].strip(), env={
            "GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": mail,
            "GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": mail,
            "GIT_AUTHOR_DATE": f"{ts} +0000", "GIT_COMMITTER_DATE": f"{ts} +0000"})
        prev = tree
    # The working tree itself is clean: what is on disk is HEAD.
    for p in prev:
        os.utime(os.path.join(root, p), (stamp[p], stamp[p]))


def b62(seed, n=22):
    h = int(hashlib.sha256(seed.encode()).hexdigest(), 16)
    out = ""
    while len(out) < n:
        h, r = divmod(h, len(B62))
        out += B62[r]
    return out


class Session:
    def __init__(self, mod, root, spec, states):
        self.root, self.spec = root, spec
        key = f"{mod.NAME}:{spec['at']}"
        self.key = key
        self.rng = random.Random(key)
        self.id = str(uuid.uuid5(uuid.NAMESPACE_URL, "audit:" + key))
        self.t = when(spec["at"]) + dt.timedelta(seconds=self.rng.randint(1, 58),
                                                 milliseconds=self.rng.randint(0, 999))
        self.tree = {}
        for t, tree in states:
            if t < self.t:
                self.tree = dict(tree)
        self.n, self.parent, self.out = 0, None, []

    def stamp(self, lo=1, hi=9):
        self.t += dt.timedelta(seconds=self.rng.randint(lo, hi),
                               milliseconds=self.rng.randint(0, 999))
        return self.t.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.t.microsecond // 1000:03d}Z"

    def entry(self, typ, message, ts, **extra):
        self.n += 1
        u = str(uuid.uuid5(uuid.NAMESPACE_URL, f"audit:{self.key}:{self.n}"))
        e = {"parentUuid": self.parent, "isSidechain": False, "userType": "external",
             "cwd": self.root, "sessionId": self.id, "version": self.spec["version"],
             "gitBranch": self.spec.get("branch", "main"), "type": typ,
             "message": message, "uuid": u, "timestamp": ts}
        e.update(extra)
        self.parent = u
        self.out.append(e)
        return u

    def assistant(self, block):
        k = f"{self.key}:{self.n}"
        msg = {"model": self.spec["model"], "id": "msg_01" + b62("m" + k), "type": "message",
               "role": "assistant", "content": [block], "stop_reason": None,
               "stop_sequence": None,
               "usage": {"input_tokens": self.rng.randint(3, 12),
                         "cache_creation_input_tokens": self.rng.randint(180, 4200),
                         "cache_read_input_tokens": self.rng.randint(14000, 62000),
                         "output_tokens": self.rng.randint(20, 480),
                         "service_tier": "standard"}}
        return self.entry("assistant", msg, self.stamp(), requestId="req_011" + b62("r" + k, 21))

    def tool(self, name, inp, content, result, err=False):
        tid = "toolu_01" + b62(f"t{self.key}:{self.n}")
        src = self.assistant({"type": "tool_use", "id": tid, "name": name, "input": inp})
        block = {"tool_use_id": tid, "type": "tool_result", "content": content}
        if name == "Bash" or err:
            block["is_error"] = err
        self.entry("user", {"role": "user", "content": [block]}, self.stamp(1, 20),
                   toolUseResult=result, sourceToolAssistantUUID=src)

    def path(self, p):
        if p.startswith("~/"):
            return os.path.join(os.path.dirname(os.path.dirname(self.root)), "home", p[2:])
        return os.path.normpath(os.path.join(self.root, p))

    def path_memory(self, name, text):
        """The agent writes one of its own memory files."""
        p = self.path(f"~/.claude/projects/{slug(self.root)}/memory/{name}")
        self.tool("Write", {"file_path": p, "content": text},
                  f"File created successfully at: {p}",
                  {"type": "create", "filePath": p, "content": text,
                   "structuredPatch": [], "originalFile": None})

    def run(self):
        first = self.stamp()
        self.out.append({"type": "summary", "summary": self.spec["title"],
                         "leafUuid": str(uuid.uuid5(uuid.NAMESPACE_URL, "leaf:" + self.key))})
        for step in self.spec["steps"]:
            kind, a = step[0], step[1:]
            if kind == "U":
                ts = first if self.parent is None else self.stamp(20, 240)
                self.entry("user", {"role": "user", "content": a[0].strip()}, ts,
                           thinkingMetadata={"level": "high", "disabled": False, "triggers": []},
                           todos=[])
            elif kind == "A":
                self.assistant({"type": "text", "text": a[0].strip()})
            elif kind == "B":
                cmd, desc, rc, text = a
                text = text.strip("\n")
                inp = {"command": cmd, "description": desc}
                if rc == 0:
                    self.tool("Bash", inp, text, {"stdout": text, "stderr": "",
                                                  "interrupted": False, "isImage": False})
                else:
                    self.tool("Bash", inp, f"Exit code {rc}\n{text}",
                              f"Error: Exit code {rc}\n{text}", err=True)
            elif kind == "R":
                p = a[0]
                if p not in self.tree:
                    self.tool("Read", {"file_path": self.path(p)},
                              "<tool_use_error>File does not exist.</tool_use_error>",
                              "Error: File does not exist.", err=True)
                    assert len(a) > 1 and a[1] == "missing", (self.key, p)
                    continue
                text = self.tree[p]
                ls = text.split("\n")
                num = "\n".join(f"{i:6d}\u2192{x}" for i, x in enumerate(ls, 1))
                self.tool("Read", {"file_path": self.path(p)}, num,
                          {"type": "text", "file": {"filePath": self.path(p), "content": text,
                           "numLines": len(ls), "startLine": 1, "totalLines": len(ls)}})
            elif kind == "E":
                p, old, new = a
                assert old in self.tree.get(p, ""), (self.key, p, old)
                before = self.tree[p]
                self.tree[p] = before.replace(old, new, 1)
                self.tool("Edit", {"replace_all": False, "file_path": self.path(p),
                                   "old_string": old, "new_string": new},
                          f"The file {self.path(p)} has been updated successfully.",
                          {"filePath": self.path(p), "oldString": old, "newString": new,
                           "originalFile": before, "structuredPatch": [],
                           "userModified": False, "replaceAll": False})
            elif kind == "W":
                p, text = a
                text = text.lstrip("\n")
                self.tree[p] = text
                self.tool("Write", {"file_path": self.path(p), "content": text},
                          f"File created successfully at: {self.path(p)}",
                          {"type": "create", "filePath": self.path(p), "content": text,
                           "structuredPatch": [], "originalFile": None})
            elif kind == "M":
                name, text = a
                self.path_memory(name, text.lstrip("\n"))
            elif kind == "G":
                pat, text = a
                text = text.strip("\n")
                self.tool("Grep", {"pattern": pat, "output_mode": "content", "-n": True},
                          text or "No matches found",
                          {"mode": "content", "numFiles": 0, "filenames": [],
                           "content": text, "numLines": len(text.splitlines())})
            else:
                raise SystemExit(f"unknown step {kind}")
        return "".join(json.dumps(e, ensure_ascii=False, separators=(",", ":")) + "\n" for e in self.out)


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: make.py OUT")
    out = os.path.abspath(sys.argv[1])
    for d in ("work", "home"):
        p = os.path.join(out, d)
        if os.path.exists(p):
            shutil.rmtree(p)
    for mod in REPOS:
        root = os.path.join(out, "work", mod.NAME)
        states = trees(mod)
        write_repo(root, mod, states)
        proj = os.path.join(out, "home", ".claude", "projects", slug(root))
        for spec in mod.SESSIONS:
            s = Session(mod, root, spec, states)
            text = s.run()
            put(os.path.join(proj, s.id + ".jsonl"), text, int(s.t.timestamp()))
        for name, (at, text) in mod.MEMORY.items():
            put(os.path.join(proj, "memory", name), text.lstrip("\n"),
                int(when(at).timestamp()))
    for name, (at, text) in data_home.FILES.items():
        put(os.path.join(out, "home", name), text.lstrip("\n"), int(when(at).timestamp()))


if __name__ == "__main__":
    main()
