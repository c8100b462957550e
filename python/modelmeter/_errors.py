"""What goes wrong, as exceptions. Each says what happened, why, and what to try next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Error(Exception):
    """The base of every error of this package.

    `message` is one line, `causes` say why, `hint` what to try next, `exit_code` what the program ended with.
    """

    def __init__(
        self, message: str, *, causes: Sequence[str] = (), hint: str | None = None, exit_code: int | None = None
    ) -> None:
        self.message = message
        self.causes: tuple[str, ...] = tuple(causes)
        self.hint = hint
        self.exit_code = exit_code
        lines = [message, *(f"  cause: {cause}" for cause in self.causes)]
        if hint:
            lines.append(f"hint: {hint}")
        self._lines = "\n".join(lines)
        super().__init__(self._lines)

    def __str__(self) -> str:  # KeyError would show quotes around it
        return self._lines

    def __reduce__(self) -> tuple[Any, ...]:  # so that it passes between processes
        return _remake, (type(self), self.message, self.causes, self.hint, self.exit_code)


def _remake(kind: type[Error], message: str, causes: Sequence[str], hint: str | None, exit_code: int | None) -> Error:
    return kind(message, causes=causes, hint=hint, exit_code=exit_code)


class UsageError(Error, ValueError):
    """Something was asked for that cannot be: an unknown model, a bad shape, a missing file."""


class WrongType(UsageError, TypeError):
    """A value of a wrong type."""


class NotFound(UsageError, LookupError):
    """A name or a place that is not there."""


class NotWritable(UsageError, OSError):
    """A file that cannot be written."""


class NotReadable(UsageError, FileNotFoundError):
    """A file that is not there or cannot be read."""


class CannotTell(Error):
    """The question has no answer from what is stored or was measured: measure more, or ask for less."""


class NotSupportedError(Error):
    """This machine cannot: no such device or engine, out of memory, a worker that died, a time limit."""


class ProgramError(Error):
    """The program `modelmeter` is missing, has another version, or ended in a way it should not."""


class BugError(ProgramError):
    """A bug in Modelmeter. Stored runs are safe."""


BY_EXIT_CODE: dict[int, type[Error]] = {2: UsageError, 3: NotSupportedError, 4: CannotTell, 70: BugError}
"""Exit codes that are errors. 0, 1 (a gate failed) and mostly 4 (cannot tell) come with a result."""


def from_program(text: str, exit_code: int) -> Error:
    """The error that the program wrote to standard error."""
    message = ""
    causes: list[str] = []
    details: list[str] = []
    hint = None
    for line in text.splitlines():
        if line.startswith("error: "):
            message, causes, details, hint = line[len("error: ") :], [], [], None
        elif line.startswith("  cause: "):
            causes.append(line[len("  cause: ") :])
        elif line.startswith("hint: "):
            hint = line[len("hint: ") :]
        elif line.startswith("  tip: "):
            # The parser of options says so.
            hint = line[len("  tip: ") :]
        elif line.startswith("Usage: "):
            break
        elif message and line.startswith("  "):
            details.append(line.strip())
    kind = BY_EXIT_CODE.get(exit_code, ProgramError)
    if not message:
        said = [line for line in text.splitlines() if line.strip()][-3:]
        message = f"modelmeter ended with {_ending(exit_code)}"
        causes = said
    return kind(message, causes=[*causes, *details], hint=hint, exit_code=exit_code)


def _ending(exit_code: int) -> str:
    if exit_code >= 0:
        return f"exit code {exit_code}"
    import signal

    try:
        return f"signal {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"signal {-exit_code}"
