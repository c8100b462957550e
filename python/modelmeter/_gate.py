"""The gate of the pytest plugin: two revisions of a test, interleaved in fresh processes.

A round is one process of each revision, alive at the same time, taking turns: A B, B A, … . The round is the unit of the
statistics, because samples of one process share its luck. Looks after a quarter, a half and all of the rounds each have a third
of the accepted chance of a false alarm, which all tests of a run share.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ._errors import Error, UsageError

FALSE_ALARM = 0.01
LOOKS = 3
TURN = 0.02
CALLS = 3
SWEEPS = 10
PATIENCE = 120.0
"""Seconds that a process may take until its test calls the fixture."""
DRIFT = 0.30
"""What a machine drifts between two sessions (docs/CI.md)."""
WAITING = 0.05
"""A thread that waited longer for a processor was disturbed (docs/MEASUREMENT.md)."""


class Ruling(NamedTuple):
    """What a gate says."""

    word: str
    """`held`, `failed`, `cannot tell` or `new`."""
    words: str
    ratio: float | None = None
    """Time now ÷ time of the baseline."""


class Tree:
    """The files of another revision in a folder of their own."""

    def __init__(self, revision: str, root: Path) -> None:
        try:
            top = _git(root, "rev-parse", "--show-toplevel").decode().strip()
            commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}")
        except (OSError, subprocess.CalledProcessError) as error:
            raise UsageError(
                f"`{revision}` is neither a file nor a revision of this repository",
                hint="--modelmeter-against main, or a file of --modelmeter-store",
            ) from error
        self.name = revision
        self.top = Path(top).resolve()
        self.root = root.resolve()
        self.options: list[str] = []
        """What both sides are told besides the test."""
        self._folder = tempfile.TemporaryDirectory(prefix="modelmeter-base-")
        self.base = Path(self._folder.name).resolve()
        archive = self.base / ".tar"
        _git(self.top, "archive", "--format=tar", f"--output={archive}", commit.decode().strip())
        import tarfile

        with tarfile.open(archive) as files:
            if hasattr(tarfile, "data_filter"):
                files.extractall(self.base, filter="tar")
            else:
                files.extractall(self.base)
        archive.unlink()

    def there(self, path: Path) -> Path:
        """A path of this revision, in the other one."""
        return self.base / path.relative_to(self.top)

    def remove(self) -> None:
        """Removes the files."""
        self._folder.cleanup()


def _git(folder: Path, *words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True).stdout


# Options of a session that its children must not have: those that choose tests, write files, stop for questions or move the root.
_NOT_FOR_CHILDREN = frozenset(
    "--modelmeter-against --modelmeter-store --modelmeter-alert --modelmeter-rounds --junitxml --junit-xml --html --report-log "
    "--json-report-file --log-file --basetemp --rootdir --confcutdir --deselect --lfnf --pdbcls".split()
)
_FLAGS_NOT_FOR_CHILDREN = frozenset(
    "--modelmeter-strict --pdb --trace --lf --last-failed --ff --failed-first --nf --new-first --sw --stepwise --stepwise-skip "
    "--cache-clear --co --collect-only".split()
)


def options_for_children(words: Sequence[str], positional: Sequence[str]) -> list[str]:
    """The options of the session without its tests: a test that needs one would be skipped, or fail, without it."""
    kept: list[str] = []
    is_value = False
    for word in words:
        name, _, value = word.partition("=")
        if is_value:
            is_value = False
        elif name in _NOT_FOR_CHILDREN:
            is_value = not value
        elif name not in _FLAGS_NOT_FOR_CHILDREN and word not in positional:
            kept.append(word)
    return kept


def loaded_modules() -> dict[str, str]:
    """The files of the modules of this process."""
    found = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    return {name: os.path.realpath(file) for name, file in found.items() if isinstance(file, str)}


def same_code(tree: Tree, base: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Why a comparison would run the same code on both sides: an installed package that both import."""
    own = _names_of(tree.base)
    for name, file in sorted(base.items()):
        path = Path(file)
        is_ours = path.is_relative_to(tree.top) and not path.is_relative_to(tree.base)
        if is_ours and not {"site-packages", "dist-packages"} & set(path.parts):
            return f"{tree.name} imports `{name}` from `{file}`, which is the code of now"
        if name.partition(".")[0] in own and now.get(name) == file:
            return f"both sides import `{name}` from `{file}`, which is of neither revision"
    return None


