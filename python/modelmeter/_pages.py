"""Results as pages: those of the program for stored runs, a small one for what was measured in this process."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from . import _markup, _program
from ._errors import NotWritable, UsageError, WrongType
from ._options import arguments_of
from ._results import Result, Run

_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    "<title>modelmeter</title><style>body{{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}}"
    "</style></head><body>{body}</body></html>\n"
)


def write(
    results: Sequence[Result], output_path: str | os.PathLike[str], include_graphs: bool, include_details: bool
) -> Path:
    """Writes a page about these results."""
    if not isinstance(output_path, (str, os.PathLike)):
        raise WrongType(f"the name of a page is text, not {output_path!r}", hint='"profiling_report.html"')
    path = Path(output_path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"`{path}` is not the name of a page", hint=f"{path.with_suffix('.html')}")
    runs = [result for result in results if isinstance(result, Run) and is_stored(result)]
    databases = {run.database for run in runs}
    if len(runs) == len(results) and len(databases) == 1:
        (database,) = databases
        arguments = ["report", *(run.id for run in runs), f"--html={path}", "--quiet", *arguments_of({"db": database})]
        _, told, exit_code = _program.execute(arguments, progress=False)
        if exit_code != 0:
            from ._errors import from_program

            raise from_program(told, exit_code)
        page = path.read_text(encoding="utf-8")
    else:
        page = _PAGE.format(body="".join(result._repr_html_() for result in results))
    if not include_graphs:
        page = re.sub(r"<figure\b.*?</figure>", "", page, flags=re.DOTALL)
    if not include_details:
        page = _without_details(page)
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise NotWritable(f"could not write `{path}`", causes=[str(error)]) from error
    return path


def _without_details(page: str) -> str:
    """Without what is folded, from the innermost outwards."""
    inner = re.compile(r"<details\b(?:(?!<details\b).)*?</details>", re.DOTALL)
    while (shorter := inner.sub("", page)) != page:
        page = shorter
    return page


def is_stored(run: Run) -> bool:
    """Whether the run is in the database."""
    return not run.was_not_stored


__all__ = ["_markup", "is_stored", "write"]
