"""Timing one's own code: steps, phases inside them, functions and the modules of a model."""

from __future__ import annotations

import functools
import inspect
import json
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from . import _clock
from ._errors import UsageError, WrongType
from ._results import Result

T = TypeVar("T")
MOST_MARKS = 100_000
"""Moments that are kept before the device is waited for; an event is some hundred bytes. Also the calls that `@profile` keeps."""
MOST_OPEN = 0.05
"""How far phases may be from adding up to the steps: more says that they overlap, and the shares mean nothing."""

SCHEMA = "modelmeter.measurement/1"


def latency_of(nanoseconds: Sequence[int], seed: int = 0) -> dict[str, Any]:
    """Samples as the object `latency` of `modelmeter.run/1`, by the same code that makes it there: milliseconds."""
    from . import _native

    summary = json.loads(_native.summarise(list(nanoseconds), seed))
    keys = ("mean", "std", "min", "max", "median", "mad", "p90", "p95", "p99")
    latency: dict[str, Any] = {"unit": "ms", **{key: summary[key] * 1e3 for key in keys}}
    latency["p50"] = latency["median"]
    latency["p99_9"] = summary["p999"] * 1e3
    for name, key in (("ci95", "ci95_median"), ("ci95_mean", "ci95_mean")):
        latency[name] = {end: summary[key][end] * 1e3 for end in ("low", "high")}
    latency["samples"] = summary["count"]
    latency["outliers"] = summary["outliers"]
    latency["unsupported"] = summary["unsupported"]
    return latency


class Measurement(Result):
    """Steps of one's own code: `measurement["latency"]["mean"]`, `measurement["phases"]["forward"]["latency"]["mean"]`.

    Times are in milliseconds. `other` among the phases is the time of the steps outside every phase, so that phases and
    `other` add up to the steps.
    """

    @property
    def samples(self) -> list[int]:
        """The time of every step in nanoseconds."""
        return list(self["samples_ns"])

    @property
    def phases(self) -> dict[str, Any]:
        """Each phase with its latency and its share of the time."""
        return dict(self["phases"])

    @property
    def is_valid(self) -> bool:
        """Whether the numbers can be trusted."""
        return bool(self["verdict"]["valid"])

    @property
    def verdict(self) -> str:
        """`valid` or `not valid`."""
        return "valid" if self.is_valid else "NOT VALID"