def _names_of(base: Path) -> set[str]:
    """The packages and modules of a tree that can be imported, where trees have them."""
    names: set[str] = set()
    for folder in (base, base / "src", base / "python", base / "lib"):
        if folder.is_dir():
            names |= {entry.parent.name for entry in folder.glob("*/__init__.py")}
            names |= {entry.stem for entry in folder.glob("*.py")}
    return names - set(sys.stdlib_module_names) - {"tests", "conftest", "setup"}


def serve_turns(address: str, call: Callable[[], object]) -> None:
    """In a process of a round: calls the function as often as it is told to."""
    from multiprocessing.connection import Client

    from ._clock import clock_of

    key = bytes.fromhex(os.environ["MODELMETER_PYTEST_KEY"])
    with Client(address, "AF_UNIX", authkey=key) as line:
        clock = clock_of()
        line.send(("ready", loaded_modules()))
        while line.recv() == "turn":
            # The other side replaced the contents of the caches: the first call is not counted.
            call()
            pairs: list[tuple[Any, Any]] = []
            begin = time.perf_counter()
            while len(pairs) < CALLS or time.perf_counter() - begin < TURN:
                start = clock.mark()
                call()
                pairs.append((start, clock.mark()))
            line.send(clock.between(pairs))


class Side:
    """A process of a round."""

    def __init__(self, tree: Tree, test: str, is_base: bool) -> None:
        import secrets
        from multiprocessing.connection import Listener

        self._folder = tempfile.TemporaryDirectory(prefix="modelmeter-")
        address = os.path.join(self._folder.name, "turns")
        key = secrets.token_bytes(16)
        self._listener = Listener(address, "AF_UNIX", authkey=key)
        root = tree.there(tree.root) if is_base else tree.root
        environment = {
            **os.environ,
            "PYTHONPATH": _paths(tree, is_base),
            "PYTHONDONTWRITEBYTECODE": "1",
            "MODELMETER_PYTEST_TURNS": address,
            "MODELMETER_PYTEST_KEY": key.hex(),
        }
        # The folder of the session's cache is left alone; without any, options about it would be unknown.
        cache = os.path.join(self._folder.name, "cache")
        options = [word.replace(str(tree.top), str(tree.base)) if is_base else word for word in tree.options]
        command = [sys.executable, "-m", "pytest", test, *options, "-q", "-o", "addopts=", "-o", f"cache_dir={cache}"]
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command, cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=self._said, stderr=subprocess.STDOUT
        )
        self._line: Any = None
        self.modules: dict[str, str] = {}

    def wait(self) -> bool:
        """Waits until the test calls the fixture; `False` if it ended before."""
        listener: Any = self._listener
        socket = listener._listener._socket
        socket.settimeout(0.05)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                self._line = listener.accept()
            except TimeoutError:
                if self._process.poll() is not None:
                    return False
                continue
            try:
                word, self.modules = self._line.recv()
            except EOFError:
                return False
            return bool(word == "ready")
        raise Error(f"the test did not call the fixture within {PATIENCE:.0f} s")

    def turn(self) -> list[int]:
        """One turn's times."""
        self._line.send("turn")
        try:
            return list(self._line.recv())
        except EOFError:
            raise Error("the test ended while it was timed", causes=self.said()[-3:]) from None

    def said(self) -> list[str]:
        """What pytest wrote."""
        self._said.seek(0)
        return [line for line in self._said.read().decode(errors="replace").splitlines() if line.strip()]

    def end(self) -> None:
        """Ends the process."""
        try:
            if self._line is not None:
                self._line.send("end")
                self._line.close()
                self._process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            pass
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._listener.close()
        self._said.close()
        self._folder.cleanup()


def _paths(tree: Tree, is_base: bool) -> str:
    """Where modules are found: the same folders, of the other revision for the baseline."""
    folders = []
    for entry in sys.path:
        path = Path(entry or ".").resolve()
        if not path.is_dir() or not path.is_relative_to(tree.top) or "site-packages" in path.parts:
            continue
        folders.append(str(tree.there(path) if is_base else path))
    for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        # What is of this revision is not for the other one; its own folder of that name is there already.
        is_ours = os.path.isabs(entry) and Path(entry).resolve().is_relative_to(tree.top)
        if entry and not (is_base and is_ours and "site-packages" not in entry):
            folders.append(entry)
    return os.pathsep.join(folders)


