"""Rows as tables of other packages: Arrow, pandas, polars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Column = tuple[str, str, list[Any]]
"""Name, kind (`text`, `integer`, `number`, `truth`, `integers`) and values."""

# Columns whose values may look like numbers and are none.
_TEXT = frozenset(
    "id run run_id machine commit branch model hostname cpu gpus tags options fingerprint engine_version source_version".split()
)
_ENDINGS_OF_NUMBERS = ("_seconds", "_per_second", "_share", "_joules", "_coverage")


def read_csv(text: str) -> list[Column]:
    """The columns of a table that the program wrote."""
    import csv
    import io

    rows = list(csv.reader(io.StringIO(text)))
    if not rows:
        return []
    head, *body = rows
    return [_typed(name, [row[at] if at < len(row) else "" for row in body]) for at, name in enumerate(head)]


def _typed(name: str, texts: list[str]) -> Column:
    given = [text for text in texts if text != ""]
    if name not in _TEXT:
        if not given and name.endswith((*_ENDINGS_OF_NUMBERS, "_bytes")):
            kind = "integer" if name.endswith("_bytes") else "number"
            return name, kind, [None] * len(texts)
        if given and all(text in ("true", "false") for text in given):
            return name, "truth", [None if text == "" else text == "true" for text in texts]
        is_measure = name.endswith(_ENDINGS_OF_NUMBERS)
        for kind, read in (("integer", _integer), ("number", _number)):
            # A column of seconds is one of numbers even where all of them are whole.
            if kind == "integer" and is_measure:
                continue
            try:
                values = [None if text == "" else read(text) for text in texts]
            except ValueError:
                continue
            if given:
                return name, kind, values
    return name, "text", [None if text == "" else _unguarded(text) for text in texts]


def _integer(text: str) -> int:
    if not text.lstrip("-").isascii() or not text.lstrip("-").isdigit():
        raise ValueError(text)
    value = int(text)
    if not -(2**63) <= value < 2**63:
        raise ValueError(text)
    return value


def _number(text: str) -> float:
    if not text or text[0].isalpha() or "_" in text:
        raise ValueError(text)
    return float(text)


def _unguarded(text: str) -> str:
    """Without the apostrophe that keeps a spreadsheet from reading text as a formula (docs/IMPORTS.md)."""
    return text[1:] if len(text) > 1 and text[0] == "'" and text[1] in "=+-@\t\r'" else text


def rows_of(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """One mapping for each row."""
    names = [name for name, _, _ in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*(values for _, _, values in columns), strict=True)]


class _Stream:
    """Only a stream: a result is a mapping too, and polars would take it for the columns of a table."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


class Frame:
    """Whatever has columns: Arrow's stream and the tables of pandas and polars."""

    def _columns(self) -> Iterable[Column]:
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow stream, which polars, pyarrow, duckdb and pandas take."""
        from . import _native

        return _native.arrow_stream(list(self._columns()))

    def to_rows(self) -> list[dict[str, Any]]:
        """The rows, each a mapping."""
        return rows_of(list(self._columns()))

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`; needs pyarrow."""
        return _needs("pyarrow").table(_Stream(self))

    def to_polars(self) -> Any:
        """A `polars.DataFrame`; needs polars."""
        return _needs("polars").DataFrame(_Stream(self))

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`; needs pandas."""
        columns = {name: values for name, _, values in self._columns()}
        return _needs("pandas").DataFrame(columns)


def _needs(name: str) -> Any:
    import importlib

    from ._errors import NotSupportedError

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NotSupportedError(f"`{name}` is not installed", hint=f"python -m pip install {name}") from error