class Measure:
    """A measurement in progress: what `modelmeter.measure` gives."""

    def __init__(self, name: str = "step", device: object = None) -> None:
        self._name = name
        self._device = device
        self._clock: _clock.Clock | None = None
        self._steps: list[tuple[Any, Any]] = []
        self._phases: list[tuple[int, str, Any, Any]] = []
        self._step_times: list[int] = []
        self._phase_times: list[tuple[int, str, int]] = []
        self._inside: list[str] = []
        self._thread = 0
        self._result: Measurement | None = None
        self._saw_steps = False
        self._is_in_step = False
        self._outside: list[tuple[str, Any, Any]] = []
        self._outside_times: list[tuple[str, int]] = []

    def __enter__(self) -> Measure:
        if self._result is not None or self._clock is not None:
            raise UsageError("this measurement has been used", hint="make another one: modelmeter.measure(...)")
        self._clock = _clock.clock_of(self._device)
        _clock.reset_peak_memory(self._clock)
        self._thread = threading.get_ident()
        self._begin = self._clock.mark()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        assert self._clock is not None
        if kind is not None:
            return
        if not self._saw_steps:
            self._steps.append((self._begin, self._clock.mark()))
        self._result = self._finish()

    def steps(self, iterable: Iterable[T]) -> Iterator[T]:
        """Makes a step of each turn of a loop, its fetching included: phase `data`."""
        try:
            iterator = iter(iterable)
        except TypeError:
            raise WrongType(
                f"`steps` takes what a loop runs over, not a {type(iterable).__name__}", hint="m.steps(loader)"
            ) from None
        clock = self._begin_step()
        begin = clock.mark()
        try:
            while True:
                try:
                    item = next(iterator)
                except StopIteration:
                    return
                self._phases.append((self._count(), "data", begin, clock.mark()))
                try:
                    yield item
                except GeneratorExit:
                    # `break`: this turn was run, and is the last.
                    if self._result is None:
                        self._steps.append((begin, clock.mark()))
                    raise
                end = clock.mark()
                self._steps.append((begin, end))
                begin = end
                self._read_some()
        finally:
            self._is_in_step = False

    @contextmanager
    def step(self) -> Iterator[None]:
        """One step. One that raises does not count, nor do its phases."""
        clock = self._begin_step()
        begin = clock.mark()
        try:
            yield
        except BaseException:
            failed = self._count()
            self._phases = [phase for phase in self._phases if phase[0] != failed]
            raise
        finally:
            self._is_in_step = False
        self._steps.append((begin, clock.mark()))
        self._read_some()

    def _begin_step(self) -> _clock.Clock:
        clock = self._now()
        if self._is_in_step:
            raise UsageError("a step began inside a step", hint="use `m.steps` or `m.step`, not both")
        if not self._saw_steps:
            # Without steps the whole block is one; with them, what came before belongs to none.
            self._outside += [(name, begin, end) for _, name, begin, end in self._phases]
            self._phases.clear()
        self._saw_steps = self._is_in_step = True
        return clock

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """A part of a step. Phases stand beside each other, not inside each other.

        A phase between steps is timed by itself: it is in `outside`, and has no share of the steps.
        """
        clock = self._now()
        if self._inside:
            raise UsageError(
                f"phase `{name}` began inside phase `{self._inside[-1]}`", hint="end one before the next begins"
            )
        if threading.get_ident() != self._thread:
            raise UsageError(
                f"phase `{name}` began in another thread", hint="give each thread a measurement of its own"
            )
        if not isinstance(name, str):
            raise WrongType(f"the name of a phase is text, not {type(name).__name__}", hint='m.phase("forward")')
        self._inside.append(name)
        place = self._place()
        begin = clock.mark()
        try:
            yield
        finally:
            self._inside.pop()
        end = clock.mark()
        if place is not None and place == self._place():
            self._phases.append((place, name, begin, end))
        else:
            self._outside.append((name, begin, end))
            self._read_some()

    def _place(self) -> int | None:
        """The step in progress; none between steps."""
        return self._count() if self._is_in_step or not self._saw_steps else None

    def span(self, name: str, begin: Any, end: Any) -> None:
        """A phase between two marks; for callbacks."""
        self._phases.append((self._count(), name, begin, end))

    def whole(self, begin: Any, end: Any) -> None:
        """A step between two marks; for callbacks."""
        self._saw_steps = True
        self._steps.append((begin, end))
        self._read_some()

    def mark(self) -> Any:
        """This moment; for callbacks."""
        return self._now().mark()

    @property
    def result(self) -> Measurement:
        """What was measured; there is one when the block has ended."""
        if self._result is None:
            raise UsageError("the measurement has not ended", hint="read its result behind the `with` block")
        return self._result

    def __getitem__(self, key: str) -> Any:
        return self.result[key]

    def _repr_html_(self) -> str:
        return self.result._repr_html_() if self._result is not None else repr(self)

    def __repr__(self) -> str:
        return repr(self._result) if self._result is not None else f"<measurement {self._name!r} in progress>"

    def _now(self) -> _clock.Clock:
        if self._clock is None or self._result is not None:
            raise UsageError("the measurement is not in progress", hint="with modelmeter.measure(...) as m: ...")
        return self._clock

    def _count(self) -> int:
        return len(self._step_times) + len(self._steps)

    def _read_some(self) -> None:
        if len(self._steps) + len(self._phases) + len(self._outside) >= MOST_MARKS:
            self._read()

    def _read(self) -> None:
        assert self._clock is not None
        pairs = [
            *self._steps,
            *((begin, end) for _, _, begin, end in self._phases),
            *((begin, end) for _, begin, end in self._outside),
        ]
        times = self._clock.between(pairs)
        steps, phases = len(self._steps), len(self._steps) + len(self._phases)
        self._step_times += times[:steps]
        self._phase_times += [
            (step, name, time) for (step, name, _, _), time in zip(self._phases, times[steps:phases], strict=True)
        ]
        self._outside_times += [(name, time) for (name, _, _), time in zip(self._outside, times[phases:], strict=True)]
        self._steps.clear()
        self._phases.clear()
        self._outside.clear()

    def _finish(self) -> Measurement:
        assert self._clock is not None
        self._read()
        if not self._step_times:
            raise UsageError(f"`{self._name}` had no step")
        peak, what = _clock.peak_memory(self._clock)
        phases = [one for one in self._phase_times if one[0] < len(self._step_times)]
        return measurement(
            self._name, self._clock.name, self._step_times, phases, (peak, what), outside=self._outside_times
        )


