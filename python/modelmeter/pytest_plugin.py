"""A fixture for pytest that times a function, and a gate: held, failed or cannot tell.

```python
def test_encode(modelmeter):
    modelmeter(encode, "some text")
```

`pytest --modelmeter-against main` compares with another revision, interleaved, in fresh processes of both. A test fails only if
it is slower beyond chance; "cannot tell" is reported.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from ._gate import Ruling
    from ._measure import Measurement

T = TypeVar("T")

ALERT = 0.03
"""The smallest slow-down that fails, if nothing else is said: as `modelmeter check` has it."""
ROUNDS = 12
SECONDS = 0.5
LEAST_SAMPLES = 11
MOST_SECONDS = 10.0
FILE_SCHEMA = "modelmeter.pytest/1"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("modelmeter", "timing with modelmeter")
    group.addoption(
        "--modelmeter-against",
        metavar="REV|FILE",
        help="Compare with this revision, interleaved, or with a file of --modelmeter-store",
    )
    group.addoption("--modelmeter-store", metavar="FILE", help="Write the times to this file")
    group.addoption(
        "--modelmeter-alert",
        type=float,
        default=ALERT,
        metavar="SHARE",
        help="Smallest slow-down that fails [default: 0.03]",
    )
    group.addoption(
        "--modelmeter-rounds",
        type=int,
        default=ROUNDS,
        metavar="N",
        help="Fresh processes per side, at most [default: 12]",
    )
    group.addoption("--modelmeter-strict", action="store_true", help='Treat "cannot tell" as a failure')


def pytest_configure(config: pytest.Config) -> None:
    """Refuses what could not be believed before anything runs."""
    config.addinivalue_line("markers", "modelmeter(max_slowdown): the slow-down that this test may have: 0.1 is 10 %")
    config.stash[_SESSION] = session = _Session(config)
    against = config.getoption("--modelmeter-against")
    if against and _is_distributed(config):
        raise pytest.UsageError(
            "--modelmeter-against times nothing under xdist: tests beside each other share the processors; run without -n"
        )
    if config.getoption("--modelmeter-rounds") < 2:
        raise pytest.UsageError("--modelmeter-rounds must be at least 2: one process says nothing of the next")
    if against and not hasattr(config, "workerinput"):
        session.open_baseline(against)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The chance of a false alarm is shared out among the tests that are timed."""
    config.stash[_SESSION].tests = max(1, sum("modelmeter" in getattr(item, "fixturenames", ()) for item in items))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leaves nothing."""
    session = config.stash.get(_SESSION, None)
    if session is not None:
        session.close()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The times and the rulings."""
    session = config.stash[_SESSION]
    if not session.rows:
        return
    terminalreporter.section("modelmeter")
    width = max(len(row[0]) for row in session.rows)
    for name, measurement, ruling, words in session.rows:
        latency = measurement["latency"]
        mark = "" if measurement.is_valid else "  (too few samples)"
        terminalreporter.write_line(f"{name:<{width}}  median {latency['median']:.4g} ms  n {latency['samples']}{mark}")
        if ruling:
            terminalreporter.write_line(f"{'':<{width}}  {ruling}: {words}")
    for note in session.notes:
        terminalreporter.write_line(note)


