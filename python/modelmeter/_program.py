"""Runs the program `modelmeter`, which measures, and hands back what it wrote.

The program is inside the wheel. It is started as a process of its own session, so that Ctrl-C in a terminal reaches Python
first, which then ends it. Nothing of it is left when a call returns: no process, no thread, no file.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from ._errors import Error, ProgramError, from_program

ENDING_TIME = 0.5
"""Seconds that the program has to end after Ctrl-C; it needs some milliseconds."""

_checked: set[str] = set()


class Answer(NamedTuple):
    """What the program gave."""

    document: dict[str, Any]
    text: str
    """As a terminal shows it."""
    markdown: str
    csv: str
    exit_code: int
    remarks: str
    """What it said on standard error."""


def program() -> str:
    """The path of the program: `MODELMETER_PROGRAM`, else the one that was installed with this package.

    Raises:
        ProgramError: if there is none, or if its version is another one.
    """
    path = os.environ.get("MODELMETER_PROGRAM") or _installed()
    if path is None:
        raise ProgramError(
            "the program `modelmeter` is not installed with this package",
            hint="install the wheel again, or set MODELMETER_PROGRAM to the path of the program",
        )
    if path not in _checked:
        _check_version(path)
        _checked.add(path)
    return path


def _installed() -> str | None:
    """The file that the wheel brought, as its own list of files has it; PATH may find another version."""
    from importlib import metadata

    name = "modelmeter.exe" if os.name == "nt" else "modelmeter"
    try:
        files = metadata.files("modelmeter") or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == name and file.parent.name in ("bin", "Scripts"):
            path = str(file.locate())
            if os.access(path, os.X_OK):
                return os.path.realpath(path)
    # `pip install --target` moves scripts, and the list of files still names the old place.
    for file in files:
        if file.name == "_errors.py":
            beside = os.path.join(os.path.dirname(os.path.dirname(str(file.locate()))), "bin", name)
            if os.access(beside, os.X_OK):
                return os.path.realpath(beside)
    return None


def _check_version(path: str) -> None:
    import subprocess

    from . import __version__

    try:
        told = subprocess.run([path, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramError(f"could not start `{path}`", causes=[str(error)]) from error
    version = told.stdout.strip().removeprefix("modelmeter ")
    if told.returncode != 0 or version != __version__:
        raise ProgramError(
            f"`{path}` is version {version or 'unknown'}, this package is {__version__}",
            hint="install both from the same wheel: pip install --force-reinstall modelmeter",
        )


def run(
    arguments: Sequence[str | os.PathLike[str]], *, progress: bool | None = None, has_markdown: bool = True
) -> Answer:
    """Runs a command that has a result, and reads its documents.

    Raises:
        Error: what the program said, as an exception.
    """
    import json
    import tempfile

    with tempfile.TemporaryDirectory(prefix="modelmeter-") as folder:
        files = {kind: os.path.join(folder, f"result.{kind}") for kind in ("json", "md", "csv")}
        outputs = ["--json", files["json"], "--csv", files["csv"]]
        if has_markdown:
            outputs += ["--markdown", files["md"]]
        text, remarks, exit_code = execute([*arguments, *outputs], progress=progress)
        written = os.path.exists(files["json"])
        if exit_code not in (0, 1, 4) or not written:
            raise from_program(remarks, exit_code)
        with open(files["json"], encoding="utf-8") as file:
            document = json.load(file)
        return Answer(document, text, _read(files["md"]), _read(files["csv"]), exit_code, remarks)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def data(arguments: Sequence[str | os.PathLike[str]]) -> str:
    """Standard output of a command that measures nothing."""
    text, remarks, exit_code = execute(arguments, progress=False)
    if exit_code not in (0, 1, 4):
        raise from_program(remarks, exit_code)
    return text


def execute(arguments: Sequence[str | os.PathLike[str]], *, progress: bool | None) -> tuple[str, str, int]:
    """Runs the program to its end: standard output, standard error and exit code."""
    import selectors
    import subprocess

    from ._progress import Progress

    command = [program(), "--color", "never"]
    if "--python" not in arguments and not os.environ.get("MODELMETER_PYTHON") and sys.executable:
        command += ["--python", sys.executable]
    command += [os.fspath(word) for word in arguments]
    told: dict[str, bytearray] = {"out": bytearray(), "error": bytearray()}
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "COLUMNS": os.environ.get("COLUMNS", "100"), **_parent()},
        )
    except OSError as error:
        raise ProgramError(f"could not start `{command[0]}`", causes=[str(error)]) from error
    show = Progress(progress, os.fspath(arguments[0]))
    try:
        with selectors.DefaultSelector() as selector:
            for name, pipe in (("out", child.stdout), ("error", child.stderr)):
                assert pipe is not None
                selector.register(pipe, selectors.EVENT_READ, name)
            while selector.get_map():
                for key, _ in selector.select(0.25):
                    part = os.read(key.fd, 1 << 16)
                    if not part:
                        selector.unregister(key.fileobj)
                    told[key.data] += part
                    if key.data == "error" and part:
                        show.hear(part)
                show.tick()
        exit_code = child.wait()
    except BaseException:
        _end(child)
        raise
    finally:
        show.close()
        for pipe in (child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()
    if exit_code == 130:
        raise KeyboardInterrupt
    return told["out"].decode(errors="replace"), told["error"].decode(errors="replace"), exit_code


def _parent() -> dict[str, str]:
    """Tells the program whom it works for, so that it ends with a kernel that is closed."""
    return {"MODELMETER_PARENT": str(os.getpid())}


def _end(child: Any) -> None:
    """Ends the program and everything that it started; a run in progress is lost, stored ones are not."""
    import subprocess

    if child.poll() is not None:
        return
    for sign in (signal.SIGINT, signal.SIGKILL):
        try:
            if sign == signal.SIGINT:
                child.send_signal(sign)
            else:
                os.killpg(child.pid, sign)
        except (ProcessLookupError, PermissionError):
            pass
        try:
            child.wait(ENDING_TIME)
            return
        except subprocess.TimeoutExpired:
            continue


__all__ = ["Answer", "Error", "data", "execute", "program", "run"]