def measurement(
    name: str,
    device: str,
    steps: list[int],
    phases: Sequence[tuple[int, str, int]],
    memory: tuple[int | None, str],
    remarks: Sequence[tuple[str, str]] = (),
    *,
    outside: Sequence[tuple[str, int]] = (),
) -> Measurement:
    """The document of a measurement in this process."""
    by_name: dict[str, dict[int, int]] = {}
    for step, phase, time in phases:
        times = by_name.setdefault(phase, {})
        times[step] = times.get(step, 0) + time
    total = sum(steps)
    rest = list(steps)
    for times in by_name.values():
        for step, time in times.items():
            rest[step] -= time
    parts: dict[str, Any] = {
        phase: {"latency": latency_of(list(times.values())), "share": _share(sum(times.values()), total)}
        for phase, times in by_name.items()
    }
    if by_name:
        # Events of a device are rounded to half a microsecond, so a rest may come out below 0.
        other = [max(0, time) for time in rest]
        parts["other"] = {"latency": latency_of(other), "share": _share(sum(other), total)}
    latency = latency_of(steps)
    reasons = [{"code": code, "text": text} for code, text in remarks]
    reasons.append({"code": "in-process", "text": "measured in this process: what it did before may change the times"})
    between: dict[str, list[int]] = {}
    for phase, time in outside:
        between.setdefault(phase, []).append(time)
    for phase, taken in between.items():
        text = f"phase `{phase}` ran between the steps, {_time(sum(taken) / 1e6)} in all: it has no share of them"
        reasons.append({"code": "outside-steps", "text": text})
    closure = _share(total - sum(rest) + sum(max(0, time) for time in rest), total) if by_name else None
    is_closed = closure is None or abs(closure - 1) <= MOST_OPEN
    if not is_closed:
        text = f"the phases add up to {closure:.0%} of the steps: some overlap, or belong to another step"
        reasons.insert(0, {"code": "open-phases", "text": text.replace("%", " %")})
    least = dict(percentile_floors())["p50"]
    is_valid = len(steps) >= least and is_closed
    if len(steps) < least:
        text = f"{len(steps)} {'sample' if len(steps) == 1 else 'samples'}; the median needs {least}"
        reasons.insert(0, {"code": "few-samples", "text": text})
    document = {
        "schema": SCHEMA,
        "name": name,
        "device": device,
        "isolation": "in-process",
        "latency": latency,
        "phases": parts,
        "closure": closure,
        "outside": {phase: {"latency": latency_of(taken)} for phase, taken in between.items()},
        "throughput": {"steps_per_second": len(steps) / (total / 1e9) if total else None},
        "memory": {"unit": "bytes", "peak": peak_of(memory), "of": memory[1]},
        "verdict": {"valid": is_valid, "reasons": reasons},
        "samples_ns": list(steps),
    }
    return Measurement(document, text=_text(document), markdown=_markdown(document), csv=_csv(document))


def peak_of(memory: tuple[int | None, str]) -> int | None:
    """Bytes, if they are known."""
    return memory[0]


def percentile_floors() -> tuple[tuple[str, int], ...]:
    """The fewest samples that support each percentile."""
    from . import _native

    return tuple(_native.percentile_floors())


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def measure(name: str = "step", *, device: object = None) -> Measure:
    """Measures a block of code.

    ```python
    with modelmeter.measure("step") as m:
        for batch in m.steps(loader):
            with m.phase("forward"):
                loss = model(batch).loss
            with m.phase("backward"):
                loss.backward()
    print(m.result)
    ```

    Without `steps` or `step` the whole block is one step. If this process uses CUDA, or with `device="cuda"`, times are those of
    events in the current stream, and the device is waited for once, at the end.
    """
    if not isinstance(name, str):
        raise WrongType(f"the name of a measurement is text, not {type(name).__name__}", hint='modelmeter.measure("step")')
    return Measure(name, device)


def result_of(measure: Measure | None, seen: int, skip: int, hint: str) -> Measurement:
    """What a callback measured; why there is nothing is said here, so that no training ends with an exception of ours."""
    if measure is None:
        raise UsageError("no training was measured", hint=hint)
    if seen <= skip:
        steps = "1 step" if seen == 1 else f"{seen} steps"
        raise UsageError(
            f"the training had {steps}, and the first {skip} do not count", hint="ModelmeterCallback(skip=0)"
        )
    if measure._result is None:
        raise UsageError("the training has not ended, or it ended with an exception", hint=hint)
    return measure.result