def against_tree(tree: Tree, test: str, alert: float, rounds: int, tests: int) -> Ruling:
    """Rounds of fresh processes until it is answered."""
    from . import _native

    looks = sorted({max(2, rounds // 4), max(2, rounds // 2), rounds})
    miss = FALSE_ALARM / len(looks) / tests
    values: list[float] = []
    judged = None
    while len(values) < rounds:
        value = _round(tree, test, len(values) % 2 == 1)
        if value is None:
            return Ruling("new", f"{tree.name} has no such test: nothing to compare with")
        values.append(value)
        if len(values) not in looks:
            continue
        judged = _native.judge(values, alert, miss)
        if judged is None:
            continue
        ratio, low, high = judged[:3]
        if (low > 1 and ratio >= 1 + alert) or high < 1 + alert:
            break
    assert judged is not None
    return _ruled(tree.name, judged, len(values), alert)


def _ruled(
    name: str, judged: tuple[float, float, float, float, float, int | None], rounds: int, alert: float
) -> Ruling:
    ratio, low, high, _, detectable, units = judged
    change = f"{ratio - 1:+.1%} [{low - 1:+.1%}, {high - 1:+.1%}] against {name}, {rounds} processes per side, alert {alert:.1%}"
    if low > 1 and ratio >= 1 + alert:
        return Ruling("failed", f"slower by {change}", ratio)
    if high < 1 + alert:
        return Ruling("held", change, ratio)
    more = (
        f"--modelmeter-rounds {units}"
        if units is not None and units > rounds
        else f"a change of {detectable:.0%} would be seen"
    )
    return Ruling("cannot tell", f"{change}; {more}", ratio)


def _round(tree: Tree, test: str, base_first: bool) -> float | None:
    """The logarithm of time now ÷ time of the baseline in one process of each."""
    from . import _native

    base = Side(tree, test, True)
    try:
        now = Side(tree, test, False)
    except BaseException:
        base.end()
        raise
    try:
        has_base, has_now = base.wait(), now.wait()
        if not has_now:
            raise Error(
                "the test does not run by itself: it is skipped, fails or never calls the fixture",
                causes=now.said()[-5:],
                hint=f"python -m pytest {test}",
            )
        if not has_base:
            if _is_not_found(base.said()):
                return None
            raise Error(f"the test does not run in {tree.name}: it is skipped or fails there", causes=base.said()[-5:])
        if why := same_code(tree, base.modules, now.modules):
            raise UsageError(
                f"nothing to compare: {why}",
                hint="put the folder of the sources on the path (`pythonpath` of pytest's settings), not the installed package",
            )
        for side in (base, now):
            side.turn()
        ratios = []
        for sweep in range(SWEEPS):
            first = base if (sweep % 2 == 0) == base_first else now
            times = {first: first.turn()}
            second = now if first is base else base
            times[second] = second.turn()
            ratio = _native.log_ratio(times[base], times[now])
            if ratio is not None:
                ratios.append(ratio)
        ratios.sort()
        middle = len(ratios) // 2
        return (ratios[middle] + ratios[-middle - 1]) / 2 if ratios else 0.0
    finally:
        base.end()
        now.end()


def _is_not_found(said: Sequence[str]) -> bool:
    """Whether pytest says that there is no such test, as opposed to one that cannot run."""
    return any(
        line.startswith(("ERROR: not found: ", "ERROR: file or directory not found: ")) for line in said
    ) and not any(line.startswith("ERROR ") or "ERROR collecting" in line for line in said)


def waited() -> int | None:
    """Nanoseconds that this thread was ready without a processor, by the kernel's own account; None if it keeps none."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None


def waiting_share(before: int | None, after: int | None, seconds: float) -> float:
    """The share of a time in which a thread waited for a processor; 0 where nobody knows."""
    return 0.0 if before is None or after is None or seconds <= 0 else (after - before) / 1e9 / seconds


def against_samples(stored: list[int] | None, samples: list[int], alert: float, waiting: float = 0.0) -> Ruling:
    """Times of another session, which drift may explain up to a point; `waiting` is the share without a processor."""
    from ._measure import latency_of

    if not stored:
        return Ruling("new", "the file has no such test: nothing to compare with")
    if waiting > WAITING:
        return Ruling(
            "cannot tell",
            f"the machine is too busy: other programs kept the test waiting {waiting:.0%} of the time; stop them",
        )
    before, now = latency_of(stored), latency_of(samples)
    ratio = now["median"] / before["median"]
    low, high = now["ci95"]["low"] / before["ci95"]["high"], now["ci95"]["high"] / before["ci95"]["low"]
    change = f"{ratio - 1:+.1%} [{low - 1:+.1%}, {high - 1:+.1%}] against a stored session, which drift of {DRIFT:.0%} may explain"
    if low > (1 + alert) * (1 + DRIFT):
        return Ruling("failed", f"slower by {change}", ratio)
    if high * (1 + DRIFT) < 1 + alert:
        return Ruling("held", change, ratio)
    return Ruling("cannot tell", f"{change}; --modelmeter-against REV sees a few percent", ratio)
