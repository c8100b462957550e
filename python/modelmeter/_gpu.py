"""What a GPU did during a measurement, out of the trace that the program writes."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from . import _program
from ._errors import NotSupportedError
from ._results import Run


def needs_gpu(device: str) -> None:
    """Refuses a machine without the device."""
    found = json.loads(_program.data(["devices", "--json", "-"]))["devices"]
    kind = device.partition(":")[0]
    entries = [entry for entry in found if str(entry["device"]).partition(":")[0] == kind]
    if not any(entry["available"] for entry in entries):
        why = [str(entry.get("note") or "") for entry in entries]
        raise NotSupportedError(
            f"this machine has no `{device}` to profile: gpu_profile needs an NVIDIA GPU",
            causes=[text for text in why if text],
            hint="`modelmeter devices` says what is here; memory_profile and profile_layers work on the cpu",
        )


@contextmanager
def trace() -> Iterator[str]:
    """The path of a trace, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="modelmeter-") as folder:
        yield os.path.join(folder, "gpu.json")


def with_events(run: Any, path: str, parts: Mapping[str, bool]) -> Any:
    """The run with `gpu_profile`: kernels and copies by name, times in milliseconds."""
    if not os.path.exists(path):
        raise NotSupportedError(
            f"engine `{run['engine']}` cannot record what the GPU does", hint='ModelProfiler(..., engine="torch")'
        )
    with open(path, encoding="utf-8") as file:
        written = json.load(file)
    events = written["traceEvents"] if isinstance(written, dict) else written
    tables: dict[str, dict[str, dict[str, Any]]] = {"kernels": {}, "copies": {}}
    for event in events:
        category = str(event.get("cat", "")).lower()
        if event.get("ph") != "X":
            continue
        table = "copies" if "mem" in category or "copy" in category else "kernels" if "kernel" in category else None
        if table is None:
            continue
        row = tables[table].setdefault(event["name"], {"name": event["name"], "count": 0, "time": 0.0})
        row["count"] += 1
        row["time"] += event.get("dur", 0) / 1e3
    found: dict[str, Any] = {"unit": "ms"}
    for name, rows in tables.items():
        if parts[name]:
            found[name] = sorted(rows.values(), key=lambda row: -row["time"])
    if parts["ranges"]:
        found["ranges"] = run.layers
    result = Run({**run, "gpu_profile": found}, text=str(run), markdown=run.to_markdown(), csv=run.to_csv())
    result.notes.extend(run.notes)
    result.was_not_stored, result.database = run.was_not_stored, run.database
    return result