class _Session:
    """What one run of pytest has timed, and what it compares with."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.rows: list[tuple[str, Measurement, str, str]] = []
        self.notes: list[str] = []
        self.tests = 1
        self.tree: Any = None
        self.stored: dict[str, list[int]] = {}
        self.samples: dict[str, list[int]] = {}

    def open_baseline(self, against: str) -> None:
        from ._errors import Error
        from ._gate import Tree, options_for_children

        path = Path(against)
        if path.is_file():
            try:
                document = json.loads(path.read_text(encoding="utf-8"))
                self.stored = {name: list(times) for name, times in document["samples_ns"].items()}
            except (ValueError, KeyError, AttributeError, TypeError, OSError) as error:
                raise pytest.UsageError(
                    f"`{against}` is not a file of --modelmeter-store: {type(error).__name__}: {error}"
                ) from error
            return
        try:
            self.tree = Tree(against, self.config.rootpath)
            words = [*self.config.getini("addopts"), *map(str, self.config.invocation_params.args)]
            positional = [str(word) for word in getattr(self.config.option, "file_or_dir", None) or ()]
            self.tree.options = options_for_children(words, positional)
            if self.config.pluginmanager.hasplugin("_cov"):
                self.tree.options.append("--no-cov")
        except Error as error:
            raise pytest.UsageError(str(error)) from error

    def close(self) -> None:
        if self.tree is not None:
            self.tree.remove()
        store = self.config.getoption("--modelmeter-store", None)
        if store and self.samples:
            document = {"schema": FILE_SCHEMA, "samples_ns": self.samples}
            Path(store).write_text(json.dumps(document) + "\n", encoding="utf-8")


_SESSION = pytest.StashKey[_Session]()


def _is_distributed(config: pytest.Config) -> bool:
    if hasattr(config, "workerinput"):
        return True
    return getattr(config.option, "dist", "no") != "no" or bool(getattr(config.option, "numprocesses", None))


class Benchmark:
    """The fixture: `modelmeter(function, *args, **kwargs)` times the function and returns what it returns."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._session = request.config.stash[_SESSION]
        self._is_used = False
        self.measurement: Measurement | None = None
        """What was measured."""
        self.ruling: Ruling | None = None
        """What the gate said, if there is a baseline."""
        self.waited = 0.0
        """Share of the time in which the test was ready and had no processor."""

    def __call__(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Times a function. One in a test."""
        if self._is_used:
            pytest.fail("the fixture `modelmeter` times one function in a test: make another test", pytrace=False)
        self._is_used = True
        if not callable(function):
            pytest.fail(
                f"`modelmeter` takes a function, not {type(function).__name__}: modelmeter(f, x)", pytrace=False
            )
        result = function(*args, **kwargs)

        def call() -> None:
            function(*args, **kwargs)

        address = os.environ.get("MODELMETER_PYTEST_TURNS")
        if address:
            from ._gate import serve_turns

            serve_turns(address, call)
            return result
        name = self._request.node.nodeid
        if _is_distributed(self._request.config):
            self._request.node.warn(
                pytest.PytestWarning(
                    "modelmeter times nothing under xdist: tests beside each other share the processors"
                )
            )
            return result
        self._time(name, call)
        self._gate(name)
        return result

    def _time(self, name: str, call: Callable[[], object]) -> None:
        from . import _gate
        from ._clock import clock_of, peak_memory
        from ._measure import measurement

        clock = clock_of()
        samples: list[int] = []
        begin, waited = time.monotonic(), _gate.waited()
        while True:
            pairs: list[tuple[Any, Any]] = []
            window = time.monotonic()
            while not pairs or time.monotonic() - window < 0.05:
                start = clock.mark()
                call()
                pairs.append((start, clock.mark()))
            samples += clock.between(pairs)
            elapsed = time.monotonic() - begin
            if (elapsed >= SECONDS and len(samples) >= LEAST_SAMPLES) or elapsed >= MOST_SECONDS:
                break
        self.waited = _gate.waiting_share(waited, _gate.waited(), time.monotonic() - begin)
        self.measurement = measurement(name, clock.name, samples, [], peak_memory(clock))
        self._session.samples[name] = samples

    def _gate(self, name: str) -> None:
        session, config = self._session, self._request.config
        assert self.measurement is not None
        marker = self._request.node.get_closest_marker("modelmeter")
        alert = marker.kwargs.get("max_slowdown") if marker is not None else None
        alert = config.getoption("--modelmeter-alert") if alert is None else float(alert)
        from . import _gate
        from ._errors import Error

        if session.tree is not None:
            rounds = config.getoption("--modelmeter-rounds")
            failed: Error | None = None
            try:
                self.ruling = _gate.against_tree(session.tree, name, alert, rounds, session.tests)
            except Error as error:
                failed = error
            if failed is not None:
                session.rows.append((name, self.measurement, "error", failed.message))
                pytest.fail(f"modelmeter: {failed}", pytrace=False)
        elif session.stored:
            stored = session.stored.get(name)
            self.ruling = _gate.against_samples(stored, self.measurement.samples, alert, self.waited)
        if self.ruling is None:
            session.rows.append((name, self.measurement, "", ""))
            return
        session.rows.append((name, self.measurement, self.ruling.word, self.ruling.words))
        is_strict = config.getoption("--modelmeter-strict")
        if self.ruling.word == "failed" or (is_strict and self.ruling.word == "cannot tell"):
            pytest.fail(f"modelmeter: {self.ruling.word}: {self.ruling.words}", pytrace=False)


@pytest.fixture
def modelmeter(request: pytest.FixtureRequest) -> Iterator[Benchmark]:
    """Times a function: `modelmeter(function, *args)`; with --modelmeter-against it is a gate."""
    benchmark = Benchmark(request)
    yield benchmark
    is_passed = sys.exc_info()[0] is None
    if is_passed and not benchmark._is_used:
        request.node.warn(pytest.PytestWarning("the fixture `modelmeter` was not called: nothing was timed"))
