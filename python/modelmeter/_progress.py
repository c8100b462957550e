"""Progress of a call: a line in a terminal, a line under the cell of a notebook, nothing elsewhere."""

from __future__ import annotations

import shutil
import sys
import time

INTERVAL = 0.25
"""Four times per second is enough to look alive; the worker shares the processors."""
PATIENCE = 1.0
"""Calls that end within a second show nothing."""


class Progress:
    """`wanted` is `None` for: where somebody looks."""

    def __init__(self, wanted: bool | None, what: str) -> None:
        self._what = what
        self._began = time.monotonic()
        self._shown = 0.0
        self._line = ""
        self._rest = b""
        self._drawn = 0
        self._display = None
        self._kind = "none" if wanted is False else _kind(bool(wanted))

    def hear(self, part: bytes) -> None:
        """Takes what the program wrote; the last whole line is shown."""
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            text = line.decode(errors="replace").strip()
            if text:
                self._line = text

    def tick(self) -> None:
        """Draws, if it is time to."""
        now = time.monotonic()
        if self._kind == "none" or now - self._began < PATIENCE or now - self._shown < INTERVAL:
            return
        self._shown = now
        text = f"modelmeter {self._what} · {now - self._began:.0f} s"
        if self._line:
            text += f" · {self._line}"
        if self._kind == "notebook":
            self._in_notebook(text)
        else:
            # A line that wraps could not be drawn over.
            text = text[: max(20, shutil.get_terminal_size((80, 24)).columns - 1)]
            sys.stderr.write("\r" + text.ljust(self._drawn))
            sys.stderr.flush()
            self._drawn = len(text)

    def close(self) -> None:
        """Removes what was drawn."""
        if self._display is not None:
            self._in_notebook("")
        elif self._drawn:
            sys.stderr.write("\r" + " " * self._drawn + "\r")
            sys.stderr.flush()

    def _in_notebook(self, text: str) -> None:
        from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

        shown = {"text/plain": text}
        if self._display is None:
            self._display = display(shown, raw=True, display_id=True)
        else:
            self._display.update(shown, raw=True)


def _kind(wanted: bool) -> str:
    shell = sys.modules.get("IPython")
    if shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None:
        return "notebook"
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return "terminal" if wanted or is_terminal else "none"
