"""The trial's table.

- `Row`: one agent and its verdicts
- `as_markdown`, `as_json`: all of them
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .checks import CELLS, FAILED, IMPOSSIBLE, OK, Verdict


@dataclass
class Row:
    """How one agent was served."""

    title: str
    version: str
    seconds: float
    verdicts: dict[str, list[Verdict]]

    def failed(self) -> list[tuple[str, Verdict]]:
        return self._with(FAILED)

    def impossible(self) -> list[tuple[str, Verdict]]:
        return self._with(IMPOSSIBLE)

    def _with(self, outcome: str) -> list[tuple[str, Verdict]]:
        return [(cell, verdict) for cell, verdicts in self.verdicts.items() for verdict in verdicts if verdict.outcome == outcome]

    def outcome(self, cell: str) -> str:
        """Of a cell: failed if any check failed, impossible if any is, else ok."""
        outcomes = {verdict.outcome for verdict in self.verdicts.get(cell, [])}
        return next((outcome for outcome in (FAILED, IMPOSSIBLE, OK) if outcome in outcomes), "")

    def told(self) -> str:
        """A few lines about it."""
        lines = [f"{self.title} {self.version}, {self.seconds:.0f} s: {len(self.failed())} failed, {len(self.impossible())} impossible"]
        lines += [f"  failed: {cell}/{verdict.check}: {verdict.detail}" for cell, verdict in self.failed()]
        return "\n".join(lines)


def as_markdown(rows: list[Row], left_out: list[tuple[str, str]]) -> str:
    """The table, then what is impossible and why, what failed, and what was left out."""
    columns = list(dict.fromkeys(cell for row in rows for cell in row.verdicts)) or list(CELLS)
    lines = ["| agent | " + " | ".join(columns) + " |", "| --- |" + " --- |" * len(columns)]
    notes: list[str] = []
    for row in rows:
        cells = []
        for cell in columns:
            outcome = row.outcome(cell)
            if outcome == IMPOSSIBLE:
                for _, verdict in (found for found in row.impossible() if found[0] == cell):
                    if verdict.detail not in notes:
                        notes.append(verdict.detail)
                numbers = {str(notes.index(verdict.detail) + 1) for found, verdict in row.impossible() if found == cell}
                outcome = f"impossible ({', '.join(sorted(numbers, key=int))})"
            cells.append(f"**{outcome}**" if outcome == FAILED else outcome)
        lines.append(f"| {row.title} {row.version} | " + " | ".join(cells) + " |")
    lines += ["", *(f"{number}. {note}" for number, note in enumerate(notes, 1))]
    failed = [f"- {row.title}, {cell}/{verdict.check}: {verdict.detail}" for row in rows for cell, verdict in row.failed()]
    if failed:
        lines += ["", "Failed:", "", *failed]
    if left_out:
        lines += ["", "Left out:", "", *(f"- {name}: {why}" for name, why in left_out)]
    return "\n".join(lines) + "\n"


def as_json(rows: list[Row], left_out: list[tuple[str, str]]) -> dict[str, Any]:
    """The same for programs."""
    agents = [
        {
            "agent": row.title,
            "version": row.version,
            "seconds": round(row.seconds, 1),
            "cells": {
                cell: {verdict.check: {"outcome": verdict.outcome, "detail": verdict.detail, "was_met": verdict.was_met} for verdict in verdicts}
                for cell, verdicts in row.verdicts.items()
            },
        }
        for row in rows
    ]
    return {"agents": agents, "left_out": dict(left_out)}
