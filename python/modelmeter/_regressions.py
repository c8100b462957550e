"""A result held against an earlier one."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ._errors import NotFound, NotReadable, UsageError, WrongType
from ._results import Result, Run

DRIFT = 0.30
"""Machines drift by tens of percent within minutes: the allowance of a single stored run (docs/CI.md)."""
ALERT = 0.03

# Settings that make another cell of a run.
_CELL = ("model", "engine", "device", "precision", "batch_size", "sequence_length", "mode", "threads", "name")


class Regression(NamedTuple):
    """A metric that is worse, beyond chance and drift."""

    metric: str
    baseline: float
    current: float
    change: float
    """0.5 is half as much again."""

    def __str__(self) -> str:
        return f"{self.metric} {self.baseline:.4g} → {self.current:.4g} ({self.change:+.0%})"


class Regressions(Sequence[Regression]):
    """What got worse; empty, so false, if nothing did. `unclear` lists what drift may explain."""

    def __init__(self, found: Sequence[Regression], unclear: Sequence[Regression]) -> None:
        self._found = list(found)
        self.unclear: list[Regression] = list(unclear)

    def __getitem__(self, at: Any) -> Any:
        return self._found[at]

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        parts = [str(one) for one in self._found]
        if self.unclear:
            parts.append("cannot tell: " + ", ".join(map(str, self.unclear)))
        return "; ".join(parts) or "no regressions"


def load_baseline(path: str | os.PathLike[str]) -> Result:
    """Reads a result that `export_json`, `to_json` or `modelmeter profile --json` wrote."""
    if not isinstance(path, (str, os.PathLike)):
        raise WrongType(f"the name of a baseline is text, not {path!r}", hint='load_baseline("baseline.json")')
    file = Path(path)
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotReadable(f"`{file}` does not exist", hint=f'write it first: profiler.export_json("{file}")') from None
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"`{file}` is not a baseline", causes=[str(error)]) from error
    if not isinstance(document, dict) or not isinstance(document.get("latency"), dict):
        raise UsageError(f"`{file}` is not a baseline: it has no latency", hint="profiler.export_json writes one")
    if document.get("schema") != "modelmeter.run/1":
        return Result(document, csv=_csv(document))
    run = Run(document, csv=_csv(document))
    # It may be of another machine: only the file is known.
    run.was_not_stored = True
    return run


def _csv(document: Mapping[str, Any]) -> str:
    """The main numbers as one row. Only the program writes all columns; it does so for stored runs."""
    row: dict[str, Any] = {
        key: value
        for key, value in document.items()
        if isinstance(value, (str, int, float)) and key not in ("schema", "samples_ns")
    }
    for part in ("latency", "throughput", "memory"):
        for key, value in (document.get(part) or {}).items():
            if isinstance(value, (int, float)) or (key == "unit" and part != "latency"):
                row[f"{part}_{key}{'_ms' if part == 'latency' and isinstance(value, float) else ''}"] = value
    row["valid"] = (document.get("verdict") or {}).get("valid")
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(row)
    writer.writerow(str(value).lower() if isinstance(value, bool) else value for value in row.values())
    return text.getvalue()


def detect_regressions(
    baseline: Mapping[str, Any], current: Mapping[str, Any], *, alert: float = ALERT, allowance: float = DRIFT
) -> Regressions:
    """Metrics that are worse than in the baseline: median latency and peak memory.

    Two runs that were measured at different times differ by drift of the machine. A time counts as a regression if the near end
    of its 95 % interval is above the far end of the baseline's by more than `allowance`; memory does not drift, there it is
    `alert`. What lies between is in `unclear`. A sharper answer: `modelmeter.check(new, against=old)`, interleaved.
    """
    for name, result in (("baseline", baseline), ("current result", current)):
        if not isinstance(result, Mapping):
            raise WrongType(
                f"the {name} is not a result but a {type(result).__name__}", hint='load_baseline("baseline.json")'
            )
        if not isinstance(result.get("latency"), Mapping) or not {"median", "ci95"} <= set(result["latency"]):
            raise NotFound(
                f"the {name} has no latency with a median and an interval", hint="profiler.export_json writes one"
            )
    different = [key for key in _CELL if key in baseline and key in current and baseline[key] != current[key]]
    if different:
        key = different[0]
        raise UsageError(
            f"these are two different cells: {key} is {baseline[key]!r} in the baseline and {current[key]!r} now",
            hint="measure with the settings of the baseline",
        )
    found, unclear = [], []
    before, now = baseline["latency"], current["latency"]
    for metric, low, high, limit in (
        ("latency.median", now["ci95"]["low"], before["ci95"]["high"], allowance),
        ("memory.peak", _peak(current), _peak(baseline), alert),
    ):
        values = (before["median"], now["median"]) if metric == "latency.median" else (high, low)
        if not all(values) or not high or not low:
            continue
        change = values[1] / values[0] - 1
        regression = Regression(metric, float(values[0]), float(values[1]), change)
        same_machine = _machine(baseline) == _machine(current)
        if low / high - 1 > limit and (same_machine or metric == "memory.peak"):
            found.append(regression)
        elif change > alert:
            unclear.append(regression)
    return Regressions(found, unclear)


def _peak(result: Mapping[str, Any]) -> Any:
    return (result.get("memory") or {}).get("peak")


def _machine(result: Mapping[str, Any]) -> Any:
    return ((result.get("environment") or {}).get("machine") or {}).get("key")
