"""The database: stored runs as a sequence and as a table."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from . import _commands, _frames, _program
from ._frames import Column, Frame
from ._options import arguments_of
from ._results import Run


class Runs(Frame):
    """Stored runs, newest first.

    `runs[0]` is a whole run; `to_pandas()`, `to_polars()`, `to_arrow()` and Arrow's stream have a row for each run, with the columns
    of docs/IMPORTS.md (times in seconds) and `samples_ns`.

    Args:
        model: part of the model's name.
        engine, device, precision, mode, tag, branch, commit: only these.
        valid: `True` for valid runs only.
        since: maximum age: `"2h"`, `"7d"`.
        limit: maximum number, the newest; 0 is all.
        db: another database, a file or an address.
    """

    def __init__(
        self,
        *,
        model: str | None = None,
        engine: str | None = None,
        device: str | None = None,
        precision: str | None = None,
        mode: str | None = None,
        tag: str | None = None,
        branch: str | None = None,
        commit: str | None = None,
        valid: bool = False,
        since: str | None = None,
        limit: int = 0,
        db: str | os.PathLike[str] | None = None,
    ) -> None:
        given = {
            "model": model,
            "engine": engine,
            "device": device,
            "precision": precision,
            "mode": mode,
            "tag": tag,
            "branch": branch,
            "commit": commit,
            "valid": valid,
            "since": since,
            "limit": limit,
        }
        self._filter = arguments_of(given)
        self._database = db
        self._db = arguments_of({"db": db})
        self._entries: list[dict[str, Any]] | None = None
        self._table: list[Column] | None = None

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The main numbers of each run (`modelmeter.runs/1`)."""
        if self._entries is None:
            text = _program.data(["runs", "list", "--json", "-", *self._filter, *self._db])
            self._entries = json.loads(text)["runs"]
        return self._entries

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        run = _commands._result(Run, ["runs", "show", self.entries[at]["id"], "--samples", *self._db], False)
        run.database = self._database
        return run

    def __iter__(self) -> Iterator[Run]:
        return (self[place] for place in range(len(self)))

    def _columns(self) -> Iterable[Column]:
        if self._table is None:
            with tempfile.TemporaryDirectory(prefix="modelmeter-") as folder:
                table, whole = (os.path.join(folder, name) for name in ("runs.csv", "runs.jsonl"))
                for file in (table, whole):
                    _program.data(["db", "export", file, *self._filter, *self._db, "--quiet"])
                with open(table, encoding="utf-8", newline="") as rows:
                    columns = _frames.read_csv(rows.read())
                by_name = {name: values for name, _, values in columns}
                ids, phases = by_name.get("run_id", []), by_name.get("latency_phase", [])
                phase_of = dict(zip(ids, phases, strict=True))
                samples: dict[str, list[int] | None] = {}
                with open(whole, encoding="utf-8") as lines:
                    for line in lines:
                        run = json.loads(line)["run"]
                        samples[run["id"]] = _samples(run, phase_of.get(run["id"]))
            self._table = [*columns, ("samples_ns", "integers", [samples.get(identity) for identity in ids])]
        return self._table

    def __repr__(self) -> str:
        text = _program.data(["runs", "list", *self._filter, *self._db])
        return text.rstrip("\n")

    def _repr_html_(self) -> str:
        from . import _markup

        return _markup.fragment(_program.data(["runs", "list", "--markdown", "-", *self._filter, *self._db]))


def _samples(run: dict[str, Any], phase: str | None) -> list[int] | None:
    """The samples of the phase that the other columns are of."""
    by_phase = {series["phase"]: series["nanos"] for series in run.get("samples") or []}
    return by_phase.get(phase) if phase else None
