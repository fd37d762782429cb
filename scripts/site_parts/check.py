"""Tries a site: every link in its files, then every page in a browser, and the search."""

from __future__ import annotations

import functools
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from .pages import ROOT

WIDTHS = (1200, 360)
WORD = "redact"
# The lists of a page in the walk's result that have to be empty.
LISTS = ("failures", "console_errors", "page_errors", "issues", "foreign_requests", "dialogs", "popups", "downloads")


class Links(HTMLParser):
    """The targets and the ids of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.targets.append(value)
            elif name == "id" and value:
                self.ids.add(value)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_) -> None:
        pass


def broken_links(out: Path) -> list[str]:
    # 404.html is shown in the place of other pages: its addresses begin at the root of a server.
    pages = {path.name: Links(path.read_text(encoding="utf-8")) for path in out.glob("*.html") if path.name != "404.html"}
    faults = []
    for page, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            name, anchor = unquote(parts.path) or page, unquote(parts.fragment)
            if parts.scheme or name == ".":
                continue
            if not (out / name).is_file():
                faults.append(f"{page}: no file for {target}")
            elif anchor and name in pages and anchor not in pages[name].ids:
                faults.append(f"{page}: no anchor for {target}")
    return faults


def walked(out: Path, base: str) -> list[dict]:
    """Visits every page in every width, and returns what the walk tells of each."""
    paths = sorted(path.name for path in out.glob("*.html"))
    visits = [{"name": f"{path}-{width}", "path": path, "width": width, "height": 800} for path in paths for width in WIDTHS]
    seen = [{"wait": "#mkdocs-search-results article h3"}, {"see": "Forgetting"}]
    search = {"path": f"search.html?q={WORD}", "height": 800, "steps": seen}
    visits += [{"name": f"search-{width}", "width": width, **search} for width in WIDTHS]
    visits = [{"scheme": "light", "script": True, "axe": False, "steps": [], **visit} for visit in visits]
    job = {"enter": None, "base": base, "out": None, "reference": None, "tolerance": 0, "pages": visits}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "job.json"
        file.write_text(json.dumps(job))
        done = subprocess.run(["node", ROOT / "scripts/browser/walk.mjs", file], stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(done.stdout)
    if result["ended_early"] or len(result["pages"]) != len(visits):
        raise SystemExit(f"site: the walk ended early: {result['ended_early']}")
    if result["left"]:
        raise SystemExit(f"site: the browser wanted to leave this computer: {result['left']}")
    return result["pages"]


def faults_of(page: dict) -> list[str]:
    faults = [f"{page['name']}: {name}: {entry}" for name in LISTS for entry in page[name]]
    if page["status"] != 200:
        faults.append(f"{page['name']}: status {page['status']}")
    if page["scrolls_sideways"]:
        faults.append(f"{page['name']}: wider than the window: {page['sticking_out']}")
    return faults


def run(out: Path) -> int:
    if not (out / "index.html").is_file():
        raise SystemExit(f"site: there is no site in {out}: scripts/site {out}")
    if not os.environ.get("YORE_TEST_BROWSER"):
        raise SystemExit("site: YORE_TEST_BROWSER names no folder (scripts/browser/fetch FOLDER makes one)")
    faults = broken_links(out)
    handler = functools.partial(Quiet, directory=out)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        pages = walked(out, f"http://127.0.0.1:{server.server_port}/")
        server.shutdown()
    faults += [fault for page in pages for fault in faults_of(page)]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"site: {len(pages)} visits, {len(faults)} faults")
    return 1 if faults else 0
