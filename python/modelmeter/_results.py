"""Results: the documents of the program as read-only mappings that print well."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _frames
from ._frames import Column, Frame


class Result(Mapping[str, Any], Frame):
    """A JSON document (docs/schema), with its text for people.

    `result["latency"]["mean"]` reads the document. `print(result)` shows what a terminal shows, a notebook shows tables, and
    `to_pandas()`, `to_polars()` and `to_arrow()` give the rows of its CSV.
    """

    def __init__(self, document: Mapping[str, Any], *, text: str = "", markdown: str = "", csv: str = "") -> None:
        self._document = dict(document)
        self._text = text
        self._markdown = markdown
        self._csv = csv
        self.notes: list[str] = []
        """What else is to be known of it."""

    def __getitem__(self, key: str) -> Any:
        return self._document[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._document)

    def __len__(self) -> int:
        return len(self._document)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self._document == other._document

    __hash__ = None  # type: ignore[assignment]

    @property
    def schema(self) -> str:
        """Which document it is: `modelmeter.run/1`."""
        return str(self._document.get("schema", ""))

    @property
    def verdict(self) -> str:
        """What it comes to, in a few words."""
        return ""

    def to_dict(self) -> dict[str, Any]:
        """The document."""
        return json.loads(json.dumps(self._document))  # type: ignore[no-any-return]

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The document as text, and in a file."""
        text = json.dumps(self._document, indent=2, ensure_ascii=False) + "\n"
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The rows as CSV, and in a file."""
        if path is not None:
            Path(path).write_text(self._csv, encoding="utf-8", newline="")
        return self._csv

    def to_markdown(self) -> str:
        """The result as Markdown."""
        return self._markdown

    def _columns(self) -> Iterable[Column]:
        return _frames.read_csv(self._csv)

    def __str__(self) -> str:
        text = self._text.rstrip("\n") or json.dumps(self._document, indent=2, ensure_ascii=False)
        return "\n".join([text, *(f"- {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return self._markdown or f"```\n{self}\n```"

    def _repr_html_(self) -> str:
        from . import _markup

        if not self._markdown:
            return _markup.preformatted(str(self))
        return _markup.fragment(self._markdown)


class Run(Result):
    """One measured model (`modelmeter.run/1`). Times are in milliseconds, memory in bytes."""

    @property
    def id(self) -> str:
        """The run's name in the database."""
        return str(self["id"])

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self["model"])

    @property
    def is_valid(self) -> bool:
        """Whether the numbers can be trusted; `reasons` says why not."""
        return bool(self["verdict"]["valid"])

    @property
    def reasons(self) -> list[str]:
        """Why it is not valid, and remarks."""
        return [str(reason["text"]) for reason in self["verdict"]["reasons"]]

    @property
    def verdict(self) -> str:
        """`valid` or `not valid`."""
        return "valid" if self.is_valid else "NOT VALID"

    @property
    def samples(self) -> list[int]:
        """The samples of the latency, in nanoseconds, in the order they were taken."""
        found = self.get("samples_ns") or {}
        return list(found.get(self.get("latency_phase", "inference")) or [])

    layer_names: Sequence[str] = ()
    """The kinds and paths that were asked for; none for all."""

    @property
    def layers(self) -> list[dict[str, Any]]:
        """Time by layer, if it was asked for: of the layers that were asked for."""
        from fnmatch import fnmatchcase

        def is_asked(layer: Mapping[str, Any]) -> bool:
            path = str(layer["path"])
            return any(layer["kind"] == name or path == name or fnmatchcase(path, name) for name in self.layer_names)

        layers = list((self.get("layers") or {}).get("layers") or [])
        return [layer for layer in layers if is_asked(layer)] if self.layer_names else layers


class Check(Result):
    """What a gate found (`modelmeter.check/1`)."""

    exit_code = 0

    @property
    def ruling(self) -> str:
        """`held`, `failed` or `cannot tell`."""
        return {0: "held", 1: "failed", 4: "cannot tell"}.get(self.exit_code, "cannot tell")

    @property
    def verdict(self) -> str:
        """The same as `ruling`."""
        return self.ruling

    @property
    def has_held(self) -> bool:
        """Whether every question was answered, and well."""
        return self.exit_code == 0

    @property
    def has_failed(self) -> bool:
        """Whether a regression or a crossed limit was found."""
        return self.exit_code == 1


class Changed(Result):
    """A model that was pruned or quantised (`modelmeter.proof/1`), and where it was written."""

    path: Path = Path()

    def profile(self, **options: Any) -> Run:
        """Measures the changed model; options as those of `modelmeter.profile`."""
        from . import _commands

        measured: Run = _commands.profile(self.path, **options)
        return measured

    def __fspath__(self) -> str:
        return str(self.path)