class Timed:
    """Times every call of a function; `function.measurement` has the result so far."""

    def __init__(self, name: str, device: object) -> None:
        self.name, self.device = name, device
        self._turn = threading.Lock()
        self._pairs: list[tuple[Any, Any]] = []
        self._times: deque[int] = deque(maxlen=MOST_MARKS)
        self._calls = 0
        self._clock: _clock.Clock | None = None

    def begin(self) -> tuple[_clock.Clock, Any]:
        """Before a call."""
        if self._clock is None:
            self._clock = _clock.clock_of(self.device)
        return self._clock, self._clock.mark()

    def end(self, clock: _clock.Clock, begin: Any) -> None:
        """After a call that returned."""
        end = clock.mark()
        with self._turn:
            self._calls += 1
            self._pairs.append((begin, end))
            if len(self._pairs) >= MOST_MARKS:
                self._read(clock)

    def _read(self, clock: _clock.Clock) -> None:
        """Turns moments into times; of those the newest are kept, so that a long-running process does not grow."""
        self._times.extend(clock.between(self._pairs))
        self._pairs.clear()

    def result(self) -> Measurement:
        """What the calls took."""
        if self._clock is None or not self._calls:
            raise UsageError(f"`{self.name}` was not called yet")
        with self._turn:
            self._read(self._clock)
            times, calls = list(self._times), self._calls
        remarks = []
        if calls > len(times):
            remarks.append(("newest-calls", f"the newest {len(times):,} of {calls:,} calls"))
        return measurement(self.name, self._clock.name, times, [], _clock.peak_memory(self._clock), remarks)


def timed(function: Any, *, name: str | None = None, device: object = None, **unknown: Any) -> Any:
    """The function with a clock around each call; what it returns and raises is unchanged."""
    if unknown:
        raise UsageError(f"`@profile` has no `{next(iter(unknown))}`", hint="it takes `name` and `device`")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        own = str(getattr(function, "__qualname__", "function"))
        raise UsageError(
            f"`{own}` is a generator: a call returns before its work is done, so calls cannot be timed",
            hint="time the loop: for item in m.steps(items()): ...",
        )
    watch = Timed(name or str(getattr(function, "__qualname__", "function")), device)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def call_later(*args: Any, **kwargs: Any) -> Any:
            clock, begin = watch.begin()
            result = await function(*args, **kwargs)
            watch.end(clock, begin)
            return result

        wrapper: Any = call_later
    else:

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            clock, begin = watch.begin()
            result = function(*args, **kwargs)
            watch.end(clock, begin)
            return result

        wrapper = call
    return _WithMeasurement(wrapper, watch, function, name, device)


class _WithMeasurement:
    """A callable with the attribute `measurement`, also as a method of a class."""

    def __init__(self, call: Callable[..., Any], watch: Timed, *made_of: Any) -> None:
        functools.update_wrapper(self, call)
        self._call = call
        self._watch = watch
        self._made_of = made_of
        if inspect.iscoroutinefunction(call):
            if hasattr(inspect, "markcoroutinefunction"):
                inspect.markcoroutinefunction(self)
            else:
                # Before Python 3.12 only asyncio had such a mark.
                from asyncio import coroutines

                self._is_coroutine = getattr(coroutines, "_is_coroutine", None)

    def __reduce__(self) -> Any:
        """By its name, as functions are; where the name is that of the function inside, it is wrapped again."""
        found: Any = sys.modules.get(str(self.__module__))
        name = str(self.__dict__["__qualname__"])
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:
            return name
        return _wrap_again, self._made_of

    @property
    def measurement(self) -> Measurement:
        """What the calls took so far."""
        return self._watch.result()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        # A bound method has the attributes of what it binds, so `measurement` too.
        return self if owner is None else types.MethodType(self, owner)


def _wrap_again(function: Any, name: str | None, device: object) -> Any:
    return timed(function, name=name, device=device)


