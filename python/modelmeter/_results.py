"""Results: the documents of the program as read-only mappings that print well."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _frames
from ._errors import NotWritable, WrongType
from ._frames import Column, Frame


class _ReadOnly(dict):  # type: ignore[type-arg]
    """A part of a document. It is still a `dict`, so that `json.dumps` and others take it."""

    def _refuse(self, *_: object, **__: object) -> Any:
        raise WrongType("a result is read-only", hint="result.to_dict() is a copy")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class _ReadOnlyList(list):  # type: ignore[type-arg]
    """A list of a document."""

    def _refuse(self, *_: object, **__: object) -> Any:
        raise WrongType("a result is read-only", hint="result.to_dict() is a copy")

    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = _refuse
    extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> Any:
        return list, (list(self),)


def _read_only(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _ReadOnly((key, _read_only(one)) for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return _ReadOnlyList(map(_read_only, value))
    return value


def _write(path: str | os.PathLike[str], text: str, newline: str | None = None) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8", newline=newline)
    except TypeError:
        raise WrongType(f"`{path!r}` is not a path", hint='give a name: "result.json"') from None
    except OSError as error:
        raise NotWritable(f"could not write `{os.fspath(path)}`", causes=[str(error)]) from error


class Result(Mapping[str, Any], Frame):
    """A JSON document (docs/schema), with its text for people.

    `result["latency"]["mean"]` reads the document. `print(result)` shows what a terminal shows, a notebook shows tables, and
    `to_pandas()`, `to_polars()` and `to_arrow()` give the rows of its CSV.
    """

    def __init__(self, document: Mapping[str, Any], *, text: str = "", markdown: str = "", csv: str = "") -> None:
        self._document: dict[str, Any] = _read_only(document)
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
            _write(path, text)
        return text

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The rows as CSV, and in a file."""
        if path is not None:
            _write(path, self._csv, newline="")
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

    was_not_stored: bool = False
    """Whether it is only here: measured with `store=False`, or read from a file."""
    database: str | os.PathLike[str] | None = None
    """The database where it is, if that is not the default one."""

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
