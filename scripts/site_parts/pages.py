"""Lays the documents out as MkDocs wants them: one folder of pages, whose links stay within it.

- `lay_out`: copies README, the other documents of the root and `docs` into a folder
- `converted`: a document with links that fit that folder, and with the blank lines that Python-Markdown needs
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Documents of the root, and the names of their pages. Those of `docs` keep their names.
OTHERS = ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY")
ROOT_PAGES = {"README.md": "index.md"} | {f"{name}.md": f"{name.lower()}.md" for name in OTHERS}
FENCE = re.compile(r"^ *(```|~~~)")
# Code, which is left alone, or a link.
LINK = re.compile(r"(?P<code>`+[^`]*`+)|(?P<image>!?)\[(?P<text>(?:`[^`]*`|[^\[\]`])*)\]\((?P<target>[^)\s]+)\)")
ITEM = re.compile(r"^(?:[-*+]|\d+\.) ")


def name_of(path: str) -> str | None:
    """Returns the name in the site of a file of the repository; `None` if the site does not have it."""
    if path in ROOT_PAGES:
        return ROOT_PAGES[path]
    folder, _, name = path.rpartition("/")
    return name if folder == "docs" and (ROOT / path).is_file() else None


def lay_out(folder: Path) -> None:
    for path in [*map(ROOT.joinpath, ROOT_PAGES), *(ROOT / "docs").iterdir()]:
        source = path.relative_to(ROOT).as_posix()
        target = folder / str(name_of(source))
        if path.suffix == ".md":
            target.write_text(converted(path.read_text(encoding="utf-8"), source), encoding="utf-8")
        else:
            shutil.copyfile(path, target)


def converted(text: str, source: str) -> str:
    lines: list[str] = []
    is_fenced = False
    for line in text.split("\n"):
        if FENCE.match(line):
            is_fenced = not is_fenced
        elif not is_fenced:
            before = lines[-1] if lines else ""
            # CommonMark lets a list follow a line of text at once.
            if ITEM.match(line) and before.strip() and not ITEM.match(before) and not before.startswith(" "):
                lines.append("")
            line = LINK.sub(lambda found: _link(found, source), line)
        lines.append(line)
    return "\n".join(lines)


def _link(found: re.Match[str], source: str) -> str:
    """Returns a link whose target is named as in the site. A link to a file that only the repository has becomes its text."""
    target = found["target"]
    if found["code"] or re.match(r"[a-z]+:|#", target):
        return found[0]
    path, hash_sign, anchor = target.partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(source), path))
    name = name_of(path)
    if name is None:
        # MkDocs reports a link that leads nowhere.
        return found["text"] if (ROOT / path).exists() else found[0]
    return f"{found['image']}[{found['text']}]({name}{hash_sign}{anchor})"