class Annotation:
    """Names on the forward passes of a model's modules; `remove()` takes them away, so does the end of a `with` block."""

    def __init__(self, model: Any) -> None:
        torch: Any = sys.modules["torch"]
        self._wrapped: list[tuple[Any, Any]] = []
        use_nvtx = torch.cuda.is_available()
        compiled = getattr(torch._dynamo, "OptimizedModule", ()) if hasattr(torch, "_dynamo") else ()
        for path, module in model.named_modules():
            # A compiled module is one piece; a wrapper around a part of it would break its graph.
            if compiled and isinstance(module, compiled):
                raise UsageError(
                    "a compiled module cannot be annotated", hint="annotate it before torch.compile, or use phases"
                )
            self._wrap(torch, module, path or type(module).__name__, use_nvtx)

    def _wrap(self, torch: Any, module: Any, path: str, use_nvtx: bool) -> None:
        forward = module.forward

        @functools.wraps(forward)
        def named(*args: Any, **kwargs: Any) -> Any:
            if use_nvtx:
                torch.cuda.nvtx.range_push(path)
            try:
                with torch.profiler.record_function(path):
                    return forward(*args, **kwargs)
            finally:
                if use_nvtx:
                    torch.cuda.nvtx.range_pop()

        had = module.__dict__.get("forward")
        module.forward = named
        self._wrapped.append((module, had))

    def remove(self) -> None:
        """The modules are as they were."""
        for module, had in self._wrapped:
            if had is None:
                module.__dict__.pop("forward", None)
            else:
                module.forward = had
        self._wrapped.clear()

    def __enter__(self) -> Annotation:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def annotate(model: Any) -> Annotation:
    """Puts the path of each module into the traces of torch's profiler and, with CUDA, of NVTX (`modelmeter gpu --modules`)."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        raise UsageError(f"a {type(model).__name__} has no modules", hint="annotate takes a torch.nn.Module")
    return Annotation(model)


def _time(milliseconds: float) -> str:
    for unit, size in (("s", 1e3), ("ms", 1.0), ("µs", 1e-3)):
        if milliseconds >= size:
            break
    else:
        unit, size = "ns", 1e-6
    value = milliseconds / size
    return f"{value:.{max(0, 2 - len(str(int(value))) + 1)}f} {unit}"


def _facts(document: dict[str, Any]) -> list[tuple[str, str]]:
    latency = document["latency"]
    weak = {entry["percentile"] for entry in latency["unsupported"]}

    def of(key: str) -> str:
        return _time(latency[key]) + ("*" if key in weak else "")

    steps = f"{latency['samples']} {'step' if latency['samples'] == 1 else 'steps'}"
    facts = [
        ("median", f"{of('median')} [{_time(latency['ci95']['low'])}, {_time(latency['ci95']['high'])}]"),
        ("mean", f"{_time(latency['mean'])} ± {_time(latency['std'])}"),
        ("range", f"{_time(latency['min'])} to {_time(latency['max'])}"),
        ("p95, p99", f"{of('p95')}, {of('p99')}"),
        ("steps", steps),
    ]
    peak = document["memory"]["peak"]
    if peak is not None:
        facts.append(("peak memory", f"{peak / 1e6:,.0f} MB ({document['memory']['of']})"))
    return facts


def _rows(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (name, _time(part["latency"]["median"]), f"{part['share']:.1%}".replace("%", " %"))
        for name, part in document["phases"].items()
    ]


def _text(document: dict[str, Any]) -> str:
    valid = "valid" if document["verdict"]["valid"] else "NOT VALID"
    lines = [f"{document['name']} · {document['device']} · {valid}"]
    lines += [f"{name:<12} {value}" for name, value in _facts(document)]
    if rows := _rows(document):
        width = max(len("phase"), *(len(name) for name, _, _ in rows))
        lines += ["", f"{'phase':<{width}}  {'median':>10}  {'share':>7}"]
        lines += [f"{name:<{width}}  {median:>10}  {share:>7}" for name, median, share in rows]
    lines += ["", *(f"- {reason['text']}" for reason in document["verdict"]["reasons"])]
    if document["latency"]["unsupported"]:
        lines.append("* too few samples")
    return "\n".join(lines)


def _markdown(document: dict[str, Any]) -> str:
    valid = "✅ valid" if document["verdict"]["valid"] else "❌ NOT VALID"
    lines = [f"# {document['name']} · {document['device']}", "", f"**{valid}**", "", "| | |", "| --- | ---: |"]
    lines += [f"| {name} | {value.replace('*', chr(92) + '*')} |" for name, value in _facts(document)]
    if rows := _rows(document):
        lines += [
            "",
            "| phase | median | share |",
            "| --- | ---: | ---: |",
            *(f"| {' | '.join(row)} |" for row in rows),
        ]
    return "\n".join([*lines, "", *(f"- {reason['text']}" for reason in document["verdict"]["reasons"])]) + "\n"


def _csv(document: dict[str, Any]) -> str:
    rows = ["name,phase,samples,mean_ms,std_ms,min_ms,median_ms,max_ms,share"]
    parts = {"step": {"latency": document["latency"], "share": 1.0}, **document["phases"]}
    name = '"' + document["name"].replace('"', '""') + '"'
    for phase, part in parts.items():
        latency = part["latency"]
        numbers = [
            latency["samples"],
            *(latency[key] for key in ("mean", "std", "min", "median", "max")),
            part["share"],
        ]
        rows.append(f'{name},"{phase}",' + ",".join(map(repr, numbers)))
    return "\r\n".join(rows) + "\r\n"
